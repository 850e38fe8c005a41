//! Synthetic link capacity, so that a policy can be trained without a recorded trace.
//!
//! The logarithm of the rate is the sum of two Ornstein-Uhlenbeck processes, a slow one (shadowing, load of the cell) and a
//! faster one (fading), with jumps between levels (other users come and go) and outages. Upon it comes a factor that holds
//! for some milliseconds and is forgotten: blocks, retransmissions and other users' turns make a recording burst at 10 to
//! 100 ms, and no sender foresees it. A scheduler hands the rate out at random instants.
//!
//! # What recordings show
//! Six public recordings, which are left out of every evaluation ([`CALIBRATION`]), counted in bins of 1, 20, 100 and
//! 1000 ms; `r` is the autocorrelation of bins of 20 ms at lags of 20 and 100 ms and of bins of 100 ms at 1 s.
//! The ranges of [`Pattern::draw`] are set after these numbers.
//!
//! | recording | Mbit/s | variation at 1, 20, 100, 1000 ms | r(20), r(100), r(1000) |
//! |---|---|---|---|
//! | `TMobile-LTE-short.down` | 16.7 | 2.31, 0.88, 0.69, 0.59 | 0.49, 0.51, 0.48 |
//! | `TMobile-UMTS-driving.down` | 2.0 | 3.04, 0.94, 0.83, 0.78 | 0.72, 0.73, 0.79 |
//! | `downlink-3g-no-cross-subway.pps` | 5.0 | 2.19, 0.86, 0.71, 0.60 | 0.65, 0.53, 0.58 |
//! | `downlink-3g-with-cross-subway.pps` | 5.0 | 2.16, 1.02, 0.91, 0.84 | 0.77, 0.70, 0.75 |
//! | `trace-2767958-taxi1` | 17.1 | 0.70, 0.54, 0.50, 0.44 | 0.90, 0.77, 0.62 |
//! | `trace-2925703-home1` | 7.6 | 1.27, 0.50, 0.38, 0.25 | 0.55, 0.31, 0.18 |
//!
//! So a bin of 20 ms differs from its neighbours by a factor whose coefficient of variation is 0.2 to 0.45, what changes
//! between 100 ms and 1 s has 0.2 to 0.35, and the rest is slower than a second.

use slackwater_core::Draw;

/// Bytes of one opportunity (Mahimahi, `mm-link`).
const OPPORTUNITY: f64 = 1504.0;
/// Milliseconds over which the rate holds.
const STEP_MS: u64 = 5;
/// Recordings whose statistics shaped the generator: a policy that was trained on its links is not evaluated on them.
pub const CALIBRATION: [&str; 6] = [
    "TMobile-LTE-short.down",
    "TMobile-UMTS-driving.down",
    "downlink-3g-no-cross-subway.pps",
    "downlink-3g-with-cross-subway.pps",
    "trace-2767958-taxi1",
    "trace-2925703-home1",
];
/// No pattern goes beyond this, Mbit/s.
const MOST_MBPS: f64 = 600.0;

/// What a pattern resembles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Someone sits: small, slow changes.
    Still,
    /// Someone walks.
    Walking,
    /// Someone drives: large changes on two time scales, and outages.
    Driving,
    /// Others come and go in the cell: the rate jumps between levels.
    Shared,
}

impl Family {
    /// All.
    pub const ALL: [Self; 4] = [Self::Still, Self::Walking, Self::Driving, Self::Shared];
}

/// Parameters of one synthetic link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pattern {
    /// Mean rate, Mbit/s.
    pub mbps: f64,
    /// Standard deviation of the logarithm of the rate: slow and faster part.
    pub sigma: [f64; 2],
    /// Their correlation times, seconds.
    pub tau: [f64; 2],
    /// Standard deviation of the logarithm of the factor that comes and goes.
    pub burst: f64,
    /// How long it holds in the mean, milliseconds.
    pub burst_ms: f64,
    /// Changes of level a second.
    pub jumps: f64,
    /// Largest factor of a level; the least is its inverse.
    pub span: f64,
    /// Outages a second.
    pub outages: f64,
    /// Their mean length, seconds.
    pub outage: f64,
    /// Mean gap between two instants at which the scheduler serves us, milliseconds.
    pub gap_ms: f64,
}

/// Purposes of a pattern's draws.
mod purpose {
    pub(super) const PARAMETERS: u64 = 1;
    pub(super) const SLOW: u64 = 2;
    pub(super) const FAST: u64 = 3;
    pub(super) const JUMP: u64 = 4;
    pub(super) const LEVEL: u64 = 5;
    pub(super) const OUTAGE: u64 = 6;
    pub(super) const LENGTH: u64 = 7;
    pub(super) const SERVED: u64 = 8;
    pub(super) const BURST: u64 = 9;
    pub(super) const FACTOR: u64 = 10;
}

