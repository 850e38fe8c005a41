//! The cell's reports over a real socket, beside what the cell had.

use std::time::Duration as Wall;

use slackwater_core::{
    BearerId, Body, Bytes, Datagram as Udp, Direction, Duration, FlowId, Packet, Qfi, Teid, UeId,
};
use slackwater_lab::run::prepare;
use slackwater_scenario::Plugins;
use slackwater_scenario::build::Hosts;
use slackwater_sim::NoClock;
use slackwater_wire::gtpu::report::{Names, Source, Units, counted, receive};
use slackwater_wire::gtpu::{Message, Ntp, NtpClock};
use slackwater_wire::report::FiveTuple;
use slackwater_wire::{IpVersion, packet};

use super::*;
use crate::emulate::bridge::{Bridge, Tap};
use crate::emulate::flows::FlowTable;
use crate::gnb::description::Profile;
use crate::gnb::{bearers, labels, world};

/// The tunnel of reports.
const REPORTS: Teid = Teid(0xffff);
/// The test's name of a QFI of a session: its tunnel times 64, and the QFI.
struct Sessions;

impl Names for Sessions {
    fn ue(&self, teid: Teid) -> Option<UeId> {
        teid.0.checked_sub(11).filter(|n| *n < 3).map(UeId)
    }
    fn flow(&self, teid: Teid, qfi: Qfi) -> Option<FlowId> {
        self.ue(teid).map(|ue| FlowId(ue.0 * 64 + u32::from(qfi.0)))
    }
}

/// A gNB with three UEs: the first with two bearers, the others with one.
fn gnb(upf: SocketAddr, profile: Profile) -> Gnb {
    let end = |teid: u32| {
        format!(
            "{{ address = \"127.0.0.1\", port = {}, teid = {teid} }}",
            upf.port()
        )
    };
    let ue = |k: u32, more: &str| {
        format!(
            "[[ue]]\nname = \"u{k}\"\naddress = [\"10.45.0.{}\"]\nuplink = {}\ndownlink = {}\n{more}",
            k + 2,
            end(11 + k),
            101 + k
        )
    };
    let text = format!(
        "cell = \"nr\"\nflows = 2\n[n3]\naddress = [\"127.0.0.1\"]\nport = 0\necho = \"0 s\"\n\
         [reports]\nto = {}\ncongestion = {{}}\n{}{}{}",
        end(REPORTS.0),
        ue(
            0,
            "qfi = [1, 5, 6]\nradio = { bearers = [{ qfi = [1] }, { qfi = [5, 6] }] }\n"
        ),
        ue(1, ""),
        ue(2, "qfi = [9]\n"),
    );
    let mut gnb = Gnb::parse("gnb.toml", &text).expect("a good file");
    gnb.reports.profile = profile;
    gnb.check().expect("it holds");
    gnb
}

fn datagram(k: u32, ue: u8) -> Vec<u8> {
    let p = Packet {
        flow: FlowId(k),
        len: 1_000,
        dir: Direction::Down,
        body: Body::Datagram(Udp {
            payload: 972,
            ..Udp::default()
        }),
        ..Packet::default()
    };
    let mut bytes = Vec::new();
    packet::encode(&p, IpVersion::V4, usize::MAX, &mut bytes);
    bytes[16..20].copy_from_slice(&[10, 45, 0, ue + 2]);
    bytes
}

