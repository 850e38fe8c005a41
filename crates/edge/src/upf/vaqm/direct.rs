//! The variant without bitrate adjustment: the RTT drives drops and marks at once, on the flow with most in flight.

use slackwater_core::{Duration, Instant};

/// CoDel's control law on the RTT in place of a queue's sojourn (the article: "a dropping state, like that in CoDel").
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Direct {
    above_since: Option<Instant>,
    dropping: bool,
    count: u32,
    left: Option<Instant>,
    next: Instant,
    /// The flow whose next fit packet is signalled on, and since when it is awaited.
    armed: Option<(u32, Instant)>,
}

impl Direct {
    /// The interval, "determined as a function of Path RTT".
    fn interval(path: Duration) -> Duration {
        (path * 2).max(Duration::from_millis(20))
    }

    /// Takes the present RTT; true where a victim should be chosen now.
    pub(super) fn update(
        &mut self,
        now: Instant,
        rtt: Duration,
        target: Duration,
        path: Duration,
    ) -> bool {
        if rtt <= target {
            self.above_since = None;
            self.armed = None;
            if self.dropping {
                self.dropping = false;
                self.left = Some(now);
            }
            return false;
        }
        let since = *self.above_since.get_or_insert(now);
        let interval = Self::interval(path);
        if !self.dropping {
            if now.since(since) < interval {
                return false;
            }
            self.dropping = true;
            // As RFC 8289, 5.5: a state left a moment ago goes on from its rate.
            let recent = self.left.is_some_and(|at| now.since(at) < interval * 16);
            self.count = if recent && self.count > 2 {
                self.count - 2
            } else {
                1
            };
            self.next = now;
        }
        self.armed.is_none() && now >= self.next
    }

    pub(super) const fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// Waits for a fit packet of `key`.
    pub(super) const fn arm(&mut self, now: Instant, key: u32) {
        self.armed = Some((key, now));
    }

    /// The flow awaited; one that shows no packet within `patience` is let go and returned.
    pub(super) fn overdue(&mut self, now: Instant, patience: Duration) -> Option<u32> {
        let (key, since) = self.armed?;
        if now.since(since) > patience {
            self.armed = None;
            return Some(key);
        }
        None
    }

    pub(super) fn awaits(&self, key: u32) -> bool {
        self.armed.is_some_and(|(armed, _)| armed == key)
    }

    /// The signal was given.
    pub(super) fn signalled(&mut self, path: Duration) {
        self.armed = None;
        let ns = Self::interval(path).as_nanos() as f64 / libm::sqrt(f64::from(self.count.max(1)));
        self.next += Duration::from_nanos(ns as u64);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Instant = Instant::from_millis;

    #[test]
    fn it_acts_after_an_interval_above_the_target_and_faster_each_time() {
        let mut d = Direct::default();
        let ms = Duration::from_millis;
        let mut at = Vec::new();
        for t in 0..400 {
            let rtt = if t < 50 { ms(30) } else { ms(80) };
            if d.update(MS(t), rtt, ms(40), ms(20)) {
                d.arm(MS(t), 7);
                assert!(d.awaits(7) && !d.awaits(8));
                d.signalled(ms(20));
                at.push(t);
            }
        }
        // Interval 40 ms; spacing 40, 28.3, 23.1, 20.
        assert_eq!(&at[..5], [90, 130, 159, 182, 202]);
        assert!(!d.update(MS(400), ms(39), ms(40), ms(20)) && !d.is_dropping());
    }
}
