//! Which slots carry what: FDD, and TDD patterns with their special slot.

use core::fmt;
use core::str::FromStr;

/// OFDM symbols of a slot with normal cyclic prefix (TS 38.211, 4.3.2).
pub const SYMBOLS: u8 = 14;
/// Uplink symbols that a special slot must have to carry PUSCH (four, as mapping type A needs; TS 38.214, 6.1.2.1).
pub const MIN_PUSCH_SYMBOLS: u8 = 4;
/// Uplink symbols that a slot must have to carry a short PUCCH (TS 38.213, 9.2.1: two symbols at most in formats 0 and 2).
pub const MIN_PUCCH_SYMBOLS: u8 = 2;
/// Downlink symbols that a special slot must have to carry PDSCH beside one symbol of control.
pub const MIN_PDSCH_SYMBOLS: u8 = 4;
/// Longest pattern that is accepted, in slots.
pub const MAX_PERIOD: usize = 20;

/// A slot of the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotType {
    /// All symbols downlink.
    Down,
    /// All symbols uplink.
    Up,
    /// Downlink symbols, a gap, uplink symbols.
    Special,
}

/// A TDD pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TddPattern {
    slots: Vec<SlotType>,
    special_down: u8,
    special_up: u8,
}

/// Why a text is no TDD pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TddError {
    /// A letter other than D, S, U.
    Letter(char),
    /// No slot at all, or more than [`MAX_PERIOD`].
    Length(usize),
    /// The symbols of the special slot are not `down:gap:up` with a sum of 14.
    Symbols,
    /// There is no slot for one of the directions.
    OneWay,
}

impl fmt::Display for TddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Letter(c) => write!(f, "expected the letters D, S and U, found {c:?}"),
            Self::Length(n) => write!(f, "expected 1 to {MAX_PERIOD} slots, found {n}"),
            Self::Symbols => write!(
                f,
                "expected the special slot's symbols as down:gap:up with a sum of 14, such as 10:2:2"
            ),
            Self::OneWay => write!(f, "expected at least one downlink and one uplink slot"),
        }
    }
}

impl core::error::Error for TddError {}

impl TddPattern {
    /// A pattern from letters (`D`, `S`, `U`; blanks and `|` are skipped) and the special slot's symbols
    /// (`down:gap:up`).
    ///
    /// # Errors
    ///
    /// Where a letter, the length or the symbols are not those of a pattern, or a direction has no slot.
    pub fn parse(slots: &str, special: &str) -> Result<Self, TddError> {
        let slots: Vec<SlotType> = slots
            .chars()
            .filter(|c| !matches!(c, ' ' | '|'))
            .map(|c| match c {
                'D' => Ok(SlotType::Down),
                'U' => Ok(SlotType::Up),
                'S' => Ok(SlotType::Special),
                other => Err(TddError::Letter(other)),
            })
            .collect::<Result<_, _>>()?;
        if slots.is_empty() || slots.len() > MAX_PERIOD {
            return Err(TddError::Length(slots.len()));
        }
        let mut parts = special
            .split(':')
            .map(|part| part.trim().parse::<u8>().ok());
        let (Some(Some(down)), Some(Some(gap)), Some(Some(up)), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(TddError::Symbols);
        };
        if u32::from(down) + u32::from(gap) + u32::from(up) != u32::from(SYMBOLS) {
            return Err(TddError::Symbols);
        }
        let pattern = Self {
            slots,
            special_down: down,
            special_up: up,
        };
        let n = pattern.period();
        if !(0..n).any(|s| pattern.down_symbols(s) >= MIN_PDSCH_SYMBOLS)
            || !(0..n).any(|s| pattern.up_symbols(s) >= MIN_PUSCH_SYMBOLS)
        {
            return Err(TddError::OneWay);
        }
        Ok(pattern)
    }

    /// `DDDSU` with 10:2:2, the common pattern of n78 at 30 kHz (and, at 120 kHz, of FR2).
    pub fn dddsu() -> Self {
        Self::constant("DDDSU", "10:2:2")
    }

    /// `DDSU` with 12:2:0.
    pub fn ddsu() -> Self {
        Self::constant("DDSU", "12:2:0")
    }

    /// `DDDDDDDSUU` with 6:4:4, the n78 pattern that coexists with LTE.
    pub fn ddddddd_s_uu() -> Self {
        Self::constant("DDDDDDDSUU", "6:4:4")
    }

    /// `DDDDDDSUUU` with 8:6:0, srsRAN Project's default.
    pub fn dddddd_s_uuu() -> Self {
        Self::constant("DDDDDDSUUU", "8:6:0")
    }

    /// `DDDSUUDDDD` with 6:4:4, aligned with LTE TDD configuration 2.
    pub fn ddd_s_uudddd() -> Self {
        Self::constant("DDDSUUDDDD", "6:4:4")
    }

