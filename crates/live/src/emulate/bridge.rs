//! Buffers on one side, the world on the other. Knows no clock and no device.

use std::collections::VecDeque;

use slackwater_core::record::{FlowSample, LinkSample, PacketEvent};
use slackwater_core::{
    Body, Bytes, Direction, Duration, FlowId, Instant, NodeId, Packet, Recorder,
};
use slackwater_results::record::RunRecorder;
use slackwater_signal::ReportBody;
use slackwater_sim::{Clock, World};
use slackwater_wire::IpPacket;

use super::flows::FlowTable;
use super::meta;

/// A packet that leaves the world.
#[derive(Debug)]
pub struct Departure {
    /// When.
    pub at: Instant,
    /// What [`Bridge::arrive`] gave when it came.
    pub came: Instant,
    /// Towards the network.
    pub up: bool,
    /// The UE.
    pub ue: u32,
    /// Its flow.
    pub flow: FlowId,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// What went by, for the live view.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Packets taken, down and up.
    pub packets: [u64; 2],
    /// IP bytes delivered, down and up.
    pub delivered: [u64; 2],
    /// Packets dropped by queues, laws or the radio.
    pub dropped: u64,
    /// CE marks.
    pub marked: u64,
    /// Frames that held no packet.
    pub malformed: u64,
    /// The longest queue delay since the last look.
    pub queue_max: Duration,
}

/// Something that a link did, for logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// When.
    pub at: Instant,
    /// Which way.
    pub up: bool,
    /// What.
    pub event: LogEvent,
    /// IP bytes.
    pub bytes: u16,
}

/// What a log tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEvent {
    /// It came.
    Arrived,
    /// It left, so long after it came.
    Left(Duration),
    /// It was dropped.
    Dropped,
}

