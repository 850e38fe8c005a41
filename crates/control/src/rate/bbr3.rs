//! BBR version 3 by draft-ietf-ccwg-bbr (the working group's text of 3 August 2026, after version 06); section numbers
//! here and in the files below are the draft's.
//!
//! One file per concept: [`max_bw`], [`full_bw`], [`min_rtt`], [`aggregation`] and [`short_term`] are the model of the
//! path, [`flights`] remembers what was in flight when a packet left, [`cycle`] is the state machine and [`loss`] what
//! losses do to it and to the long-term bound. This file turns the model into a window and a rate (5.6).
//!
//! Bandwidths are payload bytes per second in `f64`, volumes payload bytes.
//!
//! Departures from the text, each forced by what a host tells:
//! - A host reports lost bytes once per ACK, not packet by packet. `HandleLostPacket` (5.5.10.2) therefore judges all
//!   losses of an ACK as one burst, sent with the newest packet that the ACK delivered.
//! - "Discontiguous sequence ranges lost" (5.3.1.3) are counted as ACKs that tell of losses, as in Linux's BBRv3.
//! - `C.has_selective_acks` is taken as true: a host without SACK finds one loss per round, which never counts as six.
//! - ECN: the draft gives no response (3.7), so that packets leave as Not-ECT and a mark changes nothing.

pub mod aggregation;
pub mod cycle;
pub mod flights;
pub mod full_bw;
pub mod loss;
pub mod max_bw;
pub mod min_rtt;
pub mod short_term;

use slackwater_core::{Bytes, Draw, Duration, Instant, Rate};

use crate::rate::bbr3::aggregation::Aggregation;
use crate::rate::bbr3::cycle::PHASES;
use crate::rate::bbr3::cycle::{Cycle, Phase};
use crate::rate::bbr3::flights::Flights;
use crate::rate::bbr3::full_bw::FullBw;
use crate::rate::bbr3::loss::Undo;
use crate::rate::bbr3::max_bw::MaxBw;
use crate::rate::bbr3::min_rtt::MinRtt;
use crate::rate::bbr3::short_term::{NONE, ShortTerm};
use crate::registry::{AnyController, Entry};
use crate::{Ack, Cause, CongestionEvent, Controller, Intent, PathView, RecoveryMode, Sent};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "bbr3",
    aliases: &["bbrv3"],
    title: "BBRv3",
    about: "BBR version 3 (draft-ietf-ccwg-bbr): bounded by losses of 2 %",
    modes: Some(PHASES),
    make: |cfg, p| {
        p.none()?;
        let bbr = Bbr3::new(cfg.mss, cfg.initial_window, cfg.draw);
        Ok(AnyController::Bbr3(bbr))
    },
    ..Entry::TRANSPORT
}];

/// Loss that a probe for bandwidth may cause (`LossThresh`, 2.8).
const LOSS_THRESH: f64 = 0.02;
/// What a lossy round leaves (`Beta`, 2.8).
const BETA: f64 = 0.7;
/// Share of the long-term bound left to others (`Headroom`, 2.8).
const HEADROOM: f64 = 0.15;
/// Least window in packets (`MinPipeCwnd`, 2.8).
const MIN_PIPE: u64 = 4;
/// ACKs with losses in a round that end start-up (`BBRStartupFullLossCnt`, 5.3.1.3).
const STARTUP_LOSSES: u32 = 6;
/// Window in `ProbeRTT`, of the bandwidth-delay product (`ProbeRTTCwndGain`, 2.16.2).
const PROBE_RTT_GAIN: f64 = 0.5;
/// Share of the estimate that is paced (`PacingMarginPercent` 1, 2.5).
const PACING_MARGIN: f64 = 0.99;
/// RTT assumed before the first sample (5.6.2).
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// A burst lasts a millisecond, and at most this many bytes (5.6.3).
const QUANTUM_PER_SECOND: f64 = 1000.0;
const QUANTUM_MAX: u64 = 64 << 10;
/// Bursts under way in both hosts (5.5.8.1).
const OFFLOAD_BURSTS: u64 = 3;
/// Largest window in bytes: keeps the arithmetic in range.
const WINDOW_MAX: u64 = 1 << 42;

