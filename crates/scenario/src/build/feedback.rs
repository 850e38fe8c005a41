//! The agent of a scenario's cell, and the way of its reports.

use slackwater_control::registry::Config as ControllerConfig;
use slackwater_control::{AnyController, Controller as _, MediaController as _};
use slackwater_core::{Draw, Duration, Instant};
use slackwater_edge as edge;
use slackwater_edge::gnb::{AgentConfig, IpScale, XrcAgent};
use slackwater_edge::ue::BlocksMode;
use slackwater_ran::cell::CellConfig;
use slackwater_sim::{self as sim, Faults, LaneConfig};

use super::{BuildError, controller};
use crate::Scenario;
use crate::cell::{Mode, Rat};
use crate::feedback::{Agent, Carrier};
use crate::flow::{self, Way};
use crate::plugins::AgentSetup;

/// True where the controller of a flow wants reports, by what `wants` says of it.
pub(super) fn is_wanted(scenario: &Scenario, wants: impl Fn(&AnyController) -> bool) -> bool {
    let mut flows = scenario.flows.iter();
    flows.any(|flow| wants_of(scenario, flow, &wants))
}

/// Whether the controller of `flow`, which is none of media, wants what `wants` says.
pub(crate) fn wants_of(
    scenario: &Scenario,
    flow: &flow::Flow,
    wants: impl Fn(&AnyController) -> bool,
) -> bool {
    let config = ControllerConfig::new(1448, Draw::new(0));
    let controllers = scenario.plugins().controllers();
    flow.protocol().is_controlled()
        && controller::build(controllers, &flow.controller, &config).is_ok_and(|c| wants(&c))
}

/// Whether the controller of `flow`, of whatever kind, takes the base station's counters.
pub(crate) fn takes_counters(scenario: &Scenario, flow: &flow::Flow) -> bool {
    let config = ControllerConfig::new(1448, Draw::new(0));
    let controllers = scenario.plugins().controllers();
    let media = || {
        flow.protocol() == flow::Protocol::Rtp
            && controllers
                .build_media(&flow.controller, &config)
                .is_ok_and(|c| c.takes_counters())
    };
    wants_of(scenario, flow, AnyController::takes_counters) || media()
}

/// True where a base station is to count a flow whose data goes by `way`.
pub(super) fn is_counted(scenario: &Scenario, way: Way) -> bool {
    let flows = scenario.flows.iter();
    let mut flows = flows.filter(|flow| flow.direction == way);
    flows.any(|flow| takes_counters(scenario, flow))
}

/// The agent of the program that the scenario names.
///
/// # Errors
/// What is expected in place of its name.
pub(super) fn own_agent(
    scenario: &Scenario,
    cell: &CellConfig,
    ues: usize,
    seed: u64,
) -> Result<Option<Box<dyn edge::Agent + Send>>, BuildError> {
    let setup = AgentSetup::new(cell, ues, seed);
    let name = scenario.feedback.own_agent.as_deref();
    let agent = name.map(|name| scenario.plugins().agent(name, &setup));
    agent.transpose().map_err(BuildError::Agent)
}

/// XRC's agent for `cell`.
pub(super) fn xrc_agent(scenario: &Scenario, cell: &CellConfig) -> XrcAgent {
    let wanted = &scenario.feedback.xrc;
    let spec = scenario.cell();
    let mut config = match spec.map(|c| c.rat) {
        Some(Rat::Nr) => AgentConfig::nr(cell.mu),
        _ => AgentConfig::LTE,
    };
    // In NR the headers of AM are longer than those of UM, and the agent takes them off what blocks carry. It knows one length;
    // senders that take its reports run over TCP, which rides on AM unless the scenario says otherwise.
    config.scale = ip_scale(scenario);
    if wanted.agent == Agent::Paper {
        config = config.literal(cell.n_rb_dl - cell.schedulable_dl);
    }
    XrcAgent::new(AgentConfig {
        share: wanted.share.unwrap_or(config.share),
        window: wanted.window,
        waking_after: wanted.window,
        flow_timeout: wanted.flow_timeout,
        f1_delay: wanted.f1_delay,
        ..config
    })
}

