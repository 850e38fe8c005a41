//! Maximum rate (maximum C/I): the UE with the best link first, as much of the cell as can be had and no fairness at all
//! (Knopp, Humblet, "Information capacity and power control in single-cell multiuser communications", IEEE ICC 1995).

use super::{BitSet, Built, Scheduler, Setup};

/// Serves whose slot carries most; of equals, one after the other.
#[derive(Debug)]
pub(super) struct MaxRate {
    /// Bytes that a whole slot would carry, by UE.
    rate: Vec<u32>,
    /// Who is first of equals.
    next: usize,
}

impl Built for MaxRate {
    const NAME: &'static str = "max-rate";
    const ABOUT: &'static str = "Maximum rate (maximum C/I): the UE with the best link first.";

    fn new(setup: &Setup) -> Self {
        Self {
            rate: vec![0; setup.ues],
            next: 0,
        }
    }
}

impl Scheduler for MaxRate {
    fn pick(&mut self, candidates: &BitSet) -> usize {
        let best = candidates.iter().map(|ue| self.rate[ue]).max();
        let best = best.expect("the cell calls this only where a UE is backlogged");
        let mut equals = candidates.iter().filter(|&ue| self.rate[ue] == best);
        let first = equals.clone().next();
        let from_next = equals.find(|&ue| ue >= self.next);
        from_next.or(first).expect("one of them is the best")
    }

    fn served(&mut self, _slot: u64, ue: usize, _bytes: u32) {
        self.next = ue + 1;
    }

    fn rate_changed(&mut self, ue: usize, bytes_per_slot: u32) {
        self.rate[ue] = bytes_per_slot;
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::Duration;

    use super::*;

    fn picks(rates: &[u32], turns: usize) -> Vec<usize> {
        let ms = Duration::from_millis(1);
        let mut scheduler = MaxRate::new(&Setup::new(rates.len(), ms, ms));
        let mut set = BitSet::new(rates.len());
        for (ue, &rate) in rates.iter().enumerate() {
            set.insert(ue);
            scheduler.rate_changed(ue, rate);
        }
        let mut turn = |slot| {
            let ue = scheduler.pick(&set);
            scheduler.served(slot, ue, 1);
            ue
        };
        (0..turns as u64).map(&mut turn).collect()
    }

    #[test]
    fn the_best_link_has_the_cell_and_equals_take_turns() {
        assert_eq!(picks(&[100, 900, 300], 3), [1, 1, 1]);
        assert_eq!(picks(&[700, 100, 700, 700], 5), [0, 2, 3, 0, 2]);
    }
}
