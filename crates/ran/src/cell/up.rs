//! The uplink: scheduling requests, buffer status, grants, blocks that UEs fill, reception.

use slackwater_core::{Direction, Instant, PacketView, UeId};
use slackwater_signal::HarqFeedback;

use super::Cell;
use super::config::CellConfig;
use super::gone::Mark;
use super::side::slot_start;
use crate::mac::SharePolicy;
use crate::out::CellOut;
use crate::ring::{Due, Ring};
use crate::tdd::{Duplex, MIN_PUCCH_SYMBOLS, MIN_PUSCH_SYMBOLS};

const DIR: Direction = Direction::Up;
/// No request waits.
const IDLE: u64 = u64::MAX;
/// Bytes of a short buffer status report with its subheader (TS 36.321, 6.1.3.1; TS 38.321, 6.1.3.1).
const BSR: u32 = 2;
/// Failed transmissions in a row after which the scheduler gives a UE no more grants by itself (srsRAN Project's
/// `max_consecutive_kos`).
const MOST_FAILURES: u8 = 100;
/// An ns-3 UE that is left with a backlog reports it again after this (lte-rlc-um.cc, `ExpireRbsTimer`).
const NS3_REPORT_AGAIN: slackwater_core::Duration = slackwater_core::Duration::from_millis(10);

/// True where `slot` of the pattern can carry a scheduling request or HARQ feedback.
pub(super) fn carries_control(duplex: &Duplex, slot: usize) -> bool {
    duplex.up_symbols(slot) >= MIN_PUCCH_SYMBOLS
}

/// Distances from a scheduler's slot to the uplink slots that it grants, by slot modulo period.
fn ahead(config: &CellConfig) -> Vec<Vec<u8>> {
    let (duplex, delays) = (&config.duplex, config.delays());
    let period = duplex.period();
    let mut ahead = vec![Vec::new(); period];
    for up in 0..period {
        if duplex.up_symbols(up) < MIN_PUSCH_SYMBOLS {
            continue;
        }
        // The grant goes out in the last downlink slot that is early enough.
        let k2 = (usize::from(delays.k2)..usize::from(delays.k2) + period)
            .find(|&k| duplex.down_symbols((up + period * 16 - k) % period) > 0)
            .expect("a pattern has a downlink slot");
        let distance = k2 + usize::from(delays.mac_to_air);
        ahead[(up + period * 32 - distance) % period].push(distance as u8);
    }
    for distances in &mut ahead {
        distances.sort_unstable();
    }
    ahead
}

