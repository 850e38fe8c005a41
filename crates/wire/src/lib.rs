//! Packets, captures, logs and link traces as bytes.
//!
//! Everything here works on slices and strings that the caller holds; nothing reads a file. Parsers return errors
//! that name the place, what was found and what was expected, and never panic, whatever the bytes.

pub mod checksum;
pub mod gtpu;
pub mod ip;
mod octets;
pub mod packet;
pub mod pcapng;
pub mod pfcp;
pub mod qlog;
pub mod report;
pub mod rtcp;
pub mod rtp;
pub mod trace;

pub use ip::{IpBuf, IpPacket, IpView};
pub use packet::IpVersion;

use thiserror::Error;

/// Why bytes could not be read as a packet.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("byte {offset}: found {found}, expected {expected}")]
pub struct WireError {
    /// Where, counted from 0.
    pub offset: usize,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: String,
}

impl WireError {
    fn new(offset: usize, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            offset,
            found: found.into(),
            expected: expected.into(),
        }
    }
}
