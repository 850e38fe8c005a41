use proptest::prelude::*;
use slackwater_core::packet::Blocks;
use slackwater_core::{Ecn, Instant};

use super::*;
use crate::ip::IpBuf;

fn bytes_of(p: &Packet, version: IpVersion) -> Vec<u8> {
    let mut out = Vec::new();
    encode(p, version, usize::MAX, &mut out);
    out
}

#[test]
fn a_data_segment_has_the_bytes_that_it_should() {
    let p = Packet {
        flow: FlowId(0x01_00_02_03),
        len: 1500,
        ecn: Ecn::Ect0,
        body: Body::Tcp(Segment {
            seq: SeqNum(1),
            ack: SeqNum(2),
            payload: 1448,
            window: 0x1234,
            flags: TcpFlags::ACK,
            bits: SegmentBits::TIMESTAMPS,
            tsval: 3,
            tsecr: 4,
            ..Segment::default()
        }),
        ..Packet::default()
    };
    let bytes = bytes_of(&p, IpVersion::V4);
    assert_eq!(bytes.len(), 1500);
    assert_eq!(bytes[..10], [0x45, 2, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6]);
    assert_eq!(bytes[12..20], [192, 0, 2, 1, 10, 0, 2, 3]);
    assert_eq!(bytes[20..24], [0x14, 0x51, 0x9c, 0x41]);
    assert_eq!(
        bytes[24..36],
        [0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x10, 0x12, 0x34]
    );
    assert_eq!(bytes[40..52], [1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4]);
    assert!(bytes[52..].iter().all(|b| *b == 0));
}

#[test]
fn a_quic_packet_shows_its_header_and_hides_the_rest() {
    let (pn, connection) = (SeqNum(0x1_2345), 2);
    let p = Packet {
        flow: FlowId(3),
        len: 1500,
        dir: Direction::Up,
        body: Body::QuicData(QuicData {
            pn,
            connection,
            payload: 1435,
            bits: QuicBits::SPIN.with(QuicBits::STREAM),
            ..QuicData::default()
        }),
        ..Packet::default()
    };
    let bytes = bytes_of(&p, IpVersion::V4);
    assert_eq!(bytes.len(), 1500);
    assert_eq!(bytes[22..26], [0x01, 0xbb, 0x05, 0xc8]);
    assert_eq!(bytes[28..39], [0x61, 0, 0, 0, 3, 0, 2, 0, 0, 0x23, 0x45]);
    assert!(bytes[39..].iter().all(|b| *b == 0));
    let seen = decode(&bytes).unwrap();
    assert_eq!(seen.spin_bit(), Some(true));
    assert_eq!((seen.number(), seen.flow), (0x2345, p.flow));
    let Body::QuicData(q) = seen.body else {
        panic!("a short header: {seen:?}");
    };
    assert_eq!(q.connection, connection);
    let long = Packet {
        len: 1228,
        body: Body::QuicLong(QuicLong {
            pn,
            connection,
            ..QuicLong::default()
        }),
        ..p
    };
    let bytes = bytes_of(&long, IpVersion::V6);
    assert_eq!(bytes.len(), 1248);
    // The length field counts what follows it.
    let at = 40 + 8 + 24;
    let left = usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]) & 0x3fff);
    assert_eq!(left, bytes.len() - at - 2);
    let seen = decode(&bytes).unwrap();
    assert_eq!((seen.spin_bit(), seen.number()), (None, 0x2345));
}

#[test]
fn a_syn_carries_its_options() {
    let mut syn = Segment {
        flags: TcpFlags::SYN,
        bits: SegmentBits::TIMESTAMPS,
        ..Segment::default()
    };
    syn.set_syn_options(SynOptions {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
    });
    let p = Packet {
        len: 60,
        dir: Direction::Up,
        body: Body::Tcp(syn),
        ..Packet::default()
    };
    let bytes = bytes_of(&p, IpVersion::V4);
    assert_eq!(bytes.len(), 60);
    assert_eq!(
        bytes[40..],
        [
            1, 2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 3, 3, 7
        ]
    );
    assert_eq!(decode(&bytes), Ok(p));
}

#[test]
fn a_report_two_blocks_and_time_stamps_fill_the_header() {
    let block = |a, b| SackBlock {
        start: SeqNum(a),
        end: SeqNum(b),
    };
    let mut ack = Segment {
        flags: TcpFlags::ACK,
        bits: SegmentBits::TIMESTAMPS,
        ..Segment::default()
    };
    ack.set_sack_blocks(&[block(1, 2), block(3, 4)]);
    ack.set_report([0, 0, 0, 5, 0, 0, 0, 6]);
    let p = Packet {
        len: 80,
        dir: Direction::Up,
        body: Body::Tcp(ack),
        ..Packet::default()
    };
    let bytes = bytes_of(&p, IpVersion::V4);
    assert_eq!(bytes.len(), 80);
    assert_eq!(decode(&bytes), Ok(p));
}

