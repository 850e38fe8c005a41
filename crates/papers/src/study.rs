//! A study: experiments, each a scenario run over seeds, reduced to what figures and checks need as soon as it ends.

mod also;
mod claims;
mod files;
mod run;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use slackwater_lab::parallel;
use slackwater_lab::run::{RunError, RunResult};
use slackwater_report::BandTrack;
use slackwater_report::paper::{Distribution, Figure, Line, Page};
use slackwater_results::metrics::{Estimate, quantile};
use slackwater_scenario::{Plugins, Scenario, ScenarioError};

pub use claims::Measure;

use crate::ledger::Ledger;

/// Why a study could not run.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A scenario of the study is broken: a defect.
    #[error("{name}: {cause}")]
    Scenario {
        /// The experiment.
        name: String,
        /// What is wrong.
        cause: Box<ScenarioError>,
    },
    /// A run failed or was interrupted.
    #[error("{name}: {cause}")]
    Run {
        /// The experiment.
        name: String,
        /// Why.
        cause: RunError,
    },
    /// No figure has this name.
    #[error("no figure is named \"{found}\"; known are {known}")]
    NoFigure {
        /// The name that was given.
        found: String,
        /// The names that exist.
        known: String,
    },
    /// No chosen figure compares senders of the kind of a controller that `--also` adds.
    #[error("--also {name}: found no figure that compares senders of its kind, expected one")]
    NothingCompared {
        /// The controller.
        name: String,
    },
    /// A controller that `--also` adds cannot be built.
    #[error("--also {name}: {cause}")]
    Also {
        /// The controller.
        name: String,
        /// What is wrong.
        cause: Box<ScenarioError>,
    },
    /// A recording was trained on by a policy that is measured.
    #[error(
        "{file}: found a recording that {policy} was trained on, expected others (--in-sample takes it)"
    )]
    InSample {
        /// The recording.
        file: String,
        /// The policy's file, or the controller's name.
        policy: String,
    },
}

/// What of a study is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seeds of each experiment.
    pub seeds: u64,
    /// The first of them.
    pub first_seed: u64,
    /// Seeds at most of an experiment behind a claim whose verdict is open; `seeds` where that is more.
    pub max_seeds: u64,
    /// Run what the claims are measured with, and draw nothing.
    pub claims_only: bool,
    /// Shorter runs: a look, not a measurement.
    pub quick: bool,
    /// Threads.
    pub jobs: usize,
    /// Figures to make, by their short names; empty for all.
    pub only: Vec<String>,
    /// Also measure policies on recordings that they were trained on.
    pub in_sample: bool,
    /// Controllers that take part wherever senders are compared, by name; shown apart from the paper's claims.
    pub also: Vec<String>,
    /// Controllers that the program adds, which `also` may name.
    pub plugins: Plugins,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seeds: 5,
            first_seed: 1,
            max_seeds: 20,
            claims_only: false,
            quick: false,
            jobs: parallel::cores(),
            only: Vec::new(),
            in_sample: false,
            also: Vec::new(),
            plugins: Plugins::new(),
        }
    }
}

/// One paper.
#[derive(Clone, Copy, Debug)]
pub struct Study {
    /// Name on the command line.
    pub name: &'static str,
    /// Heading of the page.
    pub title: &'static str,
    /// Authors, venue, year.
    pub citation: &'static str,
    /// What the paper proposes and how it is reproduced.
    pub about: &'static [&'static str],
    /// How to read the page.
    pub notes: &'static [&'static str],
    /// The ledger of its claims, a file of `claims/`.
    pub claims: &'static str,
    /// The figures.
    pub parts: fn(&Options) -> Result<Vec<Part>, StudyError>,
}

type Reduce = dyn Fn(&RunResult, &mut Outcome) + Send + Sync;
type Draw = dyn Fn(&Outcomes) -> Figure;
type Prepare = fn(&mut Scenario, u64);

