//! Which slot a byte meets, and what will wait there: eq. 3's `ProcessingD` and the backlog at the time of arrival.

use slackwater_core::{Duration, Instant};
use slackwater_signal::RanReport;

/// Longest pattern, in slots.
const LONGEST: usize = 32;
/// Slot length until it is told (15 kHz, TS 38.211, 4.3.2).
const SLOT: Duration = Duration::from_millis(1);

/// The slots of a cell. Until a pattern is told each instant is as good as any other and nothing is phased.
#[derive(Clone, Debug)]
pub struct Grid {
    known: bool,
    /// Start of some pattern on the air, by our clock, in nanoseconds; negative values are before the origin.
    start: i64,
    slot: i64,
    period: i64,
    lead: i64,
    processing: i64,
    polled: bool,
    /// Sum of `share` over a pattern, in 1/256.
    sum: u64,
    share: [u16; LONGEST],
}

impl Default for Grid {
    fn default() -> Self {
        Self {
            known: false,
            start: 0,
            slot: SLOT.as_nanos() as i64,
            period: 1,
            lead: 0,
            processing: 0,
            polled: false,
            sum: 256,
            share: [256; LONGEST],
        }
    }
}

impl Grid {
    /// The slot length, where no pattern tells it.
    pub fn set_slot(&mut self, slot: Duration) {
        if !self.known && !slot.is_zero() {
            self.slot = slot.as_nanos() as i64;
        }
    }

    /// Takes a [`RanReport::SlotPattern`] whose `start` is `start` by our clock. Patterns without a downlink slot and
    /// other reports are ignored.
    pub fn set_pattern(&mut self, report: &RanReport, start: Instant) {
        let &RanReport::SlotPattern {
            slot,
            period,
            down,
            special,
            special_q8,
            lead,
            processing,
            polled,
            ..
        } = report
        else {
            return;
        };
        let n = usize::from(period);
        if n == 0 || n > LONGEST || slot.is_zero() || (down | special) == 0 {
            return;
        }
        let mut share = [0; LONGEST];
        for (k, s) in share[..n].iter_mut().enumerate() {
            *s = if special >> k & 1 != 0 {
                u16::from(special_q8)
            } else if down >> k & 1 != 0 {
                256
            } else {
                0
            };
        }
        let sum = share.iter().map(|&s| u64::from(s)).sum();
        if sum == 0 {
            return;
        }
        *self = Self {
            known: true,
            start: start.as_nanos() as i64,
            slot: slot.as_nanos() as i64,
            period: i64::from(period),
            lead: lead.as_nanos() as i64,
            processing: processing.as_nanos() as i64,
            polled,
            sum,
            share,
        };
    }

    /// Slot length.
    pub const fn slot(&self) -> Duration {
        Duration::from_nanos(self.slot as u64)
    }

    /// True where one UE gets each slot.
    pub const fn polled(&self) -> bool {
        self.polled
    }

    /// True where slots are known.
    pub const fn known(&self) -> bool {
        self.known
    }

    /// The share of time that carries downlink data, q16.
    pub const fn down_q16(&self) -> u64 {
        (self.sum << 8) / self.period as u64
    }

    /// The number of slots (of any kind) that were decided on up to `t`, less a constant.
    fn decided(&self, t: Instant) -> i64 {
        (t.as_nanos() as i64 + self.lead - self.start).div_euclid(self.slot)
    }

    fn decision(&self, slot: i64) -> Instant {
        Instant::from_nanos((self.start + slot * self.slot - self.lead).max(0) as u64)
    }

    fn share_of(&self, slot: i64) -> u64 {
        u64::from(self.share[slot.rem_euclid(self.period) as usize])
    }

    /// Air time, in nanoseconds of full slots, of the slots decided on after `from` and not after `to`.
    pub fn capacity(&self, from: Instant, to: Instant) -> u64 {
        if to <= from {
            return 0;
        }
        if !self.known {
            return (to - from).as_nanos();
        }
        let (first, last) = (self.decided(from), self.decided(to));
        let whole = (last - first).div_euclid(self.period);
        let mut sum = whole as u64 * self.sum;
        for slot in first + whole * self.period + 1..=last {
            sum += self.share_of(slot);
        }
        sum.saturating_mul(self.slot as u64) >> 8
    }

