//! An interface by `AF_PACKET`: frames from a ring that the kernel and this process share, and frames to it many a call.
//!
//! Slots are handed over one by one (`TPACKET_V2`): blocks of `TPACKET_V3` wait for a timer of a millisecond at least (packet(7)).
#![expect(
    unsafe_code,
    reason = "socket calls pass values that live across them, and a mapping lives as long as the ring over it"
)]

mod ring;

use std::ffi::CString;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::ptr;

use crate::LiveError;
use crate::emulate::frame::HEADER;
use crate::mapping::Mapping;
use ring::{Octets, Ring, SLOT_FRONT};

/// Octets of an Ethernet header: two addresses and a type (IEEE 802.3, 3.1.1).
pub const ETHERNET: usize = 14;
/// Types of frames that carry IP (IANA, IEEE 802 numbers).
pub const IPV4: u16 = 0x0800;
/// See [`IPV4`].
pub const IPV6: u16 = 0x86dd;
/// What each frame has in front where it is sent: the virtio header and the Ethernet header.
pub const FRONT: usize = HEADER + ETHERNET;

/// Slots of the ring: some 10 ms of 400,000 packets a second, for which this process may not be scheduled.
const SLOTS: usize = 4_096;
/// Slots that the kernel keeps together: so many of the smallest are a few pages.
const SLOTS_A_BLOCK: usize = 16;
/// Parts of one send: frames, or what a frame of several is put together from.
pub const SENDS: usize = 64;
/// The longest frame: a 64 KiB packet that the kernel has joined.
const LONGEST: usize = FRONT + 65_575;
/// Room for frames that are longer than a slot.
const LONG_ROOM: libc::c_int = 8 << 20;

/// A frame that came.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Its virtio header; offsets count from the start of the Ethernet header.
    pub header: &'a [u8; HEADER],
    /// Type of what it carries.
    pub kind: u16,
    /// What it carries.
    pub payload: &'a [u8],
    /// When the kernel had it: seconds and nanoseconds since 1970.
    pub at: (u32, u32),
}

/// An interface.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
    name: String,
    mac: [u8; 6],
    mtu: usize,
    ring: Ring,
    /// What the slots of the ring lie in, dropped after it.
    _mapping: Mapping,
    /// A frame that did not fit its slot.
    long: Vec<u8>,
    /// Parts of frames that wait for their send.
    batch: Vec<Vec<u8>>,
    /// Where each of them begins.
    starts: Vec<usize>,
    /// Of how many parts each frame is, and how many packets it holds.
    frames: Vec<(usize, u32)>,
    /// Memory of frames that have left.
    spare: Vec<Vec<u8>>,
    /// Packets that the kernel did not take.
    pub refused: u64,
    /// Frames that came and were not whole.
    pub cut: u64,
}

