//! Sockets, device and clock around a user plane function: the loop that joins them.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::mpsc::Receiver;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use slackwater_core::{Duration, Ecn, Instant};
use slackwater_upf::upf::Upf;
use slackwater_upf::user::{Buf, Output};

use super::config::UpfConfig;
use super::setup;
use crate::LiveError;
use crate::emulate::clock::WallClock;
use crate::emulate::frame;
use crate::emulate::merge::Merger;
use crate::emulate::tun::Tun;
use crate::gtpu::GtpuSocket;
use crate::sys::{self, Signals};

/// How often signals and questions are looked for.
const CHECK_EVERY: Duration = Duration::from_millis(10);
/// Reads of one socket or device before the next has its turn.
const BURST: usize = 64;
/// The longest PFCP message: a UDP datagram's payload.
const N4_MAX: usize = 65_507;
/// After SIGTERM packets that wait here still leave, for so long.
const DRAIN: Duration = Duration::from_millis(500);

/// Something that another thread wants to know of the function, answered between two packets.
pub type Question = Box<dyn FnOnce(&mut Server) + Send>;

/// What the kernel did not take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Packets for N6.
    pub n6: u64,
    /// Messages for N4.
    pub n4: u64,
    /// Frames of N6 that hold no packet.
    pub malformed: u64,
}

/// The function with its sockets.
#[derive(Debug)]
pub struct Server {
    upf: Upf,
    n4: Option<UdpSocket>,
    n3: GtpuSocket,
    n6: Tun,
    merger: Merger,
    clock: WallClock,
    refused: Refused,
    /// It is to end, by [`Server::stop`].
    stopped: bool,
}

impl Server {
    /// Opens the sockets and the device, and sets up the sessions that the file orders.
    ///
    /// # Errors
    /// Where an address is not this machine's or taken, or the device cannot be made.
    pub fn new(config: &UpfConfig) -> Result<Self, LiveError> {
        let n3 = GtpuSocket::bind(SocketAddr::new(config.n3.address.0, config.n3.port))?;
        let n4 = config
            .n4
            .address
            .map(|a| setup::n4(a.0, config.n4.port))
            .transpose()?;
        let n6 = setup::device(&config.n6)?;
        let clock = WallClock::start();
        let upf = setup::function(config, clock.stamps(), clock.now());
        Ok(Self {
            upf,
            n4,
            n3,
            n6,
            merger: Merger::default(),
            clock,
            refused: Refused::default(),
            stopped: false,
        })
    }

    /// The function.
    pub const fn upf(&self) -> &Upf {
        &self.upf
    }

    /// The name of N6's device.
    pub fn interface(&self) -> &str {
        self.n6.name()
    }

    /// What the kernel did not take: by N6 and N4, and datagrams on N3.
    pub const fn refused(&self) -> (Refused, u64) {
        (self.refused, self.n3.refused)
    }

    /// The time since the start.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Ends [`Server::run`]: nothing more is read, and what waits leaves.
    pub const fn stop(&mut self) {
        self.stopped = true;
    }

    /// Until SIGTERM, SIGINT or [`Server::stop`]. `questions` are answered between packets.
    ///
    /// # Errors
    /// Where a socket or the device is gone.
    pub fn run(&mut self, questions: &Receiver<Question>) -> Result<(), LiveError> {
        sys::count_signals().map_err(|e| LiveError::kernel("cannot listen for signals", e))?;
        let since = sys::signals();
        self.run_until(questions, |came| {
            came.interrupts > since.interrupts || came.terminations > since.terminations
        })
    }

