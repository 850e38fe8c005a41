//! Sampled values in columns: one vector a value, ready for Parquet and plots.

use slackwater_core::record::{FlowSample, LinkSample, PacketEvent};
use slackwater_core::{Duration, Instant, NodeId, Packet};

use super::drop_index;

/// A sender's state over time. NaN stands for "none".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// Nanoseconds since the start of the run.
    pub time: Vec<u64>,
    /// Congestion window in bytes.
    pub cwnd: Vec<u64>,
    /// Slow-start threshold in bytes.
    pub ssthresh: Vec<f64>,
    /// Bytes in flight.
    pub in_flight: Vec<u64>,
    /// Smoothed RTT in nanoseconds; 0 before the first sample.
    pub srtt: Vec<u64>,
    /// Latest RTT in nanoseconds.
    pub rtt: Vec<u64>,
    /// Least RTT in nanoseconds.
    pub min_rtt: Vec<u64>,
    /// Pacing rate in bit/s.
    pub pacing: Vec<f64>,
    /// Payload rate that an encoder aims at, in bit/s.
    pub target: Vec<f64>,
    /// Payload bytes acknowledged since the start.
    pub acked: Vec<u64>,
    /// Payload bytes handed to the receiving application since the start.
    pub delivered: Vec<u64>,
    /// Segments sent again since the start.
    pub retransmits: Vec<u64>,
    /// Timeouts since the start.
    pub timeouts: Vec<u64>,
}

impl FlowSeries {
    /// Its columns.
    pub(super) const COLUMNS: usize = 13;

    pub(super) fn push(&mut self, now: Instant, s: &FlowSample) {
        self.time.push(now.as_nanos());
        self.cwnd.push(s.cwnd.get());
        self.ssthresh
            .push(s.ssthresh.map_or(f64::NAN, |b| b.get() as f64));
        self.in_flight.push(s.in_flight.get());
        self.srtt.push(s.srtt.as_nanos());
        self.rtt.push(s.rtt.as_nanos());
        self.min_rtt.push(s.min_rtt.as_nanos());
        self.pacing
            .push(s.pacing.map_or(f64::NAN, |r| r.as_bps() as f64));
        self.target
            .push(s.target.map_or(f64::NAN, |r| r.as_bps() as f64));
        self.acked.push(s.acked.get());
        self.delivered.push(s.delivered.get());
        self.retransmits.push(s.retransmits);
        self.timeouts.push(s.timeouts);
    }

    /// Forgets every second sample, from the second one on.
    pub(super) fn thin(&mut self) {
        thin(&mut self.time);
        thin(&mut self.cwnd);
        thin(&mut self.ssthresh);
        thin(&mut self.in_flight);
        thin(&mut self.srtt);
        thin(&mut self.rtt);
        thin(&mut self.min_rtt);
        thin(&mut self.pacing);
        thin(&mut self.target);
        thin(&mut self.acked);
        thin(&mut self.delivered);
        thin(&mut self.retransmits);
        thin(&mut self.timeouts);
    }

    /// The samples taken from `from` to `to`, both included, as a range of indices.
    pub fn within(&self, from: Instant, to: Instant) -> core::ops::Range<usize> {
        within(&self.time, from, to)
    }
}

/// The controller's internals over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Internals {
    /// Nanoseconds since the start of the run.
    pub time: Vec<u64>,
    /// Name and values; a value that was not there at a time is NaN.
    pub columns: Vec<(&'static str, Vec<f64>)>,
}

impl Internals {
    pub(super) fn push(&mut self, now: Instant, values: &[(&'static str, f64)]) {
        if values.is_empty() {
            return;
        }
        self.time.push(now.as_nanos());
        let rows = self.time.len();
        for (i, (name, value)) in values.iter().enumerate() {
            // Controllers list their values in the same order each time.
            let at = match self.columns.get(i) {
                Some((n, _)) if n == name => Some(i),
                _ => self.columns.iter().position(|(n, _)| n == name),
            };
            let at = at.unwrap_or(self.columns.len());
            if at == self.columns.len() {
                self.columns.push((name, Vec::new()));
            }
            let column = &mut self.columns[at].1;
            column.resize(rows - 1, f64::NAN);
            column.push(*value);
        }
        for (_, column) in &mut self.columns {
            column.resize(rows, f64::NAN);
        }
    }

    /// Forgets every second sample, from the second one on.
    pub(super) fn thin(&mut self) {
        thin(&mut self.time);
        for (_, column) in &mut self.columns {
            thin(column);
        }
    }
}

/// A queue's state over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSeries {
    /// Nanoseconds since the start of the run.
    pub time: Vec<u64>,
    /// Bytes waiting.
    pub backlog: Vec<u64>,
    /// Packets waiting.
    pub packets: Vec<u32>,
    /// Age of the oldest waiting packet in nanoseconds.
    pub hol: Vec<u64>,
    /// Bytes that the link could have carried since the start.
    pub capacity: Vec<u64>,
    /// Bytes that it did carry since the start.
    pub carried: Vec<u64>,
}

impl LinkSeries {
    /// Its columns.
    pub(super) const COLUMNS: usize = 6;

