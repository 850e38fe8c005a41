//! Experiments: scenarios, records, metrics, results.
//!
//! [`scenario`] reads what to simulate; [`record`] listens to a run; [`metrics`] says what the numbers mean, once;
//! [`output`] writes them down.

pub mod metrics;
pub mod record;
pub mod scenario;

pub use scenario::{Scenario, ScenarioError};
