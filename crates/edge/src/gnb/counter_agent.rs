//! The agent of `ebb`: counts at the base station what left the radio's queue, what waits and what the radio offered, for
//! each flow.
//!
//! | counter | what a base station reads it from |
//! |---|---|
//! | arrived | packets at PDCP |
//! | gone | HARQ's feedback and its own drops ([`Observer::on_gone`]) |
//! | offered | grants of new blocks and idle blocks, as a UE counts them ([`TbsAgent`]), in bytes of IP packets |
//!
//! A UE with nothing to send is offered its part of all blocks: once it wants them, the scheduler takes them from the others.
//!
//! Of an upload the base station counts what it received and what it offers. The UE, which takes the report to the sender beside
//! it, adds what a buffer status (TS 38.321, 5.4.5) says too late and too roughly: its own backlog, the age of its oldest byte and
//! its drops.
//!
//! What a UE is offered is shared among its active flows; a flow gets more where the others take less than their part.

use slackwater_core::{BearerId, Direction, Duration, Instant, UeId};
use slackwater_signal::{Counters, GoneView, Observer, PathReport, PdcpView, SlotView};

use super::{FlowCounts, IpScale};
use crate::ue::{BlocksMode, TbsAgent};
use crate::{Agent, CellView, FlowAt};

/// Weight of a packet's or block's size in the mean of sizes.
const SIZE_WEIGHT: f64 = 1.0 / 64.0;

/// The counters of one UE.
#[derive(Clone, Debug, Default)]
struct UeCounts {
    /// Its flows.
    flows: FlowCounts,
    /// Bytes that wait: those of the queues at the last report, what entered since, less what was granted.
    waiting: u64,
    /// Bytes of blocks beyond what it was given or left: its part of all, while it had nothing to send. 1/256 bytes.
    entitled_q8: u64,
    /// Its part of idle blocks while it had something to send. 1/256 bytes.
    useless_q8: u64,
    /// Bytes of new blocks in the present slot.
    granted: u64,
    /// Mean sizes of its packets and of its blocks.
    sizes: [Option<f64>; 2],
    /// From bytes of blocks to bytes of packets, where it is known for these sizes.
    scale: Option<f64>,
    /// Bytes of blocks by the last report.
    read: u64,
}

impl UeCounts {
    fn size(&mut self, which: usize, bytes: u64) {
        let bytes = bytes as f64;
        let mean = self.sizes[which].unwrap_or(bytes);
        self.sizes[which] = Some(mean + (bytes - mean) * SIZE_WEIGHT);
        self.scale = None;
    }

    fn scale(&mut self, by: IpScale) -> f64 {
        let [packet, block] = self.sizes;
        *self.scale.get_or_insert_with(|| by.of(packet, block))
    }
}

/// UEs of which nothing waits, a bit each: in a full slot these alone are looked at.
#[derive(Clone, Debug, Default)]
struct Empty {
    words: Vec<u64>,
}

impl Empty {
    /// Whether something of `ue` waits.
    #[inline]
    fn set(&mut self, ue: usize, empty: bool) {
        let (word, bit) = (&mut self.words[ue / 64], 1 << (ue % 64));
        *word = if empty { *word | bit } else { *word & !bit };
    }

    /// The next of them from `ue` on.
    #[inline]
    fn next(&self, ue: usize) -> Option<usize> {
        let first = self.words.get(ue / 64)? >> (ue % 64);
        if first != 0 {
            return Some(ue + first.trailing_zeros() as usize);
        }
        let rest = self.words.iter().enumerate().skip(ue / 64 + 1);
        let (at, word) = rest.into_iter().find(|&(_, &word)| word != 0)?;
        Some(at * 64 + word.trailing_zeros() as usize)
    }
}

/// Counts flows at a base station.
#[derive(Clone, Debug)]
pub struct CounterAgent {
    /// Which way the data goes.
    direction: Direction,
    /// Blocks given and idle ones shared out.
    blocks: TbsAgent,
    /// From bytes of blocks to bytes of packets.
    scale: IpScale,
    /// UEs by number.
    ues: Vec<UeCounts>,
    /// Those of which nothing waits.
    empty: Empty,
    /// What its counters say of who counts.
    instance: u8,
}

