//! PIE, proportional integral controller enhanced (RFC 8033).
//!
//! The delay is that of the packet at the head of the queue, from time stamps (RFC 8033, 5.2, second way), so that no
//! departure rate is estimated. The periodic update has no timer: it is made up for at the next call, with the delay
//! seen last.

use slackwater_core::{Bytes, Draw, Duration, Instant};

use super::parameters::{Key, Parameters, keys};
use crate::{Law, PacketMeta, QueueView, Verdict};

/// The parameters of a [`Pie`]. The defaults are those of RFC 8033, 4 and 5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieConfig {
    /// `QDELAY_REF`, the delay to hold.
    pub target: Duration,
    /// `T_UPDATE`, the period at which the probability is computed.
    pub update: Duration,
    /// `MAX_BURST`, how long a burst passes unharmed after a calm.
    pub max_burst: Duration,
    /// Weight of the delay's distance from the target, in 1/s.
    pub alpha: f64,
    /// Weight of the delay's change, in 1/s.
    pub beta: f64,
    /// Mark ECN-capable packets in place of dropping them while the probability is below `ecn_threshold`.
    pub ecn: bool,
    /// The probability from which capable packets are dropped too (RFC 8033, 5.1: 10 %).
    pub ecn_threshold: f64,
    /// Spread drops evenly (RFC 8033, 5.4).
    pub derandomize: bool,
    /// `MEAN_PKTSIZE`: with two of these or less waiting nothing is dropped (RFC 8033, 4.1).
    pub mean_packet: Bytes,
}

impl Default for PieConfig {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            update: Duration::from_millis(15),
            max_burst: Duration::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            ecn: true,
            ecn_threshold: 0.1,
            derandomize: true,
            mean_packet: Bytes(1024),
        }
    }
}

