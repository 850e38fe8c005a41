//! Our simulations beside measurements of other systems.

use crate::check::{Check, Tolerance};
use crate::metrics::interval::Estimate;
use crate::metrics::summary::{FlowSummary, RunSummary};
use crate::parallel;
use crate::run::{Control, RunError, RunResult, run_variants};
use crate::scenario::{Scenario, ScenarioError};

/// What we are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// TCP of Linux 6.18 through mm-delay and mm-link, the emulator's lateness modelled.
    Linux,
    /// The same beside a link that is never late.
    LinuxPunctual,
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
}

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
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "a pick may find no number; this one always does"
)]
fn goodput(f: &FlowSummary) -> Option<f64> {
    Some(f.goodput_mbps)
}

/// Kernel TCP over 12 Mbit/s of 1,504-byte opportunities, 40 ms, 128 packets drop-tail, 30 s. Mean of srtt and window
/// quantiles are over samples taken at a fixed period.
fn linux(goodput_mbps: f64, srtt: [f64; 2], cwnd_p95: f64) -> Vec<Number> {
    vec![
        number(
            "goodput",
            "Mbit/s",
            goodput_mbps,
            Tolerance::Relative(0.015),
            goodput,
        ),
        number("mean srtt", "ms", srtt[0], Tolerance::Relative(0.08), |f| {
            Some(f.srtt_ms?.mean)
        }),
        number("p95 srtt", "ms", srtt[1], Tolerance::Relative(0.06), |f| {
            Some(f.srtt_ms?.p95)
        }),
        number(
            "p95 cwnd",
            "packets",
            cwnd_p95,
            Tolerance::Relative(0.06),
            |f| Some(f.cwnd_packets?.p95),
        ),
    ]
}

/// ns-3.44 LTE: goodput, utilisation, head-of-line delay each millisecond, RTT.
fn ns3_lte(goodput_mbps: f64, hol: [f64; 4], rtt: [f64; 3]) -> Vec<Number> {
    // The requirement is 5 % of goodput and 15 % of the median head-of-line delay; the other quantiles are held to 20 %.
    let loose = Tolerance::Relative(0.20);
    vec![
        number(
            "goodput",
            "Mbit/s",
            goodput_mbps,
            Tolerance::Relative(0.05),
            goodput,
        ),
        number("HoL p10", "ms", hol[0], Tolerance::Absolute(5.0), |f| {
            Some(f.hol_ms?.p10)
        }),
        number("HoL p50", "ms", hol[1], Tolerance::Relative(0.15), |f| {
            Some(f.hol_ms?.p50)
        }),
        number("HoL p90", "ms", hol[2], loose, |f| Some(f.hol_ms?.p90)),
        number("HoL p99", "ms", hol[3], loose, |f| Some(f.hol_ms?.p99)),
        number("RTT p50", "ms", rtt[0], Tolerance::Relative(0.15), |f| {
            Some(f.srtt_ms?.p50)
        }),
        number("RTT p90", "ms", rtt[1], loose, |f| Some(f.srtt_ms?.p90)),
        number("RTT p99", "ms", rtt[2], loose, |f| Some(f.srtt_ms?.p99)),
    ]
}

/// The same with distances that are not ns-3's: what depends least on them. Its one seed saw thirty distances; the mean
/// of a quantile over as many moves by a third from seed to seed.
fn ns3_lte_own(utilisation: f64, hol: [f64; 4], within_10: f64) -> Vec<Number> {
    let third = Tolerance::Relative(0.33);
    let mut numbers = vec![Number {
        what: "utilisation",
        unit: "",
        value: utilisation,
        tolerance: Tolerance::Relative(0.05),
        pick: Pick::Run(|r| Some(r.goodput_mbps / cell_capacity(r)?)),
    }];
    numbers.extend([
        number("HoL p50", "ms", hol[1], third, |f| Some(f.hol_ms?.p50)),
        number("HoL p90", "ms", hol[2], third, |f| Some(f.hol_ms?.p90)),
        number("HoL p99", "ms", hol[3], third, |f| Some(f.hol_ms?.p99)),
        number(
            "time with HoL <= 10 ms",
            "",
            within_10,
            Tolerance::Absolute(0.10),
            |f| Some(1.0 - f.over_budget?),
        ),
    ]);
    numbers
}

fn cell_capacity(run: &RunSummary) -> Option<f64> {
    let down = run.links.iter().find(|l| l.name == "cell down")?;
    down.capacity_mbps
}

/// Bytes of a transport block each millisecond, as a rate.
fn ns3_rate(mbps: f64) -> Vec<Number> {
    vec![Number {
        what: "capacity",
        unit: "Mbit/s",
        value: mbps,
        tolerance: Tolerance::Relative(0.01),
        pick: Pick::Run(cell_capacity),
    }]
}

