use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use slackwater_core::{Bytes, Duration, FlowId, Instant, Qfi, Rate, Teid, UeId};
use slackwater_signal::RanReport;

use super::*;

fn any_v4() -> impl Strategy<Value = Ipv4Addr> {
    any::<[u8; 4]>().prop_map(Ipv4Addr::from)
}

fn any_v6() -> impl Strategy<Value = Ipv6Addr> {
    any::<[u8; 16]>().prop_map(Ipv6Addr::from)
}

fn any_tunnel() -> impl Strategy<Value = FTeid> {
    prop_oneof![
        (any::<u32>(), option::of(any_v4()), option::of(any_v6())).prop_map(|(teid, v4, v6)| {
            FTeid::Given {
                teid: Teid(teid),
                v4,
                v6,
            }
        }),
        any::<(bool, bool, Option<u8>)>().prop_map(|(v4, v6, id)| FTeid::Choose { v4, v6, id }),
    ]
}

fn any_edge() -> impl Strategy<Value = EdgeOptions> {
    let aqm = prop::sample::select(vec![Aqm::Off, Aqm::Shaper, Aqm::Direct, Aqm::L4s]);
    let acks = prop::sample::select(vec![Acks::Off, Acks::Paper, Acks::Credit, Acks::Hold]);
    (
        option::of(aqm),
        any::<Option<u16>>(),
        option::of(acks),
        any::<bool>(),
    )
        .prop_map(|(aqm, target_milli, acks, reports)| EdgeOptions {
            aqm,
            target_milli,
            acks,
            reports,
        })
}

fn any_rates() -> impl Strategy<Value = BitRates> {
    let rate = || (0u64..1 << 40).prop_map(|kbps| Rate::from_bps(kbps * 1_000));
    (rate(), rate()).prop_map(|(up, down)| BitRates { up, down })
}

fn any_qfi() -> impl Strategy<Value = Qfi> {
    (0u8..64).prop_map(Qfi)
}

prop_compose! {
    fn any_ue()(
        v4 in option::of(any_v4()), v6 in option::of(any_v6()), bits: [bool; 3], octets: [Option<u8>; 2],
    ) -> UeIp {
        UeIp {
            v4,
            v6,
            destination: bits[0],
            delegated: octets[0],
            choose_v4: bits[1],
            choose_v6: bits[2],
            prefix: octets[1],
        }
    }
}

prop_compose! {
    fn any_filter()(
        text in option::of(prop::sample::select(vec![&b""[..], b"permit out ip from any to assigned"])),
        tos: Option<u16>, spi: Option<u32>, label in option::of(0u32..1 << 24), id: Option<u32>,
    ) -> SdfFilter<'static> {
        SdfFilter { description: text, tos, spi, flow_label: label, id }
    }
}

prop_compose! {
    fn any_pdr()(
        id: u16,
        precedence: u32,
        source in 0u8..16,
        tunnel in option::of(any_tunnel()),
        network in option::of(prop::sample::select(vec![&b"\x08internet"[..], b""])),
        ue in option::of(any_ue()),
        filters in vec(any_filter(), 0..3),
        qfis in vec(any_qfi(), 0..3),
        edge in any_edge(),
        outer_removal: Option<u8>,
        far: Option<u32>,
        qers: Vec<u32>,
        urrs: Vec<u32>,
    ) -> Pdr<'static> {
        Pdr {
            id,
            precedence: Some(precedence),
            pdi: Some(Pdi { source, tunnel, network, ue, filters, qfis, edge }),
            outer_removal,
            far,
            qers,
            urrs,
            beyond: None,
        }
    }
}

prop_compose! {
    fn any_qer()(
        id: u32, correlation: Option<u32>, gates: (bool, bool), maximum in option::of(any_rates()),
        guaranteed in option::of(any_rates()), qfi in option::of(any_qfi()), reflective: Option<bool>,
        edge in any_edge(),
    ) -> Qer {
        let gates = Some(Gates { up: gates.0, down: gates.1 });
        Qer { id, correlation, gates, maximum, guaranteed, qfi, reflective, edge }
    }
}

prop_compose! {
    fn any_far()(
        id: u32, action: u16, teid: u32, peer in any_v4(), destination in 0u8..16, end: bool, marking: Option<(u8, u8)>,
        bar: Option<u8>,
    ) -> Far<'static> {
        Far {
            id,
            action: Some(action),
            forwarding: Some(Forwarding {
                destination: Some(destination),
                network: None,
                outer: Some(OuterHeader::gtpu(Teid(teid), peer)),
                marking,
                end_marker: end,
            }),
            bar,
            beyond: None,
        }
    }
}

