//! Agents: what observes a cell, or reads its control channel at a UE, and makes reports of that.
//!
//! Every cross-layer system has one. An agent sees the cell as any [`Observer`] does and is called on two occasions: a report
//! to the sender of a flow may leave ([`Agent::report`]: an ACK passes, or the carrier's period is over), or the time has come
//! that the agent named ([`Agent::poll`]: reports to functions at the network's edge). Carrying the reports is the driver's
//! business; who uses a carrier of their own for reports to a function writes a [`ReportCarrier`].

use slackwater_core::{BearerId, Bytes, FlowId, Instant, UeId};
use slackwater_signal::{Observer, PathReport, RanReport, RlcView};

/// Where an agent stands, which is where its reports to senders begin their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Place {
    /// At the base station: it puts reports on the TCP segments that pass (XRC).
    #[default]
    Cell,
    /// At the UE: reports leave with what the UE itself sends, and only while the flow is not idle (Tyrus).
    Ue,
}

/// A flow as the cell knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowAt {
    /// The flow.
    pub flow: FlowId,
    /// Where its data waits: the UE,
    pub ue: UeId,
    /// and the bearer.
    pub bearer: BearerId,
}

/// A cell at the instant at which an agent makes a report. UEs and bearers are numbered from zero without gaps.
pub trait CellView {
    /// Number of UEs.
    fn ues(&self) -> usize;
    /// Number of bearers of `ue`.
    fn bearers(&self, ue: UeId) -> usize;
    /// Bytes that a full downlink slot would carry for `ue` now; a full uplink slot where the report is about an upload. A cell that
    /// sleeps finds that out when it is wanted.
    fn slot_bytes(&mut self, ue: UeId) -> Bytes;
    /// The downlink queue of a bearer. Where the report is about an upload it is that of the UE, of which nothing has an age while the
    /// scheduler has granted all that it knows of: what waits then waits for no other.
    fn queue(&self, ue: UeId, bearer: BearerId) -> RlcView;
}

impl dyn CellView + '_ {
    /// The downlink queues of all bearers, by UE and bearer.
    pub fn queues(&self) -> impl Iterator<Item = RlcView> + '_ {
        (0..self.ues() as u32).map(UeId).flat_map(move |ue| {
            let bearers = (0..self.bearers(ue) as u8).map(BearerId);
            bearers.map(move |bearer| self.queue(ue, bearer))
        })
    }
}

/// A source of reports at a cell. Calls come in the order of time.
///
/// An agent that reports to senders implements [`Agent::report`], one that reports to functions [`Agent::poll`] and
/// [`Agent::next_timer`].
pub trait Agent: Observer {
    /// Where it stands.
    fn place(&self) -> Place {
        Place::Cell
    }
    /// `flow` passes the cell, and reports may be wanted about it. A flow may be announced more than once.
    fn add_flow(&mut self, _flow: &FlowAt) {}
    /// True where [`Agent::on_queue`] is wanted.
    fn wants_queues(&self) -> bool {
        false
    }
    /// The downlink queue of a bearer whose flows are reported to senders, once per slot that ran.
    fn on_queue(&mut self, _now: Instant, _queue: &RlcView) {}
    /// A report to the sender of `flow` may leave now: the report, or `None` where there is nothing to say. It is the
    /// report that leaves; what becomes of it on its way is not the agent's business.
    fn report(
        &mut self,
        _now: Instant,
        _flow: &FlowAt,
        _cell: &mut dyn CellView,
    ) -> Option<PathReport> {
        None
    }
    /// An agent at a UE: `flow` was idle and is not any more; what is reported next begins now.
    fn resume(&mut self, _now: Instant, _flow: &FlowAt, _cell: &mut dyn CellView) {}
    /// Pushes the reports to functions that are due. All of one call travel in one message; none is no message. Afterwards
    /// [`Agent::next_timer`] lies in the future.
    fn poll(&mut self, _now: Instant, _cell: &mut dyn CellView, _out: &mut Vec<RanReport>) {}
    /// When [`Agent::poll`] should be called next; `None` for not before something else happens.
    fn next_timer(&self) -> Option<Instant> {
        None
    }
}

/// Takes an agent's reports to a function: what that costs in time, in precision and in losses.
pub trait ReportCarrier {
    /// `reports` leave together. What arrives stays in them, rounded to what the carrier's format holds; the answer is
    /// when, or `None` where they are lost. Messages keep their order: none arrives before the one ahead of it.
    fn carry(&mut self, now: Instant, reports: &mut Vec<RanReport>) -> Option<Instant>;
}

/// A cell for tests of agents: one queue, whichever is wanted.
#[cfg(test)]
pub(crate) struct OneQueue(pub(crate) RlcView);

#[cfg(test)]
impl CellView for OneQueue {
    fn ues(&self) -> usize {
        1
    }
    fn bearers(&self, _ue: UeId) -> usize {
        1
    }
    fn slot_bytes(&mut self, _ue: UeId) -> Bytes {
        Bytes::ZERO
    }
    fn queue(&self, _ue: UeId, _bearer: BearerId) -> RlcView {
        self.0
    }
}
