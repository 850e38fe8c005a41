//! A 5G user plane on one machine: a user plane function, a gNB and its UEs, `slackwater emulate --core`.
//!
//! The function and the gNB are those that `slackwater upf` and `slackwater gnb` run; here both stand in one network namespace
//! and meet on its loopback interface. Servers stand there too, behind the function's device.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::mpsc::sync_channel;

use slackwater_schema::field::Field as _;

use crate::LiveError;
use crate::emulate::setup::MAX_UES;
use crate::emulate::{Outcome, netns};
use crate::gnb::description::{Address, Endpoint, Gnb, Ue};
use crate::gnb::{self, Up};
use crate::upf::config::{Functions, Http, N3, N6, Network, StaticSession};
use crate::upf::{Question, Server, UpfConfig, status};

/// The function's address on N3.
const UPF: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// The gNB's.
const GNB: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// UEs: `10.60.0.2` and up. The first address is the server side's.
const UES: [u8; 3] = [10, 60, 0];
/// TEIDs here and there, plus the UE's number.
const UPLINK: u32 = 0x1000;
const DOWNLINK: u32 = 0x2000;

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
        n3: N3 {
            address: Address(UPF.into()),
            // The loopback interface takes every packet whole.
            mtu: u16::MAX,
            ..N3::example()
        },
        n6: N6 {
            interface: "core0".to_owned(),
            mtu: 1_500,
            routes: vec![Network {
                address: IpAddr::V4(Ipv4Addr::new(UES[0], UES[1], UES[2], 0)),
                bits: 24,
            }],
            address: Some(Address(server().into())),
        },
        functions: options.functions.clone(),
        http: Http {
            port: 0,
            ..Http::example()
        },
        session: (0..options.ues)
            .map(|k| StaticSession {
                ue: Address(ue(k).into()),
                teid: UPLINK + k,
                gnb: Address(GNB.into()),
                gnb_teid: DOWNLINK + k,
                qfi: 1,
                ..StaticSession::example()
            })
            .collect(),
        ..UpfConfig::example()
    }
}

/// What the gNB is told.
fn cell(options: &Options) -> Gnb {
    let mut gnb = options.gnb.gnb.clone();
    gnb.n3.address = vec![Address(GNB.into())];
    gnb.ue = (0..options.ues)
        .map(|k| Ue {
            name: format!("ue{k}"),
            address: vec![Address(ue(k).into())],
            uplink: Endpoint {
                address: Address(UPF.into()),
                teid: UPLINK + k,
                ..Endpoint::example()
            },
            downlink: DOWNLINK + k,
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
    let mut server = Server::new(&upf(options))?;
    let (questions, asked) = sync_channel::<Question>(1);
    let function = std::thread::Builder::new()
        .name("upf".to_owned())
        .spawn(move || {
            let ended = server.run(&asked);
            ended.map(|()| (status::overview(&server), status::sessions(&server)))
        })
        .map_err(|e| LiveError::kernel("cannot start a thread", e))?;

    let gnb = gnb::Options {
        gnb: cell(options),
        server: Some(self::server().to_string()),
        ..options.gnb.clone()
    };
    let outcome = gnb::run(&gnb, up);
    // Where a signal has ended it, nobody listens any more.
    let _ended = questions.send(Box::new(Server::stop));
    let function = function
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let (status, sessions) = function?;
    Ok(Left {
        outcome: outcome?,
        status,
        sessions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_each_tunnel_agree() {
        let options = Options {
            gnb: gnb::Options::new(Gnb::example()),
            ues: 3,
            functions: Functions::example(),
        };
        let (upf, gnb) = (upf(&options), cell(&options));
        gnb.check().unwrap();
        for (session, ue) in upf.session.iter().zip(&gnb.ue) {
            assert_eq!(
                (session.teid, session.gnb_teid),
                (ue.uplink.teid, ue.downlink)
            );
            assert_eq!(vec![session.ue], ue.address);
            assert_eq!(ue.qfi, [session.qfi]);
        }
        assert_eq!(UpfConfig::parse("core", &upf.to_toml()).unwrap(), upf);
    }
}
