//! Our own requests: each is repeated until it is answered, N1 times at most (TS 29.244, 6.4).

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};

use slackwater_core::{Duration, Instant};

use crate::sessions::Seid;

/// What a request was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// A heartbeat to this association.
    Heartbeat(u32),
    /// A session report.
    Report(Seid),
    /// The association of this number is to end.
    Release(u32),
}

#[derive(Debug)]
struct Pending {
    to: SocketAddr,
    about: About,
    octets: Vec<u8>,
    /// Times that it may still be sent.
    left: u32,
    /// When it is sent again, or given up.
    next: Instant,
}

/// A request that is due.
pub(super) enum Due {
    /// It is sent again.
    Again(SocketAddr, Vec<u8>),
    /// It was never answered.
    GivenUp(About),
}

/// The requests that wait for an answer.
#[derive(Debug)]
pub(super) struct Requests {
    by_seq: HashMap<u32, Pending>,
    timers: BTreeSet<(Instant, u32)>,
    next_seq: u32,
    t1: Duration,
    n1: u32,
}

impl Requests {
    /// Requests under way at most, of 1,400 octets at most: 12 MB.
    pub(super) const MOST: usize = 8_192;

    pub(super) fn new(t1: Duration, n1: u32) -> Self {
        Self {
            by_seq: HashMap::new(),
            timers: BTreeSet::new(),
            next_seq: 1,
            t1,
            n1: n1.max(1),
        }
    }

    /// True where another two may be sent: usage goes a batch at a time, and the last one must find room.
    pub(super) fn has_room(&self) -> bool {
        self.by_seq.len() + 1 < Self::MOST
    }

    /// A number for a request; `None` where too many are under way.
    pub(super) fn seq(&mut self) -> Option<u32> {
        if self.by_seq.len() >= Self::MOST {
            return None;
        }
        loop {
            let seq = self.next_seq;
            // 24 bits (TS 29.244, 7.2.2.1).
            self.next_seq = (seq + 1) & 0xff_ffff;
            if !self.by_seq.contains_key(&seq) {
                return Some(seq);
            }
        }
    }

    /// Notes a request that has just been sent.
    pub(super) fn sent(
        &mut self,
        now: Instant,
        seq: u32,
        to: SocketAddr,
        about: About,
        octets: Vec<u8>,
    ) {
        let next = now + self.t1;
        let left = self.n1 - 1;
        let pending = Pending {
            to,
            about,
            octets,
            left,
            next,
        };
        self.timers.insert((next, seq));
        self.by_seq.insert(seq, pending);
    }

    /// The request that an answer from `from` with the number `seq` belongs to.
    pub(super) fn answered(&mut self, from: IpAddr, seq: u32) -> Option<About> {
        if self.by_seq.get(&seq)?.to.ip() != from {
            return None;
        }
        let pending = self.by_seq.remove(&seq)?;
        self.timers.remove(&(pending.next, seq));
        Some(pending.about)
    }

    /// The next request that is due.
    pub(super) fn due(&mut self, now: Instant) -> Option<Due> {
        let (at, seq) = *self.timers.first()?;
        if at > now {
            return None;
        }
        self.timers.pop_first();
        let pending = self.by_seq.get_mut(&seq)?;
        if pending.left == 0 {
            let pending = self.by_seq.remove(&seq)?;
            return Some(Due::GivenUp(pending.about));
        }
        pending.left -= 1;
        pending.next = now + self.t1;
        self.timers.insert((pending.next, seq));
        Some(Due::Again(pending.to, pending.octets.clone()))
    }

    /// Forgets the requests that `which` names.
    pub(super) fn forget(&mut self, which: impl Fn(About) -> bool) {
        let timers = &mut self.timers;
        self.by_seq.retain(|seq, pending| {
            let goes = which(pending.about);
            if goes {
                timers.remove(&(pending.next, *seq));
            }
            !goes
        });
    }

    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }
}
