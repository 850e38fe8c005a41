//! Sessions whose packets no function holds: what a path outside of this crate, such as one in the kernel, may do with them.
//!
//! Such a path takes only packets whose whole way follows from their addresses: one rule meets them, no queue or quota looks at
//! them one by one. What it forwards it counts, and hands the counts in here.
//!
//! vAQM and meters look at each packet, and have nothing to decide while an instance rests and a rate is kept. Then the path hands in each packet's
//! headers, and when it passed. What passes before that is read may exceed a rate. It is a debt, which later packets pay.

use std::net::{IpAddr, Ipv4Addr};

use slackwater_core::{
    Direction, Ecn, FlowId, Instant, PacketView, Qfi, SackList, SynOptions, TcpHeader, Teid, UeId,
};
use slackwater_edge::RanReport;
use slackwater_wire::pfcp::trigger;
use slackwater_wire::{IpPacket, IpView};

use super::packet::flow_of;
use super::{State, User, state};
use crate::rules::{Action, Far, Interface, Pdr, Rules, Urr};
use crate::sessions::{Seid, Session, Sessions};
use crate::usage::Usage;

/// Downlink packets of a UE, and what they get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastDown {
    /// The UE.
    pub ue: Ipv4Addr,
    /// The peer.
    pub peer: Ipv4Addr,
    /// The peer's tunnel.
    pub teid: Teid,
    /// The `QoS` flow of the container; `None` for no container.
    pub qfi: Option<Qfi>,
    /// Reflective `QoS` (TS 38.415, RQI).
    pub reflective: bool,
    /// The six bits of the outer DSCP, at their place in the type of service.
    pub dscp: u8,
    /// The longest packet that needs no answer and no cut.
    pub most: usize,
    /// Who counts them.
    pub urrs: Vec<u32>,
}

/// Uplink packets of a tunnel, which go out as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastUp {
    /// The tunnel here.
    pub teid: Teid,
    /// The only source that they may have.
    pub ue: Ipv4Addr,
    /// The `QoS` flows that they may come in; `None` for every one, and for none.
    pub qfis: Option<Vec<Qfi>>,
    /// Who counts them.
    pub urrs: Vec<u32>,
}

/// What of a session needs nobody here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FastPath {
    /// Downlink.
    pub down: Option<FastDown>,
    /// Uplink.
    pub up: Option<FastUp>,
    /// Someone here is to hear of each packet: vAQM, or a meter ([`crate::Upf::on_bypassed`]).
    pub watched: bool,
}

/// A packet that passed by another way, as vAQM sees it: its headers, and what its session is.
struct Passed<'a> {
    ip: IpView<'a>,
    ue: UeId,
    qfi: Option<Qfi>,
}

impl PacketView for Passed<'_> {
    fn len(&self) -> u32 {
        self.ip.len()
    }
    fn flow_key(&self) -> u32 {
        self.ip.flow_key()
    }
    fn flow(&self) -> Option<FlowId> {
        Some(flow_of(self.ue, self.qfi.unwrap_or(Qfi(0))))
    }
    fn reverse_key(&self) -> u32 {
        self.ip.reverse_key()
    }
    fn ecn(&self) -> Ecn {
        self.ip.ecn()
    }
    /// It has passed: nothing marks it.
    fn set_ecn(&mut self, _: Ecn) {}
    fn tcp(&self) -> Option<TcpHeader> {
        self.ip.tcp()
    }
    fn sack(&self) -> SackList {
        self.ip.sack()
    }
    fn syn_options(&self) -> Option<SynOptions> {
        self.ip.syn_options()
    }
    fn ports(&self) -> Option<(u16, u16)> {
        self.ip.ports()
    }
    fn spin_bit(&self) -> Option<bool> {
        self.ip.spin_bit()
    }
}

/// What a path has forwarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// Packets.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
}

/// True where packets may be counted later, and together: nothing follows from the count or the time of a single one.
fn counts_later(urr: &Urr) -> bool {
    let [a, b, c] = urr.triggers;
    let at_once = u32::from_le_bytes([a, b, c, 0]) & (trigger::START | trigger::STOP);
    let bounded =
        |v: &crate::rules::Volume| v.total.is_some() || v.up.is_some() || v.down.is_some();
    let timed = [
        urr.time_threshold,
        urr.time_quota,
        urr.holding,
        urr.inactivity,
    ];
    at_once == 0
        && !urr.duration
        && !urr.event
        && !bounded(&urr.volume_threshold)
        && !bounded(&urr.volume_quota)
        && timed.iter().all(Option::is_none)
}

