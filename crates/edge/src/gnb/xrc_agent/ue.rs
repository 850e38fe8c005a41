//! What the agent knows of one UE.

use std::collections::VecDeque;

use slackwater_core::{BearerId, Bytes, Duration, Instant, Rate};
use slackwater_signal::Grant;

use super::grants::{Cursor, Granted, Grants};
use super::slots::{Offer, Slots};

/// Packets of one or two windows, for their mean size.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    /// The slot in which the window of `now` ends.
    end: u64,
    /// Bytes and packets of this window.
    now: [u64; 2],
    /// Those of the one before.
    before: [u64; 2],
}

impl Sizes {
    #[inline]
    fn turn(&mut self, next: u64, window: u64) {
        if next >= self.end {
            self.start(next, window);
        }
    }

    #[cold]
    #[inline(never)]
    fn start(&mut self, next: u64, window: u64) {
        self.before = if next < self.end + window {
            self.now
        } else {
            [0; 2]
        };
        self.now = [0; 2];
        self.end = next + window;
    }
}

/// New data granted over a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Own {
    /// Its blocks.
    pub(super) granted: Granted,
    /// Slots.
    pub(super) span: f64,
}

/// What a range of slots offered, kept so that the next sum only adds what came and takes off what went.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// The first slot.
    from: u64,
    /// The slot after the last.
    to: u64,
    /// What they offered.
    offer: Offer,
}

/// A capacity, for all ACKs of one slot: the end of its window, and how many UEs shared the free blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memo {
    /// The slot after the window.
    pub(super) to: u64,
    /// UEs that shared the free blocks.
    pub(super) ues: u32,
    /// The capacity.
    pub(super) rate: Rate,
}

/// Slots, the last excluded.
pub(super) type Span = (u64, u64);

/// The delay line of one queue's head-of-line delay.
type Heads = VecDeque<(Instant, Duration)>;

#[derive(Clone, Debug, Default)]
pub(super) struct UeState {
    /// New data granted, slot by slot.
    granted: Grants,
    /// Where the last look-up of grants found the begin of its window.
    begin: Cursor,
    /// Where it found the end.
    end: Cursor,
    /// The latest slot with a grant of any kind.
    last_grant: Option<u64>,
    /// Estimate of the bytes that wait: packets less blocks, set right whenever a queue is seen.
    backlog: u64,
    /// The first slot after which the queue was empty.
    emptied: u64,
    /// Spans of slots `from..to` in which the UE was waking and that ended.
    waking: VecDeque<Span>,
    /// Packets of late.
    sizes: Sizes,
    /// The last sum of offers.
    sum: Sum,
    /// Head-of-line delays by bearer.
    heads: Vec<Heads>,
    /// Bearers that were seen, a bit each.
    bearers: u32,
    /// The last capacity.
    pub(super) memo: Memo,
}

