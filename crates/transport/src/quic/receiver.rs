//! The receiving end: what arrived, when it is acknowledged, and the reports that go back.

use slackwater_core::packet::OptionRoom;
use slackwater_core::{
    Body, Bytes, Direction, Duration, Ecn, FlowId, Instant, Packet, QuicAck, QuicBits, QuicData,
    QuicLong, SackBlock, SeqNum,
};
use slackwater_signal::ReportBody;

use super::config::{Config, Spin};
use super::ranges::{Ranges, Stream};
use super::{
    ACK_FRAME, ACK_RANGE, BELOW, ECN_COUNTS, INITIAL, LIMITS, REPORT_FRAME, SHORT_HEADER,
    direction, encode_delay, full, packet,
};

/// Ranges of packet numbers that are remembered (RFC 9000, 13.2.3 leaves it to the receiver); a packet older than all of
/// them counts as seen.
const RANGES: usize = 32;

/// Counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiverStats {
    /// Packets with at least an ACK that left.
    pub acks: u64,
    /// Packets that arrived twice, or too late to tell.
    pub duplicates: u64,
    /// Stream bytes that were there already.
    pub duplicate_bytes: u64,
    /// CE marks received.
    pub ce: u64,
    /// Packets with stream data beyond the limit that the peer was given.
    pub beyond_limit: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No packet of the connection has come.
    Listen,
    /// The flight was sent.
    Hello,
    /// The client's last flight came.
    Established,
}

/// The receiving end of a flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    cfg: Config,
    flow: FlowId,
    /// Which way its packets go.
    dir: Direction,
    /// [`QuicBits::BACK`] on the way back of a connection whose data goes both ways.
    back: QuicBits,
    pub(super) number: u16,
    state: State,
    /// Numbers of the handshake's and of the data's packets to send.
    long: u64,
    next: u64,
    seen: Ranges,
    stream: Stream,
    /// Bytes delivered on earlier connections.
    before: u64,
    limit: u64,
    /// Ack-eliciting packets since the last ACK.
    owed: u16,
    /// When the ACK is due.
    due: Instant,
    /// When the largest packet came.
    largest_at: Instant,
    ect0: u16,
    ect1: u16,
    ce: u16,
    pub(super) spin: bool,
    pub(super) spins: bool,
    /// It opened the connection, so it inverts the bit.
    client: bool,
    /// When the flight left first, when it is sent again, and how often it was sent.
    flight: Instant,
    hello: Instant,
    tries: u32,
    stats: ReceiverStats,
}

impl Receiver {
    /// The end that receives the data of `flow`. `up`: its own packets travel from the UE to the network.
    pub fn new(flow: FlowId, up: bool, cfg: &Config) -> Self {
        Self {
            cfg: *cfg,
            flow,
            dir: direction(up),
            back: QuicBits::NONE,
            number: 0,
            state: State::Listen,
            long: 0,
            next: 0,
            seen: Ranges::default(),
            stream: Stream::default(),
            before: 0,
            limit: cfg.recv_window.0,
            owed: 0,
            due: Instant::MAX,
            largest_at: Instant::ZERO,
            ect0: 0,
            ect1: 0,
            ce: 0,
            spin: false,
            spins: cfg.spin != Spin::Off,
            client: false,
            flight: Instant::ZERO,
            hello: Instant::MAX,
            tries: 0,
            stats: ReceiverStats::default(),
        }
    }

    /// The receiving half of the end that opened connection `number`, whose handshake is complete.
    pub(super) fn joined(flow: FlowId, up: bool, number: u16, cfg: &Config, spins: bool) -> Self {
        let mut receiver = Self::new(flow, up, cfg);
        receiver.back = QuicBits::BACK;
        receiver.number = number;
        receiver.state = State::Established;
        receiver.client = true;
        receiver.spins = spins;
        receiver
    }

    /// What the handshake that is complete `now` took, where no part of it was repeated.
    pub(super) fn handshake_rtt(&self, now: Instant) -> Option<Duration> {
        (self.tries == 1).then(|| now.since(self.flight))
    }

