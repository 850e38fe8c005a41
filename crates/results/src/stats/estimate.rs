//! Means over seeds with their 95 % intervals.

use libm::{exp, log, sqrt};
use serde::{Deserialize, Serialize};

use super::student::t95;

/// What values a quantity can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bounds {
    /// Any: a difference, a score.
    #[default]
    Real,
    /// Zero or more: a delay, a rate, a count.
    Positive,
    /// From zero to this: a share.
    UpTo(f64),
}

impl Bounds {
    /// Those of `values` that are shown in `unit`: times, rates, counts of packets and bytes start at zero, and shares end at 100 % as well.
    /// A difference may be shown in such a unit: where a value is negative there are none.
    pub fn of_unit(unit: &str, values: &[Option<f64>]) -> Self {
        let known = [
            "%", "s", "ms", "Mbit/s", "kbit/s", "kB", "MB", "packets", "flows",
        ];
        let (mut least, mut most) = (0.0_f64, 0.0_f64);
        for v in values.iter().flatten() {
            (least, most) = (least.min(*v), most.max(*v));
        }
        match unit {
            _ if least < 0.0 || !known.contains(&unit) => Self::Real,
            "%" if most <= 100.0 => Self::UpTo(100.0),
            _ => Self::Positive,
        }
    }
}

/// From where to where the mean lies, 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Least.
    pub low: f64,
    /// Greatest.
    pub high: f64,
}

/// A mean over seeds. One seed has a mean and no interval, and says so by `n = 1`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean.
    pub mean: f64,
    /// The 95 % interval of the mean; `None` for one value.
    pub interval: Option<Interval>,
    /// How many values.
    pub n: usize,
}

impl Estimate {
    /// The mean of `values` and its interval by Student's t, for a quantity without bounds; `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        Self::within(values, Bounds::Real)
    }

    /// The same for a quantity with `bounds`: Student's interval of the logarithm, or of the logit, of the mean. The standard error
    /// crosses over by the first term of the series (the delta method).
    pub fn within(values: &[f64], bounds: Bounds) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let interval = (n >= 2).then(|| {
            let half = t95(n - 1) * standard_error(values, mean);
            Interval::around(mean, half, bounds)
        });
        Some(Self { mean, interval, n })
    }

    /// A mean with `half` the width of its interval on each side.
    pub fn symmetric(mean: f64, half: f64, n: usize) -> Self {
        let interval = Some(Interval::around(mean, half, Bounds::Real));
        Self { mean, interval, n }
    }

    /// Least and greatest value of the interval; twice the mean where there is none.
    pub fn bounds(&self) -> (f64, f64) {
        self.interval
            .map_or((self.mean, self.mean), |i| (i.low, i.high))
    }

    /// Half the width of the interval.
    pub fn half_width(&self) -> Option<f64> {
        self.interval.map(|i| (i.high - i.low) / 2.0)
    }

    /// The same in another unit; `by` is above zero.
    #[must_use]
    pub fn scaled(self, by: f64) -> Self {
        Self {
            mean: self.mean * by,
            interval: self.interval.map(|i| Interval {
                low: i.low * by,
                high: i.high * by,
            }),
            n: self.n,
        }
    }

    /// `12.3 ± 0.4` with `decimals` where both sides of the interval are alike, else `12.3 [11.1, 14.9]`; a single value alone.
    pub fn text(&self, decimals: usize) -> String {
        format!("{:.decimals$}{}", self.mean, self.spread(decimals))
    }

    /// What [`Self::text`] says after the mean.
    pub fn spread(&self, decimals: usize) -> String {
        match self.interval {
            None => String::new(),
            Some(_) if self.is_even() => {
                format!(" ± {:.decimals$}", self.half_width().unwrap_or(0.0))
            }
            Some(i) => format!(" [{:.decimals$}, {:.decimals$}]", i.low, i.high),
        }
    }

    /// The sides of the interval differ by less than a tenth.
    pub fn is_even(&self) -> bool {
        let (low, high) = self.bounds();
        let (down, up) = (self.mean - low, high - self.mean);
        (up - down).abs() <= 0.1 * up.max(down)
    }
}

