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
mod frames;
mod hold;
mod predict;
mod report;
pub mod schedule;
mod snapshot;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};

use slackwater_core::{Bytes, Direction, Duration, Instant, PacketView, TcpFlags, UeId};

use crate::{EdgeFunction, RanReport, Session, Verdict};
use ack_manager::{Down, Govern, Phase, Tcp};
use frames::Frames;
use hold::Fifo;
pub use predict::Grid;
use report::Radio;
pub use report::ReportStats;
use schedule::{Candidate, Limits, alg1};
pub use snapshot::{FlowSnapshot, Snapshot};
use table::Table;

/// How a frame is kept back that may not go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Not at all.
    Off,
    /// As the paper does: acknowledgments are kept and handed out two at a time, the first with a large window, the
    /// second with a small one. The waiting moves into the server, where frame delay shows it and network delay not.
    Paper,
    /// Only the right edge of the window moves: a first segment knocks, a grant lets the frame go.
    Credit,
    /// Packets wait here; acknowledgments are not touched.
    #[default]
    Hold,
}

/// Who may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Algorithm 1 of the paper.
    Alg1,
    /// Earliest frame first, while the backlog at the time of arrival stays below a slot.
    #[default]
    Edf,
}

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CeccConfig {
    /// How TCP is governed. Datagrams are held in every mode but [`Mode::Off`].
    pub mode: Mode,
    /// Who may go. [`Mode::Paper`] always uses Algorithm 1.
    pub schedule: Schedule,
    /// The delay standard D (CECC, II).
    pub standard: Duration,
    /// No report for this long: everything passes until three come again.
    pub stale: Duration,
    /// Reports farther apart than this are no ground to act on.
    pub longest_period: Duration,
    /// One-way delay between UPF and gNB; `None` where the clocks are in step and it can be measured.
    pub wired: Option<Duration>,
    /// How long before the bytes are needed at the gNB they should be there.
    pub margin: Duration,
    /// Flows whose frames are smaller pass at once: they cost others nothing.
    pub small_frame: Bytes,
    /// Bytes that all flows together may hold back; beyond that, packets pass.
    pub memory: Bytes,
    /// `edf`: backlog up to which the next frame goes, in percent of a full downlink slot.
    pub budget_percent: u32,
}

impl Default for CeccConfig {
    fn default() -> Self {
        Self {
            mode: Mode::Hold,
            schedule: Schedule::Edf,
            standard: Duration::from_millis(10),
            stale: Duration::from_millis(10),
            longest_period: Duration::from_millis(5),
            wired: None,
            margin: Duration::from_micros(200),
            small_frame: Bytes(8 * 1024),
            memory: Bytes(64 << 20),
            budget_percent: 100,
        }
    }
}

/// `credit` needs a server near enough that a grant is used in the slot that it was made for.
const CREDIT_RTT: Duration = Duration::from_micros(600);
const CREDIT_WIRED: Duration = Duration::from_micros(500);
/// A held packet passes after this, or two beats of its flow, if that is longer.
const LONGEST_HOLD: Duration = Duration::from_millis(20);
/// The least time for which Algorithm 1 may kick a flow.
const LEAST_KICK: Duration = Duration::from_millis(2);
/// The beat assumed until one is known: 60 FPS.
const BEAT: Duration = Duration::from_micros(16_667);

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CeccStats {
    /// Frames that began.
    pub frames: u64,
    /// Packets that waited here.
    pub held: u64,
    /// Packets that passed because they or their flow had waited too long or too much.
    pub overdue: u64,
    /// Grants of `credit`, or ACK pairs of `paper`.
    pub grants: u64,
    /// Grants of `credit` before a flow asked.
    pub ahead: u64,
    /// Flows kicked by Algorithm 1, each once per cycle.
    pub kicked: u64,
    /// Flows admitted by force because they were kicked for a whole beat.
    pub forced: u64,
}

/// How a flow is treated at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Pass,
    Hold,
    Credit,
    Paper,
}

