//! Reports of a cell about its queues, on their way to an edge function.

use std::collections::VecDeque;

use slackwater_core::{BearerId, Direction, Draw, Duration, FlowId, Instant, Packet, Qfi, UeId};
use slackwater_edge::gnb::{CellSlots, ReporterConfig, RlcReporter};
use slackwater_edge::{EdgeAgent, RanReport, ReportCarrier};
use slackwater_ran::cell::{Cell, CellConfig};
use slackwater_ran::mac::SharePolicy;
use slackwater_ran::tdd::{MIN_PDSCH_SYMBOLS, SYMBOLS};
use slackwater_signal::{Observer, PdcpView, SlotView};

use super::carrier::Faults;
use super::edge::EdgeNode;
use crate::arena::Idx;

/// What the cell reports to an edge function, and what goes wrong on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReportConfig {
    /// When the agent reports, and what.
    pub reporter: ReporterConfig,
    /// One-way delay from the cell to the function.
    pub delay: Duration,
    /// Extra delay of each message, uniform in [0, jitter); messages keep their order.
    pub jitter: Duration,
    /// What goes wrong with messages: all reports of one instant travel in one.
    pub faults: Faults,
}

impl Default for ReportConfig {
    fn default() -> Self {
        Self {
            reporter: ReporterConfig::default(),
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            faults: Faults::default(),
        }
    }
}

/// Who reports, and how.
enum Agent {
    /// CECC's agent, which also tells of congestion.
    Rlc {
        agent: Box<RlcReporter>,
        config: ReportConfig,
        draw: Draw,
        /// Messages so far, for the draws.
        count: u64,
        /// The last message, where it may be repeated.
        last: Vec<RanReport>,
    },
    /// An agent and a carrier from elsewhere.
    Own {
        agent: Box<dyn EdgeAgent + Send>,
        carrier: Box<dyn ReportCarrier + Send>,
    },
}

/// An agent at a cell, and the way of its messages to one edge function.
pub(super) struct Reports {
    agent: Agent,
    /// The function.
    pub(super) to: Idx<EdgeNode>,
    /// Arrival of the last message.
    last: Instant,
}

impl Reports {
    pub(super) fn new(
        cell: &CellConfig,
        config: ReportConfig,
        to: Idx<EdgeNode>,
        draw: Draw,
    ) -> Self {
        let mut agent = RlcReporter::new(config.reporter, cell.slot_duration());
        agent.set_slots(slots(cell));
        Self {
            agent: Agent::Rlc {
                agent: Box::new(agent),
                config,
                draw,
                count: 0,
                last: Vec::new(),
            },
            to,
            last: Instant::ZERO,
        }
    }

    pub(super) fn own(
        agent: Box<dyn EdgeAgent + Send>,
        carrier: Box<dyn ReportCarrier + Send>,
        to: Idx<EdgeNode>,
    ) -> Self {
        Self {
            agent: Agent::Own { agent, carrier },
            to,
            last: Instant::ZERO,
        }
    }

    /// The agent, where it watches the cell and not its queues alone.
    pub(super) fn watcher(&mut self) -> Option<&mut (dyn EdgeAgent + Send)> {
        match &mut self.agent {
            Agent::Rlc { .. } => None,
            Agent::Own { agent, .. } => Some(agent.as_mut()),
        }
    }

    /// `flow` passes `cell`, where it belongs to `ue` and `qfi`.
    pub(super) fn add_flow(&mut self, cell: &Cell<Packet>, flow: FlowId, ue: UeId, qfi: Qfi) {
        let bearer = cell.bearer(ue, qfi);
        match &mut self.agent {
            Agent::Rlc { agent, .. } => agent.add_flow(ue, bearer, flow),
            Agent::Own { agent, .. } => agent.add_flow(ue, bearer, flow),
        }
    }

    /// When the queues are read next.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        match &self.agent {
            Agent::Rlc { agent, config, .. } => {
                let next = agent.next_timer();
                (!config.faults.is_silent(next)).then_some(next)
            }
            Agent::Own { agent, .. } => agent.next_timer(),
        }
    }

    /// Reads the queues where that is due, and puts the message into `out` with the time of its arrival.
    pub(super) fn read(
        &mut self,
        now: Instant,
        cell: &mut Cell<Packet>,
        batch: &mut Vec<RanReport>,
        out: &mut VecDeque<(Instant, RanReport)>,
    ) {
        if self.next_timer().is_none_or(|t| t > now) {
            return;
        }
        // A cell that sleeps still hears its UEs: rates are those of now.
        cell.catch_up(now);
        for ue in (0..cell.ues() as u32).map(UeId) {
            let bytes = cell.slot_bytes_at(now, ue);
            match &mut self.agent {
                Agent::Rlc { agent, .. } => agent.set_link(ue, bytes),
                Agent::Own { agent, .. } => agent.on_link(now, ue, bytes),
            }
        }
        let queues = (0..cell.ues() as u32).map(UeId).flat_map(|ue| {
            let bearers = (0..cell.bearers(ue) as u8).map(BearerId);
            bearers.map(move |bearer| (ue, bearer))
        });
        let mut views = queues.map(|(ue, b)| cell.rlc_view(now, Direction::Down, ue, b));
        let arrival = match &mut self.agent {
            Agent::Rlc {
                agent,
                config,
                draw,
                count,
                last,
            } => {
                agent.report(now, views, batch);
                config.faults.distort_message(now, batch, last);
                let key = *count;
                *count += 1;
                config.arrival(now, *draw, key)
            }
            Agent::Own { agent, carrier } => {
                agent.report(now, &mut views, batch);
                // Nothing to say is no message.
                let sent = !batch.is_empty();
                sent.then(|| carrier.carry(now, batch)).flatten()
            }
        };
        let Some(at) = arrival else {
            batch.clear();
            return;
        };
        self.last = self.last.max(at);
        out.extend(batch.drain(..).map(|report| (self.last, report)));
    }
}

impl ReportConfig {
    /// When message number `key` arrives; `None` where it is lost.
    fn arrival(&self, now: Instant, draw: Draw, key: u64) -> Option<Instant> {
        if self.faults.loses(draw, 2 * key) {
            return None;
        }
        let late = if self.jitter.is_zero() {
            Duration::ZERO
        } else {
            self.jitter.mul_f64(draw.uniform(2 * key + 1))
        };
        Some(now + self.delay + late)
    }
}

/// Those of a cell's agents that watch it.
pub(super) struct Watchers<'a>(pub(super) &'a mut [Reports]);

impl Observer for Watchers<'_> {
    fn on_slot(&mut self, now: Instant, slot: &SlotView<'_>) {
        for agent in self.0.iter_mut().filter_map(Reports::watcher) {
            agent.on_slot(now, slot);
        }
    }
    fn on_pdcp(&mut self, now: Instant, packet: &PdcpView) {
        for agent in self.0.iter_mut().filter_map(Reports::watcher) {
            agent.on_pdcp(now, packet);
        }
    }
}

/// The slots of `cell` as the air has them: the pattern begins with slot 0.
fn slots(cell: &CellConfig) -> CellSlots {
    let slot = cell.slot_duration();
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
        lead: slot * (u64::from(cell.timing.mac_to_air) + u64::from(cell.timing.k0)),
        processing: cell.timing.decode,
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
