//! Associations, heartbeats and repeated requests.

use slackwater_wire::pfcp::{Period, RuleId};

use super::*;

#[test]
fn an_association_states_what_the_function_can_do() {
    let mut lab = Lab::new(config());
    let request = [
        Element::NodeId(NodeId::Name(b"\x03smf")),
        Element::Recovery(7),
        Element::CpFeatures(3),
    ];
    let (header, answer) = lab
        .send(Kind::AssociationSetupRequest, None, &request)
        .unwrap();
    assert_eq!(header.seid, None);
    assert_eq!(
        elements_of(&answer),
        [
            Element::NodeId(NodeId::V4(HERE)),
            Element::Cause(cause::ACCEPTED),
            Element::Recovery(0xe000_0000),
            Element::UpFeatures(FEATURES),
        ]
    );
    // FTUP and DDND; EMPU; MNOP and BUNDL: TS 29.244, table 8.2.25-1.
    assert_eq!(FEATURES.to_le_bytes()[..4], [0x12, 0x01, 0x50, 0]);
    let name = NodeName::Name(b"\x03smf".to_vec());
    assert_eq!(lab.node.poll_event(), Some(Event::Associated(name)));
}

#[test]
fn a_heartbeat_is_answered_without_an_association() {
    let mut lab = Lab::new(config());
    let answer = lab.send(Kind::HeartbeatRequest, None, &[Element::Recovery(7)]);
    let (header, answer) = answer.unwrap();
    assert_eq!(header.kind, Kind::HeartbeatResponse);
    assert_eq!(elements_of(&answer), [Element::Recovery(0xe000_0000)]);
    assert_eq!(lab.node.answers.len(), 0, "strangers leave nothing behind");
}

#[test]
fn a_node_that_restarted_loses_its_sessions_and_no_other_does() {
    let other = Ipv4Addr::new(192, 0, 2, 11);
    for by_heartbeat in [false, true] {
        let mut lab = Lab::associated(config());
        lab.session(UE);
        lab.session(Ipv4Addr::new(10, 0, 0, 2));
        let first = lab.from;
        lab.from.set_ip(other.into());
        assert_eq!(lab.set_up(other, 50), Some(cause::ACCEPTED));
        let mut theirs = establishment(Ipv4Addr::new(10, 0, 0, 3));
        theirs[0] = Element::NodeId(NodeId::V4(other));
        lab.establish(&theirs);
        assert_eq!(lab.sessions.len(), 3);
        while lab.node.poll_event().is_some() {}

        lab.from = first;
        if by_heartbeat {
            // A stamp of before is an old message.
            lab.send(Kind::HeartbeatRequest, None, &[Element::Recovery(6)]);
            assert_eq!(lab.sessions.len(), 3);
            lab.send(Kind::HeartbeatRequest, None, &[Element::Recovery(8)]);
        } else {
            assert_eq!(lab.set_up(SMF, 7), Some(cause::ACCEPTED));
            assert_eq!(lab.sessions.len(), 3, "the same stamp: nothing was lost");
            assert_eq!(lab.set_up(SMF, 8), Some(cause::ACCEPTED));
        }
        assert_eq!(lab.sessions.len(), 1);
        let left = lab.sessions.by_address("10.0.0.3".parse().unwrap());
        assert!(left.is_some());
        let name = NodeName::Address(SMF.into());
        assert_eq!(lab.node.poll_event(), Some(Event::Restarted(name, 2)));
        assert_eq!(lab.node.notices.len(), 1);
    }
}

#[test]
fn nobody_takes_over_a_node_that_answers() {
    let mut lab = Lab::associated(config());
    lab.session(UE);
    lab.from = "192.0.2.66:8805".parse().unwrap();
    assert_eq!(lab.set_up(SMF, 9), Some(cause::REJECTED));
    let answer = lab.establish(&establishment(Ipv4Addr::new(10, 0, 0, 2)));
    assert_eq!(of(&elements_of(&answer)), Some(cause::NO_ASSOCIATION));
    let seid = lab.sessions.iter().next().unwrap().seid;
    let answer = lab.delete(seid);
    assert_eq!(elements_of(&answer), [Element::Cause(cause::NO_SESSION)]);
    assert_eq!(lab.sessions.len(), 1);
}

