//! When Copa competes, and how (2.2 of the paper).
//!
//! Flows of Copa alone empty the queue at least once in five RTTs. One that does not see it nearly empty for so long
//! shares it with a buffer-filler, and raises and halves `1 / delta` as such a flow does its window.

use slackwater_core::Duration;

/// RTTs without a nearly empty queue until it competes.
const PATIENCE: u32 = 5;
/// The largest RTT is that of so many past RTTs.
const MAX_ROUNDS: usize = 4;
/// Nearly empty: at most this share of the largest queueing delay.
const NEARLY: f64 = 0.1;
/// Packets that are no queue: the two that a delayed ACK releases. The paper's receivers acknowledge each packet; with
/// `delta` of a half, a tenth of the largest queue is half a packet, which pairs never leave.
const PAIR: f64 = 2.0;
/// But they never count for more than this share: the rate by which a packet's time is told is the flow's own, not the
/// link's.
const PAIR_SHARE: f64 = 0.25;
/// Largest `delta` of the competitive mode.
const DELTA_MAX: f64 = 0.5;
/// Largest `1 / delta`: keeps the arithmetic in range.
const INVERSE_MAX: f64 = (1u64 << 20) as f64;

/// The mode and `delta`.
#[derive(Clone, Debug)]
pub struct Switch {
    enabled: bool,
    /// `delta` of the default mode.
    base: f64,
    delta: f64,
    competitive: bool,
    /// Largest RTT of the present round and of those before it.
    largest: [Duration; MAX_ROUNDS + 1],
    /// Rounds since the queue was nearly empty.
    since_empty: u32,
    /// A loss already halved in this round.
    lost: bool,
}

impl Switch {
    /// The default mode with `delta`; `enabled` where it may be left.
    pub fn new(delta: f64, enabled: bool) -> Self {
        let delta = if delta.is_finite() { delta } else { DELTA_MAX };
        let base = delta.clamp(1.0 / INVERSE_MAX, INVERSE_MAX);
        Self {
            enabled,
            base,
            delta: base,
            competitive: false,
            largest: [Duration::ZERO; MAX_ROUNDS + 1],
            since_empty: 0,
            lost: false,
        }
    }

    /// `delta` in force.
    #[inline]
    pub const fn delta(&self) -> f64 {
        self.delta
    }

    /// In the competitive mode.
    pub const fn is_competitive(&self) -> bool {
        self.competitive
    }

    /// An RTT sample, with `RTTstanding` and `RTTmin` as it leaves them and a window of `cwnd` packets.
    #[inline]
    pub fn sample(&mut self, rtt: Duration, standing: Duration, least: Duration, cwnd: f64) {
        self.largest[0] = self.largest[0].max(rtt);
        let largest = self.largest.iter().fold(rtt, |a, b| a.max(*b));
        let range = largest.saturating_sub(least).as_nanos() as f64;
        let pair = PAIR * standing.as_nanos() as f64 / cwnd.max(1.0);
        let nearly = (NEARLY * range).max(pair.min(PAIR_SHARE * range));
        // A queue that never was there is empty, too.
        if standing.saturating_sub(least).as_nanos() as f64 <= nearly {
            self.since_empty = 0;
            if self.competitive {
                self.competitive = false;
                self.delta = self.base;
            }
        }
    }

    /// A round ended.
    pub fn round(&mut self) {
        self.largest.rotate_right(1);
        self.largest[0] = Duration::ZERO;
        self.since_empty = self.since_empty.saturating_add(1);
        let lost = core::mem::take(&mut self.lost);
        if !self.enabled {
            return;
        }
        if self.competitive {
            if !lost {
                self.delta = self.bounded(1.0 / self.delta + 1.0);
            }
        } else if self.since_empty > PATIENCE {
            self.competitive = true;
            self.delta = self.bounded(1.0 / self.delta);
        }
    }

