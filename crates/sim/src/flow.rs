//! Flows: a sending and a receiving host, and the path between them.

mod end;
mod external;
mod host;
mod media;
mod page;
mod quic;
mod stream;
mod tcp;
mod udp;

use slackwater_control::{AnyController, AnyMedia};
use slackwater_core::{Direction, Instant, NodeId, Qfi, UeId};
use slackwater_transport::app::AppConfig;
use slackwater_transport::quic::Config as QuicConfig;
use slackwater_transport::rtp::RtpConfig;
use slackwater_transport::tcp::Config as TcpConfig;

pub(crate) use end::{HostEvents, Io};
pub use external::External;
pub use host::Host;
pub use page::{PageClient, PageServer};
pub use stream::{Fresh, SendingEnd, StreamSender};
pub use tcp::TcpReceiver;
pub use udp::{UdpReceiver, UdpSender};

use crate::lane::LaneConfig;

/// One hop of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HopConfig {
    /// A lane of its own.
    Lane(LaneConfig),
    /// A link that others share.
    Link(NodeId),
    /// A cell; packets belong to `ue` and `qfi`.
    Cell {
        /// The cell.
        node: NodeId,
        /// The UE.
        ue: UeId,
        /// The `QoS` flow.
        qfi: Qfi,
    },
    /// An edge function; packets belong to a session of `ue`.
    Edge {
        /// The function.
        node: NodeId,
        /// The UE.
        ue: UeId,
        /// The `QoS` flow of guaranteed bit rate that the session's rules bind them to, if any.
        gbr_flow: Option<Qfi>,
    },
}

/// What carries the data.
#[derive(Clone, Debug)]
pub enum Transport {
    /// A TCP connection that the sender opens.
    Tcp {
        /// Both ends' configuration.
        config: Box<TcpConfig>,
        /// The sender's controller; each connection starts with a copy.
        controller: Box<AnyController>,
    },
    /// A QUIC connection that the sender opens, by the light model.
    Quic {
        /// Both ends' configuration.
        config: Box<QuicConfig>,
        /// The sender's controller; each connection starts with a copy.
        controller: Box<AnyController>,
    },
    /// A QUIC connection that the sender opens, by a real stack (quinn-proto).
    Quinn {
        /// Both ends' configuration.
        config: Box<QuicConfig>,
        /// The sender's controller, built for segments of a full UDP payload; each connection starts with a copy.
        controller: Box<AnyController>,
    },
    /// Datagrams of at most this many IP bytes, without control.
    Udp {
        /// IP bytes of a full packet.
        packet: u16,
    },
    /// Media over RTP, with RTCP the other way.
    Rtp {
        /// Both ends' configuration, the encoder's included.
        config: Box<RtpConfig>,
        /// The sender's controller.
        controller: Box<AnyMedia>,
    },
    /// Hosts outside of the world: their packets come by [`crate::World::inject`] and leave by
    /// [`crate::World::drain_handed`].
    External {
        /// The sender reads the cell's reports.
        takes_reports: bool,
        /// The sender wants to know the UE's transport blocks.
        takes_blocks: bool,
        /// The sender wants to know the base station's counters.
        takes_counters: bool,
    },
}

/// A flow.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Which way its data goes.
    pub direction: Direction,
    /// What carries it.
    pub transport: Transport,
    /// What it sends; of no meaning for RTP, whose encoder sends all the time.
    pub app: AppConfig,
    /// When it starts.
    pub start: Instant,
    /// When the application stops; endless data ends then.
    pub stop: Instant,
    /// Path of packets that go down, network side first.
    pub down: Vec<HopConfig>,
    /// Path of packets that go up, UE side first.
    pub up: Vec<HopConfig>,
}

impl FlowConfig {
    /// The sender takes explicit feedback (data that goes down only: feedback for the uplink is not defined, XRC, III).
    pub(crate) fn takes_reports(&self) -> bool {
        use slackwater_control::{Controller as _, MediaController as _};
        let takes = match &self.transport {
            Transport::Tcp { controller, .. }
            | Transport::Quic { controller, .. }
            | Transport::Quinn { controller, .. } => controller.takes_reports(),
            Transport::Rtp { controller, .. } => controller.takes_reports(),
            Transport::Udp { .. } => false,
            Transport::External { takes_reports, .. } => *takes_reports,
        };
        takes && self.direction == Direction::Down
    }

    /// The sender wants to know the UE's transport blocks (see `WorldBuilder::add_feed`).
    pub fn takes_blocks(&self) -> bool {
        use slackwater_control::Controller as _;
        let takes = match &self.transport {
            Transport::Tcp { controller, .. }
            | Transport::Quic { controller, .. }
            | Transport::Quinn { controller, .. } => controller.takes_blocks(),
            Transport::External { takes_blocks, .. } => *takes_blocks,
            Transport::Udp { .. } | Transport::Rtp { .. } => false,
        };
        takes && self.direction == Direction::Down
    }

    /// The sender wants to know the base station's counters of the flow. Both directions have some.
    pub fn takes_counters(&self) -> bool {
        use slackwater_control::{Controller as _, MediaController as _};
        match &self.transport {
            Transport::Tcp { controller, .. }
            | Transport::Quic { controller, .. }
            | Transport::Quinn { controller, .. } => controller.takes_counters(),
            Transport::External { takes_counters, .. } => *takes_counters,
            Transport::Rtp { controller, .. } => controller.takes_counters(),
            Transport::Udp { .. } => false,
        }
    }
}

/// Purposes of a flow's draws.
mod purpose {
    pub(super) const APP: u64 = 1;
    pub(super) const CLIENT: u64 = 2;
    pub(super) const SERVER: u64 = 3;
    pub(super) const MEDIA: u64 = 4;
}
