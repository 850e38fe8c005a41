//! Others that fill the queue: a sender that holds little beside one that holds much gets little.

use slackwater_core::{Duration, Instant};
use slackwater_signal::Counters;

/// Others whose bytes take the link longer than this, seconds, for [`MET_AFTER`] ...
const MET: f64 = 0.025;
const MET_AFTER: Duration = Duration::from_secs(1);
/// ... are met with as much of one's own, times this, until theirs take less than [`LEFT`].
const GAIN: f64 = 1.15;
const LEFT: f64 = 0.008;

/// Whether others fill the queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Company {
    /// Since when they do.
    since: Option<Instant>,
    /// They have for long.
    met: bool,
}

impl Company {
    /// `rate` is this flow's part of the radio, bytes/s.
    pub(super) fn look(&mut self, now: Instant, counters: &Counters, rate: f64) {
        if counters.company == 0 {
            // Nobody is there, as in most cells: no need to find out how long they take.
            *self = Self::default();
            return;
        }
        let link = rate * f64::from(counters.active.max(1));
        let seconds = f64::from(counters.company) / link.max(1.0);
        if self.met {
            self.met = seconds > LEFT;
            self.since = None;
        } else if seconds > MET {
            let since = *self.since.get_or_insert(now);
            self.met = now.since(since) >= MET_AFTER;
        } else {
            self.since = None;
        }
    }

    /// Others fill the queue.
    pub(super) const fn is_met(&self) -> bool {
        self.met
    }

    /// Bytes that this flow then holds in the queue.
    pub(super) fn held(&self, counters: &Counters) -> Option<f64> {
        let others = f64::from(counters.active.max(2) - 1);
        self.met
            .then(|| GAIN * f64::from(counters.company) / others)
    }
}
