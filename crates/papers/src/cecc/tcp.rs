//! Beyond the paper: what TCP offers: time stamps and SACK on and off, window scales 0 to 14.

use super::prelude::*;

const SHOWN: [Way; 4] = [OFF, PAPER, CREDIT, HOLD];

/// Losses make SACK matter: one segment in a hundred thousand, three a minute and flow.
const LOSS: (&str, &str) = ("path.loss", "0.001 %");

/// Short name, title, changes.
type Case = (&'static str, &'static str, Changes);

const OPTIONS: [Case; 4] = [
    ("both", "time stamps, SACK", &[LOSS]),
    ("stamps", "time stamps", &[LOSS, ("flow.tcp.sack", "false")]),
    ("sack", "SACK", &[LOSS, ("flow.tcp.timestamps", "false")]),
    (
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
    ("0", "0", &[("flow.tcp.window_scale", "0")]),
    ("3", "3", &[("flow.tcp.window_scale", "3")]),
    ("7", "7", &[("flow.tcp.window_scale", "7")]),
    ("10", "10", &[("flow.tcp.window_scale", "10")]),
    ("11", "11", &[("flow.tcp.window_scale", "11")]),
    ("14", "14", &[("flow.tcp.window_scale", "14")]),
];

fn name(figure: &str, case: &str, way: &str) -> String {
    format!("{figure}/{case}-{way}")
}

pub(super) fn parts(options: &Options) -> Result<Vec<Part>, StudyError> {
    let figure =
        |id: &'static str, cases: &[Case], base: Changes, draw: fn(&Outcomes) -> Figure| {
            let mut experiments = vec![];
            for (case, _, changes) in cases {
                for way in SHOWN {
                    let name = name(id, case, way.0);
                    experiments.push(experiment(
                        options,
                        SCENARIO,
                        &[base, changes, way.3],
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
                    format!("{}: {}", c.1, w.1),
                    w.2,
                    o.get(&name(figure, c.0, w.0)),
                )
            })
        })
        .collect()
}

fn bars(o: &Outcomes, figure: &str, cases: &[Case], value: &str, axis: Axis) -> Panel {
    let bars = cases
        .iter()
        .flat_map(|c| SHOWN.map(|w| bar(c.1, w.1, w.2, o.get(&name(figure, c.0, w.0)), value)));
    let bars = Drawing::Bars {
        bars: bars.flatten().collect(),
        guides: vec![],
        axis,
    };
    Panel::new(value, "From 2 s on", "", bars).wide()
}

fn draw_options(o: &Outcomes) -> Figure {
    let runs = |case: &str, way: &str| o.get(&name("options", case, way));
    let mut checks = vec![];
    for (case, title, _) in OPTIONS {
        for way in &SHOWN[1..] {
            checks.push(Check::of(
                format!("{title}: {}, rate, of CUBIC's alone", way.0),
                "",
                0.995,
                runs(case, way.0).ratio("rate", runs(case, "off"), "rate"),
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
    let late = |case: &str, way: &str| runs(case, way).mean("late_frame_steady");
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
    let runs = |case: &str, way: &str| o.get(&name("scale", case, way));
    let mut checks = vec![];
    for (case, ..) in SCALES {
        let off = runs(case, "off").mean("late_frame_steady");
        let coarse = case.parse::<u8>().is_ok_and(|s| s > 10);
        let more = |way: &str, limit: f64, what: &str| {
            Check::of(
                format!("scale {case}: {way}, share of bytes late by frame delay, {what}"),
                "%",
                limit,
                runs(case, way).estimate("late_frame_steady"),
                Tolerance::AtMost,
            )
        };
        checks.push(more("hold", 1.1 * off, "at most CUBIC's with 10 % more"));
        if coarse {
            checks.push(more("credit", off + 0.001, "CUBIC's, for it passes"));
            checks.push(more("paper", off + 0.001, "CUBIC's, for it passes"));
        }
    }
    let line = |way: &str| {
        let each = SCALES.map(|c| format!("{:.1}", runs(c.0, way).mean("frame_steady")));
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
