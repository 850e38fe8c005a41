//! Compensation for competing flows (RFC 8298, 4.1.2.3; draft-ietf-ccwg-rfc8298bis-screamv2, 4.2.1.4): the target of the
//! queue delay rises where losses or a queue that stands still show a flow that fills the buffer, and falls after it.

use slackwater_core::{Duration, Instant};

/// Samples of the queue delay (`qdelay_norm_history`), and those of them whose average counts.
const SAMPLES: (usize, usize) = (200, 50);
/// Time between two. The drafts give none; it is the one of Ericsson's history (`kSlowUpdateInterval`).
const BETWEEN: Duration = Duration::from_millis(50);
/// Above this share of round trips with losses the target rises (`loss_event_rate`)...
const LOSSES: f64 = 0.002;
/// ...to so many times the queue.
const ABOVE: f64 = 1.5;
/// Gain of that share, once a round trip. The drafts give none; it is Ericsson's.
const GAIN: f64 = 0.02;
/// The queue stands still where the variance of its delay in least targets is below this (`qdelay_norm_var_t`).
const STILL: f64 = 0.2;
/// What the target falls to in one step where the queue is short, and where it is not.
const FALL: (f64, f64) = (0.5, 0.9);

/// The target of the queue delay, in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Compensation {
    least: f64,
    most: f64,
    target: f64,
    /// Queue delays in least targets, of which the one at `at` is the oldest. None is known at first: zeros (RFC 8298, 4.1.1.2).
    history: [f64; SAMPLES.0],
    at: usize,
    sampled: Option<Instant>,
    /// Share of round trips with losses, whether the present one has any, and when it began.
    losses: f64,
    lossy: bool,
    round: Instant,
}

impl Compensation {
    /// Between `least` (`QDELAY_TARGET_LO`) and `most` seconds (`QDELAY_TARGET_HI`).
    pub(crate) fn new(least: f64, most: f64) -> Self {
        Self {
            least,
            most: most.max(least),
            target: least,
            history: [0.0; SAMPLES.0],
            at: 0,
            sampled: None,
            losses: 0.0,
            lossy: false,
            round: Instant::ZERO,
        }
    }

    /// `qdelay_target`.
    pub(crate) const fn target(&self) -> f64 {
        self.target
    }

    /// A feedback that found `queue` seconds of delay, with `lost` packets or none, on a path of `rtt` seconds.
    pub(crate) fn update(&mut self, now: Instant, queue: f64, rtt: f64, lost: bool) {
        self.lossy |= lost;
        if now.since(self.round).as_secs_f64() > rtt {
            let found = if self.lossy { 1.0 } else { 0.0 };
            self.losses += GAIN * (found - self.losses);
            (self.lossy, self.round) = (false, now);
        }
        if self.sampled.is_some_and(|last| now.since(last) < BETWEEN) {
            return;
        }
        self.sampled = Some(now);
        self.history[self.at] = queue / self.least;
        self.at = (self.at + 1) % SAMPLES.0;
        self.adjust();
    }

    /// `adjust_qdelay_target`.
    fn adjust(&mut self) {
        let all = SAMPLES.0 as f64;
        let mean = self.history.iter().sum::<f64>() / all;
        let apart = self.history.iter().map(|q| (q - mean) * (q - mean));
        let variance = apart.sum::<f64>() / all;
        let newest = (1..=SAMPLES.1).map(|i| self.history[(self.at + SAMPLES.0 - i) % SAMPLES.0]);
        let average = newest.sum::<f64>() / SAMPLES.1 as f64;
        let found = self.least * (average + variance.sqrt());
        self.target = if self.losses > LOSSES {
            ABOVE * found
        } else if variance < STILL {
            found
        } else if found < self.least {
            found.max(FALL.0 * self.target)
        } else {
            FALL.1 * self.target
        }
        .clamp(self.least, self.most);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LEAST: f64 = 0.06;
    const MOST: f64 = 0.4;

    /// A compensation, and 50 ms from one feedback to the next on a path of 20 ms.
    struct Path {
        c: Compensation,
        now: Instant,
    }

    impl Path {
        fn new() -> Self {
            Self {
                c: Compensation::new(LEAST, MOST),
                now: Instant::from_millis(1000),
            }
        }

        fn hear(&mut self, feedbacks: usize, queue: f64, lost: bool) {
            for _ in 0..feedbacks {
                self.now += BETWEEN;
                self.c.update(self.now, queue, 0.02, lost);
            }
        }
    }

    fn near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-9,
            "found {found}, expected {expected}"
        );
    }

    #[test]
    fn a_short_queue_leaves_the_target_at_its_least() {
        let mut path = Path::new();
        path.hear(400, 0.01, false);
        near(path.c.target(), LEAST);
    }

    /// A queue of 90 ms for 200 samples: no variance, so the target is the queue.
    #[test]
    fn a_queue_that_stands_still_is_the_target() {
        let mut path = Path::new();
        path.hear(SAMPLES.0, 0.09, false);
        near(path.c.target(), 0.09);
    }

    #[test]
    fn beside_losses_the_target_is_half_as_much_again_as_the_queue() {
        let mut path = Path::new();
        path.hear(SAMPLES.0, 0.09, false);
        path.hear(1, 0.09, true);
        near(path.c.target(), 0.135);
        path.hear(SAMPLES.0, 1.0, true);
        near(path.c.target(), MOST);
    }

    /// One round trip of 1000 with losses is a share below 0.002: 0.02 after it, and 0.98 of that after each without.
    #[test]
    fn a_single_loss_is_forgotten() {
        let mut path = Path::new();
        path.hear(SAMPLES.0, 0.09, true);
        path.hear(400, 0.09, false);
        near(path.c.target(), 0.09);
    }

    #[test]
    fn the_target_falls_when_the_rival_leaves() {
        let mut path = Path::new();
        path.hear(SAMPLES.0, 0.3, true);
        assert!(path.c.target() > 0.39);
        path.hear(400, 0.005, false);
        near(path.c.target(), LEAST);
    }

    #[test]
    fn samples_closer_than_50_ms_are_passed_over() {
        let mut path = Path::new();
        for i in 0..10_000 {
            let now = path.now + Duration::from_micros(4) * i;
            path.c.update(now, 0.3, 0.02, false);
        }
        near(path.c.target(), LEAST);
    }

    proptest! {
        /// Whatever comes, the target stays within its bounds; where the queue stays short and nothing is lost it
        /// returns to its least.
        #[test]
        fn the_target_is_bounded_and_returns(
            samples in prop::collection::vec((0.0..5.0f64, 0.0..1.0f64, any::<bool>()), 0..600),
        ) {
            let mut path = Path::new();
            for (queue, rtt, lost) in samples {
                path.now += BETWEEN;
                path.c.update(path.now, queue, rtt, lost);
                prop_assert!((LEAST..=MOST).contains(&path.c.target()), "{}", path.c.target());
            }
            path.hear(SAMPLES.0 + 400, 0.01, false);
            prop_assert!(path.c.target() == LEAST, "{}", path.c.target());
        }
    }
}
