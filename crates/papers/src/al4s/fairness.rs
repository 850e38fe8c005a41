//! Beyond the paper (a) and (b): unequal starts and late joiners.

use super::prelude::*;

const STARTS: &str = include_str!("../../scenarios/al4s/starts.toml");
const JOINERS: &str = include_str!("../../scenarios/al4s/joiners.toml");

/// Fair: Jain's index of a second's bytes.
const FAIR: f64 = 0.95;
/// For so many seconds on end.
const HELD: usize = 5;

/// Seconds after `from` until Jain's index of each second's bytes is at least [`FAIR`] for [`HELD`] on end.
fn settling(run: &RunResult, flows: &[usize], from: f64, to: f64) -> Option<f64> {
    let seconds = (to - from) as usize;
    let fair: Vec<bool> = (0..seconds)
        .map(|k| {
            let at = from + k as f64;
            m::jain_common(run, flows, (at, at + 1.0)).is_some_and(|j| j >= FAIR)
        })
        .collect();
    let at = fair.windows(HELD).position(|w| w.iter().all(|f| *f))?;
    Some(at as f64)
}

/// With R0 right (half of 10 Mbit/s is the default of 5), four times and a quarter of that.
const WRONG: [Kind; 2] = [
    Kind {
        id: "cl4s-high",
        title: "cL4S, default, R0 of 20 Mbit/s",
        controller: "al4s-c:r0=20",
        served: true,
        changes: &[],
    },
    Kind {
        id: "cl4s-low",
        title: "cL4S, default, R0 of 1.25 Mbit/s",
        controller: "al4s-c:r0=1.25",
        served: true,
        changes: &[],
    },
];
const KINDS: [Kind; 9] = [
    CL4S,
    SL4S,
    L4S_CC,
    CL4S_DEFAULT,
    SL4S_DEFAULT,
    WRONG[0],
    WRONG[1],
    GCC,
    SCREAM,
];

fn name(case: &str, kind: &Kind) -> String {
    format!("starts/case{case}-{}", kind.id)
}

pub(super) fn starts(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (case, low, high) in CASES {
        for kind in &KINDS {
            let mut changes = of_kind(kind, 60);
            changes.push(ramp(low, high));
            let reduce = |run: &RunResult, out: &mut Outcome| {
                keep(run, out);
                let end = m::end(run);
                let settled = settling(run, &[0, 1], 0.0, end);
                out.value("settling", settled);
                out.value("settled", Some(f64::from(u8::from(settled.is_some()))));
                out.value("jain_end", m::jain_common(run, &[0, 1], (end - 20.0, end)));
            };
            experiments.push(experiment(name(case, kind), STARTS, &changes, reduce)?);
        }
    }
    Ok(Part {
        id: "starts",
        measures: vec![],
        experiments,
        draw: Box::new(draw_starts),
    })
}

fn draw_starts(o: &Outcomes) -> Figure {
    let runs = |case: &str, kind: &Kind| o.get(&name(case, kind));
    let columns: [Entry; 6] = [
        Entry::less("fair after", "s", "settling"),
        Entry::more("seeds that were fair", "%", "settled").times(100.0),
        Entry::more("Jain, last 20 s", "", "jain_end"),
        Entry::more("utilisation of a flow", "%", "util"),
        Entry::less("p95", "ms", "p95"),
        Entry::less("p99", "ms", "p99"),
    ];
    let mut panels = vec![];
    for kind in [CL4S, CL4S_DEFAULT] {
        let drawing = Drawing::Time {
            axis: Axis::new("Rate", "Mbit/s"),
            lines: runs("2", &kind).lines("rate"),
            tracks: vec![],
            guides: vec![],
        };
        let title = format!("{}, 5/20 ms", kind.title);
        panels.push(Panel::new(kind.id, &title, "First seed.", drawing));
    }
    for (case, low, high) in CASES {
        let rows: Vec<(String, &str, &Runs)> = KINDS
            .iter()
            .map(|k| (k.title.to_owned(), k.controller, runs(case, k)))
            .collect();
        let caption = format!("{low}/{high} ms");
        panels.push(table(&format!("case{case}"), &caption, "kind", &columns, &rows).wide());
    }
    let mut checks = vec![];
    for (case, low, high) in CASES {
        for kind in [CL4S_DEFAULT, SL4S_DEFAULT] {
            let r = runs(case, &kind);
            let what = format!("{}, {low}/{high} ms", kind.title);
            checks.push(
                Check::new(
                    format!("{what}: fair after, slowest seed"),
                    "s",
                    15.0,
                    if r.min("settled") > 0.0 {
                        r.max("settling")
                    } else {
                        f64::NAN
                    },
                    None,
                    Tolerance::AtMost,
                )
                .profile("product")
                .source("two flows of one service should share within 15 s"),
            );
        }
    }
    Figure {
        title: "Beyond (a): unequal starts".to_owned(),
        setup: "Two flows from 1 and 8 Mbit/s on a link of 10 Mbit/s, service of 60 ms. Fair: Jain's index of each of five \
                seconds on end at least 0.95."
            .to_owned(),
        claim: "The paper starts its flows alike.".to_owned(),
        seen: format!(
            "At 5/20 ms the published cL4S has a Jain index of {:.2} over the last 20 s of a minute, the shipped form one of {:.2}, \
             fair after {:.0} s; with R0 four times too large after {:.0} s, a quarter of it {:.0} s.",
            runs("2", &CL4S).mean("jain_end"),
            runs("2", &CL4S_DEFAULT).mean("jain_end"),
            runs("2", &CL4S_DEFAULT).mean("settling"),
            runs("2", &WRONG[0]).mean("settling"),
            runs("2", &WRONG[1]).mean("settling"),
        ),
        panels,
        checks,
        ..Figure::default()
    }
}

