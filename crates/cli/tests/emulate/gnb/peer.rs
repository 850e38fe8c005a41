//! A gNB under test, and a socket that plays its user plane function.

use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

use slackwater_lab::core::{Qfi, Teid};
use slackwater_lab::wire::checksum;
use slackwater_lab::wire::gtpu::extension::PDU_SESSION_CONTAINER;
use slackwater_lab::wire::gtpu::psc::{self, Container, Downlink, Uplink};
use slackwater_lab::wire::gtpu::{Header, Kind, Message};
use slackwater_live::emulate::netns::{self, Namespace};

use crate::signal::{Signal, send};
use crate::{Folder, command};

/// Longer than anything takes: a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// The gNB and its peer.
pub(crate) const GNB: &str = "127.0.0.2";
pub(crate) const UPF: &str = "127.0.0.1";

/// A namespace in which both have their addresses: ports of this machine may be somebody else's.
pub(crate) fn n3() -> Namespace {
    let space = Namespace::create().expect("a namespace");
    let up = space.inside(|| netns::ip("link set dev lo up\n", true));
    up.expect("its loopback interface");
    space
}

/// A running gNB; it goes with this value.
pub(super) struct Gnb {
    pub(super) child: Child,
    pub(super) said: BufReader<ChildStderr>,
}

impl Gnb {
    /// Starts one in `space` and waits until it says that N3 and its `ues` are there.
    pub(super) fn start(
        space: &Namespace,
        folder: &Folder,
        toml: &str,
        ues: usize,
        more: &[&str],
    ) -> Self {
        let file = folder.file("gnb.toml");
        std::fs::write(&file, toml).expect("it can be written");
        let (out, json) = (folder.file("run"), folder.file("live.json"));
        let mut words = vec!["gnb", &file, "--out", &out, "--json", &json, "--quiet"];
        words.extend(more);
        let mut command = command(&words);
        let started = space.inside(|| Ok(command.stderr(Stdio::piped()).spawn()));
        let mut child = started.expect("a namespace").expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut lines = String::new();
        while lines.lines().count() <= ues {
            let read = said.read_line(&mut lines).expect("a pipe");
            assert_ne!(read, 0, "{lines}");
        }
        assert!(lines.starts_with("N3 at "), "{lines}");
        Self { child, said }
    }

    /// Ends it as a terminal would; what it says came over N3.
    pub(super) fn stop(mut self, folder: &Folder) -> serde_json::Value {
        send(self.child.id(), Signal::SIGTERM);
        let code = self.child.wait().expect("it ends").code();
        let mut rest = String::new();
        while self.said.read_line(&mut rest).is_ok_and(|n| n > 0) {}
        assert_eq!(code, Some(143), "{rest}");
        folder.json("live.json")
    }
}

impl Drop for Gnb {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, and that is well.
        let _ignored = self.child.kill();
        let _ignored = self.child.wait();
    }
}

/// The user plane function.
pub(super) struct Upf {
    pub(super) socket: UdpSocket,
    pub(super) gnb: SocketAddr,
}

/// What came up.
#[derive(Debug)]
pub(super) struct Up {
    pub(super) kind: Kind,
    pub(super) teid: u32,
    pub(super) content: Option<Uplink>,
    pub(super) payload: Vec<u8>,
}

impl Upf {
    /// A socket at `own` in `space`.
    pub(super) fn new(space: &Namespace, own: SocketAddr, gnb: SocketAddr) -> Self {
        let socket = space.inside(|| Ok(UdpSocket::bind(own)));
        let socket = socket.expect("a namespace").expect("the address is free");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Self { socket, gnb }
    }

    pub(super) fn send(&self, header: &Header, content: Option<Downlink>, payload: &[u8]) {
        let mut octets = [0; psc::MAX];
        let n = content.map_or(0, |c| {
            Container::Downlink(c).write(&mut octets).expect("room")
        });
        let own = [(PDU_SESSION_CONTAINER, &octets[..n])];
        let extensions = if n > 0 { &own[..] } else { &[] };
        let mut out = vec![0; 100];
        let n = header
            .write(extensions, payload.len(), &mut out)
            .expect("room");
        out.truncate(n);
        out.extend_from_slice(payload);
        self.socket.send_to(&out, self.gnb).expect("it leaves");
    }

    pub(super) fn packet(&self, teid: u32, qfi: u8, payload: &[u8]) {
        let content = Downlink {
            qfi: Qfi(qfi),
            ..Downlink::default()
        };
        self.send(&Header::g_pdu(Teid(teid)), Some(content), payload);
    }

    /// The next datagram that is no echo request, and no group membership of the UE's kernel (RFC 3810).
    pub(super) fn receive(&self) -> Up {
        let mut buffer = [0; 2_000];
        loop {
            let (n, from) = self
                .socket
                .recv_from(&mut buffer)
                .expect("a datagram in time");
            assert_eq!(
                from, self.gnb,
                "G-PDUs and signals leave from the port of N3"
            );
            let up = read(&buffer[..n]);
            if up.kind != Kind::EchoRequest && up.payload.get(24) != Some(&0xff) {
                return up;
            }
        }
    }
}

pub(super) fn read(bytes: &[u8]) -> Up {
    let message = Message::parse(bytes).expect("GTP-U");
    let extension = message.extension(PDU_SESSION_CONTAINER);
    let content = extension.map(|e| match Container::parse(e.content).expect("whole") {
        Container::Uplink(up) => up,
        Container::Downlink(_) => panic!("a downlink container came up"),
    });
    Up {
        kind: message.header.kind,
        teid: message.header.teid.0,
        content,
        payload: message.payload().to_vec(),
    }
}

/// An echo request, which the kernel of the UE's namespace answers (RFC 792, RFC 4443).
pub(super) fn ping(from: IpAddr, to: IpAddr, seq: u16, size: usize) -> Vec<u8> {
    let v4 = from.is_ipv4();
    let mut icmp = vec![if v4 { 8 } else { 128 }, 0, 0, 0, 0x12, 0x34];
    icmp.extend(seq.to_be_bytes());
    icmp.extend((0..size).map(|k| k as u8));
    let mut packet = if v4 {
        let length = (20 + icmp.len()) as u16;
        let mut p = vec![0x45, 0];
        p.extend(length.to_be_bytes());
        p.extend([0, 0, 0, 0, 64, 1, 0, 0]);
        p
    } else {
        let mut p = vec![0x60, 0, 0, 0];
        p.extend((icmp.len() as u16).to_be_bytes());
        p.extend([58, 64]);
        p
    };
    for address in [from, to] {
        match address {
            IpAddr::V4(a) => packet.extend(a.octets()),
            IpAddr::V6(a) => packet.extend(a.octets()),
        }
    }
    if v4 {
        let sum = checksum::finish(checksum::sum(&packet));
        packet[10..12].copy_from_slice(&sum);
    }
    let pseudo = if v4 {
        0
    } else {
        checksum::sum(&packet[8..40]) + checksum::pseudo(58, icmp.len() as u32)
    };
    let sum = checksum::finish(pseudo + checksum::sum(&icmp));
    icmp[2..4].copy_from_slice(&sum);
    packet.extend(icmp);
    packet
}

pub(super) fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}
