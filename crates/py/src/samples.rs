//! What controllers hear, as Python sees it: seconds, bytes and bits per second.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use slackwater_lab::control::{self, Cause, PathReport, Recovery};
use slackwater_lab::core::{Duration, Ecn as EcnField, Instant};

fn seconds(d: Duration) -> f64 {
    d.as_secs_f64()
}

/// The path and the host's state, after the event was applied.
#[pyclass(frozen, get_all, module = "slackwater")]
pub(crate) struct Path {
    srtt: f64,
    min_rtt: f64,
    mss: u32,
    wire_mss: u32,
    in_flight: u64,
}

impl From<&control::PathView> for Path {
    fn from(p: &control::PathView) -> Self {
        Self {
            srtt: seconds(p.srtt),
            min_rtt: seconds(p.min_rtt),
            mss: p.mss,
            wire_mss: p.wire_mss,
            in_flight: p.in_flight.get(),
        }
    }
}

/// A packet left.
#[pyclass(frozen, get_all, module = "slackwater")]
pub(crate) struct Sent {
    bytes: u64,
    retransmission: bool,
    after_idle: bool,
}

impl From<&control::Sent> for Sent {
    fn from(s: &control::Sent) -> Self {
        Self {
            bytes: s.bytes.get(),
            retransmission: s.retransmission,
            after_idle: s.after_idle,
        }
    }
}

/// A delivery-rate sample.
#[pyclass(frozen, get_all, module = "slackwater")]
#[derive(Clone)]
pub(crate) struct RateSample {
    delivered: u64,
    interval: f64,
    prior_delivered: u64,
    app_limited: bool,
    retransmitted: bool,
}

/// New packets by what their ECN field said.
#[pyclass(frozen, get_all, module = "slackwater")]
#[derive(Clone)]
pub(crate) struct Ecn {
    ce: u32,
    ect0: u32,
    ect1: u32,
}

/// Feedback arrived: one ACK.
#[pyclass(frozen, get_all, module = "slackwater")]
pub(crate) struct Ack {
    newly_acked: u64,
    cumulative: u64,
    newly_lost: u64,
    duplicated: u64,
    prior_in_flight: u64,
    rtt: Option<f64>,
    owd: Option<f64>,
    back: Option<f64>,
    rate: Option<RateSample>,
    ecn: Ecn,
    delivered: u64,
    lost: u64,
    app_limited: bool,
    cwnd_limited: bool,
    round_start: bool,
    recovery: &'static str,
    una: u64,
    next: u64,
}

impl From<&control::Ack> for Ack {
    fn from(a: &control::Ack) -> Self {
        Self {
            newly_acked: a.newly_acked.get(),
            cumulative: a.cumulative.get(),
            newly_lost: a.newly_lost.get(),
            duplicated: a.duplicated.get(),
            prior_in_flight: a.prior_in_flight.get(),
            rtt: a.rtt.map(seconds),
            owd: a.owd.map(seconds),
            back: a.back.map(seconds),
            rate: a.rate.as_ref().map(|r| RateSample {
                delivered: r.delivered.get(),
                interval: seconds(r.interval),
                prior_delivered: r.prior_delivered.get(),
                app_limited: r.app_limited,
                retransmitted: r.retransmitted,
            }),
            ecn: Ecn {
                ce: a.ecn.ce,
                ect0: a.ecn.ect0,
                ect1: a.ecn.ect1,
            },
            delivered: a.delivered.get(),
            lost: a.lost.get(),
            app_limited: a.app_limited,
            cwnd_limited: a.cwnd_limited,
            round_start: a.round_start,
            recovery: match a.recovery {
                Recovery::Open => "open",
                Recovery::Disorder => "disorder",
                Recovery::Cwr => "cwr",
                Recovery::Fast => "fast",
                Recovery::Timeout => "timeout",
            },
            una: a.una,
            next: a.next,
        }
    }
}

/// A congestion event.
#[pyclass(frozen, get_all, module = "slackwater")]
pub(crate) struct CongestionEvent {
    cause: &'static str,
    lost: u64,
    in_flight: u64,
    next: u64,
}

