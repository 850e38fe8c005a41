//! Every cell, beside every other sender.

use super::CELLS;
use super::prelude::*;

/// A sender, with what stands at the edge for it.
struct Sender {
    /// Name in the registry.
    name: &'static str,
    /// What it is called where the edge does something.
    edge: &'static str,
    /// What the edge does.
    changes: &'static [(&'static str, &'static str)],
}

const fn plain(name: &'static str) -> Sender {
    Sender {
        name,
        edge: "",
        changes: &[],
    }
}

const SENDERS: [Sender; 16] = [
    plain("ebb"),
    plain("xrc"),
    plain("tyrus"),
    plain("rule2"),
    plain("rule2-acks"),
    plain("pbe"),
    plain("claw"),
    plain("sprout"),
    plain("verus"),
    plain("copa"),
    plain("vegas"),
    plain("bbr"),
    plain("bbr3"),
    plain("cubic"),
    Sender {
        name: "cubic",
        edge: "vAQM",
        changes: &[("upf.vaqm.mode", "auto")],
    },
    Sender {
        name: "prague",
        edge: "L4S",
        changes: &[("cell.rlc.law", "ramp")],
    },
];

impl Sender {
    fn label(&self) -> String {
        match self.edge {
            "" => title(self.name).to_owned(),
            edge => format!("{}, {edge}", title(self.name)),
        }
    }

    fn key(&self) -> String {
        format!("{}{}", self.name, self.edge)
    }

    fn name_in(&self, cell: &Cell) -> String {
        format!("cells/{}-{}", cell.name, self.key())
    }
}

/// A target: the cell, what is at least or at most reached.
struct Target {
    cell: &'static str,
    value: &'static str,
    what: &'static str,
    unit: &'static str,
    bound: f64,
    tolerance: Tolerance,
}

const fn used(cell: &'static str, bound: f64) -> Target {
    Target {
        cell,
        value: "use",
        what: "utilisation",
        unit: "%",
        bound,
        tolerance: Tolerance::AtLeast,
    }
}

const fn waits(cell: &'static str, bound: f64) -> Target {
    Target {
        cell,
        value: "delay",
        what: "p95 queue delay",
        unit: "ms",
        bound,
        tolerance: Tolerance::AtMost,
    }
}

const fn fair(cell: &'static str, bound: f64) -> Target {
    Target {
        cell,
        value: "jain",
        what: "Jain's index",
        unit: "",
        bound,
        tolerance: Tolerance::AtLeast,
    }
}

/// What a prototype over the simulator's own truth reached, rounded.
const TARGETS: [Target; 16] = [
    used("lte-steps", 99.5),
    waits("lte-steps", 13.0),
    used("lte-fading", 90.0),
    waits("lte-fading", 52.0),
    used("nr-fading", 99.0),
    waits("nr-fading", 12.0),
    used("nr-fifty", 97.0),
    waits("nr-fifty", 40.0),
    fair("nr-fifty", 0.98),
    used("handover", 97.0),
    waits("handover", 26.0),
    used("lte-ten", 97.0),
    waits("lte-ten", 48.0),
    fair("lte-ten", 0.999),
    used("web", 92.0),
    waits("web", 60.0),
];

/// Cells of the arena in which it should be ahead of everyone, of those here.
const AHEAD: f64 = 10.0;

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let cells: Vec<&'static Cell> = CELLS
        .iter()
        .filter(|c| !options.quick || c.quick.is_some())
        .collect();
    let mut experiments = vec![];
    for cell in &cells {
        for sender in &SENDERS {
            experiments.push(cell.experiment(
                options,
                sender.name_in(cell),
                sender.name,
                sender.changes,
            )?);
        }
    }
    Ok(Part {
        id: "cells",
        measures: vec![],
        experiments,
        draw: Box::new(move |o| draw(o, &cells)),
    })
}

/// The best of the others in `cell` by S.
fn second<'a>(o: &'a Outcomes, cell: &Cell) -> (&'static Sender, &'a Runs) {
    let others = SENDERS[1..].iter().map(|s| (s, o.get(&s.name_in(cell))));
    others
        .max_by(|a, b| a.1.mean(SCORE).total_cmp(&b.1.mean(SCORE)))
        .expect("there are others")
}

