//! A scenario with the kernel's own TCP senders in place of simulated ones.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration as Wall;

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket, sockopt,
};
use slackwater_core::record::FlowSample;
use slackwater_core::{Bytes, Duration, FlowId, Instant, Rate};
use slackwater_lab::run;
use slackwater_scenario::Scenario;
use slackwater_scenario::build::Hosts;
use slackwater_scenario::flow::{App, Tcp, TcpEcn, Way};

use crate::LiveError;
use crate::bridge::Tap;
use crate::emulate::{Drive, Outcome};
use crate::flows::FlowTable;
use crate::netns;
use crate::setup::{MAX_UES, Network};
use crate::sys;

/// The receivers' ports: this one and up, by flow.
const PORT: u16 = 5300;
/// Controllers that the kernel has, by our names.
const CONTROLLERS: [&str; 3] = ["reno", "cubic", "bbr"];
/// The one that this program brings along, where it was built with BPF.
const XRC: &str = "xrc";

/// One flow of the scenario.
#[derive(Clone, Debug)]
struct Task {
    controller: String,
    ue: u32,
    up: bool,
    start: Duration,
    stop: Duration,
    port: u16,
}

fn tasks(scenario: &Scenario) -> Result<Vec<Task>, LiveError> {
    let flows = scenario.expanded_flows();
    if flows.len() > 1_000 {
        return Err(LiveError::Usage(format!(
            "found {} flows, expected at most 1000 of real sockets",
            flows.len()
        )));
    }
    let task = |(i, flow): (usize, &slackwater_scenario::FlowInstance<'_>)| {
        let wrong = |found: &str, expected: &str| {
            LiveError::Usage(format!(
                "flow \"{}\": found {found}, expected {expected} with kernel senders",
                flow.label
            ))
        };
        if !matches!(flow.spec.app, App::Bulk(_)) {
            return Err(wrong("another application", "app = { kind = \"bulk\" }"));
        }
        let name = flow.spec.controller.as_str();
        if name == XRC && cfg!(not(feature = "bpf")) {
            return Err(wrong(
                "\"xrc\" in a program without BPF",
                "one that was built with: cargo build --release -p slackwater-cli --features bpf; or \"reno\", \"cubic\", \"bbr\"",
            ));
        }
        if name != XRC && !CONTROLLERS.contains(&name) {
            return Err(wrong(
                &format!("{name:?}"),
                "\"reno\", \"cubic\", \"bbr\" or \"xrc\"",
            ));
        }
        if flow.rtt != scenario.path.rtt && flow.ue.is_none() {
            return Err(wrong("an RTT of its own", "that of [path]"));
        }
        if flow.spec.tcp != flows[0].spec.tcp {
            return Err(wrong(
                "tcp keys of its own",
                "those of the first flow: the kernel's settings are a namespace's",
            ));
        }
        Ok(Task {
            controller: name.to_owned(),
            ue: flow.ue.unwrap_or(0),
            up: flow.spec.direction == Way::Up,
            start: flow.start,
            stop: flow.stop,
            port: PORT + i as u16,
        })
    };
    flows.iter().enumerate().map(task).collect()
}

