//! A rate that integrates the distance from the target: where only RTTs are known, not acknowledgments.

use slackwater_core::{Duration, Instant, Rate};

use super::{Sight, bounds, switched};
use crate::upf::vaqm::path::PathModel;

/// Without a sample for so long, or eight average RTTs, rates learned from RTTs no longer hold.
const PATIENCE: Duration = Duration::from_secs(2);

/// The integrator.
#[derive(Clone, Debug)]
pub(super) struct Int {
    /// The bottleneck's rate, bit/s.
    pub(super) bottleneck: f64,
    /// When it was last changed.
    adjusted: Instant,
}

impl Int {
    /// Nothing is known.
    pub(super) const fn new() -> Self {
        Self {
            bottleneck: 0.0,
            adjusted: Instant::ZERO,
        }
    }

    /// An integrator on the relative distance from the target. True while the shaper limits, which it did where `on`.
    pub(super) fn update(
        &mut self,
        on: bool,
        now: Instant,
        path: &PathModel,
        sight: &Sight,
    ) -> bool {
        let target = path.target().as_nanos() as f64;
        let average = path.average().as_nanos().max(1) as f64;
        if !on && sight.egress == Rate::ZERO {
            // Counting has just begun.
            return false;
        }
        let unheard = now.since(path.last_sample());
        if unheard > (path.average() * 8).max(PATIENCE) {
            // Nothing is measured any more: an average of long ago is no ground to hold packets on.
            return false;
        }

        let limits = switched(on, path, sight);
        if limits && !on {
            // With a queue standing in the radio what leaves is about what the radio gives; the bounding factor drains it.
            self.bottleneck = sight.egress.as_bps() as f64;
            self.adjusted = now;
        }
        let since = now.since(self.adjusted);
        if !limits || since < path.path() / 4 {
            return limits;
        }
        self.adjusted = now;
        if unheard > (path.average() + sight.server_rtt) * 5 / 4 {
            // The effect of the last change has not been seen.
            return limits;
        }

        let mut e = ((target - average) / target).clamp(-0.5, 0.5);
        if e > 0.0 && !sight.waiting {
            // The rate is not what limits: there is nothing to learn.
            e = 0.0;
        }
        let dt = (since.as_nanos() as f64).min(average);
        self.bottleneck *= libm::exp(0.5 * e * dt / average);
        let (low, high) = bounds(sight);
        self.bottleneck = self.bottleneck.clamp(low, high);
        limits
    }
}
