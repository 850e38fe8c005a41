//! The cell.
//!
//! One component on a slot clock. [`Cell::enqueue`] puts packets into RLC queues at their exact times;
//! [`Cell::run_slot`] runs the phases of one slot in a fixed order: timers, uplink blocks that UEs fill, uplink
//! reception, downlink reception, HARQ feedback, downlink grants, uplink grants. [`Cell::next_slot`] names the next
//! slot with anything to do, and `None` while the cell holds no work.

pub mod config;
pub mod delays;
mod down;
mod gone;
pub mod keys;
mod offer;
mod resent;
mod sample;
mod side;
pub mod stats;
#[cfg(test)]
mod tests;
mod ue;
mod up;

pub use config::{BearerConfig, CellConfig, ConfigError, UeConfig};
pub use delays::Delays;
use gone::{Gone, Mark};
pub use keys::{BufferStatus, CqiConfig, HarqConfig, OllaConfig, Timing, UplinkConfig, range};
use offer::Offer;
use side::{Side, slot_start};
use slackwater_core::{
    BearerId, Bytes, Direction, Draw, Duration, Instant, PacketView, Prbs, Qfi, SlotIdx, UeId,
};
use slackwater_signal::{Observer, PdcpView, ResentView, RlcView, SlotView};
pub use stats::{CellStats, DirStats};
use ue::Ue;
use up::Uplink;

pub use crate::rat::Rat;

use crate::mac::BitSet;
use crate::out::CellOut;
use crate::radio::Radio;
use crate::ring::{Due, Ring};
use crate::rlc::PieceKind;

/// An LTE or NR cell with its UEs.
pub struct Cell<P> {
    config: CellConfig,
    /// The configuration's delays.
    delays: Delays,
    slot_ns: u64,
    ues: Vec<Ue<P>>,
    radio: Radio,
    down: Side,
    up: Side,
    uplink: Uplink,
    /// The next slot that may run.
    cursor: u64,
    /// Slots before this one are in the capacity counters.
    counted: u64,
    down_air: Ring,
    down_feedback: Ring,
    /// Slots from PDSCH to the first uplink slot that carries its feedback, by slot modulo period.
    feedback_after: Vec<u8>,
    due: Vec<Due>,
    timed: BitSet,
    timer_at: Vec<Instant>,
    arrivals: Vec<(Instant, PdcpView)>,
    /// Packets that are gone, for the observer.
    gone: Gone,
    /// What RLC sends again, for the observer.
    resent: Vec<ResentView>,
    /// Slots before this one were shown to the observer.
    shown: u64,
    /// The UEs with a law that goes by what their link can carry.
    offers: Vec<Offer>,
}

impl<P: PacketView + Clone> Cell<P> {
    /// Builds a cell. The laws of the bearers move into it.
    ///
    /// # Errors
    ///
    /// Where a value of `config` is out of range, or a UE has no bearer.
    pub fn new(config: &CellConfig, ues: Vec<UeConfig>, draw: Draw) -> Result<Self, ConfigError> {
        config.check()?;
        let delays = config.delays();
        let count = ues.len();
        let mut channels = Vec::with_capacity(count);
        let mut built = Vec::with_capacity(count);
        for (index, ue) in ues.into_iter().enumerate() {
            if ue.bearers.is_empty() {
                return Err(ConfigError::NoBearer(index));
            }
            channels.push(ue.channel);
            built.push(Ue::new(config.rat, index, ue.rnti, ue.bearers));
        }
        let period = config.duplex.period();
        let feedback_after = (0..period)
            .map(|slot| {
                let least = usize::from(delays.k1);
                let wait = (least..least + period)
                    .find(|&k| up::carries_control(&config.duplex, slot + k))
                    .expect("a pattern has an uplink slot");
                wait as u8
            })
            .collect();
        let offers = Offer::of(&built);
        Ok(Self {
            offers,
            slot_ns: config.slot_duration().as_nanos(),
            ues: built,
            radio: Radio::new(&channels, config.slot_duration().as_nanos(), draw),
            down: Side::new(config, Direction::Down, count, draw),
            up: Side::new(config, Direction::Up, count, draw),
            uplink: Uplink::new(config, count),
            cursor: 0,
            counted: 0,
            down_air: Ring::new(),
            down_feedback: Ring::new(),
            feedback_after,
            due: Vec::new(),
            timed: BitSet::new(count),
            timer_at: vec![Instant::MAX; count],
            arrivals: Vec::new(),
            gone: Gone::new(
                [config.observe_gone, config.observe_gone_up],
                count,
                usize::from(config.processes()),
            ),
            resent: Vec::new(),
            shown: 0,
            config: config.clone(),
            delays,
        })
    }

