//! The user plane function: a session by PFCP, then whatever comes on N3, N4 and N6.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use slackwater_core::{Bytes, Duration, Ecn, Instant, Qfi, Rate, Teid};
use slackwater_edge::upf::cecc::CeccConfig;
use slackwater_upf::n4::{self, LocalEnd};
use slackwater_upf::rules::Interface;
use slackwater_upf::user::UserConfig;
use slackwater_upf::{Buf, Config, Output, Upf};
use slackwater_wire::IpPacket;
use slackwater_wire::pfcp::{
    BitRates, Element, FSeid, FTeid, Far, Forwarding, Gates, Header, Kind, Message, NodeId,
    OuterHeader, Pdi, Pdr, Qer, UeIp, action, interface,
};

use super::input::Input;

const HERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 33);
const SMF: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 10)), 8_805);
const GNB: SocketAddr = SocketAddr::new(IpAddr::V4(GNB_ADDRESS), 2_152);
/// Messages that one event may give rise to.
const OUTPUTS: usize = 10_000;
const EVENTS: usize = 300;

fn config() -> Config {
    let mut user = UserConfig {
        n3_v4: Some(HERE),
        measure: Some(Duration::from_millis(10)),
        ..UserConfig::default()
    };
    user.functions.cecc = Some(CeccConfig::default());
    Config {
        user,
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

fn order(upf: &mut Upf, now: Instant, kind: Kind, seid: Option<u64>, elements: &[Element<'_>]) {
    let header = Header {
        kind,
        seid,
        seq: 1 + u32::from(seid.is_some()),
        priority: None,
    };
    let mut octets = vec![0; 4_000];
    let n = header.write(elements, &mut octets).expect("it fits");
    upf.on_n4(now, SMF, &octets[..n]);
}

/// A function with one session: 10.0.0.1, tunnel 1 up, tunnel 0xabc down.
fn with_session(now: Instant) -> Upf {
    let mut upf = Upf::new(config());
    let node = || Element::NodeId(NodeId::V4(Ipv4Addr::new(192, 0, 2, 10)));
    let setup = Kind::AssociationSetupRequest;
    order(&mut upf, now, setup, None, &[node(), Element::Recovery(7)]);
    let far = |id, to, outer| Far {
        id,
        action: Some(action::FORWARD),
        forwarding: Some(Forwarding {
            destination: Some(to),
            outer,
            ..Forwarding::default()
        }),
        ..Far::default()
    };
    let pdr = |id: u16, pdi| Pdr {
        id,
        precedence: Some(100),
        pdi: Some(pdi),
        outer_removal: (id == 1).then_some(0),
        far: Some(u32::from(id)),
        qers: vec![1],
        ..Pdr::default()
    };
    let up = Pdi {
        source: interface::ACCESS,
        tunnel: Some(FTeid::Given {
            teid: Teid(1),
            v4: Some(HERE),
            v6: None,
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
    let outer = OuterHeader::gtpu(Teid(0xabc), GNB_ADDRESS);
    let establishment = [
        node(),
        Element::FSeid(FSeid {
            seid: 0x1122,
            v4: Some(Ipv4Addr::new(192, 0, 2, 10)),
            v6: None,
        }),
        Element::CreatePdr(pdr(1, up)),
        Element::CreatePdr(pdr(2, down)),
        Element::CreateFar(far(1, interface::CORE, None)),
        Element::CreateFar(far(2, interface::ACCESS, Some(outer))),
        Element::CreateQer(Qer {
            id: 1,
            gates: Some(Gates {
                up: true,
                down: true,
            }),
            maximum: Some(BitRates {
                up: Rate::from_mbps(20.0),
                down: Rate::from_mbps(20.0),
            }),
            qfi: Some(Qfi(9)),
            ..Qer::default()
        }),
        Element::PdnType(1),
    ];
    let establish = Kind::SessionEstablishmentRequest;
    order(&mut upf, now, establish, Some(0), &establishment);
    upf
}

fn drain(upf: &mut Upf, now: Instant) {
    let mut left = 0;
    while let Some(output) = upf.poll(now) {
        left += 1;
        assert!(left < OUTPUTS, "messages without end");
        match output {
            Output::N6(packet) => {
                assert!(IpPacket::new(packet.as_ref()).is_ok(), "N6 has IP packets");
            }
            Output::N4 { bytes, .. } => {
                let message = Message::parse(&bytes).expect("N4 has PFCP");
                assert!(message.elements().all(|e| e.is_ok()), "{bytes:?}");
            }
            Output::N3 { .. } => {}
        }
    }
    while upf.take_event().is_some() {}
}

pub(crate) fn upf(data: &[u8]) {
    let mut input = Input(data);
    let mut now = Instant::ZERO + Duration::from_secs(1);
    let mut upf = with_session(now);
    drain(&mut upf, now);
    assert_eq!(upf.all_sessions().len(), 1, "the session stands");
    for _ in 0..EVENTS {
        if input.is_empty() {
            break;
        }
        let what = input.u8();
        match what % 6 {
            0 => upf.on_n4(now, SMF, input.bytes()),
            1 | 2 => upf.on_n3(
                now,
                GNB,
                Buf::copied(input.bytes()),
                Ecn::from_bits(what >> 6),
            ),
            3 => upf.on_n6(now, Buf::copied(input.bytes())),
            4 => now = now.saturating_add(input.step()),
            _ => {
                for _ in 0..what >> 4 {
                    if let Some(timer) = upf.next_timer() {
                        now = now.max(timer);
                        drain(&mut upf, now);
                    }
                }
            }
        }
        drain(&mut upf, now);
        assert!(upf.user().held() < Bytes(1 << 26), "memory is bounded");
    }
}
