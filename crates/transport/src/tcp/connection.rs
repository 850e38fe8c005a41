//! One end of a connection: its state, the handshake, the application's side and the timers.

mod segment;

use slackwater_control::{
    AnyController, Controller, EcnMode, Intent, Pacer, PathReport, PathView, Recovery,
};
use slackwater_core::packet::{Blocks, OptionRoom};
use slackwater_core::record::FlowSample;
use slackwater_core::{
    Body, Bytes, Direction, Draw, Ecn, FlowId, Instant, Packet, ReportBytes, Segment, SegmentBits,
    SeqNum, TcpFlags,
};
use slackwater_signal::ReportBody;

use super::config::Config;
use super::ecn::{EcnState, Negotiated};
use super::options::sack_len;
use super::prr::Prr;
use super::rack::Rack;
use super::rate_sample::Delivery;
use super::receiver::Receiver;
use super::rto::Rtt;
use super::scoreboard::Scoreboard;

/// Purpose of the draw that chooses the initial sequence number.
const ISN: u64 = 0x0069_736e;

/// Milliseconds that stand for the one-way delay of the first acknowledged segment; later ones count from there.
pub(crate) const OWD_BASE: u32 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Active side before [`Endpoint::connect`].
    Closed,
    /// Passive side before a SYN.
    Listen,
    SynSent,
    SynReceived,
    Established,
}

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

/// Deadlines; `MAX` for none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    pub(crate) rto: Instant,
    pub(crate) tlp: Instant,
    pub(crate) reorder: Instant,
    pub(crate) pace: Instant,
    pub(crate) persist: Instant,
    pub(crate) handshake: Instant,
    pub(crate) controller: Instant,
    /// When the driver calls next: never after the earliest deadline, often before it, since a deadline that moves
    /// away leaves it where it is.
    wake: Instant,
}

