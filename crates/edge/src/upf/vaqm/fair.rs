//! FQ-CoDel over the flows of an instance (RFC 8290), with a queue for each known flow in place of hashed ones: a
//! flow's queue lives with what measures it, and an idle session holds none. Whose turn it is, [`slackwater_queue::Turns`] says.

use std::collections::VecDeque;

use slackwater_core::record::DropReason;
use slackwater_core::{Draw, Duration, Instant, PacketView};
use slackwater_queue::{AnyLaw, FlowQueue, FlowQueues, Law, LawConfig, PacketMeta, Turns, Verdict};

use super::flow::{Flow, Flows};

/// At most so many packets go at one overflow, as in [`slackwater_queue::FqShape`].
const DROP_BATCH: u32 = 64;

impl<P: PacketView> FlowQueues<P> for Flows<P> {
    const SPARSE: bool = true;
    fn queue(&self, slot: u32) -> &FlowQueue<P> {
        &self.get(slot).queue
    }
    fn queue_mut(&mut self, slot: u32) -> &mut FlowQueue<P> {
        &mut self.get_mut(slot).queue
    }
    fn on_empty(&mut self, now: Instant, slot: u32) {
        if let Some(law) = &mut self.get_mut(slot).law {
            law.on_empty(now);
        }
    }
}

/// A law's timing by the measured path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) target: Duration,
    pub(super) interval: Duration,
}

/// Drops from the head of the fattest queue: half of it, but no more than a batch (RFC 8290, 4.1).
pub(super) fn drop_fattest<P: PacketView>(
    turns: &mut Turns,
    flows: &mut Flows<P>,
    dropped: &mut VecDeque<(P, DropReason)>,
) {
    let fattest = flows
        .iter()
        .max_by_key(|(slot, f)| (f.queue.view().bytes, std::cmp::Reverse(*slot)))
        .map(|(slot, _)| slot);
    if let Some(slot) = fattest {
        turns.drop_half(flows, slot, DROP_BATCH, |packet| {
            dropped.push_back((packet, DropReason::Full));
        });
    }
}

/// The flow's law, which its first packet that waits makes.
fn law<'a, P: PacketView>(flow: &'a mut Flow<P>, config: &LawConfig) -> &'a mut AnyLaw {
    let draw = Draw::new(u64::from(flow.key));
    flow.law.get_or_insert_with(|| Box::new(config.build(draw)))
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
    let (delay, view) = (flow.queue.delay(now), flow.queue.view());
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
    let view = flow.queue.view();
    let law = law(flow, config);
    if let Some(timing) = timing {
        law.on_path(timing.target, timing.interval);
    }
    law.on_dequeue(now, now.since(since), &view, &meta)
}
