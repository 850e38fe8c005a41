//! N3 by a ring: datagrams of GTP-U from an interface, past the kernel's network stack.
//!
//! The ring takes whole datagrams without IP options to the socket's address and port; a filter drops these behind it. All others
//! (fragments, options, IPv6 extension headers, other interfaces) come by the socket as ever.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

use nix::ifaddrs::getifaddrs;
use slackwater_wire::checksum;

use super::apart::{Apart, Place};
use crate::LiveError;
use crate::emulate::frame::Offload;
use crate::gtpu::Datagram;
use crate::packet::{Frame, IPV4, IPV6, PacketSocket};

/// Protocol number of UDP (IANA), and octets of its header (RFC 768).
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;

/// The interface.
#[derive(Debug)]
pub(super) struct Ring {
    socket: PacketSocket,
    own: SocketAddr,
    /// Datagrams whose lengths or checksums are wrong.
    malformed: u64,
    _apart: Apart,
}

impl Ring {
    /// Opens `interface` for datagrams to `own`, where a socket listens already.
    pub(super) fn open(interface: &str, own: SocketAddr) -> Result<Self, LiveError> {
        let Some(apart) = Apart::datagrams(interface, own) else {
            return Err(LiveError::Usage(format!(
                "datagrams that come by \"{interface}\" (n3.interface) cannot be kept from the kernel, which would hand them \
                 over a second time: this needs `tc` (iproute2), CAP_NET_ADMIN and cls_bpf"
            )));
        };
        Ok(Self {
            socket: PacketSocket::open(interface)?,
            own,
            malformed: 0,
            _apart: apart,
        })
    }

    /// Removes what a function that was killed has left on the interface of `own`: its filter would keep datagrams from a function
    /// that has no ring.
    pub(super) fn clear(own: IpAddr) {
        let Ok(all) = getifaddrs() else { return };
        for found in all {
            let storage = found.address.as_ref();
            let v4 = storage
                .and_then(|a| a.as_sockaddr_in())
                .map(|a| IpAddr::V4(a.ip()));
            let v6 = storage
                .and_then(|a| a.as_sockaddr_in6())
                .map(|a| IpAddr::V6(a.ip()));
            if v4.or(v6) == Some(own) && !own.is_loopback() {
                Apart::clear(&found.interface_name, Place::Datagrams);
            }
        }
    }

    /// The descriptor, to wait on.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    /// The interface.
    pub(super) const fn port(&self) -> &PacketSocket {
        &self.socket
    }

    /// Frames that hold no sound datagram.
    pub(super) const fn malformed(&self) -> u64 {
        self.malformed + self.socket.cut
    }

    /// Reads the next frame, and hands out its datagrams; false where none waits.
    pub(super) fn read(&mut self, mut each: impl FnMut(Datagram<'_>)) -> bool {
        let (own, malformed) = (self.own, &mut self.malformed);
        self.socket.read(|frame| match taken(&frame, own) {
            Taken::Datagrams(run) => {
                let (from, tos) = (run.from, run.tos);
                for bytes in run.bytes.chunks(run.size) {
                    each(Datagram { from, tos, bytes });
                }
            }
            Taken::Malformed => *malformed += 1,
            Taken::Other => {}
        })
    }

    /// An error where the socket is broken.
    pub(super) fn check(&self) -> io::Result<()> {
        self.socket.check()
    }
}

/// Datagrams of one sender and class; all but the last of `size` octets.
#[derive(Debug, PartialEq, Eq)]
struct Run<'a> {
    from: SocketAddr,
    tos: u8,
    size: usize,
    bytes: &'a [u8],
}

