//! Segments of an established connection.

use slackwater_core::{Ecn, Instant, Packet, Segment, SegmentBits, TcpFlags};

use super::Endpoint;
use crate::tcp::handshake::NO_SCALE;
use crate::tcp::receiver::Reply;

impl Endpoint {
    #[inline]
    pub(crate) fn on_segment(
        &mut self,
        now: Instant,
        s: &Segment,
        ecn: Ecn,
        out: &mut Vec<Packet>,
    ) {
        let seq = self.rx.nxt().wrapping_add_signed(i64::from(
            (s.seq - (self.peer_base + self.rx.nxt() as u32)) as i32,
        ));
        // A segment from before the connection's first byte is as old as one can be.
        let seq = if seq > i64::MAX as u64 { 0 } else { seq };
        let fin = s.flags.contains(TcpFlags::FIN);
        let len = u64::from(s.payload) + u64::from(fin);
        self.note_timestamp(s, seq, len);
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

    /// Keeps the time stamp of a segment at `seq` for the echo. RFC 7323, 4.3, (2): only a segment that spans the last
    /// ACK updates it; the oldest one counts where an ACK stands for several.
    #[inline]
    pub(crate) fn note_timestamp(&mut self, s: &Segment, seq: u64, len: u64) {
        let acked = self.rx.acked();
        if self.timestamps
            && s.bits.contains(SegmentBits::TIMESTAMPS)
            && seq <= acked
            && seq + len >= acked
            && (s.tsval.wrapping_sub(self.ts_recent) as i32) >= 0
        {
            self.ts_recent = s.tsval;
        }
    }

    #[inline]
    pub(crate) fn on_data(
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

    pub(crate) fn note_closed(&mut self) {
        if self.rx.fin_received() && self.fin_sent && self.board.is_empty() {
            self.events.closed = true;
        }
    }

    /// Wakes a writer that found the buffer full, at half empty.
    #[inline]
    pub(crate) fn note_space(&mut self) {
        if self.write_blocked
            && self.written - self.board.una().min(self.written) <= self.cfg.send_buffer.0 / 2
        {
            self.write_blocked = false;
            self.events.writable = true;
        }
    }

    /// By how much the peer's window field is scaled.
    #[inline]
    pub(crate) const fn window_shift(&self) -> u8 {
        if self.send_scale == NO_SCALE {
            0
        } else {
            self.send_scale
        }
    }

    /// Takes the peer's window from a segment at `seq` that acknowledges `ack` (RFC 9293, 3.10.7.4; Linux
    /// `tcp_may_update_window`). True where it moved.
    #[inline]
    pub(crate) fn take_window(&mut self, s: &Segment, ack: u64, seq: u64, una: u64) -> bool {
        let end = ack + (u64::from(s.window) << self.window_shift());
        let newer = ack > una || seq > self.window_seq;
        if newer || (seq == self.window_seq && (end > self.window_end || s.window == 0)) {
            self.window_seq = seq;
            let moved = end != self.window_end;
            self.window_end = end;
            return moved;
        }
        false
    }
}
