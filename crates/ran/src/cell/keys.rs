//! What a scenario sets of a cell's HARQ, reports, link adaptation and delays: the sections that the cell runs with.

use slackwater_core::Duration;
use slackwater_schema::units::{Db, Percent};
use slackwater_schema::{choice, section};

use crate::phy::Combining;

/// Ranges of values, least and most, that a cell can work with; scenarios take theirs from here.
pub mod range {
    /// HARQ processes of a UE and direction; NR allows 32 for some bands, the cell has bits for 16.
    pub const PROCESSES: (u8, u8) = (1, 16);
    /// Transmissions of a block, the first included.
    pub const TRANSMISSIONS: (u8, u8) = (1, 16);
    /// Slots from data to its HARQ feedback.
    pub const K1: (u8, u8) = (1, 16);
    /// Slots from an uplink grant to its data.
    pub const K2: (u8, u8) = (1, 16);
    /// Slots from the scheduler's decision to the air.
    pub const MAC_TO_AIR: (u8, u8) = (0, 8);
    /// Spatial layers.
    pub const LAYERS: (u8, u8) = (1, 4);
    /// Resource blocks of an LTE carrier (TS 36.101, 5.6).
    pub const LTE_BLOCKS: (u16, u16) = (1, 110);
}

choice! {
    /// How the base station learns what waits in a UE.
    pub enum BufferStatus {
        /// By buffer status reports inside uplink blocks, after a scheduling request (36.321, 5.4.5; 38.321, 5.4.5).
        InBand = "in-band",
        /// At each chance for a scheduling request, without a grant for it, as ns-3 has it.
        OutOfBand = "out-of-band",
    }
}

section! {
    /// CQI reports.
    pub struct CqiConfig {
        /// Time between reports.
        #[within(Duration::from_micros(125), Duration::from_secs(1))]
        pub period: Duration = Duration::from_millis(5),
        /// From measurement to use.
        #[within(Duration::ZERO, Duration::from_secs(1))]
        pub delay: Duration = Duration::from_millis(6),
    }
}
section! {
    /// Outer-loop link adaptation: steps on the SINR offset that hold the block error rate at the target.
    pub struct OllaConfig {
        /// On or off.
        pub enabled: bool = true,
        /// Share of first transmissions that may fail.
        #[within(Percent(0.001), Percent(50.0))]
        pub target: Percent = Percent(10.0),
        /// Step down after a failure; the step up follows from the target.
        #[within(Db(0.0), Db(10.0))]
        pub step: Db = Db(0.5),
        /// Largest offset either way.
        #[within(Db(0.0), Db(40.0))]
        pub limit: Db = Db(10.0),
    }
}
section! {
    /// Hybrid ARQ.
    pub struct HarqConfig {
        /// Processes; left out, 8 for LTE and 16 for NR.
        #[within(range::PROCESSES.0, range::PROCESSES.1)]
        pub processes: Option<u8> = None,
        /// Transmissions of one block, the first included.
        #[within(range::TRANSMISSIONS.0, range::TRANSMISSIONS.1)]
        pub transmissions: u8 = 4,
        /// LTE: from a transmission to its repetition; left out, 8 ms (36.321, 7.7). In NR it follows from K1 and processing.
        #[within(Duration::from_micros(125), Duration::from_millis(100))]
        pub rtt: Option<Duration> = None,
        /// What the receiver makes of a block's transmissions.
        pub combining: Combining = Combining::Redundancy,
    }
}
section! {
    /// Slots between control and data in NR (38.214, 5.1.2.1, 5.2.3 and 6.1.2.1).
    pub struct Timing {
        /// From the assignment to its data.
        #[within(0, 32)]
        pub k0: u8 = 0,
        /// From data to its HARQ feedback, at least.
        #[within(range::K1.0, range::K1.1)]
        pub k1: u8 = 4,
        /// From the grant to uplink data, at least.
        #[within(range::K2.0, range::K2.1)]
        pub k2: u8 = 4,
        /// From the packet's arrival at the base station to the first slot that may carry it, at most 8 slots; left out, 1 ms
        /// for LTE and one slot for NR.
        #[within(Duration::ZERO, Duration::from_millis(50))]
        pub processing: Option<Duration> = None,
    }
}
section! {
    /// How the uplink asks for grants.
    pub struct UplinkConfig {
        /// Time between chances for a scheduling request; left out, 10 ms.
        #[within(Duration::from_micros(125), Duration::from_millis(640))]
        pub sr_period: Option<Duration> = None,
        /// Data that still waits this long after the latest grant makes a UE ask anew (retxBSR-Timer, in-band; 36.331: 320 ms
        /// to 10.24 s, 38.331: 10 ms to 10.24 s); left out, 320 ms for LTE and 80 ms for NR.
        #[within(Duration::from_millis(10), Duration::from_millis(10_240))]
        pub retx_bsr: Option<Duration> = None,
        /// A block without room for padding carries a buffer status report once this time went by since the last one
        /// (periodicBSR-Timer, in-band; 36.331: 5 ms to 2.56 s, 38.331: 1 ms to 2.56 s); left out, each block carries one.
        #[within(Duration::from_millis(1), Duration::from_millis(2_560))]
        pub periodic_bsr: Option<Duration> = None,
        /// Bytes granted in answer to a scheduling request, before the first buffer status report.
        #[within(1, 100_000)]
        pub first_grant: u32 = 150,
        /// How the base station learns what waits in a UE.
        pub buffer_status: BufferStatus = BufferStatus::InBand,
        /// Bytes of the smallest grant: room for what comes while the grant is on its way.
        #[within(0, 100_000)]
        pub min_grant: u32 = 0,
        /// Time that a UE takes to fill a block before it is on the air, at most K2 slots; left out, 2 ms for LTE and one slot
        /// for NR.
        #[within(Duration::ZERO, Duration::from_millis(8))]
        pub prepare: Option<Duration> = None,
    }
}

impl UplinkConfig {
    /// True where UEs tell their backlog without a grant for it (ns-3's report it each subframe).
    pub fn out_of_band(&self) -> bool {
        self.buffer_status == BufferStatus::OutOfBand
    }
}
