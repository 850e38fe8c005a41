//! Deficit round robin over queues that somebody else keeps (RFC 8290, 4.2): which flow's turn it is, and what waits in all.
//!
//! [`Fq`](super::Fq) keeps a fixed number of buckets, vAQM a queue beside what it measures of each flow. Both serve them by the
//! same [`Turns`]. What a law makes of a packet is its owner's business: [`Turns::pop`] gives the packet out, and one that goes
//! on is charged to its flow ([`FlowQueue::charge`]).

use std::collections::VecDeque;

use slackwater_core::{Bytes, Duration, Instant, PacketView};

use crate::QueueView;

/// No slot.
const NIL: u32 = u32::MAX;

/// The list that a queue is on (RFC 8290, 4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum List {
    #[default]
    None,
    New,
    Old,
}

/// The queue of one flow, or of the flows of one bucket.
#[derive(Debug)]
#[repr(C)]
pub struct FlowQueue<P> {
    /// The next slot on the list that this one is on.
    next: u32,
    /// That list.
    list: List,
    /// Bytes that wait.
    bytes: Bytes,
    /// Bytes that it may still send in this turn; a packet may overdraw it.
    deficit: i64,
    /// What waits, and since when.
    ring: VecDeque<(Instant, P)>,
}

impl<P> Default for FlowQueue<P> {
    fn default() -> Self {
        Self {
            next: NIL,
            list: List::None,
            bytes: Bytes::ZERO,
            deficit: 0,
            ring: VecDeque::new(),
        }
    }
}

impl<P> FlowQueue<P> {
    /// What waits.
    pub fn view(&self) -> QueueView {
        QueueView {
            bytes: self.bytes,
            packets: self.ring.len() as u32,
        }
    }

    /// Since when the oldest packet waits.
    pub fn head_since(&self) -> Option<Instant> {
        self.ring.front().map(|(since, _)| *since)
    }

    /// Age of the oldest packet at `now`; zero where none waits.
    pub fn delay(&self, now: Instant) -> Duration {
        self.head_since()
            .map_or(Duration::ZERO, |since| now.since(since))
    }

    /// True where it is owed no turn: nothing waits, and it is on no list.
    pub fn is_idle(&self) -> bool {
        self.list == List::None && self.ring.is_empty()
    }

    /// Charges `len` bytes that went on to its turn.
    pub fn charge(&mut self, len: u32) {
        self.deficit -= i64::from(len);
    }

    /// Bytes of memory that waiting packets take, without what packets themselves own.
    pub fn heap(&self) -> usize {
        self.ring.capacity() * size_of::<(Instant, P)>()
    }
}

/// Who keeps the queues.
pub trait FlowQueues<P> {
    /// There are far more queues than wait: one that is empty leaves the lists at its turn even where that turn is overdrawn, and
    /// gives its memory back. RFC 8290, 4.2, first lets the turn end; a flow that returns meanwhile is not new then.
    const SPARSE: bool;

    /// The queue in `slot`.
    fn queue(&self, slot: u32) -> &FlowQueue<P>;

    /// The same, to change.
    fn queue_mut(&mut self, slot: u32) -> &mut FlowQueue<P>;

    /// The queue in `slot` was empty at its turn: its law has to know.
    fn on_empty(&mut self, now: Instant, slot: u32);
}

/// A list of slots that the queues themselves link: a packet touches its queue anyway, and a list of its own memory would be
/// further lines to fetch.
#[derive(Clone, Copy, Debug)]
struct Chain {
    first: u32,
    last: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            first: NIL,
            last: NIL,
        }
    }
}

impl Chain {
    fn front(self) -> Option<u32> {
        (self.first != NIL).then_some(self.first)
    }

    fn push_back<P>(&mut self, queues: &mut impl FlowQueues<P>, slot: u32) {
        queues.queue_mut(slot).next = NIL;
        if self.first == NIL {
            self.first = slot;
        } else {
            queues.queue_mut(self.last).next = slot;
        }
        self.last = slot;
    }

    fn pop_front<P>(&mut self, queues: &impl FlowQueues<P>) -> Option<u32> {
        let slot = self.front()?;
        self.first = queues.queue(slot).next;
        Some(slot)
    }

    /// Since when the oldest packet of all its queues waits.
    fn head_since<P>(self, queues: &impl FlowQueues<P>) -> Option<Instant> {
        let slots = core::iter::successors(self.front(), |slot| {
            Some(queues.queue(*slot).next).filter(|next| *next != NIL)
        });
        slots.filter_map(|s| queues.queue(s).head_since()).min()
    }
}

