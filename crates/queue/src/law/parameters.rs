//! What can be set of a law: its keys with their ranges and meaning, defined beside the law.
//!
//! A scenario's parser, writer, schema and reference go by these rows, so a law is described in one place.

use core::fmt;

use slackwater_core::{Bytes, Draw, Duration, Rate};

use crate::Law;

/// The parameters of a law.
pub trait Parameters: Clone + Default + PartialEq + fmt::Debug + 'static {
    /// The law that they make.
    type Law: Law;
    /// The law's name in scenarios.
    const NAME: &'static str;
    /// One line about it.
    const ABOUT: &'static str;
    /// What a scenario may set; the defaults are those of `Default`.
    const KEYS: &'static [Key<Self>];

    /// Checks what holds between keys.
    ///
    /// # Errors
    /// What was found and what was expected.
    fn check(&self) -> Result<(), Mismatch> {
        Ok(())
    }

    /// A law in its initial state; `draw` decides what it leaves to chance.
    fn build(&self, draw: Draw) -> Self::Law;
}

/// Keys that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: &'static str,
}

/// The value of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A time.
    Time(Duration),
    /// A rate.
    Rate(Rate),
    /// An amount of data.
    Data(Bytes),
    /// A number without a unit.
    Number(f64),
    /// On or off.
    Flag(bool),
    /// One of several words.
    Word(&'static str),
}

/// The values that a key takes, least and greatest first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values {
    /// Times.
    Time(Duration, Duration),
    /// Rates.
    Rate(Rate, Rate),
    /// Amounts of data.
    Data(Bytes, Bytes),
    /// Numbers.
    Number(f64, f64),
    /// On or off.
    Flag,
    /// These words.
    Words(&'static [&'static str]),
}

/// One key of `C`.
#[derive(Debug)]
pub struct Key<C: 'static> {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    /// What it takes.
    pub values: Values,
    /// Reads it.
    pub get: fn(&C) -> Value,
    /// Writes it; false where the value is of another kind.
    pub set: fn(&mut C, Value) -> bool,
}

/// A key and its value, whatever the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The key's name.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    /// What it takes.
    pub values: Values,
    /// What it is at present.
    pub value: Value,
}

/// The keys of `parameters` with their values.
pub(crate) fn settings<C: Parameters>(parameters: &C) -> Vec<Setting> {
    let keys = C::KEYS.iter();
    keys.map(|key| Setting {
        name: key.name,
        about: key.about,
        values: key.values,
        value: (key.get)(parameters),
    })
    .collect()
}

/// Sets the key called `name`; false where there is none, or where the value is of another kind.
pub(crate) fn set<C: Parameters>(parameters: &mut C, name: &str, value: Value) -> bool {
    let key = C::KEYS.iter().find(|key| key.name == name);
    key.is_some_and(|key| (key.set)(parameters, value))
}

/// A type that a key can have.
pub trait Parameter: Copy {
    /// As a value.
    fn to_value(self) -> Value;
    /// From a value of its kind.
    fn from_value(value: Value) -> Option<Self>;
}

macro_rules! parameter {
    ($($ty:ty as $kind:ident),+) => {$(
        impl Parameter for $ty {
            fn to_value(self) -> Value {
                Value::$kind(self)
            }
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$kind(value) => Some(value),
                    _ => None,
                }
            }
        }
    )+};
}
parameter!(
    Duration as Time,
    Rate as Rate,
    Bytes as Data,
    f64 as Number,
    bool as Flag
);

/// Rows of [`Parameters::KEYS`]: `/// meaning`, `key = field in Kind(least, greatest)`.
macro_rules! keys {
    ($($(#[doc = $about:literal])+ $name:ident = $field:ident in $kind:ident $(($($of:expr),+))?),* $(,)?) => {
        &[$($crate::law::parameters::Key {
            name: stringify!($name),
            about: concat!($($about),+).trim_ascii(),
            values: $crate::law::parameters::Values::$kind $(($($of),+))?,
            get: |c| $crate::law::parameters::Parameter::to_value(c.$field),
            set: |c, value| match $crate::law::parameters::Parameter::from_value(value) {
                Some(value) => {
                    c.$field = value;
                    true
                }
                None => false,
            },
        }),*]
    };
}
pub(crate) use keys;
