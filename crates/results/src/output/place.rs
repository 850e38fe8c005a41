//! A folder of results that is one thing: written beside its place, then put there whole.
//!
//! A reader finds what an earlier command left or what this one left, and never files of both. A full disk, an error or a kill
//! leaves what there was.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use slackwater_scenario::bounded;

pub use super::names::MANIFEST;
use super::names::PASSING;

/// A file that a scenario names, as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Its path, as the scenario has it.
    pub path: String,
    /// The SHA-256 of its bytes.
    pub sha256: String,
}

/// What a folder of results holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// `run`, `comparison`, `reproduction`, `emulation` or `base station`.
    pub kind: String,
    /// The scenario's or the paper's name.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Commit that the program was built from, with `-dirty` where files were changed after it; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The command that made it.
    pub command: String,
    /// What the command changed in the scenario (`--set`): key and value, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(String, String)>,
    /// Files that the scenario names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// Where their paths start, seen from this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<PathBuf>,
    /// What is missing, where the command was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// The SHA-256 of all results ([`super::content::of_folder`]); `None` for what earlier versions left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

impl Manifest {
    /// What this version's `command` makes.
    pub fn new(kind: &str, name: &str, command: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            name: name.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_owned(),
            ..Self::default()
        }
    }

    /// That of `folder`; `None` where it has none that can be read.
    pub fn of(folder: &Path) -> Option<Self> {
        let text = bounded::read(&folder.join(MANIFEST), bounded::DOCUMENT).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// The manifest as the file has it.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("texts always make JSON");
        text.push('\n');
        text
    }

    /// True where what `self` says may take the place of what `old` says.
    fn replaces(&self, old: &Self) -> bool {
        self.kind == old.kind && self.name == old.name
    }
}

/// Why a folder cannot take results.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// It holds something else.
    #[error(
        "{folder}: found {found}, expected {expected}, or nothing; --force replaces it, --out DIR takes another folder"
    )]
    Taken {
        /// The folder.
        folder: PathBuf,
        /// What it holds.
        found: String,
        /// What would be replaced.
        expected: String,
    },
    /// It holds files that no command of ours wrote.
    #[error("{0}: found files that are no results, expected an empty folder or none")]
    Foreign(PathBuf),
    /// It is the folder that the command stands in, or one above it.
    #[error(
        "{0}: found the working folder, expected a folder of the results' own, such as {0}/results"
    )]
    Above(PathBuf),
    /// Another process writes there.
    #[error("{0}: another process writes its results there; wait, or choose another --out")]
    Busy(PathBuf),
    /// A file cannot be written or renamed.
    #[error("{path}: cannot write there: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl PlaceError {
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}

/// A place for results, claimed before they are made. Dropped without [`Place::put`], it leaves what there was.
#[derive(Debug)]
pub struct Place {
    /// Where the results shall stand.
    folder: PathBuf,
    /// The same as it was given.
    shown: PathBuf,
    /// Where they are written.
    aside: PathBuf,
    manifest: Manifest,
    /// What another command left in the folder, which these results will replace.
    displaces: Option<Manifest>,
    /// Held until the results stand there. `None` once they do.
    lock: Option<(Flock<File>, PathBuf)>,
}

impl Place {
    /// Claims `folder` for what `manifest` says. `force` takes the place of any results; files of others are never touched.
    ///
    /// # Errors
    /// Where the folder holds something else or a file cannot be made.
    pub fn claim(folder: &Path, manifest: Manifest, force: bool) -> Result<Self, PlaceError> {
        let shown = folder.to_owned();
        // A link to a folder stays a link.
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let here = std::env::current_dir().and_then(|d| d.canonicalize());
        if here.is_ok_and(|here| here.starts_with(&folder)) {
            return Err(PlaceError::Above(folder));
        }
        let parent = match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        fs::create_dir_all(&parent).map_err(PlaceError::file(&folder))?;
        let lock = lock(&folder, beside(&folder, ".lock"))?;
        may_take(&folder, &manifest, force)?;
        let displaces = Manifest::of(&folder).filter(|old| old.command != manifest.command);
        let aside = beside(&folder, ".part");
        // A command that was killed left it.
        remove(&aside)?;
        Ok(Self {
            folder,
            shown,
            aside,
            manifest,
            displaces,
            lock: Some(lock),
        })
    }

