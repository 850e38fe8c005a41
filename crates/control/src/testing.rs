//! A hand-cranked host for unit tests: it sends what the window allows and acknowledges on request.

use slackwater_core::{Bytes, Duration, Instant};

use crate::{
    Ack, Cause, CongestionEvent, Controller, EcnDelta, PathView, RateSample, Recovery, Sent,
};

/// Bytes of a segment.
pub(crate) const MSS: u64 = 1000;

/// A controller and the connection around it.
pub(crate) struct Feed<C> {
    pub(crate) c: C,
    pub(crate) now: Instant,
    pub(crate) path: PathView,
    pub(crate) una: u64,
    pub(crate) next: u64,
    pub(crate) recovery: Recovery,
    pub(crate) cwnd_limited: bool,
    pub(crate) app_limited: bool,
    pub(crate) lost: u64,
    /// Accurate ECN feedback, by which one packet in so many was marked (0: none); `None` for no feedback.
    pub(crate) ce_of: Option<u64>,
}

impl<C: Controller> Feed<C> {
    pub(crate) fn new(c: C) -> Self {
        let path = PathView {
            mss: MSS as u32,
            wire_mss: MSS as u32 + 52,
            ..PathView::default()
        };
        Self {
            c,
            now: Instant::from_millis(1000),
            path,
            una: 0,
            next: 0,
            recovery: Recovery::Open,
            cwnd_limited: true,
            app_limited: false,
            lost: 0,
            ce_of: None,
        }
    }

    pub(crate) fn cwnd(&self) -> u32 {
        (self.c.intent().window.expect("a window").0 / MSS) as u32
    }

    pub(crate) fn ssthresh(&self) -> Option<u32> {
        self.c.intent().ssthresh.map(|b| (b.0 / MSS) as u32)
    }

    /// Fills the window.
    pub(crate) fn send(&mut self) {
        let window = self.c.intent().window.expect("a window").0;
        while self.next + MSS <= self.una + window {
            self.next += MSS;
            self.path.in_flight = Bytes(self.next - self.una);
            let sent = Sent {
                bytes: Bytes(MSS),
                ..Sent::default()
            };
            self.c.on_sent(self.now, &self.path, &sent);
        }
    }

    /// One ACK for `segments` with an RTT sample of `rtt_ms`.
    pub(crate) fn ack(&mut self, segments: u64, rtt_ms: u64) {
        let rtt = Duration::from_millis(rtt_ms);
        let prior = self.next - self.una;
        let bytes = (segments * MSS).min(prior);
        let prior_delivered = Bytes(self.una.saturating_sub(prior));
        self.una += bytes;
        self.path.srtt = rtt;
        self.path.min_rtt = if self.path.min_rtt.is_zero() {
            rtt
        } else {
            self.path.min_rtt.min(rtt)
        };
        self.path.in_flight = Bytes(self.next - self.una);
        let ecn = self.ce_of.map_or_else(EcnDelta::default, |every| {
            let upto = |bytes: u64| (bytes / MSS).checked_div(every).unwrap_or(0);
            let ce = (upto(self.una) - upto(self.una - bytes)) as u32;
            EcnDelta {
                ce,
                ect1: (bytes / MSS) as u32 - ce,
                ect0: 0,
            }
        });
        let ack = Ack {
            ecn,
            newly_acked: Bytes(bytes),
            cumulative: Bytes(bytes),
            prior_in_flight: Bytes(prior),
            rtt: Some(rtt),
            rate: Some(RateSample {
                delivered: Bytes(prior),
                interval: rtt,
                prior_delivered,
                app_limited: self.app_limited,
                retransmitted: false,
            }),
            delivered: Bytes(self.una),
            lost: Bytes(self.lost),
            app_limited: self.app_limited,
            cwnd_limited: self.cwnd_limited,
            recovery: self.recovery,
            una: self.una,
            next: self.next,
            ..Ack::default()
        };
        self.c.on_ack(self.now, &self.path, &ack);
        self.send();
    }

    /// Acknowledges what is in flight now, a segment at a time over `rtt_ms`.
    pub(crate) fn round_at(&mut self, rtt_ms: u64) {
        self.send();
        let segments = (self.next - self.una) / MSS;
        self.segments_over(segments, rtt_ms, rtt_ms);
    }

    /// `n` ACKs of one segment over `span_ms`, each with an RTT of `rtt_ms`.
    pub(crate) fn segments_over(&mut self, n: u64, span_ms: u64, rtt_ms: u64) {
        self.send();
        for _ in 0..n {
            self.now += Duration::from_millis(span_ms) / n;
            self.ack(1, rtt_ms);
        }
    }

    fn congest(&mut self, kind: Cause) {
        let event = CongestionEvent::new(kind, Bytes(MSS), self.path.in_flight, self.next);
        self.lost += MSS;
        self.c.on_congestion(self.now, &self.path, &event);
    }

    /// A loss found by duplicates.
    pub(crate) fn lose(&mut self) {
        self.send();
        self.congest(Cause::Loss);
        self.recovery = Recovery::Fast;
    }

    /// A mark, the first of its round.
    pub(crate) fn mark(&mut self) {
        self.send();
        self.congest(Cause::Ecn);
        self.recovery = Recovery::Cwr;
    }

    /// A retransmission timeout.
    pub(crate) fn time_out(&mut self) {
        self.congest(Cause::Timeout);
        self.recovery = Recovery::Timeout;
    }

    /// Recovery ends; all that was in flight has arrived.
    pub(crate) fn recover(&mut self) {
        self.c.on_recovered(self.now, &self.path);
        self.recovery = Recovery::Open;
        self.una = self.next;
        self.path.in_flight = Bytes::ZERO;
    }

    /// The last reduction was spurious.
    pub(crate) fn undo(&mut self) {
        self.c.on_undo(self.now, &self.path);
        self.recovery = Recovery::Open;
    }
}
