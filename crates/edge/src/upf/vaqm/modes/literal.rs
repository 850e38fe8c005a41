//! The article's variant "with dynamic bitrate adjustment", its text and nothing else.

use slackwater_core::{Duration, Instant};

use super::Sight;
use crate::upf::passive::WindowedMax;
use crate::upf::vaqm::path::PathModel;

/// Span of the "max filter" (the article gives none).
pub(super) const FILTER: Duration = Duration::from_secs(10);

/// The dequeue rate by the article.
#[derive(Clone, Debug)]
pub(super) struct Literal {
    /// "The largest bitrate observed while Average RTT was below target", bit/s.
    largest: WindowedMax,
    /// The rate before the bounding factor, bit/s.
    pub(super) bottleneck: f64,
}

impl Literal {
    /// Nothing was observed.
    pub(super) const fn new() -> Self {
        Self {
            largest: WindowedMax::new(FILTER),
            bottleneck: 0.0,
        }
    }

    /// A new average RTT; true while the shaper limits.
    pub(super) fn update(&mut self, now: Instant, path: &PathModel, sight: &Sight) -> bool {
        let above = path.above_target();
        if above {
            // "When Average RTT exceeds the Target RTT, the shaper will set the dequeue rate to the largest bitrate observed
            // while Average RTT was below target." Before one was observed: to what leaves.
            self.bottleneck = self.largest.get(now).unwrap_or(0) as f64;
            if self.bottleneck == 0.0 {
                self.bottleneck = sight.egress.as_bps() as f64;
            }
        } else {
            // "The rate of incoming data is measured and applied to a max filter, while the average RTT is less than or equal
            // to Target RTT."
            self.largest.update(now, sight.ingress.as_bps());
        }
        above
    }
}

/// "The difference between Average RTT and Target RTT is used as an additional bounding factor": what drains the
/// standing excess within one average RTT, and one half at least.
pub(super) fn bounding(path: &PathModel) -> f64 {
    let average = path.average().as_nanos().max(1) as f64;
    (path.target().as_nanos() as f64 / average).clamp(0.5, 1.0)
}
