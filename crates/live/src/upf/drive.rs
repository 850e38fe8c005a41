//! Sockets, device and clock around a user plane function: the loop that joins them.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::mpsc::Receiver;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use slackwater_core::{Bytes, Duration, Ecn, Instant};
use slackwater_upf::n4;
use slackwater_upf::sessions::Seid;
use slackwater_upf::state::Origin;
use slackwater_upf::upf::Upf;
use slackwater_upf::user::Output;
use slackwater_wire::gtpu::{Ntp, NtpClock};
use tracing::{error, info, warn};

use super::config::{FastPath, UpfConfig};
use super::counters::Forwarder;
use super::fast::Fast;
use super::n6::N6;
use super::pool::Pool;
use super::reload::{self, Fixed, Ordered, Reloaded};
use super::ring::Ring;
use super::setup;
use super::state::{self, Kept};
use crate::LiveError;
use crate::emulate::clock::WallClock;
use crate::gtpu::{Datagram, GtpuSocket};
use crate::sys::{self, Signals};

/// How often signals and questions are looked for.
const CHECK_EVERY: Duration = Duration::from_millis(10);
/// Reads of one socket or device before the next has its turn.
const BURST: usize = 64;
/// The longest PFCP message: a UDP datagram's payload.
const N4_MAX: usize = 65_507;
/// After packets came, the next are taken together when so long has passed: a wake-up costs more than a packet does. Less than
/// half of what the function may add to a packet's way (50 us at half load). Where [`BUSY`] packets came together, `turns.gather` goes
/// before it.
const GATHER: Duration = Duration::from_micros(20);
/// See [`GATHER`].
const BUSY: usize = 4;
/// Headers of packets that the kernel forwarded are read together when so long has passed: what vAQM learns of them it acts on
/// after some round trips' part.
const WATCH: Duration = Duration::from_millis(1);
/// How late the kernel may wake this thread (prctl(2), `PR_SET_TIMERSLACK`): a tenth of [`GATHER`].
const SLACK_NS: u64 = 2_000;
/// How often what was counted is put into the state file.
const NOTE_EVERY: Duration = Duration::from_secs(10);
/// After SIGTERM packets that wait here still leave, for so long.
const DRAIN: Duration = Duration::from_millis(500);

/// Something that another thread wants to know of the function, answered between two packets.
pub type Question = Box<dyn FnOnce(&mut Server) + Send>;

/// What signals order: SIGTERM and SIGINT an end, SIGHUP the file read again.
#[derive(Debug)]
pub struct Orders {
    /// Those that came before, or were followed.
    since: Signals,
}

impl Orders {
    /// Takes signals from now on.
    ///
    /// # Errors
    /// Where the kernel does not let it.
    pub fn listen() -> Result<Self, LiveError> {
        let since = sys::signals();
        sys::count_signals()
            .and_then(|()| sys::count_hangups())
            .map_err(|e| LiveError::kernel("cannot listen for signals", e))?;
        Ok(Self { since })
    }

    fn end(&self) -> bool {
        let (came, since) = (sys::signals(), self.since);
        came.interrupts > since.interrupts || came.terminations > since.terminations
    }

    /// Several that came since the last look count as one.
    fn reload(&mut self) -> bool {
        let came = sys::signals().hangups;
        core::mem::replace(&mut self.since.hangups, came) != came
    }
}

/// What the kernel did not take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Packets for N6.
    pub n6: u64,
    /// Messages for N4.
    pub n4: u64,
    /// Frames of N6 that hold no packet.
    pub malformed: u64,
    /// Frames for N3's ring that hold no sound datagram.
    pub malformed_n3: u64,
}

/// The sockets to be read; rings and devices are always looked at.
#[derive(Clone, Copy, Debug)]
struct Ready {
    n4: bool,
    n3: bool,
}

impl Ready {
    const ALL: Self = Self { n4: true, n3: true };
}

/// What ends a wait.
#[derive(Clone, Copy, Debug)]
struct Listens {
    /// A socket that is not read at each turn.
    sockets: bool,
    /// A ring or a device.
    rings: bool,
    /// Headers of packets that the kernel forwarded.
    headers: bool,
}

/// What a server begins with.
struct Begun {
    upf: Upf,
    clock: WallClock,
    origin: Origin,
    state: Option<Kept>,
}

