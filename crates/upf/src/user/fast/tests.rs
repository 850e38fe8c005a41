use slackwater_core::{Bytes, Duration, Rate};

use super::*;
use crate::rules::{Filter, Rates, Volume};
use crate::testing::session;
use crate::upf::{Config, Upf};

const UE: Ipv4Addr = Ipv4Addr::new(10, 60, 0, 1);

/// A function without vAQM, and its session.
fn with(change: impl FnOnce(&mut Rules)) -> (Upf, Seid) {
    let mut config = Config::default();
    config.user.functions.vaqm = None;
    let mut upf = Upf::new(config);
    upf.keep_fast();
    let mut rules = session::rules(UE, Teid(7), Teid(9));
    change(&mut rules);
    let seid = upf.sessions().add(Instant::ZERO, 0, 1);
    upf.sessions().set_rules(seid, rules);
    assert_eq!(upf.take_fast_changes(Instant::ZERO), [seid]);
    (upf, seid)
}

/// Which directions a path outside may have.
fn free_ways(change: impl FnOnce(&mut Rules)) -> [bool; 2] {
    let (upf, seid) = with(change);
    let path = upf.fast_path(Instant::ZERO, seid);
    [path.down.is_some(), path.up.is_some()]
}

#[test]
fn a_path_has_the_addresses_of_both_rules() {
    let (upf, seid) = with(|_| {});
    let path = upf.fast_path(Instant::ZERO, seid);
    let down = path.down.unwrap();
    assert_eq!((down.ue, down.teid, down.qfi), (UE, Teid(9), Some(Qfi(9))));
    // IPv4, UDP, GTP-U and a container of 1,500 octets.
    assert_eq!((down.most, down.urrs), (1_456, vec![1]));
    let up = path.up.unwrap();
    assert_eq!((up.ue, up.teid, up.qfis), (UE, Teid(7), None));
}

/// With this maximum of both directions.
fn bounded(rules: &mut Rules, mbps: f64) {
    let rate = Rate::from_mbps(mbps);
    rules.qers[0].maximum = Some(Rates {
        up: rate,
        down: rate,
    });
}

#[test]
fn what_somebody_must_look_at_is_left_out() {
    assert_eq!(free_ways(|_| {}), [true, true]);
    assert_eq!(free_ways(|r| bounded(r, 20.0)), [true, true]);
    let both: [fn(&mut Rules); 7] = [
        |r| bounded(r, 0.0),
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
            let mut first = session::pdr(3, Interface::Core, UE, Teid(7));
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
fn a_flow_that_the_radio_reports_on_has_its_downlink_here() {
    let (mut upf, seid) = with(|_| {});
    let report = RanReport::Congestion {
        at: Instant::ZERO,
        flow: flow_of(seid.ue(), Qfi(9)),
        per_10k: 100,
    };
    upf.user.heard(&report);
    assert_eq!(upf.take_fast_changes(Instant::ZERO), [seid]);
    let path = upf.fast_path(Instant::ZERO, seid);
    assert_eq!((path.down, path.up.is_some()), (None, true));
}

/// Bytes that come out of twice a maximum in `seconds`, and how many of those the path forwarded. It has the session back each 100 ms, and
/// what it forwards is read each millisecond.
fn beyond_the_rate(vaqm: bool, direction: Direction, mbps: f64, seconds: u64) -> (u64, u64) {
    let (mut upf, seid) = with(|r| bounded(r, mbps));
    if vaqm {
        upf.set_functions(Instant::ZERO, super::super::FunctionConfig::default());
    }
    let gap = 1_440.0 * 8e3 / (2.0 * mbps);
    let end = Instant::ZERO + Duration::from_secs(seconds);
    let (mut free, mut unread) = (true, Vec::new());
    let (mut passed, mut forwarded) = (0, 0);
    let (mut read, mut look) = (Instant::ZERO, Instant::ZERO);
    for n in 0_u32.. {
        let now = Instant::from_nanos((f64::from(n) * gap) as u64);
        if now >= end {
            break;
        }
        if now >= read {
            read = now + Duration::from_millis(1);
            for at in unread.drain(..) {
                let head = &mut datagram(direction)[..28];
                free &= upf.on_bypassed(at, seid, direction, Some(Qfi(9)), head);
            }
        }
        if now >= look {
            look = now + Duration::from_millis(100);
            let path = upf.fast_path(now, seid);
            free = path.down.is_some() && path.up.is_some();
            assert_eq!(free, !upf.acts(now, seid));
            assert!(!free || path.watched);
        }

        if free {
            unread.push(now);
            forwarded += 1_440;
            continue;
        }
        if direction == Direction::Down {
            upf.on_n6(now, datagram(direction));
        } else {
            let message = [&G_PDU[..], &datagram(direction)].concat();
            upf.on_n3(now, GNB.into(), message, Ecn::NotEct);
        }
        let out = core::iter::from_fn(|| upf.poll(now));
        passed += 1_440 * out.count() as u64;
    }
    (passed + forwarded, forwarded)
}

/// TS 23.501, 5.7.1.6. A bucket's burst and a millisecond of the offer come on top.
#[test]
fn a_maximum_is_kept_where_a_path_forwards_what_is_below_it() {
    for mbps in [1.0, 20.0, 300.0] {
        for (vaqm, direction) in [
            (false, Direction::Down),
            (false, Direction::Up),
            (true, Direction::Down),
            (true, Direction::Up),
        ] {
            let (all, forwarded) = beyond_the_rate(vaqm, direction, mbps, 10);
            let rate = all as f64 * 8e-7 / mbps;
            let case = format!("{mbps} Mbit/s, vAQM {vaqm}, {direction:?}: {rate}, {forwarded}");
            assert!((0.98..1.02).contains(&rate), "{case}");
            assert!(forwarded > 0 && forwarded < all, "{case}");
        }
    }
}

/// A G-PDU of 1,440 octets to the tunnel, without its packet.
const G_PDU: [u8; 8] = [0x30, 255, 0x05, 0xa0, 0, 0, 0, 7];
const GNB: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 33), 2_152);

