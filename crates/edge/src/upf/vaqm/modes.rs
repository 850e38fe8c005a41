//! How much may leave: the window of the default mode and the rates of the others.

use slackwater_core::{Bytes, Duration, Instant, Rate};

use super::config::{Mode, VaqmConfig};
use super::path::{MTU, PathModel, SMALL_FLIGHT};
use crate::upf::passive::WindowedMax;

/// What the modes look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    /// `R_dlv`: what arrives at the UE, as ACKs tell.
    pub(super) delivered: Rate,
    /// Its largest value of late.
    pub(super) delivered_max: Rate,
    /// What came in.
    pub(super) ingress: Rate,
    /// What left.
    pub(super) egress: Rate,
    /// Packets wait here, or did within a path RTT.
    pub(super) waiting: bool,
    /// How long none has waited.
    pub(super) empty_for: Duration,
    /// What a round trip takes beyond the UPF: the spin bit gives a sample once in both together.
    pub(super) server_rtt: Duration,
    pub(super) floor: Rate,
    pub(super) ceiling: Rate,
    pub(super) guaranteed: Rate,
}

/// A report of the radio network on what it can give.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) at: Instant,
    pub(super) rate: Rate,
    pub(super) backlog: Bytes,
}

/// Without a sample for so long, or eight average RTTs, rates learned from RTTs no longer hold.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long such a report holds.
const OFFER_AGE: Duration = Duration::from_millis(500);

/// Which law decides at present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Law {
    /// Bytes in flight up to a cap.
    #[default]
    Window,
    Int,
    Literal,
    Drain,
    /// The rate that the radio network reports.
    Reported,
    /// No limit but the session's.
    Open,
}

/// The state of whichever law decides.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Valve {
    law: Law,
    /// It limits; else everything passes.
    on: bool,
    cap: u64,
    pub(super) offer: Option<Offer>,
    /// `R_bw`, the bottleneck's rate as the rate laws see it.
    bottleneck: f64,
    adjusted: Instant,
    above_since: Option<Instant>,
    quiet_rounds: u32,
    slow_since: Option<Instant>,
    /// The largest ingress seen while the average RTT was at or below the target: `R_max`.
    largest: WindowedMax,
}

/// What may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    None,
    /// Bytes in flight, and the rate that paces what is released.
    Cap(u64, Rate),
    Rate(Rate),
}

impl Valve {
    pub(super) const fn new() -> Self {
        Self {
            law: Law::Window,
            on: false,
            cap: 0,
            bottleneck: 0.0,
            adjusted: Instant::ZERO,
            above_since: None,
            quiet_rounds: 0,
            slow_since: None,
            largest: WindowedMax::new(Duration::from_secs(10)),
            offer: None,
        }
    }

    pub(super) const fn is_on(&self) -> bool {
        self.on
    }

    /// True where the valve can let the radio's queue run empty.
    pub(super) fn can_dip(&self) -> bool {
        self.law == Law::Window || (self.on && matches!(self.law, Law::Int | Law::Drain))
    }

    pub(super) const fn law(&self) -> Law {
        self.law
    }

    /// The law that decides: the mode's, or what stands in where acknowledgments are hidden.
    fn choose(mode: Mode, hidden: bool, offered: bool) -> Law {
        match mode {
            Mode::Window if hidden && offered => Law::Reported,
            Mode::Int if offered => Law::Reported,
            Mode::Window if hidden => Law::Int,
            Mode::Window => Law::Window,
            Mode::Int => Law::Int,
            Mode::Literal => Law::Literal,
            Mode::Drain => Law::Drain,
            Mode::Direct | Mode::Off => Law::Open,
        }
    }

    /// Recomputes the limit. `hidden`: acknowledgments of most bytes are not seen.
    pub(super) fn update(
        &mut self,
        now: Instant,
        mode: Mode,
        hidden: bool,
        path: &PathModel,
        sight: &Sight,
    ) {
        let offered = self.offer.is_some_and(|o| now.since(o.at) <= OFFER_AGE);
        let law = Self::choose(mode, hidden, offered);
        if law != self.law {
            self.law = law;
            self.on = false;
            self.above_since = None;
        }
        if law == Law::Reported {
            self.on = true;
            return;
        }
        if !path.known() {
            self.on = false;
            return;
        }
        match law {
            Law::Window => self.window(path, sight),
            Law::Int => self.int(now, path, sight),
            Law::Literal => self.literal(now, path, sight),
            Law::Drain => self.drain(now, path, sight),
            Law::Open | Law::Reported => {}
        }
    }

