//! A control plane in one process with the node: it writes and reads octets.

mod hostile;
mod peers;
mod refusals;
mod rules;

use std::net::{Ipv4Addr, SocketAddr};

use slackwater_core::{Duration, Instant, Qfi, Rate, Teid};
use slackwater_wire::gtpu::{Ntp, NtpClock};
use slackwater_wire::pfcp::{
    BitRates, Element, FSeid, FTeid, Far, Forwarding, Gates, Header, Kind, Message, NodeId,
    OuterHeader, Pdi, Pdr, Qer, UeIp, Urr, action, cause, interface, method,
};

use super::*;
use crate::rules::Interface;

pub(super) const HERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(super) const SMF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 10);
pub(super) const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 33);
pub(super) const UE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

pub(super) fn config() -> Config {
    Config {
        node: NodeName::Address(HERE.into()),
        address: HERE.into(),
        ends: vec![LocalEnd {
            interface: Interface::Access,
            network: None,
            v4: Some(HERE),
            v6: None,
        }],
        clock: NtpClock::new(Ntp(0xe000_0000_0000_0000)),
        ..Config::default()
    }
}

pub(super) fn of(element: &[Element<'_>]) -> Option<u8> {
    element.iter().find_map(|e| match e {
        Element::Cause(c) => Some(*c),
        _ => None,
    })
}

/// A node with all that it acts on, and one control plane.
pub(super) struct Lab {
    pub(super) node: Node,
    pub(super) sessions: Sessions,
    pub(super) usage: Usage,
    pub(super) now: Instant,
    pub(super) from: SocketAddr,
    pub(super) seq: u32,
    pub(super) last: Vec<u8>,
}

impl Lab {
    pub(super) fn new(config: Config) -> Self {
        Self {
            node: Node::new(config),
            sessions: Sessions::default(),
            usage: Usage::default(),
            now: Instant::from_millis(1_500),
            from: SocketAddr::new(SMF.into(), 8_805),
            seq: 100,
            last: Vec::new(),
        }
    }

    /// With an association of [`SMF`].
    pub(super) fn associated(config: Config) -> Self {
        let mut lab = Self::new(config);
        assert_eq!(lab.set_up(SMF, 7), Some(cause::ACCEPTED));
        lab
    }

    pub(super) fn octets(&mut self, octets: &[u8]) {
        let Self {
            node,
            sessions,
            usage,
            now,
            from,
            ..
        } = self;
        node.on_message(*now, *from, octets, sessions, usage);
    }

    pub(super) fn wait(&mut self, time: Duration) {
        self.now += time;
        let Self {
            node,
            sessions,
            usage,
            now,
            ..
        } = self;
        node.on_timer(*now, sessions, usage);
    }

    /// Sends a request; header and elements of the answer.
    pub(super) fn send(
        &mut self,
        kind: Kind,
        seid: Option<u64>,
        elements: &[Element<'_>],
    ) -> Option<(Header, Vec<u8>)> {
        self.seq += 1;
        let mut out = vec![0; 65_507];
        let header = Header {
            kind,
            seid,
            seq: self.seq,
            priority: None,
        };
        let n = header.write(elements, &mut out).expect("room");
        out.truncate(n);
        self.last.clone_from(&out);
        self.octets(&out);
        let (to, answer) = self.node.poll_transmit()?;
        assert_eq!(to, self.from);
        let message = Message::parse(&answer).expect("a message");
        assert_eq!(message.header.seq, self.seq);
        Some((message.header, answer))
    }

    pub(super) fn set_up(&mut self, name: Ipv4Addr, recovery: u32) -> Option<u8> {
        let elements = [
            Element::NodeId(NodeId::V4(name)),
            Element::Recovery(recovery),
        ];
        let (header, answer) = self.send(Kind::AssociationSetupRequest, None, &elements)?;
        assert_eq!(header.kind, Kind::AssociationSetupResponse);
        of(&elements_of(&answer))
    }

    pub(super) fn establish(&mut self, elements: &[Element<'_>]) -> Vec<u8> {
        let kind = Kind::SessionEstablishmentRequest;
        let (header, answer) = self.send(kind, Some(0), elements).expect("an answer");
        assert_eq!(header.kind, Kind::SessionEstablishmentResponse);
        answer
    }

    pub(super) fn modify(&mut self, seid: Seid, elements: &[Element<'_>]) -> Vec<u8> {
        let kind = Kind::SessionModificationRequest;
        let (header, answer) = self.send(kind, Some(seid.0), elements).expect("an answer");
        assert_eq!(header.kind, Kind::SessionModificationResponse);
        answer
    }

    pub(super) fn delete(&mut self, seid: Seid) -> Vec<u8> {
        let kind = Kind::SessionDeletionRequest;
        let answer = self.send(kind, Some(seid.0), &[]);
        answer.expect("an answer").1
    }

    /// A session of `ue`: its name and its uplink tunnel.
    pub(super) fn session(&mut self, ue: Ipv4Addr) -> (Seid, Teid) {
        let answer = self.establish(&establishment(ue));
        let elements = elements_of(&answer);
        assert_eq!(of(&elements), Some(cause::ACCEPTED), "{elements:?}");
        let (mut seid, mut teid) = (None, None);
        for element in elements {
            match element {
                Element::FSeid(f) => seid = Some(Seid(f.seid)),
                Element::CreatedPdr(c) => match c.tunnel {
                    Some(FTeid::Given { teid: t, .. }) => teid = Some(t),
                    _ => panic!("no tunnel"),
                },
                _ => {}
            }
        }
        (seid.expect("an F-SEID"), teid.expect("a tunnel"))
    }
}

pub(super) fn elements_of(answer: &[u8]) -> Vec<Element<'_>> {
    let message = Message::parse(answer).expect("a message");
    let elements: Result<Vec<_>, _> = message.elements().collect();
    elements.expect("elements")
}

pub(super) fn uplink(id: u16, tunnel: FTeid) -> Pdr<'static> {
    Pdr {
        id,
        precedence: Some(100),
        pdi: Some(Pdi {
            source: interface::ACCESS,
            tunnel: Some(tunnel),
            qfis: vec![Qfi(9)],
            ..Pdi::default()
        }),
        outer_removal: Some(0),
        far: Some(1),
        qers: vec![1],
        urrs: vec![1],
        ..Pdr::default()
    }
}

pub(super) const CHOOSE: FTeid = FTeid::Choose {
    v4: true,
    v6: false,
    id: None,
};

pub(super) fn downlink(id: u16, ue: Ipv4Addr) -> Pdr<'static> {
    Pdr {
        id,
        precedence: Some(200),
        pdi: Some(Pdi {
            source: interface::CORE,
            network: Some(b"\x08internet"),
            ue: Some(UeIp {
                v4: Some(ue),
                destination: true,
                ..UeIp::default()
            }),
            ..Pdi::default()
        }),
        far: Some(2),
        qers: vec![1],
        urrs: vec![1],
        ..Pdr::default()
    }
}

pub(super) fn far(id: u32, destination: u8, outer: Option<OuterHeader>) -> Far<'static> {
    Far {
        id,
        action: Some(action::FORWARD),
        forwarding: Some(Forwarding {
            destination: Some(destination),
            outer,
            ..Forwarding::default()
        }),
        ..Far::default()
    }
}

