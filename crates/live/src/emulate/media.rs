//! How much of a datagram of WebRTC is media: the headers of RTP are in the clear.

/// The tag of SRTP, 80 bits (RFC 3711, 5.2).
const TAG: usize = 10;
/// An RTP header without sources and extension (RFC 3550, 5.1).
const HEADER: usize = 12;

/// True for a connectivity check, with which a path of WebRTC opens (RFC 8445, 7; RFC 8489, 5).
pub(super) fn opens(payload: &[u8]) -> bool {
    const COOKIE: [u8; 4] = 0x2112_a442_u32.to_be_bytes();
    payload.first().is_some_and(|first| *first < 4) && payload.get(4..8) == Some(&COOKIE)
}

/// Bytes of media in UDP's `payload`: those of SRTP less headers and tag, and none of RTCP. `None` of all else, such as DTLS. The first octet
/// names the protocol (RFC 7983, 7), and the second one RTCP (RFC 5761, 4).
pub(super) fn data(payload: &[u8]) -> Option<usize> {
    let &[first, second, ..] = payload else {
        return None;
    };
    if !(128..192).contains(&first) {
        return None;
    }
    if (192..224).contains(&(second | 0x80)) {
        return Some(0);
    }

    let mut headers = HEADER + 4 * usize::from(first & 0x0f);
    if first & 0x10 != 0 {
        // Its length counts words of 32 bits behind the first one.
        let length: [u8; 2] = payload.get(headers + 2..headers + 4)?.try_into().ok()?;
        headers += 4 + 4 * usize::from(u16::from_be_bytes(length));
    }
    Some(payload.len().saturating_sub(headers + TAG))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_tag_of_rtp_are_no_media() {
        let packet = |first: u8, second: u8, length: usize| {
            let mut bytes = vec![0; length];
            (bytes[0], bytes[1]) = (first, second);
            bytes
        };
        assert_eq!(data(&packet(0x80, 96, 1_172)), Some(1_172 - 22));
        // A marker is not a part of the type.
        assert_eq!(data(&packet(0x80, 128 + 111, 1_172)), Some(1_172 - 22));
        // Two sources, then an extension of one word: transport-wide sequence numbers.
        let mut extended = packet(0x92, 96, 1_172);
        extended[20..24].copy_from_slice(&[0xbe, 0xde, 0, 1]);
        assert_eq!(data(&extended), Some(1_172 - 12 - 8 - 8 - 10));
        // Padding to a size that a probe wants, cut short.
        assert_eq!(data(&packet(0xa0, 96, 15)), Some(0));
        assert_eq!(data(&packet(0x90, 96, 14)), None);
        // Sender reports and feedback.
        for rtcp in [200, 205] {
            assert_eq!(data(&packet(0x80, rtcp, 60)), Some(0));
        }
        // STUN, DTLS, a short header of QUIC, nothing.
        for other in [1, 22, 0x40] {
            assert_eq!(data(&packet(other, 96, 60)), None);
        }
        assert_eq!(data(&[0x80]), None);
    }

    #[test]
    fn a_path_opens_with_stun() {
        let check = [0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 9];
        assert!(opens(&check));
        assert!(!opens(&check[..7]));
        assert!(!opens(&[4, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42]));
        assert!(!opens(&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x43]));
    }
}
