//! Segments that leave together go back to the kernel as one super-packet, as a network card's receive offload would
//! hand them over: one call in place of forty.

use super::frame::HEADER;
use slackwater_wire::checksum;

/// A super-packet's length has 16 bits.
const MAX: usize = 65_535;
const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
const TCP: u8 = 6;

/// Where a segment may go: the way and the UE.
pub type Port = (bool, u32);

/// A TCP segment that may be merged.
#[derive(Clone, Copy, Debug)]
struct Segment {
    v6: bool,
    /// Offset of the TCP header.
    at: usize,
    /// Offset of the payload.
    head: usize,
    sequence: u32,
}

impl Segment {
    /// Plain data: no IP options, no fragment, no flag but ACK and PSH.
    fn of(packet: &[u8]) -> Option<Self> {
        let (v6, at) = match packet.first()? {
            0x45 if packet.len() >= 40
                && packet[9] == TCP
                && packet[6] & 0xbf == 0
                && packet[7] == 0 =>
            {
                (false, 20)
            }
            first if first >> 4 == 6 && packet.len() >= 60 && packet[6] == TCP => (true, 40),
            _ => return None,
        };
        let head = at + usize::from(packet[at + 12] >> 4) * 4;
        let plain = packet[at + 12] << 4 == 0 && packet[at + 13] & !PSH == ACK;
        let sequence = u32::from_be_bytes(packet[at + 4..at + 8].try_into().ok()?);
        (plain && head >= at + 20 && packet.len() > head).then_some(Self {
            v6,
            at,
            head,
            sequence,
        })
    }
}

/// True where `packet` may become part of a super-packet.
pub fn merges(packet: &[u8]) -> bool {
    Segment::of(packet).is_some()
}

/// Segments in a row that may leave as one super-packet. The caller has their octets.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    first: Segment,
    /// Payload of each segment but the last.
    size: usize,
    /// Sequence number that the next segment must have.
    next: u32,
    /// Octets of the super-packet.
    total: usize,
    segments: u32,
    /// One of them was pushed.
    pushed: bool,
    /// No segment may follow: the last was short or pushed.
    closed: bool,
}

impl Run {
    /// The run that `packet` begins; none where it is not plain data of TCP.
    pub fn begin(packet: &[u8]) -> Option<Self> {
        let first = Segment::of(packet)?;
        let size = packet.len() - first.head;
        let pushed = packet[first.at + 13] & PSH != 0;
        Some(Self {
            next: first.sequence.wrapping_add(size as u32),
            first,
            size,
            total: packet.len(),
            segments: 1,
            pushed,
            closed: pushed,
        })
    }

    /// Takes `packet` where it continues the run whose first segment is `first`: where its payload begins.
    pub fn append(&mut self, first: &[u8], packet: &[u8]) -> Option<usize> {
        if self.closed {
            return None;
        }
        let (a, b) = (self.first, Segment::of(packet)?);
        let payload = packet.len() - b.head;
        let fits = (a.v6, a.at, a.head) == (b.v6, b.at, b.head)
            && b.sequence == self.next
            && payload <= self.size
            && self.total + payload <= MAX
            && same_headers(first, packet, &a)
            && (a.v6 || is_numbered(first, packet, self.segments));
        if !fits {
            return None;
        }
        let pushed = packet[b.at + 13] & PSH != 0;
        self.pushed |= pushed;
        self.total += payload;
        self.next = self.next.wrapping_add(payload as u32);
        self.segments += 1;
        self.closed = pushed || payload < self.size;
        Some(b.head)
    }

    /// True where nothing may follow.
    pub const fn closed(&self) -> bool {
        self.closed
    }

    /// Its segments.
    pub const fn segments(&self) -> u32 {
        self.segments
    }

