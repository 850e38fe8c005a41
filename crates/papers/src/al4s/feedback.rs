//! Beyond the paper (e): how often the receiver reports, and reports that are lost.

use super::super::variant::Changes;
use super::prelude::*;

/// When reports leave and whether they arrive: short name, title, changes.
const REPORTS: [(&str, &str, Changes); 6] = [
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

fn name(case: &str, kind: &Kind, reports: &str) -> String {
    format!("feedback/case{case}-{}-{reports}", kind.id)
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (case, low, high) in &CASES[1..] {
        for kind in &KINDS {
            for (id, _, extra) in REPORTS {
                let mut changes = of_kind(kind, 60);
                changes.push(ramp(*low, *high));
                changes.extend(words(extra));
                experiments.push(experiment(name(case, kind, id), IETF, &changes, keep)?);
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
    let runs = |case: &str, kind: &Kind, reports: &str| o.get(&name(case, kind, reports));
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
            .flat_map(|kind| REPORTS.iter().map(move |(id, title, _)| (kind, id, title)))
            .map(|(kind, id, title)| {
                let label = format!("{}, {title}", kind.title);
                (label, kind.controller, runs(case, kind, id))
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
    let p95 = |reports: &str| runs("2", &CL4S, reports).mean("p95");
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
