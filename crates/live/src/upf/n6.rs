//! N6: a TUN device, or an interface past the kernel's network stack.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use slackwater_upf::user::Buf;

use super::apart::Apart;
use super::config::{N6 as Config, Network};
use super::join::{Joiner, Part};
use super::neighbour::Neighbour;
use super::pool::{Cut, Pool};
use super::setup;
use crate::LiveError;
use crate::emulate::frame;
use crate::emulate::merge::{Merger, merges, sound};
use crate::emulate::tun::Tun;
use crate::packet::{ETHERNET, FRONT, IPV4, IPV6, PacketSocket};

/// What the kernel did not take, and what it gave that is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lost {
    /// Packets that did not leave.
    pub(super) refused: u64,
    /// Frames that hold no packet.
    pub(super) malformed: u64,
}

/// The way to the data network.
#[derive(Debug)]
pub(super) struct N6 {
    way: Way,
    lost: Lost,
}

/// What N6 is, for a path in the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) enum End<'a> {
    /// An interface.
    Port(&'a PacketSocket),
    /// A TUN device.
    Tun {
        /// Its name.
        name: &'a str,
        /// The longest packet that it takes, in octets.
        mtu: usize,
    },
}

#[cfg_attr(
    not(feature = "bpf"),
    expect(dead_code, reason = "a program without BPF refuses the path")
)]
impl End<'_> {
    /// The name of interface or device.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Port(socket) => socket.name(),
            Self::Tun { name, .. } => name,
        }
    }

    /// The longest packet that it takes, in octets.
    pub(super) const fn mtu(&self) -> usize {
        match self {
            Self::Port(socket) => socket.mtu(),
            Self::Tun { mtu, .. } => *mtu,
        }
    }
}

#[derive(Debug)]
enum Way {
    Tun {
        tun: Tun,
        merger: Merger,
        buffer: Vec<u8>,
        /// The longest packet that the device takes, in octets.
        mtu: usize,
    },
    Port {
        socket: Box<PacketSocket>,
        joiner: Joiner,
        router: Neighbour,
        routes: Vec<Network>,
        _apart: Option<Apart>,
    },
}

impl N6 {
    /// Makes the device, or opens the interface.
    pub(super) fn open(config: &Config) -> Result<Self, LiveError> {
        let way = match (&config.port, config.gateway) {
            (Some(port), Some(gateway)) => {
                let socket = Box::new(PacketSocket::open(port)?);
                let apart = Apart::set(port, &config.routes);
                if apart.is_none() {
                    let v6 = config.routes.iter().any(|r| r.address.is_ipv6());
                    setup::not_forwarded(port, v6)?;
                }
                Way::Port {
                    socket,
                    joiner: Joiner::default(),
                    router: Neighbour::seek(gateway.0, port)?,
                    routes: config.routes.clone(),
                    _apart: apart,
                }
            }
            _ => Way::Tun {
                tun: setup::device(config)?,
                merger: Merger::default(),
                buffer: vec![0; frame::FRAME_MAX],
                mtu: config.mtu as usize,
            },
        };
        Ok(Self {
            way,
            lost: Lost::default(),
        })
    }

    /// The interface's name.
    pub(super) fn name(&self) -> &str {
        match &self.way {
            Way::Tun { tun, .. } => tun.name(),
            Way::Port { socket, .. } => socket.name(),
        }
    }

