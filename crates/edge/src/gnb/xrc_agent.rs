//! The agent of XRC: each flow's fair rate and the delay of its queue, from what the scheduler did (XRC, section
//! III-A).
//!
//! | XRC | here |
//! |---|---|
//! | new transport blocks only, NDI = 1 | `UeState::on_grant` |
//! | free resource blocks at the UE's MCS | `UeState::offered_q8` |
//! | own blocks and "the fair share of the free resource blocks", mean of 40 TTIs | `paper::capacity` |
//! | active flows by packet inter-arrival time, 200 ms | `ActiveFlows` |
//! | eq. 1, the rate of a flow: the UE's capacity over its active flows | `paper::fair_share`; by demand `ActiveFlows::fair` |
//! | head-of-line delay of the RLC queue | [`XrcAgent::share`], [`XrcAgent::on_rlc`] |
//!
//! [`AgentConfig::literal`] is the paper's reading; what it leaves open is decided as measured best. Own and free bytes are averaged apart, and the
//! free ones divided by the UEs that are active when the report is made: dividing slot by slot promises 10 UEs that
//! wake together 7 times the cell. Slots without a grant count as zero own bytes, except that a UE which has been idle
//! is promised its fair share of all blocks. Blocks spent on retransmissions are neither own nor free, so capacity
//! falls with the error rate.

mod config;
mod flows;
mod grants;
mod paper;
#[cfg(test)]
mod recorded;
mod slots;
#[cfg(test)]
mod tests;
mod ue;

pub use config::{AgentConfig, IpScale, Share};
use flows::ActiveFlows;
use grants::Granted;
use std::collections::VecDeque;

use slackwater_core::{Direction, FlowId, Instant, Rate, UeId};
use slackwater_signal::{Observer, PathReport, PdcpView, RlcView, SlotView};
use slots::Slots;
use ue::{Memo, Own, Span, UeState};

use crate::{Agent, CellView, FlowAt};

/// An XRC agent. It sees one cell and reports on the downlink of its flows.
#[derive(Clone, Debug)]
pub struct XrcAgent {
    /// The parameters.
    config: AgentConfig,
    /// [`AgentConfig::window`], one at least.
    window: u64,
    /// [`AgentConfig::waking_after`], and slots that are kept.
    reach: (u64, u64),
    /// The cell's blocks, slot by slot.
    slots: Slots,
    /// One byte per slot, in bit/s.
    bits_per_slot: f64,
    /// The latest spans in which some UE was waking, by their ends.
    woken: VecDeque<Span>,
    /// End of a window, and the blocks used within it during those spans.
    woken_used: (u64, u64),
    /// UEs by number.
    ues: Vec<UeState>,
    /// Flows that PDCP saw of late.
    flows: ActiveFlows,
}

impl XrcAgent {
    /// An agent that has seen nothing.
    pub fn new(config: AgentConfig) -> Self {
        let window = u64::from(config.window.max(1));
        // Half a window more than a sum reaches, so that a sum that was asked for a while ago can be moved.
        let depth = window + window / 2 + config.delay_slots() + 2;
        let slots = Slots::new(depth as usize, config.unschedulable);
        Self {
            config,
            window,
            reach: (u64::from(config.waking_after), slots.depth()),
            slots,
            bits_per_slot: 8e9 / config.slot.as_nanos() as f64,
            woken: VecDeque::new(),
            woken_used: (0, 0),
            ues: Vec::new(),
            flows: ActiveFlows::new(config.flow_timeout),
        }
    }

    /// The parameters.
    pub fn config(&self) -> &AgentConfig {
        &self.config
    }

    #[inline]
    fn ue(&mut self, ue: UeId) -> &mut UeState {
        if self.ues.len() <= ue.index() {
            self.meet(ue);
        }
        &mut self.ues[ue.index()]
    }

    #[cold]
    #[inline(never)]
    fn meet(&mut self, ue: UeId) {
        self.ues.resize_with(ue.index() + 1, UeState::default);
    }

    /// The slots of the window that is known at `now`, as `from..to`; `None` before the first.
    #[inline]
    fn known(&self, now: Instant) -> Option<(u64, u64)> {
        let mut to = self.slots.next();
        if !self.config.f1_delay.is_zero() {
            let known = now
                .as_nanos()
                .checked_sub(self.config.f1_delay.as_nanos())?;
            to = to.min(known / self.config.slot.as_nanos() + 1);
        }
        let from = to.saturating_sub(self.window).max(self.slots.begin());
        (from < to).then_some((from, to))
    }

