//! What the two ends of a media flow are configured with.

use slackwater_control::EcnMode;
use slackwater_core::Duration;

use super::feedback::Format;
use super::source::SourceConfig;
use super::{BELOW_RTP, RTP_HEADER, TWCC_EXTENSION};

/// What happens to media that waits too long for the pacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// It waits.
    Keep,
    /// The pacer goes faster, so that nothing waits longer than this; `None`: the time of a frame where the controller wants
    /// that, else 2 s (libwebrtc).
    Hurry(Option<Duration>),
    /// All that waits is thrown away when the oldest has waited this long (`SCReAM` clears its RTP queue).
    Discard(Duration),
}

/// The sending end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// The encoder.
    pub source: SourceConfig,
    /// IP bytes of a full packet.
    pub packet: u16,
    /// Paces at this many times the encoder's target, headers added; `None` follows the controller's pacing rate.
    pub pacing: Option<f64>,
    /// What the pacer lets go at once, as time at its rate; `None`: as the controller says.
    pub burst: Option<Duration>,
    /// What leaves at once after a late call, as time at the pacer's rate: lateness up to this costs no rate. A simulation
    /// is never late.
    pub late: Duration,
    /// What happens to media that waits too long for the pacer.
    pub overflow: Overflow,
    /// What may be in flight above the controller's window, as time at its target: reports once a frame (RFC 9392) free the window so late.
    /// None where a scenario gives none: its senders have windows as their papers do.
    pub unreported: Duration,
    /// Answers NACKs.
    pub retransmit: bool,
    /// The ECN field of media; `None`: as the controller wants it.
    pub ecn: Option<EcnMode>,
    /// A packet that is missing from reports counts as lost when one that was sent this much later was reported (and
    /// three others: RFC 9002, 6.1.1).
    pub reordering: Duration,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            source: SourceConfig::default(),
            packet: 1200,
            pacing: None,
            burst: None,
            // Below a quarter of what libwebrtc's pacer sends at once (40 ms), and as long as a ramp of 5 to 20 ms bears.
            late: Duration::from_millis(10),
            overflow: Overflow::Hurry(None),
            unreported: Duration::ZERO,
            retransmit: true,
            ecn: None,
            reordering: Duration::ZERO,
        }
    }
}

/// When a receiver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cadence {
    /// At the last packet of each frame (RFC 9392), and in any case when a packet has waited this long.
    Frame(Duration),
    /// At intervals, where packets arrived.
    Interval(Duration),
}

/// When a complete frame is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Playout {
    /// So long after its capture, or when it is complete.
    Fixed(Duration),
    /// After the least delay seen and four times the jitter (RFC 3550, 6.4.1), which is held between these.
    Adaptive(Duration, Duration),
}

/// The receiving end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// When it reports.
    pub cadence: Cadence,
    /// Asks for packets that are missing.
    pub nack: bool,
    /// Asks again after this long while the round trip is not known (libwebrtc: 100 ms); see [`super::RtpReceiver::on_round_trip`].
    pub nack_retry: Duration,
    /// When frames are shown.
    pub playout: Playout,
    /// A frame that waits for retransmissions may hold up those behind it for so long after they are due.
    pub patience: Duration,
    /// A frame that is complete later than this after its capture is late.
    pub deadline: Duration,
    /// Frames after one that was given up cannot be shown until a key frame, which is asked for (PLI); off: the decoder
    /// conceals the gap.
    pub needs_key: bool,
    /// Ahead of the sender's clock by this much in what it reports.
    pub clock_offset: Duration,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            cadence: Cadence::Frame(Duration::from_millis(50)),
            nack: true,
            nack_retry: Duration::from_millis(100),
            playout: Playout::Adaptive(Duration::from_millis(5), Duration::from_millis(500)),
            patience: Duration::from_millis(150),
            deadline: Duration::from_millis(100),
            needs_key: false,
            clock_offset: Duration::ZERO,
        }
    }
}

/// Both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RtpConfig {
    /// The format of reports; transport-wide ones carry no ECN.
    pub format: Format,
    /// The sending end.
    pub sender: SenderConfig,
    /// The receiving end.
    pub receiver: ReceiverConfig,
}

impl RtpConfig {
    /// Header bytes of a media packet, from IP to SRTP's tag.
    pub const fn header(&self) -> u16 {
        let extension = match self.format {
            Format::Ccfb => 0,
            Format::Twcc => TWCC_EXTENSION,
        };
        BELOW_RTP + RTP_HEADER + extension
    }

    /// Payload bytes of a full packet.
    pub fn payload(&self) -> u16 {
        self.sender.packet.saturating_sub(self.header()).max(1)
    }
}
