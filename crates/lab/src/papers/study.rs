//! A study: experiments, each a scenario run over seeds, reduced to what figures and checks need as soon as it ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::check::Check;
use crate::metrics::{Estimate, quantile};
use crate::output::frame::{Column, Frame};
use crate::output::{OutputError, parquet};
use crate::parallel;
use crate::report::BandTrack;
use crate::report::paper::{Distribution, Drawing, Figure, Line, Page, Panel};
use crate::run::{Control, RunError, RunResult, run_scenario};
use crate::scenario::{Scenario, ScenarioError};

/// Why a study could not run.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A scenario of the study is broken: a defect.
    #[error("{name}: {source}")]
    Scenario {
        /// The experiment.
        name: String,
        /// What is wrong.
        source: Box<ScenarioError>,
    },
    /// A run failed or was interrupted.
    #[error("{name}: {source}")]
    Run {
        /// The experiment.
        name: String,
        /// Why.
        source: RunError,
    },
    /// No figure has this name.
    #[error("no figure is named \"{found}\"; known are {known}")]
    NoFigure {
        /// The name asked for.
        found: String,
        /// The names that exist.
        known: String,
    },
}

/// What of a study is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seeds of each experiment.
    pub seeds: u64,
    /// The first of them.
    pub first_seed: u64,
    /// Shorter runs: a look, not a measurement.
    pub quick: bool,
    /// Threads.
    pub jobs: usize,
    /// Figures to make, by their short names; empty for all.
    pub only: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seeds: 5,
            first_seed: 1,
            quick: false,
            jobs: parallel::cores(),
            only: Vec::new(),
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
    /// The figures.
    pub parts: fn(&Options) -> Result<Vec<Part>, StudyError>,
}

type Reduce = dyn Fn(&RunResult, &mut Outcome) + Send + Sync;
type Draw = dyn Fn(&Outcomes) -> Figure;

/// One figure: what it needs and how it is drawn.
pub struct Part {
    /// Short name: `fig5`.
    pub id: &'static str,
    /// What is run. Experiments that several figures name alike are run once.
    pub experiments: Vec<Experiment>,
    /// Makes the figure of what the experiments left.
    pub draw: Box<Draw>,
}

/// One scenario, run with several seeds.
#[derive(Clone)]
pub struct Experiment {
    /// Unique name: `fig5/xrc-cubic`.
    pub name: String,
    /// The scenario, with nothing left to vary.
    pub scenario: Scenario,
    reduce: Arc<Reduce>,
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
        let bad = |source| StudyError::Scenario {
            name: name.clone(),
            source: Box::new(source),
        };
        let mut scenario = Scenario::parse(&name, text, Path::new(".")).map_err(bad)?;
        for (key, value) in changes {
            scenario = scenario.with(key, value).map_err(bad)?;
        }
        scenario.vary.clear();
        Ok(Self {
            name,
            scenario,
            reduce: Arc::new(reduce),
        })
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
    values: BTreeMap<String, f64>,
    distributions: BTreeMap<String, Vec<f64>>,
    lines: BTreeMap<String, Vec<Line>>,
    tracks: BTreeMap<String, Vec<BandTrack>>,
}

