//! Who is better, seed by seed: differences within a seed do not carry what all systems of that seed share.

use libm::{atan, cos, sin, sqrt};

use super::Estimate;

/// The mean of paired differences, its interval and how likely it is by chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Mean difference and its 95 % interval.
    pub difference: Estimate,
    /// Two-sided p-value of Student's test that the mean is zero; 1 for fewer than two pairs.
    pub p: f64,
}

/// `a` less `b`, pair by pair; `None` without pairs.
pub fn paired(a: &[f64], b: &[f64]) -> Option<Paired> {
    let d: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let difference = Estimate::of(&d)?;
    let n = d.len();
    let m = difference.mean;
    let squares: f64 = d.iter().map(|v| (v - m) * (v - m)).sum();
    let p = if n < 2 {
        1.0
    } else if squares > 0.0 {
        let error = sqrt(squares / ((n - 1) * n) as f64);
        two_sided(m.abs() / error, n - 1)
    } else if m == 0.0 {
        1.0
    } else {
        // Every seed says exactly the same.
        0.0
    };
    Some(Paired { difference, p })
}

/// True where `other` is as good as `best`, the values of the best mean, seed by seed: their difference is not significant at 5 %, and
/// the mean of `other` lies within the interval of the best. Scatter alone makes no one as good. A single value has no equal but itself.
pub fn is_as_good(best: &[f64], other: &[f64]) -> bool {
    let (Some(top), Some(mean)) = (Estimate::of(best), Estimate::of(other).map(|e| e.mean)) else {
        return false;
    };
    let within = (mean - top.mean).abs() <= top.half_width.unwrap_or(0.0);
    within && (best.len() != other.len() || paired(best, other).is_none_or(|d| d.p > 0.05))
}

/// The probability that |t| is larger, for whole degrees of freedom.
// Abramowitz and Stegun 1964, 26.7.3 and 26.7.4.
fn two_sided(t: f64, df: usize) -> f64 {
    let theta = atan(t / sqrt(df as f64));
    let (s, c) = (sin(theta), cos(theta));
    let odd = df % 2 == 1;
    // The sum of products 2/3, 4/5, ... (odd) or 1/2, 3/4, ... (even) with rising powers of the cosine.
    let mut term = if odd { c } else { 1.0 };
    let mut sum = if df == 1 { 0.0 } else { term };
    let mut k = if odd { 3 } else { 2 };
    while k < df {
        term *= (k - 1) as f64 / k as f64 * c * c;
        sum += term;
        k += 2;
    }
    let within = if odd {
        core::f64::consts::FRAC_2_PI * (theta + s * sum)
    } else {
        s * sum
    };
    (1.0 - within).clamp(0.0, 1.0)
}

/// Which of many tests stand where at most the share `q` of those that stand may do so by chance.
// Benjamini and Hochberg 1995.
pub fn discoveries(p: &[f64], q: f64) -> Vec<bool> {
    let mut sorted = p.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let limit = sorted
        .iter()
        .enumerate()
        .rev()
        .find(|(i, p)| **p <= q * (i + 1) as f64 / n)
        .map(|(_, p)| *p);
    p.iter()
        .map(|p| limit.is_some_and(|limit| *p <= limit))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::interval::t95;

    #[test]
    fn five_in_a_hundred_lie_beyond_the_factor_of_the_interval() {
        for df in 1..=30 {
            let p = two_sided(t95(df), df);
            assert!((p - 0.05).abs() < 2e-4, "{df}: {p}");
        }
        assert!((two_sided(0.0, 4) - 1.0).abs() < 1e-12);
        // t(4) = 8.610 leaves a thousandth.
        assert!((two_sided(8.610, 4) - 0.001).abs() < 1e-5);
    }

    #[test]
    fn what_seeds_share_does_not_hide_a_difference() {
        let a = [11.0, 21.1, 30.9, 41.0, 51.1];
        let b = [10.0, 20.0, 30.0, 40.0, 50.0];
        let both = paired(&a, &b).expect("five pairs");
        assert!((both.difference.mean - 1.02).abs() < 1e-9);
        assert!(both.p < 1e-4, "{}", both.p);
        assert_eq!(paired(&[2.0, 3.0], &[1.0, 2.0]).map(|p| p.p), Some(0.0));
        assert_eq!(paired(&[2.0], &[1.0]).map(|p| p.p), Some(1.0));
        assert_eq!(paired(&b, &b).map(|p| p.p), Some(1.0));
    }

    #[test]
    fn scatter_makes_no_one_as_good() {
        // Two seeds of a delay: 1762 +- 3144 ms is no match for 25 +- 7.
        assert!(!is_as_good(&[24.4, 25.6], &[1515.0, 2009.0]));
        // What all seeds agree on counts, though the intervals overlap.
        let best = [11.0, 21.1, 30.9, 41.0, 51.1];
        assert!(!is_as_good(&best, &[10.0, 20.0, 30.0, 40.0, 50.0]));
        assert!(is_as_good(&best, &[11.1, 21.0, 30.9, 41.1, 50.9]));
        assert!(is_as_good(&best, &best));
        assert!(is_as_good(&[3.0], &[3.0]) && !is_as_good(&[3.0], &[2.9]));
        assert!(!is_as_good(&best, &[]));
    }

    #[test]
    fn many_tests_need_more() {
        // Of Benjamini and Hochberg's example, 3.2, the first four of fifteen.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let stand = discoveries(&p, 0.05);
        assert_eq!(stand.iter().filter(|s| **s).count(), 4);
        assert!(stand[..4].iter().all(|s| *s));
    }
}
