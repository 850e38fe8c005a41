//! One end of a connection: its parts, the application's side and the driver's.

mod segment;

use slackwater_control::{AnyController, PathReport, PathView, Recovery};
use slackwater_core::record::FlowSample;
use slackwater_core::{
    Body, Bytes, Direction, Draw, Ecn, FlowId, Instant, Packet, ReportBytes, Segment, SeqNum,
    TcpFlags,
};
use slackwater_signal::ReportBody;

use super::config::Config;
use super::congestion::Congestion;
use super::ecn::{EcnState, Negotiated};
use super::episode::Episode;
use super::handshake::{Handshake, State};
use super::receiver::Receiver;
use super::reliability::Reliability;
use super::rto::Rtt;
use super::send_buffer::SendBuffer;
use super::timers::Timers;
use super::timestamps::Timestamps;
use super::tlp::Probe;
use super::window::{Usage, Window};

/// Purpose of the draw that chooses the initial sequence number.
const ISN: u64 = 0x0069_736e;

/// What happened at an endpoint since the last [`Endpoint::take_events`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Events {
    /// The handshake is complete.
    pub connected: bool,
    /// The send buffer was full and has room again.
    pub writable: bool,
    /// In-order payload arrived.
    pub readable: bool,
    /// All that was written is acknowledged (it was not before).
    pub drained: bool,
    /// The peer sent everything and closed.
    pub peer_closed: bool,
    /// Both directions are closed and acknowledged.
    pub closed: bool,
}

/// Counters of one endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// Reductions taken back.
    pub undos: u64,
    /// Zero-window probes.
    pub window_probes: u64,
    /// CE marks that the peer echoed.
    pub ce_echoed: u64,
    /// CE marks that arrived here.
    pub ce_received: u64,
    /// Bytes that arrived again or outside the window.
    pub duplicate_bytes: u64,
}

/// One end of a TCP connection, full duplex: parts that keep their state to themselves, joined by what arrives and what
/// leaves.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// What it was configured with.
    pub(super) cfg: Config,
    /// The flow of its packets.
    flow: FlowId,
    /// Which way its packets go.
    dir: Direction,
    /// The handshake, and the numbers and sizes that it settles.
    pub(super) handshake: Handshake,
    /// Time stamps, and the one-way delays that they show.
    pub(super) timestamps: Timestamps,
    /// What the application hands over.
    pub(super) stream: SendBuffer,
    /// What is in flight, what of it arrived, and what is lost.
    pub(super) reliability: Reliability,
    /// The round-trip time, and the timeout that follows from it.
    pub(super) rtt: Rtt,
    /// The congestion state, and the reduction in progress.
    pub(super) episode: Episode,
    /// The tail loss probe in flight.
    pub(super) probe: Probe,
    /// The controller, what it wants, and the pacer.
    pub(super) congestion: Congestion,
    /// The peer's receive window.
    pub(super) window: Window,
    /// How far the congestion window is used.
    pub(super) usage: Usage,
    /// The receiving half.
    pub(super) rx: Receiver,
    /// ECN, both halves.
    pub(super) ecn: EcnState,
    /// The deadlines.
    pub(super) timers: Timers,
    /// What happened since the application last looked.
    pub(super) events: Events,
    /// Counters.
    pub(super) stats: Stats,
}

impl Endpoint {
    /// The active side. `up`: its packets travel from the UE to the network.
    pub fn client(flow: FlowId, up: bool, cfg: &Config, cc: AnyController, draw: Draw) -> Self {
        Self::new(flow, up, cfg, cc, draw, State::Closed)
    }

    /// The passive side. `up`: its packets travel from the UE to the network.
    pub fn server(flow: FlowId, up: bool, cfg: &Config, cc: AnyController, draw: Draw) -> Self {
        Self::new(flow, up, cfg, cc, draw, State::Listen)
    }

