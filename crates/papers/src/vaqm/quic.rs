//! Loads over QUIC: vAQM sees the spin bit and nothing else.

use super::loads::COLUMNS;
use super::prelude::*;

const SESSION: &str = include_str!("../../scenarios/vaqm/session.toml");

/// A page whose objects are all requested at once on one connection (HTTP/3).
const PAGE: &str = "{ kind = \"page\", size = \"2 MB\", objects = 70, connections = 1, multiplexed = true, gap = \"2 s\" }";
const IMAGE: &str = "{ kind = \"transfers\", min = \"16 MB\", max = \"16 MB\", gap = \"2 s\" }";
const SMALL: &str = "{ kind = \"transfers\", min = \"100 kB\", max = \"100 kB\", gap = \"1 s\" }";

/// Beside others' downloads over TCP: name, title, application, length of a quick and of a full run.
const OTHERS: [(&str, &str, &str, &str, &str); 2] = [
    ("page", "a page", PAGE, "60 s", "150 s"),
    ("image", "an image of 16 MB", IMAGE, "100 s", "300 s"),
];

/// Beside the same user's download: name, title, application.
const WITHIN: [(&str, &str, &str); 2] = [("small", "100 kB", SMALL), ("page", "a page", PAGE)];

const TCP: Changes = &[];
const QUIC: Changes = &[("flow.transport", "quic")];
const SILENT: Changes = &[("flow.transport", "quic"), ("flow.quic.spin", "off")];

/// What carries both flows of the session: name, title, colour with vAQM, changes.
const CARRIERS: [Variant; 3] = [
    Variant::new("tcp", "TCP", "vaqm", TCP),
    Variant::new("quic", "QUIC", "xrc", QUIC),
    Variant::new("silent", "QUIC without spin bit", "prague", SILENT),
];

