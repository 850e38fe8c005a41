//! Which packets are missing, and when to ask for them.

use std::collections::VecDeque;

use slackwater_core::{Duration, Instant};

/// A packet is asked for so often at most (libwebrtc: 10).
const ASKS: u8 = 10;
/// More packets than these are not asked for (libwebrtc: 1,000).
const MISSING: usize = 1000;

/// What is to be asked for again within this time is asked for together (libwebrtc looks every 20 ms).
const TOGETHER: Duration = Duration::from_millis(20);

/// Bounds of the time between two requests, the second with what is added below (ours). A peer that understates the round trip gets its ten
/// requests within 0.4 s. One that overstates it delays a repetition by no more than half a second.
const RETRY_LEAST: Duration = Duration::from_millis(20);
const RETRY_MOST: Duration = Duration::from_millis(500);

/// After this long a packet is requested again, at a round trip of `rtt`. What is due within [`TOGETHER`] leaves with the rest, so so much is
/// added: nothing is requested again before its answer can be here. The sender ignores a repetition within one round trip.
pub(super) fn retry_after(rtt: Duration) -> Duration {
    (rtt + TOGETHER).clamp(RETRY_LEAST + TOGETHER, RETRY_MOST)
}

/// A packet that is missing.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Its RTP sequence number.
    sequence: u32,
    /// When it is requested next.
    ask: Instant,
    /// How often it was.
    asks: u8,
}

/// The packets that are missing.
#[derive(Clone, Debug, Default)]
pub(super) struct Missing {
    /// The number after the highest that arrived.
    next: Option<u32>,
    /// In the order of their numbers.
    entries: VecDeque<Entry>,
    /// When the first of them is to be requested.
    timer: Option<Instant>,
}

impl Missing {
    /// A packet arrived; `false`: it had arrived before, or was given up.
    pub(super) fn on_packet(&mut self, now: Instant, sequence: u32) -> bool {
        let next = self.next.unwrap_or(sequence);
        let ahead = sequence.wrapping_sub(next);
        if (ahead as i32) < 0 {
            let before = self.entries.len();
            self.entries.retain(|e| e.sequence != sequence);
            return self.entries.len() < before;
        }
        if ahead as usize > MISSING {
            self.entries.clear();
        } else {
            for missing in 0..ahead {
                self.entries.push_back(Entry {
                    sequence: next.wrapping_add(missing),
                    ask: now,
                    asks: 0,
                });
            }
            while self.entries.len() > MISSING {
                self.entries.pop_front();
            }
            if ahead > 0 {
                self.timer = Some(now);
            }
        }
        self.next = Some(sequence.wrapping_add(1));
        true
    }

    /// When [`Missing::ask`] has something to ask for.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.timer.filter(|_| !self.entries.is_empty())
    }

    /// The packets to ask for now.
    pub(super) fn ask(&mut self, now: Instant, retry: Duration) -> Vec<u32> {
        let mut asked = Vec::new();
        if self.next_timer().is_none_or(|t| t > now) {
            return asked;
        }
        // New gaps are asked for at once, and alone.
        let again = self.entries.iter().any(|e| e.asks > 0 && e.ask <= now);
        let limit = now.saturating_add(if again { TOGETHER } else { Duration::ZERO });
        for entry in &mut self.entries {
            if entry.ask <= limit {
                if entry.asks < ASKS {
                    asked.push(entry.sequence);
                }
                entry.asks = entry.asks.saturating_add(1);
                entry.ask = now.saturating_add(retry);
            }
        }
        self.entries.retain(|e| e.asks <= ASKS);
        self.timer = self.entries.iter().map(|e| e.ask).min();
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_waits_for_the_answer_within_bounds() {
        let after = |ms| retry_after(Duration::from_millis(ms)).as_millis();
        assert_eq!([0, 20, 200].map(after), [40, 40, 220]);
        assert_eq!([480, 481, 1_000_000].map(after), [500; 3]);
    }

    #[test]
    fn gaps_are_asked_for_at_once_again_later_and_not_for_ever() {
        let retry = Duration::from_millis(50);
        let mut m = Missing::default();
        let t = Instant::from_millis;
        for sequence in [10, 11, 14] {
            assert!(m.on_packet(t(1), sequence));
        }
        assert!(!m.on_packet(t(1), 11), "twice");
        assert_eq!(m.next_timer(), Some(t(1)));
        assert_eq!(m.ask(t(1), retry), [12, 13]);
        assert_eq!(m.ask(t(2), retry), [0; 0]);
        assert!(m.on_packet(t(3), 13));
        assert!(!m.on_packet(t(3), 13), "it fills the gap once");
        assert_eq!(m.next_timer(), Some(t(51)));
        let mut asks = 1;
        while let Some(at) = m.next_timer() {
            asks += m.ask(at, retry).len();
        }
        assert_eq!(asks, 10);
        // Two gaps, 10 ms apart, are asked for again in one message.
        for (at, sequence) in [(100, 17), (110, 19)] {
            m.on_packet(t(at), sequence);
            m.ask(t(at), retry);
        }
        assert_eq!(m.next_timer(), Some(t(150)));
        assert_eq!(m.ask(t(150), retry), [15, 16, 18]);
        assert_eq!(m.next_timer(), Some(t(200)));
        // A jump is another stream, not a thousand losses.
        m.on_packet(t(900), 1 << 20);
        assert_eq!(m.next_timer(), None);
    }
}
