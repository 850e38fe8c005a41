//! What happened, told to whoever listens. Records never feed back into a model.

use crate::ids::{FlowId, NodeId};
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Rate};

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The buffer's limit was reached.
    Full,
    /// A queue law decided so.
    Law,
    /// The PDCP discard timer ran out (TS 38.323, 5.3).
    Discard,
    /// All HARQ transmissions failed and RLC does not retransmit.
    Radio,
    /// Random loss of a wired link.
    Random,
    /// No route, or the run's topology gave it nowhere to go.
    NoRoute,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// A host emitted it.
    Sent,
    /// It left the queue of a node after `sojourn`.
    Dequeued {
        /// Time between its arrival in the queue and the start of its transmission.
        sojourn: Duration,
        /// Time from then until now, where the node knows it: a cell's, with all transmissions of HARQ and RLC.
        radio: Option<Duration>,
    },
    /// It reached the receiving host.
    Delivered,
    /// It was dropped.
    Dropped(DropReason),
    /// A queue set CE.
    Marked,
}

/// A sender's state at a sampling instant. Counters count from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FlowSample {
    /// Congestion window in bytes.
    pub cwnd: Bytes,
    /// Slow-start threshold in bytes, where the controller has one.
    pub ssthresh: Option<Bytes>,
    /// Bytes in flight (RFC 6675 pipe).
    pub in_flight: Bytes,
    /// Smoothed RTT (RFC 6298).
    pub srtt: Duration,
    /// Latest RTT sample.
    pub rtt: Duration,
    /// Least RTT seen.
    pub min_rtt: Duration,
    /// Pacing rate, where the sender paces.
    pub pacing: Option<Rate>,
    /// Payload rate that an encoder aims at, where there is one.
    pub target: Option<Rate>,
    /// Payload bytes cumulatively acknowledged.
    pub acked: Bytes,
    /// Payload bytes handed to the receiving application.
    pub delivered: Bytes,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Why its transport has closed the connection, where it has: nothing is sent any more.
    pub closed: Option<&'static str>,
}

/// A link's or bearer's state at a sampling instant. Counters count from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LinkSample {
    /// Bytes waiting.
    pub backlog: Bytes,
    /// Packets waiting.
    pub packets: u32,
    /// Age of the oldest waiting packet (zero where none waits).
    pub hol: Duration,
    /// Bytes that the link could have carried so far.
    pub capacity: Bytes,
    /// Bytes that it did carry so far.
    pub carried: Bytes,
}

/// A frame of real-time media that the receiver showed or gave up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// Its number.
    pub number: u32,
    /// A key frame.
    pub key: bool,
    /// When it was captured; zero where none of its packets arrived.
    pub captured: Instant,
    /// When the last of its packets that arrived had left the sender, past the pacer.
    pub sent: Instant,
    /// When it was complete; `None`: never.
    pub completed: Option<Instant>,
    /// When it was shown; `None`: never.
    pub shown: Option<Instant>,
    /// Payload bytes that arrived.
    pub bytes: Bytes,
    /// Packets that it has, where one arrived.
    pub packets: u32,
    /// Of those, how many arrived.
    pub arrived: u32,
    /// Of those, how many were sent again.
    pub retransmitted: u32,
    /// Complete only after the deadline, or never.
    pub late: bool,
    /// The picture stood still for so long before it, where that was a freeze.
    pub frozen: Duration,
}

impl Frame {
    /// Time from capture until the frame was complete.
    pub fn delay(&self) -> Option<Duration> {
        Some(self.completed?.since(self.captured))
    }
}

/// Listens to a run. Every method does nothing unless implemented, so a lean run costs nothing.
pub trait Recorder {
    /// Something happened to `packet` at `node` (hosts report the node of their first or last hop).
    #[inline]
    fn packet(&mut self, _now: Instant, _node: NodeId, _packet: &Packet, _event: PacketEvent) {}
    /// True where it must hear of everything in the order of time. Else what a cell drops or marks as it arrives is told
    /// when the cell takes it, up to a slot later (with the right time), which costs less.
    fn in_order(&self) -> bool {
        false
    }
    /// How often [`Recorder::flow`] and [`Recorder::link`] want to be called; `None` for never.
    fn sampling(&self) -> Option<Duration> {
        None
    }
    /// A sender's state, each sampling period.
    fn flow(&mut self, _now: Instant, _flow: FlowId, _sample: &FlowSample) {}
    /// The controller's named internals, each sampling period (see `Controller::snapshot`).
    fn internals(&mut self, _now: Instant, _flow: FlowId, _values: &[(&'static str, f64)]) {}
    /// A link's or bearer's state, each sampling period. `index` tells bearers of one cell apart.
    fn link(&mut self, _now: Instant, _node: NodeId, _index: u32, _sample: &LinkSample) {}
    /// `bytes` of a message of `flow` that was handed to the transport at `start` reached the receiving application now,
    /// in order. Not told of datagrams, whose packets say as much, nor of bytes that arrive before their message ends.
    #[inline]
    fn piece(&mut self, _now: Instant, _flow: FlowId, _start: Instant, _bytes: Bytes) {}
    /// A finite transfer or chunk of `flow` that was handed to the transport at `start` ended now.
    fn transfer(&mut self, _now: Instant, _flow: FlowId, _start: Instant, _bytes: Bytes) {}
    /// The receiver of `flow` showed a frame of media, or gave one up.
    fn frame(&mut self, _now: Instant, _flow: FlowId, _frame: &Frame) {}
}

/// Listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRecorder;

impl Recorder for NoRecorder {}
