//! A bottleneck that is not the radio: bytes take longer than the radio's queue explains, and fewer arrive than it offers.

use slackwater_core::{Duration, Instant};

/// A wait beyond the radio's queue above this ...
const WAIT: Duration = Duration::from_millis(8);
/// ... for so many least loops, while less than this part of the forecast is served, shows a bottleneck elsewhere.
const ROUNDS: f64 = 1.5;
const SERVED: f64 = 0.9;
/// Time between two drains of its queue.
const CYCLE: Duration = Duration::from_secs(2);
/// A drain: this part of the rate for so many loops.
const DRAIN: f64 = 0.75;
const DRAIN_ROUNDS: f64 = 2.5;
/// A probe for more, for one loop.
const PROBE: f64 = 1.25;

/// What is held.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// The rate that was served at best, bytes/s.
    rate: f64,
    /// When the present cycle began: with a drain, then a probe.
    begun: Instant,
    /// How long the drain and the probe take.
    drain: Duration,
    probe: Duration,
    /// The shortest loop since the drain began, less the radio's queue.
    least: Duration,
    /// The present cycle's verdict on the loop is there.
    judged: bool,
}

/// Whether the bottleneck is elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Elsewhere {
    /// Since when it seems so.
    since: Option<Instant>,
    held: Option<Held>,
}

impl Elsewhere {
    /// `wait` is what a loop took beyond the least one and the radio's queue. Returns a least loop that replaces the known
    /// one: the path is longer.
    pub(super) fn look(
        &mut self,
        now: Instant,
        wait: Duration,
        round: Duration,
        base: Duration,
        served: f64,
        forecast: f64,
    ) -> Option<Duration> {
        let Some(held) = &mut self.held else {
            if wait <= WAIT || served >= SERVED * forecast {
                self.since = None;
                return None;
            }
            let since = *self.since.get_or_insert(now);
            if now.since(since) >= base.mul_f64(ROUNDS) {
                self.held = Some(Held::new(now, served, round));
            }
            return None;
        };
        if served >= SERVED * forecast {
            *self = Self::default();
            return None;
        }
        held.rate = held.rate.max(served);
        held.least = held.least.min(base + wait);
        let passed = now.since(held.begun);
        if passed >= held.drain && !held.judged {
            held.judged = true;
            // The queue of a bottleneck that was drained is empty.
            if held.least > base + WAIT {
                let least = held.least;
                *self = Self::default();
                return Some(least);
            }
        }
        if passed >= CYCLE {
            *held = Held::new(now, served.max(held.rate * 0.9), round);
        }
        None
    }

    /// The bottleneck is elsewhere.
    pub(super) const fn is_met(&self) -> bool {
        self.held.is_some()
    }

    /// The rate to send at then, bytes/s.
    pub(super) fn rate(&self, now: Instant) -> Option<f64> {
        let held = self.held?;
        let passed = now.since(held.begun);
        Some(match () {
            () if passed < held.drain => held.rate * DRAIN,
            () if passed < held.drain + held.probe => held.rate * PROBE,
            () => held.rate,
        })
    }
}

impl Held {
    fn new(now: Instant, rate: f64, round: Duration) -> Self {
        Self {
            rate,
            begun: now,
            drain: round.mul_f64(DRAIN_ROUNDS),
            probe: round,
            least: Duration::MAX,
            judged: false,
        }
    }
}
