//! The user plane as its neighbours see it: octets in, octets out.

mod buffering;
mod flood;
mod fragments;
mod hostile;
mod length;
mod rates;
mod reload;
mod reports;
mod signalling;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use slackwater_core::{
    Body, Datagram, Direction, Ecn, FlowId, Instant, Packet, PacketView as _, Qfi, Rate, Teid,
};
use slackwater_wire::gtpu::extension::PDU_SESSION_CONTAINER;
use slackwater_wire::gtpu::psc::Container;
use slackwater_wire::gtpu::{Header, Message};
use slackwater_wire::packet::encode;
use slackwater_wire::{IpPacket, IpVersion};

use super::*;
use crate::rules::{
    Filter, FlowDescription, FlowEnd, Interface, LocalTunnel, Qer, Rates, Rules, UeAddress,
};
use crate::testing::session::far;
use crate::upf::{Config, Upf};

/// The base station.
const GNB: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 168, 1, 7)), 2152);
const QFI: Qfi = Qfi(9);
const MS: fn(u64) -> Instant = Instant::from_millis;

/// The tunnel of the UE `n` at our end.
const fn uplink(n: u32) -> Teid {
    Teid(0x1000 + n)
}

/// The tunnel of the UE `n` at the base station.
const fn downlink(n: u32) -> RemoteTunnel {
    RemoteTunnel {
        teid: Teid(0x2000 + n),
        address: GNB.ip(),
    }
}

fn pdr(id: u16, source: Interface, n: u32) -> Pdr {
    let [_, a, b, c] = n.to_be_bytes();
    Pdr {
        id,
        precedence: 100,
        source,
        tunnel: (source == Interface::Access).then_some(LocalTunnel {
            teid: uplink(n),
            v4: Some(Ipv4Addr::LOCALHOST),
            v6: None,
        }),
        network: None,
        ue: Some(UeAddress {
            v4: Some(Ipv4Addr::new(10, a, b, c)),
            v6: None,
        }),
        filters: Vec::new(),
        qfis: Vec::new(),
        remove_outer: source == Interface::Access,
        reports: false,
        far: Some(u32::from(id)),
        qers: vec![1],
        urrs: Vec::new(),
    }
}

fn qer(id: u32, qfi: Option<Qfi>) -> Qer {
    Qer {
        id,
        correlation: None,
        gate_up: true,
        gate_down: true,
        maximum: None,
        guaranteed: None,
        qfi,
        reflective: false,
        edge: slackwater_wire::pfcp::EdgeOptions::default(),
    }
}

/// A session of one `QoS` flow for the UE with address 10.n.
fn rules(n: u32) -> Rules {
    Rules {
        pdrs: vec![pdr(1, Interface::Access, n), pdr(2, Interface::Core, n)],
        fars: vec![
            far(1, Interface::Core, None),
            far(2, Interface::Access, Some(downlink(n))),
        ],
        qers: vec![qer(1, Some(QFI))],
        ..Rules::default()
    }
}

fn config() -> Config {
    Config {
        user: UserConfig {
            n3_v4: Some(Ipv4Addr::new(192, 168, 1, 1)),
            ..UserConfig::default()
        },
        ..Config::default()
    }
}

/// A function with a session for each of the UEs, changed by `change`.
fn upf_with(config: Config, ues: u32, change: impl Fn(u32, &mut Rules)) -> (Upf, Vec<Seid>) {
    let mut upf = Upf::new(config);
    let seids = (0..ues)
        .map(|n| {
            let mut rules = rules(n);
            change(n, &mut rules);
            let seid = upf.sessions().add(Instant::ZERO, 0, u64::from(n));
            upf.sessions().set_rules(seid, rules);
            seid
        })
        .collect();
    (upf, seids)
}

fn upf(ues: u32) -> (Upf, Vec<Seid>) {
    upf_with(config(), ues, |_, _| {})
}

/// A datagram of `len` IP bytes of the UE `n`.
fn datagram(n: u32, dir: Direction, len: u16, ecn: Ecn) -> Vec<u8> {
    let packet = Packet {
        flow: FlowId(n),
        len,
        dir,
        ecn,
        body: Body::Datagram(Datagram {
            payload: len - 28,
            ..Datagram::default()
        }),
        ..Packet::default()
    };
    let mut out = Vec::new();
    encode(&packet, IpVersion::V4, usize::MAX, &mut out);
    out
}

