//! `slackwater compare`: all variants of a scenario side by side.

use std::collections::BTreeSet;
use std::collections::HashSet;
use std::process::ExitCode;
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use slackwater_lab::parallel;
use slackwater_lab::run::{Control, RunResult, run_variants};
use slackwater_lab::until::{self, LEAST, Until};
use slackwater_results::metrics::summary::RunSummary;
use slackwater_results::output::{Comparison, run_folder, tables};
use slackwater_results::stats::Estimate;
use slackwater_scenario::{Plugins, Scenario, Variant};

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
    if args.seeds.is_some() || args.seed.is_some() || !args.until.is_empty() {
        // An interval takes several seeds.
        let least = if args.until.is_empty() { 1 } else { LEAST };
        let seeds = args.seeds.unwrap_or(least);
        scenario = seeded(&scenario, args.seed.unwrap_or(scenario.seed), seeds)?;
    }
    Ok(scenario)
}

/// The scenario with `count` seeds from `first` on.
fn seeded(scenario: &Scenario, first: u64, count: u64) -> Result<Scenario> {
    let seeds: Vec<String> = (0..count).map(|k| (first + k).to_string()).collect();
    Ok(scenario.with_axis("seed", &seeds)?)
}

/// Adds seeds to `results` until the intervals that --until wants are there; says how it ended.
fn until(args: &CompareArgs, scenario: &Scenario, results: &mut Vec<RunResult>) -> Result<()> {
    let first = args.seed.unwrap_or(scenario.seed);
    let mut seeds = args.seeds.unwrap_or(LEAST);
    loop {
        let wanted: Vec<(Until, Estimate)> = tables::groups(results, |r| &r.summary)
            .iter()
            .flat_map(|(_, runs)| {
                let of = |u: &Until| tables::estimate(u.metric, runs.iter().map(|r| &r.summary));
                args.until
                    .iter()
                    .filter_map(move |u| Some((*u, of(u)?)))
                    .collect::<Vec<_>>()
            })
            .collect();
        for u in &args.until {
            let widest = wanted.iter().filter(|(w, _)| w.metric.key == u.metric.key);
            let widest = widest
                .filter_map(|(_, e)| Until::reached(e))
                .fold(0.0, f64::max);
            eprintln!(
                "{seeds} seeds: {} within {:.1} % (wanted {:.1} %)",
                u.metric.label,
                widest * 100.0,
                u.within * 100.0
            );
        }
        let Some(target) = until::next(&wanted, seeds, args.max_seeds.max(seeds)) else {
            return Ok(());
        };
        let variants = seeded(scenario, first + seeds, target - seeds)?.expand()?;
        results.extend(all(args, &variants, &|_| ())?);
        seeds = target;
    }
}

/// Runs `variants` on all cores, with a bar; `hear` hears the share that is done.
fn all(
    args: &CompareArgs,
    variants: &[Variant],
    hear: &(dyn Fn(f64) + Sync),
) -> Result<Vec<RunResult>> {
    let bar = progress::bar(variants.len());
    let total = (STEPS * variants.len() as u64) as f64;
    let done = Mutex::new(vec![0u64; variants.len()]);
    let jobs = args.jobs.unwrap_or_else(parallel::cores);
    let results = run_variants(variants, jobs, &|i, share| {
        advance(&bar, &done, i, share);
        hear(bar.position() as f64 / total);
        if progress::interrupted() {
            Control::Stop
        } else {
            Control::Continue
        }
    })?;
    bar.finish_and_clear();
    Ok(results)
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
    let title = format!("{}, {} runs", scenario.name, variants.len());
    let signal = Signal::new(&folder, !args.common.no_files, &title);
    let mut results = all(args, &variants, &|share| signal.share(share))?;
    if !args.until.is_empty() {
        until(args, &scenario, &mut results)?;
    }
    let summaries: Vec<RunSummary> = results.iter().map(|r| r.summary.clone()).collect();
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
        let numbers = Comparison::new(&summaries);
        numbers.write(aside).map_err(|e| anyhow::anyhow!("{e}"))?;
        write_report(aside, &results)?;
        page = Some(place.put().map_err(plain)?.join(REPORT));
    }
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
