//! Experiments that show why claims miss: Figures 1 and 3 with one thing changed at a time. `claims/tyrus.toml` cites them.

use std::path::Path;

use slackwater_report::{Cell, Column, Row, SummaryTable};
use slackwater_results::metrics::Estimate;

use super::super::variant::Changes;
use super::claims::Links;
use super::links::experiment_name;
use super::prelude::*;
use super::{fig1, links};

/// A change of the network, of which the poster tells the link alone: what names of experiments end in, title, keys.
type Factor = (&'static str, &'static str, Changes);

const AS_IS: Factor = ("", "as tested", &[]);
const LOSS: Factor = ("@loss", "0.1 % lost", &[("path.loss", "0.1 %")]);
const JITTER: Factor = ("@jitter5", "5 ms of jitter", &[("path.jitter", "5 ms")]);
const SPIKES: Factor = ("@jitter20", "20 ms of jitter", &[("path.jitter", "20 ms")]);
const FAR: Factor = ("@rtt80", "an RTT of 80 ms", &[("path.rtt", "80 ms")]);
const ACKS: Factor = (
    "@acks20",
    "ACKs 20 ms apart",
    &[
        ("flow.tcp.delayed_ack", "20 ms"),
        ("flow.tcp.ack_every", "64"),
        ("flow.quic.max_ack_delay", "20 ms"),
        ("flow.quic.ack_every", "64"),
    ],
);
const SHORT: Factor = (
    "@queue20",
    "a queue of 20 packets",
    &[("link.queue.limit", "20 packets")],
);
const NETWORK: [Factor; 7] = [AS_IS, LOSS, JITTER, SPIKES, FAR, ACKS, SHORT];
/// Who is measured with each.
const WHO: [&str; 6] = ["tyrus", "poster", "rule2-acks", "vegas", "bbr", "cubic"];

/// What Figure 1's download meets.
const DOWNLOAD: [Factor; 5] = [
    AS_IS,
    LOSS,
    ("@loss1", "1 % lost", &[("path.loss", "1 %")]),
    SHORT,
    SPIKES,
];
const FILLING: [&str; 2] = ["bbr", "cubic"];

/// Another sender in the place of the poster's on the network as it is: its name, title, controller, keys.
type Other = (&'static str, &'static str, &'static str, Changes);

const POSTER: &str = "tyrus:policy=poster";
const NO_PACING: (&str, &str) = ("flow.quic.pacing", "false");
const DATAGRAM: (&str, &str) = ("feedback.carrier", "datagram");
/// The poster's network, trained with the reward as printed (crates/papers/scenarios/tyrus/literal.json):
/// `slackwater train tyrus --scheme poster --seeds 3 --domain` with that file.
const LITERAL: &str = "models/tyrus-poster-literal.safetensors";
const OTHERS: [Other; 8] = [
    (
        "poster-not-paced",
        "not paced",
        POSTER,
        &[("flow.transport", "quinn"), DATAGRAM, NO_PACING],
    ),
    (
        "poster-light",
        "over the light model of QUIC, not paced",
        POSTER,
        &[("flow.transport", "quic"), DATAGRAM, NO_PACING],
    ),
    (
        "poster-datagrams",
        "over TCP, reports in datagrams",
        POSTER,
        &[DATAGRAM],
    ),
    ("poster-tcp", "over TCP, reports on ACKs", POSTER, &[]),
    (
        "poster-literal",
        "trained with the reward as printed, over TCP",
        "tyrus:policy=models/tyrus-poster-literal.safetensors",
        &[],
    ),
    ("rule2-low", "rule2 without margins", "rule2:z=0,q=0", &[]),
    (
        "rule2-lower",
        "rule2 that aims a deviation below the mean",
        "rule2:z=-1,q=0",
        &[],
    ),
    (
        "oracle",
        "a sender that knows the capacity to come",
        "oracle",
        &[],
    ),
];

/// The senders of [`OTHERS`] that can be flown: a policy is where it was trained.
fn others() -> impl Iterator<Item = &'static Other> {
    let there = Path::new(LITERAL).exists();
    OTHERS
        .iter()
        .filter(move |o| there || !o.2.ends_with(LITERAL))
}

