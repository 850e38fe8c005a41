//! Virtual or wall-clock time as integer nanoseconds.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};

/// A point in time: nanoseconds since the driver's origin. 64 bits last 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A span of time in nanoseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// The driver's origin.
    pub const ZERO: Self = Self(0);
    /// Later than any event.
    pub const MAX: Self = Self(u64::MAX);

    /// A point `ns` nanoseconds after the origin.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// A point `ms` milliseconds after the origin.
    #[inline]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Nanoseconds since the origin.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// Time passed since `earlier`, or zero where `earlier` lies ahead.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// The sum, stopping at [`Instant::MAX`].
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }

    /// The difference, stopping at the origin.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(d.0))
    }

    /// The first multiple of `period` at or after this point. A zero period returns the point itself.
    #[inline]
    #[must_use]
    pub const fn round_up(self, period: Duration) -> Self {
        if period.0 == 0 {
            self
        } else {
            Self(self.0.div_ceil(period.0) * period.0)
        }
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ns` nanoseconds.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// A span of `us` microseconds.
    #[inline]
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// A span of `ms` milliseconds.
    #[inline]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// A span of `s` seconds.
    #[inline]
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// A span of `s` seconds, rounded to nanoseconds; negative and non-finite values give zero.
    #[inline]
    pub fn from_secs_f64(s: f64) -> Self {
        // `as` saturates and maps NaN to zero.
        Self((s * 1e9 + 0.5) as u64)
    }

    /// Nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds.
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole milliseconds.
    #[inline]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Milliseconds with fraction.
    #[inline]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 * 1e-6
    }

    /// Seconds with fraction.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// True for the empty span.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The difference, stopping at zero.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The span times a non-negative factor.
    #[inline]
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor) as u64)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, d: Duration) -> Self {
        Self(self.0 + d.0)
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, d: Duration) {
        self.0 += d.0;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn sub(self, d: Duration) -> Self {
        Self(self.0 - d.0)
    }
}

impl Sub for Instant {
    type Output = Duration;
    /// Panics in debug builds where `earlier` lies ahead; use [`Instant::since`] where that can happen.
    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        Duration(self.0 - earlier.0)
    }
}

impl Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Duration {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    #[inline]
    fn mul(self, k: u64) -> Self {
        Self(self.0 * k)
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    #[inline]
    fn div(self, k: u64) -> Self {
        Self(self.0 / k)
    }
}

impl Div for Duration {
    type Output = u64;
    /// How many whole `other` fit in.
    #[inline]
    fn div(self, other: Self) -> u64 {
        self.0 / other.0
    }
}

impl Rem for Duration {
    type Output = Self;
    #[inline]
    fn rem(self, other: Self) -> Self {
        Self(self.0 % other.0)
    }
}

fn human(ns: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match ns {
        0 => write!(f, "0 s"),
        n if n % 1_000_000_000 == 0 => write!(f, "{} s", n / 1_000_000_000),
        n if n < 1_000 => write!(f, "{n} ns"),
        n if n < 1_000_000 => write!(f, "{} us", n as f64 / 1e3),
        n if n < 1_000_000_000 => write!(f, "{} ms", n as f64 / 1e6),
        n => write!(f, "{} s", n as f64 / 1e9),
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        human(self.0, f)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        human(self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_up_to_a_slot_boundary() {
        let slot = Duration::from_millis(1);
        assert_eq!(
            Instant::from_nanos(1).round_up(slot),
            Instant::from_millis(1)
        );
        assert_eq!(
            Instant::from_millis(3).round_up(slot),
            Instant::from_millis(3)
        );
        assert_eq!(
            Instant::from_nanos(7).round_up(Duration::ZERO),
            Instant::from_nanos(7)
        );
    }

    #[test]
    fn seconds_round_and_saturate() {
        assert_eq!(
            Duration::from_secs_f64(0.0301),
            Duration::from_micros(30_100)
        );
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
        assert_eq!(Instant::ZERO.since(Instant::from_millis(1)), Duration::ZERO);
    }

    #[test]
    fn prints_the_unit_that_fits() {
        assert_eq!(Duration::from_micros(1_500).to_string(), "1.5 ms");
        assert_eq!(Duration::from_secs(3).to_string(), "3 s");
        assert_eq!(Duration::ZERO.to_string(), "0 s");
    }
}
