//! One sender over one FIFO link whose rate, buffer, losses and ACK batches a test may change on the way: each packet is
//! acknowledged, selectively and in order, and three later deliveries mean a loss.

use std::collections::VecDeque;

use slackwater_control::{
    Ack, Cause, CongestionEvent, Controller, PathView, RateSample, Recovery, Sent,
};
use slackwater_core::{Bytes, Duration, Instant};

pub(crate) const MSS: u64 = 1448;

#[derive(Clone, Copy)]
struct Tx {
    sent: Instant,
    ack_at: Option<Instant>,
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    app_limited: bool,
}

/// The link and the application; a test may set each field at any time.
pub(crate) struct Wire<C> {
    pub(crate) c: C,
    pub(crate) now: Instant,
    /// Payload bits per second.
    pub(crate) rate: f64,
    pub(crate) rtt: Duration,
    /// Bytes that may wait.
    pub(crate) buffer: f64,
    /// One packet in so many is lost at random; zero for none.
    pub(crate) lose_one_in: u64,
    /// ACKs come in batches this far apart.
    pub(crate) batch: Duration,
    /// Payload bits per second of the application; `None` for as much as may leave.
    pub(crate) app: Option<f64>,
    /// A token bucket of so many bytes per second and of so many bytes drops what exceeds it.
    pub(crate) policer: Option<(f64, f64)>,
    tokens: (Instant, f64),
    free_at: Instant,
    txs: VecDeque<Tx>,
    acks: VecDeque<(Instant, u64)>,
    first: u64,
    pub(crate) in_flight: u64,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) sent: u64,
    delivered_at: Instant,
    first_sent: Instant,
    app_limited_until: u64,
    paced_at: Instant,
    app_at: Instant,
    cwnd_limited: bool,
    was_limited: bool,
    round_end: u64,
    recovery: Recovery,
    high: u64,
    path: PathView,
    last_ack: Instant,
    noise: u64,
    pub(crate) timeouts: u64,
}

impl<C: Controller> Wire<C> {
    pub(crate) fn new(c: C, mbps: f64, rtt_ms: u64, buffer: f64) -> Self {
        let rtt = Duration::from_millis(rtt_ms);
        let mut path = PathView::default();
        path.mss = MSS as u32;
        path.wire_mss = MSS as u32;
        path.srtt = rtt;
        path.min_rtt = rtt;
        let now = Instant::from_millis(1);
        Self {
            c,
            now,
            rate: mbps * 1e6,
            rtt,
            buffer,
            lose_one_in: 0,
            batch: Duration::ZERO,
            app: None,
            policer: None,
            tokens: (now, f64::INFINITY),
            free_at: now,
            txs: VecDeque::new(),
            acks: VecDeque::new(),
            first: 0,
            in_flight: 0,
            delivered: 0,
            lost: 0,
            sent: 0,
            delivered_at: now,
            first_sent: now,
            app_limited_until: 0,
            paced_at: now,
            app_at: now,
            cwnd_limited: false,
            was_limited: false,
            round_end: 0,
            recovery: Recovery::Open,
            high: 0,
            path,
            last_ack: now,
            noise: 1,
            timeouts: 0,
        }
    }

    pub(crate) fn bdp(&self) -> f64 {
        self.rate / 8.0 * self.rtt.as_secs_f64()
    }

    /// A named internal.
    /// Smoothed RTT, seconds.
    pub(crate) fn srtt(&self) -> f64 {
        self.path.srtt.as_secs_f64()
    }

    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        let mut out = Vec::new();
        self.c.snapshot(&mut out);
        out.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    pub(crate) fn mode(&self) -> usize {
        self.get("mode").expect("a mode") as usize
    }

    fn window(&self) -> u64 {
        self.c.intent().window.expect("a window").0
    }

