//! A user plane function without sockets: what a session management function orders by PFCP is done to packets.
//!
//! [`upf::Upf`] is the whole. [`rules`] holds what a session's rules say, however they were carried; [`sessions`] the sessions
//! with their tunnels and addresses; [`n4`] is the control plane, a PFCP node; [`user`] what happens to packets, and [`usage`]
//! what they add up to; [`state`] lets sessions outlive the process. The crate opens no socket and reads no clock: octets and the time go in, octets come out.

pub mod n4;
mod reload;
pub mod rules;
pub mod sessions;
pub mod state;
#[doc(hidden)]
pub mod testing;
pub mod upf;
pub mod usage;
pub mod user;

pub use reload::InUse;
pub use upf::{Config, Upf};
pub use user::{Buf, Output};
