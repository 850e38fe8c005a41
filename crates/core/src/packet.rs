//! What a packet is to the algorithms: a view that simulated metadata and real buffers both offer.

mod body;
mod quic;
mod tcp;
#[cfg(test)]
mod tests;

pub use body::{Body, CounterBytes, Datagram, Media, ReportBytes, Rtcp};
pub use quic::{QuicAck, QuicBits, QuicData, QuicLong};
pub use tcp::{
    Blocks, OptionRoom, SackBlock, SackList, Segment, SegmentBits, SynOptions, TcpFlags, TcpHeader,
};

use crate::ids::{Direction, FlowId};
use crate::seq::SeqNum;
use crate::time::Instant;

/// The ECN field of the IP header (RFC 3168, 5), with L4S's reading of ECT(1) (RFC 9331).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: congestion is signalled by loss.
    #[default]
    NotEct = 0b00,
    /// ECN-capable and scalable: L4S (RFC 9331).
    Ect1 = 0b01,
    /// ECN-capable, classic.
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The codepoint of the two low bits of `bits`.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// True where a queue may mark in place of dropping.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// True for what an L4S node takes for scalable traffic: ECT(1) and CE (RFC 9331, 5.1).
    #[inline]
    pub const fn is_scalable(self) -> bool {
        matches!(self, Self::Ect1 | Self::Ce)
    }
}

/// A packet as queues, edge functions and the cell see it: simulated metadata or a real buffer.
///
/// Implementors keep `len` constant from the moment a container accepts the packet until it returns it.
pub trait PacketView {
    /// The length of the IP packet in bytes.
    fn len(&self) -> u32;
    /// True for a packet without bytes; no link carries one.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// A number equal for all packets of one flow and direction (5-tuple hash on real packets).
    fn flow_key(&self) -> u32;
    /// The flow as reports name it: the simulated one, or what a session's rules make of a real packet; `None` where nobody says.
    fn flow(&self) -> Option<FlowId> {
        None
    }
    /// The [`PacketView::flow_key`] of the packets that go the other way in the same connection.
    fn reverse_key(&self) -> u32;
    /// The ECN field.
    fn ecn(&self) -> Ecn;
    /// Rewrites the ECN field (and, on real packets, the checksum that covers it).
    fn set_ecn(&mut self, ecn: Ecn);
    /// The TCP header, where there is one in the clear.
    fn tcp(&self) -> Option<TcpHeader> {
        None
    }
    /// The SACK blocks of a TCP segment, in the order of the header; none where there is no TCP header.
    fn sack(&self) -> SackList {
        SackList::default()
    }
    /// What a TCP SYN (or SYN-ACK) offers; `None` for every other packet.
    fn syn_options(&self) -> Option<SynOptions> {
        None
    }
    /// Source and destination port, where the packet shows a TCP or UDP header.
    fn ports(&self) -> Option<(u16, u16)> {
        None
    }
    /// Rewrites the TCP window field (and the checksum). No effect on packets without a TCP header.
    fn set_tcp_window(&mut self, _window: u16) {}
    /// Rewrites the TCP acknowledgment number (and the checksum). No effect on packets without a TCP header.
    fn set_tcp_ack(&mut self, _ack: SeqNum) {}
    /// The QUIC spin bit, where the packet shows one (RFC 9000, 17.4).
    fn spin_bit(&self) -> Option<bool> {
        None
    }
}

/// IPv4 header bytes without options.
pub const IPV4_HEADER: u16 = 20;
/// TCP header bytes without options.
pub const TCP_HEADER: u16 = 20;
/// UDP header bytes.
pub const UDP_HEADER: u16 = 8;
/// The time stamp option with its padding (RFC 7323, appendix A).
pub const TCP_TIMESTAMP_OPTION: u16 = 12;

/// A simulated packet: 64 bytes of metadata, copied by value from queue to queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Packet {
    /// When the sending host emitted this copy.
    pub created: Instant,
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// IP packet length in bytes.
    pub len: u16,
    /// ECN field.
    pub ecn: Ecn,
    /// Which way it goes across the radio.
    pub dir: Direction,
    /// What it carries.
    pub body: Body,
}

impl Default for Packet {
    /// An empty TCP segment that goes down.
    fn default() -> Self {
        Self {
            created: Instant::ZERO,
            flow: FlowId(0),
            len: 0,
            ecn: Ecn::NotEct,
            dir: Direction::Down,
            body: Body::default(),
        }
    }
}

