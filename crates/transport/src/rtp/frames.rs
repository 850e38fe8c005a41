//! Frames at the receiver: put together, held back against jitter, shown, and counted.

use std::collections::VecDeque;

pub use slackwater_core::record::Frame;
use slackwater_core::{Bytes, Duration, Instant, Media};

use super::config::{Playout, ReceiverConfig};

/// Frames that wait at most; the oldest is given up then.
const WAITING: usize = 256;
/// Packets that a frame may have.
const PACKETS: u32 = 1 << 16;
/// Gaps between shown frames that make up the mean for freezes (W3C, Identifiers for WebRTC's Statistics API,
/// freezeCount: 30).
const GAPS: f64 = 30.0;
/// A gap is a freeze when it is longer than three mean gaps, and than the mean and this (the same).
const FREEZE: Duration = Duration::from_millis(150);
/// Jitter is averaged over this many frames (RFC 3550, 6.4.1).
const JITTER: f64 = 16.0;

/// Counters of what became of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) shown: u64,
    pub(super) late: u64,
    pub(super) lost: u64,
    pub(super) freezes: u64,
    pub(super) frozen: Duration,
}

#[derive(Clone, Debug, Default)]
struct Open {
    frame: Frame,
    /// A bit for each packet that arrived.
    have: Vec<u64>,
}

/// The jitter buffer.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    config: ReceiverConfig,
    open: VecDeque<Open>,
    /// Number of the first frame that waits, or would.
    next: Option<u32>,
    /// Least time from capture to completion.
    least: Option<Duration>,
    /// Mean change of that time from frame to frame, in s.
    jitter: f64,
    last_delay: Option<f64>,
    last_shown: Option<Instant>,
    /// Mean gap between shown frames, in s.
    gap: Option<f64>,
    pub(super) counts: Counts,
    /// A frame is missing that later ones refer to.
    pub(super) needs_key: bool,
    timer: Option<Instant>,
}

impl Buffer {
    pub(super) fn new(config: ReceiverConfig) -> Self {
        Self {
            config,
            open: VecDeque::new(),
            next: None,
            least: None,
            jitter: 0.0,
            last_delay: None,
            last_shown: None,
            gap: None,
            counts: Counts::default(),
            needs_key: false,
            timer: None,
        }
    }

    /// From now on frames refer to those before them.
    pub(super) const fn decode_outside(&mut self) {
        self.config.needs_key = true;
    }

    /// From now on frames wait for retransmissions.
    pub(super) const fn request_missing(&mut self) {
        self.config.nack = true;
    }

    /// When [`Buffer::settle`] should be called.
    pub(super) const fn next_timer(&self) -> Option<Instant> {
        self.timer
    }

