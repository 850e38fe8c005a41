//! What a run leaves behind: counters, distributions, sampled series and, where asked for, a row for each packet.

mod bins;
pub mod columns;
pub mod lean;
pub mod media;
mod packets;
mod room;
pub mod slots;

use std::collections::{HashMap, HashSet, VecDeque};

use slackwater_core::record::{DropReason, FlowSample, Frame, LinkSample, PacketEvent};
use slackwater_core::{Bytes, Direction, Duration, FlowId, Instant, NodeId, Packet, Recorder};
use slackwater_sim::{CELL_DOWN, CELL_UP};

use bins::MAX_BINS;
pub use bins::{BIN, Bin};
pub use columns::{EVENT_NAMES, FlowSeries, Internals, LinkSeries, PacketRows};
pub use lean::{LeanFlow, LeanRecorder};
pub use media::{DELAY_LIMITS, MediaRecord};

use slackwater_scenario::flow::{Protocol, Way};
use slackwater_scenario::{Bottleneck, Scenario};

use crate::metrics::Histogram;
use room::Room;

/// What the recorder must know of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowInfo {
    /// Name in tables and plots.
    pub label: String,
    /// Name of the controller; empty for datagrams.
    pub controller: String,
    /// The UE, where there is a cell.
    pub ue: Option<u32>,
    /// The data goes from the UE.
    pub up: bool,
    /// Payload bytes of a full segment; IP bytes of a full packet of media.
    pub mss: u32,
    /// It is media over RTP.
    pub media: bool,
    /// The protocol of its data.
    pub protocol: Protocol,
    /// When it starts.
    pub start: Instant,
    /// When it stops.
    pub stop: Instant,
}

/// Which rows are written as tables: a trace for Perfetto needs rows too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Those of packets.
    pub packets: bool,
    /// Those of grants.
    pub slots: bool,
}

/// What the recorder must know of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RecorderConfig {
    /// The flows, by flow number.
    pub flows: Vec<FlowInfo>,
    /// The link or cell whose queue delay is measured.
    pub bottleneck: NodeId,
    /// The bottleneck is a cell: link samples 2u and 2u+1 are the downlink and uplink of UE u.
    pub cell: bool,
    /// The node of uplink queues, where it is another than the bottleneck.
    pub up_node: Option<NodeId>,
    /// The wired bottleneck in series.
    pub wired: Option<NodeId>,
    /// Metrics leave out what happened before.
    pub from: Instant,
    /// The end of the run.
    pub to: Instant,
    /// Sampling period asked for.
    pub interval: Duration,
    /// Rows for each packet are kept.
    pub packets: bool,
    /// Which rows become tables of their own.
    pub tables: Tables,
    /// The packets that each sender sent and received, for captures.
    pub capture: bool,
    /// Rows of each kind kept at most.
    pub max_rows: u64,
    /// One-way delay beyond which a packet is late.
    pub late: Duration,
    /// Queue delay that should not be exceeded.
    pub budget: Duration,
}

/// Sampled rows of all flows and links together; beyond, the sampling period grows.
const MAX_SAMPLES: u64 = 1_000_000;
/// Finite transfers kept of each flow: ten a second for a day. Ours.
const MAX_TRANSFERS: usize = 1_000_000;
/// Times kept of each kind of event and flow, for plots.
pub(crate) const MAX_EVENTS: usize = 20_000;

impl RecorderConfig {
    /// The configuration for `scenario`, whose bottleneck is node `bottleneck` and whose wired bottleneck is `wired`.
    pub fn of(scenario: &Scenario, bottleneck: NodeId, wired: Option<NodeId>) -> Self {
        let at = |d: Duration| Instant::ZERO + d;
        let flows = scenario
            .expanded_flows()
            .into_iter()
            .map(|f| FlowInfo {
                controller: if f.spec.protocol().is_controlled() {
                    f.spec.controller.clone()
                } else {
                    String::new()
                },
                ue: f.ue,
                up: f.spec.direction == Way::Up,
                mss: u32::from(f.spec.mss()),
                media: f.spec.app.media().is_some(),
                protocol: f.spec.protocol(),
                start: at(f.start),
                stop: at(f.stop),
                label: f.label,
            })
            .collect();
        Self {
            flows,
            bottleneck,
            cell: matches!(scenario.bottleneck, Bottleneck::Cell(_)),
            up_node: None,
            wired,
            from: at(scenario.warmup),
            to: at(scenario.duration),
            interval: scenario.record.interval,
            packets: scenario.record.packets || scenario.record.perfetto,
            tables: Tables {
                packets: scenario.record.packets,
                slots: scenario.record.slots,
            },
            // A qlog has the packets where they are recorded at all.
            capture: scenario.record.pcap || scenario.record.packets && scenario.record.qlog,
            max_rows: scenario.record.max_rows,
            late: scenario.record.late,
            budget: scenario.record.budget,
        }
    }

