//! Beyond: why `auto` loses to `window` where it does. One thing of the case is changed at a time.

use super::prelude::*;

const BESIDE: &str = include_str!("../../scenarios/vaqm/beside.toml");

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

/// Short name, title, scenario, changes.
type Row = (&'static str, &'static str, &'static str, Changes);

const ROWS: [Row; 12] = [
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
        &[LENGTH, FAR, AUTO, ("upf.vaqm.min_target", "30 ms")],
    ),
    (
        "far-40",
        "`auto`, 40 ms",
        SIGNAL,
        &[LENGTH, FAR, AUTO, ("upf.vaqm.min_target", "40 ms")],
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
    const COLUMNS: [Entry; 3] = [
        Entry::plain("RTT of the downloads, 95 %", "ms", "bulk_p95"),
        Entry::plain("rate of all", "Mbit/s", "rate"),
        Entry::plain("rate of the download(s)", "Mbit/s", "bulk_rate"),
    ];
    let rows_of = |rlc: &str| -> Vec<(String, &str, &Runs)> {
        ROWS.iter()
            .filter(|r| !quick || r.0.starts_with("bbr"))
            .map(|(row, title, ..)| ((*title).to_owned(), "vaqm", o.get(&name(row, rlc))))
            .collect()
    };
    let panels = RLC.map(|rlc| {
        let title = format!("Over {}", rlc.to_uppercase());
        table(rlc, &title, "case", &COLUMNS, &rows_of(rlc)).wide()
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
    }
    Figure {
        title: "Beyond: why `auto` loses where it does".to_owned(),
        setup: "The cases that `auto` loses to `window` in the figure `cases`, with one thing changed at a time: the least target, the \
                flows' decrease, and the time that is looked at."
            .to_owned(),
        claim: "Ours: a signal of `auto` takes the flight of one flow to 0.7 (RFC 9438, 4.6), so the queue must hold 0.43 of the round \
                trip for the link to stay busy, and two flows must both be signalled."
            .to_owned(),
        seen,
        panels: panels.into(),
        ..Figure::default()
    }
}