/// A G-PDU with a container where there is a `QoS` flow.
fn g_pdu(teid: Teid, qfi: Option<Qfi>, payload: &[u8]) -> Vec<u8> {
    let mut content = [0; 64];
    let up = qfi.map(|qfi| {
        let container = slackwater_wire::gtpu::report::container::empty(qfi);
        Container::Uplink(container).write(&mut content).unwrap()
    });
    let header = Header::g_pdu(teid);
    let mut out = vec![0; 64];
    let extension = up.map(|n| (PDU_SESSION_CONTAINER, &content[..n]));
    let n = header
        .write(extension.as_slice(), payload.len(), &mut out)
        .unwrap();
    out.truncate(n);
    out.extend(payload);
    out
}

fn drain(upf: &mut Upf, now: Instant) -> Vec<Output> {
    std::iter::from_fn(|| upf.poll(now)).collect()
}

#[test]
fn a_packet_goes_down_in_its_tunnel_and_its_answer_comes_up_as_it_was() {
    let (mut upf, seids) = upf(2);
    let down = datagram(1, Direction::Down, 700, Ecn::Ect0);
    upf.on_n6(MS(1), down.clone());
    let out = drain(&mut upf, MS(1));
    let [Output::N3 { to, tos, bytes }] = &out[..] else {
        panic!("{out:?}");
    };
    assert_eq!((*to, *tos), (GNB, Ecn::Ect0 as u8));
    let message = Message::parse(bytes.as_ref()).unwrap();
    assert_eq!(message.header, Header::g_pdu(downlink(1).teid));
    let container = message.extension(PDU_SESSION_CONTAINER).unwrap();
    let Ok(Container::Downlink(container)) = Container::parse(container.content) else {
        panic!();
    };
    assert_eq!((container.qfi, container.sent), (QFI, None));
    assert_eq!(message.payload(), down);

    let up = datagram(1, Direction::Up, 300, Ecn::NotEct);
    upf.on_n3(MS(2), GNB, g_pdu(uplink(1), Some(QFI), &up), Ecn::NotEct);
    assert_eq!(drain(&mut upf, MS(2)), [Output::N6(Buf::from(up))]);
    let status = upf.user().status(seids[1]).unwrap();
    assert_eq!((status.up.packets, status.up.bytes), (1, Bytes(300)));
    assert_eq!((status.down.packets, status.down.bytes), (1, Bytes(700)));
    assert_eq!(status.last, MS(2));
}

#[test]
fn an_evolved_packet_core_s_tunnel_has_no_container() {
    let (mut upf, _) = upf_with(config(), 1, |_, rules| {
        rules.qers[0].qfi = None;
        rules.fars[1].marking = Some((0xb8, 0xfc));
    });
    let down = datagram(0, Direction::Down, 100, Ecn::Ect1);
    upf.on_n6(MS(1), down.clone());
    let out = drain(&mut upf, MS(1));
    let [Output::N3 { tos, bytes, .. }] = &out[..] else {
        panic!("{out:?}");
    };
    // Expedited forwarding, and the inner ECN field.
    assert_eq!(*tos, 0xb8 | Ecn::Ect1 as u8);
    let message = Message::parse(bytes.as_ref()).unwrap();
    assert_eq!(
        (message.extensions().count(), message.payload()),
        (0, &down[..])
    );
    let up = datagram(0, Direction::Up, 100, Ecn::NotEct);
    upf.on_n3(MS(2), GNB, g_pdu(uplink(0), None, &up), Ecn::NotEct);
    assert_eq!(drain(&mut upf, MS(2)), [Output::N6(up.into())]);
}

#[test]
fn what_belongs_to_nobody_ends_here_and_is_counted() {
    let (mut upf, _) = upf_with(config(), 2, |_, rules| rules.pdrs[0].qfis = vec![QFI]);
    let now = MS(1);
    let up = datagram(1, Direction::Up, 100, Ecn::NotEct);
    upf.on_n6(now, datagram(7, Direction::Down, 100, Ecn::NotEct));
    upf.on_n6(now, vec![0x45; 19]);
    // A packet cut short, one of another QoS flow, a spoofed one, no GTP-U, a contradiction of ECN.
    upf.on_n3(
        now,
        GNB,
        g_pdu(uplink(1), Some(QFI), &up[..90]),
        Ecn::NotEct,
    );
    upf.on_n3(now, GNB, g_pdu(uplink(1), Some(Qfi(5)), &up), Ecn::NotEct);
    upf.on_n3(now, GNB, g_pdu(uplink(0), Some(QFI), &up), Ecn::NotEct);
    upf.on_n3(now, GNB, vec![0; 8], Ecn::NotEct);
    upf.on_n3(now, GNB, g_pdu(uplink(1), Some(QFI), &up), Ecn::Ce);
    assert_eq!(drain(&mut upf, now), []);
    let expected = Counters {
        n6_in: 2,
        n3_in: 5,
        unknown_address: 1,
        malformed_ip: 2,
        no_rule: 1,
        spoofed: 1,
        malformed_gtpu: 1,
        ecn_contradicts: 1,
        ..Counters::default()
    };
    assert_eq!(*upf.user().counters(), expected);
}

