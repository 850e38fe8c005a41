//! Estimators that controllers share.

pub mod sent_log;
pub mod windowed_max;
pub mod windowed_min;
