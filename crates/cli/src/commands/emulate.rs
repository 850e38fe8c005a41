//! `slackwater emulate`: a command behind a cell.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use slackwater_lab::core::{Duration, Rate};
use slackwater_lab::wire::trace::MahimahiTrace;
use slackwater_live::beside::Ports;
use slackwater_live::cells::{Edge, Middle, Wanted};
use slackwater_live::core_network;
use slackwater_live::counted::Key;
use slackwater_live::emulate::reach::{Net, Range};
use slackwater_live::emulate::{Options, Outcome, emulate};
use slackwater_live::gnb;
use slackwater_live::logs;
use slackwater_live::privilege::as_caller;
use slackwater_live::upf::config::{Aqm, Frames, Functions};
use slackwater_results::output::Place;
use slackwater_scenario::data::read_bytes;
use slackwater_scenario::field::Field as _;
use slackwater_scenario::{Limit, Plugins};

use crate::leaves::{Leaves, caller};
use crate::quantity::{duration, mbps, room};
use crate::scenario::changes;
use crate::start::command_line;

/// `slackwater emulate`
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("middle").required(true).args(["cell", "trace", "rate"])))]
pub(crate) struct EmulateArgs {
    /// A cell by name (lte, nr, nr-100mhz, nr-gigabit), or a TOML file with a `cell` or `link` section
    #[arg(long, value_name = "NAME|FILE")]
    cell: Option<String>,
    /// A Mahimahi trace towards the command
    #[arg(long, visible_alias = "downlink", value_name = "FILE")]
    trace: Option<PathBuf>,
    /// A Mahimahi trace from the command (default: the way up never delays)
    #[arg(long, visible_alias = "uplink", value_name = "FILE", conflicts_with_all = ["cell", "rate"])]
    up: Option<PathBuf>,
    /// A constant rate towards the command, in Mbit/s: opportunities of 1,504 bytes at whole milliseconds, as Mahimahi's
    #[arg(long, value_name = "MBIT", value_parser = mbps)]
    rate: Option<Rate>,
    /// With --rate: each byte takes its own time, and nothing waits for a millisecond
    #[arg(long, requires = "rate")]
    exact: bool,
    /// Functions inside the network, separated by commas; a system or an agent that the program adds is one too
    #[arg(long, value_delimiter = ',', value_name = "FUNCTION,..", value_parser = EdgeNames)]
    edge: Vec<String>,
    /// Send the cell's reports to this UDP port of the sender's side instead of putting them on acknowledgments (QUIC)
    #[arg(long, value_name = "PORT")]
    reports: Option<u16>,
    /// Sign the counters of --edge ebb with the key in this file, 16 octets at least (HMAC-SHA-256)
    #[arg(long, value_name = "FILE", requires = "reports")]
    report_key: Option<PathBuf>,
    /// Report to each UE its transport blocks, at this UDP port
    #[arg(long, value_name = "PORT")]
    blocks: Option<u16>,
    /// Delay of the wired part each way, for example "20 ms"
    #[arg(long, value_name = "TIME", value_parser = duration)]
    delay: Option<Duration>,
    /// Room of the queue towards the command, for example "64 packets" or "100 kB"; a bare number counts packets
    #[arg(long, value_name = "SIZE", value_parser = room)]
    queue: Option<Limit>,
    /// Put a 5G core network around the cell: a user plane function (vaqm and cecc of --edge are its) and GTP-U between it
    /// and the cell; the server side has a namespace of its own
    #[arg(long, requires = "cell", conflicts_with_all = ["reports", "blocks", "delay", "interface", "mtu", "downlink_log", "uplink_log", "addresses", "nets"])]
    core: bool,
    /// Put the network of a running process behind the cell, in a namespace of its own such as a container's; may be repeated.
    /// Without a command the run lasts as long as the process
    #[arg(long, value_name = "PID", conflicts_with_all = ["core", "isolated", "ues"])]
    attach: Vec<u32>,
    /// A way out of this machine under its own addresses, to --net alone where there are some (root, nft, IPv4)
    #[arg(long, conflicts_with_all = ["core", "isolated"])]
    nat: bool,
    /// UEs, each with a command of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=252))]
    ues: u32,
    /// A shell command on the server side, for the time of the run
    #[arg(long, value_name = "COMMAND")]
    server: Option<String>,
    /// Give the server side a namespace of its own too (without root it always has one)
    #[arg(long)]
    isolated: bool,
    /// IPv4 addresses of the emulator, where others use the shared address space (100.64.0.0/10) on this machine
    #[arg(long, value_name = "CIDR", default_value_t = Range::default())]
    addresses: Range,
    /// A network beyond the server side's address that the command may reach, for example 0.0.0.0/0; may be repeated
    #[arg(long = "net", value_name = "CIDR")]
    nets: Vec<Net>,
    /// Under sudo: run commands and make files as root (default: as the user who called sudo)
    #[arg(long)]
    as_root: bool,
    /// Name of the server side's network interface
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Largest IP packet of the interfaces
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1280..))]
    mtu: u16,
    /// End after this many seconds, and the command with it
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=500_000))]
    seconds: Option<u64>,
    /// Name of the run: results go to `runs/<name>`
    #[arg(long, value_name = "NAME", default_value = "emulate")]
    name: String,
    /// Where results go (default: `runs/<name>`)
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write no files
    #[arg(long)]
    no_files: bool,
    /// Replace what the folder holds, even results of another kind or name
    #[arg(long)]
    force: bool,
    /// Print the summary and the emulator's lag as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A log of the way to the command, as mm-link writes it
    #[arg(long, value_name = "FILE")]
    downlink_log: Option<PathBuf>,
    /// A log of the way from the command, as mm-link writes it
    #[arg(long, value_name = "FILE")]
    uplink_log: Option<PathBuf>,
    /// Set a key of the scenario, for example --set cell.rlc.mode=am
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Connections that are recorded one by one, for each UE; further ones are recorded together
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1000))]
    flows: u32,
    /// Seed of the channel and of all other random draws
    #[arg(long, default_value_t = 1, value_parser = crate::seed())]
    seed: u64,
    /// The run is void where the emulator missed more than this share of its slots, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    void_above: f64,
    /// Show no live view
    #[arg(long)]
    quiet: bool,
    /// The command that runs behind the cell (default: a shell); {server} becomes the server side's address, {ue} the UE's number
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Takes every name, and shows the built-in functions in help and completions.
#[derive(Clone, Copy, Debug)]
struct EdgeNames;

