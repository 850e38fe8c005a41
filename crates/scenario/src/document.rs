//! TOML as a tree of values that remember where they stand.

use core::ops::Range;
use std::path::Path;

use slackwater_schema::field::{At, Cx, Field};
use toml::de::{DeTable, DeValue};

use crate::error::ScenarioError;
use crate::tree::{Entry, Node, Table, Value};

/// Reads a table of `schema` from TOML, for files that are no scenarios. `file` names it in errors.
///
/// # Errors
/// Where it is no TOML, or a key is unknown, missing or wrong; the error names line and column.
pub fn read<T: Field>(file: &str, text: &str) -> Result<T, ScenarioError> {
    let cx = Cx {
        file,
        text: Some(text),
        base_dir: Path::new("."),
        files: &(),
    };
    T::decode(&At {
        cx,
        node: &Node::new(Value::Table(parse_toml(file, text)?)),
        key: String::new(),
    })
}

/// Reads TOML. The error names line and column.
///
/// # Errors
/// Where it is no TOML.
pub fn parse_toml(file: &str, text: &str) -> Result<Table, ScenarioError> {
    let table = DeTable::parse(text).map_err(|e| {
        let message = e.message().lines().next().unwrap_or("").to_owned();
        // The reader says "unclosed table, expected `]`" or only what it did not like.
        let mut error = match message.split_once(", expected ") {
            Some((found, expected)) => ScenarioError::new("", found, expected),
            None => ScenarioError::new("", message, "TOML"),
        };
        if let Some(clearer) = in_our_words(text, e.message(), e.span()) {
            error = clearer;
        }
        error.locate(file, Some(text), e.span());
        error
    })?;
    convert_table(file, text, table.get_ref())
}

/// What the reader of TOML says of two slips that are made often, with the key or the value.
fn in_our_words(text: &str, message: &str, span: Option<Range<usize>>) -> Option<ScenarioError> {
    let span = span?;
    if message.starts_with("duplicate key") {
        let key = text.get(span.clone())?.trim();
        let before = text.get(..span.start)?;
        let names_it = |line: &str| {
            let rest = line.trim_start().trim_start_matches('[').strip_prefix(key);
            rest.is_some_and(|rest| rest.trim_start().starts_with(['=', ']']))
        };
        let first = before
            .lines()
            .enumerate()
            .filter(|(_, line)| names_it(line))
            .map(|(n, _)| n + 1)
            .last();
        let expected = first.map_or_else(
            || "it once".to_owned(),
            |line| format!("it once: line {line} has it"),
        );
        return Some(ScenarioError::new(key, "a second one", expected));
    }
    if message.starts_with("string values must be quoted") {
        let rest = text.get(span.start..)?.lines().next()?;
        let value = rest.split('#').next()?.trim();
        return Some(ScenarioError::new(
            "",
            format!("{value} without quotes"),
            format!("\"{value}\""),
        ));
    }
    None
}

fn convert_table(file: &str, text: &str, table: &DeTable<'_>) -> Result<Table, ScenarioError> {
    let mut entries = Vec::with_capacity(table.len());
    for (k, v) in table {
        entries.push(Entry {
            key: k.get_ref().to_string(),
            span: Some(k.span()),
            node: convert(file, text, k.get_ref(), v.get_ref(), v.span())?,
        });
    }
    // `DeTable` sorts by key; people read in the order of the file.
    entries.sort_by_key(|e| e.span.as_ref().map_or(0, |s| s.start));
    Ok(Table { entries })
}

fn convert(
    file: &str,
    text: &str,
    name: &str,
    value: &DeValue<'_>,
    span: Range<usize>,
) -> Result<Node, ScenarioError> {
    let fail = |found: &str, expected: &str| {
        let mut e = ScenarioError::new(name, found, expected);
        e.locate(file, Some(text), Some(span.clone()));
        e
    };
    let value = match value {
        DeValue::String(s) => Value::Str(s.to_string()),
        DeValue::Integer(i) => Value::Int(
            i64::from_str_radix(&i.as_str().replace('_', ""), i.radix())
                .map_err(|_| fail("an integer beyond 64 bits", "a smaller number"))?,
        ),
        DeValue::Float(f) => Value::Float(
            f.as_str()
                .replace('_', "")
                .parse()
                .map_err(|_| fail("a malformed number", "a number"))?,
        ),
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(_) => {
            return Err(fail("a date", "text, a number, a list or a table"));
        }
        DeValue::Array(items) => Value::Array(
            items
                .iter()
                .map(|v| convert(file, text, name, v.get_ref(), v.span()))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(t) => Value::Table(convert_table(file, text, t)?),
    };
    Ok(Node {
        value,
        span: Some(span),
    })
}
