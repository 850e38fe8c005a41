//! What a simulated packet carries above IP.

use crate::time::Instant;

use super::quic::{QuicAck, QuicData, QuicLong};
use super::tcp::Segment;

/// An explicit-feedback report as it stands on the wire (`slackwater-signal` reads it).
pub type ReportBytes = [u8; 8];

/// A base station's counters of a flow as they stand on the wire (`slackwater-signal` reads them).
pub type CounterBytes = [u8; 24];

/// What a packet carries: the transport's fields, under the transport's own names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// A packet of QUIC's handshake.
    QuicLong(QuicLong),
    /// A QUIC packet from the end that sends data.
    QuicData(QuicData),
    /// A QUIC packet from the end that receives data.
    QuicAck(QuicAck),
    /// Real-time media over RTP.
    Media(Media),
    /// RTCP.
    Rtcp(Rtcp),
    /// A datagram of an application.
    Datagram(Datagram),
    /// An explicit-feedback report that travels on its own, over UDP.
    Report(ReportBytes),
    /// A base station's counters, over UDP.
    Counters(CounterBytes),
}

impl Default for Body {
    fn default() -> Self {
        Self::Tcp(Segment::default())
    }
}

impl From<Segment> for Body {
    fn from(segment: Segment) -> Self {
        Self::Tcp(segment)
    }
}

impl From<Datagram> for Body {
    fn from(datagram: Datagram) -> Self {
        Self::Datagram(datagram)
    }
}

impl Datagram {
    /// A datagram of `payload` bytes with this number.
    pub const fn new(number: u32, payload: u16) -> Self {
        Self {
            number,
            frame: 0,
            index: 0,
            packets: 0,
            payload,
        }
    }
}

impl Body {
    /// Payload bytes.
    #[inline]
    pub const fn payload(&self) -> u16 {
        match self {
            Self::Tcp(s) => s.payload,
            // A call, so that where nearly all is TCP the question costs one comparison.
            _ => self.other_payload(),
        }
    }

    #[inline(never)]
    const fn other_payload(&self) -> u16 {
        match self {
            Self::Tcp(s) => s.payload,
            Self::QuicLong(q) => q.payload,
            Self::QuicData(q) => q.payload,
            Self::Media(m) => m.payload,
            Self::Datagram(d) => d.payload,
            Self::QuicAck(_) | Self::Rtcp(_) | Self::Report(_) | Self::Counters(_) => 0,
        }
    }
}

impl Body {
    /// Sets the payload bytes to 0, for records that are not to count them.
    pub const fn forget_payload(&mut self) {
        match self {
            Self::Tcp(s) => s.payload = 0,
            Self::QuicLong(q) => q.payload = 0,
            Self::QuicData(q) => q.payload = 0,
            Self::Media(m) => m.payload = 0,
            Self::Datagram(d) => d.payload = 0,
            Self::QuicAck(_) | Self::Rtcp(_) | Self::Report(_) | Self::Counters(_) => {}
        }
    }
}

/// A packet of media (RFC 3550), or padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Media {
    /// When its frame was captured.
    pub captured: Instant,
    /// Transport-wide number: one for each packet that leaves, in the order in which they leave.
    pub number: u32,
    /// RTP sequence number, 32 bits; a retransmission repeats it.
    pub sequence: u32,
    /// Number of the frame.
    pub frame: u32,
    /// Place within the frame.
    pub index: u32,
    /// Packets of the frame; 0 in padding, which belongs to none.
    pub packets: u32,
    /// Payload bytes.
    pub payload: u16,
    /// Of a key frame.
    pub key: bool,
    /// Sent again (RFC 4588).
    pub retransmission: bool,
}

/// An RTCP message. A packet has no room for what it says: the two ends of a flow keep that under this number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtcp {
    /// Number of the message.
    pub message: u32,
}

/// One of the datagrams in which an application's message, a frame, is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Number of the datagram within its flow.
    pub number: u32,
    /// Number of the frame.
    pub frame: u32,
    /// Place within the frame.
    pub index: u32,
    /// Datagrams of the frame.
    pub packets: u32,
    /// Payload bytes.
    pub payload: u16,
}
