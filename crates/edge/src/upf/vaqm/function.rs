//! The edge function: instances by session, their timers, and what they hand out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use slackwater_core::record::DropReason;
use slackwater_core::{Bytes, Direction, FlowId, Instant, PacketView, Qfi, UeId};

use super::config::VaqmConfig;
use super::instance::{Instance, Shared};
use super::modes::Offer;
use super::snapshot::{Snapshot, VaqmStats};
use crate::upf::Delays;
use crate::{EdgeFunction, RanReport, Session, Verdict};

/// Flows that were reported on and are silent are forgotten beyond this many, as by the marker. Ours.
const FLOWS: usize = 16_384;

/// No instance.
const NONE: u32 = u32::MAX;

/// The instances of one UE.
#[derive(Debug)]
struct Ue {
    default: u32,
    guaranteed: Vec<(Qfi, u32)>,
}

impl Ue {
    const EMPTY: Self = Self {
        default: NONE,
        guaranteed: Vec::new(),
    };

    fn get(&self, gbr_flow: Option<Qfi>) -> u32 {
        match gbr_flow {
            None => self.default,
            Some(qfi) => self
                .guaranteed
                .iter()
                .find(|(q, _)| *q == qfi)
                .map_or(NONE, |(_, at)| *at),
        }
    }
}

/// Where an instance is.
#[derive(Debug)]
struct Place<P> {
    /// When its earliest entry in `timers` falls due.
    armed: Instant,
    instance: Option<Box<Instance<P>>>,
}

/// vAQM for any number of sessions.
#[derive(Debug)]
pub struct Vaqm<P> {
    /// The function's parameters, then those that instances have in place of them.
    configs: Vec<VaqmConfig>,
    /// Where in `configs` the parameters of a session (`None`) or of a GBR flow are; of all others, at 0.
    own: BTreeMap<(UeId, Option<Qfi>), u32>,
    ues: Vec<Ue>,
    places: Vec<Place<P>>,
    free: Vec<u32>,
    timers: BinaryHeap<Reverse<(Instant, u32)>>,
    /// By flow, as reports name it.
    congestion: BTreeMap<FlowId, (Instant, u16)>,
    ready: VecDeque<(Direction, P)>,
    ready_at: Instant,
    dropped: VecDeque<(P, DropReason)>,
    held: u64,
    stats: VaqmStats,
    round_trips: Delays,
}

/// Splits the function into one instance and what it shares with the others.
macro_rules! with {
    ($self:ident, $at:expr, |$instance:ident, $cx:ident| $body:expr) => {{
        let $instance = $self.places[$at as usize]
            .instance
            .as_mut()
            .expect("an index in use holds an instance");
        let $cx = &mut Shared {
            config: &$self.configs[$instance.config as usize],
            congestion: &$self.congestion,
            ready: &mut $self.ready,
            dropped: &mut $self.dropped,
            held: &mut $self.held,
            stats: &mut $self.stats,
            round_trips: &mut $self.round_trips,
        };
        $body
    }};
}

impl<P: PacketView> Vaqm<P> {
    /// No session yet.
    pub fn new(config: VaqmConfig) -> Self {
        Self {
            configs: vec![config],
            own: BTreeMap::new(),
            ues: Vec::new(),
            places: Vec::new(),
            free: Vec::new(),
            timers: BinaryHeap::new(),
            congestion: BTreeMap::new(),
            ready: VecDeque::new(),
            ready_at: Instant::ZERO,
            dropped: VecDeque::new(),
            held: 0,
            stats: VaqmStats {
                passed: 0,
                held: 0,
                dropped: 0,
                marked: 0,
                policed: 0,
                pushed: 0,
                unknown: 0,
            },
            round_trips: Delays::default(),
        }
    }

    /// The function's parameters, which hold for every instance without some of its own.
    pub fn config(&self) -> &VaqmConfig {
        &self.configs[0]
    }