    /// What a user should know before results of another command are replaced: which command's, and how to keep them.
    pub fn note(&self) -> Option<String> {
        let old = self.displaces.as_ref()?;
        let folder = self.shown.display();
        Some(format!(
            "{folder}: replaces what `{}` made; --out DIR keeps both",
            old.command
        ))
    }

    /// Says what is missing of the results, since the command was interrupted.
    pub fn partial(&mut self, missing: &str) {
        self.manifest.partial = Some(missing.to_owned());
    }

    /// As [`Place::put`], of partial results: whole ones are not lost for them. Where such stand there, the others go into a folder beside
    /// them, whose name ends with `-partial`.
    ///
    /// # Errors
    /// As [`Place::claim`] of that folder and [`Place::put`].
    pub fn put_partial(mut self, missing: &str) -> Result<PathBuf, PlaceError> {
        self.partial(missing);
        let whole = Manifest::of(&self.folder).is_some_and(|old| old.partial.is_none());
        if !whole {
            return self.put();
        }
        let beside = |path: &Path| {
            let mut name = self.folder.file_name().unwrap_or_default().to_owned();
            name.push("-partial");
            path.with_file_name(name)
        };
        let folder = beside(&self.folder);
        let mut place = Self::claim(&folder, self.manifest.clone(), false)?;
        fs::rename(&self.aside, &place.aside).map_err(PlaceError::file(&place.aside))?;
        if self.shown.file_name() == self.folder.file_name() {
            place.shown = beside(&self.shown);
        }
        drop(self);
        place.put()
    }

    /// The folder to write into, which is made.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn aside(&self) -> Result<&Path, PlaceError> {
        super::failpoint::step();
        fs::create_dir_all(&self.aside).map_err(PlaceError::file(&self.aside))?;
        Ok(&self.aside)
    }

    /// Puts what was written into its place, whole. Returns the folder, as it was given.
    ///
    /// # Errors
    /// Where it cannot be written to the disk or renamed: what there was stays.
    pub fn put(mut self) -> Result<PathBuf, PlaceError> {
        let aside = self.aside()?.to_owned();
        let manifest = aside.join(MANIFEST);
        let content = super::content::of_folder(&aside).map_err(PlaceError::file(&aside))?;
        self.manifest.content = Some(content);
        fs::write(&manifest, self.manifest.to_json()).map_err(PlaceError::file(&manifest))?;
        super::failpoint::step();
        sync(&aside)?;
        super::failpoint::step();
        if self.folder.exists() {
            exchange(&aside, &self.folder).map_err(PlaceError::file(&self.folder))?;
            super::failpoint::step();
            remove(&aside)?;
        } else {
            fs::rename(&aside, &self.folder).map_err(PlaceError::file(&self.folder))?;
        }
        sync_entry(&self.folder);
        super::failpoint::step();
        self.release();
        Ok(self.shown.clone())
    }

    fn release(&mut self) {
        if let Some((lock, path)) = self.lock.take() {
            let _ = fs::remove_file(path);
            drop(lock);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.lock.is_some() {
            let _ = remove(&self.aside);
            self.release();
        }
    }
}

/// A hidden neighbour of `folder` whose name ends with `end`.
pub(super) fn beside(folder: &Path, end: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(folder.file_name().unwrap_or_default());
    name.push(end);
    folder.with_file_name(name)
}

/// Locks the file `path`, which is made, for what writes into `folder`.
pub(super) fn lock(folder: &Path, path: PathBuf) -> Result<(Flock<File>, PathBuf), PlaceError> {
    loop {
        let file = File::create(&path).map_err(PlaceError::file(folder))?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock)
            .map_err(|_| PlaceError::Busy(folder.to_owned()))?;
        // Who held it before removed the file: a lock on what has no name keeps nobody out.
        let named = fs::metadata(&path).is_ok_and(|at| {
            let own = lock.metadata();
            own.is_ok_and(|own| (own.dev(), own.ino()) == (at.dev(), at.ino()))
        });
        if named {
            return Ok((lock, path));
        }
    }
}