prop_compose! {
    fn any_measurement()(
        delays: [Option<u32>; 3], failed: bool, congestion: [Option<u16>; 2], rates: [Option<u32>; 2],
    ) -> Measurement {
        Measurement {
            down: delays[0],
            up: delays[1],
            round_trip: delays[2],
            failed,
            down_congestion: congestion[0],
            up_congestion: congestion[1],
            down_rate: rates[0],
            up_rate: rates[1],
        }
    }
}

fn any_volumes() -> impl Strategy<Value = Volumes> {
    any::<[Option<u64>; 3]>().prop_map(|[total, up, down]| Volumes {
        total: total.map(Bytes),
        up: up.map(Bytes),
        down: down.map(Bytes),
    })
}

fn any_seconds() -> impl Strategy<Value = Option<Duration>> {
    any::<Option<u32>>().prop_map(|s| s.map(|s| Duration::from_secs(s.into())))
}

prop_compose! {
    fn any_urr()(
        id: u32, method: u8, triggers in 0u32..1 << 24, volumes in [option::of(any_volumes()), option::of(any_volumes())],
        times in [any_seconds(), any_seconds(), any_seconds(), any_seconds(), any_seconds()], information: Option<u8>,
    ) -> Urr {
        Urr {
            id,
            method: Some(method),
            triggers: Some(triggers),
            volume_threshold: volumes[0],
            volume_quota: volumes[1],
            period: times[0],
            time_threshold: times[1],
            time_quota: times[2],
            holding: times[3],
            inactivity: times[4],
            information,
            beyond: None,
        }
    }
}

prop_compose! {
    fn any_usage()(
        urr: u32, seqn: u32, triggers in 0u32..1 << 24, volume in option::of(any_volumes()), packets: [Option<u64>; 3],
        duration in any_seconds(), stamps: [Option<u32>; 4],
    ) -> UsageReport {
        UsageReport {
            urr,
            seqn,
            triggers,
            volume,
            packets: if volume.is_some() { packets } else { [None; 3] },
            duration,
            start: stamps[0],
            end: stamps[1],
            first: stamps[2],
            last: stamps[3],
        }
    }
}

fn any_bar() -> impl Strategy<Value = Bar> {
    any::<(u8, Option<u8>, Option<u16>)>().prop_map(|(id, delay, packets)| Bar {
        id,
        notification_delay: delay.map(|d| Duration::from_millis(50) * u64::from(d)),
        packets,
    })
}

fn any_rule_id() -> impl Strategy<Value = RuleId> {
    prop_oneof![
        any::<u16>().prop_map(RuleId::Pdr),
        any::<u32>().prop_map(RuleId::Far),
        any::<u32>().prop_map(RuleId::Qer),
        any::<u32>().prop_map(RuleId::Urr),
        any::<u8>().prop_map(RuleId::Bar),
    ]
}

/// What nodes tell each other, and usage.
fn any_new_element() -> impl Strategy<Value = Element<'static>> {
    let places = vec![UsageIn::Modification, UsageIn::Deletion, UsageIn::Report];
    prop_oneof![
        any::<u64>().prop_map(Element::UpFeatures),
        any::<u64>().prop_map(Element::CpFeatures),
        any::<u8>().prop_map(Element::Flags),
        any::<u8>().prop_map(Element::ReleaseRequest),
        (0u64..2_000_000)
            .prop_map(|s| Element::GracefulRelease(Period::at_least(Duration::from_secs(s)))),
        any_rule_id().prop_map(Element::FailedRule),
        (any::<u16>(), option::of(any_tunnel()))
            .prop_map(|(id, tunnel)| Element::UpdatedPdr(CreatedPdr { id, tunnel })),
        any_urr().prop_map(Element::CreateUrr),
        any_urr().prop_map(|urr| Element::UpdateUrr(Urr {
            method: None,
            triggers: None,
            ..urr
        })),
        any::<u32>().prop_map(Element::RemoveUrr),
        any::<u32>().prop_map(Element::QueryUrr),
        any_bar().prop_map(Element::CreateBar),
        any_bar().prop_map(Element::UpdateBar),
        any::<u8>().prop_map(Element::RemoveBar),
        (prop::sample::select(places), any_usage()).prop_map(|(p, u)| Element::Usage(p, u)),
        vec(any::<u16>(), 0..4).prop_map(Element::DownlinkData),
        vec(any_tunnel(), 0..3).prop_map(Element::ErrorIndication),
    ]
}

