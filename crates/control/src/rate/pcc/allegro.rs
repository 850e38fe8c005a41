//! PCC Allegro: trials of a slightly higher and a slightly lower rate, then steps in the better direction (NSDI 2015).
//!
//! Section numbers are the paper's. The rate doubles each monitor interval until the utility falls (3.2, starting). Then
//! two pairs of intervals try `1 + eps` and `1 - eps` of it in random order; where both pairs agree the rate moves, else
//! eps grows (decision making). Steps of `n eps_min` follow while the utility rises (rate adjusting). The utility is the
//! paper's safe one, which goes by losses alone: in a queue that never drops it fills what there is. With `latency` it is
//! divided by the mean RTT, as in the line that the authors' sender has in force (PCC-Uspace, branch `NSDI-2018`, `cc.h`).

use slackwater_core::{Bytes, Draw, Duration, Instant, Rate};

use super::monitor::{Interval, Monitor, Sample};
use super::{INITIAL_RTT, MOST_RATE, UNBOUNDED, utility};
use crate::registry::{AnyController, Entry, Parameter};
use crate::{Ack, Cause, CongestionEvent, Controller, Intent, PathView, RecoveryMode, Sent};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "allegro",
    title: "PCC Allegro",
    about: "PCC Allegro (NSDI 2015): trials of rates by throughput and losses; allegro:latency=1",
    modes: Some(MODES),
    parameters: &PARAMETERS,
    make: |cfg, p| {
        let [latency] = p.numbers(&PARAMETERS)?;
        let allegro = Allegro::new(latency > 0.0, cfg.mss, cfg.draw);
        Ok(AnyController::Allegro(allegro.into()))
    },
    ..Entry::TRANSPORT
}];

/// What may follow `:` in the name.
const PARAMETERS: [Parameter; 1] = [Parameter::number(
    "latency",
    0.0,
    (0.0, 1.0),
    "",
    "above 0: the utility is divided by the mean RTT (PCC-Uspace, branch `NSDI-2018`); 0: the paper's, by losses alone",
)];

/// Least and greatest step of a trial (3.2).
const STEP: f64 = 0.01;
const MOST_STEP: f64 = 0.05;
/// An interval lasts a time drawn from this range, in RTTs (3.1) ...
const LEAST_RTTS: f64 = 1.7;
const MOST_RTTS: f64 = 2.2;
/// ... and that of so many packets at least (3.1).
const PACKETS: f64 = 10.0;
/// Packets in the first RTT (3.2).
const FIRST: f64 = 2.0;
/// Intervals of a trial: two pairs (3.2).
const TRIALS: usize = 4;
/// What a timeout leaves of the rate (authors' `onTimeout`).
const TIMEOUT: f64 = 0.5;

/// Names of the states, in the order of their codes.
pub const MODES: &[&str] = &["STARTING", "DECIDING", "ADJUSTING"];

/// An interval of a trial.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// The interval; `None` before it is opened.
    id: Option<u32>,
    /// It tries the higher rate.
    up: bool,
    /// What came of it.
    utility: Option<f64>,
}

/// What the sender is at.
#[derive(Clone, Copy, Debug)]
enum State {
    /// The rate doubles with each interval; the best so far and its rate.
    Starting { best: Option<(f64, f64)> },
    /// Two pairs are tried.
    Deciding { trials: [Trial; TRIALS] },
    /// Step `n` of the rate, up or down.
    Adjusting {
        n: u32,
        up: bool,
        /// The first interval at the new rate.
        target: u32,
        /// The utility before; `None` on the first step.
        last: Option<f64>,
    },
}

/// PCC Allegro.
#[derive(Clone, Debug)]
pub struct Allegro {
    latency: bool,
    mss: u32,
    wire_mss: u32,
    draw: Draw,
    /// Numbers drawn so far.
    draws: u64,
    state: State,
    /// The rate that trials lie about, bit/s; zero before the first packet.
    rate: f64,
    /// The rate before the last step.
    before: f64,
    /// Step of the next trial.
    step: f64,
    monitor: Monitor,
    srtt: Duration,
    /// The current interval ends here.
    end: Instant,
}

