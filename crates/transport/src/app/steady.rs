//! A constant bit rate: equal pieces at equal distances.

use slackwater_core::{Bytes, Duration};
use slackwater_core::{Instant, Rate};

use super::Message;

/// A constant bit rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CbrConfig {
    /// The rate, counted in the bytes of the pieces.
    pub rate: Rate,
    /// Bytes of each piece.
    pub piece: Bytes,
}

#[derive(Clone, Debug)]
pub(super) struct Cbr {
    config: CbrConfig,
    start: Instant,
    count: u64,
}

impl Cbr {
    pub(super) const fn new(config: CbrConfig, start: Instant) -> Self {
        Self {
            config,
            start,
            count: 0,
        }
    }

    /// The time of the next piece, from the start, so that rounding does not add up.
    pub(super) fn next(&self) -> Instant {
        let bytes = Bytes(self.config.piece.get() * self.count);
        let after: Duration = self.config.rate.time_for(bytes);
        self.start.saturating_add(if self.count == 0 {
            Duration::ZERO
        } else {
            after
        })
    }

    pub(super) fn take(&mut self) -> Message {
        let at = self.next();
        self.count += 1;
        let bytes = self.config.piece.get();
        Message {
            bytes,
            ends: Some(at),
            total: bytes,
        }
    }
}
