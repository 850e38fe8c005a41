//! What a run leaves on disk: `runs/<name>/` with the summary, the resolved scenario, series, captures and logs.

pub mod captures;
pub mod comparison;
pub mod content;
pub mod dictionary;
mod failpoint;
pub mod frame;
mod names;
pub mod parquet;
pub mod perfetto;
pub mod place;
pub mod qlogs;
pub mod tables;
pub mod update;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use slackwater_scenario::Scenario;

use crate::metrics::RunSummary;
use crate::metrics::summary::fnv1a;
use crate::record::RunRecorder;

pub use comparison::Comparison;
pub use frame::{Column, Frame};
pub use place::{Input, Manifest, Place, PlaceError};
pub use tables::{comparison_table, difference_table, flow_table, run_table};
pub use update::Update;

/// Why results could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A file could not be written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A table could not be written.
    #[error("{path}: {source}")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ::parquet::errors::ParquetError,
    },
}

impl OutputError {
    /// What a failed operation on `path` becomes.
    pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}

impl RunSummary {
    /// Fills in which run this is.
    pub fn identify(&mut self, scenario: &Scenario, labels: &[(String, String)], seed: u64) {
        self.name.clone_from(&scenario.name);
        self.labels = labels.to_vec();
        self.seed = seed;
        // Runs that differ by their seeds alone share it.
        let mut unseeded = scenario.clone();
        unseeded.seed = 1;
        self.scenario_hash = fnv1a(&unseeded.to_toml());
    }
}

/// A folder name for a run of a comparison: the labels' values and the seed, such as `cubic-128-packets-seed-3`.
pub fn run_folder(labels: &[(String, String)], seed: u64) -> String {
    let mut out = String::new();
    for (_, value) in labels {
        for c in value.chars() {
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') {
                out.push(c);
            } else if !out.ends_with('-') && !out.is_empty() {
                out.push('-');
            }
        }
        if !out.ends_with('-') && !out.is_empty() {
            out.push('-');
        }
        // File systems end names at 255 bytes; two runs whose names agree in 150 are told apart by the hash.
        if out.len() > 150 {
            out.truncate(150);
            let all: Vec<&str> = labels.iter().map(|l| l.1.as_str()).collect();
            out.push('-');
            out.push_str(&fnv1a(&all.join("\n")));
            out.push('-');
            break;
        }
    }
    out + &format!("seed-{seed}")
}

/// Name of the file that names the states of controllers from outside, where a run has such controllers: a JSON object of
/// lists, by the controller.
pub const STATES: &str = "states.json";

/// Writes everything about a run into `folder`, which is made where it is missing. Returns the files, in order.
///
/// # Errors
/// Where a file cannot be written; the error names it.
pub fn write_run(
    folder: &Path,
    scenario: &Scenario,
    summary: &RunSummary,
    run: &RunRecorder,
) -> Result<Vec<PathBuf>, OutputError> {
    std::fs::create_dir_all(folder).map_err(OutputError::file(folder))?;
    let mut files = Vec::new();
    let mut text = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, content).map_err(OutputError::file(&path))?;
        failpoint::step();
        files.push(path);
        Ok::<(), OutputError>(())
    };
    text("scenario.toml", scenario.to_toml().as_bytes())?;
    let states = own_states(scenario, summary);
    if !states.is_empty() {
        let json = serde_json::to_string_pretty(&states).expect("texts always make JSON");
        text(STATES, format!("{json}\n").as_bytes())?;
    }
    if scenario.record.qlog {
        for (name, log) in qlogs::qlogs(scenario, run) {
            text(&name, log.as_bytes())?;
        }
    }
    if scenario.record.pcap {
        text("senders.pcapng", &captures::pcapng(run))?;
    }
    if scenario.record.perfetto {
        let trace = perfetto::trace(run, perfetto::Bounds::default());
        text(perfetto::FILE, &trace)?;
    }
    for (name, frames) in frame::frames(run) {
        let path = folder.join(format!("{name}.parquet"));
        if parquet::write(&path, frames)? {
            failpoint::step();
            files.push(path);
        }
    }
    // Last: a folder with a summary is whole.
    let path = folder.join("summary.json");
    std::fs::write(&path, summary_json(summary)).map_err(OutputError::file(&path))?;
    failpoint::step();
    files.push(path);
    Ok(files)
}

/// The states of controllers that only the running program knows, by the controller's name in the summary: who reads the run
/// back may be another program.
fn own_states<'a>(
    scenario: &Scenario,
    summary: &'a RunSummary,
) -> BTreeMap<&'a str, &'static [&'static str]> {
    let names = summary.flows.iter().map(|f| f.controller.as_str());
    let known = scenario.plugins().controllers();
    names
        .filter_map(|name| Some((name, known.own_modes(name)?)))
        .collect()
}

/// The summary as indented JSON with a final line end.
pub fn summary_json(summary: &RunSummary) -> String {
    // Numbers, texts and lists of them always have a JSON form; NaN becomes null.
    let mut text = serde_json::to_string_pretty(summary).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;
