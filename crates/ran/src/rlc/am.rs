//! Acknowledged mode: polls, status reports, retransmission.
//!
//! Sequence numbers of the standards are replaced by offsets in the bearer's byte stream, which is what they stand
//! for: a status report acknowledges all bytes below an offset but for the missing ranges that it lists.

use std::collections::VecDeque;

use slackwater_core::Instant;

use super::config::{Mode, Timers};
use super::piece::{Piece, PieceKind};

/// A poll at least every so many bytes (`pollByte`): srsRAN Project's of 5QI 5; config.rs has the others'.
const POLL_BYTE: u64 = 125_000;

/// Bytes `start..end` of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    start: u64,
    end: u64,
}

#[derive(Clone, Debug)]
struct Report {
    number: u32,
    /// Everything below is there, but for `missing` (`ACK_SN`).
    upto: u64,
    missing: Vec<Range>,
}

/// MAC subheader (2) and fixed part of a status PDU (2, rounded up to 3; TS 36.322, 6.2.1.6; TS 38.322, 6.2.2.5).
const STATUS_FIXED: u32 = 5;
/// One NACK: number, extension bits and segment offsets.
const STATUS_NACK: u32 = 6;
/// Most ranges in one report; the rest waits for the next.
const MAX_NACKS: usize = 64;

/// The state of acknowledged mode, both ends.
#[derive(Debug)]
pub(super) struct Am {
    timers: Timers,
    // Sender.
    /// Everything below is acknowledged.
    acked: u64,
    retx: VecDeque<Range>,
    /// Ranges that were requested again, with how often.
    history: Vec<(Range, u32)>,
    last: Range,
    pdus_unpolled: u32,
    bytes_unpolled: u64,
    force_poll: bool,
    /// The offset that the last poll covers.
    poll_offset: u64,
    poll_deadline: Option<Instant>,
    /// How often the bearer was re-established.
    pub(super) reestablished: u64,
    // Receiver.
    /// Everything below arrived: VR(R).
    next: u64,
    /// What arrived beyond, sorted and disjoint.
    ahead: Vec<Range>,
    /// Up to where a report may speak: VR(MS).
    upto: u64,
    /// VR(X), while the timer runs.
    limit: u64,
    gap_deadline: Option<Instant>,
    /// A poll about this offset waits for the report that covers it.
    polled: Option<u64>,
    triggered: bool,
    prohibited_until: Instant,
    reports: VecDeque<Report>,
    numbers: u32,
}

impl Am {
    pub(super) fn new(timers: Timers) -> Self {
        let none = Range { start: 0, end: 0 };
        Self {
            timers,
            acked: 0,
            retx: VecDeque::new(),
            history: Vec::new(),
            last: none,
            pdus_unpolled: 0,
            bytes_unpolled: 0,
            force_poll: false,
            poll_offset: 0,
            poll_deadline: None,
            reestablished: 0,
            next: 0,
            ahead: Vec::new(),
            upto: 0,
            limit: 0,
            gap_deadline: None,
            polled: None,
            triggered: false,
            prohibited_until: Instant::ZERO,
            reports: VecDeque::new(),
            numbers: 0,
        }
    }

    /// Bytes that retransmissions need, with `header` for each.
    pub(super) fn need(&self, header: u32) -> u64 {
        self.retx
            .iter()
            .map(|r| r.end - r.start + u64::from(header))
            .sum()
    }

    /// Bytes in the retransmission queue.
    pub(super) fn backlog(&self) -> u64 {
        self.need(0)
    }

    /// Fills up to `room` bytes with retransmissions; returns the bytes used.
    pub(super) fn fill(
        &mut self,
        room: u32,
        header: u32,
        bearer: u8,
        pieces: &mut Vec<Piece>,
    ) -> u32 {
        let mut used = 0;
        while let Some(range) = self.retx.front_mut() {
            let left = u64::from(room - used);
            if left <= u64::from(header) {
                break;
            }
            let take = (range.end - range.start).min(left - u64::from(header));
            pieces.push(Piece {
                bearer,
                kind: PieceKind::Again,
                number: 0,
                start: range.start,
                end: range.start + take,
                poll: false,
            });
            range.start += take;
            used += header + take as u32;
            if range.start == range.end {
                self.retx.pop_front();
            }
        }
        used
    }

