//! What a monitor interval was worth.

use std::collections::VecDeque;

use super::monitor::{Interval, Sample};

/// Tolerance of losses (Allegro, 2.2: 5 %).
const TOLERANCE: f64 = 0.05;
/// How steeply the utility falls there (Allegro, 2.2: alpha of at least 100).
const STEEPNESS: f64 = 100.0;

/// Allegro's safe utility, Mbit/s: throughput times a sigmoid of the loss rate less what was lost (Allegro, 2.2).
pub fn allegro(sent: u64, lost: u64, seconds: f64) -> f64 {
    let mbps = |bytes: u64| bytes as f64 * 8e-6 / seconds.max(1e-9);
    let loss = lost as f64 / sent.max(1) as f64;
    let sigmoid = 1.0 / (1.0 + libm::exp(STEEPNESS * (loss - TOLERANCE)));
    mbps(sent.saturating_sub(lost)) * sigmoid - mbps(lost)
}

/// Coefficients of Vivace's utility.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    /// Of the RTT's gradient.
    pub latency: f64,
    /// Of the loss rate.
    pub loss: f64,
}

impl Coefficients {
    /// Vivace's (section 4.1; `kLatencyCoefficient`, `kVivaceLossCoefficient`).
    pub const VIVACE: Self = Self {
        latency: 900.0,
        loss: 11.35,
    };
}

/// Exponent of the rate (`kSendingRateExponent`; Vivace, 4.1).
const EXPONENT: f64 = 0.9;
/// Mean RTTs of so many intervals make a trend (`kRttHistoryLen`).
const HISTORY: usize = 6;
/// Averages of the trend take so much of a new value (`kAlpha`).
const ALPHA: f64 = 0.1;
/// A trend below its least by this factor begins anew (`kBeta`).
const BETA: f64 = 100.0;
/// Deviations from the mean trend that are tolerated (`kInflationToleranceGainHigh`, `Low`).
const GAIN: f64 = 2.0;
/// Below this there is no least trend yet, microseconds.
const NO_TREND: f64 = 1e-6;

/// Vivace's utility: `x^0.9 - b x max(0, dRTT/dt) - c x L`, x in Mbit/s. The gradient counts where it is more than noise,
/// within the interval and over the last six (`PccUtilityManager`).
#[derive(Clone, Debug, Default)]
pub struct Utility {
    /// Mean RTTs of the last intervals, microseconds.
    history: VecDeque<f64>,
    /// Mean of the tolerated trends.
    mean: f64,
    /// Least size of a trend.
    least: f64,
    /// Mean change from one tolerated trend to the next.
    deviation: f64,
    /// The last of them.
    last: f64,
}

/// Least squares of `y` over `x`: slope and the means.
fn regress(points: impl Iterator<Item = (f64, f64)> + Clone) -> Option<(f64, f64, f64)> {
    let n = points.clone().count() as f64;
    let (x, y) = points
        .clone()
        .fold((0.0, 0.0), |s, p| (s.0 + p.0, s.1 + p.1));
    let (x, y) = (x / n, y / n);
    let (xx, xy) = points.fold((0.0, 0.0), |s, p| {
        let d = p.0 - x;
        (s.0 + d * d, s.1 + d * (p.1 - y))
    });
    (xx > 0.0).then(|| (xy / xx, x, y))
}

impl Utility {
    /// The trend of the last intervals' RTTs is within what they usually do (`DetermineToleranceInflation`).
    fn is_trend_usual(&mut self) -> bool {
        let points = self.history.iter().enumerate();
        let Some((trend, ..)) = regress(points.map(|(i, &rtt)| (i as f64, rtt))) else {
            return true;
        };
        let size = trend.abs();
        if self.least < NO_TREND || size < self.least / BETA {
            (self.mean, self.least, self.deviation, self.last) = (0.0, size, size, trend);
            return true;
        }
        let usual = (trend - self.mean).abs() <= GAIN * self.deviation;
        if usual {
            self.deviation = self.deviation * (1.0 - ALPHA) + (trend - self.last).abs() * ALPHA;
            self.mean = self.mean * (1.0 - ALPHA) + trend * ALPHA;
            self.last = trend;
        }
        self.least = self.least.min(size);
        usual || trend <= 0.0
    }

    /// Change of the RTT per time in `interval`, where it counts; `packet` is the time between two packets, microseconds.
    fn gradient(&mut self, interval: &Interval, packet: f64) -> f64 {
        let reliable: Vec<&Sample> = interval.samples.iter().filter(|s| s.reliable).collect();
        if reliable.len() < 2 {
            return 0.0;
        }
        let points = reliable.iter().map(|s| (s.number as f64, s.rtt));
        let Some((slope, middle, mean)) = regress(points.clone()) else {
            return 0.0;
        };
        let gradient = slope / packet;
        // The residuals are taken from a line of this slope per packet, not of the regression's (as in the code).
        let squares = points
            .map(|(x, y)| y - mean - gradient * (x - middle))
            .map(|d| d * d);
        let error = libm::sqrt(squares.sum::<f64>() / reliable.len() as f64) / mean.max(1e-9);
        let mut counts = error < gradient.abs();

        self.history.push_back(mean);
        if self.history.len() > HISTORY {
            self.history.pop_front();
        }
        if self.history.len() == HISTORY && !self.is_trend_usual() {
            counts = true;
        }
        if counts { gradient } else { 0.0 }
    }

