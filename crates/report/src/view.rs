//! From results to what a report shows.

mod radio;
mod spread;
pub(crate) mod states;

use slackwater_core::{Duration, FlowId, Instant};
use slackwater_lab::run::RunResult;
use slackwater_results::metrics::RunSummary;
use slackwater_results::metrics::table::{Better, Metric};
use slackwater_results::output::tables;
use slackwater_results::record::{BIN, LinkRecord, RunRecorder};
use slackwater_results::stats::Estimate;
use slackwater_sim::CELL_DOWN;

use crate::{
    Band, BandTrack, Cdf, Cell, Column, EventKind, EventTrack, Report, Row, RunView, Series,
    SeriesKind, SummaryTable, TradeOff, TradeOffPoint,
};

/// Metrics of the report's tables.
const REPORT_METRICS: [&str; 19] = [
    "goodput",
    "utilisation",
    "queue_p50",
    "queue_p95",
    "srtt_mean",
    "srtt_p95",
    "hol_p50",
    "hol_p90",
    "loss",
    "retransmits",
    "jain",
    "fct_p50",
    "target",
    "queue_p99",
    "tdq_55",
    "frame_p50",
    "frame_p95",
    "late_frames",
    "freezes",
];

/// Curves of one flow per run at most; beyond, a page would be too heavy to open.
pub(crate) const MAX_FLOWS: usize = 12;
/// Sessions whose state in edge functions is drawn.
pub(crate) const MAX_SESSIONS: usize = 2;
/// Runs whose curves are on the page: the first seed of each variant, up to this many.
const MAX_RUNS: usize = 24;

/// Runs that differ by their seeds alone.
pub fn groups(results: &[RunResult]) -> Vec<(String, Vec<&RunResult>)> {
    tables::groups(results, |r| &r.summary)
}

/// What the run is called beside others: the values that vary, or the name of its scenario.
pub fn name_of(result: &RunResult) -> String {
    tables::name_of(&result.summary)
}

/// A metric over the seeds of one variant.
pub fn estimate(metric: &Metric, runs: &[&RunResult]) -> Option<Estimate> {
    tables::estimate(metric, runs.iter().map(|r| &r.summary))
}

fn controller_of(run: &RunResult) -> String {
    let mut names = run.layout.controllers.iter().filter(|c| !c.is_empty());
    let first = names.next().cloned().unwrap_or_default();
    if names.all(|c| *c == first) {
        first
    } else {
        String::new()
    }
}

/// The label by which runs of one scenario differ in whose senders they have: simulated ones, or a kernel's.
pub const HOSTS: &str = "hosts";

/// Marks for display the first run of each set of controllers with each kind of hosts: they are compared to be seen beside each other.
fn show_hosts(report: &mut Report, groups: &[(String, Vec<&RunResult>)]) {
    let mut seen: Vec<(Vec<String>, String)> = Vec::new();
    for (view, (_, runs)) in report.runs.iter_mut().zip(groups) {
        let hosts = runs[0].labels.iter().find(|l| l.0 == HOSTS);
        let Some((_, hosts)) = hosts else { continue };
        let of = (view.controllers.clone(), hosts.clone());
        view.shown = !seen.contains(&of);
        if view.shown {
            seen.push(of);
        }
    }
}

