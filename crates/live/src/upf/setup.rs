//! From the file to the function and the device.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use slackwater_edge::upf::cecc::{self, CeccConfig};
use slackwater_edge::upf::vaqm::{self, VaqmConfig};
use slackwater_upf::n4::{self, LocalEnd, Networks, NodeName};
use slackwater_upf::rules::{Interface, Prefix};
use slackwater_upf::upf::Config;
use slackwater_upf::user::{FunctionConfig, UserConfig, icmp};
use slackwater_wire::gtpu::NtpClock;

use super::config::{Address, Aqm, Frames, N6, Network, UpfConfig};
use super::local;
use crate::LiveError;
use crate::emulate::netns;
use crate::emulate::tun::Tun;

/// Room in the device's own queue: drops are the functions' to decide.
const DEVICE_QUEUE: u32 = 4_000;

/// The device of N6, up, with the routes to the UEs.
pub(super) fn device(config: &N6) -> Result<Tun, LiveError> {
    let tun = Tun::open(&config.interface)?;
    let name = tun.name();
    let up = format!(
        "link set dev {name} mtu {} txqueuelen {DEVICE_QUEUE} up\n",
        config.mtu
    );
    let address = config.address.map(|a| {
        let bits = if a.0.is_ipv4() { 32 } else { 128 };
        format!("addr add {}/{bits} dev {name}\n", a.0)
    });
    let routes = config.routes.iter().map(|r| {
        let Network { address, bits } = r;
        format!("route add {address}/{bits} dev {name}\n")
    });
    let batch: String = core::iter::once(up).chain(address).chain(routes).collect();
    netns::ip(&batch, true)?;
    if let Err(error) = local::accept(name) {
        tracing::warn!(%error, name, "no ICMP of this function leaves by the device of N6");
    }
    Ok(tun)
}

/// An error where the kernel would forward what comes by `port` as well: each packet would arrive twice.
pub(super) fn not_forwarded(port: &str, v6: bool) -> Result<(), LiveError> {
    for (family, counts) in [("ipv4", true), ("ipv6", v6)] {
        let path = format!("/proc/sys/net/{family}/conf/{port}/forwarding");
        let forwards = std::fs::read_to_string(path).is_ok_and(|text| text.trim() == "1");
        if counts && forwards {
            return Err(LiveError::Usage(format!(
                "the kernel forwards packets that come by \"{port}\" (n6.port), which would then arrive twice: \
                 sysctl net.{family}.conf.{port}.forwarding=0"
            )));
        }
    }
    Ok(())
}

/// The socket of N4.
pub(super) fn n4(address: IpAddr, port: u16) -> Result<UdpSocket, LiveError> {
    let at = SocketAddr::new(address, port);
    let socket = UdpSocket::bind(at)
        .map_err(|e| LiveError::kernel(format!("cannot listen for PFCP at {at}"), e))?;
    socket
        .set_nonblocking(true)
        .map_err(|e| LiveError::kernel("cannot set up the socket of N4", e))?;
    Ok(socket)
}

/// What the control plane of the function is told.
fn control(config: &UpfConfig, clock: NtpClock) -> n4::Config {
    let own = config.n4.address.unwrap_or(config.n3.address).0;
    let (v4, v6) = pick(config.n3.address.0);
    let host = |a: &Address| Prefix {
        address: a.0,
        bits: if a.0.is_ipv4() { 32 } else { 128 },
    };
    n4::Config {
        node: NodeName::Address(own),
        address: own,
        ends: [Interface::Access, Interface::Core]
            .map(|interface| LocalEnd {
                interface,
                network: None,
                v4,
                v6,
            })
            .to_vec(),
        networks: networks(config),
        // The hasher's keys are the standard library's own randomness.
        seed: RandomState::new().hash_one(own),
        allowed: config.n4.peers.iter().map(host).collect(),
        clock,
        ..n4::Config::default()
    }
}

/// The IPv4 or the IPv6 address.
const fn pick(at: IpAddr) -> (Option<Ipv4Addr>, Option<Ipv6Addr>) {
    match at {
        IpAddr::V4(a) => (Some(a), None),
        IpAddr::V6(a) => (None, Some(a)),
    }
}

/// What the function is told.
pub(super) fn settings(config: &UpfConfig, clock: NtpClock) -> Config {
    let (n3_v4, n3_v6) = pick(config.n3.address.0);
    let (v4, v6) = pick(config.n6.address.unwrap_or(config.n3.address).0);
    let user = UserConfig {
        n3_v4,
        n3_v6,
        n3_mtu: usize::from(config.n3.mtu),
        n6: icmp::Sources { v4, v6 },
        functions: functions(config),
        clock,
        counters: config.counters.port.is_some(),
        ..UserConfig::default()
    };
    Config {
        user,
        n4: control(config, clock),
    }
}

/// The network instances that rules may name.
pub(super) fn networks(config: &UpfConfig) -> Networks {
    Networks {
        tunnels: config.n3.networks.clone(),
        plain: config.n6.networks.clone(),
    }
}

/// The edge functions.
pub(super) fn functions(config: &UpfConfig) -> FunctionConfig {
    let vaqm = match config.functions.vaqm {
        Aqm::Auto => Some(vaqm::Mode::Auto),
        Aqm::Window => Some(vaqm::Mode::Window),
        Aqm::Direct => Some(vaqm::Mode::Direct),
        Aqm::Off => None,
    };
    let cecc = match config.functions.cecc {
        Frames::Off => None,
        Frames::Hold => Some(cecc::Mode::Hold),
        Frames::Credit => Some(cecc::Mode::Credit),
        Frames::Paper => Some(cecc::Mode::Paper),
    };
    FunctionConfig {
        vaqm: vaqm.map(VaqmConfig::with_mode),
        cecc: cecc.map(|mode| {
            let mut config = CeccConfig::default();
            config.mode = mode;
            config
        }),
        ..FunctionConfig::default()
    }
}