    /// On at the first average above the target, off once the average is not and nothing has waited for 4 path RTTs.
    fn switch(&mut self, path: &PathModel, sight: &Sight) -> bool {
        let above = path.above_target();
        if !self.on && above {
            self.on = true;
            return true;
        }
        if self.on && !above && sight.empty_for >= path.path() * 4 && !path.dipping() {
            self.on = false;
        }
        false
    }

    /// "Bottleneck link bandwidth is determined by correlating the number of bytes in flight with RTT measurements":
    /// as much in flight as the delivery rate carries within the target RTT, and less or more as the average is above
    /// or below it.
    fn window(&mut self, path: &PathModel, sight: &Sight) {
        self.switch(path, sight);
        let rate = sight.delivered_max.as_bps() as f64 / 8e9;
        if path.dipping() {
            self.on = true;
            self.cap = ((rate * path.dip_to().as_nanos() as f64) as u64).max(SMALL_FLIGHT);
            return;
        }
        let target = path.target().as_nanos() as f64;
        let average = path.average().as_nanos().max(1) as f64;
        let cap = rate * target * (target / average).clamp(0.5, 2.0);
        let least = sight.guaranteed.bytes_in(path.target()).get();
        self.cap = (cap as u64).max(SMALL_FLIGHT).max(least);
    }

    /// An integrator on the relative distance from the target.
    fn int(&mut self, now: Instant, path: &PathModel, sight: &Sight) {
        let target = path.target().as_nanos() as f64;
        let average = path.average().as_nanos().max(1) as f64;
        if !self.on && sight.egress == Rate::ZERO {
            // Counting has just begun.
            return;
        }
        let unheard = now.since(path.last_sample());
        if unheard > (path.average() * 8).max(PATIENCE) {
            // Nothing is measured any more: an average of long ago is no ground to hold packets on.
            self.on = false;
            return;
        }
        if self.switch(path, sight) {
            // With a queue standing in the radio what leaves is about what the radio gives; the bounding factor drains it.
            self.bottleneck = sight.egress.as_bps() as f64;
            self.adjusted = now;
        }
        let since = now.since(self.adjusted);
        if !self.on || since < path.path() / 4 {
            return;
        }
        self.adjusted = now;
        if unheard > (path.average() + sight.server_rtt) * 5 / 4 {
            // The effect of the last change has not been seen.
            return;
        }
        let mut e = ((target - average) / target).clamp(-0.5, 0.5);
        if e > 0.0 && !sight.waiting {
            // The rate is not what limits: there is nothing to learn.
            e = 0.0;
        }
        let dt = (since.as_nanos() as f64).min(average);
        self.bottleneck *= libm::exp(0.5 * e * dt / average);
        let (low, high) = bounds(sight);
        self.bottleneck = self.bottleneck.clamp(low, high);
    }

    /// The article's text and nothing else: above the target, the largest rate seen below it times `Target / Avg`.
    fn literal(&mut self, now: Instant, path: &PathModel, sight: &Sight) {
        self.on = path.above_target();
        if self.on {
            self.bottleneck = self.largest.get(now).unwrap_or(0) as f64;
            if self.bottleneck == 0.0 {
                self.bottleneck = sight.egress.as_bps() as f64;
            }
        } else {
            self.largest.update(now, sight.ingress.as_bps());
        }
    }

