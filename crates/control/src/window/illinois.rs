//! Illinois: growth and decrease chosen by the queue delay (Liu, Basar, Srikant, VALUETOOLS 2006), as Linux
//! `tcp_illinois.c` and as ns-3 run it.

use slackwater_core::{Duration, Instant};

use crate::registry::{AnyController, Entry, Parameter};
use crate::window::windowed;
use crate::window::{Cwnd, Law};
use crate::{Ack, CongestionEvent, PathView};

/// What the registry knows of them.
pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "illinois",
        aliases: &["illinois-linux"],
        title: "Illinois",
        about: "Illinois as in Linux: growth and decrease by queue delay; illinois:growth=1,cut=0.5 bounds them",
        parameters: &PARAMETERS,
        make: |cfg, p| {
            let [growth, cut] = p.numbers(&PARAMETERS)?;
            let law = Illinois::bounded(growth, cut);
            Ok(AnyController::Illinois(windowed(law, cfg)))
        },
        ..Entry::TRANSPORT
    },
    Entry {
        name: "illinois-ns3",
        title: "Illinois (ns-3)",
        about: "Illinois as in ns-3: growth stops where alpha is below one",
        make: |cfg, p| {
            p.none()?;
            Ok(AnyController::IllinoisNs3(windowed(
                IllinoisNs3::default(),
                cfg,
            )))
        },
        ..Entry::TRANSPORT
    },
];

/// What may follow `:` in the name.
const PARAMETERS: [Parameter; 2] = [
    Parameter::number(
        "growth",
        10.0,
        (1.0, 10.0),
        "segments",
        "greatest growth a round (`ALPHA_MAX` of `tcp_illinois.c`)",
    ),
    Parameter::number(
        "cut",
        0.125,
        (0.125, 0.5),
        "",
        "least share that a loss takes off the window (`BETA_MIN` of `tcp_illinois.c`)",
    ),
];

/// Windows below this grow and shrink as Reno's (both: `win_thresh`).
const WINDOW_THRESHOLD: u32 = 15;
/// Rounds of low delay before growth is fastest again (both: `theta`).
const THETA: u32 = 5;

/// One unit of Linux' alpha (`ALPHA_SHIFT` 7).
const ALPHA_SHIFT: u32 = 7;
const ALPHA_ONE: u64 = 1 << ALPHA_SHIFT;
/// 0.3
const ALPHA_MIN: u64 = 3 * ALPHA_ONE / 10;
/// 10
const ALPHA_MAX: u64 = 10 * ALPHA_ONE;
/// One unit of Linux' beta (`BETA_SHIFT` 6).
const BETA_SHIFT: u32 = 6;
const BETA_ONE: u64 = 1 << BETA_SHIFT;
/// 1/8
const BETA_MIN: u64 = BETA_ONE / 8;
/// 1/2
const BETA_MAX: u64 = BETA_ONE / 2;
/// Longer samples are cut (Linux `RTT_MAX`: 2^32 / `ALPHA_MAX` microseconds).
const RTT_MAX: Duration = Duration::from_micros(u32::MAX as u64 / ALPHA_MAX);

/// RTT statistics that both variants keep; neither ages the extremes.
#[derive(Clone, Copy, Debug)]
struct Delays {
    base: Duration,
    max: Duration,
    sum: Duration,
    count: u32,
    round_end: u64,
}

impl Default for Delays {
    fn default() -> Self {
        Self {
            base: Duration::MAX,
            max: Duration::ZERO,
            sum: Duration::ZERO,
            count: 0,
            round_end: 0,
        }
    }
}

impl Delays {
    #[inline]
    fn add(&mut self, rtt: Duration) {
        self.base = self.base.min(rtt);
        self.max = self.max.max(rtt);
        self.sum += rtt;
        self.count += 1;
    }

    fn begin_round(&mut self, next: u64) {
        self.round_end = next;
        self.sum = Duration::ZERO;
        self.count = 0;
    }

