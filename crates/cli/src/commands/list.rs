//! `slackwater list` and `slackwater schema`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use slackwater_scenario as scenario;
use slackwater_scenario::Plugins;

use crate::say::say;

pub(crate) fn list(json: bool, plugins: &Plugins) -> Result<ExitCode> {
    let scenarios = scenario::embedded_names();
    let controllers = plugins.controllers().names();
    let media = plugins.controllers().media_names();
    let (agents, systems) = (plugins.agents(), plugins.systems());
    let (schedulers, laws) = (plugins.schedulers(), plugins.laws());
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
            "agents": named(&agents),
            "systems": named(&systems),
            "schedulers": named(&borrowed(&schedulers)),
            "laws": named(&borrowed(&laws)),
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
    say!("\nSchedulers (--set cell.scheduler=NAME):");
    for (name, what) in &schedulers {
        say!("  {name:<22} {what}");
    }
    say!("\nQueue laws (--set cell.rlc.law=NAME, link.queue.law=NAME):");
    for (name, what) in &laws {
        say!("  {name:<22} {what}");
    }
    if !agents.is_empty() {
        say!("\nAgents (--set feedback.own_agent=NAME):");
    }
    for (name, what) in &agents {
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

fn borrowed(rows: &[(String, String)]) -> Vec<(&str, &str)> {
    let rows = rows.iter();
    rows.map(|(name, what)| (name.as_str(), what.as_str()))
        .collect()
}

pub(crate) fn schema() -> Result<ExitCode> {
    say!("{}", serde_json::to_string_pretty(&scenario::schema())?);
    Ok(ExitCode::SUCCESS)
}
