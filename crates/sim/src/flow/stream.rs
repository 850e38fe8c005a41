//! An application over a connection of whatever transport: it writes, waits for room, and may open a new connection for
//! each message.

use slackwater_control::{AnyController, Controller as _, PathReport};
use slackwater_core::record::FlowSample;
use slackwater_core::{Body, Bytes, Draw, FlowId, Instant, Packet};
use slackwater_signal::{Counters, ReportBody};
use slackwater_transport::app::{App, Message};
use slackwater_transport::quic::{self, Config as QuicConfig};
use slackwater_transport::tcp::{Config as TcpConfig, Endpoint};

use super::end::{End, HostEvents, Io};
use super::purpose;

/// The sending end of a connection, as an application drives it.
pub trait SendingEnd: Sized {
    /// What its transport is configured with.
    type Config: Clone + core::fmt::Debug;
    /// The end of connection `n` of a flow.
    fn fresh(fresh: &Fresh<Self::Config>, n: u64) -> Self;
    /// Opens the connection.
    fn connect(&mut self, now: Instant, out: &mut Vec<Packet>);
    /// Hands over up to `bytes`; returns how many were taken.
    fn write(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64;
    /// Endless data, from the next event on.
    fn set_bulk(&mut self, on: bool);
    /// A packet arrived.
    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Vec<Packet>);
    /// A report arrived beside the connection.
    fn on_report(&mut self, now: Instant, report: &PathReport, out: &mut Vec<Packet>);
    /// A deadline may have passed.
    fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>);
    /// When to call [`SendingEnd::on_timer`].
    fn next_timer(&self) -> Option<Instant>;
    /// Its state; counters are those of this connection.
    fn sample(&self) -> FlowSample;
    /// The transport counts what is acknowledged.
    const COUNTS_ACKED: bool = true;
    /// Appends the controller's named internals.
    fn internals(&self, out: &mut Vec<(&'static str, f64)>);
    /// The TCP endpoint, where it is one.
    fn tcp(&self) -> Option<&Endpoint> {
        None
    }
}

/// What a new connection is made of.
#[derive(Clone, Debug)]
pub struct Fresh<C> {
    pub(super) flow: FlowId,
    pub(super) up: bool,
    pub(super) config: C,
    pub(super) controller: AnyController,
    pub(super) draw: Draw,
}

macro_rules! forward {
    () => {
        #[inline]
        fn connect(&mut self, now: Instant, out: &mut Vec<Packet>) {
            Self::connect(self, now, out);
        }
        #[inline]
        fn write(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64 {
            Self::write(self, now, bytes, out)
        }
        fn set_bulk(&mut self, on: bool) {
            Self::set_bulk(self, on);
        }
        #[inline]
        fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Vec<Packet>) {
            Self::on_packet(self, now, packet, out);
        }
        fn on_report(&mut self, now: Instant, report: &PathReport, out: &mut Vec<Packet>) {
            Self::on_report(self, now, report, out);
        }
        #[inline]
        fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
            Self::on_timer(self, now, out);
        }
        #[inline]
        fn next_timer(&self) -> Option<Instant> {
            Self::next_timer(self)
        }
        fn sample(&self) -> FlowSample {
            Self::sample(self)
        }
    };
}

impl SendingEnd for Endpoint {
    type Config = TcpConfig;
    fn fresh(f: &Fresh<TcpConfig>, n: u64) -> Self {
        let draw = f.draw.fork(purpose::CLIENT, n);
        Self::client(f.flow, f.up, &f.config, f.controller.clone(), draw)
    }
    fn internals(&self, out: &mut Vec<(&'static str, f64)>) {
        self.controller().snapshot(out);
    }
    fn tcp(&self) -> Option<&Endpoint> {
        Some(self)
    }
    forward!();
}

impl SendingEnd for quic::Sender {
    type Config = QuicConfig;
    fn fresh(f: &Fresh<QuicConfig>, n: u64) -> Self {
        let draw = f.draw.fork(purpose::CLIENT, n);
        let cc = f.controller.clone();
        Self::new(f.flow, f.up, n as u16, &f.config, cc, draw)
    }
    fn internals(&self, out: &mut Vec<(&'static str, f64)>) {
        self.controller().snapshot(out);
    }
    forward!();
}

impl SendingEnd for slackwater_quic::Sender {
    type Config = (QuicConfig, slackwater_quic::Mailboxes);
    // Quinn does not tell its application.
    const COUNTS_ACKED: bool = false;
    fn fresh(f: &Fresh<Self::Config>, n: u64) -> Self {
        let draw = f.draw.fork(purpose::CLIENT, n);
        let cc = f.controller.clone();
        let (config, mailboxes) = &f.config;
        Self::new(f.flow, f.up, n as u16, config, cc, draw, mailboxes.clone())
    }
    fn internals(&self, out: &mut Vec<(&'static str, f64)>) {
        self.snapshot(out);
    }
    forward!();
}

/// A datagram with explicit feedback, in place of a packet of the transport.
#[inline]
pub(super) const fn carries_report(body: &Body) -> bool {
    matches!(body, Body::Report(_) | Body::Counters(_))
}

/// The feedback of such a datagram; `None` where it cannot be read.
pub(super) fn report_of(body: &Body) -> Option<PathReport> {
    match body {
        Body::Report(bytes) => ReportBody(*bytes).report(),
        Body::Counters(octets) => Counters::decode(octets).map(PathReport::Counters),
        _ => None,
    }
}

/// An application over a connection.
#[derive(Debug)]
pub struct StreamSender<E: SendingEnd> {
    endpoint: E,
    app: App,
    /// The application's next action, `MAX` for none; kept here because asking for it is on the hot path.
    app_timer: Instant,
    start: Instant,
    /// When endless data ends; `MAX` for other data, and once it has ended.
    stop: Instant,
    opened: bool,
    /// Bytes that the send buffer has not taken.
    pending: u64,
    /// Bytes of all messages so far.
    written: u64,
    /// Bytes acknowledged, retransmissions and timeouts on earlier connections.
    before: (Bytes, u64, u64),
    connections: u64,
    fresh: Fresh<E::Config>,
}

impl<E: SendingEnd> StreamSender<E> {
    pub(super) fn new(fresh: Fresh<E::Config>, app: App, start: Instant, stop: Instant) -> Self {
        Self {
            endpoint: E::fresh(&fresh, 0),
            app_timer: Instant::MAX,
            start,
            stop: if app.is_bulk() { stop } else { Instant::MAX },
            app,
            opened: false,
            pending: 0,
            written: 0,
            before: (Bytes::ZERO, 0, 0),
            connections: 0,
            fresh,
        }
    }

