//! The one-way delay gradient by a scalar Kalman filter (draft-ietf-rmcat-gcc-02, 5.3; Carlucci et al., `MMSys` 2016).

use super::groups::Delta;

/// Variance of the state's noise.
const Q: f64 = 1e-3;
/// The system's error variance at the start.
const E: f64 = 0.1;
/// Filter coefficient of the measurement noise, within the draft's [0.001, 0.1].
const CHI: f64 = 0.01;
/// Groups of which the highest rate counts.
const RATES: usize = 5;

/// The filter; delays in ms.
#[derive(Clone, Debug)]
pub(crate) struct Kalman {
    m: f64,
    e: f64,
    noise: f64,
    spacing: [f64; RATES],
}

impl Default for Kalman {
    fn default() -> Self {
        Self {
            m: 0.0,
            e: E,
            noise: 1.0,
            spacing: [f64::INFINITY; RATES],
        }
    }
}

impl Kalman {
    /// The gradient m(i) in ms.
    pub(crate) fn update(&mut self, delta: &Delta) -> f64 {
        let z = (delta.arrived - delta.sent) * 1e3 - self.m;
        self.spacing.rotate_right(1);
        self.spacing[0] = (delta.sent * 1e3).max(1.0);
        let least = self.spacing.iter().copied().fold(f64::INFINITY, f64::min);
        // alpha = (1 - chi)^(30 / (1000 f_max)), f_max = 1 / least ms.
        let alpha = libm::pow(1.0 - CHI, 30.0 * least / 1000.0);
        let bound = 3.0 * self.noise.sqrt();
        let clipped = z.clamp(-bound, bound);
        self.noise = (alpha * self.noise + (1.0 - alpha) * clipped * clipped).max(1.0);
        let k = (self.e + Q) / (self.noise + self.e + Q);
        self.m += k * clipped;
        self.e = (1.0 - k) * (self.e + Q);
        self.m
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Instant;

    use super::*;

    #[test]
    fn the_gradient_converges_to_a_steady_growth() {
        let mut filter = Kalman::default();
        let delta = |arrived| Delta {
            sent: 0.010,
            arrived,
            at: Instant::ZERO,
        };
        // e = 0.1, q = 0.001: k = 0.101 / 1.101.
        assert!((filter.update(&delta(0.011)) - 0.101 / 1.101).abs() < 1e-12);
        for _ in 0..500 {
            filter.update(&delta(0.011));
        }
        assert!((filter.update(&delta(0.011)) - 1.0).abs() < 0.01);
        // One straggler moves it little.
        assert!(filter.update(&delta(0.300)) < 1.2);
    }
}
