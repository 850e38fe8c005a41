//! `slackwater gnb`: the cell behind N3.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use slackwater_lab::core::Duration;
use slackwater_live::gnb::description::Gnb;
use slackwater_live::gnb::{self, Options, Up};
use slackwater_live::privilege::as_caller;
use slackwater_scenario::Plugins;

use crate::leaves::{Leaves, caller};

/// `slackwater gnb`
#[derive(Debug, Args)]
pub(crate) struct GnbArgs {
    /// What the gNB is: its cell, N3, and the tunnels of its UEs (docs/gnb.md)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Another cell than the file's: a name (lte, nr, nr-100mhz, nr-gigabit), or a TOML file with a `cell` section
    #[arg(long, value_name = "NAME|FILE")]
    cell: Option<String>,
    /// Set a key of the cell's scenario, for example --set cell.rlc.mode=am
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// End after this many seconds, and the commands with it
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=500_000))]
    seconds: Option<u64>,
    /// The address that {server} stands for in commands
    #[arg(long, value_name = "ADDRESS")]
    server: Option<String>,
    /// Where results go (default: `runs/<name>`, the name being the file's)
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write no files
    #[arg(long)]
    no_files: bool,
    /// Replace what the folder holds, even results of another kind or name
    #[arg(long)]
    force: bool,
    /// Print the summary, the lag and what came over N3 as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The run is void where the gNB missed more than this share of its slots, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    void_above: f64,
    /// Show no live view
    #[arg(long)]
    quiet: bool,
    /// Under sudo: run commands and make files as root (default: as the user who called sudo)
    #[arg(long)]
    as_root: bool,
    /// What runs in the namespace of each UE without a command of its own (default: nothing, until a signal);
    /// {ue} becomes the UE's number, {address} its address
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Says that the gNB can be reached, and how its UEs can be entered.
fn say(up: &Up) {
    let n3: Vec<String> = up.n3.iter().map(ToString::to_string).collect();
    eprintln!("N3 at {}", n3.join(", "));
    for (name, file) in &up.ues {
        eprintln!("{name}: nsenter --net={file}");
    }
}

pub(crate) fn run(args: &GnbArgs, plugins: &Plugins) -> Result<ExitCode> {
    let mut gnb = Gnb::load(&args.file)?;
    if let Some(cell) = &args.cell {
        gnb.cell.clone_from(cell);
    }
    gnb.set.extend(args.set.iter().cloned());
    let own = Path::new("runs").join(&gnb.name);
    let folder = args.out.clone().unwrap_or(own);
    let leaves = Leaves {
        folder: (!args.no_files).then_some(folder.as_path()),
        json: args.json.as_deref(),
        void_above: args.void_above,
        quiet: args.quiet,
        force: args.force,
        set: &[],
    };
    let who = caller(args.as_root);
    let place = as_caller(who, || leaves.claim("base station", &gnb.name, &[]))?;
    let options = Options {
        command: args.command.clone(),
        server: args.server.clone(),
        limit: args.seconds.map(Duration::from_secs),
        meter: !args.quiet,
        watch: leaves.folder.map(Path::to_path_buf),
        plugins: plugins.clone(),
        who,
        ..Options::new(gnb)
    };
    let outcome = gnb::run(&options, say)?;
    as_caller(who, || leaves.write(place, &outcome, &[]))
}
