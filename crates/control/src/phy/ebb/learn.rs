//! The forecast, its second half: what the latest samples show of the next round beyond their means. A linear correction is learned while
//! the flow runs, by recursive least squares (Plackett: "Some Theorems in Least Squares", Biometrika 37, 1950).
//!
//! A channel that fades is smooth: the last tens of milliseconds show where it goes, which no mean does. How far they do so differs
//! with the speed of the user and the carrier, so it is learned of each flow. Where nothing is to be learned, the mixture remains.

use std::collections::VecDeque;

use super::bins::{BLOCKS, Bins, Blocks, Offered};
use super::order::{greater, lesser};

/// What an outcome counts after the next one: some seconds remain.
const FORGETS: f64 = 0.998;
/// One outcome in so many teaches: those of two bins share most of their round.
const TEACHES: u32 = 4;
/// Greatest trace of the inverse: without it, what does not vary would let it grow for ever.
const TRACE: f64 = 1e3 * BLOCKS as f64;
/// Time over which errors are averaged, seconds: as in the mixture.
const MEMORY: f64 = 2.0;
/// How fast the weight of a forecast falls with its error beyond the better one's: as in the mixture.
const SHARPNESS: f64 = 6.0;
/// Corrections that wait for their outcome, at most.
const PENDING: usize = 256;
/// A corrected forecast lies within these parts of the mixture.
const WITHIN: [f64; 2] = [0.25, 3.0];

/// A correction whose outcome is not known yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// What was offered until it was made.
    offered: Offered,
    /// The mixture, bytes/s.
    mixture: f64,
    /// The correction of it, bytes/s.
    correction: f64,
    /// What it was made of, in parts of `scale`.
    blocks: Blocks,
    /// What rates were measured in, bytes/s.
    scale: f64,
}

/// Learns how to correct the mixture of the means.
#[derive(Clone, Debug)]
pub(super) struct Learner {
    /// What was offered of late.
    bins: Bins,
    /// What each block's excess over the mixture adds to the forecast.
    weights: Blocks,
    /// The inverse of the decayed sum of products of blocks.
    inverse: [Blocks; BLOCKS],
    /// What rates are measured in: a slow mean of the mixture, bytes/s.
    scale: f64,
    /// Corrections without outcome, the oldest first.
    pending: VecDeque<Pending>,
    /// The correction of the last bin, bytes/s.
    correction: f64,
    /// Outcomes so far.
    outcomes: u32,
    /// Mean errors of the mixture and of the corrected one, bytes/s.
    losses: [f64; 2],
    /// Time over which they are known, seconds.
    judged: f64,
    /// Part of the correction that counts.
    part: f64,
}

impl Learner {
    /// Knows nothing.
    pub(super) fn new() -> Self {
        let mut inverse = [[0.0; BLOCKS]; BLOCKS];
        for (k, row) in inverse.iter_mut().enumerate() {
            row[k] = 1.0;
        }
        Self {
            bins: Bins::new(),
            weights: [0.0; BLOCKS],
            inverse,
            scale: 0.0,
            pending: VecDeque::new(),
            correction: 0.0,
            outcomes: 0,
            losses: [0.0; 2],
            judged: 0.0,
            part: 0.0,
        }
    }

    /// Corrects `mixture`, the forecast of the next `horizon` seconds, bytes/s. `now` is what was offered with the last sample.
    pub(super) fn correct(&mut self, now: Offered, horizon: f64, mixture: f64) -> f64 {
        self.judge(now, horizon);
        let first = self.bins.is_empty();
        if self.bins.add(now) {
            if first {
                self.scale = mixture;
            }
            self.scale += (1.0 - FORGETS) * (mixture - self.scale);
            self.foretell(now, mixture);
        }
        let rate = mixture + self.part * self.correction;
        lesser(greater(rate, WITHIN[0] * mixture), WITHIN[1] * mixture)
    }

