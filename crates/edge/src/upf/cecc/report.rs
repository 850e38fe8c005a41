//! What the radio network told: intake of reports, their clock, and the bytes that are under way to it.

use std::collections::VecDeque;

use slackwater_core::{Bytes, Duration, FlowId, Instant, UeId};
use slackwater_signal::RanReport;

use super::predict::{Grid, Projection};

/// Reports over which the least one-way delay is taken (twice, so that the minimum never starts from nothing).
const CLOCK_WINDOW: u32 = 64;
/// A report older than this is dropped.
const LATE: Duration = Duration::from_millis(20);
/// Fresh reports after silence until gating starts again.
const FRESH: u32 = 3;
/// Bytes sent within this time become one entry of the log.
const GRAIN: Duration = Duration::from_micros(25);
/// Time with two backlogged queues or more over which the drained bytes are measured.
const MEASURE: Duration = Duration::from_millis(100);
/// A queue that never empties for this long is a bulk transfer's, in whatever bursts its ACKs let it come: one of frames
/// empties between them.
pub(super) const STANDING: Duration = Duration::from_millis(100);
/// How long a UE counts as having a bulk transfer after one was seen.
const BULK: Duration = Duration::from_millis(200);
/// How long a bulk transfer counts as competing after it last filled slots.
const CROWDED: Duration = Duration::from_millis(200);
/// Air time that one queue may claim: 18 minutes. That of [`MAX_UES`] queues still fits into 64 bits, whatever is reported.
const AIR_MAX: u64 = 1 << 40;
/// Bytes that one flow's report may claim: as many as its field holds (docs/wire.md, type 229).
const BACKLOG_MAX: u64 = u32::MAX as u64;
/// UEs that can be told apart; further ones pass untouched.
const MAX_UES: usize = 1 << 20;

/// The queue of one UE in the radio network. Flows of a UE share it: the radio network cannot see them apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// Reported bytes, all bearers together.
    rbs: u64,
    /// When, by our clock.
    at: Instant,
    /// Bytes of a full slot at the present MCS; zero while unknown.
    slot_bytes: u64,
    /// Entries of the log.
    logged: u32,
    live: bool,
    /// A bulk transfer of the UE was seen lately; its backlog is nobody's frame.
    bulk_until: Instant,
    /// It has held bytes since.
    busy_since: Option<Instant>,
    /// Time and value of the report before; the log reaches back to it.
    before: (Instant, u64),
    /// It stands in the list of the present batch.
    listed: bool,
    /// A flow of it was admitted in this cycle.
    opened: bool,
    /// Scratch: bytes of the log that are asked for.
    tx: u64,
    /// Scratch: those of them that met no slot.
    fresh: u64,
    entries: Vec<(FlowId, u64, Instant)>,
}

impl Queue {
    /// Full-slot air time of `bytes`, in nanoseconds; [`AIR_MAX`] at most.
    fn air(&self, bytes: u64, slot: Duration) -> u64 {
        bytes
            .saturating_mul(slot.as_nanos())
            .checked_div(self.slot_bytes)
            .unwrap_or(0)
            .min(AIR_MAX)
    }
}

/// Bytes that left for the radio network.
#[derive(Clone, Copy, Debug)]
struct Sent {
    first: Instant,
    /// Arrival at the gNB.
    arrive: Instant,
    queue: u32,
    bytes: u64,
}

/// Counters of the intake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportStats {
    /// Batches of reports (equal time stamps) that were used.
    pub batches: u64,
    /// Reports dropped because a newer one was there.
    pub reordered: u64,
    /// Reports dropped because of their age.
    pub late: u64,
    /// Times that gating stopped because reports did.
    pub silences: u64,
}

/// The least of a sliding window, in two halves.
#[derive(Clone, Copy, Debug)]
struct WindowMin {
    now: i64,
    before: i64,
    n: u32,
}

impl WindowMin {
    const fn new() -> Self {
        Self {
            now: i64::MAX,
            before: i64::MAX,
            n: 0,
        }
    }

    fn push(&mut self, value: i64, window: u32) {
        if self.n == window {
            (self.before, self.now, self.n) = (self.now, i64::MAX, 0);
        }
        self.now = self.now.min(value);
        self.n += 1;
    }

    fn get(&self) -> Option<i64> {
        let least = self.now.min(self.before);
        (least != i64::MAX).then_some(least)
    }
}

