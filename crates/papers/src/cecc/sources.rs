//! Beyond the paper: sources that are not all alike: jittered frames, mixed frame rates, unequal channels, a bulk flow.

use super::super::variant::Case;
use super::prelude::*;

const MIXED: &str = include_str!("../../scenarios/cecc/mixed.toml");
const UNEQUAL: &str = include_str!("../../scenarios/cecc/unequal.toml");
const BULK: &str = include_str!("../../scenarios/cecc/bulk.toml");

const SHOWN: [Variant; 4] = [OFF, PAPER, CREDIT, HOLD];

/// Frames apart by chance.
const APART: Changes = &[
    ("flow.app.clock", "gaps"),
    ("flow.app.interval_sigma", "1 ms"),
    ("flow.app.random_phase", "true"),
];

/// One of these figures.
struct Sources {
    id: &'static str,
    title: &'static str,
    setup: &'static str,
    claim: &'static str,
    cases: &'static [Case],
}

const JITTER: Sources = Sources {
    id: "jitter",
    title: "Beyond: jittered frames",
    setup: "Scenario A with five flows, whose frames deviate from the common grid by 0 to 4 ms (standard deviation), and scenario E \
            with six flows whose gaps deviate by 0 to 4 ms.",
    claim: "Frame intervals are normally distributed. (Their deviation is not given.)",
    cases: &[
        Case::new(
            "a0",
            "A5, 0 ms",
            SCENARIO,
            &[("flow.app.interval_sigma", "0 ms")],
        ),
        Case::new(
            "a05",
            "A5, 0.5 ms",
            SCENARIO,
            &[("flow.app.interval_sigma", "0.5 ms")],
        ),
        Case::new(
            "a1",
            "A5, 1 ms",
            SCENARIO,
            &[("flow.app.interval_sigma", "1 ms")],
        ),
        Case::new(
            "a2",
            "A5, 2 ms",
            SCENARIO,
            &[("flow.app.interval_sigma", "2 ms")],
        ),
        Case::new(
            "a4",
            "A5, 4 ms",
            SCENARIO,
            &[("flow.app.interval_sigma", "4 ms")],
        ),
        Case::new(
            "e4",
            "E6, 4 ms",
            SCENARIO,
            &[
                ("flow.app.clock", "gaps"),
                ("flow.app.random_phase", "true"),
                ("flow.app.interval_sigma", "4 ms"),
                ("ue.count", "6"),
            ],
        ),
    ],
};

const RATES: Sources = Sources {
    id: "rates",
    title: "Beyond: mixed frame rates",
    setup: "Six flows of 50 Mbit/s, two each of 72, 90 and 120 frames a second, in a cell of 860 and one of 640 Mbit/s; the same with \
            60 frames a second for all.",
    claim: "All flows have 60 frames a second. (Not varied.)",
    cases: &[
        Case::new("mixed", "72, 90, 120 FPS", MIXED, &[]),
        Case::new("same", "60 FPS", MIXED, &[("flow.app.fps", "60")]),
        Case::new(
            "mixed-640",
            "72, 90, 120 FPS, 640 Mbit/s",
            MIXED,
            &[
                ("cell.mcs_table", "64qam"),
                ("ue.channel.mcs", "28"),
                ("cell.n_rb", "1136"),
            ],
        ),
        Case::new(
            "same-640",
            "60 FPS, 640 Mbit/s",
            MIXED,
            &[
                ("flow.app.fps", "60"),
                ("cell.mcs_table", "64qam"),
                ("ue.channel.mcs", "28"),
                ("cell.n_rb", "1136"),
            ],
        ),
    ],
};

const CHANNELS: Sources = Sources {
    id: "channels",
    title: "Beyond: unequal channels",
    setup: "Five flows to UEs of MCS 27, 27, 22, 22 and 17, frames at once as in A or apart as in E: the weakest channel carries half \
            as many bits per block as the best.",
    claim: "All UEs have the same channel. (Not varied.)",
    cases: &[
        Case::new("together", "frames at once", UNEQUAL, &[]),
        Case::new("apart", "frames apart", UNEQUAL, APART),
    ],
};

