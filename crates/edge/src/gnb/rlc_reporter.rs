//! Tells the UPF what waits in RLC and how fast the cell drains it (CECC, section III-A), or what share of a flow's
//! packets it should mark (TS 23.501, 5.37.3).
//!
//! The agent reads the downlink queues and what a full slot carries for each UE when its period is over. Carrying its
//! reports is the driver's business.

use slackwater_core::{BearerId, Bytes, Direction, Duration, FlowId, Instant, UeId};
use slackwater_signal::{MarkingScheme, Observer, RanReport, RlcView};

use crate::{Agent, CellView, FlowAt};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReporterConfig {
    /// Time between reports of the queues: 1 ms in the paper; 2, 5 and 10 ms cost less.
    pub period: Duration,
    /// First report.
    pub phase: Duration,
    /// Link state and slot pattern are sent again after this time, so that a lost one does not stay lost.
    pub repeat: Duration,
    /// Leave out queues that were and are empty, but for a sign of life.
    pub suppress: bool,
    /// Tell of congestion in place of all else: what this ramp makes of the age of the oldest packet in the queue. The
    /// radio network decides the share and the UPF marks (TS 23.501, 5.37.3).
    pub congestion: Option<MarkingScheme>,
}

impl Default for ReporterConfig {
    fn default() -> Self {
        Self {
            period: Duration::from_millis(1),
            phase: Duration::ZERO,
            repeat: Duration::from_secs(1),
            suppress: false,
            congestion: None,
        }
    }
}

/// Set in the names of bearers.
const BEARER: u32 = 1 << 31;
/// Bits of a bearer's number: a UE has 29 data bearers at most in NR (TS 38.331, `maxDRB`).
const BEARER_BITS: u32 = 5;

/// An empty queue is reported at least this often; below the time after which a UPF stops to rely on reports.
const SIGN_OF_LIFE: Duration = Duration::from_millis(8);

/// The slots of the cell, as [`RanReport::SlotPattern`] tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellSlots {
    /// When some first slot of the pattern starts on the air.
    pub start: Instant,
    /// Slot length.
    pub slot: Duration,
    /// Slots after which the pattern repeats, 1 to 32.
    pub period: u8,
    /// Bit k: slot k carries downlink data.
    pub down: u32,
    /// Bit k: slot k carries a part of it.
    pub special: u32,
    /// That part, in units of 1/256.
    pub special_q8: u8,
    /// How long before a slot starts on the air the scheduler decides on it.
    pub lead: Duration,
    /// From the end of a slot until the UE's upper layers have its data.
    pub processing: Duration,
    /// The scheduler gives a slot to one UE at a time.
    pub polled: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// Bytes of a full slot at present.
    bytes: u64,
    told: u64,
    told_at: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Bearer {
    ue: UeId,
    id: BearerId,
    flow: FlowId,
    /// The last report said empty.
    empty: bool,
    told_at: Instant,
}

/// The agent of one cell.
#[derive(Clone, Debug)]
pub struct RlcReporter {
    config: ReporterConfig,
    slots: CellSlots,
    slots_known: bool,
    slots_told: Option<Instant>,
    links: Vec<Link>,
    /// Sorted by UE and bearer.
    bearers: Vec<Bearer>,
    /// Flows to tell the congestion of, sorted.
    marked: Vec<(UeId, BearerId, FlowId)>,
    next: Instant,
}

impl RlcReporter {
    /// An agent; `slot` is the cell's slot length. Until [`RlcReporter::set_slots`] each slot counts as a full downlink
    /// slot (FDD).
    pub fn new(config: ReporterConfig, slot: Duration) -> Self {
        let slots = CellSlots {
            start: Instant::ZERO,
            slot,
            period: 1,
            down: 1,
            special: 0,
            special_q8: 0,
            lead: Duration::ZERO,
            processing: Duration::ZERO,
            polled: false,
        };
        Self {
            config,
            slots,
            slots_known: false,
            slots_told: None,
            links: Vec::new(),
            bearers: Vec::new(),
            marked: Vec::new(),
            next: Instant::ZERO + config.phase,
        }
    }

    /// The pattern that the cell uses from now on.
    pub fn set_slots(&mut self, slots: CellSlots) {
        if !self.slots_known || self.slots != slots {
            (self.slots, self.slots_known, self.slots_told) = (slots, true, None);
        }
    }

    /// The bytes of a full slot for `ue` with all blocks.
    pub fn set_link(&mut self, ue: UeId, slot_bytes: Bytes) {
        if self.links.len() <= ue.index() {
            self.links.resize(ue.index() + 1, Link::default());
        }
        self.links[ue.index()].bytes = slot_bytes.get();
    }

    /// The name by which reports call a bearer where nobody gave it one ([`RlcReporter::set_flow`]). It is that of no flow: no
    /// number of a simulated flow has the highest bit.
    pub const fn name_of(ue: UeId, bearer: BearerId) -> FlowId {
        FlowId(BEARER | ue.0 << BEARER_BITS | bearer.0 as u32)
    }

