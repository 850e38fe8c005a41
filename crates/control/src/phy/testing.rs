//! A link with a queue and a radio's feed, by the millisecond, for tests of this module.

use std::collections::VecDeque;

use slackwater_core::{Bytes, Duration, Instant};

use slackwater_signal::Counters;

use crate::{
    Ack, Cause, CongestionEvent, Controller, PathReport, PathView, RateSample, Recovery, Sent,
};

pub(crate) const MSS: u64 = 1448;
pub(crate) const WIRE: u64 = 1500;

/// A packet: when it left, and what was delivered then.
#[derive(Clone, Copy, Debug)]
struct Packet {
    sent: u64,
    delivered: u64,
    delivered_at: u64,
}

/// A sender over a link that gives `slots(ms)` packets in each millisecond.
pub(crate) struct Link<C> {
    pub(crate) c: C,
    pub(crate) now: u64,
    slots: fn(u64) -> u64,
    /// One-way delay, ms.
    owd: u64,
    /// What the feed says, in permille of the truth; `None` is silence.
    pub(crate) feed: Option<u64>,
    /// Packets that the queue holds.
    pub(crate) buffer: usize,
    /// Bytes that found no room there.
    dropped: u64,
    /// Most packets per ms of a hop before the radio; `None` for no such hop.
    pub(crate) wired: Option<u64>,
    upstream: VecDeque<Packet>,
    queue: VecDeque<Packet>,
    acks: VecDeque<(u64, Packet)>,
    lost: VecDeque<u64>,
    reports: VecDeque<(u64, PathReport)>,
    /// Milliseconds between the radio's counters of the flow, which then take the place of its feed.
    pub(crate) counted: Option<u64>,
    /// By how much the counters' reports come late, by the number of the report; `None` for one that is lost.
    pub(crate) late: fn(u64) -> Option<u64>,
    counters: Counters,
    path: PathView,
    in_flight: u64,
    delivered: u64,
    delivered_at: u64,
    unreported_loss: u64,
    next_episode: u64,
    /// Queueing of each packet, ms.
    pub(crate) delays: Vec<u64>,
    pub(crate) served: u64,
    pub(crate) offered: u64,
}

impl<C: Controller> Link<C> {
    pub(crate) fn new(c: C, owd: u64, slots: fn(u64) -> u64) -> Self {
        let path = PathView {
            mss: MSS as u32,
            wire_mss: WIRE as u32,
            ..PathView::default()
        };
        Self {
            c,
            now: 0,
            slots,
            owd,
            feed: Some(1000),
            buffer: 16_000,
            dropped: 0,
            wired: None,
            upstream: VecDeque::new(),
            queue: VecDeque::new(),
            acks: VecDeque::new(),
            lost: VecDeque::new(),
            reports: VecDeque::new(),
            counted: None,
            late: |_| Some(0),
            counters: Counters::default(),
            path,
            in_flight: 0,
            delivered: 0,
            delivered_at: 0,
            unreported_loss: 0,
            next_episode: 0,
            delays: Vec::new(),
            served: 0,
            offered: 0,
        }
    }

    /// Forgets what was counted.
    pub(crate) fn forget(&mut self) {
        self.delays.clear();
        self.served = 0;
        self.offered = 0;
    }

