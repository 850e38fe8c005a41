//! Information elements (TS 29.244, 8.1): two octets type, two octets length, for vendors' own two octets vendor, value.

use super::address::{FSeid, FTeid, NodeId};
use super::measurement::QosReport;
use super::rule::{Far, Pdr, Qer};
use crate::WireError;
use crate::octets::{Reader, Writer, fits};

// TS 29.244, table 8.1.2-1.
const CREATE_PDR: u16 = 1;
pub(super) const PDI: u16 = 2;
const CREATE_FAR: u16 = 3;
pub(super) const FORWARDING: u16 = 4;
const CREATE_QER: u16 = 7;
const CREATED_PDR: u16 = 8;
const UPDATE_PDR: u16 = 9;
const UPDATE_FAR: u16 = 10;
pub(super) const UPDATE_FORWARDING: u16 = 11;
const UPDATE_QER: u16 = 14;
const REMOVE_PDR: u16 = 15;
const REMOVE_FAR: u16 = 16;
const REMOVE_QER: u16 = 18;
const CAUSE: u16 = 19;
pub(super) const SOURCE: u16 = 20;
pub(super) const F_TEID: u16 = 21;
pub(super) const NETWORK: u16 = 22;
pub(super) const SDF_FILTER: u16 = 23;
pub(super) const GATES: u16 = 25;
pub(super) const MBR: u16 = 26;
pub(super) const GBR: u16 = 27;
pub(super) const CORRELATION: u16 = 28;
pub(super) const PRECEDENCE: u16 = 29;
const REPORT_TYPE: u16 = 39;
const OFFENDING: u16 = 40;
pub(super) const DESTINATION: u16 = 42;
pub(super) const ACTION: u16 = 44;
pub(super) const REQUEST_FLAGS: u16 = 49;
pub(super) const PDR_ID: u16 = 56;
const F_SEID: u16 = 57;
const NODE_ID: u16 = 60;
pub(super) const OUTER_CREATION: u16 = 84;
pub(super) const UE_IP: u16 = 93;
pub(super) const OUTER_REMOVAL: u16 = 95;
const RECOVERY: u16 = 96;
pub(super) const FAR_ID: u16 = 108;
pub(super) const QER_ID: u16 = 109;
const PDN_TYPE: u16 = 113;
pub(super) const RQI: u16 = 123;
pub(super) const QFI: u16 = 124;
pub(super) const TIME_STAMP: u16 = 156;
const SESSION_REPORT: u16 = 214;
const SRR_ID: u16 = 215;
pub(super) const QOS_REPORT: u16 = 247;
pub(super) const MEASUREMENT: u16 = 248;

/// Causes (TS 29.244, 8.2.1).
pub mod cause {
    /// The request is accepted.
    pub const ACCEPTED: u8 = 1;
    /// It is refused, for no reason of those below.
    pub const REJECTED: u8 = 64;
    /// There is no such session.
    pub const NO_SESSION: u8 = 65;
    /// An element that must be there is not.
    pub const MANDATORY_MISSING: u8 = 66;
    /// An element has a length that cannot be.
    pub const INVALID_LENGTH: u8 = 68;
    /// An element that must be there is wrong.
    pub const MANDATORY_INCORRECT: u8 = 69;
    /// There is no association with this node.
    pub const NO_ASSOCIATION: u8 = 72;
    /// A rule could not be created or changed.
    pub const RULE_FAILURE: u8 = 73;
    /// There are no resources left.
    pub const NO_RESOURCES: u8 = 75;
}

/// One element.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Element<'a> {
    /// How a request went ([`cause`]).
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
    /// What a session report holds, by bits; 0x40 is a session report of `QoS` measurements (TS 29.244, 8.2.21).
    ReportType(u8),
    /// A new rule.
    CreatePdr(Pdr<'a>),
    /// A changed rule.
    UpdatePdr(Pdr<'a>),
    /// A rule that goes.
    RemovePdr(u16),
    /// A tunnel that the user plane function chose.
    CreatedPdr(CreatedPdr),
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

/// What the user plane function chose for a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreatedPdr {
    /// The rule.
    pub id: u16,
    /// Its tunnel.
    pub tunnel: Option<FTeid>,
}

/// Measurements that a session reporting rule asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionReport {
    /// The rule.
    pub srr: u8,
    /// The measurements, one per `QoS` flow.
    pub qos: Vec<QosReport>,
}

