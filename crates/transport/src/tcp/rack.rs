//! Loss detection by time (RFC 8985, 6; Linux `tcp_recovery.c`).

use std::collections::VecDeque;

use slackwater_core::{Duration, Instant};

use super::scoreboard::{Scoreboard, Segment};

/// DSACK rounds for which a widened reordering window stays (RFC 8985, 6.2, step 4: 16 recoveries).
const PERSIST: u8 = 16;

/// The state of RFC 8985, 5.3.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// Send time of the most recently sent segment that was delivered.
    sent: Instant,
    /// Its end, which breaks ties.
    end: u64,
    /// Its round-trip time.
    rtt: Duration,
    /// The two above moved with this ACK.
    pub(crate) advanced: bool,
    /// Reordering was seen (`RACK.reordering_seen`).
    pub(crate) reordered: bool,
    /// Reordering window in quarters of the minimum RTT.
    steps: u8,
    /// Recoveries for which the widened window stays (`RACK.reo_wnd_persist`).
    persist: u8,
    /// A DSACK waits to be answered with a wider window.
    pub(crate) dsack: bool,
    /// Delivered bytes when the window was last widened.
    widened_at: u64,
    /// No segment below was sent only once and waits; originals leave in order, so the oldest is the first.
    originals: u64,
    /// Segments sent again, in the order of sending. A segment's last entry is the one that counts.
    copies: VecDeque<(u64, Instant)>,
}

/// What the detector looks at besides its own state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) now: Instant,
    pub(crate) srtt: Duration,
    pub(crate) min_rtt: Duration,
    /// The sender is in fast recovery or after a timeout.
    pub(crate) recovering: bool,
    /// As many segments are `SACKed` as duplicate ACKs start a recovery (RFC 8985, 6.2, step 4: `DupThresh`).
    pub(crate) dup_threshold: bool,
}

impl Rack {
    pub(crate) fn new() -> Self {
        Self {
            sent: Instant::ZERO,
            end: 0,
            rtt: Duration::ZERO,
            advanced: false,
            reordered: false,
            steps: 1,
            persist: 0,
            dsack: false,
            widened_at: 0,
            originals: 0,
            copies: VecDeque::new(),
        }
    }

    /// `s` is delivered (RFC 8985, 6.2, step 2). `spurious`: the ACK must be for an earlier copy.
    #[inline]
    pub(crate) fn delivered(
        &mut self,
        now: Instant,
        s: &Segment,
        min_rtt: Duration,
        spurious: bool,
    ) {
        let rtt = now.since(s.sent);
        if s.is(Segment::RESENT) && (spurious || rtt < min_rtt) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if (s.sent, s.end()) > (self.sent, self.end) {
            self.sent = s.sent;
            self.end = s.end();
        }
    }

    /// Adapts the reordering window (RFC 8985, 6.2, step 4). `sampled` is the delivered count when the newest
    /// delivered segment was sent.
    #[inline]
    pub(crate) fn adapt(&mut self, sampled: Option<u64>, delivered: u64) {
        let Some(sampled) = sampled else { return };
        if !self.dsack {
            if self.persist == 0 {
                self.steps = 1;
            }
            return;
        }
        // One step per round trip.
        if sampled < self.widened_at {
            self.dsack = false;
            return;
        }
        self.steps = self.steps.saturating_add(1);
        self.dsack = false;
        self.widened_at = delivered;
        self.persist = PERSIST;
    }

    /// A recovery ended.
    pub(crate) fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// The reordering window (RFC 8985, 6.2, step 4).
    pub(crate) fn window(&self, v: &View) -> Duration {
        if !self.reordered && (v.recovering || v.dup_threshold) {
            return Duration::ZERO;
        }
        (v.min_rtt * u64::from(self.steps) / 4).min(v.srtt)
    }

    /// Segment `n` was sent again at `now`.
    pub(crate) fn resent(&mut self, n: u64, now: Instant) {
        self.copies.push_back((n, now));
    }

    /// Marks what was sent long enough before the newest delivered segment (RFC 8985, 6.2, step 5). Returns the
    /// bytes newly lost, and how long until the next look where something may be lost by then.
    pub(crate) fn detect(&mut self, board: &mut Scoreboard, v: &View) -> (u64, Option<Duration>) {
        let wait = self.rtt + self.window(v);
        let mut lost = 0;
        let mut again = Duration::ZERO;
        let before = |rack: &Self, s: &Segment| (s.sent, s.end()) < (rack.sent, rack.end);
        // Originals: in order of sending, so the first that is not overdue ends the search for lost ones; later
        // ones only extend the wait.
        self.originals = self.originals.max(board.head());
        let mut from = self.originals;
        let mut leading = true;
        while let Some(n) = board.next_open(from) {
            let s = board.get(n);
            from = n + 1;
            if s.is(Segment::RESENT) {
                continue;
            }
            if leading {
                self.originals = n;
            }
            if !before(self, s) {
                break;
            }
            let age = v.now.since(s.sent);
            if age >= wait {
                lost += board.mark_lost(n);
            } else {
                leading = false;
                again = again.max(wait.saturating_sub(age));
            }
        }
        let mut i = 0;
        while let Some(&(n, at)) = self.copies.get(i) {
            let stale = n < board.head() || board.is_sacked(n) || board.get(n).sent != at;
            if stale || (board.is_lost(n) && !board.is_resent(n)) {
                if i == 0 {
                    self.copies.pop_front();
                } else {
                    i += 1;
                }
                continue;
            }
            if !before(self, board.get(n)) {
                break;
            }
            let age = v.now.since(at);
            if age >= wait {
                lost += board.mark_lost(n);
                continue;
            }
            again = again.max(wait.saturating_sub(age));
            i += 1;
        }
        (lost, (!again.is_zero()).then_some(again))
    }

