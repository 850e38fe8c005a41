//! The downlink half of a slot.

use slackwater_core::{Direction, Instant, PacketView, UeId};
use slackwater_signal::HarqFeedback;

use super::Cell;
use super::gone::Mark;
use crate::mac::SharePolicy;
use crate::out::CellOut;
use crate::ring::Due;

const DIR: Direction = Direction::Down;
/// A grant below this many bytes cannot hold headers and a byte of data.
const LEAST: u32 = 8;

impl<P: PacketView + Clone> Cell<P> {
    /// Blocks whose slot on the air ended are decoded; what became complete is delivered.
    pub(super) fn downlink_receive(&mut self, now: Instant, slot: u64, out: &mut CellOut<P>) {
        if !self.down_air.has(slot) {
            return;
        }
        self.down_air.take(slot, &mut self.due);
        for k in 0..self.due.len() {
            let Due { ue, process, .. } = self.due[k];
            let index = ue as usize;
            let ok = self.down.decode(index, process, &mut self.radio);
            let air = self.down.block(index, process).air;
            let after = self.feedback_after[(air % self.feedback_after.len() as u64) as usize];
            let known = air + u64::from(after) + u64::from(self.delays.feedback_to_mac);
            self.down_feedback.push(
                slot,
                Due {
                    slot: known.max(slot + 1),
                    ue,
                    process,
                },
            );
            if ok {
                self.deliver(now, DIR, index, process, out);
            }
        }
    }

    /// Feedback reaches the scheduler.
    pub(super) fn downlink_feedback(&mut self, now: Instant, slot: u64, out: &mut CellOut<P>) {
        if !self.down_feedback.has(slot) {
            return;
        }
        self.down_feedback.take(slot, &mut self.due);
        let max_tx = self.config.harq.transmissions;
        for k in 0..self.due.len() {
            let Due { ue, process, .. } = self.due[k];
            let index = ue as usize;
            let block = self.down.block(index, process);
            let (ack, round) = (block.decoded, block.round);
            self.down.note_feedback(HarqFeedback {
                ue: UeId(ue),
                direction: DIR,
                harq: process,
                round,
                ack,
            });
            self.gone.answered(now, index, process);
            if ack {
                self.down.free[index] |= 1 << process;
            } else if round + 1 < max_tx {
                self.down.again.push((ue, process));
            } else {
                self.down.free[index] |= 1 << process;
                self.give_up(now, DIR, index, process, out);
            }
        }
    }

    /// Assigns the blocks of the slot that goes on the air next; returns schedulable and free resource blocks.
    pub(super) fn downlink_grants(
        &mut self,
        now: Instant,
        slot: u64,
        out: &mut CellOut<P>,
    ) -> (u16, u16) {
        let air = self.downlink_air(slot);
        let kind = self.down.kind_of(air);
        if kind == 0 {
            return (0, 0);
        }
        let all = self.down.tables[kind - 1].groups();
        let mut left = all;
        if !self.down.again.is_empty() {
            left = self.again(DIR, slot, air, kind, left);
        }
        if !self.offers.is_empty() {
            self.open_offers(left);
        }
        if !self.down.wants.is_empty() {
            self.begin_slot(DIR, now, slot);
            let share = self.even_share(kind, left);
            let most = match self.config.share {
                SharePolicy::WholeSlot => u32::MAX,
                SharePolicy::Split(n) => u32::from(n.max(1)),
            };
            let mut served = 0;
            while left > 0 {
                let Some(choice) = self.down.choose(kind, left, share, 0, LEAST) else {
                    break;
                };
                let ue = choice.ue;
                if choice.tbs < LEAST {
                    self.down.skip(ue);
                    continue;
                }
                if !self.offers.is_empty() {
                    self.offer_grant(now, ue, choice.tbs);
                }
                let pieces = &mut self.down.block(ue, choice.process).pieces;
                let mark = Mark::of(out);
                let dropped = out.dropped.len();
                let used = self.ues[ue].fill(now, DIR, choice.tbs, pieces, out);
                let dropped = (out.dropped.len() - dropped) as u64;
                self.gone.note(now, DIR, ue, None, mark, out);
                self.note_resent(DIR, ue, choice.process, air);
                let need = self.ues[ue].need(now, DIR);
                let side = &mut self.down;
                side.stats.dropped += dropped;
                side.ue_stats[ue].dropped += dropped;
                side.want[ue] = need;
                if used > 0 {
                    left -= choice.part.groups;
                    self.start(DIR, slot, air, &choice, used);
                }
                if self.ues[ue].am {
                    self.arm(now, ue);
                }
                if need == 0 {
                    self.down.wants.remove(ue);
                } else if used == 0
                    || left == 0
                    || matches!(self.config.share, SharePolicy::Split(_))
                {
                    self.down.skip(ue);
                }
                served += u32::from(used > 0);
                if served == most {
                    break;
                }
            }
            self.down.unskip();
        }
        self.down.count_free(kind, left);
        if !self.offers.is_empty() {
            self.close_offers(slot, kind, left);
        }
        let table = &self.down.tables[kind - 1];
        (table.prbs(all), table.prbs(left))
    }