    /// A block with these pieces is complete; decides about a poll (TS 36.322, 5.2.2). `empty` where nothing is left to
    /// send.
    pub(super) fn sent(&mut self, now: Instant, piece: &mut Piece, empty: bool, sent: u64) {
        if piece.kind == PieceKind::New {
            self.last = Range {
                start: piece.start,
                end: piece.end,
            };
            self.pdus_unpolled += 1;
            self.bytes_unpolled += piece.end - piece.start;
        }
        let poll = (empty && self.retx.is_empty())
            || self.force_poll
            || self.pdus_unpolled >= self.timers.poll_pdu
            || self.bytes_unpolled >= POLL_BYTE;
        if poll {
            piece.poll = true;
            self.force_poll = false;
            self.pdus_unpolled = 0;
            self.bytes_unpolled = 0;
            self.poll_offset = sent;
            self.poll_deadline = Some(now + self.timers.poll_retransmit);
        }
    }

    /// Bytes `piece` arrived; returns the offset below which all did.
    pub(super) fn received(&mut self, now: Instant, piece: &Piece) -> u64 {
        self.insert(piece.start.max(self.next), piece.end);
        self.upto = self.upto.max(self.next);
        self.extend_upto();
        if piece.poll {
            // The poll covers everything sent by then; what is beyond this piece is on its way.
            self.polled = Some(self.polled.unwrap_or(0).max(piece.end));
        }
        if self.gap_deadline.is_some() && self.next >= self.limit {
            self.gap_deadline = None;
        }
        self.start_gap_timer(now);
        self.answer_poll();
        self.next
    }

    fn insert(&mut self, start: u64, end: u64) {
        if end <= start {
            return;
        }
        if start == self.next {
            self.next = end;
        } else {
            let at = self.ahead.partition_point(|r| r.end < start);
            let mut merged = Range { start, end };
            let mut last = at;
            while last < self.ahead.len() && self.ahead[last].start <= merged.end {
                merged.start = merged.start.min(self.ahead[last].start);
                merged.end = merged.end.max(self.ahead[last].end);
                last += 1;
            }
            self.ahead.splice(at..last, [merged]);
        }
        while self.ahead.first().is_some_and(|r| r.start <= self.next) {
            let first = self.ahead.remove(0);
            self.next = self.next.max(first.end);
        }
    }

    /// VR(MS) never stands on a byte that arrived.
    fn extend_upto(&mut self) {
        for range in &self.ahead {
            if range.start <= self.upto && self.upto < range.end {
                self.upto = range.end;
            }
        }
    }

    fn start_gap_timer(&mut self, now: Instant) {
        let highest = self.ahead.last().map_or(self.next, |r| r.end);
        if self.gap_deadline.is_none() && highest > self.upto.max(self.next) {
            self.limit = highest;
            self.gap_deadline = Some(now + self.timers.reassembly(Mode::Am));
        }
    }

    fn answer_poll(&mut self) {
        if self.polled.is_some_and(|offset| offset <= self.upto) {
            self.polled = None;
            self.triggered = true;
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let prohibit = self.triggered.then_some(self.prohibited_until);
        [self.poll_deadline, self.gap_deadline, prohibit]
            .into_iter()
            .flatten()
            .min()
    }

    /// Timers; `idle` where no new data waits.
    pub(super) fn on_timer(&mut self, now: Instant, idle: bool) {
        if self.gap_deadline.is_some_and(|t| t <= now) {
            self.gap_deadline = None;
            self.upto = self.upto.max(self.limit);
            self.extend_upto();
            self.triggered = true;
            self.start_gap_timer(now);
            self.answer_poll();
        }
        if self.poll_deadline.is_some_and(|t| t <= now) {
            self.poll_deadline = None;
            self.force_poll = true;
            if idle && self.retx.is_empty() && self.last.end > self.acked {
                // TS 36.322, 5.2.2.3: some PDU that is not acknowledged goes again and carries the poll.
                let start = self.last.start.max(self.acked);
                self.ask_again(Range {
                    start,
                    end: self.last.end,
                });
            }
        }
        if self.triggered && self.prohibited_until <= now {
            // The report goes out with the next block; the timer is done.
            self.prohibited_until = Instant::ZERO;
        }
    }

    /// Bytes of the report that waits to be sent.
    pub(super) fn status_need(&self, now: Instant) -> u32 {
        if !self.triggered || self.prohibited_until > now {
            return 0;
        }
        STATUS_FIXED + STATUS_NACK * self.gaps().count().min(MAX_NACKS) as u32
    }

    /// The missing ranges that a report may name.
    fn gaps(&self) -> impl Iterator<Item = Range> + '_ {
        let starts = core::iter::once(self.next).chain(self.ahead.iter().map(|r| r.end));
        let ends = self
            .ahead
            .iter()
            .map(|r| r.start)
            .chain(core::iter::once(u64::MAX));
        starts
            .zip(ends)
            .map(|(start, end)| Range {
                start,
                end: end.min(self.upto),
            })
            .take_while(|r| r.start < r.end)
    }

