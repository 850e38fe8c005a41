//! Reports: what an observer tells an actor.

use slackwater_core::{Bytes, Duration, FlowId, Instant, Rate, UeId};

use crate::marking::MarkingScheme;

/// Explicit feedback to a sender. Senders ignore variants that they do not know.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PathReport {
    /// XRC: the flow's fair share and the delay of its queue (XRC, eq. 1 and section III).
    Share {
        /// Fair rate of the flow, in IP bytes.
        rate: Rate,
        /// Head-of-line delay of its RLC queue.
        hol_delay: Duration,
        /// Age counter of the agent, in slots modulo 2^16: an older report than the last is stale.
        seq: u16,
        /// True where other flows are active in the same queue.
        shared: bool,
    },
    /// Tyrus: bytes that the physical layer delivered or offered since the last report.
    TransportBlocks {
        /// Bytes.
        bytes: Bytes,
        /// Time they cover.
        span: Duration,
    },
    /// cL4S: the thresholds that the marker on the path uses.
    MarkingScheme(MarkingScheme),
    /// SCONE: an upper limit that the network advises (draft-ietf-scone-protocol).
    ThroughputAdvice {
        /// The advised maximum.
        max: Rate,
    },
}

/// A report of the radio network to an edge function.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RanReport {
    /// CECC: the RLC buffer of one flow.
    Backlog {
        /// When the cell read the value.
        at: Instant,
        /// The UE.
        ue: UeId,
        /// The flow.
        flow: FlowId,
        /// RBS, the RLC buffer size.
        bytes: Bytes,
    },
    /// CECC: how fast the cell can drain one UE.
    LinkState {
        /// When the cell read the value.
        at: Instant,
        /// The UE.
        ue: UeId,
        /// Bytes of a full slot at the present MCS with all blocks.
        slot_bytes: Bytes,
        /// Slot length.
        slot: Duration,
    },
    /// Congestion of a `QoS` flow for marking at the UPF (TS 23.501, 5.37; TS 38.415, DL Congestion Information).
    Congestion {
        /// When the cell read the value.
        at: Instant,
        /// The flow.
        flow: FlowId,
        /// Share of packets to mark, in units of 0.01 %.
        per_10k: u16,
    },
}
