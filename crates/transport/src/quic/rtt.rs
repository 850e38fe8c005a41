//! Round-trip times (RFC 9002, 5) and the probe timeout (RFC 9002, 6.2.1).

use slackwater_core::Duration;

/// The timer granularity, `kGranularity` (RFC 9002, 6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);

/// No sample and no wait for an answer is longer. A connection's idle timeout ends it long before; a clock that leaps by years, or a probe
/// timer that has doubled for years, shall overflow no sum.
pub(crate) const LONGEST: Duration = Duration::from_secs(86_400);

/// RTT estimate of one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    latest: Duration,
    min: Duration,
    smoothed: Duration,
    var: Duration,
    sampled: bool,
}

impl Rtt {
    pub(crate) fn new(initial: Duration) -> Self {
        Self {
            latest: Duration::ZERO,
            min: Duration::ZERO,
            smoothed: initial,
            var: initial / 2,
            sampled: false,
        }
    }

    /// A sample; `ack_delay` is what the peer says it waited, at most its `max_ack_delay`.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Duration, ack_delay: Duration) {
        let rtt = rtt.min(LONGEST);
        self.latest = rtt;
        if !self.sampled {
            // RFC 9002, 5.3.
            (self.min, self.smoothed, self.var) = (rtt, rtt, rtt / 2);
            self.sampled = true;
            return;
        }
        self.min = self.min.min(rtt);
        // RFC 9002, 5.3: the delay counts where the sample stays above the minimum without it.
        let adjusted = if rtt >= self.min + ack_delay {
            rtt - ack_delay
        } else {
            rtt
        };
        let (s, a) = (self.smoothed.as_nanos(), adjusted.as_nanos());
        self.var = Duration::from_nanos((3 * self.var.as_nanos() + s.abs_diff(a)) / 4);
        self.smoothed = Duration::from_nanos((7 * s + a) / 8);
    }

    /// The path has been measured.
    #[inline]
    pub(crate) const fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// Smoothed RTT; zero before the first sample.
    #[inline]
    pub(crate) const fn srtt(&self) -> Duration {
        if self.sampled {
            self.smoothed
        } else {
            Duration::ZERO
        }
    }

    /// Least sample; zero before the first.
    #[inline]
    pub(crate) const fn min(&self) -> Duration {
        self.min
    }

    /// Last sample; zero before the first.
    #[inline]
    pub(crate) const fn latest(&self) -> Duration {
        self.latest
    }

    /// The probe timeout before back-off.
    #[inline]
    pub(crate) fn pto(&self, max_ack_delay: Duration) -> Duration {
        self.smoothed + (self.var * 4).max(GRANULARITY) + max_ack_delay
    }

    /// How long a packet may stay behind an acknowledged one (RFC 9002, 6.1.2: 9/8 of the RTT).
    #[inline]
    pub(crate) fn loss_delay(&self) -> Duration {
        let rtt = self.smoothed.max(self.latest).as_nanos();
        Duration::from_nanos(rtt + rtt / 8).max(GRANULARITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_first_sample_sets_everything_and_later_ones_smooth() {
        let mut rtt = Rtt::new(MS(333));
        assert_eq!(rtt.pto(Duration::ZERO), MS(999), "RFC 9002, 6.2.2");
        rtt.sample(MS(80), MS(25));
        assert_eq!(
            (rtt.srtt(), rtt.min(), rtt.pto(MS(25))),
            (MS(80), MS(80), MS(265))
        );
        rtt.sample(MS(120), MS(16));
        // 104 ms without the peer's delay.
        assert_eq!(rtt.srtt(), MS(83));
        rtt.sample(MS(81), MS(20));
        assert_eq!(
            rtt.latest(),
            MS(81),
            "the delay is left in where the minimum forbids it"
        );
        assert!(rtt.srtt() > MS(82));
    }

    #[test]
    fn a_steady_path_is_probed_after_the_rtt_and_the_granularity() {
        let mut rtt = Rtt::new(MS(333));
        for _ in 0..100 {
            rtt.sample(MS(40), Duration::ZERO);
        }
        assert_eq!(rtt.pto(MS(25)), MS(66));
        assert_eq!(rtt.loss_delay(), MS(45));
    }
}