/// `low` to `high`, uniform in the logarithm, for `u` in [0, 1).
pub(crate) fn log_between([low, high]: [f64; 2], u: f64) -> f64 {
    low * libm::exp(u * libm::log(high / low))
}

pub(crate) const fn between([low, high]: [f64; 2], u: f64) -> f64 {
    low + (high - low) * u
}

impl Pattern {
    /// Parameters of a member of `family` whose mean rate lies in `mbps`.
    pub fn draw(family: Family, mbps: [f64; 2], draw: Draw) -> Self {
        let draw = draw.fork(purpose::PARAMETERS, family as u64);
        let u = |k| draw.uniform(k);
        let mbps = log_between(mbps, u(0));
        let gap_ms = log_between([1.0, 5.0], u(1));
        let base = Self {
            mbps,
            sigma: [0.0, between([0.15, 0.35], u(5))],
            tau: [
                log_between([3.0, 30.0], u(2)),
                log_between([0.08, 0.6], u(3)),
            ],
            burst: between([0.2, 0.7], u(8)),
            burst_ms: log_between([5.0, 25.0], u(9)),
            jumps: 0.0,
            span: 1.0,
            outages: 0.0,
            outage: 0.0,
            gap_ms,
        };
        match family {
            Family::Still => Self {
                sigma: [between([0.15, 0.4], u(4)), base.sigma[1]],
                ..base
            },
            Family::Walking => Self {
                sigma: [between([0.35, 0.65], u(4)), base.sigma[1]],
                outages: between([0.0, 0.02], u(6)),
                outage: 0.3,
                ..base
            },
            Family::Driving => Self {
                sigma: [between([0.55, 0.85], u(4)), 1.2 * base.sigma[1]],
                tau: [base.tau[0] / 2.0, base.tau[1]],
                outages: between([0.0, 0.08], u(6)),
                outage: between([0.1, 0.8], u(7)),
                ..base
            },
            Family::Shared => Self {
                sigma: [between([0.1, 0.4], u(4)), base.sigma[1]],
                jumps: log_between([0.05, 0.5], u(6)),
                span: between([1.5, 3.0], u(7)),
                ..base
            },
        }
    }

