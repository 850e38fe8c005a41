//! TCP as Linux 6.x speaks it: SACK, RACK-TLP, PRR, time stamps, ECN, pacing.
//!
//! [`Endpoint`] is one end of a connection. Its sender is spread over files by concept: `scoreboard` (what is in
//! flight), `handshake`, `sender` (what leaves), `ack` (what an ACK does), `recovery` (the congestion states and undo), `rack`,
//! `tlp`, `prr`, `rto`, `rate_sample`; its receiver is `receiver`.

mod ack;
mod config;
mod connection;
mod ecn;
mod handshake;
mod options;
mod plain;
mod prr;
mod rack;
pub(crate) mod rate_sample;
mod receiver;
mod recovery;
mod rto;
pub(crate) mod scoreboard;
mod sender;
mod tlp;

pub use config::{Config, DelayedAck, PrrBound};
pub use connection::{Endpoint, Events, Stats};
pub use ecn::Negotiated;
