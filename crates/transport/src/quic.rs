//! A light model of QUIC (RFC 9000, 9002, 9221), lean enough for sweeps and training.
//!
//! [`Sender`] and [`Receiver`] are the two ends of a flow whose data goes one way on one stream. The sender opens the
//! connection and is the client, as TCP's is here. What is modelled: packet numbers that are never used twice, ACK
//! ranges with the delay and the ECN counts, the rule when to acknowledge, losses by packets and by time, probe
//! timeouts, persistent congestion, pacing by the shared [`slackwater_control::Pacer`], flow control, the handshake in
//! one round trip with its padded datagrams, DATAGRAM frames with reports, and the spin bit, which is all that the path
//! sees ([`slackwater_core::PacketView::spin_bit`]).
//!
//! # Use
//!
//! As a TCP endpoint: [`Sender::connect`], [`Sender::write`] (or [`Sender::set_bulk`]), then `on_packet`, `on_timer` and
//! `next_timer` of both ends; packets are pushed into the caller's buffer. A report travels back to the sender's
//! controller by [`Receiver::send_report`]. Each connection of a flow has a number of its own; [`Receiver`] answers the
//! newest one.
//!
//! Where data goes both ways, as for a web page, [`Client`] and [`Server`] are the ends: each has a `Sender` and a
//! `Receiver` as its halves, which share the handshake, the number and the spin bit.
//!
//! # A packet
//!
//! The end that sends data sends [`slackwater_core::QuicData`], the end that receives it [`slackwater_core::QuicAck`], and
//! both [`slackwater_core::QuicLong`] in the handshake. Numbers are 32 bits of the RFCs' 62, close to what the other end
//! expects.
//!
//! # Where it departs from the RFCs
//!
//! - Congestion is counted in stream bytes, as TCP's is here, where RFC 9002 counts whole packets: controllers then mean
//!   the same by a segment. A packet without stream bytes takes no room in the window.
//! - An ACK carries at most three ranges. By RFC 9002's thresholds what is more than three packets behind the largest is
//!   settled at each ACK, so older ranges matter only where ACKs are lost beside data.
//! - Every packet of the receiver names its limit, so that a lost `MAX_DATA` is made good by the next packet; it is
//!   counted and acknowledged where it moved. A sender that is blocked with nothing in flight asks at each probe timeout.
//! - The sender's acknowledgments say which packets of the receiver came; the receiver has nothing that it would send
//!   again, so it does not read them.
//! - Where data goes both ways each way has packet numbers of its own, and an ACK never rides on the data of the other
//!   way. An object is there when its own bytes are, as if it had a stream of its own; the server sends objects in the
//!   order of their requests.
//! - A loss that proves spurious is not taken back (RFC 9002 leaves it open). No connection closes, migrates or times
//!   out; keys are not updated; 0-RTT is not there.

mod ack;
mod config;
mod duplex;
mod ranges;
mod receiver;
mod rtt;
mod sender;
#[cfg(test)]
mod tests;

pub use config::{AckRule, Config, Spin};
pub use duplex::{Client, Server};
pub use receiver::{Receiver, ReceiverStats};
pub use sender::{Sender, Stats};

use slackwater_core::packet::{IPV4_HEADER, UDP_HEADER};
use slackwater_core::{Body, Direction, Duration, Ecn, FlowId, Instant, Packet, SeqNum};

/// What carries a QUIC packet.
const BELOW: u16 = IPV4_HEADER + UDP_HEADER;
/// A short header: flags, a connection ID of 8 bytes, a packet number of 2 (RFC 9000, 17.3.1), and the tag of the AEAD
/// (RFC 9001, 5.3).
const SHORT_HEADER: u16 = 1 + 8 + 2 + 16;
/// A STREAM frame that ends its packet: type, stream, an offset of up to 2^62 (RFC 9000, 19.8).
const STREAM_FRAME: u16 = 1 + 1 + 8;
/// What a data packet holds beside the data of its stream, below UDP's payload.
pub const BESIDE_DATA: u16 = SHORT_HEADER + STREAM_FRAME;
/// An ACK frame of one range: type, largest (4), delay (2), count, first range (2) (RFC 9000, 19.3).
const ACK_FRAME: u16 = 1 + 4 + 2 + 1 + 2;
/// A further range of an ACK frame: gap and length.
pub const ACK_RANGE: u16 = 2 + 2;
/// The three ECN counts.
const ECN_COUNTS: u16 = 3 * 4;
/// `MAX_DATA` and `MAX_STREAM_DATA`, which move together (RFC 9000, 19.9 and 19.10).
const LIMITS: u16 = 9 + 10;
/// `DATA_BLOCKED` (RFC 9000, 19.12).
const BLOCKED_FRAME: u16 = 9;
/// A DATAGRAM frame with a report: type, length, 8 bytes (RFC 9221, 4).
pub const REPORT_FRAME: u16 = 1 + 1 + 8;
/// The least datagram that may hold an Initial packet (RFC 9000, 14.1), with what carries it.
const INITIAL: u16 = 1200 + BELOW;
/// The unit of the ACK delay: the default `ack_delay_exponent` is 3 (RFC 9000, 18.2).
const DELAY_UNIT: u64 = 8_000;

/// A packet of `len` IP bytes that is not ECN-capable.
#[inline]
const fn packet(now: Instant, flow: FlowId, dir: Direction, len: u16, body: Body) -> Packet {
    Packet {
        created: now,
        flow,
        len,
        ecn: Ecn::NotEct,
        dir,
        body,
    }
}

/// Which way the packets of an end go.
#[inline]
const fn direction(up: bool) -> Direction {
    if up { Direction::Up } else { Direction::Down }
}

/// The number near `expected` whose low 32 bits are `low` (RFC 9000, A.3, with 32 bits).
#[inline]
const fn full(expected: u64, low: SeqNum) -> u64 {
    let step = low.0.wrapping_sub(expected as u32) as i32;
    expected.saturating_add_signed(step as i64)
}

/// An ACK delay as it stands in a packet.
#[inline]
fn encode_delay(delay: Duration) -> u16 {
    (delay.as_nanos() / DELAY_UNIT).min(0xffff) as u16
}
