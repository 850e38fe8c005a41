//! Beyond: why `auto` loses to `window` where it does. One thing of the case is changed at a time.

use super::prelude::*;

const BESIDE: &str = include_str!("../../scenarios/vaqm/beside.toml");
const SESSION: &str = include_str!("../../scenarios/vaqm/session.toml");

const WINDOW: (&str, &str) = ("upf.vaqm.mode", "window");
const AUTO: (&str, &str) = VAQM;
const FAR: (&str, &str) = ("path.rtt", "80 ms");
const BULK: (&str, &str) = ("flow[1].app", "bulk");
const CUBIC: (&str, &str) = ("flow[1].controller", "cubic");
const BBR: (&str, &str) = ("flow[1].controller", "bbr");
const RENO: [(&str, &str); 2] = [
    ("flow[0].controller", "newreno"),
    ("flow[1].controller", "newreno"),
];
const LENGTH: (&str, &str) = ("duration", "30 s");
/// The first ten seconds after the warm-up of 5 s, and what follows.
const EARLY: (&str, &str) = ("duration", "15 s");
const LATER: (&str, &str) = ("warmup", "15 s");

const WEAK: (&str, &str) = ("ue.channel.mcs", "11");
const FARTHER: (&str, &str) = ("path.rtt", "160 ms");
/// Three users with downloads, and one with loads.
const DOWNLOADS_ALONE: (&str, &str) = (
    "ue",
    r#"[{ count = 3, channel = { kind = "mcs", mcs = 11 }, vaqm = { mode = "auto" } }, { channel = { kind = "mcs", mcs = 11 } }]"#,
);
const LOADS_ALONE: (&str, &str) = (
    "ue",
    r#"[{ count = 3, channel = { kind = "mcs", mcs = 11 } }, { channel = { kind = "mcs", mcs = 11 }, vaqm = { mode = "auto" } }]"#,
);
/// Four times as many loads as in the case.
const LONG: (&str, &str) = ("duration", "120 s");

const QUIC: (&str, &str) = ("flow.transport", "quic");
const NO_LOADS: (&str, &str) = ("flow[1].start", "29999 ms");
const TARGET30: (&str, &str) = ("upf.vaqm.min_target", "30 ms");
const TARGET40: (&str, &str) = ("upf.vaqm.min_target", "40 ms");
const PAGE: (&str, &str) = (
    "flow[1].app",
    r#"{ kind = "page", size = "2 MB", objects = 70, connections = 6, gap = "2 s" }"#,
);
const PAGE_OF_TWO: (&str, &str) = (
    "flow[1].app",
    r#"{ kind = "page", size = "2 MB", objects = 70, connections = 2, gap = "2 s" }"#,
);

