//! A UE's transport blocks on their way to the sender: read at the UE, sent on ACKs, beside them, or on their own.
//!
//! A feed lives as long as its flow does. It counts from the first packet that the UE sees of the flow, either way, and
//! falls silent where the UE has seen none for [`PAUSE`]; the next packet wakes it, and it counts from there. So no
//! report tells of a time before the flow or within a pause, and what it costs ends with the flow. A shorter gap is told
//! whole, as one mean: for all that a UE knows it is an outage of the radio, of which the sender must hear.
//!
//! A feed may also tell what the network told the UE once and for all, by a socket from the flow's start on.
//!
//! | carrier | while packets come | in a gap of up to [`PAUSE`] | in a longer one | after it |
//! |---|---|---|---|---|
//! | ACK | on each | nothing; the next ACK tells of all of it | nothing | on the first ACK a sample or more after the packet |
//! | datagram | beside an ACK, at most one a period | each 100 ms, or the period where that is longer | nothing | beside the first ACK a period after the packet |
//! | socket | each period | each period | nothing | a period after the packet |

use slackwater_core::{
    BearerId, Bytes, Direction, Draw, Duration, FlowId, Instant, Packet, Recorder,
};
use slackwater_edge::FlowAt;
use slackwater_edge::gnb::FlowCounts;
use slackwater_edge::ue::{BlocksMode, Reading};
use slackwater_signal::{Counters, PathReport, ReportBody};

use super::World;
use super::carrier::{Carrier, Faults, Progress, answers, carries, datagram, put};
use super::cell::CellNode;
use super::path::{LaneNode, LinkNode};
use crate::arena::Idx;
use crate::link::{Link, Meter, Outcomes};

/// A datagram carrier with nothing to ride on still reports this often.
const IDLE: Duration = Duration::from_millis(100);
/// A flow of which the UE sees nothing for so long is idle: what a sender takes for old (`control::phy::track`), and a
/// little less than what fits into the span of a report.
const PAUSE: Duration = Duration::from_secs(2);

/// What a UE behind a link counts there: bytes that the link carried, or could have carried, in samples of 1 ms.
pub(super) struct LinkBlocks {
    mode: BlocksMode,
    /// What the link could carry.
    meter: Meter,
    /// Up to where it was reported.
    read: Reading,
}

impl LinkBlocks {
    /// Length of a sample: a subframe of LTE.
    pub(super) const SAMPLE: Duration = Duration::from_millis(1);

    pub(super) fn new(mode: BlocksMode, link: &Link) -> Self {
        Self {
            mode,
            meter: link.meter(),
            read: Reading::default(),
        }
    }

    fn read(&mut self, now: Instant, link: &Link) -> Reading {
        let samples = now.as_nanos() / Self::SAMPLE.as_nanos();
        let bytes = match self.mode {
            BlocksMode::Allocated => link.carried(),
            // A link has one user: what it does not use is all idle.
            _ => self.meter.upto(Instant::ZERO + Self::SAMPLE * samples),
        };
        Reading {
            samples,
            bytes: bytes.0,
        }
    }

    /// What came since the last report; `None` before a whole sample has passed.
    fn report(&mut self, now: Instant, link: &Link) -> Option<PathReport> {
        if now.as_nanos() / Self::SAMPLE.as_nanos() <= self.read.samples {
            return None;
        }
        let next = self.read(now, link);
        let before = core::mem::replace(&mut self.read, next);
        Some(before.upto(next, Self::SAMPLE))
    }

    fn resume(&mut self, now: Instant, link: &Link) {
        self.read = self.read(now, link);
    }
}

/// The flows of a link that stands for a cell with one UE, as its base station would count them.
#[derive(Default)]
pub(super) struct LinkCounts {
    flows: FlowCounts,
    /// What the link could have carried by the last report.
    read: Bytes,
}

impl LinkCounts {
    const BEARER: BearerId = BearerId(0);

    pub(super) fn subscribe(&mut self, flow: FlowId) {
        self.flows.subscribe(flow, Self::BEARER);
    }

    /// `packet` enters the link.
    pub(super) fn arrive(&mut self, now: Instant, packet: &Packet) {
        let bytes = u64::from(packet.len);
        self.flows.on_arrival(now, packet.flow, Self::BEARER, bytes);
    }

