//! The TCP option, put into and taken out of packets that others wrote.

use slackwater_core::TcpFlags;
use slackwater_signal::ReportBody;
use thiserror::Error;

use crate::checksum;
use crate::ip::IpPacket;
use crate::ip::TCP;

/// The experiment identifier of a report (RFC 6994, 3), "XR".
pub const EXID: u16 = 0x5852;
/// Kind (RFC 4727, 4), length, identifier and body.
const LENGTH: usize = 12;
/// A data offset has four bits: 60 bytes with the fixed 20 (RFC 9293, 3.1).
const OPTIONS_MAX: usize = 40;

/// RFC 9293, 3.2; RFC 2385; RFC 5925; RFC 4727, 4.
mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MD5: u8 = 19;
    pub(super) const AUTHENTICATION: u8 = 29;
    pub(super) const EXPERIMENT: u8 = 253;
}

/// Why a packet goes on without a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Skip {
    /// No IP packet, or no TCP header in the clear.
    #[error("no TCP header in the clear")]
    NotTcp,
    /// Bytes are missing, or a header contradicts itself.
    #[error("a header or the packet is not whole")]
    Malformed,
    /// A SYN or RST, or no ACK.
    #[error("not a plain acknowledgment")]
    NotAnAck,
    /// A fragment: its length cannot change without those of the others.
    #[error("a fragment")]
    Fragment,
    /// TCP-MD5, TCP-AO or an authentication header cover what would change.
    #[error("authenticated")]
    Authenticated,
    /// The other options, or the MTU, leave no room.
    #[error("no room")]
    NoRoom,
}

/// A TCP header that may be rewritten.
struct Place {
    v6: bool,
    /// Offset of the TCP header.
    at: usize,
    /// Its length with options.
    header: usize,
    /// Length of the IP packet.
    total: usize,
}

impl Place {
    fn of(packet: &[u8]) -> Result<Self, Skip> {
        let ip = IpPacket::new(packet).map_err(|_| Skip::NotTcp)?;
        let v6 = ip.is_v6();
        fits_rewriting(packet, v6)?;
        if ip.protocol() != Some(crate::ip::TCP) {
            return Err(Skip::NotTcp);
        }
        let (at, header) = ip.tcp_extent().ok_or(Skip::Malformed)?;
        let field = if v6 { 4 } else { 2 };
        let length = u16::from_be_bytes([packet[field], packet[field + 1]]);
        let total = usize::from(length) + if v6 { 40 } else { 0 };
        if packet.len() < total {
            return Err(Skip::Malformed);
        }
        Ok(Self {
            v6,
            at,
            header,
            total,
        })
    }

    fn flags(&self, packet: &[u8]) -> TcpFlags {
        let word = u16::from_be_bytes([packet[self.at + 12], packet[self.at + 13]]);
        TcpFlags(word & 0x1ff)
    }

