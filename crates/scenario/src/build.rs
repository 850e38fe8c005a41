//! From a scenario to a world.

pub(crate) mod cell;
pub mod controller;
mod feedback;
mod flow;
mod link;
pub(crate) mod upf;

use slackwater_control::registry::{AnyController, Config as ControllerConfig};
use slackwater_core::{Direction, Draw, Duration, FlowId, NodeId, Qfi, Recorder, UeId};
use slackwater_edge::Place;
use slackwater_queue::LawConfig;
use slackwater_signal::{MarkingScheme, Observer};
use slackwater_sim::{
    self as sim, Detour, HopConfig, LaneConfig, Sink, Stalls, World, WorldBuilder,
};
use slackwater_transport::app::AppConfig;

use crate::{Bottleneck, Law, Queue, Scenario, ScenarioError};

/// Purposes of the builder's draws.
mod purpose {
    pub(super) const QUEUE: u64 = 100;
    pub(super) const CONTROLLER: u64 = 101;
}

/// Why a scenario gives no world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The cell's parameters contradict each other.
    #[error("cell: {0}")]
    Cell(String),
    /// No system has the name that the UPF's has, or it does not take these parameters.
    #[error("upf.system: expected {0}")]
    System(String),
    /// No agent has the name that the feedback's has, or it does not take these parameters.
    #[error("feedback.own_agent: expected {0}")]
    Agent(String),
    /// No part of this workspace or of the program has a name that the scenario has.
    #[error(transparent)]
    Own(Box<ScenarioError>),
    /// A flow names no known controller.
    #[error("flow \"{label}\": {reason}")]
    Flow {
        /// The flow's label.
        label: String,
        /// What is wrong.
        reason: String,
    },
}

/// Where the parts of a scenario ended up in the world.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The bottleneck towards the receiver: a link or the cell.
    pub bottleneck: NodeId,
    /// The bottleneck is a cell.
    pub cell: bool,
    /// The node of uplink queues, where it is not the bottleneck itself.
    pub up_node: Option<NodeId>,
    /// The wired bottleneck.
    pub wired: Option<NodeId>,
    /// The functions of the UPF, in the order in which packets pass them on their way down.
    pub upf: Vec<NodeId>,
    /// Labels of the flows, by flow.
    pub labels: Vec<String>,
    /// Controllers of the flows, by flow; empty for datagrams.
    pub controllers: Vec<String>,
    /// UE of each flow (0 without a cell).
    pub ues: Vec<UeId>,
    /// True for flows that send from the UE.
    pub up: Vec<bool>,
}

/// Who stands at the ends of the flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hosts {
    /// Simulated applications and transports.
    #[default]
    Simulated,
    /// Hosts outside of the world, whose packets are injected.
    External,
}

/// Builds the world that `scenario` describes with `seed`; `recorder` makes the listener once the layout is known.
///
/// # Errors
/// Where parts of the scenario contradict each other in a way that the file's own checks cannot see.
pub fn build<R: Recorder>(
    scenario: &Scenario,
    seed: u64,
    observer: Option<Box<dyn Observer + Send>>,
    recorder: impl FnOnce(&Layout) -> R,
) -> Result<(World<R>, Layout), BuildError> {
    build_with(scenario, seed, Hosts::Simulated, observer, recorder)
}

/// As [`build`], with `hosts` at the ends of the flows.
///
/// # Errors
/// As [`build`].
pub fn build_with<R: Recorder>(
    scenario: &Scenario,
    seed: u64,
    hosts: Hosts,
    observer: Option<Box<dyn Observer + Send>>,
    recorder: impl FnOnce(&Layout) -> R,
) -> Result<(World<R>, Layout), BuildError> {
    assemble(scenario, seed, hosts, observer, recorder, &mut |_, _| None)
}

/// As [`build`], with controllers of the caller's in the place of those that the scenario names: `given` is asked for each
/// TCP flow by its number.
///
/// # Errors
/// As [`build`].
pub fn build_given<R: Recorder>(
    scenario: &Scenario,
    seed: u64,
    observer: Option<Box<dyn Observer + Send>>,
    recorder: impl FnOnce(&Layout) -> R,
    given: &mut dyn FnMut(usize, &ControllerConfig) -> Option<AnyController>,
) -> Result<(World<R>, Layout), BuildError> {
    assemble(scenario, seed, Hosts::Simulated, observer, recorder, given)
}

