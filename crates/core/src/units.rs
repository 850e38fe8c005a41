//! Quantities as types: bytes, rates, resource blocks, with the operators that make sense between them.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use crate::time::Duration;

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A data rate in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// A number of physical resource blocks of one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prbs(pub u16);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The difference, stopping at zero.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Rate {
    /// Nothing moves.
    pub const ZERO: Self = Self(0);

    /// A rate of `bps` bit/s.
    #[inline]
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// A rate of `mbps` Mbit/s (10^6); negative and non-finite values give zero.
    #[inline]
    pub fn from_mbps(mbps: f64) -> Self {
        Self((mbps * 1e6 + 0.5) as u64)
    }

    /// The rate that moves `bytes` in `time`; zero where no time passed.
    #[inline]
    pub fn from_bytes_over(bytes: Bytes, time: Duration) -> Self {
        if time.is_zero() {
            return Self::ZERO;
        }
        Self((u128::from(bytes.0) * 8_000_000_000 / u128::from(time.as_nanos())) as u64)
    }

    /// bit/s.
    #[inline]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Mbit/s.
    #[inline]
    pub fn as_mbps(self) -> f64 {
        self.0 as f64 * 1e-6
    }

    /// Whole bytes that this rate moves in `time`.
    #[inline]
    pub fn bytes_in(self, time: Duration) -> Bytes {
        Bytes((u128::from(self.0) * u128::from(time.as_nanos()) / 8_000_000_000) as u64)
    }

    /// The time that `bytes` take at this rate, rounded up; [`Duration::MAX`] at rate zero.
    #[inline]
    pub fn time_for(self, bytes: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let bits = u128::from(bytes.0) * 8_000_000_000;
        let ns = bits.div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// The rate times a non-negative factor.
    #[inline]
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor) as u64)
    }
}

macro_rules! additive {
    ($name:ident, $inner:ty) => {
        impl Add for $name {
            type Output = Self;
            #[inline]
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl AddAssign for $name {
            #[inline]
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl Sub for $name {
            type Output = Self;
            #[inline]
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl SubAssign for $name {
            #[inline]
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
        impl Mul<$inner> for $name {
            type Output = Self;
            #[inline]
            fn mul(self, k: $inner) -> Self {
                Self(self.0 * k)
            }
        }
        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self(0), |a, b| a + b)
            }
        }
    };
}
additive!(Bytes, u64);
additive!(Rate, u64);
additive!(Prbs, u16);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n >= 1_000_000 => write!(f, "{} Mbit/s", n as f64 / 1e6),
            n if n >= 1_000 => write!(f, "{} kbit/s", n as f64 / 1e3),
            n => write!(f, "{n} bit/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_time_and_bytes_agree() {
        let rate = Rate::from_mbps(12.0);
        assert_eq!(rate.time_for(Bytes(1500)), Duration::from_millis(1));
        assert_eq!(rate.bytes_in(Duration::from_millis(1)), Bytes(1500));
        assert_eq!(
            Rate::from_bytes_over(Bytes(1500), Duration::from_millis(1)),
            rate
        );
        assert_eq!(Rate::ZERO.time_for(Bytes(1)), Duration::MAX);
        assert_eq!(Rate::from_bytes_over(Bytes(1), Duration::ZERO), Rate::ZERO);
    }

    #[test]
    fn time_for_rounds_up_so_that_a_link_never_runs_fast() {
        let rate = Rate::from_bps(3);
        let t = rate.time_for(Bytes(1));
        assert!(rate.bytes_in(t) >= Bytes(1));
    }
}
