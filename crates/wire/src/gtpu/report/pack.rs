//! Profiles B and C: reports into as many frames as they need.

use slackwater_core::{Bytes, Duration, FlowId, Instant, Qfi, Rate, Teid, UeId};
use slackwater_signal::RanReport;

use super::super::extension::MAX_CONTENT;
use super::super::ntp::NtpClock;
use super::super::psc::CONGESTION_MAX;
use super::Tunnels;
use super::entry::{ASSISTANCE, Entry, Part, Phase, Slots, numerology};
use crate::WireError;
use crate::octets::Writer;

/// Whose reports go into a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Profile B: those of one session, on its own tunnel.
    Session(Teid),
    /// Profile C: all, on a tunnel for reports.
    Multi,
}

/// Writes reports as frames of assistance information, each of which can be read without the others.
///
/// It passes over reports of other sessions than [`Scope::Session`]'s, of flows that have no tunnel, and those that no
/// field can hold: [`Packer::skipped`] counts them.
#[derive(Debug)]
pub struct Packer<'r, T> {
    reports: &'r [RanReport],
    tunnels: &'r T,
    clock: NtpClock,
    scope: Scope,
    limit: usize,
    seq: u32,
    part: u8,
    parts: u8,
    skipped: usize,
}

/// What holds for the next entry of a frame.
#[derive(Clone, Copy, Debug)]
struct Context {
    at: Option<Instant>,
    tunnel: Option<Teid>,
    qfi: Option<Qfi>,
    entries: usize,
}

/// A report as an entry and what it is about.
#[derive(Clone, Copy, Debug)]
struct Item {
    at: Instant,
    tunnel: Teid,
    qfi: Option<Qfi>,
    entry: Entry,
}

impl<'r, T: Tunnels> Packer<'r, T> {
    /// Prepares `reports` as report number `seq`; no frame gets longer than `limit` octets (nor than a container can
    /// be: 1018).
    ///
    /// # Errors
    /// `limit` is too small for a single report, or there would be more than 255 frames.
    pub fn new(
        reports: &'r [RanReport],
        scope: Scope,
        tunnels: &'r T,
        clock: NtpClock,
        seq: u32,
        limit: usize,
    ) -> Result<Self, WireError> {
        let mut packer = Self {
            reports,
            tunnels,
            clock,
            scope,
            limit: limit.min(MAX_CONTENT),
            seq,
            part: 0,
            parts: 0,
            skipped: 0,
        };
        // How many parts there are stands in the first of them.
        let mut scratch = [0; MAX_CONTENT];
        let mut rest = reports;
        loop {
            let mut out = Writer::new(&mut scratch[..packer.limit]);
            let filled = packer.fill(rest, &mut out)?;
            packer.skipped += filled.skipped;
            if filled.entries == 0 {
                break;
            }
            let Some(parts) = packer.parts.checked_add(1) else {
                return Err(WireError::new(0, "256 frames", "at most 255"));
            };
            packer.parts = parts;
            rest = &rest[filled.taken..];
        }
        Ok(packer)
    }

    /// Frames in all.
    pub const fn parts(&self) -> u8 {
        self.parts
    }

    /// Reports that are in none of them.
    pub const fn skipped(&self) -> usize {
        self.skipped
    }

    /// Writes the next frame to the front of `out` and returns its octets; `None` after the last.
    ///
    /// # Errors
    /// `out` is shorter than the limit.
    pub fn next_frame(&mut self, out: &mut [u8]) -> Result<Option<usize>, WireError> {
        if self.part == self.parts {
            return Ok(None);
        }
        let found = out.len();
        let Some(out) = out.get_mut(..self.limit) else {
            return Err(WireError::new(
                0,
                format!("room for {found}"),
                format!("room for {} octets", self.limit),
            ));
        };
        let mut out = Writer::new(out);
        let filled = self.fill(self.reports, &mut out)?;
        self.reports = &self.reports[filled.taken..];
        self.part += 1;
        Ok(Some(out.len()))
    }

    /// Fills one frame from the front of `reports`.
    fn fill(&self, reports: &[RanReport], out: &mut Writer<'_>) -> Result<Filled, WireError> {
        let part = Part {
            seq: self.seq,
            part: self.part,
            parts: self.parts,
        };
        out.put(&[ASSISTANCE, 0, 0])?;
        Entry::Part(part).put(out)?;
        let mut context = Context {
            at: None,
            tunnel: match self.scope {
                Scope::Session(teid) => Some(teid),
                Scope::Multi => None,
            },
            qfi: None,
            entries: 1,
        };
        let mut filled = Filled {
            taken: 0,
            entries: 0,
            skipped: 0,
        };
        for report in reports {
            let Some(item) = self.item(report) else {
                filled.taken += 1;
                filled.skipped += 1;
                continue;
            };
            let (len, before) = (out.len(), context);
            let written = self.put(&item, &mut context, out);
            if written.is_err() || context.entries > 255 {
                out.truncate(len);
                context = before;
                if filled.entries == 0 {
                    // Nothing else would make more room.
                    written?;
                }
                break;
            }
            filled.taken += 1;
            filled.entries += 1;
        }
        out.patch(2, &[context.entries as u8]);
        Ok(filled)
    }

