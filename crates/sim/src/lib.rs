//! The engine: an event kernel, links, cells and hosts joined into a [`World`].
//!
//! A world is a value: many live side by side in one process and share nothing. The same build steps and seed give
//! the same events in the same order on every run, host and thread. The loop takes a [`Clock`]: [`NoClock`] runs as
//! fast as the machine can; an emulator passes one that waits.

mod arena;
pub mod clock;
pub mod flow;
mod inbox;
pub mod kernel;
pub mod lane;
pub mod link;
pub mod world;

pub use clock::{Clock, NoClock, SyncStatus};
pub use flow::{FlowConfig, Fresh, HopConfig, Host, SendingEnd, StreamSender, Transport};
pub use lane::{Detour, LaneConfig, Stalls};
pub use link::{LinkConfig, Service};
pub use world::{
    AgentId, CELL_DOWN, CELL_UP, Carrier, Faults, Profile, Sink, World, WorldBuilder,
    counter_agent, report_delay, rlc_reporter, tbs_agent,
};
