//! The user plane function of a scenario: its functions on the path, its sessions and the cell's reports.

use slackwater_core::{Direction, Duration, Instant, NodeId, Qfi, Rate, UeId};
use slackwater_edge::gnb::ReporterConfig;
use slackwater_edge::upf::cecc::{self, CeccConfig};
use slackwater_edge::upf::l4s_marker::{L4sMarker, L4sMarkerConfig};
use slackwater_edge::upf::vaqm::{self, Vaqm, VaqmConfig};
use slackwater_edge::upf::zhuge::{Zhuge, ZhugeConfig};
use slackwater_edge::{RanReport, Session};
use slackwater_signal::MarkingScheme;
use slackwater_sim::{
    self as sim, AgentId, Carrier, Faults, HopConfig, Profile, Sink, WorldBuilder,
};

use crate::plugins::{Parts, Plugins};
use crate::upf::{self, CeccMode, Preset, Upf};
use crate::{Scenario, Ue};

/// Adds the functions of `upf` and of a system of one's `own` for the `ues` of `cell`; in the order in which packets pass them on their way down.
pub(super) fn add(
    world: &mut WorldBuilder,
    upf: &Upf,
    cell: NodeId,
    ues: &[&Ue],
    duration: Duration,
    plugins: &Plugins,
    own: Option<Parts>,
) -> Vec<NodeId> {
    let mut nodes = Vec::new();
    if let Some(config) = vaqm(&upf.vaqm, plugins) {
        let mut function = Vaqm::new(config);
        for (ue, of) in (0..).map(UeId).zip(ues) {
            for (qfi, own) in of.vaqm(&upf.vaqm) {
                if own != upf.vaqm
                    && let Some(config) = vaqm(&own, plugins)
                {
                    function.configure(ue, qfi.map(Qfi), config);
                }
            }
        }
        let node = world.add_edge(Box::new(function));
        let detour = &upf.detour;
        if detour.extra.is_some() && detour.notice {
            let changes = (1..=duration / detour.period).map(|k| detour.period * k);
            for at in changes {
                for ue in (0..ues.len() as u32).map(UeId) {
                    world.add_report(node, Instant::ZERO + at, RanReport::PathSwitch { ue });
                }
            }
        }
        nodes.push(node);
    }
    if let Some(config) = cecc(&upf.cecc) {
        let node = world.add_edge(Box::new(cecc::Cecc::new(config)));
        report(world, upf, cell, node, None);
        nodes.push(node);
    }
    if let Some(config) = zhuge(upf) {
        let node = world.add_edge(Box::new(Zhuge::new(config)));
        report(world, upf, cell, node, None);
        nodes.push(node);
    }
    if let Some(config) = marker(upf) {
        let node = world.add_edge(Box::new(L4sMarker::new(config)));
        report(world, upf, cell, node, Some(scheme(upf)));
        nodes.push(node);
    }
    if let Some(parts) = own {
        let node = world.add_edge(parts.function);
        if let Some((agent, carrier)) = parts.agent {
            let agent = world.add_agent(cell, agent);
            let carrier = Carrier::Own(carrier);
            world.connect(agent, carrier, Faults::default(), Sink::Function(node));
        }
        nodes.push(node);
    }
    for &node in &nodes {
        for (ue, config) in (0..).map(UeId).zip(ues) {
            for session in sessions(upf, ue, config) {
                world.add_session(node, &session);
            }
        }
    }
    nodes
}

/// True where a system that the program adds may watch the cell.
pub(super) fn has_own_system(scenario: &Scenario) -> bool {
    let upf = scenario.upf.as_ref();
    upf.is_some_and(|u| u.system.is_some())
}

/// The session of a UE, and its `QoS` flows of guaranteed rate. No limit is zero to a function.
fn sessions(upf: &Upf, ue: UeId, config: &Ue) -> Vec<Session> {
    let ambr = config.ambr.or(upf.ambr);
    let mut all = vec![Session::Up {
        ue,
        gbr_flow: None,
        guaranteed: Rate::ZERO,
        maximum: ambr.unwrap_or(Rate::ZERO),
    }];
    for bearer in &config.bearers {
        for qfi in &bearer.qfi {
            if let Some((guaranteed, maximum)) = config.guarantee(*qfi) {
                all.push(Session::Up {
                    ue,
                    gbr_flow: Some(Qfi(*qfi)),
                    guaranteed,
                    maximum: maximum.unwrap_or(Rate::ZERO),
                });
            }
        }
    }
    all
}

/// The functions as hops of a path of `ue`.
pub(super) fn hops(
    nodes: &[NodeId],
    ue: UeId,
    gbr_flow: Option<Qfi>,
    direction: Direction,
) -> Vec<HopConfig> {
    let mut hops: Vec<HopConfig> = nodes
        .iter()
        .map(|&node| HopConfig::Edge { node, ue, gbr_flow })
        .collect();
    if direction == Direction::Up {
        hops.reverse();
    }
    hops
}

/// vAQM's settings before the keys beside mode and preset.
fn preset(mode: vaqm::Mode, preset: Preset) -> VaqmConfig {
    let base = VaqmConfig::with_mode(mode);
    match preset {
        Preset::Lte => base,
        Preset::Nr => base.nr(),
        Preset::Throughput => base.throughput(),
    }
}

