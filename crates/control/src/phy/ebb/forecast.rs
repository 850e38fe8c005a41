//! How fast the radio will be over the next round: exponential means of several lengths, weighted by how well each of them
//! foretold the rounds before.

use std::collections::VecDeque;
use std::sync::Arc;

use slackwater_core::Duration;

use super::bins::Offered;
use super::learn::Learner;
use super::network::Network;
use super::order::{greater, lesser};
use super::trained::{Situation, Trained};

/// Lengths of the means, seconds.
const LENGTHS: [f64; 6] = [0.010, 0.025, 0.050, 0.100, 0.200, 0.500];
/// Time over which the errors of the means are averaged, seconds.
const MEMORY: f64 = 2.0;
/// How fast the weight of a mean falls with its error beyond the best one's.
const SHARPNESS: f64 = 6.0;
/// Forecasts that wait for their outcome, at most.
const PENDING: usize = 1024;

/// A value for each mean.
pub(super) type Each = [f64; LENGTHS.len()];

/// A forecast whose outcome is not known yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// When it was made, seconds.
    at: f64,
    /// Bytes offered until then.
    offered: f64,
    /// What each mean said, bytes/s.
    means: Each,
    /// What was forecast.
    rate: f64,
}

/// What a sample of some span does to the means.
#[derive(Clone, Copy, Debug)]
struct Decay {
    /// The span.
    span: Duration,
    /// What is left of each mean after it.
    left: Each,
    /// Part of the sample that has not decayed by then.
    new: Each,
    /// The same part of the span, seconds.
    time: Each,
}

impl Decay {
    /// Nothing decays in no time.
    const NONE: Self = Self {
        span: Duration::ZERO,
        left: [1.0; LENGTHS.len()],
        new: [1.0; LENGTHS.len()],
        time: [0.0; LENGTHS.len()],
    };

    #[cold]
    fn over(span: Duration) -> Self {
        let seconds = span.as_secs_f64();
        let left = LENGTHS.map(|length| libm::exp(-seconds / length));
        // The part of the span that has decayed by now is spread evenly over it.
        let new = left.map(|left| {
            if left < 1.0 {
                (1.0 - left) / -libm::log(left)
            } else {
                1.0
            }
        });
        let time = new.map(|new| seconds * new);
        Self {
            span,
            left,
            new,
            time,
        }
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
    bytes: Each,
    time: Each,
    /// Mean error of each, bytes/s.
    losses: Each,
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
    /// Corrects it.
    correction: Correction,
}

/// What corrects the mixture.
#[derive(Clone, Debug)]
enum Correction {
    /// Nothing.
    None,
    /// What is learned while the flow runs.
    Learned(Box<Learner>),
    /// A network, and the uncertainty that it foretells, bytes/s.
    Trained(Box<Trained>, f64),
}

impl Forecast {
    /// Without samples: nothing. Where `mixes` is false the forecast is the mean of 50 ms. Where it `learns`, what came corrects it.
    pub(super) fn new(mixes: bool, learns: bool) -> Self {
        Self {
            mixes,
            correction: if learns {
                Correction::Learned(Box::new(Learner::new()))
            } else {
                Correction::None
            },
            at: 0.0,
            offered: 0.0,
            bytes: [0.0; LENGTHS.len()],
            time: [0.0; LENGTHS.len()],
            losses: [0.0; LENGTHS.len()],
            loss: 0.0,
            judged: 0.0,
            pending: VecDeque::new(),
            decay: Decay::NONE,
            rate: 0.0,
        }
    }

    /// The same, corrected by what `network` foretells.
    pub(super) fn with_network(self, network: Arc<Network>) -> Self {
        Self {
            correction: Correction::Trained(Box::new(Trained::new(network)), 0.0),
            ..self
        }
    }

    /// The same forecast for another path: it knows nothing of it.
    pub(super) fn restarted(&self) -> Self {
        let learns = matches!(self.correction, Correction::Learned(_));
        let mut new = Self::new(self.mixes, learns);
        if let Correction::Trained(trained, _) = &self.correction {
            new.correction = Correction::Trained(Box::new(trained.restarted()), 0.0);
        }
        new
    }

