//! PCC Vivace: gradient ascent on a utility of rate, losses and the RTT's gradient (NSDI 2018).
//!
//! This follows what the authors' repository builds (PCC-Uspace, revision 30c2cfe, `PccVivaceSender` with the utility `Vivace`:
//! the sender that their Proteus calls primary); names in brackets are its. The paper's own branch (`NSDI-2018`) has other
//! step sizes and asks two pairs of intervals. The rate doubles until the utility falls. Then three pairs of intervals try
//! 5 % more and 5 % less in random order; where two pairs agree, or all three on less, the rate moves by the utility's
//! slope, faster the longer it goes one way, and tries again when the utility falls.

use slackwater_core::{Bytes, Draw, Duration, Instant, Rate};

use super::monitor::{Interval, Monitor, Sample};
use super::utility::{Coefficients, Utility};
use super::{INITIAL_RTT, MOST_RATE, UNBOUNDED};
use crate::registry::{AnyController, Entry, Parameter};
use crate::{Ack, CongestionEvent, Controller, Intent, PathView, RecoveryMode, Sent};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "vivace",
    title: "PCC Vivace",
    about: "PCC Vivace (NSDI 2018): gradient ascent on a utility; vivace:latency=900,loss=11.35",
    modes: Some(MODES),
    parameters: &PARAMETERS,
    make: |cfg, p| {
        let [latency, loss] = p.numbers(&PARAMETERS)?;
        let vivace = Vivace::new(Coefficients { latency, loss }, cfg.mss, cfg.draw);
        Ok(AnyController::Vivace(vivace.into()))
    },
    ..Entry::TRANSPORT
}];

/// What may follow `:` in the name.
const PARAMETERS: [Parameter; 2] = [
    Parameter::number(
        "latency",
        Coefficients::VIVACE.latency,
        (0.0, 1e6),
        "",
        "weight of the RTT's gradient in the utility (PCC-Uspace, `Vivace`)",
    ),
    Parameter::number(
        "loss",
        Coefficients::VIVACE.loss,
        (0.0, 1e6),
        "",
        "weight of losses in the utility (PCC-Uspace, `Vivace`)",
    ),
];

/// Bits of a megabit (`kMegabit`).
const MEGABIT: f64 = 1_048_576.0;
/// Bytes of the first window's packets (`kDefaultTCPMSS`) and how many of them it has.
const INITIAL_WINDOW: f64 = 10.0 * 1400.0;
/// What is tried about the rate (`kProbingStepSize`; 4.2: epsilon).
const PROBE: f64 = 0.05;
/// Pairs of intervals of a trial (`kNumIntervalGroupsInProbingPrimary`).
const PAIRS: usize = 3;
/// A change grows with the rounds in one direction to this power (`kRateChangeAmplifyExponent`; 4.3: confidence amplifier).
const AMPLIFY: f64 = 1.2;
/// Bound of a change as a part of the rate, and what it gains each time that it binds (`kInitialMaxStepSize`,
/// `kIncrementalStepSize`; 4.3: dynamic change boundary).
const BOUND: f64 = 0.05;
/// Least change and least rate, bit/s (`kMinRateChange`, `kMinSendingRate`: units of 1000).
const LEAST_CHANGE: f64 = 500_000.0;
const LEAST_RATE: f64 = 500_000.0;
/// Reliable RTTs that an interval needs (`kMinReliableRtt`) ...
const SAMPLES: usize = 4;
/// ... and their part of all (`kMinReliabilityRatio`); with less the interval is made twice as long, once.
const RELIABLE: f64 = 0.8;
/// ACKs that come so many times faster or slower than they use to are a burst.
const BURST: f64 = 50.0;
/// The average of that ratio keeps so much.
const KEEP: f64 = 0.9;
/// A smoothed RTT above the interval's first by this factor ends the start
/// (`max_rtt_fluctuation_tolerance_ratio_in_starting`: 100).
const INFLATION: u64 = 101;
/// Least time between two ACKs: a step of the authors' clock.
const CLOCK: Duration = Duration::from_micros(1);

