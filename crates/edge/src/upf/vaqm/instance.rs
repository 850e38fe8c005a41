//! One bottleneck: its flows, its model, its queues, and what lets packets out of them.

use std::collections::{BTreeMap, VecDeque};

use slackwater_core::record::DropReason;
use slackwater_core::{
    Bytes, Direction, Duration, Ecn, Instant, PacketView, Qfi, Rate, TcpFlags, TcpHeader, UeId,
};
use slackwater_queue::{AnyLaw, Law as _, LawConfig, PacketMeta, Verdict as LawVerdict};

use super::bucket::Bucket;
use super::config::{Mode, VaqmConfig};
use super::direct::Direct;
use super::fair::{self, Fair, Timing};
use super::flow::{ACTIVE, Flows, Observer};
use super::function::{Snapshot, State, VaqmStats};
use super::l4s::{self, CeWatch};
use super::modes::{Law, Limit, Offer, Sight, Valve, packet_floor};
use super::path::{MTU, PathModel};
use super::police::{Police, Share};
use crate::Verdict;
use crate::upf::passive::{RateMeter, RttSample, SampleKind, WindowedMax};

/// A session silent for so long starts over: the radio may sleep (DRX) or have released the UE.
const IDLE: Duration = Duration::from_secs(1);
/// Over such a time it is seen whether acknowledgments are visible.
const SHARE_SPAN: Duration = Duration::from_millis(500);
/// How often flows without traffic are looked for.
const SWEEP: Duration = Duration::from_secs(10);
/// The window of the rate of what leaves.
const EGRESS_SPAN: Duration = Duration::from_millis(100);
/// The direct variant spares smaller packets, and names (DNS).
const SPARED: u32 = 100;
const DNS: u16 = 53;

/// What an instance shares with the others.
pub(super) struct Shared<'a, P> {
    pub(super) config: &'a VaqmConfig,
    /// Chance of a mark by flow key, and when it was reported.
    pub(super) congestion: &'a BTreeMap<u32, (Instant, u16)>,
    pub(super) ready: &'a mut VecDeque<(Direction, P)>,
    pub(super) dropped: &'a mut VecDeque<(P, DropReason)>,
    /// Bytes that wait in all instances.
    pub(super) held: &'a mut u64,
    pub(super) stats: &'a mut VaqmStats,
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

#[derive(Debug)]
pub(super) struct Instance<P> {
    pub(super) ue: UeId,
    pub(super) gbr_flow: Option<Qfi>,
    guaranteed: Rate,
    maximum: Rate,
    flows: Flows<P>,
    fair: Fair,
    model: PathModel,
    valve: Valve,
    limit: Limit,
    /// The session's AMBR or the flow's MBR.
    session: Bucket,
    /// Paces what the valve lets out.
    pace: Bucket,
    delivered: RateMeter,
    delivered_rate: Rate,
    delivered_max: WindowedMax,
    ingress: RateMeter,
    egress: RateMeter,
    /// The rate of what leaves matters: with acknowledgments visible it does not, and a packet touches less memory.
    counts_egress: bool,
    visibility: Visibility,
    flight: u64,
    last_ack: Instant,
    /// A packet was last let out, or the gate was last found shut, with no ACK since.
    last_push: Instant,
    empty_since: Instant,
    last_active: Instant,
    after_idle: bool,
    evaluated: Instant,
    swept: Instant,
    last_l4s: Option<Instant>,
    last_classic: Option<Instant>,
    direct: Direct,
    /// The direct variant met a flow that does not answer: the window takes over.
    direct_failed: bool,
    unresponsive: u32,
}

impl<P: PacketView> Instance<P> {
    pub(super) fn new(now: Instant, ue: UeId, gbr_flow: Option<Qfi>, config: &VaqmConfig) -> Self {
        Self {
            ue,
            gbr_flow,
            guaranteed: Rate::ZERO,
            maximum: Rate::ZERO,
            flows: Flows::new(),
            fair: Fair::default(),
            model: PathModel::new(config),
            valve: Valve::new(),
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
            unresponsive: 0,
        }
    }

    /// The session's rates; what was learned stays.
    pub(super) fn set_rates(&mut self, now: Instant, guaranteed: Rate, maximum: Rate) {
        self.guaranteed = guaranteed;
        self.maximum = maximum;
        self.session.set(now, maximum, Bytes(2 * MTU));
    }

