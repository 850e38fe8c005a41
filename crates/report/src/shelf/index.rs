//! What lies below the folder of results.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;
use slackwater_lab::arena::Table;
use slackwater_results::metrics::RunSummary;
use slackwater_results::metrics::table::{METRICS, Metric};

use super::ShelfError;

/// Folders are searched this deep: `runs/<study>/<part>/<run>` and one more.
const DEPTH: usize = 5;

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Shelf {
    root: PathBuf,
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
        Self { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every run, newest first. What cannot be read (a run that is being written, a file of another version) is left out.
    pub fn entries(&self) -> Vec<Entry> {
        let mut all = vec![];
        self.walk(&mut |file| {
            if file.file_name().is_some_and(|n| n == "summary.json") {
                all.extend(self.entry(file));
            }
        });
        all.sort_by(|a: &Entry, b| b.written.cmp(&a.written).then_with(|| a.path.cmp(&b.path)));
        all
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
            let table = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
            Some(Arena {
                path: self.below(file.parent()?)?,
                written: written(&file),
                table,
            })
        };
        let mut all: Vec<Arena> = self
            .files("arena.json")
            .into_iter()
            .filter_map(read)
            .collect();
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
    let text = fs::read_to_string(path).map_err(|source| ShelfError::File {
        path: path.to_owned(),
        source,
    })?;
    serde_json::from_str(&text).map_err(|source| ShelfError::Summary {
        path: path.to_owned(),
        source,
    })
}

fn written(file: &Path) -> u64 {
    let modified = fs::metadata(file).and_then(|m| m.modified()).ok();
    let since = modified.and_then(|m| m.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |d| d.as_secs())
}
