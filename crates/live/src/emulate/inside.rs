//! The small processes between the emulator and the command behind the cell.
//!
//! The first makes a process namespace, the second is its process 1 and starts the command. When the emulator dies, by
//! whatever signal, the kernel kills the first, then the second, and with process 1 everything that the command left
//! running: no process stays to hold the network namespace. Under `sudo` the command itself is the caller's: the third process
//! gives up root's rights and becomes it.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, ExitStatus};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, getppid};

use crate::privilege::Caller;
use crate::sys;

/// First argument by which the program knows that it is one of these processes.
pub const WORD: &str = "__inside";
/// What the shell says of a command that is not there.
const NOT_FOUND: u8 = 127;

/// Runs one of them; `args` are what follows [`WORD`]: the stage (`outer`, `init`, `command`, and `guard` of `tcp`), the process that started it,
/// whose rights the command gets (as `Caller::word` has it), and the command.
pub fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let stage = args.next().unwrap_or_default();
    let parent: Option<i32> = args.next().and_then(|p| p.to_str()?.parse().ok());
    let who = args.next();
    let Some(Ok(who)) = who.as_ref().and_then(|w| w.to_str()).map(Caller::from_word) else {
        return ExitCode::from(125);
    };
    if stage == "command" {
        return command(who, args);
    }
    // The terminal's signals are for the command.
    if sys::count_signals().is_err() {
        return ExitCode::from(125);
    }
    #[cfg(feature = "bpf")]
    if stage == crate::bpf::command::GUARD {
        let path = args.next().unwrap_or_default();
        return crate::bpf::command::guard(path.as_ref());
    }
    if set_pdeathsig(Signal::SIGKILL).is_err() {
        return ExitCode::from(125);
    }

    // A parent that died before this process registered for its death sends no signal. Process 1 of a namespace has no
    // parent inside of it (`pid_namespaces(7)`): the /proc of outside knows it.
    let now = if stage == "outer" {
        Some(getppid().as_raw())
    } else {
        in_proc("PPid:").or(parent)
    };
    if now != parent {
        return ExitCode::from(125);
    }
    if stage == "outer" {
        outer(who, args)
    } else {
        init(who, args)
    }
}

/// Becomes the command, with the rights of `who`.
fn command(who: Option<Caller>, mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let (Some(who), Some(program)) = (who, args.next()) else {
        return ExitCode::from(125);
    };
    let e = who.execute(&program, args);
    eprintln!("slackwater: cannot run {}: {e}", program.display());
    ExitCode::from(NOT_FOUND)
}

/// This program once more. Where the system does not tell its file, /proc leads to it.
fn itself() -> Command {
    crate::program::command().unwrap_or_else(|_| Command::new("/proc/self/exe"))
}

/// A number that the mounted /proc has of this process: `Pid:` or `PPid:`.
fn in_proc(key: &str) -> Option<i32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let number = status.lines().find_map(|l| l.strip_prefix(key))?;
    number.trim().parse().ok()
}

fn outer(who: Option<Caller>, args: impl Iterator<Item = OsString>) -> ExitCode {
    // Where the kernel refuses, the command runs without a process namespace, and what it leaves running stays.
    let own = unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS).is_ok();
    let args: Vec<OsString> = args.collect();
    if !own {
        return init(who, args.into_iter());
    }
    let mut again = itself();
    let parent = in_proc("Pid:").unwrap_or_else(|| std::process::id() as i32);
    let parent = parent.to_string();
    let word = Caller::word(who);
    let stage = [WORD, "init", parent.as_str(), word.as_str()];
    match again.args(stage).args(args).status() {
        Ok(status) => code(status),
        Err(e) => {
            eprintln!("slackwater: cannot start a process namespace: {e}");
            ExitCode::from(125)
        }
    }
}

fn init(who: Option<Caller>, mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let first = nix::unistd::getpid() == Pid::from_raw(1);
    if first {
        let none: Option<&str> = None;
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        // Without these, `ps` shows the processes outside: no reason to stop.
        let _ignored = mount(none, "/", none, private, none)
            .and_then(|()| mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), none));
    }
    let Some(program) = args.next() else {
        return ExitCode::from(125);
    };
    let mut command = if who.is_none() {
        Command::new(&program)
    } else {
        let mut command = itself();
        command
            .args([WORD, "command", "0"])
            .arg(Caller::word(who))
            .arg(&program);
        command
    };
    let mut child = match command.args(args).spawn() {
        Ok(child) => child,
        Err(e) => {
            eprintln!("slackwater: cannot run {}: {e}", program.display());
            return ExitCode::from(NOT_FOUND);
        }
    };
    if !first {
        return child.wait().map_or(ExitCode::from(125), code);
    }
    // Process 1 is the parent of all orphans.
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, status)) if pid.as_raw() == child.id() as i32 => {
                return ExitCode::from(status as u8);
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid.as_raw() == child.id() as i32 => {
                return ExitCode::from(128 + signal as u8);
            }
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(_) => return ExitCode::from(125),
        }
    }
}

/// The exit code that a shell would show.
pub(crate) fn code(status: ExitStatus) -> ExitCode {
    ExitCode::from(code_of(status))
}

/// As [`code`], as a number.
pub(crate) fn code_of(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => 128 + signal as u8,
        (None, None) => 125,
    }
}
