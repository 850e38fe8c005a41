//! Runs a command behind a cell.
//!
//! [`cells`] makes the scenario, [`setup`] the namespaces and devices. `processes` starts the commands, `drive` moves packets
//! between devices and world until they end.

mod attach;
pub mod beside;
pub mod bridge;
pub mod cells;
pub mod clock;
mod drive;
pub mod flows;
pub mod frame;
pub mod inside;
pub mod logs;
mod media;
pub mod merge;
pub mod meta;
pub(crate) mod meter;
mod moderation;
mod nat;
mod net;
pub mod netns;
pub mod plan;
pub(crate) mod processes;
pub mod reach;
pub mod setup;
pub(crate) mod side;
pub(crate) mod teller;
pub mod tun;

use std::ffi::OsString;
use std::path::PathBuf;

use slackwater_core::Duration;
use slackwater_lab::run::{self, RunResult};
use slackwater_scenario::build::Hosts;

use self::attach::Attached;
use self::beside::Ports;
use self::bridge::{LogEntry, Tap};
use self::cells::Wanted;
use self::clock::Lag;
pub(crate) use self::drive::{Drive, PRIORITY};
use self::flows::FlowTable;
use self::meter::View;
use self::nat::Nat;
use self::plan::MAX_UES;
use self::processes::{Commands, Processes};
use self::reach::{Net, Range, Reach};
use self::setup::Network;
use self::side::Side;
use self::teller::Teller;
use crate::LiveError;
use crate::privilege::Caller;
use crate::sys;

/// How an emulation runs, beside what it emulates.
#[derive(Clone, Debug)]
pub struct Options {
    /// What stands between the sides.
    pub wanted: Wanted,
    /// The command behind the cell. `{server}` and `{ue}` in its words become the server side's address and the UE's
    /// number.
    pub command: Vec<OsString>,
    /// A command on the server side, for the time of the run, by way of `sh -c`.
    pub server: Option<String>,
    /// The server side is a namespace of its own too. Without privileges it always is.
    pub isolated: bool,
    /// Name of the server side's device.
    pub interface: Option<String>,
    /// Largest IP packet.
    pub mtu: u16,
    /// The run ends after this time, and the command with it.
    pub limit: Option<Duration>,
    /// Keep arrivals and departures for logs.
    pub log: bool,
    /// Show what happens while it happens: in the terminal's title, since commands write on its lines.
    pub meter: bool,
    /// Folder of results in which a page finds what happens while it happens; none where nothing is written.
    pub watch: Option<PathBuf>,
    /// Time between two samples of the records.
    pub interval: Duration,
    /// Where reports go that do not ride on packets.
    pub ports: Ports,
    /// The range of IPv4 addresses.
    pub addresses: Range,
    /// Processes whose network is behind the cell, a UE each in place of a namespace of its own.
    pub attach: Vec<u32>,
    /// UEs have a way out, under this machine's addresses; to `nets` alone where there are some.
    pub nat: bool,
    /// What UEs may reach of this machine and beyond, beside the server side's own address.
    pub nets: Vec<Net>,
    /// Whose rights commands and files get, where not this process's.
    pub who: Option<Caller>,
}

/// How well the emulator kept up.
#[derive(Clone, Debug)]
pub struct Health {
    /// Lateness of events.
    pub lag: Lag,
    /// Slots of the run.
    pub slots: u64,
    /// Real-time priority was had.
    pub realtime: bool,
    /// Frames that were no packets.
    pub malformed: u64,
    /// Packets that the kernel did not take back.
    pub refused: u64,
    /// Packets of UEs for addresses that they may not reach.
    pub out_of_reach: u64,
    /// Reports sent in datagrams of their own.
    pub reports: u64,
    /// CPU time of the emulator's own thread.
    pub cpu: Duration,
    /// Time that the hypervisor took from this machine's processors meanwhile, all together.
    pub stolen: Duration,
}

impl Health {
    /// Share of slots that the loop missed.
    pub fn missed(&self) -> f64 {
        self.lag.missed_slots as f64 / self.slots.max(1) as f64
    }
}

