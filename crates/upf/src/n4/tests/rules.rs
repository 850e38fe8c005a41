//! What requests make of a session's rules, and what the user plane has to tell.

use slackwater_core::{Bytes, Direction};
use slackwater_wire::pfcp::{
    Bar, CreatedPdr, SdfFilter, UsageIn, Volumes, modification, report_type, trigger,
};

use super::*;
use crate::rules::{Action, RemoteTunnel};
use crate::sessions::Change;

fn gnb(teid: u32) -> RemoteTunnel {
    RemoteTunnel {
        teid: Teid(teid),
        address: GNB.into(),
    }
}

/// The update by which a gNB comes in, or another one.
fn moved(teid: u32, end_marker: bool) -> Element<'static> {
    Element::UpdateFar(Far {
        id: 2,
        action: Some(action::FORWARD),
        forwarding: Some(Forwarding {
            destination: Some(interface::ACCESS),
            outer: Some(OuterHeader::gtpu(Teid(teid), GNB)),
            end_marker,
            ..Forwarding::default()
        }),
        ..Far::default()
    })
}

#[test]
fn an_established_session_is_found_by_what_was_chosen() {
    let mut lab = Lab::associated(config());
    let (seid, teid) = lab.session(UE);
    let session = lab.sessions.get(seid).unwrap();
    assert_eq!(session.peer_seid, 0x1122);
    assert_eq!(session.rules.since, lab.now);
    assert_eq!(lab.sessions.by_tunnel(teid).unwrap().seid, seid);
    assert_eq!(lab.sessions.by_address(UE.into()).unwrap().seid, seid);
    let up = &session.rules.pdrs[0];
    let tunnel = up.tunnel.unwrap();
    assert_eq!((tunnel.teid, tunnel.v4), (teid, Some(HERE)));
    assert!(up.remove_outer && up.source == Interface::Access);
    assert_eq!(
        session.rules.far(2).unwrap().action,
        Action::Buffer { notify: true }
    );
    assert_eq!(session.rules.session_qers().count(), 1);
    assert_eq!(lab.sessions.take_changes(), [Change::Set(seid)]);
}

#[test]
fn an_update_changes_only_what_it_names() {
    let mut lab = Lab::associated(config());
    let (seid, _) = lab.session(UE);
    let before = lab.sessions.get(seid).unwrap().rules.clone();
    lab.sessions.take_changes();
    let update = [
        moved(0xb, false),
        Element::UpdateQer(Qer {
            id: 1,
            gates: Some(Gates {
                up: true,
                down: false,
            }),
            ..Qer::default()
        }),
        Element::UpdatePdr(Pdr {
            id: 2,
            precedence: Some(10),
            ..Pdr::default()
        }),
    ];
    let answer = lab.modify(seid, &update);
    assert_eq!(elements_of(&answer), [Element::Cause(cause::ACCEPTED)]);
    let mut expected = before;
    expected.fars[1].action = Action::Forward;
    expected.fars[1].destination = Some(Interface::Access);
    expected.fars[1].outer = Some(gnb(0xb));
    expected.qers[0].gate_down = false;
    expected.pdrs[1].precedence = 10;
    expected.pdrs.swap(0, 1);
    assert_eq!(lab.sessions.get(seid).unwrap().rules, expected);
    assert_eq!(lab.sessions.take_changes(), [Change::Set(seid)]);
}

#[test]
fn an_end_marker_leaves_by_the_tunnel_that_was_left() {
    let mut lab = Lab::associated(config());
    let (seid, _) = lab.session(UE);
    // From no tunnel to one: nobody waits for a marker.
    lab.modify(seid, &[moved(0xb, true)]);
    lab.sessions.take_changes();
    lab.modify(seid, &[moved(0xc, true)]);
    let marker = Change::EndMarker {
        seid,
        tunnel: gnb(0xb),
    };
    assert_eq!(lab.sessions.take_changes(), [marker, Change::Set(seid)]);
    lab.modify(seid, &[moved(0xd, false)]);
    assert_eq!(lab.sessions.take_changes(), [Change::Set(seid)]);
}

