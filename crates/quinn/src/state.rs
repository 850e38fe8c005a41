//! What a controller of ours is told, from what quinn tells.
//!
//! RTT samples, delivery-rate samples, rounds and recovery are made here by the rules of the simulator's own QUIC
//! (`slackwater_transport::quic`). Two things differ and stay: **probe timeouts** change nothing at the controller, as RFC
//! 9002 has it, and **bytes** are those of QUIC packets, header and tag included (RFC 9002, 2), so a segment is a full UDP
//! payload.

use std::collections::VecDeque;

use quinn_proto::EcnCodepoint;
use slackwater_control::{
    Ack, AnyController, Cause, CongestionEvent, Controller as _, EcnDelta, EcnMode, Intent, Pacer,
    PathReport, PathView, RateSample, Recovery, Sent,
};
use slackwater_core::record::FlowSample;
use slackwater_core::{Bytes, Duration, Instant, Rate};

use crate::clock::Epoch;
use crate::ecn::Counts;

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
pub(crate) struct Batch {
    pub(crate) bytes: u64,
    /// When the newest acknowledged packet left.
    pub(crate) sent: Option<Instant>,
    pub(crate) srtt: Duration,
}

/// An acknowledgment that the controller has not heard of: the losses and marks that it shows come first.
#[derive(Clone, Copy, Debug)]
struct Pending {
    now: Instant,
    bytes: u64,
    sent: Instant,
    prior: u64,
    sample: Option<Duration>,
    app_limited: bool,
}

/// A controller and what it is told from.
#[derive(Clone, Debug)]
pub struct State {
    pub(crate) epoch: Epoch,
    cc: AnyController,
    intent: Intent,
    pub(crate) mtu: u16,
    stamps: VecDeque<Stamp>,
    first_sent: Instant,
    delivered: u64,
    delivered_at: Instant,
    lost: u64,
    sent_total: u64,
    settled_total: u64,
    in_flight: u64,
    /// Bytes declared lost since the last acknowledgment.
    newly_lost: u64,
    pub(crate) batch: Batch,
    pending: Option<Pending>,
    /// How packets are marked.
    ecn: EcnMode,
    /// What the peer has counted, and what of it the controller was told.
    counted: Counts,
    told: Counts,
    packets: u64,
    /// Paces a window whose controller names no rate.
    paces: bool,
    pacer: Pacer,
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
    /// Bytes of packets that were encrypted, and not told of since.
    encrypted: u64,
}

impl State {
    pub(crate) fn new(epoch: Epoch, cc: AnyController, mtu: u16, ecn: EcnMode) -> Self {
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
            batch: Batch::default(),
            pending: None,
            ecn,
            counted: Counts::default(),
            told: Counts::default(),
            packets: 0,
            paces: true,
            pacer: Pacer::new(),
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
            encrypted: 0,
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

    /// At least two packets (RFC 9002, 7.2).
    pub(crate) fn window(&self) -> u64 {
        let floor = 2 * u64::from(self.mtu);
        self.intent.window.map_or(u64::MAX >> 1, |w| w.0.max(floor))
    }

    /// The window has no room for another packet.
    fn full(&self) -> bool {
        self.in_flight + u64::from(self.mtu) > self.window()
    }

    /// Whether a window whose controller names no rate is paced, at 1.25 windows per RTT (RFC 9002, 7.7); it is unless told
    /// otherwise. A controller's own rate always holds.
    pub const fn set_paced(&mut self, on: bool) {
        self.paces = on;
    }

    /// When another packet may leave: `now`, or later by the pacer; `None` where the window has no room.
    pub fn next_departure(&mut self, now: Instant) -> Option<Instant> {
        self.settle();
        let wire = Bytes(u64::from(u32::from(self.mtu) + BELOW));
        (!self.full()).then(|| self.pacer.earliest_departure(now, wire))
    }

    /// Takes the controller's intent over.
    fn follow(&mut self) {
        self.intent = self.cc.intent();
        if self.paces && self.intent.pacing.is_none() {
            let rate = self.window_rate();
            self.pacer.set_rate(rate, Bytes::ZERO);
        } else {
            self.pacer.follow(&self.intent);
        }
    }

    /// RFC 9002, 7.7, with N = 1.25: the window's wire bytes over the smoothed RTT.
    fn window_rate(&self) -> Option<Rate> {
        if self.srtt.is_zero() {
            return None;
        }
        // 1 GiB of window and the factor stay below 2^64.
        let window = self.intent.window?.0.min(1 << 30);
        let mtu = u64::from(self.mtu.max(1));
        let wire = window * (mtu + u64::from(BELOW)) / mtu;
        let bps = wire * 10_000_000_000 / self.srtt.as_nanos().max(1);
        Some(Rate::from_bps(bps))
    }

    /// A packet of `bytes` was encrypted, so it leaves. quinn may not report it.
    pub(crate) const fn on_encrypted(&mut self, bytes: u64) {
        self.encrypted += bytes;
    }

    /// quinn told of what left now.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u64) {
        // What quinn did not tell of left before.
        self.encrypted = self.encrypted.saturating_sub(bytes);
        self.catch_up(now);
        self.sent(now, bytes);
    }

