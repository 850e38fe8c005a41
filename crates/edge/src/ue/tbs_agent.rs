//! What a UE reads from its control channel: the transport blocks that it gets, and what it could get (Tyrus, section 1:
//! "TBS exactly specifies the number of bytes that can be carried on the downlink in this scheduling period").
//!
//! | Tyrus and its neighbours | here |
//! |---|---|
//! | bytes carried in a subframe, by MCS and resource blocks | [`BlocksMode::Allocated`] |
//! | the same and a fair share of the blocks that nobody used (CLAW, PBE-CC) | [`BlocksMode::AllocatedIdle`] |
//! | "historical link capacity information is available in these traces" | [`BlocksMode::Capacity`], a genie in a cell |
//!
//! A block counts once, where its new-data indicator says so; retransmissions are not added. The counters only grow, so
//! a report is the difference of two readings.

use slackwater_core::{Bytes, Direction, Duration, FlowId, Instant, UeId};
use slackwater_schema::choice;
use slackwater_signal::{Observer, PathReport, SlotView};

use crate::{Agent, CellView, FlowAt, Place};

/// Slots after its last grant in which a UE counts as active where idle blocks are shared.
const ACTIVE: u64 = 40;

choice! {
    /// What the transport blocks that a UE reports count.
    pub enum BlocksMode {
        /// What the link could have carried had this UE alone asked for it: a genie in a cell.
        Capacity = "capacity",
        /// What was scheduled for this UE: nothing where its queue is empty.
        Allocated = "allocated",
        /// That, and the idle blocks over the active UEs at this UE's own bytes per block.
        AllocatedIdle = "allocated+idle",
    }
}

/// OFDM symbols of a slot (TS 38.211, 4.3.2; LTE's subframe has as many: TS 36.211, 4.1).
const SYMBOLS: u64 = 14;

/// What was counted by some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Samples (subframes or slots) since time zero.
    pub samples: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl Reading {
    /// The report of what came after this reading, up to `next`, which covers more samples; a sample takes `slot`.
    pub fn upto(self, next: Self, slot: Duration) -> PathReport {
        PathReport::TransportBlocks {
            bytes: Bytes(next.bytes - self.bytes),
            span: slot * (next.samples - self.samples),
            end: (next.samples * slot.as_nanos() / 1_000_000) as u16,
        }
    }
}

/// The counters of one UE, bytes in units of 1/256.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    allocated: u64,
    idle: u64,
    capacity: u64,
    /// Slot of the last grant, plus one.
    granted: u64,
    /// Slots before this one are counted: a cell that sleeps through them shows them when it wakes.
    counted: u64,
    watched: bool,
}

/// Counts the transport blocks of the UEs that it watches, and reports those of a flow's UE to the flow's sender.
#[derive(Clone, Debug)]
pub struct TbsAgent {
    /// What its reports count.
    mode: BlocksMode,
    /// Which way the blocks go.
    direction: Direction,
    /// Length of a slot.
    slot: Duration,
    /// Symbols that carry data that way in the slots of a period, by when they are decided.
    symbols: Vec<u8>,
    /// Counters, by UE.
    ues: Vec<Counts>,
    /// Slots seen.
    slots: u64,
    /// UEs that were active in the last of them: those whose last grant came in one of the last [`ACTIVE`] slots, and how many
    /// these are for each of the slots.
    active: u64,
    recent: [u32; ACTIVE as usize],
    /// Up to where each flow was reported.
    flows: Vec<Reading>,
}

impl TbsAgent {
    /// An agent that watches nobody, in a cell with slots of length `slot`; `symbols` are those that carry downlink data in
    /// the slots of a period, by when the slots are decided.
    pub fn new(mode: BlocksMode, slot: Duration, symbols: Vec<u8>) -> Self {
        Self {
            mode,
            direction: Direction::Down,
            slot,
            symbols,
            ues: Vec::new(),
            slots: 0,
            active: 0,
            recent: [0; ACTIVE as usize],
            flows: Vec::new(),
        }
    }

