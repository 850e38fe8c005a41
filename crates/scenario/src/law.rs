//! Queue laws in a scenario: by name or by a table of keys, both from `queue`'s table of laws.

use core::fmt::Display;

use slackwater_queue::LawConfig;
use slackwater_queue::law::{Value as Setting, Values};

use crate::error::ScenarioError;
use crate::field::{At, Field, Reference, decode_within, one_of, range_text};
use crate::own::OwnName;
use crate::tree::{Node, Table, Value};

/// The key that names the law of a table.
const KIND: &str = "kind";

/// The law that watches over a queue.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// A built-in law with its parameters.
    BuiltIn(LawConfig),
    /// A law that the running program adds.
    Own(OwnName),
}

impl Law {
    /// No law: the limit alone drops.
    pub const NONE: Self = Self::BuiltIn(LawConfig::None);
}

impl Field for Law {
    type Bound = ();

    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        let expected = || one_of(LawConfig::NAMES);
        let empty = Table::default();
        let (name_at, table) = match &at.node.value {
            Value::Str(_) => (at.clone(), &empty),
            Value::Table(table) => match table.get(KIND) {
                Some(node) => (at.child(KIND, node), table),
                None => return Err(at.error(format!("no key `{KIND}`"), expected())),
            },
            _ => return Err(at.wrong(expected())),
        };
        let Value::Str(name) = &name_at.node.value else {
            return Err(name_at.wrong(expected()));
        };

        let Some(mut law) = LawConfig::from_name(name) else {
            at.only(table, &[KIND])?;
            return Ok(Self::Own(OwnName::new(name, &name_at, LawConfig::NAMES)));
        };
        let settings = law.settings();
        let mut keys: Vec<&str> = settings.iter().map(|s| s.name).collect();
        keys.push(KIND);
        at.only(table, &keys)?;
        for setting in &settings {
            if let Some(node) = table.get(setting.name) {
                let value = decode(&at.child(setting.name, node), setting.values)?;
                law.set(setting.name, value);
            }
        }
        law.check().map_err(|m| at.error(m.found, m.expected))?;
        Ok(Self::BuiltIn(law))
    }

    fn encode(&self) -> Option<Value> {
        let law = match self {
            Self::BuiltIn(law) => law,
            Self::Own(name) => return Some(Value::Str(name.text().to_owned())),
        };
        let mut table = Table::default();
        table.set(KIND, Node::new(Value::Str(law.name().to_owned())));
        for setting in law.settings() {
            if let Some(value) = encode(setting.value) {
                table.set(setting.name, Node::new(value));
            }
        }
        Some(Value::Table(table))
    }

    fn schema() -> serde_json::Value {
        let mut any = Vec::new();
        for law in built_in() {
            any.push(serde_json::json!({ "const": law.name() }));
            let mut properties = serde_json::Map::new();
            for setting in law.settings() {
                let mut schema = schema(setting.values);
                if let Some(o) = schema.as_object_mut() {
                    o.insert("description".into(), setting.about.into());
                }
                properties.insert(setting.name.into(), schema);
            }
            let kind = serde_json::json!({ "const": law.name(), "description": law.about() });
            properties.insert(KIND.into(), kind);
            any.push(serde_json::json!({
                "type": "object",
                "additionalProperties": false,
                "properties": properties,
                "required": [KIND],
            }));
        }
        any.push(serde_json::json!({
            "type": "string", "description": "A law that the running program adds." }));
        serde_json::json!({ "anyOf": any })
    }

    fn describe() -> String {
        format!(
            "table or word, by `{KIND}`: {}",
            LawConfig::NAMES.join(", ")
        )
    }

    fn example() -> Self {
        Self::NONE
    }

    fn reference(key: &str, out: &mut Vec<Reference>) {
        for law in built_in() {
            let settings = law.settings().into_iter();
            out.push(Reference {
                key: format!("{key} = {{ {KIND} = \"{}\" }}", law.name()),
                about: law.about().to_owned(),
                rows: settings
                    .map(|s| {
                        let (describe, range) = words(s.values);
                        let default = encode(s.value);
                        let default = default.map_or_else(String::new, |v| v.to_inline());
                        [
                            s.name.to_owned(),
                            describe,
                            default,
                            range,
                            s.about.to_owned(),
                        ]
                    })
                    .collect(),
            });
        }
    }
}

