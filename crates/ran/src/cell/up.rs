//! The uplink: scheduling requests, buffer status, grants, blocks that UEs fill, reception.

use slackwater_core::{Direction, Instant, PacketView, UeId};
use slackwater_signal::HarqFeedback;

use super::config::CellConfig;
use super::{Cell, fill, need_of};
use crate::mac::SharePolicy;
use crate::out::CellOut;
use crate::ring::{Due, Ring};
use crate::tdd::{Duplex, MIN_PUCCH_SYMBOLS, MIN_PUSCH_SYMBOLS};

const DIR: Direction = Direction::Up;
/// No request waits.
const IDLE: u64 = u64::MAX;
/// Bytes of a short buffer status report with its subheader (TS 36.321, 6.1.3.1; TS 38.321, 6.1.3.1).
const BSR: u32 = 2;

/// True where `slot` of the pattern can carry a scheduling request or HARQ feedback.
pub(super) fn carries_control(duplex: &Duplex, slot: usize) -> bool {
    duplex.up_symbols(slot) >= MIN_PUCCH_SYMBOLS
}

/// What only the uplink has.
pub(super) struct Uplink {
    /// Blocks on the air, due in the slot after theirs.
    pub(super) air: Ring,
    /// UEs that fill a granted block.
    fill: Ring,
    /// Opportunities at which a UE may ask.
    ask: Ring,
    /// Requests that reach the scheduler.
    asked: Ring,
    /// Failed blocks whose retransmission can be scheduled.
    retry: Ring,
    /// Bytes that the UE's queues need, as the UE knows it.
    need: Vec<u32>,
    /// Blocks granted and not yet filled.
    unfilled: Vec<u8>,
    /// Slot of the opportunity that a request waits for; `IDLE` where none does.
    asking: Vec<u64>,
    granted: Vec<u64>,
    filled: Vec<u64>,
    /// `filled` as of the latest buffer status that the scheduler took.
    told: Vec<u64>,
    /// Distances from a scheduler's slot to the uplink slots that it grants, by slot modulo period.
    ahead: Vec<Vec<u8>>,
    /// Slots that can carry a scheduling request, by slot modulo period.
    control: Vec<bool>,
    sr_period: u64,
    /// Slots from a failed block to the decision that sends it again.
    retry_after: u64,
    /// Buffer status levels.
    levels: Vec<u32>,
}

impl Uplink {
    pub(super) fn new(config: &CellConfig, ues: usize) -> Self {
        let period = config.duplex.period();
        let timing = &config.timing;
        let mut ahead = vec![Vec::new(); period];
        for up in 0..period {
            if config.duplex.up_symbols(up) < MIN_PUSCH_SYMBOLS {
                continue;
            }
            // The grant goes out in the last downlink slot that is early enough.
            let k2 = (usize::from(timing.k2)..usize::from(timing.k2) + period)
                .find(|&k| config.duplex.down_symbols((up + period * 16 - k) % period) > 0)
                .expect("a pattern has a downlink slot");
            let distance = k2 + usize::from(timing.mac_to_air);
            ahead[(up + period * 32 - distance) % period].push(distance as u8);
        }
        for distances in &mut ahead {
            distances.sort_unstable();
        }
        let shortest = u64::from(timing.mac_to_air) + u64::from(timing.k2);
        let retry_after = match config.harq.uplink_period {
            Some(every) => u64::from(every).saturating_sub(shortest).max(1),
            None => 1,
        };
        // TS 36.321, table 6.1.3.1-1: 10 bytes to 150,000 in 61 steps of equal ratio.
        let levels = (0..=61)
            .map(|k| {
                let ratio = libm::pow(15_000.0, f64::from(k) / 61.0);
                libm::ceil(10.0 * ratio) as u32
            })
            .collect();
        Self {
            air: Ring::new(),
            fill: Ring::new(),
            ask: Ring::new(),
            asked: Ring::new(),
            retry: Ring::new(),
            need: vec![0; ues],
            unfilled: vec![0; ues],
            asking: vec![IDLE; ues],
            granted: vec![0; ues],
            filled: vec![0; ues],
            told: vec![0; ues],
            ahead,
            control: (0..period)
                .map(|s| carries_control(&config.duplex, s))
                .collect(),
            sr_period: u64::from(timing.sr_period),
            retry_after,
            levels,
        }
    }

    pub(super) fn next(&self, from: u64) -> u64 {
        let mut next = u64::MAX;
        for ring in [&self.air, &self.fill, &self.ask, &self.asked, &self.retry] {
            next = next.min(ring.next(from).unwrap_or(u64::MAX));
        }
        next
    }

