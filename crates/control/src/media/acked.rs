//! The rate at which packets arrived.

use std::collections::VecDeque;

use slackwater_core::{Duration, Instant};

/// Groups that are kept at most.
const MOST: usize = 256;

/// Bytes by the receiver's clock over a window.
#[derive(Clone, Debug)]
pub(crate) struct Acked {
    window: Duration,
    /// Arrival and bytes, oldest first.
    groups: VecDeque<(Instant, u64)>,
    bytes: u64,
    /// The window was once full.
    full: bool,
}

impl Acked {
    pub(crate) fn new(window: Duration) -> Self {
        Self {
            window,
            groups: VecDeque::with_capacity(64),
            bytes: 0,
            full: false,
        }
    }

    /// `bytes` that had arrived at `at`.
    pub(crate) fn on_arrival(&mut self, at: Instant, bytes: u64) {
        // Reordering is counted at the newest time; a clock that was set starts anew.
        let newest = self.groups.back().map_or(at, |g| g.0);
        if newest.since(at) > self.window || at.since(newest) > self.window {
            self.groups.clear();
            self.bytes = 0;
            self.full = false;
        }
        let at = if self.groups.is_empty() {
            at
        } else {
            newest.max(at)
        };
        self.bytes = self.bytes.saturating_add(bytes);
        let full = self.groups.len() >= MOST;
        match self.groups.back_mut() {
            Some(last) if last.0 == at || full => {
                last.1 = last.1.saturating_add(bytes);
            }
            _ => self.groups.push_back((at, bytes)),
        }
        while let Some(&(first, gone)) = self.groups.front() {
            if at.since(first) < self.window {
                break;
            }
            self.groups.pop_front();
            self.bytes = self.bytes.saturating_sub(gone);
            self.full = true;
        }
    }

    /// bit/s; `None` before a window has passed.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.full
            .then(|| self.bytes as f64 * 8.0 / self.window.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_arrived_within_the_window() {
        let mut acked = Acked::new(Duration::from_millis(100));
        for frame in 0..20 {
            assert_eq!(acked.rate().is_some(), frame > 10);
            acked.on_arrival(Instant::from_millis(1000 + 10 * frame), 1250);
        }
        assert_eq!(acked.rate(), Some(1e6));
        // A gap longer than the window says nothing about it.
        acked.on_arrival(Instant::from_millis(5000), 1250);
        assert_eq!(acked.rate(), None);
    }
}
