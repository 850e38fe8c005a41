//! Runs scenarios.

use std::time::Duration as Wall;

use slackwater_core::{Duration, Instant};
use slackwater_signal::Observer;
use slackwater_sim::NoClock;

use crate::build::{self, BuildError, Layout};
use crate::metrics::summary::{RunSummary, summarize};
use crate::parallel;
use crate::record::slots::SlotTap;
use crate::record::{RecorderConfig, RunRecorder};
use crate::scenario::{Scenario, Variant};

/// What a progress listener wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// End the run; nothing of it is kept.
    Stop,
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

/// Runs `scenario` with `seed`. `progress` hears the share of simulated time that is done, in [0, 1], each 20 ms or so.
///
/// # Errors
/// Where the world cannot be built, or where `progress` says stop.
pub fn run_scenario(
    scenario: &Scenario,
    seed: u64,
    progress: &mut dyn FnMut(f64) -> Control,
) -> Result<RunResult, RunError> {
    let recorder = |layout: &Layout| {
        let config = RecorderConfig::of(scenario, layout.bottleneck, layout.wired);
        RunRecorder::new(RecorderConfig {
            up_node: layout.up_node,
            ..config
        })
    };
    let tap = (scenario.record.slots && scenario.cell().is_some())
        .then(|| SlotTap::new(scenario.record.max_rows));
    let (observer, rows) = tap.map_or((None, None), |(tap, rows)| {
        let observer: Box<dyn Observer + Send> = Box::new(tap);
        (Some(observer), Some(rows))
    });
    let (mut world, layout) = build::build(scenario, seed, observer, recorder)?;
    let end = Instant::ZERO + scenario.duration;
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
            if progress(world.now().as_secs_f64() / end.as_secs_f64()) == Control::Stop {
                return Err(RunError::Interrupted);
            }
        }
    }
    let events = world.events();
    let mut records = world.into_recorder();
    if let Some(rows) = rows {
        // The world is gone, and its tap with it.
        records.slots = rows
            .lock()
            .map(|mut r| core::mem::take(&mut *r))
            .unwrap_or_default();
    }
    let mut summary = summarize(&records);
    summary.identify(scenario, &[], seed);
    Ok(RunResult {
        scenario: scenario.clone(),
        labels: Vec::new(),
        seed,
        records,
        summary,
        layout,
        events,
    })
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
    let results = parallel::map(variants.len(), jobs, |i| {
        let v = &variants[i];
        let mut result = run_scenario(&v.scenario, v.seed, &mut |share| progress(i, share))?;
        result.summary.identify(&v.scenario, &v.labels, v.seed);
        result.labels.clone_from(&v.labels);
        Ok(result)
    });
    results.into_iter().collect()
}