    /// The uplink slots whose grants are made in `slot`.
    pub(super) fn targets(&self, slot: u64) -> impl Iterator<Item = u64> + use<'_> {
        self.ahead[(slot % self.ahead.len() as u64) as usize]
            .iter()
            .map(move |&d| slot + u64::from(d))
    }

    /// What the UE's queues need.
    #[inline]
    pub(super) fn need_mut(&mut self, ue: usize) -> &mut u32 {
        &mut self.need[ue]
    }

    /// The first opportunity of `ue` for a scheduling request at or after `from`.
    fn opportunity(&self, ue: usize, from: u64) -> u64 {
        let phase = ue as u64 % self.sr_period;
        let mut slot = from + (phase + self.sr_period - from % self.sr_period) % self.sr_period;
        while !self.control[(slot % self.control.len() as u64) as usize] {
            slot += 1;
        }
        slot
    }

    /// The value that a report of `bytes` shows: the upper edge of its level.
    fn level(&self, bytes: u32) -> u32 {
        if bytes == 0 {
            return 0;
        }
        let at = self.levels.partition_point(|&edge| edge < bytes);
        self.levels.get(at).copied().unwrap_or(bytes)
    }
}

impl<P: PacketView> Cell<P> {
    /// A packet entered an uplink queue of `ue`.
    pub(super) fn uplink_arrival(&mut self, now: Instant, ue: usize) {
        let need = need_of(&self.ues[ue], now, DIR);
        let up = &mut self.uplink;
        let idle = up.need[ue] == 0;
        up.need[ue] = need;
        let coming = up.unfilled[ue] > 0 && !self.config.timing.sr_tells_backlog;
        if idle && !coming && up.asking[ue] == IDLE && need > 0 {
            // Where blocks are granted, the next one carries the buffer status.
            let slot = up.opportunity(ue, self.cursor);
            up.asking[ue] = slot;
            up.ask.push(
                self.cursor.saturating_sub(1),
                Due {
                    slot,
                    ue: ue as u32,
                    process: 0,
                },
            );
        }
    }

    /// Scheduling requests leave and arrive.
    pub(super) fn uplink_requests(&mut self, slot: u64) {
        let mut due = core::mem::take(&mut self.due);
        let timing = self.config.timing;
        self.uplink.ask.take(slot, &mut due);
        for &Due { ue, .. } in &due {
            let (index, up) = (ue as usize, &mut self.uplink);
            if up.asking[index] != slot {
                // A block with the buffer status went out in the meantime.
                continue;
            }
            let coming = up.unfilled[index] > 0 && !timing.sr_tells_backlog;
            if up.need[index] == 0 || coming {
                up.asking[index] = IDLE;
                continue;
            }
            let event = |slot| Due {
                slot,
                ue,
                process: 0,
            };
            up.asked
                .push(slot, event(slot + u64::from(timing.sr_to_mac.max(1))));
            let next = up.opportunity(index, slot + 1);
            up.asking[index] = next;
            up.ask.push(slot, event(next));
        }
        self.uplink.asked.take(slot, &mut due);
        for &Due { ue, .. } in &due {
            let index = ue as usize;
            let up = &self.uplink;
            let told = if timing.sr_tells_backlog {
                // ns-3's schedulers do not count what is granted and not filled yet.
                up.level(up.need[index])
            } else if up.unfilled[index] > 0 {
                continue;
            } else {
                timing.sr_grant
            };
            self.learn(index, told.max(self.up.want[index]));
        }
        self.due = due;
    }

    /// The scheduler learns that `ue` wants `bytes`.
    fn learn(&mut self, ue: usize, bytes: u32) {
        if bytes > 0 && self.up.want[ue] == 0 {
            self.up.wants.insert(ue);
            self.up.fresh.push(ue as u32);
        } else if bytes == 0 {
            self.up.wants.remove(ue);
        }
        self.up.want[ue] = bytes;
    }

    /// UEs fill the blocks that go on the air soon.
    pub(super) fn uplink_fill(&mut self, now: Instant, slot: u64, out: &mut CellOut<P>) {
        let mut due = core::mem::take(&mut self.due);
        self.uplink.fill.take(slot, &mut due);
        for &Due { ue, process, .. } in &due {
            self.fill_block(now, ue as usize, process, out);
        }
        self.due = due;
    }

    fn fill_block(&mut self, now: Instant, ue: usize, process: u8, out: &mut CellOut<P>) {
        let mut pieces = core::mem::take(&mut self.up.block(ue, process).pieces);
        let tbs = self.up.block(ue, process).tbs;
        let dropped = out.dropped.len();
        let used = fill(
            &mut self.ues[ue],
            now,
            DIR,
            tbs.saturating_sub(BSR),
            &mut pieces,
            out,
        );
        let dropped = (out.dropped.len() - dropped) as u64;
        let need = need_of(&self.ues[ue], now, DIR);
        let up = &mut self.uplink;
        up.need[ue] = need;
        up.unfilled[ue] -= 1;
        if need == 0 || !self.config.timing.sr_tells_backlog {
            up.asking[ue] = IDLE;
        }
        up.filled[ue] += u64::from(tbs);
        let (bsr, filled_by) = (up.level(need), up.filled[ue]);
        let out_of_band = self.config.timing.sr_tells_backlog;
        let side = &mut self.up;
        for stats in [&mut side.stats, &mut side.ue_stats[ue]] {
            stats.dropped += dropped;
            stats.carried += u64::from(used + BSR.min(tbs));
        }
        let block = side.block(ue, process);
        block.pieces = pieces;
        block.bsr = (tbs >= BSR && !out_of_band).then_some(bsr);
        block.filled_by = filled_by;
        if self.ues[ue].am {
            self.arm(now, ue);
        }
    }