    /// `served` leave it.
    pub(super) fn depart(&mut self, now: Instant, served: &[(Packet, Duration)]) {
        for (packet, _) in served {
            self.flows
                .on_gone(now, packet.flow, u64::from(packet.len), true);
        }
    }

    /// Its queue dropped what is in `outcomes`.
    pub(super) fn drop_all(&mut self, now: Instant, outcomes: &Outcomes) {
        for (packet, _) in &outcomes.dropped {
            self.flows
                .on_gone(now, packet.flow, u64::from(packet.len), false);
        }
    }

    /// The report for `flow`, where the link could have carried `capacity` since time zero.
    fn report(&mut self, now: Instant, flow: FlowId, capacity: Bytes, hol: Duration) -> Counters {
        let new = capacity.0.saturating_sub(self.read.0);
        self.read = self.read.max(capacity);
        self.flows.offer(new as f64);
        self.flows.report(now, flow, Self::BEARER, hol)
    }
}

/// What makes the reports of a feed.
pub(super) enum Source {
    /// An agent of a cell.
    Cell {
        cell: Idx<CellNode>,
        /// Its number at the cell.
        agent: usize,
        /// The flow there.
        at: FlowAt,
        /// Which way its data goes.
        dir: Direction,
    },
    /// The UE behind a link.
    Link {
        link: Idx<LinkNode>,
        blocks: LinkBlocks,
    },
    /// What counts the flows of a link.
    CountedLink {
        link: Idx<LinkNode>,
        /// What the link could carry.
        meter: Meter,
    },
    /// What the network told the UE when it set up the bearer, and holds for good.
    Told(PathReport),
}

/// The feed of one flow.
pub(super) struct Feed {
    source: Source,
    carrier: Carrier,
    faults: Faults,
    draw: Draw,
    /// Length of a sample, the least time between two reports.
    slot: Duration,
    /// Where reports on their own go.
    pub(super) lane: Option<Idx<LaneNode>>,
    /// The component of its timer.
    pub(super) beat: Option<usize>,
    /// What takes its place where the flow's data turns out to go the other way ([`World::set_direction`]).
    pub(super) other: Option<Box<Self>>,
    /// When the UE last saw a packet of the flow; `None` before the first.
    heard: Option<Instant>,
    /// When the first report leaves, where that is set and has not come.
    first: Option<Instant>,
    /// When the last report left.
    sent: Instant,
    /// The reports that left.
    progress: Progress,
}

impl Feed {
    /// A feed of samples of length `slot`.
    pub(super) fn new(
        source: Source,
        carrier: Carrier,
        faults: Faults,
        slot: Duration,
        draw: Draw,
    ) -> Self {
        Self {
            source,
            carrier,
            faults,
            draw,
            slot,
            lane: None,
            beat: None,
            other: None,
            heard: None,
            first: None,
            sent: Instant::ZERO,
            progress: Progress::default(),
        }
    }

    /// The UE has seen nothing of the flow for long.
    fn is_idle(&self, now: Instant) -> bool {
        self.heard.is_none_or(|t| now.since(t) > PAUSE)
    }

    /// Lets the first report leave at `start`: what it tells is known before the flow.
    pub(super) fn begin(&mut self, start: Instant) {
        (self.heard, self.first) = (Some(start), Some(start));
    }

    /// Changes places with the feed of the other direction, where there is one; what follows the flow goes on.
    pub(super) fn turn(&mut self) {
        let Some(mut other) = self.other.take() else {
            return;
        };
        (other.beat, other.heard, other.sent) = (self.beat, self.heard, self.sent);
        core::mem::swap(self, &mut other);
        self.other = Some(other);
    }

    /// When a report on its own is due next; `None` before the flow.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        if self.first.is_some() {
            return self.first.filter(|t| !self.faults.is_silent(*t));
        }
        self.heard?;
        let every = match self.carrier {
            Carrier::Datagram { every, .. } => every.max(IDLE),
            Carrier::Socket { every, .. } => every,
            _ => return None,
        };
        let next = self.sent + every.max(self.slot);
        (!self.faults.is_silent(next)).then_some(next)
    }

    /// A report may leave on an ACK now, or beside it.
    fn may_ride(&self, now: Instant) -> bool {
        let room = match self.carrier {
            Carrier::OnAck => true,
            Carrier::Datagram { every, .. } => now.since(self.sent) >= every,
            _ => false,
        };
        room && !self.faults.is_silent(now)
    }
}

