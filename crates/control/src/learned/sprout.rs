//! Sprout: a cautious forecast of what the link will deliver (Winstein, Sivaraman, Balakrishnan: "Stochastic Forecasts
//! Achieve High Throughput and Low Delay over Cellular Networks", NSDI 2013). Constants as in the authors' code.
//!
//! The link's rate is a hidden Brownian motion; what arrives in a tick is Poisson. Each tick the belief about the rate is
//! evolved and updated, and a window follows from the count that the link exceeds with 95 % probability. The authors infer
//! at the receiver and send the forecast back; here the sender infers from ACKs, which carry the same arrivals one way
//! later. A tick in which the link was not busy shows a lower bound of the rate, where the authors let the sender
//! announce its pauses.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use slackwater_core::{Bytes, Duration, Instant};

use super::observe::Signals;
use super::seat::Look;
use super::steered::Steer;
use super::track::Source;
use crate::{Ack, PathView};

/// Time of a tick.
pub const TICK: Duration = Duration::from_millis(20);
const TICK_SECONDS: f64 = 0.020;
/// Rates that the belief tells apart.
const BINS: usize = 256;
/// The highest of them, packets per second.
const MAX_RATE: f64 = 1000.0;
/// The rate's Brownian motion, packets per second per square root of a second.
const SIGMA: f64 = 200.0;
/// An outage ends at this rate per second.
const ESCAPE: f64 = 1.0;
/// Ticks of a forecast.
const AHEAD: usize = 8;
/// Most arrivals of a tick.
const ARRIVALS: usize = 30;
/// Counts that a forecast tells apart.
const COUNTS: usize = ARRIVALS * AHEAD + 1;
/// A forecast is exceeded with one less this.
const QUANTILE: f64 = 0.05;
/// What is sent must have left the queue after so many ticks: 100 ms.
const TARGET: usize = 5;
/// Bytes of a packet of the model.
const PACKET: f64 = 1400.0;
/// A packet that took this much longer than the least RTT found the link busy, seconds.
const BUSY: f64 = 0.002;
/// A belief below this is lifted, so that no rate is ever ruled out.
const FLOOR: f64 = 1e-12;

/// What does not depend on the flow.
#[derive(Debug)]
struct Tables {
    /// Probability of a step of so many bins in one tick, by distance.
    kernel: Vec<f64>,
    /// Probability of `k` arrivals in a tick, by rate; the last takes the rest.
    poisson: Vec<[f64; ARRIVALS + 1]>,
    /// Probability of at most `c` arrivals in `h + 1` ticks, by rate now.
    counts: Vec<Vec<[f32; COUNTS]>>,
}

/// The rate of a bin, packets per second.
fn rate(bin: usize) -> f64 {
    (bin as f64) * MAX_RATE / (BINS - 1) as f64
}

impl Tables {
    fn new() -> Self {
        let kernel = kernel();
        let poisson: Vec<_> = (0..BINS).map(|b| poisson(rate(b) * TICK_SECONDS)).collect();
        // Backwards: from what `h` more ticks bring to what `h + 1` bring, for all rates at once.
        let mut counts: Vec<Vec<[f32; COUNTS]>> = Vec::with_capacity(AHEAD);
        let mut ahead = vec![[0.0_f64; COUNTS]; BINS];
        for row in &mut ahead {
            row[0] = 1.0;
        }
        let mut column = vec![0.0; BINS];
        for h in 0..AHEAD {
            let reach = ARRIVALS * h + 1;
            let arrived: Vec<[f64; COUNTS]> = ahead
                .iter()
                .zip(&poisson)
                .map(|(row, arrivals)| {
                    let mut out = [0.0; COUNTS];
                    for (c, &p) in row[..reach].iter().enumerate() {
                        for (k, &q) in arrivals.iter().enumerate() {
                            out[c + k] += p * q;
                        }
                    }
                    out
                })
                .collect();
            for c in 0..reach + ARRIVALS {
                for (x, row) in column.iter_mut().zip(&arrived) {
                    *x = row[c];
                }
                let moved = backward(&kernel, &column);
                for (row, x) in ahead.iter_mut().zip(moved) {
                    row[c] = x;
                }
            }
            let cumulated = ahead.iter().map(|row| {
                let mut sum = 0.0;
                row.map(|p| {
                    sum += p;
                    sum as f32
                })
            });
            counts.push(cumulated.collect());
        }
        Self {
            kernel,
            poisson,
            counts,
        }
    }

    /// The tables are the same for all.
    fn shared() -> Arc<Self> {
        static TABLES: OnceLock<Arc<Tables>> = OnceLock::new();
        TABLES.get_or_init(|| Arc::new(Self::new())).clone()
    }
}

