//! From SINR to CQI, MCS and block error rate.
//!
//! The link is an AWGN curve with one threshold per spectral efficiency: the SINR of 10 % block errors lies a gap above
//! a scaled Shannon bound, and errors fall from there along a logistic curve. Gap and scale are fitted to published
//! AWGN curves of LTE's turbo code (RMS error 0.35 dB over CQI 1 to 15). Published curves of NR's LDPC code differ
//! from each other by more than that (mean -0.2 dB and +2.0 dB from LTE's), so NR starts from the same numbers and the
//! gap is a parameter.

use super::math::{Grid, from_db, to_db};
use super::tables::{CqiTable, McsTable};

#[cfg(test)]
mod tests;

/// How a terminal turns its SINR into a CQI, and the cell a CQI into an MCS.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum AmcModel {
    /// The highest CQI, and the highest MCS, whose threshold of 10 % block errors the SINR reaches (TS 36.213, 7.2.3).
    #[default]
    Threshold,
    /// Adaptive modulation after Piro et al., "An LTE module for the ns-3 network simulator" (2011): the efficiency is
    /// log2(1 + SINR / G) with G = -ln(5 BER) / 1.5, the CQI is the highest below that efficiency, and the MCS the
    /// highest that does not exceed the CQI's efficiency. ns-3 offers it as `PiroEW2010`.
    Piro {
        /// The target bit error rate; ns-3's default is 5e-5.
        ber: f64,
    },
    /// ns-3's default (`Vienna`): the highest MCS below 10 % block errors, then the highest CQI whose efficiency lies
    /// strictly below that MCS's, then the MCS of that CQI. An MCS that equals a CQI's efficiency thus loses one CQI.
    /// The thresholds are this module's, not ns-3's curves.
    Ns3Mi,
}

/// The parameters of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkModel {
    /// Distance of the 10 % threshold from the scaled Shannon bound in dB.
    pub gap_db: f64,
    /// The share of the Shannon efficiency that is reached at high SINR.
    pub a: f64,
    /// Width of the logistic error curve in dB: the SINR step that divides the odds of an error by e. 0.14 is AWGN; a
    /// block that sees much fading is wider (0.5 to 1).
    pub width_db: f64,
    /// How CQI and MCS are chosen.
    pub amc: AmcModel,
}

/// ln 9: the odds of an error at 10 % are 1 to 9.
const LN_9: f64 = 2.197_224_577_336_219_4;

impl Default for LinkModel {
    fn default() -> Self {
        Self {
            gap_db: 1.9,
            a: 0.94,
            // The 10 % point of the fitted curves lies 0.3 dB above the 50 % point.
            width_db: 0.3 / LN_9,
            amc: AmcModel::Threshold,
        }
    }
}

impl LinkModel {
    /// The SINR in dB at which `se` bits per resource element fail in 10 % of the blocks.
    pub fn threshold_10(&self, se: f64) -> f64 {
        self.gap_db + to_db(libm::exp2(se / self.a) - 1.0)
    }

    /// The efficiency in bits per resource element that fails in 10 % of the blocks at `sinr_db`.
    pub fn efficiency_10(&self, sinr_db: f64) -> f64 {
        self.a * libm::log2(1.0 + from_db(sinr_db - self.gap_db))
    }
}

/// The efficiency that ns-3 gives an LTE MCS, in hundredths: MCS 2k has that of CQI k + 1 (3GPP R1-081483).
#[rustfmt::skip]
const R1_081483_MCS: [u16; 29] = [
    15, 19, 23, 31, 38, 49, 60, 74, 88, 103, 118, 133, 148, 170, 191, 216, 241, 257, 273, 303, 332, 361, 390, 421, 452,
    482, 512, 533, 555,
];

/// The MCS whose threshold lies up to this far above that of a CQI still counts as the CQI's own: LTE's efficiencies
/// come from sizes that are rounded.
const CQI_SLACK_DB: f64 = 0.1;

/// Steps per dB of the table from SINR to MCS.
const BINS_PER_DB: f64 = 4.0;
const BINS_START_DB: f64 = -20.0;
const BINS: usize = 300;

/// Finds the highest index whose key does not exceed an argument, keys rising.
#[derive(Clone, Debug)]
struct Ladder {
    keys: Box<[f64]>,
    /// For each bin of the argument, how many keys lie at or below its start.
    hint: Box<[u8]>,
}