#[test]
fn a_refused_modification_changes_nothing() {
    let mut lab = Lab::associated(config());
    let (seid, _) = lab.session(UE);
    lab.modify(seid, &[moved(0xb, false)]);
    let before = lab.sessions.get(seid).unwrap().rules.clone();
    lab.sessions.take_changes();
    let answer = lab.modify(
        seid,
        &[
            Element::RemoveUrr(1),
            moved(0xc, true),
            Element::CreatePdr(uplink(3, CHOOSE)),
            Element::UpdateQer(Qer {
                id: 7,
                ..Qer::default()
            }),
        ],
    );
    assert_eq!(of(&elements_of(&answer)), Some(cause::RULE_FAILURE));
    assert_eq!(lab.sessions.get(seid).unwrap().rules, before);
    assert_eq!(lab.sessions.take_changes(), []);
    assert!(lab.usage.query(lab.now, seid, 1).is_some(), "still counted");
}

#[test]
fn one_choose_id_is_one_tunnel() {
    let mut lab = Lab::associated(config());
    let choose = |id| FTeid::Choose {
        v4: true,
        v6: false,
        id: Some(id),
    };
    let mut request = establishment(UE);
    request[2] = Element::CreatePdr(uplink(1, choose(5)));
    request.push(Element::CreatePdr(uplink(3, choose(5))));
    request.push(Element::CreatePdr(uplink(4, choose(6))));
    request.push(Element::CreatePdr(uplink(5, CHOOSE)));
    let answer = lab.establish(&request);
    let created: Vec<CreatedPdr> = elements_of(&answer)
        .into_iter()
        .filter_map(|e| match e {
            Element::CreatedPdr(created) => Some(created),
            _ => None,
        })
        .collect();
    assert_eq!(
        created.iter().map(|c| c.id).collect::<Vec<_>>(),
        [1, 3, 4, 5]
    );
    assert_eq!(created[0].tunnel, created[1].tunnel);
    for (a, b) in [(0, 2), (0, 3), (2, 3)] {
        assert_ne!(created[a].tunnel, created[b].tunnel);
    }
    let seid = lab.sessions.iter().next().unwrap().seid;
    let answer = lab.modify(
        seid,
        &[Element::UpdatePdr(Pdr {
            id: 5,
            pdi: uplink(5, CHOOSE).pdi,
            ..Pdr::default()
        })],
    );
    let Element::UpdatedPdr(updated) = elements_of(&answer)[1] else {
        panic!("a tunnel chosen anew");
    };
    assert_ne!(updated.tunnel, created[3].tunnel);
}

#[test]
fn a_filter_with_a_number_alone_is_the_one_with_that_number() {
    let mut lab = Lab::associated(config());
    let whole = SdfFilter {
        description: Some(b"permit out 17 from 198.51.100.0/24 5000-5010 to assigned"),
        tos: Some(0xb8fc),
        id: Some(77),
        ..SdfFilter::default()
    };
    let named = SdfFilter {
        id: Some(77),
        ..SdfFilter::default()
    };
    let mut request = establishment(UE);
    for (at, filter) in [(2, named), (3, whole)] {
        let Element::CreatePdr(pdr) = &mut request[at] else {
            panic!("a PDR");
        };
        pdr.pdi.as_mut().unwrap().filters = vec![filter];
    }
    assert_eq!(
        of(&elements_of(&lab.establish(&request))),
        Some(cause::ACCEPTED)
    );
    let session = lab.sessions.iter().next().unwrap();
    let [a, b] = &session.rules.pdrs[..] else {
        panic!("two PDRs");
    };
    assert_eq!(a.filters, b.filters);
    assert_eq!(a.filters[0].tos, Some((0xb8, 0xfc)));
    let flow = a.filters[0].flow.as_ref().unwrap();
    assert_eq!(
        (flow.protocol, &flow.remote.ports[..]),
        (Some(17), &[(5_000, 5_010)][..])
    );
}

