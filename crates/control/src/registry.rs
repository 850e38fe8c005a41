//! Controllers by name: the built-in ones, and those that a program brings along in a [`Registry`].

mod any;
mod any_media;
mod build;
mod catalogue;
mod config;
mod entry;
mod parameter;
#[cfg(test)]
mod tests;

use core::fmt;
use std::sync::Arc;

pub use any::AnyController;
pub use any_media::AnyMedia;
pub use build::{build, build_media, ebb, oracle, poster, seated, shipped, tyrus};
pub use catalogue::{
    canonical, entries, find, media_entries, media_names, modes, names, title, transport_entries,
};
pub use config::{Config, Encoder};
pub use entry::{Entry, Kind, Listed, Make, Marks, Parameters, Reports};
pub use parameter::{Parameter, Preset};

use crate::{Controller, MediaController};

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
        for (i, entry) in entries().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{}", entry.name)?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownController {}

/// Builds a controller from its configuration and what follows `:` in its name (nothing: empty).
type Build<C> = Arc<dyn Fn(&Config, &str) -> Result<Box<C>, String> + Send + Sync>;

/// Builds a plug-in of either kind.
#[derive(Clone)]
enum MakePlugin {
    Transport(Build<dyn Controller>),
    Media(Build<dyn MediaController>),
}

/// A controller from outside of this workspace, under a name.
#[derive(Clone)]
pub struct Plugin {
    /// Its name in scenarios.
    name: String,
    /// One line about it.
    about: String,
    /// Names of its states.
    modes: Option<&'static [&'static str]>,
    /// Builds it.
    make: MakePlugin,
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
            none(&own, parameters)?;
            Ok(Box::new(make(config)))
        })
    }

    /// The same for a controller of media.
    pub fn media<C: MediaController + 'static>(
        name: &str,
        about: &str,
        make: impl Fn(&Config) -> C + Send + Sync + 'static,
    ) -> Self {
        let own = name.to_owned();
        Self::media_with_parameters(name, about, move |config, parameters| {
            none(&own, parameters)?;
            Ok(Box::new(make(config)))
        })
    }

    /// The same for a controller that takes parameters: `make` is also told what follows `:` in `name:gain=2`, and says
    /// what is wrong with it (key, found, expected). Without `:` that is empty.
    pub fn with_parameters(
        name: &str,
        about: &str,
        make: impl Fn(&Config, &str) -> Result<Box<dyn Controller>, String> + Send + Sync + 'static,
    ) -> Self {
        Self::made_by(name, about, MakePlugin::Transport(Arc::new(make)))
    }

    /// The same for a controller of media.
    pub fn media_with_parameters(
        name: &str,
        about: &str,
        make: impl Fn(&Config, &str) -> Result<Box<dyn MediaController>, String> + Send + Sync + 'static,
    ) -> Self {
        Self::made_by(name, about, MakePlugin::Media(Arc::new(make)))
    }

    fn made_by(name: &str, about: &str, make: MakePlugin) -> Self {
        Self {
            name: name.to_owned(),
            about: about.to_owned(),
            modes: None,
            make,
        }
    }

    const fn kind(&self) -> Kind {
        match self.make {
            MakePlugin::Transport(_) => Kind::Transport,
            MakePlugin::Media(_) => Kind::Media,
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

/// The plug-in called `name` takes no parameters.
fn none(name: &str, parameters: &str) -> Result<(), String> {
    if parameters.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "found \"{parameters}\" after \"{name}:\", expected no parameters"
        ))
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

    /// True where nothing was added.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Adds a controller.
    ///
    /// # Errors
    /// Where its name is none or is taken.
    pub fn add(&mut self, plugin: Plugin) -> Result<(), BadName> {
        let name = canonical(&plugin.name);
        let built_in = entries().any(|e| e.name == name);
        if name.is_empty() || name.contains(':') || built_in || self.own(name).is_some() {
            return Err(BadName(plugin.name));
        }
        self.own.push(plugin);
        Ok(())
    }

    fn own(&self, name: &str) -> Option<&Plugin> {
        self.own.iter().find(|p| p.name == base(name))
    }

    /// The controller of TCP or QUIC called `name`.
    ///
    /// # Errors
    /// Where no controller has that name or takes these parameters, or it steers media.
    pub fn build(&self, name: &str, config: &Config) -> Result<AnyController, UnknownController> {
        let Some(plugin) = self.own(name) else {
            return build(name, config);
        };
        let built = match &plugin.make {
            MakePlugin::Transport(make) => make(config, after_colon(name)),
            MakePlugin::Media(_) => Err(Kind::Transport.instead()),
        };
        built.map(Into::into).map_err(|reason| wrong(name, reason))
    }

    /// The controller of media called `name`.
    ///
    /// # Errors
    /// As [`Registry::build`].
    pub fn build_media(&self, name: &str, config: &Config) -> Result<AnyMedia, UnknownController> {
        let Some(plugin) = self.own(name) else {
            return build_media(name, config);
        };
        let built = match &plugin.make {
            MakePlugin::Media(make) => make(config, after_colon(name)),
            MakePlugin::Transport(_) => Err(Kind::Media.instead()),
        };
        built.map(Into::into).map_err(|reason| wrong(name, reason))
    }

    /// Names of the controllers of TCP and QUIC with one line about each: the built-in ones first.
    pub fn names(&self) -> Vec<(&str, &str)> {
        self.listed(Kind::Transport)
    }

    /// The same for controllers of media.
    pub fn media_names(&self) -> Vec<(&str, &str)> {
        self.listed(Kind::Media)
    }

    fn listed(&self, kind: Kind) -> Vec<(&str, &str)> {
        let known = entries().filter(|e| e.kind == kind);
        let own = self.own.iter().filter(|p| p.kind() == kind);
        let own = own.map(|p| (p.name.as_str(), p.about.as_str()));
        known.map(|e| (e.name, e.about)).chain(own).collect()
    }

    /// As [`modes`], for added controllers too.
    pub fn modes(&self, name: &str) -> Option<&'static [&'static str]> {
        match self.own(name) {
            Some(plugin) => plugin.modes,
            None => modes(name),
        }
    }

    /// As [`modes`], for added controllers alone.
    pub fn own_modes(&self, name: &str) -> Option<&'static [&'static str]> {
        self.own(name)?.modes
    }
}

fn after_colon(name: &str) -> &str {
    name.split_once(':').map_or("", |(_, rest)| rest)
}

fn wrong(name: &str, reason: String) -> UnknownController {
    UnknownController {
        name: name.to_owned(),
        reason: Some(reason),
    }
}

/// The name of a controller without parameters and aliases: `al4s-c` of `cl4s:te=25`.
pub fn base(name: &str) -> &str {
    canonical(name.split_once(':').map_or(name, |(name, _)| name))
}
