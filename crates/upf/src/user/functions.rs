//! The edge functions on a session's packets: CECC of its cell, then vAQM, then the marking by reports.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::ops::Bound;

use slackwater_core::record::DropReason;
use slackwater_core::{Bytes, Direction, Ecn, Instant, PacketView, Qfi, Rate, UeId};
use slackwater_edge::upf::Delays;
use slackwater_edge::upf::cecc::{Cecc, CeccConfig, Mode as CeccMode};
use slackwater_edge::upf::l4s_marker::{L4sMarker, L4sMarkerConfig};
use slackwater_edge::upf::vaqm::{Mode as VaqmMode, Snapshot, Vaqm, VaqmConfig, VaqmStats};
use slackwater_edge::{EdgeFunction as _, RanReport, Session, Verdict};
use slackwater_wire::pfcp::{Acks, Aqm, EdgeOptions};

use super::packet::UserPacket;

/// Which functions there are.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionConfig {
    /// vAQM, with the parameters of instances that no QER gives others. `None`: none, and downlink rates are policed.
    pub vaqm: Option<VaqmConfig>,
    /// CECC for every session whose QER does not say otherwise.
    pub cecc: Option<CeccConfig>,
    /// Marking by reports where vAQM does none (TS 23.501, 5.37.3).
    pub marker: Option<L4sMarkerConfig>,
}

impl Default for FunctionConfig {
    /// vAQM and the marker, no CECC: it needs reports each millisecond.
    fn default() -> Self {
        Self {
            vaqm: Some(VaqmConfig::default()),
            cecc: None,
            marker: Some(L4sMarkerConfig::default()),
        }
    }
}

/// A CECC: the base station whose reports it reads, and how it keeps frames back.
pub type CellKey = (IpAddr, u8);

/// One vAQM instance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bottleneck {
    /// What the QER's options say.
    pub options: EdgeOptions,
    /// Guaranteed rate; zero for none.
    pub guaranteed: Rate,
    /// Maximum rate; zero for none.
    pub maximum: Rate,
}

/// What the functions are to do with a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// All flows without a guaranteed rate.
    pub session: Bottleneck,
    /// Each flow with one.
    pub guaranteed: Vec<(Qfi, Bottleneck)>,
    /// The CECC that it belongs to.
    pub cell: Option<CellKey>,
}

impl Plan {
    /// Its vAQM instances: that of all flows without a guaranteed rate, then each flow with one.
    fn instances(&self) -> impl Iterator<Item = (Option<Qfi>, Bottleneck)> {
        let flows = self.guaranteed.iter().map(|(q, b)| (Some(*q), *b));
        std::iter::once((None, self.session)).chain(flows)
    }
}

#[derive(Debug)]
struct Cell {
    function: Cecc<UserPacket>,
    sessions: u32,
}

/// What the functions let go.
#[derive(Debug, Default)]
pub struct Done {
    /// Packets that go on, in their order.
    pub ready: VecDeque<UserPacket>,
    /// What became of others.
    pub judged: Judged,
}

/// Packets that the functions dropped or marked, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Dropped by a law.
    pub law: u64,
    /// Dropped for want of room.
    pub full: u64,
    /// Dropped beyond the limit of a flow that does not answer to signals.
    pub unanswering: u64,
    /// Dropped because their session went.
    pub gone: u64,
    /// Marked by a law.
    pub marked_law: u64,
    /// Marked by a report of the radio network.
    pub marked_report: u64,
}

impl Judged {
    fn dropped(&mut self, reason: DropReason) {
        match reason {
            DropReason::NoRoute => self.gone += 1,
            DropReason::Full => self.full += 1,
            _ => self.law += 1,
        }
    }
}

/// All functions.
#[derive(Debug)]
pub struct Functions {
    config: FunctionConfig,
    vaqm: Option<Vaqm<UserPacket>>,
    /// What vAQM had counted when it was last looked at.
    seen: VaqmStats,
    cells: BTreeMap<CellKey, Cell>,
    marker: Option<L4sMarker>,
    /// What they let go since it was taken.
    pub done: Done,
}

/// The CECC that a session of `peer` belongs to.
pub fn cell_of(
    config: &FunctionConfig,
    peer: Option<IpAddr>,
    options: EdgeOptions,
) -> Option<CellKey> {
    let mode = match options.acks {
        Some(Acks::Off) => return None,
        Some(Acks::Paper) => CeccMode::Paper,
        Some(Acks::Credit) => CeccMode::Credit,
        Some(Acks::Hold) => CeccMode::Hold,
        None => config.cecc?.mode,
    };
    (mode != CeccMode::Off).then_some((peer?, mode as u8))
}