/// One figure: what it needs and how it is drawn.
pub struct Part {
    /// Short name: `fig5`.
    pub id: &'static str,
    /// What is run. Experiments that several figures name alike are run once.
    pub experiments: Vec<Experiment>,
    /// What is measured for the paper's claims: a value for each claim of this figure and each of its profiles.
    pub measures: Vec<Measure>,
    /// Makes the figure of what the experiments left.
    pub draw: Box<Draw>,
}

impl Study {
    /// The paper's claims.
    ///
    /// # Panics
    /// Where the file is broken: a defect, and a test parses each.
    pub fn ledger(&self) -> Ledger {
        Ledger::parse(&format!("{}.toml", self.name), self.claims)
            .unwrap_or_else(|cause| panic!("{cause}"))
    }
}

/// One scenario, run with several seeds.
#[derive(Clone)]
pub struct Experiment {
    /// Unique name: `fig5/xrc-cubic`.
    pub name: String,
    /// The scenario, with nothing left to vary.
    pub scenario: Scenario,
    reduce: Arc<Reduce>,
    /// Changes the scenario for a seed.
    prepare: Option<Prepare>,
}

/// The scenario of `text`, which `name` names in errors.
///
/// # Errors
/// Where it is wrong, which is an error of this code.
pub fn read(name: &str, text: &str) -> Result<Scenario, StudyError> {
    Scenario::parse(name, text, Path::new(".")).map_err(|cause| broken(name, cause))
}

fn broken(name: &str, cause: ScenarioError) -> StudyError {
    StudyError::Scenario {
        name: name.to_owned(),
        cause: Box::new(cause),
    }
}

impl Experiment {
    /// The scenario of `text` with `changes` (keys and values as in `[vary]`), reduced by `reduce`.
    ///
    /// # Errors
    /// Where the scenario or a change is wrong: a defect of the study.
    pub fn new<'a>(
        name: impl Into<String>,
        text: &str,
        changes: impl IntoIterator<Item = (&'a str, &'a str)>,
        reduce: impl Fn(&RunResult, &mut Outcome) + Send + Sync + 'static,
    ) -> Result<Self, StudyError> {
        let name = name.into();
        let scenario = read(&name, text)?;
        Self::of(name, &scenario, changes, reduce)
    }

    /// The same of a scenario that was read already: what it read of files is not read again.
    ///
    /// # Errors
    /// Where a change is wrong, which is an error of this code.
    pub fn of<'a>(
        name: impl Into<String>,
        scenario: &Scenario,
        changes: impl IntoIterator<Item = (&'a str, &'a str)>,
        reduce: impl Fn(&RunResult, &mut Outcome) + Send + Sync + 'static,
    ) -> Result<Self, StudyError> {
        let name = name.into();
        let mut scenario = scenario
            .with_all(changes)
            .map_err(|cause| broken(&name, cause))?;
        scenario.vary.clear();
        Ok(Self {
            name,
            scenario,
            reduce: Arc::new(reduce),
            prepare: None,
        })
    }

    /// The same, each seed's scenario changed by `prepare`.
    #[must_use]
    pub fn prepared(self, prepare: fn(&mut Scenario, u64)) -> Self {
        Self {
            prepare: Some(prepare),
            ..self
        }
    }
}

/// Points that a distribution keeps of one run.
const QUANTILES: usize = 500;
/// Points that a curve keeps.
const POINTS: usize = 4000;

/// What is left of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// This run's curves are drawn: it is the first seed's.
    drawn: bool,
    /// Numbers by name; `None` where this run has none.
    values: BTreeMap<String, Option<f64>>,
    distributions: BTreeMap<String, Vec<f64>>,
    lines: BTreeMap<String, Vec<Line>>,
    tracks: BTreeMap<String, Vec<BandTrack>>,
}

impl Outcome {
    /// Keeps a number; `None`, and what is not finite, keeps that this run has none.
    pub fn value(&mut self, name: impl Into<String>, value: Option<f64>) {
        let value = value.filter(|v| v.is_finite());
        self.values.insert(name.into(), value);
    }