    /// The utility of `interval`; `wire_mss` bytes are a full packet.
    pub fn of(&mut self, interval: &Interval, wire_mss: u32, c: Coefficients) -> f64 {
        let seconds = interval.seconds(wire_mss);
        let rate = interval.sent as f64 * 8e-6 / seconds;
        let packet = f64::from(wire_mss.max(1)) * 8e6 / interval.rate;
        let mut gradient = self.gradient(interval, packet).max(0.0);
        // While the rate doubles, one millisecond over the interval is no gradient.
        if interval.starting && gradient * seconds < 1e-3 {
            gradient = 0.0;
        }
        libm::pow(rate, EXPONENT) - rate * (c.latency * gradient + c.loss * interval.loss_rate())
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::{Duration, Instant};

    use super::super::monitor::Monitor;
    use super::*;

    /// An interval of ten packets of 1500 B at 12 Mbit/s, `lost` of them lost, whose RTT in microseconds is `rtt(i)`.
    fn interval(lost: u64, rtt: impl Fn(u64) -> f64) -> Interval {
        let mut m = Monitor::default();
        m.open(12e6, true, false, Duration::from_millis(40));
        for ms in 0..10 {
            m.sent(Instant::from_millis(ms), slackwater_core::Bytes(1500));
        }
        let mut i = m.pop().expect("open");
        i.lost = lost * 1500;
        i.acked = i.sent - i.lost;
        i.samples = (0..10)
            .map(|n| Sample {
                number: n,
                rtt: rtt(n),
                reliable: true,
            })
            .collect();
        i
    }

    #[test]
    fn allegro_tolerates_five_percent() {
        // 12 Mbit/s without loss: the sigmoid of -5 is 0.9933.
        assert!((allegro(15_000, 0, 0.01) - 12.0 * 0.993_307).abs() < 1e-4);
        // At 5 % half of the throughput counts, less the losses.
        assert!((allegro(100_000, 5_000, 0.1) - (7.6 * 0.5 - 0.4)).abs() < 1e-9);
        assert!(allegro(100_000, 10_000, 0.1) < 0.0);
        assert!(allegro(110_000, 1_100, 0.1) > allegro(100_000, 1_000, 0.1));
    }

    #[test]
    fn vivace_counts_rate_loss_and_a_rising_rtt() {
        let c = Coefficients::VIVACE;
        let of = |i: &Interval| Utility::default().of(i, 1500, c);
        let rate = libm::pow(12.0, 0.9);
        assert!((of(&interval(0, |_| 40_000.0)) - rate).abs() < 1e-9);
        assert!((of(&interval(1, |_| 40_000.0)) - (rate - 11.35 * 12.0 * 0.1)).abs() < 1e-9);
        // 100 us per packet, a packet per ms: a gradient of 0.1.
        let rising = of(&interval(0, |n| 40_000.0 + 100.0 * n as f64));
        assert!(
            (rising - (rate - 900.0 * 12.0 * 0.1)).abs() < 1e-6,
            "{rising}"
        );
        // A falling one is worth nothing, nor is noise.
        assert!((of(&interval(0, |n| 40_000.0 - 100.0 * n as f64)) - rate).abs() < 1e-9);
        let noise = |n: u64| 40_000.0 + if n.is_multiple_of(2) { 3000.0 } else { -3000.0 };
        assert!((of(&interval(0, noise)) - rate).abs() < 1e-9);
        // Vivace-Loss.
        let loss = Coefficients { latency: 0.0, ..c };
        let rising = interval(0, |n| 40_000.0 + 100.0 * n as f64);
        assert!((Utility::default().of(&rising, 1500, loss) - rate).abs() < 1e-9);
    }

    #[test]
    fn a_trend_beyond_the_usual_counts_what_noise_hid() {
        let mut u = Utility::default();
        let sign = |n: u64| {
            if n.div_ceil(2).is_multiple_of(2) {
                9e3
            } else {
                -9e3
            }
        };
        let noisy = |base: f64| interval(0, move |n| base + 300.0 * n as f64 + sign(n));
        let alone = u.gradient(&noisy(40_000.0), 1000.0);
        assert_eq!(alone, 0.0);
        // Six intervals, the last far above.
        for i in 0..8 {
            let _ = u.gradient(&noisy(40_000.0 + 20.0 * f64::from(i % 3)), 1000.0);
        }
        let jump = u.gradient(&noisy(90_000.0), 1000.0);
        assert!(jump > 0.0, "{jump}");
    }

    /// While the rate doubles, a rise of less than a millisecond over an interval, here of 10 ms, is none.
    #[test]
    fn at_the_start_a_millisecond_more_of_rtt_costs_nothing() {
        let worth = |starting, per_packet: f64| {
            let rising = Interval {
                starting,
                ..interval(0, |n| 40_000.0 + per_packet * n as f64)
            };
            Utility::default().of(&rising, 1500, Coefficients::VIVACE)
        };
        let rate = libm::pow(12.0, 0.9);
        // 50 us a packet, a packet a millisecond: 0.5 ms over the interval.
        assert!((worth(true, 50.0) - rate).abs() < 1e-9);
        assert!((worth(false, 50.0) - (rate - 900.0 * 12.0 * 0.05)).abs() < 1e-6);
        // 2 ms count at the start as well.
        assert!((worth(true, 200.0) - (rate - 900.0 * 12.0 * 0.2)).abs() < 1e-6);
    }
}