/// Without and with vAQM.
fn variants() -> [Variant; 2] {
    [VARIANTS[0], VARIANTS[1]]
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (load, _, app, quick, full) in OTHERS {
        for variant in variants() {
            let mut changes = vec![
                ("duration", if options.quick { quick } else { full }),
                ("ue.channel.mcs", "11"),
                ("flow[3].app", app),
                ("flow[3].transport", "quic"),
            ];
            changes.extend(variant.changes);
            let name = format!("quic/weak-{load}-{}", variant.key);
            experiments.push(Experiment::new(name, SIGNAL, changes, keep)?);
        }
    }
    for (load, _, app) in WITHIN {
        for carrier in CARRIERS {
            for variant in variants() {
                let mut changes = vec![("duration", length(options.quick)), ("flow[1].app", app)];
                if load == "page" {
                    changes[0].1 = if options.quick { "60 s" } else { "150 s" };
                }
                changes.extend(carrier.changes);
                changes.extend(variant.changes);
                let name = format!("quic/{load}-{}-{}", carrier.key, variant.key);
                experiments.push(Experiment::new(name, SESSION, changes, keep)?);
            }
        }
    }
    Ok(Part {
        id: "quic",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |name: String| o.get(&format!("quic/{name}"));
    let weak = |load: &str, variant: &str| runs(format!("weak-{load}-{variant}"));
    let own =
        |load: &str, carrier: &str, variant: &str| runs(format!("{load}-{carrier}-{variant}"));
    let mut rows: Vec<(String, &str, &Runs)> = vec![];
    let mut bars = vec![];
    let mut checks = vec![];
    for (load, what, ..) in OTHERS {
        for w in variants() {
            let title = format!(
                "weak signal, {what} over QUIC beside others' TCP, {}",
                w.title
            );
            rows.push((title, w.colour, weak(load, w.key)));
        }
        let (none, vaqm) = (weak(load, "none"), weak(load, "vaqm"));
        checks.push(Check::of(
            format!("weak signal, {what} over QUIC: time with vAQM over that without"),
            "",
            1.11,
            vaqm.ratio("loads_time", none, "loads_time"),
            Tolerance::AtMost,
        ));
    }
    for (load, what, _) in WITHIN {
        for carrier in CARRIERS {
            for w in variants() {
                let r = own(load, carrier.key, w.key);
                let colour = if w.key == "none" {
                    w.colour
                } else {
                    carrier.colour
                };
                let title = format!("{what} beside a download of the same user");
                let name = format!("{}, {}", carrier.title, w.title);
                rows.push((format!("{title}, {name}"), colour, r));
                bars.extend(bar(&title, &name, colour, r, "loads_time"));
            }
        }
    }
    let small = |carrier: &str, variant: &str| own("small", carrier, variant);
    checks.extend([
        Check::of(
            "100 kB over QUIC beside a download over QUIC: time without over with vAQM".to_owned(),
            "",
            5.0,
            small("quic", "none").ratio("loads_time", small("quic", "vaqm"), "loads_time"),
            Tolerance::AtLeast,
        ),
        Check::of(
            "a page over QUIC beside a download over QUIC: time with vAQM over that without"
                .to_owned(),
            "",
            1.0,
            own("page", "quic", "vaqm").ratio(
                "loads_time",
                own("page", "quic", "none"),
                "loads_time",
            ),
            Tolerance::AtMost,
        ),
        Check::of(
            "rate of the download beside 100 kB: vAQM by the spin bit over vAQM by TCP's ACKs"
                .to_owned(),
            "",
            0.86,
            small("quic", "vaqm").ratio("bulk_rate", small("tcp", "vaqm"), "bulk_rate"),
            Tolerance::AtLeast,
        ),
    ]);
    let t = |r: &Runs| r.mean("loads_time");
    let rtt = |r: &Runs| r.mean("bulk_p50");
    Figure {
        title: "Loads over QUIC".to_owned(),
        setup: "QUIC by the light model, its bit spinning on every connection. Weak signal: three users download over TCP, a fourth \
                loads pages or images over QUIC. One user of 10 Mbit/s with 1 MB of RLC buffer: a download and loads, both over TCP, \
                or both over QUIC, with and without the spin bit."
            .to_owned(),
        claim: "The spin bit lets vAQM measure QUIC, whose acknowledgments it cannot read.".to_owned(),
        seen: format!(
            "Beside the same user's download 100 kB take {:.2} s without AQM and {:.2} s with vAQM over QUIC ({:.2} and {:.2} s over \
             TCP), a page {:.1} and {:.1} s ({:.1} and {:.1} s); the download's median RTT falls from {:.0} to {:.0} ms ({:.0} to \
             {:.0} ms), its rate from {:.1} to {:.1} Mbit/s ({:.1} to {:.1}). A connection without the bit is not measured and vAQM lets it \
             pass: {:.2} s for 100 kB, {:.0} ms. Beside others' downloads in weak signal a page takes {:.1} s without and {:.1} s with \
             vAQM, an image {:.0} and {:.0} s.",
            t(small("quic", "none")),
            t(small("quic", "vaqm")),
            t(small("tcp", "none")),
            t(small("tcp", "vaqm")),
            t(own("page", "quic", "none")),
            t(own("page", "quic", "vaqm")),
            t(own("page", "tcp", "none")),
            t(own("page", "tcp", "vaqm")),
            rtt(small("quic", "none")),
            rtt(small("quic", "vaqm")),
            rtt(small("tcp", "none")),
            rtt(small("tcp", "vaqm")),
            small("quic", "none").mean("bulk_rate"),
            small("quic", "vaqm").mean("bulk_rate"),
            small("tcp", "none").mean("bulk_rate"),
            small("tcp", "vaqm").mean("bulk_rate"),
            t(small("silent", "vaqm")),
            rtt(small("silent", "vaqm")),
            t(weak("page", "none")),
            t(weak("page", "vaqm")),
            t(weak("image", "none")),
            t(weak("image", "vaqm")),
        ),
        panels: vec![
            Panel::new(
                "bars",
                "Median time of a load beside the same user's download",
                "",
                Drawing::Bars {
                    axis: Axis::new("Time", "s"),
                    bars,
                    guides: vec![],
                },
            )
            .wide(),
            table("table", "Loads over QUIC", "load, transport, queue", &COLUMNS, &rows).wide(),
        ],
        checks,
        ..Figure::default()
    }
}
