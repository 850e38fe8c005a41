//! Flows by key: an open hash table of indices over dense slots, so that a look-up touches one line and an index stays
//! valid while its flow lives.

use core::ops::{Index, IndexMut};

/// Flows that are remembered at most; further ones pass untouched.
const MOST: usize = 1 << 17;
/// Slots that an insertion looks at for a flow that may be forgotten.
const SWEEP: usize = 8;
const EMPTY: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    /// Indices into `slots`, a power of two, at most half full.
    index: Vec<u32>,
    slots: Vec<(u64, T)>,
    sweep: usize,
}

/// The finaliser of `MurmurHash3` (Appleby, public domain), enough for keys that nobody chooses: UE and flow hash.
const fn hash(mut key: u64) -> u64 {
    key ^= key >> 33;
    key = key.wrapping_mul(0xff51_afd7_ed55_8ccd);
    key ^ (key >> 33)
}

impl<T> Table<T> {
    pub(super) fn new() -> Self {
        Self {
            index: vec![EMPTY; 16],
            slots: Vec::new(),
            sweep: 0,
        }
    }

    fn slot_of(&self, key: u64) -> usize {
        let mask = self.index.len() - 1;
        let mut at = hash(key) as usize & mask;
        loop {
            let k = self.index[at];
            if k == EMPTY || self.slots[k as usize].0 == key {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    pub(super) fn find(&self, key: u64) -> Option<u32> {
        let k = self.index[self.slot_of(key)];
        (k != EMPTY).then_some(k)
    }

    /// Adds a flow, in the place of one that `forget` allows to go where one is found; `None` where there is no room.
    pub(super) fn insert(
        &mut self,
        key: u64,
        value: T,
        mut forget: impl FnMut(&T) -> bool,
    ) -> Option<u32> {
        for _ in 0..SWEEP.min(self.slots.len()) {
            self.sweep = (self.sweep + 1) % self.slots.len();
            if forget(&self.slots[self.sweep].1) {
                let k = self.sweep;
                self.remove(self.slots[k].0);
                self.slots[k] = (key, value);
                let at = self.slot_of(key);
                self.index[at] = k as u32;
                return Some(k as u32);
            }
        }
        if self.slots.len() >= MOST {
            return None;
        }
        self.slots.push((key, value));
        if self.slots.len() * 2 > self.index.len() {
            self.index = vec![EMPTY; self.index.len() * 2];
            for k in 0..self.slots.len() as u32 {
                let at = self.slot_of(self.slots[k as usize].0);
                self.index[at] = k;
            }
        } else {
            let at = self.slot_of(key);
            self.index[at] = self.slots.len() as u32 - 1;
        }
        Some(self.slots.len() as u32 - 1)
    }

    /// Takes `key` out of the index and closes the gap behind it.
    fn remove(&mut self, key: u64) {
        let mask = self.index.len() - 1;
        let mut hole = self.slot_of(key);
        self.index[hole] = EMPTY;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let k = self.index[at];
            if k == EMPTY {
                return;
            }
            let home = hash(self.slots[k as usize].0) as usize & mask;
            // The entry may move back where the hole lies between its home and its place.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.index[hole] = k;
                self.index[at] = EMPTY;
                hole = at;
            }
        }
    }

    pub(super) fn indices(&self) -> core::ops::Range<u32> {
        0..self.slots.len() as u32
    }
}

impl<T> Index<u32> for Table<T> {
    type Output = T;
    #[inline]
    fn index(&self, k: u32) -> &T {
        &self.slots[k as usize].1
    }
}

impl<T> IndexMut<u32> for Table<T> {
    #[inline]
    fn index_mut(&mut self, k: u32) -> &mut T {
        &mut self.slots[k as usize].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn finds_what_it_holds_and_forgets_what_it_may() {
        let mut table = Table::new();
        let mut truth: BTreeMap<u64, u32> = BTreeMap::new();
        for n in 0..20_000_u64 {
            let key = n * 0x1_0000_0001 % 7_001 + (n / 7_000) * 100_000;
            if table.find(key).is_some() {
                assert!(truth.contains_key(&key));
                continue;
            }
            // Old flows may go.
            let k = table
                .insert(key, (key, n), |&(_, born)| born + 3_000 < n)
                .unwrap();
            truth.retain(|_, slot| *slot != k);
            truth.insert(key, k);
        }
        for (&key, &k) in &truth {
            assert_eq!(table.find(key), Some(k));
            assert_eq!(table[k].0, key);
        }
        assert!(table.slots.len() < 20_000);
    }
}
