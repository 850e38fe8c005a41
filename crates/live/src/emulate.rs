//! Runs a command behind a cell.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use slackwater_core::{Duration, FlowId, Instant};
use slackwater_lab::run::{self, Prepared, RunResult};
use slackwater_ran::cell::Cell;
use slackwater_results::record::slots::SlotRows;
use slackwater_scenario::Scenario;
use slackwater_scenario::build::Hosts;
use slackwater_signal::PathReport;

use crate::LiveError;
use crate::beside::{self, Ports};
use crate::bridge::{Bridge, Departure, LogEntry, Probe, Tap};
use crate::cells::Wanted;
use crate::clock::{Lag, WallClock};
use crate::flows::FlowTable;
use crate::frame;
use crate::inside;
use crate::merge::{Merger, Port};
use crate::meter::Meter;
use crate::netns;
use crate::setup::{MAX_UES, Network};
use crate::sys::{self, Signals};
use crate::teller::Teller;
use crate::tun::Tun;

/// How an emulation runs, beside what it emulates.
#[derive(Clone, Debug)]
pub struct Options {
    /// What stands between the sides.
    pub wanted: Wanted,
    /// The command behind the cell. `{server}` and `{ue}` in its words become the server side's address and the UE's
    /// number.
    pub command: Vec<OsString>,
    /// A command on the server side, for the time of the run, by way of `sh -c`.
    pub server: Option<String>,
    /// The server side is a namespace of its own too. Without privileges it always is.
    pub isolated: bool,
    /// Name of the server side's device.
    pub interface: Option<String>,
    /// Largest IP packet.
    pub mtu: u16,
    /// The run ends after this time, and the command with it.
    pub limit: Option<Duration>,
    /// Keep arrivals and departures for logs.
    pub log: bool,
    /// Show what happens while it happens.
    pub meter: bool,
    /// Folder of results in which a page finds what happens while it happens; none where nothing is written.
    pub watch: Option<PathBuf>,
    /// Time between two samples of the records.
    pub interval: Duration,
    /// Where reports go that do not ride on packets.
    pub ports: Ports,
}

/// How well the emulator kept up.
#[derive(Clone, Debug)]
pub struct Health {
    /// Lateness of events.
    pub lag: Lag,
    /// Slots of the run.
    pub slots: u64,
    /// Real-time priority was had.
    pub realtime: bool,
    /// Frames that were no packets.
    pub malformed: u64,
    /// Packets that the kernel did not take back.
    pub refused: u64,
    /// Reports sent in datagrams of their own.
    pub reports: u64,
    /// CPU time of the emulator's own thread.
    pub cpu: Duration,
    /// Time that the hypervisor took from this machine's processors meanwhile, all together.
    pub stolen: Duration,
}

impl Health {
    /// Share of slots that the loop missed.
    pub fn missed(&self) -> f64 {
        self.lag.missed_slots as f64 / self.slots.max(1) as f64
    }
}

/// An emulation and what it left.
#[derive(Debug)]
pub struct Outcome {
    /// Records and metrics, as of a simulation.
    pub result: RunResult,
    /// How well it kept up.
    pub health: Health,
    /// Exit code of the command (of the first UE's, where there are several).
    pub code: u8,
    /// Arrivals and departures, where asked for.
    pub log: Vec<LogEntry>,
    /// How long it ran.
    pub length: Duration,
    /// QUIC connections, and how often their spin bit changed, down and up.
    pub spins: Vec<(String, [u64; 2])>,
}

/// How often the command is looked at for its end.
const CHECK_EVERY: Duration = Duration::from_millis(10);
/// Frames read from one device before the world has its turn again.
const BURST: usize = 64;
/// Real-time priority: above everything ordinary, below the kernel's own threads.
pub(crate) const PRIORITY: i32 = 10;

