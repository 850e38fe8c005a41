//! A UE's transport blocks on their way to the sender: read at the UE, sent on ACKs, beside them, or on their own.
//!
//! A feed lives as long as its flow does. It counts from the first packet that the UE sees of the flow, either way, and
//! falls silent where the UE has seen none for [`PAUSE`]; the next packet wakes it, and it counts from there. So no
//! report tells of a time before the flow or within a pause, and what it costs ends with the flow. A shorter gap is told
//! whole, as one mean: for all that a UE knows it is an outage of the radio, of which the sender must hear.
//!
//! | carrier | while packets come | in a gap of up to [`PAUSE`] | in a longer one | after it |
//! |---|---|---|---|---|
//! | ACK | on each | nothing; the next ACK tells of all of it | nothing | on the first ACK a sample or more after the packet |
//! | datagram | beside an ACK, at most one a period | each 100 ms, or the period where that is longer | nothing | beside the first ACK a period after the packet |
//! | socket | each period | each period | nothing | a period after the packet |

use slackwater_core::{Bytes, Draw, Duration, FlowId, Instant, Packet, Recorder, UeId};
use slackwater_edge::ue::BlocksMode;
use slackwater_signal::{PathReport, ReportBody};

use super::World;
use super::carrier::{Carrier, Faults, carries, datagram, put};
use super::cell::{CellNode, Reading};
use super::path::{LaneNode, LinkNode};
use crate::arena::Idx;
use crate::link::Meter;

/// A datagram carrier with nothing to ride on still reports this often.
const IDLE: Duration = Duration::from_millis(100);
/// A flow of which the UE sees nothing for so long is idle: what a sender takes for old (`control::phy::track`), and a
/// little less than what fits into the span of a report.
const PAUSE: Duration = Duration::from_secs(2);

/// What a UE reports about its transport blocks, and what goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlocksConfig {
    /// What is counted.
    pub mode: BlocksMode,
    /// What carries it.
    pub carrier: Carrier,
    /// What goes wrong; a stale report repeats the last rate.
    pub faults: Faults,
}

impl Default for BlocksConfig {
    fn default() -> Self {
        Self {
            mode: BlocksMode::Capacity,
            carrier: Carrier::OnAck,
            faults: Faults::default(),
        }
    }
}

/// Whose transport blocks a feed reports.
pub(super) enum Source {
    /// Those of a UE in a cell.
    Cell { cell: Idx<CellNode>, ue: UeId },
    /// All that a link carried, or could have carried.
    Link { link: Idx<LinkNode>, meter: Meter },
}

/// The feed of one flow.
pub(super) struct Feed {
    pub(super) config: BlocksConfig,
    pub(super) source: Source,
    /// Where reports on their own go.
    pub(super) lane: Option<Idx<LaneNode>>,
    /// The component of its timer.
    pub(super) beat: Option<usize>,
    pub(super) draw: Draw,
    /// Length of a sample: a subframe or a slot.
    pub(super) slot: Duration,
    /// When the UE last saw a packet of the flow; `None` before the first.
    heard: Option<Instant>,
    /// Up to where it was reported.
    read: Reading,
    /// Mean bytes of a sample in the last report of before [`Faults::until`].
    rate: f64,
    sent: Instant,
    count: u64,
}

impl Feed {
    /// A feed of samples of length `slot`.
    pub(super) fn new(config: BlocksConfig, source: Source, slot: Duration, draw: Draw) -> Self {
        Self {
            config,
            source,
            lane: None,
            beat: None,
            draw,
            slot,
            heard: None,
            read: Reading::default(),
            rate: 0.0,
            sent: Instant::ZERO,
            count: 0,
        }
    }

    /// The UE has seen nothing of the flow for long.
    fn is_idle(&self, now: Instant) -> bool {
        self.heard.is_none_or(|t| now.since(t) > PAUSE)
    }

