//! The kernel's own senders beside simulated ones, in the same worlds: `slackwater validate --live`.
//!
//! Each case is a scenario. A repeat runs it twice with one seed, thus through the same channel: simulated, and in real
//! time with the kernel's senders. What is judged is the mean difference over the repeats; see [`verdict`].

pub mod cases;
mod made;
pub mod verdict;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use slackwater_core::{Draw, Duration};
use slackwater_lab::parallel;
use slackwater_lab::run::{Control, RunError, run_scenario};
use slackwater_results::metrics::summary::RunSummary;
use slackwater_scenario::Scenario;
use slackwater_scenario::Variant;

pub use self::verdict::{Row, judge};
use crate::LiveError;
use crate::emulate::Health;
use crate::emulate::netns;
use crate::kernel::run_live;
use crate::sys::{self, Signals};

/// A run counts only where at most this share of its slots was missed.
pub const MISSED_MAX: f64 = 0.005;
/// And where 99 % of its events came no later than this. It is far below a slot, and above what the emulator reaches on a
/// busy machine (docs/emulate.md: 0.023 ms).
pub const LATE_MAX: Duration = Duration::from_micros(200);
/// A void run is repeated up to this often.
pub const TRIES: u32 = 4;

/// Processes start a simulated flow's sender this late at most.
const PHASE: Duration = Duration::from_millis(10);
/// Purpose of the draws of starts.
const START: u64 = 0x7374_6172;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Names of cases; all where it is empty.
    pub cases: Vec<String>,
    /// Names of controllers; all where it is empty.
    pub controllers: Vec<String>,
    /// Repeats of each run.
    pub repeats: u64,
    /// Length of each run; that of the scenario where it is none.
    pub length: Option<Duration>,
    /// Emulations at once.
    pub at_once: usize,
}

/// One run of a case: what the simulator and the kernel made of it.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// The seed of both.
    pub seed: u64,
    /// Simulated.
    pub simulated: RunSummary,
    /// With the kernel's senders; none where every try was void.
    pub kernel: Option<RunSummary>,
    /// Lateness of the emulator in the run that counts (ms), median and 99 %.
    pub late_ms: Option<[f64; 2]>,
    /// Tries that were void.
    pub voids: u32,
}

/// A case under one controller.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Name of the case.
    pub case: String,
    /// What it is.
    pub title: String,
    /// The controller.
    pub controller: String,
    /// Time that one packet of 1,500 bytes, or one slot, takes at the bottleneck, in ms: no delay is told apart by less.
    pub grain_ms: f64,
    /// The repeats.
    pub pairs: Vec<Pair>,
}

/// A case that cannot run here.
#[derive(Clone, Debug, Serialize)]
pub struct Skipped {
    /// Its name.
    pub case: String,
    /// Why.
    pub reason: String,
}

/// What ran.
#[derive(Clone, Debug)]
pub struct Done {
    /// The groups with their pairs: all, or those that were whole when a signal came.
    pub groups: Vec<Group>,
    /// The exit status of a signal that ended it early.
    pub interrupted: Option<u8>,
}

/// Everything that is to run, and what cannot.
#[derive(Debug)]
pub struct Suite {
    groups: Vec<(Group, Vec<Variant>)>,
    /// What cannot run here.
    pub skipped: Vec<Skipped>,
    at_once: usize,
}

/// Why this machine cannot run the kernel's senders; none where it can.
pub fn unable() -> Option<String> {
    if !netns::privileged() {
        return Some("found no root privileges, which namespaces and devices need".to_owned());
    }
    if !Path::new("/dev/net/tun").exists() {
        return Some("found no /dev/net/tun".to_owned());
    }
    let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let known = known.unwrap_or_default();
    let missing = cases::CONTROLLERS
        .iter()
        .find(|c| !known.split_whitespace().any(|k| k == **c))?;
    Some(format!(
        "the kernel has no \"{missing}\" (net.ipv4.tcp_available_congestion_control: {})",
        known.trim()
    ))
}

impl Suite {
    /// Reads the cases of `plan`.
    ///
    /// # Errors
    /// Where a name of `plan` is none, or the made trace cannot be written.
    pub fn new(plan: &Plan) -> Result<Self, LiveError> {
        cases::check_names(plan)?;
        let mut suite = Self {
            groups: Vec::new(),
            skipped: Vec::new(),
            at_once: plan.at_once.max(1),
        };
        let wanted =
            |list: &[String], name: &str| list.is_empty() || list.iter().any(|n| n == name);
        for case in cases::CASES.iter().filter(|c| wanted(&plan.cases, c.name)) {
            let scenario = match case.scenario(plan.length)? {
                Ok(scenario) => scenario,
                Err(reason) => {
                    let case = case.name.to_owned();
                    suite.skipped.push(Skipped { case, reason });
                    continue;
                }
            };
            for controller in cases::CONTROLLERS {
                if !wanted(&plan.controllers, controller) {
                    continue;
                }
                let seeds: Vec<String> = (1..=plan.repeats).map(|s| s.to_string()).collect();
                let variants = scenario
                    .with_axis("flow.controller", &[controller.to_owned()])?
                    .with_axis("seed", &seeds)?
                    .expand()?;
                let group = Group {
                    case: case.name.to_owned(),
                    title: scenario.title.clone().unwrap_or_default(),
                    controller: controller.to_owned(),
                    grain_ms: verdict::grain_ms(&scenario),
                    pairs: Vec::new(),
                };
                suite.groups.push((group, variants));
            }
        }
        Ok(suite)
    }

    /// Runs with the kernel's senders.
    pub fn runs(&self) -> usize {
        self.groups.iter().map(|(_, v)| v.len()).sum()
    }

