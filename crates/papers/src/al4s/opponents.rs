//! Beyond the paper (d): beside TCP, in one queue and in two.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/al4s/opponents.toml");

const KINDS: [Kind; 6] = [CL4S, CL4S_DEFAULT, SL4S_DEFAULT, L4S_CC, SCREAM, GCC];
const TCP: [(&str, &str); 3] = [("cubic", "CUBIC"), ("bbr", "BBR"), ("prague", "Prague")];
/// Short name, title, queue.
const QUEUES: [(&str, &str, &str); 2] = [
    (
        "one",
        "one FIFO, ramp 5/20 ms",
        r#"{ kind = "fifo", limit = "250 kB", law = { kind = "ramp", low = "5 ms", high = "20 ms" } }"#,
    ),
    ("two", "DualPI2", r#"{ kind = "dualpi2" }"#),
];

fn name(queue: &str, kind: &Kind, tcp: &str) -> String {
    format!("opponents/{queue}-{}-{tcp}", kind.id)
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (queue, _, text) in QUEUES {
        for kind in &KINDS {
            for (tcp, _) in TCP {
                let changes = words(&[
                    ("flow[0].controller", kind.controller),
                    ("flow[1].controller", tcp),
                    ("link.queue", text),
                ]);
                experiments.push(experiment(
                    name(queue, kind, tcp),
                    SCENARIO,
                    &changes,
                    keep,
                )?);
            }
        }
    }
    Ok(Part {
        id: "opponents",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let columns: [Entry; 6] = [
        Entry::more("media", "%", "util_0"),
        Entry::more("TCP", "%", "util_1"),
        Entry::less("media's p95", "ms", "p95_0"),
        Entry::less("media's p99", "ms", "p99_0"),
        Entry::less("media's loss", "%", "loss_0"),
        Entry::less("late frames", "%", "late_0"),
    ];
    let mut panels = vec![];
    for (queue, title, _) in QUEUES {
        let rows: Vec<(String, &str, &Runs)> = KINDS
            .iter()
            .flat_map(|kind| TCP.iter().map(move |(tcp, title)| (kind, tcp, title)))
            .map(|(kind, tcp, title)| {
                let label = format!("{} / {title}", kind.title);
                (label, kind.controller, o.get(&name(queue, kind, tcp)))
            })
            .collect();
        panels.push(table(queue, title, "media / TCP", &columns, &rows).wide());
    }
    let at = |queue: &str, tcp: &str| o.get(&name(queue, &CL4S_DEFAULT, tcp));
    Figure {
        title: "Beyond (d): beside CUBIC, BBR and Prague".to_owned(),
        setup: "A media flow of 60 ms and a download on 20 Mbit/s, base round trip 20 ms, buffer of 100 ms.".to_owned(),
        claim: "The paper looks at media alone.".to_owned(),
        seen: format!(
            "In one FIFO the shipped cL4S gets {:.0}, {:.0} and {:.0} % of the link beside CUBIC, BBR and Prague; in DualPI2 {:.0}, \
             {:.0} and {:.0} %, with a p95 of {:.1} ms beside CUBIC in place of {:.1} ms.",
            at("one", "cubic").mean("util_0"),
            at("one", "bbr").mean("util_0"),
            at("one", "prague").mean("util_0"),
            at("two", "cubic").mean("util_0"),
            at("two", "bbr").mean("util_0"),
            at("two", "prague").mean("util_0"),
            at("two", "cubic").mean("p95_0"),
            at("one", "cubic").mean("p95_0"),
        ),
        panels,
        checks: shares(o),
        ..Figure::default()
    }
}

/// A media flow's least share of the link beside one TCP flow, in %: a fifth of a fair share.
const MEDIA: f64 = 10.0;
/// The TCP flow's: half of a fair share.
const DOWNLOAD: f64 = 25.0;

/// What a media flow and a download leave each other in one queue.
fn shares(o: &Outcomes) -> Vec<Check> {
    let mut checks = vec![];
    for kind in [CL4S_DEFAULT, SL4S_DEFAULT] {
        for (tcp, title) in TCP {
            let runs = o.get(&name("one", &kind, tcp));
            for (words, value, least) in [
                ("share of the media", "util_0", MEDIA),
                ("share of the download", "util_1", DOWNLOAD),
            ] {
                checks.push(
                    Check::of(
                        format!("{} beside {title}, one FIFO: {words}", kind.title),
                        "%",
                        least,
                        runs.estimate(value),
                        Tolerance::AtLeast,
                    )
                    .profile("product")
                    .source("after RFC 8867, 5.6"),
                );
            }
        }
    }
    checks
}
