//! Edge functions on the path, and the cell's reports to them.

use std::sync::{Arc, Mutex};

use slackwater_control::registry;
use slackwater_core::record::{DropReason, LinkSample, PacketEvent};
use slackwater_core::{
    Bytes, Direction, Draw, Duration, FlowId, Instant, NodeId, Packet, PacketView as _, Qfi, Rate,
    Recorder, Rnti, UeId,
};
use slackwater_edge::gnb::ReporterConfig;
use slackwater_edge::upf::cecc::{Cecc, CeccConfig};
use slackwater_edge::upf::vaqm::{Vaqm, VaqmConfig};
use slackwater_edge::{EdgeFunction, RanReport, Session, Verdict};
use slackwater_ran::cell::{BearerConfig, CellConfig, UeConfig};
use slackwater_ran::phy::channel::{ChannelConfig, Given};
use slackwater_ran::rlc::{Limit, RlcConfig};
use slackwater_sim::{
    Carrier, Faults, FlowConfig, HopConfig, LaneConfig, NoClock, Profile, Sink, Transport,
    WorldBuilder, rlc_reporter,
};
use slackwater_transport::app::{AppConfig, FrameClock, FramesConfig};
use slackwater_transport::tcp::Config as TcpConfig;

use crate::audit::Audit;
use crate::worlds::DELAY;

type Function = Box<dyn EdgeFunction<Packet> + Send>;

/// One-way delay between the functions and the cell.
const N3: Duration = Duration::from_micros(200);

/// What the cell reports to the functions, and how.
#[derive(Clone, Copy, Default)]
struct Reports {
    reporter: ReporterConfig,
    delay: Duration,
    jitter: Duration,
    faults: Faults,
}

impl Reports {
    fn connect(self, world: &mut WorldBuilder, cell: NodeId, function: NodeId) {
        let agent = rlc_reporter(world.cell_config(cell), self.reporter);
        let agent = world.add_agent(cell, Box::new(agent));
        let carrier = Carrier::Gtpu {
            profile: Profile::Multi,
            delay: self.delay,
            jitter: self.jitter,
        };
        world.connect(agent, carrier, self.faults, Sink::Function(function));
    }
}

/// A cell behind edge functions.
struct Setup {
    cell: CellConfig,
    mcs: u8,
    ues: u32,
    /// From the server to the UE.
    functions: Vec<Function>,
    reports: Option<Reports>,
    /// Of every session.
    ambr: Rate,
    app: AppConfig,
    datagrams: bool,
    stop: Instant,
}

impl Setup {
    fn new(functions: Vec<Function>) -> Self {
        Self {
            cell: CellConfig::lte(10.0),
            mcs: 5,
            ues: 1,
            functions,
            reports: None,
            ambr: Rate::ZERO,
            app: AppConfig::Bulk,
            datagrams: false,
            stop: Instant::ZERO + Duration::from_secs(12),
        }
    }

