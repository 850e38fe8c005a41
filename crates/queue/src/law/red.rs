//! RED, random early detection (Floyd, Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on
//! Networking 1(4), 1993), with Floyd's gentle slope above the upper threshold ("Recommendation on using the gentle variant of RED", 2000).
//!
//! ECN-capable packets are marked while the average lies below the upper threshold, and dropped beyond it (RFC 3168, 7).

use slackwater_core::{Bytes, Draw, Duration, Instant};

use super::parameters::{Key, Parameters, keys};
use crate::{Law, PacketMeta, QueueView, Verdict};

/// The parameters of a [`Red`]; names in quotes are the paper's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// `min_th`: an average below it lets everything pass.
    pub min: Bytes,
    /// `max_th`: an average above it lets little pass.
    pub max: Bytes,
    /// `max_p`: the probability at the upper threshold.
    pub probability: f64,
    /// `w_q`: weight of a new packet's view in the average.
    pub weight: f64,
    /// `s`: time that a small packet takes on the link.
    pub packet_time: Duration,
    /// Above the upper threshold the probability rises to 1 at twice of it; else it is 1 at once.
    pub gentle: bool,
    /// Mark ECN-capable packets in place of dropping them.
    pub ecn: bool,
}

impl Default for RedConfig {
    fn default() -> Self {
        Self {
            // 5 and 15 packets of 1,500 bytes, 0.1 and 0.002 (Floyd, "RED: Discussions of Setting Parameters", 1997).
            min: Bytes(7_500),
            max: Bytes(22_500),
            probability: 0.1,
            weight: 0.002,
            // 1,500 bytes at 12 Mbit/s.
            packet_time: Duration::from_millis(1),
            gentle: true,
            ecn: true,
        }
    }
}

impl Parameters for RedConfig {
    type Law = Red;
    const NAME: &'static str = "red";
    const ABOUT: &'static str = "RED, gentle (Floyd and Jacobson, 1993).";
    const KEYS: &'static [Key<Self>] = keys! {
        /// An average below this many bytes lets everything pass.
        min = min in Data(Bytes(1), Bytes(1_000_000_000)),
        /// An average above this many bytes lets little pass.
        max = max in Data(Bytes(1), Bytes(1_000_000_000)),
        /// Probability of a drop or mark where the average is at `max`.
        probability = probability in Number(0.0, 1.0),
        /// Weight of the queue at an arrival in the average.
        weight = weight in Number(0.0, 1.0),
        /// Time that a packet takes on the link: how fast the average falls while the queue is empty.
        packet_time = packet_time in Time(Duration::from_nanos(1), Duration::from_secs(1)),
        /// Above `max` the probability rises to 1 at twice `max`; else it is 1 at once.
        gentle = gentle in Flag,
        /// Mark ECN-capable packets in place of dropping them.
        ecn = ecn in Flag,
    };

    fn build(&self, draw: Draw) -> Red {
        Red {
            config: *self,
            draw,
            drawn: 0,
            average: 0.0,
            since: 0,
            idle: Some(Instant::ZERO),
        }
    }
}

/// The state.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    /// Decides the drops.
    draw: Draw,
    /// Numbers taken of it.
    drawn: u64,
    /// `avg`: the average of the bytes that wait.
    average: f64,
    /// `count`: packets since the last drop or mark.
    since: u64,
    /// Since when the queue is empty.
    idle: Option<Instant>,
}

impl Red {
    /// The average with the queue that an arrival at `now` meets.
    fn update(&mut self, now: Instant, queue: &QueueView) {
        if let Some(idle) = self.idle.take() {
            // As if `m` small packets had met an empty queue.
            let small = now.since(idle).as_secs_f64() / self.config.packet_time.as_secs_f64();
            self.average *= libm::pow(1.0 - self.config.weight, small);
        }
        self.average += self.config.weight * (queue.bytes.0 as f64 - self.average);
    }

    /// `p_b`: the probability by the average alone.
    fn probability(&self) -> f64 {
        let c = &self.config;
        let (min, max) = (c.min.0 as f64, c.max.0 as f64);
        match self.average {
            average if average < min => 0.0,
            average if average < max => c.probability * (average - min) / (max - min),
            average if c.gentle => {
                (c.probability + (1.0 - c.probability) * (average - max) / max).min(1.0)
            }
            _ => 1.0,
        }
    }
}

