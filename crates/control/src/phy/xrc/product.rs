//! The product's sender: the paper's, and what measurements added to it. Each addition is a parameter ([`Params`]); with
//! [`Params::PAPER`] all are off, and the sender does to the last bit what [`paper`] does (a test compares).

mod cubic;
mod internet;
mod params;
mod slack;
mod steer;

use slackwater_core::{Duration, Instant, Rate};

use self::internet::Internet;
pub(super) use self::params::parameters;
pub use self::params::{Alpha, Beyond, Params, Post, Verdict};
use self::slack::Slack;
use super::paper;
use super::round::{LeastRtt, Measured};
use super::sender::{Algorithm, Sender};
use super::state::State;
use super::{MAX_WINDOW, Mode};
use crate::{Ack, Cause, CongestionEvent, PathView, Sent};

/// START ends where the window has come this near to the target.
const START_NEAR: f64 = 0.9;
/// The least one-way delay is that of so many seconds: clocks drift by some 10 us in each.
const OWD_WINDOW: f64 = 60.0;
/// Windows of data above the budget after which a queue stands.
const STANDS: u32 = 3;
/// Windows up to this many initial ones leave unpaced. A burst of that size is nothing to a queue, and users of a cell with
/// many need it: a queue that runs empty misses the slots in which its channel is best.
const UNPACED: f64 = 2.0;
/// A retransmission timeout is taken as the smoothed RTT plus this (Linux `TCP_RTO_MIN`).
const RTO_MIN: Duration = Duration::from_millis(200);

/// The state of what was added.
#[derive(Clone, Debug)]
pub struct Product {
    /// The parameters.
    p: Params,
    /// The target was not reached yet.
    start: bool,
    /// Factor of the target window.
    gamma: f64,
    /// What jitter and a varying rate add to target and budget.
    slack: Slack,
    /// Delay on the way back beyond that of the least RTT, seconds.
    back: f64,
    /// The least one-way delay.
    least_owd: LeastRtt,
    /// The least RTT of a sliding window, where `RTT_min` ages.
    least_rtt: LeastRtt,
    /// The least RTT since the path became longer, where there are no one-way delays to tell it by.
    longer: Option<Duration>,
    /// The path was found longer: by how much, s, and the windows of data for which that stays in doubt.
    rise: (f64, u32),
    /// Mean head-of-line delay of the last round above the budget, seconds.
    last_hol: f64,
    /// Memory of a bottleneck in the Internet.
    internet: Internet,
    /// The pacing rate.
    pacing: Option<Rate>,
    /// FAST's pacing lasts until then.
    paced_until: Instant,
    /// When the last packet was sent.
    last_sent: Instant,
    /// When a loss was last seen.
    lost_at: Instant,
    /// What a spurious episode gives back.
    prior: Prior,
}

/// What a spurious episode gives back.
#[derive(Clone, Copy, Debug, Default)]
struct Prior {
    /// Factor of the target window.
    gamma: f64,
    /// The target was not reached yet.
    start: bool,
}

impl Sender<Product> {
    /// A sender under the registry's `name` with an initial window of `initial` segments of `mss` bytes.
    pub fn new(name: &'static str, params: Params, mss: u32, initial: u32) -> Self {
        let product = Product {
            p: params,
            start: params.start,
            gamma: params.gamma,
            slack: Slack::default(),
            back: 0.0,
            least_owd: LeastRtt::default(),
            least_rtt: LeastRtt::default(),
            longer: None,
            rise: (0.0, 0),
            last_hol: 0.0,
            internet: Internet::NONE,
            pacing: None,
            paced_until: Instant::ZERO,
            last_sent: Instant::ZERO,
            lost_at: Instant::ZERO,
            prior: Prior::default(),
        };
        Self::with(name, product, State::new(mss, initial, params.clamp))
    }

    /// The parameters.
    pub const fn params(&self) -> &Params {
        &self.algorithm.p
    }
}

impl Product {
    /// The path's length, s: the least RTT, what a queue that is never quite empty adds, and the delay on the way back.
    fn reach(&self, s: &State) -> f64 {
        s.rtt_min() + self.p.theta + self.back
    }

    /// The control threshold: a slow flow's packet alone may last longer than lambda.
    fn budget(&self, s: &State) -> f64 {
        let least = self.p.least_segments * f64::from(s.sizes.wire) * 8.0;
        let lambda = self.p.lambda + self.slack.of_budget(&self.p, s.rtt_min());
        if least > lambda * s.r_exp() {
            // A standstill asks for no queue at all, not for an infinite one.
            (least / s.r_exp().max(1.0)).min(1.0)
        } else {
            lambda
        }
    }

