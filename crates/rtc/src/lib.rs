//! WebRTC without sockets: our media controllers behind a real stack.
//!
//! A [`Sender`] is the simulator's [`slackwater_transport::rtp::RtpSender`] (encoder, pacer, history, controller) whose packets
//! leave as SRTP, a [`Receiver`] the simulator's receiver whose reports leave as SRTCP. What lies between, ICE, DTLS, SRTP
//! and SDP, is the sans-IO crate `rtc` ([`peer`]). Datagrams go in with the time and their ECN field, and come out with the
//! ECN field that they are to leave with; `next_timer` says when to call again. See docs/design/0044.

pub mod adapter;
pub mod codec;
#[cfg(feature = "h264")]
pub mod h264;
mod label;
pub mod level;
pub mod peer;
pub mod picture;
pub mod receive;
pub mod send;
mod streams;
mod surplus;
pub mod trouble;
pub mod video;

pub use codec::Codec;
pub use peer::{Outgoing, RtcError};
pub use receive::{Decoded, Received, Receiver};
pub use send::{Sender, Sent, is_media};
pub use slackwater_transport::rtp::{Format, RtpConfig};
pub use trouble::Trouble;

/// Ticks of video's RTP clock in a second (RFC 7741, 4.1).
const CLOCK: u64 = 90_000;
