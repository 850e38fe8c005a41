//! What N4 has beyond sessions of forwarding rules: associations, usage, buffering, reports.

use std::net::Ipv4Addr;

use slackwater_core::{Bytes, Duration, Teid};
use slackwater_wire::pfcp::{
    self, Bar, Element, FTeid, Far, Forwarding, Kind, NodeId, Period, RuleId, Urr, UsageIn,
    UsageReport, Volumes, action, cause, feature, interface, method, report_type, trigger,
};

use crate::tshark::tshark;
use crate::{hex, numbers, peer};

fn write(kind: Kind, seid: Option<u64>, seq: u32, elements: &[Element<'_>]) -> Vec<u8> {
    let header = pfcp::Header {
        kind,
        seid,
        seq,
        priority: None,
    };
    let mut out = [0; 1024];
    let n = header.write(elements, &mut out).expect("room");
    out[..n].to_vec()
}

/// A report of 0x010203 octets, 5 packets and 61 seconds.
fn report() -> UsageReport {
    UsageReport {
        urr: 7,
        seqn: 3,
        triggers: trigger::VOLUME_THRESHOLD,
        start: Some(0xe000_0001),
        end: Some(0xe000_003e),
        volume: Some(Volumes {
            total: Some(Bytes(0x01_0203)),
            up: Some(Bytes(0x01_0000)),
            down: Some(Bytes(0x203)),
        }),
        packets: [Some(5), Some(3), Some(2)],
        duration: Some(Duration::from_secs(61)),
        first: Some(0xe000_0002),
        last: Some(0xe000_003d),
    }
}

fn orders() -> Vec<Element<'static>> {
    vec![
        Element::CreateUrr(Urr {
            id: 7,
            method: Some(method::VOLUME | method::DURATION),
            triggers: Some(trigger::PERIODIC | trigger::VOLUME_QUOTA),
            period: Some(Duration::from_secs(10)),
            volume_quota: Some(Volumes {
                total: Some(Bytes(1_000_000)),
                ..Volumes::default()
            }),
            inactivity: Some(Duration::from_secs(5)),
            ..Urr::default()
        }),
        Element::CreateBar(Bar {
            id: 2,
            notification_delay: Some(Duration::from_millis(100)),
            packets: Some(20),
        }),
        Element::CreateFar(Far {
            id: 4,
            action: Some(action::BUFFER | action::NOTIFY),
            forwarding: Some(Forwarding {
                destination: Some(interface::ACCESS),
                marking: Some((0xb8, 0xfc)),
                ..Forwarding::default()
            }),
            bar: Some(2),
            ..Far::default()
        }),
        Element::RemoveUrr(8),
        Element::QueryUrr(9),
        Element::RemoveBar(3),
    ]
}

fn messages() -> Vec<Vec<u8>> {
    let node = Element::NodeId(NodeId::V4(Ipv4Addr::new(192, 0, 2, 9)));
    let usage = |place| Element::Usage(place, report());
    let far_end = FTeid::Given {
        teid: Teid(0x0b00_0002),
        v4: Some(Ipv4Addr::new(192, 0, 2, 33)),
        v6: None,
    };
    vec![
        write(
            Kind::AssociationSetupResponse,
            None,
            1,
            &[
                node.clone(),
                Element::Cause(cause::ACCEPTED),
                Element::Recovery(0xe000_0000),
                Element::UpFeatures(feature::CHOOSES_TUNNELS | feature::END_MARKER),
            ],
        ),
        write(
            Kind::AssociationUpdateRequest,
            None,
            2,
            &[
                node,
                Element::ReleaseRequest(1),
                Element::GracefulRelease(Period::For(Duration::from_secs(120))),
            ],
        ),
        write(Kind::SessionModificationRequest, Some(0x3344), 3, &orders()),
        write(
            Kind::SessionModificationResponse,
            Some(0x1122),
            4,
            &[
                Element::Cause(cause::RULE_FAILURE),
                Element::Offending(pfcp::kind::FAR_ID),
                Element::FailedRule(RuleId::Pdr(9)),
            ],
        ),
        write(
            Kind::SessionDeletionResponse,
            Some(0x1122),
            5,
            &[Element::Cause(cause::ACCEPTED), usage(UsageIn::Deletion)],
        ),
        write(
            Kind::SessionReportRequest,
            Some(0x1122),
            6,
            &[
                Element::ReportType(
                    report_type::USAGE | report_type::DOWNLINK_DATA | report_type::ERROR_INDICATION,
                ),
                Element::DownlinkData(vec![2]),
                usage(UsageIn::Report),
                Element::ErrorIndication(vec![far_end]),
            ],
        ),
    ]
}

#[test]
fn scapy_and_pycrate_say_the_same_octets_again() {
    let lines: Vec<_> = messages().into_iter().map(|m| ("pfcp", m)).collect();
    match peer("with_scapy.py", "scapy", &lines) {
        Err(why) => eprintln!("skipped: {why}"),
        Ok(answers) => {
            for (answer, (_, octets)) in answers.iter().zip(&lines) {
                assert_eq!(answer["again"], hex(octets), "{answer}");
            }
            assert_eq!(numbers(&answers[5]["fields"], "total"), [0x01_0203]);
        }
    }
    match peer("with_pycrate.py", "pycrate_mobile.TS29244_PFCP", &lines) {
        Err(why) => eprintln!("skipped: {why}"),
        Ok(answers) => {
            for (answer, (_, octets)) in answers.iter().zip(&lines) {
                assert_eq!(answer["error"], 0, "{answer}");
                assert_eq!(answer["again"], hex(octets), "{answer}");
            }
        }
    }
}

#[test]
fn tshark_reads_usage_and_reports() {
    let fields = [
        "pfcp.msg_type",
        "pfcp.up_function_features.ftup",
        "pfcp.up_function_features.empu",
        "pfcp.up_function_features.pfdm",
        "pfcp.urr_id",
        "pfcp.reporting_triggers_flags.volqu",
        "pfcp.volume_quota.tovol",
        "pfcp.measurement_period",
        "pfcp.bar_id",
        "pfcp.apply_action.buff",
        "pfcp.failed_rule_id_type",
        "pfcp.offending_ie",
        "pfcp.volume_measurement.tovol",
        "pfcp.volume_measurement.tonop",
        "pfcp.duration_measurement",
        "pfcp.ur_seqn",
        "pfcp.usage_report_trigger_flags.volth",
        "pfcp.report_type.usar",
        "pfcp.f_teid.teid",
        "pfcp.pdr_id",
    ];
    let Some(rows) = tshark(pfcp::PORT, &messages(), &fields) else {
        return eprintln!("skipped: there is no tshark on this machine");
    };
    let row = |i: usize| -> Vec<&str> { rows[i][2..].iter().map(String::as_str).collect() };
    let kinds: Vec<&str> = (0..6).map(|i| row(i)[0]).collect();
    assert_eq!(kinds, ["6", "7", "52", "53", "55", "56"]);
    assert_eq!(row(0)[1..4], ["1", "1", "0"]);
    assert_eq!(row(2)[4..10], ["7,8,9", "1", "1000000", "10", "2,2,3", "1"]);
    assert_eq!(row(3)[10..12], ["0", "108"]);
    assert_eq!(row(4)[12..17], ["66051", "5", "61", "3", "1"]);
    assert_eq!(row(5)[17..20], ["1", "0x0b000002", "2"]);
}