/// From bytes of blocks to bytes of packets in the scenario's cell.
pub(super) fn ip_scale(scenario: &Scenario) -> IpScale {
    let am = || {
        let modes = scenario.rlc_modes();
        modes.iter().flatten().any(|m| *m == Mode::Am)
    };
    match scenario.cell().map(|c| c.rat) {
        Some(Rat::Nr) if am() => IpScale::NR_AM,
        Some(Rat::Nr) => IpScale::NR_UM,
        _ => IpScale::LTE,
    }
}

/// How its reports travel, and what goes wrong with them.
pub(super) fn way(scenario: &Scenario) -> (sim::Carrier, Faults) {
    let carrier = match scenario.feedback.carrier {
        Carrier::TcpOption => sim::Carrier::OnAck,
        Carrier::Datagram | Carrier::Socket => sim::Carrier::Datagram {
            // The agent reports beside each ACK.
            every: Duration::ZERO,
            lane: lane(scenario, scenario.path.rtt / 2),
        },
    };
    let faults = Faults {
        // What `stale` repeats are transport blocks alone.
        stale: false,
        ..faults(scenario)
    };
    (carrier, faults)
}

/// What goes wrong with reports to senders.
fn faults(scenario: &Scenario) -> Faults {
    let wanted = &scenario.feedback.faults;
    Faults {
        loss: wanted.loss.fraction(),
        until: wanted.stop.map_or(Instant::MAX, |t| Instant::ZERO + t),
        stale: wanted.stale,
        scale: wanted.rate_scale,
        delay_scale: wanted.hol_scale,
    }
}

/// The way of reports, whose delay without what the scenario adds is `least`.
fn lane(scenario: &Scenario, least: Duration) -> LaneConfig {
    LaneConfig {
        delay: least + scenario.feedback.delay,
        jitter: scenario.feedback.jitter,
        ..LaneConfig::default()
    }
}

/// What the transport blocks count that UEs report.
pub(super) fn mode(scenario: &Scenario) -> BlocksMode {
    let own = match scenario.cell() {
        Some(_) => BlocksMode::AllocatedIdle,
        None => BlocksMode::Capacity,
    };
    scenario.feedback.tyrus.blocks.unwrap_or(own)
}

/// How the UE of a flow with this RTT tells its sender about them, and what goes wrong.
pub(super) fn way_of_blocks(scenario: &Scenario, rtt: Duration) -> (sim::Carrier, Faults) {
    let wanted = &scenario.feedback;
    let (every, lane) = (wanted.tyrus.every, lane(scenario, rtt / 2));
    let carrier = match wanted.carrier {
        Carrier::TcpOption => sim::Carrier::OnAck,
        Carrier::Datagram => sim::Carrier::Datagram { every, lane },
        Carrier::Socket => sim::Carrier::Socket { every, lane },
    };
    (carrier, faults(scenario))
}

/// How the base station reports its counters to a sender that is `delay` away, whatever carries other reports, and what goes
/// wrong.
pub(super) fn way_of_counters(scenario: &Scenario, delay: Duration) -> (sim::Carrier, Faults) {
    let carrier = sim::Carrier::Socket {
        every: scenario.feedback.ebb.every,
        lane: lane(scenario, delay),
    };
    (carrier, faults(scenario))
}

/// Time after which a UE tells the marker's thresholds again, since a report may be lost. Ours.
const TOLD_AGAIN: Duration = Duration::from_secs(1);

/// How the UE of a flow with this RTT tells its sender the thresholds of the marker, and what goes wrong. The network tells the UE
/// by RRC or NAS when it sets up the bearer, and the UE its application, whatever carries other reports.
pub(super) fn way_of_scheme(scenario: &Scenario, rtt: Duration) -> (sim::Carrier, Faults) {
    let carrier = sim::Carrier::Socket {
        every: TOLD_AGAIN,
        lane: lane(scenario, rtt / 2),
    };
    let faults = Faults {
        // What is told holds for good: there is nothing newer to repeat.
        stale: false,
        ..faults(scenario)
    };
    (carrier, faults)
}
