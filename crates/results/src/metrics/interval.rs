//! Means over seeds with their 95 % intervals (Student's t).

use serde::{Deserialize, Serialize};

/// A mean over seeds. One seed has a mean and no interval, and says so by `n = 1`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean.
    pub mean: f64,
    /// Half the width of the 95 % interval of the mean; `None` for one value.
    pub half_width: Option<f64>,
    /// How many values.
    pub n: usize,
}

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom.
const T95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The factor for `df` degrees of freedom; between table entries the larger, that is the careful one.
pub fn t95(df: usize) -> f64 {
    match df {
        0 => f64::INFINITY,
        1..=30 => T95[df - 1],
        31..=39 => 2.042,
        40..=59 => 2.021,
        60..=119 => 2.000,
        120..=999 => 1.980,
        _ => 1.962,
    }
}

impl Estimate {
    /// The mean of `values` and its interval; `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let half_width = (n >= 2).then(|| {
            let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
            let deviation = (squares / (n - 1) as f64).sqrt();
            t95(n - 1) * deviation / (n as f64).sqrt()
        });
        Some(Self {
            mean,
            half_width,
            n,
        })
    }

    /// `12.3 +- 0.4` with `decimals`, or `12.3 (1 seed)`.
    pub fn text(&self, decimals: usize) -> String {
        match self.half_width {
            Some(h) => format!("{:.decimals$} ± {h:.decimals$}", self.mean),
            None => format!("{:.decimals$}", self.mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Draw;

    use super::*;

    #[test]
    fn a_hand_computed_interval() {
        // Mean 3, variance 2.5, t(4) = 2.776: 2.776 * sqrt(2.5 / 5).
        let e = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("values");
        assert_eq!(e.mean, 3.0);
        assert!((e.half_width.expect("five values") - 1.962_928).abs() < 1e-5);
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[7.0]).and_then(|e| e.half_width), None);
    }

    #[test]
    fn the_factor_falls_with_the_number_of_seeds() {
        assert!((1..2000).all(|df| t95(df + 1) <= t95(df)));
    }

    #[test]
    fn intervals_cover_the_true_mean_about_nineteen_times_in_twenty() {
        let draw = Draw::new(7);
        let trials = 4000u64;
        let covered = (0..trials)
            .filter(|trial| {
                let values: Vec<f64> = (0..5).map(|i| draw.normal(trial * 5 + i)).collect();
                let e = Estimate::of(&values).expect("values");
                e.mean.abs() <= e.half_width.expect("five values")
            })
            .count();
        let share = covered as f64 / trials as f64;
        // Four standard errors of a share of 0.95 over 4,000 trials.
        assert!((share - 0.95).abs() < 0.014, "{share}");
    }
}
