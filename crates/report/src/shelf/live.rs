//! What is running now, by the files that commands renew while they run.

use slackwater_lab::beacon::{FILE, Live, read};

use super::Shelf;

/// What runs now, each with its folder below the shelf's.
pub fn running(shelf: &Shelf) -> Vec<(String, Live)> {
    let files = shelf.files(FILE).into_iter();
    files
        .filter_map(|file| Some((shelf.below(file.parent()?)?, read(&file)?)))
        .collect()
}