    /// How long they take together where none is void.
    pub fn length(&self) -> Duration {
        let runs = self.groups.iter().flat_map(|(_, v)| v);
        let sum: Duration = runs
            .map(|v| v.scenario.duration)
            .fold(Duration::ZERO, |a, b| a + b);
        sum / self.at_once as u64
    }

    /// Runs everything. `done` hears of each run that has ended, with a line for the terminal where it was void. A signal ends
    /// it early, with the pairs that were whole.
    ///
    /// # Errors
    /// Where a run fails.
    pub fn run(self, done: &(dyn Fn(Option<String>) + Sync)) -> Result<Done, LiveError> {
        let jobs: Vec<(usize, &Variant)> = self
            .groups
            .iter()
            .enumerate()
            .flat_map(|(g, (_, variants))| variants.iter().map(move |v| (g, v)))
            .collect();
        // Neighbours in the list are repeats of one run; the same seed of all groups first spreads what the machine does
        // in one minute over all of them.
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by_key(|j| jobs[*j].1.seed);
        let over = AtomicBool::new(false);
        let since = sys::signals();
        let pairs = parallel::map(jobs.len(), self.at_once, |k| {
            if over.load(Ordering::Relaxed) {
                return Err(interrupted());
            }
            let (g, variant) = jobs[order[k]];
            let pair = pair(variant, since, &|why| {
                let group = &self.groups[g].0;
                done(Some(format!(
                    "{}, {}, seed {}: {why}",
                    group.case, group.controller, variant.seed
                )));
            });
            match &pair {
                Ok(_) => done(None),
                Err(_) => over.store(true, Ordering::Relaxed),
            }
            pair
        });
        let mut sorted: Vec<Option<Result<Pair, LiveError>>> =
            (0..jobs.len()).map(|_| None).collect();
        for (k, pair) in pairs.into_iter().enumerate() {
            sorted[order[k]] = Some(pair);
        }
        let owners: Vec<usize> = jobs.iter().map(|j| j.0).collect();
        let groups = self.groups.into_iter().map(|g| g.0).collect();
        gathered(groups, owners.into_iter().zip(sorted.into_iter().flatten()))
    }
}

/// `groups` with the `pairs` that were whole, each with the number of its group.
fn gathered(
    mut groups: Vec<Group>,
    pairs: impl Iterator<Item = (usize, Result<Pair, LiveError>)>,
) -> Result<Done, LiveError> {
    let mut interrupted = None;
    for (owner, pair) in pairs {
        match pair {
            Ok(pair) => groups[owner].pairs.push(pair),
            Err(LiveError::Interrupted { code }) => interrupted = Some(code),
            Err(error) => return Err(error),
        }
    }
    Ok(Done {
        groups,
        interrupted,
    })
}

fn interrupted() -> LiveError {
    LiveError::Interrupted {
        code: sys::signal_code(),
    }
}

/// One repeat, where no signal came `since`. `void` hears why a try does not count.
fn pair(variant: &Variant, since: Signals, void: &dyn Fn(String)) -> Result<Pair, LiveError> {
    let scenario = &variant.scenario;
    let shifted = at_some_phase(scenario, variant.seed);
    let simulated = run_scenario(&shifted, variant.seed, &mut |_| {
        if sys::signals() == since {
            Control::Continue
        } else {
            Control::Stop
        }
    })
    .map_err(|e| match e {
        RunError::Interrupted => interrupted(),
        build @ RunError::Build(_) => LiveError::Usage(build.to_string()),
    })?
    .summary;
    let mut pair = Pair {
        seed: variant.seed,
        simulated,
        kernel: None,
        late_ms: None,
        voids: 0,
    };
    while pair.voids < TRIES {
        if sys::signals() != since {
            return Err(interrupted());
        }
        let outcome = run_live(scenario, false)?;
        if sys::signals() != since {
            // It was cut short.
            return Err(interrupted());
        }
        match void_because(&outcome.health) {
            None => {
                pair.late_ms = Some(lateness(&outcome.health));
                pair.kernel = Some(outcome.result.summary);
                break;
            }
            Some(why) => {
                pair.voids += 1;
                void(format!("void, {why}; try {} of {TRIES}", pair.voids));
            }
        }
    }
    Ok(pair)
}

/// `scenario` with flows that start up to [`PHASE`] later, as processes of a machine do: else a constant link would show
/// one trajectory with each seed, and the kernel many.
fn at_some_phase(scenario: &Scenario, seed: u64) -> Scenario {
    let draw = Draw::new(seed).fork(START, 0);
    let mut shifted = scenario.clone();
    for (i, flow) in shifted.flows.iter_mut().enumerate() {
        flow.start += PHASE.mul_f64(draw.uniform(i as u64));
    }
    shifted
}

/// Median and 99 % of the emulator's lateness, ms.
fn lateness(health: &Health) -> [f64; 2] {
    [0.5, 0.99].map(|q| {
        let late = health.lag.histogram.quantile(q);
        late.map_or(0.0, Duration::as_millis_f64)
    })
}

/// Why a run does not count, where it does not.
fn void_because(health: &Health) -> Option<String> {
    let [_, late] = lateness(health);
    let missed = health.missed();
    if missed > MISSED_MAX {
        Some(format!(
            "{:.2} % of slots missed, expected at most {:.2} %",
            missed * 100.0,
            MISSED_MAX * 100.0
        ))
    } else if late > LATE_MAX.as_millis_f64() {
        Some(format!(
            "{late:.3} ms late (p99), expected at most {:.3} ms",
            LATE_MAX.as_millis_f64()
        ))
    } else if !health.realtime {
        Some("no real-time priority".to_owned())
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
