//! What lies below the folder of results.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use slackwater_lab::arena::Table;
use slackwater_lab::beacon;
use slackwater_results::metrics::RunSummary;
use slackwater_results::metrics::table::{METRICS, Metric};
use slackwater_results::stats::{Estimate, paired_of};
use slackwater_scenario::bounded;

use super::ShelfError;

/// Name of the file that makes a folder a run.
const SUMMARY: &str = "summary.json";
/// Name of an arena's table.
const ARENA: &str = "arena.json";
/// Folders are searched this deep: `runs/<study>/<part>/<run>` and one more.
const DEPTH: usize = 5;

/// A folder of results.
#[derive(Debug)]
pub struct Shelf {
    root: PathBuf,
    /// What was read of each summary, by its file: a file that did not change is not read again.
    known: Mutex<BTreeMap<PathBuf, Known>>,
}

/// A summary as it was read.
#[derive(Debug)]
struct Known {
    /// When the file was changed, and its length: what tells another file of the same name.
    stamp: (Option<SystemTime>, u64),
    /// What the list shows; `None` where it could not be read.
    entry: Option<Entry>,
}

/// What changes when results come, go or become others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// Summaries of runs.
    pub runs: usize,
    /// Pages.
    pub pages: usize,
    /// A sum over summaries, pages and tables of arenas: of a hash of each one's path, time of change and length. A sum, because a
    /// folder lists its files in any order.
    pub mark: u64,
}

/// One run, as a list shows it.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Path below the folder of results, with `/` between folders.
    pub path: String,
    /// Name of the scenario.
    pub scenario: String,
    /// What distinguishes it from its siblings.
    pub labels: Vec<(String, String)>,
    /// Controllers of its flows, each once.
    pub controllers: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// Simulated time, s.
    pub duration_s: f64,
    /// When it was written, seconds since 1970.
    pub written: u64,
    /// The scenario's hash: runs that share it differ by their seeds alone.
    pub scenario_hash: String,
    /// A number for each metric that it has, by the metric's key.
    pub metrics: serde_json::Map<String, serde_json::Value>,
}

/// Runs that differ by their seeds alone, as one row.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Paths of its runs.
    pub paths: Vec<String>,
    /// Its seeds, in the order of the paths.
    pub seeds: Vec<u64>,
    /// When the newest was written, seconds since 1970.
    pub written: u64,
    /// Mean and 95 % interval over the seeds, by the metric's key.
    pub values: BTreeMap<String, Estimate>,
}

impl Group {
    /// The rows of `entries`, in the order of their first. Runs share a row that lie in one folder and have the same scenario, labels and
    /// controllers, and the same settings but for the seed. A seed that is there twice counts once, the newest.
    pub fn of(entries: &[Entry]) -> Vec<Self> {
        let mut groups: Vec<Vec<&Entry>> = vec![];
        let mut known = BTreeMap::new();
        for e in entries {
            let folder = e.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let key = (folder, &e.scenario_hash, &e.labels, &e.controllers);
            let at = *known.entry(key).or_insert_with(|| {
                groups.push(vec![]);
                groups.len() - 1
            });
            if groups[at].iter().all(|other| other.seed != e.seed) {
                groups[at].push(e);
            }
        }
        groups.iter().map(|entries| Self::new(entries)).collect()
    }

    fn new(entries: &[&Entry]) -> Self {
        let values = METRICS.iter().filter_map(|m| {
            let found = entries
                .iter()
                .filter_map(|e| e.metrics.get(m.key)?.as_f64());
            let found: Vec<f64> = found.collect();
            Some((m.key.to_owned(), Estimate::within(&found, m.bounds())?))
        });
        Self {
            paths: entries.iter().map(|e| e.path.clone()).collect(),
            seeds: entries.iter().map(|e| e.seed).collect(),
            written: entries.iter().map(|e| e.written).max().unwrap_or(0),
            values: values.collect(),
        }
    }
}

/// A metric of one row less that of another, seed by seed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Difference {
    /// Mean difference and 95 % interval, over the seeds that both have.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Chance alone gives such a difference less than once in twenty times.
    pub stands: bool,
}

/// Differences of a row, by the metric's key.
pub type Differences = BTreeMap<String, Difference>;

