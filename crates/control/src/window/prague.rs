//! TCP Prague (draft-briscoe-iccrg-prague-congestion-control-04): DCTCP's answer to marks, made fit for the Internet.
//!
//! Constants are those of the Linux implementation (`L4STeam`, `tcp_prague.c` v0.6). Packets are ECT(1); accurate ECN
//! feedback (RFC 9768) counts the marks. Where the handshake settles on less, the host sends no ECT, no ACK counts
//! packets, and what is left is Reno, as Linux falls back to its `prague_reno`. Detection of a classic ECN queue is
//! off by default in Linux and not here.

use slackwater_core::{Bytes, Duration, Instant, Rate};

use crate::registry::{AnyController, Entry, Marks};
use crate::window::dctcp::Alpha;
use crate::window::windowed;
use crate::window::{Cwnd, INFINITE, Law};
use crate::{Ack, Cause, CongestionEvent, EcnMode, PathView};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "prague",
    title: "Prague",
    about: "TCP Prague for L4S (draft-briscoe-iccrg-prague-congestion-control)",
    make: |cfg, p| {
        p.none()?;
        Ok(AnyController::Prague(windowed(Prague::default(), cfg)))
    },
    marks: Marks::Queue,
    ..Entry::TRANSPORT
}];

/// Flows with shorter round trips act as if theirs took this long (draft, 2.4.4; Linux `prague_rtt_target`).
const RTT_TARGET: Duration = Duration::from_millis(25);
/// Rounds after slow start before they do (draft, 2.4.4; Linux `DEFAULT_RTT_TRANSITION`).
const RTT_TRANSITION: u32 = 500;
/// A burst lasts 2^-12 s (draft, 2.5.2; Linux `prague_burst_shift`).
const BURST_DIVISOR: u64 = 1 << 12;
/// Least window after a reduction (Linux `MIN_CWND`).
const WINDOW_MIN: f64 = 2.0;

/// TCP Prague.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prague {
    /// The window in segments with its fraction (Linux `frac_cwnd`); the whole window is this rounded up.
    window: f64,
    alpha: Alpha,
    /// A mark was seen: there is an AQM on the path, and alpha is worth learning.
    saw_ce: bool,
    /// Accurate feedback arrives.
    accurate: bool,
    /// Rounds since slow start.
    rounds: u32,
    /// When alpha was last updated.
    learnt: Instant,
    /// When marks last reduced the window.
    reduced: Option<Instant>,
    srtt: Duration,
    /// Segments per window of unmarked segments (Linux `ai_ack_increase`).
    increase: f64,
    pacing: Option<(Rate, Bytes)>,
}

impl Prague {
    /// The share of marked packets, averaged.
    pub const fn alpha(&self) -> f64 {
        self.alpha.get()
    }

    /// The window in segments.
    pub const fn window(&self) -> f64 {
        self.window
    }

    /// Takes over a window that something else changed: the first one, an idle restart, a timeout, an undo.
    #[inline]
    fn follow(&mut self, w: &Cwnd) {
        if whole(self.window) != w.cwnd {
            self.window = f64::from(w.cwnd);
        }
    }

    /// The flow acts as one of [`RTT_TARGET`] (Linux `prague_is_rtt_indep`).
    const fn is_rtt_independent(&self, w: &Cwnd) -> bool {
        self.accurate && !w.in_slow_start() && self.rounds >= RTT_TRANSITION
    }

    #[cold]
    fn round(&mut self, now: Instant, w: &Cwnd, ack: &Ack) {
        self.alpha.next_round(ack, self.saw_ce);
        self.learnt = now;
        if !w.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
        // Draft, 2.4.4: a segment per target RTT, and the rate of a window that is shorter by the same ratio (Linux
        // `RTT_CONTROL_RATE`).
        self.increase = if self.is_rtt_independent(w) && self.srtt < RTT_TARGET {
            let ratio = self.srtt.as_secs_f64() / RTT_TARGET.as_secs_f64();
            ratio * ratio
        } else {
            1.0
        };
    }

