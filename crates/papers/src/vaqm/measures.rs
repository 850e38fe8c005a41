//! What the figures take from a run: round-trip times, rates and load times of the flows of each label.

use std::collections::BTreeMap;

use slackwater_lab::run::RunResult;

use super::super::measure as m;
use super::super::study::Outcome;

/// Round-trip times of the flows `flows` in milliseconds, from the end of the warm-up on.
pub(super) fn rtts(run: &RunResult, flows: impl IntoIterator<Item = usize>) -> Vec<f64> {
    let from = run.scenario.warmup.as_nanos();
    let mut all = vec![];
    for i in flows {
        let flow = &run.records.flows[i];
        let samples = flow.series.time.iter().zip(&flow.series.rtt);
        let settled = samples.filter(|(t, rtt)| **t >= from && **rtt > 0);
        all.extend(settled.map(|(_, rtt)| *rtt as f64 * 1e-6));
    }
    all
}

/// The flows of each label; those that share one are numbered.
fn labels(run: &RunResult) -> BTreeMap<&str, Vec<usize>> {
    let mut all: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, label) in run.layout.labels.iter().enumerate() {
        let word = label.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ');
        all.entry(word).or_default().push(i);
    }
    all
}

/// For each label: RTT quantiles (`bulk_p50`, `bulk_p95`), the rate of its flows together (`bulk_rate`), median and 95 %
/// of its loads in seconds (`loads_time`, `loads_time_p95`) and their number (`loads_n`), frames later than the
/// scenario's limit in percent (`vr_late`); the rate of all flows (`rate`).
pub(super) fn keep(run: &RunResult, out: &mut Outcome) {
    let span = (run.scenario.warmup.as_secs_f64(), m::end(run));
    let mut total = 0.0;
    for (label, flows) in labels(run) {
        let rate: f64 = flows.iter().map(|i| m::rate(run, *i, span)).sum();
        total += rate;
        out.value(format!("{label}_rate"), Some(rate));
        if let Some(q) = m::quantiles(&rtts(run, flows.iter().copied())) {
            out.value(format!("{label}_p50"), Some(q.p50));
            out.value(format!("{label}_p95"), Some(q.p95));
        }
        let transfers = flows.iter().flat_map(|i| m::transfer_times(run, *i));
        let times: Vec<f64> = transfers.map(|t| t * 1e-3).collect();
        if let Some(q) = m::quantiles(&times) {
            let limit = run.scenario.record.late.as_secs_f64();
            let late = times.iter().filter(|t| **t > limit).count();
            out.value(format!("{label}_time"), Some(q.p50));
            out.value(format!("{label}_time_p95"), Some(q.p95));
            out.value(format!("{label}_n"), Some(times.len() as f64));
            out.value(
                format!("{label}_late"),
                Some(late as f64 * 100.0 / times.len() as f64),
            );
        }
    }
    out.value("rate", Some(total));
}
