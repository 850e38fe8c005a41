//! Link traces: what a link could carry, and when.

pub mod mahimahi;
pub mod rate;
pub mod stats;

pub use mahimahi::{MahimahiTrace, OPPORTUNITY};
pub use rate::{RateColumns, RateSeries, RateUnit};
pub use stats::TraceStats;

use thiserror::Error;

/// Why a trace could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: found {found}, expected {expected}")]
pub struct TraceError {
    /// The line, counted from 1; the line after the last where the file ended too early.
    pub line: u64,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: String,
}

impl TraceError {
    fn new(line: u64, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            line,
            found: found.into(),
            expected: expected.into(),
        }
    }
}

/// `raw` in quotes for an error message: printable, and not longer than a terminal line.
fn quote(raw: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(&raw[..raw.len().min(SHOWN * 4)]);
    let mut out = String::from("`");
    out.extend(text.chars().take(SHOWN).flat_map(char::escape_debug));
    if text.chars().count() > SHOWN || raw.len() > SHOWN * 4 {
        out.push_str("...");
    }
    out.push('`');
    out
}

/// The lines of `bytes` with their numbers, without line ends (`\n` or `\r\n`). A final line end opens no new line.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let empty = bytes.is_empty();
    body.split(|b| *b == b'\n')
        .zip(1..)
        .map(|(line, n)| (n, line.strip_suffix(b"\r").unwrap_or(line)))
        .take(if empty { 0 } else { usize::MAX })
}
