//! What every sender of XRC holds, and what it leaves to standard TCP: slow start, loss recovery and their undoing ("XRC
//! follows standard TCP's loss recovery and slow start mechanism", XRC, section III-B). Windows count segments.

use slackwater_core::{Bytes, Duration, Instant, Rate};

use super::doubt::Doubt;
use super::reports::Reports;
use super::round::Round;
use super::sizes::Sizes;
use super::{MAX_WINDOW, MIN_WINDOW, MODES, Mode};
use crate::{Ack, Cause, CongestionEvent, Intent, PathView};

/// Rounds of additions to a sum of 1/w leave it this near to one.
const ROUNDING: f64 = 1e-6;

/// Growth of the present round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    /// Segments that the round may add (the paper's weight factor alpha).
    pub(super) alpha: f64,
    /// Segments per acknowledged segment: alpha over the window at the round's start.
    pub(super) step: f64,
    /// What is left of alpha.
    pub(super) left: f64,
}

/// The present congestion episode, and what undoes it.
#[derive(Clone, Copy, Debug, Default)]
struct Episode {
    /// Its recovery has not ended.
    open: bool,
    /// It began, or went on, with a timeout.
    timeout: bool,
    /// It may prove spurious. A CE mark never does.
    undo: bool,
    /// Sequence position of the next new byte when it began.
    high: u64,
    /// Everything before this position is acknowledged.
    una: u64,
    /// The state before it.
    prior: Prior,
}

/// What a spurious episode gives back.
#[derive(Clone, Copy, Debug, Default)]
struct Prior {
    /// Window.
    cwnd: f64,
    /// Slow-start threshold.
    ssthresh: f64,
    /// Slow start after a timeout was under way.
    slow_start: bool,
}

/// What both profiles steer, in the paper's symbols.
#[derive(Clone, Debug)]
pub struct State {
    /// `R_exp` and `HoL_exp`: the rate and the head-of-line delay that the base station reports.
    pub(super) reports: Reports,
    /// What speaks against them.
    pub(super) doubt: Doubt,
    /// `RTT_j`: the samples of the present window of data.
    pub(super) round: Round,
    /// `RTT_min`.
    pub(super) rtt_min: Duration,
    /// The target window (eq. 2); zero before the first report.
    pub(super) twnd: f64,
    /// The queuing delay of the last window of data (eq. 3), seconds.
    pub(super) sigma: f64,
    /// Windows of data in a row whose queuing delay exceeded the budget at a cellular bottleneck.
    pub(super) high: u32,
    /// The congestion window.
    pub(super) cwnd: f64,
    /// How `cwnd` grows in the present round: the weight factor alpha and what is left of it.
    pub(super) growth: Growth,
    /// The slow-start threshold; infinite before the first congestion.
    pub(super) ssthresh: f64,
    /// After a timeout, below the threshold.
    pub(super) slow_start: bool,
    /// Reports steer the window. Without them it is `NewReno`'s.
    pub(super) explicit: bool,
    /// What the sender does in the present round.
    pub(super) mode: Mode,
    /// Rounds in each mode.
    rounds: [u32; MODES.len()],
    /// The present congestion episode.
    episode: Episode,
    /// The window that the connection began with.
    pub(super) initial: f64,
    /// Sizes of a full packet.
    pub(super) sizes: Sizes,
}

impl State {
    /// A window of `initial` segments of `mss` bytes. A reported rate counts up to `clamp` times what arrives.
    pub(super) fn new(mss: u32, initial: u32, clamp: f64) -> Self {
        let (mss, initial) = (mss.max(1), f64::from(initial).clamp(1.0, MAX_WINDOW));
        Self {
            reports: Reports::new(clamp),
            doubt: Doubt::default(),
            round: Round::default(),
            rtt_min: Duration::ZERO,
            twnd: 0.0,
            sigma: 0.0,
            high: 0,
            cwnd: initial,
            growth: Growth::default(),
            ssthresh: f64::INFINITY,
            slow_start: false,
            explicit: false,
            mode: Mode::NoFeedback,
            rounds: [0; MODES.len()],
            episode: Episode::default(),
            initial,
            sizes: Sizes { mss, wire: mss },
        }
    }

