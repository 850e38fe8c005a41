//! The sockets of N3, and the packets that their paths are too narrow for.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};

use slackwater_core::{Ecn, Instant};
use slackwater_signal::RanReport;
use slackwater_wire::gtpu::NtpClock;
use slackwater_wire::gtpu::report::FlowCounters;

use super::counters::Counters;
use super::description::{Address, Gnb, N3 as Config};
use super::node::{Down, Node};
use super::reports::{self, Reported};
use crate::LiveError;
use crate::emulate::bridge::Departure;
use crate::gtpu::GtpuSocket;

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

/// The gNB's end of N3: the node and its sockets.
#[derive(Debug)]
pub(crate) struct N3 {
    pub(crate) node: Node,
    sockets: Vec<(IpAddr, GtpuSocket)>,
    /// The largest IP packet for each user plane function.
    path: BTreeMap<SocketAddr, usize>,
    fragmented: u64,
    buffer: Vec<u8>,
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

/// The local address of the IP version of `peer`. A description that was checked has one.
pub(crate) fn local(n3: &Config, peer: SocketAddr) -> Option<IpAddr> {
    let alike = |a: &IpAddr| a.is_ipv4() == peer.is_ipv4();
    n3.address.iter().map(|a| a.0).find(alike)
}

impl N3 {
    /// The driver's clock starts: `clock` has the stamps of its times.
    pub(crate) const fn start(&mut self, clock: NtpClock) {
        self.node.start(clock);
    }

    /// Opens the sockets that `gnb` names in the namespace of the calling thread.
    pub(crate) fn open(gnb: &Gnb, node: Node) -> Result<Self, LiveError> {
        let open = |a: &Address| {
            let socket = GtpuSocket::bind(SocketAddr::new(a.0, gnb.n3.port))?;
            Ok((a.0, socket))
        };
        let sockets = gnb.n3.address.iter().map(open);
        let sockets = sockets.collect::<Result<_, LiveError>>()?;
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
            fragmented: 0,
            buffer: Vec::new(),
        })
    }

    pub(crate) fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.sockets.iter().map(|s| s.1.fd()).collect()
    }

    /// Reads each socket once and hands out the users' packets that came by `now`, each with the node; false where nothing
    /// waited.
    pub(crate) fn read(
        &mut self,
        now: Instant,
        mut each: impl FnMut(&mut Node, Down),
    ) -> Result<bool, LiveError> {
        let mut any = false;
        for (local, socket) in &mut self.sockets {
            let node = &mut self.node;
            let read = socket.read(|d| {
                let outer = Ecn::from_bits(d.tos);
                if let Some(down) = node.receive(now, d.from, *local, outer, d.bytes) {
                    each(node, down);
                }
            });
            any |= read.map_err(|e| LiveError::kernel("the socket of N3 is gone", e))? > 0;
        }
        Ok(any)
    }

    /// Sends a packet that came up.
    pub(crate) fn uplink(&mut self, now: Instant, departure: &Departure) {
        let mut buffer = core::mem::take(&mut self.buffer);
        let spent = departure.at.since(departure.came);
        let packet = &departure.bytes;
        let to = self
            .node
            .uplink(now, departure.ue, spent, packet, &mut buffer);
        if let Some((to, class)) = to {
            let room = self.path.get(&to).copied().unwrap_or(usize::MAX);
            self.fragmented += u64::from(outer(to.ip()) + buffer.len() > room);
            self.send(to, class as u8, &buffer);
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
        self.send_all();
    }

    /// Sends what the cell has counted of flows, each of the UE with this number.
    pub(crate) fn count(&mut self, all: &[(u32, FlowCounters)]) {
        self.node.count(all);
        self.send_all();
    }

    fn send_all(&mut self) {
        while let Some(datagram) = self.node.next_datagram() {
            self.send(datagram.to, 0, &datagram.bytes);
        }
        for (_, socket) in &mut self.sockets {
            socket.flush();
        }
    }

    /// A description that was checked has a socket of each peer's IP version.
    fn send(&mut self, to: SocketAddr, class: u8, bytes: &[u8]) {
        let alike = |s: &&mut (IpAddr, GtpuSocket)| s.0.is_ipv4() == to.is_ipv4();
        if let Some((_, socket)) = self.sockets.iter_mut().find(alike) {
            socket.send(to, class, bytes);
        }
    }

    /// What came over N3.
    pub(crate) fn found(&self) -> Found {
        Found {
            counters: *self.node.counters(),
            reported: self.node.reported(),
            overflowed: self.sockets.iter().map(|s| u64::from(s.1.overflowed)).sum(),
            refused: self.sockets.iter().map(|s| s.1.refused).sum(),
            fragmented: self.fragmented,
            peers: self.node.peers().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
