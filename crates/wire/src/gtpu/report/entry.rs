//! The fields of the proposed profiles: assistance information (TS 38.425, 5.5.3.50) of types from 229, which the
//! standard leaves to tests. Receivers pass over what they do not know, and values may grow at their end.

use slackwater_core::{Duration, Qfi, Teid};

use super::super::ntp::Ntp;
use super::super::psc::CONGESTION_MAX;
use super::counted::FlowCounters;
use crate::WireError;
use crate::octets::{Reader, Writer, fits};

/// One field.
///
/// [`Entry::Tunnel`], [`Entry::Flow`] and [`Entry::Sent`] hold for what follows them, until the next of their kind; a
/// tunnel ends the flow before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Entry {
    /// 229: bytes in RLC (u32).
    Backlog(u32),
    /// 230: delay of the head of line there, in µs (u32).
    HeadOfLine(u32),
    /// 231: what the UE would get with all resource blocks of each slot at its present MCS, in kbit/s (u32); numerology
    /// (u8), without which that of a [`Entry::Slots`] before it is meant.
    PeakRate {
        /// kbit/s.
        kbps: u32,
        /// Numerology (TS 38.211, 4.3.2): a slot takes 1 ms / 2^n.
        numerology: Option<u8>,
    },
    /// 232: the slots of the cell.
    Slots(Slots),
    /// 233: what follows is of this `QoS` flow (u8).
    Flow(Qfi),
    /// 234: when the values that follow were read (64-bit NTP).
    Sent(Ntp),
    /// 235: active flows in the queue (u8).
    ActiveFlows(u8),
    /// 236: what follows is of the session with this uplink tunnel, and of no particular flow of it (u32).
    Tunnel(Teid),
    /// 237: which part of which report this frame is.
    Part(Part),
    /// 238: share of packets to mark, in 0.01 % (u16).
    Congestion(u16),
    /// 239: what the radio network can give (u32 kbit/s), and bytes that wait there (u32).
    Available {
        /// kbit/s.
        kbps: u32,
        /// Bytes.
        backlog: u32,
    },
    /// 240: round-trip time between user plane function and UE, in µs (u32).
    RoundTrip(u32),
    /// 241: what the base station counts of one flow (24 octets), for its sender; IP version and protocol of the flow (u8, u8),
    /// addresses of sender and UE, their ports (u16, u16).
    Counters(FlowCounters),
}

/// The slots of a cell: numerology (u8), period (u8), downlink slots (u32), processing time in µs (u16); then, all or
/// none, special slots (u32), their part (u8), flags (u8, bit 0: polled), lead in µs (u16), start (64-bit NTP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Numerology, 0 to 6.
    pub numerology: u8,
    /// Slots after which the pattern repeats, 1 to 32.
    pub period: u8,
    /// Bit k: slot k carries downlink data.
    pub down: u32,
    /// From the end of a slot until the UE's upper layers have its data, in µs.
    pub processing_us: u16,
    /// What the paper's eight octets do not have.
    pub phase: Option<Phase>,
}

/// Where the pattern lies in time, and what its special slots hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Bit k: slot k is a special slot.
    pub special: u32,
    /// The part of a full slot's data that it carries, in 1/256.
    pub special_q8: u8,
    /// A slot is given to one UE at a time.
    pub polled: bool,
    /// How long before a slot the scheduler decides on it, in µs.
    pub lead_us: u16,
    /// When some first slot starts on the air.
    pub start: Ntp,
}

/// Sequence number of a report, and which of its parts this frame is (u32, u8, u8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Goes up by one with each report.
    pub seq: u32,
    /// This part, from 0.
    pub part: u8,
    /// Parts in all, from 1.
    pub parts: u8,
}

/// The highest numerology (TS 38.211, table 4.2-1).
const NUMEROLOGY_MAX: u8 = 6;

/// Length of a slot.
pub(super) fn slot(numerology: u8) -> Duration {
    Duration::from_nanos(1_000_000 >> numerology.min(NUMEROLOGY_MAX))
}

/// The numerology with slots of this length.
pub(super) fn numerology(length: Duration) -> Option<u8> {
    (0..=NUMEROLOGY_MAX).find(|n| slot(*n) == length)
}

impl Entry {
    /// Reads a field; `None` where its type is another, it is too short, or its value cannot be.
    pub fn from_field(kind: u8, value: &[u8]) -> Option<Self> {
        let r = &mut Reader::new(value);
        Self::read(kind, r).ok().flatten()
    }

