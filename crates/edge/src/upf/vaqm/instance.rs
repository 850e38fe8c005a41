//! One bottleneck: its flows, its model, its queues, and what lets packets out of them.

mod bypass;
mod down;
mod restraint;
mod signals;
mod up;
mod variant;
mod victim;

use std::collections::{BTreeMap, VecDeque};

use slackwater_core::record::DropReason;
use slackwater_core::{
    Bytes, Direction, Duration, FlowId, Instant, PacketView, Qfi, Rate, TcpHeader, UeId,
};
use slackwater_queue::{Outcome, PacketMeta, Turns, Verdict as LawVerdict, admit};

use super::bucket::Bucket;
use super::config::{Mode, VaqmConfig};
use super::direct::Direct;
use super::flow::{Flows, Observer};
use super::modes::{Law, Limit, Offer, Sight, Valve};
use super::path::{MTU, PathModel};
use super::snapshot::{Snapshot, State, VaqmStats};
use super::uplink::Uplink;
use crate::upf::Delays;
use crate::upf::passive::{RateMeter, WindowedMax};

/// Over such a time it is seen whether acknowledgments are visible.
const SHARE_SPAN: Duration = Duration::from_millis(500);
/// How often flows without traffic are looked for.
const SWEEP: Duration = Duration::from_secs(10);
/// The window of the rate of what leaves.
const EGRESS_SPAN: Duration = Duration::from_millis(100);
/// The least span that such a rate is taken over.
const LEAST_SPAN: Duration = Duration::from_millis(20);

/// What an instance shares with the others.
pub(super) struct Shared<'a, P> {
    pub(super) config: &'a VaqmConfig,
    /// Chance of a mark by flow as reports name it, and when it was reported.
    pub(super) congestion: &'a BTreeMap<FlowId, (Instant, u16)>,
    pub(super) ready: &'a mut VecDeque<(Direction, P)>,
    pub(super) dropped: &'a mut VecDeque<(P, DropReason)>,
    /// Bytes that wait in all instances.
    pub(super) held: &'a mut u64,
    pub(super) stats: &'a mut VaqmStats,
    pub(super) round_trips: &'a mut Delays,
}

/// Whether a packet may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Open,
    /// As much is in flight as may be: an ACK opens it.
    Flight,
    Until(Instant),
}

/// Bytes that left, in spans, and those of them whose acknowledgment is visible.
#[derive(Clone, Copy, Debug)]
struct Visibility {
    since: Instant,
    total: u64,
    measured: u64,
    hidden: bool,
}

impl Visibility {
    fn add(&mut self, now: Instant, len: u64, measured: bool) {
        if now.since(self.since) >= SHARE_SPAN {
            if self.total > 0 {
                self.hidden = self.measured * 5 < self.total;
            }
            self.since = now;
            self.total = 0;
            self.measured = 0;
        }
        self.total += len;
        self.measured += if measured { len } else { 0 };
    }
}

/// What came of letting a packet out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outlet {
    /// Nothing waits.
    Empty,
    /// Its law dropped it.
    Dropped,
    /// It left.
    Left,
}

/// In an order that lays together what a packet uses, what few or none use last: with thousands of sessions each line is
/// fetched anew for a packet.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Instance<P> {
    /// Whose turn it is among the flows that wait.
    fair: Turns,
    flight: u64,
    last_active: Instant,
    evaluated: Instant,
    flows: Flows<P>,
    limit: Limit,
    /// The session's AMBR or the flow's MBR.
    session: Bucket,
    /// Paces what the valve lets out.
    pace: Bucket,
    last_l4s: Option<Instant>,
    last_classic: Option<Instant>,
    /// When a packet last left of a flow that [`variant::needs_a_queue`].
    last_silent: Option<Instant>,
    /// When a packet last left whose flight is not counted.
    last_uncounted: Option<Instant>,
    visibility: Visibility,
    /// Till when flows shall have queues of their own.
    isolate_until: Instant,
    empty_since: Instant,
    swept: Instant,
    /// Where the function keeps its parameters.
    pub(super) config: u32,
    unresponsive: u32,
    /// The rate of what leaves matters: with acknowledgments visible it does not, and a packet touches less memory.
    counts_egress: bool,
    after_idle: bool,
    /// The direct variant met a flow that does not answer: the window takes over.
    direct_failed: bool,
    /// [`Mode::Auto`]: flows have queues of their own here, as in [`Mode::Window`].
    isolates: bool,
    delivered_rate: Rate,
    guaranteed: Rate,
    maximum: Rate,
    last_ack: Instant,
    /// A packet was last let out, or the gate was last found shut, with no ACK since.
    last_push: Instant,
    model: PathModel,
    valve: Valve,
    direct: Direct,
    delivered_max: WindowedMax,
    egress: RateMeter,
    /// What left whose flight is not counted: all but TCP.
    uncounted: RateMeter,
    ingress: RateMeter,
    delivered: RateMeter,
    uplink: Uplink,
    pub(super) ue: UeId,
    pub(super) gbr_flow: Option<Qfi>,
}

