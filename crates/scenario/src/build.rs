//! From a scenario to a world.

mod assembly;
pub(crate) mod cell;
pub mod controller;
pub(crate) mod feedback;
mod flow;
mod link;
mod path;
mod rlc;
pub(crate) mod upf;
#[cfg(test)]
pub(crate) mod used;

use slackwater_control::registry::{AnyController, Config as ControllerConfig};
use slackwater_core::{NodeId, Recorder, UeId};
use slackwater_signal::Observer;
use slackwater_sim::World;

use crate::{Scenario, ScenarioError};
use assembly::Assembly;
pub use assembly::marking_scheme;
pub use flow::{app as app_of, media as media_of};

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
    /// A flow cannot be built: its application does not fit its transport, or it names no known controller.
    #[error("flow[{entry}].{key}: flow \"{label}\": {reason}")]
    Flow {
        /// Its `[[flow]]` in the file, from zero.
        entry: usize,
        /// The key below it that is wrong.
        key: &'static str,
        /// The flow's label, which tells flows of one `[[flow]]` apart.
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
    /// The wired bottleneck of downloads.
    pub wired: Option<NodeId>,
    /// That of uploads.
    pub wired_up: Option<NodeId>,
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
    /// The same, and any flow may turn out to send from the UE ([`World::set_direction`]).
    Found,
    /// As [`Hosts::Found`], and the user plane function is outside as well: packets come from N3 and go to it, and the reports that
    /// `[upf]` describes are handed out ([`World::drain_reports`]).
    BeyondN3,
}

impl Hosts {
    /// True where packets come from outside of the world.
    fn are_outside(self) -> bool {
        self != Self::Simulated
    }

    /// True where the scenario does not know which way the data of a flow goes.
    fn may_turn(self) -> bool {
        matches!(self, Self::Found | Self::BeyondN3)
    }
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
    Assembly::new(scenario, seed, hosts)?.finish(observer, recorder, &mut |_, _| None)
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
    Assembly::new(scenario, seed, Hosts::Simulated)?.finish(observer, recorder, given)
}
