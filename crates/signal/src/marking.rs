//! How queue delay becomes CE marks.

use slackwater_core::Duration;

/// A linear ramp: no marks up to `low`, every packet from `high` on.
///
/// Source: the Jens marker (IETF 115 hackathon, Deutsche Telekom); aL4S paper, section on marking, cases 2/10, 5/20
/// and 20/50 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkingScheme {
    /// Queue delay at which marking starts.
    pub low: Duration,
    /// Queue delay at which every packet is marked; at least `low`.
    pub high: Duration,
}

impl MarkingScheme {
    /// The probability in [0, 1] that a packet with queue delay `delay` is marked.
    #[inline]
    pub fn probability(&self, delay: Duration) -> f64 {
        if delay <= self.low {
            0.0
        } else if delay >= self.high {
            1.0
        } else {
            (delay - self.low).as_nanos() as f64 / (self.high - self.low).as_nanos() as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_is_linear_and_clamped() {
        let ramp = MarkingScheme {
            low: Duration::from_millis(5),
            high: Duration::from_millis(20),
        };
        assert_eq!(ramp.probability(Duration::from_millis(5)), 0.0);
        assert_eq!(ramp.probability(Duration::from_micros(12_500)), 0.5);
        assert_eq!(ramp.probability(Duration::from_secs(9)), 1.0);
        let step = MarkingScheme {
            low: Duration::from_millis(1),
            high: Duration::from_millis(1),
        };
        assert_eq!(step.probability(Duration::from_micros(1_001)), 1.0);
    }
}
