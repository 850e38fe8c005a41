//! What the user plane keeps of a session beside its rules.

use std::collections::HashMap;
use std::net::IpAddr;

use slackwater_core::{Bytes, Direction, Duration, Instant, Qfi, Rate};

use super::functions::{Bottleneck, CellKey, FunctionConfig, Plan, cell_of};
use super::meter::Meter;
use crate::rules::{Interface, Pdr, Qer, Rates, RemoteTunnel, Rules};
use crate::sessions::{Seid, Session};

/// A session's traffic in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets that went on.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: Bytes,
    /// Packets beyond a rate, stopped by a gate, or dropped by a rule.
    pub refused: u64,
}

/// What metrics say of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// From the UE.
    pub up: Traffic,
    /// To the UE.
    pub down: Traffic,
    /// When the last packet came.
    pub last: Instant,
}

/// A meter of one direction of a QER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metered {
    /// The QER's number.
    pub qer: u32,
    /// Which way.
    pub direction: Direction,
    /// Where the meter is.
    pub at: u32,
}

/// The state of a session.
#[derive(Clone, Debug)]
pub struct State {
    /// The session.
    pub seid: Seid,
    /// What the edge functions were told.
    pub plan: Option<Plan>,
    /// Its meters.
    pub meters: Vec<Metered>,
    /// The tunnels that packets leave it by.
    pub tunnels: Vec<RemoteTunnel>,
    /// The tunnel towards the UE, the last where there is none now.
    pub access: Option<RemoteTunnel>,
    /// When a downlink packet last had a time stamp (TS 38.415, QMP).
    pub stamped: Option<Instant>,
    /// The radio network has reported what share of its packets to mark.
    pub marks: bool,
    /// Counters.
    pub status: Status,
}

impl State {
    /// A session of which nothing is known.
    pub fn new(seid: Seid) -> Self {
        Self {
            seid,
            plan: None,
            meters: Vec::new(),
            tunnels: Vec::new(),
            access: None,
            stamped: None,
            marks: false,
            status: Status::default(),
        }
    }

    /// The CECC that it belongs to.
    pub fn cell(&self) -> Option<CellKey> {
        self.plan.as_ref()?.cell
    }

    /// Its traffic of a direction.
    pub const fn traffic(&mut self, direction: Direction) -> &mut Traffic {
        match direction {
            Direction::Up => &mut self.status.up,
            Direction::Down => &mut self.status.down,
        }
    }
}

/// The rate of one direction; `None` where there is none.
fn bound(rates: Option<Rates>, direction: Direction) -> Option<Rate> {
    let rates = rates?;
    Some(match direction {
        Direction::Up => rates.up,
        Direction::Down => rates.down,
    })
}

/// A guaranteed downlink rate makes the flow a guaranteed one (TS 23.501, 5.7.1.5); zero guarantees nothing.
pub fn is_guaranteed(qer: &Qer) -> bool {
    bound(qer.guaranteed, Direction::Down).is_some_and(|rate| rate > Rate::ZERO)
}

/// The QERs of a rule.
pub fn qers<'a>(rules: &'a Rules, pdr: &'a Pdr) -> impl Iterator<Item = &'a Qer> {
    pdr.qers.iter().filter_map(|id| rules.qer(*id))
}

/// What packets of a rule are marked with.
pub fn qfi_of(rules: &Rules, pdr: &Pdr) -> Option<Qfi> {
    qers(rules, pdr).find_map(|q| q.qfi)
}

/// The name by which edge functions know the guaranteed flow of a rule. Beyond the 6 bits of a QFI where there is none: the
/// dedicated bearers of an EPC have tunnels in its place.
pub fn gbr_flow_of(rules: &Rules, pdr: &Pdr) -> Option<Qfi> {
    let qer = qers(rules, pdr).find(|q| is_guaranteed(q))?;
    Some(name_of(rules, pdr, qer))
}

