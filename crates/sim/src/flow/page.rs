//! The ends of one connection of a web page: the UE asks, the server answers.

use std::collections::VecDeque;

use slackwater_control::{AnyController, PathReport};
use slackwater_core::record::FlowSample;
use slackwater_core::{Body, Bytes, Instant, Packet};
use slackwater_transport::app::Fetch;
use slackwater_transport::quic::{self, Config as QuicConfig};
use slackwater_transport::tcp::{Config as TcpConfig, Endpoint};

use super::end::{End, Io};
use super::stream::{carries_report, report_of};
use super::{Fresh, SendingEnd, TcpReceiver, purpose};

/// The end of a connection that opens it, asks, and takes what comes.
trait Asking: core::fmt::Debug + Send {
    /// Another connection, the flow's `n`th, takes this one's place and is opened.
    fn open(&mut self, now: Instant, n: u64, out: &mut Vec<Packet>);
    fn write(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64;
    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Vec<Packet>);
    fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>);
    fn next_timer(&self) -> Option<Instant>;
    /// Bytes that came on this connection, in order.
    fn delivered(&self) -> u64;
    /// The bytes `[start, end)` of this connection are with the application.
    fn holds(&self, _start: u64, end: u64) -> bool {
        end <= self.delivered()
    }
    fn tcp(&self) -> Option<&Endpoint> {
        None
    }
}

/// The end that is asked, for one connection after the other.
trait Answering: core::fmt::Debug + Send {
    /// True where the packet opened another connection in place of the last.
    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Vec<Packet>) -> bool;
    /// Explicit feedback for the controller.
    fn on_report(&mut self, now: Instant, report: &PathReport, out: &mut Vec<Packet>);
    fn write(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64;
    fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>);
    fn next_timer(&self) -> Option<Instant>;
    /// Bytes that came on all connections, in order.
    fn delivered(&self) -> u64;
    /// Its state; counters are those of all connections.
    fn sample(&self) -> FlowSample;
    fn internals(&self, out: &mut Vec<(&'static str, f64)>);
    fn tcp(&self) -> Option<&Endpoint> {
        None
    }
}

/// The UE's end: opens connections, sends requests and counts objects.
#[derive(Debug)]
pub struct PageClient {
    end: Box<dyn Asking>,
    connections: u64,
    /// Bytes that came on earlier connections.
    before: u64,
    /// Where the present connection begins in the flow's byte stream, and what was asked for ends.
    base: u64,
    asked: u64,
    /// Where in the byte stream each object that is not there lies.
    objects: VecDeque<(u64, u64)>,
    /// Request bytes that the send buffer has not taken.
    pending: u64,
    request: u64,
}

/// The server's end: answers each request with its object.
#[derive(Debug)]
pub struct PageServer {
    /// Takes requests, and connections as they come.
    end: Box<dyn Answering>,
    request: u64,
    /// Objects whose requests are on their way.
    asked: VecDeque<u64>,
    /// Request bytes of all objects answered so far.
    answered: u64,
    /// Object bytes that the send buffer has not taken.
    pending: u64,
}

impl PageClient {
    fn new(end: Box<dyn Asking>, request: Bytes) -> Self {
        Self {
            end,
            connections: 0,
            before: 0,
            base: 0,
            asked: 0,
            objects: VecDeque::new(),
            pending: 0,
            request: request.get().max(1),
        }
    }

    pub(super) fn tcp(fresh: Fresh<TcpConfig>, request: Bytes) -> Self {
        let endpoint = Endpoint::fresh(&fresh, 0);
        Self::new(Box::new(TcpClient { endpoint, fresh }), request)
    }

    pub(super) fn quic(fresh: Fresh<QuicConfig>, request: Bytes) -> Self {
        let client = quic_client(&fresh, 0);
        Self::new(Box::new(QuicClient { client, fresh }), request)
    }

    /// Asks for an object.
    pub(crate) fn fetch(&mut self, now: Instant, fetch: &Fetch, out: &mut Vec<Packet>) {
        if fetch.opens {
            self.open(now, out);
        }
        let start = self.asked - self.base;
        self.objects.push_back((start, start + fetch.bytes));
        self.asked += fetch.bytes;
        self.pending += self.request;
        self.offer(now, out);
    }

    fn open(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.connections > 0 {
            // Every object has arrived; acknowledgments of the last requests may be missing and are not waited for.
            self.before += self.end.delivered();
            self.base = self.asked;
            self.pending = 0;
        }
        self.end.open(now, self.connections, out);
        self.connections += 1;
    }

    fn offer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.pending > 0 {
            self.pending -= self.end.write(now, self.pending, out);
        }
    }
}

