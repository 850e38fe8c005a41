//! A user plane function on sockets: `slackwater upf`.
//!
//! [`slackwater_upf`] decides; here are the sockets of N4 and N3, the TUN device or the interface of N6, the clock and the file.

mod apart;
pub mod config;
mod counters;
pub mod drive;
#[cfg_attr(not(feature = "bpf"), path = "upf/fast/absent.rs")]
mod fast;
pub mod fixed;
mod join;
mod local;
mod n6;
mod neighbour;
mod pool;
pub mod reload;
mod ring;
mod setup;
mod state;
pub mod status;

pub use config::UpfConfig;
pub use drive::{Orders, Question, Server};
pub use reload::Reloaded;