/// What the cell reported while packets went down, by the time of the report, and the datagrams that the peer got.
fn run(profile: Profile, ms: u64) -> (Vec<Vec<RanReport>>, Vec<Vec<u8>>) {
    let peer = UdpSocket::bind("127.0.0.1:0").expect("a port");
    peer.set_read_timeout(Some(Wall::from_secs(10)))
        .expect("a timeout");
    let gnb = gnb(peer.local_addr().expect("bound"), profile);
    let scenario = world::scenario(&gnb, &Plugins::new()).expect("a cell");
    let clock = NtpClock::new(Ntp(3 << 32));
    let node = Node::new(&gnb, bearers(&gnb, &scenario), clock);
    let mut n3 = N3::open(&gnb, node).expect("sockets");
    let prepared = prepare(&scenario, 1, Hosts::BeyondN3, |recorder| {
        Tap::new(recorder, Duration::from_millis(20), false)
    });
    let table = FlowTable::named(labels(&gnb).into_iter(), gnb.flows);
    let mut bridge = Bridge::new(prepared.expect("a world").world, table, 1_500);
    let (mut made, mut got) = (Vec::new(), Vec::new());
    let mut buffer = vec![0; 2_000];
    for k in 0..ms {
        let now = Instant::from_millis(k);
        bridge.run_until(now, &mut NoClock);
        // Every 20 ms a burst to each place, of another length.
        if k % 20 == 3 {
            for place in 0..5_u32 {
                for n in 0..=10 * (place + 1) {
                    let ue = n3.node.ue_of(place) as u8;
                    let bytes = datagram(place * 100 + n % 3, ue);
                    assert!(bridge.arrive(now, false, place, bytes).is_some());
                }
            }
        }
        bridge.departures(|_| ());
        let reports: Vec<_> = bridge.world.drain_reports().collect();
        let before = n3.found().reported.messages;
        n3.run(now, reports.iter().copied());
        assert_eq!(n3.found().refused, 0);
        for _ in before..n3.found().reported.messages {
            let n = peer.recv(&mut buffer).expect("a datagram");
            got.push(buffer[..n].to_vec());
        }
        reports::messages(reports.into_iter(), |message| made.push(message.to_vec()));
    }
    // Nothing else was sent.
    peer.set_nonblocking(true).expect("a socket");
    while let Ok(n) = peer.recv(&mut buffer) {
        got.push(buffer[..n].to_vec());
    }
    (made, got)
}

/// `report` as a reader with the test's names has it: the bearers by the first `QoS` flow that they carry, congestion once
/// for each `QoS` flow.
fn as_named(report: &RanReport) -> Option<RanReport> {
    let mut report = *report;
    match &mut report {
        RanReport::Backlog { ue, flow, .. } => {
            let (_, bearer) = slackwater_edge::gnb::RlcReporter::bearer_of(*flow)?;
            let qfi = match (ue.0, bearer) {
                (0, BearerId(1)) => 5,
                (2, _) => 9,
                _ => 1,
            };
            *flow = FlowId(ue.0 * 64 + qfi);
        }
        RanReport::Congestion { flow, .. } => {
            // Two flows of the world for each place.
            let place = [(0, 1), (0, 5), (0, 6), (1, 1), (2, 9)].get(flow.index() / 2)?;
            let (ue, qfi) = *place;
            if flow.0 % 2 != 0 {
                return None;
            }
            *flow = FlowId(ue * 64 + qfi);
        }
        _ => {}
    }
    Some(report)
}

fn read(bytes: &[u8], now: Instant) -> (Teid, Vec<RanReport>, Option<u32>) {
    let source = Source {
        names: &Sessions,
        clock: NtpClock::new(Ntp(3 << 32)),
        units: Units::default(),
        multi: Some(REPORTS),
    };
    let message = Message::parse(bytes).expect("GTP-U");
    assert!(message.payload().is_empty());
    let mut reports = Vec::new();
    let intake = receive(&message, now, &source, |r| reports.push(r)).expect("whole");
    assert_eq!(intake.skipped, 0);
    (message.header.teid, reports, intake.part.map(|p| p.seq))
}