/// What the sender is at, by its code in the snapshot's `mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Mode {
    /// The rate doubles.
    Starting,
    /// Pairs of rates are tried.
    Probing,
    /// The rate moves one way.
    DecisionMade,
}

/// Names of the states, in the order of their codes.
pub const MODES: &[&str] = &["STARTING", "PROBING", "DECISION_MADE"];

/// A rate and what it was worth.
#[derive(Clone, Copy, Debug, Default)]
struct Worth {
    rate: f64,
    utility: f64,
}

/// The event before this one: packets are booked one event late, when it is known how far the ACKs lie apart.
#[derive(Clone, Debug, Default)]
struct Pending {
    /// Interval, number and bytes of the packets that arrived.
    arrived: Vec<(u32, u64, u32)>,
    rtt: Duration,
    smoothed: Duration,
    apart: Option<Duration>,
}

/// PCC Vivace.
#[derive(Clone, Debug)]
pub struct Vivace {
    coefficients: Coefficients,
    mss: u32,
    wire_mss: u32,
    draw: Draw,
    /// Coins tossed so far.
    tosses: u64,
    mode: Mode,
    /// The rate of the next interval, bit/s.
    rate: f64,
    /// The direction of the last step or trial: up.
    up: bool,
    /// Rounds in this mode.
    rounds: u32,
    /// How often the bound on changes was raised.
    allowance: f64,
    latest: Worth,
    monitor: Monitor,
    utility: Utility,
    /// Least time of the current interval.
    duration: Duration,
    pending: Pending,
    /// ACKs come in a burst.
    burst: bool,
    /// Mean ratio of the times between ACKs; `None` before the first.
    spread: Option<f64>,
    rtt: Duration,
    smoothed: Duration,
    least: Duration,
    heard: Option<Instant>,
}

impl Vivace {
    /// A sender of packets of `mss` payload bytes.
    pub fn new(coefficients: Coefficients, mss: u32, draw: Draw) -> Self {
        let mss = mss.max(1);
        Self {
            coefficients,
            mss,
            // Refined by the first view of the path; TCP over IPv4 with time stamps until then.
            wire_mss: mss + 52,
            draw,
            tosses: 0,
            mode: Mode::Starting,
            rate: INITIAL_WINDOW * 8.0 / INITIAL_RTT,
            up: true,
            rounds: 1,
            allowance: 0.0,
            latest: Worth::default(),
            monitor: Monitor::default(),
            utility: Utility::default(),
            duration: Duration::ZERO,
            pending: Pending::default(),
            burst: false,
            spread: None,
            rtt: Duration::ZERO,
            smoothed: Duration::ZERO,
            least: Duration::ZERO,
            heard: None,
        }
    }

    /// The rate that packets leave at, bit/s.
    pub fn pacing(&self) -> f64 {
        let rate = self.monitor.current().map_or(self.rate, |i| i.rate);
        rate.clamp(1.0, MOST_RATE)
    }

    fn view(&mut self, path: &PathView) {
        if path.mss != 0 {
            self.mss = path.mss;
            self.wire_mss = path.wire_mss.max(path.mss);
        }
    }

    fn set(&mut self, rate: f64) {
        self.rate = rate.clamp(1.0, MOST_RATE);
    }

    /// The next packet opens an interval (`CreateNewInterval`).
    fn is_due(&mut self, now: Instant) -> bool {
        let useful = self.monitor.useful();
        let Some(current) = self.monitor.current_mut() else {
            return true;
        };
        if self.rtt.is_zero() {
            return false;
        }
        if useful == 0 {
            return true;
        }
        let Some(began) = current.began.filter(|_| current.useful) else {
            return false;
        };
        if current.reliable < SAMPLES || now.since(began) < self.duration {
            return false;
        }
        let share = current.reliable as f64 / current.samples.len() as f64;
        if share > RELIABLE || current.extended {
            return true;
        }
        current.extended = true;
        self.duration = self.duration * 2;
        false
    }

