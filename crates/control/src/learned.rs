//! Control by what the radio tells and by what was learned from it: Tyrus (Liu, Xu: "Tyrus: PHY-Assisted Neural
//! Adaptive Congestion Control for Cellular Networks", SIGCOMM 2019 posters) and the rules beside it.
//!
//! [`track::Tracker`] turns ACKs and transport blocks into [`observe::Signals`]; [`observe`] turns those into a network's
//! inputs. Both serve training and deployment unchanged. A [`steered::Steer`] answers with a window; [`steered::Steered`]
//! makes a controller of it, with guard rails and a fallback that counts.

pub mod action;
pub mod audit;
pub mod claw;
pub mod ewma;
pub mod observe;
pub mod oracle;
pub mod pbe;
pub mod policy;
pub mod rule;
pub mod seat;
pub mod sprout;
pub mod steered;
#[cfg(test)]
mod testing;
pub mod track;
pub mod tyrus;

pub use action::{Action, ActionSet, Choice};
pub use observe::{ObsMode, Signals};
pub use policy::{Policy, PolicyError};
pub use seat::{Look, Seat};
pub use steered::{Steer, Steered};
pub use tyrus::Pilot;
