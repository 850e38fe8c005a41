use proptest::prelude::*;
use slackwater_core::{Body, Datagram as Udp, Packet, PacketView};
use slackwater_wire::IpPacket;
use slackwater_wire::gtpu::ie::Elements;
use slackwater_wire::gtpu::psc::Stamps;
use slackwater_wire::{IpVersion, packet};

use super::*;
use crate::gnb::description::Profile;

const TWO: &str = r#"
cell = "lte"
flows = 2
[n3]
address = ["10.0.0.2"]
[reports]
profile = "off"
[[ue]]
name = "a"
address = ["10.45.0.2"]
uplink = { address = "10.0.0.1", teid = 11 }
downlink = 101
qfi = [1, 5]
rule = [{ qfi = 5, protocol = 17, remote_port = 5004 }]
[[ue]]
name = "b"
address = ["10.45.0.3"]
uplink = { address = "10.0.0.9", teid = 12 }
downlink = 102
"#;

const GNB: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

fn upf() -> SocketAddr {
    "10.0.0.1:40000".parse().expect("an address")
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn gnb() -> Gnb {
    Gnb::parse("gnb.toml", TWO).expect("a good file")
}

fn node_of(gnb: &Gnb) -> Node {
    let bearers = gnb.ue.iter().map(|u| vec![Qfi(u.qfi[0])]).collect();
    Node::new(gnb, bearers, NtpClock::new(Ntp(7 << 32)))
}

/// Without echo requests, which would stand in front of what a test looks for.
fn node() -> Node {
    let mut gnb = gnb();
    gnb.n3.echo = Duration::ZERO;
    node_of(&gnb)
}

fn ip(ecn: Ecn) -> Vec<u8> {
    let p = Packet {
        len: 128,
        ecn,
        body: Body::Datagram(Udp {
            payload: 100,
            ..Udp::default()
        }),
        ..Packet::default()
    };
    let mut bytes = Vec::new();
    packet::encode(&p, IpVersion::V4, usize::MAX, &mut bytes);
    bytes
}

fn g_pdu(teid: u32, content: Option<Downlink>, payload: &[u8]) -> Vec<u8> {
    let mut octets = [0; psc::MAX];
    let n = content.map_or(0, |c| {
        Container::Downlink(c).write(&mut octets).expect("room")
    });
    let own = [(PDU_SESSION_CONTAINER, &octets[..n])];
    let extensions = if n > 0 { &own[..] } else { &[] };
    let mut out = vec![0; 100];
    let header = Header::g_pdu(Teid(teid));
    let n = header
        .write(extensions, payload.len(), &mut out)
        .expect("room");
    out.truncate(n);
    out.extend_from_slice(payload);
    out
}

fn of_flow(qfi: u8) -> Downlink {
    Downlink {
        qfi: Qfi(qfi),
        ..Downlink::default()
    }
}

fn uplink(node: &mut Node, now: Instant, place: u32, packet: &[u8]) -> (SocketAddr, Vec<u8>) {
    let mut out = Vec::new();
    let spent = Duration::from_millis(4);
    let to = node.uplink(now, place, spent, packet, &mut out);
    (to.expect("a peer").0, out)
}

fn container(bytes: &[u8]) -> psc::Uplink {
    let message = Message::parse(bytes).expect("GTP-U");
    let extension = message
        .extension(PDU_SESSION_CONTAINER)
        .expect("a container");
    match Container::parse(extension.content).expect("it is whole") {
        Container::Uplink(up) => up,
        Container::Downlink(_) => panic!("a downlink container goes up"),
    }
}

#[test]
fn a_packet_goes_down_and_up_through_its_tunnel() {
    let mut node = node();
    let packet = ip(Ecn::Ect0);
    let down = |node: &mut Node, teid, qfi| {
        node.receive(
            at(1),
            upf(),
            GNB,
            Ecn::NotEct,
            &g_pdu(teid, Some(of_flow(qfi)), &packet),
        )
    };
    let place = |down: Option<Down>| down.map(|d| (d.place, d.bytes == packet));
    assert_eq!(place(down(&mut node, 101, 1)), Some((0, true)));
    assert_eq!(place(down(&mut node, 101, 5)), Some((1, true)));
    assert_eq!(place(down(&mut node, 102, 1)), Some((2, true)));
    // A flow that the UE does not have takes its first, and is counted.
    assert_eq!(place(down(&mut node, 102, 9)), Some((2, true)));
    assert_eq!(node.counters().unknown_qfi, 1);
    assert_eq!((node.ue_of(1), node.ue_of(2)), (0, 1));

    let (to, bytes) = uplink(&mut node, at(5), 1, &packet);
    assert_eq!(to.to_string(), "10.0.0.1:2152");
    let message = Message::parse(&bytes).expect("GTP-U");
    assert_eq!(
        (message.header.kind, message.header.teid),
        (Kind::GPdu, Teid(11))
    );
    assert_eq!(message.payload(), packet);
    let up = container(&bytes);
    assert_eq!((up.qfi, up.stamps, up.dl_delay), (Qfi(5), None, None));
    assert_eq!(node.counters().packets, [4, 1]);
    assert_eq!(node.counters().octets, [4 * 128, 128]);
    assert!(node.next_datagram().is_none());
}

#[test]
fn the_epc_form_has_no_container() {
    let mut gnb = gnb();
    (gnb.n3.psc, gnb.n3.echo) = (false, Duration::ZERO);
    let mut node = node_of(&gnb);
    let packet = ip(Ecn::NotEct);
    let plain = g_pdu(102, None, &packet);
    let down = node.receive(at(1), upf(), GNB, Ecn::NotEct, &plain);
    // One place a UE.
    assert_eq!(down.map(|d| d.place), Some(1));
    assert_eq!(node.counters().without_container, 0);
    let (_, bytes) = uplink(&mut node, at(2), 1, &packet);
    assert_eq!(bytes.len(), 8 + packet.len());
    assert_eq!(
        Message::parse(&bytes).expect("GTP-U").extensions().count(),
        0
    );
    // An eNB does not know the container, which an endpoint must understand.
    let with = g_pdu(102, Some(of_flow(1)), &packet);
    assert!(
        node.receive(at(3), upf(), GNB, Ecn::NotEct, &with)
            .is_none()
    );
    assert_eq!(node.counters().not_understood, 1);
}

#[test]
fn a_stamp_is_answered_with_both_delays() {
    let mut node = node();
    let packet = ip(Ecn::NotEct);
    let ask = Downlink {
        qfi: Qfi(5),
        sent: Some(Ntp(99)),
        ..Downlink::default()
    };
    let stamped = g_pdu(101, Some(ask), &packet);
    let down = node.receive(at(10), upf(), GNB, Ecn::NotEct, &stamped);
    assert_eq!(down.map(|d| d.place), Some(1));
    node.entered(1, at(10));
    // A second stamp, and a packet that came before: neither changes anything.
    let again = g_pdu(
        101,
        Some(Downlink {
            sent: Some(Ntp(100)),
            ..ask
        }),
        &packet,
    );
    assert!(
        node.receive(at(12), upf(), GNB, Ecn::NotEct, &again)
            .is_some()
    );
    node.entered(1, at(12));
    node.delivered(at(20), 1, at(9), at(20));
    assert_eq!(
        container(&uplink(&mut node, at(21), 1, &packet).1).stamps,
        None
    );
    node.delivered(at(36), 1, at(10), at(35));
    // Packets of another flow do not take the answer.
    assert_eq!(
        container(&uplink(&mut node, at(37), 0, &packet).1).stamps,
        None
    );
    let up = container(&uplink(&mut node, at(38), 1, &packet).1);
    let clock = NtpClock::new(Ntp(7 << 32));
    let stamps = Stamps {
        dl_sent: Ntp(99),
        dl_received: clock.stamp(at(10)),
        ul_sent: clock.stamp(at(38)),
    };
    assert_eq!(up.stamps, Some(stamps));
    // 25 ms in the cell; the uplink packet spent 4.
    assert_eq!((up.dl_delay, up.ul_delay), (Some(25), Some(4)));
    assert_eq!(
        container(&uplink(&mut node, at(39), 1, &packet).1).stamps,
        None
    );
    assert_eq!(node.counters().answers, 1);
    assert_eq!(node.next_timer(), None, "nothing waits any more");
}

#[test]
fn an_answer_does_not_wait_for_ever_and_a_lost_packet_for_none() {
    let mut node = node();
    let packet = ip(Ecn::NotEct);
    let ask = |sent| Downlink {
        qfi: Qfi(1),
        sent: Some(Ntp(sent)),
        ..Downlink::default()
    };
    let send = |node: &mut Node, ms, sent| {
        let bytes = g_pdu(102, Some(ask(sent)), &packet);
        assert!(
            node.receive(at(ms), upf(), GNB, Ecn::NotEct, &bytes)
                .is_some()
        );
        node.entered(2, at(ms));
    };
    send(&mut node, 10, 1);
    // The cell dropped it: one that came later is out.
    node.delivered(at(20), 2, at(11), at(20));
    assert_eq!(node.next_timer(), None);
    send(&mut node, 30, 2);
    node.delivered(at(36), 2, at(30), at(36));
    let due = node.next_timer().expect("an answer waits");
    node.on_timer(due);
    let sent = node.next_datagram().expect("an empty packet");
    assert_eq!(sent.to.to_string(), "10.0.0.9:2152");
    let message = Message::parse(&sent.bytes).expect("GTP-U");
    assert!(message.payload().is_empty());
    let up = container(&sent.bytes);
    assert_eq!(up.stamps.map(|s| s.dl_sent), Some(Ntp(2)));
    // No uplink packet has shown a delay.
    assert_eq!((up.dl_delay, up.ul_delay), (Some(6), None));
    assert_eq!((node.next_timer(), node.counters().empty), (None, 1));
}

#[test]
fn uplink_packets_take_filters_then_what_was_reflected_then_the_default() {
    let mut node = node();
    let mut up = ip(Ecn::NotEct);
    assert_eq!(node.classify(at(0), 0, &up), 0);
    // Port 5004 at the other end: the filter.
    up[22..24].copy_from_slice(&5_004_u16.to_be_bytes());
    assert_eq!(node.classify(at(0), 0, &up), 1);
    // A packet with the reflective bit, whose answers go the other way.
    let mut down = ip(Ecn::NotEct);
    down[20..24].copy_from_slice(&[0x1f, 0x90, 0x30, 0x39]);
    let reflective = Downlink {
        qfi: Qfi(5),
        reflective: true,
        ..Downlink::default()
    };
    let bytes = g_pdu(101, Some(reflective), &down);
    assert!(
        node.receive(at(1), upf(), GNB, Ecn::NotEct, &bytes)
            .is_some()
    );
    let mut answer = down.clone();
    let (from, to) = (down[12..16].to_vec(), down[16..20].to_vec());
    answer[12..16].copy_from_slice(&to);
    answer[16..20].copy_from_slice(&from);
    answer[20..24].copy_from_slice(&[0x30, 0x39, 0x1f, 0x90]);
    assert_eq!(node.classify(at(2), 0, &answer), 1);
    // Others stand beside it, as many as there is room for.
    for port in 1..2_000_u16 {
        down[22..24].copy_from_slice(&port.to_be_bytes());
        let bytes = g_pdu(101, Some(reflective), &down);
        assert!(
            node.receive(at(2), upf(), GNB, Ecn::NotEct, &bytes)
                .is_some()
        );
    }
    assert_eq!(node.classify(at(2), 0, &answer), 1);
    let places = [1_023_u16, 1_024].map(|port| {
        let mut other = answer.clone();
        other[20..22].copy_from_slice(&port.to_be_bytes());
        node.classify(at(2), 0, &other)
    });
    assert_eq!(places, [1, 0], "1,024 rules for a UE");
    // The rule ends with its timer.
    assert_eq!(node.classify(at(12_002), 0, &answer), 0);
    assert_eq!(
        node.classify(at(2), 1, &answer),
        2,
        "another UE has no such rule"
    );
}

#[test]
fn echo_requests_are_answered_and_sent() {
    let mut node = node_of(&gnb());
    let request = message(Kind::EchoRequest, Some(513), &[], &[]).expect("room");
    assert!(
        node.receive(at(1), upf(), GNB, Ecn::NotEct, &request)
            .is_none()
    );
    let answer = node.next_datagram().expect("a response");
    // To the port that the request came from, with its number.
    assert_eq!(answer.to, upf());
    let response = Message::parse(&answer.bytes).expect("GTP-U");
    assert_eq!(
        (response.header.kind, response.header.seq),
        (Kind::EchoResponse, Some(513))
    );
    assert_eq!(response.header.teid, Teid(0));
    let mut elements = Elements::new(response.payload(), response.payload_at());
    assert_eq!(elements.next(), Some(Ok(Element::Recovery(0))));
    assert!(capabilities(&response).is_some_and(|c| c.multi));

    node.on_timer(at(2));
    let first = node.next_datagram().expect("a request");
    assert_eq!(first.to.to_string(), "10.0.0.1:2152");
    let request = Message::parse(&first.bytes).expect("GTP-U");
    let back = echo(Kind::EchoResponse, request.header.seq).expect("room");
    node.receive(at(3), first.to, GNB, Ecn::NotEct, &back);
    let peers: Vec<_> = node.peers().map(|p| p.1).collect();
    assert_eq!(peers, [Some(true), None]);
    // That peer says what it reads: the packet's mark stands in the outer header too, towards it alone.
    let mark = |node: &mut Node, place| {
        let up = node.uplink(at(4), place, Duration::ZERO, &ip(Ecn::Ce), &mut Vec::new());
        up.map(|u| u.1)
    };
    assert_eq!(mark(&mut node, 0), Some(Ecn::Ce));
    assert_eq!(mark(&mut node, 2), Some(Ecn::NotEct));
    assert_eq!(node.counters().echoes, [1, 1]);
}

#[test]
fn an_unknown_tunnel_is_indicated_to_the_port_of_gtp_u() {
    let mut node = node();
    let packet = ip(Ecn::NotEct);
    let bytes = g_pdu(999, Some(of_flow(1)), &packet);
    assert!(
        node.receive(at(1), upf(), GNB, Ecn::NotEct, &bytes)
            .is_none()
    );
    let sent = node.next_datagram().expect("an indication");
    assert_eq!(sent.to.to_string(), "10.0.0.1:2152");
    let message = Message::parse(&sent.bytes).expect("GTP-U");
    assert_eq!(
        (message.header.kind, message.header.teid),
        (Kind::ErrorIndication, Teid(0))
    );
    assert!(message.header.seq.is_some());
    let elements = Elements::new(message.payload(), message.payload_at());
    let elements: Vec<_> = elements.map(|e| e.expect("whole")).collect();
    assert_eq!(
        elements,
        [Element::TeidData(Teid(999)), Element::PeerAddress(GNB)]
    );
    let port = message.extension(UDP_PORT).expect("the packet's port");
    assert_eq!(port.content[..2], 40_000_u16.to_be_bytes());
    // Tunnel 0 is nobody's.
    let zero = g_pdu(0, Some(of_flow(1)), &packet);
    assert!(
        node.receive(at(2), upf(), GNB, Ecn::NotEct, &zero)
            .is_none()
    );
    assert!(node.next_datagram().is_none());
    // A flood is not answered by another.
    for _ in 0..1_000 {
        node.receive(at(3), upf(), GNB, Ecn::NotEct, &bytes);
    }
    let mut answers = 0;
    while node.next_datagram().is_some() {
        answers += 1;
    }
    let counters = node.counters();
    assert_eq!((answers, counters.held_back), (99, 901));
    assert_eq!(counters.unknown_teid, 1_002);
    node.receive(at(1_100), upf(), GNB, Ecn::NotEct, &bytes);
    assert!(node.next_datagram().is_some());
}

#[test]
fn a_header_that_must_be_understood_and_is_not_is_answered_with_those_that_are() {
    let mut node = node();
    // TS 29.281, figure 5.2.1-2: an endpoint must understand types from 0x80.
    for (kind, understood) in [(0x84, false), (0xc1, false), (0x41, true), (0x02, true)] {
        let mut out = vec![0; 64];
        let header = Header::g_pdu(Teid(101));
        let n = header.write(&[(kind, &[1, 2])], 0, &mut out).expect("room");
        node.receive(at(1), upf(), GNB, Ecn::NotEct, &out[..n]);
        let Some(sent) = node.next_datagram() else {
            assert!(understood, "{kind:#x}");
            continue;
        };
        assert!(!understood, "{kind:#x}");
        assert_eq!(sent.to.to_string(), "10.0.0.1:2152");
        let message = Message::parse(&sent.bytes).expect("GTP-U");
        assert_eq!(message.header.kind, Kind::SupportedExtensionHeaders);
        let mut elements = Elements::new(message.payload(), message.payload_at());
        let known = [UDP_PORT, PDU_SESSION_CONTAINER];
        assert_eq!(elements.next(), Some(Ok(Element::HeaderTypes(&known))));
    }
}

#[test]
fn end_markers_are_counted_and_forward_nothing() {
    let mut node = node();
    let mut out = [0; 8];
    Header::end_marker(Teid(101))
        .write(&[], 0, &mut out)
        .expect("room");
    assert!(node.receive(at(1), upf(), GNB, Ecn::NotEct, &out).is_none());
    assert!(node.next_datagram().is_none());
    assert_eq!(node.counters().end_markers, 1);
}

#[test]
fn marks_of_the_outer_header_reach_the_inner_one() {
    // RFC 6040, figure 4: inner, outer, outgoing.
    let table = [
        (Ecn::NotEct, Ecn::Ect0, Some(Ecn::NotEct)),
        (Ecn::NotEct, Ecn::Ect1, Some(Ecn::NotEct)),
        (Ecn::NotEct, Ecn::Ce, None),
        (Ecn::Ect0, Ecn::NotEct, Some(Ecn::Ect0)),
        (Ecn::Ect0, Ecn::Ect0, Some(Ecn::Ect0)),
        (Ecn::Ect0, Ecn::Ect1, Some(Ecn::Ect1)),
        (Ecn::Ect0, Ecn::Ce, Some(Ecn::Ce)),
        (Ecn::Ect1, Ecn::NotEct, Some(Ecn::Ect1)),
        (Ecn::Ect1, Ecn::Ect0, Some(Ecn::Ect1)),
        (Ecn::Ect1, Ecn::Ce, Some(Ecn::Ce)),
        (Ecn::Ce, Ecn::NotEct, Some(Ecn::Ce)),
        (Ecn::Ce, Ecn::Ect1, Some(Ecn::Ce)),
    ];
    for (inner, outer, expected) in table {
        let mut node = node();
        let bytes = g_pdu(101, Some(of_flow(1)), &ip(inner));
        let down = node.receive(at(1), upf(), GNB, outer, &bytes);
        let got = down.map(|d| {
            let ip = IpPacket::new(d.bytes).expect("IP");
            assert!(ip.checksums_hold());
            ip.ecn()
        });
        assert_eq!(got, expected, "{inner:?} in {outer:?}");
        assert_eq!(node.counters().dropped_ce, u64::from(expected.is_none()));
    }
}

#[test]
fn congestion_rides_on_uplink_packets_or_goes_alone() {
    let mut gnb = gnb();
    gnb.n3.echo = Duration::ZERO;
    gnb.reports.profile = Profile::Container;
    let mut node = node_of(&gnb);
    let packet = ip(Ecn::Ect1);
    let congestion = |flow, per_10k| RanReport::Congestion {
        at: at(0),
        flow: slackwater_core::FlowId(flow),
        per_10k,
    };
    // Two flows of the world for each place; the second says the same.
    node.report(at(5), &[congestion(2, 700), congestion(3, 700)]);
    let up = container(&uplink(&mut node, at(6), 1, &packet).1);
    assert_eq!((up.qfi, up.dl_congestion), (Qfi(5), Some(700)));
    // The same is not told again so soon, something else is: after 10 ms without an uplink packet on its own.
    node.report(at(7), &[congestion(2, 700)]);
    assert_eq!(node.next_timer(), None);
    node.report(at(8), &[congestion(2, 800)]);
    node.on_timer(at(17));
    assert!(node.next_datagram().is_none());
    node.on_timer(at(18));
    let sent = node.next_datagram().expect("an empty packet");
    assert_eq!(container(&sent.bytes).dl_congestion, Some(800));
    node.report(at(118), &[congestion(2, 800)]);
    assert!(node.next_timer().is_some(), "a sign of life");
}

proptest! {
    /// Whatever comes: no panic, no packet that was not in it, and what is sent can be read.
    #[test]
    fn hostile_octets_are_survived(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..120),
        kind in prop::sample::select(vec![1u8, 2, 26, 31, 253, 254, 255]),
        teid in prop::sample::select(vec![0u32, 101, 102, 999]),
        outer in 0u8..4,
        psc: bool,
    ) {
        let mut gnb = gnb();
        gnb.n3.psc = psc;
        let mut node = node_of(&gnb);
        if bytes.len() >= 12 {
            bytes[0] = 0x30 | bytes[0] & 0x07;
            bytes[1] = kind;
            let length = (bytes.len() - 8) as u16;
            bytes[2..4].copy_from_slice(&length.to_be_bytes());
            bytes[4..8].copy_from_slice(&teid.to_be_bytes());
        }
        if let Some(down) = node.receive(at(1), upf(), GNB, Ecn::from_bits(outer), &bytes) {
            prop_assert!(down.bytes.len() < bytes.len());
            node.entered(down.place, at(1));
            node.delivered(at(2), down.place, at(1), at(2));
            let ue = node.ue_of(down.place);
            let place = node.classify(at(3), ue, &down.bytes);
            prop_assert_eq!(node.ue_of(place), ue);
            uplink(&mut node, at(3), place, &down.bytes);
        }
        node.on_timer(at(50));
        while let Some(sent) = node.next_datagram() {
            prop_assert!(Message::parse(&sent.bytes).is_ok());
        }
    }

    /// What goes up is what came down, whatever its octets.
    #[test]
    fn a_users_octets_are_not_touched(packet in proptest::collection::vec(any::<u8>(), 1..2_000), qfi in 0u8..64) {
        let mut node = node();
        let bytes = g_pdu(101, Some(of_flow(qfi)), &packet);
        let down = node.receive(at(1), upf(), GNB, Ecn::NotEct, &bytes);
        prop_assert_eq!(down.map(|d| d.bytes), Some(packet.clone()));
        let (_, up) = uplink(&mut node, at(2), 0, &packet);
        prop_assert_eq!(Message::parse(&up).expect("GTP-U").payload(), &packet[..]);
    }
}