    /// A packet of a frame, which left at `sent`, arrived; true where it was new.
    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        sent: Instant,
        media: &Media,
        done: &mut Vec<Frame>,
    ) -> bool {
        let (number, index, count) = (media.frame, media.index, media.packets);
        let next = *self.next.get_or_insert(number);
        let ahead = number.wrapping_sub(next);
        if (ahead as i32) < 0 || index >= count || count > PACKETS {
            return false;
        }
        let place = ahead as usize;
        if place >= WAITING {
            // So far ahead that what waits is of no use.
            while !self.open.is_empty() {
                self.give_up(done);
            }
            self.next = Some(number);
            self.needs_key |= self.config.needs_key;
            return self.on_packet(now, sent, media, done);
        }
        while self.open.len() <= place {
            let mut open = Open::default();
            open.frame.number = next.wrapping_add(self.open.len() as u32);
            self.open.push_back(open);
        }
        let open = &mut self.open[place];
        let f = &mut open.frame;
        if open.have.is_empty() {
            f.captured = media.captured;
            f.packets = count;
            f.key = media.key;
        }
        let (word, bit) = (index as usize / 64, 1 << (index % 64));
        if word >= open.have.len() {
            open.have.resize(word + 1, 0);
        }
        if open.have[word] & bit != 0 || count != f.packets {
            return false;
        }
        open.have[word] |= bit;
        f.arrived += 1;
        f.retransmitted += u32::from(media.retransmission);
        f.bytes += Bytes(u64::from(media.payload));
        f.sent = f.sent.max(sent);
        if f.arrived == f.packets {
            f.completed = Some(now);
            let delay = now.since(f.captured);
            self.on_delay(delay);
        }
        true
    }

    fn on_delay(&mut self, delay: Duration) {
        self.least = Some(self.least.map_or(delay, |l| l.min(delay)));
        let delay = delay.as_secs_f64();
        if let Some(last) = self.last_delay {
            self.jitter += ((delay - last).abs() - self.jitter) / JITTER;
        }
        self.last_delay = Some(delay);
    }

    /// When a complete frame is to be shown.
    fn due(&self, frame: &Frame) -> Instant {
        let after = match self.config.playout {
            Playout::Fixed(after) => after,
            Playout::Adaptive(least, most) => {
                let spread = Duration::from_secs_f64(4.0 * self.jitter);
                self.least.unwrap_or_default() + spread.clamp(least, most.max(least))
            }
        };
        frame.captured.saturating_add(after)
    }

    /// Shows what is due, and gives up what holds it up too long.
    pub(super) fn settle(&mut self, now: Instant, done: &mut Vec<Frame>) {
        self.timer = None;
        loop {
            let Some(at) = self.open.iter().position(|o| o.frame.completed.is_some()) else {
                return;
            };
            let mut due = self.due(&self.open[at].frame);
            if at > 0 && self.config.nack {
                due = due.saturating_add(self.config.patience);
            }
            if due > now {
                self.timer = Some(due);
                return;
            }
            for _ in 0..at {
                self.give_up(done);
            }
            self.show(now, done);
        }
    }

    fn pop(&mut self) -> Option<Frame> {
        let open = self.open.pop_front()?;
        self.next = self.next.map(|n| n.wrapping_add(1));
        Some(open.frame)
    }

    fn give_up(&mut self, done: &mut Vec<Frame>) {
        if let Some(mut frame) = self.pop() {
            self.counts.lost += 1;
            self.needs_key |= self.config.needs_key;
            frame.late = true;
            done.push(frame);
        }
    }

    fn show(&mut self, now: Instant, done: &mut Vec<Frame>) {
        let Some(mut frame) = self.pop() else { return };
        frame.late = frame.delay().is_some_and(|d| d > self.config.deadline);
        self.counts.late += u64::from(frame.late);
        self.needs_key &= !frame.key;
        if self.needs_key {
            self.counts.lost += 1;
        } else {
            frame.shown = Some(now);
            self.counts.shown += 1;
            frame.frozen = self.on_shown(now);
        }
        done.push(frame);
    }

    /// A frame is shown; how long the picture stood still before, where that was a freeze.
    fn on_shown(&mut self, now: Instant) -> Duration {
        let mut frozen = Duration::ZERO;
        if let Some(last) = self.last_shown {
            let gap = now.since(last);
            let seconds = gap.as_secs_f64();
            let mean = self.gap.unwrap_or(seconds);
            if seconds > (3.0 * mean).max(mean + FREEZE.as_secs_f64()) {
                self.counts.freezes += 1;
                self.counts.frozen += gap;
                frozen = gap;
            }
            self.gap = Some(mean + (seconds - mean) / GAPS);
        }
        self.last_shown = Some(now);
        frozen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3550, 6.4.1: jitter is a sixteenth of the mean change of the delay. A frame waits for four times of it, and for
    /// the least time of the two that are configured where that is longer.
    #[test]
    fn a_frame_is_held_back_for_four_times_the_jitter() {
        let ms = Duration::from_millis;
        let mut buffer = Buffer::new(ReceiverConfig {
            playout: Playout::Adaptive(ms(1), ms(500)),
            ..ReceiverConfig::default()
        });
        let mut done = Vec::new();
        // A frame of one packet each 100 ms, whose way takes so long; how long after its capture it is shown, in us.
        let mut shown = |number: u32, delay: u64| {
            let captured = Instant::from_millis(100 * u64::from(number));
            let media = Media {
                captured,
                frame: number,
                packets: 1,
                payload: 1000,
                ..Media::default()
            };
            let now = captured + ms(delay);
            assert!(buffer.on_packet(now, captured, &media, &mut done));
            buffer.settle(now, &mut done);
            if let Some(due) = buffer.next_timer() {
                buffer.settle(due, &mut done);
            }
            let frame = done.pop().expect("it is shown");
            frame.shown.expect("in time").since(captured).as_micros()
        };
        assert_eq!(shown(0, 20), 21_000);
        assert_eq!(shown(1, 20), 21_000);
        // 16 ms more: it comes after it was due, and the jitter is 1 ms.
        assert_eq!(shown(2, 36), 36_000);
        // 16 ms less: the jitter is 1 + 15 / 16 ms.
        assert_eq!(shown(3, 20), 27_750);
    }
}
