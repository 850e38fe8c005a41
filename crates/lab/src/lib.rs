//! Experiments: scenarios, records, metrics, results.
//!
//! [`plugins`] says what a program adds to what a scenario may name. [`scenario`] reads what to simulate; [`record`] listens to a run; [`metrics`] says what the numbers mean, once;
//! [`output`] writes them down.

pub mod arena;
pub mod bench;
pub mod build;
pub mod check;
pub mod gym;
pub mod metrics;
pub mod output;
pub mod papers;
pub mod parallel;
pub mod plugins;
pub mod record;
pub mod report;
pub mod run;
pub mod scenario;
pub mod shelf;
pub mod table;
pub mod validate;
pub mod view;

pub use plugins::Plugins;
pub use scenario::{Scenario, ScenarioError};
pub use {
    slackwater_control as control, slackwater_core as core, slackwater_edge as edge,
    slackwater_signal as signal, slackwater_wire as wire,
};
