//! How much more is acknowledged at once than the bandwidth explains (5.5.9).

use slackwater_core::Instant;

use crate::estimate::windowed_max::WindowedMax;

/// Rounds that the maximum looks back once the pipe was full (`ExtraAckedFilterLen`, 2.12); one round in start-up.
const ROUNDS: u64 = 10;
const ROUNDS_STARTUP: u64 = 1;

/// The measurement.
#[derive(Clone, Copy, Debug)]
pub struct Aggregation {
    since: Instant,
    delivered: f64,
    max: WindowedMax,
    steady: bool,
}

impl Default for Aggregation {
    fn default() -> Self {
        Self {
            since: Instant::ZERO,
            delivered: 0.0,
            max: WindowedMax::new(ROUNDS_STARTUP),
            steady: false,
        }
    }
}

impl Aggregation {
    /// Bytes (`extra_acked`).
    #[inline]
    pub const fn extra(&self) -> f64 {
        self.max.get()
    }

    /// A new interval begins after idleness (5.4.1).
    pub const fn restart(&mut self, now: Instant) {
        self.since = now;
    }

    /// `acked` bytes were delivered in round `round` where `bw` bytes per second were expected (`UpdateACKAggregation`).
    #[inline]
    pub fn update(
        &mut self,
        now: Instant,
        acked: u64,
        cwnd: u64,
        bw: f64,
        round: u64,
        steady: bool,
    ) {
        let mut expected = bw * now.since(self.since).as_secs_f64();
        if self.delivered <= expected {
            self.delivered = 0.0;
            self.since = now;
            expected = 0.0;
        }
        self.delivered += acked as f64;
        let extra = (self.delivered - expected).min(cwnd as f64);
        if steady != self.steady {
            self.steady = steady;
            let kept = self.max.get();
            self.max = WindowedMax::new(if steady { ROUNDS } else { ROUNDS_STARTUP });
            self.max.reset(round, kept);
        }
        self.max.update(round, extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_of_ten_packets_show_as_ten_packets() {
        let mut a = Aggregation::default();
        // 1000 bytes each ms on average, delivered ten at a time.
        for i in 1..100u64 {
            a.update(Instant::from_millis(10 * i), 10_000, 1 << 20, 1e6, i, true);
        }
        assert!((a.extra() - 10_000.0).abs() < 1.0, "{}", a.extra());
        let mut b = Aggregation::default();
        for i in 1..100u64 {
            b.update(Instant::from_millis(i), 1000, 1 << 20, 1e6, i / 10, true);
        }
        assert!(b.extra() <= 1000.0);
    }

    #[test]
    fn start_up_remembers_one_round() {
        let mut a = Aggregation::default();
        a.update(Instant::from_millis(1), 50_000, 1 << 20, 1e6, 0, false);
        for i in 1..=3u64 {
            a.update(
                Instant::from_millis(1 + 60 * i),
                1000,
                1 << 20,
                1e6,
                i,
                false,
            );
        }
        assert!(a.extra() <= 1000.0, "{}", a.extra());
    }
}
