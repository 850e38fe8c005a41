//! The rules of a session as the user plane reads them: which packets (PDR), where to (FAR), at which rate (QER), counted
//! how (URR), kept where (BAR). TS 29.244, 5.2.
//!
//! They are owned and complete: what a creation lacks is refused before a rule comes to be, and an update is merged.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use slackwater_core::{Bytes, Duration, Instant, Qfi, Rate, Teid};
use slackwater_wire::pfcp::EdgeOptions;

/// Where packets come from or go to (TS 29.244, 8.2.2 and 8.2.24).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interface {
    /// The radio network: N3, or N9 towards it.
    Access,
    /// Another user plane function towards the data network, or the data network: N9 or N6.
    Core,
    /// The data network itself, or a local one.
    SgiLan,
    /// The control plane (TS 29.244, 5.3.1).
    Control,
}

/// The addresses of a UE in a session. TS 29.244, 8.2.62.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UeAddress {
    /// Its IPv4 address.
    pub v4: Option<Ipv4Addr>,
    /// Its IPv6 prefix, and the bits of it that count (64 where the rule states none).
    pub v6: Option<(Ipv6Addr, u8)>,
}

impl UeAddress {
    /// True where `address` is the UE's.
    pub fn holds(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(a) => self.v4 == Some(a),
            IpAddr::V6(a) => self.v6.is_some_and(|(prefix, bits)| {
                let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                (u128::from(a) ^ u128::from(prefix)) & mask == 0
            }),
        }
    }
}

/// This function's end of a tunnel: the F-TEID that a PDR is bound to (TS 29.244, 8.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocalTunnel {
    /// Its number.
    pub teid: Teid,
    /// Its IPv4 address.
    pub v4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub v6: Option<Ipv6Addr>,
}

/// A prefix of addresses; `bits` of zero is every address of its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The first address.
    pub address: IpAddr,
    /// Bits that count.
    pub bits: u8,
}

impl Prefix {
    /// The prefix of `bits` bits that holds `address`, or of all bits; `None` where the family has fewer.
    pub fn new(address: IpAddr, bits: Option<u8>) -> Option<Self> {
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits > most {
            return None;
        }
        let address = match address {
            IpAddr::V4(a) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(a.to_bits() & mask))
            }
            IpAddr::V6(a) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(a.to_bits() & mask))
            }
        };
        Some(Self { address, bits })
    }

    /// True where `address` is one of its addresses.
    pub fn holds(&self, address: IpAddr) -> bool {
        Self::new(address, Some(self.bits)).is_some_and(|p| p.address == self.address)
            && address.is_ipv4() == self.address.is_ipv4()
    }
}

/// One end of a flow description: addresses and ports (RFC 6733, 4.3.1, `IPFilterRule`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowEnd {
    /// The addresses; `None` for `any`.
    pub address: Option<Prefix>,
    /// It is `assigned`: the UE's own address, whichever that is (TS 29.212, 5.4.2).
    pub assigned: bool,
    /// Ports, first and last of each range; empty for all.
    pub ports: Vec<(u16, u16)>,
}

/// A service data flow filter. Everything that it states must match (TS 29.244, 8.2.5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Protocol, remote end and UE's end of `permit out PROTOCOL from REMOTE to UE`; `None` where there is no description.
    pub flow: Option<FlowDescription>,
    /// Type of service or traffic class: value and mask.
    pub tos: Option<(u8, u8)>,
    /// Security parameter index of `IPsec`.
    pub spi: Option<u32>,
    /// IPv6 flow label.
    pub flow_label: Option<u32>,
    /// Its number, by which rules mean it together (bidirectional filters).
    pub id: Option<u32>,
}

/// `permit out PROTOCOL from REMOTE to UE`, which means downlink packets and, turned round, uplink packets
/// (TS 29.244, 5.2.1A.2A).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowDescription {
    /// Protocol number; `None` for `ip`.
    pub protocol: Option<u8>,
    /// The end in the network.
    pub remote: FlowEnd,
    /// The UE's end.
    pub ue: FlowEnd,
}

