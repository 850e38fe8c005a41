//! Packet data convergence: header bytes and the discard timer. In-order delivery is kept by the RLC windows below.

use slackwater_core::Duration;
use slackwater_schema::{field::Field as _, section};

use crate::rat::Rat;

section! {
    /// PDCP.
    pub struct PdcpConfig {
        /// How long a packet may wait before it is thrown away; left out, for ever.
        #[within(Duration::from_millis(1), Duration::from_secs(10))]
        pub discard: Option<Duration> = None,
    }
}

impl Default for PdcpConfig {
    fn default() -> Self {
        Self::example()
    }
}

/// Bytes added to each packet: LTE has numbers of 12 bits (TS 36.323, 6.2.3), NR of 18 (TS 38.323, 6.2.2.3). SDAP adds none
/// where a bearer has no header for it (TS 37.324, 6.2.2.1).
pub const fn header_bytes(rat: Rat) -> u32 {
    match rat {
        Rat::Lte => 2,
        Rat::Nr => 3,
    }
}
