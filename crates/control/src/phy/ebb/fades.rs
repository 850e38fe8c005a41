//! What fades between two reports, and by how much: spans repeat, so exponentials are computed when one differs.

use slackwater_core::Duration;

/// Time in which what left at best is forgotten, seconds.
const REMEMBERED: f64 = 1.0;
/// Time over which what left is averaged, seconds.
pub(super) const SERVED: f64 = 0.050;
/// Time in which a long gap between two stamps is forgotten, seconds.
const FADES: f64 = 2.0;

/// What a report of some span leaves of what fades: spans repeat.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fades {
    /// The span.
    pub span: Duration,
    /// What is left after it of `Ebb::interval` and of `Ebb::peak`.
    pub interval: f64,
    pub peak: f64,
    /// The part of the mean of `Ebb::served` that is new.
    pub served: f64,
}

impl Fades {
    /// Nothing fades in no time.
    pub(super) const NONE: Self = Self {
        span: Duration::ZERO,
        interval: 1.0,
        peak: 1.0,
        served: 0.0,
    };

    #[cold]
    pub(super) fn over(span: Duration) -> Self {
        let seconds = span.as_secs_f64();
        Self {
            span,
            interval: libm::exp(-seconds / FADES),
            peak: libm::exp(-seconds / REMEMBERED),
            served: (seconds / SERVED).min(1.0),
        }
    }
}
