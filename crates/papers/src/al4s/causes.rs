//! Why numbers miss: one thing of the set-up changed at a time, none of which the paper tells.

use super::super::draw::{apart, grid};
use super::super::variant::Changes as Change;
use super::cells::{ONE, TWO, Which, cell};
use super::claims::over;
use super::prelude::*;
use super::published::TABLE2;
use super::recorder;

const MIXED: &str = include_str!("../../scenarios/al4s/mixed.toml");
const STARTS: &str = include_str!("../../scenarios/al4s/starts.toml");

const FORMS: [Kind; 4] = [CL4S, SL4S, CL4S_DEFAULT, SL4S_DEFAULT];
const TABLES: [(Which, &str); 2] = [(ONE, "1"), (TWO, "2")];

/// The pattern with other heights: of the rise at 40 s and of the drop at 60 s.
const DROP8: &str = "[[0, 10], [39.999, 10], [40, 25], [59.999, 25], [60, 8], [79.999, 8], [80, 10], [100, 10], [130, 25], [160, 6]]";
const DROP10: &str =
    "[[0, 10], [39.999, 10], [40, 25], [59.999, 25], [60, 10], [100, 10], [130, 25], [160, 6]]";
const RISE15: &str = "[[0, 10], [39.999, 10], [40, 15], [59.999, 15], [60, 6], [79.999, 6], [80, 10], [100, 10], [130, 15], [160, 6]]";
const RISE20: &str = "[[0, 10], [39.999, 10], [40, 20], [59.999, 20], [60, 6], [79.999, 6], [80, 10], [100, 10], [130, 20], [160, 6]]";
const SMALL: &str = "[[0, 3], [39.999, 3], [40, 7.5], [59.999, 7.5], [60, 1.8], [79.999, 1.8], [80, 3], [100, 3], [130, 7.5], [160, 1.8]]";
const LARGE: &str = "[[0, 20], [39.999, 20], [40, 50], [59.999, 50], [60, 12], [79.999, 12], [80, 20], [100, 20], [130, 50], [160, 12]]";
/// The link of [`IETF`].
const PATTERN: &str = "{ kind = \"series\", smooth = true, points = [[0, 10], [39.999, 10], [40, 25], [59.999, 25], [60, 6], [79.999, 6], [80, 10], [100, 10], [130, 25], [160, 6]], period = \"161 s\", queue = { kind = \"fifo\", limit = \"250 kB\", law = { kind = \"ramp\", low = \"5 ms\", high = \"20 ms\" } } }";

/// A thing that is changed: short name, title, keys.
type Factor = (&'static str, &'static str, Change);

const AS_IS: Factor = ("as-is", "as tested", &[]);
const DROPS: [Factor; 2] = [
    ("drop8", "drop to 8 Mbit/s", &[("link.points", DROP8)]),
    ("drop10", "drop to 10", &[("link.points", DROP10)]),
];
const PACED: Factor = ("paced", "paced at 1.5 rates", &[("flow.app.pacing", "1.5")]);
/// The queue is looked at each so often, whether packets come or not; no multiple of the time between frames. And each packet's
/// delay is there for the testbed's recorder.
const BY_TIME: Factor = (
    "time",
    "by time",
    &[("record.interval", "7 ms"), ("record.packets", "true")],
);

/// Packets that leave at hardly more than the rate, which is what the paper says of its server ("paces the packets over time",
/// III-C); libwebrtc's own pacer sends at 2.5 rates.
const EVEN: Factor = ("even", "paced at 1.1 rates", &[("flow.app.pacing", "1.1")]);
/// The same with reports as libwebrtc's receiver sends them where the rate is high (`kMinInterval` of 50 ms).
const EVEN_AND_RARE: Factor = (
    "even-rare",
    "paced at 1.1 rates, a report each 50 ms",
    &[("flow.app.pacing", "1.1"), ("flow.app.every", "50 ms")],
);
/// What the queue after the drop depends on, with the same frames and reports.
const EVEN_AND_RARE_THEN: [Factor; 3] = [
    (
        "even-rare-drop8",
        "the same, drop to 8 Mbit/s",
        &[
            EVEN_AND_RARE.2[0],
            EVEN_AND_RARE.2[1],
            ("link.points", DROP8),
        ],
    ),
    (
        "even-rare-queue",
        "the same, 180 kB of queue",
        &[
            EVEN_AND_RARE.2[0],
            EVEN_AND_RARE.2[1],
            ("link.queue.limit", "180 kB"),
        ],
    ),
    (
        "even-rare-sizes",
        "the same, frame sizes deviate by 20 %",
        &[
            EVEN_AND_RARE.2[0],
            EVEN_AND_RARE.2[1],
            ("flow.app.size_cv", "20 %"),
        ],
    ),
];
/// With two flows of GCC.
const OF_TWO_GCC: [Factor; 3] = [AS_IS, EVEN, EVEN_AND_RARE];

