//! Paths: what packets pass between two hosts, and how they go from one node to the next.

use slackwater_core::record::{DropReason, PacketEvent};
use slackwater_core::{Body, Direction, Instant, NodeId, Packet, Recorder, SegmentBits};

use super::World;
use super::cell::CellNode;
use super::edge::EdgeNode;
use super::feed::LinkCounts;
use crate::arena::Idx;
use crate::lane::Lane;
use crate::link::Link;

/// Where a packet goes next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hop {
    /// Onto a lane.
    Lane(Idx<LaneNode>),
    /// Into the queue of a link.
    Link(Idx<LinkNode>),
    /// Into a cell.
    Cell(Idx<CellNode>),
    /// To an edge function.
    Edge(Idx<EdgeNode>),
    /// To the host at the end of its path.
    Host,
}

/// Who acts when a component's timer runs out; a component's number is its place in [`World::components`]. The nodes
/// come first, and their numbers are their [`NodeId`]s.
#[derive(Clone, Copy, Debug)]
pub(super) enum Component {
    /// A lane whose first packet is through.
    Lane(Idx<LaneNode>),
    /// A link that has served a packet.
    Link(Idx<LinkNode>),
    /// A cell with a slot, a delivery or a report to make.
    Cell(Idx<CellNode>),
    /// An edge function.
    Edge(Idx<EdgeNode>),
    /// The UE that reports the transport blocks of this flow.
    Feed(u32),
    /// A host of a flow, at the network (0) or at the UE (1).
    Host {
        /// The flow.
        flow: u32,
        /// Which of its hosts.
        host: u8,
    },
    /// The recorder's samples.
    Sampler,
    /// The browser of this page.
    Page(u32),
}

/// A lane in the world.
pub(super) struct LaneNode {
    /// Its name in records.
    pub(super) id: NodeId,
    /// The lane itself.
    pub(super) lane: Lane,
    /// Where what comes off it goes.
    pub(super) exit: Exit,
}

/// Where what comes off a lane goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exit {
    /// To the next hop, by the lane's timer.
    Hop(Hop),
    /// Into the inbox of a cell, which takes it in its own time: the lane holds no packets and has no timer.
    Inbox(Idx<CellNode>),
}

/// A link in the world.
pub(super) struct LinkNode {
    /// Its name in records.
    pub(super) id: NodeId,
    /// The link itself.
    pub(super) link: Link,
    /// Next hop of each flow.
    pub(super) next: Vec<Hop>,
    /// What was counted of its flows, where a sender takes counters.
    pub(super) counts: Option<Box<LinkCounts>>,
}

/// Marks `packet`, which goes to a host, where an offload there would merge it with `behind`, which arrives with it.
#[inline]
pub(super) fn couple(hop: Hop, packet: &mut Packet, behind: Option<&Packet>) {
    if matches!(hop, Hop::Host)
        && behind.is_some_and(|next| packet.is_continued_by(next))
        && let Body::Tcp(segment) = &mut packet.body
    {
        segment.bits = segment.bits.with(SegmentBits::TRAIN);
    }
}