    /// Puts the report that waits into a block of the other direction; returns the bytes used.
    pub(super) fn fill_status(
        &mut self,
        now: Instant,
        room: u32,
        bearer: u8,
        pieces: &mut Vec<Piece>,
    ) -> u32 {
        let need = self.status_need(now);
        if need == 0 || room < STATUS_FIXED {
            return 0;
        }
        let fits = ((room - STATUS_FIXED) / STATUS_NACK) as usize;
        let mut missing: Vec<Range> = self.gaps().take(MAX_NACKS + 1).collect();
        let mut upto = self.upto;
        let most = fits.min(MAX_NACKS);
        if missing.len() > most {
            upto = missing[most].start;
            missing.truncate(most);
        }
        let number = self.numbers;
        self.numbers = self.numbers.wrapping_add(1);
        let used = STATUS_FIXED + STATUS_NACK * missing.len() as u32;
        self.reports.push_back(Report {
            number,
            upto,
            missing,
        });
        self.triggered = false;
        self.prohibited_until = now + self.timers.status_prohibit;
        pieces.push(Piece {
            bearer,
            kind: PieceKind::Status,
            number,
            start: 0,
            end: 0,
            poll: false,
        });
        used
    }

    /// Report `number` was lost on its way.
    pub(super) fn status_lost(&mut self, number: u32) {
        self.reports.retain(|r| r.number != number);
    }

    /// Report `number` arrived at the sender.
    pub(super) fn status_received(&mut self, number: u32) {
        let Some(at) = self.reports.iter().position(|r| r.number == number) else {
            return;
        };
        let report = self
            .reports
            .remove(at)
            .expect("the position was just found");
        if self.poll_deadline.is_some() && report.upto >= self.poll_offset {
            self.poll_deadline = None;
        }
        let acked = report.missing.first().map_or(report.upto, |r| r.start);
        self.acked = self.acked.max(acked);
        // What the report has seen needs no retransmission, unless it names it.
        let mut queue = VecDeque::new();
        for range in self.retx.drain(..) {
            if range.end > report.upto {
                queue.push_back(Range {
                    start: range.start.max(report.upto),
                    end: range.end,
                });
            }
        }
        self.retx = queue;
        let acked = self.acked;
        self.history.retain(|(range, _)| range.end > acked);
        for range in report.missing {
            if range.end > self.acked {
                self.ask_again(range);
            }
        }
        self.retx
            .make_contiguous()
            .sort_unstable_by_key(|range| range.start);
    }

