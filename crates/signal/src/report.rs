//! Reports: what an observer tells an actor.

use slackwater_core::{Bytes, Duration, FlowId, Instant, Qfi, Rate, UeId};

use crate::counters::Counters;
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
        /// When that ends, in ms of the reporter's clock modulo 2^16: what was heard twice counts once, and what no report
        /// covers is not taken for zero.
        end: u16,
    },
    /// cL4S: the thresholds that the marker on the path uses.
    MarkingScheme(MarkingScheme),
    /// SCONE: an upper limit that the network advises (draft-ietf-scone-protocol).
    ThroughputAdvice {
        /// The advised maximum.
        max: Rate,
    },
    /// `ebb`: what the base station counts of the flow. It travels on its own, in 24 octets ([`Counters::encode`]).
    Counters(Counters),
    /// A system of one's own: a number whose meaning its agent and its controller agree on. Built-in controllers pass it over.
    Own {
        /// Which system and which report of it: 0 to 31.
        kind: u8,
        /// The number, of which 56 bits travel.
        value: u64,
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
    /// The delay between the UPF and the UE and back, as the radio network measures it with time stamps of its own
    /// (`QoS` monitoring packets, TS 38.415, 5.5.2), for sessions in which no flow shows its round-trip time.
    PathDelay {
        /// When the value held.
        at: Instant,
        /// The UE.
        ue: UeId,
        /// The `QoS` flow, or `None` for the session's default one.
        qfi: Option<Qfi>,
        /// Round-trip time.
        rtt: Duration,
    },
    /// The UE's packets now take another path: handover, change of the tunnel's peer (TS 29.244, 5.2.3; End Marker).
    PathSwitch {
        /// The UE.
        ue: UeId,
    },
    /// What the radio network can give a `QoS` flow or session, and what it holds for it (TS 38.415, DL Available
    /// Bitrate; TS 38.425, Desired Data Rate and Desired Buffer Size).
    Available {
        /// When the cell read the value.
        at: Instant,
        /// The UE.
        ue: UeId,
        /// The `QoS` flow, or `None` for the session's default one.
        qfi: Option<Qfi>,
        /// Rate, in IP bytes.
        rate: Rate,
        /// Bytes that wait in the radio network.
        backlog: Bytes,
    },
    /// CECC: which slots of a UE's cell go down and when they are decided on; with it an actor knows in which slot a byte
    /// that arrives at some instant can leave. Sent on change and every second, as [`RanReport::LinkState`].
    SlotPattern {
        /// When the cell read the value.
        at: Instant,
        /// A UE of the cell.
        ue: UeId,
        /// When some first slot of the pattern starts on the air.
        start: Instant,
        /// Slot length (it follows from the numerology: TS 38.211, 4.3.2).
        slot: Duration,
        /// Slots after which the pattern repeats, 1 to 32.
        period: u8,
        /// Bit k: slot k of the pattern carries downlink data.
        down: u32,
        /// Bit k: slot k is a special slot, which carries a part of a full slot's data.
        special: u32,
        /// That part, in units of 1/256.
        special_q8: u8,
        /// How long before a slot starts on the air the scheduler decides on it.
        lead: Duration,
        /// From the end of a slot on the air until the UE's upper layers have its data.
        processing: Duration,
        /// True where the scheduler gives a slot to one UE at a time (polling).
        polled: bool,
    },
    /// A system of one's own: numbers whose meaning its agent and its function agree on. Built-in functions pass it over,
    /// and no standard field carries it.
    Own {
        /// When the cell read the values.
        at: Instant,
        /// The UE.
        ue: UeId,
        /// Which system and which report of it.
        kind: u16,
        /// The numbers.
        values: [u64; 2],
    },
}

impl RanReport {
    /// The same values, read at `now`.
    #[must_use]
    pub const fn read_at(mut self, now: Instant) -> Self {
        match &mut self {
            Self::Backlog { at, .. }
            | Self::LinkState { at, .. }
            | Self::Congestion { at, .. }
            | Self::PathDelay { at, .. }
            | Self::Available { at, .. }
            | Self::SlotPattern { at, .. }
            | Self::Own { at, .. } => *at = now,
            Self::PathSwitch { .. } => {}
        }
        self
    }

    /// The same with rates and bytes multiplied by `factor`: what a cell that lies reports.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        let scale = |bytes: &mut Bytes| *bytes = Bytes((bytes.0 as f64 * factor) as u64);
        match &mut self {
            Self::Backlog { bytes, .. } => scale(bytes),
            Self::LinkState { slot_bytes, .. } => scale(slot_bytes),
            Self::Available { rate, backlog, .. } => {
                *rate = rate.mul_f64(factor);
                scale(backlog);
            }
            Self::Congestion { .. }
            | Self::PathDelay { .. }
            | Self::PathSwitch { .. }
            | Self::SlotPattern { .. }
            | Self::Own { .. } => {}
        }
        self
    }
}
