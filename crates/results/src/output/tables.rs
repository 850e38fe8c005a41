//! Tables of metrics for the terminal.

use crate::metrics::table::Source;
use crate::metrics::{Better, Estimate, FlowSummary, METRICS, Metric, Paired, RunSummary, paired};
use crate::table::{Cell, Column, Table, Tone};

/// Metrics that a table on a terminal has room for.
pub const FLOW_COLUMNS: [&str; 8] = [
    "goodput",
    "srtt_mean",
    "srtt_p95",
    "queue_p50",
    "queue_p95",
    "cwnd_p50",
    "loss",
    "retransmits",
];
/// The same where all flows are media.
pub const MEDIA_COLUMNS: [&str; 9] = [
    "goodput",
    "target",
    "queue_p95",
    "queue_p99",
    "frame_p50",
    "frame_p95",
    "late_frames",
    "marks",
    "loss",
];
/// Metrics that compare runs.
pub const RUN_COLUMNS: [&str; 8] = [
    "goodput_total",
    "utilisation",
    "srtt_p50",
    "queue_p50",
    "queue_p95",
    "hol_p90",
    "loss",
    "jain",
];

/// What stays longest where a terminal is narrow.
const FIRST: [&str; 9] = [
    "goodput",
    "goodput_total",
    "queue_p95",
    "frame_p95",
    "utilisation",
    "late_frames",
    "srtt_p95",
    "loss",
    "queue_p50",
];

/// The column of `metric`, at `place` of a table; shown where it is among `shown`.
fn column(metric: &Metric, place: usize, shown: &[&str]) -> Column {
    let heading = match metric.unit {
        "" => metric.label.to_owned(),
        unit => format!("{} ({unit})", metric.label),
    };
    let first = FIRST.iter().position(|k| *k == metric.key);
    Column::new(&heading)
        .key(metric.key)
        .rank(first.map_or(FIRST.len() + place, |at| at + 1))
        .extra(!shown.contains(&metric.key))
}

fn cell(metric: &Metric, value: Option<f64>) -> Cell {
    Cell::number(value, metric.decimals)
}

/// Metrics of which `has` is true, those of `shown` first and in that order.
fn metrics(shown: &[&str], has: impl Fn(&Metric) -> bool) -> Vec<&'static Metric> {
    let first = shown.iter().filter_map(|k| Metric::find(k));
    let others = METRICS.iter().filter(|m| !shown.contains(&m.key));
    first.chain(others.filter(|m| has(m))).collect()
}

/// Columns of a run's flows.
fn flow_columns(run: &RunSummary) -> &'static [&'static str] {
    if !run.flows.is_empty() && run.flows.iter().all(|f| f.media.is_some()) {
        &MEDIA_COLUMNS
    } else {
        &FLOW_COLUMNS
    }
}

/// One row a flow.
pub fn flow_table(run: &RunSummary) -> Table {
    flows(run, flow_columns(run), |m| matches!(m.of, Source::Flow(_)))
}

/// One row a flow, with the metrics of the run as a whole in each: all numbers of a run in one table.
pub fn whole_table(run: &RunSummary) -> Table {
    let of_run = METRICS.iter().filter(|m| matches!(m.of, Source::Run(_)));
    let there = of_run.filter(|m| m.of_run(run).is_some()).map(|m| m.key);
    let shown: Vec<&str> = flow_columns(run).iter().copied().chain(there).collect();
    flows(run, &shown, |_| true)
}

fn flows(run: &RunSummary, shown: &[&str], wanted: impl Fn(&Metric) -> bool) -> Table {
    let value = |m: &Metric, flow: &FlowSummary| match m.of {
        Source::Flow(of) => of(flow),
        Source::Run(of) => of(run),
    };
    let metrics = metrics(shown, |m| {
        wanted(m) && run.flows.iter().any(|f| value(m, f).is_some())
    });
    let heads = metrics.iter().enumerate();
    let heads = heads.map(|(place, m)| column(m, place, shown));
    let mut table = Table::with(core::iter::once(Column::new("flow")).chain(heads));
    for flow in &run.flows {
        let numbers = metrics.iter().map(|m| cell(m, value(m, flow)));
        table.cells(core::iter::once(flow.label.as_str().into()).chain(numbers));
    }
    table
}

/// One row a metric of the run as a whole, with its definition's name and unit.
pub fn run_table(run: &RunSummary) -> Table {
    let mut table = Table::new(&["metric", "value", "unit"]);
    for m in METRICS {
        if let (Source::Run(_), Some(v)) = (m.of, m.of_run(run)) {
            table.cells([m.label.into(), cell(m, Some(v)), m.unit.into()]);
        }
    }
    table
}

/// What a run is called beside others: the values that vary, or the name of its scenario.
pub fn name_of(run: &RunSummary) -> String {
    if run.labels.is_empty() {
        return run.name.clone();
    }
    let values: Vec<&str> = run.labels.iter().map(|l| l.1.as_str()).collect();
    values.join(", ")
}