    fn new(
        flow: FlowId,
        up: bool,
        cfg: &Config,
        cc: AnyController,
        draw: Draw,
        state: State,
    ) -> Self {
        let isn = cfg
            .initial_seq
            .unwrap_or_else(|| SeqNum(draw.bits(ISN) as u32));
        let congestion = Congestion::new(cc, cfg.pacing);
        let ecn = cfg.ecn.unwrap_or(congestion.intent().ecn);
        Self {
            cfg: *cfg,
            flow,
            dir: if up { Direction::Up } else { Direction::Down },
            handshake: Handshake::new(state, cfg, isn, ecn),
            timestamps: Timestamps::new(cfg.timestamps),
            stream: SendBuffer::new(cfg.send_buffer),
            reliability: Reliability::new(cfg),
            rtt: Rtt::new(cfg.initial_rto, cfg.min_rto, cfg.max_rto),
            episode: Episode::new(),
            probe: Probe::default(),
            congestion,
            window: Window::default(),
            usage: Usage::default(),
            rx: Receiver::new(cfg.recv_buffer.0, cfg.mss, 0, cfg.delayed_ack),
            ecn: EcnState::default(),
            timers: Timers::new(),
            events: Events::default(),
            stats: Stats::default(),
        }
    }

    // --- the application's side ---

    /// Opens the connection: sends a SYN. No effect on the passive side or a second time.
    pub fn connect(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.begin_handshake(now, out) {
            self.settle(now);
        }
    }

