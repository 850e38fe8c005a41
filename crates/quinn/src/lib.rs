//! Slackwater's congestion controllers in quinn, unforked, with what they need.
//!
//! quinn tells a controller of packets and hears a window. What it does not carry is added here, through seams that it has:
//!
//! - **Counts of CE.** quinn tells of a mark without a number. Its cryptography is a trait, so [`session`] wraps the keys and
//!   reads the counts from decrypted ACK frames ([`ecn`]).
//! - **ECT(1).** quinn marks ECT(0) and takes any ECT(1) in the counts for corruption. The host overwrites the codepoint of
//!   each outgoing datagram ([`state::State::codepoint`]), and the two counts change places before quinn checks them.
//! - **Pacing by rate.** The window is closed until the pacer lets the next packet go ([`control::Shared`]); quinn's own
//!   pacer stands aside.
//! - **Order.** A controller hears of losses and marks before the acknowledgment that shows them ([`state::State::settle`]).
//! - **Reports and timers** of a controller go to the state that connection and host share.
//!
//! A host does five things: a [`control::Shared`] for each connection; its [`control::Adapter`] as quinn's controller; its
//! session wrapped; [`state::State::codepoint`] on what leaves; quinn driven at [`state::State::next_departure`] and at the
//! controller's timer. The sender of crate `slackwater-quic` is one. For hosts of quinn itself the feature `quinn` brings the last two
//! (`host`); docs/quic.md has a program.

#![expect(
    unexpected_cfgs,
    reason = "`make loom` sets slackwater_loom; a list for all crates would stand in the manifest of the workspace"
)]

pub mod clock;
pub mod control;
pub mod ecn;
#[cfg(feature = "quinn")]
pub mod host;
pub mod session;
pub mod state;
