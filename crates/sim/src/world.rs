//! The world: nodes and hosts on one kernel.

mod blocks;
mod builder;
mod carrier;
mod cell;
mod edge;
mod feedback;
mod pages;
mod reports;
mod slots;

use std::collections::VecDeque;

pub use blocks::BlocksConfig;
use blocks::Feed;
pub use builder::WorldBuilder;
pub use carrier::{Carrier, Faults};
use cell::CellNode;
use edge::EdgeNode;
pub use feedback::FeedbackConfig;
use pages::Page;
pub use reports::ReportConfig;
use slackwater_core::record::{DropReason, PacketEvent};
use slackwater_core::{
    Body, Bytes, Direction, Duration, Ecn, FlowId, Instant, NodeId, Packet, PacketView as _,
    Recorder, SegmentBits,
};
use slackwater_edge::{RanReport, Verdict};
use slackwater_ran::CellOut;
use slackwater_ran::cell::Cell;
use slackwater_signal::PathReport;
use slackwater_transport::rtp::Mailbox;
use slots::cell_of;

use crate::clock::{Clock, SyncStatus};
use crate::flow::{Host, HostEvents};
use crate::kernel::Kernel;
use crate::lane::Lane;
use crate::link::{Link, Outcomes};

/// Index of a cell's samples that cover its whole downlink.
pub const CELL_DOWN: u32 = u32::MAX - 1;
/// Index of a cell's samples that cover its whole uplink.
pub const CELL_UP: u32 = u32::MAX;

/// Where a packet goes next.
#[derive(Clone, Copy, Debug)]
enum Hop {
    Node(u32),
    Host,
}

enum Node {
    Lane {
        lane: Lane,
        next: Hop,
    },
    /// A lane that ends at a cell, in whose inbox its packets wait.
    Feeder {
        lane: Lane,
        cell: u32,
    },
    Link {
        link: Box<Link>,
        next: Vec<Hop>,
    },
    Cell(Box<CellNode>),
    Edge(Box<EdgeNode>),
    /// The timer of a flow's feed.
    Beat(usize),
}

struct Flow {
    /// The hosts, at the network (0) and at the UE (1).
    hosts: [Host; 2],
    /// First hop of packets going down and up.
    first: [Hop; 2],
    /// The host that sends the flow's data.
    sender: usize,
    /// Messages on their way: position of their end in the byte stream, start, size.
    messages: VecDeque<(u64, Instant, u64)>,
    /// Up to where in the byte stream arrivals were told.
    told: u64,
    /// The page that it is a connection of.
    page: Option<u32>,
    /// The UE's transport blocks for the sender.
    feed: Option<Box<Feed>>,
    /// What RTCP on its way says.
    mailbox: Mailbox,
}

/// Tells the host to which `packet` goes that `behind` arrives with it, where an offload would merge the two.
#[inline]
fn couple(hop: Hop, packet: &mut Packet, behind: Option<&Packet>) {
    if matches!(hop, Hop::Host)
        && behind.is_some_and(|next| packet.is_continued_by(next))
        && let Body::Tcp(segment) = &mut packet.body
    {
        segment.bits = segment.bits.with(SegmentBits::TRAIN);
    }
}

const fn side(direction: Direction) -> usize {
    match direction {
        Direction::Down => 0,
        Direction::Up => 1,
    }
}

/// A simulated network at some point of its time.
pub struct World<R> {
    kernel: Kernel,
    nodes: Vec<Node>,
    /// Cells and edge functions, which know something of flows.
    tellers: Vec<usize>,
    flows: Vec<Flow>,
    pages: Vec<Page>,
    recorder: R,
    now: Instant,
    events: u64,
    // Buffers reused by every event.
    packets: Vec<Packet>,
    served: Vec<(Packet, Duration)>,
    outcomes: Outcomes,
    cell_out: CellOut<Packet>,
    batch: Vec<RanReport>,
    values: Vec<(&'static str, f64)>,
    host_events: HostEvents,
    late: Duration,
}

impl<R: Recorder> World<R> {
    /// The time up to which the world has run.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The largest lag behind the clock (zero in virtual time).
    pub fn late(&self) -> Duration {
        self.late
    }

