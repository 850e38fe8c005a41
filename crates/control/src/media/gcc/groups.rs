//! Packets that left together, and the delay variation from one such group to the next (draft-ietf-rmcat-gcc-02, 5.1
//! and 5.2).

use slackwater_core::{Duration, Instant};

use crate::media::al4s::pdv::span;

/// A group's packets left within this time; a burst's arrived within it.
const BURST: Duration = Duration::from_millis(5);
/// A burst of arrivals joins a group for no longer.
const BURST_MOST: Duration = Duration::from_millis(100);
/// Groups in a row that arrived before the ones before them: the clock was set.
const REORDERED: u32 = 3;
/// Arrivals that jump so far, by the sender's clock, start anew.
const JUMP: f64 = 3.0;

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Instant,
    last_sent: Instant,
    first_arrival: Instant,
    last_arrival: Instant,
    heard: Instant,
}

/// From one group to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Delta {
    /// Seconds between the groups' last packets as they left.
    pub(crate) sent: f64,
    /// Seconds as they arrived.
    pub(crate) arrived: f64,
    /// When the later group arrived.
    pub(crate) at: Instant,
}

/// The present group and the one before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    now: Option<Group>,
    before: Option<Group>,
    reordered: u32,
}

impl Groups {
    /// A packet that left at `sent` and came at `arrived`. Gives the variation between two groups that are complete.
    pub(crate) fn add(&mut self, heard: Instant, sent: Instant, arrived: Instant) -> Option<Delta> {
        let fresh = Group {
            first_sent: sent,
            last_sent: sent,
            first_arrival: arrived,
            last_arrival: arrived,
            heard,
        };
        let Some(group) = &mut self.now else {
            self.now = Some(fresh);
            return None;
        };
        if sent < group.first_sent {
            return None;
        }
        let gap = span(group.last_arrival, arrived);
        let sooner = gap - span(group.last_sent, sent) < 0.0;
        let burst =
            sooner && gap <= BURST.as_secs_f64() && arrived.since(group.first_arrival) < BURST_MOST;
        if sent.since(group.first_sent) <= BURST || burst {
            group.last_sent = group.last_sent.max(sent);
            group.last_arrival = group.last_arrival.max(arrived);
            group.heard = heard;
            return None;
        }
        let delta = self.delta();
        self.before = self.now;
        self.now = Some(fresh);
        delta
    }

    fn delta(&mut self) -> Option<Delta> {
        let (now, before) = (self.now?, self.before?);
        let delta = Delta {
            sent: span(before.last_sent, now.last_sent),
            arrived: span(before.last_arrival, now.last_arrival),
            at: now.last_arrival,
        };
        let heard = span(before.heard, now.heard);
        if delta.arrived - heard >= JUMP {
            *self = Self::default();
            return None;
        }
        if delta.arrived < 0.0 {
            self.reordered += 1;
            if self.reordered >= REORDERED {
                *self = Self::default();
            }
            return None;
        }
        self.reordered = 0;
        Some(delta)
    }
}
