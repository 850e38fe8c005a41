//! One ring, first in, first out.

use std::collections::VecDeque;

use slackwater_core::record::DropReason;
use slackwater_core::{Bytes, Duration, Instant, PacketView};

use super::carry_out;
use crate::{Law, PacketMeta, Queue, QueueView, Sink, Verdict};

/// How much may wait. A limit counts waiting packets, not the one that a link is sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// At most this many packets; `None` for any number.
    pub packets: Option<u32>,
    /// At most this many bytes; `None` for any amount.
    pub bytes: Option<Bytes>,
}

impl Limits {
    /// A limit in packets alone.
    pub const fn packets(n: u32) -> Self {
        Self {
            packets: Some(n),
            bytes: None,
        }
    }

    /// A limit in bytes alone.
    pub const fn bytes(n: Bytes) -> Self {
        Self {
            packets: None,
            bytes: Some(n),
        }
    }

    /// Both limits: the lower of each kind.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        let lower = |a: Option<u32>, b: Option<u32>| a.into_iter().chain(b).min();
        let fewer = |a: Option<Bytes>, b: Option<Bytes>| a.into_iter().chain(b).min();
        Self {
            packets: lower(self.packets, other.packets),
            bytes: fewer(self.bytes, other.bytes),
        }
    }

    /// True where `packets` and `bytes` may wait together.
    #[inline]
    pub fn allow(&self, packets: u32, bytes: Bytes) -> bool {
        self.packets.is_none_or(|limit| packets <= limit)
            && self.bytes.is_none_or(|limit| bytes <= limit)
    }
}

/// Which packet goes where the limit is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The one that arrives.
    #[default]
    Tail,
    /// The oldest, as many as it takes: the sender learns of the loss a queue's delay sooner.
    Head,
}

/// A FIFO with limits and a law.
#[derive(Debug)]
pub struct Fifo<P, L> {
    /// In the order in which [`Queue::dequeue`] returns them, so that a packet is moved out once.
    ring: VecDeque<(P, Instant)>,
    bytes: Bytes,
    limits: Limits,
    overflow: Overflow,
    law: L,
}

impl<P: PacketView, L: Law> Fifo<P, L> {
    /// An empty queue.
    pub const fn new(limits: Limits, overflow: Overflow, law: L) -> Self {
        Self {
            ring: VecDeque::new(),
            bytes: Bytes::ZERO,
            limits,
            overflow,
            law,
        }
    }

    /// The law.
    pub const fn law(&self) -> &L {
        &self.law
    }

    #[inline]
    fn view(&self) -> QueueView {
        QueueView {
            bytes: self.bytes,
            packets: self.ring.len() as u32,
        }
    }

    #[inline]
    fn fits(&self, len: Bytes) -> bool {
        self.limits
            .allow(self.ring.len() as u32 + 1, self.bytes + len)
    }

    #[cold]
    fn drop_oldest(&mut self, now: Instant, reason: DropReason, sink: &mut dyn Sink<P>) {
        let (packet, _) = self
            .ring
            .pop_front()
            .expect("an empty queue has room for any packet that it accepts");
        self.bytes -= Bytes(u64::from(packet.len()));
        sink.dropped(now, &packet, reason);
    }
}