/// Whose turn it is, and what waits in all.
#[derive(Debug, Default)]
pub struct Turns {
    /// What waits in all queues together.
    total: QueueView,
    /// Queues that got their first packet since they were empty.
    new: Chain,
    /// Queues that had a turn.
    old: Chain,
}

impl Turns {
    /// What waits in all queues together.
    pub const fn total(&self) -> QueueView {
        self.total
    }

    /// True where nothing waits.
    pub const fn is_empty(&self) -> bool {
        self.total.packets == 0
    }

    /// Since when the oldest packet of all waits.
    pub fn head_since<P>(&self, queues: &impl FlowQueues<P>) -> Option<Instant> {
        let heads = [self.new, self.old].map(|chain| chain.head_since(queues));
        heads.into_iter().flatten().min()
    }

    /// Queues `packet` in `slot`. A queue on no list becomes new, with a turn of `quantum` bytes (at least one).
    pub fn push<P: PacketView>(
        &mut self,
        now: Instant,
        queues: &mut impl FlowQueues<P>,
        slot: u32,
        packet: P,
        quantum: i64,
    ) {
        let len = Bytes(u64::from(packet.len()));
        let queue = queues.queue_mut(slot);
        queue.ring.push_back((now, packet));
        queue.bytes += len;
        if queue.list == List::None {
            queue.list = List::New;
            queue.deficit = quantum;
            self.new.push_back(queues, slot);
        }
        self.total.packets += 1;
        self.total.bytes += len;
    }

    fn forget(&mut self, len: u32) {
        self.total.packets -= 1;
        self.total.bytes -= Bytes(u64::from(len));
    }

    /// Takes the oldest packet of the queue whose turn it is: its slot, since when it waited, and the packet.
    pub fn pop<P: PacketView, Q: FlowQueues<P>>(
        &mut self,
        now: Instant,
        queues: &mut Q,
        quantum: i64,
    ) -> Option<(u32, Instant, P)> {
        loop {
            let (slot, is_new) = match (self.new.front(), self.old.front()) {
                (Some(slot), _) => (slot, true),
                (None, Some(slot)) => (slot, false),
                (None, None) => return None,
            };
            let queue = queues.queue_mut(slot);
            let overdrawn = queue.deficit <= 0;
            let head = if overdrawn {
                queue.deficit += quantum;
                None
            } else {
                queue.ring.pop_front()
            };
            if let Some((since, packet)) = head {
                queue.bytes -= Bytes(u64::from(packet.len()));
                self.forget(packet.len());
                return Some((slot, since, packet));
            }

            // The turn is over. A new queue that ran empty takes one among the old, lest it be new at each packet.
            let list = if is_new { &mut self.new } else { &mut self.old };
            list.pop_front(queues);
            let empty = queues.queue(slot).ring.is_empty() && (Q::SPARSE || !overdrawn);
            if empty {
                queues.on_empty(now, slot);
            }
            let queue = queues.queue_mut(slot);
            if empty && !is_new {
                queue.list = List::None;
                if Q::SPARSE {
                    queue.ring = VecDeque::new();
                }
            } else {
                queue.list = List::Old;
                self.old.push_back(queues, slot);
            }
        }
    }

    /// With nothing waiting no queue is owed a turn: takes all from the lists and gives their memory back.
    pub fn rest<P>(&mut self, now: Instant, queues: &mut impl FlowQueues<P>) {
        debug_assert!(self.is_empty());
        while let Some(slot) = self
            .new
            .pop_front(queues)
            .or_else(|| self.old.pop_front(queues))
        {
            let queue = queues.queue_mut(slot);
            queue.list = List::None;
            queue.ring = VecDeque::new();
            queues.on_empty(now, slot);
        }
    }

