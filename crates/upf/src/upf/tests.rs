//! The whole function: sessions by PFCP, packets by GTP-U and IP, reports back.

use std::net::Ipv4Addr;

use slackwater_core::{
    Body, Bytes, Datagram, Direction, Duration, FlowId, Packet, Qfi, Rate, Teid,
};
use slackwater_wire::IpVersion;
use slackwater_wire::gtpu;
use slackwater_wire::packet::encode;
use slackwater_wire::pfcp::{
    BitRates, Element, FSeid, FTeid, Far, Forwarding, Gates, Header, Kind, Message, NodeId,
    OuterHeader, Pdi, Pdr, Qer, UeIp, Urr, action, cause, interface, method,
};

use super::*;
use crate::n4::LocalEnd;
use crate::rules::Interface;

pub(crate) const HERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const SMF: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 10)), 8_805);
pub(crate) const GNB: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 33)), 2_152);
pub(crate) const GNB_TEID: Teid = Teid(0xabc);
pub(crate) const MS: fn(u64) -> Instant = Instant::from_millis;

pub(crate) struct Smf {
    pub(crate) upf: Upf,
    pub(crate) seq: u32,
}

impl Smf {
    pub(crate) fn config() -> Config {
        Config {
            user: UserConfig {
                n3_v4: Some(HERE),
                ..UserConfig::default()
            },
            n4: n4::Config {
                address: HERE.into(),
                ends: vec![LocalEnd {
                    interface: Interface::Access,
                    network: None,
                    v4: Some(HERE),
                    v6: None,
                }],
                ..n4::Config::default()
            },
        }
    }

    pub(crate) fn new() -> Self {
        let upf = Upf::new(Self::config());
        Self { upf, seq: 0 }
    }

    /// Sends a message; what leaves.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        kind: Kind,
        seid: Option<u64>,
        elements: &[Element<'_>],
    ) -> Vec<Output> {
        self.seq += 1;
        let header = Header {
            kind,
            seid,
            seq: self.seq,
            priority: None,
        };
        let mut octets = vec![0; 4_000];
        let n = header.write(elements, &mut octets).unwrap();
        self.upf.on_n4(now, SMF, &octets[..n]);
        self.drain(now)
    }

    pub(crate) fn drain(&mut self, now: Instant) -> Vec<Output> {
        std::iter::from_fn(|| self.upf.poll(now)).collect()
    }
}

/// The one PFCP message of what left.
pub(crate) fn n4(out: &[Output]) -> &[u8] {
    let mut all = out.iter().filter_map(|o| match o {
        Output::N4 { to, bytes } => Some((to, bytes)),
        _ => None,
    });
    let (Some((to, bytes)), None) = (all.next(), all.next()) else {
        panic!("{out:?}");
    };
    assert_eq!(*to, SMF);
    bytes
}

pub(crate) fn elements(octets: &[u8]) -> Vec<Element<'_>> {
    let message = Message::parse(octets).unwrap();
    message.elements().map(Result::unwrap).collect()
}

