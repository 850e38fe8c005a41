//! The decision of each window of data: which state, which growth (XRC, section III-B).

use slackwater_core::Instant;

use super::round::Window;
use super::{Alpha, Beyond, MAX_WINDOW, MIN_WINDOW, Mode, START_NEAR, Verdict, Xrc};
use crate::{Ack, PathView};

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

impl Xrc {
    /// Once in a window of data.
    #[inline(never)]
    pub(super) fn decide(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        let w = self
            .round
            .roll(now, ack.next, ack.delivered.0, self.min_rtt);
        self.peak.round();
        if !self.explicit {
            self.enter(Mode::NoFeedback, 1.0);
        } else if self.slow_start {
            self.enter(Mode::SlowStart, 0.0);
        } else {
            let flight = path.in_flight.0 as f64 / f64::from(self.mss);
            self.steer(now, path, &w, flight);
        }
        let rounds = &mut self.rounds[self.mode as usize];
        *rounds = rounds.saturating_add(1);
    }

    fn steer(&mut self, now: Instant, path: &PathView, w: &Window, flight: f64) {
        let hol = self.feedback.hol.as_secs_f64();
        let mean_hol = w.hol.unwrap_or(hol);
        let mean_rtt = w.rtt.unwrap_or(path.srtt.as_secs_f64());
        let delayed = self.delayed(w, mean_rtt);
        let budget = self.budget();
        let mut excess = delayed.mean;
        if self.p.verdict == Verdict::Least && mean_hol < budget {
            if w.samples < ENOUGH {
                // A window this small fills no queue, and its few samples may all have met jitter.
                excess = excess.min(mean_hol);
            } else if delayed.least <= budget {
                // The radio's queue is short, and some packets of the window met no other: what delays the rest is jitter.
                excess = excess.min(delayed.least.max(mean_hol));
            }
        }
        // XRC, eq. 3.
        self.sigma = excess.max(hol);

        if self.start && self.cwnd >= START_NEAR * self.twnd {
            self.start = false;
        }
        if self.start {
            self.fast(now, path, flight, Mode::Start);
            return;
        }
        // XRC, section III-B, "Detection of the bottleneck location".
        let seen = match self.p.verdict {
            Verdict::Latest => hol,
            Verdict::Mean | Verdict::Least => mean_hol,
        };
        let beyond = seen < budget && excess > seen + budget;
        let settled = !matches!(self.mode, Mode::Fast | Mode::Start | Mode::Recovery);
        if settled && !beyond && self.p.jitter > 0.0 {
            let sample = (delayed.mean - mean_hol).clamp(0.0, self.p.jitter);
            self.jitter += (sample - self.jitter) * JITTER_WEIGHT;
        }
        if self.sigma <= budget {
            self.within_budget(now, path, flight, excess, budget);
        } else if beyond {
            self.beyond(now, w);
        } else {
            self.cellular(path, w.rate, mean_hol);
        }
    }

    /// What delays data beyond the least RTT in window `w`. Delay on the way back goes into the target window: ACKs that
    /// wait for grants or behind an upload say nothing of the queue that the sender fills.
    fn delayed(&mut self, w: &Window, mean_rtt: f64) -> Delayed {
        let least_rtt = self.min_rtt.as_secs_f64();
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
        now: Instant,
        path: &PathView,
        flight: f64,
        excess: f64,
        budget: f64,
    ) {
        self.hi = 0;
        self.internet.calm();
        if self.mode == Mode::Unfair {
            self.cwnd = self.cwnd.min(self.twnd);
        }
        let short = excess <= budget / 2.0;
        // Packets are whole: less than a segment below the target is at it.
        if self.cwnd + 1.0 > self.twnd {
            if short {
                self.internet.forget();
            }
            // Only a target that was reached has proved too small.
            if self.sigma <= budget / 2.0 && self.gamma < self.p.gamma {
                self.gamma = (self.gamma + GAMMA_STEP).min(self.p.gamma);
            }
            self.enter(Mode::Probe, 1.0);
        } else if self.is_remembered(now) {
            let alpha = self.internet.probe(self.cwnd, short);
            self.enter(Mode::InternetProbe, alpha);
        } else {
            self.fast(now, path, flight, Mode::Fast);
        }
    }

    fn beyond(&mut self, now: Instant, w: &Window) {
        self.hi = 0;
        match self.p.beyond {
            // "similar to standard TCP (alpha = 1) ... until the sender reaches the target rate, during which it sends
            // with a steady rate" (XRC, section III-B).
            Beyond::Paper => {
                let alpha = if self.cwnd < self.twnd { 1.0 } else { 0.0 };
                self.enter(Mode::Internet, alpha);
            }
            Beyond::Drain => {
                let reach = self.min_rtt.as_secs_f64() + self.p.theta + self.back;
                let delivered = self
                    .segments(self.ip_rate(w.rate), reach)
                    .clamp(MIN_WINDOW, MAX_WINDOW);
                let cut =
                    self.internet
                        .verdict(now, self.p.rounds, delivered, self.cwnd, self.twnd);
                self.cwnd = self.cwnd.min(cut.window.max(MIN_WINDOW));
                self.enter(Mode::Internet, cut.alpha);
            }
        }
    }

    fn cellular(&mut self, path: &PathView, delivered: f64, mean_hol: f64) {
        self.internet.forget();
        self.hi = self.hi.saturating_add(1);
        let falls = mean_hol < FALLS * core::mem::replace(&mut self.last_hol, mean_hol);
        if self.p.gate && self.mode != Mode::Unfair && falls {
            // It drains: there is nothing to fight.
            self.hi = self.hi.min(self.p.rounds + 1);
        }
        if self.hi > self.p.rounds + 1 {
            if !self.p.gate || self.feedback.shared {
                let alpha = self.unfair_alpha(path);
                self.enter(Mode::Unfair, alpha);
                return;
            }
            // Nobody else fills this queue: the report is too high, or the least RTT is.
            if mean_hol > self.budget() {
                self.shrink(delivered);
            }
            self.hi = 1;
        }
        if self.hi == 1 {
            // "resets the CWND to the estimated target window" (XRC, section III-B).
            self.cwnd = self.cwnd.min(self.twnd);
            self.enter(Mode::Reset, 0.0);
        } else {
            // The cap follows a target that lags a drop of capacity by up to the agent's 40 TTIs.
            self.cwnd = self.cwnd.min(self.twnd + f64::from(self.hi - 1));
            self.enter(Mode::Slow, 1.0);
        }
    }

    fn unfair_alpha(&self, path: &PathView) -> f64 {
        match self.p.alpha {
            Alpha::Target => self.twnd,
            Alpha::Half => self.twnd / 2.0,
            Alpha::Quarter => self.twnd / 4.0,
            Alpha::Srtt => {
                let queued = self.segments(self.rate(), path.srtt.as_secs_f64());
                queued.clamp(self.twnd, MAX_WINDOW)
            }
        }
    }

    /// The target window's factor becomes what arrives of the reported rate.
    pub(super) fn shrink(&mut self, delivered: f64) {
        let share = self.ip_rate(delivered) / self.rate().max(1.0);
        self.gamma = self.gamma.min(share).max(GAMMA_MIN);
        self.retarget();
    }
}
