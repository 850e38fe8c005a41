//! Who is best.

use super::{Estimate, paired_of};

/// A row's mean with its interval, and the value of each seed; `None` where it has none.
pub type Ranked<'a> = Option<(Estimate, &'a [Option<f64>])>;

/// Which rows are best: those that none is significantly better than, seed by seed, and whose mean lies in the interval of the best
/// mean. Scatter makes no row best: a wide interval alone keeps a test from standing, so the mean has to be near as well. A row of a
/// single seed has no equal but itself. Rows list the same seeds in the same order; `higher` says that more is better.
pub fn best(rows: &[Ranked<'_>], higher: bool) -> Vec<bool> {
    let sign = if higher { 1.0 } else { -1.0 };
    let score = |e: &Estimate| sign * e.mean;
    let there = rows.iter().flatten().filter(|(e, _)| e.mean.is_finite());
    let top = there.map(|(e, _)| e);
    let Some((low, high)) = top
        .max_by(|a, b| score(a).total_cmp(&score(b)))
        .map(Estimate::bounds)
    else {
        return vec![false; rows.len()];
    };
    let beaten = |seeds: &[Option<f64>]| {
        // One pair proves nothing: of many rows with a seed each, none has to be held against all others.
        if seeds.iter().flatten().nth(1).is_none() {
            return false;
        }
        rows.iter().flatten().any(|(_, other)| {
            paired_of(other, seeds).is_some_and(|d| d.stands() && sign * d.difference.mean > 0.0)
        })
    };
    rows.iter()
        .map(|row| row.is_some_and(|(e, seeds)| low <= e.mean && e.mean <= high && !beaten(seeds)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Bounds;

    fn of(rows: &[&[f64]], higher: bool) -> Vec<bool> {
        let seeds: Vec<Vec<Option<f64>>> = rows
            .iter()
            .map(|row| row.iter().copied().map(Some).collect())
            .collect();
        let rows: Vec<Ranked<'_>> = rows
            .iter()
            .zip(&seeds)
            .map(|(row, seeds)| Some((Estimate::within(row, Bounds::Positive)?, &seeds[..])))
            .collect();
        best(&rows, higher)
    }

    #[test]
    fn scatter_makes_no_row_best() {
        // Two seeds of a delay: 1762 +- 3144 ms is no match for 25 +- 7.
        assert_eq!(
            of(&[&[24.4, 25.6], &[1515.0, 2009.0]], false),
            [true, false]
        );
        assert_eq!(of(&[&[3.0], &[3.0], &[2.9]], true), [true, true, false]);
        assert_eq!(of(&[&[3.0], &[]], true), [true, false]);
        assert!(of(&[], true).is_empty());
    }

    #[test]
    fn what_all_seeds_agree_on_counts_though_intervals_overlap() {
        let a: &[f64] = &[11.0, 21.1, 30.9, 41.0, 51.1];
        let b: &[f64] = &[10.0, 20.0, 30.0, 40.0, 50.0];
        let c: &[f64] = &[11.1, 21.0, 30.9, 41.1, 50.9];
        assert_eq!(of(&[a, b, c], true), [true, false, true]);
        assert_eq!(of(&[a, b, c], false), [false, true, false]);
    }

    #[test]
    fn a_row_is_held_against_every_other_and_not_against_the_best_mean_alone() {
        // The first has the best mean by one lucky seed; the second is beaten by the third in every seed.
        let first: &[f64] = &[10.0, 10.0, 10.0, 30.0];
        let second: &[f64] = &[12.0, 12.1, 12.0, 12.2];
        let third: &[f64] = &[13.0, 13.1, 13.1, 13.2];
        assert_eq!(of(&[first, second, third], true), [true, false, true]);
    }
}
