//! A simulated [`Packet`] as real bytes, and back.
//!
//! Addresses and ports tell the flow: the UE is 10.0.0.0/8 (or `fd00::/96`) with the low 24 (or 32) bits of the flow's
//! number, the server 192.0.2.1 (or `2001:db8::1`, both for documentation: RFC 5737 and RFC 3849). The payload is
//! zeros, except that a datagram of 16 bytes or more starts with its four numbers.
//!
//! Of a QUIC packet the header is written: form, spin bit, a connection ID (flow and connection), packet number. The
//! rest would be encrypted and is zeros; [`decode`] gives what an observer on the path would see.

use slackwater_core::{
    Body, Datagram, Direction, FlowId, Packet, PacketView, QuicAck, QuicBits, QuicData, QuicLong,
    SackBlock, SackList, Segment, SegmentBits, SeqNum, SynOptions, TcpFlags,
};

use crate::WireError;
use crate::checksum;
use crate::ip::{IpPacket, TCP, UDP, pseudo_header};
use crate::report::EXID;

/// Which IP to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpVersion {
    /// RFC 791.
    #[default]
    V4,
    /// RFC 8200. The packet is 20 bytes longer than the simulated one, which counts an IPv4 header.
    V6,
}

/// The server's port of a TCP flow: that of iperf3, which capture tools leave undissected.
const TCP_SERVER: u16 = 5201;
/// The server's port of a datagram flow, likewise.
const UDP_SERVER: u16 = 5202;
/// The server's port of a QUIC flow (RFC 9114, 3.1: that of HTTPS), by which capture tools know it.
const QUIC_SERVER: u16 = 443;
/// The UE's port of flows 0 to 2^24 - 1; the flow's high byte is added.
const UE_PORT: u16 = 40_000;
const SERVER_V4: [u8; 4] = [192, 0, 2, 1];
const SERVER_V6: [u8; 16] = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

/// Option kinds: RFC 9293, 3.2; RFC 7323, 2.2 and 3.2; RFC 2018, 2 and 3; RFC 4727, 4.
mod kind {
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
    pub(super) const EXPERIMENT: u8 = 253;
}

/// Options in the 40 bytes that a header has for them.
struct Options {
    bytes: [u8; 40],
    len: usize,
}

impl Options {
    /// Appends an option; false where it does not fit.
    fn push(&mut self, kind: u8, body: &[u8]) -> bool {
        let end = self.len + 2 + body.len();
        let Some(room) = self.bytes.get_mut(self.len..end) else {
            return false;
        };
        room[0] = kind;
        room[1] = room.len() as u8;
        room[2..].copy_from_slice(body);
        self.len = end;
        true
    }
}

fn pair(a: u32, b: u32) -> [u8; 8] {
    ((u64::from(a) << 32) | u64::from(b)).to_be_bytes()
}

/// The options of `s`, in the order of Linux: those of a SYN, or time stamps, SACK blocks and the report.
fn options_of(s: &Segment) -> Options {
    let mut options = Options {
        bytes: [0; 40],
        len: 0,
    };
    let syn = s.syn_options();
    if let Some(syn) = syn {
        if let Some(mss) = syn.mss {
            options.push(kind::MSS, &mss.to_be_bytes());
        }
        if syn.sack_permitted {
            options.push(kind::SACK_PERMITTED, &[]);
        }
    }
    if s.bits.contains(SegmentBits::TIMESTAMPS) {
        options.push(kind::TIMESTAMPS, &pair(s.tsval, s.tsecr));
    }
    if let Some(syn) = syn {
        if let Some(shift) = syn.window_scale {
            // RFC 7323, 2.3: 14 at most.
            options.push(kind::WINDOW_SCALE, &[shift.min(14)]);
        }
        return options;
    }

    let blocks = s.sack_blocks();
    if !blocks.is_empty() {
        let mut body = [0; 24];
        for (cell, block) in body.chunks_exact_mut(8).zip(blocks) {
            cell.copy_from_slice(&pair(block.start.0, block.end.0));
        }
        options.push(kind::SACK, &body[..blocks.len() * 8]);
    }
    if let Some(report) = s.report() {
        let mut body = [0; 10];
        body[..2].copy_from_slice(&EXID.to_be_bytes());
        body[2..].copy_from_slice(&report);
        options.push(kind::EXPERIMENT, &body);
    }
    options
}

