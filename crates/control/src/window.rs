//! Window-based control: laws that count segments as the Linux kernel does.
//!
//! [`Windowed`] carries what all of them share (the window, the slow-start threshold, undo, restart after idle) and
//! calls a [`Law`] where Linux calls an entry of `tcp_congestion_ops`. A law is then the few lines that its paper or
//! RFC adds.

pub mod cubic;
pub mod dctcp;
pub mod fixed;
pub mod highspeed;
pub mod hystart;
pub mod hystart_pp;
pub mod illinois;
pub mod prague;
pub mod reno;
pub mod vegas;
pub mod veno;
pub mod westwood;

use core::fmt;

use slackwater_core::{Bytes, Duration, Instant, Rate};

use crate::registry::{Config, Entry};
use crate::{Ack, Cause, CongestionEvent, Controller, EcnMode, Intent, PathView, Recovery, Sent};

/// The controllers of this family.
pub(crate) const TABLE: &[&[Entry]] = &[
    reno::ENTRIES,
    cubic::ENTRIES,
    vegas::ENTRIES,
    veno::ENTRIES,
    illinois::ENTRIES,
    highspeed::ENTRIES,
    westwood::ENTRIES,
    dctcp::ENTRIES,
    prague::ENTRIES,
    fixed::ENTRIES,
];

/// `law` with the window of `cfg`.
pub(crate) fn windowed<L: Law>(law: L, cfg: &Config) -> Windowed<L> {
    Windowed::new(law, cfg.mss, cfg.initial_window).with_ssthresh(cfg.initial_ssthresh)
}

/// The slow-start threshold of a connection that has seen no congestion (Linux `TCP_INFINITE_SSTHRESH`).
pub const INFINITE: u32 = 0x7fff_ffff;

/// The largest window: 2^30 segments keep every product below 2^63.
const CLAMP: u32 = 1 << 30;

/// Linux never lets a retransmission timeout run earlier than this after the smoothed RTT (`TCP_RTO_MIN`).
const RTO_MIN: Duration = Duration::from_millis(200);

/// The window in segments, with the counters by which Linux grows it.
#[derive(Clone, Debug)]
pub struct Cwnd {
    /// Payload bytes of a segment.
    pub mss: u32,
    /// Congestion window in segments, at least one.
    pub cwnd: u32,
    /// Slow-start threshold in segments.
    pub ssthresh: u32,
    /// Segments acknowledged towards the next increase (Linux `snd_cwnd_cnt`).
    pub cnt: u32,
    /// Initial window in segments (RFC 6928).
    pub initial: u32,
    /// Acknowledged bytes that do not fill a segment yet.
    carry: u32,
}

impl Cwnd {
    /// A window of `initial` segments of `mss` bytes.
    pub fn new(mss: u32, initial: u32) -> Self {
        Self {
            mss: mss.max(1),
            cwnd: initial.clamp(1, CLAMP),
            ssthresh: INFINITE,
            cnt: 0,
            initial: initial.clamp(1, CLAMP),
            carry: 0,
        }
    }

    /// Below the threshold (RFC 5681, 3.1; at the threshold Linux avoids congestion).
    #[inline]
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Sets the window, between one segment and 2^30.
    #[inline]
    pub fn set(&mut self, segments: u32) {
        self.cwnd = segments.clamp(1, CLAMP);
    }

