//! `slackwater tcp`: controllers of ours in the kernel's TCP.

use std::ffi::OsString;
use std::net::SocketAddr;
#[cfg(feature = "bpf")]
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
#[cfg(feature = "bpf")]
use slackwater_live::LiveError;
#[cfg(feature = "bpf")]
use slackwater_live::bpf::{
    Ends, Loaded, LoadedEbb, OwnCgroup, Profile, Scope, report_sockets, run,
};
#[cfg(feature = "bpf")]
use slackwater_live::counted::Key;

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
    /// ebb, by BPF and a process beside the kernel: loads it, gives it to the connections named, and steers them by reports
    Ebb(EbbArgs),
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

#[derive(Debug, Args)]
struct EbbArgs {
    /// The sender, with parameters where wanted: ebb, ebb:z=0.5
    #[arg(long, value_name = "NAME", default_value = "ebb")]
    cc: String,
    /// Take a base station's counters there, as `slackwater emulate --edge ebb --reports PORT` sends them
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = super::quic::place)]
    reports: SocketAddr,
    /// Take those with the tag of the key in this file alone, 16 octets at least
    #[arg(long, value_name = "FILE")]
    report_key: Option<PathBuf>,
    #[command(flatten)]
    whose: Whose,
}

pub(crate) fn tcp(args: &TcpArgs) -> Result<ExitCode> {
    match &args.controller {
        Controller::Xrc(args) => xrc(args),
        Controller::Ebb(args) => ebb(args),
    }
}

#[cfg(not(feature = "bpf"))]
fn without_bpf(name: &str, whose: &Whose) -> Result<ExitCode> {
    let Whose {
        cgroup: _,
        netns: _,
        command: _,
    } = whose;
    anyhow::bail!(
        "tcp {name}: this command was built without BPF; build it with: cargo build --release -p slackwater-cli --features bpf"
    )
}

#[cfg(not(feature = "bpf"))]
fn xrc(args: &XrcArgs) -> Result<ExitCode> {
    let XrcArgs { profile: _, whose } = args;
    without_bpf("xrc", whose)
}

#[cfg(not(feature = "bpf"))]
fn ebb(args: &EbbArgs) -> Result<ExitCode> {
    let EbbArgs {
        cc: _,
        reports: _,
        report_key: _,
        whose,
    } = args;
    without_bpf("ebb", whose)
}

#[cfg(feature = "bpf")]
impl Whose {
    /// Loads a controller for these connections by `load`, and stays until their command or a signal ends it.
    fn during<L>(
        &self,
        name: &str,
        load: impl FnOnce(&Scope, Option<&Path>) -> Result<L, LiveError>,
        report: impl FnOnce(&L),
    ) -> Result<ExitCode> {
        // From here on a signal lets us take the programs down, and ends the command.
        let ends = Ends::new()?;
        let own = if self.command.is_empty() {
            None
        } else {
            Some(OwnCgroup::new()?)
        };
        let netns = self.netns.as_ref().map(|name| {
            if name.components().count() == 1 {
                PathBuf::from("/run/netns").join(name)
            } else {
                name.clone()
            }
        });
        let scope = match (&own, &self.cgroup, &netns) {
            (Some(own), _, _) => Scope::Cgroup(own.path().to_owned()),
            (_, Some(path), _) => Scope::Cgroup(path.clone()),
            (_, _, path) => Scope::Netns(path.clone().unwrap_or_default()),
        };
        let loaded = load(&scope, netns.as_deref())?;
        let code = if let Some(own) = own {
            run(own, &self.command, &ends)?
        } else {
            eprintln!("{name} is loaded; Ctrl-C unloads it");
            ends.wait();
            0
        };
        report(&loaded);
        Ok(ExitCode::from(code))
    }
}

#[cfg(feature = "bpf")]
fn xrc(args: &XrcArgs) -> Result<ExitCode> {
    use slackwater_lab::control::phy::xrc::MODES;

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
    let load = |scope: &Scope, _: Option<&Path>| Loaded::new(scope, profile);
    args.whose.during("xrc", load, report)
}

#[cfg(feature = "bpf")]
fn ebb(args: &EbbArgs) -> Result<ExitCode> {
    let key = args.report_key.as_deref().map(Key::read).transpose()?;
    let report = |loaded: &LoadedEbb| {
        let c = loaded.counts();
        eprintln!(
            "ebb: {} connections; ACKs while the radio steered {}, under CUBIC {}; CUBIC took over {} times, {} of them without an order",
            c.connections, c.radio_acks, c.cubic_acks, c.taken_over, c.stale
        );
        let r = c.heard;
        eprintln!(
            "ebb: {} reports read, {} malformed, {} of no connection, {} forged, {} beyond the most in a second; {} samples lost",
            r.told, r.malformed, r.strangers, r.forged, r.flooded, c.lost
        );
    };
    let load = |scope: &Scope, netns: Option<&Path>| {
        let sockets = report_sockets(&[args.reports], netns)?;
        LoadedEbb::new(scope, &args.cc, sockets, key, None)
    };
    args.whose.during("ebb", load, report)
}
