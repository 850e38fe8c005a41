//! The forecast, in place of what is learned while the flow runs: a network that was trained beforehand corrects the mixture, and shows how
//! uncertain the next round is.
//!
//! What a network knows may not hold where it is used. So the errors of the mixture and of the corrected forecast are compared, and the
//! correction counts as far as it is the better one.

use std::collections::VecDeque;
use std::sync::Arc;

use slackwater_core::Duration;

use super::bins::{Bins, Blocks, Offered};
use super::forecast::{Each, Forecast};
use super::learn::part;
use super::network::{INPUTS, Network};
use super::order::{greater, lesser};

/// Time over which errors are averaged, seconds: as in the mixture.
const MEMORY: f64 = 2.0;
/// Corrections that wait for their outcome, at most.
const PENDING: usize = 256;
/// A corrected forecast lies within these parts of the mixture.
const WITHIN: [f64; 2] = [0.25, 3.0];
/// Logarithms that the network sees lie within this, either way.
const MOST: f64 = 3.0;
/// A round of which the logarithm is zero, seconds.
const ROUND: f64 = 0.040;
/// An error in parts of the mixture that changes nothing: without it a steady rate has no logarithm.
const CERTAIN: f64 = 0.01;

/// What a forecast knows when it is corrected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    /// What was offered with the last sample.
    pub(super) now: Offered,
    /// The length of a round, seconds.
    pub(super) horizon: f64,
    /// The mixture, bytes/s.
    pub(super) mixture: f64,
    /// Its mean error, bytes/s.
    pub(super) error: f64,
    /// The means that it is made of, bytes/s.
    pub(super) means: Each,
}

/// The next round, bytes/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outlook {
    /// The rate.
    pub(super) rate: f64,
    /// How uncertain it is.
    pub(super) error: f64,
}

/// What the network sees: where there is no mixture, nothing.
fn inputs(known: &Situation, blocks: &Blocks) -> Option<[f32; INPUTS]> {
    if known.mixture <= 0.0 {
        return None;
    }
    let log = |x: f64| lesser(greater(libm::log(greater(x, 1e-9)), -MOST), MOST);
    let parts = blocks
        .iter()
        .chain(&known.means)
        .map(|r| log(r / known.mixture));
    let error = log(known.error / known.mixture + CERTAIN) + 2.0;
    let mut out = [0.0; INPUTS];
    for (out, value) in out
        .iter_mut()
        .zip(parts.chain([error, log(known.horizon / ROUND)]))
    {
        *out = value as f32;
    }
    Some(out)
}

/// A correction whose outcome is not known yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// What was offered until it was made.
    offered: Offered,
    /// The mixture and the corrected forecast, bytes/s.
    rates: [f64; 2],
}

/// A network and what it foretold of a flow.
#[derive(Clone, Debug)]
pub(super) struct Trained {
    network: Arc<Network>,
    /// What was offered of late.
    bins: Bins,
    /// What the last bin's outlook makes of the mixture: its rate and its error, in parts of it.
    factors: Option<[f64; 2]>,
    /// Corrections without outcome, the oldest first.
    pending: VecDeque<Pending>,
    /// Mean errors of the mixture and of the corrected one, bytes/s.
    losses: [f64; 2],
    /// Time over which they are known, seconds.
    judged: f64,
    /// Part of the correction that counts.
    part: f64,
}

impl Trained {
    /// Without samples.
    pub(super) fn new(network: Arc<Network>) -> Self {
        Self {
            network,
            bins: Bins::new(),
            factors: None,
            pending: VecDeque::new(),
            losses: [0.0; 2],
            judged: 0.0,
            part: 0.0,
        }
    }

    /// The same network for another path.
    pub(super) fn restarted(&self) -> Self {
        Self::new(Arc::clone(&self.network))
    }

    /// The outlook of what is `known`.
    pub(super) fn correct(&mut self, known: &Situation) -> Outlook {
        self.judge(known.now, known.horizon);
        if self.bins.add(known.now) {
            self.foretell(known);
        }
        let [rate, error] = self.factors.unwrap_or([1.0, 0.0]);
        let part = if self.factors.is_some() {
            self.part
        } else {
            0.0
        };
        Outlook {
            rate: known.mixture * (1.0 + part * (rate - 1.0)),
            error: (1.0 - part) * known.error + part * error * known.mixture,
        }
    }

    fn foretell(&mut self, known: &Situation) {
        let seen = self.bins.blocks().and_then(|b| inputs(known, &b));
        self.factors = seen.map(|x| {
            let [low, middle, high] = self.network.quantiles(&x).map(f64::from);
            let rate = lesser(greater(1.0 + middle, WITHIN[0]), WITHIN[1]);
            [rate, lesser(greater((high - low) / 2.0, 0.0), WITHIN[1])]
        });
        if let Some([rate, _]) = self.factors
            && self.pending.len() < PENDING
        {
            self.pending.push_back(Pending {
                offered: known.now,
                rates: [known.mixture, known.mixture * rate],
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
            let came = (now.bytes - past.offered.bytes) / span;
            for (loss, rate) in self.losses.iter_mut().zip(past.rates) {
                *loss += weight * ((rate - came).abs() - *loss);
            }
            self.part = part(self.losses);
        }
    }
}

/// What the radio had offered when a report came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Stamp of the counters, in steps of 0.125 ms.
    pub stamp: u32,
    /// Bytes that were offered until then.
    pub offered: u32,
    /// The least loop.
    pub round: Duration,
}

/// What a network is to learn of one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Example {
    /// What it sees.
    pub inputs: [f32; INPUTS],
    /// The mixture, bytes/s.
    pub mixture: f64,
    /// The rate of the round after it, bytes/s.
    pub came: f64,
}

