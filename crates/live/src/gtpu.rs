//! A socket of GTP-U: UDP with the outer header's traffic class both ways, in batches where the kernel has them.

mod receive;

use std::io::{self, IoSlice};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

use nix::sys::socket::sockopt::{
    IpRecvTos, Ipv6RecvTClass, RcvBuf, RcvBufForce, RxqOvfl, SndBuf, UdpGroSegment,
};
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrIn, SockaddrIn6, sendmsg, setsockopt};

use receive::Receiver;

use crate::LiveError;

/// Datagrams and octets of one send with segmentation (udp(7), `UDP_SEGMENT`: 64 segments before Linux 6.9).
const SEGMENTS: usize = 64;
/// An IP packet's length has 16 bits; headers take 48 at most.
const SEND: usize = 65_535 - 48;
/// Room in the kernel for bursts.
const SOCKET_BUFFER: usize = 4 << 20;

/// A datagram that came.
#[derive(Debug)]
pub struct Datagram<'a> {
    /// Its sender.
    pub from: SocketAddr,
    /// Traffic class of the outer header: DSCP and ECN.
    pub tos: u8,
    /// Its payload.
    pub bytes: &'a [u8],
}

/// The socket.
#[derive(Debug)]
pub struct GtpuSocket {
    socket: UdpSocket,
    v6: bool,
    /// The kernel cuts a send into datagrams.
    segments: bool,
    receiver: Receiver,
    /// Datagrams of one peer, class and length that wait for their send; the last may be shorter.
    batch: Batch,
    /// Memory of datagrams that have left.
    spare: Vec<Vec<u8>>,
    /// Datagrams that the kernel did not take.
    pub refused: u64,
    /// Datagrams that came and found no room, as the kernel told with the last that did.
    pub overflowed: u32,
}

#[derive(Debug, Default)]
struct Batch {
    to: Option<SocketAddr>,
    tos: u8,
    /// Octets of each but the last.
    size: usize,
    /// Octets of all.
    total: usize,
    /// Memory, and where in it a datagram begins.
    datagrams: Vec<(Vec<u8>, usize)>,
    /// The last is shorter: nothing may follow.
    closed: bool,
}

impl GtpuSocket {
    /// Messages of one read; fewer mean that no more waited.
    pub const MANY: usize = receive::MANY;

