//! Verus: a learned profile of delay against window sets the window (Zaki, Pötsch, Chen, Subramanian, Görg: "Adaptive
//! Congestion Control for Unpredictable Cellular Networks", SIGCOMM 2015).
//!
//! Every 5 ms Verus moves a delay that it aims at by how the greatest delay of the last epoch moved, reads the window for
//! it off the [`profile`], and sends what brings the packets in flight there (section 4). Slow start fills the profile, a
//! loss cuts the window by the multiplicative decrease of 5.2. Where paper and code differ, or the paper is silent, the
//! authors' code is followed (`verus_server.cpp`, revision 4b1bbf0); names in brackets are the code's.
//!
//! The host finds losses, resends and times out, which Verus's datagrams leave to nobody: a loss is answered when the host
//! declares it, not 150 ms after the gap was seen (`MISSING_PKT_EXPIRY`).

pub mod profile;
pub mod spline;

use slackwater_core::{Bytes, Duration, Instant};

use crate::estimate::sent_log::{Fate, SentLog};
use crate::rate::verus::profile::{Profile, WINDOWS};
use crate::registry::{AnyController, Entry, Parameter};
use crate::{Ack, Cause, CongestionEvent, Controller, Intent, PathView, RecoveryMode, Sent};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "verus",
    title: "Verus",
    about: "Verus (SIGCOMM 2015): window from a learned profile of delays; verus:r=6",
    modes: Some(MODES),
    parameters: &PARAMETERS,
    make: |cfg, p| {
        let [ratio] = p.numbers(&PARAMETERS)?;
        Ok(AnyController::Verus(Verus::new(ratio, cfg.mss).into()))
    },
    ..Entry::TRANSPORT
}];

/// What may follow `:` in the name.
const PARAMETERS: [Parameter; 1] = [Parameter::number(
    "r",
    R,
    (1.0, 100.0),
    "",
    "greatest delay over the least above which the delay aimed at falls (`VERUS_R`; R of the paper)",
)];

/// Time between two decisions (`EPOCH`).
const EPOCH: Duration = Duration::from_millis(5);
const EPOCH_MS: f64 = 5.0;
/// Time between two fits of the curve (`CURVE_TIMER`).
const REFIT: Duration = Duration::from_secs(1);
/// Decrease and increase of the delay aimed at, ms (`DELTA1`, `DELTA2`; 5.3).
const DELTA1: f64 = 1.0;
const DELTA2: f64 = 2.0;
/// Greatest delay over least above which the delay aimed at falls by `DELTA2` (`VERUS_R`; the paper's figures have R = 2, 4
/// and 6).
pub const R: f64 = 6.0;
/// What a loss leaves of the window of the lost packet (`VERUS_M_DECREASE`).
const DECREASE: f64 = 0.7;
/// A delay above this ends slow start, ms (`SS_EXIT_THRESHOLD`).
const SLOW_START_DELAY: f64 = 500.0;
/// Slow start survives losses up to this window.
const SLOW_START_WINDOW: f64 = 20.0;
/// Points of slow start beyond the packet lost are dropped, but not below this.
const KEPT_WINDOWS: usize = 100;
/// Silence after which the packets in flight are given up, ms: before the first packet's delay, at least and at most.
const FIRST_TIMEOUT: f64 = 1000.0;
const LEAST_TIMEOUT: f64 = 150.0;
const MOST_TIMEOUT: f64 = 1000.0;
/// ... and in delays of the newest packet.
const TIMEOUT_DELAYS: f64 = 5.0;
/// The averages of the delay and of its greatest keep so much.
const KEEP_DELAY: f64 = 0.875;
const KEEP_MOST: f64 = 0.2;
/// The least delay before any was seen, ms.
const NO_DELAY: f64 = 1000.0;
/// A step by which the least delay rises where it holds the sender at nothing, ms.
const LEAST_STEP: f64 = 10.0;
/// A greatest delay that rose by less than this did not rise, ms.
const RISE: f64 = 1e-4;