    /// The recorder.
    pub fn recorder(&self) -> &R {
        &self.recorder
    }

    /// Ends the run and hands back the recorder.
    pub fn into_recorder(mut self) -> R {
        // What arrived since their last slots was not told.
        self.catch_up_cells(self.now);
        self.recorder
    }

    /// Number of flows.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The cell at `node`, where there is one.
    pub fn cell(&self, node: NodeId) -> Option<&Cell<Packet>> {
        match self.nodes.get(node.index())? {
            Node::Cell(c) => Some(&c.cell),
            _ => None,
        }
    }

    /// The sending and the receiving host of `flow`.
    pub fn hosts(&self, flow: FlowId) -> (&Host, &Host) {
        let f = &self.flows[flow.index()];
        (&f.hosts[f.sender], &f.hosts[1 - f.sender])
    }

    /// When the next event is due.
    pub fn next_event(&self) -> Option<Instant> {
        self.kernel.peek().map(|(at, _)| at)
    }

    /// A host outside of the world emits `packet`, in its flow and direction ([`crate::Transport::External`]). All events up
    /// to `now` must have run, which [`World::run_until`] sees to.
    pub fn inject(&mut self, now: Instant, packet: &Packet) {
        debug_assert!(now >= self.now, "{now} is before {}", self.now);
        self.now = now;
        self.packets.push(*packet);
        self.emit(now, packet.flow.index(), side(packet.dir));
    }

    /// The packets that reached hosts outside of the world since the last call, with the times of their arrival.
    pub fn drain_handed(&mut self) -> impl Iterator<Item = (Instant, Packet)> {
        self.host_events.handed.drain(..)
    }

    /// The recorder, for what it must hear from outside of the world.
    pub fn recorder_mut(&mut self) -> &mut R {
        &mut self.recorder
    }

    /// Runs all events up to and including `until`. Splitting a run into several calls changes nothing.
    pub fn run_until(&mut self, until: Instant, clock: &mut impl Clock) {
        while self.run_event(until, clock) {}
        self.now = self.now.max(until);
    }

    /// Runs the next event where it is due by `until`; false where none is. An agent outside stops a run this way.
    #[inline]
    pub fn run_event(&mut self, until: Instant, clock: &mut impl Clock) -> bool {
        let Some((at, component)) = self.kernel.peek().filter(|(at, _)| *at <= until) else {
            return false;
        };
        if let SyncStatus::Late(lag) = clock.synchronize(at) {
            self.late = self.late.max(lag);
        }
        debug_assert!(
            at >= self.now,
            "time goes backwards: component {component} at {at}, now {}",
            self.now
        );
        self.now = at;
        self.events += 1;
        self.dispatch(at, component);
        true
    }

    fn dispatch(&mut self, now: Instant, component: usize) {
        if component < self.nodes.len() {
            self.run_node(now, component);
        } else {
            let host = component - self.nodes.len();
            match host.checked_sub(2 * self.flows.len()) {
                None => self.run_host(now, host / 2, host % 2),
                Some(0) => {
                    self.sample(now);
                    let next = self.recorder.sampling().map(|p| now + p);
                    self.kernel.arm(component, next);
                }
                Some(page) => self.begin_page(now, page - 1),
            }
        }
    }

    fn run_node(&mut self, now: Instant, n: usize) {
        match &mut self.nodes[n] {
            Node::Lane { lane, next } => {
                let next = *next;
                if !lane.is_due(now) {
                    return;
                }
                let packet = lane.pop();
                let timer = lane.next_timer();
                self.kernel.arm(n, timer);
                self.forward(now, next, n, &packet);
            }
            Node::Link { link, .. } => {
                let mut served = core::mem::take(&mut self.served);
                link.on_timer(now, &mut served, &mut self.outcomes);
                let timer = link.next_timer();
                self.kernel.arm(n, timer);
                self.report_outcomes(now, n);
                for i in 0..served.len() {
                    let (mut packet, sojourn) = served[i];
                    let node = NodeId(n as u32);
                    self.recorder
                        .packet(now, node, &packet, PacketEvent::Dequeued { sojourn });
                    let Node::Link { next, .. } = &self.nodes[n] else {
                        unreachable!("a node keeps its kind")
                    };
                    let hop = next.get(packet.flow.index()).copied().unwrap_or(Hop::Host);
                    let behind = served.get(i + 1).map(|s| &s.0);
                    couple(hop, &mut packet, behind);
                    self.forward(now, hop, n, &packet);
                }
                served.clear();
                self.served = served;
            }
            Node::Cell(_) => self.run_cell(now, n),
            Node::Feeder { .. } => unreachable!("a lane that ends at a cell has no timer"),
            Node::Edge(edge) => {
                edge.take_reports(now);
                self.drain_edge(now, n);
            }
            Node::Beat(flow) => {
                let flow = *flow;
                self.beat(now, n, flow);
            }
        }
    }

