//! Controllers beside a study's own: they take part wherever senders are compared, and are shown apart from the paper's claims.
//!
//! A study says nothing of this. Two experiments of a figure compare senders where they differ in nothing but the controllers
//! of the same flows; such experiments are one [`Comparison`], and a further controller in the place of theirs is one more of
//! its rows. Figures and verdicts are made of what they were made of before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use slackwater_control::registry::title;
use slackwater_lab::run::RunResult;
use slackwater_report::paper::{Drawing, Figure, Panel};
use slackwater_report::{Better, Cell, Column, Row, SummaryTable};
use slackwater_results::metrics::{Metric, table::Better as Direction};
use slackwater_scenario::ScenarioError;
use slackwater_scenario::flow::Protocol;

use super::{Experiment, Options, Outcome, Outcomes, Part, StudyError};

/// Metrics of the flows under comparison, by key. Their mean is taken over the flows, but for rates, which add up.
const METRICS: [&str; 6] = [
    "goodput",
    "queue_p50",
    "queue_p95",
    "frame_p95",
    "loss",
    "fct_p95",
];
/// The other flows' rate.
const OTHERS: &str = "others";
/// Name of the figure.
const ID: &str = "also";

/// Runs that differ in the controllers of some flows alone.
struct Comparison {
    /// Short name of the figure.
    part: &'static str,
    /// Entries of the scenario whose controller is compared.
    players: Vec<usize>,
    /// Controller and experiment of each row: the paper's first, then those added by `--also`.
    rows: Vec<(String, String)>,
    /// Titles of the other flows' controllers.
    beside: Vec<String>,
}

/// The comparisons of a study's figures, with the controllers that were added to them.
pub(super) struct Comparisons {
    names: Vec<String>,
    all: Vec<Comparison>,
    experiments: Vec<Experiment>,
    /// By experiment, the comparisons that it is a row of.
    of: BTreeMap<String, Vec<usize>>,
}

/// A scenario as text without the controllers and labels of the entries `players`.
fn without(scenario: &Value, players: &[usize]) -> String {
    let mut rest = scenario.clone();
    for key in ["name", "title", "description"] {
        rest[key] = Value::Null;
    }
    for i in players {
        for key in ["controller", "label"] {
            rest["flow"][*i][key] = Value::Null;
        }
    }
    rest.to_string()
}

/// The controller of each entry of an experiment that has one.
fn controllers(experiment: &Experiment) -> Vec<&str> {
    let flows = experiment.scenario.flows.iter();
    flows.map(|f| f.controller.as_str()).collect()
}

/// The entries of each controller of `experiment`: what may be compared.
fn roles(experiment: &Experiment) -> BTreeSet<Vec<usize>> {
    let names = controllers(experiment);
    let same = |name: &&str| (0..names.len()).filter(|i| names[*i] == *name).collect();
    let controlled = experiment.scenario.flows.iter().zip(&names);
    let controlled = controlled.filter(|(flow, _)| flow.protocol() != Protocol::Udp);
    controlled.map(|(_, name)| same(name)).collect()
}

impl Comparisons {
    /// Those of `parts` for the controllers of `options`.
    pub(super) fn new(parts: &[Part], options: &Options) -> Result<Self, StudyError> {
        let mut new = Self {
            names: options.also.clone(),
            all: vec![],
            experiments: vec![],
            of: BTreeMap::new(),
        };
        if options.also.is_empty() {
            return Ok(new);
        }
        let mut refused = BTreeMap::new();
        for part in parts {
            new.add(part, options, &mut refused);
        }
        for name in &options.also {
            if new.all.iter().any(|c| c.rows.iter().any(|r| r.0 == *name)) {
                continue;
            }
            let name = name.clone();
            return Err(match refused.remove(&name) {
                Some(cause) => StudyError::Also { name, cause },
                None => StudyError::NothingCompared { name },
            });
        }
        Ok(new)
    }

