//! Real IP packets as the algorithms see them: [`PacketView`] over a buffer.

mod fragment;

pub use fragment::{Fragment, fragments};

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use slackwater_core::{
    Draw, Ecn, PacketView, SackBlock, SackList, SeqNum, SynOptions, TcpFlags, TcpHeader,
};

use crate::WireError;
use crate::checksum;

/// IANA protocol numbers (RFC 9293; RFC 768).
pub(crate) const TCP: u8 = 6;
/// See [`TCP`].
pub(crate) const UDP: u8 = 17;

/// An IP packet in a buffer: IPv4 (RFC 791) or IPv6 (RFC 8200), with TCP or UDP where it shows one.
///
/// The headers are parsed once, and every later access stays within what was found, whatever the bytes. A buffer that
/// holds less than the packet (a capture cut short) is taken as long as the IP header is whole.
#[derive(Clone, Debug)]
pub struct IpPacket<B> {
    bytes: B,
    layout: Layout,
}

/// A packet that owns its buffer.
pub type IpBuf = IpPacket<Vec<u8>>;
/// A packet in someone else's buffer.
pub type IpView<'a> = IpPacket<&'a mut [u8]>;

/// Where things are.
#[derive(Clone, Copy, Debug)]
struct Layout {
    v6: bool,
    /// Length that the IP header states.
    total: u32,
    /// The end of the packet's bytes in the buffer: `total`, or less in a capture cut short.
    end: usize,
    /// Protocol and start of the transport header; `None` for later fragments and unknown extension headers.
    transport: Option<(u8, usize)>,
    key: u32,
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(word.try_into().ok()?))
}

impl Layout {
    fn of(bytes: &[u8]) -> Result<Self, WireError> {
        let first = *bytes
            .first()
            .ok_or_else(|| WireError::new(0, "no byte", "an IP header"))?;
        match first >> 4 {
            4 => Self::of_v4(bytes, usize::from(first & 0xf) * 4),
            6 => Self::of_v6(bytes),
            version => Err(WireError::new(
                0,
                format!("IP version {version}"),
                "version 4 or 6",
            )),
        }
    }

    fn of_v4(bytes: &[u8], header: usize) -> Result<Self, WireError> {
        if header < 20 || bytes.len() < header {
            return Err(WireError::new(
                0,
                format!("a header of {header} bytes in {}", bytes.len()),
                "20 to 60 bytes, all in the buffer",
            ));
        }
        let total = be16(bytes, 2).unwrap_or(0);
        if usize::from(total) < header {
            return Err(WireError::new(
                2,
                format!("total length {total}"),
                format!("at least the header's {header} bytes"),
            ));
        }
        let fragment = be16(bytes, 6).unwrap_or(0) & 0x1fff;
        let transport = (fragment == 0).then_some((bytes[9], header));
        let end = bytes.len().min(usize::from(total));
        Ok(Self {
            v6: false,
            total: u32::from(total),
            end,
            transport,
            key: flow_key(
                &bytes[12..16],
                &bytes[16..20],
                protocol_and_ports(&bytes[..end], transport),
            ),
        })
    }

    fn of_v6(bytes: &[u8]) -> Result<Self, WireError> {
        const HEADER: usize = 40;
        if bytes.len() < HEADER {
            return Err(WireError::new(
                0,
                format!("{} bytes", bytes.len()),
                "an IPv6 header of 40 bytes",
            ));
        }
        let total = HEADER + usize::from(be16(bytes, 4).unwrap_or(0));
        let end = bytes.len().min(total);
        let transport = v6_transport(&bytes[..end], bytes[6], HEADER);
        Ok(Self {
            v6: true,
            total: total as u32,
            end,
            transport,
            key: flow_key(
                &bytes[8..24],
                &bytes[24..40],
                protocol_and_ports(&bytes[..end], transport),
            ),
        })
    }
}

