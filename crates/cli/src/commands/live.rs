//! `slackwater run --live`: a scenario simulated, and with the kernel's own senders, side by side.

use std::process::ExitCode;

use anyhow::{Context, Result};
use slackwater_lab::run::{Control, RunResult, run_scenario};
use slackwater_live::emulate::Outcome;
use slackwater_live::kernel::run_live;
use slackwater_live::privilege::as_caller;
use slackwater_report::view::HOSTS;
use slackwater_results::metrics::summary::RunSummary;
use slackwater_results::output::{run_folder, tables};
use slackwater_scenario::Plugins;
use slackwater_scenario::Scenario;

use crate::RunArgs;
use crate::leaves::caller;
use crate::outcome::{json, lag_line};
use crate::results::{REPORT, claim, folder, plain, write, write_report};
use crate::say::say;
use crate::scenario::scenario;

/// Share of slots, in percent, beyond which a run says nothing.
const VOID_ABOVE: f64 = 1.0;

fn label(result: &mut RunResult, scenario: &Scenario, labels: &[(String, String)], hosts: &str) {
    let mut labels = labels.to_vec();
    labels.push((HOSTS.to_owned(), hosts.to_owned()));
    result.summary.identify(scenario, &labels, result.seed);
    result.labels = labels;
}

fn simulated(scenario: &Scenario, labels: &[(String, String)]) -> Result<RunResult> {
    let mut result = run_scenario(scenario, scenario.seed, &mut |_| Control::Continue)?;
    label(&mut result, scenario, labels, "simulated");
    Ok(result)
}

fn real(scenario: &Scenario, labels: &[(String, String)]) -> Result<Outcome> {
    eprintln!("{}: {} in real time", name(labels), scenario.duration);
    let mut outcome = run_live(scenario, true)?;
    label(&mut outcome.result, scenario, labels, "kernel");
    Ok(outcome)
}

fn name(labels: &[(String, String)]) -> String {
    let values: Vec<&str> = labels.iter().map(|l| l.1.as_str()).collect();
    if values.is_empty() {
        "kernel senders".to_owned()
    } else {
        values.join(", ")
    }
}

pub(crate) fn run(args: &RunArgs, plugins: &Plugins) -> Result<ExitCode> {
    let mut scenario = scenario(&args.common, plugins)?;
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    let folder = folder(&args.common, &format!("{}-live", scenario.name));
    let who = caller(false);
    let place = as_caller(who, || {
        claim(&args.common, &scenario, "live comparison", &folder)
    })?;
    let mut results = Vec::new();
    let mut void = false;
    let variants = scenario.expand()?;
    // All of them before the first in real time: what is wrong with the last one shows at once.
    let simulations: Vec<RunResult> = variants
        .iter()
        .map(|v| simulated(&v.scenario, &v.labels))
        .collect::<Result<_>>()?;
    for (variant, simulated) in variants.iter().zip(simulations) {
        let outcome = real(&variant.scenario, &variant.labels)?;
        eprintln!("{}", lag_line(&outcome.health));
        let missed = outcome.health.missed() * 100.0 > VOID_ABOVE;
        if missed {
            eprintln!("slackwater: void: more than {VOID_ABOVE} % of the slots were missed");
        }
        void |= missed;
        let document = json(&outcome, missed);
        for result in [simulated, outcome.result] {
            if let Some(place) = &place {
                let aside = place.aside().map_err(plain)?;
                let own = aside.join(run_folder(&result.labels, result.seed));
                as_caller(who, || write(&own, &result))?;
                if result.labels.last().is_some_and(|l| l.1 == "kernel") {
                    let path = own.join("live.json");
                    as_caller(who, || std::fs::write(&path, format!("{document:#}\n")))
                        .with_context(|| format!("cannot write {}", path.display()))?;
                }
            }
            results.push(result);
        }
    }
    let mut page = None;
    if let Some(place) = place {
        page = Some(as_caller(who, || {
            write_report(place.aside().map_err(plain)?, &results)?;
            Ok::<_, anyhow::Error>(place.put().map_err(plain)?.join(REPORT))
        })?);
    }
    let summaries: Vec<RunSummary> = results.into_iter().map(|r| r.summary).collect();
    if args.common.json {
        say!("{}", serde_json::to_string_pretty(&summaries)?);
    } else {
        args.common
            .table
            .show(&tables::comparison_table(&summaries))?;
        if let Some(page) = page.filter(|_| !args.common.table.csv) {
            say!("{}", page.display());
        }
    }
    Ok(if void {
        ExitCode::from(crate::VOID)
    } else {
        ExitCode::SUCCESS
    })
}