    /// The window per RTT, twice that in early slow start (draft, 2.5.1; Linux `prague_update_pacing_rate`).
    #[inline]
    fn pace(&mut self, cwnd: u32, ssthresh: u32, path: &PathView) {
        if !self.accurate || self.srtt.is_zero() {
            self.pacing = None;
            return;
        }
        let gain = if cwnd < ssthresh / 2 { 2.0 } else { 1.0 };
        let wire = f64::from(path.wire_mss.max(1));
        let bps = self.window * gain * wire * 8e9 / self.srtt.as_nanos() as f64;
        let bps = (bps as u64).clamp(1, u64::MAX >> 1);
        let burst = (bps / 8 / BURST_DIVISOR).max(u64::from(path.wire_mss));
        self.pacing = Some((Rate::from_bps(bps), Bytes(burst)));
    }
}

/// The window in whole segments.
#[inline]
fn whole(window: f64) -> u32 {
    libm::ceil(window).min(f64::from(INFINITE)) as u32
}

impl Law for Prague {
    const ECN: EcnMode = EcnMode::L4s;
    // Draft, 2.4.3: unmarked ACKs grow the window at any time, so that the share of growth falls with that of marks.
    const GROWS_IN_CWR: bool = true;

    fn name(&self) -> &'static str {
        "prague"
    }

    #[inline]
    fn acked(&mut self, now: Instant, w: &mut Cwnd, path: &PathView, ack: &Ack) {
        self.follow(w);
        self.srtt = path.srtt;
        self.saw_ce |= ack.ecn.ce > 0;
        self.accurate |= ack.ecn.ce + ack.ecn.ect0 + ack.ecn.ect1 > 0;
        self.alpha.count(ack);
        // Flows of all RTTs below the target average over the same time, so that they see the same share.
        if self.alpha.is_round_over(ack)
            && (!self.is_rtt_independent(w) || now.since(self.learnt) >= RTT_TARGET)
        {
            self.round(now, w, ack);
        }
        self.pace(w.cwnd, w.ssthresh, path);
    }

    #[inline]
    fn grow(&mut self, _now: Instant, w: &mut Cwnd, path: &PathView, ack: &Ack, acked: u32) {
        let unmarked = acked.saturating_sub(ack.ecn.ce);
        // At 100 % of the window per RTT the pacer, and not the window, may hold the last segments of a round.
        let used = ack.cwnd_limited || (self.pacing.is_some() && !ack.app_limited);
        if unmarked == 0 || !used {
            return;
        }
        let mut unmarked = unmarked;
        if w.in_slow_start() {
            let before = w.cwnd;
            unmarked = w.slow_start(unmarked);
            self.window += f64::from(w.cwnd - before);
        }
        self.window += f64::from(unmarked) * self.increase / self.window.max(1.0);
        w.set(whole(self.window));
        self.follow(w);
        self.pace(w.cwnd, w.ssthresh, path);
    }

    fn threshold(
        &mut self,
        now: Instant,
        w: &Cwnd,
        path: &PathView,
        event: &CongestionEvent,
    ) -> u32 {
        self.follow(w);
        let target = match event.cause {
            // Once per round, and per target RTT (draft, 2.4.2 and 2.4.4).
            Cause::Ecn => {
                let recent = self.is_rtt_independent(w)
                    && self.reduced.is_some_and(|at| now.since(at) < RTT_TARGET);
                if recent {
                    self.window
                } else {
                    self.reduced = Some(now);
                    self.window * (1.0 - self.alpha.get() / 2.0)
                }
            }
            // Draft, 2.4.1: at least as large an answer as Reno's (RFC 9331, 4.3); Linux halves.
            Cause::Loss | Cause::Timeout => self.window / 2.0,
        };
        self.window = target.max(WINDOW_MIN.min(self.window));
        let reduced = whole(self.window);
        self.pace(reduced, reduced, path);
        reduced
    }

    fn pacing(&self) -> Option<(Rate, Bytes)> {
        self.pacing
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("alpha", self.alpha.get()));
        out.push(("frac_cwnd", self.window));
        out.push(("ai", self.increase));
        out.push(("rounds", f64::from(self.rounds)));
    }
}

#[cfg(test)]
mod tests;