fn any_element() -> impl Strategy<Value = Element<'static>> {
    prop_oneof![any_old_element(), any_new_element()]
}

fn any_old_element() -> impl Strategy<Value = Element<'static>> {
    let far = || any_far().boxed();
    let report =
        (any_qfi(), any_measurement(), any::<u32>()).prop_map(|(qfi, measurement, at)| QosReport {
            qfi,
            measurement,
            at,
        });
    prop_oneof![
        any::<u8>().prop_map(Element::Cause),
        any::<u16>().prop_map(Element::Offending),
        any::<u32>().prop_map(Element::Recovery),
        (0u8..8).prop_map(Element::PdnType),
        any::<u8>().prop_map(Element::ReportType),
        any_v4().prop_map(|a| Element::NodeId(NodeId::V4(a))),
        any_v6().prop_map(|a| Element::NodeId(NodeId::V6(a))),
        Just(Element::NodeId(NodeId::Name(b"\x03upf\x07example"))),
        (any::<u64>(), option::of(any_v4()), option::of(any_v6()))
            .prop_map(|(seid, v4, v6)| Element::FSeid(FSeid { seid, v4, v6 })),
        any_pdr().prop_map(Element::CreatePdr),
        any_pdr().prop_map(|pdr| Element::UpdatePdr(Pdr {
            precedence: None,
            pdi: None,
            ..pdr
        })),
        any::<u16>().prop_map(Element::RemovePdr),
        (any::<u16>(), option::of(any_tunnel()))
            .prop_map(|(id, tunnel)| Element::CreatedPdr(CreatedPdr { id, tunnel })),
        far().prop_map(|mut far| {
            far.forwarding.as_mut().expect("generated").end_marker = false;
            Element::CreateFar(far)
        }),
        far().prop_map(Element::UpdateFar),
        any::<u32>().prop_map(Element::RemoveFar),
        any_qer().prop_map(Element::CreateQer),
        any_qer().prop_map(|qer| Element::UpdateQer(Qer { gates: None, ..qer })),
        any::<u32>().prop_map(Element::RemoveQer),
        (any::<u8>(), vec(report, 0..3))
            .prop_map(|(srr, qos)| Element::SessionReport(SessionReport { srr, qos })),
        Just(Element::Other {
            kind: 152,
            vendor: None,
            value: b"a trace"
        }),
        Just(Element::Other {
            kind: 0x8abc,
            vendor: Some(7),
            value: b"theirs"
        }),
    ]
}

fn any_header() -> impl Strategy<Value = Header> {
    (
        any::<u8>(),
        any::<Option<u64>>(),
        0u32..1 << 24,
        option::of(0u8..16),
    )
        .prop_map(|(kind, seid, seq, priority)| Header {
            kind: Kind::from_octet(kind),
            seid,
            seq,
            priority,
        })
}

proptest! {
    #[test]
    fn what_is_written_is_read(header in any_header(), elements in vec(any_element(), 0..8), tail in 0usize..9) {
        let mut out = [0; 8192];
        let n = header.write(&elements, &mut out).expect("room");
        let message = Message::parse(&out[..n + tail]).expect("as written");
        prop_assert_eq!(message.header, header);
        prop_assert_eq!(message.len(), n);
        let read: Result<Vec<_>, _> = message.elements().collect();
        prop_assert_eq!(read, Ok(elements.clone()));
        prop_assert!(Message::parse(&out[..n - 1]).is_err());
        prop_assert!(header.write(&elements, &mut out[..n - 1]).is_err());
    }

    #[test]
    fn hostile_octets_are_read_or_refused(
        header in any_header(),
        elements in vec(any_element(), 0..5),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        noise: Vec<u8>,
    ) {
        let mut out = [0; 8192];
        let n = header.write(&elements, &mut out).expect("room");
        let mut mutated = out[..n].to_vec();
        for (place, octet) in changes {
            *place.get_mut(&mut mutated) = octet;
        }
        // The frame of the noise is whole, so that it gets past the header.
        let mut framed = vec![0x21, 50];
        framed.extend((noise.len() as u16 + 12).to_be_bytes());
        framed.extend([0; 12]);
        framed.extend(&noise);
        for bytes in [&mutated, &noise, &framed] {
            let Ok(message) = Message::parse(bytes) else { continue };
            for element in message.elements() {
                match element {
                    Err(error) => prop_assert!(error.error.offset <= bytes.len(), "{}", error),
                    Ok(element) => {
                        // What was understood can be said again, and then says the same. (Not so VLAN tags and end
                        // markers of new rules, which are read past.)
                        let mut again = [0; 8192];
                        let Ok(n) = message.header.write(std::slice::from_ref(&element), &mut again) else { continue };
                        let again = Message::parse(&again[..n]).expect("written").elements().next();
                        prop_assert_eq!(again, Some(Ok(element)));
                    }
                }
            }
        }
    }
}

