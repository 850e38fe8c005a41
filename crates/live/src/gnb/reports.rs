//! The cell's reports as messages of GTP-U (docs/wire.md).

use std::net::SocketAddr;

use slackwater_core::{FlowId, Instant, Qfi, Teid, UeId};
use slackwater_edge::gnb::RlcReporter;
use slackwater_signal::RanReport;
use slackwater_wire::gtpu::extension::{MAX_CONTENT, NR_RAN_CONTAINER};
use slackwater_wire::gtpu::report::{FlowCounters, Packer, Scope, Tunnels, counted};
use slackwater_wire::gtpu::{Header, NtpClock};

use super::description::{Gnb, Profile};
use super::path::Paths;

/// Who has which tunnel.
#[derive(Debug)]
struct Names {
    /// By UE: uplink tunnel, and the `QoS` flow by which each bearer is named.
    ues: Vec<(Teid, Vec<Qfi>)>,
    /// By place.
    qfis: Vec<Qfi>,
    /// By place.
    owners: Vec<u32>,
    /// The world's flows for each place.
    each: u32,
}

impl Names {
    fn place(&self, flow: FlowId) -> Option<usize> {
        let place = (flow.0 / self.each) as usize;
        (place < self.qfis.len()).then_some(place)
    }

    /// The UE that `report` is about.
    fn ue(&self, report: &RanReport) -> Option<u32> {
        match *report {
            RanReport::Congestion { flow, .. } => Some(self.owners[self.place(flow)?]),
            RanReport::Backlog { ue, .. }
            | RanReport::LinkState { ue, .. }
            | RanReport::SlotPattern { ue, .. }
            | RanReport::PathDelay { ue, .. }
            | RanReport::Available { ue, .. } => Some(ue.0),
            _ => None,
        }
    }
}

impl Tunnels for Names {
    fn session(&self, ue: UeId) -> Option<Teid> {
        self.ues.get(ue.index()).map(|u| u.0)
    }

    fn flow(&self, flow: FlowId) -> Option<(Teid, Qfi)> {
        if let Some((ue, bearer)) = RlcReporter::bearer_of(flow) {
            let (teid, bearers) = self.ues.get(ue.index())?;
            return Some((*teid, *bearers.get(bearer.index())?));
        }
        let place = self.place(flow)?;
        let owner = self.ues.get(self.owners[place] as usize)?;
        Some((owner.0, self.qfis[place]))
    }
}

/// Where the reports of some UEs go.
#[derive(Debug)]
struct Group {
    /// The tunnel of profile C.
    multi: Option<(SocketAddr, Teid)>,
    /// The user plane function of the UEs' uplink.
    uplink: SocketAddr,
    ues: Vec<u32>,
}

/// What the reporter did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Messages of profiles B and C.
    pub messages: u64,
    /// Reports in them.
    pub reports: u64,
    /// Counters of flows in messages of their own.
    pub counters: u64,
    /// Reports and counters that the profile has no field for, or of a bearer without a `QoS` flow.
    pub skipped: u64,
}

/// Turns reports into messages.
#[derive(Debug)]
pub(super) struct Reporter {
    profile: Profile,
    names: Names,
    groups: Vec<Group>,
    seq: u32,
    clock: NtpClock,
    pub(super) done: Reported,
    batch: Vec<RanReport>,
}

impl Reporter {
    /// The driver's clock starts anew.
    pub(super) const fn start(&mut self, clock: NtpClock) {
        self.clock = clock;
    }

    /// `bearers` has for each UE the `QoS` flow by which each of its bearers is named.
    pub(super) fn new(gnb: &Gnb, bearers: Vec<Vec<Qfi>>, clock: NtpClock) -> Self {
        let places = gnb.places();
        let mut groups: Vec<Group> = Vec::new();
        let mut ues = Vec::new();
        for ((k, ue), bearers) in (0..).zip(&gnb.ue).zip(bearers) {
            let multi = ue.reports.as_ref().or(gnb.reports.to.as_ref());
            let multi = multi.map(|end| (end.socket(), end.tunnel()));
            let uplink = ue.uplink.socket();
            let alike = |g: &&mut Group| g.multi == multi && g.uplink == uplink;
            match groups.iter_mut().find(alike) {
                Some(group) => group.ues.push(k),
                None => groups.push(Group {
                    multi,
                    uplink,
                    ues: vec![k],
                }),
            }
            ues.push((ue.uplink.tunnel(), bearers));
        }
        Self {
            profile: gnb.reports.profile,
            names: Names {
                ues,
                qfis: places.iter().map(|p| p.qfi).collect(),
                owners: places.iter().map(|p| p.ue).collect(),
                each: gnb.flows,
            },
            groups,
            seq: 0,
            clock,
            done: Reported::default(),
            batch: Vec::new(),
        }
    }

    /// The place and the share of each congestion report in `message`: what profile A carries.
    pub(super) fn congestion(&self, message: &[RanReport]) -> impl Iterator<Item = (usize, u16)> {
        message.iter().filter_map(|report| match *report {
            // All flows of a place have one queue.
            RanReport::Congestion { flow, per_10k, .. } if flow.0 % self.names.each == 0 => {
                Some((self.names.place(flow)?, per_10k))
            }
            _ => None,
        })
    }

    /// True where the reports of the UE `ue` travel in containers of its packets (profile A).
    pub(super) fn in_containers(&self, ue: u32, paths: &Paths) -> bool {
        let group = self.groups.iter().find(|g| g.ues.contains(&ue));
        group.is_some_and(|g| self.resolve(g, paths) == Profile::Container)
    }

