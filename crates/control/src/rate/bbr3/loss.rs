//! What losses do (5.5.10), and how that is taken back (5.5.11).

use slackwater_core::Instant;

use crate::rate::bbr3::cycle::Phase;
use crate::rate::bbr3::short_term::NONE;
use crate::rate::bbr3::{BETA, Bbr3, LOSS_THRESH, STARTUP_LOSSES, Sample};

/// The model as it was before the losses (2.15).
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    phase: Option<Phase>,
    bw_shortterm: f64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
}

impl Sample {
    /// More than 2 % of the flight in which the packet left was lost since (`IsInflightTooHigh`, 5.5.10.2).
    #[inline]
    pub(super) fn is_inflight_too_high(&self) -> bool {
        self.lost as f64 > self.tx_in_flight as f64 * LOSS_THRESH
    }
}

/// The flight at which losses crossed the threshold within a burst of `size` bytes (`InflightAtLoss`, 5.5.10.2).
pub(super) fn inflight_at_loss(rs: &Sample, size: u64) -> u64 {
    let inflight_prev = rs.tx_in_flight.saturating_sub(size) as f64;
    let lost_prev = rs.lost.saturating_sub(size) as f64;
    let prefix = (LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - LOSS_THRESH);
    (inflight_prev + prefix).max(0.0) as u64
}

impl Bbr3 {
    /// `newly_lost` bytes are lost by this ACK (`HandleLostPacket`, 5.5.10.2).
    pub(super) fn handle_losses(&mut self, now: Instant, newly_lost: u64, rs: &Sample) {
        if self.short.note_loss(self.conn.delivered) {
            self.save_state();
        }
        if self.cycle.probe_sample && rs.is_inflight_too_high() {
            let tx_in_flight = inflight_at_loss(rs, newly_lost);
            self.inflight_is_too_high(now, tx_in_flight, rs.app_limited);
        }
    }

    /// `HandleInflightTooHigh` (5.5.10.2).
    fn inflight_is_too_high(&mut self, now: Instant, tx_in_flight: u64, app_limited: bool) {
        self.cycle.too_high = true;
        // Once per probe.
        self.cycle.probe_sample = false;
        if !app_limited {
            let floor = (self.target_inflight() as f64 * BETA) as u64;
            self.inflight_longterm = tx_in_flight.max(floor);
        }
        if self.phase == Phase::Up {
            self.undo.phase = Some(Phase::Up);
            self.start_down(now);
        }
    }

    /// `CheckStartupHighLoss` (5.3.1.3). A round for losses begins with the first of them, so that its end is a full
    /// round of recovery.
    pub(super) fn check_startup_losses(&mut self, rs: &Sample) {
        if self.full_bw.reached()
            || !self.recovering
            || !self.short.round_start()
            || self.short.events() < STARTUP_LOSSES
            || !rs.is_inflight_too_high()
        {
            return;
        }
        self.undo.phase = Some(Phase::Startup);
        self.full_bw.fill();
        self.inflight_longterm = self
            .bdp(self.bw, 1.0)
            .max(self.short.inflight_latest())
            .min(NONE - 1);
    }

    /// `SaveStateUponLoss` (5.5.11.1).
    pub(super) fn save_state(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            phase: None,
            bw_shortterm: self.short.bw,
            inflight_shortterm: self.short.inflight,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// `HandleSpuriousLossDetection` (5.5.11.2).
    pub(super) fn handle_spurious(&mut self) {
        self.restore_cwnd();
        self.short.forgive();
        self.full_bw.restart(0.0);
        let undo = self.undo;
        self.short.bw = self.short.bw.max(undo.bw_shortterm);
        self.short.inflight = self.short.inflight.max(undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
        match undo.phase {
            Some(Phase::Startup) if self.phase != Phase::Startup => {
                self.full_bw.forget();
                if self.phase != Phase::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(Phase::Up) if self.phase != Phase::Up && self.phase != Phase::ProbeRtt => {
                self.start_refill();
            }
            _ => {}
        }
        self.undo.phase = None;
    }
}
