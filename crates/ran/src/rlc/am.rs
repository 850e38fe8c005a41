//! Acknowledged mode.

use slackwater_core::Duration;

/// Timers and counters of acknowledged mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmConfig {
    /// How long the receiver waits before it reports a gap (t-Reordering, t-Reassembly).
    pub t_reassembly: Duration,
    /// How long the sender waits for the answer to a poll (t-PollRetransmit).
    pub t_poll_retransmit: Duration,
    /// Least time between two status reports (t-StatusProhibit).
    pub t_status_prohibit: Duration,
    /// A poll at least every so many PDUs.
    pub poll_pdu: u32,
    /// A poll at least every so many bytes.
    pub poll_byte: u64,
    /// Retransmissions of one range after which `max_retx_reached` is counted (the bearer is not re-established).
    pub max_retx: u32,
}

impl AmConfig {
    /// t-PollRetransmit 80 ms, t-Reassembly 80 ms, t-StatusProhibit 10 ms, pollPDU 64, pollByte 125 kB,
    /// maxRetxThreshold 4: srsRAN Project's defaults; the reassembly timer is 40 ms here, just above the longest HARQ
    /// chain of four transmissions in LTE (24 ms) and within what LTE operators configure (35 to 50 ms).
    pub const DEFAULT: Self = Self {
        t_reassembly: Duration::from_millis(40),
        t_poll_retransmit: Duration::from_millis(80),
        t_status_prohibit: Duration::from_millis(10),
        poll_pdu: 64,
        poll_byte: 125_000,
        max_retx: 4,
    };
}