impl Ladder {
    /// Each key is lowered to the least of those after it, so that "highest index" means the same as in an unsorted
    /// list (MCS 17 of table 5.1.3.1-1 needs less than MCS 16).
    fn new(mut keys: Vec<f64>) -> Self {
        for i in (1..keys.len()).rev() {
            keys[i - 1] = keys[i - 1].min(keys[i]);
        }
        let hint = (0..BINS)
            .map(|bin| {
                let start = BINS_START_DB + bin as f64 / BINS_PER_DB;
                keys.partition_point(|&k| k <= start) as u8
            })
            .collect();
        Self {
            keys: keys.into(),
            hint,
        }
    }

    /// How many of the lowered keys are at or below `x`; the highest index plus one.
    #[inline]
    fn count(&self, x: f64) -> usize {
        let bin = ((x - BINS_START_DB) * BINS_PER_DB).max(0.0) as i32 as usize;
        let mut n = if x < BINS_START_DB {
            0
        } else {
            usize::from(self.hint[bin.min(BINS - 1)])
        };
        while n < self.keys.len() && self.keys[n] <= x {
            n += 1;
        }
        n
    }
}

/// Block error rates and link adaptation of one MCS table, precomputed.
#[derive(Clone, Debug)]
pub struct Bler {
    model: LinkModel,
    /// SINR of 50 % errors per MCS, dB.
    s50: Box<[f64]>,
    per_width: f64,
    /// 1 / (1 + e^x).
    logistic: Grid,
    by_sinr: Ladder,
    by_cqi_sinr: Ladder,
    /// Threshold of CQI 1..=15, dB; entry 0 lies below CQI 1.
    cqi_sinr: [f64; 16],
    cqi_mcs: [u8; 16],
    /// The target of the last look-up table, and how far above the 50 % point it lies in dB.
    target: (f64, f64),
}

/// Beyond this many widths from the middle, all blocks fail or none does (e^-16 is 1e-7).
const LOGISTIC_END: f64 = 16.0;

/// The usual target of link adaptation (TS 36.213, 7.2.3).
pub const DEFAULT_TARGET: f64 = 0.1;

impl Bler {
    /// Precomputes the link of one cell direction.
    pub fn new(model: &LinkModel, mcs: McsTable, cqi: CqiTable) -> Self {
        let mcs_count = mcs.len() as u8;
        let threshold: Vec<f64> = (0..mcs_count)
            .map(|m| model.threshold_10(mcs.efficiency(m)))
            .collect();
        // Through the 10 % point whatever the width.
        let s50: Box<[f64]> = threshold
            .iter()
            .map(|t| t - model.width_db * LN_9)
            .collect();
        let (cqi_sinr, cqi_mcs) = match model.amc {
            AmcModel::Threshold => by_threshold(model, &threshold, cqi),
            AmcModel::Piro { ber } => by_bit_error_rate(ber, mcs, cqi),
            AmcModel::Ns3Mi => by_mutual_information(model, mcs, cqi),
        };
        let logistic = Grid::new(-LOGISTIC_END, LOGISTIC_END, 32.0, |x| {
            if x <= -LOGISTIC_END {
                1.0
            } else if x >= LOGISTIC_END {
                0.0
            } else {
                1.0 / (1.0 + libm::exp(x))
            }
        });
        let offset = logistic.falls_to(DEFAULT_TARGET) * model.width_db;
        Self {
            model: *model,
            by_sinr: Ladder::new(s50.to_vec()),
            by_cqi_sinr: Ladder::new(cqi_sinr[1..].to_vec()),
            s50,
            per_width: 1.0 / model.width_db,
            logistic,
            cqi_sinr,
            cqi_mcs,
            target: (DEFAULT_TARGET, offset),
        }
    }

    /// The parameters it was made from.
    pub fn model(&self) -> &LinkModel {
        &self.model
    }

    /// The share of blocks of `mcs` that fail at `sinr_db`.
    #[inline]
    pub fn bler(&self, mcs: u8, sinr_db: f64) -> f64 {
        self.logistic
            .at((sinr_db - self.s50[usize::from(mcs)]) * self.per_width)
    }

    /// The highest MCS that fails in at most `target` of the blocks at `sinr_db`, or MCS 0 where none does.
    #[inline]
    pub fn mcs_for(&self, sinr_db: f64, target: f64) -> u8 {
        let offset = if target == self.target.0 {
            self.target.1
        } else {
            self.logistic.falls_to(target) * self.model.width_db
        };
        self.by_sinr.count(sinr_db - offset).max(1) as u8 - 1
    }

    /// Makes `target` the one that [`Bler::mcs_for`] answers fastest (10 % at first).
    #[must_use]
    pub fn with_target(mut self, target: f64) -> Self {
        let offset = self.logistic.falls_to(target) * self.model.width_db;
        self.target = (target, offset);
        self
    }

