//! The `slackwater` command, as a library: a program of one's own gets the whole command with controllers and systems
//! added to it by [`main_with`] (docs/tutorials).
//!
//! Tables and JSON go to standard output, progress and errors to standard error. Exit status: 0 fine, 1 a check
//! failed, 2 bad usage or input, 75 a run with real packets that is void ([`VOID`]), 130 interrupted (128 and the signal's number
//! where packets are real).

mod commands;
mod complete;
mod examples;
mod files;
#[cfg(target_os = "linux")]
mod leaves;
mod manifest;
mod ns3;
#[cfg(target_os = "linux")]
mod outcome;
mod progress;
#[cfg(target_os = "linux")]
mod quantity;
mod results;
mod say;
mod scenario;
mod start;
mod terminal;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
pub use slackwater_lab as lab;
use slackwater_lab::until::Until;
use slackwater_live::LiveError;
use slackwater_scenario::Plugins;
pub use start::Start;

/// Cross-layer congestion control for 4G and 5G: simulate cells, links and senders.
#[derive(Debug, Parser)]
#[command(
    name = "slackwater",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
struct Cli {
    /// Colour: auto is on a terminal alone, and heeds `NO_COLOR` and `CLICOLOR_FORCE`
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    color: clap::ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Simulate one scenario; leaves `runs/<name>/` with report.html, Parquet, qlog
    Run(RunArgs),
    /// Simulate every combination of a scenario's `[vary]` lists and compare them
    Compare(CompareArgs),
    /// List folders of results: what they hold, and which command made them
    Ls(commands::folders::LsArgs),
    /// Show results with what made them, or a scenario with every default filled in
    Show(commands::folders::ShowArgs),
    /// Say what two folders of results differ in: keys of their scenarios, and metrics
    Diff(commands::folders::diff::DiffArgs),
    /// Run what a folder of results holds once more, and say whether the numbers are equal to the digit
    Rerun(commands::folders::rerun::RerunArgs),
    /// Remove folders of results, and nothing else
    Rm(commands::folders::RmArgs),
    /// Pack results with their scenarios, traces and hashes: an artifact for a paper
    Bundle(commands::folders::bundle::BundleArgs),
    /// Run a command behind a cell or link, with real packets
    Emulate(Box<commands::emulate::EmulateArgs>),
    /// Run a user plane function: PFCP, GTP-U, and short queues for its sessions
    Upf(commands::upf::UpfArgs),
    /// Run a cell behind N3: a gNB for a user plane function, with real packets
    Gnb(Box<commands::gnb::GnbArgs>),
    /// Show and convert link traces
    Trace {
        #[command(subcommand)]
        command: commands::trace::TraceCommand,
    },
    /// Begin a scenario, a controller, a scheduler or a system of one's own
    New(commands::new::NewArgs),
    /// Say what a key, a controller, a queue law, a metric, a column or a claim is
    Explain(commands::explain::ExplainArgs),
    /// Print the JSON Schema of scenario files
    Schema,
    /// List what a scenario or a command may name: scenarios, controllers, queue laws, traces
    List(commands::list::ListArgs),
    /// Compare with measurements of the Linux kernel or of ns-3
    Validate(commands::validate::ValidateArgs),
    /// Redraw a paper's figures from our runs, with a verdict for each of its claims
    Repro(commands::repro::ReproArgs),
    /// List what the papers claim, each with its bound
    Claims(commands::claims::ClaimsArgs),
    /// Compare all systems in the same scenarios: rate, delay, rank and cost
    Arena(commands::arena::ArenaArgs),
    /// Run this kernel's TCP connections with one of our controllers
    Tcp(commands::tcp::TcpArgs),
    /// Transfer files over QUIC on sockets, with one of our controllers
    Quic(commands::quic::QuicArgs),
    /// Send or receive video by WebRTC, with one of our media controllers
    Rtc(commands::rtc::RtcArgs),
    /// Show runs, overlays and what is running on a local page
    Serve(commands::serve::ServeArgs),
    /// Train a congestion controller (Python: `slackwater[train]`)
    #[command(disable_help_flag = true)]
    Train(commands::python::PythonArgs),
    /// Run every combination of a grid file, on all cores or on a Ray cluster (Python: `slackwater[sweep]`)
    #[command(disable_help_flag = true)]
    Sweep(commands::python::PythonArgs),
    /// Query the results of all runs in SQL (Python: `slackwater[sql]`)
    #[command(disable_help_flag = true)]
    Sql(commands::python::PythonArgs),
    /// Measure CPU seconds per simulated second
    Bench(commands::bench::BenchArgs),
    /// Check what this machine offers
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a shell completion script
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, one for each command, into a folder
    #[command(hide = true)]
    Man {
        /// The folder, which must be there
        folder: PathBuf,
    },
}