impl From<&control::CongestionEvent> for CongestionEvent {
    fn from(e: &control::CongestionEvent) -> Self {
        Self {
            cause: match e.cause {
                Cause::Loss => "loss",
                Cause::Ecn => "ecn",
                Cause::Timeout => "timeout",
            },
            lost: e.lost.get(),
            in_flight: e.in_flight.get(),
            next: e.next,
        }
    }
}

/// One packet of an RTCP report.
#[pyclass(frozen, get_all, module = "slackwater")]
pub(crate) struct PacketReport {
    seq: u64,
    sent: f64,
    arrived: Option<f64>,
    bytes: u64,
    ecn: &'static str,
}

/// One RTCP report: the packets that it speaks of.
#[pyclass(frozen, get_all, module = "slackwater")]
pub(crate) struct Feedback {
    packets: Vec<Py<PacketReport>>,
    app_limited: bool,
}

impl Feedback {
    pub(crate) fn new(py: Python<'_>, feedback: &control::Feedback<'_>) -> PyResult<Self> {
        let packets = feedback.packets.iter().map(|p| {
            let packet = PacketReport {
                seq: p.seq,
                sent: p.sent.as_secs_f64(),
                arrived: p.arrived.map(Instant::as_secs_f64),
                bytes: p.bytes.get(),
                ecn: match p.ecn {
                    EcnField::NotEct => "not-ect",
                    EcnField::Ect0 => "ect0",
                    EcnField::Ect1 => "ect1",
                    EcnField::Ce => "ce",
                },
            };
            Py::new(py, packet)
        });
        Ok(Self {
            packets: packets.collect::<PyResult<_>>()?,
            app_limited: feedback.app_limited,
        })
    }
}

/// Explicit feedback as a dict; empty for what this version does not know.
pub(crate) fn report<'py>(py: Python<'py>, report: &PathReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    match *report {
        PathReport::Share {
            rate,
            hol_delay,
            seq,
            shared,
        } => {
            dict.set_item("kind", "share")?;
            dict.set_item("rate", rate.as_bps())?;
            dict.set_item("hol_delay", seconds(hol_delay))?;
            dict.set_item("seq", seq)?;
            dict.set_item("shared", shared)?;
        }
        PathReport::TransportBlocks { bytes, span, end } => {
            dict.set_item("kind", "transport_blocks")?;
            dict.set_item("bytes", bytes.get())?;
            dict.set_item("span", seconds(span))?;
            dict.set_item("end", end)?;
        }
        PathReport::MarkingScheme(scheme) => {
            dict.set_item("kind", "marking_scheme")?;
            dict.set_item("low", seconds(scheme.low))?;
            dict.set_item("high", seconds(scheme.high))?;
        }
        PathReport::ThroughputAdvice { max } => {
            dict.set_item("kind", "throughput_advice")?;
            dict.set_item("max", max.as_bps())?;
        }
        PathReport::Counters(counters) => {
            dict.set_item("kind", "counters")?;
            dict.set_item("stamp", counters.stamp)?;
            dict.set_item("gone", counters.gone)?;
            dict.set_item("offered", counters.offered)?;
            dict.set_item("dropped", counters.dropped)?;
            dict.set_item("backlog", counters.backlog)?;
            dict.set_item("company", counters.company)?;
            dict.set_item("hol", seconds(counters.hol))?;
            dict.set_item("active", counters.active)?;
            dict.set_item("upload", counters.upload)?;
        }
        PathReport::Own { kind, value } => {
            dict.set_item("kind", "own")?;
            dict.set_item("number", kind)?;
            dict.set_item("value", value)?;
        }
        _ => {}
    }
    Ok(dict)
}

/// What a controller is built from.
#[pyclass(frozen, get_all, module = "slackwater")]
pub(crate) struct Config {
    mss: u32,
    initial_window: u32,
    initial_ssthresh: Option<u32>,
    start_rate: u64,
    least_rate: u64,
    most_rate: u64,
    service: Option<f64>,
    seed: u64,
}

impl From<&control::Config> for Config {
    fn from(c: &control::Config) -> Self {
        Self {
            mss: c.mss,
            initial_window: c.initial_window,
            initial_ssthresh: c.initial_ssthresh,
            start_rate: c.encoder.start.as_bps(),
            least_rate: c.encoder.least.as_bps(),
            most_rate: c.encoder.most.as_bps(),
            service: c.service.map(seconds),
            seed: c.draw.bits(0),
        }
    }
}
