//! The least duration of a sliding time window whose length may change with each sample.

use std::collections::VecDeque;

use slackwater_core::{Duration, Instant};

/// Samples are told apart in time to this part of the window, which bounds how many are kept.
const STEPS: u64 = 64;

/// A windowed minimum: a queue of samples, each later and larger than the one before it.
///
/// A sample that comes within a 64th of the window after a smaller one is not kept: when the smaller one expires, the
/// minimum may be that of a window which is so much shorter.
#[derive(Clone, Debug, Default)]
pub struct WindowedMin {
    samples: VecDeque<(Instant, Duration)>,
}

impl WindowedMin {
    /// The minimum; `None` before the first sample.
    #[inline]
    pub fn get(&self) -> Option<Duration> {
        self.samples.front().map(|s| s.1)
    }

    /// Takes a sample and forgets what is older than `window`. Times do not go back.
    #[inline]
    pub fn update(&mut self, now: Instant, value: Duration, window: Duration) {
        while self.samples.back().is_some_and(|s| s.1 >= value) {
            self.samples.pop_back();
        }
        while self
            .samples
            .front()
            .is_some_and(|s| now.since(s.0) > window)
        {
            self.samples.pop_front();
        }
        let near = self
            .samples
            .back()
            .is_some_and(|s| now.since(s.0) < window / STEPS);
        if !near {
            self.samples.push_back((now, value));
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.samples.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn a_minimum_is_forgotten_after_the_window() {
        let mut min = WindowedMin::default();
        for t in 0..=10 {
            min.update(Instant::from_millis(t), ms(20 + t), ms(10));
            assert_eq!(min.get(), Some(ms(20)));
        }
        min.update(Instant::from_millis(11), ms(31), ms(10));
        assert_eq!(min.get(), Some(ms(21)));
        // A shorter window forgets at once.
        min.update(Instant::from_millis(12), ms(32), ms(2));
        assert_eq!(min.get(), Some(ms(30)));
    }

    proptest! {
        /// Between the minimum of the window and that of one a 64th shorter, in bounded space.
        #[test]
        fn lies_between_the_minima_of_two_windows(
            samples in prop::collection::vec((0u64..3_000, 1u64..1000), 1..400)
        ) {
            let mut min = WindowedMin::default();
            let (mut at, mut seen) = (0, Vec::new());
            let window = 64_000;
            for (step, value) in samples {
                at += step;
                min.update(Instant::from_nanos(at), ms(value), Duration::from_nanos(window));
                seen.push((at, value));
                let least = |window: u64| {
                    seen.iter().filter(|s| at - s.0 <= window).map(|s| s.1).min().expect("the newest")
                };
                let got = min.get().expect("a sample");
                prop_assert!(got >= ms(least(window)));
                prop_assert!(got <= ms(least(window - window / STEPS)));
                prop_assert!(min.samples.len() as u64 <= STEPS + 2);
            }
        }
    }
}