    /// When the scheduler decides on the slot that takes the last of `air` nanoseconds of full slots, from `from` on.
    pub fn reached(&self, from: Instant, air: u64) -> Instant {
        if !self.known {
            return from + Duration::from_nanos(air);
        }
        // Decisions up to `from` are gone.
        let mut slot = self.decided(from);
        let per_pattern = (self.sum * self.slot as u64) >> 8;
        let whole = air.saturating_sub(1) / per_pattern.max(1);
        slot += whole as i64 * self.period;
        let mut left = air - whole * per_pattern;
        while left > 0 {
            slot += 1;
            left = left.saturating_sub((self.share_of(slot) * self.slot as u64) >> 8);
        }
        self.decision(slot).max(from)
    }

    /// From the decision on a slot until its bytes are at the UE's TCP.
    pub const fn after_decision(&self) -> Duration {
        Duration::from_nanos((self.lead + self.slot + self.processing) as u64)
    }

    /// The newest decision up to `t`.
    pub fn last_decision(&self, t: Instant) -> Instant {
        if self.known {
            self.decision(self.decided(t))
        } else {
            t
        }
    }

    /// When the scheduler decides on the first downlink slot that a byte arriving at `arrive` can use.
    pub fn next_decision(&self, arrive: Instant) -> Instant {
        if !self.known {
            return arrive;
        }
        let before = self.decided(arrive);
        let mut slot = before + i64::from(self.decision(before) < arrive);
        while self.share_of(slot) == 0 {
            slot += 1;
        }
        self.decision(slot).max(arrive)
    }

    /// `ProcessingD` of a byte that arrives at `arrive` and finds nothing before it: the wait for a downlink slot's
    /// decision, the lead, the slot, the UE.
    pub fn processing(&self, arrive: Instant) -> Duration {
        let wait = self.next_decision(arrive) - arrive;
        wait + Duration::from_nanos((self.lead + self.slot + self.processing) as u64)
    }

    /// The largest `ProcessingD`.
    pub fn worst_processing(&self) -> Duration {
        let mut worst = 0;
        let mut run = 0;
        for slot in 0..self.period * 2 {
            run = if self.share_of(slot) == 0 { run + 1 } else { 0 };
            worst = worst.max(run.min(self.period));
        }
        let wait = if self.known { worst + 1 } else { 0 };
        Duration::from_nanos((wait * self.slot + self.lead + self.slot + self.processing) as u64)
    }

    /// The first instant after `now` that lies `ahead` before a decision; each half millisecond where slots are
    /// unknown.
    pub fn tick(&self, now: Instant, ahead: Duration) -> Instant {
        let next = now + Duration::from_nanos(1);
        if !self.known {
            return next.round_up(Duration::from_micros(500));
        }
        let target = next + ahead;
        let slot = self.decided(target);
        let slot = slot + i64::from(self.decision(slot) < target);
        self.decision(slot).saturating_sub(ahead).max(next)
    }
}

/// Bytes that wait in the cell at some instant, as air time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Projection {
    t: Instant,
    air: u64,
    /// Bulk queues that take a turn each.
    others: u64,
}

impl Projection {
    pub(super) fn restart(&mut self, t: Instant, air: u64, others: u64) {
        *self = Self { t, air, others };
    }

    /// `B(t)`: what is left at `t`.
    pub(super) fn at(&self, grid: &Grid, share_q16: u64, t: Instant) -> u64 {
        if t <= self.t || self.air == 0 {
            return self.air;
        }
        let capacity = u128::from(grid.capacity(self.t, t)) * u128::from(share_q16);
        let capacity = u64::try_from(capacity >> 16).unwrap_or(u64::MAX);
        self.air.saturating_sub(capacity / (1 + self.others))
    }