/// What moves GCC, and what was tried in vain.
const OF_GCC: [Factor; 20] = [
    AS_IS,
    ("rise15", "rise to 15 Mbit/s", &[("link.points", RISE15)]),
    ("rise20", "rise to 20", &[("link.points", RISE20)]),
    ("small", "all rates times 0.3", &[("link.points", SMALL)]),
    (
        "every50",
        "a report each 50 ms",
        &[("flow.app.every", "50 ms")],
    ),
    ("fps30", "30 frames a second", &[("flow.app.fps", "30")]),
    (
        "burst",
        "frames leave at once",
        &[("flow.app.pacing", "20")],
    ),
    (
        "sizes",
        "frame sizes deviate by 20 %",
        &[("flow.app.size_cv", "20 %")],
    ),
    (
        "lag",
        "the encoder follows in 1 s",
        &[("flow.app.lag", "1 s")],
    ),
    (
        "chromium",
        "Chromium's frames",
        &[("flow.app.frames", "chromium")],
    ),
    ("jitter", "10 ms of jitter", &[("path.jitter", "10 ms")]),
    ("rtt40", "a round trip of 40 ms", &[("path.rtt", "40 ms")]),
    (
        "queue",
        "120 kB of queue",
        &[("link.queue.limit", "120 kB")],
    ),
    ("codel", "CoDel", &[("link.queue.law", "codel")]),
    EVEN,
    EVEN_AND_RARE,
    EVEN_AND_RARE_THEN[0],
    EVEN_AND_RARE_THEN[1],
    EVEN_AND_RARE_THEN[2],
    (
        "small-burst",
        "times 0.3, 60 kB of queue, 30 frames a second at once",
        &[
            ("link.points", SMALL),
            ("link.queue.limit", "60 kB"),
            ("flow.app.fps", "30"),
            ("flow.app.pacing", "20"),
        ],
    ),
];
const OF_SCREAM: [Factor; 4] = [
    AS_IS,
    (
        "burst",
        "frames leave at once",
        &[("flow.app.pacing", "20")],
    ),
    (
        "chromium",
        "Chromium's frames",
        &[("flow.app.frames", "chromium")],
    ),
    (
        "every50",
        "a report each 50 ms",
        &[("flow.app.every", "50 ms")],
    ),
];
const OF_L4S_CC: [Factor; 4] = [
    AS_IS,
    PACED,
    ("large", "all rates times 2", &[("link.points", LARGE)]),
    (
        "key",
        "a key frame each 2 s",
        &[
            ("flow.app.key_interval", "2 s"),
            ("flow.app.key_scale", "5"),
        ],
    ),
];

/// First of three kinds: short name, title, controller.
const FIRST: [(&str, &str, &str); 3] = [
    ("published", "cL4S published", "al4s-c:paper"),
    ("growth", "the same, growth by R0", "al4s-c:paper,r0=5"),
    ("shipped", "cL4S shipped", "al4s-c"),
];
/// The frames of `SCReAMv2` beside it.
const BESIDE: [Factor; 2] = [
    ("paced", "SCReAMv2 paced", &[]),
    (
        "chromium",
        "SCReAMv2 with Chromium's frames",
        &[("flow[2].app.frames", "chromium")],
    ),
];
const FAIR: [Kind; 3] = [SL4S, L4S_CC, SL4S_DEFAULT];
const ONE_FLOW: &str = "one flow";
const ALL_CASES: [usize; 3] = [0, 1, 2];

fn cell_name(which: &Which, case: usize, kind: &Kind, te: u64, factor: &Factor) -> String {
    format!(
        "causes/{}-{}",
        cell(which, case, kind, te).replace('/', "-"),
        factor.0
    )
}

fn mixed_name(first: &str, factor: &Factor) -> String {
    format!("causes/mixed-{first}-{}", factor.0)
}

