//! Identifiers: dense indices, so that a look-up is an array access.

use core::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty), $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl $name {
            /// The identifier as an index into a dense array.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

id!(
    /// A transport flow (one connection or one datagram stream).
    FlowId(u32), "flow"
);
id!(
    /// A node of the simulated network: a link, a cell, an edge function.
    NodeId(u32), "node"
);
id!(
    /// A user equipment, dense within its cell.
    UeId(u32), "ue"
);
id!(
    /// A radio bearer of one UE (DRB identity, TS 38.331).
    BearerId(u8), "drb"
);
id!(
    /// The radio network temporary identifier that grants carry (TS 38.321, 7.1).
    Rnti(u16), "rnti"
);
id!(
    /// The `QoS` flow identifier (TS 23.501, 5.7.1), 6 bits on the wire.
    Qfi(u8), "qfi"
);
id!(
    /// The tunnel endpoint identifier of GTP-U (TS 29.281, 5.1).
    Teid(u32), "teid"
);
id!(
    /// A slot (NR) or subframe (LTE) counted from the start of the run.
    SlotIdx(u64), "slot"
);

/// Which way a packet goes across the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Direction {
    /// From the network to the UE.
    Down,
    /// From the UE to the network.
    Up,
}

impl Direction {
    /// The other way.
    #[inline]
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }
}
