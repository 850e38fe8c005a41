//! Files that a scenario names: Mahimahi traces and CSV series, plain or packed, read once and checked whole.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use slackwater_core::Duration;
use slackwater_wire::trace::{MahimahiTrace, TraceError};

use crate::bounded;
use crate::builtin;
use crate::error::ScenarioError;
use crate::field::{At, Cx, Field};
use crate::packed::Packing;
use crate::tree::Value;

/// Texts that were read already, so that a comparison reads each file once.
#[derive(Clone, Debug, Default)]
pub struct DataCache {
    opportunities: Cached<PathBuf, Vec<u64>>,
    series: Cached<(PathBuf, String), Series>,
    /// Read nothing: any path holds something.
    unread: bool,
}

type Cached<K, T> = Arc<Mutex<BTreeMap<K, Arc<T>>>>;

/// No file is larger than this once unpacked; an archive that claims more is refused.
const MAX_BYTES: usize = 256 << 20;
/// The shortest round of a series that repeats.
pub const LEAST_ROUND: Duration = Duration::from_millis(1);

/// A Mahimahi trace: one line per delivery opportunity, in milliseconds from the start.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceFile {
    /// The path as written in the scenario.
    pub file: String,
    /// Milliseconds of each opportunity, never falling; the last is the period of the loop.
    pub opportunities: Arc<Vec<u64>>,
}

impl TraceFile {
    /// Length of one round in milliseconds.
    pub fn period(&self) -> u64 {
        self.opportunities.last().copied().unwrap_or(1).max(1)
    }

    /// `span` milliseconds of it from `start` on, round after round; an opportunity at the end makes them a period.
    #[must_use]
    pub fn cut(&self, start: u64, span: u64) -> Self {
        let (all, period) = (self.opportunities.as_slice(), self.period());
        let (mut round, from) = (0, start % period);
        let mut out = Vec::with_capacity((all.len() as u64 * (span + period) / period) as usize);
        let mut k = all.partition_point(|t| *t <= from);
        loop {
            if k == all.len() {
                k = 0;
                round += period;
            }
            let t = all[k] + round - from;
            if t >= span {
                break;
            }
            out.push(t);
            k += 1;
        }
        out.push(span);
        Self {
            file: format!("{}+{start}ms", self.file),
            opportunities: Arc::new(out),
        }
    }
}

/// Points of a series: the value holds from its time until the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Time since the start, strictly rising.
    pub times: Vec<Duration>,
    /// The value from then on, finite and not negative.
    pub values: Vec<f64>,
}

impl Series {
    /// Length of one round where the series repeats: it lasts one more of its last steps beyond its last row, a second
    /// where it has a single one.
    pub fn round(&self) -> Duration {
        let step = match self.times.as_slice() {
            [.., a, b] => *b - *a,
            _ => Duration::from_secs(1),
        };
        self.times.last().copied().unwrap_or_default() + step
    }
}

/// What is wrong with a data file: the line, what was found, what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found {found}, expected {expected}")]
pub struct DataError {
    /// Line, counted from 1; 0 for the file as a whole.
    pub line: usize,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: String,
}

impl DataError {
    fn new(line: usize, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            line,
            found: found.into(),
            expected: expected.into(),
        }
    }
}

/// Thirty years: sums of periods stay far from overflow.
const MAX_MS: u64 = 1_000_000_000_000;

impl From<TraceError> for DataError {
    fn from(e: TraceError) -> Self {
        Self::new(e.line as usize, e.found, e.expected)
    }
}

fn quoted(text: &str) -> String {
    format!("{:?}", text.chars().take(40).collect::<String>())
}