#[test]
fn a_session_of_two_flows_as_octets() {
    let qer = Qer {
        id: 2,
        gates: Some(Gates {
            up: true,
            down: false,
        }),
        maximum: Some(BitRates {
            up: Rate::from_mbps(20.0),
            down: Rate::from_mbps(100.0),
        }),
        qfi: Some(Qfi(9)),
        edge: EdgeOptions {
            aqm: Some(Aqm::L4s),
            target_milli: Some(500),
            acks: Some(Acks::Hold),
            reports: false,
        },
        ..Qer::default()
    };
    assert!(!qer.is_gbr());
    let mut out = [0; 128];
    let header = Header::session(Kind::SessionModificationRequest, 0x0102, 7);
    let n = header
        .write(&[Element::CreateQer(qer)], &mut out)
        .expect("room");
    #[rustfmt::skip]
    let expected = [
        0x21, 52, 0, 64, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 7, 0,
        0, 7, 0, 48,
        0, 109, 0, 4, 0, 0, 0, 2,
        0, 25, 0, 1, 0x01,
        0, 26, 0, 10, 0, 0, 0, 0x4e, 0x20, 0, 0, 0x01, 0x86, 0xa0,
        0, 124, 0, 1, 9,
        0x80, 0x01, 0, 12, 0x7e, 0xd9, 1, 1, 3, 2, 2, 0x01, 0xf4, 3, 1, 3,
    ];
    assert_eq!(out[..n], expected);
}

#[test]
fn a_rule_without_what_it_must_have_is_refused_and_the_next_one_read() {
    // A QER without gates, then one that is removed.
    #[rustfmt::skip]
    let bytes = [
        0x21, 52, 0, 36, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 7, 0,
        0, 7, 0, 8, 0, 109, 0, 4, 0, 0, 0, 2,
        0, 18, 0, 8, 0, 109, 0, 4, 0, 0, 0, 3,
    ];
    let message = Message::parse(&bytes).expect("a message");
    let mut elements = message.elements();
    let error = elements.next().expect("one").expect_err("no gates");
    assert_eq!(
        (error.cause, error.offending, error.error.offset),
        (cause::MANDATORY_MISSING, kind::GATES, 20),
        "{error}"
    );
    assert_eq!(elements.next(), Some(Ok(Element::RemoveQer(3))));
    assert_eq!(elements.next(), None);
}

#[test]
fn gates_of_unknown_value_are_closed() {
    #[rustfmt::skip]
    let bytes = [
        0x21, 52, 0, 29, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 7, 0,
        0, 7, 0, 13, 0, 109, 0, 4, 0, 0, 0, 2, 0, 25, 0, 1, 0x0e,
    ];
    let message = Message::parse(&bytes).expect("a message");
    let Some(Ok(Element::CreateQer(qer))) = message.elements().next() else {
        panic!("a QER");
    };
    let closed = Gates {
        up: false,
        down: false,
    };
    assert_eq!(qer.gates, Some(closed));
}

#[test]
fn a_measurement_tells_delay_and_congestion() {
    let at = Instant::from_millis(3);
    let measured = Measurement {
        down: Some(8),
        up: Some(4),
        down_congestion: Some(12_000),
        ..Measurement::default()
    };
    let reports: Vec<_> = measured
        .reports(at, UeId(1), Qfi(2), Some(FlowId(3)))
        .collect();
    let expected = [
        RanReport::PathDelay {
            at,
            ue: UeId(1),
            qfi: Some(Qfi(2)),
            rtt: Duration::from_millis(12),
        },
        RanReport::Congestion {
            at,
            flow: FlowId(3),
            per_10k: 10_000,
        },
    ];
    assert_eq!(reports, expected);
    let failed = Measurement {
        failed: true,
        round_trip: Some(5),
        ..Measurement::default()
    };
    assert_eq!(failed.reports(at, UeId(1), Qfi(2), None).count(), 0);
}