    /// The parameters of the instance of a session, or of its GBR flow.
    pub fn config_of(&self, ue: UeId, gbr_flow: Option<Qfi>) -> &VaqmConfig {
        let at = self.own.get(&(ue, gbr_flow)).copied().unwrap_or(0);
        &self.configs[at as usize]
    }

    /// Gives the instance of a session, or of its GBR flow, parameters of its own (the article: instances "can contain
    /// implementations of completely different AQM algorithms or be configured with different default parameters").
    ///
    /// They hold for an instance that is made later, as by [`Session::Up`], and go with [`Session::Down`]; one that is
    /// there keeps what it has. `memory_total` and `auto_sessions` are the function's alone.
    pub fn configure(&mut self, ue: UeId, gbr_flow: Option<Qfi>, config: VaqmConfig) {
        let at = self.place_of(config);
        self.own.insert((ue, gbr_flow), at);
    }

    /// Where in `configs` the parameters stand.
    fn place_of(&mut self, config: VaqmConfig) -> u32 {
        let config = VaqmConfig {
            memory_total: self.configs[0].memory_total,
            auto_sessions: self.configs[0].auto_sessions,
            ..config
        };
        let known = self.configs.iter().skip(1).position(|c| *c == config);
        if let Some(at) = known {
            return at as u32 + 1;
        }
        let mut used = vec![false; self.configs.len()];
        used[0] = true;
        let instances = self.places.iter().filter_map(|p| p.instance.as_ref());
        let theirs = instances
            .map(|i| i.config)
            .chain(self.own.values().copied());
        for at in theirs {
            used[at as usize] = true;
        }
        // Each session may have others: those of the ones that went are written over.
        if let Some(at) = used.iter().position(|used| !used) {
            self.configs[at] = config;
            return at as u32;
        }
        self.configs.push(config);
        self.configs.len() as u32 - 1
    }

    /// Forgets reports that no longer hold where a new flow would be one too many.
    fn make_room(&mut self, now: Instant) {
        if self.congestion.len() >= FLOWS {
            let hold = self.configs.iter().map(|c| c.l4s.report_age).max();
            let hold = hold.unwrap_or_default();
            self.congestion.retain(|_, (at, _)| now.since(*at) <= hold);
        }
    }

    /// Changes the parameters of an instance that is there; `None` gives it the function's. What waits in it stays, in its
    /// order, and so does what it has learned of the path.
    pub fn reconfigure(
        &mut self,
        now: Instant,
        ue: UeId,
        gbr_flow: Option<Qfi>,
        config: Option<VaqmConfig>,
    ) {
        let config = config.map_or(0, |config| self.place_of(config));
        if config == 0 {
            self.own.remove(&(ue, gbr_flow));
        } else {
            self.own.insert((ue, gbr_flow), config);
        }
        if let Some(at) = self.find(ue, gbr_flow) {
            self.change(now, at, config);
        }
    }

    /// Changes the function's parameters, for all instances without some of their own. What waits stays.
    pub fn set_config(&mut self, now: Instant, config: VaqmConfig) {
        self.configs[0] = VaqmConfig {
            auto_sessions: self.configs[0].auto_sessions,
            ..config
        };
        for at in 0..self.places.len() as u32 {
            let instance = self.places[at as usize].instance.as_ref();
            if instance.is_some_and(|i| i.config == 0) {
                self.change(now, at, 0);
            }
        }
    }

    fn change(&mut self, now: Instant, at: u32, config: u32) {
        let ready = self.ready.len();
        if let Some(instance) = &mut self.places[at as usize].instance {
            instance.config = config;
        }
        with!(self, at, |instance, cx| {
            instance.reconfigured(now, cx.config);
            instance.service(now, cx);
        });
        if self.ready.len() > ready {
            self.note_ready(now, ready);
        }
        self.arm(now, at);
    }

    /// Lets out all that waits, whatever rates and laws say: the function is about to go.
    pub fn let_all_out(&mut self, now: Instant) {
        let ready = self.ready.len();
        for at in 0..self.places.len() {
            if self.places[at].instance.is_some() {
                with!(self, at, |instance, cx| instance.empty(cx));
            }
        }
        if self.ready.len() > ready {
            self.note_ready(now, ready);
        }
    }

