//! A ping beside an XRC download: what the cell reports on the download's acknowledgments, where packets are real buffers.

use std::path::Path;
use std::sync::{Arc, Mutex};

use slackwater_core::record::PacketEvent;
use slackwater_core::{Direction, Duration, Instant, NodeId, Packet, Recorder};
use slackwater_lab::run::prepare;
use slackwater_live::bridge::{Bridge, Tap};
use slackwater_live::flows::FlowTable;
use slackwater_scenario::Scenario;
use slackwater_scenario::build::Hosts;
use slackwater_signal::{PathReport, ReportBody};
use slackwater_sim::NoClock;
use slackwater_wire::{IpPacket, IpVersion, checksum, packet, report};

/// The second flow never starts: its place is the pings'.
const SCENARIO: &str = r#"
    name = "thin"
    duration = "4 s"
    [path]
    rtt = "30 ms"
    [cell]
    rat = "lte"
    bandwidth = "10 MHz"
    [[ue]]
    mobility = { kind = "static", distance = "150 m" }
    [[flow]]
    controller = "xrc"
    [[flow]]
    controller = "xrc"
    start = "3.99 s"
"#;

fn scenario(share: &str) -> Scenario {
    let scenario = Scenario::parse("thin", SCENARIO, Path::new(".")).expect("a good scenario");
    scenario
        .with("feedback.xrc.share", share)
        .expect("a way to share")
}

/// Notes what the hosts sent.
struct Ends(Arc<Mutex<Vec<(Instant, Packet)>>>);

impl Recorder for Ends {
    fn packet(&mut self, now: Instant, _node: NodeId, packet: &Packet, event: PacketEvent) {
        if event == PacketEvent::Sent && packet.flow.0 == 0 {
            self.0.lock().expect("one thread").push((now, *packet));
        }
    }
}

/// An echo request of `ping`, of 84 bytes (RFC 792).
fn echo() -> Vec<u8> {
    let mut ip = vec![
        0x45, 0, 0, 84, 0, 0, 0x40, 0, 64, 1, 0, 0, 10, 9, 8, 7, 10, 9, 8, 6,
    ];
    let sum = checksum::finish(checksum::sum(&ip));
    ip[10..12].copy_from_slice(&sum);
    ip.extend([8, 0, 0xf7, 0xff]);
    ip.resize(84, 0);
    ip
}

/// The mean rate in Mbit/s that the download's acknowledgments carry, with `pings` a second towards the UE.
fn reported(scenario: &Scenario, sent: &[(Instant, Packet)], pings: u64) -> f64 {
    let run = prepare(scenario, scenario.seed, Hosts::External, |recorder| {
        Tap::new(recorder, Duration::from_millis(10), false)
    });
    let mut bridge = Bridge::new(run.expect("a world").world, FlowTable::new(1, 2), 1500);
    let mut rates = Vec::new();
    let mut next = Instant::ZERO;
    for (at, packet) in sent {
        while pings > 0 && next <= *at {
            bridge.run_until(next, &mut NoClock);
            assert!(bridge.arrive(next, false, 0, echo()).is_some());
            next += Duration::from_secs(1) / pings;
        }
        bridge.run_until(*at, &mut NoClock);
        let mut bytes = Vec::new();
        packet::encode(packet, IpVersion::V4, usize::MAX, &mut bytes);
        let up = packet.dir == Direction::Up;
        assert!(bridge.arrive(*at, up, 0, bytes).is_some());
        bridge.departures(|d| {
            let ip = IpPacket::new(d.bytes).expect("an IP packet");
            let report = report::find(&ip).and_then(ReportBody::report);
            if let Some(PathReport::Share { rate, .. }) =
                report.filter(|_| d.at > Instant::from_millis(1_000))
            {
                rates.push(rate.as_mbps());
            }
        });
    }
    assert!(rates.len() > 1_000, "{} reports", rates.len());
    rates.iter().sum::<f64>() / rates.len() as f64
}

#[test]
fn twenty_pings_a_second_leave_a_download_its_rate() {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let demand = scenario("demand");
    let ends = Ends(Arc::clone(&sent));
    let run = prepare(&demand, demand.seed, Hosts::Simulated, |_| ends);
    let end = Instant::ZERO + demand.duration;
    run.expect("a world").world.run_until(end, &mut NoClock);
    let sent = core::mem::take(&mut *sent.lock().expect("one thread"));

    let alone = reported(&demand, &sent, 0);
    let beside = reported(&demand, &sent, 20);
    assert!(alone > 30.0, "{alone} Mbit/s");
    assert!(beside > 0.97 * alone, "{beside} and {alone} Mbit/s");
    // The paper divides by the number of flows.
    let counted = reported(&scenario("count"), &sent, 20);
    assert!(counted < 0.7 * alone, "{counted} and {alone} Mbit/s");
}
