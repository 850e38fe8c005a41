//! What one URR counts in one session.

use slackwater_core::{Bytes, Direction, Duration, Instant};
use slackwater_wire::pfcp::trigger;

use super::{Counted, Kept, Report};
use crate::rules::{Urr, Volume};
use crate::user::fast::Forwarded;

/// The count of one rule.
#[derive(Debug)]
pub(super) struct Counter {
    /// The rule.
    pub(super) urr: Urr,
    /// When it is looked at next, as the list of timers has it.
    pub(super) watched: Option<Instant>,
    /// Why a report is due; 0 for none.
    pub(super) due: u32,
    /// The rule is on the list of what is due. A query may have taken along what was.
    pub(super) is_listed: bool,
    /// Start of what is counted.
    since: Instant,
    /// Octets and packets since the last report.
    counted: Counted,
    /// Octets since the quota was given.
    of_quota: Counted,
    /// Time of use since the last report, up to `running`.
    time: Duration,
    /// Time of use since the quota was given, up to `running`.
    time_of_quota: Duration,
    /// From when time is counted on; `None` where it rests.
    running: Option<Instant>,
    /// The first packet since the last report.
    first: Option<Instant>,
    /// The last packet since the last report.
    last: Option<Instant>,
    /// The last packet of all.
    latest: Option<Instant>,
    /// The end of the present interval.
    period_end: Option<Instant>,
    /// A quota was reported as used up, or its holding time as over.
    told: u32,
    /// Number of the next report.
    seqn: u32,
    /// It changed since the state file was told.
    pub(super) is_new: bool,
}

fn reached(bound: Volume, counted: &Counted) -> bool {
    bound.total.is_some_and(|b| counted.total() >= b)
        || bound.up.is_some_and(|b| counted.up >= b)
        || bound.down.is_some_and(|b| counted.down >= b)
}

impl Counter {
    pub(super) fn new(now: Instant, urr: Urr) -> Self {
        let mut counter = Self {
            urr: Urr::default(),
            watched: None,
            due: 0,
            is_listed: false,
            since: now,
            counted: Counted::default(),
            of_quota: Counted::default(),
            time: Duration::ZERO,
            time_of_quota: Duration::ZERO,
            running: None,
            first: None,
            last: None,
            latest: None,
            period_end: None,
            told: 0,
            seqn: 0,
            is_new: false,
        };
        counter.update(now, urr, true, true);
        counter
    }

    /// All that it counted, as numbers: times in nanoseconds, `u64::MAX` for none.
    pub(super) fn kept(&self) -> Kept {
        let octets = |c: &Counted| [c.up.0, c.down.0, c.up_packets, c.down_packets];
        let [a, b, c, d] = octets(&self.counted);
        let [e, f, g, h] = octets(&self.of_quota);
        let time = |at: Option<Instant>| at.map_or(u64::MAX, Instant::as_nanos);
        Kept {
            values: [
                u64::from(self.urr.id),
                a,
                b,
                c,
                d,
                e,
                f,
                g,
                h,
                self.time.as_nanos(),
                self.time_of_quota.as_nanos(),
                self.since.as_nanos(),
                time(self.running),
                time(self.first),
                time(self.last),
                time(self.latest),
                time(self.period_end),
                u64::from(self.told) << 32 | u64::from(self.due),
                u64::from(self.seqn),
                u64::from(self.is_listed),
            ],
        }
    }