/// A datagram of 1,440 octets that must not be cut.
fn datagram(direction: Direction) -> Vec<u8> {
    let (server, ue) = ([192, 0, 2, 1], UE.octets());
    let (source, target) = match direction {
        Direction::Down => (server, ue),
        Direction::Up => (ue, server),
    };
    let mut packet = vec![0x45, 0, 0x05, 0xa0, 0, 0, 0x40, 0, 64, 17, 0, 0];
    packet.extend(source);
    packet.extend(target);
    packet.extend([0x01, 0xbb, 0x13, 0x88, 0x05, 0x8c, 0, 0]);
    packet.resize(1_440, 7);
    let sum = slackwater_wire::checksum::sum(&packet[..20]);
    packet[10..12].copy_from_slice(&slackwater_wire::checksum::finish(sum));
    packet
}

/// The headers of a segment of 1,400 octets from the server, or of the UE's acknowledgment.
fn segment(direction: Direction, number: u32) -> Vec<u8> {
    let (server, ue) = ([192, 0, 2, 1], UE.octets());
    let (source, target, ports, length) = match direction {
        Direction::Down => (server, ue, [443, 5_000], 1_440),
        Direction::Up => (ue, server, [5_000, 443], 40),
    };
    let mut head = vec![0x45, 0];
    head.extend(u16::to_be_bytes(length));
    head.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    head.extend(source);
    head.extend(target);
    head.extend(ports.map(u16::to_be_bytes).concat());
    head.extend((number * 1_400).to_be_bytes());
    head.extend((number * 1_400).to_be_bytes());
    head.extend([0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    head
}

/// While its instance of vAQM rests a session is the path's, and vAQM measures what passes there. A round trip of ten times the first
/// brings the session back; when the queue is gone it may go again.
#[test]
fn a_session_is_the_paths_while_vaqm_has_nothing_to_decide() {
    let (mut upf, seid) = with(|_| {});
    upf.set_functions(Instant::ZERO, super::super::FunctionConfig::default());
    assert_eq!(upf.take_fast_changes(Instant::ZERO), [seid]);
    let path = upf.fast_path(Instant::ZERO, seid);
    assert!(path.watched && path.down.is_some() && path.up.is_some());

    // A segment each millisecond, acknowledged after 20, 200, and 20 again.
    let mut free = Vec::new();
    let mut acknowledged = 0;
    for ms in 0..6_000 {
        let now = Instant::from_millis(ms);
        let delay = if (2_000..4_000).contains(&ms) {
            200
        } else {
            20
        };
        let head = &mut segment(Direction::Down, ms as u32);
        let qfi = Some(Qfi(9));
        upf.on_bypassed(now, seid, Direction::Down, qfi, head);
        let number = (ms + 1).saturating_sub(delay) as u32;
        if number > acknowledged {
            acknowledged = number;
            let head = &mut segment(Direction::Up, number);
            upf.on_bypassed(now, seid, Direction::Up, None, head);
        }
        let path = upf.fast_path(now, seid);
        assert_eq!(path == FastPath::default(), upf.acts(now, seid));
        free.push(path.watched);
    }
    assert!(free[..2_000].iter().all(|free| *free));
    assert!(free[2_600..4_000].iter().all(|free| !free));
    assert!(free[5_900..].iter().all(|free| *free));
    assert!(upf.user().functions().round_trips().count() > 1_000);
}

#[test]
fn what_was_forwarded_counts_as_packets_do() {
    let (mut upf, seid) = with(|_| {});
    let urr = session::rules(UE, Teid(7), Teid(9)).urrs[0].clone();
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
