//! The congestion states (Linux `tcp_fastretrans_alert`, `tcp_enter_loss`), their ends, and undo.

use slackwater_control::{Cause, CongestionEvent, Controller, Recovery, RecoveryMode};
use slackwater_core::{Bytes, Instant, Packet};

use super::ack::Told;
use super::connection::Endpoint;
use super::prr::Prr;
use super::rack::View;

/// Duplicate ACKs that mean a loss (RFC 5681, 3.2).
const DUP_THRESHOLD: u64 = 3;

impl Endpoint {
    /// An ACK that is not plain progress, or any ACK outside the open state.
    pub(crate) fn alert(&mut self, now: Instant, told: &Told, prior_in_flight: u64) {
        if told.ce && self.classic_ecn() {
            // A mark is never spurious.
            self.undo = None;
        }
        if told.duplicate && !self.sack && !self.board.is_empty() {
            self.dup_acks = (self.dup_acks + 1).min(self.board.segments());
        }
        let una = self.board.una();
        if self.ca == Recovery::Open {
            if self.board.resent() == 0 {
                self.resent_at = None;
            }
        } else if una >= self.high {
            match self.ca {
                // Held until data above the point is acknowledged, so that CWR was seen (Linux).
                Recovery::Cwr if una > self.high || self.board.is_empty() => {
                    self.ca = Recovery::Open;
                    self.end_reduction(now);
                }
                // RFC 6582, 3.2, step 3: without SACK the episode lasts a little longer.
                Recovery::Fast if self.sack || una > self.high || self.board.is_empty() => {
                    self.try_undo(now, told, false);
                    self.leave(now);
                }
                _ => {}
            }
        }
        match self.ca {
            Recovery::Fast => {
                if told.advanced {
                    self.try_undo_partial(now, told);
                }
                if told.dsack && self.all_resent_in_vain() {
                    self.take_back(now, true);
                }
                if self.ca == Recovery::Fast {
                    self.find_losses(now, told);
                    return;
                }
            }
            Recovery::Timeout => {
                self.after_timeout(now, told);
                if self.ca == Recovery::Timeout {
                    self.find_losses(now, told);
                    return;
                }
            }
            Recovery::Open | Recovery::Disorder if told.dsack && self.all_resent_in_vain() => {
                self.take_back(now, false);
            }
            _ => {}
        }
        self.find_losses(now, told);
        if self.board.lost() > 0 {
            self.enter_fast(now, prior_in_flight);
        } else {
            self.try_open(now, told, prior_in_flight);
        }
    }

    /// Neither lost nor recovering: perhaps marked, perhaps in disorder (Linux `tcp_try_to_open`).
    fn try_open(&mut self, now: Instant, told: &Told, prior_in_flight: u64) {
        if self.board.resent() == 0 && self.ca == Recovery::Open {
            self.resent_at = None;
        }
        if told.ce && self.ca != Recovery::Cwr {
            self.undo = None;
            self.high = self.board.nxt();
            let event =
                CongestionEvent::new(Cause::Ecn, Bytes::ZERO, Bytes(prior_in_flight), self.high);
            self.congestion(now, &event);
            self.ca = Recovery::Cwr;
            self.ecn.reduced();
        }
        if self.ca != Recovery::Cwr {
            self.ca = self.calm();
        }
    }

    /// Open, or Disorder where something is `SACKed` or duplicated.
    fn calm(&self) -> Recovery {
        if self.board.sacked() > 0 || self.board.lost() > 0 || self.dup_acks > 0 {
            Recovery::Disorder
        } else {
            Recovery::Open
        }
    }

    /// Tells the controller of a reduction and begins it.
    pub(crate) fn congestion(&mut self, now: Instant, event: &CongestionEvent) {
        let prior = self.window();
        let path = self.path();
        self.cc.on_congestion(now, &path, event);
        self.follow();
        let steered = self.intent.recovery == RecoveryMode::Prr
            && self.cfg.prr
            && (event.cause == Cause::Loss || (event.cause == Cause::Ecn && self.classic_ecn()));
        self.prr = match self.intent.window {
            Some(target) if steered => Some(Prr::start(prior, target.0, u64::from(self.mss))),
            _ => None,
        };
        self.timers.tlp = Instant::MAX;
        self.probe = None;
    }

