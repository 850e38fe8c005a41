//! Delivery-rate samples (draft-ietf-ccwg-bbr, 4.1; Linux `tcp_rate.c`).

use slackwater_control::RateSample;
use slackwater_core::{Bytes, Duration, Instant};

use super::scoreboard::Segment;

/// The connection's delivery counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivery {
    /// Bytes delivered so far, cumulatively or selectively.
    pub(crate) delivered: u64,
    /// When that count last moved.
    pub(crate) at: Instant,
    /// Send time of the packet that was sampled last, where the next send interval starts.
    first_sent: Instant,
    /// The application limited the sender until this many bytes are delivered; zero for not.
    limited: u64,
    /// A round ends when a packet sent after this count is delivered.
    round: u64,
    /// Time stamp of the last transmission.
    last: Instant,
}

/// What parts a retransmission from all that left before it in its instant.
const AFTER: Duration = Duration::from_nanos(1);

/// The newest packet that an ACK delivered, and what its record says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Newest {
    sent: Instant,
    end: u64,
    prior_delivered: u64,
    prior_at: Instant,
    send_interval: Duration,
    limited: bool,
    resent: bool,
    some: bool,
}

impl Newest {
    /// `s` is delivered by this ACK.
    #[inline]
    pub(crate) fn see(&mut self, s: &Segment) {
        // The newest by time of sending, then by position (Linux `tcp_skb_sent_after`).
        if self.some && (s.sent, s.end()) <= (self.sent, self.end) {
            return;
        }
        *self = Self::of(s);
    }

    /// `s` alone.
    #[inline]
    pub(crate) fn of(s: &Segment) -> Self {
        Self {
            sent: s.sent,
            end: s.end(),
            prior_delivered: s.delivered,
            prior_at: s.delivered_at,
            send_interval: s.sent.since(s.first_sent),
            limited: s.is(Segment::LIMITED),
            resent: s.is(Segment::RESENT),
            some: true,
        }
    }

    /// Delivered bytes when it was sent.
    #[inline]
    pub(crate) fn prior_delivered(&self) -> Option<u64> {
        self.some.then_some(self.prior_delivered)
    }
}

impl Delivery {
    /// Stamps a segment that leaves now; `idle` where nothing else is in flight.
    #[inline]
    pub(crate) fn stamp(&mut self, now: Instant, idle: bool, s: &mut Segment) {
        if idle {
            self.first_sent = now;
            self.at = now;
        }
        self.last = now.max(self.last);
        s.sent = self.last;
        s.first_sent = self.first_sent;
        s.delivered = self.delivered;
        s.delivered_at = self.at;
        if self.limited == 0 {
            s.flags &= !Segment::LIMITED;
        } else {
            s.flags |= Segment::LIMITED;
        }
    }

    /// Stamps a segment that leaves again. Several ACKs of one instant may have let new data out before. RACK tells equal times
    /// apart by position (RFC 8985, 6.2, step 2), so the new data would seem to have left later than this, and its delivery
    /// to show that the retransmission is lost; Linux's clock goes on from ACK to ACK.
    #[inline]
    pub(crate) fn stamp_again(&mut self, now: Instant, s: &mut Segment) {
        let after = now.max(self.last) + AFTER;
        self.stamp(after, false, s);
    }

    /// The application has nothing to send while the window has room.
    #[inline]
    pub(crate) fn limit(&mut self, in_flight: u64) {
        self.limited = (self.delivered + in_flight).max(1);
    }

    /// The application limits the sender.
    #[inline]
    pub(crate) const fn is_limited(&self) -> bool {
        self.limited != 0
    }

    /// Counts what an ACK delivered and makes the sample. The second value: a round began.
    #[inline]
    pub(crate) fn sample(
        &mut self,
        now: Instant,
        newly: u64,
        newest: &Newest,
        min_rtt: Duration,
    ) -> (Option<RateSample>, bool) {
        if newly > 0 {
            self.delivered += newly;
            self.at = now;
        }
        if self.limited != 0 && self.delivered > self.limited {
            self.limited = 0;
        }
        if !newest.some {
            return (None, false);
        }
        self.first_sent = newest.sent;
        let round = newest.prior_delivered >= self.round;
        if round {
            self.round = self.delivered;
        }
        // The longer of the two phases: an ACK or a send burst must not pass for a fast path.
        let interval = newest.send_interval.max(now.since(newest.prior_at));
        // A sample over less than the path's RTT comes from a spurious retransmission.
        if interval < min_rtt || interval.is_zero() {
            return (None, round);
        }
        let mut rate = RateSample::default();
        rate.delivered = Bytes(self.delivered - newest.prior_delivered);
        rate.interval = interval;
        rate.prior_delivered = Bytes(newest.prior_delivered);
        rate.app_limited = newest.limited;
        rate.retransmitted = newest.resent;
        (Some(rate), round)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_flow_is_measured_at_its_rate() {
        let ms = Instant::from_millis;
        let mut d = Delivery::default();
        let mut sent = Vec::new();
        for i in 0..100u64 {
            if i >= 40 {
                let mut newest = Newest::default();
                newest.see(&sent[i as usize - 40]);
                let (rate, _) = d.sample(ms(i), 1000, &newest, Duration::from_millis(40));
                let rate = rate.expect("a sample");
                if i >= 81 {
                    assert_eq!(rate.delivered, Bytes(40_000));
                    assert_eq!(rate.interval, Duration::from_millis(40));
                }
            }
            let mut s = Segment {
                pos: i * 1000,
                len: 1000,
                ..Segment::default()
            };
            d.stamp(ms(i), i == 0, &mut s);
            sent.push(s);
        }
    }

    #[test]
    fn app_limited_ends_when_the_bubble_is_delivered() {
        let mut d = Delivery::default();
        d.limit(2000);
        let mut s = Segment {
            len: 1000,
            ..Segment::default()
        };
        d.stamp(Instant::from_millis(1), true, &mut s);
        assert!(s.is(Segment::LIMITED));
        let mut newest = Newest::default();
        newest.see(&s);
        d.sample(Instant::from_millis(50), 2000, &newest, Duration::ZERO);
        assert!(d.is_limited(), "the bubble's end itself is still limited");
        d.sample(
            Instant::from_millis(51),
            1,
            &Newest::default(),
            Duration::ZERO,
        );
        assert!(!d.is_limited());
    }
}