#[test]
fn a_repeated_request_has_one_effect_and_one_answer() {
    let mut lab = Lab::associated(config());
    let answer = lab.establish(&establishment(UE));
    let request = lab.last.clone();
    for _ in 0..3 {
        lab.octets(&request);
        let (_, again) = lab.node.poll_transmit().unwrap();
        assert_eq!(again, answer);
    }
    assert_eq!((lab.sessions.len(), lab.node.counters().repeated), (1, 3));

    let seid = lab.sessions.iter().next().unwrap().seid;
    let answer = lab.delete(seid);
    let request = lab.last.clone();
    lab.octets(&request);
    let (_, again) = lab.node.poll_transmit().unwrap();
    assert_eq!(again, answer, "deleted, not unknown");

    // After its life the number is free: the same octets are a new request.
    let life = config().answer_life();
    lab.wait(life);
    lab.octets(&request);
    let mut last = None;
    while let Some((_, octets)) = lab.node.poll_transmit() {
        last = Some(octets);
    }
    let last = last.unwrap();
    assert_eq!(of(&elements_of(&last)), Some(cause::NO_SESSION));
}

#[test]
fn a_node_that_starts_again_gets_no_answer_of_its_former_life() {
    // The former life ends without a word, by a release, or is heard of by a heartbeat first.
    for end in ["none", "release", "heartbeat"] {
        let mut lab = Lab::new(config());
        let mut given = Vec::new();
        for recovery in [7, 8] {
            lab.seq = 0;
            assert_eq!(lab.set_up(SMF, recovery), Some(cause::ACCEPTED));
            given.push(lab.establish(&establishment(UE)));
            assert_eq!(lab.sessions.len(), 1, "{end}");
            if recovery == 7 && end == "release" {
                let name = [Element::NodeId(NodeId::V4(SMF))];
                lab.send(Kind::AssociationReleaseRequest, None, &name);
            } else if recovery == 7 && end == "heartbeat" {
                lab.send(Kind::HeartbeatRequest, None, &[Element::Recovery(8)]);
            }
        }
        assert_ne!(given[0], given[1], "{end}");
        assert_eq!(lab.node.counters().repeated, 0, "{end}");

        // Within a life a repeated request is one still.
        let request = lab.last.clone();
        lab.octets(&request);
        assert_eq!(lab.node.poll_transmit().unwrap().1, given[1], "{end}");
        lab.seq = 0;
        assert_eq!(lab.set_up(SMF, 8), Some(cause::ACCEPTED));
        assert_eq!(lab.sessions.len(), 1, "{end}");
        assert_eq!(lab.node.counters().repeated, 2, "{end}");

        // Nor does an early set-up that was long under way begin a life.
        lab.seq = 0;
        assert_eq!(lab.set_up(SMF, 7), Some(cause::ACCEPTED));
        assert_eq!(lab.sessions.len(), 1, "{end}");
    }
}

#[test]
fn a_node_that_starts_again_leaves_others_behind_its_address_their_answers() {
    let mut lab = Lab::associated(config());
    let other = Ipv4Addr::new(192, 0, 2, 11);
    let first = lab.from;
    lab.from.set_port(8_806);
    assert_eq!(lab.set_up(other, 50), Some(cause::ACCEPTED));
    let mut theirs = establishment(UE);
    theirs[0] = Element::NodeId(NodeId::V4(other));
    let answer = lab.establish(&theirs);
    let (from, request) = (lab.from, lab.last.clone());

    lab.from = first;
    assert_eq!(lab.set_up(SMF, 8), Some(cause::ACCEPTED));
    lab.from = from;
    lab.octets(&request);
    assert_eq!(lab.node.poll_transmit().unwrap().1, answer);
}

