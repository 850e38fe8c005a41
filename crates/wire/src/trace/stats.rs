//! What a trace offers, in a few numbers.

use slackwater_core::{Bytes, Duration, Instant, Rate};

use super::mahimahi::{MahimahiTrace, OPPORTUNITY};
use super::rate::RateSeries;

/// The window over which rates are taken for percentiles.
pub const WINDOW: Duration = Duration::from_millis(500);

/// Rates over windows of 500 ms, and the longest silence. A last window that is shorter counts only towards the mean.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceStats {
    /// How long the trace is.
    pub duration: Duration,
    /// What it carries.
    pub total: Bytes,
    /// Total over duration.
    pub mean: Rate,
    /// Least rate of a window.
    pub min: Rate,
    /// Highest rate of a window.
    pub max: Rate,
    /// Percentiles over windows.
    pub p5: Rate,
    /// Median over windows.
    pub p50: Rate,
    /// 95th percentile over windows.
    pub p95: Rate,
    /// Coefficient of variation over windows: population deviation over mean; zero where the mean is.
    pub cv: f64,
    /// Share of windows that carry nothing.
    pub idle: f64,
    /// The longest time without a delivery opportunity, or at rate zero. Does not wrap around a loop.
    pub longest_gap: Duration,
}

/// Turns per-window rates into the summary. `windows` may be empty (a trace shorter than a window): the mean stands in.
fn summarise(
    duration: Duration,
    total: Bytes,
    mut windows: Vec<Rate>,
    gap: Duration,
) -> TraceStats {
    let mean = Rate::from_bytes_over(total, duration);
    if windows.is_empty() {
        windows.push(mean);
    }
    windows.sort_unstable();
    let n = windows.len() as f64;
    let average = windows.iter().map(|r| r.as_mbps()).sum::<f64>() / n;
    let variance = windows
        .iter()
        .map(|r| (r.as_mbps() - average) * (r.as_mbps() - average))
        .sum::<f64>()
        / n;
    // Linear interpolation between order statistics (type 7, the default of numpy and R).
    let percentile = |q: f64| {
        let at = q * (windows.len() - 1) as f64;
        let (low, part) = (at as usize, at - (at as usize) as f64);
        let high = (low + 1).min(windows.len() - 1);
        let (a, b) = (windows[low].as_bps() as f64, windows[high].as_bps() as f64);
        Rate::from_bps((a + (b - a) * part + 0.5) as u64)
    };
    TraceStats {
        duration,
        total,
        mean,
        min: windows[0],
        max: windows[windows.len() - 1],
        p5: percentile(0.05),
        p50: percentile(0.50),
        p95: percentile(0.95),
        cv: if average > 0.0 {
            variance.sqrt() / average
        } else {
            0.0
        },
        idle: windows.iter().filter(|r| **r == Rate::ZERO).count() as f64 / n,
        longest_gap: gap,
    }
}

impl MahimahiTrace {
    /// The summary of one period.
    pub fn stats(&self) -> TraceStats {
        let window_ms = WINDOW.as_millis();
        let times = self.times_ms();
        let whole = self.period().as_millis() / window_ms;
        let mut windows = Vec::with_capacity(usize::try_from(whole.min(1 << 20)).unwrap_or(0));
        let mut rest = times;
        let mut w = 0;
        while w < whole && windows.len() < MAX_WINDOWS {
            let n = rest.partition_point(|t| *t < (w + 1) * window_ms);
            rest = &rest[n..];
            windows.push(Rate::from_bytes_over(OPPORTUNITY * n as u64, WINDOW));
            w += 1;
        }
        let first = times[0];
        let gap = times
            .windows(2)
            .map(|t| t[1] - t[0])
            .max()
            .unwrap_or(0)
            .max(first);
        summarise(
            self.period(),
            self.bytes_per_period(),
            windows,
            Duration::from_millis(gap),
        )
    }
}

/// Windows beyond this number (97 days) are left out of the percentiles.
const MAX_WINDOWS: usize = 1 << 24;

impl RateSeries {
    /// The summary of the whole series.
    pub fn stats(&self) -> TraceStats {
        let window = u128::from(WINDOW.as_nanos());
        let mut windows = Vec::new();
        // Bits times nanoseconds per second carried in the open window, and how much of it is filled.
        let (mut carried, mut filled) = (0_u128, 0_u128);
        let (mut gap, mut silent) = (Duration::ZERO, Duration::ZERO);
        for (start, end, rate) in self.segments() {
            let span = end - start;
            silent = if rate == Rate::ZERO {
                silent + span
            } else {
                Duration::ZERO
            };
            gap = gap.max(silent);
            let mut left = u128::from(span.as_nanos());
            while left > 0 && windows.len() < MAX_WINDOWS {
                let step = left.min(window - filled);
                carried += u128::from(rate.as_bps()) * step;
                filled += step;
                left -= step;
                if filled == window {
                    windows.push(Rate::from_bps((carried / window) as u64));
                    (carried, filled) = (0, 0);
                }
            }
        }
        summarise(self.end().since(Instant::ZERO), self.total(), windows, gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_opportunity_a_millisecond_is_twelve_megabits() {
        let trace = MahimahiTrace::from_millis((1..=2000).collect()).expect("in order");
        let s = trace.stats();
        assert_eq!(s.mean, Rate::from_bps(12_032_000));
        // The first window has the opportunities 1 to 499, since there is none at 0.
        assert_eq!((s.p50, s.max), (s.mean, s.mean));
        assert_eq!(s.min, Rate::from_bps(499 * 1504 * 8 * 2));
        assert_eq!(s.longest_gap, Duration::from_millis(1));
        assert_eq!(s.idle, 0.0);
    }

    #[test]
    fn a_step_shows_in_the_percentiles_and_silence_in_the_gap() {
        let at = Instant::from_millis;
        let series = RateSeries::new(
            vec![
                (at(0), Rate::from_mbps(10.0)),
                (at(750), Rate::ZERO),
                (at(2000), Rate::from_mbps(30.0)),
            ],
            at(2600),
        )
        .expect("in order");
        let s = series.stats();
        // Windows: 10, 5, 0, 0, 30; 100 ms remain.
        assert_eq!((s.min, s.max), (Rate::ZERO, Rate::from_mbps(30.0)));
        assert_eq!(s.p50, Rate::from_mbps(5.0));
        assert_eq!(s.p95, Rate::from_mbps(26.0));
        assert_eq!(s.idle, 0.4);
        assert_eq!(s.longest_gap, Duration::from_millis(1250));
        assert_eq!(s.total, Bytes(937_500 + 2_250_000));
        // Their mean is 9 and their variance 124.
        assert!((s.cv - 124_f64.sqrt() / 9.0).abs() < 1e-9, "{}", s.cv);
    }
}
