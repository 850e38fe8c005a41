//! Which rule a packet meets: source interface, tunnel, `QoS` flow, UE address, filters (TS 29.244, 5.2.1).

use std::net::IpAddr;

use slackwater_core::{Direction, PacketView as _, Qfi, Teid};
use slackwater_wire::IpPacket;

use crate::rules::{Filter, FlowDescription, FlowEnd, Interface, Pdr, Rules};

/// What filters look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol, where it is seen.
    pub protocol: Option<u8>,
    /// Source and destination port, where they are seen.
    pub ports: Option<(u16, u16)>,
    /// Type of service or traffic class.
    pub tos: u8,
    /// Security parameter index.
    pub spi: Option<u32>,
    /// IPv6 flow label.
    pub flow_label: Option<u32>,
}

impl Facts {
    /// Those of a packet.
    pub fn of<B: AsRef<[u8]> + AsMut<[u8]>>(ip: &IpPacket<B>) -> Self {
        let (source, destination) = ip.ends();
        // A later fragment of IPv4 still names its protocol (RFC 791, 3.1).
        let stated = (!ip.is_v6()).then(|| ip.bytes()[9]);
        Self {
            source,
            destination,
            protocol: ip.protocol().or(stated),
            ports: ip.ports(),
            tos: ip.traffic_class(),
            spi: ip.spi(),
            flow_label: ip.flow_label(),
        }
    }

    /// The UE's address, by which way the packet goes.
    pub const fn ue(&self, direction: Direction) -> IpAddr {
        match direction {
            Direction::Down => self.destination,
            Direction::Up => self.source,
        }
    }
}

/// How a packet came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// By our tunnel, in a `QoS` flow where a container named one.
    Tunnel(Teid, Option<Qfi>),
    /// Without a tunnel.
    Plain,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// The rule of highest precedence that matches.
    Rule(&'a Pdr),
    /// A rule would match, but the source is not the UE's address.
    Spoofed,
    /// None.
    Nothing,
}

/// Which way the packets of a rule go.
pub const fn direction(pdr: &Pdr) -> Direction {
    match pdr.source {
        Interface::Access => Direction::Up,
        Interface::Core | Interface::SgiLan | Interface::Control => Direction::Down,
    }
}

/// The rule for a packet.
pub fn find<'a>(rules: &'a Rules, entry: Entry, facts: &Facts) -> Found<'a> {
    let mut spoofed = false;
    for pdr in &rules.pdrs {
        let enters = match (entry, pdr.tunnel) {
            (Entry::Tunnel(teid, qfi), Some(tunnel)) => {
                tunnel.teid == teid
                    && (pdr.qfis.is_empty() || qfi.is_some_and(|q| pdr.qfis.contains(&q)))
            }
            (Entry::Plain, None) => matches!(pdr.source, Interface::Core | Interface::SgiLan),
            _ => false,
        };
        if !enters {
            continue;
        }
        let way = direction(pdr);
        let filtered = pdr.filters.is_empty()
            || pdr
                .filters
                .iter()
                .any(|filter| passes(rules, filter, facts, way));
        if !filtered {
            continue;
        }
        if is_of_ue(rules, pdr, facts.ue(way)) {
            return Found::Rule(pdr);
        }
        spoofed |= way == Direction::Up;
    }
    if spoofed {
        Found::Spoofed
    } else {
        Found::Nothing
    }
}

/// True where `address` is one that the rule's UE has. A rule without an address goes by the session's: a UE sends from its
/// own address alone (RFC 2827).
fn is_of_ue(rules: &Rules, pdr: &Pdr, address: IpAddr) -> bool {
    if let Some(ue) = pdr.ue {
        return ue.holds(address);
    }
    let mut known = rules.pdrs.iter().filter_map(|p| p.ue).peekable();
    if known.peek().is_none() {
        return true;
    }
    if known.any(|ue| ue.holds(address)) {
        return true;
    }
    // Router solicitations go to the control plane from a link-local address (TS 23.501, 5.8.2.2; RFC 4861, 4.1).
    let to_control = pdr
        .far
        .and_then(|far| rules.far(far))
        .is_some_and(|far| far.destination == Some(Interface::Control));
    to_control
        && matches!(address, IpAddr::V6(a) if a.is_unicast_link_local() || a.is_unspecified())
}

/// True where all that `filter` states holds.
fn passes(rules: &Rules, filter: &Filter, facts: &Facts, direction: Direction) -> bool {
    let named = filter.id.filter(|_| filter.flow.is_none());
    // A filter with a number alone is the one that another rule describes by it (8.2.5, BID).
    let described = named.and_then(|id| {
        let mut all = rules.pdrs.iter().flat_map(|p| &p.filters);
        all.find(|f| f.id == Some(id) && f.flow.is_some())
    });
    let filter = described.unwrap_or(filter);
    filter
        .flow
        .as_ref()
        .is_none_or(|flow| describes(flow, facts, direction))
        && filter
            .tos
            .is_none_or(|(value, mask)| (facts.tos ^ value) & mask == 0)
        && filter.spi.is_none_or(|spi| facts.spi == Some(spi))
        && filter
            .flow_label
            .is_none_or(|label| facts.flow_label == Some(label))
}

fn describes(flow: &FlowDescription, facts: &Facts, direction: Direction) -> bool {
    if flow.protocol.is_some() && flow.protocol != facts.protocol {
        return false;
    }
    let (source, destination) = match facts.ports {
        Some((s, d)) => (Some(s), Some(d)),
        None => (None, None),
    };
    // As described the packet goes down; up both ends are turned round (5.2.1A.2A).
    let (remote, ue) = match direction {
        Direction::Down => ((facts.source, source), (facts.destination, destination)),
        Direction::Up => ((facts.destination, destination), (facts.source, source)),
    };
    is_at(&flow.remote, remote) && is_at(&flow.ue, ue)
}

fn is_at(end: &FlowEnd, (address, port): (IpAddr, Option<u16>)) -> bool {
    let there = end.assigned
        || end
            .address
            .is_none_or(|prefix| in_prefix(prefix.address, prefix.bits, address));
    there
        && (end.ports.is_empty()
            || port.is_some_and(|port| {
                end.ports
                    .iter()
                    .any(|(first, last)| (*first..=*last).contains(&port))
            }))
}

fn in_prefix(prefix: IpAddr, bits: u8, address: IpAddr) -> bool {
    let (a, b, width) = match (prefix, address) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (
            u128::from(u32::from(a)) << 96,
            u128::from(u32::from(b)) << 96,
            32,
        ),
        (IpAddr::V6(a), IpAddr::V6(b)) => (u128::from(a), u128::from(b), 128),
        _ => return false,
    };
    let mask = u128::MAX
        .checked_shl(128 - u32::from(bits.min(width)))
        .unwrap_or(0);
    (a ^ b) & mask == 0
}
