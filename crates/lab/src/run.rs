//! Runs scenarios.

use std::sync::{Arc, Mutex};
use std::time::Duration as Wall;

use slackwater_core::{Duration, Instant, Recorder};
use slackwater_results::metrics::summary::{RunSummary, summarize};
use slackwater_results::record::slots::{SlotRows, SlotTap};
use slackwater_results::record::{RecorderConfig, RunRecorder};
use slackwater_scenario::build::{self, BuildError, Hosts, Layout};
use slackwater_scenario::{Scenario, Variant};
use slackwater_signal::Observer;
use slackwater_sim::{NoClock, World};

use crate::parallel;

/// What a progress listener wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// End the run; nothing of it is kept.
    Stop,
    /// End the run here, and keep what it has: all records and metrics of its first part. Without a measured part it is as
    /// [`Control::Stop`].
    Keep,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The world could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A progress listener said stop.
    #[error("interrupted")]
    Interrupted,
}

/// A run and what it left.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The scenario as it ran.
    pub scenario: Scenario,
    /// What distinguishes this run from the others of a comparison: keys of `[vary]` and their values.
    pub labels: Vec<(String, String)>,
    /// The seed.
    pub seed: u64,
    /// Records.
    pub records: RunRecorder,
    /// Metrics.
    pub summary: RunSummary,
    /// Where the parts are.
    pub layout: Layout,
    /// Events that the kernel handled.
    pub events: u64,
}

/// Wall time between two progress reports.
const REPORT_EVERY: Wall = Wall::from_millis(20);

/// A run before its first event.
pub struct Prepared<R> {
    /// The world.
    pub world: World<R>,
    /// Where its parts are.
    pub layout: Layout,
    /// Rows of grants, where the scenario asks for them.
    pub rows: Option<Arc<Mutex<SlotRows>>>,
}

/// Builds the world of `scenario` with `seed` and `hosts`. `wrap` may put something around the recorder.
///
/// # Errors
/// Where the world cannot be built.
pub fn prepare<R: Recorder>(
    scenario: &Scenario,
    seed: u64,
    hosts: Hosts,
    wrap: impl FnOnce(RunRecorder) -> R,
) -> Result<Prepared<R>, BuildError> {
    let recorder = |layout: &Layout| {
        let config = RecorderConfig::of(scenario, layout.bottleneck, layout.wired);
        wrap(RunRecorder::new(RecorderConfig {
            up_node: layout.up_node,
            ..config
        }))
    };
    let record = &scenario.record;
    let tap = ((record.slots || record.perfetto) && scenario.cell().is_some())
        .then(|| SlotTap::new(scenario.record.max_rows));
    let (observer, rows) = tap.map_or((None, None), |(tap, rows)| {
        let observer: Box<dyn Observer + Send> = Box::new(tap);
        (Some(observer), Some(rows))
    });
    let (world, layout) = build::build_with(scenario, seed, hosts, observer, recorder)?;
    Ok(Prepared {
        world,
        layout,
        rows,
    })
}

impl<R> Prepared<R> {
    /// A run whose parts a driver of its own has taken apart.
    pub fn resume(world: World<R>, layout: Layout, rows: Option<Arc<Mutex<SlotRows>>>) -> Self {
        Self {
            world,
            layout,
            rows,
        }
    }

    /// The result of the run, once it is over. `unwrap` undoes what [`prepare`] put around the recorder.
    pub fn conclude(
        self,
        scenario: &Scenario,
        seed: u64,
        unwrap: impl FnOnce(R) -> RunRecorder,
    ) -> RunResult
    where
        R: Recorder,
    {
        let events = self.world.events();
        let mut records = unwrap(self.world.into_recorder());
        if let Some(rows) = self.rows {
            // The world is gone, and its tap with it.
            records.slots = rows
                .lock()
                .map(|mut r| core::mem::take(&mut *r))
                .unwrap_or_default();
        }
        let mut summary = summarize(&records);
        summary.identify(scenario, &[], seed);
        RunResult {
            scenario: scenario.clone(),
            labels: Vec::new(),
            seed,
            records,
            summary,
            layout: self.layout,
            events,
        }
    }
}

