//! Medium access: who gets the next slot, and how much of it.
//!
//! Adding a scheduler is one file: implement [`Scheduler`], give it a [`SchedulerKind`] and a line in
//! `SchedulerKind::build`.

pub mod bits;
pub mod grants;
mod pf;
mod rr;

pub use bits::BitSet;
use slackwater_core::Duration;

/// A scheduling discipline. Rates are the bytes that all blocks of a slot would carry for a UE.
///
/// The cell asks [`Scheduler::pick`] until the slot is full; a UE that got all it needs, or whose HARQ processes are
/// all busy, is taken out of `candidates` for the rest of the slot.
pub trait Scheduler: Send {
    /// Who is next among `candidates` (never empty).
    fn pick(&mut self, candidates: &BitSet) -> usize;
    /// `ue` was given `bytes` of new data in slot `slot`.
    fn served(&mut self, slot: u64, ue: usize, bytes: u32);
    /// The link adaptation of `ue` changed.
    fn rate_changed(&mut self, _ue: usize, _bytes_per_slot: u32) {}
    /// A slot with candidates begins; slots without any are not announced.
    fn begin(&mut self, _slot: u64) {}
}

/// Which scheduler a cell runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerKind {
    /// One UE after the other.
    RoundRobin,
    /// The UE with the greatest ratio of present to past rate.
    ProportionalFair {
        /// Time over which the past rate is averaged.
        time_constant: Duration,
    },
}

impl SchedulerKind {
    pub(crate) fn build(self, ues: usize, slot: Duration) -> Box<dyn Scheduler> {
        match self {
            Self::RoundRobin => Box::new(rr::RoundRobin::new()),
            Self::ProportionalFair { time_constant } => {
                Box::new(pf::ProportionalFair::new(ues, time_constant, slot))
            }
        }
    }
}

/// How the blocks of one slot are shared among UEs that could each fill it.
///
/// The channel is flat within a slot, so splitting a slot gains nothing in rate: it costs a header and a HARQ process
/// per UE and shortens waiting. With the default, a UE takes all that it needs and the rest goes to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharePolicy {
    /// The first pick takes what it needs.
    WholeSlot,
    /// Up to this many UEs share a slot in equal parts. With one, what the UE of a downlink slot does not need is lost:
    /// the cell polls.
    Split(u8),
}
