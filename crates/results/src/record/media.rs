//! What became of a media flow's frames, and for how long its packets waited too long.

use slackwater_core::record::Frame;
use slackwater_core::{Duration, Instant};

use crate::metrics::Histogram;

/// Limits of the queue delay over which time is counted: the target end-to-end delays of the aL4S-CC paper's three
/// services (25, 60 and 150 ms) less 5 ms for all that is not the queue (section V, TQ and TDQ).
pub const DELAY_LIMITS: [Duration; 3] = [
    Duration::from_millis(20),
    Duration::from_millis(55),
    Duration::from_millis(145),
];

/// A delay holds until the next packet leaves, but no longer than this: an idle queue has none (ours).
const HOLDS: Duration = Duration::from_millis(100);

/// What is recorded of a media flow. Counts are of the measured part of the run.
#[derive(Clone, Debug, Default)]
pub struct MediaRecord {
    /// Frames of the whole run, the first so many, in the order in which they were shown or given up.
    pub frames: Vec<Frame>,
    /// Time from capture until a frame was complete.
    pub frame_delay: Histogram,
    /// Frames that were shown.
    pub shown: u64,
    /// Frames that were never shown.
    pub lost: u64,
    /// Frames that were complete after their deadline, or never.
    pub late: u64,
    /// How often the picture stood still.
    pub freezes: u64,
    /// For how long in all.
    pub frozen: Duration,
    /// IP bytes of packets with media that reached the receiver.
    pub wire: u64,
    /// Time during which the queue delay was above each of [`DELAY_LIMITS`].
    pub over: [Duration; 3],
    /// When the last packet left the queue.
    left: Option<Instant>,
}

impl MediaRecord {
    /// A packet left the bottleneck's queue after `sojourn`.
    pub(super) fn on_dequeue(&mut self, now: Instant, sojourn: Duration) {
        let before = self.left.replace(now);
        let span = before.map_or(Duration::ZERO, |t| now.since(t).min(HOLDS));
        for (over, limit) in self.over.iter_mut().zip(DELAY_LIMITS) {
            if sojourn > limit {
                *over += span;
            }
        }
    }

    /// A frame was shown or given up.
    pub(super) fn on_frame(&mut self, frame: &Frame) {
        self.shown += u64::from(frame.shown.is_some());
        self.lost += u64::from(frame.shown.is_none());
        self.late += u64::from(frame.late);
        self.freezes += u64::from(frame.frozen > Duration::ZERO);
        self.frozen += frame.frozen;
        if let Some(delay) = frame.delay() {
            self.frame_delay.add(delay);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_counts_while_packets_leave() {
        let mut media = MediaRecord::default();
        let ms = Duration::from_millis;
        // Packets each 10 ms wait 30 ms, then 60 ms; after a second's pause one waits 200 ms.
        for k in 0..20u64 {
            let delay = if k < 10 { 30 } else { 60 };
            media.on_dequeue(Instant::from_millis(10 * k), ms(delay));
        }
        media.on_dequeue(Instant::from_millis(1190), ms(200));
        assert_eq!(media.over, [ms(290), ms(200), ms(100)]);
    }
}
