//! What leaves a cell.

use slackwater_core::record::DropReason;
use slackwater_core::{BearerId, Direction, Duration, FlowId, Instant, UeId};

/// A packet that crossed the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered<P> {
    /// When PDCP hands it to the layer above; not before the slot that reported it.
    pub at: Instant,
    /// Which way.
    pub dir: Direction,
    /// The UE.
    pub ue: UeId,
    /// The packet.
    pub packet: P,
    /// When it entered the RLC queue.
    pub entered: Instant,
    /// Time in the RLC queue until the first byte was put into a transport block.
    pub sojourn: Duration,
}

/// A packet that a queue law marked; it goes on with CE set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    /// When.
    pub at: Instant,
    /// Which way.
    pub dir: Direction,
    /// The UE.
    pub ue: UeId,
    /// The bearer.
    pub bearer: BearerId,
    /// The simulated flow; `None` for a real packet.
    pub flow: Option<FlowId>,
    /// IP bytes.
    pub len: u32,
}

/// What a call into the cell produced. The caller drains the vectors and hands the same value in again.
#[derive(Clone, Debug)]
pub struct CellOut<P> {
    /// Packets that arrived, in order per bearer.
    pub delivered: Vec<Delivered<P>>,
    /// Packets that will not arrive.
    pub dropped: Vec<(Instant, P, DropReason)>,
    /// Marks.
    pub marked: Vec<Marked>,
}

impl<P> CellOut<P> {
    /// Empty.
    pub const fn new() -> Self {
        Self {
            delivered: Vec::new(),
            dropped: Vec::new(),
            marked: Vec::new(),
        }
    }

    /// Empties it and keeps the memory.
    pub fn clear(&mut self) {
        self.delivered.clear();
        self.dropped.clear();
        self.marked.clear();
    }
}

impl<P> Default for CellOut<P> {
    fn default() -> Self {
        Self::new()
    }
}
