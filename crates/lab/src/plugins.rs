//! What a program adds to the built-in parts that scenarios name: controllers and systems of its own.

use core::fmt;
use std::sync::Arc;

pub use slackwater_control::registry::{BadName, Plugin, Registry};
use slackwater_core::Packet;
use slackwater_edge::{EdgeAgent, EdgeFunction, ReportCarrier};

use crate::scenario::Upf;

/// A function at the UPF and what reports to it, for one run.
pub struct Parts {
    /// The function, on the path of all flows.
    pub function: Box<dyn EdgeFunction<Packet> + Send>,
    /// The agent at the cell and the carrier of its reports, where there is one.
    pub agent: Option<(Box<dyn EdgeAgent + Send>, Box<dyn ReportCarrier + Send>)>,
}

/// Builds the parts from the scenario's `[upf]`, the seed of the run and what follows `:` in the name (nothing: empty).
type Make = Arc<dyn Fn(&Upf, u64, &str) -> Result<Parts, String> + Send + Sync>;

/// A system from outside of this workspace, under a name: an observer in the cell, a carrier and a function at the UPF.
/// `upf.system` puts it into a scenario.
#[derive(Clone)]
pub struct System {
    name: String,
    about: String,
    make: Make,
}

impl System {
    /// A system: its name in scenarios, one line about it, and what builds its parts for each run. `make` is told the
    /// scenario's `[upf]`, the run's seed and what follows `:` in `name:limit=20`, and says what is wrong with the latter.
    pub fn new(
        name: &str,
        about: &str,
        make: impl Fn(&Upf, u64, &str) -> Result<Parts, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            about: about.to_owned(),
            make: Arc::new(make),
        }
    }
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "System({:?})", self.name)
    }
}

/// Parts that scenarios may name beside the built-in ones; the default is none. A plain value: it is handed to a
/// [`Scenario`](crate::Scenario) and travels with it.
#[derive(Clone, Debug, Default)]
pub struct Plugins {
    controllers: Registry,
    systems: Vec<System>,
}

impl Plugins {
    /// The built-in parts alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a controller.
    ///
    /// # Errors
    /// Where its name is none or is taken.
    pub fn with_controller(mut self, controller: Plugin) -> Result<Self, BadName> {
        self.controllers.add(controller)?;
        Ok(self)
    }

    /// Adds a system.
    ///
    /// # Errors
    /// Where its name is none or is taken.
    pub fn with_system(mut self, system: System) -> Result<Self, BadName> {
        let name = system.name.as_str();
        if name.is_empty() || name.contains(':') || self.systems.iter().any(|s| s.name == name) {
            return Err(BadName(system.name));
        }
        self.systems.push(system);
        Ok(self)
    }

    /// The controllers.
    pub const fn controllers(&self) -> &Registry {
        &self.controllers
    }

    /// Names of the added systems, with one line about each.
    pub fn systems(&self) -> Vec<(&str, &str)> {
        let systems = self.systems.iter();
        systems
            .map(|s| (s.name.as_str(), s.about.as_str()))
            .collect()
    }

    /// The parts of the system that `name` calls, for one run.
    ///
    /// # Errors
    /// What is expected in place of `name`.
    pub fn system(&self, name: &str, upf: &Upf, seed: u64) -> Result<Parts, String> {
        let (own, parameters) = name.split_once(':').unwrap_or((name, ""));
        let Some(system) = self.systems.iter().find(|s| s.name == own) else {
            let known: Vec<&str> = self.systems.iter().map(|s| s.name.as_str()).collect();
            return Err(if known.is_empty() {
                "a program that adds a system of that name (docs/tutorials/system.md)".to_owned()
            } else {
                format!("one of {}", known.join(", "))
            });
        };
        (system.make)(upf, seed, parameters)
    }
}