/// An emulation and what it left.
#[derive(Debug)]
pub struct Outcome {
    /// Records and metrics, as of a simulation.
    pub result: RunResult,
    /// How well it kept up.
    pub health: Health,
    /// Exit code of the command (of the first UE's, where there are several).
    pub code: u8,
    /// Arrivals and departures, where asked for.
    pub log: Vec<LogEntry>,
    /// How long it ran.
    pub length: Duration,
    /// QUIC connections, and how often their spin bit changed, down and up.
    pub spins: Vec<(String, [u64; 2])>,
    /// What came over N3, where a gNB ran.
    pub n3: Option<crate::gnb::n3::Found>,
}

/// Runs `options.command` behind the cell until it ends.
///
/// # Errors
/// Where the cell cannot be had, or the kernel refuses namespaces, devices or processes.
pub fn emulate(options: &Options) -> Result<Outcome, LiveError> {
    let ues = options.wanted.ues;
    if ues == 0 || ues > MAX_UES {
        return Err(LiveError::Usage(format!(
            "--ues: found {ues}, expected 1 to {MAX_UES}"
        )));
    }
    let scenario = options.wanted.scenario()?;
    let isolated = options.isolated || !netns::privileged();
    if isolated && (options.nat || !options.attach.is_empty()) {
        return Err(LiveError::Usage(
            "--nat, --attach: found a server side of its own, expected root and no --isolated"
                .to_owned(),
        ));
    }
    let attached = options.attach.iter().map(|pid| Attached::new(*pid));
    let attached: Vec<Attached> = attached.collect::<Result<_, _>>()?;
    if isolated {
        netns::isolate()?;
    }
    let (name, range) = (options.interface.as_deref(), options.addresses);
    let spaces = attached.iter().map(|a| a.space.share());
    let spaces = spaces.collect::<Result<_, _>>()?;
    let (network, plan) = Network::new(ues, options.mtu, name, range, spaces)?;
    let nat = match &network.side {
        Side::Servers(servers) if options.nat => Some(Nat::start(plan, servers.tun.name())?),
        _ => None,
    };
    // What comes from here on counts: before the loop there is time enough for a signal.
    let since = sys::signals();
    sys::count_signals().map_err(|e| LiveError::kernel("cannot take signals", e))?;
    let _ = nix::sys::prctl::set_timerslack(1);
    let mut processes = Processes::default();
    let commands = Commands {
        server: Some(plan.server().to_string()),
        serve: options.server.clone(),
        ues: (0..ues)
            .map(|ue| (options.command.clone(), plan.ue(ue).to_string()))
            .collect(),
        who: options.who,
    };
    processes.start(&commands, &network.spaces, since)?;
    let run = run::prepare(&scenario, scenario.seed, Hosts::Found, |recorder| {
        let tap = Tap::new(recorder, options.interval, options.log);
        match options.watch {
            Some(_) => tap,
            None => tap.for_summary(),
        }
    })?;
    let watch = options.watch.as_deref();
    let teller = watch.map(|folder| Teller::start(folder, &scenario.name, options.who));
    let realtime = sys::realtime(PRIORITY).is_ok();
    let flows = FlowTable::new(ues, options.wanted.flows);
    let (mtu, name) = (usize::from(options.mtu), &scenario.name);
    let view = View::new(options.meter, commands.any());
    let mut drive = Drive::new(network, run, flows, mtu, view, name);
    if let Some(teller) = teller {
        drive.tell(teller, options.limit);
    }
    drive.set_ports(options.ports.clone());
    if !isolated {
        let mut nets = options.nets.clone();
        if options.nat && nets.is_empty() {
            nets.push(Net::EVERYTHING_V4);
        }
        drive.set_reach(Reach::Only(nets));
    }
    // Without a command it lasts as long as what it is for.
    let over = || {
        let gone = !attached.is_empty() && attached.iter().all(Attached::ended);
        (gone && !commands.any()).then_some(0)
    };
    let code = drive.run(since, options.limit, &mut || {
        processes.ended().or_else(over)
    })?;
    sys::ordinary();
    processes.stop();
    drop(nat);
    let end = drive.now();
    Ok(drive.conclude(&scenario, code, realtime, end))
}