    /// The reported rate as far as it is believed, bit/s of IP bytes.
    pub(super) fn r_exp(&self) -> f64 {
        self.reports.rate(self.sizes)
    }

    /// The reported head-of-line delay, seconds.
    pub(super) fn hol_exp(&self) -> f64 {
        self.reports.last.hol.as_secs_f64()
    }

    /// `RTT_min` in seconds.
    pub(super) fn rtt_min(&self) -> f64 {
        self.rtt_min.as_secs_f64()
    }

    /// Segments that `rate` bit/s fills in `seconds`, within the bounds of a window.
    pub(super) fn window(&self, rate: f64, seconds: f64) -> f64 {
        let segments = self.sizes.segments(rate, seconds);
        segments.clamp(MIN_WINDOW, MAX_WINDOW)
    }

    /// Takes over the sizes of a packet from the host.
    pub(super) fn view(&mut self, path: &PathView) {
        if path.mss != 0 {
            self.sizes = Sizes {
                mss: path.mss,
                wire: path.wire_mss.max(path.mss),
            };
        }
    }

    /// Everything before `una` is acknowledged.
    pub(super) fn acknowledged(&mut self, una: u64) {
        self.episode.una = self.episode.una.max(una);
    }

    /// `ack` delivered data: the most that a reported rate is believed to be.
    #[inline]
    pub(super) fn delivered(&mut self, now: Instant, ack: &Ack) {
        let first = (self.initial as u64).saturating_mul(u64::from(self.sizes.mss));
        let peak = &mut self.reports.peak;
        peak.ack(now, self.rtt_min, ack.delivered.0, first);
    }

    /// The round's mode, and the segments that it may add. Any change of the window goes before.
    pub(super) fn enter(&mut self, mode: Mode, alpha: f64) {
        self.mode = mode;
        self.growth = Growth {
            alpha,
            step: alpha / self.cwnd.max(1.0),
            left: alpha,
        };
    }

    /// To the target window in one RTT of ACKs: alpha = twnd - CWND. What is in flight is acknowledged in the round, the
    /// present ACK counted and the one that ends it not; that is less than the window where the sender has not filled it.
    pub(super) fn enter_fast(&mut self, mode: Mode, path: &PathView) {
        self.enter(mode, (self.twnd - self.cwnd).max(0.0));
        let flight = path.in_flight.0 as f64 / f64::from(self.sizes.mss);
        self.growth.step = self.growth.alpha / flight.clamp(1.0, self.cwnd.max(1.0));
    }

    /// Counts the round that was just decided.
    pub(super) fn count_round(&mut self) {
        let rounds = &mut self.rounds[self.mode as usize];
        *rounds = rounds.saturating_add(1);
    }

    /// Slow start has the window: after a timeout, or without reports below the threshold.
    #[inline]
    pub(super) fn is_doubling(&self) -> bool {
        self.slow_start || (!self.explicit && self.cwnd < self.ssthresh)
    }

    /// Slow start (RFC 5681, 3.1). Where it ends, the next ACK decides.
    #[inline]
    pub(super) fn double(&mut self, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        self.cwnd = (self.cwnd + self.acked(ack))
            .min(self.ssthresh)
            .min(MAX_WINDOW);
        if self.slow_start && self.cwnd >= self.ssthresh {
            self.slow_start = false;
            self.round.cut_short();
        }
    }

    /// An ACK's part of the round's growth, up to `bound`.
    #[inline]
    pub(super) fn add(&mut self, ack: &Ack, bound: f64) {
        let step = (self.growth.step * self.acked(ack)).min(self.growth.left);
        self.growth.left -= step;
        self.cwnd = (self.cwnd + step).min(bound);
    }

    #[inline]
    pub(super) fn acked(&self, ack: &Ack) -> f64 {
        ack.newly_acked.0 as f64 / f64::from(self.sizes.mss)
    }

    /// Half of the window: standard TCP's threshold after a loss (RFC 5681, eq. 4).
    pub(super) fn half(&self) -> f64 {
        (self.cwnd / 2.0).max(MIN_WINDOW)
    }

