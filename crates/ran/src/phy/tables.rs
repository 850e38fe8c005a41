//! Modulation and coding schemes and channel quality indicators of LTE and NR.

use super::lte_sizes::lte_tbs_bits;

/// A table of modulation and coding schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum McsTable {
    /// LTE downlink up to 64QAM: TS 36.213, table 7.1.7.1-1.
    Lte64,
    /// LTE downlink up to 256QAM: TS 36.213, table 7.1.7.1-1A.
    Lte256,
    /// LTE uplink: TS 36.213, table 8.6.1-1.
    LteUl,
    /// NR up to 64QAM: TS 38.214, table 5.1.3.1-1.
    Nr64,
    /// NR up to 256QAM: TS 38.214, table 5.1.3.1-2.
    Nr256,
    /// NR low spectral efficiency: TS 38.214, table 5.1.3.1-3.
    NrLowSe,
    /// NR up to 1024QAM: TS 38.214, table 5.1.3.1-4.
    Nr1024,
}

/// A table of channel quality indicators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CqiTable {
    /// Up to 64QAM: TS 36.213, table 7.2.3-1 and TS 38.214, table 5.2.2.1-2 (the same values).
    Qam64,
    /// Up to 256QAM: TS 36.213, table 7.2.3-2 and TS 38.214, table 5.2.2.1-3 (the same values).
    Qam256,
    /// Low spectral efficiency: TS 38.214, table 5.2.2.1-4.
    LowSe,
}

/// Resource elements per PRB pair that carry LTE downlink data where an efficiency is asked for: 14 symbols of 12
/// sub-carriers less two control symbols (24) and the reference signals of two ports outside them (12). With it MCS
/// 28 meets CQI 15 in both tables (5.560 against 5.555 and 7.415 against 7.406 bits).
pub const LTE_DL_DATA_RE: u32 = 132;

/// Resource elements per PRB pair that carry LTE uplink data: two of 14 symbols are reference signals.
pub const LTE_UL_DATA_RE: u32 = 144;

/// The width at which the efficiency of an LTE MCS is taken from the TBS table (10 MHz).
const LTE_REFERENCE_PRBS: u16 = 50;

/// TS 36.213, table 7.1.7.1-1: (Qm, `I_TBS`).
#[rustfmt::skip]
const LTE_64: [(u8, u8); 29] = [
    (2, 0), (2, 1), (2, 2), (2, 3), (2, 4), (2, 5), (2, 6), (2, 7), (2, 8), (2, 9),
    (4, 9), (4, 10), (4, 11), (4, 12), (4, 13), (4, 14), (4, 15),
    (6, 15), (6, 16), (6, 17), (6, 18), (6, 19), (6, 20), (6, 21), (6, 22), (6, 23), (6, 24), (6, 25), (6, 26),
];

/// TS 36.213, table 7.1.7.1-1A: (Qm, `I_TBS`).
#[rustfmt::skip]
const LTE_256: [(u8, u8); 28] = [
    (2, 0), (2, 2), (2, 4), (2, 6), (2, 8),
    (4, 10), (4, 11), (4, 12), (4, 13), (4, 14), (4, 15),
    (6, 16), (6, 17), (6, 18), (6, 19), (6, 20), (6, 21), (6, 22), (6, 23), (6, 24),
    (8, 25), (8, 27), (8, 28), (8, 29), (8, 30), (8, 31), (8, 32), (8, 33),
];

/// TS 36.213, table 8.6.1-1: (Qm, `I_TBS`).
#[rustfmt::skip]
const LTE_UL: [(u8, u8); 29] = [
    (2, 0), (2, 1), (2, 2), (2, 3), (2, 4), (2, 5), (2, 6), (2, 7), (2, 8), (2, 9), (2, 10),
    (4, 10), (4, 11), (4, 12), (4, 13), (4, 14), (4, 15), (4, 16), (4, 17), (4, 18), (4, 19),
    (6, 19), (6, 20), (6, 21), (6, 22), (6, 23), (6, 24), (6, 25), (6, 26),
];

