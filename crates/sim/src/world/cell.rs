//! A cell in the world: its slots, what it delivers, what its agents see.

use std::collections::VecDeque;

use slackwater_core::record::LinkSample;
use slackwater_core::{BearerId, Bytes, Direction, Instant, NodeId, Packet, Qfi, UeId};
use slackwater_edge::FlowAt;
use slackwater_ran::CellOut;
use slackwater_ran::cell::Cell;
use slackwater_ran::out::Delivered;
use slackwater_signal::{NoObserver, Observer, PathReport};

use super::agents::{At, Installed, Watchers};
use super::path::{Hop, LaneNode};
use super::senders::ToSenders;
use super::{CELL_DOWN, CELL_UP};
use crate::arena::Idx;
use crate::inbox::Inbox;

/// A flow as a cell knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellFlow {
    /// Its path comes by here.
    pub(super) passes: bool,
    pub(super) ue: UeId,
    pub(super) qfi: Qfi,
    /// Next hop down and up.
    pub(super) next: [Hop; 2],
}

impl Default for CellFlow {
    fn default() -> Self {
        Self {
            passes: false,
            ue: UeId(0),
            qfi: Qfi(0),
            next: [Hop::Host; 2],
        }
    }
}

/// A cell in the world.
pub(super) struct CellNode {
    /// Its name in records.
    pub(super) id: NodeId,
    /// The cell itself.
    pub(super) cell: Cell<Packet>,
    /// A guest that sees its slots.
    pub(super) observer: Option<Box<dyn Observer + Send>>,
    /// The agents, by number.
    pub(super) agents: Vec<Installed>,
    /// The way of reports that leave the cell for senders.
    pub(super) senders: Option<Box<ToSenders>>,
    /// What is on lanes that end here.
    pub(super) inbox: Inbox,
    /// Packets that the cell reported before their delivery time.
    pub(super) pending: VecDeque<Batch>,
    /// Room of batches that went on.
    pub(super) spare: Vec<Vec<Delivered<Packet>>>,
    /// By flow.
    pub(super) flows: Vec<CellFlow>,
}

/// What a cell delivers at one instant.
pub(super) struct Batch {
    pub(super) at: Instant,
    pub(super) delivered: Vec<Delivered<Packet>>,
    /// Those before this one have gone on.
    pub(super) next: usize,
}

impl Batch {
    pub(super) fn new(at: Instant, delivered: Vec<Delivered<Packet>>, next: usize) -> Self {
        Self {
            at,
            delivered,
            next,
        }
    }
}

impl CellNode {
    pub(super) fn new(
        id: NodeId,
        cell: Cell<Packet>,
        observer: Option<Box<dyn Observer + Send>>,
    ) -> Self {
        Self {
            id,
            inbox: Inbox::new(cell.slot_duration()),
            cell,
            observer,
            agents: Vec::new(),
            senders: None,
            pending: VecDeque::new(),
            spare: Vec::new(),
            flows: Vec::new(),
        }
    }