    /// True where each packet of a session would leave at once and without a mark, so that it may take another way; its GBR flows
    /// have none. [`Vaqm::on_bypassed`] is then to hear of each.
    pub fn rests(&self, now: Instant, ue: UeId) -> bool {
        let entry = self.ues.get(ue.index());
        let alone = entry.is_some_and(|ue| ue.guaranteed.is_empty());
        alone
            && self
                .instance(ue, None)
                .is_some_and(|i| i.rests(now, self.config_at(i.config)))
    }

    fn config_at(&self, at: u32) -> &VaqmConfig {
        &self.configs[at as usize]
    }

    /// A packet of a session that rests passed by another way at the time `now`, of which `packet` may have the headers alone.
    /// True where the next may do so too.
    pub fn on_bypassed<Q: PacketView>(
        &mut self,
        now: Instant,
        direction: Direction,
        ue: UeId,
        packet: &Q,
    ) -> bool {
        let Some(at) = self.find(ue, None) else {
            return false;
        };
        let ready = self.ready.len();
        let rests = with!(self, at, |instance, cx| {
            match direction {
                Direction::Down => instance.on_bypassed(now, packet, cx),
                Direction::Up => instance.on_up(now, packet, cx),
            }
            instance.rests(now, cx.config)
        });
        if self.ready.len() > ready {
            self.note_ready(now, ready);
        }
        self.arm(now, at);
        rests
    }

    /// Counters.
    pub const fn stats(&self) -> &VaqmStats {
        &self.stats
    }

    /// The round trips between here and the UEs that were measured, all instances together.
    pub const fn round_trips(&self) -> &Delays {
        &self.round_trips
    }

    fn find(&self, ue: UeId, gbr_flow: Option<Qfi>) -> Option<u32> {
        let at = self.ues.get(ue.index())?.get(gbr_flow);
        (at != NONE).then_some(at)
    }

    fn instance(&self, ue: UeId, gbr_flow: Option<Qfi>) -> Option<&Instance<P>> {
        let at = self.find(ue, gbr_flow)?;
        self.places[at as usize].instance.as_deref()
    }

    /// An instance at present, for plots.
    pub fn snapshot(&self, ue: UeId, gbr_flow: Option<Qfi>) -> Option<Snapshot> {
        Some(self.instance(ue, gbr_flow)?.snapshot())
    }

    /// Memory that an instance owns, in bytes.
    pub fn memory_of(&self, ue: UeId, gbr_flow: Option<Qfi>) -> Option<usize> {
        Some(self.instance(ue, gbr_flow)?.memory())
    }

    fn make(&mut self, now: Instant, ue: UeId, gbr_flow: Option<Qfi>) -> u32 {
        if let Some(at) = self.find(ue, gbr_flow) {
            return at;
        }
        let config = self.own.get(&(ue, gbr_flow)).copied().unwrap_or(0);
        let mut instance = Instance::new(now, ue, gbr_flow, &self.configs[config as usize]);
        instance.config = config;
        let instance = Box::new(instance);
        let at = self.free.pop().unwrap_or(self.places.len() as u32);
        let place = Place {
            armed: Instant::MAX,
            instance: Some(instance),
        };
        if let Some(old) = self.places.get_mut(at as usize) {
            *old = place;
        } else {
            self.places.push(place);
        }
        if self.ues.len() <= ue.index() {
            self.ues.resize_with(ue.index() + 1, || Ue::EMPTY);
        }
        let entry = &mut self.ues[ue.index()];
        match gbr_flow {
            None => entry.default = at,
            Some(qfi) => entry.guaranteed.push((qfi, at)),
        }
        at
    }

