//! A token bucket that is one point in time: when the bytes sent so far are paid for.

use slackwater_core::{Bytes, Duration, Instant, Rate};

/// Paces packets at a rate with a burst, without a timer for each.
///
/// As in GCRA (ITU-T I.371) a packet may go while the debt is no more than the burst, and may overdraw it: over any
/// time T at most `burst + rate * T` bytes and one packet leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    rate: Rate,
    burst: Duration,
    paid: Instant,
}

impl Bucket {
    /// A bucket of rate zero lets everything pass.
    pub(super) const fn open() -> Self {
        Self {
            rate: Rate::ZERO,
            burst: Duration::ZERO,
            paid: Instant::ZERO,
        }
    }

    pub(super) const fn rate(&self) -> Rate {
        self.rate
    }

    /// Changes the rate; `least` bytes or a millisecond's worth may go at once.
    pub(super) fn set(&mut self, now: Instant, rate: Rate, least: Bytes) {
        if rate == self.rate {
            return;
        }
        let debt = self.paid.since(now);
        if !debt.is_zero() && self.rate > Rate::ZERO && rate > Rate::ZERO {
            // The debt in bytes stays.
            let scale = self.rate.as_bps() as f64 / rate.as_bps() as f64;
            self.paid = now.saturating_add(debt.mul_f64(scale));
        }
        self.rate = rate;
        if rate > Rate::ZERO {
            self.burst = rate.time_for(least).max(Duration::from_millis(1));
        } else {
            self.paid = Instant::ZERO;
        }
    }

    /// When the next packet may go.
    pub(super) fn ready(&self) -> Instant {
        self.paid.saturating_sub(self.burst)
    }

    pub(super) fn pay(&mut self, now: Instant, len: u32) {
        // A packet has less than 2^17 bytes: the product stays far below 2^64.
        if let Some(cost) = (u64::from(len) * 8_000_000_000).checked_div(self.rate.as_bps()) {
            self.paid = self.paid.max(now) + Duration::from_nanos(cost);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_over_five_decades() {
        for mbps in [1.0, 20.0, 100.0, 1000.0, 5000.0] {
            let mut bucket = Bucket::open();
            bucket.set(Instant::ZERO, Rate::from_mbps(mbps), Bytes(3000));
            let mut now = Instant::ZERO;
            // The burst is a millisecond's worth: a second's packets at 5 Gbit/s hold it 1000 times.
            let packets = 400_000;
            for _ in 0..packets {
                now = now.max(bucket.ready());
                bucket.pay(now, 1500);
            }
            let got = f64::from(packets) * 12_000.0 / now.as_secs_f64() * 1e-6;
            assert!((got / mbps - 1.0).abs() < 0.02, "{mbps}: {got}");
        }
    }

    #[test]
    fn a_debt_keeps_its_bytes_when_the_rate_changes() {
        let mut bucket = Bucket::open();
        bucket.set(Instant::ZERO, Rate::from_bps(64_000), Bytes::ZERO);
        for _ in 0..4 {
            bucket.pay(Instant::ZERO, 1500);
        }
        bucket.set(Instant::ZERO, Rate::from_mbps(12.0), Bytes(1500));
        // Four packets of a millisecond each, one of them within the burst.
        assert_eq!(bucket.ready(), Instant::from_millis(3));
    }
}
