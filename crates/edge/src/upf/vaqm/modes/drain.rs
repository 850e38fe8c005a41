//! [`Literal`](super::Literal) with states that let the radio's queue drain and the rate grow again.

use slackwater_core::Instant;

use super::literal::{FILTER, bounding};
use super::{Sight, bounds};
use crate::upf::passive::WindowedMax;
use crate::upf::vaqm::path::PathModel;

/// Shape, drain and grow.
#[derive(Clone, Debug)]
pub(super) struct Drain {
    /// The largest ingress seen while the average RTT was at or below the target, bit/s.
    largest: WindowedMax,
    /// The bottleneck's rate, bit/s.
    pub(super) bottleneck: f64,
    /// When it was last changed.
    adjusted: Instant,
    /// Since when the average RTT is above the target.
    above_since: Option<Instant>,
    /// Path RTTs in a row in which the rate grew.
    quiet_rounds: u32,
    /// Since when less comes in than the rate allows.
    slow_since: Option<Instant>,
}

impl Drain {
    /// Nothing was observed.
    pub(super) const fn new() -> Self {
        Self {
            largest: WindowedMax::new(FILTER),
            bottleneck: 0.0,
            adjusted: Instant::ZERO,
            above_since: None,
            quiet_rounds: 0,
            slow_since: None,
        }
    }

    /// Once an average RTT above the target the rate falls to what is delivered, by half at most; at or below it grows each
    /// path RTT. True while the shaper limits, which it did where `on`.
    pub(super) fn update(
        &mut self,
        on: bool,
        now: Instant,
        path: &PathModel,
        sight: &Sight,
    ) -> bool {
        if !path.above_target() {
            self.above_since = None;
            self.largest.update(now, sight.ingress.as_bps());
            return on && self.grow(now, path, sight);
        }

        let since = *self.above_since.get_or_insert(now);
        self.quiet_rounds = 0;
        self.slow_since = None;
        // A queue must stand for half a path RTT.
        let limits = on || now.since(since) >= path.path() / 2;
        if limits && !on {
            let seen = self
                .largest
                .get(now)
                .unwrap_or(0)
                .max(sight.delivered.as_bps());
            self.bottleneck = seen as f64;
            self.adjusted = now;
        } else if on && now.since(self.adjusted) >= path.average() {
            self.adjusted = now;
            let b = bounding(path);
            let delivered = sight.delivered.as_bps() as f64;
            self.bottleneck = delivered
                .max(self.bottleneck * b)
                .clamp(0.5 * self.bottleneck, self.bottleneck);
        }
        let (low, high) = bounds(sight);
        self.bottleneck = self.bottleneck.clamp(low, high);
        limits
    }

    /// The rate grows where it limits; false where it has not for two path RTTs.
    fn grow(&mut self, now: Instant, path: &PathModel, sight: &Sight) -> bool {
        let limited = sight.waiting || sight.ingress.as_bps() as f64 >= 0.9 * self.bottleneck;
        if limited && now.since(self.adjusted) >= path.path() {
            self.adjusted = now;
            self.quiet_rounds = self.quiet_rounds.saturating_add(1);
            let gain = if self.quiet_rounds > 5 { 0.25 } else { 0.125 };
            self.bottleneck = (self.bottleneck * (1.0 + gain)).min(bounds(sight).1);
        }

        let idle = !sight.waiting && (sight.ingress.as_bps() as f64) < 0.8 * self.bottleneck;
        if !idle {
            self.slow_since = None;
            return true;
        }
        now.since(*self.slow_since.get_or_insert(now)) < path.path() * 2
    }
}