    /// Counts what left and was not told of: probes of the path's MTU. They are in flight as others are (RFC 9002, 2), and
    /// the path and the peer count them. Not while quinn makes packets, since it tells of several at their end.
    fn catch_up(&mut self, now: Instant) {
        let bytes = core::mem::take(&mut self.encrypted);
        if bytes > 0 {
            self.sent(now, bytes);
        }
    }

    fn sent(&mut self, now: Instant, bytes: u64) {
        self.settle();
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
        self.packets += 1;
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
            self.follow();
        }
        self.pacer.on_sent(now, Bytes(bytes + u64::from(BELOW)));
    }

    /// A packet was acknowledged.
    pub(crate) fn on_packet_acked(&mut self, sent: Instant, bytes: u64, srtt: Duration) {
        self.settle();
        let batch = &mut self.batch;
        batch.bytes += bytes;
        batch.sent = batch.sent.max(Some(sent));
        batch.srtt = srtt;
    }

    /// All packets that one frame acknowledges are told. quinn tells of the losses and marks that it shows afterwards, so
    /// the controller hears of it with the next event ([`State::settle`]).
    pub(crate) fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool) {
        let batch = core::mem::take(&mut self.batch);
        let Some(sent) = batch.sent else {
            self.in_flight = in_flight;
            return;
        };
        let prior = self.in_flight.max(in_flight + batch.bytes);
        self.in_flight = in_flight;
        self.settled_total += batch.bytes;
        let sample = (sent > self.newest_sample).then(|| now.since(sent));
        if let Some(rtt) = sample {
            self.newest_sample = sent;
            self.min_rtt = if self.srtt.is_zero() {
                rtt
            } else {
                self.min_rtt.min(rtt)
            };
            // quinn smooths after it tells of the acknowledgment: its value lacks this sample, and before the first one
            // it is a guess. The sample joins it as RFC 9002, 5.3 has it, but for the peer's delay, which is not told.
            self.srtt = if self.srtt.is_zero() {
                rtt
            } else {
                (batch.srtt * 7 + rtt) / 8
            };
            self.latest = rtt;
        }
        if self.ca != Recovery::Open && self.recovery_at.is_none_or(|at| sent > at) {
            self.ca = Recovery::Open;
            let path = self.path();
            self.cc.on_recovered(now, &path);
        }
        self.pending = Some(Pending {
            now,
            bytes: batch.bytes,
            sent,
            prior,
            sample,
            app_limited,
        });
    }

    /// Tells the controller of the last acknowledgment, once: a host calls it when quinn has handled a datagram; every
    /// event and look of a later time does so too.
    pub fn settle(&mut self) {
        let Some(p) = self.pending.take() else {
            return;
        };
        self.delivered += p.bytes;
        self.limited = p.app_limited;
        if self.settled_total >= self.usage_end {
            self.cwnd_limited = self.full();
        }
        let (rate, round) = self.rate(p.now, p.sent);
        let mut a = Ack::default();
        a.newly_acked = Bytes(p.bytes);
        a.cumulative = Bytes(p.bytes);
        a.newly_lost = Bytes(core::mem::take(&mut self.newly_lost));
        a.prior_in_flight = Bytes(p.prior);
        a.rtt = p.sample;
        a.rate = rate;
        a.ecn = self.counts();
        a.delivered = Bytes(self.delivered);
        a.lost = Bytes(self.lost);
        a.app_limited = p.app_limited;
        a.cwnd_limited = self.cwnd_limited;
        a.round_start = round;
        a.recovery = self.ca;
        a.una = self.settled_total;
        a.next = self.sent_total;
        let path = self.path();
        self.cc.on_ack(p.now, &path, &a);
        self.follow();
    }

    /// The peer's counts, as an acknowledgment has them. Those of one that was overtaken are lower and change nothing.
    pub(crate) fn on_counts(&mut self, counts: Counts) {
        self.settle();
        // More than was ever sent: the peer counts what is not ours. quinn judges it (RFC 9000, 13.4.2.1).
        let plausible = counts.total() <= self.packets;
        if plausible && counts.total() > self.counted.total() {
            self.counted = counts;
        }
    }

    /// What was counted since the controller last heard.
    fn counts(&mut self) -> EcnDelta {
        let (new, old) = (self.counted, self.told);
        self.told = new;
        let more = |new: u64, old: u64| u32::try_from(new.saturating_sub(old)).unwrap_or(u32::MAX);
        EcnDelta {
            ce: more(new.ce, old.ce),
            ect0: more(new.ect0, old.ect0),
            ect1: more(new.ect1, old.ect1),
        }
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

    /// Packets were lost, or (`lost` is zero) marked.
    pub(crate) fn on_congestion(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        lost: u64,
    ) {
        // Of this very acknowledgment it goes before; what came at another time is over.
        if self.pending.is_some_and(|p| p.now != now) {
            self.settle();
        }
        let prior = self.pending.map_or(self.in_flight, |p| p.prior);
        self.lost += lost;
        self.newly_lost += lost;
        self.settled_total += lost;
        self.in_flight = self.in_flight.saturating_sub(lost);
        // A small share of marks does not answer a loss (RFC 8257, 3.5; RFC 9331, 4.3).
        let share = lost > 0 && self.ca == Recovery::Cwr && self.ecn.is_proportional();
        let fresh = share || self.recovery_at.is_none_or(|at| sent > at);
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
        let event = CongestionEvent::new(kind, Bytes(lost), Bytes(prior), self.sent_total);
        let path = self.path();
        self.cc.on_congestion(now, &path, &event);
        self.follow();
    }

    /// The base of its times.
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Explicit feedback.
    pub fn on_report(&mut self, now: Instant, report: &PathReport) {
        self.catch_up(now);
        self.settle();
        let path = self.path();
        self.cc.on_report(now, &path, report);
        self.follow();
    }

    /// Calls the controller's timer where it is due.
    pub fn on_timer(&mut self, now: Instant) {
        self.settle();
        if self.cc.next_timer().is_some_and(|t| t <= now) {
            let path = self.path();
            self.cc.on_timer(now, &path);
            self.follow();
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

    /// What packets leave as where quinn would mark them (RFC 9331, 4.1 for ECT(1)); quinn leaves its own mark out once the
    /// path or the peer fails the check of RFC 9000, 13.4.2.
    pub const fn codepoint(&self) -> Option<EcnCodepoint> {
        match self.ecn {
            EcnMode::Off => None,
            EcnMode::Classic | EcnMode::Dctcp => Some(EcnCodepoint::Ect0),
            EcnMode::L4s => Some(EcnCodepoint::Ect1),
        }
    }

    pub(crate) const fn sends_ect1(&self) -> bool {
        matches!(self.ecn, EcnMode::L4s)
    }

    /// What the peer has counted of the packets with data.
    pub const fn counted(&self) -> Counts {
        self.counted
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
        s.pacing = self.pacer.rate();
        s
    }
}
