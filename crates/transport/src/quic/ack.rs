//! What an ACK does at the sender: the records, RTT, ECN, losses (RFC 9002, 6 and 7), the controller.

use slackwater_control::{Ack, Cause, CongestionEvent, Controller, EcnDelta, Recovery};
use slackwater_core::{Bytes, Duration, Instant, Packet, QuicAck};

use super::sender::{Sender, flag};
use super::{DELAY_UNIT, full};
use crate::tcp::rate_sample::Newest;
use crate::tcp::scoreboard::Segment;

/// `kPersistentCongestionThreshold` (RFC 9002, 7.6.1).
const PERSISTENT: u64 = 3;

/// What an ACK settled.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    newest: Newest,
    /// Stream bytes and ack-eliciting packets newly acknowledged, and those of them that left ECN-capable.
    bytes: u64,
    packets: u32,
    ect: u32,
    /// When the largest packet that the ACK names left.
    sent: Instant,
}

impl News {
    #[inline]
    fn see(&mut self, s: &Segment) {
        self.bytes += u64::from(s.len);
        self.packets += 1;
        self.ect += u32::from(s.flags & flag::ECT != 0);
    }
}

/// What was declared lost at one instant.
#[derive(Clone, Copy, Debug, Default)]
struct Lost {
    bytes: u64,
    packets: u64,
    /// The longest time between the first and the last of a row without an acknowledged packet between them.
    span: Duration,
    /// When the last one left.
    last: Instant,
}

impl Sender {
    pub(super) fn on_ack(&mut self, now: Instant, q: &QuicAck, out: &mut Vec<Packet>) {
        let next = self.head + self.ring.len() as u64;
        let Some(newest) = q.ranges().first() else {
            return;
        };
        let largest = full(next, newest.end).wrapping_sub(1);
        if largest >= next {
            // RFC 9000, 13.1: it acknowledges what was never sent.
            return;
        }
        self.confirmed = true;
        let prior = self.in_flight;
        let mut news = News::default();
        let first = full(next, newest.start);
        if first <= self.head {
            // Nearly every ACK: all up to the largest.
            for _ in self.head..=largest {
                let s = self.ring.pop_front().expect("it was sent");
                news.sent = s.sent;
                self.settle_record(&s, true, &mut news);
            }
            self.head = self.head.max(largest + 1);
            self.drop_settled();
        } else {
            self.scan(q, next, &mut news);
        }
        let advanced = self.largest_acked.is_none_or(|l| largest > l);
        if advanced {
            self.largest_acked = Some(largest);
        }
        let mut sample = None;
        if news.packets > 0 {
            self.pto_count = 0;
            // RFC 9002, 5.1: the largest is new and something that asked for it is acknowledged.
            if advanced {
                let rtt = now.since(news.sent);
                let delay = Duration::from_nanos(u64::from(q.delay) * DELAY_UNIT);
                self.rtt.sample(rtt, delay.min(self.cfg.ack.delay));
                sample = Some(rtt);
            }
        }
        let ecn = self.count_ecn(q, &news, advanced);
        self.leave_recovery(now, &news);
        let lost = self.find_losses(now);
        self.judge(now, &lost, ecn, &news, prior);

        let (rate, round) = self
            .delivery
            .sample(now, news.bytes, &news.newest, self.rtt.min());
        let mut a = Ack::default();
        a.newly_acked = Bytes(news.bytes);
        a.cumulative = Bytes(news.bytes);
        a.newly_lost = Bytes(lost.bytes);
        a.prior_in_flight = Bytes(prior);
        a.rtt = sample;
        a.rate = rate;
        a.ecn = ecn;
        a.delivered = Bytes(self.delivery.delivered);
        a.lost = Bytes(self.lost_total);
        a.app_limited = self.delivery.is_limited();
        a.cwnd_limited = self.is_cwnd_limited();
        a.round_start = round;
        a.recovery = self.ca;
        a.una = self.settled_total;
        a.next = self.sent_total;
        let path = self.path();
        self.cc.on_ack(now, &path, &a);
        self.follow();
        self.arm_probe();
        self.transmit(now, out);
    }

    /// The fate of a record is known.
    #[inline]
    fn settle_record(&mut self, s: &Segment, acked: bool, news: &mut News) {
        if s.flags & flag::SETTLED != 0 {
            return;
        }
        let len = u64::from(s.len);
        self.in_flight -= len;
        self.settled_total += len;
        self.eliciting -= 1;
        if acked {
            news.see(s);
            // In the order of numbers, which is that of sending: the last one counts.
            news.newest = Newest::of(s);
            self.acked.take(s.pos, s.pos + len);
        }
    }

    /// Drops records from the front whose fate is known.
    #[inline]
    fn drop_settled(&mut self) {
        while self
            .ring
            .front()
            .is_some_and(|s| s.flags & flag::SETTLED != 0)
        {
            self.ring.pop_front();
            self.head += 1;
        }
    }

    /// An ACK with gaps.
    fn scan(&mut self, q: &QuicAck, next: u64, news: &mut News) {
        for block in q.ranges().iter().rev() {
            let start = full(next, block.start).max(self.head);
            let end = full(next, block.end).min(next);
            for n in start..end {
                let at = (n - self.head) as usize;
                let s = self.ring[at];
                news.sent = s.sent;
                self.settle_record(&s, true, news);
                self.ring[at].flags |= flag::SETTLED | flag::ACKED;
            }
        }
        self.drop_settled();
    }

