//! A histogram of durations with buckets that grow with the value: small, exact in its mean, and off by less than
//! 0.4 % in its quantiles.

use slackwater_core::Duration;

/// Values up to 2^7 units have a bucket each; above, each power of two is split into 2^7 buckets.
const SUB_BITS: u32 = 7;
/// One unit is 2^7 ns: delays below 16 us are exact to 128 ns.
const UNIT_BITS: u32 = 7;

/// Counts of durations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// Grows to the highest bucket that was hit.
    counts: Vec<u32>,
    count: u64,
    sum: u128,
    /// [`Duration::MAX`] before the first.
    min: Duration,
    max: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: Vec::new(),
            count: 0,
            sum: 0,
            min: Duration::MAX,
            max: Duration::ZERO,
        }
    }
}

fn bucket(value: Duration) -> usize {
    let units = value.as_nanos() >> UNIT_BITS;
    let bits = u64::BITS - units.leading_zeros();
    if bits <= SUB_BITS {
        return units as usize;
    }
    let shift = bits - 1 - SUB_BITS;
    // The leading bit is implied by the block; the next SUB_BITS bits pick the bucket in it.
    let block = (shift as usize + 1) << SUB_BITS;
    block + ((units >> shift) as usize & ((1 << SUB_BITS) - 1))
}

/// The middle of bucket `index`.
fn middle(index: usize) -> Duration {
    let block = index >> SUB_BITS;
    let within = (index & ((1 << SUB_BITS) - 1)) as u64;
    let (low, width) = if block == 0 {
        (within, 1)
    } else {
        let shift = block as u32 - 1;
        ((within | 1 << SUB_BITS) << shift, 1u64 << shift)
    };
    Duration::from_nanos((low << UNIT_BITS) + ((width << UNIT_BITS) >> 1))
}

impl Histogram {
    /// Counts `value`.
    #[inline]
    pub fn add(&mut self, value: Duration) {
        let at = bucket(value);
        match self.counts.get_mut(at) {
            Some(n) => *n = n.saturating_add(1),
            None => self.grow(at),
        }
        self.count += 1;
        self.sum += u128::from(value.as_nanos());
        self.max = self.max.max(value);
        self.min = self.min.min(value);
    }

    /// Counts one in bucket `at`, which is beyond those there are.
    #[cold]
    fn grow(&mut self, at: usize) {
        self.counts.resize(at, 0);
        self.counts.push(1);
    }

    /// How many values were counted.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The mean, exactly.
    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0)
            .then(|| Duration::from_nanos((self.sum / u128::from(self.count.max(1))) as u64))
    }

    /// The least value, exactly.
    pub fn min(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.min)
    }

    /// The greatest value, exactly.
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.max)
    }

    /// The nearest-rank quantile: the bucket of the smallest value that at least `q` of all values do not exceed.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let rank = super::rank(self.count, q)?;
        if rank == 1 {
            return self.min();
        }
        if rank == self.count {
            return self.max();
        }
        let mut seen = 0;
        for (i, n) in self.counts.iter().enumerate() {
            seen += u64::from(*n);
            if seen >= rank {
                return Some(middle(i).max(self.min).min(self.max));
            }
        }
        Some(self.max)
    }

    /// The share of values above `limit`, to the width of a bucket.
    pub fn share_above(&self, limit: Duration) -> f64 {
        let from = bucket(limit) + 1;
        let above = self
            .counts
            .iter()
            .skip(from)
            .map(|n| u64::from(*n))
            .sum::<u64>();
        above as f64 / self.count.max(1) as f64
    }

    /// The distribution as (value, share of values up to it), one point for each bucket that was hit.
    pub fn cdf(&self) -> Vec<(Duration, f64)> {
        let mut seen = 0;
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
            .map(|(i, n)| {
                seen += u64::from(*n);
                let x = middle(i).max(self.min).min(self.max);
                (x, seen as f64 / self.count as f64)
            })
            .collect()
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (a, b) in self.counts.iter_mut().zip(&other.counts) {
            *a = a.saturating_add(*b);
        }
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        self.min = self.min.min(other.min);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_hold_their_middle() {
        let mut last = 0;
        for shift in 0..50 {
            for k in [0u64, 1, 37, 99] {
                let v = Duration::from_nanos((1u64 << shift) + k * (1u64 << shift) / 100);
                let b = bucket(v);
                assert!(b >= last, "{v}");
                assert_eq!(bucket(middle(b)), b);
                let off = middle(b).as_nanos().abs_diff(v.as_nanos()) as f64;
                assert!(off <= 64.0 + 0.004 * v.as_nanos() as f64, "{v}: {off}");
                last = b;
            }
        }
    }

    #[test]
    fn quantiles_follow_the_nearest_rank() {
        let mut h = Histogram::default();
        assert_eq!(h.quantile(0.5), None);
        for ms in 1..=100 {
            h.add(Duration::from_millis(ms));
        }
        for (q, ms) in [(0.5, 50.0), (0.95, 95.0), (0.99, 99.0)] {
            let got = h.quantile(q).expect("counted").as_millis_f64();
            assert!((got - ms).abs() < 0.004 * ms, "{q}: {got}");
        }
        assert_eq!(h.quantile(0.0), Some(Duration::from_millis(1)));
        assert_eq!(h.share_above(Duration::from_millis(80)), 0.2);
        assert_eq!(h.quantile(1.0), Some(Duration::from_millis(100)));
        assert_eq!(h.mean(), Some(Duration::from_micros(50_500)));
    }

    #[test]
    fn merging_is_counting_together() {
        let (mut a, mut b, mut both) = Default::default();
        for ns in 0..1000u64 {
            let v = Duration::from_nanos(ns * ns * 977);
            let h: &mut Histogram = if ns % 3 == 0 { &mut a } else { &mut b };
            h.add(v);
            let all: &mut Histogram = &mut both;
            all.add(v);
        }
        a.merge(&b);
        assert_eq!(a, both);
    }
}