impl CounterAgent {
    /// An agent that has seen nothing. `slot` and `symbols` are those of [`TbsAgent::new`].
    pub fn new(slot: Duration, symbols: Vec<u8>, scale: IpScale) -> Self {
        Self {
            direction: Direction::Down,
            blocks: TbsAgent::new(BlocksMode::AllocatedIdle, slot, symbols),
            scale,
            ues: Vec::new(),
            empty: Empty::default(),
            instance: 0,
        }
    }

    /// The same as another base station, or another start of one: a sender then takes its counters up at once.
    #[must_use]
    pub const fn of_instance(mut self, instance: u8) -> Self {
        self.instance = instance;
        self
    }

    /// The same for uploads; `symbols` were those of the uplink.
    #[must_use]
    pub fn of_uploads(mut self) -> Self {
        self.direction = Direction::Up;
        self.blocks = self.blocks.of_direction(Direction::Up);
        self
    }

    #[inline]
    fn ue(&mut self, ue: UeId) -> (&mut UeCounts, &mut Empty) {
        if self.ues.len() <= ue.index() {
            self.begin(ue);
        }
        (&mut self.ues[ue.index()], &mut self.empty)
    }

    /// Counts `ue`, and those below it, from now on.
    #[cold]
    fn begin(&mut self, ue: UeId) {
        let (before, instance) = (self.ues.len(), self.instance);
        self.ues.resize_with(ue.index() + 1, || UeCounts {
            flows: FlowCounts::of_instance(instance),
            ..UeCounts::default()
        });
        self.empty.words.resize(ue.index() / 64 + 1, 0);
        (before..=ue.index()).for_each(|ue| self.empty.set(ue, true));
    }

    /// Brings what `ue` was offered up to `now`, and what waits of it.
    #[inline]
    fn catch_up(&mut self, now: Instant, ue: UeId, waiting: u64, cell: &mut dyn CellView) {
        let blocks = self.blocks.bytes(now, ue, cell);
        let scale = self.scale;
        let (counts, empty) = self.ue(ue);
        counts.waiting = waiting;
        empty.set(ue.index(), waiting == 0);
        let more = counts.entitled_q8 >> 8;
        let read = (blocks + more).saturating_sub(counts.useless_q8 >> 8);
        let new = read.saturating_sub(counts.read);
        counts.read = counts.read.max(read);
        let scale = counts.scale(scale);
        counts.flows.offer(new as f64 * scale);
    }

    /// What `slot` left to a UE that had `per_block` of each of its blocks, beside those that it was given.
    #[inline]
    fn share(&mut self, slot: &SlotView<'_>, n: usize, per_block: u32) {
        let counts = &mut self.ues[n];
        let waits = counts.waiting > 0;
        if waits && (slot.free.0 == 0 || slot.direction == Direction::Up) {
            // Idle blocks of the uplink are offered to who waits, too: a scheduler gives no block before a buffer status wants it.
            return;
        }
        let per_block = u64::from(per_block);
        let sharers = self.blocks.sharers_now(UeId(n as u32));
        let idle = if slot.free.0 == 0 {
            0
        } else {
            per_block * u64::from(slot.free.0) / sharers
        };
        if waits {
            // It could not have them: no process was free, or no block fits.
            counts.useless_q8 += idle;
            return;
        }
        let part = per_block * u64::from(slot.schedulable.0) / sharers;
        let own = counts.granted << 8;
        counts.entitled_q8 += part.saturating_sub(own + idle);
    }
}