/// Whether results that `new` says may take the place of what `folder` holds.
fn may_take(folder: &Path, new: &Manifest, force: bool) -> Result<(), PlaceError> {
    let Ok(entries) = fs::read_dir(folder) else {
        // A file stands in the way.
        return if folder.exists() {
            Err(PlaceError::Foreign(folder.to_owned()))
        } else {
            Ok(())
        };
    };
    let passing = |name: &std::ffi::OsStr| PASSING.iter().any(|p| name == *p);
    let names: Vec<_> = entries.flatten().map(|e| e.file_name()).collect();
    if names.iter().all(|name| passing(name)) {
        return Ok(());
    }
    let old = Manifest::of(folder);
    let ours = old.is_some()
        || names
            .iter()
            .any(|name| name == "summary.json" || name == "report.html");
    match old {
        _ if !ours => Err(PlaceError::Foreign(folder.to_owned())),
        _ if force => Ok(()),
        Some(old) if new.replaces(&old) => Ok(()),
        old => Err(PlaceError::Taken {
            folder: folder.to_owned(),
            found: old.map_or_else(
                || "results that do not say what they are".to_owned(),
                |old| format!("a {} of {}", old.kind, old.name),
            ),
            expected: format!("a {} of {}", new.kind, new.name),
        }),
    }
}

/// Removes a folder of results, whole.
///
/// # Errors
/// Where it holds no results, another process writes there, or it cannot be removed.
pub fn discard(folder: &Path) -> Result<(), PlaceError> {
    let folder = folder.canonicalize().map_err(PlaceError::file(folder))?;
    let here = std::env::current_dir().and_then(|d| d.canonicalize());
    if here.is_ok_and(|here| here.starts_with(&folder)) {
        return Err(PlaceError::Above(folder));
    }
    let (held, path) = lock(&folder, beside(&folder, ".lock"))?;
    let gone = beside(&folder, ".gone");
    let removed = may_take(&folder, &Manifest::default(), true)
        .and_then(|()| remove(&gone))
        // First out of sight: a kill leaves no folder with half of its files.
        .and_then(|()| fs::rename(&folder, &gone).map_err(PlaceError::file(&folder)))
        .and_then(|()| remove(&gone));
    let _ = fs::remove_file(path);
    drop(held);
    removed
}

/// Removes a folder and what it holds, where it is there.
pub(super) fn remove(folder: &Path) -> Result<(), PlaceError> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(PlaceError::file(folder)(e)),
        _ => Ok(()),
    }
}

/// Waits until every file below `folder` is on the disk.
pub(super) fn sync(folder: &Path) -> Result<(), PlaceError> {
    let entries = fs::read_dir(folder).map_err(PlaceError::file(folder))?;
    for entry in entries {
        let path = entry.map_err(PlaceError::file(folder))?.path();
        if path.is_dir() {
            sync(&path)?;
        } else {
            let file = File::open(&path).map_err(PlaceError::file(&path))?;
            file.sync_all().map_err(PlaceError::file(&path))?;
        }
    }
    let folder_itself = File::open(folder).map_err(PlaceError::file(folder))?;
    folder_itself.sync_all().map_err(PlaceError::file(folder))
}

/// Asks that the new name of `path` is on the disk. A file system that cannot say so has renamed it all the same.
pub(super) fn sync_entry(path: &Path) {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let opened = File::open(parent.unwrap_or_else(|| Path::new(".")));
    let _ = opened.and_then(|parent| parent.sync_all());
}

