//! Our controllers behind quinn's interface.
//!
//! quinn tells a controller of packets, hears a window and nothing else. What is lost on the way:
//!
//! - **Pacing rate.** quinn paces by itself, at 1.25 windows per smoothed RTT in bursts of ten packets or more, and asks no
//!   controller. A controller that steers by its rate (BBR, Copa) is held to its window, at a pace of quinn's.
//! - **CE counts and ECT(1).** quinn marks ECT(0) alone, takes any ECT(1) in the counts for corruption and tells of marks as
//!   a congestion event without a number. Classic answers work; a proportional controller (DCTCP, Prague) would answer each
//!   marked ACK as one mark, so ECN is left off for it.
//! - **Order.** Acknowledgments come before the losses that the same ACK shows, where our hosts tell losses first.
//! - **Probe timeouts** change nothing at the controller, as RFC 9002 has it.
//! - **Bytes** are those of QUIC packets, header and tag included (RFC 9002, 2), so a segment is a full UDP payload.
//!
//! RTT samples, delivery-rate samples, rounds and recovery are made here by the rules of the light model.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant as StdInstant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion;
use slackwater_control::{
    Ack, AnyController, Cause, CongestionEvent, Controller as _, EcnDelta, EcnMode, Intent,
    PathReport, PathView, RateSample, Recovery, Sent,
};
use slackwater_core::record::FlowSample;
use slackwater_core::{Bytes, Duration, Instant};

use crate::clock::{Epoch, duration};

/// UDP and IPv4 headers.
const BELOW: u32 = 28;

/// A packet that may still give a rate sample.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    sent: Instant,
    first_sent: Instant,
    delivered: u64,
    delivered_at: Instant,
    limited: bool,
}

/// What the acknowledgments of one frame add up to.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    bytes: u64,
    /// When the newest acknowledged packet left.
    sent: Option<Instant>,
    srtt: Duration,
}

/// A controller and what it is told from.
#[derive(Clone, Debug)]
pub struct State {
    epoch: Epoch,
    cc: AnyController,
    intent: Intent,
    mtu: u16,
    stamps: VecDeque<Stamp>,
    first_sent: Instant,
    delivered: u64,
    delivered_at: Instant,
    lost: u64,
    sent_total: u64,
    settled_total: u64,
    in_flight: u64,
    /// Bytes declared lost and marks told since the last acknowledgment.
    newly_lost: u64,
    marks: u32,
    batch: Batch,
    srtt: Duration,
    min_rtt: Duration,
    latest: Duration,
    newest_sample: Instant,
    round: u64,
    limited: bool,
    cwnd_limited: bool,
    usage_end: u64,
    ca: Recovery,
    recovery_at: Option<Instant>,
    /// Times at which losses made a congestion event.
    events: u64,
}

impl State {
    fn new(epoch: Epoch, cc: AnyController, mtu: u16) -> Self {
        Self {
            epoch,
            intent: cc.intent(),
            cc,
            mtu,
            stamps: VecDeque::new(),
            first_sent: Instant::ZERO,
            delivered: 0,
            delivered_at: Instant::ZERO,
            lost: 0,
            sent_total: 0,
            settled_total: 0,
            in_flight: 0,
            newly_lost: 0,
            marks: 0,
            batch: Batch::default(),
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            latest: Duration::ZERO,
            newest_sample: Instant::ZERO,
            round: 0,
            limited: false,
            cwnd_limited: false,
            usage_end: 0,
            ca: Recovery::Open,
            recovery_at: None,
            events: 0,
        }
    }

    fn path(&self) -> PathView {
        let mut v = PathView::default();
        v.srtt = self.srtt;
        v.min_rtt = self.min_rtt;
        v.mss = u32::from(self.mtu);
        v.wire_mss = u32::from(self.mtu) + BELOW;
        v.in_flight = Bytes(self.in_flight);
        v
    }

    /// At least two packets (RFC 9002, 7.2), and what quinn's 32-bit pacer can count where nothing limits.
    fn window(&self) -> u64 {
        let floor = 2 * u64::from(self.mtu);
        let most = u64::from(u32::MAX) - 1;
        self.intent.window.map_or(most, |w| w.0.clamp(floor, most))
    }

    /// The window has no room for another packet.
    fn full(&self) -> bool {
        self.in_flight + u64::from(self.mtu) > self.window()
    }

