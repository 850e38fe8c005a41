//! What a program adds to the built-in parts that scenarios name: controllers, agents, systems, queue laws and schedulers of its
//! own.

mod agent;

use core::fmt;
use std::sync::Arc;

pub use agent::{AgentSetup, OwnAgent};
pub use slackwater_control::registry::{BadName, Plugin, Registry};
use slackwater_core::Packet;
use slackwater_edge::{Agent, EdgeFunction, ReportCarrier};
use slackwater_queue::LawConfig;
pub use slackwater_queue::OwnLaw;
pub use slackwater_ran::mac::OwnScheduler;
use slackwater_ran::mac::SchedulerKind;

use crate::{Law, ScenarioError, Scheduler, Upf};

/// A function at the UPF and what reports to it, for one run.
pub struct Parts {
    /// The function, on the path of all flows.
    pub function: Box<dyn EdgeFunction<Packet> + Send>,
    /// The agent at the cell and the carrier of its reports, where there is one.
    pub agent: Option<(Box<dyn Agent + Send>, Box<dyn ReportCarrier + Send>)>,
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
    agents: Vec<OwnAgent>,
    systems: Vec<System>,
    laws: Vec<OwnLaw>,
    schedulers: Vec<OwnScheduler>,
}

impl Plugins {
    /// The built-in parts alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// True where nothing was added.
    pub fn is_empty(&self) -> bool {
        let Self {
            controllers,
            agents,
            systems,
            laws,
            schedulers,
        } = self;
        let radio = agents.is_empty() && laws.is_empty() && schedulers.is_empty();
        controllers.is_empty() && systems.is_empty() && radio
    }

    /// Adds a controller.
    ///
    /// # Errors
    /// Where its name is none or is taken.
    pub fn with_controller(mut self, controller: Plugin) -> Result<Self, BadName> {
        self.controllers.add(controller)?;
        Ok(self)
    }

    /// Adds an agent that reports to senders.
    ///
    /// # Errors
    /// Where its name is none or is taken.
    pub fn with_agent(mut self, agent: OwnAgent) -> Result<Self, BadName> {
        check_name(agent.name(), self.agents.iter().map(OwnAgent::name))?;
        self.agents.push(agent);
        Ok(self)
    }

    /// Adds a system.
    ///
    /// # Errors
    /// Where its name is none or is taken.
    pub fn with_system(mut self, system: System) -> Result<Self, BadName> {
        check_name(&system.name, self.systems.iter().map(|s| s.name.as_str()))?;
        self.systems.push(system);
        Ok(self)
    }

    /// Adds a queue law.
    ///
    /// # Errors
    /// Where its name is none or is taken.
    pub fn with_law(mut self, law: OwnLaw) -> Result<Self, BadName> {
        let own = self.laws.iter().map(OwnLaw::name);
        check_name(law.name(), LawConfig::NAMES.iter().copied().chain(own))?;
        self.laws.push(law);
        Ok(self)
    }

    /// Adds a scheduler.
    ///
    /// # Errors
    /// Where its name is none or is taken.
    pub fn with_scheduler(mut self, scheduler: OwnScheduler) -> Result<Self, BadName> {
        let own = self.schedulers.iter().map(OwnScheduler::name);
        let taken = SchedulerKind::NAMES.iter().copied().chain(own);
        check_name(scheduler.name(), taken)?;
        self.schedulers.push(scheduler);
        Ok(self)
    }

    /// The controllers.
    pub const fn controllers(&self) -> &Registry {
        &self.controllers
    }

    /// Names of the added agents, with one line about each.
    pub fn agents(&self) -> Vec<(&str, &str)> {
        let agents = self.agents.iter();
        agents.map(|a| (a.name(), a.about())).collect()
    }

    /// The agent that `name` calls, for one run.
    ///
    /// # Errors
    /// What is expected in place of `name`.
    pub fn agent(
        &self,
        name: &str,
        setup: &AgentSetup<'_>,
    ) -> Result<Box<dyn Agent + Send>, String> {
        let (own, parameters) = split(name);
        let known = self.agents.iter().map(OwnAgent::name);
        let Some(agent) = self.agents.iter().find(|a| a.name() == own) else {
            return Err(unknown("an agent", "sender", known));
        };
        agent.build(setup, parameters)
    }

