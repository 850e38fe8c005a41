//! The user plane: packets of N3, N9 and N6 through the rules of their sessions (TS 29.244, 5.2; TS 29.281).
//!
//! A packet that comes meets [`classify`]: tunnel or address, then the rule of highest precedence. Gates and meters of its QERs
//! follow, then the edge functions ([`functions`]), which may keep it. Where it goes is looked up
//! when it leaves (`send`): a handover meanwhile takes it along.

pub mod buffer;
pub mod classify;
pub mod counters;
pub mod ecn;
pub mod fast;
mod fragments;
pub mod functions;
pub mod icmp;
mod keep;
pub mod meter;
mod n3;
mod n6;
pub mod packet;
mod reports;
mod send;
mod signalling;
pub mod state;

use std::collections::{HashMap, VecDeque};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use slackwater_core::{Bytes, Direction, Duration, Instant, PacketView as _};
use slackwater_edge::RanReport;
use slackwater_edge::upf::Delays;
use slackwater_wire::gtpu::NtpClock;
use slackwater_wire::gtpu::report::{FlowCounters, Units};

pub use buffer::Buf;
pub use counters::Counters;
pub use functions::{FunctionConfig, Functions};
pub use state::{Status, Traffic};

use crate::rules::{Action, Pdr, RemoteTunnel};
use crate::sessions::{Change, Seid, Session, Sessions};
use crate::usage::Usage;
use fragments::Decisions;
use keep::Kept;
use meter::Often;
use packet::UserPacket;
use reports::Sequences;
use state::{Meters, State};

/// What the user plane is told.
#[derive(Clone, Debug, PartialEq)]
pub struct UserConfig {
    /// Our IPv4 address on N3 and N9.
    pub n3_v4: Option<Ipv4Addr>,
    /// Our IPv6 address on N3 and N9.
    pub n3_v6: Option<Ipv6Addr>,
    /// Octets of an IP packet that N3 carries whole, outer headers included.
    pub n3_mtu: usize,
    /// Who sends ICMP on N6.
    pub n6: icmp::Sources,
    /// The edge functions.
    pub functions: FunctionConfig,
    /// How often a downlink packet of a session has a time stamp, for the radio network to measure by (TS 38.415, QMP);
    /// `None` for never.
    pub measure: Option<Duration>,
    /// The clock of time stamps.
    pub clock: NtpClock,
    /// What base stations count in.
    pub units: Units,
    /// The age beyond which a report of the radio network is not used.
    pub report_age: Duration,
    /// Counters of flows are kept for [`User::take_counted`].
    pub counters: bool,
    /// Bytes that may be buffered for UEs that are not reached, all together.
    pub buffer: Bytes,
    /// Packets that may be buffered for a session whose BAR says nothing.
    pub buffer_packets: u16,
}

impl Default for UserConfig {
    fn default() -> Self {
        Self {
            n3_v4: None,
            n3_v6: None,
            n3_mtu: 1_500,
            n6: icmp::Sources::default(),
            functions: FunctionConfig::default(),
            measure: None,
            clock: NtpClock::default(),
            units: Units::default(),
            report_age: Duration::from_millis(200),
            counters: false,
            buffer: Bytes(64 << 20),
            buffer_packets: 128,
        }
    }
}

/// What leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A UDP datagram on N3 or N9.
    N3 {
        /// To whom.
        to: SocketAddr,
        /// Type of service or traffic class of the outer header, its ECN field in the two low bits.
        tos: u8,
        /// The GTP-U message.
        bytes: Buf,
    },
    /// An IP packet for the data network.
    N6(Buf),
    /// A PFCP message.
    N4 {
        /// To whom.
        to: SocketAddr,
        /// The message.
        bytes: Vec<u8>,
    },
}

/// What the control plane is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet is buffered, and the rule asks for a notice (TS 29.244, 5.2.3.1).
    Data {
        /// The session.
        seid: Seid,
        /// The rule that the packet met.
        pdr: u16,
    },
    /// The peer has no such tunnel (TS 29.281, 7.3.1; TS 29.244, 5.3.1, error indication report).
    ErrorIndication {
        /// The session.
        seid: Seid,
        /// The tunnel.
        tunnel: RemoteTunnel,
    },
}

/// Events that wait at most; an error indication that is left out comes again with the next packet.
const EVENTS: usize = 4_096;

/// A session whose packets may pass by a path outside.
#[derive(Clone, Copy, Debug)]
struct Passer {
    seid: Seid,
    /// A meter counts its packets.
    metered: bool,
}

impl Passer {
    const NONE: Self = Self {
        seid: Seid(0),
        metered: false,
    };
}