#[test]
fn answers_are_bounded_by_address() {
    let most = 8;
    let mut lab = Lab::associated(Config {
        max_answers: most,
        ..config()
    });
    for _ in 0..100 {
        lab.delete(Seid(77));
        assert!(lab.node.answers.len() <= most);
    }
    lab.from = "198.51.100.1:8805".parse().unwrap();
    for _ in 0..100 {
        lab.delete(Seid(77));
    }
    assert_eq!(lab.node.answers.len(), most, "a stranger's are not kept");
}

#[test]
fn a_node_that_stops_answering_is_lost_and_its_sessions_go_in_time() {
    let mut lab = Lab::associated(config());
    lab.session(UE);
    while lab.node.poll_event().is_some() {}
    let mut sent = 0;
    let mut events = Vec::new();
    let start = lab.now;
    for _ in 0..400 {
        let Some(at) = lab.node.next_timer(&lab.usage) else {
            break;
        };
        lab.wait(at.since(lab.now));
        while let Some((to, octets)) = lab.node.poll_transmit() {
            assert_eq!(to, lab.from);
            let kind = Message::parse(&octets).unwrap().header.kind;
            assert_eq!(kind, Kind::HeartbeatRequest);
            sent += 1;
        }
        while let Some(event) = lab.node.poll_event() {
            events.push((lab.now.since(start).as_nanos() / 1_000_000_000, event));
        }
    }
    let name = NodeName::Address(SMF.into());
    // Heartbeats leave after 10 s, three times 3 s apart; the sessions last for 60 s more.
    let expected = [
        (19, Event::Lost(name.clone())),
        (79, Event::Released(name, 1)),
    ];
    assert_eq!(events, expected);
    assert!(lab.sessions.is_empty() && sent >= 3);
    assert_eq!(lab.node.next_timer(&lab.usage), None, "nothing is left");
}

#[test]
fn a_node_that_answers_again_has_its_sessions() {
    let mut lab = Lab::associated(config());
    lab.session(UE);
    while lab.node.poll_event().is_some() {}
    for _ in 0..8 {
        lab.wait(Duration::from_secs(3));
    }
    let name = NodeName::Address(SMF.into());
    assert_eq!(lab.node.poll_event(), Some(Event::Lost(name.clone())));
    while lab.node.poll_transmit().is_some() {}
    lab.send(Kind::HeartbeatRequest, None, &[Element::Recovery(7)]);
    assert_eq!(lab.node.poll_event(), Some(Event::Back(name)));
    lab.wait(Duration::from_secs(2));
    assert_eq!(lab.sessions.len(), 1);
}

#[test]
fn an_answered_heartbeat_is_not_repeated() {
    let mut lab = Lab::associated(config());
    lab.wait(Duration::from_secs(10));
    let (_, beat) = lab.node.poll_transmit().unwrap();
    let mut header = Message::parse(&beat).unwrap().header;
    header.kind = Kind::HeartbeatResponse;
    let mut out = [0; 64];
    let n = header.write(&[Element::Recovery(7)], &mut out).unwrap();
    // From elsewhere it is no answer.
    let real = lab.from;
    lab.from = "192.0.2.66:8805".parse().unwrap();
    lab.octets(&out[..n]);
    lab.from = real;
    assert_eq!(
        lab.node.requests.next_timer(),
        Some(lab.now + Duration::from_secs(3))
    );
    lab.octets(&out[..n]);
    assert_eq!(lab.node.requests.next_timer(), None);
    lab.wait(Duration::from_secs(9));
    assert_eq!(lab.node.poll_transmit(), None);
    lab.wait(Duration::from_secs(1));
    assert!(lab.node.poll_transmit().is_some(), "the next one");
}

