//! The state file on disk: read at the start, replaced whole, then written to its end before each answer leaves.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use slackwater_scenario::bounded;

use crate::LiveError;

/// A journal is replaced by what it comes to once it is longer than that by so much.
const SLACK: u64 = 1 << 20;

/// Which run of the machine this is (`random(4)`): a file of another run may lack what was confirmed.
pub(super) fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// What an earlier process left; `None` where there is no file.
///
/// # Errors
/// It is there and cannot be read.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, LiveError> {
    match bounded::read(path, bounded::RESULTS) {
        Ok(octets) => Ok(Some(octets)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => {
            let what = format!("cannot read the state file {}", path.display());
            Err(LiveError::kernel(what, e))
        }
    }
}

/// The file.
#[derive(Debug)]
pub(super) struct StateFile {
    path: PathBuf,
    file: File,
    /// Octets of the file.
    written: u64,
    /// Octets that it had when it was replaced last.
    whole: u64,
}

impl StateFile {
    /// Replaces the file by `whole`: another is written beside it and takes its name, so that there is always a whole one.
    ///
    /// # Errors
    /// The folder is not there or may not be written to.
    pub(super) fn replace(path: &Path, whole: &[u8]) -> Result<Self, LiveError> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        let beside = PathBuf::from(beside);
        let written = || -> std::io::Result<File> {
            let _older = std::fs::remove_file(&beside);
            let mut options = OpenOptions::new();
            options.append(true).create_new(true);
            // Addresses of users and tunnel numbers stand in it.
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(&beside)?;
            file.write_all(whole)?;
            file.sync_all()?;
            std::fs::rename(&beside, path)?;
            Ok(file)
        };
        let file = written().map_err(|e| {
            LiveError::kernel(format!("cannot write the state file {}", path.display()), e)
        })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            written: whole.len() as u64,
            whole: whole.len() as u64,
        })
    }

    /// Writes records to the end. A process that is killed after this call has them in the file.
    ///
    /// # Errors
    /// The disk is full, or gone.
    pub(super) fn append(&mut self, records: &[u8]) -> std::io::Result<()> {
        self.written += records.len() as u64;
        self.file.write_all(records)
    }

    /// True where it is time to replace it.
    pub(super) const fn is_long(&self) -> bool {
        self.written > 2 * self.whole + SLACK
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes it away: it would promise what it does not hold.
    pub(super) fn give_up(self) {
        let _gone = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_replacement_is_whole() {
        let folder = std::env::temp_dir().join(format!("slackwater-state-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("upf.state");
        assert!(read(&path).unwrap().is_none());
        let mut file = StateFile::replace(&path, b"one").unwrap();
        file.append(b", two").unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"one, two");
        assert!(!file.is_long());
        file.append(&vec![0; SLACK as usize]).unwrap();
        assert!(file.is_long());
        // What stands beside it from a process that was killed is in nobody's way.
        std::fs::write(folder.join("upf.state.new"), "half").unwrap();
        let file = StateFile::replace(&path, b"three").unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"three");
        file.give_up();
        assert!(read(&path).unwrap().is_none());
        // Neither a file without end nor a pipe is read.
        let large = File::create(&path).unwrap();
        large.set_len(bounded::RESULTS as u64 + 1).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("more than 256 MiB"), "{error}");
        std::fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.is_ok_and(|s| s.success()), "mkfifo");
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("a pipe"), "{error}");
        let error = StateFile::replace(&folder.join("no/such"), b"").unwrap_err();
        assert!(error.to_string().contains("no/such"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
