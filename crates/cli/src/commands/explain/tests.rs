use std::collections::BTreeSet;

use serde_json::Value;
use slackwater_lab::control::registry::entries;
use slackwater_lab::run::{Control, run_scenario};
use slackwater_results::output::dictionary::COLUMNS;
use slackwater_results::output::frame::frames;
use slackwater_scenario::{Plugins, Scenario, builtin};

use super::*;

/// Paths of all keys of a schema below `path`.
fn paths(schema: &Value, path: &str, out: &mut BTreeSet<String>) {
    for key in ["anyOf", "oneOf"] {
        for one in schema[key].as_array().into_iter().flatten() {
            paths(one, path, out);
        }
    }
    if schema["items"].is_object() {
        paths(&schema["items"], path, out);
    }
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        let full = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        paths(below, &full, out);
        // The word that tells several tables apart is told with each of them.
        if below["const"].is_null() {
            out.insert(full);
        }
    }
}

/// No line is broken.
const WIDE: usize = 10_000;

#[test]
fn every_key_of_the_schema_is_explained() {
    let all = all(&Plugins::new());
    let mut keys = BTreeSet::new();
    paths(&slackwater_scenario::schema(), "", &mut keys);
    assert!(keys.len() > 150, "{}", keys.len());
    let without: Vec<&String> = keys
        .iter()
        .filter(|key| {
            let found = find(&all, key);
            let exact = found.iter().filter(|e| e.names.contains(key));
            exact.filter(|e| e.meaning.len() > 2).count() == 0
        })
        .collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn every_controller_and_each_of_its_parameters_is_explained() {
    let all = all(&Plugins::new());
    for controller in entries() {
        let found = find(&all, controller.name);
        let text: String = found.iter().map(|e| e.text(WIDE)).collect();
        assert!(text.contains(controller.about), "{}", controller.name);
        for p in controller.parameters {
            let name = format!("{}:{}", controller.name, p.key);
            let found = find(&all, &name);
            assert_eq!(found.len(), 1, "{name}");
            assert!(found[0].text(WIDE).contains(p.about), "{name}");
            assert!(text.contains(&format!(":{}", p.key)), "{name}");
        }
    }
}

#[test]
fn every_column_of_a_run_is_explained_and_no_other() {
    let mut made = BTreeSet::new();
    for (scenario, more) in [
        ("lte-demo", "slots = true\npackets = true"),
        ("media-demo", ""),
    ] {
        let text = slackwater_scenario::embedded(scenario).expect("built in");
        let text = text.replace("duration = \"30 s\"", "duration = \"2 s\"");
        let text = if more.is_empty() {
            text.clone()
        } else {
            format!("{text}\n[record]\n{more}\n")
        };
        let scenario = Scenario::parse(scenario, &text, std::path::Path::new(".")).expect("runs");
        let result = run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("it runs");
        for (table, parts) in frames(&result.records) {
            for frame in parts {
                made.extend(frame.columns.iter().map(|(c, _)| format!("{table}.{c}")));
            }
        }
    }
    let told = COLUMNS.iter().flat_map(|(tables, column, about)| {
        assert!(about.len() > 8, "{column}");
        tables.iter().map(move |table| format!("{table}.{column}"))
    });
    let told: BTreeSet<String> = told.collect();
    assert_eq!(made, told);
}

#[test]
fn parts_of_names_are_understood_and_misspelt_ones_answered() {
    let all = all(&Plugins::new());
    let kinds = |name: &str| -> Vec<&str> { find(&all, name).iter().map(|e| e.kind).collect() };
    assert_eq!(kinds("cell.tdd"), ["key"]);
    assert_eq!(kinds("flow[0].controller"), ["key"]);
    assert_eq!(kinds("xrc:gamma=2"), ["parameter of a controller"]);
    assert!(kinds("p95").iter().all(|k| *k == "metric") && kinds("p95").len() >= 4);
    assert!(kinds("codel").contains(&"queue law"));
    assert_eq!(kinds("srtt_ns"), ["column"]);
    assert!(kinds("nothing-of-ours").is_empty());
    assert!(near(&all, "cell.tdx").contains(&"cell.tdd"));
    assert!(near(&all, "xrc:gama").contains(&"xrc:gamma"));
}

#[test]
fn each_trace_inside_the_program_has_its_text() {
    let all = all(&Plugins::new());
    for trace in builtin::ALL {
        let found = find(&all, trace.name);
        assert_eq!(found.len(), 1, "{}", trace.name);
        assert!(found[0].source.starts_with("slackwater trace make "));
    }
}
