//! The sender's record of what left and what became of it.

use std::collections::VecDeque;

use slackwater_control::PacketReport;
use slackwater_core::{Bytes, Duration, Instant};

use super::feedback::Arrivals;

/// Packets that are remembered.
const KEPT: usize = 8192;
/// A packet may be overtaken by so many (RFC 9002, 6.1.1: 3).
const OVERTAKEN: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Flying,
    Arrived,
    Lost,
    /// No report told in time; it counts no longer as in flight.
    Expired,
    /// Reports skipped it: the one that spoke of it is late or lost. It counts no longer as in flight, and not as lost:
    /// only a report can tell that (RFC 8888, 3.1; transport-wide-cc-extensions-01, 3.1: "packet not received").
    Untold,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    sent: Instant,
    len: u16,
    fate: Fate,
    /// A report spoke of it as not received.
    missing: bool,
}

impl Entry {
    /// It is lost, which is news.
    fn lose(&mut self, number: u32, news: &mut Vec<PacketReport>, outcome: &mut Outcome) {
        self.fate = Fate::Lost;
        let len = Bytes(u64::from(self.len));
        outcome.lost += len;
        outcome.lost_packets += 1;
        news.push(PacketReport::lost(u64::from(number), self.sent, len));
    }
}

/// What a report changed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    pub(super) acked: Bytes,
    pub(super) lost: Bytes,
    pub(super) lost_packets: u64,
    /// Round trip of the newest packet that the report speaks of for the first time.
    pub(super) rtt: Option<Duration>,
}