    /// After a timeout: the first segment is lost, and so is whatever was sent more than an RTT ago (Linux
    /// `tcp_timeout_mark_lost`). Returns the bytes newly lost.
    pub(crate) fn timed_out(&mut self, board: &mut Scoreboard, now: Instant) -> u64 {
        let mut lost = 0;
        for n in board.head()..board.tail() {
            if board.is_sacked(n) {
                continue;
            }
            if n == board.head() || now.since(board.get(n).sent) >= self.rtt {
                lost += board.mark_lost(n);
            }
        }
        self.copies.clear();
        for n in board.head()..board.tail() {
            if board.is_resent(n) {
                self.copies.push_back((n, board.get(n).sent));
            }
        }
        self.copies
            .make_contiguous()
            .sort_by_key(|&(n, at)| (at, n));
        lost
    }

    /// Losses were taken back: look at every segment anew.
    pub(crate) fn rewind(&mut self) {
        self.originals = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Two segments leave at once, the second arrives 40 ms later; what is lost at `ms`, and when to look again, where
    /// reordering was seen and `rack` was changed by `before`.
    fn overtaken(ms: u64, before: impl Fn(&mut Rack)) -> (u64, Option<Duration>) {
        let mut board = Scoreboard::new(1000);
        for pos in [0, 1000] {
            board.push(Segment {
                pos,
                len: 1000,
                sent: at(100),
                ..Segment::default()
            });
        }
        let mut rack = Rack::new();
        rack.reordered = true;
        before(&mut rack);
        let second = *board.get(1);
        rack.delivered(at(140), &second, MS * 40, false);
        board.sack(1000, 2000, |_| {});
        let view = View {
            now: at(ms),
            srtt: MS * 45,
            min_rtt: MS * 40,
            recovering: false,
            dup_threshold: false,
        };
        rack.detect(&mut board, &view)
    }

    #[test]
    fn a_segment_may_be_overtaken_by_a_quarter_of_the_least_rtt() {
        assert_eq!(overtaken(140, |_| {}), (0, Some(MS * 10)));
        assert_eq!(overtaken(149, |_| {}), (0, Some(MS)));
        assert_eq!(overtaken(150, |_| {}), (1000, None));
    }

    #[test]
    fn a_loss_that_was_none_widens_it_by_a_quarter_and_not_beyond_the_smoothed_rtt() {
        let duplicates = |n| {
            move |rack: &mut Rack| {
                for k in 1..=n {
                    rack.dsack = true;
                    rack.adapt(Some(k * 1000), k * 1000);
                }
            }
        };
        assert_eq!(overtaken(140, duplicates(1)), (0, Some(MS * 20)));
        assert_eq!(overtaken(140, duplicates(2)), (0, Some(MS * 30)));
        assert_eq!(overtaken(140, duplicates(9)), (0, Some(MS * 45)));
    }

    #[test]
    fn the_widened_window_stays_for_sixteen_recoveries() {
        let after = |recoveries: usize| {
            overtaken(140, |rack| {
                rack.dsack = true;
                rack.adapt(Some(1000), 1000);
                for _ in 0..recoveries {
                    rack.recovered();
                }
                rack.adapt(Some(2000), 2000);
            })
        };
        assert_eq!(after(15), (0, Some(MS * 20)));
        assert_eq!(after(16), (0, Some(MS * 10)));
    }

    /// RFC 8985, 3.2: time finds a lost retransmission too, since what left after it arrives before it.
    #[test]
    fn a_retransmission_that_is_overtaken_for_long_enough_is_lost_again() {
        let mut board = Scoreboard::new(1000);
        let push = |board: &mut Scoreboard, sent| {
            board.push(Segment {
                pos: board.nxt(),
                len: 1000,
                sent,
                ..Segment::default()
            });
        };
        let mut rack = Rack::new();
        rack.reordered = true;
        push(&mut board, at(100));
        assert_eq!(board.mark_lost(0), 1000);
        board.resend(0, |s| s.sent = at(150));
        rack.resent(0, at(150));

        // New data leaves 10 ms later and arrives after 40 ms: the copy has until 150 + 40 + 40 / 4 ms.
        push(&mut board, at(160));
        let newer = *board.get(1);
        rack.delivered(at(200), &newer, MS * 40, false);
        board.sack(1000, 2000, |_| {});
        let mut view = View {
            now: at(199),
            srtt: MS * 45,
            min_rtt: MS * 40,
            recovering: true,
            dup_threshold: false,
        };
        assert_eq!(rack.detect(&mut board, &view), (0, Some(MS)));
        view.now = at(200);
        assert_eq!(rack.detect(&mut board, &view), (1000, None));
        assert_eq!(board.next_lost(), Some(0), "it is sent a third time");
    }
}
