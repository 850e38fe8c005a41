//! Cross-layer early congestion control: the UPF staggers the frames of concurrent flows, told by the cell what waits
//! there (Yang et al., "Cross-Layer Assisted Early Congestion Control for Cloud VR Services in 5G Edge Network").
//!
//! One instance serves one cell. Reports come in ([`RanReport::Backlog`] each millisecond, [`RanReport::LinkState`] and
//! [`RanReport::SlotPattern`] on change); frames are told apart by their gaps; a [`Schedule`] says whose frame may go;
//! a [`Mode`] says how a frame that may not is kept back. Whatever cannot be judged or handled passes untouched: a cell
//! that does not report, a connection whose SYN was not seen, a bulk transfer.
//!
//! `docs/cecc.md` cites the source of each part and says how the paper's ambiguities were resolved.

mod ack_manager;
mod config;
mod credit;
mod cycle;
mod fifo;
mod flow;
mod frames;
mod hold;
mod listed;
mod packets;
mod predict;
mod put_back;
mod report;
pub mod schedule;
mod snapshot;
mod table;
#[cfg(test)]
mod tests;
mod tie;

use std::collections::{BTreeSet, VecDeque};

use slackwater_core::{Bytes, Direction, Duration, Instant, PacketView, UeId};

use crate::{EdgeFunction, RanReport, Session, Verdict};
pub use config::{CeccConfig, CeccStats, Mode, Schedule};
use flow::Flow;
pub use predict::Grid;
use report::Radio;
pub use report::ReportStats;
pub use snapshot::{FlowSnapshot, Snapshot};
use table::Table;
use tie::Tie;

/// The function. `P` is cloned only for window updates.
#[derive(Clone, Debug)]
pub struct Cecc<P> {
    config: CeccConfig,
    radio: Radio,
    flows: Table<Flow<P>>,
    /// Flows that want to send: held packets or a first segment. First the rank, zero but for frames that were put back; then the
    /// start of the frame.
    waiting: BTreeSet<(u64, Instant, u32)>,
    /// Algorithm 1: flows that want to send, or have ACK numbers (`paper`), the one of highest priority first.
    ready: BTreeSet<(u64, u32)>,
    /// Algorithm 1: those that came among them since the last cycle, or were admitted in it.
    fresh: Vec<u32>,
    /// Algorithm 1: those that were kicked, by when that has been for too long.
    kicked: BTreeSet<(Instant, u32)>,
    /// `credit`: when flows have something to do.
    timers: BTreeSet<(Instant, u32)>,
    /// `credit`: flows with a closed window and nothing to send, the one whose last frame is oldest first.
    idle: BTreeSet<(u64, u32)>,
    /// `credit`: flows that were granted a frame before they had one, with its air time.
    ahead: Vec<(u32, u64)>,
    /// TCP flows whose window is governed: they must be opened when reports cease.
    governed: BTreeSet<u32>,
    out: VecDeque<(Direction, P)>,
    held: u64,
    frames: u64,
    due: bool,
    /// Frames were put back lately: up to this instant none goes before the tick that compares them.
    turns_until: Instant,
    /// The frames that were last let go together.
    tie: Option<Tie>,
    /// A bulk transfer competes: deadline order would only serve that.
    crowded: bool,
    tick: Option<Instant>,
    now: Instant,
    rtt_n6: Duration,
    stats: CeccStats,
    admitted: Vec<u32>,
}

impl<P: PacketView + Clone> Cecc<P> {
    /// A function for one cell.
    pub fn new(config: CeccConfig) -> Self {
        Self {
            radio: Radio::new(config.wired, config.stale),
            config,
            flows: Table::new(),
            waiting: BTreeSet::new(),
            ready: BTreeSet::new(),
            fresh: Vec::new(),
            kicked: BTreeSet::new(),
            timers: BTreeSet::new(),
            idle: BTreeSet::new(),
            ahead: Vec::new(),
            governed: BTreeSet::new(),
            out: VecDeque::new(),
            held: 0,
            frames: 0,
            due: false,
            turns_until: Instant::ZERO,
            tie: None,
            crowded: false,
            tick: None,
            now: Instant::ZERO,
            rtt_n6: Duration::ZERO,
            stats: CeccStats::default(),
            admitted: Vec::new(),
        }
    }

    /// What was done so far.
    pub const fn stats(&self) -> CeccStats {
        self.stats
    }