    /// The sampling period that keeps all samples of the run below a million rows: the one asked for, or a multiple.
    pub fn sampling(&self) -> Duration {
        let steps = (self.to.as_nanos() / self.interval.as_nanos().max(1)).max(1);
        // A flow and, at most, a queue of its own.
        let rows = steps.saturating_mul(2 * self.flows.len().max(1) as u64);
        self.interval * rows.div_ceil(MAX_SAMPLES).max(1)
    }

    /// The width of the bins: the narrowest one of which all flows together have no more than fit.
    pub fn bin(&self) -> Duration {
        BIN * self.tenths()
    }

    fn tenths(&self) -> u64 {
        bins::tenths(self.flows.iter().map(|f| f.stop.min(self.to)))
    }
}

/// A finite transfer that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// When the transport was handed its first byte.
    pub start: Instant,
    /// When its last byte arrived.
    pub end: Instant,
    /// Its size.
    pub bytes: Bytes,
    /// Those of its bytes that arrived later after `start` than the limit of the run's record.
    pub late: Bytes,
}

/// What happened to one flow. Counts are of data packets in the measured part of the run.
#[derive(Clone, Debug, Default)]
pub struct FlowRecord {
    /// Packets emitted, retransmissions included.
    pub sent: u64,
    /// Of those, retransmissions.
    pub resent: u64,
    /// Packets that reached the receiver.
    pub delivered: u64,
    /// Their payload bytes; duplicates count again.
    pub delivered_payload: u64,
    /// Drops by reason, in the order of [`drop_index`].
    pub drops: [u64; 6],
    /// Packets marked CE.
    pub marks: u64,
    /// Packets whose one-way delay exceeded the limit.
    pub late: u64,
    /// Time in the bottleneck's queue.
    pub queue_delay: Histogram,
    /// Time in the wired bottleneck's queue.
    pub wired_delay: Histogram,
    /// From emission to arrival.
    pub one_way: Histogram,
    /// Throughput and queue delay over the whole run.
    pub bins: Vec<Bin>,
    /// Finite transfers that ended in the measured part.
    pub transfers: Vec<Transfer>,
    /// Late bytes of the transfer that is under way.
    late_pieces: u64,
    /// Late bytes of the last frames of datagrams of which some were late: when each left, and how many. Frames that lost a packet never end.
    late_frames: VecDeque<(Instant, u64)>,
    /// Frames, where the flow is media.
    pub media: MediaRecord,
    /// Sampled state of the sender.
    pub series: FlowSeries,
    /// When its transport was first seen closed, and why.
    pub closed: Option<(Instant, &'static str)>,
    /// The controller's internals.
    pub internals: Internals,
    /// When packets were dropped, over the whole run, the first so many.
    pub drop_times: Vec<Instant>,
    /// When packets were marked, likewise.
    pub mark_times: Vec<Instant>,
    /// When packets were sent again, likewise.
    pub resend_times: Vec<Instant>,
}

/// Frames of datagrams whose late bytes are known at once.
const LATE_FRAMES: usize = 64;

impl FlowRecord {
    /// `bytes` of a frame of datagrams that left at `start` were late.
    fn add_late(&mut self, start: Instant, bytes: u64) {
        let known = self.late_frames.iter_mut().rev();
        if let Some((_, late)) = known.into_iter().find(|(at, _)| *at == start) {
            *late += bytes;
            return;
        }
        if self.late_frames.len() == LATE_FRAMES {
            self.late_frames.pop_front();
        }
        self.late_frames.push_back((start, bytes));
    }

