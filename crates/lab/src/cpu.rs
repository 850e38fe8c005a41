//! Processor time of a thread.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The processor time that this thread has spent, from some moment on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadTime(Duration);

impl ThreadTime {
    /// What it has spent so far.
    pub(crate) fn now() -> Self {
        let clock = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
        Self(
            clock
                .expect("each thread has this clock (POSIX.1-2008)")
                .into(),
        )
    }

    /// What it has spent since then.
    pub(crate) fn elapsed(self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time_and_time_never_goes_back() {
        let start = ThreadTime::now();
        let mut last = Duration::ZERO;
        // It ends once the clock has moved.
        while last == Duration::ZERO {
            let now = start.elapsed();
            assert!(now >= last);
            last = now;
        }
    }
}
