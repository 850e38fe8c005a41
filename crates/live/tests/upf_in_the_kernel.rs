//! The path in the kernel of a user plane function, in a network namespace of its own: needs root, BTF and a build with the feature
//! `bpf`; skips with a reason elsewhere.
#![cfg(feature = "bpf")]

use std::collections::VecDeque;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use slackwater_core::{Bytes, Qfi, Teid};
use slackwater_live::packet::{FRONT, IPV4, PacketSocket};
use slackwater_live::upf::{Orders, Question, Server, UpfConfig};
use slackwater_upf::sessions::Seid;
use slackwater_upf::testing;
use slackwater_upf::user::{Counters, Traffic};
use slackwater_wire::checksum;
use slackwater_wire::pfcp::{
    Element, FTeid, Far, Forwarding, Kind, Message, OuterHeader, Qer, action, interface,
};

const N4: Ipv4Addr = testing::HERE;
const SMF: Ipv4Addr = testing::SMF_ADDRESS;
const N3: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
const ROUTER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
const UE: Ipv4Addr = Ipv4Addr::new(10, 60, 0, 1);
/// The hardware addresses of the function's ends and of the others.
const MACS: [[u8; 6]; 4] = [
    [2, 0, 0, 0, 6, 2],
    [2, 0, 0, 0, 6, 1],
    [2, 0, 0, 0, 3, 1],
    [2, 0, 0, 0, 3, 2],
];
/// The longest packet that N3 carries whole behind IPv4, UDP, GTP-U and a container.
const MOST: usize = 1_500 - 44;

fn can_run() -> bool {
    let root = nix::unistd::geteuid().is_root();
    let btf = Path::new("/sys/kernel/btf/vmlinux").exists();
    if !root || !btf {
        eprintln!("skipped: needs root (is: {root}) and the kernel's BTF (there: {btf})");
    }
    root && btf
}

fn run(words: &str) {
    let mut all = words.split_whitespace();
    let done = Command::new(all.next().unwrap()).args(all).output();
    let done = done.expect("it starts");
    let wrong = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{words}: {wrong}");
}

/// What N6 is.
#[derive(Clone, Copy, Debug)]
enum N6 {
    /// The interface.
    Port,
    /// A TUN device, and the interface is the kernel's.
    Tun,
}

