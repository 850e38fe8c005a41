//! What a scenario sets of RLC.
//!
//! The standards have defaults for signalling alone (TS 36.331, 9.2.1.1; TS 38.331, 9.2.1), and base stations differ:
//!
//! | | signalling, LTE / NR | srsRAN Project, 5QI 9 | srsRAN 4G, QCI 9 | `OpenAirInterface`, NR | ns-3 | here |
//! |---|---|---|---|---|---|---|
//! | t-PollRetransmit, ms | 45 / 45 | 20 | 120 | 45 | 20 | 45 |
//! | t-Reordering, t-Reassembly, ms | 35 / 35 | 20 | 50 | 15 | 10 | 40 |
//! | t-StatusProhibit, ms | 0 / 0 | 10 | 50 | 15 | 10 | 10 |
//! | `pollPDU` | none | 16 | 64 | 64 | 1 | 64 |
//! | `pollByte`, kB | none | none | 750 | 500 | 0.05 | 125 |
//! | maxRetxThreshold | 4 / 8 | 32 | 16, 32 | 32 | 5 | 32 |
//!
//! The reassembly timer is just above the longest HARQ chain of four transmissions in LTE (24 ms) and within what LTE
//! operators configure (35 to 50 ms); `pollByte` is srsRAN Project's of 5QI 5. docs/design/0030 has the sources.

use slackwater_core::Duration;
use slackwater_schema::units::Limit;
use slackwater_schema::{choice, field::Field as _, section};

choice! {
    /// The RLC mode of a bearer.
    pub enum Mode {
        /// Unacknowledged: what HARQ loses is lost (TS 36.322, 5.1.2; TS 38.322, 5.2.2).
        Um = "um",
        /// Acknowledged: RLC sends again until it arrives (TS 36.322, 5.1.3; TS 38.322, 5.2.3).
        Am = "am",
    }
}

section! {
    /// Timers and counters.
    pub struct Timers {
        /// Reassembly (NR) or reordering (LTE) timer; left out, 50 ms in UM and 40 ms in AM.
        #[within(Duration::ZERO, Duration::from_secs(1))]
        pub reassembly: Option<Duration> = None,
        /// AM: time before an unanswered poll is repeated.
        #[within(Duration::from_millis(1), Duration::from_secs(4))]
        pub poll_retransmit: Duration = Duration::from_millis(45),
        /// AM: least time between two status reports.
        #[within(Duration::ZERO, Duration::from_secs(3))]
        pub status_prohibit: Duration = Duration::from_millis(10),
        /// AM: a poll after this many PDUs.
        #[within(1, 65_536)]
        pub poll_pdu: u32 = 64,
        /// AM: repetitions of the same bytes after which a bearer counts as failed. It is re-established at once, without the
        /// time that RRC takes, and sends on.
        #[within(1, 64)]
        pub max_retransmissions: u8 = 32,
    }
}

impl Timers {
    /// How long a gap holds up what lies behind it (t-Reordering, TS 36.322, 7.3; in NR t-Reassembly of RLC or t-Reordering of
    /// PDCP, whichever gives up last). UM's 50 ms are srsRAN's t-Reassembly for 5QI 1 and 2, and within what LTE operators
    /// configure (35 to 50 ms).
    pub fn reassembly(&self, mode: Mode) -> Duration {
        let own = match mode {
            Mode::Um => Duration::from_millis(50),
            Mode::Am => Duration::from_millis(40),
        };
        self.reassembly.unwrap_or(own)
    }
}

/// RLC of one bearer, both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct RlcConfig {
    /// Mode.
    pub mode: Mode,
    /// Limit of the queue of SDUs that wait for their first transmission; bytes count PDCP's header.
    pub buffer: Limit,
    /// Timers and counters.
    pub timers: Timers,
}

impl RlcConfig {
    /// Unacknowledged mode with default timers.
    pub fn um(buffer: Limit) -> Self {
        Self {
            mode: Mode::Um,
            buffer,
            timers: Timers::example(),
        }
    }

    /// Acknowledged mode with default timers.
    pub fn am(buffer: Limit) -> Self {
        Self {
            mode: Mode::Am,
            ..Self::um(buffer)
        }
    }
}

impl Default for RlcConfig {
    fn default() -> Self {
        Self::um(Limit::Unlimited)
    }
}