    fn open(&mut self) {
        self.set_trial();
        self.duration = self.least;
        let most = if self.mode == Mode::Probing {
            2 * PAIRS
        } else {
            1
        };
        let useful = !self.smoothed.is_zero() && self.monitor.useful() < most;
        let starting = self.mode == Mode::Starting;
        self.monitor
            .open(self.rate, useful, starting, self.smoothed);
    }

    /// The rate of the next interval of a trial (`MaybeSetSendingRate`).
    fn set_trial(&mut self) {
        let useful = self.monitor.useful();
        let current = self.monitor.current().is_some_and(|i| i.useful);
        if self.mode != Mode::Probing || (useful == 2 * PAIRS && !current) {
            return;
        }
        if useful != 0 {
            self.back_to_centre();
            if useful == 2 * PAIRS {
                return;
            }
        }
        self.up = if useful.is_multiple_of(2) {
            self.tosses += 1;
            self.draw.bits(self.tosses) & 1 == 1
        } else {
            !self.up
        };
        let step = if self.up { PROBE } else { -PROBE };
        self.set(self.rate * (1.0 + step));
    }

    /// The rate that the trials lie about (`RestoreCentralSendingRate`).
    fn back_to_centre(&mut self) {
        if self.monitor.current().is_some_and(|i| i.useful) {
            let step = if self.up { PROBE } else { -PROBE };
            self.set(self.rate / (1.0 + step));
        }
    }

    /// Trials begin, or begin again (`PccSender::EnterProbing`).
    fn probe(&mut self) {
        if self.mode == Mode::Probing {
            self.back_to_centre();
            self.rounds += 1;
        } else {
            self.set(self.rate * 0.5);
            self.mode = Mode::Probing;
            self.rounds = 1;
        }
    }

    /// The direction that a pair of intervals speaks for: up.
    fn pair_is_up(pair: &[Worth]) -> bool {
        let (a, b) = (pair[0], pair[1]);
        if a.utility > b.utility {
            a.rate > b.rate
        } else {
            a.rate < b.rate
        }
    }

    /// The utilities of all useful intervals are known.
    fn on_utilities(&mut self, worth: &[Worth]) {
        match self.mode {
            Mode::Starting => {
                let Some(&now) = worth.first() else { return };
                if now.utility > self.latest.utility {
                    self.set(self.rate * 2.0);
                    self.latest = now;
                    self.rounds += 1;
                } else {
                    self.probe();
                }
            }
            Mode::Probing => {
                let ups = worth
                    .chunks_exact(2)
                    .filter(|p| Self::pair_is_up(p))
                    .count();
                let downs = PAIRS - ups.min(PAIRS);
                if worth.len() == 2 * PAIRS && (ups > PAIRS / 2 || downs == PAIRS) {
                    self.up = ups > downs;
                    self.remember(worth);
                    self.move_on(worth);
                } else {
                    self.probe();
                }
                let stuck = self.rounds > 1 || self.mode == Mode::DecisionMade;
                if stuck && self.rate <= LEAST_RATE {
                    self.set(LEAST_RATE);
                    self.allowance = 0.0;
                    self.rounds = 1;
                    self.mode = Mode::Starting;
                }
            }
            Mode::DecisionMade => {
                let Some(&now) = worth.first() else { return };
                let (last, better) = (self.latest, now.utility > self.latest.utility);
                let worse = now.utility < last.utility;
                let goes_on = if self.up {
                    (better && now.rate > last.rate) || (worse && now.rate < last.rate)
                } else {
                    (better && now.rate < last.rate) || (worse && now.rate > last.rate)
                };
                if goes_on {
                    self.move_on(worth);
                    self.latest = now;
                } else {
                    self.turn_back(worth);
                }
            }
        }
    }

    /// Keeps the better interval of the last pair that spoke for the direction (`SetRateChangeDirection`).
    fn remember(&mut self, worth: &[Worth]) {
        let mut agreeing = worth
            .chunks_exact(2)
            .filter(|p| Self::pair_is_up(p) == self.up);
        if let Some(pair) = agreeing.next_back() {
            let first = pair[0].utility > pair[1].utility;
            self.latest = if first { pair[0] } else { pair[1] };
        }
    }

