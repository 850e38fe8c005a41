//! The slope of the smoothed one-way delay over the last groups (libwebrtc, `TrendlineEstimator`).

use slackwater_core::Instant;

use super::groups::Delta;
use crate::media::al4s::pdv::span;

/// Groups over which the line is laid.
const WINDOW: usize = 20;
/// Smoothing of the accumulated delay.
const SMOOTHING: f64 = 0.9;
/// The slope counts as this much delay per group.
const GAIN: f64 = 4.0;

/// The line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trendline {
    first: Option<Instant>,
    /// ms.
    accumulated: f64,
    smoothed: f64,
    /// ms since the first arrival, and smoothed delay.
    points: [(f64, f64); WINDOW],
    filled: usize,
    slope: f64,
}

impl Trendline {
    /// The offset per group in ms, so far as the line tells.
    pub(crate) fn update(&mut self, delta: &Delta) -> f64 {
        let first = *self.first.get_or_insert(delta.at);
        self.accumulated += (delta.arrived - delta.sent) * 1e3;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.accumulated;
        if self.filled == WINDOW {
            self.points.rotate_left(1);
        } else {
            self.filled += 1;
        }
        self.points[self.filled - 1] = (span(first, delta.at) * 1e3, self.smoothed);
        if self.filled == WINDOW
            && let Some(slope) = slope(&self.points)
        {
            self.slope = slope;
        }
        self.slope * GAIN
    }
}

/// Least squares; `None` where all points lie at one time.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (x_mean, y_mean) = (mean(|p| p.0), mean(|p| p.1));
    let (mut above, mut below) = (0.0, 0.0);
    for (x, y) in points {
        above += (x - x_mean) * (y - y_mean);
        below += (x - x_mean) * (x - x_mean);
    }
    (below > 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_growth_of_delay_is_its_slope() {
        let mut line = Trendline::default();
        let mut offset = 0.0;
        for i in 0..200u64 {
            let delta = Delta {
                sent: 0.010,
                arrived: 0.011,
                at: Instant::from_millis(11 * i),
            };
            offset = line.update(&delta);
            if i < 18 {
                assert_eq!(offset, 0.0);
            }
        }
        assert!((offset / GAIN - 1.0 / 11.0).abs() < 1e-6, "{offset}");
    }
}
