//! The rate at which packets arrive, weighed by how likely a sample is (libwebrtc, `BitrateEstimator`).

use slackwater_core::{Duration, Instant};

/// The first window, and the later ones.
const WINDOWS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_millis(150));
/// A sample's uncertainty in relative distances from the estimate.
const UNCERTAINTY: f64 = 10.0;
/// What the variance gains per sample, and its start, (kbit/s)^2.
const NOISE: f64 = 5.0;
const VARIANCE: f64 = 50.0;

/// The estimate in kbit/s.
#[derive(Clone, Debug, Default)]
pub(crate) struct Throughput {
    estimate: Option<f64>,
    variance: f64,
    since: Option<Instant>,
    last: Instant,
    bytes: u64,
}

impl Throughput {
    /// bit/s.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.estimate.map(|kbps| kbps * 1e3)
    }

    /// `bytes` arrived at `at`.
    pub(crate) fn on_arrival(&mut self, at: Instant, bytes: u64) {
        let window = if self.estimate.is_some() {
            WINDOWS.1
        } else {
            WINDOWS.0
        };
        let Some(since) = self.since else {
            (self.since, self.last, self.bytes) = (Some(at), at, bytes);
            return;
        };
        if at < self.last || at.since(self.last) > WINDOWS.0 {
            // Reordered packets count; a clock that was set and a pause begin anew.
            if self.last.since(at) > WINDOWS.0 || at > self.last {
                (self.since, self.last, self.bytes) = (Some(at), at, 0);
            }
            self.bytes = self.bytes.saturating_add(bytes);
            return;
        }
        self.last = at;
        let passed = at.since(since);
        if passed >= window {
            let kbps = self.bytes as f64 * 8.0 / passed.as_millis_f64();
            (self.since, self.bytes) = (Some(at), 0);
            self.sample(kbps);
        }
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn sample(&mut self, kbps: f64) {
        let Some(estimate) = self.estimate else {
            self.estimate = Some(kbps);
            self.variance = VARIANCE;
            return;
        };
        let distance = UNCERTAINTY * (estimate - kbps).abs() / estimate.max(1e-3);
        let sample = distance * distance;
        let predicted = self.variance + NOISE;
        let sum = (sample + predicted).max(1e-9);
        self.estimate = Some((sample * estimate + predicted * kbps) / sum);
        self.variance = sample * predicted / sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rate_is_found_after_half_a_second() {
        let mut t = Throughput::default();
        for i in 0..200u64 {
            t.on_arrival(Instant::from_millis(1000 + 10 * i), 1250);
            assert_eq!(t.rate().is_some(), i >= 50, "{i}");
        }
        assert!((t.rate().unwrap() - 1e6).abs() < 1.0);
        for i in 200..400u64 {
            t.on_arrival(Instant::from_millis(1000 + 10 * i), 625);
        }
        assert!((t.rate().unwrap() - 5e5).abs() < 2e4, "{:?}", t.rate());
    }
}