    /// Takes packets from the head of the queue in `slot`: half of its bytes, but no more than `most` packets and at least one
    /// (RFC 8290, 4.1). `dropped` is given each.
    pub fn drop_half<P: PacketView>(
        &mut self,
        queues: &mut impl FlowQueues<P>,
        slot: u32,
        most: u32,
        mut dropped: impl FnMut(P),
    ) {
        let half = queues.queue(slot).bytes.get() / 2;
        let mut gone = 0;
        for _ in 0..most.max(1) {
            let queue = queues.queue_mut(slot);
            let Some((_, packet)) = queue.ring.pop_front() else {
                break;
            };
            let len = packet.len();
            queue.bytes -= Bytes(u64::from(len));
            self.forget(len);
            gone += u64::from(len);
            dropped(packet);
            if gone >= half {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::{Datagram, Packet};

    use super::*;

    /// Queues whose owner keeps few of many, or a fixed number.
    #[derive(Default)]
    struct Queues<const SPARSE: bool> {
        queues: [FlowQueue<Packet>; 2],
        empty: Vec<u32>,
    }

    impl<const SPARSE: bool> FlowQueues<Packet> for Queues<SPARSE> {
        const SPARSE: bool = SPARSE;
        fn queue(&self, slot: u32) -> &FlowQueue<Packet> {
            &self.queues[slot as usize]
        }
        fn queue_mut(&mut self, slot: u32) -> &mut FlowQueue<Packet> {
            &mut self.queues[slot as usize]
        }
        fn on_empty(&mut self, _now: Instant, slot: u32) {
            self.empty.push(slot);
        }
    }

    fn packet(seq: u32, len: u16) -> Packet {
        Packet {
            body: Datagram::new(seq, 0).into(),
            len,
            ..Packet::default()
        }
    }

    /// A queue of one large packet runs empty and overdrawn, and gets a small one before its next turn. Whether it is new then
    /// is what `SPARSE` decides.
    fn returns<const SPARSE: bool>() -> Vec<u32> {
        let (now, mut turns) = (Instant::ZERO, Turns::default());
        let mut queues = Queues::<SPARSE>::default();
        let put = |turns: &mut Turns, queues: &mut Queues<SPARSE>, slot, len| {
            turns.push(now, queues, slot, packet(slot, len), 500);
        };
        put(&mut turns, &mut queues, 0, 3000);
        for _ in 0..12 {
            put(&mut turns, &mut queues, 1, 100);
        }
        let mut order = Vec::new();
        while let Some((slot, _, packet)) = turns.pop(now, &mut queues, 500) {
            queues.queue_mut(slot).charge(packet.len.into());
            order.push(slot);
            if order.len() == 8 {
                put(&mut turns, &mut queues, 0, 100);
            }
        }
        assert!(turns.is_empty() && queues.queues.iter().all(FlowQueue::is_idle));
        order
    }

    #[test]
    fn an_overdrawn_queue_that_returns_is_new_where_queues_are_sparse() {
        // The small packet comes while queue 1 has its second turn, after queue 0 was looked at among the old.
        let order =
            |ones: [usize; 2]| [vec![0], vec![1; ones[0]], vec![0], vec![1; ones[1]]].concat();
        assert_eq!(returns::<true>(), order([7, 5]));
        assert_eq!(returns::<false>(), order([12, 0]));
    }

    #[test]
    fn half_of_a_queue_is_dropped_from_its_head() {
        let (now, mut turns) = (Instant::ZERO, Turns::default());
        let mut queues = Queues::<false>::default();
        for seq in 0..10 {
            turns.push(now, &mut queues, 0, packet(seq, 100), 500);
        }
        let mut gone = Vec::new();
        turns.drop_half(&mut queues, 0, 64, |p| gone.push(p.number()));
        assert_eq!(gone, [0, 1, 2, 3, 4]);
        turns.drop_half(&mut queues, 0, 1, |p| gone.push(p.number()));
        assert_eq!((gone.last(), turns.total().packets), (Some(&5), 4));
        assert_eq!(queues.queue(0).view(), turns.total());
        turns.drop_half(&mut queues, 1, 1, |_| panic!("nothing waits there"));
    }

    #[test]
    fn without_packets_no_queue_is_owed_a_turn() {
        let (now, mut turns) = (Instant::ZERO, Turns::default());
        let mut queues = Queues::<true>::default();
        for slot in [1, 0] {
            turns.push(now, &mut queues, slot, packet(slot, 100), 500);
        }
        assert_eq!(turns.head_since(&queues), Some(now));
        assert!(turns.pop(now, &mut queues, 500).is_some());
        assert!(turns.pop(now, &mut queues, 500).is_some());
        turns.rest(now, &mut queues);
        assert!(queues.queues.iter().all(FlowQueue::is_idle));
        assert_eq!(queues.empty, [1, 0, 1]);
        assert_eq!(turns.head_since(&queues), None);
    }
}
