//! Profiles A to C as the user plane function reads them.

use slackwater_core::{Bytes, Duration, Instant, Qfi, Rate, Teid};
use slackwater_signal::RanReport;

use super::super::Message;
use super::super::extension::{NR_RAN_CONTAINER, PDU_SESSION_CONTAINER};
use super::super::nru::{Assistance, Frame};
use super::super::ntp::NtpClock;
use super::super::psc::Container;
use super::container::{self, Owner};
use super::entry::{Entry, Part, Slots, slot};
use super::{Names, ROUND_TRIP_MAX, Units};
use crate::WireError;

/// From where a message came and who is meant by what it names.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a, N> {
    /// Who is who.
    pub names: &'a N,
    /// The clock of the radio network's stamps.
    pub clock: NtpClock,
    /// What the peer counts in.
    pub units: Units,
    /// The tunnel of reports, over which any session may be reported (profile C), where there is one. On every other
    /// tunnel, entries of another session than the tunnel's own are passed over.
    pub multi: Option<Teid>,
}

/// What a message held beside reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Intake {
    /// Sequence number and part of profiles B and C.
    pub part: Option<Part>,
    /// Reports handed out.
    pub reports: usize,
    /// Counters of flows, which are for their senders ([`super::counted::each`]).
    pub counters: usize,
    /// Values passed over: of unknown type, of unknown flows or sessions, or such as cannot be.
    pub skipped: usize,
}

/// Hands out the reports in a message's extension headers. Their times are those of their stamps, but never after
/// `now`, when the message came; values without a stamp are taken to be of `now`.
///
/// # Errors
/// A container that is cut short or of an unknown type. What stood before it has been handed out.
pub fn receive<N: Names>(
    message: &Message<'_>,
    now: Instant,
    source: &Source<'_, N>,
    mut out: impl FnMut(RanReport),
) -> Result<Intake, WireError> {
    let mut intake = Intake::default();
    let teid = message.header.teid;
    for extension in message.extensions() {
        let within = |mut error: WireError| {
            error.offset += extension.at;
            error
        };
        match extension.kind {
            PDU_SESSION_CONTAINER => {
                let read = Container::parse(extension.content).map_err(within)?;
                let Container::Uplink(up) = read else {
                    continue;
                };
                let Some(ue) = source.names.ue(teid) else {
                    intake.skipped += 1;
                    continue;
                };
                let flow = source.names.flow(teid, up.qfi);
                let owner = Owner { ue, flow };
                let mut reports = 0;
                intake.skipped +=
                    container::take(&up, now, owner, source.clock, &source.units, |report| {
                        reports += 1;
                        out(report);
                    });
                intake.reports += reports;
            }
            NR_RAN_CONTAINER => {
                let read = Frame::parse(extension.content).map_err(within)?;
                if let Frame::Assistance(frame) = read {
                    assistance(&frame, teid, now, source, &mut intake, &mut out);
                }
            }
            _ => {}
        }
    }
    Ok(intake)
}

/// Hands out the reports in a frame that came over the tunnel `teid` at `now`.
pub fn assistance<N: Names>(
    frame: &Assistance<'_>,
    teid: Teid,
    now: Instant,
    source: &Source<'_, N>,
    intake: &mut Intake,
    mut out: impl FnMut(RanReport),
) {
    let multi = source.multi == Some(teid);
    let mut context = Context {
        at: now,
        // On the tunnel of reports nobody is meant until an entry names a session.
        tunnel: (!multi).then_some(teid),
        qfi: None,
        numerology: None,
    };
    let Some(fields) = frame.fields else {
        return;
    };
    for (kind, value) in fields.iter() {
        match Entry::from_field(kind, value) {
            Some(Entry::Tunnel(named)) => {
                context.tunnel = (multi || named == teid).then_some(named);
                context.qfi = None;
            }
            Some(Entry::Flow(qfi)) => context.qfi = Some(qfi),
            Some(Entry::Sent(stamp)) => context.at = source.clock.instant(stamp).min(now),
            Some(Entry::Part(part)) => intake.part = Some(part),
            Some(Entry::Counters(_)) => intake.counters += 1,
            Some(entry) => match context.report(entry, source) {
                Some(report) => {
                    intake.reports += 1;
                    out(report);
                }
                None => intake.skipped += 1,
            },
            None => intake.skipped += 1,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Context {
    at: Instant,
    tunnel: Option<Teid>,
    qfi: Option<Qfi>,
    numerology: Option<u8>,
}

impl Context {
    fn report<N: Names>(&mut self, entry: Entry, source: &Source<'_, N>) -> Option<RanReport> {
        let (at, qfi) = (self.at, self.qfi);
        let teid = self.tunnel?;
        let ue = source.names.ue(teid)?;
        let flow = qfi.and_then(|q| source.names.flow(teid, q));
        Some(match entry {
            Entry::Backlog(bytes) => RanReport::Backlog {
                at,
                ue,
                flow: flow?,
                bytes: Bytes(u64::from(bytes)),
            },
            Entry::PeakRate { kbps, numerology } => {
                let slot = slot(numerology.or(self.numerology)?);
                RanReport::LinkState {
                    at,
                    ue,
                    slot_bytes: slot_bytes(kbps, slot),
                    slot,
                }
            }
            Entry::Slots(slots) => {
                self.numerology = Some(slots.numerology);
                pattern(&slots, at, ue, source.clock)?
            }
            Entry::Congestion(per_10k) => RanReport::Congestion {
                at,
                flow: flow?,
                per_10k,
            },
            Entry::Available { kbps, backlog } => RanReport::Available {
                at,
                ue,
                qfi,
                rate: Rate::from_bps(u64::from(kbps) * 1_000),
                backlog: Bytes(u64::from(backlog)),
            },
            Entry::RoundTrip(us) => {
                let rtt = Duration::from_micros(u64::from(us));
                if rtt > ROUND_TRIP_MAX {
                    return None;
                }
                RanReport::PathDelay { at, ue, qfi, rtt }
            }
            // No report has a place for these yet.
            _ => return None,
        })
    }
}

/// To the nearest byte; see the writing side.
fn slot_bytes(kbps: u32, slot: Duration) -> Bytes {
    // kbit/s * ns = 10^-6 bit.
    Bytes((u64::from(kbps) * slot.as_nanos() + 4_000_000) / 8_000_000)
}

fn pattern(
    slots: &Slots,
    at: Instant,
    ue: slackwater_core::UeId,
    clock: NtpClock,
) -> Option<RanReport> {
    let phase = slots.phase?;
    Some(RanReport::SlotPattern {
        at,
        ue,
        start: clock.instant(phase.start),
        slot: slot(slots.numerology),
        period: slots.period,
        down: slots.down,
        special: phase.special,
        special_q8: phase.special_q8,
        lead: Duration::from_micros(u64::from(phase.lead_us)),
        processing: Duration::from_micros(u64::from(slots.processing_us)),
        polled: phase.polled,
    })
}
