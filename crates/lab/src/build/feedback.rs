//! The agent of a scenario's cell, and the way of its reports.

use slackwater_control::Controller as _;
use slackwater_control::registry::Config as ControllerConfig;
use slackwater_core::{Draw, Duration, Instant};
use slackwater_edge::gnb::{AgentConfig, IpScale, XrcAgent};
use slackwater_edge::ue::BlocksMode;
use slackwater_ran::cell::CellConfig;
use slackwater_sim::{BlocksCarrier, BlocksConfig, FeedbackCarrier, FeedbackConfig, LaneConfig};

use super::controller;
use crate::scenario::Scenario;
use crate::scenario::cell::{Rat, RlcMode};
use crate::scenario::feedback::{Agent, Blocks, Carrier};
use crate::scenario::flow;

/// True where a sender asks for reports.
pub(super) fn is_asked_for(scenario: &Scenario) -> bool {
    let config = ControllerConfig::new(1448, Draw::new(0));
    let controlled = |f: &&flow::Flow| f.carrier().is_controlled();
    scenario
        .flows
        .iter()
        .filter(controlled)
        .filter_map(|f| {
            controller::build(scenario.plugins().controllers(), &f.controller, &config).ok()
        })
        .any(|c| c.takes_reports())
}

/// The agent for `cell`.
pub(super) fn agent(scenario: &Scenario, cell: &CellConfig) -> XrcAgent {
    let wanted = &scenario.feedback;
    let spec = scenario.cell();
    let mut config = match spec.map(|c| c.rat) {
        Some(Rat::Nr) => AgentConfig::nr(cell.mu),
        _ => AgentConfig::LTE,
    };
    if spec.is_some_and(|c| c.rat == Rat::Nr && c.rlc.mode == RlcMode::Am) {
        config.scale = IpScale::NR_AM;
    }
    if wanted.agent == Agent::Paper {
        config = config.literal(cell.n_rb_dl - cell.schedulable_dl);
    }
    XrcAgent::new(AgentConfig {
        window: wanted.window,
        waking_after: wanted.window,
        flow_timeout: wanted.flow_timeout,
        f1_delay: wanted.f1_delay,
        ..config
    })
}

/// How its reports travel.
pub(super) fn way(scenario: &Scenario) -> FeedbackConfig {
    let wanted = &scenario.feedback;
    FeedbackConfig {
        carrier: match wanted.carrier {
            Carrier::TcpOption => FeedbackCarrier::TcpOption,
            Carrier::Datagram | Carrier::Socket => {
                FeedbackCarrier::Datagram(lane(scenario, scenario.path.rtt))
            }
        },
        loss: wanted.loss.fraction(),
        until: wanted.stop.map_or(Instant::MAX, |t| Instant::ZERO + t),
        rate_scale: wanted.rate_scale,
        hol_scale: wanted.hol_scale,
    }
}

/// The way of reports that travel beside the packets of a flow with this RTT.
fn lane(scenario: &Scenario, rtt: Duration) -> LaneConfig {
    LaneConfig {
        delay: rtt / 2 + scenario.feedback.delay,
        jitter: scenario.feedback.jitter,
        ..LaneConfig::default()
    }
}

/// What a UE tells the sender of a flow with this RTT about its transport blocks.
pub(super) fn blocks(scenario: &Scenario, rtt: Duration) -> BlocksConfig {
    let wanted = &scenario.feedback;
    let (every, lane) = (wanted.every, lane(scenario, rtt));
    let in_cell = scenario.cell().is_some();
    BlocksConfig {
        mode: match wanted.blocks {
            Some(Blocks::Allocated) => BlocksMode::Allocated,
            Some(Blocks::AllocatedIdle) => BlocksMode::AllocatedIdle,
            None if in_cell => BlocksMode::AllocatedIdle,
            Some(Blocks::Capacity) | None => BlocksMode::Capacity,
        },
        carrier: match wanted.carrier {
            Carrier::TcpOption => BlocksCarrier::Ack,
            Carrier::Datagram => BlocksCarrier::Datagram { every, lane },
            Carrier::Socket => BlocksCarrier::Socket { every, lane },
        },
        loss: wanted.loss.fraction(),
        until: wanted.stop.map_or(Instant::MAX, |t| Instant::ZERO + t),
        stale: wanted.stale,
        scale: wanted.rate_scale,
    }
}