impl Outcome {
    /// Keeps a number; `None` keeps nothing.
    pub fn value(&mut self, name: impl Into<String>, value: Option<f64>) {
        if let Some(value) = value.filter(|v| v.is_finite()) {
            self.values.insert(name.into(), value);
        }
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
            (line.t, line.y) = crate::report::thin(&line.t, &line.y, POINTS);
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
pub struct Runs(Vec<Outcome>);

impl Runs {
    /// The number called `name`, of each seed that has it.
    pub fn values(&self, name: &str) -> Vec<f64> {
        self.0
            .iter()
            .filter_map(|o| o.values.get(name).copied())
            .collect()
    }

    /// Its mean and interval.
    pub fn estimate(&self, name: &str) -> Option<Estimate> {
        Estimate::of(&self.values(name))
    }

    /// The mean alone; NaN where no seed has the number.
    pub fn mean(&self, name: &str) -> f64 {
        self.estimate(name).map_or(f64::NAN, |e| e.mean)
    }

    /// The number called `name` over the number called `of` of `other`, seed by seed.
    pub fn ratio(&self, name: &str, other: &Self, of: &str) -> Option<Estimate> {
        let pairs = self.0.iter().zip(&other.0);
        let ratios: Vec<f64> = pairs
            .filter_map(|(a, b)| Some(a.values.get(name)? / b.values.get(of)?))
            .filter(|r| r.is_finite())
            .collect();
        Estimate::of(&ratios)
    }

    /// The largest over the seeds.
    pub fn max(&self, name: &str) -> f64 {
        self.values(name).into_iter().fold(f64::NAN, f64::max)
    }

    /// The smallest over the seeds.
    pub fn min(&self, name: &str) -> f64 {
        self.values(name).into_iter().fold(f64::NAN, f64::min)
    }

    /// The distribution called `name`, the seeds pooled.
    pub fn pooled(&self, name: &str) -> Vec<f64> {
        let mut all: Vec<f64> = self
            .0
            .iter()
            .filter_map(|o| o.distributions.get(name))
            .flatten()
            .copied()
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    /// The pooled distribution as a curve.
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
        let drawn = self.0.iter().filter_map(|o| o.lines.get(plot));
        drawn.flatten().cloned().collect()
    }

    /// States of the first seed for the plot `plot`.
    pub fn tracks(&self, plot: &str) -> Vec<BandTrack> {
        let drawn = self.0.iter().filter_map(|o| o.tracks.get(plot));
        drawn.flatten().cloned().collect()
    }
}

/// What is left of all experiments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcomes(BTreeMap<String, Runs>);

impl Outcomes {
    /// The runs of the experiment `name`.
    ///
    /// # Panics
    /// Where no experiment has that name: a figure must list what it draws.
    pub fn get(&self, name: &str) -> &Runs {
        self.0
            .get(name)
            .unwrap_or_else(|| panic!("the figure lists no experiment {name}"))
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
    /// Seeds.
    pub seeds: Vec<u64>,
    /// Runs.
    pub runs: usize,
    /// Simulated seconds of all runs together.
    pub simulated_s: f64,
    /// Events that the kernels handled.
    pub events: u64,
}

#[derive(Serialize)]
struct FigureCheck<'a> {
    figure: &'a str,
    #[serde(flatten)]
    check: &'a Check,
}

/// A study's checks as JSON sees them.
#[derive(Serialize)]
struct Verdicts<'a> {
    paper: &'a str,
    title: &'a str,
    version: &'static str,
    seeds: &'a [u64],
    tested: usize,
    missed: usize,
    checks: Vec<FigureCheck<'a>>,
}

impl Study {
    /// The figures that `options` ask for.
    ///
    /// # Errors
    /// Where a scenario is broken or a name in `options.only` is none.
    pub fn plan(&self, options: &Options) -> Result<Vec<Part>, StudyError> {
        let parts = (self.parts)(options)?;
        for name in &options.only {
            if !parts.iter().any(|p| p.id == name) {
                let known: Vec<&str> = parts.iter().map(|p| p.id).collect();
                return Err(StudyError::NoFigure {
                    found: name.clone(),
                    known: known.join(", "),
                });
            }
        }
        let wanted = |p: &Part| options.only.is_empty() || options.only.iter().any(|o| o == p.id);
        Ok(parts.into_iter().filter(wanted).collect())
    }