    /// When the next packet may leave, and whether the application held it back.
    fn next_send(&mut self) -> Instant {
        if self.in_flight + MSS > self.window() {
            self.was_limited = true;
            return Instant::MAX;
        }
        let at = self.paced_at.max(self.now);
        if self.app.is_some() && self.app_at > at {
            self.app_limited_until = (self.delivered + self.in_flight).max(1);
            self.app_at
        } else {
            at
        }
    }

    fn drops(&mut self) -> bool {
        self.noise = self
            .noise
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        if self.lose_one_in > 0 && (self.noise >> 33).is_multiple_of(self.lose_one_in) {
            return true;
        }
        if let Some((rate, depth)) = self.policer {
            let (at, had) = self.tokens;
            let has = (had + rate * self.now.since(at).as_secs_f64()).min(depth);
            let short = has < MSS as f64;
            self.tokens = (self.now, if short { has } else { has - MSS as f64 });
            if short {
                return true;
            }
        }
        self.free_at.since(self.now).as_secs_f64() * self.rate / 8.0 > self.buffer
    }

    fn send(&mut self) {
        let idle = self.in_flight == 0;
        if idle {
            self.first_sent = self.now;
            self.delivered_at = self.now;
        }
        let app_limited = self.app_limited_until > 0;
        let ack_at = if self.drops() {
            None
        } else {
            let serial = Duration::from_secs_f64(MSS as f64 * 8.0 / self.rate);
            self.free_at = self.free_at.max(self.now) + serial;
            let at = (self.free_at + self.rtt).as_nanos();
            let batch = self.batch.as_nanos().max(1);
            let at = Instant::from_nanos(at.div_ceil(batch) * batch);
            // In order, also where the path just became shorter.
            let at = self.acks.back().map_or(at, |(last, _)| at.max(*last));
            self.acks
                .push_back((at, self.first + self.txs.len() as u64));
            Some(at)
        };
        self.txs.push_back(Tx {
            sent: self.now,
            ack_at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited,
        });
        self.sent += MSS;
        self.in_flight += MSS;
        self.path.in_flight = Bytes(self.in_flight);
        let mut sent = Sent::default();
        sent.bytes = Bytes(MSS);
        sent.after_idle = idle && app_limited;
        let now = self.now;
        self.c.on_sent(now, &self.path, &sent);
        let gap = |bps: f64| Duration::from_secs_f64(MSS as f64 * 8.0 / bps);
        let pacing = self.c.intent().pacing.expect("a rate").as_bps() as f64;
        self.paced_at = self.paced_at.max(self.now) + gap(pacing);
        if let Some(app) = self.app {
            self.app_at = self.app_at.max(self.now) + gap(app);
        }
        self.cwnd_limited |= self.was_limited;
    }

    /// Takes out of flight what was lost below `index`.
    fn lose_below(&mut self, index: u64) -> u64 {
        let mut lost = 0;
        let count = index.saturating_sub(self.first).min(self.txs.len() as u64);
        for _ in 0..count {
            let tx = self.txs.pop_front().expect("counted");
            self.first += 1;
            if tx.ack_at.is_none() {
                lost += MSS;
            }
        }
        self.in_flight -= lost;
        self.lost += lost;
        self.path.in_flight = Bytes(self.in_flight);
        lost
    }

