//! What is on its way into a cell, by the slot at whose start the cell takes it.
//!
//! A lane that ends at a cell needs no timer: its packets wait here, and the cell takes those that have arrived since
//! its last slot at once, each with its own time. That is an event and a copy less for each packet; times and order
//! are those of lanes with timers.

use slackwater_core::{Duration, Instant, Packet};

/// A packet that left its lane, or will.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// When it arrives.
    pub(crate) due: Instant,
    /// The node of its lane: of arrivals at one instant the lower node's comes first.
    pub(crate) lane: u32,
    pub(crate) packet: Packet,
}

/// Slots ahead that an inbox covers at most.
const MOST_SLOTS: u64 = 1 << 14;

/// Arrivals of a cell, by slot.
#[derive(Debug)]
pub(crate) struct Inbox {
    slot_ns: u64,
    /// By slot modulo their number (a power of two): what arrives after the start of the slot before and up to its own.
    slots: Vec<Vec<Arrival>>,
    /// Which of them hold something, a bit each.
    occupied: Vec<u64>,
    waiting: usize,
    /// The first slot that holds something, while anything waits.
    first: u64,
}

impl Inbox {
    pub(crate) fn new(slot: Duration) -> Self {
        Self {
            slot_ns: slot.as_nanos(),
            slots: Vec::new(),
            occupied: Vec::new(),
            waiting: 0,
            first: 0,
        }
    }

    /// Prepares for lanes on which packets take up to `longest`. False where that is too long for an inbox.
    pub(crate) fn reach(&mut self, longest: Duration) -> bool {
        // The slot that is being filled, one that is not whole at either end, and the one after.
        let slots = longest.as_nanos() / self.slot_ns + 4;
        if slots > MOST_SLOTS {
            return false;
        }
        let slots = (slots as usize).next_power_of_two().max(64);
        if slots > self.slots.len() {
            debug_assert_eq!(self.waiting, 0, "an inbox grows before its first arrival");
            self.slots.resize(slots, Vec::new());
            self.occupied.resize(slots / 64, 0);
        }
        true
    }

