//! Statistics over seeds, all of the project's: means with 95 % intervals that respect bounds, differences seed by seed, who is best,
//! how many seeds would decide. Distributions are the library's (docs/design/0082).

mod best;
mod bootstrap;
#[cfg(test)]
mod coverage;
mod estimate;
mod paired;
mod seeds;
mod student;

pub use best::{Ranked, best};
pub use bootstrap::stratified;
pub use estimate::{Bounds, Estimate, Interval};
pub use paired::{Paired, discoveries, paired, paired_of};
pub use seeds::{MOST_SEEDS, seeds_for};
pub use student::{quantile as student_quantile, t95};

/// A verdict on a difference stands where chance alone gives one as large less often than this.
pub const LEVEL: f64 = 0.05;
