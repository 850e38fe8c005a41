//! `slackwater explain`: what a name means, from where it is declared.

mod entry;
mod keys;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use slackwater_scenario::Plugins;
use slackwater_scenario::error::nearest;

use self::entry::{Entry, controllers, others, parts, results};
use crate::say::say;
use crate::terminal::text_width;

/// `slackwater explain`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  slackwater explain cell.tdd
  slackwater explain xrc
  slackwater explain xrc:gamma
  slackwater explain p95
  slackwater explain fig5-jain-cubic")]
pub(crate) struct ExplainArgs {
    /// A key, a controller (with a parameter after a colon), a queue law, a metric, a column or a claim
    #[arg(value_name = "NAME")]
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Everything that has a name.
fn all(plugins: &Plugins) -> Vec<Entry> {
    let mut all = keys::entries();
    all.extend(controllers(plugins));
    all.extend(parts(plugins));
    all.extend(results());
    all.extend(others());
    all
}

/// Each name with what it means, for completions: a name that several things have stands once.
pub(crate) fn names(plugins: &Plugins) -> Vec<(String, String)> {
    let mut names = BTreeMap::new();
    for entry in all(plugins) {
        let about = entry.meaning.lines().next().unwrap_or_default();
        for name in &entry.names {
            names
                .entry(name.clone())
                .or_insert_with(|| format!("{}: {about}", entry.kind));
        }
    }
    names.into_iter().collect()
}

/// What `name` means: everything of exactly this name, else everything of which it is a part.
fn find<'a>(all: &'a [Entry], name: &str) -> Vec<&'a Entry> {
    // `flow[0].controller` and `xrc:gamma=2` name what stands without the number and the value.
    let mut plain = String::new();
    let mut inside = false;
    for c in name.trim().chars() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            _ if inside && c.is_ascii_digit() => {}
            _ => plain.push(c),
        }
    }
    let word = plain
        .split('=')
        .next()
        .unwrap_or_default()
        .trim()
        .to_lowercase();
    if word.is_empty() {
        return Vec::new();
    }
    let tests: [&dyn Fn(&Entry) -> bool; 3] = [
        &|e| e.names.iter().any(|n| n.to_lowercase() == word),
        &|e| e.names.iter().any(|n| ends(&n.to_lowercase(), &word)),
        // Hundreds of claims have such words in their names.
        &|e| {
            e.kind != "claim of a paper"
                && e.names
                    .iter()
                    .any(|n| n.to_lowercase().split(['_', ' ', '-']).any(|w| w == word))
        },
    ];
    let found = tests
        .iter()
        .map(|test| all.iter().filter(|e| test(e)).collect());
    found
        .into_iter()
        .find(|found: &Vec<_>| !found.is_empty())
        .unwrap_or_default()
}

/// True where `word` is the end of `name` behind a dot or a colon.
fn ends(name: &str, word: &str) -> bool {
    let before = name.strip_suffix(word);
    before.is_some_and(|before| before.ends_with(['.', ':']))
}

/// Names near to `name`, the nearest first.
fn near<'a>(all: &'a [Entry], name: &str) -> Vec<&'a str> {
    let mut left: Vec<&str> = all
        .iter()
        .flat_map(|e| &e.names)
        .map(String::as_str)
        .collect();
    left.sort_unstable();
    left.dedup();
    let mut near = Vec::new();
    while near.len() < 3
        && let Some(next) = nearest(name, left.iter().copied())
    {
        near.push(next);
        left.retain(|n| *n != next);
    }
    near
}

pub(crate) fn explain(args: &ExplainArgs, plugins: &Plugins) -> Result<ExitCode> {
    let all = all(plugins);
    let found = find(&all, &args.name);
    if found.is_empty() {
        let near = near(&all, &args.name);
        let expected = match near.as_slice() {
            [] => "a key of docs/scenario.md, or a name of `slackwater list`".to_owned(),
            near => format!("{}?", near.join(" or ")),
        };
        bail!(
            "found {:?}, no name that is known, expected {expected}",
            args.name
        );
    }
    if args.json {
        let rows: Vec<_> = found.iter().map(|e| e.json()).collect();
        say!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(ExitCode::SUCCESS);
    }
    for (i, entry) in found.iter().enumerate() {
        if i > 0 {
            say!();
        }
        say!("{}", entry.text(text_width()).trim_end());
    }
    Ok(ExitCode::SUCCESS)
}
