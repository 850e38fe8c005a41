//! Schema and reference are of what the parser takes.

use super::*;

/// Every key of every built-in scenario, defaults filled in, is a key of the schema, and every word one of its words.
#[test]
fn the_schema_knows_what_the_parser_takes() {
    fn fits(value: &serde_json::Value, schema: &serde_json::Value) -> bool {
        use serde_json::Value as J;
        if let Some(any) = schema.get("anyOf").and_then(J::as_array) {
            return any.iter().any(|s| fits(value, s));
        }
        if let Some(word) = schema.get("const") {
            return word == value;
        }
        if let Some(words) = schema.get("enum").and_then(J::as_array) {
            return words.contains(value);
        }
        match (value, schema.get("type").and_then(J::as_str)) {
            (J::Object(map), Some("object")) => {
                let known = |k: &String| schema["properties"].get(k);
                let required = schema.get("required").and_then(J::as_array);
                required.is_none_or(|r| {
                    r.iter()
                        .all(|k| k.as_str().is_some_and(|k| map.contains_key(k)))
                }) && map.iter().all(|(k, v)| match known(k) {
                    Some(s) => fits(v, s),
                    None => schema["additionalProperties"] == true,
                })
            }
            (J::Array(items), Some("array")) => items.iter().all(|v| fits(v, &schema["items"])),
            (J::Number(n), Some("integer")) => n.is_i64() || n.is_u64(),
            (J::String(_), Some("string"))
            | (J::Bool(_), Some("boolean"))
            | (J::Number(_), Some("number")) => true,
            _ => false,
        }
    }
    let schema = reference::json_schema();
    for (name, text) in embedded::ALL {
        let scenario = Scenario::from_toml(text, ".").unwrap_or_else(|e| panic!("{e}"));
        let mut json = scenario.to_json();
        assert!(fits(&json, &schema), "{name}: {json:#}");
        json["path"]["rrt"] = "1 ms".into();
        assert!(
            !fits(&json, &schema),
            "a schema that takes anything shows nothing"
        );
    }
}

/// The part of a documentation page between its markers.
fn between<'a>(page: &'a str, marker: &str) -> &'a str {
    let (_, rest) = page
        .split_once(&format!("<!-- {marker} -->\n"))
        .expect("the start marker");
    rest.split_once(&format!("<!-- /{marker} -->"))
        .expect("the end marker")
        .0
}

#[test]
fn the_reference_in_the_documentation_is_current() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.md");
    let page = std::fs::read_to_string(page).expect("docs/scenario.md");
    assert!(
        between(&page, "reference") == reference::markdown(),
        "docs/scenario.md: replace what stands between the markers by what \
         `cargo test -p slackwater-scenario print_the_reference -- --ignored --nocapture` prints"
    );
}

#[test]
#[ignore = "prints the generated part of docs/scenario.md"]
#[expect(clippy::print_stdout, reason = "its purpose")]
fn print_the_reference() {
    println!("{}", reference::markdown());
}
