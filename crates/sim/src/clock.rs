//! The seam between virtual and wall-clock time (the idea is nexosim's `Clock`).

use slackwater_core::{Duration, Instant};

/// Whether the clock reached a deadline in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncStatus {
    /// In time.
    Synchronized,
    /// Too late by this much.
    Late(Duration),
}

/// Lets the event loop go on when the time of the next event has come.
pub trait Clock {
    /// Returns once `deadline` is reached.
    fn synchronize(&mut self, deadline: Instant) -> SyncStatus;
}

/// Never waits: virtual time.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoClock;

impl Clock for NoClock {
    #[inline]
    fn synchronize(&mut self, _deadline: Instant) -> SyncStatus {
        SyncStatus::Synchronized
    }
}
