//! A path without a bottleneck: constant delay, bounded jitter, random loss, order kept.

use std::collections::VecDeque;

use slackwater_core::{Draw, Duration, Instant, Packet};

/// What a lane does to a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaneConfig {
    /// One-way delay.
    pub delay: Duration,
    /// Extra delay of each packet, uniform in [0, jitter); a packet never overtakes another of its lane.
    pub jitter: Duration,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// The host that forwards is not always scheduled at once.
    pub stalls: Option<Stalls>,
    /// The path is longer now and then.
    pub detour: Option<Detour>,
}

/// A path that is longer in every second period, as after a handover to a place farther from the core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detour {
    /// How long each path holds; the shorter one comes first.
    pub period: Duration,
    /// Extra delay of the longer one.
    pub extra: Duration,
}

impl Detour {
    /// Extra delay of what leaves at `now`.
    pub fn at(&self, now: Instant) -> Duration {
        let odd = (now.since(Instant::ZERO) / self.period) % 2 == 1;
        if odd { self.extra } else { Duration::ZERO }
    }
}

/// Pauses of a forwarding host, such as a user-space emulator that waits for its processor: what falls due during a
/// pause leaves at its end. All lanes of one direction pause together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stalls {
    /// One pause begins in each of these periods, at a uniform time.
    pub every: Duration,
    /// Its length is uniform from zero to this.
    pub longest: Duration,
    /// Which host: lanes with the same number pause together.
    pub host: u64,
}

impl Stalls {
    /// When something that is due at `at` leaves. `draw` is the world's, not the lane's.
    #[cold]
    #[inline(never)]
    fn release(&self, at: Instant, draw: Draw) -> Instant {
        let draw = draw.fork(STALL, self.host);
        let period = at.since(Instant::ZERO) / self.every;
        // A pause may reach from the period before into this one.
        let ends = [period.checked_sub(1), Some(period)]
            .into_iter()
            .flatten()
            .map(|k| {
                let start =
                    Instant::ZERO + self.every * k + self.every.mul_f64(draw.uniform(2 * k));
                (start, start + self.longest.mul_f64(draw.uniform(2 * k + 1)))
            });
        ends.fold(
            at,
            |at, (start, end)| if start <= at { at.max(end) } else { at },
        )
    }
}

/// Purpose of the draws of pauses.
const STALL: u64 = 0x5354_414c;

/// Packets in flight on a lane. One lane serves one flow and direction, so jitter is independent between flows: this
/// is the sub-slot jitter without which arrivals stay aligned to the radio's slots and lock flows out.
#[derive(Debug)]
pub(crate) struct Lane {
    config: LaneConfig,
    /// Neither loss nor detour nor pauses.
    plain: bool,
    /// The bound of the jitter in nanoseconds.
    jitter: f64,
    draw: Draw,
    world: Draw,
    count: u64,
    last: Instant,
    packets: VecDeque<(Instant, Packet)>,
}

impl Lane {
    pub(crate) fn new(config: LaneConfig, draw: Draw, world: Draw) -> Self {
        Self {
            plain: config.loss <= 0.0 && config.detour.is_none() && config.stalls.is_none(),
            config,
            jitter: config.jitter.as_nanos() as f64,
            draw,
            world,
            count: 0,
            last: Instant::ZERO,
            packets: VecDeque::new(),
        }
    }

