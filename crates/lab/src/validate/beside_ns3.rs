//! Our cell beside ns-3's, both run now and on the same channel.
//!
//! The program that runs ns-3 is the command's business. Here is what to run, what it prints, the same run of ours, and
//! the verdict. A pair of runs shares the channel: ns-3 writes which MCS each new block had, ours replays it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use slackwater_core::Duration;
use slackwater_results::check::{Check, Tolerance};
use slackwater_results::metrics::summary::FlowSummary;
use slackwater_results::stats::{Estimate, t95};
use slackwater_scenario::{Bottleneck, Channel, Scenario, ScenarioError, cell, ue};

use super::ValidateError;
use crate::run::{Control, RunResult, run_scenario};

/// Ours, with one UE and no channel yet.
const SCENARIO: &str = include_str!("../../scenarios/validation/beside-ns3.toml");

/// A kind of flow in both programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Name in tables.
    pub name: &'static str,
    /// ns-3's class of congestion control.
    pub tcp: &'static str,
    /// Our controller.
    pub controller: &'static str,
    /// ns-3's class of recovery.
    pub recovery: &'static str,
    /// RLC: `um` or `am`.
    pub rlc: &'static str,
    /// UEs, a flow each.
    pub ues: u32,
    /// Why the two are known to differ, as an experiment showed; `None` where no difference is known.
    pub cause: Option<&'static str>,
}

/// The window reduction that ns-3 uses by default.
const PRR: &str = "TcpPrrRecovery";
/// Fast recovery of RFC 6582 in ns-3.
const CLASSIC: &str = "TcpClassicRecovery";

/// What is compared.
pub const CASES: [Case; 7] = [
    Case {
        name: "reno",
        tcp: "TcpNewReno",
        controller: "reno-ns3",
        recovery: PRR,
        rlc: "um",
        ues: 1,
        cause: None,
    },
    Case {
        name: "cubic",
        tcp: "TcpCubic",
        controller: "cubic-ns3",
        recovery: PRR,
        rlc: "um",
        ues: 1,
        cause: Some(
            "ns-3's socket leaves recovery and enters it again at once for packets that its PRR sent into the full queue: \
             it cuts CUBIC twice. With its classic recovery (cubic-classic) it does not",
        ),
    },
    Case {
        name: "cubic-classic",
        tcp: "TcpCubic",
        controller: "cubic-ns3",
        recovery: CLASSIC,
        rlc: "um",
        ues: 1,
        cause: None,
    },
    Case {
        name: "bbr",
        tcp: "TcpBbr",
        controller: "bbr",
        recovery: PRR,
        rlc: "um",
        ues: 1,
        cause: Some(
            "Linux sends two segments at once or more, rounds its targets up to even packets, and has room for what bunched ACKs \
             acknowledged. With ns-3's arithmetic (bbr-unpoliced) the two agree",
        ),
    },
    Case {
        name: "bbr-unpoliced",
        tcp: "TcpBbr",
        controller: "bbr-ns3",
        recovery: PRR,
        rlc: "um",
        ues: 1,
        cause: None,
    },
    Case {
        name: "reno-am",
        tcp: "TcpNewReno",
        controller: "reno-ns3",
        recovery: PRR,
        rlc: "am",
        ues: 1,
        cause: Some(
            "ns-3's RLC AM sends each STATUS alone in a whole block (its count is in the note of the run)",
        ),
    },
    Case {
        name: "reno-10",
        tcp: "TcpNewReno",
        controller: "reno-ns3",
        recovery: PRR,
        rlc: "um",
        ues: 10,
        cause: None,
    },
];

/// One run of ns-3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// What runs.
    pub case: Case,
    /// Number of the channel.
    pub place: u32,
    /// Number of the repetition on it.
    pub repeat: u32,
    /// Simulated seconds.
    pub seconds: u32,
}

impl Job {
    /// The program's arguments; it writes the channel to `channel`.
    pub fn arguments(&self, channel: &Path) -> Vec<String> {
        let Case {
            tcp,
            recovery,
            rlc,
            ues,
            ..
        } = self.case;
        vec![
            format!("--tcp={tcp}"),
            format!("--recovery={recovery}"),
            format!("--rlc={rlc}"),
            format!("--ues={ues}"),
            format!("--place={}", self.place),
            format!("--seed={}", self.repeat),
            format!("--seconds={}", self.seconds),
            format!("--channel={}", channel.display()),
        ]
    }
}

/// Quantiles as the program prints them, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Spread {
    /// 10 %.
    pub p10: f64,
    /// Half.
    pub p50: f64,
    /// 90 %.
    pub p90: f64,
    /// 99 %.
    pub p99: f64,
}

/// One flow as the program prints it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Ns3Flow {
    /// Payload handed to the receiver over the measured time.
    pub goodput_mbps: f64,
    /// Packets that the RLC buffer refused.
    pub dropped: u64,
    /// Entries into fast recovery.
    pub recoveries: u32,
    /// Those within one RTT after the end of the one before.
    pub again: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Age of the head of the RLC transmission buffer, each millisecond.
    pub hol_ms: Option<Spread>,
    /// Last RTT sample, each millisecond.
    pub rtt_ms: Option<Spread>,
}

