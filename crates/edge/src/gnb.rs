//! Agents at the base station.

pub mod counter_agent;
pub mod flow_counts;
pub mod rlc_reporter;
pub mod xrc_agent;

pub use counter_agent::CounterAgent;
pub use flow_counts::FlowCounts;
pub use rlc_reporter::{CellSlots, ReporterConfig, RlcReporter};
pub use xrc_agent::{AgentConfig, IpScale, Share, XrcAgent};
