//! Agents at the base station.

pub mod xrc_agent;

pub use xrc_agent::{AgentConfig, IpScale, XrcAgent};