/// Everything known of the cell.
#[derive(Clone, Debug)]
pub(super) struct Radio {
    queues: Vec<Queue>,
    live: Vec<u32>,
    /// Queues of the flows that Algorithm 1 admitted in this cycle.
    opened: Vec<u32>,
    /// Live queues that the present batch named.
    batch: Vec<u32>,
    log: VecDeque<Sent>,
    pub(super) grid: Grid,
    pub(super) stats: ReportStats,
    projection: Projection,
    dirty: bool,
    /// A bulk transfer competes for slots up to this instant.
    crowded_until: Instant,
    /// Bytes granted and not seen yet, in air time.
    pub(super) reserved: u64,
    /// One-way delays of reports, in nanoseconds, signed because clocks may disagree.
    clock: WindowMin,
    fixed_wired: Option<Duration>,
    period: WindowMin,
    newest: Option<Instant>,
    last_rx: Instant,
    fresh: u32,
    stale: bool,
    stale_after: Duration,
    /// Measured share of the nominal capacity, q16.
    share_q16: u64,
    measured: Measured,
}

/// Summed over batches with two backlogged queues or more.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    served: u64,
    capacity: u64,
    time: Duration,
}

/// One, in the fixed point of [`Radio::share_q16`].
const ONE: u64 = 1 << 16;

impl Radio {
    pub(super) fn new(fixed_wired: Option<Duration>, stale_after: Duration) -> Self {
        Self {
            queues: Vec::new(),
            live: Vec::new(),
            opened: Vec::new(),
            batch: Vec::new(),
            log: VecDeque::new(),
            grid: Grid::default(),
            stats: ReportStats::default(),
            projection: Projection::default(),
            dirty: true,
            crowded_until: Instant::ZERO,
            reserved: 0,
            clock: WindowMin::new(),
            fixed_wired,
            period: WindowMin::new(),
            newest: None,
            last_rx: Instant::ZERO,
            fresh: 0,
            stale: true,
            stale_after,
            share_q16: ONE,
            measured: Measured::default(),
        }
    }

    /// Takes a report in; true where it began a new batch.
    pub(super) fn on_report(&mut self, now: Instant, report: &RanReport) -> bool {
        match *report {
            RanReport::Backlog {
                at,
                ue,
                flow,
                bytes,
            } => self.on_backlog(now, at, ue, flow, bytes),
            RanReport::LinkState {
                ue,
                slot_bytes,
                slot,
                ..
            } => {
                let Some(q) = self.queue_mut(ue) else {
                    return false;
                };
                q.slot_bytes = slot_bytes.get();
                self.grid.set_slot(slot);
                self.dirty = true;
                false
            }
            RanReport::SlotPattern { start, .. } => {
                let start = self.local(start);
                self.grid.set_pattern(report, start);
                self.dirty = true;
                false
            }
            _ => false,
        }
    }

    fn on_backlog(
        &mut self,
        now: Instant,
        at: Instant,
        ue: UeId,
        flow: FlowId,
        bytes: Bytes,
    ) -> bool {
        let delay = now.as_nanos() as i64 - at.as_nanos() as i64;
        // The minimum may only be moved by each batch once, or a large cell would forget it sooner.
        let local = self.local(at);
        let begins = self.newest.is_none_or(|newest| local > newest);
        if begins || self.clock.get().is_none_or(|least| delay < least) {
            self.clock.push(delay, CLOCK_WINDOW);
        }
        let local = self.local(at);
        if now.since(local) > LATE + self.wired() {
            self.stats.late += 1;
            return false;
        }
        if self.queue_mut(ue).is_none() {
            return false;
        }
        let begins = self.newest.is_none_or(|newest| local > newest);
        if begins {
            self.begin_batch(now, local);
        }
        let q = &mut self.queues[ue.index()];
        if q.live && !q.listed {
            q.listed = true;
            q.before = (q.at, q.rbs);
            self.batch.push(ue.0);
        }
        let q = &mut self.queues[ue.index()];
        let bytes = bytes.get().min(BACKLOG_MAX);
        match q.entries.iter_mut().find(|e| e.0 == flow) {
            Some(e) if local < e.2 => {
                self.stats.reordered += 1;
                return false;
            }
            Some(e) => (e.1, e.2) = (bytes, local),
            None => q.entries.push((flow, bytes, local)),
        }
        q.rbs = q.entries.iter().map(|e| e.1).sum();
        q.at = q.at.max(local);
        if q.rbs == 0 {
            q.busy_since = None;
        } else if now.since(*q.busy_since.get_or_insert(now)) > STANDING {
            q.bulk_until = now + BULK;
        }
        self.enlist(ue.0);
        self.dirty = true;
        begins
    }