    /// Sets lengths, PSH and the first part of the checksum in `first`, the octets of the first segment, where there are
    /// several. Returns the virtio header, whose offsets count from `before` octets in front of the IP header.
    pub fn finish(&self, first: &mut [u8], before: usize) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        if self.segments < 2 {
            return header;
        }
        let (s, total) = (self.first, self.total);
        first[s.at + 13] |= if self.pushed { PSH } else { 0 };
        let addresses = if s.v6 {
            first[4..6].copy_from_slice(&((total - 40) as u16).to_be_bytes());
            checksum::sum(&first[8..40])
        } else {
            first[2..4].copy_from_slice(&(total as u16).to_be_bytes());
            first[10..12].fill(0);
            let sum = checksum::finish(checksum::sum(&first[..20]));
            first[10..12].copy_from_slice(&sum);
            checksum::sum(&first[12..20])
        };
        let pseudo = addresses + checksum::pseudo(TCP, (total - s.at) as u32);
        let partial = checksum::finish(pseudo).map(|b| !b);
        first[s.at + 16..s.at + 18].copy_from_slice(&partial);
        // VIRTIO 1.2, 5.1.6: needs a checksum; TCP over IPv4 or IPv6; lengths.
        header[0] = 1;
        header[1] = if s.v6 { 4 } else { 1 };
        let words = [before + s.head, self.size, before + s.at, 16];
        for (to, word) in header[2..].chunks_exact_mut(2).zip(words) {
            to.copy_from_slice(&(word as u16).to_ne_bytes());
        }
        header
    }
}

/// True where the header and the TCP checksum of a plain segment hold, and its length is that of `packet`. Who merges segments has
/// them summed anew, and would hide what was damaged before.
pub fn sound(packet: &[u8]) -> bool {
    let Some(s) = Segment::of(packet) else {
        return false;
    };
    let word = |at: usize| usize::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    let (length, header, addresses) = if s.v6 {
        (40 + word(4), 0, &packet[8..40])
    } else {
        (word(2), checksum::sum(&packet[..20]), &packet[12..20])
    };
    let tcp = &packet[s.at..];
    let pseudo = checksum::sum(addresses) + checksum::pseudo(TCP, tcp.len() as u32);
    length == packet.len()
        && (s.v6 || checksum::finish(header) == [0, 0])
        && checksum::finish(pseudo + checksum::sum(tcp)) == [0, 0]
}

/// What has been merged so far.
#[derive(Debug)]
struct Pending {
    port: Port,
    bytes: Vec<u8>,
    run: Option<Run>,
}

impl Pending {
    fn new(port: Port, bytes: Vec<u8>) -> Self {
        Self {
            port,
            run: Run::begin(&bytes),
            bytes,
        }
    }

    /// Appends `packet`; false where it does not continue this one.
    fn append(&mut self, port: Port, packet: &[u8]) -> bool {
        let same = port == self.port;
        let run = self.run.as_mut().filter(|_| same);
        let Some(head) = run.and_then(|run| run.append(&self.bytes, packet)) else {
            return false;
        };
        self.bytes.extend_from_slice(&packet[head..]);
        true
    }
}

/// True where the kernel numbers the packet as it was, or where nobody goes by the number (RFC 6864, 4.1: DF).
fn is_numbered(first: &[u8], packet: &[u8], segments: u32) -> bool {
    let number = |p: &[u8]| u16::from_be_bytes([p[4], p[5]]);
    packet[6] & 0x40 != 0 || number(packet) == number(first).wrapping_add(segments as u16)
}

/// True where two segments differ in lengths, identification, sequence number, PSH and checksums alone.
fn same_headers(a: &[u8], b: &[u8], s: &Segment) -> bool {
    let same = |from: usize, to: usize| a[from..to] == b[from..to];
    let ip = if s.v6 {
        same(0, 4) && same(6, 40)
    } else {
        same(0, 2) && same(6, 10) && same(12, 20)
    };
    // Ports; acknowledgment number and offset; window; urgent pointer and options.
    ip && same(s.at, s.at + 4)
        && same(s.at + 8, s.at + 13)
        && same(s.at + 14, s.at + 16)
        && same(s.at + 18, s.head)
}

/// Merges what comes in a row.
#[derive(Debug, Default)]
pub struct Merger {
    pending: Option<Pending>,
}

impl Merger {
    /// Takes a packet; `send` gets what cannot grow any more.
    pub fn push(
        &mut self,
        port: Port,
        packet: Vec<u8>,
        send: &mut impl FnMut(Port, &[u8; HEADER], &[u8], u32),
    ) {
        if let Some(pending) = &mut self.pending
            && pending.append(port, &packet)
        {
            return;
        }
        self.flush(send);
        self.pending = Some(Pending::new(port, packet));
    }