/// The function, with the sessions of its state file where there is one that holds.
fn begin(config: &UpfConfig) -> Result<Begun, LiveError> {
    let path = config.n4.state.as_ref().map(std::path::Path::new);
    let boot = state::boot();
    let octets = path.map(state::read).transpose()?.flatten();
    let taken = octets.as_deref().and_then(|octets| {
        let taken = take_up(config, octets, &boot);
        taken
            .inspect_err(|why| warn!(%why, "sessions are lost"))
            .ok()
    });
    let (mut upf, clock, since) = taken.unwrap_or_else(|| {
        let clock = WallClock::start();
        let stamps = clock.stamps();
        let upf = Upf::new(setup::settings(config, stamps));
        (upf, clock, stamps.stamp(Instant::ZERO))
    });
    let origin = Origin { clock: since, boot };
    let state = match path {
        None => None,
        Some(path) => {
            upf.keep_journal();
            Some(Kept::new(path, &upf.snapshot(&origin))?)
        }
    };
    Ok(Begun {
        upf,
        clock,
        origin,
        state,
    })
}

/// A function with the sessions of a state file, or why they are lost.
fn take_up(config: &UpfConfig, octets: &[u8], boot: &str) -> Result<(Upf, WallClock, Ntp), String> {
    let origin = Origin::read(octets).map_err(|e| e.to_string())?;
    if origin.boot != boot {
        return Err("the state file is of before the machine went down".to_owned());
    }
    let clock = WallClock::resumed(origin.clock)
        .ok_or("the state file is of later than now: the machine's date went back")?;
    // The very origin, not one from the date: the recovery time stamp stays.
    let stamps = NtpClock::new(origin.clock);
    let settings = setup::settings(config, stamps);
    let upf = Upf::restored(settings, clock.now(), octets).map_err(|e| e.to_string())?;
    let sessions = upf.all_sessions().len();
    info!(sessions, "sessions taken up from the state file");
    Ok((upf, clock, origin.clock))
}

/// What happened to an association.
fn log(event: &n4::Event) {
    use n4::Event::{Associated, Back, Lost, Released, Restarted, TakenUp};
    match event {
        Associated(node) => info!(%node, "associated"),
        Restarted(node, sessions) => {
            warn!(%node, sessions, "control plane has started again: its sessions are gone");
        }
        Lost(node) => warn!(%node, "control plane does not answer"),
        Back(node) => info!(%node, "control plane answers again"),
        Released(node, sessions) => info!(%node, sessions, "association ended, and its sessions"),
        TakenUp(node) => info!(%node, "association taken up from the state file"),
        other => info!(?other, "association"),
    }
}

