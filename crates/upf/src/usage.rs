//! Usage reporting: what the packets of each URR add up to, and when that is reported (TS 29.244, 5.2.2).
//!
//! [`Usage::on_packet`] counts; what is due is noted and comes from [`Usage::take_due`] as a report, with all that was counted
//! by then. A report takes what it says out of the count: the reports of a rule add up to what passed.

mod counter;

use std::collections::{BTreeSet, VecDeque};

use slackwater_core::{Bytes, Direction, Duration, Instant};
use slackwater_wire::pfcp::trigger;

use crate::rules::Urr;
use crate::sessions::Seid;
use crate::user::fast::Forwarded;
use counter::Counter;

/// What a rule counted since its report before (TS 29.244, 7.5.8.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The rule.
    pub urr: u32,
    /// Number of the report, from 0.
    pub seqn: u32,
    /// Why it is made ([`trigger`]).
    pub triggers: u32,
    /// Start of the time that it covers.
    pub start: Instant,
    /// Its end.
    pub end: Instant,
    /// What was counted, where the rule measures volume.
    pub volume: Option<Counted>,
    /// Time of use in whole seconds, where the rule measures time; what is left over counts to the next report.
    pub duration: Option<Duration>,
    /// When the first packet came.
    pub first: Option<Instant>,
    /// When the last one came.
    pub last: Option<Instant>,
}

/// Octets and packets of each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Octets uplink.
    pub up: Bytes,
    /// Octets downlink.
    pub down: Bytes,
    /// Packets uplink.
    pub up_packets: u64,
    /// Packets downlink.
    pub down_packets: u64,
}

impl Counted {
    /// Octets of both directions.
    pub const fn total(&self) -> Bytes {
        Bytes(self.up.0.saturating_add(self.down.0))
    }

    fn add(&mut self, direction: Direction, count: u64, bytes: u64) {
        let (octets, packets) = match direction {
            Direction::Up => (&mut self.up, &mut self.up_packets),
            Direction::Down => (&mut self.down, &mut self.down_packets),
        };
        octets.0 = octets.0.saturating_add(bytes);
        *packets += count;
    }
}

/// The counters of one session.
#[derive(Debug)]
struct Session {
    seid: Seid,
    /// In the order of their rules' numbers.
    counters: Vec<Counter>,
}

/// All usage.
#[derive(Debug, Default)]
pub struct Usage {
    /// By the session's place.
    places: Vec<Option<Session>>,
    /// When each rule is to be looked at: at most once.
    timers: BTreeSet<(Instant, Seid, u32)>,
    /// Rules with a report due: each at most once.
    due: VecDeque<(Seid, u32)>,
    /// Sessions that reported, for the state file; `None` where none is kept.
    reported: Option<BTreeSet<Seid>>,
}

/// The count of a rule as the state file has it: numbers in an order that [`counter`] gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The numbers.
    pub(crate) values: [u64; 20],
}

impl Usage {
    fn session(&mut self, seid: Seid) -> Option<&mut Session> {
        let place = self.places.get_mut(seid.ue().index())?;
        place.as_mut().filter(|s| s.seid == seid)
    }

    fn counter(&mut self, seid: Seid, urr: u32) -> Option<&mut Counter> {
        let counters = &mut self.session(seid)?.counters;
        counters.iter_mut().find(|c| c.urr.id == urr)
    }

    /// A rule begins.
    pub fn create(&mut self, now: Instant, seid: Seid, urr: &Urr) {
        let at = seid.ue().index();
        if self.places.len() <= at {
            self.places.resize_with(at + 1, || None);
        }
        if self.places[at].as_ref().is_none_or(|s| s.seid != seid) {
            let counters = Vec::new();
            self.places[at] = Some(Session { seid, counters });
        }
        if let Some(session) = self.session(seid) {
            let place = session.counters.partition_point(|c| c.urr.id < urr.id);
            let counter = Counter::new(now, urr.clone());
            session.counters.insert(place, counter);
        }
        self.watch(seid, urr.id);
    }

    /// A rule has other terms. A quota that was given anew begins anew.
    pub fn update(&mut self, now: Instant, seid: Seid, urr: &Urr, volume: bool, time: bool) {
        if let Some(counter) = self.counter(seid, urr.id) {
            counter.update(now, urr.clone(), volume, time);
        }
        self.watch(seid, urr.id);
    }