    /// The next slot, the next delivery or the next report, whichever comes first.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        let earliest = self.cell.earliest_slot();
        let mut next = self.cell.next_slot().unwrap_or(Instant::MAX);
        if next > earliest
            && let Some(arrivals) = self.inbox.next()
        {
            next = next.min(arrivals.max(earliest));
        }
        if let Some(delivery) = self.pending.front() {
            next = next.min(delivery.at);
        }
        for report in self.agents.iter().filter_map(Installed::next_timer) {
            next = next.min(report);
        }
        (next != Instant::MAX).then_some(next)
    }

    /// True where the slot that starts now must run. A cell may be called for a report or an arrival alone.
    pub(super) fn slot_is_due(&self, now: Instant) -> bool {
        self.cell.next_slot().is_some_and(|s| s <= now)
    }

    /// When the last of what waits is delivered.
    pub(super) fn last_pending(&self) -> Instant {
        self.pending.back().map_or(Instant::ZERO, |batch| batch.at)
    }

    /// Keeps the room of a batch that went on.
    pub(super) fn recycle(&mut self, mut batch: Vec<Delivered<Packet>>) {
        batch.clear();
        self.spare.push(batch);
    }

    /// Someone sees all packets that enter, in their order.
    pub(super) fn observes_arrivals(&self) -> bool {
        self.cell.config().observe_pdcp
    }

    /// Lets the cell take at most `most` packets that arrive before `end`; returns their number.
    #[inline]
    pub(super) fn take_arrivals(
        &mut self,
        end: Instant,
        most: usize,
        out: &mut CellOut<Packet>,
    ) -> u64 {
        let (cell, flows) = (&mut self.cell, &self.flows);
        let taken = self.inbox.take(end, most, |arrival| {
            let packet = arrival.packet;
            let flow = &flows[packet.flow.index()];
            cell.enqueue(arrival.due, packet.dir, flow.ue, flow.qfi, packet, out);
        });
        taken as u64
    }

    /// True where queues must be read for a report.
    pub(super) fn report_is_due(&self, now: Instant) -> bool {
        let mut timers = self.agents.iter().filter_map(Installed::next_timer);
        timers.any(|t| t <= now)
    }

    /// Runs the slot that starts now before everyone who watches.
    pub(super) fn run_slot(&mut self, now: Instant, out: &mut CellOut<Packet>) {
        let cell = &mut self.cell;
        match (self.agents.as_mut_slice(), &mut self.observer) {
            ([], None) => cell.run_slot(now, out, &mut NoObserver),
            ([], Some(guest)) => cell.run_slot(now, out, guest.as_mut()),
            ([one], None) => cell.run_slot(now, out, one.agent.as_mut()),
            (agents, guest) => {
                let guest = guest.as_deref_mut();
                cell.run_slot(now, out, &mut Watchers { agents, guest });
            }
        }
        if let Some(senders) = &self.senders {
            senders.show_queues(now, &mut self.agents, &mut self.cell);
        }
    }

    /// A report of an agent at a UE, or with a socket of its own, to the sender of the flow `at`, whose data goes in `dir`.
    pub(super) fn report(
        &mut self,
        now: Instant,
        agent: usize,
        at: &FlowAt,
        dir: Direction,
    ) -> Option<PathReport> {
        let cell = &mut self.cell;
        let agent = &mut self.agents[agent].agent;
        agent.report(now, at, &mut At { now, cell, dir })
    }

    /// The flow `at` of an agent at a UE is not idle any more.
    pub(super) fn resume(&mut self, now: Instant, agent: usize, at: &FlowAt, dir: Direction) {
        let cell = &mut self.cell;
        let agent = &mut self.agents[agent].agent;
        agent.resume(now, at, &mut At { now, cell, dir });
    }

    /// Puts the agent's report on a packet that leaves the cell for the sender; the copy that it returns travels on
    /// the flow's side channel.
    #[inline]
    pub(super) fn stamp(
        &mut self,
        now: Instant,
        packet: &mut Packet,
    ) -> Option<(Idx<LaneNode>, Packet)> {
        let senders = self.senders.as_mut()?;
        senders.stamp(now, &mut self.agents, &mut self.cell, packet)
    }

    /// True where an agent reports to an edge function.
    pub(super) fn reports_to_functions(&self) -> bool {
        self.agents.iter().any(|a| a.function.is_some())
    }

    /// Samples the queues of each UE's first bearer (index 2 * UE downlink, 2 * UE + 1 uplink; their capacity stays
    /// zero) and the whole cell ([`CELL_DOWN`] and [`CELL_UP`]: capacity, bytes carried, all that waits).
    pub(super) fn sample(&mut self, now: Instant, mut tell: impl FnMut(u32, &LinkSample)) {
        self.cell.catch_up(now);
        let stats = self.cell.stats();
        let directions = [
            (Direction::Down, stats.down, CELL_DOWN),
            (Direction::Up, stats.up, CELL_UP),
        ];
        for (i, (direction, counters, index)) in directions.into_iter().enumerate() {
            let mut whole = LinkSample::default();
            for ue in 0..self.cell.ues() {
                let id = UeId(ue as u32);
                let view = self.cell.rlc_view(now, direction, id, BearerId(0));
                let own = self.cell.ue_stats(id);
                let own = if direction == Direction::Down {
                    own.down
                } else {
                    own.up
                };
                let mut sample = LinkSample::default();
                sample.backlog = view.backlog;
                sample.packets = view.packets;
                sample.hol = view.hol;
                sample.carried = Bytes(own.carried);
                tell(2 * ue as u32 + i as u32, &sample);
                whole.backlog += view.backlog;
                whole.packets += view.packets;
                whole.hol = whole.hol.max(view.hol);
            }
            whole.capacity = Bytes(counters.capacity);
            whole.carried = Bytes(counters.carried);
            tell(index, &whole);
        }
    }
}
