//! `slackwater repro`: a paper's figures redrawn from our runs, each claim beside ours with a verdict.

#[cfg(target_os = "linux")]
mod live;
mod verdicts;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use slackwater_lab::parallel;
use slackwater_lab::run::Control;
use slackwater_papers::{self as papers, Options, Reproduction, Study};
use slackwater_report::Cell;
use slackwater_report::paper::{Drawing, Panel};
use slackwater_report::validation::{Verdicts, render};
use slackwater_results::check::{Check, Origin, Verdict};
use slackwater_results::output::Place;
use slackwater_results::table::Table;
use slackwater_scenario::{Plugins, bounded};

use crate::files;
use crate::manifest::manifest;
use crate::progress::{self, STEPS, Signal};
use crate::results::plain;
use crate::say::say;
use crate::start::command_line;
use crate::terminal::{self, TableArgs};

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Paper {
    /// XRC: explicit rate control for cellular networks (ICC 2022)
    Xrc,
    /// CECC: early congestion control for cloud VR behind a 5G edge
    Cecc,
    /// vAQM: virtual active queue management (Ericsson Technology Review, 2018)
    Vaqm,
    /// aL4S-CC: adaptable L4S congestion control for real-time media (IEEE OJ-COMS, 2024)
    Al4s,
    /// Tyrus: learned control with radio knowledge (SIGCOMM 2019 posters)
    Tyrus,
    /// ebb: clocked by the radio, a system of this project
    Ebb,
    /// RFC 8867 and RFC 8869: media controllers through the IETF's test cases
    Rfc8867,
    /// Every paper
    All,
}

impl Paper {
    /// Its study, or all.
    pub(crate) fn studies(self) -> Vec<&'static Study> {
        let name = match self {
            Self::Xrc => "xrc",
            Self::Cecc => "cecc",
            Self::Vaqm => "vaqm",
            Self::Al4s => "al4s",
            Self::Tyrus => "tyrus",
            Self::Ebb => "ebb",
            Self::Rfc8867 => "rfc8867",
            Self::All => return papers::ALL.iter().collect(),
        };
        papers::find(name).into_iter().collect()
    }
}

/// `slackwater repro`
#[derive(Debug, Args)]
pub(crate) struct ReproArgs {
    /// The paper
    #[arg(value_enum)]
    paper: Paper,
    /// Seeds of each experiment
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// The first seed
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = crate::seed())]
    seed: u64,
    /// Seeds at most where the interval of a claim lies on both sides of its bound; --quick adds none
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
    max_seeds: u64,
    /// Two seeds and shorter runs: a preview, not a measurement
    #[arg(long)]
    quick: bool,
    /// Test the paper's claims alone: run what they are measured with, draw nothing, write nothing
    #[arg(long, conflicts_with_all = ["out", "saved", "also"])]
    claims: bool,
    /// Run the figures that have a form on real packets (vAQM's Figure 2, CECC's Figures 6 and 7) with this kernel's senders
    /// through function, gNB and cell, beside the simulated ones; needs root
    #[arg(long, conflicts_with_all = ["claims", "saved", "also", "in_sample", "quick"])]
    live: bool,
    /// With --live: length of each run
    #[arg(long, value_name = "N", default_value_t = 20, requires = "live", value_parser = clap::value_parser!(u32).range(3..=600))]
    seconds: u32,
    /// Write the claims and their verdicts into this Markdown file, between its lines `<!-- claims -->` and `<!-- /claims -->`; with
    /// --live, the table between `<!-- live -->` and `<!-- /live -->`
    #[arg(long, value_name = "FILE")]
    docs: Option<PathBuf>,
    /// Make these figures alone, for example --only fig4,fig5; with --live, cases that begin so
    #[arg(long, value_parser = NonEmptyStringValueParser::new(), value_delimiter = ',', value_name = "FIGURE,..")]
    only: Vec<String>,
    /// Measure policies also on recordings that they were trained on
    #[arg(long)]
    in_sample: bool,
    /// These controllers too wherever senders are compared, shown apart from the paper's claims: any of `slackwater list`,
    /// those that the program adds among them
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAME,..",
        conflicts_with = "saved"
    )]
    also: Vec<String>,
    /// Where results go (default: `runs/repro-<paper>`; with `all`, a folder for each paper below DIR)
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// With `all`: take a paper's results from its folder, where this version left them there, in place of running it
    #[arg(long)]
    saved: bool,
    /// Replace other results in the folder
    #[arg(long)]
    force: bool,
    /// Print every check as JSON to standard output, and nothing else there
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    table: TableArgs,
    /// Write no files
    #[arg(long)]
    no_files: bool,
    /// Threads (default: all cores)
    #[arg(long, short, value_name = "N")]
    jobs: Option<usize>,
}

impl ReproArgs {
    /// Nothing is written: there is no page of claims alone.
    const fn no_files(&self) -> bool {
        self.no_files || self.claims
    }
}

