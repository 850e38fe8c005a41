use slackwater_wire::gtpu::Kind;
use slackwater_wire::gtpu::ie::{Element, Elements, write};
use slackwater_wire::gtpu::report::Capabilities;

use super::*;

/// A message of ours: to whom, and its octets.
fn only(out: &[Output]) -> (SocketAddr, &[u8]) {
    match out {
        [Output::N3 { to, bytes, .. }] => (*to, bytes.as_ref()),
        other => panic!("{other:?}"),
    }
}

fn message(kind: Kind, teid: u32, seq: Option<u16>, elements: &[Element<'_>]) -> Vec<u8> {
    let mut payload = [0; 64];
    let n = write(elements, &mut payload).unwrap();
    let header = Header {
        kind,
        teid: Teid(teid),
        seq,
        n_pdu: None,
    };
    let mut out = vec![0; 64];
    let at = header.write(&[], n, &mut out).unwrap();
    out.truncate(at);
    out.extend(&payload[..n]);
    out
}

#[test]
fn an_echo_is_answered_where_it_came_from() {
    let (mut upf, _) = upf(0);
    let from = SocketAddr::new(GNB.ip(), 40_000);
    let request = message(Kind::EchoRequest, 0, Some(77), &[]);
    upf.on_n3(MS(0), from, request, Ecn::NotEct);
    let out = drain(&mut upf, MS(0));
    let (to, bytes) = only(&out);
    assert_eq!(to, from);
    let answer = Message::parse(bytes).unwrap();
    assert_eq!(answer.header.kind, Kind::EchoResponse);
    assert_eq!((answer.header.teid, answer.header.seq), (Teid(0), Some(77)));
    let elements: Vec<_> = Elements::new(answer.payload(), 0).flatten().collect();
    assert_eq!(elements[0], Element::Recovery(0));
    let Element::Private { value, .. } = elements[1] else {
        panic!("{elements:?}");
    };
    assert!(Capabilities::parse(value).unwrap().multi);
}

#[test]
fn an_unknown_tunnel_is_said_and_not_too_often() {
    let (mut upf, _) = upf(1);
    let up = datagram(0, Direction::Up, 100, Ecn::NotEct);
    let from = SocketAddr::new(GNB.ip(), 33_333);
    upf.on_n3(
        MS(0),
        from,
        g_pdu(Teid(0xdead), Some(QFI), &up),
        Ecn::NotEct,
    );
    let out = drain(&mut upf, MS(0));
    let (to, bytes) = only(&out);
    // TS 29.281, 4.4.2.4: to the port of GTP-U; 7.3.1: which tunnel, our address, and the port that it came from.
    assert_eq!(to, GNB);
    let said = Message::parse(bytes).unwrap();
    assert_eq!(said.header.kind, Kind::ErrorIndication);
    let port = said.extension(slackwater_wire::gtpu::extension::UDP_PORT);
    assert_eq!(port.unwrap().content[..2], 33_333_u16.to_be_bytes());
    let elements: Vec<_> = Elements::new(said.payload(), 0).flatten().collect();
    let ours = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 1));
    assert_eq!(
        elements,
        [Element::TeidData(Teid(0xdead)), Element::PeerAddress(ours)]
    );
    // A guesser of tunnels gets few answers: 100, and one each 10 ms.
    for n in 0..10_000 {
        upf.on_n3(
            MS(1),
            GNB,
            g_pdu(Teid(0x9_0000 + n), None, &up),
            Ecn::NotEct,
        );
    }
    let counters = upf.user().counters();
    assert_eq!(counters.unknown_tunnel, 10_001);
    assert!(counters.error_indications_out <= 101);
    assert_eq!(
        counters.error_indications_out + counters.error_indications_suppressed,
        10_001
    );
}

#[test]
fn a_peer_may_disown_its_own_tunnels_alone() {
    let (mut upf, _) = upf(2);
    let tunnel = downlink(1);
    let elements = [
        Element::TeidData(tunnel.teid),
        Element::PeerAddress(tunnel.address),
    ];
    let indication = message(Kind::ErrorIndication, 0, Some(0), &elements);
    let stranger = SocketAddr::from(([203, 0, 113, 9], 2152));
    upf.on_n3(MS(0), stranger, indication.clone(), Ecn::NotEct);
    assert_eq!(upf.user().counters().error_indications_in, 0);
    upf.on_n3(MS(0), GNB, indication, Ecn::NotEct);
    let counters = upf.user().counters();
    assert_eq!(
        (
            counters.error_indications_in,
            counters.error_indications_refused
        ),
        (1, 1)
    );
}

