//! Every refusal: its cause, the element at fault and the rule that failed. After each the node is as before.

use slackwater_core::Bytes;
use slackwater_wire::pfcp::{RuleId, SdfFilter, Volumes, kind, trigger};

use super::*;

/// How an establishment differs from one that is accepted, and what it is refused with.
type Row<'a> = (
    &'a str,
    Vec<Element<'static>>,
    (u8, Option<u16>, Option<RuleId>),
);

fn refusal(answer: &[u8]) -> (u8, Option<u16>, Option<RuleId>) {
    let (mut cause, mut offending, mut rule) = (0, None, None);
    for element in elements_of(answer) {
        match element {
            Element::Cause(c) => cause = c,
            Element::Offending(kind) => offending = Some(kind),
            Element::FailedRule(id) => rule = Some(id),
            Element::NodeId(_) => {}
            other => panic!("{other:?} in a refusal"),
        }
    }
    (cause, offending, rule)
}

fn without(at: usize) -> Vec<Element<'static>> {
    let mut elements = establishment(UE);
    elements.remove(at);
    elements
}

fn with(at: usize, element: Element<'static>) -> Vec<Element<'static>> {
    let mut elements = establishment(UE);
    elements[at] = element;
    elements
}

fn and(element: Element<'static>) -> Vec<Element<'static>> {
    let mut elements = establishment(UE);
    elements.push(element);
    elements
}

fn pdi(change: impl FnOnce(&mut Pdi<'static>)) -> Vec<Element<'static>> {
    let mut pdr = downlink(2, UE);
    change(pdr.pdi.as_mut().unwrap());
    with(3, Element::CreatePdr(pdr))
}

fn tunnel(tunnel: FTeid) -> Vec<Element<'static>> {
    with(2, Element::CreatePdr(uplink(1, tunnel)))
}

fn given(teid: u32, v4: Option<Ipv4Addr>) -> FTeid {
    FTeid::Given {
        teid: Teid(teid),
        v4,
        v6: None,
    }
}

fn acting(bits: u16) -> Vec<Element<'static>> {
    let far = Far {
        action: Some(bits),
        ..Far::forward(1, interface::CORE, None)
    };
    with(4, Element::CreateFar(far))
}

fn outer(header: OuterHeader) -> Vec<Element<'static>> {
    with(
        4,
        Element::CreateFar(Far::forward(1, interface::CORE, Some(header))),
    )
}

fn usage(change: impl FnOnce(&mut Urr)) -> Vec<Element<'static>> {
    let mut rule = urr();
    change(&mut rule);
    with(7, Element::CreateUrr(rule))
}

fn node_rows() -> Vec<Row<'static>> {
    let missing = |kind| (cause::MANDATORY_MISSING, Some(kind), None);
    let stranger = Element::NodeId(NodeId::V4(GNB));
    vec![
        ("no node", without(0), missing(kind::NODE_ID)),
        ("no F-SEID", without(1), missing(kind::F_SEID)),
        (
            "a stranger",
            with(0, stranger),
            (cause::NO_ASSOCIATION, None, None),
        ),
        (
            "no PDR",
            establishment(UE)[..2].to_vec(),
            missing(kind::CREATE_PDR),
        ),
        (
            "no FAR",
            establishment(UE)[..4].to_vec(),
            missing(kind::CREATE_FAR),
        ),
        (
            "Ethernet",
            with(8, Element::PdnType(5)),
            (cause::NOT_SUPPORTED, Some(kind::PDN_TYPE), None),
        ),
        (
            "a traffic endpoint",
            and(Element::Other {
                kind: kind::CREATE_ENDPOINT,
                vendor: None,
                value: &[0, 131, 0, 1, 1],
            }),
            (cause::NOT_SUPPORTED, Some(kind::CREATE_ENDPOINT), None),
        ),
    ]
}