    /// Delivery opportunities over `ms` milliseconds, as a Mahimahi trace lists them; the last one falls on the end.
    pub fn opportunities(&self, ms: u64, draw: Draw) -> Vec<u64> {
        let mut out =
            Vec::with_capacity((self.mbps * 1.3 * ms as f64 * 125.0 / OPPORTUNITY) as usize);
        let dt = STEP_MS as f64 * 1e-3;
        let noise = [draw.fork(purpose::SLOW, 0), draw.fork(purpose::FAST, 0)];
        let keep = self.tau.map(|tau| libm::exp(-dt / tau));
        let kick = keep.map(|k| libm::sqrt(1.0 - k * k));
        // The processes start in their stationary state.
        let mut x = [noise[0].normal(u64::MAX), noise[1].normal(u64::MAX)];
        let mut level = 1.0;
        let mut out_until = 0;
        let mut credit = 0.0;
        let mut mbps = 0.0;
        let served = draw.fork(purpose::SERVED, 0);
        let (jump, to) = (draw.fork(purpose::JUMP, 0), draw.fork(purpose::LEVEL, 0));
        let (fails, long) = (draw.fork(purpose::OUTAGE, 0), draw.fork(purpose::LENGTH, 0));
        let (turns, factors) = (draw.fork(purpose::BURST, 0), draw.fork(purpose::FACTOR, 0));
        let mut burst = self.burst * factors.normal(u64::MAX);
        // A log-normal's mean exceeds its median.
        let sigmas = self.sigma.iter().chain(core::iter::once(&self.burst));
        let shift: f64 = sigmas.map(|s| s * s / 2.0).sum();
        for t in 1..=ms {
            if t % STEP_MS == 1 {
                let k = t / STEP_MS;
                for i in 0..2 {
                    x[i] = x[i] * keep[i] + noise[i].normal(k) * kick[i];
                }
                if jump.uniform(k) < self.jumps * dt {
                    level = log_between([1.0 / self.span, self.span], to.uniform(k));
                }
                if fails.uniform(k) < self.outages * dt {
                    let seconds = -self.outage * libm::log(1.0 - long.uniform(k));
                    out_until = t + (seconds * 1e3) as u64;
                }
                if turns.uniform(k) * self.burst_ms < STEP_MS as f64 {
                    burst = self.burst * factors.normal(k);
                }
                let exponent = self.sigma[0] * x[0] + self.sigma[1] * x[1] + burst - shift;
                mbps = (self.mbps * level * libm::exp(exponent)).min(MOST_MBPS);
            }
            if t < out_until {
                continue;
            }
            credit += mbps * 125.0 / OPPORTUNITY;
            if served.uniform(t) * self.gap_ms < 1.0 {
                let n = credit as u64;
                credit -= n as f64;
                out.extend(core::iter::repeat_n(t, n as usize));
            }
        }
        if out.last() != Some(&ms) {
            out.push(ms);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_keep_their_mean_and_end_with_their_length() {
        for family in Family::ALL {
            let mut ratio = 0.0;
            for seed in 0..30 {
                let draw = Draw::new(seed);
                let pattern = Pattern {
                    outages: 0.0,
                    span: 1.0,
                    ..Pattern::draw(family, [4.0, 40.0], draw)
                };
                let list = pattern.opportunities(60_000, draw);
                assert_eq!(list, pattern.opportunities(60_000, draw), "the same seed");
                assert_eq!(list.last(), Some(&60_000));
                assert!(list.is_sorted());
                let mbps = list.len() as f64 * OPPORTUNITY * 8.0 / 60.0 / 1e6;
                ratio += mbps / pattern.mbps / 30.0;
            }
            // Thirty minutes of correlated noise: its mean wanders.
            assert!((0.8..1.25).contains(&ratio), "{family:?}: {ratio}");
        }
    }

    #[test]
    fn drives_vary_more_than_seats_and_stop_at_times() {
        let spread = |family| {
            let mut all = 0.0;
            for seed in 0..20 {
                let draw = Draw::new(seed);
                let list = Pattern::draw(family, [10.0, 10.1], draw).opportunities(30_000, draw);
                let mut bins = [0f64; 300];
                for t in list {
                    bins[(t.saturating_sub(1) / 100) as usize] += 1.0;
                }
                let mean = bins.iter().sum::<f64>() / 300.0;
                let var = bins.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / 300.0;
                all += var.sqrt() / mean / 20.0;
            }
            all
        };
        let (still, driving) = (spread(Family::Still), spread(Family::Driving));
        assert!(driving > 1.5 * still, "{driving} against {still}");
    }

    /// Coefficients of variation in bins of 1, 20, 100 and 1000 ms, and the autocorrelations r(20), r(100), r(1000).
    fn texture(list: &[u64], ms: u64) -> [f64; 7] {
        let bins = |width: u64| -> Vec<f64> {
            let mut bins = vec![0.0; (ms / width) as usize];
            for t in list {
                if let Some(bin) = bins.get_mut(((t - 1) / width) as usize) {
                    *bin += 1.0;
                }
            }
            let mean = bins.iter().sum::<f64>() / bins.len() as f64;
            bins.iter().map(|b| b / mean - 1.0).collect()
        };
        let product = |x: &[f64], lag: usize| -> f64 {
            let pairs = x.iter().zip(&x[lag..]);
            pairs.map(|(a, b)| a * b).sum::<f64>() / x.len() as f64
        };
        let (fine, coarse) = (bins(20), bins(100));
        let variation = |width| libm::sqrt(product(&bins(width), 0));
        [
            variation(1),
            variation(20),
            variation(100),
            variation(1000),
            product(&fine, 1) / product(&fine, 0),
            product(&fine, 5) / product(&fine, 0),
            product(&coarse, 10) / product(&coarse, 0),
        ]
    }

    #[test]
    fn links_burst_as_recordings_do() {
        // Means over the six of `CALIBRATION` (the table above), and what the means of our families may be off.
        const RECORDED: [f64; 7] = [1.95, 0.79, 0.67, 0.58, 0.68, 0.59, 0.57];
        const OFF: [f64; 7] = [0.45, 0.12, 0.12, 0.12, 0.10, 0.12, 0.15];
        let (each, ms) = (12, 120_000);
        let mut mean = [0.0; 7];
        for family in Family::ALL {
            for seed in 0..each {
                let draw = Draw::new(1000 + seed);
                let list = Pattern::draw(family, [2.0, 20.0], draw).opportunities(ms, draw);
                for (m, t) in mean.iter_mut().zip(texture(&list, ms)) {
                    *m += t / (each * Family::ALL.len() as u64) as f64;
                }
            }
        }
        for i in 0..7 {
            let off = (mean[i] - RECORDED[i]).abs();
            assert!(off < OFF[i], "{i}: {mean:.2?} against {RECORDED:?}");
        }
    }
}
