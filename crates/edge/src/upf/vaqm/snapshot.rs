//! What an instance does, and what all of them count, for plots.

use slackwater_core::{Bytes, Duration, Instant, Rate};

/// What an instance does at present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It measures and lets everything pass.
    #[default]
    Open,
    /// It limits, and the average RTT is above the target.
    Shape,
    /// It limits, and the average RTT is not.
    Grow,
}

impl State {
    /// Every state, in the order of the numbers that internals give them.
    pub const ALL: [Self; 3] = [Self::Open, Self::Shape, Self::Grow];

    /// The state's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Shape => "shape",
            Self::Grow => "grow",
        }
    }
}

/// An instance at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// What it does.
    pub state: State,
    /// Average RTT between here and the UE.
    pub average: Duration,
    /// Path RTT: without queues.
    pub path: Duration,
    /// Target RTT.
    pub target: Duration,
    /// Learned access jitter.
    pub jitter: Duration,
    /// Bytes that may be in flight, in window mode and where it limits.
    pub cap: Option<Bytes>,
    /// The dequeue rate, in the other modes and where it limits.
    pub rate: Option<Rate>,
    /// `R_dlv`: what ACKs say arrives, in IP bytes.
    pub delivered: Rate,
    /// Its largest value of the last 250 ms.
    pub delivered_max: Rate,
    /// IP bytes in flight.
    pub flight: Bytes,
    /// IP bytes that wait here.
    pub backlog: Bytes,
    /// Packets that wait here.
    pub packets: u32,
    /// Flows known.
    pub flows: u32,
    /// Flows limited because they do not answer.
    pub unresponsive: u32,
    /// Times that the path was found changed.
    pub path_changes: u32,
    /// Acknowledgments of most bytes are not seen: the RTT alone decides, or a reported rate.
    pub acks_hidden: bool,
    /// When the last RTT was measured.
    pub last_sample: Instant,
}

/// Counters of all instances together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VaqmStats {
    /// Downlink packets that left.
    pub passed: u64,
    /// Of the downlink packets, those that had to wait.
    pub held: u64,
    /// Dropped by a law or for want of room.
    pub dropped: u64,
    /// Marked.
    pub marked: u64,
    /// Dropped beyond the limit of a flow that does not answer.
    pub policed: u64,
    /// Let out because no ACK had come for long.
    pub pushed: u64,
    /// Downlink packets without a session.
    pub unknown: u64,
}
