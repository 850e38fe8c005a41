//! `slackwater diff`: what two folders of results differ in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::{Value, json};
use slackwater_results::metrics::METRICS;
use slackwater_results::table::{Cell, MISSING, Table};
use slackwater_scenario::tree::{self, Value as Tree};
use slackwater_scenario::{bounded, parse_toml};

use super::rerun::{Differs, differences, flat};
use super::{Folder, Run, SCENARIO};
use crate::say::say;
use crate::terminal;

/// `slackwater diff`
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// A folder of results
    before: PathBuf,
    /// Another one
    after: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print one table as CSV to standard output, and nothing else there: a line for each key and metric that differs
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// A metric of both runs: its label with the unit, decimals, and both numbers.
struct Moved {
    label: String,
    decimals: usize,
    was: Option<f64>,
    now: Option<f64>,
}

/// The keys of the scenario that `run` had.
fn keys(run: &Run) -> Result<BTreeMap<String, Value>> {
    let path = run.path.join(SCENARIO);
    let text =
        bounded::document(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let table = parse_toml(&path.display().to_string(), &text)?;
    Ok(flat(&tree::to_json(&Tree::Table(table))))
}

/// Metrics that are not the same to the digit.
fn moved(before: &Run, after: &Run) -> Vec<Moved> {
    let metrics = METRICS.iter().map(|m| {
        let unit = if m.unit.is_empty() {
            String::new()
        } else {
            format!(" ({})", m.unit)
        };
        Moved {
            label: format!("{}{unit}", m.label),
            decimals: m.decimals,
            was: m.of_run(&before.summary),
            now: m.of_run(&after.summary),
        }
    });
    metrics.filter(|m| m.was != m.now).collect()
}

pub(crate) fn diff(args: &DiffArgs) -> Result<ExitCode> {
    let (before, after) = (Folder::of(&args.before)?, Folder::of(&args.after)?);
    let (then, now) = (before.runs()?, after.runs()?);
    let mut rows = Vec::new();
    let mut same = true;
    // One run beside one run, whatever their folders are called; runs of comparisons by their names.
    let pairs: Vec<(Option<&Run>, Option<&Run>)> = match (then.as_slice(), now.as_slice()) {
        ([a], [b]) => vec![(Some(a), Some(b))],
        (a, b) => {
            let mut names: Vec<&Path> = a.iter().chain(b).map(|r| r.name.as_path()).collect();
            names.sort();
            names.dedup();
            let find = |runs: &'_ [Run], name: &Path| runs.iter().position(|r| r.name == name);
            let pair = |name: &&Path| (find(a, name).map(|i| &a[i]), find(b, name).map(|i| &b[i]));
            names.iter().map(pair).collect()
        }
    };
    let quiet = args.json || args.csv;
    let mut table = csv_table();
    if !quiet {
        programs(&before, &after);
    }
    for pair in pairs {
        let (Some(a), Some(b)) = pair else {
            same = false;
            let (one, other) = if pair.0.is_some() {
                (pair.0, &args.before)
            } else {
                (pair.1, &args.after)
            };
            let name = one
                .map(|r| r.name.display().to_string())
                .unwrap_or_default();
            rows.push(json!({ "run": name, "only_in": other }));
            table.row(&[name.as_str(), "only in", &other.display().to_string()]);
            if !quiet {
                say!("{name}: only in {}", other.display());
            }
            continue;
        };
        let changed = differences(&keys(a)?, &keys(b)?);
        let moved = moved(a, b);
        same &= changed.is_empty() && a.summary.flows == b.summary.flows && moved.is_empty();
        rows.push(json!({
            "run": a.name,
            "scenario": changed.iter().map(|d| json!({ "key": d.key, "before": d.was, "after": d.now })).collect::<Vec<_>>(),
            "metrics": moved.iter().map(|m| json!({ "metric": m.label, "before": m.was, "after": m.now })).collect::<Vec<_>>(),
        }));
        csv_rows(&mut table, a, &changed, &moved);
        if !quiet {
            tell(a, &changed, &moved);
        }
    }
    if args.json {
        say!("{}", serde_json::to_string_pretty(&rows)?);
    } else if args.csv {
        terminal::print(&table.csv());
    } else if same {
        say!("the same scenario and the same numbers");
    }
    Ok(if same {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Says where two programs made the results.
fn programs(before: &Folder, after: &Folder) {
    let program = |f: &Folder| {
        let revision = f.manifest.revision.as_deref().unwrap_or("unknown");
        format!("{} at {revision}", f.manifest.version)
    };
    let (was, now) = (program(before), program(after));
    if was != now {
        say!("program: {was}, then {now}");
    }
}

fn tell(run: &Run, changed: &[Differs], moved: &[Moved]) {
    if changed.is_empty() && moved.is_empty() {
        return;
    }
    if !run.name.as_os_str().is_empty() {
        say!("{}:", run.name.display());
    }
    if !changed.is_empty() {
        let mut table = Table::new(&["key", "before", "after"]);
        for d in changed {
            table.row(&[d.key.clone(), shown(d.was.as_ref()), shown(d.now.as_ref())]);
        }
        say!("{}", terminal::text(&table));
    }
    if !moved.is_empty() {
        let mut table = Table::new(&["metric", "before", "after", "difference", "%"]);
        for m in moved {
            let number =
                |v: Option<f64>| v.map_or("-".to_owned(), |v| format!("{v:.*}", m.decimals));
            let by = m.was.zip(m.now).map(|(a, b)| b - a);
            let share = m
                .was
                .filter(|a| *a != 0.0)
                .zip(by)
                .map(|(a, d)| 100.0 * d / a);
            table.row(&[
                m.label.clone(),
                number(m.was),
                number(m.now),
                by.map_or("-".to_owned(), |d| format!("{d:+.*}", m.decimals)),
                share.map_or("-".to_owned(), |s| format!("{s:+.1}")),
            ]);
        }
        say!("{}", terminal::text(&table));
    }
}

/// Everything that differs as one table: a line a key or a metric.
fn csv_table() -> Table {
    Table::new(&["run", "what", "key", "before", "after", "difference"])
}

fn csv_rows(table: &mut Table, run: &Run, changed: &[Differs], moved: &[Moved]) {
    let run = run.name.display().to_string();
    for d in changed {
        let cells = [
            &run,
            "scenario",
            &d.key,
            &shown(d.was.as_ref()),
            &shown(d.now.as_ref()),
        ];
        table.row(&cells);
    }
    for m in moved {
        let number = |v: Option<f64>| Cell::number(v, m.decimals);
        table.cells([
            run.as_str().into(),
            "metric".into(),
            m.label.as_str().into(),
            number(m.was),
            number(m.now),
            number(m.was.zip(m.now).map(|(a, b)| b - a)),
        ]);
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(s)) => s.clone(),
        Some(v) => v.to_string(),
        None => MISSING.to_owned(),
    }
}
