//! A toy cell in steps of a millisecond: one RLC queue in front of a constant capacity, a wired hop before it where a
//! test asks for one, and an agent that knows the capacity exactly. Just enough to close XRC's loop.

use std::collections::VecDeque;

use slackwater_control::{
    Ack, AnyController, Cause, Config, CongestionEvent, Controller, Pacer, PathReport, PathView,
    Recovery, Sent, build,
};
use slackwater_core::{Bytes, Draw, Duration, Instant, Rate};

const MSS: u64 = 1448;
const WIRE: u64 = 1500;
/// From the sender to the queue, and from the radio back past the agent to the sender: 38 ms in all.
const FORWARD: u64 = 15;
const AIR: u64 = 8;
const BACK: u64 = 15;

/// What the agent gets wrong, and what befalls its reports.
#[derive(Clone, Copy)]
pub(crate) struct Agent {
    /// Reported over true rate.
    pub(crate) scale: f64,
    /// Share of ACKs that lose their report.
    pub(crate) loss: f64,
    /// Milliseconds by which a report is older than its ACK.
    pub(crate) delay: u64,
    /// No reports from then on, in milliseconds.
    pub(crate) until: u64,
    /// A report that takes the place of all others.
    pub(crate) forged: Option<PathReport>,
}

impl Agent {
    pub(crate) const EXACT: Self = Self {
        scale: 1.0,
        loss: 0.0,
        delay: 0,
        until: u64::MAX,
        forged: None,
    };
}

/// Drains `rate` from a queue of packets.
struct Hop {
    bps: u64,
    buffer: usize,
    queue: VecDeque<(usize, u64, u64)>,
    /// Bits that the capacity may move.
    credit: u64,
}

impl Hop {
    fn arrive(&mut self, now: u64, flow: usize, tx: u64) -> bool {
        let fits = self.queue.len() < self.buffer;
        if fits {
            self.queue.push_back((flow, tx, now));
        }
        fits
    }

    fn drain(&mut self) -> Vec<(usize, u64)> {
        self.credit += self.bps / 1000;
        let mut out = vec![];
        while !self.queue.is_empty() && self.credit >= WIRE * 8 {
            self.credit -= WIRE * 8;
            let (flow, tx, _) = self.queue.pop_front().expect("not empty");
            out.push((flow, tx));
        }
        if self.queue.is_empty() {
            self.credit = 0;
        }
        out
    }

    fn hol(&self, now: u64) -> u64 {
        self.queue.front().map_or(0, |&(_, _, at)| now - at)
    }
}

/// A sender. Packets have numbers in the order of sending; what a lost one carried goes into a new one.
pub(crate) struct Flow {
    pub(crate) c: AnyController,
    start: u64,
    pacer: Pacer,
    path: PathView,
    /// Sent, when, delivered or given up.
    out: VecDeque<(u64, u64, bool)>,
    next: u64,
    flight: u64,
    newest: u64,
    limited: bool,
    recovery: Recovery,
    high: u64,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    /// The mode of each round, in order, without repetition of what did not change.
    pub(crate) modes: Vec<(u64, u8)>,
    rounds: f64,
}

impl Flow {
    fn una(&self) -> u64 {
        self.out.front().map_or(self.next, |o| o.0)
    }

    pub(crate) fn value(&self, key: &str) -> f64 {
        let mut all = vec![];
        self.c.snapshot(&mut all);
        all.iter().find(|v| v.0 == key).expect("a key").1
    }

    pub(crate) fn cwnd(&self) -> f64 {
        self.value("cwnd")
    }

    fn send(&mut self, now: u64) -> Vec<u64> {
        let mut sent = vec![];
        let at = Instant::from_millis(now);
        let window = self.c.intent().window.expect("a window").0;
        self.limited = false;
        loop {
            if (self.flight + 1) * MSS > window {
                self.limited = true;
                break;
            }
            self.pacer.follow(&self.c.intent());
            if self.pacer.earliest_departure(at, Bytes(WIRE)) > at {
                break;
            }
            self.pacer.on_sent(at, Bytes(WIRE));
            self.out.push_back((self.next, now, false));
            sent.push(self.next);
            self.next += 1;
            self.flight += 1;
            self.path.in_flight = Bytes(self.flight * MSS);
            let mut s = Sent::default();
            s.bytes = Bytes(MSS);
            self.c.on_sent(at, &self.path, &s);
        }
        sent
    }