    pub(super) fn push(&mut self, now: Instant, s: &LinkSample) {
        self.time.push(now.as_nanos());
        self.backlog.push(s.backlog.get());
        self.packets.push(s.packets);
        self.hol.push(s.hol.as_nanos());
        self.capacity.push(s.capacity.get());
        self.carried.push(s.carried.get());
    }

    /// Forgets every second sample, from the second one on.
    pub(super) fn thin(&mut self) {
        thin(&mut self.time);
        thin(&mut self.backlog);
        thin(&mut self.packets);
        thin(&mut self.hol);
        thin(&mut self.capacity);
        thin(&mut self.carried);
    }

    /// The samples taken from `from` to `to`, both included, as a range of indices.
    pub fn within(&self, from: Instant, to: Instant) -> core::ops::Range<usize> {
        within(&self.time, from, to)
    }
}

/// Keeps the first, the third, the fifth.
fn thin<T: Copy>(column: &mut Vec<T>) {
    let left = column.len().div_ceil(2);
    for k in 0..left {
        column[k] = column[2 * k];
    }
    column.truncate(left);
}

fn within(time: &[u64], from: Instant, to: Instant) -> core::ops::Range<usize> {
    let start = time.partition_point(|t| *t < from.as_nanos());
    let end = time.partition_point(|t| *t <= to.as_nanos());
    start..end.max(start)
}

/// One row for each packet event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PacketRows {
    /// Nanoseconds since the start of the run.
    pub time: Vec<u64>,
    /// Node.
    pub node: Vec<u32>,
    /// Flow.
    pub flow: Vec<u32>,
    /// 1 for packets that travel from the UE.
    pub up: Vec<u8>,
    /// Index into [`EVENT_NAMES`].
    pub event: Vec<u8>,
    /// Sequence number (TCP) or packet number (UDP).
    pub seq: Vec<u32>,
    /// IP bytes.
    pub len: Vec<u16>,
    /// Payload bytes.
    pub payload: Vec<u16>,
    /// ECN field.
    pub ecn: Vec<u8>,
    /// Sojourn of `dequeued`, one-way delay of `delivered`, in nanoseconds; 0 elsewhere.
    pub delay: Vec<u64>,
    /// Of `dequeued` in a cell the time from the first transmission until now, in nanoseconds; 0 elsewhere.
    pub radio: Vec<u64>,
}

/// Names of packet events, in the order of [`PacketRows::event`]: drops are told apart by reason.
pub const EVENT_NAMES: [&str; 10] = [
    "sent",
    "dequeued",
    "delivered",
    "marked",
    "dropped_full",
    "dropped_law",
    "dropped_discard",
    "dropped_radio",
    "dropped_random",
    "dropped_no_route",
];

impl PacketRows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// True where there is none.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }

    pub(super) fn push(&mut self, now: Instant, node: NodeId, p: &Packet, event: PacketEvent) {
        let (event, delay, radio) = match event {
            PacketEvent::Sent => (0, 0, 0),
            PacketEvent::Dequeued { sojourn, radio } => {
                let radio = radio.map_or(0, Duration::as_nanos);
                (1, sojourn.as_nanos(), radio)
            }
            PacketEvent::Delivered => (2, now.since(p.created).as_nanos(), 0),
            PacketEvent::Marked => (3, 0, 0),
            PacketEvent::Dropped(reason) => (4 + drop_index(reason) as u8, 0, 0),
        };
        self.time.push(now.as_nanos());
        self.node.push(node.0);
        self.flow.push(p.flow.0);
        self.up.push(p.dir as u8);
        self.event.push(event);
        self.seq.push(p.number());
        self.len.push(p.len);
        self.payload.push(p.payload());
        self.ecn.push(p.ecn as u8);
        self.delay.push(delay);
        self.radio.push(radio);
    }
}
