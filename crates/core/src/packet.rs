//! What a packet is to the algorithms: a view that simulated metadata and real buffers both offer.

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

/// The transport protocol of a simulated packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Proto {
    /// TCP (RFC 9293).
    #[default]
    Tcp,
    /// A datagram with a number and a frame: UDP and what rides on it.
    Udp,
    /// QUIC over UDP (RFC 9000). Of its header the path sees the form and the spin bit alone.
    Quic,
}

/// Sets of bits that a header holds.
macro_rules! sets {
    ($($name:ident),+) => {
        $(impl $name {
            /// True where all bits of `other` are set.
            #[inline]
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// The union of both.
            #[inline]
            #[must_use]
            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        })+
    };
}

sets!(TcpFlags, QuicBits);

/// TCP header flags (RFC 9293, 3.1; AE by RFC 9768).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TcpFlags(pub u16);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x001);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x002);
    /// Reset the connection.
    pub const RST: Self = Self(0x004);
    /// Push.
    pub const PSH: Self = Self(0x008);
    /// The acknowledgment field is valid.
    pub const ACK: Self = Self(0x010);
    /// ECN echo.
    pub const ECE: Self = Self(0x040);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x080);
    /// Accurate ECN (RFC 9768), formerly NS.
    pub const AE: Self = Self(0x100);

    /// The flags of `self` that `other` lacks.
    #[inline]
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// What stands in a simulated QUIC packet: header bits (RFC 9000, 17) and frames (RFC 9000, 19; RFC 9221).
///
/// [`Packet::flags`] holds them where the protocol is [`Proto::Quic`]; on the wire all but the first two are encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct QuicBits(pub u16);

impl QuicBits {
    /// The long header of the handshake, which has no spin bit.
    pub const LONG: Self = Self(0x001);
    /// The spin bit (RFC 9000, 17.4).
    pub const SPIN: Self = Self(0x002);
    /// ACK.
    pub const ACK: Self = Self(0x004);
    /// STREAM.
    pub const STREAM: Self = Self(0x008);
    /// `MAX_DATA`: the receiver's limit moved.
    pub const MAX_DATA: Self = Self(0x010);
    /// `DATA_BLOCKED`: the sender waits for the limit to move.
    pub const BLOCKED: Self = Self(0x020);
    /// DATAGRAM (RFC 9221).
    pub const DATAGRAM: Self = Self(0x040);
    /// PING.
    pub const PING: Self = Self(0x080);
    /// CRYPTO: a part of the handshake.
    pub const CRYPTO: Self = Self(0x100);
    /// `HANDSHAKE_DONE`.
    pub const DONE: Self = Self(0x200);

    /// The packet asks for an acknowledgment: it holds more than ACK and padding (RFC 9000, 13.2).
    #[inline]
    pub const fn is_eliciting(self) -> bool {
        self.0 & !(Self::LONG.0 | Self::SPIN.0 | Self::ACK.0) != 0
    }
}

/// A range of sequence numbers, `start` included and `end` not (RFC 2018, 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub start: SeqNum,
    /// The number after the last.
    pub end: SeqNum,
}

/// The SACK blocks of a segment: at most four fit into a header (RFC 2018, 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackList {
    blocks: [SackBlock; 4],
    len: u8,
}

impl SackList {
    /// Appends a block; a fifth is ignored.
    pub fn push(&mut self, block: SackBlock) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = block;
            self.len += 1;
        }
    }
}

impl core::ops::Deref for SackList {
    type Target = [SackBlock];

    fn deref(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }
}

/// What a SYN offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size, where stated (RFC 9293, 3.7.1).
    pub mss: Option<u16>,
    /// Window scale of the sender's later window fields, 0 to 14 (RFC 7323, 2); `None` leaves both sides unscaled.
    pub window_scale: Option<u8>,
    /// SACK may be used (RFC 2018, 2).
    pub sack_permitted: bool,
}

