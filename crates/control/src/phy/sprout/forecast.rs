//! The forecast of a link's deliveries: a hidden rate in Brownian motion, Poisson arrivals, a cautious quantile.
//!
//! What does not depend on the flow is computed once. The model counts in packets of its own; a caller that scales it
//! counts in larger ones, so that the tables stay the same.

use std::sync::{Arc, OnceLock};

/// Time of a tick in seconds (`TICK_LENGTH`, `receiver.hh`; NSDI 2013, 3.1).
pub const TICK_SECONDS: f64 = 0.020;
/// Rates that the belief tells apart: 256 steps (`NUM_BINS`, `receiver.hh`) and what lies above the highest
/// (`SampledFunction`'s constructor).
pub const BINS: usize = 257;
/// The highest step, packets per second (`MAX_ARRIVAL_RATE`, `receiver.hh`).
pub const MAX_RATE: f64 = 1000.0;
/// Ticks of a forecast (`NUM_TICKS`, `receiver.hh`).
pub const AHEAD: usize = 8;
/// The rate's Brownian motion, packets per second per square root of a second (`BROWNIAN_MOTION_RATE`, `receiver.hh`).
const SIGMA: f64 = 200.0;
/// An outage ends at this rate per second (`OUTAGE_ESCAPE_RATE`, `receiver.hh`).
const ESCAPE: f64 = 1.0;
/// Counts of a tick that a forecast tells apart: 0 to 29 (`MAX_ARRIVALS_PER_TICK`, `receiver.hh`).
const ARRIVALS: usize = 30;
/// What a forecast may fall short of (`Receiver::forecast`; NSDI 2013, 3.3: 95 % sure).
const QUANTILE: f64 = 0.05;
/// Width of a step, packets per second.
const WIDTH: f64 = MAX_RATE / (BINS - 1) as f64;
/// Steps that the rate may go in a tick: five deviations (`Process::evolve`).
const REACH: usize = 37;

/// The rate of a bin, packets per second: its middle, but zero for the first (`SampledFunction::from_bin_mid`).
pub fn rate(bin: usize) -> f64 {
    if bin == 0 {
        0.0
    } else {
        (bin as f64 + 0.5) * WIDTH
    }
}

/// A probability for each bin.
type Belief = [f64; BINS];

/// What does not depend on the flow.
#[derive(Debug)]
pub struct Tables {
    /// Probability of a step over so many bins, either way.
    step: [f64; REACH + 1],
    /// Probability of a step by so many bins or more down into the first bin, and up into the last one.
    down: [f64; REACH + 1],
    up: [f64; REACH + 1],
    /// From an outage to each bin.
    wake: Belief,
    /// Logarithm of the arrivals that a tick brings in the mean, by bin; the first is never used.
    log_mean: Belief,
    /// For each of 1 to 8 ticks: probability of at most `c` arrivals where the rate is that of bin `b` now, by `c` and
    /// then `b`.
    counts: Vec<Vec<f32>>,
}

/// Probability that a normal variable of the motion's deviation in one tick stays below so many bins.
fn below(bins: f64) -> f64 {
    let deviation = SIGMA * libm::sqrt(TICK_SECONDS) / WIDTH;
    0.5 * libm::erfc(-bins / (deviation * core::f64::consts::SQRT_2))
}

/// Probabilities of 0 to 29 arrivals where `mean` are expected.
fn poisson(mean: f64) -> [f64; ARRIVALS] {
    let mut p = libm::exp(-mean);
    core::array::from_fn(|k| {
        let this = p;
        p *= mean / (k + 1) as f64;
        this
    })
}

fn normalise(belief: &mut Belief) -> bool {
    let total: f64 = belief.iter().sum();
    if total <= 0.0 || !total.is_finite() {
        return false;
    }
    for p in belief {
        *p /= total;
    }
    true
}

impl Tables {
    fn new() -> Self {
        let leave = 1.0 - libm::exp(-ESCAPE * TICK_SECONDS);
        let mut tables = Self {
            step: core::array::from_fn(|d| below(d as f64 + 0.5) - below(d as f64 - 0.5)),
            // The first bin's upper edge and the last one's lower edge lie half a bin from the neighbour's middle.
            down: core::array::from_fn(|d| below(0.5 - d as f64)),
            up: core::array::from_fn(|d| 1.0 - below(d as f64 - 0.5)),
            // As in the authors' code: the step's probability times that of leaving, or of staying, so that these do not
            // add up to one; the belief is normalised afterwards.
            wake: core::array::from_fn(|n| match n {
                0 => (1.0 - leave) * below(1.0),
                n if n <= REACH => leave * (below(n as f64 + 1.0) - below(n as f64)),
                _ => 0.0,
            }),
            log_mean: core::array::from_fn(|b| libm::log(rate(b).max(WIDTH / 2.0) * TICK_SECONDS)),
            counts: vec![],
        };
        tables.counts = tables.ahead();
        tables
    }

    /// The tables are the same for all.
    pub fn shared() -> Arc<Self> {
        static TABLES: OnceLock<Arc<Tables>> = OnceLock::new();
        TABLES.get_or_init(|| Arc::new(Self::new())).clone()
    }

