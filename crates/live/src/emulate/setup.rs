//! The two sides of the emulated network: a device for the servers, and a namespace with a device for each UE.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::netns::{self, Namespace};
use super::reach::{Range, routes};
use super::side::{Servers, Side};
use super::tun::Tun;
use crate::LiveError;

/// Room for super-packets in a device's own queue: drops are the model's to decide.
const DEVICE_QUEUE: u32 = 4_000;
/// The name of each UE's interface.
pub(crate) const UE_DEVICE: &str = "cell0";
/// Addresses of one emulator: `prefix.level.host` of a [`Range`], and a unique local prefix (RFC 4193) with the same numbers. First
/// emulators have level 0, emulators inside of them the next ones of the same prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The upper 16 bits.
    prefix: u16,
    /// The chain's number in its range.
    chain: u8,
    level: u8,
}

impl Default for Plan {
    /// That of a first emulator alone.
    fn default() -> Self {
        Self::new(Range::default(), 0, 0)
    }
}

impl Plan {
    fn new(range: Range, chain: u8, level: u8) -> Self {
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

    /// The server side.
    pub const fn server(self) -> Ipv4Addr {
        self.v4(1)
    }

    /// UE `ue`.
    pub const fn ue(self, ue: u32) -> Ipv4Addr {
        self.v4(ue as u8 + 2)
    }

    /// What gives the server side's device `name` its address of IPv4 (by lines of `ip`, as all that follow).
    fn server_side(self, name: &str, mtu: u16) -> String {
        format!(
            "link set dev {name} mtu {mtu} txqueuelen {DEVICE_QUEUE} up\naddr add {}/24 dev {name}\n",
            self.v4(1)
        )
    }

    /// The ways to what lies behind this emulator and those inside of it, by IPv4 and IPv6. An emulator beside this one has them
    /// too, where both are inside of a third; the first one's count.
    fn behind(self, name: &str) -> [String; 2] {
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
    fn ue_side(self, n: u8) -> [String; 2] {
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

/// UEs at most: hosts of one network but the server.
pub const MAX_UES: u32 = 252;

/// The devices and namespaces of an emulator.
#[derive(Debug)]
pub(crate) struct Network {
    /// What stands where packets from UEs come out.
    pub(crate) side: Side,
    /// The UEs' devices.
    pub(crate) ues: Vec<Tun>,
    /// The UEs' namespaces.
    pub(crate) spaces: Vec<Namespace>,
}

/// An address of an emulator whose UEs or servers live in this namespace.
#[derive(Clone, Debug)]
struct Neighbour {
    chain: u8,
    level: u8,
    host: u8,
    /// Its interface.
    name: String,
}

/// The emulators of this namespace. An error where somebody else uses a part of `range`.
fn neighbours(range: Range) -> Result<Vec<Neighbour>, LiveError> {
    let mut found = Vec::new();
    let Ok(all) = nix::ifaddrs::getifaddrs() else {
        return Ok(found);
    };
    for interface in all {
        let v4 = |a: Option<nix::sys::socket::SockaddrStorage>| Some(a?.as_sockaddr_in()?.ip());
        let name = interface.interface_name;
        let (Some(address), mask) = (v4(interface.address), v4(interface.netmask)) else {
            continue;
        };
        let bits = mask.map_or(32, |m| m.to_bits().leading_ones());
        match range.place(address) {
            // A UE's interface has that name, and the server side is host 1 of 24 bits: others' addresses are neither.
            Some((chain, [level, host])) if name == UE_DEVICE || (host == 1 && bits == 24) => {
                found.push(Neighbour {
                    chain,
                    level,
                    host,
                    name,
                });
            }
            _ => check(range, &name, &format!("{address}/{bits}"))?,
        }
    }
    let table = std::fs::read_to_string("/proc/thread-self/net/route").unwrap_or_default();
    for (name, net) in routes(&table) {
        if !found.iter().any(|k| k.name == name) {
            check(range, name, &net.to_string())?;
        }
    }
    Ok(found)
}

fn check(range: Range, name: &str, net: &str) -> Result<(), LiveError> {
    let taken = net.parse().ok().and_then(|net| range.taken(name, net));
    taken.map_or(Ok(()), |why| Err(LiveError::Usage(why)))
}

impl Network {
    /// Makes a device for servers in this namespace, and `ues` namespaces with a device in each. The device is called
    /// `name`, or by its place among emulators. Gives the addresses of both sides too, which are of `range`.
    ///
    /// # Errors
    /// Where somebody else uses the range, or the kernel refuses a device, a namespace or an address.
    pub(crate) fn new(
        ues: u32,
        mtu: u16,
        name: Option<&str>,
        range: Range,
    ) -> Result<(Self, Plan), LiveError> {
        let known = neighbours(range)?;
        // Behind another emulator, addresses continue its chain, so that its server side finds the way back.
        let behind = known.iter().find(|k| k.host != 1).map(|k| k.chain);
        let (plan, tun) = match behind {
            Some(chain) => {
                let same = known.iter().filter(|k| k.chain == chain);
                let deepest = same.map(|k| k.level).max();
                let level = deepest.map_or(0, |l| l.saturating_add(1));
                let plan = Plan::new(range, chain, level);
                (plan, Tun::open(name.unwrap_or(&device(plan)))?)
            }
            None => first_free(range, &known, name)?,
        };
        netns::ip(&plan.server_side(tun.name(), mtu), true)?;
        let [v4, v6] = plan.behind(tun.name());
        // A route of an emulator beside this one may be there already, and a kernel may have no IPv6.
        netns::ip(&v4, false)?;
        netns::ip(&v6, false)?;
        let mut network = Self {
            side: Side::Servers(Servers { plan, tun }),
            ues: Vec::new(),
            spaces: Vec::new(),
        };
        for ue in 0..ues {
            let lines = plan.ue_side(ue as u8 + 2);
            network.add_ue(Namespace::create()?, mtu, &[], &lines)?;
        }
        Ok((network, plan))
    }

    /// Adds a UE that lives in `space`, with a device `cell0`, `settings` of it (keys of `net.ipv6.conf.cell0`), and addresses
    /// and routes by `lines` of `ip`: of IPv4, and of IPv6, which a kernel may not have.
    pub(crate) fn add_ue(
        &mut self,
        space: Namespace,
        mtu: u16,
        settings: &[(&str, &str)],
        [v4, v6]: &[String; 2],
    ) -> Result<(), LiveError> {
        let tun = space.inside(|| {
            let tun = Tun::open(UE_DEVICE)?;
            for (key, value) in settings {
                let path = format!("/proc/sys/net/ipv6/conf/cell0/{key}");
                let _ignored = std::fs::write(path, value);
            }
            let up = format!(
                "link set dev lo up\nlink set dev cell0 mtu {mtu} txqueuelen {DEVICE_QUEUE} up\n"
            );
            netns::ip(&(up + v4), true)?;
            netns::ip(v6, false)?;
            // For emulators inside: packets of theirs pass through.
            for key in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
                let _ignored = std::fs::write(format!("/proc/sys/net/{key}"), "1");
            }
            Ok(tun)
        })?;
        self.ues.push(tun);
        self.spaces.push(space);
        Ok(())
    }
}

fn device(plan: Plan) -> String {
    format!("sw{}.{}", plan.chain, plan.level)
}

/// A name of a device is free or taken at once: two emulators that start together do not get one chain.
fn first_free(
    range: Range,
    known: &[Neighbour],
    name: Option<&str>,
) -> Result<(Plan, Tun), LiveError> {
    let free = (0..range.chains()).filter(|c| known.iter().all(|k| k.chain != *c));
    let mut last = None;
    for chain in free {
        let plan = Plan::new(range, chain, 0);
        match Tun::open(name.unwrap_or(&device(plan))) {
            Ok(tun) => return Ok((plan, tun)),
            Err(e) if name.is_none() => last = Some(e),
            Err(e) => return Err(e),
        }
    }
    Err(last.unwrap_or_else(|| {
        let chains = range.chains();
        LiveError::Usage(format!(
            "{chains} emulators run in this namespace already, as many as {range} has room for"
        ))
    }))
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
    fn a_first_emulators_ue_has_a_default_route_alone() {
        let [v4, v6] = Plan::default().ue_side(2);
        assert_eq!(v4.matches("route").count(), 1, "{v4}");
        assert_eq!(v6.matches("route").count(), 1, "{v6}");
    }
}
