//! The state machine (5.3): start-up, drain, the probing cycle, and looks at the round trip.

use slackwater_core::{Draw, Duration, Instant};

use crate::rate::bbr3::short_term::NONE;
use crate::rate::bbr3::{Bbr3, PROBE_RTT_GAIN, Sample};

/// Drain ends after so many rounds at the latest (5.3.2).
const DRAIN_ROUNDS: u64 = 3;
/// A Reno flow of at most so many packets gets as many rounds without a probe (5.3.3.8.3).
const RENO_ROUNDS: u64 = 63;
/// The slope of the long-term bound stops doubling here (5.3.3.9).
const UP_ROUNDS_MAX: u32 = 30;

/// Where the state machine stands. The order is that of [`PHASES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Fill the pipe.
    Startup,
    /// Drain what start-up queued.
    Drain,
    /// After a probe: below the estimate, until the queue and some headroom are empty.
    Down,
    /// At the estimate.
    Cruise,
    /// A round at the estimate without the short-term bounds, to fill the pipe.
    Refill,
    /// Above the estimate.
    Up,
    /// Half a window, to see the path without a queue.
    ProbeRtt,
}

/// Names of the phases, by the draft's test cases (appendix A).
pub const PHASES: &[&str] = &[
    "STARTUP",
    "DRAIN",
    "PROBE_DOWN",
    "PROBE_CRUISE",
    "PROBE_REFILL",
    "PROBE_UP",
    "PROBE_RTT",
];

impl Phase {
    /// Pacing rate over bandwidth (5.6.1).
    #[inline]
    pub const fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => 2.77,
            Self::Drain => 0.5,
            Self::Down => 0.9,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
            Self::Up => 1.25,
        }
    }

    /// Window over bandwidth-delay product (5.6.1).
    #[inline]
    pub const fn cwnd_gain(self) -> f64 {
        match self {
            Self::Startup | Self::Drain | Self::Down | Self::Cruise | Self::Refill => 2.0,
            Self::Up => 2.25,
            Self::ProbeRtt => PROBE_RTT_GAIN,
        }
    }

    /// One of the four phases of the cycle (`IsInAProbeBWState`).
    #[inline]
    pub const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Losses are the price of looking for bandwidth (`IsProbingBW`).
    #[inline]
    pub const fn is_probing_bw(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// What ACKs mean to the probe (`ack_phase`, 2.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acks {
    /// They are of packets that did not probe.
    Init,
    /// The pipe is being filled.
    Refilling,
    /// The flight rises.
    ProbeStarting,
    /// They are of packets that probed.
    ProbeFeedback,
    /// The probe has stopped, its ACKs still come.
    ProbeStopping,
}

/// State of the probing cycle (2.14).
#[derive(Clone, Copy, Debug)]
pub struct Cycle {
    draw: Draw,
    picks: u64,
    pub(super) acks: Acks,
    since: Instant,
    wait: Duration,
    pub(super) rounds_since_probe: u64,
    /// ACKs are of packets that probed, and their losses were not answered yet.
    pub(super) probe_sample: bool,
    pub(super) too_high: bool,
    precautionary: bool,
    up_rounds: u32,
    up_acked: u64,
    acked_per_inc: u64,
}

impl Cycle {
    /// No cycle yet; the time between probes comes from `draw`.
    pub const fn new(draw: Draw) -> Self {
        Self {
            draw,
            picks: 0,
            acks: Acks::Init,
            since: Instant::ZERO,
            wait: Duration::ZERO,
            rounds_since_probe: 0,
            probe_sample: false,
            too_high: false,
            precautionary: false,
            up_rounds: 0,
            up_acked: 0,
            acked_per_inc: NONE,
        }
    }

    /// `PickProbeWait` (5.3.3.8.3): two to three seconds, and zero or one round of head start.
    fn pick_wait(&mut self) {
        self.rounds_since_probe = self.draw.bits(2 * self.picks) & 1;
        let fraction = self.draw.uniform(2 * self.picks + 1);
        self.wait = Duration::from_secs(2) + Duration::from_secs_f64(fraction);
        self.picks += 1;
    }
}