    /// The belief one tick later (`Process::evolve`).
    fn evolve(&self, belief: &Belief) -> Belief {
        // Room on both sides, and the first bin left out: an outage has its own way.
        let mut padded = [0.0; BINS + 2 * REACH];
        padded[REACH + 1..REACH + BINS].copy_from_slice(&belief[1..]);

        let mut out: Belief = self.wake.map(|p| p * belief[0]);
        for (o, x) in out.iter_mut().zip(&padded[REACH..]) {
            *o += self.step[0] * x;
        }
        for (d, &p) in self.step.iter().enumerate().skip(1) {
            let (lower, upper) = (&padded[REACH - d..], &padded[REACH + d..]);
            for ((o, x), y) in out.iter_mut().zip(lower).zip(upper) {
                *o += p * (x + y);
            }
        }

        // What would go beyond the ends stays there.
        let (first, last) = (0, BINS - 1);
        out[first] = self.wake[0] * belief[first];
        for (d, p) in self.down.iter().enumerate().skip(1) {
            out[first] += p * belief[d];
        }
        out[last] = 0.0;
        for (d, p) in self.up.iter().enumerate() {
            out[last] += p * belief[last - d];
        }
        normalise(&mut out);
        out
    }

    /// What each rate brings over 1 to 8 ticks (`ProcessForecastInterval`): the ticks' counts are added as if they were
    /// independent, each with the belief of its own time. Counts of 30 and more are left out, as there.
    fn ahead(&self) -> Vec<Vec<f32>> {
        let arrivals: Vec<[f64; ARRIVALS]> =
            (0..BINS).map(|b| poisson(rate(b) * TICK_SECONDS)).collect();
        let mut counts: Vec<Vec<f32>> = (1..=AHEAD).map(|h| vec![0.0; reach(h) * BINS]).collect();
        for bin in 0..BINS {
            let mut belief: Belief = core::array::from_fn(|b| f64::from(u8::from(b == bin)));
            let mut total = vec![1.0];
            for (h, table) in counts.iter_mut().enumerate() {
                let mut tick = [0.0; ARRIVALS];
                for (p, row) in belief.iter().zip(&arrivals) {
                    for (t, q) in tick.iter_mut().zip(row) {
                        *t += p * q;
                    }
                }
                let mut next = vec![0.0; reach(h + 1)];
                for (c, p) in total.iter().enumerate() {
                    for (n, q) in next[c..].iter_mut().zip(&tick) {
                        *n += p * q;
                    }
                }
                total = next;
                let mut sum = 0.0;
                for (c, p) in total.iter().enumerate() {
                    sum += p;
                    table[c * BINS + bin] = sum as f32;
                }
                belief = self.evolve(&belief);
            }
        }
        counts
    }
}

/// Counts that a forecast over `ticks` tells apart.
const fn reach(ticks: usize) -> usize {
    ticks * (ARRIVALS - 1) + 1
}

/// The belief about a link's rate.
#[derive(Clone, Debug)]
pub struct Forecaster {
    tables: Arc<Tables>,
    belief: Belief,
}

impl Default for Forecaster {
    /// Any rate is as likely as any other.
    fn default() -> Self {
        Self {
            tables: Tables::shared(),
            belief: [1.0 / BINS as f64; BINS],
        }
    }
}

impl Forecaster {
    /// A tick passes, in which so many packets arrived; `None` where that says nothing of the link. Parts of a packet count
    /// as such: whole numbers are for the caller to make.
    pub fn tick(&mut self, arrivals: Option<f64>) {
        self.belief = self.tables.evolve(&self.belief);
        let Some(k) = arrivals.map(|k| k.max(0.0)) else {
            return;
        };
        // Poisson's probability of exactly `k`, over that of the likeliest rate (`Process::observe`).
        let mean = |b: usize| rate(b) * TICK_SECONDS;
        let most = mean(BINS - 1);
        let best = k.clamp(mean(1), most);
        let reference = k * libm::log(best) - best;
        self.belief[0] *= if k > 0.0 { 0.0 } else { libm::exp(-reference) };
        let rest = self
            .belief
            .iter_mut()
            .zip(&self.tables.log_mean)
            .enumerate();
        for (b, (p, log_mean)) in rest.skip(1) {
            *p *= libm::exp(k * log_mean - mean(b) - reference);
        }
        if !normalise(&mut self.belief) {
            // What came was beyond belief: think again.
            self.belief = [1.0 / BINS as f64; BINS];
        }
    }

    /// Packets that the link delivers with 95 % probability in 1 to 8 ticks (`ProcessForecastInterval::lower_quantile`).
    pub fn cautious(&self) -> [u16; AHEAD] {
        let mut low = 0;
        core::array::from_fn(|h| {
            let table = &self.tables.counts[h];
            let mut high = reach(h + 1) - 1;
            while low < high {
                let middle = usize::midpoint(low, high);
                if self.share(&table[middle * BINS..(middle + 1) * BINS]) >= QUANTILE {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            low as u16
        })
    }

    /// The belief's mean of `row`.
    fn share(&self, row: &[f32]) -> f64 {
        // Eight sums side by side: the machine adds them together.
        let mut sums = [0.0; 8];
        let (beliefs, rows) = (self.belief.chunks_exact(8), row.chunks_exact(8));
        let rest = beliefs.remainder().iter().zip(rows.remainder());
        let rest: f64 = rest.map(|(p, x)| p * f64::from(*x)).sum();
        for (p, x) in beliefs.zip(rows) {
            for ((sum, p), x) in sums.iter_mut().zip(p).zip(x) {
                *sum += p * f64::from(*x);
            }
        }
        rest + sums.iter().sum::<f64>()
    }

    /// Mean of the believed rate, packets per second.
    pub fn mean(&self) -> f64 {
        let each = self.belief.iter().enumerate();
        each.map(|(bin, p)| p * rate(bin)).sum()
    }
}

#[cfg(test)]
mod tests;
