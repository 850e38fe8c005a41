//! Reports that are rare, late, lost or wrong, and other paths: round trips, buffers, RLC modes, timers of the uplink.

use super::prelude::*;

/// A variation: name, what it is called, changes.
type Change = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const WHERE: [&str; 3] = ["lte-steps", "lte-fading", "nr-fading"];

const REPORTS: [Change; 15] = [
    ("usual", "each 5 ms", &[]),
    ("every1", "each 1 ms", &[("feedback.ebb.every", "1 ms")]),
    ("every10", "each 10 ms", &[("feedback.ebb.every", "10 ms")]),
    ("every20", "each 20 ms", &[("feedback.ebb.every", "20 ms")]),
    ("late10", "10 ms later", &[("feedback.delay", "10 ms")]),
    ("late20", "20 ms later", &[("feedback.delay", "20 ms")]),
    ("late50", "50 ms later", &[("feedback.delay", "50 ms")]),
    (
        "jitter20",
        "up to 20 ms of jitter",
        &[("feedback.jitter", "20 ms")],
    ),
    ("lost10", "10 % lost", &[("feedback.faults.loss", "10 %")]),
    ("lost50", "50 % lost", &[("feedback.faults.loss", "50 %")]),
    ("lost80", "80 % lost", &[("feedback.faults.loss", "80 %")]),
    (
        "tenth",
        "rates and bytes a tenth",
        &[("feedback.faults.rate_scale", "0.1")],
    ),
    (
        "tenfold",
        "rates and bytes tenfold",
        &[("feedback.faults.rate_scale", "10.0")],
    ),
    (
        "delays",
        "head-of-line delays a thousandfold",
        &[("feedback.faults.hol_scale", "1000.0")],
    ),
    (
        "stop",
        "none from half of the run on",
        &[("feedback.faults.stop", "10 s")],
    ),
];

/// Of [`REPORTS`], those that should cost at most 5 % of the rate.
const HARMLESS: core::ops::Range<usize> = 1..10;
/// Those that lie: within half and twice of what CUBIC has.
const LYING: core::ops::Range<usize> = 11..14;

const PATHS: [Change; 9] = [
    ("usual", "RTT 40 ms, 750 kB or 1 MB", &[]),
    ("rtt10", "RTT 10 ms", &[("path.rtt", "10 ms")]),
    ("rtt80", "RTT 80 ms", &[("path.rtt", "80 ms")]),
    ("rtt160", "RTT 160 ms", &[("path.rtt", "160 ms")]),
    (
        "buffer20",
        "buffer of 20 packets",
        &[("cell.rlc.buffer", "30 kB")],
    ),
    (
        "buffer100",
        "buffer of 100 packets",
        &[("cell.rlc.buffer", "150 kB")],
    ),
    (
        "unlimited",
        "buffer of 20 MB",
        &[("cell.rlc.buffer", "20 MB")],
    ),
    ("um", "RLC UM", &[("cell.rlc.mode", "um")]),
    ("am", "RLC AM", &[("cell.rlc.mode", "am")]),
];

/// Senders that other paths are shown for.
const BESIDE: [&str; 4] = ["ebb", "xrc", "rule2", "cubic"];

fn report(cell: &str, change: &str) -> String {
    if change == "usual" {
        format!("cells/{cell}-ebb")
    } else {
        format!("reports/{cell}-{change}")
    }
}

fn path(cell: &str, sender: &str, change: &str) -> String {
    if change == "usual" {
        format!("cells/{cell}-{sender}")
    } else {
        format!("paths/{cell}-{sender}-{change}")
    }
}

/// Rows of a table: one change each.
fn rows(changes: &[Change]) -> Vec<(String, &'static str)> {
    changes.iter().map(|c| (c.1.to_owned(), "ebb")).collect()
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for place in WHERE {
        for (id, _, changes) in REPORTS {
            experiments.push(cell(place).experiment(options, report(place, id), "ebb", changes)?);
        }
        let name = path(place, "cubic", "usual");
        experiments.push(cell(place).experiment(options, name, "cubic", &[])?);
    }
    Ok(Part {
        id: "reports",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let of = |r: usize, c: usize| o.get(&report(WHERE[c], REPORTS[r].0));
    let columns = |value: &'static str| -> Vec<(String, &'static str)> {
        WHERE.iter().map(|c| ((*c).to_owned(), value)).collect()
    };
    let made = |id: &str, heading: &str, value| {
        apart(grid(
            id,
            heading,
            "reports",
            &columns(value),
            &rows(&REPORTS),
            of,
        ))
    };
    let mut checks = vec![];
    for place in WHERE {
        let usual = o.get(&report(place, "usual"));
        for (id, label, _) in &REPORTS[HARMLESS] {
            checks.push(Check::of(
                format!("{place}, reports {label}: rate over the usual one"),
                "",
                0.95,
                o.get(&report(place, id)).ratio("rate", usual, "rate"),
                Tolerance::AtLeast,
            ));
        }
        let cubic = o.get(&path(place, "cubic", "usual"));
        for (id, label, _) in &REPORTS[LYING] {
            checks.push(Check::of(
                format!("{place}, {label}: rate over CUBIC's"),
                "",
                0.5,
                o.get(&report(place, id)).ratio("rate", cubic, "rate"),
                Tolerance::AtLeast,
            ));
        }
    }
    Figure {
        title: "Reports that are rare, late, lost or wrong".to_owned(),
        setup: "One change a row. Lies multiply what the counters say; after the last report CUBIC takes over.".to_owned(),
        claim: "Targets: 95 % of the rate with reports each 1 to 20 ms, 0 to 50 ms late, 20 ms of jitter and half of them lost; half \
                of CUBIC's rate at least where they lie."
            .to_owned(),
        seen: String::new(),
        panels: vec![
            made("reports-score", "S", SCORE),
            made("reports-use", "Utilisation, %", "use"),
            made("reports-delay", "p95 queue delay, ms", "delay"),
        ],
        checks,
        ..Figure::default()
    }
}

pub(super) fn paths(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for place in ["lte-fading", "nr-fading"] {
        for sender in BESIDE {
            for (id, _, changes) in PATHS {
                let name = path(place, sender, id);
                experiments.push(cell(place).experiment(options, name, sender, changes)?);
            }
        }
    }
    Ok(Part {
        id: "paths",
        measures: vec![],
        experiments,
        draw: Box::new(|o| {
            let mut panels = vec![];
            for place in ["lte-fading", "nr-fading"] {
                for (short, heading, value) in [
                    ("score", "S", SCORE),
                    ("use", "utilisation, %", "use"),
                    ("delay", "p95 queue delay, ms", "delay"),
                ] {
                    let columns: Vec<(String, &str)> = BESIDE
                        .iter()
                        .map(|s| (title(s).to_owned(), value))
                        .collect();
                    let id = format!("paths-{place}-{short}");
                    let heading = format!("{place}: {heading}");
                    let of = |r: usize, c: usize| o.get(&path(place, BESIDE[c], PATHS[r].0));
                    panels.push(apart(grid(
                        &id,
                        &heading,
                        "path",
                        &columns,
                        &rows(&PATHS),
                        of,
                    )));
                }
            }
            Figure {
                title: "Other paths, buffers and RLC modes".to_owned(),
                setup: "One change a row, the same for four senders.".to_owned(),
                claim: String::new(),
                seen: String::new(),
                panels,
                ..Figure::default()
            }
        }),
    })
}