    /// The UE and bearer that `name` is [`RlcReporter::name_of`], if it is.
    pub const fn bearer_of(name: FlowId) -> Option<(UeId, BearerId)> {
        if name.0 & BEARER == 0 {
            return None;
        }
        let bearer = BearerId((name.0 & ((1 << BEARER_BITS) - 1)) as u8);
        Some((UeId((name.0 & !BEARER) >> BEARER_BITS), bearer))
    }

    /// The name by which reports call a bearer; without one it is [`RlcReporter::name_of`].
    pub fn set_flow(&mut self, ue: UeId, bearer: BearerId, flow: FlowId) {
        let k = self.bearer(ue, bearer);
        self.bearers[k].flow = flow;
    }

    /// The share of packets to mark in each flow of the queue `view`.
    fn congestion(
        &self,
        now: Instant,
        scheme: MarkingScheme,
        view: &RlcView,
        out: &mut Vec<RanReport>,
    ) {
        let per_10k = libm::round(scheme.probability(view.hol) * 10_000.0) as u16;
        let place = (view.ue, view.bearer);
        let first = self.marked.partition_point(|m| (m.0, m.1) < place);
        let flows = self.marked[first..]
            .iter()
            .take_while(|m| (m.0, m.1) == place);
        out.extend(flows.map(|m| RanReport::Congestion {
            at: now,
            flow: m.2,
            per_10k,
        }));
    }

    fn bearer(&mut self, ue: UeId, bearer: BearerId) -> usize {
        match self
            .bearers
            .binary_search_by_key(&(ue, bearer), |b| (b.ue, b.id))
        {
            Ok(k) => k,
            Err(k) => {
                let new = Bearer {
                    ue,
                    id: bearer,
                    flow: Self::name_of(ue, bearer),
                    empty: false,
                    told_at: Instant::ZERO,
                };
                self.bearers.insert(k, new);
                k
            }
        }
    }

    /// Writes what is due; `views` are the downlink queues at this instant (others are passed over). Nothing happens
    /// before [`Agent::next_timer`].
    pub fn read(
        &mut self,
        now: Instant,
        views: impl IntoIterator<Item = RlcView>,
        out: &mut Vec<RanReport>,
    ) {
        if now < self.next {
            return;
        }
        while self.next <= now {
            self.next += self.config.period.max(Duration::from_micros(1));
        }
        if let Some(scheme) = self.config.congestion {
            for view in views {
                if view.direction == Direction::Down {
                    self.congestion(now, scheme, &view, out);
                }
            }
            return;
        }
        let repeat = self.config.repeat;
        let due = |told: Instant| now.since(told) >= repeat;
        let first_ue = (0..self.links.len()).find(|&k| self.links[k].bytes > 0);
        if let Some(ue) = first_ue
            && self.slots_known
            && self.slots_told.is_none_or(due)
        {
            self.slots_told = Some(now);
            let s = &self.slots;
            out.push(RanReport::SlotPattern {
                at: now,
                ue: UeId(ue as u32),
                start: s.start,
                slot: s.slot,
                period: s.period,
                down: s.down,
                special: s.special,
                special_q8: s.special_q8,
                lead: s.lead,
                processing: s.processing,
                polled: s.polled,
            });
        }
        for (ue, link) in self.links.iter_mut().enumerate() {
            if link.bytes > 0 && (link.bytes != link.told || due(link.told_at)) {
                (link.told, link.told_at) = (link.bytes, now);
                out.push(RanReport::LinkState {
                    at: now,
                    ue: UeId(ue as u32),
                    slot_bytes: Bytes(link.bytes),
                    slot: self.slots.slot,
                });
            }
        }
        for view in views {
            if view.direction != Direction::Down {
                continue;
            }
            let k = self.bearer(view.ue, view.bearer);
            let b = &mut self.bearers[k];
            let empty = view.backlog == Bytes::ZERO;
            if self.config.suppress && empty && b.empty && now.since(b.told_at) < SIGN_OF_LIFE {
                continue;
            }
            (b.empty, b.told_at) = (empty, now);
            out.push(RanReport::Backlog {
                at: now,
                ue: view.ue,
                flow: b.flow,
                bytes: view.backlog,
            });
        }
    }
}

impl Observer for RlcReporter {
    fn wants_slots(&self) -> bool {
        false
    }
}

impl Agent for RlcReporter {
    /// Congestion is reported of each flow in a bearer.
    fn add_flow(&mut self, at: &FlowAt) {
        let entry = (at.ue, at.bearer, at.flow);
        if let Err(k) = self.marked.binary_search(&entry) {
            self.marked.insert(k, entry);
        }
    }

    fn poll(&mut self, now: Instant, cell: &mut dyn CellView, out: &mut Vec<RanReport>) {
        for ue in (0..cell.ues() as u32).map(UeId) {
            self.set_link(ue, cell.slot_bytes(ue));
        }
        self.read(now, cell.queues(), out);
    }