    /// What came of the reports so far.
    pub const fn report_stats(&self) -> ReportStats {
        self.radio.stats
    }

    fn schedule(&self) -> Schedule {
        match self.config.mode {
            Mode::Paper => Schedule::Alg1,
            _ => self.config.schedule,
        }
    }

    /// Reports ceased: everything goes, windows open.
    fn open_all(&mut self, now: Instant) {
        while let Some(&(_, _, k)) = self.waiting.first() {
            self.empty(now, k);
            self.leave(k);
        }
        for k in core::mem::take(&mut self.governed) {
            if let Some(tcp) = &mut self.flows[k].tcp {
                tcp.open(&mut self.out);
            }
            self.settle(k);
            self.arm(k);
        }
        while let Some(&(_, k)) = self.ready.first() {
            self.flows[k].place = None;
            self.forget_acks(k);
        }
        self.fresh.clear();
        self.ahead.clear();
        self.tick = None;
        self.due = false;
    }

    /// Asks whether reports are missing, and acts on it once.
    fn check(&mut self, now: Instant) -> bool {
        self.now = now;
        let (stale, just) = self.radio.stale(now);
        if just {
            self.open_all(now);
        }
        stale
    }

    /// True where something depends on reports.
    fn depends(&self) -> bool {
        !self.waiting.is_empty() || !self.governed.is_empty()
    }
}

impl<P: PacketView + Clone> EdgeFunction<P> for Cecc<P> {
    fn on_packet(&mut self, now: Instant, direction: Direction, ue: UeId, packet: P) -> Verdict<P> {
        if self.config.mode == Mode::Off {
            return Verdict::Forward(packet);
        }
        let stale = self.check(now);
        match direction {
            Direction::Down => self.on_down(now, ue, packet, stale),
            Direction::Up => self.on_up(now, ue, packet, stale),
        }
    }

    fn on_report(&mut self, now: Instant, report: &RanReport) {
        self.check(now);
        if self.radio.on_report(now, report) && self.schedule() == Schedule::Edf {
            // Once a batch, when the one before is complete.
            let crowded = self.radio.crowded(now);
            if crowded && !self.crowded {
                self.open_all(now);
            }
            self.crowded = crowded;
        }
        // Reports of one batch come one by one: the cycle runs once they are all in.
        // `paper` spends two ACK numbers of each admitted flow a cycle: one a slot is what a frame's ACKs pay for.
        self.due |= self.depends() && self.config.mode != Mode::Paper;
    }

    fn on_session(&mut self, now: Instant, session: &Session) {
        if let Session::Down { ue, gbr_flow: None } = *session {
            self.now = now;
            for k in self.flows.indices() {
                if self.flows[k].ue == ue {
                    self.empty(now, k);
                    self.leave(k);
                    if let Some(tcp) = &mut self.flows[k].tcp {
                        tcp.open(&mut self.out);
                    }
                    self.settle(k);
                    self.arm(k);
                    self.governed.remove(&k);
                    self.forget_acks(k);
                    self.ahead.retain(|a| a.0 != k);
                }
            }
        }
    }

    fn release(&mut self, now: Instant) -> Option<(Direction, P)> {
        let stale = self.check(now);
        if !stale {
            while let Some(&(due, k)) = self.timers.first() {
                if due > now {
                    break;
                }
                if let Some(tcp) = &mut self.flows[k].tcp {
                    tcp.on_timer(now, &mut self.out);
                }
                self.settle(k);
                self.arm(k);
                if self.flows[k].timer == Some(due) {
                    // Nothing could be done: an ACK will change that.
                    self.timers.remove(&(due, k));
                    self.flows[k].timer = None;
                }
            }
            if self.due || self.tick.is_some_and(|t| t <= now) {
                self.run_cycle(now);
            }
        }
        self.out.pop_front()
    }

    fn next_timer(&self) -> Option<Instant> {
        if !self.out.is_empty() {
            return Some(self.now);
        }
        if self.radio.silent() {
            // Nothing waits, and nothing is done until reports come.
            return None;
        }
        if self.due {
            return Some(self.now);
        }
        let stale = self.radio.stale_at().filter(|_| self.depends());
        let timer = self.timers.first().map(|t| t.0);
        [self.tick, stale, timer].into_iter().flatten().min()
    }

    fn held(&self) -> Bytes {
        Bytes(self.held)
    }

    fn internals(&self, ue: UeId, out: &mut Vec<(&'static str, f64)>) {
        self.tell(ue, out);
    }
}
