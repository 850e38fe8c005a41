//! Where a test ends the process while results are written: builds with debug assertions alone have it.

/// A step of writing is done. With `SLACKWATER_KILL_AT=N` in the environment the N-th kills the process, as a power cut would.
#[cfg(debug_assertions)]
pub(super) fn step() {
    use std::sync::atomic::{AtomicU64, Ordering};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    static STEPS: AtomicU64 = AtomicU64::new(0);
    let Some(at) = std::env::var_os("SLACKWATER_KILL_AT") else {
        return;
    };
    let reached = STEPS.fetch_add(1, Ordering::Relaxed) + 1;
    if at.to_str() == Some(&reached.to_string()) {
        let _ = kill(Pid::this(), Signal::SIGKILL);
    }
}

/// Nothing, in a build for use.
#[cfg(not(debug_assertions))]
pub(super) const fn step() {}
