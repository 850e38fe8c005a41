//! The congestion states (Linux `tcp_fastretrans_alert`, `tcp_enter_loss`), their ends, and undo.

use slackwater_control::{Cause, CongestionEvent, Recovery, RecoveryMode};
use slackwater_core::{Bytes, Instant, Packet};

use super::ack::Signs;
use super::connection::Endpoint;
use super::episode::FrtoVerdict;
use super::prr::Prr;
use super::reliability::Detection;

impl Endpoint {
    /// An ACK that is not plain progress, or any ACK outside the open state.
    pub(super) fn alert(&mut self, now: Instant, signs: &Signs, prior_in_flight: u64) {
        if signs.ce && self.congestion.answers_marks_as_loss() {
            // A mark is never spurious.
            self.episode.forbid_undo();
        }
        if signs.duplicate && !self.reliability.sack() && !self.reliability.is_empty() {
            self.reliability.count_duplicate();
        }

        let una = self.reliability.una();
        let end = self.episode.end();
        if self.episode.is_open() {
            if self.reliability.has_no_copies() {
                self.episode.forget_resent();
            }
        } else if una >= end {
            let beyond = una > end || self.reliability.is_empty();
            match self.episode.state() {
                // Held until data above the point is acknowledged, so that CWR was seen (Linux).
                Recovery::Cwr if beyond => {
                    self.episode.open();
                    self.end_reduction(now);
                }
                // RFC 6582, 3.2, step 3: without SACK the episode lasts a little longer.
                Recovery::Fast if self.reliability.sack() || beyond => {
                    if self.episode.is_spurious(signs.echo) {
                        self.take_back(now, false);
                    }
                    self.leave(now);
                }
                _ => {}
            }
        }

        match self.episode.state() {
            Recovery::Fast => {
                if signs.advanced {
                    self.try_undo_partial(now, signs);
                }
                if signs.dsack && self.episode.all_resent_in_vain() {
                    self.take_back(now, true);
                }
                if self.episode.state() == Recovery::Fast {
                    self.find_losses(now, signs);
                    return;
                }
            }
            Recovery::Timeout => {
                self.after_timeout(now, signs);
                if self.episode.state() == Recovery::Timeout {
                    self.find_losses(now, signs);
                    return;
                }
            }
            Recovery::Open | Recovery::Disorder
                if signs.dsack && self.episode.all_resent_in_vain() =>
            {
                self.take_back(now, false);
            }
            _ => {}
        }

        self.find_losses(now, signs);
        if self.reliability.lost() > 0 {
            self.enter_fast(now, prior_in_flight);
        } else {
            self.try_open(now, signs, prior_in_flight);
        }
    }

    /// Neither lost nor recovering: perhaps marked, perhaps in disorder (Linux `tcp_try_to_open`).
    fn try_open(&mut self, now: Instant, signs: &Signs, prior_in_flight: u64) {
        if self.reliability.has_no_copies() && self.episode.is_open() {
            self.episode.forget_resent();
        }
        if signs.ce && self.episode.state() != Recovery::Cwr {
            let nxt = self.reliability.nxt();
            self.episode.begin_marked(nxt);
            let prior = Bytes(prior_in_flight);
            let event = CongestionEvent::new(Cause::Ecn, Bytes::ZERO, prior, nxt);
            self.on_congestion(now, &event);
            self.episode.marked();
            self.ecn.reduced();
        }
        if self.episode.state() != Recovery::Cwr {
            self.episode.calm(self.reliability.in_disorder());
        }
    }

    /// Shows the controller a congestion event and begins the reduction that it wants.
    pub(super) fn on_congestion(&mut self, now: Instant, event: &CongestionEvent) {
        let prior = self.window();
        let path = self.path();
        self.congestion.on_congestion(now, &path, event);
        let as_loss = event.cause == Cause::Loss
            || (event.cause == Cause::Ecn && self.congestion.answers_marks_as_loss());
        let intent = self.congestion.intent();
        let steered = intent.recovery == RecoveryMode::Prr && self.cfg.prr && as_loss;
        let mss = u64::from(self.handshake.mss());
        self.episode.reduce(match intent.window {
            Some(target) if steered => Some(Prr::start(prior, target.0, mss)),
            _ => None,
        });
        self.timers.tlp = Instant::MAX;
        self.probe.clear();
    }

    /// The window is the controller's again.
    pub(super) fn end_reduction(&mut self, now: Instant) {
        self.episode.reduce(None);
        let path = self.path();
        self.congestion.on_recovered(now, &path);
    }

    fn enter_fast(&mut self, now: Instant, prior_in_flight: u64) {
        let lost = self.reliability.lost();
        self.episode.begin_fast(self.reliability.una(), lost);
        self.stats.recoveries += 1;
        // A reduction for marks covers a loss in the same round (RFC 3168, 6.1.2), but not one in proportion to their
        // share, which may be small (RFC 9331, 4.3; RFC 8257, 3.5; Linux halves in both).
        if self.episode.state() != Recovery::Cwr || !self.congestion.answers_marks_as_loss() {
            let nxt = self.reliability.nxt();
            self.episode.extend(nxt);
            let prior = Bytes(prior_in_flight);
            let event = CongestionEvent::new(Cause::Loss, Bytes(lost), prior, nxt);
            self.on_congestion(now, &event);
        }
        self.episode.fast();
        self.ecn.reduced();
        self.timers.tlp = Instant::MAX;
    }

