//! Edge functions and networks that change while sessions go on.

use slackwater_edge::upf::cecc::{CeccConfig, Mode as CeccMode};
use slackwater_edge::upf::vaqm::{Mode, VaqmConfig};
use slackwater_wire::pfcp::Aqm;

use super::*;
use crate::n4::Networks;
use crate::reload::InUse;

/// Down to the UE `n` at 1 Mbit/s: packets of 500 bytes, each with its number in its last octet.
fn offer(upf: &mut Upf, n: u32, now: Instant, numbers: core::ops::Range<u8>) {
    for number in numbers {
        let mut down = datagram(n, Direction::Down, 500, Ecn::NotEct);
        down[499] = number;
        upf.on_n6(now, down);
    }
}

fn numbers(out: &[Output]) -> Vec<u8> {
    let number = |o: &Output| match o {
        Output::N3 { bytes, .. } => *bytes.as_ref().last().unwrap(),
        other => panic!("{other:?}"),
    };
    out.iter().map(number).collect()
}

fn slow() -> (Upf, Vec<Seid>) {
    upf_with(config(), 2, |n, rules| {
        rules.qers[0].maximum = Some(Rates {
            up: Rate::from_mbps(1.0),
            down: Rate::from_mbps(1.0),
        });
        rules.qers[0].edge.target_milli = (n == 1).then_some(250);
    })
}

fn modes(upf: &Upf, seids: &[Seid]) -> Vec<Option<(Mode, f64)>> {
    let of = |s: &Seid| upf.user().functions().vaqm_config(s.ue(), None);
    let modes = seids.iter().map(|s| of(s).map(|c| (c.mode, c.fraction)));
    modes.collect()
}

#[test]
fn another_mode_of_vaqm_holds_for_sessions_that_are_there_and_keeps_what_waits() {
    let (mut upf, seids) = slow();
    offer(&mut upf, 0, MS(1), 0..30);
    let mut got = numbers(&drain(&mut upf, MS(1)));
    let held = upf.user().held();
    assert!(held > Bytes(10_000), "{held:?}");

    let functions = FunctionConfig {
        vaqm: Some(VaqmConfig::with_mode(Mode::Direct)),
        ..FunctionConfig::default()
    };
    upf.set_functions(MS(1), functions);
    // What a QER says of one session still goes before.
    let direct = |fraction| Some((Mode::Direct, fraction));
    assert_eq!(modes(&upf, &seids), [direct(0.5), direct(0.25)]);
    for ms in 2..300 {
        got.extend(numbers(&drain(&mut upf, MS(ms))));
    }
    let dropped = upf.user().counters().queue_dropped as usize;
    assert_eq!(got.len() + dropped, 30);
    assert!(got.is_sorted() && dropped < 10, "{got:?}");
    // And for one that comes later.
    let later = upf.sessions().add(MS(300), 0, 9);
    upf.sessions().set_rules(later, rules(9));
    drain(&mut upf, MS(300));
    assert_eq!(modes(&upf, &[later]), [direct(0.5)]);
}

#[test]
fn without_vaqm_what_waits_leaves_and_rates_are_policed_until_it_is_back() {
    let (mut upf, seids) = slow();
    offer(&mut upf, 0, MS(1), 0..30);
    let mut got = numbers(&drain(&mut upf, MS(1)));
    let off = FunctionConfig {
        vaqm: None,
        ..FunctionConfig::default()
    };
    upf.set_functions(MS(1), off);
    got.extend(numbers(&drain(&mut upf, MS(1))));
    assert_eq!(got, (0..30).collect::<Vec<u8>>(), "all, in their order");
    assert_eq!(upf.user().held(), Bytes::ZERO);
    assert_eq!(modes(&upf, &seids), [None, None]);

    // 50 ms of 1 Mbit/s pass at once, the rest is beyond the rate.
    let before = upf.user().counters().metered;
    offer(&mut upf, 0, MS(1_000), 0..60);
    let passed = drain(&mut upf, MS(1_000)).len();
    assert!((12..16).contains(&passed), "{passed}");
    assert_eq!(
        upf.user().counters().metered - before,
        60 - passed as u64,
        "a meter has taken over"
    );

    // Back again: packets wait, and no meter counts.
    let metered = upf.user().counters().metered;
    upf.set_functions(MS(2_000), FunctionConfig::default());
    assert_eq!(
        modes(&upf, &seids),
        [Some((Mode::Auto, 0.5)), Some((Mode::Auto, 0.25))]
    );
    offer(&mut upf, 1, MS(2_000), 0..30);
    drain(&mut upf, MS(2_000));
    assert!(upf.user().held() > Bytes(10_000));
    assert_eq!(upf.user().counters().metered, metered);
}

#[test]
fn sessions_enter_and_leave_cecc() {
    let (mut upf, seids) = upf(2);
    drain(&mut upf, MS(0));
    let cell = |upf: &Upf| upf.user().state(seids[1]).unwrap().cell();
    assert_eq!(cell(&upf), None);
    for mode in [CeccMode::Hold, CeccMode::Credit] {
        let mut cecc = CeccConfig::default();
        cecc.mode = mode;
        let functions = FunctionConfig {
            cecc: Some(cecc),
            ..FunctionConfig::default()
        };
        upf.set_functions(MS(1), functions);
        assert_eq!(cell(&upf), Some((GNB.ip(), mode as u8)));
        upf.on_n6(MS(1), datagram(1, Direction::Down, 100, Ecn::NotEct));
        drain(&mut upf, MS(1));
    }
    upf.set_functions(MS(2), FunctionConfig::default());
    assert_eq!(cell(&upf), None);
    assert_eq!(drain(&mut upf, MS(100)), []);
    assert_eq!(upf.user().held(), Bytes::ZERO);
    let counters = upf.user().counters();
    assert_eq!((counters.n3_out, counters.queue_dropped), (2, 0));
}

#[test]
fn own_options_of_a_session_stay_over_a_change() {
    let (mut upf, seids) = upf_with(config(), 2, |n, rules| {
        rules.qers[0].edge.aqm = (n == 1).then_some(Aqm::Off);
    });
    drain(&mut upf, MS(0));
    let functions = FunctionConfig {
        vaqm: Some(VaqmConfig::with_mode(Mode::Window)),
        ..FunctionConfig::default()
    };
    upf.set_functions(MS(1), functions);
    let found = modes(&upf, &seids);
    assert_eq!(
        found,
        [Some((Mode::Window, 0.5)), Some((Mode::Measure, 0.5))]
    );
}

#[test]
fn a_network_goes_only_where_no_session_has_it() {
    let (mut upf, _) = upf_with(config(), 3, |n, rules| {
        if n > 0 {
            rules.pdrs[1].network = Some(b"\x08internet".to_vec());
        }
    });
    let plain = |names: &[&str]| Networks {
        tunnels: Vec::new(),
        plain: names.iter().map(ToString::to_string).collect(),
    };
    upf.set_networks(plain(&["ims", "Internet"])).unwrap();
    let refused = InUse {
        tunnels: false,
        name: "internet".to_owned(),
        sessions: 2,
    };
    assert_eq!(upf.set_networks(plain(&["ims"])), Err(refused));
    upf.set_networks(plain(&[])).unwrap();
}