    fn next_timer(&self) -> Option<Instant> {
        Some(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(ue: u32, backlog: u64) -> RlcView {
        RlcView {
            ue: UeId(ue),
            bearer: BearerId(1),
            direction: Direction::Down,
            backlog: Bytes(backlog),
            packets: 0,
            hol: Duration::ZERO,
        }
    }

    fn dddsu() -> CellSlots {
        CellSlots {
            start: Instant::ZERO,
            slot: Duration::from_millis(1),
            period: 5,
            down: 0b111,
            special: 0b1000,
            special_q8: 179,
            lead: Duration::from_millis(2),
            processing: Duration::from_micros(50),
            polled: false,
        }
    }

    #[test]
    fn congestion_follows_the_ramp_for_each_flow_of_a_bearer() {
        let mut agent = RlcReporter::new(
            ReporterConfig {
                congestion: Some(MarkingScheme {
                    low: Duration::from_millis(5),
                    high: Duration::from_millis(20),
                }),
                ..ReporterConfig::default()
            },
            Duration::from_millis(1),
        );
        for (flow, bearer) in [(7, 1), (8, 1), (7, 1), (9, 2)] {
            agent.add_flow(&FlowAt {
                flow: FlowId(flow),
                ue: UeId(1),
                bearer: BearerId(bearer),
            });
        }
        let mut out = Vec::new();
        for (ms, hol_ms, want) in [(0, 5.0, 0), (1, 11.0, 4_000), (2, 90.0, 10_000)] {
            out.clear();
            let mut queue = view(1, 900);
            queue.hol = Duration::from_secs_f64(hol_ms / 1e3);
            let at = Instant::from_millis(ms);
            agent.read(at, [queue, view(0, 900)], &mut out);
            let told = |flow| RanReport::Congestion {
                at,
                flow: FlowId(flow),
                per_10k: want,
            };
            assert_eq!(out, [told(7), told(8)], "{hol_ms}");
        }
    }

    #[test]
    fn backlogs_come_each_period_and_link_states_on_change() {
        let mut agent = RlcReporter::new(ReporterConfig::default(), Duration::from_millis(1));
        assert!(!agent.wants_slots(), "a cell need not show it its slots");
        agent.set_slots(dddsu());
        agent.set_flow(UeId(1), BearerId(1), FlowId(77));
        let mut out = Vec::new();
        agent.set_link(UeId(0), Bytes(5_000));
        agent.set_link(UeId(1), Bytes(4_000));
        agent.read(Instant::ZERO, [view(0, 900), view(1, 0)], &mut out);
        assert_eq!(out.len(), 5, "{out:?}");
        assert!(matches!(out[0], RanReport::SlotPattern { period: 5, .. }));
        assert_eq!(
            out[2],
            RanReport::LinkState {
                at: Instant::ZERO,
                ue: UeId(1),
                slot_bytes: Bytes(4_000),
                slot: Duration::from_millis(1),
            }
        );
        assert_eq!(
            out[4],
            RanReport::Backlog {
                at: Instant::ZERO,
                ue: UeId(1),
                flow: FlowId(77),
                bytes: Bytes::ZERO,
            }
        );
        out.clear();
        assert_eq!(agent.next_timer(), Some(Instant::from_millis(1)));
        agent.read(Instant::from_nanos(999_999), [view(0, 1)], &mut out);
        assert!(out.is_empty());
        agent.read(Instant::from_millis(1), [view(0, 1), view(1, 1)], &mut out);
        assert_eq!(out.len(), 2);
        out.clear();
        agent.set_link(UeId(1), Bytes(4_400));
        agent.read(Instant::from_millis(2), [view(0, 1)], &mut out);
        assert!(matches!(
            out[0],
            RanReport::LinkState {
                slot_bytes: Bytes(4_400),
                ..
            }
        ));
        out.clear();
        // Everything again after a second: pattern, two links.
        agent.read(Instant::from_millis(1_002), [view(0, 1)], &mut out);
        assert_eq!(out.len(), 4, "{out:?}");
    }

    #[test]
    fn empty_queues_can_be_left_out_but_show_a_sign_of_life() {
        let config = ReporterConfig {
            suppress: true,
            ..ReporterConfig::default()
        };
        let mut agent = RlcReporter::new(config, Duration::from_millis(1));
        let mut counts = Vec::new();
        for ms in 0..20 {
            let mut out = Vec::new();
            let backlog = if ms == 4 { 100 } else { 0 };
            agent.read(Instant::from_millis(ms), [view(0, backlog)], &mut out);
            counts.push(out.len());
        }
        // First, the change, the change back, eight and sixteen milliseconds on.
        let told: Vec<_> = (0..20).filter(|&k| counts[k] == 1).collect();
        assert_eq!(told, [0, 4, 5, 13]);
    }
}
