//! Long-term sampling: a token-bucket policer shows as two intervals of heavy loss with the same rate (Flach et al.,
//! SIGCOMM 2016; Linux `bbr_lt_bw_sampling`).

use slackwater_core::{Duration, Instant};

/// Least rounds of an interval (`bbr_lt_intvl_min_rtts`); four times as many are too long.
const MIN_ROUNDS: u32 = 4;
/// An interval is lossy from 50/256 of what was delivered (`bbr_lt_loss_thresh`).
const LOSS_256: u64 = 50;
/// Rates agree within an eighth (`bbr_lt_bw_ratio`).
const RATIO: f64 = 1.0 / 8.0;
/// Rates agree within this, paced bytes per second (`bbr_lt_bw_diff`: 4 kbit/s).
const DIFFERENCE: f64 = 4000.0 / 8.0;
/// The policed rate is used for this many rounds (`bbr_lt_bw_max_rtts`).
const MAX_ROUNDS: u32 = 48;
/// Shortest interval.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// What an ACK shows.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Bytes delivered on the connection.
    pub delivered: u64,
    /// Bytes lost on the connection.
    pub lost: u64,
    /// This ACK revealed losses.
    pub losses: bool,
    /// The rate sample was limited by the application.
    pub app_limited: bool,
    /// A round began.
    pub round_start: bool,
    /// BBR is cycling its gain.
    pub probing_bw: bool,
}

/// The sampler.
#[derive(Clone, Copy, Debug, Default)]
pub struct Policer {
    sampling: bool,
    in_use: bool,
    bw: f64,
    rounds: u32,
    delivered: u64,
    lost: u64,
    since: Instant,
}

impl Policer {
    /// The policed rate in payload bytes per second, where one was found.
    #[inline]
    pub fn rate(&self) -> Option<f64> {
        self.in_use.then_some(self.bw)
    }

    fn begin(&mut self, now: Instant, delivered: u64, lost: u64) {
        self.since = now;
        self.delivered = delivered;
        self.lost = lost;
        self.rounds = 0;
    }

    /// Forgets everything.
    pub fn reset(&mut self, now: Instant, delivered: u64, lost: u64) {
        *self = Self::default();
        self.begin(now, delivered, lost);
    }

    /// An ACK arrived. True where the policed rate was used long enough and probing starts again.
    pub fn update(&mut self, now: Instant, v: &View) -> bool {
        if self.in_use {
            if v.probing_bw && v.round_start {
                self.rounds += 1;
                if self.rounds >= MAX_ROUNDS {
                    self.reset(now, v.delivered, v.lost);
                    return true;
                }
            }
            return false;
        }
        if !self.sampling {
            // The first loss says that the bucket is empty; what went before is a burst of tokens.
            if !v.losses {
                return false;
            }
            self.begin(now, v.delivered, v.lost);
            self.sampling = true;
        }
        if v.app_limited {
            self.reset(now, v.delivered, v.lost);
            return false;
        }
        if v.round_start {
            self.rounds += 1;
        }
        if self.rounds < MIN_ROUNDS {
            return false;
        }
        if self.rounds > 4 * MIN_ROUNDS {
            self.reset(now, v.delivered, v.lost);
            return false;
        }
        // An interval ends with a loss, again with an empty bucket.
        if !v.losses {
            return false;
        }
        let lost = v.lost.saturating_sub(self.lost);
        let delivered = v.delivered.saturating_sub(self.delivered);
        if delivered == 0 || lost.saturating_mul(256) < delivered.saturating_mul(LOSS_256) {
            return false;
        }
        let span = now.since(self.since);
        if span < MIN_INTERVAL {
            return false;
        }
        self.interval_done(now, v, delivered as f64 / span.as_secs_f64());
        false
    }

    fn interval_done(&mut self, now: Instant, v: &View, bw: f64) {
        if self.bw > 0.0 {
            let difference = (bw - self.bw).abs();
            if difference <= RATIO * self.bw || difference * super::PACING_MARGIN <= DIFFERENCE {
                self.bw = f64::midpoint(bw, self.bw);
                self.in_use = true;
                self.rounds = 0;
                return;
            }
        }
        self.bw = bw;
        self.begin(now, v.delivered, v.lost);
    }
}