/// The fields of a TCP header that a function in the middle may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpHeader {
    /// Sequence number of the first payload byte.
    pub seq: SeqNum,
    /// Cumulative acknowledgment.
    pub ack: SeqNum,
    /// The window field as it stands in the header, before scaling (RFC 7323, 2).
    pub window: u16,
    /// Flags.
    pub flags: TcpFlags,
    /// Payload bytes.
    pub payload: u32,
    /// `TSval` and `TSecr` where the segment carries time stamps (RFC 7323, 3).
    pub timestamps: Option<(u32, u32)>,
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
///
/// `slots` holds up to three 8-byte option bodies: SACK blocks from the front; one explicit-feedback report in the
/// last (which is why a report leaves room for two blocks beside time stamps, as in the 40 bytes of a real header);
/// on a SYN, `slots[0]` holds the MSS (`start`) and what [`Packet::SYN_SCALED`] and its neighbour say (`end`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Packet {
    /// When the sending host emitted this copy.
    pub created: Instant,
    /// Option bodies, see above.
    pub slots: [SackBlock; 3],
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// TCP sequence number; for datagrams and QUIC the low 32 bits of the packet number.
    pub seq: SeqNum,
    /// TCP acknowledgment number; for datagrams the packet's index within its frame.
    pub ack: SeqNum,
    /// TCP `TSval`; for datagrams the frame number.
    pub tsval: u32,
    /// TCP `TSecr`; for datagrams the number of packets in the frame.
    pub tsecr: u32,
    /// IP packet length in bytes.
    pub len: u16,
    /// Payload bytes.
    pub payload: u16,
    /// TCP window field, unscaled.
    pub window: u16,
    /// TCP flags; for QUIC the header bits and frames, see [`Packet::quic`].
    pub flags: TcpFlags,
    /// ECN field.
    pub ecn: Ecn,
    /// Transport protocol.
    pub proto: Proto,
    /// Number of SACK blocks in `slots`.
    pub sacks: u8,
    /// See the `BIT_` constants.
    pub bits: u8,
}

impl Packet {
    /// The packet travels from the UE side to the network side.
    pub const BIT_UP: u8 = 1;
    /// `slots[2]` holds an explicit-feedback report.
    pub const BIT_REPORT: u8 = 2;
    /// A retransmission (known to the simulator's records, not to the wire).
    pub const BIT_RETX: u8 = 4;
    /// The segment carries the time stamp option.
    pub const BIT_TIMESTAMPS: u8 = 8;
    /// Of the half of a QUIC connection whose data goes to the end that opened it (known to the light model, not to the
    /// wire).
    pub const BIT_BACK: u8 = 16;
    /// In `slots[0].end` of a SYN, whose low 8 bits are the window scale: the option is there (RFC 7323, 2.2).
    pub const SYN_SCALED: u32 = 1 << 8;
    /// In `slots[0].end` of a SYN: SACK is permitted (RFC 2018, 2).
    pub const SYN_SACK_PERMITTED: u32 = 1 << 9;

    /// Which way the packet goes.
    #[inline]
    pub const fn direction(&self) -> Direction {
        if self.bits & Self::BIT_UP == 0 {
            Direction::Down
        } else {
            Direction::Up
        }
    }

    /// Header bits and frames of a QUIC packet.
    #[inline]
    pub const fn quic(&self) -> QuicBits {
        QuicBits(self.flags.0)
    }

    /// The SACK blocks, most recent first (RFC 2018, 4).
    #[inline]
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.slots[..usize::from(self.sacks.min(3))]
    }
}

