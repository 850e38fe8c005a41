//! Reports of the radio network in GTP-U: [`RanReport`] to octets and back.
//!
//! Where the standard has a field, that field is used; where it has none, the proposed profiles put the value into
//! assistance information of a type that the standard leaves to tests. Which field carries what is in the table of
//! `docs/wire.md`.
//!
//! - Profile A, "PSC": the uplink PDU session container, on a user's packet or on an empty one ([`container`]).
//! - Profile B, "NRU-A": an NR-U frame of assistance information on the session's own tunnel ([`Scope::Session`]).
//! - Profile C, "MULTI": the same for many flows on a tunnel of its own ([`Scope::Multi`]).
//!
//! Writing does not ask who may send; reading binds a session's tunnel to that session. Whether the peer may send at
//! all, whether the sequence number goes forward and whether the report is fresh is for the caller to check.

pub mod container;
pub mod counted;
pub mod entry;
mod pack;
mod read;

pub use counted::FlowCounters;
pub use entry::{Entry, Part};
pub use pack::{Packer, Scope};
pub use read::{Intake, Source, assistance, receive};

use slackwater_core::{Bytes, Duration, FlowId, Instant, Qfi, Rate, Teid, UeId};
use slackwater_signal::RanReport;

use super::nru::Status;
use crate::WireError;
use crate::octets::Reader;

/// The longest round trip between user plane function and UE that a report is believed. Fields of 32 bits can say 99 days; the
/// largest packet delay budget of a `QoS` flow is 1.1 s (TS 23.501, table 5.7.4-1, 5QI 10), one way.
pub const ROUND_TRIP_MAX: Duration = Duration::from_secs(10);

/// What the peer counts in. The fields are plain numbers, and open decoders do not agree on all units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// One unit of a delay result.
    pub delay: Duration,
    /// One unit of an available bitrate.
    pub bitrate: Rate,
}

impl Default for Units {
    /// Milliseconds and kbit/s.
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(1),
            bitrate: Rate::from_bps(1_000),
        }
    }
}

/// Who is meant by a tunnel, as the receiver of reports knows it from PFCP.
pub trait Names {
    /// The UE whose session has this uplink tunnel.
    fn ue(&self, teid: Teid) -> Option<UeId>;
    /// The flow that a `QoS` flow of this session is.
    fn flow(&self, teid: Teid, qfi: Qfi) -> Option<FlowId>;
}

/// Which tunnel is whose, as the sender of reports knows it.
pub trait Tunnels {
    /// The uplink tunnel of a UE's session.
    fn session(&self, ue: UeId) -> Option<Teid>;
    /// The tunnel and `QoS` flow of a flow.
    fn flow(&self, flow: FlowId) -> Option<(Teid, Qfi)>;
}

/// What a peer can read, told in an echo's private extension ([`super::ie::Element::Private`]): an echo is sent at most
/// once a minute (TS 29.281, 7.2.1), too rarely for the reports themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Profile A.
    pub container: bool,
    /// Profile B.
    pub session: bool,
    /// Profile C.
    pub multi: bool,
}

/// Version of the proposed profiles.
const VERSION: u8 = 1;

/// The number of our private elements: that which RFC 5612 sets aside for examples. Whoever runs this beside others'
/// private elements puts a registered one in its place.
pub const ENTERPRISE: u16 = 32_473;

impl Capabilities {
    /// The value of the private extension.
    pub const fn octets(self) -> [u8; 2] {
        [
            VERSION,
            self.container as u8 | (self.session as u8) << 1 | (self.multi as u8) << 2,
        ]
    }

    /// From that value; octets behind it are those of later versions.
    ///
    /// # Errors
    /// Fewer than two octets, or version 0.
    pub fn parse(value: &[u8]) -> Result<Self, WireError> {
        let mut r = Reader::new(value);
        let version = r.u8("a version")?;
        if version == 0 {
            return Err(WireError::new(0, "version 0", "1 or later"));
        }
        let bits = r.u8("profiles")?;
        Ok(Self {
            container: bits & 1 != 0,
            session: bits & 2 != 0,
            multi: bits & 4 != 0,
        })
    }
}

/// What a delivery status says to an edge function at the central unit: the desired data rate, in bytes per second on
/// the wire, and `backlog`, the bytes of the PDCP packets above the highest transmitted one, which only the central
/// unit can sum up. `None` where the status names no rate.
pub fn from_status(
    status: &Status<'_>,
    at: Instant,
    ue: UeId,
    qfi: Option<Qfi>,
    backlog: Bytes,
) -> Option<RanReport> {
    status.desired_rate.map(|rate| RanReport::Available {
        at,
        ue,
        qfi,
        rate: Rate::from_bps(u64::from(rate) * 8),
        backlog,
    })
}

#[cfg(test)]
mod tests;
