//! What a receiver makes of several transmissions of one block.
//!
//! Coded bits lie in a circular buffer; a transmission reads its share of them from where its redundancy version starts
//! (TS 36.212, 5.1.4.1.2; TS 38.212, 5.4.2.1). Bits that come again add their energy, bits that are new add their mutual
//! information (Cheng, "Coding performance of hybrid ARQ schemes", IEEE Trans. Commun. 54, 2006; IEEE 802.16m-08/004r5,
//! 4.3.2 and 4.6). The information of a symbol is the link's own efficiency curve, `a log2(1 + SINR / gap)`, so that the
//! sum over the buffer goes back to one effective SINR, and one transmission to its own SINR.
//!
//! Deviation: parity bits count as systematic ones do. LTE's versions 1 and 2 cannot be decoded by themselves; here a
//! good one after a bad version 0 can.

use super::math::{from_db, to_db};

#[cfg(test)]
mod tests;

slackwater_schema::choice! {
    /// What a receiver makes of several transmissions of a block.
    pub enum Combining {
        /// Incremental redundancy: versions 0, 2, 3, 1 of a circular buffer, mutual information adds up (36.212, 5.1.4.1.2;
        /// 38.212, 5.4.2.1; the order by 36.321, 5.4.2.2, and 38.214, table 6.1.2.1-2). The default.
        Redundancy = "ir",
        /// Chase combining: the same bits again, energy adds up.
        Chase = "chase",
        /// Each transmission by itself.
        Nothing = "none",
    }
}

/// Redundancy versions; the turn begins anew after them.
pub const VERSIONS: usize = 4;

/// A circular buffer of coded bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodedBits {
    /// Information bits over bits in the buffer.
    pub rate: f64,
    /// Where the first, second, third and fourth transmission start, as shares of the buffer.
    starts: [f64; VERSIONS],
}

impl CodedBits {
    /// LTE's turbo code: rate 1/3; version `v` starts at column 24 v + 2 of 96 (TS 36.212, 5.1.4.1.2). The terminal is
    /// taken to have soft bits for all of it (`Ncb` = `Kw`).
    pub const TURBO: Self = Self {
        rate: 1.0 / 3.0,
        starts: [2.0 / 96.0, 50.0 / 96.0, 74.0 / 96.0, 26.0 / 96.0],
    };

    /// NR's base graph 1: 22 columns of information, 66 of coded bits, and TS 38.212, table 5.4.2.1-2.
    pub const GRAPH_1: Self = Self {
        rate: 22.0 / 66.0,
        starts: [0.0, 33.0 / 66.0, 56.0 / 66.0, 17.0 / 66.0],
    };

    /// NR's base graph 2: 10 columns of information, 50 of coded bits.
    pub const GRAPH_2: Self = Self {
        rate: 10.0 / 50.0,
        starts: [0.0, 25.0 / 50.0, 43.0 / 50.0, 13.0 / 50.0],
    };

    /// The graph of an NR block of `bits` at code rate `rate` (TS 38.212, 6.2.2 and 7.2.2).
    pub fn nr(bits: u32, rate: f64) -> Self {
        if bits <= 292 || (bits <= 3824 && rate <= 0.67) || rate <= 0.25 {
            Self::GRAPH_2
        } else {
            Self::GRAPH_1
        }
    }

    /// The same with a buffer that holds `room` bits of a block of `bits` at most (limited buffer rate matching).
    #[must_use]
    pub fn limited(self, bits: u32, room: f64) -> Self {
        Self {
            rate: self.rate.max(f64::from(bits) / room),
            ..self
        }
    }
}

/// Bits that the soft buffer of a downlink block holds at most in NR: a block of `blocks` resource blocks, `layers` and
/// `qm` at code rate 948/1024, over 2/3 (TS 38.212, 5.4.2.1). Beyond 273 blocks the carrier's own number counts.
pub fn limited_buffer_bits(blocks: u16, layers: u8, qm: u8) -> f64 {
    // TS 38.212, table 5.4.2.1-1.
    const BLOCKS: [u16; 7] = [32, 66, 107, 135, 162, 217, 273];
    let blocks = BLOCKS
        .into_iter()
        .find(|&n| blocks <= n)
        .unwrap_or(blocks.max(273));
    // 156 resource elements a block (TS 38.214, 5.1.3.2).
    let symbols = 156.0 * f64::from(blocks) * f64::from(layers);
    symbols * f64::from(qm) * (948.0 / 1024.0) / (2.0 / 3.0)
}

/// The energy that a receiver holds of a block, by redundancy version: the sum of linear SINR.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Heard([f32; VERSIONS]);

impl Heard {
    /// With transmission `round` at `sinr_db`, the first being 0.
    #[must_use]
    pub fn with(self, round: u8, sinr_db: f64) -> Self {
        let mut heard = if round == 0 { [0.0; VERSIONS] } else { self.0 };
        heard[usize::from(round) % VERSIONS] += from_db(sinr_db) as f32;
        Self(heard)
    }
}

impl Combining {
    /// The SINR in dB at which one transmission alone would decode as well as all that was heard.
    ///
    /// `code_rate` is that of one transmission, `gap` the linear distance of the link from Shannon's bound. `last_db` is
    /// the latest transmission's SINR, and in `heard` already.
    pub fn effective_db(
        self,
        heard: Heard,
        last_db: f64,
        coded: CodedBits,
        code_rate: f64,
        gap: f64,
    ) -> f64 {
        let energy = heard.0.map(f64::from);
        // A transmission's share of the buffer. One that goes round it repeats all of it each time.
        let share = coded.rate / code_rate;
        match self {
            Self::Nothing => last_db,
            Self::Redundancy if share < 1.0 => {
                to_db(gap * (libm::exp2(information(energy, share, coded.starts, gap)) - 1.0))
            }
            Self::Redundancy | Self::Chase => to_db(energy.iter().sum::<f64>()),
        }
    }
}

/// Information in the buffer, in units of what a transmission carries at its own SINR: log2(1 + SINR / gap).
fn information(energy: [f64; VERSIONS], share: f64, starts: [f64; VERSIONS], gap: f64) -> f64 {
    // Between neighbouring ends the same transmissions cover all bits.
    let mut ends = [0.0; 2 * VERSIONS];
    for (k, start) in starts.into_iter().enumerate() {
        ends[2 * k] = start;
        ends[2 * k + 1] = (start + share) % 1.0;
    }
    ends.sort_unstable_by(f64::total_cmp);
    let mut sum = 0.0;
    let mut from = ends[2 * VERSIONS - 1] - 1.0;
    for to in ends {
        let length = to - from;
        if length > 0.0 {
            let middle = from + 0.5 * length;
            let here: f64 = energy
                .iter()
                .zip(starts)
                .filter(|&(_, start)| (middle - start + 2.0) % 1.0 < share)
                .map(|(e, _)| e)
                .sum();
            if here > 0.0 {
                sum += length * libm::log2(1.0 + here / gap);
            }
        }
        from = to;
    }
    sum / share
}