    /// The CQI that a terminal reports at `sinr_db`, 0 (out of range) to 15.
    #[inline]
    pub fn cqi_for(&self, sinr_db: f64) -> u8 {
        self.by_cqi_sinr.count(sinr_db) as u8
    }

    /// The lowest SINR in dB that reports `cqi`; 3 dB below CQI 1 for CQI 0.
    #[inline]
    pub fn sinr_of_cqi(&self, cqi: u8) -> f64 {
        self.cqi_sinr[usize::from(cqi.min(CqiTable::MAX))]
    }

    /// The MCS that a cell gives to a terminal that reported `cqi`.
    #[inline]
    pub fn mcs_of_cqi(&self, cqi: u8) -> u8 {
        self.cqi_mcs[usize::from(cqi.min(CqiTable::MAX))]
    }

    /// The SINR in dB of 10 % errors of one MCS.
    #[inline]
    pub fn threshold_db(&self, mcs: u8) -> f64 {
        self.s50[usize::from(mcs)] + self.model.width_db * LN_9
    }

    /// How many schemes there are.
    pub fn mcs_count(&self) -> usize {
        self.s50.len()
    }
}

fn below_first(mut sinr: [f64; 16]) -> [f64; 16] {
    sinr[0] = sinr[1] - 3.0;
    sinr
}

/// Highest index of `values` at or below `limit`, or zero.
fn highest(values: &[f64], limit: f64) -> u8 {
    values.iter().rposition(|&v| v <= limit).unwrap_or(0) as u8
}

fn by_threshold(model: &LinkModel, threshold: &[f64], cqi: CqiTable) -> ([f64; 16], [u8; 16]) {
    let mut sinr = [0.0; 16];
    let mut mcs = [0; 16];
    for c in 1..=CqiTable::MAX {
        let at = model.threshold_10(cqi.efficiency(c));
        sinr[usize::from(c)] = at;
        mcs[usize::from(c)] = highest(threshold, at + CQI_SLACK_DB);
    }
    (below_first(sinr), mcs)
}

/// Efficiencies as ns-3 compares them: two decimals for LTE's 64QAM tables, the tables' own elsewhere.
fn rounded_efficiencies(mcs: McsTable, cqi: CqiTable) -> (Vec<f64>, [f64; 16]) {
    let two_decimals = mcs == McsTable::Lte64 || mcs == McsTable::LteUl;
    let of_mcs = (0..mcs.len() as u8)
        .map(|m| {
            if two_decimals {
                f64::from(R1_081483_MCS[usize::from(m)]) / 100.0
            } else {
                mcs.efficiency(m)
            }
        })
        .collect();
    let mut of_cqi = [0.0; 16];
    for c in 1..=CqiTable::MAX {
        let se = cqi.efficiency(c);
        of_cqi[usize::from(c)] = if two_decimals && cqi == CqiTable::Qam64 {
            f64::from((se * 100.0 + 0.5) as u16) / 100.0
        } else {
            se
        };
    }
    (of_mcs, of_cqi)
}

fn by_bit_error_rate(ber: f64, mcs: McsTable, cqi: CqiTable) -> ([f64; 16], [u8; 16]) {
    let gamma_db = to_db(-libm::log(5.0 * ber) / 1.5);
    let (of_mcs, of_cqi) = rounded_efficiencies(mcs, cqi);
    let mut sinr = [0.0; 16];
    let mut of = [0; 16];
    for c in 1..=15 {
        sinr[c] = gamma_db + to_db(libm::exp2(of_cqi[c]) - 1.0);
        of[c] = highest(&of_mcs, of_cqi[c]);
    }
    (below_first(sinr), of)
}

fn by_mutual_information(model: &LinkModel, mcs: McsTable, cqi: CqiTable) -> ([f64; 16], [u8; 16]) {
    let (of_mcs, of_cqi) = rounded_efficiencies(mcs, cqi);
    let mut sinr = [f64::INFINITY; 16];
    let mut of = [0; 16];
    for c in 1..=15 {
        // The first MCS that is strictly better than the CQI; the last MCS always stands for the last CQI.
        let first = of_mcs.iter().position(|&m| m > of_cqi[c]);
        let first = first.unwrap_or(of_mcs.len() - 1);
        sinr[c] = model.threshold_10(of_mcs[first]);
        of[c] = highest(&of_mcs, of_cqi[c]);
    }
    (below_first(sinr), of)
}
