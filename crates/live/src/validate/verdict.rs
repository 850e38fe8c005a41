//! When a difference counts, written before the first run.
//!
//! A repeat is a pair: one seed, one channel, simulated and with the kernel's senders. The mean difference over the
//! repeats holds where it lies within the half-width of its own 95 % interval (Student's t over the pairs), which is what
//! the spread of the repeats alone explains, plus a floor: what the set-up cannot tell apart, however often it repeats.
//!
//! | metric | floor |
//! |---|---|
//! | goodput, share of the second flow | 0.5 %: the emulator is held to 99.5 % of a link's opportunities (docs/emulate.md) |
//! | delays, RTT | the time of one packet or slot at the bottleneck, since the phase of real arrivals against them is left to chance, plus 0.11 ms that the emulator and the hosts add (99 %); for the queue delay plus 0.8 %, a bucket of its histogram |
//! | retransmissions, marks | 5 packets: one for each event of congestion in a run of 25 s, as phases decide which packet finds the queue full |
//!
//! With 95 % intervals one row in twenty would miss by chance if there were no floor.

use serde::Serialize;
use slackwater_results::metrics::summary::{FlowSummary, RunSummary};
use slackwater_results::metrics::{Estimate, paired};
use slackwater_scenario::link::Link;
use slackwater_scenario::{Bottleneck, Scenario};

use super::Group;

/// What emulator and hosts add to a delay, ms (99 %).
const ADDED_MS: f64 = 0.11;
/// Share of a rate that the emulator may miss.
const RATE: f64 = 0.005;
/// Width of a histogram's bucket over its value (`metrics::Histogram`).
const BUCKET: f64 = 1.0 / 128.0;
/// Packets lost or marked more or less, by the phase of arrivals.
const PACKETS: f64 = 5.0;

/// A number of a run that is compared.
#[derive(Clone, Copy)]
struct Metric {
    what: &'static str,
    unit: &'static str,
    pick: fn(&RunSummary) -> Option<f64>,
    floor: Floor,
}

/// What the set-up cannot tell apart.
#[derive(Clone, Copy)]
enum Floor {
    /// Of a rate: a share of the kernel's.
    Rate,
    /// Of a delay.
    Delay,
    /// Of a delay whose quantiles come from a histogram.
    Counted,
    /// Of a number of packets, for each 25 s of a run.
    Packets,
}

/// The mean over the flows.
fn mean(run: &RunSummary, pick: impl Fn(&FlowSummary) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = run.flows.iter().filter_map(pick).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn sum(run: &RunSummary, pick: impl Fn(&FlowSummary) -> u64) -> f64 {
    run.flows.iter().map(pick).sum::<u64>() as f64
}

/// In the order of the tables. One that a run does not have, or that is zero in all runs of both, has no row.
const METRICS: [Metric; 10] = [
    Metric {
        what: "goodput",
        unit: "Mbit/s",
        pick: |r| Some(r.flows.iter().map(|f| f.goodput_mbps).sum()),
        floor: Floor::Rate,
    },
    Metric {
        what: "share of the second flow",
        unit: "%",
        pick: |r| {
            let all: f64 = r.flows.iter().map(|f| f.goodput_mbps).sum();
            Some(r.flows.get(1)?.goodput_mbps / all * 100.0)
        },
        floor: Floor::Rate,
    },
    Metric {
        what: "queue delay p50",
        unit: "ms",
        pick: |r| mean(r, |f| Some(f.queue_delay_ms?.p50)),
        floor: Floor::Counted,
    },
    Metric {
        what: "queue delay p95",
        unit: "ms",
        pick: |r| mean(r, |f| Some(f.queue_delay_ms?.p95)),
        floor: Floor::Counted,
    },
    Metric {
        what: "HoL p50",
        unit: "ms",
        pick: |r| {
            // A link's is its queue delay.
            r.flows.first()?.ue?;
            mean(r, |f| Some(f.hol_ms?.p50))
        },
        floor: Floor::Delay,
    },
    Metric {
        what: "RTT p50",
        unit: "ms",
        pick: |r| mean(r, |f| Some(f.srtt_ms?.p50)),
        floor: Floor::Delay,
    },
    Metric {
        what: "RTT p95",
        unit: "ms",
        pick: |r| mean(r, |f| Some(f.srtt_ms?.p95)),
        floor: Floor::Delay,
    },
    Metric {
        what: "packets lost",
        unit: "",
        pick: |r| Some(sum(r, |f| f.drops.values().sum())),
        floor: Floor::Packets,
    },
    Metric {
        what: "retransmissions",
        unit: "",
        pick: |r| Some(sum(r, |f| f.retransmits)),
        floor: Floor::Packets,
    },
    Metric {
        what: "marks",
        unit: "",
        pick: |r| Some(sum(r, |f| f.marks)),
        floor: Floor::Packets,
    },
];

/// One number of a group, simulated beside the kernel's, and the verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What it is.
    pub what: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Simulated, over the repeats that count.
    pub simulated: Estimate,
    /// With the kernel's senders.
    pub kernel: Estimate,
    /// The mean of simulated less kernel, repeat by repeat.
    pub difference: f64,
    /// Half-width of its 95 % interval; none for one repeat.
    pub interval: Option<f64>,
    /// What the set-up cannot tell apart.
    pub floor: f64,
    /// The difference lies within both together.
    pub holds: bool,
}

