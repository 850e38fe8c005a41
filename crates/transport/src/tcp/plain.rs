//! The straight line for what nearly every packet is: the next data at an end that sends none, and rows of full
//! segments of new data. What they do is what the general path does; they leave out the questions whose answer is known.

use slackwater_control::{Controller, Recovery, Sent};
use slackwater_core::packet::Blocks;
use slackwater_core::{Bytes, Ecn, Instant, Packet, Segment, SegmentBits, TcpFlags};

use super::connection::Endpoint;
use super::ecn::Negotiated;
use super::scoreboard;

/// Flags of which a plain segment has the last alone; echoes of ECN may stand beside it.
const DECISIVE: TcpFlags = TcpFlags::SYN.with(TcpFlags::FIN).with(TcpFlags::ACK);

impl Endpoint {
    /// True where segment `s` is the next data in order, acknowledges nothing new and leaves the peer's window as it
    /// is, at an established end that has nothing in flight.
    #[inline]
    pub(crate) fn is_plain_data(&self, s: &Segment) -> bool {
        let una = self.board.una();
        s.payload > 0
            && s.flags.0 & DECISIVE.0 == TcpFlags::ACK.0
            && s.blocks == Blocks::None
            && !s.bits.contains(SegmentBits::REPORT)
            && self.board.is_empty()
            && self.ca == Recovery::Open
            && s.seq == self.peer_base + self.rx.nxt() as u32
            && s.ack == self.base + una as u32
            && una + (u64::from(s.window) << self.window_shift()) == self.window_end
            && self.timers.persist == Instant::MAX
    }

    /// Takes such a segment.
    #[inline]
    pub(crate) fn on_plain_data(
        &mut self,
        now: Instant,
        s: &Segment,
        ecn: Ecn,
        out: &mut Vec<Packet>,
    ) {
        let seq = self.rx.nxt();
        self.note_timestamp(s, seq, u64::from(s.payload));
        self.window_seq = self.window_seq.max(seq);
        self.probe = None;
        self.on_data(now, s, ecn, seq, false, out);
        self.settle_receiver(now);
    }

    /// Sends full segments of new data up to `window` where nothing but the windows and the data decides how many: no
    /// recovery, pacing, ECN or FIN, and something in flight. True where any left; the general path sends the rest.
    #[inline]
    pub(crate) fn send_row(&mut self, now: Instant, window: u64, out: &mut Vec<Packet>) -> bool {
        let mss = u64::from(self.mss);
        let in_flight = self.in_flight();
        let pos = self.board.nxt();
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
        let mut record = scoreboard::Segment {
            len: self.mss,
            ..scoreboard::Segment::default()
        };
        self.delivery.stamp(now, false, &mut record);
        // Positions are below 2^63, and `end` is not beyond the peer's window.
        let count = (end - pos) / mss;
        record.pos = pos;
        self.board.push_row(record, count);
        let mut path = self.path();
        path.in_flight = Bytes(in_flight + mss);
        let mut sent = Sent::default();
        sent.bytes = Bytes(mss);
        self.cc.on_sent_row(now, &path, &sent, count);
        self.pacer.on_row(count);
        let mut segment = self.segment(now, pos);
        segment.payload = self.mss;
        let len = self.header + self.mss;
        let step = u32::from(self.mss);
        out.extend((0..count as usize).map(|_| {
            let next = self.packet(now, segment, len);
            segment.seq += step;
            next
        }));
        true
    }
}
