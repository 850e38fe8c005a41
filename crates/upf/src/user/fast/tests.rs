use slackwater_core::{Bytes, Rate};

use super::*;
use crate::rules::{Filter, LocalTunnel, Qer, Rates, RemoteTunnel, UeAddress, Volume};
use crate::upf::{Config, Upf};

const UE: Ipv4Addr = Ipv4Addr::new(10, 60, 0, 1);

fn pdr(id: u16, source: Interface) -> Pdr {
    let tunnel = (source == Interface::Access).then_some(LocalTunnel {
        teid: Teid(7),
        v4: Some(Ipv4Addr::LOCALHOST),
        v6: None,
    });
    Pdr {
        id,
        precedence: 100,
        source,
        remove_outer: tunnel.is_some(),
        tunnel,
        network: None,
        ue: Some(UeAddress {
            v4: Some(UE),
            v6: None,
        }),
        filters: Vec::new(),
        qfis: Vec::new(),
        reports: false,
        far: Some(u32::from(id)),
        qers: vec![1],
        urrs: vec![1],
    }
}

fn rules() -> Rules {
    let far = |id, destination, outer| Far {
        id,
        action: Action::Forward,
        destination: Some(destination),
        network: None,
        outer,
        marking: None,
        bar: None,
    };
    let outer = RemoteTunnel {
        teid: Teid(9),
        address: IpAddr::from([192, 0, 2, 33]),
    };
    Rules {
        pdrs: vec![pdr(1, Interface::Access), pdr(2, Interface::Core)],
        fars: vec![
            far(1, Interface::Core, None),
            far(2, Interface::Access, Some(outer)),
        ],
        qers: vec![Qer {
            id: 1,
            correlation: None,
            gate_up: true,
            gate_down: true,
            maximum: None,
            guaranteed: None,
            qfi: Some(Qfi(9)),
            reflective: false,
            edge: slackwater_wire::pfcp::EdgeOptions::default(),
        }],
        urrs: vec![Urr {
            id: 1,
            volume: true,
            ..Urr::default()
        }],
        ..Rules::default()
    }
}

/// A function without vAQM, and its session.
fn with(change: impl FnOnce(&mut Rules)) -> (Upf, Seid) {
    let mut config = Config::default();
    config.user.functions.vaqm = None;
    let mut upf = Upf::new(config);
    upf.keep_fast();
    let mut rules = rules();
    change(&mut rules);
    let seid = upf.sessions().add(Instant::ZERO, 0, 1);
    upf.sessions().set_rules(seid, rules);
    assert_eq!(upf.take_fast_changes(Instant::ZERO), [seid]);
    (upf, seid)
}

/// Which directions a path outside may have.
fn free_ways(change: impl FnOnce(&mut Rules)) -> [bool; 2] {
    let (upf, seid) = with(change);
    let path = upf.fast_path(seid);
    [path.down.is_some(), path.up.is_some()]
}

#[test]
fn a_path_has_the_addresses_of_both_rules() {
    let (upf, seid) = with(|_| {});
    let path = upf.fast_path(seid);
    let down = path.down.unwrap();
    assert_eq!((down.ue, down.teid, down.qfi), (UE, Teid(9), Some(Qfi(9))));
    // IPv4, UDP, GTP-U and a container of 1,500 octets.
    assert_eq!((down.most, down.urrs), (1_456, vec![1]));
    let up = path.up.unwrap();
    assert_eq!((up.ue, up.teid, up.qfis), (UE, Teid(7), None));
}

#[test]
fn what_somebody_must_look_at_is_left_out() {
    assert_eq!(free_ways(|_| {}), [true, true]);
    let both: [fn(&mut Rules); 7] = [
        |r| {
            let rate = Rate::from_mbps(20.0);
            r.qers[0].maximum = Some(Rates {
                up: rate,
                down: rate,
            });
        },
        |r| r.urrs[0].duration = true,
        |r| r.urrs[0].triggers[0] = trigger::START as u8,
        |r| {
            r.urrs[0].volume_quota = Volume {
                total: Some(Bytes(1)),
                ..Volume::default()
            };
        },
        |r| {
            r.urrs[0].volume_threshold = Volume {
                up: Some(Bytes(1)),
                ..Volume::default()
            };
        },
        |r| {
            for pdr in &mut r.pdrs {
                pdr.filters = vec![Filter::default()];
            }
        },
        |r| {
            for far in &mut r.fars {
                far.action = Action::Drop;
            }
        },
    ];
    for (k, change) in both.into_iter().enumerate() {
        assert_eq!(free_ways(change), [false, false], "{k}");
    }
    let down: [fn(&mut Rules); 4] = [
        |r| r.qers[0].gate_down = false,
        |r| r.fars[1].action = Action::Buffer { notify: true },
        |r| r.fars[1].outer = None,
        |r| {
            // A rule that goes before, with a filter.
            let mut first = pdr(3, Interface::Core);
            first.precedence = 1;
            first.filters = vec![Filter::default()];
            r.pdrs.push(first);
        },
    ];
    for (k, change) in down.into_iter().enumerate() {
        assert_eq!(free_ways(change), [false, true], "{k}");
    }
    assert_eq!(free_ways(|r| r.qers[0].gate_up = false), [true, false]);
    assert_eq!(free_ways(|r| r.pdrs[0].remove_outer = false), [true, false]);
}

#[test]
fn vaqm_and_reports_of_a_flow_keep_packets_here() {
    let (mut upf, seid) = with(|_| {});
    let report = RanReport::Congestion {
        at: Instant::ZERO,
        flow: super::super::packet::flow_of(seid.ue(), Qfi(9)),
        per_10k: 100,
    };
    upf.user.heard(&report);
    assert_eq!(upf.take_fast_changes(Instant::ZERO), [seid]);
    let path = upf.fast_path(seid);
    assert_eq!((path.down, path.up.is_some()), (None, true));

    let functions = super::super::FunctionConfig::default();
    upf.set_functions(Instant::ZERO, functions);
    assert_eq!(upf.take_fast_changes(Instant::ZERO), [seid]);
    assert_eq!(upf.fast_path(seid), FastPath::default());
}

#[test]
fn what_was_forwarded_counts_as_packets_do() {
    let (mut upf, seid) = with(|_| {});
    let urr = rules().urrs[0].clone();
    upf.usage.create(Instant::ZERO, seid, &urr);
    let what = Forwarded {
        packets: 3,
        bytes: 1_000,
    };
    let now = Instant::from_millis(5);
    upf.add_forwarded(now, seid, Direction::Down, &[1], what);
    upf.add_forwarded(now, seid, Direction::Up, &[1], Forwarded::default());
    let report = upf.usage.query(now, seid, 1).unwrap();
    let volume = report.volume.unwrap();
    assert_eq!((volume.down, volume.down_packets), (Bytes(1_000), 3));
    assert_eq!((volume.up, volume.up_packets), (Bytes(0), 0));
    let counters = upf.user().counters();
    assert_eq!((counters.n6_in, counters.n3_out), (3, 3));
    assert_eq!((counters.kernel_down, counters.kernel_up), (3, 0));
    let status = upf.user().status(seid).unwrap();
    assert_eq!((status.down.packets, status.last), (3, now));
}
