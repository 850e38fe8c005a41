//! What the peers are shown: messages of each kind, as we write them.

use std::net::Ipv4Addr;

use slackwater_core::{Bytes, Duration, FlowId, Instant, Qfi, Rate, Teid, UeId};
use slackwater_signal::RanReport;
use slackwater_wire::gtpu::extension::PDU_SESSION_CONTAINER;
use slackwater_wire::gtpu::ie::{self, Element as Ie};
use slackwater_wire::gtpu::nru::{self, Frame};
use slackwater_wire::gtpu::psc::{self, Container, Downlink, Paging, Stamps, Uplink};
use slackwater_wire::gtpu::report::{FlowCounters, Packer, Scope, Tunnels, container, counted};
use slackwater_wire::gtpu::{Header, Kind, Ntp, NtpClock};
use slackwater_wire::pfcp::Kind::{
    SessionDeletionRequest, SessionEstablishmentRequest, SessionEstablishmentResponse,
    SessionModificationRequest, SessionReportRequest,
};
use slackwater_wire::pfcp::{
    self, Acks, Aqm, BitRates, CreatedPdr, EdgeOptions, Element, FSeid, FTeid, Far, Forwarding,
    Gates, Measurement, NodeId, OuterHeader, Pdi, Pdr, Qer, QosReport, SdfFilter, SessionReport,
    UeIp, action, cause, interface, report_type,
};
use slackwater_wire::report::FiveTuple;

fn contained(container: Container) -> Vec<u8> {
    let mut out = [0; psc::MAX];
    let n = container.write(&mut out).expect("MAX suffices");
    out[..n].to_vec()
}

pub(crate) fn message(header: &Header, extensions: &[(u8, &[u8])], payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; header.len(extensions) + payload.len()];
    let n = header
        .write(extensions, payload.len(), &mut out)
        .expect("room");
    out[n..].copy_from_slice(payload);
    out
}

/// An empty IPv4 packet, so that peers that look inside find something whole.
pub(crate) const INNER: [u8; 20] = [
    0x45, 0, 0, 20, 0, 0, 0, 0, 64, 59, 0x66, 0xb1, 10, 0, 0, 1, 10, 0, 0, 2,
];

pub(crate) const DOWN: Downlink = Downlink {
    qfi: Qfi(9),
    reflective: true,
    paging: Some(Paging {
        ppi: 5,
        burst: None,
        next_burst: None,
    }),
    sent: Some(Ntp(0xe000_0001_8000_0000)),
    seq: Some(0x01_0203),
    mbs_seq: None,
};

/// What Release 16 has, which is as far as scapy and pycrate go.
pub(crate) fn up() -> Uplink {
    Uplink {
        stamps: Some(Stamps {
            dl_sent: Ntp(1 << 40),
            dl_received: Ntp(2 << 40),
            ul_sent: Ntp(3 << 40),
        }),
        dl_delay: Some(7),
        ul_delay: Some(11),
        seq: Some(0x0a_0b0c),
        n3_n9_delay: Some(13),
        ..container::empty(Qfi(33))
    }
}

pub(crate) fn tunnelled(container: Container, payload: &[u8]) -> Vec<u8> {
    let content = contained(container);
    message(
        &Header::g_pdu(Teid(0x0102_0304)),
        &[(PDU_SESSION_CONTAINER, &content)],
        payload,
    )
}

pub(crate) fn path_messages() -> Vec<Vec<u8>> {
    let signalling = |kind, seq, elements: &[Ie<'_>]| {
        let mut payload = [0; 64];
        let n = ie::write(elements, &mut payload).expect("room");
        let header = Header {
            kind,
            teid: Teid(0),
            seq: Some(seq),
            n_pdu: None,
        };
        message(&header, &[], &payload[..n])
    };
    vec![
        signalling(Kind::EchoRequest, 1, &[]),
        signalling(Kind::EchoResponse, 1, &[Ie::Recovery(0)]),
        signalling(
            Kind::ErrorIndication,
            2,
            &[
                Ie::TeidData(Teid(0x0a0b_0c0d)),
                Ie::PeerAddress(Ipv4Addr::new(192, 0, 2, 7).into()),
            ],
        ),
        message(&Header::end_marker(Teid(0x11)), &[], &[]),
    ]
}

const NETWORK: &[u8] = b"\x08internet";
pub(crate) const FILTER: &[u8] = b"permit out ip from 198.51.100.0/24 to assigned";
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);