    /// The capacity of `ue`, in IP bytes: the mean over the window of its new transport blocks, and of its fair share
    /// of the free resource blocks among the UEs that are active now. `None` before the first slot.
    pub fn capacity(&mut self, now: Instant, ue: UeId) -> Option<Rate> {
        let ues = self.flows.ues_with(now, ue);
        let known = self.known(now)?;
        Some(self.capacity_among(known, ue, ues))
    }

    /// The capacity of `ue` in the slots of `from..to`, shared by `ues`: found once for each end, however many ask.
    #[inline]
    fn capacity_among(&mut self, (from, to): (u64, u64), ue: UeId, ues: u32) -> Rate {
        let memo = self.ue(ue).memo;
        if (memo.to, memo.ues) != (to, ues) {
            self.estimate((from, to), ue, ues);
        }
        self.ues[ue.index()].memo.rate
    }

    #[inline(never)]
    fn estimate(&mut self, (from, to): (u64, u64), ue: UeId, ues: u32) {
        let kept = self.kept(from, to, ues);
        let own = self.own(from, to, ue);
        let (waking_after, slots) = (self.reach.0, &self.slots);
        let state = &mut self.ues[ue.index()];
        let free_q8 = state.offered_q8(ue.index(), slots, from, to, waking_after);

        let bytes = paper::capacity(own, kept, free_q8, ues, to - from);
        let scale = self.ip_scale(ue, own.granted, bytes);
        let bps = bytes * scale * self.bits_per_slot;
        let rate = Rate::from_bps((bps + 0.5) as u64);
        self.ues[ue.index()].memo = Memo { to, ues, rate };
    }

    /// New data granted to `ue`: over the window as the paper has it, or over whole turns.
    fn own(&mut self, from: u64, to: u64, ue: UeId) -> Own {
        let (window, waking_after) = (self.window, self.reach.0);
        let state = &mut self.ues[ue.index()];
        let turns = (self.config.whole_turns)
            .then(|| state.whole_turns(to, window, waking_after))
            .flatten();
        turns.unwrap_or_else(|| state.granted(from, to))
    }

    /// IP bytes per byte of transport blocks, of which `bytes` go to `ue` in a slot.
    fn ip_scale(&mut self, ue: UeId, granted: Granted, bytes: f64) -> f64 {
        let (window, next) = (self.window, self.slots.next());
        match self.config.scale {
            IpScale::Blocks => 1.0,
            IpScale::Fixed(scale) => scale,
            IpScale::Headers {
                per_block,
                per_packet,
            } => match self.ues[ue.index()].packets(next, window) {
                [size, packets] if packets > 0 && bytes > 0.0 => {
                    let blocks = if granted.blocks > 0 {
                        granted.blocks as f64 / granted.bytes as f64
                    } else {
                        1.0 / bytes
                    };
                    let first = (1.0 - f64::from(per_block) * blocks).max(0.0);
                    let headers = packets * u64::from(per_packet);
                    first * size as f64 / (size + headers) as f64
                }
                _ => IpScale::UNKNOWN,
            },
        }
    }

    /// The share of used blocks that their users keep after UEs woke up.
    ///
    /// A UE that wakes is promised its share of blocks that others used. Until the window shows how the scheduler
    /// takes it from them, their rates fall by the same amount: the cell is promised once.
    fn kept(&mut self, from: u64, to: u64, ues: u32) -> f64 {
        if !self.config.balance || self.woken.is_empty() {
            return 1.0;
        }
        if self.woken_used.0 != to {
            while self.woken.front().is_some_and(|span| span.1 <= from) {
                self.woken.pop_front();
            }
            let slots = &self.slots;
            let used = |&(a, b): &Span| slots.used(a.max(from), b.min(to));
            self.woken_used = (to, self.woken.iter().map(used).sum());
        }
        let used = self.slots.used(from, to) * u64::from(ues);
        if used == 0 {
            return 1.0;
        }
        (1.0 - self.woken_used.1 as f64 / used as f64).max(0.0)
    }