impl<P: PacketView> Instance<P> {
    pub(super) fn new(now: Instant, ue: UeId, gbr_flow: Option<Qfi>, config: &VaqmConfig) -> Self {
        Self {
            ue,
            gbr_flow,
            config: 0,
            guaranteed: Rate::ZERO,
            maximum: Rate::ZERO,
            flows: Flows::new(),
            fair: Turns::default(),
            model: PathModel::new(config),
            uplink: Uplink::default(),
            valve: Valve::new(config.mode),
            limit: Limit::None,
            session: Bucket::open(),
            pace: Bucket::open(),
            delivered: RateMeter::new(),
            delivered_rate: Rate::ZERO,
            delivered_max: WindowedMax::new(Duration::from_millis(250)),
            ingress: RateMeter::new(),
            egress: RateMeter::new(),
            counts_egress: true,
            visibility: Visibility {
                since: now,
                total: 0,
                measured: 0,
                hidden: false,
            },
            flight: 0,
            last_ack: now,
            last_push: now,
            empty_since: now,
            last_active: now,
            after_idle: false,
            evaluated: now,
            swept: now,
            last_l4s: None,
            last_classic: None,
            direct: Direct::default(),
            direct_failed: false,
            isolates: true,
            isolate_until: now + variant::SETTLE,
            last_silent: None,
            unresponsive: 0,
            uncounted: RateMeter::new(),
            last_uncounted: None,
        }
    }

    /// The session's rates; what was learned stays.
    pub(super) fn set_rates(&mut self, now: Instant, guaranteed: Rate, maximum: Rate) {
        self.guaranteed = guaranteed;
        self.maximum = maximum;
        self.session.set(now, maximum, Bytes(2 * MTU));
    }

    /// Its parameters are others from now on. What was measured stays, and so do the packets that wait; which variant
    /// decides, and the state of each flow's law, begin anew.
    pub(super) fn reconfigured(&mut self, now: Instant, config: &VaqmConfig) {
        let offer = self.valve.offer;
        self.valve = Valve::new(config.mode);
        self.valve.offer = offer;
        self.direct.rest();
        self.direct_failed = false;
        self.isolates = true;
        self.isolate_until = now + variant::SETTLE;
        self.flows.for_each(|flow| flow.law = None);
        self.evaluate(now, config);
    }

    pub(super) fn path_switched(&mut self, now: Instant) {
        self.model.path_switched(now);
        self.delivered_max.clear();
        self.flows.for_each(|flow| flow.clock.path_switched());
    }

    pub(super) const fn offered(&mut self, offer: Offer) {
        self.valve.offer = Some(offer);
    }

    fn mode(&self, config: &VaqmConfig) -> Mode {
        match config.mode {
            Mode::Direct if self.direct_failed => Mode::Window,
            Mode::Auto if self.isolates => Mode::Window,
            Mode::Auto => Mode::Direct,
            mode => mode,
        }
    }

    /// The window of the delivery rate.
    fn span(&self) -> Duration {
        self.model.path().max(Duration::from_millis(100))
    }

    fn ingress_span(&self) -> Duration {
        self.model.path().max(Duration::from_millis(20))
    }

    /// What a law goes by; the rates of what comes and leaves where it `needs` them, for they are far apart in memory.
    fn sight(&mut self, now: Instant, config: &VaqmConfig, needs: bool) -> Sight {
        let path = self.model.path();
        let rates = needs || matches!(self.valve.law(), Law::Literal | Law::Drain);
        let ingress_span = self.ingress_span();
        let empty = self.fair.is_empty();
        Sight {
            delivered: self.delivered_rate,
            delivered_max: Rate::from_bps(self.delivered_max.get(now).unwrap_or(0)),
            ingress: if rates {
                self.ingress.rate(now, ingress_span, ingress_span)
            } else {
                Rate::ZERO
            },
            egress: if rates {
                self.egress
                    .rate(now, EGRESS_SPAN, path.max(Duration::from_millis(20)))
            } else {
                Rate::ZERO
            },
            waiting: !empty || now.since(self.empty_since) <= path,
            empty_for: if empty {
                now.since(self.empty_since)
            } else {
                Duration::ZERO
            },
            server_rtt: config.server_rtt,
            floor: config.floor,
            ceiling: self.maximum,
            guaranteed: self.guaranteed,
        }
    }

    /// What may leave is a rate: by its law, or since the queue is not seen.
    fn is_by_rate(&self) -> bool {
        self.valve.law() == Law::Int || self.visibility.hidden
    }

