//! The numbers of a comparison as files: `compare.json` and, a line for each set of labels and metric, `compare.csv`.

use core::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::OutputError;
use super::tables::{estimate, groups};
use crate::metrics::{Better, METRICS, Metric, RunSummary};
use crate::stats::{Paired, best, paired_of};
use crate::table::quoted;

/// Names of the two files.
pub const FILES: [&str; 2] = ["compare.json", "compare.csv"];
/// Raised when a field changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

/// All numbers of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Version of this form.
    pub schema: u32,
    /// Version of the program.
    pub version: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// Every seed that some run had, ascending: the order of `values`.
    pub seeds: Vec<u64>,
    /// Sets of labels, in the order of the comparison; the first is what others are less.
    pub rows: Vec<Row>,
}

/// One set of labels.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// Keys of `[vary]` and their values.
    pub labels: Vec<(String, String)>,
    /// A row's numbers, in the order of docs/metrics.md.
    pub metrics: Vec<Number>,
}

/// One metric of a row.
#[derive(Clone, Debug, Serialize)]
pub struct Number {
    /// The metric's key.
    pub metric: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Mean over the seeds.
    pub mean: f64,
    /// Least value of its 95 % interval; none for one seed.
    pub low: Option<f64>,
    /// Greatest.
    pub high: Option<f64>,
    /// How many seeds have it.
    pub n: usize,
    /// Each seed's own.
    pub values: Vec<Option<f64>>,
    /// No row is significantly better, and the mean lies in the interval of the best; none where no direction is good.
    pub best: Option<bool>,
    /// Less the first row, seed by seed.
    pub from_first: Option<Difference>,
    /// Less the row of the best mean, seed by seed.
    pub from_best: Option<Difference>,
}

/// A difference from another row, seed by seed.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The other row.
    pub less: String,
    /// Mean difference.
    pub mean: f64,
    /// Least value of its 95 % interval.
    pub low: f64,
    /// Greatest.
    pub high: f64,
    /// Seeds that both have.
    pub pairs: usize,
    /// How likely chance alone gives such a difference.
    pub p: f64,
    /// With how many seeds a difference as large would stand; none where it stands already, or where it takes too many.
    pub seeds_to_decide: Option<usize>,
}

impl Difference {
    fn new(less: &str, found: Paired) -> Option<Self> {
        let i = found.difference.interval?;
        Some(Self {
            less: less.to_owned(),
            mean: found.difference.mean,
            low: i.low,
            high: i.high,
            pairs: found.difference.n,
            p: found.p,
            seeds_to_decide: found.seeds_to_decide(),
        })
    }
}

impl Comparison {
    /// Of `runs`, in their order.
    pub fn new(runs: &[RunSummary]) -> Self {
        let mut seeds: Vec<u64> = runs.iter().map(|r| r.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let groups = groups(runs, |r| r);
        let mut rows: Vec<Row> = groups
            .iter()
            .map(|(name, runs)| Row {
                name: name.clone(),
                labels: runs.first().map_or_else(Vec::new, |r| r.labels.clone()),
                metrics: vec![],
            })
            .collect();
        for metric in METRICS {
            let columns: Vec<Vec<Option<f64>>> = groups
                .iter()
                .map(|(_, runs)| by_seed(metric, runs, &seeds))
                .collect();
            let numbers = numbers(metric, &groups, &columns);
            for (row, number) in rows.iter_mut().zip(numbers) {
                row.metrics.extend(number);
            }
        }
        Self {
            schema: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION"),
            scenario: runs.first().map_or_else(String::new, |r| r.name.clone()),
            seeds,
            rows,
        }
    }

    /// A line for each row and metric.
    pub fn csv(&self) -> String {
        let mut out = String::from(
            "run,metric,unit,seeds,mean,low_95,high_95,best,\
             less_first,less_first_low_95,less_first_high_95,less_first_pairs,less_first_p,less_first_seeds_to_decide,\
             best_run,less_best,less_best_low_95,less_best_high_95,less_best_pairs,less_best_p,less_best_seeds_to_decide\n",
        );
        for row in &self.rows {
            for m in &row.metrics {
                let mut cells = vec![
                    quoted(&row.name),
                    m.metric.to_owned(),
                    m.unit.to_owned(),
                    m.n.to_string(),
                    m.mean.to_string(),
                    text(m.low),
                    text(m.high),
                    text(m.best),
                ];
                cells.extend(difference(m.from_first.as_ref()));
                let other = m.from_best.as_ref().map(|d| quoted(&d.less));
                cells.push(other.unwrap_or_default());
                cells.extend(difference(m.from_best.as_ref()));
                let _ = writeln!(out, "{}", cells.join(","));
            }
        }
        out
    }

    /// Writes both files into `folder`.
    ///
    /// # Errors
    /// Where one cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), OutputError> {
        let json = serde_json::to_string_pretty(self).expect("numbers and names always make JSON");
        for (name, text) in FILES.iter().zip([json + "\n", self.csv()]) {
            let path: PathBuf = folder.join(name);
            std::fs::write(&path, text).map_err(OutputError::file(&path))?;
        }
        Ok(())
    }
}