/// Packets of one epoch at most: a system call each, of 5 us (ours: it keeps a run away from what no sender can do).
const MOST_BURST: f64 = 1000.0;

/// Names of the states, in the order of their codes.
pub const MODES: &[&str] = &["SLOW_START", "NORMAL", "LOSS"];

/// Verus.
#[derive(Clone, Debug)]
pub struct Verus {
    /// Greatest over least delay that is suffered.
    ratio: f64,
    mss: u32,
    /// Packets that are out, with the window under which each left.
    log: SentLog<u32>,
    profile: Profile,
    slow_start: bool,
    /// From a loss to the first packet that left under the reduced window.
    loss_phase: bool,
    /// Slow start ended by delay: until the loss phase ends the ratio does not count.
    left_slow_start: bool,
    /// Window in packets (`wBar`).
    window: f64,
    /// Packets before this number left before the last restart: what becomes of them counts no more (`ss_id`).
    session: u64,
    /// Packets in flight by Verus's own count (`wCrt`), which a timeout clears.
    in_flight: f64,
    /// Payload bytes in flight by the host's.
    host_in_flight: u64,
    /// Payload bytes that may still leave in this epoch (`tempS`).
    allowance: u64,
    /// The delay aimed at, ms (`dEst`).
    aim: f64,
    /// Least delay, ms (`dMin`).
    least: f64,
    /// Smoothed greatest delay of an epoch, ms (`dMaxLast`); `None` before the first epoch.
    most: Option<f64>,
    /// Greatest delay in this epoch, ms.
    newest_most: Option<f64>,
    /// Smoothed delay, ms (`dTBar`).
    smoothed: f64,
    /// Delay of the newest packet, ms.
    delay: f64,
    /// The last ACK.
    heard: Option<Instant>,
    /// The next decision; `None` in slow start and where nothing is to be sent.
    epoch: Option<Instant>,
    /// The next fit.
    refit: Instant,
    /// Silence until here is a timeout.
    timeout: Option<Instant>,
}

/// A moving average that keeps `keep` of itself.
fn average(old: f64, new: f64, keep: f64) -> f64 {
    old * keep + new * (1.0 - keep)
}

impl Verus {
    /// A sender of packets of `mss` payload bytes, with a ratio of greatest to least delay of `ratio`.
    pub fn new(ratio: f64, mss: u32) -> Self {
        let mss = mss.max(1);
        Self {
            ratio,
            mss,
            log: SentLog::default(),
            profile: Profile::default(),
            slow_start: true,
            loss_phase: false,
            left_slow_start: false,
            window: 1.0,
            session: 0,
            in_flight: 0.0,
            host_in_flight: 0,
            allowance: u64::from(mss),
            aim: 0.0,
            least: NO_DELAY,
            most: None,
            newest_most: None,
            smoothed: 0.0,
            delay: 0.0,
            heard: None,
            epoch: None,
            refit: Instant::ZERO,
            timeout: None,
        }
    }

    /// The window in packets.
    pub const fn window(&self) -> f64 {
        self.window
    }

    /// It is in slow start.
    pub const fn is_slow_start(&self) -> bool {
        self.slow_start
    }

    fn view(&mut self, path: &PathView) {
        if path.mss != 0 {
            self.mss = path.mss;
        }
        self.host_in_flight = path.in_flight.0;
    }

    fn packets(&self, bytes: u64) -> f64 {
        bytes as f64 / f64::from(self.mss)
    }

    fn allow(&mut self, packets: f64) {
        self.allowance = packets.max(0.0) as u64 * u64::from(self.mss);
    }

    /// Everything but the packets that are out begins anew (`restartSlowStart`).
    fn restart(&mut self, now: Instant) {
        let fresh = Self::new(self.ratio, self.mss);
        *self = Self {
            session: self.log.next(),
            log: core::mem::take(&mut self.log),
            host_in_flight: self.host_in_flight,
            heard: self.heard,
            ..fresh
        };
        self.arm(now, FIRST_TIMEOUT);
    }

    fn arm(&mut self, now: Instant, ms: f64) {
        self.timeout = Some(now + Duration::from_secs_f64(ms * 1e-3));
    }