/// Walks the extension headers (RFC 8200, 4) to the transport header.
fn v6_transport(bytes: &[u8], mut next: u8, mut at: usize) -> Option<(u8, usize)> {
    // Every header takes at least 8 bytes, so the walk ends.
    loop {
        let length = match next {
            // Hop-by-hop, routing, destination options, mobility.
            0 | 43 | 60 | 135 => (usize::from(*bytes.get(at + 1)?) + 1) * 8,
            // Fragment: only the first holds the transport header.
            44 => {
                if be16(bytes, at + 2)? & 0xfff8 != 0 {
                    return None;
                }
                8
            }
            // Authentication (RFC 4302, 2.2).
            51 => (usize::from(*bytes.get(at + 1)?) + 2) * 4,
            // Encapsulating security, no next header.
            50 | 59 => return None,
            transport => return Some((transport, at)),
        };
        next = *bytes.get(at)?;
        at += length;
    }
}

/// The protocol and both ports, source first; zero where there are none.
fn protocol_and_ports(bytes: &[u8], transport: Option<(u8, usize)>) -> (u8, u32) {
    match transport {
        Some((p @ (TCP | UDP), at)) => (p, be32(bytes, at).unwrap_or(0)),
        Some((p, _)) => (p, 0),
        None => (0, 0),
    }
}

/// A hash of the addresses, the protocol and, where there are any, the ports.
fn flow_key(from: &[u8], to: &[u8], (protocol, ports): (u8, u32)) -> u32 {
    let mut hash = Draw::new(u64::from(protocol)).bits(u64::from(ports));
    for word in from.chunks_exact(4).chain(to.chunks_exact(4)) {
        let word = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
        hash = Draw::new(hash).bits(u64::from(word));
    }
    (hash >> 32) as u32
}

/// An address of 4 or 16 octets.
fn address(octets: &[u8]) -> IpAddr {
    match <[u8; 4]>::try_from(octets) {
        Ok(v4) => Ipv4Addr::from(v4).into(),
        Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(octets).unwrap_or_default()).into(),
    }
}

impl<B: AsRef<[u8]>> IpPacket<B> {
    /// Reads the headers of the packet at the start of `bytes`. Bytes behind its end are let be.
    ///
    /// # Errors
    /// An IP version other than 4 and 6, or a header that is not whole or contradicts itself.
    pub fn new(bytes: B) -> Result<Self, WireError> {
        let layout = Layout::of(bytes.as_ref())?;
        Ok(Self { bytes, layout })
    }

