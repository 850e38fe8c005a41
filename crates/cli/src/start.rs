//! How this command was started: by its own file, or inside of an interpreter.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static START: OnceLock<Start> = OnceLock::new();

/// How the command was started.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// What follows the command's name.
    words: Vec<OsString>,
    /// The interpreter that it runs in.
    python: Option<PathBuf>,
}

impl Start {
    /// By the words of this process.
    pub fn of_process() -> Self {
        Self {
            words: std::env::args_os().skip(1).collect(),
            python: None,
        }
    }

    /// By `words`, inside of the interpreter `python`, for which `python -m slackwater` is this command.
    pub fn inside_of(python: PathBuf, words: Vec<OsString>) -> Self {
        Self {
            words,
            python: Some(python),
        }
    }
}

/// Keeps `start` for all who need to know. Returns the words.
pub(crate) fn keep(start: Start) -> &'static [OsString] {
    let kept = START.get_or_init(|| start);
    if let Some(python) = &kept.python {
        // `-P`: a `slackwater.py` in the folder that the user stands in is not this package.
        let again = [
            python.as_os_str(),
            "-P".as_ref(),
            "-m".as_ref(),
            "slackwater".as_ref(),
        ];
        slackwater_live::program::started_by(again.map(Into::into).to_vec());
    }
    &kept.words
}

/// What follows the command's name.
pub(crate) fn words() -> &'static [OsString] {
    START.get().map_or(&[], |s| &s.words)
}

/// The command as typed, for the report.
pub(crate) fn command_line() -> String {
    let mut line = vec!["slackwater".to_owned()];
    line.extend(words().iter().map(|a| quoted(&a.to_string_lossy())));
    line.join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+./:,@%[]".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The interpreter that the command runs in.
pub(crate) fn python() -> Option<&'static Path> {
    START.get()?.python.as_deref()
}