/// Reads column `name` of a CSV text as a series.
///
/// # Errors
/// Where the header lacks a column, a cell is no number of at least 0, or times do not rise.
pub fn parse_series(text: &str, name: &str) -> Result<Series, DataError> {
    let mut lines = text.lines().enumerate();
    let Some((_, header)) = lines.next() else {
        return Err(DataError::new(0, "an empty file", "a header line"));
    };
    let columns: Vec<&str> = header.split(',').map(str::trim).collect();
    let (time, scale) = columns
        .iter()
        .enumerate()
        .find_map(|(i, c)| match *c {
            "time_s" | "t_s" => Some((i, 1.0)),
            "time_ms" | "t_ms" => Some((i, 1e-3)),
            _ => None,
        })
        .ok_or_else(|| {
            DataError::new(
                1,
                format!("the columns {}", columns.join(", ")),
                "a column `time_s` or `time_ms`",
            )
        })?;
    let value = columns.iter().position(|c| *c == name).ok_or_else(|| {
        DataError::new(
            1,
            format!("the columns {}", columns.join(", ")),
            format!("a column `{name}`"),
        )
    })?;
    let mut series = Series::default();
    for (i, line) in lines {
        let line = line.trim_end();
        if line.is_empty() {
            continue;
        }
        let cell = |at: usize, what: &str, max: f64| {
            let text = line.split(',').nth(at).map_or("", str::trim);
            text.parse::<f64>()
                .ok()
                .filter(|v| v.is_finite() && *v >= 0.0 && *v <= max)
                .ok_or_else(|| {
                    DataError::new(
                        i + 1,
                        quoted(text),
                        format!("a number from 0 to {max:e} for `{what}`"),
                    )
                })
        };
        let t = Duration::from_secs_f64(
            cell(time, columns[time], MAX_MS as f64 * 1e-3 / scale)? * scale,
        );
        let v = cell(value, name, 1e15)?;
        if series.times.last().is_some_and(|last| *last >= t) {
            return Err(DataError::new(
                i + 1,
                format!(
                    "the time {t} after {}",
                    series.times[series.times.len() - 1]
                ),
                "times that rise",
            ));
        }
        series.times.push(t);
        series.values.push(v);
    }
    if series.times.is_empty() {
        return Err(DataError::new(1, "no line after the header", "data"));
    }
    Ok(series)
}

/// Reads a file, unpacking it where the name ends in `.xz`, `.gz` or `.zst`, or a trace inside the program ([`builtin`]).
///
/// # Errors
/// Where the file cannot be read, or is no archive although its name says so.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, DataError> {
    if let Some(name) = builtin::named(path) {
        let found = "no such trace inside the program";
        let trace = builtin::find(name).map_err(|expected| DataError::new(0, found, expected))?;
        return unpack(Packing::Xz, trace.packed);
    }
    let bytes = read_bounded(path, MAX_BYTES)?;
    match Packing::of(path) {
        Some(packing) => unpack(packing, &bytes),
        None => Ok(bytes),
    }
}

/// Reads a file as text, unpacked as by [`read_bytes`].
///
/// # Errors
/// As [`read_bytes`], and where the bytes are no UTF-8.
pub fn read_text(path: &Path) -> Result<String, DataError> {
    String::from_utf8(read_bytes(path)?).map_err(|e| {
        let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = valid.split(|b| *b == b'\n').count();
        DataError::new(line, "bytes that are not text", "text")
    })
}

/// The whole of a regular file of at most `limit` bytes.
///
/// # Errors
/// As [`bounded::read`].
pub fn read_bounded(path: &Path, limit: usize) -> Result<Vec<u8>, DataError> {
    bounded::read(path, limit).map_err(|e| match e.kind() {
        ErrorKind::NotFound => DataError::new(0, "no such file", "a readable file"),
        ErrorKind::InvalidInput => DataError::new(0, e.to_string(), "a regular file"),
        ErrorKind::FileTooLarge => too_large(limit),
        _ => DataError::new(
            0,
            format!("a file that cannot be read ({e})"),
            "a readable file",
        ),
    })
}

fn too_large(limit: usize) -> DataError {
    DataError::new(0, "a larger file", format!("at most {} MiB", limit >> 20))
}

fn unpack(packing: Packing, bytes: &[u8]) -> Result<Vec<u8>, DataError> {
    let out = packing.unpack(bytes, MAX_BYTES).map_err(|e| {
        let expected = format!("a file as its name ends, {}", packing.ending());
        DataError::new(0, format!("a damaged archive ({e})"), expected)
    })?;
    if out.len() > MAX_BYTES {
        return Err(too_large(MAX_BYTES));
    }
    Ok(out)
}

impl DataCache {
    /// One that reads nothing, for a scenario whose files may be named anew before they are read.
    pub(crate) fn unread() -> Self {
        Self {
            unread: true,
            ..Self::default()
        }
    }

    /// True where the file at `path` was read.
    pub(crate) fn has(&self, path: &Path) -> bool {
        lock(&self.opportunities).contains_key(path)
            || lock(&self.series).keys().any(|(read, _)| read == path)
    }

