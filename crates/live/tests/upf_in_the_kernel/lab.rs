//! A user plane function with a path in the kernel, in a network namespace of its own: its links, its neighbours, and their packets.

use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use slackwater_core::{Qfi, Teid};
use slackwater_live::packet::{FRONT, IPV4, PacketSocket};
use slackwater_live::upf::{Orders, Question, Server, UpfConfig};
use slackwater_upf::sessions::Seid;
use slackwater_upf::testing;
use slackwater_upf::user::{Counters, Traffic};
use slackwater_wire::checksum;
use slackwater_wire::pfcp::{
    Element, FTeid, Far, Forwarding, Kind, Message, OuterHeader, Qer, action, interface,
};

pub(super) const N4: Ipv4Addr = testing::HERE;
pub(super) const SMF: Ipv4Addr = testing::SMF_ADDRESS;
pub(super) const N3: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
pub(super) const GNB: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
pub(super) const ROUTER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
pub(super) const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
pub(super) const UE: Ipv4Addr = Ipv4Addr::new(10, 60, 0, 1);
/// The hardware addresses of the function's ends and of the others.
pub(super) const MACS: [[u8; 6]; 4] = [
    [2, 0, 0, 0, 6, 2],
    [2, 0, 0, 0, 6, 1],
    [2, 0, 0, 0, 3, 1],
    [2, 0, 0, 0, 3, 2],
];
/// The longest packet that N3 carries whole behind IPv4, UDP, GTP-U and a container.
pub(super) const MOST: usize = 1_500 - 44;

pub(super) fn can_run() -> bool {
    let root = nix::unistd::geteuid().is_root();
    let btf = Path::new("/sys/kernel/btf/vmlinux").exists();
    if !root || !btf {
        eprintln!("skipped: needs root (is: {root}) and the kernel's BTF (there: {btf})");
    }
    root && btf
}

pub(super) fn run(words: &str) {
    let mut all = words.split_whitespace();
    let done = Command::new(all.next().unwrap()).args(all).output();
    let done = done.expect("it starts");
    let wrong = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{words}: {wrong}");
}

/// What N6 is.
#[derive(Clone, Copy, Debug)]
pub(super) enum N6 {
    /// The interface.
    Port,
    /// A TUN device, and the interface is the kernel's.
    Tun,
}

/// Two pairs of veth in the namespace of this thread alone.
pub(super) fn links(n6: N6) {
    unshare(CloneFlags::CLONE_NEWNET).expect("root may");
    let mac = |k: usize| MACS[k].map(|o| format!("{o:02x}")).join(":");
    run("ip link set lo up");
    for (k, (here, there)) in [("n6", "dn"), ("n3", "ran")].into_iter().enumerate() {
        let (a, b) = (mac(2 * k), mac(2 * k + 1));
        run(&format!(
            "ip link add {here} address {a} type veth peer name {there} address {b}"
        ));
        for device in [here, there] {
            run(&format!("ip link set {device} up"));
        }
    }
    run(&format!("ip addr add {N4}/32 dev lo"));
    run(&format!("ip addr add {SMF}/32 dev lo"));
    run(&format!("ip addr add {N3}/24 dev n3"));
    run("ip addr add 198.18.0.2/24 dev n6");
    for (at, device, k) in [(GNB, "n3", 3), (ROUTER, "n6", 1)] {
        let mac = mac(k);
        run(&format!(
            "ip neigh replace {at} lladdr {mac} dev {device} nud permanent"
        ));
    }
    if let N6::Tun = n6 {
        run(&format!("ip route add {SERVER}/32 via {ROUTER}"));
        // Between the interface and the device, which has what is set for new ones. The far ends are in this namespace too, and keep
        // what comes.
        for name in ["n6", "default"] {
            let file = format!("/proc/sys/net/ipv4/conf/{name}/forwarding");
            std::fs::write(&file, "1").expect("the namespace is ours");
        }
    }
}

/// An IPv4 packet with this type of service and payload, which must not be cut.
pub(super) fn ipv4(
    source: Ipv4Addr,
    target: Ipv4Addr,
    tos: u8,
    protocol: u8,
    payload: &[u8],
) -> Vec<u8> {
    let mut out = vec![0x45, tos];
    out.extend((20 + payload.len() as u16).to_be_bytes());
    out.extend([0, 7, 0x40, 0, 64, protocol, 0, 0]);
    out.extend(source.octets());
    out.extend(target.octets());
    let sum = checksum::finish(checksum::sum(&out));
    out[10..12].copy_from_slice(&sum);
    out.extend(payload);
    out
}

/// A datagram without a sum, as RFC 768 allows over IPv4.
pub(super) fn udp(ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let length = 8 + payload.len() as u16;
    let words = [ports[0], ports[1], length, 0].map(u16::to_be_bytes);
    [&words.concat()[..], payload].concat()
}

pub(super) fn down(tos: u8, length: usize) -> Vec<u8> {
    down_to(UE, tos, length)
}

