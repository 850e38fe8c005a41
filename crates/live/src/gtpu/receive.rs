//! Many datagrams of a socket by one call.
#![expect(
    unsafe_code,
    reason = "recvmmsg(2) with control messages: every pointer is to memory of the receiver, which outlives the call, and the \
              kernel says how much of each it wrote"
)]

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// Messages of one call at most.
pub(super) const MANY: usize = 16;
/// Octets of one message: the most that receive offload joins.
const RECEIVE: usize = 65_535;
/// Octets for control messages: traffic class, length of each datagram, datagrams that found no room; aligned, with heads.
const CONTROL: usize = 96;

/// Aligned as the heads of control messages are.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// Memory of a call.
#[derive(Debug)]
pub(super) struct Receiver {
    buffers: Vec<Vec<u8>>,
}

/// One message: datagrams of one sender and class.
pub(super) struct Received<'a> {
    pub(super) from: SocketAddr,
    pub(super) tos: u8,
    /// Octets of each datagram but the last.
    pub(super) size: usize,
    /// Datagrams that found no room so far, where the kernel says so.
    pub(super) overflowed: Option<u32>,
    pub(super) bytes: &'a [u8],
}

impl Receiver {
    pub(super) fn new() -> Self {
        Self {
            buffers: (0..MANY).map(|_| vec![0; RECEIVE]).collect(),
        }
    }

    /// Hands out what waits, [`MANY`] messages at most; how many there were.
    pub(super) fn receive(
        &mut self,
        fd: BorrowedFd<'_>,
        mut each: impl FnMut(Received<'_>),
    ) -> io::Result<usize> {
        let mut control = [Control([0; CONTROL]); MANY];
        // SAFETY: addresses, parts and headers of zeros are valid. Each header points to one name, one part and one control
        // buffer of its own, with their lengths, and all outlive the call.
        let (messages, names, count) = unsafe {
            let mut names: [libc::sockaddr_storage; MANY] = core::mem::zeroed();
            let mut parts: [libc::iovec; MANY] = core::mem::zeroed();
            let mut messages: [libc::mmsghdr; MANY] = core::mem::zeroed();
            for (k, message) in messages.iter_mut().enumerate() {
                parts[k].iov_base = self.buffers[k].as_mut_ptr().cast();
                parts[k].iov_len = RECEIVE;
                let header = &mut message.msg_hdr;
                header.msg_name = (&raw mut names[k]).cast();
                header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
                header.msg_iov = &raw mut parts[k];
                header.msg_iovlen = 1;
                header.msg_control = control[k].0.as_mut_ptr().cast();
                header.msg_controllen = CONTROL as _;
            }
            let count = libc::recvmmsg(
                fd.as_raw_fd(),
                messages.as_mut_ptr(),
                MANY as u32,
                // An int with glibc, unsigned with musl.
                libc::MSG_DONTWAIT as _,
                core::ptr::null_mut(),
            );
            (messages, names, count)
        };
        let Ok(count) = usize::try_from(count) else {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                // ECONNREFUSED is an ICMP of an earlier send: the next call has what waits.
                Some(libc::EAGAIN | libc::EINTR | libc::ECONNREFUSED) => Ok(0),
                _ => Err(error),
            };
        };
        for ((message, name), buffer) in messages[..count].iter().zip(&names).zip(&self.buffers) {
            let bytes = &buffer[..(message.msg_len as usize).min(RECEIVE)];
            let (Some(from), false) = (address(name), bytes.is_empty()) else {
                continue;
            };
            let mut received = Received {
                from,
                tos: 0,
                size: bytes.len(),
                overflowed: None,
                bytes,
            };
            // SAFETY: the header is one that the kernel has filled in; its control buffer still lives.
            unsafe { read_control(&message.msg_hdr, &mut received) };
            each(received);
        }
        Ok(count)
    }
}

/// # Safety
/// `header` is one that the kernel has filled in, with a control buffer that lives.
unsafe fn read_control(header: &libc::msghdr, received: &mut Received<'_>) {
    // SAFETY: as the caller promises; each control message of these kinds has at least the octets that are read, which
    // may lie unaligned.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(header);
        // A pointer throughout: a reference to the head would not reach what lies behind it.
        while !next.is_null() {
            let data = libc::CMSG_DATA(next);
            match ((*next).cmsg_level, (*next).cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => received.tos = data.read(),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    received.tos = data.cast::<libc::c_int>().read_unaligned() as u8;
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let size = data.cast::<libc::c_int>().read_unaligned();
                    received.size = usize::try_from(size).unwrap_or(0).max(1);
                }
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                    received.overflowed = Some(data.cast::<u32>().read_unaligned());
                }
                _ => {}
            }
            next = libc::CMSG_NXTHDR(header, next);
        }
    }
}

