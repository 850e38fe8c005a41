//! When the loop wakes under load.
//!
//! A loop that wakes for each frame of a fast sender, and for each packet that is due, preempts that sender for each: it runs before
//! everything ordinary, often on the sender's own processor. At 1 Gbit/s of QUIC a datagram then took 55 us where it takes 12, for up to
//! 100 ms at a time (docs/design/0120). Network devices moderate their interrupts for the same reason.

use slackwater_core::{Duration, Instant};

/// The least time between two wake-ups under load. Arrivals and departures are late by this at most: half of what the loop's
/// own wake-ups are late by at 99 %.
const HOLD: Duration = Duration::from_micros(50);

/// Over how long wake-ups are counted.
const WINDOW: Duration = Duration::from_millis(1);

/// More wake-ups than this in a window begin load: on average they are closer than [`HOLD`]. A link of 100 Mbit/s has 16 packets of
/// 1,500 bytes that come or go in it.
const MANY: u32 = 20;

/// Fewer end it. A burst of 250 us in each millisecond has as many where they are held.
const FEW: u32 = 5;

/// How close the loop's wake-ups are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moderation {
    /// The last wake-up that had something to do.
    last: Instant,
    /// When the window began.
    since: Instant,
    /// Wake-ups of this window that had something to do.
    count: u32,
    /// Wake-ups are held.
    load: bool,
}

impl Moderation {
    /// The loop woke, and something was due, or a frame had come, where `busy`.
    pub(super) fn woke(&mut self, now: Instant, busy: bool) {
        let elapsed = now.since(self.since);
        if elapsed >= WINDOW {
            let enough = if self.load { FEW } else { MANY + 1 };
            // A window that lasts for two had a pause in it.
            self.load = self.count >= enough && elapsed < WINDOW * 2;
            (self.since, self.count) = (now, 0);
        }
        if busy {
            self.count += 1;
            self.last = now;
        }
    }

    /// Until when the loop may sleep, whatever comes or is due; `None` where there is no load.
    pub(super) fn hold(&self, now: Instant) -> Option<Instant> {
        let until = self.last + HOLD;
        (self.load && until > now).then_some(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames come at `arrivals`, in order; the loop wakes at each, or at the end of a hold. The waits of all frames, and the number of
    /// wake-ups.
    fn run(arrivals: &[Instant]) -> (Vec<Duration>, usize) {
        let mut m = Moderation::default();
        let (mut waits, mut wakes) = (Vec::new(), 0);
        let mut now = Instant::ZERO;
        while let Some(first) = arrivals.get(waits.len()) {
            now = now.max(*first);
            now = m.hold(now).unwrap_or(now);
            let rest = &arrivals[waits.len()..];
            let came = rest.partition_point(|at| *at <= now);
            waits.extend(rest[..came].iter().map(|at| now - *at));
            m.woke(now, true);
            wakes += 1;
        }
        (waits, wakes)
    }

    /// `count` frames, one each `step`.
    fn each(step: Duration, count: u64) -> Vec<Instant> {
        let start = Instant::from_millis(1_000);
        (0..count).map(|k| start + step * k).collect()
    }

    #[test]
    fn a_fast_train_is_taken_each_hold_and_no_frame_waits_longer() {
        let (waits, wakes) = run(&each(Duration::from_micros(12), 10_000));
        assert!(waits.iter().all(|w| *w <= HOLD));
        // 120 ms in holds of 50 us, and a millisecond before load is known.
        assert!((2_000..2_600).contains(&wakes), "{wakes}");
    }

    #[test]
    fn bursts_of_each_millisecond_are_load_too() {
        let start = Instant::from_millis(1_000);
        let burst = |ms: u64| {
            (0..40).map(move |k| start + Duration::from_millis(ms) + Duration::from_micros(10) * k)
        };
        let (waits, wakes) = run(&(0..100).flat_map(burst).collect::<Vec<_>>());
        assert!(waits.iter().all(|w| *w <= HOLD));
        // Eight holds or nine carry 400 us of frames; the first burst is not held.
        assert!(wakes < 100 * 10 + 100, "{wakes}");
    }

    #[test]
    fn frames_of_a_hundred_megabits_are_taken_at_once() {
        // Sixteen in a millisecond.
        let (waits, _) = run(&each(Duration::from_nanos(62_500), 10_000));
        assert!(waits.iter().all(|w| w.is_zero()));
    }

    #[test]
    fn a_pause_ends_the_load() {
        let mut m = Moderation::default();
        let train = each(Duration::from_micros(10), 1_000);
        for at in &train {
            m.woke(*at, true);
        }
        let last = train[train.len() - 1];
        assert!(m.hold(last).is_some());
        m.woke(last + WINDOW * 2, true);
        assert_eq!(m.hold(last + WINDOW * 2), None);
    }
}
