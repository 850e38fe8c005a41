//! A transmitter whose rate follows a step series.

use std::sync::Arc;

use slackwater_core::{Bytes, Duration, Instant, Packet, Rate};
use slackwater_queue::Queue;

use super::Outcomes;

/// Nanoseconds per second times bits per byte: amounts are kept in bit-nanoseconds per second, without rounding.
const BYTE: u128 = 8_000_000_000;

#[derive(Debug)]
pub(super) struct RateServer {
    in_service: Option<(Packet, Duration, Instant)>,
    pub(super) meter: Meter,
    /// The queue wants to know the capacity.
    tells: bool,
}

/// Follows a series for the integral of its rate.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    series: Series,
    at: Cursor,
    /// Up to where, and the amount until then.
    metered: (Instant, u128),
}

#[derive(Clone, Debug)]
struct Series {
    steps: Arc<[(Instant, Rate)]>,
    period: Option<Duration>,
}

/// A position in a series: the step and the start of the current repetition.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    base: Duration,
    step: usize,
}

impl Series {
    fn rate(&self, c: Cursor) -> Rate {
        self.steps[c.step].1
    }

    /// When the step at `c` ends.
    fn end(&self, c: Cursor) -> Instant {
        match (self.steps.get(c.step + 1), self.period) {
            (Some(next), _) => next.0 + c.base,
            (None, Some(period)) => Instant::ZERO + c.base + period,
            (None, None) => Instant::MAX,
        }
    }

    fn next(&self, c: Cursor) -> Cursor {
        if c.step + 1 < self.steps.len() {
            Cursor {
                step: c.step + 1,
                ..c
            }
        } else {
            Cursor {
                base: c.base + self.period.unwrap_or_default(),
                step: 0,
            }
        }
    }

    /// When `amount` that starts at `t` is through; `Instant::MAX` where the series ends at rate zero, or never moves.
    fn finish(&self, mut t: Instant, mut c: Cursor, mut amount: u128) -> Instant {
        let mut idle = 0;
        loop {
            while self.end(c) <= t {
                c = self.next(c);
            }
            let rate = u128::from(self.rate(c).as_bps());
            let end = self.end(c);
            if rate > 0 {
                idle = 0;
                let need = amount.div_ceil(rate);
                if need <= u128::from(end.since(t).as_nanos()) {
                    return t + Duration::from_nanos(need as u64);
                }
                amount -= rate * u128::from(end.since(t).as_nanos());
            } else {
                idle += 1;
            }
            if end == Instant::MAX || idle > self.steps.len() {
                return Instant::MAX;
            }
            t = end;
        }
    }
}

impl RateServer {
    pub(super) fn new(
        steps: Arc<[(Instant, Rate)]>,
        period: Option<Duration>,
        tells: bool,
    ) -> Self {
        assert!(
            steps.first().is_some_and(|s| s.0 == Instant::ZERO),
            "a rate series starts at time zero"
        );
        let meter = Meter {
            series: Series { steps, period },
            at: Cursor::default(),
            metered: (Instant::ZERO, 0),
        };
        Self {
            in_service: None,
            meter,
            tells,
        }
    }

    /// Begins to send the head of the queue where nothing is being sent.
    pub(super) fn start(
        &mut self,
        now: Instant,
        queue: &mut (dyn Queue<Packet> + Send),
        outcomes: &mut Outcomes,
    ) {
        if self.in_service.is_some() {
            return;
        }
        if self.tells {
            queue.on_capacity(now, self.meter.capacity(now));
        }
        if let Some((packet, since)) = queue.dequeue(now, outcomes) {
            self.meter.follow(now);
            let amount = u128::from(packet.len) * BYTE;
            let finish = self.meter.series.finish(now, self.meter.at, amount);
            self.in_service = Some((packet, now.since(since), finish));
        }
    }

    pub(super) fn serve(
        &mut self,
        now: Instant,
        queue: &mut (dyn Queue<Packet> + Send),
        out: &mut Vec<(Packet, Duration)>,
        outcomes: &mut Outcomes,
    ) {
        while let Some((packet, sojourn, finish)) = self.in_service {
            if finish > now {
                break;
            }
            out.push((packet, sojourn));
            self.in_service = None;
            self.start(finish, queue, outcomes);
        }
    }

    pub(super) fn finish(&self) -> Option<Instant> {
        self.in_service.map(|s| s.2).filter(|&t| t != Instant::MAX)
    }
}

impl Meter {
    fn follow(&mut self, now: Instant) {
        while self.metered.0 < now {
            let end = self.series.end(self.at);
            let until = end.min(now);
            let rate = u128::from(self.series.rate(self.at).as_bps());
            self.metered.1 += rate * u128::from(until.since(self.metered.0).as_nanos());
            self.metered.0 = until;
            if end == until {
                self.at = self.series.next(self.at);
            }
        }
    }

    /// Bytes that the series gives up to `now`, which does not go back.
    pub(super) fn capacity(&mut self, now: Instant) -> Bytes {
        self.follow(now);
        Bytes((self.metered.1 / BYTE) as u64)
    }
}
