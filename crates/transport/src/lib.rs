//! Endpoints in simulation: TCP, QUIC, media over RTP, datagrams, applications.
//!
//! Everything is sans-IO: `on_packet` and `on_timer` take the time and push packets into a buffer of the caller's, and
//! `next_timer` says when to call again. A segment is what its header says ([`slackwater_core::Packet`]); nothing
//! passes between two endpoints beside it, but for what RTCP says ([`rtp::Mailbox`]).

pub mod app;
pub mod quic;
pub mod rtp;
pub mod tcp;

// The harness of `tests/common` names the crate as those who use it do.
#[cfg(test)]
extern crate self as slackwater_transport;
