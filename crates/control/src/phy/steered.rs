//! A controller of any rule or policy that answers with a window: decisions, guard rails, fallback.
//!
//! The guard rails stand outside of what is learned. A feed that falls silent is frozen at the delivery rate for a second
//! and then handed over to CUBIC; so is one that claims less than what demonstrably arrives ([`super::audit`]). Each such
//! turn is counted.

use core::fmt;

use slackwater_core::{Bytes, Duration, Instant};

use super::audit::Audit;
use super::margin::{Q, Z_ACKS};
use super::observe::Signals;
use super::seat::Look;
use super::track::{Source, Tracker};
use crate::registry::Config;
use crate::window::Windowed;
use crate::window::cubic::Cubic;
use crate::{
    Ack, Cause, CongestionEvent, Controller, Intent, PathReport, PathView, RecoveryMode, Sent,
};

/// Segments of the least window (RFC 9002, 7.2).
pub const MIN_WINDOW: f64 = 2.0;
/// Segments of the largest window.
pub const MAX_WINDOW: f64 = 4000.0;
/// The window stays within so many bandwidth-delay products ...
const MOST_BDPS: f64 = 4.0;
/// ... and so many segments.
const MOST_SLACK: f64 = 10.0;
/// Queueing above this, seconds, for [`DEEP_FOR`] bounds the window by one product.
const DEEP: f64 = 0.5;
const DEEP_FOR: Duration = Duration::from_secs(1);
/// Losses above this share over two RTTs cut the window ...
const LOSSY: f64 = 0.1;
/// ... to this part.
const LOSS_CUT: f64 = 0.7;
/// A delivery rate below this part of the blocks' for [`WIRED_FOR`] with a queue shows a bottleneck elsewhere.
const WIRED: f64 = 0.7;
const WIRED_FOR: Duration = Duration::from_secs(2);
/// That queue, seconds.
const WIRED_QUEUE: f64 = 0.020;
/// Segments that a flow keeps in a queue elsewhere (Vegas' beta): the same for all, so that they share.
const KEPT: f64 = 4.0;
/// A feed is stale after four least RTTs, but not before this.
const STALE: Duration = Duration::from_millis(200);
/// A frozen feed is given up after this.
const FROZEN: Duration = Duration::from_secs(1);
/// A feed that came back is trusted after this.
const FRESH: Duration = Duration::from_secs(2);
/// A pause between two ACKs counts as silence of the feed only up to this: in an outage both are silent.
const PAUSE: Duration = Duration::from_millis(100);
/// A sender with nothing in flight was idle where its last ACK lies further back than this: an ACK of all that a small window
/// had in flight makes no pause, and what it measures counts.
const IDLE: Duration = Duration::from_millis(1);
/// Between looking and acting: what lies outside answers in between (see [`super::seat`]).
const ACT_AFTER: Duration = Duration::from_nanos(1);

/// A rule or a policy.
pub trait Steer: Clone + fmt::Debug + Send + 'static {
    /// The registry's name.
    fn name(&self) -> &'static str;
    /// Where rates come from.
    fn source(&self) -> Source {
        Source::Phy
    }
    /// Time between decisions; zero: with each ACK.
    fn interval(&self) -> Duration {
        Duration::ZERO
    }
    /// False for genies.
    fn guarded(&self) -> bool {
        true
    }
    /// A packet of so many payload bytes left.
    #[inline]
    fn on_sent(&mut self, _now: Instant, _bytes: Bytes) {}
    /// An ACK arrived.
    #[inline]
    fn on_ack(&mut self, _now: Instant, _path: &PathView, _ack: &Ack) {}
    /// A decision is due; it takes effect with [`Steer::window`].
    fn look(&mut self, _look: &Look) {}
    /// The window in segments, where the present one is `window`.
    fn window(&mut self, now: Instant, signals: &Signals, window: f64) -> f64;
    /// The previous action as a relative change of the window.
    fn last_action(&self) -> f64 {
        0.0
    }
    /// Named internals.
    fn snapshot(&self, _out: &mut Vec<(&'static str, f64)>) {}
}

/// Who sets the window, by its code in the snapshot's `mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// The rule or policy.
    Radio,
    /// The same with the delivery rate in place of a silent feed.
    Frozen,
    /// CUBIC: no feed, or one that is not believed.
    Fallback,
}

/// Names of the modes, in the order of their codes.
pub const MODES: &[&str] = &["RADIO", "FROZEN", "FALLBACK"];

/// How often each guard acted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The feed fell silent and was frozen.
    pub frozen: u32,
    /// CUBIC took over from a silent feed.
    pub fallbacks: u32,
    /// CUBIC took over from a feed that understated.
    pub doubts: u32,
    /// Answers that were no number.
    pub invalid: u32,
    /// Cuts for losses.
    pub cuts: u32,
    /// Times that a bottleneck elsewhere was found.
    pub wired: u32,
}

