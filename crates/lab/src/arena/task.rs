//! The runs of an arena: what they are, what they cost, and one of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::cpu::ThreadTime;
use serde::{Deserialize, Serialize};
use slackwater_results::metrics::summary::fnv1a;
use slackwater_scenario::{Plugins, Scenario, ScenarioError};

use super::drawn::Drawing;
use super::measure::{self, Values};
use super::set::{Place, QUICK_WARMUP, Set, System};
use crate::run::{Control, RunError, RunResult, run_scenario};

/// What of the arena is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seeds of each cell and system.
    pub seeds: u64,
    /// The first of them.
    pub first_seed: u64,
    /// A look: some cells, some systems, shorter runs.
    pub quick: bool,
    /// Cells by name; empty for all.
    pub cells: Vec<String>,
    /// Systems by name; empty for all. Those that the set lacks are added to it as those of `also` are.
    pub systems: Vec<String>,
    /// Further systems, `SENDER` or `SENDER+EDGE`: controllers by their names, with parameters where they take some, behind an
    /// edge of the set or a system, law or scheduler that the program adds.
    pub also: Vec<String>,
    /// Scenarios that are drawn. With some, of the published cells only those of `cells` are run.
    pub drawn: Vec<Drawing>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seeds: 5,
            first_seed: 1,
            quick: false,
            cells: vec![],
            systems: vec![],
            also: vec![],
            drawn: vec![],
        }
    }
}

/// Why a task, or a plan, is not to be run.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// No such cell or system.
    #[error("{kind}: found {found:?}, expected one of {known}")]
    Unknown {
        /// `cell` or `system`.
        kind: &'static str,
        /// What was asked for.
        found: String,
        /// What there is.
        known: String,
    },
    /// A recording is not there.
    #[error("{cell}: {why}")]
    NoRecording {
        /// The cell.
        cell: String,
        /// Why.
        why: String,
    },
    /// A scenario does not take what the set changes.
    #[error("{cell}, {system}: {cause}")]
    Scenario {
        /// The cell.
        cell: String,
        /// The system.
        system: String,
        /// What is wrong.
        cause: Box<ScenarioError>,
    },
    /// The run failed or was interrupted.
    #[error("{cell}, {system}: {cause}")]
    Run {
        /// The cell.
        cell: String,
        /// The system.
        system: String,
        /// Why.
        cause: RunError,
    },
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Task {
    /// Name of the cell.
    pub cell: String,
    /// Name of the system.
    pub system: String,
    /// The seed.
    pub seed: u64,
    /// Shortened.
    pub quick: bool,
}

/// What is left of one run: a line of the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The run.
    #[serde(flatten)]
    pub task: Task,
    /// Hash of all that decides the result; see [`Plan::key`].
    pub key: String,
    /// The numbers.
    pub values: Values,
    /// CPU seconds that it took: the one number here that another run does not repeat.
    pub cpu_s: f64,
}

/// The runs of an arena.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Cells, systems and edge functions.
    pub set: Set,
    /// What was asked for.
    pub options: Options,
    /// The runs: cell by cell, system by system, seed by seed.
    pub tasks: Vec<Task>,
    /// Cells that cannot be run here, and why.
    pub skipped: Vec<(String, String)>,
    /// Identifies the running program among the keys of systems that have parts of its own.
    program: String,
}

impl Plan {
    /// The runs that `options` ask for, of built-in parts alone.
    ///
    /// # Errors
    /// Where a cell or system of `options` does not exist.
    pub fn new(options: &Options) -> Result<Self, TaskError> {
        Self::with_plugins(options, &Plugins::new(), "")
    }