/// The user plane of all sessions.
#[derive(Debug)]
pub struct User {
    config: UserConfig,
    /// By the session's place ([`Seid::ue`]).
    states: Vec<Option<Box<State>>>,
    /// In the same order, what each packet of a path outside needs of them: close together, as thousands of states are not.
    passers: Vec<Passer>,
    meters: Meters,
    functions: Functions,
    kept: Kept,
    decisions: Decisions,
    sequences: Sequences,
    /// The sessions that send into a peer's tunnel.
    peers: HashMap<RemoteTunnel, Seid>,
    out: VecDeque<Output>,
    events: VecDeque<Event>,
    /// Sessions whose path outside may be another one; `None` where there is no such path.
    fast: Option<Vec<Seid>>,
    counters: Counters,
    /// What packets waited here, down and up.
    delays: [Delays; 2],
    icmp_often: Often,
    error_often: Often,
    notify_often: Often,
    /// Scratch: the reports of one message.
    read: Vec<RanReport>,
    /// Counters for the senders of flows.
    counted: Vec<FlowCounters>,
}

impl User {
    /// No session yet.
    pub fn new(config: UserConfig) -> Self {
        let often = || Often::new(Duration::from_millis(10), 100);
        Self {
            functions: Functions::new(config.functions.clone()),
            config,
            states: Vec::new(),
            passers: Vec::new(),
            meters: Meters::default(),
            kept: Kept::default(),
            decisions: Decisions::default(),
            sequences: Sequences::default(),
            peers: HashMap::new(),
            out: VecDeque::new(),
            events: VecDeque::new(),
            fast: None,
            counters: Counters::default(),
            delays: [Delays::default(); 2],
            icmp_often: often(),
            error_often: often(),
            notify_often: often(),
            read: Vec::new(),
            counted: Vec::new(),
        }
    }

    /// What it was made with.
    pub const fn config(&self) -> &UserConfig {
        &self.config
    }

    /// Counters of all sessions together.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What packets of a direction that left had waited in the edge functions.
    pub const fn delays(&self, direction: Direction) -> &Delays {
        match direction {
            Direction::Down => &self.delays[0],
            Direction::Up => &self.delays[1],
        }
    }

    /// The edge functions.
    pub const fn functions(&self) -> &Functions {
        &self.functions
    }

    /// What passed of a session.
    pub fn status(&self, seid: Seid) -> Option<Status> {
        self.state(seid).map(|s| s.status)
    }

    /// Changes the edge functions of all sessions.
    pub fn set_functions(
        &mut self,
        now: Instant,
        sessions: &mut Sessions,
        usage: &mut Usage,
        config: FunctionConfig,
    ) {
        self.follow(now, sessions, usage);
        let plans = self.states.iter().flatten();
        let plans = plans.filter_map(|s| Some((s.seid.ue(), s.plan.as_ref()?)));
        self.functions.set_config(now, config.clone(), plans);
        self.config.functions = config;
        // Who polices the downlink, and which CECC has a session, follow from it.
        for session in sessions.iter() {
            self.set(now, sessions, session.seid);
        }
        self.send_ready(now, sessions, usage);
    }

    /// Bytes that wait here: in the edge functions and for UEs that are not reached.
    pub fn held(&self) -> Bytes {
        self.functions.held() + self.kept.bytes()
    }

    fn state(&self, seid: Seid) -> Option<&State> {
        let state = self.states.get(seid.ue().index())?.as_deref()?;
        (state.seid == seid).then_some(state)
    }

    fn state_mut(&mut self, seid: Seid) -> Option<&mut State> {
        let state = self.states.get_mut(seid.ue().index())?.as_deref_mut()?;
        (state.seid == seid).then_some(state)
    }