/// Runs `options.command` behind the cell until it ends.
///
/// # Errors
/// Where the cell cannot be had, or the kernel refuses namespaces, devices or processes.
pub fn emulate(options: &Options) -> Result<Outcome, LiveError> {
    let ues = options.wanted.ues;
    if ues == 0 || ues > MAX_UES {
        return Err(LiveError::Usage(format!(
            "--ues: found {ues}, expected 1 to {MAX_UES}"
        )));
    }
    let scenario = options.wanted.scenario()?;
    if options.isolated || !netns::privileged() {
        netns::isolate()?;
    }
    let network = Network::new(ues, options.mtu, options.interface.as_deref())?;
    // What comes from here on counts: before the loop there is time enough for a signal.
    let since = sys::signals();
    sys::count_signals().map_err(|e| LiveError::kernel("cannot take signals", e))?;
    let _ = nix::sys::prctl::set_timerslack(1);
    let mut processes = Processes::default();
    processes.start(options, &network, since)?;
    let run = run::prepare(&scenario, scenario.seed, Hosts::External, |recorder| {
        Tap::new(recorder, options.interval, options.log)
    })?;
    let watch = options.watch.as_deref();
    let teller = watch.map(|folder| Teller::start(folder, &scenario.name));
    let realtime = sys::realtime(PRIORITY).is_ok();
    let flows = FlowTable::new(ues, options.wanted.flows);
    let (mtu, name) = (usize::from(options.mtu), &scenario.name);
    let mut drive = Drive::new(network, run, flows, mtu, options.meter, name);
    if let Some(teller) = teller {
        drive.meter.tell(teller, options.limit);
    }
    drive.ports = options.ports;
    let code = drive.run(since, options.limit, &mut || processes.ended())?;
    sys::ordinary();
    processes.stop();
    let end = drive.now();
    Ok(drive.conclude(&scenario, code, realtime, end))
}

