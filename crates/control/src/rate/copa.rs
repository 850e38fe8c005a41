//! Copa (Arun and Balakrishnan, NSDI 2018): a target rate of one packet per `delta` queueing delays.
//!
//! The window moves towards the target by `v / delta` packets per RTT (2.1 of the paper), and a flow that never sees the
//! queue nearly empty competes with buffer-fillers by lowering `delta` (2.2). [`mode`] holds that test and what the
//! competition does to `delta`, [`velocity`] holds `v`. Where the paper is silent the authors' implementation is
//! followed (genericCC, `markoviancc.cc`); the rules taken from it say so.

pub mod mode;
pub mod velocity;

use slackwater_core::{Bytes, Duration, Instant, Rate};

use crate::estimate::windowed_min::WindowedMin;
use crate::rate::copa::mode::Switch;
use crate::rate::copa::velocity::Velocity;
use crate::registry::{AnyController, Entry, Parameter, Parameters};
use crate::{Ack, Cause, CongestionEvent, Controller, Intent, PathView, RecoveryMode, Sent};

/// What the registry knows of them.
pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "copa",
        title: "Copa",
        about: "Copa (NSDI 2018) with its mode switching; copa:delta=X for another delta",
        modes: Some(MODES),
        parameters: &PARAMETERS,
        make: |cfg, p| {
            let copa = Copa::new(cfg.mss, cfg.initial_window, delta(p)?);
            Ok(AnyController::Copa(copa))
        },
        ..Entry::TRANSPORT
    },
    Entry {
        name: "copa-default",
        title: "Copa (default mode)",
        about: "Copa that stays in its default mode, whoever fills the buffer",
        modes: Some(MODES),
        parameters: &PARAMETERS,
        make: |cfg, p| {
            let copa = Copa::fixed(cfg.mss, cfg.initial_window, delta(p)?);
            Ok(AnyController::Copa(copa))
        },
        ..Entry::TRANSPORT
    },
];

/// What may follow `:` in the name.
const PARAMETERS: [Parameter; 1] = [Parameter::number(
    "delta",
    DELTA,
    (1e-3, 1e3),
    "",
    "weight of delay against throughput in the default mode (Copa, 2.2)",
)];

/// Names of the modes, in the order of their codes.
const MODES: &[&str] = &["SLOW_START", "DEFAULT", "COMPETITIVE"];

/// The `delta` that the name gives.
fn delta(p: Parameters<'_>) -> Result<f64, String> {
    let [delta] = p.numbers(&PARAMETERS)?;
    Ok(delta)
}

/// `delta` of the default mode (2.2).
pub const DELTA: f64 = 0.5;
/// The least RTT is that of this time (2.1).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// The window is paced at twice its rate, so that it is the window that limits (2.1).
const PACING_GAIN: f64 = 2.0;
/// Least window in packets (authors' implementation).
const WINDOW_MIN: f64 = 2.0;
/// Largest window: keeps the arithmetic in range.
const WINDOW_MAX: f64 = (1u64 << 30) as f64;
/// A share of losses above this costs a part of the window in any mode (authors' implementation, `ReduceOnLoss`): where
/// the buffer holds less than the queue that Copa aims at, delay alone would let the window grow for ever.
const LOSS_SHARE: f64 = 0.3;
/// What is left of the window then.
const LOSS_FACTOR: f64 = 0.7;
/// The share is taken of at least this many packets, and two RTTs.
const LOSS_PACKETS: f64 = 20.0;

/// Copa.
#[derive(Clone, Debug)]
pub struct Copa {
    name: &'static str,
    mss: u32,
    wire_mss: u32,
    /// Window in packets.
    cwnd: f64,
    slow_start: bool,
    velocity: Velocity,
    switch: Switch,
    /// `RTTmin`.
    least: WindowedMin,
    /// `RTTstanding`: the least RTT of the last half smoothed RTT, which leaves out the jitter of ACKs.
    standing: WindowedMin,
    losses: LossShare,
    /// A round ends when this position is acknowledged.
    round_end: u64,
    /// What a spurious timeout gives back.
    prior: Option<f64>,
}

/// The share of lost packets since a time.
#[derive(Clone, Copy, Debug, Default)]
struct LossShare {
    since: Instant,
    lost: f64,
    all: f64,
}

impl LossShare {
    /// Counts packets; true where too many of them were lost.
    #[inline]
    fn count(&mut self, now: Instant, rtt: Duration, acked: f64, lost: f64) -> bool {
        self.lost += lost;
        self.all += acked + lost;
        if self.all <= LOSS_PACKETS || now.since(self.since) <= rtt * 2 {
            return false;
        }
        let many = self.lost > LOSS_SHARE * self.all;
        *self = Self {
            since: now,
            ..Self::default()
        };
        many
    }
}

impl Copa {
    fn with(name: &'static str, mss: u32, initial: u32, switch: Switch) -> Self {
        let mss = mss.max(1);
        let cwnd = f64::from(initial).clamp(1.0, WINDOW_MAX);
        Self {
            name,
            mss,
            // Refined by the first view of the path; TCP over IPv4 with time stamps until then.
            wire_mss: mss + 52,
            cwnd,
            slow_start: true,
            velocity: Velocity::new(cwnd),
            switch,
            least: WindowedMin::default(),
            standing: WindowedMin::default(),
            losses: LossShare::default(),
            round_end: 0,
            prior: None,
        }
    }