    fn read(kind: u8, r: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        let sane = |ok: bool, entry: Self| ok.then_some(entry);
        Ok(match kind {
            229 => Some(Self::Backlog(r.u32("")?)),
            230 => Some(Self::HeadOfLine(r.u32("")?)),
            231 => {
                let kbps = r.u32("")?;
                let numerology = r.u8("").ok();
                sane(
                    numerology.is_none_or(|n| n <= NUMEROLOGY_MAX),
                    Self::PeakRate { kbps, numerology },
                )
            }
            232 => Slots::read(r)?.map(Self::Slots),
            233 => {
                let qfi = r.u8("")?;
                sane(qfi < 64, Self::Flow(Qfi(qfi)))
            }
            234 => Some(Self::Sent(Ntp(r.u64("")?))),
            235 => Some(Self::ActiveFlows(r.u8("")?)),
            236 => Some(Self::Tunnel(Teid(r.u32("")?))),
            237 => {
                let (seq, part, parts) = (r.u32("")?, r.u8("")?, r.u8("")?);
                sane(part < parts, Self::Part(Part { seq, part, parts }))
            }
            238 => {
                let per_10k = r.u16("")?;
                sane(per_10k <= CONGESTION_MAX, Self::Congestion(per_10k))
            }
            239 => Some(Self::Available {
                kbps: r.u32("")?,
                backlog: r.u32("")?,
            }),
            240 => Some(Self::RoundTrip(r.u32("")?)),
            241 => FlowCounters::read(r)?.map(Self::Counters),
            _ => None,
        })
    }

    /// Appends the field: type, length, value.
    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        let (kind, len) = match self {
            Self::Backlog(_) => (229, 4),
            Self::HeadOfLine(_) => (230, 4),
            Self::PeakRate { numerology, .. } => (231, if numerology.is_some() { 5 } else { 4 }),
            Self::Slots(slots) => (232, if slots.phase.is_some() { 24 } else { 8 }),
            Self::Flow(_) => (233, 1),
            Self::Sent(_) => (234, 8),
            Self::ActiveFlows(_) => (235, 1),
            Self::Tunnel(_) => (236, 4),
            Self::Part(_) => (237, 6),
            Self::Congestion(_) => (238, 2),
            Self::Available { .. } => (239, 8),
            Self::RoundTrip(_) => (240, 4),
            Self::Counters(counters) => (241, counters.len()),
        };
        out.put(&[kind, len])?;
        match *self {
            Self::Backlog(v) | Self::HeadOfLine(v) | Self::RoundTrip(v) => out.u32(v),
            Self::PeakRate { kbps, numerology } => {
                out.u32(kbps)?;
                numerology.map_or(Ok(()), |n| out.u8(n))
            }
            Self::Slots(slots) => slots.put(out),
            Self::Flow(qfi) => {
                fits(out.len(), u64::from(qfi.0), 6)?;
                out.u8(qfi.0)
            }
            Self::Sent(stamp) => out.u64(stamp.0),
            Self::ActiveFlows(n) => out.u8(n),
            Self::Tunnel(teid) => out.u32(teid.0),
            Self::Part(Part { seq, part, parts }) => {
                out.u32(seq)?;
                out.put(&[part, parts])
            }
            Self::Congestion(v) => out.u16(v),
            Self::Available { kbps, backlog } => {
                out.u32(kbps)?;
                out.u32(backlog)
            }
            Self::Counters(counters) => counters.put(out),
        }
    }
}

impl Slots {
    fn read(r: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        let slots = Self {
            numerology: r.u8("")?,
            period: r.u8("")?,
            down: r.u32("")?,
            processing_us: r.u16("")?,
            phase: Phase::read(r).ok(),
        };
        let sane = slots.numerology <= NUMEROLOGY_MAX && (1..=32).contains(&slots.period);
        Ok(sane.then_some(slots))
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.put(&[self.numerology, self.period])?;
        out.u32(self.down)?;
        out.u16(self.processing_us)?;
        let Some(phase) = self.phase else {
            return Ok(());
        };
        out.u32(phase.special)?;
        out.put(&[phase.special_q8, u8::from(phase.polled)])?;
        out.u16(phase.lead_us)?;
        out.u64(phase.start.0)
    }
}

impl Phase {
    fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            special: r.u32("")?,
            special_q8: r.u8("")?,
            polled: r.u8("")? & 1 != 0,
            lead_us: r.u16("")?,
            start: Ntp(r.u64("")?),
        })
    }
}

/// Writes a frame of assistance information with `entries` to the front of `out`; returns its octets.
///
/// # Errors
/// `out` is too short, there are more than 255 entries, or a number does not fit its field.
pub fn write(entries: &[Entry], out: &mut [u8]) -> Result<usize, WireError> {
    let Ok(count) = u8::try_from(entries.len()) else {
        return Err(WireError::new(
            2,
            format!("{} entries", entries.len()),
            "at most 255",
        ));
    };
    let mut out = Writer::new(out);
    out.put(&[ASSISTANCE, 0, count])?;
    for entry in entries {
        entry.put(&mut out)?;
    }
    Ok(out.len())
}

/// First octet of a frame: PDU type 2, assistance information present (TS 38.425, figure 5.5.2.3-1).
pub(super) const ASSISTANCE: u8 = 0x24;
