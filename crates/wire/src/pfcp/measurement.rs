//! Measurements of `QoS` that the user plane function reports to the session management (TS 29.244, 8.2.171).

use slackwater_core::{Duration, FlowId, Instant, Qfi, UeId};
use slackwater_signal::RanReport;

use super::frame::{frames, group};
use super::{ElementError, number};
use crate::WireError;
use crate::gtpu::psc::CONGESTION_MAX;
use crate::gtpu::report::ROUND_TRIP_MAX;
use crate::octets::{Reader, Writer, fits};

/// One measurement. Delays in ms; congestion in 0.01 %, and data rates, of Release 18.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measurement {
    /// Downlink delay, ms.
    pub down: Option<u32>,
    /// Uplink delay, ms.
    pub up: Option<u32>,
    /// Round trip, ms.
    pub round_trip: Option<u32>,
    /// The measurement failed: no stamps came back.
    pub failed: bool,
    /// Downlink congestion, 0.01 %.
    pub down_congestion: Option<u16>,
    /// Uplink congestion, 0.01 %.
    pub up_congestion: Option<u16>,
    /// Downlink data rate.
    pub down_rate: Option<u32>,
    /// Uplink data rate.
    pub up_rate: Option<u32>,
}

impl Measurement {
    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let flags = r.u8("a measurement")?;
        let has = |bit: u8| flags & bit != 0;
        Ok(Self {
            failed: has(0x08),
            down: r.when(has(0x01), |r| r.u32("a delay"))?,
            up: r.when(has(0x02), |r| r.u32("a delay"))?,
            round_trip: r.when(has(0x04), |r| r.u32("a delay"))?,
            down_congestion: r.when(has(0x10), |r| r.u16("a congestion"))?,
            up_congestion: r.when(has(0x20), |r| r.u16("a congestion"))?,
            down_rate: r.when(has(0x40), |r| r.u32("a data rate"))?,
            up_rate: r.when(has(0x80), |r| r.u32("a data rate"))?,
        })
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        let flags = [
            self.down.is_some(),
            self.up.is_some(),
            self.round_trip.is_some(),
            self.failed,
            self.down_congestion.is_some(),
            self.up_congestion.is_some(),
            self.down_rate.is_some(),
            self.up_rate.is_some(),
        ];
        let octet = (0..8).fold(0, |octet, i| octet | u8::from(flags[i]) << i);
        out.u8(octet)?;
        for v in [self.down, self.up, self.round_trip].into_iter().flatten() {
            out.u32(v)?;
        }
        for v in [self.down_congestion, self.up_congestion]
            .into_iter()
            .flatten()
        {
            out.u16(v)?;
        }
        for v in [self.down_rate, self.up_rate].into_iter().flatten() {
            out.u32(v)?;
        }
        Ok(())
    }

    /// What the measurement says as reports: the path's delay, and the congestion of `flow` where it is known.
    pub fn reports(
        &self,
        at: Instant,
        ue: UeId,
        qfi: Qfi,
        flow: Option<FlowId>,
    ) -> impl Iterator<Item = RanReport> {
        let both = self.down.zip(self.up).map(|(d, u)| d.saturating_add(u));
        let delay = self
            .round_trip
            .or(both)
            .filter(|_| !self.failed)
            .map(|ms| Duration::from_millis(u64::from(ms)))
            .filter(|rtt| *rtt <= ROUND_TRIP_MAX)
            .map(|rtt| RanReport::PathDelay {
                at,
                ue,
                qfi: Some(qfi),
                rtt,
            });
        let congestion =
            self.down_congestion
                .zip(flow)
                .map(|(per_10k, flow)| RanReport::Congestion {
                    at,
                    flow,
                    per_10k: per_10k.min(CONGESTION_MAX),
                });
        delay.into_iter().chain(congestion)
    }
}

/// The measurement of one `QoS` flow (TS 29.244, 7.5.8.6, `QoS` Monitoring Report).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QosReport {
    /// The flow.
    pub qfi: Qfi,
    /// What was measured.
    pub measurement: Measurement,
    /// When, in seconds of NTP.
    pub at: u32,
}

impl QosReport {
    pub(super) fn read(r: &Reader<'_>) -> Result<Self, ElementError> {
        let (mut qfi, mut measurement, mut at) = (None, None, 0);
        for raw in frames(*r, number::QOS_REPORT) {
            let raw = raw?;
            match raw.kind {
                number::QFI => qfi = Some(Qfi(raw.leaf(|v| v.u8("a QFI"))? & 0x3f)),
                number::MEASUREMENT => measurement = Some(raw.leaf(Measurement::read)?),
                number::TIME_STAMP => at = raw.leaf(|v| v.u32("a time"))?,
                _ => {}
            }
        }
        let missing = |kind, what| ElementError::missing(r, kind, what);
        Ok(Self {
            qfi: qfi.ok_or_else(|| missing(number::QFI, "a QFI"))?,
            measurement: measurement
                .ok_or_else(|| missing(number::MEASUREMENT, "a measurement"))?,
            at,
        })
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        group(out, number::QOS_REPORT, |out| {
            group(out, number::QFI, |out| {
                fits(out.len(), u64::from(self.qfi.0), 6)?;
                out.u8(self.qfi.0)
            })?;
            group(out, number::MEASUREMENT, |out| self.measurement.put(out))?;
            group(out, number::TIME_STAMP, |out| out.u32(self.at))
        })
    }
}
