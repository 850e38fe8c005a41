//! One arrival log through the simulator and through the emulator: the same departures, to the nanosecond.

use std::path::Path;
use std::sync::{Arc, Mutex};

use slackwater_core::record::PacketEvent;
use slackwater_core::{
    Body, Direction, Duration, Instant, NodeId, Packet, PacketView as _, Recorder, ReportBytes,
    Segment, SeqNum, TcpFlags,
};
use slackwater_lab::run::prepare;
use slackwater_live::bridge::{Beside, Bridge, Tap};
use slackwater_live::flows::FlowTable;
use slackwater_scenario::Scenario;
use slackwater_scenario::build::Hosts;
use slackwater_signal::Counters;
use slackwater_sim::NoClock;
use slackwater_wire::{IpPacket, IpVersion, packet, report};

/// A packet where it leaves: time, way, flow, and what a host reads of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    at: Instant,
    up: bool,
    flow: u32,
    seq: u32,
    ack: u32,
    window: u16,
    ecn: u8,
    report: Option<ReportBytes>,
}

type Log<T> = Arc<Mutex<Vec<T>>>;

/// Notes what the hosts sent and what reached them.
struct Ends {
    sent: Log<(Instant, Packet)>,
    seen: Log<Seen>,
}

fn seen(at: Instant, p: &Packet) -> Seen {
    let s = p.segment().expect("a segment");
    Seen {
        at,
        up: p.dir == Direction::Up,
        flow: p.flow.0,
        seq: s.seq.0,
        ack: s.ack.0,
        window: s.window,
        ecn: p.ecn as u8,
        report: s.report(),
    }
}

impl Recorder for Ends {
    fn packet(&mut self, now: Instant, _node: NodeId, packet: &Packet, event: PacketEvent) {
        match event {
            PacketEvent::Sent => self.sent.lock().unwrap().push((now, *packet)),
            PacketEvent::Delivered => self.seen.lock().unwrap().push(seen(now, packet)),
            _ => {}
        }
    }
}

/// Simulates `text`; what was sent, and what arrived.
fn simulate(scenario: &Scenario) -> (Vec<(Instant, Packet)>, Vec<Seen>) {
    let (sent, seen) = (Log::default(), Log::default());
    let ends = Ends {
        sent: Arc::clone(&sent),
        seen: Arc::clone(&seen),
    };
    let mut run = prepare(scenario, scenario.seed, Hosts::Simulated, |_| ends).unwrap();
    let end = Instant::ZERO + scenario.duration;
    run.world.run_until(end, &mut NoClock);
    let sent = core::mem::take(&mut *sent.lock().unwrap());
    let seen = core::mem::take(&mut *seen.lock().unwrap());
    (sent, seen)
}

/// The same arrivals as buffers through the emulator's code, under a virtual clock.
fn emulate(scenario: &Scenario, sent: &[(Instant, Packet)]) -> Vec<Seen> {
    let run = prepare(scenario, scenario.seed, Hosts::External, |recorder| {
        Tap::new(recorder, Duration::from_millis(10), false)
    })
    .unwrap();
    let flows = FlowTable::new(1, scenario.expanded_flows().len() as u32);
    let mut bridge = Bridge::new(run.world, flows, 1500);
    let mut out = Vec::new();
    let collect = |bridge: &mut Bridge, out: &mut Vec<Seen>| {
        bridge.departures(|d| {
            let ip = IpPacket::new(d.bytes).expect("an IP packet");
            assert!(ip.checksums_hold(), "checksums at {}", d.at);
            let tcp = ip.tcp().expect("a TCP segment");
            out.push(Seen {
                at: d.at,
                up: d.up,
                flow: d.flow.0,
                seq: tcp.seq.0,
                ack: tcp.ack.0,
                window: tcp.window,
                ecn: ip.ecn() as u8,
                report: report::find(&ip).map(|body| body.0),
            });
        });
    };
    for (at, packet) in sent {
        bridge.run_until(*at, &mut NoClock);
        let mut bytes = Vec::new();
        packet::encode(packet, IpVersion::V4, usize::MAX, &mut bytes);
        let up = packet.dir == Direction::Up;
        assert!(bridge.arrive(*at, up, 0, bytes).is_some());
        collect(&mut bridge, &mut out);
    }
    bridge.run_until(Instant::ZERO + scenario.duration, &mut NoClock);
    collect(&mut bridge, &mut out);
    out
}