#[test]
fn counters_go_by_the_tunnel_of_their_ue_or_by_that_of_reports() {
    let of = |ue: u8| {
        let flow = FiveTuple {
            source: "192.0.2.1".parse().expect("an address"),
            destination: [10, 45, 0, ue + 2].into(),
            source_port: 443,
            destination_port: 50_000,
            protocol: 17,
        };
        let octets = [ue; 24];
        (u32::from(ue), FlowCounters { flow, octets })
    };
    let all = [of(0), of(2), of(0), of(1)];
    let tunnel = |ue: u32| Teid(11 + ue);
    for (profile, tunnels) in [
        (Profile::Session, vec![tunnel(0), tunnel(1), tunnel(2)]),
        (Profile::Multi, vec![REPORTS]),
        (Profile::Container, Vec::new()),
    ] {
        let upf: SocketAddr = "127.0.0.1:2152".parse().expect("an address");
        let gnb = gnb(upf, profile);
        let scenario = world::scenario(&gnb, &Plugins::new()).expect("a cell");
        let mut node = Node::new(&gnb, bearers(&gnb, &scenario), NtpClock::default());
        node.count(&all);
        let (mut by, mut got) = (Vec::new(), Vec::new());
        while let Some(datagram) = node.next_datagram() {
            let message = Message::parse(&datagram.bytes).expect("GTP-U");
            let source = Source {
                names: &Sessions,
                clock: NtpClock::default(),
                units: Units::default(),
                multi: Some(REPORTS),
            };
            by.push(message.header.teid);
            counted::each(&message, &source, |teid, c| got.push((teid.0 - 11, c))).expect("whole");
        }
        assert_eq!(by, tunnels);
        let lost = if by.is_empty() { 4 } else { 0 };
        let mut had = if by.is_empty() {
            Vec::new()
        } else {
            all.to_vec()
        };
        if profile == Profile::Session {
            had.sort_by_key(|c| c.0);
        }
        assert_eq!(got, had);
        let Reported {
            counters, skipped, ..
        } = node.reported();
        assert_eq!((counters, skipped), (4 - lost, lost));
    }
}

const LATER: Instant = Instant::from_millis(1_000_000);

#[test]
fn profile_c_says_on_the_socket_what_the_cell_had() {
    let (made, got) = run(Profile::Multi, 200);
    let had: Vec<RanReport> = made.iter().flatten().filter_map(as_named).collect();
    let mut told = Vec::new();
    let mut last = 0;
    for bytes in &got {
        let (teid, reports, seq) = read(bytes, LATER);
        assert_eq!(teid, REPORTS);
        let seq = seq.expect("a sequence number");
        assert!(seq == last || seq == last + 1, "{last}, then {seq}");
        last = seq;
        told.extend(reports);
    }
    assert_eq!(told, had);
    let longest = |place: u32| {
        let of = |r: &RanReport| match *r {
            RanReport::Backlog { flow, bytes, .. } if flow.0 == place => Some(bytes),
            _ => None,
        };
        told.iter().filter_map(of).max()
    };
    // 61 packets of 1,000 bytes in the last bearer; one queue holds the packets of QFI 5 and of 6.
    assert!(
        longest(2 * 64 + 9) >= Some(Bytes(50_000)),
        "{:?}",
        longest(2 * 64 + 9)
    );
    assert!(longest(5) > longest(1));
    let pattern = |r: &&RanReport| matches!(r, RanReport::SlotPattern { .. });
    assert!(told.iter().any(|r| pattern(&r)));
    let congested =
        |r: &&RanReport| matches!(r, RanReport::Congestion { per_10k, .. } if *per_10k > 0);
    assert!(
        told.iter().any(|r| congested(&r)),
        "the queues were longer than 5 ms"
    );
}

#[test]
fn profile_b_goes_by_the_tunnel_of_each_session() {
    let (made, got) = run(Profile::Session, 100);
    let had: Vec<RanReport> = made.iter().flatten().filter_map(as_named).collect();
    let ue_of = |r: &RanReport| match *r {
        RanReport::Congestion { flow, .. } => UeId(flow.0 / 64),
        RanReport::Backlog { ue, .. }
        | RanReport::LinkState { ue, .. }
        | RanReport::SlotPattern { ue, .. } => ue,
        _ => panic!("{r:?}"),
    };
    for ue in 0..3 {
        let own: Vec<_> = had
            .iter()
            .filter(|r| ue_of(r) == UeId(ue))
            .copied()
            .collect();
        let on_tunnel = got.iter().map(|bytes| read(bytes, LATER));
        let on_tunnel = on_tunnel.filter(|m| m.0 == Teid(11 + ue));
        let told: Vec<RanReport> = on_tunnel.flat_map(|m| m.1).collect();
        assert!(!own.is_empty());
        assert_eq!(told, own, "UE {ue}");
    }
}