/// Something holds since an instant.
#[derive(Clone, Copy, Debug, Default)]
struct Since(Option<Instant>);

impl Since {
    #[inline]
    fn holds(&mut self, now: Instant, condition: bool, long: Duration) -> bool {
        if !condition {
            self.0 = None;
            return false;
        }
        let from = *self.0.get_or_insert(now);
        now.since(from) >= long
    }
}

/// What happened since the last decision.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    from: Instant,
    delivered: u64,
    lost: u64,
    rtt_sum: f64,
    rtts: u32,
}

/// A controller of `S`.
#[derive(Clone, Debug)]
pub struct Steered<S> {
    steer: S,
    mss: u32,
    /// Segments.
    cwnd: f64,
    tracker: Tracker,
    mode: Mode,
    cubic: Box<Windowed<Cubic>>,
    counters: Counters,
    srtt: Duration,
    last_ack: Option<Instant>,
    /// Time with ACKs and without a report.
    quiet: Duration,
    frozen_at: Instant,
    /// The delivery rate when the feed was frozen. A window by a later rate would lower that rate in turn.
    frozen_rate: f64,
    fresh: Since,
    audit: Audit,
    deep: Since,
    wired: Since,
    is_wired: bool,
    /// Losses and deliveries of the present two RTTs.
    round: (Instant, u64, u64),
    /// Bound after losses, segments.
    ceiling: f64,
    next: Option<Instant>,
    /// The look has been taken: act.
    acting: bool,
    since: Window,
}

/// A controller of `steer` with the window of `cfg`.
pub(crate) fn steered<S: Steer>(steer: S, cfg: &Config) -> Box<Steered<S>> {
    Box::new(Steered::new(steer, cfg.mss, cfg.initial_window))
}

impl<S: Steer> Steered<S> {
    /// A controller with an initial window of `initial` segments of `mss` bytes.
    pub fn new(steer: S, mss: u32, initial: u32) -> Self {
        let mode = match steer.source() {
            Source::Phy if steer.guarded() => Mode::Fallback,
            _ => Mode::Radio,
        };
        Self {
            mss: mss.max(1),
            cwnd: f64::from(initial).clamp(MIN_WINDOW, MAX_WINDOW),
            tracker: Tracker::new(steer.source()),
            mode,
            cubic: Box::new(Windowed::new(Cubic::linux(), mss, initial)),
            counters: Counters::default(),
            srtt: Duration::ZERO,
            last_ack: None,
            quiet: Duration::ZERO,
            frozen_at: Instant::ZERO,
            frozen_rate: 0.0,
            fresh: Since::default(),
            audit: Audit::new(f64::from(initial)),
            deep: Since::default(),
            wired: Since::default(),
            is_wired: false,
            round: (Instant::ZERO, 0, 0),
            ceiling: f64::INFINITY,
            next: None,
            acting: false,
            since: Window::default(),
            steer,
        }
    }

    /// The rule or policy.
    pub const fn steer(&self) -> &S {
        &self.steer
    }

    /// Who sets the window.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// How often the guards acted.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What the sender knows at `now`.
    pub fn signals(&self, now: Instant) -> Signals {
        let window = self.window_segments();
        let mut s = self.tracker.signals(now, window, self.steer.last_action());
        if self.mode == Mode::Frozen {
            s.bank = [s.rate.max(self.frozen_rate); 6];
        }
        s
    }

    fn window_segments(&self) -> f64 {
        if self.mode == Mode::Fallback {
            f64::from(self.cubic.cwnd().cwnd)
        } else {
            self.cwnd
        }
    }

    /// The bounds outside of rule and policy.
    fn guard(&mut self, now: Instant, s: &Signals, window: f64) -> f64 {
        let window = if window.is_finite() {
            window
        } else {
            self.counters.invalid += 1;
            self.cwnd
        };
        if !self.steer.guarded() {
            return window.clamp(MIN_WINDOW, MAX_WINDOW);
        }
        let by_blocks = s.segments(s.tbs(), s.min_rtt);
        let by_rate = s.segments(s.rate, s.min_rtt);
        let mut most = MOST_BDPS * by_blocks.max(by_rate) + MOST_SLACK;
        if self.deep.holds(now, s.queueing > DEEP, DEEP_FOR) {
            most = most.min(by_blocks.min(by_rate.max(MIN_WINDOW)));
        }
        let elsewhere = s.rate < WIRED * s.tbs() && s.queueing > WIRED_QUEUE;
        let was = self.is_wired;
        self.is_wired = self.wired.holds(now, elsewhere, WIRED_FOR)
            || self.audit.is_short()
            || (was && s.rate < WIRED * s.tbs());
        if self.is_wired {
            self.counters.wired += u32::from(!was);
            // The rule without the radio, and a little more, by which flows come to share.
            let (mean, sd) = self.tracker.arrivals();
            let rate = mean + Z_ACKS * sd;
            most = most.min(s.segments(rate, s.min_rtt + Q) + KEPT);
        }
        window
            .max(self.floor())
            .min(most)
            .min(self.ceiling)
            .clamp(MIN_WINDOW, MAX_WINDOW)
    }

