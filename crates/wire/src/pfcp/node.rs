//! What two nodes tell each other about themselves, and which rule failed (TS 29.244, 7.4 and 8.2).

use slackwater_core::Duration;

use super::number as n;
use super::{ElementError, frame};
use crate::WireError;
use crate::octets::{Reader, Writer, fits};

/// What a user plane function can do (TS 29.244, 8.2.25). Bit 0 is the first of the first octet.
pub mod feature {
    /// DDND: the notification of downlink data can be delayed.
    pub const NOTIFICATION_DELAY: u64 = 1 << 1;
    /// FTUP: tunnels are chosen by the user plane function.
    pub const CHOOSES_TUNNELS: u64 = 1 << 4;
    /// EMPU: end markers are sent.
    pub const END_MARKER: u64 = 1 << 8;
    /// MNOP: packets are counted in usage reports.
    pub const COUNTS_PACKETS: u64 = 1 << 20;
    /// BUNDL: several messages in a datagram are read (6.4).
    pub const BUNDLING: u64 = 1 << 22;
}

/// Bits over as many octets as the sender wrote; of those beyond eight none is kept.
pub(super) fn read_bits(r: &Reader<'_>) -> u64 {
    let octets = r.rest().iter().take(8).enumerate();
    octets.fold(0, |bits, (i, octet)| bits | u64::from(*octet) << (8 * i))
}

/// Writes as many octets as the bits need, and at least `least`.
pub(super) fn put_bits(bits: u64, least: usize, out: &mut Writer<'_>) -> Result<(), WireError> {
    let used = (64 - bits.leading_zeros() as usize).div_ceil(8);
    out.put(&bits.to_le_bytes()[..used.max(least)])
}

/// Whose fault a refusal was (failed rule ID, TS 29.244, 8.2.80).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleId {
    /// A packet detection rule.
    Pdr(u16),
    /// A forwarding action rule.
    Far(u32),
    /// A `QoS` enforcement rule.
    Qer(u32),
    /// A usage reporting rule.
    Urr(u32),
    /// A buffering action rule.
    Bar(u8),
}

impl RuleId {
    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self, ElementError> {
        let at = r.at();
        let length = |error| ElementError::length(n::FAILED_RULE, error);
        Ok(match r.u8("a rule's type").map_err(length)? & 0x1f {
            0 => Self::Pdr(r.u16("a PDR ID").map_err(length)?),
            1 => Self::Far(r.u32("a FAR ID").map_err(length)?),
            2 => Self::Qer(r.u32("a QER ID").map_err(length)?),
            3 => Self::Urr(r.u32("a URR ID").map_err(length)?),
            4 => Self::Bar(r.u8("a BAR ID").map_err(length)?),
            other => {
                let error = WireError::new(at, format!("rule type {other}"), "0 to 4");
                return Err(ElementError::wrong(n::FAILED_RULE, error));
            }
        })
    }

    pub(super) fn put(self, out: &mut Writer<'_>) -> Result<(), WireError> {
        match self {
            Self::Pdr(id) => {
                out.u8(0)?;
                out.u16(id)
            }
            Self::Far(id) => {
                out.u8(1)?;
                out.u32(id)
            }
            Self::Qer(id) => {
                out.u8(2)?;
                out.u32(id)
            }
            Self::Urr(id) => {
                out.u8(3)?;
                out.u32(id)
            }
            Self::Bar(id) => out.put(&[4, id]),
        }
    }
}

/// How long an association goes on before it is released (graceful release period, TS 29.244, 8.2.78): 5 bits and a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// So long.
    For(Duration),
    /// Without end.
    Infinite,
}

impl Period {
    // Units by the three high bits (8.2.78); other values mean a minute.
    const UNITS: [u64; 5] = [2, 60, 600, 3_600, 36_000];

    /// The shortest period on the wire that lasts `least`; without end where there is none.
    pub fn at_least(least: Duration) -> Self {
        let seconds = least.as_nanos().div_ceil(1_000_000_000);
        let fit = Self::UNITS.iter().find(|u| seconds <= **u * 31);
        fit.map_or(Self::Infinite, |unit| {
            Self::For(Duration::from_secs(seconds.div_ceil(*unit) * unit))
        })
    }

    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let octet = r.u8("a period")?;
        let unit = match octet >> 5 {
            7 => return Ok(Self::Infinite),
            u @ 0..=4 => Self::UNITS[usize::from(u)],
            _ => 60,
        };
        Ok(Self::For(Duration::from_secs(u64::from(octet & 31) * unit)))
    }

    pub(super) fn put(self, out: &mut Writer<'_>) -> Result<(), WireError> {
        let Self::For(time) = self else {
            return out.u8(7 << 5);
        };
        let seconds = time.as_nanos() / 1_000_000_000;
        let unit = Self::UNITS
            .iter()
            .position(|u| seconds % u == 0 && seconds / u < 32);
        match unit {
            Some(u) if time == Duration::from_secs(seconds) => {
                out.u8((u as u8) << 5 | (seconds / Self::UNITS[u]) as u8)
            }
            _ => Err(WireError::new(
                out.len(),
                format!("a period of {time}"),
                "1 to 31 times 2 s, 1 min, 10 min, 1 h or 10 h",
            )),
        }
    }
}

/// Buffering action rule (TS 29.244, 7.5.2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bar {
    /// Its number within the session.
    pub id: u8,
    /// Delay of the notification after the first packet, on the wire in units of 50 ms up to 12.75 s (8.2.28).
    pub notification_delay: Option<Duration>,
    /// Packets that may be kept (8.2.100).
    pub packets: Option<u16>,
}

impl Bar {
    const UNIT: Duration = Duration::from_millis(50);

    pub(super) fn read(group: &Reader<'_>) -> Result<Self, ElementError> {
        let mut bar = Self::default();
        let mut id = None;
        for raw in frame::frames(*group, n::BAR_ID) {
            let raw = raw?;
            match raw.kind {
                n::BAR_ID => id = Some(raw.leaf(|v| v.u8("a BAR ID"))?),
                n::NOTIFICATION_DELAY => {
                    let units = raw.leaf(|v| v.u8("a delay"))?;
                    bar.notification_delay = Some(Self::UNIT * u64::from(units));
                }
                n::BUFFERING_PACKETS => {
                    // One octet or two (8.2.100).
                    bar.packets = Some(raw.leaf(|v| match v.rest().len() {
                        1 => v.u8("a number").map(u16::from),
                        _ => v.u16("a number"),
                    })?);
                }
                _ => {}
            }
        }
        bar.id = id.ok_or_else(|| ElementError::missing(group, n::BAR_ID, "a BAR ID"))?;
        Ok(bar)
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        frame::group(out, n::BAR_ID, |o| o.u8(self.id))?;
        if let Some(delay) = self.notification_delay {
            let units = delay.as_nanos().div_ceil(Self::UNIT.as_nanos());
            fits(out.len(), units, 8)?;
            frame::group(out, n::NOTIFICATION_DELAY, |o| o.u8(units as u8))?;
        }
        match self.packets {
            None => Ok(()),
            Some(p) => frame::group(out, n::BUFFERING_PACKETS, |o| match u8::try_from(p) {
                Ok(p) => o.u8(p),
                Err(_) => o.u16(p),
            }),
        }
    }
}