    /// The window is the controller's again.
    pub(crate) fn end_reduction(&mut self, now: Instant) {
        self.prr = None;
        let path = self.path();
        self.cc.on_recovered(now, &path);
        self.follow();
    }

    fn enter_fast(&mut self, now: Instant, prior_in_flight: u64) {
        self.undo = (self.ca != Recovery::Cwr).then(|| self.board.una());
        self.undo_resent = None;
        self.episode_lost = self.board.lost();
        self.stats.recoveries += 1;
        // A reduction for marks covers a loss in the same round (RFC 3168, 6.1.2), but not one in proportion to their
        // share, which may be small (RFC 9331, 4.3; RFC 8257, 3.5; Linux halves in both).
        if self.ca != Recovery::Cwr || !self.classic_ecn() {
            self.high = self.board.nxt();
            let event = CongestionEvent::new(
                Cause::Loss,
                Bytes(self.episode_lost),
                Bytes(prior_in_flight),
                self.high,
            );
            self.congestion(now, &event);
        }
        self.ca = Recovery::Fast;
        self.ecn.reduced();
        self.timers.tlp = Instant::MAX;
    }

    /// Fast recovery or loss recovery is over.
    fn leave(&mut self, now: Instant) {
        self.undo = None;
        self.frto = false;
        self.frto_step2 = false;
        if !self.sack {
            self.dup_acks = 0;
        }
        self.rack.recovered();
        self.episode_lost = 0;
        self.ca = Recovery::Open;
        self.end_reduction(now);
        self.ca = self.calm();
    }

    /// Marks what is lost by now.
    fn find_losses(&mut self, now: Instant, told: &Told) {
        let lost = if !self.sack {
            let due = if self.ca == Recovery::Fast {
                told.advanced && self.board.una() < self.high
            } else {
                self.dup_acks >= DUP_THRESHOLD && self.ca != Recovery::Timeout
            };
            let head = self.board.head();
            if due && !self.board.is_empty() && !self.board.is_lost(head) {
                self.board.mark_lost(head)
            } else {
                0
            }
        } else if self.cfg.rack {
            self.detect(now)
        } else {
            self.board.mark_below_sacked(DUP_THRESHOLD)
        };
        self.count_lost(lost);
    }

    fn count_lost(&mut self, lost: u64) {
        self.lost_total += lost;
        self.episode_lost += lost;
    }

    fn detect(&mut self, now: Instant) -> u64 {
        if !self.rack.advanced {
            return 0;
        }
        let (lost, again) = self.look(now);
        self.timers.reorder = again;
        lost
    }

    fn look(&mut self, now: Instant) -> (u64, Instant) {
        let view = View {
            now,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            recovering: matches!(self.ca, Recovery::Fast | Recovery::Timeout),
            dup_threshold: self.board.sacked() >= DUP_THRESHOLD * u64::from(self.mss),
        };
        let (lost, again) = self.rack.detect(&mut self.board, &view);
        (lost, again.map_or(Instant::MAX, |d| now + d))
    }

