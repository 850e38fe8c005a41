//! An edge function in the world: a node on the path between the core network and the cell.

use std::collections::VecDeque;

use slackwater_core::record::LinkSample;
use slackwater_core::{Bytes, Direction, FlowId, Instant, Packet, Qfi, UeId};
use slackwater_edge::{EdgeFunction, RanReport};

use super::Hop;

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

pub(super) struct EdgeNode {
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
    pub(super) fn new(function: Box<dyn EdgeFunction<Packet> + Send>) -> Self {
        Self {
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
