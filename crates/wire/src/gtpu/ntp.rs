//! Time stamps in the format of NTP (RFC 5905, 6), as TS 38.415 uses them, beside the driver's clock.

use slackwater_core::Instant;

/// Seconds since 1900 as a 64-bit number with 32 bits of fraction: 0.23 ns. It wraps in 2036, and so do the
/// differences, which is why only they are used here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ntp(pub u64);

impl Ntp {
    /// Time from `earlier` to this; negative where that lies ahead, by up to 68 years either way.
    pub const fn since_ns(self, earlier: Self) -> i64 {
        let units = self.0.wrapping_sub(earlier.0) as i64;
        ((units as i128 * 1_000_000_000) >> 32) as i64
    }
}

/// Which time stamp the driver's origin has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NtpClock {
    origin: Ntp,
}

impl NtpClock {
    /// A clock whose origin has the stamp `origin`.
    pub const fn new(origin: Ntp) -> Self {
        Self { origin }
    }

    /// The stamp of `at`, rounded up, so that [`NtpClock::instant`] gives `at` back for up to 68 years.
    pub const fn stamp(&self, at: Instant) -> Ntp {
        let units = ((at.as_nanos() as u128) << 32).div_ceil(1_000_000_000);
        Ntp(self.origin.0.wrapping_add(units as u64))
    }

    /// The time of `stamp`; the origin where it lies before that.
    pub const fn instant(&self, stamp: Ntp) -> Instant {
        let ns = stamp.since_ns(self.origin);
        Instant::from_nanos(if ns < 0 { 0 } else { ns as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_nanosecond_survives(origin: u64, ns in 0u64..2_000_000_000_000_000_000) {
            let clock = NtpClock::new(Ntp(origin));
            let at = Instant::from_nanos(ns);
            prop_assert_eq!(clock.instant(clock.stamp(at)), at);
        }
    }

    #[test]
    fn differences_cross_the_end_of_the_era() {
        let (before, after) = (Ntp(u64::MAX - (1 << 31) + 1), Ntp(1 << 31));
        assert_eq!(after.since_ns(before), 1_000_000_000);
        assert_eq!(before.since_ns(after), -1_000_000_000);
        assert_eq!(NtpClock::new(after).instant(before), Instant::ZERO);
    }
}
