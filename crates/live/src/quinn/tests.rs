mod http;
mod limits;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::str::FromStr as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use nix::sys::socket::getsockopt;
use slackwater_control::registry::Plugin;
use slackwater_control::{Ack, CongestionEvent, Controller, Intent, PathView};
use slackwater_core::{Bytes, Duration, Instant, Rate};
use slackwater_signal::{PathReport, ReportBody};
use slackwater_wire::report::{Datagram, FiveTuple, FlowKey};

use super::get::{self, Wanted};
use super::serve::{self, Listening, Served};
use super::*;
use crate::counted::Heard;

const LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A controller from outside: this window, or a rate.
#[derive(Clone, Debug)]
struct Own(Option<Bytes>);

impl Controller for Own {
    fn on_ack(&mut self, _now: Instant, _path: &PathView, _ack: &Ack) {}
    fn on_congestion(&mut self, _now: Instant, _path: &PathView, _event: &CongestionEvent) {}
    fn intent(&self) -> Intent {
        Intent {
            window: self.0,
            pacing: Some(Rate::from_mbps(10.0)),
            ..Intent::default()
        }
    }
    fn name(&self) -> &'static str {
        "own"
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

fn options(controller: &str) -> serve::Options {
    serve::Options {
        listen: LOCAL,
        root: None,
        controller: controller.to_owned(),
        controllers: Registry::new(),
        reports: None,
        key: None,
        transfers: None,
        spin: true,
        ecn: None,
        limits: serve::Limits::default(),
        seed: 1,
    }
}

fn wants(server: SocketAddr, wanted: Wanted) -> get::Options {
    get::Options {
        server,
        wanted,
        fingerprint: None,
        relay: None,
        limit: None,
        spin: true,
    }
}

fn fetch(options: &get::Options) -> Result<get::Got, LiveError> {
    get::get(options, |_, _| {}, &AtomicBool::new(false))
}

/// A server in a thread; ends when told to.
struct Running {
    at: Listening,
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<(Vec<Served>, Heard)>,
}

impl Running {
    fn start(options: serve::Options) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn({
            let stop = Arc::clone(&stop);
            move || {
                let mut all = Vec::new();
                let started = |l: &Listening| tell.send(*l).expect("the test waits");
                let heard = serve::serve(&options, started, |s| all.push(s.clone()), &stop);
                (all, heard.expect("it serves"))
            }
        });
        Self {
            at: told.recv().expect("the server starts"),
            stop,
            thread,
        }
    }