/// The FAR of a rule whose packets go on without a gate or a count that looks at each.
fn free<'a>(rules: &'a Rules, pdr: &Pdr, direction: Direction) -> Option<&'a Far> {
    let open = state::qers(rules, pdr).all(|q| match direction {
        Direction::Down => q.gate_down,
        Direction::Up => q.gate_up,
    });
    let counted = pdr.urrs.iter().filter_map(|id| rules.urr(*id));
    let far = pdr.far.and_then(|id| rules.far(id))?;
    (open && counted.into_iter().all(counts_later) && far.action == Action::Forward).then_some(far)
}

/// An address of the UE that meets the rule; a rule without one goes by the session's.
fn address_of(rules: &Rules, pdr: &Pdr) -> Option<Ipv4Addr> {
    match pdr.ue {
        Some(ue) => ue.v4,
        None => rules.pdrs.iter().find_map(|p| p.ue?.v4),
    }
}

impl User {
    /// Lists from now on the sessions whose path may be another one ([`User::take_fast_changes`]).
    pub(crate) fn keep_fast(&mut self, all: impl Iterator<Item = Seid>) {
        self.fast = Some(all.collect());
    }

    /// The sessions that came, changed or went since the last call.
    pub(crate) fn take_fast_changes(&mut self) -> Vec<Seid> {
        self.fast.as_mut().map(core::mem::take).unwrap_or_default()
    }

    pub(super) fn changed_fast(&mut self, seid: Seid) {
        if let Some(fast) = &mut self.fast {
            fast.push(seid);
        }
    }

    /// The marker has heard of a flow: its packets are marked here from now on.
    pub(super) fn heard(&mut self, report: &RanReport) {
        let RanReport::Congestion { flow, .. } = *report else {
            return;
        };
        let ue = UeId(flow.0 >> 6);
        let state = self
            .states
            .get_mut(ue.index())
            .and_then(Option::as_deref_mut);
        if let Some(state) = state.filter(|state| !state.marks) {
            state.marks = true;
            let seid = state.seid;
            self.changed_fast(seid);
        }
    }

    /// What of a session a path may do without this crate.
    pub(crate) fn fast_path(&self, now: Instant, session: &Session) -> FastPath {
        let Some(state) = self.state(session.seid) else {
            return FastPath::default();
        };
        // CECC looks at packets of both directions.
        if state.cell().is_some() || self.acts(now, session) {
            return FastPath::default();
        }
        FastPath {
            down: self.fast_down(&session.rules).filter(|_| !state.marks),
            up: fast_up(&session.rules),
            watched: self.config.functions.vaqm.is_some() || !state.meters.is_empty(),
        }
    }

    /// True where a path would be free, but for what vAQM or a meter does at present.
    pub(crate) fn acts(&self, now: Instant, session: &Session) -> bool {
        let state = self.state(session.seid);
        let within = state.is_none_or(|state| self.meters.admit_any(now, &state.meters));
        !within || !self.functions.rests(now, session.seid.ue())
    }

    /// A path has forwarded a packet of the session, whose first octets are `head`; true where the next may go there too. A packet
    /// that shows no IP header is none that a path takes.
    pub(crate) fn on_bypassed(
        &mut self,
        now: Instant,
        sessions: &Sessions,
        seid: Seid,
        direction: Direction,
        qfi: Option<Qfi>,
        head: &mut [u8],
    ) -> bool {
        let ue = seid.ue();
        let passer = self.passers.get(ue.index()).filter(|p| p.seid == seid);
        let (Some(passer), Ok(ip)) = (passer, IpPacket::new(head)) else {
            return true;
        };
        // Rules and state lie far from here in memory, and only a meter has a question to them.
        let metered = passer.metered;
        if metered {
            self.meter(now, sessions, seid, direction, ip.len());
        }
        let passed = Passed { ip, ue, qfi };
        let rests = self.functions.on_bypassed(now, direction, ue, &passed);
        let within = |state: &State| self.meters.admit_any(now, &state.meters);
        rests && (!metered || self.state(seid).is_none_or(within))
    }