    /// The connection's end.
    pub const fn endpoint(&self) -> &E {
        &self.endpoint
    }

    /// The state of the present connection; counters are those of all connections.
    fn total(&self) -> FlowSample {
        let mut sample = self.endpoint.sample();
        sample.acked += self.before.0;
        sample.retransmits += self.before.1;
        sample.timeouts += self.before.2;
        sample
    }

    fn send(
        &mut self,
        now: Instant,
        message: Message,
        out: &mut Vec<Packet>,
        events: &mut HostEvents,
    ) {
        if self.app.reconnects() {
            self.reconnect(now, out);
        }
        self.written += message.bytes;
        self.pending += message.bytes;
        if let Some(start) = message.ends {
            events.messages.push((self.written, start, message.total));
        }
        self.offer(now, out);
    }

    fn reconnect(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.connections > 0 {
            let so_far = self.total();
            self.before = (so_far.acked, so_far.retransmits, so_far.timeouts);
            self.endpoint = E::fresh(&self.fresh, self.connections);
        }
        self.connections += 1;
        self.endpoint.connect(now, out);
    }

    fn offer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.pending > 0 {
            self.pending -= self.endpoint.write(now, self.pending, out);
        }
    }
}

impl<E: SendingEnd + core::fmt::Debug + Send> End for StreamSender<E>
where
    E::Config: Send,
{
    #[inline]
    fn on_packet(&mut self, now: Instant, packet: &Packet, io: &mut Io<'_>) {
        if carries_report(&packet.body) {
            if let Some(report) = report_of(&packet.body) {
                self.endpoint.on_report(now, &report, io.packets);
            }
        } else {
            self.endpoint.on_packet(now, packet, io.packets);
        }
        if self.pending > 0 {
            self.offer(now, io.packets);
        }
    }

    fn on_timer(&mut self, now: Instant, io: &mut Io<'_>) {
        if !self.opened && now >= self.start {
            self.opened = true;
            self.app_timer = self.app.next_timer().unwrap_or(Instant::MAX);
            self.endpoint.set_bulk(self.app.is_bulk());
            if !self.app.reconnects() {
                self.endpoint.connect(now, io.packets);
            }
        }
        if now >= self.stop {
            self.endpoint.set_bulk(false);
            self.stop = Instant::MAX;
        }
        self.endpoint.on_timer(now, io.packets);
        while self.app_timer <= now {
            let message = self.app.on_timer(now);
            self.app_timer = self.app.next_timer().unwrap_or(Instant::MAX);
            if let Some(message) = message {
                self.send(now, message, io.packets, io.events);
            }
        }
    }

    #[inline]
    fn next_timer(&self) -> Option<Instant> {
        if !self.opened {
            return Some(self.start);
        }
        let next = self.endpoint.next_timer().unwrap_or(Instant::MAX);
        let next = next.min(self.app_timer).min(self.stop);
        (next != Instant::MAX).then_some(next)
    }

    fn on_delivered(&mut self, now: Instant) {
        self.app.on_delivered(now);
        self.app_timer = self.app.next_timer().unwrap_or(Instant::MAX);
    }

    fn sample(&self) -> Option<FlowSample> {
        Some(self.total())
    }

    fn acked(&self) -> Option<Bytes> {
        E::COUNTS_ACKED.then(|| self.total().acked)
    }

    fn internals(&self, out: &mut Vec<(&'static str, f64)>) {
        self.endpoint.internals(out);
    }

    fn tcp(&self) -> Option<&Endpoint> {
        self.endpoint.tcp()
    }
}
