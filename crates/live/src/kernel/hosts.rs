//! The sockets at both ends of a flow, each served by a thread.

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
use slackwater_control::registry::base;
use slackwater_core::record::FlowSample;
use slackwater_core::{Bytes, Duration, Rate};

use super::tasks::Task;
use crate::LiveError;
use crate::emulate::plan::Plan;
use crate::emulate::{Drive, PRIORITY};
use crate::sys;

/// The first thing that went wrong in a thread.
pub(super) type Failure = Arc<Mutex<Option<String>>>;

pub(super) fn fail(failure: &Failure, what: String) {
    if let Ok(mut first) = failure.lock() {
        first.get_or_insert(what);
    }
}

/// Starts the receiver and the sender of `task`, each on the side of the path that it belongs to.
pub(super) fn start(
    task: Task,
    plan: Plan,
    drive: &Drive,
    socket: &Arc<OnceLock<TcpStream>>,
    over: &Arc<AtomicBool>,
    failure: &Failure,
) -> Result<[JoinHandle<()>; 2], LiveError> {
    let space = drive.space(task.ue).share()?;
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
pub(crate) const HOST_PRIORITY: i32 = PRIORITY / 2;
/// How long a call into a socket may block before a thread looks up.
pub(crate) const PATIENCE: Wall = Wall::from_millis(100);

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

pub(crate) fn waits(error: &io::Error) -> bool {
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
    // The kernel knows no parameters.
    let made = open(base(&task.controller), address)?;
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
pub(crate) fn open(controller: &str, address: SocketAddrV4) -> Result<TcpStream, LiveError> {
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
pub(crate) fn sample(stream: &TcpStream) -> io::Result<FlowSample> {
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