    /// The same where systems may also have parts that the running program adds. `program` identifies that program, for
    /// example by a hash of its file: results of such systems are taken up again by the same program alone.
    ///
    /// # Errors
    /// Where a cell or system of `options` does not exist, or a part of a system that the set lacks does not fit a cell.
    pub fn with_plugins(
        options: &Options,
        plugins: &Plugins,
        program: &str,
    ) -> Result<Self, TaskError> {
        let mut set = Set::published();
        set.plugins = plugins.clone();
        if !options.drawn.is_empty() {
            set.places.retain(|p| options.cells.contains(&p.name));
            set.places
                .extend(options.drawn.iter().flat_map(Drawing::places));
        }
        set.add(options.also.iter().chain(&options.systems))?;
        let known = |kind, wanted: &[String], names: Vec<&str>| {
            let missing = wanted.iter().find(|w| !names.contains(&w.as_str()));
            missing.map_or(Ok(()), |found| {
                Err(TaskError::Unknown {
                    kind,
                    found: found.clone(),
                    known: names.join(", "),
                })
            })
        };
        let places = set.places.iter().map(|p| p.name.as_str());
        known("cell", &options.cells, places.collect())?;
        let (mut tasks, mut skipped) = (vec![], vec![]);
        for place in &set.places {
            let named = options.cells.contains(&place.name) || place.drawn.is_some();
            let quick = !options.quick || place.quick.is_some();
            if !(named || options.cells.is_empty() && quick) {
                continue;
            }
            if let Err(why) = place.recording() {
                skipped.push((place.name.clone(), why));
                continue;
            }
            for system in set.systems_of(place) {
                let named =
                    options.systems.contains(&system.name) || options.also.contains(&system.name);
                let quick = !options.quick || system.quick;
                let nobody = system == System::nobody(place.class);
                if !(named || nobody || options.systems.is_empty() && quick) {
                    continue;
                }
                let seeds = options.first_seed..options.first_seed + options.seeds;
                tasks.extend(seeds.map(|seed| Task {
                    cell: place.name.clone(),
                    system: system.name.clone(),
                    seed,
                    quick: options.quick,
                }));
            }
        }
        let plan = Self {
            set,
            options: options.clone(),
            tasks,
            skipped,
            program: program.to_owned(),
        };
        plan.check_added()?;
        Ok(plan)
    }

    /// What tests have shown of the published set is checked here of what was added: the parts fit each cell.
    fn check_added(&self) -> Result<(), TaskError> {
        let first = |t: &&Task| t.seed == self.options.first_seed;
        for task in self.tasks.iter().filter(first) {
            let (_, system) = self.set.find(task).expect("a task of this plan");
            if system.added {
                let scenario = self.set.scenario(task)?;
                let checked = scenario.check_controllers();
                checked.map_err(|cause| TaskError::Scenario {
                    cell: task.cell.clone(),
                    system: task.system.clone(),
                    cause: Box::new(cause),
                })?;
            }
        }
        Ok(())
    }

    /// Hash of all that decides the result of `task`: scenario, changes, length and version. The place of a recording on
    /// a disk is no part of it, so that other machines may share the work. Where a part is the running program's own, the
    /// program is part of it too: two builds of a plug-in never share a result.
    ///
    /// # Panics
    /// Where the plan has no such task.
    pub fn key(&self, task: &Task) -> String {
        let (place, system) = self.set.find(task).expect("a task of this plan");
        let text = place.text();
        let length = place.quick.as_deref().filter(|_| task.quick);
        let mut all = format!(
            "{}\n{text}\n{:?}\n{length:?}\n{:?}\n{:?}",
            env!("CARGO_PKG_VERSION"),
            place.trace,
            place.players,
            self.set.changes(place, &system)
        );
        if system.own {
            all.push('\n');
            all.push_str(&self.program);
        }
        fnv1a(&all)
    }

    /// The systems of `tasks` that the published set lacks, each once.
    pub fn added(&self, tasks: &[Task]) -> Vec<String> {
        let is_added = |task: &&Task| self.set.find(task).is_some_and(|(_, system)| system.added);
        let added = tasks.iter().filter(is_added).map(|t| t.system.clone());
        added.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The command that makes one run of a cell and system again, with its report.
    pub fn command(&self, task: &Task) -> Option<String> {
        let (place, system) = self.set.find(task)?;
        let mut out = format!("slackwater run {}", place.scenario_name());
        let mut set = |key: &str, value: &str| {
            out.push_str(" --set '");
            out.push_str(key);
            out.push('=');
            out.push_str(value);
            out.push('\'');
        };
        if let Some(trace) = &place.trace {
            set(
                "link",
                &format!(
                    "{{ kind = \"trace\", file = \"{trace}\", queue = {{ kind = \"fifo\", limit = \"750 kB\" }} }}"
                ),
            );
        }
        if let Some(length) = place.quick.as_deref().filter(|_| task.quick) {
            set("warmup", QUICK_WARMUP);
            set("duration", length);
        }
        for (key, value) in self.set.changes(place, &system) {
            set(&key, &value);
        }
        Some(format!("{out} --seed {}", task.seed))
    }
}

impl Set {
    fn find(&self, task: &Task) -> Option<(&Place, System)> {
        let place = self.place(&task.cell)?;
        Some((place, self.system(place, &task.system)?))
    }