    /// Adds what arrives at `t`.
    pub(super) fn add(&mut self, grid: &Grid, share_q16: u64, t: Instant, air: u64) {
        self.air = self.at(grid, share_q16, t) + air;
        self.t = self.t.max(t);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use slackwater_core::UeId;

    /// DDDSU of 1 ms slots, special slot 0.7, decided two slots ahead.
    pub(crate) fn dddsu(start: Instant) -> RanReport {
        RanReport::SlotPattern {
            at: start,
            ue: UeId(0),
            start,
            slot: Duration::from_millis(1),
            period: 5,
            down: 0b00111,
            special: 0b01000,
            special_q8: 179,
            lead: Duration::from_millis(2),
            processing: Duration::from_micros(50),
            polled: false,
        }
    }

    fn grid() -> Grid {
        let mut grid = Grid::default();
        let start = Instant::from_millis(0);
        grid.set_pattern(&dddsu(start), start);
        grid
    }

    // t6b: for every offset of arrival, the slot is the one that a slot-by-slot cell gives.
    #[test]
    fn t6b_the_predicted_slot_is_the_cells() {
        let grid = grid();
        for us in (20_000_u64..30_000).step_by(7) {
            let arrive = Instant::from_nanos(us * 1_000);
            // The cell: at each boundary it decides on the slot two ahead.
            let mut boundary = us.div_ceil(1_000);
            while (boundary + 2) % 5 == 4 {
                boundary += 1;
            }
            assert_eq!(grid.next_decision(arrive), Instant::from_millis(boundary));
            let delay = Duration::from_micros(boundary * 1_000 + 3_050 - us);
            assert_eq!(grid.processing(arrive), delay);
            assert!(delay <= grid.worst_processing());
        }
    }

    #[test]
    fn capacity_counts_the_decisions_in_between() {
        let grid = grid();
        let ms = Instant::from_millis;
        // Decisions at 20..=24 ms are on slots 22 D, 23 S, 24 U, 25 D, 26 D.
        assert_eq!(grid.capacity(ms(19), ms(20)), 1_000_000);
        assert_eq!(grid.capacity(ms(20), ms(21)), 179 * 1_000_000 / 256);
        assert_eq!(grid.capacity(ms(21), ms(22)), 0);
        assert_eq!(
            grid.capacity(ms(19), ms(119)),
            20 * (3 * 256 + 179) * 1_000_000 / 256
        );
        let part = grid.capacity(ms(20), Instant::from_nanos(22_999_999));
        assert_eq!(part, 179 * 1_000_000 / 256);
        assert_eq!(grid.down_q16(), (947 << 8) / 5);
    }

    #[test]
    fn ticks_lie_ahead_of_decisions() {
        let grid = grid();
        let ahead = Duration::from_micros(400);
        let tick = grid.tick(Instant::from_millis(20), ahead);
        assert_eq!(tick, Instant::from_nanos(20_600_000));
        assert_eq!(grid.tick(tick, ahead), Instant::from_nanos(21_600_000));
        // Without a pattern: half a millisecond.
        let free = Grid::default();
        assert_eq!(
            free.tick(Instant::from_millis(3), ahead),
            Instant::from_nanos(3_500_000)
        );
    }

    #[test]
    fn hostile_patterns_are_ignored() {
        let mut grid = Grid::default();
        for (period, down, special, slot) in [
            (0, 7, 0, 1),
            (33, 7, 0, 1),
            (5, 0, 0, 1),
            (5, 7, 0, 0),
            (2, 0b100, 0, 1),
        ] {
            let RanReport::SlotPattern { at, ue, .. } = dddsu(Instant::ZERO) else {
                unreachable!()
            };
            let report = RanReport::SlotPattern {
                at,
                ue,
                start: at,
                slot: Duration::from_millis(slot),
                period,
                down,
                special,
                special_q8: 0,
                lead: Duration::ZERO,
                processing: Duration::ZERO,
                polled: false,
            };
            grid.set_pattern(&report, at);
            assert!(!grid.known());
        }
    }

    #[test]
    fn the_projection_never_goes_below_zero() {
        let grid = grid();
        let mut b = Projection::default();
        let ms = Instant::from_millis;
        b.restart(ms(19), 500_000, 0);
        assert_eq!(b.at(&grid, 1 << 16, ms(20)), 0);
        // What arrives after a slot was given away does not profit from it.
        b.add(&grid, 1 << 16, ms(22), 800_000);
        assert_eq!(b.at(&grid, 1 << 16, ms(22)), 800_000);
        assert_eq!(b.at(&grid, 1 << 16, ms(23)), 0);
        b.restart(ms(22), 1_600_000, 1);
        assert_eq!(b.at(&grid, 1 << 16, ms(23)), 1_100_000);
    }
}
