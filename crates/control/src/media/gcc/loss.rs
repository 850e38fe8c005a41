//! The loss-based rate: a channel that loses little below some rate and the excess above it, fitted by maximum
//! likelihood to the last observations (libwebrtc, `LossBasedBweV2`, with its defaults of 2023).

use slackwater_core::{Duration, Instant};

/// Observations kept, the least for a verdict, and their length.
const WINDOW: usize = 20;
const ENOUGH: u32 = 3;
const LENGTH: Duration = Duration::from_millis(250);
/// Weight of an observation relative to the next newer one.
const AGE: f64 = 0.9;
/// Candidates, relative to the present rate.
const CANDIDATES: [f64; 3] = [1.02, 1.0, 0.95];
/// What a higher rate is worth, per kbit/s and per unit of its logarithm, below a loss of so much.
const BIAS: f64 = 0.0002;
const LOG_BIAS: f64 = 0.02;
const PREFERENCE: f64 = 0.15;
const SMOOTHING: f64 = 0.002;
/// Inherent loss: its start, its least, and its most at an infinite rate; kbit/s that add to it at lower ones.
const INHERENT: (f64, f64, f64) = (0.01, 1e-3, 0.05);
const BALANCE: f64 = 75.0;
/// Newton's method takes one step of this length.
const STEP: f64 = 0.75;
/// Above this average loss the rate is bounded at once.
const OFFSET: f64 = 0.05;
/// After a reduction, growth within 300 ms by this factor at most.
const GROWTH: f64 = 1.3;
const DELAYED: Duration = Duration::from_millis(300);
/// Probabilities keep off zero and one.
const EPSILON: f64 = 1e-6;

#[derive(Clone, Copy, Debug, Default)]
struct Observation {
    packets: f64,
    lost: f64,
    /// kbit/s.
    rate: f64,
}

#[derive(Clone, Copy, Debug)]
struct Channel {
    /// kbit/s.
    rate: f64,
    inherent: f64,
}

/// The estimator; rates in kbit/s.
#[derive(Clone, Debug)]
pub(crate) struct LossRate {
    observations: [Observation; WINDOW],
    count: u32,
    partial: (f64, f64, f64),
    last: Option<Instant>,
    best: Option<Channel>,
    limited: bool,
    recovering: Option<Instant>,
    window_limit: f64,
}

impl LossRate {
    pub(crate) const fn new() -> Self {
        Self {
            observations: [Observation {
                packets: 0.0,
                lost: 0.0,
                rate: 0.0,
            }; WINDOW],
            count: 0,
            partial: (0.0, 0.0, 0.0),
            last: None,
            best: None,
            limited: false,
            recovering: None,
            window_limit: f64::INFINITY,
        }
    }

    /// A feedback: the last packet's time of sending, packets, lost ones, bytes; the delay-based rate and the rate at
    /// which packets arrive in bit/s, the latter not where the media limits. Gives the rate in bit/s once there are
    /// enough observations.
    pub(crate) fn update(
        &mut self,
        sent: Instant,
        (packets, lost, bytes): (u32, u32, u64),
        delay_rate: f64,
        acked: Option<f64>,
    ) -> Option<f64> {
        if self.observe(sent, f64::from(packets), f64::from(lost), bytes as f64) {
            self.fit(sent, delay_rate / 1e3, acked.map(|rate| rate / 1e3));
        }
        let best = self.best?;
        (self.count > ENOUGH)
            .then(|| best.rate.min(self.instant_limit()).min(delay_rate / 1e3) * 1e3)
    }

    /// True where an observation is complete.
    fn observe(&mut self, sent: Instant, packets: f64, lost: f64, bytes: f64) -> bool {
        let partial = &mut self.partial;
        partial.0 += packets;
        partial.1 += lost;
        partial.2 += bytes;
        let since = *self.last.get_or_insert(sent);
        let passed = sent.since(since);
        if passed < LENGTH {
            return false;
        }
        self.last = Some(sent);
        let (packets, lost, bytes) = core::mem::take(partial);
        self.observations.rotate_right(1);
        self.observations[0] = Observation {
            packets,
            lost,
            rate: bytes * 8.0 / passed.as_millis_f64(),
        };
        self.count = self.count.saturating_add(1);
        true
    }

    /// The observations, newest first, with their weights.
    fn weighed(&self) -> impl Iterator<Item = (f64, &Observation)> {
        let count = (self.count as usize).min(WINDOW);
        self.observations[..count]
            .iter()
            .scan(1.0, |weight, observation| {
                let now = *weight;
                *weight *= AGE;
                Some((now, observation))
            })
    }

