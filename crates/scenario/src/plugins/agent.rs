//! Agents from outside of this workspace, which report to senders.

use core::fmt;
use std::sync::Arc;

use slackwater_edge::Agent;
use slackwater_ran::cell::CellConfig;

/// The cell that an agent is built for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AgentSetup<'a> {
    /// The cell.
    pub cell: &'a CellConfig,
    /// Number of its UEs.
    pub ues: usize,
    /// The seed of the run.
    pub seed: u64,
}

impl<'a> AgentSetup<'a> {
    /// The agent of `cell`, which has `ues` UEs, in a run with this seed.
    pub const fn new(cell: &'a CellConfig, ues: usize, seed: u64) -> Self {
        Self { cell, ues, seed }
    }
}

/// Builds an agent from what follows `:` in its name (nothing: empty).
type Make =
    Arc<dyn Fn(&AgentSetup<'_>, &str) -> Result<Box<dyn Agent + Send>, String> + Send + Sync>;

/// An agent that a program adds, under a name: `feedback.own_agent` puts it into a scenario. It takes the place of the built-in
/// agent that stands where it does: one at the cell that of XRC, one at the UE that of Tyrus.
#[derive(Clone)]
pub struct OwnAgent {
    name: String,
    about: String,
    make: Make,
}

impl OwnAgent {
    /// An agent: its name in scenarios, one line about it, and what builds one for each run. `make` is given what follows
    /// `:` in `name:window=20`, and says what is wrong with it.
    pub fn new(
        name: &str,
        about: &str,
        make: impl Fn(&AgentSetup<'_>, &str) -> Result<Box<dyn Agent + Send>, String>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            about: about.to_owned(),
            make: Arc::new(make),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The line about it.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// An agent that has seen nothing.
    ///
    /// # Errors
    /// What the agent says is wrong with `parameters`.
    pub fn build(
        &self,
        setup: &AgentSetup<'_>,
        parameters: &str,
    ) -> Result<Box<dyn Agent + Send>, String> {
        (self.make)(setup, parameters)
    }
}

impl fmt::Debug for OwnAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnAgent({:?})", self.name)
    }
}
