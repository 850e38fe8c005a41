//! What stands where packets from the UEs come out: a device for servers, or a gNB's end of N3.

use std::os::fd::BorrowedFd;

use slackwater_wire::gtpu::NtpClock;

use super::plan::Plan;
use super::tun::Tun;
use crate::gnb::n3::N3;

/// The network side.
#[derive(Debug)]
pub(crate) enum Side {
    /// Servers behind a device of the namespace that the emulator was called in.
    Servers(Servers),
    /// User plane functions behind GTP-U.
    N3(Box<N3>),
}

/// The device for servers.
#[derive(Debug)]
pub(crate) struct Servers {
    /// Addresses of both sides.
    pub(crate) plan: Plan,
    /// The device.
    pub(crate) tun: Tun,
}

impl Side {
    /// The clock of the run starts.
    pub(crate) fn start(&mut self, clock: NtpClock) {
        if let Self::N3(n3) = self {
            n3.start(clock);
        }
    }

    /// What to wait on for packets.
    pub(crate) fn fds(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Servers(servers) => vec![servers.tun.fd()],
            Self::N3(n3) => n3.fds(),
        }
    }
}