/// The packet's transport header (with the numbers of a datagram) and its checksum field's offset.
fn transport_of(p: &Packet, source: u16, destination: u16) -> (Vec<u8>, usize) {
    let mut out = Vec::with_capacity(60);
    out.extend(source.to_be_bytes());
    out.extend(destination.to_be_bytes());
    match &p.body {
        Body::Tcp(s) => {
            let options = options_of(s);
            // Padded in front, as Linux does, to the length that the simulator counted with, where that is one.
            let counted = i32::from(p.len) - i32::from(s.payload) - 40;
            let needed = options.len.next_multiple_of(4);
            let room = usize::try_from(counted)
                .ok()
                .filter(|n| *n >= needed && *n <= 40 && n % 4 == 0)
                .unwrap_or(needed);
            out.extend(s.seq.0.to_be_bytes());
            out.extend(s.ack.0.to_be_bytes());
            let offset = ((20 + room) / 4) as u16;
            out.extend((offset << 12 | s.flags.0 & 0x1ff).to_be_bytes());
            out.extend(s.window.to_be_bytes());
            // Checksum and urgent pointer.
            out.extend([0; 4]);
            out.extend(std::iter::repeat_n(kind::NOP, room - options.len));
            out.extend(&options.bytes[..options.len]);
            (out, 16)
        }
        Body::QuicLong(q) => {
            let (id, number) = quic_header(p, &mut out, q.connection, q.pn);
            // An Initial of version 1 without a token (RFC 9000, 17.2.2), packet number of 2 bytes.
            out.extend([0xc1, 0, 0, 0, 1, 8]);
            out.extend(id);
            out.push(8);
            out.extend(id);
            let left = p.len.saturating_sub(20 + 8 + 26);
            out.push(0);
            out.extend((0x4000 | left.min(0x3fff)).to_be_bytes());
            out.extend(number);
            (out, 6)
        }
        Body::QuicData(QuicData {
            connection,
            pn,
            bits,
            ..
        })
        | Body::QuicAck(QuicAck {
            connection,
            pn,
            bits,
            ..
        }) => {
            let (id, number) = quic_header(p, &mut out, *connection, *pn);
            // RFC 9000, 17.3.1.
            let spin = u8::from(bits.contains(QuicBits::SPIN)) << 5;
            out.push(0x41 | spin);
            out.extend(id);
            out.extend(number);
            (out, 6)
        }
        Body::Media(_)
        | Body::Rtcp(_)
        | Body::Datagram(_)
        | Body::Report(_)
        | Body::Counters(_) => {
            // RFC 768: the length of header and payload.
            let payload = p.payload();
            out.extend((8 + u32::from(payload)).min(0xffff).to_be_bytes()[2..].iter());
            out.extend([0; 2]);
            if payload >= 16 {
                for number in numbers_of(&p.body) {
                    out.extend(number.to_be_bytes());
                }
            }
            (out, 6)
        }
    }
}

/// Writes the rest of the UDP header below a QUIC packet; its connection ID and its packet number.
fn quic_header(
    p: &Packet,
    out: &mut Vec<u8>,
    connection: u16,
    number: SeqNum,
) -> ([u8; 8], [u8; 2]) {
    // The length of all that lies above IP.
    out.extend((p.len.saturating_sub(20)).to_be_bytes());
    out.extend([0; 2]);
    let [a, b, c, d] = p.flow.0.to_be_bytes();
    let [e, f] = connection.to_be_bytes();
    ([a, b, c, d, e, f, 0, 0], (number.0 as u16).to_be_bytes())
}

/// The four numbers at the start of a datagram: its own, its place in the frame, the frame, the frame's packets.
const fn numbers_of(body: &Body) -> [u32; 4] {
    match body {
        Body::Media(m) => [m.number, m.index, m.frame, m.packets],
        Body::Datagram(d) => [d.number, d.index, d.frame, d.packets],
        _ => [0; 4],
    }
}

/// Source and destination.
fn ordered<T>(up: bool, ue: T, server: T) -> (T, T) {
    if up { (ue, server) } else { (server, ue) }
}

