//! The metrics that tables, comparisons and reports show: name, unit, direction, definition, and where the number is.

use core::fmt::Write as _;

use crate::stats::Bounds;

use super::summary::{FlowSummary, MediaSummary, Quantiles, RunSummary};

/// Which direction is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Better {
    /// More.
    Higher,
    /// Less.
    Lower,
    /// Neither.
    Neither,
}

/// A metric of one flow or of a whole run.
#[derive(Clone, Copy)]
pub struct Metric {
    /// Name for code and JSON.
    pub key: &'static str,
    /// Name for tables.
    pub label: &'static str,
    /// Unit; empty for a number without one.
    pub unit: &'static str,
    /// Digits after the point in tables.
    pub decimals: usize,
    /// Which direction is good.
    pub better: Better,
    /// The definition.
    pub help: &'static str,
    /// The number.
    pub of: Source,
}

/// Where a metric's number is.
#[derive(Clone, Copy)]
pub enum Source {
    /// In each flow's summary.
    Flow(fn(&FlowSummary) -> Option<f64>),
    /// In the run's summary.
    Run(fn(&RunSummary) -> Option<f64>),
}

impl core::fmt::Debug for Metric {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Metric")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl Metric {
    /// The metric called `key`.
    pub fn find(key: &str) -> Option<&'static Self> {
        METRICS.iter().find(|m| m.key == key)
    }

    /// What values it can have: no metric is negative, and shares and indices end at one.
    pub fn bounds(&self) -> Bounds {
        match self.unit {
            "%" => Bounds::UpTo(100.0),
            _ if self.key.starts_with("jain") => Bounds::UpTo(1.0),
            _ => Bounds::Positive,
        }
    }

    /// The number for a whole run: its own, or the mean over its flows.
    pub fn of_run(&self, run: &RunSummary) -> Option<f64> {
        match self.of {
            Source::Run(f) => f(run),
            Source::Flow(f) => {
                let values: Vec<f64> = run.flows.iter().filter_map(f).collect();
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            }
        }
    }

    /// The number for one flow, where the metric has one.
    pub fn of_flow(&self, flow: &FlowSummary) -> Option<f64> {
        match self.of {
            Source::Flow(f) => f(flow),
            Source::Run(_) => None,
        }
    }
}

fn q(of: Option<&Quantiles>, pick: fn(&Quantiles) -> f64) -> Option<f64> {
    of.map(pick)
}

fn media(f: &FlowSummary, pick: fn(&MediaSummary) -> f64) -> Option<f64> {
    f.media.as_ref().map(pick)
}

fn frames(f: &FlowSummary, pick: fn(&Quantiles) -> f64) -> Option<f64> {
    q(f.media.as_ref()?.frame_delay_ms.as_ref(), pick)
}

macro_rules! metric {
    ($key:literal, $label:literal, $unit:literal, $decimals:literal, $better:ident, $of:expr, $help:literal) => {
        Metric {
            key: $key,
            label: $label,
            unit: $unit,
            decimals: $decimals,
            better: Better::$better,
            help: $help,
            of: $of,
        }
    };
}