    /// A step in the direction (`EnterDecisionMade`).
    fn move_on(&mut self, worth: &[Worth]) {
        if self.mode == Mode::Probing {
            let step = if self.up { PROBE } else { -PROBE };
            self.set(self.rate * (1.0 + step));
            self.rounds = 1;
        } else {
            self.rounds += 1;
        }
        let change = self.change(worth);
        self.set(if self.up {
            self.rate + change
        } else {
            self.rate - change
        });
        self.mode = Mode::DecisionMade;
        if self.rate < LEAST_RATE {
            self.set(LEAST_RATE);
            self.mode = Mode::Probing;
            self.rounds = 1;
            self.allowance = 0.0;
        }
    }

    /// The last step was one too many (`EnterProbing`).
    fn turn_back(&mut self, worth: &[Worth]) {
        self.rounds = 1;
        let change = self.change(worth);
        self.set(if self.up {
            self.rate - change
        } else {
            self.rate + change
        });
        if self.rate < LEAST_RATE {
            self.set(LEAST_RATE);
            self.allowance = 0.0;
        }
        self.mode = Mode::Probing;
    }

    /// How far the rate moves (`ComputeRateChange`; 4.2, 4.3).
    fn change(&mut self, worth: &[Worth]) -> f64 {
        let (rates, utilities) = if self.mode == Mode::Probing {
            let agreeing = worth
                .chunks_exact(2)
                .filter(|p| Self::pair_is_up(p) == self.up);
            let sum: f64 = agreeing.map(|p| (p[0].utility - p[1].utility).abs()).sum();
            ((worth[0].rate - worth[1].rate).abs(), sum / PAIRS as f64)
        } else {
            let now = worth[0];
            let utility = (now.utility - self.latest.utility).abs();
            ((now.rate - self.latest.rate).abs(), utility)
        };
        let slope = if rates > 0.0 {
            MEGABIT * utilities / rates
        } else {
            0.0
        };
        let mut change = slope * MEGABIT;
        if self.mode == Mode::DecisionMade {
            change *= libm::pow(f64::from(self.rounds.div_ceil(2)), AMPLIFY);
        } else {
            self.allowance = 0.0;
        }
        let most = self.rate * (BOUND + BOUND * self.allowance);
        if change > most {
            change = most;
            self.allowance += 1.0;
        } else if self.allowance > 0.0 {
            self.allowance -= 1.0;
        }
        change.max(LEAST_CHANGE)
    }

    /// Books the packets of the event before, `apart` before this one.
    fn book(&mut self, apart: Duration) {
        let pending = core::mem::take(&mut self.pending);
        for &(id, number, bytes) in &pending.arrived {
            let Some(interval) = self.monitor.get_mut(id).filter(|i| i.useful) else {
                continue;
            };
            if interval.reliable >= SAMPLES && interval.is_settled() {
                continue;
            }
            interval.acked += u64::from(bytes);
            let mut reliable = false;
            if let Some(before) = pending.apart {
                let ratio = before.as_secs_f64() / apart.as_secs_f64();
                let ratio = ratio.max(1.0 / ratio);
                let usual = *self.spread.get_or_insert(ratio);
                if ratio > BURST * usual {
                    self.burst = true;
                } else if self.burst {
                    let falls = self.rtt > pending.rtt && pending.rtt < pending.smoothed;
                    self.burst = !falls;
                } else {
                    reliable = true;
                    interval.reliable += 1;
                }
                self.spread = Some(usual * KEEP + ratio * (1.0 - KEEP));
            }
            let rtt = pending.rtt.as_secs_f64() * 1e6;
            interval.samples.push(Sample {
                number,
                rtt,
                reliable,
            });
        }
        self.pending = pending;
        self.pending.arrived.clear();
    }