    fn on_sent(&mut self, now: Instant, bytes: u64) {
        let idle = self.in_flight == 0;
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        self.stamps.push_back(Stamp {
            sent: now,
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            limited: self.limited,
        });
        self.in_flight += bytes;
        self.sent_total += bytes;
        if self.full() {
            self.cwnd_limited = true;
            self.usage_end = self.sent_total;
        }
        let mut sent = Sent::default();
        sent.bytes = Bytes(bytes);
        sent.after_idle = idle;
        let path = self.path();
        self.cc.on_sent(now, &path, &sent);
        if idle {
            self.intent = self.cc.intent();
        }
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool) {
        let batch = core::mem::take(&mut self.batch);
        let Some(sent) = batch.sent else {
            self.in_flight = in_flight;
            return;
        };
        let prior = self.in_flight.max(in_flight + batch.bytes);
        self.in_flight = in_flight;
        self.settled_total += batch.bytes;
        self.delivered += batch.bytes;
        self.limited = app_limited;
        if self.settled_total >= self.usage_end {
            self.cwnd_limited = self.full();
        }
        let sample = (sent > self.newest_sample).then(|| now.since(sent));
        if let Some(rtt) = sample {
            self.newest_sample = sent;
            self.min_rtt = if self.srtt.is_zero() {
                rtt
            } else {
                self.min_rtt.min(rtt)
            };
            // quinn smooths after it tells of the acknowledgment: its value lacks this sample, and before the first one
            // it is a guess.
            self.srtt = if self.srtt.is_zero() { rtt } else { batch.srtt };
            self.latest = rtt;
        }
        let (rate, round) = self.rate(now, sent);
        if self.ca != Recovery::Open && self.recovery_at.is_none_or(|at| sent > at) {
            self.ca = Recovery::Open;
            let path = self.path();
            self.cc.on_recovered(now, &path);
        }
        let mut a = Ack::default();
        a.newly_acked = Bytes(batch.bytes);
        a.cumulative = Bytes(batch.bytes);
        a.newly_lost = Bytes(core::mem::take(&mut self.newly_lost));
        a.prior_in_flight = Bytes(prior);
        a.rtt = sample;
        a.rate = rate;
        a.ecn = EcnDelta {
            ce: core::mem::take(&mut self.marks),
            ..EcnDelta::default()
        };
        a.delivered = Bytes(self.delivered);
        a.lost = Bytes(self.lost);
        a.app_limited = app_limited;
        a.cwnd_limited = self.cwnd_limited;
        a.round_start = round;
        a.recovery = self.ca;
        a.una = self.settled_total;
        a.next = self.sent_total;
        let path = self.path();
        self.cc.on_ack(now, &path, &a);
        self.intent = self.cc.intent();
    }

    /// The delivery-rate sample of the newest acknowledged packet (draft-ietf-ccwg-bbr, 4.1), and whether a round began.
    fn rate(&mut self, now: Instant, sent: Instant) -> (Option<RateSample>, bool) {
        self.delivered_at = now;
        let mut newest = None;
        while let Some(stamp) = self.stamps.front().filter(|s| s.sent <= sent) {
            newest = Some(*stamp);
            self.stamps.pop_front();
        }
        let Some(s) = newest.filter(|s| s.sent == sent) else {
            return (None, false);
        };
        self.first_sent = s.sent;
        let round = s.delivered >= self.round;
        if round {
            self.round = self.delivered;
        }
        let interval = s.sent.since(s.first_sent).max(now.since(s.delivered_at));
        if interval < self.min_rtt || interval.is_zero() {
            return (None, round);
        }
        let mut rate = RateSample::default();
        rate.delivered = Bytes(self.delivered - s.delivered);
        rate.interval = interval;
        rate.prior_delivered = Bytes(s.delivered);
        rate.app_limited = s.limited;
        (Some(rate), round)
    }

    fn on_congestion(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        self.lost += lost;
        self.newly_lost += lost;
        self.settled_total += lost;
        self.in_flight = self.in_flight.saturating_sub(lost);
        self.marks += u32::from(lost == 0);
        let fresh = self.recovery_at.is_none_or(|at| sent > at);
        if !(fresh || persistent) {
            return;
        }
        let (ca, kind) = match (persistent, lost) {
            (true, _) => (Recovery::Timeout, Cause::Timeout),
            (_, 0) => (Recovery::Cwr, Cause::Ecn),
            _ => (Recovery::Fast, Cause::Loss),
        };
        self.events += u64::from(lost > 0);
        (self.ca, self.recovery_at) = (ca, Some(now));
        let event = CongestionEvent::new(
            kind,
            Bytes(lost),
            Bytes(self.in_flight + lost),
            self.sent_total,
        );
        let path = self.path();
        self.cc.on_congestion(now, &path, &event);
        self.intent = self.cc.intent();
    }

    /// The base of its times.
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Explicit feedback.
    pub fn on_report(&mut self, now: Instant, report: &PathReport) {
        let path = self.path();
        self.cc.on_report(now, &path, report);
        self.intent = self.cc.intent();
    }

    /// Calls the controller's timer where it is due.
    pub fn on_timer(&mut self, now: Instant) {
        if self.cc.next_timer().is_some_and(|t| t <= now) {
            let path = self.path();
            self.cc.on_timer(now, &path);
            self.intent = self.cc.intent();
        }
    }

