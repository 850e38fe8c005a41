//! Signals to a process, by the system call: a bare Debian has no `kill`, which is of procps.

pub(crate) use nix::sys::signal::Signal;
use nix::unistd::Pid;

/// Sends `signal` to the process `id`.
pub(crate) fn send(id: u32, signal: Signal) {
    let id = i32::try_from(id).expect("a process");
    nix::sys::signal::kill(Pid::from_raw(id), signal).expect("it is there");
}
