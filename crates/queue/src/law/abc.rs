//! ABC's router: each packet signals its sender to accelerate or to brake (Goyal et al., "ABC: A Simple Explicit Congestion
//! Controller for Wireless Networks", NSDI 2020).
//!
//! The router knows what its link can carry, compares the rate that it wants with the rate that it serves, and lets that
//! share of packets pass as "accelerate" (3.1.1, 3.1.2). A sender answers an accelerate with two packets and a brake with
//! none, so half of the packets as accelerates keeps a rate. The signal is the one of the authors' Linux sender and
//! router: CE is "brake", any other ECN-capable packet is "accelerate". (Section 5.1 of the paper also has ECT(1) and
//! ECT(0) for the two, so that CE keeps its meaning for other routers; TCP would need a way to echo that bit.)

use std::collections::VecDeque;

use slackwater_core::{Bytes, Draw, Duration, Ecn, Instant};

use super::parameters::{Key, Parameters, keys};
use crate::{Law, PacketMeta, QueueView, Verdict};

/// The parameters of an [`Abc`]. The defaults are those of the authors' `exp.sh` for cellular traces and a path of 100 ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AbcConfig {
    /// `eta`: the share of the link that the target leaves in use where no queue stands.
    pub eta: f64,
    /// `delta`: the time in which a queue above the threshold should be gone; stable above 2/3 of the round trip (theorem
    /// 3.1). Authors' router: 100 ms over `beta` = 0.75.
    pub delta: Duration,
    /// `d_t`: queue delay that counts for nothing, so that a link which serves in batches keeps its queue.
    pub threshold: Duration,
    /// The time over which rates are measured.
    pub window: Duration,
    /// Accelerates that may be saved up.
    pub token_limit: f64,
}

impl Default for AbcConfig {
    fn default() -> Self {
        Self {
            eta: 0.98,
            delta: Duration::from_micros(133_333),
            threshold: Duration::from_millis(50),
            window: Duration::from_millis(20),
            token_limit: 5.0,
        }
    }
}

impl Parameters for AbcConfig {
    type Law = Box<Abc>;
    const NAME: &'static str = "abc";
    const ABOUT: &'static str = "ABC's router (NSDI 2020), for senders `abc` and `abc-basic`.";
    const KEYS: &'static [Key<Self>] = keys! {
        /// eta: the share of the link that is aimed at.
        eta = eta in Number(0.1, 1.5),
        /// delta: in this time a queue above the threshold should be gone.
        delta = delta in Time(Duration::from_millis(1), Duration::from_secs(100)),
        /// Queue delay that counts for nothing.
        threshold = threshold in Time(Duration::ZERO, Duration::from_secs(10)),
        /// Rates are measured over this time.
        window = window in Time(Duration::from_millis(1), Duration::from_secs(10)),
    };

    fn build(&self, _draw: Draw) -> Box<Abc> {
        Box::new(Abc::new(*self))
    }
}

/// A rate over a window that slides, from a total that grows.
#[derive(Clone, Debug, Default)]
struct Meter {
    /// Times and totals, the first at or before the window's start where there is one.
    seen: VecDeque<(Instant, u64)>,
}

impl Meter {
    /// The total is `total` at `now`.
    #[inline]
    fn note(&mut self, now: Instant, total: u64, window: Duration) {
        match self.seen.back_mut() {
            Some(last) if last.0 >= now => last.1 = total,
            _ => self.seen.push_back((now, total)),
        }
        while self.seen.len() > 2 && now.since(self.seen[1].0) >= window {
            self.seen.pop_front();
        }
    }

    /// Bytes of the `window` before `now`. Between two notes the total grew evenly.
    fn within(&self, now: Instant, window: Duration) -> f64 {
        let Some(&(_, last)) = self.seen.back() else {
            return 0.0;
        };
        let age = |at: Instant| now.since(at).as_nanos() as f64;
        let w = window.as_nanos() as f64;
        let after = self.seen.partition_point(|s| age(s.0) >= w);
        let Some(before) = after.checked_sub(1) else {
            // All of the history is younger than the window.
            return (last - self.seen[0].1) as f64;
        };
        let (t0, b0) = self.seen[before];
        let Some(&(t1, b1)) = self.seen.get(after) else {
            return 0.0;
        };
        let part = (age(t0) - w) / (age(t0) - age(t1));
        (last - b0) as f64 - part * (b1 - b0) as f64
    }
}

