//! Rate series: a link's rate that holds from one row of a table to the next.
//!
//! The table is CSV with a header. A last row with an empty rate is the end; without one, the last rate holds as long
//! as the one before it did. Times are counted from the first row, so that a cut of a longer log starts at zero.

use std::fmt::Write as _;

use slackwater_core::{Bytes, Duration, Instant, Rate};

use super::{TraceError, lines, quote};

/// No row may lie later: 10^9 s are 31 years, and a nanosecond count of them fits 64 bits.
const MAX_SECONDS: f64 = 1e9;
/// No rate may be higher: 10^9 Mbit/s, which a product with nanoseconds still holds in 128 bits.
const MAX_BPS: f64 = 1e15;

/// In what a rate column counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateUnit {
    /// bit/s.
    Bps,
    /// 10^3 bit/s.
    Kbps,
    /// 10^6 bit/s.
    #[default]
    Mbps,
    /// 10^9 bit/s.
    Gbps,
    /// Bytes per second.
    BytesPerSecond,
}

impl RateUnit {
    /// The names that [`RateUnit::from_name`] knows.
    pub const NAMES: [&'static str; 5] = ["bps", "kbps", "mbps", "gbps", "bytes/s"];

    /// The unit of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "bps" => Self::Bps,
            "kbps" => Self::Kbps,
            "mbps" => Self::Mbps,
            "gbps" => Self::Gbps,
            "bytes/s" => Self::BytesPerSecond,
            _ => return None,
        })
    }

    const fn bits_per_second(self) -> f64 {
        match self {
            Self::Bps => 1.0,
            Self::Kbps => 1e3,
            Self::Mbps => 1e6,
            Self::Gbps => 1e9,
            Self::BytesPerSecond => 8.0,
        }
    }
}

/// In what a time column counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    #[default]
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
}

impl TimeUnit {
    /// The names that [`TimeUnit::from_name`] knows.
    pub const NAMES: [&'static str; 3] = ["s", "ms", "us"];

    /// The unit of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "s" => Self::Seconds,
            "ms" => Self::Millis,
            "us" => Self::Micros,
            _ => return None,
        })
    }

    const fn per_second(self) -> f64 {
        match self {
            Self::Seconds => 1.0,
            Self::Millis => 1e3,
            Self::Micros => 1e6,
        }
    }
}

/// Which columns of a table to read, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateColumns {
    /// Names of the time column; the first that the header has is read.
    pub time: Vec<String>,
    /// In what it counts.
    pub time_unit: TimeUnit,
    /// Names of the rate column, likewise.
    pub rate: Vec<String>,
    /// In what it counts.
    pub rate_unit: RateUnit,
    /// Reads only rows that hold this value in this column: one trace of a file with several.
    pub only: Option<(String, String)>,
}

impl Default for RateColumns {
    /// Seconds in `time_s`, Mbit/s in `mbps` or `capacity_mbps`.
    fn default() -> Self {
        Self {
            time: vec!["time_s".into()],
            time_unit: TimeUnit::Seconds,
            rate: vec!["mbps".into(), "capacity_mbps".into()],
            rate_unit: RateUnit::Mbps,
            only: None,
        }
    }
}

/// A rate that changes in steps and then ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSeries {
    /// Never empty; the first at zero; strictly increasing.
    points: Vec<(Instant, Rate)>,
    /// After the last point.
    end: Instant,
}

impl RateSeries {
    /// A series; `None` where `points` is empty, does not start at zero or is not strictly increasing, or where `end`
    /// does not lie after it.
    pub fn new(points: Vec<(Instant, Rate)>, end: Instant) -> Option<Self> {
        let ordered = points.windows(2).all(|w| w[0].0 < w[1].0);
        let first = points.first()?.0;
        let last = points.last()?.0;
        (ordered && first == Instant::ZERO && last < end).then_some(Self { points, end })
    }

    /// One rate for `duration` (at least a nanosecond).
    pub fn constant(rate: Rate, duration: Duration) -> Self {
        Self {
            points: vec![(Instant::ZERO, rate)],
            end: Instant::ZERO + duration.max(Duration::from_nanos(1)),
        }
    }

    /// Reads a table with the default columns.
    ///
    /// # Errors
    /// As [`RateSeries::parse_with`].
    pub fn parse(bytes: &[u8]) -> Result<Self, TraceError> {
        Self::parse_with(bytes, &RateColumns::default())
    }

