//! Whether the host sends what it might. Where it has less to send, less leaves the radio than is offered, whatever lies on the way.

use slackwater_core::{Duration, Instant};

use super::order::lesser;

/// A host that sends less than this part of what it might is limited by something else.
const USED: f64 = 0.5;
/// The means are of this time, in seconds, or of a least loop where that is longer.
const MEAN: f64 = 0.050;

/// What a host sends, over what it might.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Host {
    /// Means of bytes between two reports: sent, and those that might have been.
    sent: f64,
    might: f64,
    /// What left while it sent less has left the radio by then.
    idle: Option<Instant>,
}

impl Host {
    /// Of `might` bytes `sent` left within `seconds`. A loop takes `base` at least, and took `round` last.
    pub(super) fn note(
        &mut self,
        now: Instant,
        (sent, might): (f64, f64),
        seconds: f64,
        base: Duration,
        round: Duration,
    ) {
        let long = base.as_secs_f64().max(MEAN);
        let part = lesser(seconds / long, 1.0);
        self.sent += part * (sent - self.sent);
        self.might += part * (might - self.might);
        if self.sent < USED * self.might {
            self.idle = Some(now + round.max(base));
        }
    }

    /// What was served of late says nothing of what lies on the way.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.idle.is_some_and(|until| now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(40);

    /// The times in ms of reports, each 5 ms, at which a host that sends `sent` of 1000 bytes is idle.
    fn idle(sent: impl Fn(u64) -> f64, until: u64) -> Vec<u64> {
        let mut host = Host::default();
        let look = |ms: &u64| {
            let now = Instant::from_millis(*ms);
            host.note(now, (sent(*ms), 1000.0), 0.005, BASE, BASE);
            host.is_idle(now)
        };
        (5..until).step_by(5).filter(look).collect()
    }

    #[test]
    fn a_host_that_sends_what_it_might_is_not_idle_and_one_with_frames_is() {
        assert!(idle(|_| 900.0, 5_000).is_empty());
        // All that it might, each 20 ms.
        assert_eq!(
            idle(|ms| if ms % 20 == 0 { 1000.0 } else { 0.0 }, 1_000).len(),
            199
        );
    }

    #[test]
    fn what_left_while_it_was_idle_counts_for_one_loop_more() {
        let idle = idle(|ms| if ms < 1_000 { 0.0 } else { 1000.0 }, 2_000);
        // Half of a mean of 50 ms is new after 35, and a loop of 40 follows.
        assert_eq!(idle.last(), Some(&1_060));
    }
}