/// Probabilities of a normal step of so many bins in a tick, cut at five deviations.
fn kernel() -> Vec<f64> {
    let bin = MAX_RATE / (BINS - 1) as f64;
    let deviation = SIGMA * libm::sqrt(TICK_SECONDS) / bin;
    let below = |x: f64| 0.5 * libm::erfc(-x / (deviation * core::f64::consts::SQRT_2));
    let reach = (5.0 * deviation) as usize;
    (0..=reach)
        .map(|d| below(d as f64 + 0.5) - below(d as f64 - 0.5))
        .collect()
}

fn poisson(mean: f64) -> [f64; ARRIVALS + 1] {
    let mut out = [0.0; ARRIVALS + 1];
    let mut p = libm::exp(-mean);
    let mut rest = 1.0;
    for (k, slot) in out.iter_mut().enumerate().take(ARRIVALS) {
        *slot = p;
        rest -= p;
        p *= mean / (k + 1) as f64;
    }
    out[ARRIVALS] = f64::max(rest, 0.0);
    out
}

/// Where a step of `d` bins from `from` leads; steps beyond the ends stay there.
fn target(from: usize, d: isize) -> usize {
    from.saturating_add_signed(d).min(BINS - 1)
}

/// An outage keeps the rate at zero with this probability (the model's sticky zero).
fn stuck() -> f64 {
    libm::exp(-ESCAPE * TICK_SECONDS)
}

/// Calls `f(from, to, probability)` for each possible step.
fn steps(kernel: &[f64], mut f: impl FnMut(usize, usize, f64)) {
    let reach = kernel.len() as isize - 1;
    for from in 0..BINS {
        let free = if from == 0 {
            f(0, 0, stuck());
            1.0 - stuck()
        } else {
            1.0
        };
        for d in -reach..=reach {
            f(from, target(from, d), free * kernel[d.unsigned_abs()]);
        }
    }
}

/// The belief after one tick.
fn forward(kernel: &[f64], belief: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; BINS];
    steps(kernel, |from, to, p| out[to] += belief[from] * p);
    out
}

/// What is expected one tick before.
fn backward(kernel: &[f64], value: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; BINS];
    steps(kernel, |from, to, p| out[from] += value[to] * p);
    out
}

/// The belief about a link's rate.
#[derive(Clone, Debug)]
pub struct Forecaster {
    tables: Arc<Tables>,
    belief: Vec<f64>,
}

impl Default for Forecaster {
    /// Any rate is as likely as any other.
    fn default() -> Self {
        Self {
            tables: Tables::shared(),
            belief: vec![1.0 / BINS as f64; BINS],
        }
    }
}

impl Forecaster {
    /// A tick passes, in which `arrivals` packets came; `busy` where the link had more to give all the time.
    pub fn tick(&mut self, arrivals: f64, busy: bool) {
        self.belief = forward(&self.tables.kernel, &self.belief);
        // The model counts whole packets.
        let k = (arrivals.round().max(0.0) as usize).min(ARRIVALS);
        let mut total = 0.0;
        for (p, arrivals) in self.belief.iter_mut().zip(&self.tables.poisson) {
            *p *= if busy {
                arrivals[k]
            } else {
                arrivals[k..].iter().sum()
            };
            *p += FLOOR;
            total += *p;
        }
        for p in &mut self.belief {
            *p /= total;
        }
    }

