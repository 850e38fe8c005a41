//! The curves of runs on one time axis, from their Parquet files.

use std::collections::BTreeMap;
use std::path::Path;

use slackwater_results::metrics::RunSummary;
use slackwater_results::output::STATES;
use slackwater_results::record::BIN;
use slackwater_scenario::bounded;

use super::read::TableFile;
use super::{Shelf, ShelfError};
use crate::view::{self, states};
use crate::{Band, BandTrack, EventKind, EventTrack, Report, RunView, Series, SeriesKind};

/// More runs than this on one axis cannot be told apart.
pub const MAX_RUNS: usize = 4;

/// A page with the curves of the runs at `paths` below the shelf's folder, over one another.
///
/// # Errors
/// Where a run does not exist or a file of it cannot be read.
pub fn overlay(shelf: &Shelf, paths: &[String]) -> Result<Report, ShelfError> {
    let mut runs = vec![];
    let mut summaries = vec![];
    for path in paths.iter().take(MAX_RUNS) {
        let (folder, summary) = shelf.summary(path)?;
        runs.push(run(path, &folder, &summary)?);
        summaries.push(summary);
    }
    let mut report = Report {
        title: paths.join(" and "),
        subtitle: "Runs on one time axis, read back from their files.".to_owned(),
        command: String::new(),
        generated_by: format!("slackwater {}", env!("CARGO_PKG_VERSION")),
        tables: view::summaries(&summaries, paths),
        runs,
        ..Report::default()
    };
    if paths.len() > MAX_RUNS {
        report
            .notes
            .push(format!("The first {MAX_RUNS} of {} runs.", paths.len()));
    }
    Ok(report)
}

fn run(name: &str, folder: &Path, summary: &RunSummary) -> Result<RunView, ShelfError> {
    let mut view = RunView {
        name: name.to_owned(),
        label: name.rsplit('/').next().unwrap_or(name).to_owned(),
        controllers: summary.flows.iter().map(|f| f.controller.clone()).collect(),
        seed: Some(summary.seed),
        shown: true,
        ..RunView::default()
    };
    view.controllers.retain(|c| !c.is_empty());
    view.controllers.dedup();
    capacity(folder, summary, &mut view)?;
    throughput(folder, summary, &mut view)?;
    senders(folder, summary, &mut view)?;
    events(folder, summary, &mut view)?;
    internals(folder, summary, &mut view)?;
    Ok(view)
}

/// Splits rows by a column of indices into flows; rows stay in order.
fn by_flow(flows: &[i64], count: usize) -> Vec<Vec<usize>> {
    let mut rows = vec![vec![]; count.min(view::MAX_FLOWS)];
    for (row, flow) in flows.iter().enumerate() {
        if let Some(rows) = usize::try_from(*flow).ok().and_then(|f| rows.get_mut(f)) {
            rows.push(row);
        }
    }
    rows
}

fn seconds(ns: &[i64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|r| ns[*r] as f64 * 1e-9).collect()
}

fn push(
    view: &mut RunView,
    summary: &RunSummary,
    i: usize,
    kind: SeriesKind,
    unit: &str,
    t: &[f64],
    y: Vec<f64>,
) {
    if y.iter().all(|v| v.is_nan()) {
        return;
    }
    let flow = &summary.flows[i];
    view.series.push(Series {
        id: format!("{}-{i}", view.series.len()),
        label: flow.label.clone(),
        controller: flow.controller.clone(),
        kind,
        unit: unit.to_owned(),
        t: t.to_vec(),
        y,
    });
}

fn throughput(folder: &Path, summary: &RunSummary, view: &mut RunView) -> Result<(), ShelfError> {
    let Some(file) = TableFile::open(folder, "throughput")? else {
        return Ok(());
    };
    let time = file.ints("time_ns")?;
    let delivered = file.ints("delivered_bytes")?;
    let packets = file.ints("dequeued_packets")?;
    let waited = file.ints("queue_delay_sum_ns")?;
    let marked = file.ints("marked_packets")?;
    for (i, rows) in by_flow(&file.ints("flow")?, summary.flows.len())
        .iter()
        .enumerate()
    {
        // A bin's row carries its start; its curve stands at its end, where it is known. Rows follow each other without a gap.
        let bin = match rows[..] {
            [first, second, ..] => (time[second] - time[first]) as u64,
            _ => BIN.as_nanos(),
        };
        let wide = bin as f64 * 1e-9;
        let t: Vec<f64> = seconds(&time, rows).iter().map(|t| t + wide).collect();
        let rate = rows
            .iter()
            .map(|r| delivered[*r] as f64 * 8e-6 / wide)
            .collect();
        push(view, summary, i, SeriesKind::Throughput, "Mbit/s", &t, rate);
        let mean = |r: &usize| match packets[*r] {
            0 => f64::NAN,
            n => waited[*r] as f64 / n as f64 * 1e-6,
        };
        let delay = rows.iter().map(mean).collect();
        push(view, summary, i, SeriesKind::QueueDelay, "ms", &t, delay);
        let flow = &summary.flows[i];
        if flow.media.is_some() {
            let end = |r: usize| time[r] as u64 + bin;
            let bins = rows.iter();
            let bins = bins.map(|r| (end(*r), marked[*r] as f64, packets[*r] as f64));
            view.bands
                .extend(states::marking(&flow.label, &flow.controller, bins));
        }
    }
    Ok(())
}