    /// The scenario of `task`.
    ///
    /// # Errors
    /// Where there is no such cell or system, or a recording is not there.
    pub fn scenario(&self, task: &Task) -> Result<Scenario, TaskError> {
        let unknown = |kind, found: &str| TaskError::Unknown {
            kind,
            found: found.to_owned(),
            known: "the published set".to_owned(),
        };
        let place = self
            .place(&task.cell)
            .ok_or_else(|| unknown("cell", &task.cell))?;
        let system = self
            .system(place, &task.system)
            .ok_or_else(|| unknown("system", &task.system))?;
        place.recording().map_err(|why| TaskError::NoRecording {
            cell: place.name.clone(),
            why,
        })?;
        let bad = |cause| TaskError::Scenario {
            cell: task.cell.clone(),
            system: task.system.clone(),
            cause: Box::new(cause),
        };
        let mut scenario = self.base(place, task.quick).map_err(bad)?;
        for (key, value) in self.changes(place, &system) {
            scenario = scenario.with(&key, &value).map_err(bad)?;
        }
        scenario.seed = task.seed;
        Ok(scenario)
    }
}

/// Runs `task`; `keep` sees the run before it is reduced to its numbers.
///
/// # Errors
/// Where the task is none of the published set, or `progress` says stop.
pub fn work(
    plan: &Plan,
    task: &Task,
    progress: &mut dyn FnMut(f64) -> Control,
    keep: &mut dyn FnMut(&RunResult),
) -> Result<Row, TaskError> {
    let scenario = plan.set.scenario(task)?;
    let start = ThreadTime::now();
    let run = run_scenario(&scenario, task.seed, progress).map_err(|cause| TaskError::Run {
        cell: task.cell.clone(),
        system: task.system.clone(),
        cause,
    })?;
    let place = plan.set.place(&task.cell).expect("the scenario was found");
    let values = measure::values(place, &run);
    keep(&run);
    Ok(Row {
        task: task.clone(),
        key: plan.key(task),
        values,
        cpu_s: start.elapsed().as_secs_f64(),
    })
}

/// Simulated time over which a cell's cost is measured beforehand, in seconds.
const SAMPLE: f64 = 2.0;

/// About how many CPU seconds `tasks` take: short runs of some systems in each cell, by the length of the cell's runs.
///
/// # Errors
/// As [`work`].
pub fn estimate(plan: &Plan, tasks: &[Task]) -> Result<f64, TaskError> {
    let mut by_cell: BTreeMap<&str, Vec<&Task>> = BTreeMap::new();
    for task in tasks {
        by_cell.entry(&task.cell).or_default().push(task);
    }
    let mut all = 0.0;
    for tasks in by_cell.values() {
        // Some of those that there are: senders with many internals cost more than others.
        let picked = [1, 3, 5].map(|k| tasks[tasks.len() * k / 6]);
        let mut cost = 0.0;
        for task in picked {
            cost += sample(plan, task)? / picked.len() as f64;
        }
        all += cost * tasks.len() as f64;
    }
    Ok(all)
}

/// About how many CPU seconds `task` takes.
fn sample(plan: &Plan, task: &Task) -> Result<f64, TaskError> {
    let scenario = plan.set.scenario(task)?;
    let length = scenario.duration.as_secs_f64();
    let share = (SAMPLE / length).min(1.0);
    let start = ThreadTime::now();
    let mut done = 0.0;
    let ran = run_scenario(&scenario, task.seed, &mut |s| {
        done = s;
        if s < share {
            Control::Continue
        } else {
            Control::Stop
        }
    });
    if ran.is_ok() {
        done = 1.0;
    }
    Ok(start.elapsed().as_secs_f64() / done.max(1e-3))
}