    /// Makes a correction of the blocks as they are.
    fn foretell(&mut self, now: Offered, mixture: f64) {
        if self.scale <= 0.0 {
            return;
        }
        let Some(means) = self.bins.blocks() else {
            return;
        };
        let blocks = means.map(|mean| (mean - mixture) / self.scale);
        self.correction = dot(&self.weights, &blocks) * self.scale;
        if self.pending.len() < PENDING {
            self.pending.push_back(Pending {
                offered: now,
                mixture,
                correction: self.correction,
                blocks,
                scale: self.scale,
            });
        }
    }

    /// Compares corrections whose round has passed with what came.
    fn judge(&mut self, now: Offered, horizon: f64) {
        while let Some(&past) = self.pending.front() {
            let span = now.at - past.offered.at;
            if span < horizon {
                return;
            }
            self.pending.pop_front();
            let next = self.pending.front().map_or(now.at, |next| next.offered.at);
            let step = next - past.offered.at;
            self.judged += step;
            let weight = lesser(greater(step / MEMORY, step / self.judged), 1.0);
            let came = (now.bytes - past.offered.bytes) / span - past.mixture;
            for (loss, said) in self.losses.iter_mut().zip([0.0, past.correction]) {
                *loss += weight * ((said - came).abs() - *loss);
            }
            self.outcomes = self.outcomes.wrapping_add(1);
            if self.outcomes.is_multiple_of(TEACHES) {
                self.part = part(self.losses);
                self.learn(&past.blocks, came / past.scale);
            }
        }
    }

    /// One step of recursive least squares: `blocks` were followed by `came` beyond the mixture.
    fn learn(&mut self, blocks: &Blocks, came: f64) {
        let gain = self.inverse.map(|row| dot(&row, blocks));
        let by = 1.0 / (FORGETS + dot(&gain, blocks));
        let error = (came - dot(&self.weights, blocks)) * by;
        for (weight, gain) in self.weights.iter_mut().zip(gain) {
            *weight += error * gain;
        }
        let mut trace = 0.0;
        for (k, row) in self.inverse.iter_mut().enumerate() {
            for (value, other) in row.iter_mut().zip(gain) {
                *value = (*value - gain[k] * other * by) / FORGETS;
            }
            trace += row[k];
        }
        if trace > TRACE {
            let by = TRACE / trace;
            for value in self.inverse.as_flattened_mut() {
                *value *= by;
            }
        }
        if !(trace > 0.0 && trace.is_finite() && self.weights.iter().all(|w| w.is_finite())) {
            // Rounding has made the inverse useless.
            let new = Self::new();
            (self.weights, self.inverse, self.correction) = (new.weights, new.inverse, 0.0);
        }
    }
}

/// The part of a correction that counts by the errors without it and with it.
pub(super) fn part(losses: [f64; 2]) -> f64 {
    let best = lesser(losses[0], losses[1]);
    if best <= 0.0 {
        // Nothing by which they differ, or a mixture that is always right.
        return 0.0;
    }
    let [without, with] = losses.map(|loss| libm::exp(-SHARPNESS * (loss / best - 1.0)));
    with / (without + with)
}

