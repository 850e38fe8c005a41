//! What a base station counts for a sender: nothing that it cannot know yet, nothing late, and nothing forgotten.

use std::sync::{Arc, Mutex};

use slackwater_control::{
    Ack, AnyController, CongestionEvent, Controller, Counters, Intent, PathReport, PathView, Sent,
    registry,
};
use slackwater_core::record::PacketEvent;
use slackwater_core::{
    Bytes, Direction, Draw, Duration, Instant, NodeId, Packet, Qfi, Rate, Recorder, Rnti, UeId,
};
use slackwater_edge::gnb::IpScale;
use slackwater_queue::QueueConfig;
use slackwater_ran::cell::{BearerConfig, CellConfig, UeConfig};
use slackwater_ran::phy::channel::{ChannelConfig, Given};
use slackwater_ran::rlc::{Limit, RlcConfig};
use slackwater_sim::{
    Carrier, Faults, FlowConfig, HopConfig, LaneConfig, LinkConfig, NoClock, Service, Sink,
    Transport, WorldBuilder, counter_agent,
};
use slackwater_transport::app::{AppConfig, TransfersConfig};
use slackwater_transport::tcp::Config as TcpConfig;

const DELAY: Duration = Duration::from_millis(20);
const EVERY: Duration = Duration::from_millis(5);
/// A queue that does not run empty between two reports.
const LONG: Duration = Duration::from_millis(12);

type Heard = Arc<Mutex<Vec<(Instant, Counters)>>>;

/// CUBIC that notes the counters.
#[derive(Clone, Debug)]
struct Ear {
    cubic: AnyController,
    heard: Heard,
}

impl Controller for Ear {
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.cubic.on_sent(now, path, sent);
    }
    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.cubic.on_ack(now, path, ack);
    }
    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.cubic.on_congestion(now, path, event);
    }
    fn takes_counters(&self) -> bool {
        true
    }
    fn on_report(&mut self, now: Instant, _path: &PathView, report: &PathReport) {
        if let PathReport::Counters(counters) = *report {
            self.heard.lock().expect("one thread").push((now, counters));
        }
    }
    fn intent(&self) -> Intent {
        self.cubic.intent()
    }
    fn name(&self) -> &'static str {
        "ear"
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

/// The packets of data that left the radio at `node`: when, and IP bytes.
struct Left {
    way: Direction,
    node: NodeId,
    packets: Vec<(Instant, u64)>,
}

impl Recorder for Left {
    fn packet(&mut self, now: Instant, node: NodeId, packet: &Packet, event: PacketEvent) {
        let left = matches!(
            event,
            PacketEvent::Dequeued { .. } | PacketEvent::Dropped(_)
        );
        if left && packet.dir == self.way && node == self.node {
            self.packets.push((now, u64::from(packet.len)));
        }
    }
}

