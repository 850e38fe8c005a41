//! A bottleneck that is not the radio: bytes take longer than the radio's queue explains, or are lost on the way there, and fewer arrive
//! than it offers. Where others share it, it is no longer for the radio to decide.

use slackwater_core::{Duration, Instant};

/// A wait beyond the radio's queue above this ...
const WAIT: Duration = Duration::from_millis(8);
/// ... for so many least loops, while less than this part of the forecast is served, shows a bottleneck elsewhere.
const ROUNDS: f64 = 1.5;
const SERVED: f64 = 0.9;
/// ... by so many reports in a row, or for so long where they come rarely. Ours: a block that HARQ repeats delays what one report counts,
/// or two.
const REPORTS: u32 = 6;
const RARELY: Duration = Duration::from_millis(150);
/// Little of that: loops of an empty radio that are all longer than the least one by this ...
const LONGER: Duration = Duration::from_millis(4);
/// ... for so many least loops, while less than this part of the forecast is served.
const LONGER_ROUNDS: u64 = 4;
const NEARLY: f64 = 0.97;
/// Time until the next such look after one that found nothing: it costs a drain.
const REST: Duration = Duration::from_secs(10);
/// Time between two drains of its queue.
const CYCLE: Duration = Duration::from_secs(2);
/// A drain: this part of the rate for so many loops, and as long as what waits there takes, with some room.
const DRAIN: f64 = 0.75;
const DRAIN_ROUNDS: f64 = 2.5;
const DRAIN_ROOM: f64 = 1.2;
/// So long at most.
const DRAIN_MOST: Duration = Duration::from_secs(2);
/// A probe for more, for one loop.
const PROBE: f64 = 1.25;
/// More than this part is lost outside of the radio ... Ours: BBRv3's 2 % (draft-ietf-ccwg-bbr, `BBRLossThresh`) is what some paths lose
/// by chance, and a queue that is overrun loses more.
const LOST: f64 = 0.03;
/// ... by so many packets, in the sums of Page's test (Page 1954). Ours: half of that part reaches it by chance three times in a million.
const LOST_PACKETS: f64 = 10.0;
/// So many drains in a row that found a longer path, where the radio did not serve what it offers between them, were of a queue that
/// others filled.
const SHARED: u32 = 2;
/// The host steers then, for so long, and twice as long each time, up to this.
const APART: Duration = Duration::from_secs(10);
const APART_MOST: Duration = Duration::from_secs(160);
/// A path that is longer is filled by so much more in each loop of it, to see whether it is.
const CLIMB: f64 = 2.0;
/// The host paused where it had less to send for so many least loops.
const PAUSE_ROUNDS: u64 = 4;
/// After a pause bytes that wait for so many least loops end a climb: most often what was held is still there.
const RESUMED_ROUNDS: f64 = 0.5;
/// The radio is the bottleneck where it serves what it offers for so many least loops.
const RADIO_ROUNDS: u64 = 4;

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
    /// It is not the first cycle of what is held.
    later: bool,
    /// Time between two drains.
    cycle: Duration,
}

/// Others share the bottleneck: the host steers.
#[derive(Clone, Copy, Debug)]
struct Apart {
    /// Until then.
    until: Instant,
    /// The rate that was held, bytes/s.
    rate: f64,
    /// Since when the radio serves what it offers.
    radio: Option<Instant>,
}

/// The path is longer, or others filled a queue in it: more is sent in each loop until either shows.
#[derive(Clone, Copy, Debug)]
struct Climb {
    /// The rate at most, bytes/s.
    rate: f64,
    /// When it grows.
    next: Instant,
    /// Since when bytes wait in a queue again.
    waits: Option<Instant>,
    /// What was held before a pause: it is held again where bytes wait.
    resumed: Option<Held>,
}

/// Whether the bottleneck is elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Elsewhere {
    /// Bytes that were lost outside of the radio beyond [`LOST`] of all.
    lost: f64,
    /// Bytes since some were found to be lost.
    sent: f64,
    /// Drains in a row that found a longer path.
    longer: u32,
    /// Since when the radio has served what it offers, before it is taken for the bottleneck.
    serves: Option<Instant>,
    apart: Option<Apart>,
    /// How long the host steers the next time.
    next: Option<Duration>,
    /// Since when it seems so, and by how many reports.
    since: Option<(Instant, u32)>,
    /// The loops of an empty radio.
    empty: Option<Empty>,
    /// Loops of an empty radio say nothing until then.
    rests: Option<Instant>,
    held: Option<Held>,
    climb: Option<Climb>,
    /// Since when the host has had less to send than it might.
    paused: Option<Instant>,
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
    /// Bytes since the last report: what was found to be lost outside of the radio, and what was not.
    pub lost: f64,
    pub left: f64,
    /// Bytes of a packet.
    pub packet: f64,
    /// The host sent less than it might: less is served than the radio offers, and nothing is found in that.
    pub idle: bool,
}