    /// The comparisons of `part`.
    fn add(
        &mut self,
        part: &Part,
        options: &Options,
        refused: &mut BTreeMap<String, Box<ScenarioError>>,
    ) {
        let plain = part.experiments.iter();
        let plain: Vec<(&Experiment, Value)> = plain.map(|e| (e, e.scenario.to_json())).collect();
        let roles: BTreeSet<Vec<usize>> = plain.iter().flat_map(|(e, _)| roles(e)).collect();
        for players in roles {
            // What a seed changes of a scenario is part of it.
            let mut groups: BTreeMap<(String, Option<usize>), Vec<&Experiment>> = BTreeMap::new();
            for (experiment, json) in &plain {
                let names = controllers(experiment);
                let first = names.get(players[0]);
                let fits = first.is_some() && players.iter().all(|i| names.get(*i) == first);
                if fits {
                    let by_seed = experiment.prepare.map(|prepare| prepare as usize);
                    let alike = (without(json, &players), by_seed);
                    let group = groups.entry(alike).or_default();
                    if group.iter().all(|e| controllers(e) != names) {
                        group.push(experiment);
                    }
                }
            }
            // In the order of the study, not of the text.
            let mut groups: Vec<Vec<&Experiment>> = groups.into_values().collect();
            groups.retain(|g| g.len() > 1);
            groups.sort_by_key(|g| plain.iter().position(|(e, _)| core::ptr::eq(*e, g[0])));
            for group in groups {
                self.compare(part.id, &players, &group, options, refused);
            }
        }
    }

    /// One comparison, of the experiments of `group`.
    fn compare(
        &mut self,
        part: &'static str,
        players: &[usize],
        group: &[&Experiment],
        options: &Options,
        refused: &mut BTreeMap<String, Box<ScenarioError>>,
    ) {
        let mut rows: Vec<(String, String)> = group
            .iter()
            .map(|e| (controllers(e)[players[0]].to_owned(), e.name.clone()))
            .collect();
        let own = rows.len();
        for name in &options.also {
            let mut scenario = group[0].scenario.clone().with_plugins(&options.plugins);
            for i in players {
                name.clone_into(&mut scenario.flows[*i].controller);
            }
            if let Err(cause) = scenario.check_controllers() {
                refused.insert(name.clone(), Box::new(cause));
                continue;
            }
            let index = self.all.len();
            let experiment = format!("{ID}/{part}-{index}/{name}");
            rows.push((name.clone(), experiment.clone()));
            self.experiments.push(Experiment {
                name: experiment,
                scenario,
                reduce: Arc::new(|_, _| ()),
                prepare: group[0].prepare,
            });
        }
        if rows.len() == own {
            return;
        }
        for (_, experiment) in &rows {
            let of = self.of.entry(experiment.clone()).or_default();
            of.push(self.all.len());
        }
        let names = controllers(group[0]).into_iter().enumerate();
        let others = names.filter(|(i, _)| !players.contains(i));
        let others: BTreeSet<&str> = others.map(|(_, name)| title(name)).collect();
        self.all.push(Comparison {
            part,
            players: players.to_vec(),
            rows,
            beside: others.into_iter().map(str::to_owned).collect(),
        });
    }

    /// What is run beside the study's own experiments.
    pub(super) fn experiments(&self) -> impl Iterator<Item = &Experiment> {
        self.experiments.iter()
    }