    /// The configuration.
    pub fn config(&self) -> &CellConfig {
        &self.config
    }

    /// Number of UEs.
    pub fn ues(&self) -> usize {
        self.ues.len()
    }

    /// Number of bearers of `ue`.
    pub fn bearers(&self, ue: UeId) -> usize {
        self.ues[ue.index()].bearers.len()
    }

    /// Slot length.
    pub fn slot_duration(&self) -> Duration {
        Duration::from_nanos(self.slot_ns)
    }

    /// Counters of the whole cell. Capacity covers the slots that ran; call [`Cell::catch_up`] before reading it
    /// where the cell may have slept.
    pub fn stats(&self) -> CellStats {
        CellStats {
            down: self.down.stats,
            up: self.up.stats,
        }
    }

    /// Counters of one UE; its `capacity` stays zero.
    pub fn ue_stats(&self, ue: UeId) -> CellStats {
        CellStats {
            down: self.down.ue_stats[ue.index()],
            up: self.up.ue_stats[ue.index()],
        }
    }

    /// The downlink or uplink queue of a bearer.
    pub fn rlc_view(&self, now: Instant, dir: Direction, ue: UeId, bearer: BearerId) -> RlcView {
        let bearer = &self.ues[ue.index()].bearers[bearer.index()];
        match dir {
            Direction::Down => bearer.down.view(now),
            Direction::Up => bearer.up.view(now),
        }
    }

    /// Bytes that the scheduler knows to wait at `ue` for the uplink and has not granted.
    pub fn uplink_want(&self, ue: UeId) -> Bytes {
        Bytes(u64::from(self.up.want[ue.index()]))
    }

    /// The bearer that carries `qfi` of `ue`.
    pub fn bearer(&self, ue: UeId, qfi: Qfi) -> BearerId {
        BearerId(self.ues[ue.index()].qfis.bearer(qfi) as u8)
    }

    /// Bytes of a full downlink slot for `ue` at its present MCS.
    pub fn slot_bytes(&self, ue: UeId) -> Bytes {
        self.down.slot_bytes(ue.index())
    }

    /// Bytes of a full slot in `dir` for `ue`, by what the scheduler knows of it at `now`, even where nothing waits.
    pub fn slot_bytes_at(&mut self, now: Instant, dir: Direction, ue: UeId) -> Bytes {
        let slot = now.as_nanos() / self.slot_ns;
        let side = match dir {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        };
        side.refresh(ue.index(), slot, &mut self.radio);
        side.slot_bytes(ue.index())
    }

    /// Packets inside: waiting, on the air, or held up by a gap.
    pub fn packets(&self) -> usize {
        self.ues
            .iter()
            .flat_map(|ue| &ue.bearers)
            .map(|b| b.down.packets() + b.up.packets())
            .sum()
    }