impl End for PageClient {
    fn on_packet(&mut self, now: Instant, packet: &Packet, io: &mut Io<'_>) {
        self.end.on_packet(now, packet, io.packets);
        self.offer(now, io.packets);
        let waited = self.objects.len();
        self.objects
            .retain(|(start, end)| !self.end.holds(*start, *end));
        io.events.objects += (waited - self.objects.len()) as u32;
    }
    fn on_timer(&mut self, now: Instant, io: &mut Io<'_>) {
        self.end.on_timer(now, io.packets);
    }
    fn next_timer(&self) -> Option<Instant> {
        self.end.next_timer()
    }
    fn delivered(&self) -> Bytes {
        Bytes(self.before + self.end.delivered())
    }
    fn tcp(&self) -> Option<&Endpoint> {
        self.end.tcp()
    }
}

impl PageServer {
    fn new(end: Box<dyn Answering>, request: Bytes) -> Self {
        Self {
            end,
            request: request.get().max(1),
            asked: VecDeque::new(),
            answered: 0,
            pending: 0,
        }
    }

    pub(super) fn tcp(fresh: Fresh<TcpConfig>, request: Bytes) -> Self {
        let requests = TcpReceiver::new(fresh);
        let before = (0, 0, 0);
        Self::new(Box::new(TcpServer { requests, before }), request)
    }

    pub(super) fn quic(fresh: &Fresh<QuicConfig>, request: Bytes) -> Self {
        let draw = fresh.draw.fork(purpose::SERVER, 0);
        let cc = fresh.controller.clone();
        let server = quic::Server::new(fresh.flow, fresh.up, &fresh.config, cc, draw);
        Self::new(Box::new(server), request)
    }

    /// A request for `bytes` is on its way.
    pub(crate) fn expect(&mut self, bytes: u64) {
        self.asked.push_back(bytes);
    }
}

impl End for PageServer {
    fn on_packet(&mut self, now: Instant, packet: &Packet, io: &mut Io<'_>) {
        if carries_report(&packet.body) {
            if let Some(report) = report_of(&packet.body) {
                self.end.on_report(now, &report, io.packets);
            }
        } else if self.end.on_packet(now, packet, io.packets) {
            self.pending = 0;
        }
        while self.answered + self.request <= self.end.delivered() {
            let Some(bytes) = self.asked.pop_front() else {
                break;
            };
            self.answered += self.request;
            self.pending += bytes;
        }
        if self.pending > 0 {
            self.pending -= self.end.write(now, self.pending, io.packets);
        }
    }
    fn on_timer(&mut self, now: Instant, io: &mut Io<'_>) {
        self.end.on_timer(now, io.packets);
    }
    fn next_timer(&self) -> Option<Instant> {
        self.end.next_timer()
    }
    fn sample(&self) -> Option<FlowSample> {
        Some(self.end.sample())
    }
    fn internals(&self, out: &mut Vec<(&'static str, f64)>) {
        self.end.internals(out);
    }
    fn tcp(&self) -> Option<&Endpoint> {
        self.end.tcp()
    }
}

#[derive(Debug)]
struct TcpClient {
    endpoint: Endpoint,
    fresh: Fresh<TcpConfig>,
}

impl Asking for TcpClient {
    fn open(&mut self, now: Instant, n: u64, out: &mut Vec<Packet>) {
        if n > 0 {
            self.endpoint = Endpoint::fresh(&self.fresh, n);
        }
        self.endpoint.connect(now, out);
    }
    fn write(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64 {
        self.endpoint.write(now, bytes, out)
    }
    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Vec<Packet>) {
        self.endpoint.on_packet(now, packet, out);
    }
    fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.endpoint.on_timer(now, out);
    }
    fn next_timer(&self) -> Option<Instant> {
        self.endpoint.next_timer()
    }
    fn delivered(&self) -> u64 {
        self.endpoint.delivered()
    }
    fn tcp(&self) -> Option<&Endpoint> {
        Some(&self.endpoint)
    }
}

