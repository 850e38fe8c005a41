//! How much may leave: the window of the default mode and the rates of the others.
//!
//! The article's text is [`literal`]; [`drain`] adds states to it, and [`int`] and the window are this project's.

mod drain;
mod int;
mod literal;

use slackwater_core::{Bytes, Duration, Instant, Rate};

use super::config::{Mode, VaqmConfig};
use super::path::{MTU, PathModel, SMALL_FLIGHT};

use self::drain::Drain;
use self::int::Int;
use self::literal::Literal;

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
    /// Rate below which no shaping goes.
    pub(super) floor: Rate,
    /// The session's largest rate; zero for none.
    pub(super) ceiling: Rate,
    /// The session's guaranteed rate.
    pub(super) guaranteed: Rate,
}

/// A report of the radio network on what it can give.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    /// When it arrived.
    pub(super) at: Instant,
    /// What the radio network can give.
    pub(super) rate: Rate,
    /// What waits there.
    pub(super) backlog: Bytes,
}

/// How long such a report holds.
const OFFER_AGE: Duration = Duration::from_millis(500);

/// Which law decides at present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Law {
    /// Bytes in flight up to a cap.
    #[default]
    Window,
    /// [`Int`].
    Int,
    /// [`Literal`].
    Literal,
    /// [`Drain`].
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
    /// Which decides.
    law: Law,
    /// It limits; else everything passes.
    on: bool,
    /// [`Law::Window`]: bytes that may be in flight.
    cap: u64,
    /// The radio network's last report of what it can give.
    pub(super) offer: Option<Offer>,
    /// The rate of the laws that shape.
    shaper: Shaper,
}

/// The laws that shape by a rate. A mode has one of them.
#[derive(Clone, Debug)]
enum Shaper {
    /// Also stands in for the window where acknowledgments are hidden.
    Int(Int),
    Literal(Literal),
    Drain(Drain),
}

impl Shaper {
    const fn of(mode: Mode) -> Self {
        match mode {
            Mode::Literal => Self::Literal(Literal::new()),
            Mode::Drain => Self::Drain(Drain::new()),
            Mode::Auto | Mode::Window | Mode::Int | Mode::Direct | Mode::Measure => {
                Self::Int(Int::new())
            }
        }
    }

    /// `R_bw`, the bottleneck's rate as the law sees it, bit/s.
    const fn bottleneck(&self) -> f64 {
        match self {
            Self::Int(int) => int.bottleneck,
            Self::Literal(literal) => literal.bottleneck,
            Self::Drain(drain) => drain.bottleneck,
        }
    }
}

/// What may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// Everything.
    None,
    /// Bytes in flight, and the rate that paces what is released.
    Cap(u64, Rate),
    /// Bytes at this rate.
    Rate(Rate),
}

impl Valve {
    pub(super) const fn new(mode: Mode) -> Self {
        Self {
            law: Law::Window,
            on: false,
            cap: 0,
            offer: None,
            shaper: Shaper::of(mode),
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

    /// Lets everything pass until the average exceeds the target again. Where a round trip holds a wait in the uplink that
    /// nothing shows, a cap from the rate and the target is too small for what is in flight, and what then waits here
    /// keeps it on.
    pub(super) const fn open(&mut self) {
        self.on = false;
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
            // An instance in `Auto` says which of its two modes it is in.
            Mode::Auto | Mode::Direct | Mode::Measure => Law::Open,
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
        }
        if law == Law::Reported {
            self.on = true;
            return;
        }
        if !path.known() {
            self.on = false;
            return;
        }
        match (law, &mut self.shaper) {
            (Law::Window, _) => self.window(now, path, sight),
            (_, Shaper::Int(int)) if law == Law::Int => {
                self.on = int.update(self.on, now, path, sight);
            }
            (_, Shaper::Literal(literal)) => self.on = literal.update(now, path, sight),
            (_, Shaper::Drain(drain)) => self.on = drain.update(self.on, now, path, sight),
            _ => {}
        }
    }

    /// "Bottleneck link bandwidth is determined by correlating the number of bytes in flight with RTT measurements":
    /// as much in flight as the delivery rate carries within the target RTT, and less or more as the average is above
    /// or below it.
    fn window(&mut self, now: Instant, path: &PathModel, sight: &Sight) {
        self.on = switched(self.on, path, sight);
        let rate = sight.delivered_max.as_bps() as f64 / 8e9;
        if path.dipping() {
            self.on = true;
            let whole = path.dip_to() + path.uplink_by(now);
            self.cap = ((rate * whole.as_nanos() as f64) as u64).max(SMALL_FLIGHT);
            return;
        }
        let target = path.target().as_nanos() as f64;
        let average = path.average().as_nanos().max(1) as f64;
        // What the ACKs wait for in the uplink is in flight too, and no queue of the downlink.
        let uplink = path.uplink_by(now).as_nanos() as f64;
        let cap = rate * (target * (target / average).clamp(0.5, 2.0) + uplink);
        let least = sight.guaranteed.bytes_in(path.target()).get();
        self.cap = (cap as u64).max(SMALL_FLIGHT).max(least);
    }

    /// What may leave at present.
    pub(super) fn limit(&self, path: &PathModel, sight: &Sight, config: &VaqmConfig) -> Limit {
        if !self.on || config.mode == Mode::Measure {
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
            Law::Int | Law::Literal | Law::Drain => {
                shaped(self.shaper.bottleneck() * literal::bounding(path))
            }
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
                Rate::from_bps(self.shaper.bottleneck() as u64)
            }
            Law::Reported => self.offer.map_or(Rate::ZERO, |o| o.rate),
            _ if sight.delivered_max > Rate::ZERO => sight.delivered_max,
            _ => sight.egress,
        }
    }
}

/// On at the first average above the target, off once the average is not and nothing has waited for 4 path RTTs.
fn switched(on: bool, path: &PathModel, sight: &Sight) -> bool {
    if !on {
        return path.above_target();
    }
    path.above_target() || sight.empty_for < path.path() * 4 || path.dipping()
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