    /// Runs the study. `progress` hears, from any thread, simulated seconds done and to do in all.
    ///
    /// # Errors
    /// Where a scenario is broken or a run fails or is interrupted.
    pub fn run(
        &self,
        options: &Options,
        progress: &(dyn Fn(f64, f64) -> Control + Sync),
    ) -> Result<Reproduction, StudyError> {
        let parts = self.plan(options)?;
        let mut experiments: BTreeMap<&str, &Experiment> = BTreeMap::new();
        for e in parts.iter().flat_map(|p| &p.experiments) {
            if let Some(other) = experiments.insert(&e.name, e) {
                assert!(
                    other.scenario == e.scenario,
                    "two experiments are named {}",
                    e.name
                );
            }
        }
        let seeds: Vec<u64> = (0..options.seeds.max(1))
            .map(|k| options.first_seed + k)
            .collect();
        let mut jobs: Vec<(&Experiment, u64)> = experiments
            .values()
            .flat_map(|e| seeds.iter().map(|s| (*e, *s)))
            .collect();
        // The longest first: the last to end then ends soon after the others.
        jobs.sort_by_key(|(e, _)| core::cmp::Reverse(cost(&e.scenario)));
        let total: f64 = jobs
            .iter()
            .map(|(e, _)| e.scenario.duration.as_secs_f64())
            .sum();
        let done = std::sync::Mutex::new(vec![0.0; jobs.len()]);
        let tell = |i: usize, share: f64| {
            let seconds = share * jobs[i].0.scenario.duration.as_secs_f64();
            let sum = done
                .lock()
                .map_or(0.0, |mut done: std::sync::MutexGuard<'_, Vec<f64>>| {
                    done[i] = seconds;
                    done.iter().sum()
                });
            progress(sum, total)
        };
        let results = parallel::map(jobs.len(), options.jobs, |i| {
            let (experiment, seed) = jobs[i];
            let mut scenario = experiment.scenario.clone();
            scenario.seed = seed;
            let run =
                run_scenario(&scenario, seed, &mut |share| tell(i, share)).map_err(|source| {
                    StudyError::Run {
                        name: experiment.name.clone(),
                        source,
                    }
                })?;
            let mut outcome = Outcome {
                drawn: seed == options.first_seed,
                ..Outcome::default()
            };
            (experiment.reduce)(&run, &mut outcome);
            Ok((run.events, outcome))
        });
        let mut by_name: BTreeMap<String, Vec<(u64, Outcome)>> = BTreeMap::new();
        let mut events = 0;
        for (result, (experiment, seed)) in results.into_iter().zip(&jobs) {
            let (n, outcome) = result?;
            events += n;
            let runs = by_name.entry(experiment.name.clone()).or_default();
            runs.push((*seed, outcome));
        }
        let outcomes = Outcomes(
            by_name
                .into_iter()
                .map(|(name, mut runs)| {
                    runs.sort_by_key(|r| r.0);
                    (name, Runs(runs.into_iter().map(|r| r.1).collect()))
                })
                .collect(),
        );
        let figures = parts
            .iter()
            .map(|part| {
                let mut figure = (part.draw)(&outcomes);
                part.id.clone_into(&mut figure.id);
                figure.scenarios = part.experiments.iter().map(|e| e.name.clone()).collect();
                for panel in &mut figure.panels {
                    panel.id = format!("{}-{}", part.id, panel.id);
                }
                figure
            })
            .collect();
        let text = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        let page = Page {
            title: self.title.to_owned(),
            citation: self.citation.to_owned(),
            about: text(self.about),
            seed_note: match seeds.as_slice() {
                [one] => format!("{one} (no intervals)"),
                [first, .., last] => format!("{first} to {last}"),
                [] => String::new(),
            },
            generated_by: concat!("slackwater ", env!("CARGO_PKG_VERSION")).to_owned(),
            notes: text(self.notes),
            figures,
            ..Page::default()
        };
        Ok(Reproduction {
            name: self.name,
            page,
            scenarios: experiments
                .values()
                .map(|e| (e.name.clone(), e.scenario.to_toml()))
                .collect(),
            seeds,
            runs: jobs.len(),
            simulated_s: total,
            events,
        })
    }
}

/// About how long a run takes: simulated time by the number of flows.
fn cost(scenario: &Scenario) -> u64 {
    scenario.duration.as_nanos() / 1_000_000 * (1 + scenario.expanded_flows().len() as u64)
}

impl Reproduction {
    /// The checks as JSON: what was asked, what came out, which figure it belongs to.
    pub fn json(&self) -> serde_json::Value {
        let checks = self.page.figures.iter().flat_map(|f| {
            f.checks.iter().map(|check| FigureCheck {
                figure: &f.id,
                check,
            })
        });
        let all = || self.page.checks();
        serde_json::to_value(Verdicts {
            paper: self.name,
            title: &self.page.title,
            version: env!("CARGO_PKG_VERSION"),
            seeds: &self.seeds,
            tested: all().filter(|c| c.tested).count(),
            missed: all().filter(|c| c.misses()).count(),
            checks: checks.collect(),
        })
        .expect("numbers and texts always make JSON")
    }

