//! `ebb` in the kernel's TCP, on the loopback of a namespace of its own: needs root, BTF and a build with the feature `bpf`; skips with a
//! reason elsewhere.
#![cfg(feature = "bpf")]

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{getsockopt, sockopt};
use slackwater_live::bpf::{EbbCounts, LoadedEbb, Scope, report_sockets};
use slackwater_live::counted::CounterReport;
use slackwater_signal::Counters;
use slackwater_wire::report::{FiveTuple, FlowKey};

const HERE: &str = "/proc/thread-self/ns/net";
/// Far more than any of it takes; a machine that is busy may be slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// Units of a stamp in a second.
const STAMPS: f64 = 8_000.0;

/// A namespace of this thread, whose loopback is up. `None` where it cannot be had.
fn own_namespace() -> Option<()> {
    let root = nix::unistd::geteuid().is_root();
    let btf = Path::new("/sys/kernel/btf/vmlinux").exists();
    if !root || !btf {
        eprintln!("skipped: needs root (is: {root}) and the kernel's BTF (there: {btf})");
        return None;
    }
    unshare(CloneFlags::CLONE_NEWNET).expect("root may make a namespace");
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .status();
    if !up.is_ok_and(|s| s.success()) {
        eprintln!("skipped: no ip command");
        return None;
    }
    Some(())
}