    fn put(
        &self,
        item: &Item,
        context: &mut Context,
        out: &mut Writer<'_>,
    ) -> Result<(), WireError> {
        let mut put = |entry: Entry| {
            context.entries += 1;
            entry.put(out)
        };
        if context.at != Some(item.at) {
            put(Entry::Sent(self.clock.stamp(item.at)))?;
        }
        let back = context.qfi.is_some() && item.qfi.is_none();
        if context.tunnel != Some(item.tunnel) || back {
            put(Entry::Tunnel(item.tunnel))?;
            context.qfi = None;
        }
        if let Some(qfi) = item.qfi.filter(|q| context.qfi != Some(*q)) {
            put(Entry::Flow(qfi))?;
        }
        put(item.entry)?;
        context.at = Some(item.at);
        context.tunnel = Some(item.tunnel);
        context.qfi = item.qfi;
        Ok(())
    }

    /// The report as an entry, where it is of this frame's scope and can be one.
    fn item(&self, report: &RanReport) -> Option<Item> {
        let of_flow = |flow: FlowId| {
            let (tunnel, qfi) = self.tunnels.flow(flow)?;
            Some((tunnel, Some(qfi)))
        };
        let of_ue = |ue: UeId, qfi: Option<Qfi>| Some((self.tunnels.session(ue)?, qfi));
        let (at, (tunnel, qfi), entry) = match *report {
            RanReport::Backlog {
                at, flow, bytes, ..
            } => (at, of_flow(flow)?, Entry::Backlog(count(bytes))),
            RanReport::LinkState {
                at,
                ue,
                slot_bytes,
                slot,
            } => (at, of_ue(ue, None)?, peak_rate(slot_bytes, slot)?),
            RanReport::Congestion { at, flow, per_10k } => {
                let entry = Entry::Congestion(per_10k.min(CONGESTION_MAX));
                (at, of_flow(flow)?, entry)
            }
            RanReport::PathDelay { at, ue, qfi, rtt } => {
                let us = u32::try_from(micros(rtt)).unwrap_or(u32::MAX);
                (at, of_ue(ue, qfi)?, Entry::RoundTrip(us))
            }
            RanReport::Available {
                at,
                ue,
                qfi,
                rate,
                backlog,
            } => {
                let entry = Entry::Available {
                    kbps: kbps(rate),
                    backlog: count(backlog),
                };
                (at, of_ue(ue, qfi)?, entry)
            }
            RanReport::SlotPattern {
                at,
                ue,
                start,
                slot,
                period,
                down,
                special,
                special_q8,
                lead,
                processing,
                polled,
            } => {
                let slots = Slots {
                    numerology: numerology(slot)?,
                    period: (1..=32).contains(&period).then_some(period)?,
                    down,
                    processing_us: u16::try_from(micros(processing)).ok()?,
                    phase: Some(Phase {
                        special,
                        special_q8,
                        polled,
                        lead_us: u16::try_from(micros(lead)).ok()?,
                        start: self.clock.stamp(start),
                    }),
                };
                (at, of_ue(ue, None)?, Entry::Slots(slots))
            }
            // An end marker tells of a new path; what is added later has no entry yet.
            _ => return None,
        };
        let mine = match self.scope {
            Scope::Session(teid) => teid == tunnel,
            Scope::Multi => true,
        };
        let sane = qfi.is_none_or(|q| q.0 < 64);
        (mine && sane).then_some(Item {
            at,
            tunnel,
            qfi,
            entry,
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Filled {
    /// Reports dealt with.
    taken: usize,
    /// Of them, those in the frame.
    entries: usize,
    /// Of them, those in no frame.
    skipped: usize,
}

fn count(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

/// To the nearest.
fn kbps(rate: Rate) -> u32 {
    u32::try_from((rate.as_bps().saturating_add(500)) / 1_000).unwrap_or(u32::MAX)
}

/// To the nearest.
const fn micros(d: Duration) -> u64 {
    d.as_nanos().saturating_add(500) / 1_000
}

/// The rate of full slots; the nearest kbit/s tells slots of 1 ms and less apart by the byte.
fn peak_rate(slot_bytes: Bytes, slot: Duration) -> Option<Entry> {
    Some(Entry::PeakRate {
        kbps: kbps(Rate::from_bytes_over(slot_bytes, slot)),
        numerology: Some(numerology(slot)?),
    })
}