const fn mode_of(octet: u8) -> CeccMode {
    const PAPER: u8 = CeccMode::Paper as u8;
    const CREDIT: u8 = CeccMode::Credit as u8;
    match octet {
        PAPER => CeccMode::Paper,
        CREDIT => CeccMode::Credit,
        _ => CeccMode::Hold,
    }
}

/// The parameters of a vAQM instance.
fn vaqm_of(defaults: &VaqmConfig, options: EdgeOptions) -> VaqmConfig {
    let mut config = defaults.clone();
    if let Some(aqm) = options.aqm {
        config.mode = match aqm {
            Aqm::Off => VaqmMode::Measure,
            Aqm::Shaper | Aqm::L4s => VaqmMode::Window,
            Aqm::Direct => VaqmMode::Direct,
        };
        // The shaper's marks are those of classic ECN, but for "the shaper with L4S marking".
        match aqm {
            Aqm::L4s => config.l4s.enabled = true,
            Aqm::Shaper => config.l4s.enabled = false,
            _ => {}
        }
    }
    if let Some(milli) = options.target_milli {
        config.fraction = f64::from(milli.max(1)) / 1_000.0;
    }
    config
}

/// vAQM without a session.
fn vaqm_with(config: VaqmConfig) -> Vaqm<UserPacket> {
    Vaqm::new(VaqmConfig {
        // Sessions are announced.
        auto_sessions: false,
        ..config
    })
}

/// The parameters of an instance that does not have the function's.
fn own_config(defaults: &VaqmConfig, options: EdgeOptions) -> Option<VaqmConfig> {
    (options != EdgeOptions::default()).then(|| vaqm_of(defaults, options))
}

impl Functions {
    /// No session yet.
    pub fn new(config: FunctionConfig) -> Self {
        Self {
            vaqm: config.vaqm.clone().map(vaqm_with),
            seen: VaqmStats::default(),
            cells: BTreeMap::new(),
            marker: config.marker.map(L4sMarker::new),
            config,
            done: Done::default(),
        }
    }

    /// What they were made with.
    pub const fn config(&self) -> &FunctionConfig {
        &self.config
    }

    /// Changes the functions of all sessions, whose plans so far are `plans`. A CECC that is there keeps its parameters until its
    /// last session leaves it, which [`Functions::follow`] sees to; so the mode of a session's CECC changes with its plan.
    pub fn set_config<'a>(
        &mut self,
        now: Instant,
        config: FunctionConfig,
        plans: impl Iterator<Item = (UeId, &'a Plan)>,
    ) {
        if config.marker != self.config.marker {
            self.marker = config.marker.map(L4sMarker::new);
        }
        let changed = config.vaqm != self.config.vaqm;
        self.config = config;
        if changed {
            self.set_vaqm(now, plans);
        }
    }