/// ABC's router.
#[derive(Clone, Debug)]
pub struct Abc {
    config: AbcConfig,
    /// `token` of the paper's algorithm 1.
    tokens: f64,
    /// What the link could have carried of ABC's packets.
    offered: Meter,
    /// What it carried of them.
    served: Meter,
    /// Bytes of ABC's packets that left.
    own: u64,
    /// Bytes of packets that left and are not ABC's: they use opportunities that ABC does not have.
    others: u64,
    /// The last total that the link reported; none before the first.
    reported: Option<u64>,
    /// The share of accelerates in force.
    share: f64,
}

impl Abc {
    /// A router that has seen nothing.
    pub fn new(config: AbcConfig) -> Self {
        Self {
            // Authors' router; the paper's algorithm starts empty.
            tokens: config.token_limit,
            config,
            offered: Meter::default(),
            served: Meter::default(),
            own: 0,
            others: 0,
            reported: None,
            share: 0.5,
        }
    }

    /// `f(t)`: the share of packets that pass as accelerates, in [0, 1].
    pub const fn share(&self) -> f64 {
        self.share
    }

    /// Accelerates saved up.
    pub const fn tokens(&self) -> f64 {
        self.tokens
    }

    /// Sets [`Abc::share`] for a packet that leaves `behind` bytes in the queue and waited `sojourn`.
    fn judge(&mut self, now: Instant, sojourn: Duration, waiting: u64) {
        let c = &self.config;
        let seconds = c.window.as_secs_f64();
        let served = self.served.within(now, c.window) / seconds;
        // A queue without reports of its link counts it as always busy.
        let mu = match self.reported {
            Some(_) => self.offered.within(now, c.window) / seconds,
            None => served,
        };
        if served <= 0.0 || mu <= 0.0 {
            // Nothing was measured yet. The first packets of a sender may double its window.
            self.share = if sojourn > c.threshold { 0.0 } else { 1.0 };
            return;
        }
        // The authors' router takes the delay of what waits at the present capacity: it knows of a drop at once, where
        // a packet's own wait is of the past.
        let delay = waiting as f64 / mu;
        let excess = (delay - c.threshold.as_secs_f64()).max(0.0);
        // Equation 1: tr = eta mu - mu / delta (x - d_t)+.
        let target = c.eta * mu - mu / c.delta.as_secs_f64() * excess;
        // Equation 2: f = min(tr / (2 cr), 1).
        self.share = (0.5 * target / served).clamp(0.0, 1.0);
    }
}

impl Law for Abc {
    fn wants_capacity(&self) -> bool {
        true
    }

    fn on_capacity(&mut self, now: Instant, capacity: Bytes) {
        let total = self
            .reported
            .map_or(capacity.0, |before| before.max(capacity.0));
        self.reported = Some(total);
        let left = total.saturating_sub(self.others);
        let left = self.offered.seen.back().map_or(left, |s| left.max(s.1));
        self.offered.note(now, left, self.config.window);
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        delay: Duration,
        queue: &QueueView,
        packet: &PacketMeta,
    ) -> Verdict {
        let len = u64::from(packet.len);
        if !packet.ecn.is_capable() {
            self.others += len;
            return Verdict::Pass;
        }
        self.own += len;
        self.served.note(now, self.own, self.config.window);
        self.judge(now, delay, queue.bytes.0 + len);
        // Algorithm 1 of the paper.
        self.tokens = (self.tokens + self.share).min(self.config.token_limit);
        if packet.ecn == Ecn::Ce {
            // Braked by a router before this one: only a brake may replace an accelerate (3.1.2).
            return Verdict::Pass;
        }
        if self.tokens > 1.0 {
            self.tokens -= 1.0;
            Verdict::Pass
        } else {
            Verdict::Mark
        }
    }
}

#[cfg(test)]
mod tests;
