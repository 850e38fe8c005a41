//! Estimators that controllers share.

pub mod windowed_max;
pub mod windowed_min;
