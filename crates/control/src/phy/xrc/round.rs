//! Windows of data: what XRC measures between two decisions.

use slackwater_core::{Duration, Instant};

/// Sums over one window of data ("in every window of data", XRC, section III-B).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// The window ends where data up to here is acknowledged.
    end: u64,
    /// When it began.
    since: Instant,
    /// The connection's total of delivered bytes when it began.
    delivered: u64,
    /// Sum of its RTT samples, ns.
    rtt_sum: u64,
    /// Their number.
    rtts: u64,
    /// The least of them.
    rtt_least: Option<Duration>,
    /// Sum of its one-way delays, ns.
    owd_sum: u64,
    /// Their number.
    owds: u64,
    /// The least of them.
    owd_least: Option<Duration>,
    /// Sum of the head-of-line delays that were reported in it, ns.
    hol_sum: u64,
    /// Their number.
    hols: u64,
    /// The least and the largest of them.
    hol_least: Option<Duration>,
    hol_max: Duration,
    /// Windows that ended.
    pub(super) count: u64,
    /// The last rate that could be measured, payload bytes per second.
    rate: f64,
    /// The one before it.
    before: f64,
}

/// What a window of data showed, in seconds and payload bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Mean RTT; `None` without a sample.
    pub(super) rtt: Option<f64>,
    /// RTT samples.
    pub(super) samples: u64,
    /// Least RTT; `None` without a sample.
    pub(super) rtt_least: Option<f64>,
    /// Mean and least one-way delay, both up to a constant; `None` without a sample.
    pub(super) owd: Option<(f64, f64)>,
    /// Mean head-of-line delay of the window's reports; `None` without one.
    pub(super) hol: Option<f64>,
    /// Least of them; zero without one.
    pub(super) hol_least: f64,
    /// Largest of them.
    pub(super) hol_max: f64,
    /// Delivered rate.
    pub(super) rate: f64,
}

impl Round {
    #[inline]
    pub(super) fn rtt(&mut self, rtt: Duration) {
        self.rtt_sum = self.rtt_sum.saturating_add(rtt.as_nanos());
        self.rtts += 1;
        self.rtt_least = Some(self.rtt_least.map_or(rtt, |least| least.min(rtt)));
    }

    #[inline]
    pub(super) fn owd(&mut self, owd: Duration) {
        self.owd_sum = self.owd_sum.saturating_add(owd.as_nanos());
        self.owds += 1;
        self.owd_least = Some(self.owd_least.map_or(owd, |least| least.min(owd)));
    }

    #[inline]
    pub(super) fn hol(&mut self, hol: Duration) {
        self.hol_sum = self.hol_sum.saturating_add(hol.as_nanos());
        self.hols += 1;
        self.hol_least = Some(self.hol_least.map_or(hol, |least| least.min(hol)));
        self.hol_max = self.hol_max.max(hol);
    }

    /// Data up to `una` is acknowledged: the window has ended.
    #[inline]
    pub(super) const fn is_over(&self, una: u64) -> bool {
        una >= self.end
    }

    /// The next ACK ends the window.
    pub(super) fn cut_short(&mut self) {
        self.end = 0;
    }

    /// What the window shows so far.
    pub(super) fn measured(&self) -> Measured {
        let mean = |sum: u64, n: u64| (n > 0).then(|| sum as f64 / n as f64 * 1e-9);
        Measured {
            rtt: mean(self.rtt_sum, self.rtts),
            samples: self.rtts,
            rtt_least: self.rtt_least.map(Duration::as_secs_f64),
            owd: mean(self.owd_sum, self.owds).zip(self.owd_least.map(Duration::as_secs_f64)),
            hol: mean(self.hol_sum, self.hols),
            hol_least: self.hol_least.unwrap_or_default().as_secs_f64(),
            hol_max: self.hol_max.as_secs_f64(),
            rate: self.rate,
        }
    }

