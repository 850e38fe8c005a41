//! What is kept of a run: the four measures, and what tables show beside them.

use slackwater_lab::run::RunResult;
use slackwater_results::metrics::Estimate;

use super::super::measure as m;
use super::super::study::{Outcome, Runs};

/// The share of bytes that may come late (CECC, II: 99.99 % within 10 ms).
pub(super) const ALLOWED: f64 = 1e-4;

/// Measures called steady begin here, in seconds.
pub(super) const SETTLED: f64 = 2.0;

/// From the socket until the last byte arrived, of the frames of all VR flows from `from` seconds on, in milliseconds.
pub(super) fn frame_times(run: &RunResult, from: f64) -> Vec<f64> {
    let frames = run.records.flows.iter().flat_map(|f| &f.transfers);
    let frames = frames.filter(|t| t.start.as_secs_f64() >= from);
    frames
        .map(|t| t.end.since(t.start).as_millis_f64())
        .collect()
}

/// The share of a flow's late bytes from some second on.
type Measure = fn(&RunResult, usize, f64) -> f64;

/// The four measures: how many flows are satisfied (`net_all`, `net_steady`, `frame_all`, `frame_steady`), and the mean
/// share of late bytes in percent (`late_` before each; `worst_` and `least_` for single flows; `share_` is the percentage satisfied). Flows without frames (bulk
/// transfers) do not count; their rate is `bulk`.
pub(super) fn keep(run: &RunResult, out: &mut Outcome) {
    let all: Vec<usize> = (0..run.layout.labels.len()).collect();
    let framed = |i: &usize| !run.records.flows[*i].transfers.is_empty();
    let (vr, bulk): (Vec<usize>, Vec<usize>) = all.into_iter().partition(framed);
    let kinds: [(&str, Measure); 2] = [("net", m::late_packets), ("frame", m::late_frames)];
    for (kind, late) in kinds {
        for (span, from) in [("all", 0.0), ("steady", SETTLED)] {
            let shares: Vec<f64> = vr.iter().map(|i| late(run, *i, from)).collect();
            let satisfied = shares.iter().filter(|s| **s <= ALLOWED).count();
            out.value(format!("{kind}_{span}"), Some(satisfied as f64));
            let percent = 100.0 * satisfied as f64 / shares.len().max(1) as f64;
            out.value(format!("share_{kind}_{span}"), Some(percent));
            let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
            out.value(format!("least_{kind}_{span}"), Some(least * 100.0));
            let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
            out.value(format!("late_{kind}_{span}"), Some(mean * 100.0));
            let worst = shares.iter().copied().fold(0.0, f64::max);
            out.value(format!("worst_{kind}_{span}"), Some(worst * 100.0));
        }
    }
    let limit = run.scenario.record.late.as_millis_f64();
    let frames = frame_times(run, SETTLED);
    let whole = m::share_at_most(&frames, limit).map(|s| (1.0 - s) * 100.0);
    out.value("late_whole_steady", whole);
    if let Some(q) = m::quantiles(&frames) {
        out.value("frame_p50", Some(q.p50));
        out.value("frame_p99", Some(q.p99));
        out.value("frame_max", Some(q.max));
    }
    let span = (SETTLED, m::end(run));
    let rate = |flows: &[usize]| flows.iter().map(|i| m::rate(run, *i, span)).sum();
    out.value("rate", Some(rate(&vr)));
    if !bulk.is_empty() {
        out.value("bulk", Some(rate(&bulk)));
    }
}

/// `name` of `a` less `factor` times `of` of `b`, seed by seed.
pub(super) fn less(a: &Runs, name: &str, factor: f64, b: &Runs, of: &str) -> Option<Estimate> {
    let (a, b) = (a.values(name), b.values(of));
    let each: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - factor * b).collect();
    Estimate::of(&each)
}

/// Of `runs` those with the largest mean of `name`.
pub(super) fn best<'a>(runs: impl Iterator<Item = &'a Runs>, name: &str) -> &'a Runs {
    let most = runs.max_by(|a, b| a.mean(name).total_cmp(&b.mean(name)));
    most.expect("at least one number of flows")
}
