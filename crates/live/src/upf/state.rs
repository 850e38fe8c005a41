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

/// The state file that a function is to keep.
#[derive(Debug)]
pub(super) struct Kept {
    /// Where it is.
    path: PathBuf,
    /// `None` since it could not be written.
    file: Option<StateFile>,
}

impl Kept {
    /// Replaces the file by `whole`.
    ///
    /// # Errors
    /// See [`StateFile::replace`].
    pub(super) fn new(path: &Path, whole: &[u8]) -> Result<Self, LiveError> {
        Ok(Self {
            path: path.to_owned(),
            file: Some(StateFile::replace(path, whole)?),
        })
    }

    /// Writes `records` to the end, and replaces a file that is too long by `whole`.
    ///
    /// # Errors
    /// The disk is full, or gone. Then the file goes: it would promise what it does not hold.
    pub(super) fn keep(
        &mut self,
        records: &[u8],
        whole: impl FnOnce() -> Vec<u8>,
    ) -> Result<(), LiveError> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let what = || format!("cannot write the state file {}", self.path.display());
        let mut done = file
            .append(records)
            .map_err(|e| LiveError::kernel(what(), e));
        if done.is_ok() && file.is_long() {
            done = StateFile::replace(&self.path, &whole()).map(|new| *file = new);
        }
        if done.is_err() {
            self.file = None;
            let _gone = std::fs::remove_file(&self.path);
        }
        done
    }

    /// Tries again where the file could not be written; true where it is there from now on.
    pub(super) fn retry(&mut self, whole: impl FnOnce() -> Vec<u8>) -> bool {
        if self.file.is_some() {
            return false;
        }
        self.file = StateFile::replace(&self.path, &whole()).ok();
        self.file.is_some()
    }
}

/// The file.
#[derive(Debug)]
struct StateFile {
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
    fn replace(path: &Path, whole: &[u8]) -> Result<Self, LiveError> {
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
            file,
            written: whole.len() as u64,
            whole: whole.len() as u64,
        })
    }

    /// Writes records to the end. A process that is killed after this call has them in the file.
    ///
    /// # Errors
    /// The disk is full, or gone.
    fn append(&mut self, records: &[u8]) -> std::io::Result<()> {
        self.written += records.len() as u64;
        self.file.write_all(records)
    }

    /// True where it is time to replace it.
    const fn is_long(&self) -> bool {
        self.written > 2 * self.whole + SLACK
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
        StateFile::replace(&path, b"three").unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"three");
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

    #[test]
    fn a_file_that_could_not_be_written_begins_anew_once_it_can() {
        let folder = std::env::temp_dir().join(format!("slackwater-kept-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("upf.state");
        let mut kept = Kept::new(&path, b"one").unwrap();
        kept.keep(b", two", || unreachable!("it is short")).unwrap();
        assert!(!kept.retry(|| unreachable!("it is there")));
        assert_eq!(read(&path).unwrap().unwrap(), b"one, two");

        // full(4): each write fails as on a full disk.
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        kept.file.as_mut().unwrap().file = full;
        let error = kept.keep(b", three", Vec::new).unwrap_err().to_string();
        assert!(error.contains("upf.state"), "{error}");
        assert!(read(&path).unwrap().is_none());
        kept.keep(b", four", Vec::new).unwrap();
        assert!(read(&path).unwrap().is_none());

        std::fs::rename(&folder, folder.with_extension("gone")).unwrap();
        assert!(!kept.retry(|| b"five".to_vec()));
        std::fs::rename(folder.with_extension("gone"), &folder).unwrap();
        assert!(kept.retry(|| b"five".to_vec()));
        kept.keep(b", six", Vec::new).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"five, six");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
