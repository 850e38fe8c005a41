//! What the cell's slots held, as far back as a report may ask.

use slackwater_signal::SlotView;

/// One slot's resource blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Blocks {
    /// All that could be given.
    all: u32,
    /// Those that were not.
    free: u32,
    /// Free blocks of all slots up to this one.
    free_so_far: u64,
}

/// The latest slots of a cell, in a ring by slot number.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    /// Length of the ring less one; the length is a power of two.
    mask: u64,
    blocks: Vec<Blocks>,
    /// `ues` numbers a slot: bytes of one block in 1/256 byte.
    block_q8: Vec<u32>,
    ues: usize,
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
        self.next = self.next.max(slot.saturating_sub(self.mask));
        while self.next < slot {
            let all = u32::from(view.schedulable.0);
            self.write(all, all, view.bytes_per_prb_q8);
        }
        self.write(
            u32::from(view.schedulable.0),
            u32::from(view.free.0),
            view.bytes_per_prb_q8,
        );
        true
    }

    fn write(&mut self, all: u32, free: u32, block_q8: &[u32]) {
        let extra = if all > 0 { self.extra } else { 0 };
        let at = (self.next & self.mask) as usize;
        let before = self.blocks[(self.next.wrapping_sub(1) & self.mask) as usize];
        self.blocks[at] = Blocks {
            all: all + extra,
            free: free + extra,
            free_so_far: before.free_so_far + u64::from(free + extra),
        };
        self.block_q8[at * self.ues..][..block_q8.len()].copy_from_slice(block_q8);
        self.next += 1;
    }

    fn grow(&mut self, ues: usize) {
        let mut wider = vec![0; self.blocks.len() * ues];
        if self.ues > 0 {
            for (new, old) in wider
                .chunks_exact_mut(ues)
                .zip(self.block_q8.chunks_exact(self.ues))
            {
                new[..self.ues].copy_from_slice(old);
            }
        }
        self.block_q8 = wider;
        self.ues = ues;
    }

    /// True where the slots of `from..to` had free blocks.
    pub(super) fn any_free(&self, from: u64, to: u64) -> bool {
        let so_far = |slot: u64| self.blocks[(slot & self.mask) as usize].free_so_far;
        // The slot before the ring's first may be overwritten: look at the first itself.
        from < to
            && (so_far(to - 1) != so_far(from) || self.blocks[(from & self.mask) as usize].free > 0)
    }

    /// Bytes in 1/256 that the free blocks of `slot`, or all its blocks, would have carried for `ue`.
    #[inline]
    pub(super) fn offered_q8(&self, ue: usize, slot: u64, all: bool) -> u64 {
        let at = (slot & self.mask) as usize;
        let blocks = self.blocks[at];
        let count = if all { blocks.all } else { blocks.free };
        if count == 0 || ue >= self.ues {
            return 0;
        }
        u64::from(self.block_q8[at * self.ues + ue]) * u64::from(count)
    }
}