fn pdr_rows() -> Vec<Row<'static>> {
    let one = Some(RuleId::Pdr(1));
    let two = Some(RuleId::Pdr(2));
    let failed = |kind, rule| (cause::RULE_FAILURE, Some(kind), rule);
    let refused = |cause, kind, rule| (cause, Some(kind), rule);
    let filter = |text: &'static [u8]| {
        pdi(move |pdi| {
            pdi.filters = vec![SdfFilter {
                description: Some(text),
                ..SdfFilter::default()
            }];
        })
    };
    let ue = |change: fn(&mut UeIp)| pdi(move |pdi| change(pdi.ue.as_mut().unwrap()));
    let unsupported = cause::NOT_SUPPORTED;
    let wrong = cause::MANDATORY_INCORRECT;
    let choose = |v4, v6| FTeid::Choose { v4, v6, id: None };
    vec![
        (
            "twice",
            with(3, Element::CreatePdr(downlink(1, UE))),
            failed(kind::PDR_ID, one),
        ),
        ("no such FAR", without(4), failed(kind::FAR_ID, one)),
        ("no such QER", without(6), failed(kind::QER_ID, one)),
        ("no such URR", without(7), failed(kind::URR_ID, one)),
        (
            "a source beyond",
            pdi(|p| p.source = 5),
            refused(unsupported, kind::SOURCE, two),
        ),
        (
            "no such text",
            filter(b"allow all"),
            refused(wrong, kind::SDF_FILTER, two),
        ),
        (
            "an empty text",
            filter(b""),
            refused(wrong, kind::SDF_FILTER, two),
        ),
        (
            "a filter of nothing",
            pdi(|p| p.filters = vec![SdfFilter::default()]),
            refused(wrong, kind::SDF_FILTER, two),
        ),
        (
            "a filter of no rule",
            pdi(|p| {
                p.filters = vec![SdfFilter {
                    id: Some(9),
                    ..SdfFilter::default()
                }];
            }),
            failed(kind::SDF_FILTER, two),
        ),
        (
            "a UE to choose",
            ue(|u| u.choose_v4 = true),
            refused(unsupported, kind::UE_IP, two),
        ),
        (
            "a UE without address",
            ue(|u| u.v4 = None),
            refused(wrong, kind::UE_IP, two),
        ),
        (
            "a prefix too long",
            ue(|u| (u.v6, u.prefix) = (Some("2001:db8::".parse().unwrap()), Some(129))),
            refused(wrong, kind::UE_IP, two),
        ),
        (
            "a prefix too short",
            ue(|u| (u.v6, u.prefix) = (Some("2001:db8::".parse().unwrap()), Some(48))),
            refused(unsupported, kind::UE_IP, two),
        ),
        (
            "a UE of another session",
            ue(|u| u.v4 = Some(Ipv4Addr::new(10, 9, 9, 9))),
            failed(kind::UE_IP, two),
        ),
        (
            "a header that is no tunnel's",
            with(2, {
                let outer_removal = Some(3);
                Element::CreatePdr(Pdr {
                    outer_removal,
                    ..uplink(1, CHOOSE)
                })
            }),
            refused(unsupported, kind::OUTER_REMOVAL, one),
        ),
        (
            "tunnel 0",
            tunnel(given(0, Some(HERE))),
            refused(wrong, kind::F_TEID, one),
        ),
        (
            "a tunnel nowhere",
            tunnel(given(5, None)),
            refused(wrong, kind::F_TEID, one),
        ),
        (
            "a tunnel elsewhere",
            tunnel(given(5, Some(GNB))),
            refused(wrong, kind::F_TEID, one),
        ),
        (
            "a tunnel in use",
            tunnel(given(0x77, Some(HERE))),
            failed(kind::F_TEID, one),
        ),
        (
            "no family to choose",
            tunnel(choose(false, false)),
            refused(cause::F_TEID_ALLOCATION, kind::F_TEID, one),
        ),
        (
            "a family that is not there",
            tunnel(choose(false, true)),
            refused(cause::NO_RESOURCES, kind::F_TEID, one),
        ),
    ]
}