    /// Counts a packet of `len` octets that passed in the meters of its rule.
    fn meter(
        &mut self,
        now: Instant,
        sessions: &Sessions,
        seid: Seid,
        direction: Direction,
        len: u32,
    ) {
        let rules = sessions.get(seid).map(|session| &session.rules);
        let pdr = rules.and_then(|rules| match direction {
            Direction::Down => pdr_down(rules),
            Direction::Up => pdr_up(rules),
        });
        let state = self.states.get(seid.ue().index());
        if let (Some(pdr), Some(Some(state))) = (pdr, state) {
            self.meters.passed(now, &state.meters, pdr, direction, len);
        }
    }

    fn fast_down(&self, rules: &Rules) -> Option<FastDown> {
        let pdr = pdr_down(rules)?;
        let ue = address_of(rules, pdr).filter(|_| pdr.filters.is_empty())?;
        let far = free(rules, pdr, Direction::Down)?;
        let tunnel = far.outer?;
        let IpAddr::V4(peer) = tunnel.address else {
            return None;
        };
        let qfi = state::qfi_of(rules, pdr);
        if self.config.measure.is_some() || qfi.is_some_and(|q| q.0 > 63) {
            return None;
        }
        Some(FastDown {
            ue,
            peer,
            teid: tunnel.teid,
            qfi,
            reflective: state::qers(rules, pdr).any(|q| q.reflective),
            dscp: far.marking.map_or(0, |(value, mask)| value & mask) & !0b11,
            most: self.room_in(tunnel, qfi),
            urrs: pdr.urrs.clone(),
        })
    }

    /// Counts what a path has forwarded of a session.
    pub(crate) fn add_forwarded(
        &mut self,
        now: Instant,
        usage: &mut Usage,
        seid: Seid,
        direction: Direction,
        urrs: &[u32],
        what: Forwarded,
    ) {
        if what.packets == 0 {
            return;
        }
        let counters = &mut self.counters;
        let [came, left, kernel] = match direction {
            Direction::Down => [
                &mut counters.n6_in,
                &mut counters.n3_out,
                &mut counters.kernel_down,
            ],
            Direction::Up => [
                &mut counters.n3_in,
                &mut counters.n6_out,
                &mut counters.kernel_up,
            ],
        };
        for counter in [came, left, kernel] {
            *counter += what.packets;
        }
        usage.on_forwarded(now, seid, urrs, direction, what);
        if let Some(state) = self.state_mut(seid) {
            state.status.last = now;
            let traffic = state.traffic(direction);
            traffic.packets += what.packets;
            traffic.bytes.0 += what.bytes;
        }
    }

    /// Counts packets that a path had no room for.
    pub(crate) const fn add_no_room(&mut self, packets: u64) {
        self.counters.no_room += packets;
    }
}

/// The rule of highest precedence that a packet from the data network can meet.
fn pdr_down(rules: &Rules) -> Option<&Pdr> {
    let mut pdrs = rules.pdrs.iter();
    pdrs.find(|p| p.tunnel.is_none() && matches!(p.source, Interface::Core | Interface::SgiLan))
}

/// The rule of highest precedence that a packet of the first tunnel can meet: that tunnel's first.
fn pdr_up(rules: &Rules) -> Option<&Pdr> {
    rules.pdrs.iter().find(|p| p.tunnel.is_some())
}

fn fast_up(rules: &Rules) -> Option<FastUp> {
    let pdr = pdr_up(rules)?;
    let tunnel = pdr.tunnel?;
    let ue = address_of(rules, pdr).filter(|_| pdr.filters.is_empty())?;
    let far = free(rules, pdr, Direction::Up)?;
    let plain = matches!(far.destination, Some(Interface::Core | Interface::SgiLan));
    if pdr.source != Interface::Access || !pdr.remove_outer || far.outer.is_some() || !plain {
        return None;
    }
    Some(FastUp {
        teid: tunnel.teid,
        ue,
        qfis: (!pdr.qfis.is_empty()).then(|| pdr.qfis.clone()),
        urrs: pdr.urrs.clone(),
    })
}

#[cfg(test)]
#[path = "fast/tests.rs"]
mod tests;
