//! How the agent counts.

use slackwater_core::Duration;
use slackwater_schema::choice;

/// From bytes of transport blocks to bytes of IP packets.
///
/// A sender that takes block bytes for IP bytes sends 1 to 3 % too much, for ever: a standing queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IpScale {
    /// Transport blocks as they are, headers included: the paper's words taken literally.
    Blocks,
    /// Headers are taken off, by the mean sizes of the UE's packets and blocks.
    Headers {
        /// Bytes of each block beyond those of its packets: MAC subheader and RLC header of the segment that it
        /// begins with.
        per_block: u32,
        /// Bytes of each packet: PDCP (and SDAP), and the RLC and MAC bytes of one more packet in a block.
        per_packet: u32,
    },
    /// This share of all bytes.
    Fixed(f64),
}

impl IpScale {
    /// LTE: 5 bytes for MAC subheader (TS 36.321, 6.1.2) and RLC header (TS 36.322, 6.2.1.3) of a block; 2 of PDCP
    /// (TS 36.323, 6.2.3) and 2 of RLC's length field for each packet.
    pub const LTE: Self = Self::Headers {
        per_block: 5,
        per_packet: 4,
    };
    /// NR in unacknowledged mode: 3 bytes of MAC subheader (TS 38.321, 6.1.2), 1 of RLC and 3 of PDCP with 18-bit
    /// numbers (TS 38.323, 6.2.2) for each packet; the segment at a block's begin has a header again, with 3 bytes of
    /// number and offset (TS 38.322, 6.2.2.3).
    pub const NR_UM: Self = Self::Headers {
        per_block: 7,
        per_packet: 7,
    };
    /// NR in acknowledged mode with 18-bit numbers: an RLC header of 3 bytes, and 2 of offset (TS 38.322, 6.2.2.4).
    pub const NR_AM: Self = Self::Headers {
        per_block: 8,
        per_packet: 9,
    };
    /// The share of IP bytes while no packet was seen: 1,000-byte packets in LTE.
    pub(super) const UNKNOWN: f64 = 0.985;

    /// IP bytes per byte of blocks, where packets and blocks have these mean sizes.
    pub(crate) fn of(self, packet: Option<f64>, block: Option<f64>) -> f64 {
        match self {
            Self::Blocks => 1.0,
            Self::Fixed(scale) => scale,
            Self::Headers {
                per_block,
                per_packet,
            } => packet.map_or(Self::UNKNOWN, |packet| {
                let first = block.map_or(1.0, |block| 1.0 - f64::from(per_block) / block);
                first.max(0.0) * packet / (packet + f64::from(per_packet))
            }),
        }
    }
}

choice! {
    /// How a UE's capacity is shared among its active flows.
    pub enum Share {
        /// By their number (XRC, eq. 1): a flow that needs little keeps the rest of its part idle.
        Count = "count",
        /// Max-min by what they take (Bertsekas and Gallager, "Data Networks", 6.5.2): what a thin flow leaves of its part is
        /// told to the others.
        Demand = "demand",
    }
}

/// Parameters of an [`XrcAgent`](super::XrcAgent).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgentConfig {
    /// Slot length.
    pub slot: Duration,
    /// Slots over which rates are averaged: 40 (XRC, section III-A, says TTIs of 1 ms). In TDD a multiple of the
    /// pattern's period is best, since the mean covers slots that carry nothing too.
    pub window: u16,
    /// A UE with an empty queue that got nothing in this many slots counts as waking: it is promised its fair share
    /// of all blocks, because what others use now they will have to share with it.
    pub waking_after: u16,
    /// True: own blocks are averaged over whole turns of at least a window, so that a UE whose turn comes rarely is
    /// told the same rate at all times. With 50 UEs, a plain window promises 1.25 to 1.7 times the cell on the ACKs,
    /// which pass when their UE has just been served.
    pub whole_turns: bool,
    /// True: what waking UEs are promised is taken off the rates of the others at once. Otherwise 50 UEs that wake in a
    /// cell with 10 busy ones are promised 0.8 cells on top of one.
    pub balance: bool,
    /// A flow is active for this long after a packet: 200 ms (XRC, section III-A).
    pub flow_timeout: Duration,
    /// How a UE's capacity is shared among its active flows.
    pub share: Share,
    /// From transport blocks to IP bytes.
    pub scale: IpScale,
    /// Blocks of the carrier beyond the schedulable ones that are counted as free in each slot. Right is 0; counting
    /// all 50 blocks of an LTE carrier of which the scheduler's groups reach 48 is what the paper's agent may have
    /// done.
    pub unschedulable: u16,
    /// Delay of what MAC and RLC tell, where they run in a DU apart from the agent's PDCP (XRC, section V).
    pub f1_delay: Duration,
}

impl AgentConfig {
    /// An LTE cell.
    pub const LTE: Self = Self {
        slot: Duration::from_millis(1),
        window: 40,
        waking_after: 40,
        whole_turns: true,
        balance: true,
        flow_timeout: Duration::from_millis(200),
        share: Share::Demand,
        scale: IpScale::LTE,
        unschedulable: 0,
        f1_delay: Duration::ZERO,
    };

    /// An NR cell of numerology `mu` in unacknowledged mode.
    pub const fn nr(mu: u8) -> Self {
        Self {
            // TS 38.211, 4.3.2.
            slot: Duration::from_nanos(1_000_000 >> mu),
            scale: IpScale::NR_UM,
            ..Self::LTE
        }
    }

    /// The paper's words taken literally: bytes of transport blocks over a plain window, `unschedulable` blocks that no
    /// grant can hold counted as free, and equal parts for all active flows.
    #[must_use]
    pub const fn literal(self, unschedulable: u16) -> Self {
        Self {
            scale: IpScale::Blocks,
            unschedulable,
            whole_turns: false,
            balance: false,
            share: Share::Count,
            ..self
        }
    }

    /// Whole slots that cover the F1 delay.
    pub(super) fn delay_slots(&self) -> u64 {
        let slot = self.slot.as_nanos().max(1);
        self.f1_delay.as_nanos().div_ceil(slot)
    }
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self::LTE
    }
}
