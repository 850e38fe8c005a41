//! Beyond the paper: a drop-tail queue and no ECN.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/al4s/tail.toml");

const fn shipped(id: &'static str, title: &'static str, controller: &'static str) -> Kind {
    Kind {
        id,
        title,
        controller,
        served: true,
        changes: &[],
    }
}

const GUARD: Kind = shipped(
    "guard",
    "cL4S, guard 10/30 ms alone",
    "al4s-c:guard=wired,r0=off",
);
const BOTH: Kind = shipped(
    "both",
    "cL4S, default with guard 10/30 ms",
    "al4s-c:guard=wired",
);
const KINDS: [Kind; 6] = [CL4S, GUARD, BOTH, CL4S_DEFAULT, GCC, SCREAM];
/// Short name, title, buffer at 10 Mbit/s, jitter of the path, least utilisation that the guard aims at.
const BUFFERS: [(&str, &str, &str, &str, f64); 3] = [
    ("50", "50 ms", "62500 B", "0 ms", 80.0),
    ("300", "300 ms", "375 kB", "0 ms", 80.0),
    ("jitter", "300 ms, jitter of 30 ms", "375 kB", "30 ms", 70.0),
];

fn name(buffer: &str, kind: &Kind) -> String {
    format!("tail/{buffer}-{}", kind.id)
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (buffer, _, bytes, jitter, _) in BUFFERS {
        for kind in &KINDS {
            let mut changes = of_kind(kind, 60);
            changes.extend(words(&[
                ("link.queue.limit", bytes),
                ("path.jitter", jitter),
            ]));
            experiments.push(experiment(name(buffer, kind), SCENARIO, &changes, keep)?);
        }
    }
    Ok(Part {
        id: "tail",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |buffer: &str, kind: &Kind| o.get(&name(buffer, kind));
    let columns: [Entry; 5] = [
        Entry::more("utilisation", "%", "util"),
        Entry::less("loss", "%", "loss"),
        Entry::less("p95", "ms", "p95"),
        Entry::less("p99", "ms", "p99"),
        Entry::less("late frames", "%", "late"),
    ];
    let rows: Vec<(String, &str, &Runs)> = BUFFERS
        .iter()
        .flat_map(|(buffer, title, ..)| KINDS.iter().map(move |k| (buffer, title, k)))
        .map(|(buffer, title, k)| {
            let label = format!("{title}, {}", k.title);
            (label, k.controller, runs(buffer, k))
        })
        .collect();
    let mut checks = vec![];
    for (buffer, title, _, _, least) in BUFFERS {
        for kind in [GUARD, BOTH, CL4S_DEFAULT] {
            checks.push(
                Check::of(
                    format!("{title}: loss, {}", kind.title),
                    "%",
                    1.0,
                    runs(buffer, &kind).estimate("loss"),
                    Tolerance::AtMost,
                )
                .profile("product")
                .source("media without ECN"),
            );
            checks.push(
                Check::of(
                    format!("{title}: utilisation, {}", kind.title),
                    "%",
                    least,
                    runs(buffer, &kind).estimate("util"),
                    Tolerance::AtLeast,
                )
                .profile("product")
                .source("media without ECN"),
            );
        }
    }
    Figure {
        title: "Beyond (f): drop-tail without ECN".to_owned(),
        setup: "10 Mbit/s, base round trip 7.5 ms, packets leave as Not-ECT, no retransmissions."
            .to_owned(),
        claim: "The published equations know no loss and no delay but by marks.".to_owned(),
        seen: format!(
            "With a buffer of 50 ms the published cL4S loses {:.1} % of its packets; with the guard {:.2} % at {:.0} % utilisation, with the \
             fair rate too {:.2} % at {:.0} %.",
            runs("50", &CL4S).mean("loss"),
            runs("50", &GUARD).mean("loss"),
            runs("50", &GUARD).mean("util"),
            runs("50", &BOTH).mean("loss"),
            runs("50", &BOTH).mean("util"),
        ),
        panels: vec![table("table", "Drop-tail", "buffer, kind", &columns, &rows).wide()],
        checks,
        ..Figure::default()
    }
}