/// Exit status, in place of success, of a run with real packets that is void since the machine could not keep up. The same command may do
/// better later (`EX_TEMPFAIL` of sysexits.h).
pub const VOID: u8 = 75;

/// What `run` and `compare` share.
#[derive(Debug, Args)]
pub(crate) struct ScenarioArgs {
    /// A scenario file, or the name of an embedded one (see `slackwater list`)
    scenario: String,
    /// Set a key, for example --set link.file=x.down --set flow.controller=bbr
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Where results go (default: `runs/<name>`; of a comparison `runs/<name>-compare`, with --live `runs/<name>-live`)
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace other results in that folder; those of the same scenario are replaced anyway
    #[arg(long)]
    force: bool,
    /// Print machine-readable results to standard output, and nothing else there
    #[arg(long)]
    json: bool,
    /// Write no files
    #[arg(long)]
    no_files: bool,
    #[command(flatten)]
    table: terminal::TableArgs,
}

/// `slackwater run`
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    common: ScenarioArgs,
    /// Seed of all random draws (default: the scenario's)
    #[arg(long, value_parser = seed())]
    seed: Option<u64>,
    /// Run it with the kernel's TCP senders as well, in real time, and compare both; `vary` counts
    #[arg(long)]
    live: bool,
}

/// `slackwater compare`
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    common: ScenarioArgs,
    /// Controllers to compare, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAME,..")]
    controllers: Vec<String>,
    /// Number of seeds, counted up from --seed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: Option<u64>,
    /// Add seeds until half of the 95 % interval is at most this share of the mean: "2 %" of the total goodput, or of a metric such as
    /// `"queue_p95=5 %"`; more than once for several
    #[arg(long, value_name = "[METRIC=]SHARE")]
    until: Vec<Until>,
    /// Seeds at most with --until
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(2..=10_000))]
    max_seeds: u64,
    /// First seed
    #[arg(long, value_parser = seed())]
    seed: Option<u64>,
    /// Vary another key, for example --vary cell.rlc.buffer="64 packets;256 packets"
    #[arg(long = "vary", value_name = "KEY=V1;V2;..")]
    vary: Vec<String>,
    /// Threads (default: all cores)
    #[arg(long, short, value_name = "N")]
    jobs: Option<usize>,
}

/// Seeds that every file format of ours can hold: TOML's integers have a sign.
fn seed() -> impl clap::builder::TypedValueParser<Value = u64> {
    |text: &str| {
        let number = text.parse().ok().filter(|n| i64::try_from(*n).is_ok());
        number.ok_or_else(|| format!("expected a whole number from 0 to {}", i64::MAX))
    }
}

/// Options take negative numbers: what is wrong with one is then said by the option, not by the parser.
fn negative_numbers(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| {
            let valued = !arg.is_positional() && arg.get_action().takes_values();
            arg.allow_negative_numbers(valued)
        })
        .mut_subcommands(negative_numbers)
}

/// Says what is wrong with the words, or what was wanted to know, and ends as clap does. Numbers are clap's to parse: what Rust says of one is
/// put in words that say what to write.
fn complain(error: &clap::Error) -> ! {
    const SAID: [(&str, &str); 4] = [
        ("invalid digit found in string", "expected a whole number"),
        (
            "cannot parse integer from empty string",
            "expected a whole number",
        ),
        ("invalid float literal", "expected a number"),
        (
            "number too large to fit in target type",
            "expected a smaller number",
        ),
    ];
    let text = error.render().ansi().to_string();
    let Some((said, better)) = SAID.iter().find(|(said, _)| text.contains(said)) else {
        error.exit()
    };
    let mut out = anstream::stderr();
    let _ = std::io::Write::write_all(&mut out, text.replace(said, better).as_bytes());
    std::process::exit(error.exit_code())
}

/// The command with its examples.
fn command() -> clap::Command {
    negative_numbers(examples::shown(<Cli as clap::CommandFactory>::command()))
}

