//! Fragments: which packet one belongs to, and an IPv4 packet cut into some (RFC 791, 3.2; RFC 8200, 4.5).

use super::{IpPacket, be16, be32};
use crate::checksum;

/// What a packet says of its being a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// Equal in all fragments of a packet, for one pair of addresses and one protocol.
    pub id: u32,
    /// Octets of the packet's payload before this one's.
    pub offset: u16,
    /// More follow.
    pub more: bool,
}

impl<B: AsRef<[u8]>> IpPacket<B> {
    /// `None` for a whole packet.
    pub fn fragment(&self) -> Option<Fragment> {
        let bytes = self.bytes();
        if !self.is_v6() {
            let word = be16(bytes, 6)?;
            return (word & 0x3fff != 0).then(|| Fragment {
                id: u32::from(be16(bytes, 4).unwrap_or(0)),
                offset: (word & 0x1fff) << 3,
                more: word & 0x2000 != 0,
            });
        }
        let (mut next, mut at) = (bytes[6], 40);
        loop {
            match next {
                // Hop-by-hop, routing, destination options: what may stand before the fragment header.
                0 | 43 | 60 => {
                    next = *bytes.get(at)?;
                    at += (usize::from(*bytes.get(at + 1)?) + 1) * 8;
                }
                44 => {
                    let word = be16(bytes, at + 2)?;
                    return Some(Fragment {
                        id: be32(bytes, at + 4)?,
                        offset: word & 0xfff8,
                        more: word & 1 != 0,
                    });
                }
                _ => return None,
            }
        }
    }

    /// True where no router may cut the packet: IPv4 with its flag set, and IPv6 (RFC 8200, 4.5).
    pub fn dont_fragment(&self) -> bool {
        self.is_v6() || self.bytes()[6] & 0x40 != 0
    }
}

/// Cuts an IPv4 packet into fragments of at most `mtu` octets, in order. Its flag against that is not looked at.
/// `None` where it is not a whole IPv4 packet, or `mtu` leaves no room for eight octets.
pub fn fragments<B: AsRef<[u8]>>(packet: &IpPacket<B>, mtu: usize) -> Option<Vec<Vec<u8>>> {
    let bytes = packet.bytes();
    if packet.is_v6() || packet.layout.end < packet.layout.total as usize {
        return None;
    }
    let header = usize::from(bytes[0] & 0xf) * 4;
    // The others have only the options that are to be copied (RFC 791, 3.1: the flag in an option's first bit).
    let mut later = bytes[..20].to_vec();
    let mut options = &bytes[20..header];
    while let [kind, rest @ ..] = options {
        let length = match (kind, rest) {
            (0, _) => break,
            (1, _) => 1,
            (_, [length, ..]) if (2..=options.len()).contains(&usize::from(*length)) => {
                usize::from(*length)
            }
            _ => break,
        };
        if kind & 0x80 != 0 {
            later.extend(&options[..length]);
        }
        options = &options[length..];
    }
    later.resize(later.len().next_multiple_of(4), 0);
    later[0] = 0x40 | (later.len() / 4) as u8;

    let field = be16(bytes, 6)?;
    let mut offset = field & 0x1fff;
    let mut rest = &bytes[header..];
    let mut head: &[u8] = &bytes[..header];
    let mut out = Vec::new();
    loop {
        let room = mtu.checked_sub(head.len()).filter(|r| *r >= 8)?;
        let last = rest.len() <= room;
        let taken = if last { rest.len() } else { room & !7 };
        let mut piece = Vec::with_capacity(head.len() + taken);
        piece.extend(head);
        piece.extend(&rest[..taken]);
        let more = !last || field & 0x2000 != 0;
        let word = offset | field & 0x4000 | if more { 0x2000 } else { 0 };
        let length = piece.len() as u16;
        piece[2..4].copy_from_slice(&length.to_be_bytes());
        piece[6..8].copy_from_slice(&word.to_be_bytes());
        piece[10..12].copy_from_slice(&[0; 2]);
        let sum = checksum::finish(checksum::sum(&piece[..head.len()]));
        piece[10..12].copy_from_slice(&sum);
        out.push(piece);
        if last {
            return Some(out);
        }
        rest = &rest[taken..];
        offset += (taken / 8) as u16;
        head = &later;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet with an option that is copied (148, router alert) and one that is not (7, record route).
    fn packet(payload: usize) -> Vec<u8> {
        let mut p = vec![0x48, 0, 0, 0, 0xab, 0xcd, 0, 0, 64, 17, 0, 0];
        p.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        p.extend([148, 4, 0, 0, 7, 7, 4, 0, 0, 0, 0, 0]);
        p.extend((0..payload).map(|n| n as u8));
        let total = (p.len() as u16).to_be_bytes();
        p[2..4].copy_from_slice(&total);
        let sum = checksum::finish(checksum::sum(&p[..32]));
        p[10..12].copy_from_slice(&sum);
        p
    }

    #[test]
    fn pieces_add_up_to_the_packet() {
        let whole = packet(3_000);
        let view = IpPacket::new(&whole[..]).unwrap();
        let pieces = fragments(&view, 1_400).unwrap();
        assert_eq!(pieces.len(), 3);
        let mut payload = vec![0; 3_000];
        for (n, piece) in pieces.iter().enumerate() {
            let view = IpPacket::new(&piece[..]).unwrap();
            assert!(view.checksums_hold() && piece.len() <= 1_400);
            let fragment = view.fragment().unwrap();
            assert_eq!((fragment.id, fragment.more), (0xabcd, n + 1 < pieces.len()));
            let header = usize::from(piece[0] & 0xf) * 4;
            assert_eq!(header, if n == 0 { 32 } else { 24 }, "options");
            let at = usize::from(fragment.offset);
            payload[at..at + piece.len() - header].copy_from_slice(&piece[header..]);
        }
        assert_eq!(payload, whole[32..]);
        assert!(fragments(&view, 39).is_none(), "no room for eight octets");
    }

    #[test]
    fn a_fragment_is_cut_again() {
        let whole = packet(3_000);
        let first = fragments(&IpPacket::new(&whole[..]).unwrap(), 1_400).unwrap();
        let middle = IpPacket::new(&first[1][..]).unwrap();
        let again = fragments(&middle, 600).unwrap();
        let at = middle.fragment().unwrap().offset;
        let views: Vec<_> = again
            .iter()
            .map(|p| IpPacket::new(&p[..]).unwrap().fragment().unwrap())
            .collect();
        assert_eq!(views[0].offset, at);
        assert!(views.iter().all(|f| f.more), "the last of all is elsewhere");
    }

    #[test]
    fn a_fragment_of_ipv6_is_found_behind_options() {
        let mut p = vec![0x60, 0, 0, 0, 0, 16, 0, 64];
        p.extend([0; 32]);
        p.extend([44, 0, 0, 0, 0, 0, 0, 0]);
        p.extend([17, 0, 0x05, 0xa9, 0, 0, 0x12, 0x34]);
        let view = IpPacket::new(&p[..]).unwrap();
        let expected = Fragment {
            id: 0x1234,
            offset: 0x5a8,
            more: true,
        };
        assert_eq!(view.fragment(), Some(expected));
        assert!(view.dont_fragment());
    }
}
