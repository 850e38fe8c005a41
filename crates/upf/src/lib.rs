//! A user plane function without sockets: what a session management function orders by PFCP is done to packets.
//!
//! [`rules`] holds what a session's rules say, however they were carried; [`sessions`] the sessions with their tunnels and
//! addresses. The crate opens no socket and reads no clock: octets and the time go in, octets come out.

pub mod rules;
pub mod sessions;