/// Packet detection rule (TS 29.244, 7.5.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdr {
    /// Its number within the session.
    pub id: u16,
    /// Lower goes first (TS 29.244, 8.2.11).
    pub precedence: u32,
    /// Where its packets come from.
    pub source: Interface,
    /// The tunnel that they come by.
    pub tunnel: Option<LocalTunnel>,
    /// The network that they come from.
    pub network: Option<Vec<u8>>,
    /// The UE: destination of downlink packets, source of uplink ones.
    pub ue: Option<UeAddress>,
    /// Filters, of which one must match where there are any.
    pub filters: Vec<Filter>,
    /// `QoS` flows, of which one must match where there are any.
    pub qfis: Vec<Qfi>,
    /// The tunnel's header is removed.
    pub remove_outer: bool,
    /// The tunnel carries reports of the radio network (option 4 of our element).
    pub reports: bool,
    /// The FAR; a rule without one does nothing (TS 29.244, 7.5.2.2: it may come by an update).
    pub far: Option<u32>,
    /// QERs; all apply.
    pub qers: Vec<u32>,
    /// URRs; all count.
    pub urrs: Vec<u32>,
}

impl Pdr {
    /// The network that its packets come from, and whether that lies behind a tunnel.
    pub fn instance(&self) -> (bool, Option<&[u8]>) {
        (self.tunnel.is_some(), self.network.as_deref())
    }
}

/// What becomes of the packets of a FAR (TS 29.244, 8.2.26).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// They end here.
    #[default]
    Drop,
    /// They go on.
    Forward,
    /// They wait until the rule changes; the control plane is told of the first where `notify` is set.
    Buffer {
        /// A downlink data report is sent (TS 29.244, 5.2.3.1).
        notify: bool,
    },
}

/// The header that packets get (TS 29.244, 8.2.56).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RemoteTunnel {
    /// The peer's tunnel.
    pub teid: Teid,
    /// The peer.
    pub address: IpAddr,
}

/// Forwarding action rule (TS 29.244, 7.5.2.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Far {
    /// Its number within the session.
    pub id: u32,
    /// What to do.
    pub action: Action,
    /// Where packets go; `None` where no rule has said so yet: such a rule does not forward.
    pub destination: Option<Interface>,
    /// Into which network.
    pub network: Option<Vec<u8>>,
    /// In which tunnel; `None` for plain IP.
    pub outer: Option<RemoteTunnel>,
    /// DSCP of the outer header and its mask (transport level marking, 8.2.12).
    pub marking: Option<(u8, u8)>,
    /// The BAR, where packets are buffered.
    pub bar: Option<u8>,
}

impl Far {
    /// The network that packets go into, and whether that lies behind a tunnel; `None` where they go into none.
    pub fn instance(&self) -> Option<(bool, Option<&[u8]>)> {
        let tunnel = self.outer.is_some() || self.destination == Some(Interface::Access);
        let somewhere = !matches!(self.destination, None | Some(Interface::Control));
        somewhere.then_some((tunnel, self.network.as_deref()))
    }
}

/// A rate for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Uplink.
    pub up: Rate,
    /// Downlink.
    pub down: Rate,
}

/// `QoS` enforcement rule (TS 29.244, 7.5.2.5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Qer {
    /// Its number within the session.
    pub id: u32,
    /// Rules of several sessions of one UE with the same number share their rate (8.2.10).
    pub correlation: Option<u32>,
    /// Uplink packets pass.
    pub gate_up: bool,
    /// Downlink packets pass.
    pub gate_down: bool,
    /// MBR of its flow, or the session's AMBR where every PDR has the rule.
    pub maximum: Option<Rates>,
    /// GBR of its flow.
    pub guaranteed: Option<Rates>,
    /// What packets are marked with.
    pub qfi: Option<Qfi>,
    /// Reflective `QoS` (RQI).
    pub reflective: bool,
    /// What the edge functions do.
    pub edge: EdgeOptions,
}

/// A volume of each direction and of both together; `None` for no bound (TS 29.244, 8.2.13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Both directions together.
    pub total: Option<Bytes>,
    /// Uplink.
    pub up: Option<Bytes>,
    /// Downlink.
    pub down: Option<Bytes>,
}