/// Runs `scenario` with `seed`. `progress` hears the share of simulated time that is done, in [0, 1], each 20 ms or so.
///
/// # Errors
/// Where the world cannot be built, or where `progress` says stop.
pub fn run_scenario(
    scenario: &Scenario,
    seed: u64,
    progress: &mut dyn FnMut(f64) -> Control,
) -> Result<RunResult, RunError> {
    run_watched(scenario, seed, &mut |share, _| progress(share))
}

/// As [`run_scenario`]; `progress` sees what was recorded so far as well.
///
/// # Errors
/// As [`run_scenario`].
pub fn run_watched(
    scenario: &Scenario,
    seed: u64,
    progress: &mut dyn FnMut(f64, &RunRecorder) -> Control,
) -> Result<RunResult, RunError> {
    run_part(scenario, seed, scenario.duration, progress)
}

/// As [`run_watched`], of the first `length` of the scenario alone: what a run that was ended there has kept.
///
/// # Errors
/// As [`run_scenario`].
pub fn run_part(
    scenario: &Scenario,
    seed: u64,
    length: Duration,
    progress: &mut dyn FnMut(f64, &RunRecorder) -> Control,
) -> Result<RunResult, RunError> {
    let mut run = prepare(scenario, seed, Hosts::Simulated, |recorder| recorder)?;
    let world = &mut run.world;
    let end = Instant::ZERO + length.min(scenario.duration);
    // The stride follows the speed; how a run is cut into strides does not change it.
    let mut stride = Duration::from_millis(1);
    let mut last = std::time::Instant::now();
    while world.now() < end {
        world.run_until((world.now() + stride).min(end), &mut NoClock);
        let took = last.elapsed();
        if took < REPORT_EVERY / 2 {
            stride = stride * 2;
        } else if took > REPORT_EVERY * 2 {
            stride = (stride / 2).max(Duration::from_nanos(1_000));
        }
        if took >= REPORT_EVERY / 2 || world.now() >= end {
            last = std::time::Instant::now();
            let share = world.now().as_secs_f64() / end.as_secs_f64();
            match progress(share, world.recorder()) {
                Control::Continue => {}
                Control::Keep if world.now() > Instant::ZERO + scenario.warmup => break,
                Control::Keep | Control::Stop => return Err(RunError::Interrupted),
            }
        }
    }
    let ended = world.now();
    Ok(run.conclude(scenario, seed, |mut recorder| {
        if ended < Instant::ZERO + scenario.duration {
            recorder.cut(ended);
        }
        recorder
    }))
}

/// Runs all `variants` on up to `jobs` threads; results come in the order of `variants`. `progress` hears the index of
/// a run and its share done, from any thread.
///
/// # Errors
/// The first error in the order of `variants`.
pub fn run_variants(
    variants: &[Variant],
    jobs: usize,
    progress: &(dyn Fn(usize, f64) -> Control + Sync),
) -> Result<Vec<RunResult>, RunError> {
    run_each(variants, jobs, progress).into_iter().collect()
}

/// As [`run_variants`], with what became of each: where `progress` says stop, those that ended before are there. The first seed is run with
/// all that varies, then the second: what is stopped early has whole seeds.
pub fn run_each(
    variants: &[Variant],
    jobs: usize,
    progress: &(dyn Fn(usize, f64) -> Control + Sync),
) -> Vec<Result<RunResult, RunError>> {
    let mut seeds: Vec<u64> = Vec::new();
    let mut order: Vec<(usize, usize)> = Vec::with_capacity(variants.len());
    for (i, v) in variants.iter().enumerate() {
        let at = seeds.iter().position(|s| *s == v.seed);
        let at = at.unwrap_or_else(|| {
            seeds.push(v.seed);
            seeds.len() - 1
        });
        order.push((at, i));
    }
    order.sort_unstable();
    let results = parallel::map(variants.len(), jobs, |k| {
        let i = order[k].1;
        let v = &variants[i];
        let mut result = run_scenario(&v.scenario, v.seed, &mut |share| progress(i, share))?;
        result.summary.identify(&v.scenario, &v.labels, v.seed);
        result.labels.clone_from(&v.labels);
        Ok(result)
    });
    let mut sorted: Vec<_> = order.iter().map(|o| o.1).zip(results).collect();
    sorted.sort_unstable_by_key(|r| r.0);
    sorted.into_iter().map(|r| r.1).collect()
}