    /// Opens an episode; false where one that is open answers this event already.
    pub(super) fn begin_episode(&mut self, event: &CongestionEvent) -> bool {
        let e = &mut self.episode;
        let timeout = event.cause == Cause::Timeout;
        let fresh = !e.open || e.una >= e.high || (e.timeout && !timeout);
        if fresh {
            e.undo = event.cause != Cause::Ecn;
            e.high = event.next;
            e.prior = Prior {
                cwnd: self.cwnd,
                ssthresh: self.ssthresh,
                slow_start: self.slow_start,
            };
        }
        e.open = true;
        e.timeout = timeout;
        fresh
    }

    /// One segment and slow start after a timeout, the threshold after any other loss. A `fresh` episode moves the
    /// threshold to `ssthresh`.
    pub(super) fn reduce(&mut self, event: &CongestionEvent, fresh: bool, ssthresh: f64) {
        let timeout = event.cause == Cause::Timeout;
        if fresh {
            self.ssthresh = ssthresh;
            self.slow_start = false;
        }
        if timeout {
            self.cwnd = 1.0;
            self.slow_start = true;
            self.enter(Mode::SlowStart, 0.0);
        } else {
            self.cwnd = self.cwnd.min(self.ssthresh);
            self.enter(Mode::Recovery, 0.0);
        }
    }

    /// Undoes the episode's reduction; false where it cannot be undone.
    pub(super) fn undo(&mut self) -> bool {
        let e = &mut self.episode;
        if !e.undo {
            return false;
        }
        e.undo = false;
        e.open = false;
        e.timeout = false;
        let prior = e.prior;
        self.cwnd = self.cwnd.max(prior.cwnd);
        self.ssthresh = self.ssthresh.max(prior.ssthresh);
        self.slow_start = prior.slow_start;
        true
    }

    /// The episode's recovery ended.
    pub(super) fn recovered(&mut self) {
        self.episode.open = false;
        self.episode.timeout = false;
    }

    /// Whole segments as bytes. The target is the threshold where reports steer: below it a sender grows as in slow start.
    #[inline]
    pub(super) fn intent(&self, pacing: Option<Rate>) -> Intent {
        let mss = u64::from(self.sizes.mss);
        let bytes = |segments: f64| Bytes((segments + ROUNDING) as u64 * mss);
        let threshold = if self.explicit && !self.slow_start {
            self.twnd
        } else {
            self.ssthresh
        };
        Intent {
            window: Some(bytes(self.cwnd)),
            ssthresh: (threshold < MAX_WINDOW).then(|| bytes(threshold)),
            pacing,
            ..Intent::default()
        }
    }

    /// The internals that both profiles have.
    pub(super) fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("cwnd", self.cwnd));
        if self.ssthresh < f64::INFINITY {
            out.push(("ssthresh", self.ssthresh));
        }
        let last = &self.reports.last;
        out.extend([
            ("mode", f64::from(self.mode as u8)),
            ("twnd", self.twnd),
            ("alpha", self.growth.alpha),
            ("R_exp", last.rate),
            ("R_believed", self.r_exp()),
            ("HoL_exp", self.hol_exp()),
            ("shared", f64::from(u8::from(last.shared))),
            ("sigma", self.sigma),
            ("RTT_min", self.rtt_min()),
            ("hi", f64::from(self.high)),
            ("rounds", self.round.count as f64),
            ("reports", last.accepted as f64),
            ("reports_stale", last.stale as f64),
            ("reports_absurd", last.absurd as f64),
        ]);
        for (name, mode) in [
            ("rounds_start", Mode::Start),
            ("rounds_fast", Mode::Fast),
            ("rounds_probe", Mode::Probe),
            ("rounds_reset", Mode::Reset),
            ("rounds_slow", Mode::Slow),
            ("rounds_unfair", Mode::Unfair),
            ("rounds_internet", Mode::Internet),
            ("rounds_iprobe", Mode::InternetProbe),
            ("rounds_compete", Mode::Compete),
            ("rounds_no_feedback", Mode::NoFeedback),
        ] {
            out.push((name, f64::from(self.rounds[mode as usize])));
        }
    }
}
