//! Finite transfers of random size, never two at once.

use slackwater_core::{Bytes, Draw, Duration, Instant};

use super::Message;

/// Files one after the other: the next begins `gap` after the last began, or when the last has arrived if that is
/// later (XRC, section IV: short flows of 10 KB to 2 MB, non-overlapping, 5 s apart).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransfersConfig {
    /// Least size.
    pub min: Bytes,
    /// Greatest size; sizes are uniform in between.
    pub max: Bytes,
    /// Least time between two starts.
    pub gap: Duration,
    /// How many; `None` for no end.
    pub count: Option<u32>,
    /// Each transfer opens a connection of its own.
    pub reconnect: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Transfers {
    config: TransfersConfig,
    draw: Draw,
    sent: u32,
    /// When the next may begin; `None` while one is under way.
    next: Option<Instant>,
    began: Instant,
}

impl Transfers {
    pub(super) const fn new(config: TransfersConfig, start: Instant, draw: Draw) -> Self {
        Self {
            config,
            draw,
            sent: 0,
            next: Some(start),
            began: start,
        }
    }

    pub(super) const fn reconnects(&self) -> bool {
        self.config.reconnect
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.next
            .filter(|_| self.config.count.is_none_or(|n| self.sent < n))
    }

    pub(super) fn take(&mut self, now: Instant) -> Message {
        let (min, max) = (self.config.min.get(), self.config.max.get());
        let span = (max - min + 1) as f64;
        let size = min + ((self.draw.uniform(u64::from(self.sent)) * span) as u64).min(max - min);
        self.sent += 1;
        self.began = now;
        self.next = None;
        let size = size.max(1);
        Message {
            bytes: size,
            ends: Some(now),
            total: size,
        }
    }

    pub(super) fn on_delivered(&mut self, now: Instant) {
        if self.next.is_none() && self.sent > 0 {
            self.next = Some(now.max(self.began + self.config.gap));
        }
    }
}