/// The session reports that leave, as header and octets.
fn reports(lab: &mut Lab) -> Vec<(Header, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some((to, octets)) = lab.node.poll_transmit() {
        assert_eq!(to, "192.0.2.10:8805".parse().unwrap());
        all.push((Message::parse(&octets).unwrap().header, octets));
    }
    all
}

#[test]
fn downlink_data_is_told_once_until_the_session_changes() {
    let mut lab = Lab::associated(config());
    let (seid, _) = lab.session(UE);
    for _ in 0..3 {
        lab.node.on_downlink_data(lab.now, seid, 2, &lab.sessions);
    }
    // Not of a PDR whose packets go on.
    lab.node.on_downlink_data(lab.now, seid, 1, &lab.sessions);
    let told = reports(&mut lab);
    let [(header, octets)] = &told[..] else {
        panic!("one report: {told:?}");
    };
    assert_eq!(
        (header.kind, header.seid),
        (Kind::SessionReportRequest, Some(0x1122))
    );
    assert_eq!(
        elements_of(octets),
        [
            Element::ReportType(report_type::DOWNLINK_DATA),
            Element::DownlinkData(vec![2]),
        ]
    );
    // It is repeated until it is answered.
    lab.wait(Duration::from_secs(3));
    let again = reports(&mut lab);
    assert_eq!(again, told);
    let answer = Header {
        kind: Kind::SessionReportResponse,
        ..*header
    };
    let mut out = [0; 64];
    let n = answer
        .write(&[Element::Cause(cause::ACCEPTED)], &mut out)
        .unwrap();
    lab.octets(&out[..n]);
    lab.wait(Duration::from_secs(3));
    assert_eq!(reports(&mut lab), []);

    lab.modify(seid, &[moved(0xb, false)]);
    lab.node.on_downlink_data(lab.now, seid, 2, &lab.sessions);
    assert_eq!(reports(&mut lab), [], "packets go on");
    let buffer = Far {
        id: 2,
        action: Some(action::BUFFER | action::NOTIFY),
        ..Far::default()
    };
    lab.modify(seid, &[Element::UpdateFar(buffer)]);
    lab.node.on_downlink_data(lab.now, seid, 2, &lab.sessions);
    assert_eq!(reports(&mut lab).len(), 1);
}

#[test]
fn a_bar_delays_the_notification() {
    let mut lab = Lab::associated(config());
    let (seid, _) = lab.session(UE);
    let delay = Duration::from_millis(250);
    let bar = Bar {
        id: 3,
        notification_delay: Some(delay),
        packets: Some(20),
    };
    let with_bar = Far {
        id: 2,
        bar: Some(3),
        ..Far::default()
    };
    let order = [Element::CreateBar(bar), Element::UpdateFar(with_bar)];
    assert_eq!(
        of(&elements_of(&lab.modify(seid, &order))),
        Some(cause::ACCEPTED)
    );
    lab.node.on_downlink_data(lab.now, seid, 2, &lab.sessions);
    assert_eq!(lab.node.next_timer(&lab.usage), Some(lab.now + delay));
    lab.wait(Duration::from_millis(249));
    assert_eq!(reports(&mut lab), []);
    lab.wait(Duration::from_millis(1));
    assert_eq!(reports(&mut lab).len(), 1);

    // The gNB came in before the delay ended: there is nothing to tell.
    lab.modify(
        seid,
        &[Element::UpdatePdr(Pdr {
            id: 2,
            ..Pdr::default()
        })],
    );
    lab.node.on_downlink_data(lab.now, seid, 2, &lab.sessions);
    lab.modify(seid, &[moved(0xb, false)]);
    lab.wait(delay);
    assert_eq!(reports(&mut lab), []);
}