    /// The most groups that one UE may take of `left` in a slot of `kind`: parts are equal, and what some do not need of
    /// theirs goes to the others.
    fn even_share(&mut self, kind: usize, left: u16) -> u16 {
        let even = self.share(Direction::Down, left);
        let SharePolicy::Split(n) = self.config.share else {
            return even;
        };
        let side = &self.down;
        if side.wants.len() > u32::from(n) {
            return even;
        }
        let table = &side.tables[kind - 1];
        let mut needs: Vec<u16> = (&side.wants)
            .into_iter()
            .map(|ue| {
                table
                    .fit(side.mcs[ue], left, side.want[ue])
                    .map_or(left, |p| p.groups)
            })
            .collect();
        needs.sort_unstable();
        let (mut rest, mut ues) = (left, needs.len() as u16);
        for need in needs {
            if need > rest / ues {
                return rest.div_ceil(ues);
            }
            rest -= need;
            ues -= 1;
            if ues == 0 {
                break;
            }
        }
        left
    }

    /// The most groups that one UE may take of `left`.
    pub(super) fn share(&mut self, dir: Direction, left: u16) -> u16 {
        match self.config.share {
            SharePolicy::WholeSlot => left,
            SharePolicy::Split(n) => {
                let waiting = self.side(dir).wants.len().min(u32::from(n.max(1)));
                left.div_ceil(waiting.max(1) as u16)
            }
        }
    }

    /// A block of new data is on its way.
    pub(super) fn start(
        &mut self,
        dir: Direction,
        slot: u64,
        air: u64,
        choice: &super::side::Choice,
        used: u32,
    ) {
        let (ue, process) = (choice.ue, choice.process);
        let rnti = self.ues[ue].rnti;
        let side = self.side(dir);
        let (mcs, prbs) = (side.mcs[ue], choice.part.prbs);
        let serial = side.serial[ue];
        side.serial[ue] += 1;
        side.free[ue] &= !(1 << process);
        side.reference = ue;
        let block = side.block(ue, process);
        block.air = air;
        block.serial = serial;
        block.tbs = choice.tbs;
        block.prbs = prbs;
        block.mcs = mcs;
        block.round = 0;
        side.scheduler.served(slot, ue, choice.tbs);
        if let Some(sampler) = &mut side.sampler {
            sampler.served(slot, ue, choice.tbs);
        }
        side.stats.capacity += u64::from(choice.tbs);
        for stats in [&mut side.stats, &mut side.ue_stats[ue]] {
            stats.granted += u64::from(choice.tbs);
            stats.carried += u64::from(used);
            stats.transmissions += 1;
        }
        side.note_grant(ue, process, rnti);
        let ring = match dir {
            Direction::Down => &mut self.down_air,
            Direction::Up => &mut self.uplink.air,
        };
        ring.push(
            slot,
            Due {
                slot: air + 1,
                ue: ue as u32,
                process,
            },
        );
    }

    /// Sends blocks again that wait for it; returns the groups that are left.
    pub(super) fn again(
        &mut self,
        dir: Direction,
        slot: u64,
        air: u64,
        kind: usize,
        mut left: u16,
    ) -> u16 {
        let mut waiting = core::mem::take(&mut self.side(dir).again);
        waiting.retain(|&(ue, process)| {
            let index = ue as usize;
            let rnti = self.ues[index].rnti;
            let side = self.side(dir);
            let (mcs, tbs) = {
                let block = side.block(index, process);
                (block.mcs, block.tbs)
            };
            // The size stays; in a shorter slot it takes more resource blocks, or does not fit at all.
            let Some(part) = side.tables[kind - 1].fit(mcs, left, tbs) else {
                return true;
            };
            left -= part.groups;
            let block = side.block(index, process);
            block.round += 1;
            block.air = air;
            block.prbs = part.prbs;
            for stats in [&mut side.stats, &mut side.ue_stats[index]] {
                stats.transmissions += 1;
                stats.retransmissions += 1;
            }
            side.note_grant(index, process, rnti);
            let ring = match dir {
                Direction::Down => &mut self.down_air,
                Direction::Up => &mut self.uplink.air,
            };
            ring.push(
                slot,
                Due {
                    slot: air + 1,
                    ue,
                    process,
                },
            );
            false
        });
        self.side(dir).again = waiting;
        left
    }
}