    /// The options as they stand.
    fn options<'a>(&self, packet: &'a [u8]) -> &'a [u8] {
        &packet[self.at + 20..self.at + self.header]
    }

    /// Replaces the options by `new`, whose length is a multiple of four, and sets lengths and checksums right.
    ///
    /// The TCP checksum is updated, not computed anew: what was damaged before stays visibly damaged.
    fn replace(&self, packet: &mut Vec<u8>, new: &[u8]) {
        let &Self {
            v6,
            at,
            header,
            total,
        } = self;
        let old_sum = header_sum(&packet[at..at + header]);
        packet.splice(at + 20..at + header, new.iter().copied());
        let new_header = 20 + new.len();
        packet[at + 12] = ((new_header / 4) as u8) << 4 | packet[at + 12] & 0xf;
        let new_total = total - header + new_header;
        if v6 {
            let length = (new_total - 40) as u16;
            packet[4..6].copy_from_slice(&length.to_be_bytes());
        } else {
            let sum = u16::from_be_bytes([packet[10], packet[11]]);
            let sum = checksum::update(sum, total as u16, new_total as u16);
            packet[2..4].copy_from_slice(&(new_total as u16).to_be_bytes());
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        // The pseudo-header holds the length of header and payload; the payload stays on even bytes.
        let new_sum = header_sum(&packet[at..at + new_header]);
        let old = u16::from_be_bytes(checksum::finish(
            old_sum + checksum::pseudo(TCP, (total - at) as u32),
        ));
        let new = checksum::finish(new_sum + checksum::pseudo(TCP, (new_total - at) as u32));
        let new = u16::from_be_bytes(new);
        let sum = u16::from_be_bytes([packet[at + 16], packet[at + 17]]);
        let sum = checksum::update(sum, !old, !new);
        packet[at + 16..at + 18].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The sum of a TCP header without its checksum.
fn header_sum(header: &[u8]) -> u64 {
    checksum::sum(&header[..16]) + checksum::sum(&header[18..])
}

/// Refuses fragments and authenticated packets.
fn fits_rewriting(packet: &[u8], v6: bool) -> Result<(), Skip> {
    if !v6 {
        // More fragments, or an offset (RFC 791, 3.1).
        let fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff;
        return if fragment == 0 {
            Ok(())
        } else {
            Err(Skip::Fragment)
        };
    }
    let (mut next, mut at) = (packet[6], 40);
    loop {
        match next {
            44 => return Err(Skip::Fragment),
            51 => return Err(Skip::Authenticated),
            // Extension headers of eights of bytes (RFC 8200, 4).
            0 | 43 | 60 | 135 => {
                let (Some(&after), Some(&length)) = (packet.get(at), packet.get(at + 1)) else {
                    return Err(Skip::Malformed);
                };
                next = after;
                at += (usize::from(length) + 1) * 8;
            }
            _ => return Ok(()),
        }
    }
}

fn is_report(option: &[u8]) -> bool {
    matches!(*option, [kind::EXPERIMENT, _, a, b, ..] if [a, b] == EXID.to_be_bytes())
}

/// Calls `each` with every option, NOPs included and padding behind the end of the list left out.
fn walk<'a>(mut options: &'a [u8], mut each: impl FnMut(&'a [u8])) -> Result<(), Skip> {
    loop {
        let length = match *options {
            [] | [kind::END, ..] => return Ok(()),
            [kind::NOP, ..] => 1,
            [_, length, ..] if length >= 2 => usize::from(length),
            _ => return Err(Skip::Malformed),
        };
        let (option, rest) = options.split_at_checked(length).ok_or(Skip::Malformed)?;
        each(option);
        options = rest;
    }
}

/// The options without reports: as they stand, and without NOPs.
struct Others {
    padded: Vec<u8>,
    packed: Vec<u8>,
    reports: usize,
    authenticated: bool,
}

impl Others {
    fn of(options: &[u8]) -> Result<Self, Skip> {
        let mut others = Self {
            padded: Vec::with_capacity(OPTIONS_MAX),
            packed: Vec::with_capacity(OPTIONS_MAX),
            reports: 0,
            authenticated: false,
        };
        // NOPs at the end pad.
        let mut padding = 0;
        walk(options, |option| {
            if is_report(option) {
                others.reports += 1;
                return;
            }
            others.padded.extend(option);
            if option == [kind::NOP] {
                padding += 1;
            } else {
                padding = 0;
                others.packed.extend(option);
            }
            others.authenticated |= matches!(option[0], kind::MD5 | kind::AUTHENTICATION);
        })?;
        others.padded.truncate(others.padded.len() - padding);
        Ok(others)
    }
}

fn pad(options: &mut Vec<u8>) {
    options.resize(options.len().next_multiple_of(4), kind::NOP);
}

/// Puts a report into the TCP header of `packet`, an IP packet without anything in front; a report that is there is
/// replaced. Bytes behind the packet's end stay behind it.
///
/// Padding between the other options is taken out where the report needs its room.
///
/// # Errors
/// The packet stays as it is, and the reason is returned, where it is no plain ACK, must not change, or has no room:
/// its options would take more than 40 bytes, or the packet more than `mtu`.
pub fn insert(packet: &mut Vec<u8>, body: ReportBody, mtu: usize) -> Result<(), Skip> {
    let place = Place::of(packet)?;
    let flags = place.flags(packet);
    let plain = flags.contains(TcpFlags::ACK)
        && !flags.contains(TcpFlags::SYN)
        && !flags.contains(TcpFlags::RST);
    if !plain {
        return Err(Skip::NotAnAck);
    }
    let others = Others::of(place.options(packet))?;
    if others.authenticated {
        return Err(Skip::Authenticated);
    }
    let mut options = if others.padded.len() + LENGTH <= OPTIONS_MAX {
        others.padded
    } else {
        others.packed
    };
    if options.len() + LENGTH > OPTIONS_MAX {
        return Err(Skip::NoRoom);
    }
    options.extend([kind::EXPERIMENT, LENGTH as u8]);
    options.extend(EXID.to_be_bytes());
    options.extend(body.0);
    pad(&mut options);
    // A length field has 16 bits; IPv6's does not count the fixed header.
    let most = mtu.min(0xffff);
    if place.total - place.header + 20 + options.len() > most {
        return Err(Skip::NoRoom);
    }
    place.replace(packet, &options);
    Ok(())
}

/// Takes all reports out of the TCP header of `packet`; true where there was one.
pub fn strip(packet: &mut Vec<u8>) -> bool {
    let Ok(place) = Place::of(packet) else {
        return false;
    };
    let Ok(mut others) = Others::of(place.options(packet)) else {
        return false;
    };
    if others.reports == 0 || others.authenticated {
        return false;
    }
    pad(&mut others.padded);
    place.replace(packet, &others.padded);
    true
}

/// The report on a packet. `None` where there is none, on a SYN, and where the option has another length or stands
/// there twice: a report that nobody can have meant says nothing.
pub fn find<B: AsRef<[u8]>>(packet: &IpPacket<B>) -> Option<ReportBody> {
    let (at, header) = packet.tcp_extent()?;
    let bytes = packet.bytes();
    let flags = TcpFlags(u16::from_be_bytes([bytes[at + 12], bytes[at + 13]]) & 0x1ff);
    if flags.contains(TcpFlags::SYN) {
        return None;
    }
    let mut found = None;
    let mut count = 0;
    // A list that breaks off, in a capture cut short or by malice, says nothing either.
    walk(bytes.get(at + 20..at + header)?, |option| {
        if is_report(option) {
            count += 1;
            found = option[4..].try_into().ok().map(ReportBody);
        }
    })
    .ok()?;
    found.filter(|_| count == 1)
}

#[cfg(test)]
mod tests;
