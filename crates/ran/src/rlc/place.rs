//! Where an entity of RLC stands.

use slackwater_core::{BearerId, Direction, UeId};

/// Where an entity stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Which way its data goes.
    pub dir: Direction,
    /// The UE.
    pub ue: UeId,
    /// The bearer.
    pub bearer: BearerId,
}
