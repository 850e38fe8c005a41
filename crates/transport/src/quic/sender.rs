//! The sending end: its state, the handshake, what leaves, the timers.

mod transmit;

use std::collections::VecDeque;

use slackwater_control::{
    AnyController, Controller, EcnMode, Intent, Pacer, PathReport, PathView, Recovery,
};
use slackwater_core::record::FlowSample;
use slackwater_core::{
    Body, Bytes, Direction, Draw, Duration, Ecn, FlowId, Instant, Packet, QuicAck, QuicBits,
    QuicLong, Rate, SeqNum,
};
use slackwater_signal::ReportBody;

use super::config::{Config, Spin};
use super::ranges::Stream;
use super::rtt::Rtt;
use super::{ACK_FRAME, BELOW, INITIAL, SHORT_HEADER, STREAM_FRAME, direction, packet};
use crate::tcp::rate_sample::Delivery;
use crate::tcp::scoreboard::Segment;

/// Purpose of the draw that decides whether the bit spins.
const SPINS: u64 = 0x7370_696e;

/// A record of a sent packet: a TCP segment's, whose position is the offset in the stream, with flags of QUIC's own.
pub(super) mod flag {
    /// Acknowledged, declared lost, or never one that asks for an acknowledgment.
    pub(in super::super) const SETTLED: u8 = 1 << 4;
    /// It left ECN-capable.
    pub(in super::super) const ECT: u8 = 1 << 5;
    /// It repeats stream bytes.
    pub(in super::super) const REPEATS: u8 = 1 << 6;
    /// Acknowledged.
    pub(in super::super) const ACKED: u8 = 1 << 7;
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Packets sent.
    pub packets: u64,
    /// Packets that repeat stream bytes.
    pub retransmits: u64,
    /// Packets declared lost.
    pub lost: u64,
    /// Probe timeouts.
    pub timeouts: u64,
    /// Congestion events by loss.
    pub recoveries: u64,
    /// Times at which congestion proved persistent (RFC 9002, 7.6).
    pub persistent: u64,
    /// CE marks that the peer counted.
    pub ce_echoed: u64,
    /// Reports that arrived in DATAGRAM frames.
    pub reports: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    /// The Initial left.
    Hello,
    /// Data may leave.
    Established,
}

/// Deadlines; `MAX` for none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    /// A packet in flight becomes lost by time.
    pub(super) loss: Instant,
    /// Probe timeout.
    pub(super) pto: Instant,
    pub(super) pace: Instant,
    /// An acknowledgment is owed.
    pub(super) ack: Instant,
    controller: Instant,
    /// When the driver calls next: never after the earliest deadline, often before it.
    wake: Instant,
}

/// ECN as the sender sees it (RFC 9000, 13.4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EcnState {
    /// The path or the peer does not count as it should.
    pub(super) failed: bool,
    pub(super) ect0: u16,
    pub(super) ect1: u16,
    pub(super) ce: u16,
}

/// The sending end of a flow: a client that opens its connection.
#[derive(Clone, Debug)]
pub struct Sender {
    pub(super) cfg: Config,
    flow: FlowId,
    /// Which way its packets go.
    dir: Direction,
    /// [`QuicBits::BACK`] on the way back of a connection whose data goes both ways.
    back: QuicBits,
    pub(super) number: u16,
    pub(super) state: State,
    /// The server confirmed the handshake.
    pub(super) confirmed: bool,
    pub(super) mss: u16,
    /// Parts of the server's flight that came, one bit each.
    flight: u32,
    hello_at: Instant,
    hellos: u32,

    written: u64,
    bulk: bool,
    /// Next new stream byte, and what is acknowledged.
    offset: u64,
    pub(super) acked: Stream,
    /// The receiver's limit.
    pub(super) limit: u64,

    /// Packets from number `head` on.
    pub(super) ring: VecDeque<Segment>,
    pub(super) head: u64,
    /// Numbers of the handshake's packets.
    long: u64,
    pub(super) in_flight: u64,
    /// Stream bytes sent, repeated ones included, and those of them whose fate is known.
    pub(super) sent_total: u64,
    pub(super) settled_total: u64,
    /// Ack-eliciting packets in flight.
    pub(super) eliciting: u32,
    last_eliciting: Instant,
    /// Stream bytes to send again: offset and length.
    pub(super) resend: VecDeque<(u64, u16)>,
    pub(super) largest_acked: Option<u64>,
    /// Numbers of the receiver's packets that came, `[start, end)` of the newest range.
    heard: (u64, u64),