/// An element's frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw<'a> {
    pub(super) kind: u16,
    pub(super) vendor: Option<u16>,
    pub(super) value: Reader<'a>,
}

/// The frames of the elements in `r`; after an error comes no more.
pub(super) fn frames(mut r: Reader<'_>) -> impl Iterator<Item = Result<Raw<'_>, WireError>> {
    core::iter::from_fn(move || {
        if r.rest().is_empty() {
            return None;
        }
        let raw = frame(&mut r);
        if raw.is_err() {
            r = Reader::new(&[]);
        }
        Some(raw)
    })
}

fn frame<'a>(r: &mut Reader<'a>) -> Result<Raw<'a>, WireError> {
    let kind = r.u16("an element's type")?;
    let n = usize::from(r.u16("an element's length")?);
    let at = r.at();
    let mut value = Reader::based(r.take(n, "an element")?, at);
    let vendor = value.when(kind & 0x8000 != 0, |v| v.u16("a vendor"))?;
    Ok(Raw {
        kind,
        vendor,
        value,
    })
}

pub(super) fn missing(at: usize, what: &str) -> WireError {
    WireError::new(at, "none of its kind in the group", what)
}

/// Writes an element around what `inside` writes.
pub(super) fn group(
    out: &mut Writer<'_>,
    kind: u16,
    inside: impl FnOnce(&mut Writer<'_>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    out.u16(kind)?;
    let at = out.len();
    out.u16(0)?;
    inside(out)?;
    let length = out.len() - at - 2;
    fits(at, length as u64, 16)?;
    out.patch(at, &(length as u16).to_be_bytes());
    Ok(())
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
    type Item = Result<Element<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.rest().is_empty() {
            return None;
        }
        match frame(&mut self.reader) {
            Ok(raw) => Some(Element::read(raw)),
            Err(error) => {
                self.reader = Reader::new(&[]);
                Some(Err(error))
            }
        }
    }
}

/// The one element of type `kind` in a group, of the rules that are removed.
fn only<'a, T>(
    r: &Reader<'a>,
    kind: u16,
    what: &str,
    read: impl Fn(&mut Reader<'a>) -> Result<T, WireError>,
) -> Result<T, WireError> {
    for raw in frames(*r) {
        let mut raw = raw?;
        if raw.kind == kind {
            return read(&mut raw.value);
        }
    }
    Err(missing(r.at(), what))
}