    /// Packets leave at the pace of the window: reports steer it, nobody else fills the queue, and it is no small one.
    ///
    /// What a receiver held back for a block that is sent again comes at once, and so do its ACKs. Unpaced, what they let out
    /// is a burst that passes the budget. Standard TCP's slow start would grow by 1.2 per RTT and not by two, and among others
    /// a paced flow loses to theirs that is not.
    #[inline]
    fn is_paced(&self, s: &State) -> bool {
        // A rate beyond belief is no rate to go by.
        let believed = s.r_exp() >= s.reports.last.rate;
        let steered = s.explicit && !s.slow_start && believed;
        let alone = !s.reports.last.shared && self.internet.rivals.is_none();
        self.p.pace > 0.0 && steered && alone && s.cwnd > UNPACED * s.initial
    }

    /// A bottleneck in the Internet was seen lately, and the drain profile goes by it.
    fn is_remembered(&self, now: Instant) -> bool {
        self.p.beyond == Beyond::Drain && self.internet.is_remembered(now)
    }

    /// To the target in one RTT of ACKs, paced.
    fn fast(&mut self, s: &mut State, now: Instant, path: &PathView, mode: Mode) {
        s.enter_fast(mode, path);
        if self.p.fast_gain > 0.0 {
            self.paced_until = now.saturating_add(path.srtt);
        }
    }

    /// A loss beside reports: what it says of the Internet, and of the reported rate.
    fn judge(&mut self, s: &mut State, now: Instant) {
        let measured = s.round.measured();
        let hol = s.hol_exp();
        let budget = self.budget(s);
        let quiet = measured.hol_max.max(hol) < budget;
        let share = s.sizes.ip_rate(s.round.steady_rate()) / s.r_exp().max(1.0);
        if self.p.beyond == Beyond::Drain {
            let probation = self.rise.1 > 0;
            let was_none = self.internet.loss(now, s.cwnd, quiet, share, probation);
            if was_none {
                self.fall(s, now);
            }
        }

        let mean_hol = measured.hol.unwrap_or(hol);
        let stands = s.high >= STANDS && mean_hol > budget;
        if self.p.gate && !s.reports.last.shared && stands {
            // Nobody else fills this queue, it stood for several windows and overflows: the report is too high.
            self.shrink(s, s.round.steady_rate());
        }
    }

    /// The path is longer by `rise` seconds: no queue explains that.
    fn lengthen(&mut self, s: &mut State, now: Instant, rise: f64) {
        if let Some(origin) = self.least_owd.get().filter(|_| self.p.owd) {
            let least = origin + Duration::from_secs_f64(rise);
            self.least_owd.rebase(now, least);
            // The target window covers it at once.
            self.back += rise;
        } else {
            let least = s.rtt_min + Duration::from_secs_f64(rise);
            self.longer = Some(least);
            s.rtt_min = least;
        }
        self.rise = (rise, self.p.rounds);
        s.twnd = self.target(s);
    }

    /// It was not longer after all.
    fn fall(&mut self, s: &mut State, now: Instant) {
        let rise = Duration::from_secs_f64(self.rise.0);
        if let Some(origin) = self.least_owd.get().filter(|_| self.p.owd) {
            self.least_owd.rebase(now, origin.saturating_sub(rise));
            self.back = (self.back - self.rise.0).max(0.0);
        } else {
            self.longer = None;
        }
        self.rise = (0.0, 0);
        s.twnd = self.target(s);
    }
}

impl Algorithm for Product {
    fn lambda(&self) -> f64 {
        self.p.lambda
    }