fn download(who: &str, factor: &Factor) -> String {
    format!("fig1/{who}{}", factor.0)
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let (places, drive) = (links::all(options.quick)?, links::drive()?);
    let mut experiments = vec![];
    let known = senders();
    for place in &places {
        let around = Around {
            rtt: "40 ms",
            queue: "16000 packets",
            duration: length(options.quick),
        };
        let mut add = |id: &str, controller: &str, changes: &[Changes]| {
            let all = core::iter::once(("flow.controller", controller));
            let all = all.chain(changes.iter().copied().flatten().copied());
            let made = place.experiment(experiment_name(place, id), around, all, keep)?;
            experiments.push(moved_by_seed(made));
            Ok(())
        };
        for sender in known.iter().filter(|s| WHO.contains(&&*s.id)) {
            for (suffix, _, keys) in &NETWORK {
                let id = format!("{}{suffix}", sender.id);
                add(&id, &sender.controller, &[sender.changes, keys])?;
            }
        }
        add("sprout", "sprout", &[])?;
        for (id, _, controller, keys) in others() {
            add(id, controller, &[keys])?;
        }
    }
    for who in FILLING {
        for factor in &DOWNLOAD {
            let keys = [("flow.controller", who)]
                .into_iter()
                .chain(factor.2.iter().copied());
            experiments.push(fig1::experiment(
                &drive,
                download(who, factor),
                keys,
                options.quick,
            )?);
        }
    }
    Ok(Part {
        id: "causes",
        measures: vec![],
        experiments,
        draw: Box::new(move |o| draw(o, &places)),
    })
}

/// What a row is measured by: heading, unit, factor to the unit, and the claim's own measure.
type Measured = (
    &'static str,
    &'static str,
    f64,
    fn(&Links, &Outcomes, &str) -> Option<Estimate>,
);

const OF_NETWORK: [Measured; 9] = [
    ("BBR uses", "%", 100.0, |l, o, _| {
        l.estimate(o, "bbr", "used")
    }),
    ("CUBIC uses", "%", 100.0, |l, o, _| {
        l.estimate(o, "cubic", "used")
    }),
    ("Vegas uses", "%", 100.0, |l, o, _| {
        l.estimate(o, "vegas", "used")
    }),
    (
        "Vegas' p95 over that of the poster's network",
        "",
        1.0,
        |l, o, _| l.ratio(o, ("vegas", "poster"), "p95"),
    ),
    ("Vegas' p95 over that of what ships", "", 1.0, |l, o, _| {
        l.ratio(o, ("vegas", "tyrus"), "p95")
    }),
    (
        "p95 of the poster's network over Vegas'",
        "",
        1.0,
        |l, o, _| l.ratio(o, ("poster", "vegas"), "p95"),
    ),
    ("p95 of what ships over Vegas'", "", 1.0, |l, o, _| {
        l.ratio(o, ("tyrus", "vegas"), "p95")
    }),
    (
        "S of the poster's network over rule2 without PHY",
        "",
        1.0,
        |l, o, _| l.ahead(o, ("poster", "rule2-acks")),
    ),
    (
        "S of what ships over rule2 without PHY",
        "",
        1.0,
        |l, o, _| l.ahead(o, ("tyrus", "rule2-acks")),
    ),
];

const OF_OTHERS: [Measured; 5] = [
    ("used", "%", 100.0, |l, o, who| l.estimate(o, who, "used")),
    (
        "used, over the best of BBR, CUBIC and Vegas",
        "",
        1.0,
        Links::over_best,
    ),
    ("used, over Sprout's, worst link", "", 1.0, |l, o, who| {
        l.least_ratio(o, (who, "sprout"), "used")
    }),
    ("p95 over Vegas'", "", 1.0, |l, o, who| {
        l.ratio(o, (who, "vegas"), "p95")
    }),
    ("S over rule2 without PHY", "", 1.0, |l, o, who| {
        l.ahead(o, (who, "rule2-acks"))
    }),
];

/// A row of a table: title, name for its colour, the links and the sender that it is measured with.
type Measuring<'a> = (String, &'a str, Links, &'a str);

