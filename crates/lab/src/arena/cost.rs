//! What a packet costs in CPU time: measured on the machine at hand, and no part of the arena's results, which every
//! machine repeats.

use crate::cpu::ThreadTime;
use serde::{Deserialize, Serialize};
use slackwater_core::{FlowId, Instant, NoRecorder};
use slackwater_scenario::Scenario;
use slackwater_scenario::build;
use slackwater_sim::NoClock;

use super::set::{Set, System};
use super::task::{Plan, TaskError};
use crate::run::RunError;

/// The best of so many runs: others were disturbed.
const REPEATS: usize = 3;
/// Seconds simulated beforehand.
const WARM: u64 = 1;
/// Seconds measured.
const MEASURED: u64 = 5;
/// The cell in which senders are measured.
const CELL: &str = "lte-steps";

/// The cost of a system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Name.
    pub system: String,
    /// Name for people.
    pub title: String,
    /// Registry name of the controller.
    pub controller: String,
    /// CPU nanoseconds of the whole simulation over packets delivered: hosts, cell, controller, reports and edge function.
    pub ns: f64,
}

/// The cost of each sender of `plan`, one after the other on this thread.
///
/// # Errors
/// Where a scenario does not build: a defect.
pub fn measure(plan: &Plan) -> Result<Vec<Cost>, TaskError> {
    let Some(place) = plan.set.place(CELL) else {
        return Ok(vec![]);
    };
    let mut out = vec![];
    for system in plan.set.systems_of(place) {
        if !plan.tasks.iter().any(|t| t.system == system.name) {
            continue;
        }
        let ns = per_packet(&plan.set, &system)?;
        out.push(Cost {
            system: system.name,
            title: system.title,
            controller: system.sender,
            ns,
        });
    }
    Ok(out)
}

fn per_packet(set: &Set, system: &System) -> Result<f64, TaskError> {
    let place = set.place(CELL).expect("the caller found it");
    let bad = |cause| TaskError::Scenario {
        cell: CELL.to_owned(),
        system: system.name.clone(),
        cause: Box::new(cause),
    };
    let mut scenario = set.base(place, false).map_err(bad)?;
    for (key, value) in set.changes(place, system) {
        scenario = scenario.with(&key, &value).map_err(bad)?;
    }
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let cost = once(&scenario).map_err(|cause| TaskError::Run {
            cell: CELL.to_owned(),
            system: system.name.clone(),
            cause,
        })?;
        best = best.min(cost);
    }
    Ok(best)
}

fn once(scenario: &Scenario) -> Result<f64, RunError> {
    let (mut world, _) = build::build(scenario, 1, None, |_| NoRecorder)?;
    let delivered = |world: &slackwater_sim::World<NoRecorder>| {
        let (_, receiver) = world.hosts(FlowId(0));
        receiver.delivered().get() as f64
    };
    let at = |s| Instant::from_millis(1000 * s);
    world.run_until(at(WARM), &mut NoClock);
    let before = delivered(&world);
    let start = ThreadTime::now();
    world.run_until(at(WARM + MEASURED), &mut NoClock);
    let spent = start.elapsed().as_secs_f64();
    let mss = f64::from(scenario.flows[0].mss());
    Ok(spent * 1e9 / ((delivered(&world) - before) / mss).max(1.0))
}
