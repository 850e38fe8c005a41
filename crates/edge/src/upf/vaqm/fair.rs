//! FQ-CoDel over the flows of an instance (RFC 8290), with a queue for each known flow in place of hashed ones: a
//! flow's queue lives with what measures it, and an idle session holds none.

use std::collections::VecDeque;

use slackwater_core::record::DropReason;
use slackwater_core::{Bytes, Duration, Instant, PacketView};
use slackwater_queue::{AnyLaw, Law, LawConfig, PacketMeta, QueueView, Verdict};

use super::flow::{Flow, Flows, List};

/// At most so many packets go at one overflow, as in [`slackwater_queue::FqShape`].
const DROP_BATCH: u32 = 64;

/// Lists of waiting flows and what waits in all.
#[derive(Debug, Default)]
pub(super) struct Fair {
    pub(super) total: QueueView,
    new: Chain,
    old: Chain,
}

/// The end of a list.
pub(super) const NIL: u32 = u32::MAX;

/// A list of slots that the flows themselves link: a packet touches its flow anyway, and a list of its own memory would be
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

    fn push_back<P: PacketView>(&mut self, flows: &mut Flows<P>, slot: u32) {
        flows.get_mut(slot).next = NIL;
        if self.first == NIL {
            self.first = slot;
        } else {
            flows.get_mut(self.last).next = slot;
        }
        self.last = slot;
    }

    fn pop_front<P: PacketView>(&mut self, flows: &Flows<P>) -> Option<u32> {
        let slot = self.front()?;
        self.first = flows.get(slot).next;
        Some(slot)
    }
}

/// A law's timing by the measured path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) target: Duration,
    pub(super) interval: Duration,
}

impl Fair {
    pub(super) const fn is_empty(&self) -> bool {
        self.total.packets == 0
    }

    /// Queues a packet of the flow in `slot`.
    pub(super) fn push<P: PacketView>(
        &mut self,
        now: Instant,
        flows: &mut Flows<P>,
        slot: u32,
        packet: P,
        quantum: u32,
    ) {
        let len = u64::from(packet.len());
        let flow = flows.get_mut(slot);
        flow.ring.push_back((now, packet));
        flow.bytes += len;
        if flow.list == List::None {
            flow.list = List::New;
            flow.deficit = i64::from(quantum.max(1));
            self.new.push_back(flows, slot);
        }
        self.total.packets += 1;
        self.total.bytes += Bytes(len);
    }

    fn forget(&mut self, len: u32) {
        self.total.packets -= 1;
        self.total.bytes -= Bytes(u64::from(len));
    }

    /// Takes the oldest packet of the flow whose turn it is; the law decides later.
    pub(super) fn pop<P: PacketView>(
        &mut self,
        now: Instant,
        flows: &mut Flows<P>,
        quantum: u32,
    ) -> Option<(u32, Instant, P)> {
        loop {
            let (slot, is_new) = match (self.new.front(), self.old.front()) {
                (Some(slot), _) => (slot, true),
                (None, Some(slot)) => (slot, false),
                (None, None) => return None,
            };
            let flow = flows.get_mut(slot);
            let head = if flow.deficit <= 0 {
                flow.deficit += i64::from(quantum.max(1));
                None
            } else {
                flow.ring.pop_front()
            };
            if let Some((since, packet)) = head {
                flow.bytes -= u64::from(packet.len());
                self.forget(packet.len());
                return Some((slot, since, packet));
            }
            // The turn is over. A new queue that ran empty takes one among the old, lest it be new at each packet.
            let list = if is_new { &mut self.new } else { &mut self.old };
            list.pop_front(flows);
            let flow = flows.get_mut(slot);
            let empty = flow.ring.is_empty();
            if empty && let Some(law) = &mut flow.law {
                law.on_empty(now);
            }
            if empty && !is_new {
                flow.list = List::None;
                flow.ring = VecDeque::new();
            } else {
                flow.list = List::Old;
                self.old.push_back(flows, slot);
            }
        }
    }

    /// With nothing waiting no flow is owed a turn: takes all from the lists and gives their memory back.
    pub(super) fn rest<P: PacketView>(&mut self, now: Instant, flows: &mut Flows<P>) {
        debug_assert!(self.is_empty());
        while let Some(slot) = self
            .new
            .pop_front(flows)
            .or_else(|| self.old.pop_front(flows))
        {
            let flow = flows.get_mut(slot);
            flow.list = List::None;
            flow.ring = VecDeque::new();
            if let Some(law) = &mut flow.law {
                law.on_empty(now);
            }
        }
    }

    /// Charges a packet that left to its flow's turn.
    pub(super) fn charge<P: PacketView>(flows: &mut Flows<P>, slot: u32, len: u32) {
        flows.get_mut(slot).deficit -= i64::from(len);
    }

    /// Drops from the head of the fattest queue: half of it, but no more than a batch (RFC 8290, 4.1).
    pub(super) fn drop_fattest<P: PacketView>(
        &mut self,
        flows: &mut Flows<P>,
        dropped: &mut VecDeque<(P, DropReason)>,
    ) {
        let fattest = flows
            .iter()
            .max_by_key(|(slot, f)| (f.bytes, std::cmp::Reverse(*slot)))
            .map(|(slot, _)| slot);
        let Some(slot) = fattest else {
            return;
        };
        let half = flows.get(slot).bytes / 2;
        let mut gone = 0;
        for _ in 0..DROP_BATCH {
            let flow = flows.get_mut(slot);
            let Some((_, packet)) = flow.ring.pop_front() else {
                break;
            };
            let len = packet.len();
            flow.bytes -= u64::from(len);
            self.forget(len);
            gone += u64::from(len);
            dropped.push_back((packet, DropReason::Full));
            if gone >= half {
                break;
            }
        }
    }
}

/// The flow's law, which its first packet that waits makes.
fn law<'a, P: PacketView>(flow: &'a mut Flow<P>, config: &LawConfig) -> &'a mut AnyLaw {
    let draw = slackwater_core::Draw::new(u64::from(flow.key));
    flow.law.get_or_insert_with(|| config.build(draw))
}

/// What the flow's law decides about a packet that is about to wait.
pub(super) fn arrives<P: PacketView>(
    now: Instant,
    flows: &mut Flows<P>,
    slot: u32,
    meta: PacketMeta,
    config: &LawConfig,
) -> Verdict {
    let flow = flows.get_mut(slot);
    let delay = flow
        .ring
        .front()
        .map_or(Duration::ZERO, |(since, _)| now.since(*since));
    let view = flow.view();
    law(flow, config).on_enqueue(now, delay, &view, &meta)
}

/// What it decides about a packet that waited since `since` and is about to leave.
pub(super) fn leaves<P: PacketView>(
    now: Instant,
    flows: &mut Flows<P>,
    slot: u32,
    since: Instant,
    meta: PacketMeta,
    config: &LawConfig,
    timing: Option<Timing>,
) -> Verdict {
    let flow = flows.get_mut(slot);
    let view = flow.view();
    let law = law(flow, config);
    if let Some(timing) = timing {
        law.on_path(timing.target, timing.interval);
    }
    law.on_dequeue(now, now.since(since), &view, &meta)
}