    /// What it is.
    pub(super) fn end(&self) -> End<'_> {
        match &self.way {
            Way::Tun { tun, mtu, .. } => End::Tun {
                name: tun.name(),
                mtu: *mtu,
            },
            Way::Port { socket, .. } => End::Port(socket),
        }
    }

    /// What was lost here.
    pub(super) fn lost(&self) -> Lost {
        match &self.way {
            Way::Tun { .. } => self.lost,
            Way::Port { socket, .. } => Lost {
                refused: self.lost.refused + socket.refused,
                malformed: self.lost.malformed + socket.cut,
            },
        }
    }

    /// The descriptor, to wait on.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        match &self.way {
            Way::Tun { tun, .. } => tun.fd(),
            Way::Port { socket, .. } => socket.fd(),
        }
    }

    /// An error where the interface is gone; that of a device is found by a read.
    pub(super) fn check(&self) -> std::io::Result<()> {
        match &self.way {
            Way::Tun { .. } => Ok(()),
            Way::Port { socket, .. } => socket.check(),
        }
    }

    /// Reads one frame, and hands out its packets; false where none waits.
    pub(super) fn read(
        &mut self,
        pool: &mut Pool,
        each: impl FnMut(Buf),
    ) -> Result<bool, LiveError> {
        let gone = |e| LiveError::kernel("the device of N6 is gone", e);
        let mut sink = Cut(pool, each);
        let whole = match &mut self.way {
            Way::Tun { tun, buffer, .. } => {
                let Some(n) = tun.read(buffer).map_err(gone)? else {
                    return Ok(false);
                };
                match buffer[..n].split_first_chunk::<{ frame::HEADER }>() {
                    Some((header, packet)) => frame::packets_behind(header, 0, packet, &mut sink),
                    None => false,
                }
            }
            Way::Port { socket, routes, .. } => {
                let mut whole = true;
                let read = socket.read(|found| {
                    let ours = destination(found.kind, found.payload)
                        .is_some_and(|to| routes.iter().any(|route| route.holds(to)));
                    if ours {
                        let (header, payload) = (found.header, found.payload);
                        whole = frame::packets_behind(header, ETHERNET, payload, &mut sink);
                    }
                });
                if !read {
                    return Ok(false);
                }
                whole
            }
        };
        self.lost.malformed += u64::from(!whole);
        Ok(true)
    }

    /// Takes a packet; it leaves with others, at the latest at [`N6::flush`].
    pub(super) fn send(&mut self, mut packet: Buf, pool: &mut Pool) {
        let refused = &mut self.lost.refused;
        match &mut self.way {
            Way::Tun { tun, merger, .. } => {
                let mut send = |_, header: &[u8; frame::HEADER], bytes: &[u8], packets: u32| {
                    if !tun.write(header, bytes) {
                        *refused += u64::from(packets);
                    }
                };
                if merges(packet.as_ref()) && sound(packet.as_ref()) {
                    merger.push((true, 0), packet.as_ref().to_vec(), &mut send);
                } else {
                    merger.flush(&mut send);
                    send((true, 0), &[0; frame::HEADER], packet.as_ref(), 1);
                }
                pool.give(packet.into_memory());
            }
            Way::Port {
                socket,
                joiner,
                router,
                ..
            } => {
                let Some(to) = router.mac() else {
                    *refused += 1;
                    pool.give(packet.into_memory());
                    return;
                };
                let v6 = packet.as_ref().first().is_some_and(|first| first >> 4 == 6);
                let kind = if v6 { IPV6 } else { IPV4 };
                let mut front = [0; FRONT];
                front[frame::HEADER..][..6].copy_from_slice(&to);
                front[frame::HEADER + 6..][..6].copy_from_slice(&socket.mac());
                front[FRONT - 2..].copy_from_slice(&kind.to_be_bytes());
                packet.prepend(&front);
                let (start, mtu) = (packet.room(), socket.mtu());
                let frame = (packet.into_memory(), start);
                joiner.push(frame, mtu, &mut |parts, packets| {
                    join(socket, parts, packets);
                });
                while let Some(memory) = socket.memory() {
                    pool.give(memory);
                }
            }
        }
    }

    /// Sends what waits.
    pub(super) fn flush(&mut self) {
        let refused = &mut self.lost.refused;
        match &mut self.way {
            Way::Tun { tun, merger, .. } => {
                merger.flush(
                    &mut |_, header: &[u8; frame::HEADER], bytes: &[u8], packets: u32| {
                        if !tun.write(header, bytes) {
                            *refused += u64::from(packets);
                        }
                    },
                );
            }
            Way::Port { socket, joiner, .. } => {
                joiner.flush(&mut |parts, packets| join(socket, parts, packets));
                socket.flush();
            }
        }
    }
}

fn join(socket: &mut PacketSocket, parts: &mut Vec<Part>, packets: u32) {
    socket.send_parts(parts.drain(..), packets);
}

/// Where an IP packet goes.
fn destination(kind: u16, packet: &[u8]) -> Option<IpAddr> {
    match kind {
        IPV4 => Some(IpAddr::from(<[u8; 4]>::try_from(packet.get(16..20)?).ok()?)),
        IPV6 => Some(IpAddr::from(
            <[u8; 16]>::try_from(packet.get(24..40)?).ok()?,
        )),
        _ => None,
    }
}