/// Sets the kernel's TCP in the calling thread's namespace as `tcp` has it, where there is a setting for it. All others,
/// the delayed ACK for one, are the kernel's own.
fn configure(tcp: &Tcp) -> Result<(), LiveError> {
    let ecn = match tcp.ecn {
        // ip-sysctl: asks for none, and grants it where it is asked for.
        TcpEcn::Off => 2,
        TcpEcn::Classic => 1,
        TcpEcn::Accurate => {
            return Err(LiveError::Usage(
                "found tcp.ecn = \"accurate\", expected \"off\" or \"classic\" with kernel senders"
                    .to_owned(),
            ));
        }
    };
    // Half of a receive buffer is window, as long as the kernel does not know how much memory a segment takes
    // (`tcp_adv_win_scale`); of what it holds, the sender's socket counts memory as well.
    let settings = [
        ("ecn", ecn.to_string()),
        ("sack", u8::from(tcp.sack).to_string()),
        ("timestamps", u8::from(tcp.timestamps).to_string()),
        ("rmem", format!("4096 131072 {}", tcp.recv_buffer.0 * 2)),
        ("wmem", format!("4096 16384 {}", tcp.send_buffer.0 * 2)),
        ("rto_min_us", tcp.min_rto.as_micros().to_string()),
    ];
    for (key, value) in settings {
        let path = format!("/proc/sys/net/ipv4/tcp_{key}");
        if !std::path::Path::new(&path).exists() {
            continue;
        }
        std::fs::write(&path, &value)
            .map_err(|e| LiveError::kernel(format!("cannot write {value} to {path}"), e))?;
    }
    Ok(())
}

/// The first thing that went wrong in a thread.
type Failure = Arc<Mutex<Option<String>>>;

fn fail(failure: &Failure, what: String) {
    if let Ok(mut first) = failure.lock() {
        first.get_or_insert(what);
    }
}

/// Runs `scenario` once, in namespaces of its own, with the kernel's senders and receivers. Every flow is bulk TCP under
/// reno, cubic, bbr, or xrc, which is loaded for the time of the run.
///
/// # Errors
/// Where a flow asks for what the kernel has not, or the kernel refuses.
pub fn run_live(scenario: &Scenario, meter: bool) -> Result<Outcome, LiveError> {
    let tasks = tasks(scenario)?;
    let ues = tasks.iter().map(|t| t.ue + 1).max().unwrap_or(1);
    if ues > MAX_UES {
        return Err(LiveError::Usage(format!(
            "found {ues} UEs, expected at most {MAX_UES}"
        )));
    }
    netns::isolate()?;
    let network = Network::new(ues, 1500, None)?;
    if let Some(flow) = scenario.flows.first() {
        configure(&flow.tcp)?;
        for space in &network.spaces {
            space.inside(|| configure(&flow.tcp))?;
        }
    }
    #[cfg(feature = "bpf")]
    let xrc = tasks
        .iter()
        .any(|t| t.controller == XRC)
        .then(load_xrc)
        .transpose()?;
    let since = sys::signals();
    sys::count_signals().map_err(|e| LiveError::kernel("cannot take signals", e))?;
    let mut table = FlowTable::fixed(tasks.iter().map(|t| t.ue));
    let labels = scenario.expanded_flows().into_iter().map(|f| f.label);
    for (i, (task, label)) in tasks.iter().zip(labels).enumerate() {
        table.bind(task.port, FlowId(i as u32), &label, task.up);
    }
    let run = run::prepare(scenario, scenario.seed, Hosts::External, |recorder| {
        let interval = recorder.interval();
        Tap::new(recorder, interval, false)
    })?;
    let mut drive = Drive::new(network, run, table, 1500, meter, &scenario.name);
    let over = Arc::new(AtomicBool::new(false));
    let failure = Failure::default();
    let mut threads = Vec::new();
    for (i, task) in tasks.into_iter().enumerate() {
        let socket = Arc::new(OnceLock::<TcpStream>::new());
        let probe = Arc::clone(&socket);
        #[cfg(feature = "bpf")]
        let senders = match &xrc {
            Some(loaded) if task.controller == XRC => Some(loaded.senders()?),
            _ => None,
        };
        drive.probe(
            FlowId(i as u32),
            Box::new(move |out| {
                let stream = probe.get()?;
                #[cfg(feature = "bpf")]
                if let Some(senders) = &senders {
                    senders.internals(stream.as_fd(), out);
                }
                #[cfg(not(feature = "bpf"))]
                out.clear();
                sample(stream).ok()
            }),
        );
        threads.extend(start(task, &drive, &socket, &over, &failure)?);
    }
    let realtime = sys::realtime(crate::emulate::PRIORITY).is_ok();
    let end = Instant::ZERO + scenario.duration;
    let code = drive.run(since, Some(scenario.duration), &mut || {
        let failed = failure.lock().is_ok_and(|f| f.is_some());
        // No command is there that would end by itself.
        let signalled = sys::signals() != since;
        signalled
            .then(sys::signal_code)
            .or_else(|| failed.then_some(1))
    })?;
    sys::ordinary();
    over.store(true, Ordering::Relaxed);
    let ended = drive.now();
    // Threads that wait for packets see their sockets end with the devices.
    let outcome = drive.conclude(scenario, code, realtime, end.min(ended));
    for thread in threads {
        // One that panicked has left its message.
        let _ignored = thread.join();
    }
    let failed = failure.lock().ok().and_then(|mut f| f.take());
    match failed {
        Some(what) => Err(LiveError::Usage(what)),
        None if code > 128 => Err(LiveError::Interrupted { code }),
        None => Ok(outcome),
    }
}

