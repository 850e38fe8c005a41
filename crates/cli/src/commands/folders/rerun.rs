//! `slackwater rerun`: the runs of a folder once more, and whether they give the same numbers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::{Value, json};
use slackwater_lab::core::Duration;
use slackwater_lab::parallel;
use slackwater_lab::run::{Control, RunError, RunResult, run_part};
use slackwater_results::output::content;
use slackwater_scenario::{Plugins, Scenario, Variant, bounded};

use super::{Folder, Run, SCENARIO};
use crate::manifest;
use crate::progress::{self, STEPS};
use crate::results::write;
use crate::say::say;
use crate::scenario::check;

/// `slackwater rerun`
#[derive(Debug, Args)]
pub(crate) struct RerunArgs {
    /// Folders of runs or comparisons, or a folder above some, such as a bundle
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Threads (default: all cores)
    #[arg(long, short, value_name = "N")]
    jobs: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A number that is not what it was.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Differs {
    /// Where it stands in the summary, such as `flows[0].goodput_mbps`.
    pub(super) key: String,
    pub(super) was: Option<Value>,
    pub(super) now: Option<Value>,
}

/// How a run came out again.
struct Again {
    /// Numbers and words of its summary.
    values: usize,
    differ: Vec<Differs>,
    /// Files that have other bytes now, or are there but once.
    files: Vec<PathBuf>,
    /// Files in all.
    all_files: usize,
}

/// Each value of `json` that is no list and no table, by its place.
pub(super) fn flat(json: &Value) -> BTreeMap<String, Value> {
    fn walk(json: &Value, key: String, out: &mut BTreeMap<String, Value>) {
        match json {
            Value::Object(map) => {
                for (k, v) in map {
                    let dot = if key.is_empty() { "" } else { "." };
                    walk(v, format!("{key}{dot}{k}"), out);
                }
            }
            Value::Array(items) => {
                for (i, v) in items.iter().enumerate() {
                    walk(v, format!("{key}[{i}]"), out);
                }
            }
            value => {
                out.insert(key, value.clone());
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(json, String::new(), &mut out);
    out
}

/// What differs between two flat values.
pub(super) fn differences(
    was: &BTreeMap<String, Value>,
    now: &BTreeMap<String, Value>,
) -> Vec<Differs> {
    let mut keys: Vec<&String> = was.keys().chain(now.keys()).collect();
    keys.sort();
    keys.dedup();
    let differs = keys.into_iter().filter(|k| was.get(*k) != now.get(*k));
    let of = |key: &String| Differs {
        key: key.clone(),
        was: was.get(key).cloned(),
        now: now.get(key).cloned(),
    };
    differs.map(of).collect()
}

/// The scenario that `run` had.
fn scenario(folder: &Folder, run: &Run, plugins: &Plugins) -> Result<Scenario> {
    let path = run.path.join(SCENARIO);
    let text =
        bounded::document(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let file = path.display().to_string();
    let scenario = Scenario::parse(&file, &text, &folder.base())?.with_plugins(plugins);
    check(&file, &scenario)?;
    Ok(scenario)
}

/// Says what else than the numbers is not as it was.
fn note(folder: &Folder) {
    let m = &folder.manifest;
    let place = folder.path.display();
    let ours = (
        env!("CARGO_PKG_VERSION"),
        manifest::revision().unwrap_or("unknown"),
    );
    let theirs = (
        m.version.as_str(),
        m.revision.as_deref().unwrap_or("unknown"),
    );
    if ours != theirs {
        eprintln!(
            "note: {place} is of slackwater {} at {}, this is {} at {}",
            theirs.0, theirs.1, ours.0, ours.1
        );
    }
    for input in &m.inputs {
        let now = content::of_file(&folder.base().join(&input.path)).ok();
        if now.as_ref() != Some(&input.sha256) {
            eprintln!("note: {place}: {} is not the file that it was", input.path);
        }
    }
}

fn again(run: &Run, result: &RunResult, scratch: &Path) -> Result<Again> {
    let plain = |summary: &_| -> Result<BTreeMap<String, Value>> {
        let mut values = flat(&serde_json::to_value(summary)?);
        // Which program made it is in the manifest.
        values.remove("version");
        Ok(values)
    };
    let (was, now) = (plain(&run.summary)?, plain(&result.summary)?);
    write(scratch, result)?;
    let hashes = |folder: &Path| -> Result<BTreeMap<PathBuf, String>> {
        let files =
            content::files(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let ours = files.into_iter().map(|f| (f.path, f.sha256));
        Ok(ours.collect())
    };
    let (then, after) = (hashes(&run.path)?, hashes(scratch)?);
    let mut names: Vec<&PathBuf> = then.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    let other = names.iter().filter(|n| then.get(**n) != after.get(**n));
    Ok(Again {
        values: was.len(),
        differ: differences(&was, &now),
        files: other.map(|n| (*n).clone()).collect(),
        all_files: names.len(),
    })
}

/// How long `run` was: less than its scenario where it was interrupted.
fn length(run: &Run) -> Duration {
    Duration::from_nanos((run.summary.duration_s * 1e9).round() as u64)
}

/// A folder that is gone when this is.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn rerun(args: &RerunArgs, plugins: &Plugins) -> Result<ExitCode> {
    progress::catch_interrupts();
    let mut work = Vec::new();
    for path in &args.folders {
        for folder in Folder::all(path)? {
            let m = &folder.manifest;
            if !["run", "comparison"].contains(&m.kind.as_str()) {
                let found = format!(
                    "{}: found a {} of {}, expected a run or a comparison; its command was: {}",
                    folder.path.display(),
                    m.kind,
                    m.name,
                    m.command
                );
                if folder.path == *path {
                    bail!("{found}");
                }
                eprintln!("note: {found}");
                continue;
            }
            note(&folder);
            for run in folder.runs()? {
                let scenario = scenario(&folder, &run, plugins)?;
                let variant = Variant {
                    labels: run.summary.labels.clone(),
                    seed: run.summary.seed,
                    scenario,
                };
                work.push((run, variant));
            }
        }
    }
    let own = format!("slackwater-rerun-{}", std::process::id());
    let scratch = Scratch(std::env::temp_dir().join(own));
    let bar = progress::bar(work.len());
    let jobs = args.jobs.unwrap_or_else(parallel::cores);
    let (runs, variants): (Vec<Run>, Vec<Variant>) = work.into_iter().unzip();
    let mut rows = Vec::new();
    let mut same = 0;
    // A part at a time: records of hundreds of runs need not lie in memory together.
    for (n, part) in variants.chunks(jobs.max(1)).enumerate() {
        let first = n * jobs.max(1);
        let results = parallel::map(part.len(), jobs, |k| -> Result<RunResult, RunError> {
            let v = &part[k];
            let mut result = run_part(
                &v.scenario,
                v.seed,
                length(&runs[first + k]),
                &mut |_, _| {
                    if progress::interrupted() {
                        Control::Stop
                    } else {
                        Control::Continue
                    }
                },
            )?;
            result.summary.identify(&v.scenario, &v.labels, v.seed);
            Ok(result)
        });
        let results: Vec<RunResult> = results.into_iter().collect::<Result<_, _>>()?;
        for (k, result) in results.iter().enumerate() {
            let run = &runs[first + k];
            let place = scratch.0.join(rows.len().to_string());
            let again = again(run, result, &place)?;
            let _ = std::fs::remove_dir_all(&place);
            bar.inc(STEPS);
            let equal = again.differ.is_empty();
            same += usize::from(equal);
            rows.push(json!({
                "run": run.path, "equal": equal, "values": again.values,
                "differ": again.differ.iter().map(|d| json!({ "key": d.key, "was": d.was, "now": d.now })).collect::<Vec<_>>(),
                "files": again.all_files, "other_files": again.files,
            }));
            if !args.json {
                bar.suspend(|| tell(run, &again));
            }
        }
    }
    bar.finish_and_clear();
    if args.json {
        say!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        say!("{same} of {} runs equal to the digit", runs.len());
    }
    Ok(if same == runs.len() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Numbers that a run names at most.
const SHOWN: usize = 8;

fn tell(run: &Run, again: &Again) {
    let Again {
        values,
        differ,
        files,
        all_files,
    } = again;
    let bytes = all_files - files.len();
    let place = run.path.display();
    if differ.is_empty() {
        say!("{place}: equal, {values} values, {bytes} of {all_files} files to the byte");
    } else {
        say!(
            "{place}: DIFFERS in {} of {values} values, {bytes} of {all_files} files to the byte",
            differ.len()
        );
    }
    let shown = |value: &Option<Value>| value.as_ref().map_or("none".to_owned(), Value::to_string);
    for d in differ.iter().take(SHOWN) {
        say!("  {}: was {}, is {}", d.key, shown(&d.was), shown(&d.now));
    }
    if differ.len() > SHOWN {
        say!("  and {} more", differ.len() - SHOWN);
    }
    for file in files.iter().take(SHOWN) {
        say!("  {}: other bytes", file.display());
    }
}