/// TS 38.214, table 5.1.3.1-1: (Qm, R x 1024).
#[rustfmt::skip]
const NR_64: [(u8, f64); 29] = [
    (2, 120.0), (2, 157.0), (2, 193.0), (2, 251.0), (2, 308.0), (2, 379.0), (2, 449.0), (2, 526.0), (2, 602.0),
    (2, 679.0), (4, 340.0), (4, 378.0), (4, 434.0), (4, 490.0), (4, 553.0), (4, 616.0), (4, 658.0), (6, 438.0),
    (6, 466.0), (6, 517.0), (6, 567.0), (6, 616.0), (6, 666.0), (6, 719.0), (6, 772.0), (6, 822.0), (6, 873.0),
    (6, 910.0), (6, 948.0),
];

/// TS 38.214, table 5.1.3.1-2: (Qm, R x 1024).
#[rustfmt::skip]
const NR_256: [(u8, f64); 28] = [
    (2, 120.0), (2, 193.0), (2, 308.0), (2, 449.0), (2, 602.0), (4, 378.0), (4, 434.0), (4, 490.0), (4, 553.0),
    (4, 616.0), (4, 658.0), (6, 466.0), (6, 517.0), (6, 567.0), (6, 616.0), (6, 666.0), (6, 719.0), (6, 772.0),
    (6, 822.0), (6, 873.0), (8, 682.5), (8, 711.0), (8, 754.0), (8, 797.0), (8, 841.0), (8, 885.0), (8, 916.5),
    (8, 948.0),
];

/// TS 38.214, table 5.1.3.1-3: (Qm, R x 1024).
#[rustfmt::skip]
const NR_LOW_SE: [(u8, f64); 29] = [
    (2, 30.0), (2, 40.0), (2, 50.0), (2, 64.0), (2, 78.0), (2, 99.0), (2, 120.0), (2, 157.0), (2, 193.0), (2, 251.0),
    (2, 308.0), (2, 379.0), (2, 449.0), (2, 526.0), (2, 602.0), (4, 340.0), (4, 378.0), (4, 434.0), (4, 490.0),
    (4, 553.0), (4, 616.0), (6, 438.0), (6, 466.0), (6, 517.0), (6, 567.0), (6, 616.0), (6, 666.0), (6, 719.0),
    (6, 772.0),
];

/// TS 38.214, table 5.1.3.1-4: (Qm, R x 1024).
#[rustfmt::skip]
const NR_1024: [(u8, f64); 27] = [
    (2, 120.0), (2, 193.0), (2, 449.0), (4, 378.0), (4, 490.0), (4, 616.0), (6, 466.0), (6, 517.0), (6, 567.0),
    (6, 616.0), (6, 666.0), (6, 719.0), (6, 772.0), (6, 822.0), (6, 873.0), (8, 682.5), (8, 711.0), (8, 754.0),
    (8, 797.0), (8, 841.0), (8, 885.0), (8, 916.5), (8, 948.0), (10, 805.5), (10, 853.0), (10, 900.5), (10, 948.0),
];

/// TS 36.213, table 7.2.3-1 and TS 38.214, table 5.2.2.1-2: CQI 1..=15 as (Qm, R x 1024).
#[rustfmt::skip]
const CQI_64: [(u8, u16); 15] = [
    (2, 78), (2, 120), (2, 193), (2, 308), (2, 449), (2, 602), (4, 378), (4, 490), (4, 616), (6, 466), (6, 567),
    (6, 666), (6, 772), (6, 873), (6, 948),
];

/// TS 36.213, table 7.2.3-2 and TS 38.214, table 5.2.2.1-3: CQI 1..=15 as (Qm, R x 1024).
#[rustfmt::skip]
const CQI_256: [(u8, u16); 15] = [
    (2, 78), (2, 193), (2, 449), (4, 378), (4, 490), (4, 616), (6, 466), (6, 567), (6, 666), (6, 772), (6, 873),
    (8, 711), (8, 797), (8, 885), (8, 948),
];

/// TS 38.214, table 5.2.2.1-4: CQI 1..=15 as (Qm, R x 1024).
#[rustfmt::skip]
const CQI_LOW_SE: [(u8, u16); 15] = [
    (2, 30), (2, 50), (2, 78), (2, 120), (2, 193), (2, 308), (2, 449), (2, 602), (4, 378), (4, 490), (4, 616),
    (6, 466), (6, 567), (6, 666), (6, 772),
];