    /// A number kept already.
    pub fn kept(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied().flatten()
    }

    /// Keeps a distribution: 500 of its quantiles.
    pub fn distribution(&mut self, name: impl Into<String>, mut values: Vec<f64>) {
        values.sort_unstable_by(f64::total_cmp);
        let kept = if values.len() <= QUANTILES {
            values
        } else {
            (0..QUANTILES)
                .filter_map(|i| quantile(&values, (i as f64 + 0.5) / QUANTILES as f64))
                .collect()
        };
        self.distributions.insert(name.into(), kept);
    }

    /// True where curves of this run are drawn; others need not be made.
    pub const fn is_drawn(&self) -> bool {
        self.drawn
    }

    /// Keeps a curve for the plot `plot`, thinned; of a run that is not drawn, nothing.
    pub fn line(&mut self, plot: &str, mut line: Line) {
        if self.drawn {
            (line.t, line.y) = slackwater_report::thin(&line.t, &line.y, POINTS);
            self.lines.entry(plot.to_owned()).or_default().push(line);
        }
    }

    /// Keeps the states of a sender for the plot `plot`; of a run that is not drawn, nothing.
    pub fn track(&mut self, plot: &str, track: Option<BandTrack>) {
        if let Some(track) = track.filter(|_| self.drawn) {
            self.tracks.entry(plot.to_owned()).or_default().push(track);
        }
    }
}

/// What is left of the runs of one experiment, by seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runs {
    /// Name of the experiment.
    name: String,
    seeds: Vec<Outcome>,
}

impl Runs {
    fn new(name: &str, seeds: Vec<Outcome>) -> Self {
        Self {
            name: name.to_owned(),
            seeds,
        }
    }

    /// True where a run keeps the number called `name`, or says that it has none.
    pub fn keeps(&self, name: &str) -> bool {
        self.seeds.iter().any(|o| o.values.contains_key(name))
    }

    /// The number called `name`, of each seed that has it.
    ///
    /// # Panics
    /// In builds with checks, where no run keeps such a number: a figure names what its experiments leave.
    #[track_caller]
    pub fn values(&self, name: &str) -> Vec<f64> {
        self.check(self.keeps(name), "number", name);
        self.optional(name)
    }

    /// The same of a number that some experiments of a figure keep and others do not.
    pub fn optional(&self, name: &str) -> Vec<f64> {
        self.seeds.iter().filter_map(|o| o.kept(name)).collect()
    }

    /// The same of each seed, in their order.
    pub fn by_seed(&self, name: &str) -> Vec<Option<f64>> {
        self.seeds.iter().map(|o| o.kept(name)).collect()
    }

    /// True where nothing was run.
    pub const fn is_empty(&self) -> bool {
        self.seeds.is_empty()
    }

    #[track_caller]
    fn check(&self, known: bool, what: &str, name: &str) {
        debug_assert!(
            known || self.seeds.is_empty(),
            "{}: found no {what} named {name}, expected one that the experiment keeps",
            self.name
        );
    }

    /// Its mean and interval.
    #[track_caller]
    pub fn estimate(&self, name: &str) -> Option<Estimate> {
        Estimate::of(&self.values(name))
    }

    /// The mean alone; NaN where no seed has the number.
    #[track_caller]
    pub fn mean(&self, name: &str) -> f64 {
        self.estimate(name).map_or(f64::NAN, |e| e.mean)
    }

    /// The number called `name` over the number called `of` of `other`, seed by seed.
    #[track_caller]
    pub fn ratio(&self, name: &str, other: &Self, of: &str) -> Option<Estimate> {
        self.check(self.keeps(name), "number", name);
        other.check(other.keeps(of), "number", of);
        let pairs = self.seeds.iter().zip(&other.seeds);
        let ratios: Vec<f64> = pairs
            .filter_map(|(a, b)| Some(a.kept(name)? / b.kept(of)?))
            .filter(|r| r.is_finite())
            .collect();
        Estimate::of(&ratios)
    }

