//! The paths that the tests send flows over.

use std::sync::Arc;

use slackwater_control::registry;
use slackwater_core::{Bytes, Direction, Draw, Duration, Instant, Packet, Qfi, Rate, Rnti, UeId};
use slackwater_queue::{FqConfig, LawConfig, Limits, QueueConfig};
use slackwater_ran::cell::{BearerConfig, CellConfig, UeConfig};
use slackwater_ran::phy::channel::{ChannelConfig, Given};
use slackwater_ran::phy::mobility::Mobility;
use slackwater_ran::rlc::{Limit, RlcConfig};
use slackwater_sim::{
    self as sim, FlowConfig, HopConfig, LaneConfig, LinkConfig, Service, WorldBuilder,
};
use slackwater_transport::app::{AppConfig, TransfersConfig};
use slackwater_transport::quic::Config as QuicConfig;
use slackwater_transport::tcp::Config as TcpConfig;

/// The controllers that a comparison shows.
pub(crate) const CONTROLLERS: [&str; 7] = [
    "reno", "cubic", "vegas", "veno", "illinois", "westwood", "bbr",
];

/// One-way propagation of each lane.
pub(crate) const DELAY: Duration = Duration::from_millis(15);

/// What carries the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    Udp,
    Quic,
    Quinn,
}

/// A bottleneck with lanes before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Path {
    /// 12 Mbit/s as one opportunity a millisecond.
    Trace,
    /// 12 Mbit/s, for 1 s 3 Mbit/s, then 20 Mbit/s.
    Step,
    /// 12 Mbit/s behind CoDel with ECN.
    Codel,
    /// 12 Mbit/s behind FQ-CoDel.
    Fair,
    /// 12 Mbit/s after a lane that loses 1 %.
    Lossy,
    /// 10 MHz of LTE FDD with random steps, RLC UM.
    Lte,
    /// The same with RLC AM, on a given MCS of which 20 % of the blocks fail.
    LteAm,
    /// 20 MHz of NR TDD, RLC UM.
    Nr,
    /// The same with RLC AM and blocks that fail.
    NrAm,
}

impl Path {
    pub(crate) const ALL: [Self; 9] = [
        Self::Trace,
        Self::Step,
        Self::Codel,
        Self::Fair,
        Self::Lossy,
        Self::Lte,
        Self::LteAm,
        Self::Nr,
        Self::NrAm,
    ];

    pub(crate) fn is_cell(self) -> bool {
        matches!(self, Self::Lte | Self::LteAm | Self::Nr | Self::NrAm)
    }

    fn loss(self) -> f64 {
        if self == Self::Lossy { 0.01 } else { 0.0 }
    }

    fn link(self) -> Option<LinkConfig> {
        let mbps = Rate::from_mbps;
        let (service, queue) = match self {
            Self::Trace => (
                Service::Trace {
                    opportunities: Arc::from([1]),
                    period: 1,
                },
                QueueConfig::droptail(128),
            ),
            Self::Step => (
                Service::Rate {
                    steps: Arc::from([
                        (Instant::ZERO, mbps(12.0)),
                        (Instant::from_millis(2_000), mbps(3.0)),
                        (Instant::from_millis(3_000), mbps(20.0)),
                    ]),
                    period: None,
                },
                QueueConfig::droptail(128),
            ),
            Self::Codel => (
                Service::constant(mbps(12.0)),
                QueueConfig::fifo(
                    Limits::packets(1_000),
                    LawConfig::from_name("codel").expect("known"),
                ),
            ),
            Self::Fair => (
                Service::constant(mbps(12.0)),
                QueueConfig {
                    container: slackwater_queue::ContainerConfig::Fq(FqConfig::default()),
                    shaper: None,
                },
            ),
            Self::Lossy => (Service::constant(mbps(12.0)), QueueConfig::droptail(128)),
            _ => return None,
        };
        Some(LinkConfig {
            service,
            queue: Box::new(queue.build::<Packet>(Draw::new(7))),
        })
    }

    fn cell(self, ues: usize) -> (CellConfig, Vec<UeConfig>) {
        let cell = match self {
            Self::Lte | Self::LteAm => CellConfig::lte(10.0),
            _ => CellConfig::nr(20, 1),
        };
        let channel = match self {
            // A step makes link adaptation miss until the next CQI report arrives.
            Self::Lte | Self::Nr => ChannelConfig {
                mobility: Mobility::RandomSteps {
                    min_m: 60.0,
                    max_m: 400.0,
                    period: Duration::from_secs(1),
                },
                downlink: cell.downlink_budget(),
                uplink: cell.uplink_budget(),
                ..ChannelConfig::default()
            },
            _ => ChannelConfig {
                given: Some(Given::FixedMcs(12)),
                bler: Some(0.2),
                downlink: cell.downlink_budget(),
                uplink: cell.uplink_budget(),
                ..ChannelConfig::default()
            },
        };
        let rlc = match self {
            Self::Lte | Self::Nr => RlcConfig::um(Limit::Bytes(Bytes(192_000))),
            _ => RlcConfig::am(Limit::Packets(128)),
        };
        let ues = (0..ues).map(|i| UeConfig {
            channel: channel.clone(),
            bearers: vec![BearerConfig {
                rlc: rlc.clone(),
                ..BearerConfig::default()
            }],
            rnti: Rnti(70 + i as u16),
        });
        (cell, ues.collect())
    }
}