fn name_of(rules: &Rules, pdr: &Pdr, qer: &Qer) -> Qfi {
    qer.qfi.or_else(|| qfi_of(rules, pdr)).unwrap_or_else(|| {
        let at = rules.qers.iter().position(|q| q.id == qer.id).unwrap_or(0);
        Qfi(64 + (at % 192) as u8)
    })
}

/// True where `qer` bounds all flows without a guaranteed rate together: the session's AMBR (TS 29.244, 5.4.4; TS 23.501,
/// 5.7.1.6: it does not apply to guaranteed flows).
fn is_ambr(rules: &Rules, qer: &Qer) -> bool {
    let mut of_all = rules
        .pdrs
        .iter()
        .filter(|p| !p.qers.is_empty() && !qers(rules, p).any(is_guaranteed))
        .peekable();
    !is_guaranteed(qer) && of_all.peek().is_some() && of_all.all(|p| p.qers.contains(&qer.id))
}

/// True where vAQM shapes at the maximum of `qer`: downlink, the session's AMBR and the MBR of guaranteed flows.
fn is_shaped(rules: &Rules, qer: &Qer, config: &FunctionConfig) -> bool {
    config.vaqm.is_some() && (is_guaranteed(qer) || is_ambr(rules, qer))
}

/// The tunnel that downlink packets leave by.
pub fn access_tunnel(rules: &Rules) -> Option<RemoteTunnel> {
    rules
        .fars
        .iter()
        .filter(|far| far.destination == Some(Interface::Access))
        .find_map(|far| far.outer)
}

/// What the edge functions are to do with a session.
pub fn plan(rules: &Rules, config: &FunctionConfig) -> Plan {
    let mut plan = Plan::default();
    for qer in &rules.qers {
        let users = rules.pdrs.iter().find(|p| p.qers.contains(&qer.id));
        let Some(pdr) = users else { continue };
        let maximum = bound(qer.maximum, Direction::Down).unwrap_or(Rate::ZERO);
        if is_guaranteed(qer) {
            let qfi = name_of(rules, pdr, qer);
            let bottleneck = Bottleneck {
                options: qer.edge,
                guaranteed: bound(qer.guaranteed, Direction::Down).unwrap_or(Rate::ZERO),
                maximum,
            };
            if plan.guaranteed.iter().all(|(q, _)| *q != qfi) {
                plan.guaranteed.push((qfi, bottleneck));
            }
            continue;
        }
        let session = &mut plan.session;
        if is_ambr(rules, qer) && maximum > Rate::ZERO {
            session.maximum = match session.maximum {
                Rate::ZERO => maximum,
                other => other.min(maximum),
            };
        }
        // The first rule that says anything: one instance stands for all flows without a guaranteed rate.
        let options = &mut session.options;
        options.aqm = options.aqm.or(qer.edge.aqm);
        options.target_milli = options.target_milli.or(qer.edge.target_milli);
        options.acks = options.acks.or(qer.edge.acks);
    }
    let peer = access_tunnel(rules).map(|t| t.address);
    plan.cell = cell_of(config, peer, plan.session.options);
    plan
}

/// Who has a meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Owner {
    /// A QER of one session.
    One(Seid, u32),
    /// The QERs with this correlation number, of one control plane node (TS 29.244, 8.2.10).
    Shared(u32, u32),
}

/// All meters.
#[derive(Debug, Default)]
pub struct Meters {
    /// Each with the number of sessions that use it.
    all: Vec<(Meter, u32)>,
    free: Vec<u32>,
    by_owner: HashMap<(Owner, Direction), u32>,
    owners: HashMap<u32, (Owner, Direction)>,
}

/// How much may pass at once beyond a rate that is policed: what a sender's window and its pauses make of one (a bucket below
/// a round trip's worth holds TCP below the rate; the averaging window of an AMBR is 2 s, TS 23.501, 5.7.1.6).
pub const BURST: Duration = Duration::from_millis(50);

