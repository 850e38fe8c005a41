//! Functions of the network's edge: what acts between the sender and the radio.
//!
//! The contract that they share is here; [`gnb`] holds the agents of the base station (XRC's, the reporters), [`ue`] those of
//! the phone, and [`upf`] what stands in the user plane: vAQM, CECC, Zhuge and the passive measurement of RTTs. They know the
//! radio by [`RanReport`]s alone and are generic over the packet. The simulator and the emulator run them on the simulator's
//! packet; no caller runs them on real buffers yet.

pub mod gnb;
pub mod ue;
pub mod upf;

use slackwater_core::record::DropReason;
use slackwater_core::{BearerId, Bytes, Direction, FlowId, Instant, PacketView, Qfi, Rate, UeId};
pub use slackwater_signal::RanReport;
use slackwater_signal::{Observer, PathReport, RlcView};

/// What becomes of a packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict<P> {
    /// It goes on, perhaps rewritten.
    Forward(P),
    /// The function keeps it and hands it out by [`EdgeFunction::release`].
    Hold,
    /// It goes on with CE set.
    Mark(P),
    /// It ends here.
    Drop(P),
}

/// A PDU session or `QoS` flow as the function must know it (PFCP sessions and QERs, TS 29.244, 5.2 and 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Session {
    /// It begins, or its rates change.
    Up {
        /// The UE.
        ue: UeId,
        /// One `QoS` flow of guaranteed bit rate, or `None` for all others of the session together.
        gbr_flow: Option<Qfi>,
        /// Guaranteed rate (GBR); zero for none.
        guaranteed: Rate,
        /// Upper bound: MBR of the flow, or AMBR of the session.
        maximum: Rate,
    },
    /// It ends.
    Down {
        /// The UE.
        ue: UeId,
        /// As in [`Session::Up`].
        gbr_flow: Option<Qfi>,
    },
}

/// A function on the path of packets. Calls come in time order; `now` comes first.
pub trait EdgeFunction<P: PacketView> {
    /// A packet of `ue` passes.
    fn on_packet(&mut self, now: Instant, direction: Direction, ue: UeId, packet: P) -> Verdict<P>;
    /// As [`EdgeFunction::on_packet`], for a packet that the session's rules bind to the `QoS` flow `gbr_flow` of
    /// guaranteed bit rate (`None`: to any of the others). Functions that do not tell flows apart leave it.
    fn on_packet_of(
        &mut self,
        now: Instant,
        direction: Direction,
        ue: UeId,
        _gbr_flow: Option<Qfi>,
        packet: P,
    ) -> Verdict<P> {
        self.on_packet(now, direction, ue, packet)
    }
    /// The radio network reports.
    fn on_report(&mut self, _now: Instant, _report: &RanReport) {}
    /// A session or `QoS` flow changes.
    fn on_session(&mut self, _now: Instant, _session: &Session) {}
    /// Hands out a packet that was held and may go now; call until it returns `None`.
    fn release(&mut self, _now: Instant) -> Option<(Direction, P)> {
        None
    }
    /// Hands out a packet that was held and dropped since; call until it returns `None`.
    fn take_dropped(&mut self) -> Option<(P, DropReason)> {
        None
    }
    /// When [`EdgeFunction::release`] should be called again.
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    /// Bytes that the function holds.
    fn held(&self) -> Bytes {
        Bytes::ZERO
    }
    /// What the function thinks of the session of `ue`, by name, for plots (as `Controller::snapshot` does for flows).
    fn internals(&self, _ue: UeId, _out: &mut Vec<(&'static str, f64)>) {}
}

/// An agent of the radio network that tells senders what their path holds. It sees the cell as any [`Observer`] does,
/// and is asked when a packet that can carry a report passes PDCP on its way up.
pub trait ReportAgent: Observer {
    /// What the sender of `flow` should hear now; `queue` is the downlink queue of its bearer at this instant.
    fn report(&mut self, now: Instant, flow: FlowId, queue: &RlcView) -> Option<PathReport>;
    /// True where [`ReportAgent::on_queue`] is wanted.
    fn wants_queues(&self) -> bool {
        false
    }
    /// The downlink queue of a bearer that carries reported flows, once per slot that ran.
    fn on_queue(&mut self, _now: Instant, _queue: &RlcView) {}
}

/// An agent of the radio network that tells a function at the edge what the cell does and holds. It sees the cell as any
/// [`Observer`] does, and is shown the queues when it asks for that.
pub trait EdgeAgent: Observer {
    /// `flow` has its packets in `bearer` of `ue`.
    fn add_flow(&mut self, _ue: UeId, _bearer: BearerId, _flow: FlowId) {}
    /// The bytes that a full slot would carry for `ue` at this instant; told for every UE before each report.
    fn on_link(&mut self, _now: Instant, _ue: UeId, _slot_bytes: Bytes) {}
    /// Writes what is due into `out`; `queues` are the downlink queues of all bearers at this instant. Afterwards
    /// [`EdgeAgent::next_timer`] lies in the future.
    fn report(
        &mut self,
        now: Instant,
        queues: &mut dyn Iterator<Item = RlcView>,
        out: &mut Vec<RanReport>,
    );
    /// When [`EdgeAgent::report`] should be called next; `None` for never again.
    fn next_timer(&self) -> Option<Instant>;
}

/// Takes an agent's reports to a function: what that costs in time, in precision and in losses.
pub trait ReportCarrier {
    /// `reports` leave together. What arrives stays in them, rounded to what the carrier's format holds; the answer is
    /// when, or `None` where they are lost. Messages keep their order: none arrives before the one ahead of it.
    fn carry(&mut self, now: Instant, reports: &mut Vec<RanReport>) -> Option<Instant>;
}
