//! Beyond the paper (e): how often the receiver reports, and reports that are lost.

use super::prelude::*;

/// Short name, title, changes.
type Way = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const WAYS: [Way; 6] = [
    ("frame", "each frame", &[]),
    ("50", "each 50 ms", &[("flow.app.every", "50 ms")]),
    ("100", "each 100 ms", &[("flow.app.every", "100 ms")]),
    ("250", "each 250 ms", &[("flow.app.every", "250 ms")]),
    (
        "lost5",
        "each frame, 5 % lost",
        &[("flow.app.feedback_loss", "5 %")],
    ),
    (
        "lost20",
        "each frame, 20 % lost",
        &[("flow.app.feedback_loss", "20 %")],
    ),
];
const KINDS: [Kind; 4] = [CL4S, SL4S, CL4S_DEFAULT, SL4S_DEFAULT];

fn name(case: &str, kind: &Kind, way: &str) -> String {
    format!("feedback/case{case}-{}-{way}", kind.id)
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (case, low, high) in &CASES[1..] {
        for kind in &KINDS {
            for (way, _, extra) in WAYS {
                let mut changes = of_kind(kind, 60);
                changes.push(ramp(*low, *high));
                changes.extend(words(extra));
                experiments.push(experiment(name(case, kind, way), IETF, &changes, keep)?);
            }
        }
    }
    Ok(Part {
        id: "feedback",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |case: &str, kind: &Kind, way: &str| o.get(&name(case, kind, way));
    let columns: [Entry; 5] = [
        Entry::more("utilisation", "%", "util"),
        Entry::less("p95", "ms", "p95"),
        Entry::less("p99", "ms", "p99"),
        Entry::less("TDQ(55)", "s", "tdq55"),
        Entry::less("late frames", "%", "late"),
    ];
    let mut panels = vec![];
    let mut checks = vec![];
    for (case, low, high) in &CASES[1..] {
        let rows: Vec<(String, &str, &Runs)> = KINDS
            .iter()
            .flat_map(|kind| WAYS.iter().map(move |way| (kind, way)))
            .map(|(kind, way)| {
                let label = format!("{}, {}", kind.title, way.1);
                (label, kind.controller, runs(case, kind, way.0))
            })
            .collect();
        let caption = format!("{low}/{high} ms");
        panels.push(
            table(
                &format!("case{case}"),
                &caption,
                "kind, reports",
                &columns,
                &rows,
            )
            .wide(),
        );
        for way in ["lost5", "lost20"] {
            let cost = difference(runs(case, &CL4S, "frame"), runs(case, &CL4S, way), "util");
            checks.push(
                Check::of(
                    format!("cL4S, {low}/{high} ms: utilisation lost to {way}"),
                    "points",
                    2.0,
                    cost,
                    Tolerance::AtMost,
                )
                .profile("paper")
                .source("reports are lost on a radio"),
            );
        }
    }
    let p95 = |way: &str| runs("2", &CL4S, way).mean("p95");
    Figure {
        title: "Beyond (e): reports".to_owned(),
        setup: "One flow of 60 ms on the pattern; the receiver reports at the end of each frame or at intervals, and reports are \
                lost at random."
            .to_owned(),
        claim: "The paper reports once a frame.".to_owned(),
        seen: format!(
            "cL4S at 5/20 ms: p95 {:.1} ms with a report a frame, {:.1}, {:.1} and {:.1} ms with one each 50, 100 and 250 ms; \
             utilisation {:.1} % where 20 % of the reports are lost, {:.1} % where none is.",
            p95("frame"),
            p95("50"),
            p95("100"),
            p95("250"),
            runs("2", &CL4S, "lost20").mean("util"),
            runs("2", &CL4S, "frame").mean("util"),
        ),
        panels,
        checks,
        ..Figure::default()
    }
}