fn far_rows() -> Vec<Row<'static>> {
    let rule = Some(RuleId::Far(1));
    let refused = |cause, kind| (cause, Some(kind), rule);
    let unsupported = cause::NOT_SUPPORTED;
    let wrong = cause::MANDATORY_INCORRECT;
    let plain = |forwarding| {
        let far = Far {
            id: 1,
            action: Some(action::FORWARD),
            forwarding,
            ..Far::default()
        };
        with(4, Element::CreateFar(far))
    };
    let udp = OuterHeader {
        description: 0x0400,
        teid: None,
        v4: Some(GNB),
        v6: None,
        port: Some(4_500),
    };
    vec![
        (
            "twice",
            and(Element::CreateFar(Far::forward(1, interface::CORE, None))),
            (cause::RULE_FAILURE, Some(kind::FAR_ID), rule),
        ),
        ("no action", acting(0), refused(wrong, kind::ACTION)),
        (
            "two actions",
            acting(action::DROP | action::FORWARD),
            refused(wrong, kind::ACTION),
        ),
        (
            "a notice of nothing",
            acting(action::FORWARD | action::NOTIFY),
            refused(wrong, kind::ACTION),
        ),
        (
            "a copy",
            acting(action::FORWARD | action::DUPLICATE),
            refused(unsupported, kind::ACTION),
        ),
        (
            "twice the packet",
            acting(0x0102),
            refused(unsupported, kind::ACTION),
        ),
        (
            "to nowhere",
            plain(None),
            refused(cause::CONDITIONAL_MISSING, kind::FORWARDING),
        ),
        (
            "to no interface",
            plain(Some(Forwarding::default())),
            refused(cause::CONDITIONAL_MISSING, kind::DESTINATION),
        ),
        (
            "to an interface beyond",
            plain(Some(Forwarding {
                destination: Some(4),
                ..Forwarding::default()
            })),
            refused(unsupported, kind::DESTINATION),
        ),
        (
            "UDP alone",
            outer(udp),
            refused(unsupported, kind::OUTER_CREATION),
        ),
        (
            "to tunnel 0",
            outer(OuterHeader::gtpu(Teid(0), GNB)),
            refused(wrong, kind::OUTER_CREATION),
        ),
        (
            "to many",
            outer(OuterHeader::gtpu(Teid(1), Ipv4Addr::new(224, 0, 0, 1))),
            refused(wrong, kind::OUTER_CREATION),
        ),
        (
            "no such BAR",
            with(4, {
                let bar = Some(4);
                Element::CreateFar(Far {
                    bar,
                    ..Far::forward(1, interface::CORE, None)
                })
            }),
            (cause::RULE_FAILURE, Some(kind::BAR_ID), rule),
        ),
    ]
}

