//! What the world knows of a buffer, and what it changed.

use slackwater_core::{
    Body, Datagram, Direction, FlowId, Instant, Packet, PacketView as _, QuicBits, QuicData,
    QuicLong, Segment, SegmentBits, TcpFlags,
};
use slackwater_signal::ReportBody;
use slackwater_transport::quic::BESIDE_DATA;
use slackwater_wire::{IpBuf, IpPacket, report};

/// Reads the headers of `ip` into a packet of `flow` that was emitted at `created`.
pub fn read(ip: &IpBuf, flow: FlowId, up: bool, created: Instant) -> Packet {
    let total = ip.len();
    let mut p = Packet {
        created,
        flow,
        len: total.min(u32::from(u16::MAX)) as u16,
        ecn: ip.ecn(),
        dir: if up { Direction::Up } else { Direction::Down },
        body: Body::default(),
    };
    let Some(tcp) = ip.tcp() else {
        // Datagrams and everything else: the transport's payload, as far as it shows.
        let headers = if ip.is_v6() { 40 } else { 20 } + if ip.ports().is_some() { 8 } else { 0 };
        p.body = Body::Datagram(Datagram {
            payload: total.saturating_sub(headers).min(u32::from(u16::MAX)) as u16,
            ..Datagram::default()
        });
        return p;
    };

    let mut s = Segment {
        seq: tcp.seq,
        ack: tcp.ack,
        window: tcp.window,
        flags: tcp.flags,
        payload: tcp.payload.min(u32::from(u16::MAX)) as u16,
        ..Segment::default()
    };
    if let Some((value, echo)) = tcp.timestamps {
        s.bits = s.bits.with(SegmentBits::TIMESTAMPS);
        (s.tsval, s.tsecr) = (value, echo);
    }
    if tcp.flags.contains(TcpFlags::SYN) {
        if let Some(options) = ip.syn_options() {
            s.set_syn_options(options);
        }
    } else {
        // A fourth block, possible without time stamps, has no place; functions that read blocks act on the first ones.
        s.set_sack_blocks(&ip.sack());
    }
    p.body = Body::Tcp(s);
    p
}

/// The same packet where its connection opened as QUIC does: `short` is the spin bit of a short header. Encryption hides what it carries: its
/// payload is taken to be that of a simulated packet, UDP's less one header and the frame of one stream.
pub fn as_quic(packet: &Packet, short: Option<bool>) -> Packet {
    let payload = packet.payload();
    let body = match short {
        None => Body::QuicLong(QuicLong {
            payload,
            ..QuicLong::default()
        }),
        Some(spin) => Body::QuicData(QuicData {
            payload: payload.saturating_sub(BESIDE_DATA),
            bits: if spin { QuicBits::SPIN } else { QuicBits::NONE },
            ..QuicData::default()
        }),
    };
    Packet { body, ..*packet }
}

/// The same packet where it carries so many bytes of media.
pub fn as_media(packet: &Packet, bytes: usize) -> Packet {
    let body = Body::Datagram(Datagram {
        payload: u16::try_from(bytes).unwrap_or(u16::MAX),
        ..Datagram::default()
    });
    Packet { body, ..*packet }
}

