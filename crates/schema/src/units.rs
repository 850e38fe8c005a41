//! Quantities with their units in strings: `"10 MHz"`, `"30 ms"`, `"128 packets"`.

use core::fmt;

use slackwater_core::{Bytes, Duration, Rate};

use crate::error::ScenarioError;
use crate::field::{At, Field};
use crate::tree::{Node, Value};

/// A frequency or a bandwidth in Hz.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hertz(pub u64);

/// A power relative to 1 mW, in dBm.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Dbm(pub f64);

/// A ratio in dB.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Db(pub f64);

/// A length in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Metres(pub f64);

/// A speed in km/h.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct KmPerHour(pub f64);

/// A share in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Percent(pub f64);

/// The room in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes.
    Bytes(Bytes),
    /// No limit.
    Unlimited,
}

impl Metres {
    /// Metres.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl KmPerHour {
    /// Metres per second.
    pub fn metres_per_second(self) -> f64 {
        self.0 / 3.6
    }
}

impl Percent {
    /// The share as a number from 0 to 1.
    pub fn fraction(self) -> f64 {
        self.0 / 100.0
    }
}

impl Hertz {
    /// Hz.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `k` kHz.
    pub const fn from_khz(k: u64) -> Self {
        Self(k * 1_000)
    }

    /// `m` MHz.
    pub const fn from_mhz(m: u64) -> Self {
        Self(m * 1_000_000)
    }
}

impl fmt::Display for Hertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n >= 1_000_000_000 => write!(f, "{} GHz", n as f64 / 1e9),
            n if n >= 1_000_000 => write!(f, "{} MHz", n as f64 / 1e6),
            n if n >= 1_000 => write!(f, "{} kHz", n as f64 / 1e3),
            n => write!(f, "{n} Hz"),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(n) => write!(f, "{n} packets"),
            Self::Bytes(b) => b.fmt(f),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

macro_rules! display {
    ($name:ident, $unit:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{} ", $unit), self.0)
            }
        }
    };
}
display!(Dbm, "dBm");
display!(Db, "dB");
display!(Metres, "m");
display!(KmPerHour, "km/h");
display!(Percent, "%");

/// Splits `"10 MHz"` into number and unit. The number is plain decimal: no exponent, no sign unless `signed`.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-' || c == '+'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
    let well_formed = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.ends_with(|c: char| c.is_ascii_digit())
        && digits.bytes().filter(|b| *b == b'.').count() <= 1
        && !digits.contains(['-', '+']);
    well_formed.then(|| (number, unit.trim_start()))
}

/// `number * scale` as an integer, rounded half up; `None` where it is negative or too large.
fn scaled(number: &str, scale: u64) -> Option<u64> {
    let number = number.strip_prefix('+').unwrap_or(number);
    if number.starts_with('-') {
        return None;
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u128 = whole.parse().ok()?;
    // 18 digits are finer than a nanosecond in any unit; what lies beyond cannot change the rounded result by much.
    let fraction = &fraction[..fraction.len().min(18)];
    let power = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let part: u128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    let scale = u128::from(scale);
    let total = whole.checked_mul(scale)? + (part * scale + power / 2) / power;
    u64::try_from(total).ok()
}

struct Unit {
    what: &'static str,
    units: &'static [(&'static str, u64)],
    example: &'static str,
}

impl Unit {
    fn expected(&self) -> String {
        let names: Vec<&str> = self.units.iter().map(|u| u.0).collect();
        format!(
            "{} in {} (\"{}\")",
            self.what,
            names.join(", "),
            self.example
        )
    }

    fn integer(&self, at: &At<'_>) -> Result<u64, ScenarioError> {
        let Value::Str(text) = &at.node.value else {
            return Err(at.wrong(self.expected()));
        };
        self.read(text).map_err(|expected| at.wrong(expected))
    }

    /// What `text` says, or what is expected in its place: the right spelling where another one is known.
    fn read(&self, text: &str) -> Result<u64, String> {
        let (number, unit) = split(text).ok_or_else(|| self.expected())?;
        match self.units.iter().find(|u| u.0 == unit) {
            Some((_, scale)) => scaled(number, *scale).ok_or_else(|| self.expected()),
            None => Err(self
                .ours(number, unit)
                .map_or_else(|| self.expected(), |ours| format!("\"{ours}\"?"))),
        }
    }

    /// `number` of `unit` as it is written here, where it is known what is meant.
    fn ours(&self, number: &str, unit: &str) -> Option<String> {
        if let Some(ours) = self.spelt(unit) {
            return Some(format!("{number} {ours}"));
        }
        // Bytes in a time: a rate of eight times as many bits.
        let (_, bits) = BYTE_RATES.iter().find(|(other, _)| *other == unit)?;
        let known = self.units.iter().any(|u| u.0 == *bits);
        let number: f64 = number.parse().ok().filter(|_| known)?;
        Some(format!("{} {bits}", 8.0 * number))
    }

