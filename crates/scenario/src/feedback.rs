//! `[feedback]`: what the cell tells senders that ask.

use slackwater_core::Duration;
use slackwater_edge::gnb::AgentConfig;
pub use slackwater_edge::gnb::Share;
pub use slackwater_edge::ue::BlocksMode;

use crate::field::{Field as _, choice, section};
use crate::units::Percent;

choice! {
    /// What carries reports to senders.
    pub enum Carrier {
        /// A TCP option on each ACK.
        TcpOption = "tcp-option",
        /// A datagram beside each ACK.
        Datagram = "datagram",
        /// A socket of its own, while the flow is not idle; XRC's reports then go as datagrams.
        Socket = "socket",
    }
}
choice! {
    /// How the agent counts.
    pub enum Agent {
        /// Schedulable blocks only, bytes of IP packets.
        Default = "default",
        /// All blocks of the carrier, bytes of transport blocks: about 8 % too much in an LTE cell of 10 MHz.
        Paper = "paper",
    }
}

section! {
    /// XRC: the agent at the cell that reports fair rate and head-of-line delay. It is there as soon as a flow's controller
    /// takes such reports.
    pub struct Xrc {
        /// How the agent counts.
        pub agent: Agent = Agent::Default,
        /// Slots over which the agent averages; 1 ms each in LTE.
        #[within(1, 10_000)]
        pub window: u16 = AgentConfig::LTE.window,
        /// A flow without a packet for this long is not active.
        #[within(Duration::from_millis(1), Duration::from_secs(100))]
        pub flow_timeout: Duration = AgentConfig::LTE.flow_timeout,
        /// How the capacity is shared among the UE's active flows; left out, `demand`, and `count` where `agent` is `paper`.
        pub share: Option<Share> = None,
        /// Delay of the F1 interface between MAC and RLC (DU) and PDCP (CU), where the agent sits.
        #[within(Duration::ZERO, Duration::from_millis(100))]
        pub f1_delay: Duration = AgentConfig::LTE.f1_delay,
    }
}
section! {
    /// Tyrus: the transport blocks that a UE reports to a sender that takes such reports.
    pub struct Tyrus {
        /// What they count; left out, `capacity` on a link and `allocated+idle` in a cell.
        pub blocks: Option<BlocksMode> = None,
        /// Time between the reports of a socket, and the least between datagrams.
        #[within(Duration::from_millis(1), Duration::from_secs(10))]
        pub every: Duration = Duration::from_millis(10),
    }
}
section! {
    /// `ebb`: the base station's counters of a flow, which travel by a socket of their own to a sender that takes them.
    pub struct Ebb {
        /// Time between reports.
        #[within(Duration::from_millis(1), Duration::from_secs(1))]
        pub every: Duration = Duration::from_millis(5),
    }
}
section! {
    /// What goes wrong with reports to senders.
    pub struct Faults {
        /// Share of reports that never arrive.
        #[within(Percent(0.0), Percent(100.0))]
        pub loss: Percent = Percent(0.0),
        /// From here on no report leaves; left out, never.
        #[within(Duration::ZERO, Duration::from_secs(1_000_000))]
        pub stop: Option<Duration> = None,
        /// After `stop` the last report of transport blocks is repeated.
        pub stale: bool = false,
        /// Rates and bytes are multiplied by this.
        #[within(0.0, 1000.0)]
        pub rate_scale: f64 = 1.0,
        /// Head-of-line delays are multiplied by this.
        #[within(0.0, 1000.0)]
        pub hol_scale: f64 = 1.0,
    }
}

section! {
    /// Reports of the cell to senders. They flow as soon as a flow's controller takes them; a key changes how they are made,
    /// how they travel, and what goes wrong.
    pub struct Feedback {
        /// What carries the reports.
        pub carrier: Carrier = Carrier::TcpOption,
        /// Extra delay of a datagram on its way beyond half of the path's RTT.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub delay: Duration = Duration::ZERO,
        /// Extra delay of each datagram, uniform from zero to this.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub jitter: Duration = Duration::ZERO,
        /// An agent that the running program adds (see docs/tutorials/sender.md), perhaps with parameters after `:`. It takes the
        /// place of XRC's where it stands at the cell, and of Tyrus' where it stands at the UE.
        pub own_agent: Option<String> = None,
        /// The agent of XRC.
        pub xrc: Xrc = Xrc::example(),
        /// The reports of Tyrus.
        pub tyrus: Tyrus = Tyrus::example(),
        /// The counters of `ebb`.
        pub ebb: Ebb = Ebb::example(),
        /// What goes wrong.
        pub faults: Faults = Faults::example(),
    }
}