fn set<T>(fd: BorrowedFd<'_>, name: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads the octets of `value` during the call alone.
    let done = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            name,
            ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Index, hardware address and MTU of an interface of Ethernet.
fn interface(fd: BorrowedFd<'_>, name: &str) -> io::Result<(i32, [u8; 6], usize)> {
    let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
    let octets = CString::new(name).map_err(|_| wrong("a name with a zero octet".to_owned()))?;
    // SAFETY: an `ifreq` of zeros is valid; the kernel reads and writes this one during the calls alone, and writes the member
    // of the union that is read after each.
    unsafe {
        let mut request: libc::ifreq = core::mem::zeroed();
        let octets = octets.as_bytes();
        if octets.is_empty() || octets.len() >= request.ifr_name.len() {
            return Err(wrong(format!("a name of {} octets", octets.len())));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(octets) {
            *to = *from as libc::c_char;
        }
        // Requests are unsigned long with glibc, int with musl.
        let mut ask =
            |what: libc::c_ulong| match libc::ioctl(fd.as_raw_fd(), what as _, &raw mut request) {
                0.. => Ok(request.ifr_ifru),
                _ => Err(io::Error::last_os_error()),
            };
        let index = ask(libc::SIOCGIFINDEX)?.ifru_ifindex;
        let mtu = ask(libc::SIOCGIFMTU)?.ifru_mtu;
        let address = ask(libc::SIOCGIFHWADDR)?.ifru_hwaddr;
        if address.sa_family != libc::ARPHRD_ETHER {
            return Err(wrong("not an interface of Ethernet".to_owned()));
        }
        let mut mac = [0; 6];
        for (to, from) in mac.iter_mut().zip(address.sa_data) {
            *to = from as u8;
        }
        Ok((index, mac, usize::try_from(mtu).unwrap_or(0)))
    }
}

/// The address that binds a socket to all frames of an interface.
fn address(index: i32) -> libc::sockaddr_ll {
    // SAFETY: a `sockaddr_ll` of zeros is valid.
    let mut address: libc::sockaddr_ll = unsafe { core::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    address
}

impl PacketSocket {
    /// Opens the interface `name` of the calling thread's network namespace.
    ///
    /// # Errors
    /// Where there is none of that name, it is none of Ethernet, or without the rights (`CAP_NET_RAW`).
    pub fn open(name: &str) -> Result<Self, LiveError> {
        let failed = |e| {
            LiveError::kernel(format!("cannot open the interface \"{name}\""), e)
                .hint("; it must be there, and this process needs CAP_NET_RAW")
        };
        Self::try_open(name).map_err(failed)
    }

    fn try_open(name: &str) -> io::Result<Self> {
        // Without a protocol it hears nothing until it is bound.
        // SAFETY: integers alone; the descriptor is nobody else's.
        let fd = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
            let fd = libc::socket(libc::AF_PACKET, kind, 0);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        let (index, mac, mtu) = interface(fd.as_fd(), name)?;
        let on: libc::c_int = 1;
        set(fd.as_fd(), libc::PACKET_VERSION, &1_i32)?; // TPACKET_V2
        set(fd.as_fd(), libc::PACKET_VNET_HDR, &on)?;
        set(fd.as_fd(), libc::PACKET_IGNORE_OUTGOING, &on)?;
        set(fd.as_fd(), libc::PACKET_QDISC_BYPASS, &on)?;
        // A frame that is longer than its slot is to be had whole by a read.
        set(fd.as_fd(), libc::PACKET_COPY_THRESH, &on)?;
        let room = |option| {
            // SAFETY: the kernel reads an integer during the call alone.
            unsafe {
                libc::setsockopt(
                    fd.as_raw_fd(),
                    libc::SOL_SOCKET,
                    option,
                    ptr::from_ref(&LONG_ROOM).cast(),
                    size_of::<libc::c_int>() as libc::socklen_t,
                )
            }
        };
        // More room is a gain, and no condition.
        let _forced = room(libc::SO_RCVBUFFORCE);

        let slot = (SLOT_FRONT + ETHERNET + mtu)
            .next_power_of_two()
            .min(1 << 15);
        let block = (slot * SLOTS_A_BLOCK).max(4_096);
        let slots_a_block = block / slot;
        let request = libc::tpacket_req {
            tp_block_size: block as u32,
            tp_block_nr: (SLOTS / slots_a_block) as u32,
            tp_frame_size: slot as u32,
            tp_frame_nr: SLOTS as u32,
        };
        set(fd.as_fd(), libc::PACKET_RX_RING, &request)?;
        let length = slot * SLOTS;
        let mapping = Mapping::of(fd.as_fd(), length, true)?;
        // SAFETY: the mapping has so many slots, lives as long as the ring beside it, and the kernel keeps the rules of packet(7).
        let ring = unsafe { Ring::over(mapping.start(), slot, SLOTS) };
        let at = address(index);
        // SAFETY: the kernel reads a `sockaddr_ll` during the call alone.
        let bound = unsafe {
            let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            libc::bind(fd.as_raw_fd(), (&raw const at).cast(), length)
        };
        if bound < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            fd,
            name: name.to_owned(),
            mac,
            mtu,
            ring,
            _mapping: mapping,
            long: vec![0; LONGEST],
            batch: Vec::with_capacity(SENDS),
            starts: Vec::with_capacity(SENDS),
            frames: Vec::with_capacity(SENDS),
            spare: Vec::new(),
            refused: 0,
            cut: 0,
        })
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its hardware address.
    pub const fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// The longest packet that it took when it was opened, in octets.
    pub const fn mtu(&self) -> usize {
        self.mtu
    }

    /// The descriptor, to wait on.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// A program of BPF decides from now on which frames come by the ring, and how much of each.
    ///
    /// # Errors
    /// Where it is none for sockets.
    #[cfg(feature = "bpf")]
    pub(crate) fn set_filter(&self, program: BorrowedFd<'_>) -> Result<(), LiveError> {
        let program = program.as_raw_fd();
        // SAFETY: the kernel reads an integer during the call alone.
        let done = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_BPF,
                ptr::from_ref(&program).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        match done {
            0 => Ok(()),
            _ => Err(LiveError::kernel(
                format!("cannot filter the ring of \"{}\"", self.name),
                io::Error::last_os_error(),
            )),
        }
    }

    /// Reads the next frame to this host, and hands it to `each`; false where none waits. Frames to others, and those of a
    /// VLAN, are passed over. [`PacketSocket::check`] says whether more can come.
    pub fn read(&mut self, each: impl FnOnce(Frame<'_>)) -> bool {
        let Self {
            ring,
            fd,
            long,
            cut,
            ..
        } = self;
        ring.read(|taken| match taken.octets {
            Octets::Whole(octets) if taken.ours => hand_out(octets, taken.at, each),
            Octets::Whole(_) => {}
            Octets::Cut => *cut += 1,
            // It is to be taken even where it is nobody's.
            Octets::Queued => match nix::unistd::read(fd, long) {
                Ok(n) if taken.ours => hand_out(&long[..n], taken.at, each),
                Ok(_) => {}
                Err(_) => *cut += 1,
            },
        })
    }

    /// Takes an error that waits. Until then a wait on the descriptor ends at once.
    ///
    /// # Errors
    /// Where the socket is broken.
    pub fn check(&self) -> io::Result<()> {
        match nix::sys::socket::getsockopt(&self.fd, nix::sys::socket::sockopt::SocketError) {
            // The interface is down: it may come back.
            Ok(0 | libc::ENETDOWN) => Ok(()),
            Ok(error) => Err(io::Error::from_raw_os_error(error)),
            Err(e) => Err(e.into()),
        }
    }

    /// Memory of a frame that has left.
    pub fn memory(&mut self) -> Option<Vec<u8>> {
        self.spare.pop()
    }

    /// Takes a frame: the octets of `memory` from `start` on, a virtio header first. It leaves with others, at the latest at
    /// [`PacketSocket::flush`].
    pub fn send(&mut self, memory: Vec<u8>, start: usize) {
        self.make_room(1);
        self.batch.push(memory);
        self.starts.push(start);
        self.frames.push((1, 1));
    }

    /// As [`PacketSocket::send`], for a super-packet of so many `packets` out of `parts`, [`SENDS`] of them at most: memory, and
    /// where in it a part begins.
    pub fn send_parts(
        &mut self,
        parts: impl ExactSizeIterator<Item = (Vec<u8>, usize)>,
        packets: u32,
    ) {
        let count = parts.len();
        debug_assert!(count <= SENDS, "a frame of {count} parts");
        self.make_room(count);
        for (memory, start) in parts {
            self.batch.push(memory);
            self.starts.push(start);
        }
        self.frames.push((count, packets));
    }

    fn make_room(&mut self, parts: usize) {
        if self.batch.len() + parts > SENDS {
            self.flush();
        }
    }

    /// Sends what waits.
    pub fn flush(&mut self) {
        let count = self.frames.len();
        let mut parts = [libc::iovec {
            iov_base: ptr::null_mut(),
            iov_len: 0,
        }; SENDS];
        for ((part, frame), start) in parts.iter_mut().zip(&mut self.batch).zip(&self.starts) {
            let octets = &mut frame[*start..];
            part.iov_base = octets.as_mut_ptr().cast();
            part.iov_len = octets.len();
        }
        // SAFETY: a `mmsghdr` of zeros is valid. Each names parts of its own, which outlive the calls.
        unsafe {
            let mut messages: [libc::mmsghdr; SENDS] = core::mem::zeroed();
            let mut rest = &mut parts[..];
            for (message, (count, _)) in messages.iter_mut().zip(&self.frames) {
                let own;
                (own, rest) = rest.split_at_mut(*count);
                message.msg_hdr.msg_iov = own.as_mut_ptr();
                message.msg_hdr.msg_iovlen = *count as _;
            }
            let mut from = 0;
            while from < count {
                let messages = messages[from..count].as_mut_ptr();
                let left = (count - from) as u32;
                let fd = self.fd.as_raw_fd();
                match libc::sendmmsg(fd, messages, left, libc::MSG_DONTWAIT as _) {
                    sent @ 1.. => from += sent as usize,
                    // The first of them was not taken: too long, or the interface is down or busy.
                    _ => {
                        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                            self.refused += u64::from(self.frames[from].1);
                            from += 1;
                        }
                    }
                }
            }
        }
        self.starts.clear();
        self.frames.clear();
        self.spare.append(&mut self.batch);
        self.spare.truncate(2 * SENDS);
    }
}

/// Takes a frame behind its virtio header apart.
fn hand_out(bytes: &[u8], at: (u32, u32), each: impl FnOnce(Frame<'_>)) {
    let Some((header, frame)) = bytes.split_first_chunk::<HEADER>() else {
        return;
    };
    let Some((ethernet, payload)) = frame.split_first_chunk::<ETHERNET>() else {
        return;
    };
    each(Frame {
        header,
        kind: u16::from_be_bytes([ethernet[12], ethernet[13]]),
        payload,
        at,
    });
}
