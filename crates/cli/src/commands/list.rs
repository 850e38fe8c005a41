//! `slackwater list` and `slackwater schema`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use slackwater_lab::Plugins;
use slackwater_lab::scenario;

use crate::say::say;

pub(crate) fn list(json: bool, plugins: &Plugins) -> Result<ExitCode> {
    let scenarios = scenario::embedded_names();
    let controllers = plugins.controllers().names();
    let media = plugins.controllers().media_names();
    let systems = plugins.systems();
    if json {
        let named = |rows: &[(&str, &str)]| -> Vec<_> {
            rows.iter()
                .map(|(name, what)| json!({ "name": name, "description": what }))
                .collect()
        };
        let all = json!({
            "scenarios": named(&scenarios),
            "controllers": named(&controllers),
            "media_controllers": named(&media),
            "systems": named(&systems),
        });
        say!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(ExitCode::SUCCESS);
    }
    say!("Embedded scenarios (slackwater run NAME):");
    for (name, what) in &scenarios {
        say!("  {name:<22} {what}");
    }
    say!("\nControllers (--set flow.controller=NAME):");
    for (name, what) in &controllers {
        say!("  {name:<22} {what}");
    }
    say!("\nControllers of media (for flows with app.kind = \"media\"):");
    for (name, what) in &media {
        say!("  {name:<22} {what}");
    }
    if !systems.is_empty() {
        say!("\nSystems (--set upf.system=NAME):");
    }
    for (name, what) in &systems {
        say!("  {name:<22} {what}");
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn schema() -> Result<ExitCode> {
    say!("{}", serde_json::to_string_pretty(&scenario::schema())?);
    Ok(ExitCode::SUCCESS)
}
