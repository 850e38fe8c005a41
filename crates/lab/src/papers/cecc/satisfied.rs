//! Figure 7: how many of n concurrent flows are satisfied, in four cells, by every mode.

use super::prelude::*;

type Changes = &'static [(&'static str, &'static str)];

/// A way to treat the flows: short name, title, colour, changes.
pub(super) type Way = (&'static str, &'static str, &'static str, Changes);

pub(super) const WAYS: [Way; 8] = [
    ("off", "CUBIC", "cubic", &[]),
    ("bbr", "BBR", "bbr", &[("flow.controller", "bbr")]),
    ("udp", "UDP", "gcc", &[("flow.app.transport", "udp")]),
    ("paper", "CECC, paper", "tyrus", &[("upf.cecc", "paper")]),
    ("credit", "CECC, credit", "xrc", &[("upf.cecc", "credit")]),
    ("hold", "CECC, hold", "cecc", &[("upf.cecc", "hold")]),
    (
        "hold-alg1",
        "CECC, hold, Algorithm 1",
        "westwood",
        &[("upf.cecc", "hold"), ("upf.schedule", "alg1")],
    ),
    (
        "hold-udp",
        "CECC, hold, over UDP",
        "copa",
        &[("upf.cecc", "hold"), ("flow.app.transport", "udp")],
    ),
];

/// One of the reference cells.
#[derive(Clone, Copy)]
pub(super) struct Place {
    id: &'static str,
    name: &'static str,
    setup: &'static str,
    changes: Changes,
}

/// Frames apart by chance.
const APART: [(&str, &str); 3] = [
    ("flow.app.clock", "gaps"),
    ("flow.app.interval_sigma", "1 ms"),
    ("flow.app.random_phase", "true"),
];

pub(super) const PLACES: [Place; 3] = [
    Place {
        id: "a",
        name: "A",
        setup: "About 860 Mbit/s, UEs share slots, all users' frames at once (0.5 ms of deviation)",
        changes: &[],
    },
    Place {
        id: "d",
        name: "D",
        setup: "About 640 Mbit/s (64QAM), UEs share slots, random phases, gaps of 1 ms deviation",
        changes: &[
            APART[0],
            APART[1],
            APART[2],
            ("cell.mcs_table", "64qam"),
            ("ue.channel.mcs", "28"),
            ("cell.n_rb", "1136"),
        ],
    },
    Place {
        id: "e",
        name: "E",
        setup: "About 860 Mbit/s, UEs share slots, random phases, gaps of 1 ms deviation: nothing to gain",
        changes: &APART,
    },
];

const COUNTS: [&str; 4] = ["4", "5", "6", "7"];

fn name(place: &Place, way: &str, n: &str) -> String {
    format!("{}{n}/{way}", place.id)
}

pub(super) fn experiment(
    options: &Options,
    place: &Place,
    way: &Way,
    n: &'static str,
    name: String,
    reduce: impl Fn(&RunResult, &mut Outcome) + Send + Sync + 'static,
) -> Result<Experiment, StudyError> {
    let mut changes = vec![("duration", length(options.quick)), ("ue.count", n)];
    changes.extend(place.changes);
    changes.extend(way.3);
    Experiment::new(name, SCENARIO, changes, reduce)
}

pub(super) fn part(options: &Options, place: Place) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for way in &WAYS {
        for n in COUNTS {
            let name = name(&place, way.0, n);
            experiments.push(experiment(options, &place, way, n, name, keep)?);
        }
    }
    Ok(Part {
        id: place.id,
        experiments,
        draw: Box::new(move |o| draw(o, &place)),
    })
}

