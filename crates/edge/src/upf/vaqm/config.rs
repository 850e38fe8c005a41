//! The parameters of a vAQM. It works without any set (the article: "self-learning, making it fully
//! automated without any parametrization").

use slackwater_core::{Bytes, Duration, Rate};
use slackwater_queue::{CodelConfig, LawConfig};
use slackwater_schema::choice;

choice! {
    /// How the bottleneck is moved here.
    pub enum Mode {
        /// [`Mode::Direct`] while every flow answers to it and none needs a queue of its own, else [`Mode::Window`]. The default.
        Auto = "auto",
        /// Packets leave while less is in flight than the bottleneck holds at the target RTT.
        Window = "window",
        /// A rate that integrates the distance from the target: where only RTTs are known, not acknowledgments.
        Int = "int",
        /// The rate of the article's text: the largest ingress seen while below the target, times a bounding factor.
        Literal = "literal",
        /// [`Mode::Literal`] with states that let the radio's queue drain and the rate grow again.
        Drain = "drain",
        /// No queue here: the RTT drives drops and marks at once (the article's variant "without bitrate adjustment").
        Direct = "direct",
        /// Measures alone; session rates still hold.
        Measure = "measure",
    }
}

/// Marking of ECT(1) packets (L4S, RFC 9331).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L4sConfig {
    /// Treat ECT(1) so; else it is marked as ECT(0) is.
    pub enabled: bool,
    /// Delay up to which nothing is marked.
    pub low: Duration,
    /// Delay from which everything is.
    pub high: Duration,
    /// How long a congestion report of the radio network holds.
    pub report_age: Duration,
}

impl Default for L4sConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            low: Duration::from_millis(1),
            high: Duration::from_millis(3),
            report_age: Duration::from_millis(200),
        }
    }
}

/// The parameters, each with a default that needs no tuning.
#[derive(Clone, Debug, PartialEq)]
pub struct VaqmConfig {
    /// How the bottleneck is moved here.
    pub mode: Mode,
    /// The article's "fraction of Path RTT" that the radio's queue may hold.
    pub fraction: f64,
    /// Least target queue delay: HARQ's in-order delivery and uplink grants delay packets by so much without any queue.
    pub min_target: Duration,
    /// Largest target queue delay, save that two packets always fit.
    pub max_target: Duration,
    /// What the target leaves above the learned jitter.
    pub jitter_margin: Duration,
    /// How long a path RTT holds before it must be seen again.
    pub path_window: Duration,
    /// Seek the path RTT anew by letting the radio's queue run empty for some RTTs, where it was not seen again.
    pub revalidate: bool,
    /// Take what the UE's packets wait on their way up out of the round trips, so that an upload does not slow downloads. The
    /// article's round trip holds both ways.
    pub split_uplink: bool,
    /// The law of the queues here: any of `queue`'s (the article: "pluggable AQM modules"); `CoDel` is timed by the
    /// path.
    pub module: LawConfig,
    /// Derive the target and interval of a law like `CoDel` from measured RTTs.
    pub adaptive_codel: bool,
    /// Bytes that a flow may send in its turn (RFC 8290, 5.2.3).
    pub quantum: u32,
    /// Bytes that one instance may hold.
    pub memory: Bytes,
    /// Bytes that all instances may hold.
    pub memory_total: Bytes,
    /// Rate below which no shaping goes.
    pub floor: Rate,
    /// What stands for the servers' side of the RTT until it is measured.
    pub server_rtt: Duration,
    /// Limit flows that do not answer to signals to what the others leave (the article: "flow-specific shaping").
    pub police: bool,
    /// Release a packet where no ACK has come for long.
    pub liveness: bool,
    /// ECT(1).
    pub l4s: L4sConfig,
    /// Make an instance for a UE whose session was not announced, without limits.
    pub auto_sessions: bool,
}

impl Default for VaqmConfig {
    fn default() -> Self {
        Self {
            mode: Mode::Auto,
            fraction: 0.5,
            // The study: with half the path RTT alone, 30 to 85 % of an LTE link's throughput is lost.
            min_target: Duration::from_millis(20),
            max_target: Duration::from_millis(100),
            jitter_margin: Duration::from_millis(12),
            path_window: Duration::from_secs(10),
            revalidate: true,
            split_uplink: true,
            module: LawConfig::Codel(CodelConfig {
                target: Duration::from_millis(5),
                interval: Duration::from_millis(100),
                max_packet: Bytes(1500),
                ecn: true,
            }),
            adaptive_codel: true,
            quantum: 1514,
            memory: Bytes(4 << 20),
            memory_total: Bytes(1 << 30),
            floor: Rate::from_bps(64_000),
            server_rtt: Duration::from_millis(20),
            police: true,
            liveness: true,
            l4s: L4sConfig::default(),
            auto_sessions: true,
        }
    }
}

impl VaqmConfig {
    /// The defaults in another mode.
    pub fn with_mode(mode: Mode) -> Self {
        Self {
            mode,
            split_uplink: mode != Mode::Literal,
            ..Self::default()
        }
    }

    /// For NR in FR1 with TDD: shorter HARQ and grants leave a lower least target. A starting point, not measured.
    #[must_use]
    pub const fn nr(mut self) -> Self {
        self.min_target = Duration::from_millis(10);
        self
    }

    /// Rather throughput than delay: a least target of 40 ms.
    #[must_use]
    pub const fn throughput(mut self) -> Self {
        self.min_target = Duration::from_millis(40);
        self
    }
}
