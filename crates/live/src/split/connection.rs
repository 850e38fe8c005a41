//! One connection: the sender, and how far the kernel's half has told of it.

use slackwater_control::phy::ebb::{Ebb, Order};
use slackwater_control::{
    Ack, Cause, CongestionEvent, Controller as _, PathReport, PathView, Sent,
};
use slackwater_core::{Bytes, Duration, Instant};
use slackwater_signal::Counters;

use super::connections::Peer;
use super::event::Event;

/// Segments of one sample that are given to the sender one by one at most.
const SEGMENTS: u64 = 1_000;
/// An order is renewed when it is so old: the kernel passes over those of 300 ms (`EBB_STALE_NS` of `bpf/ebb_core.h`).
const RENEWED: Duration = Duration::from_millis(40);

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    ebb: Ebb,
    /// Its ends.
    pub(super) peer: Peer,
    /// The host as the last sample has it.
    path: PathView,
    /// Payload bytes that were sent in all, and the segments that carried them.
    sent: u64,
    segments: u64,
    /// When the last of them had left.
    sent_at: Instant,
    /// Payload bytes that could leave after the last sample.
    ready: u64,
    /// When that sample was taken.
    sampled: Instant,
    /// Of `ready`, what reports have shown at the radio.
    seen: u64,
    /// When the last report came that showed some.
    seen_at: Instant,
    /// Payload bytes that arrived.
    arrived: u64,
    /// Retransmission timeouts.
    timeouts: u32,
    /// The last order that went out, and when.
    order: Option<(Instant, Order)>,
    /// A report or a timer came since.
    due: bool,
    /// Where it stands on the [`Agenda`](super::agenda::Agenda).
    pub(super) planned: Option<Instant>,
}

impl Connection {
    pub(super) fn new(ebb: Ebb, peer: Peer) -> Self {
        Self {
            ebb,
            peer,
            path: PathView::default(),
            sent: 0,
            segments: 0,
            sent_at: Instant::ZERO,
            ready: 0,
            sampled: Instant::ZERO,
            seen: 0,
            seen_at: Instant::ZERO,
            arrived: 0,
            timeouts: 0,
            order: None,
            due: false,
            planned: None,
        }
    }

    /// A report or a timer came since the last order.
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    /// Payload bytes of a full segment; zero before the first sample.
    pub(super) const fn mss(&self) -> u32 {
        self.path.mss
    }

    /// A sample of it, whose last bytes were sent at `sent_at`.
    pub(super) fn on_sample(&mut self, now: Instant, sent_at: Instant, event: &Event) {
        if event.mss == 0 || event.wire < event.mss {
            return;
        }
        self.path.srtt = Duration::from_micros(event.srtt_us.into());
        self.path.min_rtt = Duration::from_micros(event.min_rtt_us.into());
        self.path.mss = event.mss;
        self.path.wire_mss = event.wire;
        self.path.in_flight = Bytes(u64::from(event.in_flight) * u64::from(event.mss));

        self.sent_at = sent_at.max(self.sent_at);
        self.settle(now, event);

        if event.timeouts != self.timeouts {
            self.timeouts = event.timeouts;
            let timeout =
                CongestionEvent::new(Cause::Timeout, Bytes(0), self.path.in_flight, event.sent);
            self.ebb.on_congestion(now, &self.path, &timeout);
        }
        if let Some(newly) = event.arrived.checked_sub(self.arrived).filter(|n| *n > 0) {
            self.arrived = event.arrived;
            let mut ack = Ack::default();
            ack.newly_acked = Bytes(newly);
            ack.rtt = Some(self.path.srtt);
            ack.delivered = Bytes(self.arrived);
            self.ebb.on_ack(now, &self.path, &ack);
        }
    }

    /// What has left by a sample, less what a report has shown before.
    fn settle(&mut self, now: Instant, event: &Event) {
        let new = event.sent.saturating_sub(self.sent);
        let seen = self.seen.min(new);
        let pieces = event.segments.saturating_sub(self.segments);
        let before = seen.div_ceil(u64::from(self.path.mss));
        self.sent = self.sent.max(event.sent);
        self.segments = self.segments.max(event.segments);
        self.seen -= seen;
        self.on_sent(self.sent_at, new - seen, pieces.saturating_sub(before));

        if now >= self.seen_at && self.seen > 0 {
            // The sample holds all that the report can have shown.
            let others = core::mem::take(&mut self.seen);
            self.ebb.take_back(now, others);
        }
        self.ready = event.ready.into();
        self.sampled = now;
    }

    /// `bytes` of payload left at `at` in `pieces`.
    fn on_sent(&mut self, at: Instant, mut bytes: u64, pieces: u64) {
        let mut pieces = pieces.clamp(1, SEGMENTS);
        // Each has headers of its own.
        while bytes > 0 {
            let piece = bytes.div_ceil(pieces);
            let mut one = Sent::default();
            one.bytes = Bytes(piece);
            self.ebb.on_sent(at, &self.path, &one);
            bytes -= piece;
            pieces -= u64::from(pieces > 1);
        }
    }

    /// A report of it.
    pub(super) fn on_report(&mut self, now: Instant, counters: Counters) {
        // No sample has what left after the last one, such as a first flight of ten packets. The radio may have taken it by now.
        let mss = u64::from(self.path.mss.max(1));
        let left = self.ready.saturating_sub(self.seen) / mss * mss;
        let seen = self.ebb.unseen(now, &counters).min(left);
        if seen > 0 {
            self.seen += seen;
            self.seen_at = now;
            self.on_sent(self.sampled, seen, seen / mss);
        }

        self.ebb
            .on_report(now, &self.path, &PathReport::Counters(counters));
        self.due = true;
    }

    /// When it is to be looked at again: the sender's own timer, or an order that is to be renewed.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        let steered = self.order.filter(|(_, order)| order.steers);
        let renewed = steered.map(|(at, _)| at + RENEWED);
        self.ebb.next_timer().into_iter().chain(renewed).min()
    }

    /// The time has come, or not yet.
    pub(super) fn on_timer(&mut self, now: Instant) {
        if self.ebb.next_timer().is_some_and(|at| at <= now) {
            self.ebb.on_timer(now, &self.path);
            self.due = true;
        }
    }

    /// What it orders at `now`, where the kernel does not have it yet. The order of a radio is renewed: it ages.
    pub(super) fn order(&mut self, now: Instant) -> Option<Order> {
        let steered = self.order.filter(|(_, order)| order.steers);
        let aged = steered.is_some_and(|(at, _)| now.since(at) >= RENEWED);
        if !self.due && !aged {
            return None;
        }
        let order = self.ebb.order(self.sent + self.seen);
        self.due = false;
        self.order = Some((now, order));
        (order.steers || steered.is_some()).then_some(order)
    }

    /// Its internals.
    pub(super) fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        self.ebb.snapshot(out);
    }
}
