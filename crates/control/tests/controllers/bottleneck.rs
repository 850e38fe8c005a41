//! One sender, one drop-tail bottleneck, one receiver with delayed ACKs and SACK: just enough of a host to show what a
//! controller does.
//!
//! Losses are found by three later deliveries, recovery is proportional rate reduction (RFC 9937), a timeout is the
//! smoothed RTT plus 200 ms.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use slackwater_control::{
    Ack, Cause, CongestionEvent, Controller, Pacer, PathView, RateSample, Recovery, RecoveryMode,
    Sent,
};
use slackwater_core::{Bytes, Draw, Duration, Instant};

pub(crate) const MSS: u64 = 1448;
pub(crate) const WIRE: u64 = 1500;

/// The path and the application.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    /// A packet leaves the queue each such time.
    pub(crate) slot: Duration,
    /// Propagation, both ways together.
    pub(crate) rtt: Duration,
    /// Packets that may wait.
    pub(crate) buffer: usize,
    /// The application writes a packet each such time; `None` for a bulk flow.
    pub(crate) app: Option<Duration>,
    /// From this time on propagation is that long.
    pub(crate) step: Option<(Instant, Duration)>,
    /// Once in a tenth of a second deliveries stall for up to this long and then come at once, as behind an emulator
    /// in user space on a busy machine.
    pub(crate) stall: Duration,
    /// Mean lateness of each delivery, which then waits for a whole millisecond; zero for none of both.
    pub(crate) jitter: Duration,
}

impl Path {
    /// 12 Mbit/s in slots of a millisecond, 40 ms, 128 packets.
    pub(crate) const KERNEL: Self = Self {
        slot: Duration::from_millis(1),
        rtt: Duration::from_millis(40),
        buffer: 128,
        app: None,
        step: None,
        stall: Duration::ZERO,
        jitter: Duration::ZERO,
    };
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Slot,
    Arrive(u64),
    DelayedAck(u64),
    Ack(u64),
    Send,
    Timeout(u64),
}

/// A transmission: segments may have several.
#[derive(Clone, Copy)]
struct Tx {
    segment: u64,
    at: Instant,
    delivered: u64,
    delivered_at: Instant,
    first_at: Instant,
    app_limited: bool,
    retransmission: bool,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Flying,
    Delivered,
    Lost,
}

/// What a run showed, a row per sampling period.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) at: Instant,
    pub(crate) cwnd: u64,
    pub(crate) srtt: Duration,
    pub(crate) recovery: Recovery,
}

pub(crate) struct Bottleneck<C> {
    pub(crate) c: C,
    path: Path,
    now: Instant,
    heap: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    order: u64,
    queue: VecDeque<u64>,
    slot_armed: bool,
    // Receiver.
    received: u64,
    beyond: BTreeSet<u64>,
    unacked: Vec<u64>,
    ack_timer: u64,
    acks: Vec<(u64, Vec<u64>)>,
    // Sender.
    txs: Vec<Tx>,
    oldest: usize,
    una: u64,
    next: u64,
    sacked: BTreeSet<u64>,
    resend: VecDeque<u64>,
    flight: u64,
    highest_delivered: usize,
    delivered: u64,
    delivered_at: Instant,
    first_at: Instant,
    app_limited_until: u64,
    lost: u64,
    view: PathView,
    rttvar: Duration,
    recovery: Recovery,
    high: u64,
    prr_delivered: u64,
    prr_out: u64,
    prr_flight: u64,
    prr_budget: u64,
    limited: bool,
    limited_now: bool,
    round_end: u64,
    pacer: Pacer,
    wake: Instant,
    timer: u64,
    deliveries: u64,
    last_delivery: [Instant; 2],
    pub(crate) drops: u64,
    pub(crate) timeouts: u64,
    pub(crate) rounds: u64,
}