/// The page for `results`; `command` is what the user typed.
pub fn report(results: &[RunResult], command: &str) -> Report {
    let first = &results[0];
    let groups = groups(results);
    let mut seeds: Vec<u64> = results.iter().map(|r| r.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let list: Vec<String> = seeds.iter().take(12).map(ToString::to_string).collect();
    let seed_note = match seeds.len() {
        1 => format!("Seed {}. One run: no interval can be given.", seeds[0]),
        n => format!(
            "{n} seeds ({}{}); intervals are 95 %.",
            list.join(", "),
            if n > 12 { ", .." } else { "" }
        ),
    };
    let s = &first.scenario;
    let mut notes = vec![];
    if groups.len() > MAX_RUNS {
        notes.push(format!(
            "Curves are those of the first {MAX_RUNS} of {} variants.",
            groups.len()
        ));
    }
    let flows = results.iter().map(|r| r.records.flows.len()).max();
    if let Some(flows) = flows.filter(|n| *n > MAX_FLOWS) {
        notes.push(format!(
            "Curves are those of the first {MAX_FLOWS} of {flows} flows; tables, distributions and totals count all."
        ));
    }
    if s.warmup > Duration::ZERO {
        notes.push(format!(
            "The tables leave out the first {} of each run, its warm-up; curves, events and their counts show the whole run.",
            s.warmup
        ));
    }
    notes.extend(groups.iter().find_map(|(_, runs)| radio::cut(runs[0])));
    let closings = results.iter().flat_map(|run| {
        let of = format!("{}, seed {}", name_of(run), run.seed);
        let closings = run.summary.closings().into_iter();
        closings.map(move |c| format!("{of}: {c}."))
    });
    notes.extend(closings.take(MAX_FLOWS));
    let mut report = Report {
        title: s.title.clone().unwrap_or_else(|| s.name.clone()),
        subtitle: s.description.clone().unwrap_or_default(),
        command: command.to_owned(),
        seed_note,
        scenario_toml: s.to_toml(),
        generated_by: format!("slackwater {}", env!("CARGO_PKG_VERSION")),
        notes,
        tables: tables(&groups),
        trade_off: trade_off(&groups),
        runs: groups
            .iter()
            .take(MAX_RUNS)
            .map(|(name, runs)| seeds_view(name, runs))
            .collect(),
    };
    report.show_first_of_each();
    show_hosts(&mut report, &groups);
    report
}

fn column(m: &Metric) -> Column {
    let better = match m.better {
        Better::Higher => Some(crate::Better::Higher),
        Better::Lower => Some(crate::Better::Lower),
        Better::Neither => None,
    };
    Column::new(m.label, m.unit, better, m.help)
}

/// The cell of `metric` over `runs`, in the order of their seeds.
fn cell<'a>(metric: &Metric, runs: impl IntoIterator<Item = &'a RunSummary>) -> Cell {
    let seeds = runs.into_iter().map(|r| metric.of_run(r)).collect();
    Cell::of_seeds(seeds, metric.bounds())
}

/// The table of runs that stand alone, by what each is called.
pub(crate) fn summaries(runs: &[RunSummary], names: &[String]) -> Vec<SummaryTable> {
    let metrics: Vec<&Metric> = REPORT_METRICS
        .iter()
        .filter_map(|k| Metric::find(k))
        .collect();
    let row = |(run, name): (&RunSummary, &String)| {
        let controllers = run.flows.iter().map(|f| &f.controller);
        let first = controllers.clone().next().cloned().unwrap_or_default();
        let same = controllers.clone().all(|c| *c == first);
        let cells = metrics.iter().map(|m| cell(m, [run]));
        (
            name.clone(),
            if same { first } else { String::new() },
            cells.collect(),
        )
    };
    let rows: Vec<_> = runs.iter().zip(names).map(row).collect();
    vec![table("Runs", "run", &metrics, &rows)]
}

fn tables(groups: &[(String, Vec<&RunResult>)]) -> Vec<SummaryTable> {
    let metrics: Vec<&Metric> = REPORT_METRICS
        .iter()
        .filter_map(|k| Metric::find(k))
        .collect();
    let rows: Vec<TableRow> = groups
        .iter()
        .map(|(name, runs)| {
            let of_all = |m: &&Metric| cell(m, runs.iter().map(|r| &r.summary));
            let cells = metrics.iter().map(of_all).collect();
            (name.clone(), controller_of(runs[0]), cells)
        })
        .collect();
    let mut all = vec![table("Runs", "run", &metrics, &rows)];
    all.extend(differences(groups, &metrics));
    if let [(_, runs)] = groups {
        let flows = runs[0].summary.flows.len();
        if flows > 1 {
            let of = |m: &Metric, i: usize| {
                let seeds = runs.iter().map(|r| m.of_flow(&r.summary.flows[i]));
                Cell::of_seeds(seeds.collect(), m.bounds())
            };
            let rows: Vec<_> = (0..flows)
                .map(|i| {
                    let f = &runs[0].summary.flows[i];
                    (
                        f.label.clone(),
                        f.controller.clone(),
                        metrics.iter().map(|m| of(m, i)).collect(),
                    )
                })
                .collect();
            all.push(table("Flows", "flow", &metrics, &rows));
        }
    }
    all
}

