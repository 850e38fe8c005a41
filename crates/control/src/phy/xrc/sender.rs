//! The sender around an algorithm: what an ACK, a report or a loss leads to, in either profile.

use core::fmt;

use slackwater_core::{Instant, Rate};

use super::Mode;
use super::doubt::Ended;
use super::round::Measured;
use super::state::State;
use crate::{Ack, CongestionEvent, Controller, Intent, PathReport, PathView, Recovery, Sent};

/// What a profile of XRC decides, in the order of section III-B: the paper's (`paper`) or the product's (`product`). Methods
/// with an empty body are for what the paper does not have.
pub trait Algorithm: Clone + fmt::Debug + Send + 'static {
    /// An ACK's samples beyond its RTT.
    #[inline]
    fn sample(&mut self, _s: &mut State, _now: Instant, _ack: &Ack) {}
    /// The queuing budget lambda, seconds.
    fn lambda(&self) -> f64;
    /// The target window (eq. 2), segments.
    fn target(&self, s: &State) -> f64;
    /// The decision of a window of data: the mode and the growth of the next round.
    fn decide(&mut self, s: &mut State, now: Instant, path: &PathView, window: &Measured);
    /// An ACK's part of the round's growth.
    fn grow(&mut self, s: &mut State, now: Instant, path: &PathView, ack: &Ack);
    /// The slow-start threshold after `loss`, segments. `explicit`: reports steer, and the last one is fresh.
    fn threshold(&self, s: &State, event: &CongestionEvent, explicit: bool) -> f64;
    /// A congestion event, before the window shrinks. `fresh`: it opened an episode.
    fn lost(&mut self, _s: &mut State, _now: Instant, _fresh: bool, _explicit: bool) {}
    /// The last episode proved spurious.
    fn undone(&mut self) {}
    /// Reports ceased.
    fn silent(&mut self) {}
    /// A packet was sent.
    #[inline]
    fn sent(&mut self, _s: &mut State, _now: Instant, _path: &PathView, _sent: &Sent) {}
    /// Renews the pacing rate after the window changed.
    #[inline]
    fn pace(&mut self, _s: &State, _now: Instant, _path: &PathView) {}
    /// The pacing rate; `None` leaves bursts to the window.
    #[inline]
    fn pacing(&self) -> Option<Rate> {
        None
    }
    /// The internals that only this profile has.
    fn snapshot(&self, s: &State, out: &mut Vec<(&'static str, f64)>);
}

/// XRC's sender with the decisions of `A`.
#[derive(Clone, Debug)]
pub struct Sender<A> {
    /// The registry's name.
    name: &'static str,
    /// What decides.
    pub(super) algorithm: A,
    /// What it decides by, and the window that it steers.
    pub(super) s: State,
}

impl<A: Algorithm> Sender<A> {
    /// A sender under the registry's `name`.
    pub(super) fn with(name: &'static str, algorithm: A, s: State) -> Self {
        Self { name, algorithm, s }
    }

    /// The mode.
    pub const fn mode(&self) -> Mode {
        self.s.mode
    }

    /// Reports began, came back or ceased.
    #[cold]
    fn turn(&mut self, explicit: bool) {
        self.s.explicit = explicit;
        self.s.high = 0;
        // Decide at once.
        self.s.round.cut_short();
        if !explicit {
            // The last target is the threshold: that much the cell could take. A target of reports that were refuted says
            // nothing, and the threshold is as at the start of a connection (RFC 5681, 3.1).
            self.s.ssthresh = if self.s.doubt.is_refuted() {
                f64::INFINITY
            } else {
                self.s.twnd.max(super::MIN_WINDOW)
            };
            self.algorithm.silent();
        }
    }

    /// Once in a window of data.
    #[inline(never)]
    pub(super) fn end_round(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        let s = &mut self.s;
        let window = s.round.roll(now, ack.next, ack.delivered.0, s.rtt_min);
        s.reports.peak.round();
        let hears = s.reports.last.is_fresh(now, path.srtt);
        let ended = Ended {
            carried: s.sizes.ip_rate(window.rate),
            rtt_min: s.rtt_min(),
            budget: self.algorithm.lambda(),
            shared: s.reports.last.shared,
            hears,
        };
        s.doubt.round(now, &window, ended);

        if !s.explicit {
            s.enter(Mode::NoFeedback, 1.0);
        } else if s.slow_start {
            s.enter(Mode::SlowStart, 0.0);
        } else {
            self.algorithm.decide(s, now, path, &window);
        }
        s.count_round();
    }
}

impl<A: Algorithm> Controller for Sender<A> {
    fn takes_reports(&self) -> bool {
        true
    }

    #[inline]
    fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        let s = &mut self.s;
        if s.doubt.is_older(now, report) {
            s.doubt.refused();
            s.reports.last.absurd += 1;
        } else if s.reports.last.offer(now, path.srtt, report) {
            s.round.hol(s.reports.last.hol);
            s.doubt.reported(s.reports.last.rate);
        }
    }

    #[inline]
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.algorithm.sent(&mut self.s, now, path, sent);
    }

    #[inline]
    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        let s = &mut self.s;
        s.view(path);
        s.acknowledged(ack.una);
        s.rtt_min = path.min_rtt;
        if let Some(rtt) = ack.rtt {
            s.round.rtt(rtt);
            s.doubt.acked(now, rtt);
        }
        self.algorithm.sample(s, now, ack);
        s.delivered(now, ack);

        let explicit = s.reports.last.is_fresh(now, path.srtt) && !s.doubt.is_refuted();
        if explicit {
            s.twnd = self.algorithm.target(s);
        }
        if explicit != s.explicit {
            self.turn(explicit);
        }

        if matches!(ack.recovery, Recovery::Fast | Recovery::Cwr) {
            self.s.mode = Mode::Recovery;
        } else {
            if self.s.round.is_over(ack.una) {
                self.end_round(now, path, ack);
            }
            if ack.cumulative.0 > 0 {
                if self.s.is_doubling() {
                    self.s.double(ack);
                } else {
                    self.algorithm.grow(&mut self.s, now, path, ack);
                }
            }
        }
        self.algorithm.pace(&self.s, now, path);
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        let s = &mut self.s;
        s.view(path);
        let explicit = s.explicit && s.reports.last.is_fresh(now, path.srtt);
        let fresh = s.begin_episode(event);
        self.algorithm.lost(s, now, fresh, explicit);

        let ssthresh = self.algorithm.threshold(s, event, explicit);
        s.reduce(event, fresh, ssthresh);
        s.high = 0;
        self.algorithm.pace(s, now, path);
        s.round.forget();
    }

    fn on_undo(&mut self, _now: Instant, _path: &PathView) {
        if self.s.undo() {
            self.algorithm.undone();
            self.s.round.cut_short();
        }
    }

    fn on_recovered(&mut self, _now: Instant, _path: &PathView) {
        self.s.recovered();
    }

    #[inline]
    fn intent(&self) -> Intent {
        self.s.intent(self.algorithm.pacing())
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        self.s.snapshot(out);
        self.algorithm.snapshot(&self.s, out);
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
