//! GTP-U: the tunnel between the radio network and the user plane function (TS 29.281), and what its extension headers
//! carry: the PDU session container (TS 38.415), the NR-U frames (TS 38.425), and the reports in them.
//!
//! [`Message`] is a view of a datagram: [`Message::parse`] walks the header and the whole chain of extension headers
//! once, by their length octets, and everything after that is slicing. [`Header::write`] writes the other way into a
//! caller's buffer; the payload goes behind it.

pub mod extension;
pub mod ie;
pub mod nru;
pub mod ntp;
pub mod psc;
pub mod report;

pub use extension::{Extension, Extensions, Role};
pub use ntp::{Ntp, NtpClock};

use slackwater_core::Teid;

use crate::WireError;
use crate::octets::{Reader, Writer};

/// The UDP port of GTP-U (TS 29.281, 4.4.2.3).
pub const PORT: u16 = 2152;

/// The mandatory part of the header (TS 29.281, 5.1).
const MANDATORY: usize = 8;
/// Sequence number, N-PDU number and type of the next extension header: all three are there where any flag is set.
const OPTIONAL: usize = 4;

/// Type of message (TS 29.281, 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Are you there?
    EchoRequest,
    /// Yes, and this is my restart counter.
    EchoResponse,
    /// There is no such tunnel here.
    ErrorIndication,
    /// The extension headers that the sender knows.
    SupportedExtensionHeaders,
    /// State of a tunnel.
    TunnelStatus,
    /// The last packet on this path: a handover moved the tunnel.
    EndMarker,
    /// A user's packet, or none where only extension headers are to be carried.
    GPdu,
    /// Anything else.
    Other(u8),
}

impl Kind {
    /// From the type octet.
    pub const fn from_octet(octet: u8) -> Self {
        match octet {
            1 => Self::EchoRequest,
            2 => Self::EchoResponse,
            26 => Self::ErrorIndication,
            31 => Self::SupportedExtensionHeaders,
            253 => Self::TunnelStatus,
            254 => Self::EndMarker,
            255 => Self::GPdu,
            other => Self::Other(other),
        }
    }

    /// The type octet.
    pub const fn octet(self) -> u8 {
        match self {
            Self::EchoRequest => 1,
            Self::EchoResponse => 2,
            Self::ErrorIndication => 26,
            Self::SupportedExtensionHeaders => 31,
            Self::TunnelStatus => 253,
            Self::EndMarker => 254,
            Self::GPdu => 255,
            Self::Other(other) => other,
        }
    }
}

/// The header's fields. In a message that was read they hold what its flags say is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the message is.
    pub kind: Kind,
    /// The receiver's tunnel endpoint; 0 in path management and error indications (TS 29.281, 5.1).
    pub teid: Teid,
    /// Sequence number (flag S); path management and error indications carry one (TS 29.281, 5.1).
    pub seq: Option<u16>,
    /// N-PDU number (flag PN), a relic of 2G.
    pub n_pdu: Option<u8>,
}

impl Header {
    /// That of a user's packet.
    pub const fn g_pdu(teid: Teid) -> Self {
        Self {
            kind: Kind::GPdu,
            teid,
            seq: None,
            n_pdu: None,
        }
    }

    /// That of an end marker.
    pub const fn end_marker(teid: Teid) -> Self {
        Self {
            kind: Kind::EndMarker,
            teid,
            seq: None,
            n_pdu: None,
        }
    }

    /// Octets that [`Header::write`] writes.
    pub fn len(&self, extensions: &[(u8, &[u8])]) -> usize {
        let optional = !extensions.is_empty() || self.seq.is_some() || self.n_pdu.is_some();
        let chain: usize = extensions
            .iter()
            .map(|(_, content)| extension::padded(content.len()))
            .sum();
        MANDATORY + if optional { OPTIONAL } else { 0 } + chain
    }

