//! What was sent and when, so that the age of the newest byte that left the radio can be told.

use std::collections::VecDeque;

use slackwater_core::{Duration, Instant};

/// Packets that leave within this time are kept as one.
const GRAIN: Duration = Duration::from_micros(500);
/// Entries at most: 2 s at least.
const ENTRIES: usize = 4096;

/// Packets that are not full are remembered up to so many.
const SHORTS: usize = 64;

/// The bytes that a sender sent, IP headers included.
#[derive(Clone, Debug, Default)]
pub(super) struct SendLog {
    /// All bytes so far; those of the last row end here.
    sent: u64,
    /// When the last row of packets began.
    last: Option<Instant>,
    /// The rows before: bytes by the end of each, and when it began.
    rows: VecDeque<(u64, Instant)>,
    /// The last row that was forgotten.
    before: Option<(u64, Instant)>,
    /// Bytes by the end of each of the last packets that were not full.
    shorts: VecDeque<u64>,
}

impl SendLog {
    /// All bytes that were sent.
    pub(super) const fn sent(&self) -> u64 {
        self.sent
    }

    /// A packet left.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Instant, bytes: u64) {
        if self.last.is_none_or(|begun| now.since(begun) >= GRAIN) {
            self.begin(now);
        }
        self.sent += bytes;
    }

    /// The last packet that left was not full.
    pub(super) fn note_short(&mut self) {
        if self.shorts.len() == SHORTS {
            self.shorts.pop_front();
        }
        self.shorts.push_back(self.sent);
    }

    /// One of the packets that end behind byte number `from` and up to `to` was not full.
    pub(super) fn has_short(&self, from: u64, to: u64) -> bool {
        let next = self.shorts.partition_point(|&end| end <= from);
        self.shorts.get(next).is_some_and(|&end| end <= to)
    }

    /// Of the last row, `bytes` were not sent.
    pub(super) const fn take_back(&mut self, bytes: u64) {
        self.sent = self.sent.saturating_sub(bytes);
    }

    /// A row begins, and the one before has ended.
    #[inline(never)]
    fn begin(&mut self, now: Instant) {
        if let Some(begun) = self.last.replace(now) {
            self.rows.push_back((self.sent, begun));
            if self.rows.len() == ENTRIES {
                self.rows.pop_front();
            }
        }
    }

    /// Bytes that had left by `time`; `None` where that is forgotten.
    pub(super) fn sent_by(&self, time: Instant) -> Option<u64> {
        let ended = |begun: Instant| begun + GRAIN <= time;
        if self.last.is_some_and(ended) {
            return Some(self.sent);
        }
        let rows = self.rows.partition_point(|&(_, begun)| ended(begun));
        Some(self.rows[rows.checked_sub(1)?].0)
    }

    /// When byte number `byte` left; `None` where it has not.
    pub(super) fn left_at(&self, byte: u64) -> Option<Instant> {
        let row = self.rows.partition_point(|&(end, _)| end < byte);
        match self.rows.get(row) {
            Some(&(_, begun)) => Some(begun),
            None => self.last.filter(|_| byte <= self.sent),
        }
    }

    /// The row before that of the byte that [`Self::time_of`] was last called for: bytes by its end, and when it began.
    pub(super) const fn before(&self) -> Option<(u64, Instant)> {
        self.before
    }

    /// When byte number `byte` left; `None` where it has not, or is forgotten. What left before is forgotten from here on.
    pub(super) fn time_of(&mut self, byte: u64) -> Option<Instant> {
        while let Some(&(end, begun)) = self.rows.front() {
            if end >= byte {
                return Some(begun);
            }
            self.before = self.rows.pop_front();
        }
        if self.sent < byte {
            self.last = None;
        }
        self.last
    }
}

/// The least of the samples of the last twelve seconds, in steps of one.
#[derive(Clone, Debug, Default)]
pub(super) struct Least {
    /// The least of each second, with the second's number.
    seconds: VecDeque<(u64, Duration)>,
    /// The least of the last of them, and when that second ends: most samples are of the same second and change nothing.
    last: Duration,
    ends: Instant,
    /// The least of all: it is read several times a report.
    all: Option<Duration>,
}

