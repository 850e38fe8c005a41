//! Medium access: who gets the next slot, and how much of it.
//!
//! Adding a scheduler is one file, with its `Built`, and here its module and its row in the table: its name and its
//! documentation follow from them. A scheduler from outside of this workspace is an [`OwnScheduler`].

pub mod bits;
mod exp_pf;
pub mod grants;
mod max_rate;
mod own;
mod pf;
pub mod qos;
mod rr;
mod sample;
mod table;

pub use bits::BitSet;
pub use own::OwnScheduler;
pub use qos::FiveQi;
pub(crate) use sample::Sampler;
pub use sample::UeSample;
use slackwater_core::{Duration, Instant};

/// A scheduling discipline. Rates are the bytes that all blocks of a slot would carry for a UE.
///
/// The cell calls [`Scheduler::pick`] until the slot is full; a UE that got all it needs, or whose HARQ processes are
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
    /// True for a scheduler that goes by delays, backlogs, classes or mean rates: only then does the cell gather them.
    fn wants_samples(&self) -> bool {
        false
    }
    /// After [`Scheduler::begin`], one sample for each candidate, in the order of their numbers.
    fn on_samples(&mut self, _now: Instant, _samples: &[UeSample]) {}
}

/// What a scheduler is built for: one direction of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setup {
    /// UEs; they are numbered from zero.
    pub ues: usize,
    /// Length of a slot.
    pub slot: Duration,
    /// Time over which the rates that UEs were given are averaged.
    pub window: Duration,
}

impl Setup {
    /// For `ues` UEs in slots of `slot`, with averages over `window`.
    pub const fn new(ues: usize, slot: Duration, window: Duration) -> Self {
        Self { ues, slot, window }
    }
}

/// A scheduler of this workspace.
pub(crate) trait Built: Scheduler {
    /// Its name in scenarios.
    const NAME: &'static str;
    /// One line about it.
    const ABOUT: &'static str;
    /// In its initial state.
    fn new(setup: &Setup) -> Self;
}

table::schedulers! {
    /// The UE with the greatest ratio of present to past rate.
    ProportionalFair(pf::ProportionalFair),
    /// One UE after the other.
    RoundRobin(rr::RoundRobin),
    /// The UE with the best link first.
    MaxRate(max_rate::MaxRate),
    /// Proportional fair, exponentially in favour of classes whose packets near their delay budget.
    ExpPf(exp_pf::ExpPf),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in SchedulerKind::NAMES {
            let kind = SchedulerKind::from_name(name).expect("listed");
            assert_eq!(kind.name(), *name);
            assert!(kind.about().ends_with('.'), "{name}");
        }
        assert_eq!(SchedulerKind::from_name("fifo"), None);
    }

    /// Whatever is in the set, every built-in scheduler picks one of it.
    #[test]
    fn every_scheduler_picks_a_candidate() {
        let setup = Setup::new(130, Duration::from_millis(1), Duration::from_millis(100));
        for name in SchedulerKind::NAMES {
            let kind = SchedulerKind::from_name(name).expect("listed");
            let mut scheduler = kind.build(&setup);
            let draw = slackwater_core::Draw::new(3);
            for slot in 0..500_u64 {
                let mut set = BitSet::new(setup.ues);
                for ue in 0..setup.ues {
                    if draw.fork(slot, 0).bits(ue as u64).is_multiple_of(7) {
                        set.insert(ue);
                    }
                }
                set.insert((slot % 130) as usize);
                scheduler.begin(slot);
                let samples: Vec<UeSample> = set.iter().map(UeSample::idle).collect();
                scheduler.on_samples(Instant::from_millis(slot), &samples);
                while !set.is_empty() {
                    let ue = scheduler.pick(&set);
                    assert!(set.contains(ue), "{name}");
                    scheduler.served(slot, ue, 100);
                    set.remove(ue);
                }
            }
        }
    }
}