/// How a table states an MCS.
enum Rows {
    /// Modulation order and `I_TBS`.
    Lte(&'static [(u8, u8)]),
    /// Modulation order and code rate x 1024.
    Nr(&'static [(u8, f64)]),
}

impl McsTable {
    /// Every table.
    pub const ALL: [Self; 7] = [
        Self::Lte64,
        Self::Lte256,
        Self::LteUl,
        Self::Nr64,
        Self::Nr256,
        Self::NrLowSe,
        Self::Nr1024,
    ];

    const fn rows(self) -> Rows {
        match self {
            Self::Lte64 => Rows::Lte(&LTE_64),
            Self::Lte256 => Rows::Lte(&LTE_256),
            Self::LteUl => Rows::Lte(&LTE_UL),
            Self::Nr64 => Rows::Nr(&NR_64),
            Self::Nr256 => Rows::Nr(&NR_256),
            Self::NrLowSe => Rows::Nr(&NR_LOW_SE),
            Self::Nr1024 => Rows::Nr(&NR_1024),
        }
    }

    /// The name used in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lte64 => "lte-64qam",
            Self::Lte256 => "lte-256qam",
            Self::LteUl => "lte-uplink",
            Self::Nr64 => "nr-64qam",
            Self::Nr256 => "nr-256qam",
            Self::NrLowSe => "nr-low-se",
            Self::Nr1024 => "nr-1024qam",
        }
    }

    /// The table called `name` in scenarios.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// True for the tables of TS 36.213.
    pub const fn is_lte(self) -> bool {
        matches!(self.rows(), Rows::Lte(_))
    }

    /// The number of usable (not reserved) schemes; valid indices are below it.
    #[expect(clippy::len_without_is_empty, reason = "no table is empty")]
    pub const fn len(self) -> usize {
        match self.rows() {
            Rows::Lte(rows) => rows.len(),
            Rows::Nr(rows) => rows.len(),
        }
    }

    /// Modulation order: bits per symbol.
    pub const fn qm(self, mcs: u8) -> u8 {
        match self.rows() {
            Rows::Lte(rows) => rows[mcs as usize].0,
            Rows::Nr(rows) => rows[mcs as usize].0,
        }
    }

    /// The row of the LTE TBS table, or none for NR.
    pub const fn i_tbs(self, mcs: u8) -> Option<u8> {
        match self.rows() {
            Rows::Lte(rows) => Some(rows[mcs as usize].1),
            Rows::Nr(_) => None,
        }
    }

    /// Code rate times 1024. NR: as printed (some are halves). LTE: from [`McsTable::efficiency`].
    pub fn code_rate_x1024(self, mcs: u8) -> f64 {
        match self.rows() {
            Rows::Nr(rows) => rows[usize::from(mcs)].1,
            Rows::Lte(_) => self.efficiency(mcs) * 1024.0 / f64::from(self.qm(mcs)),
        }
    }

    /// Information bits per resource element.
    ///
    /// NR: Qm x R. LTE states no code rate; it is the TBS of 50 PRBs over [`LTE_DL_DATA_RE`] (downlink) or
    /// [`LTE_UL_DATA_RE`] (uplink) resource elements per PRB.
    pub fn efficiency(self, mcs: u8) -> f64 {
        match self.rows() {
            Rows::Nr(rows) => {
                let (qm, rate) = rows[usize::from(mcs)];
                f64::from(qm) * rate / 1024.0
            }
            Rows::Lte(rows) => {
                let re = if self == Self::LteUl {
                    LTE_UL_DATA_RE
                } else {
                    LTE_DL_DATA_RE
                };
                let bits = lte_tbs_bits(rows[usize::from(mcs)].1, LTE_REFERENCE_PRBS, 1);
                f64::from(bits) / f64::from(u32::from(LTE_REFERENCE_PRBS) * re)
            }
        }
    }
}

impl CqiTable {
    /// Every table.
    pub const ALL: [Self; 3] = [Self::Qam64, Self::Qam256, Self::LowSe];

    /// The highest index.
    pub const MAX: u8 = 15;

