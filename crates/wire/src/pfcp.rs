//! PFCP: how the session management tells the user plane function what to do (TS 29.244), as far as sessions go.
//!
//! [`Message`] is a view of a datagram; [`Message::elements`] reads its information elements one by one into plain
//! structs ([`Element`]), in which names and filters stay borrowed. What is not read comes as [`Element::Other`];
//! what is wrong as an [`ElementError`], which names the element for a refusal. [`Header::write`] writes the same structs.

mod address;
pub mod cause;
mod edge;
mod element;
mod error;
mod frame;
mod measurement;
mod node;
mod number;
mod qer;
mod report;
mod rule;
mod urr;

pub use address::{FSeid, FTeid, NodeId, OuterHeader, UeIp};
pub use edge::{Acks, Aqm, EdgeOptions};
pub use element::{Element, Elements};
pub use error::ElementError;
pub use measurement::{Measurement, QosReport};
pub use node::{Bar, Period, RuleId, feature};
pub use qer::{BitRates, Gates, Qer};
pub use report::{CreatedPdr, SessionReport, UsageIn, modification, report_type};
pub use rule::{Far, Forwarding, Pdi, Pdr, SdfFilter, action, interface};
pub use urr::{BEFORE_QOS, COUNT_PACKETS, Urr, UsageReport, Volumes, method, trigger};

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
    /// The association is to change, or to end soon.
    AssociationUpdateRequest,
    /// It does, or does not.
    AssociationUpdateResponse,
    /// The association is to end.
    AssociationReleaseRequest,
    /// It has ended.
    AssociationReleaseResponse,
    /// The version of PFCP is not known.
    VersionNotSupported,
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
            7 => Self::AssociationUpdateRequest,
            8 => Self::AssociationUpdateResponse,
            9 => Self::AssociationReleaseRequest,
            10 => Self::AssociationReleaseResponse,
            11 => Self::VersionNotSupported,
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
            Self::AssociationUpdateRequest => 7,
            Self::AssociationUpdateResponse => 8,
            Self::AssociationReleaseRequest => 9,
            Self::AssociationReleaseResponse => 10,
            Self::VersionNotSupported => 11,
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
        self.put_head(&mut out)?;
        for element in elements {
            element.put(&mut out)?;
        }
        let length = out.len() - 4;
        fits(2, length as u64, 16)?;
        out.patch(2, &(length as u16).to_be_bytes());
        Ok(out.len())
    }

    fn put_head(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        out.u8(0x20 | flag(self.priority.is_some(), 0x02) | flag(self.seid.is_some(), 0x01))?;
        out.u8(self.kind.octet())?;
        out.u16(0)?;
        self.seid.map_or(Ok(()), |seid| out.u64(seid))?;
        out.u24(self.seq)?;
        let priority = self.priority.unwrap_or(0);
        fits(out.len(), u64::from(priority), 4)?;
        out.u8(priority << 4)
    }
}

fn opt<'w, T>(
    out: &mut Writer<'w>,
    value: Option<T>,
    put: impl FnOnce(&mut Writer<'w>, T) -> Result<(), WireError>,
) -> Result<(), WireError> {
    value.map_or(Ok(()), |v| put(out, v))
}

/// Types of elements that a refusal names.
pub mod kind {
    use super::number as n;

    /// Node ID.
    pub const NODE_ID: u16 = n::NODE_ID;
    /// F-SEID.
    pub const F_SEID: u16 = n::F_SEID;
    /// Recovery time stamp.
    pub const RECOVERY: u16 = n::RECOVERY;
    /// Create PDR.
    pub const CREATE_PDR: u16 = n::CREATE_PDR;
    /// Create FAR.
    pub const CREATE_FAR: u16 = n::CREATE_FAR;
    /// Create QER.
    pub const CREATE_QER: u16 = n::CREATE_QER;
    /// Create URR.
    pub const CREATE_URR: u16 = n::CREATE_URR;
    /// Create BAR.
    pub const CREATE_BAR: u16 = n::CREATE_BAR;
    /// PDR ID.
    pub const PDR_ID: u16 = n::PDR_ID;
    /// FAR ID.
    pub const FAR_ID: u16 = n::FAR_ID;
    /// QER ID.
    pub const QER_ID: u16 = n::QER_ID;
    /// URR ID.
    pub const URR_ID: u16 = n::URR_ID;
    /// BAR ID.
    pub const BAR_ID: u16 = n::BAR_ID;
    /// Source interface.
    pub const SOURCE: u16 = n::SOURCE;
    /// Network instance.
    pub const NETWORK: u16 = n::NETWORK;
    /// Update forwarding parameters.
    pub const UPDATE_FORWARDING: u16 = n::UPDATE_FORWARDING;
    /// Destination interface.
    pub const DESTINATION: u16 = n::DESTINATION;
    /// F-TEID.
    pub const F_TEID: u16 = n::F_TEID;
    /// UE IP address.
    pub const UE_IP: u16 = n::UE_IP;
    /// SDF filter.
    pub const SDF_FILTER: u16 = n::SDF_FILTER;
    /// Outer header removal.
    pub const OUTER_REMOVAL: u16 = n::OUTER_REMOVAL;
    /// Outer header creation.
    pub const OUTER_CREATION: u16 = n::OUTER_CREATION;
    /// Gate status.
    pub const GATES: u16 = n::GATES;
    /// Apply action.
    pub const ACTION: u16 = n::ACTION;
    /// Forwarding policy.
    pub const POLICY: u16 = n::POLICY;
    /// Forwarding parameters.
    pub const FORWARDING: u16 = n::FORWARDING;
    /// Application ID.
    pub const APPLICATION: u16 = n::APPLICATION;
    /// Activate predefined rules.
    pub const ACTIVATE_PREDEFINED: u16 = n::ACTIVATE_PREDEFINED;
    /// Measurement method.
    pub const METHOD: u16 = n::METHOD;
    /// Measurement period.
    pub const PERIOD: u16 = n::PERIOD;
    /// Volume threshold.
    pub const VOLUME_THRESHOLD: u16 = n::VOLUME_THRESHOLD;
    /// Time threshold.
    pub const TIME_THRESHOLD: u16 = n::TIME_THRESHOLD;
    /// Quota holding time.
    pub const HOLDING_TIME: u16 = n::HOLDING_TIME;
    /// Inactivity detection time.
    pub const INACTIVITY: u16 = n::INACTIVITY;
    /// Reporting triggers.
    pub const TRIGGERS: u16 = n::TRIGGERS;
    /// PDN type.
    pub const PDN_TYPE: u16 = n::PDN_TYPE;
    /// Create traffic endpoint.
    pub const CREATE_ENDPOINT: u16 = n::CREATE_ENDPOINT;
    /// Create MAR.
    pub const CREATE_MAR: u16 = n::CREATE_MAR;
}

/// A view of one message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The header.
    pub header: Header,
    body: &'a [u8],
    body_at: usize,
    whole: usize,
    follow_on: bool,
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
            follow_on: flags & 0x04 != 0,
        })
    }

    /// The information elements in their order. After an error in the frame of one comes no more.
    pub const fn elements(&self) -> Elements<'a> {
        Elements::new(self.body, self.body_at)
    }

    /// True where another message follows in the datagram (flag FO, TS 29.244, 7.2.2.3).
    pub const fn is_followed(&self) -> bool {
        self.follow_on
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
