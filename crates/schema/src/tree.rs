//! A scenario before it has meaning: a tree of values that remember where they stand in the file.

use core::fmt::Write as _;
use core::ops::Range;

use crate::error::ScenarioError;

/// A value and where it stands; two are equal where their values are.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Byte range in the source, where it came from a file.
    pub span: Option<Range<usize>>,
}

/// What TOML and JSON have in common.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    Str(String),
    /// An integer.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A list.
    Array(Vec<Node>),
    /// Keys and values.
    Table(Table),
}

/// Keys and values in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The entries; keys are unique.
    pub entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Byte range of the key in the source.
    pub span: Option<Range<usize>>,
    /// The value.
    pub node: Node,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.node == other.node
    }
}

impl Node {
    /// A node that comes from no file.
    pub fn new(value: Value) -> Self {
        Self { value, span: None }
    }
}

impl Table {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// The value of `key`, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries
            .iter_mut()
            .find(|e| e.key == key)
            .map(|e| &mut e.node)
    }

    /// Sets `key`, replacing what was there.
    pub fn set(&mut self, key: &str, node: Node) {
        if let Some(old) = self.get_mut(key) {
            *old = node;
        } else {
            self.entries.push(Entry {
                key: key.to_owned(),
                span: node.span.clone(),
                node,
            });
        }
    }

    /// Takes `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|e| e.key == key)?;
        Some(self.entries.remove(at).node)
    }
}

impl Value {
    /// The value in words, for the "found" part of an error.
    pub fn found(&self) -> String {
        match self {
            Self::Str(s) => format!("{:?}", shorten(s)),
            Self::Int(i) => format!("the number {i}"),
            Self::Float(f) => format!("the number {f}"),
            Self::Bool(b) => b.to_string(),
            Self::Array(a) => format!("a list of {}", a.len()),
            Self::Table(_) => "a table".to_owned(),
        }
    }

    /// The value as TOML on one line.
    pub fn to_inline(&self) -> String {
        let mut out = String::new();
        self.inline(&mut out);
        out
    }

    fn inline(&self, out: &mut String) {
        match self {
            Self::Str(s) => quote(s, out),
            Self::Int(i) => write!(out, "{i}").unwrap_or(()),
            Self::Float(f) => write!(out, "{f:?}").unwrap_or(()),
            Self::Bool(b) => write!(out, "{b}").unwrap_or(()),
            Self::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { ", " });
                    item.value.inline(out);
                }
                out.push(']');
            }
            Self::Table(table) => {
                out.push_str("{ ");
                for (i, entry) in table.entries.iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { ", " });
                    key(&entry.key, out);
                    out.push_str(" = ");
                    entry.node.value.inline(out);
                }
                out.push_str(" }");
            }
        }
    }
}

fn shorten(s: &str) -> String {
    const MAX: usize = 60;
    if s.chars().count() <= MAX {
        s.to_owned()
    } else {
        s.chars().take(MAX).chain("...".chars()).collect()
    }
}

fn quote(s: &str, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => write!(out, "\\u{:04X}", c as u32).unwrap_or(()),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn key(k: &str, out: &mut String) {
    let bare = !k.is_empty()
        && k.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare {
        out.push_str(k);
    } else {
        quote(k, out);
    }
}

/// The tree as a TOML document: scalars first, then sections, then lists of sections; deeper tables stay on one line.
pub fn to_toml(root: &Table) -> String {
    let mut out = String::new();
    let is_section = |v: &Value| matches!(v, Value::Table(_));
    let is_list = |v: &Value| matches!(v, Value::Array(items) if !items.is_empty() && items.iter().all(|n| is_section(&n.value)));
    let line = |out: &mut String, e: &Entry| {
        key(&e.key, out);
        out.push_str(" = ");
        e.node.value.inline(out);
        out.push('\n');
    };
    for e in &root.entries {
        if !is_section(&e.node.value) && !is_list(&e.node.value) {
            line(&mut out, e);
        }
    }
    for e in &root.entries {
        let sections: Vec<&Table> = match &e.node.value {
            Value::Table(t) => vec![t],
            list @ Value::Array(items) if is_list(list) => items
                .iter()
                .filter_map(|n| match &n.value {
                    Value::Table(t) => Some(t),
                    _ => None,
                })
                .collect(),
            _ => continue,
        };
        let (open, close) = if is_section(&e.node.value) {
            ("[", "]")
        } else {
            ("[[", "]]")
        };
        for table in sections {
            out.push('\n');
            out.push_str(open);
            key(&e.key, &mut out);
            out.push_str(close);
            out.push('\n');
            for inner in &table.entries {
                line(&mut out, inner);
            }
        }
    }
    out
}

/// Takes a JSON value (a Python dictionary, say) as a tree.
///
/// # Errors
/// Where it holds a null inside a list or alone.
pub fn from_json(value: &serde_json::Value) -> Result<Node, ScenarioError> {
    use serde_json::Value as J;
    Ok(Node::new(match value {
        J::Null => return Err(ScenarioError::new("", "null", "the key to be left out")),
        J::Bool(b) => Value::Bool(*b),
        J::Number(n) => match n.as_i64() {
            Some(i) => Value::Int(i),
            None => Value::Float(n.as_f64().unwrap_or(f64::NAN)),
        },
        J::String(s) => Value::Str(s.clone()),
        J::Array(items) => Value::Array(items.iter().map(from_json).collect::<Result<_, _>>()?),
        J::Object(map) => {
            let mut table = Table::default();
            for (k, v) in map {
                // Python's `None` stands for "not given".
                if !v.is_null() {
                    table.set(k, from_json(v)?);
                }
            }
            Value::Table(table)
        }
    }))
}

/// The tree as JSON.
pub fn to_json(value: &Value) -> serde_json::Value {
    use serde_json::Value as J;
    match value {
        Value::Str(s) => J::String(s.clone()),
        Value::Int(i) => J::from(*i),
        Value::Float(f) => J::from(*f),
        Value::Bool(b) => J::Bool(*b),
        Value::Array(items) => J::Array(items.iter().map(|n| to_json(&n.value)).collect()),
        Value::Table(t) => J::Object(
            t.entries
                .iter()
                .map(|e| (e.key.clone(), to_json(&e.node.value)))
                .collect(),
        ),
    }
}
