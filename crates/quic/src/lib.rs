//! quinn-proto, a real QUIC stack, unforked, as two ends of a simulated flow.
//!
//! [`Sender`] and [`Receiver`] have the methods of the light model's (`slackwater_transport::quic`) and its
//! configuration, so that one may stand for the other: the light model for sweeps and training, this for results and to
//! check the light model by. What one end writes is real QUIC packets, byte for byte; a [`slackwater_core::Packet`]
//! cannot hold them, so they wait in a [`Mailbox`] that both ends share, under the number of the packet that stands for
//! them: lost, delayed, overtaken and doubled as that packet is. What the path sees of one (its form and its spin bit) is
//! read from its first byte.
//!
//! Nothing here draws a number, reads a clock or holds a global that would let two runs of one seed differ: time is a
//! fixed base plus the simulated time ([`clock::Epoch`]), connection IDs, reset and token keys and the endpoint's generator
//! follow from the flow's draw, and the handshake is the [`null`] session, which has TLS's lengths and no secrets.
//!
//! Our controllers run behind [`control::Adapter`], of `slackwater_quinn`: with counts of CE, ECT(1) and our pacer, as a
//! deployment has them.

pub mod clock;
pub mod null;

mod end;
mod mailbox;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use end::Mailboxes;
pub use mailbox::Mailbox;
pub use receiver::Receiver;
pub use sender::Sender;
pub use slackwater_quinn::control;
pub use slackwater_transport::quic::Config;
