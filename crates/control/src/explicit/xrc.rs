//! XRC's sender (Kheirkhah, Kassem, Fairhurst, Marina: "XRC: An Explicit Rate Control for Future Cellular Networks",
//! ICC 2022, section III-B).
//!
//! The base station reports a fair rate and the delay of its queue ([`PathReport::Share`]). The sender turns the rate
//! into a target window, jumps to it, probes above it a segment per RTT, and falls back to it when the queue exceeds
//! a budget. Where the queue stays, others fill it: after N rounds the window grows by a target window per RTT until
//! the others lose packets. A queue that the reports do not show lies beyond the radio.
//!
//! Two profiles: [`Params::PAPER`] does what the paper says; [`Params::DEFAULT`] adds what measurements asked for.
//! Windows count segments here and payload bytes outside; the reported rate counts IP bytes.

mod feedback;
mod internet;
mod params;
mod round;
mod steer;

use slackwater_core::{Bytes, Duration, Instant, Rate};

use self::feedback::{Feedback, Peak};
use self::internet::Internet;
pub use self::params::{Alpha, Beyond, Params, Post, Verdict, WrongParam};
use self::round::{LeastRtt, Round};
use crate::{Ack, Controller, Intent, Loss, LossKind, PathReport, PathView, Recovery, Sent};

/// Segments of the least window outside of a timeout.
const MIN_WINDOW: f64 = 2.0;
/// Segments of the largest window.
const MAX_WINDOW: f64 = (1 << 30) as f64;
/// START ends where the window has come this near to the target.
const START_NEAR: f64 = 0.9;
/// The least one-way delay is that of so many seconds: clocks drift by some 10 us in each.
const OWD_WINDOW: f64 = 60.0;
/// A retransmission timeout is taken as the smoothed RTT plus this (Linux `TCP_RTO_MIN`).
const RTO_MIN: Duration = Duration::from_millis(200);
/// Rounds of additions to a sum of 1/w leave it this near to one.
const ROUNDING: f64 = 1e-6;

/// What the sender does, by its code in the snapshot's `mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// No reports: `NewReno`.
    NoFeedback,
    /// On the way to the first target, whatever the queue.
    Start,
    /// To the target window in one RTT.
    Fast,
    /// One segment per RTT above the target.
    Probe,
    /// Back to the target: the queue exceeded the budget.
    Reset,
    /// One segment per RTT: the queue exceeds the budget again.
    Slow,
    /// Growth that makes the others lose.
    Unfair,
    /// The bottleneck lies beyond the radio.
    Internet,
    /// Careful growth after such a bottleneck was seen.
    InternetProbe,
    /// Fast recovery.
    Recovery,
    /// Slow start after a timeout.
    SlowStart,
}

/// Names of the modes, in the order of their codes.
pub const MODES: &[&str] = &[
    "NO_FEEDBACK",
    "START",
    "FAST",
    "PROBE",
    "RESET",
    "SLOW",
    "UNFAIR",
    "INTERNET",
    "IPROBE",
    "RECOVERY",
    "SLOW_START",
];

/// The name of the mode that the snapshot codes as `code`; `"?"` for none.
pub const fn mode_name(code: u8) -> &'static str {
    if (code as usize) < MODES.len() {
        MODES[code as usize]
    } else {
        "?"
    }
}

/// XRC's sender.
#[derive(Clone, Debug)]
pub struct Xrc {
    name: &'static str,
    p: Params,
    mss: u32,
    /// IP bytes of a full packet.
    wire: u32,
    initial: f64,
    /// Segments.
    cwnd: f64,
    /// Segments; infinite before the first congestion.
    ssthresh: f64,
    /// Target window in segments (eq. 2); zero before the first report.
    twnd: f64,
    mode: Mode,
    growth: Growth,
    /// Consecutive rounds with a queue above the budget.
    hi: u32,
    /// The target was not reached yet.
    start: bool,
    /// After a timeout, below the threshold.
    slow_start: bool,
    /// Reports steer the window.
    explicit: bool,
    /// Factor of the target window.
    gamma: f64,
    /// Mean jitter of the radio, seconds.
    jitter: f64,
    /// Delay on the way back beyond that of the least RTT, seconds.
    back: f64,
    least_owd: LeastRtt,
    /// Mean head-of-line delay of the last round above the budget, seconds.
    last_hol: f64,
    /// The queuing delay of the last window (eq. 3), seconds.
    sigma: f64,
    feedback: Feedback,
    peak: Peak,
    round: Round,
    least: LeastRtt,
    min_rtt: Duration,
    internet: Internet,
    episode: Episode,
    pacing: Option<Rate>,
    /// FAST's pacing lasts until then.
    paced_until: Instant,
    last_sent: Instant,
    /// Rounds in each mode.
    rounds: [u32; MODES.len()],
}