fn fair_name(kind: &Kind, late: &str) -> String {
    format!("causes/fair-{}-{late}", kind.id)
}

/// What is kept, the time over a service's own target and the queue by time.
fn reduce(run: &RunResult, out: &mut Outcome) {
    keep(run, out);
    let specs = run.scenario.expanded_flows();
    let service = specs[0].spec.app.media().map(|m| m.service.as_millis());
    let own = service.and_then(|te| out.kept(&over(te)));
    out.value("tdq", own);
    out.value(
        "p95_time",
        m::quantiles(&m::hol(run, 0, m::all(run))).map(|q| q.p95),
    );
    if run.scenario.record.packets {
        let recorded = recorder::quantiles(run);
        out.value("p95_recorder", recorded.map(|q| q.0));
        out.value("p99_recorder", recorded.map(|q| q.1));
    }
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    let one = |which: &Which, flows: &str, case: usize, kind: &Kind, te: u64, factor: &Factor| {
        let (_, low, high) = CASES[case];
        let mut changes = of_kind(kind, te);
        changes.push(ramp(low, high));
        changes.extend(words(&[("flow.count", flows)]));
        changes.extend(words(factor.2));
        if options.quick {
            changes.push(("duration".to_owned(), format!("{QUICK_S} s")));
        }
        let name = cell_name(which, case, kind, te, factor);
        experiment(name, IETF, &changes, reduce)
    };
    for (which, flows) in &TABLES {
        for case in 0..CASES.len() {
            for (_, te) in SERVICES {
                for kind in &FORMS {
                    experiments.push(one(which, flows, case, kind, te, &BY_TIME)?);
                    for factor in DROPS.iter().chain([&PACED]) {
                        experiments.push(one(which, flows, case, kind, te, factor)?);
                    }
                }
            }
        }
    }
    for factor in &OF_GCC {
        experiments.push(one(&ONE, "1", 1, &GCC, 60, factor)?);
    }
    for factor in &OF_TWO_GCC {
        experiments.push(one(&TWO, "2", 1, &GCC, 60, factor)?);
    }
    for case in 0..CASES.len() {
        for factor in &OF_SCREAM {
            experiments.push(one(&ONE, "1", case, &SCREAM, 60, factor)?);
        }
        for factor in &OF_L4S_CC {
            experiments.push(one(&ONE, "1", case, &L4S_CC, 60, factor)?);
        }
    }
    for (first, _, controller) in FIRST {
        for factor in &BESIDE {
            let mut changes = words(&[("flow[0].controller", controller)]);
            changes.extend(words(factor.2));
            experiments.push(experiment(
                mixed_name(first, factor),
                MIXED,
                &changes,
                keep,
            )?);
        }
    }
    for kind in &FAIR {
        for (late, start) in [("together", "0 s"), ("late", "10 s")] {
            let changes = words(&[
                ("flow.controller", kind.controller),
                ("flow.app.start", "2 Mbit/s"),
                ("flow[1].start", start),
                ("duration", "160 s"),
                ("link", PATTERN),
            ]);
            experiments.push(experiment(fair_name(kind, late), STARTS, &changes, keep)?);
        }
    }
    Ok(Part {
        id: "causes",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

/// A cell of a table by its name, with the paper's time over the target and 95 % quantile.
fn label(
    (which, flows): &(Which, &str),
    case: usize,
    (service, te): (usize, u64),
    form: usize,
) -> String {
    let (_, low, high) = CASES[case];
    let kind = &FORMS[form];
    let paper = &which.paper[case].0[service][form % 2];
    format!(
        "{} ({} s, {} and {} ms), {low}/{high} ms, {te} ms, {flows} flow",
        kind.title, paper.tdq[service], paper.p95, paper.p99
    )
}

fn of_tables(o: &Outcomes) -> Panel {
    let columns: [(&str, &Factor, &str); 9] = [
        ("over target, as tested (s)", &BY_TIME, "tdq"),
        ("drop to 8 Mbit/s", &DROPS[0], "tdq"),
        ("drop to 10", &DROPS[1], "tdq"),
        ("p95 as tested (ms)", &BY_TIME, "p95"),
        ("p95 by time", &BY_TIME, "p95_time"),
        ("p95 by the testbed's recorder", &BY_TIME, "p95_recorder"),
        ("p99 by it", &BY_TIME, "p99_recorder"),
        ("p95 paced at 1.5 rates", &PACED, "p95"),
        ("use of the link then (%)", &PACED, "util"),
    ];
    let mut rows: Vec<(String, &str)> = vec![];
    let mut names = vec![];
    for table in &TABLES {
        for case in 0..CASES.len() {
            for (service, (_, te)) in SERVICES.into_iter().enumerate() {
                for (form, kind) in FORMS.iter().enumerate() {
                    rows.push((label(table, case, (service, te), form), kind.controller));
                    names.push((table.0, case, kind, te));
                }
            }
        }
    }
    let headings: Vec<(String, &str)> = columns
        .iter()
        .map(|(h, _, v)| ((*h).to_owned(), *v))
        .collect();
    let panel = grid(
        "cells",
        "cL4S and sL4S",
        "in brackets the paper",
        &headings,
        &rows,
        |r, c| {
            let (which, case, kind, te) = &names[r];
            o.get(&cell_name(which, *case, kind, *te, columns[c].1))
        },
    );
    apart(panel)
}

/// One kind with each of `factors`, in each of `cases`, with as many flows as a table has.
fn of_one(
    o: &Outcomes,
    (id, which, flows): (&str, &Which, &str),
    kind: &Kind,
    cases: &[usize],
    factors: &[Factor],
) -> Panel {
    const COLUMNS: [Entry; 6] = [
        Entry::plain("utilisation", "%", "util"),
        Entry::plain("queue p95", "ms", "p95"),
        Entry::plain("queue p99", "ms", "p99"),
        Entry::plain("TDQ(20)", "s", "tdq20"),
        Entry::plain("TDQ(55)", "s", "tdq55"),
        Entry::plain("TDQ(145)", "s", "tdq145"),
    ];
    let mut rows = vec![];
    for case in cases {
        for factor in factors {
            let (_, low, high) = CASES[*case];
            let label = format!("{low}/{high} ms, {}", factor.1);
            rows.push((
                label,
                kind.controller,
                o.get(&cell_name(which, *case, kind, 60, factor)),
            ));
        }
    }
    let setup = format!("{flows} of 60 ms");
    table(id, kind.title, &setup, &COLUMNS, &rows).wide()
}

fn of_three(o: &Outcomes) -> Panel {
    let columns = [
        Entry::plain("the first", "%", "util_0"),
        Entry::plain("GCC", "%", "util_1"),
        Entry::plain("SCReAMv2", "%", "util_2"),
        Entry::plain("the first's packets over target", "%", "over_0"),
        Entry::plain("SCReAMv2's", "%", "over_2"),
    ];
    let mut rows = vec![];
    for (first, title, controller) in FIRST {
        for factor in &BESIDE {
            let label = format!("{title}, {}", factor.1);
            rows.push((label, controller, o.get(&mixed_name(first, factor))));
        }
    }
    table(
        "three",
        "Three kinds in one queue",
        "5/20 ms, 60 ms",
        &columns,
        &rows,
    )
    .wide()
}

fn of_fair(o: &Outcomes) -> Panel {
    let columns = [Entry::plain("Jain's index", "", "jain")];
    let mut rows = vec![];
    for kind in &FAIR {
        for (late, title) in [
            ("together", "both from the start"),
            ("late", "the second 10 s later"),
        ] {
            let label = format!("{}, {title}", kind.title);
            rows.push((label, kind.controller, o.get(&fair_name(kind, late))));
        }
    }
    table("fair", "Two flows", "5/20 ms, 60 ms", &columns, &rows).wide()
}

fn draw(o: &Outcomes) -> Figure {
    let even = |factor: &Factor, value| o.get(&cell_name(&ONE, 1, &GCC, 60, factor)).mean(value);
    let gcc = |factor: usize, value: &str| {
        o.get(&cell_name(&ONE, 1, &GCC, 60, &OF_GCC[factor]))
            .mean(value)
    };
    let two = |factor: &Factor| o.get(&cell_name(&TWO, 1, &GCC, 60, factor)).mean("p95");
    let first =
        |which: &Which, value: &str| o.get(&cell_name(which, 0, &SL4S, 60, &BY_TIME)).mean(value);
    let scream = |case: usize, factor: usize| {
        o.get(&cell_name(&ONE, case, &SCREAM, 60, &OF_SCREAM[factor]))
            .mean("util")
    };
    let three = |first: usize, beside: usize, value: &str| {
        o.get(&mixed_name(FIRST[first].0, &BESIDE[beside]))
            .mean(value)
    };
    let fair = |kind: usize, late: &str| o.get(&fair_name(&FAIR[kind], late)).mean("jain");
    let conference = |factor: &Factor| o.get(&cell_name(&ONE, 1, &CL4S, 150, factor)).mean("tdq");
    let third = |value: &str| o.get(&cell_name(&ONE, 2, &SL4S, 60, &BY_TIME)).mean(value);
    Figure {
        title: "Why numbers miss".to_owned(),
        setup: "The pattern with one thing changed at a time, of what the paper does not tell: heights of the link's rate, frames, \
                reports, and whether quantiles are taken over packets, over time, or by the whole milliseconds that the testbed's recorder writes."
            .to_owned(),
        claim: format!("Case 3, sL4S at 60 ms: a 95 % quantile of {} ms; the other numbers stand in the rows.", TABLE2[2].0[1][1].p95),
        seen: format!(
            "GCC uses {:.0} % of the link, {:.0} and {:.0} where the rise is to 15 and 20 Mbit/s in place of 25, and {:.0} with all rates times \
             0.3 (the paper 81): near the capacity it grows by 44 kbit/s each second. Its p95 is {:.0} ms with one flow and {:.0} with two; paced at 1.1 rates \
             and with a report each 50 ms {:.0} and {:.0} (the paper 51 and 5). Its p99 is {:.0} ms then, with a drop to 8 Mbit/s {:.0}, and with 180 kB of \
             queue {:.0} (99). sL4S in case 1 has a p95 of {:.1} ms by packet and {:.1} by the testbed's \
             recorder with one flow (1), {:.1} and {:.1} with two (2). SCReAMv2 uses {:.0}, {:.0} and {:.0} % in cases 1 to 3, \
             with frames that leave at once {:.0}, {:.0} and {:.0} (the paper 41, 42 and 53). cL4S at 5/20 ms and 150 ms is over its target \
             for {:.2} s, with a drop to 8 Mbit/s in place of 6 for {:.2} s (0.6). sL4S in case 3 has a p95 of {:.1} ms by packet and {:.1} by time. Among \
             three kinds the published cL4S uses {:.0} %, with growth by R0 {:.0}, and {:.0} where SCReAMv2 has Chromium's frames. Two flows, the \
             second 10 s later: Jain's index {:.2} with sL4S as published, {:.2} with L4S-CC, {:.2} with sL4S as shipped.",
            gcc(0, "util"),
            gcc(1, "util"),
            gcc(2, "util"),
            gcc(3, "util"),
            gcc(0, "p95"),
            two(&AS_IS),
            even(&EVEN_AND_RARE, "p95"),
            two(&EVEN_AND_RARE),
            even(&EVEN_AND_RARE, "p99"),
            even(&EVEN_AND_RARE_THEN[0], "p99"),
            even(&EVEN_AND_RARE_THEN[1], "p99"),
            first(&ONE, "p95"),
            first(&ONE, "p95_recorder"),
            first(&TWO, "p95"),
            first(&TWO, "p95_recorder"),
            scream(0, 0),
            scream(1, 0),
            scream(2, 0),
            scream(0, 1),
            scream(1, 1),
            scream(2, 1),
            conference(&BY_TIME),
            conference(&DROPS[0]),
            third("p95"),
            third("p95_time"),
            three(0, 0, "util_0"),
            three(1, 0, "util_0"),
            three(1, 1, "util_0"),
            fair(0, "late"),
            fair(1, "late"),
            fair(2, "late"),
        ),
        panels: vec![
            of_one(o, ("gcc", &ONE, ONE_FLOW), &GCC, &[1], &OF_GCC),
            of_one(o, ("gcc-two", &TWO, "two flows"), &GCC, &[1], &OF_TWO_GCC),
            of_one(o, ("scream", &ONE, ONE_FLOW), &SCREAM, &ALL_CASES, &OF_SCREAM),
            of_one(o, ("l4s-cc", &ONE, ONE_FLOW), &L4S_CC, &ALL_CASES, &OF_L4S_CC),
            of_three(o),
            of_fair(o),
            of_tables(o),
        ],
        ..Figure::default()
    }
}