    /// When a packet that enters at `now` leaves; `None` where the lane loses it.
    #[expect(
        clippy::inline_always,
        reason = "each packet takes it, and a call costs a third of it"
    )]
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: Instant) -> Option<Instant> {
        let key = self.count;
        self.count += 1;
        if self.plain {
            let mut due = now + self.config.delay;
            if self.jitter > 0.0 {
                due += self.late(key);
            }
            self.last = self.last.max(due);
            return Some(self.last);
        }
        self.pass_slow(now, key)
    }

    /// How much later than without jitter packet `key` leaves.
    #[inline]
    fn late(&self, key: u64) -> Duration {
        // By way of i64, the only integer that baseline x86-64 turns a float into.
        let late = (self.jitter * self.draw.uniform(2 * key + 1)) as i64;
        Duration::from_nanos(late as u64)
    }

    /// The same where more than the delay and its jitter happens on the way.
    fn pass_slow(&mut self, now: Instant, key: u64) -> Option<Instant> {
        if self.config.loss > 0.0 && self.draw.uniform(2 * key) < self.config.loss {
            return None;
        }
        let mut due = now + self.config.delay;
        if let Some(detour) = &self.config.detour {
            due += detour.at(now);
        }
        if self.jitter > 0.0 {
            due += self.late(key);
        }
        if let Some(stalls) = &self.config.stalls {
            due = stalls.release(due, self.world);
        }
        self.last = self.last.max(due);
        Some(self.last)
    }

    /// Takes a packet; false where the lane loses it.
    #[inline]
    pub(crate) fn push(&mut self, now: Instant, packet: &Packet) -> bool {
        let due = self.pass(now);
        if let Some(due) = due {
            self.packets.push_back((due, *packet));
        }
        due.is_some()
    }

    /// True where some packets are lost.
    #[inline]
    pub(crate) fn loses(&self) -> bool {
        self.config.loss > 0.0
    }

    /// No packet takes longer.
    pub(crate) fn longest(&self) -> Duration {
        let config = &self.config;
        let detour = config.detour.map_or(Duration::ZERO, |d| d.extra);
        // One pause may end within the next.
        let stalls = config.stalls.map_or(Duration::ZERO, |s| s.longest * 2);
        config.delay + config.jitter + detour + stalls
    }

    #[inline]
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.packets.front().map(|p| p.0)
    }

    /// True where a packet is due.
    #[inline]
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.packets.front().is_some_and(|p| p.0 <= now)
    }

    /// Takes the first packet; one must be there.
    #[inline]
    pub(crate) fn pop(&mut self) -> Packet {
        let packet = self.packets[0].1;
        self.packets.pop_front();
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_core::Datagram;

    #[test]
    fn jitter_keeps_order_and_bounds() {
        let config = LaneConfig {
            delay: Duration::from_millis(10),
            jitter: Duration::from_millis(1),
            ..LaneConfig::default()
        };
        let mut lane = Lane::new(config, Draw::new(1), Draw::new(1));
        let mut sent = vec![];
        for i in 0..1_000u32 {
            let now = Instant::from_nanos(u64::from(i / 7) * 300_000);
            assert!(lane.push(
                now,
                &Packet {
                    body: Datagram::new(i, 0).into(),
                    ..Packet::default()
                }
            ));
            sent.push(now);
        }
        let mut next = 0;
        while let Some(at) = lane.next_timer() {
            assert!(lane.is_due(at));
            let p = lane.pop();
            assert_eq!(p.number(), next, "order");
            let delay = at - sent[next as usize];
            assert!(delay >= Duration::from_millis(10) && delay < Duration::from_millis(11));
            next += 1;
        }
        assert_eq!(next, 1_000);
    }

    #[test]
    fn loses_the_share_it_is_told() {
        let mut lane = Lane::new(
            LaneConfig {
                loss: 0.1,
                ..LaneConfig::default()
            },
            Draw::new(5),
            Draw::new(5),
        );
        let lost = (0..100_000)
            .filter(|_| !lane.push(Instant::ZERO, &Packet::default()))
            .count();
        assert!((9_700..10_300).contains(&lost), "{lost}");
    }

    #[test]
    fn a_stall_ends_for_all_lanes_of_a_host_at_once() {
        let stalls = Stalls {
            every: Duration::from_millis(100),
            longest: Duration::from_millis(16),
            host: 0,
        };
        let draw = Draw::new(3);
        let (mut held, mut worst) = (0u32, Duration::ZERO);
        for us in 0..1_000_000u64 {
            let at = Instant::from_nanos(us * 10_000);
            let release = stalls.release(at, draw);
            assert!(release >= at, "never early");
            let wait = release - at;
            worst = worst.max(wait);
            held += u32::from(wait > Duration::from_millis(10));
        }
        // The chance to wait longer than 10 of at most 16 ms: the mean of max(0, U - 10) over 100, 1.1 %.
        assert!((9_000..14_000).contains(&held), "{held}");
        assert!(worst < Duration::from_millis(33), "two pauses at most");
    }
}
