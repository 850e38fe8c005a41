//! Beyond the poster: round-trip times and buffers that no policy has seen, a wired bottleneck, company, and cells.

use super::links;
use super::prelude::*;

const LTE: &str = include_str!("../../scenarios/tyrus/lte.toml");
const NR: &str = include_str!("../../scenarios/tyrus/nr.toml");

/// Who is measured.
const WHO: [&str; 6] = ["tyrus", "rule2", "rule2-acks", "pbe", "bbr", "cubic"];
const RTTS: [&str; 4] = ["10 ms", "20 ms", "80 ms", "160 ms"];
const BUFFERS: [&str; 4] = ["20 packets", "50 packets", "100 packets", "400 packets"];
/// What carries the flow: QUIC by the light model that training uses, and by a real stack.
const TRANSPORTS: [&str; 3] = ["tcp", "quic", "quinn"];
/// Flows of Tyrus on one link.
const COMPANY: [usize; 3] = [2, 3, 4];
const CELLS: [(&str, &str); 2] = [("lte", "LTE cell"), ("nr", "5G cell")];

fn compact(text: &str) -> String {
    text.replace(' ', "")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let place = links::drive()?;
    let around = Around {
        rtt: "40 ms",
        queue: "1000 packets",
        duration: length(options.quick),
    };
    let mut experiments = vec![];
    for who in WHO {
        let sender = ("flow.controller", who);
        for rtt in RTTS {
            let name = format!("beyond/rtt{}-{who}", compact(rtt));
            let other = Around { rtt, ..around };
            experiments.push(place.experiment(name, other, [sender], keep)?);
        }
        for queue in BUFFERS {
            let name = format!("beyond/buffer{}-{who}", compact(queue));
            let other = Around { queue, ..around };
            experiments.push(place.experiment(name, other, [sender], keep)?);
        }
        let wired = [("wired.rate", "3 Mbit/s"), sender];
        let name = format!("beyond/wired-{who}");
        experiments.push(place.experiment(name, around, wired, keep)?);
        for (cell, text) in [("lte", LTE), ("nr", NR)] {
            let changes = [("duration", around.duration), ("flow[0].controller", who)];
            let name = format!("beyond/{cell}-{who}");
            experiments.push(Experiment::new(name, text, changes, keep)?);
        }
        for transport in TRANSPORTS {
            let changes = [
                sender,
                ("flow.transport", transport),
                // A real stack has no frames of ours: reports go beside its packets (RFC 9221).
                ("feedback.carrier", "datagram"),
            ];
            let name = format!("beyond/over-{transport}-{who}");
            experiments.push(place.experiment(name, around, changes, keep)?);
        }
        for n in COMPANY {
            experiments.push(company(&place, around, who, n)?);
        }
        experiments.push(beside(&place, around, who)?);
    }
    let experiments = experiments.into_iter().map(moved_by_seed).collect();
    Ok(Part {
        id: "beyond",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

/// `n` flows on one link.
fn flows(n: usize) -> String {
    format!("[{}]", ["{ controller = \"cubic\" }"].repeat(n).join(", "))
}

/// `n` flows of `who` on one link.
fn company(
    place: &Place,
    around: Around<'_>,
    who: &str,
    n: usize,
) -> Result<Experiment, StudyError> {
    let (name, flows) = (format!("beyond/company{n}-{who}"), flows(n));
    let changes = [("flow", &*flows), ("flow.controller", who)];
    place.experiment(name, around, changes, keep)
}

/// A flow of `who` and one of CUBIC.
fn beside(place: &Place, around: Around<'_>, who: &str) -> Result<Experiment, StudyError> {
    let queue = "200 packets";
    let (name, flows) = (format!("beyond/beside-{who}"), flows(2));
    let changes = [("flow", &*flows), ("flow[0].controller", who)];
    place.experiment(name, Around { queue, ..around }, changes, keep)
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |what: &str, who: &str| o.get(&format!("beyond/{what}-{who}"));
    let columns: [Entry; 6] = [
        Entry::more("throughput", "Mbit/s", "rate"),
        Entry::more("used", "%", "used").times(100.0),
        Entry::less("one-way p50", "ms", "p50"),
        Entry::less("one-way p95", "ms", "p95"),
        Entry::more("Jain", "", "jain"),
        Entry::plain("first flow's share", "%", "share").times(100.0),
    ];
    let rows = |what: &[(String, String)]| -> Vec<(String, &str, &Runs)> {
        what.iter()
            .flat_map(|(id, words)| {
                WHO.iter()
                    .map(move |who| (format!("{words}, {}", title(who)), *who, (id, who)))
            })
            .map(|(label, colour, (id, who))| (label, colour, runs(id, who)))
            .collect()
    };
    let of = |prefix: &str, all: &[&str], words: &str| -> Vec<(String, String)> {
        all.iter()
            .map(|v| (format!("{prefix}{}", compact(v)), format!("{words} {v}")))
            .collect()
    };
    let shared: Vec<(String, String)> = COMPANY
        .iter()
        .map(|n| (format!("company{n}"), format!("{n} flows")))
        .chain([("beside".to_owned(), "beside CUBIC".to_owned())])
        .collect();
    let cells: Vec<(String, String)> = CELLS
        .iter()
        .map(|(id, words)| ((*id).to_owned(), (*words).to_owned()))
        .collect();
    let over: Vec<(String, String)> = TRANSPORTS
        .iter()
        .map(|t| (format!("over-{t}"), format!("over {t}")))
        .collect();
    let wired = [("wired".to_owned(), "wired hop of 3 Mbit/s".to_owned())];
    let check = |what: String, unit, bound, value, tolerance| {
        Check::of(what, unit, bound, value, tolerance)
    };
    let mut checks = vec![];
    for n in COMPANY {
        let jain = runs(&format!("company{n}"), "tyrus").estimate("jain");
        let what = format!("Jain's index of {n} flows of Tyrus");
        checks.push(check(what, "", 0.9, jain, Tolerance::AtLeast));
    }
    checks.push(check(
        "wired hop of 3 Mbit/s: p95 over CUBIC's".to_owned(),
        "",
        0.5,
        runs("wired", "tyrus").ratio("p95", runs("wired", "cubic"), "p95"),
        Tolerance::AtMost,
    ));
    for (id, words) in CELLS {
        checks.push(check(
            format!("{words}: throughput over CUBIC's"),
            "",
            0.9,
            runs(id, "tyrus").ratio("rate", runs(id, "cubic"), "rate"),
            Tolerance::AtLeast,
        ));
        checks.push(check(
            format!("{words}: p95 over CUBIC's"),
            "",
            0.5,
            runs(id, "tyrus").ratio("p95", runs(id, "cubic"), "p95"),
            Tolerance::AtMost,
        ));
    }
    for (value, within, words) in [
        ("used", 0.05, "used, of quinn over the light model"),
        ("p95", 0.25, "p95, of quinn over the light model"),
    ] {
        let (light, real) = (runs("over-quic", "tyrus"), runs("over-quinn", "tyrus"));
        let ratio = real.ratio(value, light, value);
        checks.push(check(
            format!("Tyrus over QUIC: {words}"),
            "",
            1.0,
            ratio,
            Tolerance::Relative(within),
        ));
    }
    let pair = |what: &str, who: &str| {
        let r = runs(what, who);
        format!("{:.1} % at {:.0} ms", r.mean("used") * 100.0, r.mean("p95"))
    };
    Figure {
        title: "Beyond (b): other paths, company and cells".to_owned(),
        setup: "The link of figure 1 with other round-trip times and buffers, behind a wired hop of 3 Mbit/s, over QUIC, shared by flows; and \
                an LTE and a 5G cell whose UEs report what was allocated and their share of what was idle."
            .to_owned(),
        claim: "Not in the poster.".to_owned(),
        seen: format!(
            "At 10 ms of RTT Tyrus uses {}, rule2 without PHY {}; at 160 ms {} and {}. Two flows of Tyrus share with Jain's index \
             {:.3}, four with {:.3}; beside CUBIC it gets {:.0} % of the rate. LTE cell: {} (CUBIC {}); 5G cell: {} (CUBIC {}).",
            pair("rtt10ms", "tyrus"),
            pair("rtt10ms", "rule2-acks"),
            pair("rtt160ms", "tyrus"),
            pair("rtt160ms", "rule2-acks"),
            runs("company2", "tyrus").mean("jain"),
            runs("company4", "tyrus").mean("jain"),
            runs("beside", "tyrus").mean("share") * 100.0,
            pair("lte", "tyrus"),
            pair("lte", "cubic"),
            pair("nr", "tyrus"),
            pair("nr", "cubic"),
        ),
        panels: vec![
            table("rtt", "Round-trip times", "path and sender", &columns, &rows(&of("rtt", &RTTS, "RTT")))
                .wide(),
            table("buffer", "Buffers", "path and sender", &columns, &rows(&of("buffer", &BUFFERS, "queue of")))
                .wide(),
            table("wired", "Wired bottleneck", "path and sender", &columns, &rows(&wired)).wide(),
            table("transports", "TCP, QUIC by the light model, QUIC by quinn", "transport and sender", &columns, &rows(&over))
                .wide(),
            table("company", "Company", "path and sender", &columns, &rows(&shared)).wide(),
            table("cells", "Cells", "cell and sender", &columns, &rows(&cells)).wide(),
        ],
        checks,
        ..Figure::default()
    }
}
