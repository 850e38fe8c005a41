//! Files that are renewed together in a folder that stays, such as an arena's with the lines that its runs left.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use nix::fcntl::Flock;

use super::failpoint;
use super::place::{PlaceError, beside, lock, remove, sync, sync_entry};

/// A folder that this process alone writes results into. Files are written aside and then take their places together.
#[derive(Debug)]
pub struct Update {
    folder: PathBuf,
    aside: PathBuf,
    lock: Option<(Flock<File>, PathBuf)>,
}

impl Update {
    /// Claims `folder`, which is made where it is missing.
    ///
    /// # Errors
    /// Where another process has it, or it cannot be made.
    pub fn claim(folder: &Path) -> Result<Self, PlaceError> {
        fs::create_dir_all(folder).map_err(PlaceError::file(folder))?;
        let folder = folder.canonicalize().map_err(PlaceError::file(folder))?;
        let lock = lock(&folder, beside(&folder, ".lock"))?;
        let aside = folder.join(".part");
        // A command that was killed left it.
        remove(&aside)?;
        Ok(Self {
            folder,
            aside,
            lock: Some(lock),
        })
    }

    /// The folder to write into, which is made.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn aside(&self) -> Result<&Path, PlaceError> {
        failpoint::step();
        fs::create_dir_all(&self.aside).map_err(PlaceError::file(&self.aside))?;
        Ok(&self.aside)
    }

    /// Puts the files that were written into their places. `heads` are those by which a reader finds the others: old ones go
    /// first and new ones come last, the first of them at the very end. So a reader finds all old files, all new ones, or no head.
    ///
    /// # Errors
    /// Where they cannot be written to the disk (old files stay then) or renamed.
    pub fn put(&self, heads: &[&str]) -> Result<(), PlaceError> {
        let aside = self.aside()?;
        sync(aside)?;
        failpoint::step();
        let mut names: Vec<_> = fs::read_dir(aside)
            .map_err(PlaceError::file(aside))?
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        // Heads last, in the opposite order.
        names.sort_by_key(|name| {
            let head = heads.iter().position(|h| name == *h);
            head.map_or(0, |i| heads.len() - i)
        });
        for head in heads {
            let path = self.folder.join(head);
            if path.exists() {
                fs::remove_file(&path).map_err(PlaceError::file(&path))?;
            }
            failpoint::step();
        }
        for name in names {
            let path = self.folder.join(&name);
            fs::rename(aside.join(&name), &path).map_err(PlaceError::file(&path))?;
            failpoint::step();
        }
        sync_entry(&self.folder.join(heads.first().unwrap_or(&"")));
        remove(aside)
    }
}

impl Drop for Update {
    fn drop(&mut self) {
        let _ = remove(&self.aside);
        if let Some((lock, path)) = self.lock.take() {
            let _ = fs::remove_file(path);
            drop(lock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_stay_stay_and_a_second_process_waits() {
        let own = std::env::temp_dir().join(format!("slackwater-update-{}", std::process::id()));
        let _ = fs::remove_dir_all(&own);
        let folder = own.join("arena");
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        for round in ["one", "two"] {
            let update = Update::claim(&folder).expect("nobody else has it");
            let taken = Update::claim(&folder).expect_err("one at a time");
            assert!(matches!(taken, PlaceError::Busy(_)), "{taken}");
            fs::write(folder.join("results.jsonl"), "kept").expect("a file");
            for name in ["arena.json", "table", "index.html"] {
                fs::write(update.aside().expect("a folder").join(name), round).expect("a file");
            }
            update.put(&["arena.json", "index.html"]).expect("room");
            drop(update);
            for name in ["arena.json", "table", "index.html"] {
                assert_eq!(read(name), round);
            }
            assert_eq!(read("results.jsonl"), "kept");
        }
        let stopped = Update::claim(&folder).expect("free again");
        fs::write(stopped.aside().expect("a folder").join("table"), "half").expect("a file");
        drop(stopped);
        assert_eq!(read("table"), "two");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 4);
        fs::remove_dir_all(&own).expect("it is ours");
    }
}
