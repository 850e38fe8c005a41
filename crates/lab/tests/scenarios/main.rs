//! Small scenarios, each asserted on what it shows.

mod abc;
mod controllers;
mod media;
mod page;
mod slots;
mod upf;
mod zhuge;

use slackwater_lab::run::RunResult;
use slackwater_results::record::BIN;

/// Payload of flow `i` that reached the receiver between the seconds `from` and `to`, in Mbit/s.
fn rate(run: &RunResult, i: usize, (from, to): (f64, f64)) -> f64 {
    let bin = |t: f64| (t / BIN.as_secs_f64()).round() as usize;
    let bins = run.records.flows[i].bins.iter();
    let bytes: u64 = bins
        .take(bin(to))
        .skip(bin(from))
        .map(|b| b.delivered)
        .sum();
    bytes as f64 * 8e-6 / (to - from)
}

/// How long each transfer or page of flow `i` took, in milliseconds.
fn transfer_times(run: &RunResult, i: usize) -> Vec<f64> {
    let transfers = run.records.flows[i].transfers.iter();
    transfers
        .map(|t| t.end.since(t.start).as_millis_f64())
        .collect()
}