    fn average_loss(&self) -> f64 {
        let (mut packets, mut lost) = (0.0, 0.0);
        for (weight, o) in self.weighed() {
            packets += weight * o.packets;
            lost += weight * o.lost;
        }
        if packets > 0.0 { lost / packets } else { 0.0 }
    }

    /// kbit/s.
    fn instant_limit(&self) -> f64 {
        let above = self.average_loss() - OFFSET;
        if above > 0.0 {
            BALANCE / above
        } else {
            f64::INFINITY
        }
    }

    fn fit(&mut self, sent: Instant, delay_rate: f64, acked: Option<f64>) {
        let now = self.best.unwrap_or(Channel {
            rate: delay_rate,
            inherent: INHERENT.0,
        });
        let loss = self.average_loss();
        let bound = if self.limited {
            now.rate.max(self.window_limit)
        } else {
            f64::INFINITY
        };
        let others = [acked, (delay_rate > now.rate).then_some(delay_rate)];
        let factors = CANDIDATES.iter().map(|factor| factor * now.rate);
        let mut best = now;
        let mut objective = f64::NEG_INFINITY;
        for rate in factors.chain(others.into_iter().flatten()) {
            let candidate = self.newton(Channel {
                rate: rate.min(bound).max(1.0),
                ..now
            });
            let value = self.objective(&candidate, loss);
            if value > objective {
                (objective, best) = (value, candidate);
            }
        }
        // Loss beyond what is inherent speaks against growth.
        if loss > best.inherent && best.rate > now.rate {
            best.rate = now.rate;
        }
        let within =
            |since: Option<Instant>| since.is_some_and(|since| sent.since(since) < DELAYED);
        if self.limited && within(self.recovering) {
            best.rate = best.rate.min(self.window_limit);
        }
        self.best = Some(best);
        self.limited = best.rate.min(self.instant_limit()) < delay_rate;
        if self.limited && !within(self.recovering) {
            self.window_limit = GROWTH * best.rate;
            self.recovering = Some(sent);
        }
    }

    fn feasible(channel: &Channel) -> f64 {
        let most = (INHERENT.2 + BALANCE / channel.rate).min(1.0);
        channel.inherent.max(INHERENT.1).min(most)
    }

    fn probability(channel: &Channel, rate: f64) -> f64 {
        let excess = if rate > channel.rate {
            (rate - channel.rate) / rate
        } else {
            0.0
        };
        let p = channel.inherent + (1.0 - channel.inherent) * excess;
        p.clamp(EPSILON, 1.0 - EPSILON)
    }

    /// The inherent loss that fits a rate better.
    fn newton(&self, mut channel: Channel) -> Channel {
        channel.inherent = Self::feasible(&channel);
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, o) in self.weighed() {
            let p = Self::probability(&channel, o.rate);
            let received = o.packets - o.lost;
            first += weight * (o.lost / p - received / (1.0 - p));
            second -= weight * (o.lost / (p * p) + received / ((1.0 - p) * (1.0 - p)));
        }
        if second < 0.0 {
            channel.inherent -= STEP * first / second;
            channel.inherent = Self::feasible(&channel);
        }
        channel
    }

    /// The likelihood, and what a higher rate is worth.
    fn objective(&self, channel: &Channel, loss: f64) -> f64 {
        let lean = (PREFERENCE - loss) / (SMOOTHING + (PREFERENCE - loss).abs());
        let bias = lean * (BIAS * channel.rate + LOG_BIAS * libm::log(1.0 + channel.rate));
        self.weighed()
            .map(|(weight, o)| {
                let p = Self::probability(channel, o.rate);
                let received = o.packets - o.lost;
                let likelihood = o.lost * libm::log(p) + received * libm::log(1.0 - p);
                weight * (likelihood + bias * o.packets)
            })
            .sum()
    }
}

/// Bits of media per receiver report: the reports take their share of the session's bandwidth, and come at least each
/// second (RFC 3550, 6.2, reduced minimum of 360 s kbit/s; libwebrtc sends as often).
const REPORT_BITS: f64 = 360e3;
/// Time between two reductions: the loss of one queue is reported more than once (libwebrtc, `kBweDecreaseInterval`).
const REDUCED: Duration = Duration::from_millis(300);

/// The loss-based rate of the draft (draft-ietf-rmcat-gcc-02, section 6), at each receiver report.
#[derive(Clone, Debug)]
pub(crate) struct LossSteps {
    rate: f64,
    packets: u64,
    lost: u64,
    since: Option<Instant>,
    reduced: Option<Instant>,
}

impl LossSteps {
    pub(crate) const fn new(rate: f64) -> Self {
        Self {
            rate,
            packets: 0,
            lost: 0,
            since: None,
            reduced: None,
        }
    }

