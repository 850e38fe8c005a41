//! A 5G user plane on one machine: a user plane function, a gNB and its UEs, `slackwater emulate --core`.
//!
//! The function and the gNB are those that `slackwater upf` and `slackwater gnb` run; here both stand in one network namespace
//! and meet on its loopback interface. Servers stand there too, behind the function's device. A small control plane orders the
//! sessions by PFCP.

pub mod senders;
mod smf;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use slackwater_core::{Qfi, Teid};
use slackwater_schema::field::Field as _;

use crate::LiveError;
use crate::emulate::plan::MAX_UES;
use crate::emulate::{Outcome, PRIORITY, netns};
use crate::gnb::description::{Address, Endpoint, Gnb, Ue};
use crate::gnb::{self, Up};
use crate::sys;
use crate::upf::config::{Functions, Http, N3, N4, N6, Network};
use crate::upf::{Question, Server, UpfConfig, status};
use smf::Smf;

/// The function's address on N3.
const UPF: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// The control plane's address on N4; the function's is that of N3.
const SMF: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
/// The gNB's.
const GNB: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// UEs: `10.60.0.2` and up. The first address is the server side's.
const UES: [u8; 3] = [10, 60, 0];
/// The function's device, towards the servers.
const DEVICE: &str = "core0";
/// The first downlink tunnel, that of UE 0.
const DOWNLINK: u32 = 0x2000;
/// The `QoS` flow of every session.
const QFI: u8 = 1;

/// What runs, beside the cell and the commands.
#[derive(Clone, Debug)]
pub struct Options {
    /// The gNB without its UEs and addresses, its commands, and how it runs.
    pub gnb: gnb::Options,
    /// UEs.
    pub ues: u32,
    /// What keeps queues short.
    pub functions: Functions,
}

/// What a run left.
#[derive(Debug)]
pub struct Left {
    /// The cell's side.
    pub outcome: Outcome,
    /// The function's status at the end (JSON, as at `/status`).
    pub status: String,
    /// Its sessions at the end (JSON, as at `/sessions`).
    pub sessions: String,
}

/// The server side's address.
pub const fn server() -> Ipv4Addr {
    let [a, b, c] = UES;
    Ipv4Addr::new(a, b, c, 1)
}

const fn ue(k: u32) -> Ipv4Addr {
    let [a, b, c] = UES;
    Ipv4Addr::new(a, b, c, k as u8 + 2)
}

/// What the function is told.
fn upf(options: &Options) -> UpfConfig {
    UpfConfig {
        n4: N4 {
            address: Some(Address(UPF.into())),
            peers: vec![Address(SMF.into())],
            ..N4::example()
        },
        n3: N3 {
            address: Address(UPF.into()),
            // The loopback interface takes every packet whole.
            mtu: u16::MAX,
            ..N3::example()
        },
        n6: N6 {
            interface: DEVICE.to_owned(),
            mtu: 1_500,
            routes: vec![Network {
                address: IpAddr::V4(Ipv4Addr::new(UES[0], UES[1], UES[2], 0)),
                bits: 24,
            }],
            address: Some(Address(server().into())),
            ..N6::example()
        },
        functions: options.functions.clone(),
        http: Http {
            port: 0,
            ..Http::example()
        },
        ..UpfConfig::example()
    }
}

/// What the gNB is told: `uplinks` are the tunnels that the function has chosen.
fn cell(options: &Options, uplinks: &[Teid]) -> Gnb {
    let mut gnb = options.gnb.gnb.clone();
    gnb.n3.address = vec![Address(GNB.into())];
    gnb.ue = (0..)
        .zip(uplinks)
        .map(|(k, uplink)| Ue {
            name: format!("ue{k}"),
            address: vec![Address(ue(k).into())],
            uplink: Endpoint {
                address: Address(UPF.into()),
                teid: uplink.0,
                ..Endpoint::example()
            },
            downlink: DOWNLINK + k,
            qfi: vec![QFI],
            ..Ue::example()
        })
        .collect();
    gnb
}

