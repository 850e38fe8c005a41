//! Runs a study's experiments on all cores.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use slackwater_lab::parallel;
use slackwater_lab::run::{Control, RunError, run_scenario};
use slackwater_report::paper::{Figure, Page};
use slackwater_scenario::Scenario;

use crate::ledger::Ledger;

use super::also::Comparisons;
use super::claims::{Judged, judge};
use super::{Experiment, Options, Outcome, Outcomes, Part, Reproduction, Runs, Study, StudyError};

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

    /// Runs the experiments. `progress` is called from any thread with the simulated seconds done and to do in all.
    ///
    /// Where `progress` stops it, it keeps the seeds of which every run has ended, and says what is missing.
    ///
    /// # Errors
    /// Where a scenario is broken, a run fails, or it is interrupted before one seed is whole.
    pub fn run(
        &self,
        options: &Options,
        progress: &(dyn Fn(f64, f64) -> Control + Sync),
    ) -> Result<Reproduction, StudyError> {
        let parts = self.plan(options)?;
        let also = Comparisons::new(&parts, options)?;
        let ledger = self.ledger();
        let mut experiments: BTreeMap<&str, &Experiment> = BTreeMap::new();
        let all = parts.iter().flat_map(|p| &p.experiments);
        for e in all.chain(also.experiments()) {
            if let Some(other) = experiments.insert(&e.name, e) {
                assert!(
                    other.scenario == e.scenario,
                    "two experiments are named {}",
                    e.name
                );
            }
        }
        if options.claims_only {
            let needed = needed(&ledger, &parts, &experiments);
            experiments.retain(|name, _| needed.contains(*name));
        }

        let mut pool = Pool::new(options, &also, progress);
        let wanted = options.seeds.max(1);
        let missing = pool.run(experiments.values().map(|e| (*e, 0..wanted)))?;
        let seeds = missing.unwrap_or(wanted);
        let mut partial = missing.map(|n| format!("interrupted with {n} of {wanted} seeds whole"));
        if let (0, Some(name)) = (seeds, experiments.keys().next()) {
            return Err(StudyError::Run {
                name: (*name).to_owned(),
                cause: RunError::Interrupted,
            });
        }
        // Figures show the same seeds of every experiment.
        let outcomes = pool.outcomes();
        let figures = if options.claims_only {
            vec![]
        } else {
            parts.iter().map(|part| figure(part, &outcomes)).collect()
        };

        let mut judged = judge(&ledger, &parts, &outcomes);
        let mut have = seeds;
        while partial.is_none() && have < options.max_seeds && judged.iter().any(Judged::is_open) {
            let open = judged.iter().filter(|j| j.is_open());
            let names: BTreeSet<&String> = open.flat_map(|j| &j.experiments).collect();
            let more = (have + seeds).min(options.max_seeds);
            let missing = names.iter().map(|name| {
                let experiment = experiments[name.as_str()];
                (experiment, pool.seeds_of(name)..more)
            });
            let missing: Vec<_> = missing.collect();
            let stopped = pool.run(missing)?;
            have = stopped.map_or(more, |n| n.max(have));
            partial = stopped.map(|_| {
                format!("interrupted with {have} seeds whole, before every claim was decided")
            });
            judged = judge(&ledger, &parts, &pool.outcomes());
        }

        let mut figures: Vec<Figure> = figures;
        for figure in &mut figures {
            let claims = judged.iter().filter(|j| j.figure == figure.id);
            let claims = claims.map(|j| j.check.clone());
            figure.checks.splice(0..0, claims);
        }
        if !options.claims_only {
            figures.extend(also.draw(&outcomes));
        }
        let names: BTreeSet<&str> = parts.iter().map(|p| p.id).collect();
        let left_out = ledger
            .claims
            .iter()
            .filter(|c| !names.contains(c.figure.as_str()))
            .count();
        let text = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        let said = partial
            .iter()
            .map(|missing| format!("Partial results: {missing}."));
        let page = Page {
            title: self.title.to_owned(),
            citation: self.citation.to_owned(),
            about: text(self.about),
            seed_note: seed_note(options.first_seed, seeds, have),
            generated_by: concat!("slackwater ", env!("CARGO_PKG_VERSION")).to_owned(),
            notes: said.chain(text(self.notes)).collect(),
            claims: judged
                .into_iter()
                .map(|j| (j.figure.to_owned(), j.check))
                .collect(),
            left_out,
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
            seeds: (0..seeds).map(|k| options.first_seed + k).collect(),
            partial,
            runs: pool.runs,
            simulated_s: pool.simulated_s,
            events: pool.events,
        })
    }
}

fn seed_note(first: u64, each: u64, most: u64) -> String {
    let last = first + each - 1;
    let more = if most > each {
        format!("; to {} where a claim was open", first + most - 1)
    } else {
        String::new()
    };
    if each == 1 {
        format!("{first} (no intervals){more}")
    } else {
        format!("{first} to {last}{more}")
    }
}

/// The figure of `part`.
fn figure(part: &Part, outcomes: &Outcomes) -> Figure {
    let mut figure = (part.draw)(outcomes);
    part.id.clone_into(&mut figure.id);
    figure.scenarios = part.experiments.iter().map(|e| e.name.clone()).collect();
    for panel in &mut figure.panels {
        panel.id = format!("{}-{}", part.id, panel.id);
    }
    figure
}

/// The experiments that the claims' measures look at.
fn needed(
    ledger: &Ledger,
    parts: &[Part],
    experiments: &BTreeMap<&str, &Experiment>,
) -> BTreeSet<String> {
    let nothing = experiments
        .keys()
        .map(|name| ((*name).to_owned(), Runs::default()))
        .collect();
    judge(ledger, parts, &Outcomes::new(nothing))
        .into_iter()
        .flat_map(|j| j.experiments)
        .collect()
}

