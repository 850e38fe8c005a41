//! The formats that a trace is written in.

use clap::ValueEnum;

/// What a trace is written as, as an option knows it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Format {
    /// One delivery opportunity a line, in ms
    Mahimahi,
    /// CSV with `time_s` and mbps
    Rate,
}
