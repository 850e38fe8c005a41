//! Functions of the network's edge: what acts between the sender and the radio.
//!
//! The contract of functions is here, and that of the agents that report in [`agent`]. [`gnb`] holds the agents of the base
//! station (XRC's, the reporters), [`ue`] those of the phone, and [`upf`] what stands in the user plane: vAQM, CECC, Zhuge
//! and the passive measurement of RTTs. Functions know the radio by [`RanReport`]s alone and are generic over the packet. The
//! simulator and the emulator run them on the simulator's packet, the user plane function (`slackwater-upf`) on buffers.

pub mod agent;
pub mod gnb;
pub mod ue;
pub mod upf;

pub use agent::{Agent, CellView, FlowAt, Place, ReportCarrier};
use slackwater_core::record::DropReason;
use slackwater_core::{Bytes, Direction, Instant, PacketView, Qfi, Rate, UeId};
pub use slackwater_signal::RanReport;

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