#[test]
fn a_snaplen_cuts_the_payload_and_never_the_headers() {
    let p = Packet {
        len: 1500,
        body: Body::Tcp(Segment {
            payload: 1460,
            ..Segment::default()
        }),
        ..Packet::default()
    };
    for (snaplen, kept) in [(0, 40), (40, 40), (96, 96), (9000, 1500)] {
        let mut out = vec![9];
        assert_eq!(encode(&p, IpVersion::V4, snaplen, &mut out), 1500);
        assert_eq!(out.len() - 1, kept);
        assert_eq!(decode(&out[1..]).map(|d| d.payload()), Ok(1460));
    }
}

#[test]
fn foreign_packets_are_refused() {
    let mut bytes = bytes_of(
        &Packet {
            len: 40,
            ..Packet::default()
        },
        IpVersion::V4,
    );
    bytes[12] = 8;
    let error = decode(&bytes).expect_err("not the server").to_string();
    assert!(error.starts_with("byte 12: found addresses"), "{error}");
}

fn segments() -> impl Strategy<Value = Segment> {
    let blocks = prop::collection::vec((any::<u32>(), any::<u32>()), 0..4);
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
    let header = (0_u16..9000, any::<u16>(), 0_u16..0x200, 0_u8..16);
    let syn = (
        any::<Option<u16>>(),
        any::<Option<u8>>(),
        any::<bool>(),
        any::<[u8; 8]>(),
    );
    (blocks, numbers, header, syn).prop_map(
        |(
            blocks,
            (seq, ack, tsval, tsecr),
            (payload, window, flags, bits),
            (mss, window_scale, sack_permitted, report),
        )| {
            let mut s = Segment {
                seq: SeqNum(seq),
                ack: SeqNum(ack),
                tsval,
                tsecr,
                window,
                flags: TcpFlags(flags),
                payload,
                bits: SegmentBits(bits).without(SegmentBits::REPORT),
                ..Segment::default()
            };
            if s.flags.contains(TcpFlags::SYN) {
                s.set_syn_options(SynOptions {
                    mss,
                    window_scale,
                    sack_permitted,
                });
                return s;
            }
            let block = |&(a, b): &(u32, u32)| SackBlock {
                start: SeqNum(a),
                end: SeqNum(b),
            };
            s.set_sack_blocks(&blocks.iter().map(block).collect::<Vec<_>>());
            if SegmentBits(bits).contains(SegmentBits::REPORT) {
                s.set_report(report);
            }
            s
        },
    )
}

fn packets() -> impl Strategy<Value = Packet> {
    let datagrams = (any::<[u32; 4]>(), 0_u16..9000).prop_map(|(numbers, payload)| {
        let [number, frame, index, packets] = numbers;
        Body::Datagram(Datagram {
            number,
            frame,
            index,
            packets,
            payload,
        })
    });
    let bodies = prop_oneof![segments().prop_map(Body::Tcp), datagrams];
    (any::<u32>(), bodies, 0_u8..4, any::<bool>()).prop_map(|(flow, body, ecn, up)| Packet {
        created: Instant::from_nanos(u64::from(flow)),
        flow: FlowId(flow),
        len: 0,
        ecn: Ecn::from_bits(ecn),
        dir: if up { Direction::Up } else { Direction::Down },
        body,
    })
}

/// What of `p` the wire can carry.
fn carried(p: &Packet, len: u32) -> Packet {
    let mut p = *p;
    p.created = Instant::ZERO;
    p.len = len as u16;
    match &mut p.body {
        Body::Tcp(s) => {
            let notes = SegmentBits::RETRANSMISSION.with(SegmentBits::TRAIN);
            s.bits = s.bits.without(notes);
            if !s.bits.contains(SegmentBits::TIMESTAMPS) {
                (s.tsval, s.tsecr) = (0, 0);
            }
            // What a report took the place of is gone.
            if s.report().is_some() {
                assert_ne!(s.blocks, Blocks::Three);
            }
        }
        Body::Datagram(d) if d.payload < 16 => {
            *d = Datagram {
                payload: d.payload,
                ..Datagram::default()
            };
        }
        _ => {}
    }
    p
}

proptest! {
    #[test]
    fn a_packet_comes_back(p in packets(), v6 in any::<bool>()) {
        let version = if v6 { IpVersion::V6 } else { IpVersion::V4 };
        let mut bytes = Vec::new();
        let len = encode(&p, version, usize::MAX, &mut bytes);
        prop_assert_eq!(bytes.len() as u32, len);
        let ip = IpBuf::new(bytes.clone()).expect("well-formed");
        prop_assert!(ip.checksums_hold());
        let len = len - if v6 { 20 } else { 0 };
        prop_assert_eq!(decode(&bytes), Ok(carried(&p, len)));
    }

    #[test]
    fn hostile_bytes_do_no_harm(
        p in packets(),
        hits in prop::collection::vec((0_usize..120, any::<u8>()), 0..8),
        keep in 0_usize..200,
    ) {
        let mut bytes = Vec::new();
        encode(&p, IpVersion::V4, usize::MAX, &mut bytes);
        for (at, value) in hits {
            if let Some(b) = bytes.get_mut(at) {
                *b = value;
            }
        }
        bytes.truncate(keep);
        let _ = decode(&bytes);
    }
}
