//! Control by what the radio reports or what its link shows: rates and queue delays from the base station
//! ([`xrc`]), one bit per packet from the queue ([`abc`]), transport blocks that the phone decodes ([`tyrus`], [`claw`],
//! [`exll`], [`pbe`]), and forecasts of the link's deliveries ([`sprout`]).
//!
//! Controllers by transport blocks share their parts. [`track::Tracker`] turns ACKs and blocks into
//! [`observe::Signals`]; [`observe`] turns those into a network's inputs. Training and deployment use the same two. A
//! [`steered::Steer`] answers with a window; [`steered::Steered`] makes a controller of it, with bounds and a counted
//! fallback.

pub mod abc;
pub mod action;
pub mod audit;
pub mod claw;
pub mod ebb;
pub mod ewma;
pub mod exll;
mod margin;
pub mod observe;
pub mod oracle;
pub mod pbe;
pub mod policy;
pub mod rule;
pub mod seat;
pub mod sprout;
pub mod steered;
#[cfg(test)]
pub(crate) mod testing;
pub mod track;
pub mod tyrus;
pub mod xrc;

pub use action::{Action, ActionSet, Choice};
pub use observe::{ObsMode, Signals};
pub use policy::{Policy, PolicyError};
pub use seat::{Look, Seat};
pub use steered::{Steer, Steered};
pub use tyrus::Pilot;

use crate::registry::Entry;

/// The controllers of this family.
pub(crate) const TABLE: &[&[Entry]] = &[
    xrc::ENTRIES,
    abc::ENTRIES,
    tyrus::ENTRIES,
    rule::ENTRIES,
    oracle::ENTRIES,
    claw::ENTRIES,
    exll::ENTRIES,
    pbe::ENTRIES,
    sprout::ENTRIES,
    ebb::ENTRIES,
];
