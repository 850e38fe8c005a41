//! The sockets of N3, and the packets that their paths are too narrow for.

use std::collections::BTreeMap;
use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};

use nix::cmsg_space;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrIn, SockaddrIn6, SockaddrStorage, recvmsg, sendmsg,
    setsockopt, sockopt,
};
use slackwater_core::{Ecn, Instant};
use slackwater_signal::RanReport;

use super::counters::Counters;
use super::description::{Gnb, N3 as Config};
use super::node::{Down, Node};
use super::reports::{self, Reported};
use crate::LiveError;
use crate::emulate::bridge::Departure;

/// Room of a socket for datagrams that wait for the loop: 30 ms at 1 Gbit/s.
const ROOM: usize = 4 << 20;

/// What came over N3, and how the sockets fared.
#[derive(Clone, Debug)]
pub struct Found {
    /// Messages.
    pub counters: Counters,
    /// Reports.
    pub reported: Reported,
    /// Datagrams that the kernel dropped: they found the socket full.
    pub overflowed: u64,
    /// Datagrams that the kernel did not take.
    pub refused: u64,
    /// Datagrams longer than N3's path takes in one piece; the kernel fragments them.
    pub fragmented: u64,
    /// Peers, and whether they answered echo requests; `None` where that is not known.
    pub peers: Vec<(SocketAddr, Option<bool>)>,
}

/// A datagram in the buffer of the loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram {
    from: SocketAddr,
    to: IpAddr,
    length: usize,
    outer: Ecn,
}

/// The gNB's end of N3: the node and its sockets.
#[derive(Debug)]
pub(crate) struct N3 {
    pub(crate) node: Node,
    sockets: Vec<Socket>,
    /// The largest IP packet for each user plane function.
    path: BTreeMap<SocketAddr, usize>,
    refused: u64,
    fragmented: u64,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Socket {
    udp: UdpSocket,
    local: IpAddr,
    /// Datagrams that found it full, as the kernel counts them.
    overflowed: u32,
}

/// Octets of the outer IP and UDP header.
pub(crate) const fn outer(to: IpAddr) -> usize {
    // RFC 791, 3.1; RFC 8200, 3; RFC 768.
    (if to.is_ipv4() { 20 } else { 40 }) + 8
}

/// The largest IP packet that the route to `peer` takes, as the kernel has it.
pub(crate) fn path_mtu(local: IpAddr, peer: SocketAddr) -> Result<usize, LiveError> {
    let cannot = |e| LiveError::kernel(format!("no way to the user plane function {peer}"), e);
    let socket = UdpSocket::bind((local, 0)).map_err(cannot)?;
    socket.connect(peer).map_err(cannot)?;
    let device = |e| LiveError::kernel(format!("cannot read the MTU of the way to {peer}"), e);
    crate::sys::path_mtu(socket.as_fd(), peer.is_ipv6()).map_err(device)
}

impl Socket {
    fn open(local: SocketAddr) -> Result<Self, LiveError> {
        let cannot = |e| {
            LiveError::kernel(format!("cannot take UDP {local} for N3"), e)
                .hint("; n3.address must be an address of this machine, and n3.port free there")
        };
        let socket = UdpSocket::bind(local).map_err(cannot)?;
        socket.set_nonblocking(true).map_err(cannot)?;
        let kernel = |e: nix::Error| cannot(e.into());
        // Beyond what is allowed for everyone where this process may, else as much as is.
        setsockopt(&socket, sockopt::RcvBufForce, &ROOM)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &ROOM))
            .map_err(kernel)?;
        setsockopt(&socket, sockopt::RxqOvfl, &1).map_err(kernel)?;
        if local.is_ipv4() {
            setsockopt(&socket, sockopt::IpRecvTos, &true).map_err(kernel)?;
        } else {
            setsockopt(&socket, sockopt::Ipv6RecvTClass, &true).map_err(kernel)?;
        }
        Ok(Self {
            udp: socket,
            local: local.ip(),
            overflowed: 0,
        })
    }

    /// One datagram, where one waits.
    fn read(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, LiveError> {
        let mut control = cmsg_space!(u32, i32, i32);
        let mut parts = [IoSliceMut::new(buffer)];
        let fd = self.udp.as_raw_fd();
        let flags = MsgFlags::MSG_DONTWAIT;
        let message = match recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut control), flags) {
            Ok(message) => message,
            // An ICMP error of an earlier datagram is reported at the next call: nothing waits, or what waits comes then.
            Err(
                nix::Error::EAGAIN
                | nix::Error::EINTR
                | nix::Error::ECONNREFUSED
                | nix::Error::EHOSTUNREACH
                | nix::Error::ENETUNREACH,
            ) => return Ok(None),
            Err(e) => return Err(LiveError::kernel("cannot read N3's socket", e)),
        };
        let from = message.address.as_ref().and_then(address);
        let (length, mut outer) = (message.bytes, Ecn::NotEct);
        let controls = message
            .cmsgs()
            .map_err(|e| LiveError::kernel("N3's socket", e))?;
        for control in controls {
            match control {
                ControlMessageOwned::Ipv4Tos(tos) => outer = Ecn::from_bits(tos),
                ControlMessageOwned::Ipv6TClass(class) => outer = Ecn::from_bits(class as u8),
                ControlMessageOwned::RxqOvfl(lost) => self.overflowed = lost,
                _ => {}
            }
        }
        Ok(from.map(|from| Datagram {
            from,
            to: self.local,
            length,
            outer,
        }))
    }

    /// False where the kernel does not take it.
    fn send(&self, to: SocketAddr, bytes: &[u8]) -> bool {
        let parts = [IoSlice::new(bytes)];
        let fd = self.udp.as_raw_fd();
        let flags = MsgFlags::MSG_DONTWAIT;
        for _ in 0..4 {
            let sent = match to {
                SocketAddr::V4(to) => sendmsg(fd, &parts, &[], flags, Some(&SockaddrIn::from(to))),
                SocketAddr::V6(to) => sendmsg(fd, &parts, &[], flags, Some(&SockaddrIn6::from(to))),
            };
            match sent {
                Ok(_) => return true,
                Err(e) if std::io::Error::from(e).kind() == ErrorKind::Interrupted => {}
                // What an earlier datagram met is told once, and not of this one.
                Err(nix::Error::ECONNREFUSED) => {}
                Err(_) => return false,
            }
        }
        false
    }
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage
        .as_sockaddr_in()
        .map(|a| SocketAddr::V4((*a).into()));
    v4.or_else(|| {
        storage
            .as_sockaddr_in6()
            .map(|a| SocketAddr::V6((*a).into()))
    })
}