    /// The number called `name` less that of `other`, seed by seed.
    #[track_caller]
    pub fn difference(&self, name: &str, other: &Self) -> Option<Estimate> {
        self.check(self.keeps(name), "number", name);
        other.check(other.keeps(name), "number", name);
        let pairs = self.seeds.iter().zip(&other.seeds);
        let differences: Vec<f64> = pairs
            .filter_map(|(a, b)| Some(a.kept(name)? - b.kept(name)?))
            .collect();
        Estimate::of(&differences)
    }

    /// The largest over the seeds.
    #[track_caller]
    pub fn max(&self, name: &str) -> f64 {
        self.values(name).into_iter().fold(f64::NAN, f64::max)
    }

    /// The smallest over the seeds.
    #[track_caller]
    pub fn min(&self, name: &str) -> f64 {
        self.values(name).into_iter().fold(f64::NAN, f64::min)
    }

    /// The distribution called `name`, the seeds pooled.
    #[track_caller]
    pub fn pooled(&self, name: &str) -> Vec<f64> {
        let known = |o: &Outcome| o.distributions.contains_key(name);
        self.check(self.seeds.iter().any(known), "distribution", name);
        let mut all: Vec<f64> = self
            .seeds
            .iter()
            .filter_map(|o| o.distributions.get(name))
            .flatten()
            .copied()
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    /// The pooled distribution as a curve.
    #[track_caller]
    pub fn cdf(&self, name: &str, label: &str, controller: &str) -> Distribution {
        Distribution {
            label: label.to_owned(),
            controller: controller.to_owned(),
            side: false,
            sorted: self.pooled(name),
        }
    }

    /// Curves of the first seed for the plot `plot`.
    pub fn lines(&self, plot: &str) -> Vec<Line> {
        let drawn = self.seeds.iter().filter_map(|o| o.lines.get(plot));
        drawn.flatten().cloned().collect()
    }

    /// States of the first seed for the plot `plot`.
    pub fn tracks(&self, plot: &str) -> Vec<BandTrack> {
        let drawn = self.seeds.iter().filter_map(|o| o.tracks.get(plot));
        drawn.flatten().cloned().collect()
    }
}

/// What is left of all experiments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcomes {
    runs: BTreeMap<String, Runs>,
    /// Experiments that were looked at since [`Outcomes::looked_at`] was called.
    looked_at: RefCell<BTreeSet<String>>,
}

impl Outcomes {
    fn new(runs: BTreeMap<String, Runs>) -> Self {
        Self {
            runs,
            looked_at: RefCell::default(),
        }
    }

    /// The runs of the experiment `name`.
    ///
    /// # Panics
    /// Where no experiment has that name: a figure must list what it draws.
    pub fn get(&self, name: &str) -> &Runs {
        self.looked_at.borrow_mut().insert(name.to_owned());
        self.runs
            .get(name)
            .unwrap_or_else(|| panic!("the figure lists no experiment {name}"))
    }

    /// The experiments that were looked at since the last call.
    fn looked_at(&self) -> BTreeSet<String> {
        self.looked_at.take()
    }
}

/// A finished study.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// Name of the study.
    pub name: &'static str,
    /// The page; what the study cannot know (the command, the wall time) is empty.
    pub page: Page,
    /// Name and text of each scenario as it was run.
    pub scenarios: Vec<(String, String)>,
    /// Seeds of each experiment; those behind open claims have more.
    pub seeds: Vec<u64>,
    /// What is missing, where it was interrupted; the results are those of the seeds that are whole.
    pub partial: Option<String>,
    /// Runs.
    pub runs: usize,
    /// Simulated seconds of all runs together.
    pub simulated_s: f64,
    /// Events that the kernels handled.
    pub events: u64,
}

#[cfg(test)]
mod tests;