#[test]
fn a_guaranteed_flow_has_a_rate_downlink() {
    let with = |down| Qer {
        guaranteed: Some(BitRates {
            up: Rate::from_mbps(1.0),
            down,
        }),
        ..Qer::default()
    };
    assert!(with(Rate::from_bps(1)).is_gbr());
    assert!(!with(Rate::ZERO).is_gbr());
}

#[test]
fn what_cannot_be_said_is_not_written() {
    let header = Header::session(Kind::SessionModificationRequest, 1, 1);
    let mut out = vec![0; 200_000];
    let mut refused = |element| assert!(header.write(&[element], &mut out).is_err());
    let far = Far {
        forwarding: Some(Forwarding {
            end_marker: true,
            ..Forwarding::default()
        }),
        ..Far::default()
    };
    refused(Element::CreateFar(far));
    let mut outer = OuterHeader::gtpu(Teid(1), Ipv4Addr::LOCALHOST);
    outer.description = 0x0200;
    refused(Element::UpdateFar(Far {
        forwarding: Some(Forwarding {
            outer: Some(outer),
            ..Forwarding::default()
        }),
        ..Far::default()
    }));
    refused(Element::Other {
        kind: 6,
        vendor: Some(1),
        value: &[],
    });
    let long = vec![0; 65_536];
    refused(Element::Other {
        kind: 6,
        vendor: None,
        value: &long,
    });
    assert!(
        Header {
            seq: 1 << 24,
            ..header
        }
        .write(&[], &mut out)
        .is_err()
    );
}

#[test]
fn what_is_passed_over_is_named_by_its_type() {
    // A FAR with a forwarding policy of one octet, "x".
    #[rustfmt::skip]
    let bytes = [
        0x21, 52, 0, 38, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 7, 0,
        0, 3, 0, 22, 0, 108, 0, 4, 0, 0, 0, 2, 0, 44, 0, 1, 2, 0, 4, 0, 5, 0, 41, 0, 1, b'x',
    ];
    let message = Message::parse(&bytes).expect("a message");
    let Some(Ok(Element::CreateFar(far))) = message.elements().next() else {
        panic!("a FAR");
    };
    assert_eq!(far.beyond, Some(kind::POLICY));
    let mut out = [0; 64];
    let again = message.header.write(&[Element::CreateFar(far)], &mut out);
    assert!(again.is_err(), "it would not say the same");
}

#[test]
fn a_period_is_never_shorter_than_what_is_meant() {
    for (seconds, expected) in [
        (0, 0),
        (1, 2),
        (62, 62),
        (63, 120),
        (1_861, 2_400),
        (1_116_000, 1_116_000),
    ] {
        let period = Period::at_least(Duration::from_secs(seconds));
        let expected = Period::For(Duration::from_secs(expected));
        assert_eq!(period, expected, "{seconds} s");
    }
    assert_eq!(
        Period::at_least(Duration::from_secs(1_116_001)),
        Period::Infinite
    );
}

#[test]
fn an_order_of_usage_as_octets() {
    let urr = Urr {
        id: 7,
        method: Some(method::VOLUME),
        triggers: Some(trigger::PERIODIC | trigger::VOLUME_QUOTA),
        period: Some(Duration::from_secs(10)),
        volume_quota: Some(Volumes {
            total: Some(Bytes(0x0102)),
            ..Volumes::default()
        }),
        ..Urr::default()
    };
    let mut out = [0; 128];
    let header = Header::session(Kind::SessionModificationRequest, 1, 7);
    let n = header
        .write(&[Element::CreateUrr(urr)], &mut out)
        .expect("room");
    #[rustfmt::skip]
    let expected = [
        0x21, 52, 0, 57, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 7, 0,
        0, 6, 0, 41, 0, 81, 0, 4, 0, 0, 0, 7, 0, 62, 0, 1, 2, 0, 37, 0, 3, 1, 1, 0, 0, 64, 0, 4, 0, 0, 0, 10,
        0, 73, 0, 9, 1, 0, 0, 0, 0, 0, 0, 1, 2,
    ];
    assert_eq!(out[..n], expected);
}
