//! `ebb`, the project's own sender (docs/ebb.md): its cells beside every other sender, each rule left out, reports that are rare,
//! late or lost, other paths, company, and its dials.
//!
//! No paper stands behind it. Every bound here is a target of ours, and none counts as a claim.

mod apps;
mod ceiling;
mod cells;
mod company;
mod drawn;
mod drives;
mod media;
mod reports;
mod rules;

use prelude::*;

/// What every figure's file uses.
mod prelude {
    pub(super) use super::super::draw::{Entry, apart, grid, lower, table};
    pub(super) use super::super::measure as m;
    pub(super) use super::super::study::{
        Experiment, Options, Outcome, Outcomes, Part, Runs, Study, StudyError,
    };
    pub(super) use super::{Cell, SCORE, cell, difference, keep};
    pub(super) use slackwater_lab::run::RunResult;
    pub(super) use slackwater_lab::title::title;
    pub(super) use slackwater_report::paper::{Drawing, Figure, Panel};
    pub(super) use slackwater_report::{TradeOff, TradeOffPoint};
    pub(super) use slackwater_results::check::{Check, Tolerance};
    pub(super) use slackwater_results::metrics::Estimate;
}

/// The study.
pub const STUDY: Study = Study {
    name: "ebb",
    title: "ebb: a sender that is clocked by the radio",
    citation: "A system of this project; docs/ebb.md has its rules",
    about: &[
        "The base station counts for the sender what left the radio, what waits there and what it offered, and reports it each 5 ms \
         on a way of its own. The sender keeps as many bytes on their way as the next round and a short queue take.",
    ],
    notes: &[
        "Cells are those of the arena whose bottleneck is a cell, and those of media. Recorded drives need files that are not in the program.",
        "S = ln(utilisation) - 0.3 ln(p95 of the one-way delay in ms): 1 % more use is worth 3.3 % more delay. A higher S is better.",
        "Where a cell has a competitor that stays CUBIC, utilisation is of the whole cell and the delay is that of the sender under test.",
        "Every bound is a target that was written before the runs. Differences between two senders are of pairs with the same seed.",
    ],
    claims: include_str!("../claims/ebb.toml"),
    parts: |options| {
        Ok(vec![
            cells::part(options)?,
            rules::part(options)?,
            rules::dials(options)?,
            ceiling::part(options)?,
            rules::advice(options)?,
            reports::part(options)?,
            reports::paths(options)?,
            company::part(options)?,
            media::part(options)?,
            drives::part(options)?,
            drawn::part(options)?,
            apps::part(options)?,
        ])
    },
};

/// What senders are ordered by.
const SCORE: &str = "score";

/// A cell of the arena.
#[derive(Clone, Copy)]
struct Cell {
    /// Its name there.
    name: &'static str,
    /// The entries of flows that are under test.
    players: &'static [usize],
    /// Length of a quick look; `None` where the cell is left out of it.
    quick: Option<&'static str>,
}

const fn alone(name: &'static str, quick: &'static str) -> Cell {
    Cell {
        name,
        players: &[0],
        quick: Some(quick),
    }
}

const CELLS: [Cell; 12] = [
    alone("lte-steps", "20 s"),
    alone("lte-fading", "20 s"),
    Cell {
        quick: None,
        ..alone("lte-fading-um", "20 s")
    },
    alone("lte-ten", "15 s"),
    alone("nr-fading", "12 s"),
    Cell {
        quick: None,
        ..alone("nr-fifty", "12 s")
    },
    alone("wired-hop", "20 s"),
    alone("handover", "16 s"),
    alone("lossy-feedback", "15 s"),
    alone("rival", "20 s"),
    alone("rival-users", "20 s"),
    Cell {
        players: &[0, 1],
        ..alone("web", "20 s")
    },
];

/// The cell called `name`.
fn cell(name: &str) -> &'static Cell {
    CELLS
        .iter()
        .find(|c| c.name == name)
        .unwrap_or_else(|| panic!("no cell is named {name}"))
}