/// Usage reporting rule (TS 29.244, 7.5.2.4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Urr {
    /// Its number within the session.
    pub id: u32,
    /// It measures volume.
    pub volume: bool,
    /// It measures time.
    pub duration: bool,
    /// It notes events.
    pub event: bool,
    /// What makes a report leave: the octets of the triggers as they stand on the wire (8.2.19).
    pub triggers: [u8; 3],
    /// A report leaves at each of these volumes.
    pub volume_threshold: Volume,
    /// Packets end here beyond it.
    pub volume_quota: Volume,
    /// A report leaves after so much time of use.
    pub time_threshold: Option<Duration>,
    /// Packets end here beyond it.
    pub time_quota: Option<Duration>,
    /// A report leaves at this interval.
    pub period: Option<Duration>,
    /// A report leaves after so long without packets (8.2.48).
    pub holding: Option<Duration>,
    /// Time without packets after which time is not counted (8.2.17).
    pub inactivity: Option<Duration>,
    /// It measures before `QoS` is enforced (8.2.68, MBQE).
    pub before_qos: bool,
}

/// Buffering action rule (TS 29.244, 7.5.2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bar {
    /// Its number within the session.
    pub id: u8,
    /// Delay of the notification after the first packet (8.2.28).
    pub notification_delay: Duration,
    /// Packets that may be kept (8.2.100).
    pub packets: Option<u16>,
}

/// What a session was ordered to do, whole. `now` of its start is kept for reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// By precedence, then by number.
    pub pdrs: Vec<Pdr>,
    /// In the order of their numbers.
    pub fars: Vec<Far>,
    /// In the order of their numbers.
    pub qers: Vec<Qer>,
    /// In the order of their numbers.
    pub urrs: Vec<Urr>,
    /// In the order of their numbers.
    pub bars: Vec<Bar>,
    /// When the session was established.
    pub since: Instant,
}

impl Rules {
    /// The FAR of that number.
    pub fn far(&self, id: u32) -> Option<&Far> {
        self.fars.iter().find(|f| f.id == id)
    }

    /// The QER of that number.
    pub fn qer(&self, id: u32) -> Option<&Qer> {
        self.qers.iter().find(|q| q.id == id)
    }

    /// The URR of that number.
    pub fn urr(&self, id: u32) -> Option<&Urr> {
        self.urrs.iter().find(|u| u.id == id)
    }

    /// The BAR of that number.
    pub fn bar(&self, id: u8) -> Option<&Bar> {
        self.bars.iter().find(|b| b.id == id)
    }

    /// The QERs that every PDR has: their maximum is the session's AMBR (TS 29.244, 5.4.4).
    pub fn session_qers(&self) -> impl Iterator<Item = &Qer> {
        self.qers
            .iter()
            .filter(|q| !self.pdrs.is_empty() && self.pdrs.iter().all(|p| p.qers.contains(&q.id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_holds_the_addresses_of_its_bits() {
        let ue = UeAddress {
            v4: Some(Ipv4Addr::new(10, 0, 0, 1)),
            v6: Some(("2001:db8:1::".parse().unwrap(), 64)),
        };
        for (address, held) in [
            ("10.0.0.1", true),
            ("10.0.0.2", false),
            ("2001:db8:1::1", true),
            ("2001:db8:1:0:ffff::1", true),
            ("2001:db8:1:1::1", false),
        ] {
            assert_eq!(ue.holds(address.parse().unwrap()), held, "{address}");
        }
        let all = UeAddress {
            v6: Some((Ipv6Addr::UNSPECIFIED, 0)),
            v4: None,
        };
        assert!(all.holds("2001:db8::9".parse().unwrap()));
    }

    #[test]
    fn a_prefix_begins_at_its_first_address() {
        let prefix = Prefix::new("192.0.2.9".parse().unwrap(), Some(29)).unwrap();
        assert_eq!(prefix.address, "192.0.2.8".parse::<IpAddr>().unwrap());
        for (address, held) in [("192.0.2.15", true), ("192.0.2.16", false), ("::", false)] {
            assert_eq!(prefix.holds(address.parse().unwrap()), held, "{address}");
        }
        assert_eq!(Prefix::new("192.0.2.9".parse().unwrap(), Some(33)), None);
        let none = Prefix::new("::1".parse().unwrap(), Some(0)).unwrap();
        assert!(
            none.holds("2001:db8::1".parse().unwrap()) && !none.holds("10.0.0.1".parse().unwrap())
        );
    }
}