impl<R: Recorder> World<R> {
    /// Hands `packet`, which comes from node `from`, to its next hop.
    #[expect(
        clippy::inline_always,
        reason = "a choice of what to call: as a call of its own it costs more than what it does"
    )]
    #[inline(always)]
    pub(super) fn forward(&mut self, now: Instant, hop: Hop, from: NodeId, packet: &Packet) {
        match hop {
            Hop::Host => self.deliver(now, from, packet),
            Hop::Lane(lane) => self.enter_lane(now, lane, packet),
            Hop::Link(link) => self.enter_link(now, link, packet),
            Hop::Cell(cell) => self.enter_cell(now, cell, packet),
            Hop::Edge(edge) => self.pass_edge(now, edge, packet),
        }
    }

    /// Puts `packet` on the lane `at`.
    pub(super) fn enter_lane(&mut self, now: Instant, at: Idx<LaneNode>, packet: &Packet) {
        let node = &mut self.lanes[at];
        if let Exit::Inbox(cell) = node.exit {
            self.feed_cell(now, at, cell, core::slice::from_ref(packet), false);
            return;
        }
        let waiting = node.lane.next_timer().is_some();
        if !node.lane.push(now, packet) {
            let event = PacketEvent::Dropped(DropReason::Random);
            self.recorder.packet(now, node.id, packet, event);
        } else if !waiting {
            self.kernel.arm(node.id.index(), node.lane.next_timer());
        }
    }

    /// The first packet of the lane `at` may be through.
    pub(super) fn run_lane(&mut self, now: Instant, at: Idx<LaneNode>) {
        let node = &mut self.lanes[at];
        let Exit::Hop(next) = node.exit else {
            return;
        };
        if !node.lane.is_due(now) {
            return;
        }
        let packet = node.lane.pop();
        let id = node.id;
        self.kernel.arm(id.index(), node.lane.next_timer());
        self.forward(now, next, id, &packet);
    }

    /// Puts `packet` into the queue of the link `at`.
    fn enter_link(&mut self, now: Instant, at: Idx<LinkNode>, packet: &Packet) {
        let node = &mut self.links[at];
        if let Some(counts) = &mut node.counts {
            counts.arrive(now, packet);
        }
        node.link.arrive(now, *packet, &mut self.outcomes);
        if let Some(counts) = &mut node.counts {
            counts.drop_all(now, &self.outcomes);
        }
        let id = node.id;
        self.kernel.arm(id.index(), node.link.next_timer());
        if !(self.outcomes.dropped.is_empty() && self.outcomes.marked.is_empty()) {
            self.report_outcomes(now, id);
        }
    }

    /// The link `at` serves what is due.
    pub(super) fn run_link(&mut self, now: Instant, at: Idx<LinkNode>) {
        let mut served = core::mem::take(&mut self.served);
        let node = &mut self.links[at];
        node.link.on_timer(now, &mut served, &mut self.outcomes);
        if let Some(counts) = &mut node.counts {
            counts.depart(now, &served);
            counts.drop_all(now, &self.outcomes);
        }
        let id = node.id;
        self.kernel.arm(id.index(), node.link.next_timer());
        self.report_outcomes(now, id);
        for i in 0..served.len() {
            let (mut packet, sojourn) = served[i];
            let event = PacketEvent::Dequeued {
                sojourn,
                radio: None,
            };
            self.recorder.packet(now, id, &packet, event);
            let next = self.links[at].next.get(packet.flow.index());
            let hop = next.copied().unwrap_or(Hop::Host);
            couple(hop, &mut packet, served.get(i + 1).map(|s| &s.0));
            self.forward(now, hop, id, &packet);
        }
        served.clear();
        self.served = served;
    }

    /// Records what the queue of the link `id` dropped and marked.
    fn report_outcomes(&mut self, now: Instant, id: NodeId) {
        for (packet, reason) in self.outcomes.dropped.drain(..) {
            let event = PacketEvent::Dropped(reason);
            self.recorder.packet(now, id, &packet, event);
        }
        for packet in self.outcomes.marked.drain(..) {
            self.recorder.packet(now, id, &packet, PacketEvent::Marked);
        }
    }

    /// Hands `packet` to the cell `at`.
    fn enter_cell(&mut self, now: Instant, at: Idx<CellNode>, packet: &Packet) {
        let direction = packet.dir;
        if direction == Direction::Down || self.cells[at].observes_arrivals() {
            self.catch_up(now, at);
        }
        let node = &mut self.cells[at];
        let flow = &node.flows[packet.flow.index()];
        let (ue, qfi, out) = (flow.ue, flow.qfi, &mut self.cell_out);
        node.cell.enqueue(now, direction, ue, qfi, *packet, out);
        let component = node.id.index();
        if !(out.dropped.is_empty() && out.marked.is_empty()) {
            self.drain_cell(now, at);
        } else if !self.kernel.is_due_by(component, node.cell.earliest_slot()) {
            // Armed for the first slot that may run, the cell needs no other timer for this packet.
            self.kernel.arm(component, node.next_timer());
        }
    }
}
