//! The two sides of the emulated network: a device for the servers, and a namespace with a device for each UE.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::netns::{self, Namespace};
use super::side::{Servers, Side};
use super::tun::Tun;
use crate::LiveError;

/// Room for super-packets in a device's own queue: drops are the model's to decide.
const DEVICE_QUEUE: u32 = 4_000;
/// First emulators, then emulators inside of emulators: `100.(64 + chain).level.host` of the shared address space
/// (RFC 6598), and a unique local prefix (RFC 4193) with the same numbers.
const CHAINS: u8 = 64;

/// Addresses of one emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    chain: u8,
    level: u8,
}

impl Plan {
    /// Host `n`: 1 is the server side, 2 and up are the UEs.
    pub const fn v4(self, n: u8) -> Ipv4Addr {
        Ipv4Addr::new(100, 64 + self.chain, self.level, n)
    }

    /// As [`Plan::v4`].
    pub const fn v6(self, n: u8) -> Ipv6Addr {
        let net = (self.chain as u16) << 8 | self.level as u16;
        Ipv6Addr::new(0xfd51, 0xac4b, 0x7761, net, 0, 0, 0, n as u16)
    }

    /// The server side.
    pub const fn server(self) -> Ipv4Addr {
        self.v4(1)
    }

    /// UE `ue`.
    pub const fn ue(self, ue: u32) -> Ipv4Addr {
        self.v4(ue as u8 + 2)
    }

    /// The UE whose address is `address`, of 4 or 16 bytes.
    pub fn ue_at(self, address: &[u8]) -> Option<u32> {
        let host = match *address {
            [100, chain, level, host] if chain == 64 + self.chain && level == self.level => host,
            [.., host] if address.len() == 16 && address[..8] == self.v6(0).octets()[..8] => host,
            _ => return None,
        };
        host.checked_sub(2).map(u32::from)
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

/// The chain and level of the emulators whose UEs or servers live in this namespace.
fn neighbours() -> Vec<(u8, u8, u8)> {
    let Ok(all) = nix::ifaddrs::getifaddrs() else {
        return Vec::new();
    };
    all.filter_map(|i| i.address?.as_sockaddr_in().map(|a| a.ip().octets()))
        .filter(|[a, b, ..]| *a == 100 && (64..64 + CHAINS).contains(b))
        .map(|[_, b, level, host]| (b - 64, level, host))
        .collect()
}

impl Network {
    /// Makes a device for servers in this namespace, and `ues` namespaces with a device in each. The device is called
    /// `name`, or by its place among emulators. Gives the addresses of both sides too.
    ///
    /// # Errors
    /// Where the kernel refuses a device, a namespace or an address.
    pub(crate) fn new(ues: u32, mtu: u16, name: Option<&str>) -> Result<(Self, Plan), LiveError> {
        let known = neighbours();
        // Behind another emulator, addresses continue its chain, so that its server side finds the way back.
        let behind = known.iter().find(|k| k.2 != 1).map(|k| k.0);
        let (plan, tun) = match behind {
            Some(chain) => {
                let deepest = known.iter().filter(|k| k.0 == chain).map(|k| k.1).max();
                let level = deepest.map_or(0, |l| l.saturating_add(1));
                let plan = Plan { chain, level };
                (plan, Tun::open(name.unwrap_or(&device(plan)))?)
            }
            None => first_free(&known, name)?,
        };
        let v4 = format!(
            "link set dev {0} mtu {mtu} txqueuelen {DEVICE_QUEUE} up\n\
             addr add {1}/24 dev {0}\n",
            tun.name(),
            plan.v4(1),
        );
        netns::ip(&v4, true)?;
        // What lies behind further emulators; a route of an emulator beside this one may be there already.
        let chain = format!(
            "route append 100.{}.0.0/16 dev {}\n",
            64 + plan.chain,
            tun.name()
        );
        netns::ip(&chain, false)?;
        let v6 = format!("addr add {1}/64 dev {0} nodad\n", tun.name(), plan.v6(1));
        netns::ip(&v6, false)?;
        let mut network = Self {
            side: Side::Servers(Servers { plan, tun }),
            ues: Vec::new(),
            spaces: Vec::new(),
        };
        for ue in 0..ues {
            let host = ue as u8 + 2;
            let lines = [
                format!(
                    "addr add {}/24 dev cell0\nroute add default via {} dev cell0\n",
                    plan.v4(host),
                    plan.v4(1)
                ),
                format!(
                    "addr add {}/64 dev cell0 nodad\nroute add default via {} dev cell0\n",
                    plan.v6(host),
                    plan.v6(1)
                ),
            ];
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
            let tun = Tun::open("cell0")?;
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
fn first_free(known: &[(u8, u8, u8)], name: Option<&str>) -> Result<(Plan, Tun), LiveError> {
    let free = (0..CHAINS).filter(|c| known.iter().all(|k| k.0 != *c));
    let mut last = None;
    for chain in free {
        let plan = Plan { chain, level: 0 };
        match Tun::open(name.unwrap_or(&device(plan))) {
            Ok(tun) => return Ok((plan, tun)),
            Err(e) if name.is_none() => last = Some(e),
            Err(e) => return Err(e),
        }
    }
    Err(last.unwrap_or_else(|| {
        LiveError::Usage(format!("{CHAINS} emulators run in this namespace already"))
    }))
}