    /// Goes on with what another process counted.
    pub(super) fn take_up(&mut self, kept: &Kept) {
        let v = &kept.values;
        let counted = |at: usize| Counted {
            up: Bytes(v[at]),
            down: Bytes(v[at + 1]),
            up_packets: v[at + 2],
            down_packets: v[at + 3],
        };
        let time = |ns: u64| (ns != u64::MAX).then(|| Instant::from_nanos(ns));
        self.counted = counted(1);
        self.of_quota = counted(5);
        self.time = Duration::from_nanos(v[9]);
        self.time_of_quota = Duration::from_nanos(v[10]);
        self.since = Instant::from_nanos(v[11]);
        self.running = time(v[12]);
        self.first = time(v[13]);
        self.last = time(v[14]);
        self.latest = time(v[15]);
        self.period_end = time(v[16]);
        self.told = (v[17] >> 32) as u32;
        self.due = v[17] as u32;
        self.seqn = v[18] as u32;
        self.is_listed = v[19] != 0;
    }

    pub(super) fn update(&mut self, now: Instant, urr: Urr, volume: bool, time: bool) {
        self.settle(now);
        let period = (urr.period != self.urr.period || !self.has(trigger::PERIODIC))
            .then_some(urr.period)
            .flatten();
        self.urr = urr;
        if let Some(period) = period {
            self.period_end = Some(now + period);
        }
        if volume {
            self.of_quota = Counted::default();
            self.told &= !trigger::VOLUME_QUOTA;
        }
        if time {
            self.time_of_quota = Duration::ZERO;
            self.told &= !trigger::TIME_QUOTA;
        }
    }

    fn has(&self, bit: u32) -> bool {
        let [a, b, c] = self.urr.triggers;
        u32::from_le_bytes([a, b, c, 0]) & bit != 0
    }

    /// Until when time has been used: it rests after the inactivity time (TS 29.244, 8.2.17).
    fn used_until(&self, now: Instant) -> Instant {
        match (self.urr.inactivity, self.latest) {
            (Some(rest), Some(latest)) => now.min(latest.saturating_add(rest)),
            _ => now,
        }
    }

    /// Time that runs on and is not yet in the sums.
    fn running_time(&self, now: Instant) -> Duration {
        let until = self.used_until(now);
        self.running
            .map_or(Duration::ZERO, |from| until.since(from))
    }

    /// Puts the time that ran by `now` into the sums.
    fn settle(&mut self, now: Instant) {
        let ran = self.running_time(now);
        self.time += ran;
        self.time_of_quota += ran;
        if let Some(from) = self.running {
            let until = self.used_until(now);
            // It goes on where the inactivity time has not passed.
            self.running = (until == now).then_some(from.max(until));
        }
    }

    /// True where a quota is used up: no packet passes.
    pub(super) fn is_used_up(&self, now: Instant) -> bool {
        reached(self.urr.volume_quota, &self.of_quota)
            || self
                .urr
                .time_quota
                .is_some_and(|q| self.time_of_quota + self.running_time(now) >= q)
    }

    /// Packets pass. Whether a report has become due, and whether the clocks have started.
    pub(super) fn count(
        &mut self,
        now: Instant,
        direction: Direction,
        what: Forwarded,
    ) -> (bool, bool) {
        self.is_new = true;
        self.counted.add(direction, what.packets, what.bytes);
        self.of_quota.add(direction, what.packets, what.bytes);
        let mut why = 0;
        let rested = match self.running {
            None => true,
            Some(_) => self.used_until(now) < now,
        };
        if rested {
            self.settle(now);
            self.running = Some(now);
            why |= trigger::START;
        }
        // A holding time or a rest begins again with each packet: the timer finds that out when it ends.
        self.told &= !trigger::QUOTA_HOLDING;
        self.first = self.first.or(Some(now));
        self.last = Some(now);
        self.latest = Some(now);
        if reached(self.urr.volume_threshold, &self.counted) {
            why |= trigger::VOLUME_THRESHOLD;
        }
        if reached(self.urr.volume_quota, &self.of_quota) && self.told & trigger::VOLUME_QUOTA == 0
        {
            self.told |= trigger::VOLUME_QUOTA;
            why |= trigger::VOLUME_QUOTA;
        }
        (self.is_due_for(why), rested || self.watched.is_none())
    }

