//! BBR version 1 (Cardwell et al., ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00) as Linux
//! 6.18 `tcp_bbr.c` runs it.
//!
//! One file per concept: [`model`] estimates bandwidth and round trips, [`policer`] finds token buckets, [`aggregation`]
//! measures how ACKs bunch, [`cycle`] holds the gains of bandwidth probing, [`probe_rtt`] empties the queue now and
//! then. Windows are counted in packets as in Linux. Bandwidths are Linux's too, truncated to packets per microsecond and
//! 2^-24 ([`model::bandwidth`]): where packets and clocks are in step a product that was a trace above a whole number
//! would be rounded up to the next. Clocks are nanoseconds, where Linux has jiffies and microseconds.

pub mod aggregation;
pub mod cycle;
pub mod model;
pub mod policer;
pub mod probe_rtt;

use slackwater_core::{Bytes, Draw, Duration, Instant, Rate};

use crate::rate::bbr::aggregation::Aggregation;
use crate::rate::bbr::cycle::Cycle;
use crate::rate::bbr::model::{BW_UNIT, FullPipe, MinRtt, Rounds, packets_per_second};
use crate::rate::bbr::policer::Policer;
use crate::rate::bbr::probe_rtt::ProbeRtt;
use crate::registry::{AnyController, Entry};
use crate::{
    Ack, Cause, CongestionEvent, Controller, Intent, Pacer, PathView, RateSample, Recovery,
    RecoveryMode, Sent,
};

/// What the registry knows of them.
pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "bbr",
        aliases: &["bbr1", "bbrv1"],
        title: "BBR",
        about: "BBR version 1 as in Linux 6.18",
        modes: Some(MODES),
        make: |cfg, p| {
            p.none()?;
            let bbr = Bbr::new(cfg.mss, cfg.initial_window, cfg.draw);
            Ok(AnyController::Bbr(bbr))
        },
        ..Entry::TRANSPORT
    },
    Entry {
        name: "bbr-ns3",
        title: "BBR (ns-3)",
        about: "BBR version 1 as in ns-3.44: segment by segment, without policer detection",
        modes: Some(MODES),
        make: |cfg, p| {
            p.none()?;
            let bbr = Bbr::new(cfg.mss, cfg.initial_window, cfg.draw);
            Ok(AnyController::Bbr(bbr.as_ns3()))
        },
        ..Entry::TRANSPORT
    },
];

/// Names of the modes, in the order of their codes.
const MODES: &[&str] = &["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"];

/// 2/ln 2 as Linux has it: 256 * 2885 / 1000 + 1 in 1/256 (`bbr_high_gain`).
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// 256 * 1000 / 2885 in 1/256 (`bbr_drain_gain`).
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// Window gain while probing bandwidth (`bbr_cwnd_gain`).
const CWND_GAIN: f64 = 2.0;
/// Share of the estimate that is paced (`bbr_pacing_margin_percent` 1).
const PACING_MARGIN: f64 = 0.99;
/// Least window in packets (`bbr_cwnd_min_target`).
const MIN_WINDOW: u32 = 4;
/// Window without any RTT sample (Linux `TCP_INIT_CWND`).
const NO_RTT_WINDOW: u32 = 10;
/// RTT assumed before the first sample.
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// Below this pacing rate in bytes per second, bursts are single packets (`bbr_min_tso_rate`: 1.2 Mbit/s).
const SINGLE_BURST_BELOW: f64 = 1_200_000.0 / 8.0;
/// A burst lasts 2^-10 s (Linux `sk_pacing_shift` 10).
const BURST_DIVISOR: f64 = 1024.0;
/// Largest burst in bytes (Linux: `GSO_LEGACY_MAX_SIZE` less the largest header, 320).
const BURST_MAX: f64 = 65_535.0 - 320.0;
/// Largest window: keeps the arithmetic in range.
const WINDOW_MAX: u32 = 1 << 30;

/// Whose arithmetic: what differs between two stacks that run one algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stack {
    /// Linux 6.18 `tcp_bbr.c`: bursts of two segments or more, whole and even packets, flight as it will be when the next
    /// burst leaves.
    Linux,
    /// ns-3.44 `tcp-bbr.cc`: segment by segment, targets in bytes, flight as it is. It looks for no policer.
    Ns3,
}

/// Where the state machine stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Fill the pipe.
    Startup,
    /// Drain what start-up queued.
    Drain,
    /// Cycle the gain around the estimate.
    ProbeBw,
    /// Send little, to see the path without a queue.
    ProbeRtt,
}