    pub(super) rtt: Rtt,
    pub(super) delivery: Delivery,
    pub(super) lost_total: u64,
    pub(super) cc: AnyController,
    pub(super) intent: Intent,
    pub(super) pacer: Pacer,
    pub(super) ca: Recovery,
    /// Packets sent up to then belong to the present congestion event.
    pub(super) recovery_at: Option<Instant>,
    pub(super) pto_count: u32,
    pub(super) ecn: EcnState,
    pub(super) spin: bool,
    pub(super) spins: bool,
    /// It opened the connection, so it inverts the bit; the other end reflects it (RFC 9000, 17.4).
    client: bool,
    cwnd_limited: bool,
    max_out: u64,
    usage_end: u64,

    pub(super) timers: Timers,
    pub(super) stats: Stats,
}

impl Sender {
    /// The end that sends the data of `flow` on its connection `number`. `up`: its packets travel from the UE to the
    /// network.
    pub fn new(
        flow: FlowId,
        up: bool,
        number: u16,
        cfg: &Config,
        cc: AnyController,
        draw: Draw,
    ) -> Self {
        let never = Instant::MAX;
        let spins = match cfg.spin {
            Spin::On => true,
            Spin::Off => false,
            Spin::Rfc => !draw.bits(SPINS).is_multiple_of(16),
        };
        Self {
            cfg: *cfg,
            flow,
            dir: direction(up),
            back: QuicBits::NONE,
            number,
            state: State::Closed,
            confirmed: false,
            mss: cfg.mss(),
            flight: 0,
            hello_at: Instant::ZERO,
            hellos: 0,
            written: 0,
            bulk: false,
            offset: 0,
            acked: Stream::default(),
            limit: cfg.recv_window.0,
            ring: VecDeque::new(),
            head: 0,
            long: 0,
            in_flight: 0,
            sent_total: 0,
            settled_total: 0,
            eliciting: 0,
            last_eliciting: Instant::ZERO,
            resend: VecDeque::new(),
            largest_acked: None,
            heard: (0, 0),
            rtt: Rtt::new(cfg.initial_rtt),
            delivery: Delivery::default(),
            lost_total: 0,
            intent: cc.intent(),
            cc,
            pacer: Pacer::new(),
            ca: Recovery::Open,
            recovery_at: None,
            pto_count: 0,
            ecn: EcnState::default(),
            spin: false,
            spins,
            client: true,
            cwnd_limited: false,
            max_out: 0,
            usage_end: 0,
            timers: Timers {
                loss: never,
                pto: never,
                pace: never,
                ack: never,
                controller: never,
                wake: never,
            },
            stats: Stats::default(),
        }
    }

    /// The sending half of the end that did not open the connection; [`Sender::join`] lets it begin.
    pub(super) fn answering(
        flow: FlowId,
        up: bool,
        number: u16,
        cfg: &Config,
        cc: AnyController,
        draw: Draw,
    ) -> Self {
        let mut sender = Self::new(flow, up, number, cfg, cc, draw);
        sender.client = false;
        sender.back = QuicBits::BACK;
        // The client decides whether the bit spins.
        sender.spins = cfg.spin != Spin::Off;
        sender
    }

