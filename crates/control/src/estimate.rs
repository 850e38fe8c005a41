//! Estimators that controllers share.

pub mod windowed_max;
