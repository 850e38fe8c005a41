//! Flow queues served in turns by deficit round robin, each with a law of its own (FQ-CoDel, RFC 8290).

use std::collections::VecDeque;

use slackwater_core::record::DropReason;
use slackwater_core::{Bytes, Draw, Duration, Instant, PacketView};

use super::{Limits, carry_out};
use crate::{Law, PacketMeta, Queue, QueueView, Sink, Verdict};

/// The shape of an [`Fq`]. The defaults are those of RFC 8290, 5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqShape {
    /// How many queues flows are hashed into (5.2.4); at least one.
    pub buckets: u32,
    /// Bytes that a queue may send in its turn: an MTU and the Ethernet header (5.2.3).
    pub quantum: Bytes,
    /// How much may wait in all queues together (5.2.2: 10,240 packets).
    pub limits: Limits,
    /// At most this many packets go from the fattest queue at an overflow, and at most half its bytes where that is
    /// more than one packet. RFC 8290, 4.1, drops one; Linux drops up to 64 so that a flood does not search the
    /// queues for each packet.
    pub drop_batch: u32,
}

impl Default for FqShape {
    fn default() -> Self {
        Self {
            buckets: 1024,
            quantum: Bytes(1514),
            limits: Limits {
                packets: Some(10_240),
                // RFC 8290 has none; Linux' memory_limit.
                bytes: Some(Bytes(32 << 20)),
            },
            drop_batch: 64,
        }
    }
}

/// The list that a bucket is on (RFC 8290, 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    None,
    New,
    Old,
}

#[derive(Debug)]
struct Bucket<P, L> {
    ring: VecDeque<(Instant, P)>,
    bytes: Bytes,
    /// Bytes that it may still send in this turn; a packet may overdraw it.
    deficit: i64,
    list: List,
    law: L,
}

impl<P: PacketView, L> Bucket<P, L> {
    fn view(&self) -> QueueView {
        QueueView {
            bytes: self.bytes,
            packets: self.ring.len() as u32,
        }
    }

    fn pop(&mut self) -> Option<(Instant, P)> {
        let (since, packet) = self.ring.pop_front()?;
        self.bytes -= Bytes(u64::from(packet.len()));
        Some((since, packet))
    }
}

/// Fair queues.
#[derive(Debug)]
pub struct Fq<P, L> {
    shape: FqShape,
    /// Perturbs the hash, so that flows that collide in one run do not in another (RFC 8290, 4.1.1).
    perturbation: Draw,
    buckets: Vec<Bucket<P, L>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    total: QueueView,
}

impl<P: PacketView, L: Law> Fq<P, L> {
    /// Empty queues; `law` makes the law of bucket `i`.
    pub fn new(shape: FqShape, perturbation: Draw, mut law: impl FnMut(u32) -> L) -> Self {
        let buckets = (0..shape.buckets.max(1))
            .map(|i| Bucket {
                ring: VecDeque::new(),
                bytes: Bytes::ZERO,
                deficit: 0,
                list: List::None,
                law: law(i),
            })
            .collect();
        Self {
            shape,
            perturbation,
            buckets,
            new: VecDeque::new(),
            old: VecDeque::new(),
            total: QueueView::default(),
        }
    }

    /// The bucket that packets with this flow key wait in.
    pub fn bucket_of(&self, flow_key: u32) -> u32 {
        let hash = self.perturbation.bits(u64::from(flow_key));
        // The high half scaled to the number of buckets, which need not be a power of two.
        (((hash >> 32) * self.buckets.len() as u64) >> 32) as u32
    }

    /// What waits in one bucket.
    pub fn bucket_backlog(&self, bucket: u32) -> QueueView {
        self.buckets[bucket as usize].view()
    }

    /// Quantum of one turn; a quantum of zero would give no turn.
    fn quantum(&self) -> i64 {
        i64::try_from(self.shape.quantum.get())
            .unwrap_or(i64::MAX / 2)
            .clamp(1, i64::MAX / 2)
    }

    fn forget(&mut self, len: u32) {
        self.total.packets -= 1;
        self.total.bytes -= Bytes(u64::from(len));
    }

