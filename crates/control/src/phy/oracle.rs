//! A genie that knows the capacity to come: the frontier that no controller crosses.

use std::sync::Arc;

use slackwater_core::{Duration, Instant};

use super::observe::Signals;
use super::steered::MODES;
use super::steered::Steer;
use super::steered::steered;
use crate::registry::{AnyController, Entry, Reports};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "oracle",
    title: "oracle",
    about: "a genie that knows the link's capacity to come",
    reports: Reports::Blocks,
    modes: Some(MODES),
    make: |cfg, p| {
        p.none()?;
        Ok(AnyController::Oracle(steered(Oracle::default(), cfg)))
    },
    ..Entry::TRANSPORT
}];

/// Segments that the window counts and the link does not: one in service, one that a delayed ACK keeps.
const UNSEEN: f64 = 2.0;

/// The capacity of a link over time, as bytes by the millisecond.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// Bytes up to the end of each millisecond.
    upto: Vec<u64>,
    /// The last millisecond holds instead of the whole repeating.
    holds: bool,
}

impl Schedule {
    /// From the bytes of each millisecond; it repeats after the last.
    pub fn new(bytes: impl IntoIterator<Item = u64>) -> Self {
        let upto = bytes
            .into_iter()
            .scan(0, |sum, b| {
                *sum += b;
                Some(*sum)
            })
            .collect();
        Self { upto, holds: false }
    }

    /// The same, but its last millisecond goes on for ever.
    pub fn holding(bytes: impl IntoIterator<Item = u64>) -> Self {
        Self {
            holds: true,
            ..Self::new(bytes)
        }
    }

    /// Bytes before millisecond `k`.
    fn before(&self, k: u64) -> u64 {
        let n = self.upto.len() as u64;
        let at = |k: u64| if k == 0 { 0 } else { self.upto[k as usize - 1] };
        if self.holds && k > n {
            at(n) + (k - n) * (at(n) - at(n - 1))
        } else if self.holds {
            at(k)
        } else {
            k / n * at(n) + at(k % n)
        }
    }

    /// Bytes up to `t`.
    fn upto(&self, t: Instant) -> f64 {
        if self.upto.is_empty() {
            return 0.0;
        }
        let ms = t.as_nanos() / 1_000_000;
        let part = (t.as_nanos() % 1_000_000) as f64 / 1e6;
        let (start, end) = (self.before(ms), self.before(ms + 1));
        start as f64 + (end - start) as f64 * part
    }

    /// Bytes between two instants.
    pub fn between(&self, from: Instant, to: Instant) -> f64 {
        self.upto(to) - self.upto(from)
    }
}

/// `W(t)`: what the link can carry from half a least RTT before `t` to half a least RTT after it. With it every packet
/// finds the link just free: what is sent by `t` is what the link carries by the time it arrives there, and what is
/// acknowledged by `t` is what it had carried half an RTT before.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    schedule: Option<Arc<Schedule>>,
}

impl Oracle {
    /// An oracle of this link; without one it takes the last blocks for the next.
    pub const fn new(schedule: Option<Arc<Schedule>>) -> Self {
        Self { schedule }
    }
}

impl Steer for Oracle {
    fn name(&self) -> &'static str {
        "oracle"
    }

    /// It knows before an ACK tells.
    fn interval(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn guarded(&self) -> bool {
        false
    }

    fn window(&mut self, now: Instant, s: &Signals, window: f64) -> f64 {
        let Some(schedule) = &self.schedule else {
            let bdp = s.segments(s.tbs(), s.min_rtt);
            return if bdp > 0.0 { bdp } else { window };
        };
        if s.min_rtt == 0.0 {
            return window;
        }
        let half = Duration::from_secs_f64(s.min_rtt / 2.0);
        let bytes = schedule.between(now.saturating_sub(half), now + half);
        bytes / s.packet.max(1.0) + UNSEEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_counts_between_any_two_instants_and_repeats() {
        let s = Schedule::new([1500, 0, 3000]);
        let ms = Instant::from_millis;
        assert_eq!(s.between(ms(0), ms(3)), 4500.0);
        assert_eq!(s.between(ms(1), ms(2)), 0.0);
        assert_eq!(s.between(ms(2), ms(4)), 4500.0);
        let half = Instant::from_nanos(2_500_000);
        assert_eq!(s.between(half, ms(3)), 1500.0);
        let held = Schedule::holding([1500, 3000]);
        assert_eq!(held.between(ms(1), ms(4)), 9000.0);
        assert_eq!(Schedule::default().between(ms(0), ms(9)), 0.0);
    }
}