fn measured(
    o: &Outcomes,
    (id, caption, heading): (&str, &str, &str),
    columns: &[Measured],
    rows: &[Measuring<'_>],
) -> Panel {
    let cell = |estimate: Option<Estimate>, by: f64| {
        estimate.map_or(Cell::Missing, |e| Cell::Number(e.scaled(by)))
    };
    let table = SummaryTable {
        caption: caption.to_owned(),
        row_heading: heading.to_owned(),
        columns: columns
            .iter()
            .map(|(what, unit, ..)| Column::new(what, unit, None, ""))
            .collect(),
        rows: rows
            .iter()
            .map(|(label, colour, links, who)| Row {
                label: label.clone(),
                controller: (*colour).to_owned(),
                cells: columns
                    .iter()
                    .map(|(.., by, value)| cell(value(links, o, who), *by))
                    .collect(),
            })
            .collect(),
    };
    Panel::new(id, caption, "", Drawing::Table(table)).wide()
}

fn draw(o: &Outcomes, places: &[Place]) -> Figure {
    let scenes = Scene::ALL.map(|scene| (scene.name(), Links::of(places, scene)));
    let network: Vec<Measuring<'_>> = scenes
        .iter()
        .flat_map(|(scene, links)| {
            NETWORK.iter().map(move |(suffix, says, _)| {
                (format!("{scene}, {says}"), "", links.with(suffix), "")
            })
        })
        .collect();
    let in_place: Vec<Measuring<'_>> = scenes
        .iter()
        .flat_map(|(scene, links)| {
            let as_is = [
                ("poster", "the poster's network over QUIC"),
                ("tyrus", "what ships"),
            ];
            let all = as_is
                .into_iter()
                .chain(others().map(|(id, says, ..)| (*id, *says)));
            all.map(move |(id, says)| (format!("{scene}: {says}"), "tyrus", links.clone(), id))
        })
        .collect();
    let downloads: Vec<(String, &str, &Runs)> = FILLING
        .iter()
        .flat_map(|who| {
            DOWNLOAD.iter().map(move |factor| {
                let label = format!("{}, {}", title(who), factor.1);
                (label, *who, o.get(&download(who, factor)))
            })
        })
        .collect();
    let columns: [Entry; 3] = [
        Entry::plain("used", "%", "used").times(100.0),
        Entry::plain("one-way p95", "ms", "p95"),
        Entry::plain("download", "s", "took"),
    ];

    let (_, still) = &scenes[0];
    let (_, moving) = &scenes[1];
    let of = |e: Option<Estimate>| e.map_or(f64::NAN, |e| e.mean);
    let vegas = |links: &Links, factor: &Factor| {
        100.0 * of(links.with(factor.0).estimate(o, "vegas", "used"))
    };
    let phy = |links: &Links, factor: &Factor| {
        of(links.with(factor.0).ahead(o, ("poster", "rule2-acks")))
    };
    let best = |who: &str| of(moving.over_best(o, who));
    let least = |links: &Links| of(links.ratio(o, ("oracle", "vegas"), "p95"));
    Figure {
        title: "Causes: why claims miss".to_owned(),
        setup: "Figures 1 and 3 with one thing changed, of what the poster does not tell: what the path adds to the link, how ACKs come, \
                the transport, the reward."
            .to_owned(),
        claim: String::new(),
        seen: format!(
            "Vegas uses {:.1} % where users stand still and {:.1} % where they move; with 0.1 % lost {:.1} and {:.1}, with 5 ms of jitter \
             {:.1} and {:.1}, with 20 ms {:.1} and {:.1}. S of the poster's network over rule2 without PHY is {:+.3} and {:+.3}; \
             with ACKs 20 ms apart {:+.3} and {:+.3}, with an RTT of 80 ms {:+.3} and {:+.3}. Where users move it uses {:.3} of the best of \
             BBR, CUBIC and Vegas; not paced {:.3}, over TCP {:.3}. The p95 of a sender that knows the capacity to come is {:.2} and \
             {:.2} of Vegas'.",
            vegas(still, &AS_IS),
            vegas(moving, &AS_IS),
            vegas(still, &LOSS),
            vegas(moving, &LOSS),
            vegas(still, &JITTER),
            vegas(moving, &JITTER),
            vegas(still, &SPIKES),
            vegas(moving, &SPIKES),
            phy(still, &AS_IS),
            phy(moving, &AS_IS),
            phy(still, &ACKS),
            phy(moving, &ACKS),
            phy(still, &FAR),
            phy(moving, &FAR),
            best("poster"),
            best("poster-not-paced"),
            best("poster-tcp"),
            least(still),
            least(moving),
        ),
        panels: vec![
            measured(o, ("network", "Figure 3 on other networks", "scene and change"), &OF_NETWORK, &network),
            measured(o, ("in-place", "Figure 3 with another sender in the place of the poster's", "scene and sender"), &OF_OTHERS, &in_place),
            table("download", "The download of Figure 1", "sender and change", &columns, &downloads),
        ],
        notes: links::missing()
            .into_iter()
            .chain((!Path::new(LITERAL).exists()).then(|| format!("Left out: {LITERAL} is not there.")))
            .collect(),
        ..Figure::default()
    }
}
