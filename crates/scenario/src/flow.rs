//! `[[flow]]`: senders, what they send and by which controller.

use slackwater_core::{Bytes, Duration, Rate};
use slackwater_transport::quic::Config as QuicConfig;

use crate::error::ScenarioError;
use crate::field::{At, Field, choice, section, tagged};
use crate::media::Media;
use crate::tree::Value;
use crate::units::Percent;

choice! {
    /// Which way the data goes.
    pub enum Way {
        /// To the UE, or to the link's receiver.
        Down = "down",
        /// From the UE.
        Up = "up",
    }
}
/// The protocol of a flow's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP with the flow's controller.
    Tcp,
    /// UDP without control.
    Udp,
    /// QUIC by the light model, with the flow's controller.
    Quic,
    /// QUIC by a real stack, with the flow's controller.
    Quinn,
    /// RTP over UDP with the flow's controller, which must be one for media.
    Rtp,
}

choice! {
    /// What carries an application's data.
    pub enum Transport {
        /// TCP with the flow's controller.
        Tcp = "tcp",
        /// UDP: datagrams leave when the application hands them over.
        Udp = "udp",
        /// QUIC by the light model, with the flow's controller.
        Quic = "quic",
        /// QUIC by a real stack, quinn-proto, with the flow's controller.
        Quinn = "quinn",
    }
}
choice! {
    /// ECN of a TCP flow.
    pub enum TcpEcn {
        /// Not used, unless the controller asks for it.
        Off = "off",
        /// Classic (RFC 3168).
        Classic = "classic",
        /// Accurate ECN (RFC 9768).
        Accurate = "accurate",
    }
}

choice! {
    /// ECN of a QUIC flow.
    pub enum QuicEcn {
        /// Not used, unless the controller asks for it.
        Off = "off",
        /// ECT(0); a mark is answered as a loss.
        Classic = "classic",
    }
}
choice! {
    /// Whether a connection spins its bit (RFC 9000, 17.4).
    pub enum QuicSpin {
        /// Always.
        On = "on",
        /// Never.
        Off = "off",
        /// Off on a random connection in 16, as RFC 9000 wants.
        Rfc = "rfc",
    }
}

