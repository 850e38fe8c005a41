//! A UE's transport blocks on their way to the sender: read at the UE, sent on ACKs, beside them, or on their own.

use slackwater_core::{Bytes, Draw, Duration, FlowId, Instant, Packet, Recorder, UeId};
use slackwater_edge::ue::BlocksMode;
use slackwater_signal::{Body, PathReport};

use super::feedback::{carries, datagram, put};
use super::{Hop, Node, World};
use crate::lane::LaneConfig;

/// A datagram carrier with nothing to ride on still reports this often.
const IDLE: Duration = Duration::from_millis(100);

/// What carries transport blocks to the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BlocksCarrier {
    /// On each ACK; silent while nothing arrives.
    Ack,
    /// In a datagram beside an ACK, at most one every so often; each 100 ms without ACKs (RFC 9221).
    Datagram {
        /// The least time between two.
        every: Duration,
        /// Their way.
        lane: LaneConfig,
    },
    /// From a socket of its own, at this period whatever else happens.
    Socket {
        /// The period.
        every: Duration,
        /// Their way.
        lane: LaneConfig,
    },
}

impl BlocksCarrier {
    pub(super) const fn lane(&self) -> Option<LaneConfig> {
        match *self {
            Self::Ack => None,
            Self::Datagram { lane, .. } | Self::Socket { lane, .. } => Some(lane),
        }
    }
}

/// What a UE reports about its transport blocks, and what goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlocksConfig {
    /// What is counted.
    pub mode: BlocksMode,
    /// What carries it.
    pub carrier: BlocksCarrier,
    /// Probability that a report is lost.
    pub loss: f64,
    /// From here on no report leaves, or no new one.
    pub until: Instant,
    /// After [`BlocksConfig::until`] the last rate is reported again and again.
    pub stale: bool,
    /// The UE lies: bytes are multiplied by this.
    pub scale: f64,
}

impl Default for BlocksConfig {
    fn default() -> Self {
        Self {
            mode: BlocksMode::Capacity,
            carrier: BlocksCarrier::Ack,
            loss: 0.0,
            until: Instant::MAX,
            stale: false,
            scale: 1.0,
        }
    }
}

/// The feed of one flow.
pub(super) struct Feed {
    pub(super) config: BlocksConfig,
    /// The node whose blocks these are, and the UE there.
    pub(super) node: usize,
    pub(super) ue: UeId,
    /// Where reports on their own go.
    pub(super) lane: Option<Hop>,
    /// The node that beats for it.
    pub(super) beat: Option<usize>,
    pub(super) draw: Draw,
    /// Length of a sample: a subframe or a slot.
    pub(super) slot: Duration,
    /// Samples reported so far.
    index: u64,
    total: u64,
    /// Mean bytes of a sample in the last report of before [`BlocksConfig::until`].
    rate: f64,
    sent: Instant,
    count: u64,
}

impl Feed {
    pub(super) fn new(config: BlocksConfig, node: usize, ue: UeId, draw: Draw) -> Self {
        Self {
            config,
            node,
            ue,
            lane: None,
            beat: None,
            draw,
            slot: Duration::from_millis(1),
            index: 0,
            total: 0,
            rate: 0.0,
            sent: Instant::ZERO,
            count: 0,
        }
    }

