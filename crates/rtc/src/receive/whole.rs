//! Payloads of frames, put together for a decoder.
//!
//! A sender of ours labels its packets. Of another one, a frame is what has one timestamp, up to the RTP marker (RFC 6184, 5.1).
//! It is whole where no sequence number is missing. Chromium's pacer throws a frame's end away when a key frame follows: that
//! leaves no gap, but no marker either.

use std::collections::BTreeMap;

use bytes::Bytes;
use slackwater_core::{Instant, Media};

use crate::adapter::Unwrap;

/// Payloads that wait at most; a sender that leaves more has lost its way, and all are forgotten (ours: seconds of any rate
/// that the level allows).
const WAITING: usize = 1 << 14;

/// Payloads that wait.
#[derive(Debug, Default)]
pub(super) struct Whole {
    /// By the frame's number and the place in it.
    payloads: BTreeMap<(u32, u32), Bytes>,
    /// Of a sender that does not say what its packets are: those after the last marker, with timestamps, by sequence number.
    open: BTreeMap<u64, (u32, Bytes)>,
    /// Sequence numbers, which count this stream alone: transport-wide ones have gaps where another stream has packets.
    sequences: Unwrap<16>,
    /// Sequence number of the packet that ended the frame before.
    end: Option<u64>,
    /// Number of the next frame.
    next: u32,
}

impl Whole {
    /// A packet of ours came.
    pub(super) fn put(&mut self, media: &Media, payload: Bytes) {
        if self.payloads.len() >= WAITING {
            self.payloads.clear();
        }
        self.payloads.insert((media.frame, media.index), payload);
    }

    /// A packet of somebody else's came, of this transport-wide number: what it is of.
    ///
    /// A frame is one packet to the receiver, its last. One that is not whole is none: its number is missing then, and the
    /// receiver does with it what it does with a lost frame.
    pub(super) fn frame_of(
        &mut self,
        now: Instant,
        packet: &rtc::rtp::Packet,
        number: u32,
        is_key: impl Fn(&[Bytes]) -> bool,
    ) -> Media {
        let mut media = Media {
            captured: now,
            number,
            sequence: number,
            frame: self.next,
            payload: u16::try_from(packet.payload.len()).unwrap_or(u16::MAX),
            ..Media::default()
        };
        let header = &packet.header;
        let sequence = self.sequences.next(u64::from(header.sequence_number));
        // What comes after its frame's end is of no use.
        if self.end.is_some_and(|end| sequence <= end) {
            return media;
        }
        if self.open.len() >= WAITING {
            self.open.clear();
        }
        let content = (header.timestamp, packet.payload.clone());
        self.open.insert(sequence, content);
        if !header.marker {
            return media;
        }

        // Packets of the next frame may have overtaken.
        let later = self.open.split_off(&(sequence + 1));
        let mut before = core::mem::replace(&mut self.open, later);
        // Padding has no payload, is of no frame, and has the timestamp of the one before.
        let other = |of: &(&u64, &(u32, Bytes))| of.1.0 != header.timestamp && !of.1.1.is_empty();
        let last = before.iter().rev().find(other).map(|of| *of.0);
        let open = before.split_off(&last.map_or(0, |last| last + 1));
        let first = open.keys().next().copied().unwrap_or(sequence);
        // What stands before the first packet is of another frame, where it is known.
        let known = last.or(self.end).is_none_or(|before| before + 1 == first);
        let whole = known && open.len() as u64 == sequence + 1 - first;

        self.end = Some(sequence);
        if last.is_some() {
            // A frame whose end never came.
            self.next = self.next.wrapping_add(1);
            media.frame = self.next;
        }
        self.next = self.next.wrapping_add(1);
        if whole {
            let payloads = open.into_values().map(|(_, payload)| payload);
            let payloads: Vec<Bytes> = payloads.filter(|p| !p.is_empty()).collect();
            media.packets = 1;
            media.key = is_key(&payloads);
            for (index, payload) in (0..).zip(payloads) {
                self.payloads.insert((media.frame, index), payload);
            }
        }
        media
    }