    /// Late bytes of the transfer that began at `start` and has ended.
    fn take_late(&mut self, start: Instant) -> u64 {
        let frame = self.late_frames.iter().position(|(at, _)| *at == start);
        let frame = frame.and_then(|at| self.late_frames.remove(at));
        frame.map_or_else(|| core::mem::take(&mut self.late_pieces), |(_, late)| late)
    }
}

/// Index into [`FlowRecord::drops`].
pub const fn drop_index(reason: DropReason) -> usize {
    match reason {
        DropReason::Full => 0,
        DropReason::Law => 1,
        DropReason::Discard => 2,
        DropReason::Radio => 3,
        DropReason::Random => 4,
        DropReason::NoRoute => 5,
    }
}

/// Names of the reasons, by [`drop_index`].
pub const DROP_NAMES: [&str; 6] = ["full", "law", "discard", "radio", "random", "no_route"];

/// The state of one queue over time.
#[derive(Clone, Debug)]
pub struct LinkRecord {
    /// The node.
    pub node: NodeId,
    /// Which queue of the node.
    pub index: u32,
    /// Samples.
    pub series: LinkSeries,
}

/// A packet at its sender, for captures.
#[derive(Clone, Copy, Debug)]
pub struct Captured {
    /// When.
    pub at: Instant,
    /// The sender sent it; otherwise it arrived there.
    pub sent: bool,
    /// The packet.
    pub packet: Packet,
}

/// What did not fit into the limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LeftOut {
    /// Packet rows.
    pub packet_rows: u64,
    /// Captured packets.
    pub captured: u64,
    /// Event times for plots.
    pub event_times: u64,
    /// Frames of media.
    #[serde(default)]
    pub frames: u64,
    /// Finite transfers that ended.
    #[serde(default)]
    pub transfers: u64,
}

/// Records a run in full.
#[derive(Clone, Debug)]
pub struct RunRecorder {
    config: RecorderConfig,
    /// By flow: the bits of its data packets that tell their way.
    ways: Vec<Direction>,
    /// By flow: it is media.
    media: Vec<bool>,
    /// Single packets are kept, as rows or for captures.
    keeps_packets: bool,
    /// The sampling period in use.
    sampling: Duration,
    /// The width of bins, in tenths of a second.
    tenths: u64,
    /// Where the end of the run is not known: how many samples are kept.
    room: Option<Room>,
    /// By flow.
    pub flows: Vec<FlowRecord>,
    /// In the order in which they first appeared.
    pub links: Vec<LinkRecord>,
    /// Rows for each packet, where asked for.
    pub rows: PacketRows,
    /// Packets at their senders, where asked for.
    pub captured: Vec<Captured>,
    /// Rows for each grant of the cell, where asked for.
    pub slots: slots::SlotRows,
    /// What did not fit.
    pub left_out: LeftOut,
    /// Every queue that was sampled so far, in the order in which samples come each time.
    seen: Vec<Seen>,
    /// Where in it the next sample belongs, most likely.
    next_seen: usize,
    /// Places in `seen` by node and index.
    places: HashMap<(NodeId, u32), usize>,
    /// Indices of the cell's queues in which flows' data waits; `None` until they are needed.
    wanted: Option<HashSet<u32>>,
}

/// A queue that was sampled.
#[derive(Clone, Copy, Debug)]
struct Seen {
    node: NodeId,
    index: u32,
    /// Its place in `links`, where its samples are kept.
    record: Option<usize>,
}

impl RunRecorder {
    /// A recorder for a run of `config`.
    pub fn new(config: RecorderConfig) -> Self {
        Self {
            ways: ways(&config),
            media: config.flows.iter().map(|f| f.media).collect(),
            keeps_packets: config.packets || config.capture,
            sampling: config.sampling(),
            tenths: config.tenths(),
            room: None,
            flows: vec![FlowRecord::default(); config.flows.len()],
            links: Vec::new(),
            rows: PacketRows::default(),
            captured: Vec::new(),
            slots: slots::SlotRows::default(),
            left_out: LeftOut::default(),
            seen: Vec::new(),
            next_seen: 0,
            places: HashMap::new(),
            wanted: None,
            config,
        }
    }

    /// What it records.
    pub const fn config(&self) -> &RecorderConfig {
        &self.config
    }