impl TypedValueParser for EdgeNames {
    type Value = String;
    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }
    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let built_in = Edge::BUILT_IN.into_iter();
        Some(Box::new(
            built_in.map(|(name, about)| PossibleValue::new(name).help(about)),
        ))
    }
}

/// Where results go.
fn folder(args: &EmulateArgs) -> PathBuf {
    let own = || Path::new("runs").join(&args.name);
    args.out.clone().unwrap_or_else(own)
}

fn options(args: &EmulateArgs, plugins: &Plugins) -> Result<Options> {
    let middle = match (&args.cell, &args.trace, args.rate) {
        (Some(cell), _, _) => Middle::Cell(cell.clone()),
        (_, Some(down), _) => Middle::Trace {
            down: down.clone(),
            up: args.up.clone(),
        },
        (_, _, rate) => Middle::Rate {
            rate: rate.unwrap_or(Rate::from_mbps(12.0)),
            exact: args.exact,
        },
    };
    let edge = args.edge.iter().map(|name| Edge::find(name, plugins));
    Ok(Options {
        wanted: Wanted {
            name: args.name.clone(),
            middle,
            ues: ues(args),
            delay: args.delay.unwrap_or(Duration::ZERO),
            queue: args.queue.map(|room| room.to_string()),
            edge: edge.collect::<Result<_, _>>()?,
            datagrams: args.reports.is_some(),
            blocks: args.blocks.is_some(),
            seed: args.seed,
            flows: args.flows,
            set: changes(&args.set)?,
            plugins: plugins.clone(),
        },
        command: command_or_shell(args),
        server: args.server.clone(),
        isolated: args.isolated,
        interface: args.interface.clone(),
        mtu: args.mtu,
        limit: args.seconds.map(Duration::from_secs),
        log: args.downlink_log.is_some() || args.uplink_log.is_some(),
        meter: !args.quiet,
        watch: (!args.no_files).then(|| folder(args)),
        interval: Duration::from_millis(20),
        ports: Ports {
            by_flow: false,
            reports: args.reports,
            key: args.report_key.as_deref().map(Key::read).transpose()?,
            blocks: args.blocks,
        },
        addresses: args.addresses,
        attach: args.attach.clone(),
        nat: args.nat,
        nets: args.nets.clone(),
        who: caller(args.as_root),
    })
}