    /// The reordering window ran out (RFC 8985, 6.3).
    pub(crate) fn on_reorder_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let prior = self.in_flight();
        let (lost, again) = self.look(now);
        self.timers.reorder = again;
        self.count_lost(lost);
        if lost > 0 {
            if !matches!(self.ca, Recovery::Fast | Recovery::Timeout) {
                self.enter_fast(now, prior);
            }
            // No ACK came to move the window: the retransmission goes out by the rule for the first one.
            if let Some(prr) = &mut self.prr {
                let in_flight = self.board.in_flight();
                prr.on_silence(in_flight, u64::from(self.mss));
            }
        }
        self.transmit(now, out);
    }

    /// The retransmission timeout (RFC 6298, 5.4 to 5.7; Linux `tcp_enter_loss`).
    pub(crate) fn on_timeout(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.timers.rto = Instant::MAX;
        self.timers.tlp = Instant::MAX;
        self.timers.reorder = Instant::MAX;
        self.probe = None;
        if self.board.is_empty() {
            return;
        }
        self.stats.timeouts += 1;
        let prior = self.in_flight();
        let fresh = matches!(self.ca, Recovery::Open | Recovery::Disorder)
            || self.board.una() >= self.high
            || (self.ca == Recovery::Timeout && self.timeouts_in_row == 0);
        let first = !matches!(self.ca, Recovery::Fast | Recovery::Timeout);
        if self.board.is_sacked(self.board.head()) {
            // The receiver dropped what it had SACKed (RFC 2018, 8).
            self.board.forget_sacks();
        }
        let lost = if self.cfg.rack && self.sack {
            self.rack.timed_out(&mut self.board, now)
        } else {
            self.board.mark_all_lost()
        };
        self.dup_acks = 0;
        if fresh {
            self.undo = Some(self.board.una());
            self.undo_resent = None;
            self.resent_at = None;
            self.episode_lost = 0;
        }
        self.count_lost(lost);
        self.ca = Recovery::Timeout;
        self.high = self.board.nxt();
        self.frto_step2 = false;
        self.frto = self.cfg.frto && (first || self.timeouts_in_row > 0);
        let event = CongestionEvent::new(
            Cause::Timeout,
            Bytes(self.episode_lost),
            Bytes(prior),
            self.high,
        );
        self.congestion(now, &event);
        self.ecn.reduced();
        self.timeouts_in_row += 1;
        self.rtt.back_off();
        self.resend(now, self.board.head(), out);
        self.timers.rto = now + self.rtt.rto();
        self.transmit(now, out);
    }

    /// An ACK in loss recovery (Linux `tcp_process_loss`).
    fn after_timeout(&mut self, now: Instant, told: &Told) {
        let una = self.board.una();
        let recovered = una >= self.high;
        if told.advanced && self.try_undo(now, told, true) {
            self.leave(now);
            return;
        }
        if self.frto {
            if told.original && self.undo.is_some() {
                // RFC 5682, 2.1, step 3b: something that was sent before the timeout arrived.
                self.take_back(now, true);
                self.leave(now);
                return;
            }
            if self.frto_step2 {
                if told.sacked || told.duplicate {
                    // Step 3a: the timeout was real.
                    self.frto = false;
                    self.frto_step2 = false;
                }
            } else if told.advanced && !recovered {
                self.high = self.board.nxt();
                if self.has_new() {
                    self.frto_step2 = true;
                    return;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.leave(now);
        }
    }

    /// The retransmissions of this episode were all in vain (DSACK).
    fn all_resent_in_vain(&self) -> bool {
        self.undo.is_some() && self.undo_resent == Some(0)
    }

    /// The echo is older than the first retransmission: the original arrived (Eifel, RFC 3522, 3.2).
    fn is_delayed(&self, told: &Told) -> bool {
        match (self.resent_at, told.echo) {
            (Some(at), Some(echo)) => (echo.wrapping_sub(at) as i32) < 0,
            _ => false,
        }
    }

    /// Undoes the episode if it proved spurious.
    fn try_undo(&mut self, now: Instant, told: &Told, unmark: bool) -> bool {
        if self.undo.is_some() && (self.undo_resent == Some(0) || self.is_delayed(told)) {
            self.take_back(now, unmark);
            true
        } else {
            false
        }
    }

    /// A partial ACK that came too early to be for the retransmission (Linux `tcp_try_undo_partial`).
    fn try_undo_partial(&mut self, now: Instant, told: &Told) {
        if self.undo.is_some() && self.is_delayed(told) && self.board.una() > told.una {
            self.rack.reordered = true;
            if self.board.resent() == 0 {
                self.take_back(now, true);
            }
        }
    }

    /// Takes the last reduction back.
    fn take_back(&mut self, now: Instant, unmark: bool) {
        self.undo = None;
        self.stats.undos += 1;
        if unmark {
            self.lost_total -= self.board.lost().min(self.lost_total);
            self.board.forget_losses();
            self.rack.rewind();
        }
        self.prr = None;
        let path = self.path();
        self.cc.on_undo(now, &path);
        self.follow();
        if self.ca == Recovery::Fast {
            self.frto = false;
            self.rack.recovered();
            self.episode_lost = 0;
            self.ca = self.calm();
            let path = self.path();
            self.cc.on_recovered(now, &path);
            self.follow();
        }
    }
}