    /// New counts (RFC 9000, 13.4.2.1): each packet that left capable must be counted, or ECN is off from here on.
    #[inline]
    fn count_ecn(&mut self, q: &QuicAck, news: &News, advanced: bool) -> EcnDelta {
        let e = &mut self.ecn;
        if e.failed || !advanced {
            return EcnDelta::default();
        }
        let (ect0, ect1, ce) = (q.ect0, q.ect1, q.ce);
        let delta = EcnDelta {
            ce: u32::from(ce.wrapping_sub(e.ce)),
            ect0: u32::from(ect0.wrapping_sub(e.ect0)),
            ect1: u32::from(ect1.wrapping_sub(e.ect1)),
        };
        (e.ect0, e.ect1, e.ce) = (ect0, ect1, ce);
        if delta.ce + delta.ect0 + delta.ect1 < news.ect {
            e.failed = true;
        }
        self.stats.ce_echoed += u64::from(delta.ce);
        delta
    }

    /// A packet sent after the congestion event arrived: it is over (RFC 9002, 7.3.2).
    #[inline]
    fn leave_recovery(&mut self, now: Instant, news: &News) {
        if self.ca != Recovery::Open
            && news.packets > 0
            && self.recovery_at.is_none_or(|at| news.sent > at)
        {
            self.ca = Recovery::Open;
            let path = self.path();
            self.cc.on_recovered(now, &path);
        }
    }

    /// Declares lost what is too far or too long behind the largest acknowledged packet (RFC 9002, 6.1), and sets the
    /// timer for what may become so.
    fn find_losses(&mut self, now: Instant) -> Lost {
        self.timers.loss = Instant::MAX;
        let mut lost = Lost::default();
        let Some(largest) = self.largest_acked.filter(|l| *l >= self.head) else {
            return lost;
        };
        let delay = self.rtt.loss_delay();
        let threshold = u64::from(self.cfg.packet_threshold);
        let mut row: Option<Instant> = None;
        for n in self.head..largest {
            let at = (n - self.head) as usize;
            let s = self.ring[at];
            if s.flags & flag::SETTLED != 0 {
                // A row of losses ends at what was acknowledged.
                row = row.filter(|_| s.flags & flag::ACKED == 0);
                continue;
            }
            let due = s.sent + delay;
            if n + threshold > largest && due > now {
                self.timers.loss = self.timers.loss.min(due);
                row = None;
                continue;
            }
            let first = *row.get_or_insert(s.sent);
            lost.span = lost.span.max(s.sent.since(first));
            lost.bytes += u64::from(s.len);
            lost.packets += 1;
            lost.last = s.sent;
            self.settle_record(&s, false, &mut News::default());
            self.ring[at].flags |= flag::SETTLED;
            let end = s.pos + u64::from(s.len);
            if s.len > 0 && !self.acked.has(s.pos, end) {
                self.resend.push_back((s.pos, s.len));
            }
        }
        if lost.packets > 0 {
            self.lost_total += lost.bytes;
            self.stats.lost += lost.packets;
            self.drop_settled();
        }
        lost
    }

    /// One congestion event per round (RFC 9002, 7.3.2), and the end of all that was believed where congestion persists
    /// (RFC 9002, 7.6).
    #[inline]
    fn judge(&mut self, now: Instant, lost: &Lost, ecn: EcnDelta, news: &News, prior: u64) {
        if lost.packets > 0 {
            // A small share of marks does not answer a loss (RFC 8257, 3.5; RFC 9331, 4.3).
            let share = self.ca == Recovery::Cwr && self.marking().is_proportional();
            let fresh = share || self.recovery_at.is_none_or(|at| lost.last > at);
            let pto = self.rtt.pto(self.cfg.ack.delay);
            if self.rtt.is_sampled() && lost.span > pto * PERSISTENT {
                self.stats.persistent += 1;
                self.enter(now, Recovery::Timeout, Cause::Timeout, lost.bytes, prior);
            } else if fresh {
                self.stats.recoveries += 1;
                self.enter(now, Recovery::Fast, Cause::Loss, lost.bytes, prior);
            }
        }
        if ecn.ce > 0 && self.recovery_at.is_none_or(|at| news.sent > at) {
            self.enter(now, Recovery::Cwr, Cause::Ecn, 0, prior);
        }
    }

    fn enter(&mut self, now: Instant, ca: Recovery, kind: Cause, lost: u64, prior: u64) {
        self.recovery_at = Some(now);
        self.ca = ca;
        let event = CongestionEvent::new(kind, Bytes(lost), Bytes(prior), self.sent_total);
        let path = self.path();
        self.cc.on_congestion(now, &path, &event);
        self.follow();
    }

    /// A packet became lost by time.
    pub(super) fn on_loss_timer(&mut self, now: Instant) {
        let prior = self.in_flight;
        let lost = self.find_losses(now);
        self.judge(now, &lost, EcnDelta::default(), &News::default(), prior);
        self.arm_probe();
    }
}
