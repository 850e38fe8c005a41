//! Folders of results: `slackwater ls`, `show` and `rm`; `diff`, `rerun` and `bundle` stand below.

pub(crate) mod bundle;
pub(crate) mod diff;
pub(crate) mod rerun;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::json;
use slackwater_results::metrics::RunSummary;
use slackwater_results::output::{Manifest, content, place, tables};
use slackwater_results::table::{Cell, Column, Table};
use slackwater_scenario::{Plugins, bounded};

use crate::results::plain;
use crate::say::say;
use crate::scenario::{changes, check, named};
use crate::terminal::{self, TableArgs};

/// Name of the file with a run's numbers.
const SUMMARY: &str = "summary.json";
/// Name of the file with the scenario as it ran.
const SCENARIO: &str = "scenario.toml";
/// Folders are searched this deep, as `slackwater serve` does.
const DEPTH: usize = 5;

/// A folder of results.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) manifest: Manifest,
}

/// One run of a folder.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// Its folder below that of the results; empty where it is the same.
    pub(super) name: PathBuf,
    /// Its folder.
    pub(super) path: PathBuf,
    pub(super) summary: RunSummary,
}

impl Folder {
    /// The results in `path` itself.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let manifest = Manifest::of(path).with_context(|| {
            let found = if path.is_dir() {
                "no results.json that can be read"
            } else {
                "no such folder"
            };
            format!(
                "{}: found {found}, expected a folder of results",
                path.display()
            )
        })?;
        Ok(Self {
            path: path.to_owned(),
            manifest,
        })
    }

    /// The results in `path`, or else all below it.
    pub(super) fn all(path: &Path) -> Result<Vec<Self>> {
        if Manifest::of(path).is_some() || !path.is_dir() {
            return Ok(vec![Self::of(path)?]);
        }
        let all = below(path);
        if all.is_empty() {
            bail!(
                "{}: found no results, expected a folder of results or one above some",
                path.display()
            );
        }
        Ok(all)
    }

    /// Its runs, in the order of their names.
    pub(super) fn runs(&self) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        walk(&self.path, 0, &mut |path| {
            if path.join(SUMMARY).is_file() {
                let name = path.strip_prefix(&self.path).unwrap_or(path).to_owned();
                runs.push((name, path.to_owned()));
            }
            true
        });
        runs.sort();
        let read = |(name, path): (PathBuf, PathBuf)| {
            let summary = summary(&path)?;
            Ok(Run {
                name,
                path,
                summary,
            })
        };
        runs.into_iter().map(read).collect()
    }

    /// Where the relative paths of its scenarios start.
    pub(super) fn base(&self) -> PathBuf {
        let base = self.manifest.base.as_deref();
        self.path.join(base.unwrap_or(Path::new(".")))
    }
}

/// The numbers of the run in `folder`.
fn summary(folder: &Path) -> Result<RunSummary> {
    let path = folder.join(SUMMARY);
    let text = bounded::read(&path, bounded::RESULTS)
        .with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| {
        format!(
            "{}: found another form, expected the numbers of a run",
            path.display()
        )
    })
}

/// Every folder of results below `root`, in the order of their paths.
fn below(root: &Path) -> Vec<Folder> {
    let mut all = Vec::new();
    walk(root, 0, &mut |path| match Manifest::of(path) {
        Some(manifest) => {
            all.push(Folder {
                path: path.to_owned(),
                manifest,
            });
            false
        }
        None => true,
    });
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

/// Calls `see` with `folder` and those below it, as long as it says to go deeper. Links and hidden folders are left out.
fn walk(folder: &Path, depth: usize, see: &mut dyn FnMut(&Path) -> bool) {
    if !see(folder) || depth == DEPTH {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !hidden && entry.file_type().is_ok_and(|t| t.is_dir()) {
            walk(&entry.path(), depth + 1, see);
        }
    }
}

/// `slackwater ls`
#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    /// The folder to look below
    #[arg(default_value = "runs")]
    folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    table: TableArgs,
}