/// Runs that differ by their seeds alone, under their common name, in the order of their first. `summary` finds a run's.
pub fn groups<T>(runs: &[T], summary: impl Fn(&T) -> &RunSummary) -> Vec<(String, Vec<&T>)> {
    let mut out: Vec<(String, Vec<&T>)> = Vec::new();
    for run in runs {
        let name = name_of(summary(run));
        match out.iter_mut().find(|g| g.0 == name) {
            Some(group) => group.1.push(run),
            None => out.push((name, vec![run])),
        }
    }
    out
}

/// A metric over the seeds of one group.
pub fn estimate<'a>(
    metric: &Metric,
    runs: impl IntoIterator<Item = &'a RunSummary>,
) -> Option<Estimate> {
    let values: Vec<f64> = runs.into_iter().filter_map(|r| metric.of_run(r)).collect();
    Estimate::within(&values, metric.bounds())
}

/// One row for each set of labels: mean and 95 % interval over the seeds, and how many seeds there are.
pub fn comparison_table(runs: &[RunSummary]) -> Table {
    let groups = groups(runs, |r| r);
    let of = |m: &Metric, runs: &[&RunSummary]| estimate(m, runs.iter().copied());
    let there = |m: &Metric| groups.iter().any(|g| of(m, &g.1).is_some());
    let mut metrics = metrics(&RUN_COLUMNS, there);
    metrics.retain(|m| there(m));
    let mut table = Table::with(heads("run", "seeds", &metrics));
    for (name, runs) in &groups {
        let name = if name.is_empty() { "all" } else { name };
        let n = runs.len();
        let first = [name.into(), Cell::shown(n.to_string(), n as f64)];
        let means = metrics.iter().map(|m| Cell::mean(of(m, runs), m.decimals));
        table.cells(first.into_iter().chain(means));
    }
    table
}

/// Columns of a comparison: a name, a count, and metrics with intervals.
fn heads(name: &str, count: &str, metrics: &[&Metric]) -> Vec<Column> {
    let of = |(place, m): (usize, &&Metric)| column(m, place, &RUN_COLUMNS).spread();
    [Column::new(name), Column::new(count)]
        .into_iter()
        .chain(metrics.iter().enumerate().map(of))
        .collect()
}

/// Every set of labels beside the first: each metric less the first set's, seed by seed. What seeds share then hides no difference.
/// A star marks what differs at 5 %. `None` for one set, or without two seeds that both have.
pub fn difference_table(runs: &[RunSummary]) -> Option<Table> {
    let groups = groups(runs, |r| r);
    let ((first, base), others) = groups.split_first()?;
    let there = |m: &Metric| {
        let found = |g: &(String, Vec<&RunSummary>)| difference(m, &g.1, base).is_some();
        others.iter().any(found)
    };
    let mut metrics = metrics(&RUN_COLUMNS, there);
    metrics.retain(|m| there(m));
    if metrics.is_empty() {
        return None;
    }
    let mut table = Table::with(heads(&format!("less {first}"), "pairs", &metrics));
    for (name, runs) in others {
        let cells: Vec<Option<Paired>> =
            metrics.iter().map(|m| difference(m, runs, base)).collect();
        let pairs = cells.iter().flatten().map(|d| d.difference.n);
        let n = pairs.max().unwrap_or(0);
        let first = [name.as_str().into(), Cell::shown(n.to_string(), n as f64)];
        let cells = cells.into_iter().zip(&metrics).map(|(d, m)| {
            let Some(d) = d else { return Cell::missing() };
            let cell = Cell::mean(Some(d.difference), m.decimals);
            if d.stands() {
                cell.followed(" *").tone(tone(m, &d))
            } else {
                cell
            }
        });
        table.cells(first.into_iter().chain(cells));
    }
    Some(table)
}

/// Better or worse than the first set, where a direction is good.
fn tone(metric: &Metric, found: &Paired) -> Tone {
    let more = found.difference.mean > 0.0;
    match metric.better {
        Better::Neither => Tone::Strong,
        Better::Higher if more => Tone::Good,
        Better::Lower if !more => Tone::Good,
        Better::Higher | Better::Lower => Tone::Bad,
    }
}

/// `metric` of `runs` less that of `base`, over the seeds that both have; `None` for fewer than two.
pub fn difference(metric: &Metric, runs: &[&RunSummary], base: &[&RunSummary]) -> Option<Paired> {
    let pairs = runs.iter().filter_map(|run| {
        let beside = base.iter().find(|b| b.seed == run.seed)?;
        Some((metric.of_run(run)?, metric.of_run(beside)?))
    });
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.unzip();
    paired(&a, &b).filter(|d| d.difference.n >= 2)
}