/// Each row of `entries` less the row that holds the run `base`, by the path of the row's first run. Rows of another scenario, and rows
/// that share no seed with it, have none. `None` where no row holds that run.
pub fn differences(entries: &[Entry], base: &str) -> Option<BTreeMap<String, Differences>> {
    let by_path: BTreeMap<&str, &Entry> = entries.iter().map(|e| (e.path.as_str(), e)).collect();
    let groups = Group::of(entries);
    let base = groups.iter().find(|g| g.paths.iter().any(|p| p == base))?;
    let scenario = |group: &Group| by_path[group.paths[0].as_str()].scenario.as_str();
    let others = groups
        .iter()
        .filter(|g| g.paths[0] != base.paths[0] && scenario(g) == scenario(base));

    let found = others.filter_map(|group| {
        let value = |group: &Group, seed: u64, m: &Metric| {
            let at = group.seeds.iter().position(|s| *s == seed)?;
            by_path[group.paths[at].as_str()]
                .metrics
                .get(m.key)?
                .as_f64()
        };
        let of = |m: &Metric| {
            let values = |of: &Group| -> Vec<Option<f64>> {
                base.seeds.iter().map(|s| value(of, *s, m)).collect()
            };
            let paired = paired_of(&values(group), &values(base))?;
            let difference = Difference {
                estimate: paired.difference,
                stands: paired.stands(),
            };
            Some((m.key.to_owned(), difference))
        };
        let all: Differences = METRICS.iter().filter_map(of).collect();
        (!all.is_empty()).then(|| (group.paths[0].clone(), all))
    });
    Some(found.collect())
}

/// A page that a command left.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// Path below the folder of results.
    pub path: String,
    /// When it was written, seconds since 1970.
    pub written: u64,
}

/// An arena's results.
#[derive(Clone, Debug, Serialize)]
pub struct Arena {
    /// Its folder below the folder of results.
    pub path: String,
    /// When it was written, seconds since 1970.
    pub written: u64,
    /// Who is how good.
    pub table: Table,
}