/// What an ACK says (`RS`, 2.3).
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    /// Payload bytes per second; zero for none.
    rate: f64,
    /// Bytes that the sample spans.
    delivered: u64,
    /// Bytes delivered when the sampled packet left.
    prior_delivered: Option<u64>,
    app_limited: bool,
    newly_acked: u64,
    /// In flight when the sampled packet left.
    tx_in_flight: u64,
    /// Lost since then.
    lost: u64,
}

/// What BBR wants to know of the connection (`C`, 2.2).
#[derive(Clone, Copy, Debug, Default)]
struct Conn {
    delivered: u64,
    lost: u64,
    in_flight: u64,
    cwnd_limited: bool,
}

/// BBR version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    mss: u64,
    wire_mss: u64,
    initial: u64,
    cwnd: u64,
    prior_cwnd: u64,
    phase: Phase,
    cycle: Cycle,
    conn: Conn,
    flights: Flights,
    max_bw: MaxBw,
    full_bw: FullBw,
    min_rtt: MinRtt,
    aggregation: Aggregation,
    short: ShortTerm,
    /// The long-term bound on the flight (`inflight_longterm`); [`NONE`] for none.
    inflight_longterm: u64,
    undo: Undo,
    next_round: u64,
    round_start: bool,
    rounds: u64,
    drain_start: u64,
    recovering: bool,
    idle_restart: bool,
    has_seen_rtt: bool,
    /// Totals of delivered bytes between which packets left that say nothing of the bandwidth (`ProbeRTT`).
    quiet: Option<(u64, u64)>,
    /// Bandwidth that the model allows (`BBR.bw`).
    bw: f64,
    /// Payload bytes per second.
    pacing: f64,
}

impl Bbr3 {
    /// BBR with an initial window of `initial` packets of `mss` payload bytes; `draw` gives the time between probes.
    pub fn new(mss: u32, initial: u32, draw: Draw) -> Self {
        let mss = u64::from(mss.max(1));
        let cwnd = u64::from(initial.max(1)) * mss;
        let mut bbr = Self {
            mss,
            // Refined by the first view of the path; TCP over IPv4 with time stamps until then.
            wire_mss: mss + 52,
            initial: cwnd,
            cwnd,
            prior_cwnd: 0,
            phase: Phase::Startup,
            cycle: Cycle::new(draw),
            conn: Conn::default(),
            flights: Flights::default(),
            max_bw: MaxBw::default(),
            full_bw: FullBw::default(),
            min_rtt: MinRtt::default(),
            aggregation: Aggregation::default(),
            short: ShortTerm::default(),
            inflight_longterm: NONE,
            undo: Undo::default(),
            next_round: 0,
            round_start: false,
            rounds: 0,
            drain_start: 0,
            recovering: false,
            idle_restart: false,
            has_seen_rtt: false,
            quiet: None,
            bw: 0.0,
            pacing: 0.0,
        };
        bbr.init_pacing(NOMINAL_RTT);
        bbr
    }

    /// The state.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// The initial window in one RTT, times the start-up gain (`InitPacingRate`, 5.6.2).
    fn init_pacing(&mut self, rtt: Duration) {
        let rtt = rtt.max(Duration::from_micros(1)).as_secs_f64();
        self.pacing = Phase::Startup.pacing_gain() * self.initial as f64 / rtt;
    }

    fn view(&mut self, now: Instant, path: &PathView) {
        if path.mss != 0 && u64::from(path.mss) != self.mss {
            self.mss = u64::from(path.mss);
        }
        self.wire_mss = u64::from(path.wire_mss).max(self.mss);
        self.conn.in_flight = path.in_flight.0;
        if !self.has_seen_rtt && !path.srtt.is_zero() {
            self.has_seen_rtt = true;
            self.init_pacing(path.srtt);
            self.min_rtt.init(now, path.srtt);
        }
    }

