//! The physical layer: how many bits a grant carries, and whether they arrive.
//!
//! [`tables`] and [`tbs`] hold the numbers of TS 36.213 and TS 38.214, [`bandwidth`] the carrier sizes. [`link`] goes
//! from SINR to MCS, CQI and block error rate, [`harq`] from several transmissions to one SINR. [`channel`] gives the SINR of one terminal at a time, out of
//! [`mobility`], [`pathloss`] and [`fading`], or hands on a series that was given.

pub mod bandwidth;
pub mod channel;
pub mod fading;
pub mod harq;
pub mod link;
mod lte_sizes;
pub mod math;
pub mod mobility;
pub mod pathloss;
pub mod tables;
pub mod tbs;

pub use channel::{Budget, Channel, ChannelConfig, ChannelPlan, Given};
pub use fading::{Averaging, Fading, FadingConfig, FadingPlan, Profile};
pub use harq::{CodedBits, Combining, Heard};
pub use link::{AmcModel, Bler, LinkModel};
pub use mobility::{Mobility, Mover, Position};
pub use pathloss::{LogDistance, PathLoss, Shadowing, ShadowingKind, Sight, Tr38901};
pub use tables::{CqiTable, McsTable};
pub use tbs::{NrTbsParams, TbsTable};