impl CellConfig {
    /// Uplink symbols that are granted in each slot of a period. One slot may grant several.
    pub fn granted_symbols(&self) -> Vec<u8> {
        let symbols = |(slot, distances): (usize, Vec<u8>)| {
            let targets = distances.into_iter().map(|d| slot + usize::from(d));
            let symbols =
                targets.map(|target| self.duplex.up_symbols(target % self.duplex.period()));
            symbols.fold(0, u8::saturating_add)
        };
        ahead(self).into_iter().enumerate().map(symbols).collect()
    }
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
    /// Looks at `retx_at`, at most one for each UE.
    retx: Ring,
    /// Bytes that the UE's queues need, as the UE knows it.
    need: Vec<u32>,
    /// Blocks granted and not yet filled.
    unfilled: Vec<u8>,
    /// Slot of the opportunity that a request waits for; `IDLE` where none does.
    asking: Vec<u64>,
    /// The buffer status that the latest request told, where requests tell it.
    reported: Vec<u32>,
    /// A regular buffer status report is triggered and not sent (TS 36.321, 5.4.5).
    triggered: Vec<bool>,
    /// Slot of the latest buffer status report.
    reported_in: Vec<u64>,
    /// Slot in which retxBSR-Timer runs out; `IDLE` while it does not run.
    retx_at: Vec<u64>,
    /// An entry of `retx` is on its way.
    retx_armed: Vec<bool>,
    /// Failed transmissions since the last that was decoded.
    failures: Vec<u8>,
    granted: Vec<u64>,
    filled: Vec<u64>,
    /// `filled` when the latest request left.
    filled_at_request: Vec<u64>,
    /// `filled` as of the latest request or buffer status that the scheduler took.
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
        let delays = config.delays();
        let shortest = u64::from(delays.mac_to_air) + u64::from(delays.k2);
        let retry_after = match delays.uplink_retransmission {
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
            retx: Ring::new(),
            need: vec![0; ues],
            unfilled: vec![0; ues],
            asking: vec![IDLE; ues],
            reported: vec![0; ues],
            triggered: vec![false; ues],
            reported_in: vec![0; ues],
            retx_at: vec![IDLE; ues],
            retx_armed: vec![false; ues],
            failures: vec![0; ues],
            granted: vec![0; ues],
            filled: vec![0; ues],
            filled_at_request: vec![0; ues],
            told: vec![0; ues],
            ahead: ahead(config),
            control: (0..period)
                .map(|s| carries_control(&config.duplex, s))
                .collect(),
            sr_period: u64::from(delays.sr_period),
            retry_after,
            levels,
        }
    }

    pub(super) fn next(&self, from: u64) -> u64 {
        let mut next = u64::MAX;
        for ring in [
            &self.air,
            &self.fill,
            &self.ask,
            &self.asked,
            &self.retry,
            &self.retx,
        ] {
            next = next.min(ring.next(from).unwrap_or(u64::MAX));
        }
        next
    }

    /// Slots after which the pattern of uplink and downlink comes again.
    #[inline]
    pub(super) fn period(&self) -> u64 {
        self.ahead.len() as u64
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

    /// A request of `ue` waits for its first opportunity at or after `from`; `now` is the latest slot that began.
    fn request(&mut self, now: u64, ue: usize, from: u64) {
        let slot = self.opportunity(ue, from);
        if slot < self.asking[ue] {
            self.asking[ue] = slot;
            let due = Due {
                slot,
                ue: ue as u32,
                process: 0,
            };
            self.ask.push(now, due);
        }
    }

    /// True where a block that `ue` fills in `slot` has to carry a buffer status report, padding or not: one is triggered,
    /// or periodicBSR-Timer of `periodic` slots ran out; with 0, each block carries one (TS 36.321, 5.4.5).
    fn must_tell(&self, ue: usize, slot: u64, periodic: u32) -> bool {
        self.triggered[ue] || slot >= self.reported_in[ue] + u64::from(periodic)
    }

    /// `ue` filled a block in `slot`, with a buffer status report where it `tells`.
    fn after_block(&mut self, slot: u64, ue: usize, tells: bool, retx: u64) {
        if tells {
            self.reported_in[ue] = slot;
            self.triggered[ue] = false;
            // No request waits any more (TS 36.321, 5.4.4).
            self.asking[ue] = IDLE;
        }
        if self.need[ue] == 0 {
            // The next arrival triggers a report by itself.
            self.retx_at[ue] = IDLE;
            return;
        }
        // Each grant for new data restarts retxBSR-Timer (TS 36.321, 5.4.5; TS 38.321, 5.4.5).
        self.retx_at[ue] = slot + retx;
        if !self.retx_armed[ue] {
            self.watch_retx(slot, ue);
        }
    }

    fn watch_retx(&mut self, now: u64, ue: usize) {
        self.retx_armed[ue] = true;
        let due = Due {
            slot: self.retx_at[ue],
            ue: ue as u32,
            process: 0,
        };
        self.retx.push(now, due);
    }

    /// Looks at retxBSR-Timer: where it ran out over waiting data, a report is triggered, and a request for it.
    fn retx_timer(&mut self, slot: u64, ue: usize) {
        self.retx_armed[ue] = false;
        let at = self.retx_at[ue];
        if at == IDLE || self.need[ue] == 0 {
            return;
        }
        if slot < at {
            self.watch_retx(slot, ue);
            return;
        }
        self.retx_at[ue] = IDLE;
        self.triggered[ue] = true;
        if self.unfilled[ue] == 0 {
            self.request(slot, ue, slot + 1);
        }
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

impl<P: PacketView + Clone> Cell<P> {
    /// A packet entered an uplink queue of `ue`.
    pub(super) fn uplink_arrival(&mut self, now: Instant, ue: usize) {
        let need = self.ues[ue].need(now, DIR);
        let up = &mut self.uplink;
        let idle = up.need[ue] == 0;
        up.need[ue] = need;
        if need == 0 {
            return;
        }
        let now = self.cursor.saturating_sub(1);
        if self.config.uplink.out_of_band() {
            // Each arrival is news.
            up.request(now, ue, self.cursor);
        } else if idle {
            up.triggered[ue] = true;
            if up.unfilled[ue] == 0 {
                // Where blocks are granted, the next one carries the buffer status.
                up.request(now, ue, self.cursor);
            }
        }
    }

    /// Scheduling requests leave and arrive.
    pub(super) fn uplink_requests(&mut self, slot: u64) {
        let up = &self.uplink;
        if !(up.ask.has(slot) || up.asked.has(slot) || up.retx.has(slot)) {
            return;
        }
        let mut due = core::mem::take(&mut self.due);
        let (delays, out_of_band) = (self.delays, self.config.uplink.out_of_band());
        self.uplink.retx.take(slot, &mut due);
        for &Due { ue, .. } in &due {
            self.uplink.retx_timer(slot, ue as usize);
        }
        self.uplink.ask.take(slot, &mut due);
        for &Due { ue, .. } in &due {
            let (index, up) = (ue as usize, &mut self.uplink);
            if up.asking[index] != slot {
                // A block with the buffer status went out in the meantime.
                continue;
            }
            up.asking[index] = IDLE;
            if up.need[index] == 0 || (up.unfilled[index] > 0 && !out_of_band) {
                continue;
            }
            let arrival = Due {
                slot: slot + u64::from(delays.sr_to_mac.max(1)),
                ue,
                process: 0,
            };
            up.asked.push(slot, arrival);
            up.filled_at_request[index] = up.filled[index];
            if out_of_band {
                up.reported[index] = up.level(up.need[index]);
            } else {
                // Pending until a block with the buffer status goes out (TS 36.321, 5.4.4).
                up.request(slot, index, slot + 1);
            }
        }
        self.uplink.asked.take(slot, &mut due);
        for &Due { ue, .. } in &due {
            let index = ue as usize;
            let up = &mut self.uplink;
            if out_of_band {
                // ns-3's schedulers do not count what is granted and not filled yet. What was told counts, even where an
                // older grant took it since: the new grant then serves what comes next.
                let told = up.reported[index];
                self.learn(index, told);
            } else if up.unfilled[index] == 0 {
                // A status from before the request is out of date: were it taken, an empty one would undo the request.
                up.told[index] = up.told[index].max(up.filled_at_request[index]);
                self.learn(
                    index,
                    self.config.uplink.first_grant.max(self.up.want[index]),
                );
            }
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
        if !self.uplink.fill.has(slot) {
            return;
        }
        self.uplink.fill.take(slot, &mut self.due);
        for k in 0..self.due.len() {
            let Due { ue, process, .. } = self.due[k];
            self.fill_block(now, ue as usize, process, out);
        }
    }

    fn fill_block(&mut self, now: Instant, ue: usize, process: u8, out: &mut CellOut<P>) {
        let slot = self.cursor - 1;
        let (delays, out_of_band) = (self.delays, self.config.uplink.out_of_band());
        let must_tell = out_of_band || self.uplink.must_tell(ue, slot, delays.periodic_bsr);
        let block = self.up.block(ue, process);
        let (tbs, air) = (block.tbs, block.air);
        let (mark, dropped) = (Mark::of(out), out.dropped.len());
        let room = tbs.saturating_sub(if must_tell { BSR } else { 0 });
        let used = self.ues[ue].fill(now, DIR, room, &mut block.pieces, out);
        self.gone.note(now, DIR, ue, None, mark, out);
        self.note_resent(DIR, ue, process, air);
        // A report in place of padding is free (TS 36.321, 5.4.5; TS 38.321, 5.4.5).
        let tells = must_tell || tbs - used >= BSR;
        let dropped = (out.dropped.len() - dropped) as u64;
        let need = self.ues[ue].need(now, DIR);
        let up = &mut self.uplink;
        up.need[ue] = need;
        up.unfilled[ue] -= 1;
        up.filled[ue] += u64::from(tbs);
        if !out_of_band {
            up.after_block(slot, ue, tells, u64::from(delays.retx_bsr.max(1)));
        } else if need > 0 {
            let again = NS3_REPORT_AGAIN.as_nanos() / self.slot_ns;
            up.request(slot, ue, slot + again);
        }
        let (bsr, filled_by) = (up.level(need), up.filled[ue]);
        let side = &mut self.up;
        for stats in [&mut side.stats, &mut side.ue_stats[ue]] {
            stats.dropped += dropped;
            stats.carried += u64::from(used + if tells { BSR.min(tbs) } else { 0 });
        }
        let block = side.block(ue, process);
        block.bsr = (tells && tbs >= BSR && !out_of_band).then_some(bsr);
        block.filled_by = filled_by;
        if self.ues[ue].am {
            self.arm(now, ue);
        }
    }

    /// Blocks whose slot on the air ended are decoded; failed ones are sent again or given up.
    pub(super) fn uplink_receive(&mut self, now: Instant, slot: u64, out: &mut CellOut<P>) {
        if !self.uplink.air.has(slot) && !self.uplink.retry.has(slot) {
            return;
        }
        self.uplink.air.take(slot, &mut self.due);
        let max_tx = self.config.harq.transmissions;
        for k in 0..self.due.len() {
            let Due { ue, process, .. } = self.due[k];
            let index = ue as usize;
            let ok = self.up.decode(index, process, &mut self.radio);
            let block = self.up.block(index, process);
            let (round, bsr, filled_by) = (block.round, block.bsr, block.filled_by);
            self.up.note_feedback(HarqFeedback {
                ue: UeId(ue),
                direction: DIR,
                harq: process,
                round,
                ack: ok,
            });
            let failures = &mut self.uplink.failures[index];
            *failures = if ok { 0 } else { failures.saturating_add(1) };
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
                self.deliver(now, DIR, index, process, out);
            } else if round + 1 < max_tx {
                let again = Due {
                    slot: slot - 1 + self.uplink.retry_after.max(2),
                    ue,
                    process,
                };
                self.uplink.retry.push(slot, again);
            } else {
                self.up.free[index] |= 1 << process;
                self.give_up(now, DIR, index, process, out);
                self.grant_again(index, process);
            }
        }
        self.uplink.retry.take(slot, &mut self.due);
        let ready = self.due.iter().map(|due| (due.ue, due.process));
        self.up.again.extend(ready);
    }

    /// A block was given up: what it was to bring may still wait, so its bytes are wanted again (as srsRAN Project and
    /// `OpenAirInterface` count, which subtract from the buffer status what lies in HARQ processes).
    fn grant_again(&mut self, ue: usize, process: u8) {
        let out_of_band = self.config.uplink.out_of_band();
        if out_of_band || self.uplink.failures[ue] >= MOST_FAILURES {
            return;
        }
        let lost = self.up.block(ue, process).tbs - BSR;
        self.learn(ue, self.up.want[ue].saturating_add(lost));
    }

    /// Resource blocks of the uplink slots whose grants go out in `slot`.
    pub(super) fn uplink_blocks(&self, slot: u64) -> u16 {
        let blocks = |target| {
            let table = &self.up.tables[self.up.kind_of(target) - 1];
            table.prbs(table.groups())
        };
        self.uplink.targets(slot).map(blocks).sum()
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
            self.begin_slot(DIR, slot_start(slot, self.slot_ns), slot);
            let share = self.share(DIR, left);
            let least = self.config.uplink.min_grant;
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
                let fill = air - u64::from(self.delays.uplink_prepare);
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