const JOINING: [Kind; 6] = [CL4S, SL4S, CL4S_DEFAULT, SL4S_DEFAULT, GCC, SCREAM];
const COUNTS: [usize; 5] = [1, 2, 3, 5, 8];

fn joined(count: usize, kind: &Kind) -> String {
    format!("joiners/{count}-{}", kind.id)
}

pub(super) fn joiners(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for count in COUNTS {
        for kind in &JOINING {
            let mut changes = of_kind(kind, 60);
            changes.extend(words(&[("flow.count", &count.to_string())]));
            let length = format!("{} s", 10 * count + 30);
            changes.extend(words(&[("duration", &length)]));
            let reduce = move |run: &RunResult, out: &mut Outcome| {
                keep(run, out);
                let (end, all) = (m::end(run), (0..count).collect::<Vec<_>>());
                let from = 10.0 * (count - 1) as f64;
                out.value("settling", settling(run, &all, from, end));
                out.value("jain_end", m::jain_common(run, &all, (end - 20.0, end)));
                out.value("used", m::utilisation(run, (end - 20.0, end)));
            };
            experiments.push(experiment(joined(count, kind), JOINERS, &changes, reduce)?);
        }
    }
    Ok(Part {
        id: "joiners",
        measures: vec![],
        experiments,
        draw: Box::new(draw_joiners),
    })
}

fn draw_joiners(o: &Outcomes) -> Figure {
    let columns: [Entry; 5] = [
        Entry::less("fair after", "s", "settling"),
        Entry::more("Jain, last 20 s", "", "jain_end"),
        Entry::more("link used, last 20 s", "%", "used").times(100.0),
        Entry::less("p95", "ms", "p95"),
        Entry::less("p99", "ms", "p99"),
    ];
    let runs = |count, kind: &Kind| o.get(&joined(count, kind));
    let mut panels: Vec<Panel> = [CL4S, CL4S_DEFAULT]
        .iter()
        .map(|kind| {
            let drawing = Drawing::Time {
                axis: Axis::new("Rate", "Mbit/s"),
                lines: runs(8, kind).lines("rate"),
                tracks: vec![],
                guides: vec![],
            };
            Panel::new(
                kind.id,
                &format!("Eight flows, {}", kind.title),
                "First seed.",
                drawing,
            )
        })
        .collect();
    let rows: Vec<(String, &str, &Runs)> = COUNTS
        .iter()
        .flat_map(|n| JOINING.iter().map(move |k| (*n, k)))
        .map(|(n, k)| (format!("{n}, {}", k.title), k.controller, runs(n, k)))
        .collect();
    panels.push(table("table", "Late joiners", "flows, kind", &columns, &rows).wide());
    Figure {
        title: "Beyond (b): late joiners".to_owned(),
        setup: "Flows of one kind join each 10 s on a link of 20 Mbit/s, ramp 5/20 ms; fair is as in (a), counted from the last one's \
                start."
            .to_owned(),
        claim: "The paper does not look at it.".to_owned(),
        seen: format!(
            "Eight flows: Jain over the last 20 s {:.2} with the published cL4S, {:.2} with the shipped form.",
            runs(8, &CL4S).mean("jain_end"),
            runs(8, &CL4S_DEFAULT).mean("jain_end"),
        ),
        panels,
        checks: vec![
            Check::of(
                "cL4S, default, three flows: Jain over the last 20 s",
                "",
                0.95,
                runs(3, &CL4S_DEFAULT).estimate("jain_end"),
                Tolerance::AtLeast,
            )
            .profile("product")
            .source("a service's flows should share"),
        ],
        ..Figure::default()
    }
}
