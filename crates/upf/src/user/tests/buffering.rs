use super::*;
use crate::rules::Bar;

fn buffering(packets: Option<u16>) -> (Upf, Vec<Seid>) {
    upf_with(config(), 2, move |_, rules| {
        rules.fars[1].action = Action::Buffer { notify: true };
        rules.fars[1].outer = None;
        rules.fars[1].bar = Some(1);
        rules.bars = vec![Bar {
            id: 1,
            packets,
            ..Bar::default()
        }];
    })
}

fn send(upf: &mut Upf, now: Instant, count: u16) {
    for k in 0..count {
        upf.on_n6(now, datagram(0, Direction::Down, 100 + k, Ecn::NotEct));
    }
}

#[test]
fn packets_wait_until_the_ue_is_reached() {
    let (mut upf, seids) = buffering(None);
    send(&mut upf, MS(0), 3);
    assert_eq!(drain(&mut upf, MS(0)), []);
    assert_eq!(upf.user().held(), Bytes(303));

    // The base station has a tunnel now.
    upf.sessions().set_rules(seids[0], rules(0));
    let out = drain(&mut upf, MS(70));
    let lengths: Vec<usize> = out
        .iter()
        .map(|o| match o {
            Output::N3 { bytes, .. } => bytes.len() - 16,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lengths, [100, 101, 102]);
    assert_eq!(upf.user().held(), Bytes::ZERO);
}

#[test]
fn what_may_wait_is_bounded_and_a_rule_may_drop_it() {
    let (mut upf, seids) = buffering(Some(5));
    send(&mut upf, MS(0), 8);
    let counters = upf.user().counters();
    assert_eq!((counters.buffered, counters.buffer_full), (5, 3));
    let mut dropping = rules(0);
    dropping.fars[1].action = Action::Drop;
    upf.sessions().set_rules(seids[0], dropping);
    assert_eq!(drain(&mut upf, MS(1)), []);
    assert_eq!(upf.user().counters().buffer_dropped, 5);
    assert_eq!(upf.user().held(), Bytes::ZERO);
}

#[test]
fn a_session_that_goes_takes_what_waits_along() {
    let (mut upf, seids) = buffering(None);
    send(&mut upf, MS(0), 3);
    upf.sessions().remove(seids[0]);
    assert_eq!(drain(&mut upf, MS(60)), []);
    assert_eq!(upf.user().counters().session_gone, 3);
    assert_eq!(upf.user().held(), Bytes::ZERO);
}

#[test]
fn what_waits_in_a_queue_follows_the_path() {
    // A tenth of a packet each millisecond, so nearly all wait in vAQM while the UE moves.
    let slow = |rules: &mut Rules| {
        rules.qers[0].maximum = Some(Rates {
            up: Rate::ZERO,
            down: Rate::from_mbps(0.8),
        });
    };
    let (mut upf, seids) = upf_with(config(), 1, |_, rules| slow(rules));
    send(&mut upf, MS(0), 50);
    let before = drain(&mut upf, MS(0)).len();
    let mut moved = rules(0);
    slow(&mut moved);
    let new = RemoteTunnel {
        teid: Teid(0xbeef),
        address: "192.168.1.8".parse().unwrap(),
    };
    moved.fars[1].outer = Some(new);
    upf.sessions().end_marker(seids[0], downlink(0));
    upf.sessions().set_rules(seids[0], moved);
    let mut after = 0;
    for ms in 1..200 {
        for output in drain(&mut upf, MS(ms)) {
            let Output::N3 { to, bytes, .. } = output else {
                panic!();
            };
            let message = Message::parse(bytes.as_ref()).unwrap();
            if message.header.kind == slackwater_wire::gtpu::Kind::EndMarker {
                assert_eq!((to, after), (GNB, 0), "ahead of what takes the new path");
                continue;
            }
            assert_eq!((to.ip(), message.header.teid), (new.address, new.teid));
            after += 1;
        }
    }
    assert_eq!((before + after, before < 40), (50, true));
}
