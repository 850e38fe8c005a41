//! What is said of a packet that is too long for N3: ICMP fragmentation needed (RFC 1191, 4) and `ICMPv6` packet too big
//! (RFC 4443, 3.2; RFC 8201).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use slackwater_wire::{IpPacket, checksum};

/// An IPv6 link carries packets of this length whole (RFC 8200, 5).
pub const IPV6_LEAST: usize = 1_280;
/// What an IPv4 host takes whole (RFC 1122, 3.2.2: as much as fits 576 octets; RFC 1812, 4.3.2.3).
const IPV4_QUOTED: usize = 576 - 28;
/// The source of ICMP of a router without an IPv4 address (RFC 7600, 6).
const DUMMY: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// Who says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Our IPv4 address on N6.
    pub v4: Option<Ipv4Addr>,
    /// Our IPv6 address on N6.
    pub v6: Option<Ipv6Addr>,
}

/// The message to the sender of `packet`, for which `mtu` octets are the most; `None` where none may be sent: about an ICMP
/// error, a later fragment, and to an address that is not one host's (RFC 1122, 3.2.2; RFC 4443, 2.4 (e)).
pub fn too_long<B: AsRef<[u8]> + AsMut<[u8]>>(
    packet: &IpPacket<B>,
    mtu: usize,
    sources: Sources,
) -> Option<Vec<u8>> {
    if packet.fragment().is_some_and(|f| f.offset != 0) {
        return None;
    }
    match packet.ends() {
        (IpAddr::V4(sender), IpAddr::V4(receiver)) => {
            let wrong = sender.is_unspecified()
                || sender.is_broadcast()
                || sender.is_multicast()
                || sender.is_loopback()
                || receiver.is_multicast()
                || receiver.is_broadcast();
            if wrong || is_error_v4(packet) {
                return None;
            }
            Some(v4(packet.bytes(), sender, sources.v4.unwrap_or(DUMMY), mtu))
        }
        (IpAddr::V6(sender), IpAddr::V6(receiver)) => {
            // A multicast receiver is no bar here: path MTU discovery works for it too (RFC 4443, 2.4 (e.3)).
            if sender.is_unspecified() || sender.is_multicast() || is_error_v6(packet) {
                return None;
            }
            // Without an address of ours, that of the UE: it lies behind us.
            let source = sources.v6.unwrap_or(receiver);
            Some(v6(packet.bytes(), sender, source, mtu))
        }
        _ => None,
    }
}

/// Destination unreachable, source quench, redirect, time exceeded, parameter problem.
fn is_error_v4<B: AsRef<[u8]>>(packet: &IpPacket<B>) -> bool {
    let bytes = packet.bytes();
    let at = usize::from(bytes[0] & 0xf) * 4;
    bytes[9] == 1
        && bytes
            .get(at)
            .is_none_or(|kind| matches!(kind, 3 | 4 | 5 | 11 | 12))
}

/// Types below 128, and redirect (RFC 4443, 2.1).
fn is_error_v6<B: AsRef<[u8]> + AsMut<[u8]>>(packet: &IpPacket<B>) -> bool {
    const ICMPV6: u8 = 58;
    let length = packet.bytes().len();
    let Some(at) = packet.transport_at(ICMPV6).filter(|at| *at < length) else {
        return packet.protocol() == Some(ICMPV6);
    };
    let kind = packet.bytes()[at];
    kind < 128 || kind == 137
}

fn v4(quoted: &[u8], to: Ipv4Addr, from: Ipv4Addr, mtu: usize) -> Vec<u8> {
    let quoted = &quoted[..quoted.len().min(IPV4_QUOTED)];
    let length = 28 + quoted.len();
    let mut out = Vec::with_capacity(length);
    out.extend([0x45, 0xc0]);
    out.extend((length as u16).to_be_bytes());
    out.extend([0, 0, 0, 0, 64, 1, 0, 0]);
    out.extend(from.octets());
    out.extend(to.octets());
    let sum = checksum::finish(checksum::sum(&out));
    out[10..12].copy_from_slice(&sum);
    // Type 3, code 4, checksum, unused, next-hop MTU (RFC 1191, 4).
    out.extend([3, 4, 0, 0, 0, 0]);
    out.extend((mtu.min(0xffff) as u16).to_be_bytes());
    out.extend(quoted);
    let sum = checksum::finish(checksum::sum(&out[20..]));
    out[22..24].copy_from_slice(&sum);
    out
}

fn v6(quoted: &[u8], to: Ipv6Addr, from: Ipv6Addr, mtu: usize) -> Vec<u8> {
    // As much as fits the least MTU (RFC 4443, 3.2).
    let quoted = &quoted[..quoted.len().min(IPV6_LEAST - 48)];
    let length = 8 + quoted.len();
    let mut out = Vec::with_capacity(40 + length);
    out.extend([0x60, 0, 0, 0]);
    out.extend((length as u16).to_be_bytes());
    out.extend([58, 64]);
    out.extend(from.octets());
    out.extend(to.octets());
    out.extend([2, 0, 0, 0]);
    out.extend((mtu as u32).to_be_bytes());
    out.extend(quoted);
    let pseudo = checksum::sum(&from.octets())
        + checksum::sum(&to.octets())
        + checksum::pseudo(58, length as u32);
    let sum = checksum::finish(pseudo + checksum::sum(&out[40..]));
    out[42..44].copy_from_slice(&sum);
    out
}