    /// The packet's bytes, without any behind its end.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref().get(..self.layout.end).unwrap_or(&[])
    }

    /// The buffer.
    pub fn into_inner(self) -> B {
        self.bytes
    }

    /// True for IPv6.
    pub const fn is_v6(&self) -> bool {
        self.layout.v6
    }

    /// The transport protocol's number, where the transport header is in this packet.
    pub const fn protocol(&self) -> Option<u8> {
        match self.layout.transport {
            Some((protocol, _)) => Some(protocol),
            None => None,
        }
    }

    /// Offset of the transport header if it is of `protocol` and whole up to `length` bytes.
    pub(crate) fn transport(&self, protocol: u8, length: usize) -> Option<usize> {
        let (found, at) = self.layout.transport?;
        (found == protocol && at + length <= self.layout.end).then_some(at)
    }

    /// Offset of the transport header, if it is of `protocol` and in the buffer.
    pub fn transport_at(&self, protocol: u8) -> Option<usize> {
        self.transport(protocol, 0)
    }

    /// The payload of a UDP datagram, as far as the buffer holds it.
    pub fn udp_payload(&self) -> Option<&[u8]> {
        let at = self.transport(UDP, 8)?;
        self.bytes().get(at + 8..)
    }

    /// Source and destination addresses.
    pub(crate) fn addresses(&self) -> (&[u8], &[u8]) {
        let bytes = self.bytes();
        if self.layout.v6 {
            (&bytes[8..24], &bytes[24..40])
        } else {
            (&bytes[12..16], &bytes[16..20])
        }
    }

    /// Source and destination.
    pub fn ends(&self) -> (IpAddr, IpAddr) {
        let (source, destination) = self.addresses();
        (address(source), address(destination))
    }

    /// Type of service (RFC 791) or traffic class (RFC 8200), the ECN field in its two low bits.
    pub fn traffic_class(&self) -> u8 {
        let bytes = self.bytes();
        if self.layout.v6 {
            (be16(bytes, 0).unwrap_or(0) >> 4) as u8
        } else {
            bytes[1]
        }
    }

    /// Flow label of IPv6 (RFC 6437).
    pub fn flow_label(&self) -> Option<u32> {
        let word = be32(self.bytes(), 0)?;
        self.layout.v6.then_some(word & 0xf_ffff)
    }

    /// Security parameter index of an ESP or AH header right behind the IP header (RFC 4303, 2.1; RFC 4302, 2.4).
    pub fn spi(&self) -> Option<u32> {
        let bytes = self.bytes();
        let (protocol, at) = if self.layout.v6 {
            (bytes[6], 40)
        } else {
            (bytes[9], usize::from(bytes[0] & 0xf) * 4)
        };
        let first = self.fragment().is_none_or(|f| f.offset == 0);
        match protocol {
            50 if first => be32(bytes, at),
            51 if first => be32(bytes, at + 4),
            _ => None,
        }
    }

    /// Offset and length of the TCP header with its options.
    pub(crate) fn tcp_extent(&self) -> Option<(usize, usize)> {
        let at = self.transport(TCP, 20)?;
        let header = usize::from(self.bytes()[at + 12] >> 4) * 4;
        let fits = header >= 20 && at + header <= self.layout.total as usize;
        fits.then_some((at, header))
    }

    /// The TCP options, as far as the buffer holds them.
    pub(crate) fn tcp_options(&self) -> TcpOptions<'_> {
        let options = self.tcp_extent().and_then(|(at, header)| {
            self.bytes()
                .get(at + 20..(at + header).min(self.layout.end))
        });
        TcpOptions(options.unwrap_or(&[]))
    }

    /// True where every checksum that the packet carries and that the buffer can answer for is right.
    pub fn checksums_hold(&self) -> bool {
        let bytes = self.bytes();
        if !self.layout.v6 {
            let header = usize::from(bytes[0] & 0xf) * 4;
            if checksum::finish(checksum::sum(&bytes[..header])) != [0; 2] {
                return false;
            }
        }
        let Some((protocol @ (TCP | UDP), at)) = self.layout.transport else {
            return true;
        };
        let whole = self.layout.end == self.layout.total as usize && self.fragment().is_none();
        if !whole || at > bytes.len() {
            return true;
        }
        // An IPv4 sender may leave the UDP checksum out (RFC 768).
        if protocol == UDP && !self.layout.v6 && be16(bytes, at + 6) == Some(0) {
            return true;
        }
        let (source, destination) = self.addresses();
        let pseudo = pseudo_header(source, destination, protocol, (bytes.len() - at) as u32);
        checksum::finish(pseudo + checksum::sum(&bytes[at..])) == [0; 2]
    }
}

/// The sum over the pseudo-header: RFC 9293, 3.1, for IPv4 and RFC 8200, 8.1, for IPv6, which add up alike.
pub(crate) fn pseudo_header(source: &[u8], destination: &[u8], protocol: u8, length: u32) -> u64 {
    checksum::sum(source) + checksum::sum(destination) + checksum::pseudo(protocol, length)
}

/// TCP options as (kind, body); stops at the end of the list or at the first that does not fit (RFC 9293, 3.1).
pub(crate) struct TcpOptions<'a>(&'a [u8]);

