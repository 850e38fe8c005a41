//! The ends of one connection of a web page: the UE asks, the server answers.

use std::collections::VecDeque;

use slackwater_core::record::FlowSample;
use slackwater_core::{Bytes, Instant, Packet, Proto};
use slackwater_transport::app::Fetch;
use slackwater_transport::tcp::{Config as TcpConfig, Endpoint};

use super::{Fresh, HostEvents, SendingEnd as _, TcpReceiver};

/// The UE's end: opens connections, sends requests and counts objects.
#[derive(Debug)]
pub struct PageClient {
    pub(super) endpoint: Endpoint,
    connections: u64,
    /// Bytes that came on earlier connections.
    before: u64,
    /// Where in the byte stream each object that was asked for ends.
    ends: VecDeque<u64>,
    end: u64,
    /// Request bytes that the send buffer has not taken.
    pending: u64,
    request: u64,
    fresh: Fresh<TcpConfig>,
}

/// The server's end: answers each request with its object.
#[derive(Debug)]
pub struct PageServer {
    /// Takes requests, and connections as they come.
    pub(super) requests: TcpReceiver,
    request: u64,
    /// Objects whose requests are on their way.
    asked: VecDeque<u64>,
    /// Request bytes of all objects answered so far.
    answered: u64,
    /// Object bytes that the send buffer has not taken.
    pending: u64,
    /// Bytes acknowledged, segments repeated and timeouts on earlier connections.
    before: (u64, u64, u64),
}

impl PageClient {
    pub(super) fn new(fresh: Fresh<TcpConfig>, request: Bytes) -> Self {
        Self {
            endpoint: Endpoint::fresh(&fresh, 0),
            connections: 0,
            before: 0,
            ends: VecDeque::new(),
            end: 0,
            pending: 0,
            request: request.get().max(1),
            fresh,
        }
    }

    pub(super) fn delivered(&self) -> u64 {
        self.before + self.endpoint.delivered()
    }

    /// Asks for an object.
    pub(crate) fn fetch(&mut self, now: Instant, fetch: &Fetch, out: &mut Vec<Packet>) {
        if fetch.opens {
            self.open(now, out);
        }
        self.end += fetch.bytes;
        self.ends.push_back(self.end);
        self.pending += self.request;
        self.pending -= self.endpoint.write(now, self.pending, out);
    }

    fn open(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.connections > 0 {
            // Every object has arrived; acknowledgments of the last requests may be missing and are not waited for.
            self.before += self.endpoint.delivered();
            self.endpoint = Endpoint::fresh(&self.fresh, self.connections);
            self.pending = 0;
        }
        self.connections += 1;
        self.endpoint.connect(now, out);
    }

    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        packet: &Packet,
        out: &mut Vec<Packet>,
        events: &mut HostEvents,
    ) {
        self.endpoint.on_packet(now, packet, out);
        if self.pending > 0 {
            self.pending -= self.endpoint.write(now, self.pending, out);
        }
        let delivered = self.delivered();
        while self.ends.front().is_some_and(|end| *end <= delivered) {
            self.ends.pop_front();
            events.objects += 1;
        }
    }
}

impl PageServer {
    pub(super) fn new(fresh: Fresh<TcpConfig>, request: Bytes) -> Self {
        Self {
            requests: TcpReceiver::new(fresh),
            request: request.get().max(1),
            asked: VecDeque::new(),
            answered: 0,
            pending: 0,
            before: (0, 0, 0),
        }
    }

    pub(super) fn sample(&self) -> FlowSample {
        let mut sample = self.requests.endpoint.sample();
        sample.acked += Bytes(self.before.0);
        sample.retransmits += self.before.1;
        sample.timeouts += self.before.2;
        sample
    }

    /// A request for `bytes` is on its way.
    pub(crate) fn expect(&mut self, bytes: u64) {
        self.asked.push_back(bytes);
    }

    pub(super) fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Vec<Packet>) {
        if packet.proto != Proto::Tcp {
            return;
        }
        if self.requests.opens_anew(packet) {
            let endpoint = &self.requests.endpoint;
            let stats = endpoint.stats();
            self.before.0 += endpoint.acked();
            self.before.1 += stats.retransmits;
            self.before.2 += stats.timeouts;
            self.pending = 0;
        }
        self.requests.on_packet(now, packet, out);
        while self.answered + self.request <= self.requests.delivered() {
            let Some(bytes) = self.asked.pop_front() else {
                break;
            };
            self.answered += self.request;
            self.pending += bytes;
        }
        if self.pending > 0 {
            let endpoint = &mut self.requests.endpoint;
            self.pending -= endpoint.write(now, self.pending, out);
        }
    }
}
