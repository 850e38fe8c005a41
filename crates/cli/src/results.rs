//! Where commands put what runs leave: the folder, its files and its page.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use slackwater_lab::run::RunResult;
use slackwater_report::{self as report, view};
use slackwater_results::output::{self, Place, PlaceError};
use slackwater_scenario::Scenario;

use crate::scenario::changes;
use crate::start::command_line;
use crate::{ScenarioArgs, manifest};

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
    let place = Place::claim(folder, manifest, args.force).map_err(plain)?;
    if let Some(note) = place.note() {
        eprintln!("note: {note}");
    }
    Ok(Some(place))
}

/// An error whose text names its source already: a chain would say it twice.
pub(crate) fn plain(error: PlaceError) -> anyhow::Error {
    anyhow::Error::msg(error)
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