    /// Writes `index.html`, `checks.json`, one Parquet file a plot in `data/` and the scenarios in `scenarios/`.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, OutputError> {
        let file = |path: &Path, text: &str| {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(OutputError::file(parent))?;
            }
            std::fs::write(path, text).map_err(OutputError::file(path))
        };
        for (name, text) in &self.scenarios {
            let path = folder
                .join("scenarios")
                .join(format!("{}.toml", name.replace('/', "-")));
            file(&path, text)?;
        }
        let data = folder.join("data");
        std::fs::create_dir_all(&data).map_err(OutputError::file(&data))?;
        for panel in self.page.figures.iter().flat_map(|f| &f.panels) {
            if let Some(frame) = frame(panel) {
                let path = data.join(format!("{}.parquet", panel.id));
                parquet::write(&path, std::iter::once(frame))?;
            }
        }
        let mut json = serde_json::to_string_pretty(&self.json()).unwrap_or_default();
        json.push('\n');
        file(&folder.join("checks.json"), &json)?;
        let page = folder.join("index.html");
        file(&page, &crate::report::paper::render(&self.page))?;
        Ok(page)
    }
}

/// Collects texts out of few.
#[derive(Default)]
struct Words {
    words: Vec<String>,
    codes: Vec<u32>,
}

impl Words {
    fn push(&mut self, word: &str, times: usize) {
        let at = self.words.iter().position(|w| w == word);
        let at = at.unwrap_or_else(|| {
            self.words.push(word.to_owned());
            self.words.len() - 1
        });
        self.codes.extend(core::iter::repeat_n(at as u32, times));
    }

    fn column(self) -> Column {
        Column::Text {
            codes: self.codes,
            words: self.words.into(),
        }
    }
}

/// The numbers behind a plot; tables have none of their own.
fn frame(panel: &Panel) -> Option<Frame> {
    let (mut curves, mut controllers) = (Words::default(), Words::default());
    let columns = match &panel.drawing {
        Drawing::Time { lines, .. } => {
            let (mut t, mut y) = (vec![], vec![]);
            for line in lines {
                curves.push(&line.label, line.t.len());
                controllers.push(&line.controller, line.t.len());
                t.extend_from_slice(&line.t);
                y.extend_from_slice(&line.y);
            }
            vec![
                ("curve", curves.column()),
                ("controller", controllers.column()),
                ("time_s", Column::Float(t)),
                ("value", Column::Float(y)),
            ]
        }
        Drawing::Cdf { lines, .. } => {
            let (mut x, mut p) = (vec![], vec![]);
            for line in lines {
                let n = line.sorted.len();
                curves.push(&line.label, n);
                controllers.push(&line.controller, n);
                x.extend_from_slice(&line.sorted);
                p.extend((1..=n).map(|i| i as f64 / n as f64));
            }
            vec![
                ("curve", curves.column()),
                ("controller", controllers.column()),
                ("value", Column::Float(x)),
                ("share_at_or_below", Column::Float(p)),
            ]
        }
        Drawing::Bars { bars, .. } => {
            let mut groups = Words::default();
            for bar in bars {
                groups.push(&bar.group, 1);
                curves.push(&bar.label, 1);
                controllers.push(&bar.controller, 1);
            }
            let number = |f: fn(&crate::report::paper::Bar) -> f64| {
                Column::Float(bars.iter().map(f).collect())
            };
            vec![
                ("group", groups.column()),
                ("label", curves.column()),
                ("controller", controllers.column()),
                ("mean", number(|b| b.value.mean)),
                (
                    "half_width_95",
                    number(|b| b.value.half_width.unwrap_or(f64::NAN)),
                ),
            ]
        }
        Drawing::Scatter(trade) => {
            for p in &trade.points {
                curves.push(&p.label, 1);
                controllers.push(&p.controller, 1);
            }
            let number = |f: fn(&crate::report::TradeOffPoint) -> f64| {
                Column::Float(trade.points.iter().map(f).collect())
            };
            vec![
                ("label", curves.column()),
                ("controller", controllers.column()),
                ("x", number(|p| p.x.mean)),
                ("y", number(|p| p.y.mean)),
            ]
        }
        Drawing::Table(_) => return None,
    };
    Some(Frame { columns })
}

#[cfg(test)]
mod tests;