    /// The payloads of frame `number`; those of frames before it are forgotten.
    pub(super) fn take(&mut self, number: u32) -> Vec<Bytes> {
        let later = match number.checked_add(1) {
            Some(next) => self.payloads.split_off(&(next, 0)),
            None => BTreeMap::new(),
        };
        let mut until = core::mem::replace(&mut self.payloads, later);
        until.split_off(&(number, 0)).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rtc::rtp::{Header, Packet};

    use super::*;

    /// What each packet is of: its frame's number, where it ends one that is whole.
    fn frames(whole: &mut Whole, packets: &[(u16, u32, bool)]) -> Vec<Option<u32>> {
        let packets = packets.iter().map(|(number, timestamp, marker)| {
            let header = Header {
                timestamp: *timestamp,
                marker: *marker,
                sequence_number: *number,
                ..Header::default()
            };
            let payload = Bytes::copy_from_slice(&number.to_be_bytes());
            let packet = Packet { header, payload };
            let media = whole.frame_of(Instant::ZERO, &packet, 0, |_| false);
            (media.packets > 0).then_some(media.frame)
        });
        packets.collect()
    }

    #[test]
    fn a_frame_is_what_lies_between_two_ends() {
        let mut whole = Whole::default();
        let packets = [
            (7, 1, false),
            (8, 1, true),
            (10, 2, false),
            (9, 2, false),
            (11, 2, true),
        ];
        assert_eq!(
            frames(&mut whole, &packets),
            [None, Some(0), None, None, Some(1)]
        );
        // In the order of their numbers, not of their arrivals.
        let payload = |n: u16| Bytes::copy_from_slice(&n.to_be_bytes());
        assert_eq!(whole.take(1), [9, 10, 11].map(payload));
        assert!(whole.take(0).is_empty(), "older ones are forgotten");
    }

    #[test]
    fn a_frame_with_a_gap_has_a_number_and_is_none() {
        let mut whole = Whole::default();
        let packets = [
            (1, 1, true),
            (2, 2, false),
            (4, 2, true),
            (3, 2, false),
            (5, 3, true),
        ];
        assert_eq!(
            frames(&mut whole, &packets),
            [Some(0), None, None, None, Some(2)]
        );
        // The end itself is missing: what follows is of a frame that is not whole.
        assert_eq!(
            frames(&mut whole, &[(7, 5, false), (8, 5, true), (9, 6, true)]),
            [None, None, Some(4)]
        );
    }

    #[test]
    fn a_frame_whose_end_never_came_is_no_part_of_the_next() {
        let mut whole = Whole::default();
        let packets = [
            (1, 1, true),
            (2, 2, false),
            (3, 2, false),
            (4, 3, false),
            (5, 3, true),
        ];
        let found = frames(&mut whole, &packets);
        assert_eq!(found, [Some(0), None, None, None, Some(2)]);
        let payload = |n: u16| Bytes::copy_from_slice(&n.to_be_bytes());
        assert_eq!(whole.take(2), [4, 5].map(payload));
        // The first packet of the next frame is lost too: what is left of it is not whole.
        let packets = [(6, 4, false), (8, 5, false), (9, 5, true)];
        assert_eq!(frames(&mut whole, &packets), [None; 3]);
    }

    #[test]
    fn a_packet_of_the_next_frame_may_overtake() {
        let mut whole = Whole::default();
        let packets = [
            (1, 1, true),
            (2, 2, false),
            (4, 3, false),
            (3, 2, true),
            (5, 3, true),
        ];
        let found = frames(&mut whole, &packets);
        assert_eq!(found, [Some(0), None, None, Some(1), Some(2)]);
        assert_eq!((whole.take(1).len(), whole.take(2).len()), (2, 2));
    }

    proptest! {
        /// Whatever comes, frames have rising numbers and hold no more than came.
        #[test]
        fn any_packets_make_frames_in_order(
            packets in proptest::collection::vec((0_u16..40, 0_u32..4, any::<bool>()), 0..80),
            first: u16,
        ) {
            let moved = packets.iter().map(|(n, t, m)| (n.wrapping_add(first), *t, *m));
            let moved: Vec<_> = moved.collect();
            let mut whole = Whole::default();
            let found: Vec<u32> = frames(&mut whole, &moved).into_iter().flatten().collect();
            prop_assert!(found.is_sorted_by(|a, b| a < b));
            let held: usize = found.iter().map(|n| whole.take(*n).len()).sum();
            prop_assert!(held <= packets.len());
        }
    }

    #[test]
    fn padding_between_frames_is_of_none() {
        let mut whole = Whole::default();
        frames(&mut whole, &[(1, 1, true)]);
        let header = Header {
            timestamp: 1,
            sequence_number: 2,
            ..Header::default()
        };
        let padding = Packet {
            header,
            payload: Bytes::new(),
        };
        assert_eq!(
            whole
                .frame_of(Instant::ZERO, &padding, 0, |_| false)
                .packets,
            0
        );
        assert_eq!(
            frames(&mut whole, &[(3, 2, false), (4, 2, true)]),
            [None, Some(1)]
        );
        assert_eq!(whole.take(1).len(), 2);
    }

    #[test]
    fn payloads_of_ours_are_those_of_their_frame() {
        let mut whole = Whole::default();
        for (frame, index) in [(3, 1), (3, 0), (4, 0), (u32::MAX, 0)] {
            let media = Media {
                frame,
                index,
                ..Media::default()
            };
            whole.put(&media, Bytes::copy_from_slice(&[frame as u8, index as u8]));
        }
        assert_eq!(
            whole.take(3),
            [&[3, 0][..], &[3, 1]].map(Bytes::copy_from_slice)
        );
        assert_eq!(whole.take(u32::MAX), [Bytes::copy_from_slice(&[255, 0])]);
        assert!(whole.payloads.is_empty());
    }
}
