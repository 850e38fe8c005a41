//! PI2: a proportional integral controller whose output is squared for classic traffic and coupled to scalable traffic
//! (RFC 9332, appendix A; De Schepper et al., `CoNEXT` 2016).
//!
//! As a [`Law`] it watches over one queue that both kinds share, as in the article: scalable packets are marked with k
//! p', classic ones marked or dropped with p'^2, so that the flows of both get about the same rate, all with the same
//! delay. [`DualQ`](crate::DualQ) gives scalable packets a queue of their own. Appearances of a probability are spread
//! evenly (`recur` in the RFC), not drawn.
//!
//! The periodic update has no timer: it is made up for at the next call.

use slackwater_core::{Draw, Duration, Instant};

use super::parameters::{Key, Parameters, keys};
use crate::{Law, PacketMeta, QueueView, Verdict};

/// The parameters of a [`Pi2`]. The defaults are those of RFC 9332, figure 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pi2Config {
    /// Delay of the classic queue to hold.
    pub target: Duration,
    /// The longest round trip among the bulk of traffic; gains follow from it.
    pub rtt_max: Duration,
    /// k, the coupling factor: scalable packets are marked with k p' where classic ones meet p'^2.
    pub coupling: f64,
}

impl Default for Pi2Config {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            rtt_max: Duration::from_millis(100),
            coupling: 2.0,
        }
    }
}

impl Parameters for Pi2Config {
    type Law = Pi2;
    const NAME: &'static str = "pi2";
    const ABOUT: &'static str = "PI2, coupled for scalable and classic traffic (RFC 9332).";
    const KEYS: &'static [Key<Self>] = keys! {
        /// Delay to keep.
        target = target in Time(Duration::from_micros(1), Duration::from_secs(10)),
        /// The longest round trip of most traffic; the gains follow from it.
        rtt_max = rtt_max in Time(Duration::from_millis(1), Duration::from_secs(10)),
        /// k, the coupling factor.
        coupling = coupling in Number(0.0, 100.0),
    };

    fn build(&self, _draw: Draw) -> Pi2 {
        Pi2::new(*self)
    }
}

impl Pi2Config {
    /// Time between updates (RFC 9332, figure 2, line 12).
    pub fn period(&self) -> Duration {
        self.target
            .min(self.rtt_max / 3)
            .max(Duration::from_micros(100))
    }

    /// Integral gain in 1/s (RFC 9332, figure 2, line 13).
    pub fn alpha(&self) -> f64 {
        0.1 * self.period().as_secs_f64() / square(self.rtt_secs())
    }

    /// Proportional gain in 1/s (RFC 9332, figure 2, line 14).
    pub fn beta(&self) -> f64 {
        0.3 / self.rtt_secs()
    }

    fn rtt_secs(&self) -> f64 {
        self.rtt_max.max(Duration::from_micros(100)).as_secs_f64()
    }
}

fn square(x: f64) -> f64 {
    x * x
}

/// Whether something that appears with a likelihood appears now, evenly spread (`recur` of RFC 9332, figure 5).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recur(f64);

impl Recur {
    #[inline]
    pub(crate) fn appears(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood;
        let due = self.0 > 1.0;
        if due {
            self.0 -= 1.0;
        }
        due
    }
}

/// The controller, and which packets it hits.
#[derive(Clone, Debug)]
pub struct Pi2 {
    config: Pi2Config,
    alpha: f64,
    beta: f64,
    period: Duration,
    /// p'.
    base: f64,
    /// The delay at the last update.
    delay_old: Duration,
    next_update: Option<Instant>,
    /// The delay that a [`Law`]'s caller gave last.
    delay: Duration,
    classic: Recur,
    scalable: Recur,
}

impl Pi2 {
    /// A controller in its initial state.
    pub fn new(config: Pi2Config) -> Self {
        Self {
            config,
            alpha: config.alpha(),
            beta: config.beta(),
            period: config.period(),
            base: 0.0,
            delay_old: Duration::ZERO,
            next_update: None,
            delay: Duration::ZERO,
            classic: Recur::default(),
            scalable: Recur::default(),
        }
    }

    /// p', the base probability.
    pub const fn base(&self) -> f64 {
        self.base
    }

    /// `p_C`: that a classic packet is marked or dropped.
    pub const fn classic_chance(&self) -> f64 {
        self.base * self.base
    }

    /// `p_CL`: that the coupling marks a scalable packet.
    pub const fn coupled_chance(&self) -> f64 {
        (self.config.coupling * self.base).min(1.0)
    }

    /// True where marks no longer suffice: the coupled probability has reached `p_Lmax` = 1, the classic one
    /// `p_Cmax` = 1/k^2 (RFC 9332, A.2).
    pub const fn is_overloaded(&self) -> bool {
        self.config.coupling * self.base >= 1.0
    }

