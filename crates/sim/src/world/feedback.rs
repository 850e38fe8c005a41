//! Explicit feedback: an agent's reports on their way from the cell to the senders.

use slackwater_core::{BearerId, Body, Direction, Draw, FlowId, Instant, Packet, UeId};
use slackwater_edge::ReportAgent;
use slackwater_ran::cell::Cell;
use slackwater_signal::{PathReport, ReportBody};

use super::carrier::{Carrier, Faults, answers, datagram, put_option};
use super::path::LaneNode;
use crate::arena::Idx;

/// How the reports of an agent at the cell travel, and what goes wrong with them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedbackConfig {
    /// What carries them.
    pub carrier: Carrier,
    /// What goes wrong.
    pub faults: Faults,
}

impl Default for FeedbackConfig {
    fn default() -> Self {
        Self {
            carrier: Carrier::OnAck,
            faults: Faults::default(),
        }
    }
}

/// A flow whose sender takes reports.
#[derive(Clone, Copy, Debug)]
struct Reported {
    /// Where its data waits.
    ue: UeId,
    bearer: BearerId,
    /// Where its datagrams go.
    lane: Option<Idx<LaneNode>>,
    /// Reports so far, for the draws of losses.
    count: u64,
    /// The last report that left.
    last: Option<PathReport>,
    /// When it left.
    sent: Option<Instant>,
}

/// An agent and the way of its reports.
pub(super) struct Feedback {
    pub(super) agent: Box<dyn ReportAgent + Send>,
    pub(super) config: FeedbackConfig,
    draw: Draw,
    /// By flow.
    flows: Vec<Option<Reported>>,
}

impl Feedback {
    pub(super) fn new(
        agent: Box<dyn ReportAgent + Send>,
        config: FeedbackConfig,
        draw: Draw,
    ) -> Self {
        Self {
            agent,
            config,
            draw,
            flows: Vec::new(),
        }
    }

    /// The sender of `flow` takes reports; datagrams travel by `lane`.
    pub(super) fn subscribe(
        &mut self,
        flow: FlowId,
        ue: UeId,
        bearer: BearerId,
        lane: Option<Idx<LaneNode>>,
    ) {
        if self.flows.len() <= flow.index() {
            self.flows.resize(flow.index() + 1, None);
        }
        self.flows[flow.index()] = Some(Reported {
            ue,
            bearer,
            lane,
            count: 0,
            last: None,
            sent: None,
        });
    }

    /// The last report that left for `flow`.
    pub(super) fn last(&self, flow: FlowId) -> Option<PathReport> {
        self.flows.get(flow.index())?.as_ref()?.last
    }

    /// Shows the agent the downlink queues of all reported flows.
    pub(super) fn show_queues(&mut self, now: Instant, cell: &Cell<Packet>) {
        let mut before = None;
        for flow in self.flows.iter().flatten() {
            // Flows of one bearer mostly follow each other.
            if before != Some((flow.ue, flow.bearer)) {
                before = Some((flow.ue, flow.bearer));
                let view = cell.rlc_view(now, Direction::Down, flow.ue, flow.bearer);
                self.agent.on_queue(now, &view);
            }
        }
    }

    #[inline]
    pub(super) fn stamp(
        &mut self,
        now: Instant,
        cell: &Cell<Packet>,
        packet: &mut Packet,
    ) -> Option<(Idx<LaneNode>, Packet)> {
        let FeedbackConfig { carrier, faults } = &self.config;
        if !answers(packet) || faults.is_silent(now) {
            return None;
        }
        let flow = self.flows.get_mut(packet.flow.index())?.as_mut()?;
        if let Carrier::Datagram { every, .. } = *carrier
            && flow.sent.is_some_and(|sent| now.since(sent) < every)
        {
            return None;
        }

        let report = if faults.repeats(now) {
            flow.last?
        } else {
            let queue = cell.rlc_view(now, Direction::Down, flow.ue, flow.bearer);
            self.agent.report(now, packet.flow, &queue)?
        };
        (flow.last, flow.sent) = (Some(report), Some(now));
        let number = flow.count;
        flow.count += 1;
        if faults.loses(self.draw.fork(u64::from(packet.flow.0), 0), number) {
            return None;
        }

        let body = ReportBody::of(&faults.distort(report))?;
        if let Some(lane) = flow.lane {
            return Some((lane, datagram(now, packet.flow, body)));
        }
        if let Body::Tcp(segment) = &mut packet.body {
            put_option(&mut packet.len, segment, body);
        }
        None
    }
}
