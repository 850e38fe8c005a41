//! What figures and checks take from one run. Times are in seconds, rates in Mbit/s of payload, delays in milliseconds.

use slackwater_core::{Duration, FlowId};
use slackwater_lab::run::RunResult;
use slackwater_report::BandTrack;
use slackwater_report::paper::{Line, Role};
use slackwater_results::metrics::{Quantiles, jain};
use slackwater_results::record::{BIN, LinkRecord, Transfer};
use slackwater_sim::CELL_DOWN;

/// A stretch of time: from, to.
pub type Span = (f64, f64);

fn bins((from, to): Span) -> core::ops::Range<usize> {
    let width = BIN.as_secs_f64();
    // Ends that lie on a bin's border up to rounding belong to that border.
    let at = |t: f64| (t / width + 1e-6).max(0.0) as usize;
    at(from)..at(to)
}

fn within(time: &[u64], (from, to): Span) -> core::ops::Range<usize> {
    let at = |t: f64| time.partition_point(|v| (*v as f64) * 1e-9 < t - 1e-9);
    at(from)..at(to).max(at(from))
}

/// When flow `i` was on.
pub fn life(run: &RunResult, i: usize) -> Span {
    (on(run, i), off(run, i))
}

/// When flow `i` began.
pub fn on(run: &RunResult, i: usize) -> f64 {
    run.records.config().flows[i].start.as_secs_f64()
}

/// When flow `i` was to stop.
pub fn off(run: &RunResult, i: usize) -> f64 {
    run.records.config().flows[i].stop.as_secs_f64()
}

/// When the run ends.
pub fn end(run: &RunResult) -> f64 {
    run.scenario.duration.as_secs_f64()
}

/// The length of a stretch of time.
pub fn length((from, to): Span) -> f64 {
    to - from
}

/// The whole run.
pub fn all(run: &RunResult) -> Span {
    (0.0, end(run))
}

/// Payload bytes of flow `i` that reached the receiver in `span`, whole bins of 100 ms.
pub fn delivered(run: &RunResult, i: usize, span: Span) -> f64 {
    let all = &run.records.flows[i].bins;
    let range = bins(span);
    let end = range.end.min(all.len());
    let start = range.start.min(end);
    all[start..end].iter().map(|b| b.delivered as f64).sum()
}

/// The rate at which flow `i`'s payload reached the receiver in `span`.
pub fn rate(run: &RunResult, i: usize, span: Span) -> f64 {
    delivered(run, i, span) * 8e-6 / length(span)
}

/// The share of flow `i`'s bytes whose packets were late, from `from` seconds on.
pub fn late_packets(run: &RunResult, i: usize, from: f64) -> f64 {
    let first = (from / BIN.as_secs_f64() + 1e-6) as usize;
    let bins = run.records.flows[i].bins.iter().skip(first);
    let (late, all) = bins.fold((0, 0), |(l, a), b| (l + b.late, a + b.delivered));
    late as f64 / all.max(1) as f64
}

/// The share of flow `i`'s bytes that were late since their frame was written, from `from` seconds on.
pub fn late_frames(run: &RunResult, i: usize, from: f64) -> f64 {
    let frames = run.records.flows[i].transfers.iter();
    let frames = frames.filter(|t| t.start.as_secs_f64() >= from);
    let (late, all) = frames.fold((0, 0), |(l, a), t| (l + t.late.get(), a + t.bytes.get()));
    late as f64 / all.max(1) as f64
}

/// Head-of-line delay of the queue of flow `i` at the samples of `span`: equally spaced, so their shares are shares of time.
pub fn hol(run: &RunResult, i: usize, span: Span) -> Vec<f64> {
    run.records
        .link_of(FlowId(i as u32))
        .map_or_else(Vec::new, |l| {
            let range = within(&l.series.time, span);
            l.series.hol[range]
                .iter()
                .map(|h| *h as f64 * 1e-6)
                .collect()
        })
}