impl Packet {
    /// The TCP segment, where it carries one.
    #[inline]
    pub const fn segment(&self) -> Option<&Segment> {
        match &self.body {
            Body::Tcp(segment) => Some(segment),
            _ => None,
        }
    }

    /// The same, to be changed.
    #[inline]
    pub const fn segment_mut(&mut self) -> Option<&mut Segment> {
        match &mut self.body {
            Body::Tcp(segment) => Some(segment),
            _ => None,
        }
    }

    /// Spin bit and frames of a QUIC packet with a short header.
    #[inline]
    pub const fn quic(&self) -> Option<QuicBits> {
        match &self.body {
            Body::QuicData(q) => Some(q.bits),
            Body::QuicAck(q) => Some(q.bits),
            _ => None,
        }
    }

    /// Payload bytes.
    #[inline]
    pub const fn payload(&self) -> u16 {
        self.body.payload()
    }

    /// The number by which its transport knows it: a segment's first sequence number, a QUIC packet's or a datagram's
    /// number; 0 for a report.
    #[inline]
    pub const fn number(&self) -> u32 {
        match &self.body {
            Body::Tcp(s) => s.seq.0,
            Body::QuicLong(q) => q.pn.0,
            Body::QuicData(q) => q.pn.0,
            Body::QuicAck(q) => q.pn.0,
            Body::Media(m) => m.number,
            Body::Rtcp(r) => r.message,
            Body::Datagram(d) => d.number,
            Body::Report(_) | Body::Counters(_) => 0,
        }
    }

    /// It repeats what was sent before (for records; the wire does not say it).
    #[inline]
    pub const fn is_retransmission(&self) -> bool {
        match &self.body {
            Body::Tcp(s) => s.bits.contains(SegmentBits::RETRANSMISSION),
            Body::QuicData(q) => q.bits.contains(QuicBits::RETRANSMISSION),
            Body::Media(m) => m.retransmission,
            _ => false,
        }
    }

    /// True for datagrams over UDP that are not QUIC: applications', media, RTCP, reports.
    #[inline]
    pub const fn is_datagram(&self) -> bool {
        matches!(
            self.body,
            Body::Media(_)
                | Body::Rtcp(_)
                | Body::Datagram(_)
                | Body::Report(_)
                | Body::Counters(_)
        )
    }

    /// True where `next`, which arrives right behind, would be merged with this segment by a receive offload: plain data
    /// in order whose headers differ in sequence number and length alone (Linux `tcp_gro_receive`).
    #[inline]
    pub fn is_continued_by(&self, next: &Self) -> bool {
        let (Body::Tcp(this), Body::Tcp(other)) = (&self.body, &next.body) else {
            return false;
        };
        (next.flow, next.dir, next.ecn) == (self.flow, self.dir, self.ecn)
            && this.is_continued_by(other)
    }
}

impl PacketView for Packet {
    #[inline]
    fn len(&self) -> u32 {
        u32::from(self.len)
    }
    #[inline]
    fn flow_key(&self) -> u32 {
        self.flow.0 << 1 | self.dir as u32
    }
    #[inline]
    fn reverse_key(&self) -> u32 {
        self.flow_key() ^ 1
    }
    #[inline]
    fn flow(&self) -> Option<FlowId> {
        Some(self.flow)
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    #[inline]
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn tcp(&self) -> Option<TcpHeader> {
        self.segment().map(|s| TcpHeader {
            seq: s.seq,
            ack: s.ack,
            window: s.window,
            flags: s.flags,
            payload: u32::from(s.payload),
            timestamps: s
                .bits
                .contains(SegmentBits::TIMESTAMPS)
                .then_some((s.tsval, s.tsecr)),
        })
    }
    fn sack(&self) -> SackList {
        let mut list = SackList::default();
        if let Some(s) = self.segment().filter(|s| !s.flags.contains(TcpFlags::SYN)) {
            for block in s.sack_blocks() {
                list.push(*block);
            }
        }
        list
    }
    fn syn_options(&self) -> Option<SynOptions> {
        self.segment()?.syn_options()
    }
    fn set_tcp_window(&mut self, window: u16) {
        if let Some(segment) = self.segment_mut() {
            segment.window = window;
        }
    }
    fn set_tcp_ack(&mut self, ack: SeqNum) {
        if let Some(segment) = self.segment_mut() {
            segment.ack = ack;
        }
    }
    fn spin_bit(&self) -> Option<bool> {
        self.quic().map(|bits| bits.contains(QuicBits::SPIN))
    }
}