fn draw(o: &Outcomes, cells: &[&'static Cell]) -> Figure {
    let columns = |value: &'static str| -> Vec<(String, &'static str)> {
        SENDERS.iter().map(|s| (s.label(), value)).collect()
    };
    let rows: Vec<(String, &str)> = cells.iter().map(|c| (c.name.to_owned(), "")).collect();
    let of = |r: usize, c: usize| o.get(&SENDERS[c].name_in(cells[r]));
    let mut panels = vec![
        apart(grid("cells-score", "S", "cell", &columns(SCORE), &rows, of)),
        apart(grid(
            "cells-use",
            "Utilisation, %",
            "cell",
            &columns("use"),
            &rows,
            of,
        )),
        apart(grid(
            "cells-delay",
            "p95 queue delay, ms",
            "cell",
            &columns("delay"),
            &rows,
            of,
        )),
    ];
    for name in ["lte-fading", "nr-fading"] {
        panels.push(scatter(o, cell(name)));
    }
    let mut checks: Vec<Check> = cells.iter().flat_map(|c| of_cell(o, c)).collect();
    let behind = |c: &&&'static Cell| {
        let (_, other) = second(o, c);
        difference(o.get(&SENDERS[0].name_in(c)), other, SCORE).is_none_or(|e| e.bounds().0 <= 0.0)
    };
    let led = cells.len() - cells.iter().filter(behind).count();
    if cells.len() == CELLS.len() {
        checks.push(Check::new(
            format!(
                "cells of {} where its S is ahead of every other's",
                cells.len()
            ),
            "",
            AHEAD,
            led as f64,
            None,
            Tolerance::AtLeast,
        ));
    }
    let web = "web";
    if cells.iter().any(|c| c.name == web) {
        let ours = o.get(&SENDERS[0].name_in(cell(web)));
        let cubic = o.get("cells/web-cubic");
        for (value, what) in [("fct_p50", "median"), ("fct_p95", "p95")] {
            checks.push(Check::of(
                format!("web: {what} of completion times over CUBIC's"),
                "",
                1.0,
                ours.ratio(value, cubic, value),
                Tolerance::AtMost,
            ));
        }
    }
    Figure {
        title: "Every cell, beside every other sender".to_owned(),
        setup: "The arena's cells with a cell for bottleneck, 15 to 60 s each; reports of `ebb` each 5 ms.".to_owned(),
        claim: "Targets: what a prototype reached that heard the simulator's own truth, and an S ahead of every other sender in \
                10 of these 12 cells."
            .to_owned(),
        seen: format!("Its S is ahead of every other sender's, by an interval that separates, in {led} of {} cells.", cells.len()),
        panels,
        checks,
        ..Figure::default()
    }
}

/// The targets of a cell.
fn of_cell(o: &Outcomes, cell: &Cell) -> Vec<Check> {
    let ours = o.get(&SENDERS[0].name_in(cell));
    let targets = TARGETS.iter().filter(|t| t.cell == cell.name);
    let mut checks: Vec<Check> = targets
        .map(|t| {
            Check::of(
                format!("{}: {}", cell.name, t.what),
                t.unit,
                t.bound,
                ours.estimate(t.value),
                t.tolerance,
            )
        })
        .collect();
    let (second, runs) = second(o, cell);
    checks.push(Check::of(
        format!(
            "{}: S less that of the best other, {}",
            cell.name,
            second.label()
        ),
        "",
        0.0,
        difference(ours, runs, SCORE),
        Tolerance::AtLeast,
    ));
    let dominates = |s: &&Sender| {
        let other = o.get(&s.name_in(cell));
        other.mean("use") > ours.mean("use") && other.mean("delay") < ours.mean("delay")
    };
    let dominators = SENDERS[1..].iter().filter(dominates).count();
    checks.push(Check::new(
        format!("{}: senders with more use and less delay", cell.name),
        "",
        0.0,
        dominators as f64,
        None,
        Tolerance::AtMost,
    ));
    checks
}

/// Use against delay in `cell`.
fn scatter(o: &Outcomes, cell: &Cell) -> Panel {
    let estimate = |runs: &Runs, name: &str| runs.estimate(name);
    let points = SENDERS.iter().filter_map(|s| {
        let runs = o.get(&s.name_in(cell));
        Some(TradeOffPoint {
            label: s.label(),
            controller: s.name.to_owned(),
            x: estimate(runs, "delay")?,
            y: estimate(runs, "use")?,
            samples: vec![],
        })
    });
    let drawing = Drawing::Scatter(TradeOff {
        x_label: "p95 queue delay".to_owned(),
        x_unit: "ms".to_owned(),
        y_label: "utilisation".to_owned(),
        y_unit: "%".to_owned(),
        points: points.collect(),
    });
    let heading = format!("{}: utilisation against delay", cell.name);
    Panel::new(&format!("front-{}", cell.name), &heading, "", drawing)
}
