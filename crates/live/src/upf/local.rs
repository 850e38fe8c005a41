//! Packets from this machine's own addresses by the device of N6: ICMP of the function. The kernel drops them where the device does not
//! accept them (`accept_local`, ip-sysctl.rst).
//!
//! The setting is made by rtnetlink(7): where a unit protects the kernel's settings, `/proc/sys` is read-only.

use std::io;
use std::os::fd::AsRawFd as _;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

/// `linux/rtnetlink.h`
const RTM_SETLINK: u16 = 19;
/// `linux/netlink.h`: `NLM_F_REQUEST` and `NLM_F_ACK`; the type of an answer.
const REQUEST: u16 = 0x01 | 0x04;
const NLMSG_ERROR: u16 = 2;
/// `linux/if_link.h`
const IFLA_AF_SPEC: u16 = 26;
const IFLA_INET_CONF: u16 = 1;
/// `linux/socket.h`, where an attribute is named by a family.
const AF_INET: u16 = 2;
/// `linux/ip.h`
const IPV4_DEVCONF_ACCEPT_LOCAL: u16 = 23;

/// An attribute: length and type, then what is in it (`linux/netlink.h`, `struct nlattr`).
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len() as u16;
    let mut out = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    out.extend(value);
    // Each ends at a multiple of four.
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// The request that sets `accept_local` of an interface.
fn request(index: u32) -> Vec<u8> {
    let value = attribute(IPV4_DEVCONF_ACCEPT_LOCAL, &1_u32.to_ne_bytes());
    let inet = attribute(AF_INET, &attribute(IFLA_INET_CONF, &value));
    let spec = attribute(IFLA_AF_SPEC, &inet);

    // struct nlmsghdr: length, type, flags, number, port. struct ifinfomsg: family, type, index, flags, which of these change.
    let length = (16 + 16 + spec.len()) as u32;
    let mut out = length.to_ne_bytes().to_vec();
    out.extend(RTM_SETLINK.to_ne_bytes());
    out.extend(REQUEST.to_ne_bytes());
    out.extend([0; 8]);
    out.extend([0; 4]);
    out.extend(index.to_ne_bytes());
    out.extend([0; 8]);
    out.extend(spec);
    out
}

/// The kernel takes what comes by the device from an address of this machine. A UE has its own address alone: the function looks.
///
/// # Errors
/// Where there is no device of that name, or no right to change it.
pub(super) fn accept(device: &str) -> io::Result<()> {
    let index = nix::net::if_::if_nametoindex(device)?;
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    let kernel = NetlinkAddr::new(0, 0);
    let fd = socket.as_raw_fd();
    sendto(fd, &request(index), &kernel, MsgFlags::empty())?;

    let mut answer = [0; 4_096];
    let n = recv(fd, &mut answer, MsgFlags::empty())?;
    // struct nlmsgerr behind the header: zero, or an error's number below zero.
    let word = |at: usize| answer[..n].get(at..at + 4).and_then(|w| w.try_into().ok());
    let kind = answer[..n].get(4..6).and_then(|w| w.try_into().ok());
    match (
        kind.map(u16::from_ne_bytes),
        word(16).map(i32::from_ne_bytes),
    ) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(error)) => Err(Errno::from_raw(-error).into()),
        _ => Err(io::Error::other("an answer that is none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let error = accept("no-such-device").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn attributes_are_padded_and_their_length_is_not() {
        let octets = attribute(7, &[1, 2, 3]);
        assert_eq!(octets.len(), 8);
        assert_eq!(octets[..2], 7_u16.to_ne_bytes());
        assert_eq!(request(1).len(), 16 + 16 + 4 * 4 + 4);
    }
}