#[derive(Clone, Debug)]
struct Flow<P> {
    ue: UeId,
    /// The downlink [`PacketView::flow_key`].
    key: u32,
    seen: Instant,
    frames: Frames,
    fifo: Fifo<P>,
    tcp: Option<Box<Tcp<P>>>,
    /// The frame counter when this flow's last frame began: priority is the difference.
    base: u64,
    /// Its place among the waiting flows.
    place: Option<Instant>,
    /// Kicked since.
    kicked: Option<Instant>,
    /// Scratch: it belongs to the set M of this cycle.
    chosen: bool,
    /// Algorithm 1 admitted it up to this instant.
    admitted: Instant,
    /// Its entry among the timers.
    timer: Option<Instant>,
    /// Reserved air time.
    reserved: u64,
    /// Its entry among the idle flows.
    idle: Option<u64>,
}

impl<P: PacketView + Clone> Flow<P> {
    fn overdue(&self, frame: Instant) -> Instant {
        let two = self.frames.interval().unwrap_or(Duration::ZERO) * 2;
        frame + two.max(LONGEST_HOLD)
    }

    fn beat(&self) -> Duration {
        self.frames.interval().unwrap_or(BEAT).max(LEAST_KICK)
    }
}

/// The function. `P` is cloned only for window updates.
#[derive(Clone, Debug)]
pub struct Cecc<P> {
    config: CeccConfig,
    radio: Radio,
    flows: Table<Flow<P>>,
    /// Flows that want to send: held packets or a knock, by the start of the frame.
    waiting: BTreeSet<(Instant, u32)>,
    /// `paper`: flows with ACK numbers.
    acks: BTreeSet<u32>,
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
    /// A bulk transfer competes: deadline order would only serve that.
    crowded: bool,
    tick: Option<Instant>,
    now: Instant,
    rtt_n6: Duration,
    stats: CeccStats,
    candidates: Vec<Candidate>,
    scratch: Vec<(u32, u64)>,
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
            acks: BTreeSet::new(),
            timers: BTreeSet::new(),
            idle: BTreeSet::new(),
            ahead: Vec::new(),
            governed: BTreeSet::new(),
            out: VecDeque::new(),
            held: 0,
            frames: 0,
            due: false,
            crowded: false,
            tick: None,
            now: Instant::ZERO,
            rtt_n6: Duration::ZERO,
            stats: CeccStats::default(),
            candidates: Vec::new(),
            scratch: Vec::new(),
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

    /// How flow `k` is treated now.
    fn style(&self, k: u32, stale: bool) -> Style {
        let flow = &self.flows[k];
        let frames = &flow.frames;
        if stale
            || !self.radio.knows(flow.ue)
            || frames.bulk()
            || ((self.crowded || self.radio.grid.polled()) && self.schedule() == Schedule::Edf)
            || self
                .radio
                .period()
                .is_some_and(|p| p > self.config.longest_period)
        {
            return Style::Pass;
        }
        let Some(tcp) = &flow.tcp else {
            return Style::Hold;
        };
        if !tcp.ready() {
            return Style::Pass;
        }
        if self.config.mode == Mode::Paper {
            return Style::Paper;
        }
        let far = tcp.rtt_n6() > CREDIT_RTT || self.radio.wired() > CREDIT_WIRED;
        if far && self.schedule() == Schedule::Edf {
            Style::Hold
        } else if frames.known() {
            Style::Credit
        } else {
            Style::Pass
        }
    }

    /// The flow of a packet; a new one where the packet can begin one.
    fn flow_of(&mut self, direction: Direction, ue: UeId, packet: &P, syn: bool) -> Option<u32> {
        let (own, other) = (packet.flow_key(), packet.reverse_key());
        let key = u64::from(ue.0) << 32 | u64::from(own.min(other));
        if let Some(k) = self.flows.find(key) {
            return Some(k);
        }
        if direction == Direction::Up && !syn {
            return None;
        }
        let governs = matches!(self.config.mode, Mode::Paper | Mode::Credit);
        let tcp = (governs && packet.tcp().is_some()).then(|| Box::new(Tcp::new(syn)));
        let flow = Flow {
            ue,
            key: if direction == Direction::Down {
                own
            } else {
                other
            },
            seen: self.now,
            frames: Frames::new(),
            fifo: Fifo::new(),
            tcp,
            base: self.frames,
            place: None,
            kicked: None,
            chosen: false,
            admitted: Instant::ZERO,
            timer: None,
            reserved: 0,
            idle: None,
        };
        let now = self.now;
        self.flows.insert(key, flow, |f| {
            now.since(f.seen) > Duration::from_secs(60)
                && f.place.is_none()
                && f.timer.is_none()
                && f.fifo.head().is_none()
        })
    }

