//! How a value gets from a tree into a type and back: one definition per key gives the parser, the writer, the
//! JSON Schema and the reference in `docs/scenario.md`.

use std::path::Path;

use crate::error::{ScenarioError, nearest};
use crate::tree::{Node, Table, Value};

/// What decoding needs beside the value.
#[derive(Clone, Copy, Debug)]
pub struct Cx<'a> {
    /// The file's name, for errors.
    pub file: &'a str,
    /// Its text, for lines and columns.
    pub text: Option<&'a str>,
    /// Where relative paths start.
    pub base_dir: &'a Path,
    /// What the program holds of files that were read already, for fields that name a file.
    pub files: &'a dyn core::any::Any,
}

/// A node in its context: where it stands and what it is called.
#[derive(Clone, Debug)]
pub struct At<'a> {
    /// The context.
    pub cx: Cx<'a>,
    /// The node.
    pub node: &'a Node,
    /// The full key.
    pub key: String,
}

impl<'a> At<'a> {
    /// The node called `name` below this one.
    #[must_use]
    pub fn child(&self, name: &str, node: &'a Node) -> Self {
        let key = if self.key.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.key)
        };
        Self {
            cx: self.cx,
            node,
            key,
        }
    }

    /// An error at this node.
    pub fn error(&self, found: impl Into<String>, expected: impl Into<String>) -> ScenarioError {
        let mut e = ScenarioError::new(self.key.clone(), found, expected);
        e.locate(self.cx.file, self.cx.text, self.node.span.clone());
        e
    }

    /// An error that says what the node holds.
    pub fn wrong(&self, expected: impl Into<String>) -> ScenarioError {
        self.error(self.node.value.found(), expected)
    }

    /// The node as a table.
    ///
    /// # Errors
    /// Where it is something else.
    pub fn table(&self) -> Result<&'a Table, ScenarioError> {
        match &self.node.value {
            Value::Table(t) => Ok(t),
            _ => Err(self.wrong("a table")),
        }
    }

    /// Complains about the first key of `table` that is none of `keys`.
    ///
    /// # Errors
    /// The complaint, with the nearest key.
    pub fn only(&self, table: &Table, keys: &[&str]) -> Result<(), ScenarioError> {
        for entry in &table.entries {
            if !keys.contains(&entry.key.as_str()) {
                let mut at = self.child(&entry.key, &entry.node).error(
                    "an unknown key",
                    match nearest(&entry.key, keys.iter().copied()) {
                        Some(name) => format!("`{name}`?"),
                        None => format!("one of {}", keys.join(", ")),
                    },
                );
                at.locate(self.cx.file, self.cx.text, entry.span.clone());
                return Err(at);
            }
        }
        Ok(())
    }
}

/// A type that a scenario can hold.
pub trait Field: Sized + Clone {
    /// What a range of this type is made of; `()` where no range makes sense.
    type Bound: PartialOrd + core::fmt::Debug;

    /// Reads the value.
    ///
    /// # Errors
    /// Where the value is of another kind or out of range.
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError>;
    /// Writes the value; `None` leaves the key out.
    fn encode(&self) -> Option<Value>;
    /// The JSON Schema of the value.
    fn schema() -> serde_json::Value;
    /// The kind of value, for the reference.
    fn describe() -> String;
    /// Some valid value, for documentation.
    fn example() -> Self;
    /// The part that a range applies to.
    fn bound(&self) -> Option<&Self::Bound> {
        None
    }
    /// True where the value shows that the key was left out.
    fn is_absent(&self) -> bool {
        false
    }
    /// Adds the reference of the sections below this one.
    fn reference(_key: &str, _out: &mut Vec<Reference>) {}
}

/// One section of the reference in `docs/scenario.md`.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The key under which it stands, such as `cell.rlc`.
    pub key: String,
    /// What it is.
    pub about: String,
    /// Its keys: name, kind of value, default, range, meaning.
    pub rows: Vec<[String; 5]>,
}