    fn ack(&mut self, now: u64, tx: u64, report: Option<PathReport>) {
        let at = Instant::from_millis(now);
        let first = self.una();
        let Some(o) = tx
            .checked_sub(first)
            .and_then(|i| self.out.get_mut(i as usize))
            .filter(|o| !o.2)
        else {
            return;
        };
        o.2 = true;
        let rtt = Duration::from_millis(now - o.1);
        self.delivered += 1;
        self.newest = self.newest.max(tx);
        let p = &mut self.path;
        let prior = p.in_flight;
        self.flight -= 1;
        p.in_flight = Bytes(self.flight * MSS);
        p.srtt = if p.srtt.is_zero() {
            rtt
        } else {
            (p.srtt * 7 + rtt) / 8
        };
        p.min_rtt = if p.min_rtt.is_zero() {
            rtt
        } else {
            p.min_rtt.min(rtt)
        };
        let mut lost = 0;
        for o in &mut self.out {
            if o.0 + 3 <= self.newest && !o.2 {
                o.2 = true;
                lost += 1;
            }
        }
        let worst = self.newest.saturating_sub(3);
        while self.out.front().is_some_and(|o| o.2) {
            self.out.pop_front();
        }
        let una = self.una();
        if self.recovery == Recovery::Fast && una >= self.high {
            self.recovery = Recovery::Open;
            self.c.on_recovered(at, &self.path);
        }
        if lost > 0 {
            self.flight -= lost;
            self.lost += lost;
            self.path.in_flight = Bytes(self.flight * MSS);
            if self.recovery == Recovery::Open || worst >= self.high {
                let flight = self.path.in_flight;
                let event =
                    CongestionEvent::new(Cause::Loss, Bytes(lost * MSS), flight, self.next * MSS);
                self.c.on_congestion(at, &self.path, &event);
                self.recovery = Recovery::Fast;
                self.high = self.next;
            }
        }
        if let Some(report) = report {
            self.c.on_report(at, &self.path, &report);
        }
        let mut ack = Ack::default();
        ack.newly_acked = Bytes(MSS);
        ack.cumulative = Bytes((una - first) * MSS);
        ack.newly_lost = Bytes(lost * MSS);
        ack.prior_in_flight = prior;
        ack.rtt = Some(rtt);
        ack.delivered = Bytes(self.delivered * MSS);
        ack.lost = Bytes(self.lost * MSS);
        ack.cwnd_limited = self.limited;
        ack.recovery = self.recovery;
        ack.una = una * MSS;
        ack.next = self.next * MSS;
        self.c.on_ack(at, &self.path, &ack);
    }

    fn note(&mut self, now: u64) {
        let mut all = vec![];
        self.c.snapshot(&mut all);
        let get = |key| all.iter().find(|v| v.0 == key).map(|v| v.1);
        if let (Some(rounds), Some(mode)) = (get("rounds"), get("mode"))
            && rounds > self.rounds
        {
            self.rounds = rounds;
            self.modes.push((now, mode as u8));
        }
    }
}

/// The cell, its senders and what is on the way.
pub(crate) struct Cell {
    radio: Hop,
    wired: Option<Hop>,
    agent: Agent,
    pub(crate) flows: Vec<Flow>,
    /// Packets and ACKs by the time at which they arrive.
    arrivals: VecDeque<(u64, usize, u64)>,
    at_agent: VecDeque<(u64, usize, u64)>,
    acks: VecDeque<(u64, usize, u64, Option<PathReport>)>,
    history: VecDeque<(u64, PathReport)>,
    now: u64,
    /// Head-of-line delay each millisecond, ms.
    pub(crate) hol: Vec<u64>,
    /// Age of the wired queue's oldest packet each millisecond, ms.
    pub(crate) wired_delay: Vec<u64>,
    pub(crate) served: u64,
}

impl Cell {
    /// 128 packets at `mbps`.
    pub(crate) fn new(mbps: u64, agent: Agent) -> Self {
        Self {
            radio: Hop {
                bps: mbps * 1_000_000,
                buffer: 128,
                queue: VecDeque::new(),
                credit: 0,
            },
            wired: None,
            agent,
            flows: vec![],
            arrivals: VecDeque::new(),
            at_agent: VecDeque::new(),
            acks: VecDeque::new(),
            history: VecDeque::new(),
            now: 0,
            hol: vec![],
            wired_delay: vec![],
            served: 0,
        }
    }