/// Seconds that are kept: a little more than from one probe of rule 8 to the next, after which a loop has no queue.
const KEPT: u64 = 12;
/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

impl Least {
    /// A sample.
    #[inline]
    pub(super) fn add(&mut self, now: Instant, sample: Duration) {
        if now >= self.ends || sample < self.last {
            self.note(now, sample);
        }
    }

    /// A sample of a new second, or the least of its second.
    #[inline(never)]
    fn note(&mut self, now: Instant, sample: Duration) {
        let second = now.as_nanos() / SECOND;
        let kept = self.seconds.len();
        while self
            .seconds
            .front()
            .is_some_and(|&(s, _)| s + KEPT <= second)
        {
            self.seconds.pop_front();
        }
        if self.seconds.len() < kept {
            self.all = self.seconds.iter().map(|&(_, least)| least).min();
        }

        match self.seconds.back_mut() {
            Some((s, least)) if *s == second => *least = (*least).min(sample),
            _ => self.seconds.push_back((second, sample)),
        }
        self.last = sample;
        self.ends = Instant::from_nanos((second + 1).saturating_mul(SECOND));
        self.all = Some(self.all.map_or(sample, |least| least.min(sample)));
    }

    /// Forgets all but `sample`.
    pub(super) fn restart(&mut self, now: Instant, sample: Duration) {
        *self = Self::default();
        self.note(now, sample);
    }

    /// The least; `None` without samples.
    #[inline]
    pub(super) const fn get(&self) -> Option<Duration> {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_byte_that_is_gone_has_the_time_of_its_row() {
        let mut log = SendLog::default();
        let at = |us: u64| Instant::from_nanos(us * 1000);
        for (us, bytes) in [(0, 1500), (100, 1500), (700, 1500), (5000, 1500)] {
            log.on_sent(at(us), bytes);
        }
        assert_eq!(log.sent(), 6000);
        let left = [3000, 3001, 6000, 6001].map(|byte| log.left_at(byte));
        assert_eq!(left, [Some(at(0)), Some(at(700)), Some(at(5000)), None]);
        let by = [400, 500, 1199, 1200, 5499, 5500].map(|us| log.sent_by(at(us)));
        let known = [3000, 3000, 4500, 4500, 6000].map(Some);
        assert_eq!((by[0], &by[1..]), (None, &known[..]));
        assert_eq!((log.time_of(1), log.before()), (Some(at(0)), None));
        assert_eq!(log.time_of(3000), Some(at(0)));
        assert_eq!(log.time_of(3001), Some(at(700)));
        assert_eq!(log.before(), Some((3000, at(0))));
        assert_eq!(log.time_of(6000), Some(at(5000)));
        assert_eq!(log.time_of(6001), None);
    }

    #[test]
    fn packets_that_are_not_full_are_found_between_two_bytes() {
        let mut log = SendLog::default();
        for n in 0..200 {
            log.on_sent(Instant::from_millis(n), 1000);
            if n % 2 == 1 {
                log.note_short();
            }
        }
        assert!(log.has_short(101_999, 102_000) && log.has_short(101_500, 102_500));
        assert!(!log.has_short(102_000, 103_999) && !log.has_short(200_000, 300_000));
        // The last 64 of a hundred.
        assert!(!log.has_short(0, 73_999) && log.has_short(0, 74_000));
    }

    #[test]
    fn the_least_is_forgotten_after_twelve_seconds() {
        let mut least = Least::default();
        let ms = Duration::from_millis;
        least.add(Instant::from_millis(500), ms(40));
        least.add(Instant::from_millis(5_000), ms(60));
        assert_eq!(least.get(), Some(ms(40)));
        least.add(Instant::from_millis(12_500), ms(70));
        assert_eq!(least.get(), Some(ms(60)));
        least.restart(Instant::from_millis(13_000), ms(90));
        assert_eq!(least.get(), Some(ms(90)));
    }
}
