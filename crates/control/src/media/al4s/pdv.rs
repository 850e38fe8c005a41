//! PDV tracker (aL4S-CC, section IV-B): how much longer the last group of packets took than the one before.

use slackwater_core::Instant;

/// The last group's packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct PdvTracker {
    last: Option<(Instant, Instant)>,
}

impl PdvTracker {
    /// A group whose last packet left at `sent` and came at `arrived`; returns its packet delay variation in seconds
    /// (eq. 4). The two clocks need no common origin. Zero for the first group and for one that left before the last.
    pub fn update(&mut self, sent: Instant, arrived: Instant) -> f64 {
        let last = self.last;
        if last.is_some_and(|(s, _)| sent < s) {
            return 0.0;
        }
        self.last = Some((sent, arrived));
        last.map_or(0.0, |(s, r)| span(r, arrived) - span(s, sent))
    }
}

/// Seconds from `from` to `to`, negative where a clock went back.
pub(crate) fn span(from: Instant, to: Instant) -> f64 {
    to.since(from).as_secs_f64() - from.since(to).as_secs_f64()
}