impl<P: PacketView, L: Law> Queue<P> for Fifo<P, L> {
    #[inline]
    fn enqueue(&mut self, now: Instant, mut packet: P, sink: &mut dyn Sink<P>) {
        let meta = PacketMeta::of(&packet);
        let len = Bytes(u64::from(meta.len));
        if !self.fits(len) && (self.overflow == Overflow::Tail || !self.limits.allow(1, len)) {
            sink.dropped(now, &packet, DropReason::Full);
            return;
        }
        let delay = self
            .ring
            .front()
            .map_or(Duration::ZERO, |(_, since)| now.since(*since));
        let verdict = self.law.on_enqueue(now, delay, &self.view(), &meta);
        if verdict != Verdict::Pass && !carry_out(verdict, now, &mut packet, sink) {
            return;
        }
        while !self.fits(len) {
            self.drop_oldest(now, DropReason::Full, sink);
        }
        self.bytes += len;
        self.ring.push_back((packet, now));
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<(P, Instant)> {
        loop {
            let left = QueueView {
                bytes: self.bytes,
                packets: self.ring.len() as u32,
            };
            let Some((packet, since)) = self.ring.front_mut() else {
                self.law.on_empty(now);
                return None;
            };
            let meta = PacketMeta::of(packet);
            let left = QueueView {
                bytes: left.bytes - Bytes(u64::from(meta.len)),
                packets: left.packets - 1,
            };
            let verdict = self.law.on_dequeue(now, now.since(*since), &left, &meta);
            let passes = verdict == Verdict::Pass || carry_out(verdict, now, packet, sink);
            self.bytes = left.bytes;
            let head = self.ring.pop_front();
            if passes {
                return head;
            }
        }
    }

    #[inline]
    fn backlog(&self) -> QueueView {
        self.view()
    }

    #[inline]
    fn head_since(&self) -> Option<Instant> {
        self.ring.front().map(|(_, since)| *since)
    }

    fn wants_capacity(&self) -> bool {
        self.law.wants_capacity()
    }

    fn on_capacity(&mut self, now: Instant, capacity: Bytes) {
        self.law.on_capacity(now, capacity);
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::{Datagram, Ecn, Packet};

    use super::*;
    use crate::NoSink;
    use crate::law::NoLaw;

    #[test]
    fn the_lower_of_two_limits_holds_for_packets_and_for_bytes() {
        let (packets, bytes) = (Limits::packets(10), Limits::bytes(Bytes(3_000)));
        for both in [packets.both(bytes), bytes.both(packets)] {
            assert!(both.allow(10, Bytes(3_000)));
            assert!(!both.allow(11, Bytes(40)) && !both.allow(2, Bytes(3_001)));
        }
        let tighter = packets.both(Limits::packets(4));
        assert!(tighter.allow(4, Bytes(1 << 40)) && !tighter.allow(5, Bytes(40)));
    }

    fn packet(seq: u32, len: u16) -> Packet {
        Packet {
            body: Datagram::new(seq, 0).into(),
            len,
            ..Packet::default()
        }
    }

    #[derive(Default)]
    struct Log(Vec<(u32, &'static str)>);
    impl Sink<Packet> for Log {
        fn dropped(&mut self, _now: Instant, packet: &Packet, reason: DropReason) {
            let what = if reason == DropReason::Full {
                "full"
            } else {
                "law"
            };
            self.0.push((packet.number(), what));
        }
        fn marked(&mut self, _now: Instant, packet: &Packet) {
            self.0.push((packet.number(), "mark"));
        }
    }

    #[test]
    fn the_tail_or_the_head_goes_at_the_limit() {
        for (overflow, dropped, first) in [(Overflow::Tail, 3, 1), (Overflow::Head, 1, 2)] {
            let mut log = Log::default();
            let mut q = Fifo::new(Limits::packets(2), overflow, NoLaw);
            for seq in 1..=3 {
                q.enqueue(Instant::ZERO, packet(seq, 100), &mut log);
            }
            assert_eq!(log.0, [(dropped, "full")]);
            assert_eq!(q.backlog().packets, 2);
            let (p, since) = q
                .dequeue(Instant::from_millis(1), &mut log)
                .expect("two wait");
            assert_eq!((p.number(), since), (first, Instant::ZERO));
        }
    }

    #[test]
    fn a_packet_larger_than_the_byte_limit_goes_without_emptying_the_queue() {
        let mut log = Log::default();
        let mut q = Fifo::new(Limits::bytes(Bytes(1000)), Overflow::Head, NoLaw);
        q.enqueue(Instant::ZERO, packet(1, 600), &mut log);
        q.enqueue(Instant::ZERO, packet(2, 1001), &mut log);
        assert_eq!(log.0, [(2, "full")]);
        q.enqueue(Instant::ZERO, packet(3, 1000), &mut log);
        assert_eq!(log.0, [(2, "full"), (1, "full")]);
        assert_eq!(q.backlog().bytes, Bytes(1000));
    }

    struct Always(Verdict);
    impl Law for Always {
        fn on_dequeue(
            &mut self,
            _: Instant,
            _: Duration,
            _: &QueueView,
            _: &PacketMeta,
        ) -> Verdict {
            self.0
        }
    }

    #[test]
    fn a_mark_falls_on_capable_packets_and_drops_the_others() {
        let mut log = Log::default();
        let mut q = Fifo::new(Limits::default(), Overflow::Tail, Always(Verdict::Mark));
        for (seq, ecn) in [(1, Ecn::NotEct), (2, Ecn::Ect0), (3, Ecn::Ce)] {
            let mut p = packet(seq, 100);
            p.ecn = ecn;
            q.enqueue(Instant::ZERO, p, &mut log);
        }
        let (p, _) = q
            .dequeue(Instant::ZERO, &mut log)
            .expect("the second passes");
        assert_eq!((p.number(), p.ecn), (2, Ecn::Ce));
        let (p, _) = q
            .dequeue(Instant::ZERO, &mut log)
            .expect("the third passes");
        // Marked upstream, so not marked here.
        assert_eq!(p.ecn, Ecn::Ce);
        assert_eq!(log.0, [(1, "law"), (2, "mark")]);
        assert_eq!(q.dequeue(Instant::ZERO, &mut NoSink), None);
    }
}