#[test]
fn an_error_indication_is_told_once_for_a_tunnel_of_the_session() {
    let mut lab = Lab::associated(config());
    let (seid, _) = lab.session(UE);
    lab.modify(seid, &[moved(0xb, false)]);
    for tunnel in [gnb(0xb), gnb(0xb), gnb(0xc)] {
        lab.node
            .on_error_indication(lab.now, seid, tunnel, &lab.sessions);
    }
    let told = reports(&mut lab);
    assert_eq!(told.len(), 1);
    let remote = FTeid::Given {
        teid: Teid(0xb),
        v4: Some(GNB),
        v6: None,
    };
    assert_eq!(
        elements_of(&told[0].1),
        [
            Element::ReportType(report_type::ERROR_INDICATION),
            Element::ErrorIndication(vec![remote]),
        ]
    );
}

#[test]
fn a_control_plane_without_the_session_ends_it() {
    let mut lab = Lab::associated(config());
    let (seid, _) = lab.session(UE);
    lab.node.on_downlink_data(lab.now, seid, 2, &lab.sessions);
    let (mut header, _) = reports(&mut lab).remove(0);
    header.kind = Kind::SessionReportResponse;
    let mut out = [0; 64];
    let n = header
        .write(&[Element::Cause(cause::NO_SESSION)], &mut out)
        .unwrap();
    lab.octets(&out[..n]);
    assert!(lab.sessions.is_empty());
}

fn volume(answer: &[u8], place: UsageIn) -> Vec<(u32, Option<Bytes>)> {
    let elements = elements_of(answer).into_iter();
    let usage = elements.filter_map(|e| match e {
        Element::Usage(at, usage) => {
            assert_eq!(at, place);
            Some((usage.triggers, usage.volume.and_then(|v| v.total)))
        }
        _ => None,
    });
    usage.collect()
}

#[test]
fn usage_is_reported_at_a_threshold_a_query_and_the_end() {
    let mut lab = Lab::associated(config());
    let mut request = establishment(UE);
    request[7] = Element::CreateUrr(Urr {
        triggers: Some(trigger::VOLUME_THRESHOLD),
        volume_threshold: Some(Volumes {
            total: Some(Bytes(1_000)),
            ..Volumes::default()
        }),
        ..urr()
    });
    lab.establish(&request);
    let seid = lab.sessions.iter().next().unwrap().seid;
    let pass = |lab: &mut Lab, bytes| {
        let urrs = [1];
        assert!(
            lab.usage
                .on_packet(lab.now, seid, &urrs, Direction::Down, Bytes(bytes))
        );
    };
    pass(&mut lab, 999);
    assert!(!lab.usage.is_due());
    pass(&mut lab, 100);
    assert!(lab.usage.is_due());
    assert!(lab.node.next_timer(&lab.usage).unwrap() <= lab.now);
    pass(&mut lab, 1);
    lab.wait(Duration::ZERO);
    let told = reports(&mut lab);
    let [(header, octets)] = &told[..] else {
        panic!("one report");
    };
    assert_eq!(header.seid, Some(0x1122));
    assert_eq!(
        volume(octets, UsageIn::Report),
        [(trigger::VOLUME_THRESHOLD, Some(Bytes(1_100)))]
    );
    pass(&mut lab, 10);
    let answer = lab.modify(seid, &[Element::QueryUrr(1)]);
    assert_eq!(
        volume(&answer, UsageIn::Modification),
        [(trigger::IMMEDIATE, Some(Bytes(10)))]
    );
    pass(&mut lab, 11);
    let answer = lab.modify(seid, &[Element::Flags(modification::QUERY_ALL)]);
    assert_eq!(
        volume(&answer, UsageIn::Modification),
        [(trigger::IMMEDIATE, Some(Bytes(11)))]
    );
    pass(&mut lab, 12);
    let answer = lab.delete(seid);
    assert_eq!(
        volume(&answer, UsageIn::Deletion),
        [(trigger::TERMINATION, Some(Bytes(12)))]
    );
}