    /// Recomputes what may leave.
    fn evaluate(&mut self, now: Instant, config: &VaqmConfig) {
        self.evaluated = now;
        if config.mode == Mode::Auto {
            self.choose_variant(now, config);
        }
        // Of a path that is not known, no law decides by a rate (`Valve::update`).
        let sight = self.sight(now, config, self.is_by_rate() && self.model.known());
        let mode = self.mode(config);
        self.valve
            .update(now, mode, self.visibility.hidden, &self.model, &sight);
        self.limit = self.valve.limit(&self.model, &sight, config);
        let rate = match self.limit {
            Limit::None => Rate::ZERO,
            Limit::Cap(_, rate) | Limit::Rate(rate) => rate,
        };
        self.pace.set(now, rate, Bytes(2 * MTU));
        if mode == Mode::Direct && self.model.known() {
            self.choose_victim(now, config);
            // Here too, not at samples alone: a flood leaves no other flow to give one.
            if config.police && self.model.above_target() {
                self.find_unanswered(now, config);
            }
        }
    }

    fn evaluate_if_due(&mut self, now: Instant, config: &VaqmConfig) {
        let period = (self.model.path() / 2).max(Duration::from_millis(1));
        if now.since(self.evaluated) >= period {
            self.evaluate(now, config);
        }
    }

    fn gate(&self, now: Instant) -> Gate {
        let ready = match self.limit {
            Limit::Cap(cap, _) if self.flight >= cap => return Gate::Flight,
            _ => self.session.ready().max(self.pace.ready()),
        };
        if ready > now {
            Gate::Until(ready)
        } else {
            Gate::Open
        }
    }

    /// A packet of the flow in `slot` leaves for the radio.
    fn leave<Q: PacketView>(
        &mut self,
        now: Instant,
        slot: u32,
        tcp: Option<&TcpHeader>,
        packet: &Q,
    ) {
        let len = packet.len();
        let flow = self.flows.get_mut(slot);
        let measured = flow.measurable(now);
        match (&mut flow.observer, tcp) {
            (Observer::Tcp(observer, _), Some(tcp)) => {
                let before = observer.flight();
                observer.on_left(now, tcp, len);
                self.flight = self.flight + observer.flight() - before;
            }
            (Observer::Quic(spin), _) => {
                if let Some(bit) = packet.spin_bit() {
                    spin.on_left(now, bit);
                }
            }
            _ => {}
        }
        if tcp.is_none() {
            self.uncounted.add(now, u64::from(len), EGRESS_SPAN);
            self.last_uncounted = Some(now);
        }
        if variant::needs_a_queue(flow, now, self.delivered_rate) {
            self.last_silent = Some(now);
        }
        self.session.pay(now, len);
        self.pace.pay(now, len);
        if self.counts_egress {
            self.egress.add(now, u64::from(len), EGRESS_SPAN);
        }
        // Nothing answers an ACK. Those of an upload are all that leaves while a download repairs.
        if tcp.is_none_or(|tcp| tcp.payload > 0) {
            self.visibility.add(now, u64::from(len), measured);
        }
        self.counts_egress = self.visibility.hidden || !matches!(self.valve.law(), Law::Window);
    }

    /// Lets out what may leave.
    pub(super) fn service(&mut self, now: Instant, cx: &mut Shared<'_, P>) {
        if self.fair.is_empty() {
            return;
        }
        self.evaluate_if_due(now, cx.config);
        let mut pushed = false;
        loop {
            match self.gate(now) {
                Gate::Open => {}
                Gate::Until(_) => break,
                Gate::Flight => {
                    if pushed || now < self.push_due() {
                        break;
                    }
                    // No ACK for long: what is in flight may be lost, so count anew, and if that does not help send
                    // one packet to see.
                    self.expire(now);
                    self.last_push = now;
                    pushed = true;
                    if self.gate(now) == Gate::Flight {
                        if !cx.config.liveness {
                            break;
                        }
                        cx.stats.pushed += 1;
                        self.push(now, cx);
                        continue;
                    }
                }
            }
            if self.let_out(now, cx) == Outlet::Empty {
                break;
            }
        }
        if self.fair.is_empty() {
            self.empty_since = now;
            self.fair.rest(now, &mut self.flows);
        }
    }

    /// Lets one packet out past the cap. One that its law drops is none: nothing would answer it.
    fn push(&mut self, now: Instant, cx: &mut Shared<'_, P>) {
        while self.let_out(now, cx) == Outlet::Dropped {}
    }

    /// When a packet leaves though no ACK came.
    fn push_due(&self) -> Instant {
        let patience = (self.model.loop_time() * 2).max(Duration::from_millis(200));
        self.last_ack.max(self.last_push) + patience
    }