    /// Hands over up to `bytes`; returns how many the send buffer took. What does not fit is offered again after
    /// [`Events::writable`].
    pub fn write(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64 {
        let taken = self.stream.write(bytes, self.reliability.una());
        if taken > 0 && self.is_established() {
            self.transmit(now, out);
            self.settle(now);
        }
        taken
    }

    /// Endless data, from the next event on; call [`Endpoint::kick`] on an idle established connection.
    pub fn set_bulk(&mut self, on: bool) {
        self.stream.set_bulk(on, self.reliability.nxt());
    }

    /// Sends what may be sent now.
    pub fn kick(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.is_established() {
            self.transmit(now, out);
            self.settle(now);
        }
    }

    /// Closes the sending direction after what was written.
    pub fn close(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.stream.close(self.reliability.nxt()) {
            self.kick(now, out);
        }
    }

    /// Whether the receiving application takes data at once (the default) or only by [`Endpoint::read`].
    pub fn set_auto_read(&mut self, on: bool) {
        self.rx.set_auto_read(on);
    }

    /// The receiving application reads up to `bytes`; a window update leaves where it opens enough.
    pub fn read(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64 {
        let (n, update) = self.rx.read(bytes);
        if update && self.is_established() {
            self.send_ack(now, out);
            self.settle(now);
        }
        n
    }

    /// In-order bytes that wait for [`Endpoint::read`].
    pub const fn unread(&self) -> u64 {
        self.rx.unread()
    }

    /// Payload bytes that the receiving application was given, in order.
    pub fn delivered(&self) -> u64 {
        self.rx.delivered()
    }

    /// Payload bytes of this end that the peer acknowledged.
    pub fn acked(&self) -> u64 {
        self.stream.acked(self.reliability.una())
    }

    /// Bytes that [`Endpoint::write`] has taken and that have not left.
    pub fn unsent(&self) -> u64 {
        self.stream.unsent(self.reliability.nxt())
    }

    /// The handshake is complete.
    #[inline]
    pub fn is_established(&self) -> bool {
        self.handshake.is_established()
    }

    /// Nothing is in flight and nothing waits to be sent.
    pub fn is_idle(&self) -> bool {
        self.reliability.is_empty() && self.stream.is_done(self.reliability.nxt())
    }

    /// Takes the events since the last call.
    pub fn take_events(&mut self) -> Events {
        core::mem::take(&mut self.events)
    }

    /// Explicit feedback for the controller.
    pub fn on_report(&mut self, now: Instant, report: &PathReport, out: &mut Vec<Packet>) {
        let path = self.path();
        self.congestion.on_report(now, &path, report);
        self.congestion.follow(&path);
        self.kick(now, out);
    }

    /// A segment carries explicit feedback: the controller gets it before the acknowledgment beside it.
    fn take_report(&mut self, now: Instant, bytes: ReportBytes) {
        if let Some(report) = ReportBody(bytes).report() {
            let path = self.path();
            self.congestion.on_report(now, &path, &report);
        }
    }

    // --- what an observer may see ---

    /// The sender's state.
    pub fn sample(&self) -> FlowSample {
        let mut s = FlowSample::default();
        s.cwnd = Bytes(self.window());
        s.ssthresh = self.congestion.intent().ssthresh;
        s.in_flight = Bytes(self.reliability.in_flight());
        s.srtt = self.rtt.srtt();
        s.rtt = self.rtt.latest();
        s.min_rtt = self.rtt.min();
        s.pacing = self.congestion.pacer().rate();
        s.acked = Bytes(self.acked());
        s.delivered = Bytes(self.delivered());
        s.retransmits = self.stats.retransmits;
        s.timeouts = self.stats.timeouts;
        s
    }

    /// Counters.
    pub fn stats(&self) -> Stats {
        Stats {
            duplicate_bytes: self.rx.duplicates,
            ce_received: u64::from(self.ecn.received()),
            ..self.stats
        }
    }

    /// The controller.
    pub const fn controller(&self) -> &AnyController {
        self.congestion.controller()
    }

    /// The recovery state.
    pub const fn recovery(&self) -> Recovery {
        self.episode.state()
    }

    /// What ECN the handshake settled.
    pub const fn ecn(&self) -> Negotiated {
        self.ecn.mode
    }

    /// Payload bytes of a full segment after negotiation.
    pub const fn mss(&self) -> u16 {
        self.handshake.mss()
    }

    // --- the driver's side ---

    /// When [`Endpoint::on_timer`] should be called.
    #[inline]
    pub fn next_timer(&self) -> Option<Instant> {
        let wake = self.timers.wake();
        (wake != Instant::MAX).then_some(wake)
    }

    /// A packet of this flow arrived.
    #[inline]
    pub fn on_packet(&mut self, now: Instant, p: &Packet, out: &mut Vec<Packet>) {
        let Body::Tcp(s) = &p.body else { return };
        if self.is_established() && self.is_plain_data(s) {
            self.on_plain_data(now, s, p.ecn, out);
        } else {
            self.on_other(now, s, p.ecn, out);
        }
    }

    fn on_other(&mut self, now: Instant, s: &Segment, ecn: Ecn, out: &mut Vec<Packet>) {
        if self.is_established() && !s.flags.contains(TcpFlags::SYN) {
            if let Some(report) = s.report() {
                self.take_report(now, report);
            }
            self.on_segment(now, s, ecn, out);
        } else {
            self.on_handshake(now, s, ecn, out);
        }
        self.settle(now);
    }

    /// A deadline may have passed.
    pub fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let t = self.timers;
        if t.handshake <= now {
            self.timers.handshake = Instant::MAX;
            self.rtt.back_off();
            self.repeat_handshake(now, out);
        }
        if self.is_established() {
            if self.rx.due <= now {
                self.send_ack(now, out);
            }
            if t.reorder <= now {
                self.timers.reorder = Instant::MAX;
                self.on_reorder_timer(now, out);
            }
            if t.tlp <= now {
                self.timers.tlp = Instant::MAX;
                self.on_probe_timer(now, out);
            } else if t.rto <= now {
                self.on_timeout(now, out);
            }
            if t.persist <= now {
                self.timers.persist = Instant::MAX;
                self.on_persist_timer(now, out);
            }
            if t.controller <= now {
                let path = self.path();
                self.congestion.on_timer(now, &path);
                self.transmit(now, out);
            }
            if t.pace <= now {
                self.transmit(now, out);
            }
        }
        self.timers.woken();
        self.settle(now);
    }

    /// Sets the wake-up for the earliest deadline.
    fn settle(&mut self, now: Instant) {
        // A controller may name a time that has passed (an interval ended while its samples were still to come): it is due now.
        let controller = self.congestion.next_timer();
        self.timers.controller = controller.map_or(Instant::MAX, |at| at.max(now));
        self.timers.settle(now, self.rx.due);
    }

    /// The same where no deadline but the receiver's moved since the last time.
    #[inline]
    pub(super) fn settle_receiver(&mut self, now: Instant) {
        if self.timers.must_settle(now, self.rx.due) {
            self.settle(now);
        }
    }

    /// What a controller sees of the path.
    #[inline]
    pub(super) fn path(&self) -> PathView {
        let mss = self.handshake.mss();
        let mut v = PathView::default();
        v.srtt = self.rtt.srtt();
        v.min_rtt = self.rtt.min();
        v.mss = u32::from(mss);
        v.wire_mss = u32::from(mss) + u32::from(self.handshake.header());
        v.in_flight = Bytes(self.reliability.in_flight());
        v
    }
}