impl Observer for CounterAgent {
    fn on_slot(&mut self, now: Instant, slot: &SlotView<'_>) {
        if slot.direction != self.direction {
            return;
        }
        self.blocks.on_slot(now, slot);
        let scale = self.scale;
        for grant in slot.grants.iter().filter(|g| g.ndi) {
            let (counts, empty) = self.ue(grant.ue);
            counts.granted += grant.tbs.0;
            counts.size(1, grant.tbs.0);
            let bytes = grant.tbs.0 as f64 * counts.scale(scale);
            let left = counts.waiting.saturating_sub(bytes as u64);
            // Blocks are padded; what was never inside waits no more.
            counts.waiting = left.min(counts.flows.backlog());
            empty.set(grant.ue.index(), counts.waiting == 0);
        }

        let each = slot.bytes_per_prb_q8;
        if slot.free.0 > 0 {
            for (n, &per_block) in each.iter().enumerate().take(self.ues.len()) {
                self.share(slot, n, per_block);
            }
        } else {
            // Blocks that are not there are shared by nobody; who wants nothing has its part of all the same.
            let mut from = 0;
            while let Some(n) = self.empty.next(from) {
                let Some(&per_block) = each.get(n) else {
                    break;
                };
                self.share(slot, n, per_block);
                from = n + 1;
            }
        }
        for grant in slot.grants {
            if let Some(counts) = self.ues.get_mut(grant.ue.index()) {
                counts.granted = 0;
            }
        }
    }

    fn on_pdcp(&mut self, now: Instant, packet: &PdcpView) {
        let Some(flow) = packet.flow.filter(|_| packet.direction == self.direction) else {
            return;
        };
        let bytes = packet.bytes.0;
        let (counts, empty) = self.ue(packet.ue);
        if counts.waiting == 0 {
            empty.set(packet.ue.index(), bytes == 0);
        }
        counts.waiting += bytes;
        counts.size(0, bytes);
        counts.flows.on_arrival(now, flow, packet.bearer, bytes);
    }

    fn on_gone(&mut self, now: Instant, packet: &GoneView) {
        let Some(flow) = packet.flow.filter(|_| packet.direction == self.direction) else {
            return;
        };
        let bytes = packet.bytes.0;
        let (counts, empty) = self.ue(packet.ue);
        if !packet.delivered {
            counts.waiting = counts.waiting.saturating_sub(bytes);
            empty.set(packet.ue.index(), counts.waiting == 0);
        }
        let delivered = packet.delivered;
        counts.flows.on_gone(now, flow, bytes, delivered);
    }
}

impl Agent for CounterAgent {
    fn add_flow(&mut self, at: &FlowAt) {
        self.blocks.watch(at.ue);
        self.ue(at.ue).0.flows.subscribe(at.flow, at.bearer);
    }