impl Cell {
    /// Runs of `sender` here, with `changes` on top.
    fn experiment(
        &self,
        options: &Options,
        name: String,
        sender: &str,
        changes: &[(&str, &str)],
    ) -> Result<Experiment, StudyError> {
        let players = self.players;
        self.experiment_of(options, name, sender, changes, move |run, out| {
            keep(players, run, out);
        })
    }

    /// The same, reduced by `reduce`.
    fn experiment_of(
        &self,
        options: &Options,
        name: String,
        sender: &str,
        changes: &[(&str, &str)],
        reduce: impl Fn(&RunResult, &mut Outcome) + Send + Sync + 'static,
    ) -> Result<Experiment, StudyError> {
        let text = slackwater_scenario::embedded(&format!("arena/{}", self.name))
            .unwrap_or_else(|| panic!("the program holds no arena/{}", self.name));
        let players: Vec<String> = self
            .players
            .iter()
            .map(|entry| format!("flow[{entry}].controller"))
            .collect();
        let mut all: Vec<(&str, &str)> = players.iter().map(|key| (key.as_str(), sender)).collect();
        if let (true, Some(quick)) = (options.quick, self.quick) {
            all.push(("duration", quick));
        }
        all.extend(changes);
        Experiment::new(name, &text, all, reduce)
    }
}

/// Keeps the numbers of the flows of the entries `players`.
fn keep(players: &[usize], run: &RunResult, out: &mut Outcome) {
    let flows = run.scenario.expanded_flows();
    let of: Vec<usize> = (0..flows.len())
        .filter(|&i| players.contains(&flows[i].entry))
        .collect();
    let wired = flows[of[0]].rtt.as_millis_f64() / 2.0;
    keep_players(&of, wired, run, out);
}

/// Keeps the numbers of the flows `of`, whose way without queues takes `wired` milliseconds.
fn keep_players(of: &[usize], wired: f64, run: &RunResult, out: &mut Outcome) {
    let flows = &run.summary.flows;
    let used = run.summary.utilisation;
    out.value("use", used.map(|u| u * 100.0));
    out.value(
        "rate",
        Some(of.iter().map(|&i| flows[i].goodput_mbps).sum()),
    );
    let mut delays = slackwater_results::metrics::Histogram::default();
    for &i in of {
        delays.merge(&run.records.flows[i].one_way);
    }
    let one_way = m::ms(delays.quantile(0.95));
    out.value("one_way", one_way);
    out.value("delay", one_way.map(|d| (d - wired).max(0.0)));
    if let (Some(used), Some(one_way)) = (used, one_way) {
        out.value(SCORE, Some(used.ln() - 0.3 * one_way.ln()));
    }
    let rates: Vec<f64> = flows.iter().map(|f| f.goodput_mbps).collect();
    let jain = slackwater_results::metrics::jain(&rates);
    out.value("jain", jain.filter(|_| rates.len() > 1));
    let times: Vec<f64> = of.iter().flat_map(|&i| m::transfer_times(run, i)).collect();
    if let Some(q) = m::quantiles(&times) {
        out.value("fct_p50", Some(q.p50));
        out.value(
            "fct_p95",
            Some(
                slackwater_results::metrics::quantile(
                    &{
                        let mut sorted = times.clone();
                        sorted.sort_unstable_by(f64::total_cmp);
                        sorted
                    },
                    0.95,
                )
                .unwrap_or(q.p90),
            ),
        );
    }
}

/// The value `name` of `ours` less that of `other`, seed by seed.
fn difference(ours: &Runs, other: &Runs, name: &str) -> Option<Estimate> {
    let pairs: Vec<f64> = ours
        .values(name)
        .into_iter()
        .zip(other.values(name))
        .map(|(a, b)| a - b)
        .collect();
    Estimate::of(&pairs)
}
