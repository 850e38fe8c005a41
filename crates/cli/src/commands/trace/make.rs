//! `slackwater trace make`: link traces by a model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use slackwater_lab::core::{Duration, Rate};
use slackwater_lab::traces::{Model, Recipe};
use slackwater_lab::wire::trace::stats::WINDOW;
use slackwater_scenario::{bounded, units};

use super::as_named;
use super::format::Format;
use crate::say::say;

/// The model, as an option knows it.
#[derive(Clone, Copy, Debug)]
struct Named(Model);

impl ValueEnum for Named {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [Named; Model::ALL.len()] = {
            let mut all = [Named(Model::Still); Model::ALL.len()];
            let mut i = 0;
            while i < all.len() {
                all[i] = Named(Model::ALL[i]);
                i += 1;
            }
            all
        };
        &ALL
    }
    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.about()))
    }
}

/// `slackwater trace make`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  slackwater trace make driving --out driving.down
  slackwater trace make handover --mean '20 Mbit/s' --every '5 s' --gap '80 ms' --seed 7 --out handover.down
  slackwater trace make steps --to rate --out steps.csv")]
pub(crate) struct MakeArgs {
    /// What the trace resembles
    #[arg(value_enum)]
    model: Named,
    /// Where to write; a name that ends in .xz, .gz or .zst is packed
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Mean rate, gaps included
    #[arg(long, value_name = "RATE", default_value = "12 Mbit/s", value_parser = units::rate)]
    mean: Rate,
    /// Length
    #[arg(long, value_name = "TIME", default_value = "60 s", value_parser = units::time)]
    length: Duration,
    /// Seed of all random draws
    #[arg(long, default_value_t = 1, value_parser = crate::seed())]
    seed: u64,
    /// Time between two handovers, steps or outages
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = units::time)]
    every: Duration,
    /// Length of each gap (default: 50 ms of a handover, 1 s of an outage)
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    gap: Option<Duration>,
    /// What to write
    #[arg(long, value_enum, default_value = "mahimahi")]
    to: Format,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

/// A longer trace would not fit into what a reader takes.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Neither would a faster one.
const FASTEST: Rate = Rate::from_bps(1_000_000_000);

pub(crate) fn make(args: &MakeArgs) -> Result<ExitCode> {
    let least = Duration::from_millis(1);
    if args.length < least || args.length > LONGEST {
        bail!(
            "--length: found \"{}\", expected \"1 ms\" to \"24 h\"",
            args.length
        );
    }
    if args.mean > FASTEST {
        bail!(
            "--mean: found \"{}\", expected at most \"1 Gbit/s\"",
            args.mean
        );
    }
    if args.every < least {
        bail!(
            "--every: found \"{}\", expected at least \"1 ms\"",
            args.every
        );
    }
    let model = args.model.0;
    let gap = args.gap.unwrap_or(model.gap());
    if gap >= args.every {
        bail!(
            "--gap: found \"{gap}\", expected less than --every, \"{}\"",
            args.every
        );
    }
    let recipe = Recipe {
        model,
        mean: args.mean,
        length: args.length,
        seed: args.seed,
        every: args.every,
        gap,
    };
    let Some(trace) = recipe.make() else {
        bail!(
            "found a mean of \"{}\" over \"{}\", expected room for one opportunity of 1,504 bytes",
            args.mean,
            args.length
        );
    };
    let text = match args.to {
        Format::Mahimahi => trace.to_text(),
        Format::Rate => trace.to_rate(WINDOW).to_csv(),
    };
    put(&args.out, text.as_bytes(), args.force)?;
    say!(
        "{}: {}, {:.1} s, mean {:.3} Mbit/s",
        args.out.display(),
        model.name(),
        trace.period().as_secs_f64(),
        trace.mean_rate().as_mbps()
    );
    Ok(ExitCode::SUCCESS)
}

fn put(path: &Path, text: &[u8], force: bool) -> Result<()> {
    let shown = path.display();
    let cannot = || format!("cannot write {shown}");
    let bytes = as_named(path, text).with_context(cannot)?;
    // The same trace once more changes nothing.
    if !force && bounded::read(path, bytes.len()).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if path.exists() && !force {
        bail!(
            "found {shown}, which holds something else, expected no such file: --force replaces it"
        );
    }
    std::fs::write(path, bytes).with_context(cannot)
}
