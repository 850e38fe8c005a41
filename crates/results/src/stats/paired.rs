//! Who is better, seed by seed: differences within a seed do not carry what all systems of that seed share.

use super::estimate::standard_error;
use super::student::two_sided;
use super::{Estimate, LEVEL, seeds_for};

/// The mean of paired differences, its interval and how likely it is by chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Mean difference and its 95 % interval. A difference has no bounds.
    pub difference: Estimate,
    /// Two-sided p-value of Student's test that the mean is zero; 1 for fewer than two pairs.
    pub p: f64,
}

impl Paired {
    /// Chance alone gives such a difference less than once in twenty times.
    pub fn stands(&self) -> bool {
        self.p <= LEVEL
    }

    /// With how many seeds a difference as large as this, with this scatter, would stand; `None` where it stands already, where there is
    /// no difference, or where it would take too many.
    pub fn seeds_to_decide(&self) -> Option<usize> {
        let half = self.difference.half_width()?;
        (!self.stands())
            .then(|| seeds_for(half, self.difference.n, self.difference.mean.abs()))
            .flatten()
    }
}

/// `a` less `b`, pair by pair; `None` without pairs.
pub fn paired(a: &[f64], b: &[f64]) -> Option<Paired> {
    let d: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let difference = Estimate::of(&d)?;
    let error = if d.len() < 2 {
        return Some(Paired { difference, p: 1.0 });
    } else {
        standard_error(&d, difference.mean)
    };
    let p = if error > 0.0 {
        two_sided(difference.mean / error, d.len() - 1)
    } else if difference.mean == 0.0 {
        1.0
    } else {
        // Every seed says exactly the same.
        0.0
    };
    Some(Paired { difference, p })
}

/// The same over the seeds that both have: `None` in a list stands for a seed without a value.
pub fn paired_of(a: &[Option<f64>], b: &[Option<f64>]) -> Option<Paired> {
    let both = a.iter().zip(b).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
    let (a, b): (Vec<f64>, Vec<f64>) = both.unzip();
    paired(&a, &b)
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

    #[test]
    fn what_seeds_share_does_not_hide_a_difference() {
        let a = [11.0, 21.1, 30.9, 41.0, 51.1];
        let b = [10.0, 20.0, 30.0, 40.0, 50.0];
        let both = paired(&a, &b).expect("five pairs");
        assert!((both.difference.mean - 1.02).abs() < 1e-9);
        assert!(both.p < 1e-4 && both.stands(), "{}", both.p);
        assert_eq!(both.seeds_to_decide(), None);
        assert_eq!(paired(&[2.0, 3.0], &[1.0, 2.0]).map(|p| p.p), Some(0.0));
        assert_eq!(paired(&[2.0], &[1.0]).map(|p| p.p), Some(1.0));
        assert_eq!(paired(&b, &b).map(|p| p.p), Some(1.0));
    }

    #[test]
    fn a_seed_that_one_lacks_makes_no_pair() {
        let a = [Some(11.0), None, Some(31.5), Some(41.0)];
        let b = [Some(10.0), Some(20.0), Some(30.0), None];
        let d = paired_of(&a, &b).expect("two pairs").difference;
        assert_eq!((d.n, d.mean), (2, 1.25));
        assert!(paired_of(&a[..1], &b[3..]).is_none());
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
