//! What was offered of late, in bins of 5 ms and in blocks of bins: what a correction of the forecast is made of.

/// Block `k` holds the bins from `EDGES[k]` to before `EDGES[k + 1]`, counted back from the newest.
const EDGES: [usize; BLOCKS + 1] = [0, 1, 3, 6, 11, 20, 36];
/// Blocks of bins.
pub(super) const BLOCKS: usize = 6;
/// Length of a bin, seconds.
const BIN: f64 = 0.005;
/// A sample that is a stamp's step shorter fills a bin as well: stamps count in 0.125 ms.
const FILLED: f64 = 0.9 * BIN;
/// Sums that are kept: a power of two above the oldest edge.
const KEPT: usize = 64;

/// A value for each block.
pub(super) type Blocks = [f64; BLOCKS];

/// What was offered until now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Offered {
    /// Time covered by samples, seconds.
    pub(super) at: f64,
    /// Bytes of all samples.
    pub(super) bytes: f64,
}

/// Sums of the rates of bins.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    /// What was offered when the last bin ended.
    ended: Offered,
    /// Bins so far.
    count: usize,
    /// Sum of their rates after each of the last ones, bytes/s.
    sums: [f64; KEPT],
}

impl Bins {
    /// Without samples.
    pub(super) const fn new() -> Self {
        Self {
            ended: Offered {
                at: 0.0,
                bytes: 0.0,
            },
            count: 0,
            sums: [0.0; KEPT],
        }
    }

    /// True until a bin has ended.
    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// `now` is what was offered with the last sample. True where a bin, or several, ended with it.
    pub(super) fn add(&mut self, now: Offered) -> bool {
        let span = now.at - self.ended.at;
        if span < FILLED {
            return false;
        }
        let rate = (now.bytes - self.ended.bytes) / span;
        self.ended = now;
        // As many bins as it lasts, so that a block is as long whatever the reports' interval.
        let bins = (span / BIN + 0.5) as usize;
        for _ in 0..bins.clamp(1, KEPT) {
            let sum = self.sums[self.count % KEPT];
            self.count += 1;
            self.sums[self.count % KEPT] = sum + rate;
        }
        true
    }

    /// The mean rate of each block, the newest first, bytes/s; `None` before the oldest one is full.
    pub(super) fn blocks(&self) -> Option<Blocks> {
        if self.count < EDGES[BLOCKS] {
            return None;
        }
        let mut sums = EDGES
            .map(|back| self.sums[(self.count - back) % KEPT])
            .into_iter();
        let mut newer = sums.next().unwrap_or_default();
        let mut blocks = [0.0; BLOCKS];
        for ((block, older), edges) in blocks.iter_mut().zip(sums).zip(EDGES.windows(2)) {
            *block = (newer - older) / (edges[1] - edges[0]) as f64;
            newer = older;
        }
        Some(blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_as_long_whatever_the_interval_of_samples() {
        for every in [0.001, 0.005, 0.010, 0.020] {
            let mut bins = Bins::new();
            let mut now = Offered::default();
            let samples = (1.0 / every) as u32;
            for k in 0..samples {
                // The last 180 ms have twice the rate: all blocks, and no more.
                let rate = if f64::from(samples - k) * every <= 0.1801 {
                    2e6
                } else {
                    1e6
                };
                now.at += every;
                now.bytes += rate * every;
                bins.add(now);
            }
            let blocks = bins.blocks().expect("a second is enough");
            for block in blocks {
                assert!((block - 2e6).abs() < 1.0, "{every}: {blocks:?}");
            }
        }
    }

    #[test]
    fn nothing_is_known_before_the_oldest_block_is_full() {
        let mut bins = Bins::new();
        let mut now = Offered::default();
        for k in 1..=36 {
            assert!(bins.blocks().is_none(), "{k}");
            now.at += BIN;
            now.bytes += 5_000.0;
            assert!(bins.add(now));
        }
        assert!(bins.blocks().is_some());
    }
}
