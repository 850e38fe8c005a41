//! The sending end: a quinn client with one stream.

use std::sync::Arc;

use bytes::Bytes as Buffer;
use quinn_proto::{
    ClientConfig, ConnectionError, ConnectionId, Dir, EcnCodepoint, Endpoint, Event, StreamEvent,
    StreamId, WriteError,
};
use slackwater_control::{AnyController, Controller as _, EcnMode, PathReport};
use slackwater_core::record::FlowSample;
use slackwater_core::{Draw, Duration, Ecn, FlowId, Instant, Packet};
use slackwater_signal::ReportBody;

use crate::Config;
use crate::clock::{Epoch, late};
use crate::end::{
    self, BELOW, End, Mailboxes, address, endpoint_config, purpose, transport_config,
};
use crate::null::Null;
use slackwater_quinn::control::{Adapter, Clock, Shared};
use slackwater_quinn::session;

/// What a stream is filled with.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The sending end of a flow.
#[derive(Debug)]
pub struct Sender {
    end: End,
    client: ClientConfig,
    control: Shared,
    stream: Option<StreamId>,
    /// Bytes taken from the application, and those of them that quinn has.
    taken: u64,
    written: u64,
    send_buffer: u64,
    bulk: bool,
    /// Of the host's timers.
    step: Duration,
    wake: Option<Instant>,
    reports: u64,
    /// Why quinn has closed the connection.
    closed: Option<&'static str>,
}

