use proptest::prelude::*;
use slackwater_core::{
    Body, Direction, FlowId, Packet, PacketView, SackBlock, Segment, SegmentBits, SeqNum,
};

use super::*;
use crate::IpBuf;
use crate::packet::{IpVersion, decode, encode};

const BODY: ReportBody = ReportBody([1, 2, 3, 4, 5, 6, 7, 8]);
const VERSIONS: [IpVersion; 2] = [IpVersion::V4, IpVersion::V6];
const MTU: usize = 1500;

/// An ACK of the UE with `sacks` blocks, as Linux writes it: options padded in front.
fn ack(version: IpVersion, sacks: u8, timestamps: bool, payload: u16) -> Vec<u8> {
    let options = 12 * u16::from(timestamps)
        + if sacks > 0 {
            4 + 8 * u16::from(sacks)
        } else {
            0
        };
    let mut s = Segment {
        seq: SeqNum(77),
        ack: SeqNum(1449),
        flags: TcpFlags::ACK,
        bits: if timestamps {
            SegmentBits::TIMESTAMPS
        } else {
            SegmentBits::NONE
        },
        tsval: 0x0101_0101,
        tsecr: 0x0101_0101,
        payload,
        window: 500,
        ..Segment::default()
    };
    let block = SackBlock {
        start: SeqNum(2897),
        end: SeqNum(4345),
    };
    s.set_sack_blocks(&vec![block; usize::from(sacks)]);
    let p = Packet {
        flow: FlowId(3),
        len: 40 + options + payload,
        dir: Direction::Up,
        body: Body::Tcp(s),
        ..Packet::default()
    };
    let mut out = Vec::new();
    encode(&p, version, usize::MAX, &mut out);
    // Payload that is not zero, and the checksum over it.
    let at = out.len() - usize::from(payload);
    out[at..].fill(0xa5);
    let tcp = if version == IpVersion::V4 { 20 } else { 40 };
    for byte in 0..payload {
        if byte % 2 == 0 {
            let new = if byte + 1 < payload { 0xa5a5 } else { 0xa500 };
            let sum = u16::from_be_bytes([out[tcp + 16], out[tcp + 17]]);
            let sum = checksum::update(sum, 0, new);
            out[tcp + 16..tcp + 18].copy_from_slice(&sum.to_be_bytes());
        }
    }
    assert!(IpBuf::new(out.clone()).unwrap().checksums_hold());
    out
}

fn view(packet: &[u8]) -> IpBuf {
    IpBuf::new(packet.to_vec()).expect("still a packet")
}

fn set_flags(packet: &mut [u8], tcp: usize, flags: u8) {
    packet[tcp + 13] = flags;
}

#[test]
fn a_report_fits_beside_time_stamps_and_two_blocks() {
    for version in VERSIONS {
        for (sacks, timestamps, payload) in [
            (0, true, 0),
            (1, true, 0),
            (2, true, 0),
            (3, false, 0),
            (0, false, 7),
            (2, true, 101),
        ] {
            let before = ack(version, sacks, timestamps, payload);
            let mut packet = before.clone();
            assert_eq!(insert(&mut packet, BODY, MTU), Ok(()));
            let ip = view(&packet);
            assert!(ip.checksums_hold(), "{sacks} {timestamps} {payload}");
            assert_eq!(find(&ip), Some(BODY));
            let (old, new) = (view(&before).tcp().unwrap(), ip.tcp().unwrap());
            assert_eq!(new, old);
            assert_eq!(ip.sack(), view(&before).sack());
            assert_eq!(ip.len() as usize, packet.len());
            assert!(
                packet.len() - before.len() <= 12
                    && packet.ends_with(&before[before.len() - usize::from(payload)..])
            );
            // The simulator's codec reads the same.
            let simulated = decode(&packet).unwrap();
            let segment = simulated.segment().unwrap();
            assert_eq!(segment.report(), Some(BODY.0));
            assert!(strip(&mut packet));
            let ip = view(&packet);
            assert!(ip.checksums_hold());
            assert_eq!((find(&ip), ip.tcp().unwrap()), (None, old));
            // Where padding did not have to go, all is as before.
            if !(sacks == 2 && timestamps) {
                assert_eq!(packet, before);
            }
            assert!(!strip(&mut packet));
        }
    }
}

#[test]
fn a_second_report_takes_the_place_of_the_first() {
    let mut packet = ack(IpVersion::V4, 2, true, 0);
    insert(&mut packet, BODY, MTU).unwrap();
    let length = packet.len();
    let other = ReportBody([9; 8]);
    insert(&mut packet, other, MTU).unwrap();
    assert_eq!((packet.len(), find(&view(&packet))), (length, Some(other)));
    assert!(view(&packet).checksums_hold());
}

#[test]
fn a_packet_without_room_stays_as_it_is() {
    for version in VERSIONS {
        let three = ack(version, 3, true, 0);
        let long = ack(version, 0, true, 1448);
        for (before, mtu) in [(three, MTU), (long, MTU)] {
            let mut packet = before.clone();
            assert_eq!(insert(&mut packet, BODY, mtu), Err(Skip::NoRoom));
            assert_eq!(packet, before);
        }
    }
    // Just enough: 52 and 12.
    let mut packet = ack(IpVersion::V4, 0, true, 0);
    assert_eq!(insert(&mut packet.clone(), BODY, 63), Err(Skip::NoRoom));
    assert_eq!(insert(&mut packet, BODY, 64), Ok(()));
}