#[test]
fn a_release_ends_the_association_and_its_sessions() {
    let mut lab = Lab::associated(config());
    lab.session(UE);
    let id = [Element::NodeId(NodeId::V4(SMF))];
    let (header, answer) = lab.send(Kind::AssociationUpdateRequest, None, &id).unwrap();
    assert_eq!(header.kind, Kind::AssociationUpdateResponse);
    assert_eq!(of(&elements_of(&answer)), Some(cause::ACCEPTED));
    let (header, answer) = lab
        .send(Kind::AssociationReleaseRequest, None, &id)
        .unwrap();
    assert_eq!(header.kind, Kind::AssociationReleaseResponse);
    assert_eq!(of(&elements_of(&answer)), Some(cause::ACCEPTED));
    assert!(lab.sessions.is_empty());
    let (_, answer) = lab
        .send(Kind::AssociationReleaseRequest, None, &id)
        .unwrap();
    assert_eq!(of(&elements_of(&answer)), Some(cause::NO_ASSOCIATION));
}

#[test]
fn a_drain_tells_each_control_plane_how_long() {
    let mut lab = Lab::associated(config());
    lab.node.drain(lab.now, Duration::from_secs(61));
    let (to, octets) = lab.node.poll_transmit().unwrap();
    assert_eq!(to, lab.from);
    let header = Message::parse(&octets).unwrap().header;
    assert_eq!(header.kind, Kind::AssociationUpdateRequest);
    assert_eq!(
        elements_of(&octets)[1..],
        [
            Element::ReleaseRequest(1),
            Element::GracefulRelease(Period::For(Duration::from_secs(62))),
        ]
    );
}

#[test]
fn who_may_not_send_hears_nothing() {
    let only = crate::rules::Prefix::new(SMF.into(), Some(32)).unwrap();
    let mut lab = Lab::associated(Config {
        allowed: vec![only],
        ..config()
    });
    lab.from = "192.0.2.11:8805".parse().unwrap();
    let answer = lab.send(Kind::HeartbeatRequest, None, &[Element::Recovery(7)]);
    assert_eq!(answer, None);
    assert_eq!(lab.node.counters().forbidden, 1);
}

#[test]
fn another_version_is_told_ours() {
    let mut lab = Lab::new(config());
    for (octets, seq) in [
        (vec![0x40, 1, 0, 4, 0, 1, 2, 0], Some(0x102)),
        (
            vec![0x41, 50, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0],
            Some(9),
        ),
        (vec![0x40, 11, 0, 4, 0, 1, 2, 0], None),
        (vec![0x40, 1], None),
        (vec![0x00, 1, 0, 4, 0, 1, 2, 0], None),
    ] {
        lab.octets(&octets);
        let answer = lab.node.poll_transmit();
        let header = answer.map(|(_, o)| Message::parse(&o).unwrap().header);
        let kinds = header.map(|h| (h.kind, h.seq));
        assert_eq!(
            kinds,
            seq.map(|s| (Kind::VersionNotSupported, s)),
            "{octets:?}"
        );
    }
    assert_eq!(lab.node.counters().malformed, 5);
}

#[test]
fn a_bundle_is_read_whole() {
    let mut lab = Lab::new(config());
    let mut out = [0; 64];
    let header = |seq| Header {
        kind: Kind::HeartbeatRequest,
        seid: None,
        seq,
        priority: None,
    };
    let n = header(1).write(&[Element::Recovery(1)], &mut out).unwrap();
    let m = header(2)
        .write(&[Element::Recovery(1)], &mut out[n..])
        .unwrap();
    lab.octets(&out[..n + m]);
    assert!(lab.node.poll_transmit().is_some());
    assert_eq!(lab.node.poll_transmit(), None, "no flag, no second message");
    out[0] |= 0x04;
    lab.octets(&out[..n + m]);
    assert!(lab.node.poll_transmit().is_some() && lab.node.poll_transmit().is_some());
}

#[test]
fn a_rule_that_failed_is_named() {
    let mut lab = Lab::associated(config());
    let (seid, _) = lab.session(UE);
    let answer = lab.modify(seid, &[Element::RemoveFar(9)]);
    assert_eq!(
        elements_of(&answer),
        [
            Element::Cause(cause::RULE_FAILURE),
            Element::Offending(108),
            Element::FailedRule(RuleId::Far(9)),
        ]
    );
    let header = Message::parse(&answer).unwrap().header;
    assert_eq!(header.seid, Some(0x1122));
}