    /// Until [`Server::stop`], or `signalled` says that the signals that came ask for an end.
    pub(crate) fn run_until(
        &mut self,
        questions: &Receiver<Question>,
        signalled: impl Fn(Signals) -> bool,
    ) -> Result<(), LiveError> {
        let mut buffer = vec![0; N4_MAX.max(frame::FRAME_MAX)];
        let mut check = Instant::ZERO;
        let mut end: Option<Instant> = None;
        loop {
            let mut more = false;
            if end.is_none() {
                more |= self.read_n4(&mut buffer);
                more |= self.read_n3()?;
                more |= self.read_n6(&mut buffer)?;
            }
            self.write();

            let now = self.clock.now();
            if now >= check {
                check = now + CHECK_EVERY;
                while let Ok(question) = questions.try_recv() {
                    question(self);
                }
                if (self.stopped || signalled(sys::signals())) && end.is_none() {
                    end = Some(now + DRAIN);
                }
            }
            if end.is_some_and(|at| now >= at || self.upf.next_timer().is_none()) {
                return Ok(());
            }
            if !more {
                let timer = self.upf.next_timer().unwrap_or(Instant::MAX);
                self.sleep(timer.min(check), end.is_some())?;
            }
        }
    }

    fn read_n4(&mut self, buffer: &mut [u8]) -> bool {
        let Some(n4) = &self.n4 else { return false };
        for _ in 0..BURST {
            // An error is that of an earlier send (ICMP), or nothing waits.
            let Ok((n, from)) = n4.recv_from(buffer) else {
                return false;
            };
            self.upf.on_n4(self.clock.now(), from, &buffer[..n]);
        }
        true
    }

    fn read_n3(&mut self) -> Result<bool, LiveError> {
        let (upf, clock) = (&mut self.upf, &self.clock);
        for _ in 0..BURST {
            let now = clock.now();
            let read = self.n3.read(|d| {
                upf.on_n3(now, d.from, Buf::copied(d.bytes), Ecn::from_bits(d.tos));
            });
            if !read.map_err(|e| LiveError::kernel("the socket of N3 is gone", e))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn read_n6(&mut self, buffer: &mut [u8]) -> Result<bool, LiveError> {
        for _ in 0..BURST {
            let read = self.n6.read(buffer);
            let Some(n) = read.map_err(|e| LiveError::kernel("the device of N6 is gone", e))?
            else {
                return Ok(false);
            };
            let now = self.clock.now();
            let upf = &mut self.upf;
            let whole = frame::packets(&buffer[..n], |packet| {
                upf.on_n6(now, Buf::copied(&packet));
            });
            self.refused.malformed += u64::from(!whole);
        }
        Ok(true)
    }

    /// Sends what leaves by now.
    fn write(&mut self) {
        let now = self.clock.now();
        let (n6, refused) = (&mut self.n6, &mut self.refused.n6);
        let mut send = |_, header: &[u8; frame::HEADER], bytes: &[u8], packets: u32| {
            if !n6.write(header, bytes) {
                *refused += u64::from(packets);
            }
        };
        while let Some(output) = self.upf.poll(now) {
            match output {
                Output::N3 { to, tos, bytes } => self.n3.send(to, tos, bytes.as_ref()),
                Output::N6(bytes) => {
                    self.merger
                        .push((true, 0), bytes.as_ref().to_vec(), &mut send);
                }
                Output::N4 { to, bytes } => {
                    let sent = self.n4.as_ref().map(|n4| n4.send_to(&bytes, to));
                    self.refused.n4 += u64::from(!matches!(sent, Some(Ok(_))));
                }
            }
        }
        self.merger.flush(&mut send);
        self.n3.flush();
    }

    /// Until `next`, or until something comes; while it drains nothing is read.
    fn sleep(&self, next: Instant, drains: bool) -> Result<(), LiveError> {
        let left = next.since(self.clock.now());
        let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(left.as_nanos()));
        let mut fds: Vec<BorrowedFd<'_>> = Vec::with_capacity(3);
        if !drains {
            fds.extend([self.n3.fd(), self.n6.fd()]);
            fds.extend(self.n4.as_ref().map(|n4| n4.as_fd()));
        }
        let wanted = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut fds: Vec<PollFd<'_>> = fds.into_iter().map(wanted).collect();
        match ppoll(&mut fds, Some(timeout), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(e) => Err(LiveError::kernel("cannot wait for packets", e)),
        }
    }
}
