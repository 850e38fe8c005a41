//! Reports of the radio network: who may send them, in which order, how old (docs/wire.md, "What a reader takes on trust").

use std::collections::HashMap;
use std::net::IpAddr;

use slackwater_core::{Duration, FlowId, Instant, Qfi, Teid, UeId};
use slackwater_edge::RanReport;
use slackwater_wire::gtpu::Message;
use slackwater_wire::gtpu::report::{FlowCounters, Names, Part, Source, counted, receive};

use super::User;
use super::n3::plain_uplink;
use super::packet::flow_of;
use super::state::names_peer;
use crate::sessions::{Session, Sessions};

/// A sender silent for so long may begin anew: it has restarted.
const SILENCE: Duration = Duration::from_secs(1);
/// Counters that wait for [`User::take_counted`] at most: more than come between two turns. Ours.
const COUNTED: usize = 1 << 12;
/// Tunnels whose numbers are known before those of silent ones are looked for. Ours.
const FEW: usize = 1 << 10;

/// Who is meant, as far as `peer` may speak of it: sessions that it serves.
struct Served<'a> {
    sessions: &'a Sessions,
    peer: IpAddr,
}

impl Names for Served<'_> {
    fn ue(&self, teid: Teid) -> Option<UeId> {
        let session = self.sessions.by_tunnel(teid)?;
        names_peer(&session.rules, self.peer).then(|| session.seid.ue())
    }
    fn flow(&self, teid: Teid, qfi: Qfi) -> Option<FlowId> {
        Some(flow_of(self.ue(teid)?, qfi))
    }
}

/// The last report of a tunnel.
#[derive(Clone, Copy, Debug)]
struct Last {
    seq: u32,
    /// Parts of it that came.
    parts: u128,
    at: Instant,
}

/// Numbers of reports, which only go forward.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    by_tunnel: HashMap<(IpAddr, Teid), Last>,
    /// Tunnels that were not silent when it was last looked.
    spoke: usize,
}

impl Sequences {
    /// False for a report that came already, or that a later one overtook.
    fn takes(&mut self, now: Instant, peer: IpAddr, teid: Teid, part: Part) -> bool {
        let bit = 1_u128 << u32::from(part.part).min(127);
        let new = Last {
            seq: part.seq,
            parts: bit,
            at: now,
        };
        // What a silent one had means nothing, and its session may be gone. At twice the number a look costs each tunnel little.
        let many = self.by_tunnel.len() >= FEW.max(2 * self.spoke);
        if many && !self.by_tunnel.contains_key(&(peer, teid)) {
            self.by_tunnel
                .retain(|_, last| now.since(last.at) < SILENCE);
            self.spoke = self.by_tunnel.len();
        }
        let last = match self.by_tunnel.entry((peer, teid)) {
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(new);
                return true;
            }
            std::collections::hash_map::Entry::Occupied(last) => last.into_mut(),
        };
        // RFC 1982: half of the numbers lie ahead.
        let ahead = part.seq.wrapping_sub(last.seq) as i32;
        if ahead > 0 || now.since(last.at) >= SILENCE {
            *last = new;
            return true;
        }
        let fresh = ahead == 0 && last.parts & bit == 0;
        if fresh {
            last.parts |= bit;
            last.at = now;
        }
        fresh
    }
}

/// When the cell read a report; `None` for one that has no time.
const fn read_at(report: &RanReport) -> Option<Instant> {
    match *report {
        RanReport::Backlog { at, .. }
        | RanReport::LinkState { at, .. }
        | RanReport::Congestion { at, .. }
        | RanReport::PathDelay { at, .. }
        | RanReport::Available { at, .. }
        | RanReport::SlotPattern { at, .. }
        | RanReport::Own { at, .. } => Some(at),
        _ => None,
    }
}

impl User {
    /// Hands the edge functions what a message over a session's tunnel reports.
    pub(super) fn take_reports(
        &mut self,
        now: Instant,
        sessions: &Sessions,
        session: &Session,
        peer: IpAddr,
        message: &Message<'_>,
    ) {
        // A QFI alone is no report.
        if message.extensions().all(|e| plain_uplink(&e).is_some()) {
            return;
        }
        let teid = message.header.teid;
        let multi = session
            .rules
            .pdrs
            .iter()
            .any(|p| p.reports && p.tunnel.is_some_and(|t| t.teid == teid));
        let source = Source {
            names: &Served { sessions, peer },
            clock: self.config.clock,
            units: self.config.units,
            multi: multi.then_some(teid),
        };
        let mut read = core::mem::take(&mut self.read);
        read.clear();
        let Ok(intake) = receive(message, now, &source, |report| read.push(report)) else {
            self.counters.report_malformed += 1;
            self.read = read;
            return;
        };
        self.counters.report_values_skipped += intake.skipped as u64;
        if intake.counters > 0 {
            self.take_counters(sessions, message, &source, intake.counters);
        }
        if read.is_empty() {
            let values = intake.skipped + intake.counters;
            if values > 0 && !multi && !names_peer(&session.rules, peer) {
                self.counters.report_strangers += 1;
            }
            self.read = read;
            return;
        }
        let goes = intake
            .part
            .is_none_or(|part| self.sequences.takes(now, peer, teid, part));
        for report in read.drain(..) {
            let old = read_at(&report).is_some_and(|at| now.since(at) > self.config.report_age);
            if !goes {
                self.counters.report_overtaken += 1;
            } else if old {
                self.counters.report_stale += 1;
            } else {
                self.counters.reports += 1;
                self.heard(&report);
                self.functions.on_report(now, peer, &report);
            }
        }
        self.read = read;
        self.functions.drain(now);
    }

    /// Keeps the counters in a message, of which it has `many`. The address of the flow's receiver must be that of the session
    /// that they are said to be of: a base station speaks of the UEs that it serves.
    fn take_counters(
        &mut self,
        sessions: &Sessions,
        message: &Message<'_>,
        source: &Source<'_, Served<'_>>,
        many: usize,
    ) {
        let before = self.counted.len();
        // What is cut short was found before.
        let _ = counted::each(message, source, |teid, counters| {
            let owner = sessions.by_address(counters.flow.destination);
            let named = sessions.by_tunnel(teid);
            let same = owner.zip(named).is_some_and(|(a, b)| a.seid == b.seid);
            if same && self.config.counters && self.counted.len() < COUNTED {
                self.counted.push(counters);
            }
        });
        let kept = self.counted.len() - before;
        self.counters.flow_counters += kept as u64;
        self.counters.flow_counters_refused += (many - kept) as u64;
    }

    /// Counters that came since the last call, each for the sender of its flow.
    pub fn take_counted(&mut self) -> Vec<FlowCounters> {
        core::mem::take(&mut self.counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunnels_that_went_leave_no_numbers() {
        let mut sequences = Sequences::default();
        let peer = IpAddr::from([192, 0, 2, 33]);
        let part = Part {
            seq: 1,
            part: 0,
            parts: 1,
        };
        let mut most = 0;
        for k in 0..100_000 {
            let now = Instant::from_millis(u64::from(k) * 10);
            assert!(sequences.takes(now, peer, Teid(k), part));
            // A hundred of them spoke within a second.
            most = most.max(sequences.by_tunnel.len());
        }
        assert!(most <= FEW, "{most}");
        // One that has not been silent is known still.
        let now = Instant::from_millis(999_990);
        assert!(!sequences.takes(now, peer, Teid(99_999), part));
    }
}
