//! What the two ends of a QUIC flow are configured with.

use slackwater_control::EcnMode;
use slackwater_core::{Bytes, Duration};

use super::{BELOW, SHORT_HEADER, STREAM_FRAME};

/// When a receiver acknowledges (RFC 9000, 13.2; the first two are what draft-ietf-quic-ack-frequency lets a sender
/// ask for).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckRule {
    /// Ack-eliciting packets per ACK (RFC 9000, 13.2.2: 2).
    pub packets: u16,
    /// How long an ACK may wait: the transport parameter `max_ack_delay` (RFC 9000, 18.2: 25 ms).
    pub delay: Duration,
    /// A packet out of order is acknowledged at once (RFC 9000, 13.2.1). Off: it waits its turn.
    pub at_once: bool,
}

impl Default for AckRule {
    fn default() -> Self {
        Self {
            packets: 2,
            delay: Duration::from_millis(25),
            at_once: true,
        }
    }
}

/// Whether a connection spins its bit (RFC 9000, 17.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spin {
    /// Always. RFC 9000 wants it off on at least one connection in 16; a study of the bit wants it on.
    #[default]
    On,
    /// Never: the bit stays zero.
    Off,
    /// Off on a random connection in 16, as RFC 9000 wants.
    Rfc,
}

/// Configuration of both ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// IP bytes of a full packet. The default of 1,500 is what path MTU discovery (RFC 8899) finds on Ethernet.
    pub packet: u16,
    /// Bytes that the application may have unacknowledged or unsent.
    pub send_buffer: Bytes,
    /// Credit that the receiver grants beyond what it has (RFC 9000, 4.1), for the connection and its one stream alike.
    pub recv_window: Bytes,
    /// When the receiver acknowledges.
    pub ack: AckRule,
    /// RTT before the first sample (RFC 9002, 6.2.2: 333 ms).
    pub initial_rtt: Duration,
    /// Packets by which a later one must have overtaken a lost one (RFC 9002, 6.1.1: 3).
    pub packet_threshold: u32,
    /// Paces a window whose controller names no rate at 1.25 windows per RTT (RFC 9002, 7.7). A controller's own rate is
    /// always honoured.
    pub pacing: bool,
    /// ECN; `None` follows the controller's intent.
    pub ecn: Option<EcnMode>,
    /// The spin bit.
    pub spin: Spin,
    /// Bytes of the server's first flight: its hello, certificates and proof. At most 3,600, three times what the client
    /// sent (RFC 9000, 8.1): a server with more would wait for the client's next packet, which is not modelled.
    pub server_flight: u16,
    /// The sender starts with 1,200 bytes and searches for the path's MTU by probes (RFC 8899) up to `packet`. The light model knows it.
    pub mtu_discovery: bool,
    /// Step of the timers of both hosts; zero: they are exact. The light model's always are.
    pub timer_step: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            packet: 1500,
            send_buffer: Bytes(6 << 20),
            recv_window: Bytes(6 << 20),
            ack: AckRule::default(),
            initial_rtt: Duration::from_millis(333),
            packet_threshold: 3,
            pacing: true,
            ecn: None,
            spin: Spin::On,
            server_flight: 3000,
            mtu_discovery: false,
            timer_step: Duration::ZERO,
        }
    }
}

impl Config {
    /// Stream bytes of a full packet: what a controller calls a segment.
    pub const fn mss(&self) -> u16 {
        self.packet - BELOW - SHORT_HEADER - STREAM_FRAME
    }
}
