//! Messages of GTP-U that carry no user's packet, and the marks of the outer header.

use slackwater_core::{Ecn, PacketView as _, Teid};
use slackwater_upf::user::ecn;
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

/// The user's packet with the mark of the outer header (RFC 6040, 4.2); `None` where it is to be dropped.
pub(super) fn decapsulated(packet: &[u8], outer: Ecn) -> Option<Vec<u8>> {
    let own = inner(packet);
    let field = ecn::decapsulated(own, outer)?;
    let mut bytes = packet.to_vec();
    if field != own
        && let Ok(mut ip) = IpPacket::new(&mut bytes[..])
    {
        ip.set_ecn(field);
    }
    Some(bytes)
}

/// The ECN field of an IP packet (RFC 3168, 5; RFC 8200, 3). What is no IP packet has none, and the cell refuses it.
pub(super) fn inner(packet: &[u8]) -> Ecn {
    match packet {
        [first, class, ..] if first >> 4 == 4 => Ecn::from_bits(*class),
        [first, class, ..] if first >> 4 == 6 => Ecn::from_bits(class >> 4),
        _ => Ecn::NotEct,
    }
}