    const fn rows(self) -> &'static [(u8, u16); 15] {
        match self {
            Self::Qam64 => &CQI_64,
            Self::Qam256 => &CQI_256,
            Self::LowSe => &CQI_LOW_SE,
        }
    }

    /// The name used in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Qam64 => "64qam",
            Self::Qam256 => "256qam",
            Self::LowSe => "low-se",
        }
    }

    /// The table called `name` in scenarios.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// The CQI table that goes with an MCS table (1024QAM has one of its own from release 17; the 256QAM one is used).
    pub const fn for_mcs(table: McsTable) -> Self {
        match table {
            McsTable::Lte64 | McsTable::LteUl | McsTable::Nr64 => Self::Qam64,
            McsTable::Lte256 | McsTable::Nr256 | McsTable::Nr1024 => Self::Qam256,
            McsTable::NrLowSe => Self::LowSe,
        }
    }

    /// Modulation order; zero for CQI 0 (out of range).
    pub const fn qm(self, cqi: u8) -> u8 {
        if cqi == 0 {
            0
        } else {
            self.rows()[cqi as usize - 1].0
        }
    }

    /// Code rate times 1024; zero for CQI 0 (out of range).
    pub const fn code_rate_x1024(self, cqi: u8) -> u16 {
        if cqi == 0 {
            0
        } else {
            self.rows()[cqi as usize - 1].1
        }
    }

    /// Information bits per resource element; zero for CQI 0 (out of range).
    pub fn efficiency(self, cqi: u8) -> f64 {
        f64::from(self.qm(cqi)) * f64::from(self.code_rate_x1024(cqi)) / 1024.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_leave_out_the_reserved_schemes() {
        let lengths: Vec<usize> = McsTable::ALL.into_iter().map(McsTable::len).collect();
        assert_eq!(lengths, [29, 28, 29, 29, 28, 29, 27]);
    }

    #[test]
    fn names_round_trip() {
        for t in McsTable::ALL {
            assert_eq!(McsTable::by_name(t.name()), Some(t));
        }
        for t in CqiTable::ALL {
            assert_eq!(CqiTable::by_name(t.name()), Some(t));
        }
        assert_eq!(McsTable::by_name("wifi"), None);
    }

    #[test]
    fn efficiencies_are_those_printed_in_the_specification() {
        // (table, mcs, efficiency as printed in TS 38.214)
        for (table, mcs, printed) in [
            (McsTable::Nr64, 0, 0.2344),
            (McsTable::Nr64, 16, 2.5703),
            (McsTable::Nr64, 17, 2.5664),
            (McsTable::Nr64, 28, 5.5547),
            (McsTable::Nr256, 20, 5.3320),
            (McsTable::Nr256, 26, 7.1602),
            (McsTable::Nr256, 27, 7.4063),
            (McsTable::NrLowSe, 0, 0.0586),
            (McsTable::NrLowSe, 28, 4.5234),
            (McsTable::Nr1024, 23, 7.8662),
            (McsTable::Nr1024, 26, 9.2578),
        ] {
            let se = table.efficiency(mcs);
            assert!((se - printed).abs() < 6e-5, "{} {mcs}: {se}", table.name());
        }
        for (table, printed) in [
            (
                CqiTable::Qam64,
                [
                    0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305,
                    3.3223, 3.9023, 4.5234, 5.1152, 5.5547,
                ],
            ),
            (
                CqiTable::Qam256,
                [
                    0.1523, 0.3770, 0.8770, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234,
                    5.1152, 5.5547, 6.2266, 6.9141, 7.4063,
                ],
            ),
            (
                CqiTable::LowSe,
                [
                    0.0586, 0.0977, 0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141,
                    2.4063, 2.7305, 3.3223, 3.9023, 4.5234,
                ],
            ),
        ] {
            for (cqi, p) in (1..).zip(printed) {
                assert!(
                    (table.efficiency(cqi) - p).abs() < 6e-5,
                    "{} {cqi}",
                    table.name()
                );
            }
            assert_eq!(table.efficiency(0), 0.0);
        }
    }

    #[test]
    fn the_top_lte_scheme_meets_the_top_cqi() {
        assert!(
            (McsTable::Lte64.efficiency(28) / CqiTable::Qam64.efficiency(15) - 1.0).abs() < 0.002
        );
        assert!(
            (McsTable::Lte256.efficiency(27) / CqiTable::Qam256.efficiency(15) - 1.0).abs() < 0.002
        );
    }

    #[test]
    fn no_code_rate_exceeds_one_and_modulation_never_falls() {
        for t in McsTable::ALL {
            for mcs in 0..t.len() as u8 {
                let rate = t.code_rate_x1024(mcs);
                assert!((20.0..960.0).contains(&rate), "{} {mcs}: {rate}", t.name());
                assert!(mcs == 0 || t.qm(mcs) >= t.qm(mcs - 1), "{} {mcs}", t.name());
            }
        }
    }
}
