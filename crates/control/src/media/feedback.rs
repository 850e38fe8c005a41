//! Feedback packet by packet: what RTCP reports of RTP (RFC 8888, transport-wide congestion control) say, as values.

use slackwater_core::{Bytes, Ecn, Instant};

/// What became of one packet.
///
/// `seq`, `sent` and `bytes` come from the sender's own record, the rest from the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketReport {
    /// The packet's number in the order of sending, counted without wrapping from any start.
    pub seq: u64,
    /// When it left, by the sender's clock.
    pub sent: Instant,
    /// When it arrived, by the receiver's clock, whose offset is unknown; `None` where it is taken for lost.
    pub arrived: Option<Instant>,
    /// IP bytes.
    pub bytes: Bytes,
    /// ECN field as it arrived.
    pub ecn: Ecn,
}

impl PacketReport {
    /// A packet of `bytes` IP bytes that arrived.
    pub const fn received(
        seq: u64,
        sent: Instant,
        arrived: Instant,
        bytes: Bytes,
        ecn: Ecn,
    ) -> Self {
        Self {
            seq,
            sent,
            arrived: Some(arrived),
            bytes,
            ecn,
        }
    }

    /// A packet of `bytes` IP bytes that did not arrive.
    pub const fn lost(seq: u64, sent: Instant, bytes: Bytes) -> Self {
        Self {
            seq,
            sent,
            arrived: None,
            bytes,
            ecn: Ecn::NotEct,
        }
    }
}

/// One RTCP report as the sender reads it: the packets that it speaks of, in the order of their numbers.
///
/// A report may repeat packets of earlier ones, contradict them, or come late: controllers take from it what is new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Feedback<'a> {
    /// The packets.
    pub packets: &'a [PacketReport],
    /// The media, not the controller, limits the sender: less was sent than the target allowed.
    pub app_limited: bool,
}

impl<'a> Feedback<'a> {
    /// A report about `packets`.
    pub const fn new(packets: &'a [PacketReport]) -> Self {
        Self {
            packets,
            app_limited: false,
        }
    }
}
