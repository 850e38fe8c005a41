//! A TUN device whose frames carry a virtio header.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IoSlice, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;

use super::frame;
use crate::LiveError;
use crate::sys;

const DEVICE: &str = "/dev/net/tun";

// linux/if_tun.h
const IFF_TUN: i16 = 0x0001;
const IFF_NO_PI: i16 = 0x1000;
const IFF_VNET_HDR: i16 = 0x4000;
const IFF_TUN_EXCL: i16 = i16::MIN; // 0x8000
/// `TUN_F_CSUM`, `TUN_F_TSO4`, `TUN_F_TSO6` and `TUN_F_TSO_ECN`.
const OFFLOADS: u32 = 0x01 | 0x02 | 0x04 | 0x08;
/// `TUN_F_USO4` and `TUN_F_USO6`, from Linux 6.2 on.
const DATAGRAM_OFFLOADS: u32 = 0x20 | 0x40;

/// A device; it goes when this is dropped, or when the process dies.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
}

impl Tun {
    /// Makes a device called `name` in the network namespace of the calling thread; a `%d` in the name becomes the first
    /// free number.
    ///
    /// # Errors
    /// Where there are no TUN devices, no rights to make one, or one of that name.
    pub fn open(name: &str) -> Result<Self, LiveError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(DEVICE)
            .map_err(|e| {
                LiveError::kernel(format!("cannot open {DEVICE}"), e)
                    .hint("; the kernel needs TUN devices, and this process must be let near them")
            })?;
        let flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL;
        let name = sys::tun_attach(file.as_fd(), name, flags).map_err(|e| {
            let taken = matches!(e.raw_os_error(), Some(libc::EBUSY | libc::EEXIST));
            let wrong = e.kind() == std::io::ErrorKind::InvalidInput && e.raw_os_error().is_none();
            let error = LiveError::kernel(format!("cannot make the interface \"{name}\""), e);
            if wrong {
                error
            } else if taken {
                error.hint("; an interface of that name is there: choose another with --interface")
            } else {
                error.hint("; run as root, or with CAP_NET_ADMIN")
            }
        })?;
        sys::tun_offload(file.as_fd(), OFFLOADS | DATAGRAM_OFFLOADS)
            .or_else(|_| sys::tun_offload(file.as_fd(), OFFLOADS))
            .map_err(|e| LiveError::kernel("cannot turn on offloads of the TUN device", e))?;
        Ok(Self { file, name })
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The descriptor, to wait on.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Reads one frame into `buffer`, of [`frame::FRAME_MAX`] bytes; `None` where none waits.
    ///
    /// # Errors
    /// Where the device is gone.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.file.read(buffer) {
            Ok(n) => Ok(Some(n)),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// Writes a packet behind a virtio header. False where the kernel did not take it (the interface is down, or has no
    /// memory left).
    pub fn write(&mut self, header: &[u8; frame::HEADER], packet: &[u8]) -> bool {
        let parts = [IoSlice::new(header), IoSlice::new(packet)];
        loop {
            match self.file.write_vectored(&parts) {
                Ok(_) => return true,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }
}