#[test]
fn profile_a_tells_of_congestion_in_containers() {
    let (made, got) = run(Profile::Container, 100);
    let queues = |r: &RanReport| matches!(r, RanReport::Backlog { .. });
    assert!(
        !made.iter().flatten().any(queues),
        "it has no field for queues"
    );
    let told = got.iter().flat_map(|bytes| read(bytes, LATER).1);
    let told: Vec<(FlowId, u16)> = told
        .map(|r| match r {
            RanReport::Congestion { flow, per_10k, .. } => (flow, per_10k),
            other => panic!("{other:?}"),
        })
        .collect();
    // Each `QoS` flow has its own container; the two of one bearer have the longest queue.
    for flow in [1, 5, 6, 64 + 1, 2 * 64 + 9] {
        assert!(told.iter().any(|t| t.0 == FlowId(flow)), "{flow}: {told:?}");
    }
    for flow in [5, 6] {
        assert!(
            told.iter().any(|t| t.0 == FlowId(flow) && t.1 > 0),
            "{flow}: {told:?}"
        );
    }
}

#[test]
fn auto_goes_by_what_the_peer_reads() {
    let upf: SocketAddr = "127.0.0.1:2152".parse().expect("an address");
    let mut gnb = gnb(upf, Profile::Auto);
    gnb.n3.echo = Duration::from_secs(60);
    let scenario = world::scenario(&gnb, &Plugins::new()).expect("a cell");
    let backlog = [RanReport::Backlog {
        at: Instant::ZERO,
        ue: UeId(1),
        flow: slackwater_edge::gnb::RlcReporter::name_of(UeId(1), BearerId(0)),
        bytes: Bytes(7),
    }];
    for (bits, teid) in [(7, Some(REPORTS)), (3, Some(Teid(12))), (1, None)] {
        let mut node = Node::new(&gnb, bearers(&gnb, &scenario), NtpClock::default());
        node.on_timer(Instant::ZERO);
        let request = node.next_datagram().expect("an echo request");
        let mut response = request.bytes.clone();
        // The same elements; the last octet has the profiles (docs/wire.md).
        response[1] = 2;
        *response.last_mut().expect("it is not empty") = bits;
        let here = "127.0.0.1".parse().expect("an address");
        node.receive(Instant::ZERO, request.to, here, Ecn::NotEct, &response);
        node.report(Instant::ZERO, &backlog);
        let sent = node.next_datagram();
        let of = sent.map(|d| Message::parse(&d.bytes).expect("GTP-U").header.teid);
        assert_eq!(of, teid, "{bits}");
    }
}

#[test]
fn what_the_path_is_too_narrow_for_is_counted_and_sent() {
    let peer = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let patience = Some(Wall::from_secs(10));
    peer.set_read_timeout(patience).expect("a timeout");
    let gnb = gnb(peer.local_addr().expect("bound"), Profile::Off);
    let scenario = world::scenario(&gnb, &Plugins::new()).expect("a cell");
    let node = Node::new(&gnb, bearers(&gnb, &scenario), NtpClock::default());
    let mut n3 = N3::open(&gnb, node).expect("sockets");
    let departure = Departure {
        at: Instant::from_millis(9),
        came: Instant::from_millis(2),
        up: true,
        ue: 0,
        flow: FlowId(0),
        bytes: datagram(1, 0),
    };
    // Outer headers of 28 octets, 16 of GTP-U with a container, and a packet of 1,000.
    for (room, longer) in [(28 + 16 + 1_000, 0), (28 + 16 + 999, 1)] {
        for path in n3.path.values_mut() {
            *path = room;
        }
        n3.uplink(Instant::from_millis(9), &departure);
        n3.run(Instant::from_millis(9), core::iter::empty());
        let mut buffer = [0; 2_000];
        let n = peer.recv(&mut buffer).expect("a datagram");
        let message = Message::parse(&buffer[..n]).expect("GTP-U");
        assert_eq!(message.payload(), departure.bytes);
        assert_eq!((n3.found().fragmented, n3.found().refused), (longer, 0));
    }
}
