//! What tells a receiver of ours what a packet is of. A synthetic frame has it in its payload.
//!
//! The payload of a real codec has no room for it, so there it is a header extension: one element of the one-byte form at its
//! greatest length (RFC 8285, 4.2). It is sent where both ends name it in signalling.

use bytes::{BufMut as _, Bytes, BytesMut};
use slackwater_core::{Instant, Media};

/// What signalling calls it (RFC 8285, 5).
pub(crate) const URI: &str = "https://github.com/slackwater/slackwater/frame-label";
/// Capture time, frame, index, packets with the flag of key frames.
pub(crate) const LENGTH: usize = 8 + 4 + 2 + 2;
/// Bytes that it adds to a packet without another extension: the extension's head, the element's, padding (RFC 8285, 4.2).
pub(crate) const ALONE: usize = 4 + 1 + LENGTH + 3;
/// Bytes that it adds beside the transport-wide number, which has the head and a byte of padding.
pub(crate) const BESIDE: usize = 1 + LENGTH - 1;
/// In the count of packets: a key frame's.
const KEY: u16 = 1 << 15;
/// The most packets of a frame that it can say.
pub(crate) const MOST_PACKETS: usize = KEY as usize - 1;

/// The label of `media`.
pub(crate) fn write(media: &Media) -> Bytes {
    let mut out = BytesMut::with_capacity(LENGTH);
    out.put_u64(media.captured.as_nanos());
    out.put_u32(media.frame);
    out.put_u16(media.index as u16);
    out.put_u16(media.packets as u16 | if media.key { KEY } else { 0 });
    out.freeze()
}

/// What `label` says of the packet of number `number` with `payload` bytes; `None` where it says what cannot be.
pub(crate) fn read(label: &[u8], number: u32, payload: usize) -> Option<Media> {
    let (captured, rest) = label.split_first_chunk::<8>()?;
    let (frame, rest) = rest.split_first_chunk::<4>()?;
    let (index, rest) = rest.split_first_chunk::<2>()?;
    let count = u16::from_be_bytes(rest.try_into().ok()?);
    let index = u32::from(u16::from_be_bytes(*index));
    let packets = u32::from(count & !KEY);
    (index < packets).then(|| Media {
        captured: Instant::from_nanos(u64::from_be_bytes(*captured)),
        number,
        sequence: number,
        frame: u32::from_be_bytes(*frame),
        index,
        packets,
        payload: u16::try_from(payload).unwrap_or(u16::MAX),
        key: count & KEY != 0,
        retransmission: false,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(captured: u64, frame: u32, index in 0_u32..32_767, more in 1_u32..9, key: bool, number: u32) {
            let media = Media {
                captured: Instant::from_nanos(captured),
                number,
                sequence: number,
                frame,
                index,
                packets: (index + more).min(MOST_PACKETS as u32),
                payload: 1000,
                key,
                retransmission: false,
            };
            let label = write(&media);
            prop_assert_eq!(label.len(), LENGTH);
            prop_assert_eq!(read(&label, number, 1000), Some(media));
        }

        #[test]
        fn a_label_holds_each_packet_up_to_the_most_and_no_other(packets in 32_700_u32..=32_767, over in 0_u32..40) {
            let last = Media { index: packets - 1, packets, ..Media::default() };
            let label = write(&last);
            prop_assert_eq!(read(&label, 0, 0).map(|m| (m.index, m.packets, m.key)), Some((packets - 1, packets, false)));
            // An index that is its frame's number of packets or more names none of them.
            let beyond = Media { index: packets + over, ..last };
            prop_assert_eq!(read(&write(&beyond), 0, 0), None);
        }

        #[test]
        fn other_labels_say_what_can_be(bytes: Vec<u8>) {
            prop_assert!(read(&bytes, 0, 0).is_none_or(|m| m.index < m.packets));
        }
    }
}