/// The sender.
fn address(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let at = core::ptr::from_ref(name);
    // SAFETY: the family says which address the storage holds, and the storage is aligned for and as long as each.
    unsafe {
        match i32::from(name.ss_family) {
            libc::AF_INET => {
                let a = &*at.cast::<libc::sockaddr_in>();
                let ip = Ipv4Addr::from_bits(u32::from_be(a.sin_addr.s_addr));
                Some(SocketAddr::new(ip.into(), u16::from_be(a.sin_port)))
            }
            libc::AF_INET6 => {
                let a = &*at.cast::<libc::sockaddr_in6>();
                let ip = Ipv6Addr::from(a.sin6_addr.s6_addr);
                Some(SocketAddr::new(ip.into(), u16::from_be(a.sin6_port)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Control messages as the kernel writes them one behind the other, each is read, and one of another kind is passed over. Under
    /// Miri too (`.ci/miri`).
    #[test]
    fn control_messages_are_read_one_by_one() {
        let mut control = Control([0; CONTROL]);
        // SAFETY: a header of zeros is valid.
        let mut header: libc::msghdr = unsafe { core::mem::zeroed() };
        header.msg_control = (&raw mut control).cast();
        header.msg_controllen = CONTROL as _;
        let written = [
            (libc::IPPROTO_IP, libc::IP_TTL, 64_u32, 4),
            (libc::IPPROTO_IP, libc::IP_TOS, 3, 1),
            (libc::SOL_UDP, libc::UDP_GRO, 1_400, 4),
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 9, 4),
        ];
        // SAFETY: four messages of at most 24 octets fit the buffer, which lives to the end.
        unsafe {
            let mut at = header.msg_control.cast::<u8>();
            for (level, kind, value, length) in written {
                #[expect(
                    clippy::cast_ptr_alignment,
                    reason = "CMSG_SPACE keeps the alignment of the first"
                )]
                let message = &mut *at.cast::<libc::cmsghdr>();
                message.cmsg_level = level;
                message.cmsg_type = kind;
                message.cmsg_len = libc::CMSG_LEN(length) as _;
                at.add(size_of::<libc::cmsghdr>())
                    .cast::<u32>()
                    .write_unaligned(value);
                at = at.add(libc::CMSG_SPACE(length) as usize);
            }
        }
        let mut received = Received {
            from: SocketAddr::from(([127, 0, 0, 1], 1)),
            tos: 0,
            size: 1,
            overflowed: None,
            bytes: &[],
        };
        // SAFETY: the header was filled in above, and its buffer lives.
        unsafe { read_control(&header, &mut received) };
        assert_eq!(
            (received.tos, received.size, received.overflowed),
            (3, 1_400, Some(9))
        );
    }

    /// The sender's address by its family; another family has none.
    #[test]
    fn a_sender_is_named_by_its_family() {
        // SAFETY: storage of zeros is valid.
        let mut name: libc::sockaddr_storage = unsafe { core::mem::zeroed() };
        assert_eq!(address(&name), None);
        for expected in ["127.0.0.2:2152", "[::2]:2152"] {
            let expected: SocketAddr = expected.parse().expect("an address");
            let at = (&raw mut name).cast::<u8>();
            // SAFETY: the storage is aligned for and as long as each address.
            unsafe {
                match expected {
                    SocketAddr::V4(a) => {
                        let mut own: libc::sockaddr_in = core::mem::zeroed();
                        own.sin_family = libc::AF_INET as _;
                        own.sin_port = a.port().to_be();
                        own.sin_addr.s_addr = a.ip().to_bits().to_be();
                        at.cast::<libc::sockaddr_in>().write_unaligned(own);
                    }
                    SocketAddr::V6(a) => {
                        let mut own: libc::sockaddr_in6 = core::mem::zeroed();
                        own.sin6_family = libc::AF_INET6 as _;
                        own.sin6_port = a.port().to_be();
                        own.sin6_addr.s6_addr = a.ip().octets();
                        at.cast::<libc::sockaddr_in6>().write_unaligned(own);
                    }
                }
            }
            assert_eq!(address(&name), Some(expected));
        }
    }
}
