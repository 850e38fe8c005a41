//! The sender's two streams: media, and what is sent again (RFC 4588, 4). Each counts its packets for itself.
//!
//! Reports and NACKs speak of a stream's packets. The sender of [`slackwater_transport`] counts all packets that leave.

use std::collections::VecDeque;

use bytes::{BufMut as _, Bytes, BytesMut};
use slackwater_transport::rtp::Arrivals;

/// Packets that are remembered: as many as the sender's history (`slackwater_transport::rtp::history`).
const KEPT: usize = 8192;
/// Media packets that can be sent again: as many as the sender keeps (`slackwater_transport::rtp::sender`).
const PAYLOADS: usize = 4096;

/// A packet that left.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// Its number among all packets.
    number: u32,
    /// The sender's sequence number of the media in it; padding has none.
    sequence: Option<u32>,
}

/// Packets of one stream.
#[derive(Debug, Default)]
struct Log {
    /// RTP sequence number of the oldest, without wrap-around in 16 bits.
    first: u32,
    packets: VecDeque<Left>,
}

impl Log {
    /// Sequence number of the next packet.
    fn next(&self) -> u32 {
        self.first.wrapping_add(self.packets.len() as u32)
    }

    /// A packet leaves; returns its sequence number.
    fn push(&mut self, left: Left) -> u32 {
        let sequence = self.next();
        if self.packets.len() == KEPT {
            self.packets.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        self.packets.push_back(left);
        sequence
    }

    fn get(&self, sequence: u32) -> Option<&Left> {
        self.packets.get(sequence.wrapping_sub(self.first) as usize)
    }

    /// What `report` says, by the numbers of all packets.
    fn by_number<'a>(&'a self, report: &'a Arrivals) -> impl Iterator<Item = Told> + 'a {
        let sequences = (0_u32..).map(|i| report.first.wrapping_add(i));
        let told = sequences.zip(&report.packets);
        told.filter_map(|(sequence, packet)| Some((self.get(sequence)?.number, *packet)))
    }
}

/// A packet's number and what a report says of it.
type Told = (
    u32,
    Option<(slackwater_core::Instant, slackwater_core::Ecn)>,
);

/// A media packet that can be sent again.
#[derive(Debug)]
struct Payload {
    /// Its RTP sequence number.
    sequence: u16,
    bytes: Bytes,
}

/// What left on both streams.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    media: Log,
    repairs: Log,
    /// Payloads of media packets, by the sender's sequence number, which goes up by one.
    payloads: VecDeque<Payload>,
    /// The sender's sequence number of the oldest payload.
    oldest: u32,
    /// Number of the newest packet of both.
    newest: u32,
}

impl Streams {
    /// Sequence numbers of the newest media packet and the newest retransmission.
    pub(crate) fn newest(&self) -> (u32, u32) {
        let newest = |log: &Log| log.next().wrapping_sub(1);
        (newest(&self.media), newest(&self.repairs))
    }

    /// The packet of this number among all leaves with media of the sender's sequence number, or as padding; returns its RTP
    /// sequence number.
    pub(crate) fn media(&mut self, number: u32, sequence: Option<u32>) -> u16 {
        self.newest = number;
        self.media.push(Left { number, sequence }) as u16
    }

    /// Media that left as RTP packet `rtp` may be sent again.
    pub(crate) fn keep(&mut self, sequence: u32, rtp: u16, bytes: Bytes) {
        if self.payloads.is_empty() {
            self.oldest = sequence;
        }
        if self.payloads.len() == PAYLOADS {
            self.payloads.pop_front();
            self.oldest = self.oldest.wrapping_add(1);
        }
        let sequence = rtp;
        self.payloads.push_back(Payload { sequence, bytes });
    }

    /// Media of the sender's `sequence` leave again, as the packet of this number among all: the RTP sequence number and payload
    /// of that (RFC 4588, 4: the first two bytes are the original sequence number).
    pub(crate) fn again(&mut self, number: u32, sequence: u32) -> Option<(u16, Bytes)> {
        let place = sequence.wrapping_sub(self.oldest) as usize;
        let payload = self.payloads.get(place)?;
        let mut bytes = BytesMut::with_capacity(2 + payload.bytes.len());
        bytes.put_u16(payload.sequence);
        bytes.put_slice(&payload.bytes);

        self.newest = number;
        let sequence = Some(sequence);
        let rtp = self.repairs.push(Left { number, sequence });
        Some((rtp as u16, bytes.freeze()))
    }

    /// The sender's sequence numbers of media in the RTP packets of `missing`.
    pub(crate) fn sequences(&self, missing: &[u32]) -> Vec<u32> {
        let left = missing.iter().filter_map(|m| self.media.get(*m));
        left.filter_map(|l| l.sequence).collect()
    }