    /// When a report on its own is due next; `None` before the flow.
    fn next_timer(&self) -> Option<Instant> {
        self.heard?;
        let every = match self.config.carrier {
            Carrier::OnAck => return None,
            Carrier::Datagram { every, .. } => every.max(IDLE),
            Carrier::Socket { every, .. } => every,
        };
        let next = self.sent + every.max(self.slot);
        (!self.config.faults.is_silent(next)).then_some(next)
    }

    /// A report on its own may go beside an ACK now.
    fn may_ride(&self, now: Instant) -> bool {
        match self.config.carrier {
            Carrier::Datagram { every, .. } => now.since(self.sent) >= every,
            Carrier::OnAck | Carrier::Socket { .. } => false,
        }
    }

    /// Whole samples have passed since the last report, and one may leave.
    fn is_ready(&self, now: Instant) -> bool {
        !self.config.faults.is_silent(now)
            && now.as_nanos() / self.slot.as_nanos() > self.read.samples
    }

    /// The report of all samples since the last one, up to `read`. `None` for a lost one.
    fn report(&mut self, now: Instant, read: Reading) -> Option<ReportBody> {
        let before = core::mem::replace(&mut self.read, read);
        let samples = read.samples - before.samples;
        let faults = &self.config.faults;
        let bytes = if faults.repeats(now) {
            self.rate * samples as f64
        } else {
            let bytes = (read.bytes - before.bytes) as f64;
            self.rate = bytes / samples as f64;
            bytes
        };
        let number = self.count;
        self.count += 1;
        if faults.loses(self.draw, number) {
            return None;
        }
        ReportBody::of(&PathReport::TransportBlocks {
            bytes: Bytes((bytes * faults.scale) as u64),
            span: self.slot * samples,
            end: (read.samples * self.slot.as_nanos() / 1_000_000) as u16,
        })
    }
}

impl<R: Recorder> World<R> {
    /// What the source of `feed` had for its UE by `now`.
    fn read_blocks(&mut self, now: Instant, feed: &mut Feed) -> Reading {
        let mode = feed.config.mode;
        let samples = now.as_nanos() / feed.slot.as_nanos();
        let bytes = match &mut feed.source {
            Source::Cell { cell, ue } => return self.cells[*cell].read_blocks(now, *ue, mode),
            Source::Link { link, .. } if mode == BlocksMode::Allocated => {
                self.links[*link].link.carried().0
            }
            // A link has one user: what it does not use is all idle.
            Source::Link { meter, .. } => meter.upto(Instant::ZERO + feed.slot * samples).0,
        };
        Reading { samples, bytes }
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
        feed.read = self.read_blocks(now, &mut feed);
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
        let on_ack = feed.config.carrier == Carrier::OnAck;
        if feed.is_ready(now) && (on_ack || feed.may_ride(now)) {
            let ack = packets.iter_mut().rev().find(|p| carries(p));
            if let Some(ack) = ack {
                let read = self.read_blocks(now, &mut feed);
                feed.sent = now;
                match (feed.report(now, read), feed.lane) {
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
        if feed.is_idle(now) {
            // Silent until something comes.
            self.kernel.arm(n, None);
            self.flows[flow].feed = Some(feed);
            return;
        }
        if feed.next_timer().is_some_and(|t| t <= now) {
            feed.sent = now;
            if feed.is_ready(now) {
                let read = self.read_blocks(now, &mut feed);
                if let (Some(body), Some(lane)) = (feed.report(now, read), feed.lane) {
                    self.send_report(now, flow, lane, body);
                }
            }
        }
        self.kernel.arm(n, feed.next_timer());
        self.flows[flow].feed = Some(feed);
    }

    fn send_report(&mut self, now: Instant, flow: usize, lane: Idx<LaneNode>, body: ReportBody) {
        let packet = datagram(now, FlowId(flow as u32), body);
        self.enter_lane(now, lane, &packet);
    }
}