    /// Mean and largest queue delay, where there is a sample.
    fn queue(&self) -> Option<(Duration, Duration)> {
        (self.count > 0).then(|| {
            let mean = self.sum / u64::from(self.count);
            (mean.saturating_sub(self.base), self.max - self.base)
        })
    }
}

/// Illinois as Linux runs it.
#[derive(Clone, Debug)]
pub struct Illinois {
    delays: Delays,
    /// Growth per window, times [`ALPHA_ONE`].
    alpha: u64,
    /// Decrease, times [`BETA_ONE`].
    beta: u64,
    /// Fastest growth, times [`ALPHA_ONE`].
    alpha_max: u64,
    /// Least decrease, times [`BETA_ONE`].
    beta_min: u64,
    /// The mean delay has left the low zone since growth was last fastest.
    above: bool,
    low_rounds: u32,
}

impl Default for Illinois {
    fn default() -> Self {
        Self {
            delays: Delays::default(),
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            alpha_max: ALPHA_MAX,
            beta_min: BETA_MIN,
            above: false,
            low_rounds: 0,
        }
    }
}

impl Illinois {
    /// Illinois that grows by `growth` segments per RTT at most and falls by the part `cut` at least (Linux: 10 and 1/8).
    fn bounded(growth: f64, cut: f64) -> Self {
        let alpha_max = (growth * ALPHA_ONE as f64) as u64;
        Self {
            alpha: alpha_max,
            alpha_max,
            beta_min: (cut * BETA_ONE as f64) as u64,
            ..Self::default()
        }
    }

    fn update(&mut self, cwnd: u32) {
        if cwnd < WINDOW_THRESHOLD {
            self.alpha = ALPHA_ONE;
            self.beta = BETA_MAX;
        } else if let Some((mean, max)) = self.delays.queue() {
            // Microseconds, as in Linux.
            let (mean, max) = (mean.as_micros(), max.as_micros());
            self.alpha = self.growth(mean, max);
            self.beta = decrease(mean, max, self.beta_min);
        }
    }

    /// alpha of the mean queue delay: `k1 / (k2 + mean)` above a hundredth of the largest one (the paper, eq. 7).
    fn growth(&mut self, mean: u64, max: u64) -> u64 {
        let low = max / 100;
        if mean <= low {
            if !self.above {
                return self.alpha_max;
            }
            self.low_rounds += 1;
            if self.low_rounds < THETA {
                return self.alpha;
            }
            self.low_rounds = 0;
            self.above = false;
            return self.alpha_max;
        }
        self.above = true;
        let (range, above) = (max - low, mean - low);
        range * self.alpha_max / (range + above * (self.alpha_max - ALPHA_MIN) / ALPHA_MIN)
    }
}

/// beta of the mean queue delay: least below a tenth of the largest one, most above eight tenths, linear between (the
/// paper, eq. 8).
fn decrease(mean: u64, max: u64, least: u64) -> u64 {
    let (low, high) = (max / 10, max * 8 / 10);
    if mean <= low {
        least
    } else if mean >= high || high <= low {
        BETA_MAX
    } else {
        (least * high + (BETA_MAX - least) * mean - BETA_MAX * low) / (high - low)
    }
}

impl Law for Illinois {
    fn name(&self) -> &'static str {
        "illinois"
    }

    #[inline]
    fn acked(&mut self, _now: Instant, _w: &mut Cwnd, _path: &PathView, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.delays.add(rtt.min(RTT_MAX));
        }
    }

    #[inline]
    fn grow(&mut self, _now: Instant, w: &mut Cwnd, _path: &PathView, ack: &Ack, acked: u32) {
        if ack.una > self.delays.round_end {
            self.update(w.cwnd);
            self.delays.begin_round(ack.next);
        }
        if !ack.cwnd_limited {
            return;
        }
        if w.in_slow_start() {
            w.slow_start(acked);
            return;
        }
        w.cnt = w.cnt.saturating_add(acked);
        let delta = (u64::from(w.cnt) * self.alpha) >> ALPHA_SHIFT;
        if delta >= u64::from(w.cwnd) {
            w.set(w.cwnd + (delta / u64::from(w.cwnd)) as u32);
            w.cnt = 0;
        }
    }

    fn threshold(
        &mut self,
        _now: Instant,
        w: &Cwnd,
        _path: &PathView,
        _event: &CongestionEvent,
    ) -> u32 {
        let cut = ((u64::from(w.cwnd) * self.beta) >> BETA_SHIFT) as u32;
        (w.cwnd - cut).max(2)
    }

    fn timed_out(&mut self, _now: Instant, _w: &mut Cwnd, event: &CongestionEvent) {
        self.alpha = ALPHA_ONE;
        self.beta = BETA_MAX;
        self.low_rounds = 0;
        self.above = false;
        self.delays.begin_round(event.next);
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("alpha", self.alpha as f64 / ALPHA_ONE as f64));
        out.push(("beta", self.beta as f64 / BETA_ONE as f64));
    }
}