    /// The same for the blocks that go in `direction`, with `symbols` of that way.
    #[must_use]
    pub(crate) const fn of_direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self
    }

    /// Watches `ue`.
    pub fn watch(&mut self, ue: UeId) {
        self.at(ue).watched = true;
    }

    /// What `ue` had, or could have had, in the slots up to `now`: those that began before, and the present one where it
    /// has run.
    fn read(&mut self, now: Instant, ue: UeId, cell: &mut dyn CellView) -> Reading {
        let bytes = self.bytes(now, ue, cell);
        Reading {
            samples: (now.as_nanos() / self.slot.as_nanos()).max(self.slots),
            bytes,
        }
    }

    /// The bytes of [`Self::read`].
    #[inline]
    pub(crate) fn bytes(&mut self, now: Instant, ue: UeId, cell: &mut dyn CellView) -> u64 {
        if (self.slots + 1) * self.slot.as_nanos() <= now.as_nanos() {
            self.wake(now, ue, cell);
        }
        self.total(ue, self.mode).0
    }

    /// A cell that sleeps shows no slots: those up to `now` were all idle.
    #[cold]
    fn wake(&mut self, now: Instant, ue: UeId, cell: &mut dyn CellView) {
        let begun = now.as_nanos() / self.slot.as_nanos();
        let full = cell.slot_bytes(ue).0 << 8;
        let symbols = core::mem::take(&mut self.symbols);
        let period = symbols.len() as u64;
        self.skip(ue, begun, |slot| {
            full * u64::from(symbols[(slot % period) as usize]) / SYMBOLS
        });
        self.symbols = symbols;
    }

    /// Up to where `flow` was reported.
    fn reported(&mut self, flow: FlowId) -> &mut Reading {
        if self.flows.len() <= flow.index() {
            self.flows.resize(flow.index() + 1, Reading::default());
        }
        &mut self.flows[flow.index()]
    }

    fn at(&mut self, ue: UeId) -> &mut Counts {
        if self.ues.len() <= ue.index() {
            self.ues.resize(ue.index() + 1, Counts::default());
        }
        &mut self.ues[ue.index()]
    }

    /// Slots seen so far.
    pub const fn slots(&self) -> u64 {
        self.slots
    }

    /// A cell with nothing to do shows no slots before it wakes. Those before slot `upto` have passed without a grant,
    /// and `ue` could have had `bytes_q8` of each (1/256 byte): they count now, and not again where the cell shows them.
    pub fn skip(&mut self, ue: UeId, upto: u64, bytes_q8: impl Fn(u64) -> u64) {
        let (shown, from) = (self.slots, self.slots.max(self.at(ue).counted));
        let (mut idle, mut capacity) = (0, 0);
        for slot in from..upto {
            let all = bytes_q8(slot);
            // Nobody is active any more a while after the last slot that was shown.
            let sharers = if slot < shown + ACTIVE {
                self.sharers(ue, slot + 1)
            } else {
                1
            };
            idle += all / sharers;
            capacity += all;
        }
        let counts = self.at(ue);
        counts.idle += idle;
        counts.capacity += capacity;
        counts.counted = counts.counted.max(upto);
    }

    /// Who shares the idle blocks with `ue` once `slots` have passed: all that are active, and itself.
    fn sharers(&self, ue: UeId, slots: u64) -> u64 {
        let since = slots.saturating_sub(ACTIVE);
        let others = self.ues.iter().enumerate();
        let others = others.filter(|(i, c)| *i != ue.index() && c.granted > since);
        1 + others.count() as u64
    }

    /// Who shares the idle blocks of the last slot with `ue`, itself included.
    pub(crate) fn sharers_now(&self, ue: UeId) -> u64 {
        let since = self.slots.saturating_sub(ACTIVE);
        let counted = self.ues.get(ue.index()).is_some_and(|c| c.granted > since);
        self.active + u64::from(!counted)
    }

    /// Bytes for `ue` so far. What a genie would count is known where that is the agent's mode.
    #[inline]
    fn total(&self, ue: UeId, mode: BlocksMode) -> Bytes {
        let Some(counts) = self.ues.get(ue.index()) else {
            return Bytes::ZERO;
        };
        let q8 = match mode {
            BlocksMode::Capacity => counts.capacity,
            BlocksMode::Allocated => counts.allocated,
            BlocksMode::AllocatedIdle => counts.allocated + counts.idle,
        };
        Bytes(q8 >> 8)
    }
}

