//! A bottleneck link: a queue in front of a service that follows a trace or a rate series.

mod rate;
mod trace;

use std::sync::Arc;

use slackwater_core::record::{DropReason, LinkSample};
use slackwater_core::{Bytes, Duration, Instant, Packet, Rate};
use slackwater_queue::{Queue, Sink};

use rate::RateServer;
use trace::TraceServer;

/// How a link serves its queue.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// Mahimahi's semantics: at each listed millisecond 1,504 bytes may leave, a packet taking its IP length and 4 bytes
    /// (the TUN header); a packet's remainder is carried over to the next opportunity; the list repeats.
    Trace {
        /// Non-decreasing milliseconds, several equal ones for several opportunities. Not empty.
        opportunities: Arc<[u64]>,
        /// Length of one repetition in milliseconds: at least the last opportunity and positive.
        period: u64,
    },
    /// A rate that holds until the next step.
    Rate {
        /// Start of each step (strictly increasing, the first at zero) and its rate. Not empty.
        steps: Arc<[(Instant, Rate)]>,
        /// The series repeats from here; `None` lets the last rate hold.
        period: Option<Duration>,
    },
}

impl Service {
    /// A constant rate.
    pub fn constant(rate: Rate) -> Self {
        Self::Rate {
            steps: Arc::from([(Instant::ZERO, rate)]),
            period: None,
        }
    }
}

/// A link with its queue.
pub struct LinkConfig {
    /// How it serves.
    pub service: Service,
    /// What waits in front of it.
    pub queue: Box<dyn Queue<Packet> + Send>,
}

/// What a queue dropped or marked during one call.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    pub(crate) dropped: Vec<(Packet, DropReason)>,
    pub(crate) marked: Vec<Packet>,
}

impl Sink<Packet> for Outcomes {
    fn dropped(&mut self, _now: Instant, packet: &Packet, reason: DropReason) {
        self.dropped.push((*packet, reason));
    }
    fn marked(&mut self, _now: Instant, packet: &Packet) {
        self.marked.push(*packet);
    }
}

#[derive(Debug)]
enum Server {
    Trace(TraceServer),
    Rate(RateServer),
}

/// What a link could carry, apart from what it does carry: whoever holds one reads it at times of their own, in order.
#[derive(Clone, Debug)]
pub(crate) enum Meter {
    Trace(trace::Cursor),
    Rate(rate::Meter),
}

impl Meter {
    /// Bytes that the link could have carried by `t`.
    pub(crate) fn upto(&mut self, t: Instant) -> Bytes {
        match self {
            Self::Trace(cursor) => {
                cursor.skip_until(t);
                cursor.capacity()
            }
            Self::Rate(meter) => meter.capacity(t),
        }
    }
}

/// A link at work.
pub(crate) struct Link {
    queue: Box<dyn Queue<Packet> + Send>,
    server: Server,
    carried: Bytes,
}

impl Link {
    pub(crate) fn new(config: LinkConfig) -> Self {
        let tells = config.queue.wants_capacity();
        let server = match config.service {
            Service::Trace {
                opportunities,
                period,
            } => Server::Trace(TraceServer::new(opportunities, period, tells)),
            Service::Rate { steps, period } => Server::Rate(RateServer::new(steps, period, tells)),
        };
        Self {
            queue: config.queue,
            server,
            carried: Bytes::ZERO,
        }
    }

    pub(crate) fn arrive(&mut self, now: Instant, packet: Packet, outcomes: &mut Outcomes) {
        match &mut self.server {
            Server::Trace(s) => {
                if s.in_transit.is_none() && self.queue.backlog().packets == 0 {
                    s.skip_until(now, self.queue.as_mut());
                }
                self.queue.enqueue(now, packet, outcomes);
            }
            Server::Rate(s) => {
                self.queue.enqueue(now, packet, outcomes);
                s.start(now, self.queue.as_mut(), outcomes);
            }
        }
    }

    /// Serves everything due at `now`; packets that have left go to `out` with their queue delay.
    pub(crate) fn on_timer(
        &mut self,
        now: Instant,
        out: &mut Vec<(Packet, Duration)>,
        outcomes: &mut Outcomes,
    ) {
        let first = out.len();
        let overhead = match &mut self.server {
            Server::Trace(s) => {
                s.serve(now, self.queue.as_mut(), out, outcomes);
                trace::OVERHEAD
            }
            Server::Rate(s) => {
                s.serve(now, self.queue.as_mut(), out, outcomes);
                0
            }
        };
        for (p, _) in &out[first..] {
            self.carried += Bytes(u64::from(p.len) + overhead);
        }
    }

    pub(crate) fn next_timer(&self) -> Option<Instant> {
        match &self.server {
            Server::Trace(s) => {
                (s.in_transit.is_some() || self.queue.backlog().packets > 0).then(|| s.next())
            }
            Server::Rate(s) => s.finish(),
        }
    }

    pub(crate) fn sample(&mut self, now: Instant) -> LinkSample {
        let backlog = self.queue.backlog();
        let mut sample = LinkSample::default();
        sample.backlog = backlog.bytes;
        sample.packets = backlog.packets;
        sample.hol = self.hol(now);
        sample.carried = self.carried;
        sample.capacity = match &mut self.server {
            Server::Trace(s) => {
                if s.in_transit.is_none() && backlog.packets == 0 {
                    s.skip_until(now, self.queue.as_mut());
                }
                s.capacity()
            }
            Server::Rate(s) => s.meter.capacity(now),
        };
        sample
    }

    /// Age of the oldest packet that waits; zero where none does.
    pub(crate) fn hol(&self, now: Instant) -> Duration {
        let since = self.queue.head_since();
        since.map_or(Duration::ZERO, |t| now.since(t))
    }

    /// Bytes that have left.
    pub(crate) const fn carried(&self) -> Bytes {
        self.carried
    }

    /// Follows what the link could carry, from its present position on.
    pub(crate) fn meter(&self) -> Meter {
        match &self.server {
            Server::Trace(s) => Meter::Trace(s.cursor.clone()),
            Server::Rate(s) => Meter::Rate(s.meter.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