/// Illinois as ns-3 runs it, with what sets it apart from Linux:
///
/// - the small-window rule compares bytes with 15 and so never holds;
/// - credit is an integer: `acked * alpha` is truncated with every ACK, so growth stops below one segment per ACK;
/// - delays are whole milliseconds;
/// - the decrease takes the flight, not the window;
/// - while growth is fastest, low rounds count on.
#[derive(Clone, Debug)]
pub struct IllinoisNs3 {
    delays: Delays,
    alpha: f64,
    beta: f64,
    above: bool,
    low_rounds: u32,
    credit: u32,
}

impl Default for IllinoisNs3 {
    fn default() -> Self {
        Self {
            delays: Delays::default(),
            alpha: 10.0,
            beta: 0.5,
            above: false,
            low_rounds: 0,
            credit: 0,
        }
    }
}

impl IllinoisNs3 {
    fn update(&mut self) {
        let Some((mean, max)) = self.delays.queue() else {
            return;
        };
        let (mean, max) = (mean.as_millis() as f64, max.as_millis() as f64);
        let low = max / 100.0;
        if mean <= low {
            if !self.above {
                self.alpha = 10.0;
            }
            self.low_rounds += 1;
            if self.low_rounds >= THETA {
                self.low_rounds = 0;
                self.above = false;
                self.alpha = 10.0;
            }
        } else {
            self.above = true;
            let (range, above) = (max - low, mean - low);
            self.alpha = range * 10.0 / (range + above * (10.0 - 0.3) / 0.3);
        }
        let (d2, d3) = (max / 10.0, 8.0 * max / 10.0);
        self.beta = if mean <= d2 {
            0.125
        } else if mean < d3 {
            (0.125 * d3 - 0.5 * d2 + (0.5 - 0.125) * mean) / (d3 - d2)
        } else {
            0.5
        };
    }
}

impl Law for IllinoisNs3 {
    const VALIDATES: bool = false;

