//! Which packets are out, and what each was sent for: controllers that judge a packet by what held when it left.
//!
//! An [`Ack`] says how many bytes arrived and how old the newest of them is; it does not number packets. From
//! that the log tells which ones they were. In order they are the oldest outstanding. Behind a gap they are the newest up
//! to the one that the RTT sample points at, and what lies before them is what the host then declares lost.

use std::collections::VecDeque;

use slackwater_core::{Bytes, Duration, Instant};

use crate::{Ack, Cause, CongestionEvent, PathView};

/// A packet that is out.
#[derive(Clone, Copy, Debug)]
struct Packet<T> {
    /// When it left.
    at: Instant,
    /// Bytes of it that nobody has spoken of yet.
    left: u32,
    /// What it was sent for.
    tag: T,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrived.
    Acked,
    /// The host declared it lost.
    Lost,
}

/// A packet, or a part of one, whose fate became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known<T> {
    /// Its place among all packets sent, from zero.
    pub number: u64,
    /// What it was sent for.
    pub tag: T,
    /// Bytes.
    pub bytes: u32,
    /// What became of it.
    pub fate: Fate,
}

/// The packets that are out, oldest first.
#[derive(Clone, Debug)]
pub struct SentLog<T> {
    packets: VecDeque<Packet<T>>,
    /// Number of the first packet in the log.
    first: u64,
    /// Bytes that nobody has spoken of.
    out: u64,
    /// The host's total of lost bytes that the log has taken in.
    lost: u64,
    /// Bytes of it that a timeout declared before the host's total was seen.
    ahead: u64,
}

impl<T> Default for SentLog<T> {
    fn default() -> Self {
        Self {
            packets: VecDeque::new(),
            first: 0,
            out: 0,
            lost: 0,
            ahead: 0,
        }
    }
}

impl<T: Copy> SentLog<T> {
    /// Bytes that are out.
    pub const fn out(&self) -> Bytes {
        Bytes(self.out)
    }

    /// What the oldest packet was sent for that is out.
    pub fn oldest(&self) -> Option<T> {
        self.packets.front().map(|p| p.tag)
    }

    /// Number of the oldest packet that is out.
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// Number of the next packet to leave.
    pub fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// A packet of `bytes` leaves.
    #[inline]
    pub fn sent(&mut self, now: Instant, bytes: Bytes, tag: T) {
        let left = u32::try_from(bytes.0).unwrap_or(u32::MAX);
        if left == 0 {
            return;
        }
        self.out += u64::from(left);
        self.packets.push_back(Packet { at: now, left, tag });
    }

    /// Feedback: `known` hears of each packet whose fate it tells, losses first.
    #[inline]
    pub fn on_ack(&mut self, now: Instant, ack: &Ack, mut known: impl FnMut(Known<T>)) {
        let lost = ack.lost.0.saturating_sub(self.lost);
        self.lost = self.lost.max(ack.lost.0);
        let again = lost.min(self.ahead);
        self.ahead -= again;

        // What arrived goes first to its own packets: the losses are what remains before them.
        let from = self.find(now, ack.rtt, ack.newly_acked.0);
        let lost = lost - again;
        if lost > 0 && from > 0 {
            self.take(0, lost, Fate::Lost, &mut known);
            self.take(from, ack.newly_acked.0, Fate::Acked, &mut known);
        } else {
            self.take(from, ack.newly_acked.0, Fate::Acked, &mut known);
            self.take(0, lost, Fate::Lost, &mut known);
        }
        self.trim();
    }

    /// A timeout declares packets lost without an ACK: those that the host no longer counts as in flight.
    pub fn on_congestion(
        &mut self,
        path: &PathView,
        event: &CongestionEvent,
        mut known: impl FnMut(Known<T>),
    ) {
        if event.cause == Cause::Timeout {
            let lost = self.out.saturating_sub(path.in_flight.0);
            self.ahead += lost;
            self.take(0, lost, Fate::Lost, &mut known);
            self.trim();
        }
    }

    /// Index of the first of `bytes` that arrived, the newest of which is `rtt` old.
    fn find(&self, now: Instant, rtt: Option<Duration>, bytes: u64) -> usize {
        let Some(sent) = rtt.map(|rtt| now.saturating_sub(rtt)) else {
            return 0;
        };
        // In order: the oldest packets hold so many bytes, and the next one left later.
        let mut held = 0;
        let mut next = 0;
        while let Some(p) = self.packets.get(next) {
            if held >= bytes {
                break;
            }
            held += u64::from(p.left);
            next += 1;
        }
        let newest = next.saturating_sub(1);
        match (self.packets.get(newest), self.packets.get(next)) {
            (Some(last), Some(after)) if after.at <= sent && last.at < sent => {}
            _ => return 0,
        }
        // A gap: back from the newest packet, and over what was acknowledged before. Of packets that left together the
        // first is meant.
        let end = self.packets.partition_point(|p| p.at <= sent);
        let Some(group) = self.packets.get(end.wrapping_sub(1)).map(|p| p.at) else {
            return 0;
        };
        let mut from = self.packets.partition_point(|p| p.at < group);
        while from + 1 < end && self.packets[from].left == 0 {
            from += 1;
        }
        let mut held = u64::from(self.packets[from].left);
        while held < bytes && from > 0 {
            from -= 1;
            held += u64::from(self.packets[from].left);
        }
        from
    }