impl Allegro {
    /// A sender of packets of `mss` payload bytes; `latency` divides its utility by the RTT.
    pub fn new(latency: bool, mss: u32, draw: Draw) -> Self {
        let mss = mss.max(1);
        Self {
            latency,
            mss,
            // Refined by the first view of the path; TCP over IPv4 with time stamps until then.
            wire_mss: mss + 52,
            draw,
            draws: 0,
            state: State::Starting { best: None },
            rate: 0.0,
            before: 0.0,
            step: STEP,
            monitor: Monitor::default(),
            srtt: Duration::ZERO,
            end: Instant::ZERO,
        }
    }

    fn view(&mut self, path: &PathView) {
        if path.mss != 0 {
            self.mss = path.mss;
            self.wire_mss = path.wire_mss.max(path.mss);
        }
        self.srtt = path.srtt;
    }

    /// Seconds of an RTT.
    fn rtt(&self) -> f64 {
        if self.srtt.is_zero() {
            INITIAL_RTT
        } else {
            self.srtt.as_secs_f64()
        }
    }

    /// Bits of a full packet.
    fn packet(&self) -> f64 {
        f64::from(self.wire_mss) * 8.0
    }

    fn draw(&mut self) -> f64 {
        self.draws += 1;
        self.draw.uniform(self.draws)
    }

    /// The least rate: the first packets', which a longer RTT makes lower.
    fn set(&mut self, rate: f64) {
        let least = FIRST * self.packet() / self.rtt().max(INITIAL_RTT);
        self.rate = rate.max(least).min(MOST_RATE);
    }

    /// The next interval begins.
    fn open(&mut self, now: Instant) {
        let mut rate = self.rate;
        let mut trial = None;
        match &mut self.state {
            State::Starting { .. } => {
                if self.monitor.current().is_some() {
                    rate = (self.rate * 2.0).min(MOST_RATE);
                    self.rate = rate;
                }
            }
            State::Deciding { trials } => {
                trial = trials.iter().position(|t| t.id.is_none());
                if let Some(i) = trial {
                    let step = if trials[i].up { self.step } else { -self.step };
                    rate *= 1.0 + step;
                }
            }
            State::Adjusting { .. } => {}
        }
        let starting = matches!(self.state, State::Starting { .. });
        let id = self.monitor.open(rate, true, starting, self.srtt);
        if let (Some(i), State::Deciding { trials }) = (trial, &mut self.state) {
            trials[i].id = Some(id);
        }
        let rtts = LEAST_RTTS + (MOST_RTTS - LEAST_RTTS) * self.draw();
        let seconds = (rtts * self.rtt()).max(PACKETS * self.packet() / rate);
        self.end = now + Duration::from_secs_f64(seconds);
    }

    /// Trials begin; the order within each pair is random (3.2).
    fn decide(&mut self) {
        let mut trials = [Trial {
            id: None,
            up: true,
            utility: None,
        }; TRIALS];
        for pair in trials.chunks_exact_mut(2) {
            let up = self.draw() < 0.5;
            pair[0].up = up;
            pair[1].up = !up;
        }
        self.state = State::Deciding { trials };
    }

    /// The rate moves to `rate`, and an interval begins with it (3.1: intervals are aligned with changes of the rate).
    fn adjust(&mut self, now: Instant, n: u32, up: bool, last: Option<f64>, rate: f64) {
        self.before = self.rate;
        self.set(rate);
        self.state = State::Adjusting {
            n,
            up,
            target: 0,
            last,
        };
        self.open(now);
        let id = self.monitor.current().map_or(0, |i| i.id);
        self.state = State::Adjusting {
            n,
            up,
            target: id,
            last,
        };
    }