impl Bbr3 {
    /// `EnterStartup` (5.3.1.1).
    pub(super) const fn enter_startup(&mut self) {
        self.phase = Phase::Startup;
    }

    /// `CheckStartupDone` (5.3.1.1).
    #[inline]
    pub(super) fn check_startup_done(&mut self, rs: &Sample) {
        if self.phase != Phase::Startup {
            return;
        }
        self.check_startup_losses(rs);
        if self.full_bw.reached() {
            self.phase = Phase::Drain;
            self.drain_start = self.rounds;
        }
    }

    /// `CheckDrainDone` (5.3.2).
    #[inline]
    pub(super) fn check_drain_done(&mut self, now: Instant) {
        if self.phase == Phase::Drain
            && (self.conn.in_flight <= self.inflight(self.bw)
                || self.rounds > self.drain_start + DRAIN_ROUNDS)
        {
            self.start_down(now);
        }
    }

    /// `StartProbeBW_DOWN` (5.3.3.9).
    pub(super) fn start_down(&mut self, now: Instant) {
        self.short.forget_signals();
        self.cycle.acked_per_inc = NONE;
        self.cycle.pick_wait();
        self.cycle.since = now;
        self.cycle.acks = Acks::ProbeStopping;
        self.start_round();
        self.phase = Phase::Down;
    }

    /// `StartProbeBW_REFILL` (5.3.3.9).
    pub(super) fn start_refill(&mut self) {
        self.short.lift();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0;
        self.cycle.precautionary = false;
        self.cycle.acks = Acks::Refilling;
        self.start_round();
        self.phase = Phase::Refill;
    }

    /// `StartProbeBW_UP` (5.3.3.9).
    fn start_up(&mut self, rs: &Sample) {
        self.cycle.acks = Acks::ProbeStarting;
        self.start_round();
        self.full_bw.restart(rs.rate);
        self.phase = Phase::Up;
        self.raise_slope();
    }

    /// `UpdateProbeBWCyclePhase` (5.3.3.9).
    #[inline]
    pub(super) fn update_cycle(&mut self, now: Instant, rs: &Sample) {
        if !self.full_bw.reached() || self.adapt_long_term(rs) {
            return;
        }
        match self.phase {
            Phase::Down => {
                if self.is_time_to_probe(now) {
                    self.start_refill();
                } else if self.is_time_to_cruise() {
                    self.phase = Phase::Cruise;
                }
            }
            Phase::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            Phase::Refill if self.round_start => {
                self.cycle.probe_sample = true;
                self.start_up(rs);
            }
            Phase::Up => self.check_up_done(now, rs),
            _ => {}
        }
    }

    fn check_up_done(&mut self, now: Instant, rs: &Sample) {
        if self.is_time_to_go_down(rs) {
            self.cycle.too_high = false;
            self.start_down(now);
        }
    }

    /// `IsTimeToProbeBW` and `IsRenoCoexistenceProbeTime` (5.3.3.8.3).
    fn is_time_to_probe(&self, now: Instant) -> bool {
        let reno_rounds = (self.target_inflight() / self.mss).min(RENO_ROUNDS);
        now > self.cycle.since.saturating_add(self.cycle.wait)
            || self.cycle.rounds_since_probe >= reno_rounds
    }

    /// `IsTimeToCruise` (5.3.3.9).
    fn is_time_to_cruise(&self) -> bool {
        let flight = self.conn.in_flight;
        flight <= self.inflight_with_headroom() && flight <= self.inflight(self.max_bw.get())
    }

    /// `IsTimeToGoDown` (5.3.3.9).
    fn is_time_to_go_down(&mut self, rs: &Sample) -> bool {
        if self.cycle.too_high && self.conn.in_flight >= self.inflight_longterm {
            self.cycle.precautionary = true;
            return true;
        }
        if self.conn.cwnd_limited && self.cwnd >= self.inflight_longterm {
            // The bound, not the path, holds the rate.
            self.full_bw.restart(rs.rate);
            return false;
        }
        self.full_bw.now()
    }