    fn remove(&mut self, ue: UeId, gbr_flow: Option<Qfi>) {
        self.own.remove(&(ue, gbr_flow));
        let Some(at) = self.find(ue, gbr_flow) else {
            return;
        };
        with!(self, at, |instance, cx| instance.close(cx));
        let place = &mut self.places[at as usize];
        place.instance = None;
        place.armed = Instant::MAX;
        self.free.push(at);
        let entry = &mut self.ues[ue.index()];
        match gbr_flow {
            None => entry.default = NONE,
            Some(qfi) => entry.guaranteed.retain(|(q, _)| *q != qfi),
        }
    }

    /// Sees to it that the instance is called when it asks for it.
    fn arm(&mut self, now: Instant, at: u32) {
        let Place { armed, instance } = &mut self.places[at as usize];
        let Some(instance) = instance else {
            return;
        };
        if let Some(due) = instance.due(now)
            && due < *armed
        {
            *armed = due;
            self.timers.push(Reverse((due, at)));
        }
    }

    fn run_timers(&mut self, now: Instant) {
        while let Some(Reverse((due, at))) = self.timers.peek().copied() {
            if due > now {
                break;
            }
            self.timers.pop();
            // An entry that was overtaken, or whose instance is gone.
            let place = &mut self.places[at as usize];
            if place.armed != due {
                continue;
            }
            place.armed = Instant::MAX;
            if place.instance.is_some() {
                with!(self, at, |instance, cx| instance.on_timer(now, cx));
                self.arm(now, at);
            }
        }
    }

    fn note_ready(&mut self, now: Instant, before: usize) {
        if before == 0 {
            self.ready_at = now;
        }
    }

    /// The instance for an uplink packet: the one that knows its flow.
    fn uplink_instance(&mut self, ue: UeId, gbr_flow: Option<Qfi>, key: u32) -> Option<u32> {
        let entry = self.ues.get(ue.index())?;
        let first = entry.get(gbr_flow);
        if entry.guaranteed.is_empty() {
            return (first != NONE).then_some(first);
        }
        let all = entry.guaranteed.iter().map(|(_, at)| *at);
        let candidates: Vec<u32> = [first, entry.default].into_iter().chain(all).collect();
        candidates
            .into_iter()
            .filter(|at| *at != NONE)
            .find(|at| with!(self, *at, |instance, _cx| instance.knows(key)))
            .or((first != NONE).then_some(first))
    }

    fn each_of(&mut self, ue: UeId, mut f: impl FnMut(&mut Instance<P>)) {
        let Some(entry) = self.ues.get(ue.index()) else {
            return;
        };
        let all = std::iter::once(entry.default).chain(entry.guaranteed.iter().map(|(_, at)| *at));
        for at in all.filter(|at| *at != NONE) {
            if let Some(instance) = &mut self.places[at as usize].instance {
                f(instance);
            }
        }
    }
}

impl<P: PacketView> EdgeFunction<P> for Vaqm<P> {
    fn on_packet(&mut self, now: Instant, direction: Direction, ue: UeId, packet: P) -> Verdict<P> {
        self.on_packet_of(now, direction, ue, None, packet)
    }

    fn on_packet_of(
        &mut self,
        now: Instant,
        direction: Direction,
        ue: UeId,
        gbr_flow: Option<Qfi>,
        packet: P,
    ) -> Verdict<P> {
        let ready = self.ready.len();
        let (at, verdict) = match direction {
            Direction::Down => {
                let at = match self.find(ue, gbr_flow).or_else(|| self.find(ue, None)) {
                    Some(at) => at,
                    None if self.config().auto_sessions => self.make(now, ue, None),
                    None => {
                        self.stats.unknown += 1;
                        return Verdict::Forward(packet);
                    }
                };
                (
                    at,
                    with!(self, at, |instance, cx| instance.on_down(now, packet, cx)),
                )
            }
            Direction::Up => {
                let at = match self.uplink_instance(ue, gbr_flow, packet.reverse_key()) {
                    Some(at) => at,
                    None if self.config().auto_sessions => self.make(now, ue, None),
                    None => return Verdict::Forward(packet),
                };
                with!(self, at, |instance, cx| instance.on_up(now, &packet, cx));
                (at, Verdict::Forward(packet))
            }
        };
        if self.ready.len() > ready {
            self.note_ready(now, ready);
        }
        self.arm(now, at);
        verdict
    }

