//! GTP-U and PFCP against other people's codecs: scapy, pycrate and tshark must read what we write as we meant it, and
//! scapy and pycrate must write the same octets from what they read.
//!
//! scapy and pycrate are in the `dev` group of `pyproject.toml`; each test says so and passes where its peer is missing.

use std::fmt::Write as _;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use slackwater_core::{Bytes, Duration, FlowId, Instant, Qfi, Rate, Teid, UeId};
use slackwater_signal::RanReport;
use slackwater_wire::gtpu::extension::{NR_RAN_CONTAINER, PDU_SESSION_CONTAINER};
use slackwater_wire::gtpu::ie::{self, Element as Ie};
use slackwater_wire::gtpu::nru::{self, Frame};
use slackwater_wire::gtpu::psc::{self, Container, Downlink, Paging, Stamps, Uplink};
use slackwater_wire::gtpu::report::{Packer, Scope, Tunnels, container};
use slackwater_wire::gtpu::{Header, Kind, Message, Ntp, NtpClock};
use slackwater_wire::pcapng::{Capture, PcapngWriter};
use slackwater_wire::pfcp::Kind::{
    SessionDeletionRequest, SessionEstablishmentRequest, SessionEstablishmentResponse,
    SessionModificationRequest, SessionReportRequest,
};
use slackwater_wire::pfcp::{
    self, Acks, Aqm, BitRates, CreatedPdr, EdgeOptions, Element, FSeid, FTeid, Far, Forwarding,
    Gates, Measurement, NodeId, OuterHeader, Pdi, Pdr, Qer, QosReport, SdfFilter, SessionReport,
    UeIp, action, cause, interface,
};

/// What a peer says to each line, or why there is no such peer.
fn peer(script: &str, module: &str, lines: &[(&str, Vec<u8>)]) -> Result<Vec<Value>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pythons = [
        root.join("../../.venv/bin/python"),
        "python3".into(),
        "python".into(),
    ];
    let has = |python: &&std::path::PathBuf| {
        Command::new(python)
            .args(["-c", &format!("import {module}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    let Some(python) = pythons.iter().find(has) else {
        return Err(format!(
            "no Python here has {module} (`make python` installs it)"
        ));
    };
    let mut child = Command::new(python)
        .arg(root.join("tests/peers").join(script))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it ran a moment ago");
    let mut stdin = child.stdin.take().expect("piped");
    for (kind, octets) in lines {
        writeln!(stdin, "{kind} {}", hex(octets)).expect("it reads its input");
    }
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{module} gave up");
    let answers: Vec<Value> = String::from_utf8(output.stdout)
        .expect("text")
        .lines()
        .map(|l| serde_json::from_str(l).expect("an object per line"))
        .collect();
    assert_eq!(answers.len(), lines.len(), "{answers:?}");
    Ok(answers)
}

fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        write!(text, "{octet:02x}").expect("a string has room");
        text
    })
}

/// All values of the fields called `key`, wherever they are, in their order.
fn all<'v>(value: &'v Value, key: &str, found: &mut Vec<&'v Value>) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                if name == key {
                    found.push(inner);
                }
                all(inner, key, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| all(inner, key, found)),
        _ => {}
    }
}

/// The numbers in the fields called `key`.
fn numbers(value: &Value, key: &str) -> Vec<u64> {
    let mut found = Vec::new();
    all(value, key, &mut found);
    found.iter().filter_map(|v| v.as_u64()).collect()
}

fn strings<'v>(value: &'v Value, key: &str) -> Vec<&'v str> {
    let mut found = Vec::new();
    all(value, key, &mut found);
    found.iter().filter_map(|v| v.as_str()).collect()
}

fn contained(container: Container) -> Vec<u8> {
    let mut out = [0; psc::MAX];
    let n = container.write(&mut out).expect("MAX suffices");
    out[..n].to_vec()
}

fn message(header: &Header, extensions: &[(u8, &[u8])], payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; header.len(extensions) + payload.len()];
    let n = header
        .write(extensions, payload.len(), &mut out)
        .expect("room");
    out[n..].copy_from_slice(payload);
    out
}

/// An empty IPv4 packet, so that peers that look inside find something whole.
const INNER: [u8; 20] = [
    0x45, 0, 0, 20, 0, 0, 0, 0, 64, 59, 0x66, 0xb1, 10, 0, 0, 1, 10, 0, 0, 2,
];

