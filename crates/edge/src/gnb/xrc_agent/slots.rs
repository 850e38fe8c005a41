//! What the cell's slots held, as far back as a report may ask.

use slackwater_signal::SlotView;

/// Slots that stand for now where slots of several lengths alternate.
const NOW: u64 = 3;

/// What slots offer to a UE.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Offer {
    /// What free blocks would have carried, in 1/256 byte.
    pub(super) free_q8: u64,
    /// All blocks of slots in which the UE was waking.
    pub(super) waking_blocks: u64,
}

/// One slot's resource blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Blocks {
    /// All that could be given.
    all: u32,
    /// Those that were not.
    free: u32,
    /// Free blocks of all slots up to this one.
    free_so_far: u64,
    /// The same for blocks that were given.
    used_so_far: u64,
    /// The same for all blocks.
    all_so_far: u64,
    /// Since this slot, a block carries the same for all UEs.
    steady_since: u64,
    /// The row of bytes per block.
    row: u32,
}

/// Rows that a slot may share with an earlier one: as many lengths of slots as may alternate.
const RECENT: usize = 4;

/// The latest slots of a cell, in a ring by slot number.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    /// Length of the ring less one; the length is a power of two.
    mask: u64,
    blocks: Vec<Blocks>,
    /// Rows of `ues` numbers: bytes of one block in 1/256 byte. Written where they change, round and round; there are
    /// `RECENT` more than slots, so that a slot's row stays as long as the slot.
    block_q8: Vec<u32>,
    ues: usize,
    /// The versions of the latest rows, and where those are; the version 0 names none.
    recent: [(u64, u32); RECENT],
    /// Which of those goes next, and the row to write next.
    next_recent: usize,
    next_row: u32,
    /// The row of the last slot; beyond all rows before the first.
    row: u32,
    /// Blocks that no scheduler gives and that are counted nevertheless.
    extra: u32,
    /// The first slot that was shown.
    first: u64,
    /// The slot after the last.
    next: u64,
}

impl Slots {
    /// A ring of at least `depth` slots.
    pub(super) fn new(depth: usize, extra: u16) -> Self {
        let depth = depth.next_power_of_two();
        Self {
            mask: depth as u64 - 1,
            blocks: vec![Blocks::default(); depth],
            block_q8: Vec::new(),
            ues: 0,
            recent: [(0, 0); RECENT],
            next_recent: 0,
            next_row: 0,
            row: u32::MAX,
            extra: u32::from(extra),
            first: 0,
            next: 0,
        }
    }

    /// The length of the ring.
    pub(super) fn depth(&self) -> u64 {
        self.mask + 1
    }

    /// The slot after the last that was shown.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The first slot that is still here.
    pub(super) fn begin(&self) -> u64 {
        let kept = self.next.saturating_sub(self.mask + 1);
        kept.max(self.first)
    }

    /// Takes a slot; false where it is not new.
    pub(super) fn push(&mut self, view: &SlotView<'_>) -> bool {
        let slot = view.slot.0;
        if self.ues < view.bytes_per_prb_q8.len() {
            self.grow(view.bytes_per_prb_q8.len());
        }
        if self.next == 0 {
            self.first = slot;
            self.next = slot;
        }
        if slot < self.next {
            return false;
        }
        // A cell that does not show the slots it slept through gave none of their blocks.
        let row = self.row_of(view);
        self.next = self.next.max(slot.saturating_sub(self.mask));
        let all = u32::from(view.schedulable.0);
        while self.next < slot {
            self.write(all, all, row);
        }
        self.write(all, u32::from(view.free.0), row);
        true
    }

    /// The row that holds the bytes per block of `view`.
    #[inline]
    fn row_of(&mut self, view: &SlotView<'_>) -> u32 {
        let version = view.bytes_version;
        if version == 0 {
            let last = self.row as usize * self.ues;
            let bytes = view.bytes_per_prb_q8;
            if self.row != u32::MAX && self.block_q8[last..][..bytes.len()] == *bytes {
                return self.row;
            }
        } else if let Some(known) = self.recent.iter().find(|known| known.0 == version) {
            return known.1;
        }
        self.write_row(version, view.bytes_per_prb_q8)
    }

    fn write_row(&mut self, version: u64, bytes: &[u32]) -> u32 {
        let row = self.next_row;
        self.block_q8[row as usize * self.ues..][..bytes.len()].copy_from_slice(bytes);
        self.next_row = (row + 1) % self.rows() as u32;
        self.recent[self.next_recent] = (version, row);
        self.next_recent = (self.next_recent + 1) % RECENT;
        row
    }