/// Both ways of `text` give the same departures.
fn agree(text: &str) -> Vec<Seen> {
    let scenario = Scenario::parse("parity", text, Path::new(".")).expect("a good scenario");
    let (sent, simulated) = simulate(&scenario);
    let emulated = emulate(&scenario, &sent);
    assert!(simulated.len() > 1_000, "{} departures", simulated.len());
    for (k, (s, e)) in simulated.iter().zip(&emulated).enumerate() {
        assert_eq!(s, e, "departure {k}");
    }
    assert_eq!(simulated.len(), emulated.len());
    simulated
}

const LINK: &str = r#"
    name = "link"
    duration = "4 s"
    [link]
    kind = "rate"
    rate = "12 Mbit/s"
    queue = { kind = "fifo", limit = "60 packets" }
    [[flow]]
    controller = "cubic"
    [[flow]]
    controller = "reno"
    start = "1 s"
"#;

const CELL: &str = r#"
    name = "cell"
    duration = "3 s"
    [cell]
    rat = "lte"
    bandwidth = "10 MHz"
    fading = "epa"
    rlc = { buffer = "128 packets" }
    [[ue]]
    mobility = { kind = "static", distance = "300 m" }
"#;

#[test]
fn a_trace_link_gives_the_same_departures() {
    agree(LINK);
}

#[test]
fn a_cell_gives_the_same_departures() {
    agree(&format!(
        "{CELL}[[flow]]\ncontroller = \"cubic\"\n[[flow]]\ncontroller = \"bbr\"\nstart = \"1 s\"\n"
    ));
}

#[test]
fn reports_on_acknowledgments_are_the_same() {
    let seen = agree(&format!("{CELL}[[flow]]\ncontroller = \"xrc\"\n"));
    assert!(seen.iter().any(|s| s.report.is_some()));
}

#[test]
fn what_vaqm_and_marks_change_is_the_same() {
    let flow = "[upf]\nvaqm.mode = \"window\"\n[[flow]]\ncontroller = \"cubic\"\n";
    agree(&format!("{CELL}{flow}"));
    let marked = LINK
        .replace(
            "limit = \"60 packets\"",
            "limit = \"60 packets\", law = { kind = \"ramp\" }",
        )
        .replace("controller = \"cubic\"", "controller = \"prague\"");
    let seen = agree(&marked);
    assert!(seen.iter().any(|s| s.ecn == 3), "nothing was marked");
}

/// Data bytes of a flow that reached the UE, by sequence numbers from its first on.
fn downloaded(seen: &[Seen], flow: u32) -> u32 {
    let sequence = |s: &&Seen| !s.up && s.flow == flow;
    let numbers = seen.iter().filter(sequence).map(|s| s.seq);
    numbers.max().unwrap_or(0)
}

/// A download keeps its rate while its user uploads, in the simulator as on real buffers: on these the wait of an ACK in the
/// uplink is found from the time stamps in its octets.
#[test]
fn an_upload_behind_vaqm_starves_no_download() {
    for controller in ["cubic", "bbr3"] {
        let of = |mode: &str| {
            let upf = format!("[upf]\nvaqm.mode = \"{mode}\"\n");
            let down = format!("[[flow]]\ncontroller = \"{controller}\"\n");
            let up = "[[flow]]\ncontroller = \"cubic\"\ndirection = \"up\"\n";
            let cell = CELL.replace("duration = \"3 s\"", "duration = \"8 s\"");
            downloaded(&agree(&format!("{cell}{upf}{down}{up}")), 0)
        };
        let (without, with) = (of("off"), of("auto"));
        assert!(without > 5_000_000, "{controller}: {without} bytes");
        assert!(
            f64::from(with) > 0.9 * f64::from(without),
            "{controller}: {with} bytes behind vAQM, {without} without"
        );
    }
}