fn dot(a: &Blocks, b: &Blocks) -> f64 {
    let mut sum = 0.0;
    for (a, b) in a.iter().zip(b) {
        sum += a * b;
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use slackwater_core::Duration;

    use super::super::forecast::Forecast;
    use super::*;

    const ROUND: Duration = Duration::from_millis(40);

    /// What `learns` and what does not forecast of `rates`, bytes/s, one a report of `every`: mean errors over the last half, bytes/s.
    fn errors(every: Duration, rates: &[f64]) -> [f64; 2] {
        let seconds = every.as_secs_f64();
        let round = (ROUND.as_secs_f64() / seconds).ceil() as usize;
        [false, true].map(|learns| {
            let mut forecast = Forecast::new(true, learns);
            let mut error = 0.0;
            for (k, rate) in rates.iter().enumerate() {
                forecast.on_sample(every, rate * seconds, ROUND);
                let after = &rates[(k + 1).min(rates.len())..(k + 1 + round).min(rates.len())];
                if k >= rates.len() / 2 && !after.is_empty() {
                    let came = after.iter().sum::<f64>() / after.len() as f64;
                    error += (forecast.rate() - came).abs();
                }
            }
            error / (rates.len() / 2) as f64
        })
    }

    /// A rate that swings between 1 and 3 MB/s each 200 ms.
    fn swing(every: Duration, seconds: f64, scale: f64) -> Vec<f64> {
        let n = (seconds / every.as_secs_f64()) as u32;
        let at = |k: u32| f64::from(k) * every.as_secs_f64() / 0.2 * core::f64::consts::TAU;
        (0..n)
            .map(|k| scale * (2e6 + 1e6 * libm::sin(at(k))))
            .collect()
    }

    #[test]
    fn a_channel_that_swings_is_foretold_with_a_fraction_of_the_error() {
        for every in [1, 5, 10] {
            let every = Duration::from_millis(every);
            let [mixture, learned] = errors(every, &swing(every, 30.0, 1.0));
            assert!(learned < 0.3 * mixture, "{every:?}: {learned} {mixture}");
        }
    }

    #[test]
    fn noise_around_a_mean_teaches_nothing_and_costs_little() {
        let mut state = 1_u32;
        let noise: Vec<f64> = (0..12_000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                f64::from(state >> 8) / f64::from(1 << 24) * 2e6
            })
            .collect();
        let [mixture, learned] = errors(Duration::from_millis(5), &noise);
        assert!(learned < 1.03 * mixture, "{learned} {mixture}");
    }

    #[test]
    fn rates_a_thousand_times_as_high_are_foretold_alike() {
        let every = Duration::from_millis(5);
        let [_, slow] = errors(every, &swing(every, 10.0, 1.0));
        let [_, fast] = errors(every, &swing(every, 10.0, 1e3));
        assert!((fast / (1e3 * slow) - 1.0).abs() < 1e-6, "{fast} {slow}");
    }

    #[test]
    fn a_steady_rate_is_not_corrected() {
        let mut forecast = Forecast::new(true, true);
        for _ in 0..2_000 {
            forecast.on_sample(Duration::from_millis(5), 5_000.0, ROUND);
            assert!((forecast.rate() - 1e6).abs() < 1.0, "{}", forecast.rate());
        }
    }

    #[test]
    fn what_was_learned_of_one_channel_gives_way_to_another() {
        // 20 s of one swing, then of another one: the second half of the errors is of the latter alone.
        let every = Duration::from_millis(5);
        let mut rates = swing(every, 20.0, 1.0);
        rates.extend(swing(every, 20.0, 1.0).iter().step_by(2));
        rates.extend(swing(every, 20.0, 1.0).iter().step_by(2));
        let [mixture, learned] = errors(every, &rates);
        assert!(learned < 0.6 * mixture, "{learned} {mixture}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn of_any_offers_the_forecast_is_finite_and_within_its_bounds(
            samples in prop::collection::vec((1_u64..400, 0.0..2e9_f64, 0_u32..4), 1..800)
        ) {
            let [mut plain, mut learned] = [false, true].map(|learns| Forecast::new(true, learns));
            for (span, bytes, kind) in samples {
                let bytes = match kind {
                    0 => 0.0,
                    1 => bytes * 1e-6,
                    _ => bytes,
                };
                let span = Duration::from_micros(span * 125);
                plain.on_sample(span, bytes, ROUND);
                learned.on_sample(span, bytes, ROUND);
                let (mixture, rate) = (plain.rate(), learned.rate());
                prop_assert!(rate.is_finite() && rate >= 0.0);
                prop_assert!(rate >= WITHIN[0] * mixture * (1.0 - 1e-9));
                prop_assert!(rate <= WITHIN[1] * mixture * (1.0 + 1e-9));
            }
        }
    }
}
