//! Token buckets: the rates of QERs (TS 29.244, 5.4.4; TS 23.501, 5.7.1.8). What counts are IP bytes of users' packets.

use slackwater_core::{Bytes, Duration, Instant, Rate};

/// A bucket that is one point in time: when the bytes so far are paid for (GCRA, ITU-T I.371). Its arithmetic loses
/// nothing: what a packet costs beyond whole nanoseconds is carried to the next.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    rate: Rate,
    /// How far ahead of its rate it lets a flow be.
    depth: Duration,
    /// The bytes so far are paid for at this time.
    paid: Instant,
    /// What the last packet cost beyond whole nanoseconds, in 1/rate of one.
    rest: u64,
}

impl Meter {
    /// A meter of `rate` that lets `burst`, or three packets of 1500 bytes where that is less, pass at once.
    pub fn new(rate: Rate, burst: Duration) -> Self {
        Self {
            rate,
            depth: burst.max(rate.time_for(Bytes(4_500))),
            paid: Instant::ZERO,
            rest: 0,
        }
    }

    /// Its rate.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Changes the rate; the debt in bytes stays.
    pub fn set(&mut self, now: Instant, rate: Rate, burst: Duration) {
        if rate == self.rate {
            return;
        }
        let debt = self.rate.bytes_in(self.paid.since(now));
        *self = Self::new(rate, burst);
        if debt > Bytes::ZERO {
            self.paid = now.saturating_add(rate.time_for(debt));
        }
    }

    /// True where a packet may pass now; never at rate zero.
    pub fn admits(&self, now: Instant) -> bool {
        self.rate > Rate::ZERO && self.paid.saturating_sub(self.depth) <= now
    }

    /// A packet of `len` bytes passes. It may overdraw: over any time at most depth, rate times time, and one packet pass.
    pub fn pay(&mut self, now: Instant, len: u32) {
        if self.paid < now {
            self.paid = now;
            self.rest = 0;
        }
        // A bucket that holds less than a packet runs dry between two that come as fast as the rate allows.
        self.depth = self.depth.max(self.rate.time_for(Bytes(u64::from(len))));
        // Below 2^63 for packets of an IP length field.
        let bits = u64::from(len.min(1 << 17)) * 8_000_000_000 + self.rest;
        let bps = self.rate.as_bps();
        if let (Some(ns), Some(rest)) = (bits.checked_div(bps), bits.checked_rem(bps)) {
            self.paid = self.paid.saturating_add(Duration::from_nanos(ns));
            self.rest = rest;
        }
    }
}

/// Limits how often something is said, such as ICMP (RFC 4443, 2.4 (f)) and error indications.
#[derive(Clone, Copy, Debug)]
pub struct Often {
    every: Duration,
    burst: Duration,
    paid: Instant,
}

impl Often {
    /// `burst` at once, then one each `every`.
    pub fn new(every: Duration, burst: u32) -> Self {
        Self {
            every,
            burst: every * u64::from(burst.saturating_sub(1)),
            paid: Instant::ZERO,
        }
    }

    /// True where it may be said now; it then counts as said.
    pub fn allows(&mut self, now: Instant) -> bool {
        let allowed = self.paid.saturating_sub(self.burst) <= now;
        if allowed {
            self.paid = self.paid.max(now).saturating_add(self.every);
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes that pass in `seconds` of an offer of `load` times the rate.
    fn passed(meter: &mut Meter, load: f64, len: u32, seconds: f64) -> u64 {
        let gap = f64::from(len) * 8e9 / (meter.rate.as_bps() as f64 * load);
        let mut passed = 0;
        let mut n = 0_u64;
        loop {
            let at = gap * n as f64;
            if at > seconds * 1e9 {
                return passed;
            }
            let now = Instant::from_nanos(at as u64);
            if meter.admits(now) {
                meter.pay(now, len);
                passed += u64::from(len);
            }
            n += 1;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// Within 2 % of each rate from 1 Mbit/s to 5 Gbit/s, packets of 64 to 9000 bytes, whatever is offered above it.
        #[test]
        fn a_rate_is_kept(
            decade in 0.0..3.7f64,
            len in 64u32..9_000,
            load in 1.02..4.0f64,
        ) {
            let rate = Rate::from_mbps(10_f64.powf(decade));
            let mut meter = Meter::new(rate, Duration::from_millis(10));
            // So long that the depth is below half a percent, and some 10^4 packets.
            let depth = meter.depth.as_secs_f64();
            let packets = f64::from(len) * 8.0 / rate.as_bps() as f64;
            let seconds = (200.0 * depth).max(2_000.0 * packets);
            let got = passed(&mut meter, load, len, seconds) as f64 * 8.0 / seconds;
            let share = got / rate.as_bps() as f64;
            prop_assert!((share - 1.0).abs() < 0.02, "{rate:?} {len} {load}: {share}");
        }

        /// Below its rate nothing is refused.
        #[test]
        fn what_keeps_to_the_rate_passes(decade in 0.0..3.7f64, len in 64u32..1_500) {
            let rate = Rate::from_mbps(10_f64.powf(decade));
            let mut meter = Meter::new(rate, Duration::from_millis(10));
            let gap = u64::from(len) * 8_000_000_000 / rate.as_bps() + 1;
            for n in 0..5_000 {
                let now = Instant::from_nanos(n * gap);
                prop_assert!(meter.admits(now));
                meter.pay(now, len);
            }
        }
    }

    #[test]
    fn packets_longer_than_the_bucket_have_the_whole_rate() {
        // 36 ms deep, packets of 51 ms: 3 % were lost.
        let mut meter = Meter::new(Rate::from_mbps(1.0), Duration::from_millis(10));
        let got = passed(&mut meter, 1.163, 6_421, 100.0) as f64 * 8e-8;
        assert!((got - 1.0).abs() < 0.005, "{got}");
    }

    #[test]
    fn a_debt_stays_when_the_rate_changes() {
        let mut meter = Meter::new(Rate::from_mbps(1.2), Duration::ZERO);
        for _ in 0..6 {
            meter.pay(Instant::ZERO, 1_500);
        }
        // 9000 bytes are owed, 4500 are the depth: 37.5 ms to pay at 0.96 Mbit/s.
        meter.set(Instant::ZERO, Rate::from_mbps(0.96), Duration::ZERO);
        assert!(!meter.admits(Instant::from_millis(37)) && meter.admits(Instant::from_millis(38)));
    }

    #[test]
    fn what_is_said_too_often_is_left_out() {
        let mut often = Often::new(Duration::from_millis(10), 5);
        let said = (0..100).filter(|_| often.allows(Instant::ZERO)).count();
        assert_eq!(said, 5);
        let said = (1..=100)
            .filter(|ms| often.allows(Instant::from_millis(*ms)))
            .count();
        assert_eq!(said, 10);
    }
}