    /// Epochs and fits begin.
    fn leave_slow_start(&mut self, now: Instant) {
        self.slow_start = false;
        self.allowance = 0;
        self.epoch = Some(now + EPOCH);
        self.refit = now;
    }

    /// Packets that left under window `w` arrived.
    #[inline]
    fn arrived(&mut self, w: u32, packets: f64, delay: Option<f64>) {
        self.in_flight = (self.in_flight - packets).max(0.0);
        if let Some(delay) = delay {
            self.newest_most = Some(self.newest_most.map_or(delay, |d| d.max(delay)));
            self.smoothed = average(self.smoothed, delay, KEEP_DELAY);
            self.least = self.least.min(delay);
            if !self.loss_phase {
                self.profile.sample(w as usize, delay);
            }
        }
        if self.loss_phase {
            // As congestion avoidance (5.2).
            self.window += packets / self.window;
            if self.profile.has_curve() {
                self.aim = self.aim.min(self.profile.delay(self.window));
            }
        }
        if self.slow_start {
            self.window = (self.window + packets).min((WINDOWS - 1) as f64);
        }
    }

    /// A packet that left under window `w` is lost: one cut for each loss phase (`removeExpiredPacketsFromSeqQueue`).
    fn lose(&mut self, now: Instant, w: u32) {
        if !self.loss_phase {
            self.loss_phase = true;
            self.window = (DECREASE * f64::from(w)).min(self.window).max(1.0);
            self.aim = self.profile.delay(self.window);
        }
        if self.slow_start && self.window > SLOW_START_WINDOW {
            self.profile.stop_at(KEPT_WINDOWS.max(w as usize));
            self.in_flight = 0.0;
            self.leave_slow_start(now);
        }
    }

    /// A decision (4.1 to 4.3).
    fn decide(&mut self, now: Instant) {
        let most = self.newest_most.take().unwrap_or_else(|| {
            let silent = self.heard.map_or(0.0, |t| now.since(t).as_millis_f64());
            self.most.unwrap_or(0.0).max(silent)
        });
        let last = self.most.unwrap_or(most);
        let mut hold = false;
        if last / self.least > self.ratio {
            if !self.left_slow_start {
                self.aim = self.least.max(self.aim - DELTA2);
                if self.aim <= self.least && self.in_flight < 2.0 {
                    self.least += LEAST_STEP;
                } else {
                    hold = self.aim <= self.least;
                }
            }
        } else if most - last > RISE {
            self.aim = self.least.max(self.aim - DELTA1);
        } else {
            self.aim += DELTA2;
        }
        let Some(window) = self.profile.window(self.aim) else {
            self.restart(now);
            return;
        };
        self.window = window.max(1.0);
        // Equation 5: an epoch's share of the packets in flight will have arrived before the next.
        let epochs = (self.smoothed / EPOCH_MS).ceil();
        let left = if epochs > 1.0 {
            self.window + self.in_flight * (2.0 - epochs) / (epochs - 1.0)
        } else {
            self.window - self.in_flight
        };
        self.most = Some(average(last, most, KEEP_MOST));
        self.allow(if hold { 0.0 } else { left.min(MOST_BURST) });
    }

    /// Silence: what is in flight is given up (`TimeoutHandler`).
    fn fall_silent(&mut self, now: Instant) {
        if self.heard.is_none() {
            self.restart(now);
            return;
        }
        if self.slow_start {
            self.leave_slow_start(now);
        } else {
            self.loss_phase = true;
            self.in_flight = 0.0;
            self.aim = self.least;
        }
        let ms = (TIMEOUT_DELAYS * self.delay).clamp(LEAST_TIMEOUT, MOST_TIMEOUT);
        self.arm(now, ms);
    }
}

