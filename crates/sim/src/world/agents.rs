//! The agents of a cell: what they are shown, and the way of their reports to edge functions.

use std::collections::VecDeque;

use slackwater_core::{BearerId, Bytes, Direction, Draw, Duration, Instant, NodeId, Packet, UeId};
use slackwater_edge::gnb::{CellSlots, CounterAgent, IpScale, ReporterConfig, RlcReporter};
use slackwater_edge::ue::{BlocksMode, TbsAgent};
use slackwater_edge::{Agent, CellView, RanReport, ReportCarrier};
use slackwater_ran::cell::{Cell, CellConfig};
use slackwater_ran::mac::SharePolicy;
use slackwater_ran::tdd::{MIN_PDSCH_SYMBOLS, SYMBOLS};
use slackwater_signal::{GoneView, Observer, PdcpView, ResentView, RlcView, SlotView};

use super::carrier::Faults;
use super::edge::EdgeNode;
use super::gtpu::Gtpu;
use crate::arena::Idx;

/// An agent in a world; see [`WorldBuilder::connect`](crate::WorldBuilder::connect).
#[derive(Clone, Copy, Debug)]
pub struct AgentId {
    /// The node that it observes.
    pub(super) node: NodeId,
    pub(super) kind: AgentKind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum AgentKind {
    /// That of this number at a cell.
    OfCell(usize),
    /// A UE behind a link.
    OfLink(BlocksMode),
    /// What counts the flows of a link.
    CountsLink,
}

/// An agent at a cell.
pub(super) struct Installed {
    pub(super) agent: Box<dyn Agent + Send>,
    /// The edge function that it reports to.
    pub(super) function: Option<ToFunction>,
}

impl Installed {
    /// When [`Agent::poll`] is due next.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        let faults = &self.function.as_ref()?.faults;
        let next = self.agent.next_timer()?;
        (!faults.is_silent(next)).then_some(next)
    }

    /// Sends the message that is due at `now`: its reports go into `out` with the time of their arrival.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        cell: &mut Cell<Packet>,
        message: &mut Vec<RanReport>,
        out: &mut VecDeque<(Instant, RanReport)>,
    ) {
        // A cell that sleeps still hears its UEs: rates are those of now.
        cell.catch_up(now);
        self.agent.poll(now, &mut At::down(now, cell), message);
        if let Some(way) = &mut self.function {
            way.send(now, message, out);
        }
        message.clear();
    }
}

/// A cell as its agents see it.
pub(super) struct At<'a> {
    pub(super) now: Instant,
    pub(super) cell: &'a mut Cell<Packet>,
    /// Which way the data goes that a report is about.
    pub(super) dir: Direction,
}

impl<'a> At<'a> {
    /// For reports about downloads.
    pub(super) const fn down(now: Instant, cell: &'a mut Cell<Packet>) -> Self {
        let dir = Direction::Down;
        Self { now, cell, dir }
    }
}

impl CellView for At<'_> {
    fn ues(&self) -> usize {
        self.cell.ues()
    }
    fn bearers(&self, ue: UeId) -> usize {
        self.cell.bearers(ue)
    }
    fn slot_bytes(&mut self, ue: UeId) -> Bytes {
        self.cell.slot_bytes_at(self.now, self.dir, ue)
    }
    #[inline]
    fn queue(&self, ue: UeId, bearer: BearerId) -> RlcView {
        let view = self.cell.rlc_view(self.now, self.dir, ue, bearer);
        if self.dir == Direction::Up && self.cell.uplink_want(ue) == Bytes::ZERO {
            let hol = Duration::ZERO;
            return RlcView { hol, ..view };
        }
        view
    }
}

/// Several agents, and a guest that is none, see the same slots.
pub(super) struct Watchers<'a> {
    pub(super) agents: &'a mut [Installed],
    pub(super) guest: Option<&'a mut (dyn Observer + Send + 'static)>,
}

