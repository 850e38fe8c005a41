//! PFCP: how the session management tells the user plane function what to do (TS 29.244), as far as sessions go.
//!
//! [`Message`] is a view of a datagram; [`Message::elements`] reads its information elements one by one into plain
//! structs ([`Element`]), in which names and filters stay borrowed. What a user plane function without charging does
//! not need, URRs and BARs among it, comes as [`Element::Other`]. [`Header::write`] writes the same structs.

mod address;
mod edge;
mod element;
mod measurement;
mod rule;

pub use address::{FSeid, FTeid, NodeId, OuterHeader, UeIp};
pub use edge::{Acks, Aqm, EdgeOptions};
pub use element::{CreatedPdr, Element, Elements, SessionReport, cause};
pub use measurement::{Measurement, QosReport};
pub use rule::{BitRates, Far, Forwarding, Gates, Pdi, Pdr, Qer, SdfFilter, action, interface};

use crate::WireError;
use crate::octets::{Reader, Writer, fits};

/// The UDP port of PFCP (TS 29.244, 6.4.2).
pub const PORT: u16 = 8805;

/// Type of message (TS 29.244, 7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Are you there?
    HeartbeatRequest,
    /// Yes, since then.
    HeartbeatResponse,
    /// An association is to begin.
    AssociationSetupRequest,
    /// It does, or does not.
    AssociationSetupResponse,
    /// A session is to begin.
    SessionEstablishmentRequest,
    /// It does, or does not.
    SessionEstablishmentResponse,
    /// A session's rules are to change.
    SessionModificationRequest,
    /// They do, or do not.
    SessionModificationResponse,
    /// A session is to end.
    SessionDeletionRequest,
    /// It does, or was not there.
    SessionDeletionResponse,
    /// The user plane function reports.
    SessionReportRequest,
    /// Taken note.
    SessionReportResponse,
    /// Anything else.
    Other(u8),
}

impl Kind {
    /// From the type octet.
    pub const fn from_octet(octet: u8) -> Self {
        match octet {
            1 => Self::HeartbeatRequest,
            2 => Self::HeartbeatResponse,
            5 => Self::AssociationSetupRequest,
            6 => Self::AssociationSetupResponse,
            50 => Self::SessionEstablishmentRequest,
            51 => Self::SessionEstablishmentResponse,
            52 => Self::SessionModificationRequest,
            53 => Self::SessionModificationResponse,
            54 => Self::SessionDeletionRequest,
            55 => Self::SessionDeletionResponse,
            56 => Self::SessionReportRequest,
            57 => Self::SessionReportResponse,
            other => Self::Other(other),
        }
    }

    /// The type octet.
    pub const fn octet(self) -> u8 {
        match self {
            Self::HeartbeatRequest => 1,
            Self::HeartbeatResponse => 2,
            Self::AssociationSetupRequest => 5,
            Self::AssociationSetupResponse => 6,
            Self::SessionEstablishmentRequest => 50,
            Self::SessionEstablishmentResponse => 51,
            Self::SessionModificationRequest => 52,
            Self::SessionModificationResponse => 53,
            Self::SessionDeletionRequest => 54,
            Self::SessionDeletionResponse => 55,
            Self::SessionReportRequest => 56,
            Self::SessionReportResponse => 57,
            Self::Other(other) => other,
        }
    }
}

/// The header's fields (TS 29.244, 7.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the message is.
    pub kind: Kind,
    /// The receiver's session endpoint; there in messages of sessions, and 0 in the request that opens one.
    pub seid: Option<u64>,
    /// Sequence number, 24 bits: a response carries its request's.
    pub seq: u32,
    /// Priority, 0 (highest) to 15.
    pub priority: Option<u8>,
}

impl Header {
    /// That of a message about a session.
    pub const fn session(kind: Kind, seid: u64, seq: u32) -> Self {
        Self {
            kind,
            seid: Some(seid),
            seq,
            priority: None,
        }
    }

    /// Writes a whole message to the front of `out`; returns its octets.
    ///
    /// # Errors
    /// `out` is too short, or a number does not fit its field.
    pub fn write(&self, elements: &[Element<'_>], out: &mut [u8]) -> Result<usize, WireError> {
        let mut out = Writer::new(out);
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        out.u8(0x20 | flag(self.priority.is_some(), 0x02) | flag(self.seid.is_some(), 0x01))?;
        out.u8(self.kind.octet())?;
        out.u16(0)?;
        self.seid.map_or(Ok(()), |seid| out.u64(seid))?;
        out.u24(self.seq)?;
        let priority = self.priority.unwrap_or(0);
        fits(out.len(), u64::from(priority), 4)?;
        out.u8(priority << 4)?;
        for element in elements {
            element.put(&mut out)?;
        }
        let length = out.len() - 4;
        fits(2, length as u64, 16)?;
        out.patch(2, &(length as u16).to_be_bytes());
        Ok(out.len())
    }
}

/// A view of one message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The header.
    pub header: Header,
    body: &'a [u8],
    body_at: usize,
    whole: usize,
}

impl<'a> Message<'a> {
    /// Reads the first message in the payload of a UDP datagram; [`Message::len`] says where a next one would begin.
    ///
    /// # Errors
    /// Another version, or fewer octets than the header counts.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(bytes);
        let flags = r.u8("a PFCP header")?;
        if flags >> 5 != 1 {
            return Err(WireError::new(
                0,
                format!("version {}", flags >> 5),
                "version 1",
            ));
        }
        let kind = Kind::from_octet(r.u8("a PFCP header")?);
        let length = usize::from(r.u16("a PFCP header")?);
        let mut r = Reader::based(r.take(length, "message, by its header")?, 4);
        let seid = r.when(flags & 0x01 != 0, |r| r.u64("a session endpoint"))?;
        let seq = r.u24("a sequence number")?;
        let priority = r.u8("a priority")? >> 4;
        Ok(Self {
            header: Header {
                kind,
                seid,
                seq,
                priority: (flags & 0x02 != 0).then_some(priority),
            },
            body: r.rest(),
            body_at: r.at(),
            whole: 4 + length,
        })
    }

    /// The information elements in their order. After an error in the frame of one comes no more.
    pub const fn elements(&self) -> Elements<'a> {
        Elements::new(self.body, self.body_at)
    }

    /// Octets of the whole message.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a message is never empty: it has a header"
    )]
    pub const fn len(&self) -> usize {
        self.whole
    }
}

#[cfg(test)]
mod tests;
