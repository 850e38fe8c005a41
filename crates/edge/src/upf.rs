//! Functions of the user plane function: what acts where a session's packets enter the mobile network.

pub mod cecc;
mod delays;
mod even;
pub mod l4s_marker;
pub mod passive;
pub mod vaqm;
pub mod zhuge;

pub use delays::Delays;
