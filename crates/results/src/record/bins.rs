//! Throughput and queue delay over time, in bins of one width.
//!
//! The width is 100 ms wherever the bins of a run fit into memory. A run of a month has 26 million of that width for each flow, so
//! [`tenths`] makes them wider. A run whose end nobody knows begins with 100 ms, and [`join`] makes two or five bins one.

use slackwater_core::{Duration, Instant};

/// The narrowest width of the bins that throughput and windowed fairness are counted in.
pub const BIN: Duration = Duration::from_millis(100);
/// Bins of all flows together, 40 MiB of them. Ours.
pub(super) const MAX_BINS: u64 = 1 << 20;

/// Counts of one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Payload bytes that reached the receiver.
    pub delivered: u64,
    /// Of those, bytes whose one-way delay exceeded the limit.
    pub late: u64,
    /// Sum of the queue delays of the packets that left the bottleneck's queue.
    pub queue_sum: u64,
    /// The largest of them.
    pub queue_max: u64,
    /// How many left.
    pub dequeued: u32,
    /// Packets that were marked, anywhere.
    pub marked: u32,
}

impl Bin {
    /// The counts of both.
    fn with(self, other: &Self) -> Self {
        Self {
            delivered: self.delivered + other.delivered,
            late: self.late + other.late,
            queue_sum: self.queue_sum + other.queue_sum,
            queue_max: self.queue_max.max(other.queue_max),
            dequeued: self.dequeued.saturating_add(other.dequeued),
            marked: self.marked.saturating_add(other.marked),
        }
    }
}

/// How many bins `tenths` wide make one of the next width. Widths are 100 ms, 200 ms, 1 s, 2 s, 10 s and so on: a second has whole
/// bins, or a bin whole seconds.
pub(super) const fn factor(tenths: u64) -> usize {
    if tenths == 10_u64.pow(tenths.ilog10()) {
        2
    } else {
        5
    }
}

/// The width, in tenths of a second, at which flows that last until `stops` have no more than [`MAX_BINS`].
pub(super) fn tenths(stops: impl Iterator<Item = Instant>) -> u64 {
    let narrow: u64 = stops
        .map(|stop| stop.as_nanos().div_ceil(BIN.as_nanos()))
        .sum();
    let mut tenths = 1;
    while narrow / tenths > MAX_BINS {
        tenths *= factor(tenths) as u64;
    }
    tenths
}

/// Makes `factor` bins in a row one.
pub(super) fn join(bins: &mut Vec<Bin>, factor: usize) {
    let wide = bins.len().div_ceil(factor);
    for k in 0..wide {
        let end = ((k + 1) * factor).min(bins.len());
        bins[k] = bins[k * factor..end].iter().fold(Bin::default(), Bin::with);
    }
    bins.truncate(wide);
    // A flow that has ended fills no other.
    bins.shrink_to_fit();
}

/// The bin of `now`, of bins that are `tenths` wide.
#[inline]
pub(super) fn at(bins: &mut Vec<Bin>, now: Instant, tenths: u64) -> &mut Bin {
    let mut at = now.as_nanos() / BIN.as_nanos();
    // A division by a number that the compiler does not know takes longer than all the rest.
    if tenths > 1 {
        at /= tenths;
    }
    let at = at as usize;
    if at >= bins.len() {
        bins.resize(at + 1, Bin::default());
    }
    &mut bins[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_has_wider_bins_and_a_minute_has_not() {
        let days = |d: u64| Instant::from_millis(d * 86_400_000);
        assert_eq!(tenths([Instant::from_millis(60_000); 1000].into_iter()), 1);
        // 25,920,000 tenths of a second are 1,296,000 of two seconds, too many, and 259,200 of ten.
        assert_eq!(tenths([days(30)].into_iter()), 100);
        let widths: Vec<u64> = core::iter::successors(Some(1), |t| Some(t * factor(*t) as u64))
            .take(6)
            .collect();
        assert_eq!(widths, [1, 2, 10, 20, 100, 200]);
    }

    #[test]
    fn what_was_counted_is_counted_in_the_wider_bins() {
        // A packet of 1,000 bytes in each tenth of 0.7 s; the n-th waited n ms.
        let mut bins = Vec::new();
        for k in 0..7 {
            let bin = at(&mut bins, Instant::from_millis(100 * k + 50), 1);
            (bin.delivered, bin.dequeued) = (1000, 1);
            (bin.queue_sum, bin.queue_max) = (k, k);
        }
        join(&mut bins, 5);
        let seen = |b: &Bin| (b.delivered, b.dequeued, b.queue_sum, b.queue_max);
        let wide: Vec<_> = bins.iter().map(seen).collect();
        assert_eq!(wide, [(5000, 5, 10, 4), (2000, 2, 11, 6)]);
        // What follows falls into the bin of its time: 0.9 s is in the second of 0.5 s.
        at(&mut bins, Instant::from_millis(900), 5).delivered += 500;
        assert_eq!((bins.len(), bins[1].delivered), (2, 2500));
    }
}
