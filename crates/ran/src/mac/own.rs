//! Schedulers from outside of this workspace.

use core::fmt;
use std::sync::Arc;

use slackwater_core::Duration;

use super::{Scheduler, Setup};

/// Builds a scheduler for one direction of a cell from what follows `:` in its name (nothing: empty).
type Make = Arc<dyn Fn(&Setup, &str) -> Result<Box<dyn Scheduler>, String> + Send + Sync>;

/// A scheduler that a program adds, under a name.
#[derive(Clone)]
pub struct OwnScheduler {
    name: String,
    about: String,
    /// What follows `:` in the name.
    parameters: String,
    make: Make,
}

impl OwnScheduler {
    /// A scheduler: its name in scenarios, one line about it, and what builds one for each direction of a cell. `make` is
    /// given what follows `:` in `name:slots=4`, and says what is wrong with it.
    pub fn new(
        name: &str,
        about: &str,
        make: impl Fn(&Setup, &str) -> Result<Box<dyn Scheduler>, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            about: about.to_owned(),
            parameters: String::new(),
            make: Arc::new(make),
        }
    }

    /// Its name, without parameters.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The line about it.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The same scheduler with parameters.
    ///
    /// # Errors
    /// What the scheduler says is wrong with them.
    pub fn with_parameters(&self, parameters: &str) -> Result<Self, String> {
        let millisecond = Duration::from_millis(1);
        (self.make)(&Setup::new(1, millisecond, millisecond), parameters)?;
        Ok(Self {
            parameters: parameters.to_owned(),
            ..self.clone()
        })
    }

    /// A scheduler in its initial state.
    ///
    /// # Panics
    /// Where the scheduler refuses parameters that it took before.
    pub fn build(&self, setup: &Setup) -> Box<dyn Scheduler> {
        let scheduler = (self.make)(setup, &self.parameters);
        scheduler
            .unwrap_or_else(|e| panic!("{}: {e}, after these parameters were taken", self.name))
    }
}

impl fmt::Debug for OwnScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnScheduler({:?}:{:?})", self.name, self.parameters)
    }
}

impl PartialEq for OwnScheduler {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make) && self.parameters == other.parameters
    }
}
