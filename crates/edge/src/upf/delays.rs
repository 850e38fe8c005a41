//! How long something took, counted by size.

use slackwater_core::Duration;

/// Delays by size: so many up to each of [`Delays::BOUNDS`], and those beyond the last. One more costs an increment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    counts: [u64; Self::BOUNDS.len() + 1],
    /// In nanoseconds. Wide, since a busy function adds years of delay in a week.
    sum: u128,
}

impl Delays {
    /// Upper ends, in steps of 1, 2 and 5: from a tenth of a slot, 0.1 ms, to 10 s, the longest that a path RTT is kept here.
    pub const BOUNDS: [Duration; 16] = [
        Duration::from_micros(100),
        Duration::from_micros(200),
        Duration::from_micros(500),
        Duration::from_millis(1),
        Duration::from_millis(2),
        Duration::from_millis(5),
        Duration::from_millis(10),
        Duration::from_millis(20),
        Duration::from_millis(50),
        Duration::from_millis(100),
        Duration::from_millis(200),
        Duration::from_millis(500),
        Duration::from_secs(1),
        Duration::from_secs(2),
        Duration::from_secs(5),
        Duration::from_secs(10),
    ];

    /// One more.
    pub fn add(&mut self, delay: Duration) {
        let at = Self::BOUNDS.partition_point(|bound| *bound < delay);
        self.counts[at] += 1;
        self.sum += u128::from(delay.as_nanos());
    }

    /// Each upper end and how many lie between it and the one before; `None` is without end.
    pub fn each(&self) -> impl Iterator<Item = (Option<Duration>, u64)> {
        let bounds = Self::BOUNDS.into_iter().map(Some);
        bounds.chain(core::iter::once(None)).zip(self.counts)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All together, in seconds.
    pub fn sum_s(&self) -> f64 {
        self.sum as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_counted_up_to_its_bound_and_not_beyond() {
        let mut delays = Delays::default();
        assert!(Delays::BOUNDS.is_sorted());
        for bound in Delays::BOUNDS {
            delays.add(bound);
        }
        assert!(delays.each().take(16).all(|(_, n)| n == 1));
        delays.add(Duration::ZERO);
        delays.add(Duration::from_nanos(100_001));
        delays.add(Duration::from_secs(11));
        let found: Vec<u64> = delays.each().map(|(_, n)| n).collect();
        assert_eq!((found[0], found[1], found[2]), (2, 2, 1));
        assert_eq!(delays.each().last(), Some((None, 1)));
        assert_eq!(delays.count(), 19);
        let sum: f64 = Delays::BOUNDS.iter().map(|b| b.as_secs_f64()).sum();
        assert!((delays.sum_s() - sum - 11.000_100_001).abs() < 1e-9);
    }
}
