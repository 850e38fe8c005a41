//! The rate at which packets arrive, over a second of them and robust against one gap (libwebrtc,
//! `RobustThroughputEstimator`).

use std::collections::VecDeque;

use slackwater_core::{Duration, Instant};

/// Packets: at least so many for a rate, kept in any case, and at most.
const REQUIRED: usize = 10;
const KEPT: usize = 20;
const MOST: usize = 500;
/// The window's length, and the longest one of few packets.
const LENGTH: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(5);
/// No shorter time counts.
const SHORTEST: f64 = 1e-3;

#[derive(Clone, Copy, Debug)]
struct Packet {
    sent: Instant,
    arrived: Instant,
    bytes: u64,
}

/// The window, in the order of arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Robust {
    window: VecDeque<Packet>,
}

impl Robust {
    /// A packet arrived.
    pub(crate) fn on_packet(&mut self, sent: Instant, arrived: Instant, bytes: u64) {
        if let Some(last) = self.window.back()
            && (last.arrived.since(arrived) > LENGTH || arrived.since(last.arrived) > LONGEST)
        {
            // A clock that was set, or a pause.
            self.window.clear();
        }
        self.window.push_back(Packet {
            sent,
            arrived,
            bytes,
        });
        let mut at = self.window.len() - 1;
        while at > 0 && self.window[at - 1].arrived > arrived {
            self.window.swap(at - 1, at);
            at -= 1;
        }
        while self.is_outside() {
            self.window.pop_front();
        }
    }

    /// The first packet does not count any more.
    fn is_outside(&self) -> bool {
        let (Some(first), Some(last)) = (self.window.front(), self.window.back()) else {
            return false;
        };
        let length = last.arrived.since(first.arrived);
        self.window.len() > MOST || length > LONGEST || self.window.len() > KEPT && length > LENGTH
    }

    /// bit/s.
    pub(crate) fn rate(&self) -> Option<f64> {
        let first = self
            .window
            .front()
            .filter(|_| self.window.len() >= REQUIRED)?;
        let (mut gap, mut second) = (Duration::ZERO, Duration::ZERO);
        let (mut before, mut bytes) = (first.arrived, 0u64);
        let (mut left, mut right) = (first, first);
        for packet in &self.window {
            let here = packet.arrived.since(before);
            before = packet.arrived;
            if here > gap {
                (gap, second) = (here, gap);
            } else if here > second {
                second = here;
            }
            bytes = bytes.saturating_add(packet.bytes);
            if packet.sent < left.sent {
                left = packet;
            }
            if packet.sent >= right.sent {
                right = packet;
            }
        }
        // The largest gap counts as the second largest.
        let arrival = before.since(first.arrived).saturating_sub(gap) + second;
        let sending = right.sent.since(left.sent);
        let rate =
            |bytes: u64, time: Duration| bytes as f64 * 8.0 / time.as_secs_f64().max(SHORTEST);
        // What came first came before the time, and what left last after it.
        let received = rate(bytes.saturating_sub(first.bytes), arrival);
        let sent = rate(bytes.saturating_sub(right.bytes), sending);
        Some(received.min(sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_packets_give_a_rate_and_a_gap_does_not_spoil_it() {
        let mut r = Robust::default();
        let at = Instant::from_millis;
        for i in 0..100u64 {
            r.on_packet(at(10 * i), at(5000 + 10 * i), 1250);
            assert_eq!(r.rate().is_some(), i >= 9, "{i}");
            assert!(r.rate().is_none_or(|rate| (rate - 1e6).abs() < 1.0));
        }
        for i in 0..50u64 {
            r.on_packet(at(1200 + 10 * i), at(6200 + 10 * i), 1250);
        }
        // 0.2 s without packets is in the time of sending.
        assert!((0.8e6..1.01e6).contains(&r.rate().unwrap()));
        // Faster arrival than sending is a queue that empties.
        let mut r = Robust::default();
        for i in 0..50u64 {
            r.on_packet(at(10 * i), at(5000 + i), 1250);
        }
        assert!((r.rate().unwrap() - 1e6).abs() < 1.0);
        r.on_packet(at(600), at(1000), 1250);
        assert_eq!(r.rate(), None, "the clock went back");
    }
}