#[test]
fn a_mark_of_the_tunnel_reaches_the_packet() {
    let (mut upf, _) = upf(1);
    let up = datagram(0, Direction::Up, 100, Ecn::Ect0);
    upf.on_n3(MS(1), GNB, g_pdu(uplink(0), Some(QFI), &up), Ecn::Ce);
    let out = drain(&mut upf, MS(1));
    let [Output::N6(bytes)] = &out[..] else {
        panic!("{out:?}");
    };
    let mut bytes = bytes.as_ref().to_vec();
    let packet = IpPacket::new(&mut bytes[..]).unwrap();
    assert_eq!(packet.ecn(), Ecn::Ce);
    assert!(packet.checksums_hold());
}

#[test]
fn filters_choose_the_flow_and_its_container() {
    // Packets from port 443 of anyone go in another QoS flow, marked as reflective.
    let flow = FlowDescription {
        protocol: Some(17),
        remote: FlowEnd {
            address: None,
            assigned: false,
            ports: vec![(443, 443), (5_202, 5_202)],
        },
        ue: FlowEnd {
            address: None,
            assigned: true,
            ports: Vec::new(),
        },
    };
    let (mut upf, _) = upf_with(config(), 1, |n, rules| {
        let mut special = pdr(3, Interface::Core, n);
        special.precedence = 10;
        special.far = Some(2);
        special.filters = vec![Filter {
            flow: Some(flow.clone()),
            ..Filter::default()
        }];
        special.qers = vec![2];
        rules.pdrs.push(special);
        rules.qers.push(Qer {
            reflective: true,
            ..qer(2, Some(Qfi(3)))
        });
    });
    let mut qfis = Vec::new();
    for len in [100, 101] {
        let mut down = datagram(0, Direction::Down, len, Ecn::NotEct);
        if len == 101 {
            // Another source port (the checksum is not looked at here).
            down[21] ^= 0xff;
        }
        upf.on_n6(MS(1), down);
        let out = drain(&mut upf, MS(1));
        let [Output::N3 { bytes, .. }] = &out[..] else {
            panic!("{out:?}");
        };
        let message = Message::parse(bytes.as_ref()).unwrap();
        let content = message.extension(PDU_SESSION_CONTAINER).unwrap().content;
        let Ok(Container::Downlink(container)) = Container::parse(content) else {
            panic!();
        };
        qfis.push((container.qfi, container.reflective));
    }
    assert_eq!(qfis, [(Qfi(3), true), (QFI, false)]);
}

#[test]
fn a_session_that_goes_takes_its_packets_along() {
    // 100 kbit/s: nearly all of 100 packets wait in vAQM.
    let (mut upf, seids) = upf_with(config(), 2, |_, rules| {
        rules.qers[0].maximum = Some(Rates {
            up: Rate::ZERO,
            down: Rate::from_bps(100_000),
        });
    });
    for _ in 0..100 {
        upf.on_n6(MS(1), datagram(0, Direction::Down, 1_000, Ecn::NotEct));
    }
    let sent = drain(&mut upf, MS(1)).len();
    assert!((1..10).contains(&sent), "{sent}");
    assert!(upf.user().held() > Bytes(80_000));
    upf.sessions().remove(seids[0]);
    assert_eq!(drain(&mut upf, MS(2)), []);
    assert_eq!(upf.user().held(), Bytes::ZERO);
    assert_eq!(upf.user().counters().session_gone, 100 - sent as u64);
    assert!(upf.user().status(seids[0]).is_none());
    // The place is used again: another session, with nothing of the old one.
    let seid = upf.sessions().add(MS(3), 0, 9);
    upf.sessions().set_rules(seid, rules(0));
    upf.on_n6(MS(3), datagram(0, Direction::Down, 1_000, Ecn::NotEct));
    assert_eq!(drain(&mut upf, MS(3)).len(), 1);
    assert_eq!(upf.user().status(seid).unwrap().down.packets, 1);
}
