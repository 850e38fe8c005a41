//! Queue laws apart from queue containers.
//!
//! A [`Law`] is told a delay (sojourn, RLC head-of-line, or an average RTT minus the path's) and answers pass, mark or
//! drop. A container ([`Queue`]) holds packets, asks its law, and reports every drop and mark to a [`Sink`].

pub mod config;
pub mod container;
pub mod law;

pub use config::{
    AnyLaw, AnyQueue, ContainerConfig, DualQConfig, FifoConfig, FqConfig, LawConfig, QueueConfig,
};
pub use container::{
    DualQ, DualQShape, Fifo, Fq, FqShape, Limits, Overflow, Scheduler, Shaper, ShaperConfig,
};
pub use law::{
    Codel, CodelConfig, NoLaw, Pi2, Pi2Config, Pie, PieConfig, Ramp, RampConfig, RampDelay,
    RampMode, RampOthers, RampTarget,
};

use slackwater_core::record::DropReason;
use slackwater_core::{Bytes, Duration, Ecn, Instant, PacketView};

/// What a law decides about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it pass.
    Pass,
    /// Signal congestion: mark where the packet is ECN-capable, drop elsewhere (RFC 3168, 5).
    Mark,
    /// Drop whatever the ECN field says.
    Drop,
}

/// The state of the queue that a law may look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueView {
    /// Bytes waiting (on enqueue: before the packet; on dequeue: after it left).
    pub bytes: Bytes,
    /// Packets waiting, likewise.
    pub packets: u32,
}

/// What a law may know of the packet in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketMeta {
    /// IP bytes.
    pub len: u32,
    /// Its ECN field.
    pub ecn: Ecn,
}

impl PacketMeta {
    /// The metadata of `packet`.
    #[inline]
    pub fn of(packet: &impl PacketView) -> Self {
        Self {
            len: packet.len(),
            ecn: packet.ecn(),
        }
    }
}

/// An active queue management algorithm, free of any container. `now` never goes backwards between calls.
pub trait Law: Send {
    /// A packet is about to be queued. `delay` is the queue's present delay (head-of-line age or an estimate).
    fn on_enqueue(
        &mut self,
        _now: Instant,
        _delay: Duration,
        _queue: &QueueView,
        _packet: &PacketMeta,
    ) -> Verdict {
        Verdict::Pass
    }
    /// A packet that waited `delay` is about to leave.
    fn on_dequeue(
        &mut self,
        _now: Instant,
        _delay: Duration,
        _queue: &QueueView,
        _packet: &PacketMeta,
    ) -> Verdict {
        Verdict::Pass
    }
    /// A packet reached the other end of a radio link `delay` after it was queued. Only radio link control asks, and a drop
    /// is too late there.
    fn on_delivered(&mut self, _now: Instant, _delay: Duration, _packet: &PacketMeta) -> Verdict {
        Verdict::Pass
    }
    /// The queue was asked for a packet and had none.
    fn on_empty(&mut self, _now: Instant) {}
}

/// Where a container tells of drops and marks.
pub trait Sink<P> {
    /// `packet` was dropped.
    fn dropped(&mut self, now: Instant, packet: &P, reason: DropReason);
    /// `packet` was marked CE and goes on.
    fn marked(&mut self, now: Instant, packet: &P);
}

/// Listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSink;

impl<P> Sink<P> for NoSink {
    fn dropped(&mut self, _now: Instant, _packet: &P, _reason: DropReason) {}
    fn marked(&mut self, _now: Instant, _packet: &P) {}
}

/// A container of packets.
pub trait Queue<P: PacketView> {
    /// Takes `packet`, or drops it (or another) and tells `sink`.
    fn enqueue(&mut self, now: Instant, packet: P, sink: &mut dyn Sink<P>);
    /// Hands out the next packet and the time at which it was queued.
    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<(P, Instant)>;
    /// What waits.
    fn backlog(&self) -> QueueView;
    /// When the oldest waiting packet was queued.
    fn head_since(&self) -> Option<Instant>;
    /// The earliest time at which [`Queue::dequeue`] can return a packet; `None` where nothing waits.
    fn next_ready(&self, now: Instant) -> Option<Instant> {
        (self.backlog().packets > 0).then_some(now)
    }
}