/// The share of `values` that do not exceed `limit`.
pub fn share_at_most(values: &[f64], limit: f64) -> Option<f64> {
    let n = values.iter().filter(|v| **v <= limit).count();
    (!values.is_empty()).then(|| n as f64 / values.len() as f64)
}

/// The 10, 50, 90 and 99 % quantiles, mean and extremes.
pub fn quantiles(values: &[f64]) -> Option<Quantiles> {
    Quantiles::of(values.to_vec())
}

/// The bottleneck as a whole, in the data's direction.
pub fn bottleneck(run: &RunResult) -> Option<&LinkRecord> {
    let config = run.records.config();
    if config.cell {
        let is = |l: &&LinkRecord| l.node == config.bottleneck && l.index == CELL_DOWN;
        return run.records.links.iter().find(is);
    }
    run.records.link_of(FlowId(0))
}

/// Bytes that the bottleneck could have carried and did carry in `span`.
pub fn volumes(run: &RunResult, span: Span) -> Option<(f64, f64)> {
    let s = &bottleneck(run)?.series;
    let range = within(&s.time, span);
    let (a, b) = (range.start, range.end.checked_sub(1)?);
    let grown = |c: &[u64]| c[b].saturating_sub(c[a]) as f64;
    (b > a).then(|| (grown(&s.capacity), grown(&s.carried)))
}

/// Carried over capacity of the bottleneck in `span`.
pub fn utilisation(run: &RunResult, span: Span) -> Option<f64> {
    let (capacity, carried) = volumes(run, span)?;
    (capacity > 0.0).then(|| carried / capacity)
}

/// What the bottleneck could have carried in `span`, Mbit/s.
pub fn capacity(run: &RunResult, span: Span) -> Option<f64> {
    let (capacity, _) = volumes(run, span)?;
    Some(capacity * 8e-6 / length(span))
}

/// Jain's index of the bytes that `flows` delivered over `span`: the long-term reading.
pub fn jain_common(run: &RunResult, flows: &[usize], span: Span) -> Option<f64> {
    let shares: Vec<f64> = flows.iter().map(|i| delivered(run, *i, span)).collect();
    jain(&shares)
}

/// The mean over the whole seconds of `span` of Jain's index of each.
pub fn jain_1s(run: &RunResult, flows: &[usize], span: Span) -> Option<f64> {
    let (start, _) = span;
    let values: Vec<f64> = (0..(length(span) + 1e-9) as usize)
        .filter_map(|k| {
            let from = start + k as f64;
            jain_common(run, flows, (from, from + 1.0))
        })
        .collect();
    mean(&values)
}

/// Jain's index of each flow's mean rate over its own life: what flows that come and go got while they were on.
pub fn jain_life(run: &RunResult, flows: &[usize]) -> Option<f64> {
    let rates: Vec<f64> = flows.iter().map(|i| rate(run, *i, life(run, *i))).collect();
    jain(&rates)
}

/// The mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Packets of flow `i` that were dropped, for any reason, and the packets that it sent.
pub fn drops(run: &RunResult, i: usize) -> (u64, u64) {
    let f = &run.records.flows[i];
    (f.drops.iter().sum(), f.sent)
}

/// Packets of flow `i` that were dropped, for any reason.
pub fn dropped(run: &RunResult, i: usize) -> u64 {
    let (dropped, _) = drops(run, i);
    dropped
}

/// Drops of flow `i` from `from` until `to`; the recorder keeps the first 20,000 times.
pub fn drops_in(run: &RunResult, i: usize, (from, to): Span) -> usize {
    let inside = |t: f64| t >= from && t < to;
    let times = &run.records.flows[i].drop_times;
    times.iter().filter(|t| inside(t.as_secs_f64())).count()
}

/// From the first byte handed to the transport until the last arrived, of each finite transfer or chunk of flow `i`.
pub fn transfer_times(run: &RunResult, i: usize) -> Vec<f64> {
    let took = |t: &Transfer| t.end.since(t.start).as_millis_f64();
    run.records.flows[i].transfers.iter().map(took).collect()
}