    /// The radio offered `bytes` over `span`; the next `horizon` is to be foretold.
    pub(super) fn on_sample(&mut self, span: Duration, bytes: f64, horizon: Duration) {
        if self.decay.span != span {
            self.decay = Decay::over(span);
        }
        self.at += span.as_secs_f64();
        self.offered += bytes;
        // One loop a sum, without a branch: compilers then take two values at once.
        for k in 0..LENGTHS.len() {
            self.bytes[k] = self.bytes[k] * self.decay.left[k] + bytes * self.decay.new[k];
        }
        for k in 0..LENGTHS.len() {
            self.time[k] = self.time[k] * self.decay.left[k] + self.decay.time[k];
        }
        let horizon = greater(horizon.as_secs_f64(), 1e-3);
        self.judge(horizon);

        let means = self.means();
        let mixture = self.mix(&means);
        let now = Offered {
            at: self.at,
            bytes: self.offered,
        };
        self.rate = mixture;
        match &mut self.correction {
            Correction::None => {}
            Correction::Learned(learner) => {
                self.rate = learner.correct(now, horizon, mixture);
            }
            Correction::Trained(trained, error) => {
                let outlook = trained.correct(&Situation {
                    now,
                    horizon,
                    mixture,
                    error: self.loss,
                    means,
                });
                self.rate = outlook.rate;
                *error = outlook.error;
            }
        }
        // Beside a network the loss stays that of the mixture, which the network sees.
        let rate = match self.correction {
            Correction::Trained(..) => mixture,
            _ => self.rate,
        };
        if self.pending.len() < PENDING {
            self.pending.push_back(Pending {
                at: self.at,
                offered: self.offered,
                means,
                rate,
            });
        }
    }

    /// The means, bytes/s.
    fn means(&self) -> Each {
        let mut means = [0.0; LENGTHS.len()];
        for (k, mean) in means.iter_mut().enumerate() {
            *mean = self.bytes[k] / greater(self.time[k], 1e-9);
        }
        means
    }

    /// What a correction is made of, for a round of `horizon`.
    pub(super) fn known(&self, horizon: Duration) -> Situation {
        let means = self.means();
        Situation {
            now: Offered {
                at: self.at,
                bytes: self.offered,
            },
            horizon: greater(horizon.as_secs_f64(), 1e-3),
            mixture: self.mix(&means),
            error: self.loss,
            means,
        }
    }

    /// Compares forecasts whose round of `horizon` seconds has passed with what came.
    fn judge(&mut self, horizon: f64) {
        while let Some(past) = self.pending.front() {
            let span = self.at - past.at;
            if span < horizon {
                return;
            }
            let next = self.pending.get(1).map_or(self.at, |p| p.at);
            let step = next - past.at;
            self.judged += step;
            let part = lesser(step / MEMORY, 1.0);
            let weight = lesser(greater(part, step / greater(self.judged, 1e-9)), 1.0);
            let came = (self.offered - past.offered) / span;
            for (loss, mean) in self.losses.iter_mut().zip(past.means) {
                *loss += weight * ((mean - came).abs() - *loss);
            }
            self.loss += weight * ((past.rate - came).abs() - self.loss);
            self.pending.pop_front();
        }
    }

    /// The means, weighted by their errors.
    fn mix(&self, means: &Each) -> f64 {
        // In three pairs, which do not wait for each other.
        let [a, b, c, d, e, f] = self.losses;
        let best = lesser(lesser(lesser(a, b), lesser(c, d)), lesser(e, f));
        if best <= 0.0 || !self.mixes {
            // Nothing by which they differ: that of 50 ms.
            return means[2];
        }
        let weights = self
            .losses
            .map(|loss| libm::exp(-SHARPNESS * (loss / best - 1.0)));
        let (mut sum, mut total) = (0.0, 0.0);
        for (mean, weight) in means.iter().zip(weights) {
            sum += weight * mean;
            total += weight;
        }
        sum / total
    }

    /// The forecast, bytes/s.
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    /// The rate of the next round is known to be `rate`, bytes/s.
    pub(super) const fn know(&mut self, rate: f64) {
        self.rate = rate;
        self.loss = 0.0;
    }

    /// Its mean absolute error, bytes/s; of a network, half of the distance between the quartiles that it foretells.
    pub(super) const fn error(&self) -> f64 {
        match self.correction {
            Correction::Trained(_, error) => error,
            _ => self.loss,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_millis(5);
    const ROUND: Duration = Duration::from_millis(40);

    #[test]
    fn a_steady_rate_is_foretold_without_error_from_the_first_sample() {
        let mut forecast = Forecast::new(true, false);
        for _ in 0..200 {
            forecast.on_sample(EVERY, 5_000.0, ROUND);
            assert!((forecast.rate() - 1e6).abs() < 1.0, "{}", forecast.rate());
        }
        assert!(forecast.error() < 1.0);
    }

    #[test]
    fn the_length_that_fits_the_link_gets_the_weight() {
        // A rate that stays for 1 s wants a short mean, noise around a mean a long one.
        let mut steps = Forecast::new(true, false);
        for n in 0..2000_u32 {
            let rate = if n / 200 % 2 == 0 { 1e6 } else { 3e6 };
            steps.on_sample(EVERY, rate * 0.005, ROUND);
        }
        let short = steps.losses[0] < steps.losses[5];
        assert!(short, "{:?}", steps.losses);

        let mut noise = Forecast::new(true, false);
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