/// What the program prints.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Ns3Run {
    /// Measured time.
    pub seconds: f64,
    /// CPU time of the measured part (`getrusage`).
    pub cpu_s: f64,
    /// CPU time of the whole process.
    pub cpu_all_s: f64,
    /// Greatest resident set.
    pub peak_kib: u64,
    /// New downlink blocks.
    pub blocks: u64,
    /// Downlink PDUs of RLC AM too small for data: a STATUS alone in its block.
    pub status_blocks: u64,
    /// By flow.
    pub flows: Vec<Ns3Flow>,
}

impl Ns3Run {
    /// Goodput of all flows.
    pub fn goodput_mbps(&self) -> f64 {
        self.flows.iter().map(|f| f.goodput_mbps).sum()
    }
}

/// A pair of runs on one channel.
#[derive(Clone, Debug)]
pub struct Pair {
    /// What ran.
    pub job: Job,
    /// ns-3's.
    pub ns3: Ns3Run,
    /// The channel file that it wrote.
    pub channel: String,
}

/// Points of a series: seconds and value.
type Points = Vec<[f64; 2]>;

/// The rows of `kind` in a channel file, by UE. A row at the time of the one before replaces it.
fn rows(channel: &str, kind: &str) -> BTreeMap<usize, Points> {
    let mut by_ue: BTreeMap<usize, Points> = BTreeMap::new();
    for line in channel.lines() {
        let mut cells = line.split(',');
        let row = (
            cells.next(),
            cells.next().and_then(|c| c.parse().ok()),
            cells.next().and_then(|c| c.parse().ok()),
            cells.next().and_then(|c| c.parse().ok()),
        );
        let (Some(k), Some(ue), Some(time), Some(value)) = row else {
            continue;
        };
        if k != kind {
            continue;
        }
        let points = by_ue.entry(ue).or_default();
        match points.last_mut() {
            Some(last) if last[0] == time => last[1] = value,
            _ => points.push([time, value]),
        }
    }
    by_ue
}

/// Our scenario of a run of ns-3 on the channel that it wrote.
///
/// # Errors
/// Where the embedded scenario is broken (a defect) or the channel lacks a UE.
pub fn scenario(job: &Job, channel: &str) -> Result<Scenario, ScenarioError> {
    let mut s = Scenario::parse("beside-ns3", SCENARIO, Path::new("."))?;
    s.duration = Duration::from_secs(u64::from(job.seconds));
    job.case.controller.clone_into(&mut s.flows[0].controller);
    if let Bottleneck::Cell(cell) = &mut s.bottleneck
        && job.case.rlc == "am"
    {
        cell.rlc.mode = cell::RlcMode(Some(cell::Mode::Am));
    }
    let template = s.ues.remove(0);
    let mut series = rows(channel, "mcs");
    for number in 0..job.case.ues as usize {
        let points = series.remove(&number).ok_or_else(|| {
            ScenarioError::new(
                "channel",
                format!("no MCS of UE {number}"),
                "rows `mcs,ue,time_s,value` of every UE",
            )
        })?;
        s.ues.push(ue::Ue {
            channel: Channel::McsSeries(ue::McsSeries {
                file: None,
                points,
                repeat: false,
            }),
            ..template.clone()
        });
    }
    Ok(s)
}

/// A number that both programs give.
struct Figure {
    what: &'static str,
    unit: &'static str,
    /// What is required, whatever the reference's own spread: 5 % of goodput, 15 % of medians, 20 % of other quantiles.
    required: fn(f64) -> f64,
    ns3: fn(&Ns3Flow) -> Option<f64>,
    ours: fn(&FlowSummary) -> Option<f64>,
}

const FIGURES: [Figure; 8] = [
    Figure {
        what: "goodput",
        unit: "Mbit/s",
        required: |v| v * 0.05,
        ns3: |f| Some(f.goodput_mbps),
        ours: |f| Some(f.goodput_mbps),
    },
    Figure {
        what: "HoL p10",
        unit: "ms",
        required: |_| 5.0,
        ns3: |f| Some(f.hol_ms?.p10),
        ours: |f| Some(f.hol_ms?.p10),
    },
    Figure {
        what: "HoL p50",
        unit: "ms",
        required: |v| v * 0.15,
        ns3: |f| Some(f.hol_ms?.p50),
        ours: |f| Some(f.hol_ms?.p50),
    },
    Figure {
        what: "HoL p90",
        unit: "ms",
        required: |v| v * 0.20,
        ns3: |f| Some(f.hol_ms?.p90),
        ours: |f| Some(f.hol_ms?.p90),
    },
    Figure {
        what: "HoL p99",
        unit: "ms",
        required: |v| v * 0.20,
        ns3: |f| Some(f.hol_ms?.p99),
        ours: |f| Some(f.hol_ms?.p99),
    },
    Figure {
        what: "RTT p50",
        unit: "ms",
        required: |v| v * 0.15,
        ns3: |f| Some(f.rtt_ms?.p50),
        ours: |f| Some(f.rtt_ms?.p50),
    },
    Figure {
        what: "RTT p90",
        unit: "ms",
        required: |v| v * 0.20,
        ns3: |f| Some(f.rtt_ms?.p90),
        ours: |f| Some(f.rtt_ms?.p90),
    },
    Figure {
        what: "RTT p99",
        unit: "ms",
        required: |v| v * 0.20,
        ns3: |f| Some(f.rtt_ms?.p99),
        ours: |f| Some(f.rtt_ms?.p99),
    },
];