    /// All of the stream's bytes `[start, end)` are there, whatever is missing before them.
    pub(super) fn holds(&self, start: u64, end: u64) -> bool {
        self.stream.has(start, end)
    }

    /// Stream bytes handed to the application, in order, on all connections.
    #[inline]
    pub const fn delivered(&self) -> u64 {
        self.before + self.stream.next()
    }

    /// Counters.
    pub fn stats(&self) -> ReceiverStats {
        self.stats
    }

    /// The handshake is complete.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// When [`Receiver::on_timer`] should be called.
    #[inline]
    pub fn next_timer(&self) -> Option<Instant> {
        let next = self.due.min(self.hello);
        (next != Instant::MAX).then_some(next)
    }

    /// A packet of this flow arrived.
    #[inline]
    pub fn on_packet(&mut self, now: Instant, p: &Packet, out: &mut Vec<Packet>) {
        match &p.body {
            Body::QuicLong(q) => self.on_handshake(now, q, out),
            // Before the handshake ends there are no keys to read it (RFC 9001, 5.7).
            Body::QuicData(q)
                if self.state == State::Established && q.connection == self.number =>
            {
                self.on_data(now, q, p.ecn, out);
            }
            _ => {}
        }
    }

    fn on_data(&mut self, now: Instant, q: &QuicData, ecn: Ecn, out: &mut Vec<Packet>) {
        let bits = q.bits;
        let expected = self.seen.end();
        let pn = full(expected, q.pn);
        let in_order = pn == expected;
        if !in_order && (pn < self.seen.floor() || self.seen.contains(pn)) {
            self.stats.duplicates += 1;
            return;
        }
        self.seen.insert(pn, pn + 1);
        if self.seen.len() > RANGES {
            self.seen.forget_oldest();
        }
        if pn >= expected {
            self.largest_at = now;
            // RFC 9000, 17.4: the server reflects, the client inverts.
            self.spin = bits.contains(QuicBits::SPIN) != self.client;
        }
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ect0 = self.ect0.wrapping_add(1),
            Ecn::Ect1 => self.ect1 = self.ect1.wrapping_add(1),
            Ecn::Ce => {
                self.ce = self.ce.wrapping_add(1);
                self.stats.ce += 1;
            }
        }
        if bits.contains(QuicBits::STREAM) {
            let start = full(self.stream.next(), q.offset);
            let len = u64::from(q.payload);
            if start + len > self.limit {
                // RFC 9000, 4.1: what a peer sends beyond the limit is not taken; ours never does.
                self.stats.beyond_limit += 1;
                return;
            }
            self.stats.duplicate_bytes += len - self.stream.take(start, start + len);
        }
        if !bits.is_eliciting() {
            return;
        }
        self.owed += 1;
        if self.owed == 1 {
            self.due = now + self.cfg.ack.delay;
        }
        // RFC 9000, 13.2.1: out of order, or beyond a gap, or CE, or asked for.
        let at_once = (self.cfg.ack.at_once && !in_order)
            || ecn == Ecn::Ce
            || bits.contains(QuicBits::BLOCKED);
        let moved = self.limit_moves();
        if self.owed >= self.cfg.ack.packets || at_once || moved {
            self.acknowledge(now, None, out);
        }
    }

    /// The limit is raised once half of the credit is used.
    #[inline]
    fn limit_moves(&self) -> bool {
        let window = self.cfg.recv_window.0;
        self.stream.next() + window - self.limit >= window / 2
    }

    /// Sends a report to the sender's controller in a DATAGRAM frame, with the ACK that is owed.
    pub fn send_report(&mut self, now: Instant, body: ReportBody, out: &mut Vec<Packet>) {
        if self.state == State::Established {
            self.acknowledge(now, Some(body), out);
        }
    }

    fn acknowledge(&mut self, now: Instant, report: Option<ReportBody>, out: &mut Vec<Packet>) {
        let spin = if self.spin && self.spins {
            QuicBits::SPIN
        } else {
            QuicBits::NONE
        };
        let mut q = self.answer(spin);
        let mut frames = 0;
        if !self.seen.is_empty() {
            q.bits = q.bits.with(QuicBits::ACK);
            let room = if report.is_some() { 2 } else { 3 };
            let mut ranges = 0;
            let places = q.room.blocks_mut().iter_mut();
            for (place, (start, end)) in places.zip(self.seen.newest(room)) {
                *place = SackBlock {
                    start: SeqNum(start as u32),
                    end: SeqNum(end as u32),
                };
                ranges += 1;
            }
            frames += ACK_FRAME + ACK_RANGE * (ranges - 1);
            if self.ect0 | self.ect1 | self.ce != 0 {
                frames += ECN_COUNTS;
            }
            q.delay = encode_delay(now.since(self.largest_at));
            (q.ect0, q.ect1, q.ce) = (self.ect0, self.ect1, self.ce);
            self.stats.acks += 1;
        }
        if self.limit_moves() {
            self.limit = self.stream.next() + self.cfg.recv_window.0;
            q.bits = q.bits.with(QuicBits::MAX_DATA);
            q.limit = SeqNum(self.limit as u32);
            frames += LIMITS;
        }
        if let Some(report) = report {
            q.set_report(report.0);
            frames += REPORT_FRAME;
        }
        self.owed = 0;
        self.due = Instant::MAX;
        out.push(self.short(now, q, frames));
    }

    /// The body of the next packet with a short header.
    const fn answer(&mut self, bits: QuicBits) -> QuicAck {
        let pn = self.next;
        self.next += 1;
        QuicAck {
            room: OptionRoom::EMPTY,
            pn: SeqNum(pn as u32),
            limit: SeqNum(self.limit as u32),
            ect0: 0,
            ect1: 0,
            ce: 0,
            delay: 0,
            connection: self.number,
            bits: bits.with(self.back),
        }
    }

    /// The packet whose frames take `frames` bytes.
    const fn short(&self, now: Instant, q: QuicAck, frames: u16) -> Packet {
        let len = BELOW + SHORT_HEADER + frames;
        packet(now, self.flow, self.dir, len, Body::QuicAck(q))
    }

    /// A deadline may have passed.
    pub fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.due <= now {
            self.acknowledge(now, None, out);
        }
        if self.hello <= now {
            self.send_flight(now, out);
        }
    }

    fn on_handshake(&mut self, now: Instant, q: &QuicLong, out: &mut Vec<Packet>) {
        let finished = q.finished;
        if !finished && (self.state == State::Listen || q.connection != self.number) {
            if self.state != State::Listen && self.number.wrapping_sub(q.connection) < 1 << 15 {
                // Of a connection before this one.
                return;
            }
            // Another connection of the same flow.
            *self = Self {
                number: q.connection,
                state: State::Hello,
                before: self.delivered(),
                stats: self.stats,
                ..Self::new(self.flow, self.dir == Direction::Up, &self.cfg)
            };
            self.send_flight(now, out);
        } else if q.connection != self.number {
        } else if !finished {
            if self.state == State::Hello {
                self.send_flight(now, out);
            }
        } else if self.state != State::Listen {
            self.state = State::Established;
            self.hello = Instant::MAX;
            // The server confirms at once (RFC 9001, 4.1.2).
            let done = self.answer(QuicBits::DONE);
            out.push(self.short(now, done, 1));
        }
    }

    fn send_flight(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let mut left = self.cfg.server_flight.max(1);
        let count = left.div_ceil(INITIAL - BELOW).min(3);
        for index in 0..count {
            let body = Body::QuicLong(QuicLong {
                pn: SeqNum(self.long as u32),
                index,
                count,
                connection: self.number,
                ..QuicLong::default()
            });
            self.long += 1;
            // The first holds the Initial and is padded.
            let bytes = left.min(INITIAL - BELOW);
            let len = if index == 0 {
                INITIAL
            } else {
                BELOW + bytes.max(50)
            };
            left -= bytes;
            out.push(packet(now, self.flow, self.dir, len, body));
        }
        if self.tries == 0 {
            self.flight = now;
        }
        let wait = self.cfg.initial_rtt * 3 * (1 << self.tries.min(10));
        self.tries += 1;
        self.hello = now + wait;
    }

    /// The largest credit that the sender was granted, for tests of its keeping.
    pub fn limit(&self) -> Bytes {
        Bytes(self.limit)
    }
}