/// Each variant less the first, seed by seed: what seeds share hides no difference there.
fn differences(groups: &[(String, Vec<&RunResult>)], metrics: &[&Metric]) -> Option<SummaryTable> {
    let ((first, base), others) = groups.split_first()?;
    let of = |runs: &[&RunResult]| -> Vec<RunSummary> {
        runs.iter().map(|r| r.summary.clone()).collect()
    };
    let base = of(base);
    let base: Vec<&RunSummary> = base.iter().collect();
    let row = |(name, runs): &(String, Vec<&RunResult>)| {
        let summaries = of(runs);
        let mine: Vec<&RunSummary> = summaries.iter().collect();
        let cells = metrics.iter().map(|m| {
            let Some(d) = tables::difference(m, &mine, &base) else {
                return Cell::Missing;
            };
            let text = d.difference.text(m.decimals);
            Cell::Text(match d.seeds_to_decide() {
                _ if d.stands() => format!("{text} *"),
                Some(seeds) => format!("{text} ({seeds} seeds)"),
                None => text,
            })
        });
        Row {
            label: name.clone(),
            controller: controller_of(runs[0]),
            cells: cells.collect(),
        }
    };
    let rows: Vec<Row> = others.iter().map(row).collect();
    let there = |at: &usize| rows.iter().any(|r| r.cells[*at] != Cell::Missing);
    let shown: Vec<usize> = (0..metrics.len()).filter(there).collect();
    let plain = |at: &usize| {
        let m = metrics[*at];
        Column::new(m.label, m.unit, None, m.help)
    };
    (!shown.is_empty()).then(|| SummaryTable {
        caption: format!(
            "Less {first}, seed by seed (* stands at 5 %; else the seeds with which it would)"
        ),
        row_heading: "run".to_owned(),
        columns: shown.iter().map(plain).collect(),
        rows: rows
            .iter()
            .map(|r| Row {
                cells: shown.iter().map(|at| r.cells[*at].clone()).collect(),
                ..r.clone()
            })
            .collect(),
    })
}

type TableRow = (String, String, Vec<Cell>);

/// A table without the columns in which no row has a number.
fn table(caption: &str, heading: &str, metrics: &[&Metric], rows: &[TableRow]) -> SummaryTable {
    let used: Vec<usize> = (0..metrics.len())
        .filter(|&i| rows.iter().any(|r| r.2[i].number().is_some()))
        .collect();
    SummaryTable {
        caption: caption.to_owned(),
        row_heading: heading.to_owned(),
        columns: used.iter().map(|&i| column(metrics[i])).collect(),
        rows: rows
            .iter()
            .map(|(label, controller, cells)| Row {
                label: label.clone(),
                controller: controller.clone(),
                cells: used.iter().map(|&i| cells[i].clone()).collect(),
            })
            .collect(),
    }
}

fn trade_off(groups: &[(String, Vec<&RunResult>)]) -> Option<TradeOff> {
    if groups.len() < 2 {
        return None;
    }
    let (x, y) = (Metric::find("queue_p95")?, Metric::find("goodput_total")?);
    let points = groups
        .iter()
        .filter_map(|(name, runs)| {
            let estimate = |m| estimate(m, runs);
            Some(TradeOffPoint {
                label: name.clone(),
                controller: controller_of(runs[0]),
                x: estimate(x)?,
                y: estimate(y)?,
                samples: runs
                    .iter()
                    .filter_map(|r| Some([x.of_run(&r.summary)?, y.of_run(&r.summary)?]))
                    .collect(),
            })
        })
        .collect();
    Some(TradeOff {
        x_label: "Queue delay, 95 % quantile".to_owned(),
        x_unit: x.unit.to_owned(),
        y_label: "Goodput of all flows".to_owned(),
        y_unit: y.unit.to_owned(),
        points,
    })
}

fn secs(ns: &[u64]) -> Vec<f64> {
    ns.iter().map(|t| *t as f64 * 1e-9).collect()
}

/// The first seed's curves, with bands over all of them.
fn seeds_view(name: &str, runs: &[&RunResult]) -> RunView {
    let mut view = run_view(name, runs[0]);
    let others: Vec<RunView> = runs[1..].iter().map(|run| run_view(name, run)).collect();
    view.spreads = spread::spreads(&view, &others);
    view
}

