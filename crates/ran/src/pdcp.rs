//! Packet data convergence: header bytes and the discard timer. In-order delivery is kept by the RLC windows below.

use slackwater_core::Duration;

/// PDCP (and SDAP) of one bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdcpConfig {
    /// Bits of the sequence number: 7, 12, 15 or 18 (TS 36.323, 6.3.2; TS 38.323, 6.3.2).
    pub sn_bits: u8,
    /// How long an SDU may wait for its first transmission (discardTimer; TS 38.323, 5.3); `None` for ever.
    pub discard_timer: Option<Duration>,
    /// True where SDAP adds its header of one byte (TS 37.324, 6.2.2.2).
    pub sdap_header: bool,
}

impl PdcpConfig {
    /// LTE: 12 bits, no discard.
    pub const LTE: Self = Self {
        sn_bits: 12,
        discard_timer: None,
        sdap_header: false,
    };
    /// NR: 18 bits, no discard, SDAP without header (one `QoS` flow per bearer).
    pub const NR: Self = Self {
        sn_bits: 18,
        discard_timer: None,
        sdap_header: false,
    };

    /// Bytes added to each packet.
    pub const fn header_bytes(&self) -> u32 {
        let pdcp = match self.sn_bits {
            0..=7 => 1,
            8..=15 => 2,
            _ => 3,
        };
        pdcp + self.sdap_header as u32
    }
}

impl Default for PdcpConfig {
    fn default() -> Self {
        Self::LTE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_bytes_follow_the_number_and_sdap() {
        assert_eq!(PdcpConfig::LTE.header_bytes(), 2);
        assert_eq!(PdcpConfig::NR.header_bytes(), 3);
        let sdap = PdcpConfig {
            sdap_header: true,
            ..PdcpConfig::NR
        };
        assert_eq!(sdap.header_bytes(), 4);
    }
}