section! {
    /// As much as the transport takes, from start to stop.
    pub struct Bulk {}
}
section! {
    /// Finite transfers, one after the other, each on the same connection.
    pub struct Transfers {
        /// Least size.
        #[within(Bytes(1), Bytes(1_000_000_000_000))]
        pub min: Bytes = Bytes(10_000),
        /// Largest size; sizes are uniform between the two.
        #[within(Bytes(1), Bytes(1_000_000_000_000))]
        pub max: Bytes = Bytes(2_000_000),
        /// Pause between the end of one and the start of the next.
        #[within(Duration::ZERO, Duration::from_secs(100_000))]
        pub gap: Duration = Duration::from_secs(5),
        /// How many; left out, until the flow stops.
        #[within(1, 1_000_000)]
        pub count: Option<u32> = None,
        /// A new connection for each transfer.
        pub reconnect: bool = true,
    }
    check(me, at) {
        if me.max < me.min {
            return Err(at.error(
                format!("max = \"{}\" below min = \"{}\"", me.max, me.min), "max of at least min"));
        }
    }
}
section! {
    /// Web pages, one after the other: a document, then the objects that it names, each asked for by the UE.
    pub struct WebPage {
        /// Bytes of a page.
        #[within(Bytes(1), Bytes(1_000_000_000_000))]
        pub size: Bytes = Bytes(2_000_000),
        /// Of them, bytes of the document, which comes first.
        #[within(Bytes(1), Bytes(1_000_000_000_000))]
        pub document: Bytes = Bytes(30_000),
        /// Objects beside the document.
        #[within(0, 10_000)]
        pub objects: u32 = 70,
        /// Spread of their sizes: standard deviation of the logarithm.
        #[within(0.0, 4.0)]
        pub spread: f64 = 1.0,
        /// Connections; each is a flow of its own, new for each page.
        #[within(1, 64)]
        pub connections: u32 = 6,
        /// Ask for all objects at once when the document is there (HTTP/2), in place of one after the other on each
        /// connection.
        pub multiplexed: bool = false,
        /// Bytes of a request.
        #[within(Bytes(1), Bytes(1_000_000))]
        pub request: Bytes = Bytes(500),
        /// Pause between the end of one page and the start of the next.
        #[within(Duration::ZERO, Duration::from_secs(100_000))]
        pub gap: Duration = Duration::from_secs(2),
        /// How many pages; left out, until the flow stops.
        #[within(1, 1_000_000)]
        pub count: Option<u32> = None,
    }
    check(me, at) {
        if me.document > me.size {
            return Err(at.error(
                format!("document = \"{}\" above size = \"{}\"", me.document, me.size), "document of at most size"));
        }
    }
}
section! {
    /// Video in chunks: on for a while, then silent (XRC's DASH model).
    pub struct Video {
        /// Rate while a chunk is offered.
        #[within(Rate::from_bps(1_000), Rate::from_bps(100_000_000_000))]
        pub rate: Rate = Rate::from_bps(17_000_000),
        /// How long a chunk is offered.
        #[within(Duration::from_millis(1), Duration::from_secs(1000))]
        pub on: Duration = Duration::from_secs(2),
        /// From the start of one chunk to the start of the next.
        #[within(Duration::from_millis(1), Duration::from_secs(1000))]
        pub period: Duration = Duration::from_secs(10),
        /// Hand over a whole chunk at once, in place of at `rate`.
        pub burst: bool = false,
    }
    check(me, at) {
        if me.period < me.on {
            return Err(at.error(
                format!("period = \"{}\" below on = \"{}\"", me.period, me.on), "period of at least on"));
        }
    }
}
choice! {
    /// What the deviation of frame intervals is of.
    pub enum VrClock {
        /// Gaps are independent: frames drift (CECC's model).
        Gaps = "gaps",
        /// Each frame deviates from its place in a fixed grid.
        Grid = "grid",
    }
}
section! {
    /// VR frames: size and interval normally distributed (CECC's model).
    pub struct Vr {
        /// Frames a second.
        #[within(1.0, 1000.0)]
        pub fps: f64 = 60.0,
        /// Mean rate; the mean frame is `rate / fps`.
        #[within(Rate::from_bps(1_000), Rate::from_bps(100_000_000_000))]
        pub rate: Rate = Rate::from_bps(50_000_000),
        /// Standard deviation of the size, in percent of the mean.
        #[within(Percent(0.0), Percent(100.0))]
        pub size_cv: Percent = Percent(10.0),
        /// Standard deviation of the interval between frames.
        #[within(Duration::ZERO, Duration::from_secs(1))]
        pub interval_sigma: Duration = Duration::from_millis(1),
        /// What that deviation is of.
        pub clock: VrClock = VrClock::Gaps,
        /// From the start of the flow, when its connection opens, to the first frame.
        #[within(Duration::ZERO, Duration::from_secs(100))]
        pub lead: Duration = Duration::ZERO,
        /// The first frame comes a uniform share of an interval late, so that flows are not in step.
        pub random_phase: bool = true,
        /// What carries the frames.
        pub transport: Transport = Transport::Udp,
        /// Packet length over UDP, IP header included.
        #[within(64, 9000)]
        pub packet: u16 = 1500,
    }
}
section! {
    /// Packets of one size at a constant rate.
    pub struct Cbr {
        /// Rate in IP bytes.
        #[within(Rate::from_bps(1_000), Rate::from_bps(100_000_000_000))]
        pub rate: Rate,
        /// Packet length, IP header included.
        #[within(64, 9000)]
        pub packet: u16 = 1500,
        /// What carries the packets.
        pub transport: Transport = Transport::Udp,
    }
}

tagged! {
    /// What a flow sends.
    pub enum App by "kind" {
        /// Everything it can.
        Bulk(Bulk) = "bulk",
        /// Finite transfers.
        Transfers(Transfers) = "transfers",
        /// Web pages.
        Page(WebPage) = "page",
        /// Chunks of video.
        Video(Video) = "video",
        /// VR frames.
        Vr(Vr) = "vr",
        /// A constant rate.
        Cbr(Cbr) = "cbr",
        /// Real-time media over RTP.
        Media(Media) = "media",
    }
}

impl Protocol {
    /// True where the flow's controller says what may leave.
    pub const fn is_controlled(self) -> bool {
        !matches!(self, Self::Udp)
    }
}

impl From<Transport> for Protocol {
    fn from(transport: Transport) -> Self {
        match transport {
            Transport::Tcp => Self::Tcp,
            Transport::Udp => Self::Udp,
            Transport::Quic => Self::Quic,
            Transport::Quinn => Self::Quinn,
        }
    }
}

impl Flow {
    /// What carries its data.
    pub fn protocol(&self) -> Protocol {
        match (self.transport, &self.app) {
            (Some(transport), _) => transport.into(),
            (None, app) => app.protocol(),
        }
    }

