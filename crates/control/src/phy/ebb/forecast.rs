//! How fast the radio will be over the next round: exponential means of several lengths, weighted by how well each of them
//! foretold the rounds before.

use std::collections::VecDeque;

use slackwater_core::Duration;

/// Lengths of the means, seconds.
const LENGTHS: [f64; 6] = [0.010, 0.025, 0.050, 0.100, 0.200, 0.500];
/// Time over which the errors of the means are averaged, seconds.
const MEMORY: f64 = 2.0;
/// How fast the weight of a mean falls with its error beyond the best one's.
const SHARPNESS: f64 = 6.0;
/// Forecasts that wait for their outcome, at most.
const PENDING: usize = 1024;

/// A forecast whose outcome is not known yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// When it was made, seconds.
    at: f64,
    /// Bytes offered until then.
    offered: f64,
    /// What each mean said, bytes/s.
    means: [f64; LENGTHS.len()],
    /// What was forecast.
    rate: f64,
}

/// What a sample of some span does to the means.
#[derive(Clone, Copy, Debug)]
struct Decay {
    /// The span.
    span: Duration,
    /// What is left of each mean after it.
    left: [f64; LENGTHS.len()],
    /// Part of the sample that has not decayed by then.
    new: [f64; LENGTHS.len()],
}

impl Decay {
    /// Nothing decays in no time.
    const NONE: Self = Self {
        span: Duration::ZERO,
        left: [1.0; LENGTHS.len()],
        new: [1.0; LENGTHS.len()],
    };

    fn over(span: Duration) -> Self {
        let left = LENGTHS.map(|length| libm::exp(-span.as_secs_f64() / length));
        // The part of the span that has decayed by now is spread evenly over it.
        let new = left.map(|left| {
            if left < 1.0 {
                (1.0 - left) / -libm::log(left)
            } else {
                1.0
            }
        });
        Self { span, left, new }
    }
}

/// A forecast of the rate at which the radio takes a flow's bytes.
#[derive(Clone, Debug)]
pub(super) struct Forecast {
    /// Time covered by samples, seconds.
    at: f64,
    /// Bytes of all samples.
    offered: f64,
    /// Decayed bytes and time of each mean.
    sums: [[f64; 2]; LENGTHS.len()],
    /// Mean error of each, bytes/s.
    losses: [f64; LENGTHS.len()],
    /// Mean error of the forecast, bytes/s.
    loss: f64,
    /// Time over which errors are known, seconds.
    judged: f64,
    /// Forecasts without outcome, the oldest first.
    pending: VecDeque<Pending>,
    /// What the span of the last sample does to each mean: spans repeat.
    decay: Decay,
    /// The forecast, bytes/s.
    rate: f64,
    /// It is a mixture, and not one mean.
    mixes: bool,
}

impl Forecast {
    /// Without samples: nothing. Where `mixes` is false the forecast is the mean of 50 ms.
    pub(super) const fn new(mixes: bool) -> Self {
        Self {
            mixes,
            at: 0.0,
            offered: 0.0,
            sums: [[0.0; 2]; LENGTHS.len()],
            losses: [0.0; LENGTHS.len()],
            loss: 0.0,
            judged: 0.0,
            pending: VecDeque::new(),
            decay: Decay::NONE,
            rate: 0.0,
        }
    }

    /// The radio offered `bytes` over `span`; the next `horizon` is to be foretold.
    pub(super) fn on_sample(&mut self, span: Duration, bytes: f64, horizon: Duration) {
        let seconds = span.as_secs_f64();
        if self.decay.span != span {
            self.decay = Decay::over(span);
        }
        self.at += seconds;
        self.offered += bytes;
        let Decay { left, new, .. } = self.decay;
        for ((sum, left), new) in self.sums.iter_mut().zip(left).zip(new) {
            sum[0] = sum[0] * left + bytes * new;
            sum[1] = sum[1] * left + seconds * new;
        }
        self.judge(horizon.as_secs_f64());

        let means = self.sums.map(|[bytes, time]| bytes / time.max(1e-9));
        self.rate = self.mix(&means);
        if self.pending.len() < PENDING {
            self.pending.push_back(Pending {
                at: self.at,
                offered: self.offered,
                means,
                rate: self.rate,
            });
        }
    }

    /// Compares forecasts whose round has passed with what came.
    fn judge(&mut self, horizon: f64) {
        while let Some(past) = self.pending.front().copied() {
            let span = self.at - past.at;
            if span < horizon.max(1e-3) {
                return;
            }
            self.pending.pop_front();
            let next = self.pending.front().map_or(self.at, |p| p.at);
            let step = next - past.at;
            self.judged += step;
            let weight = (step / MEMORY)
                .min(1.0)
                .max(step / self.judged.max(1e-9))
                .min(1.0);
            let came = (self.offered - past.offered) / span;
            for (loss, mean) in self.losses.iter_mut().zip(past.means) {
                *loss += weight * ((mean - came).abs() - *loss);
            }
            self.loss += weight * ((past.rate - came).abs() - self.loss);
        }
    }

    /// The means, weighted by their errors.
    fn mix(&self, means: &[f64; LENGTHS.len()]) -> f64 {
        let best = self.losses.iter().copied().fold(f64::INFINITY, f64::min);
        if best <= 0.0 || !self.mixes {
            // Nothing by which they differ: that of 50 ms.
            return means[2];
        }
        let (mut sum, mut total) = (0.0, 0.0);
        for (mean, loss) in means.iter().zip(self.losses) {
            let weight = libm::exp(-SHARPNESS * (loss / best - 1.0));
            sum += weight * mean;
            total += weight;
        }
        sum / total
    }

    /// The forecast, bytes/s.
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    /// Its mean absolute error, bytes/s.
    pub(super) const fn error(&self) -> f64 {
        self.loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_millis(5);
    const ROUND: Duration = Duration::from_millis(40);

    #[test]
    fn a_steady_rate_is_foretold_without_error_from_the_first_sample() {
        let mut forecast = Forecast::new(true);
        for _ in 0..200 {
            forecast.on_sample(EVERY, 5_000.0, ROUND);
            assert!((forecast.rate() - 1e6).abs() < 1.0, "{}", forecast.rate());
        }
        assert!(forecast.error() < 1.0);
    }

    #[test]
    fn the_length_that_fits_the_link_gets_the_weight() {
        // A rate that stays for 1 s wants a short mean, noise around a mean a long one.
        let mut steps = Forecast::new(true);
        for n in 0..2000_u32 {
            let rate = if n / 200 % 2 == 0 { 1e6 } else { 3e6 };
            steps.on_sample(EVERY, rate * 0.005, ROUND);
        }
        let short = steps.losses[0] < steps.losses[5];
        assert!(short, "{:?}", steps.losses);

        let mut noise = Forecast::new(true);
        let mut state = 1_u32;
        let mut error = 0.0;
        for n in 0..4000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let rate = f64::from(state >> 8) / f64::from(1 << 24) * 2e6;
            noise.on_sample(EVERY, rate * 0.005, ROUND);
            error += if n > 1000 {
                (noise.rate() - 1e6).abs() / 3000.0
            } else {
                0.0
            };
        }
        assert!(noise.losses[4] < noise.losses[0], "{:?}", noise.losses);
        assert!(error < 0.15e6, "{error}");
    }
}