impl Observer for TbsAgent {
    fn on_slot(&mut self, _now: Instant, slot: &SlotView<'_>) {
        if slot.direction != self.direction {
            return;
        }
        self.slots += 1;
        let now = self.slots;
        // Who had a grant so many slots ago and none since is active no more.
        let place = |slot: u64| (slot % ACTIVE) as usize;
        self.active -= u64::from(core::mem::take(&mut self.recent[place(now)]));
        for grant in slot.grants {
            let counts = self.at(grant.ue);
            if grant.ndi {
                counts.allocated += grant.tbs.0 << 8;
            }
            let before = core::mem::replace(&mut counts.granted, now);
            if before == 0 || before + ACTIVE <= now {
                self.active += 1;
            } else {
                self.recent[place(before)] -= 1;
            }
            self.recent[place(now)] += 1;
        }

        let genie = self.mode == BlocksMode::Capacity;
        if slot.free.0 == 0 && !genie {
            // A full slot leaves nothing to share.
            return;
        }
        let (active, since) = (self.active, now.saturating_sub(ACTIVE));
        for (counts, &per_block) in self.ues.iter_mut().zip(slot.bytes_per_prb_q8) {
            if !counts.watched || now <= counts.counted {
                continue;
            }
            let per_block = u64::from(per_block);
            if genie {
                counts.capacity += per_block * u64::from(slot.schedulable.0);
            }
            // A full slot spares a division for each UE.
            if slot.free.0 > 0 {
                // The UE itself shares even where it has not asked for anything yet.
                let sharers = active + u64::from(counts.granted <= since);
                counts.idle += per_block * u64::from(slot.free.0) / sharers.max(1);
            }
        }
    }
}

impl Agent for TbsAgent {
    fn place(&self) -> Place {
        Place::Ue
    }

    fn add_flow(&mut self, flow: &FlowAt) {
        self.watch(flow.ue);
    }

    /// The blocks of all samples since the last report; `None` before a whole one has passed.
    fn report(
        &mut self,
        now: Instant,
        flow: &FlowAt,
        cell: &mut dyn CellView,
    ) -> Option<PathReport> {
        let before = *self.reported(flow.flow);
        if now.as_nanos() / self.slot.as_nanos() <= before.samples {
            return None;
        }
        let next = self.read(now, flow.ue, cell);
        *self.reported(flow.flow) = next;
        Some(before.upto(next, self.slot))
    }