/// The runs that are done, and what is left of them.
struct Pool<'a> {
    options: &'a Options,
    also: &'a Comparisons,
    progress: &'a (dyn Fn(f64, f64) -> Control + Sync),
    /// By experiment, the outcomes of its first seeds.
    outcomes: BTreeMap<String, Vec<Outcome>>,
    /// Runs done.
    runs: usize,
    /// Simulated seconds done.
    simulated_s: f64,
    /// Events handled.
    events: u64,
}

impl<'a> Pool<'a> {
    const fn new(
        options: &'a Options,
        also: &'a Comparisons,
        progress: &'a (dyn Fn(f64, f64) -> Control + Sync),
    ) -> Self {
        Self {
            options,
            also,
            progress,
            outcomes: BTreeMap::new(),
            runs: 0,
            simulated_s: 0.0,
            events: 0,
        }
    }

    /// How many seeds of the experiment `name` are done.
    fn seeds_of(&self, name: &str) -> u64 {
        self.outcomes.get(name).map_or(0, |o| o.len() as u64)
    }

    fn outcomes(&self) -> Outcomes {
        let runs = self.outcomes.iter();
        let runs = runs.map(|(name, o)| (name.clone(), Runs::new(name, o.clone())));
        Outcomes::new(runs.collect())
    }

    /// Runs each experiment with its seeds, counted from the first, on all threads. Where it is stopped, it keeps what ended of the
    /// seeds before the first that is not whole, and returns that one.
    fn run<'e>(
        &mut self,
        wanted: impl IntoIterator<Item = (&'e Experiment, Range<u64>)>,
    ) -> Result<Option<u64>, StudyError> {
        let mut jobs: Vec<(&Experiment, u64)> = wanted
            .into_iter()
            .flat_map(|(e, seeds)| seeds.map(move |k| (e, k)))
            .collect();
        // Seed by seed, so that an early end leaves whole ones; of a seed the longest first, so that the last to end ends soon after the
        // others.
        jobs.sort_by_key(|(e, k)| (*k, core::cmp::Reverse(cost(&e.scenario))));
        let seconds = |(e, _): &(&Experiment, u64)| e.scenario.duration.as_secs_f64();
        let total = self.simulated_s + jobs.iter().map(seconds).sum::<f64>();
        let done = Mutex::new(vec![0.0; jobs.len()]);
        let before = self.simulated_s;
        let report = |i: usize, share: f64| {
            let sum = done
                .lock()
                .map_or(0.0, |mut done: MutexGuard<'_, Vec<f64>>| {
                    done[i] = share * seconds(&jobs[i]);
                    done.iter().sum()
                });
            (self.progress)(before + sum, total)
        };
        // Where one run cannot be made, the others need not be.
        let failed = AtomicBool::new(false);
        let mut results = parallel::map(jobs.len(), self.options.jobs, |i| {
            let (experiment, k) = jobs[i];
            self.one(experiment, k, &mut |share| {
                if failed.load(Ordering::Relaxed) {
                    return Control::Stop;
                }
                report(i, share)
            })
            .inspect_err(|_| failed.store(true, Ordering::Relaxed))
        });
        // A run that failed explains more than those that were stopped for its sake.
        let is_cause = |r: &Result<(u64, Outcome), StudyError>| matches!(r, Err(StudyError::Run { cause, .. }) if *cause != RunError::Interrupted);
        if let Some(at) = results.iter().position(is_cause) {
            results.swap_remove(at)?;
        }

        let stopped = results.iter().zip(&jobs).filter(|(r, _)| r.is_err());
        let missing = stopped.map(|(_, (_, k))| *k).min();
        let mut made: BTreeMap<&str, Vec<(u64, Outcome)>> = BTreeMap::new();
        for (result, job) in results.into_iter().zip(&jobs) {
            let (experiment, k) = job;
            let Ok((events, outcome)) = result else {
                continue;
            };
            if missing.is_some_and(|first| *k >= first) {
                continue;
            }
            self.runs += 1;
            self.simulated_s += seconds(job);
            self.events += events;
            made.entry(&experiment.name)
                .or_default()
                .push((*k, outcome));
        }
        for (name, mut runs) in made {
            runs.sort_by_key(|r| r.0);
            let all = self.outcomes.entry(name.to_owned()).or_default();
            all.extend(runs.into_iter().map(|r| r.1));
        }
        Ok(missing)
    }

    /// The run of `experiment` with the seed `k`, counted from the first.
    fn one(
        &self,
        experiment: &Experiment,
        k: u64,
        report: &mut dyn FnMut(f64) -> Control,
    ) -> Result<(u64, Outcome), StudyError> {
        let seed = self.options.first_seed + k;
        let mut scenario = experiment.scenario.clone();
        scenario.seed = seed;
        if let Some(prepare) = &experiment.prepare {
            prepare(&mut scenario, seed);
        }
        let run = run_scenario(&scenario, seed, report).map_err(|cause| StudyError::Run {
            name: experiment.name.clone(),
            cause,
        })?;
        let mut outcome = Outcome {
            drawn: k == 0 && !self.options.claims_only,
            ..Outcome::default()
        };
        (experiment.reduce)(&run, &mut outcome);
        self.also.reduce(&experiment.name, &run, &mut outcome);
        Ok((run.events, outcome))
    }
}

/// About how long a run takes: simulated time by the number of flows.
fn cost(scenario: &Scenario) -> u64 {
    scenario.duration.as_nanos() / 1_000_000 * (1 + scenario.expanded_flows().len() as u64)
}
