//! `slackwater list` and `slackwater schema`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Map, Value, json};
use slackwater_lab::traces::Model;
use slackwater_results::table::Table;
use slackwater_scenario::drawn::Kind;
use slackwater_scenario::field::Reference;
use slackwater_scenario::reference::sections;
use slackwater_scenario::{self as scenario, Plugins, builtin, embedded};
use unicode_width::UnicodeWidthStr as _;

use crate::say::say;
use crate::terminal::{self, TableArgs};

/// Names of one kind, with a line about each.
struct Group {
    /// Its key in JSON.
    key: &'static str,
    /// What stands above it.
    heading: &'static str,
    rows: Vec<(String, String)>,
}

impl Group {
    /// What selects it.
    fn kind(&self) -> String {
        self.key.replace('_', "-")
    }
}

/// Every name that a scenario or a command takes, by kind. A kind without names is left out of the text.
fn groups(plugins: &Plugins) -> Vec<Group> {
    let group = |key, heading, rows| Group { key, heading, rows };
    let controllers = plugins.controllers();
    let arena = embedded::ARENA.iter();
    let arena = arena.map(|(name, text)| (*name, embedded::title(text)));
    let drawn = Kind::ALL.iter().map(|(_, name, about)| (*name, *about));
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
            "drawn",
            "Kinds of drawn scenarios (slackwater run drawn/NAME-1, and so on; slackwater arena --drawn NAME:1-60):",
            owned(drawn),
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

/// Kinds of names, as [`groups`] calls them.
const KINDS: [&str; 14] = [
    "scenarios",
    "arena",
    "drawn",
    "controllers",
    "media-controllers",
    "schedulers",
    "queues",
    "laws",
    "applications",
    "agents",
    "systems",
    "traces",
    "trace-models",
    "studies",
];

/// `slackwater list`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Names of these kinds alone
    #[arg(value_name = "KIND", value_parser = PossibleValuesParser::new(KINDS))]
    kinds: Vec<String>,
    #[command(flatten)]
    table: TableArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The widest column of names; what is longer has its meaning below.
const NAMES: usize = 26;

pub(crate) fn list(args: &ListArgs, plugins: &Plugins) -> Result<ExitCode> {
    let mut groups = groups(plugins);
    if !args.kinds.is_empty() {
        groups.retain(|g| args.kinds.contains(&g.kind()));
    }
    if args.json {
        let row = |(name, about): &(String, String)| json!({ "name": name, "description": about });
        let all: Map<String, Value> = groups
            .iter()
            .map(|g| (g.key.to_owned(), g.rows.iter().map(row).collect()))
            .collect();
        say!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(ExitCode::SUCCESS);
    }
    if args.table.csv || args.table.chosen() {
        let mut table = Table::new(&["name", "kind", "description"]);
        for group in &groups {
            for (name, what) in &group.rows {
                table.row(&[name, &group.kind(), what]);
            }
        }
        args.table.print(&table)?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = terminal::text_width();
    let mut first = true;
    for group in groups.iter().filter(|g| !g.rows.is_empty()) {
        if !first {
            say!();
        }
        first = false;
        terminal::print(&terminal::wrapped(group.heading, "  ", width));
        let longest = group.rows.iter().map(|(name, _)| name.width()).max();
        let room = longest.unwrap_or_default().min(NAMES);
        for (name, what) in &group.rows {
            terminal::print(&terminal::described(2, name, room, what, width));
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