impl Outcome {
    /// What a later range of the same report changed.
    pub(super) fn add(&mut self, later: &Self) {
        self.acked += later.acked;
        self.lost += later.lost;
        self.lost_packets += later.lost_packets;
        self.rtt = later.rtt.or(self.rtt);
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct History {
    first: u32,
    entries: VecDeque<Entry>,
    /// Everything below has met its fate.
    open: u32,
    highest: Option<u32>,
    in_flight: u64,
}

impl History {
    /// The number of the next packet.
    pub(super) fn next(&self) -> u32 {
        self.first.wrapping_add(self.entries.len() as u32)
    }

    pub(super) const fn in_flight(&self) -> Bytes {
        Bytes(self.in_flight)
    }

    pub(super) fn on_sent(&mut self, now: Instant, len: u16) {
        if self.entries.len() == KEPT {
            if let Some(Entry {
                fate: Fate::Flying,
                len,
                ..
            }) = self.entries.pop_front()
            {
                self.in_flight -= u64::from(len);
            }
            self.first = self.first.wrapping_add(1);
            if (self.open.wrapping_sub(self.first) as i32) < 0 {
                self.open = self.first;
            }
        }
        self.entries.push_back(Entry {
            sent: now,
            len,
            fate: Fate::Flying,
            missing: false,
        });
        self.in_flight += u64::from(len);
    }

    /// When the oldest packet in flight left.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let start = self.open.wrapping_sub(self.first) as usize;
        let mut open = self.entries.iter().skip(start);
        open.find(|e| e.fate == Fate::Flying).map(|e| e.sent)
    }

    /// Takes packets that left before `limit` out of flight.
    pub(super) fn expire(&mut self, limit: Instant) {
        let start = self.open.wrapping_sub(self.first) as usize;
        for entry in self.entries.iter_mut().skip(start) {
            if entry.sent > limit {
                break;
            }
            if entry.fate == Fate::Flying {
                entry.fate = Fate::Expired;
                self.in_flight -= u64::from(entry.len);
            }
        }
    }

    /// Applies a report: what is new in it goes to `news`, in the order of the numbers.
    pub(super) fn on_report(
        &mut self,
        now: Instant,
        report: &Arrivals,
        reordering: Duration,
        news: &mut Vec<PacketReport>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        for (i, packet) in report.packets.iter().enumerate() {
            let number = report.first.wrapping_add(i as u32);
            // A number that was never given, or is forgotten, says nothing.
            let place = number.wrapping_sub(self.first) as usize;
            let Some(entry) = self.entries.get_mut(place) else {
                continue;
            };
            let Some((arrived, ecn)) = *packet else {
                entry.missing = true;
                if entry.fate == Fate::Untold {
                    // The late report says so.
                    entry.lose(number, news, &mut outcome);
                }
                continue;
            };
            if entry.fate == Fate::Arrived {
                continue;
            }
            let len = Bytes(u64::from(entry.len));
            if entry.fate == Fate::Flying {
                self.in_flight -= len.0;
            }
            entry.fate = Fate::Arrived;
            outcome.acked += len;
            let waited = report.made.map_or(Duration::ZERO, |t| t.since(arrived));
            if self
                .highest
                .is_none_or(|h| (number.wrapping_sub(h) as i32) > 0)
            {
                self.highest = Some(number);
                outcome.rtt = Some(now.since(entry.sent).saturating_sub(waited));
            }
            news.push(PacketReport::received(
                u64::from(number),
                entry.sent,
                arrived,
                len,
                ecn,
            ));
        }
        self.find_lost(reordering, news, &mut outcome);
        if outcome.lost_packets > 0 {
            news.sort_unstable_by_key(|p| p.seq);
        }
        outcome
    }

    fn find_lost(
        &mut self,
        reordering: Duration,
        news: &mut Vec<PacketReport>,
        outcome: &mut Outcome,
    ) {
        let Some(highest) = self.highest else { return };
        let place = highest.wrapping_sub(self.first) as usize;
        let Some(newest) = self.entries.get(place).map(|e| e.sent) else {
            return;
        };
        let mut settled = true;
        let start = self.open.wrapping_sub(self.first);
        for place in start..=place as u32 {
            let number = self.first.wrapping_add(place);
            let entry = &mut self.entries[place as usize];
            let overtaken = highest.wrapping_sub(number) >= OVERTAKEN;
            let late = newest.since(entry.sent) >= reordering;
            if matches!(entry.fate, Fate::Flying | Fate::Expired) && overtaken && late {
                if entry.fate == Fate::Flying {
                    self.in_flight -= u64::from(entry.len);
                }
                if entry.missing {
                    entry.lose(number, news, outcome);
                } else {
                    entry.fate = Fate::Untold;
                }
            }
            settled &= !matches!(entry.fate, Fate::Flying | Fate::Expired);
            if settled {
                self.open = number.wrapping_add(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Ecn;

    use super::*;

    /// A report of `first` and the packets after it: which arrived.
    fn report(first: u32, arrived: &[bool]) -> Arrivals {
        let at = (Instant::from_millis(50), Ecn::Ect1);
        Arrivals {
            first,
            packets: arrived.iter().map(|a| a.then_some(at)).collect(),
            made: None,
        }
    }

    fn fates(news: &mut Vec<PacketReport>) -> Vec<(u64, bool)> {
        news.drain(..)
            .map(|p| (p.seq, p.arrived.is_some()))
            .collect()
    }

    #[test]
    fn only_a_report_makes_a_packet_lost() {
        let mut history = History::default();
        for ms in 0..12 {
            history.on_sent(Instant::from_millis(ms), 1000);
        }
        let mut news = vec![];
        let mut hear = |report: &Arrivals| {
            let now = Instant::from_millis(60);
            history.on_report(now, report, Duration::ZERO, &mut news);
            (fates(&mut news), history.in_flight().0)
        };
        let first = (0..4).map(|n| (n, true)).collect();
        assert_eq!(hear(&report(0, &[true; 4])), (first, 8000));
        // The report of 4 to 7 is missing: they are overtaken, out of flight, and not lost.
        let next = (8..12).map(|n| (n, true)).collect();
        assert_eq!(hear(&report(8, &[true; 4])), (next, 0));
        // It comes late: one of them is.
        let late = hear(&report(4, &[true, false, true, true]));
        assert_eq!(late, (vec![(4, true), (5, false), (6, true), (7, true)], 0));
        // A packet may yet arrive, once.
        assert_eq!(hear(&report(5, &[true])), (vec![(5, true)], 0));
        assert_eq!(hear(&report(5, &[true])), (vec![], 0));
    }

    /// A silence longer than any report takes says nothing of a packet, but it must not hold the window shut.
    #[test]
    fn what_no_report_tells_of_leaves_flight_and_may_arrive_all_the_same() {
        let mut history = History::default();
        for ms in 0..6 {
            history.on_sent(Instant::from_millis(ms * 100), 1000);
        }
        let mut news = vec![];
        let now = Instant::from_millis(550);
        history.on_report(now, &report(1, &[true]), Duration::ZERO, &mut news);
        assert_eq!(fates(&mut news), [(1, true)]);
        assert_eq!(history.in_flight().0, 5000);

        // Those that left at 0, 200 and 300 ms; the one of 100 ms has arrived.
        history.expire(Instant::from_millis(300));
        assert_eq!(history.in_flight().0, 2000);
        assert_eq!(history.oldest(), Some(Instant::from_millis(400)));
        history.expire(Instant::from_millis(300));
        assert_eq!(history.in_flight().0, 2000, "once");

        let late = report(2, &[true, true, true]);
        let outcome = history.on_report(now, &late, Duration::ZERO, &mut news);
        assert_eq!(outcome.acked, Bytes(3000));
        assert_eq!(history.in_flight().0, 1000);
    }
}
