//! Slices of one kind that overlap each other, on as few tracks as hold them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Gives each slice a lane in which no other lies at its time. Slices come in the order of their beginnings.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// Lanes in use, by the end of their last slice.
    busy: BinaryHeap<Reverse<(u64, usize)>>,
    /// Lanes that are free.
    free: BTreeSet<usize>,
    /// Lanes so far.
    count: usize,
}

impl Lanes {
    /// The lane of a slice from `begin` to `end`: the first that is free.
    pub(super) fn take(&mut self, begin: u64, end: u64) -> usize {
        while let Some(Reverse((_, lane))) = self.busy.peek().copied().filter(|r| r.0.0 <= begin) {
            self.busy.pop();
            self.free.insert(lane);
        }
        let lane = self.free.pop_first().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.busy.push(Reverse((end, lane)));
        lane
    }
}
