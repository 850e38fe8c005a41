//! A user plane function on sockets: `slackwater upf`.

pub mod config;
pub mod fixed;

pub use config::UpfConfig;