/// The law's name alone, with its default parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct LawName(pub Law);

impl Field for LawName {
    type Bound = ();
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        match &at.node.value {
            Value::Str(_) => Law::decode(at).map(Self),
            _ => Err(at.wrong(Self::describe())),
        }
    }
    fn encode(&self) -> Option<Value> {
        let name = match &self.0 {
            Law::BuiltIn(law) => law.name(),
            Law::Own(name) => name.text(),
        };
        Some(Value::Str(name.to_owned()))
    }
    fn schema() -> serde_json::Value {
        let own = serde_json::json!({
            "type": "string", "description": "A law that the running program adds." });
        serde_json::json!({ "anyOf": [{ "enum": LawConfig::NAMES }, own] })
    }
    fn describe() -> String {
        one_of(LawConfig::NAMES)
    }
    fn example() -> Self {
        Self(Law::NONE)
    }
}

/// Every built-in law with its default parameters.
fn built_in() -> impl Iterator<Item = LawConfig> {
    let names = LawConfig::NAMES.iter();
    names.map(|name| LawConfig::from_name(name).expect("a listed name"))
}

/// Reads a value of one of the kinds that keys of laws have.
fn decode(at: &At<'_>, values: Values) -> Result<Setting, ScenarioError> {
    Ok(match values {
        Values::Time(low, high) => Setting::Time(within(at, low, high)?),
        Values::Rate(low, high) => Setting::Rate(within(at, low, high)?),
        Values::Data(low, high) => Setting::Data(within(at, low, high)?),
        Values::Number(low, high) => Setting::Number(within(at, low, high)?),
        Values::Flag => Setting::Flag(bool::decode(at)?),
        Values::Words(words) => {
            let word = match &at.node.value {
                Value::Str(text) => words.iter().find(|word| *word == text),
                _ => None,
            };
            Setting::Word(word.ok_or_else(|| at.wrong(one_of(words)))?)
        }
    })
}

fn within<T: Field<Bound = T> + Display + Copy>(
    at: &At<'_>,
    low: T,
    high: T,
) -> Result<T, ScenarioError> {
    let range = range_text(low, high);
    decode_within(at, Some((low, high, &range)))
}

fn encode(value: Setting) -> Option<Value> {
    match value {
        Setting::Time(v) => v.encode(),
        Setting::Rate(v) => v.encode(),
        Setting::Data(v) => v.encode(),
        Setting::Number(v) => v.encode(),
        Setting::Flag(v) => v.encode(),
        Setting::Word(v) => Some(Value::Str(v.to_owned())),
    }
}

fn schema(values: Values) -> serde_json::Value {
    use slackwater_core::{Bytes, Duration, Rate};
    match values {
        Values::Time(..) => Duration::schema(),
        Values::Rate(..) => Rate::schema(),
        Values::Data(..) => Bytes::schema(),
        Values::Number(..) => f64::schema(),
        Values::Flag => bool::schema(),
        Values::Words(words) => serde_json::json!({ "enum": words }),
    }
}

/// The kind of value and its range, for the reference.
fn words(values: Values) -> (String, String) {
    use slackwater_core::{Bytes, Duration, Rate};
    match values {
        Values::Time(low, high) => (Duration::describe(), range_text(low, high)),
        Values::Rate(low, high) => (Rate::describe(), range_text(low, high)),
        Values::Data(low, high) => (Bytes::describe(), range_text(low, high)),
        Values::Number(low, high) => (f64::describe(), range_text(low, high)),
        Values::Flag => (bool::describe(), String::new()),
        Values::Words(words) => (one_of(words), String::new()),
    }
}
