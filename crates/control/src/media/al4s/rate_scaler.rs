//! Rate scaler (aL4S-CC, section IV-D): makes up for the varying distance between feedbacks.

use slackwater_core::{Duration, Instant, Rate};

use super::rate_controller::Variation;
use crate::Encoder;

/// No feedback drops more of the rate (eq. 13).
pub const DROP_MOST: f64 = 0.95;
/// Bounds of the time between two feedbacks, so that a gap in them is no leap of the rate (ours).
const INTERVAL: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(100));

/// The target rate.
#[derive(Clone, Copy, Debug)]
pub struct RateScaler {
    /// TR in bit/s.
    rate: f64,
    least: f64,
    most: f64,
    last: Option<Instant>,
}

impl RateScaler {
    /// Starts at the encoder's first rate.
    pub fn new(encoder: &Encoder) -> Self {
        let least = encoder.least.as_bps() as f64;
        let most = (encoder.most.as_bps() as f64).max(least);
        Self {
            rate: (encoder.start.as_bps() as f64).clamp(least, most),
            least,
            most,
            last: None,
        }
    }

    /// Seconds since the last feedback, bounded.
    pub fn interval(&mut self, now: Instant) -> f64 {
        let passed = self.last.map_or(INTERVAL.0, |last| now.since(last));
        self.last = Some(now);
        passed.clamp(INTERVAL.0, INTERVAL.1).as_secs_f64()
    }

    /// eq. 14. Its nu divides, so it counts feedbacks per second; eq. 12 multiplies by it, so there it cancels.
    pub fn apply(&mut self, variation: Variation, dt: f64) {
        let share = match variation {
            Variation::PerSecond(share) => share * dt,
            Variation::AtOnce { share, at_least } => share.min(at_least * dt),
        };
        self.set(self.rate * (1.0 + share.max(-DROP_MOST)));
    }

    /// TR in bit/s.
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// Another rate, within the encoder's bounds.
    pub fn set(&mut self, rate: f64) {
        self.rate = rate.clamp(self.least, self.most);
    }

    /// No more than `rate`.
    pub fn limit(&mut self, rate: f64) {
        self.set(self.rate.min(rate));
    }

    /// The encoder's least and greatest rate, bit/s.
    pub const fn bounds(&self) -> (f64, f64) {
        (self.least, self.most)
    }

    /// TR as the encoder takes it.
    pub fn target(&self) -> Rate {
        Rate::from_bps((self.rate + 0.5) as u64)
    }
}