    /// The better rate of the last two windows. A receiver that waits for a block to be sent again (RLC's reordering timer)
    /// hands nothing on meanwhile and then all at once: the one window that holds the wait says nothing of the path.
    pub(super) const fn steady_rate(&self) -> f64 {
        self.rate.max(self.before)
    }

    /// Ends the window and begins one that lasts until `next` is acknowledged. A window shorter than half of
    /// `min_rtt` gives no rate; the last one stands.
    pub(super) fn roll(
        &mut self,
        now: Instant,
        next: u64,
        delivered: u64,
        min_rtt: Duration,
    ) -> Measured {
        let passed = now.since(self.since);
        if !passed.is_zero() && passed >= min_rtt / 2 {
            self.before = self.rate;
            self.rate = delivered.saturating_sub(self.delivered) as f64 / passed.as_secs_f64();
        }
        let shown = self.measured();
        *self = Self {
            end: next,
            since: now,
            delivered,
            count: self.count + 1,
            rate: self.rate,
            before: self.before,
            ..Self::default()
        };
        shown
    }

    /// Forgets what was measured in the present window: a loss changed the path. It ends where it would have.
    pub(super) fn forget(&mut self) {
        *self = Self {
            end: self.end,
            since: self.since,
            delivered: self.delivered,
            count: self.count,
            rate: self.rate,
            before: self.before,
            ..Self::default()
        };
    }
}

/// The least RTT (or one-way delay) of a sliding window, in two halves: a sample counts for one to two halves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LeastRtt {
    /// The least of the present half.
    now: Option<Duration>,
    /// The least of the half before.
    before: Option<Duration>,
    /// When the present half began.
    since: Instant,
}

impl LeastRtt {
    pub(super) fn see(&mut self, now: Instant, rtt: Duration, window: f64) {
        if now.since(self.since) >= Duration::from_secs_f64(window / 2.0) {
            self.before = self.now.take();
            self.since = now;
        }
        self.now = Some(self.now.map_or(rtt, |least| least.min(rtt)));
    }

    /// The least is `least` from now on: the path became longer, or is not after all.
    pub(super) fn rebase(&mut self, now: Instant, least: Duration) {
        *self = Self {
            now: Some(least),
            before: None,
            since: now,
        };
    }

    /// `None` before the first sample.
    #[inline]
    pub(super) fn get(&self) -> Option<Duration> {
        match (self.now, self.before) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_gives_means_of_its_own_samples() {
        let mut r = Round::default();
        let rtt = Duration::from_millis(40);
        assert!(r.is_over(0));
        r.roll(Instant::from_millis(100), 5_000, 1_000, rtt);
        assert!(!r.is_over(4_999) && r.is_over(5_000));
        r.rtt(Duration::from_millis(40));
        r.rtt(Duration::from_millis(60));
        r.hol(Duration::from_millis(4));
        r.hol(Duration::from_millis(8));
        let w = r.roll(Instant::from_millis(150), 9_000, 6_000, rtt);
        assert_eq!((w.rtt, w.rtt_least), (Some(0.05), Some(0.04)));
        assert_eq!(w.hol, Some(0.006));
        assert_eq!(w.hol_max, 0.008);
        assert_eq!(w.rate, 5_000.0 / 0.05);
        // A window cut short gives no rate of its own.
        let w = r.roll(Instant::from_millis(155), 9_000, 7_000, rtt);
        assert_eq!((w.rtt, w.hol, w.rate), (None, None, 100_000.0));
        assert_eq!(r.count, 3);
    }

    #[test]
    fn a_least_rtt_is_forgotten_after_its_window() {
        let mut l = LeastRtt::default();
        assert_eq!(l.get(), None);
        let ms = Duration::from_millis;
        l.see(Instant::from_millis(1_000), ms(38), 10.0);
        l.see(Instant::from_millis(6_000), ms(50), 10.0);
        assert_eq!(l.get(), Some(ms(38)));
        l.see(Instant::from_millis(11_000), ms(51), 10.0);
        assert_eq!(l.get(), Some(ms(50)));
    }
}