    /// Slow start: one segment for each acknowledged segment, up to the threshold; returns the segments left over
    /// for congestion avoidance (RFC 3465 without its limit L; Linux `tcp_slow_start`).
    #[inline]
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let left = acked - grown.saturating_sub(self.cwnd).min(acked);
        self.set(grown);
        left
    }

    /// Congestion avoidance: one segment for each `w` acknowledged segments (RFC 5681, 3.1; Linux
    /// `tcp_cong_avoid_ai`).
    #[inline]
    pub fn additive_increase(&mut self, w: u32, acked: u32) {
        let w = w.max(1);
        // Credit gathered while `w` was larger counts once, so that a smaller `w` makes no burst.
        if self.cnt >= w {
            self.cnt = 0;
            self.set(self.cwnd + 1);
        }
        self.cnt += acked;
        if self.cnt >= w {
            let steps = self.cnt / w;
            self.cnt -= steps * w;
            self.set(self.cwnd.saturating_add(steps));
        }
    }

    /// Slow start, then congestion avoidance by one segment per window (Linux `tcp_reno_cong_avoid`).
    #[inline]
    pub fn reno(&mut self, acked: u32) {
        let acked = if self.in_slow_start() {
            self.slow_start(acked)
        } else {
            acked
        };
        if acked > 0 {
            self.additive_increase(self.cwnd, acked);
        }
    }

    /// Growth that counts ACKs, not segments: one segment per ACK in slow start, its share of the window after (ns-3
    /// `TcpNewReno`; with delayed ACKs half as fast as Linux).
    #[inline]
    pub fn reno_per_ack(&mut self) {
        if self.in_slow_start() {
            self.slow_start(1);
        } else {
            self.additive_increase(self.cwnd, 1);
        }
    }

    /// Half the flight, at least two segments (RFC 5681, 3.1, equation 4; ns-3).
    pub fn half_flight(&self, event: &CongestionEvent) -> u32 {
        (event.in_flight.0 / 2 / u64::from(self.mss)).clamp(2, u64::from(CLAMP)) as u32
    }

    /// Half the window, at least two segments (Linux `tcp_reno_ssthresh`: it halves the window where RFC 5681, 3.1,
    /// equation 4, halves the flight).
    #[inline]
    pub const fn half(&self) -> u32 {
        let half = self.cwnd >> 1;
        if half < 2 { 2 } else { half }
    }

    /// Whole segments in `bytes`; the rest counts towards the next call.
    #[inline]
    fn segments(&mut self, bytes: Bytes) -> u32 {
        if bytes.0 == u64::from(self.mss) {
            return 1;
        }
        // An ACK covers at most the window, and 2^30 segments bound that; a wild host is cut there.
        let total = (bytes.0 + u64::from(self.carry)).min(u64::from(CLAMP) * u64::from(self.mss));
        let whole = (total / u64::from(self.mss)) as u32;
        self.carry = (total % u64::from(self.mss)) as u32;
        whole
    }
}