/// A type read from a table.
pub trait Section: Field {
    /// The keys of the table.
    fn keys() -> Vec<&'static str>;
    /// Reads the table. `others` names keys that the caller deals with.
    ///
    /// # Errors
    /// Where a key is unknown, missing or wrong.
    fn decode_table(at: &At<'_>, table: &Table, others: &[&str]) -> Result<Self, ScenarioError>;
    /// Writes all keys.
    fn encode_table(&self, out: &mut Table);
    /// Properties and required keys of the schema.
    fn properties() -> (
        serde_json::Map<String, serde_json::Value>,
        Vec<serde_json::Value>,
    );
    /// The rows of the reference.
    fn rows() -> Vec<[String; 5]>;
    /// The sections below.
    fn below(key: &str, out: &mut Vec<Reference>);
}

/// Reads `node`, checking its range.
///
/// # Errors
/// As [`Field::decode`], and where the value is out of range.
pub fn decode_within<T: Field>(
    at: &At<'_>,
    range: Option<(T::Bound, T::Bound, &str)>,
) -> Result<T, ScenarioError> {
    let value = T::decode(at)?;
    if let (Some((lo, hi, text)), Some(v)) = (range, value.bound()) {
        // Written so that NaN is out of range.
        if !(*v >= lo && *v <= hi) {
            return Err(at.wrong(text));
        }
    }
    Ok(value)
}

/// The text of a value in the reference.
pub fn text_of<T: Field>(value: &T) -> String {
    value
        .encode()
        .map_or_else(|| "none".to_owned(), |v| v.to_inline())
}

/// The text of a range in errors and in the reference.
pub fn range_text<L: core::fmt::Display, H: core::fmt::Display>(lo: L, hi: H) -> String {
    format!("{lo} to {hi}")
}

/// Defines a table: `/// about` `pub struct Name { /// doc  #[within(lo, hi)] pub key: Type = default, ... }`.
///
/// A key without a default is required. Defaults may use the keys above them. `..pub name: Section` at the end takes the keys
/// of another section into the same table. `check` sees the whole.
#[macro_export]
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[within($lo:expr, $hi:expr)])?
                pub $field:ident : $ty:ty $(= $default:expr)?,
            )*
            $(
                ..
                $(#[doc = $flat_doc:literal])+
                pub $flat:ident : $flat_ty:ty,
            )?
        }
        $(check($me:ident, $at:ident) $check:block)?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $ty,)*
            $($(#[doc = $flat_doc])+ pub $flat: $flat_ty,)?
        }

        impl $crate::field::Section for $name {
            fn keys() -> Vec<&'static str> {
                let mut keys = vec![$(stringify!($field)),*];
                $(keys.extend(<$flat_ty as $crate::field::Section>::keys());)?
                let _ = &mut keys;
                keys
            }

            fn decode_table(
                at: &$crate::field::At<'_>,
                table: &$crate::tree::Table,
                others: &[&str],
            ) -> Result<Self, $crate::error::ScenarioError> {
                let mut keys: Vec<&str> = <Self as $crate::field::Section>::keys();
                keys.extend(others);
                at.only(table, &keys)?;
                $(
                    let $field: $ty = match table.get(stringify!($field)) {
                        Some(node) => {
                            let child = at.child(stringify!($field), node);
                            $crate::field::decode_within::<$ty>(
                                &child,
                                $crate::section!(@range $($lo, $hi)?),
                            )?
                        }
                        None => $crate::section!(@default at, $field, $ty $(, $default)?),
                    };
                )*
                $(let $flat = <$flat_ty as $crate::field::Section>::decode_table(at, table, &keys)?;)?
                let this = Self { $($field,)* $($flat,)? };
                $(
                    let $me = &this;
                    let $at = at;
                    $check
                )?
                Ok(this)
            }

            fn encode_table(&self, out: &mut $crate::tree::Table) {
                $(
                    if let Some(v) = $crate::field::Field::encode(&self.$field) {
                        out.set(stringify!($field), $crate::tree::Node::new(v));
                    }
                )*
                $($crate::field::Section::encode_table(&self.$flat, out);)?
                let _ = out;
            }

            fn properties() -> ($crate::serde_json::Map<String, $crate::serde_json::Value>, Vec<$crate::serde_json::Value>) {
                let mut required: Vec<$crate::serde_json::Value> =
                    [$($crate::section!(@required $field $(, $default)?)),*]
                        .into_iter()
                        .filter_map(|required: Option<&str>| required.map($crate::serde_json::Value::from))
                        .collect();
                let mut map = $crate::serde_json::Map::new();
                $(
                    let mut schema = <$ty as $crate::field::Field>::schema();
                    if let Some(o) = schema.as_object_mut() {
                        o.insert("description".into(), concat!($($doc),+).trim().into());
                    }
                    map.insert(stringify!($field).into(), schema);
                )*
                $({
                    let (more, also) = <$flat_ty as $crate::field::Section>::properties();
                    map.extend(more);
                    required.extend(also);
                })?
                let _ = (&mut map, &mut required);
                (map, required)
            }

            fn rows() -> Vec<[String; 5]> {
                let mut rows = Vec::new();
                $(
                    let $field: $ty = $crate::section!(@example $ty $(, $default)?);
                    let _ = &$field;
                    rows.push([
                        stringify!($field).to_owned(),
                        <$ty as $crate::field::Field>::describe(),
                        $crate::section!(@default_text $field $(, $default)?),
                        $crate::section!(@range_text $($lo, $hi)?),
                        concat!($($doc),+).trim().to_owned(),
                    ]);
                )*
                $(rows.extend(<$flat_ty as $crate::field::Section>::rows());)?
                let _ = &mut rows;
                rows
            }

            fn below(key: &str, out: &mut Vec<$crate::field::Reference>) {
                $(
                    <$ty as $crate::field::Field>::reference(
                        &format!("{key}.{}", stringify!($field)), out);
                )*
                $(<$flat_ty as $crate::field::Section>::below(key, out);)?
                let _ = (key, out);
            }
        }

        impl $crate::field::Field for $name {
            type Bound = ();
            fn decode(at: &$crate::field::At<'_>) -> Result<Self, $crate::error::ScenarioError> {
                <Self as $crate::field::Section>::decode_table(at, at.table()?, &[])
            }
            fn encode(&self) -> Option<$crate::tree::Value> {
                let mut table = $crate::tree::Table::default();
                $crate::field::Section::encode_table(self, &mut table);
                Some($crate::tree::Value::Table(table))
            }
            fn schema() -> $crate::serde_json::Value {
                let (properties, required) = <Self as $crate::field::Section>::properties();
                $crate::serde_json::json!({
                    "type": "object",
                    "additionalProperties": false,
                    "properties": properties,
                    "required": required,
                })
            }
            fn describe() -> String {
                "table".to_owned()
            }
            fn example() -> Self {
                $(let $field: $ty = $crate::section!(@example $ty $(, $default)?);)*
                $(let $flat = <$flat_ty as $crate::field::Field>::example();)?
                Self { $($field,)* $($flat,)? }
            }
            fn reference(key: &str, out: &mut Vec<$crate::field::Reference>) {
                out.push($crate::field::Reference {
                    key: key.to_owned(),
                    about: concat!($($about),+).trim().to_owned(),
                    rows: <Self as $crate::field::Section>::rows(),
                });
                <Self as $crate::field::Section>::below(key, out);
            }
        }
    };

    (@range) => { None };
    (@range $lo:expr, $hi:expr) => {
        Some(($lo, $hi, $crate::field::range_text($lo, $hi).as_str()))
    };
    (@range_text) => { String::new() };
    (@range_text $lo:expr, $hi:expr) => { $crate::field::range_text($lo, $hi) };
    (@default $at:ident, $field:ident, $ty:ty) => {
        return Err($at.error(
            format!("no key `{}`", stringify!($field)),
            <$ty as $crate::field::Field>::describe(),
        ))
    };
    (@default $at:ident, $field:ident, $ty:ty, $default:expr) => { $default };
    (@default_text $field:ident) => { "required".to_owned() };
    (@default_text $field:ident, $default:expr) => { $crate::field::text_of(&$field) };
    (@example $ty:ty) => { <$ty as $crate::field::Field>::example() };
    (@example $ty:ty, $default:expr) => { $default };
    (@required $field:ident) => { Some(stringify!($field)) };
    (@required $field:ident, $default:expr) => { None };
}