    #[inline]
    fn sample(&mut self, s: &mut State, now: Instant, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|_| self.p.rtt_window > 0.0) {
            self.least_rtt.see(now, rtt, self.p.rtt_window);
        }
        if let Some(owd) = ack.owd {
            s.round.owd(owd);
            self.least_owd.see(now, owd, OWD_WINDOW);
        }
        s.rtt_min = self.least_rtt.get().unwrap_or(s.rtt_min);
        if let Some(longer) = self.longer {
            let longer = ack.rtt.map_or(longer, |rtt| rtt.min(longer));
            self.longer = (longer > s.rtt_min).then_some(longer);
            s.rtt_min = s.rtt_min.max(longer);
        }
        if self.p.resume && s.slow_start && s.reports.last.at() > self.lost_at {
            let known = self.internet.is_remembered(now);
            if !known && s.reports.last.is_fresh(now, s.rtt_min) {
                // The radio is there again and says what it carries: nothing is left to be found by slow start.
                s.slow_start = false;
                s.round.cut_short();
            }
        }
    }

    /// `twnd = R_exp * RTT_min` (XRC, eq. 2), times gamma, with slack for a queue that is never quite empty.
    fn target(&self, s: &State) -> f64 {
        let reach = self.reach(s) + self.slack.of_target(&self.p, s.rtt_min());
        let twnd = self.gamma * s.sizes.segments(s.r_exp(), reach);
        twnd.clamp(super::MIN_WINDOW, MAX_WINDOW)
    }

    fn decide(&mut self, s: &mut State, now: Instant, path: &PathView, window: &Measured) {
        self.steer(s, now, path, window);
    }

    #[inline]
    fn grow(&mut self, s: &mut State, now: Instant, path: &PathView, ack: &Ack) {
        if s.mode == Mode::Compete {
            self.grow_among(s, now, path, ack);
            return;
        }
        let fast = matches!(s.mode, Mode::Start | Mode::Fast);
        // A paced sender does not use up its window, and FAST's end does not depend on use.
        if !(ack.cwnd_limited || (fast && !ack.app_limited)) {
            return;
        }

        if fast && self.p.guard && !s.reports.last.shared {
            let hol = s.hol_exp();
            if hol > self.p.lambda && hol > self.budget(s) {
                s.growth.left = 0.0;
                self.start = false;
                return;
            }
        }

        if s.mode == Mode::Start {
            // The believed rate rises within the round as data arrives.
            let gap = s.twnd - s.cwnd;
            if gap > s.growth.alpha {
                s.growth.alpha = gap;
                s.growth.step = gap / s.cwnd.max(1.0);
            }
            s.growth.left = gap.max(0.0);
        }

        let bound = if fast || s.mode == Mode::InternetProbe {
            s.twnd.max(s.cwnd)
        } else {
            MAX_WINDOW
        };
        s.add(ack, bound);
        if self.start && s.cwnd >= START_NEAR * s.twnd {
            self.start = false;
        }
    }

    fn threshold(&self, s: &State, event: &CongestionEvent, explicit: bool) -> f64 {
        let halves = self.p.post == Post::Half && event.cause != Cause::Timeout;
        if self.internet.rivals.is_some() && event.cause != Cause::Timeout {
            // RFC 9438, 4.6.
            (s.cwnd * cubic::BETA).max(super::MIN_WINDOW)
        } else if halves {
            s.half()
        } else {
            paper::threshold(s, event, explicit)
        }
    }

    fn lost(&mut self, s: &mut State, now: Instant, fresh: bool, explicit: bool) {
        if fresh {
            self.prior = Prior {
                gamma: self.gamma,
                start: self.start,
            };
            if explicit && s.mode != Mode::Unfair {
                self.judge(s, now);
            }
        }
        self.lost_at = now;
        self.start = false;
        self.paced_until = Instant::ZERO;
    }

    fn undone(&mut self) {
        self.gamma = self.gamma.max(self.prior.gamma);
        self.start = self.prior.start;
    }

    fn silent(&mut self) {
        self.paced_until = Instant::ZERO;
    }

    #[inline]
    fn sent(&mut self, s: &mut State, now: Instant, path: &PathView, sent: &Sent) {
        if sent.after_idle {
            self.restart(s, now, path);
        }
        if self.pacing.is_some() && now >= self.paced_until && !self.is_paced(s) {
            self.pacing = None;
        }
        self.last_sent = now;
    }

    #[inline]
    fn pace(&mut self, s: &State, now: Instant, path: &PathView) {
        let segments = if now < self.paced_until {
            self.p.fast_gain * s.twnd
        } else if self.is_paced(s) {
            self.p.pace * s.cwnd
        } else {
            self.pacing = None;
            return;
        };
        let srtt = path.srtt.as_secs_f64();
        self.pacing = (srtt > 0.0).then(|| {
            let bps = segments * f64::from(s.sizes.wire) * 8.0 / srtt;
            Rate::from_bps(bps.clamp(1.0, 1e15) as u64)
        });
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.pacing
    }

    fn snapshot(&self, s: &State, out: &mut Vec<(&'static str, f64)>) {
        let internet = matches!(s.mode, Mode::Internet | Mode::Compete) || self.internet.run() > 0;
        out.extend([
            ("lambda", self.budget(s)),
            ("jitter", self.slack.jitter()),
            ("spread", self.slack.spread()),
            ("back", self.back),
            ("gamma", self.gamma),
            ("internet", f64::from(u8::from(internet))),
            ("verdicts", self.internet.verdicts as f64),
        ]);
    }
}

impl Product {
    /// Data leaves after a time without any in flight.
    #[cold]
    fn restart(&self, s: &mut State, now: Instant, path: &PathView) {
        let idle = now.since(self.last_sent);
        let rto = path.srtt + RTO_MIN;
        if !self.p.restart || idle <= rto {
            return;
        }
        // RFC 2861, 3.1: half for each timeout that passed in silence; RFC 5681, 4.1: not below the restart window.
        let floor = s.initial.min(s.cwnd);
        s.ssthresh = s.ssthresh.max(s.cwnd * 0.75);
        let halvings = (idle / rto).min(31) as u32;
        s.cwnd = (s.cwnd / f64::from(1u32 << halvings)).max(floor);
        s.high = 0;
        s.round.forget();
        s.round.cut_short();
    }
}

#[cfg(test)]
mod tests;
