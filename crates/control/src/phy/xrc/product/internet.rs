//! The bottleneck beyond the radio, drained: this project's answer to a queue that reports do not show.
//!
//! The paper's sender goes on to the target window and stays there (XRC, section III-B, "steady rate"), which keeps
//! the foreign queue at target window minus bandwidth-delay product, and each loss there lets FAST jump back. This
//! profile remembers the verdict, keeps FAST off, cuts to the delivered rate and probes with care.

use slackwater_core::{Duration, Instant};

/// A verdict counts for this long.
const MEMORY: Duration = Duration::from_secs(10);
/// A verdict that a cut did not end leads to cuts to this part of the delivered window...
const AGAIN: f64 = 0.75;
/// ...at most so many times, before standard TCP takes over.
const CUTS: u32 = 3;
/// Rounds of standard TCP before the cuts start over.
const STANDARD_ROUNDS: u32 = 200;
/// A loss with an empty radio queue speaks for a foreign bottleneck where less than this part of the reported rate
/// arrives.
const LOSS_SHARE: f64 = 0.6;
/// A probe grows the window by at most a sixteenth per RTT.
const PROBE_MAX: f64 = 1.0 / 16.0;

/// Memory of a bottleneck beyond the radio.
#[derive(Clone, Copy, Debug)]
pub(super) struct Internet {
    /// The verdict counts until then.
    until: Instant,
    /// Consecutive verdicts.
    k: u32,
    /// Window after the present cut, segments.
    base: f64,
    /// Growth of the present probe, segments per RTT.
    probe: f64,
    /// Verdicts in all.
    pub(super) verdicts: u64,
}

/// What a verdict asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    /// The window is at most this many segments.
    pub(super) window: f64,
    /// Growth, segments per RTT.
    pub(super) alpha: f64,
}

impl Internet {
    pub(super) const NONE: Self = Self {
        until: Instant::ZERO,
        k: 0,
        base: 0.0,
        probe: 1.0,
        verdicts: 0,
    };

    /// A verdict or a loss there was seen in the last 10 s.
    #[inline]
    pub(super) fn is_remembered(&self, now: Instant) -> bool {
        now < self.until
    }

    /// The queue is elsewhere, or gone.
    pub(super) fn forget(&mut self) {
        *self = Self {
            verdicts: self.verdicts,
            ..Self::NONE
        };
    }

    /// The run of verdicts ended.
    pub(super) fn calm(&mut self) {
        self.k = 0;
    }

    /// A loss outside the unfairness mode. `quiet`: no report of the window showed a queue above the budget;
    /// `share`: delivered over reported rate.
    pub(super) fn loss(&mut self, now: Instant, quiet: bool, share: f64) {
        self.k = 0;
        self.probe = 1.0;
        if quiet && (self.is_remembered(now) || share < LOSS_SHARE) {
            self.until = now.saturating_add(MEMORY);
        }
    }

    /// Verdict after verdict: cut to what arrives, wait N rounds, cut deeper, and leave it to losses in the end.
    /// `delivered` is the window that the delivered rate fills at the least RTT; `target` the target window.
    pub(super) fn verdict(
        &mut self,
        now: Instant,
        rounds: u32,
        delivered: f64,
        cwnd: f64,
        target: f64,
    ) -> Cut {
        self.verdicts += 1;
        self.until = now.saturating_add(MEMORY);
        self.probe = 1.0;
        let period = rounds + 1;
        if self.k >= (CUTS + 1) * period + STANDARD_ROUNDS {
            self.k = 0;
        }
        let (cycle, step) = (self.k / period, self.k % period);
        self.k += 1;
        if cycle > CUTS {
            return Cut {
                window: cwnd,
                alpha: if cwnd < target { 1.0 } else { 0.0 },
            };
        }
        if step == 0 {
            self.base = delivered * if cycle == 0 { 1.0 } else { AGAIN };
            return Cut {
                window: self.base,
                alpha: 0.0,
            };
        }
        Cut {
            window: self.base + f64::from(step),
            alpha: 1.0,
        }
    }

    /// Growth while a verdict is remembered and the queue is within the budget: it doubles each round while the queue
    /// is within half of it.
    pub(super) fn probe(&mut self, cwnd: f64, calm: bool) -> f64 {
        let alpha = if calm { self.probe } else { 1.0 };
        self.probe = alpha * 2.0;
        let bound = (cwnd * PROBE_MAX).max(1.0);
        if self.probe > bound * 2.0 {
            self.probe = bound * 2.0;
        }
        alpha.min(bound)
    }

    /// Consecutive verdicts up to now.
    pub(super) const fn run(&self) -> u32 {
        self.k
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_cut_wait_cut_deeper_and_give_up() {
        let mut i = Internet::NONE;
        let now = Instant::from_millis(1);
        let mut at = |cwnd| i.verdict(now, 2, 40.0, cwnd, 100.0);
        let cut = |window, alpha| Cut { window, alpha };
        assert_eq!(at(90.0), cut(40.0, 0.0));
        assert_eq!(at(40.0), cut(41.0, 1.0));
        assert_eq!(at(41.0), cut(42.0, 1.0));
        for _ in 0..3 {
            assert_eq!(at(42.0), cut(30.0, 0.0));
            assert_eq!(at(30.0), cut(31.0, 1.0));
            assert_eq!(at(31.0), cut(32.0, 1.0));
        }
        assert_eq!(at(32.0), cut(32.0, 1.0));
        assert_eq!(at(100.0), cut(100.0, 0.0));
        for _ in 2..200 {
            at(100.0);
        }
        assert_eq!(at(90.0), cut(40.0, 0.0));
    }

    #[test]
    fn a_verdict_is_remembered_for_ten_seconds() {
        let mut i = Internet::NONE;
        let at = Instant::from_millis;
        assert!(!i.is_remembered(at(0)));
        i.verdict(at(1), 10, 40.0, 90.0, 100.0);
        assert!(i.is_remembered(at(10_000)) && !i.is_remembered(at(10_001)));
        // A loss with an empty radio queue renews it; the first needs a gap between delivered and reported rate.
        i.loss(at(9_000), true, 0.9);
        assert!(i.is_remembered(at(18_999)));
        i.forget();
        i.loss(at(9_000), true, 0.7);
        assert!(!i.is_remembered(at(9_001)));
        i.loss(at(9_000), false, 0.1);
        assert!(!i.is_remembered(at(9_001)));
        i.loss(at(9_000), true, 0.59);
        assert!(i.is_remembered(at(9_001)));
    }

    #[test]
    fn a_probe_doubles_while_the_queue_is_short_and_takes_a_sixteenth_at_most() {
        let mut i = Internet::NONE;
        let grown: Vec<f64> = (0..5).map(|_| i.probe(80.0, true)).collect();
        assert_eq!(grown, [1.0, 2.0, 4.0, 5.0, 5.0]);
        assert_eq!(i.probe(80.0, false), 1.0);
        assert_eq!(i.probe(80.0, true), 2.0);
        let mut i = Internet::NONE;
        assert_eq!(i.probe(3.0, true), 1.0);
    }
}
