//! The largest value of a sliding window in constant space: the best three of its subwindows (K. Nichols; Linux
//! `win_minmax.c`).

/// A sample and when it was taken.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    at: u64,
    value: f64,
}

/// A windowed maximum. Times are in the caller's unit (rounds, nanoseconds).
#[derive(Clone, Copy, Debug)]
pub struct WindowedMax {
    window: u64,
    best: [Sample; 3],
}

impl WindowedMax {
    /// A filter over `window` units of time.
    pub fn new(window: u64) -> Self {
        Self {
            window,
            best: [Sample::default(); 3],
        }
    }

    /// The maximum; zero before the first sample.
    #[inline]
    pub const fn get(&self) -> f64 {
        self.best[0].value
    }

    /// Forgets everything but one sample.
    pub fn reset(&mut self, at: u64, value: f64) {
        self.best = [Sample { at, value }; 3];
    }

    /// Takes a sample. Times do not go back.
    pub fn update(&mut self, at: u64, value: f64) {
        let new = Sample { at, value };
        if value >= self.best[0].value || at.saturating_sub(self.best[2].at) > self.window {
            self.reset(at, value);
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = new;
            self.best[2] = new;
        } else if value >= self.best[2].value {
            self.best[2] = new;
        }
        let age = at.saturating_sub(self.best[0].at);
        if age > self.window {
            // The best is too old: the next ones move up, perhaps twice.
            self.best = [self.best[1], self.best[2], new];
            if at.saturating_sub(self.best[0].at) > self.window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].at == self.best[0].at && age > self.window / 4 {
            // A quarter passed without a second choice: take one from the second quarter.
            self.best[1] = new;
            self.best[2] = new;
        } else if self.best[2].at == self.best[1].at && age > self.window / 2 {
            // Half passed without a third choice.
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_peak_is_forgotten_after_the_window() {
        let mut max = WindowedMax::new(10);
        max.update(0, 9.0);
        for t in 1..=10 {
            max.update(t, 5.0);
            assert_eq!(max.get(), 9.0);
        }
        max.update(11, 5.0);
        assert_eq!(max.get(), 5.0);
    }

    proptest! {
        /// The filter approximates: never above the true maximum of the window, never below the newest sample.
        #[test]
        fn lies_between_the_newest_and_the_true_maximum(
            samples in prop::collection::vec((0u64..4, 0u32..1000), 1..200)
        ) {
            let mut max = WindowedMax::new(10);
            let (mut at, mut seen) = (0, Vec::new());
            for (step, value) in samples {
                at += step;
                let value = f64::from(value);
                max.update(at, value);
                seen.push((at, value));
                let truth = seen.iter().filter(|s| at - s.0 <= 10).map(|s| s.1).fold(0.0, f64::max);
                prop_assert!(max.get() <= truth && max.get() >= value, "{} {truth}", max.get());
            }
        }
    }
}