    fn on_down(&mut self, now: Instant, ue: UeId, packet: P, stale: bool) -> Verdict<P> {
        let header = packet.tcp();
        let syn = header.is_some_and(|h| h.flags.contains(TcpFlags::SYN));
        let Some(k) = self.flow_of(Direction::Down, ue, &packet, syn) else {
            return self.pass(now, Direction::Down, ue, packet, true);
        };
        let len = packet.len();
        let flow = &mut self.flows[k];
        flow.seen = now;
        let mut kind = Down::Fresh;
        if let (Some(tcp), Some(h)) = (&mut flow.tcp, &header) {
            kind = tcp.on_down(now, h, packet.syn_options());
            if kind == Down::Again && tcp.recovering() && self.acks.remove(&k) {
                // `paper`: a repair must not wait for acknowledgments that are kept back here.
                tcp.open(&mut self.out);
            }
            if syn && tcp.rtt_n6() > Duration::ZERO {
                self.rtt_n6 = tcp.rtt_n6();
            }
        } else if let Some(h) = &header {
            // Without state of its own a pure ACK or a SYN is no part of a frame.
            if h.payload == 0 {
                kind = Down::Empty;
            }
        }
        if kind == Down::Fresh && flow.frames.on_bytes(now, len) {
            self.frames += 1;
            self.stats.frames += 1;
            flow.base = self.frames;
            self.ahead.retain(|a| a.0 != k);
        }
        let style = self.style(k, stale);
        if style == Style::Hold || self.flows[k].fifo.head().is_some() {
            return self.hold(now, k, packet, style);
        }
        let bulk = self.flows[k].frames.bulk();
        if style == Style::Credit {
            self.settle(k);
            self.arm(k);
            let flow = &self.flows[k];
            if flow.tcp.as_ref().is_some_and(|t| t.demands()) && flow.place.is_none() {
                self.wait(k, flow.frames.started());
                self.due = true;
            }
        }
        self.pass(now, Direction::Down, ue, packet, bulk)
    }

    fn on_up(&mut self, now: Instant, ue: UeId, packet: P, stale: bool) -> Verdict<P> {
        if matches!(self.config.mode, Mode::Off | Mode::Hold) {
            return Verdict::Forward(packet);
        }
        let Some(h) = packet.tcp() else {
            return Verdict::Forward(packet);
        };
        let syn = h.flags.contains(TcpFlags::SYN);
        let Some(k) = self.flow_of(Direction::Up, ue, &packet, syn) else {
            return Verdict::Forward(packet);
        };
        let govern = match self.style(k, stale) {
            Style::Credit => Govern::Credit,
            Style::Paper => Govern::Paper,
            Style::Hold | Style::Pass => Govern::No,
        };
        let flow = &mut self.flows[k];
        flow.seen = now;
        let Some(tcp) = &mut flow.tcp else {
            return Verdict::Forward(packet);
        };
        let verdict = tcp.on_up(now, packet, &h, govern, &mut self.out);
        if tcp.recovering() || !tcp.ready() {
            self.leave(k);
        }
        match govern {
            Govern::No => {
                self.governed.remove(&k);
                self.acks.remove(&k);
            }
            Govern::Credit => {
                self.governed.insert(k);
                self.settle(k);
                self.arm(k);
            }
            Govern::Paper => {
                self.governed.insert(k);
                if self.flows[k].tcp.as_ref().is_some_and(|t| t.has_acks()) {
                    self.acks.insert(k);
                    // "immediately on an ACK of a blocked flow" would run a cycle for each ACK: the next tick does.
                    self.need_tick(now);
                }
            }
        }
        match verdict {
            // What was kept back goes first.
            Verdict::Forward(packet) if !self.out.is_empty() => {
                self.out.push_back((Direction::Up, packet));
                Verdict::Hold
            }
            verdict => verdict,
        }
    }