/// A session of one non-GBR and one GBR flow, its change, its end, and a measurement in it.
pub(crate) fn session() -> Vec<Vec<u8>> {
    let node = Element::NodeId(NodeId::V4(Ipv4Addr::new(192, 0, 2, 1)));
    let endpoint = |seid| {
        Element::FSeid(FSeid {
            seid,
            v4: Some(Ipv4Addr::new(192, 0, 2, 1)),
            v6: None,
        })
    };
    let ue = |destination| UeIp {
        v4: Some(UE),
        destination,
        ..UeIp::default()
    };
    let down = Pdr {
        id: 1,
        precedence: Some(255),
        pdi: Some(Pdi {
            source: interface::CORE,
            network: Some(NETWORK),
            ue: Some(ue(true)),
            filters: vec![SdfFilter {
                description: Some(FILTER),
                id: Some(77),
                ..SdfFilter::default()
            }],
            ..Pdi::default()
        }),
        far: Some(1),
        qers: vec![1, 2],
        ..Pdr::default()
    };
    let upward = Pdr {
        id: 2,
        precedence: Some(256),
        pdi: Some(Pdi {
            source: interface::ACCESS,
            tunnel: Some(FTeid::Given {
                teid: Teid(0x0a00_0001),
                v4: Some(Ipv4Addr::new(192, 0, 2, 9)),
                v6: None,
            }),
            ue: Some(ue(false)),
            qfis: vec![Qfi(9)],
            ..Pdi::default()
        }),
        outer_removal: Some(0),
        far: Some(2),
        qers: vec![1],
        ..Pdr::default()
    };
    let forward = |id, destination, outer| Far {
        id,
        action: Some(action::FORWARD),
        forwarding: Some(Forwarding {
            destination: Some(destination),
            network: Some(NETWORK),
            outer,
            marking: None,
            end_marker: false,
        }),
        ..Far::default()
    };
    let radio = OuterHeader::gtpu(Teid(0x0b00_0002), Ipv4Addr::new(192, 0, 2, 33));
    let ambr = Qer {
        id: 1,
        gates: Some(Gates {
            up: true,
            down: true,
        }),
        maximum: Some(BitRates {
            up: Rate::from_mbps(50.0),
            down: Rate::from_bps(5_000_000_000),
        }),
        qfi: Some(Qfi(9)),
        ..Qer::default()
    };
    let guaranteed = Qer {
        id: 2,
        guaranteed: Some(BitRates {
            up: Rate::from_mbps(1.0),
            down: Rate::from_mbps(20.0),
        }),
        qfi: Some(Qfi(2)),
        reflective: Some(true),
        edge: EdgeOptions {
            aqm: Some(Aqm::Shaper),
            target_milli: Some(500),
            acks: Some(Acks::Hold),
            reports: false,
        },
        ..ambr
    };
    let moved = Far {
        id: 1,
        action: None,
        forwarding: Some(Forwarding {
            outer: Some(OuterHeader::gtpu(
                Teid(0x0b00_0003),
                Ipv4Addr::new(192, 0, 2, 34),
            )),
            end_marker: true,
            ..Forwarding::default()
        }),
        ..Far::default()
    };
    let closed = Qer {
        id: 2,
        gates: Some(Gates {
            up: true,
            down: false,
        }),
        ..Qer::default()
    };
    let measured = QosReport {
        qfi: Qfi(2),
        measurement: Measurement {
            down: Some(9),
            up: Some(4),
            round_trip: Some(13),
            ..Measurement::default()
        },
        at: 0xe000_0001,
    };
    let report = SessionReport {
        srr: 1,
        qos: vec![measured],
    };
    let write = |kind, seid, seq, elements: &[Element<'_>]| {
        let mut out = [0; 1024];
        let n = pfcp::Header::session(kind, seid, seq)
            .write(elements, &mut out)
            .expect("room");
        out[..n].to_vec()
    };
    vec![
        write(
            SessionEstablishmentRequest,
            0,
            5,
            &[
                node.clone(),
                endpoint(0x1122),
                Element::CreatePdr(down),
                Element::CreatePdr(upward),
                Element::CreateFar(forward(1, interface::ACCESS, Some(radio))),
                Element::CreateFar(forward(2, interface::CORE, None)),
                Element::CreateQer(ambr),
                Element::CreateQer(guaranteed),
                Element::PdnType(1),
            ],
        ),
        write(
            SessionEstablishmentResponse,
            0x1122,
            5,
            &[
                node,
                Element::Cause(cause::ACCEPTED),
                endpoint(0x3344),
                Element::CreatedPdr(CreatedPdr {
                    id: 2,
                    tunnel: Some(FTeid::Given {
                        teid: Teid(0x0a00_0001),
                        v4: Some(Ipv4Addr::new(192, 0, 2, 9)),
                        v6: None,
                    }),
                }),
            ],
        ),
        write(
            SessionModificationRequest,
            0x3344,
            6,
            &[
                Element::RemovePdr(7),
                Element::UpdateFar(moved),
                Element::UpdateQer(closed),
                Element::RemoveQer(3),
            ],
        ),
        write(SessionDeletionRequest, 0x3344, 7, &[]),
        write(
            SessionReportRequest,
            0x1122,
            8,
            &[
                Element::ReportType(report_type::SESSION),
                Element::SessionReport(report),
            ],
        ),
    ]
}

