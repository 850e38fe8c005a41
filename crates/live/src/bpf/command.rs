//! A command in a cgroup of its own, which ends whole: with the command, by a signal, or with this process.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use super::cgroup::{OwnCgroup, end};
use crate::LiveError;
use crate::emulate::inside::{self, code_of};
use crate::sys::{self, Signals};

/// The stage of [`inside`] that outlives this process.
pub(crate) const GUARD: &str = "guard";
/// Time between two looks at the command and at signals.
const LOOK: Duration = Duration::from_millis(20);

/// Signals that came since it was made. They no longer end the process by themselves.
#[derive(Debug)]
pub struct Ends {
    since: Signals,
    /// At a terminal the command has had Ctrl-C as well, and decides.
    interactive: bool,
}

impl Ends {
    /// Counts signals from now on.
    ///
    /// # Errors
    /// Where the kernel takes no handler.
    pub fn new() -> Result<Self, LiveError> {
        let since = sys::signals();
        sys::count_signals().map_err(|e| LiveError::kernel("cannot take signals", e))?;
        Ok(Self {
            since,
            interactive: io::IsTerminal::is_terminal(&io::stdin()),
        })
    }

    /// Waits for any of them; the exit code that a shell shows for it.
    pub fn wait(&self) -> u8 {
        while sys::signals() == self.since {
            thread::sleep(LOOK);
        }
        sys::signal_code()
    }

    /// True where one came that is to end a command.
    fn came(&self) -> bool {
        let now = sys::signals();
        let interrupted = now.interrupts > self.since.interrupts && !self.interactive;
        interrupted
            || now.terminations > self.since.terminations
            || now.hangups > self.since.hangups
    }
}

/// A process that kills a cgroup when this one is gone, by whatever signal.
#[derive(Debug)]
struct Guard(Child);

impl Guard {
    fn of(own: &OwnCgroup) -> Result<Self, LiveError> {
        let refused = |e| LiveError::kernel("cannot start a process", e);
        let mut program = crate::program::command().map_err(refused)?;
        program
            .args([inside::WORD, GUARD, "-", "-"])
            .arg(own.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // The terminal's signals are not for it.
            .process_group(0);
        program.spawn().map(Self).map_err(refused)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The end of its input is what it waits for.
        drop(self.0.stdin.take());
        let _ignored = self.0.wait();
    }
}

/// What [`Guard`] starts: waits for the end of its input, then ends the cgroup at `path`.
pub(crate) fn guard(path: &Path) -> ExitCode {
    // The kernel closes the pipe of a process that is gone. Signals break no reading: it is tried again.
    let _ended = io::copy(&mut io::stdin(), &mut io::sink());
    end(path);
    ExitCode::SUCCESS
}

/// Runs `command` in `own` until it ends or one of `ends` comes; its exit code, or that of the signal. No process of the cgroup
/// is left.
///
/// # Errors
/// Where a process cannot be started or is lost.
pub fn run(own: OwnCgroup, command: &[OsString], ends: &Ends) -> Result<u8, LiveError> {
    // Ends last: until the cgroup is gone, it stands in for this process.
    let _guard = Guard::of(&own)?;
    let mut child = own
        .inside(command)
        .spawn()
        .map_err(|e| LiveError::kernel("cannot start the command", e))?;
    let code = loop {
        let ended = child
            .try_wait()
            .map_err(|e| LiveError::kernel("the command was lost", e))?;
        if let Some(status) = ended {
            break code_of(status);
        }
        if ends.came() {
            break sys::signal_code();
        }
        thread::sleep(LOOK);
    };
    // The shell may not be inside yet.
    let _ended = child.kill();
    drop(own);
    let _ended = child.wait();
    Ok(code)
}
