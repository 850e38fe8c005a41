//! TCP options: what they hold in a simulated packet and what they take on the wire.

use slackwater_core::packet::{IPV4_HEADER, SackBlock, TCP_HEADER, TCP_TIMESTAMP_OPTION};
use slackwater_core::{Packet, SeqNum};

/// The options of a SYN, carried in `slots[0]`: `start` is the MSS; `end` holds the window scale in its low byte and
/// the flags below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size as RFC 6691 counts it: without options.
    pub mss: u16,
    /// Window scale (RFC 7323, 2), `None` where the option is missing.
    pub scale: Option<u8>,
    /// SACK permitted (RFC 2018, 2).
    pub sack: bool,
}

const SCALED: u32 = Packet::SYN_SCALED;
const SACK_PERMITTED: u32 = Packet::SYN_SACK_PERMITTED;

impl SynOptions {
    /// Writes the options into a SYN.
    pub fn write(self, p: &mut Packet) {
        let scale = self.scale.map_or(0, |s| SCALED | u32::from(s));
        let sack = if self.sack { SACK_PERMITTED } else { 0 };
        p.slots[0] = SackBlock {
            start: SeqNum(u32::from(self.mss)),
            end: SeqNum(scale | sack),
        };
    }

    /// Reads the options of a SYN.
    pub fn read(p: &Packet) -> Self {
        let SackBlock { start, end } = p.slots[0];
        Self {
            mss: u16::try_from(start.0).unwrap_or(u16::MAX),
            // RFC 7323, 2.3: a larger shift counts as 14.
            scale: (end.0 & SCALED != 0).then_some((end.0 & 0xff).min(14) as u8),
            sack: end.0 & SACK_PERMITTED != 0,
        }
    }

    /// IP bytes of a SYN with these options, each padded to four bytes.
    pub const fn syn_len(self, timestamps: bool) -> u16 {
        let mut len = IPV4_HEADER + TCP_HEADER + 4;
        if self.scale.is_some() {
            len += 4;
        }
        // The two bytes of SACK-permitted fit into the padding of the time stamps.
        if timestamps {
            len += TCP_TIMESTAMP_OPTION;
        } else if self.sack {
            len += 4;
        }
        len
    }
}

/// Wire bytes of `blocks` SACK blocks with padding (RFC 2018, 3).
#[inline]
pub(crate) const fn sack_len(blocks: u8) -> u16 {
    if blocks == 0 {
        0
    } else {
        4 + 8 * blocks as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syn_options_survive_the_packet() {
        for scale in [None, Some(0), Some(7), Some(14)] {
            for sack in [false, true] {
                let options = SynOptions {
                    mss: 1460,
                    scale,
                    sack,
                };
                let mut p = Packet::default();
                options.write(&mut p);
                assert_eq!(SynOptions::read(&p), options);
            }
        }
    }

    #[test]
    fn a_linux_syn_has_60_bytes_and_three_blocks_take_28() {
        let options = SynOptions {
            mss: 1460,
            scale: Some(7),
            sack: true,
        };
        assert_eq!(options.syn_len(true), 60);
        assert_eq!(sack_len(3), 28);
        assert_eq!(sack_len(0), 0);
    }
}
