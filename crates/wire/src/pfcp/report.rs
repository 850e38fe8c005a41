//! What the user plane function tells: tunnels that it chose, and the contents of session reports.

use super::address::FTeid;
use super::frame::{Raw, all, frames, group, only};
use super::measurement::QosReport;
use super::number as n;
use super::{ElementError, opt};
use crate::WireError;
use crate::octets::Writer;

/// The message that a usage report stands in; each has a type of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UsageIn {
    /// The answer to a modification.
    Modification,
    /// The answer to a deletion.
    Deletion,
    /// A session report.
    Report,
}

/// What a session report holds (TS 29.244, 8.2.21).
pub mod report_type {
    /// DLDR: downlink data.
    pub const DOWNLINK_DATA: u8 = 1;
    /// USAR: usage.
    pub const USAGE: u8 = 1 << 1;
    /// ERIR: an error indication of the tunnel's far end.
    pub const ERROR_INDICATION: u8 = 1 << 2;
    /// SESR: measurements of `QoS`.
    pub const SESSION: u8 = 1 << 5;
}

/// Orders of a modification (TS 29.244, 8.2.31).
pub mod modification {
    /// DROBU: what is buffered is dropped.
    pub const DROP_BUFFERED: u8 = 1;
    /// QAURR: all usage is reported.
    pub const QUERY_ALL: u8 = 1 << 2;
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

impl CreatedPdr {
    pub(super) fn read(group: &Raw<'_>) -> Result<Self, ElementError> {
        Ok(Self {
            id: only(group, n::PDR_ID, "a PDR ID", |v| v.u16("a PDR ID"))?,
            tunnel: all(group, n::F_TEID, FTeid::read)?.first().copied(),
        })
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        group(out, n::PDR_ID, |o| o.u16(self.id))?;
        opt(out, self.tunnel, |o, t| group(o, n::F_TEID, |o| t.put(o)))
    }
}

impl SessionReport {
    pub(super) fn read(group: &Raw<'_>) -> Result<Self, ElementError> {
        let mut report = Self {
            srr: only(group, n::SRR_ID, "an SRR ID", |v| v.u8("an SRR ID"))?,
            qos: Vec::new(),
        };
        for raw in frames(group.value, group.kind) {
            let raw = raw?;
            if raw.kind == n::QOS_REPORT {
                report.qos.push(QosReport::read(&raw.value)?);
            }
        }
        Ok(report)
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        group(out, n::SRR_ID, |o| o.u8(self.srr))?;
        self.qos.iter().try_for_each(|report| report.put(out))
    }
}
