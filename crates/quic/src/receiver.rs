//! The receiving end: a quinn server that reads what comes.

use std::sync::Arc;

use bytes::Bytes as Buffer;
use quinn_proto::{
    Dir, Endpoint, Event, ServerConfig, StreamEvent, StreamId, ValidationTokenConfig,
};
use slackwater_core::{Draw, Ecn, FlowId, Instant, Packet};
use slackwater_signal::ReportBody;

use crate::Config;
use crate::clock::{NoCalendar, late};
use crate::end::{self, End, Mailboxes, endpoint_config, transport_config};
use crate::null::{NoTokens, Null};

/// The receiving end of a flow.
#[derive(Debug)]
pub struct Receiver {
    end: End,
    cfg: Config,
    draw: Draw,
    stream: Option<StreamId>,
    /// Bytes delivered on earlier connections, and on this one.
    before: u64,
    delivered: u64,
    wake: Option<Instant>,
}

fn server(cfg: &Config, draw: Draw) -> Endpoint {
    let mut config = ServerConfig::new(
        Arc::new(Null {
            certificates: cfg.server_flight,
        }),
        Arc::new(NoTokens),
    );
    let mut tokens = ValidationTokenConfig::default();
    tokens.sent(0);
    config
        .transport_config(Arc::new(transport_config(cfg)))
        .validation_token_config(tokens)
        .migration(false)
        .time_source(Arc::new(NoCalendar));
    Endpoint::new(
        Arc::new(endpoint_config(draw)),
        Some(Arc::new(config)),
        true,
        None,
    )
}

impl Receiver {
    /// The end that receives the data of `flow`. `up`: its own packets travel from the UE to the network.
    pub fn new(flow: FlowId, up: bool, cfg: &Config, draw: Draw, mailboxes: Mailboxes) -> Self {
        let endpoint = server(cfg, draw.fork(0, 0));
        Self {
            end: End::new(endpoint, flow, up, 0, true, mailboxes),
            cfg: *cfg,
            draw,
            stream: None,
            before: 0,
            delivered: 0,
            wake: None,
        }
    }

    /// Stream bytes handed to the application, in order, on all connections.
    #[inline]
    pub const fn delivered(&self) -> u64 {
        self.before + self.delivered
    }

    /// A packet of this flow arrived.
    pub fn on_packet(&mut self, now: Instant, p: &Packet, out: &mut Vec<Packet>) {
        let Some(number) = end::connection(p) else {
            return;
        };
        if number != self.end.number {
            if self.end.number.wrapping_sub(number) < 1 << 15 {
                // Of a connection before this one.
                return;
            }
            self.end.number = number;
            self.end.endpoint = server(&self.cfg, self.draw.fork(0, u64::from(number)));
            self.end.connection = None;
            self.stream = None;
            self.before += core::mem::take(&mut self.delivered);
        }
        if let Some(incoming) = self.end.receive(now, p, out)
            && self.end.connection.is_none()
        {
            let at = self.end.epoch.std(now);
            let mut buffer = Vec::new();
            let accepted = self.end.endpoint.accept(incoming, at, &mut buffer, None);
            self.end.connection = accepted.ok();
        }
        self.drive(now, out);
    }

    /// A deadline may have passed.
    pub fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.end.run_timers(now);
        self.drive(now, out);
    }

    /// When [`Receiver::on_timer`] should be called.
    #[inline]
    pub const fn next_timer(&self) -> Option<Instant> {
        self.wake
    }

    /// Sends a report to the sender's controller in a DATAGRAM frame.
    pub fn send_report(&mut self, now: Instant, body: ReportBody, out: &mut Vec<Packet>) {
        if let Some((_, connection)) = &mut self.end.connection {
            let datagram = Buffer::copy_from_slice(&body.0);
            // Before the handshake ends nobody could read it; an older report that waits is of no use.
            let _ = connection.datagrams().send(datagram, true);
            self.drive(now, out);
        }
    }

    fn drive(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.end.exchange();
        self.read();
        self.end.transmit(now, Ecn::NotEct, out);
        let due = self.end.next_timer();
        self.wake = due.map(|t| late(now, t, self.cfg.timer_step));
    }

    fn read(&mut self) {
        let Some((_, connection)) = &mut self.end.connection else {
            return;
        };
        let mut readable = false;
        while let Some(event) = connection.poll() {
            match event {
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    self.stream = self.stream.or(connection.streams().accept(Dir::Uni));
                    readable = true;
                }
                Event::Stream(StreamEvent::Readable { .. }) => readable = true,
                _ => {}
            }
        }
        let Some(id) = self.stream.filter(|_| readable) else {
            return;
        };
        let mut stream = connection.recv_stream(id);
        if let Ok(mut chunks) = stream.read(true) {
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                self.delivered += chunk.bytes.len() as u64;
            }
            // What it wants to send leaves with the next look at quinn.
            let _ = chunks.finalize();
        }
    }
}