/// 5G-LENA: one-way delay of the packets of all VR flows.
fn ns3_nr(min: f64, p50: f64, p90: f64, p99: f64, max: f64) -> Vec<Number> {
    let tol = Tolerance::Absolute(0.3);
    vec![
        number("one-way min", "ms", min, tol, |f| Some(f.one_way_ms?.min)),
        number("one-way p50", "ms", p50, tol, |f| Some(f.one_way_ms?.p50)),
        number("one-way p90", "ms", p90, tol, |f| Some(f.one_way_ms?.p90)),
        number("one-way p99", "ms", p99, tol, |f| Some(f.one_way_ms?.p99)),
        number("one-way max", "ms", max, tol, |f| Some(f.one_way_ms?.max)),
    ]
}

impl Reference {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Linux,
        Self::LinuxPunctual,
        Self::Ns3Lte,
        Self::Ns3LteRates,
        Self::Ns3LteOwn,
        Self::Ns3Nr,
    ];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::LinuxPunctual => "linux-punctual",
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
                "Linux 6.18 TCP through mm-delay and mm-link, 12 Mbit/s, 40 ms, 128 packets, 30 s"
            }
            Self::LinuxPunctual => "the same measurements beside a link that is never late",
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

    fn scenario(self) -> &'static str {
        match self {
            Self::Linux | Self::LinuxPunctual => {
                include_str!("../../../scenarios/validation/linux-12mbps.toml")
            }
            Self::Ns3Lte => include_str!("../../../scenarios/validation/ns3-lte.toml"),
            Self::Ns3LteRates => {
                include_str!("../../../scenarios/validation/ns3-lte-rates.toml")
            }
            Self::Ns3LteOwn => include_str!("../../../scenarios/validation/ns3-lte-own.toml"),
            Self::Ns3Nr => include_str!("../../../scenarios/validation/ns3-nr.toml"),
        }
    }

    /// Values of the varied key, and the numbers that belong to each.
    fn numbers(self) -> Vec<(&'static str, Vec<Number>)> {
        match self {
            Self::Linux | Self::LinuxPunctual => vec![
                ("cubic", linux(11.554, [148.0, 170.0], 170.0)),
                ("reno", linux(11.543, [126.0, 164.0], 168.0)),
                ("bbr", linux(11.279, [98.0, 121.0], 140.0)),
            ],
            Self::Ns3Lte => vec![
                (
                    "cubic",
                    ns3_lte(20.40, [6.0, 46.0, 129.0, 204.0], [85.0, 169.0, 232.0]),
                ),
                (
                    "cubic-ns3",
                    ns3_lte(20.40, [6.0, 46.0, 129.0, 204.0], [85.0, 169.0, 232.0]),
                ),
                (
                    "reno",
                    ns3_lte(20.52, [5.0, 53.0, 111.0, 192.0], [92.0, 152.0, 229.0]),
                ),
                (
                    "reno-ns3",
                    ns3_lte(20.52, [5.0, 53.0, 111.0, 192.0], [92.0, 152.0, 229.0]),
                ),
            ],
            // MCS 28 carries 4,395 bytes in 48 blocks, MCS 8 carries 839.
            Self::Ns3LteRates => vec![
                ("60 m", ns3_rate(35.16)),
                ("100 m", ns3_rate(35.16)),
                ("600 m", ns3_rate(6.71)),
            ],
            Self::Ns3LteOwn => vec![
                (
                    "cubic",
                    ns3_lte_own(0.952, [6.0, 46.0, 129.0, 204.0], 0.127),
                ),
                ("reno", ns3_lte_own(0.958, [5.0, 53.0, 111.0, 192.0], 0.172)),
            ],
            Self::Ns3Nr => vec![
                ("1", ns3_nr(3.05, 3.79, 4.63, 5.09, 6.09)),
                ("3", ns3_nr(3.03, 3.81, 4.84, 5.79, 7.11)),
                ("5", ns3_nr(3.03, 3.84, 4.95, 6.03, 7.89)),
            ],
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
    let mut scenario = Scenario::parse(reference.name(), reference.scenario(), here)?;
    if reference == Reference::LinuxPunctual {
        scenario.path.stalls = None;
    }
    let variants = scenario.expand()?;
    let results = run_variants(&variants, parallel::cores(), progress)?;
    let mut checks = vec![];
    for (value, numbers) in reference.numbers() {
        let of = |r: &&RunResult| r.labels.iter().any(|l| l.1 == value);
        let runs: Vec<&RunResult> = results.iter().filter(of).collect();
        for n in numbers {
            let per_run = runs.iter().filter_map(|r| n.pick.of(&r.summary));
            let values: Vec<f64> = per_run.collect();
            let e = Estimate::of(&values);
            let name = format!("{value}: {}", n.what);
            let (ours, interval) = e.map_or((f64::NAN, None), |e| (e.mean, e.half_width));
            checks.push(Check::new(
                name,
                n.unit,
                n.value,
                ours,
                interval,
                n.tolerance,
            ));
        }
    }
    Ok(checks)
}
