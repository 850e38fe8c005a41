//! Beyond the paper (d): beside TCP, in one queue and in two.

use super::kind;
use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/al4s/opponents.toml");

const KINDS: [Kind; 10] = [
    CL4S,
    CL4S_DEFAULT,
    CL4S_DIPS,
    SL4S_DEFAULT,
    SL4S_DIPS,
    L4S_CC,
    SCREAM,
    SCREAM_HI,
    SCREAM_DIPS,
    GCC,
];
/// Also takes a queue with the dips of BBR's `PROBE_RTT` for a rival's.
const CL4S_DIPS: Kind = kind("cl4s-dips", "cL4S, rival=dips", "al4s-c:rival=dips");
const SL4S_DIPS: Kind = kind("sl4s-dips", "sL4S, rival=dips", "al4s-s:rival=dips");
const SCREAM_DIPS: Kind = Kind {
    served: false,
    ..kind("scream-dips", "SCReAMv2, rival=dips", "scream:rival=dips")
};
/// With RFC 8298's compensation for competing flows.
const SCREAM_HI: Kind = Kind {
    served: false,
    ..kind("scream-hi", "SCReAMv2, hi=400", "scream:hi=400")
};
/// Those beside which a target of ours stands.
const TCP: [(&str, &str); 3] = [("cubic", "CUBIC"), ("bbr", "BBR"), ("prague", "Prague")];
/// All that the tables have.
const RIVALS: [(&str, &str); 5] = [
    ("cubic", "CUBIC"),
    ("bbr", "BBR"),
    ("bbr3", "BBRv3"),
    ("prague", "Prague"),
    ("reno", "NewReno"),
];
/// Short name, title, queue.
const QUEUES: [(&str, &str, &str); 3] = [
    (
        "one",
        "one FIFO, ramp 5/20 ms",
        r#"{ kind = "fifo", limit = "250 kB", law = { kind = "ramp", low = "5 ms", high = "20 ms" } }"#,
    ),
    (
        "tail",
        "one FIFO without marks",
        r#"{ kind = "fifo", limit = "250 kB" }"#,
    ),
    ("two", "DualPI2", r#"{ kind = "dualpi2" }"#),
];

/// A queue that BBR keeps short of.
const ABOVE: &str = r#"{ kind = "fifo", limit = "250 kB", law = { kind = "ramp", low = "30 ms", high = "60 ms" } }"#;
/// Also take a queue that never drains for a rival's, or one with the dips of BBR: what that wins, and what it costs elsewhere.
const STANDING: [(&str, &str, &str); 4] = [
    (
        "cl4s-standing",
        "cL4S, rival=standing",
        "al4s-c:rival=standing",
    ),
    (
        "sl4s-standing",
        "sL4S, rival=standing",
        "al4s-s:rival=standing",
    ),
    ("cl4s-dips", "cL4S, rival=dips", "al4s-c:rival=dips"),
    ("sl4s-dips", "sL4S, rival=dips", "al4s-s:rival=dips"),
];
const MIXED: &str = include_str!("../../scenarios/al4s/mixed.toml");

fn name(queue: &str, kind: &Kind, tcp: &str) -> String {
    format!("opponents/{queue}-{}-{tcp}", kind.id)
}

pub(super) fn part(_: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (queue, _, text) in QUEUES {
        for kind in &KINDS {
            for (tcp, _) in RIVALS {
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
    for kind in [&CL4S_DEFAULT, &SL4S_DEFAULT] {
        let changes = words(&[
            ("flow[0].controller", kind.controller),
            ("flow[1].controller", "bbr"),
            ("link.queue", ABOVE),
        ]);
        experiments.push(experiment(
            name("above", kind, "bbr"),
            SCENARIO,
            &changes,
            keep,
        )?);
    }
    for (id, _, controller) in STANDING {
        for (tcp, _) in TCP {
            let changes = words(&[
                ("flow[0].controller", controller),
                ("flow[1].controller", tcp),
            ]);
            experiments.push(experiment(
                format!("opponents/{id}-{tcp}"),
                SCENARIO,
                &changes,
                keep,
            )?);
        }
        let changes = words(&[("flow[0].controller", controller)]);
        experiments.push(experiment(
            format!("opponents/{id}-mixed"),
            MIXED,
            &changes,
            keep,
        )?);
    }
    for kind in [&CL4S_DEFAULT, &SL4S_DEFAULT] {
        let changes = words(&[("flow[0].controller", kind.controller)]);
        experiments.push(experiment(
            name("mixed", kind, "rtc"),
            MIXED,
            &changes,
            keep,
        )?);
    }
    Ok(Part {
        id: "opponents",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let columns: [Entry; 8] = [
        Entry::more("media", "Mbit/s", "rate_0"),
        Entry::more("TCP", "Mbit/s", "rate_1"),
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
            .flat_map(|kind| RIVALS.iter().map(move |(tcp, title)| (kind, tcp, title)))
            .map(|(kind, tcp, title)| {
                let label = format!("{} / {title}", kind.title);
                (label, kind.controller, o.get(&name(queue, kind, tcp)))
            })
            .collect();
        panels.push(table(queue, title, "media / TCP", &columns, &rows).wide());
    }
    panels.push(of_bbr(o, &columns));
    let at = |queue: &str, tcp: &str| o.get(&name(queue, &CL4S_DEFAULT, tcp));
    let (above, standing) = (
        o.get(&name("above", &CL4S_DEFAULT, "bbr")),
        o.get("opponents/cl4s-standing-bbr"),
    );
    Figure {
        title: "Beyond (d): beside CUBIC, BBR and Prague".to_owned(),
        setup: "A media flow of 60 ms and a download on 20 Mbit/s, base round trip 20 ms, buffer of 100 ms.".to_owned(),
        claim: "The paper looks at media alone.".to_owned(),
        seen: format!(
            "In one FIFO the shipped cL4S gets {:.0}, {:.0} and {:.0} % of the link beside CUBIC, BBR and Prague; in DualPI2 {:.0}, \
             {:.0} and {:.0} %, with a p95 of {:.1} ms beside CUBIC in place of {:.1} ms. BBR's queue lies inside the ramp: {:.0} % of the media's \
             packets are marked. With a ramp of 30/60 ms the media gets {:.0} %. Where a queue that never drains counts as a rival's it gets \
             {:.0} % at a p95 of {:.0} ms; the price is paid beside GCC and SCReAMv2, where p99 is {:.0} ms in place of {:.0}.",
            at("one", "cubic").mean("util_0"),
            at("one", "bbr").mean("util_0"),
            at("one", "prague").mean("util_0"),
            at("two", "cubic").mean("util_0"),
            at("two", "bbr").mean("util_0"),
            at("two", "prague").mean("util_0"),
            at("two", "cubic").mean("p95_0"),
            at("one", "cubic").mean("p95_0"),
            at("one", "bbr").mean("marks_0"),
            above.mean("util_0"),
            standing.mean("util_0"),
            standing.mean("p95_0"),
            o.get("opponents/cl4s-standing-mixed").mean("p99_0"),
            o.get(&name("mixed", &CL4S_DEFAULT, "rtc")).mean("p99_0"),
        ),
        panels,
        checks: shares(o),
        ..Figure::default()
    }
}

/// Why a flow keeps so little beside BBR, and what a rule that sees BBR would win and cost.
fn of_bbr(o: &Outcomes, columns: &[Entry]) -> Panel {
    let marked = [
        columns,
        &[Entry::plain("media's packets marked", "%", "marks_0")],
    ]
    .concat();
    let mut rows: Vec<(String, &str, &Runs)> = vec![];
    for kind in [&CL4S_DEFAULT, &SL4S_DEFAULT] {
        for (queue, tcp, title) in [
            ("one", "bbr", "BBR, ramp 5/20 ms"),
            ("above", "bbr", "BBR, ramp 30/60 ms"),
            ("mixed", "rtc", "GCC and SCReAMv2 on the pattern"),
        ] {
            rows.push((
                format!("{} / {title}", kind.title),
                kind.controller,
                o.get(&name(queue, kind, tcp)),
            ));
        }
    }
    for (id, title, controller) in STANDING {
        for (other, beside) in [
            ("bbr", "BBR"),
            ("cubic", "CUBIC"),
            ("prague", "Prague"),
            ("mixed", "GCC and SCReAMv2 on the pattern"),
        ] {
            rows.push((
                format!("{title} / {beside}"),
                controller,
                o.get(&format!("opponents/{id}-{other}")),
            ));
        }
    }
    table(
        "why",
        "Beside BBR: why, and a rule that sees it",
        "media / others",
        &marked,
        &rows,
    )
    .wide()
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
