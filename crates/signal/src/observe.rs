//! Views of a cell: borrowed, read-only, valid during the call that hands them over.

use slackwater_core::{
    BearerId, Bytes, Direction, Duration, FlowId, Instant, Prbs, Qfi, Rnti, SlotIdx, UeId,
};

/// One grant (DL assignment or UL grant) of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The UE, as a dense index.
    pub ue: UeId,
    /// The identifier on the control channel.
    pub rnti: Rnti,
    /// Which way the data goes.
    pub direction: Direction,
    /// HARQ process.
    pub harq: u8,
    /// Transmission round: 0 is the first.
    pub round: u8,
    /// New-data indicator: true where the transport block is new, false for a retransmission (XRC counts the former).
    pub ndi: bool,
    /// Modulation and coding scheme index of the cell's table.
    pub mcs: u8,
    /// Allocated resource blocks.
    pub prbs: Prbs,
    /// Transport block size.
    pub tbs: Bytes,
}

/// The outcome of one transport block, known when its HARQ feedback arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HarqFeedback {
    /// The UE.
    pub ue: UeId,
    /// Which way the data went.
    pub direction: Direction,
    /// HARQ process.
    pub harq: u8,
    /// Transmission round that this answers.
    pub round: u8,
    /// True where the block was decoded.
    pub ack: bool,
}

/// What the scheduler did in one slot and direction.
#[derive(Clone, Copy, Debug)]
pub struct SlotView<'a> {
    /// The slot.
    pub slot: SlotIdx,
    /// When it starts on the air.
    pub start: Instant,
    /// Which way.
    pub direction: Direction,
    /// All grants, retransmissions included.
    pub grants: &'a [Grant],
    /// HARQ feedback that arrived in this slot.
    pub feedback: &'a [HarqFeedback],
    /// Blocks that the scheduler could have given in this slot.
    pub schedulable: Prbs,
    /// Of those, how many it did not give.
    pub free: Prbs,
    /// For each UE the bytes that one block of this slot carries at its current MCS, in 1/256 byte.
    pub bytes_per_prb_q8: &'a [u32],
    /// Names the contents of `bytes_per_prb_q8`: views of one cell and direction that have the same number here have
    /// the same there, so an observer need not read it again. 0 where the cell does not count changes.
    pub bytes_version: u64,
}

/// A bearer's RLC transmission queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlcView {
    /// The UE.
    pub ue: UeId,
    /// The bearer.
    pub bearer: BearerId,
    /// Which way.
    pub direction: Direction,
    /// Bytes waiting.
    pub backlog: Bytes,
    /// Packets (SDUs) waiting.
    pub packets: u32,
    /// Age of the oldest waiting SDU or segment; zero where none waits (XRC's head-of-line delay).
    pub hol: Duration,
}

/// A packet that passes PDCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdcpView {
    /// The UE.
    pub ue: UeId,
    /// The bearer.
    pub bearer: BearerId,
    /// The `QoS` flow.
    pub qfi: Qfi,
    /// The simulated flow; `None` where packets are real ones, which name none.
    pub flow: Option<FlowId>,
    /// Which way.
    pub direction: Direction,
    /// IP bytes.
    pub bytes: Bytes,
}

/// A packet that a radio queue is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoneView {
    /// The UE.
    pub ue: UeId,
    /// The simulated flow; `None` where packets are real ones, which name none.
    pub flow: Option<FlowId>,
    /// Which way.
    pub direction: Direction,
    /// IP bytes.
    pub bytes: Bytes,
    /// True where the other end of the radio has it, false where it was dropped.
    pub delivered: bool,
}

/// Bytes that RLC's acknowledged mode puts into a block for another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResentView {
    /// The UE.
    pub ue: UeId,
    /// The bearer.
    pub bearer: BearerId,
    /// Which way.
    pub direction: Direction,
    /// When the slot starts in which they go on the air.
    pub air: Instant,
    /// How many, without headers.
    pub bytes: Bytes,
}

/// Sees what a cell does and can change nothing ("agents do not intervene", XRC, section III).
pub trait Observer {
    /// True where [`Observer::on_slot`] is wanted; a cell skips building the view otherwise.
    fn wants_slots(&self) -> bool {
        true
    }
    /// The scheduler ran.
    fn on_slot(&mut self, _now: Instant, _slot: &SlotView<'_>) {}
    /// A packet passed PDCP.
    #[inline]
    fn on_pdcp(&mut self, _now: Instant, _packet: &PdcpView) {}
    /// A packet is gone. The base station learns that of a downlink packet by HARQ's feedback for the last of it, and of an
    /// uplink packet when it has it. What drops a packet knows that at once.
    #[inline]
    fn on_gone(&mut self, _now: Instant, _packet: &GoneView) {}
    /// RLC sends bytes again. Only an observer that wants slots learns of it.
    #[inline]
    fn on_resent(&mut self, _now: Instant, _bytes: &ResentView) {}
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn wants_slots(&self) -> bool {
        false
    }
}
