//! The two sides of the emulated network: a device for the servers, and a namespace with a device for each UE.

use super::net::{Range, routes};
use super::netns::{self, Namespace};
use super::plan::{DEVICE_QUEUE, Plan, UE_DEVICE};
use super::side::{Servers, Side};
use super::tun::Tun;
use crate::LiveError;

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

/// So often a use of the range by others is looked at before it counts.
const LOOKS: u32 = 5;

/// The emulators of this namespace. An error where somebody else uses a part of `range`.
fn neighbours(range: Range) -> Result<Vec<Neighbour>, LiveError> {
    // Addresses and routes are read one after the other: where another emulator comes or goes meanwhile, they do not belong together.
    let mut looks = (1..LOOKS).map(|_| seen(range));
    let found = looks.find(Result::is_ok);
    found.unwrap_or_else(|| seen(range))
}

/// The same by one look.
fn seen(range: Range) -> Result<Vec<Neighbour>, LiveError> {
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
    /// `name`, or by its place among emulators. Gives the addresses of both sides too, which are of `range`. The first UEs have the namespaces
    /// `attached`, which others made.
    ///
    /// # Errors
    /// Where somebody else uses the range, or the kernel refuses a device, a namespace or an address.
    pub(crate) fn new(
        ues: u32,
        mtu: u16,
        name: Option<&str>,
        range: Range,
        attached: Vec<Namespace>,
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
        let mut attached = attached.into_iter();
        for ue in 0..ues {
            let host = ue as u8 + 2;
            if let Some(space) = attached.next() {
                network.attach_ue(space, mtu, &plan.attached_side(host))?;
            } else {
                network.add_ue(Namespace::create()?, mtu, &[], &plan.ue_side(host))?;
            }
        }
        Ok((network, plan))
    }

    /// Adds a UE in a namespace that somebody uses: it gets a device, addresses and routes, which go with the device, and no setting of
    /// its own is changed.
    fn attach_ue(
        &mut self,
        space: Namespace,
        mtu: u16,
        [v4, v6]: &[String; 2],
    ) -> Result<(), LiveError> {
        let tun = space.inside(|| {
            let tun = Tun::open(UE_DEVICE)?;
            let up = format!("link set dev cell0 mtu {mtu} txqueuelen {DEVICE_QUEUE} up\n");
            netns::ip(&(up + v4), true)?;
            netns::ip(v6, false)?;
            Ok(tun)
        })?;
        self.ues.push(tun);
        self.spaces.push(space);
        Ok(())
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
