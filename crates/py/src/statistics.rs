//! Statistics over seeds or traces, which Python has none of its own for.

use pyo3::prelude::*;
use slackwater_results::stats;

/// The mean of `a` less `b`, pair by pair, with the ends of its 95 % interval (none for one pair) and its p-value; `None` without pairs.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "a list of Python's becomes a Vec"
)]
pub(crate) fn paired(a: Vec<f64>, b: Vec<f64>) -> Option<(f64, Option<f64>, Option<f64>, f64)> {
    let found = stats::paired(&a, &b)?;
    let interval = found.difference.interval;
    Some((
        found.difference.mean,
        interval.map(|i| i.low),
        interval.map(|i| i.high),
        found.p,
    ))
}
