//! Datagrams from N3 and N9 (TS 29.281).

use std::net::SocketAddr;

use slackwater_core::{Ecn, Instant, PacketView as _, Qfi};
use slackwater_wire::gtpu::extension::{
    NR_RAN_CONTAINER, PDU_SESSION_CONTAINER, SERVICE_CLASS, UDP_PORT,
};
use slackwater_wire::gtpu::psc::Container;
use slackwater_wire::gtpu::{Extension, Kind, Message, Role};

use super::buffer::Buf;
use super::classify::{Entry, Facts};
use super::n6::sound;
use super::{User, ecn};
use crate::sessions::Sessions;
use crate::usage::Usage;

/// The extension headers that are understood here. Any other whose type asks for it (bits 8 and 7) ends a message.
pub(super) const KNOWN: [u8; 4] = [
    SERVICE_CLASS,
    UDP_PORT,
    NR_RAN_CONTAINER,
    PDU_SESSION_CONTAINER,
];

/// What a container says of the packet behind it.
#[derive(Clone, Copy, Debug, Default)]
struct Pdu {
    qfi: Option<Qfi>,
}

/// The QFI of an uplink container that says nothing else, which is most of them (TS 38.415, 5.5.2.2: type 1, no flag set, a
/// `QoS` flow).
pub(super) fn plain_uplink(extension: &Extension<'_>) -> Option<Qfi> {
    match (extension.kind, extension.content) {
        (PDU_SESSION_CONTAINER, [0x10, qfi @ 0..=0x3f]) => Some(Qfi(*qfi)),
        _ => None,
    }
}

fn pdu_of(message: &Message<'_>) -> Pdu {
    let Some(extension) = message.extension(PDU_SESSION_CONTAINER) else {
        return Pdu::default();
    };
    let plain = plain_uplink(&extension);
    if plain.is_some() {
        return Pdu { qfi: plain };
    }
    let container = Container::parse(extension.content).ok();
    Pdu {
        qfi: container.map(|c| match c {
            Container::Downlink(d) => d.qfi,
            Container::Uplink(u) => u.qfi,
        }),
    }
}

impl User {
    /// A datagram came from a peer on N3 or N9; `outer` is the ECN field of its IP header.
    pub fn on_n3(
        &mut self,
        now: Instant,
        sessions: &mut Sessions,
        usage: &mut Usage,
        from: SocketAddr,
        mut datagram: Buf,
        outer: Ecn,
    ) {
        self.follow(now, sessions, usage);
        self.counters.n3_in += 1;
        let Ok(message) = Message::parse(datagram.as_ref()) else {
            self.counters.malformed_gtpu += 1;
            return;
        };
        if message.not_understood(Role::Endpoint, &KNOWN).is_some() {
            self.counters.not_understood += 1;
            self.notify_headers(now, from);
            return;
        }
        match message.header.kind {
            Kind::GPdu => {
                let teid = message.header.teid;
                let Some(session) = sessions.by_tunnel(teid) else {
                    self.counters.unknown_tunnel += 1;
                    self.indicate_error(now, from, teid);
                    return;
                };
                self.take_reports(now, sessions, session, from.ip(), &message);
                let entry = Entry::Tunnel(teid, pdu_of(&message).qfi);
                let (at, length) = (message.payload_at(), message.payload().len());
                if length == 0 {
                    self.counters.empty_pdus += 1;
                } else {
                    datagram.skip(at);
                    datagram.truncate(length);
                    if let Some(mut ip) = sound(datagram) {
                        let facts = Facts::of(&ip);
                        match ecn::decapsulated(ip.ecn(), outer) {
                            None => self.counters.ecn_contradicts += 1,
                            Some(field) => {
                                if field != ip.ecn() {
                                    ip.set_ecn(field);
                                }
                                if let Some((pdr, packet)) =
                                    self.meet(now, session, entry, &facts, ip)
                                {
                                    self.enforce(now, session, pdr, packet, usage);
                                }
                            }
                        }
                    } else {
                        self.counters.malformed_ip += 1;
                    }
                }
            }
            Kind::EchoRequest => self.answer_echo(from, message.header.seq),
            Kind::EchoResponse => self.counters.echo_responses += 1,
            Kind::ErrorIndication => self.take_error(from, &message),
            Kind::SupportedExtensionHeaders => self.counters.notifications_in += 1,
            Kind::EndMarker => self.pass_end_marker(now, sessions, from, message.header.teid),
            Kind::TunnelStatus | Kind::Other(_) => self.counters.other_messages += 1,
        }
        self.send_ready(now, sessions, usage);
    }
}