    /// Fast recovery or loss recovery is over.
    fn leave(&mut self, now: Instant) {
        self.reliability.forget_duplicates();
        self.reliability.recovered();
        self.episode.leave();
        self.end_reduction(now);
        self.episode.calm(self.reliability.in_disorder());
    }

    // --- losses ---

    /// Marks what is lost by now.
    fn find_losses(&mut self, now: Instant, signs: &Signs) {
        let lost = match self.reliability.detection() {
            Detection::Duplicates => {
                let due = if self.episode.state() == Recovery::Fast {
                    signs.advanced && self.reliability.una() < self.episode.end()
                } else {
                    self.reliability.duplicates_mean_loss()
                        && self.episode.state() != Recovery::Timeout
                };
                if due {
                    self.reliability.lose_oldest()
                } else {
                    0
                }
            }
            Detection::Sacks => self.reliability.lose_below_sacks(),
            Detection::Time if self.reliability.has_news_of_time() => self.lose_by_time(now),
            Detection::Time => 0,
        };
        self.episode.add_lost(lost);
    }

    /// Marks what RACK takes for lost, and sets its timer.
    fn lose_by_time(&mut self, now: Instant) -> u64 {
        let recovering = self.episode.is_recovering();
        let (lost, again) = self.reliability.lose_by_time(now, &self.rtt, recovering);
        self.timers.reorder = again;
        lost
    }

    /// The reordering window ran out (RFC 8985, 6.3).
    pub(super) fn on_reorder_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let prior = self.reliability.in_flight();
        let lost = self.lose_by_time(now);
        self.episode.add_lost(lost);
        if lost > 0 {
            if !self.episode.is_recovering() {
                self.enter_fast(now, prior);
            }
            // No ACK came to move the window: the retransmission goes out by the rule for the first one.
            let mss = u64::from(self.handshake.mss());
            self.episode.on_silence(self.reliability.in_flight(), mss);
        }
        self.transmit(now, out);
    }

    /// The retransmission timeout (RFC 6298, 5.4 to 5.7; Linux `tcp_enter_loss`).
    pub(super) fn on_timeout(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.timers.rto = Instant::MAX;
        self.timers.tlp = Instant::MAX;
        self.timers.reorder = Instant::MAX;
        self.probe.clear();
        if self.reliability.is_empty() {
            return;
        }
        self.stats.timeouts += 1;
        let prior = Bytes(self.reliability.in_flight());
        let lost = self.reliability.lose_by_timeout(now);
        let (una, nxt) = (self.reliability.una(), self.reliability.nxt());
        self.episode.begin_timeout(una, nxt, lost, self.cfg.frto);
        let lost = Bytes(self.episode.lost());
        let event = CongestionEvent::new(Cause::Timeout, lost, prior, nxt);
        self.on_congestion(now, &event);
        self.ecn.reduced();
        self.episode.count_timeout();
        self.rtt.back_off();
        self.resend(now, self.reliability.oldest(), out);
        self.timers.rto = now + self.rtt.rto();
        self.transmit(now, out);
    }

    /// An ACK in loss recovery (Linux `tcp_process_loss`).
    fn after_timeout(&mut self, now: Instant, signs: &Signs) {
        let una = self.reliability.una();
        if signs.advanced && self.episode.is_spurious(signs.echo) {
            self.take_back(now, true);
            self.leave(now);
            return;
        }
        let news = signs.sacked || signs.duplicate;
        match self
            .episode
            .on_frto_ack(signs.original, news, signs.advanced, una)
        {
            FrtoVerdict::None if una >= self.episode.end() => self.leave(now),
            FrtoVerdict::None => {}
            FrtoVerdict::Spurious => {
                self.take_back(now, true);
                self.leave(now);
            }
            FrtoVerdict::TryNewData => {
                let some = self.has_new();
                self.episode.try_new_data(self.reliability.nxt(), some);
            }
        }
    }

    // --- undo ---

    /// A partial ACK that came too early to be for the retransmission (Linux `tcp_try_undo_partial`).
    fn try_undo_partial(&mut self, now: Instant, signs: &Signs) {
        if self.episode.may_undo()
            && self.episode.is_delayed(signs.echo)
            && self.reliability.una() > signs.una
        {
            self.reliability.saw_reordering();
            if self.reliability.has_no_copies() {
                self.take_back(now, true);
            }
        }
    }

    /// Takes the last reduction back, and the losses that it was for where `unmark`.
    fn take_back(&mut self, now: Instant, unmark: bool) {
        let fast = self.episode.take_back();
        self.stats.undos += 1;
        if unmark {
            self.reliability.forget_losses();
        }
        let path = self.path();
        self.congestion.on_undo(now, &path);
        if fast {
            self.episode.end_fast();
            self.reliability.recovered();
            self.episode.calm(self.reliability.in_disorder());
            let path = self.path();
            self.congestion.on_recovered(now, &path);
        }
    }
}