#[derive(Debug)]
struct TcpServer {
    requests: TcpReceiver,
    /// Bytes acknowledged, segments repeated and timeouts on earlier connections.
    before: (u64, u64, u64),
}

impl Answering for TcpServer {
    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Vec<Packet>) -> bool {
        let Body::Tcp(segment) = &packet.body else {
            return false;
        };
        let anew = self.requests.opens_anew(segment);
        if anew {
            let endpoint = &self.requests.endpoint;
            let stats = endpoint.stats();
            self.before.0 += endpoint.acked();
            self.before.1 += stats.retransmits;
            self.before.2 += stats.timeouts;
        }
        self.requests.on_packet(now, packet, out);
        anew
    }
    fn on_report(&mut self, now: Instant, report: &PathReport, out: &mut Vec<Packet>) {
        self.requests.endpoint.on_report(now, report, out);
    }
    fn write(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64 {
        self.requests.endpoint.write(now, bytes, out)
    }
    fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.requests.endpoint.on_timer(now, out);
    }
    fn next_timer(&self) -> Option<Instant> {
        self.requests.endpoint.next_timer()
    }
    fn delivered(&self) -> u64 {
        self.requests.delivered()
    }
    fn sample(&self) -> FlowSample {
        let mut sample = self.requests.endpoint.sample();
        sample.acked += Bytes(self.before.0);
        sample.retransmits += self.before.1;
        sample.timeouts += self.before.2;
        sample
    }
    fn internals(&self, out: &mut Vec<(&'static str, f64)>) {
        snapshot(self.requests.endpoint.controller(), out);
    }
    fn tcp(&self) -> Option<&Endpoint> {
        Some(&self.requests.endpoint)
    }
}

fn snapshot(controller: &AnyController, out: &mut Vec<(&'static str, f64)>) {
    use slackwater_control::Controller as _;
    controller.snapshot(out);
}

#[derive(Debug)]
struct QuicClient {
    client: quic::Client,
    fresh: Fresh<QuicConfig>,
}

fn quic_client(fresh: &Fresh<QuicConfig>, n: u64) -> quic::Client {
    let draw = fresh.draw.fork(purpose::CLIENT, n);
    let cc = fresh.controller.clone();
    quic::Client::new(fresh.flow, fresh.up, n as u16, &fresh.config, cc, draw)
}

impl Asking for QuicClient {
    fn open(&mut self, now: Instant, n: u64, out: &mut Vec<Packet>) {
        if n > 0 {
            self.client = quic_client(&self.fresh, n);
        }
        self.client.connect(now, out);
    }
    fn write(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64 {
        self.client.write(now, bytes, out)
    }
    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Vec<Packet>) {
        self.client.on_packet(now, packet, out);
    }
    fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.client.on_timer(now, out);
    }
    fn next_timer(&self) -> Option<Instant> {
        self.client.next_timer()
    }
    fn delivered(&self) -> u64 {
        self.client.delivered()
    }
    fn holds(&self, start: u64, end: u64) -> bool {
        self.client.holds(start, end)
    }
}

impl Answering for quic::Server {
    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Vec<Packet>) -> bool {
        Self::on_packet(self, now, packet, out)
    }
    fn on_report(&mut self, now: Instant, report: &PathReport, out: &mut Vec<Packet>) {
        Self::on_report(self, now, report, out);
    }
    fn write(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64 {
        Self::write(self, now, bytes, out)
    }
    fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        Self::on_timer(self, now, out);
    }
    fn next_timer(&self) -> Option<Instant> {
        Self::next_timer(self)
    }
    fn delivered(&self) -> u64 {
        Self::delivered(self)
    }
    fn sample(&self) -> FlowSample {
        Self::sample(self)
    }
    fn internals(&self, out: &mut Vec<(&'static str, f64)>) {
        snapshot(self.controller(), out);
    }
}