    /// Lets a packet go at once.
    fn pass(
        &mut self,
        now: Instant,
        dir: Direction,
        ue: UeId,
        packet: P,
        bulk: bool,
    ) -> Verdict<P> {
        self.radio.sent(now, ue, u64::from(packet.len()), bulk);
        if self.out.is_empty() {
            return Verdict::Forward(packet);
        }
        self.out.push_back((dir, packet));
        Verdict::Hold
    }

    fn hold(&mut self, now: Instant, k: u32, packet: P, style: Style) -> Verdict<P> {
        let flow = &mut self.flows[k];
        let (ue, idle) = (flow.ue, flow.fifo.head().is_none());
        let len = u64::from(packet.len());
        if idle {
            let free = match self.schedule() {
                Schedule::Edf => self.waiting.is_empty() && self.fits(now, Duration::ZERO),
                Schedule::Alg1 => now < self.flows[k].admitted,
            };
            if free || self.small(k) || self.held + len > self.config.memory.get() {
                return self.pass(now, Direction::Down, ue, packet, false);
            }
        }
        let flow = &mut self.flows[k];
        let frame = flow.frames.started();
        flow.fifo.push(packet, frame);
        self.held += len;
        self.stats.held += 1;
        if style != Style::Hold {
            // The flow is not governed any more: what waits goes, in order, with the packet.
            self.empty(now, k);
            return Verdict::Hold;
        }
        if idle {
            self.wait(k, frame);
            self.due |= self.schedule() == Schedule::Alg1;
        }
        // A flow may fall behind by two frames; holding more would delay what it sends for good.
        let flow = &mut self.flows[k];
        let limit = (2 * flow.frames.size()).max(128 * 1024);
        while self.flows[k].fifo.bytes() > limit || self.held > self.config.memory.get() {
            self.stats.overdue += 1;
            if !self.release_one(now, k) {
                break;
            }
        }
        if self.schedule() == Schedule::Edf && self.waiting.first().is_some_and(|w| w.1 == k) {
            self.edf(now);
        }
        self.need_tick(now);
        Verdict::Hold
    }

    /// True for flows too small to matter.
    fn small(&mut self, k: u32) -> bool {
        let small = self.config.small_frame.get();
        let frames = &mut self.flows[k].frames;
        u64::from(frames.bytes()) <= small && (!frames.known() || frames.size() <= small)
    }

    /// Hands out the first held packet of `k`; false where there is none.
    fn release_one(&mut self, now: Instant, k: u32) -> bool {
        let flow = &mut self.flows[k];
        let ue = flow.ue;
        let Some(held) = flow.fifo.pop() else {
            return false;
        };
        let place = flow.fifo.head();
        let len = u64::from(held.packet.len());
        self.held -= len;
        self.radio.sent(now, ue, len, false);
        self.out.push_back((Direction::Down, held.packet));
        if self.flows[k].place != place {
            self.leave(k);
            if let Some(place) = place {
                self.wait(k, place);
            }
        }
        true
    }

    fn empty(&mut self, now: Instant, k: u32) {
        while self.release_one(now, k) {}
    }

    fn wait(&mut self, k: u32, place: Instant) {
        self.flows[k].place = Some(place);
        self.waiting.insert((place, k));
        let now = self.now;
        self.need_tick(now);
    }

    fn leave(&mut self, k: u32) {
        if let Some(place) = self.flows[k].place.take() {
            self.waiting.remove(&(place, k));
        }
        self.flows[k].kicked = None;
    }

    /// True where bytes that leave now (or in `ahead`, where a server has to answer first) find less than the budget.
    fn fits(&mut self, now: Instant, ahead: Duration) -> bool {
        let arrive = now + ahead + self.radio.wired();
        let budget = self.radio.budget() * u64::from(self.config.budget_percent) / 100;
        self.radio.backlog(now, arrive) <= budget
    }