impl Observer for Watchers<'_> {
    fn wants_slots(&self) -> bool {
        self.agents.iter().any(|a| a.agent.wants_slots())
            || self.guest.as_ref().is_some_and(|g| g.wants_slots())
    }
    fn on_slot(&mut self, now: Instant, slot: &SlotView<'_>) {
        for installed in self.agents.iter_mut() {
            if installed.agent.wants_slots() {
                installed.agent.on_slot(now, slot);
            }
        }
        if let Some(guest) = &mut self.guest {
            guest.on_slot(now, slot);
        }
    }
    fn on_pdcp(&mut self, now: Instant, packet: &PdcpView) {
        for installed in self.agents.iter_mut() {
            installed.agent.on_pdcp(now, packet);
        }
        if let Some(guest) = &mut self.guest {
            guest.on_pdcp(now, packet);
        }
    }
    fn on_gone(&mut self, now: Instant, packet: &GoneView) {
        for installed in self.agents.iter_mut() {
            installed.agent.on_gone(now, packet);
        }
        if let Some(guest) = &mut self.guest {
            guest.on_gone(now, packet);
        }
    }
    fn on_resent(&mut self, now: Instant, bytes: &ResentView) {
        for installed in self.agents.iter_mut() {
            if installed.agent.wants_slots() {
                installed.agent.on_resent(now, bytes);
            }
        }
        if let Some(guest) = &mut self.guest {
            guest.on_resent(now, bytes);
        }
    }
}

/// What takes messages to a function.
pub(super) enum MessageCarrier {
    /// None: reports leave the world as they are made.
    Outside,
    /// GTP-U between base station and user plane function.
    Gtpu {
        /// What the octets make of the reports.
        gtpu: Gtpu,
        /// One-way delay.
        delay: Duration,
        /// Extra delay, uniform in [0, jitter).
        jitter: Duration,
    },
    /// One from outside.
    Own(Box<dyn ReportCarrier + Send>),
}

/// The way of an agent's messages to an edge function.
pub(super) struct ToFunction {
    /// The function; `None` where it stands outside of the world.
    pub(super) edge: Option<Idx<EdgeNode>>,
    carrier: MessageCarrier,
    faults: Faults,
    draw: Draw,
    /// Messages so far, for the draws.
    count: u64,
    /// The last message, where it may be repeated.
    repeated: Vec<RanReport>,
    /// Arrival of the last message: none overtakes another.
    arrival: Instant,
}

impl ToFunction {
    pub(super) fn new(
        edge: Option<Idx<EdgeNode>>,
        carrier: MessageCarrier,
        faults: Faults,
        draw: Draw,
    ) -> Self {
        Self {
            edge,
            carrier,
            faults,
            draw,
            count: 0,
            repeated: Vec::new(),
            arrival: Instant::ZERO,
        }
    }

    /// Puts what arrives of `message` into `out`.
    fn send(
        &mut self,
        now: Instant,
        message: &mut Vec<RanReport>,
        out: &mut VecDeque<(Instant, RanReport)>,
    ) {
        self.faults
            .distort_message(now, message, &mut self.repeated);
        if message.is_empty() {
            return;
        }
        let key = self.count;
        self.count += 1;
        if self.faults.loses(self.draw, 2 * key) {
            return;
        }
        let arrival = match &mut self.carrier {
            MessageCarrier::Outside => Some(now),
            MessageCarrier::Gtpu {
                gtpu,
                delay,
                jitter,
            } => {
                let late = if jitter.is_zero() {
                    Duration::ZERO
                } else {
                    jitter.mul_f64(self.draw.uniform(2 * key + 1))
                };
                let arrival = now + *delay + late;
                gtpu.cross(arrival, message);
                Some(arrival)
            }
            MessageCarrier::Own(carrier) => carrier.carry(now, message),
        };
        if let Some(at) = arrival {
            self.arrival = self.arrival.max(at);
            out.extend(message.drain(..).map(|report| (self.arrival, report)));
        }
    }
}

