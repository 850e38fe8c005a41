//! Transport block sizes by MCS and number of resource block groups, looked up in both directions.

/// The sizes of one kind of slot.
#[derive(Clone, Debug)]
pub struct GrantTable {
    prbs: u16,
    group: u16,
    groups: u16,
    /// `sizes[mcs * (prbs + 1) + n]`: bytes of `n` resource blocks.
    sizes: Vec<u32>,
    /// By MCS, see [`GrantTable::block_bytes_q8`].
    block_q8: Vec<u32>,
}

/// Part of a slot for one UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Resource block groups.
    pub groups: u16,
    /// Resource blocks in them.
    pub prbs: u16,
}

impl GrantTable {
    /// Tabulates `size(mcs, prbs)` for groups of `group` blocks out of `prbs`; the last group may be smaller.
    pub fn new(mcs: u8, prbs: u16, group: u16, size: impl Fn(u8, u16) -> u32) -> Self {
        let group = group.max(1);
        let mut sizes = Vec::with_capacity(usize::from(mcs) * (usize::from(prbs) + 1));
        for m in 0..mcs {
            let mut last = 0;
            for n in 0..=prbs {
                // Rounding of the code block segmentation can make a size step back: never hand out less for more.
                last = if n == 0 { 0 } else { size(m, n).max(last) };
                sizes.push(last);
            }
        }
        let blocks = u64::from(prbs.max(1));
        let block_q8 = sizes
            .chunks_exact(usize::from(prbs) + 1)
            .map(|row| (u64::from(row[usize::from(prbs)]) * 256 / blocks) as u32)
            .collect();
        Self {
            prbs,
            group,
            groups: prbs.div_ceil(group),
            sizes,
            block_q8,
        }
    }

    /// Number of groups.
    #[inline]
    pub fn groups(&self) -> u16 {
        self.groups
    }

    /// Resource blocks of the first `groups` groups.
    #[inline]
    pub fn prbs(&self, groups: u16) -> u16 {
        (groups * self.group).min(self.prbs)
    }

    /// The sizes of `mcs` for 0, 1, .. resource blocks.
    #[inline]
    fn row(&self, mcs: u8) -> &[u32] {
        let width = usize::from(self.prbs) + 1;
        &self.sizes[usize::from(mcs) * width..][..width]
    }

    /// Bytes of `prbs` resource blocks.
    #[inline]
    pub fn bytes(&self, mcs: u8, prbs: u16) -> u32 {
        self.row(mcs)[usize::from(prbs)]
    }

    /// Bytes of a whole slot.
    #[inline]
    pub fn slot_bytes(&self, mcs: u8) -> u32 {
        self.bytes(mcs, self.prbs)
    }

    /// Bytes that one block of a whole slot carries, in 1/256 byte.
    #[inline]
    pub fn block_bytes_q8(&self, mcs: u8) -> u32 {
        self.block_q8[usize::from(mcs)]
    }

    /// The last `groups` of the first `left` groups: grants are cut from the top.
    #[inline]
    pub fn top(&self, left: u16, groups: u16) -> Share {
        Share {
            groups,
            prbs: self.prbs(left) - self.prbs(left - groups),
        }
    }

    /// The least part of the first `left` groups that holds `bytes`, or `None` where not even all of them do.
    #[inline]
    pub fn fit(&self, mcs: u8, left: u16, bytes: u32) -> Option<Share> {
        let row = self.row(mcs);
        let blocks = self.prbs(left);
        if row[usize::from(blocks)] < bytes {
            return None;
        }
        let need = row[..=usize::from(blocks)].partition_point(|&size| size < bytes) as u16;
        // Only the topmost group can be short of blocks.
        let short = left * self.group - blocks;
        Some(self.top(left, (need + short).div_ceil(self.group)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_up_both_ways() {
        let table = GrantTable::new(3, 50, 3, |mcs, n| (u32::from(mcs) + 1) * u32::from(n) * 10);
        assert_eq!(table.groups(), 17);
        assert_eq!(table.prbs(17), 50);
        assert_eq!(table.bytes(0, 3), 30);
        assert_eq!(table.slot_bytes(2), 1500);
        let share = |groups, prbs| Some(Share { groups, prbs });
        // The top group has two blocks.
        assert_eq!(table.fit(0, 17, 20), share(1, 2));
        assert_eq!(table.fit(0, 17, 21), share(2, 5));
        assert_eq!(table.fit(0, 15, 30), share(1, 3));
        assert_eq!(table.fit(0, 15, 31), share(2, 6));
        assert_eq!(table.fit(0, 17, 500), share(17, 50));
        assert_eq!(table.fit(0, 17, 501), None);
        assert_eq!(table.fit(1, 0, 1), None);
    }
}
