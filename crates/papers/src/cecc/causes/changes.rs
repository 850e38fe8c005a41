//! Experiments of one change each, in groups: a table for each group, a row for each change.

use super::super::prelude::*;
use super::super::start::first_second;
use super::{HUNDRED, KNOWN, WINDOW};

/// A row: short name, title, what is changed.
type Row = (&'static str, &'static str, Changes);

/// Rows of one table.
struct Group {
    /// Begins the names of its experiments.
    id: &'static str,
    /// Heading of its table.
    caption: &'static str,
    /// What all its rows change.
    all: Changes,
    /// The single changes.
    rows: &'static [Row],
    /// Columns of the table.
    columns: &'static [Entry],
    /// What a run is reduced to.
    reduce: fn(&RunResult, &mut Outcome),
}

/// A base station that serves one UE in a slot, in turn (II-A: it polls its queues).
const POLLED: [(&str, &str); 2] = [("cell.ues_per_slot", "1"), ("cell.scheduler", "rr")];
const MODE_PAPER: (&str, &str) = PAPER.changes[0];
const MODE_HOLD: (&str, &str) = HOLD.changes[0];
/// Times after the start are of all flows together.
const SETTLING: (&str, &str) = ("warmup", "2 s");

const GROUPS: [Group; 3] = [
    Group {
        id: "four",
        caption: "Four flows of CUBIC from slow start, cell A",
        all: &[("ue.count", "4")],
        rows: &[
            ("as-is", "as tested", &[]),
            (
                "sizes",
                "frames of one size",
                &[("flow.app.size_cv", "0 %")],
            ),
            ("hundred", "frames of 100 kB, all of one size", &HUNDRED),
            (
                "grid",
                "frames on their grid",
                &[("flow.app.interval_sigma", "0 ms")],
            ),
            (
                "known",
                "a base station that knows what waits in UEs",
                &KNOWN,
            ),
            (
                "nohystart",
                "without HyStart",
                &[("flow.controller", "cubic-nohystart")],
            ),
            (
                "processing",
                "processing of 1 ms in place of 2",
                &[("cell.timing.processing", "1 ms")],
            ),
            ("longer", "a run of 66 s", &[("duration", "66 s")]),
            (
                "twenty",
                "first window of 20 segments",
                &[("flow.tcp.initial_window", "20")],
            ),
        ],
        columns: &[
            Entry::plain("late, frames, flow with least", "%", "least_frame_all"),
            Entry::plain("mean", "%", "late_frame_all"),
            Entry::plain("flow with most", "%", "worst_frame_all"),
            Entry::plain("late frames, first second, all four", "", "waits"),
        ],
        reduce: first_second,
    },
    Group {
        id: "several",
        caption: "The queue of the start, cell A",
        all: &[("duration", "5 s")],
        rows: &[
            ("1", "one flow", &[("ue.count", "1")]),
            ("1-steady", "from 2 s on", &[("ue.count", "1"), SETTLING]),
            ("2", "two flows", &[("ue.count", "2")]),
            ("2-steady", "from 2 s on", &[("ue.count", "2"), SETTLING]),
            ("4", "four flows", &[("ue.count", "4")]),
            ("4-steady", "from 2 s on", &[("ue.count", "4"), SETTLING]),
        ],
        columns: &[Entry::plain("largest one-way delay", "ms", "net_max")],
        reduce: largest,
    },
    Group {
        id: "seven",
        caption: "Seven flows, cell A, slow start included",
        all: &[("ue.count", "7")],
        rows: &[
            ("off", "CUBIC", &[]),
            ("hold", "hold", &[MODE_HOLD]),
            ("paper", "paper", &[MODE_PAPER]),
            (
                "processing",
                "paper, processing of 3 ms in place of 2",
                &[MODE_PAPER, ("cell.timing.processing", "3 ms")],
            ),
            (
                "polled",
                "paper, one UE per slot, in turn",
                &[MODE_PAPER, POLLED[0], POLLED[1]],
            ),
            (
                "blocks",
                "paper, 4 % fewer resource blocks",
                &[MODE_PAPER, ("cell.n_rb", "1106")],
            ),
            (
                "window",
                "paper, first window of 160 segments",
                &[MODE_PAPER, WINDOW],
            ),
        ],
        columns: &[
            Entry::more("satisfied, network", "flows", "net_all"),
            Entry::less("late, network, flow with least", "%", "least_net_all"),
            Entry::less("flow with most", "%", "worst_net_all"),
            Entry::more("satisfied, frames", "flows", "frame_all"),
            Entry::less("late, frames", "%", "late_frame_all"),
        ],
        reduce: keep,
    },
];

/// The largest one-way delay of any flow.
fn largest(run: &RunResult, out: &mut Outcome) {
    let each = run.records.flows.iter().map(|f| m::ms(f.one_way.max()));
    out.value("net_max", each.flatten().reduce(f64::max));
}

fn name(group: &str, row: &str) -> String {
    format!("causes/{group}-{row}")
}

pub(super) fn experiments(options: &Options) -> Result<Vec<Experiment>, StudyError> {
    let mut experiments = vec![];
    for g in &GROUPS {
        for (row, _, changes) in g.rows {
            let mut all = base(options).to_vec();
            all.extend(g.all);
            all.extend(*changes);
            if options.quick && *row == "longer" {
                all.push(("duration", "6 s"));
            }
            experiments.push(Experiment::new(name(g.id, row), SCENARIO, all, g.reduce)?);
        }
    }
    Ok(experiments)
}

pub(super) fn panels(o: &Outcomes) -> Vec<Panel> {
    let of = |g: &Group| {
        let rows: Vec<_> = g
            .rows
            .iter()
            .map(|(row, says, _)| ((*says).to_owned(), "", o.get(&name(g.id, row))))
            .collect();
        table(g.id, g.caption, "change", g.columns, &rows).wide()
    };
    GROUPS.iter().map(of).collect()
}

pub(super) fn seen(o: &Outcomes) -> String {
    let mean = |group: &str, row: &str, value: &str| o.get(&name(group, row)).mean(value);
    let late = |row: &str| mean("four", row, "least_frame_all");
    let delay = |row: &str| mean("several", row, "net_max");
    let seven = |row: &str| mean("seven", row, "net_all");
    let least = |row: &str| mean("seven", row, "least_net_all");
    format!(
        "Of four flows from slow start the one with least late has {:.3} % late, and {:.3} % over 66 s; with frames of one size {:.3} %, of 100 kB {:.3} %, and \
         without HyStart {:.3} %. The largest one-way delay of one flow is {:.1} ms, of four {:.1}; from 2 s on these are {:.1} and {:.1} ms. Of seven flows \
         `paper` satisfies {:.1} by network delay, and {:.1} where the cell serves one UE in a slot; the flow with least late has {:.3} and {:.3} %.",
        late("as-is"),
        late("longer"),
        late("sizes"),
        late("hundred"),
        late("nohystart"),
        delay("1"),
        delay("4"),
        delay("1-steady"),
        delay("4-steady"),
        seven("paper"),
        seven("polled"),
        least("paper"),
        least("polled"),
    )
}
