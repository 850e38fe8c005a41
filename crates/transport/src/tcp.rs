//! TCP as Linux 6.x speaks it: SACK, RACK-TLP, PRR, time stamps, ECN, pacing.
//!
//! [`Endpoint`] is one end of a connection, made of parts that keep their state to themselves:
//!
//! | part | file | holds |
//! |---|---|---|
//! | `Handshake` | `handshake` | its state, and the numbers and sizes that it settles |
//! | `Timestamps` | `timestamps` | what is echoed, and the one-way delays that they show |
//! | `SendBuffer` | `send_buffer` | what the application hands over |
//! | `Reliability` | `reliability` | what is in flight (`scoreboard`), loss by time (`rack`), rate samples (`rate_sample`) |
//! | `Rtt` | `rto` | the round-trip time and the timeout |
//! | `Episode` | `episode` | the congestion state, undo, F-RTO, the window's way down (`prr`) |
//! | `Probe` | `tlp` | the tail loss probe in flight |
//! | `Congestion` | `congestion` | the controller, what it wants, the pacer |
//! | `Window`, `Usage` | `window` | the peer's window, and how far the congestion window is used |
//! | `Receiver`, `EcnState` | `receiver`, `ecn` | the receiving half, and both halves of ECN |
//! | `Timers` | `timers` | the deadlines |
//!
//! What joins them is named by what happens: `connection` (a packet, a timer, the application), `ack` (what an ACK does),
//! `recovery` (from state to state), `sender` (what leaves), `plain` (the straight line for nearly every packet).

mod ack;
mod config;
mod congestion;
mod connection;
mod ecn;
mod episode;
mod handshake;
mod options;
mod plain;
mod prr;
mod rack;
pub(crate) mod rate_sample;
mod receiver;
mod recovery;
mod reliability;
mod rto;
pub(crate) mod scoreboard;
mod send_buffer;
mod sender;
mod timers;
mod timestamps;
mod tlp;
mod window;

pub use config::{Config, DelayedAck, PrrBound};
pub use connection::{Endpoint, Events, Stats};
pub use ecn::Negotiated;

#[cfg(test)]
mod tests;