    /// Reads a table with a header.
    ///
    /// # Errors
    /// A header without the columns, a row without their cells, a time that is no finite number or does not increase,
    /// a rate that is no finite number at or above zero, or a table without an end: fewer than two rows.
    pub fn parse_with(bytes: &[u8], columns: &RateColumns) -> Result<Self, TraceError> {
        let mut points: Vec<(Instant, Rate)> = Vec::new();
        let mut origin: Option<f64> = None;
        let mut end: Option<(u64, Instant)> = None;
        let mut last_line = 1;
        for row in rows(bytes, columns)? {
            let Row {
                line,
                seconds,
                rate,
            } = row?;
            last_line = line;
            if let Some((end_line, _)) = end {
                return Err(TraceError::new(
                    end_line,
                    "an empty rate",
                    "a number; only the last row may leave it empty, to mark the end",
                ));
            }
            let origin = *origin.get_or_insert(seconds);
            let at = since(origin, seconds, line)?;
            // A time before the origin gives zero here and is caught with the equals.
            if let Some((before, _)) = points.last().filter(|(t, _)| at <= *t) {
                return Err(TraceError::new(
                    line,
                    format!("time {seconds} s, {at} after the first row"),
                    format!(
                        "a time later than the row before, which lies {before} after the first"
                    ),
                ));
            }
            match rate {
                Some(rate) => points.push((at, rate)),
                None if points.is_empty() => return Err(no_rate(line)),
                None => end = Some((line, at)),
            }
        }
        let end = match (end, points.as_slice()) {
            (Some((_, end)), _) => end,
            (None, [.., (a, _), (b, _)]) => *b + (*b - *a),
            (None, _) => {
                let rows = if points.is_empty() {
                    "no row"
                } else {
                    "one row"
                };
                return Err(TraceError::new(
                    last_line + 1,
                    format!("the end of the file after {rows}"),
                    "two rows at least, or a row `TIME,` with an empty rate that marks the end",
                ));
            }
        };
        Ok(Self { points, end })
    }

    /// Reads a log that holds several recordings one after another, as measurement campaigns publish them. A new
    /// series starts where time goes back or leaps by more than `longest_step`, and after a row with an empty rate.
    /// Of rows with one and the same time the last counts. Recordings of a single row are left out.
    ///
    /// # Errors
    /// As [`RateSeries::parse_with`], but for order and number of rows.
    pub fn parse_pieces(
        bytes: &[u8],
        columns: &RateColumns,
        longest_step: Duration,
    ) -> Result<Vec<Self>, TraceError> {
        let mut pieces = Vec::new();
        let mut points: Vec<(Instant, Rate)> = Vec::new();
        let mut origin = 0.0;
        let mut close = |points: &mut Vec<(Instant, Rate)>, end: Option<Instant>| {
            let end = match (end, points.as_slice()) {
                (Some(end), _) => end,
                (None, [.., (a, _), (b, _)]) => *b + (*b - *a),
                (None, _) => Instant::ZERO,
            };
            pieces.extend(Self::new(std::mem::take(points), end));
        };
        for row in rows(bytes, columns)? {
            let Row {
                line,
                seconds,
                rate,
            } = row?;
            if let Some((last, _)) = points.last() {
                let back = seconds < origin + last.as_secs_f64() - 1e-9;
                let leap = seconds - origin > last.saturating_add(longest_step).as_secs_f64();
                if back || leap {
                    close(&mut points, None);
                }
            }
            if points.is_empty() {
                origin = seconds;
            }
            let at = since(origin, seconds, line)?;
            let Some(rate) = rate else {
                close(&mut points, Some(at));
                continue;
            };
            match points.last_mut() {
                Some((last, value)) if *last >= at => *value = rate,
                _ => points.push((at, rate)),
            }
        }
        close(&mut points, None);
        Ok(pieces)
    }

    /// The steps: from this time on, this rate.
    pub fn points(&self) -> &[(Instant, Rate)] {
        &self.points
    }

    /// When the series ends.
    pub const fn end(&self) -> Instant {
        self.end
    }

    /// The steps as (start, end, rate).
    pub fn segments(&self) -> impl Iterator<Item = (Instant, Instant, Rate)> {
        let ends = self.points.iter().skip(1).map(|p| p.0).chain([self.end]);
        self.points
            .iter()
            .zip(ends)
            .map(|((start, rate), end)| (*start, end, *rate))
    }

    /// The rate at `t`; the last one from the end on.
    pub fn rate_at(&self, t: Instant) -> Rate {
        let next = self.points.partition_point(|(start, _)| *start <= t);
        self.points[next.saturating_sub(1)].1
    }

    /// What the whole series carries.
    pub fn total(&self) -> Bytes {
        let bit_ns: u128 = self
            .segments()
            .map(|(a, b, rate)| u128::from(rate.as_bps()) * u128::from((b - a).as_nanos()))
            .sum();
        Bytes(u64::try_from(bit_ns / 8_000_000_000).unwrap_or(u64::MAX))
    }