/// Appends `packet` to `out` as an IP packet of which at most `snaplen` bytes are kept (its headers always), and
/// returns its whole length.
///
/// The length is the simulated one where header and options fit it, and what they take otherwise. `created` and the
/// retransmission bit have no place on the wire.
pub fn encode(packet: &Packet, version: IpVersion, snaplen: usize, out: &mut Vec<u8>) -> u32 {
    let p = packet;
    let (protocol, server_port) = match &p.body {
        Body::Tcp(_) => (TCP, TCP_SERVER),
        Body::QuicLong(_) | Body::QuicData(_) | Body::QuicAck(_) => (UDP, QUIC_SERVER),
        Body::Media(_)
        | Body::Rtcp(_)
        | Body::Datagram(_)
        | Body::Report(_)
        | Body::Counters(_) => (UDP, UDP_SERVER),
    };
    let flow = p.flow.0.to_be_bytes();
    let up = p.dir == Direction::Up;
    let ue_port = match version {
        IpVersion::V4 => UE_PORT + u16::from(flow[0]),
        IpVersion::V6 => UE_PORT,
    };
    let (source_port, destination_port) = ordered(up, ue_port, server_port);
    let (mut transport, checksum_at) = transport_of(p, source_port, destination_port);
    let zeros = match server_port {
        TCP_SERVER => usize::from(p.payload()),
        QUIC_SERVER => usize::from(p.len).saturating_sub(20 + transport.len()),
        // A datagram's numbers are payload already.
        _ => usize::from(p.payload()) + 8 - transport.len(),
    };
    // A total length has 16 bits; only a packet that the simulator made longer than that is cut.
    let most = 0xffff - if version == IpVersion::V4 { 20 } else { 0 };
    let length = (transport.len() + zeros).min(most);

    let start = out.len();
    let pseudo = match version {
        IpVersion::V4 => {
            let ue = [10, flow[1], flow[2], flow[3]];
            let (source, destination) = ordered(up, ue, SERVER_V4);
            out.extend([0x45, p.ecn as u8]);
            out.extend(((20 + length) as u16).to_be_bytes());
            // Identification 0 and do not fragment (RFC 6864, 4.1).
            out.extend([0, 0, 0x40, 0]);
            out.extend([64, protocol, 0, 0]);
            out.extend(source);
            out.extend(destination);
            let sum = checksum::finish(checksum::sum(&out[start..]));
            out[start + 10..start + 12].copy_from_slice(&sum);
            pseudo_header(&source, &destination, protocol, length as u32)
        }
        IpVersion::V6 => {
            let mut ue = [0; 16];
            ue[0] = 0xfd;
            ue[12..].copy_from_slice(&flow);
            let (source, destination) = ordered(up, ue, SERVER_V6);
            out.extend([0x60, (p.ecn as u8) << 4, 0, 0]);
            out.extend((length as u16).to_be_bytes());
            out.extend([protocol, 64]);
            out.extend(source);
            out.extend(destination);
            pseudo_header(&source, &destination, protocol, length as u32)
        }
    };
    // Zeros add nothing to the sum.
    let mut sum = checksum::finish(pseudo + checksum::sum(&transport));
    if protocol == UDP && sum == [0; 2] {
        // RFC 768: zero means that there is none.
        sum = [0xff; 2];
    }
    transport[checksum_at..checksum_at + 2].copy_from_slice(&sum);
    out.extend(&transport);
    let headers = out.len() - start;
    let total = headers - transport.len() + length;
    out.resize(start + snaplen.clamp(headers, total.max(headers)), 0);
    total as u32
}

/// Reads a packet that [`encode`] wrote.
///
/// # Errors
/// Anything that is not such a packet: a broken header, foreign addresses or ports, an unknown protocol.
pub fn decode(bytes: &[u8]) -> Result<Packet, WireError> {
    // The view wants to be able to write; the headers are all that is looked at.
    let mut head = [0_u8; 160];
    let kept = bytes.len().min(head.len());
    head[..kept].copy_from_slice(&bytes[..kept]);
    let ip = IpPacket::new(&mut head[..kept])?;
    let at = |offset: usize| {
        ip.bytes()
            .get(offset..offset + 4)
            .map(|w| u32::from_be_bytes([w[0], w[1], w[2], w[3]]))
    };
    let (flow, up) = flow_of(&ip)?;
    let mut p = Packet {
        flow,
        ecn: ip.ecn(),
        dir: if up { Direction::Up } else { Direction::Down },
        ..Packet::default()
    };
    // The simulated length counts an IPv4 header.
    let total = ip.len() - if ip.is_v6() { 20 } else { 0 };
    p.len = total as u16;
    if let Some(tcp) = ip.tcp() {
        let mut s = Segment {
            seq: tcp.seq,
            ack: tcp.ack,
            window: tcp.window,
            flags: tcp.flags,
            payload: tcp.payload as u16,
            ..Segment::default()
        };
        read_options(&ip, &mut s);
        p.body = Body::Tcp(s);
        return Ok(p);
    }
    let Some(udp) = ip.transport(UDP, 8) else {
        return Err(WireError::new(
            9,
            "neither a TCP nor a UDP header",
            "a whole TCP or UDP header",
        ));
    };
    let server = if up { udp + 2 } else { udp };
    if ip.bytes().get(server..server + 2) == Some(&QUIC_SERVER.to_be_bytes()) {
        p.body = read_quic(&ip.bytes()[udp + 8..]);
        return Ok(p);
    }
    let mut datagram = Datagram {
        payload: (ip.len() as usize - udp - 8) as u16,
        ..Datagram::default()
    };
    if datagram.payload >= 16
        && let (Some(number), Some(index), Some(frame), Some(packets)) =
            (at(udp + 8), at(udp + 12), at(udp + 16), at(udp + 20))
    {
        datagram = Datagram {
            number,
            frame,
            index,
            packets,
            ..datagram
        };
    }
    p.body = Body::Datagram(datagram);
    Ok(p)
}

