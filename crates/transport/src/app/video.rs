//! DASH video as the XRC paper models it (section IV): a period of 10 s whose first 2 s carry a constant bit rate of
//! 17 Mbit/s; the rest only finishes what was not delivered.

use slackwater_core::{Duration, Instant, Rate};

use super::{Message, next_multiple};

/// On/off video chunks. A chunk that is late runs into the off phase, and the next begins on time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VideoConfig {
    /// Bit rate while on.
    pub rate: Rate,
    /// Length of the on phase.
    pub on: Duration,
    /// Length of the cycle.
    pub period: Duration,
    /// The chunk is handed over at once at the start of the phase, in place of at its rate.
    pub burst: bool,
}

/// How often the encoder writes while on.
const STEP: Duration = Duration::from_millis(10);

#[derive(Clone, Debug)]
pub(super) struct Video {
    config: VideoConfig,
    start: Instant,
    /// Start of the current chunk.
    chunk: Instant,
    written: u64,
    next: Instant,
}

impl Video {
    pub(super) const fn new(config: VideoConfig, start: Instant) -> Self {
        Self {
            config,
            start,
            chunk: start,
            written: 0,
            next: start,
        }
    }

    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    pub(super) fn take(&mut self) -> Option<Message> {
        let total = self.config.rate.bytes_in(self.config.on).get().max(1);
        let upto = if self.config.burst {
            total
        } else {
            let on = (self.next - self.chunk) + STEP;
            self.config
                .rate
                .bytes_in(on.min(self.config.on))
                .get()
                .clamp(1, total)
        };
        let bytes = upto.saturating_sub(self.written);
        self.written = upto;
        let last = upto == total;
        let message = Message {
            bytes,
            ends: last.then_some(self.chunk),
            total,
        };
        if last {
            self.chunk = next_multiple(self.start, self.config.period, self.chunk);
            self.next = self.chunk;
            self.written = 0;
        } else {
            self.next += STEP;
        }
        (bytes > 0).then_some(message)
    }
}
