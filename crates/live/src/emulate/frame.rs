//! Frames of a TUN device with a virtio header: super-packets become the packets that a link would see, and unfinished
//! checksums are finished.

use slackwater_wire::checksum;

/// Bytes of the header in front of each frame (`struct virtio_net_hdr`; VIRTIO 1.2, 5.1.6).
pub const HEADER: usize = 10;
/// The largest frame: a 64 KiB packet behind its header.
pub const FRAME_MAX: usize = HEADER + 65_575;

/// Protocol numbers (IANA).
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The checksum is to be filled in (VIRTIO 1.2, 5.1.6).
const NEEDS_CSUM: u8 = 1;
/// The checksum was looked at and holds (VIRTIO 1.2, 5.1.6).
const DATA_VALID: u8 = 2;
/// Kinds of super-packets, and the bit for a CWR flag that the first segment alone carries.
mod gso {
    pub(super) const NONE: u8 = 0;
    pub(super) const TCPV4: u8 = 1;
    pub(super) const TCPV6: u8 = 4;
    pub(super) const UDP_L4: u8 = 5;
    pub(super) const ECN: u8 = 0x80;
}

/// What stands in front of a frame, in the machine's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Vnet {
    flags: u8,
    gso_type: u8,
    gso_size: usize,
    csum_start: usize,
    csum_offset: usize,
}

impl Vnet {
    fn of(bytes: &[u8; HEADER]) -> Self {
        let word = |at: usize| usize::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
        Self {
            flags: bytes[0],
            gso_type: bytes[1],
            gso_size: word(4),
            csum_start: word(6),
            csum_offset: word(8),
        }
    }
}

/// What a frame's virtio header says of datagrams in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// The checksum is known to hold, or is yet to be filled in on the way to a link (VIRTIO 1.2, 5.1.6).
    pub summed: bool,
    /// Octets of each datagram of a super-packet, 0 where the frame is one packet; `None` where it is a super-packet of
    /// another kind.
    pub datagrams: Option<usize>,
}

