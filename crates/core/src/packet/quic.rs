//! QUIC packets of the light model (RFC 9000). Of a real one, and of these on the wire, the path sees the form of the
//! header and the spin bit.

use crate::seq::SeqNum;

use super::ReportBytes;
use super::tcp::{OptionRoom, SackBlock};

/// The spin bit (RFC 9000, 17.4) and the frames (RFC 9000, 19; RFC 9221) of a packet with a short header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct QuicBits(pub u16);

impl QuicBits {
    /// No frame.
    pub const NONE: Self = Self(0);
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
    /// DATAGRAM (RFC 9221), which holds a report.
    pub const DATAGRAM: Self = Self(0x040);
    /// PING.
    pub const PING: Self = Self(0x080);
    /// `HANDSHAKE_DONE`.
    pub const DONE: Self = Self(0x200);
    /// It repeats stream bytes (for records; not on the wire).
    pub const RETRANSMISSION: Self = Self(0x400);
    /// Of the half of a connection whose data goes to the end that opened it (for the light model; not on the wire).
    pub const BACK: Self = Self(0x800);

    /// What does not elicit an acknowledgment.
    const PASSIVE: Self = Self(Self::SPIN.0 | Self::ACK.0 | Self::RETRANSMISSION.0 | Self::BACK.0);

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

    /// The packet elicits an acknowledgment: it holds more than ACK and padding (RFC 9000, 13.2).
    #[inline]
    pub const fn is_eliciting(self) -> bool {
        self.0 & !Self::PASSIVE.0 != 0
    }
}

/// A packet with a long header, which has no spin bit: a part of the handshake (RFC 9000, 17.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuicLong {
    /// Packet number.
    pub pn: SeqNum,
    /// Which of its flight's packets it is.
    pub index: u16,
    /// How many packets its flight has; 0 in those of the end that opens.
    pub count: u16,
    /// Number of the connection within its flow.
    pub connection: u16,
    /// Bytes above UDP in a real packet, of which no more is known; 0 in the light model.
    pub payload: u16,
    /// The opening end's last flight.
    pub finished: bool,
}

/// A packet with a short header from the end that sends data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuicData {
    /// Packet number.
    pub pn: SeqNum,
    /// Where in the stream the STREAM frame begins, its low 32 bits.
    pub offset: SeqNum,
    /// The newest range of an ACK frame.
    pub acked: SackBlock,
    /// Number of the connection within its flow.
    pub connection: u16,
    /// Stream bytes.
    pub payload: u16,
    /// Spin bit and frames.
    pub bits: QuicBits,
}

/// A packet with a short header from the end that receives data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuicAck {
    /// Ranges of packet numbers, newest first, none of them empty; a report takes the place of the third.
    pub room: OptionRoom,
    /// Packet number.
    pub pn: SeqNum,
    /// The limit of `MAX_DATA`, its low 32 bits.
    pub limit: SeqNum,
    /// Packets received with ECT(0), modulo 2^16.
    pub ect0: u16,
    /// Packets received with ECT(1), likewise.
    pub ect1: u16,
    /// Packets received with CE, likewise.
    pub ce: u16,
    /// ACK delay in units of 8 us (RFC 9000, 18.2: the default exponent).
    pub delay: u16,
    /// Number of the connection within its flow.
    pub connection: u16,
    /// Spin bit and frames.
    pub bits: QuicBits,
}

impl QuicAck {
    /// The ranges of the ACK frame, newest first.
    #[inline]
    pub fn ranges(&self) -> &[SackBlock] {
        let most = if self.bits.contains(QuicBits::DATAGRAM) {
            2
        } else {
            3
        };
        let room = &self.room.0[..most];
        let count = room.iter().position(|r| r.start == r.end).unwrap_or(most);
        &room[..count]
    }

    /// The report in a DATAGRAM frame.
    #[inline]
    pub fn report(&self) -> Option<ReportBytes> {
        self.bits
            .contains(QuicBits::DATAGRAM)
            .then(|| self.room.report())
    }

    /// Adds a DATAGRAM frame with a report; true where it takes the place of a third range.
    pub fn set_report(&mut self, bytes: ReportBytes) -> bool {
        let replaces = self.ranges().len() > 2;
        self.bits = self.bits.with(QuicBits::DATAGRAM);
        self.room.set_report(bytes);
        replaces
    }
}
