//! Proportional fair.
//!
//! The metric is rate over average rate (Kelly 1998; Jalali et al. 2000), with the average
//! `T <- (1 - 1/tc) T + (1/tc) bytes` of every slot. All averages decay by the same factor in a slot, and an argmax
//! does not see a common factor. So nothing decays here: what a UE is given is scaled up by `(1 - 1/tc)^-slot`, and
//! only the UE that was served changes. The scale is computed from the slot number alone, hence a cell that slept
//! has the same averages, bit for bit, as one that ran through.

use super::{BitSet, Built, Scheduler, Setup};

/// Slots after which the averages are brought back into range.
const EPOCH: u64 = 4096;
/// Shortest time constant in slots: the scale grows by at most `e^(4096/20)`, which an f64 holds.
const MIN_SLOTS: f64 = 20.0;
/// The average rate of a UE that was never served, as a share of one byte: it wins over any that was.
const NEVER: f64 = 1e-9;

pub(super) struct ProportionalFair {
    /// Weight of a slot in the average.
    alpha: f64,
    /// `g^0 .. g^63` and `g^0, g^64, ..`, with `g = 1 / (1 - alpha)`.
    low: [f64; 64],
    high: [f64; 64],
    /// What brings averages back into range at the end of an epoch.
    epoch_factor: f64,
    /// The epoch that the averages are scaled for.
    epoch: u64,
    /// Bytes that a whole slot would carry, by UE.
    rate: Vec<f64>,
    /// Scaled average of what it was given, by UE.
    average: Vec<f64>,
    /// Their ratio, by UE.
    metric: Vec<f64>,
    /// By word of candidates: who won in it the last time. Most words of a large cell are as they were.
    winners: Vec<Winner>,
}

/// The winner among 64 UEs.
#[derive(Clone, Copy, Default)]
struct Winner {
    /// The candidates; zero where a metric has changed since.
    word: u64,
    ue: usize,
    metric: f64,
}

impl Winner {
    /// The first of the greatest `metrics` among the candidates in `word`, of UEs from `first`.
    fn among(word: u64, first: usize, metrics: &[f64]) -> Self {
        let (mut best, mut most) = (0, -1.0);
        if word == u64::MAX >> (64 - metrics.len()) {
            // A full word, as in a loaded cell, needs no search for its bits.
            most = greatest(metrics);
            best = metrics.iter().position(|&m| m == most).unwrap_or(0);
        } else {
            let mut left = word;
            while left != 0 {
                let k = left.trailing_zeros() as usize;
                if metrics[k] > most {
                    (best, most) = (k, metrics[k]);
                }
                left &= left - 1;
            }
        }
        Self {
            word,
            ue: first + best,
            metric: most,
        }
    }
}

impl Built for ProportionalFair {
    const NAME: &'static str = "pf";
    const ABOUT: &'static str = "Proportional fair.";

    fn new(setup: &Setup) -> Self {
        let ues = setup.ues;
        let slots =
            (setup.window.as_nanos() as f64 / setup.slot.as_nanos().max(1) as f64).max(MIN_SLOTS);
        let alpha = 1.0 / slots;
        let g = 1.0 / (1.0 - alpha);
        let mut low = [1.0; 64];
        for i in 1..64 {
            low[i] = low[i - 1] * g;
        }
        let step = low[63] * g;
        let mut high = [1.0; 64];
        for i in 1..64 {
            high[i] = high[i - 1] * step;
        }
        Self {
            alpha,
            low,
            high,
            epoch_factor: 1.0 / (high[63] * step),
            epoch: 0,
            rate: vec![0.0; ues],
            average: vec![NEVER; ues],
            metric: vec![0.0; ues],
            winners: vec![Winner::default(); ues.div_ceil(64)],
        }
    }
}

impl ProportionalFair {
    fn scale(&self, slot: u64) -> f64 {
        self.low[(slot % 64) as usize] * self.high[(slot / 64 % 64) as usize]
    }

    fn roll(&mut self, epoch: u64) {
        // 30 epochs are 122,880 slots: whatever was given before weighs nothing.
        let steps = (epoch - self.epoch).min(30);
        for (average, (metric, rate)) in self
            .average
            .iter_mut()
            .zip(self.metric.iter_mut().zip(&self.rate))
        {
            for _ in 0..steps {
                *average *= self.epoch_factor;
            }
            *average = average.max(NEVER);
            *metric = rate / *average;
        }
        self.epoch = epoch;
        self.winners.fill(Winner::default());
    }
}

/// The greatest of `values`, several at a time.
#[inline]
fn greatest(values: &[f64]) -> f64 {
    let greater = |a: f64, b: f64| if b > a { b } else { a };
    let (rows, rest) = values.as_chunks::<8>();
    let mut most = [-1.0; 8];
    for row in rows {
        for (most, &value) in most.iter_mut().zip(row) {
            *most = greater(*most, value);
        }
    }
    let most = most.into_iter().fold(-1.0, greater);
    rest.iter().copied().fold(most, greater)
}

impl Scheduler for ProportionalFair {
    #[inline]
    fn begin(&mut self, slot: u64) {
        let epoch = slot / EPOCH;
        if epoch != self.epoch {
            self.roll(epoch);
        }
    }

