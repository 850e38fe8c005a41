//! TCP options: what they take on the wire.

use slackwater_core::SynOptions;
use slackwater_core::packet::{Blocks, IPV4_HEADER, TCP_HEADER, TCP_TIMESTAMP_OPTION};

/// IP bytes of a SYN with these options and an MSS, each padded to four bytes.
pub(crate) const fn syn_len(options: SynOptions, timestamps: bool) -> u16 {
    let mut len = IPV4_HEADER + TCP_HEADER + 4;
    if options.window_scale.is_some() {
        len += 4;
    }
    // The two bytes of SACK-permitted fit into the padding of the time stamps.
    if timestamps {
        len += TCP_TIMESTAMP_OPTION;
    } else if options.sack_permitted {
        len += 4;
    }
    len
}

/// Wire bytes of SACK blocks with padding (RFC 2018, 3).
#[inline]
pub(crate) const fn sack_len(blocks: Blocks) -> u16 {
    match blocks.count() {
        0 => 0,
        n => 4 + 8 * n as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linux_syn_has_60_bytes_and_three_blocks_take_28() {
        let options = SynOptions {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
        };
        assert_eq!(syn_len(options, true), 60);
        assert_eq!(sack_len(Blocks::Three), 28);
        assert_eq!(sack_len(Blocks::None), 0);
    }
}