/// What the flows do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) path: Path,
    pub(crate) direction: Direction,
    pub(crate) controller: &'static str,
    pub(crate) ues: usize,
    pub(crate) flows_per_ue: usize,
    pub(crate) app: AppConfig,
    pub(crate) transport: Transport,
    pub(crate) stop: Instant,
}

impl Load {
    /// One bulk flow that stops after `seconds`.
    pub(crate) fn bulk(path: Path, controller: &'static str, seconds: u64) -> Self {
        Self {
            path,
            direction: Direction::Down,
            controller,
            ues: 1,
            flows_per_ue: 1,
            app: AppConfig::Bulk,
            transport: Transport::Tcp,
            stop: Instant::ZERO + Duration::from_secs(seconds),
        }
    }

    /// One file of `bytes`.
    pub(crate) fn file(path: Path, controller: &'static str, bytes: u64) -> Self {
        Self {
            app: AppConfig::Transfers(TransfersConfig {
                min: Bytes(bytes),
                max: Bytes(bytes),
                gap: Duration::ZERO,
                count: Some(1),
                reconnect: false,
            }),
            stop: Instant::MAX,
            ..Self::bulk(path, controller, 0)
        }
    }

    pub(crate) fn over(self, transport: Transport) -> Self {
        Self { transport, ..self }
    }

    pub(crate) fn up(self) -> Self {
        Self {
            direction: Direction::Up,
            ..self
        }
    }

    pub(crate) fn world(&self, seed: u64) -> WorldBuilder {
        let mut world = WorldBuilder::new(seed);
        let (hop, jitter): (Box<dyn Fn(u32) -> HopConfig>, _) = if let Some(link) = self.path.link()
        {
            let node = world.add_link(link);
            (Box::new(move |_| HopConfig::Link(node)), Duration::ZERO)
        } else {
            let (config, ues) = self.path.cell(self.ues);
            let slot = config.slot_duration();
            let node = world
                .add_cell(&config, ues, None)
                .expect("the cell is well-formed");
            let hop = move |ue| HopConfig::Cell {
                node,
                ue: UeId(ue),
                qfi: Qfi(1),
            };
            (Box::new(hop), slot)
        };
        for i in 0..(self.ues * self.flows_per_ue) as u32 {
            let lane = |loss| {
                HopConfig::Lane(LaneConfig {
                    delay: DELAY,
                    jitter,
                    loss,
                    ..LaneConfig::default()
                })
            };
            let hop = hop(i / self.flows_per_ue as u32);
            let loss = self.path.loss();
            // A wired bottleneck stands in the data's way; a cell in both.
            let (down, up) = match (self.path.is_cell(), self.direction) {
                (true, _) => (vec![lane(loss), hop], vec![hop, lane(loss)]),
                (false, Direction::Down) => (vec![lane(loss), hop], vec![lane(loss)]),
                (false, Direction::Up) => (vec![lane(loss)], vec![lane(loss), hop]),
            };
            let draw = Draw::new(seed).fork(9, u64::from(i));
            let config = registry::Config::new(1448, draw);
            let controller =
                || Box::new(registry::build(self.controller, &config).expect("it exists"));
            world.add_flow(FlowConfig {
                direction: self.direction,
                transport: match self.transport {
                    Transport::Udp => sim::Transport::Udp { packet: 1_400 },
                    Transport::Tcp if is_media(self.controller) => sim::Transport::Rtp {
                        config: Box::default(),
                        controller: Box::new(
                            registry::build_media(self.controller, &config).expect("it exists"),
                        ),
                    },
                    Transport::Tcp => sim::Transport::Tcp {
                        config: Box::new(TcpConfig::default()),
                        controller: controller(),
                    },
                    Transport::Quinn => sim::Transport::Quinn {
                        config: Box::new(QuicConfig::default()),
                        controller: controller(),
                    },
                    Transport::Quic => sim::Transport::Quic {
                        config: Box::new(QuicConfig::default()),
                        controller: controller(),
                    },
                },
                app: self.app,
                start: Instant::from_millis(10 * u64::from(i)),
                stop: self.stop,
                down,
                up,
            });
        }
        world
    }
}

fn is_media(controller: &str) -> bool {
    let entry = registry::find(controller);
    entry.is_some_and(|e| e.kind == registry::Kind::Media)
}
