//! A user plane function on sockets: `slackwater upf`.
//!
//! [`slackwater_upf`] decides; here are the sockets of N4 and N3, the TUN device of N6, the clock and the file.

pub mod config;
pub mod drive;
pub mod fixed;
mod setup;
mod state;
pub mod status;

pub use config::UpfConfig;
pub use drive::{Question, Server};