/// Every metric, in the order of the tables.
pub const METRICS: &[Metric] = &[
    metric!(
        "goodput",
        "goodput",
        "Mbit/s",
        3,
        Higher,
        Source::Flow(|f| Some(f.goodput_mbps)),
        "Payload handed to the receiving application over the measured time of the flow (payload delivered, for datagrams)."
    ),
    metric!(
        "goodput_total",
        "total goodput",
        "Mbit/s",
        3,
        Higher,
        Source::Run(|r| Some(r.goodput_mbps)),
        "Sum of the flows' goodputs."
    ),
    metric!(
        "utilisation",
        "utilisation",
        "%",
        1,
        Higher,
        Source::Run(|r| r.utilisation.map(|u| u * 100.0)),
        "Bytes that the bottleneck carried over bytes that it could have carried, in the data's direction; of a cell as a whole, headers of blocks counted as carried."
    ),
    metric!(
        "srtt_mean",
        "mean srtt",
        "ms",
        1,
        Lower,
        Source::Flow(|f| q(f.srtt_ms.as_ref(), |s| s.mean)),
        "Mean of the smoothed round-trip time (RFC 6298) over the samples."
    ),
    metric!(
        "srtt_p50",
        "p50 srtt",
        "ms",
        1,
        Lower,
        Source::Flow(|f| q(f.srtt_ms.as_ref(), |s| s.p50)),
        "Median of the smoothed round-trip time over the samples."
    ),
    metric!(
        "srtt_p95",
        "p95 srtt",
        "ms",
        1,
        Lower,
        Source::Flow(|f| q(f.srtt_ms.as_ref(), |s| s.p95)),
        "95 % quantile of the smoothed round-trip time over the samples."
    ),
    metric!(
        "rtt_p50",
        "p50 RTT",
        "ms",
        1,
        Lower,
        Source::Flow(|f| q(f.rtt_ms.as_ref(), |r| r.p50)),
        "Median over the samples of the latest round-trip time that the sender measured, not smoothed."
    ),
    metric!(
        "rtt_p90",
        "p90 RTT",
        "ms",
        1,
        Lower,
        Source::Flow(|f| q(f.rtt_ms.as_ref(), |r| r.p90)),
        "90 % quantile over the samples of the latest round-trip time that the sender measured."
    ),
    metric!(
        "rtt_p99",
        "p99 RTT",
        "ms",
        1,
        Lower,
        Source::Flow(|f| q(f.rtt_ms.as_ref(), |r| r.p99)),
        "99 % quantile over the samples of the latest round-trip time that the sender measured."
    ),
    metric!(
        "queue_p50",
        "p50 queue",
        "ms",
        2,
        Lower,
        Source::Flow(|f| q(f.queue_delay_ms.as_ref(), |s| s.p50)),
        "Median over packets of the time in the bottleneck's queue, from arrival to the start of transmission."
    ),
    metric!(
        "queue_p95",
        "p95 queue",
        "ms",
        2,
        Lower,
        Source::Flow(|f| q(f.queue_delay_ms.as_ref(), |s| s.p95)),
        "95 % quantile over packets of the time in the bottleneck's queue."
    ),
    metric!(
        "queue_p99",
        "p99 queue",
        "ms",
        2,
        Lower,
        Source::Flow(|f| q(f.queue_delay_ms.as_ref(), |s| s.p99)),
        "99 % quantile over packets of the time in the bottleneck's queue."
    ),
    metric!(
        "one_way_p50",
        "p50 one-way",
        "ms",
        2,
        Lower,
        Source::Flow(|f| q(f.one_way_ms.as_ref(), |s| s.p50)),
        "Median over packets of the time from emission to arrival."
    ),
    metric!(
        "one_way_p95",
        "p95 one-way",
        "ms",
        2,
        Lower,
        Source::Flow(|f| q(f.one_way_ms.as_ref(), |s| s.p95)),
        "95 % quantile over packets of the time from emission to arrival."
    ),
    metric!(
        "one_way_p99",
        "p99 one-way",
        "ms",
        2,
        Lower,
        Source::Flow(|f| q(f.one_way_ms.as_ref(), |s| s.p99)),
        "99 % quantile over packets of the time from emission to arrival."
    ),
    metric!(
        "late_share",
        "late",
        "%",
        2,
        Lower,
        Source::Flow(|f| f.late_share.map(|s| s * 100.0)),
        "Share of delivered packets whose one-way delay exceeded record.late (D)."
    ),
    metric!(
        "hol_p50",
        "p50 HoL",
        "ms",
        1,
        Lower,
        Source::Flow(|f| q(f.hol_ms.as_ref(), |s| s.p50)),
        "Median over samples of the age of the oldest packet in the flow's queue (RLC head-of-line delay in a cell)."
    ),
    metric!(
        "hol_p90",
        "p90 HoL",
        "ms",
        1,
        Lower,
        Source::Flow(|f| q(f.hol_ms.as_ref(), |s| s.p90)),
        "90 % quantile over samples of the age of the oldest packet in the flow's queue."
    ),
    metric!(
        "over_budget",
        "over budget",
        "%",
        1,
        Lower,
        Source::Flow(|f| f.over_budget.map(|s| s * 100.0)),
        "Share of samples, that is of time, at which the age of the oldest packet exceeded record.budget (lambda)."
    ),
    metric!(
        "cwnd_p50",
        "p50 cwnd",
        "packets",
        0,
        Neither,
        Source::Flow(|f| q(f.cwnd_packets.as_ref(), |s| s.p50)),
        "Median over samples of the congestion window, in full segments."
    ),
    metric!(
        "cwnd_p95",
        "p95 cwnd",
        "packets",
        0,
        Neither,
        Source::Flow(|f| q(f.cwnd_packets.as_ref(), |s| s.p95)),
        "95 % quantile over samples of the congestion window, in full segments."
    ),
    metric!(
        "power",
        "power",
        "Mbit/s per s",
        1,
        Higher,
        Source::Flow(|f| Some(
            f.goodput_mbps * 1e3 / q(f.rtt_ms.as_ref(), |q| q.p50).filter(|rtt| *rtt > 0.0)?
        )),
        "Goodput over the median RTT (Kleinrock's power): greatest where a link is full and its queue empty."
    ),
    metric!(
        "loss",
        "loss",
        "%",
        3,
        Lower,
        Source::Flow(|f| Some(f.loss * 100.0)),
        "Data packets dropped anywhere over data packets sent, retransmissions included in both."
    ),
    metric!(
        "marks",
        "marked",
        "%",
        2,
        Neither,
        Source::Flow(|f| Some(f.mark_share * 100.0)),
        "Data packets marked CE over data packets sent."
    ),
    metric!(
        "retransmits",
        "retransmits",
        "",
        0,
        Lower,
        Source::Flow(|f| Some(f.retransmits as f64)),
        "Segments sent again in the measured time."
    ),
    metric!(
        "timeouts",
        "timeouts",
        "",
        0,
        Lower,
        Source::Flow(|f| Some(f.timeouts as f64)),
        "Retransmission timeouts in the measured time."
    ),
    metric!(
        "fct_p50",
        "p50 FCT",
        "ms",
        0,
        Lower,
        Source::Flow(|f| q(f.fct_ms.as_ref(), |s| s.p50)),
        "Median flow completion time: from handing the first byte of a finite transfer to the transport until its last byte arrived; of a web page, told by its first connection, from asking for the document until all objects are there."
    ),
    metric!(
        "fct_p95",
        "p95 FCT",
        "ms",
        0,
        Lower,
        Source::Flow(|f| q(f.fct_ms.as_ref(), |s| s.p95)),
        "95 % quantile of the flow completion time."
    ),
    metric!(
        "target",
        "mean target",
        "Mbit/s",
        3,
        Higher,
        Source::Flow(|f| q(f.media.as_ref()?.target_mbps.as_ref(), |s| s.mean)),
        "Mean over samples of the payload rate that the encoder of a media flow aims at."
    ),
    metric!(
        "received",
        "received",
        "Mbit/s",
        3,
        Higher,
        Source::Flow(|f| media(f, |m| m.received_mbps)),
        "IP bytes with media that arrived over the measured time of the flow (the aL4S-CC paper's received rate)."
    ),
    metric!(
        "tdq_20",
        "TDQ(20)",
        "s",
        2,
        Lower,
        Source::Flow(|f| media(f, |m| m.over_s[0])),
        "Time during which the queue delay of a media flow's packets was above 20 ms; a packet's delay holds until the next one leaves, 100 ms at most."
    ),
    metric!(
        "tdq_55",
        "TDQ(55)",
        "s",
        2,
        Lower,
        Source::Flow(|f| media(f, |m| m.over_s[1])),
        "Time during which the queue delay of a media flow's packets was above 55 ms; a packet's delay holds until the next one leaves, 100 ms at most."
    ),
    metric!(
        "tdq_145",
        "TDQ(145)",
        "s",
        2,
        Lower,
        Source::Flow(|f| media(f, |m| m.over_s[2])),
        "Time during which the queue delay of a media flow's packets was above 145 ms; a packet's delay holds until the next one leaves, 100 ms at most."
    ),
    metric!(
        "frame_p50",
        "p50 frame",
        "ms",
        1,
        Lower,
        Source::Flow(|f| frames(f, |s| s.p50)),
        "Median of the time from the capture of a frame until it was complete at the receiver."
    ),
    metric!(
        "frame_p95",
        "p95 frame",
        "ms",
        1,
        Lower,
        Source::Flow(|f| frames(f, |s| s.p95)),
        "95 % quantile of the time from the capture of a frame until it was complete at the receiver."
    ),
    metric!(
        "frame_p99",
        "p99 frame",
        "ms",
        1,
        Lower,
        Source::Flow(|f| frames(f, |s| s.p99)),
        "99 % quantile of the time from the capture of a frame until it was complete at the receiver."
    ),
    metric!(
        "late_frames",
        "late frames",
        "%",
        2,
        Lower,
        Source::Flow(|f| media(f, |m| m.late_share * 100.0)),
        "Frames that were complete after their deadline, or never, over all frames."
    ),
    metric!(
        "lost_frames",
        "lost frames",
        "%",
        2,
        Lower,
        Source::Flow(|f| media(f, |m| m.lost_share * 100.0)),
        "Frames that were never shown over all frames."
    ),
    metric!(
        "freezes",
        "freezes",
        "",
        0,
        Lower,
        Source::Flow(|f| media(f, |m| m.freezes as f64)),
        "Gaps between two shown frames of more than three mean gaps and more than 150 ms above the mean gap (W3C, freezeCount)."
    ),
    metric!(
        "frozen",
        "frozen",
        "%",
        2,
        Lower,
        Source::Flow(|f| media(f, |m| m.frozen_share * 100.0)),
        "Share of the measured time that those gaps took."
    ),
    metric!(
        "jain",
        "Jain (long-term)",
        "",
        3,
        Higher,
        Source::Run(|r| r.jain.map(|j| j.long_term)),
        "Jain's index of the payload that each flow with a controller delivered while all of them were on: (sum x)^2 / (n sum x^2)."
    ),
    metric!(
        "jain_1s",
        "Jain (mean of 1 s)",
        "",
        3,
        Higher,
        Source::Run(|r| r.jain.and_then(|j| j.mean_1s)),
        "Mean over the whole seconds of that window of Jain's index of each second."
    ),
    metric!(
        "jain_100ms",
        "Jain (mean of 100 ms)",
        "",
        3,
        Higher,
        Source::Run(|r| r.jain.and_then(|j| j.mean_100ms)),
        "Mean over the tenths of a second of that window of Jain's index of each."
    ),
];

/// The list for `docs/metrics.md`.
pub fn markdown() -> String {
    let mut out = String::from("| key | name | unit | of | meaning |\n|---|---|---|---|---|\n");
    for m in METRICS {
        let of = match m.of {
            Source::Flow(_) => "flow",
            Source::Run(_) => "run",
        };
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {of} | {} |",
            m.key, m.label, m.unit, m.help
        );
    }
    out
}