fn other_rows() -> Vec<Row<'static>> {
    let rule = Some(RuleId::Urr(1));
    let refused = |cause, kind| (cause, Some(kind), rule);
    let missing = cause::CONDITIONAL_MISSING;
    let wrong = cause::MANDATORY_INCORRECT;
    let by = |bits| usage(move |u| u.triggers = Some(bits));
    vec![
        (
            "QER twice",
            and(Element::CreateQer(qer())),
            (
                cause::RULE_FAILURE,
                Some(kind::QER_ID),
                Some(RuleId::Qer(1)),
            ),
        ),
        (
            "URR twice",
            and(Element::CreateUrr(urr())),
            (cause::RULE_FAILURE, Some(kind::URR_ID), rule),
        ),
        (
            "no method",
            usage(|u| u.method = Some(0)),
            refused(wrong, kind::METHOD),
        ),
        (
            "a method beyond",
            usage(|u| u.method = Some(8)),
            refused(wrong, kind::METHOD),
        ),
        (
            "a trigger beyond",
            by(1 << 6),
            refused(cause::NOT_SUPPORTED, kind::TRIGGERS),
        ),
        (
            "no period",
            by(trigger::PERIODIC),
            refused(missing, kind::PERIOD),
        ),
        (
            "no threshold",
            by(trigger::VOLUME_THRESHOLD),
            refused(missing, kind::VOLUME_THRESHOLD),
        ),
        (
            "no time",
            by(trigger::TIME_THRESHOLD),
            refused(missing, kind::TIME_THRESHOLD),
        ),
        (
            "no rest",
            by(trigger::STOP),
            refused(missing, kind::INACTIVITY),
        ),
        (
            "no holding time",
            by(trigger::QUOTA_HOLDING),
            refused(missing, kind::HOLDING_TIME),
        ),
        (
            "each moment",
            usage(|u| (u.triggers, u.period) = (Some(1), Some(Duration::ZERO))),
            refused(wrong, kind::PERIOD),
        ),
        (
            "each packet",
            usage(|u| {
                u.triggers = Some(trigger::VOLUME_THRESHOLD);
                u.volume_threshold = Some(Volumes {
                    up: Some(Bytes(0)),
                    ..Volumes::default()
                });
            }),
            refused(wrong, kind::VOLUME_THRESHOLD),
        ),
    ]
}

#[test]
fn each_refusal_names_its_cause_and_its_element() {
    let rows = [node_rows(), pdr_rows(), far_rows(), other_rows()].concat();
    for (what, request, expected) in rows {
        let mut lab = Lab::associated(config());
        // Another session, with a tunnel and a UE of its own.
        let mut other = establishment(Ipv4Addr::new(10, 9, 9, 9));
        other[2] = Element::CreatePdr(uplink(1, given(0x77, Some(HERE))));
        assert_eq!(
            of(&elements_of(&lab.establish(&other))),
            Some(cause::ACCEPTED)
        );
        lab.sessions.take_changes();

        let answer = lab.establish(&request);
        assert_eq!(refusal(&answer), expected, "{what}");
        assert_eq!(lab.sessions.len(), 1, "{what}");
        assert_eq!(lab.sessions.take_changes(), [], "{what}");
        let header = Message::parse(&answer).unwrap().header;
        let to = if what == "no F-SEID" { 0 } else { 0x1122 };
        assert_eq!(header.seid, Some(to), "{what}");
        lab.session(UE);
    }
}

#[test]
fn a_rule_that_is_to_forward_says_whereto() {
    // FAR 2 buffers and never had parameters (TS 29.244, 7.5.2.3 and 7.5.4.3).
    let mut lab = Lab::associated(config());
    let (seid, _) = lab.session(UE);
    let to_nowhere = Forwarding {
        outer: Some(OuterHeader::gtpu(Teid(5), GNB)),
        ..Forwarding::default()
    };
    for (forwarding, offending) in [
        (None, kind::UPDATE_FORWARDING),
        (Some(to_nowhere), kind::DESTINATION),
    ] {
        let before = lab.sessions.get(seid).unwrap().rules.clone();
        let far = Far {
            forwarding,
            ..Far::forward(2, interface::ACCESS, None)
        };
        let answer = lab.modify(seid, &[Element::UpdateFar(far)]);
        let expected = (
            cause::CONDITIONAL_MISSING,
            Some(offending),
            Some(RuleId::Far(2)),
        );
        assert_eq!(refusal(&answer), expected);
        assert_eq!(lab.sessions.get(seid).unwrap().rules, before);
    }
    // With a destination once, the action alone suffices.
    let forward = |forwarding| {
        Element::UpdateFar(Far {
            forwarding,
            ..Far::forward(2, interface::ACCESS, None)
        })
    };
    let whereto = Forwarding {
        destination: Some(interface::ACCESS),
        ..to_nowhere
    };
    for forwarding in [Some(whereto), None] {
        let answer = lab.modify(seid, &[forward(forwarding)]);
        assert_eq!(of(&elements_of(&answer)), Some(cause::ACCEPTED));
    }
}