    /// A packet enters PDCP. `now` is not before the last slot that ran. It may be dropped into `out`.
    #[inline]
    pub fn enqueue(
        &mut self,
        now: Instant,
        dir: Direction,
        ue: UeId,
        qfi: Qfi,
        packet: P,
        out: &mut CellOut<P>,
    ) {
        let index = ue.index();
        let state = &mut self.ues[index];
        let b = state.qfis.bearer(qfi);
        if self.config.observe_pdcp {
            let view = PdcpView {
                ue,
                bearer: BearerId(b as u8),
                qfi,
                flow: packet.flow(),
                direction: dir,
                bytes: Bytes(u64::from(packet.len())),
            };
            self.arrivals.push((now, view));
        }
        if now.as_nanos() > self.cursor * self.slot_ns {
            self.cursor = now.as_nanos().div_ceil(self.slot_ns);
        }
        let entity = state.bearers[b].entity(dir);
        let more = entity.need_of_next(packet.len());
        // ns-3's UEs report each arrival, which is more than a beginning.
        let reports = dir == Direction::Up && self.config.uplink.out_of_band();
        let queued = !state.am && !reports && entity.has_new();
        let mark = Mark::of(out);
        let dropped = entity.enqueue(now, packet, out);
        if dropped > 0 {
            self.gone.note(now, dir, index, None, mark, out);
            let entity = self.ues[index].bearers[b].entity(dir);
            let container = entity.has_container();
            let side = self.side(dir);
            side.stats.dropped += u64::from(dropped);
            side.ue_stats[index].dropped += u64::from(dropped);
            if !container {
                // The packet was not taken, and nothing else changed.
                return;
            }
        }
        if queued && dropped == 0 {
            // The queue was not empty: no UE begins to want anything.
            let need = match dir {
                Direction::Down => &mut self.down.want[index],
                Direction::Up => self.uplink.need_mut(index),
            };
            *need = need.saturating_add(more);
            return;
        }
        match dir {
            Direction::Down => self.downlink_arrival(now, index),
            Direction::Up => self.uplink_arrival(now, index),
        }
    }

    /// The downlink queues of `ue` changed outside of a grant.
    #[inline]
    fn downlink_arrival(&mut self, now: Instant, ue: usize) {
        let need = self.ues[ue].need(now, Direction::Down);
        if need > 0 && self.down.want[ue] == 0 {
            self.down.wants.insert(ue);
            self.down.fresh.push(ue as u32);
        } else if need == 0 {
            self.down.wants.remove(ue);
        }
        self.down.want[ue] = need;
    }

