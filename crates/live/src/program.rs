//! How this program starts itself again: the processes between an emulator and its command are the program too.
//!
//! A binary is its own file. Inside of an interpreter that file is the interpreter's, and more words are needed.

use std::ffi::OsString;
use std::io;
#[cfg(target_os = "linux")]
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

#[cfg(target_os = "linux")]
use crate::LiveError;

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

/// Where Linux installs programs of its own. Not `PATH`: what stands there may be the caller's, and we may run as root.
#[cfg(target_os = "linux")]
const SYSTEM: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// A command of `name`, a program of the system, with nothing of our environment.
///
/// # Errors
/// Where it is at none of the system's places: it says so, and that `package` has it.
#[cfg(target_os = "linux")]
pub(crate) fn of_system(name: &str, package: &str) -> Result<Command, LiveError> {
    let mut places = SYSTEM.iter().map(|folder| PathBuf::from(folder).join(name));
    let program = places.find(|path| path.exists()).ok_or_else(|| {
        LiveError::Usage(format!(
            "no `{name}` in {}; install {package}",
            SYSTEM.join(", ")
        ))
    })?;
    let mut command = Command::new(program);
    command.env_clear();
    Ok(command)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_the_system_has_an_absolute_path_and_no_environment() {
        let found = of_system("sh", "dash").expect("every system has it");
        assert!(std::path::Path::new(found.get_program()).is_absolute());
        let done = { found }.args(["-c", "echo $HOME"]).output();
        assert_eq!(done.expect("it runs").stdout, b"\n");
        let error = of_system("no-such-program", "nothing").expect_err("there is none");
        assert!(error.to_string().contains("install nothing"), "{error}");
    }
}
