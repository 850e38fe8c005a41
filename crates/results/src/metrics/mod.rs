//! What the numbers mean: each metric is defined here, once, and described in `docs/metrics.md`.

pub mod histogram;
pub mod summary;
pub mod table;

pub use crate::stats::{Bounds, Estimate, Interval, Paired, discoveries, paired, t95};
pub use histogram::Histogram;
pub use summary::{Closed, FlowSummary, Jain, LinkSummary, Quantiles, RunSummary, summarize};
pub use table::{Better, METRICS, Metric};

/// The nearest rank (from 1) of quantile `q` among `count` values.
pub(crate) fn rank(count: u64, q: f64) -> Option<u64> {
    (count > 0).then(|| ((q * count as f64).ceil() as u64).clamp(1, count))
}

/// The nearest-rank quantile of `sorted`: the smallest value that at least `q` of all values do not exceed.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let rank = rank(sorted.len() as u64, q)?;
    sorted.get(rank as usize - 1).copied()
}

/// Jain's fairness index of `shares`: `(sum x)^2 / (n sum x^2)`, from 1/n to 1; `None` for fewer than two shares or
/// where all are zero.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (shares.len() >= 2 && squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_of_known_vectors() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        // (1 + 2 + 3)^2 / (3 * 14)
        let j = jain(&[1.0, 2.0, 3.0]).expect("three shares");
        assert!((j - 36.0 / 42.0).abs() < 1e-15);
        assert_eq!(jain(&[1.0]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }

    #[test]
    fn quantiles_are_values_that_occurred() {
        let v = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&v, 0.0), Some(1.0));
        assert_eq!(quantile(&v, 0.25), Some(1.0));
        assert_eq!(quantile(&v, 0.26), Some(2.0));
        assert_eq!(quantile(&v, 0.5), Some(2.0));
        assert_eq!(quantile(&v, 1.0), Some(4.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn the_metrics_in_the_documentation_are_current() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
        let page = std::fs::read_to_string(page).expect("docs/metrics.md");
        assert!(
            page.contains(&format!(
                "<!-- metrics -->\n{}<!-- /metrics -->",
                table::markdown()
            )),
            "docs/metrics.md: replace what stands between the markers by what \
             `cargo test -p slackwater-results print_the_metrics -- --ignored --nocapture` prints"
        );
    }

    #[test]
    #[ignore = "prints the generated part of docs/metrics.md"]
    #[expect(clippy::print_stdout, reason = "its purpose")]
    fn print_the_metrics() {
        println!("{}", table::markdown());
    }
}