    /// Packets that the link delivers in `ticks` (1 to 8) with 95 % probability.
    pub fn cautious(&self, ticks: usize) -> usize {
        let table = &self.tables.counts[ticks.clamp(1, AHEAD) - 1];
        let at_most = |c: usize| {
            let each = self.belief.iter().zip(table);
            each.map(|(p, row)| p * f64::from(row[c])).sum::<f64>()
        };
        let (mut low, mut high) = (0, COUNTS - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if at_most(middle) > QUANTILE {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// Mean of the believed rate, packets per second.
    pub fn mean(&self) -> f64 {
        let each = self.belief.iter().enumerate();
        each.map(|(bin, p)| p * rate(bin)).sum()
    }
}

/// Sprout's sender.
#[derive(Clone, Debug, Default)]
pub struct Sprout {
    forecaster: Forecaster,
    /// IP bytes that arrived in this tick.
    arrived: f64,
    /// Payload bytes sent so far, and in flight.
    sent: u64,
    in_flight: u64,
    /// What a delayed ACK may keep, bytes.
    kept: u64,
    /// What had been sent by when, in steps of a millisecond.
    log: VecDeque<(Instant, u64)>,
    forecast: usize,
}

impl Sprout {
    /// When the oldest packet left that is outstanding beyond doubt: an ACK for every other packet keeps one back.
    fn oldest(&mut self) -> Option<Instant> {
        let out = self.in_flight.saturating_sub(self.kept);
        if out == 0 {
            return None;
        }
        let before = self.sent.saturating_sub(self.in_flight);
        while self.log.len() > 1 && self.log[0].1 <= before {
            self.log.pop_front();
        }
        self.log.front().map(|e| e.0)
    }
}

impl Steer for Sprout {
    fn name(&self) -> &'static str {
        "sprout"
    }

    fn source(&self) -> Source {
        Source::Acks
    }

    fn interval(&self) -> Duration {
        TICK
    }

    fn guarded(&self) -> bool {
        false
    }

    #[inline]
    fn on_sent(&mut self, now: Instant, bytes: Bytes) {
        self.sent += bytes.0;
        let step = Duration::from_millis(1);
        match self.log.back_mut() {
            Some(last) if now.since(last.0) < step => last.1 = self.sent,
            _ => self.log.push_back((now, self.sent)),
        }
    }

    #[inline]
    fn on_ack(&mut self, _now: Instant, path: &PathView, ack: &Ack) {
        let overhead = f64::from(path.wire_mss.max(1)) / f64::from(path.mss.max(1));
        self.arrived += ack.newly_acked.0 as f64 * overhead;
        self.in_flight = path.in_flight.0;
        self.kept = u64::from(path.mss);
    }

    fn look(&mut self, look: &Look) {
        let patience = look.signals.min_rtt + BUSY;
        let busy = self
            .oldest()
            .is_some_and(|t| look.at.since(t).as_secs_f64() > patience);
        let arrived = core::mem::take(&mut self.arrived);
        self.forecaster.tick(arrived / PACKET, busy);
        self.forecast = self.forecaster.cautious(TARGET);
    }

    fn window(&mut self, _now: Instant, s: &Signals, _window: f64) -> f64 {
        self.forecast as f64 * PACKET / s.packet.max(1.0)
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("forecast", self.forecast as f64));
        out.push(("rate_pps", self.forecaster.mean()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::steered::Steered;
    use super::super::testing::{Link, steady, varying};
    use super::*;

    #[test]
    fn tables_are_probabilities() {
        let t = Tables::shared();
        let steps = t.kernel[0] + 2.0 * t.kernel[1..].iter().sum::<f64>();
        assert!((steps - 1.0).abs() < 1e-5, "{steps}");
        for row in &t.poisson {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
        for (h, table) in t.counts.iter().enumerate() {
            for row in table {
                assert!((row[ARRIVALS * (h + 1)] - 1.0).abs() < 1e-4, "{h}");
                assert!(row.windows(2).all(|w| w[0] <= w[1]));
            }
        }
        // Backward and forward are each other's adjoint.
        let belief: Vec<f64> = (0..BINS).map(|b| f64::from(u8::from(b == 40))).collect();
        let value: Vec<f64> = (0..BINS).map(|b| b as f64).collect();
        let ahead: f64 = forward(&t.kernel, &belief)
            .iter()
            .zip(&value)
            .map(|(p, v)| p * v)
            .sum();
        assert!((ahead - backward(&t.kernel, &value)[40]).abs() < 1e-9);
    }

    #[test]
    fn a_steady_rate_is_learned_and_the_forecast_stays_below_it() {
        let mut f = Forecaster::default();
        for _ in 0..100 {
            f.tick(10.0, true);
        }
        // 10 per 20 ms are 500 per second.
        assert!((f.mean() - 500.0).abs() < 40.0, "{}", f.mean());
        for h in 1..=AHEAD {
            assert!(f.cautious(h) <= 10 * h, "{h}: {}", f.cautious(h));
            assert!(h == 1 || f.cautious(h) >= f.cautious(h - 1));
        }
        assert!(f.cautious(5) >= 25, "{}", f.cautious(5));
        // An outage: two silent ticks halve the forecast, half a second leaves nothing of it.
        let before = f.cautious(5);
        f.tick(0.0, true);
        f.tick(0.0, true);
        assert!(f.cautious(5) <= before / 2 + 1, "{}", f.cautious(5));
        for _ in 0..23 {
            f.tick(0.0, true);
        }
        assert!(f.cautious(5) <= 1, "{}", f.cautious(5));
        // A sender that pauses shows nothing: the belief spreads and does not fall to zero.
        let mut idle = Forecaster::default();
        for _ in 0..100 {
            idle.tick(10.0, true);
        }
        let before = idle.mean();
        idle.tick(0.0, false);
        assert!((idle.mean() - before).abs() < 20.0);
    }

    #[test]
    fn the_delay_stays_below_the_target_and_the_link_is_not_full() {
        let mut link = Link::new(Steered::new(Sprout::default(), 1448, 10), 20, steady);
        link.run(3000);
        link.forget();
        link.run(20_000);
        assert!(link.delay(0.95) <= 100, "{}", link.delay(0.95));
        assert!(link.utilisation() > 0.6, "{}", link.utilisation());
        let mut link = Link::new(Steered::new(Sprout::default(), 1448, 10), 20, varying);
        link.run(20_000);
        assert!(link.delay(0.95) <= 150, "{}", link.delay(0.95));
        assert!(link.utilisation() > 0.3, "{}", link.utilisation());
    }
}
