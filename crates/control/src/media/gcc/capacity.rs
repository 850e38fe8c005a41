//! What the link was seen to carry (libwebrtc, `LinkCapacityEstimator`).

/// Weight of a rate seen at over-use, and of a probe's.
const OVERUSE: f64 = 0.05;
const PROBE: f64 = 0.5;
/// Bounds of the relative variance, kbit/s.
const DEVIATION: (f64, f64) = (0.4, 2.5);

/// An average rate and its spread, kbit/s.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    estimate: Option<f64>,
    deviation: f64,
}

impl Default for Capacity {
    fn default() -> Self {
        Self {
            estimate: None,
            deviation: DEVIATION.0,
        }
    }
}

impl Capacity {
    /// bit/s.
    pub(crate) fn estimate(&self) -> Option<f64> {
        self.estimate.map(|kbps| kbps * 1e3)
    }

    pub(crate) fn reset(&mut self) {
        self.estimate = None;
    }

    pub(crate) fn on_overuse(&mut self, rate: f64) {
        self.update(rate / 1e3, OVERUSE);
    }

    pub(crate) fn on_probe(&mut self, rate: f64) {
        self.update(rate / 1e3, PROBE);
    }

    fn update(&mut self, sample: f64, weight: f64) {
        let estimate = self
            .estimate
            .map_or(sample, |old| old + weight * (sample - old));
        self.estimate = Some(estimate);
        let error = estimate - sample;
        let spread = error * error / estimate.max(1.0);
        self.deviation += weight * (spread - self.deviation);
        self.deviation = self.deviation.clamp(DEVIATION.0, DEVIATION.1);
    }

    /// Three standard deviations below and above, bit/s; everything where nothing was seen.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        self.estimate.map_or((0.0, f64::INFINITY), |kbps| {
            let three = 3.0 * (self.deviation * kbps).sqrt();
            ((kbps - three).max(0.0) * 1e3, (kbps + three) * 1e3)
        })
    }
}