/// A message with one extension header of `kind` and `octets` in all.
fn extended(kind: u8, octets: usize) -> Vec<u8> {
    let up = datagram(0, Direction::Up, 60, Ecn::NotEct);
    let content = vec![0; octets - 2];
    let mut out = vec![0; 12 + octets];
    let n = Header::g_pdu(uplink(0))
        .write(&[(kind, &content)], up.len(), &mut out)
        .unwrap();
    out.truncate(n);
    out.extend(up);
    out
}

#[test]
fn what_must_be_understood_and_is_not_ends_a_message() {
    // TS 29.281, figure 5.2.1-2: an endpoint must understand types whose highest bit is set.
    for (kind, passes) in [
        (0x20, true),
        (0x40, true),
        (0x41, true),
        (0x01, true),
        (0x81, false),
        (0x82, false),
        (0xc1, false),
        (0xc0, false),
    ] {
        for octets in (4..=60).step_by(4) {
            let (mut upf, _) = upf(1);
            upf.on_n3(MS(0), GNB, extended(kind, octets), Ecn::NotEct);
            let out = drain(&mut upf, MS(0));
            if passes {
                assert!(matches!(out[..], [Output::N6(_)]), "{kind:#x} {octets}");
                continue;
            }
            let (to, bytes) = only(&out);
            assert_eq!(to, GNB);
            let said = Message::parse(bytes).unwrap();
            assert_eq!(said.header.kind, Kind::SupportedExtensionHeaders);
            let known = Elements::new(said.payload(), 0).flatten().next();
            let Some(Element::HeaderTypes(types)) = known else {
                panic!("{known:?}");
            };
            assert!(types.contains(&0x85) && !types.contains(&kind));
            assert_eq!(upf.user().counters().not_understood, 1);
        }
    }
}

#[test]
fn end_markers_go_where_the_path_was() {
    let (mut upf, seids) = upf(1);
    drain(&mut upf, MS(0));
    upf.sessions().end_marker(seids[0], downlink(0));
    let out = drain(&mut upf, MS(1));
    let (to, bytes) = only(&out);
    assert_eq!(to, GNB);
    let said = Message::parse(bytes).unwrap();
    assert_eq!(said.header, Header::end_marker(downlink(0).teid));

    // Between two base stations and an anchor (N9), they are passed on.
    let (mut upf, _) = upf_with(config(), 1, |n, rules| {
        let tunnel = rules.pdrs[0].tunnel.unwrap();
        rules.pdrs[1].tunnel = Some(LocalTunnel {
            teid: Teid(0x5000 + n),
            ..tunnel
        });
    });
    let marker = message(Kind::EndMarker, 0x5000, None, &[]);
    upf.on_n3(MS(0), GNB, marker, Ecn::NotEct);
    let out = drain(&mut upf, MS(0));
    assert_eq!(only(&out).1, bytes);
}

#[test]
fn between_two_tunnels_the_flow_stays() {
    // An intermediate function: N9 towards the anchor, which is at another address.
    let anchor = RemoteTunnel {
        teid: Teid(0x7777),
        address: "2001:db8::9".parse().unwrap(),
    };
    let (mut upf, _) = upf_with(config(), 1, |n, rules| {
        let tunnel = rules.pdrs[0].tunnel.unwrap();
        rules.pdrs[1].tunnel = Some(LocalTunnel {
            teid: Teid(0x5000 + n),
            ..tunnel
        });
        rules.pdrs[1].remove_outer = true;
        rules.fars[0].outer = Some(anchor);
        rules.qers[0].qfi = None;
    });
    let up = datagram(0, Direction::Up, 60, Ecn::NotEct);
    upf.on_n3(
        MS(0),
        GNB,
        g_pdu(uplink(0), Some(Qfi(33)), &up),
        Ecn::NotEct,
    );
    let out = drain(&mut upf, MS(0));
    let (to, bytes) = only(&out);
    assert_eq!(to, SocketAddr::new(anchor.address, 2152));
    assert_eq!(bytes, g_pdu(anchor.teid, Some(Qfi(33)), &up));
    let down = datagram(0, Direction::Down, 60, Ecn::NotEct);
    upf.on_n3(
        MS(0),
        to,
        g_pdu(Teid(0x5000), Some(Qfi(34)), &down),
        Ecn::NotEct,
    );
    let out = drain(&mut upf, MS(0));
    let message = Message::parse(only(&out).1).unwrap();
    let content = message.extension(PDU_SESSION_CONTAINER).unwrap().content;
    let Ok(Container::Downlink(container)) = Container::parse(content) else {
        panic!();
    };
    assert_eq!((container.qfi, message.payload()), (Qfi(34), &down[..]));
}
