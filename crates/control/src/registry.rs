//! Controllers by name: the built-in ones, and those that a program brings along in a [`Registry`].

mod any;
mod build;
mod catalogue;
mod config;
#[cfg(test)]
mod tests;

use core::fmt;
use std::sync::Arc;

pub use any::AnyController;
pub use build::{build, oracle, seated, shipped, tyrus};
pub use catalogue::{canonical, media_names, modes, names};
pub use config::{Config, Encoder};

use crate::Controller;

/// No controller has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownController {
    /// The name asked for.
    pub name: String,
    /// What is wrong with the parameters after a name that exists: key, found, expected.
    pub reason: Option<String>,
}

impl fmt::Display for UnknownController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(reason) = &self.reason {
            return write!(f, "controller \"{}\": {reason}", self.name);
        }
        write!(f, "no controller is named \"{}\"; known are ", self.name)?;
        for (i, (name, _)) in names().iter().chain(media_names()).enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{name}")?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownController {}

/// Builds a controller from its configuration and what follows `:` in its name (nothing: empty).
type Make = Arc<dyn Fn(&Config, &str) -> Result<Box<dyn Controller>, String> + Send + Sync>;

/// A controller from outside of this workspace, under a name.
#[derive(Clone)]
pub struct Plugin {
    name: String,
    about: String,
    media: bool,
    modes: Option<&'static [&'static str]>,
    make: Make,
}

impl Plugin {
    /// A controller for TCP and QUIC: its name in scenarios, one line about it, and what builds one for each flow.
    pub fn new<C: Controller + 'static>(
        name: &str,
        about: &str,
        make: impl Fn(&Config) -> C + Send + Sync + 'static,
    ) -> Self {
        let own = name.to_owned();
        Self::with_parameters(name, about, move |config, parameters| {
            if parameters.is_empty() {
                Ok(Box::new(make(config)))
            } else {
                Err(format!(
                    "found \"{parameters}\" after \"{own}:\", expected no parameters"
                ))
            }
        })
    }

    /// The same for a controller that takes parameters: `make` is also told what follows `:` in `name:gain=2`, and says
    /// what is wrong with it (key, found, expected). Without `:` that is empty.
    pub fn with_parameters(
        name: &str,
        about: &str,
        make: impl Fn(&Config, &str) -> Result<Box<dyn Controller>, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            about: about.to_owned(),
            media: false,
            modes: None,
            make: Arc::new(make),
        }
    }

    /// It steers media, by [`Controller::on_feedback`].
    #[must_use]
    pub fn for_media(self) -> Self {
        Self {
            media: true,
            ..self
        }
    }

    /// Names of the states that `mode` in its [`Controller::snapshot`] counts through.
    #[must_use]
    pub fn with_modes(self, modes: &'static [&'static str]) -> Self {
        Self {
            modes: Some(modes),
            ..self
        }
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plugin({:?})", self.name)
    }
}

/// A [`Plugin`] has a name that is empty, holds `:`, or is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadName(pub String);

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "controller {:?}: expected a name without \":\" that no other controller has",
            self.0
        )
    }
}

impl core::error::Error for BadName {}

/// The controllers that a scenario may name: the built-in ones and those that were added. A plain value that is handed
/// down: two runs of one process may know different controllers.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    own: Vec<Plugin>,
}

impl Registry {
    /// The built-in controllers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a controller.
    ///
    /// # Errors
    /// Where its name is none or is taken.
    pub fn add(&mut self, plugin: Plugin) -> Result<(), BadName> {
        let name = canonical(&plugin.name);
        let built_in = names().iter().chain(media_names()).any(|n| n.0 == name);
        if name.is_empty() || name.contains(':') || built_in || self.own(name).is_some() {
            return Err(BadName(plugin.name));
        }
        self.own.push(plugin);
        Ok(())
    }

    fn own(&self, name: &str) -> Option<&Plugin> {
        self.own.iter().find(|p| p.name == base(name))
    }

    /// The controller called `name`.
    ///
    /// # Errors
    /// Where no controller has that name or takes these parameters.
    pub fn build(&self, name: &str, config: &Config) -> Result<AnyController, UnknownController> {
        let Some(plugin) = self.own(name) else {
            return build(name, config);
        };
        let parameters = name.split_once(':').map_or("", |(_, rest)| rest);
        (plugin.make)(config, parameters)
            .map(AnyController::from)
            .map_err(|reason| UnknownController {
                name: name.to_owned(),
                reason: Some(reason),
            })
    }

    /// Names of the controllers of TCP and QUIC with one line about each: the built-in ones first.
    pub fn names(&self) -> Vec<(&str, &str)> {
        self.listed(names(), false)
    }

    /// The same for controllers of media.
    pub fn media_names(&self) -> Vec<(&str, &str)> {
        self.listed(media_names(), true)
    }

    fn listed(&self, known: &'static [(&str, &str)], media: bool) -> Vec<(&str, &str)> {
        let own = self.own.iter().filter(|p| p.media == media);
        let own = own.map(|p| (p.name.as_str(), p.about.as_str()));
        known.iter().copied().chain(own).collect()
    }

    /// As [`modes`], for added controllers too.
    pub fn modes(&self, name: &str) -> Option<&'static [&'static str]> {
        match self.own(name) {
            Some(plugin) => plugin.modes,
            None => modes(name),
        }
    }
}

/// The name of a controller without parameters and aliases: `al4s-c` of `cl4s:te=25`.
pub fn base(name: &str) -> &str {
    canonical(name.split_once(':').map_or(name, |(name, _)| name))
}