pub(crate) fn ls(args: &LsArgs) -> Result<ExitCode> {
    if !args.folder.is_dir() {
        bail!(
            "{}: found no such folder, expected one with results below it",
            args.folder.display()
        );
    }
    let mut table = Table::with([
        Column::new("folder"),
        Column::new("kind").rank(1),
        Column::new("of").rank(2),
        Column::new("changes").rank(3),
        Column::new("runs").rank(4),
        Column::new("size").rank(6),
        Column::new("age").rank(5),
    ]);
    let mut rows = Vec::new();
    for folder in below(&args.folder) {
        let m = &folder.manifest;
        let set: Vec<String> = m.set.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let runs = folder.runs()?;
        let size = size(&folder.path);
        let written = written(&folder.path);
        rows.push(json!({
            "folder": folder.path, "kind": m.kind, "name": m.name, "set": m.set, "runs": runs.len(), "bytes": size,
            "written": written.and_then(|t| t.duration_since(SystemTime::UNIX_EPOCH).ok()).map(|t| t.as_secs()),
            "version": m.version, "revision": m.revision, "command": m.command, "partial": m.partial, "content": m.content,
        }));
        let kind = match m.partial {
            Some(_) => format!("{} (partial)", m.kind),
            None => m.kind.clone(),
        };
        let since = written.and_then(|t| t.elapsed().ok());
        let age = match since {
            Some(since) => Cell::shown(age(since), since.as_secs_f64().floor()),
            None => Cell::missing(),
        };
        table.cells([
            folder.path.display().to_string().into(),
            kind.into(),
            m.name.as_str().into(),
            set.join(" ").into(),
            Cell::shown(runs.len().to_string(), runs.len() as f64),
            Cell::shown(format!("{:.1} MB", size as f64 / 1e6), size as f64),
            age,
        ]);
    }
    if args.json {
        say!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        args.table.print(&table)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Bytes of all files below `folder`.
fn size(folder: &Path) -> u64 {
    let files = content::all_files(folder).unwrap_or_default();
    let sizes = files.iter().filter_map(|f| folder.join(f).metadata().ok());
    sizes.map(|m| m.len()).sum()
}

/// When the results were put there.
fn written(folder: &Path) -> Option<SystemTime> {
    let manifest = folder.join(place::MANIFEST).metadata();
    manifest.and_then(|m| m.modified()).ok()
}

fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// `slackwater show`
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A folder of results, a scenario file, or the name of an embedded scenario
    what: String,
    /// Set a key of the scenario before it is shown
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    table: TableArgs,
}

pub(crate) fn show(args: &ShowArgs, plugins: &Plugins) -> Result<ExitCode> {
    if Path::new(&args.what).is_dir() {
        if !args.set.is_empty() {
            bail!(
                "--set: found a folder of results, expected a scenario: results are what they are"
            );
        }
        return show_folder(&Folder::of(Path::new(&args.what))?, args);
    }
    if args.table.csv || args.table.chosen() {
        bail!(
            "{}: found a scenario, expected a folder of results: --csv and --columns are of its table",
            args.what
        );
    }
    let scenario = named(&args.what, &changes(&args.set)?)?.with_plugins(plugins);
    check(&args.what, &scenario)?;
    if args.json {
        say!("{}", serde_json::to_string_pretty(&scenario.to_json())?);
    } else {
        say!("{}", scenario.to_toml().trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the table of the numbers in `summaries`, where there are any.
fn show_numbers(args: &ShowArgs, summaries: &[RunSummary]) -> Result<()> {
    match summaries {
        [] => Ok(()),
        [one] if args.table.csv || args.table.chosen() => {
            args.table.print(&tables::whole_table(one))
        }
        [one] => {
            args.table.show(&tables::flow_table(one))?;
            terminal::print(&terminal::text(&tables::run_table(one)));
            Ok(())
        }
        many => args.table.print(&tables::comparison_table(many)),
    }
}

fn show_folder(folder: &Folder, args: &ShowArgs) -> Result<ExitCode> {
    let runs = folder.runs()?;
    let summaries: Vec<RunSummary> = runs.into_iter().map(|r| r.summary).collect();
    if args.table.csv {
        show_numbers(args, &summaries)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.json {
        let all = json!({ "manifest": folder.manifest, "runs": summaries });
        say!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(ExitCode::SUCCESS);
    }
    let m = &folder.manifest;
    say!("{} of {}, {}", m.kind, m.name, folder.path.display());
    say!("command   {}", m.command);
    match &m.revision {
        Some(revision) => say!("program   {} at {revision}", m.version),
        None => say!("program   {}", m.version),
    }
    for (key, value) in &m.set {
        say!("changed   {key} = {value}");
    }
    for input in &m.inputs {
        say!("read      {}  sha256 {}", input.path, input.sha256);
    }
    if let Some(partial) = &m.partial {
        say!("partial   {partial}");
    }
    if let Some(content) = &m.content {
        let now = content::of_folder(&folder.path)
            .with_context(|| format!("cannot read {}", folder.path.display()))?;
        let state = if now == *content {
            "as written"
        } else {
            "CHANGED since it was written"
        };
        say!("content   sha256 {content}, {state}");
    }
    if !summaries.is_empty() {
        say!();
        show_numbers(args, &summaries)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `slackwater rm`
#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// Folders of results
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
}

pub(crate) fn rm(args: &RmArgs) -> Result<ExitCode> {
    // All or none: a slip in the last name removes nothing.
    for folder in &args.folders {
        Folder::of(folder)?;
    }
    for folder in &args.folders {
        place::discard(folder).map_err(plain)?;
        say!("removed {}", folder.display());
    }
    Ok(ExitCode::SUCCESS)
}