pub(super) fn down_to(ue: Ipv4Addr, tos: u8, length: usize) -> Vec<u8> {
    ipv4(
        SERVER,
        ue,
        tos,
        17,
        &udp([443, 5_000], &vec![7; length - 28]),
    )
}

/// A segment of this number, or its acknowledgment: a header of RFC 9293, 3.1, without a sum, which nothing here looks at.
pub(super) fn tcp(ports: [u16; 2], number: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = ports.map(u16::to_be_bytes).concat();
    out.extend(number.to_be_bytes());
    out.extend(number.to_be_bytes());
    out.extend([0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    out.extend(payload);
    out
}

/// A G-PDU of the base station; in a `QoS` flow where `contained`.
pub(super) fn up(
    teid: Teid,
    source: Ipv4Addr,
    [inner, outer]: [u8; 2],
    contained: bool,
) -> Vec<u8> {
    let packet = ipv4(source, SERVER, inner, 17, &udp([5_000, 443], &[9; 300]));
    carried(teid, &packet, outer, contained)
}

/// As [`up`], for any packet.
pub(super) fn carried(teid: Teid, packet: &[u8], outer: u8, contained: bool) -> Vec<u8> {
    let optional: &[u8] = if contained {
        &[0, 0, 0, 0x85, 1, 0x10, 9, 0]
    } else {
        &[]
    };
    let length = (optional.len() + packet.len()) as u16;
    let mut message = vec![if contained { 0x34 } else { 0x30 }, 255];
    message.extend(length.to_be_bytes());
    message.extend(teid.0.to_be_bytes());
    message.extend(optional);
    message.extend_from_slice(packet);
    ipv4(GNB, N3, outer, 17, &udp([2_152, 2_152], &message))
}

/// The other end of a link.
pub(super) struct End {
    socket: PacketSocket,
    /// Destination and source.
    front: [u8; 14],
}

impl End {
    pub(super) fn open(name: &str, k: usize) -> Self {
        let mut front = [0; 14];
        front[..6].copy_from_slice(&MACS[k]);
        front[6..12].copy_from_slice(&MACS[k + 1]);
        front[12..].copy_from_slice(&IPV4.to_be_bytes());
        let socket = PacketSocket::open(name).expect("the interface is there");
        Self { socket, front }
    }

    pub(super) fn send(&mut self, packet: &[u8]) {
        let frame = [&[0; FRONT - 14][..], &self.front, packet].concat();
        self.socket.send(frame, 0);
        self.socket.flush();
    }

    /// The next packet of IPv4 that passes. The function sends one to the router itself, to find it.
    pub(super) fn next(&mut self) -> Vec<u8> {
        loop {
            let mut found = None;
            let read = self.socket.read(|frame| {
                let passes = frame.kind == IPV4 && frame.payload[16..20] != ROUTER.octets();
                found = passes.then(|| frame.payload.to_vec());
            });
            if let Some(found) = found {
                return found;
            }
            if !read {
                let mut fds = [PollFd::new(self.socket.fd(), PollFlags::POLLIN)];
                let ready = poll(&mut fds, PollTimeout::from(60_000_u16));
                assert_eq!(ready, Ok(1), "nothing came");
            }
        }
    }
}

/// A function with both interfaces.
pub(super) fn config(n6: N6, path: &str, vaqm: &str) -> String {
    let n6 = match n6 {
        N6::Port => {
            format!("port = \"n6\"\ngateway = \"{ROUTER}\"\naddress = \"198.18.0.2\"\n")
        }
        // 1,400 octets are the device's default, and the test has longer packets.
        N6::Tun => "mtu = 1500\n".to_owned(),
    };
    format!(
        "[n4]\naddress = \"{N4}\"\n[n3]\naddress = \"{N3}\"\ninterface = \"n3\"\n[n6]\nroutes = [\"10.60.0.0/14\"]\n{n6}[functions]\nvaqm = \"{vaqm}\"\n\
         [fast]\npath = \"{path}\"\n"
    )
}

/// A function in its namespace, and those around it.
pub(super) struct Lab {
    pub(super) questions: Sender<Question>,
    server: Option<thread::JoinHandle<()>>,
    smf: UdpSocket,
    seq: u32,
    pub(super) data_network: End,
    pub(super) radio: End,
}

impl Lab {
    pub(super) fn new(n6: N6, path: &str, vaqm: &str) -> Self {
        links(n6);
        let text = config(n6, path, vaqm);
        let config = UpfConfig::parse("upf.toml", &text).expect("it is sound");
        let (data_network, radio) = (End::open("dn", 0), End::open("ran", 2));
        let (questions, asked) = channel();
        let (begun, begins) = channel();
        // A thread has the namespace of the one that starts it.
        let server = thread::spawn(move || {
            let mut server = Server::new(&config).expect("it starts");
            begun.send(()).unwrap();
            let orders = Orders::listen().unwrap();
            let again = || UpfConfig::parse("upf.toml", &text).map_err(Into::into);
            server.run(&asked, orders, again).expect("it runs");
        });
        begins.recv().expect("it starts");
        let smf = UdpSocket::bind((SMF, 8_805)).unwrap();
        smf.connect((N4, 8_805)).unwrap();
        smf.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut lab = Self {
            questions,
            server: Some(server),
            smf,
            seq: 0,
            data_network,
            radio,
        };
        let association = testing::association(SMF, 1);
        lab.order(Kind::AssociationSetupRequest, None, &association);
        lab
    }

    /// Sends a request; its answer.
    pub(super) fn order(
        &mut self,
        kind: Kind,
        seid: Option<u64>,
        elements: &[Element<'_>],
    ) -> Vec<u8> {
        self.seq += 1;
        let octets = testing::message(kind, seid, self.seq, elements);
        self.smf.send(&octets).unwrap();
        loop {
            let mut answer = vec![0; 4_000];
            let n = self.smf.recv(&mut answer).expect("it answers");
            answer.truncate(n);
            let header = Message::parse(&answer).unwrap().header;
            if header.seq == self.seq && header.kind != Kind::HeartbeatRequest {
                return answer;
            }
        }
    }

    /// Something of the server.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        what: impl FnOnce(&mut Server) -> T + Send + 'static,
    ) -> T {
        let (answers, answer) = channel();
        let question: Question = Box::new(move |server| {
            let _asker_waits = answers.send(what(server));
        });
        self.questions.send(question).unwrap();
        answer.recv().expect("it answers")
    }

    pub(super) fn counters(&self) -> Counters {
        self.ask(|server| {
            server.count_fast();
            *server.upf().user().counters()
        })
    }

    pub(super) fn traffic(&self, seid: u64) -> [Traffic; 2] {
        self.ask(move |server| {
            server.count_fast();
            let status = server.upf().user().status(Seid(seid)).unwrap();
            [status.down, status.up]
        })
    }

    /// A session of UE with these bounds, counted by URR 1; our name of it and its uplink tunnel.
    pub(super) fn establish(&mut self, qer: Qer) -> (u64, Teid) {
        self.establish_of(UE, Teid(0x22), qer)
    }

    /// The same of `ue`, whose downlink tunnel is `theirs`.
    pub(super) fn establish_of(&mut self, ue: Ipv4Addr, theirs: Teid, qer: Qer) -> (u64, Teid) {
        let outer = OuterHeader::gtpu(theirs, GNB);
        let pdrs = [
            testing::counted(testing::uplink(1, testing::CHOOSE, None)),
            testing::counted(testing::downlink(2, ue)),
        ];
        let elements = testing::establishment(
            77,
            pdrs,
            [far(1, None), far(2, Some(outer))],
            qer,
            Some(testing::urr()),
        );
        let answer = self.order(Kind::SessionEstablishmentRequest, Some(0), &elements);
        let mut found = (0, Teid(0));
        for element in Message::parse(&answer)
            .unwrap()
            .elements()
            .map(Result::unwrap)
        {
            match element {
                Element::FSeid(name) => found.0 = name.seid,
                Element::CreatedPdr(created) => {
                    if let Some(FTeid::Given { teid, .. }) = created.tunnel {
                        found.1 = teid;
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Sends uplink packets until one comes out: the function has to find the router first.
    pub(super) fn warm(&mut self, teid: Teid) {
        for _ in 0..6_000 {
            let refused = self.ask(|server| server.refused().0.n6);
            let sent = self.counters().n6_out;
            self.radio.send(&up(teid, UE, [0, 0], true));
            while self.counters().n6_out == sent {}
            if self.ask(|server| server.refused().0.n6) == refused {
                let _out = self.data_network.next();
                return;
            }
        }
        panic!("the router is never found");
    }

    /// Until the kernel has both directions of a session.
    pub(super) fn wait_for_kernel(&self, seid: u64) {
        for _ in 0..6_000 {
            if self.ask(move |server| server.in_kernel(Seid(seid))) == [true; 2] {
                return;
            }
        }
        panic!("the kernel never has the session");
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let stop: Question = Box::new(Server::stop);
        let _may_be_gone = self.questions.send(stop);
        if let Some(server) = self.server.take() {
            let ended = server.join();
            assert!(ended.is_ok() || thread::panicking());
        }
    }
}

pub(super) fn far(id: u32, outer: Option<OuterHeader>) -> Far<'static> {
    let to = if outer.is_some() {
        interface::ACCESS
    } else {
        interface::CORE
    };
    Far {
        id,
        action: Some(action::FORWARD),
        forwarding: Some(Forwarding {
            destination: Some(to),
            outer,
            ..Forwarding::default()
        }),
        ..Far::default()
    }
}

pub(super) fn unbounded() -> Qer {
    Qer {
        maximum: None,
        ..testing::qer(20.0, Some(Qfi(9)))
    }
}

/// In a thread, whose namespace ends with it.
pub(super) fn apart<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
    thread::spawn(what).join().expect("it holds")
}