    fn expire(&mut self, now: Instant) {
        let age = (self.model.loop_time() * 4).max(Duration::from_secs(1));
        let mut flight = 0;
        self.flows.for_each(|flow| {
            if let Observer::Tcp(tcp, _) = &mut flow.observer {
                tcp.expire(now, age);
                flight += tcp.flight();
            }
        });
        self.flight = flight;
    }

    /// Takes one packet through its law.
    fn let_out(&mut self, now: Instant, cx: &mut Shared<'_, P>) -> Outlet {
        let quantum = i64::from(cx.config.quantum.max(1));
        let Some((slot, since, mut packet)) = self.fair.pop(now, &mut self.flows, quantum) else {
            return Outlet::Empty;
        };
        let meta = PacketMeta::of(&packet);
        *cx.held -= u64::from(meta.len);
        let verdict = match self.l4s_signal(now, slot, now.since(since), meta.ecn, cx) {
            Some(verdict) => verdict,
            None if self.coupled_signal(now, slot, cx) => LawVerdict::Mark,
            None => self.law_signal(now, slot, since, meta, cx),
        };
        let outcome = admit(verdict, &mut packet);
        if outcome == Outcome::Dropped {
            cx.stats.dropped += 1;
            cx.dropped.push_back((packet, DropReason::Law));
            return Outlet::Dropped;
        }
        cx.stats.marked += u64::from(outcome == Outcome::Marked);
        cx.stats.passed += 1;
        self.flows.get_mut(slot).queue.charge(meta.len);
        let tcp = packet.tcp();
        self.leave(now, slot, tcp.as_ref(), &packet);
        cx.ready.push_back((Direction::Down, packet));
        Outlet::Left
    }

    // ---- Time

    /// When something is to be done here next.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        if self.fair.is_empty() {
            return (self.flows.len() > 0).then(|| self.swept.max(self.last_active) + SWEEP);
        }
        Some(match self.gate(now) {
            Gate::Open => now,
            Gate::Until(at) => at,
            Gate::Flight => self.push_due().max(now),
        })
    }

    pub(super) fn on_timer(&mut self, now: Instant, cx: &mut Shared<'_, P>) {
        self.service(now, cx);
        if now.since(self.swept) >= SWEEP {
            self.swept = now;
            let mut restrained = 0;
            self.flight -= self.flows.sweep(now);
            self.flows
                .for_each(|f| restrained += u32::from(f.police.is_some()));
            self.unresponsive = restrained;
        }
    }

    /// Lets out everything that waits, past laws and rates.
    pub(super) fn empty(&mut self, cx: &mut Shared<'_, P>) {
        let quantum = i64::from(cx.config.quantum.max(1));
        while let Some((slot, _, packet)) = self.fair.pop(Instant::MAX, &mut self.flows, quantum) {
            let len = packet.len();
            self.flows.get_mut(slot).queue.charge(len);
            *cx.held -= u64::from(len);
            cx.stats.passed += 1;
            cx.ready.push_back((Direction::Down, packet));
        }
    }

    /// Gives up everything that waits.
    pub(super) fn close(&mut self, cx: &mut Shared<'_, P>) {
        let quantum = i64::from(u32::MAX >> 1);
        while let Some((slot, _, packet)) = self.fair.pop(Instant::MAX, &mut self.flows, quantum) {
            let len = packet.len();
            self.flows.get_mut(slot).queue.charge(len);
            *cx.held -= u64::from(len);
            cx.stats.dropped += 1;
            cx.dropped.push_back((packet, DropReason::NoRoute));
        }
    }

    /// Bytes of memory, without what packets themselves own.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + self.flows.heap()
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let on = self.valve.is_on();
        let state = match (self.model.above_target(), on) {
            (_, false) => State::Open,
            (true, true) => State::Shape,
            (false, true) => State::Grow,
        };
        let (cap, rate) = match self.limit {
            Limit::None => (None, None),
            Limit::Cap(cap, _) => (Some(Bytes(cap)), None),
            Limit::Rate(rate) => (None, Some(rate)),
        };
        Snapshot {
            state,
            average: self.model.average(),
            path: self.model.path(),
            target: self.model.target(),
            jitter: self.model.jitter(),
            cap,
            rate,
            delivered: self.delivered_rate,
            delivered_max: Rate::from_bps(self.delivered_max.peek().unwrap_or(0)),
            flight: Bytes(self.flight),
            backlog: self.fair.total().bytes,
            packets: self.fair.total().packets,
            flows: self.flows.len() as u32,
            unresponsive: self.unresponsive,
            path_changes: self.model.changes(),
            acks_hidden: self.visibility.hidden,
            last_sample: self.model.last_sample(),
        }
    }
}
