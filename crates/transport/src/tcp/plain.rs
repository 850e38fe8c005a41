//! The straight line for what nearly every packet is: the next data at an end that sends none, and rows of full
//! segments of new data. What they do is what the general path does; they leave out the questions whose answer is known.

use slackwater_control::{Controller, Recovery, Sent};
use slackwater_core::{Bytes, Instant, Packet, TcpFlags};

use super::connection::Endpoint;
use super::ecn::Negotiated;
use super::scoreboard::Segment;

/// Flags of which a plain segment has the last alone; echoes of ECN may stand beside it.
const DECISIVE: TcpFlags = TcpFlags::SYN.with(TcpFlags::FIN).with(TcpFlags::ACK);

impl Endpoint {
    /// True where segment `p` is the next data in order, acknowledges nothing new and leaves the peer's window as it
    /// is, at an established end that has nothing in flight.
    #[inline]
    pub(crate) fn is_plain_data(&self, p: &Packet) -> bool {
        let una = self.board.una();
        p.payload > 0
            && p.flags.0 & DECISIVE.0 == TcpFlags::ACK.0
            && p.sacks == 0
            && p.bits & Packet::BIT_REPORT == 0
            && self.board.is_empty()
            && self.ca == Recovery::Open
            && p.seq == self.peer_base + self.rx.nxt() as u32
            && p.ack == self.base + una as u32
            && una + (u64::from(p.window) << self.window_shift()) == self.window_end
            && self.timers.persist == Instant::MAX
    }

    /// Takes such a segment.
    #[inline]
    pub(crate) fn on_plain_data(&mut self, now: Instant, p: &Packet, out: &mut Vec<Packet>) {
        let seq = self.rx.nxt();
        self.note_timestamp(p, seq, u64::from(p.payload));
        self.window_seq = self.window_seq.max(seq);
        self.probe = None;
        self.on_data(now, p, seq, u64::from(p.payload), false, out);
        self.settle_receiver(now);
    }

    /// Sends full segments of new data up to `window` where nothing but the windows and the data decides how many: no
    /// recovery, pacing, ECN or FIN, and something in flight. True where any left; the general path sends the rest.
    #[inline]
    pub(crate) fn send_row(&mut self, now: Instant, window: u64, out: &mut Vec<Packet>) -> bool {
        let mss = u64::from(self.mss);
        let mut in_flight = self.in_flight();
        let mut pos = self.board.nxt();
        let written = if self.bulk {
            u64::MAX >> 1
        } else {
            // The last byte may bring the FIN along.
            self.written.saturating_sub(u64::from(self.closing))
        };
        let end = written
            .min(self.window_end)
            .min(pos + window.saturating_sub(in_flight));
        let plain = self.ca == Recovery::Open
            && self.prr.is_none()
            && self.dup_acks == 0
            && in_flight > 0
            && self.ecn.mode == Negotiated::Off
            && self.pacer.rate().is_none();
        if !plain || pos + mss > end {
            return false;
        }
        if !self.rx.has_gap() {
            self.rx.on_data_sent();
        }
        let first = pos;
        let mut segment = Segment {
            len: self.mss,
            ..Segment::default()
        };
        self.delivery.stamp(now, false, &mut segment);
        let mut path = self.path();
        let mut sent = Sent::default();
        sent.bytes = Bytes(mss);
        let mut count = 0;
        while pos + mss <= end {
            segment.pos = pos;
            self.board.push(segment);
            count += 1;
            pos += mss;
            in_flight += mss;
            path.in_flight = Bytes(in_flight);
            self.cc.on_sent(now, &path, &sent);
        }
        let mut packet = self.segment(now, first);
        packet.payload = self.mss;
        packet.len += self.mss;
        let row = out.len();
        out.resize(row + count, packet);
        let mut seq = packet.seq;
        for packet in &mut out[row..] {
            packet.seq = seq;
            seq += u32::from(self.mss);
            self.pacer.on_sent(now, Bytes(u64::from(packet.len)));
        }
        true
    }
}