    fn name(&self) -> &'static str {
        "illinois-ns3"
    }

    #[inline]
    fn acked(&mut self, _now: Instant, _w: &mut Cwnd, _path: &PathView, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.delays.add(rtt);
        }
    }

    #[inline]
    fn grow(&mut self, _now: Instant, w: &mut Cwnd, _path: &PathView, ack: &Ack, acked: u32) {
        if ack.una >= self.delays.round_end {
            self.update();
            self.delays.begin_round(ack.next);
        }
        if w.in_slow_start() {
            // ns-3's slow start counts ACKs.
            w.slow_start(1);
            return;
        }
        self.credit = (f64::from(self.credit) + f64::from(acked) * self.alpha) as u32;
        let mut cwnd = w.cwnd;
        while self.credit >= cwnd {
            self.credit -= cwnd;
            cwnd += 1;
        }
        w.set(cwnd);
    }

    fn threshold(
        &mut self,
        _now: Instant,
        w: &Cwnd,
        _path: &PathView,
        event: &CongestionEvent,
    ) -> u32 {
        let flight = event.in_flight.0 / u64::from(w.mss);
        ((1.0 - self.beta) * flight as f64).max(2.0) as u32
    }

    fn timed_out(&mut self, _now: Instant, _w: &mut Cwnd, event: &CongestionEvent) {
        self.alpha = 1.0;
        self.beta = 0.5;
        self.low_rounds = 0;
        self.above = false;
        self.delays.begin_round(event.next);
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("alpha", self.alpha));
        out.push(("beta", self.beta));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Feed;
    use crate::window::Windowed;

    #[test]
    fn the_curves_meet_their_end_points() {
        let mut law = Illinois::default();
        // At the largest delay: 0.3 and 1/2; at a tenth of it: 1/8; at the low zone: 10.
        assert_eq!(law.growth(0, 100_000), ALPHA_MAX);
        assert!(law.growth(100_000, 100_000).abs_diff(ALPHA_MIN) <= 1);
        assert_eq!(decrease(10_000, 100_000, BETA_MIN), BETA_MIN);
        assert_eq!(decrease(80_000, 100_000, BETA_MIN), BETA_MAX);
        // 45 % lies in the middle of 10 to 80 %: (1/8 + 1/2) / 2.
        assert_eq!(
            decrease(45_000, 100_000, BETA_MIN),
            u64::midpoint(BETA_MIN, BETA_MAX)
        );
        // Once above, five low rounds bring the largest growth back, not one.
        let held = law.growth(50_000, 100_000);
        law.alpha = held;
        for _ in 0..4 {
            assert_eq!(law.growth(0, 100_000), held);
        }
        assert_eq!(law.growth(0, 100_000), ALPHA_MAX);
    }

    #[test]
    fn a_small_window_is_renos() {
        let mut feed = Feed::new(Windowed::new(Illinois::default(), 1000, 10));
        feed.lose();
        feed.recover();
        assert_eq!(feed.cwnd(), 5);
        for _ in 0..3 {
            feed.round_at(100);
        }
        assert!(feed.cwnd() <= 9, "{}", feed.cwnd());
    }

    #[test]
    fn ns3_freezes_where_alpha_is_small() {
        // alpha near 0.3: with one segment per ACK 0.3 is truncated to nothing; Linux still grows.
        fn grown(law: impl Law) -> u32 {
            let mut feed = Feed::new(Windowed::new(law, 1000, 40));
            feed.round_at(100);
            feed.lose();
            feed.recover();
            feed.round_at(100);
            feed.round_at(200);
            feed.round_at(200);
            let before = feed.cwnd();
            for _ in 0..12 {
                feed.round_at(200);
            }
            feed.cwnd() - before
        }
        assert_eq!(grown(IllinoisNs3::default()), 0);
        assert!(grown(Illinois::default()) >= 2);
    }

    /// Illinois (Liu, Başar, Srikant 2008), equations 6 and 7, for a largest queue delay of 100 ms and a low zone of 1 ms:
    /// with k1 = 99 * 0.3 * 10 / 9.7 and k2 = 99 * 0.3 / 9.7 - 1, alpha is k1 / (k2 + delay).
    #[test]
    fn ns3_follows_the_papers_curves() {
        let mut law = IllinoisNs3::default();
        let mut round = |rtts: &[u64]| {
            law.delays.begin_round(0);
            for rtt in rtts {
                law.delays.add(Duration::from_millis(*rtt));
            }
            law.update();
            (law.alpha, law.beta)
        };
        let near = |found: (f64, f64), alpha: f64, beta: f64| {
            let apart = (found.0 - alpha).abs().max((found.1 - beta).abs());
            assert!(apart < 1e-4, "{found:?}");
        };
        let (k1, k2) = (30.6186, 2.0619);
        // A mean queue of 50 ms: beta lies 40 / 70 of the way from 1/8 at 10 ms to 1/2 at 80 ms.
        near(
            round(&[100, 200]),
            k1 / (k2 + 50.0),
            0.125 + 0.375 * 40.0 / 70.0,
        );
        near(round(&[110]), k1 / (k2 + 10.0), 0.125);
        near(round(&[200]), 0.3, 0.5);
        // Five low rounds bring the largest growth back.
        for _ in 0..4 {
            near(round(&[101]), 0.3, 0.125);
        }
        near(round(&[101]), 10.0, 0.125);
    }
}
