//! A user plane function on sockets: `slackwater upf`.

pub mod config;

pub use config::UpfConfig;
