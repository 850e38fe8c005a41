//! Student's t, by the library's incomplete beta function.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Quantiles and probabilities are rounded to this: the library's logarithms may differ between machines beyond it.
const GRAIN: f64 = 1e-10;

fn law(df: usize) -> StudentsT {
    StudentsT::new(0.0, 1.0, df as f64).expect("degrees of freedom are above zero")
}

/// The quantile at probability `q` in (0, 1) with `df` degrees of freedom, at least one.
pub fn quantile(q: f64, df: usize) -> f64 {
    (law(df).inverse_cdf(q) / GRAIN).round() * GRAIN
}

/// Half the width of a two-sided 95 % interval in standard errors; infinite for no degree of freedom.
pub fn t95(df: usize) -> f64 {
    if df == 0 {
        f64::INFINITY
    } else {
        quantile(0.975, df)
    }
}

/// The probability that |t| is larger, with `df` degrees of freedom, at least one.
pub(super) fn two_sided(t: f64, df: usize) -> f64 {
    let p = 2.0 * law(df).cdf(-t.abs());
    ((p / GRAIN).round() * GRAIN).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // Abramowitz and Stegun 1964, table 26.10, two-sided 5 %; the last from the normal law's 1.95996 by its expansion 26.7.5.
        let known = [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (9, 2.262),
            (19, 2.093),
            (30, 2.042),
            (60, 2.000),
            (120, 1.980),
            (1000, 1.9623),
        ];
        for (df, t) in known {
            assert!((t95(df) - t).abs() < 6e-4, "{df}: {}", t95(df));
        }
        assert!((1..500).all(|df| t95(df + 1) < t95(df)));
        assert_eq!(t95(0), f64::INFINITY);
    }

    #[test]
    fn five_in_a_hundred_lie_beyond_the_quantile() {
        for df in [1, 2, 3, 4, 7, 30, 200] {
            assert!((two_sided(t95(df), df) - 0.05).abs() < 1e-8, "{df}");
        }
        assert!((two_sided(0.0, 4) - 1.0).abs() < 1e-9);
        // t(4) = 8.610 leaves a thousandth.
        assert!((two_sided(-8.610, 4) - 0.001).abs() < 1e-6);
    }
}