    fn world(self) -> WorldBuilder {
        let mut world = WorldBuilder::new(1);
        let channel = ChannelConfig {
            given: Some(Given::FixedMcs(self.mcs)),
            bler: Some(0.0),
            downlink: self.cell.downlink_budget(),
            uplink: self.cell.uplink_budget(),
            ..ChannelConfig::default()
        };
        let ues = (0..self.ues).map(|i| UeConfig {
            channel: channel.clone(),
            bearers: vec![BearerConfig {
                rlc: RlcConfig::um(Limit::Bytes(Bytes(192_000))),
                ..BearerConfig::default()
            }],
            rnti: Rnti(70 + i as u16),
        });
        let cell = world
            .add_cell(&self.cell, ues.collect(), None)
            .expect("the cell is well-formed");
        let mut edges = Vec::new();
        for function in self.functions {
            let node = world.add_edge(function);
            for ue in 0..self.ues {
                world.add_session(node, &session(ue, self.ambr));
            }
            if let Some(reports) = self.reports {
                reports.connect(&mut world, cell, node);
            }
            edges.push(node);
        }
        let lane = |delay| {
            HopConfig::Lane(LaneConfig {
                delay,
                ..LaneConfig::default()
            })
        };
        for i in 0..self.ues {
            let ue = UeId(i);
            let radio = HopConfig::Cell {
                node: cell,
                ue,
                qfi: Qfi(1),
            };
            let mut down = vec![lane(DELAY)];
            down.extend(edges.iter().map(|&node| HopConfig::Edge {
                node,
                ue,
                gbr_flow: None,
            }));
            down.extend([lane(N3), radio]);
            let mut up = vec![radio, lane(N3)];
            up.extend(edges.iter().rev().map(|&node| HopConfig::Edge {
                node,
                ue,
                gbr_flow: None,
            }));
            up.push(lane(DELAY));
            let draw = Draw::new(1).fork(9, u64::from(i));
            let controller = registry::build("cubic", &registry::Config::new(1448, draw));
            world.add_flow(FlowConfig {
                direction: Direction::Down,
                transport: if self.datagrams {
                    Transport::Udp { packet: 1_400 }
                } else {
                    Transport::Tcp {
                        config: Box::new(TcpConfig::default()),
                        controller: Box::new(controller.expect("the controller exists")),
                    }
                },
                app: self.app,
                start: Instant::ZERO,
                stop: self.stop,
                down,
                up,
            });
        }
        world
    }
}

fn session(ue: u32, ambr: Rate) -> Session {
    Session::Up {
        ue: UeId(ue),
        gbr_flow: None,
        guaranteed: Rate::ZERO,
        maximum: ambr,
    }
}

fn vaqm() -> Function {
    Box::new(Vaqm::new(VaqmConfig::default()))
}

fn cecc() -> Function {
    Box::new(Cecc::new(CeccConfig::default()))
}

/// Five UEs of an NR cell whose frames come all at once.
fn frames(functions: Vec<Function>, reports: Reports) -> Setup {
    Setup {
        cell: CellConfig::nr(20, 1),
        mcs: 20,
        ues: 5,
        reports: Some(reports),
        app: AppConfig::Frames(FramesConfig {
            fps: 60.0,
            rate: Rate::from_mbps(6.0),
            size_cv: 0.1,
            interval_sigma: Duration::from_micros(500),
            clock: FrameClock::Grid,
            lead: Duration::ZERO,
            random_phase: false,
        }),
        datagrams: true,
        stop: Instant::ZERO + Duration::from_secs(4),
        ..Setup::new(functions)
    }
}