/// Growth of the present round.
#[derive(Clone, Copy, Debug, Default)]
struct Growth {
    /// Segments that the round may add (the paper's weight factor alpha).
    alpha: f64,
    /// Segments per acknowledged segment: alpha over the window at the round's start.
    step: f64,
    /// What is left of alpha.
    left: f64,
}

/// The present congestion episode, and what undoes it.
#[derive(Clone, Copy, Debug, Default)]
struct Episode {
    open: bool,
    timeout: bool,
    undo: bool,
    /// Sequence position of the next new byte when it began.
    high: u64,
    una: u64,
    prior: Prior,
}

#[derive(Clone, Copy, Debug, Default)]
struct Prior {
    cwnd: f64,
    ssthresh: f64,
    gamma: f64,
    slow_start: bool,
    start: bool,
}

impl Xrc {
    /// A sender under the registry's `name` with an initial window of `initial` segments of `mss` bytes.
    pub fn new(name: &'static str, params: Params, mss: u32, initial: u32) -> Self {
        let initial = f64::from(initial).clamp(1.0, MAX_WINDOW);
        Self {
            name,
            p: params,
            mss: mss.max(1),
            wire: mss.max(1),
            initial,
            cwnd: initial,
            ssthresh: f64::INFINITY,
            twnd: 0.0,
            mode: Mode::NoFeedback,
            growth: Growth::default(),
            hi: 0,
            start: params.start,
            slow_start: false,
            explicit: false,
            gamma: params.gamma,
            jitter: 0.0,
            back: 0.0,
            least_owd: LeastRtt::default(),
            last_hol: 0.0,
            sigma: 0.0,
            feedback: Feedback::default(),
            peak: Peak::default(),
            round: Round::default(),
            least: LeastRtt::default(),
            min_rtt: Duration::ZERO,
            internet: Internet::NONE,
            episode: Episode::default(),
            pacing: None,
            paced_until: Instant::ZERO,
            last_sent: Instant::ZERO,
            rounds: [0; MODES.len()],
        }
    }

    /// The parameters.
    pub const fn params(&self) -> &Params {
        &self.p
    }

