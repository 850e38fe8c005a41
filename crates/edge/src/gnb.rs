//! Agents at the base station.

pub mod rlc_reporter;
pub mod xrc_agent;

pub use rlc_reporter::{CellSlots, ReporterConfig, RlcReporter};
pub use xrc_agent::{AgentConfig, IpScale, Share, XrcAgent};