    /// Writes the header and its extension headers, each as type and content, to the front of `out`, for a payload of
    /// `payload` octets that the caller puts behind them. Contents are padded with zeros to the four octets that the
    /// length counts in. Returns the octets written.
    ///
    /// # Errors
    /// `out` is too short, a content is empty or longer than [`extension::MAX_CONTENT`], a type is 0 ("no more"), or
    /// the whole is longer than the length field can say.
    pub fn write(
        &self,
        extensions: &[(u8, &[u8])],
        payload: usize,
        out: &mut [u8],
    ) -> Result<usize, WireError> {
        let header = self.len(extensions);
        let Ok(length) = u16::try_from(header - MANDATORY + payload) else {
            return Err(WireError::new(
                2,
                format!("{} octets after the header", header - MANDATORY + payload),
                "at most 65535",
            ));
        };
        let mut out = Writer::new(out);
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        // Version 1, protocol type GTP.
        out.u8(0x30
            | flag(!extensions.is_empty(), 0x04)
            | flag(self.seq.is_some(), 0x02)
            | flag(self.n_pdu.is_some(), 0x01))?;
        out.u8(self.kind.octet())?;
        out.u16(length)?;
        out.u32(self.teid.0)?;
        if header == MANDATORY {
            return Ok(MANDATORY);
        }
        out.u16(self.seq.unwrap_or(0))?;
        out.u8(self.n_pdu.unwrap_or(0))?;
        for (kind, content) in extensions {
            extension::write(*kind, content, &mut out)?;
        }
        out.u8(0)?;
        Ok(out.len())
    }
}

/// A view of one GTP-U message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The header.
    pub header: Header,
    first: u8,
    /// The chain of extension headers, without the type octet of the first.
    chain: &'a [u8],
    chain_at: usize,
    payload: &'a [u8],
    payload_at: usize,
}

impl<'a> Message<'a> {
    /// Reads the payload of a UDP datagram. Octets after the length that the header gives are left out.
    ///
    /// # Errors
    /// Another version or protocol (GTP'), fewer octets than the header counts, or an extension header of length zero
    /// or past the end.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(bytes);
        let flags = reader.u8("a GTP-U header")?;
        if flags >> 4 != 0b0011 {
            return Err(WireError::new(
                0,
                format!("version {}, protocol type {}", flags >> 5, flags >> 4 & 1),
                "version 1 of GTP (protocol type 1)",
            ));
        }
        let kind = Kind::from_octet(reader.u8("a GTP-U header")?);
        let length = usize::from(reader.u16("a GTP-U header")?);
        let teid = Teid(reader.u32("a GTP-U header")?);
        let at = reader.at();
        let mut reader = Reader::based(reader.take(length, "message, by its header")?, at);
        let mut header = Header {
            kind,
            teid,
            seq: None,
            n_pdu: None,
        };
        let (mut first, mut chain, mut chain_at) = (0, &[][..], at);
        // TS 29.281, 5.1: one flag brings all three fields, and each is meant only where its own flag is set.
        if flags & 0x07 != 0 {
            let seq = reader.u16("a sequence number")?;
            let n_pdu = reader.u8("an N-PDU number")?;
            let next = reader.u8("the type of the next extension header")?;
            header.seq = (flags & 0x02 != 0).then_some(seq);
            header.n_pdu = (flags & 0x01 != 0).then_some(n_pdu);
            if flags & 0x04 != 0 {
                first = next;
                (chain, chain_at) = (reader.rest(), reader.at());
                extension::skip(first, &mut reader)?;
                chain = &chain[..reader.at() - chain_at];
            }
        }
        Ok(Self {
            header,
            first,
            chain,
            chain_at,
            payload: reader.rest(),
            payload_at: reader.at(),
        })
    }

    /// The extension headers in their order.
    pub const fn extensions(&self) -> Extensions<'a> {
        Extensions::new(self.first, self.chain, self.chain_at)
    }

    /// The first extension header of type `kind`.
    pub fn extension(&self, kind: u8) -> Option<Extension<'a>> {
        self.extensions().find(|e| e.kind == kind)
    }

    /// What follows the extension headers: the user's packet in a G-PDU (empty where the message only carries extension
    /// headers), information elements in other messages ([`ie`]).
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Where the payload begins in the bytes that were read.
    pub const fn payload_at(&self) -> usize {
        self.payload_at
    }

    /// The first extension header that `role` must understand by its comprehension bits and that is not among `known`.
    /// Such a message is to be discarded, and answered with the list of known headers (TS 29.281, 5.2.1 and 7.2.3).
    pub fn not_understood(&self, role: Role, known: &[u8]) -> Option<Extension<'a>> {
        self.extensions()
            .find(|e| e.must_understand(role) && !known.contains(&e.kind))
    }
}

#[cfg(test)]
mod tests;
