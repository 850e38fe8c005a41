//! An agent at the cell and the senders that it reports to: reports leave as packets pass on their way up.

use slackwater_core::{Body, Draw, FlowId, Instant, Packet};
use slackwater_edge::{CellView as _, FlowAt};
use slackwater_ran::cell::Cell;
use slackwater_signal::{PathReport, ReportBody};

use super::agents::{At, Installed};
use super::carrier::{Carrier, Faults, Progress, answers, datagram, put_option};
use super::path::LaneNode;
use crate::arena::Idx;

/// A flow whose sender takes reports.
#[derive(Clone, Copy, Debug)]
struct Reported {
    /// Where its data waits.
    at: FlowAt,
    /// Where its datagrams go.
    lane: Option<Idx<LaneNode>>,
    /// The reports that left.
    progress: Progress,
    /// When the last one left.
    sent: Option<Instant>,
}

/// The way of an agent's reports to senders.
pub(super) struct ToSenders {
    /// The agent, by its number at the cell.
    pub(super) agent: usize,
    /// Flows that are added later take reports too, where their controller wants some.
    pub(super) all: bool,
    pub(super) carrier: Carrier,
    faults: Faults,
    draw: Draw,
    /// By flow.
    flows: Vec<Option<Reported>>,
}

impl ToSenders {
    pub(super) fn new(
        agent: usize,
        all: bool,
        carrier: Carrier,
        faults: Faults,
        draw: Draw,
    ) -> Self {
        Self {
            agent,
            all,
            carrier,
            faults,
            draw,
            flows: Vec::new(),
        }
    }

    /// The sender of the flow `at` takes reports; datagrams travel by `lane`.
    pub(super) fn subscribe(&mut self, at: FlowAt, lane: Option<Idx<LaneNode>>) {
        let flow = at.flow.index();
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, None);
        }
        self.flows[flow] = Some(Reported {
            at,
            lane,
            progress: Progress::default(),
            sent: None,
        });
    }

    /// The last report that left for `flow`.
    pub(super) fn last(&self, flow: FlowId) -> Option<PathReport> {
        self.flows.get(flow.index())?.as_ref()?.progress.last
    }

    /// Shows the agent the downlink queues of all reported flows.
    pub(super) fn show_queues(
        &self,
        now: Instant,
        agents: &mut [Installed],
        cell: &mut Cell<Packet>,
    ) {
        let agent = &mut agents[self.agent].agent;
        if !agent.wants_queues() {
            return;
        }
        let view = At::down(now, cell);
        let mut before = None;
        for Reported { at, .. } in self.flows.iter().flatten() {
            // Flows of one bearer mostly follow each other.
            if before != Some((at.ue, at.bearer)) {
                before = Some((at.ue, at.bearer));
                agent.on_queue(now, &view.queue(at.ue, at.bearer));
            }
        }
    }

    /// `packet` leaves the cell on its way up: puts a report to the sender of its flow on it, or hands one out that travels
    /// beside it.
    #[inline]
    pub(super) fn stamp(
        &mut self,
        now: Instant,
        agents: &mut [Installed],
        cell: &mut Cell<Packet>,
        packet: &mut Packet,
    ) -> Option<(Idx<LaneNode>, Packet)> {
        if !answers(packet) || self.faults.is_silent(now) {
            return None;
        }
        let flow = self.flows.get_mut(packet.flow.index())?.as_mut()?;
        if let Carrier::Datagram { every, .. } = self.carrier
            && flow.sent.is_some_and(|sent| now.since(sent) < every)
        {
            return None;
        }

        let agent = &mut agents[self.agent].agent;
        let report = agent.report(now, &flow.at, &mut At::down(now, cell))?;
        flow.sent = Some(now);
        let draw = self.draw.fork(u64::from(packet.flow.0), 0);
        let report = self.faults.pass(now, report, &mut flow.progress, draw)?;
        if let Some(lane) = flow.lane {
            return Some((lane, datagram(now, packet.flow, &report)?));
        }
        let body = ReportBody::of(&report)?;
        if let Body::Tcp(segment) = &mut packet.body {
            put_option(&mut packet.len, segment, body);
        }
        None
    }
}