pub(crate) fn repro(args: &ReproArgs, plugins: &Plugins) -> Result<ExitCode> {
    progress::catch_interrupts();
    args.table.check(&verdicts::columns("", ""))?;
    let studies = args.paper.studies();
    let options = Options {
        seeds: if args.quick {
            args.seeds.min(2)
        } else {
            args.seeds
        },
        first_seed: args.seed,
        max_seeds: if args.quick { 0 } else { args.max_seeds },
        claims_only: args.claims,
        quick: args.quick,
        jobs: args.jobs.unwrap_or_else(parallel::cores),
        only: args.only.clone(),
        in_sample: args.in_sample,
        also: args.also.clone(),
        plugins: plugins.clone(),
    };
    if args.live {
        #[cfg(not(target_os = "linux"))]
        return super::refuse("--live");
        #[cfg(target_os = "linux")]
        return match studies[..] {
            [study] => live::run(args, study, &options),
            _ => anyhow::bail!("--live: found all, expected one paper"),
        };
    }
    let (mut rows, mut verdicts, mut partial) = (vec![], vec![], None);
    let all = studies.len();
    for study in studies {
        let folder = folder(args, study);
        let saved = args.saved && matches!(args.paper, Paper::All);
        let kept = Verdicts::saved(&folder).filter(|_| saved);
        let mut found = if let Some(kept) = kept {
            eprintln!("{}: taken from {}", study.name, folder.display());
            let text = bounded::text(&folder.join("checks.json"), bounded::RESULTS)?;
            rows.push(serde_json::from_str(&text)?);
            kept
        } else {
            let made = match one(args, study, &folder, &options) {
                // Of several papers, those that are whole are kept.
                Err(error) if progress::interrupted() && !verdicts.is_empty() => {
                    partial = Some(format!("{}: {error}", study.name));
                    break;
                }
                made => made?,
            };
            if let Some(docs) = args.docs.as_ref().filter(|_| made.partial.is_none()) {
                write_docs(docs, &made)?;
            }
            partial.clone_from(&made.partial);
            let json = made.json();
            let found = Verdicts::parse(&json.to_string())?;
            rows.push(json);
            found
        };
        // From the validation page's folder beside the studies'.
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if !args.no_files() {
            found.page = format!("../{name}/index.html");
        }
        verdicts.push(found);
        if partial.is_some() {
            break;
        }
    }
    if args.json {
        say!(
            "{}",
            serde_json::to_string_pretty::<Vec<serde_json::Value>>(&rows)?
        );
    }
    if args.table.csv {
        args.table.print(&verdicts::whole(&verdicts))?;
    }
    // A page of all papers is of whole ones.
    if matches!(args.paper, Paper::All) && !args.no_files() && partial.is_none() {
        let page = validation(args, &verdicts)?;
        if !args.json && !args.table.csv {
            say!("{}", page.display());
        }
    }
    if let Some(missing) = partial {
        eprintln!("slackwater: {missing}");
        if all > 1 {
            eprintln!(
                "{} of {all} papers are there; the same command with --saved goes on",
                verdicts.len()
            );
        }
        return Ok(ExitCode::from(130));
    }
    let rows = verdicts
        .iter()
        .flat_map(|v| v.claims.iter().chain(&v.relations));
    let missed = rows
        .filter(|r| r.origin != Origin::Target)
        .any(|r| r.verdict == Verdict::Misses);
    Ok(ExitCode::from(u8::from(missed)))
}

/// Where a study's results go.
fn folder(args: &ReproArgs, study: &Study) -> PathBuf {
    match (&args.out, args.paper) {
        (Some(out), Paper::All) => out.join(study.name),
        (Some(out), _) => out.clone(),
        (None, _) => Path::new("runs").join(format!("repro-{}", study.name)),
    }
}

/// Writes the page of all claims.
fn validation(args: &ReproArgs, papers: &[Verdicts]) -> Result<PathBuf> {
    let root = args.out.as_deref().unwrap_or(Path::new("runs"));
    let folder = root.join("validation");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let page = folder.join("index.html");
    let text = render(papers, &command_line());
    std::fs::write(&page, text).with_context(|| format!("cannot write {}", page.display()))?;
    Ok(page)
}