#[test]
fn what_must_not_change_does_not() {
    let check = |packet: Vec<u8>, expected: Skip| {
        let mut changed = packet.clone();
        assert_eq!(insert(&mut changed, BODY, MTU), Err(expected));
        assert_eq!(changed, packet);
    };
    for (version, tcp) in [(IpVersion::V4, 20), (IpVersion::V6, 40)] {
        // SYN, SYN-ACK, RST, no flag at all.
        for flags in [0x02, 0x12, 0x14, 0x00] {
            let mut packet = ack(version, 0, true, 0);
            set_flags(&mut packet, tcp, flags);
            check(packet, Skip::NotAnAck);
        }
        // FIN is an ACK like others.
        let mut packet = ack(version, 0, true, 0);
        set_flags(&mut packet, tcp, 0x11);
        assert_eq!(insert(&mut packet, BODY, MTU), Ok(()));
        // Cut short.
        let mut packet = ack(version, 0, true, 50);
        packet.pop();
        check(packet, Skip::Malformed);
        // TCP-MD5 where the time stamps were.
        let mut packet = ack(version, 0, true, 0);
        packet[tcp + 20..tcp + 22].copy_from_slice(&[19, 12]);
        check(packet, Skip::Authenticated);
        // An option that runs over the end.
        let mut packet = ack(version, 0, true, 0);
        packet[tcp + 23] = 40;
        check(packet, Skip::Malformed);
    }
    // More fragments, and a later one.
    for field in [0x2000, 0x0010] {
        let mut packet = ack(IpVersion::V4, 0, true, 50);
        packet[6..8].copy_from_slice(&u16::to_be_bytes(field));
        check(packet, Skip::Fragment);
    }
    let mut datagram = ack(IpVersion::V4, 0, true, 0);
    datagram[9] = 17;
    check(datagram, Skip::NotTcp);
    check(Vec::new(), Skip::NotTcp);
    // IPv6 with a fragment header, and with an authentication header behind destination options.
    for (chain, expected) in [
        (vec![6, 0, 0, 1, 0, 0, 0, 0], Skip::Fragment),
        (
            vec![51, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0],
            Skip::Authenticated,
        ),
    ] {
        let mut packet = ack(IpVersion::V6, 0, true, 0);
        packet[6] = if chain.len() == 8 { 44 } else { 60 };
        let length = (packet.len() - 40 + chain.len()) as u16;
        packet[4..6].copy_from_slice(&length.to_be_bytes());
        packet.splice(40..40, chain);
        check(packet, expected);
    }
}

#[test]
fn damage_and_trailers_stay() {
    let mut packet = ack(IpVersion::V4, 1, true, 9);
    *packet.last_mut().unwrap() ^= 1;
    packet.extend([0xee; 3]);
    insert(&mut packet, BODY, MTU).unwrap();
    assert!(packet.ends_with(&[0xee; 3]));
    assert!(
        !view(&packet).checksums_hold(),
        "a damaged packet must not look whole"
    );
}

#[test]
fn a_report_that_nobody_meant_says_nothing() {
    let mut packet = ack(IpVersion::V4, 0, true, 0);
    insert(&mut packet, BODY, MTU).unwrap();
    let at = 20 + 20 + 12;
    assert_eq!(packet[at..at + 4], [253, 12, 0x58, 0x52]);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut changed = packet.clone();
        change(&mut changed);
        find(&view(&changed))
    };
    assert_eq!(with(&|_| ()), Some(BODY));
    assert_eq!(with(&|p| p[at + 1] = 11), None);
    assert_eq!(with(&|p| p[at + 1] = 13), None);
    assert_eq!(with(&|p| p[at + 1] = 0), None);
    assert_eq!(with(&|p| p[at + 3] = 0x53), None);
    assert_eq!(with(&|p| p[33] = 0x12), None);
    assert_eq!(with(&|p| p.truncate(at + 11)), None);
    // Twice.
    let options = [&packet[at..], &packet[at..]].concat();
    let twice = |p: &mut Vec<u8>| {
        Place::of(p).unwrap().replace(p, &options);
    };
    assert_eq!(with(&twice), None);
    let mut twice_there = packet.clone();
    twice(&mut twice_there);
    assert!(strip(&mut twice_there) && view(&twice_there).checksums_hold());
    assert_eq!(view(&twice_there).tcp().unwrap().timestamps, None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hostile_packets_never_panic_and_good_ones_stay_good(
        v6: bool,
        sacks in 0u8..4,
        timestamps: bool,
        payload in 0u16..40,
        damage in proptest::collection::vec((0usize..120, any::<u8>()), 0..6),
        cut in 0usize..160,
        mtu in 0usize..2000,
        body: [u8; 8],
    ) {
        let version = if v6 { IpVersion::V6 } else { IpVersion::V4 };
        let mut packet = ack(version, sacks, timestamps, payload);
        for (at, value) in damage {
            if let Some(byte) = packet.get_mut(at) {
                *byte = value;
            }
        }
        packet.truncate(cut);
        let _ = IpBuf::new(packet.clone()).map(|ip| find(&ip));
        let held = IpBuf::new(packet.clone()).is_ok_and(|ip| ip.checksums_hold());
        let before = packet.clone();
        if insert(&mut packet, ReportBody(body), mtu).is_ok() {
            let ip = view(&packet);
            prop_assert_eq!(find(&ip), Some(ReportBody(body)));
            prop_assert_eq!(ip.checksums_hold(), held);
            prop_assert!(ip.len() as usize <= mtu);
            prop_assert!(strip(&mut packet));
            prop_assert_eq!(view(&packet).checksums_hold(), held);
            prop_assert_eq!(find(&view(&packet)), None);
        } else {
            prop_assert_eq!(&packet, &before);
        }
        let mut stripped = before;
        strip(&mut stripped);
    }
}
