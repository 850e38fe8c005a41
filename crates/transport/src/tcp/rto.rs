//! RTT estimation and the retransmission timeout (RFC 6298), by the rules of Linux `tcp_rtt_estimator`.

use slackwater_core::{Duration, Instant};

/// Smoothed RTT, its deviation, the timeout and its back-off.
#[derive(Clone, Debug)]
pub(crate) struct Rtt {
    /// Eight times the smoothed RTT in nanoseconds; zero before the first sample.
    srtt8: u64,
    /// Four times the mean deviation.
    mdev4: u64,
    /// The largest `mdev4` of this round.
    mdev_max: u64,
    /// What is added to the smoothed RTT: four times the deviation, never below the minimum.
    rttvar: u64,
    /// The round ends when this position is acknowledged.
    round_end: u64,
    /// The last sample.
    latest: Duration,
    /// The least sample so far.
    min: Duration,
    /// The timeout, back-off included.
    rto: Duration,
    /// The least variance term.
    min_rto: Duration,
    /// The longest timeout.
    max_rto: Duration,
}

impl Rtt {
    pub(crate) fn new(initial: Duration, min_rto: Duration, max_rto: Duration) -> Self {
        Self {
            srtt8: 0,
            mdev4: 0,
            mdev_max: 0,
            rttvar: 0,
            round_end: 0,
            latest: Duration::ZERO,
            min: Duration::MAX,
            rto: initial,
            min_rto,
            max_rto,
        }
    }

    /// Takes the sample `rtt` for the estimator and `fresh`, the shortest that the same ACK gives, for the minimum.
    /// `una` and `nxt` delimit rounds.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Duration, fresh: Duration, una: u64, nxt: u64) {
        self.latest = fresh;
        self.min = self.min.min(fresh);
        let m = rtt.as_nanos().max(1);
        let floor = self.min_rto.as_nanos();
        if self.srtt8 == 0 {
            // RFC 6298, 2.2: SRTT = R, RTTVAR = R/2, so that 4 * RTTVAR is twice the sample.
            self.srtt8 = m << 3;
            self.mdev4 = m << 1;
            self.rttvar = self.mdev4.max(floor);
            self.mdev_max = self.rttvar;
            self.round_end = nxt;
        } else {
            let error = m as i64 - (self.srtt8 >> 3) as i64;
            self.srtt8 = (self.srtt8 as i64 + error) as u64;
            let mut deviation = error.abs() - (self.mdev4 >> 2) as i64;
            if error < 0 && deviation > 0 {
                // A sudden fall of the RTT must not raise the timeout (Eifel; Linux `tcp_rtt_estimator`).
                deviation >>= 3;
            }
            self.mdev4 = (self.mdev4 as i64 + deviation) as u64;
            if self.mdev4 > self.mdev_max {
                self.mdev_max = self.mdev4;
                self.rttvar = self.rttvar.max(self.mdev_max);
            }
            if una > self.round_end {
                if self.mdev_max < self.rttvar {
                    self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
                }
                self.round_end = nxt;
                self.mdev_max = floor;
            }
        }
        let rto = Duration::from_nanos((self.srtt8 >> 3) + self.rttvar);
        self.rto = rto.min(self.max_rto);
    }

    /// Doubles the timeout after it ran out (RFC 6298, 5.5).
    pub(crate) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.max_rto);
    }

    /// The present timeout, back-off included.
    #[inline]
    pub(crate) const fn rto(&self) -> Duration {
        self.rto
    }

    /// Smoothed RTT; zero before the first sample.
    #[inline]
    pub(crate) const fn srtt(&self) -> Duration {
        Duration::from_nanos(self.srtt8 >> 3)
    }

    /// Least sample; zero before the first.
    #[inline]
    pub(crate) const fn min(&self) -> Duration {
        if self.srtt8 == 0 {
            Duration::ZERO
        } else {
            self.min
        }
    }

    /// The last sample.
    pub(crate) const fn latest(&self) -> Duration {
        self.latest
    }

    /// The least variance term.
    pub(crate) const fn min_rto(&self) -> Duration {
        self.min_rto
    }

    /// Wait before probe `n` of a closed window (RFC 9293, 3.8.6.1: as the retransmission timer, doubling).
    pub(crate) fn persist(&self, now: Instant, n: u32) -> Instant {
        let base = self.rto.max(self.min_rto).as_nanos();
        let wait = base.saturating_mul(1 << n.min(30));
        now + Duration::from_nanos(wait).min(self.max_rto)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn rtt() -> Rtt {
        Rtt::new(MS(1000), MS(200), Duration::from_secs(120))
    }

    #[test]
    fn first_sample_and_floor() {
        let mut r = rtt();
        assert_eq!(r.rto(), MS(1000));
        r.sample(MS(300), MS(300), 0, 10);
        assert_eq!((r.srtt(), r.rto()), (MS(300), MS(900)), "SRTT + 4 * R/2");
        let mut r = rtt();
        r.sample(MS(40), MS(40), 0, 10);
        assert_eq!(r.rto(), MS(240), "the variance term is at least 200 ms");
    }

    #[test]
    fn a_steady_path_approaches_srtt_plus_200_ms() {
        let mut r = rtt();
        for i in 0..200 {
            r.sample(MS(300), MS(300), i * 10 + 1, i * 10 + 10);
        }
        assert_eq!(r.srtt(), MS(300));
        assert!(r.rto() < MS(501) && r.rto() >= MS(500), "{}", r.rto());
    }

    #[test]
    fn back_off_doubles_until_the_next_sample_and_stops_at_the_maximum() {
        let mut r = rtt();
        r.sample(MS(40), MS(40), 0, 1);
        r.back_off();
        r.back_off();
        assert_eq!(r.rto(), MS(960));
        for _ in 0..20 {
            r.back_off();
        }
        assert_eq!(r.rto(), Duration::from_secs(120));
        r.sample(MS(40), MS(40), 1, 2);
        assert!(r.rto() < MS(300));
    }

    #[test]
    fn a_falling_rtt_does_not_raise_the_timeout_much() {
        let mut up = rtt();
        let mut down = rtt();
        for i in 0..100 {
            up.sample(MS(500), MS(500), i + 1, i + 1);
            down.sample(MS(500), MS(500), i + 1, i + 1);
        }
        up.sample(MS(900), MS(900), 101, 102);
        down.sample(MS(100), MS(100), 101, 102);
        assert!(down.rto() < up.rto() && down.min() == MS(100));
    }
}
