//! Measurement from what passes: round-trip times and bytes in flight without a word from either end.
//!
//! A flow's data is clocked as it leaves for the radio and its acknowledgment as it comes back, so a sample holds the
//! radio's delay, the UE's, and nothing of what lies on the servers' side or in queues before the clock.

mod extreme;
mod rate;
mod segments;
mod server_rtt;
mod spin;
mod tcp;
mod uplink;

pub use extreme::{WindowedMax, WindowedMin};
pub use rate::RateMeter;
pub use segments::Segments;
pub use server_rtt::ServerRtt;
pub use spin::{SpinFlow, SpinState};
pub use tcp::{AckInfo, TcpFlow};
pub use uplink::UplinkClock;

use slackwater_core::Duration;

/// What a sample may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleKind {
    /// A round trip as data sees it.
    Full,
    /// It may hold a delay that only this packet met (a UE that accepts a connection, wakes or pages): for minimum
    /// filters.
    MinOnly,
    /// It may hold the wait of a delayed ACK (RFC 9293, 3.8.6.3): for minimum filters, and for averages that it lowers.
    IfLower,
}

/// One measured round trip between this function and the UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// Round-trip time.
    pub rtt: Duration,
    /// What it may be used for.
    pub kind: SampleKind,
}