/// Seconds of a stamp's step.
const STEP: f64 = 0.000_125;
/// Bins from an example to the next: those of one bin later share most of their round.
const APART: usize = 4;

/// The examples of a flow, from what it was offered.
pub fn examples(offers: &[Offer]) -> Vec<Example> {
    let mut forecast = Forecast::new(true, false);
    let mut bins = Bins::new();
    let mut now = Offered::default();
    let mut ended = 0;
    let mut seen = vec![];
    let mut sums = vec![now];
    for pair in offers.windows(2) {
        let steps = pair[1].stamp.wrapping_sub(pair[0].stamp);
        let bytes = f64::from(pair[1].offered.wrapping_sub(pair[0].offered));
        let span = Duration::from_micros(u64::from(steps) * 125);
        now.at += f64::from(steps) * STEP;
        now.bytes += bytes;
        sums.push(now);
        forecast.on_sample(span, bytes, pair[1].round);
        if bins.add(now) {
            ended += 1;
            let known = forecast.known(pair[1].round);
            let x = bins.blocks().and_then(|b| inputs(&known, &b));
            if let Some(x) = x.filter(|_| ended % APART == 0) {
                seen.push((now, known, x));
            }
        }
    }
    let until = |at: f64| {
        let next = sums.partition_point(|s| s.at <= at);
        let (after, before) = (sums.get(next)?, sums.get(next.checked_sub(1)?)?);
        let part = (at - before.at) / (after.at - before.at);
        Some(before.bytes + part * (after.bytes - before.bytes))
    };
    let example = |(now, known, inputs): (Offered, Situation, [f32; INPUTS])| {
        let bytes = until(now.at + known.horizon)? - now.bytes;
        Some(Example {
            inputs,
            mixture: known.mixture,
            came: bytes / known.horizon,
        })
    };
    seen.into_iter().map_while(example).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::network::tests::constant;
    use super::*;

    const EVERY: Duration = Duration::from_millis(5);
    const ROUND: Duration = Duration::from_millis(40);

    fn trained(quantiles: [f32; 3]) -> Forecast {
        let network = Network::from_safetensors(&constant(quantiles, &[])).expect("it is whole");
        Forecast::new(true, false).with_network(Arc::new(network))
    }

    #[test]
    fn a_network_that_is_right_counts_whole_and_one_that_is_wrong_does_not() {
        // The rate grows by an eighth each 40 ms, for 1 s, and begins again: the mixture lags.
        let rates: Vec<f64> = (0..4_000_u32)
            .map(|k| 1e6 * libm::pow(1.125, f64::from(k % 200) / 8.0))
            .collect();
        let errors = |mut forecast: Forecast| {
            let mut error = 0.0;
            for (k, rate) in rates.iter().enumerate() {
                forecast.on_sample(EVERY, rate * 0.005, ROUND);
                if let Some(round) = rates.get(k + 1..k + 9).filter(|_| k > 1_000) {
                    error += (forecast.rate() - round.iter().sum::<f64>() / 8.0).abs();
                }
            }
            error
        };
        let mixture = errors(Forecast::new(true, false));
        let right = errors(trained([0.0, 0.12, 0.2]));
        let wrong = errors(trained([-0.9, -0.8, -0.7]));
        assert!(right < 0.85 * mixture, "{right} {mixture}");
        assert!((wrong / mixture - 1.0).abs() < 0.03, "{wrong} {mixture}");
    }

    #[test]
    fn examples_are_what_a_sender_sees_and_what_then_came() {
        // Half of the time 1 MB/s and half of it 3 MB/s, in counters that wrap around.
        let mut offered = u32::MAX - 1_000_000;
        let offers: Vec<Offer> = (0..2_000_u32)
            .map(|k| {
                let rate = if k / 100 % 2 == 0 {
                    1_000_000
                } else {
                    3_000_000
                };
                offered = offered.wrapping_add(rate / 200);
                Offer {
                    stamp: (u32::MAX - 100).wrapping_add(40 * k),
                    offered,
                    round: ROUND,
                }
            })
            .collect();
        let found = examples(&offers);
        assert!(found.len() > 450, "{}", found.len());
        let steady = |e: &&Example| (e.mixture / e.came - 1.0).abs() < 1e-3;
        let share = found.iter().filter(steady).count() as f64 / found.len() as f64;
        assert!((0.3..0.95).contains(&share), "{share}");
        assert!(found.iter().all(|e| (0.99e6..3.01e6).contains(&e.came)));
        // A rise in the newest block.
        assert!(found.iter().any(|e| e.inputs[0] > 0.1 && e.inputs[5] < 0.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn of_any_offers_and_outputs_the_outlook_is_finite_and_within_its_bounds(
            quantiles in prop::array::uniform3(-1e30..1e30_f32),
            samples in prop::collection::vec((1_u64..400, 0.0..2e9_f64, 0_u32..4), 1..600)
        ) {
            let (mut plain, mut corrected) = (Forecast::new(true, false), trained(quantiles));
            for (span, bytes, kind) in samples {
                let bytes = if kind == 0 { 0.0 } else { bytes };
                let span = Duration::from_micros(span * 125);
                plain.on_sample(span, bytes, ROUND);
                corrected.on_sample(span, bytes, ROUND);
                let (mixture, rate) = (plain.rate(), corrected.rate());
                prop_assert!(rate.is_finite() && corrected.error().is_finite());
                prop_assert!(corrected.error() >= 0.0);
                prop_assert!(rate >= WITHIN[0] * mixture * (1.0 - 1e-9));
                prop_assert!(rate <= WITHIN[1] * mixture * (1.0 + 1e-9));
            }
        }
    }
}