/// How long the radio has served what it offers, where it does; `since` keeps when it began.
fn serving(since: &mut Option<Instant>, now: Instant, way: &Way) -> Option<Duration> {
    if way.served < SERVED * way.forecast {
        *since = None;
        return None;
    }
    Some(now.since(*since.get_or_insert(now)))
}

impl Elsewhere {
    /// Returns a least loop that replaces the known one: the path is longer.
    pub(super) fn look(&mut self, now: Instant, way: Way) -> Option<Duration> {
        let Way { base, served, .. } = way;
        if self.apart.is_some() {
            self.wait(now, &way);
            return None;
        }
        self.settle(now, &way);
        let loses = self.loses(&way);
        self.resume(now, &way);
        if way.idle {
            self.since = None;
            self.empty = None;
            self.lost = 0.0;
            if !self.is_met() {
                return None;
            }
        }
        if self.climb.is_some() {
            self.climb(now, &way, loses);
            return None;
        }
        let Some(held) = &mut self.held else {
            self.suspect(now, &way, loses);
            return None;
        };
        let enough = if held.slight { NEARLY } else { SERVED };
        if served >= enough * way.forecast {
            self.leave();
            return None;
        }
        if !held.later && now.since(held.begun) < held.drain + way.round {
            // What is found to be lost left before the queue was drained. In later cycles that queue was held, too.
            self.lost = 0.0;
        } else if held.judged && loses {
            // It was drained, and packets are lost all the same.
            let rate = held.rate;
            self.part(now, rate);
            return None;
        }
        // Where a queue stands there, more is served because others send less.
        if way.wait <= WAIT {
            held.rate = held.rate.max(served);
        }
        let beyond = if held.slight { LONGER } else { WAIT };
        if way.empty {
            held.empty = held.empty.min(way.round);
        }
        if !held.slight {
            held.least = held.least.min(base + way.wait);
        }
        let passed = now.since(held.begun);
        if !held.judged {
            held.lengthen(&way);
        }
        if passed >= held.drain && !held.judged {
            held.judged = true;
            let least = if held.empty < Duration::MAX {
                held.empty
            } else {
                held.least
            };
            // The queue of a bottleneck that was drained is empty.
            if least > base + beyond && least < Duration::MAX {
                let sure = !held.slight && held.empty < Duration::MAX;
                self.longer += u32::from(sure);
                if self.longer >= SHARED {
                    let rate = held.rate;
                    self.part(now, rate);
                } else if held.later {
                    // The queue was held before, and others may be in it now: the next drain decides.
                    *held = held.again(now, &way);
                    return Some(least);
                } else {
                    self.leave();
                    self.climb = Some(Climb {
                        rate: CLIMB * served,
                        next: now + least,
                        waits: None,
                        resumed: None,
                    });
                    return Some(least);
                }
                return None;
            }
            if held.slight {
                // The path is as long as before, and nearly all is served: nothing is to be held.
                self.leave();
                self.rests = Some(now + REST);
                return None;
            }
        }
        if passed >= held.cycle {
            *held = held.again(now, &way);
        }
        None
    }

    /// The probes of what is held fall into pauses, and it would never grow. So after a pause the host probes loop by loop, until bytes
    /// wait again.
    fn resume(&mut self, now: Instant, way: &Way) {
        if way.idle {
            self.paused.get_or_insert(now);
            return;
        }
        let Some(since) = self.paused.take() else {
            return;
        };
        if now.since(since) < way.base * PAUSE_ROUNDS {
            return;
        }
        if let Some(held) = self.held.take() {
            self.leave();
            self.climb = Some(Climb {
                rate: PROBE * held.rate,
                next: now + way.base,
                waits: None,
                resumed: Some(held),
            });
        }
    }

    /// Holds nothing.
    fn leave(&mut self) {
        *self = Self {
            longer: self.longer,
            serves: self.serves,
            next: self.next,
            ..Self::default()
        };
    }

    /// Others share the bottleneck.
    fn part(&mut self, now: Instant, rate: f64) {
        let time = self.next.unwrap_or(APART);
        *self = Self {
            apart: Some(Apart {
                until: now + time,
                rate,
                radio: None,
            }),
            // The next time one such drain is enough.
            longer: SHARED - 1,
            next: Some((time * 2).min(APART_MOST)),
            ..Self::default()
        };
    }

    /// The host steers: for a time, or until the radio is the bottleneck.
    fn wait(&mut self, now: Instant, way: &Way) {
        let Some(apart) = &mut self.apart else {
            return;
        };
        let serves = serving(&mut apart.radio, now, way);
        if serves.is_some_and(|long| long >= way.base * RADIO_ROUNDS) {
            self.leave();
        } else if now >= apart.until {
            // What the radio offers is not to be had at once: a drain shows whether others are still there.
            self.leave();
            self.held = Some(Held::new(now, way.served, *way));
        }
    }