    /// What leaves next.
    pub fn take_output(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// What the control plane is to be told next.
    pub fn take_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn tell(&mut self, event: Event) {
        if self.events.len() < EVENTS {
            self.events.push_back(event);
        }
    }

    /// When [`User::run`] is due.
    pub fn next_timer(&self) -> Option<Instant> {
        self.functions.next_timer()
    }

    /// Does what is due.
    pub fn run(&mut self, now: Instant, sessions: &mut Sessions, usage: &mut Usage) {
        self.follow(now, sessions, usage);
        self.functions.drain(now);
        self.send_ready(now, sessions, usage);
    }

    /// Does after the control plane what it changed.
    pub fn follow(&mut self, now: Instant, sessions: &mut Sessions, usage: &mut Usage) {
        for change in sessions.take_changes() {
            match change {
                Change::Set(seid) => self.set(now, sessions, seid),
                Change::Gone(seid) => self.gone(now, seid),
                Change::EndMarker { tunnel, .. } => self.send_end_marker(tunnel),
            }
            self.send_ready(now, sessions, usage);
        }
    }

    fn set(&mut self, now: Instant, sessions: &Sessions, seid: Seid) {
        let Some(session) = sessions.get(seid) else {
            return;
        };
        let at = seid.ue().index();
        if self.states.len() <= at {
            self.states.resize_with(at + 1, || None);
            self.passers.resize(at + 1, Passer::NONE);
        }
        let mut state = self.states[at]
            .take()
            .unwrap_or_else(|| Box::new(State::new(seid)));
        let plan = state::plan(&session.rules, &self.config.functions);
        let old = state.plan.take();
        self.functions
            .follow(now, seid.ue(), old.as_ref(), Some(&plan));
        state.plan = Some(plan);
        let meters = core::mem::take(&mut state.meters);
        state.meters = self
            .meters
            .follow(now, session, &self.config.functions, &meters);
        self.forget_peers(&state);
        state.tunnels = session.rules.fars.iter().filter_map(|f| f.outer).collect();
        for tunnel in &state.tunnels {
            self.peers.insert(*tunnel, seid);
        }
        let access = state::access_tunnel(&session.rules);
        let moved = access.is_some() && state.access.is_some() && access != state.access;
        state.access = access.or(state.access);
        self.passers[at] = Passer {
            seid,
            metered: !state.meters.is_empty(),
        };
        self.states[at] = Some(state);
        self.changed_fast(seid);
        if moved {
            // The radio's queue and rate are others now.
            self.functions.path_switched(now, seid.ue());
        }
        self.release_kept(now, session);
    }

    fn gone(&mut self, now: Instant, seid: Seid) {
        let Some(slot) = self.states.get_mut(seid.ue().index()) else {
            return;
        };
        let Some(state) = slot.take_if(|s| s.seid == seid) else {
            return;
        };
        self.passers[seid.ue().index()] = Passer::NONE;
        self.functions
            .follow(now, seid.ue(), state.plan.as_ref(), None);
        self.meters.leave(&state.meters);
        self.forget_peers(&state);
        self.changed_fast(seid);
        self.counters.session_gone += self.kept.forget(seid) as u64;
    }

    fn forget_peers(&mut self, state: &State) {
        for tunnel in &state.tunnels {
            if self.peers.get(tunnel) == Some(&state.seid) {
                self.peers.remove(tunnel);
            }
        }
    }

    /// Packets that met their rule go through gates, meters and the edge functions.
    fn enforce(
        &mut self,
        now: Instant,
        session: &Session,
        pdr: &Pdr,
        packet: UserPacket,
        usage: &mut Usage,
    ) {
        let direction = packet.route.direction;
        let len = packet.len();
        let within = count(usage, now, session, pdr, &packet, false);
        let shut = state::qers(&session.rules, pdr).any(|q| match direction {
            Direction::Up => !q.gate_up,
            Direction::Down => !q.gate_down,
        });
        let Some(state) = self
            .states
            .get_mut(session.seid.ue().index())
            .and_then(Option::as_deref_mut)
        else {
            self.counters.session_gone += 1;
            return;
        };
        state.status.last = now;
        let far = pdr.far.and_then(|id| session.rules.far(id));
        let action = far.map_or(Action::Drop, |f| f.action);
        let refused = if !within {
            Some(&mut self.counters.over_quota)
        } else if shut {
            Some(&mut self.counters.gated)
        } else if action == Action::Drop {
            Some(&mut self.counters.forbidden)
        } else if pdr.tunnel.is_some() && !pdr.remove_outer {
            Some(&mut self.counters.header_kept)
        } else if !self.meters.admit(now, &state.meters, pdr, direction, len) {
            Some(&mut self.counters.metered)
        } else {
            None
        };
        if let Some(counter) = refused {
            *counter += 1;
            state.traffic(direction).refused += 1;
            return;
        }
        if let Action::Buffer { notify } = action {
            self.keep(session, pdr, notify, packet);
            return;
        }
        let cell = state.cell();
        self.functions.on_packet(now, cell, packet);
    }
}

/// Counts a packet to the URRs of its rule: to those that measure before `QoS` is enforced (TS 29.244, 8.2.68, MBQE) when it
/// comes, to the others when it leaves. False where a quota is used up.
fn count(
    usage: &mut Usage,
    now: Instant,
    session: &Session,
    pdr: &Pdr,
    packet: &UserPacket,
    enforced: bool,
) -> bool {
    if pdr.urrs.is_empty() {
        return true;
    }
    let (seid, direction) = (session.seid, packet.route.direction);
    let bytes = Bytes(u64::from(packet.len()));
    usage.on_packet_at(now, seid, &pdr.urrs, direction, bytes, enforced)
}

#[cfg(test)]
mod tests;
