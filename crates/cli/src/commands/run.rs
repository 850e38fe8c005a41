//! `slackwater run`: one scenario, once.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use slackwater_lab::forecast::{self, Forecast};
use slackwater_lab::run::{Control, RunResult, run_watched};
use slackwater_report::{self as report, view};
use slackwater_results::metrics::summary::RunSummary;
use slackwater_results::output::{self, Place, PlaceError, tables};
use slackwater_scenario::{Change, Plugins, Scenario};

use crate::manifest;
use crate::progress::{self, STEPS, Signal};
use crate::say::say;
use crate::terminal;
use crate::{RunArgs, ScenarioArgs};

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
            Scenario::parse_changed(name, text, Path::new("."), changes, BY)?
        }
        _ => Scenario::load_changed(path, changes, BY).map_err(|mut e| {
            if !path.exists()
                && let Some(near) = slackwater_scenario::embedded::nearest_to(name)
            {
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

/// Where results go.
pub(crate) fn folder(args: &ScenarioArgs, name: &str) -> PathBuf {
    let runs = || Path::new("runs").join(name);
    args.out.clone().unwrap_or_else(runs)
}

/// Claims `folder` for what a command of the kind `kind` makes of `scenario`; `None` where no files are wanted.
pub(crate) fn claim(
    args: &ScenarioArgs,
    scenario: &Scenario,
    kind: &str,
    folder: &Path,
) -> Result<Option<Place>> {
    if args.no_files {
        return Ok(None);
    }
    let manifest = manifest::of_scenario(kind, scenario, changes(&args.set)?, folder)?;
    Place::claim(folder, manifest, args.force)
        .map(Some)
        .map_err(plain)
}

/// An error whose text names its source already: a chain would say it twice.
pub(crate) fn plain(error: PlaceError) -> anyhow::Error {
    anyhow::Error::msg(error)
}

/// The command as typed, for the report.
pub(crate) fn command_line() -> String {
    let mut words = vec!["slackwater".to_owned()];
    let given = crate::start::words();
    words.extend(given.iter().map(|a| quoted(&a.to_string_lossy())));
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+./:,@%[]".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Writes everything of one run but the report.
pub(crate) fn write(folder: &Path, result: &RunResult) -> Result<Vec<PathBuf>> {
    // The error's text names its source already; a chain would say it twice.
    output::write_run(folder, &result.scenario, &result.summary, &result.records)
        .map_err(|e| anyhow::anyhow!("{e}"))
}

/// Name of the page in a folder of results.
pub(crate) const REPORT: &str = "report.html";

/// Writes the page.
pub(crate) fn write_report(folder: &Path, results: &[RunResult]) -> Result<PathBuf> {
    write_report_of(folder, results, None)
}

/// As [`write_report`], of results of which something is missing.
pub(crate) fn write_report_of(
    folder: &Path,
    results: &[RunResult],
    missing: Option<&str>,
) -> Result<PathBuf> {
    let mut page = view::report(results, &command_line());
    if let Some(missing) = missing {
        page.notes.insert(0, format!("Partial results: {missing}."));
    }
    let page = report::render(&page);
    let path = folder.join(REPORT);
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// A run that takes longer is announced.
const LONG: Duration = Duration::from_secs(60);
/// Memory beyond which a run is announced, bytes.
const LARGE: u64 = 1 << 30;

/// Says so where `at_once` runs of `scenario` hold more than a gigabyte.
pub(crate) fn warn_of_memory(scenario: &Scenario, at_once: u64) {
    let bytes = forecast::memory(scenario).saturating_mul(at_once);
    if bytes > LARGE {
        eprintln!(
            "note: about {:.1} GiB of memory at the end: {} flows, {} UEs, {} s (keys `flow.count`, `ue.count`, `duration`, `record`)",
            bytes as f64 / LARGE as f64,
            scenario.expanded_flows().len(),
            scenario.expanded_ues().len(),
            scenario.duration.as_secs_f64(),
        );
    }
}

/// A time as one reads it.
fn wall(time: Duration) -> String {
    match time.as_secs() {
        s if s < 120 => format!("{s} s"),
        s if s < 7200 => format!("{} min", s / 60),
        s => format!("{} h", s / 3600),
    }
}

pub(crate) fn run(args: &RunArgs, plugins: &Plugins) -> Result<ExitCode> {
    if args.live {
        return super::live::run(args, plugins);
    }
    progress::catch_interrupts();
    args.common.table.check_metrics()?;
    let mut scenario = scenario(&args.common, plugins)?;
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    for note in scenario.notes() {
        eprintln!("note: {note}");
    }
    if !scenario.vary.is_empty() {
        eprintln!(
            "note: [vary] describes several runs; this runs the scenario as written (slackwater compare runs them all)"
        );
    }
    let folder = folder(&args.common, &scenario.name);
    let place = claim(&args.common, &scenario, "run", &folder)?;
    let bar = progress::bar(1);
    let signal = Signal::new(&folder, !args.common.no_files, &scenario.name);
    let mut seen = 0;
    warn_of_memory(&scenario, 1);
    let (begun, mut forecast) = (Instant::now(), Forecast::default());
    let result = run_watched(&scenario, scenario.seed, &mut |share, records| {
        if let Some(whole) = forecast.see(share, begun.elapsed())
            && whole > LONG
        {
            let seconds = scenario.duration.as_secs_f64();
            bar.suspend(|| {
                eprintln!(
                    "note: the whole run will take about {}; `duration` ({seconds} s) sets how long it is simulated",
                    wall(whole)
                );
            });
        }
        bar.set_position((share * STEPS as f64) as u64);
        signal.see(records, &mut seen);
        signal.share(share);
        if progress::interrupted() {
            Control::Keep
        } else {
            Control::Continue
        }
    })?;
    bar.finish_and_clear();
    // Ctrl-C in the last step changes nothing.
    let ran = result.summary.duration_s;
    let missing = (ran < scenario.duration.as_secs_f64()).then(|| {
        let whole = scenario.duration.as_secs_f64();
        format!("interrupted at {ran:.3} s of {whole} s")
    });
    let mut page = None;
    if let Some(place) = place {
        let aside = place.aside().map_err(plain)?;
        write(aside, &result)?;
        write_report_of(aside, std::slice::from_ref(&result), missing.as_deref())?;
        let put = match &missing {
            Some(missing) => place.put_partial(missing),
            None => place.put(),
        };
        page = Some(put.map_err(plain)?.join(REPORT));
    }
    show(&args.common, &result.summary)?;
    if !args.common.json && !args.common.table.csv {
        say!("seed {}, {} events", result.seed, result.events);
        if let Some(page) = page {
            say!("{}", page.display());
        }
    }
    let Some(missing) = missing else {
        return Ok(ExitCode::SUCCESS);
    };
    eprintln!("slackwater: {missing}; metrics and series are of that part");
    Ok(ExitCode::from(130))
}

fn show(args: &ScenarioArgs, summary: &RunSummary) -> Result<()> {
    if args.json {
        say!("{}", serde_json::to_string_pretty(summary)?);
        return Ok(());
    }
    show_run(&args.table, summary)
}

/// Prints the tables of one run, or as one table of the columns that are chosen.
pub(crate) fn show_run(args: &terminal::TableArgs, summary: &RunSummary) -> Result<()> {
    if args.csv || args.chosen() {
        return args.show(&tables::whole_table(summary));
    }
    args.show(&tables::flow_table(summary))?;
    say!("{}", terminal::text(&tables::run_table(summary)));
    Ok(())
}