    fn report_outcomes(&mut self, now: Instant, n: usize) {
        let node = NodeId(n as u32);
        for (packet, reason) in self.outcomes.dropped.drain(..) {
            self.recorder
                .packet(now, node, &packet, PacketEvent::Dropped(reason));
        }
        for packet in self.outcomes.marked.drain(..) {
            self.recorder
                .packet(now, node, &packet, PacketEvent::Marked);
        }
    }

    /// Hands `packet`, which comes from node `from`, to its next hop.
    #[expect(
        clippy::inline_always,
        reason = "a choice of what to call: as a call of its own it costs more than what it does"
    )]
    #[inline(always)]
    fn forward(&mut self, now: Instant, hop: Hop, from: usize, packet: &Packet) {
        match hop {
            Hop::Host => self.deliver(now, from, packet),
            Hop::Node(n) => self.enter(now, n as usize, packet),
        }
    }

    /// Hands `packet` to node `n`.
    fn enter(&mut self, now: Instant, n: usize, packet: &Packet) {
        match &mut self.nodes[n] {
            Node::Lane { lane, .. } => {
                let waiting = lane.next_timer().is_some();
                if !lane.push(now, packet) {
                    let event = PacketEvent::Dropped(DropReason::Random);
                    self.recorder.packet(now, NodeId(n as u32), packet, event);
                } else if !waiting {
                    self.kernel.arm(n, lane.next_timer());
                }
            }
            Node::Link { link, .. } => {
                link.arrive(now, *packet, &mut self.outcomes);
                let timer = link.next_timer();
                self.kernel.arm(n, timer);
                if !(self.outcomes.dropped.is_empty() && self.outcomes.marked.is_empty()) {
                    self.report_outcomes(now, n);
                }
            }
            Node::Cell(node) => {
                let direction = packet.dir;
                if direction == Direction::Down || node.observes_arrivals() {
                    self.catch_up(now, n);
                }
                let node = cell_of(&mut self.nodes, n);
                let flow = &node.flows[packet.flow.index()];
                let (ue, qfi, out) = (flow.ue, flow.qfi, &mut self.cell_out);
                node.cell.enqueue(now, direction, ue, qfi, *packet, out);
                if !(out.dropped.is_empty() && out.marked.is_empty()) {
                    self.drain_cell(now, n);
                } else if !self.kernel.is_due_by(n, node.cell.earliest_slot()) {
                    // Armed for the first slot that may run, the cell needs no other timer for this packet.
                    let timer = node.next_timer();
                    self.kernel.arm(n, timer);
                }
            }
            Node::Feeder { .. } => self.feed_cell(now, n, core::slice::from_ref(packet), false),
            Node::Edge(_) => self.pass_edge(now, n, packet),
            Node::Beat(_) => unreachable!("no path names a timer"),
        }
    }

    /// Shows `packet` to the edge function at `n` and does what it decides.
    fn pass_edge(&mut self, now: Instant, n: usize, packet: &Packet) {
        let Node::Edge(edge) = &mut self.nodes[n] else {
            unreachable!("a node keeps its kind")
        };
        let direction = packet.dir;
        let flow = edge.flows[packet.flow.index()];
        let (ue, gbr_flow) = (flow.ue, flow.gbr_flow);
        let verdict = edge
            .function
            .on_packet_of(now, direction, ue, gbr_flow, *packet);
        let hop = flow.next[side(direction)];
        let id = NodeId(n as u32);
        match verdict {
            Verdict::Forward(packet) => {
                edge.passed(&packet);
                self.forward(now, hop, n, &packet);
            }
            Verdict::Hold => edge.took(packet),
            Verdict::Mark(mut packet) => {
                packet.set_ecn(Ecn::Ce);
                edge.passed(&packet);
                self.recorder.packet(now, id, &packet, PacketEvent::Marked);
                self.forward(now, hop, n, &packet);
            }
            Verdict::Drop(packet) => {
                let event = PacketEvent::Dropped(DropReason::Law);
                self.recorder.packet(now, id, &packet, event);
            }
        }
        self.drain_edge(now, n);
    }

    /// Sends on what the edge function at `n` hands out, tells of what it dropped, and arms its timer.
    fn drain_edge(&mut self, now: Instant, n: usize) {
        loop {
            let Node::Edge(edge) = &mut self.nodes[n] else {
                unreachable!("a node keeps its kind")
            };
            let Some((direction, packet)) = edge.function.release(now) else {
                break;
            };
            edge.let_go(&packet);
            edge.passed(&packet);
            let hop = edge.flows[packet.flow.index()].next[side(direction)];
            self.forward(now, hop, n, &packet);
        }
        let Node::Edge(edge) = &mut self.nodes[n] else {
            unreachable!("a node keeps its kind")
        };
        let id = NodeId(n as u32);
        while let Some((packet, reason)) = edge.function.take_dropped() {
            edge.let_go(&packet);
            self.recorder
                .packet(now, id, &packet, PacketEvent::Dropped(reason));
        }
        // A function may name a time that has passed: it means at once.
        let timer = edge.next_timer();
        self.kernel.arm(n, timer.map(|t| t.max(now)));
    }

    /// Hands `packet` to the host at the end of its path.
    fn deliver(&mut self, now: Instant, from: usize, packet: &Packet) {
        let flow = packet.flow.index();
        let host = 1 - side(packet.dir);
        if !matches!(packet.body, Body::Report(_)) {
            self.recorder
                .packet(now, NodeId(from as u32), packet, PacketEvent::Delivered);
        }
        if host != self.flows[flow].sender {
            self.hear(now, flow);
        }
        let (out, events) = (&mut self.packets, &mut self.host_events);
        let state = &mut self.flows[flow];
        state.hosts[host].on_packet(now, packet, &mut state.mailbox, out, events);
        self.after_host(now, flow, host);
    }

    fn run_host(&mut self, now: Instant, flow: usize, host: usize) {
        let (out, events) = (&mut self.packets, &mut self.host_events);
        let state = &mut self.flows[flow];
        state.hosts[host].on_timer(now, &mut state.mailbox, out, events);
        self.after_host(now, flow, host);
    }

    /// Sends what a host emitted, tells of the messages that are complete, and arms the host's timer.
    fn after_host(&mut self, now: Instant, flow: usize, host: usize) {
        if !self.packets.is_empty() {
            self.emit(now, flow, host);
        }
        if self.host_events.any() {
            self.take_events(now, flow);
        }
        let state = &self.flows[flow];
        if host != state.sender && !state.messages.is_empty() {
            self.complete(now, flow);
        }
        let component = self.nodes.len() + 2 * flow + host;
        let timer = self.flows[flow].hosts[host].next_timer();
        self.kernel.arm(component, timer);
        if self.host_events.objects > 0 {
            self.take_objects(now, flow);
        }
    }

    /// Takes over the messages that a host of `flow` began, and tells of the frames that it completed.
    #[cold]
    fn take_events(&mut self, now: Instant, flow: usize) {
        let id = FlowId(flow as u32);
        let state = &mut self.flows[flow];
        if !self.host_events.messages.is_empty() || !self.host_events.frames.is_empty() {
            if state.messages.is_empty() {
                state.told = state.hosts[1 - state.sender].delivered().get();
            }
            state.messages.extend(self.host_events.messages.drain(..));
            for (start, bytes) in self.host_events.frames.drain(..) {
                self.recorder.transfer(now, id, start, bytes);
            }
        }
        for frame in self.host_events.media.drain(..) {
            self.recorder.frame(now, id, &frame);
        }
    }

    /// Puts what `host` of `flow` emitted on its way.
    fn emit(&mut self, now: Instant, flow: usize, host: usize) {
        let first = self.flows[flow].first[host];
        let Hop::Node(node) = first else {
            unreachable!("a path has at least one hop")
        };
        let mut out = core::mem::take(&mut self.packets);
        if self.flows[flow].feed.is_some() && host != self.flows[flow].sender {
            self.hear(now, flow);
            self.feed(now, flow, &mut out);
        }
        if matches!(self.nodes[node as usize], Node::Feeder { .. }) {
            self.feed_cell(now, node as usize, &out, true);
        } else {
            for packet in &out {
                self.recorder
                    .packet(now, NodeId(node), packet, PacketEvent::Sent);
                self.forward(now, first, node as usize, packet);
            }
        }
        out.clear();
        self.packets = out;
    }

    /// Tells of what arrived of messages, and of those whose last byte has arrived; the sender's application hears of it
    /// when none is left.
    fn complete(&mut self, now: Instant, flow: usize) {
        let state = &mut self.flows[flow];
        let delivered = state.hosts[1 - state.sender].delivered().get();
        let mut any = false;
        if delivered == state.told {
            return;
        }
        let id = FlowId(flow as u32);
        while let Some(&(end, start, bytes)) = state.messages.front() {
            let upto = end.min(delivered);
            if upto > state.told {
                let piece = Bytes(upto - state.told);
                self.recorder.piece(now, id, start, piece);
                state.told = upto;
            }
            if end > delivered {
                break;
            }
            state.messages.pop_front();
            self.recorder.transfer(now, id, start, Bytes(bytes));
            any = true;
        }
        if any && state.messages.is_empty() {
            state.hosts[state.sender].on_delivered(now);
            let component = self.nodes.len() + 2 * flow + state.sender;
            let timer = state.hosts[state.sender].next_timer();
            self.kernel.arm(component, timer);
        }
    }

    fn sample(&mut self, now: Instant) {
        self.catch_up_cells(now);
        for (i, flow) in self.flows.iter().enumerate() {
            let id = FlowId(i as u32);
            let delivered = flow.hosts[1 - flow.sender].delivered();
            if let Some(mut sample) = flow.hosts[flow.sender].sample() {
                sample.delivered = delivered;
                self.recorder.flow(now, id, &sample);
                self.values.clear();
                flow.hosts[flow.sender].internals(&mut self.values);
            } else {
                let mut sample = slackwater_core::record::FlowSample::default();
                sample.delivered = delivered;
                self.recorder.flow(now, id, &sample);
                self.values.clear();
            }
            for &n in &self.tellers {
                match &self.nodes[n] {
                    Node::Cell(cell) => {
                        if let Some(report) = cell.feedback.as_ref().and_then(|f| f.last(id)) {
                            tell_report(&report, &mut self.values);
                        }
                    }
                    Node::Edge(edge) => edge.internals(id, &mut self.values),
                    Node::Lane { .. } | Node::Feeder { .. } | Node::Link { .. } | Node::Beat(_) => {
                    }
                }
            }
            if !self.values.is_empty() {
                self.recorder.internals(now, id, &self.values);
            }
        }
        for (n, node) in self.nodes.iter_mut().enumerate() {
            let id = NodeId(n as u32);
            match node {
                Node::Lane { .. } | Node::Feeder { .. } | Node::Beat(_) => {}
                Node::Link { link, .. } => self.recorder.link(now, id, 0, &link.sample(now)),
                Node::Cell(c) => c.sample(now, |index, s| self.recorder.link(now, id, index, s)),
                Node::Edge(e) => self.recorder.link(now, id, 0, &e.sample()),
            }
        }
    }
}

/// The report that last left the cell, as internals of the flow.
fn tell_report(report: &PathReport, out: &mut Vec<(&'static str, f64)>) {
    if let PathReport::Share {
        rate, hol_delay, ..
    } = report
    {
        out.push(("reported_rate_mbps", rate.as_mbps()));
        out.push(("reported_hol_ms", hol_delay.as_secs_f64() * 1e3));
    }
}
