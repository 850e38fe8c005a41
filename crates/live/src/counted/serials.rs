//! Which reports of a socket count: newer ones, and no more than are read in a second.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Which signed reports have passed, by the `K` that they are of.
#[derive(Debug)]
pub(crate) struct Serials<K> {
    /// The newest serial number of all that the key has signed.
    newest: u64,
    /// The same by connection: reports of one do not make those of another old.
    by_connection: BTreeMap<K, u64>,
}

impl<K> Default for Serials<K> {
    fn default() -> Self {
        Self {
            newest: 0,
            by_connection: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Copy> Serials<K> {
    /// A connection begins: what was signed before is none of it.
    pub(crate) fn open(&mut self, connection: K) {
        self.by_connection.insert(connection, self.newest);
    }

    /// It is over.
    pub(crate) fn close(&mut self, connection: K) {
        self.by_connection.remove(&connection);
    }

    /// True for a report that is newer than the last one, and for one without a number.
    pub(crate) fn pass(&mut self, connection: K, serial: Option<u64>) -> bool {
        let Some(serial) = serial else {
            return true;
        };
        // Of a connection that nobody opened, what was signed before its first report is old as well.
        let newest = self.newest;
        let last = self.by_connection.entry(connection).or_insert(newest);
        let newer = serial > *last;
        *last = serial.max(*last);
        self.newest = self.newest.max(serial);
        newer
    }
}

/// The reports of a second.
#[derive(Debug)]
pub(crate) struct Budget {
    since: Instant,
    used: u32,
}

impl Budget {
    /// An agent sends a report with each packet of a client: enough for 1 Gbit/s, acknowledged every second packet.
    pub(crate) const MOST: u32 = 50_000;
    /// Of one connection, where it has thousands beside it: a report each ms, five times as many as a base station sends.
    const EACH: u32 = 1_000;

    /// None yet.
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            since: now,
            used: 0,
        }
    }

    /// One more at `now`; false where it is one too many.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        self.take_of(now, 1)
    }

    /// As [`Budget::take`], where reports of so many `connections` come to one socket.
    pub(crate) fn take_of(&mut self, now: Instant, connections: usize) -> bool {
        if now.duration_since(self.since) >= Duration::from_secs(1) {
            *self = Self::new(now);
        }
        self.used = self.used.saturating_add(1);
        let each = u32::try_from(connections).unwrap_or(u32::MAX);
        self.used <= Self::MOST.max(each.saturating_mul(Self::EACH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_connections_have_more_reports_and_a_flood_has_an_end() {
        let now = Instant::now();
        for (connections, most) in [(1, 50_000), (50, 50_000), (200, 200_000)] {
            let mut budget = Budget::new(now);
            let taken = (0..300_000).filter(|_| budget.take_of(now, connections));
            assert_eq!(taken.count(), most);
            assert!(budget.take_of(now + Duration::from_secs(1), connections));
        }
    }

    #[test]
    fn a_signed_report_passes_once() {
        let mut serials = Serials::default();
        let [one, two] = [1, 2];
        serials.open(one);
        serials.open(two);
        assert!(serials.pass(one, Some(10)) && serials.pass(one, Some(12)));
        // Doubled, overtaken, and of another connection, which has its own order.
        assert!(!serials.pass(one, Some(12)) && !serials.pass(one, Some(11)));
        assert!(serials.pass(two, Some(11)));
        // A connection at the same address and port does not hear the last one's again.
        serials.close(one);
        serials.open(one);
        assert!(!serials.pass(one, Some(10)) && !serials.pass(one, Some(12)));
        assert!(serials.pass(one, Some(13)));
        // A connection that was not opened begins with what is newer than all before.
        let three = 3;
        assert!(!serials.pass(three, Some(12)) && serials.pass(three, Some(14)));
        // Without a key there are none.
        assert!(serials.pass(one, None));
    }
}