/// The mean over the flows.
fn mean<T>(flows: &[T], of: fn(&T) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = flows.iter().filter_map(of).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// How far one more run of the reference lies from its mean, 95 %: from repeats on the same channels. `groups` holds the
/// repeats of each channel.
fn prediction(groups: &[Vec<f64>]) -> Option<f64> {
    let freedom: usize = groups.iter().map(|g| g.len().saturating_sub(1)).sum();
    let total: usize = groups.iter().map(Vec::len).sum();
    if freedom == 0 {
        return None;
    }
    let squares: f64 = groups
        .iter()
        .map(|g| {
            let mean = g.iter().sum::<f64>() / g.len().max(1) as f64;
            g.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>()
        })
        .sum();
    let deviation = (squares / freedom as f64).sqrt();
    Some(t95(freedom) * deviation * (1.0 + 1.0 / total as f64).sqrt())
}

/// Runs ours on the channels of `pairs`, which are of one case, and compares.
///
/// # Errors
/// Where a run failed or was interrupted.
pub fn compare(
    pairs: &[Pair],
    progress: &(dyn Fn() -> Control + Sync),
) -> Result<Vec<Check>, ValidateError> {
    let jobs = crate::parallel::cores();
    let runs = crate::parallel::map(pairs.len(), jobs, |i| {
        let pair = &pairs[i];
        let scenario = scenario(&pair.job, &pair.channel)?;
        let seed = u64::from(pair.job.repeat);
        Ok(run_scenario(&scenario, seed, &mut |_| progress())?)
    });
    let runs: Vec<RunResult> = runs.into_iter().collect::<Result<_, ValidateError>>()?;
    Ok(checks(pairs, &runs))
}

/// What ns-3 counted over all runs of a case, in words.
pub fn remark(pairs: &[Pair]) -> String {
    let flows = || pairs.iter().flat_map(|p| &p.ns3.flows);
    let sum = |of: fn(&Ns3Flow) -> u64| flows().map(of).sum::<u64>();
    let mut text = format!(
        "ns-3: {} recoveries, {} of them within an RTT after the one before; {} timeouts; {} packets refused by RLC",
        sum(|f| u64::from(f.recoveries)),
        sum(|f| u64::from(f.again)),
        sum(|f| u64::from(f.timeouts)),
        sum(|f| f.dropped),
    );
    let blocks: u64 = pairs.iter().map(|p| p.ns3.blocks).sum();
    let status: u64 = pairs.iter().map(|p| p.ns3.status_blocks).sum();
    if status > 0 {
        let share = status as f64 / blocks.max(1) as f64 * 100.0;
        let _ = write!(
            text,
            "; {share:.1} % of its blocks held a STATUS and no data"
        );
    }
    text
}

fn checks(pairs: &[Pair], runs: &[RunResult]) -> Vec<Check> {
    let Some(case) = pairs.first().map(|p| p.job.case) else {
        return Vec::new();
    };
    FIGURES
        .iter()
        .map(|figure| {
            let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
            let (mut reference, mut ours) = (Vec::new(), Vec::new());
            for (pair, run) in pairs.iter().zip(runs) {
                let Some(value) = mean(&pair.ns3.flows, figure.ns3) else {
                    continue;
                };
                groups.entry(pair.job.place).or_default().push(value);
                reference.push(value);
                ours.extend(mean(&run.summary.flows, figure.ours));
            }
            let groups: Vec<Vec<f64>> = groups.into_values().collect();
            let name = format!("{}: {}", case.name, figure.what);
            let e = Estimate::of(&reference);
            let value = e.map_or(f64::NAN, |e| e.mean);
            let spread = prediction(&groups).unwrap_or(0.0);
            // Two decimals are enough to print.
            let tolerance = (spread.max((figure.required)(value)) * 100.0).round() / 100.0;
            let check = Check::of(
                name,
                figure.unit,
                value,
                Estimate::of(&ours),
                Tolerance::Absolute(tolerance),
            )
            .reference_interval(e.and_then(|e| e.half_width()));
            match case.cause {
                Some(cause) => check.where_missed(cause),
                None => check,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