    /// The unit of ours that `unit` is another spelling of.
    fn spelt(&self, unit: &str) -> Option<&'static str> {
        let known = SPELLINGS.iter().find(|(other, _)| *other == unit);
        let ours = known.map_or(unit, |(_, ours)| ours);
        let exact = self.units.iter().find(|u| u.0 == ours);
        // `mhz` can only be MHz: capitals tell none of our units apart.
        let mut alike = self.units.iter().filter(|u| u.0.eq_ignore_ascii_case(ours));
        let one = match (alike.next(), alike.next()) {
            (Some(one), None) => Some(one),
            _ => None,
        };
        exact.or(one).map(|u| u.0)
    }

    fn schema(&self) -> serde_json::Value {
        let names: Vec<&str> = self.units.iter().map(|u| u.0).collect();
        serde_json::json!({
            "type": "string",
            "pattern": format!("^[0-9]+(\\.[0-9]+)? ?({})$", names.join("|")),
            "examples": [self.example],
        })
    }
}

/// Units as others write them, and as they are written here.
const SPELLINGS: [(&str, &str); 27] = [
    ("bps", "bit/s"),
    ("kbps", "kbit/s"),
    ("Kbps", "kbit/s"),
    ("mbps", "Mbit/s"),
    ("Mbps", "Mbit/s"),
    ("gbps", "Gbit/s"),
    ("Gbps", "Gbit/s"),
    ("b/s", "bit/s"),
    ("kb/s", "kbit/s"),
    ("Mb/s", "Mbit/s"),
    ("Gb/s", "Gbit/s"),
    ("kbit", "kbit/s"),
    ("Mbit", "Mbit/s"),
    ("Gbit", "Gbit/s"),
    ("kbits/s", "kbit/s"),
    ("Mbits/s", "Mbit/s"),
    ("Gbits/s", "Gbit/s"),
    ("KB", "kB"),
    ("msec", "ms"),
    ("sec", "s"),
    ("usec", "us"),
    ("\u{b5}s", "us"),
    ("\u{3bc}s", "us"),
    ("mins", "min"),
    ("seconds", "s"),
    ("bytes", "B"),
    ("byte", "B"),
];

/// Rates in bytes, and the unit that has as many bits.
const BYTE_RATES: [(&str, &str); 9] = [
    ("B/s", "bit/s"),
    ("kB/s", "kbit/s"),
    ("KB/s", "kbit/s"),
    ("MB/s", "Mbit/s"),
    ("GB/s", "Gbit/s"),
    ("Bps", "bit/s"),
    ("kBps", "kbit/s"),
    ("MBps", "Mbit/s"),
    ("GBps", "Gbit/s"),
];

const TIME: Unit = Unit {
    what: "a time",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    example: "30 ms",
};
const RATE: Unit = Unit {
    what: "a rate",
    units: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
    ],
    example: "12 Mbit/s",
};
const DATA: Unit = Unit {
    what: "an amount of data",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    example: "192 kB",
};
const FREQUENCY: Unit = Unit {
    what: "a frequency",
    units: &[
        ("Hz", 1),
        ("kHz", 1_000),
        ("MHz", 1_000_000),
        ("GHz", 1_000_000_000),
    ],
    example: "10 MHz",
};

macro_rules! integer_quantity {
    ($ty:ty, $unit:expr, $make:expr, $example:expr) => {
        impl Field for $ty {
            type Bound = Self;
            fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
                $unit.integer(at).map($make)
            }
            fn encode(&self) -> Option<Value> {
                Some(Value::Str(self.to_string()))
            }
            fn schema() -> serde_json::Value {
                $unit.schema()
            }
            fn describe() -> String {
                $unit.expected()
            }
            fn example() -> Self {
                $example
            }
            fn bound(&self) -> Option<&Self> {
                Some(self)
            }
        }
    };
}
integer_quantity!(
    Duration,
    TIME,
    Duration::from_nanos,
    Duration::from_millis(30)
);
integer_quantity!(Rate, RATE, Rate::from_bps, Rate::from_bps(12_000_000));
integer_quantity!(Bytes, DATA, Bytes, Bytes(192_000));
integer_quantity!(Hertz, FREQUENCY, Hertz, Hertz(10_000_000));

/// The time that `text` says, for options of commands: `"20 ms"` or `"20ms"`.
///
/// # Errors
/// What is expected in its place.
pub fn time(text: &str) -> Result<Duration, String> {
    TIME.read(text).map(Duration::from_nanos)
}

