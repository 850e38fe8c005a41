//! `CoDel`, controlled delay (RFC 8289).

use slackwater_core::{Bytes, Draw, Duration, Instant};

use super::parameters::{Key, Parameters, keys};
use crate::{Law, PacketMeta, QueueView, Verdict};

/// The parameters of a [`Codel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelConfig {
    /// The standing delay that is acceptable.
    pub target: Duration,
    /// How long the delay must stay above the target before the first drop; about the worst RTT of the path.
    pub interval: Duration,
    /// With this many bytes or fewer behind the packet nothing is dropped: the interface's MTU (RFC 8289, 5.3).
    pub max_packet: Bytes,
    /// Mark ECN-capable packets in place of dropping them (RFC 8289, 5.4 leaves it open; RFC 8290, 4.1.2 asks for it).
    pub ecn: bool,
}

impl Default for CodelConfig {
    fn default() -> Self {
        Self {
            // RFC 8289, 4.4: TARGET 5 ms is 5 % of INTERVAL, 100 ms suits RTTs from 10 ms to 1 s (4.3).
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            max_packet: Bytes(1500),
            ecn: true,
        }
    }
}

impl Parameters for CodelConfig {
    type Law = Codel;
    const NAME: &'static str = "codel";
    const ABOUT: &'static str = "CoDel (RFC 8289).";
    const KEYS: &'static [Key<Self>] = keys! {
        /// Acceptable standing delay.
        target = target in Time(Duration::from_micros(1), Duration::from_secs(10)),
        /// Window over which the delay must stay above the target.
        interval = interval in Time(Duration::from_micros(1), Duration::from_secs(100)),
        /// Mark ECN-capable packets in place of dropping them.
        ecn = ecn in Flag,
    };

    fn build(&self, _draw: Draw) -> Codel {
        Codel::new(*self)
    }
}

/// What the law did a moment ago, at the same `now`: RFC 8289's `dequeue` routine takes several packets in one call,
/// a law sees them one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follows {
    /// The drop that entered the dropping state: the packet after it is delivered whatever its delay.
    Entry(Instant),
    /// A drop inside the dropping state: the packet after it decides whether the state goes on.
    Drop(Instant),
}

/// The control law and its state machine, RFC 8289, 5.
///
/// The pseudo-code's loop over packets is the container's: it calls the law again after each drop.
#[derive(Clone, Debug)]
pub struct Codel {
    config: CodelConfig,
    /// When the delay will have been above the target for an interval; `None` while it is below.
    first_above: Option<Instant>,
    /// The time of the next drop while dropping.
    drop_next: Instant,
    /// Drops since the dropping state was entered.
    count: u32,
    /// The count at the last entry.
    last_count: u32,
    dropping: bool,
    follows: Option<Follows>,
}

impl Codel {
    /// A law in its initial state.
    pub const fn new(config: CodelConfig) -> Self {
        Self {
            config,
            first_above: None,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            follows: None,
        }
    }

    /// Drops (or marks) since the dropping state was entered.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// `control_law` of RFC 8289, 5.6: the next drop comes an interval divided by the root of the count later.
    fn control_law(&self, t: Instant) -> Instant {
        let ns = self.config.interval.as_nanos() as f64 / libm::sqrt(f64::from(self.count.max(1)));
        t.saturating_add(Duration::from_nanos((ns + 0.5) as u64))
    }

    /// `dodequeue` of RFC 8289, 5.6: true where the delay has been above the target for an interval.
    fn may_drop(&mut self, now: Instant, delay: Duration, queue: &QueueView) -> bool {
        if delay < self.config.target || queue.bytes <= self.config.max_packet {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now.saturating_add(self.config.interval));
                false
            }
            Some(t) => now >= t,
        }
    }

    /// True where the container will mark `packet` and hand it out.
    const fn marks(&self, packet: PacketMeta) -> bool {
        self.config.ecn && packet.ecn.is_capable()
    }

    const fn verdict(&self) -> Verdict {
        if self.config.ecn {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }
}

impl Law for Codel {
    fn on_path(&mut self, target: Duration, interval: Duration) {
        self.config.target = target;
        self.config.interval = interval;
    }

    fn is_dropping(&self) -> bool {
        self.dropping
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        delay: Duration,
        queue: &QueueView,
        packet: &PacketMeta,
    ) -> Verdict {
        let may_drop = self.may_drop(now, delay, queue);
        let follows = self.follows.take();
        if follows == Some(Follows::Entry(now)) {
            return Verdict::Pass;
        }
        if self.dropping {
            if !may_drop {
                self.dropping = false;
                return Verdict::Pass;
            }
            if follows.is_some_and(|f| matches!(f, Follows::Drop(_))) {
                self.drop_next = self.control_law(self.drop_next);
            }
            if now < self.drop_next {
                return Verdict::Pass;
            }
            self.count = self.count.saturating_add(1);
            if self.marks(*packet) {
                // The marked packet is the one delivered, so the schedule moves on at once.
                self.drop_next = self.control_law(self.drop_next);
            } else {
                self.follows = Some(Follows::Drop(now));
            }
            return self.verdict();
        }
        if !may_drop {
            return Verdict::Pass;
        }
        self.dropping = true;
        // RFC 8289, 5.6: where the state was left less than 16 intervals ago, the rate of drops that controlled the
        // queue then is the place to start from.
        let delta = self.count.wrapping_sub(self.last_count);
        let recent = now.since(self.drop_next) < self.config.interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
        if !self.marks(*packet) {
            self.follows = Some(Follows::Entry(now));
        }
        self.verdict()
    }

    fn on_empty(&mut self, _now: Instant) {
        self.first_above = None;
        self.dropping = false;
        self.follows = None;
    }
}

#[cfg(test)]
mod tests;