/// The commands; all end when this is dropped.
#[derive(Default)]
struct Processes {
    server: Option<Child>,
    commands: Vec<Child>,
    /// Exit codes, by UE.
    codes: Vec<Option<u8>>,
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Processes {
    /// Starts the server and, once it listens, the commands, where no signal came `since`.
    fn start(
        &mut self,
        options: &Options,
        network: &Network,
        since: Signals,
    ) -> Result<(), LiveError> {
        let address = network.plan.server().to_string();
        if let Some(server) = &options.server {
            let server = server.replace("{server}", &address);
            let words = ["sh".into(), "-c".into(), server.into()];
            let before = listeners();
            let child = spawn(&words, &address, None)?;
            self.server = Some(child);
            wait_for_listener(&before, since);
        }
        // Without a command nobody else has heard the signal, at a terminal neither.
        if sys::signals() != since {
            return Err(LiveError::Interrupted {
                code: sys::signal_code(),
            });
        }
        for (ue, space) in network.spaces.iter().enumerate() {
            let words: Vec<OsString> = options
                .command
                .iter()
                .map(|w| fill_in(w, &address, ue))
                .collect();
            let child = space.inside(|| spawn(&words, &address, Some((ue, network))))?;
            self.commands.push(child);
            self.codes.push(None);
        }
        Ok(())
    }

    /// The exit code of the first command, once all have ended.
    fn ended(&mut self) -> Option<u8> {
        for (child, code) in self.commands.iter_mut().zip(&mut self.codes) {
            if code.is_none() {
                *code = match child.try_wait() {
                    Ok(Some(status)) => Some(inside::code_of(status)),
                    Ok(None) => None,
                    Err(_) => Some(125),
                };
            }
        }
        self.codes
            .iter()
            .all(Option::is_some)
            .then(|| self.codes.first().copied().flatten().unwrap_or(0))
    }

    fn stop(&mut self) {
        for child in self.commands.iter_mut().chain(&mut self.server) {
            // One that has ended already cannot be killed, and that is well.
            let _ignored = child.kill();
            let _ignored = child.wait();
        }
        self.server = None;
    }
}

/// A word of the command with its place-holders filled in; words that are not text have none.
fn fill_in(word: &OsStr, server: &str, ue: usize) -> OsString {
    word.to_str().map_or_else(
        || word.to_owned(),
        |w| {
            w.replace("{server}", server)
                .replace("{ue}", &ue.to_string())
                .into()
        },
    )
}

/// Starts `words` in the calling thread's namespace, so that it cannot outlive the emulator.
fn spawn(
    words: &[OsString],
    server: &str,
    ue: Option<(usize, &Network)>,
) -> Result<Child, LiveError> {
    let exe = std::env::current_exe()
        .map_err(|e| LiveError::kernel("cannot find the program itself", e))?;
    let mut command = Command::new(exe);
    command
        .arg(inside::WORD)
        .arg("outer")
        .arg(std::process::id().to_string())
        .args(words)
        .env("SLACKWATER_SERVER", server)
        // The name that Mahimahi's users know: in a nest of emulators the address outside of them all.
        .env(
            "MAHIMAHI_BASE",
            std::env::var_os("MAHIMAHI_BASE").unwrap_or_else(|| server.into()),
        );
    match ue {
        Some((ue, network)) => {
            command
                .env("SLACKWATER_UE", ue.to_string())
                .env("SLACKWATER_ADDRESS", network.plan.ue(ue as u32).to_string());
            if ue > 0 {
                // A terminal's input is for the first.
                command.stdin(Stdio::null());
            }
        }
        None => {
            command.stdin(Stdio::null()).stdout(Stdio::null());
        }
    }
    command
        .spawn()
        .map_err(|e| LiveError::kernel("cannot start a process", e))
}

/// The sockets of this namespace that listen on TCP, by inode.
fn listeners() -> BTreeSet<String> {
    // proc_pid_net(5): the fourth column is the state, 0A that of a listener; the tenth the inode.
    let mut inodes = BTreeSet::new();
    for file in ["tcp", "tcp6"] {
        let table = std::fs::read_to_string(format!("/proc/thread-self/net/{file}"));
        let table = table.unwrap_or_default();
        let rows = table.lines().map(str::split_whitespace);
        let open = rows.filter(|r| r.clone().nth(3) == Some("0A"));
        inodes.extend(open.filter_map(|mut r| r.nth(9).map(str::to_owned)));
    }
    inodes
}

/// A server needs a moment before it listens. One that never does (it uses UDP, or died) is not waited for long,
/// and nothing is once a signal came `since`.
/// Who listened `before` it was started is somebody else.
fn wait_for_listener(before: &BTreeSet<String>, since: Signals) {
    for _ in 0..50 {
        if !listeners().is_subset(before) || sys::signals() != since {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Devices, world and clock of a run: the loop that joins them.
pub(crate) struct Drive {
    network: Network,
    bridge: Bridge,
    layout: slackwater_scenario::build::Layout,
    rows: Option<Arc<Mutex<SlotRows>>>,
    clock: WallClock,
    /// A slot of the cell, or a link's millisecond.
    slot: Duration,
    merger: Merger,
    refused: u64,
    ports: Ports,
    reports: u64,
    meter: Meter,
    /// CPU time of the thread before the run.
    cpu: Duration,
    /// Stolen time before the run.
    stolen: Duration,
}

impl Drive {
    pub(crate) fn new(
        network: Network,
        run: Prepared<Tap>,
        flows: FlowTable,
        mtu: usize,
        meter: bool,
        name: &str,
    ) -> Self {
        let slot = run
            .world
            .cell(run.layout.bottleneck)
            .map_or(Duration::from_millis(1), Cell::slot_duration);
        Self {
            network,
            bridge: Bridge::new(run.world, flows, mtu),
            layout: run.layout,
            rows: run.rows,
            clock: WallClock::start(),
            slot,
            merger: Merger::default(),
            refused: 0,
            ports: Ports::default(),
            reports: 0,
            meter: Meter::new(meter, name),
            cpu: thread_time(),
            stolen: sys::stolen(),
        }
    }

    pub(crate) fn network(&self) -> &Network {
        &self.network
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Lets `probe` tell the state of the sender of `flow`.
    pub(crate) fn probe(&mut self, flow: FlowId, probe: Probe) {
        self.bridge.world.recorder_mut().probe(flow, probe);
    }

    /// Until `ended` gives an exit code, the time is up or a signal that came `since` asks for an end; the exit code.
    pub(crate) fn run(
        &mut self,
        since: Signals,
        limit: Option<Duration>,
        ended: &mut dyn FnMut() -> Option<u8>,
    ) -> Result<u8, LiveError> {
        let mut buffer = vec![0; frame::FRAME_MAX];
        let mut check = Instant::ZERO;
        // At a terminal, the command has had the signal as well, and decides.
        let interactive = std::io::stdin().is_terminal();
        self.clock = WallClock::start();
        loop {
            let now = self.clock.now();
            if let Some(due) = self.bridge.next_event().filter(|due| *due <= now) {
                self.clock.lag.woke(now - due, self.slot);
            }
            self.bridge.run_until(now, &mut self.clock);
            let more = self.read(&mut buffer)?;
            self.write();
            let now = self.clock.now();
            if now >= check {
                check = now + CHECK_EVERY;
                let came = sys::signals();
                let interrupted = came.interrupts > since.interrupts && !interactive;
                let signalled = interrupted || came.terminations > since.terminations;
                let late = limit.is_some_and(|l| now >= Instant::ZERO + l);
                let code = ended()
                    .or_else(|| signalled.then(sys::signal_code))
                    .or_else(|| late.then_some(0));
                if let Some(code) = code {
                    self.meter.finish();
                    return Ok(code);
                }
                let counters = &mut self.bridge.world.recorder_mut().counters;
                self.meter.show(now, counters, &self.clock.lag);
            }
            if !more {
                let next = self.bridge.next_event().unwrap_or(Instant::MAX);
                self.sleep(next.min(check))?;
            }
        }
    }

    /// Takes what the devices have, a burst each; true where there may be more.
    fn read(&mut self, buffer: &mut [u8]) -> Result<bool, LiveError> {
        let gone = |e| LiveError::kernel("a TUN device is gone", e);
        let mut more = false;
        let plan = self.network.plan;
        let single = self.network.ues.len() == 1;
        for k in 0..BURST {
            let Some(n) = self.network.server.read(buffer).map_err(gone)? else {
                break;
            };
            more |= k + 1 == BURST;
            let now = self.clock.now();
            self.bridge.run_until(now, &mut self.clock);
            // With one UE everything is its own, emulators behind it included.
            let address = destination(&buffer[frame::HEADER..n]);
            let known = address.and_then(|a| plan.ue_at(a));
            let ue = if single { Some(0) } else { known };
            let ue = ue.filter(|u| (*u as usize) < self.network.ues.len());
            self.arrive(now, false, ue, &buffer[..n]);
        }
        for ue in 0..self.network.ues.len() {
            for k in 0..BURST {
                let Some(n) = self.network.ues[ue].read(buffer).map_err(gone)? else {
                    break;
                };
                more |= k + 1 == BURST;
                let now = self.clock.now();
                self.bridge.run_until(now, &mut self.clock);
                self.arrive(now, true, Some(ue as u32), &buffer[..n]);
            }
        }
        Ok(more)
    }

    fn arrive(&mut self, now: Instant, up: bool, ue: Option<u32>, frame: &[u8]) {
        let bridge = &mut self.bridge;
        let whole = match ue {
            Some(ue) => frame::packets(frame, |packet| {
                bridge.arrive(now, up, ue, packet);
            }),
            // Multicast of the server side's own kernel: no UE to go to, and nothing wrong with it.
            None => true,
        };
        if !whole {
            bridge.world.recorder_mut().counters.malformed += 1;
        }
    }

    /// Gives back to the kernel what left the world.
    fn write(&mut self) {
        let (network, refused) = (&mut self.network, &mut self.refused);
        let mut send =
            |(up, ue): Port, header: &[u8; frame::HEADER], bytes: &[u8], packets: u32| {
                let tun: &mut Tun = if up {
                    &mut network.server
                } else {
                    &mut network.ues[ue as usize]
                };
                if !tun.write(header, bytes) {
                    *refused += u64::from(packets);
                }
            };
        let merger = &mut self.merger;
        self.bridge.departures(|departure: Departure| {
            merger.push((departure.up, departure.ue), departure.bytes, &mut send);
        });
        merger.flush(&mut send);
        self.report();
    }

    /// Sends the reports that travel on their own.
    fn report(&mut self) {
        if self.bridge.reports.is_empty() {
            return;
        }
        let reports = core::mem::take(&mut self.bridge.reports);
        let flows = &self.bridge.flows;
        for (flow, body) in &reports {
            let own = matches!(body.report(), Some(PathReport::TransportBlocks { .. }));
            let ue = flows.ue_of(*flow);
            let (device, packet) = if own {
                // The modem tells of the UE, whatever its connections.
                let Some(port) = self.ports.blocks.filter(|_| flows.is_first(*flow)) else {
                    continue;
                };
                let packet = beside::to_ue(self.network.plan.ue(ue).into(), *body, port);
                (&mut self.network.ues[ue as usize], packet)
            } else {
                let (Some(port), Some(down)) = (self.ports.reports, flows.tuple(*flow)) else {
                    continue;
                };
                (
                    &mut self.network.server,
                    beside::to_sender(down, *body, port),
                )
            };
            self.reports += 1;
            self.refused += u64::from(!device.write(&[0; frame::HEADER], &packet));
        }
    }

    /// Until `next`, or until a frame or a signal comes.
    fn sleep(&self, next: Instant) -> Result<(), LiveError> {
        let left = next.since(self.clock.now());
        let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(left.as_nanos()));
        let wanted = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let devices = core::iter::once(&self.network.server).chain(&self.network.ues);
        let fds: Vec<BorrowedFd<'_>> = devices.map(Tun::fd).collect();
        let mut fds: Vec<PollFd<'_>> = fds.into_iter().map(wanted).collect();
        match ppoll(&mut fds, Some(timeout), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(e) => Err(LiveError::kernel("cannot wait for packets", e)),
        }
    }

    /// The result of the run, which ended at `end`.
    pub(crate) fn conclude(
        self,
        scenario: &Scenario,
        code: u8,
        realtime: bool,
        end: Instant,
    ) -> Outcome {
        let length = end - Instant::ZERO;
        let used = self.bridge.flows.used();
        let spins = self.bridge.flows.spins();
        let mut scenario = scenario.clone();
        scenario.duration = length.max(Duration::from_millis(1));
        let mut log = Vec::new();
        let mut counters = crate::bridge::Counters::default();
        let run = Prepared::resume(self.bridge.world, self.layout, self.rows);
        let mut result = run.conclude(&scenario, scenario.seed, |mut tap| {
            tap.inner.conclude(end, &used);
            log = tap.log.take().unwrap_or_default();
            counters = tap.counters;
            tap.inner
        });
        let kept = used.iter().map(|u| u.0.index());
        let layout = &mut result.layout;
        layout.ues = kept.clone().map(|f| layout.ues[f]).collect();
        layout.labels = used.iter().map(|u| u.1.clone()).collect();
        layout.up = result.records.config().flows.iter().map(|f| f.up).collect();
        layout.controllers = kept.map(|f| layout.controllers[f].clone()).collect();
        Outcome {
            health: Health {
                slots: length / self.slot,
                lag: self.clock.lag,
                realtime,
                malformed: counters.malformed,
                refused: self.refused,
                reports: self.reports,
                cpu: thread_time().saturating_sub(self.cpu),
                stolen: sys::stolen().saturating_sub(self.stolen),
            },
            result,
            code,
            log,
            length,
            spins,
        }
    }
}

/// The destination address of an IP packet.
fn destination(packet: &[u8]) -> Option<&[u8]> {
    match packet.first()? >> 4 {
        4 => packet.get(16..20),
        6 => packet.get(24..40),
        _ => None,
    }
}

/// CPU time of the calling thread.
fn thread_time() -> Duration {
    let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
    nix::time::clock_gettime(clock).map_or(Duration::ZERO, |t| {
        Duration::from_nanos(t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64)
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listener_that_was_there_before_is_not_the_servers() {
        let before = listeners();
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let now = listeners();
        assert!(!now.is_subset(&before));
        // With a baseline that knows it, nothing new listens; others may come and go meanwhile.
        let port = format!("{:04X}", server.local_addr().expect("bound").port());
        let table = std::fs::read_to_string("/proc/thread-self/net/tcp").expect("a table");
        let row = table
            .lines()
            .find(|l| l.contains(&format!(":{port} 00000000:0000 0A")));
        let inode = row
            .and_then(|r| r.split_whitespace().nth(9))
            .expect("a row");
        assert!(now.contains(inode) && !before.contains(inode));
    }
}