    /// Notes why a report is due; true where the rule must go on the list.
    fn is_due_for(&mut self, why: u32) -> bool {
        let [a, b, c] = self.urr.triggers;
        self.due |= why & u32::from_le_bytes([a, b, c, 0]);
        self.due != 0 && !std::mem::replace(&mut self.is_listed, self.due != 0)
    }

    /// The times at which a report may fall due, and why.
    fn times(&self) -> [Option<(Instant, u32)>; 5] {
        let rest = self.urr.inactivity.zip(self.latest);
        let rest = rest.map(|(rest, latest)| latest.saturating_add(rest));
        // A time of use ends while it runs, if it does at all.
        let used_at = |sum: Duration, bound: Option<Duration>| {
            let at = self.running?.saturating_add(bound?.saturating_sub(sum));
            (rest.is_none_or(|rest| at <= rest)).then_some(at)
        };
        let untold = |bit| self.told & bit == 0;
        let holding = self.urr.holding.zip(self.latest.or(Some(self.since)));
        let holding = holding.map(|(hold, latest)| latest.saturating_add(hold));
        let when = |on: bool, at: Option<Instant>, why| at.filter(|_| on).map(|at| (at, why));
        let has = |bit| self.has(bit) && self.due & bit == 0;
        [
            when(has(trigger::PERIODIC), self.period_end, trigger::PERIODIC),
            when(
                has(trigger::TIME_THRESHOLD),
                used_at(self.time, self.urr.time_threshold),
                trigger::TIME_THRESHOLD,
            ),
            when(
                has(trigger::TIME_QUOTA) && untold(trigger::TIME_QUOTA),
                used_at(self.time_of_quota, self.urr.time_quota),
                trigger::TIME_QUOTA,
            ),
            when(
                has(trigger::QUOTA_HOLDING) && untold(trigger::QUOTA_HOLDING),
                holding,
                trigger::QUOTA_HOLDING,
            ),
            when(
                has(trigger::STOP) && self.running.is_some(),
                rest,
                trigger::STOP,
            ),
        ]
    }

    /// When the rule is to be looked at next.
    pub(super) fn next_time(&self) -> Option<Instant> {
        let times = self.times().into_iter().flatten();
        times.map(|(at, _)| at).min()
    }

    /// Time passed; true where a report has become due.
    pub(super) fn on_time(&mut self, now: Instant) -> bool {
        let times = self.times().into_iter().flatten();
        let why = times
            .filter(|(at, _)| *at <= now)
            .fold(0, |why, (_, bit)| why | bit);
        if why & trigger::STOP != 0 {
            self.settle(now);
            self.running = None;
        }
        self.told |= why & (trigger::TIME_QUOTA | trigger::QUOTA_HOLDING);
        if why & trigger::PERIODIC != 0
            && let (Some(end), Some(period)) = (self.period_end, self.urr.period)
        {
            // On the grid, and in the future even where time jumped.
            let late = now.since(end).as_nanos() / period.as_nanos();
            self.period_end = Some(end.saturating_add(period * (late + 1)));
        }
        self.is_due_for(why)
    }

    /// A report of all that was counted, which begins anew (TS 29.244, 5.2.2.3).
    pub(super) fn report(&mut self, now: Instant, triggers: u32) -> Report {
        self.settle(now);
        let whole = Duration::from_secs(self.time.as_nanos() / 1_000_000_000);
        let report = Report {
            urr: self.urr.id,
            seqn: self.seqn,
            triggers,
            start: self.since,
            end: now,
            volume: self.urr.volume.then_some(self.counted),
            duration: self.urr.duration.then_some(whole),
            first: self.first,
            last: self.last,
        };
        self.is_new = true;
        self.seqn = self.seqn.wrapping_add(1);
        self.due = 0;
        self.since = now;
        self.counted = Counted::default();
        self.time = self.time.saturating_sub(whole);
        (self.first, self.last) = (None, None);
        report
    }
}