/// The function with its sockets.
#[derive(Debug)]
pub struct Server {
    upf: Upf,
    n4: Option<UdpSocket>,
    n3: GtpuSocket,
    /// Where most datagrams of N3 come by, in place of its socket.
    ring: Option<Ring>,
    n6: N6,
    /// What the kernel does of it.
    fast: Option<Fast>,
    pool: Pool,
    /// What sends counters of flows to their senders.
    forwarder: Option<Forwarder>,
    clock: WallClock,
    /// Messages for N4 that the kernel did not take.
    refused_n4: u64,
    /// The state file, where sessions are kept.
    state: Option<Kept>,
    /// Whose it is.
    origin: Origin,
    /// When what was counted is put into it next.
    note: Instant,
    /// When this process began, by its clock: that may go on from an earlier one's.
    began: Instant,
    /// What the file says.
    config: UpfConfig,
    /// The sessions that it orders.
    fixed: Fixed,
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
        let n6 = N6::open(&config.n6)?;
        let own = SocketAddr::new(config.n3.address.0, config.n3.port);
        Ring::clear(own.ip());
        let interface = config.n3.interface.as_deref();
        let ring = interface.map(|i| Ring::open(i, own)).transpose()?;
        let Begun {
            mut upf,
            clock,
            origin,
            state,
        } = begin(config)?;
        let fast = match (config.fast.path, &ring) {
            (FastPath::Kernel, Some(ring)) => {
                upf.keep_fast();
                Some(Fast::open(clock.now(), config, ring.port(), &n6.end())?)
            }
            _ => None,
        };
        let mut fixed = Fixed::default();
        fixed.check(upf.all_sessions(), config)?;
        fixed.order(upf.sessions(), config, &config.n3, clock.now());
        Ok(Self {
            began: clock.now(),
            note: clock.now() + NOTE_EVERY,
            origin,
            state,
            upf,
            n4,
            n3,
            ring,
            n6,
            fast,
            pool: Pool::default(),
            forwarder: Forwarder::new(&config.counters)?,
            clock,
            refused_n4: 0,
            config: config.clone(),
            fixed,
            stopped: false,
        })
    }

    /// The function.
    pub const fn upf(&self) -> &Upf {
        &self.upf
    }

    /// Which packets of a session the path in the kernel forwards: downlink and uplink.
    pub fn in_kernel(&self, seid: Seid) -> [bool; 2] {
        self.fast.as_ref().map_or([false; 2], |fast| fast.has(seid))
    }

    /// Takes the counts of the path in the kernel over, before they are read.
    pub fn count_fast(&mut self) {
        if let Some(fast) = &mut self.fast {
            fast.count_all(&mut self.upf, self.clock.now());
        }
    }

    /// The name of N6's device.
    pub fn interface(&self) -> &str {
        self.n6.name()
    }

    /// What the kernel did not take: by N6 and N4, and datagrams on N3.
    pub fn refused(&self) -> (Refused, u64) {
        let lost = self.n6.lost();
        let refused = Refused {
            n6: lost.refused,
            malformed: lost.malformed,
            malformed_n3: self.ring.as_ref().map_or(0, Ring::malformed),
            n4: self.refused_n4,
        };
        (refused, self.n3.refused)
    }

    /// The time since the start.
    pub fn uptime(&self) -> Duration {
        self.clock.now().since(self.began)
    }

    /// Ends [`Server::run`]: nothing more is read, and what waits leaves.
    pub const fn stop(&mut self) {
        self.stopped = true;
    }

    /// Follows a file that was read again: edge functions, networks and the sessions that it orders. Sessions of the control plane
    /// stay.
    ///
    /// # Errors
    /// The file differs in what needs a restart, or takes from the control plane what its sessions have. Nothing is changed
    /// then.
    pub fn reload(&mut self, config: UpfConfig) -> Result<Reloaded, LiveError> {
        reload::check(&self.config, &config)?;
        self.fixed.check(self.upf.all_sessions(), &config)?;
        let networks = setup::networks(&config);
        let changed = networks != setup::networks(&self.config);
        self.upf.set_networks(networks).map_err(|in_use| {
            let section = if in_use.tunnels { "n3" } else { "n6" };
            LiveError::Usage(format!("{section}.networks: {in_use}"))
        })?;
        let now = self.clock.now();
        let functions = config.functions != self.config.functions;
        if functions {
            self.upf.set_functions(now, setup::functions(&config));
        }
        let sessions = self.upf.sessions();
        let sessions = self.fixed.order(sessions, &config, &config.n3, now);
        self.config = config;
        Ok(Reloaded {
            functions,
            networks: changed,
            sessions,
        })
    }

    /// Until SIGTERM, SIGINT or [`Server::stop`]. `questions` are answered between packets; at SIGHUP `again` reads the file.
    ///
    /// # Errors
    /// Where a socket or the device is gone.
    pub fn run(
        &mut self,
        questions: &Receiver<Question>,
        mut orders: Orders,
        again: impl Fn() -> Result<UpfConfig, LiveError>,
    ) -> Result<(), LiveError> {
        self.run_until(questions, |server| {
            if orders.reload() {
                match again().and_then(|config| server.reload(config)) {
                    Ok(Reloaded {
                        functions,
                        networks,
                        sessions:
                            Ordered {
                                added,
                                changed,
                                removed,
                            },
                    }) => info!(functions, networks, added, changed, removed, "reloaded"),
                    Err(why) => warn!(%why, "not reloaded"),
                }
            }
            orders.end()
        })
    }

    /// Until [`Server::stop`], or `ends` says so, which it is called for every few milliseconds.
    pub(crate) fn run_until(
        &mut self,
        questions: &Receiver<Question>,
        mut ends: impl FnMut(&mut Self) -> bool,
    ) -> Result<(), LiveError> {
        // A gain, and no condition.
        let _slack = nix::sys::prctl::set_timerslack(SLACK_NS);
        let mut buffer = vec![0; N4_MAX];
        let mut check = Instant::ZERO;
        let mut end: Option<Instant> = None;
        let mut ready = Ready::ALL;
        loop {
            let (mut more, mut came) = (false, 0);
            // Before packets that came here since.
            let passed = self.read_fast();
            if end.is_none() {
                more |= ready.n4 && self.read_n4(&mut buffer);
                let (n3, n6) = (self.read_n3(ready)?, self.read_n6()?);
                more |= n3 >= BURST || n6 >= BURST;
                came = n3 + n6;
            }
            self.follow_fast();
            self.write();

            let now = self.clock.now();
            let checks = now >= check;
            if end.is_none()
                && (came == 0 || checks)
                && let Some(fast) = &mut self.fast
            {
                // Nothing of them waits here, or not for long: their next packets overtake few.
                fast.put_in(&mut self.upf, now);
            }
            if checks {
                check = now + CHECK_EVERY;
                self.check()?;
                if let Some(fast) = &mut self.fast {
                    fast.look(&mut self.upf, now);
                }
                if now >= self.note {
                    self.note = now + NOTE_EVERY;
                    if let Some(fast) = &mut self.fast {
                        fast.count_all(&mut self.upf, now);
                    }
                    self.upf.note_usage();
                    self.keep_again();
                }
                while let Ok(question) = questions.try_recv() {
                    question(self);
                }
                while let Some(event) = self.upf.take_event() {
                    log(&event);
                }
                if end.is_none() && (ends(self) || self.stopped) {
                    if let Some(fast) = &mut self.fast {
                        fast.close(&mut self.upf, now);
                    }
                    end = Some(now + DRAIN);
                }
            }
            if end.is_some_and(|at| now >= at || self.upf.user().held() == Bytes::ZERO) {
                self.upf.note_usage();
                self.keep();
                return Ok(());
            }
            if more {
                ready = Ready::ALL;
            } else {
                let timer = self.upf.next_timer().unwrap_or(Instant::MAX);
                let next = timer.min(check);
                let gather = if came >= BUSY {
                    self.config.turns.gather
                } else {
                    GATHER
                };
                let sockets = end.is_none();
                let (next, rings, headers) = match (came, passed) {
                    (0, 0) => (next, sockets, sockets),
                    (0, _) => (next.min(now + WATCH), sockets, false),
                    _ => (next.min(now + gather), false, false),
                };
                let listens = Listens {
                    sockets,
                    rings,
                    headers,
                };
                ready = self.sleep(next, listens)?;
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
            let now = self.clock.now();
            if let Some(fast) = &mut self.fast {
                fast.before(&mut self.upf, now, &buffer[..n]);
            }
            self.upf.on_n4(now, from, &buffer[..n]);
        }
        true
    }

    /// Reads until nothing waits, [`BURST`] times at most; how often something came.
    fn read_n3(&mut self, ready: Ready) -> Result<usize, LiveError> {
        let (upf, clock, pool) = (&mut self.upf, &self.clock, &mut self.pool);
        let mut reads = 0;
        if let Some(ring) = &mut self.ring {
            // They have waited in the ring together.
            let now = clock.now();
            let mut take = |d: Datagram<'_>| {
                upf.on_n3(now, d.from, pool.copied(d.bytes), Ecn::from_bits(d.tos));
            };
            while reads < BURST && ring.read(&mut take) {
                reads += 1;
            }
            if !ready.n3 {
                return Ok(reads);
            }
        }
        while reads < BURST {
            let now = clock.now();
            let read = self.n3.read(|d| {
                upf.on_n3(now, d.from, pool.copied(d.bytes), Ecn::from_bits(d.tos));
            });
            let read = read.map_err(|e| LiveError::kernel("the socket of N3 is gone", e))?;
            reads += read;
            if read < GtpuSocket::MANY {
                break;
            }
        }
        Ok(reads)
    }

    /// As [`Server::read_n3`].
    fn read_n6(&mut self) -> Result<usize, LiveError> {
        let upf = &mut self.upf;
        let now = self.clock.now();
        for reads in 0..BURST {
            let read = self
                .n6
                .read(&mut self.pool, |packet| upf.on_n6(now, packet));
            if !read? {
                return Ok(reads);
            }
        }
        Ok(BURST)
    }

    /// Reads the headers of packets that the kernel forwarded; how many.
    fn read_fast(&mut self) -> usize {
        let now = self.clock.now();
        let fast = self.fast.as_mut();
        fast.map_or(0, |fast| fast.read(&mut self.upf, now))
    }

    /// Takes from the kernel the sessions that changed.
    fn follow_fast(&mut self) {
        if let Some(fast) = &mut self.fast {
            fast.follow(&mut self.upf, self.clock.now());
        }
    }

    /// Puts what changed into the state file. Where that fails the file goes, until [`Server::keep_again`].
    fn keep(&mut self) {
        // Also where there is no file: one that begins later has it all.
        let records = self.upf.take_journal();
        let Some(state) = self.state.as_mut().filter(|_| !records.is_empty()) else {
            return;
        };
        let (upf, origin) = (&mut self.upf, &self.origin);
        if let Err(error) = state.keep(&records, || upf.snapshot(origin)) {
            error!(why = %error, "sessions are not kept until it can be written");
        }
    }

    /// Begins the state file again where it could not be written.
    fn keep_again(&mut self) {
        let (upf, origin) = (&mut self.upf, &self.origin);
        let state = self.state.as_mut();
        if state.is_some_and(|state| state.retry(|| upf.snapshot(origin))) {
            info!("sessions are kept again");
        }
    }

    /// Sends what leaves by now.
    fn write(&mut self) {
        let now = self.clock.now();
        let mut n4 = Vec::new();
        self.write_packets(now, &mut n4);
        // What is confirmed is kept first.
        self.keep();
        for (to, bytes) in n4 {
            let sent = self.n4.as_ref().map(|n4| n4.send_to(&bytes, to));
            self.refused_n4 += u64::from(!matches!(sent, Some(Ok(_))));
        }
    }

    /// Sends packets, and collects the messages for N4.
    fn write_packets(&mut self, now: Instant, n4: &mut Vec<(SocketAddr, Vec<u8>)>) {
        while let Some(output) = self.upf.poll(now) {
            match output {
                Output::N3 { to, tos, bytes } => {
                    let start = bytes.room();
                    self.n3.send_owned(to, tos, bytes.into_memory(), start);
                    while let Some(memory) = self.n3.memory() {
                        self.pool.give(memory);
                    }
                }
                Output::N6(packet) => self.n6.send(packet, &mut self.pool),
                Output::N4 { to, bytes } => n4.push((to, bytes)),
            }
        }
        if let Some(forwarder) = &mut self.forwarder {
            for counters in self.upf.take_counted() {
                let packet = self.pool.copied(&forwarder.packet(&counters));
                self.n6.send(packet, &mut self.pool);
            }
        }
        self.n6.flush();
        self.n3.flush();
    }

    /// Errors that wait at rings.
    fn check(&self) -> Result<(), LiveError> {
        self.n6
            .check()
            .map_err(|e| LiveError::kernel("the device of N6 is gone", e))?;
        let ring = self.ring.as_ref().map_or(Ok(()), Ring::check);
        ring.map_err(|e| LiveError::kernel("the interface of N3 is gone", e))
    }

    /// Until `next`, or something comes that it listens to.
    fn sleep(&self, next: Instant, listens: Listens) -> Result<Ready, LiveError> {
        let left = next.since(self.clock.now());
        let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(left.as_nanos()));
        let wanted = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(5);
        let n4 = self.n4.as_ref().filter(|_| listens.sockets);
        fds.extend(n4.map(|n4| wanted(n4.as_fd())));
        let by_socket = listens.sockets && (listens.rings || self.ring.is_some());
        if by_socket {
            fds.push(wanted(self.n3.fd()));
        }
        if listens.rings {
            fds.push(wanted(self.n6.fd()));
            fds.extend(self.ring.as_ref().map(|ring| wanted(ring.fd())));
        }
        let fast = self.fast.as_ref().filter(|_| listens.headers);
        fds.extend(fast.map(|fast| wanted(fast.fd())));
        match ppoll(&mut fds, Some(timeout), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(e) => return Err(LiveError::kernel("cannot wait for packets", e)),
        }
        let mut found = fds.iter().map(|fd| fd.any().unwrap_or(true));
        let mut next = |there: bool| there && found.next().unwrap_or(true);
        let ready = Ready {
            n4: next(n4.is_some()),
            n3: next(by_socket) || self.ring.is_none(),
        };
        // An error that waits ends each wait at once.
        let broken = |fd: &PollFd<'_>| {
            let bad = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
            fd.revents().is_some_and(|found| found.intersects(bad))
        };
        if fds.iter().any(broken) {
            self.check()?;
        }
        Ok(ready)
    }
}