impl Parameters for PieConfig {
    type Law = Pie;
    const NAME: &'static str = "pie";
    const ABOUT: &'static str = "PIE (RFC 8033).";
    const KEYS: &'static [Key<Self>] = keys! {
        /// Delay to keep.
        target = target in Time(Duration::from_micros(1), Duration::from_secs(10)),
        /// How often the drop probability is updated.
        update = update in Time(Duration::from_micros(100), Duration::from_secs(10)),
        /// Bursts up to this long pass untouched.
        burst = max_burst in Time(Duration::ZERO, Duration::from_secs(10)),
        /// Mark ECN-capable packets in place of dropping them.
        ecn = ecn in Flag,
    };

    fn build(&self, draw: Draw) -> Pie {
        Pie::new(*self, draw)
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Pie {
    config: PieConfig,
    draw: Draw,
    drawn: u64,
    probability: f64,
    /// Probabilities summed since the last drop, for de-randomisation.
    accumulated: f64,
    burst: Duration,
    /// The delay seen last.
    delay: Duration,
    /// The delay at the last update.
    delay_old: Duration,
    next_update: Option<Instant>,
}

impl Pie {
    /// A controller in its initial state; `draw` decides the drops.
    pub const fn new(config: PieConfig, draw: Draw) -> Self {
        Self {
            config,
            draw,
            drawn: 0,
            probability: 0.0,
            accumulated: 0.0,
            burst: config.max_burst,
            delay: Duration::ZERO,
            delay_old: Duration::ZERO,
            next_update: None,
        }
    }

    /// The probability at present that an arriving packet is dropped or marked.
    pub const fn probability(&self) -> f64 {
        self.probability
    }

    /// What is left of the burst allowance.
    pub const fn burst_allowance(&self) -> Duration {
        self.burst
    }

    /// Makes up for the updates that were due up to `now`, with the delay seen last.
    fn catch_up(&mut self, now: Instant) {
        /// Updates made up for in one call: at the default period four hours, far beyond where the law settles.
        const MOST: u32 = 1_000_000;
        let period = self.config.update.max(Duration::from_micros(1));
        let Some(mut next) = self.next_update else {
            self.next_update = Some(now.saturating_add(period));
            return;
        };
        let mut left = MOST;
        while now >= next {
            let before = (self.probability, self.burst, self.delay_old);
            let calm = self.is_calm() && self.burst == self.config.max_burst;
            if !calm {
                self.compute();
                left -= 1;
            }
            if calm || left == 0 || before == (self.probability, self.burst, self.delay_old) {
                // Nothing changes any more: skip to the period under way.
                let missed = now.since(next) / period;
                next = next.saturating_add(period * missed);
                self.delay_old = self.delay;
            }
            next = next.saturating_add(period);
            if next == Instant::MAX {
                break;
            }
        }
        self.next_update = Some(next);
    }

    /// No delay, and no memory of any.
    fn is_calm(&self) -> bool {
        self.probability == 0.0 && self.delay.is_zero() && self.delay_old.is_zero()
    }

    /// One update of the probability (RFC 8033, 4.2 and 5.1 to 5.3).
    fn compute(&mut self) {
        let c = &self.config;
        let (delay, old) = (self.delay.as_secs_f64(), self.delay_old.as_secs_f64());
        let mut p = c.alpha * (delay - c.target.as_secs_f64()) + c.beta * (delay - old);
        p *= tuning(self.probability);
        // RFC 8033, 5.1: no steps above 2 % once the probability is high.
        if self.probability >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.probability += p;
        // RFC 8033, 4.2: exponential decay when there is no congestion.
        if self.delay.is_zero() && self.delay_old.is_zero() {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.delay_old = self.delay;
        self.burst = self.burst.saturating_sub(c.update);
        self.refill_burst();
    }

    /// RFC 8033, 4.4: a calm queue earns its burst allowance again.
    fn refill_burst(&mut self) {
        let half = self.config.target / 2;
        if self.probability == 0.0 && self.delay < half && self.delay_old < half {
            self.burst = self.config.max_burst;
        }
    }

    /// `drop_early` of RFC 8033, 4.1, with de-randomisation (5.4).
    fn drops_early(&mut self, queue: &QueueView) -> bool {
        let calm = self.delay_old < self.config.target / 2 && self.probability < 0.2;
        if calm || queue.bytes <= self.config.mean_packet * 2 {
            return false;
        }
        if self.config.derandomize {
            if self.probability == 0.0 {
                self.accumulated = 0.0;
            }
            self.accumulated += self.probability;
            if self.accumulated < 0.85 {
                return false;
            }
            if self.accumulated >= 8.5 {
                self.accumulated = 0.0;
                return true;
            }
        }
        self.drawn += 1;
        let drops = self.draw.uniform(self.drawn) < self.probability;
        if drops {
            self.accumulated = 0.0;
        }
        drops
    }
}

/// The factor that scales a step to the probability's order of magnitude (RFC 8033, 5.1, table).
fn tuning(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 1.0 / 2048.0,
        p if p < 0.000_01 => 1.0 / 512.0,
        p if p < 0.000_1 => 1.0 / 128.0,
        p if p < 0.001 => 1.0 / 32.0,
        p if p < 0.01 => 1.0 / 8.0,
        p if p < 0.1 => 1.0 / 2.0,
        _ => 1.0,
    }
}

impl Law for Pie {
    fn on_enqueue(
        &mut self,
        now: Instant,
        delay: Duration,
        queue: &QueueView,
        packet: &PacketMeta,
    ) -> Verdict {
        self.catch_up(now);
        self.delay = delay;
        if !self.burst.is_zero() {
            self.refill_burst();
            return Verdict::Pass;
        }
        if !self.drops_early(queue) {
            return Verdict::Pass;
        }
        let marks = self.config.ecn
            && packet.ecn.is_capable()
            && self.probability < self.config.ecn_threshold;
        if marks { Verdict::Mark } else { Verdict::Drop }
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        delay: Duration,
        _queue: &QueueView,
        _packet: &PacketMeta,
    ) -> Verdict {
        self.catch_up(now);
        self.delay = delay;
        Verdict::Pass
    }

    fn on_empty(&mut self, now: Instant) {
        self.catch_up(now);
        self.delay = Duration::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Ecn;

    use super::*;

    const FULL: QueueView = QueueView {
        bytes: Bytes(1_000_000),
        packets: 700,
    };

    fn packet(ecn: Ecn) -> PacketMeta {
        PacketMeta { len: 1500, ecn }
    }

    fn law(probability: f64, delay_ms: u64, old_ms: u64) -> Pie {
        let mut law = Pie::new(PieConfig::default(), Draw::new(3));
        law.probability = probability;
        law.delay = Duration::from_millis(delay_ms);
        law.delay_old = Duration::from_millis(old_ms);
        law.burst = Duration::ZERO;
        law
    }

    /// Hand-computed: p = tuning * (0.125 * (delay - 0.015) + 1.25 * (delay - old)), times in seconds.
    #[test]
    fn the_update_follows_the_table() {
        for (before, delay, old, after) in [
            // 0.125 * 0.015 + 1.25 * 0.010 = 0.014375, over 2048
            (0.0, 30, 20, 0.014_375 / 2048.0),
            (0.000_005, 30, 20, 0.000_005 + 0.014_375 / 512.0),
            (0.000_05, 30, 20, 0.000_05 + 0.014_375 / 128.0),
            (0.000_5, 30, 20, 0.000_5 + 0.014_375 / 32.0),
            (0.005, 30, 20, 0.005 + 0.014_375 / 8.0),
            (0.05, 30, 20, 0.05 + 0.014_375 / 2.0),
            (0.2, 30, 20, 0.214_375),
            // 0.125 * 0.085 + 1.25 * 0.1 = 0.135625, capped at 0.02
            (0.2, 100, 0, 0.22),
            // Falling: 0.125 * -0.010 + 1.25 * -0.015 = -0.02
            (0.5, 5, 20, 0.48),
            // Two calm updates: 0.125 * -0.015 = -0.001875, then 2 % less.
            (0.5, 0, 0, (0.5 - 0.001_875) * 0.98),
            (0.000_5, 0, 100, 0.0),
            (0.999, 30, 20, 1.0),
        ] {
            let mut law = law(before, delay, old);
            law.compute();
            let p = law.probability();
            assert!(
                (p - after).abs() < 1e-12,
                "{before} {delay} {old}: {p}, not {after}"
            );
        }
    }

    #[test]
    fn updates_happen_each_period_however_rare_the_calls() {
        let run = |step_us: u64| {
            let mut law = law(0.0, 40, 40);
            let mut t = 0;
            while t <= 900_000 {
                law.on_dequeue(
                    Instant::from_nanos(t * 1000),
                    Duration::from_millis(40),
                    &FULL,
                    &packet(Ecn::NotEct),
                );
                t += step_us;
            }
            law.probability()
        };
        assert_eq!(run(100), run(15_000));
        assert_eq!(run(100), run(300_000));
        assert!(run(100) > 0.0);
    }

    #[test]
    fn a_burst_passes_for_its_allowance_and_no_longer() {
        let mut law = Pie::new(
            PieConfig {
                ecn: false,
                ..PieConfig::default()
            },
            Draw::new(1),
        );
        let mut first_drop = None;
        for ms in 0..3000 {
            let delay = Duration::from_millis(200);
            if law.on_enqueue(Instant::from_millis(ms), delay, &FULL, &packet(Ecn::NotEct))
                != Verdict::Pass
            {
                first_drop = first_drop.or(Some(ms));
            }
        }
        assert!(first_drop.is_some_and(|ms| ms >= 150), "{first_drop:?}");
        assert!(law.probability() > 0.1);
        // Long calm: the probability decays to zero and the allowance returns.
        law.on_empty(Instant::from_millis(3000));
        law.on_empty(Instant::from_millis(60_000));
        assert_eq!(law.probability(), 0.0);
        assert_eq!(law.burst_allowance(), Duration::from_millis(150));
    }

    #[test]
    fn capable_packets_are_marked_below_the_threshold_and_dropped_above() {
        for (probability, verdict) in [(0.09, Verdict::Mark), (0.11, Verdict::Drop)] {
            let mut law = law(probability, 20, 20);
            let seen: Vec<Verdict> = (0..500)
                .map(|_| {
                    let delay = Duration::from_millis(20);
                    law.on_enqueue(Instant::ZERO, delay, &FULL, &packet(Ecn::Ect0))
                })
                .filter(|v| *v != Verdict::Pass)
                .collect();
            assert!(!seen.is_empty() && seen.iter().all(|v| *v == verdict));
        }
    }

    #[test]
    fn the_share_of_drops_is_near_the_probability() {
        let share = |derandomize| {
            let mut law = law(0.05, 20, 20);
            law.config.derandomize = derandomize;
            let drops = (0..100_000).filter(|_| law.drops_early(&FULL)).count();
            drops as f64 / 1e5
        };
        assert!((share(false) - 0.05).abs() < 0.003, "{}", share(false));
        // At least 17 packets pass between drops: 1 / (16 + 1 / 0.05).
        assert!((share(true) - 1.0 / 36.0).abs() < 0.002, "{}", share(true));
    }

    /// RFC 8033, 4.1: what `drop_early` decides is what becomes of an arrival.
    #[test]
    fn arrivals_are_hit_at_the_probability_and_a_short_queue_lets_all_pass() {
        let share = |queue: &QueueView| {
            let mut law = law(0.05, 20, 20);
            let hit = |_: &u32| {
                let delay = Duration::from_millis(20);
                law.on_enqueue(Instant::ZERO, delay, queue, &packet(Ecn::NotEct)) == Verdict::Drop
            };
            (0..50_000).filter(hit).count() as f64 / 5e4
        };
        assert!(
            (share(&FULL) - 1.0 / 36.0).abs() < 0.002,
            "{}",
            share(&FULL)
        );
        let short = QueueView {
            bytes: Bytes(1500),
            packets: 1,
        };
        assert_eq!(share(&short), 0.0);
    }

    /// RFC 8033, 4.2: the first update after a time without delay has the whole rise in its term of `beta`.
    #[test]
    fn the_first_delay_after_a_calm_time_counts_whole() {
        let mut law = Pie::new(PieConfig::default(), Draw::new(1));
        law.on_empty(Instant::ZERO);
        law.on_empty(Instant::from_millis(10_000));
        let meets = |law: &mut Pie, us: u64| {
            let delay = Duration::from_millis(40);
            law.on_dequeue(
                Instant::from_nanos(us * 1000),
                delay,
                &FULL,
                &packet(Ecn::NotEct),
            );
        };
        meets(&mut law, 10_001_000);
        meets(&mut law, 10_016_000);
        let wanted = (0.125 * 0.025 + 1.25 * 0.040) / 2048.0;
        assert!(
            (law.probability() - wanted).abs() < 1e-12,
            "{}",
            law.probability()
        );
    }

    #[test]
    fn a_short_queue_or_a_calm_one_is_spared() {
        let short = QueueView {
            bytes: Bytes(2048),
            packets: 2,
        };
        let mut spared = law(1.0, 20, 20);
        assert!((0..100).all(|_| !spared.drops_early(&short)));
        let mut calm = law(0.19, 20, 7);
        assert!((0..100).all(|_| !calm.drops_early(&FULL)));
        // RFC 8033, 4.1: calm is below 20 %.
        let mut hit = law(0.2, 20, 7);
        assert!((0..100).any(|_| hit.drops_early(&FULL)));
    }

    #[test]
    fn a_century_under_load_costs_nothing() {
        // At the end of its range, and with a step so small that it would take long to get there.
        for delay in [Duration::from_secs(1), Duration::from_nanos(15_000_001)] {
            let mut law = law(0.3, 15, 15);
            law.on_dequeue(Instant::ZERO, delay, &FULL, &packet(Ecn::NotEct));
            law.on_dequeue(
                Instant::from_nanos(u64::MAX - 1),
                delay,
                &FULL,
                &packet(Ecn::NotEct),
            );
            assert!(law.probability() > 0.3, "{delay}: {}", law.probability());
        }
    }

    #[test]
    fn an_idle_century_costs_nothing() {
        let mut law = law(0.3, 50, 50);
        law.on_empty(Instant::ZERO);
        law.on_empty(Instant::from_nanos(u64::MAX - 1));
        assert_eq!(law.probability(), 0.0);
    }
}
