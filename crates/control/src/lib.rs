//! Congestion controllers: what a sender may send, by what it hears.
//!
//! Two traits: a [`Controller`] steers TCP or QUIC by windows, rates or explicit feedback, a [`MediaController`] an encoder.
//! Events come in as one sample struct each ([`Sent`], [`Ack`], [`CongestionEvent`], [`Feedback`]) or as a [`PathReport`];
//! what goes out is one plain value, [`Intent`].
//! The host owns loss detection, recovery (PRR) and the pacer; the controller owns the window and the rate.

pub mod estimate;
pub mod media;
pub mod pacer;
pub mod phy;
pub mod rate;
pub mod registry;
#[cfg(test)]
mod testing;
pub mod window;

pub use media::MediaController;
pub use media::feedback::{Feedback, PacketReport};
pub use pacer::Pacer;
pub use registry::{
    AnyController, AnyMedia, Config, Encoder, UnknownController, build, build_media, media_names,
    names,
};
use slackwater_core::{Bytes, Duration, Instant, Rate};
pub use slackwater_signal::{Counters, PathReport};

/// What every event shows of the path and the host's state, after the event was applied.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PathView {
    /// Smoothed RTT (RFC 6298), zero before the first sample.
    pub srtt: Duration,
    /// Least RTT seen on the connection, zero before the first sample.
    pub min_rtt: Duration,
    /// Sender maximum segment size: payload bytes of a full packet.
    pub mss: u32,
    /// Bytes that a full packet takes on the wire (IP and transport headers included).
    pub wire_mss: u32,
    /// Bytes in flight (RFC 6675 pipe).
    pub in_flight: Bytes,
    /// Bytes that the host holds for its pacer and the window, of media, in IP bytes; zero where it does not know.
    pub queued: Bytes,
}

/// A packet left.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Sent {
    /// Payload bytes.
    pub bytes: Bytes,
    /// Sent again.
    pub retransmission: bool,
    /// First packet after the connection was idle (nothing in flight and nothing to send).
    pub after_idle: bool,
}

/// A delivery-rate sample (draft-ietf-ccwg-bbr, 4.1; Linux `tcp_rate.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub delivered: Bytes,
    /// The longer of the send and the ACK interval; zero marks an invalid sample.
    pub interval: Duration,
    /// The connection's total of delivered bytes when the sampled packet was sent.
    pub prior_delivered: Bytes,
    /// The sampled packet was sent while the application limited the sender.
    pub app_limited: bool,
    /// The sample comes from a retransmitted packet.
    pub retransmitted: bool,
}

/// New CE, ECT(0) and ECT(1) packets that an ACK reports (classic ECN: `ce` is 1 per ECE echo).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnDelta {
    /// Packets that arrived with CE.
    pub ce: u32,
    /// Packets that arrived with ECT(0).
    pub ect0: u32,
    /// Packets that arrived with ECT(1).
    pub ect1: u32,
}

/// Feedback arrived: one TCP or QUIC ACK. (What RTCP says packet by packet is a [`Feedback`].)
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Ack {
    /// Bytes newly delivered, cumulatively or selectively.
    pub newly_acked: Bytes,
    /// Bytes by which the cumulative point moved.
    pub cumulative: Bytes,
    /// Bytes newly marked lost by the host.
    pub newly_lost: Bytes,
    /// Bytes that arrived a second time, as the receiver reports them: sent again without need (TCP's DSACK, RFC 2883).
    pub duplicated: Bytes,
    /// Bytes in flight before this ACK.
    pub prior_in_flight: Bytes,
    /// An RTT sample without ambiguity (Karn), the least of those that this ACK gives.
    pub rtt: Option<Duration>,
    /// One-way delay of the newest packet, where the feedback carries it: TCP's from time stamps (RFC 7323), in steps of
    /// 1 ms. The two clocks add a constant that nobody knows: differences count, values do not.
    pub owd: Option<Duration>,
    /// Delay of the feedback itself on its way back, where it carries the time it left (TCP's time stamps), in steps of
    /// 1 ms, up to a constant as `owd`.
    pub back: Option<Duration>,
    /// Delivery-rate sample, where one could be made.
    pub rate: Option<RateSample>,
    /// ECN counts since the last ACK.
    pub ecn: EcnDelta,
    /// Total of bytes delivered on the connection, this ACK included.
    pub delivered: Bytes,
    /// Total of bytes lost on the connection.
    pub lost: Bytes,
    /// The application, not the window, limits the sender.
    pub app_limited: bool,
    /// The window was used up at some time in the last round (Linux `tcp_is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// The first ACK of a packet sent after the last round's first ACK.
    pub round_start: bool,
    /// The host is in fast recovery, or in loss recovery after a timeout.
    pub recovery: Recovery,
    /// Sequence position up to which data is acknowledged, counted in bytes from the connection's start.
    pub una: u64,
    /// Sequence position of the next new byte.
    pub next: u64,
}

/// The host's recovery state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// None: growth is allowed (Linux `TCP_CA_Open`).
    #[default]
    Open,
    /// Some packets are selectively acknowledged or duplicated, none declared lost yet (Linux `TCP_CA_Disorder`); growth is allowed.
    Disorder,
    /// The window was reduced for an ECN echo and one round has not passed (Linux `TCP_CA_CWR`).
    Cwr,
    /// Fast recovery: packets were declared lost (Linux `TCP_CA_Recovery`).
    Fast,
    /// After a retransmission timeout, until what was in flight is acknowledged (Linux `TCP_CA_Loss`).
    Timeout,
}