struct Cell;

impl Tunnels for Cell {
    fn session(&self, ue: UeId) -> Option<Teid> {
        Some(Teid(100 + ue.0))
    }
    fn flow(&self, flow: FlowId) -> Option<(Teid, Qfi)> {
        Some((Teid(100 + flow.0), Qfi(9)))
    }
}

/// NR-U frames: a status, user data, two of reports, and one with counters of two flows.
pub(crate) fn frames() -> Vec<Vec<u8>> {
    let (ranges, blocks) = ([0, 0, 5, 0, 0, 9], [0, 0, 1, 4, 0, 0, 9, 2]);
    let status = nru::Status {
        desired_buffer: 300_000,
        desired_rate: Some(12_500_000),
        lost: nru::Ranges::from_octets(&ranges),
        delivered: Some(0x10),
        transmitted: Some(0x20),
        cause: Some(1),
        ..nru::Status::default()
    };
    let data = nru::UserData {
        seq: 0x01_0203,
        report_polling: true,
        data_exist: true,
        flush: Some(4),
        discard: nru::Blocks::from_octets(&blocks),
        report_delivered: Some(0x30),
        ..nru::UserData::default()
    };
    let mut out = [0; 1018];
    let mut all = Vec::new();
    for frame in [Frame::Status(status), Frame::UserData(data)] {
        let n = frame.write(&mut out).expect("room");
        all.push(out[..n].to_vec());
    }
    let at = Instant::from_millis(1_500);
    let slot = Duration::from_micros(500);
    let ue = UeId(3);
    let one = [
        RanReport::SlotPattern {
            at,
            ue,
            start: at,
            slot,
            period: 5,
            down: 0b1111,
            special: 0b1000,
            special_q8: 180,
            lead: Duration::from_micros(1_050),
            processing: Duration::from_micros(700),
            polled: false,
        },
        RanReport::LinkState {
            at,
            ue,
            slot_bytes: Bytes(50_000),
            slot,
        },
        RanReport::Backlog {
            at,
            ue,
            flow: FlowId(3),
            bytes: Bytes(123_456),
        },
    ];
    let many: Vec<RanReport> = (0..66)
        .map(|n| RanReport::Backlog {
            at,
            ue: UeId(n),
            flow: FlowId(n),
            bytes: Bytes(1_000),
        })
        .collect();
    let clock = NtpClock::new(Ntp(0xe000_0000_0000_0000));
    for (reports, scope) in [
        (&one[..], Scope::Session(Teid(103))),
        (&many[..], Scope::Multi),
    ] {
        let mut packer = Packer::new(reports, scope, &Cell, clock, 9, 1018).expect("room");
        assert_eq!((packer.parts(), packer.skipped()), (1, 0));
        let n = packer.next_frame(&mut out).expect("room").expect("one");
        all.push(out[..n].to_vec());
    }
    let counters = |source: &str, destination: &str| FlowCounters {
        flow: FiveTuple {
            source: source.parse().expect("an address"),
            destination: destination.parse().expect("an address"),
            source_port: 443,
            destination_port: 50_000,
            protocol: 17,
        },
        octets: [0x11; 24],
    };
    let both = [
        counters("192.0.2.1", "10.45.0.2"),
        counters("2001:db8::1", "2001:db8:45::2"),
    ];
    let both = both.map(|counters| (Teid(103), counters));
    let skipped = counted::frames(&both, Scope::Multi, 1018, |frame| all.push(frame.to_vec()));
    assert_eq!(skipped, 0);
    all
}