    /// Copa with an initial window of `initial` packets of `mss` payload bytes, and `delta` in the default mode; it
    /// switches to the competitive mode where others fill the buffer.
    pub fn new(mss: u32, initial: u32, delta: f64) -> Self {
        Self::with("copa", mss, initial, Switch::new(delta, true))
    }

    /// Copa that stays in the default mode.
    pub fn fixed(mss: u32, initial: u32, delta: f64) -> Self {
        Self::with("copa-default", mss, initial, Switch::new(delta, false))
    }

    /// `delta` in force.
    pub const fn delta(&self) -> f64 {
        self.switch.delta()
    }

    /// It competes with buffer-fillers.
    pub const fn is_competitive(&self) -> bool {
        self.switch.is_competitive()
    }

    /// The window in packets.
    pub const fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// Queueing delay by the paper's equation 1, zero before the first RTT sample.
    fn queueing(&self) -> Duration {
        match (self.standing.get(), self.least.get()) {
            (Some(standing), Some(least)) => standing.saturating_sub(least),
            _ => Duration::ZERO,
        }
    }

    fn packets(&self, bytes: Bytes) -> f64 {
        bytes.0 as f64 / f64::from(self.mss)
    }

    fn view(&mut self, path: &PathView) {
        if path.mss != 0 {
            self.mss = path.mss;
            self.wire_mss = path.wire_mss.max(path.mss);
        }
    }

    /// The window follows the target for an ACK of `acked` packets (2.1, steps 2 and 3).
    fn follow_target(&mut self, ack: &Ack, acked: f64) {
        let Some(standing) = self.standing.get() else {
            return;
        };
        let delta = self.switch.delta();
        // cwnd / RTTstanding <= 1 / (delta * dq) without a division by an empty queue.
        let below = self.cwnd * delta * self.queueing().as_secs_f64() <= standing.as_secs_f64();
        if self.slow_start {
            if below {
                if ack.cwnd_limited {
                    self.cwnd += acked;
                }
                return;
            }
            self.slow_start = false;
            self.velocity.reset(self.cwnd);
        }
        self.velocity.turn(below);
        // Not faster than doubling (authors' implementation).
        let v = self.velocity.get().min((self.cwnd * delta).max(1.0));
        let step = acked * v / (delta * self.cwnd);
        if !below {
            self.cwnd -= step;
        } else if ack.cwnd_limited {
            self.cwnd += step;
        }
    }

    fn keep_in_range(&mut self) {
        self.cwnd = self.cwnd.clamp(WINDOW_MIN, WINDOW_MAX);
    }
}

impl Controller for Copa {
    #[inline]
    fn on_sent(&mut self, _now: Instant, _path: &PathView, _sent: &Sent) {}

    #[inline]
    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.view(path);
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            self.least.update(now, rtt, MIN_RTT_WINDOW);
            self.standing.update(now, rtt, path.srtt / 2);
            let least = self.least.get().unwrap_or(rtt);
            let standing = self.standing.get().unwrap_or(rtt);
            self.switch.sample(rtt, standing, least, self.cwnd);
        }
        if ack.una >= self.round_end {
            self.round_end = ack.next;
            self.switch.round();
            self.velocity.round(self.cwnd, ack.cwnd_limited);
        }
        let acked = self.packets(ack.newly_acked);
        if acked > 0.0 {
            self.follow_target(ack, acked);
        }
        let lost = self.packets(ack.newly_lost);
        if self.losses.count(now, path.srtt, acked, lost) {
            self.slow_start = false;
            self.cwnd *= LOSS_FACTOR;
        }
        self.keep_in_range();
    }

    fn on_congestion(&mut self, _now: Instant, path: &PathView, event: &CongestionEvent) {
        self.view(path);
        // In the default mode only delay counts; in the other a loss costs as much as it costs those it competes with.
        self.switch.lost();
        if event.cause == Cause::Timeout {
            // RFC 5681, 3.1; the paper leaves it to TCP. What was learnt of the path may be void.
            self.prior.get_or_insert(self.cwnd);
            self.cwnd = self.cwnd.min(1.0);
            self.slow_start = true;
            self.standing.clear();
            self.velocity.reset(self.cwnd);
        }
    }

    fn on_undo(&mut self, _now: Instant, _path: &PathView) {
        if let Some(prior) = self.prior.take() {
            self.cwnd = self.cwnd.max(prior);
            self.slow_start = false;
            self.velocity.reset(self.cwnd);
        }
    }

    fn on_recovered(&mut self, _now: Instant, _path: &PathView) {
        self.prior = None;
    }

    #[inline]
    fn intent(&self) -> Intent {
        let window = (self.cwnd as u64).max(1) * u64::from(self.mss);
        let pacing = self.standing.get().map(|standing| {
            let bits = self.cwnd * f64::from(self.wire_mss) * 8.0;
            let bps = PACING_GAIN * bits / standing.as_secs_f64();
            Rate::from_bps((bps as u64).clamp(1, u64::MAX >> 1))
        });
        Intent {
            window: Some(Bytes(window)),
            pacing,
            recovery: RecoveryMode::Controller,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("cwnd", self.cwnd));
        out.push(("delta", self.switch.delta()));
        out.push(("velocity", self.velocity.get()));
        out.push(("dq", self.queueing().as_secs_f64()));
        if let Some(standing) = self.standing.get() {
            out.push(("rtt_standing", standing.as_secs_f64()));
        }
        if let Some(least) = self.least.get() {
            out.push(("rtt_min", least.as_secs_f64()));
        }
        let mode = match (self.slow_start, self.switch.is_competitive()) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => 2,
        };
        out.push(("mode", f64::from(mode)));
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