fn run_view(name: &str, run: &RunResult) -> RunView {
    let records = &run.records;
    let mut view = RunView {
        name: name.to_owned(),
        label: name.to_owned(),
        controllers: run
            .layout
            .controllers
            .iter()
            .filter(|c| !c.is_empty())
            .cloned()
            .collect(),
        seed: Some(run.seed),
        shown: true,
        ..RunView::default()
    };
    view.controllers.dedup();
    if let Some(link) = capacity_link(records) {
        view.series.push(capacity(link));
    }
    for i in 0..records.flows.len().min(MAX_FLOWS) {
        flow_view(run, i, &mut view);
    }
    view.series.extend(radio::curves(run));
    view
}

/// The samples of the bottleneck in the direction of the first flow's data.
fn capacity_link(records: &RunRecorder) -> Option<&LinkRecord> {
    let config = records.config();
    if config.cell {
        return records
            .links
            .iter()
            .find(|l| l.node == config.bottleneck && l.index == CELL_DOWN);
    }
    records.link_of(FlowId(0))
}

/// Capacity over [`BIN`] or longer, from the cumulative samples.
fn capacity(link: &LinkRecord) -> Series {
    let s = &link.series;
    let (mut t, mut y) = (vec![], vec![]);
    let mut from = 0;
    for i in 1..s.time.len() {
        let span = s.time[i] - s.time[from];
        if span >= BIN.as_nanos() {
            t.push(s.time[i] as f64 * 1e-9);
            y.push((s.capacity[i] - s.capacity[from]) as f64 * 8e3 / span as f64);
            from = i;
        }
    }
    Series {
        id: "capacity".to_owned(),
        label: "capacity".to_owned(),
        controller: String::new(),
        kind: SeriesKind::Capacity,
        unit: "Mbit/s".to_owned(),
        t,
        y,
    }
}

