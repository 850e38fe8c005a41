//! Sequence numbers that wrap at 2^32 (RFC 9293, 3.4).

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A 32-bit sequence number with wrapping order.
///
/// `a.lt(b)` holds where `b` lies less than 2^31 ahead of `a`; there is no total order, hence no `Ord`. At 2^31 exactly each is
/// before the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqNum(pub u32);

impl SeqNum {
    /// Strictly before `other`.
    #[inline]
    pub const fn lt(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Before or equal to `other`.
    #[inline]
    pub const fn le(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) <= 0
    }

    /// Strictly after `other`.
    #[inline]
    pub const fn gt(self, other: Self) -> bool {
        other.lt(self)
    }

    /// After or equal to `other`.
    #[inline]
    pub const fn ge(self, other: Self) -> bool {
        other.le(self)
    }

    /// The later of the two.
    #[inline]
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if self.lt(other) { other } else { self }
    }
}

impl Add<u32> for SeqNum {
    type Output = Self;
    #[inline]
    fn add(self, n: u32) -> Self {
        Self(self.0.wrapping_add(n))
    }
}

impl AddAssign<u32> for SeqNum {
    #[inline]
    fn add_assign(&mut self, n: u32) {
        self.0 = self.0.wrapping_add(n);
    }
}

impl Sub for SeqNum {
    type Output = u32;
    /// The distance from `other` forward to `self`, modulo 2^32.
    #[inline]
    fn sub(self, other: Self) -> u32 {
        self.0.wrapping_sub(other.0)
    }
}

impl fmt::Display for SeqNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Half of the circle: two numbers that are less than that apart have an order.
    const HALF: u64 = 1 << 31;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// RFC 9293, 3.4, of any two bytes of a stream; the corners of the circle are looked at one by one below.
        #[test]
        fn any_two_bytes_less_than_half_a_circle_apart_keep_order_sum_and_distance(x in 0..1_u64 << 48, apart in 0..HALF) {
            let (a, b) = (SeqNum(x as u32), SeqNum((x + apart) as u32));
            prop_assert_eq!(u64::from(b - a), apart);
            prop_assert_eq!(a + apart as u32, b);
            let mut moved = a;
            moved += apart as u32;
            prop_assert_eq!(moved, b);
            prop_assert_eq!((a.lt(b), b.gt(a)), (apart > 0, apart > 0));
            prop_assert!(a.le(b) && b.ge(a) && !b.lt(a) && !a.gt(b));
            prop_assert_eq!((a.max(b), b.max(a)), (b, b));
        }

        /// Three bytes of one half have one order.
        #[test]
        fn order_is_transitive_within_half_a_circle(x: u32, one in 1..HALF / 2, two in 1..HALF / 2) {
            let a = SeqNum(x);
            let b = a + one as u32;
            let c = b + two as u32;
            prop_assert!(a.lt(b) && b.lt(c) && a.lt(c));
        }
    }

    #[test]
    fn order_wraps() {
        let a = SeqNum(u32::MAX - 1);
        let b = a + 5;
        assert!(a.lt(b) && b.gt(a) && a.le(a) && a.ge(a));
        assert_eq!(b - a, 5);
        assert_eq!(a.max(b), b);
    }

    /// Bytes of a stream count on beyond 2^32; their numbers have the order, sums and distances of the bytes wherever these lie less
    /// than 2^31 apart (RFC 9293, 3.4). All pairs of bytes about each corner of the circle, in each of three laps.
    #[test]
    fn numbers_have_the_order_of_the_bytes_that_they_name() {
        let corners = [0, 1 << 30, 1 << 31, 3 << 30, 1_u64 << 32];
        let bytes: Vec<u64> = (0..3_u64)
            .flat_map(|lap| corners.map(|c| (lap << 32) + c))
            .flat_map(|at| {
                [
                    at.saturating_sub(2),
                    at.saturating_sub(1),
                    at,
                    at + 1,
                    at + 2,
                ]
            })
            .collect();
        let number = |byte: u64| SeqNum(byte as u32);
        for &x in &bytes {
            for &y in &bytes {
                if x.abs_diff(y) >= 1 << 31 {
                    continue;
                }
                let (a, b) = (number(x), number(y));
                assert_eq!(a.lt(b), x < y, "{x} {y}");
                assert_eq!(a.le(b), x <= y, "{x} {y}");
                assert_eq!(a.gt(b), x > y, "{x} {y}");
                assert_eq!(a.ge(b), x >= y, "{x} {y}");
                assert_eq!(a.max(b), number(x.max(y)), "{x} {y}");
                if y <= x {
                    assert_eq!(u64::from(a - b), x - y, "{x} {y}");
                    assert_eq!(b + (a - b), a, "{x} {y}");
                }
            }
        }
    }
}