const BULKS: Sources = Sources {
    id: "bulk",
    title: "Beyond: a bulk transfer beside VR flows",
    setup: "Three VR flows, frames at once as in A or apart as in E, and one CUBIC bulk transfer to a UE of its own. The cell serves \
            all UEs alike.",
    claim: "Only VR flows. (Not varied.)",
    cases: &[
        Case::new("together", "frames at once", BULK, &[]),
        Case::new(
            "apart",
            "frames apart",
            BULK,
            &[
                ("flow[0].app.clock", "gaps"),
                ("flow[0].app.interval_sigma", "1 ms"),
                ("flow[0].app.random_phase", "true"),
                ("flow[1].app.clock", "gaps"),
                ("flow[1].app.interval_sigma", "1 ms"),
                ("flow[1].app.random_phase", "true"),
                ("flow[2].app.clock", "gaps"),
                ("flow[2].app.interval_sigma", "1 ms"),
                ("flow[2].app.random_phase", "true"),
            ],
        ),
    ],
};

pub(super) fn parts(options: &Options) -> Result<Vec<Part>, StudyError> {
    let each = [&JITTER, &RATES, &CHANNELS, &BULKS];
    each.into_iter().map(|s| part(options, s)).collect()
}

fn name(sources: &Sources, case: &str, variant: &str) -> String {
    format!("{}/{case}-{variant}", sources.id)
}

fn part(options: &Options, sources: &'static Sources) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for case in sources.cases {
        for variant in SHOWN {
            let name = name(sources, case.key, variant.key);
            experiments.push(experiment(
                options,
                case.text,
                &[case.changes, variant.changes],
                name,
            )?);
        }
    }
    Ok(Part {
        id: sources.id,
        measures: vec![],
        experiments,
        draw: Box::new(|o| draw(o, sources)),
    })
}

fn draw(o: &Outcomes, sources: &Sources) -> Figure {
    let runs = |case: &str, variant: &str| o.get(&name(sources, case, variant));
    let rows: Vec<(String, &str, &Runs)> = sources
        .cases
        .iter()
        .flat_map(|c| {
            SHOWN.map(|w| {
                (
                    format!("{}: {}", c.title, w.title),
                    w.colour,
                    runs(c.key, w.key),
                )
            })
        })
        .collect();
    let bars = |id: &str, title: &str, value: &str| {
        let bars = sources.cases.iter().flat_map(|c| {
            SHOWN.map(|w| bar(c.title, w.title, w.colour, runs(c.key, w.key), value))
        });
        let axis = Axis::new("Satisfied flows", "");
        let bars = Drawing::Bars {
            axis,
            bars: bars.flatten().collect(),
            guides: vec![],
        };
        Panel::new(id, title, "", bars)
    };
    let seen: Vec<String> = sources
        .cases
        .iter()
        .map(|c| {
            let each = SHOWN.map(|w| {
                format!(
                    "{} {:.1}",
                    w.title.trim_start_matches("CECC, "),
                    runs(c.key, w.key).mean("frame_steady")
                )
            });
            format!("{}: {}", c.title, each.join(", "))
        })
        .collect();
    let mut checks = vec![];
    for Case {
        key: case, title, ..
    } in sources.cases
    {
        let off = runs(case, "off");
        for variant in [HOLD, CREDIT] {
            checks.push(
                Check::of(
                    format!("{title}: {}, share of bytes late by frame delay, at most CUBIC's with 10 % more", variant.key),
                    "%",
                    1.1 * off.mean("late_frame_steady"),
                    runs(case, variant.key).estimate("late_frame_steady"),
                    Tolerance::AtMost,
                )
                ,
            );
        }
        if sources.id == "bulk" {
            checks.push(Check::of(
                format!("{title}: hold, rate of the bulk transfer, of that beside CUBIC alone"),
                "",
                0.95,
                runs(case, "hold").ratio("bulk", off, "bulk"),
                Tolerance::AtLeast,
            ));
        }
    }
    let mut columns = MEASURES.to_vec();
    if sources.id == "bulk" {
        columns.push(Entry::more("bulk", "Mbit/s", "bulk"));
    }
    Figure {
        title: sources.title.to_owned(),
        setup: sources.setup.to_owned(),
        claim: sources.claim.to_owned(),
        seen: format!("Satisfied by frame delay from 2 s on. {}.", seen.join("; ")),
        panels: vec![
            bars("frame", "Satisfied by frame delay", "frame_steady"),
            bars("net", "Satisfied by network delay", "net_steady"),
            table("table", "From 2 s on", "", &columns, &rows).wide(),
        ],
        checks,
        ..Figure::default()
    }
}
