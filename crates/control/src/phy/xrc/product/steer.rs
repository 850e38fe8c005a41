//! The decision of each window of data: which mode, which growth.

use slackwater_core::Instant;

use super::super::paper;
use super::super::round::Measured;
use super::super::sender::Algorithm as _;
use super::super::state::State;
use super::super::{MAX_WINDOW, MIN_WINDOW, Mode};
use super::internet::{Among, Found, LOSS_SHARE, PART};
use super::{Alpha, Beyond, Product, START_NEAR, Verdict};
use crate::{Ack, PathView};

/// The target window's factor falls no lower: a rate is believed up to four times what arrived...
const GAMMA_MIN: f64 = 0.25;
/// ...and heals by this much per window of data with a short queue...
const GAMMA_STEP: f64 = 0.01;
/// ...that delivered this part of what the factor leaves of the reported rate.
const GAMMA_HEALS: f64 = 0.9;
/// A cut from less than this part above what arrives shows nothing.
const CUT_MIN: f64 = 0.1;
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
        self.slack.reported(s.r_exp(), s.reports.last.shared);
        let budget = self.budget(s);
        let mut excess = self.excess(w, delayed, mean_hol, budget);
        self.rise.1 = self.rise.1.saturating_sub(1);
        let share = s.sizes.ip_rate(s.round.steady_rate()) / s.r_exp().max(1.0);
        self.internet.delivered(share);
        if let Some((found, window)) = self.internet.judge(now, delayed.least)
            && self.found(s, now, path, found, window, delayed.least, budget)
        {
            excess = (excess - delayed.least).max(0.0);
        }

        // XRC, eq. 3.
        s.sigma = excess.max(hol);

        if self.start && s.cwnd >= START_NEAR * s.twnd {
            self.start = false;
        }
        if self.start {
            self.fast(s, now, path, Mode::Start);
            return;
        }
        if self.internet.rivals.is_some() && self.among(s, now, path, w, excess, mean_hol, budget) {
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
            self.slack.delayed(&self.p, delayed.mean, mean_hol);
        }

        if s.sigma <= budget {
            self.within_budget(s, now, path, excess, budget, share);
        } else if beyond {
            self.beyond(s, path, w, delayed.least, budget, share);
        } else {
            self.cellular(s, path, mean_hol);
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
        share: f64,
    ) {
        s.high = 0;
        self.internet.calm();
        let light = s.sigma <= budget / 2.0;
        if self.gamma < self.p.gamma && light && share >= GAMMA_HEALS * self.gamma {
            self.gamma = (self.gamma + GAMMA_STEP).min(self.p.gamma);
        }
        if s.mode == Mode::Unfair {
            s.cwnd = s.cwnd.min(s.twnd);
        }

        let short = excess <= budget / 2.0;
        // Packets are whole: less than a segment below the target is at it.
        if s.cwnd + 1.0 > s.twnd {
            // A target that was only reached because packets were lost on the way says nothing.
            if short && !self.internet.is_cut() && share >= LOSS_SHARE {
                self.internet.forget();
            }
            s.enter(Mode::Probe, 1.0);
        } else if self.internet.is_cut() {
            // The delay is gone; the next window of data says whether the cut did it.
            s.enter(Mode::InternetProbe, 0.0);
        } else if self.is_remembered(now) {
            let alpha = self.internet.probe(s.cwnd, short);
            s.enter(Mode::InternetProbe, alpha);
        } else {
            self.fast(s, now, path, Mode::Fast);
        }
    }

    fn beyond(
        &mut self,
        s: &mut State,
        path: &PathView,
        w: &Measured,
        least: f64,
        budget: f64,
        share: f64,
    ) {
        if self.p.beyond == Beyond::Paper {
            paper::follow_standard_tcp(s);
            return;
        }
        s.high = 0;
        if self.internet.verdict(share) && !self.internet.is_cut() {
            let delivered = s.window(s.sizes.ip_rate(w.rate), self.reach(s));
            self.cut(s, path, w, least, delivered, budget);
        }
        s.enter(Mode::Internet, 0.0);
    }

    /// Cuts the window to `to` segments where that can show whose queue delays data by `least` seconds.
    fn cut(
        &mut self,
        s: &mut State,
        path: &PathView,
        w: &Measured,
        least: f64,
        to: f64,
        budget: f64,
    ) {
        let to = to.max(MIN_WINDOW);
        let flight = path.in_flight.0 as f64 / f64::from(s.sizes.mss);
        let rate = w.rate / f64::from(s.sizes.mss);
        if flight > to * (1.0 + CUT_MIN) && rate > 0.0 {
            // What is in flight above the cut is what the queue loses, at the rate at which it is served.
            let expected = ((flight - to) / rate).min(least.max(budget / 2.0));
            self.internet.cut(least, expected, s.cwnd);
        }
        s.cwnd = s.cwnd.min(to);
    }

    /// What a cut from `window` segments has shown; true where the path is longer by `least` seconds.
    #[expect(clippy::too_many_arguments, reason = "what a cut has shown")]
    fn found(
        &mut self,
        s: &mut State,
        now: Instant,
        path: &PathView,
        found: Found,
        window: f64,
        least: f64,
        budget: f64,
    ) -> bool {
        let among = self.internet.rivals.is_some();
        match found {
            Found::Own if among && !self.internet.doubts() => {
                self.internet.looked(now, path.srtt, s.cwnd, true);
            }
            Found::Shared if among => self.internet.looked(now, path.srtt, window, false),
            Found::Own => {
                self.internet.confirm(now);
                self.internet.alone = s.round.steady_rate();
                if least > budget {
                    // What the cut left is no queue of this flow's.
                    self.lengthen(s, now, least);
                    return true;
                }
            }
            Found::Shared => self.internet.join(now, window),
            Found::Longer => {
                self.lengthen(s, now, least);
                self.internet.calm();
                return true;
            }
        }
        false
    }

    /// A window of data among others at a bottleneck beyond the radio; false where it is over.
    #[expect(clippy::too_many_arguments, reason = "what a window of data showed")]
    fn among(
        &mut self,
        s: &mut State,
        now: Instant,
        path: &PathView,
        w: &Measured,
        excess: f64,
        mean_hol: f64,
        budget: f64,
    ) -> bool {
        s.high = 0;
        if self.internet.is_cut() {
            s.enter(Mode::Compete, 0.0);
            return true;
        }
        let alone = s.sizes.ip_rate(self.internet.alone);
        self.internet
            .follow(s.window(alone / 2.0, self.reach(s) + excess));
        let (short, radio) = (excess <= budget, mean_hol >= budget);
        match self.internet.among(now, short, radio, self.p.rounds) {
            Among::Leave => {
                self.internet.confirm(now);
                return false;
            }
            Among::Look => {
                let to = if self.internet.doubts() {
                    s.window(s.sizes.ip_rate(w.rate), self.reach(s))
                } else {
                    s.cwnd * PART
                };
                self.cut(s, path, w, excess, to, budget);
                if !self.internet.is_cut() {
                    self.internet.looked(now, path.srtt, s.cwnd, false);
                }
            }
            Among::Stay => {}
        }
        s.enter(Mode::Compete, 0.0);
        true
    }

    /// An ACK's growth among others: back to where a look around began, then as CUBIC.
    pub(super) fn grow_among(&mut self, s: &mut State, now: Instant, path: &PathView, ack: &Ack) {
        let cut = self.internet.is_cut();
        let Some(r) = &mut self.internet.rivals else {
            return;
        };
        if cut || !ack.cwnd_limited {
            return;
        }
        let acked = s.acked(ack);
        s.cwnd = if s.cwnd < r.restore {
            (s.cwnd + acked).min(r.restore)
        } else {
            let srtt = path.srtt.as_secs_f64();
            r.cubic.grow(now, s.cwnd, acked, srtt).min(MAX_WINDOW)
        };
    }

    fn cellular(&mut self, s: &mut State, path: &PathView, mean_hol: f64) {
        let delivered = s.round.steady_rate();
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