    /// The series as a table that [`RateSeries::parse`] reads back.
    pub fn to_csv(&self) -> String {
        let mut out = String::from("time_s,mbps\n");
        for (t, rate) in &self.points {
            let (s, m) = (fixed(t.as_nanos(), 9), fixed(rate.as_bps(), 6));
            writeln!(out, "{s},{m}").expect("writing to a string cannot fail");
        }
        writeln!(out, "{},", fixed(self.end.as_nanos(), 9))
            .expect("writing to a string cannot fail");
        out
    }
}

/// `n` times 10^-`digits` in full, without zeros at the end.
fn fixed(n: u64, digits: u32) -> String {
    let unit = 10_u64.pow(digits);
    let text = format!("{}.{:0width$}", n / unit, n % unit, width = digits as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A row of a table.
struct Row {
    line: u64,
    seconds: f64,
    /// `None` where the cell is empty.
    rate: Option<Rate>,
}

/// The rows below the header that `columns` asks for. Blank lines and lines that start with `#` are let pass.
fn rows(
    bytes: &[u8],
    columns: &RateColumns,
) -> Result<impl Iterator<Item = Result<Row, TraceError>>, TraceError> {
    let mut rows = lines(bytes).filter(|(_, raw)| {
        let raw = raw.trim_ascii();
        !raw.is_empty() && !raw.starts_with(b"#")
    });
    let (header_line, header) = rows
        .next()
        .ok_or_else(|| TraceError::new(1, "an empty file", "a header with column names"))?;
    // A byte order mark belongs to no column's name.
    let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header);
    let find = |names: &[String]| {
        names
            .iter()
            .find_map(|name| cells(header).position(|cell| cell == name.as_bytes()))
            .ok_or_else(|| {
                let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
                TraceError::new(
                    header_line,
                    format!("the header {}", quote(header)),
                    format!("a column named {}", names.join(" or ")),
                )
            })
    };
    let time_column = find(&columns.time)?;
    let rate_column = find(&columns.rate)?;
    let only = match &columns.only {
        None => None,
        Some((name, value)) => Some((find(std::slice::from_ref(name))?, value.as_bytes())),
    };
    let (per_second, unit) = (
        columns.time_unit.per_second(),
        columns.rate_unit.bits_per_second(),
    );
    let rows = rows
        .filter(move |(_, raw)| {
            only.is_none_or(|(column, value)| cells(raw).nth(column) == Some(value))
        })
        .map(move |(line, raw)| {
            let seconds = number(
                raw,
                time_column,
                line,
                "a time as a finite number",
                f64::MIN,
            )?;
            let seconds = seconds / per_second;
            if cells(raw).nth(rate_column).is_some_and(<[u8]>::is_empty) {
                return Ok(Row {
                    line,
                    seconds,
                    rate: None,
                });
            }
            let bps = number(raw, rate_column, line, RATE, 0.0)? * unit;
            if bps > MAX_BPS {
                return Err(TraceError::new(
                    line,
                    format!("a rate of {bps:e} bit/s"),
                    "a rate of at most 10^15 bit/s",
                ));
            }
            Ok(Row {
                line,
                seconds,
                rate: Some(Rate::from_bps((bps + 0.5) as u64)),
            })
        });
    Ok(rows)
}

/// What a rate's cell must hold.
const RATE: &str = "a rate as a finite number at or above 0";

fn no_rate(line: u64) -> TraceError {
    TraceError::new(line, "``", RATE)
}

/// The time from `origin` to `seconds`; zero where that lies before.
fn since(origin: f64, seconds: f64, line: u64) -> Result<Instant, TraceError> {
    if seconds - origin > MAX_SECONDS {
        return Err(TraceError::new(
            line,
            format!("time {seconds} s"),
            "a time at most 10^9 s after the first",
        ));
    }
    Ok(Instant::ZERO + Duration::from_secs_f64(seconds - origin))
}

/// The cells of a row, trimmed. A cell in double quotes loses them; it may not hold a comma.
fn cells(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    raw.split(|b| *b == b',').map(|cell| {
        let cell = cell.trim_ascii();
        cell.strip_prefix(b"\"")
            .and_then(|c| c.strip_suffix(b"\""))
            .unwrap_or(cell)
    })
}

/// The number in cell `column`, which must be finite and at least `least`.
fn number(
    raw: &[u8],
    column: usize,
    line: u64,
    expected: &str,
    least: f64,
) -> Result<f64, TraceError> {
    let Some(cell) = cells(raw).nth(column) else {
        return Err(TraceError::new(
            line,
            format!("a row of {} cells", cells(raw).count()),
            format!("{expected} in cell {}", column + 1),
        ));
    };
    std::str::from_utf8(cell)
        .ok()
        .and_then(|text| text.parse::<f64>().ok())
        .filter(|x| x.is_finite() && *x >= least)
        .ok_or_else(|| TraceError::new(line, quote(cell), expected))
}

#[cfg(test)]
mod tests;