impl Left {
    /// Bytes by `t`.
    fn by(&self, t: Instant) -> u64 {
        let before = self.packets.iter().take_while(|l| l.0 <= t);
        before.map(|l| l.1).sum()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Road {
    /// 10 MHz of LTE at MCS 20 that loses a fifth of its blocks, in front of a buffer of 300 packets.
    Lte,
    /// 20 MHz of NR TDD, the same.
    Nr,
    /// 20 Mbit/s.
    Link,
}

const WAYS: [(Road, Direction); 6] = [
    (Road::Lte, Direction::Down),
    (Road::Nr, Direction::Down),
    (Road::Link, Direction::Down),
    (Road::Lte, Direction::Up),
    (Road::Nr, Direction::Up),
    (Road::Link, Direction::Up),
];

/// A file of 16 MB over `road`, which goes by `way`: the counters that came, and what left.
fn run((road, way): (Road, Direction)) -> (Vec<(Instant, Counters)>, Left) {
    let mut world = WorldBuilder::new(3);
    let cell = match road {
        Road::Lte => Some(CellConfig::lte(10.0)),
        Road::Nr => Some(CellConfig::nr(20, 1)),
        Road::Link => None,
    };
    let (hop, agent) = if let Some(mut cell) = cell {
        cell.observe_pdcp = true;
        cell.observe_gone = way == Direction::Down;
        cell.observe_gone_up = way == Direction::Up;
        let ue = UeConfig {
            channel: ChannelConfig {
                given: Some(Given::FixedMcs(20)),
                bler: Some(0.2),
                downlink: cell.downlink_budget(),
                uplink: cell.uplink_budget(),
                ..ChannelConfig::default()
            },
            bearers: vec![BearerConfig {
                rlc: RlcConfig::um(Limit::Packets(300)),
                ..BearerConfig::default()
            }],
            rnti: Rnti(70),
        };
        let node = world.add_cell(&cell, vec![ue], None).expect("a cell");
        let scale = match road {
            Road::Nr => IpScale::NR_UM,
            _ => IpScale::LTE,
        };
        let agent = counter_agent(&cell, way, scale);
        let agent = world.add_agent(node, Box::new(agent));
        let (ue, qfi) = (UeId(0), Qfi(1));
        (HopConfig::Cell { node, ue, qfi }, agent)
    } else {
        let service = Service::constant(Rate::from_mbps(20.0));
        let queue = QueueConfig::droptail(300).build::<Packet>(Draw::new(1));
        let queue = Box::new(queue);
        let node = world.add_link(LinkConfig { service, queue });
        (HopConfig::Link(node), world.add_link_counters(node))
    };
    let heard = Heard::default();
    let config = registry::Config::new(1448, Draw::new(2));
    let controller = AnyController::Plugin(Box::new(Ear {
        cubic: registry::build("cubic", &config).expect("the controller exists"),
        heard: Arc::clone(&heard),
    }));
    let lane = LaneConfig {
        delay: DELAY,
        ..LaneConfig::default()
    };
    let node = match hop {
        HopConfig::Cell { node, .. } | HopConfig::Link(node) => node,
        other => panic!("{other:?}"),
    };
    // A link is for data alone, a cell for both ways.
    let crosses = |dir| road != Road::Link || dir == way;
    let lane_hop = HopConfig::Lane(lane);
    let radio = |dir| crosses(dir).then_some(hop);
    let down: Vec<_> = [Some(lane_hop), radio(Direction::Down)]
        .into_iter()
        .flatten()
        .collect();
    let up = [radio(Direction::Up), Some(lane_hop)]
        .into_iter()
        .flatten()
        .collect();
    // The uplink of NR has a slot in five.
    let stop = Instant::from_millis(40_000);
    let flow = world.add_flow(FlowConfig {
        direction: way,
        transport: Transport::Tcp {
            config: Box::new(TcpConfig::default()),
            controller: Box::new(controller),
        },
        app: AppConfig::Transfers(TransfersConfig {
            min: Bytes(16_000_000),
            max: Bytes(16_000_000),
            gap: Duration::ZERO,
            count: Some(1),
            reconnect: false,
        }),
        start: Instant::from_millis(100),
        stop,
        down,
        up,
    });
    let carrier = Carrier::Socket { every: EVERY, lane };
    world.connect(agent, carrier, Faults::default(), Sink::Sender(flow));
    let mut world = world.build(Left {
        way,
        node,
        packets: Vec::new(),
    });
    world.run_until(stop, &mut NoClock);
    let left = world.into_recorder();
    let heard = heard.lock().expect("one thread").clone();
    (heard, left)
}

#[test]
fn a_base_station_tells_of_all_that_is_gone_once_it_can_know() {
    for road in WAYS {
        let (heard, left) = run(road);
        assert!(heard.len() > 200, "{road:?}: {}", heard.len());
        assert!(left.by(Instant::MAX) > 16_000_000, "{road:?}");
        for (at, counters) in &heard {
            let read = *at - DELAY;
            assert_eq!(counters.stamp, Counters::stamp_of(read), "{road:?}");
            assert_eq!(counters.upload, road.1 == Direction::Up, "{road:?}");
            let gone = u64::from(counters.gone);
            assert!(gone <= left.by(read), "{road:?}: {at} {counters:?}");
            // HARQ's feedback takes up to 13 slots in this pattern, and a loss RLC's timer of reassembly.
            let known = left.by(read.saturating_sub(Duration::from_millis(60)));
            assert!(gone >= known, "{road:?}: {at} {counters:?}, not {known}");
        }
        let (_, last) = heard.last().expect("reports came");
        assert_eq!(last.backlog, 0, "{road:?}");
        assert_eq!(u64::from(last.gone), left.by(Instant::MAX), "{road:?}");
    }
}

#[test]
fn what_is_offered_while_packets_wait_is_what_leaves() {
    for road in WAYS {
        let (heard, _) = run(road);
        let (mut offered, mut gone) = (0.0, 0.0);
        for pair in heard.windows(2) {
            let ((_, before), (_, after)) = (pair[0], pair[1]);
            // More waits than a slot carries, in both reports.
            if before.hol > LONG && after.hol > LONG {
                offered += f64::from(after.offered - before.offered);
                gone += f64::from(after.gone - before.gone);
            }
        }
        assert!(gone > 1e6, "{road:?}: {gone}");
        let ratio = offered / gone;
        assert!((0.97..1.03).contains(&ratio), "{road:?}: {ratio}");
    }
}
