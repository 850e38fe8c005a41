//! Runs a study's experiments on all cores.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use slackwater_lab::parallel;
use slackwater_lab::run::{Control, RunError, run_scenario};
use slackwater_report::paper::{Figure, Page};
use slackwater_scenario::Scenario;

use super::also::Comparisons;
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
        let also = Comparisons::new(&parts, options)?;
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
        // Where one run cannot be made, the others need not be.
        let failed = AtomicBool::new(false);
        let mut results = parallel::map(jobs.len(), options.jobs, |i| {
            let (experiment, seed) = jobs[i];
            let mut scenario = experiment.scenario.clone();
            scenario.seed = seed;
            if let Some(prepare) = &experiment.prepare {
                prepare(&mut scenario, seed);
            }
            let run = run_scenario(&scenario, seed, &mut |share| {
                if failed.load(Ordering::Relaxed) {
                    return Control::Stop;
                }
                tell(i, share)
            })
            .map_err(|cause| {
                failed.store(true, Ordering::Relaxed);
                let name = experiment.name.clone();
                StudyError::Run { name, cause }
            })?;
            let mut outcome = Outcome {
                drawn: seed == options.first_seed,
                ..Outcome::default()
            };
            (experiment.reduce)(&run, &mut outcome);
            also.reduce(&experiment.name, &run, &mut outcome);
            Ok((run.events, outcome))
        });
        // A run that failed explains more than those that were stopped for its sake.
        let is_cause = |r: &Result<(u64, Outcome), StudyError>| matches!(r, Err(StudyError::Run { cause, .. }) if *cause != RunError::Interrupted);
        if let Some(at) = results.iter().position(is_cause) {
            results.swap_remove(at)?;
        }
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
        let mut figures: Vec<Figure> = parts
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
        figures.extend(also.draw(&outcomes));
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