    /// The sampling period in use.
    pub const fn interval(&self) -> Duration {
        self.sampling
    }

    /// The width of the bins in use.
    pub fn bin(&self) -> Duration {
        BIN * self.tenths
    }

    /// Says which way the data of `flow` goes, where that shows only once packets come.
    pub fn set_way(&mut self, flow: FlowId, up: bool) {
        if let Some(info) = self.config.flows.get_mut(flow.index()) {
            info.up = up;
            self.ways[flow.index()] = way(up);
            self.wanted = None;
        }
    }

    /// Ends a run at `end`, before the time that it was planned for.
    pub fn cut(&mut self, end: Instant) {
        self.config.to = end;
        for info in &mut self.config.flows {
            info.start = info.start.min(end);
            info.stop = info.stop.min(end);
        }
    }

    /// Ends a run whose length and flows were not known beforehand: it ends at `end`, and of its flows those named in
    /// `keep` stay, in that order and under those labels.
    pub fn conclude(&mut self, end: Instant, keep: &[(FlowId, String)]) {
        self.config.to = end;
        let mut infos = Vec::with_capacity(keep.len());
        let mut flows = Vec::with_capacity(keep.len());
        let mut places = vec![None; self.flows.len()];
        for (flow, label) in keep {
            let at = flow.index();
            places[at] = Some(FlowId(infos.len() as u32));
            let mut info = self.config.flows[at].clone();
            info.label.clone_from(label);
            info.stop = end;
            infos.push(info);
            flows.push(core::mem::take(&mut self.flows[at]));
        }
        self.config.flows = infos;
        self.flows = flows;
        self.ways = ways(&self.config);
        self.captured
            .retain_mut(|c| match places[c.packet.flow.index()] {
                Some(place) => {
                    c.packet.flow = place;
                    true
                }
                None => false,
            });
    }

    /// The samples of the queue that `flow`'s data waits in.
    pub fn link_of(&self, flow: FlowId) -> Option<&LinkRecord> {
        let info = self.config.flows.get(flow.index())?;
        let (node, index) = match (self.config.cell, info.up) {
            (true, up) => (
                self.config.bottleneck,
                2 * info.ue.unwrap_or(0) + u32::from(up),
            ),
            (false, true) => (self.config.up_node?, 0),
            (false, false) => (self.config.bottleneck, 0),
        };
        let place = *self.places.get(&(node, index))?;
        self.links.get(self.seen[place].record?)
    }

    fn wants_link(&mut self, node: NodeId, index: u32) -> bool {
        if !self.config.cell || node != self.config.bottleneck {
            return true;
        }
        if index == CELL_DOWN || index == CELL_UP {
            return true;
        }
        // Queues that carry acknowledgments alone would double the records of a large cell.
        let flows = &self.config.flows;
        let queues = || {
            let queue = |f: &FlowInfo| 2 * f.ue.unwrap_or(0) + u32::from(f.up);
            flows.iter().map(queue).collect()
        };
        self.wanted.get_or_insert_with(queues).contains(&index)
    }

    /// Keeps the packet itself, where asked for.
    #[cold]
    fn keep(&mut self, now: Instant, node: NodeId, packet: &Packet, event: PacketEvent) {
        if self.config.packets {
            self.row(now, node, packet, event);
        }
        if self.config.capture
            && let Some(&way) = self.ways.get(packet.flow.index())
        {
            let forward = packet.dir == way;
            match event {
                PacketEvent::Sent if forward => self.capture(now, true, packet),
                PacketEvent::Delivered if !forward => self.capture(now, false, packet),
                _ => {}
            }
        }
    }

    fn row(&mut self, now: Instant, node: NodeId, packet: &Packet, event: PacketEvent) {
        if self.rows.len() as u64 >= self.config.max_rows {
            self.left_out.packet_rows += 1;
        } else {
            self.rows.push(now, node, packet, event);
        }
    }

    fn capture(&mut self, now: Instant, sent: bool, packet: &Packet) {
        // A captured packet takes as much room as several rows.
        if self.captured.len() as u64 >= self.config.max_rows / 4 {
            self.left_out.captured += 1;
        } else {
            self.captured.push(Captured {
                at: now,
                sent,
                packet: *packet,
            });
        }
    }
}