    /// Fills a longer path: until the radio serves what it offers, or bytes wait in a queue again.
    fn climb(&mut self, now: Instant, way: &Way, loses: bool) {
        let Some(climb) = &mut self.climb else {
            return;
        };
        if climb.rate.max(way.served) >= SERVED * way.forecast {
            self.climb = None;
            return;
        }
        let (step, patience) = if climb.resumed.is_some() {
            (PROBE, RESUMED_ROUNDS)
        } else {
            (CLIMB, ROUNDS)
        };
        if way.wait <= WAIT {
            climb.waits = None;
        }
        let waits = way.wait > WAIT
            && now.since(*climb.waits.get_or_insert(now)) >= way.base.mul_f64(patience);
        if waits || loses {
            let resumed = climb.resumed;
            self.leave();
            self.held = Some(match resumed {
                Some(held) => held.resumed(now, way),
                None => Held::new(now, way.served, *way),
            });
        } else if now >= climb.next {
            climb.rate = step * climb.rate.max(way.served);
            climb.next = now + way.base;
        }
    }

    /// A radio that serves what it offers for long is the bottleneck, whatever was found before.
    fn settle(&mut self, now: Instant, way: &Way) {
        let Some(long) = serving(&mut self.serves, now, way) else {
            return;
        };
        if long >= way.base * RADIO_ROUNDS {
            self.longer = 0;
        }
        if long >= APART {
            self.next = None;
        }
    }

    /// More was lost outside of the radio than a path loses by itself, where less is served than the radio offers.
    fn loses(&mut self, way: &Way) -> bool {
        let most = LOST_PACKETS * way.packet;
        self.sent += way.lost + way.left;
        if way.lost > 0.0 {
            // Losses of some round trips are found at once: what left meanwhile counts with them. Some are found with the next ones, so
            // what these are short of is kept.
            let usual = LOST * std::mem::take(&mut self.sent);
            self.lost = (self.lost + way.lost - usual).clamp(-usual, 2.0 * most);
        }
        self.lost >= most && way.served < SERVED * way.forecast
    }

    /// Others share the bottleneck, and the radio is not to steer: the rate that was held then, bytes/s.
    pub(super) fn apart(&self) -> Option<f64> {
        Some(self.apart?.rate)
    }

    /// Whether something else than the radio is to be looked at; `loses` where it is by what was lost.
    fn suspect(&mut self, now: Instant, way: &Way, loses: bool) {
        if loses {
            self.lost = 0.0;
            self.held = Some(Held::new(now, way.served, *way));
            return;
        }
        if way.wait <= WAIT || way.served >= SERVED * way.forecast {
            self.since = None;
        } else {
            let (since, reports) = self.since.get_or_insert((now, 0));
            *reports += 1;
            let passed = now.since(*since);
            let sure = *reports >= REPORTS || passed >= RARELY;
            if sure && passed >= way.base.mul_f64(ROUNDS) {
                self.held = Some(Held::new(now, way.served, *way));
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
                ..Held::new(now, way.served, *way)
            });
        }
        self.empty = None;
    }

    /// The bottleneck is elsewhere.
    pub(super) const fn is_met(&self) -> bool {
        self.held.is_some() || self.climb.is_some()
    }

    /// The rate to send at then, bytes/s.
    pub(super) fn rate(&self, now: Instant) -> Option<f64> {
        if let Some(climb) = self.climb {
            return Some(climb.rate);
        }
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
    fn new(now: Instant, rate: f64, way: Way) -> Self {
        let mut held = Self {
            rate,
            begun: now,
            drain: way.round.mul_f64(DRAIN_ROUNDS),
            probe: way.round,
            cycle: CYCLE,
            least: Duration::MAX,
            empty: Duration::MAX,
            slight: false,
            judged: false,
            later: false,
        };
        held.lengthen(&way);
        held
    }

    /// The next cycle.
    fn again(&self, now: Instant, way: &Way) -> Self {
        Self {
            slight: self.slight,
            later: true,
            ..Self::new(now, way.served.max(self.rate * 0.9), *way)
        }
    }

    /// It is held again after a pause, without a drain: what was found there before still is.
    fn resumed(&self, now: Instant, way: &Way) -> Self {
        Self {
            rate: self.rate.max(way.served),
            drain: Duration::ZERO,
            probe: Duration::ZERO,
            judged: true,
            later: true,
            ..Self::new(now, way.served, *way)
        }
    }

    /// The drain takes as long as what waits there: what was on its way when it began makes that more.
    fn lengthen(&mut self, way: &Way) {
        if !way.empty {
            return;
        }
        let queue = way.wait.mul_f64(DRAIN_ROOM / (1.0 - DRAIN)).min(DRAIN_MOST);
        self.drain = self.drain.max(queue);
        self.cycle = self.cycle.max(self.drain * 2);
    }
}

#[cfg(test)]
mod tests;
