//! What is new and possible in a report. Media controllers see reports only through here.

use slackwater_core::{Duration, Instant};

use super::feedback::PacketReport;

/// Numbers behind the newest of which reports are remembered; older ones are passed over. At 100 Mbit/s and 1200 bytes
/// that is 0.4 s of reordering.
const REMEMBERED: u64 = 4096;
const WORDS: usize = (REMEMBERED / 64) as usize;

/// A packet that arrived so long before the newest shows a clock that was set, not reordering...
const BACKWARDS: Duration = Duration::from_secs(1);
/// ...which is believed after so long.
const DISBELIEF: Duration = Duration::from_secs(1);

/// What a packet's report tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// It arrived.
    Received,
    /// It was lost.
    Lost,
}

/// The reports that were seen.
#[derive(Clone, Debug)]
pub(crate) struct Inbox {
    clock: Instant,
    /// One above the highest number.
    next: u64,
    newest: Instant,
    /// The last time of arrival, and since when reports contradict it.
    arrival: Instant,
    disbelief: Option<Instant>,
    received: [u64; WORDS],
    lost: [u64; WORDS],
}

impl Inbox {
    pub(crate) const fn new() -> Self {
        Self {
            clock: Instant::ZERO,
            next: 0,
            newest: Instant::ZERO,
            arrival: Instant::ZERO,
            disbelief: None,
            received: [0; WORDS],
            lost: [0; WORDS],
        }
    }

    /// The time of an event, which never goes back.
    #[inline]
    pub(crate) fn clock(&mut self, now: Instant) -> Instant {
        self.clock = self.clock.max(now);
        self.clock
    }

    /// What `packet` tells that no report told before. A packet that was reported lost may arrive yet; one that arrived
    /// stays arrived. One sent in the future was never sent, and one that arrived before others by far did not arrive
    /// then: after a while it is the receiver's clock that is believed.
    #[inline]
    pub(crate) fn admit(&mut self, packet: &PacketReport) -> Option<News> {
        if packet.sent > self.clock {
            return None;
        }
        let believed = packet.arrived.is_none_or(|arrived| self.believe(arrived));
        let seq = packet.seq;
        if seq >= self.next {
            self.advance(seq);
        } else if self.next - seq > REMEMBERED {
            if packet.sent <= self.newest {
                return None;
            }
            // Numbered as old and sent as the newest: the numbers began anew.
            self.next = 0;
            self.advance(seq);
        }
        self.newest = self.newest.max(packet.sent);
        let word = (seq / 64) as usize % WORDS;
        let bit = 1u64 << (seq % 64);
        if self.received[word] & bit != 0 {
            return None;
        }
        if packet.arrived.is_some() {
            self.received[word] |= bit;
            return believed.then_some(News::Received);
        }
        let known = self.lost[word] & bit != 0;
        self.lost[word] |= bit;
        (!known).then_some(News::Lost)
    }

    #[inline]
    fn believe(&mut self, arrived: Instant) -> bool {
        if self.arrival.since(arrived) <= BACKWARDS {
            self.disbelief = None;
            self.arrival = self.arrival.max(arrived);
            return true;
        }
        let since = *self.disbelief.get_or_insert(self.clock);
        let believed = self.clock.since(since) >= DISBELIEF;
        if believed {
            self.disbelief = None;
            self.arrival = arrived;
        }
        believed
    }

    /// Makes `seq` the newest number.
    fn advance(&mut self, seq: u64) {
        let first = self.next.div_ceil(64);
        let last = seq / 64;
        if self.next == 0 || last.saturating_sub(first) >= WORDS as u64 {
            self.received = [0; WORDS];
            self.lost = [0; WORDS];
        } else {
            // Whole words enter the window one by one and lose what stood there a window ago.
            for word in first..=last {
                let word = word as usize % WORDS;
                self.received[word] = 0;
                self.lost[word] = 0;
            }
        }
        self.next = seq.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::{Bytes, Ecn};

    use super::*;

    fn received(seq: u64, sent_ms: u64) -> PacketReport {
        let sent = Instant::from_millis(sent_ms);
        PacketReport::received(seq, sent, sent, Bytes(1200), Ecn::Ect1)
    }

    fn lost(seq: u64, sent_ms: u64) -> PacketReport {
        PacketReport::lost(seq, Instant::from_millis(sent_ms), Bytes(1200))
    }

    #[test]
    fn a_packet_is_news_once_lost_and_once_received() {
        let mut inbox = Inbox::new();
        inbox.clock(Instant::from_millis(100));
        assert_eq!(inbox.admit(&lost(7, 10)), Some(News::Lost));
        assert_eq!(inbox.admit(&lost(7, 10)), None);
        assert_eq!(inbox.admit(&received(7, 10)), Some(News::Received));
        assert_eq!(inbox.admit(&received(7, 10)), None);
        assert_eq!(inbox.admit(&lost(7, 10)), None);
        assert_eq!(inbox.admit(&received(5, 9)), Some(News::Received));
        assert_eq!(
            inbox.admit(&received(8, 101)),
            None,
            "sent after its arrival"
        );
        assert_eq!(inbox.clock(Instant::ZERO), Instant::from_millis(100));
    }

    #[test]
    fn a_clock_that_went_back_is_believed_in_the_end() {
        let mut inbox = Inbox::new();
        let mut tell = |now_ms: u64, seq, arrived_ms| {
            let now = inbox.clock(Instant::from_millis(now_ms));
            let arrived = Instant::from_millis(arrived_ms);
            inbox.admit(&PacketReport::received(
                seq,
                now,
                arrived,
                Bytes(1),
                Ecn::Ect1,
            ))
        };
        assert_eq!(tell(1000, 1, 90_000), Some(News::Received));
        assert_eq!(tell(1010, 2, 89_500), Some(News::Received), "reordered");
        assert_eq!(tell(1020, 3, 10), None);
        assert_eq!(tell(1900, 4, 900), None);
        assert_eq!(tell(2020, 5, 1020), Some(News::Received));
        assert_eq!(tell(2030, 6, 1030), Some(News::Received));
    }

    #[test]
    fn the_window_forgets_and_the_numbers_may_begin_anew() {
        let mut inbox = Inbox::new();
        inbox.clock(Instant::from_millis(60_000));
        for seq in 0..3 * REMEMBERED {
            assert_eq!(
                inbox.admit(&received(seq, seq / 10)),
                Some(News::Received),
                "{seq}"
            );
            assert_eq!(inbox.admit(&received(seq, seq / 10)), None, "{seq}");
        }
        assert_eq!(inbox.admit(&received(1, 1)), None, "too old");
        assert_eq!(inbox.admit(&received(1, 50_000)), Some(News::Received));
        assert_eq!(inbox.admit(&received(2, 50_000)), Some(News::Received));
        assert_eq!(inbox.admit(&received(1, 50_000)), None);
        // A jump over the window, to the end of the numbers.
        assert_eq!(
            inbox.admit(&received(u64::MAX, 50_001)),
            Some(News::Received)
        );
        assert_eq!(inbox.admit(&received(3, 50_002)), Some(News::Received));
    }
}