    /// The profile of a group: `auto` goes by what the peer said that it reads.
    fn resolve(&self, group: &Group, paths: &Paths) -> Profile {
        if self.profile != Profile::Auto {
            return self.profile;
        }
        let reads = |at| paths.reads(at).unwrap_or_default();
        match group.multi {
            Some((to, _)) if reads(to).multi => Profile::Multi,
            _ if reads(group.uplink).session => Profile::Session,
            _ => Profile::Container,
        }
    }

    /// Writes `message`, the reports of one time, and hands each datagram with its destination to `send`.
    pub(super) fn write(
        &mut self,
        message: &[RanReport],
        paths: &Paths,
        mut send: impl FnMut(SocketAddr, Vec<u8>),
    ) {
        self.seq = self.seq.wrapping_add(1);
        let mut batch = core::mem::take(&mut self.batch);
        for k in 0..self.groups.len() {
            let group = &self.groups[k];
            let ways = self.ways(group, paths);
            if ways.is_empty() {
                continue;
            }
            batch.clear();
            batch.extend(message.iter().filter_map(|r| self.of_group(group, r)));
            if batch.is_empty() {
                continue;
            }
            let (clock, seq) = (self.clock, self.seq);
            let mut done = self.done;
            for (to, teid, scope) in ways {
                let packer = Packer::new(&batch, scope, &self.names, clock, seq, MAX_CONTENT);
                // More than 255 frames: nobody has so many bearers.
                let Ok(mut packer) = packer else {
                    done.skipped += batch.len() as u64;
                    continue;
                };
                done.reports += (batch.len() - packer.skipped()) as u64;
                if scope == Scope::Multi {
                    // In profile B those of other sessions travel elsewhere.
                    done.skipped += packer.skipped() as u64;
                }
                let mut content = [0; MAX_CONTENT];
                while let Ok(Some(n)) = packer.next_frame(&mut content) {
                    if let Some(out) = container(teid, &content[..n]) {
                        done.messages += 1;
                        send(to, out);
                    }
                }
            }
            self.done = done;
        }
        self.batch = batch;
    }

    /// Writes what was counted of flows, each with the number of its UE, and hands each datagram with its destination to `send`.
    pub(super) fn write_counters(
        &mut self,
        all: &[(u32, FlowCounters)],
        paths: &Paths,
        mut send: impl FnMut(SocketAddr, Vec<u8>),
    ) {
        let mut done = self.done;
        for group in &self.groups {
            let own = all.iter().filter(|c| group.ues.contains(&c.0));
            let batch: Vec<_> = own
                .map(|(ue, counters)| (self.names.ues[*ue as usize].0, *counters))
                .collect();
            let mut left = batch.len();
            for (to, teid, scope) in self.ways(group, paths) {
                let of_scope = |c: &&(Teid, FlowCounters)| match scope {
                    Scope::Session(own) => c.0 == own,
                    Scope::Multi => true,
                };
                let own: Vec<_> = batch.iter().filter(of_scope).copied().collect();
                let skipped = counted::frames(&own, scope, MAX_CONTENT, |content| {
                    if let Some(out) = container(teid, content) {
                        done.messages += 1;
                        send(to, out);
                    }
                });
                let written = own.len() - skipped;
                done.counters += written as u64;
                left -= written;
            }
            done.skipped += left as u64;
        }
        self.done = done;
    }

    /// The tunnels that a group's reports of profiles B and C travel by, and whose reports each carries; none for profile A.
    fn ways(&self, group: &Group, paths: &Paths) -> Vec<(SocketAddr, Teid, Scope)> {
        match (self.resolve(group, paths), group.multi) {
            (Profile::Multi, Some((to, teid))) => vec![(to, teid, Scope::Multi)],
            (Profile::Session, _) => {
                let teids = group.ues.iter().map(|u| self.names.ues[*u as usize].0);
                teids
                    .map(|t| (group.uplink, t, Scope::Session(t)))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// `report` as the group hears it. The slots of the cell are told to each group, as of its first UE.
    fn of_group(&self, group: &Group, report: &RanReport) -> Option<RanReport> {
        let mut report = *report;
        match &mut report {
            RanReport::SlotPattern { ue, .. } => *ue = UeId(group.ues[0]),
            RanReport::Congestion { flow, .. } if flow.0 % self.names.each != 0 => return None,
            _ => {}
        }
        let ue = self.names.ue(&report)?;
        group.ues.contains(&ue).then_some(report)
    }
}

/// An empty G-PDU for the tunnel `teid` with a frame of NR-U; `None` where it is too long.
fn container(teid: Teid, frame: &[u8]) -> Option<Vec<u8>> {
    // Header, extension header and its padding.
    let mut out = vec![0; frame.len() + 20];
    let extension = [(NR_RAN_CONTAINER, frame)];
    let length = Header::g_pdu(teid).write(&extension, 0, &mut out).ok()?;
    out.truncate(length);
    Some(out)
}

/// Splits what left the world into messages: the reports of one time.
pub(super) fn messages(
    reports: impl Iterator<Item = (Instant, RanReport)>,
    mut each: impl FnMut(&[RanReport]),
) {
    let mut message: Vec<RanReport> = Vec::new();
    let mut of = Instant::ZERO;
    for (at, report) in reports {
        if at != of && !message.is_empty() {
            each(&message);
            message.clear();
        }
        of = at;
        message.push(report);
    }
    if !message.is_empty() {
        each(&message);
    }
}
