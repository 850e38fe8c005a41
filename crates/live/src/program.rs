//! How this program starts itself again: the processes between an emulator and its command are the program too.
//!
//! A binary is its own file. Inside of an interpreter that file is the interpreter's, and more words are needed.

use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::sync::OnceLock;

static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Says by which words this program is started; without it, by its own file. Only the first call counts.
pub fn started_by(words: Vec<OsString>) {
    let _first_counts = WORDS.set(words);
}

/// A command that starts this program, without arguments yet.
///
/// # Errors
/// Where the system does not tell the program's own file.
pub fn command() -> io::Result<Command> {
    if let Some((program, words)) = WORDS.get().and_then(|w| w.split_first()) {
        let mut command = Command::new(program);
        command.args(words);
        return Ok(command);
    }
    std::env::current_exe().map(Command::new)
}
