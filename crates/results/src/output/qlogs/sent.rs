//! Which transmissions an acknowledgment covers, worked out of the packets that a sender sent and received.

use std::collections::BTreeMap;

use slackwater_core::{Body, Duration, Packet, QuicAck, QuicBits, QuicData, Segment, SeqNum};
use slackwater_core::{Instant, TcpFlags};
use slackwater_wire::qlog::{Carried, QlogWriter, Received, Sent};

use crate::record::Captured;

/// RFC 9000, 18.2: the default `ack_delay_exponent` is 3.
const ACK_DELAY_UNIT: Duration = Duration::from_micros(8);

/// Where 64-bit sequence numbers begin: one wrap above zero, so that earlier numbers have room below.
const FIRST: u64 = 1 << 32;

/// Stream bytes in flight.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The sequence number after the last byte.
    end: u64,
    /// Their newest transmission.
    number: u64,
}

/// A QUIC packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Unacknowledged {
    /// The transmission.
    number: u64,
    /// The first sequence number of its stream bytes, where it shows any.
    start: Option<u64>,
}

/// What a sender has sent so far, as its packets show it.
///
/// A range that is sent again counts as lost before it, and its acknowledgment as that of the newest transmission: a TCP
/// acknowledgment does not tell the two apart (RFC 6298, 3).
#[derive(Debug)]
pub(super) struct Transmissions {
    /// QUIC packets show the place of their stream bytes: those of the light model do, encrypted ones do not.
    places: bool,
    /// Transmissions so far.
    sent: u64,
    /// Arrivals so far.
    received: u64,
    /// The connection within the flow.
    stream: u64,
    /// The sequence number of the stream's first byte; `None` before the first packet.
    base: Option<u64>,
    /// The sequence number after the highest one sent, by which 32 bits are extended.
    next: u64,
    /// What is in flight, by its first sequence number.
    flying: BTreeMap<u64, Piece>,
    /// QUIC: packets without an acknowledgment, by connection and packet number.
    packets: BTreeMap<(u16, u32), Unacknowledged>,
    /// QUIC: packets with CE that the receiver counted, beyond 16 bits.
    ce: u64,
}

impl Transmissions {
    /// Nothing sent. `packets` are all packets of the flow.
    pub(super) fn new(packets: &[&Captured]) -> Self {
        let acks = |c: &&Captured| matches!(c.packet.body, Body::QuicAck(_));
        Self {
            places: packets.iter().any(acks),
            sent: 0,
            received: 0,
            stream: 0,
            base: None,
            next: FIRST,
            flying: BTreeMap::new(),
            packets: BTreeMap::new(),
            ce: 0,
        }
    }

    /// Writes what `captured` means to the sender.
    pub(super) fn take(&mut self, captured: &Captured, log: &mut QlogWriter) {
        if captured.sent {
            self.send(captured.at, &captured.packet, log);
        } else {
            self.receive(captured.at, &captured.packet, log);
        }
    }

    fn send(&mut self, now: Instant, packet: &Packet, log: &mut QlogWriter) {
        let carried = match &packet.body {
            Body::Tcp(segment) => self.segment(now, segment, log),
            Body::QuicData(data) => self.quic(now, data, log),
            Body::QuicLong(long) => {
                self.remember((long.connection, long.pn.0), None);
                Carried::Nothing
            }
            body if body.payload() > 0 => Carried::Datagram {
                payload: u32::from(body.payload()),
            },
            _ => Carried::Nothing,
        };
        let sent = Sent {
            number: self.sent,
            carried,
            length: u32::from(packet.len),
        };
        log.packet_sent(now, &sent);
        self.sent += 1;
    }

    fn segment(&mut self, now: Instant, s: &Segment, log: &mut QlogWriter) -> Carried {
        let syn = s.flags.contains(TcpFlags::SYN);
        if syn
            && self
                .base
                .is_some_and(|base| self.extended(s.seq) + 1 != base)
        {
            // Another connection of the same flow.
            self.begin(self.stream + 1);
        }
        let start = match self.base {
            Some(_) => self.extended(s.seq),
            None => FIRST + u64::from(s.seq.0),
        };
        let base = *self.base.get_or_insert(start + u64::from(syn));

        // RFC 9293, 3.4: SYN and FIN occupy a sequence number each.
        let flags = u64::from(syn) + u64::from(s.flags.contains(TcpFlags::FIN));
        let end = start + u64::from(s.payload) + flags;
        self.fly(now, start, end, log);
        if s.payload == 0 {
            return Carried::Nothing;
        }
        Carried::Stream {
            stream: self.stream,
            offset: start - base,
            payload: u32::from(s.payload),
        }
    }

    fn quic(&mut self, now: Instant, data: &QuicData, log: &mut QlogWriter) -> Carried {
        if u64::from(data.connection) != self.stream {
            self.begin(u64::from(data.connection));
        }
        let key = (data.connection, data.pn.0);
        let payload = u32::from(data.payload);
        if payload == 0 || !self.places {
            self.remember(key, None);
            return match payload {
                0 => Carried::Nothing,
                _ => Carried::Datagram { payload },
            };
        }

        let base = *self.base.get_or_insert(FIRST);
        let start = self.extended(data.offset);
        self.remember(key, Some(start));
        self.fly(now, start, start + u64::from(payload), log);
        Carried::Stream {
            stream: self.stream,
            offset: start - base,
            payload,
        }
    }