impl PacketView for Packet {
    #[inline]
    fn len(&self) -> u32 {
        u32::from(self.len)
    }
    #[inline]
    fn flow_key(&self) -> u32 {
        self.flow.0 << 1 | u32::from(self.bits & Self::BIT_UP)
    }
    #[inline]
    fn reverse_key(&self) -> u32 {
        self.flow_key() ^ 1
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
        (self.proto == Proto::Tcp).then(|| TcpHeader {
            seq: self.seq,
            ack: self.ack,
            window: self.window,
            flags: self.flags,
            payload: u32::from(self.payload),
            timestamps: (self.bits & Self::BIT_TIMESTAMPS != 0).then_some((self.tsval, self.tsecr)),
        })
    }
    fn sack(&self) -> SackList {
        let mut list = SackList::default();
        if self.proto == Proto::Tcp && !self.flags.contains(TcpFlags::SYN) {
            for block in self.sack_blocks() {
                list.push(*block);
            }
        }
        list
    }
    fn syn_options(&self) -> Option<SynOptions> {
        if self.proto != Proto::Tcp || !self.flags.contains(TcpFlags::SYN) {
            return None;
        }
        let (mss, rest) = (self.slots[0].start.0, self.slots[0].end.0);
        Some(SynOptions {
            mss: (mss != 0).then_some(mss as u16),
            window_scale: (rest & Self::SYN_SCALED != 0).then_some((rest & 0xff).min(14) as u8),
            sack_permitted: rest & Self::SYN_SACK_PERMITTED != 0,
        })
    }
    fn set_tcp_window(&mut self, window: u16) {
        if self.proto == Proto::Tcp {
            self.window = window;
        }
    }
    fn set_tcp_ack(&mut self, ack: SeqNum) {
        if self.proto == Proto::Tcp {
            self.ack = ack;
        }
    }
    fn spin_bit(&self) -> Option<bool> {
        let bits = self.quic();
        (self.proto == Proto::Quic && !bits.contains(QuicBits::LONG))
            .then(|| bits.contains(QuicBits::SPIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_fits_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 64);
    }

    #[test]
    fn ecn_round_trips() {
        for bits in 0..4 {
            assert_eq!(Ecn::from_bits(bits) as u8, bits);
        }
    }

    #[test]
    fn a_syn_shows_its_options_and_an_ack_its_blocks() {
        let syn = Packet {
            flags: TcpFlags::SYN,
            slots: [
                SackBlock {
                    start: SeqNum(1448),
                    end: SeqNum(7 | Packet::SYN_SCALED | Packet::SYN_SACK_PERMITTED),
                },
                SackBlock::default(),
                SackBlock::default(),
            ],
            ..Packet::default()
        };
        let options = syn.syn_options().unwrap();
        assert_eq!(
            (options.mss, options.window_scale, options.sack_permitted),
            (Some(1448), Some(7), true)
        );
        assert!(syn.sack().is_empty());
        let ack = Packet {
            flags: TcpFlags::ACK,
            sacks: 1,
            ..syn
        };
        assert_eq!(ack.syn_options(), None);
        assert_eq!(&*ack.sack(), &ack.slots[..1]);
    }

    #[test]
    fn only_a_short_header_of_quic_shows_the_spin_bit() {
        let mut packet = Packet {
            proto: Proto::Quic,
            flags: TcpFlags(QuicBits::SPIN.with(QuicBits::STREAM).0),
            ..Packet::default()
        };
        assert_eq!((packet.spin_bit(), packet.tcp()), (Some(true), None));
        assert!(packet.quic().is_eliciting());
        packet.flags = TcpFlags(QuicBits::ACK.0);
        assert_eq!(packet.spin_bit(), Some(false));
        assert!(!packet.quic().is_eliciting());
        packet.flags = TcpFlags(QuicBits::LONG.with(QuicBits::CRYPTO).0);
        assert_eq!(packet.spin_bit(), None);
        packet.proto = Proto::Tcp;
        assert_eq!(packet.spin_bit(), None);
    }

    #[test]
    fn the_two_directions_of_a_flow_have_keys_of_their_own() {
        let down = Packet {
            flow: FlowId(7),
            ..Packet::default()
        };
        let up = Packet {
            bits: Packet::BIT_UP,
            ..down
        };
        assert_ne!(down.flow_key(), up.flow_key());
        assert_eq!(down.reverse_key(), up.flow_key());
        assert_eq!(up.reverse_key(), down.flow_key());
        assert_eq!(up.direction(), Direction::Up);
    }
}
