//! Messages of GTP-U that carry no user's packet, and the marks of the outer header.

use slackwater_core::{Ecn, PacketView as _, Teid};
use slackwater_wire::IpPacket;
use slackwater_wire::gtpu::ie::{self, Element, Elements};
use slackwater_wire::gtpu::report::{Capabilities, ENTERPRISE};
use slackwater_wire::gtpu::{Header, Kind, Message};

/// A message without a user's packet, of tunnel 0.
pub(super) fn message(
    kind: Kind,
    seq: Option<u16>,
    extensions: &[(u8, &[u8])],
    elements: &[Element<'_>],
) -> Option<Vec<u8>> {
    let mut payload = [0; 64];
    let n = ie::write(elements, &mut payload).ok()?;
    let header = Header {
        kind,
        teid: Teid(0),
        // TS 29.281, 5.1: these messages have the flag S always.
        seq: seq.or(Some(0)),
        n_pdu: None,
    };
    let mut out = vec![0; header.len(extensions) + n];
    let at = header.write(extensions, n, &mut out).ok()?;
    out[at..].copy_from_slice(&payload[..n]);
    Some(out)
}

/// An echo, which says what this end can read (docs/wire.md). The restart counter of a response is 0, and nobody reads it
/// (TS 29.281, 8.2).
pub(super) fn echo(kind: Kind, seq: Option<u16>) -> Option<Vec<u8>> {
    let value = Capabilities {
        container: true,
        session: true,
        multi: true,
    }
    .octets();
    let private = Element::Private {
        vendor: ENTERPRISE,
        value: &value,
    };
    let all = [Element::Recovery(0), private];
    let elements = if kind == Kind::EchoResponse {
        &all[..]
    } else {
        &all[1..]
    };
    message(kind, seq, &[], elements)
}

/// What the sender of an echo response reads, where it says so.
pub(super) fn capabilities(message: &Message<'_>) -> Option<Capabilities> {
    let mut elements = Elements::new(message.payload(), message.payload_at());
    elements.find_map(|element| match element {
        Ok(Element::Private { vendor, value }) if vendor == ENTERPRISE => {
            Capabilities::parse(value).ok()
        }
        _ => None,
    })
}

/// The user's packet with the mark of the outer header (RFC 6040, figure 4); `None` where it is to be dropped.
pub(super) fn decapsulated(packet: &[u8], outer: Ecn) -> Option<Vec<u8>> {
    let bytes = packet.to_vec();
    if outer != Ecn::Ce && outer != Ecn::Ect1 {
        return Some(bytes);
    }
    let Ok(mut ip) = IpPacket::new(bytes) else {
        // No IP: a mark has no place, and the cell refuses the packet.
        return Some(packet.to_vec());
    };
    match (ip.ecn(), outer) {
        (Ecn::NotEct, Ecn::Ce) => return None,
        (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => ip.set_ecn(Ecn::Ce),
        (Ecn::Ect0, Ecn::Ect1) => ip.set_ecn(Ecn::Ect1),
        _ => {}
    }
    Some(ip.into_inner())
}
