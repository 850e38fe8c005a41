//! The few calls into the kernel that no safe wrapper covers.
#![expect(
    unsafe_code,
    reason = "ioctls of TUN devices, the scheduler's class and signal handlers have no safe wrapper; each call passes \
              values that live across it, and a handler only touches an atomic"
)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use slackwater_core::Duration;

// linux/if_tun.h
const TUNSETIFF: libc::Ioctl = 0x4004_54ca;
const TUNSETOFFLOAD: libc::Ioctl = 0x4004_54d0;

/// Makes `fd`, an open `/dev/net/tun`, a device called `name` (a `%d` in it becomes the first free number) and returns the
/// name that it got.
pub(crate) fn tun_attach(fd: BorrowedFd<'_>, name: &str, flags: i16) -> io::Result<String> {
    // SAFETY: an `ifreq` of zeros is valid; the kernel reads and writes this one during the call alone.
    let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    if name.is_empty() || name.len() > room {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("found a name of {} bytes, expected 1 to {room}", name.len()),
        ));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = flags;
    // SAFETY: `TUNSETIFF` takes a pointer to an `ifreq`, which outlives the call.
    let done = unsafe { libc::ioctl(fd.as_raw_fd(), TUNSETIFF, &raw mut request) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    let bytes = request.ifr_name.iter().map(|c| *c as u8);
    Ok(bytes.take_while(|c| *c != 0).map(char::from).collect())
}