    fn begin_batch(&mut self, now: Instant, local: Instant) {
        if let Some(before) = self.newest {
            self.period.push(local.since(before).as_nanos() as i64, 16);
            self.measure(before, local);
        }
        self.newest = Some(local);
        self.last_rx = now;
        self.fresh = self.fresh.saturating_add(1);
        if self.stale && self.fresh >= FRESH {
            self.stale = false;
        }
        self.stats.batches += 1;
    }

    /// Counts what the queues of a batch lost since their reports before: what they held and got, less what they hold.
    /// Two of them must have held bytes at either end and so throughout.
    fn measure(&mut self, local: Instant, next: Instant) {
        let mut batch = core::mem::take(&mut self.batch);
        let from = batch.iter().map(|&k| self.queues[k as usize].before.0);
        let from = from.max().unwrap_or(local);
        let covered = local.since(from);
        let held = |q: &Queue| q.before.1 > 0 && q.rbs > 0;
        let contended = batch
            .iter()
            .filter(|&&k| held(&self.queues[k as usize]))
            .count()
            >= 2;
        if contended && covered <= self.stale_after && next.since(local) <= self.stale_after {
            // What came after the newest decision met no slot: a queue that holds only that was emptied.
            let decided = self.grid.last_decision(local);
            for &k in &batch {
                let q = &mut self.queues[k as usize];
                (q.tx, q.fresh) = (0, 0);
            }
            for s in &self.log {
                let q = &mut self.queues[s.queue as usize];
                if q.listed && s.arrive > q.before.0 && s.arrive <= q.at {
                    q.tx += s.bytes;
                    q.fresh += if s.arrive > decided { s.bytes } else { 0 };
                }
            }
            let (mut served, mut backlogged) = (0, 0);
            for &k in &batch {
                let q = &self.queues[k as usize];
                let left = (q.before.1 + q.tx).saturating_sub(q.rbs);
                served += q.air(left, self.grid.slot());
                backlogged += u32::from(q.before.1 > 0 && q.rbs > q.fresh);
            }
            if backlogged >= 2 {
                let m = &mut self.measured;
                m.served += served;
                m.capacity += self.grid.capacity(from, local);
                m.time += covered;
                if m.time >= MEASURE && m.capacity > 0 {
                    // A poll of one UE per slot gives about 0.7 of the nominal; HARQ takes a little.
                    let share = m.served.saturating_mul(ONE) / m.capacity;
                    let share = share.clamp(ONE * 3 / 10, ONE);
                    self.share_q16 = u64::midpoint(self.share_q16, share);
                    *m = Measured::default();
                }
            }
        }
        for k in batch.drain(..) {
            let q = &mut self.queues[k as usize];
            q.listed = false;
            q.before = (q.at, q.rbs);
        }
        self.batch = batch;
    }

    /// The instant of our clock that the gNB's clock calls `at`: with clocks in step they are the same; else the report
    /// that was fastest is taken to have travelled for the configured time.
    fn local(&self, at: Instant) -> Instant {
        let (Some(wired), Some(least)) = (self.fixed_wired, self.clock.get()) else {
            return at;
        };
        let shifted = at.as_nanos() as i64 + least - wired.as_nanos() as i64;
        Instant::from_nanos(shifted.max(0) as u64)
    }

    /// `WiredD`: one-way delay between UPF and gNB.
    pub(super) fn wired(&self) -> Duration {
        self.fixed_wired.unwrap_or_else(|| {
            Duration::from_nanos(self.clock.get().map_or(0, |least| least.max(0) as u64))
        })
    }

    /// Time between reports, once known.
    pub(super) fn period(&self) -> Option<Duration> {
        self.period
            .get()
            .map(|ns| Duration::from_nanos(ns.max(0) as u64))
    }

    /// True where reports are missing; the caller has to ask before it relies on anything. The second value says that
    /// they stopped just now.
    pub(super) fn stale(&mut self, now: Instant) -> (bool, bool) {
        if !self.stale && now.since(self.last_rx) > self.stale_after {
            self.stale = true;
            self.fresh = 0;
            self.stats.silences += 1;
            return (true, true);
        }
        (self.stale, false)
    }

