//! The straight line for what nearly every packet is: the next data at an end that sends none, and rows of full
//! segments of new data. What they do is what the general path does; they leave out the questions whose answer is known.

use slackwater_control::Sent;
use slackwater_core::packet::Blocks;
use slackwater_core::{Bytes, Ecn, Instant, Packet, Segment, SegmentBits, TcpFlags};

use super::connection::Endpoint;
use super::ecn::Negotiated;

/// Flags of which a plain segment has the last alone; echoes of ECN may stand beside it.
const DECISIVE: TcpFlags = TcpFlags::SYN.with(TcpFlags::FIN).with(TcpFlags::ACK);

impl Endpoint {
    /// True where segment `s` is the next data in order, acknowledges nothing new and leaves the peer's window as it
    /// is, at an established end that has nothing in flight.
    #[inline]
    pub(super) fn is_plain_data(&self, s: &Segment) -> bool {
        let una = self.reliability.una();
        s.payload > 0
            && s.flags.0 & DECISIVE.0 == TcpFlags::ACK.0
            && s.blocks == Blocks::None
            && !s.bits.contains(SegmentBits::REPORT)
            && self.reliability.is_empty()
            && self.episode.is_open()
            && s.seq == self.handshake.peer_seq(self.rx.nxt())
            && s.ack == self.handshake.seq(una)
            && self.window.is_kept_by(s, una)
            && self.timers.persist == Instant::MAX
    }

    /// Takes such a segment.
    #[inline]
    pub(super) fn on_plain_data(
        &mut self,
        now: Instant,
        s: &Segment,
        ecn: Ecn,
        out: &mut Vec<Packet>,
    ) {
        let seq = self.rx.nxt();
        let len = u64::from(s.payload);
        self.timestamps.note(s, seq, len, self.rx.acked());
        self.window.kept(seq);
        self.probe.clear();
        self.on_data(now, s, ecn, seq, false, out);
        self.settle_receiver(now);
    }

    /// Sends full segments of new data up to `window` where nothing but the windows and the data decides how many: no
    /// recovery, pacing, ECN or FIN, and something in flight. True where any left; the general path sends the rest.
    #[inline]
    pub(super) fn send_row(&mut self, now: Instant, window: u64, out: &mut Vec<Packet>) -> bool {
        let mss = u64::from(self.handshake.mss());
        let in_flight = self.reliability.in_flight();
        let pos = self.reliability.nxt();
        let end = self
            .stream
            .end_without_fin(self.reliability.una())
            .min(self.window.end())
            .min(pos + window.saturating_sub(in_flight));
        let plain = self.episode.is_open()
            && !self.episode.is_reducing()
            && self.reliability.has_no_duplicates()
            && in_flight > 0
            && self.ecn.mode == Negotiated::Off
            && self.congestion.pacer().rate().is_none();
        if !plain || pos + mss > end {
            return false;
        }
        if !self.rx.has_gap() {
            self.rx.on_data_sent();
        }
        // Positions are below 2^63, and `end` is not beyond the peer's window.
        let count = (end - pos) / mss;
        self.reliability.push_row(now, count);
        let mut path = self.path();
        path.in_flight = Bytes(in_flight + mss);
        let mut sent = Sent::default();
        sent.bytes = Bytes(mss);
        self.congestion.on_sent_row(now, &path, &sent, count);
        let mut segment = self.segment(now, pos);
        segment.payload = self.handshake.mss();
        let len = self.handshake.header() + segment.payload;
        let step = u32::from(segment.payload);
        out.extend((0..count as usize).map(|_| {
            let next = self.packet(now, segment, len);
            segment.seq += step;
            next
        }));
        true
    }
}