    /// What a rule counted, at once.
    pub fn query(&mut self, now: Instant, seid: Seid, urr: u32) -> Option<Report> {
        let report = self.counter(seid, urr)?.report(now, trigger::IMMEDIATE);
        self.note_report(seid);
        self.watch(seid, urr);
        Some(report)
    }

    /// What a rule counted that goes.
    pub fn remove(&mut self, now: Instant, seid: Seid, urr: u32) -> Option<Report> {
        let session = self.session(seid)?;
        let at = session.counters.iter().position(|c| c.urr.id == urr)?;
        let mut counter = session.counters.remove(at);
        self.unwatch(seid, urr, &counter);
        Some(counter.report(now, trigger::TERMINATION))
    }

    /// What all rules of a session counted that goes.
    pub fn end(&mut self, now: Instant, seid: Seid) -> Vec<Report> {
        let Some(place) = self.places.get_mut(seid.ue().index()) else {
            return Vec::new();
        };
        let Some(mut session) = place.take_if(|s| s.seid == seid) else {
            return Vec::new();
        };
        let mut reports = Vec::new();
        for counter in &mut session.counters {
            self.unwatch(seid, counter.urr.id, counter);
            reports.push(counter.report(now, trigger::TERMINATION));
        }
        reports
    }

    /// A packet of `bytes` octets counts to the rules `urrs` of the session. False where a quota is used up: it ends here, and
    /// counts nowhere. The packet that uses a quota up still passes.
    pub fn on_packet(
        &mut self,
        now: Instant,
        seid: Seid,
        urrs: &[u32],
        direction: Direction,
        bytes: Bytes,
    ) -> bool {
        self.pass(now, seid, urrs, direction, bytes, |_| true)
    }

    /// [`Usage::on_packet`] for those of the rules that count a packet before its `QoS` is enforced (`enforced` is false), or
    /// after it: a rule does one of both (TS 29.244, 8.2.68, MBQE).
    pub fn on_packet_at(
        &mut self,
        now: Instant,
        seid: Seid,
        urrs: &[u32],
        direction: Direction,
        bytes: Bytes,
        enforced: bool,
    ) -> bool {
        self.pass(now, seid, urrs, direction, bytes, |urr| {
            urr.before_qos != enforced
        })
    }

    /// Packets that a path outside has forwarded count to the rules `urrs` of the session. Such rules have no quota.
    pub(crate) fn on_forwarded(
        &mut self,
        now: Instant,
        seid: Seid,
        urrs: &[u32],
        direction: Direction,
        what: Forwarded,
    ) {
        self.count(now, seid, direction, what, |urr| urrs.contains(&urr.id));
    }

    /// The sessions of which a rule is to be looked at by `now`.
    pub(crate) fn timers_by(&self, now: Instant) -> impl Iterator<Item = Seid> {
        let due = self.timers.iter().take_while(move |(at, ..)| *at <= now);
        due.map(|(_, seid, _)| *seid)
    }

    /// [`Usage::on_packet`] for those of the rules that `which` names.
    fn pass(
        &mut self,
        now: Instant,
        seid: Seid,
        urrs: &[u32],
        direction: Direction,
        bytes: Bytes,
        which: impl Fn(&Urr) -> bool,
    ) -> bool {
        let Some(place) = self.places.get_mut(seid.ue().index()) else {
            return true;
        };
        let Some(session) = place.as_mut().filter(|s| s.seid == seid) else {
            return true;
        };
        let mine = |c: &&mut Counter| urrs.contains(&c.urr.id) && which(&c.urr);
        if session
            .counters
            .iter_mut()
            .filter(mine)
            .any(|c| c.is_used_up(now))
        {
            return false;
        }
        let one = Forwarded {
            packets: 1,
            bytes: bytes.get(),
        };
        self.count(now, seid, direction, one, |urr| {
            urrs.contains(&urr.id) && which(urr)
        });
        true
    }