    /// `DSUUD` with 10:2:2, the analogue of LTE TDD configuration 1.
    pub fn dsuud() -> Self {
        Self::constant("DSUUD", "10:2:2")
    }

    /// `DSUDD` with 10:2:2, the analogue of LTE TDD configuration 2.
    pub fn dsudd() -> Self {
        Self::constant("DSUDD", "10:2:2")
    }

    fn constant(slots: &str, special: &str) -> Self {
        Self::parse(slots, special).expect("a pattern of this file is well-formed")
    }

    /// Slots after which the pattern repeats.
    pub fn period(&self) -> usize {
        self.slots.len()
    }

    /// The type of slot `index` of the pattern.
    pub fn slot(&self, index: usize) -> SlotType {
        self.slots[index % self.slots.len()]
    }

    /// Downlink symbols of slot `index`, control included.
    pub fn down_symbols(&self, index: usize) -> u8 {
        match self.slot(index) {
            SlotType::Down => SYMBOLS,
            SlotType::Up => 0,
            SlotType::Special => self.special_down,
        }
    }

    /// Uplink symbols of slot `index`.
    pub fn up_symbols(&self, index: usize) -> u8 {
        match self.slot(index) {
            SlotType::Down => 0,
            SlotType::Up => SYMBOLS,
            SlotType::Special => self.special_up,
        }
    }
}

impl FromStr for TddPattern {
    type Err = TddError;

    /// `DDDSU` (with 10:2:2) or `DDDSU 10:2:2`.
    fn from_str(text: &str) -> Result<Self, TddError> {
        let text = text.trim();
        match text.rsplit_once(' ') {
            Some((slots, special)) if special.contains(':') => Self::parse(slots, special),
            _ => Self::parse(text, "10:2:2"),
        }
    }
}

/// How the two directions share the carrier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Duplex {
    /// Each direction has a carrier of its own.
    Fdd,
    /// The directions take turns.
    Tdd(TddPattern),
}

impl Duplex {
    /// Slots after which everything repeats.
    pub fn period(&self) -> usize {
        match self {
            Self::Fdd => 1,
            Self::Tdd(pattern) => pattern.period(),
        }
    }

    /// Downlink symbols of slot `index`.
    pub fn down_symbols(&self, index: usize) -> u8 {
        match self {
            Self::Fdd => SYMBOLS,
            Self::Tdd(pattern) => pattern.down_symbols(index),
        }
    }

    /// Uplink symbols of slot `index`.
    pub fn up_symbols(&self, index: usize) -> u8 {
        match self {
            Self::Fdd => SYMBOLS,
            Self::Tdd(pattern) => pattern.up_symbols(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(pattern: &TddPattern) -> (f64, f64) {
        let all = pattern.period() as f64 * f64::from(SYMBOLS);
        let sum =
            |f: &dyn Fn(usize) -> u8| (0..pattern.period()).map(|i| f64::from(f(i))).sum::<f64>();
        (
            sum(&|i| pattern.down_symbols(i)) / all,
            sum(&|i| pattern.up_symbols(i)) / all,
        )
    }

    #[test]
    fn shares_are_those_of_the_table() {
        for (pattern, down, up) in [
            (TddPattern::dddsu(), 0.743, 0.229),
            (TddPattern::ddsu(), 0.714, 0.250),
            (TddPattern::ddddddd_s_uu(), 0.743, 0.229),
            (TddPattern::dddddd_s_uuu(), 0.657, 0.300),
            (TddPattern::ddd_s_uudddd(), 0.743, 0.229),
            (TddPattern::dsuud(), 0.543, 0.429),
            (TddPattern::dsudd(), 0.743, 0.229),
        ] {
            let (d, u) = shares(&pattern);
            assert!(
                (d - down).abs() < 6e-4 && (u - up).abs() < 6e-4,
                "{pattern:?} {d} {u}"
            );
        }
    }

    #[test]
    fn parses_and_refuses() {
        assert_eq!("DDDSU".parse(), Ok(TddPattern::dddsu()));
        assert_eq!("D|D|D|S|U 10:2:2".parse(), Ok(TddPattern::dddsu()));
        assert_eq!("DDX".parse::<TddPattern>(), Err(TddError::Letter('X')));
        assert_eq!("DDS".parse::<TddPattern>(), Err(TddError::OneWay));
        assert_eq!("".parse::<TddPattern>(), Err(TddError::Length(0)));
        assert_eq!("DSU 10:2:9".parse::<TddPattern>(), Err(TddError::Symbols));
        assert_eq!("DSU 10:4".parse::<TddPattern>(), Err(TddError::Symbols));
    }
}
