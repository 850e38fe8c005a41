//! Scenarios: what to simulate, as TOML with units in strings, and the world that it describes.
//!
//! [`Scenario::load`] reads a file, [`Scenario::expand`] gives the runs that `[vary]` describes. Everything that a
//! run needs is in the value, traces included: [`build::build`] makes a world from a [`Scenario`] and reads no file.
//! [`Plugins`] holds the controllers, systems, queue laws and schedulers that a program adds to what a scenario may name.

pub mod bounded;
pub mod build;
pub mod builtin;
pub mod cell;
pub mod data;
pub mod document;
pub mod drawn;
pub mod embedded;
pub mod feedback;
pub mod flow;
pub mod law;
pub mod link;
pub mod media;
pub mod own;
pub mod packed;
pub mod plugins;
pub mod reference;
mod scenario;
pub mod scheduler;
pub mod ue;
pub mod upf;

pub use cell::Cell;
pub use data::DataCache;
pub use document::parse_toml;
pub use embedded::{embedded, embedded_names};
pub use error::ScenarioError;
pub use feedback::Feedback;
pub use flow::{App, Flow, UeRef};
pub use law::Law;
pub use link::{Link, Path, Queue, Wired};
pub use own::OwnName;
pub use plugins::Plugins;
pub use reference::json_schema as schema;
pub use scenario::{Axis, Bottleneck, Change, FlowInstance, Record, Scenario, Variant};
pub use scheduler::Scheduler;
pub use slackwater_schema::{error, field, tree, units};
pub use ue::{Channel, Mobility, Ue};
pub use units::Limit;
pub use upf::Upf;

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
