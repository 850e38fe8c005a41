//! The variant without bitrate adjustment: the RTT drives drops and marks at once, on the flow with most in flight.

use slackwater_core::{Duration, Instant};

/// CoDel's control law on the RTT in place of a queue's sojourn (the article: "a dropping state, like that in CoDel").
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Direct {
    above_since: Option<Instant>,
    /// Since when it is in the dropping state.
    dropping: Option<Instant>,
    count: u32,
    left: Option<Instant>,
    next: Instant,
    /// How long the RTT must stay above the target.
    interval: Duration,
    /// The flow whose next fit packet is signalled on, and since when it is awaited.
    armed: Option<(u32, Instant)>,
}

impl Direct {
    /// Takes the present RTT; true where a victim should be chosen now.
    pub(super) fn update(
        &mut self,
        now: Instant,
        rtt: Duration,
        target: Duration,
        interval: Duration,
    ) -> bool {
        self.interval = interval;
        if rtt <= target {
            self.above_since = None;
            self.armed = None;
            if self.dropping.take().is_some() {
                self.left = Some(now);
            }
            return false;
        }
        let since = *self.above_since.get_or_insert(now);
        if self.dropping.is_none() {
            if now.since(since) < interval {
                return false;
            }
            self.dropping = Some(now);
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
        self.dropping.is_some()
    }

    /// Since when it drops and the RTT stays above the target.
    pub(super) const fn dropping_since(&self) -> Option<Instant> {
        self.dropping
    }

    /// Forgets what it saw: another variant decided meanwhile.
    pub(super) fn rest(&mut self) {
        *self = Self::default();
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
    pub(super) fn signalled(&mut self) {
        self.armed = None;
        let ns = self.interval.as_nanos() as f64 / libm::sqrt(f64::from(self.count.max(1)));
        self.next += Duration::from_nanos(ns as u64);
        self.count = self.count.saturating_add(1);
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
            if d.update(MS(t), rtt, ms(40), ms(40)) {
                d.arm(MS(t), 7);
                assert!(d.awaits(7) && !d.awaits(8));
                d.signalled();
                at.push(t);
            }
        }
        // Interval 40 ms; spacing 40, 28.3, 23.1, 20.
        assert_eq!(&at[..5], [90, 130, 159, 182, 202]);
        assert!(!d.update(MS(400), ms(39), ms(40), ms(40)) && !d.is_dropping());
    }

    /// RFC 8289, 5.5: what was left a moment ago goes on two signals below where it was.
    #[test]
    fn a_queue_that_is_back_at_once_is_signalled_to_at_nearly_the_old_rate() {
        let spacing = |pause: u64| {
            let mut d = Direct::default();
            let ms = Duration::from_millis;
            let (mut t, mut at) = (0, Vec::new());
            while at.len() < 8 {
                if at.len() == 6 && d.is_dropping() {
                    d.update(MS(t), ms(30), ms(40), ms(40));
                    t += pause;
                }
                if d.update(MS(t), ms(80), ms(40), ms(40)) {
                    d.arm(MS(t), 7);
                    d.signalled();
                    at.push(t);
                }
                t += 1;
            }
            at[7] - at[6]
        };
        // Six signals, so the next would be the seventh: 40 ms over the root of 5.
        assert_eq!(spacing(300), 18);
        // 16 intervals later it is a new queue.
        assert_eq!(spacing(700), 40);
    }
}