    fn set(&mut self, now: Instant) {
        let s = self.signals(now);
        let wanted = self.steer.window(now, &s, self.cwnd);
        self.cwnd = self.guard(now, &s, wanted);
    }

    /// More than a tenth lost over two RTTs cuts the window; the bound then rises again.
    fn count_losses(&mut self, now: Instant, ack: &Ack) {
        self.round.1 += ack.newly_acked.0;
        self.round.2 += ack.newly_lost.0;
        if now.since(self.round.0) < self.srtt * 2 {
            return;
        }
        let (_, acked, lost) = core::mem::replace(&mut self.round, (now, 0, 0));
        let share = lost as f64 / (acked + lost).max(1) as f64;
        if share > LOSSY {
            self.ceiling = (self.cwnd.min(self.ceiling) * LOSS_CUT).max(MIN_WINDOW);
            self.cwnd = self.cwnd.min(self.ceiling);
            self.counters.cuts += 1;
        } else if self.ceiling.is_finite() {
            self.ceiling *= 1.1;
            if self.ceiling > 2.0 * self.cwnd.max(MIN_WINDOW) {
                self.ceiling = f64::INFINITY;
            }
        }
    }

    /// Below this the window does not go, segments.
    fn floor(&self) -> f64 {
        match self.steer.source() {
            Source::Phy => self.audit.floor(),
            Source::Acks => 0.0,
        }
    }

    fn hand_over(&mut self, now: Instant, threshold: bool) {
        let window = self.cwnd.round().max(MIN_WINDOW) as u32;
        // At the least window nothing is known of what the path carries (RFC 5681, 3.1).
        let threshold = threshold
            .then_some(window)
            .filter(|w| f64::from(*w) > MIN_WINDOW);
        let cubic = Windowed::new(Cubic::linux(), self.mss, window).with_ssthresh(threshold);
        *self.cubic = cubic;
        self.mode = Mode::Fallback;
        self.fresh = Since::default();
        self.audit.hand_over(now);
        self.next = None;
        self.acting = false;
    }

    fn take_over(&mut self, now: Instant) {
        self.cwnd = self.window_segments().clamp(MIN_WINDOW, MAX_WINDOW);
        self.mode = Mode::Radio;
        self.begin(now);
    }

    /// The first decision is due.
    fn begin(&mut self, now: Instant) {
        let interval = self.steer.interval();
        if interval.is_zero() {
            self.set(now);
        } else {
            self.next = Some(now);
        }
    }

    /// Who steers from here.
    fn judge(&mut self, now: Instant) {
        if self.tracker.last_sample().is_none() || !self.tracker.is_ready() {
            return;
        }
        let limit = STALE.max(self.tracker.min_rtt() * 4);
        let silent = self.quiet > limit;
        let credible = !self.audit.is_suspect();
        match self.mode {
            Mode::Radio | Mode::Frozen => {
                if !silent {
                    self.mode = Mode::Radio;
                    if self.audit.is_refuted() {
                        self.counters.doubts += 1;
                        self.hand_over(now, false);
                    }
                } else if self.mode == Mode::Radio {
                    self.mode = Mode::Frozen;
                    self.frozen_at = now;
                    self.frozen_rate = self.signals(now).rate;
                    self.counters.frozen += 1;
                } else if now.since(self.frozen_at) > FROZEN {
                    self.counters.fallbacks += 1;
                    self.hand_over(now, true);
                }
            }
            Mode::Fallback => {
                // The first feed is taken at once: nothing has spoken against it.
                let first = self.counters == Counters::default();
                let wait = if first { Duration::ZERO } else { FRESH };
                if self.fresh.holds(now, !silent && credible, wait) {
                    self.take_over(now);
                }
            }
        }
    }

    fn look(&mut self, now: Instant) {
        let from = core::mem::replace(
            &mut self.since,
            Window {
                from: now,
                ..Window::default()
            },
        );
        let look = Look {
            at: now,
            signals: self.signals(now),
            span: now.since(from.from),
            delivered: Bytes(from.delivered),
            lost: Bytes(from.lost),
            rtt_sum: from.rtt_sum,
            rtts: from.rtts,
            srtt: self.srtt,
            steers: self.mode != Mode::Fallback,
        };
        self.steer.look(&look);
    }