/// A delay in milliseconds.
pub fn ms(delay: Option<Duration>) -> Option<f64> {
    delay.map(Duration::as_millis_f64)
}

/// One-way delays of the packets of flow `i`, in milliseconds: a thousand quantiles.
pub fn one_way(run: &RunResult, i: usize) -> Vec<f64> {
    let delays = &run.records.flows[i].one_way;
    (0..1000)
        .filter_map(|k| ms(delays.quantile((f64::from(k) + 0.5) / 1000.0)))
        .collect()
}

/// Bytes that reached the bottleneck from one sample of `span` to the next: what it carried and what more waits there.
pub fn arrivals(run: &RunResult, span: Span) -> Vec<f64> {
    let Some(link) = bottleneck(run) else {
        return Vec::new();
    };
    let s = &link.series;
    let range = within(&s.time, span);
    let seen: Vec<u64> = range.map(|k| s.carried[k] + s.backlog[k]).collect();
    seen.windows(2)
        .map(|w| w[1].saturating_sub(w[0]) as f64)
        .collect()
}

/// The value of the controller's internal `name` at the samples of `span`.
pub fn internal(run: &RunResult, i: usize, name: &str, span: Span) -> Vec<f64> {
    let internals = &run.records.flows[i].internals;
    let range = within(&internals.time, span);
    let column = internals.columns.iter().find(|(n, _)| *n == name);
    column.map_or_else(Vec::new, |(_, values)| values[range].to_vec())
}

/// The window of flow `i` in segments at the samples of `span`.
pub fn window(run: &RunResult, i: usize, span: Span) -> Vec<f64> {
    let s = &run.records.flows[i].series;
    let mss = f64::from(run.records.config().flows[i].mss.max(1));
    let range = within(&s.time, span);
    s.cwnd[range].iter().map(|b| *b as f64 / mss).collect()
}

/// The smallest RTT that flow `i` has seen by the end of `span`.
pub fn min_rtt(run: &RunResult, i: usize, span: Span) -> Option<f64> {
    let s = &run.records.flows[i].series;
    let last = within(&s.time, span).end.checked_sub(1)?;
    Some(s.min_rtt[last] as f64 * 1e-6).filter(|v| *v > 0.0)
}

/// How long after `at` the flows `flows` came to share alike: from when on every flow's rate over half a second lay
/// within `tolerance` of the mean of all, for half a second of such stretches on end. `None` where that did not happen
/// before `until`.
pub fn settling(
    run: &RunResult,
    flows: &[usize],
    at: f64,
    until: f64,
    tolerance: f64,
) -> Option<f64> {
    const STEP: f64 = 0.1;
    const STRETCH: f64 = 0.5;
    let fair = |from: f64| {
        let rates: Vec<f64> = flows
            .iter()
            .map(|i| rate(run, *i, (from, from + STRETCH)))
            .collect();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        mean > 0.0 && rates.iter().all(|r| (r - mean).abs() <= tolerance * mean)
    };
    let steps = ((until - at - 2.0 * STRETCH) / STEP + 1e-6).max(0.0) as usize;
    (0..=steps)
        .map(|k| k as f64 * STEP)
        .find(|d| (0..=5).all(|k| fair(at + d + f64::from(k) * STEP)))
}

// ---- curves

/// The rate of flow `i` over `width` bins of 100 ms.
pub fn rate_line(run: &RunResult, i: usize, width: usize, label: &str) -> Line {
    let bins = &run.records.flows[i].bins;
    let seconds = BIN.as_secs_f64() * width as f64;
    let (from, to) = life(run, i);
    let mut line = named(run, i, label);
    for (k, chunk) in bins.chunks(width).enumerate() {
        let end = (k + 1) as f64 * seconds;
        // The last stretch may be cut short by the stop: it would show a rate that never was.
        if end > from && end <= to + 1e-6 {
            line.t.push(end);
            let sum: u64 = chunk.iter().map(|b| b.delivered).sum();
            line.y.push(sum as f64 * 8e-6 / seconds);
        }
    }
    line
}

