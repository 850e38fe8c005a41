//! RTT probing: four packets in flight for 200 ms and a round, so that the queue empties.

use slackwater_core::{Duration, Instant};

use crate::RateSample;

/// Time at the least window (`bbr_probe_rtt_mode_ms`).
const DURATION: Duration = Duration::from_millis(200);

/// Progress of RTT probing.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProbeRtt {
    done_at: Option<Instant>,
    round_done: bool,
    /// Packets sent while so many bytes had been delivered tell nothing of the bandwidth.
    quiet: Option<(u64, u64)>,
}

impl ProbeRtt {
    /// Probing was decided on with `delivered` bytes delivered.
    pub const fn enter(&mut self, delivered: u64) {
        self.done_at = None;
        self.quiet = Some((delivered, delivered));
    }

    /// Rate samples count as limited by the application until `until` bytes are delivered (Linux sets
    /// `tp->app_limited`).
    pub const fn hold_samples(&mut self, until: u64) {
        if let Some((_, end)) = &mut self.quiet {
            *end = until;
        }
    }

    /// `sample` is of a packet that was sent while BBR held its rate down.
    pub fn quiets(&self, sample: &RateSample) -> bool {
        self.quiet
            .is_some_and(|(from, to)| (from..=to).contains(&sample.prior_delivered.0))
    }

    /// The flight is down to the least window.
    pub fn start(&mut self, now: Instant) {
        self.done_at = Some(now.saturating_add(DURATION));
        self.round_done = false;
    }

    /// The flight came down.
    pub const fn started(&self) -> bool {
        self.done_at.is_some()
    }

    /// Notes a round's start; true once a round has passed.
    pub const fn round(&mut self, round_start: bool) -> bool {
        self.round_done |= round_start;
        self.round_done
    }

    /// The time is over.
    pub fn is_over(&self, now: Instant) -> bool {
        self.done_at.is_some_and(|at| now > at)
    }
}