impl UeState {
    /// Slots with grants that are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.granted.len()
    }

    /// A grant of `slot`; `depth` slots back are kept. Returns the span of waking that it ends.
    #[inline]
    pub(super) fn on_grant(
        &mut self,
        slot: u64,
        grant: &Grant,
        (waking_after, depth): (u64, u64),
    ) -> Option<Span> {
        let woken = self.close_waking(slot, waking_after, depth);
        self.last_grant = Some(slot);
        if grant.ndi {
            self.on_new_data(slot, grant, depth);
        }
        woken
    }

    #[inline]
    fn on_new_data(&mut self, slot: u64, grant: &Grant, depth: u64) {
        self.granted.push(slot, grant.tbs.get(), depth);
        if self.backlog > 0 {
            self.backlog = self.backlog.saturating_sub(grant.tbs.get());
            if self.backlog == 0 {
                self.emptied = slot + 1;
            }
        }
    }

    /// New data granted in the slots of `from..to`.
    pub(super) fn granted(&mut self, from: u64, to: u64) -> Own {
        let begin = self.granted.seek(&mut self.begin, from);
        let end = self.granted.seek(&mut self.end, to);
        Own {
            granted: self.granted.between(begin, end),
            span: (to - from) as f64,
        }
    }

    /// New data granted over whole turns: from one grant to the last before `to`, at least `window` slots apart.
    ///
    /// A UE whose turn comes every 39 slots has one grant or two in 40, and two whenever it has just been served,
    /// which is when its ACKs pass. Over whole turns its rate is the same at every time. `None` where there is no such
    /// turn since the UE was last idle, or where the next one is overdue and nothing waits for it, or long overdue.
    pub(super) fn whole_turns(&mut self, to: u64, window: u64, waking_after: u64) -> Option<Own> {
        let end = self.granted.seek(&mut self.end, to);
        let last = self.granted.slot_before(end)?;
        let window_from = (last + 1).checked_sub(window)?;
        let begin = self.granted.seek(&mut self.begin, window_from);
        let first = self.granted.slot_before(begin)?;
        let idle = match self.waking_from(waking_after) {
            Some(from) if from < to => to,
            _ => self.waking.back().map_or(0, |span| span.1),
        };
        if first < idle {
            return None;
        }
        let span = (last - first) as f64;
        let turn = span / (end - begin) as f64;
        let overdue = (to - 1 - last) as f64 - turn;
        // One turn late is jitter; two are a scheduler that changed its mind.
        if overdue > if self.backlog > 0 { turn } else { 0.0 } {
            return None;
        }
        Some(Own {
            granted: self.granted.between(begin, end),
            span: span + overdue.max(0.0),
        })
    }

    /// The first slot in which the UE is waking, while its queue stays empty.
    fn waking_from(&self, waking_after: u64) -> Option<u64> {
        let quiet = self.last_grant.map_or(0, |slot| slot + waking_after);
        (self.backlog == 0).then_some(self.emptied.max(quiet))
    }

    /// Ends a span of waking before `slot`, and returns it.
    #[inline]
    fn close_waking(&mut self, slot: u64, waking_after: u64, depth: u64) -> Option<Span> {
        let from = self.waking_from(waking_after).filter(|&from| from < slot)?;
        self.remember_waking((from, slot), depth);
        Some((from, slot))
    }

    #[cold]
    #[inline(never)]
    fn remember_waking(&mut self, woken: Span, depth: u64) {
        while self.waking.front().is_some_and(|w| w.1 + depth < woken.1) {
            self.waking.pop_front();
        }
        self.waking.push_back(woken);
    }

    /// A packet of `bytes` entered before the slot `next`. Returns the span of waking that it ends.
    #[inline]
    pub(super) fn on_packet(
        &mut self,
        next: u64,
        bearer: BearerId,
        bytes: Bytes,
        window: u64,
        (waking_after, depth): (u64, u64),
    ) -> Option<Span> {
        let woken = self.fill(next, self.backlog + bytes.get(), waking_after, depth);
        self.bearers |= 1 << (bearer.0 & 31);
        self.sizes.turn(next, window);
        self.sizes.now[0] += bytes.get();
        self.sizes.now[1] += 1;
        woken
    }

    /// Sets the backlog before the slot `next`. Returns the span of waking that this ends.
    #[inline]
    fn fill(&mut self, next: u64, backlog: u64, waking_after: u64, depth: u64) -> Option<Span> {
        let before = self.backlog;
        if (before == 0) == (backlog == 0) {
            self.backlog = backlog;
            return None;
        }
        let woken = if before == 0 {
            self.close_waking(next, waking_after, depth)
        } else {
            self.emptied = next;
            None
        };
        self.backlog = backlog;
        woken
    }

    /// The queue of `bearer` was seen to hold `backlog` bytes. Returns the span of waking that this ends.
    pub(super) fn on_queue(
        &mut self,
        next: u64,
        bearer: BearerId,
        backlog: Bytes,
        (waking_after, depth): (u64, u64),
    ) -> Option<Span> {
        let only = self.bearers & !(1 << (bearer.0 & 31)) == 0;
        let backlog = if only {
            backlog.get()
        } else {
            // What the other bearers hold is not known.
            backlog.get().max(self.backlog)
        };
        self.fill(next, backlog, waking_after, depth)
    }

    /// Bytes and number of the UE's packets over one to two windows.
    pub(super) fn packets(&mut self, next: u64, window: u64) -> [u64; 2] {
        self.sizes.turn(next, window);
        let Sizes { now, before, .. } = self.sizes;
        [now[0] + before[0], now[1] + before[1]]
    }

    /// What the slots of `from..to` offered to the UE `ue` beyond its grants, in 1/256 byte.
    ///
    /// Free blocks count at the MCS of their slot. All blocks of slots in which the UE was waking count at its MCS of
    /// now: nobody adapts the link of a UE that is idle, so the one of then may be long out of date.
    pub(super) fn offered_q8(
        &mut self,
        ue: usize,
        slots: &Slots,
        from: u64,
        to: u64,
        waking_after: u64,
    ) -> u64 {
        let open = self.waking_from(waking_after).unwrap_or(u64::MAX);
        let last_woken = self.waking.back().map_or(0, |span| span.1);
        if to <= open && last_woken <= from && slots.free(from, to) == 0 {
            let offer = Offer::default();
            self.sum = Sum { from, to, offer };
            return 0;
        }
        if to <= open && last_woken <= from && slots.steady(from, to) {
            // Nobody's MCS changed: no sum is needed.
            return slots.free(from, to) * u64::from(slots.block_q8(ue, from));
        }
        let old = self.sum;
        let wakes = last_woken > old.from.min(from);
        let of = |from: u64, to: u64| {
            let mut sum = Offer::default();
            let mut at = from;
            // Spans of waking lie one behind the other, the open one last.
            let past = self.waking.iter().filter(|_| wakes).copied();
            for (start, end) in past.chain([(open, u64::MAX)]) {
                let (start, end) = (start.clamp(at, to), end.clamp(at, to));
                sum.free_q8 += slots.free_bytes_q8(ue, at, start);
                sum.waking_blocks += slots.all_blocks(start, end);
                at = end;
            }
            sum.free_q8 += slots.free_bytes_q8(ue, at, to);
            sum
        };
        let ahead = slots.begin() <= old.from && old.from <= from && old.to <= to;
        let offer = if ahead && (to - old.to) + (from - old.from) < to - from {
            let (came, went) = (of(old.to, to), of(old.from, from));
            Offer {
                free_q8: old.offer.free_q8 + came.free_q8 - went.free_q8,
                waking_blocks: old.offer.waking_blocks + came.waking_blocks - went.waking_blocks,
            }
        } else {
            of(from, to)
        };
        self.sum = Sum { from, to, offer };
        let mut sum = offer.free_q8;
        if offer.waking_blocks > 0 {
            sum += offer.waking_blocks * slots.block_now_q8(ue, from, to);
        }
        sum
    }

    /// Notes the head-of-line delay of `bearer`, and forgets what is older than the latest value known at `known`.
    pub(super) fn note_head(
        &mut self,
        now: Instant,
        bearer: BearerId,
        hol: Duration,
        known: Instant,
    ) {
        if self.heads.len() <= bearer.index() {
            self.heads.resize_with(bearer.index() + 1, Heads::new);
        }
        let heads = &mut self.heads[bearer.index()];
        while heads.get(1).is_some_and(|second| second.0 <= known) {
            heads.pop_front();
        }
        match heads.back_mut() {
            Some(last) if last.0 == now => last.1 = hol,
            _ => heads.push_back((now, hol)),
        }
    }

    /// The head-of-line delay of `bearer` as it was at `known`.
    pub(super) fn head_at(&self, known: Instant, bearer: BearerId) -> Duration {
        let Some(heads) = self.heads.get(bearer.index()) else {
            return Duration::ZERO;
        };
        let after = heads.partition_point(|head| head.0 <= known);
        match after.checked_sub(1) {
            Some(at) => heads[at].1,
            None => Duration::ZERO,
        }
    }
}