    fn resume(&mut self, now: Instant, flow: &FlowAt, cell: &mut dyn CellView) {
        let next = self.read(now, flow.ue, cell);
        *self.reported(flow.flow) = next;
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::{BearerId, Prbs, Rnti, SlotIdx};
    use slackwater_signal::{Grant, RlcView};

    use super::*;
    use crate::agent::OneQueue;

    fn grant(ue: u32, ndi: bool, prbs: u16, tbs: u64) -> Grant {
        Grant {
            ue: UeId(ue),
            rnti: Rnti(ue as u16),
            direction: Direction::Down,
            harq: 0,
            round: u8::from(!ndi),
            ndi,
            mcs: 10,
            prbs: Prbs(prbs),
            tbs: Bytes(tbs),
        }
    }

    fn show(agent: &mut TbsAgent, grants: &[Grant], free: u16) {
        let view = SlotView {
            slot: SlotIdx(0),
            start: Instant::ZERO,
            direction: Direction::Down,
            grants,
            feedback: &[],
            schedulable: Prbs(50),
            free: Prbs(free),
            bytes_per_prb_q8: &[100 << 8, 20 << 8],
            bytes_version: 0,
        };
        agent.on_slot(Instant::ZERO, &view);
    }

    #[test]
    fn blocks_count_once_and_idle_ones_are_shared_by_who_is_active() {
        let mut agent = TbsAgent::new(BlocksMode::Capacity, Duration::from_millis(1), vec![14]);
        agent.watch(UeId(0));
        agent.watch(UeId(1));
        show(&mut agent, &[grant(0, true, 10, 1000)], 40);
        show(&mut agent, &[grant(0, false, 10, 1000)], 40);
        let total = |agent: &TbsAgent, ue, mode| agent.total(UeId(ue), mode).0;
        assert_eq!(total(&agent, 0, BlocksMode::Allocated), 1000);
        assert_eq!(total(&agent, 0, BlocksMode::Capacity), 2 * 5000);
        // Alone: all idle blocks; the other UE would share them with it.
        assert_eq!(total(&agent, 0, BlocksMode::AllocatedIdle), 1000 + 8000);
        assert_eq!(total(&agent, 1, BlocksMode::AllocatedIdle), 2 * 400);
        show(&mut agent, &[grant(1, true, 10, 200)], 40);
        assert_eq!(total(&agent, 0, BlocksMode::AllocatedIdle), 9000 + 2000);
        assert_eq!(total(&agent, 1, BlocksMode::Allocated), 200);
        assert_eq!(agent.slots(), 3);
    }

    /// Each flow hears of every sample once, and of none that is not over.
    #[test]
    fn a_flow_is_told_the_samples_since_its_last_report() {
        let mut agent = TbsAgent::new(BlocksMode::Allocated, Duration::from_millis(2), vec![14]);
        let flow = |flow| FlowAt {
            flow: FlowId(flow),
            ue: UeId(0),
            bearer: BearerId(0),
        };
        let mut cell = OneQueue(RlcView {
            ue: UeId(0),
            bearer: BearerId(0),
            direction: Direction::Down,
            backlog: Bytes::ZERO,
            packets: 0,
            hol: Duration::ZERO,
        });
        let mut told = |agent: &mut TbsAgent, ms: u64, of: u32| {
            let now = Instant::from_millis(ms);
            match agent.report(now, &flow(of), &mut cell)? {
                PathReport::TransportBlocks { bytes, span, end } => {
                    Some((bytes.0, span.as_millis(), end))
                }
                other => panic!("{other:?}"),
            }
        };
        agent.add_flow(&flow(0));
        for _ in 0..3 {
            show(&mut agent, &[grant(0, true, 10, 1000)], 40);
        }

        assert_eq!(told(&mut agent, 6, 0), Some((3000, 6, 6)));
        assert_eq!(told(&mut agent, 7, 0), None, "the fourth is not over");
        // The cell sleeps through two.
        assert_eq!(told(&mut agent, 10, 0), Some((0, 4, 10)));
        assert_eq!(told(&mut agent, 10, 1), Some((3000, 10, 10)));
    }

    #[test]
    fn slots_that_a_cell_sleeps_through_count_once() {
        let mut agent = TbsAgent::new(BlocksMode::Capacity, Duration::from_millis(1), vec![14]);
        agent.watch(UeId(0));
        agent.watch(UeId(1));
        show(&mut agent, &[grant(0, true, 10, 1000)], 40);
        let of = |agent: &TbsAgent, mode| agent.total(UeId(1), mode).0;
        let before = of(&agent, BlocksMode::Capacity);
        // Three slots of 1,000 bytes pass unseen, read twice; the first UE is still active.
        for upto in [3, 4, 4] {
            agent.skip(UeId(1), upto, |_| 1000 << 8);
        }
        assert_eq!(of(&agent, BlocksMode::Capacity), before + 3000);
        let idle = of(&agent, BlocksMode::AllocatedIdle);
        assert_eq!(idle, 400 + 3 * 500);
        // The cell wakes and shows them; who read them does not count them again, who did not does.
        for _ in 0..3 {
            show(&mut agent, &[], 50);
        }
        assert_eq!(of(&agent, BlocksMode::Capacity), before + 3000);
        assert_eq!(of(&agent, BlocksMode::AllocatedIdle), idle);
        let first = agent.total(UeId(0), BlocksMode::Capacity).0;
        assert_eq!(first, 4 * 5000);
        // The next one is new to both.
        show(&mut agent, &[], 50);
        assert_eq!(of(&agent, BlocksMode::Capacity), before + 3000 + 1000);
        // Long after its last grant nobody shares.
        agent.skip(UeId(1), 105, |_| 1000 << 8);
        let active = 40 - 5;
        assert_eq!(
            of(&agent, BlocksMode::AllocatedIdle),
            idle + 500 + active * 500 + (100 - active) * 1000
        );
    }
}