    /// When a report on its own is due next.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        let every = match self.config.carrier {
            BlocksCarrier::Ack => return None,
            BlocksCarrier::Datagram { every, .. } => every.max(IDLE),
            BlocksCarrier::Socket { every, .. } => every,
        };
        let next = self.sent + every.max(self.slot);
        (next < self.config.until || self.config.stale).then_some(next)
    }

    /// A report on its own may go beside an ACK now.
    fn may_ride(&self, now: Instant) -> bool {
        match self.config.carrier {
            BlocksCarrier::Datagram { every, .. } => now.since(self.sent) >= every,
            BlocksCarrier::Ack | BlocksCarrier::Socket { .. } => false,
        }
    }

    /// Whole samples have passed since the last report, and one may leave.
    fn is_ready(&self, now: Instant) -> bool {
        (now < self.config.until || self.config.stale)
            && now.as_nanos() / self.slot.as_nanos() > self.index
    }

    /// The report of all whole samples since the last one, where `total` bytes were there by now. `None` for a lost one.
    fn report(&mut self, now: Instant, total: u64) -> Option<Body> {
        let index = now.as_nanos() / self.slot.as_nanos();
        let samples = index - self.index;
        self.index = index;
        let bytes = if now >= self.config.until {
            self.rate * samples as f64
        } else {
            let bytes = (total - self.total) as f64;
            self.total = total;
            self.rate = bytes / samples as f64;
            bytes
        };
        let number = self.count;
        self.count += 1;
        if self.config.loss > 0.0 && self.draw.uniform(number) < self.config.loss {
            return None;
        }
        Body::of(&PathReport::TransportBlocks {
            bytes: Bytes((bytes * self.config.scale) as u64),
            span: self.slot * samples,
            end: (index * self.slot.as_nanos() / 1_000_000) as u16,
        })
    }
}

impl<R: Recorder> World<R> {
    /// Bytes that the node of `feed` had for its UE by `now`.
    fn blocks_total(&mut self, now: Instant, feed: &Feed) -> u64 {
        let mode = feed.config.mode;
        match &mut self.nodes[feed.node] {
            Node::Link { link, .. } => {
                let sample = link.sample(now);
                match mode {
                    BlocksMode::Allocated => sample.carried.0,
                    // A link has one user: what it does not use is all idle.
                    BlocksMode::Capacity | BlocksMode::AllocatedIdle => sample.capacity.0,
                }
            }
            Node::Cell(cell) => cell.blocks_total(now, feed.ue, mode),
            Node::Lane { .. } | Node::Edge(_) | Node::Beat(_) => 0,
        }
    }

    /// The UE of `flow` emits `packets`: puts a report on the last ACK of them, or sends one beside it.
    pub(super) fn feed(&mut self, now: Instant, flow: usize, packets: &mut [Packet]) {
        let Some(mut feed) = self.flows[flow].feed.take() else {
            return;
        };
        let on_ack = feed.config.carrier == BlocksCarrier::Ack;
        if feed.is_ready(now) && (on_ack || feed.may_ride(now)) {
            let ack = packets.iter_mut().rev().find(|p| carries(p));
            if let Some(ack) = ack {
                let total = self.blocks_total(now, &feed);
                feed.sent = now;
                match (feed.report(now, total), feed.lane) {
                    (Some(body), Some(lane)) => self.send_report(now, flow, lane, body),
                    (Some(body), None) => put(ack, body),
                    (None, _) => {}
                }
            }
        }
        if let Some(beat) = feed.beat {
            self.kernel.arm(beat, feed.next_timer());
        }
        self.flows[flow].feed = Some(feed);
    }

    /// The feed of `flow` sends on its own.
    pub(super) fn beat(&mut self, now: Instant, n: usize, flow: usize) {
        let Some(mut feed) = self.flows[flow].feed.take() else {
            return;
        };
        if feed.next_timer().is_some_and(|t| t <= now) {
            feed.sent = now;
            if feed.is_ready(now) {
                let total = self.blocks_total(now, &feed);
                if let (Some(body), Some(lane)) = (feed.report(now, total), feed.lane) {
                    self.send_report(now, flow, lane, body);
                }
            }
        }
        self.kernel.arm(n, feed.next_timer());
        self.flows[flow].feed = Some(feed);
    }

    fn send_report(&mut self, now: Instant, flow: usize, lane: Hop, body: Body) {
        let packet = datagram(now, FlowId(flow as u32), body);
        self.forward(now, lane, flow, &packet);
    }
}