    /// Payload bytes of a full packet of its transport, as its controller counts them.
    pub fn mss(&self) -> u16 {
        match self.protocol() {
            Protocol::Tcp | Protocol::Udp => self.tcp.mss,
            Protocol::Rtp => self.app.media().map_or(self.tcp.mss, |m| m.packet),
            Protocol::Quinn => self.quic.packet - 28,
            Protocol::Quic => QuicConfig {
                packet: self.quic.packet,
                ..QuicConfig::default()
            }
            .mss(),
        }
    }
}

impl App {
    /// The media, where it is some.
    pub const fn media(&self) -> Option<&Media> {
        match self {
            Self::Media(media) => Some(media),
            _ => None,
        }
    }

    /// What carries it where the flow does not say.
    fn protocol(&self) -> Protocol {
        let chosen = Protocol::from;
        match self {
            Self::Vr(vr) => chosen(vr.transport),
            Self::Cbr(cbr) => chosen(cbr.transport),
            Self::Media(_) => Protocol::Rtp,
            Self::Bulk(_) | Self::Transfers(_) | Self::Page(_) | Self::Video(_) => Protocol::Tcp,
        }
    }

    /// Flows that one such application makes: the connections of a page.
    pub fn connections(&self) -> u32 {
        match self {
            Self::Page(page) => page.connections,
            _ => 1,
        }
    }
}

section! {
    /// TCP. Defaults are Linux's where Linux has one.
    pub struct Tcp {
        /// Payload bytes of a full segment; 1,448 is 1,500 less IP, TCP and time stamps.
        #[within(64, 8960)]
        pub mss: u16 = 1448,
        /// Initial window in segments (RFC 6928).
        #[within(1, 1000)]
        pub initial_window: u32 = 10,
        /// Slow-start threshold of a new connection in segments, for window laws; left out, none.
        #[within(1, 1_000_000)]
        pub initial_ssthresh: Option<u32> = None,
        /// Bytes that the sender's socket holds, sent and unsent.
        #[within(Bytes(10_000), Bytes(10_000_000_000))]
        pub send_buffer: Bytes = Bytes(16_000_000),
        /// Bytes that the receiver's socket holds; bounds the advertised window.
        #[within(Bytes(10_000), Bytes(1_000_000_000))]
        pub recv_buffer: Bytes = Bytes(16_000_000),
        /// Window scale that both ends offer (RFC 7323, 2); left out, the smallest that can name `recv_buffer`. A smaller
        /// one limits the advertised window to 65,535 bytes times two to this.
        #[within(0, 14)]
        pub window_scale: Option<u8> = None,
        /// Least retransmission timeout (RFC 6298 says 1 s; Linux 200 ms).
        #[within(Duration::from_millis(1), Duration::from_secs(60))]
        pub min_rto: Duration = Duration::from_millis(200),
        /// An ACK waits at most this long for a second segment; 0 acknowledges each.
        #[within(Duration::ZERO, Duration::from_millis(500))]
        pub delayed_ack: Duration = Duration::from_millis(40),
        /// Segments that one ACK answers at most.
        #[within(1, 64)]
        pub ack_every: u8 = 2,
        /// ECN.
        pub ecn: TcpEcn = TcpEcn::Off,
        /// Time stamps (RFC 7323).
        pub timestamps: bool = true,
        /// Selective acknowledgments (RFC 2018, 6675).
        pub sack: bool = true,
        /// Pace every controller; `false` paces only those that set a rate.
        pub pacing: bool = false,
        /// Segments of a flow that reach the UE in one go are acknowledged once, as behind the receive offload of a modem's
        /// driver (Linux GRO).
        pub receive_offload: bool = false,
    }
}

section! {
    /// QUIC (RFC 9000, 9002). One stream; the sender opens the connection.
    pub struct Quic {
        /// IP bytes of a full packet; 1,500 as if path MTU discovery had found it.
        #[within(1228, 9000)]
        pub packet: u16 = 1500,
        /// Initial window in packets (RFC 9002, 7.2).
        #[within(1, 1000)]
        pub initial_window: u32 = 10,
        /// Slow-start threshold of a new connection in packets, for window laws; left out, none.
        #[within(1, 1_000_000)]
        pub initial_ssthresh: Option<u32> = None,
        /// Bytes that the sender holds, sent and unsent.
        #[within(Bytes(10_000), Bytes(10_000_000_000))]
        pub send_buffer: Bytes = Bytes(16_000_000),
        /// Credit that the receiver grants beyond what it has (`MAX_DATA`).
        #[within(Bytes(10_000), Bytes(1_000_000_000))]
        pub recv_window: Bytes = Bytes(16_000_000),
        /// An ACK waits at most this long (`max_ack_delay`).
        #[within(Duration::ZERO, Duration::from_millis(500))]
        pub max_ack_delay: Duration = Duration::from_millis(25),
        /// Packets that one ACK answers at most.
        #[within(1, 64)]
        pub ack_every: u8 = 2,
        /// ECN.
        pub ecn: QuicEcn = QuicEcn::Off,
        /// Pace every controller at 1.25 windows per RTT; `false` paces only those that set a rate.
        pub pacing: bool = true,
        /// The spin bit.
        pub spin: QuicSpin = QuicSpin::On,
        /// Under `quinn` the sender starts with packets of 1,228 bytes and searches for `packet` by probes (RFC 8899), as quinn does on
        /// sockets.
        pub mtu_discovery: bool = false,
        /// Step of the hosts' timers under `quinn`: `1 ms` is tokio's, on which quinn runs. Zero: timers are exact.
        #[within(Duration::ZERO, Duration::from_millis(100))]
        pub timer_step: Duration = Duration::ZERO,
    }
}

