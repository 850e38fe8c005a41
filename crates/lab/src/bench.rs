//! How much CPU time a simulated second costs.

use cpu_time::ThreadTime;
use serde::Serialize;
use slackwater_core::{Duration, Instant, NoRecorder, Recorder};
use slackwater_sim::{NoClock, World};

use crate::build::{self, BuildError};
use crate::record::{RecorderConfig, RunRecorder};
use crate::scenario::Scenario;

/// A scenario whose cost is watched.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Name.
    pub name: &'static str,
    /// What it simulates.
    pub what: &'static str,
    /// The scenario.
    toml: &'static str,
    /// CPU seconds per simulated second that it may cost with records on; a third of it without.
    pub budget: f64,
    /// What ns-3.46.1 (LTE, optimised build) or 5G-LENA (wheel) took for a comparable scenario on a machine of this class.
    pub ns3: Option<f64>,
}

/// All cases.
pub const CASES: [Case; 4] = [
    Case {
        name: "lte-1",
        what: "LTE 10 MHz, 1 UE, TCP CUBIC",
        toml: include_str!("../../../scenarios/bench/lte-1.toml"),
        budget: 0.0007,
        ns3: Some(0.141),
    },
    Case {
        name: "lte-100",
        what: "LTE 10 MHz, 100 UEs, a TCP CUBIC flow each",
        toml: include_str!("../../../scenarios/bench/lte-100.toml"),
        budget: 0.005,
        ns3: Some(3.76),
    },
    Case {
        name: "lte-1000",
        what: "LTE 10 MHz, 1,000 UEs, a TCP CUBIC flow each",
        toml: include_str!("../../../scenarios/bench/lte-1000.toml"),
        budget: 0.05,
        ns3: None,
    },
    Case {
        name: "nr-1",
        what: "NR TDD 100 MHz, 1 UE, TCP CUBIC at about 465 Mbit/s",
        toml: include_str!("../../../scenarios/bench/nr-1.toml"),
        budget: 0.007,
        ns3: None,
    },
];

/// What a case cost.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Name of the case.
    pub case: &'static str,
    /// True without records.
    pub lean: bool,
    /// Simulated seconds measured (after a tenth of that as warm-up).
    pub simulated_s: f64,
    /// CPU seconds of the measured part.
    pub cpu_s: f64,
    /// CPU seconds per simulated second.
    pub cost: f64,
    /// Kernel events per simulated second.
    pub events_per_s: f64,
    /// What it may cost.
    pub budget: f64,
    /// How many times faster than the ns-3 figure.
    pub times_ns3: Option<f64>,
    /// Goodput of all flows in Mbit/s.
    pub goodput_mbps: f64,
}

/// Runs `case` for `seconds` of simulated time on this thread.
///
/// # Errors
/// Where the embedded scenario does not build: a defect.
pub fn measure(case: &Case, seconds: u64, lean: bool) -> Result<Cost, BuildError> {
    let scenario =
        Scenario::from_toml(case.toml, ".").map_err(|e| BuildError::Cell(e.to_string()))?;
    if lean {
        let (world, _) = build::build(&scenario, 1, None, |_| NoRecorder)?;
        Ok(run(case, world, seconds, true))
    } else {
        let (world, _) = build::build(&scenario, 1, None, |l| {
            RunRecorder::new(RecorderConfig::of(&scenario, l.bottleneck, l.wired))
        })?;
        Ok(run(case, world, seconds, false))
    }
}

fn delivered<R: Recorder>(world: &World<R>) -> u64 {
    let of = |f| {
        world
            .hosts(slackwater_core::FlowId(f as u32))
            .1
            .delivered()
            .get()
    };
    (0..world.flows()).map(of).sum()
}

fn run<R: Recorder>(case: &Case, mut world: World<R>, seconds: u64, lean: bool) -> Cost {
    let warm = Duration::from_millis(seconds * 100);
    world.run_until(Instant::ZERO + warm, &mut NoClock);
    let (events, bytes) = (world.events(), delivered(&world));
    let start = ThreadTime::now();
    world.run_until(
        Instant::ZERO + warm + Duration::from_secs(seconds),
        &mut NoClock,
    );
    let cpu = start.elapsed().as_secs_f64();
    let simulated = seconds as f64;
    let budget = if lean { case.budget / 3.0 } else { case.budget };
    Cost {
        case: case.name,
        lean,
        simulated_s: simulated,
        cpu_s: cpu,
        cost: cpu / simulated,
        events_per_s: (world.events() - events) as f64 / simulated,
        budget,
        times_ns3: case.ns3.map(|n| n * simulated / cpu),
        goodput_mbps: (delivered(&world) - bytes) as f64 * 8e-6 / simulated,
    }
}
