//! How many seeds would decide.

use libm::sqrt;

use super::student::t95;

/// More seeds than this are not named: the answer would be a guess.
pub const MOST_SEEDS: usize = 10_000;

/// The least number of seeds whose interval has a half-width of at most `distance`, if they scatter as the `n` did whose interval has
/// `half`. `None` where there is no scatter to go by, no distance, or where it takes more than [`MOST_SEEDS`].
pub fn seeds_for(half: f64, n: usize, distance: f64) -> Option<usize> {
    if n < 2 || !half.is_finite() || !distance.is_finite() || distance <= 0.0 {
        return None;
    }
    let deviation = half * sqrt(n as f64) / t95(n - 1);
    let enough = |m: usize| t95(m - 1) * deviation <= distance * sqrt(m as f64);
    // The half-width falls with the number: the least that is enough lies between.
    let (mut few, mut many) = (1, MOST_SEEDS);
    if !enough(many) {
        return None;
    }
    while many - few > 1 {
        let middle = usize::midpoint(few, many);
        if enough(middle) {
            many = middle;
        } else {
            few = middle;
        }
    }
    Some(many)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_the_least_that_is_enough() {
        // A deviation of 1, from five seeds: t(m - 1) / sqrt(m) falls below 0.5 at m = 18.
        let half = t95(4) / sqrt(5.0);
        assert_eq!(seeds_for(half, 5, 0.5), Some(18));
        assert!(t95(17) / sqrt(18.0) <= 0.5 && t95(16) / sqrt(17.0) > 0.5);
        // What is there already is enough for what it reaches.
        assert_eq!(seeds_for(half, 5, half), Some(5));
        assert_eq!(seeds_for(half, 5, 0.0), None);
        assert_eq!(seeds_for(half, 1, 0.5), None);
        assert_eq!(seeds_for(half, 5, 1e-6), None);
        assert_eq!(seeds_for(0.0, 5, 1.0), Some(2));
    }
}