/// What the bottleneck could have carried, as the grey area behind rates; payload is `share` of it.
pub fn capacity_line(run: &RunResult, share: f64) -> Line {
    let mut line = Line {
        label: "available".to_owned(),
        role: Role::Area,
        ..Line::default()
    };
    let Some(link) = bottleneck(run) else {
        return line;
    };
    let s = &link.series;
    let mut from = 0;
    for i in 1..s.time.len() {
        let span = s.time[i] - s.time[from];
        if span >= BIN.as_nanos() {
            line.t.push(s.time[i] as f64 * 1e-9);
            line.y
                .push((s.capacity[i] - s.capacity[from]) as f64 * 8e3 / span as f64 * share);
            from = i;
        }
    }
    line
}

/// The head-of-line delay of the queue of flow `i`.
pub fn hol_line(run: &RunResult, i: usize, label: &str) -> Line {
    let mut line = named(run, i, label);
    if let Some(l) = run.records.link_of(FlowId(i as u32)) {
        line.t = l.series.time.iter().map(|t| *t as f64 * 1e-9).collect();
        line.y = l.series.hol.iter().map(|h| *h as f64 * 1e-6).collect();
    }
    line
}

/// The mean queue delay of flow `i`'s packets in each bin of 100 ms.
pub fn queue_line(run: &RunResult, i: usize, label: &str) -> Line {
    let mut line = named(run, i, label);
    for (k, bin) in run.records.flows[i].bins.iter().enumerate() {
        line.t.push((k + 1) as f64 * BIN.as_secs_f64());
        line.y.push(match bin.dequeued {
            0 => f64::NAN,
            n => bin.queue_sum as f64 / f64::from(n) * 1e-6,
        });
    }
    line
}

/// The window of flow `i` in segments.
pub fn window_line(run: &RunResult, i: usize, label: &str) -> Line {
    let mut line = named(run, i, label);
    line.t = run.records.flows[i]
        .series
        .time
        .iter()
        .map(|t| *t as f64 * 1e-9)
        .collect();
    line.y = window(run, i, (0.0, f64::INFINITY));
    let started = run.records.flows[i].series.srtt.iter().map(|r| *r > 0);
    for (y, on) in line.y.iter_mut().zip(started) {
        if !on {
            *y = f64::NAN;
        }
    }
    line
}

/// The controller's internal `name`, times `scale`; thin beside what it belongs to.
pub fn internal_line(run: &RunResult, i: usize, name: &str, scale: f64, label: &str) -> Line {
    let internals = &run.records.flows[i].internals;
    let mut line = named(run, i, label);
    line.role = Role::Side;
    if let Some((_, values)) = internals.columns.iter().find(|(n, _)| *n == name) {
        line.t = internals.time.iter().map(|t| *t as f64 * 1e-9).collect();
        line.y = values.iter().map(|v| v * scale).collect();
    }
    line
}

/// The states of flow `i`'s controller while it was on, from its internal `mode`.
pub fn track(run: &RunResult, i: usize, label: &str) -> Option<BandTrack> {
    let (from, to) = life(run, i);
    let mut bands = slackwater_report::view::bands(run, i)?;
    bands.retain(|b| b.end > from && b.start < to);
    for band in &mut bands {
        band.start = band.start.max(from);
        band.end = band.end.min(to);
    }
    Some(BandTrack {
        label: label.to_owned(),
        controller: run.layout.controllers[i].clone(),
        bands,
    })
}

fn named(run: &RunResult, i: usize, label: &str) -> Line {
    Line {
        label: label.to_owned(),
        controller: run.layout.controllers[i].clone(),
        ..Line::default()
    }
}

#[cfg(test)]
mod tests;
