//! What stands in for marks on a path that does not mark (ours; the paper's equations know nothing but CE).

use slackwater_core::{Duration, Instant};

use super::params::Guard;
use crate::media::acked::Acked;

/// Without a mark for so long the queue delay stands in.
const MARKLESS: Duration = Duration::from_secs(5);
/// The least one-way delay is of this or the last such span.
const BUCKET: Duration = Duration::from_secs(15);
/// Above this a mean is one: all packets are beyond the high bound.
const ALL: f64 = 0.999;
/// The rate after a loss, in rates at which packets arrive...
const AFTER_LOSS: f64 = 0.85;
/// ...at most once in this time, over which the rate is measured.
const LOSS_SPAN: Duration = Duration::from_millis(100);

/// Queue delays without marks, and losses.
#[derive(Clone, Debug)]
pub struct DelayGuard {
    bounds: Guard,
    /// Least one-way delay of the present and of the last bucket, ns with the clocks' offset.
    least: [i128; 2],
    bucket: Option<Instant>,
    /// When the last mark came, or the first feedback.
    marked: Option<Instant>,
    acked: Acked,
    cut: Option<Instant>,
    /// Of the present feedback: sum over its packets, their number.
    sum: f64,
    packets: u32,
    ect: bool,
}

impl DelayGuard {
    /// A guard with these bounds.
    pub fn new(bounds: Guard) -> Self {
        Self {
            bounds,
            least: [i128::MAX; 2],
            bucket: None,
            marked: None,
            acked: Acked::new(LOSS_SPAN),
            cut: None,
            sum: 0.0,
            packets: 0,
            ect: false,
        }
    }

    /// A packet of the present feedback; `ect`: it arrived as ECT or CE.
    pub fn on_packet(
        &mut self,
        now: Instant,
        sent: Instant,
        arrived: Instant,
        bytes: u64,
        ect: bool,
    ) {
        if self.bucket.is_none_or(|start| now.since(start) >= BUCKET) {
            self.least = [i128::MAX, self.least[0]];
            self.bucket = Some(now);
        }
        let delay = i128::from(arrived.as_nanos()) - i128::from(sent.as_nanos());
        self.least[0] = self.least[0].min(delay);
        let queue = (delay - self.least[0].min(self.least[1])) as f64;
        let low = self.bounds.low.as_nanos() as f64;
        let high = self.bounds.high.as_nanos() as f64;
        self.sum += ((queue - low) / (high - low).max(1.0)).clamp(0.0, 1.0);
        self.packets += 1;
        self.ect |= ect;
        self.acked.on_arrival(arrived, bytes);
    }

    /// The present feedback is complete: the fraction of marks to go by.
    pub fn fraction(&mut self, now: Instant, fce: f64) -> f64 {
        let mean = self.sum / f64::from(self.packets.max(1));
        let ect = core::mem::take(&mut self.ect);
        (self.sum, self.packets) = (0.0, 0);
        if fce > 0.0 {
            self.marked = Some(now);
        }
        let marked = *self.marked.get_or_insert(now);
        if ect && now.since(marked) < MARKLESS {
            return fce;
        }
        fce.max(if mean > ALL { 1.0 } else { mean })
    }

    /// Packets were lost: the rate to fall to, if it is time, for a rate of `rate`.
    pub fn on_loss(&mut self, now: Instant, rate: f64) -> Option<f64> {
        if self.cut.is_some_and(|last| now.since(last) < LOSS_SPAN) {
            return None;
        }
        self.cut = Some(now);
        Some(AFTER_LOSS * self.acked.rate().unwrap_or(rate))
    }
}