    /// The mode.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    fn view(&mut self, path: &PathView) {
        if path.mss != 0 {
            self.mss = path.mss;
            self.wire = path.wire_mss.max(path.mss);
        }
    }

    /// IP bytes per payload byte of a full packet.
    fn overhead(&self) -> f64 {
        f64::from(self.wire) / f64::from(self.mss)
    }

    /// `rate` payload bytes per second as bit/s of IP bytes.
    fn ip_rate(&self, rate: f64) -> f64 {
        rate * 8.0 * self.overhead()
    }

    /// The reported rate as far as it is believed, bit/s.
    fn rate(&self) -> f64 {
        let peak = self.ip_rate(self.peak.get());
        if self.p.clamp > 0.0 && peak > 0.0 {
            self.feedback.rate.min(self.p.clamp * peak)
        } else {
            self.feedback.rate
        }
    }

    /// Segments that `rate` bit/s fills in `seconds`.
    fn segments(&self, rate: f64, seconds: f64) -> f64 {
        rate * seconds / (8.0 * f64::from(self.wire))
    }

    /// `twnd = R_exp * RTT_min` (XRC, eq. 2), times gamma, with slack for a queue that is never quite empty.
    fn retarget(&mut self) {
        let reach = self.min_rtt.as_secs_f64() + self.p.theta + self.jitter + self.back;
        let twnd = self.gamma * self.segments(self.rate(), reach);
        self.twnd = twnd.clamp(MIN_WINDOW, MAX_WINDOW);
    }

    /// The control threshold: a slow flow's packet alone may last longer than lambda.
    fn budget(&self) -> f64 {
        let least = self.p.least_segments * f64::from(self.wire) * 8.0;
        if least > self.p.lambda * self.rate() {
            // A standstill asks for no queue at all, not for an infinite one.
            (least / self.rate().max(1.0)).min(1.0)
        } else {
            self.p.lambda
        }
    }

    fn is_remembered(&self, now: Instant) -> bool {
        self.p.beyond == Beyond::Drain && self.internet.is_remembered(now)
    }

    /// The round's mode and growth. Any change of the window goes before.
    fn enter(&mut self, mode: Mode, alpha: f64) {
        self.mode = mode;
        self.growth = Growth {
            alpha,
            step: alpha / self.cwnd.max(1.0),
            left: alpha,
        };
    }

    /// To the target in one RTT of ACKs. `flight` segments are acknowledged in the round, the present ACK counted and
    /// the one that ends it not; fewer than the window where the last FAST's pacing has not filled it.
    fn fast(&mut self, now: Instant, path: &PathView, flight: f64, mode: Mode) {
        self.enter(mode, (self.twnd - self.cwnd).max(0.0));
        self.growth.step = self.growth.alpha / flight.clamp(1.0, self.cwnd.max(1.0));
        if self.p.fast_gain > 0.0 {
            self.paced_until = now.saturating_add(path.srtt);
        }
    }

    /// Reports began, came back or ceased.
    #[cold]
    fn turn(&mut self, explicit: bool) {
        self.explicit = explicit;
        self.hi = 0;
        // Decide at once.
        self.round.cut_short();
        if !explicit {
            // The last target is the threshold: what it said was good.
            self.ssthresh = self.twnd.max(MIN_WINDOW);
            self.paced_until = Instant::ZERO;
        }
    }

    #[inline]
    fn grow(&mut self, ack: &Ack) {
        let acked = ack.newly_acked.0 as f64 / f64::from(self.mss);
        if self.slow_start || (!self.explicit && self.cwnd < self.ssthresh) {
            if ack.cwnd_limited {
                self.cwnd = (self.cwnd + acked).min(self.ssthresh).min(MAX_WINDOW);
                if self.cwnd >= self.ssthresh && self.slow_start {
                    self.slow_start = false;
                    self.round.cut_short();
                }
            }
            return;
        }
        let fast = matches!(self.mode, Mode::Start | Mode::Fast);
        // A paced sender does not use up its window, and FAST's end does not depend on use.
        if !(ack.cwnd_limited || (fast && !ack.app_limited)) {
            return;
        }
        if fast && self.p.guard && !self.feedback.shared {
            let hol = self.feedback.hol.as_secs_f64();
            if hol > self.p.lambda && hol > self.budget() {
                self.growth.left = 0.0;
                self.start = false;
                return;
            }
        }
        if self.mode == Mode::Start {
            // The believed rate rises within the round as data arrives.
            let gap = self.twnd - self.cwnd;
            if gap > self.growth.alpha {
                self.growth.alpha = gap;
                self.growth.step = gap / self.cwnd.max(1.0);
            }
            self.growth.left = gap.max(0.0);
        }
        let step = (self.growth.step * acked).min(self.growth.left);
        self.growth.left -= step;
        let bound = if fast || self.mode == Mode::InternetProbe {
            self.twnd.max(self.cwnd)
        } else {
            MAX_WINDOW
        };
        self.cwnd = (self.cwnd + step).min(bound);
        if self.start && self.cwnd >= START_NEAR * self.twnd {
            self.start = false;
        }
    }

    #[inline]
    fn pace(&mut self, now: Instant, path: &PathView) {
        let segments = if now < self.paced_until {
            self.p.fast_gain * self.twnd
        } else if self.p.pace > 0.0 {
            self.p.pace * self.cwnd
        } else {
            self.pacing = None;
            return;
        };
        let srtt = path.srtt.as_secs_f64();
        self.pacing = (srtt > 0.0).then(|| {
            let bps = segments * f64::from(self.wire) * 8.0 / srtt;
            Rate::from_bps(bps.clamp(1.0, 1e15) as u64)
        });
    }

    #[cold]
    fn restart(&mut self, now: Instant, path: &PathView) {
        let idle = now.since(self.last_sent);
        let rto = path.srtt + RTO_MIN;
        if !self.p.restart || idle <= rto {
            return;
        }
        // RFC 2861, 3.1: half for each timeout that passed in silence; RFC 5681, 4.1: not below the restart window.
        let floor = self.initial.min(self.cwnd);
        self.ssthresh = self.ssthresh.max(self.cwnd * 0.75);
        let halvings = (idle / rto).min(31) as u32;
        self.cwnd = (self.cwnd / f64::from(1u32 << halvings)).max(floor);
        self.hi = 0;
        self.round.forget();
        self.round.cut_short();
    }

    /// Opens an episode; false where one that is open answers this event already.
    fn begin_episode(&mut self, loss: &Loss) -> bool {
        let e = &mut self.episode;
        let timeout = loss.kind == LossKind::Timeout;
        let fresh = !e.open || e.una >= e.high || (e.timeout && !timeout);
        if fresh {
            e.undo = loss.kind != LossKind::Ecn;
            e.high = loss.next;
            e.prior = Prior {
                cwnd: self.cwnd,
                ssthresh: self.ssthresh,
                gamma: self.gamma,
                slow_start: self.slow_start,
                start: self.start,
            };
        }
        e.open = true;
        e.timeout = timeout;
        fresh
    }

    fn half(&self) -> f64 {
        (self.cwnd / 2.0).max(MIN_WINDOW)
    }
}

