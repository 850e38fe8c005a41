//! Reliability: what is in flight, what of it arrived, and what is lost.

mod arrival;

use slackwater_control::RateSample;
use slackwater_core::{Duration, Instant};

use super::config::Config;
use super::rack::{Rack, View};
use super::rate_sample::{Delivery, Newest};
use super::rto::Rtt;
use super::scoreboard::{Scoreboard, Segment};
pub(super) use arrival::{Arrival, News};

/// Duplicate ACKs that mean a loss (RFC 5681, 3.2).
const DUP_THRESHOLD: u64 = 3;

/// How losses are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detection {
    /// By duplicate ACKs (RFC 5681, 3.2): there is no SACK.
    Duplicates,
    /// By what lies below enough `SACKed` segments (RFC 6675, 4).
    Sacks,
    /// By time (RFC 8985).
    Time,
}

/// The sender's record of its data, with all that is read out of acknowledgments.
#[derive(Clone, Debug)]
pub(super) struct Reliability {
    /// What is in flight, segment by segment.
    board: Scoreboard,
    /// What RACK knows of the order of sending.
    rack: Rack,
    /// Delivery counters, and the rate samples that they give.
    delivery: Delivery,
    /// Payload bytes of a full segment.
    mss: u16,
    /// Both ends have SACK on.
    sack: bool,
    /// Losses are found by time, where SACK is on.
    by_time: bool,
    /// Bytes marked lost so far, less those taken back.
    lost: u64,
    /// Duplicate ACKs where SACK is off.
    dup_acks: u64,
}

impl Reliability {
    pub(super) fn new(cfg: &Config) -> Self {
        Self {
            board: Scoreboard::new(cfg.mss),
            rack: Rack::new(),
            delivery: Delivery::default(),
            mss: cfg.mss,
            sack: cfg.sack,
            by_time: cfg.rack,
            lost: 0,
            dup_acks: 0,
        }
    }

    /// The peer's options are known.
    pub(super) fn negotiate(&mut self, mss: u16, sack: bool) {
        self.board = Scoreboard::new(mss);
        self.mss = mss;
        self.sack = sack;
    }

    // --- what is in flight ---

    /// First unacknowledged position.
    #[inline]
    pub(super) const fn una(&self) -> u64 {
        self.board.una()
    }

    /// Next new position.
    #[inline]
    pub(super) const fn nxt(&self) -> u64 {
        self.board.nxt()
    }