    /// Earliest frame first.
    fn edf(&mut self, now: Instant) {
        while let Some(&(_, k)) = self.waiting.first() {
            let flow = &self.flows[k];
            let knocks = flow.fifo.head().is_none();
            let ahead = match (&flow.tcp, knocks) {
                (Some(tcp), true) => tcp.rtt_n6(),
                _ => Duration::ZERO,
            };
            if !self.fits(now, ahead) {
                break;
            }
            if knocks {
                self.grant(now, k);
            } else {
                self.release_one(now, k);
            }
        }
        if self.waiting.is_empty() && !self.idle.is_empty() {
            self.grant_ahead(now);
        }
    }

    /// `credit`: where nothing is queued a slot would go empty while the first frame knocks. The flows whose turn it is
    /// get their grant before they ask, as far as the budget goes; nothing is reserved for them.
    fn grant_ahead(&mut self, now: Instant) {
        let arrive = now + self.rtt_n6 + self.radio.wired();
        let budget = self.radio.budget();
        while let Some(&(_, k)) = self.idle.first() {
            let promised: u64 = self.ahead.iter().map(|a| a.1).sum();
            if self.radio.backlog(now, arrive) + promised > budget {
                return;
            }
            let frame = self.frame_size(k);
            let ue = self.flows[k].ue;
            let granted = self.flows[k]
                .tcp
                .as_mut()
                .is_some_and(|t| t.grant(now, frame, true, &mut self.out));
            if !granted {
                return;
            }
            self.stats.ahead += 1;
            self.ahead.push((k, self.radio.air(ue, frame).max(1)));
            self.settle(k);
            self.arm(k);
        }
    }

    /// `credit`: admits the frame of `k`.
    fn grant(&mut self, now: Instant, k: u32) {
        let frame = self.frame_size(k);
        self.leave(k);
        self.flows[k].frames.resume(now);
        if let Some(tcp) = &mut self.flows[k].tcp {
            if !tcp.grant(now, frame, false, &mut self.out) {
                // No ACK to copy: nothing can be told, so the flow must not count as waiting.
                return;
            }
            self.stats.grants += 1;
        }
        self.settle(k);
        self.arm(k);
    }

    /// `FrameSize`, no larger than what can meet the standard at all.
    fn frame_size(&mut self, k: u32) -> u64 {
        let flow = &mut self.flows[k];
        let size = flow.frames.size();
        let fixed = self.radio.wired() + self.radio.grid.worst_processing();
        let left = self.config.standard.saturating_sub(fixed);
        let most = u128::from(self.radio.throughput(flow.ue)) * u128::from(left.as_nanos());
        size.min((most / 1_000_000_000) as u64)
    }

    /// Takes what `k` has reserved into account.
    fn settle(&mut self, k: u32) {
        let flow = &mut self.flows[k];
        let bytes = flow.tcp.as_ref().map_or(0, |t| t.reserved());
        let air = self.radio.air(flow.ue, bytes);
        self.radio.reserved = self.radio.reserved - flow.reserved + air;
        flow.reserved = air;
        let closed = flow
            .tcp
            .as_ref()
            .is_some_and(|t| t.phase() == Phase::Closed && t.ready() && !t.demands());
        let idle = (closed && flow.place.is_none()).then_some(flow.base);
        if idle != flow.idle {
            if let Some(base) = flow.idle {
                self.idle.remove(&(base, k));
            }
            if let Some(base) = idle {
                self.idle.insert((base, k));
            }
            flow.idle = idle;
        }
    }

    fn arm(&mut self, k: u32) {
        let flow = &mut self.flows[k];
        let due = flow.tcp.as_ref().and_then(|t| t.deadline());
        if flow.timer != due {
            if let Some(old) = flow.timer {
                self.timers.remove(&(old, k));
            }
            if let Some(due) = due {
                self.timers.insert((due, k));
            }
            flow.timer = due;
        }
    }