    /// What `ack` says (`GenerateRateSample`, 4.1.2.3).
    #[inline]
    fn sample(&mut self, ack: &Ack) -> Sample {
        let newly_acked = ack.newly_acked.0;
        let Some(rate) = ack.rate.filter(|s| !s.interval.is_zero()) else {
            return Sample {
                newly_acked,
                app_limited: ack.app_limited,
                ..Sample::default()
            };
        };
        let prior = rate.prior_delivered.0;
        let flight = self.flights.find(prior);
        Sample {
            rate: rate.delivered.0 as f64 / rate.interval.as_secs_f64(),
            delivered: rate.delivered.0,
            prior_delivered: Some(prior),
            app_limited: rate.app_limited
                || self.quiet.is_some_and(|(a, b)| (a..=b).contains(&prior)),
            newly_acked,
            tx_in_flight: flight.map_or(0, |f| f.in_flight),
            lost: flight.map_or(0, |f| self.conn.lost.saturating_sub(f.lost)),
        }
    }

    /// `StartRound` (5.5.1).
    const fn start_round(&mut self) {
        self.next_round = self.conn.delivered;
    }

    /// `UpdateRound` (5.5.1).
    #[inline]
    fn update_round(&mut self, rs: &Sample) {
        self.round_start = rs.prior_delivered.is_some_and(|p| p >= self.next_round);
        if self.round_start {
            self.start_round();
            self.rounds += 1;
            self.cycle.rounds_since_probe = self.cycle.rounds_since_probe.saturating_add(1);
        }
    }

    /// `UpdateModelAndState` (5.2.3).
    #[inline]
    fn update_model(&mut self, now: Instant, ack: &Ack, rs: &Sample) {
        let delivered = self.conn.delivered;
        self.short
            .update(rs.rate, rs.delivered, rs.prior_delivered, delivered);
        self.update_round(rs);
        self.max_bw.update(rs.rate, rs.app_limited);
        let (probing, max_bw) = (self.phase.is_probing_bw(), self.max_bw.get());
        self.short.adapt(probing, max_bw, self.cwnd);
        let steady = self.full_bw.reached();
        let acked = rs.newly_acked;
        self.aggregation
            .update(now, acked, self.cwnd, self.bw, self.rounds, steady);
        if self.round_start && !rs.app_limited {
            self.full_bw.round(rs.rate);
        }
        self.check_startup_done(rs);
        self.check_drain_done(now);
        self.update_cycle(now, rs);
        self.min_rtt.update(now, ack.rtt);
        self.check_probe_rtt(now, rs);
        self.short.advance(rs.rate, rs.delivered);
        // `BoundBWForModel` (5.5.10.3).
        self.bw = self.max_bw.get().min(self.short.bw);
    }

    /// The start-up rate never falls before the pipe is full (`SetPacingRateWithGain`, 5.6.2).
    fn set_pacing(&mut self, gain: f64) {
        let rate = gain * self.bw * PACING_MARGIN;
        if self.bw > 0.0 && (self.full_bw.reached() || rate > self.pacing) {
            self.pacing = rate;
        }
    }

    /// Bytes of a burst (`SetSendQuantum`, 5.6.3).
    fn quantum(&self) -> u64 {
        ((self.pacing / QUANTUM_PER_SECOND) as u64)
            .min(QUANTUM_MAX)
            .max(2 * self.mss)
    }

    /// `gain` bandwidth-delay products at `bw` (`BDPMultiple`, 5.6.4.2).
    #[inline]
    fn bdp(&self, bw: f64, gain: f64) -> u64 {
        self.min_rtt.get().map_or(self.initial, |rtt| {
            ((gain * bw * rtt.as_secs_f64()) as u64).min(WINDOW_MAX)
        })
    }

