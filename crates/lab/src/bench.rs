//! How much CPU time a simulated second costs, and a reported packet in a media controller.

pub mod feedback;

use crate::cpu::ThreadTime;
use serde::{Deserialize, Serialize};
use slackwater_core::{Duration, Instant, NoRecorder, Recorder};
use slackwater_results::record::{RecorderConfig, RunRecorder};
use slackwater_scenario::Scenario;
use slackwater_scenario::build::{self, BuildError};
use slackwater_sim::{NoClock, World};

use crate::parallel;

/// A scenario whose cost is watched.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Name.
    pub name: &'static str,
    /// What it simulates.
    pub what: &'static str,
    /// The scenario.
    toml: &'static str,
    /// Worlds of it, each with a seed of its own, on all cores.
    worlds: u64,
    /// CPU seconds per simulated second that it may cost with records and without; `None` where no goal was set.
    goal: [Option<f64>; 2],
    /// Arguments of the program that runs ns-3, where its cell is like this one.
    pub ns3: Option<&'static [&'static str]>,
}

const fn case(name: &'static str, what: &'static str, toml: &'static str) -> Case {
    Case {
        name,
        what,
        toml,
        worlds: 1,
        goal: [None, None],
        ns3: None,
    }
}

impl Case {
    const fn goal(self, with_records: f64, without: f64) -> Self {
        Self {
            goal: [Some(with_records), Some(without)],
            ..self
        }
    }

    const fn ns3(self, arguments: &'static [&'static str]) -> Self {
        Self {
            ns3: Some(arguments),
            ..self
        }
    }
}

/// All cases.
pub const CASES: [Case; 8] = [
    case(
        "lte-1",
        "LTE 10 MHz, 1 UE, TCP CUBIC",
        include_str!("../scenarios/bench/lte-1.toml"),
    )
    .goal(0.000_55, 0.000_23)
    .ns3(&["--ues=1", "--near=200", "--far=200", "--jump=0"]),
    case(
        "lte-1-moving",
        "LTE 10 MHz, 1 UE that jumps each 2 s, TCP CUBIC",
        include_str!("../scenarios/bench/lte-1-moving.toml"),
    )
    .ns3(&["--ues=1"]),
    case(
        "lte-10",
        "LTE 10 MHz, 10 UEs, a TCP CUBIC flow each",
        LTE_10,
    )
    .ns3(&["--ues=10"]),
    case(
        "lte-100",
        "LTE 10 MHz, 100 UEs, a TCP CUBIC flow each",
        include_str!("../scenarios/bench/lte-100.toml"),
    )
    .goal(0.0015, 0.0008)
    .ns3(&["--ues=100"]),
    case(
        "lte-1000",
        "LTE 10 MHz, 1,000 UEs, a TCP CUBIC flow each",
        include_str!("../scenarios/bench/lte-1000.toml"),
    )
    .goal(0.0035, 0.0017),
    case(
        "lte-10000",
        "LTE 10 MHz, 10,000 UEs, a TCP CUBIC flow each",
        include_str!("../scenarios/bench/lte-10000.toml"),
    ),
    case(
        "nr-1",
        "NR TDD 100 MHz, 1 UE, TCP CUBIC at about 465 Mbit/s",
        include_str!("../scenarios/bench/nr-1.toml"),
    )
    .goal(0.004, 0.0023),
    Case {
        worlds: 100,
        ..case(
            "cells-100",
            "100 cells of 10 UEs side by side, on all cores",
            LTE_10,
        )
    },
];

const LTE_10: &str = include_str!("../scenarios/bench/lte-10.toml");

/// What a case cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cost {
    /// Name of the case.
    pub case: String,
    /// True without records.
    pub lean: bool,
    /// Simulated seconds measured (after a tenth of that as warm-up).
    pub simulated_s: f64,
    /// CPU seconds of the measured part, of all threads.
    pub cpu_s: f64,
    /// CPU seconds per simulated second, of all worlds together.
    pub cost: f64,
    /// Wall seconds from the first world's building to the last one's end, per simulated second.
    pub wall: f64,
    /// Threads that the worlds were spread over.
    pub threads: usize,
    /// Kernel events per simulated second.
    pub events_per_s: f64,
    /// What it may cost.
    pub goal: Option<f64>,
    /// Goodput of all flows in Mbit/s.
    pub goodput_mbps: f64,
    /// Greatest resident set of the process that ran it, where the system tells.
    pub peak_kib: Option<u64>,
}

/// Runs `case` for `seconds` of simulated time on this thread; many worlds, on all cores.
///
/// # Errors
/// Where the embedded scenario does not build: a defect.
pub fn measure(case: &Case, seconds: u64, lean: bool) -> Result<Cost, BuildError> {
    let scenario =
        Scenario::from_toml(case.toml, ".").map_err(|e| BuildError::Cell(e.to_string()))?;
    let start = std::time::Instant::now();
    let threads = parallel::cores().min(case.worlds as usize);
    let parts = parallel::map(case.worlds as usize, threads, |i| {
        let seed = 1 + i as u64;
        if lean {
            let (world, _) = build::build(&scenario, seed, None, |_| NoRecorder)?;
            Ok(run(world, seconds))
        } else {
            let (world, _) = build::build(&scenario, seed, None, |l| {
                RunRecorder::new(RecorderConfig::of(&scenario, l.bottleneck, l.wired))
            })?;
            Ok(run(world, seconds))
        }
    });
    let parts: Vec<Part> = parts.into_iter().collect::<Result<_, BuildError>>()?;

    let simulated = seconds as f64;
    let sum = |of: fn(&Part) -> f64| parts.iter().map(of).sum::<f64>();
    let cpu = sum(|p| p.cpu_s);
    Ok(Cost {
        case: case.name.to_owned(),
        lean,
        simulated_s: simulated,
        cpu_s: cpu,
        cost: cpu / simulated,
        wall: start.elapsed().as_secs_f64() / simulated,
        threads,
        events_per_s: sum(|p| p.events) / simulated,
        goal: case.goal[usize::from(lean)],
        goodput_mbps: sum(|p| p.bytes) * 8e-6 / simulated,
        peak_kib: peak_kib(),
    })
}

/// Greatest resident set of this process so far (Linux, `proc(5)`).
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
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

/// What one world took, of the measured part.
struct Part {
    cpu_s: f64,
    events: f64,
    bytes: f64,
}

fn run<R: Recorder>(mut world: World<R>, seconds: u64) -> Part {
    let warm = Duration::from_millis(seconds * 100);
    world.run_until(Instant::ZERO + warm, &mut NoClock);
    let (events, bytes) = (world.events(), delivered(&world));

    let start = ThreadTime::now();
    world.run_until(
        Instant::ZERO + warm + Duration::from_secs(seconds),
        &mut NoClock,
    );
    Part {
        cpu_s: start.elapsed().as_secs_f64(),
        events: (world.events() - events) as f64,
        bytes: (delivered(&world) - bytes) as f64,
    }
}