    /// True where reports were missing when [`Radio::stale`] was asked last.
    pub(super) const fn silent(&self) -> bool {
        self.stale
    }

    /// When reports will be missing if none comes.
    pub(super) fn stale_at(&self) -> Option<Instant> {
        (!self.stale).then(|| self.last_rx + self.stale_after + Duration::from_nanos(1))
    }

    fn queue_mut(&mut self, ue: UeId) -> Option<&mut Queue> {
        let k = ue.index();
        if k >= self.queues.len() {
            if k >= MAX_UES {
                return None;
            }
            self.queues.resize_with(k + 1, Queue::default);
        }
        Some(&mut self.queues[k])
    }

    /// True where the link state of `ue` is known.
    pub(super) fn knows(&self, ue: UeId) -> bool {
        self.queues
            .get(ue.index())
            .is_some_and(|q| q.slot_bytes > 0)
    }

    /// True where a bulk transfer to `ue` fills its queue.
    pub(super) fn bulk(&self, now: Instant, ue: UeId) -> bool {
        let queue = self.queues.get(ue.index());
        queue.is_some_and(|q| q.bulk_until > now)
    }

    fn enlist(&mut self, queue: u32) {
        let q = &mut self.queues[queue as usize];
        if !q.live && (q.rbs > 0 || q.logged > 0) {
            q.live = true;
            self.live.push(queue);
        }
    }

    /// `bytes` of `ue` leave for the gNB now; `bulk` where they belong to no frame.
    pub(super) fn sent(&mut self, now: Instant, ue: UeId, bytes: u64, bulk: bool) {
        if self.newest.is_none() || self.queue_mut(ue).is_none() {
            return;
        }
        let arrive = now + self.wired();
        let slot = self.grid.slot();
        let queue = ue.0;
        let q = &mut self.queues[ue.index()];
        if bulk {
            q.bulk_until = now + BULK;
        }
        if q.bulk_until <= now && q.slot_bytes > 0 {
            let air = q.air(bytes, slot);
            self.projection.add(&self.grid, self.share_q16, arrive, air);
        }
        match self.log.back_mut() {
            Some(s) if s.queue == queue && arrive.since(s.first) <= GRAIN => {
                s.bytes += bytes;
                s.arrive = arrive;
            }
            _ => {
                self.log.push_back(Sent {
                    first: arrive,
                    arrive,
                    queue,
                    bytes,
                });
                self.queues[ue.index()].logged += 1;
                self.enlist(queue);
                self.prune(now);
            }
        }
    }

    /// Forgets log entries that a report contains or that are too old to matter.
    fn prune(&mut self, now: Instant) {
        while let Some(s) = self.log.front() {
            let q = &mut self.queues[s.queue as usize];
            let known = if q.listed { q.before.0 } else { q.at };
            if s.arrive > known && s.arrive + LATE >= now {
                break;
            }
            q.logged -= 1;
            self.log.pop_front();
        }
    }

    /// Works the projection out anew where a report came since.
    fn refresh(&mut self, now: Instant) {
        if !self.dirty {
            return;
        }
        self.dirty = false;
        self.prune(now);
        let Some(newest) = self.newest else {
            return;
        };
        let slot = self.grid.slot();
        let mut base = 0;
        let mut managed = false;
        let mut bulk = 0;
        let mut k = 0;
        while k < self.live.len() {
            let q = &mut self.queues[self.live[k] as usize];
            if q.rbs == 0 && q.logged == 0 {
                q.live = false;
                self.live.swap_remove(k);
                continue;
            }
            // A queue that the newest reports left out: its value is old; assume that it drained.
            let old = newest.since(q.at) > Duration::from_millis(5);
            if q.bulk_until > now {
                bulk += u64::from(q.rbs > 0);
                if q.rbs >= q.slot_bytes / 2 && q.slot_bytes > 0 {
                    self.crowded_until = now + CROWDED;
                }
            } else {
                managed = true;
                if !old {
                    base += q.air(q.rbs, slot);
                }
            }
            k += 1;
        }
        // The cell gives each backlogged queue its turn: bulk transfers of others take theirs.
        self.projection
            .restart(newest, base, if managed { bulk } else { 0 });
        for s in &self.log {
            let q = &self.queues[s.queue as usize];
            if s.arrive <= q.at || q.bulk_until > now {
                continue;
            }
            let air = q.air(s.bytes, slot);
            self.projection
                .add(&self.grid, self.share_q16, s.arrive.max(newest), air);
        }
    }