    /// Settles `bytes` from packet `from` on.
    #[inline]
    fn take(&mut self, from: usize, bytes: u64, fate: Fate, known: &mut impl FnMut(Known<T>)) {
        let mut bytes = bytes;
        let first = self.first + from as u64;
        let packets = self.packets.range_mut(from.min(self.packets.len())..);
        for (number, p) in (first..).zip(packets) {
            if bytes == 0 {
                break;
            }
            let part = u64::from(p.left).min(bytes) as u32;
            if part > 0 {
                p.left -= part;
                bytes -= u64::from(part);
                self.out -= u64::from(part);
                known(Known {
                    number,
                    tag: p.tag,
                    bytes: part,
                    fate,
                });
            }
        }
    }

    /// Forgets packets at the front whose fate is known.
    #[inline]
    fn trim(&mut self) {
        while self.packets.front().is_some_and(|p| p.left == 0) {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// A log of packets that left at `at` ms, tagged with their number.
    fn log(at: &[u64]) -> SentLog<usize> {
        let mut log = SentLog::default();
        for (i, &ms) in at.iter().enumerate() {
            log.sent(Instant::from_millis(ms), Bytes(MSS), i);
        }
        log
    }

    /// What an ACK at 100 ms settles: `packets` arrived, the newest left at `newest` ms, `lost` packets in total.
    fn ack(
        log: &mut SentLog<usize>,
        packets: u64,
        newest: Option<u64>,
        lost: u64,
    ) -> Vec<(usize, Fate)> {
        let mut out = Vec::new();
        let ack = Ack {
            newly_acked: Bytes(packets * MSS),
            rtt: newest.map(|ms| Duration::from_millis(100 - ms)),
            lost: Bytes(lost * MSS),
            ..Ack::default()
        };
        log.on_ack(Instant::from_millis(100), &ack, |k| {
            assert_eq!((k.number, k.bytes), (k.tag as u64, MSS as u32));
            out.push((k.tag, k.fate));
        });
        out
    }

    use Fate::{Acked, Lost};

    #[test]
    fn in_order_the_oldest_arrive() {
        let mut log = log(&[0, 1, 2, 3, 4]);
        assert_eq!(ack(&mut log, 2, Some(1), 0), [(0, Acked), (1, Acked)]);
        assert_eq!(ack(&mut log, 1, Some(2), 0), [(2, Acked)]);
        assert_eq!(log.out(), Bytes(2 * MSS));
        assert_eq!(log.oldest(), Some(3));
        // Without an RTT sample (a retransmission) too.
        assert_eq!(ack(&mut log, 1, None, 0), [(3, Acked)]);
    }

    #[test]
    fn behind_a_gap_the_sample_says_which_and_the_gap_is_the_loss() {
        let mut log = log(&[0, 1, 2, 3, 4, 5]);
        assert_eq!(ack(&mut log, 1, Some(1), 0), [(1, Acked)]);
        assert_eq!(ack(&mut log, 2, Some(3), 0), [(2, Acked), (3, Acked)]);
        let both = ack(&mut log, 1, Some(4), 1);
        assert_eq!(both, [(0, Lost), (4, Acked)]);
        assert_eq!(log.oldest(), Some(5));
    }

    #[test]
    fn packets_of_a_burst_arrive_in_order() {
        let mut log = log(&[0, 0, 0, 0, 1]);
        for i in 0..4 {
            assert_eq!(ack(&mut log, 1, Some(0), 0), [(i, Acked)]);
        }
        assert_eq!(ack(&mut log, 1, Some(1), 0), [(4, Acked)]);
    }

    #[test]
    fn a_timeout_declares_what_is_no_longer_in_flight_and_once_only() {
        let mut log = log(&[0, 1, 2, 3]);
        let event = CongestionEvent::new(Cause::Timeout, Bytes(0), Bytes(0), 0);
        let path = PathView {
            in_flight: Bytes(MSS),
            ..PathView::default()
        };
        let mut out = Vec::new();
        log.on_congestion(&path, &event, |k| out.push((k.tag, k.fate)));
        assert_eq!(out, [(0, Lost), (1, Lost), (2, Lost)]);
        log.sent(Instant::from_millis(50), Bytes(MSS), 4);
        // The next ACK brings the host's total of the three.
        assert_eq!(ack(&mut log, 1, None, 3), [(3, Acked)]);
        assert_eq!(ack(&mut log, 1, Some(50), 4), [(4, Acked)]);
        assert_eq!(log.out(), Bytes(0));
    }
}