/// XRC for connections of this namespace that choose it; gone with what is returned.
#[cfg(feature = "bpf")]
fn load_xrc() -> Result<crate::bpf::Loaded, LiveError> {
    use crate::bpf::{Loaded, Profile, Scope};
    let here = Scope::Chosen("/proc/thread-self/ns/net".into());
    Loaded::new(&here, Profile::Default)
}

/// Starts the receiver and the sender of `task`, each on the side of the path that it belongs to.
fn start(
    task: Task,
    drive: &Drive,
    socket: &Arc<OnceLock<TcpStream>>,
    over: &Arc<AtomicBool>,
    failure: &Failure,
) -> Result<[JoinHandle<()>; 2], LiveError> {
    let plan = drive.network().plan;
    let space = drive.network().spaces[task.ue as usize].share()?;
    let host = if task.up {
        plan.server()
    } else {
        plan.ue(task.ue)
    };
    let address = SocketAddrV4::new(host, task.port);
    let listen = || {
        TcpListener::bind(address)
            .map_err(|e| LiveError::kernel(format!("cannot listen at {address}"), e))
    };
    let listener = if task.up {
        listen()?
    } else {
        space.inside(listen)?
    };
    let (stop, socket, failed) = (Arc::clone(over), Arc::clone(socket), Arc::clone(failure));
    let receiver = std::thread::spawn({
        let over = Arc::clone(over);
        move || {
            let _ignored = sys::realtime(HOST_PRIORITY);
            receive(&listener, &over);
        }
    });
    let begun = std::time::Instant::now();
    let sender = std::thread::spawn(move || {
        let _ignored = sys::realtime(HOST_PRIORITY);
        let send = || send(&task, address, begun, &socket, &stop);
        let done = if task.up { space.inside(send) } else { send() };
        if let Err(e) = done {
            fail(&failed, format!("flow to {address}: {e}"));
        }
    });
    Ok([receiver, sender])
}

/// Real-time priority of the hosts: a machine that is busy must not make a sender or a receiver slow. Below the emulator's.
const HOST_PRIORITY: i32 = crate::emulate::PRIORITY / 2;
/// How long a call into a socket may block before a thread looks up.
const PATIENCE: Wall = Wall::from_millis(100);

fn receive(listener: &TcpListener, over: &AtomicBool) {
    let mut buffer = vec![0; 1 << 18];
    let mut stream = None;
    // Polling keeps the end of a run from waiting for a connection that never comes.
    let _ignored = listener.set_nonblocking(true);
    while !over.load(Ordering::Relaxed) {
        match &mut stream {
            None => match listener.accept() {
                Ok((new, _)) => {
                    let _ignored = new.set_nonblocking(false);
                    let _ignored = new.set_read_timeout(Some(PATIENCE));
                    stream = Some(new);
                }
                Err(_) => std::thread::sleep(Wall::from_millis(2)),
            },
            Some(stream) => match stream.read(&mut buffer) {
                Ok(0) => return,
                Ok(_) => {}
                Err(e) if waits(&e) => {}
                Err(_) => return,
            },
        }
    }
}

