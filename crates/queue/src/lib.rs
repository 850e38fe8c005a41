//! Queue laws apart from queue containers.
//!
//! A [`Law`] is given a delay (sojourn, RLC head-of-line, or an average RTT minus the path's) and answers pass, mark or
//! drop; [`admit`] carries that out. A container ([`Queue`]) holds packets, calls its law, and reports every drop and mark to
//! a [`Sink`].

pub mod config;
pub mod container;
pub mod law;
mod verdict;

pub use config::{AnyQueue, ContainerConfig, DualQConfig, FifoConfig, FqConfig, QueueConfig};
pub use container::{
    DualQ, DualQShape, Fifo, FlowQueue, FlowQueues, Fq, FqShape, Limits, Overflow, Scheduler,
    Shaper, ShaperConfig, Turns,
};
pub use law::{
    Abc, AbcConfig, AnyLaw, Codel, CodelConfig, LawConfig, NoLaw, OwnLaw, Pi2, Pi2Config, Pie,
    PieConfig, Ramp, RampConfig, RampDelay, RampMode, RampOthers, RampTarget,
};
pub use verdict::{Outcome, Verdict, admit};

use slackwater_core::record::DropReason;
use slackwater_core::{Bytes, Duration, Ecn, Instant, PacketView};

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
    /// A packet reached the other end of a radio link `delay` after it was queued. Only radio link control calls it, and a
    /// drop is too late there.
    fn on_delivered(&mut self, _now: Instant, _delay: Duration, _packet: &PacketMeta) -> Verdict {
        Verdict::Pass
    }
    /// A packet was to leave and none was there.
    fn on_empty(&mut self, _now: Instant) {}
    /// True where the law goes by what its link can carry: whoever serves the queue then calls [`Law::on_capacity`]
    /// before each dequeue, and for times without packets too.
    fn wants_capacity(&self) -> bool {
        false
    }
    /// From its beginning until `now` the link could have carried `capacity`, used or not.
    fn on_capacity(&mut self, _now: Instant, _capacity: Bytes) {}
    /// Someone who measures the path gives the delay and the time that suit it (`TARGET` and `INTERVAL` of RFC 8289).
    fn on_path(&mut self, _target: Duration, _interval: Duration) {}
    /// True while the law keeps signalling because the delay stays too long.
    fn is_dropping(&self) -> bool {
        false
    }
}

impl core::fmt::Debug for dyn Law {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Law")
    }
}

impl<L: Law + ?Sized> Law for Box<L> {
    fn on_enqueue(
        &mut self,
        now: Instant,
        delay: Duration,
        queue: &QueueView,
        packet: &PacketMeta,
    ) -> Verdict {
        (**self).on_enqueue(now, delay, queue, packet)
    }
    fn on_dequeue(
        &mut self,
        now: Instant,
        delay: Duration,
        queue: &QueueView,
        packet: &PacketMeta,
    ) -> Verdict {
        (**self).on_dequeue(now, delay, queue, packet)
    }
    fn on_delivered(&mut self, now: Instant, delay: Duration, packet: &PacketMeta) -> Verdict {
        (**self).on_delivered(now, delay, packet)
    }
    fn on_empty(&mut self, now: Instant) {
        (**self).on_empty(now);
    }
    fn wants_capacity(&self) -> bool {
        (**self).wants_capacity()
    }
    fn on_capacity(&mut self, now: Instant, capacity: Bytes) {
        (**self).on_capacity(now, capacity);
    }
    fn on_path(&mut self, target: Duration, interval: Duration) {
        (**self).on_path(target, interval);
    }
    fn is_dropping(&self) -> bool {
        (**self).is_dropping()
    }
}

/// Where a container reports drops and marks.
pub trait Sink<P> {
    /// `packet` was dropped.
    fn dropped(&mut self, now: Instant, packet: &P, reason: DropReason);
    /// `packet` was marked CE and goes on.
    fn marked(&mut self, now: Instant, packet: &P);
}

/// Ignores every report.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSink;

impl<P> Sink<P> for NoSink {
    fn dropped(&mut self, _now: Instant, _packet: &P, _reason: DropReason) {}
    fn marked(&mut self, _now: Instant, _packet: &P) {}
}

/// A container of packets.
pub trait Queue<P: PacketView> {
    /// Takes `packet`, or drops it (or another) and reports that to `sink`.
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
    /// As [`Law::wants_capacity`]. A queue of several rings says no: none of them has the link to itself.
    fn wants_capacity(&self) -> bool {
        false
    }
    /// As [`Law::on_capacity`].
    fn on_capacity(&mut self, _now: Instant, _capacity: Bytes) {}
}
