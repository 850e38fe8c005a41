//! The JSON Schema of scenarios and the reference for `docs/scenario.md`, both from the definitions of the keys.

use core::fmt::Write as _;

use serde_json::{Value, json};

use crate::field::{Field, Reference};
use crate::{Cell, Feedback, Flow, Link, Path, Record, Ue, Upf, Wired};

/// The JSON Schema (draft 2020-12) of a scenario file.
pub fn json_schema() -> Value {
    let described = |mut schema: Value, text: &str| {
        if let Some(o) = schema.as_object_mut() {
            o.insert("description".into(), text.into());
        }
        schema
    };
    let duration = slackwater_core::Duration::schema;
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Slackwater scenario",
        "type": "object",
        "additionalProperties": false,
        "required": ["name", "duration", "flow"],
        "oneOf": [{ "required": ["link"] }, { "required": ["cell"] }],
        "properties": {
            "name": { "type": "string", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}$",
                      "description": "Folder of the results." },
            "title": described(String::schema(), "Title of the report."),
            "description": described(String::schema(), "What the scenario shows."),
            "duration": described(duration(), "Simulated time, 1 ms to 10000000 s."),
            "warmup": described(duration(), "Time at the start that metrics leave out. Default 0 s."),
            "seed": described(u64::schema(), "Seed of every random draw. Default 1."),
            "path": described(Path::schema(), "The wired part of the path."),
            "link": described(Link::schema(), "A bottleneck that is a link."),
            "cell": described(Cell::schema(), "A bottleneck that is a cell."),
            "wired": described(Wired::schema(), "A wired bottleneck in series."),
            "feedback": described(Feedback::schema(), "What the cell tells senders that ask."),
            "upf": described(Upf::schema(), "The user plane function before the cell."),
            "ue": described(Vec::<Ue>::schema(), "UEs of the cell."),
            "flow": described(Vec::<Flow>::schema(), "Flows."),
            "vary": { "type": "object", "additionalProperties": true,
                      "description": "Lists of values by key; their product is a comparison." },
            "record": described(Record::schema(), "What a run writes."),
        },
    })
}

/// Every section with its keys, in the order of the reference.
pub fn sections() -> Vec<Reference> {
    let mut sections: Vec<Reference> = Vec::new();
    Path::reference("[path]", &mut sections);
    Link::reference("[link]", &mut sections);
    Cell::reference("[cell]", &mut sections);
    Wired::reference("[wired]", &mut sections);
    Feedback::reference("[feedback]", &mut sections);
    Upf::reference("[upf]", &mut sections);
    Ue::reference("[[ue]]", &mut sections);
    Flow::reference("[[flow]]", &mut sections);
    Record::reference("[record]", &mut sections);
    sections
}

/// Every section with its keys, as Markdown tables.
pub fn markdown() -> String {
    let mut out = String::new();
    let mut seen = std::collections::BTreeSet::new();
    for section in sections() {
        // Queues and laws appear in several places: one description is enough.
        let variant = section.key.split_once(" = ").map(|(_, v)| v.to_owned());
        let id = (variant, section.about.clone());
        if section.rows.is_empty() || !seen.insert(id) {
            continue;
        }
        let _ = writeln!(
            out,
            "### `{}`\n\n{}\n",
            heading(&section.key),
            section.about
        );
        out.push_str("| key | value | default | range | meaning |\n|---|---|---|---|---|\n");
        for [key, kind, default, range, doc] in &section.rows {
            let cell = |s: &str| s.replace('|', "\\|");
            let _ = writeln!(
                out,
                "| `{key}` | {} | {} | {} | {} |",
                cell(&short(kind)),
                match default.as_str() {
                    "required" | "none" => default.clone(),
                    long if long.len() > 60 => "its own defaults".to_owned(),
                    value => format!("`{}`", cell(value)),
                },
                cell(range),
                cell(doc)
            );
        }
        out.push('\n');
    }
    out
}

/// `[cell].rlc` as a file has it, `[cell.rlc]`; a key that takes one of several tables stays below its section.
fn heading(key: &str) -> String {
    match key.split_once("].") {
        Some((section, below)) if !section.starts_with("[[") && !below.contains(" = ") => {
            format!("{section}.{below}]")
        }
        _ => key.to_owned(),
    }
}

/// `a time in ns, us, .. ("30 ms")` becomes `time: "30 ms"`: the page lists units once.
fn short(kind: &str) -> String {
    let example = kind
        .rsplit_once(" (")
        .and_then(|(_, e)| e.strip_suffix(')'));
    match (kind.split_once(" in "), example) {
        (Some((what, _)), Some(example)) => {
            let what = what.trim_start_matches("an ").trim_start_matches("a ");
            format!("{what}: `{}`", example.replace('"', ""))
        }
        _ => kind.to_owned(),
    }
}
