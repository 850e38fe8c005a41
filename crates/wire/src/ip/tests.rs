use proptest::prelude::*;
use slackwater_core::packet::{Blocks, OptionRoom};
use slackwater_core::{Body, Datagram, Direction, FlowId, Packet, Segment, SegmentBits};

use super::*;
use crate::packet::{IpVersion, encode};

const SEGMENT: Body = Body::Tcp(Segment {
    room: OptionRoom::EMPTY,
    seq: SeqNum(0xffff_fff0),
    ack: SeqNum(99),
    tsval: 5,
    tsecr: 6,
    window: 501,
    flags: TcpFlags::ACK.with(TcpFlags::AE),
    payload: 1448,
    bits: SegmentBits::TIMESTAMPS,
    blocks: Blocks::None,
});

const DATAGRAM: Body = Body::Datagram(Datagram {
    number: 0xffff_fff0,
    frame: 5,
    index: 99,
    packets: 6,
    payload: 1448,
});

fn sample(body: Body, version: IpVersion) -> IpBuf {
    let p = Packet {
        flow: FlowId(7),
        len: 1500,
        ecn: Ecn::Ect1,
        body,
        ..Packet::default()
    };
    let mut out = Vec::new();
    encode(&p, version, usize::MAX, &mut out);
    IpBuf::new(out).expect("well-formed")
}

#[test]
fn a_segment_shows_its_fields() {
    for (version, len) in [(IpVersion::V4, 1500), (IpVersion::V6, 1520)] {
        let ip = sample(SEGMENT, version);
        assert_eq!(ip.len(), len);
        assert_eq!(ip.ecn(), Ecn::Ect1);
        assert!(ip.checksums_hold());
        let tcp = ip.tcp().expect("TCP");
        assert_eq!(tcp.seq, SeqNum(0xffff_fff0));
        assert_eq!((tcp.ack, tcp.window, tcp.payload), (SeqNum(99), 501, 1448));
        assert_eq!(tcp.flags, TcpFlags::ACK.with(TcpFlags::AE));
        assert_eq!(tcp.timestamps, Some((5, 6)));
        assert_eq!(ip.spin_bit(), None);
    }
}

#[test]
fn rewriting_keeps_the_checksums_right() {
    for version in [IpVersion::V4, IpVersion::V6] {
        let mut ip = sample(SEGMENT, version);
        ip.set_ecn(Ecn::Ce);
        ip.set_tcp_window(0);
        ip.set_tcp_ack(SeqNum(0xdead_beef));
        assert!(ip.checksums_hold());
        let tcp = ip.tcp().expect("TCP");
        assert_eq!((tcp.ack, tcp.window), (SeqNum(0xdead_beef), 0));
        assert_eq!(ip.ecn(), Ecn::Ce);
        // The check would notice.
        ip.bytes[60] ^= 1;
        assert!(!ip.checksums_hold());
    }
}

#[test]
fn keys_tell_flows_and_directions_apart() {
    let key = |flow, dir| {
        let p = Packet {
            flow: FlowId(flow),
            len: 40,
            dir,
            ..Packet::default()
        };
        let mut out = Vec::new();
        encode(&p, IpVersion::V4, usize::MAX, &mut out);
        IpBuf::new(out).expect("well-formed").flow_key()
    };
    let down = Direction::Down;
    assert_eq!(key(1, down), key(1, down));
    assert_ne!(key(1, down), key(2, down));
    assert_ne!(key(1, down), key(1, Direction::Up));
    assert_ne!(key(1, down), key(1 | 1 << 24, down));
}

#[test]
fn the_reverse_key_is_the_answers_key() {
    for version in [IpVersion::V4, IpVersion::V6] {
        for body in [SEGMENT, DATAGRAM] {
            let down = sample(body, version);
            let mut bytes = down.bytes().to_vec();
            // Swap the addresses and the ports by hand.
            let (at, size, ports) = match version {
                IpVersion::V4 => (12, 4, 20),
                IpVersion::V6 => (8, 16, 40),
            };
            bytes[at..at + 2 * size].rotate_left(size);
            bytes[ports..ports + 4].rotate_left(2);
            let up = IpBuf::new(bytes).expect("well-formed");
            assert_eq!(down.reverse_key(), up.flow_key());
            assert_eq!(up.reverse_key(), down.flow_key());
        }
    }
}