impl Controller for Verus {
    #[inline]
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.view(path);
        if self.log.out().0 == 0 {
            // The first packet, and the first after a pause.
            let ms = (TIMEOUT_DELAYS * self.delay).clamp(LEAST_TIMEOUT, MOST_TIMEOUT);
            self.arm(
                now,
                if self.heard.is_none() {
                    FIRST_TIMEOUT
                } else {
                    ms
                },
            );
            if self.heard.is_some() {
                self.heard = Some(now);
            }
        }
        if !self.slow_start && self.epoch.is_none() {
            self.epoch = Some(now + EPOCH);
        }
        self.allowance = self.allowance.saturating_sub(sent.bytes.0);
        self.in_flight += self.packets(sent.bytes.0);
        self.log.sent(now, sent.bytes, self.window as u32);
    }

    #[inline]
    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.view(path);
        let delay = ack
            .rtt
            .filter(|rtt| !rtt.is_zero())
            .map(Duration::as_millis_f64);
        if ack.newly_acked.0 > 0 {
            self.heard = Some(now);
            self.delay = delay.unwrap_or(self.delay);
            let ms = (TIMEOUT_DELAYS * self.delay).clamp(LEAST_TIMEOUT, MOST_TIMEOUT);
            self.arm(now, ms);
        }
        let mut log = core::mem::take(&mut self.log);
        log.on_ack(now, ack, |known| {
            if known.number < self.session {
                return;
            }
            let packets = self.packets(u64::from(known.bytes));
            let w = known.tag;
            if known.fate == Fate::Lost {
                self.in_flight = (self.in_flight - packets).max(0.0);
                self.lose(now, w);
                return;
            }
            if self.slow_start && delay.is_some_and(|d| d > SLOW_START_DELAY) {
                self.window = (DECREASE * f64::from(w)).max(1.0);
                self.aim = self.profile.delay(self.window);
                self.loss_phase = true;
                self.left_slow_start = true;
                self.leave_slow_start(now);
            }
            if self.loss_phase && f64::from(w) <= self.window {
                self.newest_most = None;
                self.loss_phase = false;
                self.left_slow_start = false;
            }
            self.arrived(w, packets, delay);
        });
        self.log = log;
        if self.slow_start {
            self.allow(self.window - self.in_flight);
        }
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.view(path);
        let oldest = self
            .log
            .oldest()
            .filter(|_| self.log.first() >= self.session);
        let mut log = core::mem::take(&mut self.log);
        log.on_congestion(path, event, |known| {
            if known.number < self.session {
                return;
            }
            let packets = self.packets(u64::from(known.bytes));
            self.in_flight = (self.in_flight - packets).max(0.0);
        });
        self.log = log;
        // A timeout of the host's comes after Verus's own.
        let Some(w) = oldest.filter(|_| event.cause != Cause::Timeout) else {
            return;
        };
        self.lose(now, w);
    }

    fn on_timer(&mut self, now: Instant, path: &PathView) {
        self.view(path);
        if self.timeout.is_some_and(|at| at <= now) {
            if self.log.out().0 == 0 {
                self.timeout = None;
            } else {
                self.fall_silent(now);
            }
        }
        if self.epoch.is_some_and(|at| at <= now) {
            if self.log.out().0 == 0 && self.allowance >= u64::from(self.mss) {
                // The application has nothing to send.
                self.epoch = None;
                return;
            }
            self.epoch = Some(now + EPOCH);
            if self.refit <= now {
                self.refit = now + REFIT;
                if !self.profile.fit() {
                    self.restart(now);
                    return;
                }
            }
            self.decide(now);
        }
    }

    #[inline]
    fn next_timer(&self) -> Option<Instant> {
        match (self.epoch, self.timeout) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    #[inline]
    fn intent(&self) -> Intent {
        let window = self.host_in_flight.saturating_add(self.allowance);
        Intent {
            window: Some(Bytes(window.max(u64::from(self.mss)))),
            recovery: RecoveryMode::Controller,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("window", self.window));
        out.push(("in_flight", self.in_flight));
        out.push(("aim", self.aim));
        out.push(("d_min", self.least));
        out.push(("d_max", self.most.unwrap_or(0.0)));
        let mode = match (self.slow_start, self.loss_phase) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => 2,
        };
        out.push(("mode", f64::from(mode)));
    }

    fn name(&self) -> &'static str {
        "verus"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
