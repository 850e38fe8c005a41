//! An edge function in the world: a node on the path between the core network and the cell.

use std::collections::VecDeque;

use slackwater_core::record::LinkSample;
use slackwater_core::{Instant, Packet, UeId};
use slackwater_edge::{EdgeFunction, RanReport};

use super::Hop;

/// A flow as an edge function knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct EdgeFlow {
    pub(super) ue: UeId,
    /// Next hop down and up.
    pub(super) next: [Hop; 2],
}

impl Default for EdgeFlow {
    fn default() -> Self {
        Self {
            ue: UeId(0),
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
}

impl EdgeNode {
    pub(super) fn new(function: Box<dyn EdgeFunction<Packet> + Send>) -> Self {
        Self {
            function,
            flows: Vec::new(),
            reports: VecDeque::new(),
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
        sample
    }
}
