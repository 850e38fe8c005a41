//! `ebb` in the kernel's TCP: loads `bpf/ebb.bpf.c`, and is the process that steers it.
//!
//! A thread wakes at each report: it reads what the ring has of the connections since the last one, gives the report to its sender, and
//! writes the order. Where this process ends, orders age and the kernel's CUBIC goes on from what is in flight.

use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant as Wall;

use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};
use libbpf_rs::{Link, MapCore as _, MapFlags, MapHandle, OpenObject, RingBufferBuilder};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::time::{ClockId, clock_gettime};
use slackwater_control::registry::build;
use slackwater_control::{AnyController, Config};
use slackwater_core::{Draw, Duration};

use super::{Scope, place, refused};
use crate::counted::{Budget, Heard, Key};
use crate::split::Connections;
use crate::{LiveError, sys};

#[expect(
    unsafe_code,
    clippy::pedantic,
    unreachable_pub,
    reason = "libbpf-cargo writes it"
)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/ebb.skel.rs"));
}

/// The thread wakes so often, ms, where no report does: orders are to be renewed.
const WAKES: u16 = 40;
/// Datagrams that are read from a socket between two turns of orders.
const TURN: usize = 1_000;
/// Longer than any report.
const REPORT: usize = 512;
/// A full segment, until the first sample has that of the connection.
const SEGMENT: u32 = 1_448;

/// What the programs and their process counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EbbCounts {
    /// Connections that were given `ebb`.
    pub connections: u64,
    /// ACKs that found the radio steering.
    pub radio_acks: u64,
    /// ACKs that found CUBIC.
    pub cubic_acks: u64,
    /// Times that CUBIC took over from the radio.
    pub taken_over: u64,
    /// Those of them where orders were too old.
    pub stale: u64,
    /// Samples for which there was no room.
    pub lost: u64,
    /// Reports.
    pub heard: Heard,
}

/// The loaded programs and their process's thread; both end when dropped.
pub struct LoadedEbb {
    // Links go before what they link.
    _links: [Link; 2],
    skel: skel::EbbSkel<'static>,
    connections: Arc<Mutex<Connections>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl core::fmt::Debug for LoadedEbb {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LoadedEbb")
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

/// Nanoseconds of `CLOCK_MONOTONIC`, which `bpf_ktime_get_ns` reads too.
fn monotonic() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |t| {
        let seconds = u64::try_from(t.tv_sec()).unwrap_or(0);
        seconds * 1_000_000_000 + u64::try_from(t.tv_nsec()).unwrap_or(0)
    })
}

fn locked(connections: &Mutex<Connections>) -> MutexGuard<'_, Connections> {
    connections.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LoadedEbb {
    /// Loads the sender `name` (`ebb`, with parameters or without) for `scope`. Reports come to `sockets`; where there is a `key`, those
    /// that it has signed. The thread has the real-time `priority`, where it may.
    ///
    /// # Errors
    /// Where the name is of another controller, the kernel refuses the programs, a congestion control `ebb` is there already, or the
    /// scope does not exist.
    pub fn new(
        scope: &Scope,
        name: &str,
        sockets: Vec<UdpSocket>,
        key: Option<Key>,
        priority: Option<i32>,
    ) -> Result<Self, LiveError> {
        let config = Config::new(SEGMENT, Draw::new(0));
        let sender = match build(name, &config) {
            Ok(AnyController::Ebb(sender)) => *sender,
            Ok(_) => {
                return Err(LiveError::Usage(format!("found {name:?}, expected ebb")));
            }
            Err(e) => return Err(LiveError::Usage(e.to_string())),
        };
        for socket in &sockets {
            let wrong = |e| LiveError::kernel("cannot read reports", e);
            socket.set_nonblocking(true).map_err(wrong)?;
        }
        let (cgroup, cookie) = place(scope)?;
        // The programs live as long as the process that loaded them.
        let object: &'static mut MaybeUninit<OpenObject> =
            Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open = skel::EbbSkelBuilder::default()
            .open(object)
            .map_err(refused("cannot read the programs"))?;
        let settings = open
            .maps
            .rodata_data
            .as_mut()
            .ok_or_else(|| LiveError::Usage("the programs have no settings".to_owned()))?;
        settings.netns = cookie;
        settings.chosen = u8::from(scope.is_chosen());
        let mut skel = open
            .load()
            .map_err(refused("the kernel does not take the programs"))?;

        // The thread reads before a connection can begin.
        let connections = Arc::new(Mutex::new(Connections::new(sender, key, monotonic())));
        let over = Arc::new(AtomicBool::new(false));
        let map = |map| MapHandle::try_from(map).map_err(refused("cannot open a map"));
        let (orders, events) = (map(&skel.maps.orders)?, map(&skel.maps.events)?);
        let thread = std::thread::spawn({
            let (connections, over) = (Arc::clone(&connections), Arc::clone(&over));
            move || {
                if let Some(priority) = priority {
                    let _ignored = sys::realtime(priority);
                }
                steer(&connections, &sockets, &orders, &events, &over);
            }
        });
        let loaded = |skel: &mut skel::EbbSkel<'static>| {
            let control = skel.maps.ebb.attach_struct_ops().map_err(refused(
                "the kernel does not take the congestion control `ebb` (one may be loaded already)",
            ))?;
            let sockops = skel
                .progs
                .ebb_connections
                .attach_cgroup(cgroup.as_raw_fd())
                .map_err(refused("the cgroup does not take the program"))?;
            Ok([control, sockops])
        };
        match loaded(&mut skel) {
            Ok(links) => Ok(Self {
                _links: links,
                skel,
                connections,
                over,
                thread: Some(thread),
            }),
            Err(e) => {
                over.store(true, Ordering::Relaxed);
                let _ended = thread.join();
                Err(e)
            }
        }
    }

    /// What was counted so far.
    pub fn counts(&self) -> EbbCounts {
        let heard = locked(&self.connections).heard;
        let Some(data) = self.skel.maps.bss_data.as_ref() else {
            return EbbCounts::default();
        };
        EbbCounts {
            connections: data.connections,
            radio_acks: data.radio_acks,
            cubic_acks: data.cubic_acks,
            taken_over: data.taken_over,
            stale: data.stale,
            lost: data.lost,
            heard,
        }
    }

    /// Steers no more. The programs stay loaded: connections go on under CUBIC once their orders are too old.
    pub fn stop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }

    /// The state of single senders.
    pub fn senders(&self) -> EbbSenders {
        EbbSenders(Arc::clone(&self.connections))
    }
}