#[test]
fn a_network_that_no_interface_serves_is_refused() {
    // TS 29.244, 8.2.4; names with dots and in labels (TS 23.003, 9.1) are the same.
    let serving = |plain: &[&str]| Config {
        networks: Networks {
            tunnels: vec!["access".to_owned()],
            plain: plain.iter().map(|s| (*s).to_owned()).collect(),
        },
        ..config()
    };
    let ordered = |config: Config, elements: &[Element<'_>]| {
        let mut lab = Lab::associated(config);
        let answer = lab.establish(elements);
        let elements = elements_of(&answer);
        let (mut offending, mut rule) = (None, None);
        for element in &elements {
            match element {
                Element::Offending(kind) => offending = Some(*kind),
                Element::FailedRule(id) => rule = Some(*id),
                _ => {}
            }
        }
        (of(&elements), offending, rule)
    };
    let accepted = (Some(cause::ACCEPTED), None, None);
    let failed = |rule| (Some(cause::RULE_FAILURE), Some(kind::NETWORK), Some(rule));
    // The downlink rule names b"\x08internet".
    for (plain, expected) in [
        (&["internet"][..], accepted),
        (&["ims", "Internet"], accepted),
        (&[], accepted),
        (&["ims"], failed(RuleId::Pdr(2))),
    ] {
        assert_eq!(
            ordered(serving(plain), &establishment(UE)),
            expected,
            "{plain:?}"
        );
    }
    let uplink_far = |network| {
        let far = Far {
            forwarding: Some(Forwarding {
                destination: Some(interface::CORE),
                network: Some(network),
                ..Forwarding::default()
            }),
            ..Far::forward(1, interface::CORE, None)
        };
        with(4, Element::CreateFar(far))
    };
    let all = serving(&["internet", "ims.mnc001.org"]);
    for (network, expected) in [
        (&b"internet"[..], accepted),
        (b"\x03ims\x06mnc001\x03org", accepted),
        (b"access", failed(RuleId::Far(1))),
        (b"\x03ims", failed(RuleId::Far(1))),
    ] {
        assert_eq!(
            ordered(all.clone(), &uplink_far(network)),
            expected,
            "{network:?}"
        );
    }
    // The tunnel's side.
    let mut pdr = uplink(1, CHOOSE);
    pdr.pdi.as_mut().unwrap().network = Some(b"internet");
    let got = ordered(all, &with(2, Element::CreatePdr(pdr)));
    assert_eq!(got, failed(RuleId::Pdr(1)));
}

#[test]
fn a_header_that_stays_is_not_forwarded() {
    // TS 29.244, 8.2.64: without the element the packet goes on in its tunnel's header.
    let mut lab = Lab::associated(config());
    let kept = Pdr {
        outer_removal: None,
        ..uplink(1, CHOOSE)
    };
    let refused = |cause| (cause, Some(kind::OUTER_REMOVAL), Some(RuleId::Pdr(1)));
    let answer = lab.establish(&with(2, Element::CreatePdr(kept.clone())));
    assert_eq!(refusal(&answer), refused(cause::NOT_SUPPORTED));
    // Of another family than the tunnel's.
    let v6 = Pdr {
        outer_removal: Some(1),
        ..kept.clone()
    };
    let answer = lab.establish(&with(2, Element::CreatePdr(v6)));
    assert_eq!(refusal(&answer), refused(cause::MANDATORY_INCORRECT));
    // Of either family, and where the packets end here.
    let either = Pdr {
        outer_removal: Some(6),
        ..kept.clone()
    };
    let dropping = Far {
        action: Some(action::DROP),
        ..Far::forward(1, interface::CORE, None)
    };
    let mut dropped = with(2, Element::CreatePdr(kept));
    dropped[4] = Element::CreateFar(dropping);
    for elements in [with(2, Element::CreatePdr(either)), dropped] {
        let mut lab = Lab::associated(config());
        let answer = lab.establish(&elements);
        assert_eq!(of(&elements_of(&answer)), Some(cause::ACCEPTED));
    }
    assert!(lab.sessions.is_empty());
}