/// BBR version 1.
#[derive(Clone, Debug)]
pub struct Bbr {
    mss: u32,
    wire_mss: u32,
    cwnd: u32,
    prior_cwnd: u32,
    mode: Mode,
    rounds: Rounds,
    min_rtt: MinRtt,
    full_pipe: FullPipe,
    cycle: Cycle,
    /// Whose arithmetic.
    stack: Stack,
    /// Looks for token buckets; `None` where the stack does not.
    policer: Option<Policer>,
    aggregation: Aggregation,
    probe_rtt: ProbeRtt,
    prev_recovery: Recovery,
    packet_conservation: bool,
    idle_restart: bool,
    has_seen_rtt: bool,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Payload bytes per second.
    pacing: f64,
    /// What the host's pacer does with the rate: when the next burst may leave (Linux `tcp_wstamp_ns`).
    pacer: Pacer,
    ssthresh: Option<u32>,
    delivered: u64,
    lost: u64,
}

impl Bbr {
    /// BBR with an initial window of `initial` packets of `mss` payload bytes; `draw` picks the first phase of each
    /// run of gain cycles.
    pub fn new(mss: u32, initial: u32, draw: Draw) -> Self {
        let mss = mss.max(1);
        let cwnd = initial.clamp(1, WINDOW_MAX);
        let mut bbr = Self {
            mss,
            // Refined by the first view of the path; TCP over IPv4 with time stamps until then.
            wire_mss: mss + 52,
            cwnd,
            prior_cwnd: 0,
            mode: Mode::Startup,
            rounds: Rounds::default(),
            min_rtt: MinRtt::default(),
            full_pipe: FullPipe::default(),
            cycle: Cycle::new(draw),
            stack: Stack::Linux,
            policer: Some(Policer::default()),
            aggregation: Aggregation::default(),
            probe_rtt: ProbeRtt::default(),
            prev_recovery: Recovery::Open,
            packet_conservation: false,
            idle_restart: false,
            has_seen_rtt: false,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing: 0.0,
            pacer: Pacer::new(),
            ssthresh: None,
            delivered: 0,
            lost: 0,
        };
        bbr.init_pacing(NOMINAL_RTT);
        bbr
    }

    /// The same as ns-3's `TcpBbr` has it.
    #[must_use]
    pub fn as_ns3(self) -> Self {
        Self {
            stack: Stack::Ns3,
            policer: None,
            aggregation: Aggregation::coarse(self.mss),
            ..self
        }
    }

    /// The rate of the policer that was found, as [`model::bandwidth`] has it.
    fn policed(&self) -> Option<f64> {
        let rate = self.policer.as_ref().and_then(Policer::rate)?;
        Some(libm::floor(rate / self.bytes_per_second(1.0)))
    }

    /// Payload bytes per second of a bandwidth.
    fn bytes_per_second(&self, bw: f64) -> f64 {
        packets_per_second(bw) * f64::from(self.mss)
    }

    /// The mode.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Bandwidth, as [`model::bandwidth`] has it: the policed rate where a policer was found, else the filtered maximum.
    fn bw(&self) -> f64 {
        self.policed().unwrap_or_else(|| self.rounds.max_bw())
    }

    fn packets(&self, bytes: Bytes) -> u32 {
        bytes
            .0
            .div_ceil(u64::from(self.mss))
            .min(u64::from(WINDOW_MAX)) as u32
    }

    /// High gain times the window per RTT (`bbr_init_pacing_rate_from_rtt`).
    fn init_pacing(&mut self, rtt: Duration) {
        let bw = f64::from(self.cwnd) * f64::from(self.mss) / rtt.as_secs_f64();
        self.pacing = bw * HIGH_GAIN * PACING_MARGIN;
    }

    fn see_rtt(&mut self, path: &PathView) {
        if !self.has_seen_rtt && !path.srtt.is_zero() {
            self.has_seen_rtt = true;
            // The handshake measured the path (Linux `bbr_init` takes `tcp_min_rtt`).
            self.init_pacing(path.srtt.max(Duration::from_micros(1)));
            self.pacer.follow(&self.intent());
        }
    }

