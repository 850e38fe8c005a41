//! Beyond the paper: what TCP offers: time stamps and SACK on and off, window scales 0 to 14.

use super::prelude::*;

const SHOWN: [Variant; 4] = [OFF, PAPER, CREDIT, HOLD];

/// Losses make SACK matter: one segment in a hundred thousand, three a minute and flow.
const LOSS: (&str, &str) = ("path.loss", "0.001 %");

/// What a connection offers.
struct Case {
    /// Its part of an experiment's name.
    key: &'static str,
    /// What tables call it.
    title: &'static str,
    /// What it changes in the scenario.
    changes: Changes,
}

impl Case {
    const fn new(key: &'static str, title: &'static str, changes: Changes) -> Self {
        Self {
            key,
            title,
            changes,
        }
    }
}

const OPTIONS: [Case; 4] = [
    Case::new("both", "time stamps, SACK", &[LOSS]),
    Case::new("stamps", "time stamps", &[LOSS, ("flow.tcp.sack", "false")]),
    Case::new("sack", "SACK", &[LOSS, ("flow.tcp.timestamps", "false")]),
    Case::new(
        "none",
        "neither",
        &[
            LOSS,
            ("flow.tcp.sack", "false"),
            ("flow.tcp.timestamps", "false"),
        ],
    ),
];

/// A frame of 52 kB fits the largest window without scale.
const SCALED: Changes = &[("ue.count", "10"), ("flow.app.rate", "25 Mbit/s")];

const SCALES: [Case; 6] = [
    Case::new("0", "0", &[("flow.tcp.window_scale", "0")]),
    Case::new("3", "3", &[("flow.tcp.window_scale", "3")]),
    Case::new("7", "7", &[("flow.tcp.window_scale", "7")]),
    Case::new("10", "10", &[("flow.tcp.window_scale", "10")]),
    Case::new("11", "11", &[("flow.tcp.window_scale", "11")]),
    Case::new("14", "14", &[("flow.tcp.window_scale", "14")]),
];

fn name(figure: &str, case: &str, variant: &str) -> String {
    format!("{figure}/{case}-{variant}")
}

pub(super) fn parts(options: &Options) -> Result<Vec<Part>, StudyError> {
    let figure =
        |id: &'static str, cases: &[Case], base: Changes, draw: fn(&Outcomes) -> Figure| {
            let mut experiments = vec![];
            for case in cases {
                for variant in SHOWN {
                    let name = name(id, case.key, variant.key);
                    experiments.push(experiment(
                        options,
                        SCENARIO,
                        &[base, case.changes, variant.changes],
                        name,
                    )?);
                }
            }
            Ok(Part {
                id,
                measures: vec![],
                experiments,
                draw: Box::new(draw),
            })
        };
    Ok(vec![
        figure("options", &OPTIONS, &[], draw_options)?,
        figure("scale", &SCALES, SCALED, draw_scales)?,
    ])
}

fn rows<'a>(
    o: &'a Outcomes,
    figure: &str,
    cases: &[Case],
) -> Vec<(String, &'static str, &'a Runs)> {
    cases
        .iter()
        .flat_map(|c| {
            SHOWN.map(|w| {
                (
                    format!("{}: {}", c.title, w.title),
                    w.colour,
                    o.get(&name(figure, c.key, w.key)),
                )
            })
        })
        .collect()
}

fn bars(o: &Outcomes, figure: &str, cases: &[Case], value: &str, axis: Axis) -> Panel {
    let bars = cases.iter().flat_map(|c| {
        SHOWN.map(|w| {
            bar(
                c.title,
                w.title,
                w.colour,
                o.get(&name(figure, c.key, w.key)),
                value,
            )
        })
    });
    let bars = Drawing::Bars {
        bars: bars.flatten().collect(),
        guides: vec![],
        axis,
    };
    Panel::new(value, "From 2 s on", "", bars).wide()
}