    /// The books of `interval` are complete.
    fn judge(&mut self, now: Instant, interval: &Interval) {
        let seconds = interval.seconds(self.wire_mss);
        let mut worth = utility::allegro(interval.sent, interval.lost, seconds);
        if self.latency {
            worth /= interval.mean_rtt().unwrap_or_else(|| self.rtt());
        }
        match &mut self.state {
            State::Starting { best } => match *best {
                Some((rate, was)) if worth <= was => {
                    self.set(rate);
                    self.decide();
                    self.open(now);
                }
                _ => *best = Some((interval.rate, worth)),
            },
            State::Deciding { trials } => {
                let Some(trial) = trials.iter_mut().find(|t| t.id == Some(interval.id)) else {
                    return;
                };
                trial.utility = Some(worth);
                let up = |pair: &[Trial]| -> Option<bool> {
                    let better = pair[0].utility? > pair[1].utility?;
                    Some(pair[usize::from(!better)].up)
                };
                let (Some(first), Some(second)) = (up(&trials[..2]), up(&trials[2..])) else {
                    return;
                };
                if first == second {
                    let step = if first { self.step } else { -self.step };
                    self.step = STEP;
                    self.adjust(now, 0, first, None, self.rate * (1.0 + step));
                } else {
                    self.step = (self.step + STEP).min(MOST_STEP);
                    self.decide();
                    self.open(now);
                }
            }
            State::Adjusting {
                n,
                up,
                target,
                last,
            } => {
                if *target != interval.id {
                    return;
                }
                let (n, up) = (*n + 1, *up);
                if last.is_some_and(|last| worth < last) {
                    self.set(self.before);
                    self.decide();
                    self.open(now);
                } else {
                    let step = f64::from(n) * if up { STEP } else { -STEP };
                    self.adjust(now, n, up, Some(worth), self.rate * (1.0 + step));
                }
            }
        }
    }

    /// Closes the books that are complete, oldest first.
    fn conclude(&mut self, now: Instant) {
        loop {
            let open = self.monitor.current().map(|i| i.id);
            let first = self.monitor.iter().next();
            if !first.is_some_and(|i| Some(i.id) != open && i.is_settled()) {
                return;
            }
            if let Some(interval) = self.monitor.pop().filter(|i| i.sent > 0) {
                self.judge(now, &interval);
            }
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        self.monitor
            .current()
            .is_none_or(|i| i.began.is_some() && now >= self.end)
    }
}

impl Controller for Allegro {
    #[inline]
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.view(path);
        if self.rate <= 0.0 {
            self.set(FIRST * self.packet() / self.rtt());
        }
        if self.is_due(now) {
            self.open(now);
        }
        self.monitor.sent(now, sent.bytes);
    }

    #[inline]
    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.view(path);
        let rtt = ack.rtt.filter(|rtt| !rtt.is_zero());
        let rtt = rtt.map(|rtt| rtt.as_secs_f64() * 1e6);
        let known = self.monitor.on_ack(now, ack).len();
        for k in 0..known {
            self.monitor.arrive(
                k,
                rtt.map(|rtt| Sample {
                    number: 0,
                    rtt,
                    reliable: true,
                }),
            );
        }
        self.conclude(now);
        if self.monitor.current().is_some() && self.is_due(now) {
            self.open(now);
        }
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.view(path);
        self.monitor.on_congestion(path, event);
        if event.cause == Cause::Timeout && self.rate > 0.0 {
            self.monitor.clear();
            self.set(self.rate * TIMEOUT);
            self.step = STEP;
            self.decide();
            self.open(now);
            return;
        }
        self.conclude(now);
    }

    fn on_timer(&mut self, now: Instant, path: &PathView) {
        self.view(path);
        if self.is_due(now) {
            self.open(now);
        }
    }

    #[inline]
    fn next_timer(&self) -> Option<Instant> {
        let began = self.monitor.current()?.began?;
        Some(self.end.max(began))
    }

    #[inline]
    fn intent(&self) -> Intent {
        let rate = self.monitor.current().map_or(self.rate, |i| i.rate);
        let rate = if rate > 0.0 {
            rate
        } else {
            FIRST * self.packet() / INITIAL_RTT
        };
        Intent {
            window: Some(Bytes(u64::from(self.mss) * UNBOUNDED)),
            pacing: Some(Rate::from_bps(rate.clamp(1.0, MOST_RATE) as u64)),
            recovery: RecoveryMode::Controller,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("rate_mbps", self.rate * 1e-6));
        out.push(("epsilon", self.step));
        let mode = match self.state {
            State::Starting { .. } => 0,
            State::Deciding { .. } => 1,
            State::Adjusting { .. } => 2,
        };
        out.push(("mode", f64::from(mode)));
    }

    fn name(&self) -> &'static str {
        "allegro"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
