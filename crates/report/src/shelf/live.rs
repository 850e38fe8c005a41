//! What is running now, by the files that commands renew while they run.

use std::path::PathBuf;

use slackwater_lab::beacon::{Live, read};

use super::Shelf;

/// What `files`, found by [`Shelf::glance`], say that runs now, each with its folder below the shelf's.
pub fn running(shelf: &Shelf, files: Vec<PathBuf>) -> Vec<(String, Live)> {
    files
        .into_iter()
        .filter_map(|file| Some((shelf.below(file.parent()?)?, read(&file)?)))
        .collect()
}