/// Runs the command that this process was given, where scenarios may also name what `plugins` adds.
pub fn main_with(plugins: &Plugins) -> ExitCode {
    main_from(Start::of_process(), plugins)
}

/// Runs the command that `start` says, as [`main_with`] does that of this process: for a program that is not the process, such
/// as a module inside of an interpreter. For one command a process.
pub fn main_from(start: Start, plugins: &Plugins) -> ExitCode {
    let words = start::keep(start);
    // The processes between the emulator and the command behind the cell are this program too.
    #[cfg(target_os = "linux")]
    if let Some((word, rest)) = words.split_first()
        && word == slackwater_live::inside::WORD
    {
        return slackwater_live::inside::main(rest.iter().cloned());
    }
    match complete::answered(<Cli as clap::CommandFactory>::command, words, plugins) {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(e) => e.exit(),
    }
    let all = std::iter::once("slackwater".into()).chain(words.iter().cloned());
    terminal::follow(terminal::colour_of(words));
    let matches = command().try_get_matches_from(all);
    let matches = matches.unwrap_or_else(|e| complain(&e));
    let cli =
        <Cli as clap::FromArgMatches>::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    terminal::begin(cli.color);
    let result = match cli.command {
        Command::Run(args) => commands::run::run(&args, plugins),
        Command::Compare(args) => commands::compare::compare(&args, plugins),
        Command::Ls(args) => commands::folders::ls(&args),
        Command::Show(args) => commands::folders::show(&args, plugins),
        Command::Diff(args) => commands::folders::diff::diff(&args),
        Command::Rerun(args) => commands::folders::rerun::rerun(&args, plugins),
        Command::Rm(args) => commands::folders::rm(&args),
        Command::Bundle(args) => commands::folders::bundle::bundle(&args),
        Command::Emulate(args) => commands::emulate::run(&args, plugins),
        Command::Upf(args) => commands::upf::upf(&args),
        Command::Gnb(args) => commands::gnb::run(&args, plugins),
        Command::Trace { command } => commands::trace::trace(command),
        Command::New(args) => commands::new::new(&args),
        Command::Explain(args) => commands::explain::explain(&args, plugins),
        Command::Schema => commands::list::schema(),
        Command::List(args) => commands::list::list(&args, plugins),
        Command::Validate(args) => commands::validate::validate(&args),
        Command::Repro(args) => commands::repro::repro(&args, plugins),
        Command::Claims(args) => commands::claims::claims(&args),
        Command::Arena(args) => commands::arena::arena(&args, plugins),
        Command::Tcp(args) => commands::tcp::tcp(&args),
        Command::Quic(args) => commands::quic::quic(&args, plugins),
        Command::Rtc(args) => commands::rtc::rtc(&args, plugins),
        Command::Serve(args) => commands::serve::serve(&args),
        Command::Train(args) => commands::python::module("slackwater.train", &args.args),
        Command::Sweep(args) => commands::python::module("slackwater.grid", &args.args),
        Command::Sql(args) => commands::python::module("slackwater.sql", &args.args),
        Command::Bench(args) => commands::bench::bench(&args),
        Command::Doctor { json } => commands::doctor::doctor(json),
        Command::Completions { shell } => {
            let written = complete::script(shell, &mut std::io::stdout());
            written.map(|()| ExitCode::SUCCESS)
        }
        Command::Man { folder } => {
            let command = examples::shown(<Cli as clap::CommandFactory>::command());
            let written = clap_mangen::generate_to(command, &folder);
            written.map(|()| ExitCode::SUCCESS).map_err(|e| {
                anyhow::anyhow!("{}: cannot write manual pages there: {e}", folder.display())
            })
        }
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            if progress::interrupted() {
                // What is kept, and how to go on, where there is more to say than that.
                match format!("{error:#}") {
                    text if text.starts_with("interrupted ") => eprintln!("slackwater: {text}"),
                    _ => eprintln!("slackwater: interrupted, nothing is kept"),
                }
                return ExitCode::from(130);
            }
            eprintln!("slackwater: {}", say::in_words(&format!("{error:#}")));
            match error.downcast_ref() {
                Some(LiveError::Interrupted { code }) => ExitCode::from(*code),
                _ => ExitCode::from(2),
            }
        }
    }
}

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