    /// A wired hop before the cell.
    pub(crate) fn wired(mut self, mbps: u64, buffer: usize) -> Self {
        self.wired = Some(Hop {
            bps: mbps * 1_000_000,
            buffer,
            queue: VecDeque::new(),
            credit: 0,
        });
        self
    }

    /// A bulk flow of `controller` from `start` ms on.
    pub(crate) fn flow(mut self, controller: &str, start: u64) -> Self {
        let cfg = Config::new(MSS as u32, Draw::new(1));
        let mut path = PathView::default();
        path.mss = MSS as u32;
        path.wire_mss = WIRE as u32;
        self.flows.push(Flow {
            c: build(controller, &cfg).expect("a controller"),
            start,
            pacer: Pacer::new(),
            path,
            out: VecDeque::new(),
            next: 0,
            flight: 0,
            newest: 0,
            limited: true,
            recovery: Recovery::Open,
            high: 0,
            delivered: 0,
            lost: 0,
            modes: vec![],
            rounds: 0.0,
        });
        self
    }

    pub(crate) fn capacity(&mut self, mbps: u64) {
        self.radio.bps = mbps * 1_000_000;
    }

    fn report(&mut self, i: usize, tx: u64) -> Option<PathReport> {
        let active = self.flows.iter().filter(|f| f.start <= self.now).count();
        let rate = Rate::from_bps(self.radio.bps / active as u64);
        let fresh = PathReport::Share {
            rate: rate.mul_f64(self.agent.scale),
            hol_delay: Duration::from_millis(self.radio.hol(self.now)),
            seq: self.now as u16,
            shared: active > 1,
        };
        self.history.push_back((self.now, fresh));
        while self
            .history
            .get(1)
            .is_some_and(|h| h.0 + self.agent.delay <= self.now)
        {
            self.history.pop_front();
        }
        let &(at, report) = self.history.front()?;
        let lost = Draw::new(7).fork(1, i as u64).uniform(tx) < self.agent.loss;
        let known = at + self.agent.delay <= self.now && self.now < self.agent.until;
        (known && !lost).then(|| self.agent.forged.unwrap_or(report))
    }

    /// A millisecond.
    pub(crate) fn step(&mut self) {
        let now = self.now;
        while let Some(&(at, i, tx, report)) = self.acks.front()
            && at <= now
        {
            self.acks.pop_front();
            self.flows[i].ack(now, tx, report);
        }
        for i in 0..self.flows.len() {
            if self.flows[i].start <= now {
                for tx in self.flows[i].send(now) {
                    self.arrivals.push_back((now + FORWARD, i, tx));
                }
                self.flows[i].note(now);
            }
        }
        while let Some(&(at, i, tx)) = self.arrivals.front()
            && at <= now
        {
            self.arrivals.pop_front();
            self.wired
                .as_mut()
                .unwrap_or(&mut self.radio)
                .arrive(now, i, tx);
        }
        if let Some(wired) = &mut self.wired {
            for (i, tx) in wired.drain() {
                self.radio.arrive(now, i, tx);
            }
            self.wired_delay.push(wired.hol(now));
        }
        for (i, tx) in self.radio.drain() {
            self.served += 1;
            self.at_agent.push_back((now + AIR, i, tx));
        }
        while let Some(&(at, i, tx)) = self.at_agent.front()
            && at <= now
        {
            self.at_agent.pop_front();
            let report = self.report(i, tx);
            self.acks.push_back((now + BACK, i, tx, report));
        }
        self.hol.push(self.radio.hol(now));
        self.now += 1;
    }

    /// Runs until `ms`; returns the share of `mbps` that the radio served meanwhile.
    pub(crate) fn run(&mut self, ms: u64) -> f64 {
        let (from, before) = (self.now, self.served);
        while self.now < ms {
            self.step();
        }
        let bits = (self.served - before) * WIRE * 8;
        bits as f64 * 1000.0 / ((ms - from) as f64 * self.radio.bps as f64)
    }
}

/// The part of `values` that is at most `bound`.
pub(crate) fn within(values: &[u64], bound: u64) -> f64 {
    values.iter().filter(|&&v| v <= bound).count() as f64 / values.len() as f64
}
