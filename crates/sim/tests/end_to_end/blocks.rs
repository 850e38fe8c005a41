//! What a feed of transport blocks tells: never more than the link had, and of no time without the flow.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use slackwater_control::{
    Ack, AnyController, CongestionEvent, Controller, Intent, PathReport, PathView, Sent, registry,
};
use slackwater_core::record::PacketEvent;
use slackwater_core::{
    Bytes, Direction, Draw, Duration, Instant, NodeId, Packet, Qfi, Rate, Recorder, Rnti, UeId,
};
use slackwater_edge::ue::BlocksMode;
use slackwater_queue::QueueConfig;
use slackwater_ran::cell::{BearerConfig, CellConfig, UeConfig};
use slackwater_ran::phy::channel::{ChannelConfig, Given};
use slackwater_sim::{
    Carrier, Faults, FlowConfig, HopConfig, LaneConfig, LinkConfig, NoClock, Service, Sink,
    Transport, WorldBuilder, tbs_agent,
};
use slackwater_transport::app::{AppConfig, TransfersConfig};
use slackwater_transport::tcp::Config as TcpConfig;

/// A flow of which the UE sees nothing for so long is idle (`sim::world::feed`).
const PAUSE: f64 = 2.0;
/// The longest span of a report.
const LONGEST: f64 = 2.048;
const DELAY: Duration = Duration::from_millis(20);

/// A report as it came.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// Seconds.
    at: f64,
    bytes: u64,
    /// Seconds.
    span: f64,
    end: u16,
}

impl Told {
    fn mbps(&self) -> f64 {
        self.bytes as f64 * 8e-6 / self.span
    }

    /// The end in seconds: the last that fits before the report came.
    fn end(&self) -> f64 {
        let at = (self.at * 1e3) as u64;
        let back = (at as u16).wrapping_sub(self.end);
        (at - u64::from(back)) as f64 * 1e-3
    }
}