/// An emulator does not know which way a connection's data goes until that shows. The UE's reports then count from the first packet,
/// since a sender aligns them with what it sent.
#[test]
fn an_upload_is_reported_to_its_ue_from_its_first_packet() {
    let cell = CELL.replace("buffer = \"128 packets\"", "buffer = \"2 MB\"");
    let text = |flow: &str| format!("{cell}[[flow]]\n{flow}\n");
    let parse = |text: &str| Scenario::parse("upload", text, Path::new(".")).expect("a scenario");
    let simulated = parse(&text(
        "controller = \"cubic\"\ndirection = \"up\"\nstop = \"1.5 s\"",
    ));
    let (sent, _) = simulate(&simulated);
    let run = prepare(
        &parse(&text("controller = \"ebb\"")),
        1,
        Hosts::Found,
        |recorder| Tap::new(recorder, Duration::from_millis(10), false),
    )
    .unwrap();
    let mut bridge = Bridge::new(run.world, FlowTable::new(1, 1), 1500);

    // Bytes that went up so far, by when they came.
    let mut offered = Vec::new();
    for (at, packet) in &sent {
        bridge.run_until(*at, &mut NoClock);
        let mut bytes = Vec::new();
        packet::encode(packet, IpVersion::V4, usize::MAX, &mut bytes);
        let up = packet.dir == Direction::Up;
        if up {
            let before = offered.last().map_or(0, |o: &(Instant, u64)| o.1);
            offered.push((*at, before + bytes.len() as u64));
        }
        assert!(bridge.arrive(*at, up, 0, bytes).is_some());
        bridge.departures(|_| {});
    }
    bridge.run_until(Instant::ZERO + simulated.duration, &mut NoClock);
    bridge.departures(|_| {});

    let counters: Vec<(bool, Counters)> = bridge
        .reports
        .iter()
        .filter_map(|left| match left.report {
            Beside::Counters(octets) => Some((left.up, Counters::decode(&octets)?)),
            Beside::Report(_) => None,
        })
        .collect();
    // They go where the data comes from.
    assert!(counters.iter().all(|(up, c)| *up != c.upload));
    // What was sent before the data showed its way arrives beside them.
    let down = counters.iter().filter(|(_, c)| !c.upload).count();
    assert!(down < 30, "{down} reports of a download");
    let uploads = || counters.iter().map(|(_, c)| c).filter(|c| c.upload);
    assert!(uploads().count() > 500);

    let total = offered.last().expect("an upload").1;
    assert!(total > 1_000_000, "{total} bytes");
    for c in uploads() {
        let of = |at: Instant| {
            let upto = offered.partition_point(|o| o.0 <= at);
            upto.checked_sub(1).map_or(0, |k| offered[k].1)
        };
        let at = Instant::ZERO + Duration::from_micros(125) * u64::from(c.stamp);
        let counted = u64::from(c.gone) + u64::from(c.backlog);
        // A packet that comes in this slot may be seen in the next.
        let slot = Duration::from_millis(1);
        let (least, most) = (of(at - slot - slot), of(at + slot));
        assert!(
            (least..=most).contains(&counted),
            "{at}: counted {counted} of {least} to {most} bytes"
        );
    }
    let last = uploads().next_back().expect("reports");
    assert_eq!((u64::from(last.gone), last.backlog), (total, 0));
}

#[test]
fn buffers_go_with_their_packets() {
    let scenario = Scenario::parse("link", LINK, Path::new(".")).unwrap();
    let run = prepare(&scenario, 1, Hosts::External, |recorder| {
        Tap::new(recorder, Duration::from_millis(10), false)
    })
    .unwrap();
    let mut bridge = Bridge::new(run.world, FlowTable::new(1, 2), 1500);
    let mut left = 0;
    for k in 0..10_000_u32 {
        let at = Instant::ZERO + Duration::from_micros(200) * u64::from(k);
        bridge.run_until(at, &mut NoClock);
        let p = Packet {
            len: 1500,
            body: Body::Tcp(Segment {
                seq: SeqNum(k * 1448),
                flags: TcpFlags::ACK,
                payload: 1460,
                ..Segment::default()
            }),
            ..Packet::default()
        };
        let mut bytes = Vec::new();
        packet::encode(&p, IpVersion::V4, usize::MAX, &mut bytes);
        assert!(bridge.arrive(at, false, 0, bytes).is_some());
        bridge.departures(|_| left += 1);
        // The queue, the packet in transit and the lane in front of it.
        assert!(bridge.held() < 200, "{} buffers are held", bridge.held());
    }
    bridge.run_until(Instant::from_millis(10_000), &mut NoClock);
    bridge.departures(|_| left += 1);
    // What was still on the lane came to a full queue.
    let dropped = bridge.world.recorder().counters.dropped;
    assert!(dropped > 1_000, "five times too much came");
    assert_eq!(left + dropped, 10_000);
    assert_eq!(bridge.held(), 0);
}