fn draw(o: &Outcomes, place: &Place) -> Figure {
    let runs = |way: &str, n: &str| o.get(&name(place, way, n));
    let rows: Vec<(String, &str)> = WAYS.iter().map(|w| (w.1.to_owned(), w.2)).collect();
    let counts = |id: &str, caption: &str, values: [(&str, &'static str); 2]| {
        let columns: Vec<(String, &str)> = COUNTS
            .iter()
            .flat_map(|n| values.map(|(what, value)| (format!("{n}: {what}"), value)))
            .collect();
        grid(id, caption, "sender and UPF", &columns, &rows, |r, c| {
            runs(WAYS[r].0, COUNTS[c / 2])
        })
    };
    let columns: [Entry; 5] = [
        (
            "late, network, whole",
            "%",
            "late_net_all",
            1.0,
            Some(Better::Lower),
        ),
        (
            "late, network, steady",
            "%",
            "late_net_steady",
            1.0,
            Some(Better::Lower),
        ),
        (
            "late, frames, whole",
            "%",
            "late_frame_all",
            1.0,
            Some(Better::Lower),
        ),
        (
            "late, frames, steady",
            "%",
            "late_frame_steady",
            1.0,
            Some(Better::Lower),
        ),
        ("rate", "Mbit/s", "rate", 1.0, Some(Better::Higher)),
    ];
    let late = |n: &str| {
        let rows: Vec<(String, &str, &Runs)> = WAYS
            .iter()
            .map(|w| (w.1.to_owned(), w.2, runs(w.0, n)))
            .collect();
        table(
            &format!("late{n}"),
            &format!("Bytes later than 10 ms, {n} flows"),
            "sender and UPF",
            &columns,
            &rows,
        )
    };
    let steady = |way: &str, n: &str, value: &str| runs(way, n).mean(value);
    let line = |way: &str, value: &str| {
        let each = COUNTS.map(|n| format!("{:.1}", steady(way, n, value)));
        each.join(", ")
    };
    Figure {
        title: format!("Figure 7, scenario {}: satisfied flows", place.name),
        setup: format!("{}. 4 to 7 flows of 50 Mbit/s, 60 frames a second, over TCP where nothing else is said.", place.setup),
        claim: "With slow start no CUBIC flow is satisfied (0.11 to 0.14 % late); CECC satisfies 4 and 5 of as many flows with at \
                most 0.006 % late, 83.3 % of 6; 1.5 to 2.5 times as many flows."
            .to_owned(),
        seen: format!(
            "Satisfied of 4, 5, 6, 7 flows by frame delay after 2 s: CUBIC {}; CECC hold {}, credit {}, as printed {} (by network \
             delay {}).",
            line("off", "frame_steady"),
            line("hold", "frame_steady"),
            line("credit", "frame_steady"),
            line("paper", "frame_steady"),
            line("paper", "net_steady"),
        ),
        panels: vec![
            counts("steady", "Satisfied flows of n, from 2 s on", [("network", "net_steady"), ("frames", "frame_steady")]),
            counts("whole", "Satisfied flows of n, whole run", [("network", "net_all"), ("frames", "frame_all")]),
            late("5"),
            late("6"),
        ],
        checks: checks(&runs, place),
        ..Figure::default()
    }
}

/// What an independent study of ours found with another simulator, and what was asked for after it.
fn checks<'a>(runs: &impl Fn(&str, &str) -> &'a Runs, place: &Place) -> Vec<Check> {
    let mut checks = vec![];
    let mut ask = |what: &str, way: &str, n: &str, value: &str, reference: f64, tolerance| {
        let name = format!("{}{n}: {what}", place.name);
        let ours = runs(way, n).estimate(value);
        let check = Check::of(name, "flows", reference, ours, tolerance).source("the study");
        checks.push(if value.starts_with("frame") {
            check.where_missed(
                "the study counted the late bytes of a frame; here all bytes of a frame count as late with its last one",
            )
        } else {
            check
        });
    };
    let n = |n: &str| n.parse::<f64>().expect("a number");
    for count in COUNTS {
        let what = "CUBIC from slow start, satisfied by frame delay over the whole run";
        ask(
            what,
            "off",
            count,
            "frame_all",
            0.0,
            Tolerance::Absolute(0.5),
        );
    }
    let cubic = "CUBIC, satisfied by frame delay after 2 s";
    let one = Tolerance::Absolute(1.0);
    let hold = "hold, satisfied by frame delay after 2 s, at least";
    match place.id {
        "a" => {
            for (count, reference) in [("4", 4.0), ("5", 0.9), ("6", 0.0), ("7", 0.0)] {
                ask(cubic, "off", count, "frame_steady", reference, one);
            }
            ask(hold, "hold", "5", "frame_steady", 4.9, Tolerance::AtLeast);
            ask(
                "credit, satisfied by frame delay after 2 s, at least",
                "credit",
                "5",
                "frame_steady",
                4.9,
                Tolerance::AtLeast,
            );
            for count in COUNTS {
                let what = "as printed, satisfied by network delay after 2 s";
                ask(what, "paper", count, "net_steady", n(count), one);
            }
        }
        "d" => {
            for (count, reference) in [("4", 4.0), ("5", 3.6), ("6", 0.3), ("7", 0.0)] {
                ask(cubic, "off", count, "frame_steady", reference, one);
            }
            ask(hold, "hold", "6", "frame_steady", 5.4, Tolerance::AtLeast);
            ask(hold, "hold", "7", "frame_steady", 4.8, Tolerance::AtLeast);
            for count in COUNTS {
                let what = "as printed, satisfied by network delay after 2 s";
                ask(what, "paper", count, "net_steady", n(count), one);
            }
        }
        "e" => {
            for count in COUNTS {
                ask(cubic, "off", count, "frame_steady", n(count), one);
            }
            for (way, what) in [
                ("hold", hold),
                (
                    "credit",
                    "credit, satisfied by frame delay after 2 s, at least",
                ),
            ] {
                ask(what, way, "7", "frame_steady", 6.9, Tolerance::AtLeast);
            }
        }
        _ => {}
    }
    checks
}