/// What a frame holds.
#[derive(Debug, PartialEq, Eq)]
enum Taken<'a> {
    Datagrams(Run<'a>),
    /// Ours, and not sound: the kernel would drop it.
    Malformed,
    /// The kernel's.
    Other,
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// An IP header without options in front of UDP.
struct Ip {
    source: IpAddr,
    destination: IpAddr,
    tos: u8,
    /// Octets of the header, and of the packet as it says.
    header: usize,
    total: usize,
    /// The sum of both addresses.
    ends: u64,
    sound: bool,
}

fn ip(kind: u16, packet: &[u8]) -> Option<Ip> {
    match kind {
        // No option, no fragment (RFC 791, 3.1).
        IPV4 if packet.len() >= 20
            && packet[0] == 0x45
            && packet[9] == UDP
            && word(packet, 6)?.trailing_zeros() >= 14 =>
        {
            let address = |at: usize| {
                let octets: Option<&[u8; 4]> = packet[at..].first_chunk();
                octets.map(|octets| IpAddr::from(*octets))
            };
            Some(Ip {
                source: address(12)?,
                destination: address(16)?,
                tos: packet[1],
                header: 20,
                total: usize::from(word(packet, 2)?),
                ends: checksum::sum(&packet[12..20]),
                sound: checksum::finish(checksum::sum(&packet[..20])) == [0, 0],
            })
        }
        IPV6 if packet.len() >= 40 && packet[0] >> 4 == 6 && packet[6] == UDP => {
            let address = |at: usize| {
                let octets: Option<&[u8; 16]> = packet[at..].first_chunk();
                octets.map(|octets| IpAddr::from(*octets))
            };
            Some(Ip {
                source: address(8)?,
                destination: address(24)?,
                tos: packet[0] << 4 | packet[1] >> 4,
                header: 40,
                total: 40 + usize::from(word(packet, 4)?),
                ends: checksum::sum(&packet[8..40]),
                sound: true,
            })
        }
        _ => None,
    }
}

/// The datagrams of a frame to `own`, checked as the kernel would (RFC 1122, 3.2.1 and 4.1.3.4; RFC 8200, 8.1).
fn taken<'a>(frame: &Frame<'a>, own: SocketAddr) -> Taken<'a> {
    let Some(ip) = ip(frame.kind, frame.payload) else {
        return Taken::Other;
    };
    let to = word(frame.payload, ip.header + 2);
    if ip.destination != own.ip() || to != Some(own.port()) {
        return Taken::Other;
    }
    let offload = Offload::of(frame.header);
    let packet = frame.payload.get(ip.header..ip.total);
    let run = packet.filter(|_| ip.sound).and_then(|udp| {
        let port = word(udp, 0)?;
        let length = usize::from(word(udp, 4)?);
        let sum = word(udp, 6)?;
        let from = SocketAddr::new(ip.source, port);
        // No reply could go there (RFC 1122, 3.2.1.3).
        let no_host =
            ip.source.is_multicast() || ip.source.is_unspecified() || ip.source.is_loopback();
        let bytes = udp.get(UDP_HEADER..length).filter(|b| !b.is_empty())?;
        let summed = || {
            let pseudo = ip.ends + checksum::pseudo(UDP, length as u32);
            checksum::finish(pseudo + checksum::sum(&udp[..length])) == [0, 0]
        };
        // Without a sum a datagram is sound over IPv4 alone (RFC 768; RFC 8200, 8.1).
        let sound = match sum {
            _ if offload.summed => true,
            0 => own.is_ipv4(),
            _ => summed(),
        };
        let size = match offload.datagrams {
            None => return None,
            Some(0) => bytes.len(),
            Some(size) => size,
        };
        (sound && !no_host).then_some(Run {
            from,
            tos: ip.tos,
            size,
            bytes,
        })
    });
    run.map_or(Taken::Malformed, Taken::Datagrams)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulate::frame::HEADER;

    const SUMMED: [u8; HEADER] = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    const PLAIN: [u8; HEADER] = [0; HEADER];

    /// A packet of `payload` with right sums.
    fn packet(v6: bool, payload: &[u8]) -> Vec<u8> {
        let length = (UDP_HEADER + payload.len()) as u16;
        let mut out = if v6 {
            let mut head = vec![0x6b, 0x80, 0, 0];
            head.extend(length.to_be_bytes());
            head.extend([UDP, 64]);
            for last in [2, 1] {
                head.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
            }
            head
        } else {
            let mut head = vec![0x45, 0xb8];
            head.extend((20 + length).to_be_bytes());
            head.extend([0, 7, 0x40, 0, 64, UDP, 0, 0, 192, 0, 2, 2, 192, 0, 2, 1]);
            let sum = checksum::finish(checksum::sum(&head));
            head[10..12].copy_from_slice(&sum);
            head
        };
        let at = out.len();
        for word in [40_000, 2_152, length, 0] {
            out.extend(u16::to_be_bytes(word));
        }
        out.extend(payload);
        let ends = if v6 { 8..40 } else { 12..20 };
        let pseudo = checksum::sum(&out[ends]) + checksum::pseudo(UDP, u32::from(length));
        let sum = checksum::finish(pseudo + checksum::sum(&out[at..]));
        out[at + 6..at + 8].copy_from_slice(&sum);
        out
    }

    fn look(v6: bool, header: &[u8; HEADER], packet: &[u8]) -> Result<(usize, Vec<u8>), bool> {
        let own = if v6 {
            "[2001:db8::1]:2152"
        } else {
            "192.0.2.1:2152"
        };
        let frame = Frame {
            header,
            kind: if v6 { IPV6 } else { IPV4 },
            payload: packet,
            at: (0, 0),
        };
        match taken(&frame, own.parse().unwrap()) {
            Taken::Datagrams(run) => {
                let from = if v6 {
                    "[2001:db8::2]:40000"
                } else {
                    "192.0.2.2:40000"
                };
                assert_eq!((run.from, run.tos), (from.parse().unwrap(), 0xb8));
                Ok((run.size, run.bytes.to_vec()))
            }
            Taken::Malformed => Err(true),
            Taken::Other => Err(false),
        }
    }

    #[test]
    fn datagrams_are_taken_and_what_is_behind_them_is_not() {
        for v6 in [false, true] {
            let whole = packet(v6, b"tunnel");
            let found = Ok((6, b"tunnel".to_vec()));
            assert_eq!(look(v6, &PLAIN, &whole), found);
            // Ethernet fills short frames up.
            let padded = [&whole[..], &[0; 12]].concat();
            assert_eq!(look(v6, &PLAIN, &padded), found);
        }
    }

    #[test]
    fn every_octet_that_the_sums_cover_counts() {
        for v6 in [false, true] {
            let whole = packet(v6, b"tunnel");
            for at in 0..whole.len() {
                // IPv6 has no sum of its own header: traffic class, flow label and hop limit are nobody's.
                if v6 && [1, 2, 3, 7].contains(&at) {
                    continue;
                }
                let mut harmed = whole.clone();
                harmed[at] ^= 0x10;
                let found = look(v6, &PLAIN, &harmed);
                assert!(found.is_err(), "{at}");
                if at >= whole.len() - 6 {
                    assert_eq!(found, Err(true));
                    assert!(look(v6, &SUMMED, &harmed).is_ok(), "whose sum holds");
                }
            }
            for length in 0..whole.len() {
                assert!(look(v6, &SUMMED, &whole[..length]).is_err(), "{length}");
            }
        }
    }

    #[test]
    fn a_datagram_without_a_sum_is_sound_over_ipv4_alone() {
        for (v6, at) in [(false, 26), (true, 46)] {
            let mut bare = packet(v6, b"tunnel");
            bare[at..at + 2].fill(0);
            assert_eq!(look(v6, &PLAIN, &bare).is_ok(), !v6);
        }
    }

    #[test]
    fn fragments_options_and_others_are_the_kernels() {
        let whole = packet(false, b"tunnel");
        for (at, octet) in [(0, 0x46), (6, 0x20), (7, 1), (9, 6), (19, 9), (23, 0x69)] {
            let mut other = whole.clone();
            other[at] = octet;
            assert_eq!(look(false, &PLAIN, &other), Err(false), "{at}");
        }
        let mut behind_options = packet(true, b"tunnel");
        behind_options[6] = 0;
        assert_eq!(look(true, &PLAIN, &behind_options), Err(false));
    }

    #[test]
    fn a_super_packet_is_cut_where_its_header_says() {
        let whole = packet(false, &[7; 2_500]);
        let mut header = [1, 5, 0, 0, 0, 0, 0, 0, 0, 0];
        header[4..6].copy_from_slice(&1_000_u16.to_ne_bytes());
        assert_eq!(look(false, &header, &whole), Ok((1_000, vec![7; 2_500])));
        // TCP's kind, and one of no size.
        header[1] = 1;
        assert_eq!(look(false, &header, &whole), Err(true));
        header[1] = 5;
        header[4..6].fill(0);
        assert_eq!(look(false, &header, &whole), Err(true));
    }

    #[test]
    fn a_source_that_no_reply_reaches_is_refused() {
        for source in [[224, 0, 0, 1], [127, 0, 0, 1], [0, 0, 0, 0]] {
            let mut from = packet(false, b"tunnel");
            from[12..16].copy_from_slice(&source);
            from[10..12].fill(0);
            let sum = checksum::finish(checksum::sum(&from[..20]));
            from[10..12].copy_from_slice(&sum);
            assert_eq!(look(false, &SUMMED, &from), Err(true), "{source:?}");
        }
    }
}
