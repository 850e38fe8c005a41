//! Tables of metrics for the terminal.

use crate::metrics::table::Source;
use crate::metrics::{Estimate, METRICS, Metric, Paired, RunSummary, paired};
use crate::table::Table;

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

fn heading(metric: &Metric) -> String {
    match metric.unit {
        "" => metric.label.to_owned(),
        unit => format!("{} ({unit})", metric.label),
    }
}

fn cell(metric: &Metric, value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| format!("{v:.*}", metric.decimals))
}

/// One row a flow.
pub fn flow_table(run: &RunSummary) -> Table {
    let columns: &[&str] = if run.flows.iter().all(|f| f.media.is_some()) {
        &MEDIA_COLUMNS
    } else {
        &FLOW_COLUMNS
    };
    let metrics: Vec<&Metric> = columns.iter().filter_map(|k| Metric::find(k)).collect();
    let mut heads = vec!["flow".to_owned()];
    heads.extend(metrics.iter().map(|m| heading(m)));
    let mut table = Table::new(&heads);
    for flow in &run.flows {
        let mut row = vec![flow.label.clone()];
        row.extend(metrics.iter().map(|m| cell(m, m.of_flow(flow))));
        table.row(&row);
    }
    table
}

/// One row a metric of the run as a whole, with its definition's name and unit.
pub fn run_table(run: &RunSummary) -> Table {
    let mut table = Table::new(&["metric", "value", "unit"]);
    for m in METRICS {
        if let (Source::Run(_), Some(v)) = (m.of, m.of_run(run)) {
            table.row(&[m.label.to_owned(), cell(m, Some(v)), m.unit.to_owned()]);
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
    let metrics: Vec<&Metric> = RUN_COLUMNS
        .iter()
        .filter_map(|k| Metric::find(k))
        .filter(|m| {
            groups
                .iter()
                .any(|g| estimate(m, g.1.iter().copied()).is_some())
        })
        .collect();
    let mut heads = vec!["run".to_owned(), "seeds".to_owned()];
    heads.extend(metrics.iter().map(|m| heading(m)));
    let mut table = Table::new(&heads);
    for (name, runs) in &groups {
        let mut row = vec![
            if name.is_empty() {
                "all".to_owned()
            } else {
                name.clone()
            },
            runs.len().to_string(),
        ];
        row.extend(metrics.iter().map(|m| {
            estimate(m, runs.iter().copied()).map_or_else(|| "-".to_owned(), |e| e.text(m.decimals))
        }));
        table.row(&row);
    }
    table
}

/// Every set of labels beside the first: each metric less the first set's, seed by seed. What seeds share then hides no difference.
/// A star marks what differs at 5 %. `None` for one set, or without two seeds that both have.
pub fn difference_table(runs: &[RunSummary]) -> Option<Table> {
    let groups = groups(runs, |r| r);
    let ((first, base), others) = groups.split_first()?;
    let metrics: Vec<&Metric> = RUN_COLUMNS.iter().filter_map(|k| Metric::find(k)).collect();
    let rows: Vec<(&String, Vec<Option<Paired>>)> = others
        .iter()
        .map(|(name, runs)| {
            let cells = metrics.iter().map(|m| difference(m, runs, base));
            (name, cells.collect())
        })
        .collect();
    let there = |at: usize| rows.iter().any(|(_, cells)| cells[at].is_some());
    let shown: Vec<usize> = (0..metrics.len()).filter(|at| there(*at)).collect();
    if shown.is_empty() {
        return None;
    }

    let mut heads = vec![format!("less {first}"), "pairs".to_owned()];
    heads.extend(shown.iter().map(|at| heading(metrics[*at])));
    let mut table = Table::new(&heads);
    for (name, cells) in rows {
        let pairs = shown.iter().filter_map(|at| cells[*at]);
        let n = pairs.map(|d| d.difference.n).max().unwrap_or(0);
        let mut row = vec![name.clone(), n.to_string()];
        row.extend(shown.iter().map(|at| {
            cells[*at].map_or_else(
                || "-".to_owned(),
                |d| {
                    let star = if d.stands() { " *" } else { "" };
                    format!("{}{star}", d.difference.text(metrics[*at].decimals))
                },
            )
        }));
        table.row(&row);
    }
    Some(table)
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