pub(super) fn qer() -> Qer {
    let rates = BitRates {
        up: Rate::from_mbps(20.0),
        down: Rate::from_mbps(100.0),
    };
    Qer {
        id: 1,
        gates: Some(Gates {
            up: true,
            down: true,
        }),
        maximum: Some(rates),
        qfi: Some(Qfi(9)),
        ..Qer::default()
    }
}

pub(super) fn urr() -> Urr {
    Urr {
        id: 1,
        method: Some(method::VOLUME),
        triggers: Some(0),
        ..Urr::default()
    }
}

/// One flow each way: downlink packets are kept until the gNB is known.
pub(super) fn establishment(ue: Ipv4Addr) -> Vec<Element<'static>> {
    let buffer = Far {
        id: 2,
        action: Some(action::BUFFER | action::NOTIFY),
        ..Far::default()
    };
    vec![
        Element::NodeId(NodeId::V4(SMF)),
        Element::FSeid(FSeid {
            seid: 0x1122,
            v4: Some(SMF),
            v6: None,
        }),
        Element::CreatePdr(uplink(1, CHOOSE)),
        Element::CreatePdr(downlink(2, ue)),
        Element::CreateFar(far(1, interface::CORE, None)),
        Element::CreateFar(buffer),
        Element::CreateQer(qer()),
        Element::CreateUrr(urr()),
        Element::PdnType(1),
    ]
}
