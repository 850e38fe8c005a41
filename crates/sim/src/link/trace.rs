//! Delivery opportunities of a Mahimahi trace (`link_queue` of mahimahi as described by its authors, ATC 2015, 4.2).

use std::sync::Arc;

use slackwater_core::{Bytes, Duration, Instant, Packet};
use slackwater_queue::Queue;

use super::Outcomes;

/// Bytes of one opportunity: an MTU of 1,500 and the TUN header.
const OPPORTUNITY: u64 = 1_504;
/// What a packet takes beyond its IP length.
pub(super) const OVERHEAD: u64 = 4;

/// A position in a trace.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    opportunities: Arc<[u64]>,
    period: u64,
    /// Start of the current repetition in ms.
    base: u64,
    /// Next opportunity within the repetition.
    index: usize,
    /// Opportunities used or passed so far.
    passed: u64,
}

impl Cursor {
    #[inline]
    fn next(&self) -> Instant {
        Instant::from_millis(self.base + self.opportunities[self.index])
    }

    #[inline]
    fn advance(&mut self) {
        self.passed += 1;
        self.index += 1;
        if self.index == self.opportunities.len() {
            self.index = 0;
            self.base += self.period;
        }
    }

    /// Passes the opportunities up to and including `now`.
    pub(super) fn skip_until(&mut self, now: Instant) {
        while self.next() <= now {
            self.advance();
        }
    }

    /// Bytes of the opportunities passed.
    pub(super) fn capacity(&self) -> Bytes {
        Bytes(self.passed * OPPORTUNITY)
    }
}

#[derive(Debug)]
pub(super) struct TraceServer {
    pub(super) cursor: Cursor,
    /// A packet that needs more bytes: what is missing, and its queue delay.
    pub(super) in_transit: Option<(Packet, Duration, u64)>,
    /// The queue wants to know of each opportunity.
    tells: bool,
}

impl TraceServer {
    pub(super) fn new(opportunities: Arc<[u64]>, period: u64, tells: bool) -> Self {
        assert!(
            !opportunities.is_empty() && period > 0,
            "a trace has opportunities and a period"
        );
        Self {
            cursor: Cursor {
                opportunities,
                period,
                base: 0,
                index: 0,
                passed: 0,
            },
            in_transit: None,
            tells,
        }
    }

    #[inline]
    pub(super) fn next(&self) -> Instant {
        self.cursor.next()
    }

    /// Passes the opportunity of `at`, the next one.
    #[inline]
    fn advance(&mut self, at: Instant, queue: &mut (dyn Queue<Packet> + Send)) {
        self.cursor.advance();
        if self.tells {
            queue.on_capacity(at, self.capacity());
        }
    }

    /// Passes the opportunities that an empty queue left unused, up to and including `now`.
    pub(super) fn skip_until(&mut self, now: Instant, queue: &mut (dyn Queue<Packet> + Send)) {
        while self.next() <= now {
            self.advance(self.next(), queue);
        }
    }

    pub(super) fn capacity(&self) -> Bytes {
        self.cursor.capacity()
    }

    pub(super) fn serve(
        &mut self,
        now: Instant,
        queue: &mut (dyn Queue<Packet> + Send),
        out: &mut Vec<(Packet, Duration)>,
        outcomes: &mut Outcomes,
    ) {
        while self.next() <= now {
            let at = self.next();
            self.advance(at, queue);
            let mut budget = OPPORTUNITY;
            while budget > 0 {
                let (packet, sojourn, need) = match self.in_transit.take() {
                    Some(t) => t,
                    None => match queue.dequeue(at, outcomes) {
                        Some((p, since)) => (p, at.since(since), u64::from(p.len) + OVERHEAD),
                        None => break,
                    },
                };
                if need > budget {
                    self.in_transit = Some((packet, sojourn, need - budget));
                    break;
                }
                budget -= need;
                out.push((packet, sojourn));
            }
            if self.in_transit.is_none() && queue.backlog().packets == 0 {
                break;
            }
        }
    }
}