/// Waits until `holds`, and panics with what was counted last where it never does.
fn until(loaded: &LoadedEbb, holds: impl Fn(&EbbCounts) -> bool) -> EbbCounts {
    let begun = Instant::now();
    loop {
        let counts = loaded.counts();
        if holds(&counts) {
            return counts;
        }
        assert!(begun.elapsed() < PATIENCE, "{counts:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A base station that offers 80 Mbit/s beyond what is taken, and for which what the receiver has read is gone. One that offered less than
/// what CUBIC has on a loopback would be found to lie, and not be believed. Its clock and its sums go on while it is silent.
fn report(begun: Instant, flow: FiveTuple, to: SocketAddr, gone: &AtomicU64, over: &AtomicBool) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    while !over.load(Ordering::Relaxed) {
        let seconds = begun.elapsed().as_secs_f64();
        let gone = gone.load(Ordering::Relaxed);
        let counters = Counters {
            stamp: (seconds * STAMPS) as u32,
            gone: gone as u32,
            offered: (gone + (seconds * 10e6) as u64) as u32,
            active: 1,
            instance: 4,
            ..Counters::default()
        };
        let octets = CounterReport::seal(FlowKey::FiveTuple(flow), counters.encode(), None);
        socket.send_to(&octets, to).expect("it is sent");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A download under `ebb` on the loopback.
struct Download {
    begun: Instant,
    flow: FiveTuple,
    /// Payload bytes that the receiver has read.
    gone: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    threads: [JoinHandle<()>; 2],
}

/// A base station of a thread, which falls silent when it is told to.
struct Agent {
    quiet: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Agent {
    fn end(self) {
        self.quiet.store(true, Ordering::Relaxed);
        self.thread.join().expect("it ends");
    }
}

impl Download {
    /// Begins one at `address`, and waits until `loaded` has seen both ends.
    fn begin(loaded: &LoadedEbb, address: IpAddr) -> Self {
        let listener = TcpListener::bind((address, 0)).expect("a socket");
        let server = listener.local_addr().expect("an address");
        let before = loaded.counts().connections;
        let mut sender = TcpStream::connect(server).expect("it connects");
        let (mut receiver, client) = listener.accept().expect("it connects");
        let name = getsockopt(&sender, sockopt::TcpCongestion).expect("an option");
        assert_eq!(name.to_string_lossy().trim_end_matches('\0'), "ebb");
        until(loaded, |c| c.connections == before + 2);

        let gone = Arc::new(AtomicU64::new(0));
        let over = Arc::new(AtomicBool::new(false));
        let read = std::thread::spawn({
            let gone = Arc::clone(&gone);
            move || {
                let mut buffer = vec![0; 1 << 16];
                while let Ok(n) = receiver.read(&mut buffer) {
                    if n == 0 {
                        break;
                    }
                    gone.fetch_add(n as u64, Ordering::Relaxed);
                }
            }
        });
        let write = std::thread::spawn({
            let over = Arc::clone(&over);
            move || {
                let piece = vec![0; 1 << 16];
                while !over.load(Ordering::Relaxed) {
                    sender.write_all(&piece).expect("the receiver reads");
                }
            }
        });
        let flow = FiveTuple {
            source: client.ip(),
            destination: server.ip(),
            source_port: client.port(),
            destination_port: server.port(),
            protocol: 6,
        };
        Self {
            begun: Instant::now(),
            flow,
            gone,
            over,
            threads: [write, read],
        }
    }

    /// A base station that reports of it to `reports`.
    fn agent(&self, reports: SocketAddr) -> Agent {
        let quiet = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (gone, quiet) = (Arc::clone(&self.gone), Arc::clone(&quiet));
            let (begun, flow) = (self.begun, self.flow);
            move || report(begun, flow, reports, &gone, &quiet)
        });
        Agent { quiet, thread }
    }

    fn end(self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("it ends");
        }
    }
}

/// One test, since the name `ebb` is the whole kernel's.
#[test]
fn reports_steer_the_kernels_sender_and_cubic_has_it_without_them() {
    if own_namespace().is_none() {
        return;
    }
    let sockets = report_sockets(&[(Ipv4Addr::LOCALHOST, 0).into()], None).expect("a socket");
    let reports = sockets[0].local_addr().expect("an address");
    let load = || LoadedEbb::new(&Scope::Netns(HERE.into()), "ebb", Vec::new(), None, None);
    let wrong = LoadedEbb::new(&Scope::Netns(HERE.into()), "cubic", Vec::new(), None, None);
    assert!(wrong.is_err());
    let mut loaded = LoadedEbb::new(&Scope::Netns(HERE.into()), "ebb", sockets, None, None)
        .expect("the kernel takes the programs");
    // A second loader finds the name taken.
    assert!(load().is_err());

    let download = Download::begin(&loaded, Ipv4Addr::LOCALHOST.into());
    // Without reports it is CUBIC.
    let counts = until(&loaded, |c| c.cubic_acks > 100);
    assert_eq!((counts.radio_acks, counts.taken_over), (0, 0), "{counts:?}");

    let agent = download.agent(reports);
    let counts = until(&loaded, |c| c.radio_acks > 100);
    assert!(
        counts.heard.told > 2 && counts.heard.malformed == 0,
        "{counts:?}"
    );

    // Silence: the process gives it back, and its order is fresh.
    agent.end();
    let before = loaded.counts();
    let counts = until(&loaded, |c| {
        c.taken_over > 0 && c.cubic_acks > before.cubic_acks + 100
    });
    assert_eq!(counts.lost, 0, "{counts:?}");

    // Over IPv6, where the machine has it, while the other has no reports.
    let v6 = IpAddr::from(Ipv6Addr::LOCALHOST);
    if TcpListener::bind((v6, 0)).is_ok() {
        let beside = Download::begin(&loaded, v6);
        let before = loaded.counts();
        let agent = beside.agent(reports);
        let counts = until(&loaded, |c| c.radio_acks > before.radio_acks + 100);
        assert_eq!((counts.heard.strangers, counts.lost), (0, 0), "{counts:?}");
        agent.end();
        beside.end();
    } else {
        eprintln!("skipped: a connection over IPv6, which this machine does not have");
    }

    // A process that stands still: the kernel gives it back by itself.
    let steered = loaded.counts().radio_acks;
    let agent = download.agent(reports);
    let counts = until(&loaded, |c| c.radio_acks > steered + 100);
    loaded.stop();
    let cubic = counts.cubic_acks;
    let counts = until(&loaded, |c| c.cubic_acks > cubic + 100);
    assert!(counts.stale >= 1, "{counts:?}");
    agent.end();

    // The connection outlives the loader.
    drop(loaded);
    let had = download.gone.load(Ordering::Relaxed);
    let begun = Instant::now();
    while download.gone.load(Ordering::Relaxed) < had + 50_000_000 {
        assert!(begun.elapsed() < PATIENCE, "the connection stands");
        std::thread::sleep(Duration::from_millis(5));
    }
    download.end();
}