    /// A feedback of `packets` of which `lost` were lost. Gives the rate.
    pub(crate) fn update(&mut self, now: Instant, packets: u32, lost: u32, most: f64) -> f64 {
        self.packets += u64::from(packets);
        self.lost += u64::from(lost);
        let since = *self.since.get_or_insert(now);
        let interval = Duration::from_secs_f64((REPORT_BITS / self.rate).clamp(0.01, 1.0));
        if now.since(since) >= interval && self.packets > 0 {
            let loss = self.lost as f64 / self.packets as f64;
            (self.packets, self.lost, self.since) = (0, 0, Some(now));
            let waits = self.reduced.is_some_and(|at| now.since(at) < REDUCED);
            if loss > 0.1 {
                if !waits {
                    self.rate *= 1.0 - 0.5 * loss;
                    self.reduced = Some(now);
                }
            } else if loss < 0.02 {
                self.rate *= 1.05;
            }
        }
        self.rate = self.rate.min(most);
        self.rate
    }

    pub(crate) fn set(&mut self, rate: f64) {
        self.rate = rate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `seconds` at `kbps` with one packet in `of` lost; returns the last rate in kbit/s.
    fn feed(e: &mut LossRate, from: u64, seconds: u64, kbps: f64, loss: f64, delay: f64) -> f64 {
        let mut rate = f64::NAN;
        for i in 0..seconds * 10 {
            let at = Instant::from_millis(from * 1000 + 100 * i);
            let packets = 100;
            let lost = (loss * 100.0) as u32;
            let bytes = (kbps * 100.0 / 8.0) as u64;
            let acked = kbps * (1.0 - loss) * 1e3;
            if let Some(r) = e.update(at, (packets, lost, bytes), delay * 1e3, Some(acked)) {
                rate = r / 1e3;
            }
        }
        rate
    }

    #[test]
    fn without_loss_the_delay_decides() {
        let mut e = LossRate::new();
        assert!((feed(&mut e, 1, 5, 2000.0, 0.0, 2500.0) - 2500.0).abs() < 1e-6);
    }

    #[test]
    fn heavy_loss_lowers_the_rate_and_its_end_restores_it() {
        let mut e = LossRate::new();
        feed(&mut e, 1, 5, 2000.0, 0.0, 2500.0);
        let lossy = feed(&mut e, 6, 5, 2000.0, 0.3, 2500.0);
        assert!(lossy < 1000.0, "{lossy}");
        let after = feed(&mut e, 11, 30, lossy, 0.0, 2500.0);
        assert!(after > 2000.0, "{after}");
    }

    #[test]
    fn a_little_inherent_loss_is_borne() {
        let mut e = LossRate::new();
        feed(&mut e, 1, 5, 2000.0, 0.0, 2500.0);
        let rate = feed(&mut e, 6, 20, 2000.0, 0.02, 2500.0);
        assert!(rate > 1800.0, "{rate}");
    }

    #[test]
    fn the_drafts_steps() {
        let mut s = LossSteps::new(1e6);
        let at = Instant::from_millis;
        assert_eq!(s.update(at(0), 100, 0, 1e9), 1e6);
        // A report each 360 ms.
        assert_eq!(s.update(at(359), 100, 0, 1e9), 1e6);
        assert!((s.update(at(1000), 100, 1, 1e9) - 1.05e6).abs() < 1.0);
        assert!((s.update(at(2000), 100, 5, 1e9) - 1.05e6).abs() < 1.0);
        assert!((s.update(at(3000), 100, 20, 1e9) - 0.945e6).abs() < 1.0);
        // A second report of the same loss reduces once.
        s.set(10e6);
        assert_eq!(s.update(at(3100), 100, 20, 1e9), 10e6);
        assert!((s.update(at(3300), 100, 20, 1e9) - 9e6).abs() < 1.0);
    }

    /// The likelihood of 4 losses in 100 packets is greatest at 4 %, so Newton's method stays there. From 1 % its step is
    /// the slope, 4 / 0.01 - 96 / 0.99, over the curvature, 4 / 0.01^2 + 96 / 0.99^2, of which three quarters are made.
    #[test]
    fn the_inherent_loss_goes_to_the_part_that_was_lost() {
        let mut e = LossRate::new();
        e.observations[0] = Observation {
            packets: 100.0,
            lost: 4.0,
            rate: 1000.0,
        };
        e.count = 1;
        // Below the channel's rate all loss is inherent.
        let after = |inherent| {
            let channel = Channel {
                rate: 2000.0,
                inherent,
            };
            e.newton(channel).inherent
        };
        assert!((after(0.04) - 0.04).abs() < 1e-12, "{}", after(0.04));
        let step = 303.030_303 / 40_097.949_189;
        assert!((after(0.01) - (0.01 + 0.75 * step)).abs() < 1e-9);
    }
}
