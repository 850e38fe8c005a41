//! Keys and sections of scenarios, from the definitions that read them.

use serde_json::Value;
use slackwater_scenario::field::Reference;
use slackwater_scenario::reference::sections;

use super::entry::{Entry, sources};

/// Every section and every key.
pub(super) fn entries() -> Vec<Entry> {
    let mut out = top();
    for section in sections() {
        let (path, variant) = place(&section.key);
        if !section.about.is_empty() {
            out.push(whole(&section, &path, variant));
        }
        for row in &section.rows {
            out.push(key(row, &section.about, &path, variant));
        }
    }
    merged(out)
}

/// The path of a section, and which of several tables it is: `[cell].rlc` is `cell.rlc`.
fn place(key: &str) -> (String, Option<(&str, &str)>) {
    let (path, variant) = match key.split_once(" = { ") {
        Some((path, variant)) => (path, variant.trim_end_matches(" }").split_once(" = ")),
        None => (key, None),
    };
    let path = path.replace(['[', ']'], "");
    (
        path,
        variant.map(|(tag, word)| (tag, word.trim_matches('"'))),
    )
}

fn whole(section: &Reference, path: &str, variant: Option<(&str, &str)>) -> Entry {
    let below = section
        .rows
        .iter()
        .map(|row| (row[0].clone(), row[4].clone()));
    let names = match variant {
        None => vec![path.to_owned()],
        // A section of the first level is found by its own name too: `link` is one of several tables.
        Some((_, word)) if !path.contains('.') => {
            vec![format!("{path}.{word}"), word.to_owned(), path.to_owned()]
        }
        Some((_, word)) => vec![format!("{path}.{word}"), word.to_owned()],
    };
    Entry {
        kind: "section",
        names,
        meaning: section.about.clone(),
        source: sources(&section.about),
        example: match variant {
            Some((tag, word)) => format!("{path} = {{ {tag} = \"{word}\" }}"),
            None => format!("[{path}]"),
        },
        below: below.collect(),
        ..Entry::default()
    }
}

fn key(row: &[String; 5], about: &str, path: &str, variant: Option<(&str, &str)>) -> Entry {
    let [name, kind, default, range, doc] = row;
    let own = sources(doc);
    let within = variant.map(|(tag, word)| format!("where {tag} = \"{word}\". "));
    Entry {
        kind: "key",
        names: vec![format!("{path}.{name}")],
        meaning: format!(
            "{doc}{}",
            within
                .as_deref()
                .map_or(String::new(), |w| { format!(" Holds {}", w.trim_end()) })
        ),
        value: kind.clone(),
        unit: unit(kind),
        default: default.clone(),
        range: range.clone(),
        source: if own.is_empty() { sources(about) } else { own },
        example: example(path, row),
        below: Vec::new(),
    }
}

/// The unit that an example of the value has: `ms` of `a time in .. ("30 ms")`.
fn unit(kind: &str) -> String {
    let example = kind
        .rsplit_once("(\"")
        .and_then(|(_, rest)| rest.strip_suffix("\")"));
    let Some((_, units)) = kind.split_once(" in ") else {
        return String::new();
    };
    let units = units.split(" (").next().unwrap_or_default();
    example.map_or_else(String::new, |_| units.to_owned())
}

/// How the key is set: with its default, else with the example of its kind.
fn example(path: &str, [name, kind, default, ..]: &[String; 5]) -> String {
    let quoted = |text: &str| text.split('"').nth(1).map(|word| format!("\"{word}\""));
    let value = match default.as_str() {
        "required" | "none" | "" => {
            let of_kind = kind
                .rsplit_once(" (")
                .map_or(kind.as_str(), |(_, example)| example);
            quoted(of_kind).or_else(|| match kind.as_str() {
                k if k.starts_with("a whole number") => Some("1".to_owned()),
                k if k.starts_with("a number") => Some("1.0".to_owned()),
                k if k.starts_with("true") => Some("true".to_owned()),
                k if k.starts_with("text") => Some("\"text\"".to_owned()),
                _ => None,
            })
        }
        value => Some(value.to_owned()),
    };
    // A whole table is no example of a line.
    value
        .filter(|v| v.len() < 60)
        .map_or_else(String::new, |v| {
            let list = if ["flow", "ue"].contains(&path) {
                format!("[[{path}]]")
            } else {
                format!("[{path}]")
            };
            if path.is_empty() {
                format!("{name} = {v}")
            } else {
                format!("{list}\n{name} = {v}")
            }
        })
}

/// Keys beside the sections: `name`, `duration`.
fn top() -> Vec<Entry> {
    let schema = slackwater_scenario::schema();
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return Vec::new();
    };
    let sections: Vec<String> = sections().iter().map(|s| place(&s.key).0).collect();
    let plain = properties
        .iter()
        .filter(|(name, _)| !sections.contains(name));
    plain
        .map(|(name, schema)| {
            let text = |key: &str| schema[key].as_str().unwrap_or_default().to_owned();
            let meaning = text("description");
            let example = schema["examples"][0].as_str();
            Entry {
                kind: "key",
                names: vec![name.clone()],
                source: sources(&meaning),
                meaning,
                value: match schema["type"].as_str() {
                    Some("string") => "text",
                    Some("integer") => "a whole number",
                    Some("object") => "table",
                    _ => "",
                }
                .to_owned(),
                example: example.map_or_else(String::new, |e| format!("{name} = \"{e}\"")),
                ..Entry::default()
            }
        })
        .collect()
}

/// Keys that read alike in several tables of one place stand once.
fn merged(all: Vec<Entry>) -> Vec<Entry> {
    let mut out: Vec<Entry> = Vec::new();
    for entry in all {
        let same = |e: &&mut Entry| {
            e.names == entry.names
                && e.kind == entry.kind
                && strip(&e.meaning) == strip(&entry.meaning)
        };
        match out.iter_mut().find(same) {
            Some(first) if entry.kind == "key" => {
                // It holds in each of them.
                first.meaning = join(&first.meaning, &entry.meaning);
            }
            Some(_) => {}
            None => out.push(entry),
        }
    }
    out
}

fn strip(meaning: &str) -> &str {
    meaning.split(" Holds where ").next().unwrap_or_default()
}

/// `.. Holds where kind = "a" or "b".` of the same key in two tables.
fn join(first: &str, next: &str) -> String {
    let word = |text: &str| {
        text.rsplit_once(" = ")
            .map(|(_, w)| w.trim_end_matches('.').to_owned())
    };
    match (first.contains(" Holds where "), word(next)) {
        (true, Some(word)) => {
            let known = first.trim_end_matches('.');
            if known.ends_with(&word) {
                first.to_owned()
            } else {
                format!("{known} or {word}.")
            }
        }
        _ => first.to_owned(),
    }
}
