//! What was sent and when, so that the age of the newest byte that left the radio can be told.

use std::collections::VecDeque;

use slackwater_core::{Duration, Instant};

/// Packets that leave within this time are kept as one.
const GRAIN: Duration = Duration::from_micros(500);
/// Entries at most: 2 s at least.
const ENTRIES: usize = 4096;

/// The bytes that a sender sent, IP headers included.
#[derive(Clone, Debug, Default)]
pub(super) struct SendLog {
    /// All bytes so far.
    sent: u64,
    /// Bytes by the end of a row of packets, and when the row began.
    rows: VecDeque<(u64, Instant)>,
}

impl SendLog {
    /// All bytes that were sent.
    pub(super) const fn sent(&self) -> u64 {
        self.sent
    }

    /// A packet left.
    pub(super) fn on_sent(&mut self, now: Instant, bytes: u64) {
        self.sent += bytes;
        match self.rows.back_mut() {
            Some((end, begun)) if now.since(*begun) < GRAIN => *end = self.sent,
            _ => {
                if self.rows.len() == ENTRIES {
                    self.rows.pop_front();
                }
                self.rows.push_back((self.sent, now));
            }
        }
    }

    /// When byte number `byte` left; `None` where it has not, or is forgotten. What left before is forgotten from here on.
    pub(super) fn time_of(&mut self, byte: u64) -> Option<Instant> {
        while self.rows.front().is_some_and(|&(end, _)| end < byte) {
            self.rows.pop_front();
        }
        self.rows.front().map(|&(_, begun)| begun)
    }
}

/// The least of the samples of the last ten seconds, in steps of one.
#[derive(Clone, Debug, Default)]
pub(super) struct Least {
    /// The least of each second, with the second's number.
    seconds: VecDeque<(u64, Duration)>,
    /// The least of them: it is read several times a report.
    least: Option<Duration>,
}

/// Seconds that are kept.
const KEPT: u64 = 10;

impl Least {
    /// A sample.
    pub(super) fn add(&mut self, now: Instant, sample: Duration) {
        let second = now.as_nanos() / 1_000_000_000;
        let kept = self.seconds.len();
        while self
            .seconds
            .front()
            .is_some_and(|&(s, _)| s + KEPT <= second)
        {
            self.seconds.pop_front();
        }
        if self.seconds.len() < kept {
            self.least = self.seconds.iter().map(|&(_, least)| least).min();
        }

        match self.seconds.back_mut() {
            Some((s, least)) if *s == second => *least = (*least).min(sample),
            _ => self.seconds.push_back((second, sample)),
        }
        self.least = Some(self.least.map_or(sample, |least| least.min(sample)));
    }

    /// Forgets all but `sample`.
    pub(super) fn restart(&mut self, now: Instant, sample: Duration) {
        self.seconds.clear();
        self.least = None;
        self.add(now, sample);
    }

    /// The least; `None` without samples.
    pub(super) const fn get(&self) -> Option<Duration> {
        self.least
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
        assert_eq!(log.time_of(1), Some(at(0)));
        assert_eq!(log.time_of(3000), Some(at(0)));
        assert_eq!(log.time_of(3001), Some(at(700)));
        assert_eq!(log.time_of(6000), Some(at(5000)));
        assert_eq!(log.time_of(6001), None);
    }

    #[test]
    fn the_least_of_ten_seconds_is_forgotten_after_them() {
        let mut least = Least::default();
        let ms = Duration::from_millis;
        least.add(Instant::from_millis(500), ms(40));
        least.add(Instant::from_millis(5_000), ms(60));
        assert_eq!(least.get(), Some(ms(40)));
        least.add(Instant::from_millis(10_500), ms(70));
        assert_eq!(least.get(), Some(ms(60)));
        least.restart(Instant::from_millis(11_000), ms(90));
        assert_eq!(least.get(), Some(ms(90)));
    }
}