    /// Decides where the utilities of all useful intervals can be had.
    fn conclude(&mut self) {
        let known = |i: &Interval| i.reliable >= SAMPLES && i.is_settled();
        if self.monitor.useful() == 0 {
            return;
        }
        // An interval of one instant has no rate.
        let void = |i: &Interval| i.useful && known(i) && i.began == Some(i.ended);
        let void = self.monitor.iter().any(void);
        if !void {
            if !self.monitor.iter().filter(|i| i.useful).all(known) {
                return;
            }
            let mut utility = core::mem::take(&mut self.utility);
            let worth: Vec<Worth> = self
                .monitor
                .iter()
                .filter(|i| i.useful)
                .map(|i| Worth {
                    rate: i.rate,
                    utility: utility.of(i, self.wire_mss, self.coefficients),
                })
                .collect();
            self.utility = utility;
            self.on_utilities(&worth);
        }
        let mut left = self.monitor.useful();
        while left > 0 {
            left -= usize::from(self.monitor.pop().is_some_and(|i| i.useful));
        }
    }

    /// The RTT rose far above what it was while the rate doubled (`CheckForRttInflation`).
    fn is_inflated(&self) -> bool {
        let first = self.monitor.current().map_or(Duration::ZERO, |i| i.rtt);
        self.mode == Mode::Starting
            && self.rtt > self.smoothed
            && !first.is_zero()
            && first * INFLATION < self.smoothed
    }
}

impl Controller for Vivace {
    #[inline]
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.view(path);
        if self.is_due(now) {
            self.open();
        }
        self.monitor.sent(now, sent.bytes);
    }

    #[inline]
    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.view(path);
        let mut apart = CLOCK;
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            if self.rtt.is_zero() && rtt.as_secs_f64() < INITIAL_RTT {
                self.set(self.rate * INITIAL_RTT / rtt.as_secs_f64());
            }
            apart = self.heard.map_or(CLOCK, |t| now.since(t).max(CLOCK));
            self.heard = Some(now);
            self.rtt = rtt;
            let first = self.smoothed.is_zero();
            self.smoothed = if first {
                rtt
            } else {
                (self.smoothed * 7 + rtt) / 8
            };
            self.least = if first { rtt } else { self.least.min(rtt) };
        }
        if self.is_inflated() {
            self.monitor.clear();
            self.pending.arrived.clear();
            self.probe();
            return;
        }
        self.book(apart);
        let known = self.monitor.on_ack(now, ack);
        let arrived = known.iter().map(|k| (k.tag, k.number, k.bytes));
        self.pending.arrived.extend(arrived);
        self.pending.rtt = self.rtt;
        self.pending.smoothed = self.smoothed;
        self.pending.apart = Some(apart);
        self.conclude();
        // The next packet reads the rate now.
        if self.monitor.current().is_some() && self.is_due(now) {
            self.open();
        }
    }

    fn on_congestion(&mut self, _now: Instant, path: &PathView, event: &CongestionEvent) {
        self.view(path);
        self.monitor.on_congestion(path, event);
        self.conclude();
    }

    fn on_timer(&mut self, now: Instant, path: &PathView) {
        self.view(path);
        if self.is_due(now) {
            self.open();
        }
    }

    #[inline]
    fn next_timer(&self) -> Option<Instant> {
        let current = self.monitor.current()?;
        let waits = current.useful && current.reliable >= SAMPLES;
        current.began.filter(|_| waits).map(|t| t + self.duration)
    }

    #[inline]
    fn intent(&self) -> Intent {
        Intent {
            window: Some(Bytes(u64::from(self.mss) * UNBOUNDED)),
            pacing: Some(Rate::from_bps(self.pacing() as u64)),
            recovery: RecoveryMode::Controller,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("rate_mbps", self.rate * 1e-6));
        out.push(("pacing_mbps", self.pacing() * 1e-6));
        out.push(("utility", self.latest.utility));
        out.push(("rounds", f64::from(self.rounds)));
        out.push(("mode", f64::from(self.mode as u8)));
    }

    fn name(&self) -> &'static str {
        "vivace"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