    /// A loss: half of `1 / delta`, once in a round.
    pub fn lost(&mut self) {
        if self.competitive && !self.lost {
            self.lost = true;
            self.delta = self.bounded(0.5 / self.delta);
        }
    }

    fn bounded(&self, inverse: f64) -> f64 {
        let largest = self.base.min(DELTA_MAX);
        (1.0 / inverse.min(INVERSE_MAX)).min(largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_millis(40);
    /// A packet takes 0.1 ms.
    const CWND: f64 = 500.0;

    /// `n` rounds in which the RTT lies between `low` and `high` ms.
    fn rounds(s: &mut Switch, n: u32, low: u64, high: u64) {
        for _ in 0..n {
            for rtt in [high, low] {
                let rtt = Duration::from_millis(rtt);
                s.sample(rtt, rtt, LEAST, CWND);
            }
            s.round();
        }
    }

    #[test]
    fn a_queue_that_empties_keeps_the_default_mode() {
        let mut s = Switch::new(0.5, true);
        // 1 ms of 11 ms is less than a tenth.
        rounds(&mut s, 100, 41, 51);
        assert!(!s.is_competitive());
        assert_eq!(s.delta(), 0.5);
    }

    #[test]
    fn five_rounds_with_a_queue_start_the_competition() {
        let mut s = Switch::new(0.5, true);
        rounds(&mut s, 5, 50, 60);
        assert!(!s.is_competitive());
        rounds(&mut s, 1, 50, 60);
        assert!(s.is_competitive());
        assert_eq!(s.delta(), 0.5);
        // 1 / delta rises by one each RTT: 2, 3, 4, 5.
        rounds(&mut s, 3, 50, 60);
        assert!((s.delta() - 0.2).abs() < 1e-12);
        // A loss halves it, once in a round; it does not rise in that round.
        s.lost();
        s.lost();
        assert!((s.delta() - 0.4).abs() < 1e-12);
        rounds(&mut s, 1, 50, 60);
        assert!((s.delta() - 0.4).abs() < 1e-12);
        // Never above a half.
        s.lost();
        rounds(&mut s, 1, 50, 60);
        s.lost();
        assert_eq!(s.delta(), 0.5);
        // One look at an empty queue ends it.
        rounds(&mut s, 1, 40, 60);
        assert!(!s.is_competitive());
        assert_eq!(s.delta(), 0.5);
    }

    #[test]
    fn the_largest_rtt_is_forgotten_after_four_rounds() {
        let mut s = Switch::new(0.5, true);
        rounds(&mut s, 1, 40, 140);
        // 10 ms are a tenth of 100 ms for four rounds more, and then all that there is.
        rounds(&mut s, 4, 50, 50);
        assert_eq!(s.since_empty, 1);
        rounds(&mut s, 6, 50, 50);
        assert!(s.is_competitive());
    }

    #[test]
    fn a_pair_of_packets_is_no_queue() {
        // 44 ms and 44 packets: a packet takes a millisecond. One of five is no queue, two are.
        let rtt = Duration::from_millis;
        for (low, cwnd) in [(41, 44.0), (42, 44.0), (41, 440.0), (42, 4.4)] {
            let mut s = Switch::new(0.5, true);
            for _ in 0..10 {
                s.sample(rtt(45), rtt(45), LEAST, cwnd);
                s.sample(rtt(low), rtt(low), LEAST, cwnd);
                s.round();
            }
            assert_eq!(s.is_competitive(), low == 42 || cwnd == 440.0);
        }
    }

    #[test]
    fn it_can_be_switched_off() {
        let mut s = Switch::new(0.1, false);
        rounds(&mut s, 50, 50, 60);
        s.lost();
        assert!(!s.is_competitive());
        assert_eq!(s.delta(), 0.1);
    }

    #[test]
    fn nonsense_for_delta_is_bounded() {
        for delta in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
            let s = Switch::new(delta, true);
            assert!(s.delta() > 0.0 && s.delta().is_finite());
        }
    }
}
