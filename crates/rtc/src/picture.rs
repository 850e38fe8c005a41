//! A synthetic picture that any VP8 decoder shows: frames of any size, grey all over.
//!
//! In VP8's arithmetic code a value of zero decodes as "no" whatever the probability of a decision (RFC 6386, 7.3). A frame
//! whose partitions are zeros therefore has no filter, no segments and no coefficients, and each of its macroblocks is
//! predicted from its neighbours (RFC 6386, 19.2 and 19.3): a valid frame, whose length is free, since a decoder stops
//! reading after the last macroblock. So the encoder of the simulator sets sizes, and a browser shows frames.
//!
//! The last bytes of each packet are ours: what a receiver of ours wants to know of the frame. A decoder never reads them.

use bytes::{BufMut as _, Bytes, BytesMut};
use slackwater_core::Media;

use crate::label;

/// QCIF: few macroblocks, so that small frames hold all decisions.
const WIDTH: u16 = 176;
const HEIGHT: u16 = 144;
/// Bytes of the first partition. The modes of 99 macroblocks take below 1.5 bytes each.
const MODES: usize = 150;
/// The payload descriptor with a picture number of 15 bits (RFC 7741, 4.2).
const DESCRIPTOR: usize = 4;
/// What ends our packets.
const MAGIC: [u8; 3] = *b"SLW";
/// Length of what is ours: the label and the mark.
const TRAILER: usize = label::LENGTH + MAGIC.len();

/// The payload of `media`: `media.payload` bytes, and no fewer than the descriptor and our trailer take.
pub(crate) fn payload(media: &Media) -> Bytes {
    let length = usize::from(media.payload).max(DESCRIPTOR + TRAILER);
    let mut out = BytesMut::with_capacity(length);
    let first = media.index == 0;
    // X, and S where a partition starts; then I; then the picture's number with M (RFC 7741, 4.2).
    out.put_u8(0x80 | u8::from(first) << 4);
    out.put_u8(0x80);
    out.put_u16(0x8000 | media.frame as u16 & 0x7fff);
    if first {
        let modes = MODES.min(length / 2) as u32;
        // Inverse key frame flag, version 0, shown, length of the first partition (RFC 6386, 9.1).
        let tag = u32::from(!media.key) | 1 << 4 | modes << 5;
        out.put_slice(&tag.to_le_bytes()[..3]);
        if media.key {
            out.put_slice(&[0x9d, 0x01, 0x2a]);
            out.put_u16_le(WIDTH);
            out.put_u16_le(HEIGHT);
        }
    }
    // The smallest payload that an encoder of ours makes leaves room; one that does not loses the end of the header.
    out.resize(length - TRAILER, 0);
    out.put_slice(&label::write(media));
    out.put_slice(&MAGIC);
    out.freeze()
}

/// What the trailer of `payload` says of the frame; `None` where the packet is not of ours, or says what cannot be.
pub(crate) fn read(payload: &[u8], number: u32) -> Option<Media> {
    let start = payload.len().checked_sub(TRAILER)?;
    let (label, mark) = payload[start..].split_at(label::LENGTH);
    (mark == MAGIC).then(|| label::read(label, number, payload.len()))?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use slackwater_core::Instant;

    use super::*;

    fn media(payload: u16, index: u32, key: bool) -> Media {
        Media {
            captured: Instant::from_millis(1234),
            number: 70_000,
            sequence: 70_000,
            frame: 40_000,
            index,
            packets: 3,
            payload,
            key,
            retransmission: false,
        }
    }

    #[test]
    fn a_key_frame_names_its_size_and_starts_a_partition() {
        let bytes = payload(&media(1150, 0, true));
        assert_eq!(bytes.len(), 1150);
        assert_eq!(bytes[0], 0x90);
        assert_eq!(u16::from_be_bytes([bytes[2], bytes[3]]), 0x8000 | 0x1c40);
        // Key, shown, and the first partition's 150 bytes.
        assert_eq!(bytes[4..7], [0xd0, 0x12, 0x00]);
        assert_eq!(bytes[7..14], [0x9d, 0x01, 0x2a, 176, 0, 144, 0]);
        let later = payload(&media(1150, 1, false));
        assert_eq!((later[0], later[4]), (0x80, 0));
        let delta = payload(&media(1150, 0, false));
        assert_eq!(delta[4] & 1, 1);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(length in 24_u16..1400, index in 0_u32..3, key: bool) {
            let media = media(length, index, key);
            prop_assert_eq!(read(&payload(&media), 70_000), Some(media));
        }

        #[test]
        fn other_payloads_are_nobodys(bytes: Vec<u8>) {
            prop_assert!(read(&bytes, 0).is_none_or(|m| m.index < m.packets));
        }
    }
}
