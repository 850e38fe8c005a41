//! The cell behind N3: `slackwater gnb`.
//!
//! The world, its loop and what a run leaves are those of [`crate::emulate`]; where an emulation has a device for servers, a
//! gNB has GTP-U. [`description`] says what it is told, [`node`] is its end of N3 without a socket, [`n3`] the sockets. There
//! is no NGAP: tunnels stand in a file, or code builds the description.

pub mod counters;
pub mod description;
mod message;
pub mod n3;
pub mod node;
mod path;
mod reports;
mod session;
mod world;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use slackwater_core::{Duration, Qfi};
use slackwater_lab::run;
use slackwater_scenario::build::Hosts;
use slackwater_scenario::{Plugins, Scenario};
use slackwater_wire::gtpu::{NtpClock, psc};

use self::description::{Address, Gnb, Ue};
use self::n3::N3;
use self::node::Node;
pub use self::reports::Reported;
use crate::LiveError;
use crate::counted::Key;
use crate::emulate::beside::Ports;
use crate::emulate::bridge::Tap;
use crate::emulate::flows::FlowTable;
use crate::emulate::meter::View;
use crate::emulate::netns::{self, Namespace};
use crate::emulate::processes::{Commands, Processes};
use crate::emulate::setup::Network;
use crate::emulate::side::Side;
use crate::emulate::teller::Teller;
use crate::emulate::{Drive, Outcome, PRIORITY};
use crate::privilege::Caller;
use crate::sys;

/// How a gNB runs, beside what it is.
#[derive(Clone, Debug)]
pub struct Options {
    /// What it is.
    pub gnb: Gnb,
    /// What runs in the namespace of each UE that has no command of its own; nothing where it is empty. `{ue}` becomes the
    /// UE's number, `{address}` its address, `{server}` what [`Options::server`] says.
    pub command: Vec<OsString>,
    /// The address of a server beyond the user plane function.
    pub server: Option<String>,
    /// A command in the namespace of the calling thread, for the time of the run, by way of `sh -c`.
    pub serve: Option<String>,
    /// The run ends after this time.
    pub limit: Option<Duration>,
    /// Show what happens while it happens.
    pub meter: bool,
    /// Folder of results in which a page finds what happens while it happens; none where nothing is written.
    pub watch: Option<PathBuf>,
    /// Time between two samples of the records.
    pub interval: Duration,
    /// Systems, agents, queue laws and schedulers that the program adds.
    pub plugins: Plugins,
    /// Whose rights commands and files get, where not this process's.
    pub who: Option<Caller>,
}

impl Options {
    /// A gNB that runs until a signal ends it, or the commands of its UEs end.
    pub fn new(gnb: Gnb) -> Self {
        Self {
            gnb,
            command: Vec::new(),
            server: None,
            serve: None,
            limit: None,
            meter: false,
            watch: None,
            interval: Duration::from_millis(20),
            plugins: Plugins::new(),
            who: None,
        }
    }
}

/// A gNB that can be reached.
#[derive(Clone, Debug)]
pub struct Up {
    /// Its sockets.
    pub n3: Vec<SocketAddr>,
    /// By UE: name, and the file by which its namespace can be entered (`nsenter --net=FILE`).
    pub ues: Vec<(String, String)>,
}

/// Runs the gNB in the namespace of the calling thread until the commands of its UEs end; without commands, until a signal or
/// the limit. `up` is called once N3 and the UEs' namespaces are there, before the commands start.
///
/// # Errors
/// Where the description contradicts itself, or the kernel refuses sockets, namespaces, devices or processes.
pub fn run(options: &Options, up: impl FnOnce(&Up)) -> Result<Outcome, LiveError> {
    let gnb = &options.gnb;
    gnb.check().map_err(|(found, expected)| {
        LiveError::Usage(format!("found {found}, expected {expected}"))
    })?;
    let scenario = world::scenario(gnb, &options.plugins)?;
    if !netns::privileged() {
        return Err(LiveError::Usage(
            "found no rights to make devices and namespaces, expected root, or CAP_NET_ADMIN and CAP_SYS_ADMIN"
                .to_owned(),
        ));
    }
    let uploads = &gnb.reports.uploads;
    let key = uploads.key.as_ref().map(|path| Key::read(path.as_ref()));
    let ports = Ports {
        reports: uploads.port,
        key: key.transpose()?,
        ..Ports::default()
    };
    let node = Node::new(gnb, bearers(gnb, &scenario), NtpClock::default());
    let n3 = N3::open(gnb, node)?;
    let mtu = match gnb.mtu {
        Some(mtu) => mtu,
        None => mtu(gnb)?,
    };
    let mut network = Network {
        side: Side::N3(Box::new(n3)),
        ues: Vec::new(),
        spaces: Vec::new(),
    };
    for ue in &gnb.ue {
        let space = match &ue.namespace {
            Some(name) => Namespace::named(name)?,
            None => Namespace::create()?,
        };
        // Addresses stand in the description: a device without one for IPv6 has none, and one with it no other and no router.
        let v6 = ue.address.iter().any(|a| a.0.is_ipv6());
        let setting = if v6 {
            ("addr_gen_mode", "1")
        } else {
            ("disable_ipv6", "1")
        };
        network.add_ue(space, mtu, &[setting], &lines(ue))?;
    }
    let since = sys::signals();
    sys::count_signals().map_err(|e| LiveError::kernel("cannot take signals", e))?;
    let _ = nix::sys::prctl::set_timerslack(1);
    let entrance = |(ue, space): (&Ue, &Namespace)| (ue.name.clone(), space.file());
    let locals = gnb.n3.address.iter();
    up(&Up {
        n3: locals.map(|a| SocketAddr::new(a.0, gnb.n3.port)).collect(),
        ues: gnb.ue.iter().zip(&network.spaces).map(entrance).collect(),
    });
    let mut processes = Processes::default();
    let commands = commands(options);
    processes.start(&commands, &network.spaces, since)?;
    let run = run::prepare(&scenario, scenario.seed, Hosts::BeyondN3, |recorder| {
        let tap = Tap::new(recorder, options.interval, false);
        match options.watch {
            Some(_) => tap,
            None => tap.for_summary(),
        }
    })?;
    let watch = options.watch.as_deref();
    let teller = watch.map(|folder| Teller::start(folder, &scenario.name, options.who));
    let realtime = sys::realtime(PRIORITY).is_ok();
    let flows = FlowTable::named(labels(gnb).into_iter(), gnb.flows);
    let name = &scenario.name;
    let view = View::new(options.meter, commands.any());
    let mut drive = Drive::new(network, run, flows, usize::from(mtu), view, name);
    if let Some(teller) = teller {
        drive.tell(teller, options.limit);
    }
    drive.set_ports(ports);
    let code = drive.run(since, options.limit, &mut || processes.ended())?;
    sys::ordinary();
    processes.stop();
    let end = drive.now();
    Ok(drive.conclude(&scenario, code, realtime, end))
}