const DOWN: Downlink = Downlink {
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
fn up() -> Uplink {
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

fn tunnelled(container: Container, payload: &[u8]) -> Vec<u8> {
    let content = contained(container);
    message(
        &Header::g_pdu(Teid(0x0102_0304)),
        &[(PDU_SESSION_CONTAINER, &content)],
        payload,
    )
}

fn path_messages() -> Vec<Vec<u8>> {
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
const FILTER: &[u8] = b"permit out ip from 198.51.100.0/24 to assigned";
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);

/// A session of one non-GBR and one GBR flow, its change, its end, and a measurement in it.
fn session() -> Vec<Vec<u8>> {
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
    };
    let forward = |id, destination, outer| Far {
        id,
        action: Some(action::FORWARD),
        forwarding: Some(Forwarding {
            destination: Some(destination),
            network: Some(NETWORK),
            outer,
            end_marker: false,
        }),
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
            &[Element::ReportType(0x40), Element::SessionReport(report)],
        ),
    ]
}

#[test]
fn scapy_reads_and_writes_the_same() {
    let mut lines = vec![
        ("gtpu", tunnelled(Container::Downlink(DOWN), &INNER)),
        ("gtpu", tunnelled(Container::Uplink(up()), &INNER)),
        ("gtpu", message(&Header::g_pdu(Teid(7)), &[], &INNER)),
    ];
    lines.extend(path_messages().into_iter().map(|m| ("gtpu", m)));
    // scapy ends before session reports of `QoS`.
    lines.extend(session().into_iter().take(4).map(|m| ("pfcp", m)));
    let answers = match peer("with_scapy.py", "scapy.contrib.pfcp", &lines) {
        Ok(answers) => answers,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    for (answer, (_, octets)) in answers.iter().zip(&lines) {
        assert_eq!(answer["again"], hex(octets), "{answer}");
        // Nothing is left that scapy could not read.
        let layers = answer["layers"].as_array().expect("a list");
        assert!(!layers.contains(&"Raw".into()), "{answer}");
        assert!(!strings(answer, "layer").contains(&"IE not implemented"));
    }
    let container = |i: usize| &answers[i]["fields"][1];
    for (key, value) in [
        ("type", 0),
        ("QMP", 1),
        ("RQI", 1),
        ("QFI", 9),
        ("PPI", 5),
        ("dlSendTime", 0xe000_0001_8000_0000_u64),
        ("dlQFISeqNum", 0x01_0203),
    ] {
        assert_eq!(container(0)[key], value, "{key} of {}", answers[0]);
    }
    for (key, value) in [
        ("type", 1),
        ("QFI", 33),
        ("dlSendTimeRpt", 1 << 40),
        ("dlRecvTime", 2 << 40),
        ("ulSendTime", 3u64 << 40),
        ("dlDelayRslt", 7),
        ("ulDelayRslt", 11),
        ("UlQFISeqNum", 0x0a_0b0c),
        ("N3N9DelayRslt", 13),
    ] {
        assert_eq!(container(1)[key], value, "{key} of {}", answers[1]);
    }
    assert_eq!(answers[0]["layers"][2], "IP");
    let names: Vec<&Value> = (3..7)
        .map(|i| &answers[i]["fields"][0]["gtp_type"])
        .collect();
    assert_eq!(names, [1, 2, 26, 254]);

    let establishment = &answers[7]["fields"];
    assert_eq!(numbers(establishment, "ul"), [0, 50_000, 0, 50_000, 1_000]);
    assert_eq!(
        numbers(establishment, "dl"),
        [0, 5_000_000, 0, 5_000_000, 20_000]
    );
    assert_eq!(numbers(establishment, "QFI"), [9, 9, 2]);
    assert_eq!(numbers(establishment, "enterprise_id"), [32_473]);
    assert_eq!(strings(establishment, "flow_description"), [hex(FILTER)]);
    assert_eq!(numbers(establishment, "precedence"), [255, 256]);
    assert_eq!(numbers(establishment, "TEID"), [0x0a00_0001, 0x0b00_0002]);
    let change = &answers[9]["fields"];
    assert_eq!(numbers(change, "SNDEM"), [1]);
    assert_eq!(numbers(change, "dl"), [1]);
    assert_eq!(strings(change, "layer").len(), 14, "{change}");
}

#[test]
fn pycrate_reads_and_writes_the_same() {
    // As far as it goes into the new IEs of Release 16: one of them.
    let newer = Uplink {
        d1_included: Some(true),
        ..up()
    };
    let container = |n: usize| {
        let frames = frames();
        let extensions = [(NR_RAN_CONTAINER, frames[n].as_slice())];
        message(&Header::g_pdu(Teid(7)), &extensions, &[])
    };
    let mut lines = vec![
        ("gtpu", tunnelled(Container::Downlink(DOWN), &INNER)),
        ("gtpu", tunnelled(Container::Uplink(newer), &INNER)),
        ("gtpu", container(0)),
    ];
    lines.extend(path_messages().into_iter().map(|m| ("gtpu", m)));
    lines.extend(session().into_iter().map(|m| ("pfcp", m)));
    let answers = match peer("with_pycrate.py", "pycrate_mobile.TS29244_PFCP", &lines) {
        Ok(answers) => answers,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    for (answer, (_, octets)) in answers.iter().zip(&lines) {
        assert_eq!(answer["error"], 0, "{answer}");
        assert_eq!(answer["again"], hex(octets), "{answer}");
    }
    let one = |i: usize, key: &str| numbers(&answers[i]["fields"], key);
    assert_eq!(one(0, "DLSndTS"), [0xe000_0001_8000_0000]);
    assert_eq!(one(0, "PPI"), [5]);
    for (key, value) in [
        ("DLSndTSRep", 1 << 40),
        ("DLRcvTS", 2 << 40),
        ("ULSndTS", 3 << 40),
        ("DLDelayRes", 7),
        ("ULDelayRes", 11),
        ("ULQFISeqNum", 0x0a_0b0c),
        ("N3N9DelayRes", 13),
        ("D1ULPDCPDelayResInd", 1),
    ] {
        assert_eq!(one(1, key), [value], "{key} of {}", answers[1]);
    }
    assert_eq!(one(7, "UL"), [50_000, 50_000, 1_000]);
    assert_eq!(one(7, "DL"), [5_000_000, 5_000_000, 20_000]);
    assert_eq!(one(9, "SNDEM"), [1]);
    assert_eq!(one(9, "DLGate"), [1]);
    let delays = [
        "DownlinkPacketDelay",
        "UplinkPacketDelay",
        "RoundTripPacketDelay",
    ];
    assert_eq!(delays.map(|key| one(11, key)), [[9], [4], [13]]);
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

/// NR-U frames: a status, user data, and two of reports.
fn frames() -> Vec<Vec<u8>> {
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
    all
}

/// An IPv4 packet with a UDP datagram to `port`.
fn datagram(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = INNER.to_vec();
    let len = (28 + payload.len()) as u16;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    // UDP; the header checksum is not looked at.
    packet[9] = 17;
    packet.extend(port.to_be_bytes());
    packet.extend(port.to_be_bytes());
    packet.extend((len - 20).to_be_bytes());
    // No checksum.
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

/// What tshark finds in the fields, one row per message; `None` where there is no tshark.
fn tshark(port: u16, messages: &[Vec<u8>], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut writer = PcapngWriter::new("slackwater test");
    let point = writer.interface("n3", 0);
    for message in messages {
        let bytes = datagram(port, message);
        let capture = Capture {
            bytes: &bytes,
            original_len: bytes.len() as u32,
            passage: None,
            comment: None,
        };
        writer.packet(Instant::ZERO, point, &capture);
    }
    let mut arguments = vec!["-r", "-", "-T", "fields", "-E", "separator=|"];
    for field in ["_ws.malformed", "_ws.expert.severity"]
        .iter()
        .chain(fields)
    {
        arguments.extend(["-e", field]);
    }
    let mut child = Command::new("tshark")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(&writer.take()).expect("tshark reads");
    drop(stdin);
    let output = child.wait_with_output().expect("tshark ends");
    assert!(
        output.status.success(),
        "tshark: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let rows: Vec<Vec<String>> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|l| l.split('|').map(str::to_owned).collect())
        .collect();
    assert_eq!(rows.len(), messages.len(), "{rows:?}");
    for row in &rows {
        assert_eq!(row[0], "", "malformed: {row:?}");
        // Warnings (0x600000) and errors (0x800000); notes and chats may be.
        let worst = row[1].split(',').filter_map(|s| s.parse().ok()).max();
        assert!(worst.is_none_or(|s: u32| s < 0x0060_0000), "{row:?}");
    }
    Some(rows)
}

#[test]
fn tshark_reads_containers_and_frames() {
    let mut messages = vec![
        tunnelled(Container::Downlink(DOWN), &INNER),
        tunnelled(Container::Uplink(up()), &INNER),
    ];
    for frame in frames() {
        let extensions = [(NR_RAN_CONTAINER, frame.as_slice())];
        messages.push(message(&Header::g_pdu(Teid(7)), &extensions, &[]));
    }
    messages.extend(path_messages());
    let fields = [
        "gtp.message",
        "gtp.teid",
        "gtp.ext_hdr.pdu_ses_cont.ppi",
        "gtp.ext_hdr.pdu_ses_con.qos_flow_id",
        "nrup.pdu_type",
        "nrup.desrd_buff_sz_data_radio_bearer",
        "nrup.desrd_data_rate",
        "nrup.start_num_lost_nru_seq_num",
        "nrup.end_num_lost_nru_seq_num",
        "nrup.high_success_delivered_nr_pdcp_sn",
        "nrup.high_tx_nr_pdcp_sn",
        "nrup.seq_num",
        "nrup.dl_disc_nr_pdcp_pdu_sn_start",
        "nrup.disc_blk_sz",
        "nrup.dl_report_nr_pdcp_pdu_sn",
        "nrup.assistance_info_type",
        "nrup.num_octets_radio_qa_info",
        "gtp.teid_data",
        "gtp.gsn_ipv4",
    ];
    let Some(rows) = tshark(slackwater_wire::gtpu::PORT, &messages, &fields) else {
        return eprintln!("skipped: there is no tshark on this machine");
    };
    let row = |i: usize| -> Vec<&str> { rows[i][2..].iter().map(String::as_str).collect() };
    assert_eq!(row(0)[..4], ["0xff", "0x01020304", "5", "9"]);
    assert_eq!(row(1)[3], "33");
    let status = row(2);
    assert_eq!(
        status[4..11],
        ["1", "300000", "12500000", "5", "9", "16", "32"]
    );
    let data = row(3);
    assert_eq!(data[4], "0");
    assert_eq!(data[11..15], ["66051", "1,9", "4,2", "48"]);
    assert_eq!(row(4)[15], "237,234,232,231,233,229");
    assert_eq!(row(4)[16], "6,8,24,5,1,4");
    let types: Vec<&str> = row(5)[15].split(',').collect();
    assert_eq!(types.len(), 2 + 3 * 66);
    assert_eq!(types[..5], ["237", "234", "236", "233", "229"]);
    let kinds: Vec<&str> = (6..10).map(|i| row(i)[0]).collect();
    assert_eq!(kinds, ["0x01", "0x02", "0x1a", "0xfe"]);
    assert_eq!(row(8)[17..], ["0x0a0b0c0d", "192.0.2.7"]);
}

#[test]
fn tshark_reads_sessions() {
    let fields = [
        "pfcp.msg_type",
        "pfcp.seid",
        "pfcp.seqno",
        "pfcp.pdr_id",
        "pfcp.f_teid.teid",
        "pfcp.ue_ip_addr_ipv4",
        "pfcp.qfi_value",
        "pfcp.gate_status.dlgate",
        "pfcp.enterprise_id",
        "pfcp.cause",
        "pfcp.qos_monitoring_measurement.downlink",
        "pfcp.qos_monitoring_measurement.roundtrip",
        "pfcp.ie_type",
    ];
    let Some(rows) = tshark(pfcp::PORT, &session(), &fields) else {
        return eprintln!("skipped: there is no tshark on this machine");
    };
    let row = |i: usize| -> Vec<&str> { rows[i][2..].iter().map(String::as_str).collect() };
    let kinds: Vec<&str> = (0..5).map(|i| row(i)[0]).collect();
    assert_eq!(kinds, ["50", "51", "52", "54", "56"]);
    let first = row(0);
    assert_eq!(
        first[2..8],
        [
            "5",
            "1,2",
            "0x0a000001",
            "10.45.0.2,10.45.0.2",
            "0x09,0x09,0x02",
            "0,0"
        ]
    );
    assert_eq!(first[8], "32473");
    assert_eq!(row(1)[9], "1");
    assert_eq!(row(4)[10..12], ["9", "13"]);
}

#[test]
fn what_peers_are_shown_is_what_we_read() {
    let bytes = tunnelled(Container::Uplink(up()), &INNER);
    let message = Message::parse(&bytes).expect("as written");
    let content = message
        .extension(PDU_SESSION_CONTAINER)
        .expect("there")
        .content;
    assert_eq!(Container::parse(content), Ok(Container::Uplink(up())));
    assert_eq!(message.payload(), INNER);
    for bytes in session() {
        let message = pfcp::Message::parse(&bytes).expect("as written");
        assert!(message.elements().all(|e| e.is_ok()));
    }
}
