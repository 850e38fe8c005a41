//! Flow queues served in turns by deficit round robin, each with a law of its own (FQ-CoDel, RFC 8290).

use slackwater_core::record::DropReason;
use slackwater_core::{Bytes, Draw, Instant, PacketView};

use super::turns::{FlowQueue, FlowQueues, Turns};
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

/// The queue of the flows that hash to one number, and its law.
#[derive(Debug)]
struct Bucket<P, L> {
    /// What waits.
    queue: FlowQueue<P>,
    /// What decides about its packets.
    law: L,
}

/// All buckets, by number.
#[derive(Debug)]
struct Buckets<P, L>(Vec<Bucket<P, L>>);

impl<P, L> Buckets<P, L> {
    fn get(&mut self, slot: u32) -> &mut Bucket<P, L> {
        &mut self.0[slot as usize]
    }
}

impl<P: PacketView, L: Law> FlowQueues<P> for Buckets<P, L> {
    const SPARSE: bool = false;
    fn queue(&self, slot: u32) -> &FlowQueue<P> {
        &self.0[slot as usize].queue
    }
    fn queue_mut(&mut self, slot: u32) -> &mut FlowQueue<P> {
        &mut self.0[slot as usize].queue
    }
    fn on_empty(&mut self, now: Instant, slot: u32) {
        self.get(slot).law.on_empty(now);
    }
}

/// Fair queues.
#[derive(Debug)]
pub struct Fq<P, L> {
    shape: FqShape,
    /// Perturbs the hash, so that flows that collide in one run do not in another (RFC 8290, 4.1.1).
    perturbation: Draw,
    /// The queues with their laws.
    buckets: Buckets<P, L>,
    /// Whose turn it is.
    turns: Turns,
}

impl<P: PacketView, L: Law> Fq<P, L> {
    /// Empty queues; `law` makes the law of bucket `i`.
    pub fn new(shape: FqShape, perturbation: Draw, mut law: impl FnMut(u32) -> L) -> Self {
        let buckets = (0..shape.buckets.max(1))
            .map(|i| Bucket {
                queue: FlowQueue::default(),
                law: law(i),
            })
            .collect();
        Self {
            shape,
            perturbation,
            buckets: Buckets(buckets),
            turns: Turns::default(),
        }
    }

    /// The bucket that packets with this flow key wait in.
    pub fn bucket_of(&self, flow_key: u32) -> u32 {
        let hash = self.perturbation.bits(u64::from(flow_key));
        // The high half scaled to the number of buckets, which need not be a power of two.
        (((hash >> 32) * self.buckets.0.len() as u64) >> 32) as u32
    }

    /// What waits in one bucket.
    pub fn bucket_backlog(&self, bucket: u32) -> QueueView {
        self.buckets.queue(bucket).view()
    }

    /// Quantum of one turn; a quantum of zero would give no turn.
    fn quantum(&self) -> i64 {
        i64::try_from(self.shape.quantum.get())
            .unwrap_or(i64::MAX / 2)
            .clamp(1, i64::MAX / 2)
    }

    /// Drops from the head of the fattest queue (RFC 8290, 4.1).
    fn drop_from_fattest(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        let fattest = (0..self.buckets.0.len() as u32)
            .max_by_key(|i| (self.buckets.queue(*i).view().bytes, std::cmp::Reverse(*i)))
            .expect("there is at least one bucket");
        self.turns.drop_half(
            &mut self.buckets,
            fattest,
            self.shape.drop_batch,
            |packet| {
                sink.dropped(now, &packet, DropReason::Full);
            },
        );
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
        let bucket = self.buckets.get(index);
        let (delay, view) = (bucket.queue.delay(now), bucket.queue.view());
        let verdict = bucket.law.on_enqueue(now, delay, &view, &meta);
        if verdict != Verdict::Pass && !carry_out(verdict, now, &mut packet, sink) {
            return;
        }
        self.turns
            .push(now, &mut self.buckets, index, packet, quantum);
        loop {
            let total = self.turns.total();
            if self.shape.limits.allow(total.packets, total.bytes) {
                return;
            }
            self.drop_from_fattest(now, sink);
        }
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<(P, Instant)> {
        let quantum = self.quantum();
        loop {
            let (slot, since, mut packet) = self.turns.pop(now, &mut self.buckets, quantum)?;
            let meta = PacketMeta::of(&packet);
            let bucket = self.buckets.get(slot);
            let view = bucket.queue.view();
            let verdict = bucket.law.on_dequeue(now, now.since(since), &view, &meta);
            if verdict == Verdict::Pass || carry_out(verdict, now, &mut packet, sink) {
                bucket.queue.charge(meta.len);
                return Some((packet, since));
            }
        }
    }

    fn backlog(&self) -> QueueView {
        self.turns.total()
    }

    fn head_since(&self) -> Option<Instant> {
        self.turns.head_since(&self.buckets)
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
