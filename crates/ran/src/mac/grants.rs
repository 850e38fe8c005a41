//! Transport block sizes by MCS and number of resource block groups, looked up in both directions.

/// The sizes of one kind of slot.
#[derive(Clone, Debug)]
pub struct GrantTable {
    /// Resource blocks of the first `k` groups.
    prbs: Vec<u16>,
    /// `sizes[mcs * (groups + 1) + k]`: bytes of `k` groups.
    sizes: Vec<u32>,
}

impl GrantTable {
    /// Tabulates `size(mcs, prbs)` for groups of `group` blocks out of `prbs`; the last group may be smaller.
    pub fn new(mcs: u8, prbs: u16, group: u16, size: impl Fn(u8, u16) -> u32) -> Self {
        let group = group.max(1);
        let groups = prbs.div_ceil(group);
        let blocks: Vec<u16> = (0..=groups).map(|k| (k * group).min(prbs)).collect();
        let mut sizes = Vec::with_capacity(usize::from(mcs) * blocks.len());
        for m in 0..mcs {
            let mut last = 0;
            for &n in &blocks {
                // Rounding of the code block segmentation can make a size step back: never hand out less for more.
                last = if n == 0 { 0 } else { size(m, n).max(last) };
                sizes.push(last);
            }
        }
        Self {
            prbs: blocks,
            sizes,
        }
    }

    /// Number of groups.
    #[inline]
    pub fn groups(&self) -> u16 {
        (self.prbs.len() - 1) as u16
    }

    /// Resource blocks of `groups` groups.
    #[inline]
    pub fn prbs(&self, groups: u16) -> u16 {
        self.prbs[usize::from(groups)]
    }

    /// The sizes of `mcs` for 0, 1, .. groups.
    #[inline]
    fn row(&self, mcs: u8) -> &[u32] {
        let width = self.prbs.len();
        &self.sizes[usize::from(mcs) * width..][..width]
    }

    /// Bytes of `groups` groups.
    #[inline]
    pub fn bytes(&self, mcs: u8, groups: u16) -> u32 {
        self.row(mcs)[usize::from(groups)]
    }

    /// The least number of groups that holds `bytes`, or more than [`GrantTable::groups`] where none does.
    #[inline]
    pub fn groups_for(&self, mcs: u8, bytes: u32) -> u16 {
        self.row(mcs).partition_point(|&size| size < bytes) as u16
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
        assert_eq!(table.bytes(0, 1), 30);
        assert_eq!(table.bytes(2, 17), 1500);
        assert_eq!(table.groups_for(0, 31), 2);
        assert_eq!(table.groups_for(0, 30), 1);
        assert_eq!(table.groups_for(0, 10_000), 18);
        assert_eq!(table.bytes(1, 0), 0);
    }
}