/// The rate that `text` says, for options of commands: `"12 Mbit/s"`.
///
/// # Errors
/// What is expected in its place.
pub fn rate(text: &str) -> Result<Rate, String> {
    RATE.read(text).map(Rate::from_bps)
}

/// The room that `text` says, for options of commands: `"64 packets"`, `"100 kB"` or `"unlimited"`.
///
/// # Errors
/// What is expected in its place.
pub fn limit(text: &str) -> Result<Limit, String> {
    if text == "unlimited" {
        return Ok(Limit::Unlimited);
    }
    match split(text) {
        Some((number, "packets" | "packet")) => match number.parse() {
            Ok(n) if n >= 1 => Ok(Limit::Packets(n)),
            _ => Err("1 packet or more".to_owned()),
        },
        _ => match DATA.read(text) {
            Ok(n) if n >= 1 => Ok(Limit::Bytes(Bytes(n))),
            _ => Err(Limit::describe()),
        },
    }
}

macro_rules! real_quantity {
    ($name:ident, $what:literal, [$(($unit:literal, $scale:expr)),+], $example:literal) => {
        impl Field for $name {
            type Bound = Self;
            fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
                let expected = Self::describe();
                let Value::Str(text) = &at.node.value else {
                    return Err(at.wrong(expected));
                };
                let Some((number, unit)) = split(text) else {
                    return Err(at.wrong(expected));
                };
                let scale: f64 = match unit {
                    $($unit => $scale,)+
                    _ => return Err(at.wrong(expected)),
                };
                match number.parse::<f64>() {
                    Ok(v) if (v * scale).is_finite() => Ok(Self(v * scale)),
                    _ => Err(at.wrong(expected)),
                }
            }
            fn encode(&self) -> Option<Value> {
                Some(Value::Str(self.to_string()))
            }
            fn schema() -> serde_json::Value {
                let names = [$($unit),+];
                serde_json::json!({
                    "type": "string",
                    "pattern": format!("^[-+]?[0-9]+(\\.[0-9]+)? ?({})$", names.join("|")),
                    "examples": [$example],
                })
            }
            fn describe() -> String {
                format!(concat!($what, " in {} (\"", $example, "\")"), [$($unit),+].join(", "))
            }
            fn example() -> Self {
                Self(1.0)
            }
            fn bound(&self) -> Option<&Self> {
                Some(self)
            }
        }
    };
}
real_quantity!(Dbm, "a power", [("dBm", 1.0)], "46 dBm");
real_quantity!(Db, "a ratio", [("dB", 1.0)], "9 dB");
real_quantity!(Metres, "a length", [("m", 1.0), ("km", 1000.0)], "200 m");
real_quantity!(
    KmPerHour,
    "a speed",
    [("km/h", 1.0), ("m/s", 3.6)],
    "3 km/h"
);
real_quantity!(Percent, "a share", [("%", 1.0)], "10 %");

impl Field for Limit {
    type Bound = ();
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        let Value::Str(text) = &at.node.value else {
            return Err(at.wrong(Self::describe()));
        };
        limit(text).map_err(|expected| at.wrong(expected))
    }
    fn encode(&self) -> Option<Value> {
        Some(Value::Str(self.to_string()))
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({
            "type": "string",
            "pattern": "^(unlimited|[0-9]+ ?packets?|[0-9]+(\\.[0-9]+)? ?(B|kB|MB|GB|KiB|MiB|GiB))$",
            "examples": ["128 packets", "192 kB", "unlimited"],
        })
    }
    fn describe() -> String {
        "a limit in packets, B, kB, MB, KiB, MiB, or \"unlimited\" (\"128 packets\")".to_owned()
    }
    fn example() -> Self {
        Self::Packets(128)
    }
}

impl Field for bool {
    type Bound = ();
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        match at.node.value {
            Value::Bool(b) => Ok(b),
            _ => Err(at.wrong("true or false")),
        }
    }
    fn encode(&self) -> Option<Value> {
        Some(Value::Bool(*self))
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "boolean" })
    }
    fn describe() -> String {
        "true or false".to_owned()
    }
    fn example() -> Self {
        false
    }
}

impl Field for String {
    type Bound = ();
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        match &at.node.value {
            Value::Str(s) => Ok(s.clone()),
            _ => Err(at.wrong("text")),
        }
    }
    fn encode(&self) -> Option<Value> {
        Some(Value::Str(self.clone()))
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "string" })
    }
    fn describe() -> String {
        "text".to_owned()
    }
    fn example() -> Self {
        "example".to_owned()
    }
}

impl Field for f64 {
    type Bound = Self;
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        match at.node.value {
            Value::Int(i) => Ok(i as Self),
            Value::Float(x) if x.is_finite() => Ok(x),
            _ => Err(at.wrong("a number")),
        }
    }
    fn encode(&self) -> Option<Value> {
        Some(Value::Float(*self))
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "number" })
    }
    fn describe() -> String {
        "a number".to_owned()
    }
    fn example() -> Self {
        1.0
    }
    fn bound(&self) -> Option<&Self> {
        Some(self)
    }
}

