//! The counts of ECN in acknowledgments, read from the plaintext of a packet (RFC 9000, 19).
//!
//! A packet is a row of frames without lengths of their own, so those before an ACK are walked. Whatever does not parse
//! ends the walk and leaves the rest alone: quinn judges it.

/// What a peer has counted on a path since the connection began (RFC 9000, 19.3.2), packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that arrived with ECT(0).
    pub ect0: u64,
    /// Packets that arrived with ECT(1).
    pub ect1: u64,
    /// Packets that arrived with CE.
    pub ce: u64,
}

impl Counts {
    /// Packets that were counted.
    pub const fn total(&self) -> u64 {
        self.ect0.saturating_add(self.ect1).saturating_add(self.ce)
    }
}

/// Finds the acknowledgments with counts in `payload`, tells `each` of them, and where `swap` says so lets the counts of
/// ECT(0) and ECT(1) change places.
///
/// The swap is for a sender of ECT(1) whose stack believes that it sends ECT(0): each check of the stack's own (RFC 9000,
/// 13.4.2.1) then holds ECT(1) to what it would hold ECT(0) to. The payload keeps its length.
pub fn read(payload: &mut [u8], swap: bool, mut each: impl FnMut(Counts)) {
    let mut at = 0;
    while let Some((kind, body)) = varint(payload, at) {
        let end = match kind {
            0x02 | 0x03 => acknowledgment(payload, body, kind == 0x03, swap, &mut each),
            _ => skip(payload, kind, body),
        };
        match end {
            // The length of a frame may be any: it must lie inside of the packet.
            Some(end) if end > at && end <= payload.len() => at = end,
            _ => return,
        }
    }
}

/// The integer at `at` and the place after it (RFC 9000, 16).
fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = *bytes.get(at)?;
    let length = 1 << (first >> 6);
    let end = at.checked_add(length)?;
    let rest = bytes.get(at + 1..end)?;
    let value = rest
        .iter()
        .fold(u64::from(first & 0x3f), |v, b| v << 8 | u64::from(*b));
    Some((value, end))
}

/// The place after `count` integers.
fn varints(bytes: &[u8], at: usize, count: u64) -> Option<usize> {
    // Each takes a byte at least, so that a count beyond the packet ends soon.
    (0..count).try_fold(at, |at, _| varint(bytes, at).map(|(_, end)| end))
}

/// The place after an integer and as many bytes as it says.
fn sized(bytes: &[u8], at: usize) -> Option<usize> {
    let (length, at) = varint(bytes, at)?;
    at.checked_add(usize::try_from(length).ok()?)
}

fn acknowledgment(
    bytes: &mut [u8],
    at: usize,
    counted: bool,
    swap: bool,
    each: &mut impl FnMut(Counts),
) -> Option<usize> {
    // Largest, delay, number of ranges, the first range; then pairs (RFC 9000, 19.3).
    let at = varints(bytes, at, 2)?;
    let (ranges, at) = varint(bytes, at)?;
    let at = varints(bytes, at, 1)?;
    let at = varints(bytes, at, ranges.checked_mul(2)?)?;
    if !counted {
        return Some(at);
    }
    let (ect0, middle) = varint(bytes, at)?;
    let (ect1, last) = varint(bytes, middle)?;
    let (ce, end) = varint(bytes, last)?;
    each(Counts { ect0, ect1, ce });
    if swap {
        bytes[at..last].rotate_left(middle - at);
    }
    Some(end)
}