    #[inline]
    fn side(&mut self, dir: Direction) -> &mut Side {
        match dir {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }

    /// When [`Cell::run_slot`] must be called next; `None` while nothing waits, flies or is timed.
    pub fn next_slot(&self) -> Option<Instant> {
        let from = self.cursor;
        if !self.down.wants.is_empty()
            || !self.up.wants.is_empty()
            || !self.down.again.is_empty()
            || !self.up.again.is_empty()
            || !self.arrivals.is_empty()
            || self.gone.has_news()
        {
            return Some(slot_start(from, self.slot_ns));
        }
        let mut next = u64::MAX;
        for ring in [&self.down_air, &self.down_feedback] {
            next = next.min(ring.next(from).unwrap_or(u64::MAX));
        }
        next = next.min(self.uplink.next(from));
        for ue in &self.timed {
            let slot = self.timer_at[ue].as_nanos().div_ceil(self.slot_ns);
            next = next.min(slot.max(from));
        }
        (next != u64::MAX).then(|| slot_start(next, self.slot_ns))
    }

    /// No slot runs before this time.
    #[inline]
    pub fn earliest_slot(&self) -> Instant {
        slot_start(self.cursor, self.slot_ns)
    }

    /// Runs the slot that starts at `now`.
    pub fn run_slot(
        &mut self,
        now: Instant,
        out: &mut CellOut<P>,
        observer: &mut (impl Observer + ?Sized),
    ) {
        let slot = now.as_nanos() / self.slot_ns;
        debug_assert!(
            now.as_nanos().is_multiple_of(self.slot_ns) && slot >= self.cursor.saturating_sub(1),
            "{now} is not a slot of this cell to come"
        );
        self.cursor = slot + 1;
        let watched = observer.wants_slots();
        self.down.watched = watched;
        self.up.watched = watched;
        if watched {
            self.show_slept(slot, observer);
        }
        for (at, view) in &self.arrivals {
            observer.on_pdcp(*at, view);
        }
        self.arrivals.clear();
        self.gone.show(observer);
        self.count_idle(slot);
        if !self.timed.is_empty() {
            self.timers(now, out);
        }
        self.uplink_requests(slot);
        self.uplink_fill(now, slot, out);
        self.uplink_receive(now, slot, out);
        self.downlink_receive(now, slot, out);
        self.downlink_feedback(now, slot, out);
        self.down.reports(slot, &mut self.radio);
        self.down
            .refresh(self.down.reference, slot, &mut self.radio);
        let down_free = self.downlink_grants(now, slot, out);
        self.up.reports(slot, &mut self.radio);
        self.up.refresh(self.up.reference, slot, &mut self.radio);
        let up_free = self.uplink_grants(slot);
        self.counted = slot + 1;
        self.gone.show(observer);
        if watched {
            self.show_resent(now, observer);
            self.show(now, slot, Direction::Down, down_free, observer);
            self.show(now, slot, Direction::Up, up_free, observer);
            self.shown = slot + 1;
            for side in [&mut self.down, &mut self.up] {
                side.grants.clear();
                side.feedback.clear();
            }
        }
    }

    /// Counts the capacity of the slots that ended before `now` and did not run, for [`Cell::stats`].
    pub fn catch_up(&mut self, now: Instant) {
        let slot = now.as_nanos() / self.slot_ns;
        // A slot with work ahead counts when it runs.
        let upto = match self.next_slot() {
            Some(next) => slot.min(next.as_nanos() / self.slot_ns),
            None => slot,
        };
        self.count_idle(upto);
    }

    fn count_idle(&mut self, upto: u64) {
        while self.counted < upto {
            let slot = self.counted;
            let (d, u) = (self.down.reference, self.up.reference);
            self.down.refresh(d, slot, &mut self.radio);
            self.up.refresh(u, slot, &mut self.radio);
            let steady = upto
                .min(self.down.valid_until(d))
                .min(self.up.valid_until(u));
            let period = self.uplink.period();
            if self.offers.is_empty() && slot + 2 * period <= steady {
                self.count_periods(slot, (steady - slot) / period);
            } else {
                self.count_slot(slot);
                self.counted += 1;
            }
        }
    }

    /// Counts `count` periods of idle slots from `slot` on, in which what the scheduler knows of the channels stays: each has the capacity
    /// of the first. A cell that sleeps for days costs no more than one that sleeps for a period.
    fn count_periods(&mut self, slot: u64, count: u64) {
        let period = self.uplink.period();
        let before = [self.down.stats.capacity, self.up.stats.capacity];
        for k in 0..period {
            self.count_slot(slot + k);
        }
        for (side, before) in [&mut self.down, &mut self.up].into_iter().zip(before) {
            side.stats.capacity += (side.stats.capacity - before) * (count - 1);
        }
        self.counted += count * period;
    }

    /// Counts an idle slot.
    fn count_slot(&mut self, slot: u64) {
        let kind = self.down.kind_of(self.downlink_air(slot));
        if kind > 0 {
            let all = self.down.tables[kind - 1].groups();
            self.down.count_free(kind, all);
            if !self.offers.is_empty() {
                self.open_offers(all);
                self.close_offers(slot, kind, all);
            }
        }
        for target in self.uplink.targets(slot) {
            let kind = self.up.kind_of(target);
            let all = self.up.tables[kind - 1].groups();
            self.up.count_free(kind, all);
        }
    }

    /// Shows the slots that the cell slept through before `upto`: all blocks were free, and an observer that averages over slots
    /// must count them. Uplink slots are shown where somebody observes what is gone from the uplink.
    fn show_slept(&mut self, upto: u64, observer: &mut (impl Observer + ?Sized)) {
        for slot in self.shown..upto {
            self.count_idle(slot + 1);
            let free = match self.down.kind_of(self.downlink_air(slot)) {
                0 => 0,
                kind => {
                    let table = &self.down.tables[kind - 1];
                    table.prbs(table.groups())
                }
            };
            let start = slot_start(slot, self.slot_ns);
            self.show(start, slot, Direction::Down, (free, free), observer);
            if self.gone.is_observed(Direction::Up) {
                let free = self.uplink_blocks(slot);
                self.show(start, slot, Direction::Up, (free, free), observer);
            }
        }
    }

    fn show(
        &self,
        now: Instant,
        slot: u64,
        dir: Direction,
        (schedulable, free): (u16, u16),
        observer: &mut (impl Observer + ?Sized),
    ) {
        let (side, kind) = match dir {
            Direction::Down => (&self.down, self.down.kind_of(self.downlink_air(slot))),
            Direction::Up => (&self.up, 1),
        };
        let view = SlotView {
            slot: SlotIdx(slot),
            start: now,
            direction: dir,
            grants: &side.grants,
            feedback: &side.feedback,
            schedulable: Prbs(schedulable),
            free: Prbs(free),
            bytes_per_prb_q8: side.block_bytes_q8(kind),
            bytes_version: side.block_version(kind),
        };
        observer.on_slot(now, &view);
    }

    #[inline]
    fn downlink_air(&self, slot: u64) -> u64 {
        slot + u64::from(self.delays.mac_to_air) + u64::from(self.delays.k0)
    }

    /// Hands the pieces of a decoded block to their RLC entities.
    fn deliver(
        &mut self,
        now: Instant,
        dir: Direction,
        ue: usize,
        process: u8,
        out: &mut CellOut<P>,
    ) {
        let at = now + self.config.decode;
        let mark = Mark::of(out);
        let (mut delivered, mut dropped) = (0, 0);
        for k in 0..self.side(dir).block(ue, process).pieces.len() {
            let piece = self.side(dir).block(ue, process).pieces[k];
            let bearer = &mut self.ues[ue].bearers[usize::from(piece.bearer)];
            if piece.kind == PieceKind::Status {
                bearer.entity(dir.reverse()).on_status(piece.number, true);
                continue;
            }
            let moved = bearer.entity(dir).received(now, at, &piece, out);
            delivered += moved.delivered;
            dropped += u64::from(moved.dropped);
        }
        self.gone.note(now, dir, ue, Some(process), mark, out);
        self.moved(dir, ue, delivered, dropped);
        self.arm(now, ue);
    }

    /// Tells the RLC entities that HARQ gave up on a block.
    fn give_up(
        &mut self,
        now: Instant,
        dir: Direction,
        ue: usize,
        process: u8,
        out: &mut CellOut<P>,
    ) {
        let mark = Mark::of(out);
        let mut dropped = 0;
        for k in 0..self.side(dir).block(ue, process).pieces.len() {
            let piece = self.side(dir).block(ue, process).pieces[k];
            let bearer = &mut self.ues[ue].bearers[usize::from(piece.bearer)];
            if piece.kind == PieceKind::Status {
                bearer.entity(dir.reverse()).on_status(piece.number, false);
                continue;
            }
            dropped += u64::from(bearer.entity(dir).lost(now, &piece, out).dropped);
        }
        self.gone.note(now, dir, ue, None, mark, out);
        let side = self.side(dir);
        side.stats.lost += 1;
        side.ue_stats[ue].lost += 1;
        self.moved(dir, ue, 0, dropped);
        self.arm(now, ue);
    }

    fn moved(&mut self, dir: Direction, ue: usize, delivered: u64, dropped: u64) {
        let side = self.side(dir);
        side.stats.delivered += delivered;
        side.stats.dropped += dropped;
        side.ue_stats[ue].delivered += delivered;
        side.ue_stats[ue].dropped += dropped;
    }

    /// Notes the earliest timer of `ue`, and what acknowledged mode now wants to send.
    #[inline]
    fn arm(&mut self, now: Instant, ue: usize) {
        let state = &self.ues[ue];
        if let ([bearer], false, false) =
            (state.bearers.as_slice(), state.am, self.timed.contains(ue))
            && bearer.down.deadline().is_none()
            && bearer.up.deadline().is_none()
        {
            return;
        }
        if state.am {
            self.downlink_arrival(now, ue);
            self.uplink_arrival(now, ue);
        }
        let mut first = Instant::MAX;
        for bearer in &self.ues[ue].bearers {
            for entity in [&bearer.down, &bearer.up] {
                if let Some(at) = entity.deadline() {
                    first = first.min(at);
                }
            }
        }
        if first == Instant::MAX {
            self.timed.remove(ue);
        } else {
            self.timed.insert(ue);
        }
        self.timer_at[ue] = first;
    }

    fn timers(&mut self, now: Instant, out: &mut CellOut<P>) {
        let mut from = 0;
        while let Some(ue) = self.timed.next_from(from) {
            from = ue + 1;
            if self.timer_at[ue] > now {
                continue;
            }
            for b in 0..self.ues[ue].bearers.len() {
                for dir in [Direction::Down, Direction::Up] {
                    let entity = self.ues[ue].bearers[b].entity(dir);
                    let mark = Mark::of(out);
                    let moved = entity.on_timer(now, now + self.config.decode, out);
                    self.gone.note(now, dir, ue, None, mark, out);
                    self.moved(dir, ue, moved.delivered, u64::from(moved.dropped));
                }
            }
            self.arm(now, ue);
        }
    }
}