/// Runs function, gNB and commands until the commands end.
///
/// # Errors
/// Where the cell cannot be had, or the kernel refuses namespaces, sockets, devices or processes.
pub fn run(options: &Options, up: impl FnOnce(&Up)) -> Result<Left, LiveError> {
    if options.ues == 0 || options.ues > MAX_UES {
        return Err(LiveError::Usage(format!(
            "--ues: found {}, expected 1 to {MAX_UES}",
            options.ues
        )));
    }
    netns::isolate()?;
    let function = Function::start(Server::new(&upf(options))?)?;
    let mut smf = Smf::associate(SMF, UPF)?;
    let order = |k| {
        smf.establish(&smf::Ue {
            address: ue(k),
            gnb: GNB,
            downlink: Teid(DOWNLINK + k),
            qfi: Qfi(QFI),
        })
    };
    let uplinks: Vec<Teid> = (0..options.ues).map(order).collect::<Result<_, _>>()?;
    let ended = Arc::new(AtomicBool::new(false));
    let control = {
        let ended = Arc::clone(&ended);
        spawn("smf", move || smf.attend(&ended))?
    };

    let gnb = gnb::Options {
        gnb: cell(options, &uplinks),
        server: Some(server().to_string()),
        ..options.gnb.clone()
    };
    let outcome = gnb::run(&gnb, up);
    let status = function.ask(status::overview);
    let sessions = function.ask(status::sessions);
    ended.store(true, Ordering::Relaxed);
    let controlled = join(control);
    let stopped = function.stop();
    let outcome = outcome?;
    controlled.and(stopped)?;
    Ok(Left {
        outcome,
        status: status?,
        sessions: sessions?,
    })
}

type Thread = JoinHandle<Result<(), LiveError>>;

fn spawn(
    name: &str,
    run: impl FnOnce() -> Result<(), LiveError> + Send + 'static,
) -> Result<Thread, LiveError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map_err(|e| LiveError::kernel("cannot start a thread", e))
}

fn join(thread: Thread) -> Result<(), LiveError> {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The function, on a thread of its own.
#[derive(Debug)]
struct Function {
    questions: SyncSender<Question>,
    thread: Thread,
}

impl Function {
    fn start(mut server: Server) -> Result<Self, LiveError> {
        let (questions, answered) = sync_channel::<Question>(1);
        // Signals are the gNB's to follow: sessions are deleted before the function goes.
        let thread = spawn("upf", move || {
            // A busy machine must not make packets late here: as the cell, behind which it stands.
            let _ignored = sys::realtime(PRIORITY - 1);
            server.run_until(&answered, |_| false)
        })?;
        Ok(Self { questions, thread })
    }

    /// What `question` finds.
    fn ask(&self, question: fn(&Server) -> String) -> Result<String, LiveError> {
        let (answer, answered) = sync_channel(1);
        let question: Question = Box::new(move |server: &mut Server| {
            let _gone = answer.send(question(server));
        });
        let ended = || LiveError::Usage("the user plane function has ended".to_owned());
        self.questions.send(question).map_err(|_| ended())?;
        answered.recv().map_err(|_| ended())
    }

    fn stop(self) -> Result<(), LiveError> {
        // One that has ended says why below.
        let _ended = self.questions.send(Box::new(Server::stop));
        join(self.thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gnb_has_the_tunnels_that_were_chosen() {
        let options = Options {
            gnb: gnb::Options::new(Gnb::example()),
            ues: 3,
            functions: Functions::example(),
        };
        let gnb = cell(&options, &[Teid(7), Teid(9), Teid(8)]);
        gnb.check().unwrap();
        let found: Vec<_> = gnb.ue.iter().map(|u| (u.uplink.teid, u.downlink)).collect();
        assert_eq!(found, [(7, 0x2000), (9, 0x2001), (8, 0x2002)]);
        let upf = upf(&options);
        assert_eq!(UpfConfig::parse("core", &upf.to_toml()).unwrap(), upf);
    }
}
