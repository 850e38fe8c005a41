//! Interquartile means with bootstrap intervals (Agarwal et al., "Deep Reinforcement Learning at the Edge of the
//! Statistical Precipice", `NeurIPS` 2021).

use slackwater_core::Draw;
use slackwater_results::metrics::Estimate;

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

/// The interquartile mean of all values, with half the width of its 95 % interval: values are drawn again within each
/// stratum.
pub(super) fn estimate(strata: &[Vec<f64>]) -> Option<Estimate> {
    let mut all: Vec<f64> = strata.iter().flatten().copied().collect();
    let mean = iqm(&mut all)?;
    let draw = Draw::new(0x1_9b);
    let mut means = Vec::with_capacity(SAMPLES as usize);
    for sample in 0..SAMPLES {
        let mut key = 0;
        let source = draw.fork(1, sample);
        let mut again: Vec<f64> = Vec::with_capacity(all.len());
        for stratum in strata.iter().filter(|s| !s.is_empty()) {
            for _ in 0..stratum.len() {
                let at = (source.uniform(key) * stratum.len() as f64) as usize;
                key += 1;
                again.push(stratum[at]);
            }
        }
        means.extend(iqm(&mut again));
    }
    means.sort_unstable_by(f64::total_cmp);
    let low = slackwater_results::metrics::quantile(&means, 0.025)?;
    let high = slackwater_results::metrics::quantile(&means, 0.975)?;
    Some(Estimate {
        mean,
        half_width: Some((high - low) / 2.0),
        n: all.len(),
    })
}

/// Mean and standard error of `values`.
pub(super) fn standard_error(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let sum: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    Some((mean, libm::sqrt(sum / (n - 1.0) / n)))
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
        assert!(e.half_width.is_some_and(|w| w > 0.0 && w < 1.0));
        let same = estimate(&[vec![2.0; 8]]).expect("values");
        assert_eq!((same.mean, same.half_width), (2.0, Some(0.0)));
        let (mean, se) = standard_error(&[1.0, 2.0, 3.0]).expect("values");
        assert!((mean - 2.0).abs() < 1e-12 && (se - libm::sqrt(1.0 / 3.0)).abs() < 1e-12);
    }
}