/// Which UE a flow belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UeRef {
    /// The UE of this number, counted over all `[[ue]]` with their counts.
    Index(u32),
    /// One such flow for each UE.
    Each,
}

impl Field for UeRef {
    type Bound = ();
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        match &at.node.value {
            Value::Str(s) if s == "each" => Ok(Self::Each),
            Value::Int(i) => u32::try_from(*i)
                .map(Self::Index)
                .map_err(|_| at.wrong(Self::describe())),
            _ => Err(at.wrong(Self::describe())),
        }
    }
    fn encode(&self) -> Option<Value> {
        Some(match self {
            Self::Index(i) => Value::Int(i64::from(*i)),
            Self::Each => Value::Str("each".to_owned()),
        })
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "each" }] })
    }
    fn describe() -> String {
        "the number of a UE, from 0, or \"each\"".to_owned()
    }
    fn example() -> Self {
        Self::Index(0)
    }
}

section! {
    /// One flow, or `count` of them.
    pub struct Flow {
        /// How many (with `ue = "each"`: how many for each UE).
        #[within(1, 100_000)]
        pub count: u32 = 1,
        /// The UE it belongs to; of no meaning on a link.
        pub ue: UeRef = UeRef::Index(0),
        /// Congestion controller; `slackwater list` names them.
        pub controller: String = "cubic".to_owned(),
        /// Which way the data goes.
        pub direction: Way = Way::Down,
        /// What it sends.
        pub app: App = App::Bulk(Bulk {}),
        /// What carries the data; left out, what the application says: UDP for `vr` and `cbr`, else TCP.
        pub transport: Option<Transport> = None,
        /// When it starts.
        #[within(Duration::ZERO, Duration::from_secs(1_000_000))]
        pub start: Duration = Duration::ZERO,
        /// Flow number n of `count` starts n times this later.
        #[within(Duration::ZERO, Duration::from_secs(1_000_000))]
        pub stagger: Duration = Duration::ZERO,
        /// When it stops; left out, at the end of the run.
        #[within(Duration::from_nanos(1), Duration::from_secs(1_000_000))]
        pub stop: Option<Duration> = None,
        /// Round-trip time of its wired part; left out, `path.rtt`.
        #[within(Duration::ZERO, Duration::from_secs(100))]
        pub rtt: Option<Duration> = None,
        /// TCP.
        pub tcp: Tcp = Tcp::example(),
        /// QUIC.
        pub quic: Quic = Quic::example(),
        /// `QoS` flow identifier, which picks the bearer.
        #[within(0, 63)]
        pub qfi: u8 = 1,
        /// Name in tables and plots; left out, the controller's.
        pub label: Option<String> = None,
    }
    check(me, at) {
        if matches!(me.app, App::Page(_)) && me.direction == Way::Up {
            return Err(at.error("a page with direction = \"up\"", "direction = \"down\""));
        }
        if matches!(me.app, App::Page(_)) && !matches!(me.protocol(), Protocol::Tcp | Protocol::Quic) {
            return Err(at.error("a page over another transport", "transport = \"tcp\" or \"quic\""));
        }
        if me.transport.is_some() && matches!(me.app, App::Media(_)) {
            return Err(at.error("transport of media", "no transport: media go over RTP"));
        }
        if me.transport == Some(Transport::Udp) && !matches!(me.app, App::Vr(_) | App::Cbr(_)) {
            return Err(at.error("transport = \"udp\"", "\"tcp\", \"quic\" or \"quinn\" for this application"));
        }
        if let Some(stop) = me.stop.filter(|stop| *stop <= me.start) {
            return Err(at.error(
                format!("stop = \"{stop}\" and start = \"{}\"", me.start), "stop after start"));
        }
    }
}