    fn resize(&mut self, path: &PathView) {
        if path.mss != 0 {
            self.mss = path.mss;
        }
    }
}

impl<S: Steer> Controller for Steered<S> {
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.resize(path);
        if sent.after_idle && self.last_ack.is_none_or(|t| now.since(t) > IDLE) {
            self.tracker.restart();
        }
        self.steer.on_sent(now, sent.bytes);
        if self.mode == Mode::Fallback {
            self.cubic.on_sent(now, path, sent);
        }
    }

    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.resize(path);
        self.srtt = path.srtt;
        self.tracker.on_ack(now, path, ack);
        let window = self.window_segments();
        self.audit.on_ack(now, path, ack, window);
        self.steer.on_ack(now, path, ack);
        self.since.delivered += ack.newly_acked.0;
        self.since.lost += ack.newly_lost.0;
        if let Some(rtt) = ack.rtt {
            self.since.rtt_sum += rtt.as_secs_f64();
            self.since.rtts += 1;
        }
        if let Some(last) = self.last_ack.replace(now) {
            self.quiet += now.since(last).min(PAUSE);
        }
        if self.mode == Mode::Fallback {
            self.cubic.on_ack(now, path, ack);
        }
        match self.steer.source() {
            Source::Phy if self.steer.guarded() => self.judge(now),
            _ => {}
        }
        if self.mode == Mode::Fallback {
            return;
        }
        if self.steer.guarded() {
            self.count_losses(now, ack);
        }
        if self.steer.interval().is_zero() {
            if self.tracker.is_ready() || !self.steer.guarded() {
                self.set(now);
            }
        } else if self.next.is_none() && self.tracker.is_ready() {
            self.begin(now);
        }
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.resize(path);
        if self.mode == Mode::Fallback {
            self.cubic.on_congestion(now, path, event);
            return;
        }
        self.audit.on_congestion(now);
        if event.cause == Cause::Timeout {
            self.cwnd = MIN_WINDOW;
            self.tracker.restart();
        }
    }

    fn on_undo(&mut self, now: Instant, path: &PathView) {
        if self.mode == Mode::Fallback {
            self.cubic.on_undo(now, path);
        }
    }

    fn on_recovered(&mut self, now: Instant, path: &PathView) {
        if self.mode == Mode::Fallback {
            self.cubic.on_recovered(now, path);
        }
    }

    fn takes_blocks(&self) -> bool {
        self.steer.source() == Source::Phy
    }

    fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        let &PathReport::TransportBlocks { bytes, span, end } = report else {
            return;
        };
        self.resize(path);
        self.tracker.view(path);
        if self.tracker.on_blocks(now, bytes, span, end) {
            self.audit.on_blocks(bytes, span);
            self.quiet = Duration::ZERO;
        }
    }

    fn on_timer(&mut self, now: Instant, path: &PathView) {
        if self.mode == Mode::Fallback {
            self.cubic.on_timer(now, path);
            return;
        }
        let Some(due) = self.next.filter(|&due| due <= now) else {
            return;
        };
        if self.acting {
            self.acting = false;
            self.set(now);
            let next = due.saturating_sub(ACT_AFTER) + self.steer.interval();
            // A host that was late does not catch up.
            self.next = Some(next.max(now));
        } else {
            self.look(now);
            self.acting = true;
            self.next = Some(due.max(now) + ACT_AFTER);
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        if self.mode == Mode::Fallback {
            self.cubic.next_timer()
        } else {
            self.next
        }
    }

    fn intent(&self) -> Intent {
        if self.mode == Mode::Fallback {
            return self.cubic.intent();
        }
        Intent {
            window: Some(Bytes(self.cwnd.round() as u64 * u64::from(self.mss))),
            recovery: RecoveryMode::Controller,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        let c = &self.counters;
        out.push(("mode", f64::from(self.mode as u8)));
        out.push(("tbs_mbps", self.tracker.meter().mean(0)));
        out.push(("tbs_sd_mbps", self.tracker.meter().sd()));
        out.push(("frozen", f64::from(c.frozen)));
        out.push(("fallbacks", f64::from(c.fallbacks)));
        out.push(("doubts", f64::from(c.doubts)));
        out.push(("invalid", f64::from(c.invalid)));
        out.push(("cuts", f64::from(c.cuts)));
        out.push(("wired", f64::from(c.wired)));
        self.steer.snapshot(out);
    }

    fn name(&self) -> &'static str {
        self.steer.name()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