fn draw_options(o: &Outcomes) -> Figure {
    let runs = |case: &str, variant: &str| o.get(&name("options", case, variant));
    let mut checks = vec![];
    for Case {
        key: case, title, ..
    } in OPTIONS
    {
        for variant in &SHOWN[1..] {
            checks.push(Check::of(
                format!("{title}: {}, rate, of CUBIC's alone", variant.key),
                "",
                0.995,
                runs(case, variant.key).ratio("rate", runs(case, "off"), "rate"),
                Tolerance::AtLeast,
            ));
        }
        checks.push(Check::of(
            format!(
                "{title}: hold, share of bytes late by frame delay, at most CUBIC's with 10 % more"
            ),
            "%",
            1.1 * runs(case, "off").mean("late_frame_steady"),
            runs(case, "hold").estimate("late_frame_steady"),
            Tolerance::AtMost,
        ));
    }
    let late = |case: &str, variant: &str| runs(case, variant).mean("late_frame_steady");
    Figure {
        title: "Beyond: time stamps and SACK".to_owned(),
        setup: "Scenario A with five flows; one segment in 100,000 is lost before the UPF, so that each flow repairs some three losses \
                a minute."
            .to_owned(),
        claim: "Made acknowledgments differ from real ones in their number only, \"so the server will not reject\" them.".to_owned(),
        seen: format!(
            "Bytes late by frame delay with both options: CUBIC {:.2} %, hold {:.2}, credit {:.2}, as printed {:.2}; with neither {:.2}, \
             {:.2}, {:.2}, {:.2}.",
            late("both", "off"),
            late("both", "hold"),
            late("both", "credit"),
            late("both", "paper"),
            late("none", "off"),
            late("none", "hold"),
            late("none", "credit"),
            late("none", "paper"),
        ),
        panels: vec![
            bars(o, "options", &OPTIONS, "late_frame_steady", Axis::new("Bytes late by frame delay", "%")),
            table("table", "Scenario A, five flows, some losses", "options", &MEASURES, &rows(o, "options", &OPTIONS)).wide(),
        ],
        checks,
        ..Figure::default()
    }
}

fn draw_scales(o: &Outcomes) -> Figure {
    let runs = |case: &str, variant: &str| o.get(&name("scale", case, variant));
    let mut checks = vec![];
    for Case { key: case, .. } in SCALES {
        let off = runs(case, "off").mean("late_frame_steady");
        let coarse = case.parse::<u8>().is_ok_and(|s| s > 10);
        let more = |variant: &str, limit: f64, what: &str| {
            Check::of(
                format!("scale {case}: {variant}, share of bytes late by frame delay, {what}"),
                "%",
                limit,
                runs(case, variant).estimate("late_frame_steady"),
                Tolerance::AtMost,
            )
        };
        checks.push(more("hold", 1.1 * off, "at most CUBIC's with 10 % more"));
        if coarse {
            checks.push(more("credit", off + 0.001, "CUBIC's, for it passes"));
            checks.push(more("paper", off + 0.001, "CUBIC's, for it passes"));
        }
    }
    let line = |variant: &str| {
        let each = SCALES.map(|c| format!("{:.1}", runs(c.key, variant).mean("frame_steady")));
        each.join(", ")
    };
    Figure {
        title: "Beyond: window scales".to_owned(),
        setup: "Ten flows of 25 Mbit/s, frames at once as in A (half frames, which fit a window without scale). With scales above 10 the \
                smallest window is larger than a segment: credit and the paper's mode let such flows pass."
            .to_owned(),
        claim: "Windows are made as small as a cycle needs. (Scaling is not discussed.)".to_owned(),
        seen: format!(
            "Satisfied of 10 by frame delay with scales 0, 3, 7, 10, 11, 14: CUBIC {}; hold {}; credit {}; as printed {}.",
            line("off"),
            line("hold"),
            line("credit"),
            line("paper"),
        ),
        panels: vec![
            bars(o, "scale", &SCALES, "frame_steady", Axis::new("Satisfied by frame delay", "of 10").top(10.0)),
            table("table", "Ten flows of 25 Mbit/s", "scale", &MEASURES, &rows(o, "scale", &SCALES)).wide(),
        ],
        checks,
        ..Figure::default()
    }
}