/// Where the state of a sender is read, each sampling period, where one can be: TCP's own state, from the kernel, and named
/// internals of its controller.
pub type Probe = Box<dyn FnMut(&mut Vec<(&'static str, f64)>) -> Option<FlowSample>>;

/// Values of 8 octets that the samples of a run with curves have at most: 32 MiB, and as much again where lists grow. Ours: a flow
/// behind a cell with vAQM fills it in 20 minutes at 20 ms.
const ROOM: u64 = 4 << 20;
/// The same without curves: 2 MiB. A cell with one UE fills it in three minutes at 20 ms, with 8,700 samples of each queue.
const SUMMARY_ROOM: u64 = 1 << 18;

/// Listens to the world for the bridge and hands on to the run's recorder.
pub struct Tap {
    /// The run's recorder.
    pub inner: RunRecorder,
    /// What went by.
    pub counters: Counters,
    /// Dropped packets, whose buffers may go.
    gone: Vec<(bool, Instant)>,
    /// Samples go into the records; otherwise only what a summary needs.
    series: bool,
    /// Flows that carry data; samples of all others are not kept.
    active: Vec<bool>,
    /// By flow: how many samples of internals are kept before the next packet.
    moving: Vec<u8>,
    /// By flow.
    probes: Vec<Option<Probe>>,
    /// Of the sender that is read.
    internals: Vec<(&'static str, f64)>,
    /// Arrivals and departures, where asked for.
    pub log: Option<Vec<LogEntry>>,
}

impl Tap {
    /// A tap in front of `inner` that samples each `interval`, and less often in a long run.
    pub fn new(mut inner: RunRecorder, interval: Duration, log: bool) -> Self {
        let flows = inner.flows.len();
        inner.open_ended(interval, ROOM);
        Self {
            inner,
            counters: Counters::default(),
            gone: Vec::new(),
            series: true,
            active: vec![false; flows],
            moving: vec![0; flows],
            probes: (0..flows).map(|_| None).collect(),
            internals: Vec::new(),
            log: log.then(Vec::new),
        }
    }

    /// No curve is wanted: samples of queues are kept for the summary's quantiles alone.
    #[must_use]
    pub fn for_summary(mut self) -> Self {
        self.inner.open_ended(self.inner.interval(), SUMMARY_ROOM);
        self.series = false;
        self
    }

    /// Reads the state of the sender of `flow` from `probe`.
    pub fn probe(&mut self, flow: FlowId, probe: Probe) {
        self.probes[flow.index()] = Some(probe);
        self.active[flow.index()] = true;
    }

    fn log(&mut self, at: Instant, packet: &Packet, event: LogEvent) {
        if let Some(log) = &mut self.log {
            log.push(LogEntry {
                at,
                up: packet.dir == Direction::Up,
                event,
                bytes: packet.len,
            });
        }
    }
}

impl Recorder for Tap {
    fn packet(&mut self, now: Instant, node: NodeId, packet: &Packet, event: PacketEvent) {
        let way = usize::from(packet.dir == Direction::Up);
        if let Some(moving) = self.moving.get_mut(packet.flow.index()) {
            // One more shows the state in which it came to rest.
            *moving = 2;
        }
        match event {
            PacketEvent::Sent => {
                self.counters.packets[way] += 1;
                self.log(now, packet, LogEvent::Arrived);
            }
            PacketEvent::Dequeued { sojourn, .. } => {
                self.counters.queue_max = self.counters.queue_max.max(sojourn);
            }
            PacketEvent::Delivered => {
                self.counters.delivered[way] += u64::from(packet.len);
                let delay = now.since(packet.created);
                self.log(now, packet, LogEvent::Left(delay));
            }
            PacketEvent::Dropped(_) => {
                self.counters.dropped += 1;
                self.gone.push((way == 1, packet.created));
                self.log(now, packet, LogEvent::Dropped);
            }
            PacketEvent::Marked => self.counters.marked += 1,
        }
        self.inner.packet(now, node, packet, event);
    }

    fn in_order(&self) -> bool {
        self.log.is_some() || self.inner.in_order()
    }

    fn sampling(&self) -> Option<Duration> {
        self.inner.sampling()
    }

    fn flow(&mut self, now: Instant, flow: FlowId, sample: &FlowSample) {
        // What an unknown sender thinks is not to be seen from outside.
        if let Some(probe) = &mut self.probes[flow.index()]
            && let Some(mut state) = probe(&mut self.internals)
        {
            state.delivered = sample.delivered;
            self.inner.flow(now, flow, &state);
            if !self.internals.is_empty() {
                self.inner.internals(now, flow, &self.internals);
                self.internals.clear();
            }
        }
    }

    fn internals(&mut self, now: Instant, flow: FlowId, values: &[(&'static str, f64)]) {
        let moving = &mut self.moving[flow.index()];
        if self.series && self.active[flow.index()] && *moving > 0 {
            *moving -= 1;
            self.inner.internals(now, flow, values);
        }
    }

    fn link(&mut self, now: Instant, node: NodeId, index: u32, sample: &LinkSample) {
        self.inner.link(now, node, index, sample);
    }

    fn transfer(&mut self, now: Instant, flow: FlowId, start: Instant, bytes: Bytes) {
        self.inner.transfer(now, flow, start, bytes);
    }
}

/// A buffer whose packet is in the world.
#[derive(Debug)]
struct Held {
    /// The packet as it came; its `created` tells it from all others.
    packet: Packet,
    bytes: Vec<u8>,
    /// It left; a copy that a function made of it may follow.
    left: bool,
}

/// A report that left the world beside the packets.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// The flow that it is about.
    pub flow: FlowId,
    /// Towards the network; a report about an upload goes to the UE, which sends it.
    pub up: bool,
    /// What it says.
    pub report: Beside,
}

/// A report that travels beside the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// One of eight octets.
    Report(ReportBody),
    /// A base station's counters, as `Counters::encode` has them.
    Counters([u8; 24]),
}

/// How long the buffer of an acknowledgment stays, for copies of it that a function sends later.
const COPIES: Duration = Duration::from_secs(2);

/// Buffers on their way through a world.
pub struct Bridge {
    /// The world.
    pub world: World<Tap>,
    /// Its flows.
    pub flows: FlowTable,
    /// By direction, in the order of `created`.
    held: [VecDeque<Held>; 2],
    /// `created` of the last packet.
    last: Instant,
    /// Reports that arrived on their own since they were last taken.
    pub reports: Vec<Left>,
    mtu: usize,
}

impl Bridge {
    /// A bridge into `world`. Packets that grow stay below `mtu`.
    pub fn new(world: World<Tap>, flows: FlowTable, mtu: usize) -> Self {
        Self {
            world,
            flows,
            held: [VecDeque::new(), VecDeque::new()],
            last: Instant::ZERO,
            reports: Vec::new(),
            mtu,
        }
    }

    /// When the world has something to do.
    pub fn next_event(&self) -> Option<Instant> {
        self.world.next_event()
    }

    /// Runs the world up to `now`.
    pub fn run_until(&mut self, now: Instant, clock: &mut impl Clock) {
        self.world.run_until(now, clock);
    }

    /// A packet came at `now`: the time by which the world knows it, which no other packet has; `None` where it is no packet.
    /// The world must have run up to `now`.
    pub fn arrive(&mut self, now: Instant, up: bool, ue: u32, bytes: Vec<u8>) -> Option<Instant> {
        let whole = IpPacket::new(bytes).ok().filter(|ip| {
            // A packet cut short has no place on a link.
            slackwater_core::PacketView::len(ip) as usize == ip.bytes().len()
        });
        let Some(ip) = whole else {
            self.world.recorder_mut().counters.malformed += 1;
            return None;
        };
        // Times of emission tell packets apart: where several come at once, each is a nanosecond after the last.
        let created = now.max(self.last + Duration::from_nanos(1));
        self.last = created;
        let flow = self.flows.flow(&ip, ue, up);
        let mut packet = meta::read(&ip, flow, up, created);
        if let Some(form) = self.flows.quic(&ip, flow, ue, up) {
            packet = meta::as_quic(&packet, form.spin());
        } else if let Some(bytes) = self.flows.media(&ip, ue) {
            packet = meta::as_media(&packet, bytes);
        }
        if self.flows.is_stranger(&ip) {
            // Records count payload.
            packet.body.forget_payload();
        }
        if let Some(data_up) = self.flows.follow(&mut packet) {
            let direction = if data_up {
                Direction::Up
            } else {
                Direction::Down
            };
            self.world.set_direction(flow, direction);
            let tap = self.world.recorder_mut();
            tap.inner.set_way(flow, data_up);
            tap.active[flow.index()] = true;
        }
        let mut bytes = ip.into_inner();
        bytes.truncate(usize::from(packet.len));
        self.held[usize::from(up)].push_back(Held {
            packet,
            bytes,
            left: false,
        });
        self.world.inject(now, &packet);
        Some(created)
    }

    /// Hands `each` what left the world since the last call, and forgets what was dropped.
    pub fn departures(&mut self, mut each: impl FnMut(Departure)) {
        let mut newest = Instant::ZERO;
        for (at, packet) in self.world.drain_handed() {
            newest = newest.max(at);
            let up = packet.dir == Direction::Up;
            let Some(held) = find(&mut self.held[usize::from(up)], packet.created) else {
                // A report that travels beside the packets has no buffer.
                let report = match packet.body {
                    Body::Report(octets) => Some(Beside::Report(ReportBody(octets))),
                    Body::Counters(octets) => Some(Beside::Counters(octets)),
                    _ => None,
                };
                self.reports.extend(report.map(|report| Left {
                    flow: packet.flow,
                    up,
                    report,
                }));
                continue;
            };
            let copied = up && packet.payload() == 0;
            held.left = true;
            let bytes = if copied {
                held.bytes.clone()
            } else {
                core::mem::take(&mut held.bytes)
            };
            if bytes.is_empty() {
                continue;
            }
            each(Departure {
                at,
                came: packet.created,
                up,
                ue: self.flows.ue_of(packet.flow),
                flow: packet.flow,
                bytes: meta::write_back(bytes, &held.packet, &packet, self.mtu),
            });
        }
        let tap = self.world.recorder_mut();
        for (up, created) in tap.gone.drain(..) {
            if let Some(held) = find(&mut self.held[usize::from(up)], created) {
                held.left = true;
                held.bytes = Vec::new();
            }
        }
        for held in &mut self.held {
            while held.front().is_some_and(|h| {
                h.left && (h.bytes.is_empty() || newest.since(h.packet.created) > COPIES)
            }) {
                held.pop_front();
            }
        }
    }

    /// Buffers that are held, those kept for copies included.
    pub fn held(&self) -> usize {
        let both = self.held.iter().flatten();
        both.filter(|h| !h.bytes.is_empty()).count()
    }
}

fn find(held: &mut VecDeque<Held>, created: Instant) -> Option<&mut Held> {
    let at = held
        .binary_search_by_key(&created, |h| h.packet.created)
        .ok()?;
    held.get_mut(at)
}