    fn on_report(&mut self, now: Instant, report: &RanReport) {
        let ready = self.ready.len();
        match *report {
            RanReport::Congestion { at, flow, per_10k } => {
                if !self.congestion.contains_key(&flow) {
                    self.make_room(now);
                }
                self.congestion.insert(flow, (at, per_10k));
            }
            RanReport::PathDelay { ue, qfi, rtt, .. } => {
                if let Some(at) = self.find(ue, qfi).or_else(|| self.find(ue, None)) {
                    with!(self, at, |instance, cx| instance
                        .on_path_delay(now, rtt, cx));
                    self.arm(now, at);
                }
            }
            RanReport::PathSwitch { ue } => self.each_of(ue, |i| i.path_switched(now)),
            RanReport::Available {
                at: read,
                ue,
                qfi,
                rate,
                backlog,
            } => {
                if let Some(at) = self.find(ue, qfi).or_else(|| self.find(ue, None)) {
                    with!(self, at, |instance, cx| {
                        instance.offered(Offer {
                            at: read,
                            rate,
                            backlog,
                        });
                        instance.service(now, cx);
                    });
                    self.arm(now, at);
                }
            }
            _ => {}
        }
        if self.ready.len() > ready {
            self.note_ready(now, ready);
        }
    }

    fn on_session(&mut self, now: Instant, session: &Session) {
        match *session {
            Session::Up {
                ue,
                gbr_flow,
                guaranteed,
                maximum,
            } => {
                let at = self.make(now, ue, gbr_flow);
                with!(self, at, |instance, _cx| {
                    debug_assert_eq!((instance.ue, instance.gbr_flow), (ue, gbr_flow));
                    instance.set_rates(now, guaranteed, maximum);
                });
                self.arm(now, at);
            }
            Session::Down { ue, gbr_flow } => self.remove(ue, gbr_flow),
        }
    }

    fn release(&mut self, now: Instant) -> Option<(Direction, P)> {
        if self.ready.is_empty() {
            self.run_timers(now);
            self.ready_at = now;
        }
        self.ready.pop_front()
    }

    fn take_dropped(&mut self) -> Option<(P, DropReason)> {
        self.dropped.pop_front()
    }

    fn next_timer(&self) -> Option<Instant> {
        if !self.ready.is_empty() {
            return Some(self.ready_at);
        }
        self.timers.peek().map(|Reverse((due, _))| *due)
    }

    fn held(&self) -> Bytes {
        let ready: u64 = self.ready.iter().map(|(_, p)| u64::from(p.len())).sum();
        Bytes(self.held + ready)
    }

    fn internals(&self, ue: UeId, out: &mut Vec<(&'static str, f64)>) {
        let Some(s) = self.snapshot(ue, None) else {
            return;
        };
        out.extend([
            ("vaqm_state", f64::from(s.state as u8)),
            ("vaqm_average_ms", s.average.as_millis_f64()),
            ("vaqm_path_ms", s.path.as_millis_f64()),
            ("vaqm_target_ms", s.target.as_millis_f64()),
            ("vaqm_jitter_ms", s.jitter.as_millis_f64()),
            ("vaqm_delivered_mbps", s.delivered.as_mbps()),
            ("vaqm_flight_kb", s.flight.get() as f64 / 1e3),
            ("vaqm_backlog_kb", s.backlog.get() as f64 / 1e3),
        ]);
        if let Some(cap) = s.cap {
            out.push(("vaqm_cap_kb", cap.get() as f64 / 1e3));
        }
        if let Some(rate) = s.rate {
            out.push(("vaqm_rate_mbps", rate.as_mbps()));
        }
    }
}

#[cfg(test)]
mod tests;
