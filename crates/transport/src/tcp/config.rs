//! What a TCP endpoint is configured with. The defaults are those of Linux 6.x.

use slackwater_control::EcnMode;
use slackwater_core::packet::{IPV4_HEADER, TCP_HEADER, TCP_TIMESTAMP_OPTION};
use slackwater_core::{Bytes, Duration, SeqNum};

/// When a receiver acknowledges (RFC 9293, 3.8.6.3; Linux `__tcp_ack_snd_check`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Full segments per ACK; 1 acknowledges each.
    pub segments: u16,
    /// How long an ACK may wait (Linux `TCP_DELACK_MIN`: 40 ms).
    pub timeout: Duration,
    /// Segments that are acknowledged at once at the start of a connection and after reordering (Linux
    /// `TCP_MAX_QUICKACKS`: 16).
    pub quick: u8,
    /// While data is missing, ACKs after the third duplicate wait up to a millisecond or a twentieth of the RTT
    /// (Linux `tcp_comp_sack_delay_ns`, `tcp_comp_sack_nr`).
    pub compress_sacks: bool,
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self {
            segments: 2,
            timeout: Duration::from_millis(40),
            quick: 16,
            compress_sacks: true,
        }
    }
}

/// Which RFC 6937 bound limits the sender while the pipe is below the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrrBound {
    /// RFC 9937, 6.2: slow-start reduction bound where an ACK makes good progress, conservative bound else (Linux).
    #[default]
    Heuristic,
    /// Always the conservative reduction bound (RFC 6937, 3: PRR-CRB).
    Conservative,
    /// Always the slow-start reduction bound (RFC 6937, 3: PRR-SSRB).
    SlowStart,
}

/// Configuration of one endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Payload bytes of a full segment. The default of 1,448 with time stamps makes IP packets of 1,500 bytes.
    pub mss: u16,
    /// Time stamps (RFC 7323), 12 bytes in each segment; both ends must have them on.
    pub timestamps: bool,
    /// Selective acknowledgments (RFC 2018); both ends must have them on.
    pub sack: bool,
    /// Shift of the window field (RFC 7323, 2.3); at most 14.
    pub window_scale: u8,
    /// Bytes that the application may have unacknowledged or unsent.
    pub send_buffer: Bytes,
    /// Bytes that the receiver offers.
    pub recv_buffer: Bytes,
    /// Delayed acknowledgments.
    pub delayed_ack: DelayedAck,
    /// Least variance term of the retransmission timeout (Linux `TCP_RTO_MIN`: 200 ms).
    pub min_rto: Duration,
    /// Largest retransmission timeout (Linux `TCP_RTO_MAX`: 120 s).
    pub max_rto: Duration,
    /// Timeout before the first RTT sample (RFC 6298, 2.1: 1 s).
    pub initial_rto: Duration,
    /// ECN to ask for, or to accept; `None` follows the controller's intent. A passive opener accepts whatever the
    /// active one asks for unless this says [`EcnMode::Off`] (Linux `tcp_ecn` = 2).
    pub ecn: Option<EcnMode>,
    /// Paces a window whose controller names no rate, as Linux does under `fq`. A controller's own rate is always
    /// honoured.
    pub pacing: bool,
    /// The receiver sees segments that arrive together as one, as behind a network card's receive offload: it
    /// acknowledges them once (Linux GRO).
    pub receive_offload: bool,
    /// Detects losses by time (RFC 8985); off: by three duplicate ACKs (RFC 6675).
    pub rack: bool,
    /// Probes the tail (RFC 8985, 7). Needs SACK.
    pub tlp: bool,
    /// Detects spurious timeouts (RFC 5682).
    pub frto: bool,
    /// Proportional rate reduction in recovery (RFC 9937); off: the window drops at once.
    pub prr: bool,
    /// The bound that it uses.
    pub prr_bound: PrrBound,
    /// The first sequence number, where a test wants a given one; `None` draws it.
    pub initial_seq: Option<SeqNum>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1448,
            timestamps: true,
            sack: true,
            window_scale: 7,
            send_buffer: Bytes(6 << 20),
            recv_buffer: Bytes(6 << 20),
            delayed_ack: DelayedAck::default(),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            initial_rto: Duration::from_secs(1),
            ecn: None,
            pacing: false,
            receive_offload: false,
            rack: true,
            tlp: true,
            frto: true,
            prr: true,
            prr_bound: PrrBound::Heuristic,
            initial_seq: None,
        }
    }
}

impl Config {
    /// IP and TCP header bytes of a data segment.
    pub const fn header(&self) -> u16 {
        let options = if self.timestamps {
            TCP_TIMESTAMP_OPTION
        } else {
            0
        };
        IPV4_HEADER + TCP_HEADER + options
    }
}
