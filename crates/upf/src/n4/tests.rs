//! A control plane in one process with the node: it writes and reads octets.

mod hostile;
mod peers;
mod refusals;
mod rules;

use std::net::{Ipv4Addr, SocketAddr};

use slackwater_core::{Duration, Instant, Qfi, Teid};
use slackwater_wire::gtpu::{Ntp, NtpClock};
use slackwater_wire::pfcp::{
    Element, FTeid, Far, Forwarding, Gates, Header, Kind, Message, NodeId, OuterHeader, Pdi, Pdr,
    Qer, UeIp, Urr, action, cause, interface,
};

use super::*;
use crate::rules::Interface;
use crate::testing::{self, counted};
pub(super) use crate::testing::{CHOOSE, GNB_ADDRESS as GNB, HERE, SMF_ADDRESS as SMF, UE, urr};

pub(super) fn config() -> Config {
    Config {
        node: NodeName::Address(HERE.into()),
        clock: NtpClock::new(Ntp(0xe000_0000_0000_0000)),
        ..testing::config().n4
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
        let out = testing::message(kind, seid, self.seq, elements);
        self.last.clone_from(&out);
        self.octets(&out);
        let (to, answer) = self.node.poll_transmit()?;
        assert_eq!(to, self.from);
        let message = Message::parse(&answer).expect("a message");
        assert_eq!(message.header.seq, self.seq);
        Some((message.header, answer))
    }

    pub(super) fn set_up(&mut self, name: Ipv4Addr, recovery: u32) -> Option<u8> {
        let elements = testing::association(name, recovery);
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
    counted(testing::uplink(id, tunnel, Some(Qfi(9))))
}

pub(super) fn downlink(id: u16, ue: Ipv4Addr) -> Pdr<'static> {
    let pdr = testing::downlink(id, ue);
    let pdi = pdr.pdi.map(|pdi| Pdi {
        network: Some(b"\x08internet"),
        ..pdi
    });
    counted(Pdr {
        precedence: Some(200),
        pdi,
        ..pdr
    })
}

pub(super) fn qer() -> Qer {
    testing::qer(100.0, Some(Qfi(9)))
}

/// One flow each way: downlink packets are kept until the gNB is known.
pub(super) fn establishment(ue: Ipv4Addr) -> Vec<Element<'static>> {
    let pdrs = [uplink(1, CHOOSE), downlink(2, ue)];
    let buffer = Far {
        id: 2,
        action: Some(action::BUFFER | action::NOTIFY),
        ..Far::default()
    };
    let fars = [Far::forward(1, interface::CORE, None), buffer];
    testing::establishment(0x1122, pdrs, fars, qer(), Some(urr()))
}