fn one(args: &ReproArgs, study: &Study, folder: &Path, options: &Options) -> Result<Reproduction> {
    let place = if args.no_files() {
        None
    } else {
        let manifest = manifest("reproduction", study.name);
        Some(Place::claim(folder, manifest, args.force).map_err(plain)?)
    };
    let signal = Signal::new(folder, place.is_some(), &format!("repro {}", study.name));
    let bar = progress::bar(1);
    bar.set_message(format!("reproducing {}", study.name));
    let start = Instant::now();
    let mut made = study.run(options, &|done, all| {
        bar.set_position((done / all * STEPS as f64) as u64);
        signal.share(done / all);
        if progress::interrupted() {
            Control::Stop
        } else {
            Control::Continue
        }
    })?;
    bar.finish_and_clear();
    let effort = format!(
        "{} runs, {:.0} simulated seconds, {:.0} s on {} threads",
        made.runs,
        made.simulated_s,
        start.elapsed().as_secs_f64(),
        options.jobs
    );
    made.page.command = command_line();
    made.page.effort.clone_from(&effort);
    if options.quick {
        let note = "Made with --quick: two seeds and shorter runs. Some relations need the full length to hold.";
        made.page.notes.insert(0, note.to_owned());
        made.page.title.push_str(" (preview)");
    }
    let mut page = None;
    if let Some(place) = place {
        let aside = place.aside().map_err(plain)?;
        // The error's text names its source already; a chain would say it twice.
        let file = made.write(aside).map_err(|e| anyhow::anyhow!("{e}"))?;
        let name = file.file_name().unwrap_or_default().to_owned();
        let put = match &made.partial {
            Some(missing) => place.put_partial(missing),
            None => place.put(),
        };
        page = Some(put.map_err(plain)?.join(name));
    }
    if !args.json && !args.table.csv {
        show(args, &made)?;
        say!("{effort}");
        if let Some(page) = page {
            say!("{}", page.display());
        }
    }
    Ok(made)
}

fn show(args: &ReproArgs, made: &Reproduction) -> Result<()> {
    say!("{}\n", made.page.title);
    if !made.page.claims.is_empty() {
        let claims = made.page.claims.iter().map(|(_, c)| c).collect();
        verdicts::show(&args.table, "the paper's claims", "where", claims)?;
    }
    for figure in &made.page.figures {
        let own = figure.checks.iter();
        let own: Vec<&Check> = own.filter(|c| c.origin != Origin::Claim).collect();
        if !own.is_empty() {
            verdicts::show(&args.table, &figure.title, "of", own)?;
        }
    }
    let panels = made.page.figures.iter().flat_map(|f| &f.panels);
    let beside = panels.filter(|p| p.id.starts_with("also-"));
    for table in beside.filter_map(comparison) {
        say!("{}", terminal::text(&table));
    }
    for sentence in made.page.headline() {
        say!("{sentence}");
    }
    say!("Seeds {}", made.page.seed_note);
    Ok(())
}

/// Puts the claims of `made` between the marks of the file `docs`.
fn write_docs(docs: &Path, made: &Reproduction) -> Result<()> {
    let text = bounded::text(docs, bounded::DOCUMENT)
        .with_context(|| format!("cannot read {}", docs.display()))?;
    let claims = made.page.claims_markdown(revision(docs).as_deref());
    let text = files::between(&text, "claims", &claims).with_context(|| {
        format!(
            "{}: found no lines <!-- claims --> and <!-- /claims -->",
            docs.display()
        )
    })?;
    files::replace(docs, &text).with_context(|| format!("cannot write {}", docs.display()))
}

/// The revision of the checkout that holds `docs`, `-dirty` where more than pages changed since; `None` where it is none, or git is not
/// there.
fn revision(docs: &Path) -> Option<String> {
    let folder = docs.canonicalize().ok()?.parent()?.to_owned();
    let git = |words: &[&str]| {
        let found = std::process::Command::new("git")
            .arg("-C")
            .arg(&folder)
            .args(words)
            .output()
            .ok()
            .filter(|found| found.status.success())?;
        let text = String::from_utf8(found.stdout).ok()?;
        Some(text.trim().to_owned())
    };
    let head = git(&["rev-parse", "--short=10", "HEAD"])?;
    // The page itself changes by being written.
    let changed = git(&[
        "status",
        "--porcelain",
        "-uno",
        "--",
        ":/",
        ":(exclude,top)*.md",
    ])?;
    let dirty = if changed.is_empty() { "" } else { "-dirty" };
    Some(format!("{head}{dirty}"))
}

/// A table of senders as text: those of the paper's experiments, and those added by `--also`.
fn comparison(panel: &Panel) -> Option<Table> {
    let Drawing::Table(table) = &panel.drawing else {
        return None;
    };
    let heads = table.columns.iter().map(|c| match c.unit.as_str() {
        "" => c.label.clone(),
        unit => format!("{}, {unit}", c.label),
    });
    let heads: Vec<String> = core::iter::once(table.caption.clone())
        .chain(heads)
        .collect();
    let mut text = Table::new(&heads);
    for row in &table.rows {
        let cells = row.cells.iter().map(|cell| match cell {
            Cell::Missing => String::new(),
            Cell::Number(e) | Cell::Seeds(e, _) => e.text(2),
            Cell::Text(words) => words.clone(),
        });
        let cells: Vec<String> = core::iter::once(row.label.clone()).chain(cells).collect();
        text.row(&cells);
    }
    Some(text)
}
