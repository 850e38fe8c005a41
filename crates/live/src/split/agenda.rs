//! Which connections are to be looked at, and when: a server has thousands, and a report is of one.

use std::collections::BTreeSet;

use slackwater_core::Instant;

use super::connection::Connection;

/// Connections by the time at which they are to be looked at.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// Those that had a report since the last look.
    due: Vec<u64>,
    /// By time: a connection may stand here earlier than it must, never later.
    later: BTreeSet<(Instant, u64)>,
}

impl Agenda {
    /// The connection `cookie` had a report, the first since the last look.
    pub(super) fn add_due(&mut self, cookie: u64) {
        self.due.push(cookie);
    }

    /// Connections that are to be looked at by `now`: those with a report since the last call, then those that were planned. Some may
    /// be over, and some may be there twice.
    pub(super) fn take(&mut self, now: Instant) -> Vec<u64> {
        while let Some(next) = self.later.first().filter(|(at, _)| *at <= now).copied() {
            self.later.remove(&next);
            self.due.push(next.1);
        }
        core::mem::take(&mut self.due)
    }

    /// Takes the memory of [`Agenda::take`] back.
    pub(super) fn reuse(&mut self, mut taken: Vec<u64>) {
        if self.due.is_empty() {
            taken.clear();
            self.due = taken;
        }
    }

    /// Plans the next look at `connection`, where it must be earlier than it is planned.
    pub(super) fn plan(&mut self, cookie: u64, connection: &mut Connection) {
        let Some(at) = connection.next_timer() else {
            return;
        };
        if connection.planned.is_some_and(|planned| planned <= at) {
            return;
        }
        self.forget(cookie, connection);
        self.later.insert((at, cookie));
        connection.planned = Some(at);
    }

    /// The connection is over.
    pub(super) fn forget(&mut self, cookie: u64, connection: &mut Connection) {
        if let Some(planned) = connection.planned.take() {
            self.later.remove(&(planned, cookie));
        }
    }

    /// Looks that are planned.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.later.len()
    }

    /// When the next look is planned.
    pub(super) fn next(&self) -> Option<Instant> {
        self.later.first().map(|(at, _)| *at)
    }
}