#[test]
fn each_change_of_what_is_not_there_is_refused() {
    let mut lab = Lab::associated(config());
    let (seid, _) = lab.session(UE);
    let absent = 9;
    for (element, kind, rule) in [
        (Element::RemovePdr(9), kind::PDR_ID, RuleId::Pdr(9)),
        (
            Element::RemoveFar(absent),
            kind::FAR_ID,
            RuleId::Far(absent),
        ),
        (
            Element::RemoveQer(absent),
            kind::QER_ID,
            RuleId::Qer(absent),
        ),
        (
            Element::RemoveUrr(absent),
            kind::URR_ID,
            RuleId::Urr(absent),
        ),
        (Element::RemoveBar(9), kind::BAR_ID, RuleId::Bar(9)),
        (Element::QueryUrr(absent), kind::URR_ID, RuleId::Urr(absent)),
        (
            Element::UpdatePdr(Pdr {
                id: 9,
                ..Pdr::default()
            }),
            kind::PDR_ID,
            RuleId::Pdr(9),
        ),
        (
            Element::UpdateFar(Far {
                id: absent,
                ..Far::default()
            }),
            kind::FAR_ID,
            RuleId::Far(absent),
        ),
        (
            Element::UpdateQer(Qer {
                id: absent,
                ..Qer::default()
            }),
            kind::QER_ID,
            RuleId::Qer(absent),
        ),
        (
            Element::UpdateUrr(Urr {
                id: absent,
                ..Urr::default()
            }),
            kind::URR_ID,
            RuleId::Urr(absent),
        ),
        // A FAR that a PDR still has.
        (Element::RemoveFar(1), kind::FAR_ID, RuleId::Pdr(1)),
    ] {
        let answer = lab.modify(seid, std::slice::from_ref(&element));
        let expected = (cause::RULE_FAILURE, Some(kind), Some(rule));
        assert_eq!(refusal(&answer), expected, "{element:?}");
    }
    let answer = lab.modify(Seid(0), &[]);
    assert_eq!(refusal(&answer), (cause::NO_SESSION, None, None));
}

#[test]
fn elements_that_are_passed_over_where_they_steer_are_refused() {
    // As octets, since nothing here writes them: a PDR or FAR with one element more.
    let application: &[u8] = &[0, 24, 0, 1, b'a'];
    let policy: &[u8] = &[0, 41, 0, 2, 1, b'p'];
    let predefined: &[u8] = &[0, 106, 0, 1, b'r'];
    let monitoring: &[u8] = &[0, 33, 0, 4, 0, 0, 0, 9];
    let pdi = |inside: &[u8]| {
        let mut group = vec![0, 20, 0, 1, 0];
        group.extend(inside);
        let mut pdr = vec![0, 56, 0, 2, 0, 3, 0, 29, 0, 4, 0, 0, 0, 1];
        pdr.extend([0, 2, 0, group.len() as u8]);
        pdr.extend(group);
        pdr
    };
    let mut bare = pdi(&[]);
    bare.extend(predefined);
    let mut far = vec![0, 108, 0, 4, 0, 0, 0, 3, 0, 44, 0, 1, 2];
    far.extend([0, 4, 0, 5 + policy.len() as u8, 0, 42, 0, 1, 1]);
    far.extend(policy);
    let mut urr = vec![0, 81, 0, 4, 0, 0, 0, 3, 0, 62, 0, 1, 2, 0, 37, 0, 2, 0, 0];
    urr.extend(monitoring);
    let cases = [
        (
            1,
            pdi(application),
            cause::UNKNOWN_APPLICATION,
            24,
            RuleId::Pdr(3),
        ),
        (1, bare, cause::UNKNOWN_PREDEFINED, 106, RuleId::Pdr(3)),
        (3, far, cause::FORWARDING_POLICY, 41, RuleId::Far(3)),
        (6, urr, cause::NOT_SUPPORTED, 33, RuleId::Urr(3)),
    ];
    for (kind, value, cause, offending, rule) in cases {
        let mut lab = Lab::associated(config());
        let (seid, _) = lab.session(UE);
        let element = Element::Other {
            kind,
            vendor: None,
            value: &value,
        };
        let answer = lab.modify(seid, &[element]);
        assert_eq!(refusal(&answer), (cause, Some(offending), Some(rule)));
    }
}