/// vAQM's least target; without vAQM, that of its default mode.
pub(crate) fn min_target(config: &upf::Vaqm) -> Duration {
    let mode = config.mode.0.unwrap_or(VaqmConfig::default().mode);
    let preset = preset(mode, config.preset);
    config.min_target.unwrap_or(preset.min_target)
}

fn vaqm(config: &upf::Vaqm, plugins: &Plugins) -> Option<VaqmConfig> {
    let base = preset(config.mode.0?, config.preset);
    Some(VaqmConfig {
        fraction: config.fraction.fraction(),
        min_target: min_target(config),
        max_target: config.max_target,
        module: super::link::law(&config.module.0, plugins),
        police: config.police,
        ..base
    })
}

fn cecc(from: &upf::Cecc) -> Option<CeccConfig> {
    if from.mode == CeccMode::Off {
        return None;
    }
    let mut config = CeccConfig::default();
    config.mode = from.mode;
    config.schedule = from.schedule;
    config.standard = from.standard;
    config.margin = from.margin;
    Some(config)
}

/// Zhuge, where it is there.
fn zhuge(upf: &Upf) -> Option<ZhugeConfig> {
    upf.zhuge.on.then(|| ZhugeConfig {
        window: upf.zhuge.window,
        most: upf.zhuge.most,
        stale: (upf.reports.period * 4).max(ZhugeConfig::default().stale),
    })
}

/// The marker for L4S, where it is there.
fn marker(upf: &Upf) -> Option<L4sMarkerConfig> {
    let config = L4sMarkerConfig { hold: upf.l4s.hold };
    upf.l4s.on.then_some(config)
}

/// Lets the cell at `cell` report to functions outside of the world: its queues, where the profile has fields for them, and
/// the congestion of its flows, where there is a marker.
pub(super) fn report_outside(world: &mut WorldBuilder, upf: &Upf, cell: NodeId) {
    let queues = (upf.reports.profile != Profile::Container).then_some(None);
    let congestion = upf.l4s.on.then(|| Some(scheme(upf)));
    for congestion in queues.into_iter().chain(congestion) {
        let agent = reporter(world, upf, cell, congestion);
        world.hand_out(agent, faults(upf));
    }
}

/// The thresholds of the marker.
const fn scheme(upf: &Upf) -> MarkingScheme {
    MarkingScheme {
        low: upf.l4s.low,
        high: upf.l4s.high,
    }
}

/// The agent that reports the queues of the cell at `cell`, or the `congestion` of its flows in place of them.
fn reporter(
    world: &mut WorldBuilder,
    upf: &Upf,
    cell: NodeId,
    congestion: Option<MarkingScheme>,
) -> AgentId {
    let mut config = reports(upf);
    config.congestion = congestion;
    let agent = sim::rlc_reporter(world.cell_config(cell), config);
    world.add_agent(cell, Box::new(agent))
}

/// When the cell reports.
fn reports(upf: &Upf) -> ReporterConfig {
    let mut config = ReporterConfig::default();
    config.period = upf.reports.period;
    config.phase = upf.reports.phase;
    config
}

/// What goes wrong with the cell's reports.
fn faults(upf: &Upf) -> Faults {
    let from = &upf.reports;
    Faults {
        loss: from.loss.fraction(),
        until: from.stop.map_or(Instant::MAX, |t| Instant::ZERO + t),
        ..Faults::default()
    }
}

/// Lets the cell at `cell` report its queues to the function at `node`, or the `congestion` of its flows in place of them.
fn report(
    world: &mut WorldBuilder,
    upf: &Upf,
    cell: NodeId,
    node: NodeId,
    congestion: Option<MarkingScheme>,
) {
    let agent = reporter(world, upf, cell, congestion);
    world.connect(agent, carrier(upf), faults(upf), Sink::Function(node));
}

/// What carries the cell's reports.
fn carrier(upf: &Upf) -> Carrier {
    let from = &upf.reports;
    Carrier::Gtpu {
        profile: from.profile,
        delay: from.delay.unwrap_or(upf.n3),
        jitter: from.jitter,
    }
}

/// What the functions run with, as text.
#[cfg(test)]
pub(super) fn used(upf: &Upf, ues: &[&Ue], plugins: &Plugins) -> String {
    let of = |(ue, config): (UeId, &&Ue)| {
        let own = config.vaqm(&upf.vaqm).into_iter();
        let own: Vec<_> = own.map(|(q, v)| (q, vaqm(&v, plugins))).collect();
        (sessions(upf, ue, config), own)
    };
    let of: Vec<_> = (0..).map(UeId).zip(ues).map(of).collect();
    let functions = (vaqm(&upf.vaqm, plugins), cecc(&upf.cecc), zhuge(upf));
    let marker = marker(upf).map(|config| (config, scheme(upf)));
    let reports = (reports(upf), carrier(upf), faults(upf));
    let notice = upf.detour.extra.map(|_| upf.detour.notice);
    format!("{of:?}\n{functions:?}\n{marker:?}\n{reports:?}\n{notice:?}")
}