    /// The cache of a scenario that is being read.
    pub(crate) fn of<'a>(cx: &Cx<'a>) -> &'a Self {
        let files = cx.files.downcast_ref();
        files.expect("what reads a scenario hands its cache on")
    }

    /// The opportunities of the Mahimahi trace at `path`.
    ///
    /// # Errors
    /// Where the file cannot be read or is no such trace.
    pub fn opportunities(&self, path: &Path) -> Result<Arc<Vec<u64>>, DataError> {
        if self.unread {
            return Ok(Arc::new(vec![1]));
        }
        if let Some(hit) = lock(&self.opportunities).get(path) {
            return Ok(hit.clone());
        }
        let trace = MahimahiTrace::parse(&read_bytes(path)?)?;
        let data = Arc::new(trace.times_ms().to_vec());
        lock(&self.opportunities).insert(path.to_owned(), data.clone());
        Ok(data)
    }

    /// Column `name` of the CSV file at `path`.
    ///
    /// # Errors
    /// Where the file cannot be read or has no such column.
    pub fn series(&self, path: &Path, name: &str) -> Result<Arc<Series>, DataError> {
        if self.unread {
            return Ok(Arc::new(Series {
                times: vec![Duration::ZERO],
                values: vec![1.0],
            }));
        }
        let key = (path.to_owned(), name.to_owned());
        if let Some(hit) = lock(&self.series).get(&key) {
            return Ok(hit.clone());
        }
        let data = Arc::new(parse_series(&read_text(path)?, name)?);
        lock(&self.series).insert(key, data.clone());
        Ok(data)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A poisoned cache is still a correct cache: entries are inserted whole.
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Turns what is wrong with a data file into an error at the key that names it.
pub fn data_error(at: &At<'_>, file: &str, e: &DataError) -> ScenarioError {
    let place = match e.line {
        0 => format!("{} in {}", e.found, quoted_path(file)),
        line => format!("{} in line {line} of {}", e.found, quoted_path(file)),
    };
    at.error(place, e.expected.clone())
}

fn quoted_path(file: &str) -> String {
    format!("{file:?}")
}

impl Field for TraceFile {
    type Bound = ();
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        let Value::Str(file) = &at.node.value else {
            return Err(at.wrong(Self::describe()));
        };
        let opportunities = DataCache::of(&at.cx)
            .opportunities(&at.cx.base_dir.join(file))
            .map_err(|e| data_error(at, file, &e))?;
        Ok(Self {
            file: file.clone(),
            opportunities,
        })
    }
    fn encode(&self) -> Option<Value> {
        Some(Value::Str(self.file.clone()))
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "string" })
    }
    fn describe() -> String {
        "the path of a Mahimahi trace, relative to the scenario, or \"builtin:driving.down\" and others inside the program".to_owned()
    }
    fn example() -> Self {
        Self {
            file: "cell.down".to_owned(),
            opportunities: Arc::new(vec![1]),
        }
    }
}

/// Defines a CSV file of which one column is read; `#name` after the path picks another column.
macro_rules! series_file {
    ($(#[doc = $doc:literal])+ $name:ident, $column:literal, $max:expr) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            /// The path as written in the scenario, with `#column` where one was given.
            pub file: String,
            /// The column.
            pub series: Arc<Series>,
        }

        impl Field for $name {
            type Bound = ();
            fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
                let Value::Str(file) = &at.node.value else {
                    return Err(at.wrong(Self::describe()));
                };
                let (path, column) = file.split_once('#').unwrap_or((file, $column));
                let series = DataCache::of(&at.cx).series(&at.cx.base_dir.join(path), column)
                    .map_err(|e| data_error(at, path, &e))?;
                if let Some(i) = series.values.iter().position(|v| *v > $max) {
                    return Err(at.error(
                        format!("{} at {} in {}", series.values[i], series.times[i], quoted_path(path)),
                        format!("at most {}", $max),
                    ));
                }
                Ok(Self { file: file.clone(), series })
            }
            fn encode(&self) -> Option<Value> {
                Some(Value::Str(self.file.clone()))
            }
            fn schema() -> serde_json::Value {
                serde_json::json!({ "type": "string" })
            }
            fn describe() -> String {
                concat!("the path of a CSV file with the columns time_s and ", $column,
                    " (\"file.csv#name\" reads another column)").to_owned()
            }
            fn example() -> Self {
                Self { file: "cell.csv".to_owned(), series: Arc::default() }
            }
        }
    };
}
series_file!(
    /// Rates over time, column `mbps`, in Mbit/s.
    RateFile,
    "mbps",
    1e6
);
series_file!(
    /// MCS indices over time, column `mcs`.
    McsFile,
    "mcs",
    28.0
);
series_file!(
    /// CQI values over time, column `cqi`.
    CqiFile,
    "cqi",
    15.0
);