    /// Makes up for the updates that were due up to `now`; `delay_at` gives the delay at an instant since the last
    /// call. For RFC 9332's A.2 that is the larger of both queues'.
    pub fn update_until(&mut self, now: Instant, delay_at: impl Fn(Instant) -> Duration) {
        /// Updates made up for in one call: beyond the controller has long settled.
        const MOST: u32 = 100_000;
        let Some(mut next) = self.next_update else {
            self.next_update = Some(now.saturating_add(self.period));
            return;
        };
        let mut left = MOST;
        while now >= next {
            let before = (self.base, self.delay_old);
            self.update(delay_at(next));
            left -= 1;
            let rests = before == (self.base, self.delay_old);
            let stuck = self.base >= 1.0
                && self.delay_old >= self.config.target
                && self.delay_old >= before.1;
            if rests || stuck || left == 0 {
                let missed = now.since(next) / self.period;
                next = next.saturating_add(self.period * missed);
                self.delay_old = delay_at(next);
            }
            next = next.saturating_add(self.period);
            if next == Instant::MAX {
                break;
            }
        }
        self.next_update = Some(next);
    }

    /// `dualpi2_update` of RFC 9332, figure 6.
    fn update(&mut self, delay: Duration) {
        let now = delay.as_secs_f64();
        let error = now - self.config.target.as_secs_f64();
        let step = self.alpha * error + self.beta * (now - self.delay_old.as_secs_f64());
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.delay_old = delay;
    }

    /// What becomes of a classic packet (RFC 9332, figures 4 and 8): marked, or dropped where it cannot be or where
    /// overload disables ECN.
    pub fn hit_classic(&mut self) -> Verdict {
        if !self.classic.appears(self.classic_chance()) {
            Verdict::Pass
        } else if self.is_overloaded() {
            Verdict::Drop
        } else {
            Verdict::Mark
        }
    }

    /// What becomes of a scalable packet (RFC 9332, figures 4 and 8) that the AQM of its own queue would mark with
    /// chance `native`.
    pub fn hit_scalable(&mut self, native: f64) -> Verdict {
        let coupled = self.coupled_chance();
        if self.is_overloaded() && self.scalable.appears(self.classic_chance()) {
            return Verdict::Drop;
        }
        let chance = if self.is_overloaded() {
            coupled
        } else {
            native.max(coupled)
        };
        if self.scalable.appears(chance) {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }
}

impl Law for Pi2 {
    fn on_enqueue(
        &mut self,
        now: Instant,
        delay: Duration,
        _queue: &QueueView,
        _packet: &PacketMeta,
    ) -> Verdict {
        let last = self.delay;
        self.update_until(now, |_| last);
        self.delay = delay;
        Verdict::Pass
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        delay: Duration,
        queue: &QueueView,
        packet: &PacketMeta,
    ) -> Verdict {
        let last = self.delay;
        self.update_until(now, |_| last);
        self.delay = if queue.packets == 0 {
            Duration::ZERO
        } else {
            delay
        };
        if packet.ecn.is_scalable() {
            self.hit_scalable(0.0)
        } else {
            self.hit_classic()
        }
    }