    /// Blocks whose slot on the air ended are decoded; failed ones are sent again or given up.
    pub(super) fn uplink_receive(&mut self, now: Instant, slot: u64, out: &mut CellOut<P>) {
        let mut due = core::mem::take(&mut self.due);
        self.uplink.air.take(slot, &mut due);
        let max_tx = self.max_tx();
        for &Due { ue, process, .. } in &due {
            let index = ue as usize;
            let ok = self.up.decode(index, process, &mut self.radio);
            let block = self.up.block(index, process);
            let (round, bsr, filled_by) = (block.round, block.bsr, block.filled_by);
            self.up.feedback.push(HarqFeedback {
                ue: UeId(ue),
                direction: DIR,
                harq: process,
                round,
                ack: ok,
            });
            if ok {
                self.up.free[index] |= 1 << process;
                // HARQ can bring a block after one that was filled later; its status is out of date. Were it taken, an
                // empty one would hide what the later one told, and the UE, which reported, would not ask again.
                if let Some(bytes) = bsr
                    && filled_by > self.uplink.told[index]
                {
                    self.uplink.told[index] = filled_by;
                    let coming = self.uplink.granted[index] - filled_by;
                    let left = u64::from(bytes).saturating_sub(coming) as u32;
                    self.learn(index, left);
                }
                let pieces = core::mem::take(&mut self.up.block(index, process).pieces);
                self.deliver(now, DIR, index, &pieces, out);
                self.up.block(index, process).pieces = pieces;
            } else if round + 1 < max_tx {
                let again = Due {
                    slot: slot - 1 + self.uplink.retry_after.max(2),
                    ue,
                    process,
                };
                self.uplink.retry.push(slot, again);
            } else {
                self.up.free[index] |= 1 << process;
                let pieces = core::mem::take(&mut self.up.block(index, process).pieces);
                self.give_up(now, DIR, index, &pieces, out);
                self.up.block(index, process).pieces = pieces;
                self.ask_later(index, slot);
            }
        }
        self.uplink.retry.take(slot, &mut due);
        for &Due { ue, process, .. } in &due {
            self.up.again.push((ue, process));
        }
        self.due = due;
    }

    /// A buffer status report was lost: the UE asks again when retxBSR-Timer runs out (TS 36.321, 5.4.5).
    fn ask_later(&mut self, ue: usize, slot: u64) {
        let up = &mut self.uplink;
        if up.need[ue] > 0 && up.unfilled[ue] == 0 && up.asking[ue] == IDLE {
            let at = up.opportunity(ue, slot + u64::from(self.config.timing.retx_bsr.max(1)));
            up.asking[ue] = at;
            up.ask.push(
                slot,
                Due {
                    slot: at,
                    ue: ue as u32,
                    process: 0,
                },
            );
        }
    }

    /// Grants the uplink slots whose grants go out now; returns schedulable and free resource blocks.
    pub(super) fn uplink_grants(&mut self, slot: u64) -> (u16, u16) {
        let (mut schedulable, mut free) = (0, 0);
        let position = (slot % self.uplink.ahead.len() as u64) as usize;
        for k in 0..self.uplink.ahead[position].len() {
            let air = slot + u64::from(self.uplink.ahead[position][k]);
            let (all, left) = self.uplink_slot(slot, air);
            schedulable += all;
            free += left;
        }
        (schedulable, free)
    }

    fn uplink_slot(&mut self, slot: u64, air: u64) -> (u16, u16) {
        let kind = self.up.kind_of(air);
        let all = self.up.tables[kind - 1].groups();
        let mut left = all;
        if !self.up.again.is_empty() {
            left = self.again(DIR, slot, air, kind, left);
        }
        if !self.up.wants.is_empty() {
            self.up.scheduler.begin(slot);
            let share = self.share(DIR, left);
            let least = self.config.min_grant_ul;
            while left > 0 {
                let Some(choice) = self.up.choose(kind, left, share, BSR, least) else {
                    break;
                };
                let ue = choice.ue;
                if choice.tbs <= BSR {
                    self.up.skip(ue);
                    continue;
                }
                left -= choice.part.groups;
                self.start(DIR, slot, air, &choice, 0);
                self.uplink.unfilled[ue] += 1;
                self.uplink.granted[ue] += u64::from(choice.tbs);
                let want = self.up.want[ue].saturating_sub(choice.tbs - BSR);
                self.learn(ue, want);
                if want > 0 && (left == 0 || matches!(self.config.share, SharePolicy::Split(_))) {
                    self.up.skip(ue);
                }
                let fill = air - u64::from(self.config.timing.uplink_prepare);
                self.uplink.fill.push(
                    slot,
                    Due {
                        slot: fill.max(slot + 1),
                        ue: ue as u32,
                        process: choice.process,
                    },
                );
            }
            self.up.unskip();
        }
        self.up.count_free(kind, left);
        let table = &self.up.tables[kind - 1];
        (table.prbs(all), table.prbs(left))
    }
}
