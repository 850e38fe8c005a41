//! N4 with a session management function that is not ours: go-pfcp sets up, changes and ends a session over a socket.
//!
//! The peer needs Go and its module (go-pfcp v0.0.24, MIT); without them the test says so and passes.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use slackwater_core::{Bytes, Direction, Duration, Instant};
use slackwater_upf::n4::{Config, Event, LocalEnd, Node};
use slackwater_upf::rules::{Action, Interface};
use slackwater_upf::sessions::{Change, Sessions};
use slackwater_upf::usage::Usage;

/// `go` in the path, or where its installer puts it.
fn go() -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        Command::new(path)
            .arg("version")
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    ["go", "/usr/local/go/bin/go"]
        .map(PathBuf::from)
        .into_iter()
        .find(runs)
}

/// The peer, built; or why there is none.
fn build() -> Result<PathBuf, &'static str> {
    let go = go().ok_or("there is no Go")?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/n4_peer/smf");
    let run = |arguments: &[&str]| {
        Command::new(&go)
            .args(arguments)
            .current_dir(&source)
            .status()
            .is_ok_and(|s| s.success())
    };
    if !run(&["mod", "download"]) {
        return Err("Go cannot get the module");
    }
    let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join("n4-smf");
    let path = binary.to_str().expect("a path in UTF-8");
    assert!(run(&["build", "-o", path, "."]), "the peer does not build");
    Ok(binary)
}

/// The function's side: a node on a socket, and a user plane that passes three packets.
struct Host {
    node: Node,
    sessions: Sessions,
    usage: Usage,
    socket: UdpSocket,
    origin: std::time::Instant,
    changes: Vec<Change>,
    told: bool,
    passed: bool,
}

impl Host {
    #[expect(
        clippy::disallowed_methods,
        reason = "a process at the other end of a socket"
    )]
    fn new() -> Self {
        let here = LocalEnd {
            interface: Interface::Access,
            network: None,
            v4: Some(Ipv4Addr::new(192, 0, 2, 1)),
            v6: None,
        };
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        let short = std::time::Duration::from_millis(20);
        socket.set_read_timeout(Some(short)).expect("a timeout");
        Self {
            node: Node::new(Config {
                ends: vec![here],
                peer_port: None,
                heartbeat: Some(Duration::from_millis(300)),
                ..Config::default()
            }),
            sessions: Sessions::default(),
            usage: Usage::default(),
            socket,
            origin: std::time::Instant::now(),
            changes: Vec::new(),
            told: false,
            passed: false,
        }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + Duration::from_nanos(self.origin.elapsed().as_nanos() as u64)
    }

    /// One datagram or none, then timers, the user plane's part, and what leaves.
    fn turn(&mut self) {
        let mut buffer = [0; 2_048];
        match self.socket.recv_from(&mut buffer) {
            Ok((n, from)) => {
                let now = self.now();
                let Self {
                    node,
                    sessions,
                    usage,
                    ..
                } = self;
                node.on_message(now, from, &buffer[..n], sessions, usage);
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(e) => panic!("{e}"),
        }
        self.pass();
        let now = self.now();
        if self
            .node
            .next_timer(&self.usage)
            .is_some_and(|at| at <= now)
        {
            self.node.on_timer(now, &mut self.sessions, &mut self.usage);
        }
        while let Some((to, octets)) = self.node.poll_transmit() {
            self.socket.send_to(&octets, to).expect("sent");
        }
        self.changes.extend(self.sessions.take_changes());
    }

    /// A downlink packet while there is no gNB, then three of 1,000 octets.
    fn pass(&mut self) {
        let now = self.now();
        let Some(session) = self.sessions.iter().next() else {
            return;
        };
        let seid = session.seid;
        let far = session.rules.far(2).expect("as ordered");
        match far.action {
            Action::Buffer { notify } if !self.told => {
                assert!(notify && far.bar == Some(1));
                let filter = &session.rules.pdrs[0].filters[0];
                let flow = filter.flow.as_ref().expect("a description");
                assert_eq!((flow.protocol, flow.ue.assigned), (Some(17), true));
                assert_eq!(flow.remote.ports, [(5_000, 5_010)]);
                self.node.on_downlink_data(now, seid, 2, &self.sessions);
                self.told = true;
            }
            Action::Forward if !self.passed => {
                let outer = far.outer.expect("the gNB");
                assert_eq!((outer.teid.0, outer.address), (0xb, [192, 0, 2, 33].into()));
                for _ in 0..3 {
                    let bytes = Bytes(1_000);
                    let down = Direction::Down;
                    assert!(self.usage.on_packet(now, seid, &[1], down, bytes));
                }
                self.passed = true;
            }
            _ => {}
        }
    }
}

fn ended(child: &mut Child) -> Option<bool> {
    let status = child.try_wait().expect("a child");
    status.map(|s| s.success())
}

#[test]
fn go_pfcp_orders_a_session() {
    let peer = match build() {
        Ok(peer) => peer,
        Err(why) => {
            eprintln!("skipped: {why}");
            return;
        }
    };
    let mut host = Host::new();
    let at: SocketAddr = host.socket.local_addr().expect("bound");
    let mut child = Command::new(peer)
        .arg(at.to_string())
        .spawn()
        .expect("it was built");
    let success = loop {
        host.turn();
        if let Some(success) = ended(&mut child) {
            break success;
        }
        if host.origin.elapsed().as_secs() > 30 {
            child.kill().expect("it runs");
            panic!("the peer does not come to an end");
        }
    };
    assert!(success, "the peer says what it missed");
    assert!(host.told && host.passed);
    assert!(host.sessions.is_empty() && host.node.associations().next().is_none());
    let events: Vec<Event> = std::iter::from_fn(|| host.node.poll_event()).collect();
    assert!(
        matches!(
            events[..],
            [
                Event::Associated(_),
                Event::Released(_, 0),
                Event::Associated(_),
                Event::Restarted(_, 1),
                Event::Associated(_),
                Event::Released(_, 1),
            ]
        ),
        "{events:?}"
    );
    let counters = host.node.counters();
    assert_eq!((counters.repeated, counters.malformed), (1, 0));
    assert_eq!(counters.answered[&65], 1, "{counters:?}");
    let gone = host.changes.iter().filter(|c| matches!(c, Change::Gone(_)));
    assert_eq!(gone.count(), 3);
}
