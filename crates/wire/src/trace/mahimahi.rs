//! Mahimahi's packet-delivery traces: one line an opportunity, its time in milliseconds.
//!
//! Format: Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015, section 4. An
//! opportunity carries 1,504 bytes (an MTU of 1,500 and the TUN header); the trace starts anew when it ends, and its
//! last line is its period.

use std::fmt::Write as _;

use slackwater_core::{Bytes, Duration, Instant, Rate};

use super::rate::RateSeries;
use super::{TraceError, lines, quote};

/// What one opportunity carries.
pub const OPPORTUNITY: Bytes = Bytes(1504);

/// No line may name a later time: 2^44 ms are 557 years, and a nanosecond count of them still fits 64 bits.
const MAX_MS: u64 = 1 << 44;

/// A delivery trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MahimahiTrace {
    /// Never empty, in order, the last above zero.
    times_ms: Vec<u64>,
}

impl MahimahiTrace {
    /// Reads a trace. Blank lines at the end are let pass.
    ///
    /// # Errors
    /// An empty trace, a line that is no whole number of milliseconds, a time before the one above it, or a last time
    /// of zero.
    pub fn parse(bytes: &[u8]) -> Result<Self, TraceError> {
        const EXPECTED: &str = "a whole number of milliseconds from 0 to 17592186044416";
        let mut times_ms: Vec<u64> = Vec::with_capacity(bytes.len() / 6);
        let mut blank: Option<u64> = None;
        let mut last_line = 0;
        for (line, raw) in lines(bytes) {
            last_line = line;
            let text = raw.trim_ascii();
            if text.is_empty() {
                blank = blank.or(Some(line));
                continue;
            }
            if let Some(blank) = blank {
                return Err(TraceError::new(blank, "a blank line", EXPECTED));
            }
            let ms = whole_number(text)
                .filter(|ms| *ms <= MAX_MS)
                .ok_or_else(|| TraceError::new(line, quote(text), EXPECTED))?;
            if let Some(before) = times_ms.last().filter(|t| ms < **t) {
                return Err(TraceError::new(
                    line,
                    format!("time {ms} ms after {before} ms"),
                    "times that never go back",
                ));
            }
            times_ms.push(ms);
        }
        match times_ms.last() {
            None => Err(TraceError::new(
                1,
                "no line with a time",
                "at least one delivery opportunity",
            )),
            Some(0) => Err(TraceError::new(
                last_line,
                "a last time of 0 ms",
                "a last time above 0 ms, which is the period of the loop",
            )),
            Some(_) => Ok(Self { times_ms }),
        }
    }

    /// A trace with opportunities at `times_ms`; `None` where they break a rule of the format.
    pub fn from_millis(times_ms: Vec<u64>) -> Option<Self> {
        let ordered = times_ms.is_sorted();
        let last = *times_ms.last()?;
        (ordered && last > 0 && last <= MAX_MS).then_some(Self { times_ms })
    }

    /// The opportunities of one period, in milliseconds.
    pub fn times_ms(&self) -> &[u64] {
        &self.times_ms
    }

    /// After this time the trace starts anew.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.period_ms())
    }

    fn period_ms(&self) -> u64 {
        *self.times_ms.last().expect("a trace is never empty")
    }

    /// What one period carries.
    pub fn bytes_per_period(&self) -> Bytes {
        OPPORTUNITY * self.times_ms.len() as u64
    }

    /// Mean rate over the period.
    pub fn mean_rate(&self) -> Rate {
        Rate::from_bytes_over(self.bytes_per_period(), self.period())
    }

    /// The time of opportunity `k`, counted from 0 through all periods.
    #[inline]
    pub fn opportunity(&self, k: u64) -> Instant {
        let n = self.times_ms.len() as u64;
        let ms = (k / n) * self.period_ms() + self.times_ms[(k % n) as usize];
        Instant::from_nanos(ms.saturating_mul(1_000_000))
    }

    /// The trace in Mahimahi's text format.
    pub fn to_text(&self) -> String {
        let mut out = String::with_capacity(self.times_ms.len() * 7);
        for ms in &self.times_ms {
            writeln!(out, "{ms}").expect("writing to a string cannot fail");
        }
        out
    }

    /// The trace as a rate that is constant within windows of `window` (at least a millisecond; the last window may
    /// be shorter). An opportunity at millisecond m lies in the window that ends at or after m and starts before it,
    /// as it stands for what was deliverable in the millisecond up to m; those at 0 belong to the first.
    pub fn to_rate(&self, window: Duration) -> RateSeries {
        let window_ms = window.as_millis().max(1);
        let end = self.period_ms();
        let mut points = Vec::new();
        let mut rest = self.times_ms.as_slice();
        let mut start = 0;
        while start < end {
            let stop = end.min(start.saturating_add(window_ms));
            let n = rest.partition_point(|t| *t <= stop);
            rest = &rest[n..];
            let rate =
                Rate::from_bytes_over(OPPORTUNITY * n as u64, Duration::from_millis(stop - start));
            if points.last().is_none_or(|(_, last)| *last != rate) {
                points.push((Instant::from_millis(start), rate));
            }
            start = if n == 0 && stop < end {
                // Skips whole empty windows, so that a long gap costs nothing.
                let next = rest.first().map_or(end, |t| t.saturating_sub(1));
                stop + (next.saturating_sub(stop)) / window_ms * window_ms
            } else {
                stop
            };
        }
        RateSeries::new(points, Instant::from_millis(end))
            .expect("windows are in order and end at the period")
    }

    /// The trace that delivers an opportunity each time `series` has carried 1,504 bytes more, on the millisecond at
    /// or after that. `None` where the series carries no opportunity, or would carry more than 2^32.
    ///
    /// The format ends a trace with an opportunity, so the period is that of the last one unless bytes remain: a
    /// remainder of at least half an opportunity, or silence at the end, is closed by one at the series' end.
    pub fn from_rate(series: &RateSeries) -> Option<Self> {
        // Bit-nanoseconds per second that make an opportunity.
        const UNIT: u128 = 1504 * 8 * 1_000_000_000;
        let mut times_ms = Vec::new();
        let mut carried: u128 = 0;
        for (start, stop, rate) in series.segments() {
            let bps = u128::from(rate.as_bps());
            let gain = bps * u128::from((stop - start).as_nanos());
            let total = carried + gain;
            if times_ms.len() as u128 + total / UNIT > u128::from(u32::MAX) {
                return None;
            }
            let mut due = UNIT;
            while due <= total {
                let ns = (due - carried).div_ceil(bps);
                let ms = (u128::from(start.as_nanos()) + ns).div_ceil(1_000_000);
                times_ms.push(ms as u64);
                due += UNIT;
            }
            carried = total % UNIT;
        }
        let end_ms = series.end().as_nanos().div_ceil(1_000_000);
        if times_ms.is_empty() && carried == 0 {
            return None;
        }
        if times_ms.last().is_none_or(|t| *t < end_ms) {
            times_ms.push(end_ms);
        }
        Self::from_millis(times_ms)
    }
}

/// A decimal number without sign, space or anything else around it.
fn whole_number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    text.iter().try_fold(0_u64, |n, b| {
        b.is_ascii_digit()
            .then(|| n.checked_mul(10)?.checked_add(u64::from(b - b'0')))?
    })
}

#[cfg(test)]
mod tests;
