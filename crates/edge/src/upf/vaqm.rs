//! Virtual active queue management: the radio's bottleneck, moved to where its packets can be queued.
//!
//! A UPF sees neither the radio's buffer nor its rate. vAQM (Ihlar, Nazari, Skog: "Low latency, high flexibility:
//! Virtual AQM", Ericsson Technology Review, 2018) infers both from round-trip times and bytes in flight, keeps the
//! radio's queue at a small target, and queues the rest here, in fair queues under a queue law. One instance stands for
//! one bottleneck: the non-GBR flows of a session together, and each GBR `QoS` flow. `docs/vaqm.md` maps the article's
//! sentences to functions and says what was resolved where it leaves a choice.

mod bucket;
mod config;
mod direct;
mod fair;
mod flow;
mod function;
mod instance;
mod l4s;
mod modes;
mod path;
mod police;
mod snapshot;
#[cfg(test)]
mod tests;
mod uplink;

pub use config::{L4sConfig, Mode, VaqmConfig};
pub use function::Vaqm;
pub use snapshot::{Snapshot, State, VaqmStats};
