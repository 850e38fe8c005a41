//! Radio link control: queues of SDUs, filled into transport blocks and put together again.
//!
//! Both ends of a bearer live in one [`Entity`]. An SDU that is scheduled for the first time gets its end offset in
//! the bearer's byte stream; a transport block holds `(number, start, end)` of that stream. Segmentation,
//! concatenation and reassembly are comparisons of offsets: there is no list of pieces, and packets wait in one place
//! until the last of their bytes has arrived.

mod am;
pub mod config;
pub mod entity;
mod flight;
mod um;

pub use config::{Mode, RlcConfig, Timers};
pub use entity::{Entity, Piece, PieceKind, Waiting};
pub use flight::Moved;
pub use slackwater_schema::units::Limit;

use crate::cell::Rat;
use crate::pdcp::header_bytes;

/// Bytes of the headers in front of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// MAC subheader and RLC header of a PDU that begins in a transport block.
    pub first: u32,
    /// Each further SDU: a length field where RLC concatenates (LTE), all headers again where it does not (NR).
    pub next: u32,
    /// Added where a segment that is not the first of its SDU leads the PDU (NR segment offset).
    pub offset: u32,
    /// PDCP's in front of each SDU.
    pub pdcp: u32,
}

impl Headers {
    /// LTE UM with 10-bit numbers: MAC subheader 3 (TS 36.321, 6.1.2: R/F2/E/LCID + 15-bit L) and RLC 2 (TS 36.322,
    /// 6.2.1.3); a 12-bit E/LI per further SDU, rounded up to 2.
    pub const LTE_UM: Self = Self {
        first: 5,
        next: 2,
        offset: 0,
        pdcp: header_bytes(Rat::Lte),
    };
    /// LTE AM: the fixed header is 2 bytes as well (TS 36.322, 6.2.1.4).
    pub const LTE_AM: Self = Self {
        first: 5,
        next: 2,
        offset: 0,
        pdcp: header_bytes(Rat::Lte),
    };
    /// NR UM: MAC subheader 3 (TS 38.321, 6.1.2, 16-bit L), RLC 1 for a complete SDU (TS 38.322, 6.2.2.3), counted as
    /// 2 for segments with 12-bit numbers; 2 bytes of segment offset.
    pub const NR_UM: Self = Self {
        first: 4,
        next: 4,
        offset: 3,
        pdcp: header_bytes(Rat::Nr),
    };
    /// NR AM with 18-bit numbers: RLC 3 (TS 38.322, 6.2.2.4); 2 bytes of segment offset.
    pub const NR_AM: Self = Self {
        first: 6,
        next: 6,
        offset: 2,
        pdcp: header_bytes(Rat::Nr),
    };

    /// The headers of a bearer.
    pub const fn of(rat: Rat, mode: Mode) -> Self {
        match (rat, mode) {
            (Rat::Lte, Mode::Um) => Self::LTE_UM,
            (Rat::Lte, Mode::Am) => Self::LTE_AM,
            (Rat::Nr, Mode::Um) => Self::NR_UM,
            (Rat::Nr, Mode::Am) => Self::NR_AM,
        }
    }
}