    /// Algorithm 1 over all flows that could send.
    fn alg1(&mut self, now: Instant) {
        let ahead = match self.config.mode {
            Mode::Hold => Duration::ZERO,
            _ => self.rtt_n6,
        };
        let arrive = now + ahead + self.radio.wired();
        let busy = self.radio.collect(now);
        let mut candidates = core::mem::take(&mut self.candidates);
        candidates.clear();
        let mut ids: Vec<u32> = self.waiting.iter().map(|w| w.1).collect();
        ids.extend(self.acks.iter().filter(|k| self.flows[**k].place.is_none()));
        for k in ids {
            let frame = self.frame_size(k);
            let flow = &self.flows[k];
            let beat = flow.beat();
            let bytes = self.radio.held_by(now, flow.ue, busy) + frame;
            let alone = u128::from(bytes) * 1_000_000_000
                / u128::from(self.radio.throughput(flow.ue).max(1));
            candidates.push(Candidate {
                id: k,
                queue: flow.ue.0,
                busy: self.radio.busy(flow.ue.0),
                priority: self.frames - flow.base,
                alone: Duration::from_nanos(alone.min(1 << 50) as u64),
                forced: flow.kicked.is_some_and(|t| now.since(t) > beat),
            });
        }
        let all: Vec<u32> = candidates.iter().map(|c| c.id).collect();
        let limits = Limits {
            base: self.radio.wired() + self.radio.grid.processing(arrive),
            standard: self.config.standard,
            busy,
            keep_one: busy == 0,
        };
        alg1(&mut candidates, &limits, &mut self.scratch);
        self.admitted.clear();
        self.admitted.extend(candidates.iter().map(|c| c.id));
        self.stats.forced += candidates.iter().filter(|c| c.forced).count() as u64;
        self.candidates = candidates;
        for &k in &self.admitted {
            self.flows[k].chosen = true;
        }
        for k in all {
            if core::mem::take(&mut self.flows[k].chosen) {
                self.admit(now, k);
            } else {
                self.stats.kicked += 1;
                self.flows[k].kicked.get_or_insert(now);
            }
        }
    }

    /// A flow of the set M goes.
    fn admit(&mut self, now: Instant, k: u32) {
        let until = now + self.radio.grid.slot();
        let flow = &mut self.flows[k];
        flow.admitted = until;
        let beat = flow.beat();
        if flow.kicked.take().is_some_and(|t| now.since(t) > beat) && flow.tcp.is_some() {
            flow.frames.taint();
        }
        if self.flows[k].fifo.head().is_some() {
            self.empty(now, k);
        } else if self.config.mode == Mode::Paper {
            let frame = self.frame_size(k);
            let flow = &mut self.flows[k];
            let interval = flow.frames.interval().unwrap_or(BEAT);
            if let Some(tcp) = &mut flow.tcp {
                tcp.two_acks(now, frame, interval, &mut self.out);
                self.stats.grants += 1;
                if !tcp.has_acks() {
                    self.acks.remove(&k);
                }
            }
        } else {
            self.grant(now, k);
        }
    }

    /// A cycle: who may go now?
    fn run_cycle(&mut self, now: Instant) {
        self.due = false;
        self.tick = None;
        // Whoever waited too long goes whatever the cell holds.
        while let Some(&(frame, k)) = self.waiting.first() {
            if self.flows[k].overdue(frame) > now {
                break;
            }
            self.stats.overdue += 1;
            if self.flows[k].fifo.head().is_some() {
                self.release_one(now, k);
            } else {
                self.grant(now, k);
            }
        }
        match self.schedule() {
            Schedule::Edf => {
                self.admitted.clear();
                self.edf(now);
            }
            Schedule::Alg1 => self.alg1(now),
        }
        if !self.waiting.is_empty() || !self.acks.is_empty() {
            self.need_tick(now);
        }
    }

    fn need_tick(&mut self, now: Instant) {
        if self.tick.is_none() {
            let answer = match self.config.mode {
                Mode::Hold => Duration::ZERO,
                _ => self.rtt_n6,
            };
            let ahead = answer + self.radio.wired() + self.config.margin;
            self.tick = Some(self.radio.grid.tick(now, ahead));
        }
    }

    /// Reports ceased: everything goes, windows open.
    fn open_all(&mut self, now: Instant) {
        while let Some(&(_, k)) = self.waiting.first() {
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
        self.acks.clear();
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
            // Asked once a batch, when the one before is complete.
            let crowded = self.radio.crowded(now);
            if crowded && !self.crowded {
                self.open_all(now);
            }
            self.crowded = crowded;
        }
        // Reports of one batch come one by one: the cycle runs once they are all in.
        self.due |= self.depends();
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
                    self.acks.remove(&k);
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