impl From<f64> for Estimate {
    fn from(mean: f64) -> Self {
        Self {
            mean,
            interval: None,
            n: 1,
        }
    }
}

impl Interval {
    /// `half` on each side of `mean`, or what corresponds to it within `bounds`.
    pub fn around(mean: f64, half: f64, bounds: Bounds) -> Self {
        match bounds {
            Bounds::Positive if mean > 0.0 => {
                let by = exp(half / mean);
                Self {
                    low: mean / by,
                    high: mean * by,
                }
            }
            Bounds::UpTo(most) if mean > 0.0 && mean < most => {
                let share = mean / most;
                let at = log(share / (1.0 - share));
                let by = half / most / (share * (1.0 - share));
                let back = |x: f64| most / (1.0 + exp(-x));
                Self {
                    low: back(at - by),
                    high: back(at + by),
                }
            }
            // At its bound a mean has no scatter: every value lies there.
            Bounds::Real | Bounds::Positive | Bounds::UpTo(_) => Self {
                low: mean - half,
                high: mean + half,
            },
        }
    }
}

/// The standard error of the mean of at least two values.
pub(super) fn standard_error(values: &[f64], mean: f64) -> f64 {
    let n = values.len();
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    sqrt(squares / ((n - 1) * n) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_computed_interval() {
        // Mean 3, variance 2.5, t(4) = 2.776445: 2.776445 * sqrt(2.5 / 5).
        let e = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("values");
        assert_eq!(e.mean, 3.0);
        assert!((e.half_width().expect("five values") - 1.963_243).abs() < 1e-5);
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[7.0]).and_then(|e| e.interval), None);
    }

    #[test]
    fn no_interval_leaves_its_bounds() {
        // A delay of two seeds that differ much, and an index of fairness near one: both left their range by plain t.
        let wild = [1.0, 3000.0];
        assert!(Estimate::of(&wild).is_some_and(|e| e.bounds().0 < -500.0));
        let delay = Estimate::within(&wild, Bounds::Positive).expect("values");
        assert!(delay.bounds().0 > 0.0 && delay.bounds().1 > delay.mean);
        let fair = [0.99, 0.80];
        assert!(Estimate::of(&fair).is_some_and(|e| e.bounds().1 > 1.0));
        let jain = Estimate::within(&fair, Bounds::UpTo(1.0)).expect("values");
        assert!(jain.bounds().0 > 0.0 && jain.bounds().1 < 1.0);
        let full = Estimate::within(&[100.0, 100.0], Bounds::UpTo(100.0)).expect("values");
        assert_eq!(full.bounds(), (100.0, 100.0));
        let none = Estimate::within(&[0.0, 0.0, 0.0], Bounds::Positive).expect("values");
        assert_eq!(none.bounds(), (0.0, 0.0));
    }

    #[test]
    fn where_little_scatters_all_intervals_are_alike() {
        let values = [70.1, 70.3, 69.9, 70.0];
        let plain = Estimate::of(&values).expect("values").bounds();
        for bounds in [Bounds::Positive, Bounds::UpTo(100.0)] {
            let (low, high) = Estimate::within(&values, bounds).expect("values").bounds();
            assert!((low - plain.0).abs() < 2e-3 && (high - plain.1).abs() < 2e-3);
        }
    }

    #[test]
    fn the_text_says_which_sides_there_are() {
        assert_eq!(Estimate::symmetric(3.0, 0.25, 5).text(2), "3.00 ± 0.25");
        assert_eq!(Estimate::from(3.0).text(1), "3.0");
        let e = Estimate {
            mean: 10.0,
            interval: Some(Interval {
                low: 5.0,
                high: 20.0,
            }),
            n: 3,
        };
        assert_eq!(e.text(0), "10 [5, 20]");
        assert_eq!(e.scaled(2.0).text(0), "20 [10, 40]");
    }
}
