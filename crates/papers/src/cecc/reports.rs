//! Beyond the paper: reports that come less often, late, or not at all.

use super::prelude::*;

const PERIODS: [(&str, &str, Changes); 7] = [
    ("1ms", "each 1 ms", &[]),
    ("2ms", "each 2 ms", &[("upf.reports.period", "2 ms")]),
    ("3ms", "each 3 ms", &[("upf.reports.period", "3 ms")]),
    ("4ms", "each 4 ms", &[("upf.reports.period", "4 ms")]),
    ("5ms", "each 5 ms", &[("upf.reports.period", "5 ms")]),
    (
        "7ms",
        "each 7 ms (passes)",
        &[("upf.reports.period", "7 ms")],
    ),
    (
        "10ms",
        "each 10 ms (passes)",
        &[("upf.reports.period", "10 ms")],
    ),
];

const FAULTS: [(&str, &str, Changes); 8] = [
    ("late2", "2 ms late", &[("upf.reports.delay", "2 ms")]),
    ("late5", "5 ms late", &[("upf.reports.delay", "5 ms")]),
    (
        "jitter2",
        "0 to 2 ms late",
        &[("upf.reports.jitter", "2 ms")],
    ),
    (
        "jitter5",
        "0 to 5 ms late",
        &[("upf.reports.jitter", "5 ms")],
    ),
    ("loss1", "1 % lost", &[("upf.reports.loss", "1 %")]),
    ("loss10", "10 % lost", &[("upf.reports.loss", "10 %")]),
    ("loss50", "50 % lost", &[("upf.reports.loss", "50 %")]),
    ("cut", "cut off at 1 s", &[("upf.reports.stop", "1 s")]),
];

/// Every mode when reports end.
const CUT: [Variant; 3] = [HOLD, CREDIT, PAPER];

fn name(variant: &str, what: &str) -> String {
    format!("reports/{variant}-{what}")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    const SIX: Changes = &[("ue.count", "6")];
    let place = PLACES[3].changes;
    let mut experiments = vec![experiment(
        options,
        SCENARIO,
        &[SIX, place],
        name("off", "none"),
    )?];
    for (what, _, changes) in PERIODS.into_iter().chain(FAULTS) {
        for variant in CUT {
            if variant.key == HOLD.key || what == "1ms" || what == "cut" {
                let all = [SIX, place, variant.changes, changes];
                experiments.push(experiment(
                    options,
                    SCENARIO,
                    &all,
                    name(variant.key, what),
                )?);
            }
        }
    }
    Ok(Part {
        id: "reports",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |variant: &str, what: &str| o.get(&name(variant, what));
    let off = runs("off", "none");
    let mut rows: Vec<(String, &str, &Runs)> = vec![("CUBIC alone".to_owned(), "cubic", off)];
    for (what, title, _) in PERIODS.iter().chain(&FAULTS) {
        rows.push((format!("hold, {title}"), "cecc", runs("hold", what)));
    }
    for variant in &CUT[1..] {
        rows.push((
            format!("{}, each 1 ms", variant.key),
            variant.colour,
            runs(variant.key, "1ms"),
        ));
        rows.push((
            format!("{}, cut off at 1 s", variant.key),
            variant.colour,
            runs(variant.key, "cut"),
        ));
    }
    let bars = rows.iter().flat_map(|(label, colour, runs)| {
        let each = [
            ("network delay", "net_steady"),
            ("frame delay", "frame_steady"),
        ];
        each.map(|(group, value)| bar(group, label, colour, runs, value))
    });
    let mut bars: Vec<Bar> = bars.flatten().collect();
    bars.sort_by_key(|b| b.group != "frame delay");
    let mut checks = vec![];
    for variant in CUT {
        let cut = runs(variant.key, "cut");
        checks.push(Check::of(
            format!("reports cut off, {}: rate, of CUBIC's alone", variant.key),
            "",
            0.99,
            cut.ratio("rate", off, "rate"),
            Tolerance::AtLeast,
        ));
        checks.push(Check::of(
            format!(
                "reports cut off, {}: share of bytes late by frame delay, CUBIC's and 1 %",
                variant.key
            ),
            "%",
            off.mean("late_frame_steady") + 1.0,
            cut.estimate("late_frame_steady"),
            Tolerance::AtMost,
        ));
    }
    for what in ["7ms", "10ms"] {
        checks.push(Check::of(
            format!("hold, reports each {what}: passes, late bytes by frame delay are CUBIC's"),
            "%",
            off.mean("late_frame_steady"),
            runs("hold", what).estimate("late_frame_steady"),
            Tolerance::Absolute(0.001),
        ));
    }
    let frames = |what: &str| runs("hold", what).mean("frame_steady");
    Figure {
        title: "Beyond: reports that are rare, late, lost or gone".to_owned(),
        setup: "Scenario D with six flows; everything from 2 s on. Up to 5 ms between reports CECC acts, beyond that it lets everything \
                pass."
            .to_owned(),
        claim: "The base station reports each 1 ms; fewer reports are future work.".to_owned(),
        seen: format!(
            "Satisfied by frame delay with hold, of 6: {:.1} without CECC; reports each 1, 2, 3, 4, 5 ms {:.1}, {:.1}, {:.1}, {:.1}, \
             {:.1}; 2 and 5 ms late {:.1}, {:.1}; 1, 10, 50 % lost {:.1}, {:.1}, {:.1}; where they end {:.1}.",
            off.mean("frame_steady"),
            frames("1ms"),
            frames("2ms"),
            frames("3ms"),
            frames("4ms"),
            frames("5ms"),
            frames("late2"),
            frames("late5"),
            frames("loss1"),
            frames("loss10"),
            frames("loss50"),
            frames("cut"),
        ),
        panels: vec![
            Panel::new(
                "bars",
                "Satisfied flows of 6",
                "",
                Drawing::Bars {
                    axis: Axis::new("Satisfied flows", "").top(6.0),
                    bars,
                    guides: vec![],
                },
            )
            .wide(),
            table("table", "Six flows, scenario D", "reports", &MEASURES, &rows).wide(),
        ],
        checks,
        ..Figure::default()
    }
}