    /// True where a bulk transfer fills slots of the cell. A cell that serves its queues alike gives such a transfer less
    /// the more of them hold bytes: frames that go one after the other would leave it what frames together get.
    pub(super) fn crowded(&mut self, now: Instant) -> bool {
        self.refresh(now);
        now < self.crowded_until
    }

    /// Backlog projected to `arrive`, in nanoseconds of full-slot air time, with what is reserved.
    pub(super) fn backlog(&mut self, now: Instant, arrive: Instant) -> u64 {
        self.refresh(now);
        self.projection.at(&self.grid, self.share_q16, arrive) + self.reserved
    }

    /// When the last of `air`, which is or comes before the cell at `arrive`, is at its UE.
    pub(super) fn served(&self, arrive: Instant, air: u64) -> Instant {
        let nominal = u128::from(air) * u128::from(ONE) / u128::from(self.share_q16.max(1));
        self.grid.reached(arrive, nominal as u64) + self.grid.after_decision()
    }

    /// `B*`: air time of one full downlink slot.
    pub(super) fn budget(&self) -> u64 {
        (self.grid.slot().as_nanos() * self.share_q16) >> 16
    }

    /// Full-slot air time of `bytes` of `ue`.
    pub(super) fn air(&self, ue: UeId, bytes: u64) -> u64 {
        self.queues
            .get(ue.index())
            .map_or(0, |q| q.air(bytes, self.grid.slot()))
    }

    /// `TH` of `ue` in bytes per second: what the cell would give it alone.
    pub(super) fn throughput(&self, ue: UeId) -> u64 {
        let Some(q) = self.queues.get(ue.index()) else {
            return 0;
        };
        let per_second = u128::from(q.slot_bytes) * 1_000_000_000
            / u128::from(self.grid.slot().as_nanos().max(1));
        ((per_second * u128::from(self.share_q16) * u128::from(self.grid.down_q16())) >> 32) as u64
    }

    /// `RBS`, decayed by what left since the report, and `TxSize` of every queue that has either; call before
    /// [`Radio::held_by`].
    pub(super) fn collect(&mut self, now: Instant) -> u64 {
        self.refresh(now);
        for &k in &self.live {
            self.queues[k as usize].tx = 0;
        }
        for s in &self.log {
            let q = &mut self.queues[s.queue as usize];
            if s.arrive > q.at {
                q.tx += s.bytes;
            }
        }
        self.live.iter().filter(|&&k| self.busy(k)).count() as u64
    }

    /// Starts a cycle of Algorithm 1.
    pub(super) fn forget_opened(&mut self) {
        for k in self.opened.drain(..) {
            self.queues[k as usize].opened = false;
        }
    }

    /// A flow of `queue` is admitted in this cycle.
    pub(super) fn open(&mut self, queue: u32) {
        if let Some(q) = self.queues.get_mut(queue as usize).filter(|q| !q.opened) {
            q.opened = true;
            self.opened.push(queue);
        }
    }

    /// True where a flow of `queue` is admitted in this cycle.
    pub(super) fn opened(&self, queue: u32) -> bool {
        self.queues.get(queue as usize).is_some_and(|q| q.opened)
    }

    /// True where the queue holds bytes or gets some, by [`Radio::collect`].
    pub(super) fn busy(&self, queue: u32) -> bool {
        self.queues
            .get(queue as usize)
            .is_some_and(|q| q.live && q.rbs + q.tx > 0)
    }

    /// `RBS + TxSize` of `ue` by [`Radio::collect`]; `n` queues share the cell.
    pub(super) fn held_by(&self, now: Instant, ue: UeId, n: u64) -> u64 {
        let Some(q) = self.queues.get(ue.index()).filter(|q| q.live) else {
            return 0;
        };
        let since = now.since(q.at + self.wired());
        let left = u128::from(self.throughput(ue)) * u128::from(since.as_nanos())
            / (1_000_000_000 * u128::from(n.max(1)));
        q.rbs.saturating_sub(left as u64) + q.tx
    }

    /// Reported bytes of `ue`.
    pub(super) fn rbs(&self, ue: UeId) -> Bytes {
        Bytes(self.queues.get(ue.index()).map_or(0, |q| q.rbs))
    }

    /// Measured share of the nominal capacity, in [0.3, 1].
    pub(super) fn share(&self) -> f64 {
        self.share_q16 as f64 / ONE as f64
    }
}