/// Defines a choice between words.
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $about:literal])+
        pub enum $name:ident {
            $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl $name {
            /// Every choice.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Every word, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word of the scenario file.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl $crate::field::Field for $name {
            type Bound = ();
            fn decode(at: &$crate::field::At<'_>) -> Result<Self, $crate::error::ScenarioError> {
                match &at.node.value {
                    $($crate::tree::Value::Str(s) if s == $word => Ok(Self::$variant),)+
                    _ => Err(at.wrong($crate::field::one_of(Self::WORDS))),
                }
            }
            fn encode(&self) -> Option<$crate::tree::Value> {
                Some($crate::tree::Value::Str(self.word().to_owned()))
            }
            fn schema() -> $crate::serde_json::Value {
                $crate::serde_json::json!({ "enum": Self::WORDS })
            }
            fn describe() -> String {
                $crate::field::one_of(Self::WORDS)
            }
            fn example() -> Self {
                [$(Self::$variant),+][0]
            }
        }
    };
}

/// Defines a choice, or one more word that stands for none of it: `pub struct Name or "word" of Choice;`.
#[macro_export]
macro_rules! optional {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident or $none:literal of $choice:ty;
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name(pub Option<$choice>);

        impl $name {
            /// The word for none.
            pub const NONE: &'static str = $none;

            /// Every word, that for none first.
            pub fn words() -> Vec<&'static str> {
                let words = <$choice>::WORDS.iter().copied();
                core::iter::once(Self::NONE).chain(words).collect()
            }
        }

        impl $crate::field::Field for $name {
            type Bound = ();
            fn decode(at: &$crate::field::At<'_>) -> Result<Self, $crate::error::ScenarioError> {
                match &at.node.value {
                    $crate::tree::Value::Str(s) if s == Self::NONE => Ok(Self(None)),
                    _ => <$choice as $crate::field::Field>::decode(at)
                        .map(|choice| Self(Some(choice)))
                        .map_err(|_| at.wrong(Self::describe())),
                }
            }
            fn encode(&self) -> Option<$crate::tree::Value> {
                let word = self.0.map_or(Self::NONE, <$choice>::word);
                Some($crate::tree::Value::Str(word.to_owned()))
            }
            fn schema() -> $crate::serde_json::Value {
                $crate::serde_json::json!({ "enum": Self::words() })
            }
            fn describe() -> String {
                $crate::field::one_of(&Self::words())
            }
            fn example() -> Self {
                Self(None)
            }
        }
    };
}