fn senders(folder: &Path, summary: &RunSummary, view: &mut RunView) -> Result<(), ShelfError> {
    let Some(file) = TableFile::open(folder, "flows")? else {
        return Ok(());
    };
    let time = file.ints("time_ns")?;
    let window = file.ints("cwnd_bytes")?;
    let srtt = file.ints("srtt_ns")?;
    for (i, rows) in by_flow(&file.ints("flow")?, summary.flows.len())
        .iter()
        .enumerate()
    {
        let t = seconds(&time, rows);
        let heard = |r: &usize, v: f64| if srtt[*r] == 0 { f64::NAN } else { v };
        let kb = rows
            .iter()
            .map(|r| heard(r, window[*r] as f64 * 1e-3))
            .collect();
        push(view, summary, i, SeriesKind::Cwnd, "kB", &t, kb);
        let ms = rows
            .iter()
            .map(|r| heard(r, srtt[*r] as f64 * 1e-6))
            .collect();
        push(view, summary, i, SeriesKind::Rtt, "ms", &t, ms);
    }
    Ok(())
}

/// What the bottleneck could have carried: the queue that the summary gives a utilisation for.
fn capacity(folder: &Path, summary: &RunSummary, view: &mut RunView) -> Result<(), ShelfError> {
    let bottleneck = summary.links.iter().find(|l| l.utilisation.is_some());
    let (Some(link), Some(file)) = (bottleneck, TableFile::open(folder, "links")?) else {
        return Ok(());
    };
    let (time, node, index) = (
        file.ints("time_ns")?,
        file.ints("node")?,
        file.ints("index")?,
    );
    let could = file.ints("capacity_bytes")?;
    let (mut t, mut y) = (vec![], vec![]);
    let mut from: Option<usize> = None;
    for row in 0..time.len() {
        if node[row] != i64::from(link.node) || index[row] != i64::from(link.index) {
            continue;
        }
        let Some(start) = from else {
            from = Some(row);
            continue;
        };
        let span = time[row] - time[start];
        if span >= BIN.as_nanos() as i64 {
            t.push(time[row] as f64 * 1e-9);
            y.push((could[row] - could[start]) as f64 * 8e3 / span as f64);
            from = Some(row);
        }
    }
    if y.iter().any(|v| *v > 0.0) {
        view.series.push(Series {
            id: "capacity".to_owned(),
            label: "capacity".to_owned(),
            controller: String::new(),
            kind: SeriesKind::Capacity,
            unit: "Mbit/s".to_owned(),
            t,
            y,
        });
    }
    Ok(())
}

fn events(folder: &Path, summary: &RunSummary, view: &mut RunView) -> Result<(), ShelfError> {
    let Some(file) = TableFile::open(folder, "events")? else {
        return Ok(());
    };
    let time = file.ints("time_ns")?;
    let names = file.texts("event")?;
    for (i, rows) in by_flow(&file.ints("flow")?, summary.flows.len())
        .iter()
        .enumerate()
    {
        for (name, kind) in [
            ("drop", EventKind::Drop),
            ("mark", EventKind::Mark),
            ("retransmission", EventKind::Retransmission),
        ] {
            let of_kind = rows.iter().filter(|r| names[**r].data() == name.as_bytes());
            let t: Vec<f64> = of_kind.map(|r| time[*r] as f64 * 1e-9).collect();
            if !t.is_empty() {
                view.events.push(EventTrack {
                    kind,
                    label: summary.flows[i].label.clone(),
                    controller: summary.flows[i].controller.clone(),
                    t,
                });
            }
        }
    }
    Ok(())
}

/// Names of the states of controllers that this program may not know, by controller.
fn own_states(folder: &Path) -> Result<BTreeMap<String, Vec<String>>, ShelfError> {
    let path = folder.join(STATES);
    match bounded::read(&path, bounded::DOCUMENT) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map_err(|source| ShelfError::States { path, source })
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(source) => Err(ShelfError::File { path, source }),
    }
}

/// Bands of what controllers call `mode`, and bands and curves of what edge functions think.
fn internals(folder: &Path, summary: &RunSummary, view: &mut RunView) -> Result<(), ShelfError> {
    let Some(file) = TableFile::open(folder, "internals")? else {
        return Ok(());
    };
    let time = file.ints("time_ns")?;
    let names = file.texts("name")?;
    let values = file.floats("value")?;
    let own = own_states(folder)?;
    let mut sessions = vec![];
    for (i, rows) in by_flow(&file.ints("flow")?, summary.flows.len())
        .iter()
        .enumerate()
    {
        let flow = &summary.flows[i];
        let samples = |name: &str| -> Option<states::Samples> {
            let of = rows.iter().filter(|r| names[**r].data() == name.as_bytes());
            let samples: states::Samples = of.map(|r| (time[*r] as u64, values[*r])).collect();
            (!samples.is_empty()).then_some(samples)
        };
        // The flows of one session share its functions' state: its first shows it, of the first few sessions.
        if let Some(ue) = flow.ue.filter(|ue| !sessions.contains(ue)) {
            sessions.push(ue);
            let ue = ue as usize;
            if ue < view::MAX_SESSIONS {
                view.series.extend(states::edge_curves(ue, i, &samples));
                view.bands.extend(states::edge_bands(ue, &samples));
            }
        }
        let known = match slackwater_control::registry::modes(&flow.controller) {
            Some(known) => known.to_vec(),
            None => match own.get(&flow.controller) {
                Some(names) => names.iter().map(String::as_str).collect(),
                None => continue,
            },
        };
        let Some(modes) = samples("mode") else {
            continue;
        };
        let bands: Vec<Band> = states::bands_of(&known, modes.into_iter());
        if !bands.is_empty() {
            view.bands.push(BandTrack {
                label: flow.label.clone(),
                controller: flow.controller.clone(),
                bands,
            });
        }
    }
    Ok(())
}