/// What a law decides; the names of the Linux hooks are given with each.
pub trait Law: Clone + fmt::Debug + Send + 'static {
    /// An unused window decays and an idle one is restarted (RFC 2861, RFC 5681, 4.1), as in Linux. ns-3 does neither.
    const VALIDATES: bool = true;

    /// How packets are marked. With a proportional mode a reduction by marks does not stand for the answer to a loss.
    const ECN: EcnMode = EcnMode::Off;

    /// The window grows while it is reduced for marks, and the end of that reduction leaves it where it is.
    const GROWS_IN_CWR: bool = false;

    /// The registry's name.
    fn name(&self) -> &'static str;

    /// An ACK arrived, whatever the recovery state (`pkts_acked` and `in_ack_event`).
    #[inline]
    fn acked(&mut self, _now: Instant, _w: &mut Cwnd, _path: &PathView, _ack: &Ack) {}

    /// `acked` segments may grow the window: the host is not in recovery (`cong_avoid`).
    fn grow(&mut self, now: Instant, w: &mut Cwnd, path: &PathView, ack: &Ack, acked: u32);

    /// The threshold after a congestion event (`ssthresh`).
    fn threshold(
        &mut self,
        _now: Instant,
        w: &Cwnd,
        _path: &PathView,
        _event: &CongestionEvent,
    ) -> u32 {
        w.half()
    }

    /// A retransmission timeout set the window to one segment (`set_state(TCP_CA_Loss)`).
    fn timed_out(&mut self, _now: Instant, _w: &mut Cwnd, _event: &CongestionEvent) {}

    /// Fast recovery or a reduction by marks came to its end (`cwnd_event(CA_EVENT_COMPLETE_CWR)`).
    fn completed(&mut self, _now: Instant, _w: &mut Cwnd) {}

    /// Sending starts again after `idle` without anything in flight (`cwnd_event(CA_EVENT_TX_START)`).
    fn restarted(&mut self, _now: Instant, _w: &mut Cwnd, _idle: Duration) {}

    /// The pacing rate in wire bytes and the burst; `None` leaves pacing to the host.
    #[inline]
    fn pacing(&self) -> Option<(Rate, Bytes)> {
        None
    }

    /// Named internals beside the window and the threshold.
    fn snapshot(&self, _out: &mut Vec<(&'static str, f64)>) {}
}

/// A window-based controller: the shared state and one law.
#[derive(Clone, Debug)]
pub struct Windowed<L> {
    w: Cwnd,
    law: L,
    episode: Episode,
    last_sent: Instant,
    validation: Validation,
}

/// The present congestion episode, and what undoes it.
#[derive(Clone, Copy, Debug, Default)]
struct Episode {
    /// A reduction took effect and the host has not recovered.
    open: bool,
    /// It was a timeout.
    timeout: bool,
    /// It answers marks in proportion to their share.
    share: bool,
    /// There is something to undo.
    undo: bool,
    prior_cwnd: u32,
    prior_ssthresh: u32,
    /// Sequence position of the next new byte when the episode began (Linux `high_seq`).
    high: u64,
    /// Highest cumulative acknowledgment seen.
    una: u64,
    /// The same at the last timeout.
    una_at_timeout: u64,
}

/// Decay of a window that the application does not use (RFC 2861; Linux `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
struct Validation {
    /// Most bytes in flight since `since`.
    used: u64,
    /// When the window was last used up, or last decayed.
    since: Instant,
}

impl<L: Law> Windowed<L> {
    /// A controller of `law` with an initial window of `initial` segments of `mss` bytes.
    pub fn new(law: L, mss: u32, initial: u32) -> Self {
        Self {
            w: Cwnd::new(mss, initial),
            law,
            episode: Episode::default(),
            last_sent: Instant::ZERO,
            validation: Validation::default(),
        }
    }

    /// The same with a slow-start threshold of `segments`, where one is given; avoidance begins there, or at once.
    #[must_use]
    pub const fn with_ssthresh(mut self, segments: Option<u32>) -> Self {
        if let Some(segments) = segments {
            self.w.ssthresh = segments;
        }
        self
    }

    /// The window's counters.
    pub const fn cwnd(&self) -> &Cwnd {
        &self.w
    }

    /// Lowers the window to `most` segments where it is above them, for a caller that knows what the window is good for.
    pub fn bound(&mut self, most: u32) {
        if self.w.cwnd > most {
            self.w.set(most);
        }
    }

    /// The law.
    pub const fn law(&self) -> &L {
        &self.law
    }

    /// The threshold that a connection should remember: three quarters of a window that proved good (Linux
    /// `tcp_current_ssthresh`; RFC 2861, 3.1).
    fn remembered(&self) -> u32 {
        if self.episode.open && !self.episode.timeout {
            self.w.ssthresh
        } else {
            self.w.ssthresh.max((self.w.cwnd >> 1) + (self.w.cwnd >> 2))
        }
    }

    /// Follows a change of the path's segment size. The window keeps its number of segments, as in Linux.
    #[inline]
    fn resize(&mut self, path: &PathView) {
        if path.mss != self.w.mss && path.mss != 0 {
            self.w.mss = path.mss;
            self.w.carry = 0;
        }
    }

    #[cold]
    fn restart(&mut self, now: Instant, path: &PathView) {
        let idle = now.since(self.last_sent);
        let rto = path.srtt + RTO_MIN;
        if L::VALIDATES && idle > rto {
            // RFC 2861, 3.1 (Linux `tcp_cwnd_restart`): half for each timeout that passed in silence, but not
            // below the restart window of RFC 5681, 4.1.
            let floor = self.w.initial.min(self.w.cwnd);
            self.w.ssthresh = self.remembered();
            let halvings = (idle / rto).min(31) as u32;
            self.w.set((self.w.cwnd >> halvings).max(floor));
            self.validation = Validation {
                used: 0,
                since: now,
            };
        }
        self.law.restarted(now, &mut self.w, idle);
    }

    #[cold]
    fn validate(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        let v = &mut self.validation;
        v.used = v.used.max(ack.prior_in_flight.0);
        if now.since(v.since) < path.srtt + RTO_MIN {
            return;
        }
        if ack.recovery == Recovery::Open && ack.app_limited {
            let used = (v.used / u64::from(self.w.mss)).min(u64::from(CLAMP)) as u32;
            let used = used.max(self.w.initial.min(self.w.cwnd));
            if used < self.w.cwnd {
                self.w.ssthresh = self.remembered();
                self.w.set(u32::midpoint(self.w.cwnd, used));
            }
        }
        self.validation = Validation {
            used: 0,
            since: now,
        };
    }
}

impl<L: Law> Controller for Windowed<L> {
    #[inline]
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        if sent.after_idle {
            self.restart(now, path);
        }
        self.last_sent = now;
    }

    #[inline]
    fn on_sent_row(&mut self, now: Instant, path: &PathView, sent: &Sent, _count: u64) {
        // None of the others follows an idle time.
        self.on_sent(now, path, sent);
    }

    #[inline]
    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.resize(path);
        self.episode.una = self.episode.una.max(ack.una);
        self.law.acked(now, &mut self.w, path, ack);
        if ack.cwnd_limited {
            self.validation.since = now;
            self.validation.used = 0;
        } else if L::VALIDATES {
            self.validate(now, path, ack);
        }
        let acked = self.w.segments(ack.newly_acked);
        // Linux `tcp_may_raise_cwnd`: only where the cumulative point moved, and not while PRR steers.
        let steered = match ack.recovery {
            Recovery::Fast => true,
            Recovery::Cwr => !L::GROWS_IN_CWR,
            _ => false,
        };
        let may_raise = ack.cumulative.0 > 0 && !steered;
        if may_raise && acked > 0 {
            self.law.grow(now, &mut self.w, path, ack, acked);
        }
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.resize(path);
        let e = &self.episode;
        // Linux `tcp_enter_loss`: a timeout inside an episode that has not ended reduces no further, unless it
        // follows progress made after an earlier timeout.
        let fresh = match event.cause {
            Cause::Timeout => !e.open || e.una >= e.high || (e.timeout && e.una > e.una_at_timeout),
            // Losses and marks during an episode are answered by it (RFC 3168, 6.1.2; Linux `tcp_in_cwnd_reduction`).
            // But a small share of marks does not answer a loss (RFC 8257, 3.5; RFC 9331, 4.3).
            Cause::Loss => !e.open || e.timeout || e.share || e.una >= e.high,
            Cause::Ecn => !e.open || e.timeout || e.una >= e.high,
        };
        if fresh {
            let prior_ssthresh = self.remembered();
            let before = self.w.cwnd;
            self.w.ssthresh = self
                .law
                .threshold(now, &self.w, path, event)
                .clamp(1, INFINITE);
            // What the network said by CE is never taken back (Linux keeps no prior threshold then).
            self.episode.undo = event.cause != Cause::Ecn;
            self.episode.prior_cwnd = before;
            self.episode.prior_ssthresh = prior_ssthresh;
            self.episode.high = event.next;
        }
        self.episode.open = true;
        self.episode.share = event.cause == Cause::Ecn && L::ECN.is_proportional();
        self.w.cnt = 0;
        if event.cause == Cause::Timeout {
            self.episode.timeout = true;
            self.episode.una_at_timeout = self.episode.una;
            self.w.set(1);
            self.law.timed_out(now, &mut self.w, event);
        } else {
            self.episode.timeout = false;
            self.w.set(self.w.ssthresh.min(self.w.cwnd));
        }
    }

    fn on_undo(&mut self, _now: Instant, _path: &PathView) {
        if !self.episode.undo {
            return;
        }
        // Linux `tcp_undo_cwnd_reduction` and `tcp_reno_undo_cwnd`.
        self.w.set(self.w.cwnd.max(self.episode.prior_cwnd));
        self.w.ssthresh = self.w.ssthresh.max(self.episode.prior_ssthresh);
        self.episode.undo = false;
        self.episode.open = false;
        self.episode.timeout = false;
    }

    fn on_recovered(&mut self, now: Instant, _path: &PathView) {
        let grew = self.episode.share && L::GROWS_IN_CWR;
        if self.episode.open && !self.episode.timeout && !grew {
            // Linux `tcp_end_cwnd_reduction`.
            self.w.set(self.w.ssthresh.min(CLAMP));
            self.law.completed(now, &mut self.w);
        }
        self.episode.open = false;
        self.episode.timeout = false;
    }

    #[inline]
    fn intent(&self) -> Intent {
        let mss = u64::from(self.w.mss);
        let pacing = self.law.pacing();
        Intent {
            window: Some(Bytes(u64::from(self.w.cwnd) * mss)),
            ssthresh: (self.w.ssthresh < INFINITE).then(|| Bytes(u64::from(self.w.ssthresh) * mss)),
            pacing: pacing.map(|(rate, _)| rate),
            burst: pacing.map_or(Bytes::ZERO, |(_, burst)| burst),
            ecn: L::ECN,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("cwnd", f64::from(self.w.cwnd)));
        if self.w.ssthresh < INFINITE {
            out.push(("ssthresh", f64::from(self.w.ssthresh)));
        }
        self.law.snapshot(out);
    }

    fn name(&self) -> &'static str {
        self.law.name()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::reno::Reno;
    use super::*;
    use crate::testing::Feed;

    fn reno() -> Feed<Windowed<Reno>> {
        Feed::new(Windowed::new(Reno, 1000, 10))
    }

    #[test]
    fn slow_start_doubles_and_stops_at_the_threshold() {
        // RFC 5681, 3.1; RFC 6928: ten segments to begin with.
        let mut feed = reno();
        assert_eq!(feed.cwnd(), 10);
        feed.round_at(100);
        assert_eq!(feed.cwnd(), 20);
        let mut w = Cwnd::new(1000, 10);
        w.ssthresh = 12;
        // Five segments: two fill slow start, three are left for congestion avoidance (Linux tcp_slow_start).
        assert_eq!(w.slow_start(5), 3);
        assert_eq!(w.cwnd, 12);
    }

    #[test]
    fn a_threshold_from_the_start_ends_slow_start_at_once() {
        let law = || Windowed::new(Reno, 1000, 10);
        let mut feed = Feed::new(law().with_ssthresh(Some(1)));
        feed.round_at(100);
        assert_eq!(feed.cwnd(), 11);
        let mut feed = Feed::new(law().with_ssthresh(None));
        feed.round_at(100);
        assert_eq!(feed.cwnd(), 20);
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_per_window() {
        let mut feed = reno();
        feed.round_at(100);
        feed.lose();
        feed.recover();
        assert_eq!((feed.cwnd(), feed.ssthresh()), (10, Some(10)));
        for round in 1..=5 {
            feed.round_at(100);
            assert_eq!(feed.cwnd(), 10 + round);
        }
    }

    #[test]
    fn credit_from_a_larger_window_counts_once() {
        // Linux tcp_cong_avoid_ai.
        let mut w = Cwnd::new(1000, 10);
        w.cnt = 35;
        w.additive_increase(10, 1);
        assert_eq!((w.cwnd, w.cnt), (11, 1));
        w.additive_increase(10, 29);
        assert_eq!((w.cwnd, w.cnt), (14, 0));
    }

    #[test]
    fn a_window_that_is_not_used_up_does_not_grow() {
        let mut feed = reno();
        feed.cwnd_limited = false;
        feed.round_at(100);
        assert_eq!(feed.cwnd(), 10);
    }

    #[test]
    fn recovery_and_marks_stop_growth_and_a_timeout_starts_over() {
        let mut feed = reno();
        feed.round_at(100);
        feed.lose();
        feed.segments_over(5, 50, 100);
        assert_eq!(feed.cwnd(), 10);
        // RFC 5681, 3.1: one segment. Linux: no second reduction of the threshold inside one episode.
        feed.time_out();
        assert_eq!((feed.cwnd(), feed.ssthresh()), (1, Some(10)));
        feed.segments_over(4, 50, 100);
        assert_eq!(feed.cwnd(), 5);
        // Progress was made since: the next timeout counts.
        feed.time_out();
        assert_eq!((feed.cwnd(), feed.ssthresh()), (1, Some(2)));
    }

    #[test]
    fn a_loss_and_a_mark_in_one_round_cost_one_reduction() {
        let mut feed = reno();
        feed.round_at(100);
        feed.lose();
        feed.ack(1, 100);
        feed.lose();
        assert_eq!((feed.cwnd(), feed.ssthresh()), (10, Some(10)));
        feed.recover();
        feed.lose();
        assert_eq!(feed.cwnd(), 5);
    }

    #[test]
    fn an_undo_restores_window_and_threshold() {
        let mut feed = reno();
        feed.round_at(100);
        feed.time_out();
        assert_eq!(feed.cwnd(), 1);
        feed.undo();
        assert_eq!((feed.cwnd(), feed.ssthresh()), (20, None));
        // Nothing left to undo.
        feed.lose();
        feed.recover();
        let before = feed.cwnd();
        feed.undo();
        feed.undo();
        assert_eq!(before, 10);
        assert_eq!(feed.cwnd(), 20);
    }

    #[test]
    fn silence_halves_the_window_for_each_timeout() {
        // RFC 2861, 3.1: RTO is 300 ms here; after 700 ms two halvings, not below the initial window.
        let mut feed = reno();
        for _ in 0..3 {
            feed.round_at(100);
        }
        assert_eq!(feed.cwnd(), 80);
        feed.now += Duration::from_millis(700);
        let sent = Sent {
            bytes: Bytes(1000),
            after_idle: true,
            ..Sent::default()
        };
        feed.c.on_sent(feed.now, &feed.path.clone(), &sent);
        assert_eq!((feed.cwnd(), feed.ssthresh()), (20, None));
    }

    #[test]
    fn an_unused_window_decays_towards_its_use() {
        // RFC 2861, 3.2: half the way to what was used, each timeout.
        let mut feed = reno();
        for _ in 0..3 {
            feed.round_at(100);
        }
        feed.cwnd_limited = false;
        feed.app_limited = true;
        feed.now += Duration::from_millis(400);
        feed.path.in_flight = Bytes(12_000);
        feed.next = feed.una + 12_000;
        feed.ack(1, 100);
        assert_eq!(feed.cwnd(), 80 - (80 - 12) / 2);
    }

    /// RFC 2861, 3.2: the window decays each RTO, which is 300 ms here, and not with each ACK.
    #[test]
    fn a_window_that_is_unused_for_less_than_a_timeout_stays() {
        for (ms, cwnd) in [(100, 80), (299, 80), (300, 46)] {
            let mut feed = reno();
            for _ in 0..3 {
                feed.round_at(100);
            }
            feed.cwnd_limited = false;
            feed.app_limited = true;
            feed.now += Duration::from_millis(ms);
            feed.next = feed.una + 12_000;
            feed.ack(1, 100);
            assert_eq!(feed.cwnd(), cwnd, "after {ms} ms");
        }
    }

    /// RFC 3168, 6.1.2: the window that a mark reduced does not grow before its round is over.
    #[test]
    fn a_marked_window_does_not_grow_until_its_round_is_over() {
        let mut feed = reno();
        feed.round_at(100);
        feed.mark();
        assert_eq!(feed.cwnd(), 10);
        feed.segments_over(20, 100, 100);
        assert_eq!(feed.cwnd(), 10);
        feed.recover();
        feed.round_at(100);
        assert_eq!(feed.cwnd(), 11);
    }
}
