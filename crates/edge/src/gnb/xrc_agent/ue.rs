//! What the agent knows of one UE.

use std::collections::VecDeque;

use slackwater_core::{BearerId, Bytes, Duration, Instant};
use slackwater_signal::Grant;

use super::slots::Slots;

/// New data granted up to a slot, from the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Granted {
    pub(super) bytes: u64,
    pub(super) blocks: u64,
}

/// Packets of one or two windows, for their mean size.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    /// Number of the window.
    window: u64,
    /// Bytes and packets of this window and of the one before.
    now: [u64; 2],
    before: [u64; 2],
}

/// Offered bytes of a range of slots, kept so that the next sum only adds what came and takes off what went.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    from: u64,
    to: u64,
    q8: u64,
}

/// The delay line of one queue's head-of-line delay.
type Heads = VecDeque<(Instant, Duration)>;

#[derive(Clone, Debug, Default)]
pub(super) struct UeState {
    /// Slots with grants of new data, and the sums up to and including them.
    granted: VecDeque<(u64, Granted)>,
    /// The sum before the first of them.
    before: Granted,
    /// The latest slot with a grant of any kind.
    last_grant: Option<u64>,
    /// Estimate of the bytes that wait: packets less blocks, set right whenever a queue is seen.
    backlog: u64,
    /// The first slot after which the queue was empty.
    emptied: u64,
    /// Spans of slots `from..to` in which the UE was waking and that ended.
    waking: VecDeque<(u64, u64)>,
    sizes: Sizes,
    sum: Sum,
    /// By bearer; bearers that were seen are a bit each.
    heads: Vec<Heads>,
    bearers: u32,
}

impl UeState {
    fn so_far(&self) -> Granted {
        self.granted.back().map_or(self.before, |last| last.1)
    }

    /// Slots with grants that are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.granted.len()
    }

    /// A grant of `slot`; `depth` slots back are kept.
    #[inline]
    pub(super) fn on_grant(&mut self, slot: u64, grant: &Grant, depth: u64, waking_after: u64) {
        self.close_waking(slot, waking_after, depth);
        self.last_grant = Some(slot);
        if !grant.ndi {
            return;
        }
        let mut sum = self.so_far();
        sum.bytes += grant.tbs.get();
        sum.blocks += 1;
        match self.granted.back_mut() {
            Some(last) if last.0 == slot => last.1 = sum,
            _ => {
                while let Some(&(old, sum)) = self.granted.front()
                    && old + depth < slot
                {
                    self.before = sum;
                    self.granted.pop_front();
                }
                self.granted.push_back((slot, sum));
            }
        }
        if self.backlog > 0 {
            self.backlog = self.backlog.saturating_sub(grant.tbs.get());
            if self.backlog == 0 {
                self.emptied = slot + 1;
            }
        }
    }

    /// New data granted in the slots of `from..to`.
    pub(super) fn granted(&self, from: u64, to: u64) -> Granted {
        let upto = |slot: u64| {
            let after = match self.granted.back() {
                // Mostly all of it.
                Some(last) if last.0 < slot => self.granted.len(),
                _ => self.granted.partition_point(|entry| entry.0 < slot),
            };
            match after.checked_sub(1) {
                Some(at) => self.granted[at].1,
                None => self.before,
            }
        };
        let (a, b) = (upto(from), upto(to));
        Granted {
            bytes: b.bytes - a.bytes,
            blocks: b.blocks - a.blocks,
        }
    }

    /// The first slot in which the UE is waking, while its queue stays empty.
    fn waking_from(&self, waking_after: u64) -> Option<u64> {
        let quiet = self.last_grant.map_or(0, |slot| slot + waking_after);
        (self.backlog == 0).then_some(self.emptied.max(quiet))
    }

    /// Ends a span of waking before `slot`.
    #[inline]
    fn close_waking(&mut self, slot: u64, waking_after: u64, depth: u64) {
        if let Some(from) = self.waking_from(waking_after)
            && from < slot
        {
            while self.waking.front().is_some_and(|w| w.1 + depth < slot) {
                self.waking.pop_front();
            }
            self.waking.push_back((from, slot));
        }
    }

    /// A packet of `bytes` entered before the slot `next`.
    #[inline]
    pub(super) fn on_packet(
        &mut self,
        next: u64,
        bearer: BearerId,
        bytes: Bytes,
        window: u64,
        (waking_after, depth): (u64, u64),
    ) {
        self.fill(next, self.backlog + bytes.get(), waking_after, depth);
        self.bearers |= 1 << (bearer.0 & 31);
        let number = next / window;
        if number != self.sizes.window {
            self.sizes.before = if number == self.sizes.window + 1 {
                self.sizes.now
            } else {
                [0; 2]
            };
            self.sizes.now = [0; 2];
            self.sizes.window = number;
        }
        self.sizes.now[0] += bytes.get();
        self.sizes.now[1] += 1;
    }

    /// Sets the backlog before the slot `next`.
    #[inline]
    fn fill(&mut self, next: u64, backlog: u64, waking_after: u64, depth: u64) {
        if backlog == 0 {
            if self.backlog > 0 {
                self.emptied = next;
            }
        } else if self.backlog == 0 {
            self.close_waking(next, waking_after, depth);
        }
        self.backlog = backlog;
    }

    /// The queue of `bearer` was seen to hold `backlog` bytes.
    pub(super) fn on_queue(
        &mut self,
        next: u64,
        bearer: BearerId,
        backlog: Bytes,
        (waking_after, depth): (u64, u64),
    ) {
        let only = self.bearers & !(1 << (bearer.0 & 31)) == 0;
        let backlog = if only {
            backlog.get()
        } else {
            // What the other bearers hold is not known.
            backlog.get().max(self.backlog)
        };
        self.fill(next, backlog, waking_after, depth);
    }

    /// The mean size of the UE's packets, over one to two windows.
    pub(super) fn packet_size(&self, next: u64, window: u64) -> Option<f64> {
        let [mut bytes, mut packets] = self.sizes.now;
        match next / window - self.sizes.window {
            0 => {
                bytes += self.sizes.before[0];
                packets += self.sizes.before[1];
            }
            1 => {}
            _ => return None,
        }
        (packets > 0).then(|| bytes as f64 / packets as f64)
    }

    /// Bytes in 1/256 that the slots of `from..to` offered to the UE `ue` beyond its grants.
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
        if to <= open && last_woken <= from && !slots.any_free(from, to) {
            self.sum = Sum { from, to, q8: 0 };
            return 0;
        }
        let old = self.sum;
        let wakes = last_woken > old.from.min(from);
        let waking = |slot: u64| {
            slot >= open
                || (wakes
                    && self
                        .waking
                        .iter()
                        .rev()
                        .any(|&(from, to)| from <= slot && slot < to))
        };
        let of = |from: u64, to: u64| -> u64 {
            (from..to)
                .map(|slot| slots.offered_q8(ue, slot, waking(slot)))
                .sum()
        };
        let ahead = slots.begin() <= old.from && old.from <= from && old.to <= to;
        let q8 = if ahead && (to - old.to) + (from - old.from) < to - from {
            old.q8 + of(old.to, to) - of(old.from, from)
        } else {
            of(from, to)
        };
        self.sum = Sum { from, to, q8 };
        q8
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