fn flow_view(run: &RunResult, i: usize, view: &mut RunView) {
    let records = &run.records;
    let flow = &records.flows[i];
    let info = &records.config().flows[i];
    let label = info.label.clone();
    let controller = info.controller.clone();
    let mut add = |id: &str, kind, unit: &str, t: Vec<f64>, y: Vec<f64>| {
        view.series.push(Series {
            id: format!("{id}-{i}"),
            label: label.clone(),
            controller: controller.clone(),
            kind,
            unit: unit.to_owned(),
            t,
            y,
        });
    };
    let bin_s = records.bin().as_secs_f64();
    let bins: Vec<f64> = (1..=flow.bins.len()).map(|k| k as f64 * bin_s).collect();
    let rate = flow
        .bins
        .iter()
        .map(|b| b.delivered as f64 * 8e-6 / bin_s)
        .collect();
    add(
        "throughput",
        SeriesKind::Throughput,
        "Mbit/s",
        bins.clone(),
        rate,
    );
    let delay = flow.bins.iter().map(|b| match b.dequeued {
        0 => f64::NAN,
        n => b.queue_sum as f64 / f64::from(n) * 1e-6,
    });
    let delay = delay.collect();
    add("queue", SeriesKind::QueueDelay, "ms", bins.clone(), delay);
    if flow.bins.iter().any(|b| b.marked > 0) {
        let share = flow.bins.iter().map(|b| match b.dequeued {
            0 => f64::NAN,
            n => f64::from(b.marked) / f64::from(n) * 100.0,
        });
        add("marks", SeriesKind::Marks, "%", bins, share.collect());
    }
    let frames = &flow.media.frames;
    if !frames.is_empty() {
        let t = frames.iter().map(|f| f.captured.as_secs_f64()).collect();
        let delay = frames
            .iter()
            .map(|f| f.delay().map_or(f64::NAN, Duration::as_millis_f64));
        add("frames", SeriesKind::FrameDelay, "ms", t, delay.collect());
    }
    let s = &flow.series;
    let t = secs(&s.time);
    if info.media {
        let target = s.target.iter().map(|r| r * 1e-6).collect();
        add("target", SeriesKind::Target, "Mbit/s", t.clone(), target);
    }
    if s.srtt.iter().any(|v| *v > 0) {
        let mss = f64::from(info.mss.max(1));
        let ms = |v: &[u64]| -> Vec<f64> {
            v.iter()
                .map(|x| if *x == 0 { f64::NAN } else { *x as f64 * 1e-6 })
                .collect()
        };
        let started = |y: Vec<f64>| -> Vec<f64> {
            let on = s.srtt.iter().map(|r| *r > 0);
            y.into_iter()
                .zip(on)
                .map(|(v, on)| if on { v } else { f64::NAN })
                .collect()
        };
        let cwnd = s.cwnd.iter().map(|b| *b as f64 / mss).collect();
        // A sender that goes by a rate alone has none.
        if s.cwnd.iter().any(|b| *b > 0) {
            add(
                "cwnd",
                SeriesKind::Cwnd,
                "packets",
                t.clone(),
                started(cwnd),
            );
        }
        // An unset threshold is "infinite" and would flatten the plot.
        let largest = s.cwnd.iter().copied().max().unwrap_or(0) as f64;
        let ssthresh = s.ssthresh.iter().map(|b| {
            if *b <= 4.0 * largest {
                *b / mss
            } else {
                f64::NAN
            }
        });
        if largest > 0.0 {
            add(
                "ssthresh",
                SeriesKind::Ssthresh,
                "packets",
                t.clone(),
                started(ssthresh.collect()),
            );
        }
        add("rtt", SeriesKind::Rtt, "ms", t.clone(), ms(&s.srtt));
    }
    if let Some(link) = records.link_of(FlowId(i as u32)) {
        let hol = link.series.hol.iter().map(|h| *h as f64 * 1e-6).collect();
        add("hol", SeriesKind::Hol, "ms", secs(&link.series.time), hol);
    }
    // The flows of one session share its functions' state: its first shows it, of the first few sessions.
    let ue = run.layout.ues[i];
    let before = &run.layout.ues[..i];
    let first = ue.index() < MAX_SESSIONS && !before.contains(&ue);
    let samples = |name: &str| -> Option<states::Samples> {
        let internals = &flow.internals;
        let (_, values) = internals.columns.iter().find(|c| c.0 == name)?;
        let times = internals.time.iter().copied();
        Some(times.zip(values.iter().copied()).collect())
    };
    if first {
        let curves = states::edge_curves(ue.index(), i, &samples);
        view.series.extend(curves);
        view.bands.extend(states::edge_bands(ue.index(), &samples));
    }
    if info.media {
        let bins = (1..).zip(&flow.bins);
        let bins = bins.map(|(k, b)| {
            let end = k * records.bin().as_nanos();
            (end, f64::from(b.marked), f64::from(b.dequeued))
        });
        view.bands
            .extend(states::marking(&label, &controller, bins));
    }
    for (quantity, histogram) in [
        ("Queue delay", &flow.queue_delay),
        ("One-way delay", &flow.one_way),
    ] {
        let cdf = histogram.cdf();
        if !cdf.is_empty() {
            view.cdfs.push(Cdf {
                label: label.clone(),
                controller: controller.clone(),
                quantity: quantity.to_owned(),
                unit: "ms".to_owned(),
                x: cdf.iter().map(|c| c.0.as_millis_f64()).collect(),
                p: cdf.iter().map(|c| c.1).collect(),
            });
        }
    }
    let events = [
        (EventKind::Drop, &flow.drop_times),
        (EventKind::Mark, &flow.mark_times),
        (EventKind::Retransmission, &flow.resend_times),
    ];
    for (kind, times) in events {
        if !times.is_empty() {
            let t = times.iter().map(|t: &Instant| t.as_secs_f64()).collect();
            view.events.push(EventTrack {
                kind,
                label: label.clone(),
                controller: controller.clone(),
                t,
            });
        }
    }
    if let Some(bands) = bands(run, i) {
        view.bands.push(BandTrack {
            label,
            controller,
            bands,
        });
    }
}

/// The controller's modes over time, where it names them: an internal called `mode` holds the number of a state.
pub fn bands(run: &RunResult, i: usize) -> Option<Vec<Band>> {
    let names = run
        .scenario
        .plugins()
        .controllers()
        .modes(&run.layout.controllers[i])?;
    states_of(run, i, "mode", names)
}

/// The states over time that the internal `column` numbers and `names` names.
fn states_of(run: &RunResult, i: usize, column: &str, names: &[&str]) -> Option<Vec<Band>> {
    let internals = &run.records.flows[i].internals;
    let (_, numbers) = internals.columns.iter().find(|c| c.0 == column)?;
    let samples = internals.time.iter().copied().zip(numbers.iter().copied());
    Some(states::bands_of(names, samples))
}