fn waits(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// Sends from the flow's start to its stop.
fn send(
    task: &Task,
    address: SocketAddrV4,
    begun: std::time::Instant,
    socket: &OnceLock<TcpStream>,
    over: &AtomicBool,
) -> Result<(), LiveError> {
    let wall = |d: Duration| Wall::from_nanos(d.as_nanos());
    std::thread::sleep(wall(task.start).saturating_sub(begun.elapsed()));
    let made = open(&task.controller, address)?;
    let stream = socket.get_or_init(|| made);
    let piece = vec![0; 1 << 16];
    while begun.elapsed() < wall(task.stop) && !over.load(Ordering::Relaxed) {
        match (&*stream).write(&piece) {
            Ok(_) => {}
            Err(e) if waits(&e) => {}
            // The other side is gone: the run is over.
            Err(_) => break,
        }
    }
    let _ignored = stream.shutdown(std::net::Shutdown::Write);
    Ok(())
}

/// A connection to `address` under `controller`.
fn open(controller: &str, address: SocketAddrV4) -> Result<TcpStream, LiveError> {
    let fd: OwnedFd = socket(
        AddressFamily::Inet,
        SockType::Stream,
        SockFlag::SOCK_CLOEXEC,
        None,
    )
    .map_err(|e| LiveError::kernel("cannot make a socket", e))?;
    setsockopt(&fd, sockopt::TcpCongestion, &controller.into()).map_err(|e| {
        LiveError::kernel(format!("cannot choose the controller \"{controller}\""), e)
            .hint("; see net.ipv4.tcp_available_congestion_control, or run as root")
    })?;
    connect(fd.as_raw_fd(), &SockaddrIn::from(address))
        .map_err(|e| LiveError::kernel(format!("cannot connect to {address}"), e))?;
    let stream = TcpStream::from(fd);
    stream
        .set_write_timeout(Some(PATIENCE))
        .map_err(|e| LiveError::kernel("cannot set a socket's timeout", e))?;
    Ok(stream)
}

/// The state of a sender, from `TCP_INFO` (`struct tcp_info` of linux/tcp.h).
fn sample(stream: &TcpStream) -> io::Result<FlowSample> {
    let info = sys::tcp_info(stream.as_fd())?;
    let word = |at: usize| {
        info.get(at..at + 4)
            .map_or(0, |w| u32::from_ne_bytes([w[0], w[1], w[2], w[3]]))
    };
    let long = |at: usize| {
        info.get(at..at + 8)
            .and_then(|w| w.try_into().ok())
            .map_or(0, u64::from_ne_bytes)
    };
    let mss = u64::from(word(16));
    let (unacked, sacked, lost, retrans) = (word(24), word(28), word(32), word(36));
    let pipe = (unacked + retrans).saturating_sub(sacked + lost);
    let micros = |at: usize| Duration::from_micros(u64::from(word(at)));
    let pacing = long(104);
    let mut s = FlowSample::default();
    s.cwnd = Bytes(u64::from(word(80)) * mss);
    // TCP_INFINITE_SSTHRESH: none yet.
    s.ssthresh = (word(76) < 0x7fff_ffff).then(|| Bytes(u64::from(word(76)) * mss));
    s.in_flight = Bytes(u64::from(pipe) * mss);
    s.srtt = micros(68);
    s.rtt = micros(68);
    s.min_rtt = micros(148);
    s.pacing =
        (pacing != 0 && pacing != u64::MAX).then(|| Rate::from_bps(pacing.saturating_mul(8)));
    s.acked = Bytes(long(120));
    s.retransmits = u64::from(word(100));
    Ok(s)
}