fn assemble<R: Recorder>(
    scenario: &Scenario,
    seed: u64,
    hosts: Hosts,
    observer: Option<Box<dyn Observer + Send>>,
    recorder: impl FnOnce(&Layout) -> R,
    given: &mut dyn FnMut(usize, &ControllerConfig) -> Option<AnyController>,
) -> Result<(World<R>, Layout), BuildError> {
    scenario
        .check_own()
        .map_err(|e| BuildError::Own(Box::new(e)))?;
    let plugins = scenario.plugins();
    let draw = Draw::new(seed);
    let mut world = WorldBuilder::new(seed);
    let mut layout = Layout::default();
    let mut queues = 0;
    let mut queue_draw = || {
        queues += 1;
        draw.fork(purpose::QUEUE, queues)
    };

    layout.wired = scenario
        .wired
        .as_ref()
        .map(|w| world.add_link(link::wired(w, plugins, queue_draw())));
    // An agent of the program that reports from the UEs.
    let mut ue_agent = None;
    let (down, up, slot) = match &scenario.bottleneck {
        Bottleneck::Link(config) => {
            let (down, up) = link::both(config, plugins, &mut queue_draw);
            let down = world.add_link(down);
            (down, up.map(|u| world.add_link(u)), Duration::ZERO)
        }
        Bottleneck::Cell(config) => {
            let (mut cell, ues) = cell::configs(config, scenario, &mut queue_draw);
            let mut agent = feedback::own_agent(scenario, &cell, ues.len(), seed)?;
            if agent.as_ref().is_some_and(|a| a.place() == Place::Ue) {
                ue_agent = agent.take();
            }
            let reports = feedback::is_asked_for(scenario);
            cell.observe_pdcp |= reports || ue_agent.is_some() || upf::has_own_system(scenario);
            let slot = cell.slot_duration();
            let node = world
                .add_cell(&cell, ues, observer)
                .map_err(|e| BuildError::Cell(e.to_string()))?;
            if reports {
                let xrc = || Box::new(feedback::xrc_agent(scenario, &cell)) as Box<_>;
                let agent = world.add_agent(node, agent.unwrap_or_else(xrc));
                let (carrier, faults) = feedback::way(scenario);
                world.connect(agent, carrier, faults, Sink::Senders);
            }
            layout.cell = true;
            (node, Some(node), slot)
        }
    };
    let ues = scenario.expanded_ues();
    if let Some(config) = &scenario.upf {
        let own = |name| plugins.system(name, config, seed);
        let own = config.system.as_deref().map(own).transpose();
        let own = own.map_err(BuildError::System)?;
        layout.upf = upf::add(
            &mut world,
            config,
            down,
            &ues,
            scenario.duration,
            plugins,
            own,
        );
    }
    layout.bottleneck = down;
    layout.up_node = up.filter(|u| *u != down);

    // The connections of a page that are known so far.
    let mut page = Vec::new();
    // Flows whose UE reports its transport blocks, and their RTTs.
    let mut feeds: Vec<(FlowId, Duration)> = Vec::new();
    for flow in scenario.expanded_flows() {
        let ue = UeId(flow.ue.unwrap_or(0));
        let qfi = Qfi(flow.spec.qfi);
        let guarantee = ues.get(ue.index()).and_then(|u| u.guarantee(qfi.0));
        let gbr_flow = guarantee.map(|_| qfi);
        let loss = scenario.path.loss.fraction();
        // Without jitter of about a slot, arrivals keep in step with the cell's slots and lock flows out of a full buffer.
        let jitter = scenario.path.jitter.unwrap_or(slot);
        // The UPF stands between the servers' part of the way and its own to the cell.
        let n3 = scenario.upf.as_ref().map(|u| u.n3.min(flow.rtt / 2));
        let lane = |jitter, loss| {
            HopConfig::Lane(LaneConfig {
                delay: flow.rtt / 2 - n3.unwrap_or(Duration::ZERO),
                jitter,
                loss,
                ..LaneConfig::default()
            })
        };
        // Media's reports may also be lost on their own way.
        let rtcp = flow.spec.app.media().map(|m| m.feedback_loss.fraction());
        let back = 1.0 - (1.0 - loss) * (1.0 - rtcp.unwrap_or(0.0));
        let (loss_down, loss_up) = if flow::is_up(&flow) {
            (back, loss)
        } else {
            (loss, back)
        };
        let detour = scenario.upf.as_ref().and_then(|u| {
            Some(Detour {
                period: u.detour_period,
                extra: u.detour?,
            })
        });
        let near = n3.map(|delay| {
            HopConfig::Lane(LaneConfig {
                delay,
                detour,
                ..LaneConfig::default()
            })
        });
        // An emulator's pauses hold up what the bottleneck has served, and the way back.
        let pause = |host| {
            let stalls = scenario.path.stalls.as_ref()?;
            let stalls = Some(Stalls {
                every: stalls.every,
                longest: stalls.longest,
                host,
            });
            Some(HopConfig::Lane(LaneConfig {
                stalls,
                ..LaneConfig::default()
            }))
        };
        let radio = |node| {
            if layout.cell {
                HopConfig::Cell { node, ue, qfi }
            } else {
                HopConfig::Link(node)
            }
        };
        let mut to_ue = vec![lane(jitter, loss_down)];
        to_ue.extend(layout.wired.map(HopConfig::Link));
        to_ue.extend(upf::hops(&layout.upf, ue, gbr_flow, Direction::Down));
        to_ue.extend(near);
        to_ue.push(radio(down));
        to_ue.extend(pause(0));
        let mut to_network: Vec<HopConfig> = up.map(radio).into_iter().collect();
        to_network.extend(pause(1));
        to_network.extend(near);
        to_network.extend(upf::hops(&layout.upf, ue, gbr_flow, Direction::Up));
        let jitter = if layout.cell { jitter } else { Duration::ZERO };
        to_network.push(lane(jitter, loss_up));
        let number = layout.labels.len();
        let draw = draw.fork(purpose::CONTROLLER, number as u64);
        if hosts == Hosts::External {
            // A simulation pays an event for a lane that does nothing; an emulator would pay it in delay.
            skip_idle(&mut to_ue);
            skip_idle(&mut to_network);
        }
        let scheme = marker(scenario, flow::is_up(&flow));
        let given = |config: &ControllerConfig| given(number, config);
        let mut config = flow::config(scenario, &flow, scheme, to_ue, to_network, draw, given)
            .map_err(|reason| BuildError::Flow {
                label: flow.label.clone(),
                reason,
            })?;
        if hosts == Hosts::External {
            config.transport = flow::external(&config.transport);
        }
        if config.takes_blocks() {
            // A real UE's modem tells the UE itself, which sends it on by a way of its own.
            let rtt = if hosts == Hosts::External {
                Duration::ZERO
            } else {
                flow.rtt
            };
            feeds.push((FlowId(layout.labels.len() as u32), rtt));
        }
        if matches!(config.app, AppConfig::Page(_)) && hosts != Hosts::External {
            page.push(config);
            if flow.connection + 1 == flow.spec.app.connections() {
                world.add_page(core::mem::take(&mut page));
            }
        } else {
            let id = world.add_flow(config);
            debug_assert_eq!(id, FlowId(layout.labels.len() as u32));
        }
        layout.labels.push(flow.label.clone());
        layout
            .controllers
            .push(flow::controller_name(&flow).to_owned());
        layout.ues.push(ue);
        layout.up.push(flow::is_up(&flow));
    }
    if !feeds.is_empty() {
        let mode = feedback::mode(scenario);
        let agent = if layout.cell {
            let tyrus = sim::tbs_agent(world.cell_config(down), mode);
            world.add_agent(down, ue_agent.unwrap_or_else(|| Box::new(tyrus)))
        } else {
            world.add_link_agent(down, mode)
        };
        for (flow, rtt) in feeds {
            let (carrier, faults) = feedback::way_of_blocks(scenario, rtt);
            world.connect(agent, carrier, faults, Sink::Sender(flow));
        }
    }
    let recorder = recorder(&layout);
    Ok((world.build(recorder), layout))
}

/// Takes lanes without effect out of `path`, but for the last hop.
fn skip_idle(path: &mut Vec<HopConfig>) {
    let idle = HopConfig::Lane(LaneConfig::default());
    while path.len() > 1
        && let Some(at) = path.iter().position(|hop| *hop == idle)
    {
        path.remove(at);
    }
}

/// The thresholds of the ramp that marks in the bottleneck, in the direction of the data.
fn marker(scenario: &Scenario, up: bool) -> Option<MarkingScheme> {
    let law = match &scenario.bottleneck {
        Bottleneck::Cell(cell) => (!up).then_some(&cell.rlc.law)?,
        Bottleneck::Link(link) => {
            let [down, back] = link.queues();
            match if up { back } else { down } {
                Queue::Fifo(fifo) => &fifo.law,
                Queue::Fq(_) | Queue::Dual(_) => return None,
            }
        }
    };
    match law {
        Law::BuiltIn(LawConfig::Ramp(ramp)) => Some(MarkingScheme {
            low: ramp.low,
            high: ramp.high,
        }),
        _ => None,
    }
}
