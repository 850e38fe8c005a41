//! Intervals of a statistic that has no formula, by drawing the values again.

use slackwater_core::Draw;

use super::{Estimate, Interval};
use crate::metrics::quantile;

/// The statistic of all values, with its 95 % interval: the 2.5 and 97.5 % quantiles over `samples` draws, each of which draws every
/// stratum again from itself. `None` where the statistic has no value.
pub fn stratified(
    strata: &[Vec<f64>],
    samples: u64,
    draw: Draw,
    statistic: impl Fn(&mut [f64]) -> Option<f64>,
) -> Option<Estimate> {
    let mut all: Vec<f64> = strata.iter().flatten().copied().collect();
    let mean = statistic(&mut all)?;
    let mut found = Vec::with_capacity(samples as usize);
    for sample in 0..samples {
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
        found.extend(statistic(&mut again));
    }
    found.sort_unstable_by(f64::total_cmp);
    Some(Estimate {
        mean,
        interval: Some(Interval {
            low: quantile(&found, 0.025)?,
            high: quantile(&found, 0.975)?,
        }),
        n: all.len(),
    })
}