impl Offload {
    /// Reads `header`.
    pub fn of(header: &[u8; HEADER]) -> Self {
        let vnet = Vnet::of(header);
        Self {
            summed: vnet.flags & (NEEDS_CSUM | DATA_VALID) != 0,
            datagrams: match vnet.gso_type & !gso::ECN {
                gso::NONE => Some(0),
                gso::UDP_L4 => Some(vnet.gso_size).filter(|size| *size > 0),
                _ => None,
            },
        }
    }
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Calls `each` with every packet of `frame`, complete with lengths and checksums. False where the frame makes no sense:
/// nothing, or the packets before the place that does not, were handed out.
pub fn packets(frame: &[u8], each: impl FnMut(Vec<u8>)) -> bool {
    let Some((header, packet)) = frame.split_first_chunk::<HEADER>() else {
        return false;
    };
    packets_behind(header, 0, packet, &mut plain(each))
}

/// Where packets are put that are cut out of frames.
pub trait Sink {
    /// Memory for the next packet, of `length` octets, which is put behind the octets that are there.
    fn memory(&mut self, length: usize) -> Vec<u8>;
    /// Takes it.
    fn take(&mut self, packet: Vec<u8>);
}

/// New memory for each packet, and nothing in front.
pub fn plain(each: impl FnMut(Vec<u8>)) -> impl Sink {
    Plain(each)
}

struct Plain<F>(F);

impl<F: FnMut(Vec<u8>)> Sink for Plain<F> {
    fn memory(&mut self, length: usize) -> Vec<u8> {
        Vec::with_capacity(length)
    }
    fn take(&mut self, packet: Vec<u8>) {
        (self.0)(packet);
    }
}

/// As [`packets`], for a packet whose `header` counts from `before` octets in front of it.
pub fn packets_behind(
    header: &[u8; HEADER],
    before: usize,
    packet: &[u8],
    sink: &mut impl Sink,
) -> bool {
    let mut vnet = Vnet::of(header);
    let wants_sum = vnet.flags & NEEDS_CSUM != 0;
    if wants_sum || vnet.gso_type != gso::NONE {
        let Some(start) = vnet.csum_start.checked_sub(before) else {
            return false;
        };
        vnet.csum_start = start;
    }
    match vnet.gso_type & !gso::ECN {
        gso::NONE => {
            let mut out = sink.memory(packet.len());
            let room = out.len();
            out.extend_from_slice(packet);
            if wants_sum && !fill_checksum(&mut out[room..], &vnet) {
                return false;
            }
            sink.take(out);
            true
        }
        gso::TCPV4 | gso::TCPV6 => segment(packet, &vnet, TCP, sink).is_some(),
        gso::UDP_L4 => segment(packet, &vnet, UDP, sink).is_some(),
        _ => false,
    }
}

/// The field holds the sum of the pseudo-header; the rest is ours.
fn fill_checksum(packet: &mut [u8], vnet: &Vnet) -> bool {
    let at = vnet.csum_start + vnet.csum_offset;
    if at + 2 > packet.len() {
        return false;
    }
    let mut sum = checksum::finish(checksum::sum(&packet[vnet.csum_start..]));
    // Zero would mean that there is none (RFC 768); as a sum, both zeros are one.
    if sum == [0, 0] {
        sum = [0xff, 0xff];
    }
    packet[at..at + 2].copy_from_slice(&sum);
    true
}

/// Most bytes of headers in a packet that is cut: IPv6 (40), a routing header of 24 segments (RFC 8754, 2), TCP with all its options (60).
/// Each segment has them again. Without a bound 64 KiB, half of them headers, would become a gigabyte.
const HEADERS: usize = 512;

/// Cuts a super-packet into packets of `gso_size` bytes of payload.
fn segment(packet: &[u8], vnet: &Vnet, protocol: u8, sink: &mut impl Sink) -> Option<()> {
    let at = vnet.csum_start;
    let v6 = match packet.first()? >> 4 {
        4 => false,
        6 => true,
        _ => return None,
    };
    let head = at
        + if protocol == TCP {
            usize::from(*packet.get(at + 12)? >> 4) * 4
        } else {
            8
        };
    let least = if v6 { 40 } else { 20 };
    let transport = if protocol == TCP { 20 } else { 8 };
    let ip = usize::from(packet[0] & 0xf) * 4;
    let whole = at >= least && head >= at + transport && head <= packet.len().min(HEADERS);
    // An IPv4 header may be longer than 20 bytes, but not longer than where the next begins.
    if !whole || vnet.gso_size == 0 || (!v6 && !(20..=at).contains(&ip)) {
        return None;
    }
    let (headers, payload) = packet.split_at(head);
    let addresses = if v6 {
        &headers[8..40]
    } else {
        &headers[12..20]
    };
    let addresses = checksum::sum(addresses);
    let identification = if v6 { 0 } else { be16(headers, 4)? };
    let sequence = u32::from_be_bytes(headers[at + 4..at + 8].try_into().ok()?);
    let count = payload.len().div_ceil(vnet.gso_size).max(1);
    for k in 0..count {
        let from = k * vnet.gso_size;
        let piece = &payload[from..payload.len().min(from + vnet.gso_size)];
        let mut whole = sink.memory(head + piece.len());
        let room = whole.len();
        whole.extend_from_slice(headers);
        whole.extend_from_slice(piece);
        let out = &mut whole[room..];
        let total = out.len();
        if v6 {
            put16(out, 4, (total - 40) as u16);
        } else {
            put16(out, 2, total as u16);
            put16(out, 4, identification.wrapping_add(k as u16));
            out[10..12].fill(0);
            let sum = checksum::finish(checksum::sum(&out[..ip]));
            out[10..12].copy_from_slice(&sum);
        }
        let field = if protocol == TCP {
            let number = sequence.wrapping_add(from as u32);
            out[at + 4..at + 8].copy_from_slice(&number.to_be_bytes());
            let flags = &mut out[at + 13];
            if k + 1 < count {
                // FIN and PSH belong to the last.
                *flags &= !0x09;
            }
            if k > 0 {
                // CWR belongs to the first (RFC 3168, 6.1.2).
                *flags &= !0x80;
            }
            at + 16
        } else {
            put16(out, at + 4, (total - at) as u16);
            at + 6
        };
        out[field..field + 2].fill(0);
        let pseudo = addresses + checksum::pseudo(protocol, (total - at) as u32);
        let mut sum = checksum::finish(pseudo + checksum::sum(&out[at..]));
        if protocol == UDP && sum == [0, 0] {
            sum = [0xff, 0xff];
        }
        out[field..field + 2].copy_from_slice(&sum);
        sink.take(whole);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use slackwater_core::{
        Body, Datagram, Packet, PacketView as _, Segment, SegmentBits, SeqNum, TcpFlags,
    };
    use slackwater_wire::{IpPacket, IpVersion, packet};

    use super::*;

    fn tcp(payload: u16, version: IpVersion) -> Vec<u8> {
        let p = Packet {
            len: 52 + payload,
            body: Body::Tcp(Segment {
                seq: SeqNum(u32::MAX - 1000),
                ack: SeqNum(5),
                flags: TcpFlags::ACK
                    .with(TcpFlags::PSH)
                    .with(TcpFlags::FIN)
                    .with(TcpFlags::CWR),
                bits: SegmentBits::TIMESTAMPS,
                payload,
                ..Segment::default()
            }),
            ..Packet::default()
        };
        let mut bytes = Vec::new();
        packet::encode(&p, version, usize::MAX, &mut bytes);
        for (k, b) in bytes.iter_mut().skip(100).enumerate() {
            *b = k as u8;
        }
        bytes
    }

    fn framed(kind: u8, size: u16, start: u16, offset: u16, packet: &[u8]) -> Vec<u8> {
        let mut frame = vec![NEEDS_CSUM, kind, 0, 0];
        for word in [size, start, offset] {
            frame.extend(word.to_ne_bytes());
        }
        frame.extend(packet);
        frame
    }

    fn cut(frame: &[u8]) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        assert!(packets(frame, |p| out.push(p)));
        out
    }

    #[test]
    fn a_super_packet_becomes_segments_with_right_checksums() {
        for (version, kind, start) in [(IpVersion::V4, 1, 20), (IpVersion::V6, 4, 40)] {
            let whole = tcp(10_000, version);
            let parts = cut(&framed(kind | gso::ECN, 1448, start, 16, &whole));
            assert_eq!(parts.len(), 7);
            let mut payload: Vec<u8> = Vec::new();
            for (k, part) in parts.iter().enumerate() {
                let ip = IpPacket::new(part.clone()).unwrap();
                assert!(ip.checksums_hold(), "{version:?} segment {k}");
                let header = ip.tcp().unwrap();
                let first = u32::MAX - 1000;
                assert_eq!(header.seq.0, first.wrapping_add(1448 * k as u32));
                assert_eq!(header.flags.contains(TcpFlags::FIN), k == 6);
                assert_eq!(header.flags.contains(TcpFlags::CWR), k == 0);
                payload.extend(&part[part.len() - header.payload as usize..]);
            }
            assert_eq!(payload, whole[whole.len() - 10_000..]);
        }
    }

    #[test]
    fn datagrams_of_one_call_become_datagrams() {
        let p = Packet {
            len: 28 + 3_000,
            body: Body::Datagram(Datagram {
                payload: 3_000,
                ..Datagram::default()
            }),
            ..Packet::default()
        };
        let mut bytes = Vec::new();
        packet::encode(&p, IpVersion::V4, usize::MAX, &mut bytes);
        let parts = cut(&framed(gso::UDP_L4, 1200, 20, 6, &bytes));
        let lengths: Vec<usize> = parts.iter().map(Vec::len).collect();
        assert_eq!(lengths, [1228, 1228, 628]);
        for part in parts {
            assert!(IpPacket::new(part).unwrap().checksums_hold());
        }
    }

    #[test]
    fn an_unfinished_checksum_is_finished() {
        let mut bytes = tcp(777, IpVersion::V4);
        // What the kernel leaves: the sum of the pseudo-header, not complemented.
        let length = (bytes.len() - 20) as u32;
        let pseudo = checksum::sum(&bytes[12..20]) + checksum::pseudo(TCP, length);
        let partial = checksum::finish(pseudo).map(|b| !b);
        bytes[36..38].copy_from_slice(&partial);
        let done = cut(&framed(gso::NONE, 0, 20, 16, &bytes)).remove(0);
        assert!(IpPacket::new(done).unwrap().checksums_hold());
    }

    #[test]
    fn frames_that_make_no_sense_are_refused() {
        let bytes = tcp(3_000, IpVersion::V4);
        let refused = [
            vec![0; 5],
            framed(3, 1448, 20, 16, &bytes),
            framed(gso::TCPV4, 0, 20, 16, &bytes),
            framed(gso::TCPV4, 1448, 4000, 16, &bytes),
            framed(gso::TCPV4, 1448, 20, 16, &bytes[..30]),
            framed(gso::NONE, 0, 60_000, 16, &bytes),
            framed(gso::UDP_L4, 100, 3_051, 6, &bytes),
        ];
        for (k, frame) in refused.iter().enumerate() {
            assert!(!packets(frame, |_| ()), "frame {k} passed");
        }
    }

    // 64 KiB of which half are headers, a byte of payload each: a gigabyte.
    #[test]
    fn headers_that_no_packet_has_are_refused() {
        for (headers, taken) in [(HEADERS, true), (HEADERS + 1, false)] {
            let mut bytes = vec![0; 2 * HEADERS];
            bytes[0] = 0x60;
            let frame = framed(gso::UDP_L4, 1, headers as u16 - 8, 6, &bytes);
            assert_eq!(packets(&frame, |_| ()), taken, "{headers}");
        }
    }

    proptest::proptest! {
        /// Whatever the bytes, nothing panics, and nothing is longer than the frame.
        #[test]
        fn any_bytes_are_survived(mut frame in proptest::collection::vec(proptest::num::u8::ANY, 0..300), kind in 0_u8..6) {
            if frame.len() > 11 {
                frame[1] = kind;
                frame[7] = 0;
                frame[10] = 0x45;
            }
            let length = frame.len();
            packets(&frame, |p| assert!(p.len() <= length));
        }
    }
}
