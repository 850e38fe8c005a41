//! `slackwater run`: one scenario, once.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use slackwater_lab::forecast::{self, Forecast};
use slackwater_lab::run::{Control, run_watched};
use slackwater_results::metrics::summary::RunSummary;
use slackwater_results::output::tables;
use slackwater_scenario::{Plugins, Scenario};

use crate::progress::{self, STEPS, Signal};
use crate::results::{REPORT, claim, folder, plain, write, write_report_of};
use crate::say::say;
use crate::scenario::scenario;
use crate::terminal;
use crate::{RunArgs, ScenarioArgs};

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
    for closing in result.summary.closings() {
        eprintln!("note: {closing}");
    }
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