    /// `RaiseInflightLongtermSlope` (5.3.3.9): one segment more per window in the first round, then twice as many.
    fn raise_slope(&mut self) {
        let growth = 1u64 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(UP_ROUNDS_MAX);
        self.cycle.acked_per_inc = (self.cwnd / growth).max(self.mss);
    }

    /// `ProbeInflightLongtermUpward` (5.3.3.9).
    fn raise_long_term(&mut self, rs: &Sample) {
        if !self.conn.cwnd_limited || self.cwnd < self.inflight_longterm {
            return;
        }
        self.cycle.up_acked = self.cycle.up_acked.saturating_add(rs.newly_acked);
        let steps = self.cycle.up_acked / self.cycle.acked_per_inc;
        self.cycle.up_acked -= steps * self.cycle.acked_per_inc;
        self.inflight_longterm = self
            .inflight_longterm
            .saturating_add(steps.saturating_mul(self.mss))
            .min(NONE - 1);
        if self.round_start {
            self.raise_slope();
        }
    }

    /// `AdaptLongTermModel` (5.3.3.9); true where it decided on the next phase.
    #[inline]
    fn adapt_long_term(&mut self, rs: &Sample) -> bool {
        if self.round_start && self.cycle.acks == Acks::ProbeStarting {
            self.cycle.acks = Acks::ProbeFeedback;
        }
        if self.round_start && self.cycle.acks == Acks::ProbeStopping {
            self.cycle.probe_sample = false;
            self.cycle.acks = Acks::Init;
            if self.phase.is_probe_bw() {
                if !rs.app_limited {
                    self.max_bw.advance();
                }
                if self.cycle.precautionary && !self.cycle.too_high {
                    // The cautious probe was safe: probe again at once (5.3.3.6).
                    self.start_refill();
                    return true;
                }
            }
        }
        if self.inflight_longterm != NONE && !rs.is_inflight_too_high() {
            self.inflight_longterm = self.inflight_longterm.max(rs.tx_in_flight);
            if self.phase == Phase::Up {
                self.raise_long_term(rs);
            }
        }
        false
    }

    /// `CheckProbeRTT` (5.3.4.3).
    #[inline]
    pub(super) fn check_probe_rtt(&mut self, now: Instant, rs: &Sample) {
        if self.phase != Phase::ProbeRtt && self.min_rtt.expired() && !self.idle_restart {
            self.phase = Phase::ProbeRtt;
            self.save_cwnd();
            self.min_rtt.enter();
            self.cycle.acks = Acks::ProbeStopping;
            self.start_round();
            self.quiet = Some((self.conn.delivered, self.conn.delivered));
        }
        if self.phase == Phase::ProbeRtt {
            self.handle_probe_rtt(now);
        }
        if rs.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT` (5.3.4.3).
    fn handle_probe_rtt(&mut self, now: Instant) {
        // `MarkConnectionAppLimited`: what leaves now is few because BBR wants it so.
        let until = self.conn.delivered.saturating_add(self.conn.in_flight);
        if let Some((_, end)) = &mut self.quiet {
            *end = until;
        }
        if self.min_rtt.holds() {
            if self.min_rtt.round(self.round_start) {
                self.check_probe_rtt_done(now);
            }
        } else if self.conn.in_flight <= self.probe_rtt_cwnd() {
            self.min_rtt.hold(now);
            self.start_round();
        }
    }

    /// `CheckProbeRTTDone` and `ExitProbeRTT` (5.3.4.3, 5.3.4.4).
    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if !self.min_rtt.done(now) {
            return;
        }
        self.restore_cwnd();
        self.short.lift();
        if self.full_bw.reached() {
            self.start_down(now);
            self.phase = Phase::Cruise;
        } else {
            self.enter_startup();
        }
    }
}