/// The place after a frame that is no acknowledgment.
fn skip(bytes: &[u8], kind: u64, at: usize) -> Option<usize> {
    match kind {
        // PADDING, PING, HANDSHAKE_DONE; IMMEDIATE_ACK (draft-ietf-quic-ack-frequency).
        0x00 | 0x01 | 0x1e | 0x1f => Some(at),
        // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID.
        0x10 | 0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => varints(bytes, at, 1),
        // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED.
        0x05 | 0x11 | 0x15 => varints(bytes, at, 2),
        // RESET_STREAM.
        0x04 => varints(bytes, at, 3),
        // ACK_FREQUENCY (draft-ietf-quic-ack-frequency).
        0xaf => varints(bytes, at, 4),
        // CRYPTO; CONNECTION_CLOSE of an application.
        0x06 | 0x1d => sized(bytes, varints(bytes, at, 1)?),
        // NEW_TOKEN, DATAGRAM with a length (RFC 9221).
        0x07 | 0x31 => sized(bytes, at),
        // STREAM: an offset where 0x04 is set, a length where 0x02 is; without one it fills the packet.
        0x08..=0x0f => {
            let at = varints(bytes, at, 1 + u64::from(kind & 0x04 != 0))?;
            if kind & 0x02 == 0 {
                return Some(bytes.len());
            }
            sized(bytes, at)
        }
        // NEW_CONNECTION_ID: two integers, the ID behind a byte for its length, a token of 16 bytes.
        0x18 => {
            let at = varints(bytes, at, 2)?;
            let length = usize::from(*bytes.get(at)?);
            Some(at + 1 + length + 16)
        }
        // PATH_CHALLENGE, PATH_RESPONSE.
        0x1a | 0x1b => Some(at + 8),
        // CONNECTION_CLOSE of QUIC.
        0x1c => sized(bytes, varints(bytes, at, 2)?),
        // DATAGRAM to the end of the packet, and what nobody knows.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen(bytes: &[u8], swap: bool) -> (Vec<Counts>, Vec<u8>) {
        let mut bytes = bytes.to_vec();
        let mut all = Vec::new();
        read(&mut bytes, swap, |c| all.push(c));
        (all, bytes)
    }

    /// An acknowledgment of 9, 8 and 5, with counts of 2, 300 and 1.
    const ACK: [u8; 11] = [0x03, 9, 0x40, 100, 1, 1, 1, 0, 2, 0x41, 0x2c];

    fn ack() -> Vec<u8> {
        [&ACK[..], &[1]].concat()
    }

    const HELD: Counts = Counts {
        ect0: 2,
        ect1: 300,
        ce: 1,
    };

    #[test]
    fn counts_are_found_behind_every_frame() {
        let before: [&[u8]; 19] = [
            &[0, 0, 0],
            &[1],
            &[0x02, 3, 0, 0, 2],
            &[0x04, 1, 2, 3],
            &[0x05, 1, 2],
            &[0x06, 0, 2, 7, 7],
            &[0x07, 1, 9],
            &[0x0a, 0, 3, 3, 3, 3],
            &[0x0e, 0, 5, 1, 3],
            &[0x10, 0x80, 0, 1, 0],
            &[0x11, 0, 7],
            &[
                0x18, 1, 0, 2, 8, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
            ],
            &[0x1a, 3, 3, 3, 3, 3, 3, 3, 3],
            &[0x1e],
            &[0x1f],
            &[0x31, 2, 3, 3],
            &[0x40, 0xaf, 1, 2, 3, 4],
            &[0x1c, 1, 3, 1, 3],
            &[0x1d, 1, 1, 3],
        ];
        for frame in before {
            let bytes = [frame, &ack(), &[0x08, 0, 3, 3]].concat();
            assert_eq!(
                seen(&bytes, false),
                (vec![HELD], bytes.clone()),
                "{frame:?}"
            );
        }
        assert!(
            seen(&[&[0x08, 0, 0x03][..], &ack()].concat(), false)
                .0
                .is_empty()
        );
        assert!(seen(&[&[0x30][..], &ack()].concat(), false).0.is_empty());
    }

    #[test]
    fn two_counts_change_places_and_nothing_else_does() {
        let (counts, bytes) = seen(&ack(), true);
        assert_eq!(counts, [HELD]);
        let swapped = Counts {
            ect0: 300,
            ect1: 2,
            ce: 1,
        };
        let (again, back) = seen(&bytes, true);
        assert_eq!((again, back), (vec![swapped], ack()));
    }

    #[test]
    fn what_is_cut_short_is_left_alone() {
        for end in 0..ACK.len() {
            assert_eq!(seen(&ACK[..end], true), (vec![], ACK[..end].to_vec()));
        }
        // 2^62 - 1 ranges.
        let endless = [
            0x03, 9, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1,
        ];
        assert!(seen(&endless, true).0.is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_end_the_walk(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let (_, after) = seen(&bytes, true);
            prop_assert_eq!(after.len(), bytes.len());
            prop_assert_eq!(seen(&bytes, false).1, bytes);
        }
    }
}