/// CUBIC that notes the reports.
#[derive(Clone, Debug)]
struct Ear {
    cubic: AnyController,
    told: Arc<Mutex<Vec<Told>>>,
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
    fn takes_blocks(&self) -> bool {
        true
    }
    fn on_report(&mut self, now: Instant, _path: &PathView, report: &PathReport) {
        if let PathReport::TransportBlocks { bytes, span, end } = *report {
            self.told.lock().expect("one thread").push(Told {
                at: now.since(Instant::ZERO).as_secs_f64(),
                bytes: bytes.0,
                span: span.as_secs_f64(),
                end,
            });
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

/// The times at which the UE saw packets, seconds.
#[derive(Default)]
struct Seen(Vec<f64>);

impl Recorder for Seen {
    fn packet(&mut self, now: Instant, _node: NodeId, packet: &Packet, event: PacketEvent) {
        let at_ue = match event {
            PacketEvent::Delivered => packet.dir == Direction::Down,
            PacketEvent::Sent => packet.dir == Direction::Up,
            _ => false,
        };
        if at_ue {
            self.0.push(now.since(Instant::ZERO).as_secs_f64());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Ack,
    Datagram(u64),
    Socket(u64),
}

/// A bottleneck that does not change.
#[derive(Clone, Copy, Debug)]
enum Road {
    Rate(f64),
    /// This many opportunities in each period of milliseconds, as evenly as whole milliseconds allow.
    Trace(u64, u64),
    /// 10 MHz of LTE at MCS 20.
    Lte,
    /// 20 MHz of NR TDD at MCS 20.
    Nr,
}

/// A flow of files of `bytes`, the next `gap` after the last began.
#[derive(Clone, Copy, Debug)]
struct Case {
    road: Road,
    way: Way,
    mode: BlocksMode,
    start: Duration,
    gap: Duration,
    bytes: u64,
    files: u32,
}

const CASE: Case = Case {
    road: Road::Rate(10.0),
    way: Way::Ack,
    mode: BlocksMode::Capacity,
    start: Duration::ZERO,
    gap: Duration::ZERO,
    bytes: 400_000,
    files: 3,
};

impl Road {
    fn service(self) -> Option<Service> {
        match self {
            Self::Rate(mbps) => Some(Service::constant(Rate::from_mbps(mbps))),
            Self::Trace(n, period) => Some(Service::Trace {
                opportunities: (1..=n).map(|k| k * period / n).collect(),
                period,
            }),
            Self::Lte | Self::Nr => None,
        }
    }

    /// Bytes that the link has by whole millisecond `ms`.
    fn capacity(self, ms: u64) -> u64 {
        match self {
            Self::Rate(mbps) => (mbps * 125.0 * ms as f64 + 1e-6) as u64,
            Self::Trace(n, period) => {
                let rest = (1..=n).filter(|k| k * period / n <= ms % period);
                (ms / period * n + rest.count() as u64) * 1504
            }
            Self::Lte | Self::Nr => unreachable!("a cell's is not known by heart"),
        }
    }
}

impl Case {
    /// What was told, and when the UE saw packets.
    fn run(&self) -> (Vec<Told>, Vec<f64>) {
        let mut world = WorldBuilder::new(1);
        let (node, hop) = if let Some(service) = self.road.service() {
            let queue = QueueConfig::droptail(100).build::<Packet>(Draw::new(1));
            let queue = Box::new(queue);
            let node = world.add_link(LinkConfig { service, queue });
            (node, HopConfig::Link(node))
        } else {
            let cell = match self.road {
                Road::Lte => CellConfig::lte(10.0),
                _ => CellConfig::nr(20, 1),
            };
            let ue = UeConfig {
                channel: ChannelConfig {
                    given: Some(Given::FixedMcs(20)),
                    downlink: cell.downlink_budget(),
                    uplink: cell.uplink_budget(),
                    ..ChannelConfig::default()
                },
                bearers: vec![BearerConfig::default()],
                rnti: Rnti(70),
            };
            let node = world
                .add_cell(&cell, vec![ue], None)
                .expect("the cell is well-formed");
            let (ue, qfi) = (UeId(0), Qfi(1));
            (node, HopConfig::Cell { node, ue, qfi })
        };
        let told = Arc::default();
        let config = registry::Config::new(1448, Draw::new(2));
        let controller = AnyController::Plugin(Box::new(Ear {
            cubic: registry::build("cubic", &config).expect("the controller exists"),
            told: Arc::clone(&told),
        }));
        let lane = LaneConfig {
            delay: DELAY,
            ..LaneConfig::default()
        };
        let up = match hop {
            HopConfig::Cell { .. } => vec![hop, HopConfig::Lane(lane)],
            _ => vec![HopConfig::Lane(lane)],
        };
        let stop = Instant::ZERO
            + self.start
            + (self.gap + Duration::from_secs(8)) * u64::from(self.files);
        let flow = world.add_flow(FlowConfig {
            direction: Direction::Down,
            transport: Transport::Tcp {
                config: Box::new(TcpConfig::default()),
                controller: Box::new(controller),
            },
            app: AppConfig::Transfers(TransfersConfig {
                min: Bytes(self.bytes),
                max: Bytes(self.bytes),
                gap: self.gap,
                count: Some(self.files),
                reconnect: false,
            }),
            start: Instant::ZERO + self.start,
            stop,
            down: vec![HopConfig::Lane(lane), hop],
            up,
        });
        let carrier = match self.way {
            Way::Ack => Carrier::OnAck,
            Way::Datagram(ms) => Carrier::Datagram {
                every: Duration::from_millis(ms),
                lane,
            },
            Way::Socket(ms) => Carrier::Socket {
                every: Duration::from_millis(ms),
                lane,
            },
        };
        let agent = match hop {
            HopConfig::Cell { .. } => {
                let agent = tbs_agent(world.cell_config(node), self.mode);
                world.add_agent(node, Box::new(agent))
            }
            _ => world.add_link_agent(node, self.mode),
        };
        world.connect(agent, carrier, Faults::default(), Sink::Sender(flow));
        let mut world = world.build(Seen::default());
        world.run_until(stop, &mut NoClock);
        let seen = world.into_recorder().0;
        let told = told.lock().expect("one thread").clone();
        (told, seen)
    }

    /// Each report tells what the link had in its time, to the byte, and of nothing but time with the flow.
    fn check(&self) {
        let (told, seen) = self.run();
        assert!(told.len() as u32 >= self.files, "{self:?}: {}", told.len());
        for t in &told {
            assert!(t.span < LONGEST, "{self:?}: {t:?}");
            let (to, ms) = (
                (t.end() * 1e3).round() as u64,
                (t.span * 1e3).round() as u64,
            );
            let had = self.road.capacity(to) - self.road.capacity(to - ms);
            // A cut span is a mean; a rate's bytes are floors.
            let slack = if t.span > PAUSE { had / 1000 } else { 1 };
            assert!(t.bytes.abs_diff(had) <= slack, "{self:?}: {t:?}, not {had}");
            // The UE had seen something before, and not long ago.
            let (from, to) = (t.end() - t.span, t.end());
            let before = seen.iter().rev().find(|s| **s <= from + 1e-3);
            assert!(before.is_some(), "{self:?}: {t:?} begins before the flow");
            let alone = seen.windows(2).find(|w| {
                let (left, came) = (w[0] + PAUSE + 1e-9, w[1] - 1e-3);
                came > left && from < came && to > left + 1e-3
            });
            assert!(
                alone.is_none(),
                "{self:?}: {t:?} tells of the pause {alone:?}"
            );
            let last = seen.iter().rev().find(|s| **s <= to);
            let since = to - last.expect("seen above");
            assert!(
                since <= PAUSE,
                "{self:?}: {t:?} comes {since} s into a pause"
            );
        }
    }
}

const WAYS: [Way; 4] = [Way::Ack, Way::Datagram(10), Way::Socket(10), Way::Socket(1)];

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_late_flow_is_told_what_the_link_has() {
    for way in WAYS {
        for start in [0, 37, 74, 111] {
            let start = s(start);
            Case { way, start, ..CASE }.check();
            let road = Road::Trace(7, 10);
            Case {
                road,
                way,
                start,
                ..CASE
            }
            .check();
        }
    }
}

#[test]
fn a_pause_is_told_as_a_mean_or_not_at_all() {
    for way in WAYS {
        for gap in [1, 10, 64, 66, 100, 132] {
            let gap = s(gap);
            Case { way, gap, ..CASE }.check();
        }
    }
}

#[test]
fn feeds_on_their_own_stop_with_the_flow() {
    // Between two files 100 s apart a socket of 10 ms sends for 2 s.
    let case = Case {
        way: Way::Socket(10),
        gap: s(100),
        ..CASE
    };
    let (told, _) = case.run();
    let most = 3 * (100 + 200 + 10);
    assert!((3 * 200..most).contains(&told.len()), "{}", told.len());
    let way = Way::Datagram(10);
    let (told, _) = Case { way, ..case }.run();
    // Beside ACKs, and then twenty.
    assert!(
        (3 * 20..3 * (100 + 20)).contains(&told.len()),
        "{}",
        told.len()
    );
}

#[test]
fn a_cell_that_sleeps_between_bursts_is_not_counted_twice() {
    for (road, slot) in [(Road::Lte, 1e-3), (Road::Nr, 0.5e-3)] {
        for way in WAYS {
            // 10 kB each 30 ms: some 14 % of the LTE cell, which sleeps in between.
            let bursts = Case {
                road,
                way,
                mode: BlocksMode::AllocatedIdle,
                gap: Duration::from_millis(30),
                bytes: 10_000,
                files: 200,
                ..CASE
            };
            let busy = Case {
                gap: Duration::ZERO,
                bytes: 8_000_000,
                files: 1,
                mode: BlocksMode::Capacity,
                ..bursts
            };
            let mean = |case: &Case| {
                let (told, _) = case.run();
                let bytes: u64 = told.iter().map(|t| t.bytes).sum();
                bytes as f64 * 8e-6 / told.iter().map(|t| t.span).sum::<f64>()
            };
            let full = mean(&busy);
            let (told, _) = bursts.run();
            let said = mean(&bursts);
            assert!(
                (0.93..1.02).contains(&(said / full)),
                "{road:?} {way:?}: {said} of {full}"
            );
            // Any 20 ms and more, but for the border of a TDD pattern, which is up to two slots.
            for t in told.iter().filter(|t| t.span >= 0.02) {
                let most = full * 1.02 * (1.0 + 2.0 * slot / t.span);
                assert!(
                    t.mbps() <= most,
                    "{road:?} {way:?}: {t:?} is {}, not {most}",
                    t.mbps()
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_report_tells_more_than_the_link_had(
        start in 0_u64..200_000_000,
        gap in prop_oneof![0_u64..5_000, 0_u64..140_000],
        mbps in 1.0_f64..60.0,
        trace in prop::option::of((1_u64..20, 1_u64..40)),
        way in prop_oneof![
            Just(Way::Ack),
            (1_u64..3_000).prop_map(Way::Datagram),
            (1_u64..3_000).prop_map(Way::Socket),
        ],
        bytes in 1_000_u64..300_000,
    ) {
        let road = match trace {
            Some((n, period)) => Road::Trace(n.min(period), period),
            // Whole bytes per millisecond.
            None => Road::Rate((mbps * 125.0).round() / 125.0),
        };
        let (start, gap) = (Duration::from_micros(start), Duration::from_millis(gap));
        let case = Case { road, way, start, gap, bytes, ..CASE };
        let (told, _) = case.run();
        for t in &told {
            prop_assert!(t.span < LONGEST);
            let most = match road {
                Road::Rate(mbps) => mbps,
                // Up to one opportunity that falls into the span by its border.
                Road::Trace(n, period) => (n as f64 / period as f64 + 1e-3 / t.span) * 12.032,
                _ => unreachable!("drawn above"),
            };
            prop_assert!(t.mbps() <= most * (1.0 + 1e-6) + 8e-6 / t.span, "{t:?} is {}, not {most}", t.mbps());
        }
    }
}
