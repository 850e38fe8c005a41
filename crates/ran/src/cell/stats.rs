//! Counters from the start of the run.

/// What happened in one direction, of a UE or of the cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirStats {
    /// Cell only: bytes that the link could have carried. The sizes of all blocks of new data, plus what the free
    /// resource blocks would have carried at the MCS of the UE that was scheduled last. Blocks spent on
    /// retransmissions are no capacity.
    pub capacity: u64,
    /// Bytes of all blocks of new data.
    pub granted: u64,
    /// Bytes of those that held data and headers, not padding; never above `capacity`.
    pub carried: u64,
    /// IP bytes delivered.
    pub delivered: u64,
    /// IP packets dropped, for any reason.
    pub dropped: u64,
    /// Transport blocks sent, retransmissions included.
    pub transmissions: u64,
    /// Of those, retransmissions.
    pub retransmissions: u64,
    /// Of those sent, how many were not decoded.
    pub nacks: u64,
    /// Of first transmissions, how many were not decoded.
    pub first_nacks: u64,
    /// Blocks that HARQ gave up on.
    pub lost: u64,
}

/// Both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellStats {
    /// Downlink.
    pub down: DirStats,
    /// Uplink.
    pub up: DirStats,
}