#[test]
fn an_element_that_is_cut_short_is_named() {
    let mut lab = Lab::associated(config());
    let (seid, _) = lab.session(UE);
    // A FAR whose number has three octets.
    let element = Element::Other {
        kind: kind::CREATE_FAR,
        vendor: None,
        value: &[0, 108, 0, 3, 0, 0, 3],
    };
    let answer = lab.modify(seid, &[element]);
    assert_eq!(
        refusal(&answer),
        (cause::INVALID_LENGTH, Some(kind::FAR_ID), None)
    );
}

#[test]
fn there_is_room_for_so_much() {
    let mut lab = Lab::associated(Config {
        max_sessions: 2,
        max_rules: 3,
        max_peers: 1,
        ..config()
    });
    let (seid, _) = lab.session(UE);
    let far_at = |id| Element::CreateFar(Far::forward(id, interface::CORE, None));
    let answer = lab.modify(seid, &[far_at(3), far_at(4)]);
    assert_eq!(
        refusal(&answer),
        (cause::NO_RESOURCES, Some(kind::CREATE_FAR), None)
    );
    lab.session(Ipv4Addr::new(10, 0, 0, 2));
    let answer = lab.establish(&establishment(Ipv4Addr::new(10, 0, 0, 3)));
    assert_eq!(refusal(&answer), (cause::NO_RESOURCES, None, None));
    assert_eq!(lab.set_up(GNB, 1), Some(cause::NO_RESOURCES));
}

#[test]
fn tunnels_come_to_an_end() {
    let mut lab = Lab::associated(Config {
        teids: 5..=6,
        ..config()
    });
    let (_, a) = lab.session(UE);
    let (seid, b) = lab.session(Ipv4Addr::new(10, 0, 0, 2));
    assert_eq!(a.0 + b.0, 11);
    let third = establishment(Ipv4Addr::new(10, 0, 0, 3));
    let answer = lab.establish(&third);
    let expected = (
        cause::NO_RESOURCES,
        Some(kind::F_TEID),
        Some(RuleId::Pdr(1)),
    );
    assert_eq!(refusal(&answer), expected);
    lab.delete(seid);
    let answer = lab.establish(&third);
    assert_eq!(of(&elements_of(&answer)), Some(cause::ACCEPTED));
}

#[test]
fn an_association_needs_a_name_and_a_time() {
    let mut lab = Lab::new(config());
    let name = Element::NodeId(NodeId::V4(SMF));
    for (request, missing) in [
        (vec![Element::Recovery(1)], kind::NODE_ID),
        (vec![name], kind::RECOVERY),
    ] {
        let kind = Kind::AssociationSetupRequest;
        let (_, answer) = lab.send(kind, None, &request).unwrap();
        let elements = elements_of(&answer);
        let expected = [
            Element::Cause(cause::MANDATORY_MISSING),
            Element::Offending(missing),
        ];
        assert_eq!(elements[1..3], expected);
    }
    assert_eq!(lab.node.associations().count(), 0);
}