/// By UE, the `QoS` flow by which reports name each of its bearers: the first that it carries.
fn bearers(gnb: &Gnb, scenario: &Scenario) -> Vec<Vec<Qfi>> {
    let of = |(ue, radio): (&Ue, &slackwater_scenario::Ue)| {
        let carries = |q: &u8| {
            radio
                .bearers
                .iter()
                .position(|b| b.qfi.contains(q))
                .unwrap_or(0)
        };
        let name = |k: usize| {
            let own = ue.qfi.iter().find(|q| carries(q) == k);
            let any = || radio.bearers.get(k).and_then(|b| b.qfi.first());
            Qfi(own.or_else(any).copied().unwrap_or(ue.qfi[0]))
        };
        (0..radio.bearers.len().max(1)).map(name).collect()
    };
    gnb.ue.iter().zip(scenario.expanded_ues()).map(of).collect()
}

/// The largest IP packet of a UE that the ways to all user plane functions take in one piece, and at most 1500.
fn mtu(gnb: &Gnb) -> Result<u16, LiveError> {
    // TS 29.281, 5.1; a container with an answer and congestion (TS 38.415, 5.5.2.2) in multiples of four octets.
    let container = if gnb.n3.psc {
        4 + (2 + psc::ANSWER).next_multiple_of(4)
    } else {
        0
    };
    let mut room = 1_500;
    for ue in &gnb.ue {
        let peer = ue.uplink.socket();
        if let Some(local) = n3::local(&gnb.n3, peer) {
            let path = n3::path_mtu(local, peer)?;
            room = room.min(path.saturating_sub(n3::outer(peer.ip()) + 8 + container));
        }
    }
    // RFC 8200, 5: IPv6 needs 1280.
    Ok(room.max(1_280) as u16)
}

/// What gives a UE's device its addresses and routes, by IP version.
fn lines(ue: &Ue) -> [String; 2] {
    let of = |v4: bool, bits: u8, more: &str, all: &str| {
        let address = ue.address.iter().find(|a| a.0.is_ipv4() == v4);
        address.map_or_else(String::new, |Address(ip)| {
            format!("addr add {ip}/{bits} dev cell0{more}\nroute add {all} dev cell0\n")
        })
    };
    [
        of(true, 32, "", "0.0.0.0/0"),
        of(false, 128, " nodad", "::/0"),
    ]
}

fn commands(options: &Options) -> Commands {
    let of = |ue: &Ue| {
        let own: Vec<OsString> = ue.command.iter().map(OsString::from).collect();
        let words = if own.is_empty() {
            options.command.clone()
        } else {
            own
        };
        (words, ue.address[0].to_string())
    };
    Commands {
        server: options.server.clone(),
        serve: options.serve.clone(),
        ues: options.gnb.ue.iter().map(of).collect(),
        who: options.who,
    }
}

/// What labels of connections say of each place.
fn labels(gnb: &Gnb) -> Vec<String> {
    let places = gnb.places();
    let label = |place: &description::Place| {
        let ue = &gnb.ue[place.ue as usize];
        if places.iter().filter(|p| p.ue == place.ue).count() > 1 {
            format!("{} {}", ue.name, place.qfi)
        } else {
            ue.name.clone()
        }
    };
    places.iter().map(label).collect()
}