    fn set_vaqm<'a>(&mut self, now: Instant, plans: impl Iterator<Item = (UeId, &'a Plan)>) {
        let Some(defaults) = &self.config.vaqm else {
            if let Some(vaqm) = &mut self.vaqm {
                vaqm.let_all_out(now);
            }
            self.drain(now);
            self.vaqm = None;
            self.seen = VaqmStats::default();
            return;
        };
        if let Some(vaqm) = &mut self.vaqm {
            vaqm.set_config(now, defaults.clone());
            for (ue, plan) in plans {
                for (gbr_flow, b) in plan.instances() {
                    if let Some(own) = own_config(defaults, b.options) {
                        vaqm.reconfigure(now, ue, gbr_flow, Some(own));
                    }
                }
            }
        } else {
            self.vaqm = Some(vaqm_with(defaults.clone()));
            for (ue, plan) in plans {
                self.follow_vaqm(now, ue, None, Some(plan));
            }
        }
        self.drain(now);
    }

    /// A session came, changed or went.
    pub fn follow(&mut self, now: Instant, ue: UeId, old: Option<&Plan>, new: Option<&Plan>) {
        if old == new {
            return;
        }
        self.follow_vaqm(now, ue, old, new);
        let (before, after) = (old.and_then(|p| p.cell), new.and_then(|p| p.cell));
        if before != after {
            if let Some(key) = before {
                self.leave_cell(now, ue, key);
            }
            if let Some(key) = after {
                let mut config = self.config.cecc.unwrap_or_default();
                config.mode = mode_of(key.1);
                self.cells
                    .entry(key)
                    .or_insert_with(|| Cell {
                        function: Cecc::new(config),
                        sessions: 0,
                    })
                    .sessions += 1;
            }
        }
        self.drain(now);
    }

    fn leave_cell(&mut self, now: Instant, ue: UeId, key: CellKey) {
        let down = Session::Down { ue, gbr_flow: None };
        let Some(cell) = self.cells.get_mut(&key) else {
            return;
        };
        // What waits there goes on.
        cell.function.on_session(now, &down);
        cell.sessions = cell.sessions.saturating_sub(1);
        if cell.sessions == 0 {
            self.release_cell(now, key);
            self.cells.remove(&key);
        }
    }

    fn follow_vaqm(&mut self, now: Instant, ue: UeId, old: Option<&Plan>, new: Option<&Plan>) {
        let Some(vaqm) = &mut self.vaqm else { return };
        let Some(defaults) = &self.config.vaqm else {
            return;
        };
        let instances = |plan: Option<&Plan>| -> Vec<_> {
            plan.into_iter().flat_map(Plan::instances).collect()
        };
        let (old, new) = (instances(old), instances(new));
        for &(gbr_flow, _) in &old {
            if new.iter().all(|(flow, _)| *flow != gbr_flow) {
                vaqm.on_session(now, &Session::Down { ue, gbr_flow });
            }
        }
        for &(gbr_flow, b) in &new {
            let was = old.iter().find(|(flow, _)| *flow == gbr_flow);
            if was.is_some_and(|(_, was)| *was == b) {
                continue;
            }
            let own = own_config(defaults, b.options);
            match was {
                // What waits in the instance stays.
                Some((_, was)) if was.options != b.options => {
                    vaqm.reconfigure(now, ue, gbr_flow, own);
                }
                None => {
                    if let Some(config) = own {
                        vaqm.configure(ue, gbr_flow, config);
                    }
                }
                Some(_) => {}
            }
            let up = Session::Up {
                ue,
                gbr_flow,
                guaranteed: b.guaranteed,
                maximum: b.maximum,
            };
            vaqm.on_session(now, &up);
        }
    }

    /// The path of a session moved to another base station.
    pub fn path_switched(&mut self, now: Instant, ue: UeId) {
        if let Some(vaqm) = &mut self.vaqm {
            vaqm.on_report(now, &RanReport::PathSwitch { ue });
        }
        self.drain(now);
    }

    /// A packet enters; what leaves is in `done`.
    pub fn on_packet(&mut self, now: Instant, cell: Option<CellKey>, packet: UserPacket) {
        let (ue, direction) = (packet.route.ue(), packet.route.direction);
        match direction {
            Direction::Down => {
                let Some(cell) = cell.and_then(|key| self.cells.get_mut(&key)) else {
                    self.shape(now, packet);
                    self.drain(now);
                    return;
                };
                let verdict = cell.function.on_packet(now, direction, ue, packet);
                if let Some(packet) = self.judged(verdict) {
                    self.shape(now, packet);
                }
            }
            Direction::Up => {
                let mut passed = Some(packet);
                if let Some(vaqm) = &mut self.vaqm {
                    let verdict = passed.map(|packet| {
                        let flow = packet.route.gbr_flow;
                        vaqm.on_packet_of(now, direction, ue, flow, packet)
                    });
                    passed = verdict.and_then(|v| self.judged(v));
                }
                if let Some(cell) = cell.and_then(|key| self.cells.get_mut(&key)) {
                    let verdict =
                        passed.map(|packet| cell.function.on_packet(now, direction, ue, packet));
                    passed = verdict.and_then(|v| self.judged(v));
                }
                self.done.ready.extend(passed);
            }
        }
        self.drain(now);
    }

    /// Does what a function decided; the packet, where it goes on. Marks are counted by who made them.
    fn judged(&mut self, verdict: Verdict<UserPacket>) -> Option<UserPacket> {
        match verdict {
            Verdict::Forward(packet) => Some(packet),
            Verdict::Hold => None,
            Verdict::Mark(mut packet) => {
                packet.set_ecn(Ecn::Ce);
                Some(packet)
            }
            Verdict::Drop(_) => {
                let policed = self.vaqm.as_ref().map_or(0, |v| v.stats().policed);
                if policed == self.seen.policed {
                    self.done.judged.law += 1;
                } else {
                    self.seen.policed = policed;
                    self.done.judged.unanswering += 1;
                }
                None
            }
        }
    }

    /// A downlink packet meets vAQM.
    fn shape(&mut self, now: Instant, packet: UserPacket) {
        let Some(vaqm) = &mut self.vaqm else {
            self.mark(now, packet);
            return;
        };
        let route = packet.route;
        let verdict = vaqm.on_packet_of(now, Direction::Down, route.ue(), route.gbr_flow, packet);
        if let Some(packet) = self.judged(verdict) {
            self.mark(now, packet);
        }
    }

    /// A downlink packet meets the marker, where vAQM does not mark.
    fn mark(&mut self, now: Instant, packet: UserPacket) {
        let route = packet.route;
        let marks = self.vaqm.as_ref().is_some_and(|vaqm| {
            let config = vaqm.config_of(route.ue(), route.gbr_flow);
            config.mode != VaqmMode::Measure && config.l4s.enabled
        });
        let Some(marker) = self.marker.as_mut().filter(|_| !marks) else {
            self.done.ready.push_back(packet);
            return;
        };
        let verdict = marker.on_packet(now, Direction::Down, route.ue(), packet);
        self.done.judged.marked_report += u64::from(matches!(verdict, Verdict::Mark(_)));
        if let Some(packet) = self.judged(verdict) {
            self.done.ready.push_back(packet);
        }
    }

    /// The base station `peer` reports.
    pub fn on_report(&mut self, now: Instant, peer: IpAddr, report: &RanReport) {
        if let Some(vaqm) = &mut self.vaqm {
            vaqm.on_report(now, report);
        }
        if let Some(marker) = &mut self.marker {
            slackwater_edge::EdgeFunction::<UserPacket>::on_report(marker, now, report);
        }
        let of_peer = (peer, 0)..=(peer, u8::MAX);
        for (_, cell) in self.cells.range_mut(of_peer) {
            cell.function.on_report(now, report);
        }
    }

    /// Takes out what may go.
    pub fn drain(&mut self, now: Instant) {
        let mut next = self.cells.keys().next().copied();
        while let Some(key) = next {
            self.release_cell(now, key);
            let behind = (Bound::Excluded(key), Bound::Unbounded);
            next = self.cells.range(behind).next().map(|c| *c.0);
        }
        while let Some((_, packet)) = self.vaqm.as_mut().and_then(|v| v.release(now)) {
            self.mark(now, packet);
        }
        if let Some(vaqm) = &mut self.vaqm {
            while let Some((_, reason)) = vaqm.take_dropped() {
                self.done.judged.dropped(reason);
            }
            // Those of the queue and those at once.
            let marked = vaqm.stats().marked;
            self.done.judged.marked_law += marked - self.seen.marked;
            self.seen.marked = marked;
        }
    }

    fn release_cell(&mut self, now: Instant, key: CellKey) {
        loop {
            let Some(cell) = self.cells.get_mut(&key) else {
                return;
            };
            match cell.function.release(now) {
                Some((Direction::Down, packet)) => self.shape(now, packet),
                Some((Direction::Up, packet)) => self.done.ready.push_back(packet),
                None => break,
            }
        }
        if let Some(cell) = self.cells.get_mut(&key) {
            while let Some((_, reason)) = cell.function.take_dropped() {
                self.done.judged.dropped(reason);
            }
        }
    }

    /// When [`Functions::drain`] is due.
    pub fn next_timer(&self) -> Option<Instant> {
        let vaqm = self
            .vaqm
            .as_ref()
            .and_then(slackwater_edge::EdgeFunction::next_timer);
        let cells = self.cells.values().filter_map(|c| c.function.next_timer());
        cells.chain(vaqm).min()
    }

    /// Bytes that they hold.
    pub fn held(&self) -> Bytes {
        let cells = self.cells.values().map(|c| c.function.held().get());
        let vaqm = self.vaqm.as_ref().map_or(0, |v| v.held().get());
        Bytes(cells.sum::<u64>() + vaqm)
    }

    /// An instance of vAQM at present.
    pub fn snapshot(&self, ue: UeId, gbr_flow: Option<Qfi>) -> Option<Snapshot> {
        self.vaqm.as_ref()?.snapshot(ue, gbr_flow)
    }

    /// The parameters of an instance of vAQM.
    pub fn vaqm_config(&self, ue: UeId, gbr_flow: Option<Qfi>) -> Option<&VaqmConfig> {
        self.vaqm.as_ref().map(|v| v.config_of(ue, gbr_flow))
    }

    /// True where no function would hold, mark or drop a packet of the session at present.
    pub fn rests(&self, now: Instant, ue: UeId) -> bool {
        self.vaqm.as_ref().is_none_or(|v| v.rests(now, ue))
    }

    /// A packet passed by another way, of which `packet` may have the headers alone; true where the next may do so too.
    pub fn on_bypassed<Q: PacketView>(
        &mut self,
        now: Instant,
        direction: Direction,
        ue: UeId,
        packet: &Q,
    ) -> bool {
        let vaqm = self.vaqm.as_mut();
        vaqm.is_none_or(|v| v.on_bypassed(now, direction, ue, packet))
    }

    /// The round trips between here and the UEs that vAQM measured; none where there is none.
    pub fn round_trips(&self) -> Delays {
        let measured = self.vaqm.as_ref().map(Vaqm::round_trips);
        measured.copied().unwrap_or_default()
    }

    /// Counters of vAQM.
    pub fn vaqm_stats(&self) -> Option<VaqmStats> {
        self.vaqm.as_ref().map(|v| *v.stats())
    }
}