    fn end(self) -> (Vec<Served>, Heard) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the server ends")
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("slackwater-quic-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_arrives_whole_under_every_kind_of_controller() {
    let folder = Folder::new("whole");
    let bytes: Vec<u8> = (0..400_017_u32)
        .map(|k| (k.wrapping_mul(k) >> 7) as u8)
        .collect();
    std::fs::write(folder.0.join("data"), &bytes).unwrap();
    for name in ["reno", "cubic", "bbr", "copa", "xrc", "tyrus"] {
        let server = Running::start(serve::Options {
            root: Some(folder.0.clone()),
            ..options(name)
        });
        let to = folder.0.join("copy");
        let wanted = Wanted::File {
            name: "data".to_owned(),
            to: Some(to.clone()),
        };
        let got = fetch(&get::Options {
            fingerprint: Some(server.at.fingerprint),
            ..wants(server.at.address, wanted)
        });
        let got = got.expect(name);
        assert!(
            got.complete && got.bytes == bytes.len() as u64,
            "{name}: {got:?}"
        );
        assert!(std::fs::read(&to).unwrap() == bytes, "{name}");
        std::fs::remove_file(&to).unwrap();
        let (served, _) = server.end();
        assert_eq!(served.len(), 1, "{name}");
        let s = &served[0];
        assert!(
            s.complete && s.controller == name && s.bytes == got.bytes,
            "{s:?}"
        );
        assert!(
            s.acknowledged > s.bytes && s.window_bytes >= 2.0 * 1200.0,
            "{s:?}"
        );
    }
}

#[test]
fn what_cannot_be_had_is_said() {
    let folder = Folder::new("refused");
    std::fs::create_dir_all(folder.0.join("inner")).unwrap();
    std::fs::write(folder.0.join("secret"), b"x").unwrap();
    std::os::unix::fs::symlink(folder.0.join("secret"), folder.0.join("inner/link")).unwrap();
    // To open a pipe would block the server for everybody.
    let pipe = std::process::Command::new("mkfifo")
        .arg(folder.0.join("inner/pipe"))
        .status();
    assert!(pipe.is_ok_and(|s| s.success()), "mkfifo");
    let server = Running::start(serve::Options {
        root: Some(folder.0.join("inner")),
        ..options("cubic")
    });
    let file = |name: &str| {
        let wanted = Wanted::File {
            name: name.to_owned(),
            to: None,
        };
        fetch(&wants(server.at.address, wanted))
            .expect_err(name)
            .to_string()
    };
    for name in ["none", "", "../secret", "/etc/passwd", "link", ".", "pipe"] {
        assert!(file(name).contains("no file"), "{name}: {}", file(name));
    }
    let other = "00".repeat(32).parse().unwrap();
    let wrong = fetch(&get::Options {
        fingerprint: Some(other),
        ..wants(server.at.address, Wanted::Zeros(1))
    });
    assert!(
        wrong
            .expect_err("another server")
            .to_string()
            .contains("certificate")
    );
    server.end();
    assert!(Fingerprint::from_str("12").is_err());
    let mut known = Registry::new();
    for (name, window) in [("own", Some(Bytes(14_520))), ("paced", None)] {
        let plugin = Plugin::new(name, "", move |_| Own(window));
        known.add(plugin).expect("a free name");
    }
    assert!(check_controller(&known, "own", None).is_ok());
    for asked in [None, Some(EcnMode::L4s), Some(EcnMode::Off)] {
        assert!(check_controller(&known, "prague", asked).is_ok());
    }
    for (name, asked, words) in [
        ("cubik", None, "cubik"),
        ("prague", Some(EcnMode::Classic), "expected l4s or off"),
        ("cubic", Some(EcnMode::L4s), "in proportion"),
        ("gcc", None, "media"),
        ("paced", None, "a rate alone"),
    ] {
        let e = check_controller(&known, name, asked)
            .expect_err(name)
            .to_string();
        assert!(e.contains(words), "{e}");
    }
    let none = serve::Options {
        root: Some(folder.0.join("none")),
        ..options("cubic")
    };
    let stop = AtomicBool::new(true);
    assert!(serve::serve(&none, |_| {}, |_| {}, &stop).is_err());
}

/// What the client's socket saw is what the client's quinn counted and the server read from its acknowledgments.
#[test]
fn packets_carry_the_mark_that_was_wanted_and_are_counted() {
    for (name, asked, ect0, ect1) in [
        ("prague", None, false, true),
        ("prague", Some(EcnMode::Off), false, false),
        ("cubic", None, true, false),
    ] {
        let server = Running::start(serve::Options {
            ecn: asked,
            ..options(name)
        });
        let got = fetch(&wants(server.at.address, Wanted::Zeros(2_000_000))).expect(name);
        let (served, _) = server.end();
        assert!(got.complete, "{name}: {got:?}");
        assert_eq!(
            (got.ect0 > 1_000, got.ect1 > 1_000),
            (ect0, ect1),
            "{got:?}"
        );
        let s = &served[0];
        assert_eq!((s.ect0 > 1_000, s.ect1 > 1_000), (ect0, ect1), "{s:?}");
        assert!(s.ect1 <= got.ect1 && s.ce == 0, "{s:?} {got:?}");
    }
}

fn share(mbps: f64) -> ReportBody {
    let report = PathReport::Share {
        rate: Rate::from_mbps(mbps),
        hol_delay: Duration::from_millis(1),
        seq: 1,
        shared: false,
    };
    ReportBody::of(&report).expect("it has a form")
}

/// Reports reach the controller from both sides; garbage and a flood of reports do no harm.
#[test]
fn reports_come_in_beside_and_inside_and_a_flood_is_survived() {
    let server = Running::start(serve::Options {
        reports: Some(LOCAL),
        ..options("xrc")
    });
    let reports = server.at.reports.expect("it hears reports");
    let relay = UdpSocket::bind(LOCAL).unwrap().local_addr().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let flood = std::thread::spawn({
        let (over, client) = (Arc::clone(&over), server.at.address.ip());
        move || {
            let socket = UdpSocket::bind(LOCAL).unwrap();
            let mut datagram = Vec::new();
            let mut k: u16 = 0;
            while !over.load(Ordering::Relaxed) {
                // Some port of these is the client's.
                k = k.wrapping_add(1);
                let flow = FlowKey::FiveTuple(FiveTuple {
                    source: client,
                    destination: client,
                    source_port: 4433,
                    destination_port: k,
                    protocol: 17,
                });
                datagram.clear();
                Datagram {
                    flow,
                    body: share(100.0),
                }
                .encode(&mut datagram);
                // A full socket is the point.
                let _ = socket.send_to(&datagram, reports);
                let _ = socket.send_to(&datagram[..usize::from(k) % datagram.len()], reports);
                if k.is_multiple_of(64) {
                    let _ = socket.send_to(&share(100.0).0, relay);
                    let _ = socket.send_to(b"nothing at all", relay);
                }
            }
        }
    });
    let got = fetch(&get::Options {
        relay: Some(relay),
        ..wants(server.at.address, Wanted::Zeros(4_000_000))
    });
    over.store(true, Ordering::Relaxed);
    flood.join().unwrap();
    let got = got.expect("the transfer goes on");
    let (served, heard) = server.end();
    assert!(got.complete && got.relayed > 0, "{got:?}");
    assert!(heard.malformed > 0 && heard.strangers > 0, "{heard:?}");
    assert!(
        served[0].reports_inside > 0 && heard.told >= served[0].reports_beside,
        "{served:?} {heard:?}"
    );
}

#[test]
fn a_client_that_goes_is_no_trouble_and_time_ends_a_transfer() {
    let server = Running::start(options("cubic"));
    let got = fetch(&get::Options {
        limit: Some(Wall::from_millis(400)),
        ..wants(server.at.address, Wanted::Zeros(u64::MAX >> 4))
    });
    let got = got.expect("some came");
    // Zeros without end: only time can have ended it.
    assert!(!got.complete && got.bytes > 0, "{got:?}");
    let again = fetch(&wants(server.at.address, Wanted::Zeros(1000))).expect("it still serves");
    assert!(again.complete);
    let (served, _) = server.end();
    assert!(
        served.iter().any(|s| !s.complete) && served.iter().any(|s| s.complete),
        "{served:?}"
    );
}

#[test]
fn a_body_is_taken_plain_or_from_a_datagram() {
    let blocks = PathReport::TransportBlocks {
        bytes: Bytes(77),
        span: Duration::from_millis(10),
        end: 3,
    };
    let body = ReportBody::of(&blocks).expect("it has a form");
    assert_eq!(get::body(&body.0), Some(body));
    let flow = FlowKey::FiveTuple(FiveTuple {
        source: Ipv4Addr::LOCALHOST.into(),
        destination: Ipv4Addr::LOCALHOST.into(),
        source_port: 1,
        destination_port: 2,
        protocol: 17,
    });
    let mut datagram = Vec::new();
    Datagram { flow, body }.encode(&mut datagram);
    assert_eq!(get::body(&datagram), Some(body));
    assert_eq!(get::body(&[0; 8]), None);
    assert_eq!(get::body(b"SWXR"), None);
}

/// Linux counts twice what was set, and bounds it where the process has no rights (socket(7)).
#[test]
fn a_socket_has_room_for_bursts() {
    let socket = super::bind(LOCAL).unwrap();
    let room = getsockopt(&socket, RcvBuf).unwrap();
    let most = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap();
    let most = most.trim().parse::<usize>().unwrap();
    assert!(room >= 2 * SOCKET_BUFFER.min(most), "{room}");
}