/// One end of a TCP connection, full duplex.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub(crate) cfg: Config,
    pub(crate) flow: FlowId,
    /// Which way its packets go.
    pub(crate) dir: Direction,
    pub(crate) state: State,
    /// Wire sequence of position 0.
    pub(crate) base: SeqNum,
    /// Wire sequence of the peer's position 0.
    pub(crate) peer_base: SeqNum,
    pub(crate) mss: u16,
    /// Header bytes of a segment without SACK blocks.
    pub(crate) header: u16,
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
    pub(crate) send_scale: u8,
    /// The `TSval` to echo (RFC 7323, 4.3).
    pub(crate) ts_recent: u32,
    /// What the first acknowledgment's time stamps differed by, [`OWD_BASE`] subtracted: the clocks' offset.
    pub(crate) clock_gap: Option<u32>,
    /// The same of the way back.
    pub(crate) back_gap: Option<u32>,

    /// Bytes that the application wrote.
    pub(crate) written: u64,
    pub(crate) bulk: bool,
    pub(crate) closing: bool,
    pub(crate) fin_sent: bool,
    pub(crate) write_blocked: bool,
    pub(crate) connect_tries: u32,
    pub(crate) syn_at: Instant,

    pub(crate) board: Scoreboard,
    pub(crate) rack: Rack,
    pub(crate) rtt: Rtt,
    pub(crate) delivery: Delivery,
    pub(crate) lost_total: u64,
    pub(crate) cc: AnyController,
    pub(crate) intent: Intent,
    pub(crate) pacer: Pacer,
    /// The reduction in progress.
    pub(crate) prr: Option<Prr>,
    pub(crate) ca: Recovery,
    /// The present episode ends when this position is acknowledged.
    pub(crate) high: u64,
    /// Where the episode began, while it can be undone.
    pub(crate) undo: Option<u64>,
    /// Segments sent again since then that no DSACK named; `None` before the first (Linux `undo_retrans` = -1).
    pub(crate) undo_resent: Option<u32>,
    /// Time-stamp tick of the episode's first retransmission.
    pub(crate) resent_at: Option<u32>,
    /// Bytes lost in this episode.
    pub(crate) episode_lost: u64,
    pub(crate) frto: bool,
    /// F-RTO sent new data and waits for what it brings (RFC 5682, 2.1, step 2b).
    pub(crate) frto_step2: bool,
    /// Timeouts in a row without progress.
    pub(crate) timeouts_in_row: u32,
    /// End of the tail loss probe in flight, and whether it repeated data.
    pub(crate) probe: Option<(u64, bool)>,
    /// Duplicate ACKs where SACK is off.
    pub(crate) dup_acks: u64,
    /// Position up to which the peer's window reaches.
    pub(crate) window_end: u64,
    pub(crate) window_seq: u64,
    pub(crate) persist_count: u32,
    /// Linux `is_cwnd_limited`, `max_packets_out`, `cwnd_usage_seq`.
    pub(crate) cwnd_limited: bool,
    pub(crate) max_out: u64,
    pub(crate) usage_end: u64,

    pub(crate) rx: Receiver,
    pub(crate) ecn: EcnState,
    pub(crate) ecn_ask: EcnMode,
    pub(crate) timers: Timers,
    pub(crate) events: Events,
    pub(crate) stats: Stats,
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
        let intent = cc.intent();
        let never = Instant::MAX;
        Self {
            cfg: *cfg,
            flow,
            dir: if up { Direction::Up } else { Direction::Down },
            state,
            base: isn + 1,
            peer_base: SeqNum(0),
            mss: cfg.mss,
            header: cfg.header(),
            timestamps: cfg.timestamps,
            sack: cfg.sack,
            send_scale: 0,
            ts_recent: 0,
            clock_gap: None,
            back_gap: None,
            written: 0,
            bulk: false,
            closing: false,
            fin_sent: false,
            write_blocked: false,
            connect_tries: 0,
            syn_at: Instant::ZERO,
            board: Scoreboard::new(cfg.mss),
            rack: Rack::new(),
            rtt: Rtt::new(cfg.initial_rto, cfg.min_rto, cfg.max_rto),
            delivery: Delivery::default(),
            lost_total: 0,
            cc,
            intent,
            pacer: Pacer::new(),
            prr: None,
            ca: Recovery::Open,
            high: 0,
            undo: None,
            undo_resent: None,
            resent_at: None,
            episode_lost: 0,
            frto: false,
            frto_step2: false,
            timeouts_in_row: 0,
            probe: None,
            dup_acks: 0,
            window_end: 0,
            window_seq: 0,
            persist_count: 0,
            cwnd_limited: false,
            max_out: 0,
            usage_end: 0,
            rx: Receiver::new(cfg.recv_buffer.0, cfg.mss, 0, cfg.delayed_ack),
            ecn: EcnState::default(),
            ecn_ask: cfg.ecn.unwrap_or(intent.ecn),
            timers: Timers {
                rto: never,
                tlp: never,
                reorder: never,
                pace: never,
                persist: never,
                handshake: never,
                controller: never,
                wake: never,
            },
            events: Events::default(),
            stats: Stats::default(),
        }
    }

    // --- the application's side ---

    /// Opens the connection: sends a SYN. No effect on the passive side or a second time.
    pub fn connect(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.state == State::Closed {
            self.state = State::SynSent;
            self.send_syn(now, out);
            self.settle(now);
        }
    }

    /// Hands over up to `bytes`; returns how many the send buffer took. What does not fit is offered again after
    /// [`Events::writable`].
    pub fn write(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64 {
        if self.closing {
            return 0;
        }
        let held = self.written - self.board.una().min(self.written);
        let taken = bytes.min(self.cfg.send_buffer.0.saturating_sub(held));
        self.write_blocked |= taken < bytes;
        self.written += taken;
        if taken > 0 && self.state == State::Established {
            self.transmit(now, out);
            self.settle(now);
        }
        taken
    }

    /// Endless data, from the next event on; call [`Endpoint::kick`] on an idle established connection.
    pub fn set_bulk(&mut self, on: bool) {
        let was = core::mem::replace(&mut self.bulk, on);
        if was && !on {
            // What has left stands as written.
            self.written = self.written.max(self.board.nxt());
        }
    }

    /// Sends what may be sent now.
    pub fn kick(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.state == State::Established {
            self.transmit(now, out);
            self.settle(now);
        }
    }

    /// Closes the sending direction after what was written.
    pub fn close(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.closing {
            return;
        }
        self.set_bulk(false);
        self.closing = true;
        self.kick(now, out);
    }

    /// Whether the receiving application takes data at once (the default) or only by [`Endpoint::read`].
    pub fn set_auto_read(&mut self, on: bool) {
        self.rx.set_auto_read(on);
    }

    /// The receiving application reads up to `bytes`; a window update leaves where it opens enough.
    pub fn read(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64 {
        let (n, update) = self.rx.read(bytes);
        if update && self.state == State::Established {
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
        let una = self.board.una();
        if self.bulk {
            una
        } else {
            una.min(self.written)
        }
    }

    /// Bytes that [`Endpoint::write`] has taken and that have not left.
    pub fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.board.nxt())
    }

    /// The handshake is complete.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Nothing is in flight and nothing waits to be sent.
    pub fn is_idle(&self) -> bool {
        self.board.is_empty() && !self.bulk && self.unsent() == 0 && self.closing == self.fin_sent
    }

    /// Takes the events since the last call.
    pub fn take_events(&mut self) -> Events {
        core::mem::take(&mut self.events)
    }

    /// Explicit feedback for the controller.
    pub fn on_report(&mut self, now: Instant, report: &PathReport, out: &mut Vec<Packet>) {
        let path = self.path();
        self.cc.on_report(now, &path, report);
        self.follow();
        self.kick(now, out);
    }

    /// A segment carries explicit feedback: the controller hears it before the acknowledgment beside it.
    fn hear(&mut self, now: Instant, bytes: ReportBytes) {
        if let Some(report) = ReportBody(bytes).report() {
            let path = self.path();
            self.cc.on_report(now, &path, &report);
        }
    }

    // --- what an observer may see ---

    /// The sender's state.
    pub fn sample(&self) -> FlowSample {
        let mut s = FlowSample::default();
        s.cwnd = Bytes(self.window());
        s.ssthresh = self.intent.ssthresh;
        s.in_flight = Bytes(self.in_flight());
        s.srtt = self.rtt.srtt();
        s.rtt = self.rtt.latest();
        s.min_rtt = self.rtt.min();
        s.pacing = self.pacer.rate();
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
        &self.cc
    }

    /// The recovery state.
    pub const fn recovery(&self) -> Recovery {
        self.ca
    }

    /// What ECN the handshake settled.
    pub const fn ecn(&self) -> Negotiated {
        self.ecn.mode
    }

    /// Payload bytes of a full segment after negotiation.
    pub const fn mss(&self) -> u16 {
        self.mss
    }

    // --- the driver's side ---

    /// When [`Endpoint::on_timer`] should be called.
    #[inline]
    pub fn next_timer(&self) -> Option<Instant> {
        (self.timers.wake != Instant::MAX).then_some(self.timers.wake)
    }

    /// A packet of this flow arrived.
    #[inline]
    pub fn on_packet(&mut self, now: Instant, p: &Packet, out: &mut Vec<Packet>) {
        let Body::Tcp(s) = &p.body else { return };
        if self.state == State::Established && self.is_plain_data(s) {
            self.on_plain_data(now, s, p.ecn, out);
        } else {
            self.on_other(now, s, p.ecn, out);
        }
    }

    fn on_other(&mut self, now: Instant, s: &Segment, ecn: Ecn, out: &mut Vec<Packet>) {
        if self.state == State::Established && !s.flags.contains(TcpFlags::SYN) {
            if let Some(report) = s.report() {
                self.hear(now, report);
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
            if self.state == State::SynSent {
                self.send_syn(now, out);
            } else if self.state == State::SynReceived {
                self.send_syn_ack(now, out);
            }
        }
        if self.state == State::Established {
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
                self.cc.on_timer(now, &path);
                self.follow();
                self.transmit(now, out);
            }
            if t.pace <= now {
                self.transmit(now, out);
            }
        }
        self.timers.wake = Instant::MAX;
        self.settle(now);
    }

    /// Sets the wake-up for the earliest deadline. One that lies earlier stays: it costs a look when it comes, where
    /// moving it would cost the driver's queue at each ACK.
    fn settle(&mut self, now: Instant) {
        let t = &mut self.timers;
        t.controller = self.cc.next_timer().unwrap_or(Instant::MAX);
        let earliest = t
            .rto
            .min(t.tlp)
            .min(t.reorder)
            .min(t.pace)
            .min(t.persist)
            .min(t.handshake)
            .min(t.controller)
            .min(self.rx.due);
        if earliest < t.wake || t.wake < now {
            t.wake = earliest;
        }
    }

    /// The same where no deadline but the receiver's moved since the last time.
    #[inline]
    pub(crate) fn settle_receiver(&mut self, now: Instant) {
        if self.rx.due < self.timers.wake || self.timers.wake < now {
            self.settle(now);
        }
    }

    // --- headers ---

    /// The tick of the time stamps: a millisecond, as in Linux.
    #[inline]
    pub(crate) const fn tick(now: Instant) -> u32 {
        (now.as_nanos() / 1_000_000) as u32
    }

    /// A segment at position `pos` without payload.
    #[inline]
    pub(crate) fn segment(&mut self, now: Instant, pos: u64) -> Segment {
        let ts = self.timestamps;
        Segment {
            room: OptionRoom::EMPTY,
            seq: self.base + pos as u32,
            ack: self.peer_base + self.rx.nxt() as u32,
            tsval: if ts { Self::tick(now) } else { 0 },
            tsecr: if ts { self.ts_recent } else { 0 },
            window: self.rx.window(),
            flags: TcpFlags::ACK,
            payload: 0,
            bits: if ts {
                SegmentBits::TIMESTAMPS
            } else {
                SegmentBits::NONE
            },
            blocks: Blocks::None,
        }
    }

    /// The packet of `len` IP bytes that carries `segment`.
    #[inline]
    pub(crate) const fn packet(&self, now: Instant, segment: Segment, len: u16) -> Packet {
        Packet {
            created: now,
            flow: self.flow,
            len,
            ecn: Ecn::NotEct,
            dir: self.dir,
            body: Body::Tcp(segment),
        }
    }

    /// Sends an ACK with what SACK has to say.
    pub(crate) fn send_ack(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let mut s = self.segment(now, self.board.nxt());
        let mut len = self.header;
        if self.sack {
            s.blocks = self.rx.blocks(self.peer_base, s.room.blocks_mut());
            len += sack_len(s.blocks);
        }
        s.flags = s.flags.with(self.ecn.flags(false));
        self.rx.on_ack_sent();
        out.push(self.packet(now, s, len));
    }

    /// What a controller sees of the path.
    #[inline]
    pub(crate) fn path(&self) -> PathView {
        let mut v = PathView::default();
        v.srtt = self.rtt.srtt();
        v.min_rtt = self.rtt.min();
        v.mss = u32::from(self.mss);
        v.wire_mss = u32::from(self.mss) + u32::from(self.header);
        v.in_flight = Bytes(self.in_flight());
        v
    }

    /// Reads the controller's intent.
    #[inline]
    pub(crate) fn follow(&mut self) {
        self.intent = self.cc.intent();
        if self.cfg.pacing && self.intent.pacing.is_none() {
            let rate = Pacer::window_rate(&self.intent, &self.path());
            self.pacer.set_rate(rate, Bytes::ZERO);
        } else {
            self.pacer.follow(&self.intent);
        }
    }

    /// Bytes in flight.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        let pipe = self.board.in_flight();
        if self.dup_acks == 0 {
            pipe
        } else {
            pipe.saturating_sub(self.dup_acks * u64::from(self.mss))
        }
    }
}