fn write_logs(args: &EmulateArgs, outcome: &Outcome) -> Result<()> {
    let ways = [
        (&args.downlink_log, false, &args.trace),
        (&args.uplink_log, true, &args.up),
    ];
    for (path, up, trace) in ways {
        let Some(path) = path else { continue };
        let trace = trace
            .as_ref()
            .and_then(|t| MahimahiTrace::parse(&read_bytes(t).ok()?).ok());
        let text = logs::mahimahi(
            &outcome.log,
            up,
            trace.as_ref(),
            outcome.length,
            &command_line(),
        );
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// As [`run`], with a user plane function and N3 between server side and cell.
fn run_core(
    args: &EmulateArgs,
    plugins: &Plugins,
    leaves: &Leaves<'_>,
    place: Option<Place>,
) -> Result<ExitCode> {
    let has = |name: &str| args.edge.iter().any(|e| e == name);
    let own = |name: &&String| *name != "vaqm" && *name != "cecc";
    let reports = gnb::description::Reports {
        profile: if has("cecc") || has("vaqm") {
            gnb::description::Profile::Session
        } else {
            gnb::description::Profile::Off
        },
        ..gnb::description::Reports::example()
    };
    let gnb = gnb::description::Gnb {
        name: args.name.clone(),
        cell: args.cell.clone().unwrap_or_default(),
        queue: args.queue.map(|room| room.to_string()),
        edge: args.edge.iter().filter(own).cloned().collect(),
        set: args.set.clone(),
        seed: args.seed,
        flows: args.flows,
        reports,
        ..gnb::description::Gnb::example()
    };
    let options = core_network::Options {
        gnb: gnb::Options {
            command: command_or_shell(args),
            serve: args.server.clone(),
            limit: args.seconds.map(Duration::from_secs),
            meter: !args.quiet,
            watch: leaves.folder.map(Path::to_path_buf),
            plugins: plugins.clone(),
            who: caller(args.as_root),
            ..gnb::Options::new(gnb)
        },
        ues: args.ues,
        functions: Functions {
            vaqm: if has("vaqm") { Aqm::Auto } else { Aqm::Off },
            cecc: if has("cecc") {
                Frames::Hold
            } else {
                Frames::Off
            },
        },
    };
    let left = core_network::run(&options, |_| ())?;
    let status = as_caller(caller(args.as_root), || {
        let more = [
            ("upf.json", left.status.as_str()),
            ("sessions.json", left.sessions.as_str()),
        ];
        leaves.write(place, &left.outcome, &more)
    })?;
    Ok(status)
}

/// A UE for each process, or as many as are wanted.
fn ues(args: &EmulateArgs) -> u32 {
    match args.attach.len() {
        0 => args.ues,
        n => u32::try_from(n).unwrap_or(u32::MAX),
    }
}

/// Nothing where a process runs already.
fn command_or_shell(args: &EmulateArgs) -> Vec<OsString> {
    let shell = || std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
    if args.command.is_empty() && !args.attach.is_empty() {
        Vec::new()
    } else if args.command.is_empty() {
        vec![shell()]
    } else {
        args.command.clone()
    }
}

pub(crate) fn run(args: &EmulateArgs, plugins: &Plugins) -> Result<ExitCode> {
    let folder = folder(args);
    let leaves = Leaves {
        folder: (!args.no_files).then_some(folder.as_path()),
        json: args.json.as_deref(),
        void_above: args.void_above,
        quiet: args.quiet,
        force: args.force,
        set: &args.set,
    };
    let who = caller(args.as_root);
    let place = as_caller(who, || {
        let logs = [args.downlink_log.as_deref(), args.uplink_log.as_deref()];
        leaves.claim("emulation", &args.name, &logs)
    })?;
    if args.core {
        return run_core(args, plugins, &leaves, place);
    }
    let outcome = emulate(&options(args, plugins)?)?;
    let status = as_caller(who, || {
        let status = leaves.write(place, &outcome, &[])?;
        write_logs(args, &outcome)?;
        Ok::<_, anyhow::Error>(status)
    })?;
    if outcome.health.out_of_reach > 0 {
        eprintln!(
            "slackwater: {} packets were for addresses that the command may not reach; --net names more",
            outcome.health.out_of_reach
        );
    }
    Ok(status)
}