impl<'a> Element<'a> {
    fn read(raw: Raw<'a>) -> Result<Self, WireError> {
        let mut value = raw.value;
        let v = &mut value;
        Ok(match raw.kind {
            CAUSE => Self::Cause(v.u8("a cause")?),
            OFFENDING => Self::Offending(v.u16("a type")?),
            NODE_ID => Self::NodeId(NodeId::read(v)?),
            F_SEID => Self::FSeid(FSeid::read(v)?),
            RECOVERY => Self::Recovery(v.u32("a time")?),
            PDN_TYPE => Self::PdnType(v.u8("a PDN type")? & 0x07),
            REPORT_TYPE => Self::ReportType(v.u8("a report type")?),
            CREATE_PDR => Self::CreatePdr(Pdr::read(v, true)?),
            UPDATE_PDR => Self::UpdatePdr(Pdr::read(v, false)?),
            REMOVE_PDR => Self::RemovePdr(only(v, PDR_ID, "a PDR ID", |v| v.u16("a PDR ID"))?),
            CREATED_PDR => Self::CreatedPdr(CreatedPdr::read(v)?),
            CREATE_FAR => Self::CreateFar(Far::read(v, true)?),
            UPDATE_FAR => Self::UpdateFar(Far::read(v, false)?),
            REMOVE_FAR => Self::RemoveFar(only(v, FAR_ID, "a FAR ID", |v| v.u32("a FAR ID"))?),
            CREATE_QER => Self::CreateQer(Qer::read(v, true)?),
            UPDATE_QER => Self::UpdateQer(Qer::read(v, false)?),
            REMOVE_QER => Self::RemoveQer(only(v, QER_ID, "a QER ID", |v| v.u32("a QER ID"))?),
            SESSION_REPORT => Self::SessionReport(SessionReport::read(v)?),
            kind => Self::Other {
                kind,
                vendor: raw.vendor,
                value: v.rest(),
            },
        })
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        match self {
            Self::Cause(v) => group(out, CAUSE, |o| o.u8(*v)),
            Self::Offending(v) => group(out, OFFENDING, |o| o.u16(*v)),
            Self::NodeId(v) => group(out, NODE_ID, |o| v.put(o)),
            Self::FSeid(v) => group(out, F_SEID, |o| v.put(o)),
            Self::Recovery(v) => group(out, RECOVERY, |o| o.u32(*v)),
            Self::PdnType(v) => group(out, PDN_TYPE, |o| {
                fits(o.len(), u64::from(*v), 3)?;
                o.u8(*v)
            }),
            Self::ReportType(v) => group(out, REPORT_TYPE, |o| o.u8(*v)),
            Self::CreatePdr(v) => group(out, CREATE_PDR, |o| v.put(o)),
            Self::UpdatePdr(v) => group(out, UPDATE_PDR, |o| v.put(o)),
            Self::RemovePdr(id) => group(out, REMOVE_PDR, |o| group(o, PDR_ID, |o| o.u16(*id))),
            Self::CreatedPdr(v) => group(out, CREATED_PDR, |o| v.put(o)),
            Self::CreateFar(v) => group(out, CREATE_FAR, |o| v.put(true, o)),
            Self::UpdateFar(v) => group(out, UPDATE_FAR, |o| v.put(false, o)),
            Self::RemoveFar(id) => group(out, REMOVE_FAR, |o| group(o, FAR_ID, |o| o.u32(*id))),
            Self::CreateQer(v) => group(out, CREATE_QER, |o| v.put(o)),
            Self::UpdateQer(v) => group(out, UPDATE_QER, |o| v.put(o)),
            Self::RemoveQer(id) => group(out, REMOVE_QER, |o| group(o, QER_ID, |o| o.u32(*id))),
            Self::SessionReport(v) => group(out, SESSION_REPORT, |o| v.put(o)),
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

impl CreatedPdr {
    fn read(r: &Reader<'_>) -> Result<Self, WireError> {
        let id = only(r, PDR_ID, "a PDR ID", |v| v.u16("a PDR ID"))?;
        let mut tunnel = None;
        for raw in frames(*r) {
            let mut raw = raw?;
            if raw.kind == F_TEID {
                tunnel = Some(FTeid::read(&mut raw.value)?);
            }
        }
        Ok(Self { id, tunnel })
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        group(out, PDR_ID, |o| o.u16(self.id))?;
        self.tunnel
            .map_or(Ok(()), |t| group(out, F_TEID, |o| t.put(o)))
    }
}

impl SessionReport {
    fn read(r: &Reader<'_>) -> Result<Self, WireError> {
        let mut report = Self {
            srr: only(r, SRR_ID, "an SRR ID", |v| v.u8("an SRR ID"))?,
            qos: Vec::new(),
        };
        for raw in frames(*r) {
            let raw = raw?;
            if raw.kind == QOS_REPORT {
                report.qos.push(QosReport::read(&raw.value)?);
            }
        }
        Ok(report)
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        group(out, SRR_ID, |o| o.u8(self.srr))?;
        self.qos.iter().try_for_each(|report| report.put(out))
    }
}