impl<'a> Iterator for TcpOptions<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match *self.0 {
                [] | [0, ..] => return None,
                [1, ref rest @ ..] => self.0 = rest,
                [kind, length, ..] => {
                    let body = self.0.get(2..usize::from(length))?;
                    self.0 = &self.0[usize::from(length)..];
                    return Some((kind, body));
                }
                [_] => return None,
            }
        }
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> IpPacket<B> {
    /// Writes `new` at `at` and updates the checksum at `checksum_at` (RFC 1624).
    fn rewrite(&mut self, at: usize, new: u16, checksum_at: usize) {
        let bytes = self.bytes.as_mut();
        let (Some(old), Some(sum)) = (be16(bytes, at), be16(bytes, checksum_at)) else {
            return;
        };
        bytes[at..at + 2].copy_from_slice(&new.to_be_bytes());
        let sum = checksum::update(sum, old, new);
        bytes[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> PacketView for IpPacket<B> {
    fn len(&self) -> u32 {
        self.layout.total
    }

    fn flow_key(&self) -> u32 {
        self.layout.key
    }

    fn reverse_key(&self) -> u32 {
        let (protocol, ports) = protocol_and_ports(self.bytes(), self.layout.transport);
        let (from, to) = self.addresses();
        flow_key(to, from, (protocol, ports.rotate_left(16)))
    }

    fn ecn(&self) -> Ecn {
        let traffic = self.bytes()[1];
        // IPv6's traffic class straddles the first two bytes (RFC 8200, 3).
        Ecn::from_bits(if self.layout.v6 {
            traffic >> 4
        } else {
            traffic
        })
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        if self.layout.v6 {
            // No checksum covers the traffic class.
            let byte = &mut self.bytes.as_mut()[1];
            *byte = (*byte & !0x30) | (ecn as u8) << 4;
        } else {
            let old = be16(self.bytes(), 0).unwrap_or(0);
            self.rewrite(0, (old & !0b11) | ecn as u16, 10);
        }
    }

    fn tcp(&self) -> Option<TcpHeader> {
        let (at, header) = self.tcp_extent()?;
        let bytes = self.bytes();
        let timestamps = self
            .tcp_options()
            .find(|(kind, body)| *kind == 8 && body.len() == 8)
            .and_then(|(_, body)| Some((be32(body, 0)?, be32(body, 4)?)));
        Some(TcpHeader {
            seq: SeqNum(be32(bytes, at + 4)?),
            ack: SeqNum(be32(bytes, at + 8)?),
            window: be16(bytes, at + 14)?,
            flags: TcpFlags(be16(bytes, at + 12)? & 0x1ff),
            payload: self.layout.total - (at + header) as u32,
            timestamps,
        })
    }

    fn sack(&self) -> SackList {
        let mut list = SackList::default();
        // RFC 2018, 3: kind 5, pairs of 32-bit numbers.
        for (kind, body) in self.tcp_options() {
            if kind == 5 && body.len().is_multiple_of(8) {
                for at in (0..body.len()).step_by(8) {
                    if let (Some(start), Some(end)) = (be32(body, at), be32(body, at + 4)) {
                        list.push(SackBlock {
                            start: SeqNum(start),
                            end: SeqNum(end),
                        });
                    }
                }
            }
        }
        list
    }

    fn syn_options(&self) -> Option<SynOptions> {
        let (at, _) = self.tcp_extent()?;
        let flags = TcpFlags(be16(self.bytes(), at + 12)? & 0x1ff);
        if !flags.contains(TcpFlags::SYN) {
            return None;
        }
        let mut found = SynOptions::default();
        for (kind, body) in self.tcp_options() {
            match (kind, body.len()) {
                (2, 2) => found.mss = be16(body, 0),
                // RFC 7323, 2.3: larger shifts count as 14.
                (3, 1) => found.window_scale = Some(body[0].min(14)),
                (4, 0) => found.sack_permitted = true,
                _ => {}
            }
        }
        Some(found)
    }

    fn ports(&self) -> Option<(u16, u16)> {
        let (protocol, at) = self.layout.transport?;
        if !matches!(protocol, TCP | UDP) {
            return None;
        }
        let bytes = self.bytes();
        Some((be16(bytes, at)?, be16(bytes, at + 2)?))
    }

    fn set_tcp_window(&mut self, window: u16) {
        if let Some((at, _)) = self.tcp_extent() {
            self.rewrite(at + 14, window, at + 16);
        }
    }

    fn set_tcp_ack(&mut self, ack: SeqNum) {
        if let Some((at, _)) = self.tcp_extent() {
            self.rewrite(at + 8, (ack.0 >> 16) as u16, at + 16);
            self.rewrite(at + 10, ack.0 as u16, at + 16);
        }
    }

    fn spin_bit(&self) -> Option<bool> {
        let at = self.transport(UDP, 9)?;
        let first = self.bytes()[at + 8];
        // Short header: form bit 0, fixed bit 1 (RFC 9000, 17.3.1). Of what else shares a UDP port, only TURN
        // channels look alike (RFC 9443, 3).
        (first & 0xc0 == 0x40).then_some(first & 0x20 != 0)
    }
}

#[cfg(test)]
mod tests;
