//! Rules of rates (QER) (TS 29.244, 7.5.2.5 and 7.5.4.5).

use slackwater_core::{Qfi, Rate};

use super::edge::{EDGE, EdgeOptions};
use super::frame::{frames, group};
use super::number as e;
use super::rule::put_qfi;
use super::{ElementError, opt};
use crate::WireError;
use crate::gtpu::report::ENTERPRISE;
use crate::octets::{Reader, Writer};

/// `QoS` enforcement rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qer {
    /// Its number within the session.
    pub id: u32,
    /// Rules of several sessions with the same number share the rate.
    pub correlation: Option<u32>,
    /// Which directions are open.
    pub gates: Option<Gates>,
    /// Maximum rates: those of a flow, or the session's AMBR where the rule is every flow's.
    pub maximum: Option<BitRates>,
    /// Guaranteed rates.
    pub guaranteed: Option<BitRates>,
    /// The `QoS` flow that packets are marked with.
    pub qfi: Option<Qfi>,
    /// Reflective `QoS`.
    pub reflective: Option<bool>,
    /// Ours: what the edge functions are to do.
    pub edge: EdgeOptions,
}

/// Gates (TS 29.244, 8.2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    /// Uplink packets pass.
    pub up: bool,
    /// Downlink packets pass.
    pub down: bool,
}

/// A rate for each direction, in whole kbit/s on the wire (TS 29.244, 8.2.8 and 8.2.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BitRates {
    /// Uplink.
    pub up: Rate,
    /// Downlink.
    pub down: Rate,
}

impl Qer {
    /// True where it makes its flow one of guaranteed bit rate downlink.
    pub fn is_gbr(&self) -> bool {
        self.guaranteed.is_some_and(|g| g.down > Rate::ZERO)
    }
}

impl BitRates {
    fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let rate = |kbps: u64| Rate::from_bps(kbps * 1_000);
        Ok(Self {
            up: rate(r.u40("an uplink rate")?),
            down: rate(r.u40("a downlink rate")?),
        })
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.u40(self.up.as_bps().div_ceil(1_000))?;
        out.u40(self.down.as_bps().div_ceil(1_000))
    }
}

impl Qer {
    pub(super) fn read(r: &Reader<'_>, create: bool) -> Result<Self, ElementError> {
        let mut qer = Self::default();
        let mut id = None;
        for raw in frames(*r, e::CREATE_QER) {
            let raw = raw?;
            match raw.kind {
                e::QER_ID => id = Some(raw.leaf(|v| v.u32("a QER ID"))?),
                e::CORRELATION => qer.correlation = Some(raw.leaf(|v| v.u32("a correlation ID"))?),
                e::GATES => {
                    // Values other than 0 are to be read as closed (TS 29.244, 8.2.7).
                    let octet = raw.leaf(|v| v.u8("gates"))?;
                    let (up, down) = (octet >> 2 & 3, octet & 3);
                    qer.gates = Some(Gates {
                        up: up == 0,
                        down: down == 0,
                    });
                }
                e::MBR => qer.maximum = Some(raw.leaf(BitRates::read)?),
                e::GBR => qer.guaranteed = Some(raw.leaf(BitRates::read)?),
                e::QFI => qer.qfi = Some(Qfi(raw.leaf(|v| v.u8("a QFI"))? & 0x3f)),
                e::RQI => qer.reflective = Some(raw.leaf(|v| v.u8("an RQI"))? & 1 != 0),
                EDGE if raw.vendor == Some(ENTERPRISE) => qer.edge = raw.leaf(EdgeOptions::read)?,
                _ => {}
            }
        }
        qer.id = id.ok_or_else(|| ElementError::missing(r, e::QER_ID, "a QER ID"))?;
        if create && qer.gates.is_none() {
            return Err(ElementError::missing(r, e::GATES, "gates"));
        }
        Ok(qer)
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        group(out, e::QER_ID, |o| o.u32(self.id))?;
        opt(out, self.correlation, |o, v| {
            group(o, e::CORRELATION, |o| o.u32(v))
        })?;
        opt(out, self.gates, |o, g| {
            group(o, e::GATES, |o| {
                o.u8(u8::from(!g.up) << 2 | u8::from(!g.down))
            })
        })?;
        opt(out, self.maximum, |o, r| group(o, e::MBR, |o| r.put(o)))?;
        opt(out, self.guaranteed, |o, r| group(o, e::GBR, |o| r.put(o)))?;
        opt(out, self.reflective, |o, v| {
            group(o, e::RQI, |o| o.u8(u8::from(v)))
        })?;
        opt(out, self.qfi, put_qfi)?;
        self.edge.put(out)
    }
}