const fn way(up: bool) -> Direction {
    if up { Direction::Up } else { Direction::Down }
}

fn ways(config: &RecorderConfig) -> Vec<Direction> {
    config.flows.iter().map(|f| way(f.up)).collect()
}

impl Recorder for RunRecorder {
    #[expect(
        clippy::inline_always,
        reason = "the caller knows the event: what is left of this is one call"
    )]
    #[inline(always)]
    fn packet(&mut self, now: Instant, node: NodeId, packet: &Packet, event: PacketEvent) {
        if self.keeps_packets {
            self.keep(now, node, packet, event);
        }
        match event {
            // What a cell says of a mark knows no payload.
            PacketEvent::Marked => self.marked(now, packet),
            _ if packet.payload() == 0 => {}
            PacketEvent::Sent => self.sent(now, packet),
            PacketEvent::Dequeued { sojourn, .. } => self.dequeued(now, node, packet, sojourn),
            PacketEvent::Delivered => self.delivered(now, packet),
            PacketEvent::Dropped(reason) => self.dropped(now, packet, reason),
        }
    }

    fn in_order(&self) -> bool {
        // Rows are kept in the order in which they come.
        self.keeps_packets
    }

    fn sampling(&self) -> Option<Duration> {
        Some(self.sampling)
    }

    fn flow(&mut self, now: Instant, flow: FlowId, sample: &FlowSample) {
        self.make_room(now, FlowSeries::COLUMNS);
        if let Some(f) = self.flows.get_mut(flow.index()) {
            f.series.push(now, sample);
            f.closed = f.closed.or(sample.closed.map(|reason| (now, reason)));
        }
    }

    fn internals(&mut self, now: Instant, flow: FlowId, values: &[(&'static str, f64)]) {
        // The time is a column too.
        self.make_room(now, values.len() + 1);
        if let Some(f) = self.flows.get_mut(flow.index()) {
            f.internals.push(now, values);
        }
    }

    fn link(&mut self, now: Instant, node: NodeId, index: u32, sample: &LinkSample) {
        let is = |q: &Seen| q.node == node && q.index == index;
        let place = if self.seen.get(self.next_seen).is_some_and(is) {
            self.next_seen
        } else if let Some(&place) = self.places.get(&(node, index)) {
            place
        } else {
            let record = self.wants_link(node, index).then_some(self.links.len());
            if record.is_some() {
                self.links.push(LinkRecord {
                    node,
                    index,
                    series: LinkSeries::default(),
                });
            }
            self.places.insert((node, index), self.seen.len());
            self.seen.push(Seen {
                node,
                index,
                record,
            });
            self.seen.len() - 1
        };
        self.next_seen = (place + 1) % self.seen.len();
        if let Some(at) = self.seen[place].record {
            self.make_room(now, LinkSeries::COLUMNS);
            self.links[at].series.push(now, sample);
        }
    }

    #[inline]
    fn piece(&mut self, now: Instant, flow: FlowId, start: Instant, bytes: Bytes) {
        if now.since(start) > self.config.late
            && let Some(f) = self.flows.get_mut(flow.index())
        {
            f.late_pieces += bytes.get();
        }
    }

    fn transfer(&mut self, now: Instant, flow: FlowId, start: Instant, bytes: Bytes) {
        let measured = now >= self.config.from && now <= self.config.to;
        if let Some(f) = self.flows.get_mut(flow.index()) {
            let late = Bytes(f.take_late(start));
            if !measured {
                return;
            }
            if f.transfers.len() < MAX_TRANSFERS {
                f.transfers.push(Transfer {
                    start,
                    end: now,
                    bytes,
                    late,
                });
            } else {
                self.left_out.transfers += 1;
            }
        }
    }

    fn frame(&mut self, now: Instant, flow: FlowId, frame: &Frame) {
        let measured = now >= self.config.from && now <= self.config.to;
        let most = self.config.max_rows;
        let Some(f) = self.flows.get_mut(flow.index()) else {
            return;
        };
        if measured {
            f.media.on_frame(frame);
        }
        if (f.media.frames.len() as u64) < most {
            f.media.frames.push(*frame);
        } else {
            self.left_out.frames += 1;
        }
    }
}

#[cfg(test)]
mod tests;
