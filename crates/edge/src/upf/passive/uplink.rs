//! What a UE's packets waited on their way up, from the time stamps of TCP (RFC 7323).
//!
//! A `TSval` is the UE's clock as the packet was made; how much later than the least it comes by is what it waited in the
//! uplink's queue. The clock's tick is the sender's choice and is learned, its offset is not needed.

use slackwater_core::{Duration, Instant};

use super::WindowedMin;

/// Ticks that senders have: a millisecond (Linux since 4.13, Apple, FreeBSD), and jiffies of older Linux at 250 and 100 Hz. They
/// lie so far apart that no queue which grows or shrinks makes one look like another; at 300 Hz nothing is measured.
const TICKS: [Duration; 3] = [
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(10),
];
/// Two packets tell the tick where they were made at least so far apart.
const LEARN: Duration = Duration::from_millis(250);
/// The tick is one of [`TICKS`] where it is measured this near to it, in percent. A queue that grew or shrank between the
/// packets blurs it, the less the longer it takes.
const NEAR: u64 = 8;
/// How long the least delay holds: two clocks drift apart by some 3 ms in it (50 ppm each).
const HOLDS: Duration = Duration::from_secs(30);
/// A delay above it is none: the clock has jumped, or the connection is another. Nanoseconds.
const MOST: i64 = 3_000_000_000;

/// The uplink's queue as one TCP connection shows it.
#[derive(Clone, Debug)]
pub struct UplinkClock {
    /// Arrival and `TSval` of the packet that the others are compared with.
    origin: Option<(Instant, u32)>,
    /// What the UE's clock counts in; `None` until it is known, and where it is none of [`TICKS`].
    tick: Option<Duration>,
    /// The least one-way delay of late, nanoseconds, as `MOST` more than that of the origin.
    least: WindowedMin,
}

impl Default for UplinkClock {
    fn default() -> Self {
        Self {
            origin: None,
            tick: None,
            least: WindowedMin::new(HOLDS),
        }
    }
}

impl UplinkClock {
    /// A packet of the UE passes: what it waited beyond the least, to a tick below. `None` while the tick is not known.
    pub fn on_uplink(&mut self, now: Instant, tsval: u32) -> Option<Duration> {
        let Some((since, first)) = self.origin else {
            self.restart(now, tsval);
            return None;
        };
        // RFC 7323, 5.2: time stamps wrap.
        let ticks = tsval.wrapping_sub(first) as i32;
        if self.tick.is_none() {
            self.tick = Self::learn(now.since(since), ticks);
        }
        let tick = self.tick?;
        let late = now.since(since).as_nanos() as i64 - i64::from(ticks) * tick.as_nanos() as i64;
        if late.abs() >= MOST {
            self.restart(now, tsval);
            return None;
        }
        let late = (late + MOST) as u64;
        self.least.update(now, late);
        let least = self.least.get(now).unwrap_or(late);

        // A packet is made up to a tick after its TSval says.
        Some(Duration::from_nanos(late - least.min(late)).saturating_sub(tick))
    }

    /// The way up has another length from here on; the clock and its tick are as before.
    pub const fn path_switched(&mut self) {
        self.least.clear();
    }

    fn restart(&mut self, now: Instant, tsval: u32) {
        *self = Self::default();
        self.origin = Some((now, tsval));
        self.least.update(now, MOST as u64);
    }

    fn learn(apart: Duration, ticks: i32) -> Option<Duration> {
        if apart < LEARN || ticks <= 0 {
            return None;
        }
        let measured = apart / u64::from(ticks.unsigned_abs());
        let near = |tick: &Duration| {
            let off = measured.max(*tick).saturating_sub(measured.min(*tick));
            off * 100 <= *tick * NEAR
        };
        TICKS.into_iter().find(near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets each 7 ms from a clock of `tick` that began at `offset`; `queue` gives what the packet made at a time waits, in
    /// microseconds. What was measured and what was true, once the queue has been at its least.
    fn watch(tick: u64, offset: u32, queue: impl Fn(u64) -> u64) -> Vec<(Duration, Duration)> {
        let mut clock = UplinkClock::default();
        let mut seen = Vec::new();
        let mut last = 0;
        for k in 0..4_000 {
            let made = k * 7_137;
            let wait = queue(made);
            // A queue does not reorder.
            let at = (made + 5_000 + wait).max(last);
            last = at;
            let tsval = offset.wrapping_add((made / tick) as u32);
            let got = clock.on_uplink(Instant::from_nanos(at * 1_000), tsval);
            if let Some(got) = got.filter(|_| made > 3_100_000) {
                seen.push((got, Duration::from_micros(at - made - 5_000)));
            }
        }
        assert!(seen.len() > 3_500, "only {} were measured", seen.len());
        seen
    }

    #[test]
    fn what_waits_is_seen_to_a_tick_whatever_the_clock() {
        for (tick, offset) in [
            (1_000, 0),
            (1_000, u32::MAX - 5_000),
            (4_000, 77),
            (10_000, 9),
        ] {
            // 0 to 180 ms and back, once in two seconds.
            let queue = |t: u64| ((t / 1_000 % 2_000) as i64 - 1_000).unsigned_abs() * 180;
            for (got, is) in watch(tick, offset, queue) {
                let low = is.saturating_sub(Duration::from_micros(2 * tick + 1_500));
                assert!(
                    low <= got && got <= is,
                    "{tick} us: {got:?}, and it waited {is:?}"
                );
            }
        }
    }

    #[test]
    fn an_empty_queue_and_a_longer_path_show() {
        assert!(watch(1_000, 3, |_| 0).iter().all(|(got, _)| got.is_zero()));
        // The path gets 40 ms longer: an hour of it would be no queue.
        let seen = watch(1_000, 3, |t| if t < 5_000_000 { 0 } else { 40_000 });
        assert!(seen[1_000].0 >= Duration::from_millis(38));
    }

    #[test]
    fn after_a_switch_a_longer_way_is_no_queue() {
        let mut clock = UplinkClock::default();
        let at = |clock: &mut UplinkClock, ms: u32, way: u64| {
            clock.on_uplink(Instant::from_millis(u64::from(ms) + way), ms)
        };
        for ms in 0..600 {
            at(&mut clock, ms, 5);
        }
        assert_eq!(at(&mut clock, 600, 30), Some(Duration::from_millis(24)));
        clock.path_switched();
        assert_eq!(at(&mut clock, 610, 30), Some(Duration::ZERO));
        assert_eq!(at(&mut clock, 620, 40), Some(Duration::from_millis(9)));
    }

    #[test]
    fn a_clock_of_another_kind_says_nothing() {
        let mut clock = UplinkClock::default();
        for k in 0..1_000_u32 {
            // A counter of packets.
            let now = Instant::from_nanos(u64::from(k) * 2_100_000);
            assert_eq!(clock.on_uplink(now, k), None, "packet {k}");
        }
    }

    #[test]
    fn another_connection_on_the_same_ports_starts_anew() {
        let mut clock = UplinkClock::default();
        for ms in 0..600_u32 {
            clock.on_uplink(Instant::from_millis(u64::from(ms)), ms);
        }
        let now = Instant::from_millis(601);
        assert!(clock.on_uplink(now, 601).is_some());
        assert_eq!(clock.on_uplink(now, 4_000_000_000), None);
        assert_eq!(clock.on_uplink(now, 4_000_000_001), None);
    }
}