    const fn min_pipe(&self) -> u64 {
        MIN_PIPE * self.mss
    }

    /// Room for what sits in both hosts' stacks (`QuantizationBudget`, 5.6.4.2).
    #[inline]
    fn with_bursts(&self, inflight: u64) -> u64 {
        let inflight = inflight
            .max(OFFLOAD_BURSTS * self.quantum())
            .max(self.min_pipe());
        if self.phase == Phase::Up {
            inflight + 2 * self.mss
        } else {
            inflight
        }
    }

    /// The flight that `bw` needs, and no queue (`Inflight`, 5.6.4.2).
    fn inflight(&self, bw: f64) -> u64 {
        self.with_bursts(self.bdp(bw, 1.0))
    }

    /// The long-term bound less what is left to others (`InflightWithHeadroom`, 5.3.3.9).
    fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == NONE {
            return NONE;
        }
        let headroom = ((HEADROOM * self.inflight_longterm as f64) as u64).max(self.mss);
        self.inflight_longterm
            .saturating_sub(headroom)
            .max(self.min_pipe())
    }

    /// `TargetInflight` (5.3.3.8.3).
    fn target_inflight(&self) -> u64 {
        self.bdp(self.bw, 1.0).min(self.cwnd)
    }

    /// `ProbeRTTCwnd` (5.6.4.5).
    fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp(self.bw, PROBE_RTT_GAIN).max(self.min_pipe())
    }

    /// `SetCwnd` (5.6.4.6).
    #[inline]
    fn set_cwnd(&mut self, rs: &Sample) {
        let gain = self.phase.cwnd_gain();
        let extra = self.aggregation.extra() as u64;
        let max_inflight = self.with_bursts(self.bdp(self.bw, gain).saturating_add(extra));
        if self.full_bw.reached() {
            self.cwnd = (self.cwnd + rs.newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || self.conn.delivered < self.initial {
            self.cwnd += rs.newly_acked;
        }
        let mut cap = WINDOW_MAX;
        if self.phase == Phase::ProbeRtt {
            cap = self.probe_rtt_cwnd();
        }
        // `BoundCwndForModel` (5.6.4.7).
        cap = cap.min(match self.phase {
            Phase::Down | Phase::Refill | Phase::Up => self.inflight_longterm,
            Phase::Cruise | Phase::ProbeRtt => self.inflight_with_headroom(),
            Phase::Startup | Phase::Drain => NONE,
        });
        cap = cap.min(self.short.inflight).max(self.min_pipe());
        self.cwnd = self.cwnd.max(self.min_pipe()).min(cap);
    }

    /// Remembers a window that was good (`SaveCwnd`, 5.6.4.4).
    fn save_cwnd(&mut self) {
        self.prior_cwnd = if !self.recovering && self.phase != Phase::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }

    /// `RestoreCwnd` (5.6.4.4).
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

impl Controller for Bbr3 {
    #[inline]
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.view(now, path);
        if sent.after_idle {
            // `HandleRestartFromIdle` (5.4.1).
            self.idle_restart = true;
            self.aggregation.restart(now);
            if self.phase.is_probe_bw() {
                self.set_pacing(1.0);
            } else if self.phase == Phase::ProbeRtt {
                self.check_probe_rtt_done(now);
            }
        }
        let Conn {
            delivered,
            lost,
            in_flight,
            ..
        } = self.conn;
        self.flights.sent(delivered, in_flight, lost);
    }

    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.view(now, path);
        self.min_rtt.init(now, Duration::ZERO);
        let newly_lost = ack.lost.0.saturating_sub(self.conn.lost);
        self.conn.delivered = ack.delivered.0;
        self.conn.lost = ack.lost.0;
        self.conn.cwnd_limited = ack.cwnd_limited;
        let rs = self.sample(ack);
        if newly_lost > 0 {
            self.handle_losses(now, newly_lost, &rs);
        }
        self.update_model(now, ack, &rs);
        self.set_pacing(self.phase.pacing_gain());
        self.set_cwnd(&rs);
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.view(now, path);
        match event.cause {
            Cause::Ecn => {}
            Cause::Loss => {
                // `OnEnterFastRecovery` (5.6.4.4).
                self.save_state();
                self.recovering = true;
            }
            Cause::Timeout => {
                // `OnEnterRTO` (5.6.4.4): room for one segment.
                self.save_state();
                self.recovering = true;
                self.cwnd = self
                    .cwnd
                    .min(self.conn.in_flight.saturating_add(self.mss))
                    .max(self.mss);
            }
        }
    }

    fn on_undo(&mut self, _now: Instant, _path: &PathView) {
        self.handle_spurious();
    }

    fn on_recovered(&mut self, _now: Instant, _path: &PathView) {
        if self.recovering {
            self.recovering = false;
            self.restore_cwnd();
        }
    }

    #[inline]
    fn intent(&self) -> Intent {
        let on_wire = self.wire_mss as f64 / self.mss as f64;
        Intent {
            window: Some(Bytes(self.cwnd)),
            pacing: Some(Rate::from_bps(
                ((self.pacing * 8.0 * on_wire) as u64).max(1),
            )),
            burst: Bytes((self.quantum() as f64 * on_wire) as u64),
            recovery: RecoveryMode::Controller,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("cwnd", self.cwnd as f64 / self.mss as f64));
        out.push(("mode", f64::from(self.phase as u8)));
        out.push(("max_bw", self.max_bw.get() * 8.0));
        out.push(("bw", self.bw * 8.0));
        if let Some(rtt) = self.min_rtt.get() {
            out.push(("min_rtt", rtt.as_secs_f64()));
        }
        out.push(("pacing_gain", self.phase.pacing_gain()));
        out.push(("cwnd_gain", self.phase.cwnd_gain()));
        out.push(("extra_acked", self.aggregation.extra()));
        out.push((
            "full_bw_reached",
            f64::from(u8::from(self.full_bw.reached())),
        ));
        if self.inflight_longterm != NONE {
            out.push(("inflight_longterm", self.inflight_longterm as f64));
        }
        if self.short.inflight != NONE {
            out.push(("inflight_shortterm", self.short.inflight as f64));
            out.push(("bw_shortterm", self.short.bw * 8.0));
        }
    }

    fn name(&self) -> &'static str {
        "bbr3"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Feed;

    /// Sections 5.3.3.8 and 5.3.3.9 of the draft: two to three seconds after a probe began to stop the next one fills the
    /// pipe and then rises, whether or not the flight came down far enough to cruise.
    #[test]
    fn a_probe_follows_two_to_three_seconds_after_the_last_although_the_queue_stays() {
        let mut f = Feed::new(Bbr3::new(1000, 10, Draw::new(1)));
        // A packet each millisecond; the host does not pace, so the whole window is in flight and the rest is a queue.
        let mut phases = vec![(Phase::Startup, f.now)];
        for _ in 0..12_000 {
            f.now += Duration::from_millis(1);
            f.send();
            let flight = (f.next - f.una) / 1000;
            f.ack(1, flight.max(100));
            if phases.last().is_none_or(|(last, _)| *last != f.c.phase()) {
                phases.push((f.c.phase(), f.now));
            }
        }
        let down = phases.iter().position(|(phase, _)| *phase == Phase::Down);
        let cycle = &phases[down.expect("start-up ends")..][..4];
        let order: Vec<Phase> = cycle.iter().map(|(phase, _)| *phase).collect();
        assert_eq!(order, [Phase::Down, Phase::Refill, Phase::Up, Phase::Down]);
        let waited = cycle[1].1.since(cycle[0].1).as_millis();
        assert!((2000..=3001).contains(&waited), "{waited} ms");
    }
}
