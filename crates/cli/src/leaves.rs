//! What a run with real packets leaves: its files, what it says at its end, and its status.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use slackwater_live::emulate::Outcome;
use slackwater_live::privilege::Caller;
use slackwater_results::output::{Manifest, Place, tables};

use crate::manifest::manifest;
use crate::outcome::{json, lag_line, stolen_words};
use crate::results::{REPORT, plain, write, write_report};
use crate::scenario::changes;
use crate::{VOID, terminal};

/// Who gets commands and files: whoever called `sudo`.
pub(crate) fn caller(as_root: bool) -> Option<Caller> {
    Caller::of_sudo().filter(|_| !as_root)
}

/// What a run with real packets leaves, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaves<'a> {
    /// The folder of results; none where no files are wanted.
    pub(crate) folder: Option<&'a Path>,
    /// A file for the summary and the lag.
    pub(crate) json: Option<&'a Path>,
    /// Share of slots, in percent, beyond which the run is void.
    pub(crate) void_above: f64,
    /// Say nothing but that.
    pub(crate) quiet: bool,
    /// Take the place of any results.
    pub(crate) force: bool,
    /// Changes of the scenario, as given.
    pub(crate) set: &'a [String],
}

impl Leaves<'_> {
    /// Looks whether all that the run will leave, `more` included, can be written, before an hour of somebody's time goes
    /// into it, and claims the folder. `kind` and `name` say what the run is.
    pub(crate) fn claim(
        &self,
        kind: &str,
        name: &str,
        more: &[Option<&Path>],
    ) -> Result<Option<Place>> {
        let manifest = Manifest {
            set: changes(self.set)?,
            ..manifest(kind, name)
        };
        let claimed = self
            .folder
            .map(|folder| Place::claim(folder, manifest, self.force).map_err(plain));
        let place = claimed.transpose()?;
        if let Some(note) = place.as_ref().and_then(Place::note).filter(|_| !self.quiet) {
            eprintln!("note: {note}");
        }
        for path in more.iter().chain([&self.json]).flatten() {
            // A folder of results that is there stays until others take its place; so do files of this command in it.
            if let Some(folder) = path.parent().filter(|p| Some(*p) == self.folder) {
                std::fs::create_dir_all(folder)
                    .with_context(|| format!("cannot write into {}", folder.display()))?;
            }
            std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(place)
    }

    /// Writes files, `more` by their names among them, and says how it went. Returns the status to end with: the command's own, or
    /// [`VOID`] in place of success.
    pub(crate) fn write(
        &self,
        place: Option<Place>,
        outcome: &Outcome,
        more: &[(&str, &str)],
    ) -> Result<ExitCode> {
        let void = outcome.health.missed() * 100.0 > self.void_above;
        let document = format!("{:#}\n", json(outcome, void));
        let mut page = None;
        if let Some(place) = place {
            let aside = place.aside().map_err(plain)?;
            write_report(aside, std::slice::from_ref(&outcome.result))?;
            for (name, text) in more.iter().chain(&[("live.json", document.as_str())]) {
                let path = aside.join(name);
                std::fs::write(&path, text)
                    .with_context(|| format!("cannot write {}", path.display()))?;
            }
            write(aside, &outcome.result)?;
            page = Some(place.put().map_err(plain)?.join(REPORT));
        }
        // It may lie in the folder, which has just been replaced.
        if let Some(path) = self.json {
            std::fs::write(path, &document)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        // Standard output is the command's.
        if !self.quiet {
            eprintln!(
                "{}",
                terminal::text_on_error(&tables::flow_table(&outcome.result.summary))
            );
            eprintln!("{}", lag_line(&outcome.health));
            if let Some(page) = page {
                eprintln!("{}", page.display());
            }
        }
        if void {
            eprintln!(
                "slackwater: void: more than {} % of the slots were missed; the machine could not keep up{}",
                self.void_above,
                stolen_words(&outcome.health)
            );
            // A command that failed says more.
            if outcome.code == 0 {
                return Ok(ExitCode::from(VOID));
            }
        }
        Ok(ExitCode::from(outcome.code))
    }
}