impl<C: Controller> Bottleneck<C> {
    pub(crate) fn new(c: C, path: Path) -> Self {
        let mut view = PathView::default();
        view.srtt = path.rtt;
        view.min_rtt = path.rtt;
        view.mss = MSS as u32;
        view.wire_mss = WIRE as u32;
        let mut b = Self {
            c,
            path,
            now: Instant::from_millis(1),
            heap: BinaryHeap::new(),
            order: 0,
            queue: VecDeque::new(),
            slot_armed: false,
            received: 0,
            beyond: BTreeSet::new(),
            unacked: Vec::new(),
            ack_timer: 0,
            acks: Vec::new(),
            txs: Vec::new(),
            oldest: 0,
            una: 0,
            next: 0,
            sacked: BTreeSet::new(),
            resend: VecDeque::new(),
            flight: 0,
            highest_delivered: 0,
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_at: Instant::ZERO,
            app_limited_until: 0,
            lost: 0,
            view,
            rttvar: path.rtt / 2,
            recovery: Recovery::Open,
            high: 0,
            prr_delivered: 0,
            prr_out: 0,
            prr_flight: 0,
            prr_budget: 0,
            limited: true,
            limited_now: true,
            round_end: 0,
            pacer: Pacer::new(),
            wake: Instant::MAX,
            timer: 0,
            deliveries: 0,
            last_delivery: [Instant::ZERO; 2],
            drops: 0,
            timeouts: 0,
            rounds: 0,
        };
        b.push(b.now, Event::Send);
        b
    }

    fn push(&mut self, at: Instant, event: Event) {
        self.order += 1;
        self.heap.push(Reverse((at, self.order, event)));
    }

    fn half(&self) -> Duration {
        match self.path.step {
            Some((at, rtt)) if self.now >= at => rtt / 2,
            _ => self.path.rtt / 2,
        }
    }

    pub(crate) fn cwnd(&self) -> u64 {
        self.c.intent().window.map_or(0, |w| w.0 / MSS)
    }

    pub(crate) fn acked(&self) -> u64 {
        self.una
    }

    pub(crate) fn row(&self) -> Row {
        Row {
            at: self.now,
            cwnd: self.cwnd(),
            srtt: self.view.srtt,
            recovery: self.recovery,
        }
    }