fn by_seed(metric: &Metric, runs: &[&RunSummary], seeds: &[u64]) -> Vec<Option<f64>> {
    let of = |seed: &u64| metric.of_run(runs.iter().find(|r| r.seed == *seed)?);
    seeds.iter().map(of).collect()
}

/// A number for each group, where it has the metric.
fn numbers(
    metric: &Metric,
    groups: &[(String, Vec<&RunSummary>)],
    columns: &[Vec<Option<f64>>],
) -> Vec<Option<Number>> {
    let estimates: Vec<_> = groups
        .iter()
        .map(|(_, runs)| estimate(metric, runs.iter().copied()))
        .collect();
    let rows: Vec<_> = estimates
        .iter()
        .zip(columns)
        .map(|(e, column)| e.map(|e| (e, column.as_slice())))
        .collect();
    let higher = metric.better == Better::Higher;
    let ranked = (metric.better != Better::Neither).then(|| best(&rows, higher));
    let sign = if higher { 1.0 } else { -1.0 };
    let mean = |at: &usize| estimates[*at].map_or(f64::NEG_INFINITY, |e| sign * e.mean);
    let top = (0..groups.len()).max_by(|a, b| mean(a).total_cmp(&mean(b)));
    let top = top.filter(|_| ranked.is_some());
    let less = |at: usize, other: usize| -> Option<Difference> {
        let found = paired_of(&columns[at], &columns[other]).filter(|_| at != other)?;
        Difference::new(&groups[other].0, found)
    };
    estimates
        .iter()
        .enumerate()
        .map(|(at, e)| {
            let e = (*e)?;
            Some(Number {
                metric: metric.key,
                unit: metric.unit,
                mean: e.mean,
                low: e.interval.map(|i| i.low),
                high: e.interval.map(|i| i.high),
                n: e.n,
                values: columns[at].clone(),
                best: ranked.as_ref().map(|best| best[at]),
                from_first: less(at, 0),
                from_best: top.and_then(|top| less(at, top)),
            })
        })
        .collect()
}

fn difference(d: Option<&Difference>) -> [String; 6] {
    d.map_or_else(Default::default, |d| {
        [
            d.mean.to_string(),
            d.low.to_string(),
            d.high.to_string(),
            d.pairs.to_string(),
            d.p.to_string(),
            text(d.seeds_to_decide),
        ]
    })
}

fn text<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |v| v.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::FlowSummary;

    fn run(name: &str, seed: u64, goodput: f64) -> RunSummary {
        RunSummary {
            name: "s".to_owned(),
            labels: vec![("flow.controller".to_owned(), name.to_owned())],
            seed,
            flows: vec![FlowSummary {
                goodput_mbps: goodput,
                ..FlowSummary::default()
            }],
            ..RunSummary::default()
        }
    }

    #[test]
    fn rows_carry_intervals_and_differences_seed_by_seed() {
        let seeds = [10.0, 20.0, 30.0, 40.0, 50.0];
        let first = seeds.iter().enumerate();
        let mut runs: Vec<RunSummary> = first.map(|(k, v)| run("a", k as u64, *v)).collect();
        let second = seeds.iter().enumerate();
        runs.extend(second.map(|(k, v)| run("b, \"c\"", k as u64, v + 1.0 + 0.1 * k as f64)));
        // A seed that the first row lacks makes no pair.
        runs.push(run("b, \"c\"", 9, 1000.0));
        let found = Comparison::new(&runs);
        assert_eq!(found.seeds, [0, 1, 2, 3, 4, 9]);
        let number = |row: usize| {
            let of = found.rows[row].metrics.iter();
            of.clone().find(|m| m.metric == "goodput").expect("goodput")
        };
        assert!(number(0).from_first.is_none());
        let d = number(1).from_first.as_ref().expect("five pairs");
        assert_eq!((d.pairs, d.less.as_str()), (5, "a"));
        assert!((d.mean - 1.2).abs() < 1e-9 && d.low > 0.9 && d.high < 1.5 && d.p < 1e-3);
        assert_eq!(d.seeds_to_decide, None);
        assert_eq!((number(0).best, number(1).best), (Some(false), Some(true)));
        assert!(number(0).low.is_some_and(|low| low > 0.0));
        let csv = found.csv();
        assert!(csv.contains("\"b, \"\"c\"\"\",goodput,Mbit/s,6,"), "{csv}");
        let width = csv.lines().next().expect("heads").split(',').count();
        assert!(csv.lines().filter(|l| l.starts_with("a,")).all(|l| {
            // The name of the best row is quoted and holds a comma.
            [width, width + 1].contains(&l.split(',').count())
        }));
    }
}