impl Drop for LoadedEbb {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The state of single senders.
#[derive(Clone, Debug)]
pub struct EbbSenders(Arc<Mutex<Connections>>);

impl EbbSenders {
    /// Appends the internals of the sender behind `socket` under the names of `control::phy::ebb`'s snapshot; nothing where it is not
    /// under `ebb`.
    pub fn internals(&self, socket: BorrowedFd<'_>, out: &mut Vec<(&'static str, f64)>) {
        if let Ok(cookie) = sys::cookie(socket) {
            locked(&self.0).internals(cookie, out);
        }
    }
}

/// Sockets at `addresses` for reports, in the network namespace of the file `netns` or in this thread's.
///
/// # Errors
/// Where one cannot be had, or the namespace does not exist.
pub fn report_sockets(
    addresses: &[SocketAddr],
    netns: Option<&std::path::Path>,
) -> Result<Vec<UdpSocket>, LiveError> {
    let addresses = addresses.to_vec();
    let bind =
        move || -> io::Result<Vec<UdpSocket>> { addresses.iter().map(UdpSocket::bind).collect() };
    let sockets = match netns {
        Some(path) => super::inside(path, bind)?,
        None => bind(),
    };
    sockets.map_err(|e| LiveError::kernel("cannot listen for reports", e))
}

/// Moves samples and reports to the senders and orders to the kernel until `over`.
fn steer(
    connections: &Mutex<Connections>,
    sockets: &[UdpSocket],
    orders: &MapHandle,
    events: &MapHandle,
    over: &AtomicBool,
) {
    let mut ring = RingBufferBuilder::new();
    let added = ring.add(events, |octets| {
        if let Some(cookie) = locked(connections).on_event(octets) {
            // The kernel's half has most often been first.
            let _gone = orders.delete(&cookie.to_ne_bytes());
        }
        0
    });
    if added.is_err() {
        return;
    }
    let Ok(ring) = ring.build() else {
        return;
    };

    let mut budget = Budget::new(Wall::now());
    let mut buffer = [0; REPORT];
    let mut ready: Vec<PollFd<'_>> = sockets
        .iter()
        .map(|s| PollFd::new(s.as_fd(), PollFlags::POLLIN))
        .collect();
    while !over.load(Ordering::Relaxed) {
        let wait = {
            let connections = locked(connections);
            let now = connections.at(monotonic());
            let next = connections.next_timer().map(|at| at.since(now));
            next.unwrap_or(Duration::MAX)
        };
        let wait = u16::try_from(wait.as_millis().saturating_add(1)).unwrap_or(u16::MAX);
        // A signal ends the wait early, which does no harm.
        let _woken = poll(&mut ready, PollTimeout::from(wait.min(WAKES)));

        // What was sent before a report must be known when it is read.
        let _read = ring.consume();
        for socket in sockets {
            // A flood leaves time for orders.
            for _ in 0..TURN {
                let Ok(length) = socket.recv(&mut buffer) else {
                    break;
                };
                let mut connections = locked(connections);
                if budget.take_of(Wall::now(), connections.open()) {
                    let now = connections.at(monotonic());
                    connections.on_datagram(now, &buffer[..length]);
                } else {
                    connections.heard.flooded += 1;
                }
            }
        }
        locked(connections).orders(monotonic(), |cookie, order| {
            // A full map leaves the connection to CUBIC.
            let _written = orders.update(&cookie.to_ne_bytes(), order, MapFlags::ANY);
        });
    }
}
