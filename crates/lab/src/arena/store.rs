//! What runs left, line by line: a kill loses the runs that were under way, and no line that was written.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use slackwater_results::output::OutputError;
use slackwater_scenario::bounded;

use super::task::{Plan, Row, Task};

/// Name of the file of lines in the folder of an arena.
pub const LINES: &str = "results.jsonl";
/// The longest line that is read; a row has some hundred numbers.
const LONGEST: usize = 1 << 20;

/// The rows of an arena, on disk and here.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    rows: BTreeMap<Task, Row>,
}

impl Store {
    /// Opens the store in `folder` and takes in the rows of `plan` that it holds already. Lines of another version or set,
    /// a line that a kill cut off and lines of more than a MiB are left out.
    ///
    /// # Errors
    /// Where the file cannot be read or made.
    pub fn open(folder: &Path, plan: &Plan) -> Result<Self, OutputError> {
        fs::create_dir_all(folder).map_err(OutputError::file(folder))?;
        let path = folder.join(LINES);
        // What is appended must not join a line that was cut off.
        let ended = match bounded::ends_with(&path, b'\n') {
            Err(e) if e.kind() == ErrorKind::NotFound => true,
            ended => ended.map_err(OutputError::file(&path))?,
        };
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(OutputError::file(&path))?;
        if !ended {
            file.write_all(b"\n").map_err(OutputError::file(&path))?;
        }
        let mut store = Self {
            path,
            file,
            rows: BTreeMap::new(),
        };
        store.read(plan)?;
        Ok(store)
    }

    /// Takes in what others have written to the file meanwhile.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn read(&mut self, plan: &Plan) -> Result<(), OutputError> {
        let keys: BTreeMap<&Task, String> = plan.tasks.iter().map(|t| (t, plan.key(t))).collect();
        // As bytes: a damaged line need not be text.
        let lines = bounded::lines(&self.path, LONGEST).map_err(OutputError::file(&self.path))?;
        for line in lines {
            let line = line.map_err(OutputError::file(&self.path))?;
            let Ok(row) = serde_json::from_slice::<Row>(&line) else {
                continue;
            };
            if keys.get(&row.task).is_some_and(|key| *key == row.key) {
                self.rows.entry(row.task.clone()).or_insert(row);
            }
        }
        Ok(())
    }

    /// Keeps a row.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn add(&mut self, row: Row) -> Result<(), OutputError> {
        let mut line = serde_json::to_string(&row).expect("numbers and names always make JSON");
        line.push('\n');
        // One write a line: what another process appends comes before or after it.
        self.file
            .write_all(line.as_bytes())
            .map_err(OutputError::file(&self.path))?;
        self.rows.entry(row.task.clone()).or_insert(row);
        Ok(())
    }

    /// The rows, in the order of their tasks.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    /// The tasks of `plan` that have no row yet.
    pub fn left(&self, plan: &Plan) -> Vec<Task> {
        let open = plan.tasks.iter().filter(|t| !self.rows.contains_key(*t));
        open.cloned().collect()
    }
}
