//! Transport block sizes: TS 36.213, 7.1.7.2 and TS 38.214, 5.1.3.2, and a table of them for one cell.

#[cfg(test)]
mod tests;

pub use super::lte_sizes::lte_tbs_bits;
use super::tables::McsTable;

/// The highest `N_PRB` of an LTE allocation.
pub const LTE_MAX_PRBS: u16 = 110;

/// What decides the size of an NR transport block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NrTbsParams {
    /// Modulation order: bits per symbol.
    pub qm: u8,
    /// Target code rate times 1024, a multiple of one half.
    pub rate_x1024: f64,
    /// Spatial layers, 1 to 4.
    pub layers: u8,
    /// Allocated resource blocks.
    pub n_prb: u16,
    /// Allocated symbols of the slot, at most 14.
    pub n_symb: u8,
    /// Resource elements per PRB taken by DM-RS (with the groups without data).
    pub n_dmrs_re: u8,
    /// Resource elements per PRB taken by other overhead (`xOverhead`: 0, 6, 12, 18).
    pub n_oh: u8,
}

/// TS 38.214, table 5.1.3.2-1, in bytes.
#[rustfmt::skip]
const NR_SMALL_BYTES: [u16; 93] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 32, 34, 36, 38, 40,
    42, 44, 46, 48, 51, 54, 57, 60, 63, 66, 69, 72, 76, 80, 84, 88, 92, 96, 101, 106, 111, 116, 123, 129, 133, 141,
    145, 149, 153, 157, 161, 165, 169, 177, 185, 193, 201, 209, 217, 225, 233, 241, 253, 261, 269, 277, 285, 301, 309,
    317, 325, 333, 341, 349, 357, 372, 388, 405, 421, 437, 453, 469, 478,
];

/// Transport block size in bits of NR: TS 38.214, 5.1.3.2, in exact integer arithmetic. Zero where no resource
/// element is left for data.
pub fn nr_tbs_bits(p: &NrTbsParams) -> u32 {
    // Step 1.
    let re = (12 * i64::from(p.n_symb) - i64::from(p.n_dmrs_re) - i64::from(p.n_oh)).clamp(0, 156)
        as u64
        * u64::from(p.n_prb);
    if re == 0 {
        return 0;
    }
    // Step 2. Rates are multiples of 1/2048, so N_info x 2048 is an integer.
    let rate = (p.rate_x1024 * 2.0) as u64;
    let info = re * rate * u64::from(p.qm) * u64::from(p.layers);
    if info == 0 {
        return 0;
    }
    if info <= 3824 << 11 {
        // Step 3.
        let n = (info.ilog2().saturating_sub(11)).saturating_sub(6).max(3);
        let quantised = ((info >> (11 + n)) << n).max(24);
        let at = NR_SMALL_BYTES.partition_point(|&b| u64::from(b) * 8 < quantised);
        return u32::from(NR_SMALL_BYTES[at]) * 8;
    }
    // Step 4: round((N_info - 24) / 2^n) with ties upwards is one addition and one shift.
    let rest = info - (24 << 11);
    let n = rest.ilog2() - 11 - 5;
    let quantised = (((rest + (1 << (10 + n))) >> (11 + n)) << n).max(3840) + 24;
    let blocks = if rate <= 512 {
        quantised.div_ceil(3816)
    } else if quantised > 8424 + 24 {
        quantised.div_ceil(8424)
    } else {
        1
    };
    (8 * blocks * quantised.div_ceil(8 * blocks) - 24) as u32
}

/// Transport block sizes in bytes of every MCS and allocation of one cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TbsTable {
    /// Row per MCS, column per number of PRBs from zero.
    bytes: Box<[u32]>,
    columns: usize,
}

impl TbsTable {
    fn build(mcs_count: usize, max_prb: u16, bits: impl Fn(u8, u16) -> u32) -> Self {
        let bytes = (0..mcs_count as u8)
            .flat_map(|mcs| (0..=max_prb).map(move |prbs| (mcs, prbs)))
            .map(|(mcs, prbs)| bits(mcs, prbs) / 8)
            .collect();
        Self {
            bytes,
            columns: usize::from(max_prb) + 1,
        }
    }

    /// The sizes of an LTE cell of `max_prb` blocks (at most 110); `layers` as in [`lte_tbs_bits`].
    pub fn lte(table: McsTable, layers: u8, max_prb: u16) -> Self {
        assert!(
            max_prb <= LTE_MAX_PRBS,
            "an LTE carrier has at most {LTE_MAX_PRBS} PRBs, not {max_prb}"
        );
        Self::build(table.len(), max_prb, |mcs, prbs| {
            let row = table
                .i_tbs(mcs)
                .expect("an LTE cell uses a table of TS 36.213");
            lte_tbs_bits(row, prbs, layers)
        })
    }

    /// The sizes of an NR cell of `max_prb` blocks in slots of `n_symb` data symbols; the rest as in [`NrTbsParams`].
    pub fn nr(
        table: McsTable,
        layers: u8,
        max_prb: u16,
        n_symb: u8,
        n_dmrs_re: u8,
        n_oh: u8,
    ) -> Self {
        assert!(!table.is_lte(), "an NR cell uses a table of TS 38.214");
        Self::build(table.len(), max_prb, |mcs, n_prb| {
            nr_tbs_bits(&NrTbsParams {
                qm: table.qm(mcs),
                rate_x1024: table.code_rate_x1024(mcs),
                layers,
                n_prb,
                n_symb,
                n_dmrs_re,
                n_oh,
            })
        })
    }

    /// The size in bytes of a block of `prbs` resource blocks; zero for none.
    ///
    /// Panics where the MCS or the allocation lies outside the cell.
    #[inline]
    pub fn bytes(&self, mcs: u8, prbs: u16) -> u32 {
        debug_assert!(
            usize::from(prbs) < self.columns,
            "{prbs} PRBs in a cell of {}",
            self.max_prbs()
        );
        self.bytes[usize::from(mcs) * self.columns + usize::from(prbs)]
    }

    /// The row of one MCS: bytes by number of PRBs from zero.
    #[inline]
    pub fn row(&self, mcs: u8) -> &[u32] {
        let start = usize::from(mcs) * self.columns;
        &self.bytes[start..start + self.columns]
    }

    /// How many schemes the table has.
    pub fn mcs_count(&self) -> usize {
        self.bytes.len() / self.columns
    }

    /// The widest allocation.
    pub fn max_prbs(&self) -> u16 {
        (self.columns - 1) as u16
    }
}