/// The agent of a cell that reports its downlink queues to a function (CECC, Zhuge), or the congestion of its flows.
pub fn rlc_reporter(cell: &CellConfig, config: ReporterConfig) -> RlcReporter {
    let mut agent = RlcReporter::new(config, cell.slot_duration());
    agent.set_slots(slots(cell));
    agent
}

/// The agent at the UEs of a cell that reports their transport blocks to senders (Tyrus).
pub fn tbs_agent(cell: &CellConfig, mode: BlocksMode) -> TbsAgent {
    TbsAgent::new(mode, cell.slot_duration(), usable_symbols(cell))
}

/// The agent of a cell that counts flows in `direction` for their senders (`ebb`); `scale` makes bytes of packets of bytes of blocks.
pub fn counter_agent(cell: &CellConfig, direction: Direction, scale: IpScale) -> CounterAgent {
    let slot = cell.slot_duration();
    match direction {
        Direction::Down => CounterAgent::new(slot, usable_symbols(cell), scale),
        Direction::Up => CounterAgent::new(slot, cell.granted_symbols(), scale).of_uploads(),
    }
}

/// How long a report takes from the base station to a UE: a downlink block as soon as one can be made.
pub fn report_delay(cell: &CellConfig) -> Duration {
    let delays = cell.delays();
    let ahead = u64::from(delays.mac_to_air) + u64::from(delays.k0);
    // The block takes its slot.
    cell.slot_duration() * (ahead + 1) + cell.decode
}

/// Downlink symbols of the slots of a period that carry data, by when they are decided.
fn usable_symbols(cell: &CellConfig) -> Vec<u8> {
    let period = cell.duplex.period();
    let delays = cell.delays();
    let ahead = usize::from(delays.mac_to_air) + usize::from(delays.k0);
    let symbols = (0..period).map(|k| cell.duplex.down_symbols((k + ahead) % period));
    let usable = symbols.map(|n| if n < MIN_PDSCH_SYMBOLS { 0 } else { n });
    usable.collect()
}

/// The slots of `cell` as the air has them: the pattern begins with slot 0.
fn slots(cell: &CellConfig) -> CellSlots {
    let (slot, delays) = (cell.slot_duration(), cell.delays());
    let control = cell.control_symbols;
    let period = cell.duplex.period();
    let (mut down, mut special, mut special_q8) = (0_u32, 0_u32, 0_u8);
    for k in 0..period {
        let symbols = cell.duplex.down_symbols(k);
        if symbols == SYMBOLS {
            down |= 1 << k;
        } else if symbols >= MIN_PDSCH_SYMBOLS {
            special |= 1 << k;
            let part = u16::from(symbols.saturating_sub(control)) * 256;
            special_q8 = (part / u16::from(SYMBOLS - control)) as u8;
        }
    }
    CellSlots {
        start: Instant::ZERO,
        slot,
        period: period as u8,
        down,
        special,
        special_q8,
        lead: slot * (u64::from(delays.mac_to_air) + u64::from(delays.k0)),
        processing: cell.decode,
        polled: cell.share == SharePolicy::Split(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tdd_cell_tells_its_pattern_and_its_lead() {
        let nr = slots(&CellConfig::nr(20, 1));
        // DDDSU with 10:2:2 and what the scheduler and the UE take.
        assert_eq!((nr.period, nr.down, nr.special), (5, 0b111, 0b1000));
        let share = f64::from(nr.special_q8) / 256.0;
        assert!((0.6..0.75).contains(&share), "{share}");
        assert_eq!(nr.slot, Duration::from_micros(500));
        assert_eq!(nr.lead, Duration::from_micros(500));
        assert!(!nr.polled);
        let mut polls = CellConfig::nr(20, 1);
        polls.share = SharePolicy::Split(1);
        assert!(slots(&polls).polled);
        let lte = slots(&CellConfig::lte(10.0));
        assert_eq!((lte.period, lte.down, lte.special), (1, 1, 0));
    }
}