    fn remember(&mut self, key: (u16, u32), start: Option<u64>) {
        let number = self.sent;
        self.packets.insert(key, Unacknowledged { number, start });
    }

    /// Begins another connection of the flow.
    fn begin(&mut self, stream: u64) {
        self.stream = stream;
        self.base = None;
        self.next = FIRST;
        self.flying.clear();
    }

    /// `number` in 64 bits: the one nearest to what was sent.
    const fn extended(&self, number: SeqNum) -> u64 {
        let ahead = number.0.wrapping_sub(self.next as u32) as i32;
        self.next.wrapping_add_signed(ahead as i64)
    }

    /// Puts the bytes from `start` to `end` in flight by the transmission at hand. What of them was in flight is lost.
    fn fly(&mut self, now: Instant, start: u64, end: u64, log: &mut QlogWriter) {
        if start == end {
            return;
        }
        let mut lost = Vec::new();
        while let Some((first, piece)) = self.last_before(end).filter(|(_, p)| p.end > start) {
            self.flying.remove(&first);
            lost.push(piece.number);
            if first < start {
                self.flying.insert(
                    first,
                    Piece {
                        end: start,
                        ..piece
                    },
                );
            }
            if piece.end > end {
                self.flying.insert(end, piece);
            }
        }
        lost.sort_unstable();
        lost.dedup();
        for number in lost {
            log.packet_lost(now, number, None);
        }
        let number = self.sent;
        self.flying.insert(start, Piece { end, number });
        self.next = self.next.max(end);
    }

    /// The piece with the highest first sequence number below `end`.
    fn last_before(&self, end: u64) -> Option<(u64, Piece)> {
        let last = self.flying.range(..end).next_back();
        last.map(|(first, piece)| (*first, *piece))
    }

    fn receive(&mut self, now: Instant, packet: &Packet, log: &mut QlogWriter) {
        let mut acked = Vec::new();
        let mut delay = None;
        let mut ce = None;
        match &packet.body {
            Body::Tcp(s) if s.flags.contains(TcpFlags::ACK) => self.acknowledge(s, &mut acked),
            Body::QuicAck(ack) if ack.bits.contains(QuicBits::ACK) => {
                self.acknowledge_packets(ack, &mut acked);
                delay = Some(ACK_DELAY_UNIT * u64::from(ack.delay));
                // The field has 16 bits of a count that never falls.
                self.ce += u64::from(ack.ce.wrapping_sub(self.ce as u16));
                ce = Some(self.ce);
            }
            _ => {}
        }
        acked.sort_unstable();
        acked.dedup();
        let received = Received {
            number: self.received,
            length: u32::from(packet.len),
            acked: &ranges(&acked),
            delay,
            ce,
        };
        log.packet_received(now, &received);
        self.received += 1;
    }

    /// The transmissions whose bytes are all below the acknowledgment, or in a SACK block.
    fn acknowledge(&mut self, s: &Segment, acked: &mut Vec<u64>) {
        if self.base.is_none() {
            return;
        }
        let ack = self.extended(s.ack);
        while let Some(first) = self.flying.first_entry().filter(|e| *e.key() < ack) {
            let piece = first.remove();
            if piece.end <= ack {
                acked.push(piece.number);
            } else {
                self.flying.insert(ack, piece);
            }
        }
        if s.flags.contains(TcpFlags::SYN) {
            return;
        }
        for block in s.sack_blocks() {
            let (start, end) = (self.extended(block.start), self.extended(block.end));
            if start >= end {
                continue;
            }
            let within: Vec<u64> = self
                .flying
                .range(start..end)
                .filter(|(_, piece)| piece.end <= end)
                .map(|(first, _)| *first)
                .collect();
            for first in within {
                acked.extend(self.flying.remove(&first).map(|piece| piece.number));
            }
        }
    }

    fn acknowledge_packets(&mut self, ack: &QuicAck, acked: &mut Vec<u64>) {
        for range in ack.ranges() {
            if range.start.0 >= range.end.0 {
                continue;
            }
            let (first, last) = (range.start.0, range.end.0 - 1);
            let span = (ack.connection, first)..=(ack.connection, last);
            let within: Vec<_> = self.packets.range(span).map(|(k, p)| (*k, *p)).collect();
            for (key, packet) in within {
                self.packets.remove(&key);
                acked.push(packet.number);
                let flies = |start: &u64| {
                    let piece = self.flying.get(start);
                    piece.is_some_and(|p| p.number == packet.number)
                };
                if let Some(start) = packet.start.filter(flies) {
                    self.flying.remove(&start);
                }
            }
        }
    }
}

/// Ascending numbers as ranges, first and last included.
fn ranges(numbers: &[u64]) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match out.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => out.push((number, number)),
        }
    }
    out
}
