//! `slackwater compare`: all variants of a scenario side by side.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::process::ExitCode;
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use slackwater_lab::parallel;
use slackwater_lab::run::{Control, RunError, RunResult, run_each};
use slackwater_lab::until::{self, LEAST, Until};
use slackwater_results::metrics::summary::RunSummary;
use slackwater_results::output::{Comparison, run_folder, tables};
use slackwater_results::stats::Estimate;
use slackwater_scenario::{Plugins, Scenario, Variant};

use crate::CompareArgs;
use crate::progress::{self, Bar, STEPS, Signal};
use crate::results::{REPORT, claim, folder, plain, write, write_report_of};
use crate::say::say;
use crate::scenario::{check, scenario};

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

/// Adds seeds to `results` until the intervals that --until wants are there; says what is missing where it was interrupted.
fn until(
    args: &CompareArgs,
    scenario: &Scenario,
    results: &mut Vec<RunResult>,
) -> Result<Option<String>> {
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
            return Ok(None);
        };
        let variants = seeded(scenario, first + seeds, target - seeds)?.expand()?;
        let more = all(args, &variants, &|_| ())?;
        if more.missing.is_none() || more.whole > 0 {
            results.extend(more.results);
        }
        if more.missing.is_some() {
            let n = seeds + more.whole as u64;
            return Ok(Some(format!(
                "interrupted with {n} seeds whole, before --until was reached"
            )));
        }
        seeds = target;
    }
}

/// Runs that are kept.
struct Kept {
    results: Vec<RunResult>,
    /// Seeds of which every run ended.
    whole: usize,
    /// What is missing, where the command was interrupted.
    missing: Option<String>,
}

/// Runs `variants` on all cores, with a bar; `hear` hears the share that is done.
fn all(args: &CompareArgs, variants: &[Variant], hear: &(dyn Fn(f64) + Sync)) -> Result<Kept> {
    let bar = progress::bar(variants.len());
    let total = (STEPS * variants.len() as u64) as f64;
    let done = Mutex::new(vec![0u64; variants.len()]);
    let jobs = args.jobs.unwrap_or_else(parallel::cores);
    let results = run_each(variants, jobs, &|i, share| {
        advance(&bar, &done, i, share);
        hear(bar.position() as f64 / total);
        if progress::interrupted() {
            Control::Stop
        } else {
            Control::Continue
        }
    });
    bar.finish_and_clear();
    kept(variants, results)
}

/// What is kept of runs of which some may have been stopped: those of the seeds that are whole, so that rows have the same seeds; where no
/// seed is whole, all that ended.
fn kept(variants: &[Variant], results: Vec<Result<RunResult, RunError>>) -> Result<Kept> {
    let runs = results.len();
    let mut ended = Vec::new();
    let mut seeds: BTreeMap<u64, bool> = BTreeMap::new();
    for (variant, result) in variants.iter().zip(results) {
        let whole = seeds.entry(variant.seed).or_insert(true);
        match result {
            Ok(result) => ended.push(result),
            Err(RunError::Interrupted) => *whole = false,
            Err(error) => return Err(error.into()),
        }
    }
    if ended.len() == runs {
        return Ok(Kept {
            results: ended,
            whole: seeds.len(),
            missing: None,
        });
    }
    let count = seeds.values().filter(|whole| **whole).count();
    if count > 0 {
        ended.retain(|r| seeds.get(&r.seed).is_some_and(|whole| *whole));
    }
    let missing = format!(
        "interrupted with {count} of {} seeds whole, {} of {runs} runs are kept",
        seeds.len(),
        ended.len()
    );
    Ok(Kept {
        results: ended,
        whole: count,
        missing: Some(missing),
    })
}

pub(crate) fn compare(args: &CompareArgs, plugins: &Plugins) -> Result<ExitCode> {
    progress::catch_interrupts();
    args.common.table.check_metrics()?;
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
    let Kept {
        mut results,
        mut missing,
        ..
    } = all(args, &variants, &|share| signal.share(share))?;
    if results.is_empty() {
        bail!("interrupted before a run had ended, nothing is kept");
    }
    if missing.is_none() && !args.until.is_empty() {
        missing = until(args, &scenario, &mut results)?;
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
        write_report_of(aside, &results, missing.as_deref())?;
        let put = match &missing {
            Some(missing) => place.put_partial(missing),
            None => place.put(),
        };
        page = Some(put.map_err(plain)?.join(REPORT));
    }
    show(args, &summaries)?;
    for run in &summaries {
        for closing in run.closings() {
            eprintln!(
                "note: {}, seed {}: {closing}",
                tables::name_of(run),
                run.seed
            );
        }
    }
    if let Some(page) = page.filter(|_| !args.common.json && !args.common.table.csv) {
        say!("{}", page.display());
    }
    let Some(missing) = missing else {
        return Ok(ExitCode::SUCCESS);
    };
    eprintln!("slackwater: {missing}");
    Ok(ExitCode::from(130))
}

/// Prints the comparison, and the differences seed by seed.
fn show(args: &CompareArgs, summaries: &[RunSummary]) -> Result<()> {
    let table = &args.common.table;
    if args.common.json {
        say!("{}", serde_json::to_string_pretty(summaries)?);
        return Ok(());
    }
    table.show(&tables::comparison_table(summaries))?;
    if table.csv {
        return Ok(());
    }
    let difference = tables::difference_table(summaries);
    // A metric that no two runs share has no difference.
    if let Some(text) = difference.and_then(|d| table.text(&d).ok()) {
        say!("{text}* differs at 5 %, seed by seed\n");
    }
    Ok(())
}

/// Moves the bar by what run `i` has done since it last said so.
fn advance(bar: &Bar, done: &Mutex<Vec<u64>>, i: usize, share: f64) {
    let now = (share * STEPS as f64) as u64;
    if let Ok(mut done) = done.lock() {
        bar.inc(now.saturating_sub(done[i]));
        done[i] = now.max(done[i]);
    }
}
