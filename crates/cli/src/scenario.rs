//! The scenario that a command was given, with the changes of `--set`.

use std::path::Path;

use anyhow::{Context as _, Result};
use slackwater_scenario::{Change, Plugins, Scenario, drawn};

use crate::ScenarioArgs;

/// The scenario that the arguments name, with their changes.
pub(crate) fn scenario(args: &ScenarioArgs, plugins: &Plugins) -> Result<Scenario> {
    let changes = changes(&args.set)?;
    let scenario = named(&args.scenario, &changes)?.with_plugins(plugins);
    check(&args.scenario, &scenario)?;
    Ok(scenario)
}

/// The scenario file `name`, or the built-in scenario, with `changes`.
pub(crate) fn named(name: &str, changes: &[Change]) -> Result<Scenario> {
    const BY: &str = "--set";
    let path = Path::new(name);
    let known = slackwater_scenario::embedded::embedded(name);
    Ok(match known {
        Some(text) if !path.exists() => {
            Scenario::parse_changed(name, &text, Path::new("."), changes, BY)?
        }
        _ => Scenario::load_changed(path, changes, BY).map_err(|mut e| {
            if path.exists() {
                return e;
            }
            if name.starts_with(drawn::PREFIX) {
                let kinds: Vec<&str> = drawn::Kind::ALL.iter().map(|(_, name, _)| *name).collect();
                e.expected = format!(
                    "a scenario file, or {}KIND-NUMBER with a number from 1 on and KIND one of {}",
                    drawn::PREFIX,
                    kinds.join(", ")
                );
            } else if let Some(near) = slackwater_scenario::embedded::nearest_to(name) {
                e.expected = format!("a scenario file, or the built-in \"{near}\"?");
            }
            e
        })?,
    })
}

/// What `--set` says, key by key.
pub(crate) fn changes(set: &[String]) -> Result<Vec<Change>> {
    let split = |set: &String| {
        let (key, value) = set
            .split_once('=')
            .with_context(|| format!("--set: found {set:?}, expected KEY=VALUE"))?;
        Ok((key.trim().to_owned(), value.trim().to_owned()))
    };
    set.iter().map(split).collect()
}

/// Controllers must exist before hours of simulation begin. `file` is what an error names.
pub(crate) fn check(file: &str, scenario: &Scenario) -> Result<()> {
    scenario.check_controllers().map_err(|mut e| {
        file.clone_into(&mut e.file);
        e
    })?;
    Ok(())
}
