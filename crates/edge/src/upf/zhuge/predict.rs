//! How long a packet that comes now will wait in the cell's queue (the paper's "Fortune Teller").

use std::collections::VecDeque;

use slackwater_core::{Duration, FlowId, Instant};

use super::ZhugeConfig;

/// Bytes sent within this time become one entry.
const GRAIN: Duration = Duration::from_micros(100);
/// Bytes that no report told of for so long are forgotten.
const FORGET: Duration = Duration::from_secs(10);

/// What a report of the queue showed.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// When the cell read it.
    at: Instant,
    /// Bytes that had left the queue by then.
    left: u64,
    /// Time by then in which the queue was not empty.
    busy: Duration,
}

/// The queue of one UE.
#[derive(Clone, Debug, Default)]
pub(super) struct Teller {
    /// Bytes that passed on their way to the cell.
    sent: u64,
    /// When, and what `sent` was then: those that may still wait.
    log: VecDeque<(Instant, u64)>,
    /// What each bearer holds, by its flow, and of when that is.
    bearers: Vec<(FlowId, u64, Instant)>,
    /// What reports showed, over the window and one before it.
    seen: VecDeque<Seen>,
    /// Bytes that wait by the last report.
    waiting: u64,
    /// When the queue last gave something, or was empty.
    moved: Instant,
    /// The last report's arrival.
    heard: Option<Instant>,
    /// The least time that a report took: the way to the cell, and taken for the way from here to it as well.
    way: Option<Duration>,
    /// Bytes a second while the queue is not empty.
    rate: f64,
    /// The delay that was foretold last, and what it exceeded the present one by.
    told: (Duration, Duration),
}

impl Teller {
    /// `len` bytes pass on their way to the cell.
    pub(super) fn on_sent(&mut self, now: Instant, len: u64) {
        self.sent += len;
        match self.log.back_mut() {
            Some(last) if now.since(last.0) < GRAIN => last.1 = self.sent,
            _ => self.log.push_back((now, self.sent)),
        }
        while self.log.front().is_some_and(|e| now.since(e.0) > FORGET) {
            self.log.pop_front();
        }
    }

    /// Bytes that had passed by `at`.
    fn sent_by(&self, at: Instant) -> u64 {
        let after = self.log.partition_point(|e| e.0 <= at);
        match after.checked_sub(1) {
            Some(k) => self.log[k].1,
            // All entries are younger: what passed before them is gone from the log, and has left.
            None => self.seen.back().map_or(0, |s| s.left),
        }
    }

    /// The cell says what a bearer held at `at`.
    pub(super) fn on_backlog(
        &mut self,
        now: Instant,
        at: Instant,
        flow: FlowId,
        bytes: u64,
        window: Duration,
    ) {
        let took = now.since(at);
        let way = self.way.map_or(took, |way| way.min(took));
        self.way = Some(way);
        match self.bearers.iter_mut().find(|b| b.0 == flow) {
            // Overtaken.
            Some(b) if at < b.2 => return,
            Some(b) => (b.1, b.2) = (bytes, at),
            None => self.bearers.push((flow, bytes, at)),
        }
        // The bearers of one reading belong together.
        if self.bearers.iter().any(|b| b.2 != at) {
            return;
        }
        self.heard = Some(now);
        let waiting: u64 = self.bearers.iter().map(|b| b.1).sum();
        let before = self.seen.back().copied();
        let left = self
            .sent_by(at - way.min(at.since(Instant::ZERO)))
            .saturating_sub(waiting);
        let left = before.map_or(left, |b| b.left.max(left));
        let passed = before.map_or(Duration::ZERO, |b| at.since(b.at));
        let was_busy = self.waiting > 0;
        let busy = before.map_or(Duration::ZERO, |b| b.busy)
            + if was_busy { passed } else { Duration::ZERO };
        if waiting == 0 || before.is_none_or(|b| left > b.left) {
            self.moved = at;
        }
        self.waiting = waiting;
        self.seen.push_back(Seen { at, left, busy });
        while self.seen.len() > 2 && at.since(self.seen[1].at) >= window {
            self.seen.pop_front();
        }
        while self.log.len() > 1 && self.log[1].1 <= left {
            self.log.pop_front();
        }
        let first = self.seen[0];
        let worked = busy.saturating_sub(first.busy);
        let gave = left - first.left;
        // A queue that gives nothing in the whole window has no rate; what it gave before stands, and the time since then
        // counts by itself.
        if !worked.is_zero() && gave > 0 {
            self.rate = gave as f64 / worked.as_secs_f64();
        }
    }

    /// By how much the delay of a packet that comes now exceeds that of the packet that leaves now; zero while nothing
    /// fresh is known.
    pub(super) fn surplus(&mut self, now: Instant, config: &ZhugeConfig) -> Duration {
        let fresh = self.heard.is_some_and(|at| now.since(at) <= config.stale);
        let Some(last) = self.seen.back().filter(|_| fresh && self.rate > 0.0) else {
            self.told = (Duration::ZERO, Duration::ZERO);
            return Duration::ZERO;
        };
        let waiting = self.sent.saturating_sub(last.left);
        if waiting == 0 || self.waiting == 0 {
            self.told = (Duration::ZERO, Duration::ZERO);
            return Duration::ZERO;
        }
        // qLong: what waits, at the rate of the window. qShort: how long the first of it has been the first, which grows at
        // once where the link stops.
        let long = Duration::from_secs_f64((waiting as f64 / self.rate).min(3600.0));
        let short = last.at.since(self.moved);
        let delay = long + short;
        let head = self.log.iter().find(|e| e.1 > last.left);
        let waited = head.map_or(Duration::ZERO, |e| now.since(e.0));
        let surplus = delay.saturating_sub(waited);
        self.told = (delay, surplus);
        surplus
    }

    /// The delay foretold last, and the surplus.
    pub(super) const fn told(&self) -> (Duration, Duration) {
        self.told
    }
}
