//! Messages of GTP-U that carry no user's packet (TS 29.281, 7).

use std::net::{IpAddr, SocketAddr};

use slackwater_core::{Instant, Teid};
use slackwater_wire::gtpu::extension::UDP_PORT;
use slackwater_wire::gtpu::ie::{Element, Elements, write};
use slackwater_wire::gtpu::report::{Capabilities, ENTERPRISE};
use slackwater_wire::gtpu::{Header, Kind, Message, PORT};

use super::n3::KNOWN;
use super::{Buf, Event, Output, User};
use crate::rules::{Action, Interface, RemoteTunnel};
use crate::sessions::Sessions;

impl User {
    /// One of ours to a peer.
    fn signal(
        &mut self,
        to: SocketAddr,
        kind: Kind,
        seq: u16,
        extensions: &[(u8, &[u8])],
        elements: &[Element<'_>],
    ) {
        let mut payload = [0; 64];
        let mut octets = [0; 128];
        let header = Header {
            kind,
            teid: Teid(0),
            seq: Some(seq),
            n_pdu: None,
        };
        let written = write(elements, &mut payload).and_then(|n| {
            let at = header.write(extensions, n, &mut octets)?;
            Ok((at, n))
        });
        let Ok((at, n)) = written else {
            debug_assert!(false, "{written:?}");
            return;
        };
        octets[at..at + n].copy_from_slice(&payload[..n]);
        self.out.push_back(Output::N3 {
            to,
            tos: 0,
            bytes: Buf::copied(&octets[..at + n]),
        });
    }

    /// 7.2.2: to where the request came from, with its number. The restart counter is 0 (8.2). Beside it stands which reports
    /// are read here (docs/wire.md).
    pub(super) fn answer_echo(&mut self, from: SocketAddr, seq: Option<u16>) {
        self.counters.echoes += 1;
        let reads = Capabilities {
            container: true,
            session: true,
            multi: true,
        };
        let elements = [
            Element::Recovery(0),
            Element::Private {
                vendor: ENTERPRISE,
                value: &reads.octets(),
            },
        ];
        self.signal(from, Kind::EchoResponse, seq.unwrap_or(0), &[], &elements);
    }

    /// 7.2.3: which extension headers are known here.
    pub(super) fn notify_headers(&mut self, now: Instant, from: SocketAddr) {
        if !self.notify_often.allows(now) {
            self.counters.notifications_suppressed += 1;
            return;
        }
        self.counters.notifications_out += 1;
        let to = SocketAddr::new(from.ip(), PORT);
        let elements = [Element::HeaderTypes(&KNOWN)];
        self.signal(to, Kind::SupportedExtensionHeaders, 0, &[], &elements);
    }

    /// 7.3.1: there is no such tunnel here. The extension header names the port that the message came from.
    pub(super) fn indicate_error(&mut self, now: Instant, from: SocketAddr, teid: Teid) {
        let own = match from.ip() {
            IpAddr::V4(_) => self.config.n3_v4.map(IpAddr::V4),
            IpAddr::V6(_) => self.config.n3_v6.map(IpAddr::V6),
        };
        let Some(own) = own.filter(|_| self.error_often.allows(now)) else {
            self.counters.error_indications_suppressed += 1;
            return;
        };
        self.counters.error_indications_out += 1;
        let port = from.port().to_be_bytes();
        let elements = [Element::TeidData(teid), Element::PeerAddress(own)];
        let to = SocketAddr::new(from.ip(), PORT);
        let extensions: [(u8, &[u8]); 1] = [(UDP_PORT, &port)];
        self.signal(to, Kind::ErrorIndication, 0, &extensions, &elements);
    }

    /// A peer has no such tunnel. It may say so of its own tunnels alone: otherwise anyone could end a session.
    pub(super) fn take_error(&mut self, from: SocketAddr, message: &Message<'_>) {
        let (mut teid, mut address) = (None, None);
        for element in Elements::new(message.payload(), message.payload_at()) {
            match element {
                Ok(Element::TeidData(t)) => teid = Some(t),
                Ok(Element::PeerAddress(a)) => address = Some(a),
                _ => {}
            }
        }
        let tunnel = match (teid, address) {
            (Some(teid), Some(address)) if address == from.ip() => RemoteTunnel { teid, address },
            _ => {
                self.counters.error_indications_refused += 1;
                return;
            }
        };
        match self.peers.get(&tunnel) {
            Some(&seid) => {
                self.counters.error_indications_in += 1;
                self.tell(Event::ErrorIndication { seid, tunnel });
            }
            None => self.counters.error_indications_refused += 1,
        }
    }

    /// 7.3.2: the last packet of a path. Where a tunnel goes on to a base station, so does the marker (TS 23.501, 5.8.2.9).
    pub(super) fn pass_end_marker(
        &mut self,
        now: Instant,
        sessions: &Sessions,
        from: SocketAddr,
        teid: Teid,
    ) {
        let Some(session) = sessions.by_tunnel(teid) else {
            self.counters.unknown_tunnel += 1;
            self.indicate_error(now, from, teid);
            return;
        };
        self.counters.end_markers_in += 1;
        let rules = &session.rules;
        let onward = rules
            .pdrs
            .iter()
            .filter(|p| p.source == Interface::Core && p.tunnel.is_some_and(|t| t.teid == teid))
            .filter_map(|p| rules.far(p.far?))
            .filter(|far| far.action == Action::Forward)
            .find_map(|far| far.outer);
        if let Some(tunnel) = onward {
            self.send_end_marker(tunnel);
        }
    }
}