impl Controller for Xrc {
    fn takes_reports(&self) -> bool {
        true
    }

    #[inline]
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        if sent.after_idle {
            self.restart(now, path);
        }
        if self.pacing.is_some() && now >= self.paced_until && self.p.pace == 0.0 {
            self.pacing = None;
        }
        self.last_sent = now;
    }

    #[inline]
    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.view(path);
        self.episode.una = self.episode.una.max(ack.una);
        if let Some(rtt) = ack.rtt {
            self.round.rtt(rtt);
            if self.p.rtt_window > 0.0 {
                self.least.see(now, rtt, self.p.rtt_window);
            }
        }
        if let Some(owd) = ack.owd {
            self.round.owd(owd);
            self.least_owd.see(now, owd, OWD_WINDOW);
        }
        self.min_rtt = self.least.get().unwrap_or(path.min_rtt);
        let first = (self.initial as u64).saturating_mul(u64::from(self.mss));
        self.peak.ack(now, self.min_rtt, ack.delivered.0, first);
        let explicit = self.feedback.is_fresh(now, path.srtt);
        if explicit {
            self.retarget();
        }
        if explicit != self.explicit {
            self.turn(explicit);
        }
        if matches!(ack.recovery, Recovery::Fast | Recovery::Cwr) {
            self.mode = Mode::Recovery;
        } else {
            if self.round.is_over(ack.una) {
                self.decide(now, path, ack);
            }
            if ack.cumulative.0 > 0 {
                self.grow(ack);
            }
        }
        self.pace(now, path);
    }

    fn on_loss(&mut self, now: Instant, path: &PathView, loss: &Loss) {
        self.view(path);
        let fresh = self.begin_episode(loss);
        let unfair = self.mode == Mode::Unfair;
        let explicit = self.explicit && self.feedback.is_fresh(now, path.srtt);
        if fresh && explicit && !unfair {
            let w = self.round.window();
            let hol = self.feedback.hol.as_secs_f64();
            let budget = self.budget();
            if self.p.beyond == Beyond::Drain {
                let quiet = w.hol_max.max(hol) < budget;
                let share = self.ip_rate(w.rate) / self.rate().max(1.0);
                self.internet.loss(now, quiet, share);
            }
            if self.p.gate && !self.feedback.shared && w.hol.unwrap_or(hol) > budget {
                self.shrink(self.round.steady_rate());
            }
        }
        if loss.kind == LossKind::Timeout {
            if fresh {
                self.ssthresh = if explicit {
                    self.twnd.max(MIN_WINDOW)
                } else {
                    self.half()
                };
            }
            self.cwnd = 1.0;
            self.slow_start = true;
            self.enter(Mode::SlowStart, 0.0);
        } else {
            if fresh {
                self.ssthresh = if unfair && self.p.post == Post::Target {
                    self.cwnd.min(self.twnd)
                } else {
                    self.half()
                };
                self.slow_start = false;
            }
            self.cwnd = self.cwnd.min(self.ssthresh);
            self.enter(Mode::Recovery, 0.0);
        }
        self.hi = 0;
        self.start = false;
        self.paced_until = Instant::ZERO;
        self.pace(now, path);
        self.round.forget();
    }

    fn on_undo(&mut self, _now: Instant, _path: &PathView) {
        let e = &mut self.episode;
        if !e.undo {
            return;
        }
        e.undo = false;
        e.open = false;
        e.timeout = false;
        let prior = e.prior;
        self.cwnd = self.cwnd.max(prior.cwnd);
        self.ssthresh = self.ssthresh.max(prior.ssthresh);
        self.gamma = self.gamma.max(prior.gamma);
        self.slow_start = prior.slow_start;
        self.start = prior.start;
        self.round.cut_short();
    }

    fn on_recovered(&mut self, _now: Instant, _path: &PathView) {
        self.episode.open = false;
        self.episode.timeout = false;
    }

    #[inline]
    fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        if self.feedback.offer(now, path.srtt, report) {
            self.round.hol(self.feedback.hol);
        }
    }

    #[inline]
    fn intent(&self) -> Intent {
        let mss = u64::from(self.mss);
        let bytes = |segments: f64| Bytes((segments + ROUNDING) as u64 * mss);
        let threshold = if self.explicit && !self.slow_start {
            // Below its target the sender grows as in slow start.
            self.twnd
        } else {
            self.ssthresh
        };
        Intent {
            window: Some(bytes(self.cwnd)),
            ssthresh: (threshold < MAX_WINDOW).then(|| bytes(threshold)),
            pacing: self.pacing,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("cwnd", self.cwnd));
        if self.ssthresh < f64::INFINITY {
            out.push(("ssthresh", self.ssthresh));
        }
        out.push(("mode", f64::from(self.mode as u8)));
        out.push(("twnd", self.twnd));
        out.push(("alpha", self.growth.alpha));
        out.push(("R_exp", self.feedback.rate));
        out.push(("R_believed", self.rate()));
        out.push(("HoL_exp", self.feedback.hol.as_secs_f64()));
        out.push(("shared", f64::from(u8::from(self.feedback.shared))));
        out.push(("sigma", self.sigma));
        out.push(("lambda", self.budget()));
        out.push(("RTT_min", self.min_rtt.as_secs_f64()));
        out.push(("jitter", self.jitter));
        out.push(("back", self.back));
        out.push(("gamma", self.gamma));
        out.push(("hi", f64::from(self.hi)));
        let remembered = self.mode == Mode::Internet || self.internet.run() > 0;
        out.push(("internet", f64::from(u8::from(remembered))));
        out.push(("verdicts", self.internet.verdicts as f64));
        out.push(("rounds", self.round.count as f64));
        for (name, mode) in [
            ("rounds_start", Mode::Start),
            ("rounds_fast", Mode::Fast),
            ("rounds_probe", Mode::Probe),
            ("rounds_reset", Mode::Reset),
            ("rounds_slow", Mode::Slow),
            ("rounds_unfair", Mode::Unfair),
            ("rounds_internet", Mode::Internet),
            ("rounds_iprobe", Mode::InternetProbe),
            ("rounds_no_feedback", Mode::NoFeedback),
        ] {
            out.push((name, f64::from(self.rounds[mode as usize])));
        }
        out.push(("reports", self.feedback.accepted as f64));
        out.push(("reports_stale", self.feedback.stale as f64));
        out.push(("reports_absurd", self.feedback.absurd as f64));
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
