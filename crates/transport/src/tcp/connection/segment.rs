//! Segments of an established connection: those that arrive, and the headers of those that leave.

use slackwater_core::packet::{Blocks, OptionRoom};
use slackwater_core::{Body, Ecn, Instant, Packet, Segment, SegmentBits, TcpFlags};

use super::Endpoint;
use crate::tcp::options::sack_len;
use crate::tcp::receiver::Reply;

impl Endpoint {
    #[inline]
    pub(in crate::tcp) fn on_segment(
        &mut self,
        now: Instant,
        s: &Segment,
        ecn: Ecn,
        out: &mut Vec<Packet>,
    ) {
        let seq = self.handshake.peer_position(s.seq, self.rx.nxt());
        let fin = s.flags.contains(TcpFlags::FIN);
        let len = u64::from(s.payload) + u64::from(fin);
        self.timestamps.note(s, seq, len, self.rx.acked());
        if s.flags.contains(TcpFlags::ACK) {
            self.on_ack(now, s, seq, out);
        }
        if len > 0 {
            self.on_data(now, s, ecn, seq, fin, out);
        } else if seq < self.rx.nxt() {
            // A probe from outside the window asks for an ACK (RFC 9293, 3.10.7.4).
            self.send_ack(now, out);
        }
    }

    #[inline]
    pub(in crate::tcp) fn on_data(
        &mut self,
        now: Instant,
        s: &Segment,
        ecn: Ecn,
        seq: u64,
        fin: bool,
        out: &mut Vec<Packet>,
    ) {
        let len = u64::from(s.payload) + u64::from(fin);
        let before = self.rx.nxt();
        if self.rx.would_hide(seq, seq + len) {
            self.send_ack(now, out);
        }
        let followed = self.cfg.receive_offload && s.bits.contains(SegmentBits::TRAIN);
        let mut reply = self.rx.receive(now, seq, seq + len, fin, followed);
        if self.ecn.on_data(ecn, s.flags) {
            self.rx.quick_for_ce();
            reply = Reply::Now;
        }
        if self.rx.nxt() != before {
            self.events.readable = true;
            if self.rx.fin_received() {
                self.events.peer_closed = true;
                self.note_closed();
            }
        }
        match reply {
            Reply::Now => self.send_ack(now, out),
            Reply::Later => self.rx.hold(now, self.rtt.srtt()),
            Reply::Never => {}
        }
    }

    /// Notes that both directions are closed, where they are.
    pub(in crate::tcp) fn note_closed(&mut self) {
        if self.rx.fin_received() && self.stream.fin_sent() && self.reliability.is_empty() {
            self.events.closed = true;
        }
    }

    /// A segment at position `pos` without payload.
    #[inline]
    pub(in crate::tcp) fn segment(&mut self, now: Instant, pos: u64) -> Segment {
        let (tsval, tsecr) = self.timestamps.stamp(now);
        Segment {
            room: OptionRoom::EMPTY,
            seq: self.handshake.seq(pos),
            ack: self.handshake.peer_seq(self.rx.nxt()),
            tsval,
            tsecr,
            window: self.rx.window(),
            flags: TcpFlags::ACK,
            payload: 0,
            bits: if self.timestamps.on() {
                SegmentBits::TIMESTAMPS
            } else {
                SegmentBits::NONE
            },
            blocks: Blocks::None,
        }
    }

    /// The packet of `len` IP bytes that carries `segment`.
    #[inline]
    pub(in crate::tcp) const fn packet(&self, now: Instant, segment: Segment, len: u16) -> Packet {
        Packet {
            created: now,
            flow: self.flow,
            len,
            ecn: Ecn::NotEct,
            dir: self.dir,
            body: Body::Tcp(segment),
        }
    }

    /// Sends an ACK, with SACK blocks where data is missing or came twice.
    pub(in crate::tcp) fn send_ack(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let mut s = self.segment(now, self.reliability.nxt());
        let mut len = self.handshake.header();
        if self.reliability.sack() {
            let base = self.handshake.peer_seq(0);
            s.blocks = self.rx.blocks(base, s.room.blocks_mut());
            len += sack_len(s.blocks);
        }
        s.flags = s.flags.with(self.ecn.flags(false));
        self.rx.on_ack_sent();
        out.push(self.packet(now, s, len));
    }
}