impl Shelf {
    /// The results below `root`. It need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            known: Mutex::default(),
        }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every run, newest first. What cannot be read (a run that is being written, a file of another version) is left out.
    pub fn entries(&self) -> Vec<Entry> {
        let mut before = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = BTreeMap::new();
        self.walk(&mut |file| {
            if file.file_name().is_some_and(|n| n == SUMMARY) {
                let stamp = stamp(file);
                let known = before.remove(file).filter(|known| known.stamp == stamp);
                let known = known.unwrap_or_else(|| Known {
                    stamp,
                    entry: self.entry(file),
                });
                now.insert(file.to_owned(), known);
            }
        });
        let mut all: Vec<Entry> = now.values().filter_map(|k| k.entry.clone()).collect();
        *before = now;
        drop(before);
        all.sort_by(|a: &Entry, b| b.written.cmp(&a.written).then_with(|| a.path.cmp(&b.path)));
        all
    }

    /// A glance at what there is, without reading any file; and what commands say that run now, by their files.
    pub fn glance(&self) -> (Glance, Vec<PathBuf>) {
        let (mut glance, mut running) = (Glance::default(), vec![]);
        self.walk(&mut |file| {
            let is_run = file.file_name().is_some_and(|n| n == SUMMARY);
            let is_page = file.extension().is_some_and(|e| e == "html");
            glance.runs += usize::from(is_run);
            glance.pages += usize::from(is_page);
            if is_run || is_page || file.file_name().is_some_and(|n| n == ARENA) {
                let mut hash = DefaultHasher::new();
                (file, stamp(file)).hash(&mut hash);
                glance.mark = glance.mark.wrapping_add(hash.finish());
            }
            if file.file_name().is_some_and(|n| n == beacon::FILE) {
                running.push(file.to_owned());
            }
        });
        running.sort();
        (glance, running)
    }

    /// Every page that a command left, newest first.
    pub fn pages(&self) -> Vec<Page> {
        let mut all = vec![];
        self.walk(&mut |file| {
            if file.extension().is_some_and(|e| e == "html") {
                let path = self.below(file);
                all.extend(path.map(|path| Page {
                    path,
                    written: written(file),
                }));
            }
        });
        all.sort_by(|a: &Page, b| b.written.cmp(&a.written).then_with(|| a.path.cmp(&b.path)));
        all
    }

    /// Every arena, newest first. What another version left is left out.
    pub fn arenas(&self) -> Vec<Arena> {
        let read = |file: PathBuf| {
            let table =
                serde_json::from_slice(&bounded::read(&file, bounded::RESULTS).ok()?).ok()?;
            Some(Arena {
                path: self.below(file.parent()?)?,
                written: written(&file),
                table,
            })
        };
        let mut all: Vec<Arena> = self.files(ARENA).into_iter().filter_map(read).collect();
        all.sort_by(|a, b| b.written.cmp(&a.written).then_with(|| a.path.cmp(&b.path)));
        all
    }

    /// Every file called `name`.
    pub(super) fn files(&self, name: &str) -> Vec<PathBuf> {
        let mut all = vec![];
        self.walk(&mut |file| {
            if file.file_name().is_some_and(|n| n == name) {
                all.push(file.to_owned());
            }
        });
        all.sort();
        all
    }

    /// The file or folder at `path` below the folder of results; `None` where the path leads elsewhere or nowhere.
    pub fn resolve(&self, path: &str) -> Option<PathBuf> {
        let relative = Path::new(path);
        let plain = relative
            .components()
            .all(|c| matches!(c, Component::Normal(_)));
        if !plain || path.is_empty() {
            return None;
        }
        // A link inside the folder must not lead out of it.
        let root = self.root.canonicalize().ok()?;
        let full = root.join(relative).canonicalize().ok()?;
        full.starts_with(&root).then_some(full)
    }

    /// The summary of the run at `path`.
    ///
    /// # Errors
    /// Where there is no such run or its summary cannot be read.
    pub fn summary(&self, path: &str) -> Result<(PathBuf, RunSummary), ShelfError> {
        let folder = self
            .resolve(path)
            .filter(|f| f.join("summary.json").is_file());
        let folder = folder.ok_or_else(|| ShelfError::NoRun {
            name: path.to_owned(),
            root: self.root.clone(),
        })?;
        let summary = load(&folder.join("summary.json"))?;
        Ok((folder, summary))
    }

    pub(super) fn below(&self, file: &Path) -> Option<String> {
        let path = file.strip_prefix(&self.root).ok()?;
        let parts: Option<Vec<&str>> = path.iter().map(|p| p.to_str()).collect();
        Some(parts?.join("/"))
    }

    fn walk(&self, found: &mut dyn FnMut(&Path)) {
        let mut open = vec![(self.root.clone(), 0)];
        while let Some((folder, depth)) = open.pop() {
            let Ok(inside) = fs::read_dir(&folder) else {
                continue;
            };
            for entry in inside.flatten() {
                // Results that are being written stand beside their place under a hidden name.
                if entry.file_name().as_encoded_bytes().starts_with(b".") {
                    continue;
                }
                // Links are not followed: a loop of them would never end.
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && depth < DEPTH => {
                        open.push((entry.path(), depth + 1));
                    }
                    Ok(kind) if kind.is_file() => found(&entry.path()),
                    _ => {}
                }
            }
        }
    }

    fn entry(&self, file: &Path) -> Option<Entry> {
        let summary = load(file).ok()?;
        let mut controllers: Vec<String> = vec![];
        for name in summary.flows.iter().map(|f| &f.controller) {
            if !name.is_empty() && !controllers.contains(name) {
                controllers.push(name.clone());
            }
        }
        let number = |m: &Metric| {
            let value = serde_json::Number::from_f64(m.of_run(&summary)?)?;
            Some((m.key.to_owned(), value.into()))
        };
        Some(Entry {
            path: self.below(file.parent()?)?,
            metrics: METRICS.iter().filter_map(number).collect(),
            scenario: summary.name,
            labels: summary.labels,
            controllers,
            seed: summary.seed,
            duration_s: summary.duration_s,
            written: written(file),
            scenario_hash: summary.scenario_hash,
        })
    }
}

fn load(path: &Path) -> Result<RunSummary, ShelfError> {
    let text = bounded::read(path, bounded::RESULTS).map_err(|source| ShelfError::File {
        path: path.to_owned(),
        source,
    })?;
    serde_json::from_slice(&text).map_err(|source| ShelfError::Summary {
        path: path.to_owned(),
        source,
    })
}

/// When a file was changed, and its length.
fn stamp(file: &Path) -> (Option<SystemTime>, u64) {
    let found = fs::metadata(file).ok();
    let changed = found.as_ref().and_then(|m| m.modified().ok());
    (changed, found.map_or(0, |m| m.len()))
}

fn written(file: &Path) -> u64 {
    let modified = stamp(file).0;
    let since = modified.and_then(|m| m.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |d| d.as_secs())
}