    #[inline]
    fn pick(&mut self, candidates: &BitSet) -> usize {
        let (mut best, mut most) = (usize::MAX, -1.0);
        let metrics = self.metric.chunks(64);
        for (block, ((&word, metrics), winner)) in candidates
            .words()
            .iter()
            .zip(metrics)
            .zip(&mut self.winners)
            .enumerate()
        {
            if word == 0 {
                continue;
            }
            if winner.word != word {
                *winner = Winner::among(word, block * 64, metrics);
            }
            if winner.metric > most {
                (best, most) = (winner.ue, winner.metric);
            }
        }
        assert!(
            best != usize::MAX,
            "the cell calls this only where a UE is backlogged"
        );
        best
    }

    #[inline]
    fn served(&mut self, slot: u64, ue: usize, bytes: u32) {
        self.average[ue] += self.alpha * f64::from(bytes) * self.scale(slot);
        self.metric[ue] = self.rate[ue] / self.average[ue];
        self.winners[ue / 64].word = 0;
    }

    #[inline]
    fn rate_changed(&mut self, ue: usize, bytes_per_slot: u32) {
        self.rate[ue] = f64::from(bytes_per_slot);
        self.metric[ue] = self.rate[ue] / self.average[ue];
        self.winners[ue / 64].word = 0;
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Duration;

    use super::*;

    fn pf(ues: usize) -> ProportionalFair {
        let setup = Setup::new(ues, Duration::from_millis(1), Duration::from_millis(100));
        ProportionalFair::new(&setup)
    }

    #[test]
    fn air_time_is_shared_alike_whatever_the_rates() {
        let mut pf = pf(3);
        let mut set = BitSet::new(3);
        for (ue, rate) in [100, 1000, 4000].into_iter().enumerate() {
            set.insert(ue);
            pf.rate_changed(ue, rate);
        }
        let mut turns = [0; 3];
        for slot in 0..30_000 {
            pf.begin(slot);
            let ue = pf.pick(&set);
            turns[ue] += 1;
            let rate = [100, 1000, 4000][ue];
            pf.served(slot, ue, rate);
        }
        for n in turns {
            assert!((9_500..10_500).contains(&n), "{turns:?}");
        }
    }

    #[test]
    fn matches_the_textbook_average() {
        let mut pf = pf(2);
        let (mut plain, mut set) = ([1e-9_f64; 2], BitSet::new(2));
        for ue in 0..2 {
            set.insert(ue);
            pf.rate_changed(ue, 700 + 500 * ue as u32);
        }
        for slot in 0..20_000u64 {
            // UE 1 is away every other second.
            if slot / 1000 % 2 == 0 {
                set.insert(1);
            } else {
                set.remove(1);
            }
            pf.begin(slot);
            let ue = pf.pick(&set);
            let rates = [700.0, 1200.0];
            if set.contains(1) {
                let expect = usize::from(rates[1] / plain[1] > rates[0] / plain[0]);
                let near = (rates[1] / plain[1]) / (rates[0] / plain[0]);
                assert!(ue == expect || (near - 1.0).abs() < 1e-6, "slot {slot}");
            }
            pf.served(slot, ue, rates[ue] as u32);
            for (u, average) in plain.iter_mut().enumerate() {
                *average =
                    (*average * 0.99).max(1e-12) + if u == ue { rates[u] * 0.01 } else { 0.0 };
            }
        }
    }

    /// Words of candidates that are full, sparse or empty: the first of the greatest metrics wins in all of them.
    #[test]
    fn finds_the_greatest_metric_in_any_set() {
        let n = 200;
        let draw = slackwater_core::Draw::new(5);
        for round in 0..200 {
            let (mut pf, mut set) = (pf(n), BitSet::new(n));
            for ue in 0..n {
                let r = draw.fork(1, round).bits(ue as u64);
                pf.rate_changed(ue, 100 + (r % 50) as u32);
                let block = draw.fork(2, round).bits(ue as u64 / 64) % 3;
                if block == 0 || (block == 1 && (r >> 32).is_multiple_of(4)) || ue == n - 1 {
                    set.insert(ue);
                }
            }
            let mut expect = n - 1;
            for ue in set.iter().collect::<Vec<_>>().into_iter().rev() {
                if pf.metric[ue] >= pf.metric[expect] {
                    expect = ue;
                }
            }
            assert_eq!(pf.pick(&set), expect);
        }
    }

    /// What is kept from slot to slot gives the winners of a search from scratch, across epochs too.
    #[test]
    fn keeps_no_stale_winner() {
        let n = 150;
        let draw = slackwater_core::Draw::new(6);
        let (mut pf, mut set) = (pf(n), BitSet::new(n));
        for ue in 0..n {
            pf.rate_changed(ue, 100 + ue as u32);
            set.insert(ue);
        }
        for slot in 0..10_000u64 {
            let r = draw.bits(slot);
            let ue = (r % n as u64) as usize;
            if (r >> 20).trailing_zeros() >= 2 {
                set.remove(ue);
            } else {
                set.insert(ue);
            }
            if (r >> 24).is_multiple_of(5) {
                pf.rate_changed((r >> 32) as usize % n, 50 + (r >> 50) as u32 % 100);
            }
            set.insert(n - 1);
            pf.begin(slot);
            let best = |best: usize, ue: usize| {
                if pf.metric[ue] > pf.metric[best] {
                    ue
                } else {
                    best
                }
            };
            let first = set.next_from(0).expect("the last UE is always in it");
            let expect = set.iter().fold(first, best);
            assert_eq!(pf.pick(&set), expect, "slot {slot}");
            pf.served(slot, expect, 100 + (r >> 40) as u32 % 1000);
        }
    }
}
