//! quinn's clock from ours.

use std::time::{Duration as StdDuration, Instant as StdInstant};

use slackwater_core::{Duration, Instant};

/// The instant that stands for time zero.
///
/// `std::time::Instant` can be had from the system's clock alone. It is read once and only differences are used, so
/// that its value has no effect (docs/design/0013).
#[derive(Clone, Copy, Debug)]
pub struct Epoch(StdInstant);

impl Epoch {
    /// Some base.
    #[expect(
        clippy::disallowed_methods,
        clippy::new_without_default,
        reason = "a base that cancels out of every difference; std gives no other"
    )]
    pub fn new() -> Self {
        Self(StdInstant::now())
    }

    /// Simulated time as quinn's.
    #[inline]
    pub fn std(self, now: Instant) -> StdInstant {
        self.0 + StdDuration::from_nanos(now.as_nanos())
    }

    /// quinn's time as simulated, rounded up to the nanosecond that both count in.
    #[inline]
    pub fn simulated(self, at: StdInstant) -> Instant {
        let since = at.saturating_duration_since(self.0);
        Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// A duration of quinn's.
#[inline]
pub fn duration(d: StdDuration) -> Duration {
    Duration::from_nanos(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
}

/// A duration for quinn.
#[inline]
pub const fn std_duration(d: Duration) -> StdDuration {
    StdDuration::from_nanos(d.as_nanos())
}

/// When a host looks that waits from `now` on for `due`, where its timers have a step: as tokio has them, with a step of a
/// millisecond. The deadline is rounded up to a step of the clock, and the wait is whole steps from whenever it begins. So a
/// wake-up is up to two steps late. A step of zero is a host that is never late.
pub const fn late(now: Instant, due: Instant, step: Duration) -> Instant {
    if step.is_zero() || due.as_nanos() <= now.as_nanos() {
        return if due.as_nanos() > now.as_nanos() {
            due
        } else {
            now
        };
    }
    let ticks = due.as_nanos().div_ceil(step.as_nanos()) - now.as_nanos() / step.as_nanos();
    Instant::from_nanos(
        now.as_nanos()
            .saturating_add(ticks.saturating_mul(step.as_nanos())),
    )
}