    /// Keeps of `run` what the comparisons show.
    pub(super) fn reduce(&self, experiment: &str, run: &RunResult, out: &mut Outcome) {
        for index in self.of.get(experiment).into_iter().flatten() {
            let players = &self.all[*index].players;
            let instances = run.scenario.expanded_flows();
            let flows = || instances.iter().zip(&run.summary.flows);
            let is_player = |entry: usize| players.contains(&entry);
            for key in METRICS {
                let metric = Metric::find(key).expect("tests find each metric");
                let of = flows().filter(|(f, _)| is_player(f.entry));
                let values: Vec<f64> = of.filter_map(|(_, s)| metric.of_flow(s)).collect();
                let sum: f64 = values.iter().sum();
                let value = if key == "goodput" {
                    sum
                } else {
                    sum / values.len() as f64
                };
                out.value(
                    value_name(*index, key),
                    (!values.is_empty()).then_some(value),
                );
            }
            let others = flows().filter(|(f, _)| !is_player(f.entry));
            let others: Vec<f64> = others.map(|(_, s)| s.goodput_mbps).collect();
            let sum = others.iter().sum();
            out.value(
                value_name(*index, OTHERS),
                (!others.is_empty()).then_some(sum),
            );
        }
    }

    /// The figure of all comparisons, where there are some.
    pub(super) fn draw(&self, outcomes: &Outcomes) -> Option<Figure> {
        if self.all.is_empty() {
            return None;
        }
        let panels = self.all.iter().enumerate();
        Some(Figure {
            id: ID.to_owned(),
            title: format!("Beside the paper: {}", self.names.join(", ")),
            setup: "Wherever experiments above differ in the controllers of the same flows alone, these flows once more under another \
                    controller, with the same seeds."
                .to_owned(),
            seen: "No part of the paper and of its claims: these runs enter no figure above and no verdict.".to_owned(),
            panels: panels.map(|(i, c)| panel(i, c, outcomes)).collect(),
            scenarios: self.experiments.iter().map(|e| e.name.clone()).collect(),
            ..Figure::default()
        })
    }
}

/// Name of a value of the comparison `index`.
fn value_name(index: usize, key: &str) -> String {
    format!("{ID}/{index}/{key}")
}

/// The table of one comparison.
fn panel(index: usize, comparison: &Comparison, outcomes: &Outcomes) -> Panel {
    let rate = Column::new(
        "others' goodput",
        "Mbit/s",
        None,
        "Goodput of all other flows together.",
    );
    let columns = METRICS.into_iter().map(|key| {
        let metric = Metric::find(key).expect("tests find each metric");
        let better = match metric.better {
            Direction::Higher => Some(Better::Higher),
            Direction::Lower => Some(Better::Lower),
            Direction::Neither => None,
        };
        let column = Column::new(metric.label, metric.unit, better, metric.help);
        (key, column)
    });
    let has = |key: &str| {
        let mut rows = comparison.rows.iter();
        let name = value_name(index, key);
        rows.any(|(_, experiment)| {
            let runs = outcomes.get(experiment);
            runs.keeps(&name) && runs.estimate(&name).is_some()
        })
    };
    let columns = columns.chain([(OTHERS, rate)]);
    let columns: Vec<(&str, Column)> = columns.filter(|(key, _)| has(key)).collect();
    let row = |(name, experiment): &(String, String)| Row {
        label: title(name).to_owned(),
        controller: name.clone(),
        cells: columns
            .iter()
            .map(|(key, _)| {
                let estimate = outcomes.get(experiment).estimate(&value_name(index, key));
                estimate.map_or(Cell::Missing, Cell::Number)
            })
            .collect(),
    };
    let flows: Vec<String> = comparison
        .players
        .iter()
        .map(|i| (i + 1).to_string())
        .collect();
    let beside = match comparison.beside.as_slice() {
        [] => String::new(),
        names => format!(" beside {}", names.join(", ")),
    };
    let first = &comparison.rows[0].1;
    let caption = format!(
        "{}, as {first}: [[flow]] {}{beside}",
        comparison.part,
        flows.join(", ")
    );
    let rows = comparison.rows.iter().map(row).collect();
    let table = SummaryTable {
        caption: caption.clone(),
        row_heading: "controller".to_owned(),
        columns: columns.into_iter().map(|c| c.1).collect(),
        rows,
    };
    Panel::new(
        &format!("{ID}-{index}"),
        &caption,
        "",
        Drawing::Table(table),
    )
    .wide()
}