/// What a congestion event goes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Packets declared lost by RACK or duplicate ACKs: once per recovery episode.
    Loss,
    /// A CE echo: at most once per round.
    Ecn,
    /// A retransmission timeout.
    Timeout,
}

/// A congestion event: at most one per round for [`Cause::Loss`] and [`Cause::Ecn`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CongestionEvent {
    /// What it goes back to.
    pub cause: Cause,
    /// Bytes declared lost so far in this episode.
    pub lost: Bytes,
    /// Bytes in flight when the event was detected.
    pub in_flight: Bytes,
    /// Sequence position of the next new byte.
    pub next: u64,
}

impl CongestionEvent {
    /// A congestion event.
    pub fn new(cause: Cause, lost: Bytes, in_flight: Bytes, next: u64) -> Self {
        Self {
            cause,
            lost,
            in_flight,
            next,
        }
    }
}

/// How a sender marks its packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EcnMode {
    /// Not-ECT.
    #[default]
    Off,
    /// ECT(0), CE answered as loss (RFC 3168).
    Classic,
    /// ECT(1), CE answered in proportion (RFC 9331).
    L4s,
    /// ECT(0), CE answered in proportion (RFC 8257).
    Dctcp,
}

impl EcnMode {
    /// CE is answered in proportion to its share, which takes a count of CE packets as feedback.
    pub const fn is_proportional(self) -> bool {
        matches!(self, Self::L4s | Self::Dctcp)
    }
}

/// Who reduces the window during fast recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RecoveryMode {
    /// The host, by proportional rate reduction towards `Intent::window` (RFC 9937).
    #[default]
    Prr,
    /// The controller: its window is used as it stands (BBR).
    Controller,
}

/// What the controller wants; a plain value that the host reads after each event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Intent {
    /// Congestion window in payload bytes; `None` for purely rate-based control.
    pub window: Option<Bytes>,
    /// Slow-start threshold, for records and for the host's default pacing.
    pub ssthresh: Option<Bytes>,
    /// Pacing rate in wire bytes; `None` leaves bursts to the window.
    pub pacing: Option<Rate>,
    /// Bytes that may leave at once when paced; zero for the pacer's default.
    pub burst: Bytes,
    /// Media encoder target, in payload bytes.
    pub target: Option<Rate>,
    /// Where not zero: send padding up to this rate (wire bytes, media included) where the media gives less. Controllers
    /// that probe for bandwidth ask for it.
    pub padding: Rate,
    /// ECN marking of outgoing packets.
    pub ecn: EcnMode,
    /// Who steers in fast recovery.
    pub recovery: RecoveryMode,
}

/// A congestion controller of TCP or QUIC, by acknowledgments; that of an encoder is a [`MediaController`]. Calls come in
/// time order; `now` comes first.
///
/// Laws that every controller keeps, whatever events arrive (a model fuzz checks them): the window is at least one
/// segment, rates are finite, nothing panics, and a lost or marked packet never raises the window.
pub trait Controller: Send + core::fmt::Debug {
    /// A packet was sent. Hot path.
    fn on_sent(&mut self, _now: Instant, _path: &PathView, _sent: &Sent) {}
    /// `count` packets alike were sent at once: [`Controller::on_sent`] for each. `path` shows what is in flight after the
    /// first.
    #[inline]
    fn on_sent_row(&mut self, now: Instant, path: &PathView, sent: &Sent, count: u64) {
        let mut path = *path;
        for _ in 0..count {
            self.on_sent(now, &path, sent);
            path.in_flight += sent.bytes;
        }
    }
    /// Feedback arrived. Called after the host updated its scoreboard, and after [`Controller::on_congestion`] where the
    /// same feedback revealed a loss.
    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack);
    /// A congestion event.
    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent);
    /// The last congestion event proved spurious (Eifel, RFC 3522/4015; F-RTO, RFC 5682): the reduction is undone.
    fn on_undo(&mut self, _now: Instant, _path: &PathView) {}
    /// The host left fast recovery or loss recovery.
    fn on_recovered(&mut self, _now: Instant, _path: &PathView) {}
    /// True where the sender asks the network for explicit feedback.
    fn takes_reports(&self) -> bool {
        false
    }
    /// True where the sender wants the receiver to tell it about its transport blocks.
    fn takes_blocks(&self) -> bool {
        false
    }
    /// True where the sender wants the base station to count its flow and to report on a way of its own.
    fn takes_counters(&self) -> bool {
        false
    }
    /// Explicit feedback arrived.
    fn on_report(&mut self, _now: Instant, _path: &PathView, _report: &PathReport) {}
    /// The timer asked for by [`Controller::next_timer`] ran out.
    fn on_timer(&mut self, _now: Instant, _path: &PathView) {}
    /// When [`Controller::on_timer`] should be called; a time that has passed is due now.
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    /// What the sender may do now.
    fn intent(&self) -> Intent;
    /// Named internals for plots, qlog and learning. Names are the paper's or the RFC's.
    fn snapshot(&self, _out: &mut Vec<(&'static str, f64)>) {}
    /// The name under which the registry knows this controller.
    fn name(&self) -> &str;
    /// A copy with the same state.
    fn clone_box(&self) -> Box<dyn Controller>;
}

impl Clone for Box<dyn Controller> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}
