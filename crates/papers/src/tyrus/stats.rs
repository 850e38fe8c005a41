//! Interquartile means with bootstrap intervals (Agarwal et al., "Deep Reinforcement Learning at the Edge of the
//! Statistical Precipice", `NeurIPS` 2021).

use slackwater_core::Draw;
use slackwater_results::stats::{Estimate, stratified};

/// Resamples.
const SAMPLES: u64 = 2000;

/// The mean of the middle half; with fewer than four values, of all.
pub(super) fn iqm(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    let cut = values.len() / 4;
    let middle = &values[cut..values.len() - cut];
    Some(middle.iter().sum::<f64>() / middle.len() as f64)
}

/// The interquartile mean of all values, with its 95 % interval: values are drawn again within each stratum.
pub(super) fn estimate(strata: &[Vec<f64>]) -> Option<Estimate> {
    stratified(strata, SAMPLES, Draw::new(0x1_9b), iqm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interquartile_mean_forgets_extremes() {
        assert_eq!(iqm(&mut [1.0, 2.0, 3.0, 1000.0]), Some(2.5));
        assert_eq!(iqm(&mut [5.0]), Some(5.0));
        assert_eq!(iqm(&mut []), None);
        let e = estimate(&[vec![1.0, 1.2, 0.8], vec![3.0, 3.1, 2.9]]).expect("values");
        assert!((e.mean - 2.0).abs() < 0.1, "{}", e.mean);
        assert!(e.half_width().is_some_and(|w| w > 0.0 && w < 1.0));
        let same = estimate(&[vec![2.0; 8]]).expect("values");
        assert_eq!((same.mean, same.half_width()), (2.0, Some(0.0)));
    }
}
