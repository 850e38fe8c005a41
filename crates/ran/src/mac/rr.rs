//! Round robin.

use super::{BitSet, Built, Scheduler, Setup};

/// Serves the backlogged UEs in the order of their numbers, one slot (or share of it) each.
#[derive(Debug)]
pub(super) struct RoundRobin {
    /// Who is first in line.
    next: usize,
}

impl Built for RoundRobin {
    const NAME: &'static str = "rr";
    const ABOUT: &'static str = "Round robin.";

    fn new(_setup: &Setup) -> Self {
        Self { next: 0 }
    }
}

impl Scheduler for RoundRobin {
    #[inline]
    fn pick(&mut self, candidates: &BitSet) -> usize {
        candidates
            .next_from(self.next)
            .or_else(|| candidates.next_from(0))
            .expect("the cell calls this only where a UE is backlogged")
    }

    #[inline]
    fn served(&mut self, _slot: u64, ue: usize, _bytes: u32) {
        self.next = ue + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_gets_a_turn() {
        let mut set = BitSet::new(10);
        for ue in [1, 4, 9] {
            set.insert(ue);
        }
        let ms = slackwater_core::Duration::from_millis(1);
        let mut rr = RoundRobin::new(&Setup::new(10, ms, ms));
        let order: Vec<_> = (0..6)
            .map(|slot| {
                let ue = rr.pick(&set);
                rr.served(slot, ue, 1);
                ue
            })
            .collect();
        assert_eq!(order, [1, 4, 9, 1, 4, 9]);
    }
}