impl Row {
    /// How far the simulation may lie from the kernel.
    pub fn tolerance(&self) -> f64 {
        self.interval.unwrap_or(0.0) + self.floor
    }

    /// The difference in percent of the kernel's number; none of zero.
    pub fn percent(&self) -> Option<f64> {
        (self.kernel.mean != 0.0).then(|| self.difference / self.kernel.mean * 100.0)
    }
}

/// The rows of a group, over the repeats of which both halves count.
pub fn judge(group: &Group) -> Vec<Row> {
    let pairs: Vec<_> = group
        .pairs
        .iter()
        .filter_map(|p| Some((&p.simulated, p.kernel.as_ref()?)))
        .collect();
    let row = |m: &Metric| {
        let both = |(s, k): &(&RunSummary, &RunSummary)| Some(((m.pick)(s)?, (m.pick)(k)?));
        let (simulated, kernel): (Vec<f64>, Vec<f64>) = pairs.iter().filter_map(both).unzip();
        if simulated.iter().chain(&kernel).all(|v| *v == 0.0) {
            return None;
        }
        let difference = paired(&simulated, &kernel)?.difference;
        let kernel = Estimate::of(&kernel)?;
        let seconds = pairs.first().map_or(0.0, |p| p.1.duration_s);
        let floor = match m.floor {
            Floor::Rate => RATE * kernel.mean,
            Floor::Delay => group.grain_ms + ADDED_MS,
            Floor::Counted => group.grain_ms + ADDED_MS + BUCKET * kernel.mean,
            Floor::Packets => PACKETS * (seconds / 25.0).max(1.0),
        };
        let tolerance = difference.half_width().unwrap_or(0.0) + floor;
        Some(Row {
            what: m.what,
            unit: m.unit,
            simulated: Estimate::of(&simulated)?,
            kernel,
            difference: difference.mean,
            interval: difference.half_width(),
            floor,
            holds: difference.mean.abs() <= tolerance,
        })
    };
    METRICS.iter().filter_map(row).collect()
}

/// Time of one packet of 1,500 bytes at the mean rate of a link, or of one slot of a cell, in ms.
pub(super) fn grain_ms(scenario: &Scenario) -> f64 {
    let packet = |mbps: f64| 1_500.0 * 8.0 / 1_000.0 / mbps;
    match &scenario.bottleneck {
        // TS 38.211, 4.3.2: a slot of 15 kHz takes 1 ms.
        Bottleneck::Cell(cell) => 15e3 / cell.scs.get() as f64,
        Bottleneck::Link(link) => match link.as_ref() {
            Link::Rate(link) => packet(link.rate.as_bps() as f64 / 1e6),
            Link::Trace(link) => {
                let times = &link.file.opportunities;
                times
                    .last()
                    .map_or(0.0, |end| *end as f64 / times.len() as f64)
            }
            Link::Series(link) => {
                let rates = link.rates();
                let sum: f64 = rates.iter().map(|(_, r)| r.as_bps() as f64 / 1e6).sum();
                packet(sum / rates.len().max(1) as f64)
            }
        },
    }
}