impl Sender {
    /// The end that sends the data of `flow` on its connection `number`. `up`: its packets travel from the UE to the
    /// network. `cc` was built for segments of [`Sender::mss`].
    pub fn new(
        flow: FlowId,
        up: bool,
        number: u16,
        cfg: &Config,
        cc: AnyController,
        draw: Draw,
        mailboxes: Mailboxes,
    ) -> Self {
        // As the light model has it: what the controller wants goes before what the scenario asks for.
        let ecn = match cc.intent().ecn {
            EcnMode::Off => cfg.ecn,
            _ => None,
        };
        let clock = if cfg.timer_step.is_zero() {
            Clock::Told
        } else {
            Clock::Stepped(cfg.timer_step)
        };
        let control = Shared::new(Epoch::new(), cc, Self::mss(cfg), ecn, clock);
        control.get().set_paced(cfg.pacing);
        let mut transport = transport_config(cfg);
        transport.congestion_controller_factory(Arc::new(Adapter(control.clone())));
        let null = Arc::new(Null {
            certificates: cfg.server_flight,
        });
        let mut client = ClientConfig::new(session::client(null, control.clone()));
        let first = draw.fork(purpose::FIRST_CID, 0).bits(0);
        client.transport_config(Arc::new(transport));
        client.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&first.to_be_bytes())));
        let endpoint = Endpoint::new(Arc::new(endpoint_config(draw)), None, true, None);
        let mut end = End::new(endpoint, flow, up, number, false, mailboxes);
        // One base for both: the adapter translates the times that this end hands out.
        end.epoch = control.get().epoch();
        Self {
            end,
            client,
            control,
            stream: None,
            taken: 0,
            written: 0,
            send_buffer: cfg.send_buffer.0,
            bulk: false,
            step: cfg.timer_step,
            wake: None,
            reports: 0,
            closed: None,
        }
    }

    /// A full UDP payload: what this end's controllers call a segment.
    pub const fn mss(cfg: &Config) -> u16 {
        cfg.packet - BELOW
    }

    /// Opens the connection. No effect a second time.
    pub fn connect(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.end.connection.is_none() {
            let at = self.end.epoch.std(now);
            let connected =
                self.end
                    .endpoint
                    .connect(at, self.client.clone(), address(true), "server");
            self.end.connection = Some(connected.expect("a client may connect"));
            self.drive(now, out);
        }
    }

    /// Hands over up to `bytes`; returns how many were taken.
    pub fn write(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64 {
        let room = self.send_buffer.saturating_sub(self.taken - self.written);
        let taken = bytes.min(room);
        self.taken += taken;
        if taken > 0 {
            self.drive(now, out);
        }
        taken
    }

    /// Endless data, from the next event on.
    pub fn set_bulk(&mut self, on: bool) {
        self.bulk = on;
    }

    /// Explicit feedback for the controller.
    pub fn on_report(&mut self, now: Instant, report: &PathReport, out: &mut Vec<Packet>) {
        self.control.get().on_report(now, report);
        self.drive(now, out);
    }

    /// A packet of this flow arrived.
    pub fn on_packet(&mut self, now: Instant, p: &Packet, out: &mut Vec<Packet>) {
        if end::connection(p) == Some(self.end.number) && self.end.connection.is_some() {
            let _ = self.end.receive(now, p, out);
            self.drive(now, out);
        }
    }

    /// A deadline may have passed.
    pub fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.end.run_timers(now);
        self.control.get().on_timer(now);
        self.drive(now, out);
    }

    /// When [`Sender::on_timer`] should be called.
    #[inline]
    pub const fn next_timer(&self) -> Option<Instant> {
        self.wake
    }

    /// The sender's state; `acked` is zero, for quinn does not tell, and `retransmits` counts lost packets.
    pub fn sample(&self) -> FlowSample {
        let mut sample = self.control.get().sample();
        if let Some((_, connection)) = &self.end.connection {
            sample.retransmits = connection.stats().path.lost_packets;
        }
        sample.closed = self.closed;
        sample
    }

    /// The controller's named internals.
    pub fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        self.control.get().controller().snapshot(out);
    }

    /// Reports that arrived in DATAGRAM frames.
    pub const fn reports(&self) -> u64 {
        self.reports
    }

    /// What connection and controller share.
    pub const fn control(&self) -> &Shared {
        &self.control
    }

    /// What quinn counted.
    pub fn stats(&self) -> Option<quinn_proto::ConnectionStats> {
        self.end.connection.as_ref().map(|(_, c)| c.stats())
    }

    fn drive(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.end.connection.is_none() {
            return;
        }
        self.end.exchange();
        self.hear(now);
        self.fill();
        self.control.at(now);
        let mark = match self.control.get().codepoint() {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(_) => Ecn::Ect0,
        };
        self.end.transmit(now, mark, out);
        let quinn = self.end.next_timer();
        let mut state = self.control.get();
        let own = state.next_timer();
        // Where it is not `now`: an open window that stays open has nothing to send.
        let slack = self.control.slack();
        let pace = state.next_departure(now).filter(|t| *t > now + slack);
        drop(state);
        let pace = pace.map(|t| t - slack);
        let next = [quinn, own, pace].into_iter().flatten().min();
        self.wake = next.map(|t| late(now, t, self.step));
    }

    fn hear(&mut self, now: Instant) {
        let Some((_, connection)) = &mut self.end.connection else {
            return;
        };
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.stream = connection.streams().open(Dir::Uni),
                Event::Stream(StreamEvent::Available { dir: Dir::Uni })
                    if self.stream.is_none() =>
                {
                    self.stream = connection.streams().open(Dir::Uni);
                }
                Event::DatagramReceived => {
                    while let Some(datagram) = connection.datagrams().recv() {
                        let body = <[u8; 8]>::try_from(&datagram[..]).ok().map(ReportBody);
                        if let Some(report) = body.and_then(ReportBody::report) {
                            self.reports += 1;
                            self.control.get().on_report(now, &report);
                        }
                    }
                }
                Event::ConnectionLost { reason } => self.closed = Some(words(&reason)),
                _ => {}
            }
        }
    }

    /// Gives quinn what it takes.
    fn fill(&mut self) {
        let (Some(id), Some((_, connection))) = (self.stream, &mut self.end.connection) else {
            return;
        };
        let mut stream = connection.send_stream(id);
        while self.bulk || self.written < self.taken {
            let want = if self.bulk {
                ZEROS.len()
            } else {
                ZEROS.len().min((self.taken - self.written) as usize)
            };
            match stream.write_chunks(&mut [Buffer::from_static(&ZEROS[..want])]) {
                Ok(done) if done.bytes > 0 => self.written += done.bytes as u64,
                Ok(_) | Err(WriteError::Blocked) => break,
                Err(error) => unreachable!("the stream is ours and open: {error}"),
            }
        }
        self.taken = self.taken.max(self.written);
    }
}

/// What ended a connection, in words. Of the causes that quinn has, these occur without an application that closes.
fn words(reason: &ConnectionError) -> &'static str {
    // The assembler of a stream gives up beyond its bound on gaps; the other end receives the reason as text.
    const GAPS: &str = "too many gaps in the stream's data";
    let gaps = |text: &[u8]| text.starts_with(b"too many gaps");

    match reason {
        ConnectionError::TimedOut => "timed out",
        ConnectionError::Reset => "reset by the peer",
        ConnectionError::TransportError(e) if gaps(e.reason.as_bytes()) => GAPS,
        ConnectionError::ConnectionClosed(frame) if gaps(&frame.reason) => GAPS,
        ConnectionError::ConnectionClosed(_) => "an error of the peer's transport",
        _ => "an error of the transport",
    }
}
