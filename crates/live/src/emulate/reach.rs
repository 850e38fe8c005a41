//! What a UE may reach.

use std::net::IpAddr;

pub use super::net::{Net, Range};
use super::plan::Plan;

/// What UEs may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Whatever there is: the server side is a namespace of its own.
    All,
    /// The emulator's addresses, those of emulators behind it, and these networks.
    Only(Vec<Net>),
}

impl Reach {
    /// True where a packet of a UE may go to where it says. What is no IP packet is for others to refuse.
    pub(crate) fn lets(&self, plan: Plan, packet: &[u8]) -> bool {
        let Self::Only(nets) = self else {
            return true;
        };
        let address = match packet.first().map(|b| b >> 4) {
            Some(4) => packet
                .get(16..20)
                .and_then(|b| <[u8; 4]>::try_from(b).ok())
                .map(IpAddr::from),
            Some(6) => packet
                .get(24..40)
                .and_then(|b| <[u8; 16]>::try_from(b).ok())
                .map(IpAddr::from),
            _ => return true,
        };
        let Some(address) = address else {
            return true;
        };
        // What stays on the link: multicast, broadcast, and link-local addresses (RFC 4291, 2.5.6).
        let link = match address {
            IpAddr::V4(a) => a.is_multicast() || a.is_broadcast(),
            IpAddr::V6(a) => a.is_multicast() || a.is_unicast_link_local(),
        };
        link || plan.holds(address) || nets.iter().any(|n| n.holds(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ue_reaches_its_server_and_what_is_named() {
        let plan = Plan::default();
        let to = |address: &str| {
            let mut packet = vec![0; 40];
            match address.parse().unwrap() {
                IpAddr::V4(a) => {
                    packet[0] = 0x45;
                    packet[16..20].copy_from_slice(&a.octets());
                }
                IpAddr::V6(a) => {
                    packet[0] = 0x60;
                    packet[24..40].copy_from_slice(&a.octets());
                }
            }
            packet
        };
        let none = Reach::Only(vec![]);
        for open in [
            "100.64.0.1",
            "100.64.7.2",
            "fd51:ac4b:7761::1",
            "ff02::2",
            "224.0.0.1",
        ] {
            assert!(none.lets(plan, &to(open)), "{open}");
        }
        for closed in [
            "10.9.9.9",
            "100.65.0.1",
            "192.168.1.1",
            "fd51:ac4b:7761:100::1",
            "::1",
        ] {
            assert!(!none.lets(plan, &to(closed)), "{closed}");
            assert!(Reach::All.lets(plan, &to(closed)), "{closed}");
        }
        let some = Reach::Only(vec!["10.0.0.0/8".parse().expect("a network")]);
        assert!(some.lets(plan, &to("10.9.9.9")) && !some.lets(plan, &to("11.9.9.9")));
    }
}