/// Defines a choice between tables, told apart by the key `$tag`. A bare word stands for a table of defaults.
#[macro_export]
macro_rules! tagged {
    (
        $(#[doc = $about:literal])+
        pub enum $name:ident by $tag:literal {
            $($(#[doc = $doc:literal])+ $variant:ident($section:ty) = $word:literal,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name {
            $($(#[doc = $doc])+ $variant($section),)+
        }

        impl $name {
            /// Every word.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word of the scenario file.
            pub const fn word(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $word,)+
                }
            }
        }

        impl $crate::field::Field for $name {
            type Bound = ();
            fn decode(at: &$crate::field::At<'_>) -> Result<Self, $crate::error::ScenarioError> {
                let empty = $crate::tree::Table::default();
                let (word_at, table) = match &at.node.value {
                    $crate::tree::Value::Str(_) => (at.clone(), &empty),
                    $crate::tree::Value::Table(table) => match table.get($tag) {
                        Some(node) => (at.child($tag, node), table),
                        None => return Err(at.error(
                            concat!("no key `", $tag, "`"),
                            $crate::field::one_of(Self::WORDS),
                        )),
                    },
                    _ => return Err(at.wrong($crate::field::one_of(Self::WORDS))),
                };
                match &word_at.node.value {
                    $($crate::tree::Value::Str(s) if s == $word => Ok(Self::$variant(
                        <$section as $crate::field::Section>::decode_table(at, table, &[$tag])?,
                    )),)+
                    _ => Err(word_at.wrong($crate::field::one_of(Self::WORDS))),
                }
            }
            fn encode(&self) -> Option<$crate::tree::Value> {
                let mut table = $crate::tree::Table::default();
                table.set($tag, $crate::tree::Node::new(
                    $crate::tree::Value::Str(self.word().to_owned())));
                match self {
                    $(Self::$variant(section) =>
                        $crate::field::Section::encode_table(section, &mut table),)+
                }
                Some($crate::tree::Value::Table(table))
            }
            fn schema() -> $crate::serde_json::Value {
                let mut any = Vec::new();
                $({
                    let (mut properties, mut required) =
                        <$section as $crate::field::Section>::properties();
                    if required.is_empty() {
                        any.push($crate::serde_json::json!({ "const": $word }));
                    }
                    properties.insert($tag.into(), $crate::serde_json::json!({
                        "const": $word, "description": concat!($($doc),+).trim() }));
                    required.insert(0, $tag.into());
                    any.push($crate::serde_json::json!({
                        "type": "object",
                        "additionalProperties": false,
                        "properties": properties,
                        "required": required,
                    }));
                })+
                $crate::serde_json::json!({ "anyOf": any })
            }
            fn describe() -> String {
                format!("table or word, by `{}`: {}", $tag, Self::WORDS.join(", "))
            }
            fn example() -> Self {
                $crate::field::first([$({
                    let make: fn() -> Self = || Self::$variant(<$section as $crate::field::Field>::example());
                    make
                }),+])
            }
            fn reference(key: &str, out: &mut Vec<$crate::field::Reference>) {
                $(
                    out.push($crate::field::Reference {
                        key: format!("{key} = {{ {} = \"{}\" }}", $tag, $word),
                        about: concat!($($doc),+).trim().to_owned(),
                        rows: <$section as $crate::field::Section>::rows(),
                    });
                    <$section as $crate::field::Section>::below(key, out);
                )+
            }
        }
    };
}

pub use crate::{choice, optional, section, tagged};

/// "one of "a", "b"".
pub fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|w| format!("\"{w}\"")).collect();
    match quoted.as_slice() {
        [one] => one.clone(),
        many => format!("one of {}", many.join(", ")),
    }
}

/// Calls the first of `makers`.
pub fn first<T, const N: usize>(makers: [fn() -> T; N]) -> T {
    makers[0]()
}
