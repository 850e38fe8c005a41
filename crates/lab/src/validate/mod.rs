//! Our simulations beside measurements of other systems.

pub mod beside_ns3;
mod linux;
mod ns3_lte;
mod ns3_nr;

use slackwater_results::check::{Check, Tolerance};
use slackwater_results::metrics::summary::{FlowSummary, RunSummary};
use slackwater_results::stats::Estimate;
use slackwater_scenario::{Scenario, ScenarioError};

use crate::parallel;
use crate::run::{Control, RunError, RunResult, run_variants};

/// What we are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// TCP of Linux 6.18 through the emulator, its hosts scheduled at once.
    Linux,
    /// ns-3 LTE on its own channel, replayed.
    Ns3Lte,
    /// What link adaptation gives at the distances of that scenario.
    Ns3LteRates,
    /// The same scenario with our own path loss and link adaptation.
    Ns3LteOwn,
    /// 5G-LENA, VR flows over UDP.
    Ns3Nr,
}

/// Why a validation could not run.
#[derive(Debug, thiserror::Error)]
pub enum ValidateError {
    /// An embedded scenario is broken: a defect.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A run failed or was interrupted.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Where a number stands in a summary.
#[derive(Clone, Copy)]
enum Pick {
    /// The mean over the flows, which are alike.
    Flow(fn(&FlowSummary) -> Option<f64>),
    /// Of the run as a whole.
    Run(fn(&RunSummary) -> Option<f64>),
}

impl Pick {
    fn of(self, run: &RunSummary) -> Option<f64> {
        match self {
            Self::Run(pick) => pick(run),
            Self::Flow(pick) => {
                let v: Vec<f64> = run.flows.iter().filter_map(pick).collect();
                (!v.is_empty()).then(|| v.iter().sum::<f64>() / v.len() as f64)
            }
        }
    }
}

/// One measured number.
struct Number {
    what: &'static str,
    unit: &'static str,
    value: f64,
    tolerance: Tolerance,
    pick: Pick,
    /// Why ours is known to differ, as an experiment showed.
    cause: Option<&'static str>,
}

/// A value of the varied key, and the numbers that belong to it.
type Numbers = (&'static str, Vec<Number>);

const fn number(
    what: &'static str,
    unit: &'static str,
    value: f64,
    tolerance: Tolerance,
    pick: fn(&FlowSummary) -> Option<f64>,
) -> Number {
    Number {
        what,
        unit,
        value,
        tolerance,
        pick: Pick::Flow(pick),
        cause: None,
    }
}

/// The same numbers with the cause of their difference.
fn because(cause: &'static str, mut numbers: Vec<Number>) -> Vec<Number> {
    for number in &mut numbers {
        number.cause = Some(cause);
    }
    numbers
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "a pick may find no number; this one always does"
)]
fn goodput(f: &FlowSummary) -> Option<f64> {
    Some(f.goodput_mbps)
}

impl Reference {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Linux,
        Self::Ns3Lte,
        Self::Ns3LteRates,
        Self::Ns3LteOwn,
        Self::Ns3Nr,
    ];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Ns3Lte => "ns3-lte",
            Self::Ns3LteRates => "ns3-lte-rates",
            Self::Ns3LteOwn => "ns3-lte-own",
            Self::Ns3Nr => "ns3-nr",
        }
    }

    /// What it is.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Linux => {
                "Linux 6.18 TCP through the emulator, 12 Mbit/s, 40 ms, 128 packets, 30 s"
            }
            Self::Ns3Lte => {
                "ns-3 LTE, 10 MHz, RLC UM of 192,000 bytes, 30 ms wired, 60 s, its channel replayed"
            }
            Self::Ns3LteRates => {
                "ns-3 LTE, the rate that its link adaptation gives within 100 m and at 600 m"
            }
            Self::Ns3LteOwn => {
                "ns-3 LTE, our own path loss and link adaptation, a new distance of 60 to 600 m every 2 s, 20 seeds"
            }
            Self::Ns3Nr => {
                "5G-LENA, 200 MHz at 15 kHz, DL|DL|DL|S|UL, VR flows of 60 frames/s and 50 Mbit/s over UDP"
            }
        }
    }

    const fn scenario(self) -> &'static str {
        match self {
            Self::Linux => linux::SCENARIO,
            Self::Ns3Lte => ns3_lte::REPLAYED,
            Self::Ns3LteRates => ns3_lte::RATES,
            Self::Ns3LteOwn => ns3_lte::OWN,
            Self::Ns3Nr => ns3_nr::SCENARIO,
        }
    }

    /// Values of the varied key, and the numbers that belong to each.
    fn numbers(self) -> Vec<Numbers> {
        match self {
            Self::Linux => linux::numbers(),
            Self::Ns3Lte => ns3_lte::replayed(),
            Self::Ns3LteRates => ns3_lte::rates(),
            Self::Ns3LteOwn => ns3_lte::own(),
            Self::Ns3Nr => ns3_nr::numbers(),
        }
    }
}

/// Runs the scenario of `reference` and compares.
///
/// # Errors
/// Where the embedded scenario is broken or a run was interrupted.
pub fn validate(
    reference: Reference,
    progress: &(dyn Fn(usize, f64) -> Control + Sync),
) -> Result<Vec<Check>, ValidateError> {
    let here = std::path::Path::new(".");
    let scenario = Scenario::parse(reference.name(), reference.scenario(), here)?;
    let variants = scenario.expand()?;
    let results = run_variants(&variants, parallel::cores(), progress)?;
    let mut checks = vec![];
    for (value, numbers) in reference.numbers() {
        let of = |r: &&RunResult| r.labels.iter().any(|l| l.1 == value);
        let runs: Vec<&RunResult> = results.iter().filter(of).collect();
        for n in numbers {
            let per_run = runs.iter().filter_map(|r| n.pick.of(&r.summary));
            let values: Vec<f64> = per_run.collect();
            let name = format!("{value}: {}", n.what);
            let check = Check::of(name, n.unit, n.value, Estimate::of(&values), n.tolerance);
            checks.push(match n.cause {
                Some(cause) => check.where_missed(cause),
                None => check,
            });
        }
    }
    Ok(checks)
}
