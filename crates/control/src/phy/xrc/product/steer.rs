//! The decision of each window of data: which mode, which growth.

use slackwater_core::Instant;

use super::super::paper;
use super::super::round::Measured;
use super::super::sender::Algorithm as _;
use super::super::state::State;
use super::super::{MAX_WINDOW, MIN_WINDOW, Mode};
use super::{Alpha, Beyond, Product, START_NEAR, Verdict};
use crate::PathView;

/// The target window's factor falls no lower: a rate is believed up to four times what arrived...
const GAMMA_MIN: f64 = 0.25;
/// ...and heals by this much per round with a short queue.
const GAMMA_STEP: f64 = 0.01;
/// Weight of a round in the mean jitter.
const JITTER_WEIGHT: f64 = 0.125;
/// Delay samples of a window that can tell a queue from jitter.
const ENOUGH: u64 = 8;
/// A queue drains where its mean delay falls below this part of the last round's.
const FALLS: f64 = 0.9;
/// Weight of a round in the mean delay of the way back, while it grows.
const BACK_WEIGHT: f64 = 0.25;

/// Delay beyond the least, seconds.
#[derive(Clone, Copy, Debug)]
struct Delayed {
    /// Mean of the window.
    mean: f64,
    /// Least of the window.
    least: f64,
}

impl Product {
    pub(super) fn steer(&mut self, s: &mut State, now: Instant, path: &PathView, w: &Measured) {
        let hol = s.hol_exp();
        let mean_hol = w.hol.unwrap_or(hol);
        let mean_rtt = w.rtt.unwrap_or(path.srtt.as_secs_f64());
        let delayed = self.delayed(s, w, mean_rtt);
        let budget = self.budget(s);
        let excess = self.excess(w, delayed, mean_hol, budget);

        // XRC, eq. 3.
        s.sigma = excess.max(hol);

        if self.start && s.cwnd >= START_NEAR * s.twnd {
            self.start = false;
        }
        if self.start {
            self.fast(s, now, path, Mode::Start);
            return;
        }

        // XRC, section III-B, "Detection of the bottleneck location".
        let seen = match self.p.verdict {
            Verdict::Latest => hol,
            Verdict::Mean | Verdict::Least => mean_hol,
        };
        let beyond = seen < budget && excess > seen + budget;

        let settled = !matches!(s.mode, Mode::Fast | Mode::Start | Mode::Recovery);
        if settled && !beyond && self.p.jitter > 0.0 {
            let sample = (delayed.mean - mean_hol).clamp(0.0, self.p.jitter);
            self.jitter += (sample - self.jitter) * JITTER_WEIGHT;
        }

        if s.sigma <= budget {
            self.within_budget(s, now, path, excess, budget);
        } else if beyond {
            self.beyond(s, now, w);
        } else {
            self.cellular(s, path, w.rate, mean_hol);
        }
    }

    /// The delay of window `w` that a queue explains, as far as its samples can tell.
    fn excess(&self, w: &Measured, delayed: Delayed, mean_hol: f64, budget: f64) -> f64 {
        if self.p.verdict != Verdict::Least || mean_hol >= budget {
            return delayed.mean;
        }
        if w.samples < ENOUGH {
            // A window this small fills no queue, and all of its few samples may be delayed by jitter.
            delayed.mean.min(mean_hol)
        } else if delayed.least <= budget {
            // The radio's queue is short, and some packets of the window saw no other: what delays the rest is jitter.
            delayed.mean.min(delayed.least.max(mean_hol))
        } else {
            delayed.mean
        }
    }