    /// Sends what waits; the last argument is the number of packets in it.
    pub fn flush(&mut self, send: &mut impl FnMut(Port, &[u8; HEADER], &[u8], u32)) {
        if let Some(mut pending) = self.pending.take() {
            let run = pending.run.as_ref();
            let header = run.map_or([0; HEADER], |run| run.finish(&mut pending.bytes, 0));
            let segments = run.map_or(1, Run::segments);
            send(pending.port, &header, &pending.bytes, segments);
        }
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::{self as core, Body, Packet, SegmentBits, SeqNum, TcpFlags};
    use slackwater_wire::{IpVersion, packet};

    use super::super::frame;
    use super::*;

    fn data(
        seq: u32,
        payload: u16,
        version: IpVersion,
        change: impl Fn(&mut Packet, &mut core::Segment),
    ) -> Vec<u8> {
        let mut s = core::Segment {
            seq: SeqNum(seq),
            ack: SeqNum(9),
            flags: TcpFlags::ACK,
            bits: SegmentBits::TIMESTAMPS,
            tsval: 5,
            payload,
            ..Default::default()
        };
        let mut p = Packet {
            len: 52 + payload,
            ..Packet::default()
        };
        change(&mut p, &mut s);
        p.body = Body::Tcp(s);
        let mut bytes = Vec::new();
        packet::encode(&p, version, usize::MAX, &mut bytes);
        bytes
    }

    fn merged(packets: &[Vec<u8>]) -> Vec<(Vec<u8>, u32)> {
        let mut out = Vec::new();
        let mut merger = Merger::default();
        let mut send = |_: Port, header: &[u8; HEADER], bytes: &[u8], n| {
            out.push(([header.as_slice(), bytes].concat(), n));
        };
        for p in packets {
            merger.push((false, 0), p.clone(), &mut send);
        }
        merger.flush(&mut send);
        out
    }

    #[test]
    fn what_is_merged_comes_apart_as_it_was() {
        for version in [IpVersion::V4, IpVersion::V6] {
            let mut packets: Vec<Vec<u8>> = (0..9)
                .map(|k| {
                    data(
                        (u32::MAX - 3000).wrapping_add(k * 1448),
                        1448,
                        version,
                        |_, _| {},
                    )
                })
                .collect();
            packets.push(data(
                (u32::MAX - 3000).wrapping_add(9 * 1448),
                200,
                version,
                |_, _| {},
            ));
            let frames = merged(&packets);
            assert_eq!(frames.len(), 1);
            assert_eq!(frames[0].1, 10);
            let mut back = Vec::new();
            assert!(frame::packets(&frames[0].0, |p| back.push(p)));
            // Segments of a super-packet are numbered by the kernel.
            if version == IpVersion::V4 {
                for p in &mut back {
                    p[4..6].fill(0);
                    p[10..12].fill(0);
                    let sum = checksum::finish(checksum::sum(&p[..20]));
                    p[10..12].copy_from_slice(&sum);
                }
            }
            assert_eq!(back, packets);
        }
    }

    #[test]
    fn what_differs_stays_apart() {
        let v4 = IpVersion::V4;
        let first = || data(0, 1000, v4, |_, _| {});
        let apart: [Vec<u8>; 8] = [
            data(2000, 1000, v4, |_, _| {}),
            data(1000, 1001, v4, |_, _| {}),
            data(1000, 1000, v4, |p, _| p.ecn = core::Ecn::Ce),
            data(1000, 1000, v4, |_, s| s.window = 3),
            data(1000, 1000, v4, |_, s| s.tsval = 6),
            data(1000, 1000, v4, |_, s| s.flags = s.flags.with(TcpFlags::FIN)),
            data(1000, 1000, v4, |_, s| s.ack = SeqNum(10)),
            data(1000, 1000, v4, |p, _| p.flow.0 = 3),
        ];
        for (k, other) in apart.into_iter().enumerate() {
            let frames = merged(&[first(), other.clone()]);
            assert_eq!(frames.len(), 2, "case {k}");
            assert_eq!(frames[1].0, [[0; HEADER].as_slice(), &other].concat());
        }
        // Nothing follows a segment that was pushed, or a short one.
        let pushed = data(0, 1000, v4, |_, s| s.flags = s.flags.with(TcpFlags::PSH));
        assert_eq!(merged(&[pushed, data(1000, 1000, v4, |_, _| {})]).len(), 2);
        let three = [
            first(),
            data(1000, 10, v4, |_, _| {}),
            data(1010, 10, v4, |_, _| {}),
        ];
        assert_eq!(merged(&three).len(), 2);
    }
}
