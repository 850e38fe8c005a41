//! The same log through the user plane function: packets as octets of N6 and N3, reports as octets of N3.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use slackwater_core::{Bytes, Direction, Ecn, FlowId, Instant, Qfi, Rate, Teid, UeId};
use slackwater_edge::Session;
use slackwater_upf::rules::{
    Interface, LocalTunnel, Pdr, Qer, Rates, RemoteTunnel, Rules, UeAddress,
};
use slackwater_upf::testing::session::far;
use slackwater_upf::user::{FunctionConfig, UserConfig};
use slackwater_upf::{Config, Output, Upf};
use slackwater_wire::IpVersion;
use slackwater_wire::gtpu::{Header, Message};
use slackwater_wire::packet::encode;
use slackwater_wire::pfcp::EdgeOptions;

use super::simulated::{Left, REPORTS, Run, Told, comparable, datagrams, qfi_of, uplink};

const GNB: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 168, 1, 7)), 2152);

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    pub(crate) left: Vec<Left>,
    pub(crate) dropped: u64,
    pub(crate) held: Bytes,
}

fn pdr(id: u16, source: Interface, tunnel: Option<Teid>, flow: Option<FlowId>) -> Pdr {
    Pdr {
        id,
        precedence: 100,
        source,
        tunnel: tunnel.map(|teid| LocalTunnel {
            teid,
            v4: Some(Ipv4Addr::LOCALHOST),
            v6: None,
        }),
        network: None,
        ue: flow.map(|flow| {
            let [_, a, b, c] = flow.0.to_be_bytes();
            UeAddress {
                v4: Some(Ipv4Addr::new(10, a, b, c)),
                v6: None,
            }
        }),
        filters: Vec::new(),
        qfis: Vec::new(),
        remove_outer: source == Interface::Access,
        reports: tunnel == Some(REPORTS),
        far: Some(if source == Interface::Access { 1 } else { 2 }),
        qers: Vec::new(),
        urrs: Vec::new(),
    }
}

fn qer(id: u32, qfi: Option<Qfi>, guaranteed: Rate, maximum: Rate) -> Qer {
    // Uplink rates are bounded nowhere in the simulator.
    let down = |rate: Rate| {
        (rate > Rate::ZERO).then_some(Rates {
            up: Rate::from_bps(1_000_000_000_000),
            down: rate,
        })
    };
    Qer {
        id,
        correlation: None,
        gate_up: true,
        gate_down: true,
        maximum: down(maximum),
        guaranteed: down(guaranteed),
        qfi,
        reflective: false,
        edge: EdgeOptions::default(),
    }
}

/// The session of a UE: each flow has an address of its own.
fn rules(run: &Run, ue: UeId, bounded: bool) -> Rules {
    let mut rules = Rules {
        fars: vec![
            far(1, Interface::Core, None),
            far(
                2,
                Interface::Access,
                Some(RemoteTunnel {
                    teid: Teid(0x900 + ue.0),
                    address: GNB.ip(),
                }),
            ),
        ],
        ..Rules::default()
    };
    let mut guaranteed_of = std::collections::BTreeMap::new();
    for (_, told) in &run.told {
        if let Told::Packet(_, gbr_flow, packet) = told {
            guaranteed_of.insert(packet.flow, *gbr_flow);
        }
    }
    for session in &run.sessions {
        let Session::Up {
            ue: of,
            gbr_flow,
            guaranteed,
            maximum,
        } = *session
        else {
            continue;
        };
        if of == ue {
            let maximum = if bounded { maximum } else { Rate::ZERO };
            let id = 1 + gbr_flow.map_or(0, |q| u32::from(q.0));
            rules.qers.push(qer(id, gbr_flow, guaranteed, maximum));
        }
    }
    for (flow, _) in run.ues.iter().filter(|(_, of)| **of == ue) {
        let at = flow.0 as u16 * 2 + 1;
        let guaranteed = guaranteed_of.get(flow).copied().flatten();
        let qers = if let Some(qfi) = guaranteed {
            vec![1 + u32::from(qfi.0)]
        } else {
            let id = 1_000 + flow.0;
            rules
                .qers
                .push(qer(id, Some(qfi_of(*flow)), Rate::ZERO, Rate::ZERO));
            vec![1, id]
        };
        let mut up = pdr(at, Interface::Access, Some(uplink(ue)), Some(*flow));
        let mut down = pdr(at + 1, Interface::Core, None, Some(*flow));
        up.qers.clone_from(&qers);
        down.qers = qers;
        rules.pdrs.extend([up, down]);
    }
    rules
}

pub(crate) fn replay(run: &Run, functions: FunctionConfig) -> Replayed {
    // Without vAQM rates would be policed, which the simulator does not.
    let bounded = functions.vaqm.is_some();
    let mut upf = Upf::new(Config {
        user: UserConfig {
            functions,
            // Buffers have the simulator's lengths, and nothing is cut.
            n3_mtu: 9_000,
            ..UserConfig::default()
        },
        ..Config::default()
    });
    let ues = run.ues.values().map(|ue| ue.0).max().unwrap_or(0) + 1;
    for ue in (0..ues).map(UeId) {
        let seid = upf.sessions().add(Instant::ZERO, 0, 0);
        assert_eq!(seid.ue(), ue);
        upf.sessions().set_rules(seid, rules(run, ue, bounded));
    }
    let seid = upf.sessions().add(Instant::ZERO, 0, 0);
    let tunnel = pdr(1, Interface::Access, Some(REPORTS), None);
    let reports = Rules {
        pdrs: vec![tunnel],
        ..Rules::default()
    };
    upf.sessions().set_rules(seid, reports);

    let mut out = Replayed::default();
    let mut seq = 0;
    collect(&mut upf, Instant::ZERO, &mut out);
    for (now, told) in &run.told {
        match told {
            Told::Packet(direction, _, packet) => {
                let mut octets = Vec::new();
                encode(packet, IpVersion::V4, usize::MAX, &mut octets);
                match direction {
                    Direction::Down => upf.on_n6(*now, octets),
                    Direction::Up => {
                        let teid = uplink(run.ues[&packet.flow]);
                        let mut datagram = vec![0; 8];
                        Header::g_pdu(teid)
                            .write(&[], octets.len(), &mut datagram)
                            .unwrap();
                        datagram.extend(octets);
                        upf.on_n3(*now, GNB, datagram, Ecn::NotEct);
                    }
                }
            }
            Told::Reports(reports) => {
                for datagram in datagrams(run, reports, seq) {
                    upf.on_n3(*now, GNB, datagram, Ecn::NotEct);
                }
                seq += 1;
            }
            Told::Run => {}
        }
        collect(&mut upf, *now, &mut out);
    }
    let counters = upf.user().counters();
    out.dropped = counters.queue_dropped;
    out.held = upf.user().held();
    let odd = [
        counters.spoofed,
        counters.no_rule,
        counters.report_stale,
        counters.report_overtaken,
        counters.report_values_skipped,
        counters.metered,
    ];
    assert_eq!(odd, [0; 6]);
    assert_eq!(counters.reports, run.reports);
    out
}

fn collect(upf: &mut Upf, now: Instant, out: &mut Replayed) {
    while let Some(output) = upf.poll(now) {
        match output {
            Output::N3 { bytes, .. } => {
                let message = Message::parse(bytes.as_ref()).unwrap();
                out.left
                    .push((now, Direction::Down, comparable(message.payload())));
            }
            Output::N6(bytes) => out
                .left
                .push((now, Direction::Up, comparable(bytes.as_ref()))),
            Output::N4 { .. } => panic!("no control plane is there"),
        }
    }
}
