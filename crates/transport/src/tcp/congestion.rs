//! The controller, what it wants, and the pacer that follows it.

use slackwater_control::{
    Ack, AnyController, CongestionEvent, Controller, Intent, Pacer, PathReport, PathView, Sent,
};
use slackwater_core::{Bytes, Instant};

/// A controller at work.
#[derive(Clone, Debug)]
pub(super) struct Congestion {
    /// The controller itself.
    controller: AnyController,
    /// What it wants, as of the last event after which it was read.
    intent: Intent,
    /// When the next segment may leave.
    pacer: Pacer,
    /// A window without a rate is paced all the same.
    paces_windows: bool,
}

impl Congestion {
    pub(super) fn new(controller: AnyController, paces_windows: bool) -> Self {
        Self {
            intent: controller.intent(),
            controller,
            pacer: Pacer::new(),
            paces_windows,
        }
    }

    /// The controller itself.
    pub(super) const fn controller(&self) -> &AnyController {
        &self.controller
    }

    /// What the controller wants.
    #[inline]
    pub(super) const fn intent(&self) -> &Intent {
        &self.intent
    }

    /// When the next segment may leave.
    #[inline]
    pub(super) const fn pacer(&self) -> &Pacer {
        &self.pacer
    }

    /// The same, for what leaves.
    #[inline]
    pub(super) const fn pacer_mut(&mut self) -> &mut Pacer {
        &mut self.pacer
    }

    /// True where the controller answers CE as it answers loss.
    #[inline]
    pub(super) fn answers_marks_as_loss(&self) -> bool {
        !self.intent.ecn.is_proportional()
    }

    /// Reads the controller's intent.
    #[inline]
    pub(super) fn follow(&mut self, path: &PathView) {
        self.intent = self.controller.intent();
        if self.paces_windows && self.intent.pacing.is_none() {
            let rate = Pacer::window_rate(&self.intent, path);
            self.pacer.set_rate(rate, Bytes::ZERO);
        } else {
            self.pacer.follow(&self.intent);
        }
    }

    // --- events: the controller's methods; those after which it may want something else read its intent ---

    #[inline]
    pub(super) fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.controller.on_sent(now, path, sent);
    }

    #[inline]
    pub(super) fn on_sent_row(&mut self, now: Instant, path: &PathView, sent: &Sent, count: u64) {
        self.controller.on_sent_row(now, path, sent, count);
        self.pacer.on_row(count);
    }

    #[inline]
    pub(super) fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.controller.on_ack(now, path, ack);
        self.follow(path);
    }

    /// Its intent is read with the next event: an acknowledgment follows, or [`Congestion::follow`].
    pub(super) fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        self.controller.on_report(now, path, report);
    }

    pub(super) fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.controller.on_congestion(now, path, event);
        self.follow(path);
    }

    pub(super) fn on_recovered(&mut self, now: Instant, path: &PathView) {
        self.controller.on_recovered(now, path);
        self.follow(path);
    }

    pub(super) fn on_undo(&mut self, now: Instant, path: &PathView) {
        self.controller.on_undo(now, path);
        self.follow(path);
    }

    pub(super) fn on_timer(&mut self, now: Instant, path: &PathView) {
        self.controller.on_timer(now, path);
        self.follow(path);
    }

    #[inline]
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.controller.next_timer()
    }
}
