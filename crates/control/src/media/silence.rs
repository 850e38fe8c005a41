//! Feedback that stays away.

use slackwater_core::{Duration, Instant};

/// So long after a packet left without an answer, two round trips on top, the rate falls...
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);
/// ...to this share, and again after each further [`PATIENCE`] in which packets left. Ours: the papers do not speak of
/// lost feedback (a rate that holds would break RFC 8083's circuit breaker instead).
pub(crate) const FACTOR: f64 = 0.7;

/// Watches for answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silence {
    deadline: Option<Instant>,
    /// A packet left since the last deadline was set.
    sent: bool,
}

impl Silence {
    /// A packet left.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Instant, srtt: Duration) {
        self.sent = true;
        if self.deadline.is_none() {
            let rtts = Duration::from_nanos(srtt.as_nanos().saturating_mul(2));
            self.deadline = Some(now.saturating_add(PATIENCE).saturating_add(rtts));
        }
    }

    /// News arrived.
    #[inline]
    pub(crate) fn on_news(&mut self) {
        self.deadline = None;
        self.sent = false;
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// True where the rate must fall.
    pub(crate) fn on_timer(&mut self, now: Instant) -> bool {
        if self.deadline.is_none_or(|at| at > now) {
            return false;
        }
        let due = core::mem::take(&mut self.sent);
        self.deadline = due.then(|| now.saturating_add(PATIENCE));
        due
    }
}
