//! `slackwater compare`: all variants of a scenario side by side.

use std::collections::BTreeSet;
use std::collections::HashSet;
use std::process::ExitCode;
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use slackwater_lab::parallel;
use slackwater_lab::run::{Control, run_variants};
use slackwater_results::metrics::summary::RunSummary;
use slackwater_results::output::{run_folder, tables};
use slackwater_scenario::Plugins;
use slackwater_scenario::Scenario;

use super::run::{REPORT, check, claim, folder, plain, scenario, write, write_report};
use crate::CompareArgs;
use crate::progress::{self, STEPS, Signal};
use crate::say::say;

/// The scenario with the axes that the arguments add or replace.
fn varied(args: &CompareArgs, plugins: &Plugins) -> Result<Scenario> {
    let mut scenario = scenario(&args.common, plugins)?;
    if !args.controllers.is_empty() {
        scenario = scenario.with_axis("flow.controller", &args.controllers)?;
    }
    for vary in &args.vary {
        let (key, values) = vary
            .split_once('=')
            .with_context(|| format!("--vary: found {vary:?}, expected KEY=V1;V2;.."))?;
        let values: Vec<String> = values.split(';').map(|v| v.trim().to_owned()).collect();
        scenario = scenario.with_axis(key.trim(), &values).map_err(|mut e| {
            "--vary".clone_into(&mut e.file);
            e
        })?;
    }
    if args.seeds.is_some() || args.seed.is_some() {
        let first = args.seed.unwrap_or(scenario.seed);
        let seeds: Vec<String> = (0..args.seeds.unwrap_or(1))
            .map(|k| (first + k).to_string())
            .collect();
        scenario = scenario.with_axis("seed", &seeds)?;
    }
    Ok(scenario)
}

pub(crate) fn compare(args: &CompareArgs, plugins: &Plugins) -> Result<ExitCode> {
    progress::catch_interrupts();
    let scenario = varied(args, plugins)?;
    let variants = scenario.expand()?;
    for v in &variants {
        check(&args.common.scenario, &v.scenario)?;
    }
    let notes: BTreeSet<String> = variants.iter().flat_map(|v| v.scenario.notes()).collect();
    for note in notes {
        eprintln!("note: {note}");
    }
    if variants.len() < 2 {
        bail!("nothing to compare: give [vary], --controllers, --vary or --seeds");
    }
    // Beside the run of the same scenario, not in its place.
    let folder = folder(&args.common, &format!("{}-compare", scenario.name));
    let place = claim(&args.common, &scenario, "comparison", &folder)?;
    let bar = progress::bar(variants.len());
    let title = format!("{}, {} runs", scenario.name, variants.len());
    let signal = Signal::new(&folder, !args.common.no_files, &title);
    let all = (STEPS * variants.len() as u64) as f64;
    let done = Mutex::new(vec![0u64; variants.len()]);
    let jobs = args.jobs.unwrap_or_else(parallel::cores);
    let results = run_variants(&variants, jobs, &|i, share| {
        advance(&bar, &done, i, share);
        signal.share(bar.position() as f64 / all);
        if progress::interrupted() {
            Control::Stop
        } else {
            Control::Continue
        }
    })?;
    bar.finish_and_clear();
    let mut page = None;
    if let Some(place) = place {
        let aside = place.aside().map_err(plain)?;
        let mut taken = HashSet::new();
        for r in &results {
            // Names keep letters and digits alone, so two values may share one: "westwood" and "westwood+".
            let name = run_folder(&r.labels, r.seed);
            let mut own = name.clone();
            let mut n = 1;
            while !taken.insert(own.clone()) {
                n += 1;
                own = format!("{name}-{n}");
            }
            write(&aside.join(own), r)?;
        }
        write_report(aside, &results)?;
        page = Some(place.put().map_err(plain)?.join(REPORT));
    }
    let summaries: Vec<RunSummary> = results.iter().map(|r| r.summary.clone()).collect();
    if args.common.json {
        say!("{}", serde_json::to_string_pretty(&summaries)?);
    } else {
        say!("{}", tables::comparison_table(&summaries));
        if let Some(table) = tables::difference_table(&summaries) {
            say!("{table}* differs at 5 %, seed by seed");
        }
        if let Some(page) = page {
            say!("{}", page.display());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Moves the bar by what run `i` has done since it last said so.
fn advance(bar: &ProgressBar, done: &Mutex<Vec<u64>>, i: usize, share: f64) {
    let now = (share * STEPS as f64) as u64;
    if let Ok(mut done) = done.lock() {
        bar.inc(now.saturating_sub(done[i]));
        done[i] = now.max(done[i]);
    }
}
