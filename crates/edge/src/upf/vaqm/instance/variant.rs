//! [`Mode::Auto`](crate::upf::vaqm::Mode::Auto): signals to the largest flow, or a queue for each.

use slackwater_core::{Duration, Instant, PacketView, Rate};

use super::super::config::VaqmConfig;
use super::super::flow::{ACTIVE, Flow};
use super::Instance;

/// Path RTTs in the dropping state after which signals alone are found not to do. With 40 a BBR flow took a
/// third of a CUBIC flow's rate meanwhile (docs/design/0035).
const PATIENCE: u64 = 20;
/// The least path RTT in that.
const LEAST_PATH: Duration = Duration::from_millis(10);
/// How long flows then have queues of their own before signals are tried again.
const RETRY: Duration = Duration::from_secs(10);
/// How long they keep them after the last packet of a flow that needs one, and at the start: what overshoots in slow start is no
/// flow that does not answer.
pub(super) const SETTLE: Duration = Duration::from_secs(1);
/// A flow that did not slow down keeps its queue so long.
const DEAF: Duration = Duration::from_secs(60);
/// What a flow may send before it has heard of the path (RFC 6928).
const INITIAL_WINDOW: u64 = 14_600;
/// The share of what is delivered that a flow must send to count among those that need a queue.
const WEIGHT: f64 = 0.05;

/// True where signals alone would leave other flows to this one: it shows no round trip, or did not slow down at signals; and it sends
/// more than a question or an answer.
pub(super) fn needs_a_queue<P: PacketView>(flow: &Flow<P>, now: Instant, delivered: Rate) -> bool {
    let deaf = flow.deaf.is_some_and(|at| now.since(at) <= DEAF);
    let heavy = || {
        flow.arrivals.get() > delivered.mul_f64(WEIGHT) || flow.arrivals.counting() > INITIAL_WINDOW
    };
    (deaf || !flow.shows_round_trips()) && heavy()
}

impl<P: PacketView> Instance<P> {
    /// [`Mode::Auto`](crate::upf::vaqm::Mode::Auto): whether flows need queues of their own here. Signals to the largest flow alone do where all answer
    /// to them, and spare the queue here; they do not where a flow goes by marks (L4S), shows no round trip, or does not
    /// slow down.
    pub(super) fn choose_variant(&mut self, now: Instant, config: &VaqmConfig) {
        let recent = |at: Option<Instant>| at.is_some_and(|at| now.since(at) <= ACTIVE);
        let patience = self.model.path().max(LEAST_PATH) * PATIENCE;
        let stuck = self.direct.dropping_since();
        if stuck.is_some_and(|at| now.since(at) >= patience) {
            self.isolate_until = now + RETRY;
            self.note_deaf(now);
        }
        let waits_in_uplink = self.model.uplink() > config.jitter_margin;
        if self.direct_failed
            || waits_in_uplink
            || recent(self.last_l4s)
            || recent(self.last_silent)
        {
            self.isolate_until = self.isolate_until.max(now + SETTLE);
        }
        let waits = self.isolates && !self.fair.is_empty();
        let isolates = now < self.isolate_until || waits;
        if isolates != self.isolates {
            self.isolates = isolates;
            self.direct.rest();
            self.flows.for_each(|flow| flow.stuck_since = None);
        }
    }

    /// After silence what overshoots in slow start is no flow that does not answer.
    pub(super) fn restart_variant(&mut self, now: Instant) {
        self.isolate_until = self.isolate_until.max(now + SETTLE);
    }
}