#[test]
fn quic_short_headers_show_the_spin_bit() {
    let mut ip = sample(DATAGRAM, IpVersion::V4);
    for (first, spin) in [
        (0x40, Some(false)),
        (0x60, Some(true)),
        (0xc0, None),
        (0x00, None),
    ] {
        ip.bytes[28] = first;
        assert_eq!(ip.spin_bit(), spin, "{first:#x}");
    }
    assert_eq!(ip.tcp(), None);
}

#[test]
fn extension_headers_are_walked() {
    let plain = sample(SEGMENT, IpVersion::V6).into_inner();
    let mut bytes = plain[..40].to_vec();
    bytes[6] = 0;
    bytes[5] = bytes[5].wrapping_add(16);
    bytes[4] += u8::from(bytes[5] < 16);
    // Hop-by-hop, then a first fragment, then TCP.
    bytes.extend([44, 0, 1, 4, 0, 0, 0, 0]);
    bytes.extend([TCP, 0, 0, 1, 0, 0, 0, 0]);
    bytes.extend(&plain[40..]);
    let ip = IpBuf::new(bytes.clone()).expect("well-formed");
    assert_eq!(ip.tcp().map(|t| t.payload), Some(1448));
    // A later fragment has no header.
    bytes[51] = 8;
    assert_eq!(IpBuf::new(bytes).expect("well-formed").tcp(), None);
}

#[test]
fn a_later_fragment_has_no_transport_header() {
    let mut bytes = sample(SEGMENT, IpVersion::V4).into_inner();
    bytes[7] = 1;
    let ip = IpBuf::new(bytes).expect("well-formed");
    assert_eq!((ip.protocol(), ip.tcp()), (None, None));
}

#[test]
fn errors_name_the_place() {
    let error = |bytes: &[u8]| IpBuf::new(bytes.to_vec()).expect_err("broken").to_string();
    assert_eq!(error(&[]), "byte 0: found no byte, expected an IP header");
    assert_eq!(
        error(&[0x55]),
        "byte 0: found IP version 5, expected version 4 or 6"
    );
    assert!(error(&[0x44; 30]).starts_with("byte 0: found a header of 16 bytes"));
    let mut short = [0; 20];
    short[0] = 0x45;
    assert!(error(&short).starts_with("byte 2: found total length 0"));
}

/// Calls everything; nothing may panic.
fn exercise(bytes: Vec<u8>) {
    let Ok(mut ip) = IpBuf::new(bytes) else {
        return;
    };
    let before = ip.bytes().to_vec();
    let _ = (ip.len(), ip.flow_key(), ip.ecn(), ip.tcp(), ip.spin_bit());
    let held = ip.checksums_hold();
    ip.set_ecn(Ecn::Ce);
    assert_eq!(ip.ecn(), Ecn::Ce);
    ip.set_tcp_window(1);
    ip.set_tcp_ack(SeqNum(2));
    if let Some(tcp) = ip.tcp() {
        assert_eq!((tcp.window, tcp.ack), (1, SeqNum(2)));
    }
    assert!(!held || ip.checksums_hold());
    assert_eq!(ip.bytes().len(), before.len());
}

proptest! {
    #[test]
    fn hostile_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        exercise(bytes);
    }

    #[test]
    fn nearly_right_packets_do_no_harm(
        v6 in any::<bool>(),
        udp in any::<bool>(),
        keep in 0_usize..200,
        hits in prop::collection::vec((0_usize..90, any::<u8>()), 0..6),
    ) {
        let version = if v6 { IpVersion::V6 } else { IpVersion::V4 };
        let body = if udp { DATAGRAM } else { SEGMENT };
        let mut bytes = sample(body, version).into_inner();
        for (at, value) in hits {
            bytes[at] = value;
        }
        bytes.truncate(keep.max(20));
        exercise(bytes);
    }
}