    fn ask_again(&mut self, range: Range) {
        let known = self
            .history
            .iter_mut()
            .find(|(old, _)| old.start < range.end && range.start < old.end);
        if let Some((_, count)) = known {
            *count += 1;
            if *count > u32::from(self.timers.max_retransmissions) {
                // TS 38.331, 5.3.10.3 and 5.3.7: the radio link has failed, and RRC re-establishes it. RLC then counts from zero
                // (TS 38.322, 5.1.2), and PDCP sends again what is not confirmed (TS 38.323, 5.1.2), which is what waits here. The
                // time that this takes (TS 36.133, 6.1: 50 ms and more) is left out.
                self.reestablished += 1;
                self.history.clear();
            }
        } else {
            self.history.push((range, 1));
        }
        self.retx.push_back(range);
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Duration;
    use slackwater_schema::field::Field as _;

    use super::*;

    fn data(start: u64, end: u64, poll: bool) -> Piece {
        Piece {
            bearer: 0,
            kind: PieceKind::New,
            number: 0,
            start,
            end,
            poll,
        }
    }

    #[test]
    fn a_gap_is_reported_after_the_timer_and_sent_again() {
        let t = Instant::from_millis(5);
        let mut am = Am::new(Timers::example());
        assert_eq!(am.received(t, &data(0, 100, false)), 100);
        assert_eq!(am.received(t, &data(300, 400, true)), 100);
        // The poll waits: HARQ may still fill the gap.
        assert_eq!(am.status_need(t), 0);
        let later = am.deadline().unwrap();
        assert_eq!(later, t + Duration::from_millis(40));
        am.on_timer(later, true);
        assert_eq!(am.status_need(later), STATUS_FIXED + STATUS_NACK);
        let mut pieces = Vec::new();
        assert_eq!(am.fill_status(later, 100, 0, &mut pieces), 11);
        assert_eq!(am.status_need(later), 0);
        am.status_received(pieces[0].number);
        assert_eq!(am.backlog(), 200);
        pieces.clear();
        // 150 bytes of room: the range is cut.
        assert_eq!(am.fill(150, 8, 0, &mut pieces), 150);
        assert_eq!((pieces[0].start, pieces[0].end), (100, 242));
        assert_eq!(am.fill(150, 8, 0, &mut pieces), 66);
        assert_eq!(am.received(later, &pieces[1]), 100);
        assert_eq!(am.received(later, &pieces[0]), 400);
    }

    /// A saturated sender never runs empty: it polls by bytes or by PDUs, and counts anew from each poll (TS 38.322, 5.3.3.2).
    #[test]
    fn a_sender_with_more_to_send_polls_each_125_kb_or_so_many_pdus() {
        let polls = |poll_pdu: u32, len: u64| -> Vec<u64> {
            let mut am = Am::new(Timers {
                poll_pdu,
                ..Timers::example()
            });
            let mut polls = Vec::new();
            for k in 0..30 {
                let mut piece = data(k * len, (k + 1) * len, false);
                am.sent(Instant::ZERO, &mut piece, false, (k + 1) * len);
                if piece.poll {
                    polls.push(k);
                }
            }
            polls
        };
        assert_eq!(polls(1_000, 12_500), [9, 19, 29]);
        assert_eq!(polls(1_000, 12_499), [10, 21]);
        assert_eq!(polls(8, 100), [7, 15, 23]);
    }

    #[test]
    fn ranges_merge() {
        let t = Instant::ZERO;
        let mut am = Am::new(Timers::example());
        for (start, end) in [(50, 60), (30, 40), (40, 45), (44, 52), (10, 20), (0, 11)] {
            am.received(t, &data(start, end, false));
        }
        assert_eq!(am.next, 20);
        assert_eq!(am.ahead, [Range { start: 30, end: 60 }]);
        am.received(t, &data(0, 60, false));
        assert_eq!((am.next, am.ahead.len()), (60, 0));
    }

    /// Each status names the same bytes: the link has failed once they were asked for too often (TS 38.322, 5.3.2). Bytes that
    /// arrived in between do not count towards that of others.
    #[test]
    fn a_bearer_is_reestablished_after_so_many_requests_for_the_same_bytes() {
        let mut am = Am::new(Timers {
            max_retransmissions: 3,
            ..Timers::example()
        });
        let mut number = 0;
        let mut asks = |am: &mut Am, start: u64, end: u64| {
            let missing = vec![Range { start, end }];
            am.reports.push_back(Report {
                number,
                upto: end + 100,
                missing,
            });
            am.status_received(number);
            number += 1;
            am.fill(1_000, 8, 0, &mut Vec::new());
            am.reestablished
        };
        let first = [0; 3].map(|_| asks(&mut am, 100, 200));
        let second = [0; 4].map(|_| asks(&mut am, 300, 400));
        assert_eq!((first, second), ([0; 3], [0, 0, 0, 1]));
        assert_eq!(am.history.len(), 0, "it begins anew");
        for k in 0..50 {
            asks(&mut am, 500 + 100 * k, 550 + 100 * k);
        }
        assert_eq!(am.history.len(), 1, "what has arrived is forgotten");
    }

    /// The other end is out of reach for far longer than `max_retransmissions` take; then everything goes through.
    #[test]
    fn a_bearer_out_of_reach_goes_on_when_it_is_back() {
        let timers = Timers {
            max_retransmissions: 3,
            ..Timers::example()
        };
        let mut am = Am::new(timers.clone());
        let mut piece = data(0, 500, false);
        am.sent(Instant::ZERO, &mut piece, true, 500);
        let mut pieces = Vec::new();
        let mut now = Instant::ZERO;
        for round in 1..=20 {
            now = am.deadline().expect("a poll waits for its answer");
            am.on_timer(now, true);
            pieces.clear();
            assert_eq!(am.fill(600, 8, 0, &mut pieces), 508, "round {round}");
            am.sent(now, &mut pieces[0], true, 500);
            assert!(pieces[0].poll, "round {round}");
            // Three repetitions are allowed; the fourth, the eighth and so on each come after a new beginning.
            assert_eq!(am.reestablished, round / 4, "round {round}");
        }
        assert_eq!(now, Instant::ZERO + timers.poll_retransmit * 20);
        let last = pieces[0];
        assert_eq!(am.received(now, &last), 500);
        pieces.clear();
        assert!(am.fill_status(now, 100, 0, &mut pieces) > 0);
        am.status_received(pieces[0].number);
        assert_eq!((am.acked, am.backlog(), am.deadline()), (500, 0, None));
    }

    #[test]
    fn an_unanswered_poll_sends_the_last_range_again() {
        let t = Instant::ZERO;
        let mut am = Am::new(Timers::example());
        let mut piece = data(0, 500, false);
        am.sent(t, &mut piece, true, 500);
        assert!(piece.poll);
        let later = am.deadline().unwrap();
        am.on_timer(later, true);
        assert_eq!(am.backlog(), 500);
    }
}