impl Meters {
    /// The meters of a session by its rules; those of `old` that it no longer has go.
    pub fn follow(
        &mut self,
        now: Instant,
        session: &Session,
        config: &FunctionConfig,
        old: &[Metered],
    ) -> Vec<Metered> {
        let rules = &session.rules;
        let mut new = Vec::new();
        for qer in &rules.qers {
            for direction in [Direction::Up, Direction::Down] {
                let Some(rate) = bound(qer.maximum, direction) else {
                    continue;
                };
                // What is shared between sessions is not vAQM's, which has one instance a session. A maximum of zero stops
                // all packets (TS 29.244, 8.2.8): no shaper has that rate, a meter does.
                let shared = qer.correlation.is_some() || rate == Rate::ZERO;
                if direction == Direction::Down && !shared && is_shaped(rules, qer, config) {
                    continue;
                }
                let owner = match qer.correlation {
                    Some(number) => Owner::Shared(session.node, number),
                    None => Owner::One(session.seid, qer.id),
                };
                let at = self.get(now, owner, direction, rate);
                new.push(Metered {
                    qer: qer.id,
                    direction,
                    at,
                });
            }
        }
        self.leave(old);
        new
    }

    fn get(&mut self, now: Instant, owner: Owner, direction: Direction, rate: Rate) -> u32 {
        if let Some(&at) = self.by_owner.get(&(owner, direction)) {
            let (meter, users) = &mut self.all[at as usize];
            meter.set(now, rate, BURST);
            *users += 1;
            return at;
        }
        let entry = (Meter::new(rate, BURST), 1);
        let at = if let Some(at) = self.free.pop() {
            self.all[at as usize] = entry;
            at
        } else {
            self.all.push(entry);
            self.all.len() as u32 - 1
        };
        self.by_owner.insert((owner, direction), at);
        self.owners.insert(at, (owner, direction));
        at
    }

    /// Gives up a session's meters.
    pub fn leave(&mut self, old: &[Metered]) {
        for metered in old {
            let users = &mut self.all[metered.at as usize].1;
            *users -= 1;
            if *users == 0 {
                if let Some(owner) = self.owners.remove(&metered.at) {
                    self.by_owner.remove(&owner);
                }
                self.free.push(metered.at);
            }
        }
    }

    /// True where all meters of `pdr` let a packet of `len` bytes pass; it then counts in each.
    pub fn admit(
        &mut self,
        now: Instant,
        metered: &[Metered],
        pdr: &Pdr,
        direction: Direction,
        len: u32,
    ) -> bool {
        let applies = |m: &&Metered| m.direction == direction && pdr.qers.contains(&m.qer);
        let all = metered
            .iter()
            .filter(applies)
            .all(|m| self.all[m.at as usize].0.admits(now));
        if all {
            self.passed(now, metered, pdr, direction, len);
        }
        all
    }

    /// True where all meters of a session let a packet pass.
    pub fn admit_any(&self, now: Instant, metered: &[Metered]) -> bool {
        let mut all = metered.iter();
        all.all(|m| self.all[m.at as usize].0.admits(now))
    }

    /// A packet of `pdr` passes, here or by another way: it counts in each of its meters.
    pub fn passed(
        &mut self,
        now: Instant,
        metered: &[Metered],
        pdr: &Pdr,
        direction: Direction,
        len: u32,
    ) {
        let applies = |m: &&Metered| m.direction == direction && pdr.qers.contains(&m.qer);
        for m in metered.iter().filter(applies) {
            self.all[m.at as usize].0.pay(now, len);
        }
    }

    /// Meters in use.
    pub fn len(&self) -> usize {
        self.by_owner.len()
    }

    /// True where none is.
    pub fn is_empty(&self) -> bool {
        self.by_owner.is_empty()
    }
}

/// True where `address` is a peer that the session's packets go to.
pub fn names_peer(rules: &Rules, address: IpAddr) -> bool {
    rules
        .fars
        .iter()
        .filter_map(|far| far.outer)
        .any(|tunnel| tunnel.address == address)
}
