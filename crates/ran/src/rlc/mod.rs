//! Radio link control: queues of SDUs, filled into transport blocks and put together again.
//!
//! Both ends of a bearer live in one [`Entity`]. An SDU that is scheduled for the first time gets its end offset in
//! the bearer's byte stream; a transport block holds `(number, start, end)` of that stream. Segmentation,
//! concatenation and reassembly are comparisons of offsets: there is no list of pieces, and packets wait in one place
//! until the last of their bytes has arrived.

pub mod am;
pub mod entity;
mod flight;
pub mod um;

pub use am::AmConfig;
pub use entity::{Entity, Piece, PieceKind, Waiting};
pub use flight::Moved;
pub use um::UmConfig;

/// How much a queue may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// SDUs.
    Packets(u32),
    /// Bytes of SDUs, PDCP header included.
    Bytes(u64),
    /// No limit.
    #[default]
    Unlimited,
}

/// The RLC mode of a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Unacknowledged: what HARQ loses is lost (TS 36.322, 5.1.2; TS 38.322, 5.2.2).
    Um(UmConfig),
    /// Acknowledged: RLC sends again until it arrives (TS 36.322, 5.1.3; TS 38.322, 5.2.3).
    Am(AmConfig),
}

/// RLC of one bearer and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlcConfig {
    /// Mode and timers.
    pub mode: Mode,
    /// Limit of the queue of SDUs that wait for their first transmission.
    pub buffer: Limit,
}

impl RlcConfig {
    /// Unacknowledged mode with default timers.
    pub const fn um(buffer: Limit) -> Self {
        Self {
            mode: Mode::Um(UmConfig::DEFAULT),
            buffer,
        }
    }

    /// Acknowledged mode with default timers.
    pub const fn am(buffer: Limit) -> Self {
        Self {
            mode: Mode::Am(AmConfig::DEFAULT),
            buffer,
        }
    }
}

impl Default for RlcConfig {
    fn default() -> Self {
        Self::um(Limit::Unlimited)
    }
}

/// Bytes of the headers in front of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// MAC subheader and RLC header of a PDU that begins in a transport block.
    pub first: u32,
    /// Each further SDU: a length field where RLC concatenates (LTE), all headers again where it does not (NR).
    pub next: u32,
    /// Added where a segment that is not the first of its SDU leads the PDU (NR segment offset).
    pub offset: u32,
}

impl Headers {
    /// LTE UM with 10-bit numbers: MAC subheader 3 (TS 36.321, 6.1.2: R/F2/E/LCID + 15-bit L) and RLC 2 (TS 36.322,
    /// 6.2.1.3); a 12-bit E/LI per further SDU, rounded up to 2.
    pub const LTE_UM: Self = Self {
        first: 5,
        next: 2,
        offset: 0,
    };
    /// LTE AM: the fixed header is 2 bytes as well (TS 36.322, 6.2.1.4).
    pub const LTE_AM: Self = Self {
        first: 5,
        next: 2,
        offset: 0,
    };
    /// NR UM: MAC subheader 3 (TS 38.321, 6.1.2, 16-bit L), RLC 1 for a complete SDU (TS 38.322, 6.2.2.3), counted as
    /// 2 for segments with 12-bit numbers; 2 bytes of segment offset.
    pub const NR_UM: Self = Self {
        first: 4,
        next: 4,
        offset: 3,
    };
    /// NR AM with 18-bit numbers: RLC 3 (TS 38.322, 6.2.2.4); 2 bytes of segment offset.
    pub const NR_AM: Self = Self {
        first: 6,
        next: 6,
        offset: 2,
    };
}
