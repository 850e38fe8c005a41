//! An edge function in the world: a node on the path between the core network and the cell.

use std::collections::VecDeque;

use slackwater_core::record::{DropReason, LinkSample, PacketEvent};
use slackwater_core::{
    Bytes, Direction, Ecn, FlowId, Instant, NodeId, Packet, PacketView as _, Qfi, Recorder, UeId,
};
use slackwater_edge::{EdgeFunction, RanReport, Verdict};

use super::path::Hop;
use super::{World, side};
use crate::arena::Idx;

/// A flow as an edge function knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct EdgeFlow {
    /// Its path comes by here.
    pub(super) passes: bool,
    pub(super) ue: UeId,
    pub(super) gbr_flow: Option<Qfi>,
    /// Next hop down and up.
    pub(super) next: [Hop; 2],
}

impl Default for EdgeFlow {
    fn default() -> Self {
        Self {
            passes: false,
            ue: UeId(0),
            gbr_flow: None,
            next: [Hop::Host; 2],
        }
    }
}

/// An edge function in the world.
pub(super) struct EdgeNode {
    /// Its name in records.
    pub(super) id: NodeId,
    /// The function itself.
    pub(super) function: Box<dyn EdgeFunction<Packet> + Send>,
    /// By flow.
    pub(super) flows: Vec<EdgeFlow>,
    /// Reports of the radio network that have not arrived, in order of arrival.
    pub(super) reports: VecDeque<(Instant, RanReport)>,
    /// Downlink packets that the function keeps.
    held: u32,
    /// Downlink bytes that went on.
    carried: u64,
}

impl EdgeNode {
    pub(super) fn new(id: NodeId, function: Box<dyn EdgeFunction<Packet> + Send>) -> Self {
        Self {
            id,
            function,
            flows: Vec::new(),
            reports: VecDeque::new(),
            held: 0,
            carried: 0,
        }
    }

    /// The function keeps `packet`.
    pub(super) fn took(&mut self, packet: &Packet) {
        self.held += u32::from(packet.dir == Direction::Down);
    }

    /// It keeps it no longer. What it made itself was never counted, but it makes nothing that goes down.
    pub(super) fn let_go(&mut self, packet: &Packet) {
        self.held -= u32::from(packet.dir == Direction::Down);
    }

    /// `packet` goes on.
    pub(super) fn passed(&mut self, packet: &Packet) {
        if packet.dir == Direction::Down {
            self.carried += u64::from(packet.len);
        }
    }

    /// What the function thinks of the session of `flow`.
    pub(super) fn internals(&self, flow: FlowId, out: &mut Vec<(&'static str, f64)>) {
        if let Some(flow) = self.flows.get(flow.index()).filter(|f| f.passes) {
            self.function.internals(flow.ue, out);
        }
    }

    pub(super) fn next_timer(&self) -> Option<Instant> {
        match (self.function.next_timer(), self.reports.front()) {
            (Some(own), Some(r)) => Some(own.min(r.0)),
            (own, r) => own.or(r.map(|r| r.0)),
        }
    }

    /// Hands the function the reports that have arrived.
    pub(super) fn take_reports(&mut self, now: Instant) {
        while self.reports.front().is_some_and(|r| r.0 <= now) {
            let (_, report) = self.reports.pop_front().expect("just seen");
            self.function.on_report(now, &report);
        }
    }

    pub(super) fn sample(&self) -> LinkSample {
        let mut sample = LinkSample::default();
        sample.backlog = self.function.held();
        sample.packets = self.held;
        sample.carried = Bytes(self.carried);
        sample
    }
}

impl<R: Recorder> World<R> {
    /// The timer of the edge function `at` ran out: it reads the reports that have arrived, and hands out what is due.
    pub(super) fn run_edge(&mut self, now: Instant, at: Idx<EdgeNode>) {
        self.edges[at].take_reports(now);
        self.drain_edge(now, at);
    }

    /// Shows `packet` to the edge function `at` and does what it decides.
    pub(super) fn pass_edge(&mut self, now: Instant, at: Idx<EdgeNode>, packet: &Packet) {
        let edge = &mut self.edges[at];
        let direction = packet.dir;
        let flow = edge.flows[packet.flow.index()];
        let (ue, gbr_flow) = (flow.ue, flow.gbr_flow);
        let verdict = edge
            .function
            .on_packet_of(now, direction, ue, gbr_flow, *packet);
        let hop = flow.next[side(direction)];
        let id = edge.id;
        match verdict {
            Verdict::Forward(packet) => {
                edge.passed(&packet);
                self.forward(now, hop, id, &packet);
            }
            Verdict::Hold => edge.took(packet),
            Verdict::Mark(mut packet) => {
                packet.set_ecn(Ecn::Ce);
                edge.passed(&packet);
                self.recorder.packet(now, id, &packet, PacketEvent::Marked);
                self.forward(now, hop, id, &packet);
            }
            Verdict::Drop(packet) => {
                let event = PacketEvent::Dropped(DropReason::Law);
                self.recorder.packet(now, id, &packet, event);
            }
        }
        self.drain_edge(now, at);
    }

    /// Sends on what the edge function `at` hands out, records what it dropped, and arms its timer.
    fn drain_edge(&mut self, now: Instant, at: Idx<EdgeNode>) {
        while let Some((direction, packet)) = self.edges[at].function.release(now) {
            let edge = &mut self.edges[at];
            edge.let_go(&packet);
            edge.passed(&packet);
            let hop = edge.flows[packet.flow.index()].next[side(direction)];
            let id = edge.id;
            self.forward(now, hop, id, &packet);
        }
        let edge = &mut self.edges[at];
        while let Some((packet, reason)) = edge.function.take_dropped() {
            edge.let_go(&packet);
            let event = PacketEvent::Dropped(reason);
            self.recorder.packet(now, edge.id, &packet, event);
        }
        // A function may name a time that has passed: it means at once.
        let timer = edge.next_timer();
        self.kernel.arm(edge.id.index(), timer.map(|t| t.max(now)));
    }
}