    /// Remembers that a UE woke up.
    #[inline]
    fn note_woken(&mut self, woken: Option<Span>) {
        if let Some(span) = woken {
            self.remember(span);
        }
    }

    #[cold]
    #[inline(never)]
    fn remember(&mut self, woken: Span) {
        let kept = self.slots.begin();
        while self.woken.front().is_some_and(|span| span.1 <= kept) {
            self.woken.pop_front();
        }
        self.woken.push_back(woken);
        self.woken_used.0 = 0;
    }

    /// What the sender of `flow` hears on an ACK that passes now; `rlc` is the downlink queue of its bearer. The rate
    /// is zero before the first slot is known.
    ///
    /// With an F1 delay, the rate and the head-of-line delay are those of that long ago; the latter comes from what
    /// [`XrcAgent::on_rlc`] was told. Active flows are counted at PDCP and are those of now.
    pub fn share(&mut self, now: Instant, flow: FlowId, rlc: &RlcView) -> PathReport {
        let company = self.flows.company(now, rlc.ue, rlc.bearer, flow);
        let delayed = !self.config.f1_delay.is_zero();
        if !delayed {
            self.note_backlog(rlc);
        }
        let (rate, seq) = match self.known(now) {
            Some(known) => {
                let capacity = self.capacity_among(known, rlc.ue, company.ues);
                let rate = match self.config.share {
                    Share::Demand if company.flows > 1 => {
                        let fair = self.flows.fair(now, rlc.ue, flow, capacity.as_bps());
                        Rate::from_bps(fair)
                    }
                    _ => paper::fair_share(capacity, company.flows),
                };
                (rate, (known.1 - 1) as u16)
            }
            None => (Rate::from_bps(0), 0),
        };
        let hol_delay = if delayed {
            let known = now.saturating_sub(self.config.f1_delay);
            self.ue(rlc.ue).head_at(known, rlc.bearer)
        } else {
            rlc.hol
        };
        PathReport::Share {
            rate,
            hol_delay,
            seq,
            shared: company.shared,
        }
    }

    /// A downlink queue, told once per slot; needed for queues of reported flows where there is an F1 delay.
    pub fn on_rlc(&mut self, now: Instant, rlc: &RlcView) {
        if rlc.direction == Direction::Up || self.config.f1_delay.is_zero() {
            return;
        }
        let known = now.saturating_sub(self.config.f1_delay);
        self.ue(rlc.ue).note_head(now, rlc.bearer, rlc.hol, known);
        self.note_backlog(rlc);
    }

    fn note_backlog(&mut self, rlc: &RlcView) {
        let (next, reach) = (self.slots.next(), self.reach);
        let woken = self
            .ue(rlc.ue)
            .on_queue(next, rlc.bearer, rlc.backlog, reach);
        self.note_woken(woken);
    }
}

impl Observer for XrcAgent {
    #[inline]
    fn on_slot(&mut self, _now: Instant, view: &SlotView<'_>) {
        if view.direction == Direction::Up || !self.slots.push(view) {
            return;
        }
        let reach = self.reach;
        for grant in view.grants {
            let woken = self.ue(grant.ue).on_grant(view.slot.0, grant, reach);
            self.note_woken(woken);
        }
    }

    #[inline]
    fn on_pdcp(&mut self, now: Instant, packet: &PdcpView) {
        if packet.direction == Direction::Up {
            return;
        }
        if let Some(flow) = packet.flow {
            let bytes = packet.bytes.0;
            self.flows
                .on_packet(now, packet.ue, packet.bearer, flow, bytes);
        }
        let (next, window) = (self.slots.next(), self.window);
        let reach = self.reach;
        let woken = self
            .ue(packet.ue)
            .on_packet(next, packet.bearer, packet.bytes, window, reach);
        self.note_woken(woken);
    }
}

impl Agent for XrcAgent {
    #[inline]
    fn report(
        &mut self,
        now: Instant,
        flow: &FlowAt,
        cell: &mut dyn CellView,
    ) -> Option<PathReport> {
        self.known(now)?;
        let queue = cell.queue(flow.ue, flow.bearer);
        Some(self.share(now, flow.flow, &queue))
    }

    fn wants_queues(&self) -> bool {
        !self.config.f1_delay.is_zero()
    }

    fn on_queue(&mut self, now: Instant, queue: &RlcView) {
        self.on_rlc(now, queue);
    }
}
