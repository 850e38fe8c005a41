//! Bytes that MAC, RLC and PDCP put in front of data.

use super::config::Mode;
use crate::pdcp::header_bytes;
use crate::rat::Rat;

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
