//! What is sent arrives, is dropped with a reason, or is on its way.

use slackwater_core::{Bytes, Duration, Instant, Rate};
use slackwater_sim::NoClock;
use slackwater_transport::app::{AppConfig, FrameClock, FramesConfig};

use crate::audit::Audit;
use crate::worlds::{CONTROLLERS, Load, Path, Transport};

/// Runs until nothing is left to happen, and looks at every packet's end.
pub(crate) fn audit(load: &Load, seed: u64) {
    let what = format!(
        "{:?} {:?} {} seed {seed}",
        load.path, load.direction, load.controller
    );
    let mut world = load.world(seed).build(Audit::default());
    world.run_until(load.stop, &mut NoClock);
    let busy: u64 = world.recorder().ledgers.iter().map(|l| l.sent.0).sum();
    assert!(busy > 100, "{what}: the flow is alive ({busy} packets)");
    // What was written is sent and acknowledged within the buffers' worth of time.
    let mut end = load.stop;
    for _ in 0..100 {
        end += Duration::from_secs(1);
        world.run_until(end, &mut NoClock);
        if world
            .recorder()
            .ledgers
            .iter()
            .all(|l| l.in_flight.is_empty())
        {
            break;
        }
    }
    for flow in 0..world.flows() as u32 {
        let (sender, receiver) = world.hosts(slackwater_core::FlowId(flow));
        let got = receiver.delivered().get();
        if let Some(acked) = sender.acked() {
            assert_eq!(acked.get(), got, "{what}: acknowledged and delivered");
        }
        assert!(got > 100_000, "{what}: flow {flow} made progress ({got})");
    }
    let audit = world.into_recorder();
    for (i, l) in audit.ledgers.iter().enumerate() {
        let what = format!("{what}, flow {} direction {}", i / 2, i % 2);
        assert_eq!(
            l.in_flight.len(),
            0,
            "{what}: left over {:?}",
            l.in_flight.front()
        );
        assert_eq!(l.sent.0, l.delivered.0 + l.dropped.0, "{what}: packets");
        assert_eq!(l.sent.1, l.delivered.1 + l.dropped.1, "{what}: bytes");
        assert_eq!(l.overtakes, 0, "{what}: packets keep their order");
        if matches!(load.path, Path::LteAm | Path::NrAm) {
            assert_eq!(l.by_radio, 0, "{what}: AM delivers what it accepts");
        }
    }
    for (node, index, sample) in &audit.last_links {
        assert_eq!(
            sample.backlog,
            Bytes::ZERO,
            "{what}: {node}/{index} is drained"
        );
    }
}

#[test]
fn every_packet_has_one_end_on_wired_paths() {
    for path in Path::ALL.into_iter().filter(|p| !p.is_cell()) {
        for controller in CONTROLLERS {
            audit(&Load::bulk(path, controller, 4), 1);
            audit(&Load::bulk(path, controller, 2).up(), 2);
        }
    }
}

#[test]
fn every_packet_has_one_end_on_cells() {
    for path in Path::ALL.into_iter().filter(|p| p.is_cell()) {
        for controller in CONTROLLERS {
            audit(&Load::bulk(path, controller, 2), 1);
            audit(&Load::bulk(path, controller, 2).up(), 2);
        }
    }
}

#[test]
fn every_packet_has_one_end_where_flows_share() {
    for path in Path::ALL {
        audit(
            &Load {
                ues: if path.is_cell() { 4 } else { 1 },
                flows_per_ue: 4,
                ..Load::bulk(path, "cubic", 5)
            },
            1,
        );
    }
}

#[test]
fn every_datagram_has_one_end() {
    // 8 Mbit/s of frames overload the wired path while it is slow, and the far cell.
    let frames = FramesConfig {
        fps: 60.0,
        rate: Rate::from_mbps(8.0),
        size_cv: 0.1,
        interval_sigma: Duration::from_millis(2),
        clock: FrameClock::Gaps,
        lead: Duration::ZERO,
        random_phase: true,
    };
    for path in Path::ALL {
        let load = Load {
            app: AppConfig::Frames(frames),
            flows_per_ue: 2,
            ..Load::bulk(path, "reno", 4).over(Transport::Udp)
        };
        audit(&load, 3);
        audit(&load.up(), 4);
    }
}

#[test]
fn every_quic_packet_has_one_end() {
    for path in Path::ALL {
        for controller in ["cubic", "bbr"] {
            let load = Load {
                flows_per_ue: 2,
                ..Load::bulk(path, controller, 2).over(Transport::Quic)
            };
            audit(&load, 5);
            audit(&load.up(), 6);
        }
    }
}

#[test]
fn the_ledger_would_notice() {
    use slackwater_core::record::PacketEvent;
    use slackwater_core::{NodeId, Packet, Recorder as _};
    let packet = Packet {
        len: 40,
        ..Packet::default()
    };
    let twice = std::panic::catch_unwind(|| {
        let mut audit = Audit::default();
        audit.packet(Instant::ZERO, NodeId(0), &packet, PacketEvent::Sent);
        for at in [20, 21] {
            audit.packet(
                Instant::from_millis(at),
                NodeId(0),
                &packet,
                PacketEvent::Delivered,
            );
        }
    });
    assert!(twice.is_err(), "a packet that arrives twice");
}