    /// The start-up rate never falls before the pipe is full (`bbr_set_pacing_rate`).
    fn set_pacing(&mut self, bw: f64, gain: f64) {
        let rate = self.bytes_per_second(bw) * gain * PACING_MARGIN;
        if self.full_pipe.reached() || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// Bandwidth-delay product times `gain` in packets, rounded up (`bbr_bdp`); ns-3 has bytes and does not round.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        let Some(min_rtt) = self.min_rtt.get() else {
            return f64::from(NO_RTT_WINDOW);
        };
        if self.stack == Stack::Ns3 {
            return packets_per_second(bw) * min_rtt.as_secs_f64() * gain;
        }
        let gain = u128::from((gain * 256.0) as u64); // in 1/256, as all gains are
        let product = u128::from(bw as u64) * u128::from(min_rtt.as_nanos() / 1000);
        // No product of a window that can be sent is cut.
        let scaled = (product.min(u128::MAX >> 16) * gain) >> 8;
        let packets = (scaled + u128::from(BW_UNIT - 1)) / u128::from(BW_UNIT);
        u64::try_from(packets).unwrap_or(u64::MAX) as f64
    }

    /// Packets of one burst (`bbr_tso_segs_goal`, ns-3's `SetSendQuantum`).
    fn burst(&self) -> u32 {
        if self.stack == Stack::Ns3 {
            return 1;
        }
        let least = if self.pacing < SINGLE_BURST_BELOW {
            1
        } else {
            2
        };
        let bytes = (self.pacing / BURST_DIVISOR).min(BURST_MAX);
        ((bytes as u32) / self.mss).clamp(least, 127)
    }

    /// Room for what sits in both hosts' stacks (`bbr_quantization_budget`, ns-3's `InFlight`).
    fn with_bursts(&self, packets: f64) -> f64 {
        let mut packets = packets + 3.0 * f64::from(self.burst());
        if self.stack == Stack::Linux {
            // Even, so that delayed ACKs come in pairs.
            packets = libm::ceil(packets / 2.0) * 2.0;
        }
        if self.mode == Mode::ProbeBw && self.cycle.is_probing_up() {
            packets + 2.0
        } else {
            packets
        }
    }

    fn target_flight(&self, bw: f64, gain: f64) -> f64 {
        self.with_bursts(self.bdp(bw, gain))
    }

    /// `flight` as it will be when the next packet leaves (`bbr_packets_in_net_at_edt`).
    fn flight_at_departure(&self, now: Instant, flight: u32) -> f64 {
        if self.stack == Stack::Ns3 {
            return f64::from(flight);
        }
        let wait = self.pacer.next().since(now).as_secs_f64();
        let gone = (packets_per_second(self.bw()) * wait) as u32;
        let flight = if self.pacing_gain > 1.0 {
            flight.saturating_add(self.burst())
        } else {
            flight
        };
        f64::from(flight.saturating_sub(gone))
    }

    /// Bandwidth, rounds and the policer (`bbr_update_bw`). True where a round began.
    fn update_bw(&mut self, now: Instant, ack: &Ack, sample: Option<&RateSample>) -> bool {
        let Some(sample) = sample else { return false };
        let round_start = self.rounds.update(sample, ack.delivered.0);
        if round_start {
            self.packet_conservation = false;
        }
        self.sample_policer(now, ack.newly_lost.0 > 0, sample.app_limited, round_start);
        self.rounds
            .take(sample, self.mss, self.probe_rtt.quiets(sample));
        round_start
    }

    fn sample_policer(&mut self, now: Instant, losses: bool, app_limited: bool, round: bool) {
        let view = policer::View {
            delivered: self.delivered,
            lost: self.lost,
            losses,
            app_limited,
            round_start: round,
            probing_bw: self.mode == Mode::ProbeBw,
        };
        if let Some(policer) = &mut self.policer
            && policer.update(now, &view)
        {
            self.cycle.restart(now);
            self.mode = Mode::ProbeBw;
        }
    }

    fn update_model(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        let sample = ack.rate.filter(|s| !s.interval.is_zero());
        let acked = self.packets(ack.newly_acked);
        let round_start = self.update_bw(now, ack, sample.as_ref());
        if sample.is_some() && acked > 0 {
            let bw = packets_per_second(self.bw());
            self.aggregation
                .update(now, acked, self.cwnd, bw, round_start);
        }
        if self.mode == Mode::ProbeBw && self.phase_is_over(now, ack) {
            self.cycle.advance(now);
        }
        let app_limited = sample.is_none_or(|s| s.app_limited || self.probe_rtt.quiets(&s));
        if round_start && !app_limited {
            self.full_pipe.round(self.rounds.max_bw());
        }
        self.check_drain(now, path);
        self.update_min_rtt(now, path, ack, round_start);
        self.update_gains();
    }

    /// `bbr_is_next_cycle_phase`.
    fn phase_is_over(&self, now: Instant, ack: &Ack) -> bool {
        let full_length = self
            .min_rtt
            .get()
            .is_some_and(|rtt| now.since(self.cycle.since()) > rtt);
        if self.pacing_gain == 1.0 {
            return full_length;
        }
        let flight = self.flight_at_departure(now, self.packets(ack.prior_in_flight));
        let bw = self.rounds.max_bw();
        if self.pacing_gain > 1.0 {
            // Probe until the higher rate has filled the pipe, unless the path does not hold it.
            full_length
                && (ack.newly_lost.0 > 0 || flight >= self.target_flight(bw, self.pacing_gain))
        } else {
            // Drain until the extra queue is gone.
            full_length || flight <= self.target_flight(bw, 1.0)
        }
    }

    fn check_drain(&mut self, now: Instant, path: &PathView) {
        let full = self.target_flight(self.rounds.max_bw(), 1.0);
        if self.mode == Mode::Startup && self.full_pipe.reached() {
            self.mode = Mode::Drain;
            self.ssthresh = Some(full.min(f64::from(WINDOW_MAX)) as u32);
        }
        if self.mode == Mode::Drain
            && self.flight_at_departure(now, self.packets(path.in_flight)) <= full
        {
            self.enter_probe_bw(now);
        }
    }

    fn enter_probe_bw(&mut self, now: Instant) {
        self.mode = Mode::ProbeBw;
        self.cycle.restart(now);
    }

    fn update_min_rtt(&mut self, now: Instant, path: &PathView, ack: &Ack, round_start: bool) {
        // A lone packet's ACK may have waited for the receiver's timer (Linux `FLAG_ACK_MAYBE_DELAYED`).
        let maybe_delayed = ack.newly_acked.0 <= u64::from(self.mss)
            && ack.rate.is_some_and(|s| {
                s.prior_delivered.0.saturating_add(ack.newly_acked.0) == ack.delivered.0
            });
        let expired = self.min_rtt.update(now, ack.rtt, maybe_delayed);
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt.enter(ack.delivered.0);
        }
        if self.mode == Mode::ProbeRtt {
            let flight = self.packets(path.in_flight);
            self.probe_rtt
                .hold_samples(ack.delivered.0 + path.in_flight.0);
            if self.probe_rtt.started() {
                if self.probe_rtt.round(round_start) {
                    self.check_probe_rtt_done(now);
                }
            } else if flight <= MIN_WINDOW {
                self.probe_rtt.start(now);
                self.rounds.restart(ack.delivered.0);
            }
        }
        if ack.rate.is_some_and(|s| s.delivered.0 > 0) {
            self.idle_restart = false;
        }
    }

    fn check_probe_rtt_done(&mut self, now: Instant) {
        if !self.probe_rtt.is_over(now) {
            return;
        }
        self.min_rtt.touch(now);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_pipe.reached() {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `bbr_update_gains`.
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policed().is_some() => (1.0, CWND_GAIN),
            Mode::ProbeBw => (self.cycle.gain(), CWND_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    /// Remembers a window that was good, to go back to it after recovery or RTT probing (`bbr_save_cwnd`).
    fn save_cwnd(&mut self) {
        let cut = matches!(self.prev_recovery, Recovery::Fast | Recovery::Timeout);
        self.prior_cwnd = if !cut && self.mode != Mode::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }

    /// First round of recovery: packet conservation; its end: the window from before. Returns the window and whether
    /// it stands as it is (`bbr_set_cwnd_to_recover_or_restore`).
    fn recover_or_restore(&mut self, path: &PathView, ack: &Ack, acked: u32) -> (u32, bool) {
        let flight = self.packets(path.in_flight);
        let mut cwnd = self.cwnd;
        if ack.newly_lost.0 > 0 {
            cwnd = cwnd.saturating_sub(self.packets(ack.newly_lost)).max(1);
        }
        let lossy = |r| matches!(r, Recovery::Fast | Recovery::Timeout);
        let (was, is) = (self.prev_recovery, ack.recovery);
        if is == Recovery::Fast && was != Recovery::Fast {
            self.packet_conservation = true;
            self.rounds.restart(ack.delivered.0);
            cwnd = flight.saturating_add(acked);
        } else if lossy(was) && !lossy(is) {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prev_recovery = is;
        if self.packet_conservation {
            (cwnd.max(flight.saturating_add(acked)), true)
        } else {
            (cwnd, false)
        }
    }

    /// `bbr_set_cwnd`.
    fn set_cwnd(&mut self, path: &PathView, ack: &Ack) {
        let acked = self.packets(ack.newly_acked);
        if acked > 0 {
            let (mut cwnd, stands) = self.recover_or_restore(path, ack, acked);
            if !stands {
                let bw = self.bw();
                let mut target = self.bdp(bw, self.cwnd_gain);
                if self.full_pipe.reached() {
                    target += f64::from(self.aggregation.extra(packets_per_second(bw)));
                }
                let target = self.with_bursts(target).min(f64::from(WINDOW_MAX)) as u32;
                let few = u64::from(NO_RTT_WINDOW) * u64::from(self.mss);
                if self.full_pipe.reached() {
                    cwnd = cwnd.saturating_add(acked).min(target);
                } else if cwnd < target || ack.delivered.0 < few {
                    cwnd = cwnd.saturating_add(acked);
                }
                cwnd = cwnd.max(MIN_WINDOW);
            }
            self.cwnd = cwnd.clamp(1, WINDOW_MAX);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_WINDOW);
        }
    }

    fn view(&mut self, path: &PathView) {
        if path.mss != 0 {
            self.mss = path.mss;
            self.wire_mss = path.wire_mss.max(path.mss);
        }
    }
}

impl Controller for Bbr {
    #[inline]
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.view(path);
        if self.pacer.rate().is_none() {
            self.pacer.follow(&self.intent());
        }
        let headers = u64::from(self.wire_mss - self.mss);
        self.pacer.on_sent(now, Bytes(sent.bytes.0 + headers));
        self.see_rtt(path);
        if sent.after_idle {
            self.idle_restart = true;
            self.aggregation.restart(now);
            if self.mode == Mode::ProbeBw {
                // No need to pace above the estimate where the application limits.
                self.set_pacing(self.bw(), 1.0);
                self.pacer.follow(&self.intent());
            } else if self.mode == Mode::ProbeRtt {
                self.check_probe_rtt_done(now);
            }
        }
    }

    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.view(path);
        self.see_rtt(path);
        if !path.min_rtt.is_zero() {
            self.min_rtt.init(now, path.min_rtt);
        }
        self.delivered = ack.delivered.0;
        self.lost = ack.lost.0;
        self.update_model(now, path, ack);
        self.set_pacing(self.bw(), self.pacing_gain);
        self.pacer.follow(&self.intent());
        self.set_cwnd(path, ack);
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.view(path);
        self.save_cwnd();
        if event.cause == Cause::Timeout {
            // Linux `tcp_enter_loss` sets the window; `bbr_set_state` treats the timeout as the end of a round.
            self.cwnd = 1;
            self.prev_recovery = Recovery::Timeout;
            self.full_pipe.forget_level();
            self.sample_policer(now, true, false, true);
        }
    }

    fn on_undo(&mut self, now: Instant, _path: &PathView) {
        // The slow-down was spurious: look for the full pipe again (`bbr_undo_cwnd`). The window comes back when the
        // host leaves recovery.
        self.full_pipe.forget();
        if let Some(policer) = &mut self.policer {
            policer.reset(now, self.delivered, self.lost);
        }
    }

    #[inline]
    fn intent(&self) -> Intent {
        let mss = u64::from(self.mss);
        let wire = self.pacing * 8.0 * f64::from(self.wire_mss) / f64::from(self.mss);
        Intent {
            window: Some(Bytes(u64::from(self.cwnd) * mss)),
            ssthresh: self.ssthresh.map(|s| Bytes(u64::from(s) * mss)),
            pacing: Some(Rate::from_bps((wire as u64).max(1))),
            burst: Bytes(u64::from(self.burst()) * u64::from(self.wire_mss)),
            recovery: RecoveryMode::Controller,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("cwnd", f64::from(self.cwnd)));
        out.push(("btlbw", self.bytes_per_second(self.rounds.max_bw()) * 8.0));
        if let Some(rtt) = self.min_rtt.get() {
            out.push(("rtprop", rtt.as_secs_f64()));
        }
        out.push(("pacing_gain", self.pacing_gain));
        out.push(("cwnd_gain", self.cwnd_gain));
        out.push(("mode", f64::from(self.mode as u8)));
        out.push(("policed", f64::from(u8::from(self.policed().is_some()))));
        out.push(("extra_acked", f64::from(self.aggregation.max())));
    }

    fn name(&self) -> &'static str {
        match self.stack {
            Stack::Linux => "bbr",
            Stack::Ns3 => "bbr-ns3",
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