    /// The other end's handshake is complete, which took `rtt` where that can be told (RFC 9002, 5.1).
    pub(super) fn join(&mut self, now: Instant, rtt: Option<Duration>, out: &mut Vec<Packet>) {
        self.state = State::Established;
        self.confirmed = true;
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt, Duration::ZERO);
        }
        self.follow();
        self.kick(now, out);
    }

    // --- the application's side ---

    /// Opens the connection. No effect a second time.
    pub fn connect(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.state == State::Closed {
            self.state = State::Hello;
            self.send_hello(now, out);
            self.settle(now);
        }
    }

    /// Hands over up to `bytes`; returns how many the send buffer took. Offer the rest after the next packet.
    pub fn write(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64 {
        let held = self.written - self.acked.next().min(self.written);
        let taken = bytes.min(self.cfg.send_buffer.0.saturating_sub(held));
        self.written += taken;
        if taken > 0 {
            self.kick(now, out);
        }
        taken
    }

    /// Endless data, from the next event on; call [`Sender::kick`] on an idle established connection.
    pub fn set_bulk(&mut self, on: bool) {
        let was = core::mem::replace(&mut self.bulk, on);
        if was && !on {
            self.written = self.written.max(self.offset);
        }
    }

    /// Sends what may be sent now.
    pub fn kick(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.state == State::Established {
            self.transmit(now, out);
            self.settle(now);
        }
    }

    /// Explicit feedback for the controller, however it came.
    pub fn on_report(&mut self, now: Instant, report: &PathReport, out: &mut Vec<Packet>) {
        let path = self.path();
        self.cc.on_report(now, &path, report);
        self.follow();
        self.kick(now, out);
    }

    // --- what an observer may see ---

    /// Stream bytes acknowledged, up to the first that is not.
    pub const fn acked(&self) -> u64 {
        self.acked.next()
    }

    /// The handshake is complete.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Nothing is in flight and nothing waits to be sent.
    pub fn is_idle(&self) -> bool {
        self.eliciting == 0 && self.resend.is_empty() && !self.bulk && self.offset == self.written
    }

    /// Counters.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// The controller.
    pub const fn controller(&self) -> &AnyController {
        &self.cc
    }

    /// The recovery state.
    pub const fn recovery(&self) -> Recovery {
        self.ca
    }

    /// Stream bytes of a full packet.
    pub const fn mss(&self) -> u16 {
        self.mss
    }

    /// Packets are marked ECN-capable, and the peer counts them right.
    pub fn ecn_works(&self) -> bool {
        self.marking() != EcnMode::Off && !self.ecn.failed
    }

    /// The sender's state.
    pub fn sample(&self) -> FlowSample {
        let mut s = FlowSample::default();
        s.cwnd = Bytes(self.window());
        s.ssthresh = self.intent.ssthresh;
        s.in_flight = Bytes(self.in_flight);
        s.srtt = self.rtt.srtt();
        s.rtt = self.rtt.latest();
        s.min_rtt = self.rtt.min();
        s.pacing = self.pacer.rate();
        s.acked = Bytes(self.acked());
        s.retransmits = self.stats.retransmits;
        s.timeouts = self.stats.timeouts;
        s
    }

    // --- the driver's side ---

    /// When [`Sender::on_timer`] should be called.
    #[inline]
    pub fn next_timer(&self) -> Option<Instant> {
        (self.timers.wake != Instant::MAX).then_some(self.timers.wake)
    }

    /// A packet of this flow arrived.
    pub fn on_packet(&mut self, now: Instant, p: &Packet, out: &mut Vec<Packet>) {
        if self.state == State::Closed {
            return;
        }
        match &p.body {
            Body::QuicLong(q) if q.connection == self.number => self.on_flight(now, q, out),
            Body::QuicAck(q) if q.connection == self.number => {
                if self.state == State::Established {
                    self.hear(now, q);
                    if q.bits.contains(QuicBits::ACK) {
                        self.on_ack(now, q, out);
                    } else {
                        self.transmit(now, out);
                    }
                }
            }
            _ => return,
        }
        self.settle(now);
    }

    /// What a packet of the receiver tells beside its ACK.
    #[inline]
    fn hear(&mut self, now: Instant, q: &QuicAck) {
        let expected = self.heard.1;
        let pn = super::full(expected, q.pn);
        if pn == expected {
            self.heard.1 += 1;
        } else if pn > expected {
            self.heard = (pn, pn + 1);
        }
        if pn >= expected {
            // RFC 9000, 17.4: the client inverts what the largest packet shows, the server reflects it.
            self.spin = q.bits.contains(QuicBits::SPIN) != self.client;
            self.limit = self.limit.max(super::full(self.limit, q.limit));
        }
        if q.bits.is_eliciting() {
            self.timers.ack = self.timers.ack.min(now + self.cfg.ack.delay);
            self.confirmed |= q.bits.contains(QuicBits::DONE);
            if let Some(report) = q.report().and_then(|bytes| ReportBody(bytes).report()) {
                self.stats.reports += 1;
                let path = self.path();
                self.cc.on_report(now, &path, &report);
                self.follow();
            }
        }
    }

    /// A deadline may have passed.
    pub fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let t = self.timers;
        if self.state == State::Hello {
            if t.pto <= now {
                self.send_hello(now, out);
            }
        } else if self.state == State::Established {
            if t.loss <= now {
                self.timers.loss = Instant::MAX;
                self.on_loss_timer(now);
                self.transmit(now, out);
            } else if t.pto <= now {
                self.on_probe_timer(now, out);
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
            if self.timers.ack <= now {
                let mut q = self.data(QuicBits::NONE);
                self.attach_ack(&mut q);
                self.record(now, 0, 0, flag::SETTLED);
                out.push(self.short(now, q, ACK_FRAME));
            }
        }
        self.timers.wake = Instant::MAX;
        self.settle(now);
    }

    /// Sets the wake-up for the earliest deadline; one that lies earlier stays and costs a look when it comes.
    #[inline]
    fn settle(&mut self, now: Instant) {
        let t = &mut self.timers;
        // A controller may name a time that has passed (an interval ended while its samples were still to come): it is due now.
        let controller = self.cc.next_timer();
        t.controller = controller.map_or(Instant::MAX, |at| at.max(now));
        let earliest = t.loss.min(t.pto).min(t.pace).min(t.ack).min(t.controller);
        if earliest < t.wake || t.wake < now {
            t.wake = earliest;
        }
    }

    // --- the handshake ---

    fn send_hello(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.send_long(now, false, out);
        self.hello_at = now;
        // RFC 9002, 6.2.2: three initial RTTs, doubling.
        self.timers.pto = now + self.cfg.initial_rtt * 3 * (1 << self.hellos.min(10));
        self.hellos += 1;
        self.stats.timeouts += u64::from(self.hellos > 1);
    }

    fn send_long(&mut self, now: Instant, finished: bool, out: &mut Vec<Packet>) {
        let body = Body::QuicLong(QuicLong {
            pn: SeqNum(self.long as u32),
            connection: self.number,
            finished,
            ..QuicLong::default()
        });
        self.long += 1;
        out.push(packet(now, self.flow, self.dir, INITIAL, body));
    }

    /// A part of the server's flight.
    fn on_flight(&mut self, now: Instant, q: &QuicLong, out: &mut Vec<Packet>) {
        if self.state == State::Established {
            // The server did not hear the end of the handshake.
            if !self.confirmed && q.index == 0 {
                self.finish(now, out);
            }
            return;
        }
        if self.flight == 0 && self.hellos == 1 {
            self.rtt.sample(now.since(self.hello_at), Duration::ZERO);
        }
        self.flight |= 1 << q.index.min(31);
        if self.flight.count_ones() < u32::from(q.count) {
            return;
        }
        self.state = State::Established;
        self.timers.pto = Instant::MAX;
        self.finish(now, out);
        self.last_eliciting = now;
        self.follow();
        self.transmit(now, out);
        self.arm_probe();
    }

    /// The client's last flight: the acknowledgment of the Initial, which has the datagram padded (RFC 9000, 14.1), and
    /// the end of the handshake.
    fn finish(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.send_long(now, true, out);
    }

    /// What marking the packets ask for.
    #[inline]
    pub(super) const fn marking(&self) -> EcnMode {
        match (self.intent.ecn, self.cfg.ecn) {
            (EcnMode::Off, None) => EcnMode::Off,
            (EcnMode::Off, Some(asked)) => asked,
            (wanted, _) => wanted,
        }
    }

    #[inline]
    fn mark(&self) -> Ecn {
        if self.ecn.failed {
            return Ecn::NotEct;
        }
        match self.marking() {
            EcnMode::Off => Ecn::NotEct,
            EcnMode::Classic | EcnMode::Dctcp => Ecn::Ect0,
            EcnMode::L4s => Ecn::Ect1,
        }
    }

    /// What a controller sees of the path.
    #[inline]
    pub(super) fn path(&self) -> PathView {
        let mut v = PathView::default();
        v.srtt = self.rtt.srtt();
        v.min_rtt = self.rtt.min();
        v.mss = u32::from(self.mss);
        v.wire_mss = u32::from(self.mss + STREAM_FRAME + SHORT_HEADER + BELOW);
        v.in_flight = Bytes(self.in_flight);
        v
    }

    /// Reads the controller's intent.
    #[inline]
    pub(super) fn follow(&mut self) {
        self.intent = self.cc.intent();
        if self.cfg.pacing && self.intent.pacing.is_none() {
            let rate = self.window_rate();
            self.pacer.set_rate(rate, Bytes::ZERO);
        } else {
            self.pacer.follow(&self.intent);
        }
    }

    /// RFC 9002, 7.7, with N = 1.25: the window's wire bytes over the smoothed RTT.
    #[inline]
    fn window_rate(&self) -> Option<Rate> {
        if !self.rtt.is_sampled() {
            return None;
        }
        // 1 GiB of window and the factor stay below 2^64.
        let window = self.intent.window?.0.min(1 << 30);
        let wire = window * u64::from(self.cfg.packet) / u64::from(self.mss);
        let bps = wire * 10_000_000_000 / self.rtt.srtt().as_nanos().max(1);
        Some(Rate::from_bps(bps))
    }
}
