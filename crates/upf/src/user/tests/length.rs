use slackwater_wire::checksum::{finish, pseudo, sum};
use slackwater_wire::ip::Fragment;

use super::*;

/// 1500 octets of IPv4 less 20, 8, 8 and 8 of outer headers and container.
const MTU: usize = 1_500 - 44;

#[test]
fn the_longest_packet_fits_and_one_octet_more_is_refused_with_its_length() {
    let (mut upf, _) = upf(1);
    upf.on_n6(MS(0), datagram(0, Direction::Down, MTU as u16, Ecn::NotEct));
    let out = drain(&mut upf, MS(0));
    let [Output::N3 { bytes, .. }] = &out[..] else {
        panic!("{out:?}");
    };
    assert_eq!(bytes.len() + 28, 1_500);

    // `encode` sets "do not fragment".
    let long = datagram(0, Direction::Down, MTU as u16 + 1, Ecn::NotEct);
    upf.on_n6(MS(0), long.clone());
    let out = drain(&mut upf, MS(0));
    let [Output::N6(bytes)] = &out[..] else {
        panic!("{out:?}");
    };
    let mut icmp = bytes.as_ref().to_vec();
    // RFC 1191, 4: type 3, code 4, the next hop's MTU, then the packet; to its sender, from RFC 7600's address.
    assert_eq!(&icmp[20..22], [3, 4]);
    assert_eq!(&icmp[26..28], (MTU as u16).to_be_bytes());
    assert_eq!(icmp[28..], long[..548]);
    assert_eq!(&icmp[12..20], [192, 0, 0, 8, 192, 0, 2, 1]);
    let sum = finish(sum(&icmp[20..]));
    assert_eq!(sum, [0; 2]);
    assert!(IpPacket::new(&mut icmp[..]).unwrap().checksums_hold());
    let counters = upf.user().counters();
    assert_eq!((counters.too_long, counters.icmp_out), (1, 1));
}

/// The same without the flag.
fn may_be_cut(mut packet: Vec<u8>) -> Vec<u8> {
    packet[6] &= !0x40;
    packet[10..12].fill(0);
    let sum = finish(sum(&packet[..20]));
    packet[10..12].copy_from_slice(&sum);
    packet
}

#[test]
fn a_packet_that_may_be_cut_is() {
    let (mut upf, _) = upf(1);
    let long = may_be_cut(datagram(0, Direction::Down, 4_000, Ecn::Ect0));
    upf.on_n6(MS(0), long.clone());
    let mut payload: Vec<u8> = Vec::new();
    let out = drain(&mut upf, MS(0));
    assert_eq!(out.len(), 3);
    for output in &out {
        let Output::N3 { tos, bytes, .. } = output else {
            panic!("{output:?}");
        };
        assert_eq!(*tos, Ecn::Ect0 as u8);
        assert!(bytes.len() + 28 <= 1_500);
        let message = Message::parse(bytes.as_ref()).unwrap();
        let piece = IpPacket::new(message.payload()).unwrap();
        let Some(Fragment { offset, .. }) = piece.fragment() else {
            panic!("a whole packet");
        };
        assert_eq!(usize::from(offset), payload.len());
        payload.extend(&message.payload()[20..]);
    }
    assert_eq!(payload, long[20..]);
    let counters = upf.user().counters();
    assert_eq!((counters.fragmented, counters.fragments), (1, 3));
    assert_eq!(counters.too_long + counters.icmp_out, 0);
}

#[test]
fn ipv6_is_told_what_fits_and_never_less_than_its_least() {
    let v6 = |length: u16| {
        let mut packet = vec![0x60, 0, 0, 0];
        packet.extend((length - 40).to_be_bytes());
        packet.extend([17, 64]);
        packet.extend("2001:db8:ffff::1".parse::<Ipv6Addr>().unwrap().octets());
        packet.extend("2001:db8:1::7".parse::<Ipv6Addr>().unwrap().octets());
        packet.resize(usize::from(length), 0);
        packet
    };
    for (mtu, length, fits) in [
        (1_500, 1_456, true),
        (1_500, 1_457, false),
        (1_300, 1_280, true),
        (1_300, 1_281, false),
    ] {
        let mut config = config();
        config.user.n3_mtu = mtu;
        let (mut upf, _) = upf_with(config, 1, |_, rules| {
            for pdr in &mut rules.pdrs {
                pdr.ue = Some(UeAddress {
                    v4: None,
                    v6: Some(("2001:db8:1::".parse().unwrap(), 64)),
                });
            }
        });
        upf.on_n6(MS(0), v6(length));
        let out = drain(&mut upf, MS(0));
        match &out[..] {
            [Output::N3 { .. }] => assert!(fits, "{mtu} {length}"),
            [Output::N6(bytes)] => {
                assert!(!fits, "{mtu} {length}");
                let icmp = bytes.as_ref();
                // RFC 4443, 3.2: packet too big, 1280 octets at most in all, with the pseudo-header's checksum.
                assert_eq!((icmp[6], icmp[40], icmp.len()), (58, 2, 1_280));
                let said = u32::from_be_bytes(icmp[44..48].try_into().unwrap());
                assert_eq!(said, u32::from(length) - 1);
                let total = sum(&icmp[8..40]) + pseudo(58, 1_240) + sum(&icmp[40..]);
                assert_eq!(finish(total), [0; 2]);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn nothing_is_said_of_errors_of_later_fragments_and_too_often() {
    let (mut upf, _) = upf(1);
    let long = datagram(0, Direction::Down, 1_500, Ecn::NotEct);
    // An ICMP error, and a later fragment that must not be cut.
    let mut error = long.clone();
    error[9] = 1;
    error[20] = 11;
    upf.on_n6(MS(0), error);
    let mut later = long.clone();
    later[7] = 9;
    upf.on_n6(MS(0), later);
    assert_eq!(drain(&mut upf, MS(0)), []);
    // An echo request is no error.
    let mut echo = long.clone();
    echo[9] = 1;
    echo[20] = 8;
    upf.on_n6(MS(0), echo);
    assert_eq!(drain(&mut upf, MS(0)).len(), 1);
    for _ in 0..1_000 {
        upf.on_n6(MS(0), long.clone());
    }
    let counters = upf.user().counters();
    assert_eq!((counters.too_long, counters.icmp_out), (1_003, 100));
    assert_eq!(counters.icmp_suppressed, 901);
}

#[test]
fn a_ue_is_told_too_where_its_packets_go_on_in_a_tunnel() {
    let (mut upf, _) = upf_with(config(), 1, |_, rules| {
        rules.fars[0].outer = Some(RemoteTunnel {
            teid: Teid(0x7777),
            address: "192.168.9.9".parse().unwrap(),
        });
    });
    let long = datagram(0, Direction::Up, 1_480, Ecn::NotEct);
    upf.on_n3(MS(0), GNB, g_pdu(uplink(0), Some(QFI), &long), Ecn::NotEct);
    let out = drain(&mut upf, MS(0));
    let [Output::N3 { to, bytes, .. }] = &out[..] else {
        panic!("{out:?}");
    };
    assert_eq!(*to, GNB);
    let message = Message::parse(bytes.as_ref()).unwrap();
    assert_eq!(message.header.teid, downlink(0).teid);
    let icmp = message.payload();
    assert_eq!((&icmp[16..20], &icmp[20..22]), (&long[12..16], &[3, 4][..]));
}
