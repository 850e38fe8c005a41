//! Limits on flows that do not answer to signals (the article: "flow-specific shaping to a level where the flow does
//! not generate congestion in the bottleneck").

use slackwater_core::{Bytes, Duration, Instant, Rate};

use super::bucket::Bucket;

/// A packet later than this behind the limit is dropped.
const DEPTH: Duration = Duration::from_millis(20);
/// A flow that stays below nine tenths of its limit for so long is freed.
const PAROLE: Duration = Duration::from_secs(10);

/// The limit of one flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Police {
    bucket: Bucket,
    rate: f64,
    adjusted: Instant,
    calm_since: Instant,
}

/// What the limit follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// The rate that each active flow could have.
    pub(super) fair: Rate,
    /// The least limit.
    pub(super) floor: Rate,
    pub(super) average: Duration,
    pub(super) above_target: bool,
}

impl Police {
    pub(super) fn new(now: Instant, arrivals: Rate, share: &Share) -> Self {
        let rate = arrivals.min(share.fair).max(share.floor).as_bps() as f64;
        let mut police = Self {
            bucket: Bucket::open(),
            rate,
            adjusted: now,
            calm_since: now,
        };
        police.apply(now);
        police
    }

    fn apply(&mut self, now: Instant) {
        let rate = Rate::from_bps(self.rate as u64).max(Rate::from_bps(8_000));
        let depth = rate.bytes_in(DEPTH).max(Bytes(3_000));
        self.bucket.set(now, rate, depth);
    }

    /// Once an average RTT: down by 15 % above the target, up by 5 % of the fair share below.
    fn adjust(&mut self, now: Instant, share: &Share) {
        if now.since(self.adjusted) < share.average.max(Duration::from_millis(1)) {
            return;
        }
        self.adjusted = now;
        if share.above_target {
            self.rate = (0.85 * self.rate).max(share.floor.as_bps() as f64);
        } else {
            self.rate += 0.05 * share.fair.as_bps() as f64;
        }
        self.apply(now);
    }

    /// Whether a packet may pass. `None`: the flow is free again.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        len: u32,
        arrivals: Rate,
        share: &Share,
    ) -> Option<bool> {
        self.adjust(now, share);
        if arrivals.as_bps() as f64 >= 0.9 * self.rate {
            self.calm_since = now;
        } else if now.since(self.calm_since) >= PAROLE {
            return None;
        }
        let passes = self.bucket.ready() <= now;
        if passes {
            self.bucket.pay(now, len);
        }
        Some(passes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_just_below_its_limit_stays_and_a_tenth_below_frees_it() {
        // The limit stands at its floor.
        let share = Share {
            fair: Rate::from_mbps(10.0),
            floor: Rate::from_mbps(10.0),
            average: Duration::from_millis(50),
            above_target: true,
        };
        let freed = |arrivals: f64| {
            let arrivals = Rate::from_mbps(arrivals);
            let mut police = Police::new(Instant::ZERO, Rate::from_mbps(40.0), &share);
            (1..60).any(|s| {
                police
                    .admit(Instant::from_millis(s * 1000), 1500, arrivals, &share)
                    .is_none()
            })
        };
        assert!(!freed(9.5));
        assert!(freed(8.5));
    }

    #[test]
    fn the_limit_falls_while_there_is_a_queue_and_ends_when_the_flow_behaves() {
        let mut share = Share {
            fair: Rate::from_mbps(10.0),
            floor: Rate::from_mbps(0.5),
            average: Duration::from_millis(50),
            above_target: true,
        };
        let flood = Rate::from_mbps(40.0);
        let mut police = Police::new(Instant::ZERO, flood, &share);
        assert_eq!(police.rate, 10e6);
        let mut passed = 0_u64;
        for i in 0..10_000_u64 {
            let now = Instant::from_nanos(i * 300_000);
            passed += u64::from(police.admit(now, 1500, flood, &share) == Some(true)) * 1500;
        }
        // It decays to the floor within 1 s and stays for 2 s.
        assert!(police.rate < 0.6e6);
        assert!(passed * 8 < 6_000_000, "{passed}");
        share.above_target = false;
        let slow = Rate::from_mbps(0.1);
        let mut freed = None;
        for s in 3..60_u64 {
            let now = Instant::from_millis(s * 1000);
            if police.admit(now, 1500, slow, &share).is_none() {
                freed = Some(s);
                break;
            }
        }
        assert!((12..=14).contains(&freed.expect("freed")), "{freed:?}");
    }
}