    /// Listens at `address`.
    ///
    /// # Errors
    /// Where the address is not this machine's, or taken.
    pub fn bind(address: SocketAddr) -> Result<Self, LiveError> {
        let socket = UdpSocket::bind(address)
            .map_err(|e| LiveError::kernel(format!("cannot listen for GTP-U at {address}"), e))?;
        let set = |e| LiveError::kernel("cannot set up the socket of GTP-U", e);
        socket.set_nonblocking(true).map_err(set)?;
        let v6 = address.is_ipv6();
        let class = if v6 {
            setsockopt(&socket, Ipv6RecvTClass, &true)
        } else {
            setsockopt(&socket, IpRecvTos, &true)
        };
        class.map_err(|e| LiveError::kernel("cannot read the outer traffic class", e))?;
        // More room and offloads are a gain, and no condition.
        let room = setsockopt(&socket, RcvBufForce, &SOCKET_BUFFER);
        let _room = room.or_else(|_| setsockopt(&socket, RcvBuf, &SOCKET_BUFFER));
        let _count = setsockopt(&socket, RxqOvfl, &1);
        let _room = setsockopt(&socket, SndBuf, &SOCKET_BUFFER);
        let segments = setsockopt(&socket, UdpGroSegment, &true).is_ok();
        Ok(Self {
            socket,
            v6,
            segments,
            receiver: Receiver::new(),
            batch: Batch::default(),
            spare: Vec::new(),
            refused: 0,
            overflowed: 0,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Where the kernel does not say.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The descriptor, to wait on.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Reads once and hands out every datagram of it; of how many messages, [`GtpuSocket::MANY`] at most: 0 where none waits.
    ///
    /// # Errors
    /// Where the socket is broken.
    pub fn read(&mut self, mut each: impl FnMut(Datagram<'_>)) -> io::Result<usize> {
        let overflowed = &mut self.overflowed;
        self.receiver.receive(self.socket.as_fd(), |received| {
            let (from, tos) = (received.from, received.tos);
            *overflowed = received.overflowed.unwrap_or(*overflowed);
            for bytes in received.bytes.chunks(received.size) {
                each(Datagram { from, tos, bytes });
            }
        })
    }

    /// Takes a datagram; it leaves with those like it, at the latest at [`GtpuSocket::flush`].
    pub fn send(&mut self, to: SocketAddr, tos: u8, bytes: &[u8]) {
        let mut memory = self.memory().unwrap_or_default();
        memory.clear();
        memory.extend_from_slice(bytes);
        self.send_owned(to, tos, memory, 0);
    }

    /// Memory of a datagram that has left.
    pub fn memory(&mut self) -> Option<Vec<u8>> {
        self.spare.pop()
    }

    /// As [`GtpuSocket::send`], of the octets of `memory` from `start` on, without a copy.
    pub fn send_owned(&mut self, to: SocketAddr, tos: u8, memory: Vec<u8>, start: usize) {
        let length = memory.len() - start;
        let b = &self.batch;
        let joins = self.segments
            && b.to == Some(to)
            && b.tos == tos
            && !b.closed
            && b.datagrams.len() < SEGMENTS
            && length <= b.size
            && b.total + length <= SEND;
        if !joins {
            self.flush();
            self.batch.to = Some(to);
            self.batch.tos = tos;
            self.batch.size = length;
            self.batch.total = 0;
            self.batch.closed = false;
        }
        let b = &mut self.batch;
        b.closed |= length < b.size;
        b.total += length;
        b.datagrams.push((memory, start));
    }

    /// Sends what waits.
    pub fn flush(&mut self) {
        let Some(to) = self.batch.to.take() else {
            return;
        };
        let size = self.batch.size as u16;
        let class = i32::from(self.batch.tos);
        let mut control = [ControlMessage::Ipv4Tos(&self.batch.tos); 2];
        if self.v6 {
            control[0] = ControlMessage::Ipv6TClass(&class);
        }
        control[1] = ControlMessage::UdpGsoSegments(&size);
        let mut parts = [IoSlice::new(&[]); SEGMENTS];
        for (part, (memory, start)) in parts.iter_mut().zip(&self.batch.datagrams) {
            *part = IoSlice::new(&memory[*start..]);
        }
        let parts = &parts[..self.batch.datagrams.len()];
        let several = parts.len() > 1;
        let (one, both) = (&control[..1], &control[..]);
        let sent = send_to(&self.socket, parts, if several { both } else { one }, to);
        if sent.is_err() && several {
            // A device on the way without the offload (EIO), or a segment longer than its MTU (EINVAL): one by one.
            for part in parts {
                let sent = send_to(&self.socket, std::slice::from_ref(part), one, to);
                self.refused += u64::from(sent.is_err());
            }
        } else {
            self.refused += u64::from(sent.is_err());
        }
        let sent = self.batch.datagrams.drain(..).map(|(memory, _)| memory);
        self.spare.extend(sent);
        self.spare.truncate(2 * SEGMENTS);
    }
}

fn send_to(
    socket: &UdpSocket,
    parts: &[IoSlice<'_>],
    control: &[ControlMessage<'_>],
    to: SocketAddr,
) -> nix::Result<usize> {
    let fd = socket.as_raw_fd();
    match to {
        SocketAddr::V4(a) => sendmsg(
            fd,
            parts,
            control,
            MsgFlags::MSG_DONTWAIT,
            Some(&SockaddrIn::from(a)),
        ),
        SocketAddr::V6(a) => sendmsg(
            fd,
            parts,
            control,
            MsgFlags::MSG_DONTWAIT,
            Some(&SockaddrIn6::from(a)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    /// All datagrams that `from` has sent to `to`, `count` of them.
    fn drain(to: &mut GtpuSocket, count: usize) -> Vec<(u8, Vec<u8>)> {
        let mut found = Vec::new();
        while found.len() < count {
            let mut waits = [PollFd::new(to.socket.as_fd(), PollFlags::POLLIN)];
            poll(&mut waits, PollTimeout::NONE).unwrap();
            while to.read(|d| found.push((d.tos, d.bytes.to_vec()))).unwrap() > 0 {}
        }
        found
    }

    #[test]
    fn datagrams_keep_their_bounds_order_and_class() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(mut to) = GtpuSocket::bind(address.parse().unwrap()) else {
                eprintln!("skipped: no {address} here");
                continue;
            };
            let mut from = GtpuSocket::bind(address.parse().unwrap()).unwrap();
            let peer = to.local().unwrap();
            // Runs of equal length, a shorter one at the end of a run, a longer one, another class.
            let lengths = [1_400, 1_400, 1_400, 60, 60, 1_400, 9_000, 1, 1, 1];
            let sent: Vec<(u8, Vec<u8>)> = (0..200)
                .map(|k| {
                    let tos = if k % 50 < 25 { 0xb8 | 1 } else { 0x03 };
                    (tos, vec![k as u8; lengths[k % lengths.len()]])
                })
                .collect();
            for (tos, bytes) in &sent {
                from.send(peer, *tos, bytes);
            }
            from.flush();
            assert_eq!(from.refused, 0, "{address}");
            assert_eq!(drain(&mut to, sent.len()), sent, "{address}");
        }
    }
}