/// Tells the device which super-packets its reader takes.
pub(crate) fn tun_offload(fd: BorrowedFd<'_>, features: u32) -> io::Result<()> {
    // SAFETY: `TUNSETOFFLOAD` takes an integer.
    let done = unsafe { libc::ioctl(fd.as_raw_fd(), TUNSETOFFLOAD, libc::c_ulong::from(features)) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Gives the calling thread real-time priority (`SCHED_FIFO`), which its children do not inherit.
pub(crate) fn realtime(priority: i32) -> io::Result<()> {
    // SAFETY: a `sched_param` of zeros is valid, and outlives the call.
    let done = unsafe {
        let mut param: libc::sched_param = core::mem::zeroed();
        param.sched_priority = priority;
        libc::sched_setscheduler(
            0,
            libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK,
            &raw const param,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Takes real-time priority back.
pub(crate) fn ordinary() {
    // SAFETY: as above. A thread may always step down.
    unsafe {
        let param: libc::sched_param = core::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const param);
    }
}

/// Takes every capability out of the bounding set: no program that this process executes gains one (capabilities(7)).
pub(crate) fn drop_bounding() -> io::Result<()> {
    for capability in 0..=63 {
        // SAFETY: `PR_CAPBSET_DROP` takes a number.
        let done = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        if done < 0 {
            let e = io::Error::last_os_error();
            // The kernel has fewer.
            if e.raw_os_error() == Some(libc::EINVAL) && capability > 0 {
                break;
            }
            return Err(e);
        }
    }
    Ok(())
}

/// `TCP_INFO` of a socket, as many bytes as the kernel has.
pub(crate) fn tcp_info(fd: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let mut info = vec![0_u8; 512];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `info`, and their number into `length`.
    let done = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    info.truncate(length as usize);
    Ok(info)
}

/// The largest IP packet that the way of a connected socket takes (`IP_MTU` of ip(7), `IPV6_MTU` of ipv6(7)).
pub(crate) fn path_mtu(fd: BorrowedFd<'_>, v6: bool) -> io::Result<usize> {
    let (level, name) = if v6 {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU)
    } else {
        (libc::IPPROTO_IP, libc::IP_MTU)
    };
    let mut mtu: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `mtu`, which outlives the call.
    let done = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            level,
            name,
            (&raw mut mtu).cast(),
            &raw mut length,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(usize::try_from(mtu).unwrap_or(0))
}

/// A socket that hears every IP packet which passes the interface `name` of the calling thread's namespace, both ways
/// (packet(7)); without a frame's header.
pub(crate) fn listen(name: &str) -> io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::FromRawFd as _;
    // For packets that wait to be looked at.
    let room: libc::c_int = 64 << 20;
    let index = nix::net::if_::if_nametoindex(name)?;
    let protocol = (libc::ETH_P_ALL as u16).to_be();
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: a new descriptor belongs to nobody else. The kernel reads an address and an integer, which outlive the calls; an
    // address of zeros is valid.
    unsafe {
        // Without a protocol it hears nothing before it is bound.
        let fd = libc::socket(libc::AF_PACKET, kind, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = std::os::fd::OwnedFd::from_raw_fd(fd);
        let mut address: libc::sockaddr_ll = core::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = index as i32;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        if libc::bind(fd, (&raw const address).cast(), length) < 0 {
            return Err(io::Error::last_os_error());
        }
        let (value, length) = (
            (&raw const room).cast(),
            size_of_val(&room) as libc::socklen_t,
        );
        if libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, value, length) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(socket)
    }
}

/// How many SIGINT or SIGQUIT came.
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);
/// How many SIGTERM came.
static TERMINATIONS: AtomicU32 = AtomicU32::new(0);
/// How many SIGHUP came.
static HANGUPS: AtomicU32 = AtomicU32::new(0);
/// The number of the last of them.
static LAST: AtomicI32 = AtomicI32::new(libc::SIGINT);

extern "C" fn on_interrupt(signal: libc::c_int) {
    LAST.store(signal, Ordering::Relaxed);
    INTERRUPTS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn on_terminate(signal: libc::c_int) {
    LAST.store(signal, Ordering::Relaxed);
    TERMINATIONS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn on_hangup(signal: libc::c_int) {
    LAST.store(signal, Ordering::Relaxed);
    HANGUPS.fetch_add(1, Ordering::Relaxed);
}

/// How many signals came. SIGHUP asks a daemon to read its file again, and any other program for an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signals {
    /// SIGINT and SIGQUIT, which a terminal sends to the command as well.
    pub(crate) interrupts: u32,
    /// SIGTERM.
    pub(crate) terminations: u32,
    /// SIGHUP.
    pub(crate) hangups: u32,
}

/// Counts SIGINT, SIGTERM and SIGHUP from now on, in place of dying. A program that is executed has its defaults back. Where
/// SIGHUP is ignored, as below `nohup`, it stays so: what was started to outlive its terminal does.
pub(crate) fn count_signals() -> io::Result<()> {
    handle(Signal::SIGINT, on_interrupt)?;
    handle(Signal::SIGQUIT, on_interrupt)?;
    handle(Signal::SIGTERM, on_terminate)?;
    let before = handle(Signal::SIGHUP, on_hangup)?;
    if matches!(before.handler(), SigHandler::SigIgn) {
        // SAFETY: it is the action of a moment ago, and has no handler.
        unsafe { sigaction(Signal::SIGHUP, &before) }?;
    }
    Ok(())
}

/// Counts SIGHUP too where it was ignored: a daemon's order to read its file.
pub(crate) fn count_hangups() -> io::Result<()> {
    handle(Signal::SIGHUP, on_hangup).map(drop)
}

/// Sets the handler of `signal`; what was done with it before.
fn handle(signal: Signal, handler: extern "C" fn(libc::c_int)) -> io::Result<SigAction> {
    let action = SigAction::new(
        SigHandler::Handler(handler),
        SaFlags::empty(),
        SigSet::empty(),
    );
    // SAFETY: the handlers add to an atomic, which a signal handler may do.
    Ok(unsafe { sigaction(signal, &action) }?)
}

/// How many signals have come.
pub(crate) fn signals() -> Signals {
    Signals {
        interrupts: INTERRUPTS.load(Ordering::Relaxed),
        terminations: TERMINATIONS.load(Ordering::Relaxed),
        hangups: HANGUPS.load(Ordering::Relaxed),
    }
}

/// The exit code of a program that the last of them ended, as a shell shows it: 130 for SIGINT, 143 for SIGTERM.
pub(crate) fn signal_code() -> u8 {
    128 + LAST.load(Ordering::Relaxed) as u8
}

/// Time that the hypervisor has taken from all processors since the machine started (`proc_stat(5)`: steal, in hundredths
/// of a second); zero where nobody says.
pub(crate) fn stolen() -> Duration {
    let table = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = table.lines().next().and_then(steal);
    Duration::from_millis(10 * ticks.unwrap_or(0))
}

/// The eighth number of the line `cpu ...`.
fn steal(line: &str) -> Option<u64> {
    line.strip_prefix("cpu ")?
        .split_whitespace()
        .nth(7)?
        .parse()
        .ok()
}

/// The cookie of the network namespace that the socket `fd` is in (`SO_NETNS_COOKIE`, Linux 5.14).
#[cfg(feature = "bpf")]
pub(crate) fn netns_cookie(fd: BorrowedFd<'_>) -> io::Result<u64> {
    long_option(fd, libc::SO_NETNS_COOKIE)
}

/// The cookie of the socket `fd`, by which programs in the kernel know it (`SO_COOKIE`, Linux 4.12).
#[cfg(feature = "bpf")]
pub(crate) fn cookie(fd: BorrowedFd<'_>) -> io::Result<u64> {
    long_option(fd, libc::SO_COOKIE)
}

/// An option of a socket that has 64 bits.
#[cfg(feature = "bpf")]
fn long_option(fd: BorrowedFd<'_>, option: libc::c_int) -> io::Result<u64> {
    let mut value = 0u64;
    let mut len = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `value`, which outlives the call.
    let done = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw mut value).cast(),
            &raw mut len,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eighth_number_is_stolen_time() {
        assert_eq!(steal("cpu  10 20 30 40 50 60 70 85 0 0"), Some(85));
        assert_eq!(steal("cpu0 10 20 30 40 50 60 70 85 0 0"), None);
        assert_eq!(steal("cpu  10 20"), None);
    }
}