/// Puts `new` in the place of `old` and `old` in that of `new`, in one step where the system can.
fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        // nix has this call for glibc alone, and the released binary is linked with musl.
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    // Two steps: a kill between them leaves the old results beside their place, and none in it.
    let away = new.with_extension("old");
    let _ = fs::remove_dir_all(&away);
    fs::rename(old, &away)?;
    fs::rename(new, old)?;
    fs::rename(&away, new)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir()
                .join(format!("slackwater-place-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }

        /// Every file below, by its path from here.
        fn files(&self) -> Vec<String> {
            fn walk(root: &Path, folder: &Path, out: &mut Vec<String>) {
                for entry in fs::read_dir(folder).expect("a folder").flatten() {
                    let path = entry.path();
                    if path.is_dir() {
                        walk(root, &path, out);
                    } else {
                        let name = path.strip_prefix(root).expect("below");
                        out.push(name.to_string_lossy().into_owned());
                    }
                }
            }
            let mut out = vec![];
            walk(&self.0, &self.0, &mut out);
            out.sort_unstable();
            out
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn of(kind: &str, name: &str) -> Manifest {
        Manifest::new(kind, name, "slackwater run")
    }

    fn write(place: &Place, files: &[&str]) {
        let aside = place.aside().expect("a folder");
        for name in files {
            fs::write(aside.join(name), name).expect("a file");
        }
    }

    #[test]
    fn a_manifest_that_is_a_pipe_or_has_no_end_is_none() {
        let s = Scratch::new("manifest");
        let path = s.0.join(MANIFEST);
        let whole = Manifest::new("run", "a", "slackwater run a").to_json();
        fs::write(&path, &whole).expect("a file");
        assert!(Manifest::of(&s.0).is_some());
        // Gigabytes without a block on the disk; what is there is no JSON after its first bytes.
        let file = File::options().append(true).open(&path).expect("ours");
        file.set_len(4 << 30).expect("a sparse file");
        assert!(Manifest::of(&s.0).is_none());
        // JSON to its end, and longer than any manifest.
        let padded = whole + &" ".repeat(bounded::DOCUMENT);
        fs::write(&path, padded).expect("a file");
        assert!(Manifest::of(&s.0).is_none());
        fs::remove_file(&path).expect("ours");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.is_ok_and(|s| s.success()), "mkfifo");
        assert!(Manifest::of(&s.0).is_none());
    }

    #[test]
    fn partial_results_take_no_place_of_whole_ones() {
        let s = Scratch::new("partial");
        let folder = s.0.join("at");
        let claim = || Place::claim(&folder, of("run", "x"), false).expect("free");
        let leave = |place: &Place, text: &str| {
            let aside = place.aside().expect("made");
            fs::write(aside.join("summary.json"), text).expect("written");
        };
        let first = claim();
        leave(&first, "half");
        assert_eq!(first.put_partial("1 of 2").expect("put"), folder);
        let second = claim();
        leave(&second, "whole");
        second
            .put()
            .expect("whole results take the place of partial ones");
        for text in ["third", "fourth"] {
            let place = claim();
            leave(&place, text);
            let put = place.put_partial("1 of 2").expect("put");
            assert_eq!(put, s.0.join("at-partial"));
            let read = |name: &str| fs::read_to_string(s.0.join(name)).expect("there");
            assert_eq!(read("at/summary.json"), "whole");
            assert_eq!(read("at-partial/summary.json"), text);
            let manifest = Manifest::of(&put).expect("there");
            assert_eq!(manifest.partial.as_deref(), Some("1 of 2"));
        }
        assert_eq!(s.files().len(), 4, "{:?}", s.files());
    }

    #[test]
    fn results_replace_those_of_the_same_scenario_whole() {
        let s = Scratch::new("whole");
        let folder = s.0.join("lte");
        let first = Place::claim(&folder, of("run", "lte"), false).expect("an empty place");
        write(&first, &["summary.json", "frames.parquet"]);
        assert!(!folder.exists(), "nothing stands there before all does");
        first.put().expect("room");
        assert_eq!(
            s.files(),
            ["lte/frames.parquet", "lte/results.json", "lte/summary.json"]
        );

        let second = Place::claim(&folder, of("run", "lte"), false).expect("the same scenario");
        write(&second, &["summary.json"]);
        second.put().expect("room");
        assert_eq!(s.files(), ["lte/results.json", "lte/summary.json"]);
        let manifest = Manifest::of(&folder).expect("one");
        let content = super::super::content::of_folder(&folder).expect("readable");
        assert_eq!(manifest.content.as_ref(), Some(&content));
        let said = Manifest {
            content: None,
            ..manifest
        };
        assert_eq!(said, of("run", "lte"));
    }

    #[test]
    fn a_command_that_ends_early_leaves_what_there_was() {
        let s = Scratch::new("early");
        let folder = s.0.join("lte");
        let first = Place::claim(&folder, of("run", "lte"), false).expect("an empty place");
        write(&first, &["old"]);
        first.put().expect("room");
        let old = s.files();

        let stopped = Place::claim(&folder, of("run", "lte"), false).expect("the same scenario");
        write(&stopped, &["half"]);
        drop(stopped);
        assert_eq!(s.files(), old);

        // A kill: neither the files beside nor the lock are cleared away.
        let killed = Place::claim(&folder, of("run", "lte"), false).expect("the same scenario");
        write(&killed, &["half"]);
        let lock = killed.lock.as_ref().map(|l| l.1.clone()).expect("a lock");
        std::mem::forget(killed);
        assert!(lock.exists() && folder.join("old").exists() && !folder.join("half").exists());
        // The lock of a dead process is free: here, of a file that is no longer there.
        fs::remove_file(lock).expect("a file");
        let next = Place::claim(&folder, of("run", "lte"), false).expect("free again");
        write(&next, &["new"]);
        next.put().expect("room");
        assert_eq!(s.files(), ["lte/new", "lte/results.json"]);
    }

    #[test]
    fn other_results_and_files_of_others_are_kept() {
        let s = Scratch::new("other");
        let folder = s.0.join("lte");
        let made = Place::claim(&folder, of("comparison", "lte"), false).expect("an empty place");
        write(&made, &["report.html"]);
        made.put().expect("room");
        for new in [of("run", "lte"), of("comparison", "nr")] {
            let e = Place::claim(&folder, new, false)
                .expect_err("taken")
                .to_string();
            assert!(
                e.contains("found a comparison of lte, expected a ") && e.contains("--force"),
                "{e}"
            );
        }
        let forced = Place::claim(&folder, of("run", "lte"), true).expect("by force");
        write(&forced, &["summary.json"]);
        forced.put().expect("room");
        assert_eq!(s.files(), ["lte/results.json", "lte/summary.json"]);

        // What an earlier version left, and what is the user's own.
        fs::remove_file(folder.join(MANIFEST)).expect("a file");
        assert!(matches!(
            Place::claim(&folder, of("run", "lte"), false),
            Err(PlaceError::Taken { .. })
        ));
        fs::rename(folder.join("summary.json"), folder.join("thesis.tex")).expect("a file");
        let e = Place::claim(&folder, of("run", "lte"), true).expect_err("the user's");
        assert!(matches!(e, PlaceError::Foreign(_)), "{e}");
        let here = std::env::current_dir().expect("a folder");
        assert!(matches!(
            Place::claim(&here, of("run", "lte"), true),
            Err(PlaceError::Above(_))
        ));
    }

    #[test]
    fn results_are_discarded_and_nothing_else() {
        let s = Scratch::new("discard");
        let folder = s.0.join("lte");
        let made = Place::claim(&folder, of("run", "lte"), false).expect("an empty place");
        write(&made, &["summary.json"]);
        let e = discard(&folder).expect_err("it is not there yet");
        assert!(matches!(e, PlaceError::File { .. }), "{e}");
        made.put().expect("room");
        fs::write(s.0.join("thesis.tex"), "").expect("a file");
        let e = discard(&s.0).expect_err("the user's own");
        assert!(matches!(e, PlaceError::Foreign(_)), "{e}");

        let again = Place::claim(&folder, of("run", "lte"), false).expect("the same scenario");
        let e = discard(&folder).expect_err("somebody writes there");
        assert!(matches!(e, PlaceError::Busy(_)), "{e}");
        drop(again);
        discard(&folder).expect("results");
        assert_eq!(s.files(), ["thesis.tex"]);
    }

    #[test]
    fn one_process_at_a_time_claims_a_place() {
        let s = Scratch::new("lock");
        let folder = s.0.join("lte");
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("running.json"), "{}").expect("what a running command says");
        let first = Place::claim(&folder, of("run", "lte"), false).expect("as good as empty");
        let e = Place::claim(&folder, of("run", "lte"), false).expect_err("claimed");
        assert!(matches!(e, PlaceError::Busy(_)), "{e}");
        drop(first);
        Place::claim(&folder, of("run", "lte"), false).expect("free again");
    }
}
