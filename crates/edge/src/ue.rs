//! Agents at the UE.

pub mod tbs_agent;

pub use tbs_agent::{BlocksMode, Reading, TbsAgent};