    /// Nothing waits for an acknowledgment.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.board.is_empty()
    }

    /// Segments sent and not acknowledged.
    #[inline]
    pub(super) const fn segments(&self) -> u64 {
        self.board.segments()
    }

    /// Bytes in flight.
    #[inline]
    pub(super) const fn in_flight(&self) -> u64 {
        let pipe = self.board.in_flight();
        if self.dup_acks == 0 {
            pipe
        } else {
            pipe.saturating_sub(self.dup_acks * self.mss as u64)
        }
    }

    /// Both ends have SACK on.
    #[inline]
    pub(super) const fn sack(&self) -> bool {
        self.sack
    }

    /// Nothing beyond the cumulative point was acknowledged.
    #[inline]
    pub(super) const fn has_no_sacks(&self) -> bool {
        self.board.sacked() == 0
    }

    /// Something is `SACKed`, lost or duplicated.
    pub(super) const fn in_disorder(&self) -> bool {
        self.board.sacked() > 0 || self.board.lost() > 0 || self.dup_acks > 0
    }

    /// No duplicate ACK is counted.
    #[inline]
    pub(super) const fn has_no_duplicates(&self) -> bool {
        self.dup_acks == 0
    }

    // --- what leaves ---

    /// A new segment of `len` positions leaves, the last of them a FIN where `fin`; returns its position.
    pub(super) fn push(&mut self, now: Instant, len: u16, fin: bool) -> u64 {
        let pos = self.board.nxt();
        let idle = self.board.is_empty();
        let mut s = Segment {
            pos,
            len,
            flags: if fin { Segment::FIN } else { 0 },
            ..Segment::default()
        };
        self.delivery.stamp(now, idle, &mut s);
        self.board.push(s);
        pos
    }

    /// `count` full segments of new data leave, behind others in flight.
    #[inline]
    pub(super) fn push_row(&mut self, now: Instant, count: u64) {
        let mut record = Segment {
            len: self.mss,
            ..Segment::default()
        };
        self.delivery.stamp(now, false, &mut record);
        record.pos = self.board.nxt();
        self.board.push_row(record, count);
    }

    /// The first lost segment that was not sent again.
    #[inline]
    pub(super) fn next_lost(&mut self) -> Option<u64> {
        self.board.next_lost()
    }

    /// True for the oldest segment.
    #[inline]
    pub(super) const fn is_oldest(&self, n: u64) -> bool {
        n == self.board.head()
    }

    /// The oldest segment.
    pub(super) const fn oldest(&self) -> u64 {
        self.board.head()
    }

    /// The newest segment; one must be in flight.
    pub(super) const fn newest(&self) -> u64 {
        self.board.tail() - 1
    }

    /// Segment `n` leaves again.
    pub(super) fn resend(&mut self, now: Instant, n: u64) -> Segment {
        let delivery = &mut self.delivery;
        let s = self.board.resend(n, |s| delivery.stamp_again(now, s));
        self.rack.resent(n, self.board.get(n).sent);
        s
    }

    /// The application has no more to send while the window has room, unless lost data waits (Linux
    /// `tcp_rate_check_app_limited`).
    pub(super) fn limit_by_application(&mut self, in_flight: u64) {
        if self.board.lost() <= self.board.resent() {
            self.delivery.limit(in_flight);
        }
    }

    // --- what is delivered ---

    /// Adapts the reordering window to the newest segment that an ACK delivered, of `newly` bytes.
    #[inline]
    pub(super) fn adapt(&mut self, newest: &Newest, newly: u64) {
        let delivered = self.delivery.delivered + newly;
        self.rack.adapt(newest.prior_delivered(), delivered);
    }

    /// Counts what an ACK delivered and makes the rate sample. The second value: a round began.
    #[inline]
    pub(super) fn sample(
        &mut self,
        now: Instant,
        newly: u64,
        newest: &Newest,
        min_rtt: Duration,
    ) -> (Option<RateSample>, bool) {
        self.delivery.sample(now, newly, newest, min_rtt)
    }

    /// Bytes delivered so far, cumulatively or selectively.
    #[inline]
    pub(super) const fn delivered(&self) -> u64 {
        self.delivery.delivered
    }

    /// The application limits the sender.
    #[inline]
    pub(super) const fn is_app_limited(&self) -> bool {
        self.delivery.is_limited()
    }

    // --- what is lost ---

    /// How losses are found.
    pub(super) const fn detection(&self) -> Detection {
        match (self.sack, self.by_time) {
            (false, _) => Detection::Duplicates,
            (true, false) => Detection::Sacks,
            (true, true) => Detection::Time,
        }
    }

    /// Bytes marked lost so far, less those taken back.
    #[inline]
    pub(super) const fn lost_total(&self) -> u64 {
        self.lost
    }

    /// Bytes thought lost now.
    pub(super) const fn lost(&self) -> u64 {
        self.board.lost()
    }

    /// Nothing that was sent again is in flight.
    #[inline]
    pub(super) const fn has_no_copies(&self) -> bool {
        self.board.resent() == 0
    }

    /// A duplicate ACK arrived (where SACK is off).
    pub(super) fn count_duplicate(&mut self) {
        self.dup_acks = (self.dup_acks + 1).min(self.board.segments());
    }

    /// As many duplicate ACKs as mean a loss have arrived.
    pub(super) const fn duplicates_mean_loss(&self) -> bool {
        self.dup_acks >= DUP_THRESHOLD
    }

    /// Marks the oldest segment where it was not; returns the bytes newly lost. So do the others of these.
    pub(super) fn lose_oldest(&mut self) -> u64 {
        let head = self.board.head();
        if self.board.is_empty() || self.board.is_lost(head) {
            return 0;
        }
        let lost = self.board.mark_lost(head);
        self.count(lost)
    }

    /// Marks what lies below three `SACKed` segments.
    pub(super) fn lose_below_sacks(&mut self) -> u64 {
        let lost = self.board.mark_below_sacked(DUP_THRESHOLD);
        self.count(lost)
    }

    /// The last ACK moved what RACK goes by.
    pub(super) const fn has_news_of_time(&self) -> bool {
        self.rack.advanced
    }

    /// Marks what was sent long enough before the newest delivered segment. The second value: when to look again.
    pub(super) fn lose_by_time(
        &mut self,
        now: Instant,
        rtt: &Rtt,
        recovering: bool,
    ) -> (u64, Instant) {
        let view = View {
            now,
            srtt: rtt.srtt(),
            min_rtt: rtt.min(),
            recovering,
            dup_threshold: self.board.sacked() >= DUP_THRESHOLD * u64::from(self.mss),
        };
        let (lost, again) = self.rack.detect(&mut self.board, &view);
        (self.count(lost), again.map_or(Instant::MAX, |d| now + d))
    }

    /// Marks what a retransmission timeout says is lost.
    pub(super) fn lose_by_timeout(&mut self, now: Instant) -> u64 {
        if self.board.is_sacked(self.board.head()) {
            // The receiver dropped what it had SACKed (RFC 2018, 8).
            self.board.forget_sacks();
        }
        let lost = if self.detection() == Detection::Time {
            self.rack.timed_out(&mut self.board, now)
        } else {
            self.board.mark_all_lost()
        };
        self.dup_acks = 0;
        self.count(lost)
    }

    const fn count(&mut self, lost: u64) -> u64 {
        self.lost += lost;
        lost
    }

    /// Takes back that anything is lost.
    pub(super) fn forget_losses(&mut self) {
        self.lost -= self.board.lost().min(self.lost);
        self.board.forget_losses();
        self.rack.rewind();
    }

    /// A recovery ended.
    pub(super) fn recovered(&mut self) {
        self.rack.recovered();
    }

    /// No duplicate ACK so far counts any more.
    pub(super) const fn forget_duplicates(&mut self) {
        self.dup_acks = 0;
    }

    /// The path reorders.
    pub(super) const fn saw_reordering(&mut self) {
        self.rack.reordered = true;
    }

    /// A DSACK: something was sent without need (RFC 2883).
    pub(super) const fn on_dsack(&mut self) {
        self.rack.dsack = true;
        self.rack.reordered = true;
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::SeqNum;

    use super::*;

    /// RFC 8985, 6.2, step 2: an ACK whose echo is older than the retransmission is for the original, and its time says nothing
    /// of when the retransmission arrived.
    #[test]
    fn an_echo_from_before_a_retransmission_says_nothing_of_its_time() {
        let at = Instant::from_millis;
        let ms = Duration::from_millis;
        let told = |echo| {
            let cfg = Config::default();
            let mut r = Reliability::new(&cfg);
            r.push(at(100), 1448, false);
            r.push(at(100), 1448, false);
            assert_eq!(r.lose_oldest(), 1448);
            r.resend(at(400), 0);
            let mut rtt = Rtt::new(cfg.initial_rto, cfg.min_rto, cfg.max_rto);
            rtt.sample(ms(40), ms(40), 0, 0);
            // Late enough to answer the retransmission too, by the least RTT.
            let arrival = Arrival {
                una: 0,
                ack: 1448,
                moved: false,
                prior_in_flight: 2896,
                echo,
            };
            r.acknowledge(at(450), &arrival, &[], SeqNum(0), 2896, &rtt);
            r.has_news_of_time()
        };
        assert!(!told(Some(100)));
        assert!(!told(Some(399)));
        assert!(told(Some(400)));
        assert!(told(None), "without time stamps the least RTT decides");
    }
}
