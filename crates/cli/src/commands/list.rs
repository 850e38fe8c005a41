//! `slackwater list` and `slackwater schema`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use slackwater_lab::control::registry;
use slackwater_lab::scenario;

use crate::say::say;

pub(crate) fn list(json: bool) -> Result<ExitCode> {
    let scenarios = scenario::embedded_names();
    let controllers = registry::names();
    let media = registry::media_names();
    if json {
        let named = |rows: &[(&str, &str)]| -> Vec<_> {
            rows.iter()
                .map(|(name, what)| json!({ "name": name, "description": what }))
                .collect()
        };
        let all = json!({
            "scenarios": named(&scenarios),
            "controllers": named(controllers),
            "media_controllers": named(media),
        });
        say!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(ExitCode::SUCCESS);
    }
    say!("Embedded scenarios (slackwater run NAME):");
    for (name, what) in &scenarios {
        say!("  {name:<22} {what}");
    }
    say!("\nControllers (--set flow.controller=NAME):");
    for (name, what) in controllers {
        say!("  {name:<22} {what}");
    }
    say!("\nControllers of media (for flows with app.kind = \"media\"):");
    for (name, what) in media {
        say!("  {name:<22} {what}");
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn schema() -> Result<ExitCode> {
    say!("{}", serde_json::to_string_pretty(&scenario::schema())?);
    Ok(ExitCode::SUCCESS)
}