    fn receive(&mut self) {
        let mut ack = Ack::default();
        ack.prior_in_flight = Bytes(self.in_flight);
        let mut newest = None;
        // A batch is one ACK.
        while let Some(&(at, index)) = self.acks.front().filter(|(at, _)| *at <= self.now) {
            let _ = at;
            self.acks.pop_front();
            let tx = self.txs[(index - self.first) as usize];
            newest = Some((index, tx));
            self.in_flight -= MSS;
            self.delivered += MSS;
            ack.newly_acked += Bytes(MSS);
        }
        let Some((index, tx)) = newest else { return };
        self.delivered_at = self.now;
        self.first_sent = tx.sent;
        self.last_ack = self.now;
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let rtt = self.now.since(tx.sent);
        self.path.srtt = Duration::from_nanos((self.path.srtt.as_nanos() * 7 + rtt.as_nanos()) / 8);
        self.path.min_rtt = self.path.min_rtt.min(rtt);
        self.path.in_flight = Bytes(self.in_flight);
        let lost = self.lose_below(index.saturating_sub(2));
        if self.recovery != Recovery::Open && index >= self.high {
            self.recovery = Recovery::Open;
            self.c.on_recovered(self.now, &self.path);
        }
        if lost > 0 && self.recovery == Recovery::Open {
            self.recovery = Recovery::Fast;
            self.high = self.first + self.txs.len() as u64;
            let event =
                CongestionEvent::new(Cause::Loss, Bytes(lost), ack.prior_in_flight, self.sent);
            self.c.on_congestion(self.now, &self.path, &event);
        }
        let mut rate = RateSample::default();
        rate.delivered = Bytes(self.delivered - tx.delivered);
        rate.interval = tx
            .sent
            .since(tx.first_sent)
            .max(self.now.since(tx.delivered_at));
        rate.prior_delivered = Bytes(tx.delivered);
        rate.app_limited = tx.app_limited;
        ack.cumulative = ack.newly_acked;
        ack.newly_lost = Bytes(lost);
        ack.rtt = Some(rtt);
        ack.rate = Some(rate);
        ack.delivered = Bytes(self.delivered);
        ack.lost = Bytes(self.lost);
        ack.app_limited = self.app_limited_until > 0;
        ack.cwnd_limited = self.cwnd_limited || self.was_limited;
        ack.round_start = tx.delivered >= self.round_end;
        if ack.round_start {
            self.round_end = self.delivered;
            self.cwnd_limited = false;
        }
        self.was_limited = false;
        ack.recovery = self.recovery;
        ack.una = self.delivered;
        ack.next = self.sent;
        self.c.on_ack(self.now, &self.path, &ack);
    }

    fn time_out(&mut self) {
        self.timeouts += 1;
        let prior = self.in_flight;
        let lost = self.lose_below(self.first + self.txs.len() as u64);
        self.recovery = Recovery::Timeout;
        self.high = self.first;
        self.last_ack = self.now;
        let event = CongestionEvent::new(Cause::Timeout, Bytes(lost), Bytes(prior), self.sent);
        self.c.on_congestion(self.now, &self.path, &event);
    }

    /// The last losses were none: the originals came late.
    pub(crate) fn undo(&mut self) {
        self.recovery = Recovery::Open;
        self.c.on_undo(self.now, &self.path);
        self.c.on_recovered(self.now, &self.path);
    }

    /// The next event. Returns false where nothing happens before `until`.
    fn step(&mut self, until: Instant) -> bool {
        let send = self.next_send();
        let ack = self.acks.front().map_or(Instant::MAX, |a| a.0);
        let rto = if self.in_flight > 0 && ack == Instant::MAX {
            self.last_ack + self.path.srtt + Duration::from_millis(200)
        } else {
            Instant::MAX
        };
        let next = send.min(ack).min(rto);
        if next > until {
            self.now = until;
            return false;
        }
        self.now = next.max(self.now);
        if ack <= send && ack <= rto {
            self.receive();
        } else if send <= rto {
            self.send();
        } else {
            self.time_out();
        }
        true
    }

    pub(crate) fn run(&mut self, ms: u64) {
        let until = self.now + Duration::from_millis(ms);
        while self.step(until) {}
    }

    /// Runs until `done`, and panics after `ms`. Returns milliseconds.
    pub(crate) fn until(
        &mut self,
        ms: u64,
        what: &str,
        mut done: impl FnMut(&Self) -> bool,
    ) -> u64 {
        let began = self.now;
        let end = began + Duration::from_millis(ms);
        while !done(self) {
            assert!(
                self.step(end),
                "{what}: not within {ms} ms, mode {}",
                self.mode()
            );
        }
        self.now.since(began).as_millis()
    }
}