/// Writes into `bytes` what the world changed between `before` and `after`; a packet that has grown stays below `mtu`.
pub fn write_back(bytes: Vec<u8>, before: &Packet, after: &Packet, mtu: usize) -> Vec<u8> {
    let (old, new) = (before.segment(), after.segment());
    let changed = |field: fn(&Segment) -> u32| old.map(field) != new.map(field);
    let window = changed(|s| u32::from(s.window));
    let ack = changed(|s| s.ack.0);
    let report = match (old.and_then(Segment::report), new.and_then(Segment::report)) {
        (None, Some(report)) => Some(report),
        _ => None,
    };
    if before.ecn == after.ecn && !window && !ack && report.is_none() {
        return bytes;
    }
    let mut ip = IpPacket::new(bytes).expect("headers were read when the packet came");
    if before.ecn != after.ecn {
        ip.set_ecn(after.ecn);
    }
    if let Some(new) = new.filter(|_| window) {
        ip.set_tcp_window(new.window);
    }
    if let Some(new) = new.filter(|_| ack) {
        ip.set_tcp_ack(new.ack);
    }
    let mut bytes = ip.into_inner();
    if let Some(report) = report {
        let body = ReportBody(report);
        // Without room the acknowledgment goes on without a report, as on any path.
        let _skipped = report::insert(&mut bytes, body, mtu);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use slackwater_core::packet::OptionRoom;
    use slackwater_core::{Ecn, SackBlock, SeqNum, SynOptions};
    use slackwater_wire::{IpVersion, packet};

    use super::*;

    fn ack() -> Packet {
        let mut s = Segment {
            seq: SeqNum(77),
            ack: SeqNum(1_000_000),
            window: 4_000,
            flags: TcpFlags::ACK,
            tsval: 4,
            tsecr: 3,
            bits: SegmentBits::TIMESTAMPS,
            ..Segment::default()
        };
        s.set_sack_blocks(&[
            SackBlock {
                start: SeqNum(5),
                end: SeqNum(9),
            },
            SackBlock {
                start: SeqNum(1),
                end: SeqNum(2),
            },
        ]);
        Packet {
            created: Instant::from_millis(3),
            flow: FlowId(9),
            ecn: Ecn::Ect0,
            len: 40 + 12 + 20,
            dir: Direction::Up,
            body: Body::Tcp(s),
        }
    }

    fn bytes_of(p: &Packet, version: IpVersion) -> Vec<u8> {
        let mut bytes = Vec::new();
        packet::encode(p, version, usize::MAX, &mut bytes);
        bytes
    }

    #[test]
    fn headers_are_read_as_the_simulator_has_them() {
        let sent = ack();
        let ip = IpPacket::new(bytes_of(&sent, IpVersion::V4)).unwrap();
        assert_eq!(read(&ip, sent.flow, true, sent.created), sent);
        let mut offer = *sent.segment().unwrap();
        offer.flags = TcpFlags::SYN;
        offer.set_sack_blocks(&[]);
        offer.room = OptionRoom::EMPTY;
        offer.set_syn_options(SynOptions {
            mss: Some(1448),
            window_scale: Some(7),
            sack_permitted: true,
        });
        let syn = Packet {
            len: 60,
            body: Body::Tcp(offer),
            ..sent
        };
        let ip = IpPacket::new(bytes_of(&syn, IpVersion::V4)).unwrap();
        assert_eq!(read(&ip, syn.flow, true, syn.created), syn);
    }

    #[test]
    fn payload_of_a_quic_packet_is_the_data_of_its_stream() {
        let data = QuicData {
            payload: 1_435,
            ..QuicData::default()
        };
        let sent = Packet {
            len: 1_500,
            body: Body::QuicData(data),
            ..ack()
        };
        let ip = IpPacket::new(bytes_of(&sent, IpVersion::V4)).unwrap();
        let datagram = read(&ip, sent.flow, true, sent.created);
        assert_eq!(datagram.payload(), 1_472);
        assert_eq!(as_quic(&datagram, Some(false)).payload(), 1_435);
        assert_eq!(as_quic(&datagram, None).payload(), 1_472);
        // An ACK of one range has less than a frame of data would.
        let ack = Datagram {
            payload: 35,
            ..Datagram::default()
        };
        let ack = Packet {
            body: Body::Datagram(ack),
            ..sent
        };
        assert_eq!(as_quic(&ack, Some(true)).payload(), 0);
    }

    #[test]
    fn changes_come_back_with_right_checksums() {
        for version in [IpVersion::V4, IpVersion::V6] {
            let bytes = bytes_of(&ack(), version);
            let ip = IpPacket::new(bytes.clone()).unwrap();
            let before = read(&ip, FlowId(9), true, Instant::ZERO);
            assert_eq!(write_back(bytes.clone(), &before, &before, 1500), bytes);
            let mut after = before;
            after.ecn = Ecn::Ce;
            after.set_tcp_window(17);
            after.set_tcp_ack(SeqNum(999));
            let report = [0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4];
            after.segment_mut().unwrap().set_report(report);
            let changed = IpPacket::new(write_back(bytes, &before, &after, 1500)).unwrap();
            assert!(changed.checksums_hold(), "{version:?}");
            assert_eq!(changed.ecn(), Ecn::Ce);
            let tcp = changed.tcp().unwrap();
            assert_eq!((tcp.window, tcp.ack), (17, SeqNum(999)));
            assert_eq!(report::find(&changed), Some(ReportBody(report)));
            assert_eq!(changed.sack().len(), 2);
        }
    }
}