    fn on_empty(&mut self, now: Instant) {
        let last = self.delay;
        self.update_until(now, |_| last);
        self.delay = Duration::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Ecn;

    use super::*;

    fn ms(ms: f64) -> Duration {
        Duration::from_secs_f64(ms / 1e3)
    }

    /// Figure 2 with its own parameters: 15 ms, 0.1 * 0.015 / 0.1^2, 0.3 / 0.1.
    #[test]
    fn the_gains_follow_from_the_round_trip() {
        let c = Pi2Config::default();
        assert_eq!(c.period(), Duration::from_millis(15));
        assert!((c.alpha() - 0.15).abs() < 1e-12, "{}", c.alpha());
        assert!((c.beta() - 3.0).abs() < 1e-12, "{}", c.beta());
        let short = Pi2Config {
            rtt_max: Duration::from_millis(30),
            ..c
        };
        assert_eq!(short.period(), Duration::from_millis(10));
        assert!((short.beta() - 10.0).abs() < 1e-12, "{}", short.beta());
    }

    /// Hand-computed from figure 6: p' += 0.15 (q - 0.015) + 3 (q - `q_old`).
    #[test]
    fn the_update_follows_figure_6() {
        let mut law = Pi2::new(Pi2Config::default());
        let mut p = 0.0;
        for (q, step) in [
            (0.0, 0.0), // bounded at 0
            (20.0, 0.15 * 0.005 + 3.0 * 0.020),
            (30.0, 0.15 * 0.015 + 3.0 * 0.010),
            (30.0, 0.15 * 0.015),
            (15.0, 3.0 * -0.015),
            (15.0, 0.0),
        ] {
            law.update(ms(q));
            p += step;
            assert!((law.base() - p).abs() < 1e-12, "{q}: {} {p}", law.base());
        }
        assert!((law.classic_chance() - p * p).abs() < 1e-12);
        assert!((law.coupled_chance() - 2.0 * p).abs() < 1e-12);
        law.update(ms(1000.0));
        assert_eq!((law.base(), law.coupled_chance()), (1.0, 1.0));
    }

    #[test]
    fn appearances_are_spread_evenly() {
        // The count must exceed one: 0.5, 1.0, 1.5!, 1.0, 1.5!
        let mut half = Recur::default();
        let seen: Vec<bool> = (0..5).map(|_| half.appears(0.5)).collect();
        assert_eq!(seen, [false, false, true, false, true]);
        let mut rare = Recur::default();
        assert_eq!((0..10_001).filter(|_| rare.appears(0.01)).count(), 100);
    }

    fn hits(law: &mut Pi2, ecn: Ecn, n: u32) -> (u32, u32) {
        let full = QueueView {
            bytes: slackwater_core::Bytes(100_000),
            packets: 70,
        };
        let (mut marks, mut drops) = (0, 0);
        for _ in 0..n {
            let packet = PacketMeta { len: 1500, ecn };
            match law.on_dequeue(Instant::ZERO, Duration::ZERO, &full, &packet) {
                Verdict::Pass => {}
                Verdict::Mark => marks += 1,
                Verdict::Drop => drops += 1,
            }
        }
        (marks, drops)
    }

    #[test]
    fn classic_traffic_meets_the_square_and_scalable_traffic_the_product() {
        for (p, classic, scalable) in [(0.05, 25, 1000), (0.2, 400, 4000), (0.49, 2401, 9800)] {
            let mut law = Pi2::new(Pi2Config::default());
            law.base = p;
            for ecn in [Ecn::NotEct, Ecn::Ect0] {
                law.classic = Recur::default();
                let (marks, drops) = hits(&mut law, ecn, 10_000);
                assert!(marks.abs_diff(classic) <= 1 && drops == 0, "{p} {marks}");
            }
            let (marks, drops) = hits(&mut law, Ecn::Ect1, 10_000);
            assert!(marks.abs_diff(scalable) <= 1 && drops == 0, "{p} {marks}");
        }
    }

    #[test]
    fn overload_drops_whatever_the_field_says() {
        let mut law = Pi2::new(Pi2Config::default());
        law.base = 0.5;
        assert!(law.is_overloaded());
        // p_C = 1/k^2 = 1/4 of both kinds is dropped, all that is left of the scalable ones is marked.
        assert_eq!(hits(&mut law, Ecn::Ect0, 10_001), (0, 2500));
        let (marks, drops) = hits(&mut law, Ecn::Ect1, 10_000);
        assert!((2400..=3400).contains(&drops), "{drops}");
        assert!(marks + drops > 9_900, "{marks} {drops}");
    }

    #[test]
    fn updates_happen_each_period_however_rare_the_calls() {
        let run = |step_us: u64| {
            let mut law = Pi2::new(Pi2Config::default());
            for t in (0..=900_000).step_by(step_us as usize) {
                law.update_until(Instant::from_nanos(t * 1000), |at| {
                    Duration::from_nanos(at.as_nanos() / 50)
                });
            }
            law.base()
        };
        assert_eq!(run(100), run(15_000));
        assert_eq!(run(100), run(300_000));
        assert!(run(100) > 0.0);
    }

    /// RFC 9332, appendix A.1: an empty queue has no delay, so that the probability falls while nothing waits.
    #[test]
    fn an_empty_queue_lets_the_probability_fall() {
        let after = |empties: bool| {
            let mut law = Pi2::new(Pi2Config::default());
            law.base = 0.3;
            let (full, packet) = (
                QueueView {
                    bytes: slackwater_core::Bytes(100_000),
                    packets: 70,
                },
                PacketMeta {
                    len: 1500,
                    ecn: Ecn::Ect0,
                },
            );
            law.on_dequeue(Instant::ZERO, ms(30.0), &full, &packet);
            if empties {
                law.on_empty(Instant::from_millis(1));
            }
            law.on_enqueue(Instant::from_millis(3_000), ms(0.0), &full, &packet);
            law.base()
        };
        assert_eq!(after(true), 0.0);
        assert!(after(false) > 0.3);
    }

    #[test]
    fn a_century_costs_nothing() {
        let mut law = Pi2::new(Pi2Config::default());
        law.update_until(Instant::ZERO, |_| Duration::ZERO);
        law.base = 0.4;
        let far = Instant::from_nanos(u64::MAX / 2);
        law.update_until(far, |at| at.since(Instant::ZERO));
        assert_eq!(law.base(), 1.0);
        law.update_until(Instant::from_nanos(u64::MAX - 1), |_| Duration::ZERO);
        assert_eq!(law.base(), 0.0);
    }
}
