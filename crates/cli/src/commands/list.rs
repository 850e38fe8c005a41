//! `slackwater list` and `slackwater schema`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Map, Value, json};
use slackwater_lab::traces::Model;
use slackwater_scenario::field::Reference;
use slackwater_scenario::reference::sections;
use slackwater_scenario::{self as scenario, Plugins, builtin, embedded};

use crate::say::say;

/// Names of one kind, with a line about each.
struct Group {
    /// Its key in JSON, and what selects it.
    key: &'static str,
    /// What stands above it.
    heading: &'static str,
    rows: Vec<(String, String)>,
}

/// Every name that a scenario or a command takes, by kind. A kind without names is left out of the text.
fn groups(plugins: &Plugins) -> Vec<Group> {
    let group = |key, heading, rows| Group { key, heading, rows };
    let controllers = plugins.controllers();
    let arena = embedded::ARENA.iter();
    let arena = arena.map(|(name, text)| (*name, embedded::title(text)));
    let traces = builtin::ALL.iter();
    let traces = traces.map(|t| (format!("{}{}", builtin::PREFIX, t.name), t.about.to_owned()));
    let models = Model::ALL.into_iter().map(|m| (m.name(), m.about()));
    let studies = slackwater_papers::ALL.iter().map(|s| (s.name, s.citation));
    let sections = sections();
    vec![
        group(
            "scenarios",
            "Embedded scenarios (slackwater run NAME):",
            owned(scenario::embedded_names()),
        ),
        group(
            "arena",
            "Cells and links of the arena (slackwater run NAME; slackwater arena):",
            owned(arena),
        ),
        group(
            "controllers",
            "Controllers (--set flow.controller=NAME):",
            owned(controllers.names()),
        ),
        group(
            "media_controllers",
            "Controllers of media (for flows with app.kind = \"media\"):",
            owned(controllers.media_names()),
        ),
        group(
            "schedulers",
            "Schedulers (--set cell.scheduler=NAME):",
            plugins.schedulers(),
        ),
        group(
            "queues",
            "Queues of links (--set link.queue.kind=NAME):",
            words(&sections, "[link].queue"),
        ),
        group(
            "laws",
            "Queue laws (--set cell.rlc.law=NAME, link.queue.law=NAME):",
            plugins.laws(),
        ),
        group(
            "applications",
            "Applications (--set flow.app.kind=NAME):",
            words(&sections, "[[flow]].app"),
        ),
        group(
            "agents",
            "Agents (--set feedback.own_agent=NAME):",
            owned(plugins.agents()),
        ),
        group(
            "systems",
            "Systems (--set upf.system=NAME):",
            owned(plugins.systems()),
        ),
        group(
            "traces",
            "Traces inside the program (--set link.file=NAME):",
            traces.collect(),
        ),
        group(
            "trace_models",
            "Models of traces (slackwater trace make NAME):",
            owned(models),
        ),
        group("studies", "Papers (slackwater repro NAME):", owned(studies)),
    ]
}

pub(crate) fn list(json: bool, plugins: &Plugins) -> Result<ExitCode> {
    let groups = groups(plugins);
    if json {
        let row = |(name, about): &(String, String)| json!({ "name": name, "description": about });
        let all: Map<String, Value> = groups
            .iter()
            .map(|g| (g.key.to_owned(), g.rows.iter().map(row).collect()))
            .collect();
        say!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut first = true;
    for group in groups.iter().filter(|g| !g.rows.is_empty()) {
        if !first {
            say!();
        }
        first = false;
        say!("{}", group.heading);
        for (name, what) in &group.rows {
            say!("  {name:<22} {what}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn owned<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<(String, String)> {
    let rows = rows.into_iter();
    rows.map(|(name, what)| (name.to_owned(), what.to_owned()))
        .collect()
}

/// The words that tell the tables of one key apart, from the reference: `bulk` of `[[flow]].app = { kind = "bulk" }`.
fn words(sections: &[Reference], key: &str) -> Vec<(String, String)> {
    let of = |section: &Reference| {
        let rest = section.key.strip_prefix(key)?.strip_prefix(" = { ")?;
        let word = rest.split('"').nth(1)?;
        Some((word.to_owned(), section.about.clone()))
    };
    let mut rows: Vec<(String, String)> = sections.iter().filter_map(of).collect();
    // A queue stands once in each kind of link.
    let mut seen = std::collections::BTreeSet::new();
    rows.retain(|(word, _)| seen.insert(word.clone()));
    rows
}

pub(crate) fn schema() -> Result<ExitCode> {
    say!("{}", serde_json::to_string_pretty(&scenario::schema())?);
    Ok(ExitCode::SUCCESS)
}
