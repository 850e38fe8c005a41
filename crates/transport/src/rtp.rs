//! Real-time media over RTP: an encoder that follows a rate, a pacer, reports packet by packet, a jitter buffer.
//!
//! [`RtpSender`] and [`RtpReceiver`] are the two ends of one flow. A packet carries [`slackwater_core::Media`] or
//! [`slackwater_core::Rtcp`]. What an RTCP message says is longer than a packet has room for: it waits in a [`Mailbox`] that
//! both ends of the flow are handed, under the number of the message, and is lost, delayed and overtaken as its packet is.
//! Lengths are those of the real formats, and times are as coarse as they make them.
//!
//! `created` is the time at which the packet left, past the pacer.

mod arrivals;
mod config;
mod feedback;
mod frames;
mod history;
mod nack;
mod receiver;
mod sender;
mod source;
#[cfg(test)]
mod tests;

pub use config::{Cadence, Overflow, Playout, ReceiverConfig, RtpConfig, SenderConfig};
pub use feedback::{Arrivals, Format, Mailbox, Rtcp};
pub use frames::Frame;
pub use receiver::{Arrival, ReceiverStats, RtpReceiver};
pub use sender::{RtpSender, SenderStats, Wanted};
pub use source::{Sizes, SourceConfig};

use slackwater_core::packet::{IPV4_HEADER, UDP_HEADER};

/// The fixed RTP header (RFC 3550, 5.1).
const RTP_HEADER: u16 = 12;
/// A header extension with the transport-wide number: four bytes of header, one element of three, padding (RFC 8285,
/// 4.2; draft-holmer-rmcat-transport-wide-cc-extensions-01, 2).
const TWCC_EXTENSION: u16 = 8;
/// The original sequence number at the head of a retransmission (RFC 4588, 4).
const RTX_HEADER: u16 = 2;
/// SRTP's authentication tag (RFC 3711, 8.2: 80 bits).
const SRTP: u16 = 10;
/// SRTCP's index and tag (RFC 3711, 3.4).
const SRTCP: u16 = 14;
/// What carries an RTCP message.
const BELOW_RTCP: u16 = IPV4_HEADER + UDP_HEADER + SRTCP;
/// What carries an RTP packet.
const BELOW_RTP: u16 = IPV4_HEADER + UDP_HEADER + SRTP;