impl<R: Recorder> World<R> {
    /// What the source of `feed` has to report.
    fn observe(&mut self, now: Instant, flow: FlowId, feed: &mut Feed) -> Option<PathReport> {
        match &mut feed.source {
            Source::Cell {
                cell,
                agent,
                at,
                dir,
            } => self.cells[*cell].report(now, *agent, at, *dir),
            Source::Link { link, blocks } => blocks.report(now, &self.links[*link].link),
            Source::CountedLink { link, meter } => {
                let node = &mut self.links[*link];
                let hol = node.link.hol(now);
                let counts = node.counts.as_mut()?;
                let counters = counts.report(now, flow, meter.upto(now), hol);
                Some(PathReport::Counters(Counters {
                    upload: self.flows[flow.index()].direction() == Direction::Up,
                    ..counters
                }))
            }
            Source::Told(report) => Some(*report),
        }
    }

    /// The UE of `flow` receives or sends a packet of it: a feed that was silent counts from here.
    #[inline]
    pub(super) fn hear(&mut self, now: Instant, flow: usize) {
        let Some(feed) = &mut self.flows[flow].feed else {
            return;
        };
        let idle = feed.is_idle(now);
        feed.heard = Some(now);
        if idle {
            self.wake(now, flow);
        }
    }

    fn wake(&mut self, now: Instant, flow: usize) {
        let Some(mut feed) = self.flows[flow].feed.take() else {
            return;
        };
        match &mut feed.source {
            Source::Cell {
                cell,
                agent,
                at,
                dir,
            } => self.cells[*cell].resume(now, *agent, at, *dir),
            Source::Link { link, blocks } => blocks.resume(now, &self.links[*link].link),
            Source::CountedLink { .. } | Source::Told(_) => {}
        }
        feed.sent = now;
        if let Some(beat) = feed.beat {
            self.kernel.arm(beat, feed.next_timer());
        }
        self.flows[flow].feed = Some(feed);
    }

    /// The UE of `flow` emits `packets`: puts a report on the last ACK of them, or sends one beside it.
    pub(super) fn feed(&mut self, now: Instant, flow: usize, packets: &mut [Packet]) {
        let Some(mut feed) = self.flows[flow].feed.take() else {
            return;
        };
        // What travels beside a packet needs no room in it, so those of the real QUIC stack do as well.
        let rides = if feed.lane.is_some() {
            answers
        } else {
            carries
        };
        if feed.may_ride(now)
            && let Some(ack) = packets.iter_mut().rev().find(|p| rides(p))
            && let Some(report) = self.observe(now, FlowId(flow as u32), &mut feed)
        {
            feed.sent = now;
            let report = feed.faults.pass(now, report, &mut feed.progress, feed.draw);
            match (report, feed.lane) {
                (Some(report), Some(lane)) => self.send_report(now, flow, lane, &report),
                (Some(report), None) => {
                    if let Some(body) = ReportBody::of(&report) {
                        put(ack, body);
                    }
                }
                (None, _) => {}
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
        if feed.is_idle(now) {
            // Silent until something comes.
            self.kernel.arm(n, None);
            self.flows[flow].feed = Some(feed);
            return;
        }
        if feed.next_timer().is_some_and(|t| t <= now) {
            feed.sent = now;
            feed.first = None;
            if !feed.faults.is_silent(now)
                && let Some(lane) = feed.lane
                && let Some(report) = self.observe(now, FlowId(flow as u32), &mut feed)
                && let Some(report) = feed.faults.pass(now, report, &mut feed.progress, feed.draw)
            {
                self.send_report(now, flow, lane, &report);
            }
        }
        self.kernel.arm(n, feed.next_timer());
        self.flows[flow].feed = Some(feed);
    }

    fn send_report(&mut self, now: Instant, flow: usize, lane: Idx<LaneNode>, report: &PathReport) {
        let Some(mut packet) = datagram(now, FlowId(flow as u32), report) else {
            return;
        };
        if self.flows[flow].direction() == Direction::Up {
            // The sender is at the UE, which tells it.
            packet.dir = Direction::Down;
        }
        self.enter_lane(now, lane, &packet);
    }
}