impl Law for Red {
    fn on_enqueue(
        &mut self,
        now: Instant,
        _delay: Duration,
        queue: &QueueView,
        packet: &PacketMeta,
    ) -> Verdict {
        self.update(now, queue);
        let p = self.probability();
        if p <= 0.0 {
            self.since = 0;
            return Verdict::Pass;
        }

        // `p_a`: gaps between drops are uniform, not geometric (Floyd and Jacobson, 7).
        let left = 1.0 - self.since as f64 * p;
        let hit = left <= p || {
            self.drawn += 1;
            self.draw.uniform(self.drawn) < p / left
        };
        if !hit {
            self.since += 1;
            return Verdict::Pass;
        }
        self.since = 0;
        let marks =
            self.config.ecn && packet.ecn.is_capable() && self.average < self.config.max.0 as f64;
        if marks { Verdict::Mark } else { Verdict::Drop }
    }

    fn on_empty(&mut self, now: Instant) {
        self.idle.get_or_insert(now);
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Ecn;

    use super::*;

    /// Verdicts for `count` arrivals, one each millisecond, at a queue of `bytes`.
    fn verdicts(config: RedConfig, bytes: u64, ecn: Ecn, count: u64) -> Vec<Verdict> {
        let mut law = config.build(Draw::new(7));
        law.idle = None;
        let queue = QueueView {
            bytes: Bytes(bytes),
            packets: bytes.div_ceil(1500) as u32,
        };
        let packet = PacketMeta { len: 1500, ecn };
        let at = |ms| Instant::from_millis(ms);
        (0..count)
            .map(|ms| law.on_enqueue(at(ms), Duration::ZERO, &queue, &packet))
            .collect()
    }

    fn share(verdicts: &[Verdict], wanted: Verdict) -> f64 {
        let hits = verdicts.iter().filter(|v| **v == wanted).count();
        hits as f64 / verdicts.len() as f64
    }

    #[test]
    fn a_burst_passes_and_a_standing_queue_is_hit_at_its_probability() {
        // 22 packets in a row on an empty average: it has moved by 4 %.
        let burst = verdicts(RedConfig::default(), 30_000, Ecn::NotEct, 22);
        assert_eq!(share(&burst, Verdict::Pass), 1.0);

        // Half way between the thresholds: p_b is 5 %, gaps are uniform over 1 to 20, their mean 10.5.
        let standing = verdicts(RedConfig::default(), 15_000, Ecn::NotEct, 40_000);
        let hits = share(&standing[5_000..], Verdict::Drop);
        assert!((hits - 1.0 / 10.5).abs() < 0.003, "{hits}");
        let mut gap = 0;
        for verdict in &standing[5_000..] {
            gap = if *verdict == Verdict::Pass {
                gap + 1
            } else {
                0
            };
            assert!(gap < 21, "a gap is at most 1 / p_b");
        }
    }

    #[test]
    fn capable_packets_are_marked_below_the_upper_threshold_and_dropped_beyond() {
        let below = verdicts(RedConfig::default(), 20_000, Ecn::Ect0, 10_000);
        assert_eq!(share(&below, Verdict::Drop), 0.0);
        assert!(share(&below[5_000..], Verdict::Mark) > 0.1);
        let beyond = verdicts(RedConfig::default(), 100_000, Ecn::Ect0, 10_000);
        assert_eq!(share(&beyond[5_000..], Verdict::Drop), 1.0);
    }

    /// "gentle": from `max_p` at the upper threshold the probability rises evenly to 1 at twice of it. Without it, it is 1 at once.
    #[test]
    fn beyond_the_upper_threshold_the_slope_is_gentle_or_a_cliff() {
        for (average, gentle, cliff) in [
            (22_499.0, 0.1, 0.1),
            (22_501.0, 0.1, 1.0),
            // Half way to twice the threshold: half way from 0.1 to 1.
            (33_750.0, 0.55, 1.0),
            (45_000.0, 1.0, 1.0),
            (90_000.0, 1.0, 1.0),
        ] {
            for (is_gentle, wanted) in [(true, gentle), (false, cliff)] {
                let config = RedConfig {
                    gentle: is_gentle,
                    ..RedConfig::default()
                };
                let mut law = config.build(Draw::new(1));
                law.average = average;
                let p = law.probability();
                assert!((p - wanted).abs() < 1e-4, "{average} {is_gentle}: {p}");
            }
        }
    }

    #[test]
    fn the_average_falls_while_the_queue_is_empty() {
        let mut law = RedConfig::default().build(Draw::new(1));
        (law.average, law.idle) = (10_000.0, Some(Instant::ZERO));
        let empty = QueueView {
            bytes: Bytes(0),
            packets: 0,
        };
        // 500 packets' time: 0.998^500 is 0.3675; the arrival itself takes another 0.2 %.
        law.update(Instant::from_millis(500), &empty);
        assert!((law.average - 3_667.8).abs() < 1.0, "{}", law.average);
    }
}