    /// Runs until `end`; a row each `every`.
    pub(crate) fn run(&mut self, end: Instant, every: Duration) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut sample = self.now.round_up(every);
        while self.now < end {
            let Some(&Reverse((at, _, _))) = self.heap.peek() else {
                break;
            };
            while sample <= at.min(end) {
                let row = self.row();
                rows.push(Row { at: sample, ..row });
                sample += every;
            }
            if at > end {
                self.now = end;
                break;
            }
            self.step();
        }
        rows
    }

    /// Runs for `n` rounds; a row at the end of each.
    pub(crate) fn run_rounds(&mut self, n: u64) -> Vec<Row> {
        let mut rows = Vec::new();
        let last = self.rounds + n;
        while self.rounds < last
            && !self.heap.is_empty()
            && self.now < Instant::from_millis(600_000)
        {
            let before = self.rounds;
            self.step();
            if self.rounds > before {
                rows.push(self.row());
            }
        }
        rows
    }

    fn step(&mut self) {
        let Reverse((at, _, event)) = self.heap.pop().expect("an event is pending");
        self.now = at;
        match event {
            Event::Slot => self.slot(),
            Event::Arrive(tx) => self.arrive(tx),
            Event::DelayedAck(timer) => {
                if timer == self.ack_timer && !self.unacked.is_empty() {
                    self.emit_ack();
                }
            }
            Event::Ack(i) => self.on_ack(i as usize),
            Event::Send => {
                if self.wake <= self.now {
                    self.wake = Instant::MAX;
                }
                self.send();
            }
            Event::Timeout(timer) => {
                if timer == self.timer && self.flight > 0 {
                    self.time_out();
                }
            }
        }
        if let Some(at) = self.c.next_timer()
            && at <= self.now
        {
            self.c.on_timer(self.now, &self.view);
        }
    }

    fn slot(&mut self) {
        self.slot_armed = false;
        if let Some(tx) = self.queue.pop_front() {
            let at = self.late(0, self.now + self.half() + self.held());
            self.push(at, Event::Arrive(tx));
        }
        self.arm_slot();
    }

    /// When a delivery due `at` happens in direction `way`: late by an exponential time, at a whole millisecond, in
    /// order.
    fn late(&mut self, way: usize, at: Instant) -> Instant {
        if self.path.jitter.is_zero() {
            return at;
        }
        self.deliveries += 1;
        let u = Draw::new(5).uniform(self.deliveries);
        let late = at + self.path.jitter.mul_f64(-libm::log(1.0 - u));
        let late = late
            .round_up(Duration::from_millis(1))
            .max(self.last_delivery[way]);
        self.last_delivery[way] = late;
        late
    }

    /// What is left of a stall that the link is in.
    fn held(&self) -> Duration {
        const PERIOD: Duration = Duration::from_millis(100);
        let since = self.now.since(Instant::ZERO);
        let draw = Draw::new(99).fork(1, since / PERIOD);
        let start = PERIOD.mul_f64(draw.uniform(0) * 0.8);
        let end = start + self.path.stall.mul_f64(draw.uniform(1));
        let at = since % PERIOD;
        if at >= start {
            end.saturating_sub(at)
        } else {
            Duration::ZERO
        }
    }

    fn arm_slot(&mut self) {
        if !self.slot_armed && !self.queue.is_empty() {
            self.slot_armed = true;
            let next = (self.now + Duration::from_nanos(1)).round_up(self.path.slot);
            self.push(next, Event::Slot);
        }
    }

    fn arrive(&mut self, tx: u64) {
        let segment = self.txs[tx as usize].segment;
        let in_order = segment == self.received && self.beyond.is_empty();
        if segment == self.received {
            self.received += 1;
            while self.beyond.remove(&self.received) {
                self.received += 1;
            }
        } else if segment > self.received {
            self.beyond.insert(segment);
        }
        self.unacked.push(tx);
        if !in_order || self.unacked.len() >= 2 {
            self.emit_ack();
        } else {
            self.ack_timer += 1;
            let at = self.now + Duration::from_millis(40);
            self.push(at, Event::DelayedAck(self.ack_timer));
        }
    }

    fn emit_ack(&mut self) {
        self.ack_timer += 1;
        let txs = std::mem::take(&mut self.unacked);
        self.acks.push((self.received, txs));
        let at = self.late(1, self.now + self.half());
        self.push(at, Event::Ack(self.acks.len() as u64 - 1));
    }

    fn on_ack(&mut self, index: usize) {
        let (cumulative, txs) = std::mem::take(&mut self.acks[index]);
        let prior_flight = self.flight;
        let prior_una = self.una;
        let mut ack = Ack::default();
        let mut newest: Option<Tx> = None;
        let mut newly = 0;
        for tx in txs {
            let t = &mut self.txs[tx as usize];
            if t.state == State::Flying {
                self.flight -= 1;
            }
            t.state = State::Delivered;
            let t = *t;
            self.highest_delivered = self.highest_delivered.max(tx as usize);
            if t.segment < self.una || !self.sacked.insert(t.segment) {
                continue;
            }
            newly += 1;
            newest = newest.filter(|n| n.at > t.at).or(Some(t));
        }
        self.una = self.una.max(cumulative);
        self.sacked = self.sacked.split_off(&self.una);
        self.delivered += newly;
        if newly > 0 {
            self.delivered_at = self.now;
        }
        if let Some(t) = newest {
            if !t.retransmission {
                let rtt = self.now - t.at;
                ack.rtt = Some(rtt);
                self.smooth(rtt);
            }
            let send = t.at.since(t.first_at);
            let back = self.now.since(t.delivered_at);
            self.first_at = t.at;
            let interval = send.max(back);
            if interval >= self.view.min_rtt {
                let mut sample = RateSample::default();
                sample.delivered = Bytes((self.delivered - t.delivered) * MSS);
                sample.interval = interval;
                sample.prior_delivered = Bytes(t.delivered * MSS);
                sample.app_limited = t.app_limited;
                sample.retransmitted = t.retransmission;
                ack.rate = Some(sample);
            }
        }
        let fresh = self.find_losses();
        self.lost += fresh;
        if self.una >= self.round_end {
            self.round_end = self.next;
            self.rounds += 1;
            ack.round_start = true;
            self.limited = self.limited_now;
            self.limited_now = false;
        }
        self.view.in_flight = Bytes(self.flight * MSS);
        let in_episode = matches!(self.recovery, Recovery::Fast | Recovery::Timeout);
        if in_episode && self.una >= self.high {
            self.recovery = Recovery::Open;
            self.c.on_recovered(self.now, &self.view);
        }
        if fresh > 0 && self.recovery == Recovery::Open {
            self.recovery = Recovery::Fast;
            self.high = self.next;
            (self.prr_delivered, self.prr_out) = (0, 0);
            self.prr_flight = prior_flight;
            let flight = Bytes(self.flight * MSS);
            let event =
                CongestionEvent::new(Cause::Loss, Bytes(fresh * MSS), flight, self.next * MSS);
            self.c.on_congestion(self.now, &self.view, &event);
        }
        ack.newly_acked = Bytes(newly * MSS);
        ack.cumulative = Bytes((self.una - prior_una) * MSS);
        ack.newly_lost = Bytes(fresh * MSS);
        ack.prior_in_flight = Bytes(prior_flight * MSS);
        ack.delivered = Bytes(self.delivered * MSS);
        ack.lost = Bytes(self.lost * MSS);
        ack.app_limited = self.app_limited_until > self.delivered;
        ack.cwnd_limited = self.limited || self.limited_now || self.slow_start_room();
        ack.recovery = self.recovery;
        ack.una = self.una * MSS;
        ack.next = self.next * MSS;
        self.c.on_ack(self.now, &self.view, &ack);
        self.reduce(newly, fresh);
        self.arm_timeout();
        self.send();
    }

    /// Linux `tcp_is_cwnd_limited` in slow start: the window is less than twice what was in flight.
    fn slow_start_room(&self) -> bool {
        let intent = self.c.intent();
        let (Some(window), Some(threshold)) =
            (intent.window, intent.ssthresh.or(Some(Bytes(u64::MAX))))
        else {
            return false;
        };
        window < threshold && window.0 / MSS < 2 * self.flight
    }

    /// Proportional rate reduction (RFC 9937, 6).
    fn reduce(&mut self, newly: u64, fresh: u64) {
        if self.recovery != Recovery::Fast {
            return;
        }
        self.prr_delivered += newly;
        let threshold = self.cwnd();
        self.prr_budget = if self.flight > threshold {
            (self.prr_delivered * threshold)
                .div_ceil(self.prr_flight.max(1))
                .saturating_sub(self.prr_out)
        } else {
            let mut limit = self.prr_delivered.saturating_sub(self.prr_out).max(newly);
            if fresh == 0 {
                limit += 1;
            }
            limit.min(threshold - self.flight)
        };
        // The first retransmission leaves at once.
        if self.prr_out == 0 {
            self.prr_budget = self.prr_budget.max(1);
        }
    }

    fn smooth(&mut self, rtt: Duration) {
        // RFC 6298, 2.
        let v = &mut self.view;
        let off = v.srtt.max(rtt) - v.srtt.min(rtt);
        self.rttvar = (self.rttvar * 3 + off) / 4;
        v.srtt = (v.srtt * 7 + rtt) / 8;
        v.min_rtt = v.min_rtt.min(rtt);
    }

    fn find_losses(&mut self) -> u64 {
        let mut fresh = 0;
        while self.oldest < self.txs.len() && self.oldest + 3 <= self.highest_delivered {
            let t = &mut self.txs[self.oldest];
            if t.state == State::Flying {
                t.state = State::Lost;
                self.flight -= 1;
                if t.segment >= self.una && !self.sacked.contains(&t.segment) {
                    self.resend.push_back(t.segment);
                    fresh += 1;
                }
            }
            self.oldest += 1;
        }
        fresh
    }

    fn arm_timeout(&mut self) {
        self.timer += 1;
        let rto = self.view.srtt + (self.rttvar * 4).max(Duration::from_millis(200));
        self.push(self.now + rto, Event::Timeout(self.timer));
    }

    fn time_out(&mut self) {
        self.timeouts += 1;
        let flight = self.flight;
        for t in &mut self.txs[self.oldest..] {
            t.state = match t.state {
                State::Flying => State::Lost,
                other => other,
            };
        }
        self.oldest = self.txs.len();
        self.lost += flight;
        self.flight = 0;
        self.resend = (self.una..self.next)
            .filter(|s| !self.sacked.contains(s))
            .collect();
        self.recovery = Recovery::Timeout;
        self.high = self.next;
        let bytes = Bytes(flight * MSS);
        let event = CongestionEvent::new(Cause::Timeout, bytes, bytes, self.next * MSS);
        self.c.on_congestion(self.now, &self.view, &event);
        self.arm_timeout();
        self.send();
    }

    fn written(&self) -> u64 {
        self.path
            .app
            .map_or(u64::MAX, |every| self.now.since(Instant::ZERO) / every)
    }

    fn send(&mut self) {
        loop {
            let intent = self.c.intent();
            self.pacer.follow(&intent);
            let window = intent.window.map_or(u64::MAX, |w| w.0 / MSS);
            let prr = self.recovery == Recovery::Fast && intent.recovery == RecoveryMode::Prr;
            let room = if prr {
                self.prr_budget > 0
            } else {
                self.flight < window
            };
            if !room {
                self.limited_now = true;
                return;
            }
            let segment = match self.resend.front() {
                Some(&s) if s < self.una || self.sacked.contains(&s) => {
                    self.resend.pop_front();
                    continue;
                }
                Some(&s) => s,
                None if self.next < self.written() => self.next,
                None => {
                    self.app_limited_until = self.delivered + self.flight.max(1);
                    let every = self.path.app.expect("a bulk flow always has data");
                    let at = (self.now + Duration::from_nanos(1)).round_up(every);
                    self.wake_at(at);
                    return;
                }
            };
            let at = self.pacer.earliest_departure(self.now, Bytes(WIRE));
            if at > self.now {
                self.wake_at(at);
                return;
            }
            self.transmit(segment);
        }
    }

    fn wake_at(&mut self, at: Instant) {
        if at < self.wake {
            self.wake = at;
            self.push(at, Event::Send);
        }
    }

    fn transmit(&mut self, segment: u64) {
        let retransmission = segment < self.next;
        if retransmission {
            self.resend.pop_front();
        } else {
            self.next += 1;
        }
        if self.recovery == Recovery::Fast {
            self.prr_out += 1;
            self.prr_budget = self.prr_budget.saturating_sub(1);
        }
        if self.flight == 0 {
            self.first_at = self.now;
            self.delivered_at = self.now;
        }
        self.txs.push(Tx {
            segment,
            at: self.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_at: self.first_at,
            app_limited: self.app_limited_until > self.delivered,
            retransmission,
            state: State::Flying,
        });
        let after_idle = self.flight == 0 && self.delivered > 0;
        self.flight += 1;
        self.view.in_flight = Bytes(self.flight * MSS);
        let mut sent = Sent::default();
        sent.bytes = Bytes(MSS);
        sent.retransmission = retransmission;
        sent.after_idle = after_idle;
        self.c.on_sent(self.now, &self.view, &sent);
        self.pacer.on_sent(self.now, Bytes(WIRE));
        if self.timer == 0 {
            self.arm_timeout();
        }
        if self.queue.len() >= self.path.buffer {
            self.drops += 1;
            return;
        }
        self.queue.push_back(self.txs.len() as u64 - 1);
        self.arm_slot();
    }
}