    /// Packets count to the rules of a session that `which` names.
    fn count(
        &mut self,
        now: Instant,
        seid: Seid,
        direction: Direction,
        what: Forwarded,
        which: impl Fn(&Urr) -> bool,
    ) {
        let place = self.places.get_mut(seid.ue().index());
        let Some(session) = place.and_then(Option::as_mut).filter(|s| s.seid == seid) else {
            return;
        };
        for counter in session.counters.iter_mut().filter(|c| which(&c.urr)) {
            let id = counter.urr.id;
            let (due, sooner) = counter.count(now, direction, what);
            if due {
                self.due.push_back((seid, id));
            }
            if sooner {
                // The first packet after a rest starts clocks.
                if let Some(at) = counter.watched.take() {
                    self.timers.remove(&(at, seid, id));
                }
                counter.watched = counter.next_time();
                self.timers.extend(counter.watched.map(|at| (at, seid, id)));
            }
        }
    }

    /// Time passed.
    pub fn on_timer(&mut self, now: Instant) {
        while let Some((at, seid, urr)) = self.timers.first().copied() {
            if at > now {
                return;
            }
            self.timers.pop_first();
            let Some(counter) = self.counter(seid, urr) else {
                continue;
            };
            counter.watched = None;
            if counter.on_time(now) {
                self.due.push_back((seid, urr));
            }
            self.watch(seid, urr);
        }
    }

    /// When to call [`Usage::on_timer`] next.
    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.first().map(|(at, ..)| *at)
    }

    /// True where a report is due.
    pub fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// The next report that is due: one of a session, then another's.
    pub fn take_due(&mut self, now: Instant) -> Option<(Seid, Report)> {
        while let Some((seid, urr)) = self.due.pop_front() {
            let Some(counter) = self.counter(seid, urr) else {
                continue;
            };
            counter.is_listed = false;
            let triggers = counter.due;
            if triggers == 0 {
                // Another report took it along.
                continue;
            }
            let report = counter.report(now, triggers);
            self.note_report(seid);
            self.watch(seid, urr);
            return Some((seid, report));
        }
        None
    }

    /// Notes from now on which sessions report.
    pub(crate) fn keep_reported(&mut self) {
        self.reported = Some(BTreeSet::new());
    }

    fn note_report(&mut self, seid: Seid) {
        if let Some(reported) = &mut self.reported {
            reported.insert(seid);
        }
    }

    /// The sessions that reported since the last call: told twice, a count would be charged twice.
    pub(crate) fn take_reported(&mut self) -> BTreeSet<Seid> {
        let reported = self.reported.as_mut();
        reported.map(core::mem::take).unwrap_or_default()
    }

    /// The sessions that counted a packet, or reported, since the last call.
    pub(crate) fn take_counted(&mut self) -> Vec<Seid> {
        let all = self.places.iter_mut().flatten();
        let counted = all.filter_map(|session| {
            let mut any = false;
            for counter in &mut session.counters {
                any |= core::mem::take(&mut counter.is_new);
            }
            any.then_some(session.seid)
        });
        counted.collect()
    }

    /// The counts of a session's rules.
    pub(crate) fn kept(&self, seid: Seid) -> Vec<Kept> {
        let place = self.places.get(seid.ue().index()).and_then(Option::as_ref);
        let session = place.filter(|s| s.seid == seid);
        let counters = session.into_iter().flat_map(|s| &s.counters);
        counters.map(Counter::kept).collect()
    }

    /// Goes on with the counts of another process. Rules that have none begin anew.
    pub(crate) fn take_up(&mut self, seid: Seid, all: &[Kept]) {
        for kept in all {
            let urr = kept.values[0] as u32;
            let Some(counter) = self.counter(seid, urr) else {
                continue;
            };
            counter.take_up(kept);
            if counter.is_listed {
                self.due.push_back((seid, urr));
            }
            self.watch(seid, urr);
        }
    }

    /// Puts a rule's next time on the list.
    fn watch(&mut self, seid: Seid, urr: u32) {
        let Some(counter) = self.counter(seid, urr) else {
            return;
        };
        let next = counter.next_time();
        let before = std::mem::replace(&mut counter.watched, next);
        if before == next {
            return;
        }
        if let Some(at) = before {
            self.timers.remove(&(at, seid, urr));
        }
        self.timers.extend(next.map(|at| (at, seid, urr)));
    }

    fn unwatch(&mut self, seid: Seid, urr: u32, counter: &Counter) {
        if let Some(at) = counter.watched {
            self.timers.remove(&(at, seid, urr));
        }
        // A due report goes with the rule: what it would say is in the last one.
        if counter.is_listed {
            self.due.retain(|entry| *entry != (seid, urr));
        }
    }
}

#[cfg(test)]
mod tests;