/// Short name, title, scenario, changes.
type Row = (&'static str, &'static str, &'static str, Changes);

const ROWS: [Row; 30] = [
    (
        "far-window",
        "strong, 80 ms: `window`",
        SIGNAL,
        &[LENGTH, FAR, WINDOW],
    ),
    ("far-auto", "`auto`", SIGNAL, &[LENGTH, FAR, AUTO]),
    (
        "far-30",
        "`auto`, least target 30 ms in place of 20",
        SIGNAL,
        &[LENGTH, FAR, AUTO, TARGET30],
    ),
    (
        "far-40",
        "`auto`, 40 ms",
        SIGNAL,
        &[LENGTH, FAR, AUTO, TARGET40],
    ),
    (
        "two-window",
        "CUBIC beside CUBIC: `window`",
        BESIDE,
        &[LENGTH, BULK, CUBIC, WINDOW],
    ),
    ("two-auto", "`auto`", BESIDE, &[LENGTH, BULK, CUBIC, AUTO]),
    (
        "reno-window",
        "Reno beside Reno: `window`",
        BESIDE,
        &[LENGTH, BULK, RENO[0], RENO[1], WINDOW],
    ),
    (
        "reno-auto",
        "`auto`",
        BESIDE,
        &[LENGTH, BULK, RENO[0], RENO[1], AUTO],
    ),
    (
        "bbr-early-window",
        "CUBIC beside BBR, 5 to 15 s: `window`",
        BESIDE,
        &[EARLY, BULK, BBR, WINDOW],
    ),
    (
        "bbr-early-auto",
        "`auto`",
        BESIDE,
        &[EARLY, BULK, BBR, AUTO],
    ),
    (
        "bbr-later-window",
        "CUBIC beside BBR, 15 to 30 s: `window`",
        BESIDE,
        &[LENGTH, LATER, BULK, BBR, WINDOW],
    ),
    (
        "bbr-later-auto",
        "`auto`",
        BESIDE,
        &[LENGTH, LATER, BULK, BBR, AUTO],
    ),
    (
        "weak-window",
        "weak, 160 ms: `window`",
        SIGNAL,
        &[LENGTH, WEAK, FARTHER, WINDOW],
    ),
    (
        "weak-auto",
        "`auto`",
        SIGNAL,
        &[LENGTH, WEAK, FARTHER, AUTO],
    ),
    (
        "weak-downloads",
        "`auto` for the users with downloads, `window` for the one with loads",
        SIGNAL,
        &[LENGTH, FARTHER, WINDOW, DOWNLOADS_ALONE],
    ),
    (
        "weak-loads",
        "`auto` for the user with loads, `window` for the others",
        SIGNAL,
        &[LENGTH, FARTHER, WINDOW, LOADS_ALONE],
    ),
    (
        "weak-long-window",
        "`window`, 120 s",
        SIGNAL,
        &[LONG, WEAK, FARTHER, WINDOW],
    ),
    (
        "weak-long-auto",
        "`auto`, 120 s",
        SIGNAL,
        &[LONG, WEAK, FARTHER, AUTO],
    ),
    (
        "quic-window",
        "100 kB beside a download, QUIC: `window`",
        SESSION,
        &[LENGTH, QUIC, WINDOW],
    ),
    ("quic-auto", "`auto`", SESSION, &[LENGTH, QUIC, AUTO]),
    (
        "quic-lone-window",
        "the download alone: `window`",
        SESSION,
        &[LENGTH, QUIC, NO_LOADS, WINDOW],
    ),
    (
        "quic-lone-auto",
        "`auto`",
        SESSION,
        &[LENGTH, QUIC, NO_LOADS, AUTO],
    ),
    (
        "quic-30",
        "`auto`, least target 30 ms",
        SESSION,
        &[LENGTH, QUIC, AUTO, TARGET30],
    ),
    (
        "quic-40",
        "`auto`, 40 ms",
        SESSION,
        &[LENGTH, QUIC, AUTO, TARGET40],
    ),
    (
        "page-window",
        "a page beside a download: `window`",
        SESSION,
        &[LENGTH, PAGE, WINDOW],
    ),
    ("page-auto", "`auto`", SESSION, &[LENGTH, PAGE, AUTO]),
    (
        "page-two-window",
        "a page on two connections: `window`",
        SESSION,
        &[LENGTH, PAGE_OF_TWO, WINDOW],
    ),
    (
        "page-two-auto",
        "`auto`",
        SESSION,
        &[LENGTH, PAGE_OF_TWO, AUTO],
    ),
    (
        "page-40-window",
        "a page, least target 40 ms: `window`",
        SESSION,
        &[LENGTH, PAGE, TARGET40, WINDOW],
    ),
    (
        "page-40-auto",
        "`auto`",
        SESSION,
        &[LENGTH, PAGE, TARGET40, AUTO],
    ),
];

const RLC: [&str; 2] = ["um", "am"];

fn name(row: &str, rlc: &str) -> String {
    format!("lost/{row}-{rlc}")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    let all = ROWS
        .iter()
        .filter(|r| !options.quick || r.0.starts_with("bbr"));
    for (row, _, text, changes) in all {
        for rlc in RLC {
            let mut changes = changes.to_vec();
            changes.push(("cell.rlc.mode", rlc));
            experiments.push(Experiment::new(name(row, rlc), text, changes, keep)?);
        }
    }
    let quick = options.quick;
    Ok(Part {
        id: "lost",
        measures: vec![],
        experiments,
        draw: Box::new(move |o| draw(o, quick)),
    })
}

fn draw(o: &Outcomes, quick: bool) -> Figure {
    const COLUMNS: [Entry; 4] = [
        Entry::plain("RTT of the downloads, 95 %", "ms", "bulk_p95"),
        Entry::plain("rate of all", "Mbit/s", "rate"),
        Entry::plain("rate of the download(s)", "Mbit/s", "bulk_rate"),
        Entry::plain("median time of a load", "s", "loads_time"),
    ];
    let rows_of = |rlc: &str| -> Vec<(String, &str, &Runs)> {
        ROWS.iter()
            .filter(|r| !quick || r.0.starts_with("bbr"))
            .map(|(row, title, ..)| ((*title).to_owned(), "vaqm", o.get(&name(row, rlc))))
            .collect()
    };
    let panels = RLC.map(|rlc| {
        let title = format!("Over {}", rlc.to_uppercase());
        // The quick cases have downloads alone.
        let columns = &COLUMNS[..if quick { 3 } else { 4 }];
        table(rlc, &title, "case", columns, &rows_of(rlc)).wide()
    });
    let at = |row: &str, value: &str| o.get(&name(row, "am")).mean(value);
    let share = |row: &str| {
        let of = |mode: &str| at(&format!("bbr-{row}-{mode}"), "bulk_rate");
        of("auto") / of("window") * 100.0
    };
    let mut seen = format!(
        "Over AM, CUBIC beside BBR has {:.0} % of what `window` gives it while BBR is not yet found (5 to 15 s), and {:.0} % from then on.",
        share("early"),
        share("later"),
    );
    if !quick {
        let more = format!(
            " At 80 ms the rate of all is {:.1} Mbit/s with `window`, {:.1} with `auto`, and {:.1} and {:.1} with a least target of 30 and 40 ms. CUBIC \
             beside CUBIC has a p95 of {:.0} ms with `window` and {:.0} with `auto`; Reno beside Reno, which halves, {:.0} and {:.0}.",
            at("far-window", "rate"),
            at("far-auto", "rate"),
            at("far-30", "rate"),
            at("far-40", "rate"),
            at("two-window", "bulk_p95"),
            at("two-auto", "bulk_p95"),
            at("reno-window", "bulk_p95"),
            at("reno-auto", "bulk_p95"),
        );
        seen.push_str(&more);
        seen.push_str(&of_loads(o));
    }
    Figure {
        title: "Beyond: why `auto` loses where it does".to_owned(),
        setup: "The cases that `auto` loses to `window` in the figure `cases`, with one thing changed at a time: the least target, the \
                flows' decrease, the users that have `auto`, a page's connections, and the time that is looked at."
            .to_owned(),
        claim: "Ours: a signal of `auto` takes the flight of one flow to 0.7 (RFC 9438, 4.6), so the queue must hold 0.43 of the round \
                trip for the link to stay busy, and two flows must both be signalled."
            .to_owned(),
        seen,
        panels: panels.into(),
        ..Figure::default()
    }
}

/// What the cases with loads and pages show.
fn of_loads(o: &Outcomes) -> String {
    let am = |row: &str, value: &str| o.get(&name(row, "am")).mean(value);
    let um = |row: &str, value: &str| o.get(&name(row, "um")).mean(value);
    format!(
        " In weak signal at 160 ms a load takes {:.2} s with `window` and {:.2} with `auto`; {:.2} where the user with loads alone has `auto`, {:.2} \
         where those with downloads alone have it, and over 120 s {:.2} and {:.2}. Over QUIC beside loads of 100 kB the rate is {:.2} Mbit/s with \
         `window` and {:.2} with `auto`, without loads {:.2} and {:.2}, and with a least target of 30 and 40 ms {:.2} and {:.2}. Over UM the p95 beside a \
         page is {:.0} ms with `window` and {:.0} with `auto`; with a page on two connections {:.0} and {:.0}, with a least target of 40 ms {:.0} and \
         {:.0}.",
        am("weak-window", "loads_time"),
        am("weak-auto", "loads_time"),
        am("weak-loads", "loads_time"),
        am("weak-downloads", "loads_time"),
        am("weak-long-window", "loads_time"),
        am("weak-long-auto", "loads_time"),
        am("quic-window", "rate"),
        am("quic-auto", "rate"),
        am("quic-lone-window", "rate"),
        am("quic-lone-auto", "rate"),
        am("quic-30", "rate"),
        am("quic-40", "rate"),
        um("page-window", "bulk_p95"),
        um("page-auto", "bulk_p95"),
        um("page-two-window", "bulk_p95"),
        um("page-two-auto", "bulk_p95"),
        um("page-40-window", "bulk_p95"),
        um("page-40-auto", "bulk_p95"),
    )
}