    pub(crate) fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.step();
        }
    }

    pub(crate) fn utilisation(&self) -> f64 {
        self.served as f64 / self.offered.max(1) as f64
    }

    /// The `q` quantile of the queueing delay, ms.
    pub(crate) fn delay(&self, q: f64) -> u64 {
        let mut sorted = self.delays.clone();
        sorted.sort_unstable();
        sorted[((sorted.len() - 1) as f64 * q) as usize]
    }

    pub(crate) fn window(&self) -> u64 {
        self.c.intent().window.expect("a window").0 / MSS
    }

    /// One millisecond.
    pub(crate) fn step(&mut self) {
        let at = Instant::from_millis(self.now);
        while let Some(first) = self.reports.iter().position(|r| r.0 <= self.now) {
            let (_, report) = self.reports.remove(first).expect("seen");
            self.c.on_report(at, &self.path, &report);
        }
        while self.lost.front().is_some_and(|&t| t <= self.now) {
            self.lost.pop_front();
            self.in_flight -= MSS;
            self.unreported_loss += MSS;
            self.path.in_flight = Bytes(self.in_flight);
            if self.now >= self.next_episode {
                self.next_episode = self.now + self.path.srtt.as_millis().max(1);
                let event = CongestionEvent::new(Cause::Loss, Bytes(MSS), self.path.in_flight, 0);
                self.c.on_congestion(at, &self.path, &event);
                self.c.on_recovered(at, &self.path);
            }
        }
        while self.acks.front().is_some_and(|a| a.0 <= self.now) {
            let (_, packet) = self.acks.pop_front().expect("seen");
            self.ack(at, packet);
        }
        while self.c.next_timer().is_some_and(|t| t <= at) {
            self.c.on_timer(at + Duration::from_nanos(1), &self.path);
        }
        while self.in_flight + MSS <= self.c.intent().window.expect("a window").0 {
            self.in_flight += MSS;
            self.path.in_flight = Bytes(self.in_flight);
            let packet = Packet {
                sent: self.now,
                delivered: self.delivered,
                delivered_at: self.delivered_at,
            };
            self.upstream.push_back(packet);
            let sent = Sent {
                bytes: Bytes(MSS),
                ..Sent::default()
            };
            self.c.on_sent(at, &self.path, &sent);
        }
        let mut pass = self.wired.unwrap_or(u64::MAX);
        while pass > 0
            && self
                .upstream
                .front()
                .is_some_and(|p| p.sent + self.owd <= self.now)
        {
            pass -= 1;
            let packet = self.upstream.pop_front().expect("seen");
            if self.queue.len() < self.buffer {
                self.queue.push_back(packet);
            } else {
                self.counters.gone = self.counters.gone.wrapping_add(WIRE as u32);
                self.dropped += WIRE;
                self.counters.dropped = Counters::dropped_of(self.dropped);
                self.lost.push_back(self.now + self.owd);
            }
        }
        let slots = (self.slots)(self.now);
        self.offered += slots;
        for _ in 0..slots {
            let Some(packet) = self.queue.pop_front() else {
                break;
            };
            self.served += 1;
            self.counters.gone = self.counters.gone.wrapping_add(WIRE as u32);
            self.delays.push(self.now - packet.sent - self.owd);
            self.acks.push_back((self.now + self.owd, packet));
        }
        if let Some(permille) = self.feed {
            self.report((slots * WIRE * permille / 1000) as u32);
        }
        self.now += 1;
    }

    /// The radio offered `bytes` in this millisecond, as it says.
    fn report(&mut self, bytes: u32) {
        let Some(every) = self.counted else {
            let report = PathReport::TransportBlocks {
                bytes: Bytes(u64::from(bytes)),
                span: Duration::from_millis(1),
                end: self.now as u16,
            };
            self.reports.push_back((self.now + self.owd, report));
            return;
        };
        self.counters.offered = self.counters.offered.wrapping_add(bytes);
        if !self.now.is_multiple_of(every) {
            return;
        }
        let since = self.queue.front().map(|p| p.sent + self.owd);
        let counters = Counters {
            stamp: Counters::stamp_of(Instant::from_millis(self.now + 1)),
            backlog: (self.queue.len() as u64 * WIRE) as u32,
            hol: Duration::from_millis(since.map_or(0, |t| self.now - t)),
            active: 1,
            ..self.counters
        };
        if let Some(late) = (self.late)(self.now / every) {
            let report = PathReport::Counters(counters);
            self.reports.push_back((self.now + self.owd + late, report));
        }
    }

    fn ack(&mut self, at: Instant, packet: Packet) {
        let rtt = Duration::from_millis(self.now - packet.sent);
        let prior = self.in_flight;
        self.in_flight -= MSS;
        self.delivered += MSS;
        self.delivered_at = self.now;
        self.path.in_flight = Bytes(self.in_flight);
        self.path.srtt = if self.path.srtt.is_zero() {
            rtt
        } else {
            (self.path.srtt * 7 + rtt) / 8
        };
        self.path.min_rtt = if self.path.min_rtt.is_zero() {
            rtt
        } else {
            self.path.min_rtt.min(rtt)
        };
        let interval = self.now
            - packet
                .delivered_at
                .max(packet.sent.saturating_sub(self.owd * 2));
        let ack = Ack {
            newly_acked: Bytes(MSS),
            cumulative: Bytes(MSS),
            newly_lost: Bytes(core::mem::take(&mut self.unreported_loss)),
            prior_in_flight: Bytes(prior),
            rtt: Some(rtt),
            rate: Some(RateSample {
                delivered: Bytes(self.delivered - packet.delivered),
                interval: Duration::from_millis(interval),
                prior_delivered: Bytes(packet.delivered),
                ..RateSample::default()
            }),
            delivered: Bytes(self.delivered),
            cwnd_limited: true,
            recovery: Recovery::Open,
            una: self.delivered,
            next: self.delivered + self.in_flight,
            ..Ack::default()
        };
        self.c.on_ack(at, &self.path, &ack);
    }
}

/// 12 Mbit/s.
pub(crate) fn steady(_ms: u64) -> u64 {
    1
}

/// Between 0 and 24 Mbit/s, changing every 50 ms by a fixed pattern.
pub(crate) fn varying(ms: u64) -> u64 {
    let block = ms / 50;
    let rate = (block.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % 5;
    // Rates of 0.25 to 2 packets per ms.
    let per_4ms = [1, 2, 4, 6, 8][rate as usize];
    let (before, after) = (ms % 4 * per_4ms / 4, (ms % 4 + 1) * per_4ms / 4);
    after - before
}
