//! Experiments: scenarios run and compared, the arena, worlds to learn in, validation, cost.
//!
//! [`run`] makes a world of a scenario, runs it and gives its records and numbers. [`arena`] puts every system on the same
//! cells, [`gym`] lets a learner decide in a world, [`validate`] sets our numbers beside those of other programs, [`bench`](mod@bench)
//! counts what a simulated second costs, [`forecast`] tells what a run will take. [`parallel`] uses all cores for any of them; [`beacon`] shows what is under way.

pub mod arena;
pub mod beacon;
pub mod bench;
mod cpu;
pub mod forecast;
pub mod gym;
pub mod parallel;
pub mod run;
pub mod title;
pub mod traces;
pub mod until;
pub mod validate;

pub use slackwater_scenario::{Plugins, Scenario, ScenarioError, plugins};
pub use {
    slackwater_control as control, slackwater_core as core, slackwater_edge as edge,
    slackwater_queue as queue, slackwater_ran as ran, slackwater_signal as signal,
    slackwater_wire as wire,
};

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
