use proptest::prelude::*;
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
        seq: SeqNum(1),
        ack: SeqNum(2),
        len: 1500,
        payload: 1448,
        window: 0x1234,
        flags: TcpFlags::ACK,
        ecn: Ecn::Ect0,
        bits: Packet::BIT_TIMESTAMPS,
        tsval: 3,
        tsecr: 4,
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
    let p = Packet {
        flow: FlowId(3),
        seq: SeqNum(0x1_2345),
        len: 1500,
        payload: 1435,
        window: 2,
        flags: TcpFlags(QuicBits::SPIN.with(QuicBits::STREAM).0),
        proto: Proto::Quic,
        bits: Packet::BIT_UP,
        ..Packet::default()
    };
    let bytes = bytes_of(&p, IpVersion::V4);
    assert_eq!(bytes.len(), 1500);
    assert_eq!(bytes[22..26], [0x01, 0xbb, 0x05, 0xc8]);
    assert_eq!(bytes[28..39], [0x61, 0, 0, 0, 3, 0, 2, 0, 0, 0x23, 0x45]);
    assert!(bytes[39..].iter().all(|b| *b == 0));
    let seen = decode(&bytes).unwrap();
    assert_eq!(seen.spin_bit(), Some(true));
    assert_eq!(
        (seen.seq, seen.window, seen.flow),
        (SeqNum(0x2345), 2, p.flow)
    );
    let long = Packet {
        flags: TcpFlags(QuicBits::LONG.with(QuicBits::CRYPTO).0),
        len: 1228,
        payload: 0,
        ..p
    };
    let bytes = bytes_of(&long, IpVersion::V6);
    assert_eq!(bytes.len(), 1248);
    // The length field counts what follows it.
    let at = 40 + 8 + 24;
    let left = usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]) & 0x3fff);
    assert_eq!(left, bytes.len() - at - 2);
    let seen = decode(&bytes).unwrap();
    assert_eq!((seen.spin_bit(), seen.seq), (None, SeqNum(0x2345)));
}

#[test]
fn a_syn_carries_its_options() {
    let p = Packet {
        slots: [
            SackBlock {
                start: SeqNum(1460),
                end: SeqNum(7 | Packet::SYN_SCALED | Packet::SYN_SACK_PERMITTED),
            },
            SackBlock::default(),
            SackBlock::default(),
        ],
        len: 60,
        flags: TcpFlags::SYN,
        bits: Packet::BIT_TIMESTAMPS | Packet::BIT_UP,
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
    let p = Packet {
        slots: [block(1, 2), block(3, 4), block(5, 6)],
        sacks: 2,
        len: 80,
        flags: TcpFlags::ACK,
        bits: Packet::BIT_TIMESTAMPS | Packet::BIT_REPORT | Packet::BIT_UP,
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
        payload: 1460,
        ..Packet::default()
    };
    for (snaplen, kept) in [(0, 40), (40, 40), (96, 96), (9000, 1500)] {
        let mut out = vec![9];
        assert_eq!(encode(&p, IpVersion::V4, snaplen, &mut out), 1500);
        assert_eq!(out.len() - 1, kept);
        assert_eq!(decode(&out[1..]).map(|d| d.payload), Ok(1460));
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

fn packets() -> impl Strategy<Value = Packet> {
    let slots = prop::array::uniform3((any::<u32>(), any::<u32>()));
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
    let small = (0_u8..4, any::<bool>(), 0_u8..4, 0_u8..16);
    (
        any::<u32>(),
        slots,
        numbers,
        0_u16..9000,
        any::<u16>(),
        0_u16..0x200,
        small,
    )
        .prop_map(
            |(
                flow,
                slots,
                (seq, ack, tsval, tsecr),
                payload,
                window,
                flags,
                (ecn, udp, sacks, bits),
            )| {
                let slots = slots.map(|(a, b)| SackBlock {
                    start: SeqNum(a),
                    end: SeqNum(b),
                });
                Packet {
                    created: Instant::from_nanos(u64::from(seq)),
                    slots,
                    flow: FlowId(flow),
                    seq: SeqNum(seq),
                    ack: SeqNum(ack),
                    tsval,
                    tsecr,
                    len: 0,
                    payload,
                    window,
                    flags: TcpFlags(flags),
                    ecn: Ecn::from_bits(ecn),
                    proto: if udp { Proto::Udp } else { Proto::Tcp },
                    sacks,
                    bits,
                }
            },
        )
}

/// What of `p` the wire can carry.
fn carried(p: &Packet, len: u32) -> Packet {
    let mut p = *p;
    p.created = Instant::ZERO;
    p.len = len as u16;
    p.bits &= !Packet::BIT_RETX;
    if p.proto == Proto::Udp {
        p.slots = Default::default();
        p.sacks = 0;
        p.window = 0;
        p.flags = TcpFlags::default();
        p.bits &= Packet::BIT_UP;
        if p.payload < 16 {
            (p.seq, p.ack, p.tsval, p.tsecr) = Default::default();
        }
        return p;
    }
    if p.bits & Packet::BIT_TIMESTAMPS == 0 {
        (p.tsval, p.tsecr) = (0, 0);
    }
    if p.flags.contains(TcpFlags::SYN) {
        p.sacks = 0;
        p.bits &= !Packet::BIT_REPORT;
        let mss = p.slots[0].start.0 & 0xffff;
        // An MSS that is a multiple of 2^16 is none that a header could state.
        let scale = p.slots[0].end.0;
        let flags = scale & (Packet::SYN_SCALED | Packet::SYN_SACK_PERMITTED);
        let shift = if flags & Packet::SYN_SCALED != 0 {
            (scale & 0xff).min(14)
        } else {
            0
        };
        let scale = flags | shift;
        p.slots = Default::default();
        if mss != 0 {
            p.slots[0] = SackBlock {
                start: SeqNum(mss),
                end: SeqNum(scale),
            };
        }
        return p;
    }
    let report = p.bits & Packet::BIT_REPORT != 0;
    p.sacks = p.sacks.min(if report { 2 } else { 3 });
    for i in usize::from(p.sacks)..3 {
        if !(i == 2 && report) {
            p.slots[i] = SackBlock::default();
        }
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