    /// Drops from the head of the fattest queue (RFC 8290, 4.1).
    fn drop_from_fattest(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        let fattest = (0..self.buckets.len())
            .max_by_key(|i| (self.buckets[*i].bytes, std::cmp::Reverse(*i)))
            .expect("there is at least one bucket");
        let half = self.buckets[fattest].bytes.get() / 2;
        let mut gone = 0;
        for _ in 0..self.shape.drop_batch.max(1) {
            let Some((_, packet)) = self.buckets[fattest].pop() else {
                break;
            };
            self.forget(packet.len());
            gone += u64::from(packet.len());
            sink.dropped(now, &packet, DropReason::Full);
            if gone >= half {
                break;
            }
        }
    }
}

impl<P: PacketView, L: Law> Queue<P> for Fq<P, L> {
    fn enqueue(&mut self, now: Instant, mut packet: P, sink: &mut dyn Sink<P>) {
        let meta = PacketMeta::of(&packet);
        let len = Bytes(u64::from(meta.len));
        if !self.shape.limits.allow(1, len) {
            sink.dropped(now, &packet, DropReason::Full);
            return;
        }
        let index = self.bucket_of(packet.flow_key());
        let quantum = self.quantum();
        let bucket = &mut self.buckets[index as usize];
        let delay = bucket
            .ring
            .front()
            .map_or(Duration::ZERO, |(since, _)| now.since(*since));
        let view = bucket.view();
        let verdict = bucket.law.on_enqueue(now, delay, &view, &meta);
        if verdict != Verdict::Pass && !carry_out(verdict, now, &mut packet, sink) {
            return;
        }
        bucket.ring.push_back((now, packet));
        bucket.bytes += len;
        if bucket.list == List::None {
            bucket.list = List::New;
            bucket.deficit = quantum;
            self.new.push_back(index);
        }
        self.total.packets += 1;
        self.total.bytes += len;
        while !self
            .shape
            .limits
            .allow(self.total.packets, self.total.bytes)
        {
            self.drop_from_fattest(now, sink);
        }
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<(P, Instant)> {
        // RFC 8290, 4.2.
        loop {
            let (index, is_new) = match (self.new.front(), self.old.front()) {
                (Some(i), _) => (*i, true),
                (None, Some(i)) => (*i, false),
                (None, None) => return None,
            };
            let quantum = self.quantum();
            let bucket = &mut self.buckets[index as usize];
            if bucket.deficit <= 0 {
                bucket.deficit += quantum;
                bucket.list = List::Old;
                if is_new {
                    self.new.pop_front();
                } else {
                    self.old.pop_front();
                }
                self.old.push_back(index);
                continue;
            }
            while let Some((since, mut packet)) = self.buckets[index as usize].pop() {
                let meta = PacketMeta::of(&packet);
                self.forget(meta.len);
                let bucket = &mut self.buckets[index as usize];
                let view = bucket.view();
                let verdict = bucket.law.on_dequeue(now, now.since(since), &view, &meta);
                if verdict == Verdict::Pass || carry_out(verdict, now, &mut packet, sink) {
                    bucket.deficit -= i64::from(meta.len);
                    return Some((packet, since));
                }
            }
            let bucket = &mut self.buckets[index as usize];
            bucket.law.on_empty(now);
            if is_new {
                // A queue that runs empty takes one turn among the old ones, lest it be new at each packet.
                self.new.pop_front();
                bucket.list = List::Old;
                self.old.push_back(index);
            } else {
                self.old.pop_front();
                bucket.list = List::None;
            }
        }
    }

    fn backlog(&self) -> QueueView {
        self.total
    }

    fn head_since(&self) -> Option<Instant> {
        self.new
            .iter()
            .chain(&self.old)
            .filter_map(|i| {
                self.buckets[*i as usize]
                    .ring
                    .front()
                    .map(|(since, _)| *since)
            })
            .min()
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::{Datagram, FlowId, Packet};

    use super::*;
    use crate::NoSink;
    use crate::law::NoLaw;

    fn packet(flow: u32, seq: u32, len: u16) -> Packet {
        Packet {
            flow: FlowId(flow),
            body: Datagram::new(seq, 0).into(),
            len,
            ..Packet::default()
        }
    }

    fn fair(limits: Limits) -> Fq<Packet, NoLaw> {
        let shape = FqShape {
            limits,
            ..FqShape::default()
        };
        Fq::new(shape, Draw::new(5), |_| NoLaw)
    }

    #[derive(Default)]
    struct Lost(Vec<u32>);
    impl Sink<Packet> for Lost {
        fn dropped(&mut self, _: Instant, packet: &Packet, _: DropReason) {
            self.0.push(packet.flow.0);
        }
        fn marked(&mut self, _: Instant, _: &Packet) {}
    }

    #[test]
    fn bytes_are_shared_evenly_between_large_and_small_packets() {
        let mut q = fair(Limits::default());
        for seq in 0..1000 {
            q.enqueue(Instant::ZERO, packet(1, seq, 1500), &mut NoSink);
            q.enqueue(Instant::ZERO, packet(2, seq, 100), &mut NoSink);
        }
        let mut bytes = [0_u64; 3];
        for _ in 0..600 {
            let (p, _) = q.dequeue(Instant::ZERO, &mut NoSink).expect("2000 wait");
            bytes[p.flow.index()] += u64::from(p.len);
        }
        assert!(bytes[1].abs_diff(bytes[2]) <= 3000, "{bytes:?}");
    }

    #[test]
    fn a_new_flow_goes_first() {
        let mut q = fair(Limits::default());
        for seq in 0..100 {
            q.enqueue(Instant::ZERO, packet(1, seq, 1500), &mut NoSink);
        }
        for _ in 0..5 {
            q.dequeue(Instant::ZERO, &mut NoSink);
        }
        q.enqueue(Instant::from_millis(1), packet(2, 0, 100), &mut NoSink);
        assert_eq!(q.head_since(), Some(Instant::ZERO));
        let (p, since) = q
            .dequeue(Instant::from_millis(1), &mut NoSink)
            .expect("many wait");
        assert_eq!((p.flow.0, since), (2, Instant::from_millis(1)));
    }

    #[test]
    fn a_flow_that_empties_and_returns_is_not_new_again() {
        let mut q = fair(Limits::default());
        let mut served = [0; 3];
        for seq in 0..200 {
            q.enqueue(Instant::ZERO, packet(1, seq, 1500), &mut NoSink);
        }
        for seq in 0..200 {
            // One packet at a time, as large as the other flow's: half of the turns are fair, all would not be.
            if q.bucket_backlog(q.bucket_of(packet(2, 0, 0).flow_key()))
                .packets
                == 0
            {
                q.enqueue(Instant::ZERO, packet(2, seq, 1500), &mut NoSink);
            }
            let (p, _) = q.dequeue(Instant::ZERO, &mut NoSink).expect("many wait");
            served[p.flow.index()] += 1;
        }
        assert!(served[1] >= 95, "{served:?}");
    }

    #[test]
    fn the_fattest_flow_pays_for_the_overflow() {
        let mut q = fair(Limits::packets(100));
        let mut lost = Lost::default();
        for seq in 0..10 {
            q.enqueue(Instant::ZERO, packet(2, seq, 1500), &mut lost);
        }
        for seq in 0..91 {
            q.enqueue(Instant::ZERO, packet(1, seq, 1500), &mut lost);
        }
        // Half of 91 packets, rounded up.
        assert_eq!(lost.0, vec![1; 46]);
        assert_eq!(q.backlog().packets, 55);
    }

    #[test]
    fn seeds_spread_flows_differently() {
        let fq = |seed| Fq::<Packet, NoLaw>::new(FqShape::default(), Draw::new(seed), |_| NoLaw);
        let place = |seed| (0..8).map(|k| fq(seed).bucket_of(k)).collect::<Vec<_>>();
        assert_eq!(place(1), place(1));
        assert_ne!(place(1), place(2));
        assert!(place(1).iter().all(|b| *b < 1024));
    }
}