    fn rows(&self) -> usize {
        self.blocks.len() + RECENT
    }

    #[inline]
    fn write(&mut self, all: u32, free: u32, row: u32) {
        let extra = if all > 0 { self.extra } else { 0 };
        let at = (self.next & self.mask) as usize;
        let before = self.blocks[(self.next.wrapping_sub(1) & self.mask) as usize];
        self.blocks[at] = Blocks {
            steady_since: if row == self.row {
                before.steady_since
            } else {
                self.next
            },
            row,
            all: all + extra,
            free: free + extra,
            free_so_far: before.free_so_far + u64::from(free + extra),
            all_so_far: before.all_so_far + u64::from(all + extra),
            used_so_far: before.used_so_far + u64::from(all - free.min(all)),
        };
        self.row = row;
        self.next += 1;
    }

    fn grow(&mut self, ues: usize) {
        let mut wider = vec![0; self.rows() * ues];
        if self.ues > 0 {
            for (new, old) in wider
                .chunks_exact_mut(ues)
                .zip(self.block_q8.chunks_exact(self.ues))
            {
                new[..self.ues].copy_from_slice(old);
            }
        }
        self.block_q8 = wider;
        // The rows that are there know nothing of the new UEs.
        self.recent = [(0, 0); RECENT];
        self.row = u32::MAX;
        self.ues = ues;
    }

    /// Free and used blocks of all slots before `slot`, which is not beyond the last.
    #[inline]
    fn before(&self, slot: u64) -> (u64, u64) {
        let begin = self.begin();
        let at = |slot: u64| self.blocks[(slot & self.mask) as usize];
        if slot > begin {
            let blocks = at(slot - 1);
            return (blocks.free_so_far, blocks.used_so_far);
        }
        let Blocks {
            all,
            free,
            free_so_far,
            used_so_far,
            ..
        } = at(begin);
        (
            free_so_far - u64::from(free),
            used_so_far - u64::from(all - free),
        )
    }

    /// Free blocks in the slots of `from..to`.
    #[inline]
    pub(super) fn free(&self, from: u64, to: u64) -> u64 {
        self.before(to).0 - self.before(from).0
    }

    /// True where a block carries the same in all slots of `from..to`.
    #[inline]
    pub(super) fn steady(&self, from: u64, to: u64) -> bool {
        self.blocks[((to - 1) & self.mask) as usize].steady_since <= from
    }

    /// What the free blocks of `from..to` would have carried for `ue`, in 1/256 byte.
    pub(super) fn free_bytes_q8(&self, ue: usize, from: u64, mut to: u64) -> u64 {
        let mut sum = 0;
        if from >= to || self.free(from, to) == 0 {
            return 0;
        }
        // One product for each run of slots in which nobody's MCS changed.
        while from < to {
            let last = &self.blocks[((to - 1) & self.mask) as usize];
            let start = last.steady_since.max(from);
            let free = last.free_so_far - self.before(start).0;
            if free > 0 {
                sum += free * u64::from(self.block_q8(ue, to - 1));
            }
            to = start;
        }
        sum
    }

    /// Blocks that were given in the slots of `from..to`.
    pub(super) fn used(&self, from: u64, to: u64) -> u64 {
        if from < to {
            self.before(to).1 - self.before(from).1
        } else {
            0
        }
    }

    /// All blocks of the slots of `from..to`.
    pub(super) fn all_blocks(&self, from: u64, to: u64) -> u64 {
        if from >= to {
            return 0;
        }
        let last = self.blocks[((to - 1) & self.mask) as usize];
        let first = self.blocks[(from & self.mask) as usize];
        last.all_so_far - first.all_so_far + u64::from(first.all)
    }

    /// Bytes of one block of `slot` for `ue`, in 1/256.
    #[inline]
    pub(super) fn block_q8(&self, ue: usize, slot: u64) -> u32 {
        if ue >= self.ues {
            return 0;
        }
        let row = self.blocks[(slot & self.mask) as usize].row as usize;
        self.block_q8[row * self.ues + ue]
    }

    /// Bytes in 1/256 that a block carries for `ue` at the end of `from..to`: the most of the last slots, since a TDD
    /// cell's special slot carries less than others.
    pub(super) fn block_now_q8(&self, ue: usize, from: u64, to: u64) -> u64 {
        let last = to.saturating_sub(NOW).max(from)..to;
        let most = last.map(|slot| self.block_q8(ue, slot)).max();
        u64::from(most.unwrap_or(0))
    }
}
