//! What stands in for marks on a path that does not mark (ours; the paper's equations know nothing but CE).
//!
//! A standing queue delays packets alike; jitter delays each by another time. So a packet's delay is averaged with those
//! before it, over as many packets as the jitter asks for, and where there is none it counts as it is. The least average
//! is the delay of the path with the jitter's mean in it.

use slackwater_core::{Duration, Instant};

use super::params::Guard;
use crate::media::acked::Acked;

/// Without a mark for so long the queue delay stands in, where none came before...
const MARKLESS: Duration = Duration::from_secs(5);
/// ...and where some did: rates that grow by a few percent a second take so long from one mark to the next.
const BETWEEN_MARKS: Duration = Duration::from_secs(20);
/// The least average delay is of this or the last such span.
const BUCKET: Duration = Duration::from_secs(15);
/// Above this a mean is one: all packets are beyond the high bound.
const ALL: f64 = 0.999;
/// Gain of the jitter's estimate (RFC 3550, 6.4.1).
const GAIN: f64 = 1.0 / 16.0;
/// An average is of a packet for each so many ns of jitter. With 0.4 ms, so longer averages, the guard sees a queue later,
/// which took 6 to 8 points of utilisation in RFC 8867's cases 5.4, 5.5 and 5.8.
const PER_PACKET: f64 = 0.6e6;
/// Packets of an average at most.
const MOST: f64 = 64.0;
/// Packets until the jitter is known.
const LEARNT: u32 = 16;
/// The rate after a loss, in rates at which packets arrive...
const AFTER_LOSS: f64 = 0.85;
/// ...at most once in this time, over which the rate is measured.
const LOSS_SPAN: Duration = Duration::from_millis(100);

/// Queue delays without marks, and losses.
#[derive(Clone, Debug)]
pub struct DelayGuard {
    bounds: Guard,
    /// The first packet's delay, with the clocks' offset, which the others count from.
    offset: Option<i128>,
    /// Of the last packets, in ns: the last delay, the average, the jitter, and how many there were.
    last: f64,
    average: f64,
    jitter: f64,
    known: u32,
    /// Least average of the present and of the last bucket.
    least: [f64; 2],
    bucket: Option<Instant>,
    /// When the last mark came, or the first feedback.
    marked: Option<Instant>,
    /// A mark came.
    marks: bool,
    acked: Acked,
    cut: Option<Instant>,
    /// Of the present feedback: sum over its packets, their number.
    sum: f64,
    packets: u32,
    ect: bool,
    /// The queue when the last packet arrived, in ns.
    queue: f64,
    /// The least delay of the present and of the last bucket, without an average, and the last packet's above it, in ns.
    shortest: [f64; 2],
    bare: f64,
    /// The least average is kept.
    kept: bool,
}

impl DelayGuard {
    /// A guard with these bounds.
    pub fn new(bounds: Guard) -> Self {
        Self {
            bounds,
            offset: None,
            last: 0.0,
            average: 0.0,
            jitter: 0.0,
            known: 0,
            least: [f64::INFINITY; 2],
            bucket: None,
            marked: None,
            marks: false,
            acked: Acked::new(LOSS_SPAN),
            cut: None,
            sum: 0.0,
            packets: 0,
            ect: false,
            queue: 0.0,
            shortest: [f64::INFINITY; 2],
            bare: 0.0,
            kept: false,
        }
    }

    /// The queue when the last packet arrived, in ns.
    pub const fn queue(&self) -> f64 {
        self.queue
    }

    /// The last packet's delay above the least, in ns: as [`DelayGuard::queue`], and jitter counts as well.
    pub const fn bare(&self) -> f64 {
        self.bare
    }

    /// While a queue is known to stand, the least average is not forgotten.
    pub fn keep(&mut self, kept: bool) {
        self.kept = kept;
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
        let queue = self.standing(now, sent, arrived);
        self.queue = queue;
        let low = self.bounds.low.as_nanos() as f64;
        let high = self.bounds.high.as_nanos() as f64;
        self.sum += ((queue - low) / (high - low).max(1.0)).clamp(0.0, 1.0);
        self.packets += 1;
        self.ect |= ect;
        self.acked.on_arrival(arrived, bytes);
    }

    /// The queue that stands when a packet arrives, in ns.
    fn standing(&mut self, now: Instant, sent: Instant, arrived: Instant) -> f64 {
        let delay = i128::from(arrived.as_nanos()) - i128::from(sent.as_nanos());
        let offset = *self.offset.get_or_insert(delay);
        let delay = (delay - offset) as f64;
        // RFC 3550, 6.4.1: the mean deviation of the difference between neighbours. The first few weigh alike.
        let gain = GAIN.max(1.0 / f64::from(self.known.max(1)));
        self.jitter += ((delay - self.last).abs() - self.jitter) * gain;
        self.last = delay;
        let packets = (self.jitter / PER_PACKET).clamp(1.0, MOST);
        self.average += (delay - self.average) / packets;
        if self.known < LEARNT {
            self.known += 1;
            return 0.0;
        }
        let full = |start| now.since(start) >= BUCKET && !self.kept;
        if self.bucket.is_none_or(full) {
            self.least = [f64::INFINITY, self.least[0]];
            self.shortest = [f64::INFINITY, self.shortest[0]];
            self.bucket = Some(now);
        }
        self.shortest[0] = self.shortest[0].min(delay);
        self.bare = delay - self.shortest[0].min(self.shortest[1]);
        self.least[0] = self.least[0].min(self.average);
        self.average - self.least[0].min(self.least[1])
    }

    /// The present feedback is complete: the fraction of marks to go by.
    pub fn fraction(&mut self, now: Instant, fce: f64) -> f64 {
        let mean = self.sum / f64::from(self.packets.max(1));
        let ect = core::mem::take(&mut self.ect);
        (self.sum, self.packets) = (0.0, 0);
        if fce > 0.0 {
            self.marked = Some(now);
            self.marks = true;
        }
        let marked = *self.marked.get_or_insert(now);
        let wait = if self.marks { BETWEEN_MARKS } else { MARKLESS };
        if ect && now.since(marked) < wait {
            return fce;
        }
        fce.max(if mean > ALL { 1.0 } else { mean })
    }

    /// Packets were lost: the rate to fall to, if it is time, for a rate of `rate`.
    pub fn on_congestion(&mut self, now: Instant, rate: f64) -> Option<f64> {
        if self.cut.is_some_and(|last| now.since(last) < LOSS_SPAN) {
            return None;
        }
        self.cut = Some(now);
        Some(AFTER_LOSS * self.acked.rate().unwrap_or(rate))
    }
}
