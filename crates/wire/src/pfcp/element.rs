//! Information elements (TS 29.244, 8.1): two octets type, two octets length, for vendors' own two octets vendor, value.

use super::ElementError;
use super::address::{FSeid, FTeid, NodeId};
use super::frame::{Raw, all, frame, group, only};
use super::node::{Bar, Period, RuleId, put_bits, read_bits};
use super::number as n;
use super::qer::Qer;
use super::report::{CreatedPdr, SessionReport, UsageIn};
use super::rule::{Far, Pdr};
use super::urr::{Urr, UsageReport};
use crate::WireError;
use crate::octets::{Reader, Writer, fits};

/// One element.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Element<'a> {
    /// How a request went ([`cause`](super::cause)).
    Cause(u8),
    /// The type of the element that a request was refused for.
    Offending(u16),
    /// Who sends.
    NodeId(NodeId<'a>),
    /// The sender's endpoint of the session.
    FSeid(FSeid),
    /// When the sender started, in seconds of NTP.
    Recovery(u32),
    /// 1 IPv4, 2 IPv6, 3 both, 4 unstructured, 5 Ethernet.
    PdnType(u8),
    /// What a session report holds ([`report_type`](super::report_type)).
    ReportType(u8),
    /// What the user plane function can do ([`super::feature`]).
    UpFeatures(u64),
    /// What the control plane function can do (8.2.58), bit 0 the first of the first octet.
    CpFeatures(u64),
    /// Orders of a modification ([`modification`](super::modification)).
    Flags(u8),
    /// The user plane function wants the association released: 1, and 2 where it reports usage first (8.2.77).
    ReleaseRequest(u8),
    /// How long the association goes on.
    GracefulRelease(Period),
    /// The rule for which a request was refused.
    FailedRule(RuleId),
    /// A new rule.
    CreatePdr(Pdr<'a>),
    /// A changed rule.
    UpdatePdr(Pdr<'a>),
    /// A rule that goes.
    RemovePdr(u16),
    /// A tunnel that the user plane function chose.
    CreatedPdr(CreatedPdr),
    /// A tunnel that the user plane function chose for a rule that was there.
    UpdatedPdr(CreatedPdr),
    /// A new rule.
    CreateFar(Far<'a>),
    /// A changed rule.
    UpdateFar(Far<'a>),
    /// A rule that goes.
    RemoveFar(u32),
    /// A new rule.
    CreateQer(Qer),
    /// A changed rule.
    UpdateQer(Qer),
    /// A rule that goes.
    RemoveQer(u32),
    /// A new rule.
    CreateUrr(Urr),
    /// A changed rule.
    UpdateUrr(Urr),
    /// A rule that goes.
    RemoveUrr(u32),
    /// A rule that is to report at once.
    QueryUrr(u32),
    /// A new rule.
    CreateBar(Bar),
    /// A changed rule.
    UpdateBar(Bar),
    /// A rule that goes.
    RemoveBar(u8),
    /// What a rule counted.
    Usage(UsageIn, UsageReport),
    /// Rules for which downlink packets came (PDR IDs).
    DownlinkData(Vec<u16>),
    /// Tunnels that the peer does not know.
    ErrorIndication(Vec<FTeid>),
    /// Measurements.
    SessionReport(SessionReport),
    /// Anything else.
    Other {
        /// Its type.
        kind: u16,
        /// The vendor, for types from 32768.
        vendor: Option<u16>,
        /// Its value.
        value: &'a [u8],
    },
}

/// The elements of a message. An element whose inside is wrong is an error, and the next follows; after one whose frame
/// is wrong there is none.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    reader: Reader<'a>,
}

impl<'a> Elements<'a> {
    pub(super) const fn new(body: &'a [u8], at: usize) -> Self {
        Self {
            reader: Reader::based(body, at),
        }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, ElementError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.rest().is_empty() {
            return None;
        }
        // Where the frame is wrong its type is still the best name of what is at fault.
        let kind = match self.reader.rest() {
            [a, b, ..] => u16::from_be_bytes([*a, *b]),
            _ => 0,
        };
        match frame(&mut self.reader) {
            Ok(raw) => Some(Element::read(&raw)),
            Err(error) => {
                self.reader = Reader::new(&[]);
                Some(Err(ElementError::length(kind, error)))
            }
        }
    }
}

impl<'a> Element<'a> {
    fn read(raw: &Raw<'a>) -> Result<Self, ElementError> {
        let v = &raw.value;
        let id = |kind, what| only(raw, kind, what, |v| v.u32(what));
        let usage = |place| UsageReport::read(v).map(|report| Self::Usage(place, report));
        Ok(match raw.kind {
            n::CAUSE => Self::Cause(raw.leaf(|v| v.u8("a cause"))?),
            n::OFFENDING => Self::Offending(raw.leaf(|v| v.u16("a type"))?),
            n::NODE_ID => Self::NodeId(raw.leaf(NodeId::read)?),
            n::F_SEID => Self::FSeid(raw.leaf(FSeid::read)?),
            n::RECOVERY => Self::Recovery(raw.leaf(|v| v.u32("a time"))?),
            n::PDN_TYPE => Self::PdnType(raw.leaf(|v| v.u8("a PDN type"))? & 0x07),
            n::REPORT_TYPE => Self::ReportType(raw.leaf(|v| v.u8("a report type"))?),
            n::UP_FEATURES => Self::UpFeatures(read_bits(v)),
            n::CP_FEATURES => Self::CpFeatures(read_bits(v)),
            n::REQUEST_FLAGS => Self::Flags(raw.leaf(|v| v.u8("flags"))?),
            n::RELEASE_REQUEST => Self::ReleaseRequest(raw.leaf(|v| v.u8("flags"))?),
            n::GRACEFUL_RELEASE => Self::GracefulRelease(raw.leaf(Period::read)?),
            n::FAILED_RULE => Self::FailedRule(RuleId::read(&mut v.clone())?),
            n::CREATE_PDR => Self::CreatePdr(Pdr::read(v, true)?),
            n::UPDATE_PDR => Self::UpdatePdr(Pdr::read(v, false)?),
            n::REMOVE_PDR => {
                Self::RemovePdr(only(raw, n::PDR_ID, "a PDR ID", |v| v.u16("a PDR ID"))?)
            }
            n::CREATED_PDR => Self::CreatedPdr(CreatedPdr::read(raw)?),
            n::UPDATED_PDR => Self::UpdatedPdr(CreatedPdr::read(raw)?),
            n::CREATE_FAR => Self::CreateFar(Far::read(v, true)?),
            n::UPDATE_FAR => Self::UpdateFar(Far::read(v, false)?),
            n::REMOVE_FAR => Self::RemoveFar(id(n::FAR_ID, "a FAR ID")?),
            n::CREATE_QER => Self::CreateQer(Qer::read(v, true)?),
            n::UPDATE_QER => Self::UpdateQer(Qer::read(v, false)?),
            n::REMOVE_QER => Self::RemoveQer(id(n::QER_ID, "a QER ID")?),
            n::CREATE_URR => Self::CreateUrr(Urr::read(v, true)?),
            n::UPDATE_URR => Self::UpdateUrr(Urr::read(v, false)?),
            n::REMOVE_URR => Self::RemoveUrr(id(n::URR_ID, "a URR ID")?),
            n::QUERY_URR => Self::QueryUrr(id(n::URR_ID, "a URR ID")?),
            n::CREATE_BAR => Self::CreateBar(Bar::read(v)?),
            n::UPDATE_BAR => Self::UpdateBar(Bar::read(v)?),
            n::REMOVE_BAR => {
                Self::RemoveBar(only(raw, n::BAR_ID, "a BAR ID", |v| v.u8("a BAR ID"))?)
            }
            n::USAGE_MODIFICATION => usage(UsageIn::Modification)?,
            n::USAGE_DELETION => usage(UsageIn::Deletion)?,
            n::USAGE_REPORT => usage(UsageIn::Report)?,
            n::DOWNLINK_DATA => Self::DownlinkData(all(raw, n::PDR_ID, |v| v.u16("a PDR ID"))?),
            n::ERROR_INDICATION => Self::ErrorIndication(all(raw, n::F_TEID, FTeid::read)?),
            n::SESSION_REPORT => Self::SessionReport(SessionReport::read(raw)?),
            kind => Self::Other {
                kind,
                vendor: raw.vendor,
                value: v.rest(),
            },
        })
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        match self {
            Self::Cause(v) => group(out, n::CAUSE, |o| o.u8(*v)),
            Self::Offending(v) => group(out, n::OFFENDING, |o| o.u16(*v)),
            Self::NodeId(v) => group(out, n::NODE_ID, |o| v.put(o)),
            Self::FSeid(v) => group(out, n::F_SEID, |o| v.put(o)),
            Self::Recovery(v) => group(out, n::RECOVERY, |o| o.u32(*v)),
            Self::PdnType(v) => group(out, n::PDN_TYPE, |o| {
                fits(o.len(), u64::from(*v), 3)?;
                o.u8(*v)
            }),
            Self::ReportType(v) => group(out, n::REPORT_TYPE, |o| o.u8(*v)),
            Self::CreatePdr(v) => group(out, n::CREATE_PDR, |o| v.put(o)),
            Self::UpdatePdr(v) => group(out, n::UPDATE_PDR, |o| v.put(o)),
            Self::RemovePdr(id) => {
                group(out, n::REMOVE_PDR, |o| group(o, n::PDR_ID, |o| o.u16(*id)))
            }
            Self::CreatedPdr(v) => group(out, n::CREATED_PDR, |o| v.put(o)),
            Self::CreateFar(v) => group(out, n::CREATE_FAR, |o| v.put(true, o)),
            Self::UpdateFar(v) => group(out, n::UPDATE_FAR, |o| v.put(false, o)),
            Self::RemoveFar(id) => {
                group(out, n::REMOVE_FAR, |o| group(o, n::FAR_ID, |o| o.u32(*id)))
            }
            Self::CreateQer(v) => group(out, n::CREATE_QER, |o| v.put(o)),
            Self::UpdateQer(v) => group(out, n::UPDATE_QER, |o| v.put(o)),
            Self::RemoveQer(id) => {
                group(out, n::REMOVE_QER, |o| group(o, n::QER_ID, |o| o.u32(*id)))
            }
            Self::UpFeatures(v) => group(out, n::UP_FEATURES, |o| put_bits(*v, 2, o)),
            Self::CpFeatures(v) => group(out, n::CP_FEATURES, |o| put_bits(*v, 1, o)),
            Self::Flags(v) => group(out, n::REQUEST_FLAGS, |o| o.u8(*v)),
            Self::ReleaseRequest(v) => group(out, n::RELEASE_REQUEST, |o| o.u8(*v)),
            Self::GracefulRelease(v) => group(out, n::GRACEFUL_RELEASE, |o| v.put(o)),
            Self::FailedRule(v) => group(out, n::FAILED_RULE, |o| v.put(o)),
            Self::UpdatedPdr(v) => group(out, n::UPDATED_PDR, |o| v.put(o)),
            Self::CreateUrr(v) => group(out, n::CREATE_URR, |o| v.put(o)),
            Self::UpdateUrr(v) => group(out, n::UPDATE_URR, |o| v.put(o)),
            Self::RemoveUrr(id) => {
                group(out, n::REMOVE_URR, |o| group(o, n::URR_ID, |o| o.u32(*id)))
            }
            Self::QueryUrr(id) => group(out, n::QUERY_URR, |o| group(o, n::URR_ID, |o| o.u32(*id))),
            Self::CreateBar(v) => group(out, n::CREATE_BAR, |o| v.put(o)),
            Self::UpdateBar(v) => group(out, n::UPDATE_BAR, |o| v.put(o)),
            Self::RemoveBar(id) => {
                group(out, n::REMOVE_BAR, |o| group(o, n::BAR_ID, |o| o.u8(*id)))
            }
            Self::Usage(place, v) => {
                let kind = match place {
                    UsageIn::Modification => n::USAGE_MODIFICATION,
                    UsageIn::Deletion => n::USAGE_DELETION,
                    UsageIn::Report => n::USAGE_REPORT,
                };
                group(out, kind, |o| v.put(o))
            }
            Self::DownlinkData(pdrs) => group(out, n::DOWNLINK_DATA, |o| {
                let mut pdrs = pdrs.iter();
                pdrs.try_for_each(|id| group(o, n::PDR_ID, |o| o.u16(*id)))
            }),
            Self::ErrorIndication(tunnels) => group(out, n::ERROR_INDICATION, |o| {
                let mut tunnels = tunnels.iter();
                tunnels.try_for_each(|t| group(o, n::F_TEID, |o| t.put(o)))
            }),
            Self::SessionReport(v) => group(out, n::SESSION_REPORT, |o| v.put(o)),
            Self::Other {
                kind,
                vendor,
                value,
            } => {
                if vendor.is_some() != (kind & 0x8000 != 0) {
                    return Err(WireError::new(
                        out.len(),
                        format!("type {kind}, vendor {vendor:?}"),
                        "a vendor for types from 32768, and only for them",
                    ));
                }
                group(out, *kind, |o| {
                    vendor.map_or(Ok(()), |v| o.u16(v))?;
                    o.put(value)
                })
            }
        }
    }
}
