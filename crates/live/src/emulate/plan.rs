//! Addresses and routes of an emulator's two sides.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::net::Range;

/// Room for super-packets in a device's own queue: drops are the model's to decide.
pub(super) const DEVICE_QUEUE: u32 = 4_000;
/// The name of each UE's interface.
pub(crate) const UE_DEVICE: &str = "cell0";
/// UEs at most: hosts of one network but the server.
pub const MAX_UES: u32 = 252;

/// Addresses of one emulator: `prefix.level.host` of a [`Range`], and a unique local prefix (RFC 4193) with the same numbers. First
/// emulators have level 0, emulators inside of them the next ones of the same prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The upper 16 bits.
    prefix: u16,
    /// The chain's number in its range.
    pub(super) chain: u8,
    /// How many emulators of the chain are outside of this one.
    pub(super) level: u8,
}

impl Default for Plan {
    /// That of a first emulator alone.
    fn default() -> Self {
        Self::new(Range::default(), 0, 0)
    }
}

impl Plan {
    pub(super) fn new(range: Range, chain: u8, level: u8) -> Self {
        Self {
            prefix: range.prefix(chain),
            chain,
            level,
        }
    }

    /// Host `n`: 1 is the server side, 2 and up are the UEs.
    pub const fn v4(self, n: u8) -> Ipv4Addr {
        let [a, b] = self.prefix.to_be_bytes();
        Ipv4Addr::new(a, b, self.level, n)
    }

    /// As [`Plan::v4`].
    pub const fn v6(self, n: u8) -> Ipv6Addr {
        // The shared address space has the prefix as it was published; other ranges differ from it.
        let [a, b] = self.prefix.to_be_bytes();
        let third = 0x7761 ^ (a ^ 0x64) as u16;
        let net = (b.wrapping_sub(64) as u16) << 8 | self.level as u16;
        Ipv6Addr::new(0xfd51, 0xac4b, third, net, 0, 0, 0, n as u16)
    }

    /// The first address of the chain's 16 bits, which all its emulators share.
    pub(super) const fn network(self) -> Ipv4Addr {
        Self { level: 0, ..self }.v4(0)
    }

    /// The server side.
    pub const fn server(self) -> Ipv4Addr {
        self.v4(1)
    }

    /// UE `ue`.
    pub const fn ue(self, ue: u32) -> Ipv4Addr {
        self.v4(ue as u8 + 2)
    }

    /// What gives the server side's device `name` its address of IPv4 (by lines of `ip`, as all that follow).
    pub(super) fn server_side(self, name: &str, mtu: u16) -> String {
        format!(
            "link set dev {name} mtu {mtu} txqueuelen {DEVICE_QUEUE} up\naddr add {}/24 dev {name}\n",
            self.v4(1)
        )
    }

    /// The ways to what lies behind this emulator and those inside of it, by IPv4 and IPv6. An emulator beside this one has them
    /// too, where both are inside of a third; the first one's count.
    pub(super) fn behind(self, name: &str) -> [String; 2] {
        let (v4, v6) = (
            Self { level: 0, ..self }.v4(0),
            Self { level: 0, ..self }.v6(0),
        );
        [
            format!("route append {v4}/16 dev {name}\n"),
            format!(
                "addr add {}/64 dev {name} nodad\nroute append {v6}/56 dev {name}\n",
                self.v6(1)
            ),
        ]
    }

    /// What gives the device of the UE that is host `n` its addresses and routes, by IPv4 and IPv6. Networks of the emulators outside
    /// of this one have routes of their own: a route that an emulator inside makes for all that is behind it is wider.
    pub(super) fn ue_side(self, n: u8) -> [String; 2] {
        let gateways = (self.v4(1), self.v6(1));
        let mut v4 = vec![
            format!("addr add {}/24 dev cell0", self.v4(n)),
            format!("route add default via {} dev cell0", gateways.0),
        ];
        let mut v6 = vec![
            format!("addr add {}/64 dev cell0 nodad", self.v6(n)),
            format!("route add default via {} dev cell0", gateways.1),
        ];
        for level in 0..self.level {
            let outer = Self { level, ..self };
            v4.push(format!(
                "route add {}/24 via {} dev cell0",
                outer.v4(0),
                gateways.0
            ));
            v6.push(format!(
                "route add {}/64 via {} dev cell0",
                outer.v6(0),
                gateways.1
            ));
        }
        [v4, v6].map(|lines| lines.join("\n") + "\n")
    }

    /// As [`Plan::ue_side`] for a namespace that somebody uses: its own default routes stay, behind these while the device is there.
    pub(super) fn attached_side(self, n: u8) -> [String; 2] {
        let [v4, v6] = self.ue_side(n);
        // IPv6 has no order within a metric (ip-route(8)); 1024 is that of routes without one.
        let default = format!("route add default via {} dev cell0", self.v6(1));
        [
            v4.replace("route add default", "route prepend default"),
            v6.replace(&default, &format!("{default} metric 1")),
        ]
    }

    /// The UE whose address is `address`, of 4 or 16 bytes.
    pub fn ue_at(self, address: &[u8]) -> Option<u32> {
        let [a, b, level, _] = self.v4(0).octets();
        let host = match *address {
            [c, d, e, host] if [c, d, e] == [a, b, level] => host,
            [.., host] if address.len() == 16 && address[..8] == self.v6(0).octets()[..8] => host,
            _ => return None,
        };
        host.checked_sub(2).map(u32::from)
    }

    /// True for addresses of this emulator and of all in its chain.
    pub(crate) fn holds(self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(a) => a.octets()[..2] == self.prefix.to_be_bytes(),
            IpAddr::V6(a) => a.octets()[..7] == self.v6(0).octets()[..7],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_outward_are_narrower_than_those_inward() {
        let third = Plan::new(Range::default(), 1, 2);
        let [v4, v6] = third.ue_side(2);
        for outer in ["100.65.0.0/24", "100.65.1.0/24"] {
            let line = format!("route add {outer} via 100.65.2.1 dev cell0\n");
            assert!(v4.contains(&line), "{v4}");
        }
        for outer in ["fd51:ac4b:7761:100::/64", "fd51:ac4b:7761:101::/64"] {
            let line = format!("route add {outer} via fd51:ac4b:7761:102::1 dev cell0\n");
            assert!(v6.contains(&line), "{v6}");
        }
        let [v4, v6] = third.behind("sw1.2");
        assert_eq!(v4, "route append 100.65.0.0/16 dev sw1.2\n");
        assert!(
            v6.ends_with("route append fd51:ac4b:7761:100::/56 dev sw1.2\n"),
            "{v6}"
        );
    }

    #[test]
    fn a_namespace_of_others_keeps_its_default_routes() {
        let [v4, v6] = Plan::default().attached_side(2);
        let line = "route prepend default via 100.64.0.1 dev cell0\n";
        assert!(v4.ends_with(line), "{v4}");
        assert!(v6.ends_with(" dev cell0 metric 1\n"), "{v6}");
    }

    #[test]
    fn a_first_emulators_ue_has_a_default_route_alone() {
        let [v4, v6] = Plan::default().ue_side(2);
        assert_eq!(v4.matches("route").count(), 1, "{v4}");
        assert_eq!(v6.matches("route").count(), 1, "{v6}");
    }
}