    /// Names of the added systems, with one line about each.
    pub fn systems(&self) -> Vec<(&str, &str)> {
        let systems = self.systems.iter();
        systems
            .map(|s| (s.name.as_str(), s.about.as_str()))
            .collect()
    }

    /// Names of the queue laws with one line about each: the built-in ones first.
    pub fn laws(&self) -> Vec<(String, String)> {
        let built_in = LawConfig::NAMES
            .iter()
            .filter_map(|n| LawConfig::from_name(n));
        let own = self.laws.iter().cloned().map(LawConfig::Own);
        let all = built_in.chain(own);
        all.map(|law| (law.name().to_owned(), law.about().to_owned()))
            .collect()
    }

    /// The law that a scenario names.
    ///
    /// # Errors
    /// Where no law has the name, or it refuses its parameters.
    pub fn law(&self, law: &Law) -> Result<LawConfig, ScenarioError> {
        let name = match law {
            Law::BuiltIn(law) => return Ok(law.clone()),
            Law::Own(name) => name,
        };
        let (own, parameters) = split(name.text());
        let Some(law) = self.laws.iter().find(|law| law.name() == own) else {
            let own: Vec<&str> = self.laws.iter().map(OwnLaw::name).collect();
            return Err(name.unknown(&own));
        };
        let law = law.with_parameters(parameters);
        law.map(LawConfig::Own).map_err(|e| name.refused(e))
    }

    /// Names of the schedulers with one line about each: the built-in ones first.
    pub fn schedulers(&self) -> Vec<(String, String)> {
        let names = SchedulerKind::NAMES.iter();
        let built_in = names.filter_map(|n| SchedulerKind::from_name(n));
        let own = self.schedulers.iter().cloned().map(SchedulerKind::Own);
        let all = built_in.chain(own);
        all.map(|kind| (kind.name().to_owned(), kind.about().to_owned()))
            .collect()
    }

    /// The scheduler that a scenario names.
    ///
    /// # Errors
    /// Where no scheduler has the name, or it refuses its parameters.
    pub fn scheduler(&self, scheduler: &Scheduler) -> Result<SchedulerKind, ScenarioError> {
        let name = match scheduler {
            Scheduler::BuiltIn(kind) => return Ok(kind.clone()),
            Scheduler::Own(name) => name,
        };
        let (own, parameters) = split(name.text());
        let Some(scheduler) = self.schedulers.iter().find(|s| s.name() == own) else {
            let own: Vec<&str> = self.schedulers.iter().map(OwnScheduler::name).collect();
            return Err(name.unknown(&own));
        };
        let scheduler = scheduler.with_parameters(parameters);
        scheduler
            .map(SchedulerKind::Own)
            .map_err(|e| name.refused(e))
    }

    /// The parts of the system that `name` calls, for one run.
    ///
    /// # Errors
    /// What is expected in place of `name`.
    pub fn system(&self, name: &str, upf: &Upf, seed: u64) -> Result<Parts, String> {
        let (own, parameters) = split(name);
        let Some(system) = self.systems.iter().find(|s| s.name == own) else {
            let known = self.systems.iter().map(|s| s.name.as_str());
            return Err(unknown("a system", "system", known));
        };
        (system.make)(upf, seed, parameters)
    }
}

/// What is expected where a program adds no such part; `page` is the tutorial that shows how it would.
fn unknown<'a>(what: &str, page: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    if known.is_empty() {
        format!("a program that adds {what} of that name (docs/tutorials/{page}.md)")
    } else {
        format!("one of {}", known.join(", "))
    }
}

/// A name and what follows `:` in it.
fn split(name: &str) -> (&str, &str) {
    name.split_once(':').unwrap_or((name, ""))
}

fn check_name<'a>(name: &str, mut taken: impl Iterator<Item = &'a str>) -> Result<(), BadName> {
    if name.is_empty() || name.contains(':') || taken.any(|other| other == name) {
        return Err(BadName(name.to_owned()));
    }
    Ok(())
}
