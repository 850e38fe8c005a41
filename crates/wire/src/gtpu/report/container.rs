//! Profile A: reports in the uplink PDU session container, by fields of the standard only.
//!
//! Congestion has one field, and so has the available rate. A path's delay is what the measurement of `QoS` gives: the
//! network's delays from the results, the way between from the three time stamps. Backlog, link state and slot pattern
//! have no field (profiles B and C).

use slackwater_core::{Bytes, Duration, FlowId, Instant, Qfi, Rate, UeId};
use slackwater_signal::RanReport;

use super::super::ntp::{Ntp, NtpClock};
use super::super::psc::{CONGESTION_MAX, Downlink, Stamps, Uplink};
use super::{ROUND_TRIP_MAX, Units};

/// Whose container it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The UE of the tunnel.
    pub ue: UeId,
    /// The flow of the tunnel and the container's QFI.
    pub flow: Option<FlowId>,
}

/// Round-trip time between the user plane function and the UE: the way between user plane function and radio network
/// and back (the stamps are differences of one clock each, so that no offset enters), and both delay results. `None`
/// where one of them is missing or the stamps contradict each other. `now` is when the container arrived, in the stamp
/// of the clock that gave [`Stamps::dl_sent`].
pub fn round_trip(up: &Uplink, now: Ntp, units: &Units) -> Option<Duration> {
    let stamps = up.stamps?;
    let away = i128::from(now.since_ns(stamps.dl_sent));
    let there = i128::from(stamps.ul_sent.since_ns(stamps.dl_received));
    let results = u64::from(up.dl_delay?) + u64::from(up.ul_delay?);
    let between = away - there;
    if between < 0 || there < 0 {
        return None;
    }
    let inside = i128::from(results) * i128::from(units.delay.as_nanos());
    u64::try_from(between + inside)
        .ok()
        .map(Duration::from_nanos)
}

/// The radio network's answer to a packet that asked for a measurement and arrived at `received`; `None` where it did
/// not ask. The delays are rounded up to the unit of the field.
pub fn answer(
    down: &Downlink,
    received: Ntp,
    sent: Ntp,
    delays: [Duration; 2],
    units: &Units,
) -> Option<Uplink> {
    let [dl_delay, ul_delay] = delays.map(|d| Some(in_units(d, units)));
    Some(Uplink {
        qfi: down.qfi,
        stamps: Some(Stamps {
            dl_sent: down.sent?,
            dl_received: received,
            ul_sent: sent,
        }),
        dl_delay,
        ul_delay,
        ..Uplink::default()
    })
}

fn in_units(delay: Duration, units: &Units) -> u32 {
    let units = delay.as_nanos().div_ceil(units.delay.as_nanos().max(1));
    u32::try_from(units).unwrap_or(u32::MAX)
}

/// Puts `report` into the container; false where it has no field for it. That it is the container of the report's flow
/// is for the caller to see to. An available rate keeps no backlog. A path's delay is written as delay results, so in
/// whole units (rounded up), with stamps that make the way between as long as this message travels.
pub fn put(report: &RanReport, up: &mut Uplink, clock: NtpClock, units: &Units) -> bool {
    match *report {
        RanReport::Congestion { per_10k, .. } => {
            up.dl_congestion = Some(per_10k.min(CONGESTION_MAX));
        }
        RanReport::Available { rate, .. } => {
            let units = rate.as_bps() / units.bitrate.as_bps().max(1);
            up.dl_bitrate = Some(u32::try_from(units).unwrap_or(u32::MAX));
        }
        RanReport::PathDelay { at, rtt, .. } => {
            let stamp = clock.stamp(at);
            up.stamps = Some(Stamps {
                dl_sent: stamp,
                dl_received: stamp,
                ul_sent: stamp,
            });
            up.dl_delay = Some(in_units(rtt, units));
            up.ul_delay = Some(0);
        }
        _ => return false,
    }
    true
}

/// Hands out what the container reports at `now`, and returns how many values had no receiver or cannot be.
pub fn take(
    up: &Uplink,
    now: Instant,
    owner: Owner,
    clock: NtpClock,
    units: &Units,
    mut out: impl FnMut(RanReport),
) -> usize {
    let (ue, qfi) = (owner.ue, Some(up.qfi));
    // The stamp of a measurement says when the radio network sent this; no report is from the future.
    let at = up.stamps.map_or(now, |s| clock.instant(s.ul_sent).min(now));
    let mut skipped = 0;
    if let Some(per_10k) = up.dl_congestion {
        match owner.flow {
            Some(flow) => out(RanReport::Congestion {
                at,
                flow,
                per_10k: per_10k.min(CONGESTION_MAX),
            }),
            None => skipped += 1,
        }
    }
    if let Some(n) = up.dl_bitrate {
        out(RanReport::Available {
            at,
            ue,
            qfi,
            rate: Rate::from_bps(u64::from(n).saturating_mul(units.bitrate.as_bps())),
            backlog: Bytes::ZERO,
        });
    }
    match round_trip(up, clock.stamp(now), units) {
        Some(rtt) if rtt <= ROUND_TRIP_MAX => out(RanReport::PathDelay { at, ue, qfi, rtt }),
        Some(_) => skipped += 1,
        None => {}
    }
    skipped
}

/// A container of `qfi` with nothing in it.
pub const fn empty(qfi: Qfi) -> Uplink {
    Uplink {
        qfi,
        stamps: None,
        dl_delay: None,
        ul_delay: None,
        seq: None,
        n3_n9_delay: None,
        d1_included: None,
        ul_congestion: None,
        dl_congestion: None,
        ul_bitrate: None,
        dl_bitrate: None,
    }
}
