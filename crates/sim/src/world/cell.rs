//! A cell in the world: its slots, what it delivers, what its agents see.

use std::collections::VecDeque;

use slackwater_core::record::LinkSample;
use slackwater_core::{BearerId, Bytes, Direction, Instant, NodeId, Packet, Qfi, UeId};
use slackwater_edge::ue::{BlocksMode, TbsAgent};
use slackwater_ran::CellOut;
use slackwater_ran::cell::{Cell, CellConfig};
use slackwater_ran::out::Delivered;
use slackwater_ran::tdd::{MIN_PDSCH_SYMBOLS, SYMBOLS};
use slackwater_signal::{NoObserver, Observer, PdcpView, SlotView};

use super::feedback::Feedback;
use super::path::{Hop, LaneNode};
use super::reports::{Reports, Watchers};
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
    pub(super) cell: Cell<Packet>,
    pub(super) observer: Option<Box<dyn Observer + Send>>,
    /// The agent that reports to senders.
    pub(super) feedback: Option<Box<Feedback>>,
    /// The UEs' own view of their transport blocks.
    pub(super) blocks: Option<Box<Blocks>>,
    /// Agents that report to edge functions.
    pub(super) reports: Vec<Reports>,
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

/// The agent at the UEs of a cell, and what it is not shown.
pub(super) struct Blocks {
    pub(super) agent: TbsAgent,
    /// Downlink symbols of the slots of a period, by when they are decided.
    symbols: Vec<u8>,
}

impl Blocks {
    pub(super) fn new(cell: &CellConfig) -> Self {
        let period = cell.duplex.period();
        let ahead = usize::from(cell.timing.mac_to_air) + usize::from(cell.timing.k0);
        let symbols = (0..period).map(|k| cell.duplex.down_symbols((k + ahead) % period));
        let usable = symbols.map(|n| if n < MIN_PDSCH_SYMBOLS { 0 } else { n });
        Self {
            agent: TbsAgent::new(),
            symbols: usable.collect(),
        }
    }
}

/// What a feed reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// Samples (subframes or slots) since time zero.
    pub(super) samples: u64,
    /// Bytes of all of them.
    pub(super) bytes: u64,
}

/// The world's own agents and a guest see the same slots.
struct Both<'a>(&'a mut dyn Observer, &'a mut dyn Observer);

impl Observer for Both<'_> {
    fn wants_slots(&self) -> bool {
        self.0.wants_slots() || self.1.wants_slots()
    }
    fn on_slot(&mut self, now: Instant, slot: &SlotView<'_>) {
        self.0.on_slot(now, slot);
        self.1.on_slot(now, slot);
    }
    fn on_pdcp(&mut self, now: Instant, packet: &PdcpView) {
        self.0.on_pdcp(now, packet);
        self.1.on_pdcp(now, packet);
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
            feedback: None,
            blocks: None,
            reports: Vec::new(),
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
        for report in self.reports.iter().filter_map(Reports::next_timer) {
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
        let mut timers = self.reports.iter().filter_map(Reports::next_timer);
        timers.any(|t| t <= now)
    }

    /// Runs the slot that starts now before everyone who watches.
    pub(super) fn run_slot(&mut self, now: Instant, out: &mut CellOut<Packet>) {
        let watched = self.reports.iter_mut().any(|r| r.watcher().is_some());
        if watched || self.blocks.is_some() {
            let mut nobody = NoObserver;
            let mut other = NoObserver;
            let mut no_blocks = NoObserver;
            let agent: &mut dyn Observer = match &mut self.feedback {
                Some(f) => f.agent.as_mut(),
                None => &mut nobody,
            };
            let guest: &mut dyn Observer = match &mut self.observer {
                Some(o) => o.as_mut(),
                None => &mut other,
            };
            let blocks: &mut dyn Observer = match &mut self.blocks {
                Some(b) => &mut b.agent,
                None => &mut no_blocks,
            };
            let mut rest = Both(agent, guest);
            let mut all = Both(blocks, &mut rest);
            if watched {
                let mut watchers = Watchers(&mut self.reports);
                let mut all = Both(&mut all, &mut watchers);
                self.cell.run_slot(now, out, &mut all);
            } else {
                self.cell.run_slot(now, out, &mut all);
            }
        } else {
            self.run_watched(now, out);
        }
        if let Some(f) = &mut self.feedback
            && f.agent.wants_queues()
        {
            f.show_queues(now, &self.cell);
        }
    }

    /// What `ue` had, or could have had, in the slots up to `now`: those that began before, and the present one where it
    /// has run.
    pub(super) fn read_blocks(&mut self, now: Instant, ue: UeId, mode: BlocksMode) -> Reading {
        let Some(Blocks { agent, symbols }) = self.blocks.as_deref_mut() else {
            return Reading::default();
        };
        let begun = now.as_nanos() / self.cell.slot_duration().as_nanos();
        if agent.slots() < begun {
            // A cell that sleeps shows no slots: they were all idle.
            let full = self.cell.slot_bytes_at(now, ue).0 << 8;
            let period = symbols.len() as u64;
            agent.skip(ue, begun, |slot| {
                full * u64::from(symbols[(slot % period) as usize]) / u64::from(SYMBOLS)
            });
        }
        Reading {
            samples: begun.max(agent.slots()),
            bytes: agent.total(ue, mode).0,
        }
    }

    fn run_watched(&mut self, now: Instant, out: &mut CellOut<Packet>) {
        match (&mut self.feedback, &mut self.observer) {
            (None, None) => self.cell.run_slot(now, out, &mut NoObserver),
            (None, Some(o)) => self.cell.run_slot(now, out, o.as_mut()),
            (Some(f), None) => self.cell.run_slot(now, out, f.agent.as_mut()),
            (Some(f), Some(o)) => {
                let mut both = Both(f.agent.as_mut(), o.as_mut());
                self.cell.run_slot(now, out, &mut both);
            }
        }
    }

    /// Puts the agent's report on a packet that leaves the cell for the sender; the copy that it returns travels on
    /// the flow's side channel.
    #[inline]
    pub(super) fn stamp(
        &mut self,
        now: Instant,
        packet: &mut Packet,
    ) -> Option<(Idx<LaneNode>, Packet)> {
        self.feedback.as_mut()?.stamp(now, &self.cell, packet)
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
