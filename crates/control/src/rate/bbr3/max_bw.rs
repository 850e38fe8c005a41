//! The largest delivery rate of the present and the previous probing cycle (5.5.3, 5.5.5, 5.5.6).

/// Two slots, one a cycle: `MaxBwFilterLen` 2, for which the draft needs a single bit of time (2.11).
#[derive(Clone, Copy, Debug, Default)]
pub struct MaxBw {
    previous: f64,
    current: f64,
}

impl MaxBw {
    /// Payload bytes per second; zero before the first sample.
    #[inline]
    pub const fn get(&self) -> f64 {
        if self.previous > self.current {
            self.previous
        } else {
            self.current
        }
    }

    /// Takes a sample. One that the application limited only counts where it is above the estimate, for it can only
    /// be too low (5.5.5).
    #[inline]
    pub fn update(&mut self, rate: f64, app_limited: bool) {
        if rate > 0.0 && (!app_limited || rate >= self.get()) {
            self.current = self.current.max(rate);
        }
    }

    /// A probing cycle is over (5.5.6). One without samples has nothing to say and replaces nothing.
    pub const fn advance(&mut self) {
        if self.current > 0.0 {
            self.previous = self.current;
            self.current = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_forgotten_after_two_cycles() {
        let mut max = MaxBw::default();
        max.update(9.0, false);
        max.advance();
        max.update(4.0, false);
        assert_eq!(max.get(), 9.0);
        max.advance();
        assert_eq!(max.get(), 4.0);
        max.advance();
        max.advance();
        assert_eq!(max.get(), 4.0, "no sample, no news");
    }

    #[test]
    fn a_limited_application_only_raises_the_estimate() {
        let mut max = MaxBw::default();
        max.update(5.0, false);
        max.advance();
        max.update(2.0, true);
        max.advance();
        assert_eq!(max.get(), 5.0);
        max.update(6.0, true);
        assert_eq!(max.get(), 6.0);
    }
}