/// Two pairs of veth in the namespace of this thread alone.
fn links(n6: N6) {
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
fn ipv4(source: Ipv4Addr, target: Ipv4Addr, tos: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
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
fn udp(ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let length = 8 + payload.len() as u16;
    let words = [ports[0], ports[1], length, 0].map(u16::to_be_bytes);
    [&words.concat()[..], payload].concat()
}

fn down(tos: u8, length: usize) -> Vec<u8> {
    ipv4(
        SERVER,
        UE,
        tos,
        17,
        &udp([443, 5_000], &vec![7; length - 28]),
    )
}

/// A segment of this number, or its acknowledgment: a header of RFC 9293, 3.1, without a sum, which nothing here looks at.
fn tcp(ports: [u16; 2], number: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = ports.map(u16::to_be_bytes).concat();
    out.extend(number.to_be_bytes());
    out.extend(number.to_be_bytes());
    out.extend([0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    out.extend(payload);
    out
}

/// A G-PDU of the base station; in a `QoS` flow where `contained`.
fn up(teid: Teid, source: Ipv4Addr, [inner, outer]: [u8; 2], contained: bool) -> Vec<u8> {
    let packet = ipv4(source, SERVER, inner, 17, &udp([5_000, 443], &[9; 300]));
    carried(teid, &packet, outer, contained)
}

/// As [`up`], for any packet.
fn carried(teid: Teid, packet: &[u8], outer: u8, contained: bool) -> Vec<u8> {
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
struct End {
    socket: PacketSocket,
    /// Destination and source.
    front: [u8; 14],
}

impl End {
    fn open(name: &str, k: usize) -> Self {
        let mut front = [0; 14];
        front[..6].copy_from_slice(&MACS[k]);
        front[6..12].copy_from_slice(&MACS[k + 1]);
        front[12..].copy_from_slice(&IPV4.to_be_bytes());
        let socket = PacketSocket::open(name).expect("the interface is there");
        Self { socket, front }
    }

    fn send(&mut self, packet: &[u8]) {
        let frame = [&[0; FRONT - 14][..], &self.front, packet].concat();
        self.socket.send(frame, 0);
        self.socket.flush();
    }

    /// The next packet of IPv4 that passes. The function sends one to the router itself, to find it.
    fn next(&mut self) -> Vec<u8> {
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
fn config(n6: N6, path: &str, vaqm: &str) -> String {
    let n6 = match n6 {
        N6::Port => {
            format!("port = \"n6\"\ngateway = \"{ROUTER}\"\naddress = \"198.18.0.2\"\n")
        }
        // 1,400 octets are the device's default, and the test has longer packets.
        N6::Tun => "mtu = 1500\n".to_owned(),
    };
    format!(
        "[n4]\naddress = \"{N4}\"\n[n3]\naddress = \"{N3}\"\ninterface = \"n3\"\n[n6]\n{n6}[functions]\nvaqm = \"{vaqm}\"\n\
         [fast]\npath = \"{path}\"\n"
    )
}

/// A function in its namespace, and those around it.
struct Lab {
    questions: Sender<Question>,
    server: Option<thread::JoinHandle<()>>,
    smf: UdpSocket,
    seq: u32,
    data_network: End,
    radio: End,
}

impl Lab {
    fn new(n6: N6, path: &str, vaqm: &str) -> Self {
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
    fn order(&mut self, kind: Kind, seid: Option<u64>, elements: &[Element<'_>]) -> Vec<u8> {
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
    fn ask<T: Send + 'static>(&self, what: impl FnOnce(&mut Server) -> T + Send + 'static) -> T {
        let (answers, answer) = channel();
        let question: Question = Box::new(move |server| {
            let _asker_waits = answers.send(what(server));
        });
        self.questions.send(question).unwrap();
        answer.recv().expect("it answers")
    }

    fn counters(&self) -> Counters {
        self.ask(|server| {
            server.count_fast();
            *server.upf().user().counters()
        })
    }

    fn traffic(&self, seid: u64) -> [Traffic; 2] {
        self.ask(move |server| {
            server.count_fast();
            let status = server.upf().user().status(Seid(seid)).unwrap();
            [status.down, status.up]
        })
    }

    /// A session of UE with these bounds, counted by URR 1; our name of it and its uplink tunnel.
    fn establish(&mut self, qer: Qer) -> (u64, Teid) {
        let outer = OuterHeader::gtpu(Teid(0x22), GNB);
        let pdrs = [
            testing::counted(testing::uplink(1, testing::CHOOSE, None)),
            testing::counted(testing::downlink(2, UE)),
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
    fn warm(&mut self, teid: Teid) {
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
    fn wait_for_kernel(&self, seid: u64) {
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

fn far(id: u32, outer: Option<OuterHeader>) -> Far<'static> {
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

fn unbounded() -> Qer {
    Qer {
        maximum: None,
        ..testing::qer(20.0, Some(Qfi(9)))
    }
}

/// In a thread, whose namespace ends with it.
fn apart<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
    thread::spawn(what).join().expect("it holds")
}

/// Without what differs: an outer datagram of the kernel's path has no sum, and no number of fragments, as it must not be cut.
fn compared(mut packet: Vec<u8>) -> Vec<u8> {
    let sound = checksum::finish(checksum::sum(&packet[..20])) == [0, 0];
    assert!(sound, "{packet:?}");
    for at in [4..6, 10..12, 26..28] {
        packet[at].fill(0);
    }
    packet
}

/// Packets and bytes of a session, down and up.
type Passed = [(u64, Bytes); 2];

/// What leaves both ways for the same packets, and who forwarded them.
fn forwarded(n6: N6, path: &'static str, vaqm: &'static str) -> (Vec<Vec<u8>>, [u64; 6], Passed) {
    apart(move || {
        let mut lab = Lab::new(n6, path, vaqm);
        let (seid, teid) = lab.establish(unbounded());
        if path == "kernel" {
            lab.wait_for_kernel(seid);
        }
        lab.warm(teid);
        let (before, [down_before, up_before]) = (lab.counters(), lab.traffic(seid));
        let mut all = Vec::new();
        for length in [28, 40, 700, MOST] {
            for tos in [0, 1, 2, 3, 0xb8, 0xb9] {
                lab.data_network.send(&down(tos, length));
                all.push(compared(lab.radio.next()));
            }
        }
        for contained in [true, false] {
            for inner in 0..4 {
                for outer in (0..4).filter(|outer| inner != 0 || *outer != 3) {
                    let fields = [0xb8 | inner, outer];
                    lab.radio.send(&up(teid, UE, fields, contained));
                    all.push(lab.data_network.next());
                }
            }
        }
        let (after, [down, up]) = (lab.counters(), lab.traffic(seid));
        let counted = [
            after.n6_in - before.n6_in,
            after.n3_in - before.n3_in,
            after.n3_out - before.n3_out,
            after.n6_out - before.n6_out,
            after.kernel_down - before.kernel_down,
            after.kernel_up - before.kernel_up,
        ];
        let passed = [
            (
                down.packets - down_before.packets,
                down.bytes - down_before.bytes,
            ),
            (up.packets - up_before.packets, up.bytes - up_before.bytes),
        ];
        (all, counted, passed)
    })
}

#[test]
fn the_kernels_path_writes_what_the_functions_does() {
    if !can_run() {
        return;
    }
    for n6 in [N6::Port, N6::Tun] {
        let (here, counted, passed) = forwarded(n6, "off", "off");
        assert_eq!(counted, [24, 30, 24, 30, 0, 0]);
        // With vAQM too: its instance has nothing to decide.
        for vaqm in ["off", "auto"] {
            let (kernel, by_kernel, kernels) = forwarded(n6, "kernel", vaqm);
            assert_eq!(here.len(), kernel.len());
            for (k, (a, b)) in here.iter().zip(&kernel).enumerate() {
                assert_eq!(a, b, "packet {k}, {n6:?}");
            }
            assert_eq!(passed, kernels);
            assert_eq!(by_kernel, [24, 30, 24, 30, 24, 30]);
        }
    }
}

#[test]
fn usage_adds_up_to_the_octet_and_other_packets_are_the_functions() {
    if !can_run() {
        return;
    }
    for n6 in [N6::Port, N6::Tun] {
        apart(move || counts_add_up(n6));
    }
}

fn counts_add_up(n6: N6) {
    let mut lab = Lab::new(n6, "kernel", "off");
    let (seid, teid) = lab.establish(unbounded());
    lab.wait_for_kernel(seid);
    for k in 0..500 {
        lab.data_network.send(&down(0, 100 + k));
        let _out = lab.radio.next();
        lab.radio.send(&up(teid, UE, [0, 0], k % 2 == 0));
        let _out = lab.data_network.next();
    }

    // Another's address, ECN fields that contradict each other, and a packet that is too long: nothing of these comes out.
    lab.radio.send(&up(teid, SERVER, [0, 0], true));
    lab.radio.send(&up(teid, UE, [0, 3], true));
    lab.data_network.send(&down(0, MOST + 1));
    let answer = lab.data_network.next();
    assert_eq!(
        (answer[9], &answer[20..22]),
        (1, &[3, 4][..]),
        "ICMP: too long"
    );
    lab.radio.send(&up(teid, UE, [0, 0], true));
    let _out = lab.data_network.next();
    let counters = lab.counters();
    let wrong = (
        counters.spoofed,
        counters.ecn_contradicts,
        counters.too_long,
    );
    assert_eq!(wrong, (1, 1, 1));
    assert_eq!((counters.kernel_down, counters.kernel_up), (500, 501));

    // The last report of the session.
    let answer = lab.order(Kind::SessionDeletionRequest, Some(seid), &[]);
    let message = Message::parse(&answer).unwrap();
    let volume = message
        .elements()
        .map(Result::unwrap)
        .find_map(|e| match e {
            Element::Usage(_, report) => report.volume,
            _ => None,
        });
    let volume = volume.expect("a report");
    let down: u64 = (100..600).sum();
    assert_eq!(volume.down, Some(Bytes(down)));
    assert_eq!(volume.up, Some(Bytes(501 * 328)));

    // Its packets are nobody's now.
    lab.data_network.send(&self::down(0, 100));
    while lab.counters().unknown_address == 0 {}
}

#[test]
fn a_rule_that_changes_leaves_packets_to_the_function() {
    if !can_run() {
        return;
    }
    apart(|| {
        let mut lab = Lab::new(N6::Port, "kernel", "off");
        let (seid, _teid) = lab.establish(unbounded());
        lab.wait_for_kernel(seid);
        lab.data_network.send(&down(0, 100));
        let _out = lab.radio.next();

        // Packets are buffered from the answer on.
        let buffer = Far {
            action: Some(action::BUFFER),
            forwarding: None,
            ..far(2, None)
        };
        lab.order(
            Kind::SessionModificationRequest,
            Some(seid),
            &[Element::UpdateFar(buffer)],
        );
        for length in 200..220 {
            lab.data_network.send(&down(0, length));
        }
        while lab.counters().buffered < 20 {}
        // And go on in their order, before the next.
        let forward = Far {
            action: Some(action::FORWARD),
            forwarding: None,
            ..far(2, None)
        };
        lab.order(
            Kind::SessionModificationRequest,
            Some(seid),
            &[Element::UpdateFar(forward)],
        );
        lab.wait_for_kernel(seid);
        lab.data_network.send(&down(0, 300));
        let lengths: Vec<usize> = (0..21).map(|_| lab.radio.next().len() - 44).collect();
        let expected: Vec<usize> = (200..220).chain([300]).collect();
        assert_eq!(lengths, expected);
        assert_eq!(lab.counters().kernel_down, 2);
    });
}

/// A meter of 20 Mbit/s, which is in the tests' QER: what it lets pass at once goes by the kernel, and packets beyond it are dropped.
#[test]
fn a_session_that_exceeds_its_rate_is_the_functions_until_it_has_paid() {
    if !can_run() {
        return;
    }
    apart(|| {
        let mut lab = Lab::new(N6::Port, "kernel", "off");
        let (seid, teid) = lab.establish(testing::qer(20.0, Some(Qfi(9))));
        lab.wait_for_kernel(seid);
        lab.warm(teid);
        for length in [100, 1_400] {
            lab.data_network.send(&down(0, length));
            assert_eq!(lab.radio.next().len(), length + 44);
        }
        assert_eq!(lab.counters().kernel_down, 2);

        while lab.counters().metered == 0 {
            for _ in 0..100 {
                lab.data_network.send(&down(0, 1_400));
            }
        }
        let beyond = lab.counters();
        assert_eq!(beyond.n3_out + beyond.metered, beyond.n6_in);
        // 50 ms at this rate are 125,000 bytes.
        assert!(beyond.kernel_down >= 89, "{}", beyond.kernel_down);

        lab.wait_for_kernel(seid);
        let before = lab.counters();
        lab.data_network.send(&down(0, 100));
        while lab.radio.next().len() != 144 {}
        let after = lab.counters();
        assert_eq!(after.kernel_down, before.kernel_down + 1);
    });
}

/// What vAQM measures of a session, and whether the kernel has it.
fn measured(lab: &Lab, seid: u64) -> (u64, u64, bool) {
    lab.ask(move |server| {
        let functions = server.upf().user().functions();
        let passed = functions.vaqm_stats().map_or(0, |stats| stats.passed);
        let trips = functions.round_trips().count();
        (passed, trips, server.in_kernel(Seid(seid)) == [true; 2])
    })
}

/// A download through the kernel is measured. Acknowledgments that come late bring it to the function, and it returns to the kernel
/// when they come at once again.
#[test]
fn vaqm_measures_what_the_kernel_forwards_and_takes_a_session_that_has_a_queue() {
    if !can_run() {
        return;
    }
    apart(|| {
        const PAYLOAD: [u8; 1_000] = [7; 1_000];
        let mut lab = Lab::new(N6::Port, "kernel", "auto");
        let (seid, teid) = lab.establish(unbounded());
        lab.wait_for_kernel(seid);
        lab.warm(teid);
        let mut number = 0;
        let mut send = |lab: &mut Lab| {
            let segment = tcp([443, 5_000], number, &PAYLOAD);
            // ECT(0): what vAQM decides is a mark, and no drop.
            lab.data_network.send(&ipv4(SERVER, UE, 2, 6, &segment));
            let _out = lab.radio.next();
            number += 1_000;
            number
        };
        let acknowledge = |lab: &mut Lab, number: u32| {
            let ack = ipv4(UE, SERVER, 0, 6, &tcp([5_000, 443], number, &[]));
            lab.radio.send(&carried(teid, &ack, 0, true));
            let _out = lab.data_network.next();
        };

        let before = lab.counters();
        for _ in 0..50 {
            let sent = send(&mut lab);
            acknowledge(&mut lab, sent);
        }
        let after = lab.counters();
        let kernels = after.kernel_down - before.kernel_down;
        assert_eq!((kernels, after.kernel_up - before.kernel_up), (50, 50));
        while measured(&lab, seid).1 < 50 {}
        assert_eq!(measured(&lab, seid), (50, 50, true));

        // A queue of a fifth of a second, far above any target.
        let late = Duration::from_millis(200);
        let mut unanswered = VecDeque::new();
        while measured(&lab, seid).2 {
            unanswered.push_back((Instant::now(), send(&mut lab)));
            while let Some((_, sent)) = unanswered.pop_front_if(|(at, _)| at.elapsed() > late) {
                acknowledge(&mut lab, sent);
            }
        }
        let taken = lab.counters().kernel_down;
        let sent = send(&mut lab);
        acknowledge(&mut lab, sent);
        assert_eq!(lab.counters().kernel_down, taken, "it is the function's");

        while !measured(&lab, seid).2 {
            let sent = send(&mut lab);
            acknowledge(&mut lab, sent);
        }
        let returned = lab.counters().kernel_down;
        send(&mut lab);
        assert_eq!(lab.counters().kernel_down, returned + 1);
    });
}

/// The rights of `packaging/systemd/kernel-path.conf`, and its file.
const RIGHTS: [&str; 4] = ["CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_BPF", "CAP_PERFMON"];

/// Starts a function where the test below has left the rights alone.
#[test]
#[ignore = "the test below starts it, in a namespace and with few rights"]
fn with_few_rights() {
    let config =
        UpfConfig::parse("upf.toml", &config(N6::Port, "kernel", "auto")).expect("it is sound");
    Server::new(&config).expect("it starts");
}

#[test]
fn the_rights_of_the_drop_in_suffice() {
    let drop_in = "../../packaging/systemd/kernel-path.conf";
    let drop_in = Path::new(env!("CARGO_MANIFEST_DIR")).join(drop_in);
    let (true, Ok(drop_in)) = (can_run(), std::fs::read_to_string(drop_in)) else {
        eprintln!("skipped: no drop-in beside this crate, or see above");
        return;
    };
    for key in ["AmbientCapabilities", "CapabilityBoundingSet"] {
        let line = format!("{key}={}", RIGHTS.join(" "));
        assert!(drop_in.lines().any(|l| l == line), "{line}");
    }
    let with = |rights: &[&str]| {
        let set = rights.iter().fold("-all".to_owned(), |set, right| {
            set + ",+" + &right["CAP_".len()..].to_lowercase()
        });
        apart(move || {
            links(N6::Port);
            Command::new("setpriv")
                .args(["--no-new-privs", &format!("--inh-caps={set}")])
                .arg(format!("--bounding-set={set}"))
                .arg(std::env::current_exe().expect("it runs"))
                .args(["--exact", "with_few_rights", "--ignored"])
                .output()
        })
    };
    let Ok(done) = with(&RIGHTS) else {
        eprintln!("skipped: no setpriv (util-linux)");
        return;
    };
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
    // Each is needed.
    for k in 0..RIGHTS.len() {
        let mut fewer = RIGHTS.to_vec();
        let without = fewer.remove(k);
        let done = with(&fewer).expect("it ran before");
        assert!(!done.status.success(), "without {without}");
    }
}