/// A sampling instant, the flow, and what functions thought of its session.
type Row = (Instant, FlowId, Vec<(&'static str, f64)>);

/// One-way delays of data and what functions thought.
#[derive(Default)]
struct Seen {
    delays: Vec<f64>,
    payload: u64,
    dropped: Vec<DropReason>,
    internals: Vec<Row>,
    links: Vec<(Instant, NodeId, LinkSample)>,
}

impl Recorder for Seen {
    fn packet(&mut self, now: Instant, _node: NodeId, packet: &Packet, event: PacketEvent) {
        if packet.payload() == 0 || now < Instant::from_millis(2_000) {
            return;
        }
        match event {
            PacketEvent::Delivered => {
                self.delays.push(now.since(packet.created).as_millis_f64());
                self.payload += u64::from(packet.payload());
            }
            PacketEvent::Dropped(reason) => self.dropped.push(reason),
            _ => {}
        }
    }
    fn sampling(&self) -> Option<Duration> {
        Some(Duration::from_millis(1))
    }
    fn internals(&mut self, now: Instant, flow: FlowId, values: &[(&'static str, f64)]) {
        self.internals.push((now, flow, values.to_vec()));
    }
    fn link(&mut self, now: Instant, node: NodeId, index: u32, sample: &LinkSample) {
        if index == 0 {
            self.links.push((now, node, *sample));
        }
    }
}

impl Seen {
    fn of(setup: Setup) -> Self {
        let stop = setup.stop;
        let mut world = setup.world().build(Self::default());
        world.run_until(stop, &mut NoClock);
        world.into_recorder()
    }

    fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.delays.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[((sorted.len() - 1) as f64 * q) as usize]
    }

    /// An internal of flow 0 over time, from 2 s on.
    fn internal(&self, name: &str) -> Vec<(Instant, f64)> {
        self.internals
            .iter()
            .filter(|(at, flow, _)| flow.index() == 0 && *at >= Instant::from_millis(2_000))
            .filter_map(|(at, _, v)| Some((*at, v.iter().find(|v| v.0 == name)?.1)))
            .collect()
    }
}

#[test]
fn every_packet_has_one_end_behind_edge_functions() {
    let reports = Reports {
        delay: N3,
        ..Reports::default()
    };
    let setups = [
        (
            "vaqm",
            Setup {
                ues: 3,
                ..Setup::new(vec![vaqm()])
            },
        ),
        (
            "an AMBR below the cell's rate",
            Setup {
                ambr: Rate::from_mbps(1.0),
                ues: 2,
                ..Setup::new(vec![vaqm()])
            },
        ),
        ("cecc", frames(vec![cecc()], reports)),
        ("chained", frames(vec![vaqm(), cecc()], reports)),
        (
            "chained, TCP",
            Setup {
                ues: 2,
                reports: Some(reports),
                ..Setup::new(vec![cecc(), vaqm()])
            },
        ),
    ];
    for (what, setup) in setups {
        let stop = setup.stop;
        let mut world = setup.world().build(Audit::default());
        // Bulk data in buffers is sent after the stop.
        world.run_until(stop + Duration::from_secs(200), &mut NoClock);
        let audit = world.into_recorder();
        for (i, l) in audit.ledgers.iter().enumerate() {
            let at = format!("{what}, flow {} direction {}", i / 2, i % 2);
            assert_eq!(l.in_flight.len(), 0, "{at}: {:?}", l.in_flight.front());
            assert_eq!(l.sent.0, l.delivered.0 + l.dropped.0, "{at}: packets");
            assert_eq!(l.sent.1, l.delivered.1 + l.dropped.1, "{at}: bytes");
            assert_eq!(l.overtakes, 0, "{at}: packets keep their order");
        }
        assert!(audit.ledgers[0].delivered.0 > 500, "{what} is alive");
        for (node, index, sample) in &audit.last_links {
            assert_eq!(sample.backlog, Bytes::ZERO, "{what}: {node}/{index}");
        }
    }
}

#[test]
fn vaqm_shortens_the_queue_of_a_slow_cell() {
    let none = Seen::of(Setup::new(Vec::new()));
    let with = Seen::of(Setup::new(vec![vaqm()]));
    let (a, b) = (none.quantile(0.5), with.quantile(0.5));
    assert!(b < 0.4 * a, "median one-way delay {a:.0} ms and {b:.0} ms");
    let (a, b) = (none.quantile(0.95), with.quantile(0.95));
    assert!(b < 0.5 * a, "p95 {a:.0} ms and {b:.0} ms");
    let share = with.payload as f64 / none.payload as f64;
    assert!(share > 0.9, "throughput {share}");
    // Its internals are told, and its queue is sampled.
    let path = with.internal("vaqm_path_ms");
    let average = with.internal("vaqm_average_ms");
    assert!(
        path.iter().all(|p| p.1 > 1.0 && p.1 < 40.0),
        "{:?}",
        path[0]
    );
    let mean = average.iter().map(|a| a.1).sum::<f64>() / average.len() as f64;
    assert!((20.0..80.0).contains(&mean), "average RTT {mean}");
    let edge = with.links.iter().filter(|l| l.1 == NodeId(1));
    assert!(edge.clone().any(|l| l.2.packets > 3), "it holds packets");
    assert!(none.internal("vaqm_path_ms").is_empty());
}

#[test]
fn a_session_keeps_its_ambr() {
    let seen = Seen::of(Setup {
        ambr: Rate::from_mbps(2.0),
        ..Setup::new(vec![vaqm()])
    });
    let mbps = seen.payload as f64 * 8.0 / 10.0 / 1e6;
    assert!((1.8..2.0).contains(&mbps), "{mbps} Mbit/s");
    // What its queue dropped is told as such.
    assert!(!seen.dropped.is_empty());
    assert!(
        seen.dropped.iter().all(|d| *d == DropReason::Law),
        "{:?}",
        seen.dropped
    );
}

#[test]
fn cecc_orders_datagrams_as_long_as_reports_come() {
    let way = Reports {
        delay: N3,
        faults: Faults {
            until: Instant::from_millis(3_000),
            ..Faults::default()
        },
        ..Reports::default()
    };
    let seen = Seen::of(frames(vec![cecc()], way));
    let held = seen.internal("cecc_held_kb");
    let before = held
        .iter()
        .filter(|h| h.0 < way.faults.until && h.1 > 0.0)
        .count();
    assert!(before > 20, "{before} samples with held packets");
    // 10 ms after the last report everything passes.
    let gone = way.faults.until + Duration::from_millis(12);
    assert!(held.iter().all(|h| h.0 < gone || h.1 == 0.0));
    let governed = seen.internal("cecc_governed");
    assert!(governed.iter().all(|h| h.0 < gone || h.1 == 0.0));
    let wired = seen.internal("cecc_wired_ms");
    assert!(
        wired.iter().all(|w| (w.1 - 0.2).abs() < 1e-6),
        "{:?}",
        wired[0]
    );
    assert!(seen.dropped.is_empty(), "{} drops", seen.dropped.len());
    // Without any report it is not there at all.
    let never = Reports {
        faults: Faults {
            until: Instant::ZERO,
            ..Faults::default()
        },
        ..way
    };
    let without = Seen::of(frames(vec![cecc()], never));
    let plain = Seen::of(frames(vec![], never));
    assert_eq!(without.delays, plain.delays);
    assert_ne!(seen.delays, plain.delays);
}

/// Keeps what it hears, and each packet for 3 ms; drops each tenth.
#[derive(Clone, Default)]
struct Ear {
    heard: Arc<Mutex<Vec<(Instant, RanReport)>>>,
    kept: Vec<(Instant, Direction, Packet)>,
    dropped: Vec<Packet>,
    count: u32,
}

impl EdgeFunction<Packet> for Ear {
    fn on_packet(&mut self, now: Instant, d: Direction, _ue: UeId, p: Packet) -> Verdict<Packet> {
        self.count += 1;
        if self.count.is_multiple_of(10) {
            self.dropped.push(p);
        } else {
            self.kept.push((now + Duration::from_millis(3), d, p));
        }
        Verdict::Hold
    }
    fn on_report(&mut self, now: Instant, report: &RanReport) {
        self.heard.lock().unwrap().push((now, *report));
    }
    fn release(&mut self, now: Instant) -> Option<(Direction, Packet)> {
        let due = self.kept.first().is_some_and(|k| k.0 <= now);
        due.then(|| self.kept.remove(0)).map(|(_, d, p)| (d, p))
    }
    fn take_dropped(&mut self) -> Option<(Packet, DropReason)> {
        self.dropped.pop().map(|p| (p, DropReason::Full))
    }
    fn next_timer(&self) -> Option<Instant> {
        self.kept.first().map(|k| k.0)
    }
    fn held(&self) -> Bytes {
        let down = self.kept.iter().filter(|k| k.1 == Direction::Down);
        Bytes(down.map(|k| u64::from(k.2.len())).sum())
    }
}

/// The reports that a function hears in a second of a cell without traffic.
fn heard(way: Reports) -> Vec<(Instant, RanReport)> {
    let ear = Ear::default();
    let heard = Arc::clone(&ear.heard);
    let mut setup = frames(vec![Box::new(ear)], way);
    setup.stop = Instant::ZERO;
    let mut world = setup.world().build(Seen::default());
    world.run_until(Instant::from_millis(1_000), &mut NoClock);
    drop(world);
    let heard = heard.lock().unwrap();
    heard.clone()
}

fn backlogs(of: &[(Instant, RanReport)], wanted: u32) -> Vec<(Instant, Instant)> {
    of.iter()
        .filter_map(|(now, r)| match *r {
            RanReport::Backlog { at, ue, .. } if ue.0 == wanted => Some((at, *now)),
            _ => None,
        })
        .collect()
}

#[test]
fn reports_keep_their_period_while_the_cell_sleeps() {
    let mut way = Reports {
        delay: Duration::from_millis(4),
        ..Reports::default()
    };
    way.reporter.period = Duration::from_millis(2);
    way.reporter.phase = Duration::from_micros(50);
    let reports = heard(way);
    for ue in 0..5 {
        let of_ue = backlogs(&reports, ue);
        assert_eq!(of_ue.len(), 498, "2 ms apart, 4 ms under way");
        for (k, (at, now)) in of_ue.iter().enumerate() {
            let read = Instant::from_nanos(50_000 + 2_000_000 * k as u64);
            assert_eq!((*at, *now), (read, read + way.delay));
        }
    }
    // Each link state is told once: the channels do not change.
    let mut links: Vec<Vec<u64>> = vec![Vec::new(); 5];
    for (_, report) in &reports {
        if let RanReport::LinkState { ue, slot_bytes, .. } = report {
            links[ue.index()].push(slot_bytes.get());
        }
    }
    for link in &links {
        assert_eq!(link, &[4_867], "{links:?}");
    }
    let patterns = reports
        .iter()
        .filter(|r| matches!(r.1, RanReport::SlotPattern { .. }));
    assert_eq!(patterns.count(), 1);
}

#[test]
fn reports_get_lost_and_late_but_keep_their_order() {
    let way = Reports {
        delay: Duration::from_millis(1),
        jitter: Duration::from_millis(5),
        faults: Faults {
            loss: 0.3,
            ..Faults::default()
        },
        ..Reports::default()
    };
    let reports = heard(way);
    let mine = backlogs(&reports, 2);
    let share = mine.len() as f64 / 1_000.0;
    assert!((0.64..0.76).contains(&share), "{share} arrived");
    assert!(mine.windows(2).all(|w| w[0].1 <= w[1].1), "in order");
    let late = mine.iter().map(|(at, now)| now.since(*at).as_millis_f64());
    let (least, most) = late.fold((f64::MAX, 0.0_f64), |(a, b), l| (a.min(l), b.max(l)));
    assert!(
        (1.0..1.5).contains(&least) && (5.0..6.0).contains(&most),
        "{least} to {most}"
    );
    // All reports of an instant travel in one message.
    assert_eq!(mine, backlogs(&reports, 4));
}

#[test]
fn what_a_function_keeps_and_drops_is_accounted_for() {
    let mut setup = frames(vec![Box::new(Ear::default())], Reports::default());
    setup.stop = Instant::from_millis(1_000);
    let mut world = setup.world().build(Audit::default());
    world.run_until(Instant::from_millis(2_000), &mut NoClock);
    let audit = world.into_recorder();
    let down: Vec<_> = audit.ledgers.iter().step_by(2).collect();
    let sum = |f: fn(&crate::audit::Ledger) -> u64| down.iter().map(|l| f(l)).sum::<u64>();
    let (sent, dropped) = (sum(|l| l.sent.0), sum(|l| l.dropped.0));
    assert_eq!(dropped, sent / 10);
    assert_eq!(sum(|l| l.delivered.0), sent - dropped);
    for l in down {
        assert!(
            l.fastest
                .is_some_and(|f| f >= DELAY + N3 + Duration::from_millis(3))
        );
    }
}