    /// Takes what leaves lane `lane` at `due`; returns the start of the slot that it is for.
    #[expect(
        clippy::inline_always,
        reason = "each packet takes it, and a call costs a third of it"
    )]
    #[inline(always)]
    pub(crate) fn push(&mut self, due: Instant, lane: u32, packet: &Packet) -> Instant {
        let slot = due.as_nanos().div_ceil(self.slot_ns);
        let at = self.place(slot);
        debug_assert!(
            self.slots[at]
                .last()
                .is_none_or(|a| a.due.as_nanos().div_ceil(self.slot_ns) == slot),
            "an arrival lies beyond the reach of its cell's inbox"
        );
        self.first = if self.waiting == 0 {
            slot
        } else {
            self.first.min(slot)
        };
        self.slots[at].push(Arrival {
            due,
            lane,
            packet: *packet,
        });
        self.occupied[at / 64] |= 1 << (at % 64);
        self.waiting += 1;
        Instant::from_nanos(slot * self.slot_ns)
    }

    #[inline]
    fn place(&self, slot: u64) -> usize {
        slot as usize & (self.slots.len() - 1)
    }

    /// The start of the first slot that has something to take.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        (self.waiting > 0).then(|| Instant::from_nanos(self.first * self.slot_ns))
    }

    /// True where an arrival before `end` may wait.
    #[inline]
    pub(crate) fn may_have(&self, end: Instant) -> bool {
        self.waiting > 0 && self.first.saturating_sub(1) * self.slot_ns < end.as_nanos()
    }

    /// Shows `each` what arrives before `end`, at most `most` packets, in the order of time; returns their number.
    #[inline]
    pub(crate) fn take(
        &mut self,
        end: Instant,
        most: usize,
        mut each: impl FnMut(&Arrival),
    ) -> usize {
        let mut taken = 0;
        while taken < most && self.may_have(end) {
            let at = self.place(self.first);
            let slot = &mut self.slots[at];
            let order = |a: &Arrival| (a.due, a.lane);
            if !slot.is_sorted_by_key(order) {
                // Stable: a lane keeps the order of its packets.
                slot.sort_by_key(order);
            }
            let due = if slot.last().is_some_and(|a| a.due < end) {
                slot.len()
            } else {
                slot.partition_point(|a| a.due < end)
            };
            let count = due.min(most - taken);
            for arrival in &slot[..count] {
                each(arrival);
            }
            taken += count;
            self.waiting -= count;
            if count < slot.len() {
                slot.drain(..count);
                break;
            }
            slot.clear();
            self.occupied[at / 64] &= !(1 << (at % 64));
            if self.waiting > 0 {
                self.advance();
            }
        }
        taken
    }

    /// Moves on to the next slot that holds something; one does.
    fn advance(&mut self) {
        let mut slot = self.first + 1;
        loop {
            let at = self.place(slot);
            let ahead = self.occupied[at / 64] >> (at % 64);
            if ahead != 0 {
                self.first = slot + u64::from(ahead.trailing_zeros());
                return;
            }
            slot += 64 - (at % 64) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_core::{Datagram, Draw};

    const SLOT: Duration = Duration::from_millis(1);

    fn packet(seq: u32) -> Packet {
        Packet {
            body: Datagram::new(seq, 0).into(),
            ..Packet::default()
        }
    }

    /// Whatever is pushed comes out in the order of time, lane and push, never before its time, as from a sorted list.
    #[test]
    fn takes_in_the_order_of_a_sorted_list() {
        for seed in 0..20 {
            let draw = Draw::new(seed);
            let mut inbox = Inbox::new(SLOT);
            assert!(inbox.reach(Duration::from_millis(90)));
            let (mut model, mut taken): (Vec<(u64, u32, _)>, _) = (Vec::new(), Vec::new());
            let (mut now, mut seq) = (0, 0);
            for k in 0..3_000u64 {
                let r = draw.bits(k);
                if r.is_multiple_of(3) {
                    now += r / 4 % 20 * 100;
                    let end = Instant::from_nanos(now * 1_000);
                    let most = if r & 4 == 0 { usize::MAX } else { 2 };
                    let before = taken.len();
                    let count = inbox.take(end, most, |a| {
                        taken.push((a.due.as_nanos() / 1_000, a.lane, a.packet.number()));
                    });
                    assert_eq!(count, taken.len() - before);
                    if most < count + 1 {
                        inbox.take(end, usize::MAX, |a| {
                            taken.push((a.due.as_nanos() / 1_000, a.lane, a.packet.number()));
                        });
                    }
                    model.sort_by_key(|m| (m.0, m.1));
                    let due = model.partition_point(|m| m.0 < now);
                    let expect: Vec<_> = model.drain(..due).collect();
                    assert_eq!(taken[before..], expect, "seed {seed}, step {k}");
                    let next = model.first().map(|m| (m.0 * 1_000).div_ceil(1_000_000));
                    let found = inbox.next().map(|t| t.as_nanos() / 1_000_000);
                    assert_eq!(found, next);
                } else {
                    // Whole tenths of a slot: many arrivals at one instant, and at the edge of a slot.
                    let due = now + r / 4 % 900 * 100;
                    let lane = (r >> 40) as u32 % 3;
                    let at = Instant::from_nanos(due * 1_000);
                    let wake = inbox.push(at, lane, &packet(seq));
                    assert_eq!(
                        wake.as_nanos(),
                        (due * 1_000).div_ceil(1_000_000) * 1_000_000
                    );
                    model.push((due, lane, seq));
                    seq += 1;
                }
            }
            assert!(taken.len() > 500);
        }
    }

    #[test]
    fn lanes_of_minutes_keep_their_timers() {
        let mut inbox = Inbox::new(SLOT);
        assert!(inbox.reach(Duration::from_secs(10)));
        assert!(!inbox.reach(Duration::from_secs(60)));
    }
}
