//! The channels of all UEs, and what the cell knows of them.

/// How good the channel of a UE is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChannelConfig {
    /// Constant SINR, down and up, in dB.
    Sinr {
        /// Downlink.
        down_db: f64,
        /// Uplink.
        up_db: f64,
    },
    /// Constant MCS without errors.
    Mcs {
        /// Downlink.
        down: u8,
        /// Uplink.
        up: u8,
    },
}

use slackwater_core::Direction;

pub(crate) struct Radio {
    ues: Vec<ChannelConfig>,
}

impl Radio {
    pub(crate) fn new(ues: Vec<ChannelConfig>) -> Self {
        Self { ues }
    }
    pub(crate) fn is_constant(&self) -> bool {
        true
    }
    #[inline]
    pub(crate) fn is_given(&self, ue: usize) -> bool {
        matches!(self.ues[ue], ChannelConfig::Mcs { .. })
    }
    pub(crate) fn given(&mut self, ue: usize, dir: Direction, _slot: u64) -> Option<u8> {
        match (self.ues[ue], dir) {
            (ChannelConfig::Mcs { down, .. }, Direction::Down) => Some(down),
            (ChannelConfig::Mcs { up, .. }, Direction::Up) => Some(up),
            _ => None,
        }
    }
    pub(crate) fn sinr_db(&mut self, ue: usize, dir: Direction, _slot: u64) -> f64 {
        match (self.ues[ue], dir) {
            (ChannelConfig::Sinr { down_db, .. }, Direction::Down) => down_db,
            (ChannelConfig::Sinr { up_db, .. }, Direction::Up) => up_db,
            _ => 0.0,
        }
    }
}
