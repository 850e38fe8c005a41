//! What the control plane of the function is told when it starts.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use slackwater_core::Duration;
use slackwater_wire::gtpu::{Ntp, NtpClock};
use slackwater_wire::pfcp::NodeId;

use crate::rules::{Interface, Prefix};

/// Who a node is (TS 29.244, 8.2.38).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeName {
    /// By address.
    Address(IpAddr),
    /// By name, in the labels of DNS.
    Name(Vec<u8>),
}

impl NodeName {
    /// As an element has it.
    pub fn id(&self) -> NodeId<'_> {
        match self {
            Self::Address(IpAddr::V4(a)) => NodeId::V4(*a),
            Self::Address(IpAddr::V6(a)) => NodeId::V6(*a),
            Self::Name(name) => NodeId::Name(name),
        }
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name(name) => f.write_str(&network_name(name)),
        }
    }
}

impl From<NodeId<'_>> for NodeName {
    fn from(id: NodeId<'_>) -> Self {
        match id {
            NodeId::V4(a) => Self::Address(a.into()),
            NodeId::V6(a) => Self::Address(a.into()),
            NodeId::Name(name) => Self::Name(name.to_vec()),
        }
    }
}

/// An address at which tunnels end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalEnd {
    /// The interface that it serves.
    pub interface: Interface,
    /// The one network that it serves; `None` for all.
    pub network: Option<Vec<u8>>,
    /// Its IPv4 address.
    pub v4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub v6: Option<Ipv6Addr>,
}

/// The network instances that the function's interfaces serve (TS 29.244, 8.2.4), by name; an empty list serves all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks {
    /// Those behind N3 and N9: rules with a tunnel.
    pub tunnels: Vec<String>,
    /// Those behind N6: rules without one.
    pub plain: Vec<String>,
}

impl Networks {
    /// True where `network` is behind N3 and N9 (`tunnel`) or behind N6. A rule without one is for all.
    pub fn serve(&self, tunnel: bool, network: Option<&[u8]>) -> bool {
        let served = if tunnel { &self.tunnels } else { &self.plain };
        let Some(network) = network.filter(|_| !served.is_empty()) else {
            return true;
        };
        let name = network_name(network);
        served.iter().any(|s| s.eq_ignore_ascii_case(&name))
    }
}

/// A network instance as text: a name in the labels of DNS (TS 23.003, 9.1) becomes one with dots, other octets stay as they are.
pub fn network_name(octets: &[u8]) -> String {
    let mut labels = Vec::new();
    let mut rest = octets;
    while let [length, tail @ ..] = rest {
        let label = tail.get(..usize::from(*length)).filter(|l| !l.is_empty());
        let Some(label) = label.filter(|l| l.iter().all(u8::is_ascii_graphic)) else {
            return String::from_utf8_lossy(octets).into_owned();
        };
        labels.push(String::from_utf8_lossy(label));
        rest = &tail[label.len()..];
    }
    labels.join(".")
}

/// Settings of the N4 node.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Our node ID.
    pub node: NodeName,
    /// Our address in the F-SEIDs of sessions.
    pub address: IpAddr,
    /// Where tunnels end that are chosen here; the first that serves a rule's interface and network is taken.
    pub ends: Vec<LocalEnd>,
    /// The network instances that rules may name.
    pub networks: Networks,
    /// Tunnel numbers to choose from. 0 is never chosen.
    pub teids: RangeInclusive<u32>,
    /// Seed of tunnel numbers, so that nobody can guess them.
    pub seed: u64,
    /// Who may send; empty for everyone.
    pub allowed: Vec<Prefix>,
    /// Port of the control plane for our requests (TS 29.244, 6.4.2: 8805); `None` for the one that it set up from.
    pub peer_port: Option<u16>,
    /// The time of day. Its origin is when this function started: the recovery time stamp.
    pub clock: NtpClock,
    /// Time after which a request is repeated (T1; TS 29.244, 6.4, leaves it to the operator).
    pub t1: Duration,
    /// How often a request is sent at most (N1; TS 29.244, 6.4, leaves it to the operator).
    pub n1: u32,
    /// Time between heartbeats; `None` for none of our own.
    pub heartbeat: Option<Duration>,
    /// How long sessions outlive a control plane that stopped answering; `None` for ever.
    pub keep_lost: Option<Duration>,
    /// Sessions at most.
    pub max_sessions: usize,
    /// Associations at most.
    pub max_peers: usize,
    /// Rules of each kind in a session at most, and filters in a rule.
    pub max_rules: usize,
    /// Answers that are kept for repeated requests, of each address.
    pub max_answers: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            node: NodeName::Address(Ipv4Addr::LOCALHOST.into()),
            address: Ipv4Addr::LOCALHOST.into(),
            ends: Vec::new(),
            networks: Networks::default(),
            teids: 1..=u32::MAX,
            seed: 0,
            allowed: Vec::new(),
            peer_port: Some(slackwater_wire::pfcp::PORT),
            clock: NtpClock::new(Ntp(0)),
            t1: Duration::from_secs(3),
            n1: 3,
            heartbeat: Some(Duration::from_secs(10)),
            keep_lost: Some(Duration::from_secs(60)),
            max_sessions: 65_536,
            max_peers: 64,
            max_rules: 64,
            max_answers: 16_384,
        }
    }
}

impl Config {
    /// True where `address` may send.
    pub fn allows(&self, address: IpAddr) -> bool {
        self.allowed.is_empty() || self.allowed.iter().any(|p| p.holds(address))
    }

    /// How long an answer is kept: a request is repeated for so long (TS 29.244, 6.4), with one T1 for its way.
    pub fn answer_life(&self) -> Duration {
        self.t1 * (u64::from(self.n1) + 1)
    }
}
