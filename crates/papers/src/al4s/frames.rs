//! Beyond the paper (g): frames as a browser makes and sends them, beside frames of nearly one size that the pacer spreads.

use super::prelude::*;

const KINDS: [Kind; 7] = [CL4S, SL4S, CL4S_DEFAULT, SL4S_DEFAULT, L4S_CC, SCREAM, GCC];

/// Short name, title, changes.
type Source = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// The third has Chromium's sizes and the controller's own pacing: what of it is the sizes, and what the bursts.
const SOURCES: [Source; 3] = [
    ("even", "even", &[]),
    ("chromium", "Chromium's", &[("flow.app.frames", "chromium")]),
    (
        "sizes",
        "Chromium's sizes, paced",
        &[("flow.app.frames", "chromium"), ("flow.app.burst", "1 ms")],
    ),
];

fn name(case: &str, kind: &Kind, source: &str) -> String {
    format!("frames/case{case}-{}-{source}", kind.id)
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (case, low, high) in CASES {
        for kind in &KINDS {
            for (source, _, extra) in SOURCES {
                let mut changes = of_kind(kind, 60);
                changes.push(ramp(low, high));
                changes.extend(words(extra));
                if options.quick {
                    changes.push(("duration".to_owned(), format!("{QUICK_S} s")));
                }
                experiments.push(experiment(name(case, kind, source), IETF, &changes, keep)?);
            }
        }
    }
    Ok(Part {
        id: "frames",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |case: &str, kind: &Kind, source: &str| o.get(&name(case, kind, source));
    let columns: [Entry; 5] = [
        Entry::more("utilisation", "%", "util"),
        Entry::less("queue p95", "ms", "p95"),
        Entry::less("queue p99", "ms", "p99"),
        Entry::less("frame p95", "ms", "frame95"),
        Entry::less("late frames", "%", "late"),
    ];
    let mut panels = vec![];
    for (case, low, high) in CASES {
        let rows: Vec<(String, &str, &Runs)> = KINDS
            .iter()
            .flat_map(|kind| SOURCES.iter().map(move |source| (kind, source)))
            .map(|(kind, source)| {
                let label = format!("{}, {}", kind.title, source.1);
                (label, kind.controller, runs(case, kind, source.0))
            })
            .collect();
        let caption = format!("{low}/{high} ms");
        let panel = table(
            &format!("case{case}"),
            &caption,
            "kind, frames",
            &columns,
            &rows,
        );
        panels.push(panel.wide());
    }
    let of = |kind: &Kind, source: &str, value: &str| runs("2", kind, source).mean(value);
    Figure {
        title: "Beyond (g): a browser's frames".to_owned(),
        setup: "One flow of 60 ms on the pattern. Even frames deviate by 5 % in size, and the pacer spreads each over its time. \
                Chromium's deviate by 53 %, its rates of a second by 20 %, and a frame leaves at once."
            .to_owned(),
        claim: "The paper streams real video; how its frames left the sender is not told.".to_owned(),
        seen: format!(
            "At 5/20 ms, even frames and Chromium's: cL4S uses {:.0} and {:.0} % of the link ({:.0} with Chromium's sizes, paced), \
             the shipped one {:.0} and {:.0}, SCReAMv2 {:.0} and {:.0}, GCC {:.0} and {:.0}; p95 of GCC's queue {:.0} and {:.0} ms.",
            of(&CL4S, "even", "util"),
            of(&CL4S, "chromium", "util"),
            of(&CL4S, "sizes", "util"),
            of(&CL4S_DEFAULT, "even", "util"),
            of(&CL4S_DEFAULT, "chromium", "util"),
            of(&SCREAM, "even", "util"),
            of(&SCREAM, "chromium", "util"),
            of(&GCC, "even", "util"),
            of(&GCC, "chromium", "util"),
            of(&GCC, "even", "p95"),
            of(&GCC, "chromium", "p95"),
        ),
        panels,
        ..Figure::default()
    }
}
