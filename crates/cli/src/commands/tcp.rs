//! `slackwater tcp`: controllers of ours in the kernel's TCP.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};

/// `slackwater tcp`
#[derive(Debug, Args)]
pub(crate) struct TcpArgs {
    #[command(subcommand)]
    controller: Controller,
}

#[derive(Debug, Subcommand)]
enum Controller {
    /// XRC, by BPF: loads it, gives it to the connections named, stays until the command or Ctrl-C ends it
    Xrc(XrcArgs),
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ProfileName {
    /// The product's
    #[default]
    Default,
    /// The paper's words
    Paper,
}

#[derive(Debug, Args)]
#[group(id = "whose", required = true, multiple = false)]
struct Whose {
    /// Connections of processes in this cgroup (version 2) and below
    #[arg(long, value_name = "PATH")]
    cgroup: Option<PathBuf>,
    /// Connections in this network namespace: a name of `ip netns`, or a file
    #[arg(long, value_name = "NAME|PATH")]
    netns: Option<PathBuf>,
    /// Connections of this command and its children, all of which end with it, or by a signal
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Debug, Args)]
struct XrcArgs {
    /// Which of XRC's profiles
    #[arg(long, value_enum, default_value_t)]
    profile: ProfileName,
    #[command(flatten)]
    whose: Whose,
}

pub(crate) fn tcp(args: &TcpArgs) -> Result<ExitCode> {
    let Controller::Xrc(args) = &args.controller;
    xrc(args)
}

#[cfg(not(feature = "bpf"))]
fn xrc(args: &XrcArgs) -> Result<ExitCode> {
    let XrcArgs { profile: _, whose } = args;
    let Whose {
        cgroup: _,
        netns: _,
        command: _,
    } = whose;
    anyhow::bail!(
        "tcp xrc: this command was built without BPF; build it with: cargo build --release -p slackwater-cli --features bpf"
    )
}

#[cfg(feature = "bpf")]
fn xrc(args: &XrcArgs) -> Result<ExitCode> {
    use slackwater_lab::control::phy::xrc::MODES;
    use slackwater_live::bpf::{Ends, Loaded, OwnCgroup, Profile, Scope, run};

    let profile = match args.profile {
        ProfileName::Default => Profile::Default,
        ProfileName::Paper => Profile::Paper,
    };
    let report = |loaded: &Loaded| {
        let c = loaded.counts();
        eprintln!(
            "xrc: {} connections, {} reports read, {} refused",
            c.connections, c.read, c.refused
        );
        let modes = MODES.iter().zip(c.modes).filter(|(_, n)| *n > 0);
        let modes: Vec<String> = modes.map(|(name, n)| format!("{name} {n}")).collect();
        eprintln!("xrc: ACKs by mode: {}", modes.join(", "));
        let x = loaded.last();
        eprintln!(
            "xrc: last: cwnd {:.1} of twnd {:.1}, gamma {:.2}, reported {:.1} Mbit/s, HoL {:.1} ms, sigma {:.1} ms, \
             least RTT {:.1} ms, jitter {:.1} ms, way back {:.1} ms, {} verdicts of a bottleneck beyond the radio",
            x.cwnd,
            x.twnd,
            x.gamma,
            x.rate_bps as f64 * 1e-6,
            x.hol_us as f64 * 1e-3,
            x.sigma_us as f64 * 1e-3,
            x.min_rtt_us as f64 * 1e-3,
            x.jitter_us as f64 * 1e-3,
            x.back_us as f64 * 1e-3,
            x.verdicts,
        );
    };
    // From here on a signal lets us take the programs down, and ends the command.
    let ends = Ends::new()?;
    let own = if args.whose.command.is_empty() {
        None
    } else {
        Some(OwnCgroup::new()?)
    };
    let scope = match (&own, &args.whose.cgroup, &args.whose.netns) {
        (Some(own), _, _) => Scope::Cgroup(own.path().to_owned()),
        (_, Some(path), _) => Scope::Cgroup(path.clone()),
        (_, _, Some(name)) if name.components().count() == 1 => {
            Scope::Netns(PathBuf::from("/run/netns").join(name))
        }
        (_, _, name) => Scope::Netns(name.clone().unwrap_or_default()),
    };
    let loaded = Loaded::new(&scope, profile)?;
    let code = if let Some(own) = own {
        run(own, &args.whose.command, &ends)?
    } else {
        eprintln!("xrc is loaded; Ctrl-C unloads it");
        ends.wait();
        0
    };
    report(&loaded);
    Ok(ExitCode::from(code))
}