macro_rules! whole {
    ($($ty:ty),+) => {$(
        impl Field for $ty {
            type Bound = Self;
            fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
                match at.node.value {
                    Value::Int(i) => Self::try_from(i)
                        .map_err(|_| at.wrong(format!("a whole number from 0 to {}", Self::MAX))),
                    _ => Err(at.wrong("a whole number")),
                }
            }
            fn encode(&self) -> Option<Value> {
                // A seed beyond 2^63 cannot be read from TOML either.
                Some(Value::Int(i64::try_from(*self).unwrap_or(i64::MAX)))
            }
            fn schema() -> serde_json::Value {
                serde_json::json!({ "type": "integer", "minimum": 0 })
            }
            fn describe() -> String {
                "a whole number".to_owned()
            }
            fn example() -> Self {
                1
            }
            fn bound(&self) -> Option<&Self> {
                Some(self)
            }
        }
    )+};
}
whole!(u8, u16, u32, u64);

impl<T: Field> Field for Option<T> {
    type Bound = T::Bound;
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        T::decode(at).map(Some)
    }
    fn encode(&self) -> Option<Value> {
        self.as_ref().and_then(T::encode)
    }
    fn schema() -> serde_json::Value {
        T::schema()
    }
    fn describe() -> String {
        T::describe()
    }
    fn example() -> Self {
        None
    }
    fn bound(&self) -> Option<&T::Bound> {
        self.as_ref().and_then(T::bound)
    }
    fn is_absent(&self) -> bool {
        self.is_none()
    }
    fn reference(key: &str, out: &mut Vec<crate::field::Reference>) {
        T::reference(key, out);
    }
}

impl<T: Field> Field for Vec<T> {
    type Bound = ();
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        let Value::Array(items) = &at.node.value else {
            return Err(match &at.node.value {
                Value::Table(_) => at.wrong(format!("a list of tables: [[{}]]", at.key)),
                _ => at.wrong(Self::describe()),
            });
        };
        items
            .iter()
            .enumerate()
            .map(|(i, node)| {
                let mut child = at.clone();
                child.node = node;
                child.key = format!("{}[{i}]", at.key);
                T::decode(&child)
            })
            .collect()
    }
    fn encode(&self) -> Option<Value> {
        Some(Value::Array(
            self.iter().filter_map(T::encode).map(Node::new).collect(),
        ))
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "array", "items": T::schema() })
    }
    fn describe() -> String {
        format!("a list, each {}", T::describe())
    }
    fn example() -> Self {
        Self::new()
    }
    fn reference(key: &str, out: &mut Vec<crate::field::Reference>) {
        T::reference(key, out);
    }
}

impl Field for [f64; 2] {
    type Bound = ();
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        match Vec::<f64>::decode(at)?.as_slice() {
            [a, b] => Ok([*a, *b]),
            _ => Err(at.wrong(Self::describe())),
        }
    }
    fn encode(&self) -> Option<Value> {
        self.to_vec().encode()
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({
            "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 })
    }
    fn describe() -> String {
        "a pair of numbers".to_owned()
    }
    fn example() -> Self {
        [0.0, 12.0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_may_be_left_out_and_other_spellings_are_answered_with_ours() {
        for text in ["20ms", "20 ms", " 20 ms "] {
            assert_eq!(time(text), Ok(Duration::from_millis(20)), "{text}");
        }
        assert_eq!(rate("12Mbit/s"), Ok(Rate::from_bps(12_000_000)));
        for (text, ours) in [
            ("12 Mbps", "\"12 Mbit/s\"?"),
            ("12mbit/s", "\"12 Mbit/s\"?"),
            ("12 Mb/s", "\"12 Mbit/s\"?"),
            ("12 Mbits/s", "\"12 Mbit/s\"?"),
            // Eight bits a byte.
            ("12 MB/s", "\"96 Mbit/s\"?"),
            ("1.5 kBps", "\"12 kbit/s\"?"),
        ] {
            assert_eq!(rate(text), Err(ours.to_owned()), "{text}");
        }
        let time_of = time("12 MB/s").expect_err("no time");
        assert!(time_of.starts_with("a time in ns"), "{time_of}");
        assert_eq!(time("20 msec"), Err("\"20 ms\"?".to_owned()));
        assert_eq!(time("5 \u{b5}s"), Err("\"5 us\"?".to_owned()));
        for text in ["20", "ms", "", "1e3 ms", "-1 ms"] {
            let expected = time(text).expect_err(text);
            assert!(expected.starts_with("a time in ns"), "{expected}");
        }
    }
}
