//! What a control plane sends in tests: an association, and sessions with one flow each way.

pub mod session;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use slackwater_core::{Qfi, Rate};
use slackwater_wire::pfcp::{
    BitRates, Element, FSeid, FTeid, Far, Gates, Header, Kind, NodeId, Pdi, Pdr, Qer, UeIp, Urr,
    interface, method,
};

use crate::Config;
use crate::n4::{self, LocalEnd};
use crate::rules::Interface;
use crate::user::UserConfig;

/// The function, on N3 and N4.
pub const HERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The control plane.
pub const SMF_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 10);
/// Its end of N4.
pub const SMF: SocketAddr = SocketAddr::new(IpAddr::V4(SMF_ADDRESS), 8_805);
/// The base station.
pub const GNB_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 33);
/// Its end of N3.
pub const GNB: SocketAddr = SocketAddr::new(IpAddr::V4(GNB_ADDRESS), 2_152);
/// The UE of a test with one.
pub const UE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// A tunnel that the function chooses.
pub const CHOOSE: FTeid = FTeid::Choose {
    v4: true,
    v6: false,
    id: None,
};

/// A function at [`HERE`] without edge functions.
pub fn config() -> Config {
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

/// The octets of a message.
pub fn message(kind: Kind, seid: Option<u64>, seq: u32, elements: &[Element<'_>]) -> Vec<u8> {
    let header = Header {
        kind,
        seid,
        seq,
        priority: None,
    };
    let mut octets = vec![0; 65_507];
    let n = header.write(elements, &mut octets).expect("room");
    octets.truncate(n);
    octets
}

/// What sets up an association of the control plane called `name`, which started at `recovery`.
pub fn association(name: Ipv4Addr, recovery: u32) -> [Element<'static>; 2] {
    [
        Element::NodeId(NodeId::V4(name)),
        Element::Recovery(recovery),
    ]
}

/// The rule of packets that come through `tunnel`, of `qfi` where there is one: FAR 1 and QER 1.
pub fn uplink(id: u16, tunnel: FTeid, qfi: Option<Qfi>) -> Pdr<'static> {
    Pdr {
        id,
        precedence: Some(100),
        pdi: Some(Pdi {
            source: interface::ACCESS,
            tunnel: Some(tunnel),
            qfis: qfi.into_iter().collect(),
            ..Pdi::default()
        }),
        outer_removal: Some(0),
        far: Some(1),
        qers: vec![1],
        ..Pdr::default()
    }
}

/// The rule of packets for `ue`: FAR 2 and QER 1.
pub fn downlink(id: u16, ue: Ipv4Addr) -> Pdr<'static> {
    Pdr {
        id,
        precedence: Some(100),
        pdi: Some(Pdi {
            source: interface::CORE,
            ue: Some(UeIp {
                v4: Some(ue),
                destination: true,
                ..UeIp::default()
            }),
            ..Pdi::default()
        }),
        far: Some(2),
        qers: vec![1],
        ..Pdr::default()
    }
}

/// `pdr`, counted by URR 1.
pub fn counted(pdr: Pdr<'_>) -> Pdr<'_> {
    Pdr {
        urrs: vec![1],
        ..pdr
    }
}

/// QER 1: 20 Mbit/s up and `down` Mbit/s down.
pub fn qer(down: f64, qfi: Option<Qfi>) -> Qer {
    Qer {
        id: 1,
        gates: Some(Gates {
            up: true,
            down: true,
        }),
        maximum: Some(BitRates {
            up: Rate::from_mbps(20.0),
            down: Rate::from_mbps(down),
        }),
        qfi,
        ..Qer::default()
    }
}

/// URR 1, which counts octets.
pub fn urr() -> Urr {
    Urr {
        id: 1,
        method: Some(method::VOLUME),
        triggers: Some(0),
        ..Urr::default()
    }
}

/// What establishes a session that the control plane calls `seid`.
pub fn establishment<'a>(
    seid: u64,
    pdrs: [Pdr<'a>; 2],
    fars: [Far<'a>; 2],
    qer: Qer,
    urr: Option<Urr>,
) -> Vec<Element<'a>> {
    let name = FSeid {
        seid,
        v4: Some(SMF_ADDRESS),
        v6: None,
    };
    let begin = [
        Element::NodeId(NodeId::V4(SMF_ADDRESS)),
        Element::FSeid(name),
    ];
    begin
        .into_iter()
        .chain(pdrs.map(Element::CreatePdr))
        .chain(fars.map(Element::CreateFar))
        .chain([Element::CreateQer(qer)])
        .chain(urr.map(Element::CreateUrr))
        .chain([Element::PdnType(1)])
        .collect()
}