/// 10.0.0.1.
pub(crate) fn datagram(dir: Direction, len: u16) -> Vec<u8> {
    let packet = Packet {
        flow: FlowId(1),
        len,
        dir,
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

pub(crate) fn establishment() -> Vec<Element<'static>> {
    let far = |id, action, destination| Far {
        id,
        action: Some(action),
        forwarding: Some(Forwarding {
            destination: Some(destination),
            ..Forwarding::default()
        }),
        ..Far::default()
    };
    let pdr = |id, pdi, far| Pdr {
        id,
        precedence: Some(100),
        pdi: Some(pdi),
        outer_removal: (id == 1).then_some(0),
        far: Some(far),
        qers: vec![1],
        urrs: vec![1],
        ..Pdr::default()
    };
    let up = Pdi {
        source: interface::ACCESS,
        tunnel: Some(FTeid::Choose {
            v4: true,
            v6: false,
            id: None,
        }),
        qfis: vec![Qfi(9)],
        ..Pdi::default()
    };
    let down = Pdi {
        source: interface::CORE,
        ue: Some(UeIp {
            v4: Some(Ipv4Addr::new(10, 0, 0, 1)),
            destination: true,
            ..UeIp::default()
        }),
        ..Pdi::default()
    };
    vec![
        Element::NodeId(NodeId::V4(Ipv4Addr::new(192, 0, 2, 10))),
        Element::FSeid(FSeid {
            seid: 0x1122,
            v4: Some(Ipv4Addr::new(192, 0, 2, 10)),
            v6: None,
        }),
        Element::CreatePdr(pdr(1, up, 1)),
        Element::CreatePdr(pdr(2, down, 2)),
        Element::CreateFar(far(1, action::FORWARD, interface::CORE)),
        Element::CreateFar(far(2, action::BUFFER | action::NOTIFY, interface::ACCESS)),
        Element::CreateQer(Qer {
            id: 1,
            gates: Some(Gates {
                up: true,
                down: true,
            }),
            maximum: Some(BitRates {
                up: Rate::from_mbps(20.0),
                down: Rate::from_mbps(100.0),
            }),
            qfi: Some(Qfi(9)),
            ..Qer::default()
        }),
        Element::CreateUrr(Urr {
            id: 1,
            method: Some(method::VOLUME),
            triggers: Some(0),
            ..Urr::default()
        }),
        Element::PdnType(1),
    ]
}

#[test]
fn a_session_from_its_set_up_to_the_count_of_what_it_used() {
    let mut smf = Smf::new();
    let association = [
        Element::NodeId(NodeId::V4(Ipv4Addr::new(192, 0, 2, 10))),
        Element::Recovery(7),
    ];
    smf.send(MS(0), Kind::AssociationSetupRequest, None, &association);
    assert!(matches!(
        smf.upf.take_event(),
        Some(n4::Event::Associated(_))
    ));
    let out = smf.send(
        MS(1),
        Kind::SessionEstablishmentRequest,
        Some(0),
        &establishment(),
    );
    let (mut seid, mut teid) = (0, Teid(0));
    for element in elements(n4(&out)) {
        match element {
            Element::Cause(c) => assert_eq!(c, cause::ACCEPTED),
            Element::FSeid(f) => seid = f.seid,
            Element::CreatedPdr(c) => {
                if let Some(FTeid::Given { teid: t, .. }) = c.tunnel {
                    teid = t;
                }
            }
            _ => {}
        }
    }

    // The UE is idle: packets wait, and one notice leaves.
    for _ in 0..3 {
        smf.upf.on_n6(MS(2), datagram(Direction::Down, 500));
    }
    let out = smf.drain(MS(2));
    let report = Message::parse(n4(&out)).unwrap();
    assert_eq!(report.header.kind, Kind::SessionReportRequest);
    assert_eq!(report.header.seid, Some(0x1122));
    assert!(elements(n4(&out)).contains(&Element::DownlinkData(vec![2])));

    // Its tunnel is known: they leave by it.
    let update = Far {
        id: 2,
        action: Some(action::FORWARD),
        forwarding: Some(Forwarding {
            destination: Some(interface::ACCESS),
            outer: Some(OuterHeader::gtpu(GNB_TEID, Ipv4Addr::new(192, 0, 2, 33))),
            ..Forwarding::default()
        }),
        ..Far::default()
    };
    let out = smf.send(
        MS(3),
        Kind::SessionModificationRequest,
        Some(seid),
        &[Element::UpdateFar(update)],
    );
    let down: Vec<_> = out
        .iter()
        .filter_map(|o| match o {
            Output::N3 { to, bytes, .. } => Some((*to, bytes)),
            _ => None,
        })
        .collect();
    assert_eq!(down.len(), 3);
    for (to, bytes) in down {
        let message = gtpu::Message::parse(bytes.as_ref()).unwrap();
        assert_eq!((to, message.header.teid), (GNB, GNB_TEID));
    }

    // Uplink, and an error indication of the base station.
    let up = datagram(Direction::Up, 200);
    let mut octets = vec![0; 16];
    let content = [0x10, 9];
    let extension = (gtpu::extension::PDU_SESSION_CONTAINER, &content[..]);
    gtpu::Header::g_pdu(teid)
        .write(&[extension], up.len(), &mut octets)
        .unwrap();
    octets.extend(&up);
    smf.upf.on_n3(MS(4), GNB, octets, Ecn::NotEct);
    assert_eq!(smf.drain(MS(4)), [Output::N6(up.into())]);
    let mut error = vec![0x32, 26, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 16];
    error.extend(GNB_TEID.0.to_be_bytes());
    error.extend([133, 0, 4, 192, 0, 2, 33]);
    smf.upf.on_n3(MS(5), GNB, error, Ecn::NotEct);
    let out = smf.drain(MS(5));
    let report = Message::parse(n4(&out)).unwrap();
    assert_eq!(report.header.kind, Kind::SessionReportRequest);

    // What it used, to the byte.
    let out = smf.send(MS(6), Kind::SessionDeletionRequest, Some(seid), &[]);
    let used = elements(n4(&out)).into_iter().find_map(|e| match e {
        Element::Usage(_, report) => report.volume,
        _ => None,
    });
    let used = used.expect("a report");
    assert_eq!((used.up, used.down), (Some(Bytes(200)), Some(Bytes(1_500))));
    assert!(smf.upf.all_sessions().is_empty());
    smf.upf.on_n6(MS(7), datagram(Direction::Down, 500));
    assert_eq!(smf.upf.user().counters().unknown_address, 1);
}

#[test]
fn a_control_plane_that_is_lost_takes_its_sessions_along_in_time() {
    let mut smf = Smf::new();
    let association = [
        Element::NodeId(NodeId::V4(Ipv4Addr::new(192, 0, 2, 10))),
        Element::Recovery(7),
    ];
    smf.send(MS(0), Kind::AssociationSetupRequest, None, &association);
    let request = Kind::SessionEstablishmentRequest;
    smf.send(MS(1), request, Some(0), &establishment());
    smf.upf.on_n6(MS(2), datagram(Direction::Down, 500));
    assert_eq!(smf.upf.user().held(), Bytes(500));
    // By its own timers alone.
    let mut now = MS(2);
    while now < Instant::ZERO + Duration::from_secs(600) && !smf.upf.all_sessions().is_empty() {
        smf.drain(now);
        let Some(timer) = smf.upf.next_timer() else {
            break;
        };
        now = timer.max(now + Duration::from_nanos(1));
    }
    assert!(smf.upf.all_sessions().is_empty());
    assert_eq!(smf.upf.user().held(), Bytes::ZERO);
    assert_eq!(smf.upf.user().counters().session_gone, 1);
}