    /// What one report says of the two streams, by the numbers of all packets: ranges of packets that it speaks of, in their
    /// order. One at least, so that it counts as a report.
    pub(crate) fn ranges(
        &self,
        media: Option<Arrivals>,
        repairs: Option<&Arrivals>,
    ) -> Vec<Arrivals> {
        if self.repairs.packets.is_empty() {
            // All packets are of one stream, so its numbers are those of all.
            return media.into_iter().collect();
        }
        let media = media.as_ref();
        let made = media.or(repairs).and_then(|r| r.made);
        let streams = [(&self.media, media), (&self.repairs, repairs)];
        let told = streams.iter().filter_map(|(log, report)| {
            let report: &Arrivals = (*report)?;
            Some(log.by_number(report))
        });
        let mut told: Vec<Told> = told.flatten().collect();
        // By the distance from the newest: numbers wrap around.
        told.sort_by_key(|(number, _)| core::cmp::Reverse(self.newest.wrapping_sub(*number)));

        let mut ranges: Vec<Arrivals> = Vec::new();
        for (number, packet) in told {
            match ranges.last_mut() {
                Some(range) if range.first.wrapping_add(range.packets.len() as u32) == number => {
                    range.packets.push(packet);
                }
                _ => ranges.push(Arrivals {
                    first: number,
                    packets: vec![packet],
                    made,
                }),
            }
        }
        if ranges.is_empty() {
            ranges.push(Arrivals::default());
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::{Ecn, Instant};

    use super::*;

    fn report(first: u32, arrived: &[bool]) -> Arrivals {
        let at = (Instant::from_millis(5), Ecn::Ect1);
        Arrivals {
            first,
            packets: arrived.iter().map(|a| a.then_some(at)).collect(),
            made: Some(Instant::from_millis(9)),
        }
    }

    fn told(ranges: &[Arrivals]) -> Vec<(u32, Vec<bool>)> {
        let of = |r: &Arrivals| r.packets.iter().map(Option::is_some).collect();
        ranges.iter().map(|r| (r.first, of(r))).collect()
    }

    /// Media 0 to 3, then 1 again, then media 4, then 2 again: numbers 0 to 6.
    fn streams() -> Streams {
        let mut streams = Streams::default();
        let payload = |n: u8| Bytes::copy_from_slice(&[n]);
        for n in 0..4 {
            let rtp = streams.media(n, Some(n));
            streams.keep(n, rtp, payload(n as u8));
        }
        assert_eq!(
            streams.again(4, 1),
            Some((0, Bytes::from_static(&[0, 1, 1])))
        );
        let rtp = streams.media(5, Some(4));
        streams.keep(4, rtp, payload(4));
        assert_eq!(
            streams.again(6, 2),
            Some((1, Bytes::from_static(&[0, 2, 2])))
        );
        streams
    }

    #[test]
    fn two_streams_of_a_report_are_ranges_of_all_packets() {
        let streams = streams();
        assert_eq!(streams.newest(), (4, 1));
        let media = report(1, &[false, true, true, true]);
        let repairs = report(0, &[false, true]);
        let ranges = streams.ranges(Some(media.clone()), Some(&repairs));
        let arrived = vec![false, true, true, false, true, true];
        assert_eq!(told(&ranges), [(1, arrived)]);
        assert_eq!(ranges[0].made, Some(Instant::from_millis(9)));
        // Of retransmissions it says nothing: that is no loss.
        let ranges = streams.ranges(Some(media), None);
        let two = [(1, vec![false, true, true]), (5, vec![true])];
        assert_eq!(told(&ranges), two);
        // Packets that never left.
        let ranges = streams.ranges(Some(report(70, &[true])), None);
        assert_eq!(told(&ranges), [(0, vec![])]);
        assert!(streams.ranges(None, None)[0].packets.is_empty());
    }

    #[test]
    fn numbers_wrap_around() {
        let mut streams = Streams::default();
        for n in [u32::MAX - 1, u32::MAX, 0] {
            let rtp = streams.media(n, Some(n));
            streams.keep(n, rtp, Bytes::new());
        }
        assert!(streams.again(1, u32::MAX).is_some());
        let ranges = streams.ranges(Some(report(0, &[true; 3])), Some(&report(0, &[true])));
        assert_eq!(told(&ranges), [(u32::MAX - 1, vec![true; 4])]);
    }

    #[test]
    fn only_media_that_left_and_are_kept_can_leave_again() {
        let mut streams = streams();
        // Padding has a sequence number of the stream, and no media.
        assert_eq!(streams.media(7, None), 5);
        assert_eq!(streams.sequences(&[0, 4, 5, 6, 99]), [0, 4]);
        assert_eq!(streams.again(8, 5), None);
        for n in 5..5 + PAYLOADS as u32 {
            streams.keep(n, 0, Bytes::new());
        }
        assert_eq!(streams.again(9, 4), None);
        assert!(streams.again(9, 5).is_some());
    }
}