/// The flow and whether the packet goes up, from addresses and ports.
fn flow_of<B: AsRef<[u8]>>(ip: &IpPacket<B>) -> Result<(FlowId, bool), WireError> {
    let foreign = || {
        WireError::new(
            if ip.is_v6() { 8 } else { 12 },
            "addresses and ports of another plan",
            "one side at 192.0.2.1 or 2001:db8::1, the other a UE",
        )
    };
    let at = ip
        .transport(TCP, 4)
        .or_else(|| ip.transport(UDP, 4))
        .ok_or_else(foreign)?;
    let ports = &ip.bytes()[at..at + 4];
    let source_port = u16::from_be_bytes([ports[0], ports[1]]);
    let destination_port = u16::from_be_bytes([ports[2], ports[3]]);
    let (source, destination) = ip.addresses();
    let is_server = |address: &[u8]| address == SERVER_V4 || address == SERVER_V6;
    let (up, ue, port) = match (is_server(source), is_server(destination)) {
        (false, true) => (true, source, source_port),
        (true, false) => (false, destination, destination_port),
        _ => return Err(foreign()),
    };
    let high = port.checked_sub(UE_PORT).and_then(|h| u8::try_from(h).ok());
    let flow = match (ue, high) {
        ([10, a, b, c], Some(high)) => u32::from_be_bytes([high, *a, *b, *c]),
        ([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d], Some(0)) => {
            u32::from_be_bytes([*a, *b, *c, *d])
        }
        _ => return Err(foreign()),
    };
    Ok((FlowId(flow), up))
}

/// What a QUIC packet shows to the path.
fn read_quic(bytes: &[u8]) -> Body {
    let long = bytes.first().is_some_and(|b| b & 0x80 != 0);
    let (id, number) = if long { (6, 26) } else { (1, 9) };
    let pair = |at: usize| {
        bytes
            .get(at..at + 2)
            .map_or(0, |b| u16::from_be_bytes([b[0], b[1]]))
    };
    let connection = pair(id + 4);
    let pn = SeqNum(u32::from(pair(number)));
    if long {
        return Body::QuicLong(QuicLong {
            pn,
            connection,
            ..QuicLong::default()
        });
    }
    let spins = bytes.first().is_some_and(|b| b & 0x20 != 0);
    Body::QuicData(QuicData {
        pn,
        connection,
        bits: if spins {
            QuicBits::SPIN
        } else {
            QuicBits::NONE
        },
        ..QuicData::default()
    })
}

fn read_options(ip: &IpPacket<&mut [u8]>, s: &mut Segment) {
    let word = |body: &[u8], i: usize| {
        body.get(i..i + 4)
            .map_or(0, |w| u32::from_be_bytes([w[0], w[1], w[2], w[3]]))
    };
    let syn = s.flags.contains(TcpFlags::SYN);
    let mut offer = SynOptions::default();
    let mut report = None;
    for (kind, body) in ip.tcp_options() {
        match (kind, body.len()) {
            (kind::MSS, 2) if syn => {
                offer.mss = Some(u16::from_be_bytes([body[0], body[1]]));
            }
            (kind::WINDOW_SCALE, 1) if syn => offer.window_scale = Some(body[0].min(14)),
            (kind::SACK_PERMITTED, 0) if syn => offer.sack_permitted = true,
            (kind::TIMESTAMPS, 8) => {
                s.bits = s.bits.with(SegmentBits::TIMESTAMPS);
                s.tsval = word(body, 0);
                s.tsecr = word(body, 4);
            }
            (kind::SACK, 8 | 16 | 24) if !syn => {
                let block = |cell: &[u8]| SackBlock {
                    start: SeqNum(word(cell, 0)),
                    end: SeqNum(word(cell, 4)),
                };
                let mut blocks = SackList::default();
                body.chunks_exact(8).map(block).for_each(|b| blocks.push(b));
                s.set_sack_blocks(&blocks);
            }
            (kind::EXPERIMENT, 10) if !syn && body[..2] == EXID.to_be_bytes() => {
                report = body[2..].try_into().ok();
            }
            _ => {}
        }
    }
    if syn {
        s.set_syn_options(offer);
    }
    // After the blocks, of which a third would stand in its place.
    if let Some(report) = report {
        s.set_report(report);
    }
}

#[cfg(test)]
mod tests;
