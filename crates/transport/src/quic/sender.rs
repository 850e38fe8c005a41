//! The sending end: its state, the handshake, what leaves, the timers.

use std::collections::VecDeque;

use slackwater_control::{
    AnyController, Controller, EcnMode, Intent, Pacer, PathReport, PathView, Recovery, Sent,
};
use slackwater_core::record::FlowSample;
use slackwater_core::{
    Bytes, Draw, Duration, Ecn, FlowId, Instant, Packet, QuicBits, Rate, SackBlock, SeqNum,
};
use slackwater_signal::Body;

use super::config::{Config, Spin};
use super::ranges::Stream;
use super::rtt::Rtt;
use super::{ACK_FRAME, BELOW, BLOCKED_FRAME, INITIAL, SHORT_HEADER, STREAM_FRAME, blank};
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
    up: u8,
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
            up: if up { Packet::BIT_UP } else { 0 },
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
        if p.window != self.number || self.state == State::Closed {
            return;
        }
        let bits = p.quic();
        if bits.contains(QuicBits::LONG) {
            self.on_flight(now, p, out);
        } else if self.state == State::Established {
            self.hear(now, p, bits);
            if bits.contains(QuicBits::ACK) {
                self.on_ack(now, p, out);
            } else {
                self.transmit(now, out);
            }
        }
        self.settle(now);
    }

    /// What a packet of the receiver tells beside its ACK.
    #[inline]
    fn hear(&mut self, now: Instant, p: &Packet, bits: QuicBits) {
        let expected = self.heard.1;
        let pn = super::full(expected, p.seq);
        if pn == expected {
            self.heard.1 += 1;
        } else if pn > expected {
            self.heard = (pn, pn + 1);
        }
        if pn >= expected {
            // RFC 9000, 17.4: the client inverts what the largest packet shows.
            self.spin = !bits.contains(QuicBits::SPIN);
            self.limit = self.limit.max(super::full(self.limit, p.ack));
        }
        if bits.is_eliciting() {
            self.timers.ack = self.timers.ack.min(now + self.cfg.ack.delay);
            self.confirmed |= bits.contains(QuicBits::DONE);
            if p.bits & Packet::BIT_REPORT != 0 {
                let slot = p.slots[2];
                if let Some(report) = Body::from_words(slot.start.0, slot.end.0).report() {
                    self.stats.reports += 1;
                    let path = self.path();
                    self.cc.on_report(now, &path, &report);
                    self.follow();
                }
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
                let mut p = self.packet(now, QuicBits(0));
                self.attach_ack(&mut p);
                self.record(now, 0, 0, flag::SETTLED);
                out.push(p);
            }
        }
        self.timers.wake = Instant::MAX;
        self.settle(now);
    }

    /// Sets the wake-up for the earliest deadline; one that lies earlier stays and costs a look when it comes.
    #[inline]
    fn settle(&mut self, now: Instant) {
        let t = &mut self.timers;
        t.controller = self.cc.next_timer().unwrap_or(Instant::MAX);
        let earliest = t.loss.min(t.pto).min(t.pace).min(t.ack).min(t.controller);
        if earliest < t.wake || t.wake < now {
            t.wake = earliest;
        }
    }

    // --- the handshake ---

    fn send_hello(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let bits = QuicBits::LONG.with(QuicBits::CRYPTO);
        let mut p = blank(now, self.flow, self.up, self.number, self.long, bits);
        self.long += 1;
        p.len = INITIAL;
        out.push(p);
        self.hello_at = now;
        // RFC 9002, 6.2.2: three initial RTTs, doubling.
        self.timers.pto = now + self.cfg.initial_rtt * 3 * (1 << self.hellos.min(10));
        self.hellos += 1;
        self.stats.timeouts += u64::from(self.hellos > 1);
    }

    /// A part of the server's flight.
    fn on_flight(&mut self, now: Instant, p: &Packet, out: &mut Vec<Packet>) {
        if self.state == State::Established {
            // The server did not hear the end of the handshake.
            if !self.confirmed && p.ack.0 == 0 {
                self.finish(now, out);
            }
            return;
        }
        if self.flight == 0 && self.hellos == 1 {
            self.rtt.sample(now.since(self.hello_at), Duration::ZERO);
        }
        self.flight |= 1 << p.ack.0.min(31);
        if self.flight.count_ones() < p.tsecr {
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
        let bits = QuicBits::LONG.with(QuicBits::CRYPTO).with(QuicBits::ACK);
        let mut p = blank(now, self.flow, self.up, self.number, self.long, bits);
        self.long += 1;
        p.len = INITIAL;
        out.push(p);
    }

    // --- what leaves ---

    /// The congestion window in force, in stream bytes: at least two packets (RFC 9002, 7.2).
    #[inline]
    pub(super) fn window(&self) -> u64 {
        let floor = 2 * u64::from(self.mss);
        self.intent.window.map_or(u64::MAX >> 1, |w| w.0.max(floor))
    }

    /// Sends all that may leave now.
    pub(super) fn transmit(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.timers.pace = Instant::MAX;
        let mss = u64::from(self.mss);
        let window = self.window();
        let paced = self.pacer.rate().is_some();
        let full = Bytes(u64::from(self.cfg.packet));
        let mut sent = false;
        while self.in_flight + mss <= window {
            if paced {
                let at = self.pacer.earliest_departure(now, full);
                if at > now {
                    self.timers.pace = at;
                    break;
                }
            }
            if !self.send_one(now, out) {
                break;
            }
            sent = true;
        }
        if sent {
            self.arm_probe();
        }
        let limited = self.in_flight + mss > window;
        if sent || limited {
            self.note_usage(limited);
        }
    }

    /// Sends one packet of stream data: lost data first. False where there is none that may leave.
    fn send_one(&mut self, now: Instant, out: &mut Vec<Packet>) -> bool {
        while let Some((offset, len)) = self.resend.pop_front() {
            if !self.acked.has(offset, offset + u64::from(len)) {
                self.send_stream(now, offset, len, flag::REPEATS, out);
                return true;
            }
        }
        self.send_new(now, out)
    }

    fn send_new(&mut self, now: Instant, out: &mut Vec<Packet>) -> bool {
        let most = if self.timers.ack == Instant::MAX {
            self.mss
        } else {
            self.mss - ACK_FRAME
        };
        let left = if self.bulk {
            u64::from(most)
        } else {
            self.written - self.offset
        };
        if left == 0 {
            self.delivery.limit(self.in_flight);
            return false;
        }
        let room = self.limit.saturating_sub(self.offset);
        let len = left.min(u64::from(most)).min(room) as u16;
        if len == 0 {
            if self.eliciting == 0 {
                // RFC 9000, 4.1: a blocked sender that waits for nothing else says so, now and at each probe timeout.
                let mut p = self.packet(now, QuicBits::BLOCKED);
                p.len += BLOCKED_FRAME;
                self.record(now, 0, 0, 0);
                out.push(p);
                self.arm_probe();
            }
            return false;
        }
        self.send_stream(now, self.offset, len, 0, out);
        self.offset += u64::from(len);
        true
    }

    #[inline]
    fn packet(&mut self, now: Instant, bits: QuicBits) -> Packet {
        let spin = if self.spin && self.spins {
            QuicBits::SPIN
        } else {
            QuicBits(0)
        };
        let pn = self.head + self.ring.len() as u64;
        self.stats.packets += 1;
        blank(now, self.flow, self.up, self.number, pn, bits.with(spin))
    }

    /// Adds the acknowledgment that is owed.
    fn attach_ack(&mut self, p: &mut Packet) {
        self.timers.ack = Instant::MAX;
        p.slots[0] = SackBlock {
            start: SeqNum(self.heard.0 as u32),
            end: SeqNum(self.heard.1 as u32),
        };
        p.sacks = 1;
        p.flags.0 |= QuicBits::ACK.0;
        p.len += ACK_FRAME;
    }

    /// Keeps the record of the packet whose number is the next one.
    #[inline]
    fn record(&mut self, now: Instant, offset: u64, len: u16, flags: u8) {
        let mut s = Segment {
            pos: offset,
            sent: now,
            len,
            flags,
            ..Segment::default()
        };
        let idle = self.eliciting == 0;
        if flags & flag::SETTLED == 0 {
            self.delivery.stamp(now, idle, &mut s);
            self.eliciting += 1;
            self.last_eliciting = now;
            self.in_flight += u64::from(len);
            self.sent_total += u64::from(len);
        } else if self.ring.is_empty() {
            // Nothing before it waits for its fate.
            self.head += 1;
            return;
        }
        self.ring.push_back(s);
    }

    #[inline]
    fn send_stream(
        &mut self,
        now: Instant,
        offset: u64,
        len: u16,
        flags: u8,
        out: &mut Vec<Packet>,
    ) {
        let mut p = self.packet(now, QuicBits::STREAM);
        p.ack = SeqNum(offset as u32);
        p.payload = len;
        p.len += STREAM_FRAME + len;
        if self.timers.ack != Instant::MAX && p.len + ACK_FRAME <= self.cfg.packet {
            self.attach_ack(&mut p);
        }
        p.ecn = self.mark();
        let ect = if p.ecn == Ecn::NotEct { 0 } else { flag::ECT };
        let again = flags & flag::REPEATS != 0;
        if again {
            p.bits |= Packet::BIT_RETX;
            self.stats.retransmits += 1;
        }
        let idle = self.eliciting == 0;
        self.record(now, offset, len, flags | ect);
        self.pacer.on_sent(now, Bytes(u64::from(p.len)));
        out.push(p);
        let mut sent = Sent::default();
        sent.bytes = Bytes(u64::from(len));
        sent.retransmission = again;
        sent.after_idle = idle && !again;
        let path = self.path();
        self.cc.on_sent(now, &path, &sent);
        if idle {
            // The controller may have restarted its window.
            self.follow();
        }
    }

    /// Whether the window was used up in this round (as TCP's here; RFC 9002, 7.8).
    #[inline]
    fn note_usage(&mut self, limited: bool) {
        if self.settled_total >= self.usage_end
            || limited
            || (!self.cwnd_limited && self.in_flight > self.max_out)
        {
            self.cwnd_limited = limited;
            self.max_out = self.in_flight;
            self.usage_end = self.sent_total;
        }
    }

    /// In slow start a window that is more than half used counts as used up.
    #[inline]
    pub(super) fn is_cwnd_limited(&self) -> bool {
        if self.cwnd_limited {
            return true;
        }
        let window = self.window();
        self.intent.ssthresh.is_none_or(|t| window < t.0) && window < 2 * self.max_out
    }

    // --- probes ---

    /// Sets the probe timer by the last packet that asked for an acknowledgment (RFC 9002, 6.2.1).
    #[inline]
    pub(super) fn arm_probe(&mut self) {
        self.timers.pto = if self.eliciting == 0 && self.confirmed {
            Instant::MAX
        } else {
            let pto = self.rtt.pto(self.cfg.ack.delay);
            self.last_eliciting + pto * (1 << self.pto_count.min(10))
        };
    }

    /// Sends one probe, two where the last did not help (RFC 9002, 6.2.4): new data, or what is oldest in flight, or a
    /// PING.
    fn on_probe_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.stats.timeouts += 1;
        self.pto_count += 1;
        if !self.confirmed {
            self.finish(now, out);
            self.last_eliciting = now;
        }
        let probes = if self.eliciting == 0 {
            0
        } else {
            self.pto_count.min(2)
        };
        let mut from = 0;
        for _ in 0..probes {
            if self.send_one(now, out) {
                continue;
            }
            let known = |s: &Segment| s.flags & flag::SETTLED != 0 || s.len == 0;
            let old = (from..self.ring.len()).find(|&i| !known(&self.ring[i]));
            if let Some(i) = old {
                let s = self.ring[i];
                from = i + 1;
                self.send_stream(now, s.pos, s.len, flag::REPEATS, out);
            } else {
                let mut p = self.packet(now, QuicBits::PING);
                p.len += 1;
                self.record(now, 0, 0, 0);
                out.push(p);
            }
        }
        self.arm_probe();
    }

    // --- helpers ---

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