    /// The controller's timer.
    pub fn next_timer(&self) -> Option<Instant> {
        self.cc.next_timer()
    }

    /// The controller.
    pub const fn controller(&self) -> &AnyController {
        &self.cc
    }

    /// Bytes of packets that were acknowledged.
    pub const fn delivered(&self) -> Bytes {
        Bytes(self.delivered)
    }

    /// Packets may leave as ECT(0): somebody wants classic ECN.
    pub const fn wants_ecn(&self) -> bool {
        matches!(self.intent.ecn, EcnMode::Classic)
    }

    /// What a record shows. quinn does not say which stream bytes are acknowledged: `acked` is zero.
    pub fn sample(&self) -> FlowSample {
        let mut s = FlowSample::default();
        s.cwnd = Bytes(self.window());
        s.ssthresh = self.intent.ssthresh;
        s.in_flight = Bytes(self.in_flight);
        s.srtt = self.srtt;
        s.rtt = self.latest;
        s.min_rtt = self.min_rtt;
        s
    }
}

/// A [`State`] that quinn's connection and the host share.
#[derive(Clone, Debug)]
pub struct Shared(Arc<Mutex<State>>);

impl Shared {
    /// `cc`, before anything happened; `mtu` is a full UDP payload, which is the segment that `cc` was built with.
    pub fn new(epoch: Epoch, cc: AnyController, mtu: u16) -> Self {
        Self(Arc::new(Mutex::new(State::new(epoch, cc, mtu))))
    }

    /// The state.
    pub fn get(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no holder panics")
    }
}

/// Implements quinn's controller, and the factory of one connection's: whoever holds the [`Shared`] can tell it of reports
/// and timers. See [`Factory`] for hosts of several connections.
#[derive(Clone, Debug)]
pub struct Adapter(pub Shared);

impl congestion::ControllerFactory for Adapter {
    fn build(self: Arc<Self>, _: StdInstant, mtu: u16) -> Box<dyn congestion::Controller> {
        self.0.get().mtu = mtu;
        Box::new((*self).clone())
    }
}

/// Gives each connection a controller of its own: what a host that keeps no account of its connections hands to
/// `TransportConfig::congestion_controller_factory`, quinn's as well as quinn-proto's.
///
/// The controllers' own timers are not called (quinn has none to offer), nor do reports reach them: `slackwater quic serve`
/// keeps a [`Shared`] for each connection instead.
#[derive(Debug)]
pub struct Factory {
    epoch: Epoch,
    controller: Mutex<AnyController>,
}

impl Factory {
    /// Copies `controller`, built for segments of the path's UDP payload, for each connection.
    pub fn new(controller: AnyController) -> Self {
        Self {
            epoch: Epoch::new(),
            controller: Mutex::new(controller),
        }
    }
}

impl congestion::ControllerFactory for Factory {
    fn build(self: Arc<Self>, _: StdInstant, mtu: u16) -> Box<dyn congestion::Controller> {
        let controller = self.controller.lock().expect("no holder panics").clone();
        Box::new(Adapter(Shared::new(self.epoch, controller, mtu)))
    }
}

impl congestion::Controller for Adapter {
    fn on_sent(&mut self, now: StdInstant, bytes: u64, _: u64) {
        let mut state = self.0.get();
        let now = state.epoch.simulated(now);
        state.on_sent(now, bytes);
    }

    fn on_ack(&mut self, _: StdInstant, sent: StdInstant, bytes: u64, _: bool, rtt: &RttEstimator) {
        let mut state = self.0.get();
        let sent = state.epoch.simulated(sent);
        let batch = &mut state.batch;
        batch.bytes += bytes;
        batch.sent = batch.sent.max(Some(sent));
        batch.srtt = duration(rtt.get());
    }

    fn on_end_acks(&mut self, now: StdInstant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        let mut state = self.0.get();
        let now = state.epoch.simulated(now);
        state.on_end_acks(now, in_flight, app_limited);
    }

    fn on_congestion_event(
        &mut self,
        now: StdInstant,
        sent: StdInstant,
        persistent: bool,
        lost: u64,
    ) {
        let mut state = self.0.get();
        let (now, sent) = (state.epoch.simulated(now), state.epoch.simulated(sent));
        state.on_congestion(now, sent, persistent, lost);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.0.get().mtu = mtu;
    }

    /// quinn sends only what leaves its count below this; RFC 9002, 7 lets the count reach the window.
    fn window(&self) -> u64 {
        self.0.get().window() + 1
    }

    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        let state = self.0.get().clone();
        Box::new(Self(Shared(Arc::new(Mutex::new(state)))))
    }

    fn initial_window(&self) -> u64 {
        self.0.get().window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
