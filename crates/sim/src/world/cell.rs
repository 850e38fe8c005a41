//! A cell in the world: its slots, what it delivers, what its agents see.

use std::collections::VecDeque;

use slackwater_core::record::LinkSample;
use slackwater_core::{BearerId, Bytes, Direction, Instant, Packet, Qfi, UeId};
use slackwater_edge::ue::{BlocksMode, TbsAgent};
use slackwater_ran::CellOut;
use slackwater_ran::cell::{Cell, CellConfig};
use slackwater_ran::tdd::SYMBOLS;
use slackwater_signal::{NoObserver, Observer, PdcpView, SlotView};

use super::feedback::Feedback;
use super::reports::{Reports, Watchers};
use super::{CELL_DOWN, CELL_UP, Hop};

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

pub(super) struct CellNode {
    pub(super) cell: Cell<Packet>,
    pub(super) out: CellOut<Packet>,
    pub(super) observer: Option<Box<dyn Observer + Send>>,
    /// The agent that reports to senders.
    pub(super) feedback: Option<Box<Feedback>>,
    /// The UEs' own view of their transport blocks.
    pub(super) blocks: Option<Box<Blocks>>,
    /// Agents that report to edge functions.
    pub(super) reports: Vec<Reports>,
    /// Packets that the cell reported before their delivery time.
    pub(super) pending: VecDeque<(Instant, Packet)>,
    /// By flow.
    pub(super) flows: Vec<CellFlow>,
}

/// The agent at the UEs of a cell, and when each of them last read it.
pub(super) struct Blocks {
    pub(super) agent: TbsAgent,
    /// By UE: time and downlink slots seen.
    read: Vec<(Instant, u64)>,
    /// Downlink slots of full length per second.
    per_second: f64,
}

impl Blocks {
    pub(super) fn new(cell: &CellConfig) -> Self {
        let period = cell.duplex.period();
        let symbols: u32 = (0..period)
            .map(|k| u32::from(cell.duplex.down_symbols(k)))
            .sum();
        let share = f64::from(symbols) / (period as f64 * f64::from(SYMBOLS));
        Self {
            agent: TbsAgent::new(),
            read: Vec::new(),
            per_second: share / cell.slot_duration().as_secs_f64(),
        }
    }
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
    pub(super) fn new(cell: Cell<Packet>, observer: Option<Box<dyn Observer + Send>>) -> Self {
        Self {
            cell,
            out: CellOut::default(),
            observer,
            feedback: None,
            blocks: None,
            reports: Vec::new(),
            pending: VecDeque::new(),
            flows: Vec::new(),
        }
    }

    /// The next slot, the next delivery or the next report, whichever comes first.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        let next = match (self.cell.next_slot(), self.pending.front()) {
            (Some(slot), Some(p)) => Some(slot.min(p.0)),
            (slot, p) => slot.or(p.map(|p| p.0)),
        };
        if self.reports.is_empty() {
            return next;
        }
        let reports = self.reports.iter().filter_map(Reports::next_timer);
        reports.chain(next).min()
    }

    /// True where the slot that starts now must run. A cell that reports may be called for that alone; any other is
    /// called for its slots.
    pub(super) fn slot_is_due(&self, now: Instant) -> bool {
        self.reports.is_empty() || self.cell.next_slot().is_some_and(|s| s <= now)
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

    /// Bytes that `ue` had, or could have had, by `now`.
    pub(super) fn blocks_total(&mut self, now: Instant, ue: UeId, mode: BlocksMode) -> u64 {
        let Some(blocks) = &mut self.blocks else {
            return 0;
        };
        if blocks.read.len() <= ue.index() {
            blocks.read.resize(ue.index() + 1, (Instant::ZERO, 0));
        }
        let seen = blocks.agent.slots();
        let (last, before) = core::mem::replace(&mut blocks.read[ue.index()], (now, seen));
        // A cell that sleeps shows no slots: they were all idle.
        let slots = now.since(last).as_secs_f64() * blocks.per_second;
        let skipped = slots - (seen - before) as f64;
        if skipped >= 1.0 && mode != BlocksMode::Allocated {
            let full = self.cell.slot_bytes_at(now, ue);
            blocks.agent.skip(ue, skipped, full);
        }
        blocks.agent.total(ue, mode).0
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
    pub(super) fn stamp(&mut self, now: Instant, packet: &mut Packet) -> Option<(Hop, Packet)> {
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