    fn report(&mut self, now: Instant, at: &FlowAt, cell: &mut dyn CellView) -> Option<PathReport> {
        let own = cell.queue(at.ue, at.bearer);
        let mut waiting = own.backlog.0;
        let bearers = (0..cell.bearers(at.ue) as u8).map(BearerId);
        for other in bearers.filter(|&bearer| bearer != at.bearer) {
            waiting += cell.queue(at.ue, other).backlog.0;
        }
        self.catch_up(now, at.ue, waiting, cell);
        let flows = &mut self.ue(at.ue).0.flows;
        let counters = flows.report(now, at.flow, at.bearer, own.hol);
        Some(PathReport::Counters(Counters {
            upload: self.direction == Direction::Up,
            ..counters
        }))
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::{Bytes, FlowId, Prbs, Qfi, Rnti, SlotIdx};
    use slackwater_signal::{Grant, RlcView};

    use super::*;
    use crate::agent::OneQueue;

    const UE: UeId = UeId(0);
    const SLOT: Duration = Duration::from_millis(1);

    fn at(flow: u32) -> FlowAt {
        FlowAt {
            flow: FlowId(flow),
            ue: UE,
            bearer: BearerId(0),
        }
    }

    fn agent() -> CounterAgent {
        let mut agent = CounterAgent::new(SLOT, vec![14], IpScale::Blocks);
        agent.add_flow(&at(0));
        agent
    }

    fn arrives(agent: &mut CounterAgent, now: Instant, flow: u32, bytes: u64) {
        agent.on_pdcp(
            now,
            &PdcpView {
                ue: UE,
                bearer: BearerId(0),
                qfi: Qfi(9),
                flow: Some(FlowId(flow)),
                direction: Direction::Down,
                bytes: Bytes(bytes),
            },
        );
    }

    fn goes(agent: &mut CounterAgent, now: Instant, flow: u32, bytes: u64, delivered: bool) {
        agent.on_gone(
            now,
            &GoneView {
                ue: UE,
                flow: Some(FlowId(flow)),
                direction: Direction::Down,
                bytes: Bytes(bytes),
                delivered,
            },
        );
    }

    /// A slot of 10 blocks of 100 bytes, of which the UE gets `prbs`.
    fn slot(agent: &mut CounterAgent, n: u64, prbs: u16) {
        let start = Instant::ZERO + SLOT * n;
        let grant = Grant {
            ue: UE,
            rnti: Rnti(1),
            direction: Direction::Down,
            harq: 0,
            round: 0,
            ndi: true,
            mcs: 9,
            prbs: Prbs(prbs),
            tbs: Bytes(u64::from(prbs) * 100),
        };
        let grants = [grant];
        let view = SlotView {
            slot: SlotIdx(n),
            start,
            direction: Direction::Down,
            grants: &grants[..usize::from(prbs > 0)],
            feedback: &[],
            schedulable: Prbs(10),
            free: Prbs(10 - prbs),
            bytes_per_prb_q8: &[100 << 8],
            bytes_version: 0,
        };
        agent.on_slot(start, &view);
    }

    fn read(agent: &mut CounterAgent, ms: u64, flow: u32) -> Counters {
        let mut cell = OneQueue(RlcView {
            ue: UE,
            bearer: BearerId(0),
            direction: Direction::Down,
            backlog: Bytes::ZERO,
            packets: 0,
            hol: Duration::from_millis(7),
        });
        match agent.report(Instant::from_millis(ms), &at(flow), &mut cell) {
            Some(PathReport::Counters(counters)) => counters,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_arrived_and_is_not_gone_waits() {
        let mut agent = agent();
        let now = Instant::from_millis(1);
        arrives(&mut agent, now, 0, 1500);
        arrives(&mut agent, now, 0, 1000);
        arrives(&mut agent, now, 1, 400);
        goes(&mut agent, now, 0, 1500, true);
        let read_at_5 = read(&mut agent, 5, 0);
        assert_eq!((read_at_5.gone, read_at_5.dropped), (1500, 0));
        assert_eq!((read_at_5.backlog, read_at_5.company), (1000, 400));
        assert_eq!((read_at_5.stamp, read_at_5.active), (40, 2));
        assert_eq!(read_at_5.hol, Duration::from_millis(7));
        goes(&mut agent, now, 0, 1000, false);
        let counters = read(&mut agent, 6, 0);
        assert_eq!((counters.gone, counters.backlog), (2500, 0));
        assert_eq!(counters.dropped_since(&read_at_5), 960);
    }

    #[test]
    fn an_only_flow_is_offered_all_blocks_of_the_cell() {
        let mut agent = agent();
        for n in 0..10 {
            slot(&mut agent, n, if n % 2 == 0 { 4 } else { 0 });
        }
        assert_eq!(read(&mut agent, 10, 0).offered, 10_000);
    }

    #[test]
    fn a_flow_is_offered_its_part_and_what_the_others_leave() {
        // The other flow takes 20 of 100 bytes of 10 kB each 10 ms, then 80.
        let part = |taken: u64| {
            let mut agent = agent();
            let mut before = 0;
            let mut share = 0.0;
            for n in 0..200 {
                let now = Instant::from_millis(10 * n);
                arrives(&mut agent, now, 1, taken);
                for k in 0..10 {
                    slot(&mut agent, 10 * n + k, 10);
                }
                goes(&mut agent, now, 1, taken, true);
                let offered = read(&mut agent, 10 * (n + 1), 0).offered;
                share = f64::from(offered - before) / 10_000.0;
                before = offered;
            }
            share
        };
        assert!((part(2_000) - 0.8).abs() < 0.01);
        assert!((part(8_000) - 0.5).abs() < 0.01);
    }
}
