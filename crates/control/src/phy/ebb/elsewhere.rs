//! A bottleneck that is not the radio: bytes take longer than the radio's queue explains, and fewer arrive than it offers.

use slackwater_core::{Duration, Instant};

/// A wait beyond the radio's queue above this ...
const WAIT: Duration = Duration::from_millis(8);
/// ... for so many least loops, while less than this part of the forecast is served, shows a bottleneck elsewhere.
const ROUNDS: f64 = 1.5;
const SERVED: f64 = 0.9;
/// Little of that: loops of an empty radio that are all longer than the least one by this ...
const LONGER: Duration = Duration::from_millis(4);
/// ... for so many least loops, while less than this part of the forecast is served.
const LONGER_ROUNDS: u64 = 4;
const NEARLY: f64 = 0.97;
/// Time until the next such look after one that found nothing: it costs a drain.
const REST: Duration = Duration::from_secs(10);
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
    /// The shortest one of those that found the radio empty: what waits there is known too roughly to be taken off.
    empty: Duration,
    /// Loops of an empty radio alone count, and more than [`SERVED`] is served.
    slight: bool,
    /// The present cycle's verdict on the loop is there.
    judged: bool,
}

/// Whether the bottleneck is elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Elsewhere {
    /// Since when it seems so.
    since: Option<Instant>,
    /// The loops of an empty radio.
    empty: Option<Empty>,
    /// Loops of an empty radio say nothing until then.
    rests: Option<Instant>,
    held: Option<Held>,
}

/// Loops while the radio was empty, over a while.
#[derive(Clone, Copy, Debug)]
struct Empty {
    begun: Instant,
    least: Duration,
    /// Sums of what was served and of what was forecast, bytes/s times reports.
    served: f64,
    forecast: f64,
}

/// What a report says of the way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// The last loop.
    pub round: Duration,
    /// What it took beyond the least one and the radio's queue.
    pub wait: Duration,
    /// The radio was empty: nothing waited there for long.
    pub empty: bool,
    /// The least loop.
    pub base: Duration,
    /// Rates, bytes/s: what is served, and what the radio would serve.
    pub served: f64,
    pub forecast: f64,
}

impl Elsewhere {
    /// Returns a least loop that replaces the known one: the path is longer.
    pub(super) fn look(&mut self, now: Instant, way: Way) -> Option<Duration> {
        let Way { base, served, .. } = way;
        let Some(held) = &mut self.held else {
            self.suspect(now, &way);
            return None;
        };
        let enough = if held.slight { NEARLY } else { SERVED };
        if served >= enough * way.forecast {
            *self = Self::default();
            return None;
        }
        held.rate = held.rate.max(served);
        let beyond = if held.slight { LONGER } else { WAIT };
        if way.empty {
            held.empty = held.empty.min(way.round);
        }
        if !held.slight {
            held.least = held.least.min(base + way.wait);
        }
        let passed = now.since(held.begun);
        if passed >= held.drain && !held.judged {
            held.judged = true;
            let least = if held.empty < Duration::MAX {
                held.empty
            } else {
                held.least
            };
            // The queue of a bottleneck that was drained is empty.
            if least > base + beyond && least < Duration::MAX {
                *self = Self::default();
                return Some(least);
            }
            if held.slight {
                // The path is as long as before, and nearly all is served: nothing is to be held.
                *self = Self {
                    rests: Some(now + REST),
                    ..Self::default()
                };
                return None;
            }
        }
        if passed >= CYCLE {
            *held = Held {
                slight: held.slight,
                ..Held::new(now, served.max(held.rate * 0.9), way.round)
            };
        }
        None
    }

    /// Whether something else than the radio is to be looked at.
    fn suspect(&mut self, now: Instant, way: &Way) {
        if way.wait <= WAIT || way.served >= SERVED * way.forecast {
            self.since = None;
        } else {
            let since = *self.since.get_or_insert(now);
            if now.since(since) >= way.base.mul_f64(ROUNDS) {
                self.held = Some(Held::new(now, way.served, way.round));
                return;
            }
        }
        if !way.empty || self.rests.is_some_and(|until| now < until) {
            return;
        }
        let empty = self.empty.get_or_insert(Empty {
            begun: now,
            least: Duration::MAX,
            served: 0.0,
            forecast: 0.0,
        });
        empty.least = empty.least.min(way.round);
        empty.served += way.served;
        empty.forecast += way.forecast;
        if now.since(empty.begun) < way.base * LONGER_ROUNDS {
            return;
        }
        if empty.least > way.base + LONGER && empty.served < NEARLY * empty.forecast {
            self.held = Some(Held {
                slight: true,
                ..Held::new(now, way.served, way.round)
            });
        }
        self.empty = None;
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
            empty: Duration::MAX,
            slight: false,
            judged: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_of_an_empty_radio_show_a_longer_path_though_its_queue_seems_to_explain_one() {
        let ms = |ms: u64| Duration::from_millis(ms);
        let mut elsewhere = Elsewhere::default();
        // A loop of 64 ms where 48 were known. Every tenth report overestimates what waits by blocks that are repeated.
        let found = (0..200u64).find_map(|n| {
            let round = ms(64);
            let queue = if n % 10 == 0 { ms(13) } else { ms(4) };
            let way = Way {
                round,
                wait: round - ms(48) - queue,
                empty: n % 3 == 0,
                base: ms(48),
                served: 0.8 * 3e6,
                forecast: 3e6,
            };
            elsewhere.look(Instant::from_millis(5 * n), way)
        });
        assert_eq!(found, Some(ms(64)));
    }

    const BASE: Duration = Duration::from_millis(40);

    /// How often a sender drains its queue in 30 s, with a report each 5 ms. Loops are 6 ms longer than the least one, and as long
    /// as that while it drains; 93 % of the forecast are served otherwise.
    fn drains(empty: bool) -> u32 {
        let mut elsewhere = Elsewhere::default();
        let mut drains = 0;
        for ms in (0..30_000).step_by(5) {
            let now = Instant::from_millis(ms);
            let longer = Duration::from_millis(6);
            let full = 930.0;
            let rate = elsewhere.rate(now).unwrap_or(full);
            let wait = if rate < full { Duration::ZERO } else { longer };
            let was = elsewhere.is_met();
            let path = elsewhere.look(
                now,
                Way {
                    round: BASE + wait,
                    wait,
                    empty,
                    base: BASE,
                    served: rate.min(full),
                    forecast: 1000.0,
                },
            );
            assert_eq!(path, None, "the path is as long as before");
            drains += u32::from(elsewhere.is_met() && !was);
        }
        drains
    }

    #[test]
    fn a_drain_that_finds_nothing_is_not_repeated_for_ten_seconds() {
        // Each look takes four loops and a drain of 115 ms, and then there is a pause of 10 s.
        assert_eq!(drains(true), 3);
    }

    #[test]
    fn loops_behind_a_queue_of_the_radio_say_nothing_of_a_bottleneck_elsewhere() {
        assert_eq!(drains(false), 0);
    }

    /// A flow that sends nothing is served nothing: its loops may be long for any reason.
    #[test]
    fn where_nothing_is_forecast_nothing_is_held() {
        let mut elsewhere = Elsewhere::default();
        for n in 0..400 {
            let longer = Duration::from_millis(6);
            let way = Way {
                round: BASE + longer,
                wait: longer,
                empty: true,
                base: BASE,
                served: 0.0,
                forecast: 0.0,
            };
            elsewhere.look(Instant::from_millis(5 * n), way);
            assert!(!elsewhere.is_met());
        }
    }
}