    pub(super) fn path_switched(&mut self, now: Instant) {
        self.model.path_switched(now);
        self.delivered_max.clear();
    }

    pub(super) const fn offered(&mut self, offer: Offer) {
        self.valve.offer = Some(offer);
    }

    fn mode(&self, config: &VaqmConfig) -> Mode {
        if config.mode == Mode::Direct && self.direct_failed {
            Mode::Window
        } else {
            config.mode
        }
    }

    /// The window of the delivery rate.
    fn span(&self) -> Duration {
        self.model.path().max(Duration::from_millis(100))
    }

    fn ingress_span(&self) -> Duration {
        self.model.path().max(Duration::from_millis(20))
    }

    fn sight(&mut self, now: Instant, config: &VaqmConfig) -> Sight {
        let path = self.model.path();
        let rates = matches!(self.valve.law(), Law::Literal | Law::Drain | Law::Int)
            || !self.model.known()
            || self.visibility.hidden;
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
            floor: config.floor,
            ceiling: self.maximum,
            guaranteed: self.guaranteed,
        }
    }

    /// Recomputes what may leave.
    fn evaluate(&mut self, now: Instant, config: &VaqmConfig) {
        self.evaluated = now;
        let sight = self.sight(now, config);
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

    // ---- Downlink

    pub(super) fn on_down(
        &mut self,
        now: Instant,
        mut packet: P,
        cx: &mut Shared<'_, P>,
    ) -> Verdict<P> {
        let len = packet.len();
        let tcp = packet.tcp();
        self.wake(now);
        let slot = self.flows.find_or_insert(now, packet.flow_key());
        if matches!(cx.config.mode, Mode::Literal | Mode::Drain) {
            let span = self.ingress_span();
            self.ingress.add(now, u64::from(len), span);
        }
        let flow = self.flows.get_mut(slot);
        flow.observe_as(tcp.as_ref(), &packet);
        flow.last_down = now;
        flow.last_seen = now;
        flow.arrivals.add(now, u64::from(len));
        if let (Observer::Tcp(_, server), Some(tcp)) = (&mut flow.observer, &tcp) {
            server.on_downlink(now, tcp);
        }
        if packet.ecn() == Ecn::Ect1 {
            self.last_l4s = Some(now);
        } else {
            self.last_classic = Some(now);
        }
        if self.unresponsive > 0 && !self.within_police(now, slot, len, cx.config) {
            cx.stats.policed += 1;
            return Verdict::Drop(packet);
        }
        self.evaluate_if_due(now, cx.config);
        if self.fair.is_empty() && self.gate(now) == Gate::Open {
            let flow = self.flows.get_mut(slot);
            if let Some(law) = &mut flow.law {
                // The law would have found its queue empty.
                law.on_empty(now);
            }
            if cx.config.mode != Mode::Direct {
                flow.stuck_since = None;
            }
            let mut marked = false;
            let signal = self.signal_without_queue(now, slot, tcp.as_ref(), &packet, cx);
            if !fair::carry_out(signal, &mut packet, &mut marked) {
                cx.stats.dropped += 1;
                return Verdict::Drop(packet);
            }
            self.leave(now, slot, tcp.as_ref(), &packet);
            cx.stats.passed += 1;
            if marked {
                cx.stats.marked += 1;
                return Verdict::Mark(packet);
            }
            return Verdict::Forward(packet);
        }
        self.queue(now, slot, packet, cx);
        self.service(now, cx);
        Verdict::Hold
    }

    fn wake(&mut self, now: Instant) {
        if now.since(self.last_active) > IDLE {
            self.after_idle = true;
        }
        self.last_active = now;
    }

    fn queue(&mut self, now: Instant, slot: u32, mut packet: P, cx: &mut Shared<'_, P>) {
        let config = cx.config;
        if self.fair.is_empty() {
            self.last_push = now;
        }
        if matches!(config.module, LawConfig::Pie(_)) {
            // PIE decides on arrival (RFC 8033, 4.1).
            let flow = self.flows.get_mut(slot);
            let delay = flow
                .ring
                .front()
                .map_or(Duration::ZERO, |(since, _)| now.since(*since));
            let view = flow.view();
            let key = u64::from(flow.key);
            let law = flow
                .law
                .get_or_insert_with(|| config.module.build(slackwater_core::Draw::new(key)));
            let verdict = law.on_enqueue(now, delay, &view, &PacketMeta::of(&packet));
            let mut marked = false;
            if !fair::carry_out(verdict, &mut packet, &mut marked) {
                cx.stats.dropped += 1;
                cx.dropped.push_back((packet, DropReason::Law));
                return;
            }
            cx.stats.marked += u64::from(marked);
        }
        let before = self.fair.total.bytes.get();
        self.fair
            .push(now, &mut self.flows, slot, packet, config.quantum);
        cx.stats.held += 1;
        let sight_rate = self
            .delivered_max
            .peek()
            .unwrap_or(0)
            .max(self.session.rate().as_bps());
        let second = Rate::from_bps(sight_rate)
            .bytes_in(Duration::from_secs(1))
            .get();
        let room = config.memory.get().min(second.max(64 * MTU));
        let over_all = *cx.held + self.fair.total.bytes.get() - before > config.memory_total.get();
        if self.fair.total.bytes.get() > room || over_all {
            let waiting = cx.dropped.len();
            self.fair.drop_fattest(&mut self.flows, cx.dropped);
            cx.stats.dropped += (cx.dropped.len() - waiting) as u64;
        }
        *cx.held = *cx.held + self.fair.total.bytes.get() - before;
    }

    /// The chance of an L4S mark that the radio's side asks for: what is reported, or a ramp over what stands there
    /// beyond jitter, and beyond the target where classic flows keep a queue there on purpose.
    fn radio_chance(&self, now: Instant, key: u32, cx: &Shared<'_, P>) -> f64 {
        let l4s = &cx.config.l4s;
        if let Some((at, per_10k)) = cx.congestion.get(&key)
            && now.since(*at) <= l4s.report_age
        {
            return f64::from(*per_10k) / 1e4;
        }
        l4s::ramp(l4s, self.radio_excess(now))
    }

    fn radio_excess(&self, now: Instant) -> Duration {
        if !self.model.known() {
            return Duration::ZERO;
        }
        let mut base = self.model.path() + self.model.jitter();
        if self.last_classic.is_some_and(|at| now.since(at) <= ACTIVE) {
            base = base.max(self.model.target());
        }
        self.model.average().saturating_sub(base)
    }

    /// Marks for an ECT(1) packet that waited `sojourn`; `None` where the flow is served as classic.
    fn l4s_signal(
        &mut self,
        now: Instant,
        slot: u32,
        sojourn: Duration,
        ecn: Ecn,
        cx: &Shared<'_, P>,
    ) -> Option<LawVerdict> {
        if ecn != Ecn::Ect1 || !cx.config.l4s.enabled {
            return None;
        }
        let key = self.flows.get(slot).key;
        let reported = cx
            .congestion
            .get(&key)
            .is_some_and(|(at, _)| now.since(*at) <= cx.config.l4s.report_age);
        let chance = if reported {
            self.radio_chance(now, key, cx)
                .max(l4s::ramp(&cx.config.l4s, sojourn))
        } else {
            l4s::ramp(&cx.config.l4s, sojourn + self.radio_excess(now))
        };
        let rtt = self.model.average() + cx.config.server_rtt;
        let flow = self.flows.get_mut(slot);
        if flow.ce.as_ref().is_some_and(|ce| ce.demoted) {
            return None;
        }
        let mark = flow.owed.fires(chance);
        let rate = flow.arrivals.get();
        flow.ce
            .get_or_insert_with(|| Box::new(CeWatch::new(now)))
            .on_packet(now, mark, rtt, rate);
        Some(if mark {
            LawVerdict::Mark
        } else {
            LawVerdict::Pass
        })
    }

    /// A classic packet's share of the signals that L4S flows beside it get.
    fn coupled_signal(&mut self, now: Instant, slot: u32, cx: &Shared<'_, P>) -> bool {
        if !cx.config.l4s.enabled || self.last_l4s.is_none_or(|at| now.since(at) > ACTIVE) {
            return false;
        }
        let key = self.flows.get(slot).key;
        let chance = l4s::coupled(self.radio_chance(now, key, cx));
        self.flows.get_mut(slot).owed.fires(chance)
    }

    fn signal_without_queue(
        &mut self,
        now: Instant,
        slot: u32,
        tcp: Option<&TcpHeader>,
        packet: &P,
        cx: &Shared<'_, P>,
    ) -> LawVerdict {
        if cx.config.mode == Mode::Off {
            return LawVerdict::Pass;
        }
        if let Some(verdict) = self.l4s_signal(now, slot, Duration::ZERO, packet.ecn(), cx) {
            return verdict;
        }
        if self.mode(cx.config) == Mode::Direct {
            return self.direct_signal(now, slot, tcp, packet);
        }
        if self.coupled_signal(now, slot, cx) {
            return LawVerdict::Mark;
        }
        LawVerdict::Pass
    }

    /// A packet of the flow in `slot` leaves for the radio.
    fn leave(&mut self, now: Instant, slot: u32, tcp: Option<&TcpHeader>, packet: &P) {
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
        self.session.pay(now, len);
        self.pace.pay(now, len);
        if self.counts_egress {
            self.egress.add(now, u64::from(len), EGRESS_SPAN);
        }
        self.visibility.add(now, u64::from(len), measured);
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
                    }
                }
            }
            if !self.let_out(now, cx) {
                break;
            }
        }
        if self.fair.is_empty() {
            self.empty_since = now;
            self.fair.rest(now, &mut self.flows);
        }
    }

    /// When a packet leaves though no ACK came.
    fn push_due(&self) -> Instant {
        let patience = (self.model.average() * 2).max(Duration::from_millis(200));
        self.last_ack.max(self.last_push) + patience
    }

    fn expire(&mut self, now: Instant) {
        let age = (self.model.average() * 4).max(Duration::from_secs(1));
        let mut flight = 0;
        self.flows.for_each(|flow| {
            if let Observer::Tcp(tcp, _) = &mut flow.observer {
                tcp.expire(now, age);
                flight += tcp.flight();
            }
        });
        self.flight = flight;
    }

    /// Takes one packet through its law; false where nothing waits.
    fn let_out(&mut self, now: Instant, cx: &mut Shared<'_, P>) -> bool {
        let Some((slot, since, mut packet)) =
            self.fair.pop(now, &mut self.flows, cx.config.quantum)
        else {
            return false;
        };
        let meta = PacketMeta::of(&packet);
        *cx.held -= u64::from(meta.len);
        let verdict = match self.l4s_signal(now, slot, now.since(since), meta.ecn, cx) {
            Some(verdict) => verdict,
            None if self.coupled_signal(now, slot, cx) => LawVerdict::Mark,
            None => self.law_signal(now, slot, since, meta, cx),
        };
        let mut marked = false;
        if !fair::carry_out(verdict, &mut packet, &mut marked) {
            cx.stats.dropped += 1;
            cx.dropped.push_back((packet, DropReason::Law));
            return true;
        }
        cx.stats.marked += u64::from(marked);
        cx.stats.passed += 1;
        Fair::charge(&mut self.flows, slot, meta.len);
        let tcp = packet.tcp();
        self.leave(now, slot, tcp.as_ref(), &packet);
        cx.ready.push_back((Direction::Down, packet));
        true
    }

    fn law_signal(
        &mut self,
        now: Instant,
        slot: u32,
        since: Instant,
        meta: PacketMeta,
        cx: &Shared<'_, P>,
    ) -> LawVerdict {
        let config = cx.config;
        let server = self
            .flows
            .get(slot)
            .server_rtt()
            .unwrap_or(config.server_rtt);
        // The control loop is end to end; the article takes the interval from the path RTT.
        let interval = ((self.model.path() + server) * 2)
            .max(Duration::from_millis(20))
            .min(Duration::from_millis(300));
        let timing = config.adaptive_codel.then(|| {
            let bottleneck = Rate::from_bps(self.delivered_max.peek().unwrap_or(0));
            Timing {
                target: (interval / 20)
                    .max(Duration::from_millis(5))
                    .max(packet_floor(bottleneck)),
                interval,
            }
        });
        let mut verdict = fair::judge(
            now,
            &mut self.flows,
            slot,
            since,
            meta,
            &config.module,
            timing,
        );
        let flow = self.flows.get_mut(slot);
        if verdict == LawVerdict::Mark && flow.ce.as_ref().is_some_and(|ce| ce.demoted) {
            verdict = LawVerdict::Drop;
        }
        // A flow that answers leaves the dropping state now and then; one that does not stays in it with a long queue.
        let stuck = matches!(flow.law.as_ref(), Some(AnyLaw::Codel(c)) if c.is_dropping())
            && now.since(since) > interval * 4;
        if !stuck {
            flow.stuck_since = None;
        } else if now.since(*flow.stuck_since.get_or_insert(now)) >= interval * 20
            && config.police
            && flow.police.is_none()
        {
            self.restrain(now, slot, config);
        }
        verdict
    }

    // ---- Flows that do not answer

    fn share(&mut self, now: Instant, config: &VaqmConfig) -> Share {
        let sight = self.sight(now, config);
        let rate = self.valve.bottleneck(&sight);
        let active = self
            .flows
            .iter()
            .filter(|(_, f)| now.since(f.last_down) <= ACTIVE)
            .count()
            .max(1) as f64;
        let floor = config.floor.max(self.guaranteed).mul_f64(1.0 / active);
        Share {
            fair: rate.mul_f64(1.0 / active).max(floor),
            floor,
            average: self.model.average(),
            above_target: self.model.above_target(),
        }
    }

    fn restrain(&mut self, now: Instant, slot: u32, config: &VaqmConfig) {
        let share = self.share(now, config);
        let flow = self.flows.get_mut(slot);
        flow.police = Some(Box::new(Police::new(now, flow.arrivals.get(), &share)));
        flow.stuck_since = None;
        self.unresponsive += 1;
        self.direct_failed = true;
    }

    fn within_police(&mut self, now: Instant, slot: u32, len: u32, config: &VaqmConfig) -> bool {
        if self.flows.get(slot).police.is_none() {
            return true;
        }
        let share = self.share(now, config);
        let flow = self.flows.get_mut(slot);
        let arrivals = flow.arrivals.get();
        let Some(police) = &mut flow.police else {
            return true;
        };
        if let Some(passes) = police.admit(now, len, arrivals, &share) {
            return passes;
        }
        flow.police = None;
        self.unresponsive -= 1;
        self.direct_failed = self.unresponsive > 0;
        true
    }

    // ---- The direct variant

    fn choose_victim(&mut self, now: Instant, config: &VaqmConfig) {
        let (path, target, average) =
            (self.model.path(), self.model.target(), self.model.average());
        let Some(rtt) = self.model.recent(now) else {
            return;
        };
        let late = self.direct.overdue(now, average);
        if !self.direct.update(now, rtt, target, path) {
            return;
        }
        let mut victim: Option<(u64, u32)> = None;
        for (_, flow) in self.flows.iter() {
            let server = flow.server_rtt().unwrap_or(config.server_rtt);
            let held_off = flow
                .signalled
                .is_some_and(|at| now.since(at) < average + server);
            if now.since(flow.last_down) > average || held_off || late == Some(flow.key) {
                continue;
            }
            let flight = flow.flight_estimate(average);
            if victim.is_none_or(|(most, _)| flight > most) {
                victim = Some((flight, flow.key));
            }
        }
        if let Some((_, key)) = victim {
            self.direct.arm(now, key);
        }
    }

    fn direct_signal(
        &mut self,
        now: Instant,
        slot: u32,
        tcp: Option<&TcpHeader>,
        packet: &P,
    ) -> LawVerdict {
        let path = self.model.path();
        let above = self.model.above_target();
        let flow = self.flows.get_mut(slot);
        if above && self.direct.is_dropping() {
            // Without queues a flow that does not answer shows by its rate alone; see `unanswered`.
            flow.stuck_since.get_or_insert(now);
        }
        if !self.direct.awaits(flow.key) {
            return LawVerdict::Pass;
        }
        if let Some(tcp) = tcp {
            let control = tcp.flags.0 & (TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0) != 0;
            let repeat = matches!(&flow.observer, Observer::Tcp(o, _) if o.is_repeat(tcp));
            if control || tcp.payload == 0 || repeat {
                return LawVerdict::Pass;
            }
        }
        let dns = packet
            .ports()
            .is_some_and(|(from, to)| from == DNS || to == DNS);
        if packet.len() < SPARED || dns {
            return LawVerdict::Pass;
        }
        flow.signalled = Some(now);
        self.direct.signalled(path);
        LawVerdict::Mark
    }

    /// The direct variant's test for flows that do not answer: more than twice the fair share while the RTT stays above
    /// the target for 20 intervals.
    fn find_unanswered(&mut self, now: Instant, config: &VaqmConfig) {
        let patience = (self.model.path() + config.server_rtt) * 40;
        let share = self.share(now, config);
        let guilty = self.flows.iter().find_map(|(slot, f)| {
            let long = f.stuck_since.is_some_and(|at| now.since(at) >= patience);
            (long && f.police.is_none() && f.arrivals.get() > share.fair.mul_f64(2.0))
                .then_some(slot)
        });
        if let Some(slot) = guilty {
            self.restrain(now, slot, config);
        }
    }

    // ---- Uplink and reports

    pub(super) fn knows(&mut self, key: u32) -> bool {
        self.flows.find(key).is_some()
    }

    pub(super) fn on_up(&mut self, now: Instant, packet: &P, cx: &mut Shared<'_, P>) {
        self.wake(now);
        let tcp = packet.tcp();
        let spin = packet.spin_bit();
        if tcp.is_none() && spin.is_none() {
            return;
        }
        let slot = self.flows.find_or_insert(now, packet.reverse_key());
        let (path, average) = (self.model.path(), self.model.average());
        let known = self.model.known();
        let flight = self.flight;
        let flow = self.flows.get_mut(slot);
        flow.observe_as(tcp.as_ref(), packet);
        flow.last_seen = now;
        let mut sample = None;
        match (&mut flow.observer, &tcp, spin) {
            (Observer::Tcp(observer, server), Some(tcp), _) => {
                server.on_uplink(now, tcp);
                let before = observer.flight();
                let info = observer.on_uplink(now, tcp, &packet.sack());
                self.flight = self.flight + observer.flight() - before;
                sample = info.sample;
                if info.advanced || info.delivered > 0 {
                    self.last_ack = now;
                }
                if info.delivered > 0 {
                    self.on_delivered(now, info.delivered);
                }
            }
            (Observer::Quic(observer), _, Some(bit)) => {
                let known = |d: Duration| known.then_some(d);
                sample = observer.on_uplink(now, bit, known(path), known(average));
            }
            _ => {}
        }
        match sample {
            Some(sample) => self.on_rtt(now, sample, flight, cx.config),
            None => self.evaluate_if_due(now, cx.config),
        }
        self.service(now, cx);
    }

    fn on_delivered(&mut self, now: Instant, bytes: u64) {
        let span = self.span();
        self.delivered.add(now, bytes, span);
        let least = if self.model.known() {
            self.model.path()
        } else {
            span
        };
        self.delivered_rate = self.delivered.rate(now, span, least);
        self.delivered_max.update(now, self.delivered_rate.as_bps());
    }

    fn on_rtt(&mut self, now: Instant, mut sample: RttSample, flight: u64, config: &VaqmConfig) {
        if self.after_idle {
            self.after_idle = false;
            self.model.after_idle();
            sample.kind = SampleKind::MinOnly;
        }
        let capped = self.valve.can_dip();
        self.model
            .on_sample(now, sample, flight, self.delivered_rate, capped, config);
        self.evaluate(now, config);
        if config.mode == Mode::Direct && !self.model.above_target() {
            self.flows.for_each(|f| f.stuck_since = None);
        }
    }

    /// A round trip that the radio network measured.
    pub(super) fn on_path_delay(&mut self, now: Instant, rtt: Duration, cx: &mut Shared<'_, P>) {
        let sample = RttSample {
            rtt,
            kind: SampleKind::Full,
        };
        // With acknowledgments hidden nothing tells the flight; Little's law does.
        let left = self
            .egress
            .rate(now, Duration::from_millis(100), Duration::from_millis(20));
        let flight = self.flight.max(left.bytes_in(rtt).get());
        self.on_rtt(now, sample, flight, cx.config);
        self.service(now, cx);
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

    /// Gives up everything that waits.
    pub(super) fn close(&mut self, cx: &mut Shared<'_, P>) {
        while let Some((slot, _, packet)) =
            self.fair.pop(Instant::MAX, &mut self.flows, u32::MAX >> 1)
        {
            let len = packet.len();
            Fair::charge(&mut self.flows, slot, len);
            *cx.held -= u64::from(len);
            cx.stats.dropped += 1;
            cx.dropped.push_back((packet, DropReason::NoRoute));
        }
    }

    /// Bytes of memory, without what packets themselves own.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + self.flows.heap() + self.fair.heap()
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
            backlog: self.fair.total.bytes,
            packets: self.fair.total.packets,
            flows: self.flows.len() as u32,
            unresponsive: self.unresponsive,
            path_changes: self.model.changes(),
            acks_hidden: self.visibility.hidden,
            last_sample: self.model.last_sample(),
        }
    }
}
