//! The folder of results: which runs it holds, their numbers and their curves, and what is running now.
//!
//! Everything is read back from the files that runs leave (`summary.json`, Parquet), so results of another day or another
//! machine are looked at like those of this one.

mod curves;
mod index;
pub mod live;
mod read;

use std::path::PathBuf;

pub use curves::{MAX_RUNS, overlay};
pub use index::{Arena, Difference, Differences, Entry, Glance, Group, Page, Shelf, differences};

/// Why a result could not be read back.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// No such run below the folder of results.
    #[error("{name}: no run of this name below {root}; `slackwater serve` lists what there is")]
    NoRun {
        /// What was asked for.
        name: String,
        /// The folder of results.
        root: PathBuf,
    },
    /// A file could not be read.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A summary of another version, or none.
    #[error("{path}: {source}; expected the summary.json that `slackwater run` writes")]
    Summary {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The names of a controller's states could not be read.
    #[error("{path}: {source}; expected an object of lists of names")]
    States {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A table could not be read.
    #[error("{path}: {source}")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ::parquet::errors::ParquetError,
    },
    /// A table lacks a column.
    #[error("{path}: no column {column} of {expected}; the file is of another version")]
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
        /// Its type.
        expected: &'static str,
    },
}

#[cfg(test)]
mod tests;