/// The local address of the IP version of `peer`. A description that was checked has one.
pub(crate) fn local(n3: &Config, peer: SocketAddr) -> Option<IpAddr> {
    let alike = |a: &IpAddr| a.is_ipv4() == peer.is_ipv4();
    n3.address.iter().map(|a| a.0).find(alike)
}

impl N3 {
    /// Opens the sockets that `gnb` names in the namespace of the calling thread.
    pub(crate) fn open(gnb: &Gnb, node: Node) -> Result<Self, LiveError> {
        let locals = gnb.n3.address.iter();
        let locals = locals.map(|a| SocketAddr::new(a.0, gnb.n3.port));
        let sockets = locals.map(Socket::open).collect::<Result<_, _>>()?;
        let mut path = BTreeMap::new();
        for ue in &gnb.ue {
            let peer = ue.uplink.socket();
            if let Some(local) = local(&gnb.n3, peer) {
                path.insert(peer, path_mtu(local, peer)?);
            }
        }
        Ok(Self {
            node,
            sockets,
            path,
            refused: 0,
            fragmented: 0,
            buffer: Vec::new(),
        })
    }

    pub(crate) fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.sockets.iter().map(|s| s.udp.as_fd()).collect()
    }

    /// Reads one datagram into `buffer`, where one waits.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, LiveError> {
        for socket in &mut self.sockets {
            if let Some(datagram) = socket.read(buffer)? {
                return Ok(Some(datagram));
            }
        }
        Ok(None)
    }

    /// The user's packet in what was read.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        datagram: &Datagram,
        buffer: &[u8],
    ) -> Option<Down> {
        let bytes = &buffer[..datagram.length];
        self.node
            .receive(now, datagram.from, datagram.to, datagram.outer, bytes)
    }

    /// Sends a packet that came up.
    pub(crate) fn uplink(&mut self, now: Instant, departure: &Departure) {
        let mut buffer = core::mem::take(&mut self.buffer);
        let spent = departure.at.since(departure.came);
        let packet = &departure.bytes;
        let to = self
            .node
            .uplink(now, departure.ue, spent, packet, &mut buffer);
        if let Some(to) = to {
            let room = self.path.get(&to).copied().unwrap_or(usize::MAX);
            self.fragmented += u64::from(outer(to.ip()) + buffer.len() > room);
            self.send(to, &buffer);
        }
        self.buffer = buffer;
    }

    /// Sends `reports` and what is due.
    pub(crate) fn run(
        &mut self,
        now: Instant,
        reports: impl Iterator<Item = (Instant, RanReport)>,
    ) {
        let node = &mut self.node;
        reports::messages(reports, |message| node.report(now, message));
        if node.next_timer().is_some_and(|t| t <= now) {
            node.on_timer(now);
        }
        while let Some(datagram) = self.node.next_datagram() {
            self.send(datagram.to, &datagram.bytes);
        }
    }

    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        let alike = |s: &&Socket| s.local.is_ipv4() == to.is_ipv4();
        let sent = self.sockets.iter().find(alike).map(|s| s.send(to, bytes));
        self.refused += u64::from(sent != Some(true));
    }

    /// What came over N3.
    pub(crate) fn found(&self) -> Found {
        Found {
            counters: *self.node.counters(),
            reported: self.node.reported(),
            overflowed: self.sockets.iter().map(|s| u64::from(s.overflowed)).sum(),
            refused: self.refused,
            fragmented: self.fragmented,
            peers: self.node.peers().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