    /// Shape, drain and grow: once an average RTT above the target the rate falls to what is delivered, by half at most;
    /// at or below it grows each path RTT.
    fn drain(&mut self, now: Instant, path: &PathModel, sight: &Sight) {
        if !path.above_target() {
            self.above_since = None;
            self.largest.update(now, sight.ingress.as_bps());
            self.grow(now, path, sight);
            return;
        }
        let since = *self.above_since.get_or_insert(now);
        self.quiet_rounds = 0;
        self.slow_since = None;
        if !self.on {
            // A queue must stand for half a path RTT.
            if now.since(since) >= path.path() / 2 {
                self.on = true;
                let seen = self
                    .largest
                    .get(now)
                    .unwrap_or(0)
                    .max(sight.delivered.as_bps());
                self.bottleneck = seen as f64;
                self.adjusted = now;
            }
        } else if now.since(self.adjusted) >= path.average() {
            self.adjusted = now;
            let b = bounding(path);
            let delivered = sight.delivered.as_bps() as f64;
            self.bottleneck = delivered
                .max(self.bottleneck * b)
                .clamp(0.5 * self.bottleneck, self.bottleneck);
        }
        let (low, high) = bounds(sight);
        self.bottleneck = self.bottleneck.clamp(low, high);
    }

    fn grow(&mut self, now: Instant, path: &PathModel, sight: &Sight) {
        if !self.on {
            return;
        }
        let limited = sight.waiting || sight.ingress.as_bps() as f64 >= 0.9 * self.bottleneck;
        if limited && now.since(self.adjusted) >= path.path() {
            self.adjusted = now;
            self.quiet_rounds += 1;
            let gain = if self.quiet_rounds > 5 { 0.25 } else { 0.125 };
            self.bottleneck = (self.bottleneck * (1.0 + gain)).min(bounds(sight).1);
        }
        let idle = !sight.waiting && (sight.ingress.as_bps() as f64) < 0.8 * self.bottleneck;
        if !idle {
            self.slow_since = None;
        } else if now.since(*self.slow_since.get_or_insert(now)) >= path.path() * 2 {
            self.on = false;
        }
    }

    /// What may leave at present.
    pub(super) fn limit(&self, path: &PathModel, sight: &Sight, config: &VaqmConfig) -> Limit {
        if !self.on || config.mode == Mode::Off {
            return Limit::None;
        }
        let shaped = |rate: f64| {
            let (low, high) = bounds(sight);
            // What stands in the radio's queue drains within two or three average RTTs.
            let dip = if path.dipping() { 0.6 } else { 1.0 };
            Limit::Rate(Rate::from_bps((rate * dip).clamp(low, high) as u64))
        };
        match self.law {
            Law::Open => Limit::None,
            Law::Window => Limit::Cap(self.cap, Rate::from_bps(sight.delivered_max.as_bps() * 2)),
            Law::Int | Law::Literal | Law::Drain => shaped(self.bottleneck * bounding(path)),
            Law::Reported => self.offer.map_or(Limit::None, |offer| {
                // Hold 10 to 15 ms in the radio network, with a time constant of 60 ms.
                let rate = offer.rate.as_bps().max(1) as f64;
                let delay = offer.backlog.get() as f64 * 8.0 / rate;
                shaped(rate * (1.0 + (0.0125 - delay) / 0.06).clamp(0.1, 1.25))
            }),
        }
    }

    /// The rate of the bottleneck as this valve sees it.
    pub(super) fn bottleneck(&self, sight: &Sight) -> Rate {
        match self.law {
            Law::Int | Law::Literal | Law::Drain if self.on => {
                Rate::from_bps(self.bottleneck as u64)
            }
            Law::Reported => self.offer.map_or(Rate::ZERO, |o| o.rate),
            _ if sight.delivered_max > Rate::ZERO => sight.delivered_max,
            _ => sight.egress,
        }
    }
}

/// "The difference between Average RTT and Target RTT is used as an additional bounding factor": what drains the
/// standing excess within one average RTT, and one half at least.
fn bounding(path: &PathModel) -> f64 {
    let average = path.average().as_nanos().max(1) as f64;
    (path.target().as_nanos() as f64 / average).clamp(0.5, 1.0)
}

/// Least and largest rate, bit/s.
fn bounds(sight: &Sight) -> (f64, f64) {
    let low = sight.floor.max(sight.guaranteed).as_bps() as f64;
    let high = if sight.ceiling > Rate::ZERO {
        sight.ceiling.as_bps() as f64
    } else {
        1e12
    };
    (low.min(high), high)
}

/// The larger of 1.5 packets' time at the bottleneck and what `CoDel` is told else.
pub(super) fn packet_floor(rate: Rate) -> Duration {
    if rate == Rate::ZERO {
        Duration::ZERO
    } else {
        rate.time_for(Bytes(MTU * 3 / 2))
    }
}
