//! The machine's clock behind the engine's seam, and how late it was.

use std::time::{SystemTime, UNIX_EPOCH};

use slackwater_core::{Duration, Instant};
use slackwater_results::metrics::Histogram;
use slackwater_sim::{Clock, SyncStatus};
use slackwater_wire::gtpu::{Ntp, NtpClock};

/// How late events were handled.
#[derive(Clone, Debug, Default)]
pub struct Lag {
    /// Lateness of each event.
    pub histogram: Histogram,
    /// Whole slots by which the loop came late, summed over its wake-ups.
    pub missed_slots: u64,
}

impl Lag {
    /// The loop woke for an event that was due `late` ago, with slots of `slot`.
    pub(crate) fn woke(&mut self, late: Duration, slot: Duration) {
        self.missed_slots += late / slot;
    }
}

/// Monotonic wall time since a start.
#[derive(Clone, Debug)]
pub struct WallClock {
    start: std::time::Instant,
    /// What it read at its start.
    ahead: Duration,
    /// How late events were.
    pub lag: Lag,
}

impl WallClock {
    /// A clock that reads zero now.
    pub fn start() -> Self {
        Self {
            start: std::time::Instant::now(),
            ahead: Duration::ZERO,
            lag: Lag::default(),
        }
    }

    /// The time. It never goes back, whatever becomes of the date.
    pub fn now(&self) -> Instant {
        let since = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Instant::from_nanos(since).saturating_add(self.ahead)
    }

    /// A clock that goes on from another's: `origin` is what time stamps said when that one read zero. `None` where the
    /// machine's date lies before it.
    pub fn resumed(origin: Ntp) -> Option<Self> {
        let fresh = Self::start();
        let since = fresh.stamps().stamp(fresh.now()).since_ns(origin);
        let ahead = Duration::from_nanos(u64::try_from(since).ok()?);
        Some(Self { ahead, ..fresh })
    }
}

impl WallClock {
    /// What time stamps say when this clock reads zero, by the machine's date.
    pub fn stamps(&self) -> NtpClock {
        /// Seconds from 1900 to 1970 (RFC 5905, figure 4).
        const ERA: u64 = 2_208_988_800;
        let date = SystemTime::now().duration_since(UNIX_EPOCH);
        let start = date
            .unwrap_or_default()
            .saturating_sub(self.start.elapsed())
            .saturating_sub(std::time::Duration::from_nanos(self.ahead.as_nanos()));
        let fraction = (u64::from(start.subsec_nanos()) << 32) / 1_000_000_000;
        NtpClock::new(Ntp(start.as_secs().wrapping_add(ERA) << 32 | fraction))
    }
}

impl Clock for WallClock {
    /// Sleeps until `deadline`, an absolute time, and tells how late it is.
    fn synchronize(&mut self, deadline: Instant) -> SyncStatus {
        let mut now = self.now();
        while now < deadline {
            std::thread::sleep(std::time::Duration::from_nanos((deadline - now).as_nanos()));
            now = self.now();
        }
        let late = now - deadline;
        self.lag.histogram.add(late);
        if late.is_zero() {
            SyncStatus::Synchronized
        } else {
            SyncStatus::Late(late)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_start_apart_agree_on_the_date() {
        let now = WallClock::start();
        let before = std::time::Duration::from_secs(30);
        let early = WallClock {
            start: now
                .start
                .checked_sub(before)
                .expect("the machine is up for that long"),
            ahead: Duration::ZERO,
            lag: Lag::default(),
        };
        let apart = early
            .stamps()
            .stamp(early.now())
            .since_ns(now.stamps().stamp(now.now()));
        // A start that is not counted would be 30 s.
        assert!(apart.abs() < 15_000_000_000, "{apart} ns");
    }

    #[test]
    fn a_clock_that_goes_on_reads_what_the_other_does() {
        let first = WallClock::start();
        let origin = first.stamps().stamp(Instant::ZERO);
        let earlier = Ntp(origin.0 - (100 << 32));
        let later = WallClock::resumed(earlier).unwrap();
        let ahead = later.now().since(first.now()).as_secs_f64();
        assert!((95.0..105.0).contains(&ahead), "{ahead}");
        let apart = later.stamps().stamp(Instant::ZERO).since_ns(earlier);
        assert!(apart.abs() < 1_000_000_000, "{apart} ns");
        assert!(WallClock::resumed(Ntp(origin.0 + (100 << 32))).is_none());
    }

    #[test]
    fn it_waits_for_what_is_to_come_and_tells_how_late_it_is() {
        let mut clock = WallClock::start();
        let deadline = clock.now() + Duration::from_millis(3);
        clock.synchronize(deadline);
        assert!(clock.now() >= deadline);
        let before = clock.now();
        let SyncStatus::Late(late) = clock.synchronize(Instant::ZERO) else {
            panic!("the start has passed")
        };
        assert!(late >= before - Instant::ZERO);
        assert!(clock.lag.histogram.max().is_some_and(|m| m >= late));
    }
}