    /// What delays data beyond the least RTT in window `w`. Delay on the way back goes into the target window: ACKs that
    /// wait for grants or behind an upload say nothing of the queue that the sender fills.
    fn delayed(&mut self, s: &State, w: &Measured, mean_rtt: f64) -> Delayed {
        let least_rtt = s.rtt_min();
        let mean = (mean_rtt - least_rtt).max(0.0);
        let least = (w.rtt_least.unwrap_or(mean_rtt) - least_rtt).max(0.0);

        let forward = w.owd.zip(self.least_owd.get());
        let Some(((owd, least_of_window), origin)) = forward.filter(|_| self.p.owd) else {
            return Delayed { mean, least };
        };
        let origin = origin.as_secs_f64();
        let forward = Delayed {
            mean: (owd - origin).clamp(0.0, mean),
            least: (least_of_window - origin).clamp(0.0, mean),
        };

        let back = mean - forward.mean;
        if back < self.back {
            self.back = back;
        } else {
            self.back += (back - self.back) * BACK_WEIGHT;
        }
        forward
    }

    fn within_budget(
        &mut self,
        s: &mut State,
        now: Instant,
        path: &PathView,
        excess: f64,
        budget: f64,
    ) {
        s.high = 0;
        self.internet.calm();
        if s.mode == Mode::Unfair {
            s.cwnd = s.cwnd.min(s.twnd);
        }

        let short = excess <= budget / 2.0;
        // Packets are whole: less than a segment below the target is at it.
        if s.cwnd + 1.0 > s.twnd {
            if short {
                self.internet.forget();
            }
            // Only a target that was reached has proved too small.
            if s.sigma <= budget / 2.0 && self.gamma < self.p.gamma {
                self.gamma = (self.gamma + GAMMA_STEP).min(self.p.gamma);
            }
            s.enter(Mode::Probe, 1.0);
        } else if self.is_remembered(now) {
            let alpha = self.internet.probe(s.cwnd, short);
            s.enter(Mode::InternetProbe, alpha);
        } else {
            self.fast(s, now, path, Mode::Fast);
        }
    }

    fn beyond(&mut self, s: &mut State, now: Instant, w: &Measured) {
        match self.p.beyond {
            Beyond::Paper => paper::follow_standard_tcp(s),
            Beyond::Drain => {
                s.high = 0;
                let reach = s.rtt_min() + self.p.theta + self.back;
                let delivered = s.window(s.sizes.ip_rate(w.rate), reach);
                let rounds = self.p.rounds;
                let cut = self
                    .internet
                    .verdict(now, rounds, delivered, s.cwnd, s.twnd);
                s.cwnd = s.cwnd.min(cut.window.max(MIN_WINDOW));
                s.enter(Mode::Internet, cut.alpha);
            }
        }
    }

    fn cellular(&mut self, s: &mut State, path: &PathView, delivered: f64, mean_hol: f64) {
        self.internet.forget();
        s.high = s.high.saturating_add(1);
        let falls = mean_hol < FALLS * core::mem::replace(&mut self.last_hol, mean_hol);
        if self.p.gate && s.mode != Mode::Unfair && falls {
            // It drains: there is nothing to fight.
            s.high = s.high.min(self.p.rounds + 1);
        }

        if s.high > self.p.rounds + 1 {
            if !self.p.gate || s.reports.last.shared {
                let alpha = self.unfair_alpha(s, path);
                s.enter(Mode::Unfair, alpha);
                return;
            }
            // Nobody else fills this queue: the report is too high, or the least RTT is.
            if mean_hol > self.budget(s) {
                self.shrink(s, delivered);
            }
            s.high = 1;
        }
        paper::drain(s);
    }

    fn unfair_alpha(&self, s: &State, path: &PathView) -> f64 {
        match self.p.alpha {
            Alpha::Target => s.twnd,
            Alpha::Half => s.twnd / 2.0,
            Alpha::Quarter => s.twnd / 4.0,
            Alpha::Srtt => {
                let queued = s.sizes.segments(s.r_exp(), path.srtt.as_secs_f64());
                queued.clamp(s.twnd, MAX_WINDOW)
            }
        }
    }

    /// The target window's factor becomes what arrives of the reported rate.
    pub(super) fn shrink(&mut self, s: &mut State, delivered: f64) {
        let share = s.sizes.ip_rate(delivered) / s.r_exp().max(1.0);
        self.gamma = self.gamma.min(share).max(GAMMA_MIN);
        s.twnd = self.target(s);
    }
}
